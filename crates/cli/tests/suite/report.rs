//! The report in a browser: every figure has its marks, without network requests and errors.

use crate::browser::{Theme, excess_width, shown, shown_in};
use crate::{Scratch, succeeds};
use std::collections::BTreeSet;

#[test]
fn every_figure_has_marks_and_nothing_is_asked_of_the_network() {
    let scratch = Scratch::new("browser");
    let out = scratch.path("results");
    let paths = ["wlan=rate 20mbit delay 10ms loss 1%", "lte=rate 8mbit delay 30ms"];
    let mut arguments = vec!["compare", "--traffic", "bulk:1MiB", "--protocols", "tcp,mptcp"];
    arguments.extend(["--runs", "4", "--quiet", "--out", &out]);
    arguments.extend(paths.iter().flat_map(|path| ["--path", *path]));
    succeeds(&arguments);
    let text = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    for outside in ["<script src", "<link", "@import", "<img", "<iframe"] {
        assert!(!text.contains(outside), "{outside}");
    }
    let Some(page) = shown(&format!("{out}/report.html"), &scratch) else { return };
    let marks = |id: &str, class: &str| page.marks(id, &format!("class=\"{class}"));
    assert_eq!(marks("boxes", "trace boxes"), 3, "a box for each variant");
    assert_eq!(marks("cdf", "trace scatter"), 3, "a line for each variant");
    assert!(marks("cdf", "point") >= 3 * 4, "a mark for each repetition");
    assert!(marks("timeline", "point") > 100, "segments that arrived");
    // Four quantities of two paths, and the reorder buffer.
    assert_eq!(marks("series", "trace scatter"), 9);
    // Of both paths free and full windows, calls that sent nothing, and the line of choices.
    assert_eq!(marks("calls", "trace scatter"), 6);
    let calls = marks("calls", "point");
    assert!(calls > 300, "two marks a call: {calls}");
    // Both paths of the connection over both, and the path of each of the others.
    assert_eq!(marks("delivery", "trace scatter"), 4, "rates without path events");
    assert!(page.has("<table id=\"why\""), "why nothing was sent");
    let dark = shown_in(Theme::Dark, &format!("{out}/report.html"), &scratch).expect("the page");
    for (page, ground) in [(page, "rgb(255, 255, 255)"), (dark, "rgb(21, 24, 28)")] {
        let figure = page.figure("cdf").to_owned();
        assert!(figure.contains(&format!("background: {ground}")), "{ground}");
    }
}

/// Regression: a page on UDP had four panels without a line, and a table of dashes that said why
/// nothing was sent.
#[test]
fn page_on_datagrams_has_only_what_datagrams_have() {
    let scratch = Scratch::new("page-udp");
    let out = scratch.path("results");
    let path = ["--path", "home=rate 10mbit delay 10ms", "--protocols", "udp", "--quiet"];
    let study = ["compare", "--traffic", "udp:1mbit:2s", "--runs", "2", "--out", &out];
    succeeds(&[&study[..], &path].concat());
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    assert!(page.contains("connection: packets in the bottleneck queue at every arrival."));
    assert!(page.contains("id=\"series\" class=\"figure\" data-height=\"240\""));
    assert!(!page.contains("<table id=\"why\"") && !page.contains("#why-not"));
    let printed =
        succeeds(&[&["compare", "--traffic", "udp:1mbit:2s", "--why"], &path[..]].concat());
    assert!(!printed.contains("why not sending"), "{printed}");
}

/// Largest page of the demo and of the shipped scenarios.
const MOST_BYTES: u64 = 2_000_000;
/// Largest size of what every page has, and of what each variant adds.
const SCRIPT_BYTES: u64 = 1_500_000;
const VARIANT_BYTES: u64 = 100_000;

fn size(out: &str) -> u64 {
    std::fs::metadata(format!("{out}/report.html")).expect("the report").len()
}

#[test]
fn page_begins_with_the_verdict_and_then_says_what_was_compared() {
    let scratch = Scratch::new("page-order");
    let out = scratch.path("results");
    succeeds(&["compare", "scenarios/demo.toml", "--runs", "20", "--quiet", "--out", &out]);
    assert!(size(&out) <= MOST_BYTES, "{} bytes", size(&out));
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    let parts = [
        "<h1>",
        "<p class=\"verdict ",
        "id=\"compared\"",
        "id=\"result\"",
        "id=\"why-not\"",
        "id=\"figures\"",
        "id=\"details\"",
        "id=\"rerun\"",
        "id=\"terms\"",
    ];
    let places: Vec<usize> = parts.iter().filter_map(|part| page.find(part)).collect();
    assert!(places.len() == parts.len() && places.is_sorted(), "{places:?}");
    let words = "<span>compare</span> <span>scenarios/demo.toml</span> <span>--runs</span>";
    assert!(page.contains(words), "the command breaks between words only");
    assert!(page.contains(">hosts</span> like Linux 6.18"), "what the hosts model");
    for theme in ["prefers-color-scheme:dark", "content=\"light dark\""] {
        assert!(page.contains(theme), "{theme}");
    }
    for term in ["lrf (scheduler)", "cubic (congestion control)", "baseline", "sent first on"] {
        assert!(page.contains(&format!("<dt>{term}</dt>")), "{term} is explained");
    }
    assert!(page.contains("Delay of every object"), "delays of the demo's page");
    for width in [1200, 400] {
        let Some(excess) = excess_width(&format!("{out}/report.html"), width, &scratch) else {
            return;
        };
        assert_eq!(excess, "0", "pixels beyond {width}");
    }
}

#[test]
fn long_runs_are_thinned_and_the_page_says_so() {
    let scratch = Scratch::new("page-size");
    let out = scratch.path("results");
    let shipped = "scenarios/mobility/handover.toml";
    succeeds(&["compare", shipped, "--runs", "2", "--quiet", "--out", &out]);
    assert!(size(&out) <= MOST_BYTES, "{} bytes", size(&out));
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    for path in ["wlan", "lte"] {
        assert!(page.contains(&format!(">last byte over {path}</option>")), "delays by path");
    }
    let told = page.split(" Thinned: ").nth(1).expect("figures with fewer points");
    let numbers: Vec<u64> = told.split(' ').filter_map(|word| word.parse().ok()).take(2).collect();
    assert!(numbers[0] < numbers[1] && told.contains("series.parquet has all"), "{numbers:?}");
}

#[test]
fn sixteen_variants_have_styles_and_names_of_their_own() {
    let scratch = Scratch::new("page-many");
    let out = scratch.path("results");
    let schedulers = "lrf,rr,redundant,blest,ecf,otias,sttf,linux";
    let mut arguments = vec!["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:1MB"];
    arguments.extend(["--protocols", "mptcp", "--schedulers", schedulers, "--cc", "cubic,lia"]);
    arguments.extend(["--runs", "2", "--quiet", "--out", &out]);
    succeeds(&arguments);
    assert!(size(&out) <= SCRIPT_BYTES + 16 * VARIANT_BYTES, "{} bytes", size(&out));
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    let table = page.split("id=\"results\"").nth(1).and_then(|text| text.split("</table>").next());
    let rows: Vec<&str> = table.expect("the table").split("<tr>").skip(2).collect();
    let styles = rows.iter().filter_map(|row| row.split("<svg").nth(1)?.split("</svg>").next());
    let styles: BTreeSet<&str> = styles.collect();
    assert_eq!((rows.len(), styles.len()), (16, 16));
    let Some(shown) = shown(&format!("{out}/report.html"), &scratch) else { return };
    for name in ["mptcp/otias/lia", "mptcp/redundant/cubic"] {
        assert!(shown.figure("boxes").contains(name), "{name} is written in full");
    }
}

#[test]
fn every_note_below_the_table_stands_in_the_report_too() {
    let scratch = Scratch::new("notes");
    let out = scratch.path("results");
    let lossy = "lossy=rate 25mbit delay 20ms loss 3% limit 100p";
    let mut arguments = vec!["compare", "--path", lossy, "--path", "3g", "--traffic"];
    arguments.extend(["burst:5", "--protocols", "tcp,mptcp", "--runs", "60", "--out", &out]);
    let printed = succeeds(&arguments);
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    let notes: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("note: ")).collect();
    assert!(notes.iter().any(|note| note.contains("has outliers")), "{printed}");
    for note in notes {
        assert!(page.contains(note), "{note}");
    }
}

#[test]
fn page_has_every_number_of_the_runs_and_the_goal() {
    let scratch = Scratch::new("page-metrics");
    let out = scratch.path("results");
    let paths = ["--path", "a=rate 10mbit delay 10ms", "--path", "b=rate 10mbit delay 30ms"];
    let goal = ["--goal", "p95 message_delay < 150ms", "--quiet", "--out", &out];
    succeeds(&[&["compare", "--traffic", "video:2s"], &paths[..], &goal].concat());
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    let table = page.split("<table id=\"metrics\">").nth(1).expect("a table of metrics");
    let table = table.split("</table>").next().unwrap_or_default();
    for name in ["delay", "median delay", "p95 delay", "p99 delay", "over 150 ms"] {
        assert!(table.contains(&format!("<td>{name}</td>")), "{name}: {table}");
    }
    assert!(page.contains("goal p95 message_delay &lt; 150ms: met by tcp/a/cubic"), "the goal");
}

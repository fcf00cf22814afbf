//! The data of the figures on a page, beside the numbers of the document and of the tables.

use crate::{Scratch, succeeds};
use serde_json::{Deserializer, Value};

/// Sets of traces and layout of a figure in a page.
fn figure(page: &str, id: &str) -> (Value, Value) {
    let start = format!("figure(\"{id}\", ");
    let at = page.find(&start).expect("the figure") + start.len();
    let mut sets = Deserializer::from_str(&page[at..]).into_iter::<Value>();
    let first = sets.next().expect("sets").expect("JSON");
    let rest = &page[at + sets.byte_offset() + 2..];
    let layout = Deserializer::from_str(rest).into_iter::<Value>().next();
    (first, layout.expect("a layout").expect("JSON"))
}

/// The traces of the first set.
fn traces(sets: &Value) -> &Vec<Value> {
    sets[0].as_array().expect("traces")
}

/// Packed numbers; `None` is a gap.
fn unpacked(packed: &Value) -> Vec<Option<f64>> {
    let (from, step) = (packed["from"].as_f64().expect("a number"), packed["step"].as_f64());
    let mut at = 0;
    let number = |difference: &Value| {
        at += difference.as_i64()?;
        Some(from + step.expect("a step") * at as f64)
    };
    packed["differences"].as_array().expect("differences").iter().map(number).collect()
}

/// The last number that is not a gap.
fn last(packed: &Value) -> f64 {
    unpacked(packed).into_iter().flatten().next_back().expect("a number")
}

fn compare(arguments: &[&str], out: &str) -> (Value, String) {
    let all = [&["compare", "--json", "--quiet", "--out", out][..], arguments].concat();
    let document = serde_json::from_str(&succeeds(&all)).expect("JSON");
    (document, std::fs::read_to_string(format!("{out}/report.html")).expect("the page"))
}

const LOSSY: [&str; 4] = [
    "--path",
    "wlan=rate 20mbit..30mbit delay 20ms loss 1%..2% limit 100p",
    "--path",
    "3g=rate 3mbit..5mbit delay 70ms limit 200p",
];

/// Regression: plotly.js computed quartiles in another way than the table and the other figures.
#[test]
fn boxes_have_the_quartiles_of_the_document() {
    let scratch = Scratch::new("page-boxes");
    let runs = ["--traffic", "download:256KiB", "--runs", "7", "--csv"];
    let (document, page) = compare(&[&LOSSY[..], &runs].concat(), &scratch.path("results"));
    let (sets, _) = figure(&page, "boxes");
    for (trace, variant) in traces(&sets).iter().zip(document["variants"].as_array().expect("all"))
    {
        assert_eq!(trace["name"], variant["name"]);
        let quantile = |name: &str| variant["quantiles"][name]["value"].as_f64().expect("a value");
        let median = variant["median"].as_f64().expect("a median");
        let scale = trace["median"][0].as_f64().expect("a median") / median;
        assert!((scale - 1e3).abs() < 1e-6, "milliseconds: {scale}");
        for (key, value) in [("q1", quantile("p25")), ("q3", quantile("p75"))] {
            let drawn = trace[key][0].as_f64().expect("a quartile");
            assert!((drawn - scale * value).abs() < 1e-6, "{key}: {drawn}, {value} s");
        }
    }
}

/// Regression: the path of a later connection had a line and no name in the legend, and lines
/// ended with their last change.
#[test]
fn every_path_over_time_is_in_the_legend_and_lines_last_until_the_end() {
    let scratch = Scratch::new("page-legend");
    let page = ["--traffic", "web:wikipedia", "--protocols", "mptcp", "--runs", "2"];
    let (_, page) = compare(&[&LOSSY[..], &page].concat(), &scratch.path("results"));
    let (sets, layout) = figure(&page, "series");
    assert_eq!(layout["legend"]["itemsizing"], "trace", "thick samples would hide the dashes");
    let traces = traces(&sets);
    let shown = traces.iter().filter(|trace| trace["showlegend"] == true);
    let shown: Vec<&str> = shown.filter_map(|trace| trace["name"].as_str()).collect();
    let mut names: Vec<&str> = traces.iter().filter_map(|trace| trace["name"].as_str()).collect();
    names.dedup();
    for name in names {
        assert_eq!(shown.iter().filter(|of| **of == name).count(), 1, "{name}: {shown:?}");
    }
    let ends = traces.iter().map(|trace| last(&trace["x"]));
    let end = ends.fold(0.0, f64::max);
    // All but the queues.
    for trace in traces.iter().filter(|trace| trace["yaxis"] != "y4") {
        assert!((last(&trace["x"]) - end).abs() < 1e-3, "{end}: {trace}");
    }
}

/// Regression: a period in which the reader was blocked until the end of the run was not drawn.
#[test]
fn reader_that_is_blocked_until_the_end_is_drawn_so() {
    let scratch = Scratch::new("page-blocked");
    let paths = [
        "--path",
        "a=rate 10mbit delay 20ms limit 60p down @1s..2s",
        "--path",
        "b=rate 8mbit delay 30ms limit 60p",
    ];
    let run = ["--traffic", "bulk:4s", "--protocols", "mptcp", "--runs", "1"];
    let (_, page) = compare(&[&paths[..], &run].concat(), &scratch.path("results"));
    let (sets, _) = figure(&page, "timeline");
    let blocked = traces(&sets).iter().find(|of| of["name"] == "reader blocked by a gap");
    let end = last(&blocked.expect("a bar")["x"]);
    assert!(end > 3.9, "the data that the failed path had are behind a gap until {end} s");
}

/// Regression: the goodput of the first second was not drawn.
#[test]
fn goodput_is_drawn_from_the_beginning() {
    let scratch = Scratch::new("page-goodput");
    let run = ["--traffic", "bulk:4s", "--protocols", "tcp", "--runs", "1"];
    let flow = ["--flow", "x=tcp on wlan"];
    let (_, page) = compare(&[&LOSSY[..], &run, &flow].concat(), &scratch.path("results"));
    let (sets, _) = figure(&page, "goodputs");
    for trace in traces(&sets) {
        let (x, y) = (unpacked(&trace["x"]), unpacked(&trace["y"]));
        assert_eq!(x[..2], [Some(0.0), Some(1.0)], "{trace}");
        assert_eq!(y[0], y[1]);
    }
}

/// Regression: a baseline of some nanoseconds, shown as 0.00 ms, made a row `+412935102 %`.
#[test]
fn rows_of_metrics_have_no_share_of_a_baseline_that_is_shown_as_zero() {
    let run = ["--traffic", "udp:500kbit:5s", "--protocols", "tcp,mptcp", "--runs", "4"];
    let text = succeeds(&[&["compare", "--quiet"][..], &LOSSY, &run].concat());
    let row = text.lines().find(|line| line.starts_with("interarrival jitter")).expect("a row");
    assert!(row.contains(" 0.00 ms ") && !row.contains('%'), "{row}");
}

/// Regression: the axis named the baseline of TCP for the differences of SCTP, too.
#[test]
fn figure_of_differences_names_the_baseline_of_each_family() {
    let scratch = Scratch::new("page-families");
    let out = scratch.path("results");
    let run = ["--traffic", "download:256KiB", "--protocols", "tcp,sctp", "--runs", "4"];
    let (document, page) = compare(&[&LOSSY[..], &run].concat(), &out);
    let baseline = |place: usize| document["variants"][place]["baseline"].as_str().expect("a name");
    let label = format!("difference from {}, of SCTP from {} (", baseline(0), baseline(2));
    succeeds(&["report", &out, "--figures", "svg"]);
    let svg = std::fs::read_to_string(format!("{out}/figures/difference.svg")).expect("a figure");
    assert!(svg.contains(&label), "{label}: {svg}");
    assert!(page.contains("cmt-sctp/SCHEDULER/CONGESTION-CONTROL"), "the term `variant`");
}

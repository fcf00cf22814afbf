//! The report in a browser: every figure has its marks, nothing is asked of the network, nothing
//! is complained of.

use crate::{Scratch, succeeds};
use std::process::{Command, Output};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The page as a browser without a network shows it; `None` without a browser.
pub fn shown(file: &str, scratch: &Scratch) -> Option<Output> {
    let profile = scratch.path("profile");
    BROWSERS.iter().find_map(|browser| {
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--window-size=1200,4000", "--virtual-time-budget=20000", "--dump-dom"])
            .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={profile}"))
            .arg(format!("file://{file}"))
            .output()
            .ok()
    })
}

/// The part of the page that is the figure with this name.
pub fn figure<'a>(dom: &'a str, id: &str) -> &'a str {
    let start = dom.find(&format!("<div id=\"{id}\"")).expect("the figure's place");
    let end = dom[start..].find("<script>").map_or(dom.len(), |at| start + at);
    &dom[start..end]
}

#[test]
fn every_figure_has_marks_and_nothing_is_asked_of_the_network() {
    let scratch = Scratch::new("browser");
    let out = scratch.path("results");
    let paths = ["wlan=rate 20mbit delay 10ms loss 1%", "lte=rate 8mbit delay 30ms"];
    let mut arguments = vec!["compare", "--traffic", "bulk:512KiB", "--protocols", "tcp,mptcp"];
    arguments.extend(["--runs", "4", "--quiet", "--out", &out]);
    arguments.extend(paths.iter().flat_map(|path| ["--path", *path]));
    succeeds(&arguments);
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the report");
    for outside in ["<script src", "<link", "@import", "<img", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let Some(output) = shown(&format!("{out}/report.html"), &scratch) else {
        eprintln!("skipped: no Chromium on this machine");
        return;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    assert!(!log.contains("net::ERR"), "{log}");
    let marks =
        |id: &str, class: &str| figure(&dom, id).matches(&format!("class=\"{class}")).count();
    assert_eq!(marks("boxes", "trace boxes"), 3, "a box for each variant");
    assert_eq!(marks("cdf", "trace scatter"), 3, "a line for each variant");
    assert!(marks("cdf", "point") >= 3 * 4, "a mark for each repetition");
    assert!(marks("timeline", "point") > 100, "segments that arrived");
    // Four quantities of two paths, and the reorder buffer.
    assert_eq!(marks("series", "trace scatter"), 9);
    // Of both paths free and full windows, calls that sent nothing, and the line of choices.
    assert_eq!(marks("calls", "trace scatter"), 6);
    assert!(marks("calls", "point") > 300, "two marks a call");
    assert!(dom.contains("<table id=\"why\""), "why nothing was sent");
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
    assert!(notes.iter().any(|note| note.contains("lie far out")), "{printed}");
    for note in notes {
        assert!(page.contains(note), "{note}");
    }
}

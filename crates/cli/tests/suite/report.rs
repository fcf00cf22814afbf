//! The report in a browser: every figure has its marks, without network requests and errors.

use crate::browser::shown;
use crate::{Scratch, succeeds};

#[test]
fn every_figure_has_marks_and_nothing_is_asked_of_the_network() {
    let scratch = Scratch::new("browser");
    let out = scratch.path("results");
    let paths = ["wlan=rate 20mbit delay 10ms loss 1%", "lte=rate 8mbit delay 30ms"];
    let mut arguments = vec!["compare", "--traffic", "bulk:512KiB", "--protocols", "tcp,mptcp"];
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
    assert!(marks("calls", "point") > 300, "two marks a call");
    assert!(page.has("<table id=\"why\""), "why nothing was sent");
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

//! Recorded pages over links made from their own times, beside their recorded load times.
//!
//! The note on a HAR file has the link and the options; this test takes them as printed. Nothing is
//! fitted: which recordings are within a quarter of their `onLoad` is what docs/pages.md says.

use crate::succeeds;
use serde_json::Value;
use std::path::Path;

/// The recordings of `ANABRANCH_DATA`, and how far from `onLoad` each is, in percent.
const RECORDINGS: [(&str, f64); 7] = [
    ("23andme-5g.har", 25.0),
    ("6pm-4g.har", 25.0),
    ("6pm-5g.har", 25.0),
    ("9gag-5g.har", 25.0),
    ("en.wikipedia.org-spdy-wpt.har", 25.0),
    ("sitespeed-http2-chrome.har", 25.0),
    // Responses that a busy browser took up to a second to read: docs/pages.md.
    ("www.nytimes.com-wpt.har", 30.0),
];

fn document(arguments: &[&str]) -> Value {
    let common = ["compare", "--runs", "1", "--protocols", "tcp", "--json"];
    serde_json::from_str(&succeeds(&[&common[..], arguments].concat())).expect("one document")
}

/// What stands between `before` and `after` in a note.
fn between<'n>(note: &'n str, before: &str, after: &str) -> Option<&'n str> {
    note.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

/// Load times over the recorded link, simulated and recorded, in milliseconds.
fn load_times(traffic: &str) -> (f64, f64) {
    let any = document(&["--path", "p=rate 10mbit delay 10ms", "--traffic", traffic]);
    let notes = any["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let note = notes.filter(|note| note.contains("recorded over a link")).collect::<String>();
    let path = format!("p={}", between(&note, "like `", "`").expect("a link"));
    let recorded = between(&note, "`onLoad` after ", " ms").expect("a load time");
    let mut arguments = vec!["--path", &path, "--traffic", traffic];
    if let Some(version) = between(&note, "`--tls ", "`") {
        arguments.extend(["--tls", version]);
    }
    if let Some(time) = between(&note, "`--dns ", "`") {
        arguments.extend(["--dns", time]);
    }
    let mean = document(&arguments)["variants"][0]["mean"].as_f64().expect("a load time");
    (mean * 1e3, recorded.parse().expect("a number"))
}

#[test]
fn pages_load_over_their_recorded_link_about_as_fast_as_recorded() {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
        return;
    };
    let folder = Path::new(&data).join("web/har");
    let mut far = Vec::new();
    for (file, most) in RECORDINGS {
        let (simulated, recorded) = load_times(&format!("web:{}", folder.join(file).display()));
        let off = (simulated / recorded - 1.0) * 100.0;
        println!("{file}: {simulated:.0} ms, recorded {recorded:.0} ms: {off:+.0} %");
        if off.abs() > most {
            far.push(file);
        }
    }
    assert!(far.is_empty(), "{far:?}");
}

/// The shipped recording, whether or not there are others.
#[test]
fn shipped_page_loads_over_its_recorded_link_within_a_quarter_of_the_recorded_time() {
    let (simulated, recorded) = load_times("web:wikipedia-2015");
    assert!((simulated / recorded - 1.0).abs() < 0.25, "{simulated} instead of {recorded} ms");
}

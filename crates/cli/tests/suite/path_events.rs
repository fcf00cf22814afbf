//! Studies with path events: the document, files that are read again, the page.

use crate::browser::shown;
use crate::{Scratch, succeeds};
use serde_json::Value;

/// A call during which a path fails silently, returns, and is reset.
const STUDY: &str = r#"
traffic = "video:8s"
protocols = "tcp,mptcp"
failover = "rto,probe"
runs = 3
quiet = true
[path]
wlan = "rate 10mbit delay 10ms 2ms limit 100p silent @2s..4s reset @6s"
lte = "rate 5mbit delay 30ms limit 100p"
"#;

fn study(scratch: &Scratch) -> (String, Value) {
    let file = scratch.file("study.toml", STUDY);
    let out = scratch.path("results");
    let document = succeeds(&["compare", &file, "--json", "--out", &out]);
    (out, serde_json::from_str(&document).expect("JSON"))
}

#[test]
fn every_failure_has_its_times_in_the_document_and_the_table_of_the_page() {
    let scratch = Scratch::new("events-document");
    let (out, study) = study(&scratch);
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the page");
    let variants = study["variants"].as_array().expect("variants");
    let mut seen = 0;
    for variant in variants.iter().filter(|variant| variant["path"] != "lte") {
        for event in variant["failover_time"]["events"].as_array().expect("events") {
            let name = event["event"].as_str().unwrap_or_default();
            assert!(["silent:wlan@2s", "reset:wlan@6s"].contains(&name), "{name}");
            let mean = event["mean"].as_f64().expect("a mean");
            assert!(event["ci95"][0].as_f64() <= Some(mean) && event["median"].is_f64());
            assert!(page.contains(&format!("<td class=\"n\">{mean:.3}")), "{mean} of {name}");
            seen += 1;
        }
    }
    // TCP over the reset path never continues.
    assert_eq!(seen, 1 + 2 * 2);
}

#[test]
fn page_of_stored_runs_is_the_same_page() {
    let scratch = Scratch::new("events-stored");
    let (out, _) = study(&scratch);
    let name = format!("{out}/report.html");
    let page = std::fs::read_to_string(&name).expect("the page");
    std::fs::remove_file(&name).expect("the page was there");
    succeeds(&["report", &out]);
    assert!(page == std::fs::read_to_string(&name).expect("the page"));
}

#[test]
fn page_shows_every_failover_time_and_what_arrived_around_the_events() {
    let scratch = Scratch::new("events-page");
    let (out, _) = study(&scratch);
    let Some(page) = shown(&format!("{out}/report.html"), &scratch) else { return };
    // A dot for each of three repetitions, and a mean: TCP at one event, two variants at both.
    assert_eq!(page.marks("failovers", "class=\"point\""), 5 * (3 + 1));
    assert_eq!(page.marks("failovers", "class=\"xerror\""), 5, "an interval on each mean");
    // Lanes of the outage and of the reset; strips of finished variants, with a band for each path
    // that delivered data and a bar of pauses: TCP over LTE, two of MPTCP.
    assert_eq!(page.marks("delivery", "class=\"trace scatter"), 2 + (1 + 1) + 2 * (2 + 1));
}

#[test]
fn page_of_a_study_without_events_has_rates_and_no_failover_times() {
    let scratch = Scratch::new("events-none");
    let out = scratch.path("results");
    let few = ["--runs", "2", "--quiet", "--out", &out];
    let study = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:64KiB"];
    succeeds(&[&study[..], &few].concat());
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the page");
    for part in ["id=\"failovers\"", "path events", "failover-table"] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("Rate of each path over time"));
}

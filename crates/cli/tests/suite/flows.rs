//! Studies of competing connections: the numbers of the document, files that are read again, the
//! page.

use crate::{Scratch, anabranch, stderr, succeeds};
use serde_json::Value;

/// A connection over two paths through one link beside two TCP flows.
const STUDY: &str = r#"
traffic = "bulk:12s"
warm-up = "2s"
start = "0s..1s"
protocols = "tcp,mptcp"
cc = "reno,lia"
runs = 4
quiet = true
[path]
a = "delay 5ms via core"
b = "delay 5ms via core"
[link]
core = "rate 10mbit delay 10ms limit 100p"
[flow.beside]
path = "a"
cc = "reno"
start = "0s..1s"
count = 2
[flow.other]
paths = ["b", "a"]
cc = "lia"
"#;

fn document(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(arguments)).expect("JSON")
}

fn mean(value: &Value) -> f64 {
    value["mean"].as_f64().unwrap_or_else(|| panic!("a mean: {value}"))
}

#[test]
fn document_has_what_every_connection_got() {
    let scratch = Scratch::new("flows-document");
    let file = scratch.file("study.toml", STUDY);
    let study = document(&["compare", &file, "--json"]);
    assert_eq!(study["links"][0]["name"], "core");
    assert_eq!(study["paths"][0]["via"], "core");
    assert_eq!(study["flows"][1]["spec"], "mptcp on b,a cc lia scheduler lrf");
    assert_eq!((study["warm_up"].as_f64(), &study["start"][1]), (Some(2.0), &Value::from(1.0)));
    for variant in study["variants"].as_array().expect("variants") {
        let flows = variant["flows"].as_array().expect("flows");
        let names: Vec<&str> = flows.iter().filter_map(|flow| flow["name"].as_str()).collect();
        assert_eq!(names, ["beside-1", "beside-2", "other"]);
        let goodputs: Vec<f64> = flows.iter().filter_map(|flow| flow["goodput"].as_f64()).collect();
        let own = mean(&variant["goodput"]);
        assert_eq!(variant["mean"].as_f64(), Some(own));
        let total = own + goodputs.iter().sum::<f64>();
        assert!((8.5e6..10e6).contains(&total), "{total} bit/s of 10 Mbit/s");
        // Of means, not the mean of the ratios, which is near.
        let share = 2.0 * own / (goodputs[0] + goodputs[1]);
        assert!((mean(&variant["tcp_share"]) / share - 1.0).abs() < 0.2, "{variant}");
        assert!((0.3..=1.0).contains(&mean(&variant["jain"])));
        let ends = variant["tcp_share"]["ci95"].as_array().expect("an interval");
        assert!(ends[0].as_f64() < ends[1].as_f64());
        let on: f64 = ["a", "b"].iter().filter_map(|path| flows[2]["share"][path].as_f64()).sum();
        assert!((on - 1.0).abs() < 1e-9, "the payload of `other` is on its paths");
        assert!(flows[0].get("share").is_none(), "TCP has one path");
        assert!(variant["extra"].as_object().is_some_and(|extra| extra.is_empty()));
    }
}

#[test]
fn study_without_flows_has_no_word_of_them() {
    let study =
        document(&["compare", "--path", "3g", "--traffic", "bulk:64KiB", "--runs", "2", "--json"]);
    for key in ["links", "flows", "start", "warm_up"] {
        assert!(study.get(key).is_none(), "{key}");
    }
    for key in ["flows", "goodput", "tcp_share", "jain", "convergence_time"] {
        assert!(study["variants"][0].get(key).is_none(), "{key}");
    }
}

#[test]
fn stored_runs_are_read_again_equal_and_other_flows_are_another_study() {
    let scratch = Scratch::new("flows-stored");
    let file = scratch.file("study.toml", STUDY);
    let out = scratch.path("results");
    let first = document(&["compare", &file, "--json", "--out", &out, "--csv"]);
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the page");
    let csv = std::fs::read_to_string(format!("{out}/runs.csv")).expect("the runs");
    let header = csv.lines().next().unwrap_or_default();
    for column in ["flows/jain", "flows/tcp_share", "flow/beside-2", "flow/other/a"] {
        assert!(header.split(',').any(|name| name == column), "{column} of {header}");
    }
    let summary = std::fs::read_to_string(format!("{out}/summary.csv")).expect("the variants");
    let rows: Vec<Vec<&str>> = summary.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][5], rows[0][13]), (5, "mean", "class"), "{summary}");
    let variant = &first["variants"][0];
    assert_eq!(
        (rows[1][0], rows[1][5].parse().ok()),
        (variant["name"].as_str().expect("a name"), variant["mean"].as_f64())
    );
    succeeds(&["report", &out]);
    let again = std::fs::read_to_string(format!("{out}/report.html")).expect("the page");
    assert!(page == again, "the page of the stored runs is the same page");
    let second = document(&["compare", &file, "--json", "--out", &out]);
    assert_eq!(first, second);
    let run = std::fs::read_to_string(format!("{out}/run.json")).expect("run.json");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(run["reused_runs"], 16, "four variants four times");
    for (from, to) in [
        ("count = 2", "count = 3"),
        ("rate 10mbit", "rate 11mbit"),
        ("warm-up = \"2s\"", "warm-up = \"3s\""),
        ("start = \"0s..1s\"\nprotocols", "start = \"0s..2s\"\nprotocols"),
    ] {
        let file = scratch.file("other.toml", &STUDY.replace(from, to));
        let refused = anabranch(&["compare", &file, "--out", &out]);
        assert_eq!(refused.status.code(), Some(2), "{from}");
        assert!(stderr(&refused).contains("results of another scenario"), "{from}");
    }
}

#[test]
fn page_shows_shares_and_goodputs() {
    let scratch = Scratch::new("flows-page");
    let file = scratch.file("study.toml", STUDY);
    let out = scratch.path("results");
    succeeds(&["compare", &file, "--out", &out]);
    let Some(page) = crate::browser::shown(&format!("{out}/report.html"), &scratch) else { return };
    let marks = |id: &str, class: &str| page.marks(id, class);
    assert_eq!(marks("shares", "class=\"point\""), 4, "a bar for each variant");
    assert!(marks("shares", "class=\"xerror\"") >= 4, "an interval on each bar");
    // The compared connection and three others.
    assert_eq!(marks("goodputs", "class=\"trace scatter"), 4);
    assert!(page.has("<table id=\"sharing-table\""));
}

/// Paper 000's background traffic: the same result for any number of threads, and from the written
/// scenario.
#[test]
fn background_traffic_does_not_depend_on_threads_and_is_written_as_a_word() {
    let scratch = Scratch::new("background");
    let out = scratch.path("out");
    let study = ["compare", "--path", "a=rate 8mbit delay 9ms limit 50p", "--path"];
    let study = [&study[..], &["b=rate 2mbit delay 20ms limit 50p", "--traffic", "video:3s"]];
    let study = [&study.concat()[..], &["--protocols", "tcp,udp", "--background"]].concat();
    let with = |more: &[&str]| document(&[&study[..], &["--runs", "3", "--json"], more].concat());
    let one = with(&["--jobs", "1"]);
    let two = with(&["--jobs", "2", "--out", &out]);
    assert_eq!(one["hash"], two["hash"]);
    assert_eq!(one["start"], 10.0);
    let names: Vec<&str> = one["flows"]
        .as_array()
        .expect("flows")
        .iter()
        .filter_map(|flow| flow["name"].as_str())
        .collect();
    assert_eq!(names, ["a:background", "a:onoff", "b:background", "b:onoff"]);
    let file = format!("{out}/scenario.toml");
    let text = std::fs::read_to_string(&file).expect("the scenario");
    assert!(text.contains("background = true") && !text.contains("[flow]"), "{text}");
    assert_eq!(document(&["compare", &file, "--json"])["hash"], one["hash"]);
    let udp = one["variants"].as_array().expect("variants");
    let udp = udp.iter().find(|variant| variant["name"] == "udp/b").expect("udp");
    assert_eq!(udp["cc"], Value::Null);
    assert!(udp["extra"]["lost"].as_f64().is_some_and(|lost| lost > 0.01), "{udp}");
}

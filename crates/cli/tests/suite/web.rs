//! Pages: HAR files, graphs, names, and errors.

use crate::{Scratch, anabranch, stderr, stdout, succeeds};
use serde_json::Value;

const LINK: &str = "home=rate 10mbit delay 20ms limit 100p";
const OTHER: &str = "lte=rate 5mbit delay 30ms limit 100p";

/// An entry that begins after `start` ms, with `more` in it.
fn entry(url: &str, start: u32, bytes: u32, more: &str) -> String {
    format!(
        r#"{{"startedDateTime": "2024-05-01T10:00:00.{start:03}Z", "time": 50,
        "request": {{"method": "GET", "url": "http://a.org/{url}", "headersSize": 300}},
        "response": {{"status": 200, "headersSize": 200, "bodySize": {bytes},
                      "content": {{"size": {bytes}}}}},
        "timings": {{"wait": 50, "receive": 0}}{more}}}"#
    )
}

/// A document that requests eight images when it is received.
fn page() -> String {
    let by = r#", "_initiator": {"type": "parser", "url": "http://a.org/"}"#;
    let images = (1..=8).map(|n| entry(&format!("{n}.png"), 50, 10_000, by));
    let entries: Vec<String> = std::iter::once(entry("", 0, 4_000, "")).chain(images).collect();
    format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(",\n"))
}

fn document(arguments: &[&str]) -> Value {
    let text = succeeds(&[&["compare", "--runs", "1", "--json"], arguments].concat());
    serde_json::from_str(&text).expect("one JSON document")
}

#[track_caller]
fn refused(arguments: &[&str], parts: &[&str]) {
    let output = anabranch(&[&["compare", "--path", LINK], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    for part in parts {
        let message = stderr(&output);
        assert!(message.contains(part), "`{part}` is missing in:\n{message}");
    }
}

#[test]
fn page_gives_a_table_of_load_and_object_times() {
    let scratch = Scratch::new("web-table");
    let traffic = format!("web:{}", scratch.file("page.har", &page()));
    let arguments = ["compare", "--path", LINK, "--runs", "1", "--traffic", &traffic];
    let expected = "\
page page.har: 9 objects, 86 kB, over 6 HTTP/1.1 connections; TCP over each path alone, hosts
";
    let text = succeeds(&arguments);
    assert!(text.starts_with(expected.trim_end()), "{text}");
    for part in
        ["page load [ms]", "objects ", "mean [ms]", "longest [ms]", "connections", "home: loads in"]
    {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn document_has_the_page_and_the_time_of_every_object() {
    let scratch = Scratch::new("web-document");
    let traffic = format!("web:{}", scratch.file("page.har", &page()));
    let document = document(&["--path", LINK, "--traffic", &traffic]);
    assert_eq!((&document["metric"], &document["unit"]), (&"page_load_time".into(), &"s".into()));
    assert_eq!(document["traffic"], traffic.as_str());
    assert_eq!(document["page"]["response_bytes"], 85_800);
    assert_eq!(document["page"]["objects"][8]["url"], "http://a.org/8.png");
    let variant = &document["variants"][0];
    let load = variant["mean"].as_f64().expect("a time");
    assert!((0.16..0.25).contains(&load), "{load}");
    let times = variant["object_times"].as_object().expect("times");
    assert_eq!(times.len(), 9);
    let first = times["1"].as_f64().expect("a time");
    assert!((0.040..0.046).contains(&first), "a round trip and 4 kB: {first}");
    let extra = &variant["extra"];
    assert_eq!((&extra["objects"], &extra["connections"]), (&9.0.into(), &6.0.into()));
    let mean = times.values().filter_map(Value::as_f64).sum::<f64>() / 9.0;
    assert!((extra["object_time"].as_f64().expect("a mean") - mean).abs() < 1e-9);
}

#[test]
fn pages_go_over_several_paths_and_one_connection_too() {
    let scratch = Scratch::new("web-multipath");
    let traffic = format!("web:{}", scratch.file("page.har", &page()));
    let both = ["--path", LINK, "--path", OTHER, "--protocols", "tcp,mptcp", "--traffic", &traffic];
    for http in ["1.1", "2"] {
        let document = document(&[&both[..], &["--http", http]].concat());
        assert_eq!(document["page"]["http"], http);
        let variants = document["variants"].as_array().expect("variants");
        assert_eq!(variants.len(), 3);
        for variant in variants {
            assert_eq!((&variant["n"], &variant["incomplete"]), (&1.into(), &0.into()));
            let connections = if http == "2" { 1.0 } else { 6.0 };
            assert_eq!(variant["extra"]["connections"], connections);
        }
        let share = |path: &str| variants[2]["share"][path].as_f64().expect("a share");
        assert!((share("home") + share("lte") - 1.0).abs() < 1e-9);
    }
}

#[test]
fn named_page_is_a_model_that_says_so() {
    let text = succeeds(&["compare", "--path", LINK, "--runs", "1", "--traffic", "web:google"]);
    assert!(text.contains("page google: 6 objects"), "{text}");
    assert!(text.contains("page: `google` "), "model or recording: {text}");
    let list = succeeds(&["list", "pages"]);
    for part in ["wikipedia ", "138 objects", "002 Table III"] {
        assert!(list.contains(part), "`{part}` is missing in:\n{list}");
    }
    assert!(succeeds(&["list", "traffic"]).contains("web:NAME"));
}

#[test]
fn scenario_file_names_page_and_ways_of_fetching_relative_to_itself() {
    let scratch = Scratch::new("web-scenario");
    scratch.file("page.har", &page());
    let scenario = scratch.file(
        "study.toml",
        "traffic = \"web:page.har\"\nhttp = \"2\"\nper-host = true\nruns = 1\n\
         [path]\nhome = \"rate 10mbit delay 20ms\"\n",
    );
    let out = scratch.path("out");
    let first = succeeds(&["compare", &scenario, "--json", "--out", &out]);
    let document: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(
        (&document["page"]["http"], &document["page"]["per_host"]),
        (&"2".into(), &true.into())
    );
    // The scenario in the folder works in any folder.
    let again = succeeds(&["compare", &format!("{out}/scenario.toml"), "--json"]);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["hash"], document["hash"]);
}

#[test]
fn limits_of_each_host_are_told_with_the_number_of_hosts() {
    let scratch = Scratch::new("web-hosts");
    let two = page().replace("http://a.org/8.png", "http://b.org/8.png");
    let traffic = format!("web:{}", scratch.file("page.har", &two));
    let words = ["compare", "--path", LINK, "--runs", "1", "--per-host", "--traffic", &traffic];
    let text = succeeds(&words);
    assert!(text.contains("over 6 HTTP/1.1 connections to each of 2 hosts"), "{text}");
}

#[test]
fn pages_that_are_none_are_refused_with_the_mend() {
    let scratch = Scratch::new("web-refused");
    let with = |name: &str, text: &str| format!("web:{}", scratch.file(name, text));
    let cut = &page()[..700];
    for (traffic, parts) in [
        ("web".to_owned(), &["names no page", "web:page.har"][..]),
        ("web:".to_owned(), &["names no page", "wikipedia"]),
        ("web:no-such.har".to_owned(), &["`no-such.har` cannot be read", "check the name"]),
        ("web:amazn".to_owned(), &["did you mean `web:amazon`"]),
        ("web:/".to_owned(), &["is a folder"]),
        (with("empty.har", ""), &["is empty"]),
        (with("cut.har", cut), &["line ", "ends too early"]),
        (with("page.html", "<html></html>"), &["HTML"]),
        (with("other.json", "{\"a\": 1}"), &["neither a HAR file"]),
        (with("none.har", "{\"log\": {\"entries\": []}}"), &["without entries"]),
    ] {
        refused(&["--traffic", &traffic], parts);
    }
    let page = with("page.har", &page());
    refused(&["--traffic", &page, "--http", "3"], &["--http", "unknown version of HTTP"]);
    refused(&["--traffic", &page, "--reverse"], &["always a download"]);
    refused(&["--traffic", "video", "--http", "2"], &["--http", "no page is"]);
    refused(&["--traffic", "video", "--per-host"], &["--per-host", "no page is"]);
}

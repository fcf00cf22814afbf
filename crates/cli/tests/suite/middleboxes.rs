//! Middleboxes as words of a path: what MPTCP does behind them.

use crate::{Scratch, succeeds};
use serde_json::Value;

const ARGUMENTS: [&str; 11] = [
    "compare",
    "--traffic",
    "bulk:2MB",
    "--protocols",
    "mptcp",
    "--schedulers",
    "lrf",
    "--runs",
    "2",
    "--json",
    "--quiet",
];

/// The document of a download over two paths with these items.
fn download([a, b]: [&str; 2]) -> Value {
    let a = format!("a=rate 20mbit delay 10ms limit 60p {a}");
    let b = format!("b=rate 10mbit delay 20ms limit 60p {b}");
    let document = succeeds(&[&ARGUMENTS[..], &["--path", &a, "--path", &b]].concat());
    serde_json::from_str(&document).expect("JSON")
}

fn share_of_b(document: &Value) -> f64 {
    let variant = &document["variants"][0];
    assert_eq!(variant["incomplete"], 0, "{variant}");
    variant["share"]["b"].as_f64().expect("a share")
}

#[test]
fn mptcp_falls_back_where_its_options_are_removed() {
    for stage in ["", " at syn", " at synack", " at ack", " at data"] {
        let document = download([&format!("strip mptcp{stage}"), ""]);
        assert_eq!(share_of_b(&document), 0.0, "first path{stage}: TCP");
        let document = download(["", &format!("strip mptcp{stage}")]);
        assert!(share_of_b(&document) < 0.02, "second path{stage}: not joined, or reset");
    }
}

#[test]
fn transparent_middleboxes_change_nothing() {
    let plain = download(["", ""]);
    assert!(share_of_b(&plain) > 0.25);
    for boxes in ["nat timeout 60s", "rewrite sequence", "nat timeout 60s rewrite sequence"] {
        let behind = download([boxes, boxes]);
        assert_eq!(behind["variants"][0]["mean"], plain["variants"][0]["mean"], "{boxes}");
        assert_eq!(share_of_b(&behind), share_of_b(&plain), "{boxes}");
        assert!(behind["paths"][0]["understood"].as_str().is_some_and(|it| it.ends_with(boxes)));
    }
}

#[test]
fn a_translator_forgets_what_is_silent() {
    // The burst comes 3 s after the warm-up.
    let run = |timeout: &str| {
        let path = format!("a=rate 20mbit delay 10ms nat timeout {timeout}");
        let burst = ["compare", "--path", &path, "--traffic", "burst:20", "--runs", "1", "--json"];
        let document: Value = serde_json::from_str(&succeeds(&burst)).expect("JSON");
        document["variants"][0]["incomplete"].clone()
    };
    assert_eq!((run("1s"), run("10s")), (1.into(), 0.into()));
}

#[test]
fn a_translator_that_restarts_ends_connections_and_mptcp_goes_on() {
    let document = download(["", "nat timeout 60s rebind @0.3s"]);
    let share = share_of_b(&document);
    assert!(share > 0.02 && share < share_of_b(&download(["", "nat timeout 60s"])), "{share}");
}

#[test]
fn a_proxy_ends_connections_before_a_long_way() {
    let run = |word: &str| {
        let path = format!("a=rate 20mbit delay 5ms loss 1% limit 60p via core {word}");
        let link = ["--link", "core=rate 1gbit delay 50ms", "--path", &path, "--protocols", "tcp"];
        let call = ["compare", "--traffic", "bulk:8MB", "--runs", "4", "--json", "--quiet"];
        let document: Value =
            serde_json::from_str(&succeeds(&[&call[..], &link].concat())).expect("JSON");
        let variant = &document["variants"][0];
        assert_eq!(variant["incomplete"], 0, "{variant}");
        variant["mean"].as_f64().expect("a time")
    };
    // Losses are repaired in 10 ms instead of 110 ms.
    let (split, whole) = (run("proxy"), run(""));
    assert!(split * 2.0 < whole && split > 8.0 * 8.0 / 20.0, "{split} s and {whole} s");
}

#[test]
fn mptcp_falls_back_at_a_proxy() {
    let document = download(["proxy", ""]);
    assert_eq!(share_of_b(&document), 0.0, "first path: TCP");
    let document = download(["nat timeout 60s rewrite sequence proxy", ""]);
    assert_eq!(share_of_b(&document), 0.0, "behind a translator, too");
    let document = download(["", "proxy"]);
    assert_eq!(share_of_b(&document), 0.0, "second path: not joined");
    assert_eq!(share_of_b(&download(["proxy", "proxy"])), 0.0);
}

#[test]
fn files_have_the_words_as_keys() {
    let scratch = Scratch::new("middleboxes");
    let file = scratch.file(
        "study.toml",
        "traffic = \"bulk:2MB\"\nprotocols = \"mptcp\"\nschedulers = \"lrf\"\nruns = 2\n\
         [path]\nb = \"rate 10mbit delay 20ms limit 60p\"\n\
         [path.a]\nrate = \"20mbit\"\ndelay = \"10ms\"\nlimit = \"60p\"\n\
         strip = \"mptcp at syn\"\nnat = \"timeout 60s rebind @40s\"\nrewrite = \"sequence\"\n\
         proxy = true\n",
    );
    let document = succeeds(&["compare", &file, "--first", "a", "--json", "--quiet"]);
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(share_of_b(&document), 0.0);
}

#[test]
fn an_idle_radio_delays_the_first_packets_only() {
    let run = |radio: &str| {
        let path = format!("a=rate 20mbit delay 10ms {radio}");
        let call = ["compare", "--path", &path, "--traffic", "bulk:64KiB", "--runs", "1", "--json"];
        let document: Value = serde_json::from_str(&succeeds(&call)).expect("JSON");
        document["variants"][0]["mean"].as_f64().expect("a time")
    };
    let waits = run("promotion 10s 300ms") - run("");
    assert!((waits - 0.3).abs() < 1e-6, "{waits} s: the SYN waits, nothing after it does");
    // Shorter than a round trip: idle again before each answer.
    assert!(run("promotion 5ms 300ms") > run("") + 0.6);
}

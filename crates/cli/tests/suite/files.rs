//! Scenario files in, result files out.

use crate::{Scratch, anabranch, stderr, stdout, succeeds};
use serde_json::Value;
use std::path::Path;

const SCENARIO: &str = "\
title = \"A <small> study\"
traffic = \"bulk:128KiB\"
runs = 3
cc = [\"cubic\", \"reno\"]
[path]
wlan = \"profile wlan\"
[path.slow]
rate = \"2mbit..3mbit\"
delay = \"30ms+-5ms\"
limit = \"50p..1000p\"
events = [\"down @20s..35s\"]
";

#[test]
fn scenario_file_and_options_say_the_same() {
    let scratch = Scratch::new("same");
    let file = scratch.file("study.toml", SCENARIO);
    let from_file = succeeds(&["compare", &file, "--json"]);
    let from_options = succeeds(&[
        "compare",
        "--path",
        "wlan",
        "--path",
        "slow=rate 2mbit..3mbit delay 30ms+-5ms limit 50p..1000p down @20s..35s",
        "--traffic",
        "bulk:128KiB",
        "--runs",
        "3",
        "--cc",
        "cubic,reno",
        "--json",
    ]);
    let hash = |text: &str| {
        let document: Value = serde_json::from_str(text).expect("JSON");
        document["hash"].clone()
    };
    assert_eq!(hash(&from_file), hash(&from_options));
    assert_ne!(hash(&from_file), hash(&succeeds(&["compare", &file, "--json", "--seed", "5"])));
}

/// Regression: the file had no keys for `--why`, `--wide`, `--markdown` and `--fail-if`, and
/// `--markdown` had no effect beside `json = true` of a file.
#[test]
fn every_form_of_output_is_a_key_and_an_option_overrides_it() {
    let scratch = Scratch::new("output-keys");
    let said = |keys: &str, options: &[&str]| {
        let file = scratch.file("study.toml", &format!("{keys}\n{SCENARIO}"));
        let output = anabranch(&[&["compare", &file], options].concat());
        (output.status.code(), stdout(&output))
    };
    for (keys, options) in [
        ("why = true", &["--why"][..]),
        ("wide = true", &["--wide"]),
        ("markdown = true", &["--markdown"]),
        ("json = true", &["--json"]),
        ("fail-if = \"undecided\"", &["--fail-if", "undecided"]),
        ("fail-if = [\"hurts\", \"undecided\"]", &["--fail-if", "hurts,undecided"]),
    ] {
        let (by_key, by_option) = (said(keys, &[]), said("", options));
        assert_eq!(by_key, by_option, "{keys}");
        assert_ne!(by_key, said("", &[]), "{keys} has an effect");
    }
    let plain = said("", &["--markdown"]);
    assert_eq!(said("json = true", &["--markdown"]), plain);
    assert_eq!(said("wide = true", &["--markdown"]), plain);
    assert_eq!(said("markdown = true", &["--json"]), said("", &["--json"]));
    assert_eq!(said("markdown = true", &["--wide"]), said("", &["--wide"]));
    assert_eq!(said("fail-if = \"undecided\"", &["--fail-if", "hurts"]).0, Some(0));
}

#[test]
fn result_folder_can_be_run_again() {
    let scratch = Scratch::new("again");
    let (file, out) = (scratch.file("study.toml", SCENARIO), scratch.path("deep/results"));
    let first = succeeds(&["compare", &file, "--out", &out]);
    let files = [
        "run.json",
        "runs.parquet",
        "series.parquet",
        "scenario.toml",
        "result.json",
        "report.html",
    ];
    for name in files {
        let size = std::fs::metadata(format!("{out}/{name}")).map(|data| data.len());
        assert!(size.is_ok_and(|size| size > 100), "{name}");
    }
    let again = succeeds(&["compare", &format!("{out}/scenario.toml"), "--out", &out]);
    assert_eq!(first, again, "the same table from the folder, written over itself");
    let run = std::fs::read_to_string(format!("{out}/run.json")).expect("run.json");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!((&run["seed"], &run["interrupted"]), (&1.into(), &false.into()));
    assert_eq!(run["command"][1], "compare");
    let report = std::fs::read_to_string(format!("{out}/report.html")).expect("report.html");
    assert!(report.contains("A &lt;small&gt; study"), "the title cannot become markup");
    assert!(!report.contains("<script src") && !report.contains("<link"), "all in one file");
    assert!(!report.contains("<img") && !report.contains("@import"), "nothing from elsewhere");
}

#[test]
fn file_of_somebody_else_is_overwritten_with_force_only() {
    let scratch = Scratch::new("overwrite");
    let mine = "# my scenario\n".to_owned() + SCENARIO;
    let (file, here) = (scratch.file("scenario.toml", &mine), scratch.path(""));
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("the file");
    let output = anabranch(&["compare", &file, "--out", &here, "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(message.contains("scenario.toml` was not written by anabranch"), "{message}");
    assert!(message.contains("or add `--force` to overwrite it"), "{message}");
    assert_eq!(read("scenario.toml"), mine);
    assert!(!Path::new(&scratch.path("run.json")).exists(), "nothing was run");

    let out = scratch.path("results");
    succeeds(&["compare", &file, "--out", &out, "--quiet"]);
    scratch.file("results/report.html", "<p>my own page");
    let page = scratch.file("page.html", "<p>my own page");
    for more in [&[][..], &["--out", &page]] {
        let output = anabranch(&[&["report", &out], more].concat());
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
        assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    }
    assert_eq!(read("results/report.html") + &read("page.html"), "<p>my own page".repeat(2));
    for _ in 0..2 {
        succeeds(&["report", &out, "--out", &page, "--force", "--quiet"]);
    }
    succeeds(&["report", &out, "--out", &page, "--quiet"]);
    assert!(read("page.html").contains("name=\"generator\" content=\"anabranch"));

    let packets = scratch.path("packets");
    let captured = ["run", &file, "--pcap", &packets, "--quiet"];
    for _ in 0..2 {
        succeeds(&captured);
    }
    scratch.file("packets/tcp-wlan-cubic-receiver.pcapng", "my packets");
    assert_eq!(anabranch(&captured).status.code(), Some(2));
    succeeds(&[&captured[..], &["--force"]].concat());
}

#[test]
fn trace_names_are_relative_to_the_scenario_file() {
    let scratch = Scratch::new("relative");
    scratch.file("my trace.down", "0\n1\n2\n3\n");
    scratch.file("my trace.up", "0\n2\n4\n");
    let file = scratch.file(
        "study.toml",
        "traffic = \"bulk:64KiB\"\nruns = 2\n[path.lte]\ntrace = \"my trace.down\"\n\
         delay = \"30ms\"\nlimit = \"200p\"\n",
    );
    let out = scratch.path("results");
    let text = succeeds(&["compare", &file, "--out", &out]);
    assert!(text.contains("mahimahi milliseconds"), "{text}");
    assert!(text.contains(", found beside it: "), "{text}");
    let hash = |file: &str| {
        let text = succeeds(&["compare", file, "--json"]);
        serde_json::from_str::<Value>(&text).expect("JSON")["hash"].clone()
    };
    assert_eq!(hash(&format!("{out}/scenario.toml")), hash(&file));
}

#[test]
fn captures_are_written_for_the_first_repetition() {
    let scratch = Scratch::new("captures");
    let (file, folder) = (scratch.file("study.toml", SCENARIO), scratch.path("pcap"));
    succeeds(&["compare", &file, "--pcap", &folder]);
    for name in ["tcp-wlan-cubic", "tcp-wlan-reno", "tcp-slow-cubic", "tcp-slow-reno"] {
        for place in ["", "-receiver"] {
            let file = format!("{folder}/{name}{place}.pcapng");
            let bytes = std::fs::read(file).expect("a capture");
            assert_eq!(bytes[..4], [0x0A, 0x0D, 0x0D, 0x0A], "a pcapng section header");
            assert!(bytes.len() > 1000);
        }
    }
}

#[test]
fn shipped_scenarios_are_understood() {
    let output = anabranch(&["compare", "scenarios/demo.toml", "--runs", "2", "--quiet"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).lines().last().is_some_and(|line| line.starts_with("Verdict:")));
}

#[test]
fn shipped_validation_set_is_understood() {
    let output = anabranch(&["validate", "scenarios/validation.toml", "--only", "no-such"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = stderr(&output);
    assert!(shown.contains("has no scenario `no-such`"), "the set itself is in order: {shown}");
}

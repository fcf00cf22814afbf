//! `run`: one repetition of each variant, with full recording.

use crate::{Scratch, anabranch, command, stderr, stdout, succeeds};
use serde_json::Value;
use std::fs;

/// Two paths and little traffic.
const PATHS: [&str; 8] = [
    "--path",
    "wlan=rate 25mbit delay 20ms loss 1% limit 100p",
    "--path",
    "3g=rate 4mbit delay 70ms limit 3750p",
    "--traffic",
    "bulk:256KiB",
    "--protocols",
    "tcp,mptcp",
];

fn run(more: &[&str]) -> Vec<String> {
    let words = ["run"].iter().chain(&PATHS).chain(more);
    words.map(|word| (*word).to_owned()).collect()
}

fn printed(more: &[&str]) -> String {
    let words = run(more);
    succeeds(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn numbers_of_a_repetition_are_those_of_the_comparison() {
    let scratch = Scratch::new("run-same");
    let out = scratch.path("study");
    succeeds(&[&["compare"], &PATHS[..], &["--runs", "3", "--csv", "--out", &out]].concat());
    let csv = fs::read_to_string(format!("{out}/runs.csv")).expect("runs.csv");
    let document: Value = serde_json::from_str(&printed(&["--run", "2", "--json"])).expect("JSON");
    assert_eq!((&document["run"], &document["metric"]), (&2.into(), &"completion_time".into()));
    let variants = document["variants"].as_array().expect("variants");
    assert_eq!(variants.len(), 3);
    for variant in variants {
        let hash = variant["hash"].as_str().expect("a hash");
        let row = csv.lines().find(|line| line.contains(hash)).expect("the run of the study");
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(variant["name"], cells[0], "{row}");
        assert_eq!(cells[7], "2", "{row}");
        let value = variant["value"].as_f64().expect("a value");
        assert_eq!(cells[10], value.to_string(), "{row}");
        let delivered = variant["links"]["wlan"]["down"]["delivered"].as_u64().expect("packets");
        assert_eq!(delivered > 0, variant["name"] != "tcp/3g/cubic");
    }
}

/// Regression: larger numbers were negative in the table, and `report` refused the folder.
#[test]
fn last_repetition_is_the_largest_integer_of_tables() {
    let scratch = Scratch::new("run-last");
    let out = scratch.path("out");
    let last = i64::MAX.to_string();
    printed(&["--variant", "tcp/3g/cubic", "--run", &last, "--out", &out]);
    let again: Value = serde_json::from_str(&succeeds(&["report", &out, "--json"])).expect("JSON");
    assert_eq!(again["variants"][0]["n"], 1);
    let words = run(&["--run", &(i64::MAX as u64 + 1).to_string()]);
    let output = anabranch(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn table_has_a_line_for_each_variant() {
    let text = printed(&["--variant", "mptcp/linux/cubic", "--variant", "tcp/3g/cubic"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "download of 256KiB; TCP over each path alone and MPTCP over all paths, wlan first, hosts \
         like Linux 6.18; repetition 0, seed 1"
    );
    let heading = lines.iter().find(|line| line.starts_with("variant")).expect("a heading");
    for part in ["completion time [ms]", "on wlan", "on 3g", "resent", "reinjected [kB]"] {
        assert!(heading.contains(part), "{part} in {heading}");
    }
    assert!(text.contains("\ntcp/3g/cubic ") && text.contains("\nmptcp/linux/cubic "), "{text}");
    assert!(!text.contains("tcp/wlan/cubic"), "{text}");
    let last = "A single run shows no variation; use `anabranch compare`.";
    assert_eq!(lines.last(), Some(&last));
}

#[test]
fn everything_recorded_lies_in_the_folders() {
    let scratch = Scratch::new("run-files");
    let (out, pcap) = (scratch.path("out"), scratch.path("pcap"));
    let words = run(&["--pcap", &pcap, "--out", &out, "--run", "1"]);
    let output = anabranch(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), format!("wrote {out}\nwrote {pcap}\n"));
    for name in ["tcp-wlan-cubic", "tcp-3g-cubic", "mptcp-linux-cubic"] {
        for place in ["", "-receiver"] {
            let file = format!("{pcap}/{name}{place}.pcapng");
            let capture = succeeds(&["analyze", &file]);
            assert!(capture.contains("connection"), "{capture}");
        }
    }
    let page = fs::read_to_string(format!("{out}/report.html")).expect("the page");
    for part in [">Repetition 1</h2>", "Bytes by path", "scenario.toml --series"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("class=\"verdict"), "one repetition decides nothing");
    let again = scratch.path("again.html");
    assert_eq!(succeeds(&["report", &out, "--quiet", "--out", &again]), stdout(&output));
    assert!(fs::read_to_string(&again).expect("the page") == page, "the same page, byte by byte");
}

#[test]
fn series_without_a_folder_lie_beside_the_packets_or_in_a_new_one() {
    let scratch = Scratch::new("run-series");
    let pcap = scratch.path("pcap");
    printed(&["--series", "--pcap", &pcap, "--variant", "tcp/3g/cubic"]);
    assert!(fs::exists(format!("{pcap}/series.parquet")).is_ok_and(|there| there));
    let words = run(&["--series", "--quiet"]);
    let mut here = command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let output = here.current_dir(&scratch.0).output().expect("the program starts");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    for name in ["series.parquet", "report.html"] {
        let file = scratch.path(&format!("anabranch-run/{name}"));
        assert!(fs::exists(&file).is_ok_and(|there| there), "{file}");
    }
}

#[test]
fn results_of_a_comparison_are_not_overwritten() {
    let scratch = Scratch::new("run-refused");
    let out = scratch.path("study");
    succeeds(&[&["compare"], &PATHS[..], &["--runs", "2", "--out", &out]].concat());
    let table = fs::read(format!("{out}/runs.parquet")).expect("runs.parquet");
    let refused = |more: &[&str]| {
        let words = run(more);
        let output = anabranch(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
        stderr(&output).replace(&out, "DIR")
    };
    assert_eq!(
        refused(&["--out", &out]),
        "error: --out: `DIR` has the results of a comparison\n  help: name another folder\n"
    );
    assert_eq!(fs::read(format!("{out}/runs.parquet")).expect("runs.parquet"), table);
    assert_eq!(
        refused(&["--variant", "tcp/lte/cubic"]),
        "error: --variant: unknown variant `tcp/lte/cubic`\n  help: the scenario has \
         tcp/wlan/cubic, tcp/3g/cubic, mptcp/linux/cubic; --protocols, --cc and --schedulers \
         add others\n"
    );
    // It has no options for repetitions.
    for option in ["--runs", "--baseline"] {
        assert!(refused(&[option, "2"]).contains("unexpected argument"), "{option}");
    }
}

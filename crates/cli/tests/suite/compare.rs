//! Output of `compare`: the table, the verdict, the document, and their reproducibility.

use crate::{anabranch, stderr, stdout, succeeds};
use serde_json::Value;

/// Two paths and little traffic.
const SMALL: [&str; 9] = [
    "compare",
    "--path",
    "wlan=rate 25mbit delay 20ms loss 1% limit 100p",
    "--path",
    "3g=rate 4mbit delay 70ms limit 3750p",
    "--traffic",
    "bulk:256KiB",
    "--runs",
    "4",
];

fn document(more: &[&str]) -> Value {
    let text = succeeds(&[&SMALL[..], more, &["--json"]].concat());
    serde_json::from_str(&text).expect("one JSON document")
}

#[test]
fn run_longer_than_600_s_of_its_own_length_has_a_verdict() {
    let path = "p=rate 2mbit delay 20ms limit 100p";
    let call = ["compare", "--path", path, "--traffic", "video:620s", "--runs", "1", "--json"];
    let document: Value = serde_json::from_str(&succeeds(&call)).expect("one JSON document");
    assert_eq!(document["variants"][0]["incomplete"], 0);
    let refused = anabranch(&[&call[..], &["--deadline", "600s"]].concat());
    assert!(stderr(&refused).contains("the traffic lasts until 620s"), "{}", stderr(&refused));
}

#[test]
fn example_of_the_issue_gives_a_table_that_ends_with_the_verdict() {
    let text = succeeds(&[&SMALL[..], &["--protocols", "tcp", "--cc", "cubic,reno"]].concat());
    for part in [
        "rate 25mbit delay 20ms loss 1% limit 100p",
        "tcp/wlan/cubic",
        "tcp/wlan/reno",
        "tcp/3g/cubic",
        "tcp/3g/reno",
        "95 % interval",
        "deterministic",
        "baseline",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    assert!(text.lines().last().is_some_and(|line| line.starts_with("Verdict: best is")), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours when not on a terminal");
}

#[test]
fn document_is_that_of_the_interface() {
    let document = document(&["--protocols", "tcp", "--cc", "cubic,lia"]);
    assert_eq!(document["schema"], 1);
    assert_eq!(document["traffic"], "bulk:256KiB");
    assert_eq!((&document["metric"], &document["unit"]), (&"completion_time".into(), &"s".into()));
    assert_eq!((&document["seed"], &document["runs"]), (&1.into(), &4.into()));
    let paths = document["paths"].as_array().expect("paths");
    assert_eq!(paths[1]["spec"], "rate 4mbit delay 70ms limit 3750p");
    assert_eq!(paths[1]["downlink"]["rate"], 4e6);
    let variants = document["variants"].as_array().expect("variants");
    let names: Vec<&str> = variants.iter().filter_map(|v| v["name"].as_str()).collect();
    assert_eq!(names, ["tcp/wlan/cubic", "tcp/3g/cubic"]);
    for variant in variants {
        let mean = variant["mean"].as_f64().expect("a mean");
        let ends = variant["ci95"].as_array().expect("an interval");
        let (low, high) = (ends[0].as_f64().expect("low"), ends[1].as_f64().expect("high"));
        assert!(0.05 < low && low <= mean && mean <= high && high < 30.0, "{variant}");
        assert_eq!((&variant["n"], &variant["incomplete"]), (&4.into(), &0.into()));
        assert_eq!((&variant["scheduler"], &variant["policy"]), (&Value::Null, &Value::Null));
        assert_eq!((&variant["protocol"], &variant["profile"]), (&"tcp".into(), &"linux".into()));
        let own = variant["path"].as_str().expect("a path");
        assert_eq!(variant["share"][own], 1.0);
    }
    let baseline = document["baseline"].as_str().expect("a baseline");
    for variant in variants {
        let is_baseline = variant["name"] == baseline;
        assert_eq!(variant["diff"].is_null(), is_baseline);
        assert_eq!(variant["class"] == "baseline", is_baseline);
    }
    assert_eq!(document["hash"].as_str().map(str::len), Some(64));
    assert!(document["notes"][0].as_str().is_some_and(|note| note.contains("skipped `lia`")));
}

/// The options that compare multi-path with single paths.
const TOGETHER: [&str; 6] =
    ["--protocols", "tcp,mptcp", "--schedulers", "lrf,rr,redundant", "--cc", "cubic,lia"];

#[test]
fn multipath_is_compared_with_the_best_path_alone() {
    let text = succeeds(&[&SMALL[..], &TOGETHER, &["--wide"]].concat());
    for part in [
        "MPTCP over all paths, wlan first",
        "skipped `lia` with tcp",
        "tcp/wlan/cubic",
        "mptcp/lrf/cubic",
        "mptcp/rr/lia",
        "mptcp/redundant/lia",
        "on wlan",
        "on 3g",
        "100 %",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    assert!(text.lines().last().is_some_and(|line| line.contains("multi-path")), "{text}");
}

#[test]
fn schedulers_are_compared_with_each_other_when_asked_for() {
    let options = ["--protocols", "mptcp", "--schedulers", "lrf,rr,redundant", "--pairs"];
    let text = succeeds(&[&SMALL[..], &options].concat());
    let table = text.split_once("row against column").expect("the table").1;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["2", "3"]);
    for (line, name) in lines[1..].iter().zip(["1 mptcp/lrf", "2 mptcp/rr", "3 mptcp/redundant"]) {
        assert!(line.starts_with(name), "{text}");
    }
    assert_eq!(lines[4], "corrected for 3 comparisons (Holm)");
    assert!(lines[6].starts_with("Verdict: "), "the verdict stays the last line:\n{text}");
    assert!(!succeeds(&[&SMALL[..], &options[..4]].concat()).contains("row against column"));
}

#[test]
fn automatic_number_of_runs_ends_when_the_answer_is_known() {
    let study = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:1MiB"];
    let run = |more: &[&str]| -> Value {
        serde_json::from_str(&succeeds(&[&study[..], &["--json"], more].concat())).expect("JSON")
    };
    let one = run(&["--jobs", "1"]);
    assert_eq!(one, run(&["--jobs", "2"]), "whatever the number of threads");
    let runs = one["runs"].as_u64().expect("runs");
    assert!((20..1000).contains(&runs), "{runs}");
    assert_eq!((&one["matters"], &one["answer"]["stopped"]), (&0.05.into(), &"answer".into()));
    let answer = &one["answer"];
    let variants = one["variants"].as_array().expect("variants");
    let deciding = variants.iter().find(|v| v["name"] == answer["variant"]).expect("a variant");
    assert_eq!(answer["ci95"], deciding["diff"]["ci95"], "the interval printed decides");
    assert_eq!((&answer["class"], &answer["runs"]), (&deciding["class"], &one["runs"]));
    assert_eq!(deciding["name"], "mptcp/linux/cubic", "what mainline Linux does");
    let fixed = run(&["--runs", &runs.to_string()]);
    assert_eq!((&fixed["hash"], &fixed["variants"]), (&one["hash"], &one["variants"]));
    let few = run(&["--runs-max", "12", "--matters", "0.1%"]);
    assert_eq!((&few["runs"], &few["auto"]["runs_max"]), (&12.into(), &12.into()));
    let text = succeeds(&[&study[..], &["--runs-max", "12", "--matters", "0.1%"]].concat());
    assert!(text.contains("; 12 runs, seed 1") && text.contains("(--runs-max 12)"), "{text}");
}

#[test]
fn answer_of_fail_if_has_an_exit_code_of_its_own() {
    let study = |traffic, more: &[&str]| {
        let study = ["--path", "a=rate 5mbit delay 10ms", "--path", "b=rate 5mbit delay 10ms"];
        let traffic = ["--traffic", traffic, "--schedulers", "lrf"];
        anabranch(&[&["compare"], &study[..], &traffic, more].concat())
    };
    let gains = study("bulk:4MiB", &["--fail-if", "hurts,undecided"]);
    assert_eq!(gains.status.code(), Some(0));
    // One packet gains nothing from a second path: no difference.
    let same = study("bulk:1KiB", &["--fail-if", "hurts,undecided"]);
    assert_eq!(same.status.code(), Some(0));
    let random = ["--path", "c=rate 5mbit delay 10ms loss 1%", "--runs", "2"];
    let unknown = study("bulk:4MiB", &[&random[..], &["--fail-if", "undecided"]].concat());
    assert_eq!(unknown.status.code(), Some(4), "two runs have no interval");
    let unasked = study("bulk:4MiB", &random);
    assert_eq!(unasked.status.code(), Some(0));
    let failed = study("bulk:4MiB", &["--deadline", "500ms", "--fail-if", "hurts,undecided"]);
    assert!(stdout(&failed).contains("Verdict: none."), "{}", stdout(&failed));
    assert_eq!(failed.status.code(), Some(4), "no run is complete, so nothing is known");
    let alone = ["--protocols", "tcp", "--fail-if", "undecided"];
    let one = |deadline| {
        let path = ["compare", "--path", "a=rate 5mbit delay 10ms", "--traffic", "bulk:1MiB"];
        anabranch(&[&path[..], &alone, &["--deadline", deadline]].concat()).status.code()
    };
    assert_eq!([one("60s"), one("500ms")], [Some(0), Some(4)], "a variant alone has no class");
}

/// Regressions: the interval of a difference of shares had the unit of its relative size, and the
/// largest of numbers that are no times was that of the slowest run.
#[test]
fn shares_differ_by_percentage_points_and_have_no_slowest_run() {
    let paths = ["--path", "a=rate 900kbit delay 40ms loss 1%", "--path", "b=rate 700kbit loss 1%"];
    let verdict = |more: &[&str]| {
        let document =
            succeeds(&[&["compare", "--runs", "8", "--json"], &paths[..], more].concat());
        let document: Value = serde_json::from_str(&document).expect("a document");
        document["verdict"].as_str().expect("a verdict").to_owned()
    };
    let late = verdict(&["--traffic", "video:2s", "--metric", "late"]);
    let (_, ends) = late.split_once("; 95 % interval ").expect("an interval");
    let ends = ends.split([')', ',']).next().unwrap_or_default();
    assert!(ends.ends_with(" percentage points"), "{late}");
    assert!(!late.contains("slowest"), "{late}");
    let buffer = ["--traffic", "bulk:64KiB", "--packet-metrics", "--metric", "reorder_buffer/max"];
    assert!(!verdict(&buffer).contains("slowest"));
    assert!(verdict(&["--traffic", "bulk:64KiB"]).contains("The slowest of 8 runs: "));
}

#[test]
fn goal_has_a_class_in_the_document_and_an_exit_code() {
    let study =
        ["compare", "--path", "a=rate 5mbit delay 10ms", "--path", "b=rate 5mbit delay 9ms"];
    let traffic = ["--traffic", "bulk:256KiB", "--json"];
    let with = |more: &[&str]| anabranch(&[&study[..], &traffic, more].concat());
    let class = |more: &[&str]| {
        let output = with(&[more, &["--fail-if", "goal-missed"]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(document["answer"]["goal"], document["goal"]["class"]);
        (document["answer"]["goal"].clone(), output.status.code())
    };
    assert_eq!(class(&["--goal", "completion_time < 60s"]), ("met".into(), Some(0)));
    assert_eq!(class(&["--goal", "completion_time < 1ms"]), ("missed".into(), Some(4)));
    assert_eq!(class(&["--goal", "goodput > 1kbit"]), ("met".into(), Some(0)));
    let document: Value = serde_json::from_slice(&with(&[]).stdout).expect("a document");
    assert_eq!(document["answer"]["goal"], Value::Null);
    let rows = document["metrics"].as_array().expect("a row for each");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["metric"].as_str()).collect();
    assert_eq!(names, ["completion_time", "goodput"]);
}

#[test]
fn markdown_is_a_table_and_the_verdict() {
    let text = succeeds(&[&SMALL[..], &["--markdown"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("| variant | ") && lines[1].starts_with("| --- | --: |"),
        "{text}"
    );
    assert!(lines.last().is_some_and(|line| line.starts_with("Verdict: ")), "{text}");
    let cells = |line: &str| line.matches('|').count();
    assert!(lines[..4].iter().all(|line| cells(line) == cells(lines[0])), "{text}");
}

/// Regression: Markdown had neither of these.
#[test]
fn markdown_has_pairs_reasons_sharing_and_notes() {
    let call = [
        "compare",
        "--path",
        "a=rate 9mbit delay 10ms",
        "--path",
        "WiFi",
        "--traffic",
        "bulk:2s",
        "--flow",
        "web=tcp on a",
        "--runs",
        "2",
        "--seed",
        "7",
        "--quiet",
        "--markdown",
        "--pairs",
        "--why",
    ];
    let output = anabranch(&call);
    let text = stdout(&output);
    for part in ["| sharing |", "| row against column |", "| why not sending |", "Shares of the"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    assert!(stderr(&output).lines().any(|line| line.starts_with("note: ")), "{}", stderr(&output));
}

/// Regression: a study of TCP alone failed where its second path hurts.
#[test]
fn only_variants_over_several_paths_can_hurt() {
    let paths = ["--path", "a=rate 9mbit delay 10ms", "--path", "b=rate 2mbit delay 10ms"];
    let more = ["--traffic", "bulk:256KiB", "--runs", "8", "--quiet", "--fail-if", "hurts"];
    let code = |protocols: &str| {
        let call = [&["compare"][..], &paths, &more, &["--protocols", protocols]].concat();
        anabranch(&call).status.code()
    };
    assert_eq!(code("tcp"), Some(0));
}

/// Regression: a goodput that no run had was said to end within the warm-up of 0ns.
#[test]
fn flows_without_a_goodput_are_not_blamed_on_the_warm_up() {
    let call = [
        "compare",
        "--path",
        "a=rate 9mbit delay 10ms silent @1ms",
        "--traffic",
        "bulk:2s",
        "--flow",
        "web=tcp on a",
        "--runs",
        "1",
        "--quiet",
    ];
    let text = stdout(&anabranch(&call));
    assert!(text.contains("no run has a goodput"), "{text}");
    assert!(!text.contains("0ns") && !text.contains("Gbit/s"), "{text}");
}

/// Regression: a single run had a dash instead of its value.
#[test]
fn single_run_has_its_value() {
    let call = ["compare", "--path", "wlan", "--traffic", "bulk:64KiB", "--runs", "1", "--quiet"];
    let text = succeeds(&call);
    let row = text.lines().find(|line| line.starts_with("tcp/wlan/cubic")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert!(words[1] == words[2] && words[1].parse::<f64>().is_ok(), "{text}");
}

#[test]
fn time_ends_a_study_with_its_complete_repetitions() {
    let study = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:64KiB"];
    let limited = [&study[..], &["--time", "1us", "--json"]].concat();
    let document: Value = serde_json::from_str(&succeeds(&limited)).expect("JSON");
    let runs = document["runs"].as_u64().expect("runs");
    assert!((4..=20).contains(&runs), "{runs}: four whatever the time");
    assert_eq!(document["answer"]["stopped"], "time");
    let runs = runs.to_string();
    let again = [&study[..], &["--runs", &runs, "--json"]].concat();
    let again: Value = serde_json::from_str(&succeeds(&again)).expect("JSON");
    assert_eq!(document["hash"], again["hash"], "bit for bit");
}

#[test]
fn unpaired_interval_and_correlation_stand_beside_the_paired_one() {
    let two = ["--path", "wlan", "--path", "3g", "--traffic", "burst:10", "--runs", "5"];
    let text = succeeds(&[&["compare", "--wide"], &two[..]].concat());
    assert!(text.contains("unpaired") && text.contains("correlation"), "{text}");
    let text = succeeds(&[&["compare"], &two[..]].concat());
    assert!(!text.contains("unpaired"), "{text}");
}

#[test]
fn multipath_document_names_scheduler_and_shares() {
    let document = document(&TOGETHER);
    let variants = document["variants"].as_array().expect("variants");
    assert_eq!(variants.len(), 8);
    assert!(document["baseline"].as_str().is_some_and(|name| name.starts_with("tcp/")));
    for variant in &variants[2..] {
        assert_eq!((&variant["protocol"], &variant["path"]), (&"mptcp".into(), &Value::Null));
        assert!(variant["scheduler"].is_string() && variant["cc"].is_string(), "{variant}");
        let share = |name: &str| variant["share"][name].as_f64().expect("a share");
        let (wlan, slow) = (share("wlan"), share("3g"));
        assert!((wlan + slow - 1.0).abs() < 1e-9 && wlan > 0.0, "{variant}");
        assert_eq!(variant["incomplete"], 0);
    }
    let again = succeeds(&[&SMALL[..], &TOGETHER, &["--json", "--jobs", "1"]].concat());
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(document["hash"], again["hash"], "whatever the number of threads");
}

#[test]
fn first_subflow_is_where_it_is_asked_for() {
    let traffic = ["--protocols", "mptcp", "--pm", "default"];
    let document = document(&[&traffic[..], &["--first", "3g"]].concat());
    let variant = &document["variants"][0];
    assert_eq!(variant["name"], "mptcp/linux/cubic/default");
    assert_eq!(variant["share"]["3g"], 1.0);
}

#[test]
fn hash_depends_on_the_seed_and_not_on_the_threads() {
    let one = document(&["--jobs", "1"]);
    let two = document(&["--jobs", "2"]);
    assert_eq!(one, two, "the whole document is the same");
    let other = document(&["--jobs", "2", "--seed", "2"]);
    assert_ne!(one["hash"], other["hash"]);
}

#[test]
fn document_holds_what_the_table_shows() {
    let document = document(&["--seed", "3"]);
    let table = succeeds(&[&SMALL[..], &["--seed", "3"]].concat());
    let verdict = document["verdict"].as_str().expect("a verdict");
    assert_eq!(table.lines().last(), Some(verdict));
}

#[test]
fn every_traffic_has_its_metric() {
    for (traffic, metric, unit) in [
        ("bulk:64KiB", "completion_time", "s"),
        ("bulk:2s", "goodput", "bit/s"),
        ("burst:10", "message_delay", "s"),
        ("video:2s", "message_delay", "s"),
    ] {
        let text = succeeds(&[
            "compare",
            "--path",
            "dsl",
            "--path",
            "3g",
            "--traffic",
            traffic,
            "--runs",
            "2",
            "--json",
        ]);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&document["metric"], &document["unit"]), (&metric.into(), &unit.into()));
        assert!(document["variants"][0]["mean"].as_f64().is_some_and(|m| m > 0.0), "{traffic}");
    }
}

#[test]
fn upload_outage_and_recording_are_carried_out() {
    let mean = |arguments: &[&str]| {
        let all = [&["compare", "--runs", "2", "--json"], arguments].concat();
        let document: Value = serde_json::from_str(&succeeds(&all)).expect("JSON");
        document["variants"][0]["mean"].as_f64().expect("a mean")
    };
    let up = ["--path", "p=rate 20mbit uplink rate 2mbit delay 5ms", "--traffic", "bulk:1MiB"];
    assert!(mean(&[&up[..], &["--reverse"]].concat()) > 5.0 * mean(&up));
    let steady = mean(&["--path", "p=rate 5mbit delay 5ms", "--traffic", "bulk:1MiB"]);
    let outage = mean(&["--path", "p=rate 5mbit delay 5ms down @1s..4s", "--traffic", "bulk:1MiB"]);
    assert!(outage > steady + 2.5, "{steady} {outage}");
    let recording = "p=trace data/links/lte-ghent/report_bus_0001.json delay 30ms limit 200p";
    let recorded = mean(&["--path", recording, "--traffic", "bulk:1MiB"]);
    assert!((0.1..20.0).contains(&recorded), "{recorded}");
}

#[test]
fn old_kernels_and_options_are_carried_out() {
    for profile in ["linux", "linux-4.1", "linux-3.14", "linux-3.11", "linux-3.5"] {
        let text = succeeds(
            &[&SMALL[..], &["--profile", profile, "--nic", "none", "--buffers", "fixed:1MiB/2MiB"]]
                .concat(),
        );
        let kernel = profile.replace("linux-", "Linux ").replace("linux", "Linux 6.18");
        assert!(text.contains(&format!("hosts like {kernel};")), "{text}");
    }
}

#[test]
fn environment_stands_between_option_and_file() {
    let run = |name: &str, value: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(["compare", "--path", "3g", "--traffic", "bulk:64KiB", "--json"]);
        command.env(name, value).output().expect("the program starts")
    };
    let document: Value = serde_json::from_str(&stdout(&run("ANABRANCH_RUNS", "3"))).expect("JSON");
    assert_eq!(document["runs"], 3);
    let refused = run("ANABRANCH_RUNS", "three");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("ANABRANCH_RUNS: `three`"), "{}", stderr(&refused));
}

#[test]
fn messages_go_to_standard_error_only() {
    let output = anabranch(&[&SMALL[..], &["--verbose"]].concat());
    assert_eq!(stderr(&output).lines().count(), 12, "one line a run: {}", stderr(&output));
    let output = anabranch(&[&SMALL[..], &["--quiet"]].concat());
    assert_eq!(stderr(&output), "");
}

#[test]
fn help_lists_and_version_are_printed() {
    let help = succeeds(&["compare", "--help"]);
    for part in ["Examples:", "--path wlan --path 3g --traffic video", "unverified: ", "ANABRANCH_"]
    {
        assert!(help.contains(part), "{part}");
    }
    assert!(succeeds(&["--version"]).starts_with("anabranch "));
    let lists = succeeds(&["list"]);
    for part in ["wlan", "assumed", "Table 3", "cubic", "linux-3.5", "burst"] {
        assert!(lists.contains(part), "{part}");
    }
    let schedulers = succeeds(&["list", "schedulers"]);
    assert!(schedulers.contains("lrf") && !schedulers.contains("cubic"), "{schedulers}");
    assert!(succeeds(&["list", "path-managers"]).contains("fullmesh"));
    assert!(succeeds(&["list", "congestion"]).contains("Coupled."));
    assert!(succeeds(&["completions", "bash"]).contains("anabranch"));
    assert_eq!(anabranch(&[]).status.code(), Some(2));
}

#[test]
fn quiet_study_still_says_how_inputs_were_understood() {
    let two = ["--path", "WLAN", "--path", "wifi2=profile wlan", "--traffic", "bulk:16KiB"];
    let study = [&["compare"], &two[..], &["--cc", "cubic,lia", "--runs", "1"]].concat();
    let quiet = [&study[..], &["--schedulers", "round-robin", "--quiet"]].concat();
    let text = succeeds(&quiet);
    for part in ["skipped `lia` with tcp", "`round-robin`: its name here is `rr`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("mptcp/rr/lia") && text.contains("tcp/wlan/cubic"), "{text}");
    let explain = ["explain", "--path", "WiFi", "--path", "LTE", "--traffic", "bulk:16KiB"];
    let text = succeeds(&[&explain[..], &["--scheduler", "Minrtt"]].concat());
    assert!(text.contains("`WiFi` is the profile `wlan`"), "{text}");
    assert!(text.contains("mptcp/lrf/cubic") && !text.contains("compared with"), "{text}");
}

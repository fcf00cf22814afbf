//! `matrix`: every cell is the comparison with the same arguments; files, resuming, the page.

use crate::browser::shown;
use crate::{Scratch, anabranch, command, stderr, stdout, succeeds};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// The rows of most tests, which take no time.
const ROWS: &str = "bulk:64KiB,video:2s";
/// What all of them have: with those rows eight cells.
const SMALL: [&str; 5] = ["matrix", "--paths", "3g+3g,wlan+3g", "--seed", "7"];
/// Rows and runs.
const USUAL: [&str; 4] = ["--traffic", ROWS, "--runs", "8"];
/// Runs of a pair: two paths alone and both together, and those of SCTP also over both in turn.
const RUNS: usize = 2 * 2 * (3 + 4) * 8;

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The output of a matrix of these rows.
fn matrix(rows: &str, more: &[&str]) -> String {
    succeeds(&[&SMALL[..], &["--traffic", rows, "--runs", "8"], more].concat())
}

fn usual(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], &USUAL, more].concat()
}

/// The arguments of `compare` for the paths and the protocol of a cell.
fn compared(cell: &Value) -> [&'static str; 8] {
    let is_mptcp = cell["protocol"] == "mptcp";
    let (protocols, wlan) = match is_mptcp {
        true => ("tcp,mptcp", "tcp/wlan/cubic"),
        false => ("sctp,cmt-sctp", "sctp/wlan/reno"),
    };
    match cell["pair"].as_str() {
        Some("3g+3g") => {
            let (one, two) = ("3g1=profile 3g", "3g2=profile 3g");
            ["--path", one, "--path", two, "--protocols", protocols, "--baseline", "average"]
        }
        _ => ["--path", "wlan", "--path", "3g", "--protocols", protocols, "--baseline", wlan],
    }
}

#[test]
fn cell_is_the_comparison_with_the_same_arguments_and_seed() {
    let result = document(&matrix(ROWS, &["--json"]));
    let cells = result["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 8);
    for cell in cells {
        let traffic = cell["traffic"].as_str().expect("traffic");
        let call = ["compare", "--traffic", traffic, "--runs", "8", "--seed", "7", "--json"];
        let study = document(&succeeds(&[&call[..], &compared(cell)].concat()));
        let variants = study["variants"].as_array().expect("variants");
        let variant = variants.iter().find(|of| of["name"] == cell["variant"]).expect("it");
        for key in ["class", "magnitude", "mean", "ci95", "diff", "n", "share", "scheduler"] {
            assert_eq!(cell[key], variant[key], "{key} of {cell}");
        }
        assert_eq!(cell["hash"], study["hash"]);
        assert_eq!((&cell["metric"], &cell["unit"]), (&study["metric"], &study["unit"]));
        assert_eq!(cell["background"], false);
    }
}

#[test]
fn background_adds_a_cell_to_each() {
    let call = ["matrix", "--paths", "wlan+3g", "--traffic", "bulk:64KiB", "--runs", "4"];
    let call = [&call[..], &["--protocols", "mptcp", "--seed", "7", "--background"]].concat();
    let result = document(&succeeds(&[&call[..], &["--json"]].concat()));
    let cells = result["cells"].as_array().expect("cells");
    let loads: Vec<&Value> = cells.iter().map(|cell| &cell["background"]).collect();
    assert_eq!(loads, [&Value::Bool(false), &Value::Bool(true)]);
    for (cell, more) in cells.iter().zip([&[][..], &["--background"]]) {
        let call = ["compare", "--traffic", "bulk:64KiB", "--runs", "4", "--seed", "7", "--json"];
        let study = document(&succeeds(&[&call[..], &compared(cell), more].concat()));
        assert_eq!(cell["hash"], study["hash"]);
    }
    let table = succeeds(&call);
    assert!(table.contains("background"), "{table}");
}

#[test]
fn several_schedulers_are_columns_and_reach_their_protocol() {
    let call = ["--schedulers", "lrf,redundant", "--json"];
    let result = document(&matrix("bulk:16KiB", &call));
    let names = |protocol: &str| {
        let cells = result["cells"].as_array().expect("cells").iter();
        let names = cells.filter(|cell| cell["protocol"] == protocol);
        names.map(|cell| cell["scheduler"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("mptcp"), ["lrf", "redundant", "lrf", "redundant"]);
    assert_eq!(names("cmt-sctp"), ["lrf", "lrf"]);
    assert_eq!(result["notes"][0], "skipped `redundant` with cmt-sctp, which lacks it");
}

#[test]
fn options_of_comparisons_reach_every_cell() {
    let goal = "mean message_delay < 150ms";
    let call = ["--goal", goal, "--matters", "20%", "--json"];
    let result = document(&matrix("video:2s", &call));
    assert_eq!(result["goal"], goal);
    assert_eq!(result["matters"], 0.2);
    for cell in result["cells"].as_array().expect("cells") {
        assert!(cell["goal"].is_string(), "{cell}");
        assert_eq!(cell["metric"], "message_delay");
    }
    let result = document(&matrix("video:2s", &["--metric", "p95", "--json"]));
    assert_eq!(result["cells"][0]["metric"], "p95");
}

#[test]
fn scenario_file_has_rows_and_paths() {
    let scratch = Scratch::new("matrix-file");
    scratch.file("page.json", "{\"html_bytes\": 20000, \"object_bytes\": [3000, 40000, 7]}");
    let text = "traffic = \"web:page.json,bulk:16KiB\"\nruns = 4\nbuffers = \"fixed:1MiB/1MiB\"\n\
                [path]\nhome = \"rate 6mbit delay 9ms\"\nmobile = \"rate 4mbit delay 30ms\"\n";
    let file = scratch.file("study.toml", text);
    let result = |more: &[&str]| {
        let call = ["matrix", &file, "--protocols", "mptcp", "--json"];
        document(&succeeds(&[&call[..], more].concat()))
    };
    let places = |result: &Value| {
        let cells = result["cells"].as_array().expect("cells").iter();
        let place = |cell: &Value| format!("{} {}", cell["traffic"], cell["pair"]);
        cells.map(|cell| place(cell).replace('"', "")).collect::<Vec<_>>()
    };
    let all = result(&[]);
    assert_eq!(places(&all), ["web:page.json home+mobile", "bulk:16KiB home+mobile"]);
    let call = ["compare", &file, "--traffic", "bulk:16KiB", "--json"];
    let compared = document(&succeeds(&call));
    assert_eq!(all["cells"][1]["hash"], compared["hash"], "its other options count");
    let own = result(&["--paths", "mobile+mobile", "--traffic", "bulk:16KiB"]);
    assert_eq!(places(&own), ["bulk:16KiB mobile+mobile"]);
    assert_eq!(own["cells"][0]["baseline"], "average");
}

#[test]
fn bytes_are_the_same_for_any_number_of_threads() {
    let scratch = Scratch::new("matrix-jobs");
    let [one, three] = ["1", "3"].map(|jobs| {
        let out = scratch.path(jobs);
        let printed = matrix(ROWS, &["--jobs", jobs, "--json", "--out", &out]);
        let files = ["matrix.json", "matrix.parquet", "matrix.html"];
        (printed, files.map(|name| fs::read(format!("{out}/{name}")).expect(name)))
    });
    assert!(one == three);
    assert_eq!(one.0.as_bytes(), one.1[0], "the file is what is printed");
}

/// `bulk:64KiB over 3g+3g, mptcp: tcp/3g1/cubic run 3` of every line about a new run.
fn carried_out(messages: &str) -> Vec<String> {
    let runs = messages.lines().filter(|line| line.contains(" run "));
    runs.filter_map(|line| Some(line.rsplit_once(": ")?.0.to_owned())).collect()
}

#[test]
fn matrix_killed_at_any_moment_goes_on_without_doing_a_run_twice() {
    let scratch = Scratch::new("matrix-killed");
    let undisturbed = matrix(ROWS, &["--json"]);
    let out = scratch.path("results");
    let arguments = [&usual(&["--json", "--verbose", "--out"])[..], &[&out]].concat();
    let mut done: Vec<String> = Vec::new();
    for lines in [3, 40, 60] {
        let mut command = command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it");
        let mut messages = BufReader::new(child.stderr.take().expect("its messages"));
        let mut text = String::new();
        for _ in 0..lines {
            messages.read_line(&mut text).expect("a line");
        }
        // SIGKILL, which the program cannot handle.
        child.kill().expect("the program is killed");
        child.wait().expect("it ends");
        messages.read_to_string(&mut text).expect("the rest");
        done.extend(carried_out(&text));
    }
    let last = anabranch(&arguments);
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
    assert_eq!(stdout(&last), undisturbed);
    done.extend(carried_out(&stderr(&last)));
    let different: BTreeSet<&String> = done.iter().collect();
    assert_eq!(different.len(), done.len(), "a run was carried out twice");
    // A run that was finished when the program was killed may lack its line.
    assert!(done.len() > RUNS - 10 && done.len() <= RUNS, "{}", done.len());

    let file = format!("{out}/cells/video-2s/wlan+3g/cmt-sctp/report.html");
    let written = || fs::metadata(&file).expect("a report").modified().expect("a time");
    let before = written();
    let again = anabranch(&arguments);
    assert_eq!(carried_out(&stderr(&again)), [] as [String; 0], "every run is reused");
    assert!(
        stderr(&again).contains(&format!("reused {RUNS} of {RUNS} runs")),
        "{}",
        stderr(&again)
    );
    assert_eq!(stdout(&again), undisturbed);
    assert_eq!(written(), before, "a finished cell is not written again");
    let cell = format!("{out}/cells/video-2s/wlan+3g/cmt-sctp");
    let left = fs::read_dir(&cell).expect("its folder").flatten().map(|file| file.file_name());
    let partial = left.filter(|name| name.to_string_lossy().contains("partial")).count();
    assert_eq!(partial, 0, "no journal is left");
}

#[test]
fn more_cells_add_to_what_is_there() {
    let scratch = Scratch::new("matrix-more");
    let out = scratch.path("results");
    matrix("bulk:64KiB", &["--out", &out]);
    let more = anabranch(&[&usual(&["--verbose", "--out"])[..], &[&out]].concat());
    assert_eq!(carried_out(&stderr(&more)).len(), RUNS / 2, "only the second row is new");
    let refused = anabranch(&[&SMALL[..3], &USUAL, &["--seed", "8", "--out", &out]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the folder has results of another scenario"));
    let report = succeeds(&["report", &format!("{out}/cells/video-2s/3g+3g/mptcp"), "--quiet"]);
    assert!(report.contains("mptcp/linux/cubic"), "a cell is an ordinary results folder");
}

#[test]
fn files_of_others_are_not_overwritten() {
    let scratch = Scratch::new("matrix-others");
    let out = scratch.path("results");
    fs::create_dir_all(&out).expect("a folder");
    fs::write(format!("{out}/matrix.html"), "<p>mine").expect("a file");
    let refused = anabranch(&[&usual(&["--out"])[..], &[&out]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("was not written by anabranch"), "{}", stderr(&refused));
    matrix("bulk:16KiB", &["--out", &out, "--force"]);
    matrix("bulk:16KiB", &["--out", &out]);
}

#[test]
#[cfg(unix)]
fn interrupted_matrix_has_the_finished_cells() {
    let scratch = Scratch::new("matrix-interrupted");
    let out = scratch.path("results");
    let call = ["--traffic", ROWS, "--runs", "100", "--verbose", "--json", "--out", &out];
    let arguments = [&SMALL[..], &call].concat();
    let mut command = command(&arguments);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut messages = BufReader::new(child.stderr.take().expect("its messages"));
    let mut line = String::new();
    while !line.contains("cmt-sctp: ") {
        line.clear();
        assert!(messages.read_line(&mut line).expect("a line") > 0, "it ended");
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let mut rest = String::new();
    messages.read_to_string(&mut rest).expect("its messages");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{rest}");
    let result = document(&stdout(&output));
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["cells"].as_array().expect("cells").len(), 1, "{result:#}");
    assert!(fs::exists(format!("{out}/matrix.html")).expect("the folder"));
}

#[test]
fn page_opens_without_a_network_and_links_to_the_comparisons() {
    let scratch = Scratch::new("matrix-page");
    let out = scratch.path("results");
    matrix("bulk:16KiB,video:1s", &["--out", &out]);
    let page = format!("{out}/matrix.html");
    let text = fs::read_to_string(&page).expect("the page");
    for outside in ["<script", "<link", "@import", "<img", "<iframe", "http"] {
        assert!(!text.contains(outside), "{outside}");
    }
    let made_by = format!("anabranch {}. Result hash: ", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&made_by), "the version that made the page");
    let links = text.split("href=\"").skip(1).map(|rest| rest.split('"').next().expect("an end"));
    let links: Vec<&str> = links.collect();
    assert_eq!(links.len(), 8);
    for link in &links {
        assert!(fs::exists(format!("{out}/{link}")).expect("a folder"), "{link}");
    }
    let Some(shown) = shown(&page, &scratch) else { return };
    assert!(shown.has("colspan=\"2\">wlan+3g</th>") && shown.has("<th scope=\"row\">video:1s"));
    assert!(shown.has("repeating-linear-gradient"), "undecided cells are hatched");
}

/// Regression: neither the goal nor, in Markdown and on the page, the baseline was named.
#[test]
fn goal_and_baseline_are_named() {
    let scratch = Scratch::new("matrix-goal");
    let out = scratch.path("results");
    let goal = ["--goal", "completion_time < 5s"];
    let text = matrix("bulk:64KiB", &[&goal[..], &["--out", &out]].concat());
    assert!(text.contains("; goal completion_time < 5s"), "{text}");
    let markdown = matrix("bulk:64KiB", &[&goal[..], &["--markdown"]].concat());
    assert!(markdown.contains("Goal: completion_time < 5s"), "{markdown}");
    let page = fs::read_to_string(format!("{out}/matrix.html")).expect("the page");
    assert!(page.contains("Goal: completion_time &lt; 5s."), "the goal");
    for text in [&markdown, &page] {
        assert!(text.contains("3g+3g with the average of the single paths; wlan+3g with"));
        assert!(text.contains("tcp/wlan/cubic"));
    }
    // Regression: the page did not say what the paths are.
    for (name, spec) in [("wlan", "rate 20mbit..30mbit"), ("3g2", "rate 3mbit..5mbit")] {
        let row = format!("<tr><th>{name}</th><td><code>{spec} ");
        assert_eq!(page.matches(&row).count(), 1, "{row}");
    }
}

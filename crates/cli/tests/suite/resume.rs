//! Result folders that are interrupted, resumed, full, or of other studies.

use crate::{Scratch, anabranch, command, stderr, succeeds};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A study of 80 runs that takes about a second.
const STUDY: [&str; 13] = [
    "compare",
    "--path",
    "wlan",
    "--path",
    "3g",
    "--traffic",
    "bulk:8MiB",
    "--protocols",
    "tcp,mptcp",
    "--schedulers",
    "lrf,rr",
    "--json",
    "--verbose",
];
/// Number of its runs.
const RUNS: usize = 80;

fn hash(document: &str) -> Value {
    let document: Value = serde_json::from_str(document).expect("JSON");
    document["hash"].clone()
}

fn result_hash(folder: &str) -> Value {
    let text = std::fs::read_to_string(format!("{folder}/result.json")).expect("result.json");
    hash(&text)
}

/// `tcp/wlan/cubic run 3` of every line about a new run.
fn carried_out(messages: &str) -> Vec<String> {
    let runs = messages.lines().filter(|line| line.contains(" run "));
    runs.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

fn start(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Starts the study and kills it after `lines` messages on runs; returns these messages.
fn killed_after(lines: usize, arguments: &[&str]) -> String {
    let mut child = start(arguments);
    let mut messages = BufReader::new(child.stderr.take().expect("its messages"));
    let mut text = String::new();
    for _ in 0..lines {
        messages.read_line(&mut text).expect("a line");
    }
    // SIGKILL, which the program cannot handle.
    child.kill().expect("the program is killed");
    child.wait().expect("it ends");
    // Further messages until it was killed.
    std::io::Read::read_to_string(&mut messages, &mut text).expect("the rest");
    text
}

#[test]
fn study_killed_at_any_moment_goes_on_without_doing_a_run_twice() {
    let scratch = Scratch::new("killed");
    let undisturbed = hash(&succeeds(&STUDY));
    let out = scratch.path("results");
    let arguments = [&STUDY[..], &["--out", &out]].concat();
    let mut done: Vec<String> = Vec::new();
    // The process number varies the moment in every run of this test.
    let mut chance = std::process::id() as usize;
    for _ in 0..5 {
        chance = chance.wrapping_mul(1_103_515_245).wrapping_add(12345);
        done.extend(carried_out(&killed_after((chance >> 16) % 15, &arguments)));
    }
    let last = anabranch(&arguments);
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
    done.extend(carried_out(&stderr(&last)));
    let different: BTreeSet<&String> = done.iter().collect();
    assert_eq!(different.len(), done.len(), "a run was carried out twice");
    assert!(done.len() <= RUNS, "{}", done.len());
    assert_eq!(result_hash(&out), undisturbed);
    let again = anabranch(&arguments);
    assert_eq!(carried_out(&stderr(&again)), [] as [String; 0], "every run is reused");
    assert!(stderr(&again).contains("reused 80 of 80 runs"), "{}", stderr(&again));
    assert_eq!(result_hash(&out), undisturbed);
    let left: Vec<_> = std::fs::read_dir(&out).expect("the folder").flatten().collect();
    assert_eq!(left.len(), 6, "no temporary file is left: {left:?}");
}

#[test]
fn more_runs_and_variants_add_to_what_is_there() {
    let scratch = Scratch::new("more");
    let out = scratch.path("results");
    let study = |more: &[&str]| {
        let small = ["compare", "--path", "wlan", "--traffic", "bulk:64KiB", "--json", "--verbose"];
        let output = anabranch(&[&small[..], &["--out", &out, "--csv"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        carried_out(&stderr(&output)).len()
    };
    assert_eq!(study(&["--runs", "4"]), 4);
    assert_eq!(study(&["--runs", "6"]), 2);
    assert_eq!(study(&["--runs", "6", "--cc", "cubic,reno"]), 6);
    assert_eq!(study(&["--runs", "2", "--cc", "reno"]), 0);
    let table = std::fs::read_to_string(format!("{out}/runs.csv")).expect("runs.csv");
    assert_eq!(table.lines().count(), 13, "nothing is lost:\n{table}");
    let document = std::fs::read_to_string(format!("{out}/result.json")).expect("result.json");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!((&document["runs"], &document["variants"][0]["n"]), (&2.into(), &2.into()));
}

#[test]
fn automatic_number_of_runs_is_the_same_after_a_kill() {
    let scratch = Scratch::new("auto");
    let study = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:128KiB"];
    let study = [&study[..], &["--runs", "auto", "--json", "--verbose"]].concat();
    let undisturbed = hash(&succeeds(&study));
    let out = scratch.path("results");
    let arguments = [&study[..], &["--out", &out]].concat();
    let mut done = carried_out(&killed_after(45, &arguments));
    let last = anabranch(&arguments);
    done.extend(carried_out(&stderr(&last)));
    assert_eq!(done.iter().collect::<BTreeSet<_>>().len(), done.len());
    assert_eq!(
        (result_hash(&out), hash(&crate::stdout(&last))),
        (undisturbed.clone(), undisturbed)
    );
}

#[test]
fn folder_of_another_scenario_is_refused_and_stays() {
    let scratch = Scratch::new("foreign");
    let out = scratch.path("results");
    let study = ["compare", "--path", "wlan", "--traffic", "bulk:64KiB", "--runs", "2"];
    let study = [&study[..], &["--out", &out]].concat();
    succeeds(&study);
    let before = std::fs::read(format!("{out}/runs.parquet")).expect("the table");
    for (option, value, part) in [
        ("--seed", "2", "there `seed = \"1\"`, here `seed = \"2\"`"),
        ("--path", "3g", "its paths differ"),
        ("--profile", "linux-4.1", "here `profile = \"linux-4.1\"`"),
    ] {
        let refused = anabranch(&[&study[..], &[option, value]].concat());
        let message = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        for part in ["runs.parquet: the folder has results of another scenario", part, "help: "] {
            assert!(message.contains(part), "`{part}` is missing in:\n{message}");
        }
    }
    std::fs::write(format!("{out}/runs.parquet"), "PAR1 of something else").expect("written");
    let refused = anabranch(&study);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the table of runs cannot be read"), "{}", stderr(&refused));
    std::fs::write(format!("{out}/runs.parquet"), before).expect("written");
    succeeds(&study);
}

#[test]
fn csv_without_a_folder_is_refused() {
    let output = anabranch(&["compare", "--path", "3g", "--traffic", "bulk:1kB", "--csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--out"), "{}", stderr(&output));
}

/// Regression: `--csv` was refused beside a scenario file that names the folder.
#[test]
fn csv_goes_to_the_folder_of_the_scenario_file() {
    let scratch = Scratch::new("csv-out-of-a-file");
    let out = scratch.path("results");
    let text = "traffic = \"bulk:1kB\"\nruns = 2\nout = \"results\"\n[path]\na = \"rate 5mbit\"\n";
    let file = scratch.file("study.toml", text);
    succeeds(&["compare", &file, "--csv"]);
    let runs = std::fs::read_to_string(format!("{out}/runs.csv")).expect("it is written");
    assert_eq!(runs.lines().count(), 3, "{runs}");
}

/// The study with a file size limit of `blocks` times 512 or 1024 bytes, to simulate a full disk.
#[cfg(unix)]
fn with_small_files(blocks: u32, arguments: &[&str]) -> std::process::Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut shell = std::process::Command::new("sh");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    shell.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_anabranch")).args(arguments);
    shell.current_dir(root).output().expect("a shell starts")
}

#[test]
#[cfg(unix)]
fn disk_that_fills_up_stops_the_study_and_loses_nothing() {
    let scratch = Scratch::new("full");
    let undisturbed = hash(&succeeds(&STUDY));
    let out = scratch.path("results");
    let arguments = [&STUDY[..], &["--out", &out]].concat();
    // The journal does not fit.
    let full = with_small_files(8, &arguments);
    let message = stderr(&full);
    assert_eq!(full.status.code(), Some(1), "{message}");
    assert!(message.contains("error: cannot write to"), "{message}");
    assert!(message.contains("finished runs are saved there; free some space"), "{message}");
    let first = carried_out(&message);
    assert!(!first.is_empty() && first.len() < RUNS, "{}", first.len());
    let last = anabranch(&arguments);
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
    assert_eq!(carried_out(&stderr(&last)).len(), RUNS - first.len(), "what was kept is there");
    assert_eq!(result_hash(&out), undisturbed);
}

#[test]
#[cfg(unix)]
fn results_that_do_not_fit_are_shown_and_kept_in_the_journal() {
    let scratch = Scratch::new("full-end");
    let out = scratch.path("results");
    let study = ["compare", "--path", "wlan", "--traffic", "bulk:64KiB", "--runs", "3"];
    let study = [&study[..], &["--verbose", "--out", &out]].concat();
    let full = with_small_files(9, &study);
    let message = stderr(&full);
    assert_eq!(full.status.code(), Some(1), "{message}");
    assert!(message.contains("all runs are saved there; free some space"), "{message}");
    assert!(crate::stdout(&full).contains("Verdict:"), "the result is shown all the same");
    let last = anabranch(&study);
    assert_eq!(last.status.code(), Some(0), "{}", stderr(&last));
    assert_eq!(carried_out(&stderr(&last)), [] as [String; 0]);
}

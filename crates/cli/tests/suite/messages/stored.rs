//! Messages of `report` on complete, damaged and other folders.

use super::Session;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

const STUDY: [&str; 11] = [
    "compare",
    "--path",
    "a=rate 5mbit delay 10ms",
    "--path",
    "b=rate 9mbit delay 30ms",
    "--traffic",
    "bulk:16KiB",
    "--runs",
    "2",
    "--quiet",
    "--csv",
];

/// A session with a folder of results.
fn session(name: &'static str) -> Session {
    let mut session = Session::new(name);
    session.call(&[&STUDY[..], &["--out", "results"]].concat());
    session
}

/// `report` of a copy of the results in which a file has this content; `None`: it is missing.
fn with(session: &mut Session, file: &str, content: Option<&[u8]>) {
    let copy = copied(session);
    match content {
        Some(content) => fs::write(copy.join(file), content).expect("a changed file"),
        None => fs::remove_file(copy.join(file)).expect("a file less"),
    }
    session.text.push_str(&format!("# with another {file}\n"));
    session.call(&["report", "copy"]);
}

fn copied(session: &Session) -> PathBuf {
    let [whole, copy] = ["results", "copy"].map(|name| session.scratch.0.join(name));
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir(&copy).expect("a folder");
    for file in fs::read_dir(whole).expect("the results").flatten() {
        fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
    }
    copy
}

/// The same with another text in `run.json`.
fn with_run(session: &mut Session, from: &str, to: &str) {
    let run = fs::read_to_string(session.scratch.0.join("results/run.json")).expect("its text");
    assert!(run.contains(from), "{from}: {run}");
    with(session, "run.json", Some(run.replacen(from, to, 1).as_bytes()));
}

/// The same with a file that `run.json` names as it is.
fn with_named(session: &mut Session, file: &str, content: &[u8]) {
    let folder = session.scratch.0.join("results");
    let digest = |bytes: &[u8]| {
        let bytes = Sha256::digest(bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let before = digest(&fs::read(folder.join(file)).expect("the file"));
    let run = fs::read_to_string(folder.join("run.json")).expect("its text");
    let copy = copied(session);
    fs::write(copy.join(file), content).expect("a changed file");
    fs::write(copy.join("run.json"), run.replace(&before, &digest(content))).expect("run.json");
    session.text.push_str(&format!("# with another {file} that run.json names\n"));
    session.call(&["report", "copy"]);
}

#[test]
fn pages_made_again() {
    let mut session = session("report");
    session.call(&["report", "results"]);
    session.call(&["report", "results", "--quiet", "--pairs", "--out", "page.html"]);
    session.call(&["report", "results", "--out", "no-folder/yet/page.html"]);
    session.file("file", "in the way");
    let folder = &session.scratch.0;
    // Regression: a device was replaced by the page, and a link without a word.
    let _socket = UnixListener::bind(folder.join("socket")).expect("a socket");
    symlink("nothing", folder.join("link")).expect("a link");
    for out in ["results", "file/page.html", "..", "", "socket", "link"] {
        session.call(&["report", "results", "--quiet", "--out", out]);
    }
    with(&mut session, "series.parquet", None);
    with_run(&mut session, "\"build\": \"", "\"build\": \"0123456789abcdef");
    session.file("mine.html", "<p>not from here");
    session.call(&["report", "results", "--quiet", "--out", "mine.html"]);
    session.end();
}

#[test]
fn results_of_another_build_say_so_if_they_differ() {
    let mut session = session("report-builds");
    let run = fs::read_to_string(session.scratch.0.join("results/run.json")).expect("its text");
    let copy = copied(&session);
    let other = run.replacen("\"build\": \"", "\"build\": \"0123456789abcdef", 1);
    let other = other.replacen("\"hash\": \"", "\"hash\": \"0", 1);
    fs::write(copy.join("run.json"), other).expect("run.json");
    session.call(&["report", "copy"]);
    session.end();
}

#[test]
fn recording_that_is_gone() {
    let mut session = Session::new("report-recording");
    session.file("link.csv", "second,bytes-per-second\n0,900000\n1,0\n2,0\n3,1500000\n");
    let study = ["compare", "--path", "a=trace link.csv delay 30ms", "--traffic", "bulk:256KiB"];
    session.call(&[&study[..], &["--runs", "4", "--quiet", "--out", "results"]].concat());
    let copy = session.scratch.0.join("results/inputs/link.csv");
    fs::remove_file(copy).expect("the copy");
    session.call(&["report", "results"]);
    session.end();
}

#[test]
fn figures_for_papers() {
    let mut session = session("report-figures");
    let figures = |session: &mut Session, more: &[&str]| {
        session.call(&[&["report", "results", "--quiet", "--figures", "svg"], more].concat());
    };
    session.call(&["report", "results", "--figures", "svg,pdf", "--out", "figs"]);
    session.file("figs/metric-boxes.svg", "<svg>mine</svg>");
    figures(&mut session, &["--out", "figs"]);
    figures(&mut session, &["--out", "figs", "--force"]);
    for more in [
        ["--font", "No Such Family"],
        ["--font", "no-such.ttf"],
        ["--font", "results/run.json"],
        ["--size", "3.3"],
        ["--size", "0.1in"],
        ["--font-size", "0"],
        ["--figures", "gif"],
        ["--figures", "pdf,svg"],
    ] {
        figures(&mut session, &more);
    }
    figures(&mut session, &["--figures", "png", "--size", "90in"]);
    session.call(&["report", "results", "--size", "7in"]);
    session.end();
}

#[test]
fn folders_combined() {
    let mut session = session("report-combined");
    let study = |session: &mut Session, out: &str, more: &[&str]| {
        session.call(&[&STUDY[..], more, &["--out", out]].concat());
    };
    study(&mut session, "rr", &["--schedulers", "rr"]);
    study(&mut session, "other", &["--seed", "2", "--buffers", "1MiB/1MiB"]);
    study(&mut session, "path", &["--path", "c=rate 1mbit"]);
    session.call(&[&["run"], &STUDY[1..7], &["--quiet", "--out", "single"]].concat());
    for others in [&["rr"][..], &["rr", "other"], &["path"], &["single"], &["no-such"]] {
        session.call(&[&["report", "results"], others, &["--out", "page.html"]].concat());
    }
    session.call(&[&STUDY[..5], &["--traffic", "bulk:9KiB", "--quiet", "--out", "less"]].concat());
    session.call(&["report", "results", "less"]);
    let more = ["--runs", "3", "--quiet", "--schedulers", "lrf", "--out", "more"];
    session.call(&[&STUDY[..7], &more].concat());
    study(&mut session, "goal", &["--goal", "completion_time < 9s", "--matters", "20%"]);
    for others in ["more", "goal"] {
        session.call(&["report", "results", others, "--out", "page.html"]);
    }
    session.end();
}

#[test]
fn folders_that_make_no_page() {
    let mut session = session("report-refused");
    session.call(&["report"]);
    session.file("file", "no folder");
    fs::create_dir(session.scratch.0.join("empty")).expect("a folder");
    fs::create_dir_all(session.scratch.0.join("odd/run.json")).expect("a folder");
    fs::create_dir(session.scratch.0.join("begun")).expect("a folder");
    session.file("begun/.runs-0123456789ab.partial.jsonl", "{}\n");
    for folder in ["no-such", "file", "empty", "odd", "begun", ""] {
        session.call(&["report", folder]);
    }
    with(&mut session, "run.json", Some(b"{"));
    with(&mut session, "run.json", Some(b"{\"a\": 1}"));
    with_run(&mut session, "\"schema\": 1", "\"schema\": 7");
    with_run(&mut session, "\"scenario.toml\"", "\"scenario.yaml\"");
    for file in ["scenario.toml", "result.json", "runs.parquet"] {
        with(&mut session, file, None);
        with(&mut session, file, Some(b"cut"));
    }
    with(&mut session, "series.parquet", Some(b"cut"));
    with_run(&mut session, "\"stacks\": null", "\"stacks\": [\"quic\"]");
    with_run(&mut session, "\"study\": \"", "\"study\": \"0");
    with_run(&mut session, "\"hash\": \"", "\"hash\": \"0");
    with_run(&mut session, "\"runs\": 2", "\"runs\": 5");
    with_run(&mut session, "\"runs\": 2", "\"runs\": 0");
    with_named(&mut session, "runs.parquet", b"PAR1 damaged PAR1");
    with_named(&mut session, "series.parquet", b"PAR1 damaged PAR1");
    with_named(&mut session, "result.json", b"{");
    with_named(&mut session, "result.json", b"{}");
    session.end();
}

#[test]
fn inputs_that_are_gone_or_changed() {
    let mut session = Session::new("inputs");
    let study = ["compare", "--path", "a=trace x.down", "--traffic", "bulk:16KiB", "--runs", "2"];
    let into = |folder: &'static str| [&study[..], &["--out", folder]].concat();
    session.file("x.down", "1\n2\n3\n4\n");
    session.file("x.up", "2\n4\n");
    session.call(&into("results"));
    fs::remove_file(session.scratch.0.join("x.down")).expect("a file less");
    session.call(&into("results"));
    session.call(&into("elsewhere"));
    session.file("x.down", "1\n2\n3\n5\n");
    session.call(&into("results"));
    fs::create_dir_all(session.scratch.0.join("other/inputs")).expect("a folder");
    session.file("other/inputs/x.down", "mine");
    session.call(&into("other"));
    session.call(&[&into("other")[..], &["--force", "--quiet"]].concat());
    session.end();
}

#[test]
fn inputs_of_a_repetition_that_are_gone_or_changed() {
    let mut session = Session::new("inputs-of-run");
    let run = ["run", "--path", "a=trace x.down", "--traffic", "bulk:16KiB", "--out", "results"];
    session.file("x.down", "1\n2\n3\n4\n");
    session.file("x.up", "2\n4\n");
    session.call(&run);
    fs::remove_file(session.scratch.0.join("x.down")).expect("a file less");
    session.call(&run);
    session.file("x.down", "1\n2\n3\n5\n");
    session.call(&run);
    session.call(&[&run[..], &["--force", "--quiet"]].concat());
    session.end();
}

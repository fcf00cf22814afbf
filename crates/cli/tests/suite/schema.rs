//! The published schema of scenario files: it equals the output of the program, accepts the files
//! of the repository, and refuses only what the program refuses.

use crate::{Scratch, anabranch, stderr, succeeds};
use std::path::{Path, PathBuf};

/// The published schema.
const PUBLISHED: &str = "docs/scenario.schema.json";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator() -> jsonschema::Validator {
    let text = std::fs::read_to_string(root().join(PUBLISHED)).expect("a published schema");
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

fn document(toml: &str) -> serde_json::Value {
    let table: toml::Table = toml.parse().expect("TOML");
    serde_json::to_value(table).expect("JSON has all that TOML has here")
}

/// Every scenario below `folder`.
pub(crate) fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of scenarios");
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        match path.extension() {
            None => found.extend(scenarios(&path)),
            Some(extension) if extension == "toml" && !is_set(&path) => found.push(path),
            Some(_) => {}
        }
    }
    found.sort();
    found
}

/// Whether `validate` reads it (scenarios with names, and a file of recorded runs), or `reproduce`
/// does.
fn is_set(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).expect("a readable scenario");
    text.lines().any(|line| line.starts_with("series = ") || line == "[[claim]]")
}

#[test]
fn published_schema_is_that_of_the_program() {
    let published = std::fs::read_to_string(root().join(PUBLISHED)).unwrap_or_default();
    let mend = format!("stale; write it again: anabranch schema > {PUBLISHED}");
    assert!(succeeds(&["schema"]) == published, "{mend}");
}

#[test]
fn every_scenario_of_the_repository_fits_the_schema() {
    let validator = validator();
    let files = scenarios(&root().join("scenarios"));
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable scenario");
        let faults: Vec<String> =
            validator.iter_errors(&document(&text)).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:?}", file.display());
        let named = "#:schema ";
        let schema = text.lines().find_map(|line| line.strip_prefix(named)).unwrap_or_default();
        let folder = file.parent().expect("a folder");
        assert!(folder.join(schema).is_file(), "{}: `{named}` names no file", file.display());
    }
}

/// The keys of a valid file, to which each test adds.
fn with(keys: &str, path: &str) -> String {
    let traffic = if keys.contains("traffic = ") { "" } else { "traffic = \"bulk:64KiB\"\n" };
    format!("{traffic}{keys}\n[path]\na = \"rate 5mbit\"\n{path}\n")
}

/// Checks that the schema accepts such a file and the program reads it.
fn fits_and_is_read(scratch: &Scratch, validator: &jsonschema::Validator, keys: &str, path: &str) {
    let text = with(keys, path).replace("b = \"wlan\"", "b = \"profile wlan\"");
    if let Err(fault) = validator.validate(&document(&text)) {
        panic!("{fault}\n{text}");
    }
    let file = scratch.file("study.toml", &text);
    let runs: &[&str] = if text.contains("runs = ") { &[] } else { &["--runs", "2"] };
    succeeds(&[&["compare", &file], runs].concat());
}

#[test]
fn forms_that_the_documents_have_fit_the_schema_and_are_read() {
    let scratch = Scratch::new("forms-of-keys");
    let validator = validator();
    for (keys, path) in [
        ("protocols = \"all\"\nschedulers = \"all\"", "b = \"wlan\""),
        ("protocols = \"tcp\"\ncc = [\"all\"]", ""),
        (
            "protocols = \"cmt-sctp\"\nresched-threshold = [0.3, 1]\n\
             cc-groups = [\"0:1\", \"0:0\"]\n\
             primary = [\"first\", \"b\"]\nsfr = \"all\"",
            "b = \"wlan\"",
        ),
        ("matters = 0.1\npath-noise = 0", ""),
        ("ssthresh = 65536", ""),
        ("ssthresh = \"65536\"", ""),
        ("traffic = \"web:wikipedia\"\ntls = 1.3", ""),
        (
            "",
            "[path.b]\nrate = \"5mbit\"\nloss = \"state 1% 30%\"\n\
             events = [\"uplink rate 2mbit @1s..2s\"]",
        ),
        (
            "traffic = \"bulk:1s\"",
            "b = \"wlan\"\n[flow.x]\npaths = [\"a\", \"b\"]\ncc = \"olia:min-ssthresh=1\"",
        ),
    ] {
        fits_and_is_read(&scratch, &validator, keys, path);
    }
}

#[test]
fn every_key_fits_the_schema_and_is_read() {
    let scratch = Scratch::new("every-key");
    let validator = validator();
    let several = "protocols = [\"tcp\", \"mptcp\"]";
    for (keys, path) in [
        ("title = \"t\"\ndescription = \"\"\"\nd\ne\"\"\"\nsource = \"s\"", ""),
        ("protocols = \"tcp\"\ncc = [\"cubic\", \"reno\", \"olia\"]\nprofile = \"linux-4.1\"", ""),
        (
            &format!("{several}\nschedulers = \"lrf, wrr:3,1,ecf:beta=1,sigma=0, linux\""),
            "b = \"wlan\"",
        ),
        (
            &format!(
                "{several}\nschedulers = \"wrr:3,1,reinjection=off,lrf\"\nreinjection = \"p004\""
            ),
            "b = \"wlan\"",
        ),
        (&format!("{several}\npath-managers = [\"default\"]\nfirst = \"b\""), "b = \"wlan\""),
        (&format!("{several}\npolicy = \"none, drepas:interval=2s,probes=0\""), "b = \"wlan\""),
        ("", "[path.b]\nrate = \"5mbit\"\nbackup = true"),
        ("buffers = \"fixed:1MiB/2MiB\"\nnic = \"none\"\nreverse = true", ""),
        ("runs = \"auto\"\nruns-max = 3\nseed = \"18446744073709551615\"\njobs = 1", ""),
        ("runs = \"2\"\nseed = \"7\"\nbaseline = \"average\"\nnic = \"100Mbit\"", ""),
        ("pairs = true\njson = true\nquiet = true\nno-color = true", ""),
        ("why = true\nwide = true\nfail-if = \"hurts, undecided\"", ""),
        ("markdown = true\nfail-if = [\"goal-missed\"]\ngoal = \"completion_time < 9s\"", ""),
        ("out = \"o\"\ncsv = true\npcap = \"p\"\nverbose = true", ""),
        ("", "[path.b]\nrate = \"5mbit\"\ndelay = \"20ms\"\njitter = \"5ms\"\nloss = 0.01"),
        (
            "",
            "[path.b]\nrate = \"4mbit..5mbit\"\ndelay = \"20ms+-5ms 1ms\"\nloss = \"1%+-0.1%\"\n\
             limit = \"50p..60p\"\nuplink = { loss = \"0..1%\" }",
        ),
        ("", "[path.b]\nprofile = \"wlan\"\nlimit = \"50ms\"\nqueue = \"red 5p 15p 10%\""),
        ("", "[path.b]\nrate = \"5mbit\"\nreorder = \"1%\"\nduplicate = 0.1\ncorrupt = 0"),
        (
            "",
            "[path.b]\nrate = \"5mbit\"\nevents = [\"down @20s..35s\", \"loss 3% @1s..2s\"]\n\
             loss-ge = { p = \"1%\", r = 0.1, one-minus-h = 1, one-minus-k = 0 }",
        ),
        (
            "",
            "[path.b]\nrate = \"5mbit\"\n[path.b.uplink]\nrate = \"1mbit\"\n\
             [path.b.downlink]\ndelay = \"5ms 1ms\"\nevents = \"delay 9ms @1s\"",
        ),
        ("", "[path.b]\ntrace = \"two columns\"\nunit = \"kbit\"\ntrace-up = \"two columns\""),
    ] {
        scratch.file("two columns", "0 4000\n1 5000\n");
        fits_and_is_read(&scratch, &validator, keys, path);
    }
    let kept = std::fs::read_to_string(scratch.path("o/scenario.toml")).expect("a scenario");
    assert!(validator.is_valid(&document(&kept)), "what the program writes fits: {kept}");
    for written in ["o/runs.csv", "o/report.html", "p/tcp-a-cubic.pcapng"] {
        assert!(Path::new(&scratch.path(written)).is_file(), "`{written}` is beside the file");
    }
}

#[test]
fn what_the_schema_refuses_the_program_refuses() {
    let scratch = Scratch::new("wrong-keys");
    let validator = validator();
    let table = |keys: &str| with("", &format!("[path.b]\nrate = \"5mbit\"\n{keys}"));
    let wrong = [
        with("rusn = 3", ""),
        with("runs = 0", ""),
        with("runs = \"aut\"", ""),
        with("runs-max = -1", ""),
        with("seed = -1", ""),
        with("jobs = 0", ""),
        with("reverse = \"yes\"", ""),
        with("pairs = 1", ""),
        with("out = true", ""),
        with("http = 3", ""),
        with("protocols = \"tpc\"", ""),
        with("protocols = [\"tcp,mptcp\", \"cmt-sctp\"]", ""),
        with("cc = [\"cubik\"]", ""),
        with("schedulers = \"default\"", ""),
        with("schedulers = \"ecf:gamma=1\"", ""),
        with("schedulers = \"lrf:reinjection=x\"", ""),
        with("reinjection = \"retrans_only\"", ""),
        with("path-managers = \"fullmehs\"", ""),
        with("profile = \"linux-4.0\"", ""),
        with("buffers = \"1MiB\"", ""),
        with("nic = \"1gbps\"", ""),
        with("", "\"a path\" = \"rate 5mbit\""),
        with("", "b = true"),
        "traffic = \"vdeo\"\n[path]\na = \"rate 5mbit\"\n".to_owned(),
        "traffic = \"video\"\n[path]\n".to_owned(),
        "traffic = \"video\"\npath = \"wlan\"\n".to_owned(),
        table("dellay = \"20ms\""),
        table("limit = 100"),
        table("limit = \"100\""),
        table("limit = \"100 p\""),
        table("delay = \"5 ms\""),
        table("loss = \"1 %\""),
        table("events = [\"backup\"]"),
        with("cc = []", ""),
        table("loss = 1.5"),
        table("loss = \"gemodel 1%\""),
        table("loss-ge = { p = \"1%\" }"),
        table("loss-ge = { p = 0, r = 0, one-minus-h = 0, one-minus-k = 0, q = 0 }"),
        table("queue = \"fifo\""),
        table("events = [\"dwn @20s\"]"),
        table("events = [\"down\"]"),
        table("uplink = \"1mbit\""),
        table("uplink = { rte = \"1mbit\" }"),
        table("uplink = { uplink = { delay = \"1ms\" } }"),
        table("uplink = { profile = \"wlan\" }"),
        table("unit = \"mbits\"\nuplink = { trace = \"x\" }"),
        table("profile = \"wlna\""),
        with("fail-if = \"never\"", ""),
        with("wide = 1", ""),
        with("", "[path.b]\nrate = \"25mbps\""),
        with("", "[path.b]\nrate = 25"),
    ];
    for text in wrong {
        assert!(!validator.is_valid(&document(&text)), "the schema takes\n{text}");
        let file = scratch.file("study.toml", &text);
        let output = anabranch(&["compare", &file]);
        assert_eq!(output.status.code(), Some(2), "the program takes\n{text}");
        assert!(stderr(&output).contains("help: "), "{}", stderr(&output));
    }
}

#[test]
fn output_keys_that_contradict_are_refused() {
    let scratch = Scratch::new("contradictory-output");
    for (keys, expected) in [
        ("csv = true", "`csv` without a folder"),
        ("quiet = true\nverbose = true", "both `quiet` and `verbose`"),
        ("markdown = true\njson = true", "both `markdown` and `json`"),
        ("markdown = true\nwide = true", "both `markdown` and `wide`"),
    ] {
        let file = scratch.file("study.toml", &with(keys, ""));
        let output = anabranch(&["compare", &file, "--runs", "1"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

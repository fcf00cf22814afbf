//! No text without a snapshot: every sentence in the sources is searched for in the snapshots, so
//! that a new message without one fails here.

use super::root;
use std::path::{Path, PathBuf};

/// Sources of messages.
const SOURCES: [&str; 4] =
    ["crates/cli/src", "crates/lab/src", "crates/network/src/trace", "crates/linux/src/path.rs"];

/// Sources without messages: the report page, tested by `report.rs`, labels of figures, whose
/// messages `stored.rs` calls, and the schema.
const OTHERS: [&str; 3] =
    ["crates/cli/src/report/", "crates/cli/src/figures/", "crates/lab/src/scenario/schema.rs/"];

/// Beginnings of texts that no snapshot can have, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("UDP is compared in simulations only", "emulated traffic that UDP carries"),
    ("leave `udp` out, or use `anabranch compare`", "emulated traffic that UDP carries"),
    ("in the capture again within milliseconds", "lab/src/analyze/copies.rs"),
    ("check the file", "a file that cannot be read to its end"),
    ("the file has more than 1 GiB", "a file of 1 GiB"),
    ("cut a part out of it", "a file of 1 GiB"),
    ("cut a part out: `editcap", "a file of 1 GiB"),
    ("cut a part out of the capture", "a capture of 1,000,001 messages"),
    ("carries no data", "lab/src/conversation/pcap_tests.rs"),
    ("name another one", "lab/src/conversation/pcap_tests.rs"),
    ("bytes of it are missing in the capture", "lab/src/conversation/pcap_tests.rs"),
    ("think times include round trips", "lab/src/conversation/pcap_tests.rs"),
    ("all runs are saved there; free some space", "a full disk: resume.rs"),
    ("finished runs are saved there; free some space", "a full disk: resume.rs"),
    ("all cells are saved there; free some space", "a full disk"),
    ("interrupted before any cell was complete", "a signal at the right moment"),
    ("interrupted: run the command again to resume", "a signal at the right moment"),
    ("A claim holds where its interval shows it, fails where", "date and machine: reproduce.rs"),
    ("# What of the five papers holds", "date and machine: reproduce.rs"),
    ("The paper's numbers beside ours", "date and machine: reproduce.rs"),
    ("million packets and", "costs of all studies of a paper"),
    ("share of the data on", "a label of figures"),
    ("largest share of a path", "a label of figures"),
    ("no scenario file `", "claims in the program without their file"),
    ("` in this folder", "claims in the program without their file"),
    ("nothing to compare", "a part without values, which is refused before"),
    ("` is not one experiment", "several experiments in one place of a part"),
    ("was not run", "a column without all its studies: lab/src/reproduction/tests.rs"),
    ("a mean is over values of experiments", "lab/src/reproduction/tests.rs"),
    ("too few finished runs to compare", "lab/src/reproduction/checks.rs"),
    ("further studies were stored before", "a document of --write: reproduce.rs"),
    ("cannot write `", "a full disk while captures are written"),
    ("cannot write the page", "memory that cannot be written to"),
    ("live use needs Linux", "another system"),
    ("is valid on one link only; name its device: --path", "a live connection: cli/src/live.rs"),
    ("because the time was over (--time)", "a clock: compare.rs"),
    ("` repeats this result", "a clock: compare.rs"),
    ("does not pay off (undecided", "lab/src/report/tests.rs"),
    ("The difference is about as large as what", "lab/src/report/tests.rs"),
    ("); `--matters` sets another one.", "lab/src/report/tests.rs"),
    (
        "more runs may distinguish it from",
        "a difference as large as what matters, without several paths",
    ),
    ("--out: this is the capture itself", "a file of compare --pcap: analyze.rs"),
    ("help: name another file, such as page", "a file of compare --pcap: analyze.rs"),
    ("hurts when a path fails", "no such case is known"),
    ("runs never resumed)", "some runs of several without an end"),
    ("(1 run never resumed)", "one run of several without an end"),
    ("which makes no difference that matters", "lab/src/advice.rs"),
    ("which is undecided", "lab/src/advice.rs"),
    ("with the default route of the client", "lab/src/advice.rs"),
    ("at the server, with address and interface of", "lab/src/advice.rs"),
    ("with simultaneous SYNs exists", "lab/src/advice.rs"),
    ("Mainline Linux has one scheduler, compared with `--profile", "lab/src/advice.rs"),
    ("Mainline Linux is compared with", "lab/src/advice.rs"),
    ("FreeBSD and usrsctp have CMT-SCTP", "lab/src/advice/sctp.rs"),
    ("` at both ends, in usrsctp", "lab/src/advice/sctp.rs"),
    (")`. SCTP in Linux has no CMT.", "lab/src/advice/sctp.rs"),
    (": `sctp_bindx` (RFC 6458)", "lab/src/advice/sctp.rs"),
    ("Their other rules are those of", "lab/src/advice/sctp.rs"),
    ("exists in this program only", "lab/src/advice/sctp.rs"),
    ("rename one of them: `", "lab/src/scenario/tests.rs"),
    ("of which ended after", "lab/src/report/tests.rs"),
    ("with the running kernel", "TUN devices: emulate.rs"),
    ("95 %: interval of the mean before it", "a wide terminal: cli/src/fairness.rs"),
    ("blocked bytes [kB]", "a wide terminal"),
    ("interrupted: no file was saved", "a TUN device: live.rs"),
    ("the first --path opens the connection", "a live connection: cli/src/live.rs"),
    ("of them ignored),", "a TUN device: live.rs"),
    ("refused by the kernel", "a TUN device: live.rs"),
    ("to each of", "a page of several hosts: web.rs"),
    ("cannot write to standard output", "a full device: terminal.rs"),
    ("` has results of emulated links", "TUN devices: emulate.rs"),
    ("sender, per run", "TUN devices: emulate.rs"),
    ("no path: add --path dev=TUN", "arguments that clap refuses before"),
    ("an address comes first", "a text that begins with `udp=`, as all read there do"),
    (
        "of connections whose keys are not in",
        "a capture of two hosts' tests: lab/src/analyze/tests.rs",
    ),
    ("not copied", "in the index of copies: lab/src/results/inputs.rs"),
    ("` was changed while the study began", "a file that changes at that moment"),
    ("a value is missing", "a word that is looked at before it is taken"),
    ("` is damaged:", "a built-in profile with an error"),
    ("` is incomplete", "a built-in profile with an error"),
    ("cut it, or check that it is the file", "a file of 256 MiB"),
    ("` is larger than 256 MiB", "a file of 256 MiB"),
    ("its columns have different lengths", "a damaged table: lab/src/results/stored_tests.rs"),
    ("its number of rows is too large", "a damaged table: lab/src/results/stored_tests.rs"),
    ("the table has version", "results of another version: lab/src/results/stored_tests.rs"),
    ("the emulation was not exact:", "a TUN device and a busy machine: emulate.rs"),
    ("the emulation was disturbed", "a TUN device and a busy machine"),
    ("runs were discarded: other load disturbed", "a TUN device and a busy machine"),
    ("runs take about", "a study of 100,000 runs: cost.rs"),
    ("of memory and", "a study of 100,000 runs: cost.rs"),
    ("help: fewer runs are enough for most", "a study of 100,000 runs: cost.rs"),
    (
        "the recording of `",
        "runs with a recording that is not shipped: lab/src/validation/tests.rs",
    ),
    ("` is not here; name the folder", "the same"),
    ("more pairs of hosts", "a capture of many hosts"),
    ("starting a program:", "a system that cannot start programs"),
    ("the scenario has no variant", "a scenario without variants, which is refused before"),
    ("interrupted: no result", "an interrupt at a moment that tests cannot choose"),
    ("all runs are repeated, because", "a damaged table: lab/src/results/tests.rs"),
    ("` cannot be used:", "a damaged table: lab/src/results/tests.rs"),
    ("it belongs to other runs", "a table of another build: lab/src/results/records.rs"),
    ("no folder is named", "arguments that clap refuses before"),
    ("name one or several results folders", "arguments that clap refuses before"),
    ("`, so there are no figures of delays", "a missing table: stored.rs"),
    ("the runs in `", "results of another build: lab/src/results/tests.rs"),
    ("` are from another build", "results of another build: lab/src/results/tests.rs"),
    ("the table of runs has version", "results of another version: lab/src/results/tests.rs"),
    (", this program writes version", "results of another version: lab/src/results/tests.rs"),
    ("this is a Parquet file, but not", "a table of another program: lab/src/results/tests.rs"),
    ("the schema has too few columns", "a damaged table: lab/src/results/tests.rs"),
    ("a column does not fit its writer", "a defect of the program"),
    ("the column `", "a damaged table: lab/src/results/tests.rs"),
    ("` is not as it should be", "a damaged table: lab/src/results/tests.rs"),
    ("defect of the engine:", "a defect of the program"),
    ("makes no difference that", "many runs: lab/src/report/tests.rs"),
    ("No comparison with", "runs of which no two were finished together"),
    ("check the file; files above 1 GiB", "a file of 1 GiB"),
    ("the file is larger than 1 GiB", "a file of 1 GiB"),
    ("the file cannot be read:", "a disk that fails"),
    ("check the name of the file", "a disk that fails"),
    ("a HAR file of", "a file of a million entries"),
    ("entries is too large for a page", "a file of a million entries"),
    ("the file has more than", "a file of millions of packets"),
    ("cut a part out, or leave other flows", "a file of millions of packets"),
    ("values, too many for a page", "a file of millions of values"),
    ("a JSON value", "serde's text for a value that JSON does not have"),
    ("` as recorded in", "recordings that are not shipped"),
    ("` is not a page:", "a HAR whose graph has a cycle, which none of ours has"),
    ("give another recording", "a HAR whose graph has a cycle, which none of ours has"),
    ("its own choice", "a scheduler that does not explain itself: all of ours do"),
    ("; halves the window of", "a penalty, which needs a full receive window at the right moment"),
    ("note: further decisions were not kept", "a run of half a million decisions"),
    ("suspended by the path policy", "a policy that suspends a path while data wait"),
    ("the segment does not fit the peer's receive window", "a moment of a long run"),
    ("no path can carry data", "a moment of a long run"),
    (
        "all data are scheduled, the application",
        "a buffer full of scheduled data: transport's tests",
    ),
    ("pacing: the next departure time", "a reason of TCP, no scheduler gives it"),
    ("other=tcp on a", "an example that tests of the table of options read"),
    ("client b subflow backup", "an example that tests of the table of options read"),
    ("Nagle's algorithm: a small segment", "a reason of TCP, no scheduler gives it"),
    ("differences are from", "results of SCTP: sctp.rs"),
    (", SCTP profile", "results of SCTP: sctp.rs"),
    ("with the SCTP profile", "results of SCTP: sctp.rs"),
    ("SCTP over ", "results of SCTP: sctp.rs"),
    ("Chunks sent one after another", "results of SCTP: sctp.rs"),
    ("note: further lines were not kept", "a run of half a million lines"),
    ("Bind the address", "lab/src/report/tests.rs"),
    ("On Linux `sysctl -w net.sctp.pf", "lab/src/report/tests.rs"),
    ("The address of", "lab/src/report/tests.rs"),
    ("alone is enough.", "lab/src/report/tests.rs"),
    ("the primary path", "lab/src/decisions/association.rs"),
    ("had a time-out (RFC 7829)", "lab/src/decisions/association.rs"),
    ("had too many time-outs (RFC", "lab/src/decisions/association.rs"),
    ("retransmission o", "lab/src/decisions/association.rs"),
    ("lost, by the policy", "lab/src/decisions/association.rs"),
    ("T3-rtx expired: its", "lab/src/decisions/association.rs"),
    ("only one path is given: there is no", "results of SCTP: sctp.rs"),
    (": it takes `", "results of SCTP: sctp.rs"),
    (", which lacks it", "results of SCTP: sctp.rs"),
    ("no streams: fetched as with", "results of SCTP: sctp.rs"),
    ("one stream of one association", "results of SCTP: sctp.rs"),
    ("streams of one association", "results of SCTP: sctp.rs"),
    ("the connection is being opened", "a reason of TCP, no scheduler gives it"),
];

/// Smallest number of words of a sentence; shorter ones occur everywhere.
const LEAST_WORDS: usize = 3;

#[test]
fn every_sentence_of_the_sources_is_in_a_snapshot() {
    let shown = shown();
    let mut missing = Vec::new();
    for file in sources() {
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let text = std::fs::read_to_string(&file).expect("a source");
        for sentence in literals(&text).iter().flat_map(|literal| pieces(literal)) {
            let excused = EXCEPTIONS.iter().any(|(start, _)| sentence.starts_with(start));
            if !excused && !shown.contains(&sentence) {
                missing.push(format!("{name}: {sentence}"));
            }
        }
    }
    let count = missing.len();
    assert!(missing.is_empty(), "{count} texts without a snapshot:\n{}", missing.join("\n"));
}

#[test]
fn exceptions_are_still_in_the_sources() {
    let texts = sources().into_iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let all: Vec<String> = texts.flat_map(|text| literals(&text)).collect();
    let all: Vec<String> = all.iter().flat_map(|literal| pieces(literal)).collect();
    for (start, why) in EXCEPTIONS {
        assert!(all.iter().any(|sentence| sentence.starts_with(start)), "gone: {start} ({why})");
    }
}

/// All snapshots and the texts of the schema, which another test compares with what is printed;
/// with single blanks.
fn shown() -> String {
    let folders = ["crates/cli/tests/suite/snapshots", "crates/cli/src/snapshots"];
    let mut text = String::new();
    for folder in folders {
        for entry in std::fs::read_dir(root().join(folder)).expect("snapshots").flatten() {
            let snapshot = std::fs::read_to_string(entry.path()).expect("a snapshot");
            let lines = snapshot.lines().map(|line| line.trim_start_matches("2> "));
            text.extend(lines.flat_map(str::split_whitespace).flat_map(|word| [word, " "]));
        }
    }
    let schema = std::fs::read_to_string(root().join("docs/scenario.schema.json"));
    let schema = serde_json::from_str(&schema.expect("the schema")).expect("JSON");
    add_texts(&schema, &mut text);
    text
}

/// Adds every text of a JSON document.
fn add_texts(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::String(own) => {
            text.push_str(own);
            text.push(' ');
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| add_texts(value, text)),
        serde_json::Value::Object(members) => {
            members.values().for_each(|value| add_texts(value, text));
        }
        _ => {}
    }
}

fn sources() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = SOURCES.iter().map(|source| root().join(source)).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string() + "/";
        if path.is_dir() && !OTHERS.iter().any(|other| shown.starts_with(other)) {
            let entries = std::fs::read_dir(&path).expect("a folder of sources");
            open.extend(entries.flatten().map(|entry| entry.path()));
        } else if is_source(&path) && !OTHERS.iter().any(|other| *other == shown) {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn is_source(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".rs") && !name.ends_with("tests.rs")
}

/// The string literals of a source, without tests, comments and reasons of lints.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or(source);
    let mut literals = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let before = &rest[..at];
        rest = &rest[at..];
        let is_reason = before.ends_with("reason = ");
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(inside) = rest.strip_prefix('"') {
            let (literal, behind) = literal(inside);
            rest = behind;
            if !is_reason {
                literals.push(literal);
            }
        } else if let Some(length) = character(rest) {
            rest = &rest[length..];
        } else {
            rest = &rest[1..];
        }
    }
    literals
}

/// The length of a character literal; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.strip_prefix('\'')?.chars();
    match (chars.next()?, chars.next()?) {
        ('\\', _) => Some(4 + text.get(3..)?.find('\'')?),
        (c, '\'') => Some(2 + c.len_utf8()),
        _ => None,
    }
}

/// The text of a literal, and the rest after it.
fn literal(inside: &str) -> (String, &str) {
    let mut text = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, &inside[at + 1..]),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') | None => text.push('\n'),
                Some('\n') => {
                    let blanks = chars.as_str().len() - chars.as_str().trim_start().len();
                    chars = inside[inside.len() - chars.as_str().len() + blanks..].char_indices();
                    let (literal, behind) = literal(chars.as_str());
                    return (text + &literal, behind);
                }
                Some(other) => text.push(other),
            },
            other => text.push(other),
        }
    }
    (text, "")
}

/// The parts between placeholders and line breaks that are long enough for the search.
fn pieces(literal: &str) -> Vec<String> {
    // Escaped braces are replaced.
    let plain = literal.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let parts = plain.split(['\n', '{']).map(|part| part.rsplit('}').next().unwrap_or(part));
    let words = parts.map(|part| part.split_whitespace().collect::<Vec<_>>());
    let long = words.filter(|words| words.len() >= LEAST_WORDS);
    long.map(|words| words.join(" ").replace('\u{1}', "{").replace('\u{2}', "}")).collect()
}

#[test]
fn literals_of_a_source_are_found_and_comments_are_not() {
    let source = "//! \"no\"\nlet a = \"one \\\n    two {x} three\"; // it's\n\
                  let c = '\"'; let d: &'static str = \"q\\\"\\n\"; let e = '\\'';\n\
                  #[allow(x, reason = \"why so\")]\n#[cfg(test)]\nmod tests { \"no\" }";
    assert_eq!(literals(source), ["one two {x} three", "q\"\n"]);
    assert_eq!(pieces("a b c {d} e f\ng h  i {{x}}"), ["a b c", "g h i {x}"]);
}

//! Manual pages, completions, exit codes, streams, closed pipes.

use crate::{Scratch, anabranch, command, stderr, stdout, succeeds};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A study that takes no time.
const TINY: [&str; 7] = [
    "compare",
    "--path",
    "p=rate 5mbit delay 10ms limit 100p",
    "--traffic",
    "bulk:16KiB",
    "--runs",
    "1",
];

/// The words after `Commands:` or the options of a help text.
fn words_of(help: &str, is_word: impl Fn(&str) -> bool) -> Vec<String> {
    let words = help.lines().filter_map(|line| line.split_whitespace().next());
    let mut words: Vec<String> = words.filter(|word| is_word(word)).map(str::to_owned).collect();
    words.dedup();
    words
}

/// Every subcommand, such as `live serve`, with the long options of its help.
fn verbs() -> Vec<(Vec<String>, Vec<String>)> {
    let mut open = vec![Vec::new()];
    let mut verbs = Vec::new();
    while let Some(verb) = open.pop() {
        let mut arguments: Vec<&str> = verb.iter().map(String::as_str).collect();
        arguments.push("-h");
        let help = succeeds(&arguments);
        if let Some((_, rest)) = help.split_once("\nCommands:\n") {
            let list = rest.split("\n\n").next().unwrap_or(rest);
            let names =
                list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
            for name in names.filter_map(|line| line.split_whitespace().next()) {
                open.push([&verb[..], &[name.to_owned()]].concat());
            }
        }
        let options = words_of(&help, |word| word.starts_with("--"));
        // A line of a text may begin with an option, too.
        let bare = |option: &String| {
            let name = option.split('[').next().unwrap_or(option);
            name.trim_end_matches(',').to_owned()
        };
        let options = options.iter().map(bare).collect();
        verbs.push((verb, options));
    }
    assert!(verbs.len() > 8, "{verbs:?}");
    verbs
}

#[test]
fn manual_page_names_every_verb_and_option() {
    let page = succeeds(&["man"]).replace("\\-", "-");
    assert!(page.contains(".TH anabranch 1"), "{page}");
    for (verb, options) in verbs() {
        assert!(page.contains(&verb.join("-")), "{verb:?}");
        for option in options {
            assert!(page.contains(&option), "{verb:?} {option}");
        }
    }
    for part in ["ANABRANCH LIVE SERVE", "Exit codes", "--path home='rate 25mbit", ".nf"] {
        assert!(page.replace("\\*(Aq", "'").contains(part), "`{part}` is missing");
    }
}

#[test]
fn manual_pages_in_a_folder_are_one_a_verb() {
    let scratch = Scratch::new("manual-pages");
    let folder = scratch.path("pages");
    let output = anabranch(&["man", &folder]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), String::new()));
    for (verb, _) in verbs() {
        let name = [&["anabranch".to_owned()][..], &verb].concat().join("-") + ".1";
        let page = std::fs::read_to_string(scratch.path("pages") + "/" + &name);
        assert!(page.is_ok_and(|page| page.contains(".TH ")), "{name}");
    }
    let file = scratch.file("file", "in the way");
    assert_eq!(anabranch(&["man", &file]).status.code(), Some(2));
    assert_eq!(anabranch(&["man", &format!("{file}/below")]).status.code(), Some(1));
}

#[test]
fn manual_page_is_clean_roff() {
    let scratch = Scratch::new("roff");
    let page = scratch.file("anabranch.1", &succeeds(&["man"]));
    let Ok(output) = Command::new("groff").args(["-man", "-ww", "-z", &page]).output() else {
        return println!("skipped: no groff to check the manual page with");
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn completions_name_every_verb_and_option() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeds(&["completions", shell]);
        for (verb, options) in verbs() {
            for word in verb.iter().map(String::as_str).chain(options.iter().map(String::as_str)) {
                // Fish has options without dashes: `-l runs`.
                let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
    assert_eq!(anabranch(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn bash_accepts_its_completions() {
    let scratch = Scratch::new("completions");
    let script = scratch.file("anabranch.bash", &succeeds(&["completions", "bash"]));
    let ask = format!(
        "source '{script}'; COMP_WORDS=(anabranch compare --sch); COMP_CWORD=2; \
         _anabranch anabranch --sch compare; echo \"${{COMPREPLY[@]}}\""
    );
    let Ok(output) = Command::new("bash").args(["--norc", "-c", &ask]).output() else {
        return println!("skipped: no bash to try completions in");
    };
    assert_eq!(stdout(&output), "--schedulers\n", "{}", stderr(&output));
}

#[test]
fn exit_codes_are_those_of_the_manual() {
    let missing: &[&str] = &["no/such/file"];
    let cases: &[(&[&str], i32)] = &[
        (&TINY, 0),
        (&["compare"], 2),
        (&["compare", "no/such/scenario.toml"], 2),
        (&["list"], 0),
        (&["list", "nothing"], 2),
        (&["analyze"], 2),
        (&[&["analyze"], missing].concat(), 2),
        (&["analyze", "."], 2),
        (&["analyze", "Cargo.toml"], 2),
        (&["man"], 0),
        (&["completions", "zsh"], 0),
        (&["completions"], 2),
        (&["nothing"], 2),
        (&["--version"], 0),
        (&["--help"], 0),
        (&[], 2),
    ];
    for (arguments, code) in cases {
        let output = anabranch(arguments);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output).is_empty(), *code != 0, "{arguments:?}: stdout is the result");
    }
    // Failed output is an error.
    let scratch = Scratch::new("exit-codes");
    let file = scratch.file("file", "in the way");
    let output = anabranch(&[&TINY[..], &["--out", &file]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn reader_that_goes_away_ends_it_quietly() {
    for arguments in
        [&["list"][..], &["man"], &["completions", "bash"], &["compare", "--help"], &TINY]
    {
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let reader = child.stdout.take().expect("a pipe");
        BufReader::with_capacity(16, reader).read_line(&mut line).expect("a line");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(0), String::new()),
            "{arguments:?}"
        );
    }
}

#[test]
fn output_that_is_no_terminal_is_the_same_whatever_the_environment_says() {
    let plain = anabranch(&TINY);
    assert!(stderr(&plain).is_empty(), "{}", stderr(&plain));
    for (name, value) in [("TERM", "xterm-256color"), ("NO_COLOR", "1")] {
        let output = command(&TINY).env(name, value).output().expect("the program starts");
        assert_eq!(stdout(&output), stdout(&plain), "{name}={value}");
    }
}

/// Calls whose output fits the terminal: lists, checks, decisions, captures.
fn fitting(scratch: &Scratch) -> Vec<Vec<String>> {
    let packets = scratch.path("packets");
    let paths = ["--path", "wlan", "--path", "satellite=rate 20mbit delay 300ms loss 1%"];
    let run = ["run", "--traffic", "bulk:256KiB", "--protocols", "mptcp", "--pcap", &packets];
    succeeds(&[&run[..], &paths].concat());
    let explain = ["explain", "--traffic", "bulk:64KiB", "--scheduler"];
    let mut calls: Vec<Vec<&str>> = vec![vec!["list"], vec!["doctor"]];
    for scheduler in ["ecf", "blest-kernel", "linux"] {
        calls.push([&explain[..], &[scheduler], &paths].concat());
    }
    let mut calls: Vec<Vec<String>> =
        calls.iter().map(|call| call.iter().map(|word| (*word).to_owned()).collect()).collect();
    for file in std::fs::read_dir(packets).expect("captures").flatten() {
        calls.push(vec!["analyze".to_owned(), file.path().display().to_string()]);
    }
    assert!(calls.len() > 6, "{calls:?}");
    calls
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let scratch = Scratch::new("fitting");
    for call in fitting(&scratch) {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        for columns in [80, 100, 120] {
            let output = command(&call).env("COLUMNS", columns.to_string()).output();
            let text = stdout(&output.expect("the program starts"));
            assert!(!text.is_empty(), "{call:?}");
            let long: Vec<&str> =
                text.lines().filter(|line| line.chars().count() > columns).collect();
            assert!(long.is_empty(), "{columns}: {}:\n{}", call[0], long.join("\n"));
        }
        let pipe = stdout(&anabranch(&call));
        assert!(pipe.lines().all(|line| line.chars().count() <= 100), "{call:?}: {pipe}");
        let Some(text) = on_a_terminal(80, "NO_COLOR=1", &call) else { continue };
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{call:?}: {text}");
    }
}

#[test]
fn help_is_that_of_the_command() {
    assert_eq!(succeeds(&["help"]), succeeds(&["--help"]));
    assert_eq!(succeeds(&["help", "Compare"]), succeeds(&["compare", "--help"]));
    let refused = |words: &[&str]| {
        let output = anabranch(&[&["help"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        stderr(&output)
    };
    assert!(refused(&["comprae"]).contains("did you mean `compare`"));
    assert!(refused(&["list", "paths"]).contains("`anabranch list` has no commands"));
}

/// Output of the program on a terminal with this number of columns; `None` without the tool for it.
fn on_a_terminal(columns: usize, environment: &str, arguments: &[&str]) -> Option<String> {
    let quoted: Vec<String> = arguments.iter().map(|a| format!("'{a}'")).collect();
    let program = env!("CARGO_BIN_EXE_anabranch");
    let line =
        format!("stty rows 24 cols {columns}; {environment} '{program}' {}", quoted.join(" "));
    let output = Command::new("script").args(["-qec", &line, "/dev/null"]).output();
    let Ok(output) = output.map_err(|_| println!("skipped: no script to make a terminal with"))
    else {
        return None;
    };
    Some(stdout(&output).replace('\r', ""))
}

#[test]
fn terminal_gets_lines_of_its_width_and_colours_unless_refused() {
    let study = [&TINY[..], &["--quiet"]].concat();
    let Some(text) = on_a_terminal(40, "NO_COLOR= TERM=xterm", &study) else { return };
    assert!(text.contains("\u{1b}[32mbaseline"), "{text}");
    for (environment, option) in [("NO_COLOR=1", ""), ("TERM=dumb", ""), ("", "--no-color")] {
        let study: Vec<&str> =
            study.iter().copied().chain([option]).filter(|o| !o.is_empty()).collect();
        let Some(text) = on_a_terminal(40, environment, &study) else { return };
        assert!(!text.contains('\u{1b}'), "{environment} {option}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }
    let Some(text) = on_a_terminal(40, "NO_COLOR=1 COLUMNS=100", &study) else { return };
    assert!(text.lines().any(|line| line.chars().count() > 60), "COLUMNS wins: {text}");
}

#[test]
fn progress_is_drawn_on_a_terminal_and_taken_away_again() {
    let study = [&TINY[..6], &["4", "--jobs", "1"]].concat();
    let Some(text) = on_a_terminal(80, "TERM=xterm", &study) else { return };
    let (drawn, result) = text.split_once("download of").expect("a heading");
    assert!(drawn.contains("/4 "), "{drawn:?}");
    assert!(drawn.ends_with("\u{1b}[2K") || drawn.ends_with("\u{1b}[1A"), "cleared: {drawn:?}");
    assert!(!text.contains("\u{1b}[?25l"), "the cursor stays visible: {text:?}");
    assert!(!result.contains("\u{1b}[2K"), "{result:?}");
    for (environment, option) in [("TERM=dumb", "--no-color"), ("TERM=xterm", "--quiet")] {
        let Some(text) = on_a_terminal(80, environment, &[&study[..], &[option]].concat()) else {
            return;
        };
        assert!(text.starts_with("download of"), "{environment} {option}: {text:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn result_that_cannot_be_printed_is_a_failure() {
    for words in [&["list"][..], &["compare", "--path", "wlan", "--traffic", "burst:10", "--json"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
        let output = command(words).stdout(full).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(shown.contains("error: cannot write to standard output: No space"), "{shown}");
    }
}

//! Help of every subcommand, and output of `list`.

use super::Session;

#[test]
fn help_of_the_program_and_its_small_verbs() {
    let mut session = Session::new("help");
    session.call(&[]);
    for verb in ["run", "report", "validate", "analyze", "doctor", "list", "man", "completions"] {
        session.call(&[verb, "-h"]);
    }
    for length in ["-h", "--help"] {
        session.call(&["explain", length]);
    }
    session.call(&["--version"]);
    for words in [&["help", "schema"][..], &["help", "comprae"], &["help", "list", "paths"]] {
        session.call(words);
    }
    session.end();
}

#[test]
fn help_of_compare() {
    let mut session = Session::new("help-compare");
    session.call(&["compare", "-h"]);
    session.call(&["compare", "--help"]);
    session.end();
}

#[cfg(all(feature = "linux", target_os = "linux"))]
#[test]
fn help_of_live() {
    let mut session = Session::new("help-live");
    for verb in [&["live", "-h"][..], &["live", "serve", "-h"], &["live", "get", "-h"]] {
        session.call(verb);
    }
    session.end();
}

#[test]
fn lists_of_every_topic() {
    let mut session = Session::new("list");
    session.call(&["list"]);
    let topics = ["paths", "traffic", "pages", "schedulers", "congestion", "path-managers"];
    for topic in topics.into_iter().chain(["policies", "queues", "loss", "profiles"]) {
        session.call(&["list", topic]);
    }
    session.end();
}

#[test]
fn wrong_arguments() {
    let mut session = Session::new("arguments");
    let video = ["compare", "--path", "wlan", "--traffic", "video"];
    for arguments in [
        &["comprae"][..],
        &["list", "path"],
        &["completions", "cmd"],
        &["completions"],
        &["analyze"],
        &["compare", "--path", "wlan", "--pth", "3g"],
        &["compare", "--path"],
        &[&video[..], &["--quiet", "--verbose"]].concat(),
        &[&video[..], &["--csv"]].concat(),
        &[&video[..], &["--quiet", "again.toml", "more.toml"]].concat(),
    ] {
        session.call(arguments);
    }
    session.file("file", "in the way");
    session.call(&["man", "file"]);
    session.call(&["man", "file/below"]);
    session.call(&["man", "pages"]);
    session.end();
}

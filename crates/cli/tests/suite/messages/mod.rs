//! Every text that users read, as snapshots; CONTRIBUTING.md explains how to accept changes.

mod cmt;
mod coverage;
mod decisions;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod emulation;
mod flows;
mod matrix;
mod pages;
mod paths;
mod recorded;
mod refusals;
mod repetitions;
mod reproduce;
mod sctp;
mod stored;
mod tables;
mod tables_of_messages;
mod texts;
mod traces;
mod verdicts;

use crate::{Scratch, command, stderr, stdout};
use std::path::Path;

/// Calls of the program in a separate folder, and their output.
struct Session {
    name: &'static str,
    scratch: Scratch,
    text: String,
}

impl Session {
    fn new(name: &'static str) -> Session {
        Session { name, scratch: Scratch::new(&format!("session-{name}")), text: String::new() }
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.scratch.0.join(name), content).expect("a file for the test");
    }

    /// Runs `anabranch` with these arguments in shell syntax.
    fn call(&mut self, arguments: &[&str]) {
        let output = command(arguments).current_dir(&self.scratch.0).output().expect("it starts");
        let shown: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
        let messages = stderr(&output);
        let messages =
            messages.lines().map(|line| format!("2> {line}").trim_end().to_owned() + "\n");
        let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
        let call = format!("$ anabranch {}", shown.join(" "));
        self.text.push_str(&format!("{}\n", call.trim_end()));
        self.text.push_str(&stdout(&output));
        self.text.push_str(&messages.collect::<String>());
        self.text.push_str(&format!("exit {code}\n\n"));
    }

    /// `compare` with one path of this description.
    fn path(&mut self, spec: &str) {
        self.call(&["compare", "--traffic", "bulk:64KiB", "--path", &format!("p={spec}")]);
    }

    /// Compares the transcript with the snapshot of this name.
    #[track_caller]
    fn end(self) {
        let folder = self.scratch.0.display().to_string();
        let version = env!("CARGO_PKG_VERSION");
        let text = self.text.replace(&folder, "FOLDER").replace(version, "VERSION");
        let text = without_costs(&without_hashes(&without_builds(&text)));
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_snapshot_path("../snapshots");
        settings.bind(|| insta::assert_snapshot!(self.name, text));
    }
}

/// Replaces the CPU seconds and the memory that studies took.
fn without_costs(text: &str) -> String {
    let masked = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            if matches!(words[at], "CPU" | "MiB") {
                words[at - 1] = "N";
            }
        }
        words.join(" ")
    };
    let line = |line: &str| match line.starts_with("2> The studies took ") {
        true => masked(line),
        false => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces the build in names of journals: `.runs-BUILD.partial.jsonl`.
fn without_builds(text: &str) -> String {
    let mut parts = text.split("/.runs-");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.find(".partial").map_or("", |at| &part[at..]);
        shown.push_str(&format!("/.runs-BUILD{behind}"));
    }
    shown
}

/// Removes hashes from documents: they depend on every step of the engine and are not messages.
fn without_hashes(text: &str) -> String {
    let mut parts = text.split("\"hash\": \"");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.find('"').map_or("", |at| &part[at..]);
        shown.push_str(&format!("\"hash\": \"HASH{behind}"));
    }
    shown
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{argument}'")
    }
}

/// The root of the repository.
pub(crate) fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

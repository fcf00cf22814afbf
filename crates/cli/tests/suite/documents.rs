//! README and docs: every block of `console` is exactly what its commands print.
//!
//! A command is a line that begins with `$ `, continued after a backslash; what follows up to the
//! next command is its standard output. `RECORD_DOCUMENTS=1` writes the blocks again.

use crate::messages::root;
use crate::{command, stderr, stdout};
use std::path::PathBuf;

/// Commands that take too long for a test, each with its document.
const SLOW: [(&str, &str); 0] = [];

/// Commands with their output in a block.
struct Example {
    /// As written, with its continuation lines.
    command: String,
    output: String,
}

/// The examples of a block.
fn examples(block: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut continues = false;
    for line in block.lines() {
        let whole = format!("{line}\n");
        match examples.last_mut() {
            Some(example) if continues => example.command.push_str(&whole),
            Some(example) if !line.starts_with("$ ") => example.output.push_str(&whole),
            _ => examples.push(Example { command: whole, output: String::new() }),
        }
        let is_command = continues || line.starts_with("$ ");
        continues = is_command && line.ends_with('\\');
    }
    examples
}

/// What the command prints.
fn printed(written: &str) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_anabranch"));
    let folder = program.parent().expect("a folder of the program").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    // Clean environment and folder of the other tests.
    let clean = command(&[]);
    let mut shell = std::process::Command::new("sh");
    for (name, value) in clean.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell
        .current_dir(root())
        .env("PATH", format!("{folder}:{path}"))
        .args(["-c", written.trim_start_matches("$ ")])
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{written}: {}", stderr(&output));
    stdout(&output)
}

/// The document with the outputs of its `console` blocks as printed now, and their number.
fn rewritten(name: &str, text: &str) -> (String, usize) {
    const OPEN: &str = "\n```console\n";
    let (mut new, mut rest, mut count) = (String::new(), text, 0);
    while let Some(at) = rest.find(OPEN) {
        let (before, block) = rest.split_at(at + OPEN.len());
        let end = block.find("\n```").map_or(block.len(), |end| end + 1);
        new.push_str(before);
        for Example { command, output } in examples(&block[..end]) {
            let is_slow = SLOW.contains(&(name, command.trim_end()));
            new.push_str(&command);
            new.push_str(&if is_slow { output } else { printed(&command) });
            count += usize::from(!is_slow);
        }
        rest = &block[end..];
    }
    new.push_str(rest);
    (new, count)
}

/// README and the documents, by name.
fn documents() -> Vec<(String, String)> {
    let docs = std::fs::read_dir(root().join("docs")).expect("documents").flatten();
    let docs = docs.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()));
    let mut names: Vec<String> = docs.filter(|name| name.ends_with(".md")).collect();
    names.push("README.md".to_owned());
    names.sort();
    let read = |name: &String| std::fs::read_to_string(root().join(name)).expect("a document");
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

#[test]
fn examples_of_the_documents_are_what_the_commands_print() {
    let record = std::env::var_os("RECORD_DOCUMENTS").is_some();
    let mut count = 0;
    for (name, text) in documents() {
        let (new, examples) = rewritten(&name, &text);
        count += examples;
        if new == text {
            continue;
        }
        if record {
            std::fs::write(root().join(&name), new).expect("the document is written");
            continue;
        }
        let differs = text.lines().zip(new.lines()).find(|(old, new)| old != new);
        panic!(
            "{name}: an example is not what its command prints: {differs:?}\nwrite it again with \
             RECORD_DOCUMENTS=1 cargo test --release -p anabranch-cli --test suite documents"
        );
    }
    assert!(count >= 2, "README has examples");
    for (name, command) in SLOW {
        let has = |(of, text): &(String, String)| of == name && text.contains(command);
        assert!(documents().iter().any(has), "{name} has no `{command}`");
    }
}

#[test]
fn command_goes_on_after_a_backslash_and_output_up_to_the_next_command() {
    let block = "$ anabranch list \\\n    paths\nfirst\nsecond\n$ anabranch doctor\n";
    let all: Vec<(String, String)> =
        examples(block).into_iter().map(|one| (one.command, one.output)).collect();
    let of = |command: &str, output: &str| (command.to_owned(), output.to_owned());
    assert_eq!(
        all,
        [of("$ anabranch list \\\n    paths\n", "first\nsecond\n"), of("$ anabranch doctor\n", "")]
    );
}

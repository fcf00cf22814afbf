//! Code that a document quotes: a block of Rust whose first line is a comment with the name of a
//! file is what that file says, indentation apart. `// ...` stands for lines left out.

use crate::workspace::Source;

const OMITTED: &str = "// ...";

/// The blocks of Rust in `text` that name a file: its name, and the lines below.
fn quotes(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut quotes = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line != "```rust" {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let file = block.first().and_then(|line| line.strip_prefix("// crates/"));
        if let (Some(file), [_, quoted @ ..]) = (file, &block[..]) {
            quotes.push((file, quoted.to_vec()));
        }
    }
    quotes
}

/// Whether `part` stands in `source` as it is.
fn has(source: &Source, part: &[&str]) -> bool {
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    lines.windows(part.len().max(1)).any(|window| window == part)
}

/// What a document quotes and its file does not say.
pub(crate) fn complaints(text: &str, sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (file, quoted) in quotes(text) {
        let Some(source) = sources.iter().find(|s| s.path.strip_prefix("crates/") == Some(file))
        else {
            complaints.push(format!("there is no file crates/{file}"));
            continue;
        };
        for part in quoted.split(|line| *line == OMITTED).filter(|part| !part.is_empty()) {
            if !has(source, part) {
                complaints.push(format!("crates/{file} does not say `{}`", part.join("\n")));
            }
        }
    }
    complaints
}

#[test]
fn quotation_of_other_code_is_a_complaint() {
    let source = Source::new("crates/a/src/b.rs", "fn one() {\n    1;\n    2;\n}\n", false);
    let found = |block: &str| {
        let text = format!("Say:\n\n   ```rust\n   // crates/a/src/b.rs\n{block}\n   ```\n");
        complaints(&text, std::slice::from_ref(&source))
    };
    assert_eq!(found("   fn one() {\n       1;\n   // ...\n   }"), [""; 0]);
    assert_eq!(
        found("   fn one() {\n       2;"),
        ["crates/a/src/b.rs does not say `fn one() {\n2;`"]
    );
    let elsewhere = complaints("```rust\n// crates/a/src/c.rs\n1;\n```", &[]);
    assert_eq!(elsewhere, ["there is no file crates/a/src/c.rs"]);
    assert_eq!(complaints("```rust\nfn any() {}\n```", &[]), [""; 0], "names no file");
}

//! Every dependency of a crate is used by it.

use crate::workspace::Source;

/// Dependencies that no source of the crate in folder `name` mentions.
pub(crate) fn unused(name: &str, manifest: &str, sources: &[Source]) -> Vec<String> {
    let prefix = format!("crates/{name}/");
    let own: Vec<&Source> =
        sources.iter().filter(|s| s.is_rust() && s.path.starts_with(&prefix)).collect();
    let is_used = |dependency: &str| {
        let word = dependency.replace('-', "_");
        own.iter().any(|source| {
            crate::lexer::words(&source.code, &word).any(|at| {
                let rest = &source.code[at + word.len()..];
                rest.starts_with("::") || is_imported(&source.code[..at], rest)
            })
        })
    };
    declared(manifest)
        .filter(|dependency| !is_used(dependency))
        .map(|dependency| format!("crates/{name} does not use {dependency}"))
        .collect()
}

/// Whether `use` or `use ... as` has the word between these.
fn is_imported(before: &str, rest: &str) -> bool {
    before.trim_end().ends_with("use") && (rest.starts_with(';') || rest.starts_with(" as "))
}

/// The names in the tables of dependencies.
pub(crate) fn declared(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
            return None;
        }
        let name = line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty())?;
        (inside && !name.starts_with('#')).then_some(name)
    })
}

#[test]
fn dependency_that_nothing_mentions_is_a_complaint() {
    let manifest = "[dependencies]\nlibm.workspace = true\nserde = \"1\"\ntun-rs = \"2\"\n";
    let text = "// serde::Serialize\nuse libm;\nfn f() { tun_rs::open(); }\n";
    let source = Source::new("crates/x/src/lib.rs", text, false);
    assert_eq!(unused("x", manifest, &[source]), ["crates/x does not use serde"]);
}

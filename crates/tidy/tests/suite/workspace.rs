//! The files of the workspace, read once, and what each of them is.
//!
//! What `.gitignore` names is left out. Whether a source is product or test code follows from the
//! `mod` lines that lead to it; what no line leads to is dead.

use crate::lexer;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A text file.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the root, with `/`.
    pub path: String,
    pub text: String,
    /// A `.rs` file's text with comments and literals blanked; line for line as `text`.
    pub code: String,
    /// By line, from 0: part of a test.
    pub is_test: Vec<bool>,
}

impl Source {
    /// A file of this content; all of it test code if `is_test`.
    pub(crate) fn new(path: &str, text: &str, is_test: bool) -> Self {
        let code = if path.ends_with(".rs") { lexer::blank(text) } else { String::new() };
        let mut lines = vec![is_test; text.lines().count()];
        for (first, last) in lexer::test_modules(&code) {
            lines[first..=last].fill(true);
        }
        Source { path: path.to_owned(), text: text.to_owned(), code, is_test: lines }
    }

    /// Whether this is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The crate that this is product code of.
    pub(crate) fn product_of(&self) -> Option<&str> {
        let rest = self.path.strip_prefix("crates/")?;
        let (name, rest) = rest.split_once('/')?;
        (self.is_rust() && rest.starts_with("src/")).then_some(name)
    }

    /// Lines of code outside of tests, numbered from 1, comments and literals blanked.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().zip(&self.is_test).enumerate();
        lines.filter(|(_, (_, test))| !**test).map(|(index, (line, _))| (index + 1, line))
    }
}

/// Every text file.
pub(crate) struct Workspace {
    pub sources: Vec<Source>,
    reached: BTreeSet<String>,
}

impl Workspace {
    /// Read it from where this crate lies.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<PathBuf> =
            ignored.lines().map(|line| root.join(line.trim_matches('/'))).collect();
        let mut texts = BTreeMap::new();
        walk(&root, &root, &ignored, &mut texts);
        Workspace::of(&texts)
    }

    /// Of files by their paths.
    pub(crate) fn of(texts: &BTreeMap<String, String>) -> Self {
        let mut reached = BTreeMap::new();
        for root in texts.keys().filter(|path| is_root(path)) {
            let is_test = !root.contains("/src/");
            reach(texts, root, is_test, &mut reached);
        }
        let source = |(path, text): (&String, &String)| {
            Source::new(path, text, reached.get(path).copied().unwrap_or(false))
        };
        let sources = texts.iter().map(source).collect();
        Workspace { sources, reached: reached.into_keys().collect() }
    }

    /// Rust files that are part of nothing.
    pub(crate) fn dead_sources(&self) -> Vec<&str> {
        let paths = self.sources.iter().filter(|source| source.is_rust()).map(|s| s.path.as_str());
        paths.filter(|path| !self.reached.contains(*path)).collect()
    }

    /// The manifest of every crate: folder and text.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.iter().filter_map(|source| {
            let name = source.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some((name, source.text.as_str()))
        })
    }
}

/// Collect text files.
fn walk(root: &Path, at: &Path, ignored: &[PathBuf], texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(at).expect("a folder of the repository") {
        let path = entry.expect("an entry of it").path();
        if path.file_name().is_some_and(|name| name == ".git") || ignored.contains(&path) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, ignored, texts);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(root).expect("it lies below the root");
            texts.insert(name.to_string_lossy().replace('\\', "/"), text);
        }
    }
}

/// Whether cargo begins to compile here.
fn is_root(path: &str) -> bool {
    let Some((folder, file)) = path.rsplit_once('/') else { return false };
    let parent = folder.rsplit('/').next();
    let grandparent = folder.rsplit('/').nth(1);
    file == "lib.rs" && parent == Some("src")
        || file == "main.rs"
            && (parent == Some("src") || matches!(grandparent, Some("tests" | "examples")))
        || file == "build.rs" && grandparent == Some("crates")
        || file.ends_with(".rs") && matches!(parent, Some("examples" | "benches" | "fuzz_targets"))
        || file.ends_with(".rs") && folder.split('/').count() == 3 && parent == Some("tests")
}

/// Note `path` and every file that its `mod` lines lead to.
fn reach(
    texts: &BTreeMap<String, String>,
    path: &str,
    is_test: bool,
    reached: &mut BTreeMap<String, bool>,
) {
    let Some(text) = texts.get(path) else { return };
    reached.insert(path.to_owned(), is_test);
    let folder = folder_of_modules(path);
    for (name, behind_test) in lexer::modules(&lexer::blank(text)) {
        for child in [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")] {
            reach(texts, &child, is_test || behind_test, reached);
        }
    }
    for place in text.lines().filter_map(path_attribute) {
        reach(texts, &beside(path, place), is_test, reached);
    }
}

/// Where a module lies that is not where its name says.
fn path_attribute(line: &str) -> Option<&str> {
    line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")
}

/// A place relative to the folder of a file.
fn beside(path: &str, place: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in place.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Where the modules of a file lie: beside a root or a `mod.rs`, else in the folder of its name.
fn folder_of_modules(path: &str) -> &str {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if is_root(path) || file == "mod.rs" { folder } else { path.trim_end_matches(".rs") }
}

#[test]
fn files_behind_test_modules_are_tests_and_orphans_are_dead() {
    let texts = [
        ("crates/a/src/lib.rs", "mod used;\n#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/used.rs", "mod inner;\n"),
        ("crates/a/src/used/inner.rs", ""),
        ("crates/a/src/tests.rs", "fn f() {}\n"),
        ("crates/a/src/orphan.rs", ""),
        ("crates/a/tests/suite/main.rs", "#[path = \"../support/mod.rs\"]\nmod support;\n"),
        ("crates/a/tests/support/mod.rs", "mod world;\n"),
        ("crates/a/tests/support/world.rs", "fn g() {}\n"),
    ];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let workspace = Workspace::of(&texts);
    assert_eq!(workspace.dead_sources(), ["crates/a/src/orphan.rs"]);
    let tests: Vec<_> = workspace.sources.iter().filter(|s| s.is_test.contains(&true)).collect();
    let tests: Vec<&str> = tests.iter().map(|source| source.path.as_str()).collect();
    let shared = "crates/a/tests/support/world.rs";
    assert!(tests.contains(&"crates/a/src/tests.rs") && tests.contains(&shared), "{tests:?}");
}

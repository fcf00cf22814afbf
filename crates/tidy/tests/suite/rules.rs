//! One function a rule: a file goes in, findings come out.

use crate::lexer;
use crate::workspace::Source;

/// Something that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    /// From 1.
    pub line: usize,
    pub what: String,
}

/// A rule.
pub(crate) type Rule = fn(&Source) -> Vec<Finding>;

/// Widest line, in characters.
const MAX_COLUMNS: usize = 100;
/// Longest function, signature and closing brace included.
const MAX_FUNCTION: usize = 70;
/// Longest file of product code, its tests included.
const MAX_FILE: usize = 900;
/// Crates that time and chance come into as arguments.
const ENGINE: [&str; 7] =
    ["base", "wire", "transport", "network", "traffic", "harness", "simulator"];
/// The one place that looks packets' sockets up; a hash map there is never walked.
const LOOKED_UP: &str = "crates/transport/src/stack/addressing.rs";

fn finding(line: usize, what: impl Into<String>) -> Finding {
    Finding { line, what: what.into() }
}

/// One finding for every product line of the crates chosen that has one of `texts`.
fn banned(
    source: &Source,
    chosen: impl Fn(&str) -> bool,
    texts: &[&str],
    why: &str,
) -> Vec<Finding> {
    if !source.product_of().is_some_and(chosen) {
        return Vec::new();
    }
    let in_line = |(line, code): (usize, &str)| {
        let text = texts.iter().find(|text| code.contains(**text))?;
        Some(finding(line, format!("`{text}`: {why}")))
    };
    source.product_lines().filter_map(in_line).collect()
}

/// Whether that crate is one of these.
pub(crate) fn is_engine(name: &str) -> bool {
    ENGINE.contains(&name)
}

/// A file says first what it does and what it leaves to others.
pub(crate) fn module_comment(source: &Source) -> Vec<Finding> {
    if !source.is_rust() || source.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![finding(1, "begin with a `//!` comment: what the file does, what it leaves to others")]
}

/// 100 columns.
pub(crate) fn columns(source: &Source) -> Vec<Finding> {
    if !source.is_rust() {
        return Vec::new();
    }
    let lines = source.text.lines().map(|line| line.chars().count()).enumerate();
    lines
        .filter(|(_, width)| *width > MAX_COLUMNS)
        .map(|(index, width)| finding(index + 1, format!("{width} columns")))
        .collect()
}

/// 70 lines.
pub(crate) fn function_length(source: &Source) -> Vec<Finding> {
    let functions = lexer::functions(&source.code).into_iter();
    functions
        .map(|(first, last)| (first + 1, last - first + 1))
        .filter(|(_, len)| *len > MAX_FUNCTION)
        .map(|(line, len)| finding(line, format!("a function of {len} lines")))
        .collect()
}

/// 900 lines.
pub(crate) fn file_length(source: &Source) -> Vec<Finding> {
    let len = source.text.lines().count();
    if source.product_of().is_none() || len <= MAX_FILE || source.is_test[0] {
        return Vec::new();
    }
    vec![finding(MAX_FILE + 1, format!("{len} lines"))]
}

/// `unwrap` and `expect` stand only where a comment within three lines proves them.
pub(crate) fn unwrap(source: &Source) -> Vec<Finding> {
    if source.product_of().is_none() {
        return Vec::new();
    }
    let text: Vec<&str> = source.text.lines().collect();
    let is_proved = |line: usize| {
        let comment = |line: &&str| line.contains("// ") && !line.trim_start().starts_with("///");
        text[line.saturating_sub(4)..line].iter().any(comment)
    };
    // A message tells `Option::expect` from a parser's own `expect`.
    let expects = |line: usize| {
        let text = text[line - 1];
        [".expect(\"", ".expect(&"].iter().any(|call| text.contains(call))
            || text.ends_with(".expect(")
    };
    source
        .product_lines()
        .filter(|(line, code)| {
            code.contains(".unwrap()") || code.contains(".expect(") && expects(*line)
        })
        .filter(|(line, _)| !is_proved(*line))
        .map(|(line, _)| finding(line, "say in a comment why this cannot fail, or return an error"))
        .collect()
}

/// Engine crates use the part of `std` that needs no operating system: with these modules alone
/// they can open no file or socket, start no thread and read no clock.
pub(crate) fn outer_world(source: &Source) -> Vec<Finding> {
    const WHY: &str = "time, chance and data come into the engine as arguments";
    let mut found = banned(
        source,
        is_engine,
        &["Instant::now", "SystemTime", "stdin", "stdout", "stderr"],
        WHY,
    );
    if source.product_of().is_some_and(is_engine) {
        found.extend(source.product_lines().flat_map(|(line, code)| {
            let foreign = std_paths(code).filter(|path| !is_without_system(path));
            foreign.map(move |path| finding(line, format!("`std::{path}`: {WHY}")))
        }));
    }
    found
}

/// What follows every `std::` of a line.
fn std_paths(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("std::").map(|(at, found)| {
        let path = &code[at + found.len()..];
        let is_path = |c: char| c.is_alphanumeric() || "_:{}, ".contains(c);
        path.split_once(|c| !is_path(c)).map_or(path, |(path, _)| path)
    })
}

/// Whether a path below `std` is there without an operating system. `io` is for the traits of
/// readers and writers, whose files are opened elsewhere.
fn is_without_system(path: &str) -> bool {
    const MODULES: [&str; 26] = [
        "any",
        "array",
        "borrow",
        "cell",
        "char",
        "cmp",
        "collections",
        "convert",
        "default",
        "error",
        "fmt",
        "hash",
        "hint",
        "io",
        "iter",
        "marker",
        "mem",
        "num",
        "ops",
        "ptr",
        "rc",
        "slice",
        "str",
        "string",
        "sync",
        "vec",
    ];
    const PRIMITIVES: [&str; 7] = ["array", "f64", "u8", "u16", "u32", "u64", "usize"];
    let (module, rest) = path.split_once("::").unwrap_or((path, ""));
    let module = module.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
    if module == "net" {
        let is_address = |name: &str| name.trim().is_empty() || name.contains("Addr");
        let names = rest.strip_prefix('{').unwrap_or(rest.split("::").next().unwrap_or(rest));
        return names.split(|c: char| !c.is_alphanumeric()).all(is_address);
    }
    MODULES.contains(&module) || PRIMITIVES.contains(&module)
}

/// Walking a hash map is chance without a key.
pub(crate) fn hash_map(source: &Source) -> Vec<Finding> {
    let words: &[&str] = if source.path == LOOKED_UP {
        &["std::collections::HashMap", "HashSet"]
    } else {
        &["HashMap", "HashSet"]
    };
    banned(source, is_engine, words, "use a Vec, a BTreeMap or an index")
}

/// Transcendental functions of platforms differ in their last bits, results may not.
pub(crate) fn mathematics(source: &Source) -> Vec<Finding> {
    let words = [
        ".ln()",
        ".ln_1p()",
        ".log2()",
        ".log10()",
        ".exp()",
        ".exp2()",
        ".exp_m1()",
        ".powf(",
        ".powi(",
        ".cbrt()",
        ".hypot(",
        ".sin()",
        ".cos()",
        ".tan()",
        ".atan2(",
    ];
    let chosen = |name: &str| is_engine(name) || name == "lab";
    banned(source, chosen, &words, "differs between platforms; take it from libm")
}

/// What is left behind while working.
pub(crate) fn leftovers(source: &Source) -> Vec<Finding> {
    let mut found = banned(
        source,
        |_| true,
        &["todo!", "unimplemented!", "dbg!"],
        "finish it, or leave it out",
    );
    let prints = ["println!", "print!", "eprintln!", "eprint!"];
    let is_library = |name: &str| name != "cli";
    found.extend(banned(source, is_library, &prints, "a library returns what it has to say"));
    found
}

/// Nothing here depends on where somebody works on it.
pub(crate) fn absolute_path(source: &Source) -> Vec<Finding> {
    let places = ["work", "root", "home"].map(|folder| format!("/{folder}"));
    find_texts(source, |line| {
        places.iter().find(|place| {
            line.match_indices(place.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + place.len()..].chars().next();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-}/*".contains(c))
                    && !after.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c))
            })
        })
    })
}

/// Where packages come from is a setting of a machine; lock files name the public index.
pub(crate) fn registry(source: &Source) -> Vec<Finding> {
    let dot = '.';
    let hosts = [("crates", "io"), ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org")];
    let hosts = hosts.map(|(name, end)| format!("{name}{dot}{end}"));
    let index = format!("source = \"registry+https://github.com/rust-lang/{}-index\"", hosts[0]);
    find_texts(source, |line| {
        let is_lock = source.path.ends_with("Cargo.lock");
        if is_lock && line.starts_with("source = ") && line != index {
            return Some(&hosts[0]);
        }
        hosts.iter().find(|host| line.contains(host.as_str()) && !(is_lock && line == index))
    })
}

fn find_texts<'a>(
    source: &Source,
    mut found: impl FnMut(&str) -> Option<&'a String>,
) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    lines.filter_map(|(at, line)| Some(finding(at + 1, format!("`{}`", found(line)?)))).collect()
}

#[test]
fn each_rule_finds_what_it_forbids() {
    let lines = |rule: Rule, text: &str| -> Vec<usize> {
        let source = Source::new("crates/base/src/x.rs", text, false);
        rule(&source).iter().map(|finding| finding.line).collect()
    };
    assert_eq!(lines(module_comment, "use a;\n"), [1]);
    assert_eq!(lines(columns, &format!("//! x\n{}\n", "x".repeat(101))), [2]);
    let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(70));
    assert_eq!(lines(function_length, &long), [1]);
    assert_eq!(lines(file_length, &"\n".repeat(901)), [901]);
    assert_eq!(lines(unwrap, "a.unwrap();\nb.expect(\"x\");\nc.expect('[')?;\n"), [1, 2]);
    assert_eq!(lines(unwrap, "// Proved.\nb.unwrap();\n"), []);
    assert_eq!(lines(unwrap, "#[cfg(test)]\nmod tests {\n    fn f() { a.unwrap(); }\n}\n"), []);
    assert_eq!(lines(outer_world, "let t = Instant::now(); // Instant::now\n// SystemTime\n"), [1]);
    let paths = [
        "use std::fs;",
        "use std::net::{IpAddr, SocketAddr};",
        "use std::net::{IpAddr, UdpSocket};",
        "std::thread::spawn(f);",
        "use std::{fmt, env};",
        "let a = std::mem::take(&mut b);",
        "use std::io::{self, Read};",
        "io::stdout().flush()?;",
        "use std::io::{Read, stdin};",
    ];
    let mut outer = lines(outer_world, &paths.join("\n"));
    outer.sort_unstable();
    assert_eq!(outer, [1, 3, 4, 5, 8, 9]);
    assert_eq!(lines(hash_map, "let m: FxHashMap<u8, u8>;\n"), [1]);
    assert_eq!(lines(mathematics, "x.sqrt();\nx.powf(0.5);\n"), [2]);
    assert_eq!(lines(leftovers, "todo!();\nprintln!();\n\"println!\";\n"), [1, 2]);
    let place = format!("/{}", "root");
    assert_eq!(lines(absolute_path, &format!("a{place}\n\"{place}/x\"\n{place}s\n")), [2]);
    assert_eq!(lines(registry, &format!("https://crates{}io/x\n", '.')), [1]);
}

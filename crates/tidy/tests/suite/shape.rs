//! How large the parts of the engine may be: fields of a struct, files with an `impl` of a type,
//! names at the root of a crate, and how densely invariants are asserted.
//!
//! Parameters of functions are clippy's (`clippy.toml`), lines of functions and files `rules`'.

use crate::lexer;
use crate::workspace::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Most fields of a struct of an engine crate.
const MAX_FIELDS: usize = 20;
/// Of these, most `bool`s: more are the states of a machine that nobody wrote down.
const MAX_BOOLS: usize = 4;
/// Most files with an `impl` of one type of `transport`.
const MAX_IMPL_FILES: usize = 4;
/// Most names at the root of a crate.
const MAX_ROOT_NAMES: usize = 40;
/// Least debug assertions in 1,000 product lines of the folders below.
const MIN_ASSERTS: f64 = 3.0;
/// Folders of `transport` whose invariants are asserted where they must hold.
const ASSERTING: [&str; 5] = ["tcp", "mptcp", "multipath", "recovery", "buffer"];

/// A struct with named fields.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    name: String,
    fields: usize,
    bools: usize,
}

/// Structs of the engine that are too large.
pub(crate) fn large_structs(sources: &[Source]) -> Vec<String> {
    let engine = sources.iter().filter(|source| source.product_of().is_some_and(crate::is_engine));
    engine
        .flat_map(|source| {
            let shapes = structs(&product_code(source)).into_iter();
            let large = shapes.filter(|s| s.fields > MAX_FIELDS || s.bools > MAX_BOOLS);
            large.map(|Shape { name, fields, bools }| {
                format!("{}: {name} has {fields} fields, {bools} of them bool", source.path)
            })
        })
        .collect()
}

/// Types of `transport` whose `impl` blocks are in too many files: types of one name below one
/// folder of `src` are one type.
pub(crate) fn scattered_impls(sources: &[Source]) -> Vec<String> {
    let mut files: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.product_of() == Some("transport")) {
        let Some(folder) = source.path.split('/').nth(3) else { continue };
        for name in implemented(&product_code(source)) {
            files.entry((folder.to_owned(), name)).or_default().insert(&source.path);
        }
    }
    let scattered = files.into_iter().filter(|(_, files)| files.len() > MAX_IMPL_FILES);
    scattered
        .map(|((folder, name), files)| {
            format!("transport, {folder}: impl {name} in {} files", files.len())
        })
        .collect()
}

/// Crates with too many names at their root.
pub(crate) fn crowded_roots(sources: &[Source]) -> Vec<String> {
    let is_root = |source: &&Source| {
        source.path.starts_with("crates/") && source.path.ends_with("/src/lib.rs")
    };
    let counted = sources.iter().filter(is_root).map(|s| (&s.path, root_names(&product_code(s))));
    counted
        .filter(|(_, names)| *names > MAX_ROOT_NAMES)
        .map(|(path, names)| format!("{path}: {names} public names"))
        .collect()
}

/// Folders that state too few invariants.
pub(crate) fn unasserted(sources: &[Source]) -> Vec<String> {
    let density = |folder: &&str| {
        let prefix = format!("crates/transport/src/{folder}/");
        let inside = sources.iter().filter(|source| source.path.starts_with(&prefix));
        let (mut lines, mut asserts) = (0, 0);
        for (_, code) in inside.flat_map(Source::product_lines) {
            lines += usize::from(!code.trim().is_empty());
            asserts += code.matches("debug_assert").count();
        }
        asserts as f64 * 1000.0 / lines.max(1) as f64
    };
    let sparse = ASSERTING.iter().map(|folder| (folder, density(folder)));
    sparse
        .filter(|(_, density)| *density < MIN_ASSERTS)
        .map(|(folder, density)| format!("{folder}: {density:.1} assertions in 1,000 lines"))
        .collect()
}

/// Product lines, with comments and literals blanked.
fn product_code(source: &Source) -> String {
    source.product_lines().map(|(_, line)| format!("{line}\n")).collect()
}

/// Every struct with named fields.
fn structs(code: &str) -> Vec<Shape> {
    let shape = |at: usize| {
        let rest = &code[at + "struct".len()..];
        let open = rest.find(['{', ';', '('])?;
        let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric()).collect();
        let body = rest[open..].strip_prefix('{')?;
        let fields = fields(body);
        let bools = fields.iter().filter(|field| field.ends_with(": bool")).count();
        Some(Shape { name, fields: fields.len(), bools })
    };
    lexer::words(code, "struct").filter_map(shape).collect()
}

/// The fields in the body of a struct, up to the bracket that closes it.
fn fields(body: &str) -> Vec<String> {
    let (mut depth, mut field, mut fields) = (0, String::new(), Vec::new());
    let mut before = ' ';
    for c in body.chars() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before != '-' => depth -= 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        before = c;
        if depth < 0 {
            break;
        }
        if depth == 0 && c == ',' {
            fields.push(std::mem::take(&mut field));
        } else if depth == 0 {
            field.push(c);
        }
    }
    fields.push(field);
    let fields = fields.into_iter().map(|field| field.trim().to_owned());
    fields.filter(|field| field.contains(": ")).collect()
}

/// The types that have an `impl` at the left margin.
fn implemented(code: &str) -> Vec<String> {
    let named = |line: &str| {
        let rest = line.strip_prefix("impl")?;
        let rest = if rest.starts_with('<') { behind_generics(rest)? } else { rest };
        let head = rest.split(" where").next()?.split('{').next()?;
        let of = head.rsplit_once(" for ").map_or(head, |(_, of)| of);
        let path = of.trim().trim_start_matches('&').split('<').next()?;
        path.rsplit("::").next().map(str::to_owned)
    };
    code.lines().filter_map(named).collect()
}

/// What follows the generic parameters that `text` begins with.
fn behind_generics(text: &str) -> Option<&str> {
    let mut depth = 0;
    let end = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0
    });
    end.map(|(at, _)| &text[at + 1..])
}

/// Public items at the left margin, every name of a list by itself.
fn root_names(code: &str) -> usize {
    let mut names = 0;
    for (at, _) in code.match_indices("\npub ") {
        let item = code[at + 1..].split(';').next().unwrap_or_default();
        names += match item.strip_prefix("pub use ") {
            Some(list) if list.contains('{') => {
                list.split(',').filter(|name| name.chars().any(char::is_alphanumeric)).count()
            }
            _ => 1,
        };
    }
    names
}

#[test]
fn fields_and_bools_are_counted() {
    let code = "pub struct A<T> {\n    a: bool,\n    pub(super) b: Vec<(u8, bool)>,\n    \
                f: fn(u8) -> u8,\n}\nstruct B;\nstruct C(u8, bool);\nstruct D { only: bool }\n";
    let shape = |name: &str, fields, bools| Shape { name: name.to_owned(), fields, bools };
    assert_eq!(structs(code), [shape("A", 3, 1), shape("D", 1, 1)]);
    let many: String = (0..21).map(|n| format!("    f{n}: u8,\n")).collect();
    let flags: String = (0..5).map(|n| format!("    f{n}: bool,\n")).collect();
    let text = format!("struct Many {{\n{many}}}\nstruct Flags {{\n{flags}}}\n");
    let found = large_structs(&[Source::new("crates/network/src/x.rs", &text, false)]);
    assert_eq!(
        found,
        [
            "crates/network/src/x.rs: Many has 21 fields, 0 of them bool",
            "crates/network/src/x.rs: Flags has 5 fields, 5 of them bool"
        ]
    );
}

#[test]
fn impl_in_five_files_below_a_folder_is_a_finding() {
    let texts = [
        "impl A {",
        "impl<T: B<u8>> C<T> for A {",
        "impl fmt::Debug for &A {",
        "impl A",
        "impl b::A<u8> {",
    ];
    let files = ["a.rs", "a/b.rs", "a/c.rs", "d/e.rs", "f.rs"];
    let source = |(n, text): (usize, &&str)| {
        Source::new(&format!("crates/transport/src/tcp/{}", files[n]), text, false)
    };
    let sources: Vec<Source> = texts.iter().enumerate().map(source).collect();
    assert_eq!(scattered_impls(&sources), ["transport, tcp: impl A in 5 files"]);
    assert!(scattered_impls(&sources[1..]).is_empty());
}

#[test]
fn names_at_a_root_are_counted_in_lists_too() {
    let code =
        "//! x\npub mod a;\nmod b;\npub use b::{C, D,\n    E};\npub use b::F;\npub fn g() {}\n";
    assert_eq!(root_names(code), 6);
}

#[test]
fn folder_without_assertions_is_a_finding() {
    let line = |text: &str| Source::new("crates/transport/src/tcp/x.rs", text, false);
    let found = |text: &str| unasserted(&[line(text)]).iter().any(|f| f.starts_with("tcp"));
    assert!(found("a;\nb;\n"));
    assert!(!found("a;\ndebug_assert!(b);\n"));
    assert!(found("a;\n#[cfg(test)]\nmod tests {\n    fn f() { debug_assert!(b); }\n}\n"));
}

//! Which module of a crate may use which: inside a crate, too, a part only calls what is below it.
//!
//! An order for each crate that has one, from below to above. A module uses itself and the modules
//! before it; tests may use anything.

use crate::workspace::Source;
use std::collections::BTreeSet;

/// The modules of a crate, the lowest first.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "transport",
        &[
            "account",
            "buffer",
            "routes",
            "parameters",
            "choice",
            "recovery",
            "congestion",
            "reinjection",
            "scheduler",
            "path_policy",
            "multipath",
            "path_manager",
            "info",
            "socket",
            "endpoint",
            "sctp",
            "tcp",
            "mptcp",
            "stack",
        ],
    ),
    (
        "lab",
        &[
            "words",
            "built_in",
            "error",
            "units",
            "statistics",
            "quantity",
            "analyze",
            "traffic_source",
            "web_page",
            "conversation",
            "path_spec",
            "traffic_spec",
            "scenario",
            "run",
            "failover",
            "fairness",
            "kept",
            "blocking",
            "study",
            "setup",
            "delays",
            "packet_metrics",
            "series",
            "repetition",
            "decisions",
            "stack",
            "unseen",
            "comparison",
            "summary",
            "reference",
            "goal",
            "answer",
            "stopping",
            "coverage",
            "advice",
            "verdict",
            "report",
            "results",
            "execution",
            "emulation",
            "validation",
            "reproduction",
        ],
    ),
    (
        "cli",
        &[
            "exit",
            "output",
            "by_hand",
            "columns",
            "progress",
            "cost",
            "list",
            "meanings",
            "why",
            "fairness",
            "metrics",
            "packets",
            "table",
            "options",
            "args",
            "report",
            "figures",
            "save",
            "doctor",
            "man",
            "analyze",
            "explain",
            "live",
            "run",
            "stored",
            "compare",
            "matrix",
            "reproduce",
            "emulate",
            "validate",
            "command",
            "help",
        ],
    ),
];

/// What is wrong with the arrows between the modules of the crates in the table.
pub(crate) fn complaints(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, order) in ORDERS {
        found.extend(judge(name, order, &arrows(name, sources)));
    }
    found
}

fn judge(name: &str, order: &[&str], arrows: &BTreeSet<(String, String)>) -> Vec<String> {
    let mut found = Vec::new();
    let place = |module: &str| order.iter().position(|known| *known == module);
    for (from, to) in arrows.iter().filter(|(from, to)| from != to) {
        match (place(from), place(to)) {
            (None, _) => found.push(format!("crates/{name}: enter `{from}` in the order")),
            (_, None) if to.starts_with(char::is_lowercase) => {
                found.push(format!("crates/{name}: enter `{to}` in the order"));
            }
            (_, None) => {
                found.push(format!("crates/{name}: `{from}` uses {to}: name the module it is in"));
            }
            (Some(a), Some(b)) if b >= a => {
                found.push(format!("crates/{name}: `{from}` uses `{to}`, which is above it"));
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Which top module uses which, tests left out.
fn arrows(name: &str, sources: &[Source]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for source in sources.iter().filter(|source| source.product_of() == Some(name)) {
        let Some(module) = top_module(&source.path) else { continue };
        let lines: Vec<&str> = source.product_lines().map(|(_, line)| line).collect();
        for used in used(&lines.join("\n")) {
            found.insert((module.to_owned(), used.to_owned()));
        }
    }
    found
}

/// `scheduler` of `crates/transport/src/scheduler/lrf.rs`; `None` of a crate's root.
fn top_module(path: &str) -> Option<&str> {
    let (_, inside) = path.split_once("/src/")?;
    let top = inside.split('/').next()?;
    let module = top.strip_suffix(".rs").unwrap_or(top);
    (!matches!(module, "lib" | "main")).then_some(module)
}

/// The names that follow `crate::` directly.
fn used(code: &str) -> Vec<&str> {
    const ROOT: &str = "crate::";
    let mut names = Vec::new();
    for (at, _) in code.match_indices(ROOT) {
        let rest = &code[at + ROOT.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(items(list)),
            None => names.push(identifier(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The first name of each item of a list in braces, whose opening brace is gone.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut begins) = (0_u32, 0);
    let mut names = Vec::new();
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                names.push(identifier(list[begins..at].trim_start()));
                begins = at + 1;
                if letter == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn names_after_the_root_are_found_in_paths_and_lists() {
    let code = "use crate::{a::{B, C}, d};\nuse crate::e::F;\nfn f() -> crate::g::H {}\n";
    assert_eq!(used(code), ["a", "d", "e", "g"]);
    assert_eq!(top_module("crates/x/src/a/b.rs"), Some("a"));
    assert_eq!(top_module("crates/x/src/lib.rs"), None);
}

#[test]
fn arrow_upwards_and_unknown_module_are_complaints() {
    let sources = |text: &str| [Source::new("crates/x/src/low.rs", text, false)];
    let found = |text: &str| judge("x", &["low", "high"], &arrows("x", &sources(text)));
    assert_eq!(found("use crate::high::A;\n"), ["crates/x: `low` uses `high`, which is above it"]);
    assert_eq!(found("use crate::low::A;\n"), [""; 0]);
    let inside_tests = "#[cfg(test)]\nmod tests {\n    use crate::high::A;\n}\n";
    assert_eq!(found(inside_tests), [""; 0]);
    assert_eq!(found("use crate::new::A;\n"), ["crates/x: enter `new` in the order"]);
}

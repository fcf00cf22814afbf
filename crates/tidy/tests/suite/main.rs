//! The rules of the house that a program can check, held against every file of the workspace.
//!
//! What the compiler, clippy and rustfmt check is left to them. A rule is a function from a file
//! to its findings, in `rules`; `exceptions` is the list of what is forgiven, which may only
//! shrink: a finding that is neither mended nor listed fails, and so does an entry that forgives
//! more than there is.

mod adding;
mod arrows;
mod citations;
mod dependencies;
mod exceptions;
mod floors;
mod lexer;
mod named_tests;
mod places;
mod quotes;
mod rules;
mod shape;
mod workspace;

use exceptions::EXCEPTIONS;
use rules::{Finding, Rule, is_engine};
use std::sync::LazyLock;
use workspace::Workspace;

static WORKSPACE: LazyLock<Workspace> = LazyLock::new(Workspace::read);

/// Fails unless every file keeps `rule`, exceptions apart.
fn hold(name: &str, rule: Rule) {
    let mut complaints = Vec::new();
    for source in &WORKSPACE.sources {
        let found = rule(source);
        let forgiven = EXCEPTIONS
            .iter()
            .find(|(forgiven, path, _)| *forgiven == name && *path == source.path)
            .map_or(0, |(_, _, most)| *most);
        complaints.extend(judge(&source.path, &found, forgiven));
    }
    assert!(complaints.is_empty(), "{name}:\n{}", complaints.join("\n"));
}

/// What is to be said about a file with these findings, `forgiven` of which are excepted.
fn judge(path: &str, found: &[Finding], forgiven: usize) -> Vec<String> {
    if found.len() < forgiven {
        let most = found.len();
        return vec![format!(
            "  {path}: lower its entry in exceptions.rs from {forgiven} to {most}"
        )];
    }
    if found.len() == forgiven {
        return Vec::new();
    }
    found.iter().map(|finding| format!("  {path}:{}: {}", finding.line, finding.what)).collect()
}

#[test]
fn every_file_begins_with_a_module_comment() {
    hold("module comment", rules::module_comment);
}

#[test]
fn no_line_is_wider_than_100_columns() {
    hold("columns", rules::columns);
}

#[test]
fn no_function_is_longer_than_70_lines() {
    hold("function length", rules::function_length);
}

#[test]
fn no_product_file_is_longer_than_900_lines() {
    hold("file length", rules::file_length);
}

#[test]
fn every_unwrap_outside_of_tests_says_why_it_cannot_fail() {
    hold("unwrap", rules::unwrap);
}

#[test]
fn engine_never_reaches_for_the_outer_world() {
    hold("outer world", rules::outer_world);
}

#[test]
fn engine_has_no_hash_map_to_walk() {
    hold("hash map", rules::hash_map);
}

#[test]
fn mathematics_of_results_is_portable() {
    hold("mathematics", rules::mathematics);
}

#[test]
fn libraries_have_no_leftovers() {
    hold("leftovers", rules::leftovers);
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    hold("absolute path", rules::absolute_path);
}

#[test]
fn no_file_names_a_package_registry() {
    hold("registry", rules::registry);
}

#[test]
fn every_source_is_reached_by_a_mod_line() {
    let dead = WORKSPACE.dead_sources();
    assert!(dead.is_empty(), "no `mod` line leads to: {}", dead.join(", "));
}

#[test]
fn floors_only_call_down() {
    let complaints: Vec<String> =
        WORKSPACE.manifests().flat_map(|(name, text)| floors::complaints(name, text)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn modules_only_use_what_is_below_them() {
    let complaints = arrows::complaints(&WORKSPACE.sources);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_dependency_is_used() {
    let unused = |(name, text)| dependencies::unused(name, text, &WORKSPACE.sources);
    let complaints: Vec<String> = WORKSPACE.manifests().flat_map(unused).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn structs_of_the_engine_are_small() {
    let large = shape::large_structs(&WORKSPACE.sources);
    assert!(large.is_empty(), "{}", large.join("\n"));
}

#[test]
fn types_of_transport_are_implemented_in_few_files() {
    let scattered = shape::scattered_impls(&WORKSPACE.sources);
    assert!(scattered.is_empty(), "{}", scattered.join("\n"));
}

#[test]
fn roots_of_crates_have_few_names() {
    let crowded = shape::crowded_roots(&WORKSPACE.sources);
    assert!(crowded.is_empty(), "{}", crowded.join("\n"));
}

#[test]
fn transport_asserts_its_invariants() {
    let sparse = shape::unasserted(&WORKSPACE.sources);
    assert!(sparse.is_empty(), "{}", sparse.join("\n"));
}

#[test]
fn citations_lead_somewhere() {
    hold("citations", citations::citations);
}

#[test]
fn tests_named_in_the_table_of_threats_exist() {
    let is_table = |source: &&workspace::Source| source.path == "docs/security.md";
    let table = WORKSPACE.sources.iter().find(is_table).expect("the table of threats");
    let complaints = named_tests::complaints(&table.text, &WORKSPACE.sources);
    assert!(complaints.is_empty(), "docs/security.md: {}", complaints.join("; "));
    let lines = table.text.lines().filter(|line| line.starts_with("| ") && line.contains("::"));
    assert!(lines.count() > 20, "the table lost its tests");
}

#[test]
fn documents_name_files_that_exist() {
    let documents = WORKSPACE.sources.iter().filter(|source| places::is_document(source));
    let complaints: Vec<String> =
        documents.flat_map(|page| places::complaints(page, &WORKSPACE.sources)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn contributing_quotes_what_compiles() {
    let guide = WORKSPACE.sources.iter().find(|source| source.path == "CONTRIBUTING.md");
    let text = &guide.expect("the guide for contributors").text;
    let complaints = quotes::complaints(text, &WORKSPACE.sources);
    assert!(complaints.is_empty(), "CONTRIBUTING.md: {}", complaints.join("; "));
    let named = text.lines().filter(|line| line.trim().starts_with("// crates/"));
    assert!(named.count() >= 3, "the guide lost its example");
}

#[test]
fn additions_touch_what_contributing_says() {
    let guide = WORKSPACE.sources.iter().find(|source| source.path == "CONTRIBUTING.md");
    let text = &guide.expect("the guide for contributors").text;
    let complaints = adding::complaints(text, &WORKSPACE.sources);
    assert!(complaints.is_empty(), "CONTRIBUTING.md:\n{}", complaints.join("\n"));
    assert!(adding::count(text) >= 5, "the guide lost its table");
}

#[test]
fn exceptions_name_files_that_exist() {
    for (rule, path, most) in EXCEPTIONS {
        assert!(*most > 0, "{rule}, {path}: strike it");
        let known = WORKSPACE.sources.iter().any(|source| source.path == *path);
        assert!(known, "{rule}, {path}: there is no such file, strike it");
    }
}

#[test]
fn exception_that_forgives_too_much_is_a_complaint() {
    let finding = || Finding { line: 3, what: "odd".into() };
    assert!(judge("a.rs", &[], 0).is_empty());
    assert!(judge("a.rs", &[finding()], 1).is_empty());
    assert_eq!(judge("a.rs", &[finding()], 0), ["  a.rs:3: odd"]);
    assert_eq!(judge("a.rs", &[], 1), ["  a.rs: lower its entry in exceptions.rs from 1 to 0"]);
}

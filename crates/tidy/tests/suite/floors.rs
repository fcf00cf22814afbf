//! Which crate may depend on which: the house in `docs/architecture.md`. A floor only calls down,
//! and the engine uses no crate of others that reaches for the operating system.

use crate::dependencies;

/// Every crate and the floors below it that it may use, development included.
const FLOORS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("wire", &["base"]),
    ("transport", &["base", "wire"]),
    ("network", &["base", "wire"]),
    ("traffic", &["base", "wire"]),
    ("harness", &["base", "wire", "transport", "network", "traffic"]),
    ("simulator", &["base", "wire", "transport", "network", "traffic", "harness"]),
    ("linux", &["base", "wire", "transport", "network", "traffic", "harness"]),
    ("lab", &["base", "wire", "transport", "network", "traffic", "harness", "simulator", "linux"]),
    (
        "cli",
        &[
            "base",
            "wire",
            "transport",
            "network",
            "traffic",
            "harness",
            "simulator",
            "linux",
            "lab",
        ],
    ),
    ("tidy", &[]),
];

/// Crates of others that engine crates may use: none opens a file or socket, reads a clock or draws
/// random numbers. The last two are for tests and examples.
const ENGINE_USES: [&str; 11] = [
    "bytes",
    "crc32c",
    "hmac",
    "libm",
    "prefetch-index",
    "rustc-hash",
    "sha1",
    "sha2",
    "thiserror",
    "mimalloc",
    "proptest",
];

/// What is wrong with the manifest of the crate in this folder.
pub(crate) fn complaints(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, below)) = FLOORS.iter().find(|(floor, _)| *floor == name) else {
        return vec![format!("crates/{name}: enter it in the table of floors")];
    };
    let is_floor = |name: &&str| FLOORS.iter().any(|(floor, _)| floor == name);
    let is_allowed = |dependency: &&str| {
        if is_floor(dependency) {
            below.contains(dependency)
        } else {
            !crate::is_engine(name) || ENGINE_USES.contains(dependency)
        }
    };
    let mut found: Vec<String> = dependencies::declared(manifest)
        .map(|dependency| dependency.strip_prefix("anabranch-").unwrap_or(dependency))
        .filter(|dependency| !is_allowed(dependency))
        .map(|dependency| format!("crates/{name} may not depend on {dependency}"))
        .collect();
    if !manifest.contains("[lints]\nworkspace = true") {
        found.push(format!("crates/{name} does not take the workspace's lints"));
    }
    found
}

#[test]
fn dependency_upwards_is_a_complaint() {
    let manifest = "[dependencies]\nbase.workspace = true\nlibm = \"0.2\"\n\
                    [dev-dependencies]\nlab.workspace = true\n[lints]\nworkspace = true\n";
    assert_eq!(complaints("wire", manifest), ["crates/wire may not depend on lab"]);
    assert!(complaints("cli", manifest).is_empty());
    let manifest = "[dependencies]\nlibm = \"0.2\"\nrand = \"0.9\"\n[lints]\nworkspace = true\n";
    assert_eq!(complaints("wire", manifest), ["crates/wire may not depend on rand"]);
    assert!(complaints("lab", manifest).is_empty());
    assert_eq!(complaints("attic", manifest).len(), 1);
}

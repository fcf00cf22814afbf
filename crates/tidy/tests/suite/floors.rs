//! Which crate may depend on which: the house in `docs/architecture.md`. A floor only calls down.

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

/// What is wrong with the manifest of the crate in this folder.
pub(crate) fn complaints(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, below)) = FLOORS.iter().find(|(floor, _)| *floor == name) else {
        return vec![format!("crates/{name}: enter it in the table of floors")];
    };
    let is_floor = |name: &&str| FLOORS.iter().any(|(floor, _)| floor == name);
    let mut found: Vec<String> = dependencies(manifest)
        .filter(|dependency| is_floor(dependency) && !below.contains(dependency))
        .map(|dependency| format!("crates/{name} may not depend on {dependency}"))
        .collect();
    if !manifest.contains("[lints]\nworkspace = true") {
        found.push(format!("crates/{name} does not take the workspace's lints"));
    }
    found
}

/// The names in the tables of dependencies.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
            return None;
        }
        let name = line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty())?;
        inside.then(|| name.strip_prefix("anabranch-").unwrap_or(name))
    })
}

#[test]
fn dependency_upwards_is_a_complaint() {
    let manifest = "[dependencies]\nbase.workspace = true\nlibm = \"0.2\"\n\
                    [dev-dependencies]\nlab.workspace = true\n[lints]\nworkspace = true\n";
    assert_eq!(complaints("wire", manifest), ["crates/wire may not depend on lab"]);
    assert!(complaints("cli", manifest).is_empty());
    assert_eq!(complaints("attic", manifest).len(), 1);
}

//! The scenarios of `entries.toml`, each put together from its layers.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// One scenario.
pub(crate) struct Entry {
    /// Group and name, `scheduler/lrf`.
    pub name: String,
    /// The keys of its scenario file.
    pub keys: Table,
}

impl Entry {
    /// The text of its scenario file.
    pub(crate) fn scenario(&self) -> String {
        let data = root().join("data").display().to_string();
        let tests = root().join("crates/cli/tests/hashes").display().to_string();
        let text = toml::to_string(&self.keys).expect("a table");
        text.replace("{data}", &data).replace("{tests}", &tests)
    }

    /// All texts of `key`, including those in lists and tables.
    pub(crate) fn texts(&self, key: &str) -> Vec<&str> {
        let mut texts = Vec::new();
        if let Some(value) = self.keys.get(key) {
            collect(value, &mut texts);
        }
        texts
    }
}

fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Table(table) => table.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// The folder of this test.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hashes")
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every entry, in the order of their names.
pub(crate) fn entries() -> Vec<Entry> {
    let text = std::fs::read_to_string(folder().join("entries.toml")).expect("the entries");
    let all: Table = text.parse().expect("TOML");
    let mut entries = Vec::new();
    for (group, members) in table(&all, "entry") {
        for (name, keys) in members.as_table().expect("a group of entries") {
            let keys = layered(&all, keys.as_table().expect("the keys of an entry"));
            entries.push(Entry { name: format!("{group}/{name}"), keys });
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// Merges `own`, its network, the options of its protocol, and `base`; earlier ones override later
/// ones.
fn layered(all: &Table, own: &Table) -> Table {
    let mut own = own.clone();
    let net = own.remove("net").expect("an entry names its network");
    let protocol = match own.get("protocols") {
        None => "mptcp",
        Some(protocol) => protocol.as_str().expect("a protocol"),
    };
    let mut keys = table(all, "base").clone();
    lay(&mut keys, table(all, protocol));
    lay(&mut keys, table(table(all, "net"), net.as_str().expect("a network")));
    lay(&mut keys, &own);
    keys.retain(|_, value| value.as_str() != Some(""));
    keys
}

/// Puts `over` over `keys`; tables are merged.
fn lay(keys: &mut Table, over: &Table) {
    for (key, value) in over {
        match (keys.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => lay(under, over),
            _ => {
                keys.insert(key.clone(), value.clone());
            }
        }
    }
}

fn table<'t>(of: &'t Table, name: &str) -> &'t Table {
    of.get(name).and_then(Value::as_table).unwrap_or_else(|| panic!("no table `{name}`"))
}

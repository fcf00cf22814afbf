//! Every name that an option takes has an entry, and every option is named.

use crate::anabranch;
use crate::entries::{Entry, entries};
use serde_json::Value;
use std::collections::BTreeSet;

/// Options that do not affect results.
const NOT_OF_RESULTS: [&str; 23] = [
    "matters",
    "metric",
    "packet-metrics",
    "goal",
    "time",
    "data",
    "title",
    "description",
    "source",
    "runs-max",
    "pairs",
    "why",
    "wide",
    "fail-if",
    "markdown",
    "json",
    "out",
    "csv",
    "pcap",
    "force",
    "quiet",
    "verbose",
    "no-color",
];
/// Options that are refused without effect: only some entries have them.
const OF_SOME: [&str; 19] = [
    "background",
    "primary",
    "http",
    "per-host",
    "tls",
    "dns",
    "endpoints",
    "limits",
    "link",
    "flow",
    "deadline",
    "host-cost",
    "ssthresh",
    "nagle",
    "pacing",
    "hystart",
    "max-burst",
    "max-burst-variant",
    "abc-limit",
];
/// Options of `mptcp`, refused with `tcp`.
const OF_MPTCP: [&str; 4] = ["schedulers", "reinjection", "path-managers", "failover"];
/// Options whose names the schema lists, beside those of `OF_CMT`.
const LISTED: [&str; 13] = [
    "protocols",
    "schedulers",
    "cc",
    "path-managers",
    "policy",
    "reinjection",
    "failover",
    "profile",
    "sctp-profile",
    "rtx-policy",
    "stream-scheduler",
    "gap-structure",
    "max-burst-variant",
];
/// Switches of `cmt-sctp` whose names the schema lists, refused without it.
const OF_CMT: [&str; 18] = [
    "path-mode",
    "pair-rule",
    "sfr",
    "cuc",
    "dac",
    "frc",
    "buffer-split",
    "buffer-split-basis",
    "sack-path",
    "smart-fast-rtx",
    "smart-reneging",
    "resched",
    "moved-reduces-cwnd",
    "smart-t3",
    "rtt-rule",
    "path-blocking",
    "primary-first",
    "strict-cwnd-booking",
];
/// Those with numbers.
const NUMBERS_OF_CMT: [&str; 2] = ["resched-threshold", "cc-groups"];
/// Options of `sctp`, refused without it.
const OF_SCTP: [&str; 8] = [
    "sctp-profile",
    "rtx-policy",
    "message-size",
    "streams",
    "stream-scheduler",
    "nr-sack",
    "interleaving",
    "gap-structure",
];
/// Changes of a path that a time can follow, as in the descriptions of paths.
const EVENTS: [&str; 8] = ["down", "silent", "reset", "removed", "rate", "delay", "loss", "backup"];

#[test]
fn every_name_has_an_entry() {
    let (schema, entries) = (schema(), entries());
    assert!(entries.len() >= 120, "{} entries", entries.len());
    for option in LISTED.into_iter().chain(OF_CMT) {
        let mut names = BTreeSet::new();
        enumerated(&schema[option], &mut names);
        assert!(names.len() > 1, "the schema lists no names of `{option}`");
        let has = |name: &str| {
            entries.iter().any(|entry| entry.texts(option).iter().any(|text| bare(text) == name))
        };
        complain(option, names.iter().map(String::as_str).filter(|name| !has(name)));
    }
    let models = listed("traffic");
    let sent = |name: &str| {
        entries.iter().any(|entry| entry.texts("traffic").iter().any(|text| bare(text) == name))
    };
    complain("traffic", models.iter().map(String::as_str).filter(|name| !sent(name)));
    let links: Vec<&str> =
        entries.iter().flat_map(|e| [e.texts("path"), e.texts("link")].concat()).collect();
    for (topic, word) in [("queues", "queue "), ("loss", "loss ")] {
        let names = listed(topic);
        let has = |name: &str| {
            let words = format!("{word}{name}");
            links.iter().any(|link| link.contains(&words))
        };
        complain(topic, names.iter().map(String::as_str).filter(|name| !has(name)));
    }
    for protocol in ["tcp", "mptcp", "sctp", "cmt-sctp"] {
        let of_hosts = ["reset", "removed", "backup"];
        let mine = |entry: &&Entry| entry.texts("protocols") == [protocol];
        let happens = |name: &str| {
            entries.iter().filter(mine).any(|e| e.texts("path").iter().any(|p| has_event(p, name)))
        };
        let needed = |name: &&str| match protocol {
            "tcp" => !of_hosts.contains(name),
            // Refused.
            "sctp" | "cmt-sctp" => *name != "reset",
            _ => true,
        };
        complain("event", EVENTS.into_iter().filter(needed).filter(|name| !happens(name)));
    }
}

#[test]
fn every_option_is_named_by_every_entry() {
    let schema = schema();
    let options = schema.as_object().expect("options").keys().map(String::as_str);
    let of_results: Vec<&str> = options.filter(|option| !NOT_OF_RESULTS.contains(option)).collect();
    let entries = entries();
    for option in OF_SOME {
        assert!(entries.iter().any(|entry| entry.keys.contains_key(option)), "{option}");
    }
    // Without the scheduler's own reinjection, and a rule that depends on it.
    let own = ["reinjection", "failover"];
    for entry in &entries {
        let is = |protocol: &str| entry.texts("protocols") == [protocol];
        // UDP has no option of its own.
        let (tcp, cmt) = (is("tcp") || is("udp"), is("cmt-sctp"));
        let sctp = is("sctp") || cmt;
        let left_out = |option: &str| {
            OF_SOME.contains(&option)
                || own.contains(&option)
                || ((tcp || sctp) && OF_MPTCP.contains(&option))
                || (!cmt && (OF_CMT.contains(&option) || NUMBERS_OF_CMT.contains(&option)))
                || (!sctp && OF_SCTP.contains(&option))
        };
        let missing = of_results
            .iter()
            .filter(|option| !entry.keys.contains_key(**option) && !left_out(option));
        complain(&entry.name, missing.copied());
    }
}

#[test]
fn events_are_found_with_and_without_a_value() {
    let path = "rate 5mbit delay 1ms loss 2% silent @1s..2s rate 1mbit @4s uplink loss 3% @5s";
    let found: Vec<&str> = EVENTS.into_iter().filter(|name| has_event(path, name)).collect();
    assert_eq!(found, ["silent", "rate", "loss"]);
}

/// Fails when something is missing.
fn complain<'a>(of: &str, missing: impl Iterator<Item = &'a str>) {
    let missing: Vec<&str> = missing.collect();
    assert!(
        missing.is_empty(),
        "crates/cli/tests/hashes/entries.toml: {of}: nothing has {missing:?}"
    );
}

/// The options of a scenario file by name.
fn schema() -> Value {
    let schema: Value =
        serde_json::from_str(&anabranch(&["schema"]).expect("a schema")).expect("JSON");
    schema["properties"].clone()
}

/// All texts below an `enum`.
fn enumerated(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(keys) => {
            if let Some(Value::Array(values)) = keys.get("enum") {
                names.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            keys.values().for_each(|value| enumerated(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| enumerated(value, names)),
        _ => {}
    }
}

/// The names of a topic in `anabranch list`: rows begin with two spaces.
fn listed(topic: &str) -> Vec<String> {
    let text = anabranch(&["list", topic]).expect("a list");
    let rows = text.lines().filter_map(|line| line.strip_prefix("  "));
    let names = rows.filter(|row| !row.starts_with(' ')).filter_map(|row| row.split(' ').next());
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 1, "`anabranch list {topic}` lists nothing:\n{text}");
    names
}

/// A name without its parameters.
fn bare(text: &str) -> &str {
    text.split(':').next().unwrap_or(text)
}

/// Whether the keys have `event` at a time: its keyword, with or without a value, before an `@`.
fn has_event(path: &str, event: &str) -> bool {
    let words: Vec<&str> = path.split_whitespace().collect();
    let times = words.iter().enumerate().filter(|(_, word)| word.starts_with('@'));
    times.into_iter().any(|(at, _)| {
        let before = words[..at].iter().rev().take(2);
        before.into_iter().find(|word| EVENTS.contains(word)) == Some(&event)
    })
}

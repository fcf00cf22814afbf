//! The JSON schema of scenario files, for editors and other programs.
//!
//! Its keys are those of the tables of options, path keywords and flow keywords; tests compare them
//! with the keys that are read. A schema cannot express everything (that a name in `first` is a
//! path's, that a path is up at some time); `options` and `path_spec` check the rest.

use super::choice::ALL;
use super::cmt::SEND_ALL;
use super::flow_table;
use super::host_cost;
use super::sctp::SCTP_FAILOVERS;
use super::table::{Key, OptionRow, Takes};
use super::variants::Protocol;
use crate::path_spec;
use crate::path_spec::words::{Form, KeyOf, Of, path_keys};
use crate::traffic_spec;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use transport::FAILOVER_NAMES;
use transport::parameters::{Kind, Parameter};
use transport::sctp::cmt::SendAllKey;
use transport::sctp::streams::StreamOrder;
use transport::sctp::{BurstRule, GapStructure, RtxPolicy, SctpProfile};
use transport::{Profile, congestion, path_manager, path_policy, reinjection, scheduler};

/// The schema of a scenario file.
pub fn schema() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<ScenarioFile>().to_value();
    let Value::Object(mut keys) = schema else { return schema };
    // The most important keys come first.
    let mut first: Map<String, Value> = ["$schema", "title", "description"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), keys.shift_remove(key)?)))
        .collect();
    first.extend(keys);
    Value::Object(first)
}

/// The values of an option, for the schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pattern {
    /// Any text.
    Plain,
    /// `true` or `false`.
    Flag,
    /// Text that matches this pattern.
    Regex(&'static str),
    /// A list of some of these names.
    Names(fn() -> Vec<&'static str>),
    /// A composed schema.
    Of(fn(&mut SchemaGenerator) -> Schema),
}

/// Properties from the table of options.
struct ScenarioFile;

const ABOUT: &str = "A study for `anabranch compare`: traffic, paths, and what is compared. Keys \
                     are the long options of the command line, which override the file.";

/// Keys that the schema has at its end.
const LAST: [Key; 5] = [Key::Path, Key::Link, Key::Flow, Key::Start, Key::WarmUp];

impl JsonSchema for ScenarioFile {
    fn schema_name() -> Cow<'static, str> {
        "ScenarioFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let others = Key::ALL.iter().filter(|key| !LAST.contains(key));
        let property = |key: &Key| {
            let row = key.row();
            (row.name.to_owned(), of_option(row, generator).to_value())
        };
        let properties: Map<String, Value> = others.chain(&LAST).map(property).collect();
        json_schema!({
            "title": "anabranch scenario",
            "description": ABOUT,
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        })
    }
}

/// The schema of one option.
fn of_option(row: &OptionRow, generator: &mut SchemaGenerator) -> Schema {
    match row.takes {
        Takes::Switch => of_key(Pattern::Flag, row.about, generator),
        _ => of_key(row.pattern, row.about, generator),
    }
}

/// The schema of a key with these values.
fn of_key(pattern: Pattern, about: &str, generator: &mut SchemaGenerator) -> Schema {
    match pattern {
        Pattern::Plain => json_schema!({"type": "string", "description": about}),
        Pattern::Flag => json_schema!({"type": "boolean", "description": about}),
        Pattern::Regex(form) => {
            json_schema!({"type": "string", "description": about, "pattern": form})
        }
        Pattern::Names(list) => about_it(names(list().into_iter(), &[]), about),
        Pattern::Of(make) => about_it(make(generator), about),
    }
}

fn about_it(mut schema: Schema, about: &str) -> Schema {
    schema.insert("description".to_owned(), about.into());
    schema
}

/// A table with these keys and no others.
fn table_of(about: &str, keys: impl Iterator<Item = (&'static str, Schema)>) -> Schema {
    let properties: Map<String, Value> =
        keys.map(|(key, schema)| (key.to_owned(), json!(schema))).collect();
    json_schema!({
        "description": about,
        "type": "object",
        "properties": properties,
        "additionalProperties": false
    })
}

/// The keys of one direction, and those that are also allowed in these places.
fn path_table(about: &str, places: &[Of], generator: &mut SchemaGenerator) -> Schema {
    let of_direction = path_keys().filter(|(_, key)| key.of == Of::Direction);
    let others = path_keys().filter(|(_, key)| places.contains(&key.of));
    let schema = |(name, key): (&'static str, KeyOf)| (name, of_path_key(key, generator));
    let keys: Vec<(&str, Schema)> = of_direction.chain(others).map(schema).collect();
    table_of(about, keys.into_iter())
}

fn of_path_key(key: KeyOf, generator: &mut SchemaGenerator) -> Schema {
    let pattern = match key.form {
        Form::Text => Pattern::Plain,
        Form::Texts => Pattern::Of(texts),
        Form::Flag => Pattern::Flag,
        Form::Regex(form) => Pattern::Regex(form),
        Form::Probability => Pattern::Of(probability),
        Form::Loss => Pattern::Of(loss),
        Form::GilbertElliott => Pattern::Of(loss_ge),
        Form::Units => Pattern::Of(units),
        Form::Events => Pattern::Of(events),
        Form::Profiles => Pattern::Of(path_profiles),
        Form::Direction => return path_table(key.about, &[], generator),
    };
    of_key(pattern, key.about, generator)
}

fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    })
}

pub(super) fn flows(generator: &mut SchemaGenerator) -> Schema {
    let keys: Vec<(&str, Schema)> = flow_table::keys()
        .map(|(name, pattern, about)| (name, of_key(pattern, about, generator)))
        .collect();
    let table = table_of("One or several identical competing connections.", keys.into_iter());
    named(json!([
        {"type": "string", "description": "Items such as `tcp on wlan cc reno start 0s..2s`."},
        table
    ]))
}

/// A table of these by name.
fn named(any_of: Value) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[A-Za-z0-9._-]{1,32}$"},
        "additionalProperties": {"anyOf": any_of}
    })
}

pub(super) fn protocol(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Protocol::ALL.map(Protocol::name)})
}

pub(super) fn control(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = congestion::NAMES.iter().map(|(name, ..)| *name).collect();
    let set = format!("^({})$", set_controls().join("|"));
    json_schema!({"anyOf": [{"enum": names}, {"type": "string", "pattern": set}]})
}

pub(super) fn some_paths(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"type": "string"}
    ]})
}

pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[0-9.]+ ?[a-zA-Z]+$"})
}

pub(super) fn start(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[0-9.]+[a-zA-Z]+(\\.\\.[0-9.]+[a-zA-Z]+)?$"})
}

pub(super) fn count(_: &mut SchemaGenerator) -> Schema {
    number(1, simulator::MOST_FLOWS as u64, "")
}

pub(super) fn links(generator: &mut SchemaGenerator) -> Schema {
    described(&[Of::Link], generator)
}

pub(super) fn paths(generator: &mut SchemaGenerator) -> Schema {
    described(&[Of::Link, Of::Path], generator)
}

/// Paths or links, by name.
fn described(places: &[Of], generator: &mut SchemaGenerator) -> Schema {
    let about = "A path key by key; keys apply to both directions except in `uplink` and \
                 `downlink`.";
    let table = path_table(about, places, generator);
    named(json!([
        {"type": "string", "description": "Items in tc syntax, as on the command line."},
        table
    ]))
}

pub(super) fn traffic(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": traffic_spec::PATTERN,
        "examples": traffic_spec::EXAMPLE_LIST
    })
}

pub(super) fn http(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "enum": [
            "1.1", "pipelined", "2", "streams", 1.1, 1, 2, "1", "h2", "http/1.1", "http/2"
        ]
    })
}

/// Names or `all` in an array, or in one text with commas between them.
fn names<'n>(names: impl Iterator<Item = &'n str>, more: &[&str]) -> Schema {
    let names: Vec<&str> = names.collect();
    list_of(&names, &[more, &[ALL]].concat())
}

/// These names, or what matches one of the patterns `more`, likewise.
fn list_of(names: &[&str], more: &[&str]) -> Schema {
    let patterns: Vec<&str> = names.iter().chain(more).copied().collect();
    let one = format!("({})", patterns.join("|"));
    let item =
        json!({"anyOf": [{"enum": names}, {"type": "string", "pattern": format!("^{one}$")}]});
    json_schema!({"anyOf": [
        {"type": "array", "items": item, "minItems": 1},
        {"type": "string", "pattern": format!("^ *{one}( *, *{one})* *$")}
    ]})
}

pub(super) fn protocols(_: &mut SchemaGenerator) -> Schema {
    names(Protocol::ALL.iter().map(|protocol| protocol.name()), &[])
}

/// Patterns of congestion controls with parameters.
fn set_controls() -> Vec<String> {
    let set = congestion::TABLE
        .iter()
        .filter_map(|row| with_parameters(row.name, row.parameters, std::iter::empty()));
    set.collect()
}

pub(super) fn controls(_: &mut SchemaGenerator) -> Schema {
    let set = set_controls();
    let more: Vec<&str> = set.iter().map(String::as_str).collect();
    names(congestion::TABLE.iter().map(|row| row.name), &more)
}

pub(super) fn thresholds(_: &mut SchemaGenerator) -> Schema {
    let number = json!({"type": "number", "minimum": 0, "maximum": 1});
    json_schema!({"anyOf": [
        number,
        {"type": "string", "pattern": "^ *[0-9.]+( *, *[0-9.]+)* *$"},
        {"type": "array", "items": {"anyOf": [number, {"type": "string"}]}, "minItems": 1}
    ]})
}

pub(super) fn schedulers(_: &mut SchemaGenerator) -> Schema {
    let known = || scheduler::NAMES.iter().map(|(name, _, _)| *name).chain([SEND_ALL]);
    let with_parameters = |name: &str| {
        let reinjection = format!("reinjection=({})", reinjection_names().join("|"));
        let weight = (name == "wrr").then(|| "[0-9]+".to_owned());
        let more = std::iter::once(reinjection).chain(weight);
        with_parameters(name, scheduler::parameters(name), more)
    };
    let set: Vec<String> = known().filter_map(with_parameters).collect();
    let keys: Vec<&str> = SendAllKey::ALL.iter().map(|(_, name, _)| *name).collect();
    let send_all = format!("{SEND_ALL}:key=({})", keys.join("|"));
    let mut more = vec!["minrtt", &send_all];
    more.extend(set.iter().map(String::as_str));
    names(known(), &more)
}

pub(super) fn policies(_: &mut SchemaGenerator) -> Schema {
    let known = || path_policy::TABLE.iter().map(|row| row.name);
    let set = path_policy::TABLE
        .iter()
        .filter_map(|row| with_parameters(row.name, row.parameters, std::iter::empty()));
    let set: Vec<String> = set.collect();
    names(known(), &set.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The pattern of a name with some of its parameters, or `more` among them.
fn with_parameters(
    name: &str,
    parameters: &[Parameter],
    more: impl Iterator<Item = String>,
) -> Option<String> {
    let own = parameters.iter().map(|known| match known.kind {
        Kind::Switch => format!("{}=(on|off)", known.key),
        _ => format!("{}=[0-9.]+[a-zA-Z]*", known.key),
    });
    let ones: Vec<String> = own.chain(more).collect();
    let one = format!("({})", ones.join("|"));
    (!ones.is_empty()).then(|| format!("{name}:{one}( *, *{one})*"))
}

fn reinjection_names() -> Vec<&'static str> {
    reinjection::NAMES.iter().map(|(name, ..)| *name).collect()
}

pub(super) fn reinjections(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": reinjection_names()})
}

pub(super) fn path_managers(_: &mut SchemaGenerator) -> Schema {
    let known = || path_manager::NAMES.iter().map(|(name, _, _)| *name);
    let with_parameters = |name: &str| {
        let number = (name == "ndiffports").then(|| "[0-9]".to_owned());
        with_parameters(name, path_manager::parameters(name), number.into_iter())
    };
    let set: Vec<String> = known().filter_map(with_parameters).collect();
    names(known(), &set.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A text with commas, or an array, of what has this pattern.
fn items(one: &str) -> Schema {
    let item = json!({"type": "string", "pattern": format!("^{one}( *, *{one})*$")});
    json_schema!({"anyOf": [item.clone(), {"type": "array", "items": item, "minItems": 1}]})
}

pub(super) fn endpoints(_: &mut SchemaGenerator) -> Schema {
    items("(client|server) +[^ ,]+( +(signal|subflow|backup|fullmesh))+")
}

pub(super) fn limits(_: &mut SchemaGenerator) -> Schema {
    let one = "(subflows|add_addr_accepted) +[0-8]";
    items(&format!("((client|server) +)?{one}( +{one})?"))
}

pub(super) fn failovers(_: &mut SchemaGenerator) -> Schema {
    names(FAILOVER_NAMES.iter().chain(SCTP_FAILOVERS).map(|(name, _, _)| *name), &[])
}

pub(super) fn sctp_profiles(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": SctpProfile::ALL.map(|(profile, _)| profile.name())})
}

pub(super) fn gap_structures(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": GapStructure::ALL.map(GapStructure::name)})
}

pub(super) fn host_cost(_: &mut SchemaGenerator) -> Schema {
    items(&format!("(none|({}) *= *[0-9.]+ ?[a-zA-Z]+)", host_cost::PARTS.join("|")))
}

pub(super) fn failures(_: &mut SchemaGenerator) -> Schema {
    list_of(&["hurts", "undecided", "goal-missed"], &[])
}

pub(super) fn groups(_: &mut SchemaGenerator) -> Schema {
    items(" *[0-9](:[0-9])* *")
}

pub(super) fn tls(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["1.3", "0rtt", "none", 1.3]})
}

pub(super) fn rtx_policies(_: &mut SchemaGenerator) -> Schema {
    names(RtxPolicy::ALL.iter().map(|(policy, _)| policy.name()), &[])
}

pub(super) fn message_size(_: &mut SchemaGenerator) -> Schema {
    number(1, 64 << 10, "([kKmM]i?[bB]|[bB])?")
}

pub(super) fn max_burst(_: &mut SchemaGenerator) -> Schema {
    number(0, u16::MAX.into(), "")
}

pub(super) fn burst_rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": BurstRule::ALL.map(|(_, name, _)| name)})
}

pub(super) fn streams(_: &mut SchemaGenerator) -> Schema {
    number(1, u16::MAX.into(), "")
}

pub(super) fn stream_schedulers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": StreamOrder::names().collect::<Vec<_>>()})
}

pub(super) fn on_or_off(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["on", "off"]})
}

pub(super) fn profiles(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Profile::ALL.map(|(_, name)| name)})
}

fn path_profiles(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = path_spec::Profile::all().iter().map(|profile| profile.name).collect();
    json_schema!({"enum": names})
}

fn units(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": network::trace::Unit::NAMES})
}

/// A number, as such or as a text.
fn number(least: u64, most: u64, words: &str) -> Schema {
    json_schema!({"anyOf": [
        {"type": "integer", "minimum": least, "maximum": most},
        {"type": "string", "pattern": format!("^([0-9]+{words})$")}
    ]})
}

pub(super) fn whole_number(_: &mut SchemaGenerator) -> Schema {
    number(0, u64::MAX, "")
}

/// Bytes as a number, or a size or segments as a text.
pub(super) fn threshold(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": "^(none|[0-9.]+ ?[a-zA-Z]*)$"}
    ]})
}

pub(super) fn runs(_: &mut SchemaGenerator) -> Schema {
    number(1, super::values::MOST_RUNS, "|auto")
}

pub(super) fn runs_max(_: &mut SchemaGenerator) -> Schema {
    number(1, super::values::MOST_RUNS, "")
}

pub(super) fn jobs(_: &mut SchemaGenerator) -> Schema {
    number(1, super::values::MOST_JOBS, "")
}

fn probability(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": "^[0-9.]+%?$"}
    ]})
}

pub(super) fn share(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "pattern": "^[0-9.]+ ?%?$"}
    ]})
}

pub(super) fn noise(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"enum": [0]},
        {"type": "string", "pattern": "^(0|[0-9.]+ ?[a-zA-Z]+)$"}
    ]})
}

fn loss(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {
            "type": "string",
            "pattern": concat!(
                r"^((random )?[0-9.]+%?((\.\.|\+-)[0-9.]+%?)?",
                r"|gemodel( [0-9.]+%?){4}|state( [0-9.]+%?){1,2})$"
            )
        }
    ]})
}

fn loss_ge(generator: &mut SchemaGenerator) -> Schema {
    let one = probability(generator);
    let keys = super::path_table::GILBERT_ELLIOTT;
    let properties: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), one.clone().to_value())).collect();
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": keys,
        "additionalProperties": false
    })
}

fn events(_: &mut SchemaGenerator) -> Schema {
    let event = json!({
        "type": "string",
        "pattern": concat!(
            "^((up|down)link +)?",
            "(down|silent|backup|reset|removed|(rate|delay|loss) +[^ ]+) *@.+$"
        ),
        "examples": ["down @20s..35s", "silent @20s..35s", "rate 5mbit @20s..35s"]
    });
    json_schema!({"anyOf": [{"type": "array", "items": event}, event]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn keys(schema: &Value) -> BTreeSet<&str> {
        let properties = schema["properties"].as_object();
        properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn schema_has_the_keys_that_are_read() {
        let schema = schema();
        assert_eq!(keys(&schema), Key::names().into_iter().collect());
        let table = &schema["properties"]["path"]["additionalProperties"]["anyOf"][1];
        assert_eq!(keys(table), path_keys().map(|(key, _)| key).collect());
        let flow = &schema["properties"]["flow"]["additionalProperties"]["anyOf"][1];
        assert_eq!(keys(flow), flow_table::keys().map(|(key, ..)| key).collect());
        let not_of_a_link = ["trace-up", "profile", "via", "client", "server", "backup"];
        let boxes = ["uplink", "downlink", "strip", "nat", "rewrite", "promotion", "proxy"];
        let not_of_a_link = [&not_of_a_link[..], &boxes].concat();
        let mut link: BTreeSet<&str> = path_keys().map(|(key, _)| key).collect();
        link.retain(|key| !not_of_a_link.contains(key));
        assert_eq!(keys(&table["properties"]["uplink"]), link);
    }

    #[test]
    fn every_key_is_described() {
        let schema = schema();
        for (key, value) in schema["properties"].as_object().unwrap() {
            assert!(value["description"].as_str().is_some_and(|text| text.len() > 9), "{key}");
        }
        assert!(!schema.to_string().contains("null"), "TOML has none");
    }
}

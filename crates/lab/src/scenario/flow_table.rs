//! The words of a flow, and a flow that is given key by key in a scenario file.

use super::file::{Reader, in_order};
use super::schema;
use super::schema::Pattern::{self, Flag, Of, Plain, Regex};
use crate::error::{Given, InputError, sanitised};
use crate::traffic_spec;
use crate::words::nearest_help;
use toml::de::DeTable;
use transport::Protocol;

/// A keyword of a flow, in descriptions and as a key of files.
struct Word {
    name: &'static str,
    is_item: bool,
    /// The values of the key and its description in the schema.
    key: Option<(Pattern, &'static str)>,
}

const fn item(name: &'static str) -> Word {
    Word { name, is_item: true, key: None }
}

const fn key(name: &'static str, pattern: Pattern, about: &'static str) -> Word {
    Word { name, is_item: false, key: Some((pattern, about)) }
}

const fn both(name: &'static str, pattern: Pattern, about: &'static str) -> Word {
    Word { name, is_item: true, key: Some((pattern, about)) }
}

/// Every word except the names of protocols, in the order in which messages list them.
static WORDS: &[Word] = &[
    item("on"),
    key(
        "protocol",
        Of(schema::protocol),
        "tcp, mptcp, sctp, cmt-sctp or udp. Default: tcp on one path, mptcp on several.",
    ),
    key("path", Plain, "Path between the hosts of the flow."),
    key(
        "paths",
        Of(schema::some_paths),
        "Paths of an mptcp or sctp flow; the first has the first subflow, or is the primary.",
    ),
    both("cc", Of(schema::control), "Congestion control. Default: cubic; reno with sctp."),
    both("scheduler", Plain, "Scheduler of an mptcp flow. Default: lrf."),
    both("traffic", Regex(traffic_spec::FLOW_PATTERN), traffic_spec::FLOW_HELP),
    both(
        "start",
        Of(schema::start),
        "Start time; with a range, drawn for every repetition. Default: 0s.",
    ),
    both(
        "delay",
        Of(schema::time),
        "One-way delay between the client of the flow and its paths, added to theirs. Default: \
         0ms.",
    ),
    both("count", Of(schema::count), "Number of such flows, each with its own start. Default: 1."),
    both(
        "buffers",
        Regex(super::values::BUFFERS_PATTERN),
        "Socket buffers SEND/RECEIVE of both ends, as the option `buffers`. Default: the \
         scenario's.",
    ),
    both("reverse", Flag, "Send from client to server."),
];

/// Keywords of items; the name of a protocol is an item of its own.
pub(super) fn item_words() -> Vec<&'static str> {
    let words = WORDS.iter().filter(|word| word.is_item).map(|word| word.name);
    Protocol::ALL.into_iter().map(Protocol::name).chain(words).collect()
}

/// The keys of a file, with their values and descriptions.
pub(super) fn keys() -> impl Iterator<Item = (&'static str, Pattern, &'static str)> {
    WORDS.iter().filter_map(|word| {
        let (pattern, about) = word.key?;
        Some((word.name, pattern, about))
    })
}

fn is_key(name: &str) -> bool {
    keys().any(|(key, ..)| key == name)
}

impl Reader<'_> {
    /// The items of a table.
    pub(super) fn flow_items(&self, table: &DeTable) -> Result<Given, InputError> {
        let mut spec = Given::empty_in_file(self.file);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "protocol" => {
                    let text = self.text(key, value)?.text;
                    spec.push(&text, self.inside(value, &text));
                }
                "path" | "paths" => {
                    let names = self.list(key, value)?;
                    let word = key.get_ref();
                    if names.is_empty() {
                        let problem = format!("`{word}` is an empty list");
                        return Err(self.refuse(value.span(), problem, "name a path"));
                    }
                    if word == "paths" && table.contains_key("path") {
                        let problem = "a flow has `path` and `paths`".to_owned();
                        return Err(self.refuse(key.span(), problem, "keep one"));
                    }
                    spec.push("on", key.span());
                    for (number, name) in names.iter().enumerate() {
                        let comma = if number + 1 < names.len() { "," } else { "" };
                        let place = self.inside(value, &name.text);
                        spec.push(&format!("{}{comma}", name.text), place);
                    }
                }
                "reverse" => {
                    if self.yes_or_no(key, value)? {
                        spec.push("reverse", key.span());
                    }
                }
                word if is_key(word) => {
                    let text = self.text(key, value)?.text;
                    spec.push(word, key.span());
                    spec.push(&text, self.inside(value, &text));
                }
                unknown => {
                    let problem = format!("unknown key `{}` of a flow", sanitised(unknown));
                    let help =
                        nearest_help(unknown, &keys().map(|(key, ..)| key).collect::<Vec<_>>());
                    return Err(self.refuse(key.span(), problem, help));
                }
            }
        }
        Ok(spec)
    }
}

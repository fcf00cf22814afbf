//! `Tree`: the relevant part of an untrusted JSON document.
//!
//! The document is streamed: only keys that a reader uses are kept, texts are truncated, and the
//! number of values is bounded, so bodies of any length in a HAR need no memory. A value of an
//! unexpected type reads as absent; only text that is not JSON is an error.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// Largest number of values of a document, far more than a page has.
const MOST_VALUES: usize = 4_000_000;
/// Largest number of characters of a text.
const MOST_CHARS: usize = 4096;

/// Keys of HAR files, dependency graphs and object lists that are kept.
const KEPT: &[&str] = &[
    "_bytesIn",
    "_error",
    "_fetchType",
    "_fromCache",
    "_fromDiskCache",
    "_initiator",
    "_objectSize",
    "_priority",
    "_resourceType",
    "_transferSize",
    "a1",
    "a2",
    "blocked",
    "bodySize",
    "bytes",
    "callFrames",
    "comps",
    "connect",
    "content",
    "creator",
    "deps",
    "dns",
    "download",
    "entries",
    "fromCache",
    "headers",
    "headersSize",
    "html_bytes",
    "httpVersion",
    "http_status",
    "id",
    "load_activity",
    "log",
    "method",
    "mimeType",
    "name",
    "object_bytes",
    "objs",
    "onLoad",
    "page",
    "pageTimings",
    "pageref",
    "pages",
    "parent",
    "receive",
    "redirectURL",
    "request",
    "response",
    "send",
    "serverIPAddress",
    "size",
    "ssl",
    "stack",
    "start_activity",
    "startedDateTime",
    "status",
    "statusText",
    "time",
    "timings",
    "type",
    "url",
    "value",
    "version",
    "wait",
    "when_comp_start",
];

/// The kept part of a JSON value.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Tree {
    #[default]
    Nothing,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    /// Of two equal keys, the last one is kept.
    Map(Vec<(&'static str, Tree)>),
}

impl Tree {
    /// The value of a key, if any.
    pub(super) fn get(&self, key: &str) -> &Tree {
        match self {
            Tree::Map(entries) => {
                entries.iter().rev().find(|(name, _)| *name == key).map_or(&Tree::Nothing, |e| &e.1)
            }
            _ => &Tree::Nothing,
        }
    }

    /// A number, or a text with a number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Tree::Number(number) => Some(*number),
            Tree::Text(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Tree::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Whether it is true, in any of the usual spellings.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Tree::Bool(yes) => *yes,
            Tree::Number(number) => *number != 0.0,
            Tree::Text(text) => text == "true",
            _ => false,
        }
    }

    /// The values of a list; none for other types.
    pub(super) fn list(&self) -> &[Tree] {
        match self {
            Tree::List(values) => values,
            _ => &[],
        }
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self, Tree::Map(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Tree::List(_))
    }
}

/// Reads one value; counts the values kept over the whole document.
#[derive(Clone, Copy)]
pub(super) struct Keep<'a> {
    kept: &'a Cell<usize>,
}

impl<'a> Keep<'a> {
    pub(super) const fn new(kept: &'a Cell<usize>) -> Self {
        Keep { kept }
    }

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        self.kept.set(self.kept.get() + 1);
        if self.kept.get() > MOST_VALUES {
            return Err(E::custom(format_args!(
                "more than {MOST_VALUES} values, too many for a page"
            )));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Keep<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keep<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        let end = value.char_indices().nth(MOST_CHARS).map_or(value.len(), |(at, _)| at);
        Ok(Tree::Text(value[..end].to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(self)? {
            self.count()?;
            values.push(value);
        }
        Ok(Tree::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            match key {
                Some(key) => {
                    self.count()?;
                    entries.push((key, map.next_value_seed(self)?));
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Tree::Map(entries))
    }
}

/// Reads a key; `None` if it is not kept.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(KEPT.binary_search(&key).ok().map(|index| KEPT[index]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Result<Tree, serde_json::Error> {
        Keep::new(&Cell::new(0)).deserialize(&mut serde_json::Deserializer::from_str(text))
    }

    #[test]
    fn kept_keys_are_in_order() {
        assert!(KEPT.is_sorted(), "they are searched by halves");
    }

    #[test]
    fn only_kept_keys_and_short_texts_stay() {
        let long = "ä".repeat(MOST_CHARS + 1);
        let text = format!(r#"{{"text": "{long}", "url": "{long}", "time": "12.5", "time": 7}}"#);
        let tree = tree(&text).unwrap();
        assert_eq!(*tree.get("text"), Tree::Nothing);
        assert_eq!(tree.get("url").text().unwrap().chars().count(), MOST_CHARS);
        assert_eq!(tree.get("time").number(), Some(7.0), "the last one holds");
    }

    #[test]
    fn values_of_another_type_read_as_absent() {
        let tree = tree(r#"{"log": [1, "2", null, true, {"url": {}}]}"#).unwrap();
        let log = tree.get("log");
        assert_eq!(log.list()[1].number(), Some(2.0));
        assert_eq!(log.list()[4].get("url").text(), None);
        assert_eq!(log.number(), None);
        assert!(log.list()[3].is_true() && log.list()[0].is_true() && !log.list()[2].is_true());
        assert_eq!(log.get("entries").list().len(), 0);
    }

    #[test]
    fn depth_without_end_is_an_error() {
        assert!(tree(&"[".repeat(100_000)).is_err());
    }
}

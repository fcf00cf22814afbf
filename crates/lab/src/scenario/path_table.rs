//! Converts a path given key by key in a scenario file to the path grammar.
//!
//! The keys are the keywords of the grammar, and more convenient ones for TOML: `jitter` for
//! `delay`, `unit` for a recording, `loss-ge` with its four probabilities by name, `backup = true`.
//! `path_spec` interprets the result; its errors point at the key or value in the file.

use super::file::{Key, Reader, Value, in_order};
use crate::error::{Given, InputError, sanitised};
use crate::path_spec::words::{item_words, path_keys};
use crate::words::nearest_help;
use std::ops::Range;
use toml::de::DeTable;

/// The probabilities of a Gilbert-Elliott loss, in the order of netem's `gemodel`.
pub(super) const GILBERT_ELLIOTT: [&str; 4] = ["p", "r", "one-minus-h", "one-minus-k"];

impl Reader<'_> {
    /// Appends the items of a table to `spec`; `direction` is the one they are for, or none.
    pub(super) fn path_items(
        &self,
        table: &DeTable,
        direction: &str,
        spec: &mut Given,
    ) -> Result<(), InputError> {
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "uplink" | "downlink" if direction.is_empty() => {
                    let inner = self.table(key, value, "{ rate = \"5mbit\" }")?;
                    self.path_items(inner, key.get_ref(), spec)?;
                }
                "uplink" | "downlink" => {
                    let problem = format!("`{}` inside `{direction}`", key.get_ref());
                    let help = "give each direction a table of its own";
                    return Err(self.refuse(key.span(), problem, help));
                }
                "events" => {
                    for event in self.list(key, value)? {
                        if !event.text.contains('@') {
                            let problem = format!("the event `{}` has no time", event.text);
                            let help = "write `down @20s..35s`, for example; what applies to the \
                                        whole run is a key of its own";
                            return Err(event.refuse_whole(problem, help));
                        }
                        push(spec, direction, &key.span());
                        self.one_item(direction, &event)?;
                        spec.push(&event.text, self.inside(value, &event.text));
                    }
                }
                "via" => {
                    for link in self.list(key, value)? {
                        push(spec, direction, &key.span());
                        spec.push("via", key.span());
                        spec.push(&link.text, self.inside(value, &link.text));
                    }
                }
                word @ ("backup" | "proxy") => {
                    if self.yes_or_no(key, value)? {
                        push(spec, direction, &key.span());
                        spec.push(word, key.span());
                    }
                }
                "loss-ge" => self.gilbert_elliott(key, value, direction, spec)?,
                "jitter" => self.must_have(table, key, &["delay"])?,
                "unit" => self.must_have(table, key, &["trace", "trace-up"])?,
                word if path_keys().any(|(key, _)| key == word) => {
                    self.item(table, (key, value), direction, spec)?;
                }
                unknown => {
                    let problem = format!("unknown key `{}` of a path", sanitised(unknown));
                    let help =
                        nearest_help(unknown, &path_keys().map(|(key, _)| key).collect::<Vec<_>>());
                    return Err(self.refuse(key.span(), problem, help));
                }
            }
        }
        Ok(())
    }

    /// An item of one keyword, its value, and related keys of `table`.
    fn item(
        &self,
        table: &DeTable,
        (key, value): (&Key, &Value),
        direction: &str,
        spec: &mut Given,
    ) -> Result<(), InputError> {
        let given = self.text(key, value)?;
        let (word, text) = (key.get_ref().as_ref(), &given.text);
        push(spec, direction, &key.span());
        spec.push(word, key.span());
        let is_file = word == "trace" || word == "trace-up";
        // Names of files may have blanks.
        let quoted = is_file && text.contains(char::is_whitespace);
        if !is_file {
            self.one_item(direction, &given)?;
        }
        let text = if quoted { format!("\"{text}\"") } else { text.clone() };
        spec.push(&text, self.inside(value, &text));
        let beside = if is_file { "unit" } else { "jitter" };
        if (is_file || word == "delay")
            && let Some((key, value)) = table.get_key_value(beside)
        {
            let more = self.text(key, value)?.text;
            let more = if is_file { format!("unit={more}") } else { more };
            spec.push(&more, value.span());
        }
        Ok(())
    }

    /// Refuses a second item in a value for one direction, as it would be for both.
    fn one_item(&self, direction: &str, given: &Given) -> Result<(), InputError> {
        let known = item_words();
        let second = given.text.split_whitespace().skip(1).find(|word| known.contains(word));
        match second.filter(|_| !direction.is_empty()) {
            None => Ok(()),
            Some(word) => {
                let problem = format!("`{word}` is a second item of `{direction}` in one text");
                Err(given.refuse_whole(problem, "give each item a key or an event of its own"))
            }
        }
    }

    /// `loss gemodel` with its probabilities by name.
    fn gilbert_elliott(
        &self,
        key: &Key,
        value: &Value,
        direction: &str,
        spec: &mut Given,
    ) -> Result<(), InputError> {
        let example = "{ p = \"1%\", r = \"10%\", one-minus-h = \"100%\", one-minus-k = \"0%\" }";
        let table = self.table(key, value, example)?;
        for (key, _) in in_order(table) {
            let name = key.get_ref().as_ref();
            if !GILBERT_ELLIOTT.contains(&name) {
                let problem = format!("unknown key `{}` of `loss-ge`", sanitised(name));
                let help = nearest_help(name, &GILBERT_ELLIOTT);
                return Err(self.refuse(key.span(), problem, help));
            }
        }
        push(spec, direction, &key.span());
        spec.push("loss gemodel", key.span());
        for name in GILBERT_ELLIOTT {
            let Some((key, probability)) = table.get_key_value(name) else {
                let problem = format!("`loss-ge` has no `{name}`");
                let help = format!("write `loss-ge = {example}`");
                return Err(self.refuse(value.span(), problem, help));
            };
            let text = self.text(key, probability)?.text;
            spec.push(&text, self.inside(probability, &text));
        }
        Ok(())
    }

    fn table<'t, 'a>(
        &self,
        key: &Key,
        value: &'t Value<'a>,
        example: &str,
    ) -> Result<&'t DeTable<'a>, InputError> {
        value.get_ref().as_table().ok_or_else(|| {
            let problem = format!("`{}` is not a table", key.get_ref());
            self.refuse(value.span(), problem, format!("write `{} = {example}`", key.get_ref()))
        })
    }

    /// Refuses a key that needs another one which is missing.
    fn must_have(&self, table: &DeTable, key: &Key, others: &[&str]) -> Result<(), InputError> {
        if others.iter().any(|other| table.contains_key(*other)) {
            return Ok(());
        }
        let others = others.join("` or `");
        let problem = format!("`{}` without `{others}`", key.get_ref());
        let help = format!("give `{others}` in the same table, or leave it out");
        Err(self.refuse(key.span(), problem, help))
    }
}

fn push(spec: &mut Given, direction: &str, span: &Range<usize>) {
    if !direction.is_empty() {
        spec.push(direction, span.clone());
    }
}

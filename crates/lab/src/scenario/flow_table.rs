//! A flow that is given key by key in a scenario file, as the words of `flow`.

use super::file::{Reader, in_order};
use crate::error::{Given, InputError, sanitised};
use crate::words::nearest_help;
use toml::de::DeTable;

/// Every key of a flow.
pub(super) const FLOW_KEYS: [&str; 10] = [
    "protocol",
    "path",
    "paths",
    "cc",
    "scheduler",
    "traffic",
    "start",
    "delay",
    "count",
    "reverse",
];

impl Reader<'_> {
    /// The words that a table says.
    pub(super) fn flow_items(&self, table: &DeTable) -> Result<Given, InputError> {
        let mut spec = Given::empty_in_file(self.file);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "protocol" => {
                    let text = self.text(key, value)?.text;
                    spec.push(&text, self.inside(value, &text));
                }
                "path" | "paths" => {
                    spec.push("on", key.span());
                    let names = self.list(key, value)?;
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
                word if FLOW_KEYS.contains(&word) => {
                    let text = self.text(key, value)?.text;
                    spec.push(word, key.span());
                    spec.push(&text, self.inside(value, &text));
                }
                unknown => {
                    let problem = format!("unknown key `{}` of a flow", sanitised(unknown));
                    let help = nearest_help(unknown, &FLOW_KEYS);
                    return Err(self.refuse(key.span(), problem, help));
                }
            }
        }
        Ok(spec)
    }
}

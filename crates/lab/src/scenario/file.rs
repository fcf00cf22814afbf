//! Scenario files: TOML with the keys of the command line, unknown keys refused.
//!
//! ```toml
//! traffic = "bulk:4MiB"
//! runs = 20
//! [path]
//! home = "rate 25mbit delay 20ms loss 1% limit 100p"     # as on the command line
//! [path.lte]                                             # or key by key
//! trace = "lte.json"
//! delay = "30ms"
//! uplink = { limit = "50p" }
//! events = ["down @20s..35s"]
//! ```

use super::{Options, PathOption};
use crate::error::{Given, InputError, SourceFile, in_file_error};
use crate::words::nearest_help;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Larger files are not scenarios.
const LARGEST: u64 = 1 << 20;

const KEYS: [&str; 19] = [
    "title",
    "path",
    "traffic",
    "http",
    "per-host",
    "protocols",
    "cc",
    "schedulers",
    "path-managers",
    "profile",
    "buffers",
    "nic",
    "reverse",
    "first",
    "runs",
    "runs-max",
    "seed",
    "jobs",
    "baseline",
];
const PATH_KEYS: [&str; 14] = [
    "rate",
    "delay",
    "loss",
    "limit",
    "queue",
    "reorder",
    "duplicate",
    "corrupt",
    "trace",
    "trace-up",
    "profile",
    "events",
    "uplink",
    "downlink",
];

/// The options that the file called `name` asks for.
pub(super) fn read(name: &str) -> Result<Options, InputError> {
    let unreadable = |error: std::io::Error| {
        let help = "give the name of a scenario file, such as `scenarios/demo.toml`";
        InputError::at(name, format!("the scenario cannot be read: {error}"), help)
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(name).map_err(unreadable)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(InputError::at(name, "the scenario is larger than 1 MiB", "check its name"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| InputError::at(name, "the scenario is not a text file", "check its name"))?;
    parse(name, text)
}

/// The options in a scenario's text.
pub(super) fn parse(name: &str, text: String) -> Result<Options, InputError> {
    let file = Arc::new(SourceFile { name: name.to_owned(), text });
    let table = DeTable::parse(&file.text).map_err(|error| {
        let problem = format!("not TOML: {}", error.message());
        let span = error.span().unwrap_or(0..0);
        in_file_error(&file, span, problem, "see the example in `scenarios/demo.toml`".into())
    })?;
    let reader = Reader { file: &file };
    let mut options = Options::default();
    for (key, value) in in_order(table.get_ref()) {
        reader.option(&mut options, key, value)?;
    }
    Ok(options)
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Value<'a> = Spanned<DeValue<'a>>;

/// The entries of a table in the order they stand in the file: paths have one.
fn in_order<'a, 't>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct Reader<'f> {
    file: &'f Arc<SourceFile>,
}

impl Reader<'_> {
    fn refuse(&self, span: Range<usize>, problem: String, help: impl Into<String>) -> InputError {
        in_file_error(self.file, span, problem, help.into())
    }

    fn option(&self, to: &mut Options, key: &Key, value: &Value) -> Result<(), InputError> {
        match key.get_ref().as_ref() {
            "path" => to.paths = self.paths(value)?,
            "protocols" => to.protocols = self.list(key, value)?,
            "cc" => to.cc = self.list(key, value)?,
            "schedulers" => to.schedulers = self.list(key, value)?,
            "path-managers" => to.path_managers = self.list(key, value)?,
            "reverse" => to.reverse = Some(self.yes_or_no(key, value)?),
            "per-host" => to.per_host = Some(self.yes_or_no(key, value)?),
            name => {
                let slot = match name {
                    "title" => &mut to.title,
                    "traffic" => &mut to.traffic,
                    "http" => &mut to.http,
                    "profile" => &mut to.profile,
                    "buffers" => &mut to.buffers,
                    "nic" => &mut to.nic,
                    "first" => &mut to.first,
                    "runs" => &mut to.runs,
                    "runs-max" => &mut to.runs_max,
                    "seed" => &mut to.seed,
                    "jobs" => &mut to.jobs,
                    "baseline" => &mut to.baseline,
                    unknown => {
                        let problem = format!("unknown key `{unknown}`");
                        let help = nearest_help(unknown, &KEYS);
                        return Err(self.refuse(key.span(), problem, help));
                    }
                };
                *slot = Some(self.text(key, value)?);
            }
        }
        Ok(())
    }

    fn yes_or_no(&self, key: &Key, value: &Value) -> Result<bool, InputError> {
        value.get_ref().as_bool().ok_or_else(|| {
            let key = key.get_ref();
            let problem = format!("`{key}` is neither true nor false");
            self.refuse(value.span(), problem, format!("write `{key} = true`"))
        })
    }

    /// A string, or a whole number as one.
    fn text(&self, key: &Key, value: &Value) -> Result<Given, InputError> {
        if let Some(text) = value.get_ref().as_str() {
            return Ok(Given::in_file(self.file, self.inside(value, text), text));
        }
        match value.get_ref().as_integer() {
            Some(number) if number.radix() == 10 => {
                Ok(Given::in_file(self.file, value.span(), number.as_str()))
            }
            _ => {
                let problem = format!("`{}` is not a text", key.get_ref());
                let help = format!("write `{} = \"...\"`", key.get_ref());
                Err(self.refuse(value.span(), problem, help))
            }
        }
    }

    /// The bytes of a string without its quotation marks, if it stands there as it is.
    fn inside(&self, value: &Value, text: &str) -> Range<usize> {
        let span = value.span();
        let inner = span.start + 1..span.end.saturating_sub(1).max(span.start + 1);
        if self.file.text.get(inner.clone()) == Some(text) { inner } else { span }
    }

    /// A text, or a list of texts.
    fn list(&self, key: &Key, value: &Value) -> Result<Vec<Given>, InputError> {
        match value.get_ref().as_array() {
            Some(values) => values.iter().map(|value| self.text(key, value)).collect(),
            None => Ok(vec![self.text(key, value)?]),
        }
    }

    fn paths(&self, value: &Value) -> Result<Vec<PathOption>, InputError> {
        let Some(table) = value.get_ref().as_table() else {
            let help = "write `[path]`, then a line `NAME = \"rate 25mbit delay 20ms\"` for each";
            return Err(self.refuse(value.span(), "`path` is not a table".to_owned(), help));
        };
        let path = |(key, value): (&Key, &Value)| {
            let name = Given::in_file(self.file, key.span(), key.get_ref());
            let spec = match value.get_ref().as_table() {
                Some(table) => {
                    let mut spec = Given::empty_in_file(self.file);
                    self.items(table, "", &mut spec)?;
                    spec
                }
                None => self.text(key, value)?,
            };
            Ok(PathOption::Named { name, spec })
        };
        in_order(table).into_iter().map(path).collect()
    }

    /// Items given key by key, as words of the grammar; `prefix` is their direction.
    fn items(&self, table: &DeTable, prefix: &str, spec: &mut Given) -> Result<(), InputError> {
        for (key, value) in in_order(table) {
            let word = key.get_ref().as_ref();
            let known = PATH_KEYS.contains(&word);
            match word {
                "uplink" | "downlink" if prefix.is_empty() => match value.get_ref().as_table() {
                    Some(table) => self.items(table, word, spec)?,
                    None => {
                        let problem = format!("`{word}` is not a table");
                        let help = format!("write `{word} = {{ rate = \"5mbit\" }}`");
                        return Err(self.refuse(value.span(), problem, help));
                    }
                },
                "events" => {
                    for event in self.list(key, value)? {
                        push_directed(spec, prefix, key);
                        self.push_words(spec, &event.text, value);
                    }
                }
                _ if known => {
                    let text = self.text(key, value)?.text;
                    push_directed(spec, prefix, key);
                    spec.push(word, key.span());
                    let file = word.starts_with("trace") && text.contains(char::is_whitespace);
                    let text = if file { format!("\"{text}\"") } else { text };
                    self.push_words(spec, &text, value);
                }
                unknown => {
                    let problem = format!("unknown key `{unknown}` of a path");
                    let help = nearest_help(unknown, &PATH_KEYS);
                    return Err(self.refuse(key.span(), problem, help));
                }
            }
        }
        Ok(())
    }

    fn push_words(&self, spec: &mut Given, text: &str, value: &Value) {
        spec.push(text, self.inside(value, text));
    }
}

fn push_directed(spec: &mut Given, prefix: &str, key: &Key) {
    if !prefix.is_empty() {
        spec.push(prefix, key.span());
    }
}

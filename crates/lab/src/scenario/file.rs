//! Scenario files: TOML with the keys of the command line, unknown keys refused.
//!
//! `path_table` reads a path that is given key by key, `schema` describes the format to editors.
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

use super::foreign::{FOREIGN, Foreign};
use super::table::{Key as OptionKey, Takes};
use super::{Options, PathOption};
use crate::error::{Given, InputError, SourceFile, in_file_error, sanitised};
use crate::words::{nearest, nearest_help};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Largest scenario file in bytes.
const LARGEST: u64 = 1 << 20;

/// The options in the file `name`.
pub(super) fn read(name: &str) -> Result<Options, InputError> {
    options(&load(name)?)
}

/// The text of the file `name`.
pub(crate) fn load(name: &str) -> Result<Arc<SourceFile>, InputError> {
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
    Ok(Arc::new(SourceFile { name: name.to_owned(), text }))
}

/// The options in a scenario's text.
#[cfg(test)]
pub(super) fn parse(name: &str, text: String) -> Result<Options, InputError> {
    options(&Arc::new(SourceFile { name: name.to_owned(), text }))
}

/// The options of a whole file.
pub(crate) fn options(file: &Arc<SourceFile>) -> Result<Options, InputError> {
    Ok(split(file, table_of(file)?.get_ref(), &[])?.0)
}

/// The TOML in a file.
pub(crate) fn table_of(file: &SourceFile) -> Result<Spanned<DeTable<'_>>, InputError> {
    DeTable::parse(&file.text).map_err(|error| {
        let problem = format!("not TOML: {}", error.message());
        let span = error.span().unwrap_or(0..0);
        in_file_error(file, span, problem, "see the example in `scenarios/demo.toml`".into())
    })
}

/// The options of a table, and the texts of the further keys `own`, in the order of `own`.
pub(crate) fn split(
    file: &Arc<SourceFile>,
    table: &DeTable<'_>,
    own: &[&str],
) -> Result<(Options, Vec<Option<Given>>), InputError> {
    let reader = Reader { file };
    let mut options = Options::default();
    let mut texts = vec![None; own.len()];
    for (key, value) in in_order(table) {
        if let Some(foreign) = Foreign::by_name(key.get_ref())
            && let own = foreign.key.row().name
            && table.contains_key(own)
        {
            let problem = format!("`{}` is {}'s name of `{own}`", foreign.name, foreign.source);
            return Err(reader.refuse(key.span(), problem, "keep one of the two"));
        }
        match own.iter().position(|own| own == key.get_ref()) {
            Some(place) => texts[place] = Some(reader.text(key, value)?),
            None => reader.option(&mut options, key, value, own)?,
        }
    }
    Ok((options, texts))
}

pub(crate) type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// The entries of a table in file order, which is significant for paths.
pub(crate) fn in_order<'a, 't>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Reads values of one file.
pub(crate) struct Reader<'f> {
    pub(crate) file: &'f Arc<SourceFile>,
}

impl Reader<'_> {
    /// The error for these bytes.
    pub(crate) fn refuse(
        &self,
        span: Range<usize>,
        problem: String,
        help: impl Into<String>,
    ) -> InputError {
        in_file_error(self.file, span, problem, help.into())
    }

    /// Takes a key of a scenario; `own` are the other valid keys, for the message.
    fn option(
        &self,
        to: &mut Options,
        key: &Key,
        value: &Value,
        own: &[&str],
    ) -> Result<(), InputError> {
        let name = key.get_ref().as_ref();
        if let Some(foreign) = Foreign::by_name(name) {
            let given = foreign.translate(&self.text(key, value)?)?;
            to.set_texts(foreign.key, vec![given]);
            return Ok(());
        }
        let Some(option) = OptionKey::by_name(name) else {
            let problem = format!("unknown key `{}`", sanitised(name));
            let known = [own, &OptionKey::names()].concat();
            let elsewhere = FOREIGN.iter().map(|foreign| foreign.name);
            let help = match nearest(name, known.iter().copied().chain(elsewhere)) {
                Some(near) if !known.contains(&near) => format!("did you mean `{near}`?"),
                _ => nearest_help(name, &known),
            };
            return Err(self.refuse(key.span(), problem, help));
        };
        match option.row().takes {
            Takes::Switch => {
                let on = self.yes_or_no(key, value)?;
                let given = Given::in_file(self.file, value.span(), &on.to_string());
                to.set_switch_in_file(option, on, given);
            }
            Takes::Text => to.set_texts(option, vec![self.text(key, value)?]),
            Takes::List => {
                let texts = self.list(key, value)?;
                if texts.is_empty() {
                    let problem = format!("`{name}` is an empty list");
                    return Err(self.refuse(
                        value.span(),
                        problem,
                        "name a value, or leave it out",
                    ));
                }
                to.set_texts(option, texts);
            }
            Takes::Described if option == OptionKey::Flow => {
                to.set_described(option, self.flows(value)?);
            }
            Takes::Described => to.set_described(option, self.paths(name, value)?),
        }
        Ok(())
    }

    pub(crate) fn yes_or_no(&self, key: &Key, value: &Value) -> Result<bool, InputError> {
        value.get_ref().as_bool().ok_or_else(|| {
            let key = key.get_ref();
            let problem = format!("`{key}` is neither true nor false");
            self.refuse(value.span(), problem, format!("write `{key} = true`"))
        })
    }

    /// A string, or a number as written.
    pub(crate) fn text(&self, key: &Key, value: &Value) -> Result<Given, InputError> {
        if let Some(text) = value.get_ref().as_str() {
            return Ok(Given::in_file(self.file, self.inside(value, text), text));
        }
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        let refuse = || {
            let problem = format!("`{}` is not a text", key.get_ref());
            let help = format!("write `{} = \"...\"`", key.get_ref());
            self.refuse(value.span(), problem, help)
        };
        let number = number.ok_or_else(refuse)?;
        Ok(Given::in_file(self.file, value.span(), number))
    }

    /// The bytes of a string without its quotes, if it has no escapes.
    pub(super) fn inside(&self, value: &Value, text: &str) -> Range<usize> {
        let span = value.span();
        let inner = span.start + 1..span.end.saturating_sub(1).max(span.start + 1);
        if self.file.text.get(inner.clone()) == Some(text) { inner } else { span }
    }

    /// A text, or a list of texts.
    pub(crate) fn list(&self, key: &Key, value: &Value) -> Result<Vec<Given>, InputError> {
        match value.get_ref().as_array() {
            Some(values) => values.iter().map(|value| self.text(key, value)).collect(),
            None => Ok(vec![self.text(key, value)?]),
        }
    }

    fn paths(&self, what: &str, value: &Value) -> Result<Vec<PathOption>, InputError> {
        let Some(table) = value.get_ref().as_table() else {
            let line = "NAME = \"rate 25mbit delay 20ms\"";
            let help = format!("write `[{what}]`, then a line `{line}` for each");
            return Err(self.refuse(value.span(), format!("`{what}` is not a table"), help));
        };
        let path = |(key, value): (&Key, &Value)| {
            let name = Given::in_file(self.file, key.span(), key.get_ref());
            let spec = match value.get_ref().as_table() {
                Some(table) => {
                    let mut spec = Given::empty_in_file(self.file);
                    self.path_items(table, "", &mut spec)?;
                    self.placed(spec, key)
                }
                None => self.text(key, value)?,
            };
            Ok(PathOption::Named { name, spec })
        };
        in_order(table).into_iter().map(path).collect()
    }

    /// The items of a table; without any, a message is about its name.
    fn placed(&self, spec: Given, key: &Key) -> Given {
        if spec.text.is_empty() { Given::in_file(self.file, key.span(), "") } else { spec }
    }

    fn flows(&self, value: &Value) -> Result<Vec<PathOption>, InputError> {
        let Some(table) = value.get_ref().as_table() else {
            let help = "write `[flow]`, then a line `NAME = \"tcp on wlan cc reno\"` for each";
            return Err(self.refuse(value.span(), "`flow` is not a table".to_owned(), help));
        };
        let flow = |(key, value): (&Key, &Value)| {
            let name = Given::in_file(self.file, key.span(), key.get_ref());
            let spec = match value.get_ref().as_table() {
                Some(table) => self.placed(self.flow_items(table)?, key),
                None => self.text(key, value)?,
            };
            Ok(PathOption::Named { name, spec })
        };
        in_order(table).into_iter().map(flow).collect()
    }
}

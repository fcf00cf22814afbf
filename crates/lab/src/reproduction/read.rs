//! Tables of claims files, value by value; what is wrong is refused with its place.
//!
//! `claims` says which keys there are and what they mean.

use crate::error::{Given, InputError, SourceFile};
use crate::scenario::{Options, Reader, Value, in_order, split};
use crate::words::nearest_help;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A table of a file.
#[derive(Clone, Copy)]
pub(super) struct Table<'t> {
    file: &'t Arc<SourceFile>,
    table: &'t DeTable<'t>,
}

impl<'t> Table<'t> {
    /// A table whose keys are all in `known`.
    pub(super) fn new(
        file: &'t Arc<SourceFile>,
        table: &'t DeTable<'t>,
        known: &[&str],
    ) -> Result<Table<'t>, InputError> {
        let found = Table { file, table };
        for (key, _) in in_order(table) {
            if !known.contains(&key.get_ref().as_ref()) {
                let problem = format!("unknown key `{}`", key.get_ref());
                let help = nearest_help(key.get_ref(), known);
                return Err(found.reader().refuse(key.span(), problem, help));
            }
        }
        Ok(found)
    }

    fn reader(&self) -> Reader<'t> {
        Reader { file: self.file }
    }

    fn value(&self, key: &str) -> Option<&'t Value<'t>> {
        self.table.get(key)
    }

    /// A string, or a number as written.
    pub(super) fn text(&self, key: &str) -> Result<Option<Given>, InputError> {
        let found = self.table.get_key_value(key);
        found.map(|(key, value)| self.reader().text(key, value)).transpose()
    }

    /// A string that has to be there.
    pub(super) fn required(&self, key: &str) -> Result<Given, InputError> {
        self.text(key)?.ok_or_else(|| {
            let place = self.table.iter().map(|(key, _)| key.span()).next();
            let help = format!("write `{key} = \"...\"`");
            self.reader().refuse(place.unwrap_or(0..0), format!("no `{key}` here"), help)
        })
    }

    /// A string or a list of them; none if the key is absent.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<Given>, InputError> {
        let found = self.table.get_key_value(key);
        let list = found.map(|(key, value)| self.reader().list(key, value)).transpose()?;
        Ok(list.unwrap_or_default())
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, InputError> {
        let read = |given: Given| {
            let help = format!("write `{key} = 0.05`, in seconds, bit/s or as a share");
            let problem = format!("`{key}` is not a number");
            given.text.parse::<f64>().map_err(|_| given.refuse_whole(problem, help))
        };
        self.text(key)?.map(read).transpose()
    }

    /// Whether the value is `false`.
    pub(super) fn is_off(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| value.get_ref().as_bool() == Some(false))
    }

    /// The tables of an array, in their order, with the keys `known`.
    pub(super) fn tables(&self, key: &str, known: &[&str]) -> Result<Vec<Table<'t>>, InputError> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let table = |value: &'t Value<'t>| match value.get_ref().as_table() {
            Some(table) => Table::new(self.file, table, known),
            None => Err(self.not_tables(key, value)),
        };
        match value.get_ref() {
            DeValue::Array(all) => all.iter().map(table).collect(),
            _ => Err(self.not_tables(key, value)),
        }
    }

    /// The tables of a table by name, in the order of the file.
    pub(super) fn named(
        &self,
        key: &str,
        known: &[&str],
    ) -> Result<Vec<(String, Table<'t>)>, InputError> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let all = value.get_ref().as_table().ok_or_else(|| self.not_tables(key, value))?;
        let one = |(name, value): (&'t toml::Spanned<_>, &'t Value<'t>)| {
            let name: &std::borrow::Cow<'_, str> = name.get_ref();
            let table = value.get_ref().as_table().ok_or_else(|| self.not_tables(name, value))?;
            Ok((name.to_string(), Table::new(self.file, table, known)?))
        };
        in_order(all).into_iter().map(one).collect()
    }

    /// The keys of a scenario in a table; none if the key is absent or `false`.
    pub(super) fn options(&self, key: &str) -> Result<Options, InputError> {
        let Some(value) = self.value(key).filter(|_| !self.is_off(key)) else {
            return Ok(Options::default());
        };
        let table = value.get_ref().as_table().ok_or_else(|| self.not_tables(key, value))?;
        Ok(split(self.file, table, &[])?.0)
    }

    fn not_tables(&self, key: &str, value: &Value<'_>) -> InputError {
        let help = format!("write `{key} = {{ ... }}`, or a list of such tables where several are");
        self.reader().refuse(value.span(), format!("`{key}` is not a table"), help)
    }
}

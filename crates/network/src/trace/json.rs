//! JSON arrays of `{"duration_ms": ..., "bandwidth_kbps": ...}` (the logs of sabre, MMSys 2018).
//!
//! A small parser of an array of flat objects. It keeps the line for messages and skips other names
//! with plain values.

use super::columns::{number, rate};
use super::detect::Unit;
use super::error::{TraceError, TraceFault};
use super::{CapacityTrace, MAX_BPS, MAX_SECS};
use base::{Duration, Rate};

pub(super) fn read(text: &str) -> Result<CapacityTrace, TraceError> {
    let mut reader = Reader { rest: text, line: 1 };
    reader.expect('[', "an array of objects with `duration_ms` and `bandwidth_kbps`")?;
    let mut steps = Vec::new();
    while !reader.take(']') {
        if !steps.is_empty() {
            reader.expect(',', "`,` or `]` after an object")?;
        }
        steps.push(reader.sample()?);
    }
    reader.skip_space();
    if !reader.rest.is_empty() {
        return Err(reader.malformed("the end of the file after `]`"));
    }
    CapacityTrace::from_steps(&steps).map_err(TraceFault::whole)
}

/// The rest of the text, and the line where it begins.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    /// One object.
    fn sample(&mut self) -> Result<(Duration, Rate), TraceError> {
        const WANTED: &str = "an object with `duration_ms` and `bandwidth_kbps`";
        self.expect('{', WANTED)?;
        let line = self.line;
        let (mut duration, mut kbps) = (None, None);
        while !self.take('}') {
            let name = self.string()?;
            self.expect(':', "`:` after a name")?;
            let value = self.scalar()?;
            match name {
                "duration_ms" => duration = Some(self.number(value, MAX_SECS * 1000.0)?),
                "bandwidth_kbps" => kbps = Some(self.number(value, MAX_BPS / 1000.0)?),
                _ => {}
            }
            self.take(',');
        }
        let (Some(millis), Some(kbps)) = (duration, kbps) else {
            return Err(TraceFault::malformed("this object", WANTED).at(line));
        };
        let rate = rate(kbps, Unit::Kbit).unwrap_or_default();
        Ok((Duration::from_secs_f64(millis / 1000.0), rate))
    }

    /// A string without escapes.
    fn string(&mut self) -> Result<&'a str, TraceError> {
        self.expect('"', "a name in quotes")?;
        let Some((content, rest)) = self.rest.split_once('"') else {
            return Err(self.malformed("a name in quotes"));
        };
        self.line += content.matches('\n').count();
        self.rest = rest;
        Ok(content)
    }

    /// The text of a number, word or string.
    fn scalar(&mut self) -> Result<&'a str, TraceError> {
        self.skip_space();
        if self.rest.starts_with('"') {
            return self.string();
        }
        let end = self.rest.find(|c: char| c == ',' || c == '}' || c == ']' || c.is_whitespace());
        let (value, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if value.is_empty() || value.starts_with(['{', '[']) {
            return Err(self.malformed("a number or a plain value"));
        }
        self.rest = rest;
        Ok(value)
    }

    fn number(&self, text: &str, max: f64) -> Result<f64, TraceError> {
        number(text, max).map_err(|fault| fault.at(self.line))
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char, what: &'static str) -> Result<(), TraceError> {
        if self.take(wanted) { Ok(()) } else { Err(self.malformed(what)) }
    }

    fn malformed(&self, wanted: &'static str) -> TraceError {
        let found = self.rest.lines().next().unwrap_or_default();
        let found = if found.is_empty() { "the end of the file" } else { found };
        TraceFault::malformed(found, wanted).at(self.line)
    }

    fn skip_space(&mut self) {
        let rest = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - rest.len()];
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

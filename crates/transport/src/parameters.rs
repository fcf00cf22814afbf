//! Parameters of schedulers, congestion controls, path policies and path managers, given after the
//! name: `ecf:beta=0.5`, `drepas:interval=3s`.
//!
//! The keys, ranges and defaults are a table in the file of the policy; parsing and refusals are
//! here. `wrr:3,1` has weights instead, which its own file parses.

use base::Duration;
use std::fmt::Write;

/// The kind of a value, which determines its syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number.
    Real,
    /// A whole number.
    Whole,
    /// A time: `100ms`, `3s`. Stored in milliseconds.
    Time,
    /// A size: `512B`, `1KiB`. Stored in bytes.
    Size,
    /// `on` or `off`. Stored as one or zero.
    Switch,
}

/// Units of a time in milliseconds. A unit precedes those that are a suffix of it.
const TIMES: &[(&str, f64)] = &[("ms", 1.0), ("s", 1000.0)];
/// The words of a switch that is off and on.
const SWITCH: [&str; 2] = ["off", "on"];
/// Units of a size in bytes. A unit precedes those that are a suffix of it.
const SIZES: &[(&str, f64)] = &[("KiB", 1024.0), ("kB", 1000.0), ("B", 1.0)];

impl Kind {
    /// The value of a text; `None` if it has none of this kind.
    fn parse(self, text: &str) -> Option<f64> {
        let (number, factor) = match self {
            Kind::Switch => {
                return SWITCH.iter().position(|word| *word == text).map(|on| on as f64);
            }
            Kind::Real | Kind::Whole => (text, 1.0),
            Kind::Time => split_unit(text, TIMES)?,
            Kind::Size => split_unit(text, SIZES)?,
        };
        let value = number.parse::<f64>().ok()? * factor;
        let whole = matches!(self, Kind::Whole | Kind::Size);
        (!whole || value.fract() == 0.0).then_some(value)
    }

    /// The text of a value.
    pub fn show(self, value: f64) -> String {
        match self {
            Kind::Real | Kind::Whole => value.to_string(),
            Kind::Switch => SWITCH[usize::from(value != 0.0)].to_owned(),
            Kind::Time if value >= 1000.0 => format!("{}s", value / 1000.0),
            Kind::Time => format!("{value}ms"),
            Kind::Size if value >= 1024.0 && value % 1024.0 == 0.0 => {
                format!("{}KiB", value / 1024.0)
            }
            Kind::Size => format!("{value}B"),
        }
    }
}

/// Number and factor of `3s`. The unit is mandatory.
fn split_unit<'t>(text: &'t str, units: &[(&str, f64)]) -> Option<(&'t str, f64)> {
    units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
}

/// A value that a user may set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// The key.
    pub key: &'static str,
    /// The meaning, with the unit.
    pub about: &'static str,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// The value if the user gives none.
    pub default: f64,
    /// The kind of its value, which determines the syntax.
    pub kind: Kind,
    /// The source of the default.
    pub source: &'static str,
}

impl Parameter {
    /// `from 0 to 4 (0.25 in multipath-tcp kernel v0.95)`.
    pub fn range(&self) -> String {
        let whole = if self.kind == Kind::Whole { "a whole number " } else { "" };
        let [least, most, default] =
            [self.least, self.most, self.default].map(|value| self.kind.show(value));
        if self.kind == Kind::Switch {
            return format!("{least} or {most} ({default} in {})", self.source);
        }
        format!("{whole}from {least} to {most} ({default} in {})", self.source)
    }

    /// The value of a text, if it is in the range.
    fn parse(&self, text: &str) -> Option<f64> {
        debug_assert!(self.least <= self.default && self.default <= self.most, "{self:?}");
        self.kind.parse(text).filter(|value| (self.least..=self.most).contains(value))
    }

    /// The text that sets the default: `ecf:beta=0.25`.
    pub fn example(&self, name: &str) -> String {
        format!("{name}:{}={}", self.key, self.kind.show(self.default))
    }
}

/// The reason for refusing parameters, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The mistake, in one sentence.
    pub problem: String,
    /// The remedy: what is allowed, with an example.
    pub help: String,
}

/// The values of the parameters of one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    table: &'static [Parameter],
    given: Vec<(&'static str, f64)>,
}

impl Settings {
    /// The defaults of all parameters.
    pub const fn defaults(table: &'static [Parameter]) -> Self {
        Settings { table, given: Vec::new() }
    }

    /// Parses `key=value,...` for the policy `name`.
    ///
    /// # Errors
    /// A key that is not in the table or is given twice, and a value outside its range.
    pub fn parse(name: &str, table: &'static [Parameter], text: &str) -> Result<Self, Refused> {
        let mut settings = Settings::defaults(table);
        for word in text.split(',') {
            let word = word.trim();
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(parameter) = table.iter().find(|parameter| parameter.key == key.trim()) else {
                return Err(unknown(name, table, key.trim()));
            };
            let value = value.trim();
            let number = parameter.parse(value);
            let Some(number) = number else { return Err(out_of_range(name, parameter, value)) };
            if settings.given(parameter.key).is_some() {
                let problem = format!("`{}` of `{name}` is given twice", parameter.key);
                return Err(Refused { problem, help: "keep one".to_owned() });
            }
            settings.given.push((parameter.key, number));
        }
        Ok(settings)
    }

    /// The value, if it was given.
    pub fn given(&self, key: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The value or its default; zero for a key that is not in the table.
    pub fn number(&self, key: &str) -> f64 {
        let default = || self.table.iter().find(|parameter| parameter.key == key);
        self.given(key).or_else(|| default().map(|parameter| parameter.default)).unwrap_or(0.0)
    }

    /// The value as a whole number.
    pub fn whole(&self, key: &str) -> u32 {
        // Ranges are within those of the type.
        self.number(key) as u32
    }

    /// The value in thousandths, rounded.
    pub fn thousandths(&self, key: &str) -> u64 {
        (self.number(key) * 1000.0 + 0.5) as u64
    }

    /// The value as a time, to the microsecond.
    pub fn time(&self, key: &str) -> Duration {
        Duration::from_micros(self.thousandths(key))
    }

    /// Whether a switch is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.number(key) != 0.0
    }
}

fn unknown(name: &str, table: &[Parameter], key: &str) -> Refused {
    let problem = format!("`{name}` has no parameter `{key}`");
    if table.is_empty() {
        return Refused { problem, help: format!("write `{name}` alone: it has none") };
    }
    let mut help = String::from("there is ");
    for (number, parameter) in table.iter().enumerate() {
        let comma = if number == 0 { "" } else { "; " };
        // Writing to a string cannot fail.
        let _ = write!(help, "{comma}`{}`, {}", parameter.key, parameter.range());
    }
    Refused { problem, help }
}

fn out_of_range(name: &str, parameter: &Parameter, value: &str) -> Refused {
    let Parameter { key, about, .. } = parameter;
    let problem = match value {
        "" => format!("`{key}` of `{name}` has no value"),
        _ => format!("`{key}` of `{name}` cannot be `{value}`"),
    };
    let help = format!("{about}: {}, as in `{}`", parameter.range(), parameter.example(name));
    Refused { problem, help }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] = &[
        Parameter {
            key: "beta",
            about: "hysteresis, a share",
            least: 0.0,
            most: 4.0,
            default: 0.25,
            kind: Kind::Real,
            source: "some kernel",
        },
        Parameter {
            key: "optim",
            about: "a switch",
            least: 0.0,
            most: 2.0,
            default: 1.0,
            kind: Kind::Whole,
            source: "some paper",
        },
        Parameter {
            key: "interval",
            about: "how long",
            least: 100.0,
            most: 60_000.0,
            default: 3000.0,
            kind: Kind::Time,
            source: "some paper",
        },
        Parameter {
            key: "size",
            about: "how much",
            least: 1.0,
            most: 1400.0,
            default: 1024.0,
            kind: Kind::Size,
            source: "some paper",
        },
    ];

    #[test]
    fn values_are_those_given_or_the_defaults() {
        let settings = Settings::parse("ecf", TABLE, "optim=0, beta=0.5").unwrap();
        assert_eq!((settings.thousandths("beta"), settings.is_on("optim")), (500, false));
        let defaults = Settings::defaults(TABLE);
        assert_eq!((defaults.thousandths("beta"), defaults.whole("optim")), (250, 1));
    }

    #[test]
    fn refusals_name_range_default_and_source() {
        let refused = |text| Settings::parse("ecf", TABLE, text).unwrap_err();
        let Refused { problem, help } = refused("beta=5");
        assert_eq!(problem, "`beta` of `ecf` cannot be `5`");
        let range = "hysteresis, a share: from 0 to 4 (0.25 in some kernel)";
        assert_eq!(help, format!("{range}, as in `ecf:beta=0.25`"));
        for wrong in ["beta=nan", "beta=-1", "beta=", "beta", "optim=0.5", "beta=inf", "beta=1e9"] {
            assert!(refused(wrong).help.contains("from 0 to"), "{wrong}");
        }
        assert_eq!(refused("beta=1,beta=2").problem, "`beta` of `ecf` is given twice");
        let Refused { problem, help } = refused("gamma=1");
        assert_eq!(problem, "`ecf` has no parameter `gamma`");
        let optim = "; `optim`, a whole number from 0 to 2 (1 in some paper); ";
        assert!(help.starts_with("there is `beta`, from 0 to 4") && help.contains(optim));
        assert!(Settings::parse("rr", &[], "x=1").unwrap_err().help.contains("it has none"));
    }

    #[test]
    fn times_and_sizes_have_units() {
        let settings = Settings::parse("x", TABLE, "interval=0.5s,size=1KiB").unwrap();
        assert_eq!(settings.time("interval"), Duration::from_millis(500));
        assert_eq!(settings.whole("size"), 1024);
        let settings = Settings::parse("x", TABLE, "interval=250ms,size=512B").unwrap();
        assert_eq!(settings.time("interval"), Duration::from_millis(250));
        assert_eq!(settings.whole("size"), 512);
        let refused = |text| Settings::parse("x", TABLE, text).unwrap_err().help;
        for wrong in ["interval=3", "interval=99ms", "interval=2min", "interval=s", "interval=61s"]
        {
            let help = "how long: from 100ms to 60s (3s in some paper), as in `x:interval=3s`";
            assert_eq!(refused(wrong), help, "{wrong}");
        }
        for wrong in ["size=1024", "size=2KiB", "size=0.3B", "size=1ms", "size=B"] {
            let help = "how much: from 1B to 1400B (1KiB in some paper), as in `x:size=1KiB`";
            assert_eq!(refused(wrong), help, "{wrong}");
        }
    }
}

//! Parameters of schedulers, given with the name: `ecf:beta=0.5` (schedulers spec s12a).
//!
//! What there is to set, the range of each value and where its default comes from is a table in
//! the scheduler's file; reading and refusing is here. `wrr:3,1` has weights instead (`table`).

use std::fmt::Write;

/// A number that a scheduler lets be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name.
    pub key: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// The smallest value.
    pub least: f64,
    /// The largest.
    pub most: f64,
    pub default: f64,
    /// Only whole numbers.
    pub whole: bool,
    /// Whose default it is.
    pub source: &'static str,
}

impl Parameter {
    /// `from 0 to 4 (0.25 in multipath-tcp kernel v0.95)`.
    pub fn range(&self) -> String {
        let whole = if self.whole { "a whole number " } else { "" };
        let Parameter { least, most, default, source, .. } = self;
        format!("{whole}from {least} to {most} ({default} in {source})")
    }

    fn takes(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && (!self.whole || value.fract() == 0.0)
    }
}

/// Why parameters are refused, and the mend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub problem: String,
    pub help: String,
}

/// The values for one scheduler.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    table: &'static [Parameter],
    given: Vec<(&'static str, f64)>,
}

impl Settings {
    /// All at their defaults.
    pub const fn defaults(table: &'static [Parameter]) -> Self {
        Settings { table, given: Vec::new() }
    }

    /// From `key=value,...`, for the scheduler `name`.
    ///
    /// # Errors
    /// A key that the table lacks or that comes twice, and a value outside its range.
    pub fn parse(name: &str, table: &'static [Parameter], text: &str) -> Result<Self, Refused> {
        let mut settings = Settings::defaults(table);
        for word in text.split(',') {
            let word = word.trim();
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(parameter) = table.iter().find(|parameter| parameter.key == key.trim()) else {
                return Err(unknown(name, table, key.trim()));
            };
            let value = value.trim();
            let number = value.parse().ok().filter(|number| parameter.takes(*number));
            let Some(number) = number else { return Err(out_of_range(name, parameter, value)) };
            if settings.given(parameter.key).is_some() {
                let problem = format!("`{}` of `{name}` is given twice", parameter.key);
                return Err(Refused { problem, help: "keep one".to_owned() });
            }
            settings.given.push((parameter.key, number));
        }
        Ok(settings)
    }

    /// The value if it was given.
    pub fn given(&self, key: &str) -> Option<f64> {
        self.given.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The value, or its default; zero for a key that the table lacks.
    pub fn number(&self, key: &str) -> f64 {
        let default = || self.table.iter().find(|parameter| parameter.key == key);
        self.given(key).or_else(|| default().map(|parameter| parameter.default)).unwrap_or(0.0)
    }

    /// The same as a whole number.
    pub fn whole(&self, key: &str) -> u32 {
        // Ranges are within those of the type.
        self.number(key) as u32
    }

    /// The same in thousandths, rounded.
    pub fn thousandths(&self, key: &str) -> u64 {
        (self.number(key) * 1000.0 + 0.5) as u64
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
    let Parameter { key, about, default, .. } = parameter;
    let problem = match value {
        "" => format!("`{key}` of `{name}` has no value"),
        _ => format!("`{key}` of `{name}` cannot be `{value}`"),
    };
    let help = format!("{about}: {}, as in `{name}:{key}={default}`", parameter.range());
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
            whole: false,
            source: "some kernel",
        },
        Parameter {
            key: "optim",
            about: "a switch",
            least: 0.0,
            most: 2.0,
            default: 1.0,
            whole: true,
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
        let optim = "`optim`, a whole number from 0 to 2 (1 in some paper)";
        assert!(help.starts_with("there is `beta`, from 0 to 4") && help.ends_with(optim));
        assert!(Settings::parse("rr", &[], "x=1").unwrap_err().help.contains("it has none"));
    }
}

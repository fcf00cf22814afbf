//! What follows the colon of a scheduler's name: `blest:lambda=1.1,reinjection=nsdi12`,
//! `wrr:3,1`.
//!
//! `reinjection` is common to all schedulers; the rest is `wrr`'s weights or
//! belongs to the table of parameters in the scheduler's file.

use super::blest;
use super::table::parameters;
use crate::parameters::{Refused, Settings};
use crate::reinjection::{self, Opportunistic};

/// The largest weight of `wrr`.
const MAX_WEIGHT: u32 = 255;

/// The parameters of a scheduler.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerParameters {
    /// Weights of `wrr`, one for each interface, from 1 to 255.
    pub weights: Option<Vec<u32>>,
    /// Values of the parameters in the scheduler's table.
    pub settings: Settings,
    /// The reinjection; `None`: that of the scheduler's source.
    pub reinjection: Option<Opportunistic>,
}

impl SchedulerParameters {
    /// The defaults of the scheduler `name`.
    pub fn defaults(name: &str) -> Self {
        let settings = Settings::defaults(parameters(name));
        SchedulerParameters { weights: None, settings, reinjection: None }
    }

    /// Parses the text after the colon of the scheduler `name`.
    ///
    /// # Errors
    /// A parameter that this scheduler lacks, one that is given twice, and a value out of its
    /// range.
    pub fn parse(name: &str, text: &str) -> Result<Self, Refused> {
        let mut asked = SchedulerParameters::defaults(name);
        let mut own = Vec::new();
        for word in text.split(',').map(str::trim) {
            match word.split_once('=').unwrap_or((word, "")) {
                ("reinjection", value) => asked.set_reinjection(name, value)?,
                (key, _) if name != "wrr" && !is_known(name, key) => {
                    return Err(unknown(name, key));
                }
                _ => own.push(word),
            }
        }
        if name == "wrr" && !own.is_empty() {
            asked.weights = Some(weights(&own).ok_or_else(|| wrong_weights(text))?);
        } else if !own.is_empty() {
            asked.settings = Settings::parse(name, parameters(name), &own.join(","))?;
            if [blest::ROW.name, blest::KERNEL_ROW.name].contains(&name) {
                blest::check(name, &asked.settings)?;
            }
        }
        Ok(asked)
    }

    fn set_reinjection(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        let problem = match Opportunistic::by_name(value.trim()) {
            Some(_) if self.reinjection.is_some() => {
                let problem = format!("`reinjection` of `{name}` is given twice");
                return Err(Refused { problem, help: "keep one".to_owned() });
            }
            Some(mode) => {
                self.reinjection = Some(mode);
                return Ok(());
            }
            None if value.is_empty() => format!("`reinjection` of `{name}` has no value"),
            None => format!("`reinjection` of `{name}` cannot be `{value}`"),
        };
        Err(Refused { problem, help: format!("it is {}", one_of_the_names()) })
    }
}

/// The weights in `3`, `1`: one for each interface, from 1 to 255. `None`: they are not that.
fn weights(words: &[&str]) -> Option<Vec<u32>> {
    let weight = |word: &&str| {
        let weight: u32 = word.parse().ok()?;
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        (digits && (1..=MAX_WEIGHT).contains(&weight)).then_some(weight)
    };
    words.iter().map(weight).collect()
}

fn wrong_weights(text: &str) -> Refused {
    Refused {
        problem: format!("the weights of `wrr:{text}` are not whole numbers from 1 to 255"),
        help: "write one for each path in the order of the paths: `wrr:3,1`".to_owned(),
    }
}

fn is_known(name: &str, key: &str) -> bool {
    parameters(name).iter().any(|parameter| parameter.key == key.trim())
}

fn unknown(name: &str, key: &str) -> Refused {
    let own = parameters(name).iter().map(|own| format!("`{}`, {}; ", own.key, own.range()));
    Refused {
        problem: format!("`{name}` has no parameter `{key}`"),
        help: format!("there is {}`reinjection`, {}", own.collect::<String>(), one_of_the_names()),
    }
}

fn one_of_the_names() -> String {
    let names: Vec<&str> = reinjection::NAMES.iter().map(|(name, ..)| *name).collect();
    format!("one of {}; without it as the scheduler's source has it", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_whole_numbers_from_1_to_255() {
        let weights = |text| SchedulerParameters::parse("wrr", text).map(|asked| asked.weights);
        assert_eq!(weights("3, 1"), Ok(Some(vec![3, 1])));
        assert_eq!(weights("3,1,reinjection=off"), Ok(Some(vec![3, 1])));
        assert_eq!(weights("reinjection=off"), Ok(None));
        for wrong in ["", "3,", "0", "256", "+3", "a", "3,beta=1"] {
            assert!(weights(wrong).unwrap_err().help.contains("`wrr:3,1`"), "{wrong}");
        }
    }

    #[test]
    fn reinjection_goes_with_any_scheduler_and_its_own_parameters() {
        for (name, ..) in super::super::NAMES {
            let asked = SchedulerParameters::parse(name, "reinjection=nsdi12").unwrap();
            assert_eq!(asked.reinjection, Some(Opportunistic::Nsdi12), "{name}");
        }
        let asked = SchedulerParameters::parse("ecf", "reinjection=off,beta=1").unwrap();
        assert_eq!(asked.reinjection, Some(Opportunistic::Off));
        assert_eq!(asked.settings.number("beta"), 1.0);
    }

    #[test]
    fn refusals_say_what_there_is() {
        let refused = |name, text| SchedulerParameters::parse(name, text).unwrap_err();
        let names = "one of off, nsdi12, p004, conext13, kernel, retrans-only; without it as the \
                     scheduler's source has it";
        let Refused { problem, help } = refused("lrf", "reinjection=retrans_only");
        assert_eq!(problem, "`reinjection` of `lrf` cannot be `retrans_only`");
        assert_eq!(help, format!("it is {names}"));
        assert_eq!(refused("lrf", "reinjection").problem, "`reinjection` of `lrf` has no value");
        let twice = refused("rr", "reinjection=off,reinjection=kernel");
        assert_eq!(twice.problem, "`reinjection` of `rr` is given twice");
        let Refused { problem, help } = refused("rr", "beta=1");
        assert_eq!(problem, "`rr` has no parameter `beta`");
        assert_eq!(help, format!("there is `reinjection`, {names}"));
        let help = refused("linux", "grant=1").help;
        assert!(help.starts_with("there is `burst`, a whole number from 1 to 65535"), "{help}");
        assert!(help.ends_with(names), "{help}");
    }
}

//! A policy chosen by name, with the parameters that are set: `ecf:beta=0.5`, `wrr:3,1`,
//! `olia:min-ssthresh=1`, `drepas:interval=2s`.
//!
//! A text is read once, where it enters the program; the engine receives a row of a table and
//! values within their ranges, so it never gets an unknown name. The tables are those of
//! `scheduler`, `congestion` and `path_policy`.

use crate::parameters::{Parameter, Refused};
use std::fmt::{self, Debug, Display};
use std::str::FromStr;
use std::sync::Arc;

/// A row of a table of policies.
pub trait Row: Sized + 'static {
    /// The text after the colon, understood.
    type Values;
    /// The kind of policy, for messages: `scheduler`.
    const KIND: &'static str;

    /// All rows, in the order in which they are listed.
    fn table() -> &'static [Self];
    /// The name, one sentence and the source.
    fn about(&self) -> (&'static str, &'static str, &'static str);
    /// The parameters that can be set.
    fn parameters(&self) -> &'static [Parameter];
    /// The values if nothing is set.
    fn defaults(&self) -> Self::Values;
    /// The values in a text such as `beta=0.5`.
    ///
    /// # Errors
    /// A parameter that this row lacks, one that is given twice, and a value out of its range.
    fn parse(&self, text: &str) -> Result<Self::Values, Refused>;

    /// Other names in use, in lower case, each with the name of its row.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
}

/// A row of the table of `R` and the parameters that are set.
pub struct Choice<R: Row> {
    row: &'static R,
    /// `None`: nothing is set.
    set: Option<Arc<Set<R>>>,
}

struct Set<R: Row> {
    /// As written, without blanks: the name of a variant keeps the spelling of the user.
    written: String,
    values: R::Values,
}

impl<R: Row> Choice<R> {
    /// This row with its defaults.
    pub const fn of(row: &'static R) -> Self {
        Choice { row, set: None }
    }

    /// The row of that name, or of another name of it, with its defaults; the case does not matter.
    pub fn find(name: &str) -> Option<Self> {
        let name = own_name(name, R::ALIASES);
        R::table().iter().find(|row| row.about().0 == name).map(Self::of)
    }

    /// Every row with its defaults.
    pub fn all() -> impl Iterator<Item = Self> {
        R::table().iter().map(Self::of)
    }

    /// The same row with the parameters in a text such as `beta=0.5, sigma=2`.
    ///
    /// # Errors
    /// As [`Row::parse`].
    pub fn with(&self, text: &str) -> Result<Self, Refused> {
        let written: String = text.split_whitespace().collect();
        let values = self.row.parse(&written)?;
        Ok(Choice { row: self.row, set: Some(Arc::new(Set { written, values })) })
    }

    /// The name without parameters.
    pub fn name(&self) -> &'static str {
        self.row.about().0
    }

    /// The row.
    pub const fn row(&self) -> &'static R {
        self.row
    }

    /// The parameters as written; `None` if nothing is set.
    pub fn written(&self) -> Option<&str> {
        self.set.as_deref().map(|set| set.written.as_str())
    }

    /// What `read` makes of the values.
    pub fn values<T>(&self, read: impl FnOnce(&R::Values) -> T) -> T {
        match &self.set {
            Some(set) => read(&set.values),
            None => read(&self.row.defaults()),
        }
    }
}

impl<R: Row> Clone for Choice<R> {
    fn clone(&self) -> Self {
        Choice { row: self.row, set: self.set.clone() }
    }
}

/// Two choices are equal if they are spelled alike.
impl<R: Row> PartialEq for Choice<R> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.written() == other.written()
    }
}

impl<R: Row> Eq for Choice<R> {}

/// A choice equals its spelling.
impl<R: Row> PartialEq<&str> for Choice<R> {
    fn eq(&self, other: &&str) -> bool {
        match self.written() {
            None => self.name() == *other,
            Some(written) => other.split_once(':') == Some((self.name(), written)),
        }
    }
}

/// The name with the parameters that are set, in the syntax of an option.
impl<R: Row> Display for Choice<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            None => f.pad(self.name()),
            Some(written) => write!(f, "{}:{written}", self.name()),
        }
    }
}

/// The same in quotation marks.
impl<R: Row> Debug for Choice<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.to_string(), f)
    }
}

/// Reads what `Display` writes. A command line reports unknown names in more detail.
impl<R: Row> FromStr for Choice<R> {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let (name, set) = match text.split_once(':') {
            Some((name, set)) => (name.trim(), Some(set)),
            None => (text, None),
        };
        let choice = Choice::find(name).ok_or_else(|| unknown::<R>(name))?;
        set.map_or(Ok(choice.clone()), |set| choice.with(set))
    }
}

/// The name in lower case with hyphens, replaced by the one that `aliases` has for it.
pub(crate) fn own_name(name: &str, aliases: &[(&str, &str)]) -> String {
    let name = name.trim().to_ascii_lowercase().replace('_', "-");
    let alias = aliases.iter().find(|(alias, _)| *alias == name);
    alias.map_or(name, |(_, own)| (*own).to_owned())
}

fn unknown<R: Row>(name: &str) -> Refused {
    let names: Vec<&str> = R::table().iter().map(|row| row.about().0).collect();
    Refused {
        problem: format!("unknown {} `{name}`", R::KIND),
        help: format!("it is one of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::congestion::ControllerChoice;
    use crate::path_policy::PolicyChoice;
    use crate::scheduler::SchedulerChoice;

    #[test]
    fn choices_read_as_they_are_shown() {
        for text in ["lrf", "wrr:3,1", "ecf:beta=0.50,reinjection=off", "linux:burst=1420"] {
            let choice: SchedulerChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
            assert_eq!(format!("{choice:?}"), format!("{text:?}"), "as the name was before");
        }
        for text in ["cubic", "olia:min-ssthresh=1"] {
            assert_eq!(text.parse::<ControllerChoice>().unwrap().to_string(), text);
        }
        for text in ["none", "drepas:interval=2s,mincontribution=0.2"] {
            assert_eq!(text.parse::<PolicyChoice>().unwrap().to_string(), text);
        }
        let blanks: SchedulerChoice = "ecf:beta=0.5, sigma=2".parse().unwrap();
        assert_eq!(blanks.to_string(), "ecf:beta=0.5,sigma=2");
    }

    #[test]
    fn every_row_is_found_by_its_name_with_each_of_its_parameters() {
        fn check<R: super::Row>() {
            let choices: Vec<super::Choice<R>> = super::Choice::all().collect();
            for (index, choice) in choices.iter().enumerate() {
                assert_eq!(super::Choice::find(choice.name()).as_ref(), Some(choice));
                assert!(!choices[..index].contains(choice), "{choice} is there twice");
                for parameter in choice.row().parameters() {
                    let example = parameter.example(choice.name());
                    assert!(example.parse::<super::Choice<R>>().is_ok(), "{example}");
                }
            }
        }
        check::<crate::scheduler::SchedulerRow>();
        check::<crate::congestion::ControllerRow>();
        check::<crate::path_policy::PolicyRow>();
    }

    #[test]
    fn upper_case_and_full_names_are_understood_and_shown_as_in_the_table() {
        for (given, own) in [
            ("LRF", "lrf"),
            ("lowest-rtt-first", "lrf"),
            ("Round-Robin", "rr"),
            ("round_robin", "rr"),
            ("weighted-round-robin:3,1", "wrr:3,1"),
            ("ECF:beta=0.5", "ecf:beta=0.5"),
        ] {
            assert_eq!(given.parse::<SchedulerChoice>().unwrap().to_string(), own);
        }
        for (given, own) in [("Cubic", "cubic"), ("NewReno", "reno"), ("coupled", "lia")] {
            assert_eq!(given.parse::<ControllerChoice>().unwrap().to_string(), own);
        }
        assert_eq!("Drepas".parse::<PolicyChoice>().unwrap().to_string(), "drepas");
    }

    #[test]
    fn every_alias_is_of_a_row_and_is_no_row_itself() {
        fn check<R: super::Row>() {
            let is_row = |name: &str| R::table().iter().any(|row| row.about().0 == name);
            for (alias, own) in R::ALIASES {
                assert!(is_row(own) && !is_row(alias), "{alias} is {own}");
                assert_eq!(*alias, alias.to_lowercase().replace('_', "-"), "never found");
            }
        }
        check::<crate::scheduler::SchedulerRow>();
        check::<crate::congestion::ControllerRow>();
        check::<crate::path_policy::PolicyRow>();
    }

    #[test]
    fn unknown_names_and_parameters_are_refused() {
        let refused = "lrv".parse::<SchedulerChoice>().unwrap_err();
        assert_eq!(refused.problem, "unknown scheduler `lrv`");
        assert!(refused.help.starts_with("it is one of lrf, rr, "), "{}", refused.help);
        for wrong in ["", "default", "ecf:", "ecf:gamma=1", "wrr:3,", "rr:3,1", "lrf:x=1"] {
            assert!(wrong.parse::<SchedulerChoice>().is_err(), "{wrong}");
        }
        assert!("cubic:x=1".parse::<ControllerChoice>().is_err());
        assert!("none:x=1".parse::<PolicyChoice>().is_err());
    }

    #[test]
    fn another_spelling_is_another_choice() {
        let choice = |text: &str| text.parse::<SchedulerChoice>().unwrap();
        assert_eq!(choice("minrtt"), choice("lrf"));
        assert_ne!(choice("ecf:beta=0.5"), choice("ecf:beta=0.50"));
        assert_ne!(choice("ecf:beta=0.25"), choice("ecf"));
    }
}

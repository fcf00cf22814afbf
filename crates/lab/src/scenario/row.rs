//! `OptionRow`: what the table of options has of each one, and how a row is written.

use super::Scenario;
use super::schema::Pattern::{self, Plain};

/// Type of an option's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Nothing; `true` or `false` in a file.
    Switch,
    /// One text or number.
    Text,
    /// Names with commas between; in a file an array, too.
    List,
    /// A name with a description, repeatedly; in a file a table of them.
    Described,
}

/// Subcommands that have an option as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verbs {
    /// All that resolve a scenario.
    All,
    /// Subcommands that repeat and compare.
    Repeating,
    /// Each subcommand with the option describes it itself.
    Own,
    /// None: the option is for files only.
    None,
}

/// Scope of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// The key of stored runs.
    StudyKey,
    /// The names of variants.
    Variants,
    /// The hash of the scenario only: the amount of runs and comparisons.
    Scenario,
    /// No result.
    Nowhere,
}

/// An option as an argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Subcommands that have it.
    pub verbs: Verbs,
    /// Position in the help.
    pub place: u8,
    /// Placeholder of the value in the help.
    pub value: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Alias.
    pub alias: Option<&'static str>,
    /// Whether a value may begin with a minus, to be refused as a number.
    pub is_number: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// The key in files and the long option: `warm-up`.
    pub name: &'static str,
    /// Type of the value.
    pub takes: Takes,
    /// The argument, if subcommands take it from the table.
    pub argument: Argument,
    /// Scope.
    pub counts: Counts,
    /// A value other than the default, for tests.
    pub example: &'static str,
    /// Description in the schema.
    pub(super) about: &'static str,
    /// Valid values in a file, for the schema.
    pub(super) pattern: Pattern,
    /// Value in a written scenario file; `None`: omitted.
    pub(super) show: fn(&Scenario) -> Option<String>,
}

const NO_ARGUMENT: Argument =
    Argument { verbs: Verbs::Own, place: 0, value: "", help: "", alias: None, is_number: false };

/// A row for files only.
pub(super) const fn row(takes: Takes, name: &'static str, about: &'static str) -> OptionRow {
    OptionRow {
        name,
        takes,
        argument: NO_ARGUMENT,
        counts: Counts::Nowhere,
        example: "",
        about,
        pattern: Plain,
        show: |_| None,
    }
}

pub(super) const fn switch(name: &'static str, about: &'static str) -> OptionRow {
    row(Takes::Switch, name, about)
}

pub(super) const fn text(name: &'static str, about: &'static str) -> OptionRow {
    row(Takes::Text, name, about)
}

pub(super) const fn list(name: &'static str, about: &'static str) -> OptionRow {
    row(Takes::List, name, about)
}

pub(super) const fn described(name: &'static str, about: &'static str) -> OptionRow {
    row(Takes::Described, name, about)
}

impl OptionRow {
    /// The argument: `--warm-up`.
    pub fn option(&self) -> String {
        format!("--{}", self.name)
    }

    /// The environment variable of an argument with one value: `ANABRANCH_WARM_UP`.
    pub fn variable(&self) -> String {
        format!("ANABRANCH_{}", self.name.replace('-', "_").to_uppercase())
    }

    /// Makes it an argument of all subcommands with this position and help text.
    pub(super) const fn argument(
        mut self,
        place: u8,
        value: &'static str,
        help: &'static str,
    ) -> Self {
        self.argument = Argument { verbs: Verbs::All, place, value, help, ..self.argument };
        self
    }

    /// Makes it an option of files only.
    pub(super) const fn only_in_files(mut self) -> Self {
        self.argument.verbs = Verbs::None;
        self
    }

    /// Restricts it to subcommands that repeat and compare.
    pub(super) const fn of_repeating(mut self) -> Self {
        self.argument.verbs = Verbs::Repeating;
        self
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Self {
        self.argument.alias = Some(alias);
        self
    }

    pub(super) const fn number(mut self) -> Self {
        self.argument.is_number = true;
        self
    }

    pub(super) const fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = pattern;
        self
    }

    pub(super) const fn shown(mut self, show: fn(&Scenario) -> Option<String>) -> Self {
        self.show = show;
        self
    }

    pub(super) const fn counts(mut self, counts: Counts, example: &'static str) -> Self {
        self.counts = counts;
        self.example = example;
        self
    }
}

/// A switch of CMT-SCTP, of which a list of values is compared: key, name, position in the help,
/// what it is, the default in words, and another value than the default.
macro_rules! cmt_switch {
    ($key:ident, $name:literal, $place:literal, $about:literal, $default:literal,
        $example:literal) => {
        list($name, concat!($about, ". Default: ", $default, "."))
            .argument($place, "LIST", concat!($about, " [default: ", $default, "]"))
            .pattern(Names(|| cmt::values(Key::$key)))
            .shown(|s| of_cmt(s, Key::$key))
            .counts(Counts::Variants, $example)
    };
}
pub(super) use cmt_switch;

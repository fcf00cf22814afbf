//! The lab's table of options as arguments: their help, and their options for the lab.
//!
//! Values are kept as text; the lab parses them, and its messages name the option.

use clap::builder::{ArgAction, BoolishValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use lab::scenario::{FOREIGN, Foreign, Key, Takes, Verbs};
use lab::{Given, InputError, Options, Scenario};
use std::sync::LazyLock;

/// What a switch may be set to, so that the command line can switch off what a file switches on.
const SWITCH: &str = "true|false";
/// The name of the positional argument.
const FILE: &str = "scenario";

/// Environment variables, in the order of the table.
static VARIABLES: LazyLock<Vec<String>> =
    LazyLock::new(|| Key::ALL.iter().map(|key| key.row().variable()).collect());

/// The simulated scenario: the options of all subcommands that resolve a scenario.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioArgs {
    scenario: Option<String>,
    options: Options,
}

/// Repetition and comparison options.
#[derive(Clone, Debug)]
pub(crate) struct RepetitionArgs {
    /// Options given.
    pub options: Options,
}

impl ScenarioArgs {
    /// Options of these arguments, completed from the scenario file.
    pub(crate) fn over_file(&self) -> Result<Options, InputError> {
        let options = self.options.clone();
        match &self.scenario {
            Some(file) => Ok(options.or(Scenario::options_from_file(file)?)),
            None => Ok(options),
        }
    }

    /// Whether the command line has this option; a scenario file may have it, too.
    pub(crate) fn is_given(&self, key: Key) -> bool {
        self.options.is_given(key)
    }
}

impl Args for ScenarioArgs {
    fn augment_args(command: Command) -> Command {
        let help = "Scenario file (TOML) with the same keys; options override it";
        let file = Arg::new(FILE).value_name("SCENARIO").help(help);
        augment(command.arg(file), Verbs::All)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ScenarioArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let scenario = matches.get_one::<String>(FILE).cloned();
        Ok(ScenarioArgs { scenario, options: said(matches, Verbs::All) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for RepetitionArgs {
    fn augment_args(command: Command) -> Command {
        augment(command, Verbs::Repeating)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RepetitionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(RepetitionArgs { options: said(matches, Verbs::Repeating) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The options of these subcommands, in the order of the help.
fn keys(verbs: Verbs) -> Vec<Key> {
    let of = |key: &Key| key.row().argument.verbs == verbs;
    let mut keys: Vec<Key> = Key::ALL.iter().copied().filter(of).collect();
    keys.sort_by_key(|key| key.row().argument.place);
    keys
}

fn augment(command: Command, verbs: Verbs) -> Command {
    let command = keys(verbs).into_iter().fold(command, |command, key| command.arg(argument(key)));
    elsewhere(verbs).fold(command, |command, foreign| {
        let values = foreign.values.iter().map(|(there, _)| *there).collect::<Vec<_>>();
        let argument = Arg::new(foreign.name).long(foreign.name).hide(true);
        command.arg(argument.value_parser(values).conflicts_with(foreign.key.row().name))
    })
}

/// Names that options of these subcommands have elsewhere.
fn elsewhere(verbs: Verbs) -> impl Iterator<Item = &'static Foreign> {
    FOREIGN.iter().filter(move |foreign| foreign.key.row().argument.verbs == verbs)
}

/// One option as an argument.
fn argument(key: Key) -> Arg {
    let row = key.row();
    let about = row.argument;
    let argument = Arg::new(row.name).long(row.name).help(about.help);
    let argument = match about.alias {
        Some(alias) => argument.visible_alias(alias),
        None => argument,
    };
    match row.takes {
        Takes::Switch => argument
            .value_name(SWITCH)
            .value_parser(BoolishValueParser::new())
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Takes::Described => argument.value_name(about.value).action(ArgAction::Append),
        Takes::Text | Takes::List => argument
            .value_name(about.value)
            .allow_negative_numbers(about.is_number)
            .env(VARIABLES[key as usize].as_str())
            .hide_env(true),
    }
}

/// Values given for the options of these subcommands.
fn said(matches: &ArgMatches, verbs: Verbs) -> Options {
    let mut options = Options::default();
    for key in keys(verbs) {
        let row = key.row();
        if row.takes == Takes::Switch {
            if let Some(on) = matches.get_one::<bool>(row.name) {
                options.set_switch(key, *on);
            }
            continue;
        }
        let from_environment = matches.value_source(row.name) == Some(ValueSource::EnvVariable);
        let place = if from_environment { row.variable() } else { row.option() };
        for text in matches.get_many::<String>(row.name).into_iter().flatten() {
            options.add(key, Given::argument(&place, text));
        }
    }
    for foreign in elsewhere(verbs) {
        if let Some(text) = matches.get_one::<String>(foreign.name) {
            let given = Given::argument(&format!("--{}", foreign.name), text);
            // The parser admits only values that have one here.
            options.add(foreign.key, foreign.translate(&given).unwrap_or(given));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::CommandFactory;

    /// The arguments of `compare`, with conflicts between the examples ignored.
    fn compare() -> Command {
        let command = Cli::command();
        command.find_subcommand("compare").expect("the verb").clone()
    }

    #[test]
    fn every_option_of_the_table_is_an_argument() {
        for key in Key::ALL.iter().filter(|key| key.row().argument.verbs != Verbs::None) {
            let row = key.row();
            let command = compare();
            let argument = command.get_arguments().find(|arg| arg.get_long() == Some(row.name));
            let argument = argument.unwrap_or_else(|| panic!("--{} is missing", row.name));
            assert!(argument.get_help().is_some(), "--{} has no help", row.name);
        }
    }

    #[test]
    fn names_and_values_of_freebsd_and_of_inet_are_arguments() {
        for foreign in FOREIGN {
            for (there, here) in foreign.values {
                let option = format!("--{}", foreign.name);
                let matches = compare().try_get_matches_from(["compare", &option, there]).unwrap();
                let options = said(&matches, foreign.key.row().argument.verbs);
                assert_eq!(options.text(foreign.key), Some(&Given::argument(&option, here)));
                let own = foreign.key.row().option();
                let both = ["compare", &option, there, &own, here];
                let both = compare().try_get_matches_from(both).unwrap_err().to_string();
                assert!(both.contains("cannot be used with"), "{both}");
            }
        }
    }

    #[test]
    fn what_an_argument_says_is_what_the_lab_is_asked() {
        let asked = |key: &Key| matches!(key.row().argument.verbs, Verbs::All | Verbs::Repeating);
        for key in Key::ALL.iter().copied().filter(asked) {
            let row = key.row();
            let mut words = vec!["compare".to_owned(), row.option()];
            if row.takes != Takes::Switch {
                words.push(row.example.to_owned());
            }
            let matches = compare().try_get_matches_from(words).unwrap();
            let options = said(&matches, row.argument.verbs);
            assert!(options.is_given(key), "{key:?}");
            if row.takes == Takes::Switch {
                let off = format!("{}=false", row.option());
                let matches = compare().try_get_matches_from(["compare", &off]).unwrap();
                assert_eq!(said(&matches, row.argument.verbs).switch(key), Some(false));
            }
            match row.takes {
                Takes::Switch => assert_eq!(options.switch(key), Some(true)),
                Takes::Described => assert_eq!(options.described(key).len(), 1),
                Takes::Text | Takes::List => {
                    assert_eq!(
                        options.text(key),
                        Some(&Given::argument(&row.option(), row.example))
                    );
                }
            }
        }
    }
}

//! The subcommand `help`: the help of a command, as `COMMAND --help` prints it.

use crate::exit::USAGE;
use crate::output::{Screen, error, print};
use lab::scenario::nearest_help;

/// Runs the subcommand for the command with these words and returns the exit code.
pub(crate) fn help(words: &[String]) -> u8 {
    let mut command = crate::command();
    command.build();
    let mut arguments = vec!["anabranch".to_owned()];
    let mut found = &command;
    for word in words {
        let mut shown = found.get_subcommands().filter(|one| !one.is_hide_set());
        let Some(next) = shown.find(|one| one.get_name().eq_ignore_ascii_case(word)) else {
            error(&unknown(found, word));
            return USAGE;
        };
        arguments.push(next.get_name().to_owned());
        found = next;
    }
    arguments.push("--help".to_owned());
    // `--help` ends the parsing.
    let Err(help) = crate::command().try_get_matches_from(arguments) else { return 0 };
    let text = help.render();
    let colour = Screen::detect(false).colour;
    print(&if colour { text.ansi().to_string() } else { text.to_string() });
    0
}

fn unknown(command: &clap::Command, word: &str) -> String {
    let whole = command.get_bin_name().unwrap_or("anabranch");
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    if names.is_empty() {
        return format!(
            "`{whole}` has no commands\n  help: write `anabranch help {}`",
            last(whole)
        );
    }
    format!("`{whole}` has no command `{word}`\n  help: {}", nearest_help(word, &names))
}

/// The name of a command without that of the program.
fn last(whole: &str) -> &str {
    whole.split_once(' ').map_or(whole, |(_, name)| name)
}

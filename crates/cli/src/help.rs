//! The subcommand `help`: the help of a command, as `COMMAND --help` prints it.

use crate::exit::USAGE;
use crate::output::{Screen, error, print};
use lab::nearest_help;

/// Runs the subcommand for the command with these words and returns the exit code.
pub(crate) fn help(words: &[String]) -> u8 {
    let mut command = crate::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        let names: Vec<String> = found
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(|one| one.get_name().to_owned())
            .collect();
        let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(word)) else {
            let whole = found.get_bin_name().unwrap_or("anabranch");
            error(&match names.len() {
                0 => format!("`{whole}` has no commands\n  help: write `anabranch help`"),
                _ => {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let help = nearest_help(word, &names);
                    format!("`{whole}` has no command `{word}`\n  help: {help}")
                }
            });
            return USAGE;
        };
        // The name is that of a subcommand.
        let Some(next) = found.find_subcommand_mut(name) else { return USAGE };
        found = next;
    }
    let text = found.render_long_help();
    let colour = Screen::detect(false).colour;
    print(&if colour { text.ansi().to_string() } else { text.to_string() });
    0
}

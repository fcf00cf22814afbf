//! The `anabranch` command.
//!
//! Results go to standard output, progress and messages to standard error. Exit codes: 0 done,
//! 1 run-time failure, 2 usage or scenario error, 3 privilege or kernel feature missing,
//! 4 finished but a check failed, 130 interrupted. Everything else is the lab's.

mod analyze;
mod args;
mod columns;
mod compare;
mod doctor;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod emulate;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod emulate_study;
mod explain;
mod fairness;
mod fidelity;
mod list;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod live;
mod man;
mod output;
mod progress;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod record;
mod report;
mod run;
mod stored;
mod table;
mod validate;
mod why;

use args::{Cli, Command};
use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches};
use std::process::ExitCode;

/// Faster than the system's, and asks for huge pages (see `docs/architecture.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A run-time failure.
const FAILED: u8 = 1;
/// A usage or scenario error.
const USAGE: u8 = 2;
/// Finished, but what was to be checked does not hold.
const CHECK_FAILED: u8 = 4;
/// Stopped by the user.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let matches = command().get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let code = carry_out(cli.command, &matches);
    // A result that nobody can have is no success.
    ExitCode::from(if code == 0 && output::is_unprinted() { FAILED } else { code })
}

/// The answer is the exit code.
fn carry_out(command: Command, matches: &ArgMatches) -> u8 {
    match command {
        Command::Compare(args) => {
            let sources = matches.subcommand_matches("compare");
            compare::compare(&args, sources)
        }
        Command::Run(args) => {
            let sources = matches.subcommand_matches("run");
            run::run(&args, sources)
        }
        Command::Explain(args) => {
            let sources = matches.subcommand_matches("explain");
            explain::explain(&args, sources)
        }
        Command::Report(args) => stored::report(&args),
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Live(args) => live::live(&args),
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Emulate(args) => {
            let sources = matches.subcommand_matches("emulate");
            emulate::emulate(&args, sources)
        }
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Inside(args) => emulate::inside(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::List { topic } => {
            output::print(&list::list(topic));
            0
        }
        Command::Man(args) => man::man(&args),
        Command::Schema => {
            output::print(&format!("{:#}\n", lab::scenario_schema()));
            0
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "anabranch", &mut text);
            output::print(&String::from_utf8_lossy(&text));
            0
        }
    }
}

/// What the arguments are; help and refusals are without colours if so asked, wherever that stands.
fn command() -> clap::Command {
    let plain = std::env::args_os().any(|argument| argument == "--no-color");
    Cli::command().color(if plain { ColorChoice::Never } else { ColorChoice::Auto })
}

//! The `anabranch` command.
//!
//! Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 1
//! run-time failure, 2 usage or scenario error, 3 privilege or kernel feature missing, 4 finished
//! but a check failed, 130 interrupted. The lab does everything else.

mod analyze;
mod args;
mod by_hand;
mod columns;
mod command;
mod compare;
mod cost;
mod doctor;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod emulate;
mod exit;
mod explain;
mod fairness;
mod figures;
mod help;
mod list;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod live;
mod man;
mod matrix;
mod meanings;
mod metrics;
mod options;
mod output;
mod packets;
mod progress;
mod report;
mod reproduce;
mod run;
mod save;
mod stored;
mod table;
mod validate;
mod why;

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use command::{Cli, Command};
use exit::FAILED;
use std::process::ExitCode;

/// Faster than the system's allocator, and uses huge pages (see `docs/architecture.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match cli {
        Ok(cli) => cli,
        Err(refusal) => return ExitCode::from(print_refusal(&refusal)),
    };
    let code = carry_out(cli.command);
    // Failing to print the result is a failure.
    ExitCode::from(if code == 0 && output::is_unprinted() { FAILED } else { code })
}

/// Prints what is wrong with the arguments, or the help or version that they want; the exit code.
fn print_refusal(refusal: &clap::Error) -> u8 {
    // A reader that goes away has what it wants.
    let is_lost = |error: std::io::Error| error.kind() != std::io::ErrorKind::BrokenPipe;
    let failed = refusal.print().is_err_and(is_lost);
    match u8::try_from(refusal.exit_code()) {
        Ok(0) if failed => FAILED,
        Ok(code) => code,
        Err(_) => FAILED,
    }
}

/// Runs the command and returns the exit code.
fn carry_out(command: Command) -> u8 {
    match command {
        Command::Compare(args) => compare::compare(&args),
        Command::Matrix(args) => matrix::matrix(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Report(args) => stored::report(&args),
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Live(args) => live::live(&args),
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Emulate(args) => emulate::emulate(&args),
        #[cfg(all(feature = "linux", target_os = "linux"))]
        Command::Inside(args) => emulate::inside(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::List { topic } => {
            output::print(&list::list(topic, output::Screen::fitted(false)));
            0
        }
        Command::Help { command } => help::help(&command),
        Command::Man(args) => man::man(&args, Cli::command()),
        Command::Schema => {
            output::print(&format!("{:#}\n", lab::scenario::scenario_schema()));
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

/// The command line; help and errors have no colours with `--no-color` in any position.
pub(crate) fn command() -> clap::Command {
    let plain = std::env::args_os().any(|argument| argument == "--no-color");
    Cli::command().color(if plain { ColorChoice::Never } else { ColorChoice::Auto })
}

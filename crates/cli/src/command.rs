//! The command line: the verbs, each with its arguments.

use crate::args::{CompareArgs, EXAMPLES, long_help};
use crate::list::Topic;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Tells beforehand whether sending over several network paths pays off.
#[derive(Parser, Debug)]
#[command(name = "anabranch", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = AFTER_HELP)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the same traffic over the same paths in different ways, and say which is best
    #[command(after_help = EXAMPLES, after_long_help = long_help())]
    Compare(Box<CompareArgs>),
    /// Carry out one repetition of each variant with everything recorded
    #[command(after_help = crate::run::EXAMPLES)]
    Run(Box<crate::run::RunArgs>),
    /// Say what a scheduler decided in one repetition, and why: a line for each decision
    #[command(after_help = crate::explain::EXAMPLES)]
    Explain(Box<crate::explain::ExplainArgs>),
    /// Make the page of a results folder again, from what is stored there
    #[command(after_help = crate::stored::EXAMPLES)]
    Report(crate::stored::ReportArgs),
    /// Serve and get files with our engine on TUN devices
    #[cfg(all(feature = "linux", target_os = "linux"))]
    Live(crate::live::LiveArgs),
    /// Compare this machine's kernel with our engine over emulated paths, or run programs there
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[command(after_help = crate::emulate::EXAMPLES)]
    Emulate(Box<crate::emulate::EmulateArgs>),
    /// What `emulate` starts to get a program into a host
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[command(hide = true)]
    Inside(crate::emulate::InsideArgs),
    /// Show what a capture holds: subflows, shares, RTT, loss, reinjection, out-of-order delay
    #[command(after_help = crate::analyze::EXAMPLES)]
    Analyze(crate::analyze::AnalyzeArgs),
    /// Hold the simulator against recorded runs of a real kernel over the same links
    #[command(after_help = crate::validate::EXAMPLES)]
    Validate(crate::validate::ValidateArgs),
    /// Say what this machine allows of live use, what is missing, and what adds it
    Doctor(crate::doctor::DoctorArgs),
    /// List path profiles, traffic models, schedulers, congestion controls and more
    List {
        /// Only these [default: everything]
        topic: Option<Topic>,
    },
    /// Print the manual page, or write a page for each verb
    Man(crate::man::ManArgs),
    /// Print the JSON schema of scenario files, for editors
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

const AFTER_HELP: &str = "\
Begin with `anabranch compare --help` and `anabranch list`.

Exit codes: 0 done, 1 failure, 2 wrong usage or input, 3 privilege or kernel feature missing
(live, doctor), 130 interrupted.";

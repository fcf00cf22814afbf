//! The command line: the subcommands with their arguments.

use crate::args::{CompareArgs, EXAMPLES, long_help};
use crate::list::Topic;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Predict whether sending over several network paths pays off.
#[derive(Parser, Debug)]
#[command(name = "anabranch", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = AFTER_HELP)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compare protocols and schedulers that send the same traffic over the same paths
    #[command(after_help = EXAMPLES, after_long_help = long_help())]
    Compare(Box<CompareArgs>),
    /// Compare for several kinds of traffic, pairs of paths and protocols: one table of classes
    #[command(after_help = crate::matrix::EXAMPLES)]
    Matrix(Box<crate::matrix::MatrixArgs>),
    /// Run the experiments of the five papers and say which of their claims hold
    #[command(after_help = crate::reproduce::EXAMPLES)]
    Reproduce(Box<crate::reproduce::ReproduceArgs>),
    /// Run one repetition of each variant with full recording
    #[command(after_help = crate::run::EXAMPLES)]
    Run(Box<crate::run::RunArgs>),
    /// Print every decision of a scheduler in one repetition, with the reason
    #[command(after_help = crate::explain::EXAMPLES)]
    Explain(Box<crate::explain::ExplainArgs>),
    /// Write the page or the figures of one or several results folders
    #[command(after_help = crate::stored::EXAMPLES)]
    Report(crate::stored::ReportArgs),
    /// Serve and download files with the engine of anabranch on TUN devices
    #[cfg(all(feature = "linux", target_os = "linux"))]
    Live(crate::live::LiveArgs),
    /// Compare this machine's kernel with the engine over emulated paths, or run programs there
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[command(after_help = crate::emulate::EXAMPLES)]
    Emulate(Box<crate::emulate::EmulateArgs>),
    /// Run a program in a host of an emulation (started by `emulate`)
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[command(hide = true)]
    Inside(crate::emulate::InsideArgs),
    /// Analyze a capture: subflows, shares, RTT, loss, reinjection, out-of-order delay
    #[command(after_help = crate::analyze::EXAMPLES)]
    Analyze(crate::analyze::AnalyzeArgs),
    /// Compare the simulator with recorded runs of a Linux kernel over the same links
    #[command(after_help = crate::validate::EXAMPLES)]
    Validate(crate::validate::ValidateArgs),
    /// Check the requirements of live use on this machine and print remedies
    Doctor(crate::doctor::DoctorArgs),
    /// List path profiles, traffic models, schedulers, congestion controls and more
    List {
        /// List to print [default: every list]
        #[arg(ignore_case = true)]
        topic: Option<Topic>,
    },
    /// Print the help of the program or of a command
    Help {
        /// Command, such as compare or live serve
        command: Vec<String>,
    },
    /// Print the manual page, or write one page per command
    Man(crate::man::ManArgs),
    /// Print the JSON schema of scenario files, for editors
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// Shell
        #[arg(ignore_case = true)]
        shell: clap_complete::Shell,
    },
}

const AFTER_HELP: &str = "\
Start with `anabranch compare --help` and `anabranch list`.

Exit codes: 0 done, 1 failure, 2 wrong usage or input, 3 privilege or kernel feature missing
(live, doctor), 4 a check failed, 130 interrupted.";

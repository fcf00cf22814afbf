//! The subcommand `report`: writes the page of a results folder again, from the stored results,
//! without new runs.

use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::output::{Screen, error, message, print};
use crate::report::{Sheet, page};
use crate::save::Overwrite;
use crate::{table, why};
use clap::Args;
use lab::results::StoredStudy;
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch report results                      writes results/report.html again
  anabranch report results --out page.html      or elsewhere
  anabranch report results --json               prints the document";

/// Options of `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Folder written by `compare --out` or `run --out`, on any machine
    #[arg(value_name = "DIR")]
    pub folder: String,
    /// File for the page [default: report.html in the folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<String>,
    /// Compare every pair of variants too
    #[arg(long)]
    pub pairs: bool,
    /// Also print why senders were not sending, how long the reader was blocked and what was sent
    /// needlessly; always in --json and in the report
    #[arg(long)]
    pub why: bool,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
    /// Overwrite files that anabranch did not write
    #[arg(long)]
    pub force: bool,
    /// Print no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn report(args: &ReportArgs) -> u8 {
    let stored = match StoredStudy::open(&args.folder) {
        Ok(stored) => stored,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    if !args.quiet {
        for note in &stored.notes {
            message(&format!("note: {note}"));
        }
    }
    let default = || Path::new(&args.folder).join("report.html");
    let out = args.out.as_ref().map_or_else(default, PathBuf::from);
    let overwrite = Overwrite { force: args.force };
    if let Err(refusal) = overwrite.allow("--out", &out, "file") {
        error(&refusal);
        return USAGE;
    }
    show(args, &stored);
    if let Err(failure) = overwrite.page(&out, &page(&Sheet::of_stored(&stored))) {
        error(&failure);
        return FAILED;
    }
    if !args.quiet {
        message(&format!("wrote {}", out.display()));
    }
    if stored.report.interrupted { INTERRUPTED } else { 0 }
}

fn show(args: &ReportArgs, stored: &StoredStudy) {
    if args.json {
        return print(&format!("{:#}\n", stored.document()));
    }
    let screen = Screen::detect(args.no_color);
    if let Some(number) = stored.repetition {
        print(&crate::run::table(&stored.scenario, &stored.study, number, screen));
        if args.why {
            print(&format!("\n{}", why::text(&stored.report.variants, screen)));
        }
        return;
    }
    let ask = table::Ask { pairs: args.pairs, why: args.why };
    print(&table::text(&stored.scenario, &stored.report, ask, screen));
}

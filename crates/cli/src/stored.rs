//! The subcommand `report`: the page or the figures of one or several results folders, from the
//! stored results, without new runs.

use crate::args::check_repetition;
use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::figures::{self, Format, Shown, Style, parse_font_size, parse_size};
use crate::output::{Screen, counted, error, message, print};
use crate::report::{Sheet, page};
use crate::save::Overwrite;
use crate::{table, why};
use clap::Args;
use lab::InputError;
use lab::results::{StoredStudy, combine};
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch report results                      writes results/report.html again
  anabranch report results --out page.html      or elsewhere
  anabranch report results --json               prints the document
  anabranch report one two --out both.html      combines two folders
  anabranch report results --figures svg,pdf --size 3.3in --out figs
                                                writes figures for a paper";

/// Options of `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Folder written by `compare --out` or `run --out`, on any machine; of several with the same
    /// paths, traffic and metric the variants are combined
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<String>,
    /// File for the page [default: report.html in the folder, or of several folders here]; with
    /// --figures the folder for them [default: figures, likewise]
    #[arg(long, value_name = "FILE")]
    pub out: Option<String>,
    /// Write figures for papers instead of the page, in these formats
    #[arg(long, value_name = "FORMATS", value_enum, value_delimiter = ',')]
    pub figures: Vec<Format>,
    /// Width of figures, such as 3.3in or 84mm, or width and height, such as 7inx3in; without a
    /// height it follows from the content
    #[arg(long, default_value = "3.3in", requires = "figures", value_parser = parse_size)]
    pub size: (f64, Option<f64>),
    /// Size of the text of figures, in points
    #[arg(long, default_value = "8pt", requires = "figures", value_name = "SIZE",
        value_parser = parse_font_size)]
    pub font_size: f64,
    /// Font of figures: a TrueType or OpenType file, or an installed family [default: DejaVu Sans,
    /// which is built in]
    #[arg(long, requires = "figures", value_name = "NAME")]
    pub font: Option<String>,
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

impl ReportArgs {
    /// The name of `--out`, or `name` in the folder; of several folders, here.
    fn out_or(&self, name: &str) -> String {
        let default = || match self.folders.as_slice() {
            [folder] => Path::new(folder).join(name).display().to_string(),
            _ => name.to_owned(),
        };
        self.out.clone().unwrap_or_else(default)
    }
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn report(args: &ReportArgs) -> u8 {
    let opened = args.folders.iter().map(|name| Ok((name.clone(), StoredStudy::open(name)?)));
    let stored = check_repetition("--figures", &args.figures)
        .and_then(|()| opened.collect::<Result<_, InputError>>())
        .and_then(combine);
    let stored = match stored {
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
    let wrote = if args.figures.is_empty() {
        write_page(args, &stored)
    } else {
        write_figures(args, &stored)
    };
    if let Err(code) = wrote {
        return code;
    }
    if stored.report.interrupted { INTERRUPTED } else { 0 }
}

/// Prints the result and writes the page; the error is an exit code.
fn write_page(args: &ReportArgs, stored: &StoredStudy) -> Result<(), u8> {
    let out = PathBuf::from(args.out_or("report.html"));
    let place = Overwrite { force: args.force }.page(&out).map_err(|refusal| {
        error(&refusal);
        USAGE
    })?;
    show(args, stored);
    place.write(&page(&Sheet::of_stored(stored))).map_err(|failure| {
        error(&failure);
        FAILED
    })?;
    if !args.quiet {
        message(&format!("wrote {}", out.display()));
    }
    Ok(())
}

/// Prints the result and writes the figures; the error is an exit code.
fn write_figures(args: &ReportArgs, stored: &StoredStudy) -> Result<(), u8> {
    let out = args.out_or("figures");
    let usage = |refusal: &dyn std::fmt::Display| {
        error(&refusal.to_string());
        USAGE
    };
    let style = Style { size: args.size, font_size: args.font_size, font: args.font.clone() };
    let files = figures::files(&Shown::of(stored), &style, &args.figures);
    let files = files.map_err(|refusal| usage(&refusal))?;
    let overwrite = Overwrite { force: args.force };
    let names = files.iter().map(|(name, _)| name.clone());
    let folder = overwrite.folder("--out", &out, names).map_err(|refusal| usage(&refusal))?;
    show(args, stored);
    for (name, content) in &files {
        folder.write(name, content).map_err(|failure| {
            let path = folder.path().join(name);
            error(&format!("cannot write `{}`: {failure}", path.display()));
            FAILED
        })?;
    }
    if !args.quiet {
        let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
        message(&format!("wrote {} to {out}", counted(number, "file")));
    }
    Ok(())
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
    let ask = table::Ask { pairs: args.pairs, why: args.why, wide: false, seeds: &stored.seeds };
    print(&table::text(&stored.scenario, &stored.report, ask, screen));
}

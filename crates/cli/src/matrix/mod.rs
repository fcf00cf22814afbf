//! The subcommand `matrix`: a comparison for each kind of traffic, pair of paths and protocol, as
//! one table, document, page and folder.
//!
//! The lab plans and runs the studies; `progress` shows which one is running, `table` prints them,
//! the module `report` has the page.

mod progress;
mod table;

use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::options::{RepetitionArgs, ScenarioArgs};
use crate::output::{Screen, error, message, print};
use crate::progress::real_time;
use crate::report::matrix_page;
use crate::save::{Overwrite, provenance, write_results};
use clap::Args;
use lab::results::{MATRIX_FILES, MatrixCell, MatrixResult, Provenance, Records, ResultFolder};
use lab::scenario::{MATRIX_PAIRS, MATRIX_TRAFFIC, MatrixPlan, PlannedCell};
use lab::{Given, InputError, Report, Scenario, run_study};
use progress::Follower;
use std::fmt::Display;

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch matrix
  anabranch matrix --traffic video,web:amazon,bulk:16MiB --paths wlan+lte,dsl+5g \\
                   --schedulers lrf,blest,sttf --protocols mptcp
  anabranch matrix --path home='rate 25mbit delay 20ms loss 1% limit 100p' --paths home+lte \\
                   --runs auto --out results
  anabranch matrix --data recordings --json

Rows are traffic, columns are pairs of paths and protocols; the default ones are those of paper
000's summary. Each cell is what `anabranch compare` says of this traffic, these paths and this
protocol with the same options. Of like paths (wlan+wlan) multi-path is compared with their
average, of wlan+3g with the WLAN, as in the paper; of other paths with the best one.";

/// Options of `matrix`.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("traffic", |arg| arg.value_name("LIST").help(traffic())))]
#[command(mut_arg("protocols", |arg| arg.help(PROTOCOLS)))]
#[command(mut_arg("path", |arg| arg.help(PATH)))]
#[command(mut_arg("runs", |arg| arg.help(RUNS)))]
#[command(mut_arg("runs-max", |arg| arg.help(RUNS_MAX)))]
#[command(mut_arg("baseline", |arg| arg.help(BASELINE)))]
pub(crate) struct MatrixArgs {
    /// Columns.
    #[arg(long, value_name = "LIST", env = "ANABRANCH_PATHS", hide_env = true, help = paths())]
    pub paths: Option<String>,
    #[command(flatten)]
    pub asked: ScenarioArgs,
    #[command(flatten)]
    pub repeated: RepetitionArgs,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write matrix.html, matrix.json, matrix.parquet (one row per cell) and a results folder for
    /// each cell, below `cells`, to a folder; runs already there, of the same scenario and build,
    /// are reused
    #[arg(long, value_name = "DIR", env = "ANABRANCH_OUT", hide_env = true)]
    pub out: Option<String>,
    /// Overwrite files that anabranch did not write
    #[arg(long)]
    pub force: bool,
    /// Print no progress
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print a line for every repetition
    #[arg(long, short)]
    pub verbose: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

fn paths() -> String {
    format!(
        "Columns: paths with `+` between, profiles or those of --path [default: {MATRIX_PAIRS}, or \
         with --path all of those]"
    )
}

fn traffic() -> String {
    format!(
        "Rows: what to send, as --traffic of compare, with commas between [default: \
         {MATRIX_TRAFFIC}]"
    )
}

const PROTOCOLS: &str = "Columns: protocols over several paths, mptcp and cmt-sctp, or all; each \
     is compared with tcp or sctp over single paths [default: mptcp,cmt-sctp]";
const PATH: &str = "Describe a path for --paths: NAME='rate 25mbit delay 20ms ...', as in compare";
const RUNS: &str = "Repetitions of every variant, or auto: until the answer of the cell is known \
     [default: 128]";
const RUNS_MAX: &str = "Maximum number of repetitions with --runs auto [default: 128]";
const BASELINE: &str = "Baseline of comparisons: best (best single path), average (mean over \
     single paths) or a variant by name [default: average for like paths, the WLAN for wlan+3g, \
     best for others]";

/// Validated inputs.
struct Prepared<'a> {
    args: &'a MatrixArgs,
    plan: MatrixPlan,
    out: Option<ResultFolder>,
}

/// The finished cells.
struct Finished {
    cells: Vec<MatrixCell>,
    /// Scenario of one of them.
    scenario: Option<Scenario>,
    notes: Vec<String>,
    interrupted: bool,
}

/// Why there is no result: message and exit code.
struct Failure(String, u8);

impl From<InputError> for Failure {
    fn from(refusal: InputError) -> Failure {
        Failure(refusal.to_string(), USAGE)
    }
}

fn failed(failure: &dyn Display) -> Failure {
    Failure(failure.to_string(), FAILED)
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn matrix(args: &MatrixArgs) -> u8 {
    match prepare(args).and_then(|prepared| carry_out(&prepared)) {
        Ok(code) => code,
        Err(Failure(text, code)) => {
            error(&text);
            code
        }
    }
}

fn prepare(args: &MatrixArgs) -> Result<Prepared<'_>, Failure> {
    let options = args.repeated.options.clone().or(args.asked.over_file()?);
    let pairs = args.paths.as_ref().map(|text| Given::argument("--paths", text));
    let plan = MatrixPlan::new(&options, pairs.as_ref())?;
    let overwrite = Overwrite { force: args.force };
    let files = || MATRIX_FILES.iter().map(|name| (*name).to_owned());
    let folder = |name: &String| overwrite.folder("--out", name, files());
    let out = args.out.as_ref().map(folder).transpose()?;
    Ok(Prepared { args, plan, out })
}

fn carry_out(prepared: &Prepared<'_>) -> Result<u8, Failure> {
    let Prepared { args, plan, out } = prepared;
    let finished = run_cells(prepared)?;
    let Some(scenario) = &finished.scenario else {
        message("interrupted before any cell was complete: no result");
        return Ok(INTERRUPTED);
    };
    let Finished { cells, notes, interrupted, .. } = &finished;
    let result = MatrixResult { cells, scenario, notes, interrupted: *interrupted };
    let saved = out.as_ref().map_or(Ok(()), |out| save(out, plan, &result, args.quiet));
    if args.json {
        print(&format!("{:#}\n", result.document()));
    } else if args.markdown {
        print(&table::markdown(plan, &result));
    } else {
        print(&table::text(plan, &result, Screen::detect(args.no_color)));
    }
    saved?;
    Ok(if *interrupted { INTERRUPTED } else { 0 })
}

/// Runs the studies of all cells, one after the other, each on all cores.
fn run_cells(prepared: &Prepared<'_>) -> Result<Finished, Failure> {
    let Prepared { args, plan, .. } = prepared;
    let follower = Follower::new(plan.cells.len(), args);
    let notes = plan.notes.clone();
    let mut all = Finished { cells: Vec::new(), scenario: None, notes, interrupted: false };
    for cell in &plan.cells {
        let scenario = cell.scenario()?;
        follower.next(cell, &scenario);
        let ran = run_cell(prepared, cell, &scenario, &follower);
        if ran.is_err() {
            follower.finish();
        }
        let Some(cells) = ran? else {
            all.interrupted = true;
            break;
        };
        all.cells.extend(cells);
        for note in &scenario.notes {
            if !all.notes.contains(note) {
                all.notes.push(note.clone());
            }
        }
        all.scenario.get_or_insert(scenario);
    }
    follower.finish();
    if follower.reused() > 0 && !args.quiet {
        message(&format!("reused {} of {} runs", follower.reused(), follower.finished()));
    }
    Ok(all)
}

/// Runs the study of a cell and writes its folder; `None` if it was interrupted.
fn run_cell(
    prepared: &Prepared<'_>,
    cell: &PlannedCell,
    scenario: &Scenario,
    follower: &Follower,
) -> Result<Option<Vec<MatrixCell>>, Failure> {
    let overwrite = Overwrite { force: prepared.args.force };
    let name = prepared.out.as_ref().map(|out| out.path().join(&cell.place.folder));
    let name = name.map(|name| name.display().to_string());
    let out = overwrite.out(name.as_deref())?;
    let records = out.as_ref().map(|out| Records::open(out, scenario)).transpose()?;
    if let Some(out) = &out {
        overwrite.inputs(out, scenario)?;
    }
    if let Some(note) = records.as_ref().and_then(Records::note).filter(|_| !prepared.args.quiet) {
        follower.tell(&format!("note: {note}"));
    }
    let (clock, before) = (real_time(), follower.reused());
    let study = run_study(scenario, records.as_ref(), follower).map_err(|f| failed(&f))?;
    let report = match Report::new(scenario, &study) {
        Some(report) if !study.interrupted => report,
        _ => return Ok(None),
    };
    if let (Some(out), Some(records)) = (&out, &records)
        && !out.is_finished(scenario, &report, records)
    {
        let reused = follower.reused() - before;
        let provenance = Provenance { reused, ..provenance(clock) };
        write_results(out, scenario, (&study, &report), Some(records), &provenance)
            .map_err(|failure| failed(&failure))?;
    }
    Ok(Some(MatrixCell::of_study(&cell.place, &report)))
}

/// Writes the files of the matrix; the document first, because it marks the others as ours.
fn save(
    folder: &ResultFolder,
    plan: &MatrixPlan,
    result: &MatrixResult<'_>,
    quiet: bool,
) -> Result<(), Failure> {
    let [document, table, page] = MATRIX_FILES;
    let write = || {
        folder.write(document, format!("{:#}\n", result.document()).as_bytes())?;
        folder.write(table, &result.table()?)?;
        folder.write(page, matrix_page(plan, result).as_bytes())
    };
    let name = folder.path().display();
    write().map_err(|e| {
        failed(&format!(
            "cannot write to `{name}`: {e}\n  all cells are saved there; free some space and run \
             the command again to write the files without repeating them"
        ))
    })?;
    if !quiet {
        message(&format!("wrote {name}"));
    }
    Ok(())
}

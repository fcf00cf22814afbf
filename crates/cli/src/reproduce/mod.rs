//! The subcommand `reproduce`: runs the experiments of the papers and says which of their claims
//! hold.
//!
//! The lab plans and judges; `progress` shows which study is running, `spent` what they took,
//! `table` prints the claims, `shard` reads which part of the studies to run.

mod progress;
mod record;
mod shard;
mod spent;
mod table;

use crate::exit::{CHECK_FAILED, FAILED, INTERRUPTED, USAGE};
use crate::figures::{self, Format};
use crate::output::{Screen, error, message, print};
use crate::progress::real_time;
use crate::report::{Plotted, reproduction_page};
use crate::save::{FilePlace, Overwrite, provenance};
use clap::Args;
use lab::reproduction::{Asked, Costs, Kind, Paper, Plan, Results, Row, Unit, UnitError, document};
use lab::results::{REPRODUCTION as DOCUMENT, ResultFolder};
use lab::scenario::Key;
use lab::{Given, InputError, Options, Scenario};
use progress::{Follower, Planned};
use shard::Shard;
use spent::Spent;
use std::path::Path;
use table::Numbers;

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch reproduce --list
  anabranch reproduce 002/fig8
  anabranch reproduce 000/table4
  anabranch reproduce 000 --quick
  anabranch reproduce 002-C1,002-C2 --json
  anabranch reproduce all --out results
  anabranch reproduce all --scheduler blest-kernel
  anabranch reproduce all --out part1 --shard 1/2
  anabranch reproduce all --out results --merge part1,part2

A claim holds where its statistics show it, see docs/claims-format.md; otherwise it fails or is
undecided. Exit code 4: a hard claim fails.";

/// Options of `reproduce`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReproduceArgs {
    /// Papers, figures, tables and claims with commas between: all, 002, 002/fig8, 000/table4,
    /// 002-C6
    #[arg(value_name = "WHAT", required_unless_present = "list")]
    pub what: Option<String>,
    /// List the papers' figures, tables and claims, with the studies and runs they need
    #[arg(long, conflicts_with_all = ["json", "markdown", "write"])]
    pub list: bool,
    /// Few repetitions of short runs: a first impression
    #[arg(long)]
    pub quick: bool,
    /// Leave out the column of today's Linux kernel
    #[arg(long)]
    pub no_linux: bool,
    /// Add the variants of this scheduler of MPTCP to every study
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Folder with claims and scenario files in place of those of the five papers
    #[arg(long, value_name = "DIR")]
    pub claims: Option<String>,
    /// Folder with recordings of the named pages and games
    #[arg(long, value_name = "DIR", env = "ANABRANCH_DATA", hide_env = true)]
    pub data: Option<String>,
    /// Threads; no result depends on it [default: all cores]
    #[arg(long, value_name = "N", env = "ANABRANCH_JOBS", hide_env = true)]
    pub jobs: Option<String>,
    /// Run only part I of N of the studies, and store their values in --out
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with_all = ["merge", "list"])]
    pub shard: Option<String>,
    /// Folders with the values of all parts, with commas between; no study is run
    #[arg(long, value_name = "DIRS", conflicts_with = "list")]
    pub merge: Option<String>,
    /// Write reproduction.json, the values of all studies and the pages to a folder; studies
    /// already there, of the same scenario and build, are reused
    #[arg(long, value_name = "DIR", env = "ANABRANCH_OUT", hide_env = true)]
    pub out: Option<String>,
    /// Overwrite files that anabranch did not write
    #[arg(long)]
    pub force: bool,
    /// Write the claims to this Markdown file, with command, version, date and machine
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub write: Option<String>,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "shard"])]
    pub markdown: bool,
    /// Print one JSON document instead of the table
    #[arg(long, conflicts_with = "shard")]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// Endings of the files of a figure.
const FIGURE_FILES: [&str; 4] = ["csv", "parquet", "svg", "pdf"];

/// Validated inputs.
struct Prepared<'a> {
    args: &'a ReproduceArgs,
    plan: Plan,
    shard: Option<Shard>,
    /// Folder of the results, and further folders with stored values.
    out: Option<ResultFolder>,
    merged: Vec<ResultFolder>,
    /// Place of the document of `--write`.
    write: Option<FilePlace>,
}

/// Why there is no result: message and exit code.
struct Failure(String, u8);

impl From<InputError> for Failure {
    fn from(refusal: InputError) -> Failure {
        Failure(refusal.to_string(), USAGE)
    }
}

impl From<UnitError> for Failure {
    fn from(error: UnitError) -> Failure {
        let code = match error {
            UnitError::Input(_) | UnitError::Metric(..) => USAGE,
            UnitError::Study(..) | UnitError::Keep(..) => FAILED,
        };
        Failure(error.to_string(), code)
    }
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn reproduce(args: &ReproduceArgs) -> u8 {
    match prepare(args).and_then(|prepared| carry_out(&prepared)) {
        Ok(code) => code,
        Err(Failure(text, code)) => {
            error(&text);
            code
        }
    }
}

fn prepare(args: &ReproduceArgs) -> Result<Prepared<'_>, Failure> {
    let what = args.what.as_deref().unwrap_or("all");
    let mut options = Options::default();
    for (key, text) in [(Key::Data, &args.data), (Key::Jobs, &args.jobs)] {
        if let Some(text) = text {
            options = options.with(key, text);
        }
    }
    let asked = Asked {
        selection: Given::argument("WHAT", what),
        quick: args.quick,
        linux: !args.no_linux,
        scheduler: args.scheduler.as_ref().map(|name| Given::argument("--scheduler", name)),
        options,
    };
    let shard = args.shard.as_deref().map(Shard::parse).transpose()?;
    let papers = args.claims.as_deref().map_or_else(Paper::all, Paper::in_folder)?;
    let plan = Plan::new(papers, asked)?;
    let overwrite = Overwrite { force: args.force };
    let files = files(&plan);
    let folder = |name: &String| overwrite.folder("--out", name, files.iter().cloned());
    let out = args.out.as_ref().map(folder).transpose()?;
    let write = args.write.as_deref().map(Path::new);
    let write = write.map(|file| overwrite.document(file)).transpose()?;
    let merged = args.merge.iter().flat_map(|names| names.split(','));
    let merged = merged.map(|name| shard::existing(name.trim())).collect::<Result<_, _>>()?;
    Ok(Prepared { args, plan, shard, out, merged, write })
}

/// Names of the files that a folder of results may have.
fn files(plan: &Plan) -> Vec<String> {
    let (values, figures) = plan.files();
    let pages = plan.papers.iter().map(|paper| page_name(&paper.number));
    let drawn = figures.iter().flat_map(|name| FIGURE_FILES.map(|end| format!("{name}.{end}")));
    [DOCUMENT.to_owned()].into_iter().chain(pages).chain(drawn).chain(values).collect()
}

fn carry_out(prepared: &Prepared<'_>) -> Result<u8, Failure> {
    let Prepared { args, plan, .. } = prepared;
    let screen = Screen::detect(args.no_color);
    if args.list {
        print(&table::list(plan, screen)?);
        return Ok(0);
    }
    let clock = real_time();
    let costs = plan.costs()?;
    let Some((results, spent)) = run_studies(prepared, &costs)? else {
        message("interrupted: run the command again to resume, if it has --out");
        return Ok(INTERRUPTED);
    };
    if prepared.shard.is_some() {
        return Ok(0);
    }
    let rows = plan.judge(&results);
    let papers = plan.papers.iter().enumerate();
    let numbers: Numbers<'_> =
        papers.map(|(number, of)| (&*of.number, plan.compared(number, &results))).collect();
    // Nothing that the studies found is lost where a file cannot be written.
    let recorded = prepared.write.as_ref().map_or(Ok(()), |place| {
        let made = (&provenance(clock), spent.for_document());
        let text = record::document(plan, (&rows, &numbers), made);
        place.write_document(&text).map_err(|failure| Failure(failure, FAILED))
    });
    let saved = prepared
        .out
        .as_ref()
        .map_or(Ok(()), |out| save(prepared, out, (&rows, &numbers), &results));
    let tables: &[_] = if plan.tables.is_empty() { &[] } else { &numbers };
    if args.json {
        print(&format!("{:#}\n", document(&rows, &numbers, args.quick)));
    } else if args.markdown {
        print(&table::markdown(&rows, tables));
    } else {
        print(&table::text(&rows, (&numbers, tables), screen));
    }
    recorded?;
    saved?;
    let is_failed = |row: &Row<'_>| row.claim.kind == Kind::Hard && row.ours.holds == Some(false);
    Ok(if rows.iter().any(is_failed) { CHECK_FAILED } else { 0 })
}

/// Runs the studies that are not stored; `None` if interrupted.
fn run_studies<'a>(
    prepared: &Prepared<'_>,
    costs: &'a Costs,
) -> Result<Option<(Results, Spent<'a>)>, Failure> {
    let Prepared { args, plan, shard, out, merged, .. } = prepared;
    let own = |(number, _): &(usize, &Unit)| shard.is_none_or(|shard| shard.has(*number));
    let units: Vec<&Unit> = plan.units.iter().enumerate().filter(own).map(|(_, of)| of).collect();
    let folders: Vec<ResultFolder> = out.iter().chain(merged).cloned().collect();
    let mut planned: Vec<(&Unit, Scenario)> = Vec::new();
    let mut results = Results::default();
    for unit in units {
        let scenario = plan.scenario(unit)?;
        match plan.stored(unit, &scenario, &folders) {
            Some(values) => {
                if let Some(out) = out {
                    plan.store((unit, &scenario), &values, out)?;
                }
                results.add(unit, &scenario, values);
            }
            None => planned.push((unit, scenario)),
        }
    }
    if args.merge.is_some() && !planned.is_empty() {
        let labels: Vec<String> = planned.iter().map(|(unit, _)| plan.label(unit)).collect();
        return Err(shard::lacking(&labels).into());
    }
    let reused = plan.units.len() - planned.len();
    let length = |(unit, scenario): &(&Unit, Scenario)| {
        let (runs, cost) = (plan.runs(unit, scenario), costs.of_unit(unit));
        let seconds = (cost.unknown == 0).then(|| cost.seconds / cost.runs.max(1) as f64);
        Planned { runs, seconds }
    };
    let follower = Follower::new(planned.iter().map(length).collect(), args.quiet);
    let mut spent = Spent::new(costs, reused);
    for (unit, scenario) in planned {
        follower.next(&plan.label(unit));
        let ran = plan.run(unit, &scenario, &follower);
        if !matches!(ran, Ok(Some(_))) {
            follower.finish();
        }
        let Some(values) = ran? else { return Ok(None) };
        spent.count(unit);
        if let Some(out) = out {
            plan.store((unit, &scenario), &values, out)?;
        }
        results.add(unit, &scenario, values);
    }
    follower.finish();
    if let Some(sentence) = spent.sentence().filter(|_| !args.quiet) {
        message(&sentence);
    }
    if reused > 0 && shard.is_none() && !args.quiet {
        message(&format!("reused {reused} of {} studies", plan.units.len()));
    }
    Ok(Some((results, spent)))
}

/// Writes the files of the folder; the document first, because it marks the others as ours.
fn save(
    prepared: &Prepared<'_>,
    folder: &ResultFolder,
    (rows, numbers): (&[Row<'_>], &Numbers<'_>),
    results: &Results,
) -> Result<(), Failure> {
    let Prepared { args, plan, .. } = prepared;
    let drawn = plan.drawn(results);
    let write = || {
        folder
            .write(DOCUMENT, format!("{:#}\n", document(rows, numbers, args.quick)).as_bytes())?;
        for (_, of) in &drawn {
            let name = of.name.replace('/', "-");
            folder.write(&format!("{name}.csv"), of.csv().as_bytes())?;
            folder.write(&format!("{name}.parquet"), &of.table()?)?;
            let files = figures::of_paper(&name, &Plotted::of(of), &[Format::Svg, Format::Pdf]);
            for (name, content) in files.map_err(std::io::Error::other)? {
                folder.write(&name, &content)?;
            }
        }
        for (number, paper) in plan.papers.iter().enumerate() {
            let own = |row: &&Row<'_>| paper.claims.iter().any(|of| of.id == row.claim.id);
            let claims: Vec<&Row<'_>> = rows.iter().filter(own).collect();
            let figures = drawn.iter().filter(|(of, _)| *of == number).map(|(_, of)| of);
            let figures: Vec<_> = figures.collect();
            let has_table = plan.tables.iter().any(|(of, _)| *of == number);
            if !claims.is_empty() || !figures.is_empty() || has_table {
                let shown = (paper, args.quick);
                let page = reproduction_page(shown, &claims, &numbers[number].1, &figures);
                folder.write(&page_name(&paper.number), page.as_bytes())?;
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let place = folder.path().display();
    write().map_err(|error| Failure(format!("cannot write to `{place}`: {error}"), FAILED))?;
    if !args.quiet {
        message(&format!("wrote {place}"));
    }
    Ok(())
}

/// Name of the page of a paper.
fn page_name(number: &str) -> String {
    format!("{number}.html")
}

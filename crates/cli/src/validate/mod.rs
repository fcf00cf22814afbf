//! The subcommand `validate`: compares the simulator with recorded runs of a kernel.
//!
//! The lab compares, `spread` shows distributions, `fidelity` writes the page.

mod fidelity;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod record;
mod spread;

use crate::columns::{Column, Table};
use crate::exit::{CHECK_FAILED, FAILED, INTERRUPTED, USAGE};
use crate::output::{Screen, can_redraw, error, message, print};
use clap::Args;
use fidelity::Places;
use indicatif::{ProgressBar, ProgressStyle};
use lab::run::Run;
use lab::scenario::Variant;
use lab::statistics::Mode;
use lab::validation::{Apart, Row, Series, Validation, ValidationSet, document, validate};
use lab::{Scale, Watcher};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch validate scenarios/validation.toml
  anabranch validate scenarios/validation.toml --only fast-10-40-1MiB --json
  anabranch validate scenarios/validation.toml --write docs/fidelity.md
  sudo anabranch validate --record scenarios/validation.toml

A scenario counts if the half-width of the 95 % interval of the kernel's mean is at most 4 %. The
difference is the simulator's mean over the kernel's, minus one; the excess is the part of it
outside the joint interval. Scenarios with random loss, or whose runs fall into several groups
(modes), are compared by quantiles and modes and not counted.";

/// Largest allowed median and maximum of the counted differences.
pub(crate) const TARGETS: (f64, f64) = (0.05, 0.15);

/// Most emulations at once.
#[cfg(all(feature = "linux", target_os = "linux"))]
const MOST_JOBS: usize = 64;
/// Help text for scenarios that are left out.
const RECORD: &str = "`sudo anabranch validate --record SET` records what is missing";

/// Options of `validate`.
#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    /// Validation set: a TOML file of named scenarios
    pub set: String,
    /// Only the scenario with this name; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Record the runs that the file lacks: this machine's kernel over emulated links (needs root)
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[arg(long, conflicts_with_all = ["json", "write", "check"])]
    pub record: bool,
    /// With --record: emulations at once; a run in which the emulator was late is repeated
    #[cfg(all(feature = "linux", target_os = "linux"))]
    #[arg(long, value_name = "N", requires = "record", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Folder with recordings of the named pages, web/epload and web/paper000
    #[arg(long, value_name = "DIR", env = "ANABRANCH_DATA", hide_env = true)]
    pub data: Option<String>,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write the result to this Markdown file, with its figure next to it
    #[arg(long, value_name = "FILE")]
    pub write: Option<String>,
    /// Overwrite files that anabranch did not write
    #[arg(long)]
    pub force: bool,
    /// Exit with 4 if the median of the counted differences is above 5 % or the worst above 15 %
    #[arg(long)]
    pub check: bool,
    /// Print no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// The value of `--jobs`.
#[cfg(all(feature = "linux", target_os = "linux"))]
fn jobs(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|jobs| (1..=MOST_JOBS).contains(jobs));
    number.ok_or_else(|| format!("write a whole number from 1 to {MOST_JOBS}"))
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn run(args: &ValidateArgs) -> u8 {
    let set = ValidationSet::from_file(&args.set, args.data.as_deref()).and_then(|mut set| {
        set.keep(&args.only)?;
        Ok(set)
    });
    let set = match set {
        Ok(set) => set,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    #[cfg(all(feature = "linux", target_os = "linux"))]
    if args.record {
        return record::record(args, &set);
    }
    let series = match Series::from_file(&set.series) {
        Ok(series) => series,
        Err(failure) => {
            error(&failure);
            return USAGE;
        }
    };
    let file = args.write.as_deref().map(Path::new);
    let places = match file.map(|file| Places::new(file, args.force)).transpose() {
        Ok(places) => places,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    compare(args, &set, &series, places.as_ref()).unwrap_or_else(|failure| {
        error(&failure);
        FAILED
    })
}

fn compare(
    args: &ValidateArgs,
    set: &ValidationSet,
    series: &Series,
    places: Option<&Places>,
) -> Result<u8, String> {
    let follower = Follower::new(set, args.quiet);
    let result = validate(set, series, &follower, &|entry| follower.next(&entry.name));
    follower.bar.finish_and_clear();
    let result = result.map_err(|failure| failure.to_string())?;
    if follower.is_stopped() {
        message("interrupted: no result");
        return Ok(INTERRUPTED);
    }
    if args.json {
        print(&format!("{:#}\n", document(&result, &series.machine)));
    } else {
        print(&text(&result, series, Screen::detect(args.no_color)));
    }
    if let (Some(file), Some(places)) = (&args.write, places) {
        places.write(&args.set, set, series, &result)?;
        if !args.quiet {
            message(&format!("wrote {file}"));
        }
    }
    if args.check && !meets_targets(&result) {
        let [median, worst] = [TARGETS.0, TARGETS.1].map(plain_percent);
        error(&format!("--check: the median may be at most {median}, the worst at most {worst}"));
        return Ok(CHECK_FAILED);
    }
    Ok(0)
}

fn meets_targets(result: &Validation) -> bool {
    let (median, worst) = TARGETS;
    let within = |value: Option<f64>, most: f64| value.is_some_and(|value| value <= most);
    within(result.median_abs_diff(), median) && within(result.worst(), worst)
}

/// Text output (without `--json`).
fn text(result: &Validation, series: &Series, screen: Screen) -> String {
    let machine = &series.machine;
    let mut text = format!("recorded {} on {}\n", machine.recorded, machine.kernel);
    if !result.rows.is_empty() {
        text.push('\n');
        text.push_str(&rows(&result.rows, recorded_side(result)).render(screen));
    }
    if !result.apart.is_empty() {
        text.push_str("\nCompared by quantiles and modes, not counted:\n");
        text.push_str(&apart(&result.apart, recorded_side(result)).render(screen));
    }
    if let Some(table) = modes_table(&result.apart) {
        text.push_str("\nRuns of several kinds (modes, with their share of the runs):\n");
        text.push_str(&table.render(screen));
    }
    if let Some(table) = spread::outside(result) {
        text.push_str("\nOutside the targets by their distributions (values and shares):\n");
        text.push_str(&table.render(screen));
    }
    if let Some(table) = spread::disputed(result) {
        let all = multi_path(recorded_side(result));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nDecided differently, {all} against the best path alone:");
        text.push_str(&table.render(screen));
    }
    for reason in spread::left_out(result) {
        // Writing to a string cannot fail.
        screen.wrap(&mut text, "note: ", &format!("left out {reason}"), "");
    }
    if !result.left_out.is_empty() {
        screen.wrap(&mut text, "help: ", RECORD, "");
    }
    text.push('\n');
    for line in spread::overall(result) {
        screen.wrap(&mut text, "", &line, "");
    }
    let _ = write!(text, "{}", screen.styled("1", &summary(result)));
    text.push('\n');
    text
}

/// Shows the current scenario, and stops at an interrupt.
pub(crate) struct Follower {
    pub bar: ProgressBar,
    stopped: Arc<AtomicBool>,
}

impl Follower {
    pub(crate) fn new(set: &ValidationSet, quiet: bool) -> Follower {
        let bar = if quiet || !can_redraw() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(set.entries.len() as u64)
        };
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} scenarios, now {msg}") {
            bar.set_style(style);
        }
        let stopped = Arc::new(AtomicBool::new(false));
        let (asked, cleared) = (Arc::clone(&stopped), bar.clone());
        // Without a handler an interrupt ends the program at once, which is acceptable.
        let _ = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                cleared.finish_and_clear();
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
        Follower { bar, stopped }
    }

    pub(crate) fn next(&self, name: &str) {
        self.bar.inc(u64::from(!self.bar.message().is_empty()));
        self.bar.set_message(name.to_owned());
    }
}

impl Watcher for Follower {
    fn on_run(&self, _: &Variant, _: &Run) {}
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What the recorded runs are of, in headings.
fn recorded_side(result: &Validation) -> &'static str {
    let spreads = &result.spreads;
    let is_usrsctp = spreads.iter().all(|row| row.subject.stack == "usrsctp");
    if is_usrsctp && !spreads.is_empty() { "usrsctp" } else { "kernel" }
}

/// What uses several paths there.
fn multi_path(side: &str) -> &'static str {
    if side == "kernel" { "MPTCP" } else { "all paths" }
}

/// The result in one line.
pub(crate) fn summary(result: &Validation) -> String {
    let counted = result.counted().len();
    let (Some(median), Some(worst)) = (result.median_abs_diff(), result.worst()) else {
        if result.rows.is_empty() {
            return "nothing counted: no scenario was compared by its mean".to_owned();
        }
        let side = recorded_side(result);
        return format!("nothing counted: in no scenario is the {side}'s mean known to 4 %");
    };
    let of = if counted == 1 { "comparison" } else { "comparisons" };
    format!(
        "median |difference| {}, worst {}, over {counted} counted {of}",
        plain_percent(median),
        plain_percent(worst)
    )
}

fn rows(rows: &[Row], side: &str) -> Table {
    let column = |heading: &str, dispensable, right, cell: &dyn Fn(&Row) -> String| {
        Column::new(heading, right, dispensable, rows.iter().map(cell).collect())
    };
    let columns = vec![
        column("scenario", 0, false, &|row| row.subject.scenario.clone()),
        column("variant", 0, false, &|row| row.subject.variant.clone()),
        column("metric", 5, false, &|row| row.subject.metric.replace('_', " ")),
        column(side, 0, true, &|row| scale(row).value(row.kernel.mean)),
        column("+-", 3, true, &|row| half_width(row)),
        column("ours", 0, true, &|row| scale(row).value(row.ours.mean)),
        column("diff", 0, true, &|row| signed_percent(row.diff)),
        column("excess", 2, true, &|row| plain_percent(row.excess)),
        column("counted", 4, false, &|row| if row.counted { "yes" } else { "no" }.to_owned()),
    ];
    Table { columns }
}

fn scale(row: &Row) -> Scale {
    Scale::of(&row.subject.unit, row.kernel.mean)
}

/// Half-width of the kernel's interval, as a share of its mean.
fn half_width(row: &Row) -> String {
    let interval = row.kernel.interval.filter(|_| row.kernel.mean > 0.0);
    interval.map_or(String::new(), |i| plain_percent(i.half_width() / row.kernel.mean))
}

fn apart(apart: &[Apart], side: &str) -> Table {
    let column = |heading: String, dispensable, right, cell: &dyn Fn(&Apart) -> String| {
        Column::new(heading, right, dispensable, apart.iter().map(cell).collect())
    };
    let mut columns = vec![
        column("scenario".into(), 0, false, &|row| row.subject.scenario.clone()),
        column("variant".into(), 0, false, &|row| row.subject.variant.clone()),
        column("runs".into(), 3, true, &|row| format!("{}/{}", row.kernel_n, row.ours_n)),
    ];
    let quantiles = apart.first().map_or(0, |row| row.quantiles.len());
    for index in 0..quantiles {
        let q = apart[0].quantiles[index].q * 100.0;
        let value = |row: &Apart| {
            let quantile = row.quantiles.get(index)?;
            let scale = Scale::of(&row.subject.unit, quantile.kernel);
            Some((scale.value(quantile.kernel), signed_percent(quantile.diff)))
        };
        columns.push(column(format!("{side} p{q:.0}"), 1, true, &|row| {
            value(row).map_or(String::new(), |(kernel, _)| kernel)
        }));
        columns.push(column("diff".into(), 0, true, &|row| {
            value(row).map_or(String::new(), |(_, diff)| diff)
        }));
    }
    Table { columns }
}

/// Table of the scenarios with several modes on either side.
fn modes_table(apart: &[Apart]) -> Option<Table> {
    let several: Vec<&Apart> = apart.iter().filter(|row| has_modes(row)).collect();
    let column = |heading: &str, cell: &dyn Fn(&Apart) -> String| {
        Column::new(heading, false, 0, several.iter().map(|row| cell(row)).collect())
    };
    let columns = vec![
        column("scenario", &|row| row.subject.scenario.clone()),
        column("variant", &|row| row.subject.variant.clone()),
        column("modes of the kernel", &|row| modes(&row.kernel_modes, &row.subject.unit)),
        column("ours", &|row| modes(&row.our_modes, &row.subject.unit)),
    ];
    (!several.is_empty()).then_some(Table { columns })
}

/// Whether the runs of either side have several modes.
pub(crate) fn has_modes(apart: &Apart) -> bool {
    apart.kernel_modes.len() > 1 || apart.our_modes.len() > 1
}

/// Text of modes with their shares of the runs.
pub(crate) fn modes(modes: &[Mode], unit: &str) -> String {
    let text = |mode: &Mode| {
        let at = Scale::of(unit, mode.centre).value(mode.centre);
        if modes.len() == 1 { at } else { format!("{at} ({:.0} %)", mode.share * 100.0) }
    };
    modes.iter().map(text).collect::<Vec<String>>().join(", ")
}

/// A share in per cent with its sign.
pub(crate) fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// A share.
pub(crate) fn plain_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

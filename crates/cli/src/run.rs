//! The subcommand `run`: one repetition of each variant with full recording.
//!
//! It prints numbers on standard output, and writes packets for Wireshark, time series and a page
//! to files.

use crate::columns::{Column, Table};
use crate::exit::{FAILED, USAGE};
use crate::meanings::kernel;
use crate::options::ScenarioArgs;
use crate::output::{Screen, error, harmless, message, print};
use crate::progress::real_time;
use crate::save::{Overwrite, provenance, tell_of_copies, write_captures, write_folder};
use crate::table::{paths, protocols};
use crate::why;
use clap::Args;
use lab::repetition::{Repetition, as_study, delays_of, record_repetition};
use lab::results::{ResultFolder, Written, repetition_document, use_copies};
use lab::run::Run;
use lab::scenario::{Key, Runs, Variant, variants_of};
use lab::{InputError, Report, Scale, Scenario, Study, describe_traffic};

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch run --path wlan --path 3g --traffic bulk:4MiB --protocols tcp,mptcp
  anabranch run scenario.toml --pcap packets --series --out repetition
  anabranch run scenario.toml --variant mptcp/lrf/cubic --run 7 --out repetition";

/// Default folder for series.
const FOLDER: &str = "anabranch-run";

/// The last repetition: tables have no larger integer.
const LAST: u64 = i64::MAX as u64;

/// Options of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub asked: ScenarioArgs,
    /// Number of the repetition, counted from 0 as in a comparison
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=LAST))]
    pub run: u64,
    /// Run only this variant; may be repeated [default: every variant of the scenario]
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    /// Write the packets to a folder, one file as seen by the sender and one as seen by the
    /// receiver, for Wireshark and `anabranch analyze`
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<String>,
    /// Record time series: series.parquet, and report.html with figures, in the folder of --out
    /// [default: that of --pcap, else `anabranch-run`]
    #[arg(long)]
    pub series: bool,
    /// Write series.parquet, report.html, runs.parquet, scenario.toml, result.json and run.json to
    /// a folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
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
    /// Do not print which folders were written
    #[arg(long, short)]
    pub quiet: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// Validated inputs of a run.
struct Prepared {
    scenario: Scenario,
    variants: Vec<Variant>,
    out: Option<ResultFolder>,
    pcap: Option<ResultFolder>,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn run(args: &RunArgs) -> u8 {
    let prepared = match prepare(args) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    match carry_out(args, &prepared) {
        Ok(()) => 0,
        Err(failure) => {
            error(&failure);
            FAILED
        }
    }
}

fn prepare(args: &RunArgs) -> Result<Prepared, InputError> {
    let mut options = args.asked.over_file()?;
    // A single repetition has no number of runs and no baseline.
    for key in [Key::Runs, Key::RunsMax, Key::Baseline] {
        options.forget(key);
    }
    let series = args.series.then(|| args.pcap.clone().unwrap_or_else(|| FOLDER.to_owned()));
    let out = args.out.clone().or(series);
    let copied = out.as_deref().map(|out| use_copies(&mut options, out));
    let mut scenario = options.resolve()?;
    scenario.runs = Runs::Fixed(1);
    let variants = chosen(&scenario, &args.variants)?;
    let overwrite = Overwrite { force: args.force };
    let out = overwrite.out(out.as_deref())?.map(ResultFolder::for_a_repetition).transpose()?;
    let pcap = overwrite.pcap(args.pcap.as_deref(), &variants)?;
    if let Some(out) = &out {
        overwrite.inputs(out, &scenario)?;
    }
    tell_of_copies(copied, args.quiet);
    Ok(Prepared { scenario, variants, out, pcap })
}

/// The variants with these names; without names, all of them.
fn chosen(scenario: &Scenario, names: &[String]) -> Result<Vec<Variant>, InputError> {
    let all = variants_of(scenario);
    let is_named = |variant: &Variant, name: &str| variant.name.eq_ignore_ascii_case(name);
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|v| is_named(v, name))) {
        let known: Vec<&str> = all.iter().map(|variant| variant.name.as_str()).collect();
        let problem = format!("unknown variant `{unknown}`");
        let help = format!(
            "the scenario has {}; --protocols, --cc and --schedulers add others",
            known.join(", ")
        );
        return Err(InputError::at("--variant", problem, help));
    }
    let is_chosen =
        |variant: &Variant| names.is_empty() || names.iter().any(|name| is_named(variant, name));
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn carry_out(args: &RunArgs, prepared: &Prepared) -> Result<(), String> {
    let Prepared { scenario, variants, out, pcap } = prepared;
    let clock = real_time();
    let repetitions = record_repetition(scenario, variants, args.run, pcap.is_some());
    let mut repetitions = repetitions.map_err(|failure| failure.to_string())?;
    let mut captures = Vec::new();
    for Repetition { variant, captures: files, .. } in &mut repetitions {
        captures.extend(files.take().map(|files| (variant.name.clone(), files)));
    }
    if let Some(folder) = pcap {
        write_captures(folder, captures)?;
    }
    let study = as_study(&repetitions);
    if args.json {
        let document = repetition_document(scenario, args.run, &repetitions);
        print(&format!("{document:#}\n"));
    } else {
        let screen = Screen::detect(args.no_color);
        print(&table(scenario, &study, args.run, screen));
        if let Some(report) = Report::new(scenario, &study).filter(|_| args.why) {
            print(&format!("\n{}", why::text(&report.variants, screen)));
        }
    }
    if let Some(folder) = out {
        save(folder, args, scenario, &repetitions, clock)?;
    }
    if !args.quiet {
        let mut folders: Vec<_> = out.iter().chain(pcap).map(ResultFolder::path).collect();
        folders.dedup();
        for folder in folders {
            message(&format!("wrote {}", folder.display()));
        }
    }
    Ok(())
}

/// Writes the folder of `--out`.
fn save(
    folder: &ResultFolder,
    args: &RunArgs,
    scenario: &Scenario,
    repetitions: &[Repetition],
    clock: std::time::Instant,
) -> Result<(), String> {
    let study = as_study(repetitions);
    let report = Report::new(scenario, &study).ok_or("the scenario has no variant")?;
    let series: Vec<_> = repetitions.iter().map(|one| one.series.clone()).collect();
    let provenance = provenance(clock);
    let delays = &delays_of(repetitions);
    let repetition = Some(args.run);
    let (study, report, series) = (&study, &report, series.as_slice());
    let written =
        Written { scenario, study, report, series, delays, repetition, records: None, stacks: &[] };
    let name = folder.path().display();
    write_folder(folder, &written, &provenance, &[])
        .map_err(|error| format!("cannot write to `{name}`: {error}"))
}

/// Text output of `run` (without `--json`).
pub(crate) fn table(scenario: &Scenario, study: &Study, number: u64, screen: Screen) -> String {
    let mut text = String::new();
    if let Some(title) = &scenario.about.title {
        text.push_str(&format!("{}\n", screen.styled("1", &harmless(title))));
    }
    let heading = format!(
        "{}; {}, hosts like {}; repetition {number}, seed {}",
        describe_traffic(&scenario.traffic, scenario.ends.reverse),
        protocols(scenario),
        kernel(scenario.ends.profile),
        scenario.seed
    );
    screen.wrap(&mut text, "", &heading, "");
    text.push('\n');
    paths(&mut text, scenario, screen);
    text.push_str(&numbers(scenario, study).render(screen.of_tables()));
    for (variant, run) in runs(study) {
        if run.value.is_none() {
            let late = || format!("not complete after {}", scenario.deadline);
            let why = run.failure.clone().unwrap_or_else(late);
            let note = format!("{}: incomplete: {why}", variant.name);
            screen.wrap(&mut text, "note: ", &note, "");
        }
    }
    text.push_str("\nA single run shows no variation; use `anabranch compare`.\n");
    text
}

fn runs(study: &Study) -> impl Iterator<Item = (&Variant, &Run)> {
    study.variants.iter().flat_map(|of| of.runs.iter().map(move |run| (&of.variant, run)))
}

fn numbers(scenario: &Scenario, study: &Study) -> Table {
    let values = || runs(study).filter_map(|(_, run)| run.value);
    let metric = runs(study).next().map(|(_, run)| run.metric);
    let unit = metric.map_or("", |metric| metric.unit());
    let smallest = values().fold(f64::INFINITY, f64::min);
    let scale = Scale::of(unit, if smallest.is_finite() { smallest } else { 0.0 });
    let name = metric.map_or("", |metric| metric.name()).replace('_', " ");
    let each = |cell: &dyn Fn(&Run) -> String| runs(study).map(|(_, run)| cell(run)).collect();
    let kilobytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e3);
    let value = |run: &Run| run.value.map_or("incomplete".to_owned(), |value| scale.number(value));
    let names = runs(study).map(|(variant, _)| variant.name.clone()).collect();
    let mut columns = vec![
        Column::new("variant", false, 0, names),
        Column::new(format!("{name} [{}]", scale.unit), true, 0, each(&value)),
    ];
    for (index, path) in scenario.paths.iter().enumerate() {
        let share = |run: &Run| {
            let all: u64 = run.first_sent_bytes.iter().sum();
            let of = run.first_sent_bytes.get(index).copied().unwrap_or(0);
            if of == 0 { "-".into() } else { format!("{:.0} %", 100.0 * of as f64 / all as f64) }
        };
        columns.push(Column::new(format!("on {}", path.name), true, 0, each(&share)));
    }
    columns.extend([
        Column::new("segments", true, 2, each(&|run| run.data_packets.to_string())),
        Column::new("resent", true, 0, each(&|run| run.retransmitted_segs.to_string())),
        Column::new("reinjected [kB]", true, 0, each(&|run| kilobytes(run.reinjected_bytes))),
        Column::new("twice [kB]", true, 0, each(&|run| kilobytes(run.duplicate_bytes))),
        Column::new("queue full", true, 1, each(&|run| run.drops.full.to_string())),
        Column::new("dropped early", true, 3, each(&|run| run.drops.early.to_string())),
        Column::new("lost", true, 1, each(&|run| run.drops.random.to_string())),
        Column::new("while down", true, 3, each(&|run| run.drops.down.to_string())),
    ]);
    Table { columns }
}

//! The subcommand `compare`: from arguments to a table, a document or a folder, and an exit code.

use crate::args::CompareArgs;
use crate::cost::warn_of_cost;
use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::output::{Screen, error, message, print, stdout_is_terminal};
use crate::progress::{Progress, Shown, real_time};
use crate::save::{Overwrite, provenance, tell_of_copies, write_captures, write_results};
use crate::table;
use lab::results::{Provenance, Records, ResultFolder, document, use_copies};
use lab::scenario::{Key, Runs, variants_of};
use lab::{InputError, Report, Scenario, Study, run_study};

/// Real time of a study on a terminal, where somebody waits.
const TIME_ON_A_TERMINAL: base::Duration = base::Duration::from_secs(60);

/// Validated inputs of a study.
struct Prepared {
    /// Arguments, with the output options of the scenario file.
    args: CompareArgs,
    scenario: Scenario,
    out: Option<ResultFolder>,
    /// Stored runs of the folder `out`.
    records: Option<Records>,
    pcap: Option<ResultFolder>,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn compare(args: &CompareArgs) -> u8 {
    let prepared = match prepare(args) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    match carry_out(&prepared) {
        Ok(code) => code,
        Err(failure) => {
            error(&failure);
            FAILED
        }
    }
}

fn prepare(args: &CompareArgs) -> Result<Prepared, InputError> {
    let mut options = args.options()?;
    let args = args.with_output(&options)?;
    let copied = args.out.as_deref().map(|out| use_copies(&mut options, out));
    let mut scenario = options.resolve()?;
    if !options.is_given(Key::Time) && stdout_is_terminal() {
        scenario.time = Some(TIME_ON_A_TERMINAL);
    }
    args.require_goal(&options, &scenario)?;
    let overwrite = Overwrite { force: args.force };
    let out = overwrite.out(args.out.as_deref())?;
    let pcap = overwrite.pcap(args.pcap.as_deref(), &variants_of(&scenario))?;
    let records = out.as_ref().map(|out| Records::open(out, &scenario)).transpose()?;
    if let Some(out) = &out {
        overwrite.inputs(out, &scenario)?;
    }
    tell_of_copies(copied, args.quiet);
    Ok(Prepared { args, scenario, out, records, pcap })
}

fn carry_out(prepared: &Prepared) -> Result<u8, String> {
    let Prepared { args, scenario, out, records, pcap } = prepared;
    let auto = matches!(scenario.runs, Runs::Auto { .. });
    let time = scenario.time.filter(|_| auto);
    let time = time.map(|time| std::time::Duration::from_nanos(time.as_nanos()));
    let shown = Shown { quiet: args.quiet, verbose: args.verbose, captures: pcap.is_some(), time };
    let progress = Progress::new(&variants_of(scenario), shown);
    progress.stop_on_interrupt();
    if let Some(note) = records.as_ref().and_then(Records::note).filter(|_| !args.quiet) {
        message(&format!("note: {note}"));
    }
    warn_of_cost(scenario);
    let clock = real_time();
    let study = run_study(scenario, records.as_ref(), &progress);
    progress.finish();
    let study = study.map_err(|failure| failure.to_string())?;
    let Some(report) = Report::new(scenario, &study) else {
        message("interrupted before any repetition was complete: no result");
        return Ok(INTERRUPTED);
    };
    if progress.reused() > 0 && !args.quiet {
        let (reused, done) = (progress.reused(), progress.done());
        message(&format!("reused {reused} of {done} runs"));
    }
    let (reused, csv) = (progress.reused(), args.csv);
    let provenance = Provenance { reused, csv, ..provenance(clock) };
    if let Some(folder) = pcap {
        write_captures(folder, progress.take_captures())?;
    }
    let saved =
        out.as_ref().map_or(Ok(()), |out| save(out, prepared, (&study, &report), &provenance));
    let ask = table::Ask { pairs: args.pairs, why: args.why, wide: args.wide, seeds: &[] };
    show(args, (scenario, scenario), &report, ask);
    saved?;
    Ok(args.code(&report))
}

/// Prints the result. `shown` is the scenario as tables describe it.
pub(crate) fn show(
    args: &CompareArgs,
    (scenario, shown): (&Scenario, &Scenario),
    report: &Report,
    ask: table::Ask,
) {
    if args.json {
        print(&format!("{:#}\n", document(scenario, report)));
    } else if args.markdown {
        scenario.notes.iter().for_each(|note| message(&format!("note: {note}")));
        print(&table::markdown(shown, report, ask));
    } else {
        print(&table::text(shown, report, ask, Screen::detect(args.no_color)));
    }
}

/// Writes the result folder.
fn save(
    folder: &ResultFolder,
    prepared: &Prepared,
    result: (&Study, &Report),
    provenance: &Provenance,
) -> Result<(), String> {
    let Prepared { args, scenario, records, .. } = prepared;
    write_results(folder, scenario, result, records.as_ref(), provenance)?;
    if !args.quiet {
        message(&format!("wrote {}", folder.path().display()));
    }
    Ok(())
}

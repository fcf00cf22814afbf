//! The verb `compare`: from arguments to a table, a document or a folder, and an exit code.

use crate::args::CompareArgs;
use crate::output::{Screen, error, message, print};
use crate::progress::{Progress, real_time};
use crate::{FAILED, INTERRUPTED, USAGE, html, table};
use clap::ArgMatches;
use lab::results::{Provenance, ResultFolder, document};
use lab::{InputError, Report, Scenario, run_study, variants_of};
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything that must be right before the first run.
struct Prepared {
    scenario: Scenario,
    out: Option<ResultFolder>,
    pcap: Option<ResultFolder>,
}

/// Carries it out; the answer is the exit code.
pub fn compare(args: &CompareArgs, sources: Option<&ArgMatches>) -> u8 {
    let prepared = match prepare(args, sources) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    match carry_out(args, &prepared) {
        Ok(code) => code,
        Err(failure) => {
            error(&failure);
            FAILED
        }
    }
}

fn prepare(args: &CompareArgs, sources: Option<&ArgMatches>) -> Result<Prepared, InputError> {
    let mut options = args.options(sources);
    if let Some(file) = &args.scenario {
        options = options.or(Scenario::options_from_file(file)?);
    }
    let scenario = options.resolve()?;
    let folder = |name: &Option<String>| name.as_deref().map(ResultFolder::open).transpose();
    Ok(Prepared { scenario, out: folder(&args.out)?, pcap: folder(&args.pcap)? })
}

fn carry_out(args: &CompareArgs, prepared: &Prepared) -> Result<u8, String> {
    let scenario = &prepared.scenario;
    let variants = variants_of(scenario).len();
    let total = variants * scenario.runs as usize;
    let progress = Progress::new(total, args.quiet, args.verbose, prepared.pcap.is_some());
    progress.stop_on_interrupt();
    let (started, clock) = (seconds_since_1970(), real_time());
    let study = run_study(scenario, &progress);
    progress.finish();
    let study = study.map_err(|failure| failure.to_string())?;
    let Some(report) = Report::new(scenario, &study) else {
        message("interrupted before any repetition was complete: no result");
        return Ok(INTERRUPTED);
    };
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        started,
        duration: clock.elapsed().as_secs_f64(),
    };
    if let Some(folder) = &prepared.pcap {
        write_captures(folder, &progress)?;
    }
    if let Some(folder) = &prepared.out {
        let page = html::page(scenario, &report, &provenance);
        folder
            .write_study(scenario, &study, &report, &provenance, &[("report.html", page)])
            .map_err(|e| format!("cannot write to `{}`: {e}", folder.path().display()))?;
        if !args.quiet {
            message(&format!("wrote {}", folder.path().display()));
        }
    }
    if args.json {
        print(&format!("{:#}\n", document(scenario, &report)));
    } else {
        print(&table::text(scenario, &report, args.quiet, Screen::detect(args.no_color)));
    }
    Ok(if report.interrupted { INTERRUPTED } else { 0 })
}

/// Two files a variant, named like it: at the sender of the data, and at the receiver.
fn write_captures(folder: &ResultFolder, progress: &Progress) -> Result<(), String> {
    for (variant, captures) in progress.take_captures() {
        let variant = variant.replace('/', "-");
        for (place, pcapng) in [("", captures.sender), ("-receiver", captures.receiver)] {
            let name = format!("{variant}{place}.pcapng");
            let path = folder.path().join(&name);
            folder
                .write(&name, &pcapng)
                .map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
        }
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "provenance; no result depends on it")]
fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

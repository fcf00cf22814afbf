//! `emulate` without a shell: compares kernels, the engine and usrsctp over emulated links, with
//! the table, the document and the files of `compare`.

use super::{EmulateArgs, failed, fit_for_emulation};
use crate::args::CompareArgs;
use crate::compare::show;
use crate::exit::{FAILED, INTERRUPTED, USAGE};
use crate::output::{counted, error, message};
use crate::progress::{Progress, Shown, real_time};
use crate::save::{Overwrite, provenance, tell_of_copies, write_captures, write_folder};
use crate::table;
use lab::emulation::{Emulation, emulate};
use lab::results::{Provenance, ResultFolder, Written, use_copies};
use lab::scenario::{Key, Protocol, Variant};
use lab::stack::{Emulated, StackKind, check_protocols, check_stacks, emulated_of};
use lab::{Given, InputError, Options, Report, Scenario};
use linux::LiveError;

/// Validated inputs of a study.
struct Prepared {
    /// With the output options of the scenario file.
    asked: CompareArgs,
    scenario: Scenario,
    stacks: Vec<StackKind>,
    out: Option<ResultFolder>,
    pcap: Option<ResultFolder>,
}

/// Runs the subcommand and returns the exit code.
pub(super) fn study(args: &EmulateArgs) -> u8 {
    let prepared = match prepare(args) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    match carry_out(&prepared) {
        Ok(code) => code,
        Err(failure) => failed(&failure),
    }
}

fn prepare(args: &EmulateArgs) -> Result<Prepared, InputError> {
    let given =
        Given::argument("--stack", args.stack.as_deref().unwrap_or("kernel-tcp,kernel-mptcp"));
    let mut stacks = StackKind::parse_list(&given)?;
    let mut options = args.asked.options()?;
    let asked = args.asked.with_output(&options)?;
    let chosen = options.text(Key::Protocols).cloned();
    let protocols = StackKind::protocols_of(&stacks);
    if chosen.is_none() && !protocols.is_empty() {
        let names: Vec<&str> = protocols.iter().map(|protocol| protocol.name()).collect();
        options = options.with(Key::Protocols, &names.join(","));
    }
    let out = asked.out.as_deref();
    let copied = out.map(|out| use_copies(&mut options, out));
    let scenario = fit_for_emulation(options.resolve()?)?;
    if let Some(chosen) = &chosen {
        let protocols = &scenario.choices.protocols;
        check_protocols(chosen, protocols, &stacks)?;
        if args.stack.is_none() {
            stacks.retain(|stack| protocols.iter().any(|protocol| stack.carries(*protocol)));
        }
    }
    check_stacks(&given, &stacks, &scenario)?;
    if !asked.quiet
        && let Some(note) = without_effect(&options, &stacks)
    {
        message(&note);
    }
    let overwrite = Overwrite { force: asked.force };
    asked.require_goal(&options, &scenario)?;
    let out = overwrite.out(out)?;
    let out = out.map(ResultFolder::for_an_emulation).transpose()?;
    let variants: Vec<Variant> =
        emulated_of(&scenario, &stacks).into_iter().map(Emulated::into_variant).collect();
    let pcap = overwrite.pcap(asked.pcap.as_deref(), &variants)?;
    if let Some(out) = &out {
        overwrite.inputs(out, &scenario)?;
    }
    tell_of_copies(copied, asked.quiet);
    Ok(Prepared { asked, scenario, stacks, out, pcap })
}

/// Note on the choices that only the engine has, where none of the stacks is the engine.
fn without_effect(options: &Options, stacks: &[StackKind]) -> Option<String> {
    let is_engine =
        |stack: &StackKind| matches!(stack, StackKind::Anabranch | StackKind::AnabranchSctp);
    let own = [
        (Key::Schedulers, "--schedulers"),
        (Key::PathManagers, "--path-managers"),
        (Key::Policy, "--policy"),
        (Key::Failover, "--failover"),
    ];
    let given = own.iter().filter(|(key, _)| options.text(*key).is_some());
    let given: Vec<&str> = given.map(|(_, name)| *name).collect();
    (!given.is_empty() && !stacks.iter().any(is_engine)).then(|| {
        format!(
            "note: kernels have their own scheduler and path manager: {} without effect; add \
             `--stack anabranch` for those of the engine",
            given.join(", ")
        )
    })
}

fn carry_out(prepared: &Prepared) -> Result<u8, LiveError> {
    let Prepared { asked, scenario, stacks, out, pcap } = prepared;
    // Before everything else: it needs a process without threads.
    linux::user_namespace::enter_if_needed()?;
    let variants = emulated_of(scenario, stacks).into_iter();
    let variants: Vec<_> = variants.map(Emulated::into_variant).collect();
    // Notes for users, about the stacks and not only about the engine.
    let mut shown = scenario.clone();
    shown.choices.protocols = protocols_of(&variants);
    let captures = pcap.is_some();
    let progress_shown = Shown { quiet: asked.quiet, verbose: asked.verbose, captures, time: None };
    let progress = Progress::new(&variants, progress_shown);
    progress.stop_on_interrupt();
    let clock = real_time();
    let emulation = emulate(scenario, stacks, &progress);
    progress.finish();
    let emulation = emulation?;
    let Some(report) = Report::new(scenario, &emulation.study) else {
        message("interrupted before any repetition was complete: no result");
        return Ok(INTERRUPTED);
    };
    let ask = table::Ask { pairs: asked.pairs, why: false, wide: asked.wide, seeds: &[] };
    show(asked, (scenario, &shown), &report, ask);
    if !asked.quiet || emulation.invalid() > 0 {
        message(&conduct(&emulation));
    }
    let provenance = Provenance { csv: asked.csv, ..provenance(clock) };
    let saved = out
        .as_ref()
        .map_or(Ok(()), |out| save(out, (scenario, stacks), &emulation, &report, &provenance));
    let saved = saved.and_then(|()| match pcap {
        Some(folder) => write_captures(folder, progress.take_captures()),
        None => Ok(()),
    });
    if let Err(failure) = saved {
        error(&failure);
        return Ok(FAILED);
    }
    if let Some(out) = out
        && !asked.quiet
    {
        message(&format!("wrote {}", out.path().display()));
    }
    Ok(asked.code(&report))
}

/// Protocols of the variants, each once.
fn protocols_of(variants: &[Variant]) -> Vec<Protocol> {
    let has = |protocol: &Protocol| variants.iter().any(|v| v.protocol() == *protocol);
    Protocol::ALL.into_iter().filter(has).collect()
}

/// Accuracy of the emulation, and the runs that do not count.
fn conduct(emulation: &Emulation) -> String {
    let disturbed: u32 = emulation.conduct.iter().flatten().map(|conduct| conduct.disturbed).sum();
    conduct_of(&emulation.accuracy, disturbed, emulation.invalid())
}

/// Lines on the emulator's errors, the disturbed attempts, and the runs that do not count.
fn conduct_of(accuracy: &impl std::fmt::Display, tries: u32, invalid: usize) -> String {
    let mut text = format!("emulated; measured errors: {accuracy}");
    if tries > 0 {
        let tries = counted(tries, "run");
        text.push_str(&format!("\nrepeated: disturbed by other load on this machine: {tries}"));
    }
    if invalid > 0 {
        let runs = counted(u32::try_from(invalid).unwrap_or(u32::MAX), "run");
        text.push_str(&format!(
            "\ndiscarded: disturbed by other load on this machine: {runs}\n  help: stop other \
             programs on this machine, or use lower rates"
        ));
    }
    text
}

fn save(
    folder: &ResultFolder,
    (scenario, stacks): (&Scenario, &[StackKind]),
    emulation: &Emulation,
    report: &Report,
    provenance: &Provenance,
) -> Result<(), String> {
    let study = &emulation.study;
    let series = emulation.series.as_slice();
    let written = Written {
        scenario,
        study,
        report,
        series,
        delays: &emulation.delays,
        repetition: None,
        stacks,
        records: None,
    };
    let name = folder.path().display();
    let notes = [conduct(emulation).replace('\n', "; ")];
    write_folder(folder, &written, provenance, &notes)
        .map_err(|error| format!("cannot write to `{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{conduct_of, prepare};
    use crate::command::{Cli, Command};
    use crate::emulate::EmulateArgs;
    use clap::Parser;
    use std::fs;

    fn arguments(words: &[&str]) -> EmulateArgs {
        let cli = Cli::try_parse_from(words).unwrap_or_else(|refusal| panic!("{refusal}"));
        match cli.command {
            Command::Emulate(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn study_is_prepared_from_the_copies_when_the_originals_are_gone() {
        let home = std::env::temp_dir().join(format!("anabranch-copies-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let original = home.join("x.down");
        fs::write(&original, "1\n2\n3\n4\n").unwrap();
        fs::write(home.join("x.up"), "2\n4\n").unwrap();
        let (path, out) = (format!("a=trace {}", original.display()), home.join("out"));
        let out = out.display().to_string();
        let words = ["anabranch", "emulate", "--path", &path, "--traffic", "bulk:1MiB", "--quiet"];
        let args = arguments(&[&words[..], &["--out", &out]].concat());
        let before = prepare(&args).unwrap().scenario.hash();
        fs::remove_file(&original).unwrap();
        assert_eq!(prepare(&args).unwrap().scenario.hash(), before);
        fs::write(&original, "1\n2\n3\n5\n").unwrap();
        assert!(prepare(&args).err().is_some(), "the copy would be lost");
        fs::remove_dir_all(&home).unwrap();
    }

    /// Regression: `json`, `out` and the others of a file had no effect.
    #[test]
    fn output_keys_of_a_file_count() {
        let home = std::env::temp_dir().join(format!("anabranch-keys-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let file = home.join("study.toml").display().to_string();
        let keys = "json = true\nquiet = true\npcap = \"packets\"\nout = \"results\"\ncsv = true\n";
        let rest = "traffic = \"bulk:1MiB\"\n[path]\na = \"rate 5mbit\"\n";
        fs::write(&file, format!("{keys}{rest}")).unwrap();
        let prepared = prepare(&arguments(&["anabranch", "emulate", &file])).unwrap();
        let asked = &prepared.asked;
        assert!(asked.json && asked.quiet && asked.csv);
        let places = [prepared.out, prepared.pcap].map(|place| place.unwrap().path().to_owned());
        assert_eq!(places, [home.join("results"), home.join("packets")]);
        fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn disturbed_runs_are_told_of_with_what_helps() {
        let shown = |tries, invalid| conduct_of(&"delay +0.118 ms", tries, invalid) + "\n";
        let text = [shown(0, 0), shown(1, 0), shown(3, 1), shown(9, 2)].join("\n");
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_snapshot_path("../snapshots");
        settings.bind(|| insta::assert_snapshot!("conduct", text));
    }
}

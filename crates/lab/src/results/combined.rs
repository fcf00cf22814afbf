//! Combines the results of several folders, with the variants of all of them.
//!
//! Paths, traffic and metric must be the same. Repetitions of folders with the same seed have the
//! same random draws, so their differences are paired. With other seeds they are independent: only
//! the means are compared, which is less precise.

use super::stored::StoredStudy;
use crate::error::InputError;
use crate::quantity::percent;
use crate::report::Report;
use crate::results::Provenance;
use crate::scenario::{Baseline, DEFAULT_MATTERS, Matters, Runs, Scenario, none_alone};
use crate::series::VariantSeries;
use crate::study::{Study, VariantRuns};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Keys of a scenario file that do not change a run: the number of runs, the variants and the
/// baseline may differ.
const FREE: [&str; 13] = [
    "title",
    "description",
    "source",
    "protocols",
    "cc",
    "schedulers",
    "path-managers",
    "policy",
    "failover",
    "runs",
    "runs-max",
    "baseline",
    "[path]",
];

/// A folder and its name.
type Named = (String, StoredStudy);

/// The results of several folders as one. A single folder is returned as it is.
pub fn combine(mut folders: Vec<Named>) -> Result<StoredStudy, InputError> {
    for (name, other) in &folders[1.min(folders.len())..] {
        let (first, reference) = &folders[0];
        check((first, reference), (name, other))?;
    }
    if folders.len() == 1 {
        return Ok(folders.remove(0).1);
    }
    let shown = short_names(&folders);
    let mut notes = notes(&folders, &shown);
    notes.extend(cut(&mut folders, &shown));
    notes.extend(forget_criteria(&mut folders));
    let names = names(&folders, &shown, &mut notes);
    let mut merged = merged(&folders, &names).ok_or_else(|| {
        InputError::at("DIR", "no folder is named", "name one or several results folders")
    })?;
    merged.notes = notes;
    Ok(merged)
}

/// Refuses a folder whose numbers are not comparable with those of the first.
fn check(
    (first, reference): (&str, &StoredStudy),
    (name, other): (&str, &StoredStudy),
) -> Result<(), InputError> {
    let refuse = |problem: String| {
        let help = "combine folders with the same paths, traffic and metric; `anabranch report` \
                    shows each folder alone";
        Err(InputError::at(name, problem, help))
    };
    for (folder, stored) in [(first, reference), (name, other)] {
        if stored.repetition.is_some() {
            return refuse(format!("`{folder}` has a single repetition, not a comparison"));
        }
    }
    let (here, there) = (conditions(other), conditions(reference));
    for ((what, here), (_, there)) in here.iter().zip(&there) {
        if here != there {
            return refuse(format!(
                "its {what} differs from that of `{first}`: here `{here}`, there `{there}`"
            ));
        }
    }
    Ok(())
}

/// What must be the same in all folders.
fn conditions(stored: &StoredStudy) -> Vec<(&'static str, String)> {
    let Scenario { paths, links, flows, ends, .. } = &stored.scenario;
    let named = |kind: &str, name: &str, spec: String| format!("{kind}{name}={spec}");
    let network = paths
        .iter()
        .map(|path| named("", &path.name, path.to_string()))
        .chain(links.iter().map(|link| named("link ", &link.name, link.to_string())))
        .chain(flows.iter().map(|flow| named("flow ", &flow.name, flow.show(paths))));
    let mut conditions = vec![
        ("metric", stored.report.metric.name().replace('_', " ")),
        ("traffic", stored.document["traffic"].as_str().unwrap_or_default().to_owned()),
        ("direction", if ends.reverse { "upload" } else { "download" }.to_owned()),
        ("number of paths, links and flows", (paths.len() + links.len() + flows.len()).to_string()),
    ];
    conditions.extend(network.map(|spec| ("network", spec)));
    conditions
}

/// The last parts of the folders' names, or the names where those are equal.
fn short_names(folders: &[Named]) -> Vec<String> {
    let last = |name: &str| {
        let part = Path::new(name).file_name().map(|part| part.to_string_lossy().into_owned());
        part.unwrap_or_else(|| name.to_owned())
    };
    let short: Vec<String> = folders.iter().map(|(name, _)| last(name)).collect();
    let is_unique = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    if short.iter().all(is_unique) {
        return short;
    }
    folders.iter().map(|(name, _)| name.clone()).collect()
}

/// What readers must know of each folder.
fn notes(folders: &[Named], shown: &[String]) -> Vec<String> {
    let first = &folders[0].1;
    let is_common = |note: &String| folders.iter().all(|(_, stored)| stored.notes.contains(note));
    let mut notes: Vec<String> =
        first.notes.iter().filter(|note| is_common(note)).cloned().collect();
    for ((_, stored), name) in folders.iter().zip(shown) {
        let own = stored.notes.iter().filter(|note| !is_common(note));
        notes.extend(own.map(|note| format!("{name}: {note}")));
        let different = settings(stored, first);
        if !different.is_empty() {
            notes.push(format!("{name} differs from {}: {}", shown[0], different.join("; ")));
        }
        if stored.scenario.seed != first.scenario.seed {
            notes.push(format!(
                "{name} has seed {}, {} has seed {}: their repetitions are independent, so \
                 differences between them are not paired: means of all runs are compared",
                stored.scenario.seed, shown[0], first.scenario.seed
            ));
        }
    }
    notes
}

/// Leaves folders of one seed the repetitions that all of them have: a mean over more of them would
/// be that of other random draws. Returns notes on those that had more.
fn cut(folders: &mut [Named], shown: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut seeds: Vec<u64> = folders.iter().map(|(_, stored)| stored.scenario.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    for seed in seeds {
        let of_seed = |of: &(usize, &mut Named)| of.1.1.scenario.seed == seed;
        let mut own: Vec<(usize, &mut Named)> =
            folders.iter_mut().enumerate().filter(of_seed).collect();
        let runs = |(_, (_, stored)): &(usize, &mut Named)| {
            // An interrupted study has variants with fewer of them, or none.
            stored.study.variants.iter().map(|of| of.runs.len()).max().unwrap_or(0)
        };
        let common = own.iter().map(runs).min().unwrap_or(0);
        for one in &mut own {
            let had = runs(one);
            let variants = &mut one.1.1.study.variants;
            variants.iter_mut().for_each(|of| of.runs.truncate(common));
            if had > common {
                notes.push(format!(
                    "the first {common} of the {had} repetitions of {} are compared: another \
                     folder with seed {seed} has no more",
                    shown[one.0]
                ));
            }
        }
    }
    notes
}

/// A goal or a difference that matters holds for all folders or for none, whatever their order.
fn forget_criteria(folders: &mut [Named]) -> Vec<String> {
    let mut notes = Vec::new();
    let all = |is_same: &dyn Fn(&Scenario, &Scenario) -> bool| {
        folders.iter().all(|(_, stored)| is_same(&stored.scenario, &folders[0].1.scenario))
    };
    let (goal, matters) = (all(&|a, b| a.goal == b.goal), all(&|a, b| a.matters == b.matters));
    if !goal {
        notes.push("the folders have different goals: none is judged".to_owned());
        folders.iter_mut().for_each(|(_, stored)| stored.scenario.goal = None);
    }
    if !matters {
        let usual = Matters(DEFAULT_MATTERS);
        notes.push(format!(
            "the folders have different smallest differences that matter: {} is used",
            percent(usual.0)
        ));
        folders.iter_mut().for_each(|(_, stored)| stored.scenario.matters = usual);
    }
    notes
}

/// Further settings that differ, as in a scenario file.
fn settings(stored: &StoredStudy, first: &StoredStudy) -> Vec<String> {
    let of = |stored: &StoredStudy| -> BTreeMap<String, String> {
        let lines = stored.toml.lines().filter_map(|line| line.split_once(" = "));
        let lines = lines.map(|(key, value)| (key.to_owned(), value.to_owned()));
        lines.filter(|(key, _)| !FREE.contains(&key.as_str()) && key != "seed").collect()
    };
    let (here, there) = (of(stored), of(first));
    let mut keys: Vec<&String> = here.keys().chain(there.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let value = |of: &BTreeMap<String, String>, key: &String| {
        of.get(key).cloned().unwrap_or_else(|| "the default".to_owned())
    };
    let different = keys.into_iter().filter(|key| here.get(*key) != there.get(*key));
    different
        .map(|key| format!("{key} = {} instead of {}", value(&here, key), value(&there, key)))
        .collect()
}

/// The name of each variant of each folder; `None` for one that an earlier folder has with the same
/// runs.
fn names(folders: &[Named], shown: &[String], notes: &mut Vec<String>) -> Vec<Vec<Option<String>>> {
    let all: Vec<(usize, &VariantRuns)> = folders
        .iter()
        .enumerate()
        .flat_map(|(folder, (_, stored))| stored.study.variants.iter().map(move |of| (folder, of)))
        .collect();
    let same = |a: &VariantRuns, b: &VariantRuns| a.variant.name == b.variant.name;
    let is_repeated = |folder: usize, of: &VariantRuns| {
        let earlier = all.iter().filter(|(other, one)| *other < folder && same(one, of));
        earlier.into_iter().any(|(_, one)| !one.runs.is_empty() && one.runs == of.runs)
    };
    let name = |folder: usize, of: &VariantRuns| {
        if is_repeated(folder, of) {
            return None;
        }
        let rivals = all.iter().filter(|(other, one)| same(one, of) && !is_repeated(*other, one));
        let name = &of.variant.name;
        Some(if rivals.count() > 1 { format!("{name} ({})", shown[folder]) } else { name.clone() })
    };
    let mut names = Vec::new();
    for (folder, (_, stored)) in folders.iter().enumerate() {
        let own: Vec<Option<String>> =
            stored.study.variants.iter().map(|of| name(folder, of)).collect();
        let repeated = own.iter().filter(|name| name.is_none()).count();
        if repeated > 0 {
            let runs = if repeated == 1 { "variant is" } else { "variants are" };
            notes.push(format!(
                "{repeated} {runs} left out of {}: a folder before it has the same runs",
                shown[folder]
            ));
        }
        names.push(own);
    }
    names
}

/// Everything in one; `None` without a folder.
fn merged(folders: &[Named], names: &[Vec<Option<String>>]) -> Option<StoredStudy> {
    let mut merged = folders.first()?.1.clone();
    let (mut variants, mut seeds) = (Vec::new(), Vec::new());
    let mut series = Vec::new();
    let mut delays = crate::delays::Delays::default();
    let mut profiles = BTreeMap::new();
    for ((_, stored), names) in folders.iter().zip(names) {
        let renamed = |variant: &str| {
            let place = stored.study.variants.iter().position(|of| of.variant.name == variant)?;
            names.get(place)?.clone()
        };
        for of in &stored.study.variants {
            let Some(name) = renamed(&of.variant.name) else { continue };
            let mut of = of.clone();
            let profile = stored.scenario.profile_of(of.variant.protocol());
            profiles.insert(name.clone(), profile);
            of.variant.name = name;
            variants.push(of);
            seeds.push(stored.scenario.seed);
        }
        series.extend(stored.series.iter().filter_map(|one| {
            Some(VariantSeries { variant: renamed(&one.variant)?, ..one.clone() })
        }));
        delays.absorb(&stored.delays, renamed);
        merged.study.interrupted |= stored.study.interrupted;
        widen(&mut merged.scenario, &stored.scenario);
        if !merged.seeds.contains(&stored.scenario.seed) {
            merged.seeds.push(stored.scenario.seed);
        }
    }
    forget_none_alone(&mut merged.scenario, folders);
    merged.toml = String::new();
    let fewest = variants.iter().map(|of| of.runs.len()).min().unwrap_or(0);
    merged.scenario.baseline = Baseline::Best;
    merged.scenario.runs = Runs::Fixed(u32::try_from(fewest).unwrap_or(u32::MAX));
    merged.study = Study { variants, ..merged.study };
    (merged.series, merged.delays) = (series, delays);
    merged.report = Report::of_seeds(&merged.scenario, &merged.study, &seeds)?;
    let command = ["anabranch", "report"].map(str::to_owned);
    let command = command.into_iter().chain(folders.iter().map(|(name, _)| name.clone()));
    merged.provenance = Provenance { command: command.collect(), ..merged.provenance };
    let folder = |(name, stored): &Named| {
        let Report { hash, runs, .. } = &stored.report;
        json!({"folder": name, "seed": stored.scenario.seed, "runs": runs, "hash": hash})
    };
    merged.document["folders"] = folders.iter().map(folder).collect();
    merged.document["profiles"] = json!(profiles);
    Some(merged)
}

/// Takes away the notes of folders that use no path alone, where another folder does.
fn forget_none_alone(scenario: &mut Scenario, folders: &[Named]) {
    if none_alone(&scenario.choices.protocols).is_some() {
        return;
    }
    for (_, stored) in folders {
        let of_folder = none_alone(&stored.scenario.choices.protocols);
        scenario.notes.retain(|note| of_folder.as_ref() != Some(note));
    }
}

/// Adds the choices of another scenario.
fn widen(scenario: &mut Scenario, other: &Scenario) {
    fn add<T: Clone + PartialEq>(all: &mut Vec<T>, more: &[T]) {
        for one in more {
            if !all.contains(one) {
                all.push(one.clone());
            }
        }
    }
    let (all, more) = (&mut scenario.choices, &other.choices);
    add(&mut all.protocols, &more.protocols);
    add(&mut all.congestion, &more.congestion);
    add(&mut all.schedulers, &more.schedulers);
    add(&mut all.path_managers, &more.path_managers);
    add(&mut all.primaries, &more.primaries);
    add(&mut all.policies, &more.policies);
    add(&mut all.failovers, &more.failovers);
    add(&mut scenario.notes, &other.notes);
}

//! The file of `validate`: named scenarios, and the file of their recorded runs.
//!
//! ```toml
//! title = "..."
//! series = "../data/validation/linux-6.18.json"
//! cc = "reno,cubic"               # any key of a scenario file holds for all that follow
//! runs = 5                        # recorded runs of each variant; a scenario may have its own
//! most-runs = 20                  # where loss is random, the mean is not known, or modes show
//!
//! [[scenario]]
//! name = "dsl-lte-1MiB"
//! traffic = "bulk:1MiB"
//! stacks = "kernel-tcp,kernel-mptcp"      # as it is without this line
//! judged-by = "mean"                      # or "quantiles", as it is where loss is random
//! path.dsl = "rate 16mbit delay 15ms limit 100p"
//! path.lte = "rate 20mbit delay 30ms limit 300p"
//! ```
//!
//! Scenarios that a rule chooses are in `grid`; `grid = "other.toml"` takes axes and common keys of
//! another set.

use super::grid::{Cell, Grid};
use crate::error::{Given, InputError, Refusal, SourceFile, in_file_error};
use crate::path_spec::CapacitySpec;
use crate::scenario::{DEFAULT_RUNS, Key, Options, Runs, Scenario, load, split, table_of};
use crate::stack::{Emulated, StackKind, check_stacks, emulated_of};
use crate::words::nearest_help;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of the file in addition to those of a scenario.
const FILE_KEYS: [&str; 4] = ["series", "stacks", "grid", "most-runs"];
/// Keys of an entry in addition to those of a scenario.
const ENTRY_KEYS: [&str; 3] = ["name", "stacks", "judged-by"];

/// Scenarios to compare with recorded runs.
#[derive(Clone, Debug)]
pub struct ValidationSet {
    /// Name as given by the user.
    pub file: String,
    /// Title of the page.
    pub title: Option<String>,
    /// The file of recorded runs.
    pub series: PathBuf,
    /// Entries in file order, with unique names.
    pub entries: Vec<Entry>,
}

/// A scenario of the set.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Scenario.
    pub scenario: Scenario,
    /// Recorded stacks.
    pub stacks: Vec<StackKind>,
    /// Criterion of comparison.
    pub judged_by: Judged,
    /// Recorded runs of a variant whose figure is random or not known after those of the scenario.
    pub most_runs: u32,
}

/// Criterion of comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// The mean, for repeatable runs.
    Mean,
    /// Quantiles, for random runs or several modes.
    Quantiles,
}

impl Judged {
    const ALL: [Judged; 2] = [Judged::Mean, Judged::Quantiles];

    /// Spelling in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Judged::Mean => "mean",
            Judged::Quantiles => "quantiles",
        }
    }

    fn parse(given: &Given) -> Result<Judged, InputError> {
        Judged::ALL.into_iter().find(|judged| judged.name() == given.text).ok_or_else(|| {
            let help = nearest_help(&given.text, &Judged::ALL.map(Judged::name));
            given.refuse_whole(format!("unknown way of judging `{}`", given.text), help)
        })
    }
}

impl Entry {
    /// All variants of the scenario.
    pub fn variants(&self) -> Vec<Emulated> {
        emulated_of(&self.scenario, &self.stacks)
    }

    /// Recorded runs of every variant.
    pub fn runs(&self) -> u32 {
        match self.scenario.runs {
            Runs::Fixed(runs) => runs,
            Runs::Auto { most } => most.min(DEFAULT_RUNS),
        }
    }

    /// Whether runs differ by random loss or by the offset in a recording.
    pub fn is_random(&self) -> bool {
        is_lossy(&self.scenario)
    }
}

impl ValidationSet {
    /// Reads the file `name`; `data` is the folder of recordings of named pages.
    pub fn from_file(name: &str, data: Option<&str>) -> Result<ValidationSet, InputError> {
        let help = "give the name of a set of scenarios, such as `scenarios/validation.toml`";
        let file = load(name).map_err(|error| InputError::at(name, error.problem(), help))?;
        let given =
            data.map_or_else(Options::default, |data| Options::default().with(Key::Data, data));
        ValidationSet::read(&file, &given)
    }

    pub(super) fn read(
        file: &Arc<SourceFile>,
        given: &Options,
    ) -> Result<ValidationSet, InputError> {
        let document = table_of(file)?;
        let parts = Parts::new(file, document.get_ref())?;
        let series = parts.series.clone().ok_or_else(|| {
            let help = "write `series = \"FILE\"`; `validate --record` makes that file";
            InputError::at(&file.name, "it does not name the file of recorded runs", help)
        })?;
        let other = parts.grid.as_ref().map(|name| other_file(file, name)).transpose()?;
        let other_document = other.as_ref().map(|other| table_of(other)).transpose()?;
        let other = match (&parts.grid, &other, &other_document) {
            (Some(name), Some(other), Some(document)) => {
                Some(Other { name, file: other, parts: Parts::new(other, document.get_ref())? })
            }
            _ => None,
        };
        let cells = cells(file, &parts, other.as_ref())?;
        let (mut common, mut stacks) = (given.clone().or(parts.common), parts.stacks);
        let mut most_runs = parts.most_runs;
        if let Some(Other { parts, .. }) = other {
            common = common.or(parts.common);
            stacks = stacks.or(parts.stacks);
            most_runs = most_runs.or(parts.most_runs);
        }
        let stacks = match stacks {
            Some(stacks) => StackKind::parse_list(&stacks)?,
            None => vec![StackKind::KernelTcp, StackKind::KernelMptcp],
        };
        let most_runs = most_runs.as_ref().map(number_of_runs).transpose()?;
        let defaults = Defaults { common: &common, stacks: &stacks, most_runs };
        let listed = parts.listed.map_or(Ok(Vec::new()), |all| tables(file, all, "scenario"))?;
        let listed = listed.into_iter().map(|table| listed_entry(file, table, &defaults));
        let cells = cells.into_iter().map(|cell| entry(cell, Own::default(), &defaults));
        let mut names = BTreeSet::new();
        let mut entries: Vec<Entry> = Vec::new();
        for made in listed.chain(cells) {
            let (name, entry) = made?;
            if !names.insert(entry.name.clone()) {
                let problem = format!("two scenarios have the name `{}`", entry.name);
                return Err(name.refuse_whole(problem, "rename one of them"));
            }
            entries.push(entry);
        }
        let series = beside(&file.name, &series.text);
        let title = common.text(Key::Title).map(|given| given.text.clone());
        Ok(ValidationSet { file: file.name.clone(), title, series, entries })
    }

    /// Keeps the scenarios with these names; without names, all of them.
    pub fn keep(&mut self, names: &[String]) -> Result<(), InputError> {
        let known: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let problem = format!("`{}` has no scenario `{name}`", self.file);
            return Err(InputError::at("--only", problem, nearest_help(name, &known)));
        }
        self.entries.retain(|entry| names.is_empty() || names.contains(&entry.name));
        Ok(())
    }
}

/// A set file, divided.
struct Parts<'t, 'a> {
    /// Keys of a scenario.
    common: Options,
    series: Option<Given>,
    stacks: Option<Given>,
    most_runs: Option<Given>,
    /// The set file with the axes.
    grid: Option<Given>,
    listed: Option<&'t Spanned<DeValue<'a>>>,
    axes: Option<&'t Spanned<DeValue<'a>>>,
    draw: Option<&'t Spanned<DeValue<'a>>>,
}

impl<'t, 'a> Parts<'t, 'a> {
    fn new(file: &Arc<SourceFile>, all: &'t DeTable<'a>) -> Result<Parts<'t, 'a>, InputError> {
        let mut common = all.clone();
        let [listed, axes, draw] = ["scenario", "axis", "draw"].map(|key| {
            common.remove(key);
            all.get(key)
        });
        let (common, own) = split(file, &common, &FILE_KEYS)?;
        let [series, stacks, grid, most_runs] = own.try_into().unwrap_or_default();
        Ok(Parts { common, series, stacks, most_runs, grid, listed, axes, draw })
    }
}

/// The set file that `grid` names.
struct Other<'o> {
    name: &'o Given,
    file: &'o Arc<SourceFile>,
    parts: Parts<'o, 'o>,
}

fn other_file(file: &SourceFile, name: &Given) -> Result<Arc<SourceFile>, InputError> {
    let other = beside(&file.name, &name.text);
    load(&other.to_string_lossy()).map_err(|error| {
        let problem = error.problem().replace("the scenario", &format!("`{}`", name.text));
        name.refuse_whole(problem, "name the set file with the axes; its place is beside this file")
    })
}

/// The scenarios that a draw makes.
fn cells(
    file: &Arc<SourceFile>,
    parts: &Parts<'_, '_>,
    other: Option<&Other<'_>>,
) -> Result<Vec<Cell>, InputError> {
    let (grid, from) = match (other, parts.axes) {
        (Some(other), _) => {
            let grid = other.grid(parts)?;
            let drawn = grid.drawn(other.file, other.parts.draw, grid.all_but(&[]))?;
            let from = grid.all_but(&drawn);
            if from.is_empty() {
                let problem = format!("`{}` has all combinations already", other.name.text);
                return Err(other.name.refuse_whole(problem, "write a `[draw]` in that file"));
            }
            (grid, from)
        }
        (None, Some(axes)) => {
            let grid = Grid::new(file, axes)?;
            let from = grid.all_but(&[]);
            (grid, from)
        }
        (None, None) if parts.draw.is_some() => {
            let help = "write `[[axis]]` tables, or `grid = \"FILE\"` for those of another set";
            return Err(InputError::at(&file.name, "`[draw]` has no axes to draw from", help));
        }
        (None, None) if parts.listed.is_none() => {
            let help = "write a table `[[scenario]]` for each, or `[[axis]]` for many";
            return Err(InputError::at(&file.name, "it has no scenario", help));
        }
        (None, None) => return Ok(Vec::new()),
    };
    let drawn = grid.drawn(file, parts.draw, from)?;
    Ok(drawn.into_iter().map(|place| grid.cell(place)).collect())
}

impl Other<'_> {
    /// Its combinations, for the file with `parts`.
    fn grid(&self, parts: &Parts<'_, '_>) -> Result<Grid, InputError> {
        let refuse = |problem: String, help| Err(self.name.refuse_whole(problem, help));
        if parts.axes.is_some() {
            let problem = format!("the axes are those of `{}`", self.name.text);
            return refuse(problem, "leave out either `grid` or the `[[axis]]` tables");
        }
        match (self.parts.axes, &self.parts.grid) {
            (Some(axes), None) => Grid::new(self.file, axes),
            (_, Some(further)) => refuse(
                format!("`{}` takes its axes from `{}`", self.name.text, further.text),
                "name a file with `[[axis]]` tables",
            ),
            (None, None) => refuse(
                format!("`{}` has no axes", self.name.text),
                "name a file with `[[axis]]` tables",
            ),
        }
    }
}

/// Resolves a file name relative to another file.
fn beside(file: &str, name: &str) -> PathBuf {
    Path::new(file).parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// The tables of a list.
pub(super) fn tables<'t, 'a>(
    file: &Arc<SourceFile>,
    listed: &'t Spanned<DeValue<'a>>,
    what: &str,
) -> Result<Vec<&'t DeTable<'a>>, InputError> {
    let table = |value: &'t Spanned<DeValue<'a>>| value.get_ref().as_table();
    let tables: Option<Vec<_>> =
        listed.get_ref().as_array().and_then(|list| list.iter().map(table).collect());
    tables.ok_or_else(|| {
        let problem = format!("`{what}` is not a list of tables");
        in_file_error(file, listed.span(), problem, format!("write `[[{what}]]` before each"))
    })
}

/// What an entry has unless it says otherwise.
struct Defaults<'a> {
    common: &'a Options,
    stacks: &'a [StackKind],
    most_runs: Option<u32>,
}

/// The value of `most-runs`.
fn number_of_runs(given: &Given) -> Result<u32, InputError> {
    given.text.parse().ok().filter(|runs| *runs > 0).ok_or_else(|| {
        let problem = format!("`{}` is not a number of runs", given.text);
        given.refuse_whole(problem, "write `most-runs = 20`")
    })
}

/// Keys of an entry beside those of a scenario.
#[derive(Default)]
struct Own {
    stacks: Option<Given>,
    judged_by: Option<Given>,
}

/// A table `[[scenario]]`.
fn listed_entry(
    file: &Arc<SourceFile>,
    table: &DeTable<'_>,
    defaults: &Defaults<'_>,
) -> Result<(Given, Entry), InputError> {
    let (options, own) = split(file, table, &ENTRY_KEYS)?;
    let [name, stacks, judged_by] = own.try_into().unwrap_or_default();
    let name = name.ok_or_else(|| {
        let help = "write `name = \"...\"` in every `[[scenario]]`";
        InputError::at(&file.name, "a scenario has no name", help)
    })?;
    entry(Cell { name, options }, Own { stacks, judged_by }, defaults)
}

fn entry(
    Cell { name, options }: Cell,
    own: Own,
    defaults: &Defaults<'_>,
) -> Result<(Given, Entry), InputError> {
    if name.text.is_empty() || name.text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        let problem = format!("`{}` is not a name", name.text);
        return Err(name.refuse(Refusal::new(&name.text, problem, "use letters, digits and `-`")));
    }
    let mut options = options.or(defaults.common.clone());
    options.forget(Key::Title);
    let lacks = |what, help| {
        Err(name.refuse_whole(format!("the scenario `{}` has no {what}", name.text), help))
    };
    if !options.is_given(Key::Path) {
        return lacks("path", "write `path.home = \"rate 25mbit delay 20ms limit 100p\"` in it");
    }
    if !options.is_given(Key::Traffic) {
        return lacks("traffic", "write `traffic = \"bulk:1MiB\"` in it, or above all scenarios");
    }
    let scenario = options.resolve()?;
    if let Some(word) = scenario.simulated_only() {
        let problem = format!("`{word}` is not available on emulated links yet");
        return Err(name.refuse_whole(problem, "leave it out: the set is compared with a kernel"));
    }
    let stacks = match own.stacks {
        Some(own) => {
            let stacks = StackKind::parse_list(&own)?;
            check_stacks(&own, &stacks, &scenario)?;
            stacks
        }
        None => defaults.stacks.to_vec(),
    };
    let judged_by = match own.judged_by {
        Some(given) => Judged::parse(&given)?,
        None if is_lossy(&scenario) => Judged::Quantiles,
        None => Judged::Mean,
    };
    let most_runs = defaults.most_runs.unwrap_or_default();
    let mut entry = Entry { name: name.text.clone(), scenario, stacks, judged_by, most_runs };
    entry.most_runs = most_runs.max(entry.runs());
    Ok((name, entry))
}

/// Whether runs differ by random loss or by the offset in a recording.
fn is_lossy(scenario: &Scenario) -> bool {
    let mut links = scenario.paths.iter().flat_map(|path| [&path.down, &path.up]);
    links.any(|link| link.loses() || matches!(link.capacity, CapacitySpec::Trace(_)))
}

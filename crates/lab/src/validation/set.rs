//! The file of `validate`: named scenarios, and the file of their recorded runs.
//!
//! ```toml
//! title = "..."
//! series = "../data/validation/linux-6.18.json"
//! cc = "reno,cubic"               # any key of a scenario file holds for all that follow
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
//! Scenarios that a rule chooses are in `grid`.

use super::grid::{self, Cell};
use crate::error::{Given, InputError, Refusal, SourceFile, in_file_error};
use crate::path_spec::{CapacitySpec, Loss};
use crate::scenario::{Key, Options, Scenario, load, split, table_of};
use crate::stack::{Emulated, StackKind, check_stacks, emulated_of};
use crate::words::nearest_help;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of the file in addition to those of a scenario.
const FILE_KEYS: [&str; 2] = ["series", "stacks"];
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
        let mut common = document.get_ref().clone();
        let listed = common.remove("scenario");
        let (axes, draw) = (common.remove("axis"), common.remove("draw"));
        if listed.is_none() && axes.is_none() {
            let help = "write a table `[[scenario]]` for each, or `[[axis]]` for many";
            return Err(InputError::at(&file.name, "it has no scenario", help));
        }
        let (common, own) = split(file, &common, &FILE_KEYS)?;
        let common = given.clone().or(common);
        let [series, stacks] = own.try_into().unwrap_or_default();
        let series = series.ok_or_else(|| {
            let help = "write `series = \"FILE\"`; `validate --record` makes that file";
            InputError::at(&file.name, "it does not name the file of recorded runs", help)
        })?;
        let stacks = match stacks {
            Some(stacks) => StackKind::parse_list(&stacks)?,
            None => vec![StackKind::KernelTcp, StackKind::KernelMptcp],
        };
        let defaults = Defaults { common: &common, stacks: &stacks };
        let listed = listed.as_ref().map_or(Ok(Vec::new()), |all| tables(file, all, "scenario"))?;
        let listed = listed.into_iter().map(|table| listed_entry(file, table, &defaults));
        let cells = axes.map_or(Ok(Vec::new()), |axes| grid::cells(file, &axes, draw.as_ref()))?;
        let cells = cells.into_iter().map(|cell| entry(cell, Own::default(), &defaults));
        let mut entries: Vec<Entry> = Vec::new();
        for made in listed.chain(cells) {
            let (name, entry) = made?;
            if entries.iter().any(|other| other.name == entry.name) {
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
    Ok((name.clone(), Entry { name: name.text, scenario, stacks, judged_by }))
}

/// Whether runs differ by random loss or by the offset in a recording.
fn is_lossy(scenario: &Scenario) -> bool {
    let mut links = scenario.paths.iter().flat_map(|path| [&path.down, &path.up]);
    links.any(|link| match (&link.capacity, link.loss) {
        (CapacitySpec::Trace(_), _) | (_, Loss::GilbertElliott { .. }) => true,
        (CapacitySpec::Rate(_) | CapacitySpec::Unlimited, Loss::Random(loss)) => {
            loss.high > 0.0 || loss.is_drawn()
        }
    })
}

//! Which studies a selection of claims and figures needs, and with which options each is run.
//!
//! Every study is run for a column: the paper's kernel, today's kernel, or a neighbouring value of
//! what the paper does not state. `values` keeps what is needed of its runs.

use super::claims::{Claim, Experiment, Figure, Metric, Paper, Part, Term};
use super::judge::{Judged, judge};
use super::samples::{Sampled, draws};
use super::selection::{Selected, figure_name};
use super::timelines;
use super::values::{Values, key, recording};
use super::variants::{Used, batches, check_names, shown};
use crate::error::{Given, InputError};
use crate::execution::run_variants;
use crate::results::ResultFolder;
use crate::scenario::{DEFAULT_SEED, Key, Options, Protocol, Runs, Scenario, Variant};
use crate::series::{Quantity, representative_series};
use crate::study::{Study, StudyError, Watcher};
use base::Duration;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use traffic::Traffic;

/// Length of games in quick runs: a conversation has no option for it.
const QUICK_GAME: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Papers, figures, tables and claims: `all`, `002`, `002/fig8`, `000/table4`, `002-C6`, with
    /// commas between.
    pub selection: Given,
    /// Few repetitions of short runs.
    pub quick: bool,
    /// Whether to run the column of today's kernel.
    pub linux: bool,
    /// A scheduler to add to those of MPTCP.
    pub scheduler: Option<Given>,
    /// Further options of every study: data, threads.
    pub options: Options,
}

/// The studies of a selection.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All papers.
    pub papers: Vec<Paper>,
    /// Selected claims: index of the paper, index of the claim.
    pub claims: Vec<(usize, usize)>,
    /// Selected figures.
    pub figures: Vec<(usize, usize)>,
    /// Tables selected by their names: index of the paper, `Table 4`.
    pub tables: Vec<(usize, String)>,
    /// The studies in their order.
    pub units: Vec<Unit>,
    asked: Asked,
}

/// A study of the plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unit {
    pub(super) paper: usize,
    pub(super) column: Column,
    pub(super) experiment: usize,
}

impl Unit {
    /// What it is run for.
    pub const fn column(&self) -> Column {
        self.column
    }
}

/// What a study is run for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Column {
    /// The paper's kernel.
    Paper,
    /// Today's kernel.
    Linux,
    /// A neighbouring value: index of the claim, and of the row of it.
    Sensitivity(usize, usize),
}

/// The values of finished studies.
#[derive(Clone, Debug, Default)]
pub struct Results {
    values: BTreeMap<Unit, Values>,
    /// What the random draws of a study depend on.
    draws: BTreeMap<Unit, String>,
    /// What is assumed of the traffic, such as the model of a page.
    notes: BTreeMap<Unit, Vec<String>>,
}

/// A claim with its judgements.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Of the paper's kernel.
    pub ours: Judged,
    /// Of today's kernel; `None` where no column of it is run.
    pub linux: Option<Judged>,
    /// Of neighbouring values.
    pub sensitivity: Vec<(&'a str, Judged)>,
    /// What is assumed of the traffic: without `--data` pages and games are models.
    pub notes: Vec<&'a str>,
}

/// Errors of running a study of a plan.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// Its options were refused.
    #[error("{0}")]
    Input(#[from] InputError),
    /// It failed.
    #[error("{0}: {1}")]
    Study(String, StudyError),
    /// It lacks a metric.
    #[error("{0}: {1}")]
    Metric(String, String),
    /// Its values could not be stored.
    #[error("{0}: {1}")]
    Keep(String, io::Error),
}

impl Plan {
    /// The studies of a selection, each resolved once, so that none is refused later.
    pub fn new(papers: Vec<Paper>, asked: Asked) -> Result<Plan, InputError> {
        let Selected { claims, figures, tables } = Selected::of(&papers, &asked.selection)?;
        let (claims, figures) = (claims.into_iter().collect(), figures.into_iter().collect());
        let tables = tables.into_iter().collect();
        let mut plan = Plan { papers, claims, figures, tables, units: Vec::new(), asked };
        plan.units = plan.needed()?;
        for unit in &plan.units {
            let scenario = plan.scenario(unit)?;
            if unit.column == Column::Paper {
                let used = Used::of(&plan.papers[unit.paper], unit.experiment);
                check_names(&scenario, plan.experiment(unit), &used)?;
                Values::check(&scenario, &plan.metrics(unit)).map_err(|why| {
                    InputError::at(&plan.label(unit), why, "see docs/claims-format.md")
                })?;
            }
        }
        Ok(plan)
    }

    /// The studies that the selection needs.
    fn needed(&self) -> Result<Vec<Unit>, InputError> {
        let mut units = BTreeSet::new();
        for &(paper, index) in &self.claims {
            let of = &self.papers[paper];
            let claim = &of.claims[index];
            let experiments = experiments_of(of, claim);
            for experiment in &experiments {
                units.insert(Unit { paper, column: Column::Paper, experiment: *experiment });
            }
            for row in 0..claim.sensitivity.len() {
                let column = Column::Sensitivity(index, row);
                let meant = experiments.iter().map(|e| Unit { paper, column, experiment: *e });
                let meant: Vec<Unit> =
                    meant.filter(|unit| self.neighbour(unit).is_some()).collect();
                let changes_nothing = meant.is_empty();
                if !self.asked.quick {
                    units.extend(meant);
                }
                if changes_nothing {
                    let says = &claim.sensitivity[row].says;
                    let problem = format!("`{says}` changes nothing of any of its experiments");
                    let help = "name a path, link or flow that one of them has".to_owned();
                    return Err(InputError::at(&claim.id, problem, help));
                }
            }
        }
        for &(paper, index) in &self.figures {
            let of = &self.papers[paper];
            let found = of.figures[index].experiments.iter().filter_map(|name| of.find(name));
            let column = Column::Paper;
            units.extend(found.flatten().map(|experiment| Unit { paper, column, experiment }));
        }
        if self.asked.linux {
            let shown = units.clone().into_iter().filter(|unit| unit.column == Column::Paper);
            for unit in shown {
                let today = Unit { column: Column::Linux, ..unit.clone() };
                if self.has_today(&unit)? {
                    units.insert(today);
                }
            }
        }
        for (paper, table) in &self.tables {
            let (of, column) = (&self.papers[*paper], Column::Paper);
            let numbers = of.numbers.iter().filter(|number| number.source == *table);
            let found = numbers.flat_map(|number| of.experiments_of(&number.part));
            units.extend(found.map(|experiment| Unit { paper: *paper, column, experiment }));
        }
        Ok(units.into_iter().collect())
    }

    /// Whether a column of today's kernel shows anything else.
    fn has_today(&self, unit: &Unit) -> Result<bool, InputError> {
        let scenario = self.scenario(unit)?;
        let has_tcp = scenario.compares(Protocol::Tcp) || scenario.compares(Protocol::Mptcp);
        let experiment = &self.papers[unit.paper].experiments[unit.experiment];
        Ok(has_tcp && experiment.linux.is_some())
    }

    /// The scenario of a study.
    pub fn scenario(&self, unit: &Unit) -> Result<Scenario, InputError> {
        let mut scenario = self.whole_scenario(unit)?;
        if let (true, Traffic::Conversation(game)) = (self.asked.quick, &scenario.traffic) {
            scenario.traffic = Traffic::Conversation(Arc::new(game.beginning(QUICK_GAME)));
        }
        Ok(scenario)
    }

    /// The same with games of their whole length.
    fn whole_scenario(&self, unit: &Unit) -> Result<Scenario, InputError> {
        let options = self.options(unit);
        let scenario = options.resolve()?;
        let Some(scheduler) = &self.asked.scheduler else { return Ok(scenario) };
        if !scenario.compares(Protocol::Mptcp) {
            return Ok(scenario);
        }
        // What is wrong with it is shown as it was written.
        let mut alone = options.clone();
        alone.forget(Key::Schedulers);
        alone.add(Key::Schedulers, scheduler.clone());
        alone.resolve()?;
        let own = scenario.choices.schedulers.iter().map(ToString::to_string);
        let own = own.filter(|name| *name != scheduler.text);
        let all: Vec<String> = own.chain([scheduler.text.clone()]).collect();
        let mut options = options;
        options.forget(Key::Schedulers);
        options.add(Key::Schedulers, scheduler.with_text(&all.join(",")));
        options.resolve()
    }

    /// The neighbouring value of a study's column: of paths, links and flows only those that its
    /// experiment has. `None` if that is nothing, or the column is another one.
    fn neighbour(&self, unit: &Unit) -> Option<Options> {
        let Column::Sensitivity(claim, row) = unit.column else { return None };
        let paper = &self.papers[unit.paper];
        let set = paper.claims[claim].sensitivity[row].set.clone();
        set.replacing(&paper.experiments[unit.experiment].base)
    }

    /// The study whose values a column has of an experiment: that of the paper's kernel where a
    /// neighbouring value changes nothing.
    fn with_values(&self, unit: Unit) -> Unit {
        let is_same =
            matches!(unit.column, Column::Sensitivity(..)) && self.neighbour(&unit).is_none();
        if is_same { Unit { column: Column::Paper, ..unit } } else { unit }
    }

    fn options(&self, unit: &Unit) -> Options {
        let experiment = &self.papers[unit.paper].experiments[unit.experiment];
        let mut options = experiment.base.clone();
        match unit.column {
            Column::Paper => {}
            Column::Linux => {
                let today = experiment.linux.clone().unwrap_or_default();
                let today = match today.is_given(Key::Profile) {
                    true => today,
                    false => today.with(Key::Profile, "linux"),
                };
                options = today.over(options);
            }
            Column::Sensitivity(..) => {
                options = self.neighbour(unit).unwrap_or_default().over(options);
            }
        }
        if self.asked.quick {
            options = experiment.quick.clone().over(options);
        }
        if self.metrics(unit).iter().any(Metric::needs_packets) {
            options = options.with(Key::PacketMetrics, "true");
        }
        self.asked.options.clone().over(options)
    }

    /// The numbers that claims, figures and stated numbers look at in an experiment; all of the
    /// paper, so that stored values serve any selection.
    fn metrics(&self, unit: &Unit) -> Vec<Metric> {
        let paper = &self.papers[unit.paper];
        let stated = paper.numbers.iter().map(|of| &of.part);
        let stated = stated.filter(|part| paper.experiments_of(part).contains(&unit.experiment));
        let mut all = self.judged_metrics(unit);
        all.extend(stated.map(|part| part.metric.clone()));
        all.into_iter().collect()
    }

    /// The same of claims and figures alone.
    fn judged_metrics(&self, unit: &Unit) -> BTreeSet<Metric> {
        let paper = &self.papers[unit.paper];
        let mut all = BTreeSet::from([Metric::Own]);
        let has = |names: &[usize]| names.contains(&unit.experiment);
        for claim in &paper.claims {
            for part in &claim.parts {
                if has(&experiments_of_part(paper, part)) {
                    all.insert(part.metric.clone());
                }
            }
        }
        for figure in &paper.figures {
            let found = figure.experiments.iter().filter_map(|name| paper.find(name)).flatten();
            if has(&found.collect::<Vec<usize>>()) {
                all.extend(figure.metrics().into_iter().map(|(metric, _)| metric));
            }
        }
        all
    }

    /// The studies of a paper for a column.
    pub fn units_of(&self, paper: usize, column: Column) -> impl Iterator<Item = &Unit> + Clone {
        self.units.iter().filter(move |unit| unit.paper == paper && unit.column == column)
    }

    pub(super) fn experiment(&self, unit: &Unit) -> &Experiment {
        &self.papers[unit.paper].experiments[unit.experiment]
    }

    /// The variants of a study that are run.
    pub(super) fn variants(&self, unit: &Unit, scenario: &Scenario) -> Vec<Variant> {
        let used = Used::of(&self.papers[unit.paper], unit.experiment);
        let added = self.asked.scheduler.as_ref().map(|given| given.text.as_str());
        shown(scenario, self.experiment(unit), &used, added)
    }

    /// Name in messages: `002 burst/100ms (linux)`.
    pub fn label(&self, unit: &Unit) -> String {
        let paper = &self.papers[unit.paper];
        let name = &paper.experiments[unit.experiment].name;
        match unit.column {
            Column::Paper => format!("{} {name}", paper.number),
            Column::Linux => format!("{} {name} (linux)", paper.number),
            Column::Sensitivity(claim, row) => {
                let says = &paper.claims[claim].sensitivity[row].says;
                format!("{} {name} ({says})", paper.number)
            }
        }
    }

    /// Name of the file of values below the folder of results.
    fn file(&self, unit: &Unit) -> String {
        let paper = &self.papers[unit.paper];
        let name = paper.experiments[unit.experiment].name.replace('/', "-");
        let column = match unit.column {
            Column::Paper => "paper".to_owned(),
            Column::Linux => "linux".to_owned(),
            Column::Sensitivity(claim, row) => format!("{}-{}", paper.claims[claim].id, row + 1),
        };
        format!("values-{}-{column}-{name}.json", paper.number)
    }

    /// Names of all files of values, and of the figures without their endings.
    pub fn files(&self) -> (Vec<String>, Vec<String>) {
        let values = self.units.iter().map(|unit| self.file(unit));
        let figures = self.figures.iter().map(|&(paper, figure)| {
            let paper = &self.papers[paper];
            figure_name(paper, &paper.figures[figure]).replace('/', "-")
        });
        (values.collect(), figures.collect())
    }

    /// Runs planned in a study: repetitions times variants.
    pub fn runs(&self, unit: &Unit, scenario: &Scenario) -> usize {
        self.variants(unit, scenario).len() * repetitions(scenario) as usize
    }

    /// What stored values of these metrics depend on.
    fn key(&self, unit: &Unit, scenario: &Scenario, metrics: &[Metric]) -> String {
        let length = self.asked.quick.then(|| format!("/games of {QUICK_GAME}"));
        let length = length.unwrap_or_default();
        let lines =
            self.over_time(unit).iter().map(|of| format!("/{}", of.name())).collect::<String>();
        format!("{}{length}{lines}", key(scenario, &self.variants(unit, scenario), metrics))
    }

    /// The stored values of a study of this scenario, in any of these folders. They may have more
    /// metrics than are looked at now, and lack those of stated numbers.
    pub fn stored(
        &self,
        unit: &Unit,
        scenario: &Scenario,
        folders: &[ResultFolder],
    ) -> Option<Values> {
        let name = self.file(unit);
        let needed = self.judged_metrics(unit);
        folders.iter().find_map(|folder| {
            let text = std::fs::read_to_string(folder.path().join(&name)).ok()?;
            let document: Value = serde_json::from_str(&text).ok()?;
            let metrics = document["metrics"].as_array()?.iter();
            let metrics: Vec<Metric> = metrics
                .map(|of| Some(Metric::named(of["name"].as_str()?)))
                .collect::<Option<_>>()?;
            let has_all = needed.iter().all(|metric| metrics.contains(metric));
            has_all.then(|| Values::read(&document, &self.key(unit, scenario, &metrics)))?
        })
    }

    /// Stores the values of a study.
    pub fn store(
        &self,
        (unit, scenario): (&Unit, &Scenario),
        values: &Values,
        folder: &ResultFolder,
    ) -> Result<(), UnitError> {
        let metrics: Vec<Metric> =
            values.columns.iter().map(|column| Metric::named(&column.name)).collect();
        let document = values.document(&self.key(unit, scenario, &metrics));
        folder
            .write(&self.file(unit), format!("{document}\n").as_bytes())
            .map_err(|error| UnitError::Keep(self.label(unit), error))
    }

    /// Runs a study; `None` if it was interrupted.
    pub fn run(
        &self,
        unit: &Unit,
        scenario: &Scenario,
        watcher: &dyn Watcher,
    ) -> Result<Option<Values>, UnitError> {
        let metrics = self.metrics(unit);
        let refused = |why| UnitError::Metric(self.label(unit), why);
        Values::check(scenario, &metrics).map_err(refused)?;
        let recording = recording(scenario, &metrics);
        let mut study = Study::empty(&[]);
        let over_time = self.over_time(unit);
        let mut lines = Vec::new();
        for (scenario, variants) in batches(scenario, self.variants(unit, scenario), &metrics) {
            let part = run_variants(&scenario, &variants, recording, watcher)
                .map_err(|error| UnitError::Study(self.label(unit), error))?;
            if part.interrupted {
                return Ok(None);
            }
            if !over_time.is_empty() {
                let recorded = representative_series(&scenario, &part)
                    .map_err(|error| UnitError::Study(self.label(unit), error))?;
                lines.extend(timelines::lines(&scenario, &recorded, &over_time));
            }
            study.variants.extend(part.variants);
        }
        let values = Values::of(scenario, &study, &metrics).map_err(refused)?;
        Ok(Some(Values { lines, ..values }))
    }

    /// What figures draw over time, on the paper's kernel.
    fn over_time(&self, unit: &Unit) -> BTreeSet<Quantity> {
        match unit.column {
            Column::Paper => timelines::wanted(&self.papers[unit.paper], unit.experiment),
            Column::Linux | Column::Sensitivity(..) => BTreeSet::new(),
        }
    }

    /// What the claims and figures name and the studies do not have: variants and metrics.
    #[cfg(test)]
    pub(super) fn lacking(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut results = Results::default();
        for unit in &self.units {
            let scenario = self.scenario(unit).unwrap_or_else(|refusal| panic!("{refusal}"));
            let variants = self.variants(unit, &scenario);
            match Values::without_runs(&scenario, &variants, &self.metrics(unit)) {
                Ok(values) => results.add(unit, &scenario, values),
                Err(why) => found.push(format!("{}: {why}", self.label(unit))),
            }
        }
        for row in self.judge(&results) {
            let judged = [&row.ours].into_iter().chain(&row.linux);
            for part in judged.flat_map(|judged| &judged.parts) {
                if part.why.starts_with("no ") || part.why.ends_with("was not run") {
                    found.push(format!("{}: {}", row.claim.id, part.why));
                }
            }
        }
        found
    }

    /// The judgements of the selected claims.
    pub fn judge<'a>(&'a self, results: &'a Results) -> Vec<Row<'a>> {
        let row = |&(paper, index): &(usize, usize)| {
            let of = &self.papers[paper];
            let claim = &of.claims[index];
            let judged = |column: Column| {
                let unit = |experiment| self.with_values(Unit { paper, column, experiment });
                let lookup = |experiment| results.sampled(&unit(experiment));
                let mut judged = judge(of, claim, &lookup, DEFAULT_SEED);
                // Its numbers are not those beside it then.
                let of_full_run = |because| format!("in a full run: {because}");
                if self.asked.quick {
                    judged.because = judged.because.map(of_full_run);
                }
                judged
            };
            let is_run = |column: Column| {
                let all = experiments_of(of, claim);
                let unit = |experiment| self.with_values(Unit { paper, column, experiment });
                let has = |experiment| results.has(&unit(experiment));
                !all.is_empty() && all.into_iter().all(has)
            };
            let has_today = is_run(Column::Linux);
            let rows = claim.sensitivity.iter().enumerate();
            let rows = rows.map(|(row, of)| (&*of.says, Column::Sensitivity(index, row)));
            Row {
                notes: results.notes_of(paper, &experiments_of(of, claim)),
                claim,
                ours: judged(Column::Paper),
                linux: has_today.then(|| judged(Column::Linux)),
                sensitivity: rows
                    .filter(|(_, column)| is_run(*column))
                    .map(|(says, column)| (says, judged(column)))
                    .collect(),
            }
        };
        self.claims.iter().map(row).collect()
    }
}

impl Results {
    /// Adds the values of a study.
    pub fn add(&mut self, unit: &Unit, scenario: &Scenario, values: Values) {
        let notes = scenario.source.iter().flat_map(|source| source.notes.iter().cloned());
        self.notes.insert(unit.clone(), notes.collect());
        self.draws.insert(unit.clone(), draws(scenario, repetitions(scenario)));
        self.values.insert(unit.clone(), values);
    }

    /// The studies of a figure with their values, on the paper's kernel.
    pub(super) fn of_figure<'r>(
        &'r self,
        plan: &Plan,
        (paper, figure): (usize, &Figure),
    ) -> Vec<(Unit, &'r Values)> {
        let names = figure.experiments.iter().filter_map(|name| plan.papers[paper].find(name));
        let units =
            names.flatten().map(|experiment| Unit { paper, column: Column::Paper, experiment });
        units.filter_map(|unit| self.values.get(&unit).map(|values| (unit, values))).collect()
    }

    /// The values of a study with the key of its draws.
    pub(super) fn sampled(&self, unit: &Unit) -> Option<Sampled<'_>> {
        Some(Sampled { values: self.values.get(unit)?, draws: self.draws.get(unit)? })
    }

    /// What is assumed of the traffic of these studies.
    fn notes_of(&self, paper: usize, experiments: &BTreeSet<usize>) -> Vec<&str> {
        let column = Column::Paper;
        let units =
            experiments.iter().map(|experiment| Unit { paper, column, experiment: *experiment });
        let found = units.filter_map(|unit| self.notes.get(&unit)).flatten();
        found.map(String::as_str).collect::<BTreeSet<&str>>().into_iter().collect()
    }

    fn has(&self, unit: &Unit) -> bool {
        self.values.contains_key(unit)
    }
}

/// Repetitions of a study.
pub(super) const fn repetitions(scenario: &Scenario) -> u32 {
    match scenario.runs {
        Runs::Fixed(runs) => runs,
        Runs::Auto { most } => most,
    }
}

/// The experiments that a claim needs.
pub(super) fn experiments_of(paper: &Paper, claim: &Claim) -> BTreeSet<usize> {
    claim.parts.iter().flat_map(|part| experiments_of_part(paper, part)).collect()
}

fn experiments_of_part(paper: &Paper, part: &Part) -> Vec<usize> {
    let named = part.values.iter().filter_map(|term| match term {
        Term::Of { experiment, .. }
        | Term::Difference { experiment, .. }
        | Term::Gain { experiment, .. } => experiment.as_deref(),
        Term::Constant(_) => None,
    });
    let names = part.experiments.iter().map(String::as_str).chain(named);
    names.filter_map(|name| paper.find(name)).flatten().collect()
}

//! Claims files: what a paper reports, the experiments that show it, and its figures.
//!
//! The format is described in `docs/claims-format.md`. `plan` makes studies of experiments, `judge`
//! judges claims.

use super::grid::{self, Place};
use super::read::Table;
use crate::error::{Given, InputError, SourceFile};
use crate::scenario::packet_number;
use crate::scenario::{Family, Options, load, options, table_of};
use crate::series::Quantity as OverTime;
use crate::words::nearest_help;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of the papers: name below `scenarios`, content.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));
/// Name of the claims file in the folder of a paper.
const CLAIMS: &str = "claims.toml";

/// A paper with its experiments, claims and figures.
#[derive(Clone, Debug)]
pub struct Paper {
    /// `002`.
    pub number: String,
    /// Authors, year and subject.
    pub title: String,
    /// Experiments, those with cases once for each.
    pub experiments: Vec<Experiment>,
    /// Claims in the order of the paper.
    pub claims: Vec<Claim>,
    /// Numbers that it states.
    pub numbers: Vec<Stated>,
    /// Figures and tables.
    pub figures: Vec<Figure>,
}

/// One study of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `burst/100ms`; without a case `burst`.
    pub name: String,
    pub(super) base: Options,
    pub(super) quick: Options,
    /// Names of the variants to run; empty: all that claims and figures use.
    pub(super) only: Vec<Given>,
    /// Of today's kernel; `None`: not run.
    pub(super) linux: Option<Options>,
}

/// A statement of a paper.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `002-C6`.
    pub id: String,
    /// Whether it must hold.
    pub kind: Kind,
    /// Section, figure or table.
    pub source: String,
    /// The statement.
    pub paper: String,
    /// What is checked.
    pub parts: Vec<Part>,
    /// Neighbouring values of what the paper does not state.
    pub sensitivity: Vec<Sensitivity>,
    /// Why it cannot be run.
    pub missing: Option<String>,
    /// The explanation where it does not hold.
    pub why: Option<String>,
}

/// Numbers that the paper states, beside which ours are shown.
#[derive(Clone, Debug)]
pub struct Stated {
    /// Section, figure or table.
    pub source: String,
    /// What they are.
    pub says: String,
    /// For each experiment of `part` the paper's number, in SI units.
    pub(super) paper: Vec<f64>,
    /// What is compared: a value, or the ratio of two.
    pub(super) part: Part,
}

/// Whether a claim must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It follows from the mechanism.
    Hard,
    /// A size that depends on the authors' networks.
    Soft,
}

/// A checked part of a claim.
#[derive(Clone, Debug)]
pub struct Part {
    /// Whether it must hold.
    pub kind: Kind,
    /// One line for tables.
    pub says: Option<String>,
    /// Why it cannot be run.
    pub missing: Option<String>,
    pub(super) check: Check,
    /// Names of experiments.
    pub(super) experiments: Vec<String>,
    pub(super) over: Over,
    pub(super) metric: Metric,
    pub(super) statistic: Statistic,
    pub(super) values: Vec<Term>,
    pub(super) bounds: (f64, f64),
}

/// How a part joins its experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    /// It must hold in each of them.
    Each,
    /// It must hold in more than half of them.
    Most,
    /// It is about their mean, run by run.
    Mean,
}

/// A neighbouring value of a claim's experiments.
#[derive(Clone, Debug)]
pub struct Sensitivity {
    /// What is different.
    pub says: String,
    pub(super) set: Options,
}

/// A drawing.
#[derive(Clone, Debug)]
pub struct Figure {
    /// `fig8`.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// How it is drawn.
    pub draw: Draw,
    /// Claims that it supports.
    pub claims: Vec<String>,
    /// Label of the axis of `lines`.
    pub x: Option<String>,
    /// Whether the axis of the number is logarithmic.
    pub is_log: bool,
    /// Of `series`: what is drawn over time.
    pub(super) quantity: Option<OverTime>,
    /// Of `matrix`: its cells.
    pub(super) cells: Vec<Place>,
    pub(super) experiments: Vec<String>,
    pub(super) metric: Metric,
    /// Variants shown; empty: all.
    pub(super) variants: Vec<String>,
}

/// Kind of a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draw {
    /// Means with 95 % intervals.
    Bars,
    /// Quartiles and whiskers over the repetitions.
    Box,
    /// Complementary distribution over the repetitions.
    Ccdf,
    /// Means over the cases.
    Lines,
    /// Complementary distribution over the packets: quantiles of the repetitions, their means.
    Packets,
    /// A quantity of one repetition over time.
    Series,
    /// A table of outcomes against baselines.
    Matrix,
}

/// Quantiles of `--packet-metrics` that `packets` draws, with the share above.
const QUANTILES: [(&str, f64); 5] =
    [("p25", 0.75), ("p50", 0.5), ("p75", 0.25), ("p95", 0.05), ("p99", 0.01)];

/// Rule of a part; `checks` has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    Order,
    AtMost,
    WithinNoise,
    Equal,
    Range,
    Ratio,
    GainOrder,
}

/// Statistic of the repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Statistic {
    Mean,
    Median,
    /// Interquartile range.
    Iqr,
    Quantile(f64),
}

/// The number of each run that is looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Metric {
    /// That of the scenario.
    Own,
    /// By name.
    Named(String),
    /// Share of the payload first sent on the path of this name.
    Share(String),
    /// The largest share of a path.
    LargestShare,
    /// A further number of the run.
    Number(String),
}

/// A quantity of a check.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Term {
    Constant(f64),
    /// In the experiment of the part, or in another one.
    Of {
        experiment: Option<String>,
        value: Quantity,
    },
    /// The first less the second, run by run.
    Difference {
        experiment: Option<String>,
        first: Quantity,
        second: Quantity,
    },
    /// Relative gain of the first over the second.
    Gain {
        experiment: Option<String>,
        first: Quantity,
        second: Quantity,
    },
}

/// A number of every repetition of an experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Quantity {
    /// By name.
    Variant(String),
    /// Of variants over single paths, of a family if it is named.
    Single(Pick, Option<Family>),
}

/// What is taken of the variants over single paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pick {
    /// The mean, run by run.
    Average,
    /// The sum, run by run.
    Sum,
    /// The variant with the best mean.
    Best,
    /// That with the largest.
    Max,
    /// That with the smallest.
    Min,
}

const FILE_KEYS: [&str; 6] = ["paper", "title", "experiment", "claim", "number", "figure"];
const EXPERIMENT_KEYS: [&str; 6] = ["file", "set", "quick", "linux", "only", "cases"];
const CASE_KEYS: [&str; 5] = ["name", "set", "quick", "linux", "only"];
const CLAIM_KEYS: [&str; 8] =
    ["id", "kind", "source", "paper", "part", "sensitivity", "missing", "why"];
const NUMBER_KEYS: [&str; 7] =
    ["source", "says", "experiment", "metric", "statistic", "values", "paper"];
const PART_KEYS: [&str; 11] = [
    "kind",
    "says",
    "check",
    "experiment",
    "over",
    "metric",
    "statistic",
    "values",
    "low",
    "high",
    "missing",
];
const SENSITIVITY_KEYS: [&str; 2] = ["says", "set"];
const FIGURE_KEYS: [&str; 12] = [
    "id",
    "caption",
    "draw",
    "experiments",
    "metric",
    "variants",
    "x",
    "scale",
    "quantity",
    "rows",
    "columns",
    "claims",
];
const CHECKS: [(&str, Check); 7] = [
    ("order", Check::Order),
    ("at-most", Check::AtMost),
    ("within-noise", Check::WithinNoise),
    ("equal", Check::Equal),
    ("range", Check::Range),
    ("ratio", Check::Ratio),
    ("gain-order", Check::GainOrder),
];
const OVER: [(&str, Over); 3] = [("each", Over::Each), ("most", Over::Most), ("mean", Over::Mean)];
const KINDS: [(&str, Kind); 2] = [("hard", Kind::Hard), ("soft", Kind::Soft)];
const DRAWINGS: [(&str, Draw); 7] = [
    ("bars", Draw::Bars),
    ("box", Draw::Box),
    ("ccdf", Draw::Ccdf),
    ("lines", Draw::Lines),
    ("packets", Draw::Packets),
    ("series", Draw::Series),
    ("matrix", Draw::Matrix),
];
const SCALES: [(&str, bool); 2] = [("linear", false), ("log", true)];
const PICKS: [(&str, Pick); 5] = [
    ("average", Pick::Average),
    ("sum", Pick::Sum),
    ("best", Pick::Best),
    ("max", Pick::Max),
    ("min", Pick::Min),
];
const FAMILIES: [(&str, Family); 2] = [("tcp", Family::Tcp), ("sctp", Family::Sctp)];

impl Kind {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Hard => "hard",
            Kind::Soft => "soft",
        }
    }
}

impl Metric {
    /// Name in files of values.
    pub(super) fn name(&self) -> String {
        match self {
            Metric::Own => "own".to_owned(),
            Metric::Named(name) => name.clone(),
            Metric::Share(path) => format!("share:{path}"),
            Metric::LargestShare => "share:largest".to_owned(),
            Metric::Number(name) => format!("number:{name}"),
        }
    }

    fn read(given: Option<Given>) -> Metric {
        given.map_or(Metric::Own, |given| Metric::named(&given.text))
    }

    /// The metric of this name.
    pub(super) fn named(name: &str) -> Metric {
        match name.split_once(':') {
            None if name == Metric::Own.name() => Metric::Own,
            Some(("share", "largest")) => Metric::LargestShare,
            Some(("share", path)) => Metric::Share(path.to_owned()),
            Some(("number", name)) => Metric::Number(name.to_owned()),
            _ => Metric::Named(name.to_owned()),
        }
    }

    /// What it is in words; `own` is the name of the scenario's metric.
    pub(super) fn words(&self, own: &str) -> String {
        match self {
            Metric::Own => own.replace('_', " "),
            Metric::Named(name) => name.replace('_', " "),
            Metric::Share(path) => format!("share of the data on {path}"),
            Metric::LargestShare => "largest share of a path".to_owned(),
            Metric::Number(name) => name.replace('_', " ").replace('/', ", "),
        }
    }

    /// Whether its values are shares.
    pub(super) fn is_share(&self) -> bool {
        match self {
            Metric::Share(_) | Metric::LargestShare => true,
            Metric::Number(name) => {
                numbers(name).next().and_then(packet_number::unit_of) == Some("1")
            }
            Metric::Own | Metric::Named(_) => false,
        }
    }

    /// Whether a run has it with `--packet-metrics` only.
    pub(super) fn needs_packets(&self) -> bool {
        let is_of_packets = |name: &str| packet_number::unit_of(name).is_some();
        matches!(self, Metric::Number(name) if numbers(name).any(is_of_packets))
    }
}

impl Figure {
    /// The metrics that it shows, of `packets` with the share of packets above.
    pub(super) fn metrics(&self) -> Vec<(Metric, Option<f64>)> {
        match (&self.metric, self.draw) {
            (Metric::Number(name), Draw::Packets) => {
                let of = |(quantile, share): (&str, f64)| {
                    (Metric::Number(format!("{name}/{quantile}")), Some(share))
                };
                QUANTILES.map(of).into()
            }
            (metric, _) => vec![(metric.clone(), None)],
        }
    }
}

/// The names in `rtt/wlan/above_50ms - rtt/wlan/above_200ms`.
pub(super) fn numbers(name: &str) -> impl Iterator<Item = &str> {
    name.split(" - ").map(str::trim)
}

impl Paper {
    /// All papers in the order of their numbers.
    pub fn all() -> Result<Vec<Paper>, InputError> {
        let is_claims = |name: &str| name.ends_with(&format!("/{CLAIMS}"));
        let files = FILES.iter().filter(|(name, _)| is_claims(name));
        files.map(|(name, text)| Paper::read(&source(name, text), &embedded)).collect()
    }

    /// The papers of a folder like `scenarios`, in the order of the names of their folders.
    pub fn in_folder(name: &str) -> Result<Vec<Paper>, InputError> {
        let refuse = |why: String| {
            let help = "name a folder with folders that have a `claims.toml` each";
            InputError::at("--claims", why, help)
        };
        let unreadable =
            |error: std::io::Error| refuse(format!("`{name}` cannot be read: {error}"));
        let entries = std::fs::read_dir(name).map_err(unreadable)?;
        let files = entries.filter_map(|entry| Some(entry.ok()?.path().join(CLAIMS)));
        let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        files.sort();
        if files.is_empty() {
            return Err(refuse(format!("`{name}` has no claims")));
        }
        let beside = |given: &Given| {
            let folder = given.folder().unwrap_or(Path::new("."));
            load(&folder.join(&given.text).to_string_lossy())
        };
        let read = |file: &PathBuf| Paper::read(&load(&file.to_string_lossy())?, &beside);
        files.iter().map(read).collect()
    }

    /// Reads a claims file; `scenario` finds the scenario files of its folder.
    pub(super) fn read(
        file: &Arc<SourceFile>,
        scenario: &dyn Fn(&Given) -> Result<Arc<SourceFile>, InputError>,
    ) -> Result<Paper, InputError> {
        let document = table_of(file)?;
        let table = Table::new(file, document.get_ref(), &FILE_KEYS)?;
        let mut experiments = Vec::new();
        for (name, of) in table.named("experiment", &EXPERIMENT_KEYS)? {
            experiments.extend(read_experiment(&name, &of, scenario)?);
        }
        let paper = Paper {
            number: table.required("paper")?.text,
            title: table.required("title")?.text,
            claims: each(&table, "claim", &CLAIM_KEYS, read_claim)?,
            numbers: each(&table, "number", &NUMBER_KEYS, read_stated)?,
            figures: each(&table, "figure", &FIGURE_KEYS, read_figure)?,
            experiments,
        };
        paper.check(&table)?;
        Ok(paper)
    }

    /// The experiments of a name: one, or with `/*` all cases; `None` if there is none.
    pub(super) fn find(&self, name: &str) -> Option<Vec<usize>> {
        let of_group = |own: &str| match name.strip_suffix('*') {
            Some(group) => own.starts_with(group),
            None => own == name,
        };
        let all = self.experiments.iter().enumerate();
        let found: Vec<usize> =
            all.filter(|(_, of)| of_group(&of.name)).map(|(index, _)| index).collect();
        (!found.is_empty()).then_some(found)
    }

    /// The experiments that a part names, in its order.
    pub(super) fn experiments_of(&self, part: &Part) -> Vec<usize> {
        part.experiments.iter().flat_map(|name| self.find(name).unwrap_or_default()).collect()
    }

    /// Refuses names of experiments and claims that do not exist.
    fn check(&self, table: &Table<'_>) -> Result<(), InputError> {
        for of in table.tables("claim", &CLAIM_KEYS)? {
            for part in of.tables("part", &PART_KEYS)? {
                self.check_experiments(&part.texts("experiment")?)?;
                for given in part.texts("values")? {
                    if let Some((name, _)) = given.text.split_once(": ") {
                        self.check_experiment(&given, name)?;
                    }
                }
            }
        }
        for (of, stated) in table.tables("number", &NUMBER_KEYS)?.iter().zip(&self.numbers) {
            self.check_experiments(&of.texts("experiment")?)?;
            let studies = self.experiments_of(&stated.part).len();
            if studies != stated.paper.len() {
                let problem = format!("{} numbers for {studies} experiments", stated.paper.len());
                let help = "write one number of the paper for each experiment";
                return Err(of.required("says")?.refuse_whole(problem, help));
            }
        }
        for (figure, read) in table.tables("figure", &FIGURE_KEYS)?.iter().zip(&self.figures) {
            self.check_experiments(&figure.texts("experiments")?)?;
            for name in &read.experiments {
                self.check_experiment(&figure.required("id")?, name)?;
            }
            for claim in figure.texts("claims")? {
                if self.claims.iter().all(|of| of.id != claim.text) {
                    let all: Vec<&str> = self.claims.iter().map(|of| of.id.as_str()).collect();
                    let problem = format!("unknown claim `{}`", claim.text);
                    return Err(claim.refuse_whole(problem, nearest_help(&claim.text, &all)));
                }
            }
        }
        Ok(())
    }

    fn check_experiments(&self, names: &[Given]) -> Result<(), InputError> {
        names.iter().try_for_each(|given| self.check_experiment(given, &given.text))
    }

    fn check_experiment(&self, given: &Given, name: &str) -> Result<(), InputError> {
        if self.find(name).is_some() {
            return Ok(());
        }
        let all: Vec<&str> = self.experiments.iter().map(|of| of.name.as_str()).collect();
        Err(given.refuse_whole(format!("unknown experiment `{name}`"), nearest_help(name, &all)))
    }
}

fn source(name: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { name: format!("scenarios/{name}"), text: text.to_owned() })
}

/// The scenario file of this name in the folder of the claims file.
fn embedded(given: &Given) -> Result<Arc<SourceFile>, InputError> {
    let folder = given.folder().and_then(|folder| folder.file_name());
    let folder = folder.map(|folder| folder.to_string_lossy()).unwrap_or_default();
    let name = format!("{folder}/{}", given.text);
    let found = FILES.iter().find(|(known, _)| *known == name);
    let (name, text) = found.ok_or_else(|| {
        let beside =
            FILES.iter().filter_map(|(known, _)| known.strip_prefix(&format!("{folder}/")));
        let beside: Vec<&str> = beside.collect();
        let problem = format!("no scenario file `{}` in this folder", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &beside))
    })?;
    Ok(source(name, text))
}

fn each<'t, T>(
    table: &Table<'t>,
    key: &str,
    known: &[&str],
    read: fn(&Table<'t>) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    table.tables(key, known)?.iter().map(read).collect()
}

fn read_experiment(
    name: &str,
    table: &Table<'_>,
    scenario: &dyn Fn(&Given) -> Result<Arc<SourceFile>, InputError>,
) -> Result<Vec<Experiment>, InputError> {
    let file = scenario(&table.required("file")?)?;
    let base = table.options("set")?.over(options(&file)?);
    let quick = table.options("quick")?;
    let linux = (!table.is_off("linux")).then(|| table.options("linux")).transpose()?;
    let only = table.texts("only")?;
    let cases = table.tables("cases", &CASE_KEYS)?;
    if cases.is_empty() {
        return Ok(vec![Experiment { name: name.to_owned(), base, quick, only, linux }]);
    }
    let case = |case: &Table<'_>| {
        let own = case.options("linux")?;
        let linux = linux.clone().map(|linux| own.over(linux)).filter(|_| !case.is_off("linux"));
        let own_only = Some(case.texts("only")?).filter(|names| !names.is_empty());
        Ok(Experiment {
            name: format!("{name}/{}", case.required("name")?.text),
            only: own_only.unwrap_or_else(|| only.clone()),
            base: case.options("set")?.over(base.clone()),
            quick: case.options("quick")?.over(quick.clone()),
            linux,
        })
    };
    cases.iter().map(case).collect()
}

fn read_claim(table: &Table<'_>) -> Result<Claim, InputError> {
    let kind = one_of(&KINDS, "kind", &table.required("kind")?)?;
    let part = |part: &Table<'_>| read_part(part, kind);
    let parts = table.tables("part", &PART_KEYS)?;
    let text = |key: &str| Ok(table.text(key)?.map(|given| given.text));
    let claim = Claim {
        id: table.required("id")?.text,
        kind,
        source: table.required("source")?.text,
        paper: table.required("paper")?.text,
        parts: parts.iter().map(part).collect::<Result<_, _>>()?,
        sensitivity: each(table, "sensitivity", &SENSITIVITY_KEYS, |of| {
            Ok(Sensitivity { says: of.required("says")?.text, set: of.options("set")? })
        })?,
        missing: text("missing")?,
        why: text("why")?,
    };
    if claim.parts.is_empty() && claim.missing.is_none() {
        let help = "write a `[[claim.part]]`, or say with `missing` why it cannot be run";
        return Err(table.required("id")?.refuse_whole("a claim without a part", help));
    }
    Ok(claim)
}

fn read_part(table: &Table<'_>, kind: Kind) -> Result<Part, InputError> {
    let text = |key: &str| Ok(table.text(key)?.map(|given| given.text));
    let own = table.text("kind")?.map(|given| one_of(&KINDS, "kind", &given)).transpose()?;
    let missing = text("missing")?;
    let check = match &missing {
        Some(_) => Check::Order,
        None => one_of(&CHECKS, "check", &table.required("check")?)?,
    };
    let experiments = table.texts("experiment")?.into_iter().map(|given| given.text).collect();
    let over = table.text("over")?.map(|given| one_of(&OVER, "word", &given)).transpose()?;
    let part = Part {
        kind: own.unwrap_or(kind),
        says: text("says")?,
        check,
        experiments,
        over: over.unwrap_or(Over::Each),
        metric: Metric::read(table.text("metric")?),
        statistic: table.text("statistic")?.map_or(Ok(Statistic::Mean), |of| statistic(&of))?,
        values: table.texts("values")?.iter().map(term).collect::<Result<_, _>>()?,
        bounds: (
            table.number("low")?.unwrap_or(f64::NEG_INFINITY),
            table.number("high")?.unwrap_or(f64::INFINITY),
        ),
        missing,
    };
    if part.missing.is_none() {
        check_values(table, &part)?;
    }
    Ok(part)
}

fn read_stated(table: &Table<'_>) -> Result<Stated, InputError> {
    let number = |given: &Given| {
        let help =
            "write the paper's numbers in seconds, bit/s or as shares: `paper = [0.05, 0.1]`";
        let problem = || format!("`{}` is not a number", given.text);
        given.text.parse::<f64>().map_err(|_| given.refuse_whole(problem(), help))
    };
    let stated = Stated {
        source: table.required("source")?.text,
        says: table.required("says")?.text,
        paper: table.texts("paper")?.iter().map(number).collect::<Result<_, _>>()?,
        part: Part {
            kind: Kind::Soft,
            says: None,
            check: Check::Range,
            experiments: table.texts("experiment")?.into_iter().map(|given| given.text).collect(),
            over: Over::Each,
            metric: Metric::read(table.text("metric")?),
            statistic: table.text("statistic")?.map_or(Ok(Statistic::Mean), |of| statistic(&of))?,
            values: table.texts("values")?.iter().map(term).collect::<Result<_, _>>()?,
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            missing: None,
        },
    };
    if !(1..=2).contains(&stated.part.values.len()) {
        let help = "write one value, or two: the first over the second";
        return Err(table.required("says")?.refuse_whole("a number without a value", help));
    }
    Ok(stated)
}

/// Refuses a number of values that does not suit the check.
fn check_values(table: &Table<'_>, part: &Part) -> Result<(), InputError> {
    let count = part.values.len();
    let (suits, help) = match part.check {
        Check::Range => (count >= 1, "one value or more, and `low` or `high`"),
        Check::Ratio => (count == 2, "two values, and `low` or `high`"),
        _ => (count >= 2, "two values or more"),
    };
    let needs_bound = matches!(part.check, Check::Range | Check::Ratio);
    let unbounded = needs_bound && part.bounds == (f64::NEG_INFINITY, f64::INFINITY);
    if part.bounds.0 > part.bounds.1 {
        let help = "write the smaller bound as `low`";
        return Err(table.required("check")?.refuse_whole("`low` is above `high`", help));
    }
    if suits && !unbounded {
        return Ok(());
    }
    let given = table.required("check")?;
    Err(given.refuse_whole(format!("`{}` needs {help}", given.text), "see docs/claims-format.md"))
}

fn read_figure(table: &Table<'_>) -> Result<Figure, InputError> {
    let texts = |key: &str| -> Result<Vec<String>, InputError> {
        Ok(table.texts(key)?.into_iter().map(|given| given.text).collect())
    };
    let draw = one_of(&DRAWINGS, "drawing", &table.required("draw")?)?;
    let metric = Metric::read(table.text("metric")?);
    let cells = if draw == Draw::Matrix { grid::read(table, &metric)? } else { Vec::new() };
    let of_cells = cells.iter().flat_map(|cell| cell.part.experiments.iter().cloned());
    let experiments = texts("experiments")?.into_iter().chain(of_cells).collect();
    let quantity = (draw == Draw::Series).then(|| over_time(table)).transpose()?;
    Ok(Figure {
        id: table.required("id")?.text,
        caption: table.required("caption")?.text,
        draw,
        claims: texts("claims")?,
        x: table.text("x")?.map(|given| given.text),
        is_log: table.text("scale")?.map_or(Ok(false), |of| one_of(&SCALES, "scale", &of))?,
        quantity,
        cells,
        experiments,
        metric,
        variants: texts("variants")?,
    })
}

/// What a figure of time lines draws.
fn over_time(table: &Table<'_>) -> Result<OverTime, InputError> {
    let all: Vec<(&str, OverTime)> = OverTime::ALL.map(|of| (of.name(), of)).into();
    one_of(&all, "quantity", &table.required("quantity")?)
}

fn one_of<T: Copy>(all: &[(&str, T)], what: &str, given: &Given) -> Result<T, InputError> {
    let found = all.iter().find(|(name, _)| *name == given.text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let problem = format!("unknown {what} `{}`", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

fn statistic(given: &Given) -> Result<Statistic, InputError> {
    match given.text.as_str() {
        "mean" => return Ok(Statistic::Mean),
        "median" => return Ok(Statistic::Median),
        "iqr" => return Ok(Statistic::Iqr),
        _ => {}
    }
    let quantile = given.text.strip_prefix('q').and_then(|percent| percent.parse::<f64>().ok());
    let quantile = quantile.filter(|percent| (0.0..=100.0).contains(percent));
    quantile.map(|percent| Statistic::Quantile(percent / 100.0)).ok_or_else(|| {
        let problem = format!("unknown statistic `{}`", given.text);
        given.refuse_whole(problem, "write mean, median, iqr, or a quantile in per cent: q95")
    })
}

/// Reads `0.05`, `mptcp/lrf/lia`, `average:tcp`, `EXPERIMENT: VARIANT`, `EXPERIMENT: A | B` and
/// `EXPERIMENT: A - B`.
pub(super) fn term(given: &Given) -> Result<Term, InputError> {
    let text = given.text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Ok(Term::Constant(number));
    }
    let (experiment, text) = match text.split_once(": ") {
        Some((experiment, rest)) => (Some(experiment.to_owned()), rest.trim()),
        None => (None, text),
    };
    if text.is_empty() {
        return Err(given.refuse_whole("an empty value", "write a variant: `mptcp/lrf/lia`"));
    }
    let two = |(first, second): (&str, &str)| (quantity(first), quantity(second));
    if let Some((first, second)) = text.split_once(" | ").map(two) {
        return Ok(Term::Gain { experiment, first, second });
    }
    Ok(match text.split_once(" - ").map(two) {
        Some((first, second)) => Term::Difference { experiment, first, second },
        None => Term::Of { experiment, value: quantity(text) },
    })
}

fn quantity(text: &str) -> Quantity {
    let text = text.trim();
    let (word, family) = text.split_once(':').map_or((text, None), |(word, of)| (word, Some(of)));
    let pick = PICKS.iter().find(|(name, _)| *name == word).map(|(_, pick)| *pick);
    let known = family.map(|of| FAMILIES.iter().find(|(name, _)| *name == of));
    match (pick, known) {
        (Some(pick), None) => Quantity::Single(pick, None),
        (Some(pick), Some(Some((_, family)))) => Quantity::Single(pick, Some(*family)),
        _ => Quantity::Variant(text.to_owned()),
    }
}

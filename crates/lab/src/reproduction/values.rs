//! What the judgement of claims needs of a study: the looked-at numbers of every repetition.
//!
//! They are kept in one small file per study, so that an interrupted reproduction resumes, and
//! shards of a cluster can be merged. The file is the same bytes for any number of threads.

use super::claims::{self, Metric, Pick, Quantity};
use super::timelines::Line;
use super::variants::is_alone;
use crate::results::BUILD;
use crate::run::Run;
use crate::scenario::packet_number;
use crate::scenario::{Family, Runs, Scenario, Variant, measures, metric};
use crate::statistics::mean;
use crate::study::{Study, VariantRuns};
use crate::words::{hex, nearest_help};
use serde_json::{Map, Value, json};
use simulator::Recording;
use std::collections::BTreeSet;
use traffic::Measure;

/// How the names of the numbers begin that are of the accounts of a run.
const HEAD_OF_LINE: &str = "head_of_line";

/// The version of the files.
const SCHEMA: u64 = 4;

/// The numbers of a study.
#[derive(Clone, PartialEq, Debug)]
pub struct Values {
    /// The metrics looked at.
    pub(super) columns: Vec<Described>,
    /// The variants.
    pub variants: Vec<VariantValues>,
    /// Quantities of one repetition over time, where a figure draws them.
    pub(super) lines: Vec<Line>,
}

/// A metric with what is known of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) larger_is_better: bool,
}

/// The numbers of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct VariantValues {
    /// Its name.
    pub name: String,
    pub(super) is_sctp: bool,
    /// Whether `average` and the like are over it.
    pub(super) is_alone: bool,
    /// Segments with payload that were received, over all runs.
    pub(super) packets: u64,
    /// For each metric the number of every repetition.
    pub(super) columns: Vec<Vec<Option<f64>>>,
}

/// How the number of a run is found.
enum Source {
    Measure(Measure),
    Share(usize),
    LargestShare,
    Number(String),
}

impl Values {
    /// The numbers of a study's runs; the error names the metric that its traffic does not have.
    pub(super) fn of(
        scenario: &Scenario,
        study: &Study,
        metrics: &[Metric],
    ) -> Result<Values, String> {
        let sources = metrics.iter().map(|of| source(scenario, of));
        let sources = sources.collect::<Result<Vec<(Source, Described)>, String>>()?;
        sources.iter().try_for_each(|(source, _)| must_be_known(study, source))?;
        let column =
            |runs: &[Run], source: &Source| runs.iter().map(|r| number(r, source)).collect();
        let variant = |of: &VariantRuns| VariantValues {
            name: of.variant.name.clone(),
            is_sctp: of.variant.family() == Family::Sctp,
            is_alone: is_alone(&of.variant, study.variants.iter().map(|of| &of.variant)),
            packets: of.runs.iter().map(|run| run.data_packets).sum(),
            columns: sources.iter().map(|(source, _)| column(&of.runs, source)).collect(),
        };
        Ok(Values {
            variants: study.variants.iter().map(variant).collect(),
            columns: sources.into_iter().map(|(_, described)| described).collect(),
            lines: Vec::new(),
        })
    }

    /// The variants of a scenario without any run.
    #[cfg(test)]
    pub(super) fn without_runs(
        scenario: &Scenario,
        variants: &[Variant],
        metrics: &[Metric],
    ) -> Result<Values, String> {
        Values::of(scenario, &Study::empty(variants), metrics)
    }

    /// Whether a scenario has these metrics.
    pub(super) fn check(scenario: &Scenario, metrics: &[Metric]) -> Result<(), String> {
        metrics.iter().try_for_each(|of| source(scenario, of).map(|_| ()))
    }

    /// The metric of this name.
    pub(super) fn column(&self, metric: &Metric) -> Option<(usize, &Described)> {
        let name = metric.name();
        self.columns.iter().enumerate().find(|(_, of)| of.name == name)
    }

    /// The number of every repetition; the error names what is missing.
    pub(super) fn numbers(
        &self,
        metric: &Metric,
        quantity: &Quantity,
        family: Option<bool>,
    ) -> Result<Vec<Option<f64>>, String> {
        let (column, described) =
            self.column(metric).ok_or_else(|| format!("no metric {}", metric.name()))?;
        let (pick, of_family) = match quantity {
            Quantity::Variant(name) => {
                let found = self.variants.iter().find(|of| of.name == *name);
                let found = found.ok_or_else(|| format!("no variant {name}"))?;
                return Ok(found.columns[column].clone());
            }
            Quantity::Single(pick, of) => (*pick, of.map(|of| of == Family::Sctp).or(family)),
        };
        let is_in = |of: &&VariantValues| {
            of.is_alone && of_family.is_none_or(|is_sctp| of.is_sctp == is_sctp)
        };
        let singles: Vec<&Vec<Option<f64>>> =
            self.variants.iter().filter(is_in).map(|of| &of.columns[column]).collect();
        picked(pick, &singles, described.larger_is_better)
            .ok_or_else(|| "no variants over single paths".to_owned())
    }

    /// Whether the variant is one of SCTP.
    pub(super) fn is_sctp(&self, quantity: &Quantity) -> Option<bool> {
        match quantity {
            Quantity::Variant(name) => {
                self.variants.iter().find(|of| of.name == *name).map(|of| of.is_sctp)
            }
            Quantity::Single(_, family) => family.map(|family| family == Family::Sctp),
        }
    }

    /// The content of its file.
    pub(super) fn document(&self, key: &str) -> Value {
        let described = self.columns.iter().map(
            |of| json!({"name": of.name, "unit": of.unit, "larger_is_better": of.larger_is_better}),
        );
        let variant = |of: &VariantValues| {
            let numbers = self.columns.iter().zip(&of.columns);
            let numbers: Map<String, Value> =
                numbers.map(|(metric, column)| (metric.name.clone(), json!(column))).collect();
            json!({
                "variant": of.name,
                "sctp": of.is_sctp,
                "alone": of.is_alone,
                "packets": of.packets,
                "values": numbers,
            })
        };
        json!({
            "program": "anabranch",
            "schema": SCHEMA,
            "key": key,
            "metrics": described.collect::<Vec<_>>(),
            "variants": self.variants.iter().map(variant).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(Line::document).collect::<Vec<_>>(),
        })
    }

    /// Reads the content of its file; `None` if it is of another study or build.
    pub(super) fn read(document: &Value, key: &str) -> Option<Values> {
        if document["schema"] != json!(SCHEMA) || document["key"] != json!(key) {
            return None;
        }
        let described = |of: &Value| {
            Some(Described {
                name: of["name"].as_str()?.to_owned(),
                unit: of["unit"].as_str()?.to_owned(),
                larger_is_better: of["larger_is_better"].as_bool()?,
            })
        };
        let columns: Vec<Described> =
            document["metrics"].as_array()?.iter().map(described).collect::<Option<_>>()?;
        let numbers = |of: &Value| {
            Some(of.as_array()?.iter().map(Value::as_f64).collect::<Vec<Option<f64>>>())
        };
        let variant = |of: &Value| {
            let columns = columns.iter().map(|metric| numbers(&of["values"][&metric.name]));
            Some(VariantValues {
                name: of["variant"].as_str()?.to_owned(),
                is_sctp: of["sctp"].as_bool()?,
                is_alone: of["alone"].as_bool()?,
                packets: of["packets"].as_u64()?,
                columns: columns.collect::<Option<_>>()?,
            })
        };
        let variants =
            document["variants"].as_array()?.iter().map(variant).collect::<Option<_>>()?;
        let lines = document["lines"].as_array()?.iter().map(Line::read).collect::<Option<_>>()?;
        Some(Values { columns, variants, lines })
    }
}

/// What stored numbers depend on: scenario, seed, repetitions, variants, metrics and build.
pub(super) fn key(scenario: &Scenario, variants: &[Variant], metrics: &[Metric]) -> String {
    let metrics: Vec<String> = metrics.iter().map(Metric::name).collect();
    let variants: Vec<&str> = variants.iter().map(|of| of.name.as_str()).collect();
    let build = BUILD.get(..16).unwrap_or(BUILD);
    format!("{}/{build}/{}/{}", hex(&scenario.hash()), variants.join(","), metrics.join(","))
}

/// What has to be recorded of runs for these metrics. Nobody sees the result hashes, which took a
/// tenth of the time where much background is simulated; only `--runs auto` needs them.
pub(super) fn recording(scenario: &Scenario, metrics: &[Metric]) -> Recording {
    let is_of_account = |of: &Metric| match of {
        Metric::Number(name) => claims::numbers(name).any(|of| of.starts_with(HEAD_OF_LINE)),
        _ => false,
    };
    let hash = matches!(scenario.runs, Runs::Auto { .. });
    let accounts = metrics.iter().any(is_of_account);
    Recording { hash, accounts, capture: false, pass_through: false }
}

fn source(scenario: &Scenario, of: &Metric) -> Result<(Source, Described), String> {
    let plain =
        |unit: &str| Described { name: of.name(), unit: unit.to_owned(), larger_is_better: false };
    let measure = |measure: Measure| {
        let unit = measure.unit().to_owned();
        let larger_is_better = measure.larger_is_better();
        (Source::Measure(measure), Described { name: of.name(), unit, larger_is_better })
    };
    Ok(match of {
        Metric::Own => measure(scenario.metric),
        Metric::Named(name) => {
            let all = measures(&scenario.traffic, &scenario.paths, &scenario.links);
            let found = metric(name, &all);
            measure(found.map_err(|refusal| format!("{}: {}", refusal.problem, refusal.help))?)
        }
        Metric::Share(path) => {
            let place = scenario.paths.iter().position(|of| of.name == *path);
            let place = place.ok_or_else(|| format!("no path {path}"))?;
            (Source::Share(place), plain("1"))
        }
        Metric::LargestShare => (Source::LargestShare, plain("1")),
        Metric::Number(name) => {
            claims::numbers(name)
                .try_for_each(|name| packet_number::must_be_known(name, &scenario.paths))?;
            (Source::Number(name.clone()), plain(claims::numbers(name).next().map_or("", unit_of)))
        }
    })
}

/// Refuses a further number that no run of a study has. Those of packets, which are known before,
/// a run without such packets does not have.
fn must_be_known(study: &Study, source: &Source) -> Result<(), String> {
    let Source::Number(names) = source else { return Ok(()) };
    let runs = || study.variants.iter().flat_map(|of| &of.runs);
    let is_unknown = |name: &&str| {
        let is_own = OWN_NUMBERS.contains(name) || packet_number::unit_of(name).is_some();
        !is_own && runs().next().is_some() && runs().all(|run| run.further(name).is_none())
    };
    let Some(name) = claims::numbers(names).find(is_unknown) else { return Ok(()) };
    let of_runs = runs().flat_map(|run| run.extra.iter().map(|(name, _)| name.as_str()));
    let valid: BTreeSet<&str> = of_runs.chain(OWN_NUMBERS).collect();
    let help = nearest_help(name, &valid.into_iter().collect::<Vec<_>>());
    Err(format!("no run has a number `{name}`: {help}"))
}

/// The SI unit of a further number of a run.
fn unit_of(name: &str) -> &'static str {
    match name {
        "ended" | "head_of_line" => "s",
        _ if name.ends_with("bytes") || name == "bytes_read" => "bytes",
        _ => packet_number::unit_of(name).unwrap_or(""),
    }
}

fn number(run: &Run, source: &Source) -> Option<f64> {
    let share = |bytes: u64| {
        let total: u64 = run.first_sent_bytes.iter().sum();
        (total > 0).then(|| bytes as f64 / total as f64)
    };
    match source {
        Source::Measure(measure) => run.measured(*measure),
        Source::Share(path) => share(*run.first_sent_bytes.get(*path)?),
        Source::LargestShare => share(*run.first_sent_bytes.iter().max()?),
        Source::Number(name) => {
            let mut numbers = claims::numbers(name).map(|name| further(run, name));
            let first = numbers.next()??;
            numbers.try_fold(first, |sum, number| Some(sum - number?))
        }
    }
}

/// The further numbers that every run may have; `further` has them.
pub(super) const OWN_NUMBERS: [&str; 9] = [
    "ended",
    "bytes_read",
    "data_packets",
    "retransmitted_segs",
    "reinjected_bytes",
    "duplicate_bytes",
    "head_of_line",
    "head_of_line_bytes",
    "complete",
];

/// A further number of a run by name, as in the table of runs.
fn further(run: &Run, name: &str) -> Option<f64> {
    match name {
        "ended" => Some(run.ended),
        "bytes_read" => Some(run.bytes_read as f64),
        "data_packets" => Some(run.data_packets as f64),
        "retransmitted_segs" => Some(run.retransmitted_segs as f64),
        "reinjected_bytes" => Some(run.reinjected_bytes as f64),
        "duplicate_bytes" => Some(run.duplicate_bytes as f64),
        "head_of_line" => Some(run.account.as_ref()?.head_of_line.time.as_secs_f64()),
        "head_of_line_bytes" => Some(run.account.as_ref()?.head_of_line.bytes as f64),
        "complete" => Some(f64::from(u8::from(run.value.is_some()))),
        name => run.further(name),
    }
}

fn picked(
    pick: Pick,
    singles: &[&Vec<Option<f64>>],
    larger_is_better: bool,
) -> Option<Vec<Option<f64>>> {
    let rows = singles.iter().map(|column| column.len()).min()?;
    let row =
        |index: usize| singles.iter().map(|column| column[index]).collect::<Option<Vec<f64>>>();
    let of = |column: &Vec<Option<f64>>| {
        mean(&column.iter().copied().flatten().collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    let largest = match pick {
        Pick::Average => return Some((0..rows).map(|i| mean(&row(i)?)).collect()),
        Pick::Sum => return Some((0..rows).map(|i| Some(row(i)?.iter().sum())).collect()),
        Pick::Max => true,
        Pick::Min => false,
        Pick::Best => larger_is_better,
    };
    let ordered = singles.iter().filter(|column| of(column).is_finite());
    let found = match largest {
        true => ordered.max_by(|a, b| of(a).total_cmp(&of(b))),
        false => ordered.min_by(|a, b| of(a).total_cmp(&of(b))),
    };
    // Without a finished run all are alike.
    found.or(singles.first()).map(|column| (*column).clone())
}

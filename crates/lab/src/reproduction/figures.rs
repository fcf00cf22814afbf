//! The data of a paper's figure: the number of every repetition of its variants, by experiment.
//!
//! Pages draw them; here they become CSV and Parquet.

use super::claims::{Draw, Figure, Metric};
use super::plan::{Plan, Results, Unit, figure_name};
use super::values::Values;
use crate::results::{Cell, Kind as CellKind, table_file};
use crate::scenario::Scenario;
use crate::statistics::{Interval, mean, mean_interval};
use std::fmt::Write;
use std::io;

/// A figure with its data.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// `002/fig8`.
    pub name: String,
    /// Name of the number that is drawn.
    pub metric: String,
    /// The same in words: `completion time`.
    pub quantity: String,
    /// Its SI unit; `1` of a share.
    pub unit: String,
    /// The experiments in their order.
    pub groups: Vec<Group<'a>>,
}

/// An experiment of a figure.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its scenario, on the paper's kernel.
    pub scenario: Scenario,
    /// Its variants.
    pub series: Vec<Series<'a>>,
}

/// A variant of an experiment.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name.
    pub variant: &'a str,
    /// The number of every finished repetition.
    pub values: Vec<f64>,
    /// Of `packets`: the share of a repetition's packets above its number.
    pub share_above: Option<f64>,
}

impl Series<'_> {
    /// The mean and its 95 % interval.
    pub fn mean(&self) -> Option<(f64, Option<Interval>)> {
        Some((mean(&self.values)?, mean_interval(&self.values, 0.95)))
    }
}

impl Group<'_> {
    /// `100ms` of `burst/100ms`.
    pub fn case(&self) -> &str {
        self.name.split_once('/').map_or(self.name, |(_, case)| case)
    }
}

impl Drawn<'_> {
    /// The data as CSV: `experiment,variant,repetition,value`, in SI units; of `packets` with a
    /// column `share_above`.
    pub fn csv(&self) -> String {
        let further = if self.has_shares() { ",share_above" } else { "" };
        let mut text = format!("experiment,variant,repetition,value{further}\n");
        for (group, series, run, value) in self.rows() {
            let share = series.share_above.map_or_else(String::new, |share| format!(",{share}"));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{group},\"{}\",{run},{value}{share}", series.variant);
        }
        text
    }

    fn has_shares(&self) -> bool {
        self.figure.draw == Draw::Packets
    }

    /// The same as a Parquet table.
    pub fn table(&self) -> io::Result<Vec<u8>> {
        let mut columns = vec![
            ("experiment", CellKind::Text),
            ("variant", CellKind::Text),
            ("repetition", CellKind::Whole),
            ("value", CellKind::Number),
        ];
        if self.has_shares() {
            columns.push(("share_above", CellKind::Number));
        }
        let metadata = [("figure", self.name.clone()), ("metric", self.metric.clone())];
        let cells = |index: usize| {
            self.rows().map(move |(group, series, run, value)| match index {
                0 => Cell::Text(group.to_owned()),
                1 => Cell::Text(series.variant.to_owned()),
                2 => Cell::Whole(run as u64),
                3 => Cell::Number(Some(value)),
                _ => Cell::Number(series.share_above),
            })
        };
        table_file("figure", &columns, &metadata, cells)
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &Series<'_>, usize, f64)> {
        self.groups.iter().flat_map(|group| {
            group.series.iter().flat_map(move |series| {
                let values = series.values.iter().enumerate();
                values.map(move |(run, value)| (group.name, series, run, *value))
            })
        })
    }
}

impl Plan {
    /// The data of the selected figures with their papers' indices, on the papers' kernels.
    pub fn drawn<'a>(&'a self, results: &'a Results) -> Vec<(usize, Drawn<'a>)> {
        let one = |&(paper, figure): &(usize, usize)| {
            let of = &self.papers[paper];
            let shown = &of.figures[figure];
            let metrics = shown.metrics();
            let found = results.of_figure(self, (paper, shown));
            let first = found.iter().find_map(|(unit, values)| {
                let (_, described) = values.column(&metrics.first()?.0)?;
                Some((self.scenario(unit).ok()?, described.unit.clone()))
            });
            let group = |(unit, values): (Unit, &'a Values)| {
                let name = &*of.experiments[unit.experiment].name;
                let all = metrics.iter().flat_map(|metric| series_of(shown, metric, values));
                let series: Vec<Series<'a>> = all.collect();
                let scenario = self.scenario(&unit).ok().filter(|_| !series.is_empty())?;
                Some(Group { name, scenario, series })
            };
            let groups = found.into_iter().filter_map(group).collect();
            let (name, metric) = (figure_name(of, shown), shown.metric.name());
            let own = first.as_ref().map_or("", |(scenario, _)| scenario.metric.name());
            let quantity = shown.metric.words(own);
            let unit = first.map_or_else(String::new, |(_, unit)| unit);
            (paper, Drawn { figure: shown, name, metric, quantity, unit, groups })
        };
        self.figures.iter().map(one).filter(|(_, drawn)| !drawn.groups.is_empty()).collect()
    }
}

/// The numbers of a metric with the share of packets above it.
fn series_of<'a>(
    figure: &Figure,
    (metric, share_above): &(Metric, Option<f64>),
    values: &'a Values,
) -> Vec<Series<'a>> {
    let Some((column, _)) = values.column(metric) else { return Vec::new() };
    let is_shown = |name: &str| {
        figure.variants.is_empty() || figure.variants.iter().any(|shown| shown == name)
    };
    let shown = values.variants.iter().filter(|of| is_shown(&of.name));
    let series = shown.map(|of| Series {
        variant: &of.name,
        values: of.columns[column].iter().copied().flatten().collect(),
        share_above: *share_above,
    });
    series.filter(|of| !of.values.is_empty()).collect()
}

impl Draw {
    /// Name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Draw::Bars => "bars",
            Draw::Box => "box",
            Draw::Ccdf => "ccdf",
            Draw::Lines => "lines",
            Draw::Packets => "packets",
        }
    }
}

//! The data of a paper's figure: the number of every repetition of its variants, by experiment.
//!
//! Pages draw them; here they become CSV and Parquet.

use super::claims::{Draw, Figure};
use super::plan::{Plan, Results, figure_name};
use super::values::Values;
use crate::results::{Cell, Kind as CellKind, table_file};
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
    /// The data as CSV: `experiment,variant,repetition,value`, in SI units.
    pub fn csv(&self) -> String {
        let mut text = "experiment,variant,repetition,value\n".to_owned();
        for (group, variant, run, value) in self.rows() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{group},\"{variant}\",{run},{value}");
        }
        text
    }

    /// The same as a Parquet table.
    pub fn table(&self) -> io::Result<Vec<u8>> {
        let columns = [
            ("experiment", CellKind::Text),
            ("variant", CellKind::Text),
            ("repetition", CellKind::Whole),
            ("value", CellKind::Number),
        ];
        let metadata = [("figure", self.name.clone()), ("metric", self.metric.clone())];
        let cells = |index: usize| {
            self.rows().map(move |(group, variant, run, value)| match index {
                0 => Cell::Text(group.to_owned()),
                1 => Cell::Text(variant.to_owned()),
                2 => Cell::Whole(run as u64),
                _ => Cell::Number(Some(value)),
            })
        };
        table_file("figure", &columns, &metadata, cells)
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &str, usize, f64)> {
        self.groups.iter().flat_map(|group| {
            group.series.iter().flat_map(move |series| {
                let values = series.values.iter().enumerate();
                values.map(move |(run, value)| (group.name, series.variant, run, *value))
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
            let found = self.values_of((paper, figure), results);
            let described = found.iter().find_map(|(_, values)| values.column(&shown.metric));
            let unit = described.map_or_else(String::new, |(_, column)| column.unit.clone());
            let group = |(name, values): (&'a str, &'a Values)| {
                let series = series_of(shown, values);
                (!series.is_empty()).then_some(Group { name, series })
            };
            let groups = found.into_iter().filter_map(group).collect();
            let (name, metric) = (figure_name(of, shown), shown.metric.name());
            (paper, Drawn { figure: shown, name, metric, unit, groups })
        };
        self.figures.iter().map(one).filter(|(_, drawn)| !drawn.groups.is_empty()).collect()
    }
}

fn series_of<'a>(figure: &Figure, values: &'a Values) -> Vec<Series<'a>> {
    let Some((column, _)) = values.column(&figure.metric) else { return Vec::new() };
    let is_shown = |name: &str| {
        figure.variants.is_empty() || figure.variants.iter().any(|shown| shown == name)
    };
    let shown = values.variants.iter().filter(|of| is_shown(&of.name));
    let series = shown.map(|of| Series {
        variant: &of.name,
        values: of.columns[column].iter().copied().flatten().collect(),
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
        }
    }
}

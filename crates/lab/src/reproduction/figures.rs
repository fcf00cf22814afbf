//! The data of a paper's figure: the number of every repetition of its variants, by experiment.
//!
//! Pages draw them; here they become CSV and Parquet.

use super::claims::{Draw, Figure, Metric};
use super::grid::Graded;
use super::plan::{Column, Plan, Results, Unit};
use super::selection::figure_name;
use super::timelines::Line;
use super::values::Values;
use crate::results::{Cell, Kind as CellKind, table_file};
use crate::scenario::Scenario;
use crate::statistics::{Interval, mean, mean_interval};
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
    /// Of `matrix`: its cells, row by row.
    pub cells: Vec<Graded<'a>>,
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
    /// Of `series`: what is drawn over time.
    pub lines: Vec<&'a Line>,
}

/// A variant of an experiment.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name.
    pub variant: &'a str,
    /// The number of every finished repetition.
    pub values: Vec<f64>,
    /// The numbers of these repetitions.
    pub repetitions: Vec<u64>,
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
    /// The data as CSV, in SI units.
    pub fn csv(&self) -> String {
        let columns = self.columns();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let mut text = names.join(",") + "\n";
        for record in self.records() {
            let cells: Vec<String> = record.iter().zip(&names).map(shown).collect();
            text.push_str(&(cells.join(",") + "\n"));
        }
        text
    }

    /// The same as a Parquet table.
    pub fn table(&self) -> io::Result<Vec<u8>> {
        let metadata = [("figure", self.name.clone()), ("metric", self.metric.clone())];
        let records = self.records();
        let cells = |index: usize| {
            let cell = move |record: &Vec<Cell>| record[index].clone();
            records.iter().map(cell).collect::<Vec<Cell>>().into_iter()
        };
        table_file("figure", &self.columns(), &metadata, cells)
    }

    /// Names and types of the columns of the data.
    fn columns(&self) -> Vec<(&'static str, CellKind)> {
        use CellKind::{Number, Text, Whole};
        match self.figure.draw {
            Draw::Matrix => vec![
                ("row", Text),
                ("column", Text),
                ("outcome", Text),
                ("difference", Number),
                ("low", Number),
                ("high", Number),
            ],
            Draw::Series => vec![
                ("experiment", Text),
                ("variant", Text),
                ("path", Text),
                ("time", Number),
                ("value", Number),
            ],
            draw => {
                let mut columns = vec![
                    ("experiment", Text),
                    (VARIANT, Text),
                    ("repetition", Whole),
                    ("value", Number),
                ];
                if draw == Draw::Packets {
                    columns.push(("share_above", Number));
                }
                columns
            }
        }
    }

    fn records(&self) -> Vec<Vec<Cell>> {
        match self.figure.draw {
            Draw::Matrix => self.cells.iter().map(record_of_cell).collect(),
            Draw::Series => self.records_of_lines().collect(),
            _ => self.records_of_repetitions().collect(),
        }
    }

    fn records_of_repetitions(&self) -> impl Iterator<Item = Vec<Cell>> {
        let has_shares = self.figure.draw == Draw::Packets;
        let each = self.groups.iter().flat_map(|of| of.series.iter().map(move |one| (of, one)));
        each.flat_map(move |(group, series)| {
            series.repetitions.iter().zip(&series.values).map(move |(run, value)| {
                let mut cells = vec![
                    Cell::Text(group.name.to_owned()),
                    Cell::Text(series.variant.to_owned()),
                    Cell::Whole(*run),
                    Cell::Number(Some(*value)),
                ];
                cells.extend(has_shares.then_some(Cell::Number(series.share_above)));
                cells
            })
        })
    }

    fn records_of_lines(&self) -> impl Iterator<Item = Vec<Cell>> {
        let each = self.groups.iter().flat_map(|of| of.lines.iter().map(move |line| (of, line)));
        each.flat_map(|(group, line)| {
            line.points.iter().map(move |(time, value)| {
                vec![
                    Cell::Text(group.name.to_owned()),
                    Cell::Text(line.variant.clone()),
                    Cell::Text(line.name.clone().unwrap_or_default()),
                    Cell::Number(Some(*time)),
                    Cell::Number(Some(*value)),
                ]
            })
        })
    }
}

/// The column with names of variants, which may contain commas.
const VARIANT: &str = "variant";

/// A cell of CSV; texts of figures have no quotes.
fn shown((cell, column): (&Cell, &&str)) -> String {
    match cell {
        Cell::Text(text) if *column == VARIANT || text.contains(',') => format!("\"{text}\""),
        Cell::Text(text) => text.clone(),
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => number.map_or_else(String::new, |number| number.to_string()),
    }
}

fn record_of_cell(of: &Graded<'_>) -> Vec<Cell> {
    let (difference, interval) = of.relative.unzip();
    vec![
        Cell::Text(of.row.to_owned()),
        Cell::Text(of.column.to_owned()),
        Cell::Text(of.grade.name().to_owned()),
        Cell::Number(difference),
        Cell::Number(interval.map(|of| of.low)),
        Cell::Number(interval.map(|of| of.high)),
    ]
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
                let is_drawn = |line: &&Line| {
                    shown.quantity == Some(line.quantity) && is_shown(shown, &line.variant)
                };
                let lines = values.lines.iter().filter(is_drawn).collect();
                Some(Group { name, scenario, series, lines })
            };
            let groups = found.into_iter().filter_map(group).collect();
            let cells = self.graded((paper, shown), results);
            let (name, metric) = (figure_name(of, shown), shown.metric.name());
            let own = first.as_ref().map_or("", |(scenario, _)| scenario.metric.name());
            let over_time = shown.quantity.map(|of| (of.name().replace('_', " "), of.unit()));
            let own = || shown.metric.words(own);
            let (quantity, unit) = match over_time {
                Some((quantity, unit)) => (quantity, unit.to_owned()),
                None => (own(), first.map_or_else(String::new, |(_, unit)| unit)),
            };
            (paper, Drawn { figure: shown, name, metric, quantity, unit, groups, cells })
        };
        self.figures.iter().map(one).filter(|(_, drawn)| !drawn.groups.is_empty()).collect()
    }

    /// The outcomes of the cells of a figure whose experiments were run.
    fn graded<'a>(
        &self,
        (paper, figure): (usize, &'a Figure),
        results: &Results,
    ) -> Vec<Graded<'a>> {
        let unit = |experiment| Unit { paper, column: Column::Paper, experiment };
        let sampled = |experiment| results.sampled(&unit(experiment));
        let scenario = |experiment| self.scenario(&unit(experiment)).ok();
        let of = &self.papers[paper];
        figure.cells.iter().filter_map(|cell| cell.graded(of, &sampled, &scenario)).collect()
    }
}

/// Whether a figure draws the variant.
fn is_shown(figure: &Figure, name: &str) -> bool {
    figure.variants.is_empty() || figure.variants.iter().any(|shown| shown == name)
}

/// The numbers of a metric with the share of packets above it.
fn series_of<'a>(
    figure: &Figure,
    (metric, share_above): &(Metric, Option<f64>),
    values: &'a Values,
) -> Vec<Series<'a>> {
    let Some((column, _)) = values.column(metric) else { return Vec::new() };
    let shown = values.variants.iter().filter(|of| is_shown(figure, &of.name));
    let series = shown.map(|of| {
        let finished =
            (0..).zip(&of.columns[column]).filter_map(|(run, value)| Some((run, (*value)?)));
        let (repetitions, values) = finished.unzip();
        Series { variant: &of.name, values, repetitions, share_above: *share_above }
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
            Draw::Series => "series",
            Draw::Matrix => "matrix",
        }
    }
}

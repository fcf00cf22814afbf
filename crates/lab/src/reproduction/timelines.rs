//! Time lines of papers, such as 004 Fig. 5: quantities of one repetition over time.
//!
//! The repetition is the one nearest to the median of the metric (`series`). Lines are kept with
//! the values of the study; `figures` has the data of all drawings.

use super::claims::{Draw, Paper};
use crate::scenario::Scenario;
use crate::series::{Quantity, Series, VariantSeries};
use base::Instant;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Most points of a line.
const MOST_POINTS: usize = 600;

/// A quantity of a variant over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Name of the variant.
    pub variant: String,
    /// The quantity.
    pub quantity: Quantity,
    /// Index of the path in the scenario; `None` for the connection.
    pub path: Option<usize>,
    /// Name of the path.
    pub name: Option<String>,
    /// Seconds since the run began, and the value in the unit of the quantity.
    pub points: Vec<(f64, f64)>,
}

/// The quantities that figures draw of an experiment over time.
pub(super) fn wanted(paper: &Paper, experiment: usize) -> BTreeSet<Quantity> {
    let has = |name: &String| paper.find(name).is_some_and(|found| found.contains(&experiment));
    let drawn = paper.figures.iter().filter(|of| of.draw == Draw::Series);
    let drawn = drawn.filter(|of| of.experiments.iter().any(has));
    drawn.filter_map(|of| of.quantity).collect()
}

/// The lines of recorded repetitions.
pub(super) fn lines(
    scenario: &Scenario,
    recorded: &[VariantSeries],
    wanted: &BTreeSet<Quantity>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for of in recorded {
        let own = of.series.iter().filter(|series| wanted.contains(&series.quantity));
        let goodput = wanted.contains(&Quantity::Goodput).then(|| goodput(&of.series)).flatten();
        for series in own.cloned().chain(goodput) {
            let path = series.path.filter(|_| series.quantity != Quantity::Goodput);
            lines.push(Line {
                variant: of.variant.clone(),
                quantity: series.quantity,
                path,
                name: path.map(|path| scenario.paths[path].name.clone()),
                points: series.thinned(MOST_POINTS).seconds().collect(),
            });
        }
    }
    lines
}

/// Bits per second that the application read in each second; `None` where the recording has the
/// goodput already.
fn goodput(all: &[Series]) -> Option<Series> {
    if all.iter().any(|series| series.quantity == Quantity::Goodput) {
        return None;
    }
    let read = all.iter().find(|series| series.quantity == Quantity::Read)?;
    let last = read.points.last()?.0;
    let seconds = (last - Instant::ZERO).as_secs_f64() as u64;
    let position = |second: u64| {
        let until = Instant::from_millis(second * 1000);
        let before = read.points.partition_point(|(at, _)| *at <= until);
        before.checked_sub(1).map_or(0.0, |index| read.points[index].1)
    };
    let point = |second: u64| {
        let bits = 8.0 * (position(second) - position(second - 1));
        (Instant::from_millis(second * 1000), bits)
    };
    let points = (1..=seconds).map(point).collect();
    Some(Series { quantity: Quantity::Goodput, path: None, points })
}

impl Line {
    /// As JSON, for files of values.
    pub(super) fn document(&self) -> Value {
        json!({
            "variant": self.variant, "quantity": self.quantity.name(), "path": self.path,
            "name": self.name, "points": self.points,
        })
    }

    /// The same read back; `None` of anything else.
    pub(super) fn read(document: &Value) -> Option<Line> {
        let points = document["points"].as_array()?.iter();
        let point = |of: &Value| Some((of[0].as_f64()?, of[1].as_f64()?));
        Some(Line {
            variant: document["variant"].as_str()?.to_owned(),
            quantity: Quantity::by_name(document["quantity"].as_str()?)?,
            path: document["path"].as_u64().map(|path| path as usize),
            name: document["name"].as_str().map(str::to_owned),
            points: points.map(point).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_what_was_read_in_each_second() {
        let at = Instant::from_millis;
        let points = vec![(at(200), 100.0), (at(900), 300.0), (at(1000), 400.0), (at(2500), 500.0)];
        let read = Series { quantity: Quantity::Read, path: None, points };
        let found = goodput(std::slice::from_ref(&read)).expect("a series");
        assert_eq!(found.points, [(at(1000), 3200.0), (at(2000), 0.0)]);
        assert_eq!(goodput(&[read, found]), None, "the recording has it");
    }

    #[test]
    fn line_is_the_same_when_it_is_read_back() {
        let line = Line {
            variant: "mptcp/lrf/olia".to_owned(),
            quantity: Quantity::CongestionWindow,
            path: Some(1),
            name: Some("2g".to_owned()),
            points: vec![(0.5, 1.0), (0.1 + 0.2, 1e7)],
        };
        let text = line.document().to_string();
        let read = Line::read(&serde_json::from_str(&text).expect("JSON"));
        assert_eq!(read, Some(line));
    }
}

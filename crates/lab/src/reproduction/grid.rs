//! Tables of outcomes, such as 000 Fig. 19: each cell compares a variant with a baseline in one
//! experiment.
//!
//! Rows and columns are read here from claims files, and cells are graded here; `judge` takes the
//! samples, `figures` has the data of all drawings.

use super::claims::{Check, Kind, Metric, Over, Paper, Part, Statistic, term};
use super::judge::{Context, Lookup};
use super::read::Table;
use crate::comparison::{SIGNIFICANT, margin};
use crate::error::{Given, InputError};
use crate::results::Grade;
use crate::scenario::Scenario;
use crate::statistics::Interval;

/// Stands for the name of the column in the experiment of a row, and for the suffix of the row in
/// the values of a column.
const PLACE: &str = "{}";
const ROW_KEYS: [&str; 3] = ["name", "experiment", "suffix"];
const COLUMN_KEYS: [&str; 3] = ["name", "experiment", "values"];

/// A cell of the table.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) row: String,
    pub(super) column: String,
    /// Its experiment, and its two values: a variant and its baseline.
    pub(super) part: Part,
}

/// A cell with its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Graded<'a> {
    /// Name of the row.
    pub row: &'a str,
    /// Name of the column.
    pub column: &'a str,
    /// The outcome.
    pub grade: Grade,
    /// Mean difference from the baseline as a share of its mean, with the 95 % interval.
    pub relative: Option<(f64, Interval)>,
}

/// The cells of a figure, row by row.
pub(super) fn read(table: &Table<'_>, metric: &Metric) -> Result<Vec<Place>, InputError> {
    let columns = table.tables("columns", &COLUMN_KEYS)?;
    let mut cells = Vec::new();
    for row in table.tables("rows", &ROW_KEYS)? {
        let (name, experiment) = (row.required("name")?.text, row.required("experiment")?);
        if !experiment.text.contains(PLACE) {
            let problem = format!("`{}` has no `{PLACE}`", experiment.text);
            let help = "write `video-{}`, where `{}` stands for the `experiment` of a column";
            return Err(experiment.refuse_whole(problem, help));
        }
        let suffix = row.text("suffix")?.map(|given| given.text).unwrap_or_default();
        for column in &columns {
            let of = experiment.text.replace(PLACE, &column.required("experiment")?.text);
            cells.push(Place {
                row: name.clone(),
                column: column.required("name")?.text,
                part: part(of, metric, (column, &suffix))?,
            });
        }
    }
    if cells.is_empty() {
        let help = "write `rows = [{ name = \"...\", experiment = \"video-{}\" }]` and `columns`";
        return Err(table.required("id")?.refuse_whole("a matrix without cells", help));
    }
    Ok(cells)
}

fn part(
    experiment: String,
    metric: &Metric,
    (column, suffix): (&Table<'_>, &str),
) -> Result<Part, InputError> {
    let value = |given: &Given| term(&given.with_text(&given.text.replace(PLACE, suffix)));
    let values = column.texts("values")?.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    if values.len() != 2 {
        let help = "write `values = [\"mptcp/lrf/olia\", \"average\"]`: a variant, its baseline";
        return Err(column.required("name")?.refuse_whole("a column needs two values", help));
    }
    Ok(Part {
        kind: Kind::Soft,
        says: None,
        missing: None,
        check: Check::Equal,
        experiments: vec![experiment],
        over: Over::Each,
        metric: metric.clone(),
        statistic: Statistic::Mean,
        values,
        bounds: (f64::NEG_INFINITY, f64::INFINITY),
    })
}

impl Place {
    /// The outcome of the cell; `None` where its experiment was not run.
    pub(super) fn graded<'a>(
        &'a self,
        paper: &Paper,
        values: &Lookup<'_>,
        scenario: &dyn Fn(usize) -> Option<Scenario>,
    ) -> Option<Graded<'a>> {
        let experiment = paper.experiments_of(&self.part).first().copied()?;
        let part = &self.part;
        // Means have no resamples.
        let keys = (0, 0);
        let context =
            Context { paper, part, values, experiment: Some(experiment), beside: &[], keys };
        let (_, described) = values(experiment)?.values.column(&part.metric)?;
        let sides = (context.side(&part.values[0]).ok()?, context.side(&part.values[1]).ok()?);
        let reference = context.means().value(&sides.1)?;
        let shown = context.means().difference(&sides.0, &sides.1);
        let scenario = scenario(experiment)?;
        let sign = if described.larger_is_better { -1.0 } else { 1.0 };
        let bound = margin(&scenario, scenario.metric, reference.abs());
        let grade = shown.map_or(Grade::NoVerdict, |(mean, interval)| {
            let is_large = mean.abs() > SIGNIFICANT * reference.abs();
            grade(oriented(interval, sign), bound, is_large)
        });
        let share = |value: f64| value / reference;
        let relative = shown.filter(|_| reference != 0.0).map(|(mean, interval)| {
            let ends = Interval { low: share(interval.low), high: share(interval.high) };
            (share(mean), ends)
        });
        Some(Graded { row: &self.row, column: &self.column, grade, relative })
    }
}

/// The interval of a loss: positive where the variant is worse.
fn oriented(of: Interval, sign: f64) -> Interval {
    if sign > 0.0 { of } else { Interval { low: -of.high, high: -of.low } }
}

/// As `compare` classifies: by which side of the margin the whole interval of the loss is on.
fn grade(loss: Interval, margin: f64, is_large: bool) -> Grade {
    match (loss.low, loss.high) {
        (_, high) if high < -margin && is_large => Grade::SignificantGain,
        (_, high) if high < -margin => Grade::SlightGain,
        (low, _) if low > margin => Grade::Degraded,
        (low, high) if low >= -margin && high <= margin => Grade::None,
        _ => Grade::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_is_the_side_of_the_margin_on_which_the_interval_is() {
        let of = |low, high| grade(Interval { low, high }, 5.0, high < -10.0);
        assert_eq!(of(-30.0, -12.0), Grade::SignificantGain);
        assert_eq!(of(-9.0, -6.0), Grade::SlightGain);
        assert_eq!(of(-9.0, -4.0), Grade::Undecided);
        assert_eq!(of(-4.0, 4.0), Grade::None);
        assert_eq!(of(4.0, 7.0), Grade::Undecided);
        assert_eq!(of(6.0, 7.0), Grade::Degraded);
    }

    #[test]
    fn gain_of_a_number_of_which_more_is_better_is_no_loss() {
        let loss = oriented(Interval { low: 2.0, high: 3.0 }, -1.0);
        assert_eq!((loss.low, loss.high), (-3.0, -2.0));
    }
}

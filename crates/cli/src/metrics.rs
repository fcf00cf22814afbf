//! The table of metrics: every number of the runs with a verdict of its own, and how the variants
//! meet a goal.

use crate::columns::{Column, Table};
use lab::answer::{Aim, MetricRow, Outcome};
use lab::comparison::Class;
use lab::scenario::variants_of;
use lab::{Report, Scale, Scenario, percent};
use traffic::Source;

/// Ratio of two means above which the larger one has the unit.
const FAR: f64 = 10.0;

/// One row per number; `None` where there is only one.
pub(crate) fn table(scenario: &Scenario, report: &Report) -> Option<Table> {
    // The goodput of a transfer says the same as its time.
    let is_own =
        |row: &&MetricRow| row.metric.source != Source::Rate || row.metric == report.metric;
    let rows: Vec<&MetricRow> = report.metrics.iter().filter(is_own).collect();
    if rows.len() < 2 || rows.iter().all(|row| row.answer.variant.is_none()) {
        return None;
    }
    let each = |cell: &dyn Fn(&MetricRow) -> String| rows.iter().copied().map(cell).collect();
    let value = |row: &MetricRow, mean: Option<f64>| {
        mean.map_or("-".to_owned(), |mean| scale(row).value(mean))
    };
    let mut result = Column::new("result", false, 0, each(&result));
    result.styles = rows.iter().copied().map(style).collect();
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let alone = |row: &MetricRow| short(scenario, row.answer.baseline.as_deref());
    let columns = vec![
        Column::new("metric", false, 0, each(&|row| row.metric.info().heading.to_owned())),
        Column::new("variant", false, 0, each(&|row| name(&row.answer.variant))),
        Column::new("mean", true, 0, each(&|row| value(row, row.mean))),
        Column::new("against", false, 0, each(&alone)),
        Column::new("mean", true, 0, each(&|row| value(row, row.baseline_mean))),
        Column::new("", true, 1, each(&relative)),
        result,
    ];
    Some(Table { columns })
}

/// The path of a single-path variant, where that identifies it.
fn short(scenario: &Scenario, name: Option<&str>) -> String {
    let Some(name) = name else { return "-".to_owned() };
    let variants = variants_of(scenario);
    let path = variants.iter().find(|of| of.name == name).and_then(|of| of.single_path());
    let on_path = |path| variants.iter().filter(|of| of.single_path() == Some(path)).count();
    path.filter(|path| on_path(*path) == 1)
        .and_then(|path| scenario.paths.get(path))
        .map_or(name.to_owned(), |path| path.name.clone())
}

/// One unit for both means: that of the smaller one, unless they are far apart.
fn scale(row: &MetricRow) -> Scale {
    let (a, b) = (row.mean.unwrap_or(0.0), row.baseline_mean.unwrap_or(0.0));
    let (small, large) = (a.min(b), a.max(b));
    Scale::of(row.metric.unit(), if large > FAR * small { large } else { small })
}

/// The difference as a share of the baseline's mean; empty of one that is shown as zero.
fn relative(row: &MetricRow) -> String {
    let scale = scale(row);
    let reference = row.baseline_mean.filter(|mean| scale.number(*mean) != scale.number(0.0));
    let share = row.answer.effect.zip(reference).map(|(effect, mean)| effect / mean);
    share.map_or(String::new(), |share| {
        format!("{}{}", if share >= 0.0 { "+" } else { "" }, percent(share))
    })
}

fn result(row: &MetricRow) -> String {
    let class = row.answer.class.map_or("not known", Class::name);
    row.magnitude.map_or(class.to_owned(), |magnitude| format!("{class}, {magnitude}"))
}

fn style(row: &MetricRow) -> &'static str {
    match row.answer.class {
        Some(Class::PaysOff | Class::Baseline) => "32",
        Some(Class::Hurts) => "31",
        Some(Class::Undecided) | None => "33",
        Some(Class::NoDifference) => "",
    }
}

/// Which variants meet a goal, miss it, or may do either.
pub(crate) fn standings(aim: &Aim) -> String {
    let of = |outcome: Outcome, words: &str| {
        let names = aim.variants.iter().filter(|of| of.outcome == outcome);
        let names: Vec<&str> = names.map(|of| of.variant.as_str()).collect();
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    };
    let parts = [
        of(Outcome::Met, "met by"),
        of(Outcome::Missed, "missed by"),
        of(Outcome::Undecided, "undecided for"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let said =
        if parts.is_empty() { "no variant has a value".to_owned() } else { parts.join("; ") };
    format!("goal {}: {said}", aim.goal)
}

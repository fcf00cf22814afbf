//! The figures of a study: distributions of the metric, and one representative run over time.
//!
//! Box plots show the median, quartiles, whiskers at 1.5 times the interquartile range, outliers,
//! and n. Nothing is smoothed.

use super::Sheet;
use super::boxed::Boxed;
use super::calls::calls;
use super::ccdf::ccdf;
use super::delays::delays;
use super::draw::{packed, packed_all, rounded};
use super::events::{self, once_in_the_legend};
use super::figure::{Figure, VARIANT};
use super::palette::{self, BLACK, Dash, Look, Marker};
use super::{failover, sharing};
use lab::scenario::{Protocol, Variant};
use lab::series::{Quantity, Series};
use lab::statistics::mean;
use lab::{Scale, VariantRuns, VariantSeries, scale};
use serde_json::{Value, json};
use std::cell::Cell;

/// Points of all lines of a variant over time, which share them; the page has about 60 kB of data
/// for each variant.
const LINE_POINTS: usize = 3_200;
/// Marks of all paths of a variant in the timeline.
const MARKS: usize = 2_000;
/// Least points of a line or marks of a path.
const LEAST_POINTS: usize = 60;
/// Most points of a line.
const MOST_POINTS: usize = 600;
/// Most repetitions of a variant in the distributions; of more, equally spaced ranks.
const MOST_VALUES: usize = 1_000;
pub(super) const RED: &str = "#b00020";

/// All figures with data.
pub(super) fn figures(sheet: &Sheet<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    if sheet.repetition.is_none() {
        figures.extend([boxes(sheet), distribution(sheet)]);
    }
    if sheet.repetition.is_none() {
        figures.extend([failover::times(sheet), sharing::shares(sheet)]);
    }
    figures.extend([delays(sheet), ccdf(sheet)]);
    figures.extend([events::delivery(sheet), sharing::over_time(sheet)]);
    figures.extend([timeline(sheet), over_time(sheet), calls(sheet)]);
    figures.retain(|figure| figure.sets.iter().any(|(_, traces)| !traces.is_empty()));
    figures
}

pub(super) fn axis(title: &str) -> Value {
    json!({
        "title": {"text": title}, "zeroline": false, "gridcolor": "#e5e5e5", "automargin": true,
        // Not `10k`, which is before a unit with a prefix.
        "exponentformat": "none",
    })
}

/// The axis of these values: logarithmic where they differ by more than a factor of 20, which would
/// hide small ones on a linear axis; else from zero, if requested.
pub(super) fn axis_of(title: &str, values: &[f64], from_zero: bool) -> Value {
    const WIDE: f64 = 20.0;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let mut axis = axis(title);
    if least > 0.0 && most > WIDE * least {
        let ticks = log_ticks(least, most);
        axis["type"] = json!("log");
        axis["ticktext"] = json!(ticks.iter().map(f64::to_string).collect::<Vec<String>>());
        axis["tickvals"] = json!(ticks);
    } else if from_zero {
        axis["rangemode"] = json!("tozero");
    }
    axis
}

/// Values with a label on a logarithmic axis: few enough for a narrow page.
fn log_ticks(least: f64, most: f64) -> Vec<f64> {
    let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let steps: &[i32] = match high - low {
        0..=2 => &[1, 2, 5],
        3 => &[1, 3],
        _ => &[1],
    };
    let decimal = |power: i32, step: &i32| format!("{step}e{power}").parse::<f64>().ok();
    (low..=high).flat_map(|power| steps.iter().filter_map(move |s| decimal(power, s))).collect()
}

pub(super) fn layout(x: &Value, y: &Value) -> Value {
    json!({
        "xaxis": x, "yaxis": y,
        "margin": {"l": 70, "r": 20, "t": 20, "b": 50},
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#222222"},
        // At the bottom of the figure, below the axis for any width of the page. Samples have the
        // width of their lines: thick ones would hide the dashes.
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0,
            "itemsizing": "trace", "itemwidth": 44},
        "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff", "hovermode": "closest",
    })
}

/// The points of a figure that are drawn, and those that are stored.
#[derive(Default)]
pub(super) struct Tally {
    drawn: Cell<usize>,
    stored: Cell<usize>,
}

impl Tally {
    pub(super) fn count(&self, drawn: usize, stored: usize) {
        self.drawn.set(self.drawn.get() + drawn);
        self.stored.set(self.stored.get() + stored);
    }

    /// Words for the caption; empty if all points are drawn.
    pub(super) fn text(&self) -> String {
        let (drawn, stored) = (self.drawn.get(), self.stored.get());
        if drawn >= stored {
            return String::new();
        }
        format!(" Thinned: {drawn} of {stored} points are drawn; series.parquet has all of them.")
    }
}

/// The metric with its unit.
fn metric(sheet: &Sheet<'_>, scale: &Scale) -> String {
    format!("{} [{}]", sheet.report.metric.name().replace('_', " "), scale.unit)
}

fn values(sheet: &Sheet<'_>, runs: &VariantRuns, scale: &Scale) -> Vec<f64> {
    let metric = sheet.report.metric;
    runs.runs
        .iter()
        .filter_map(|run| run.measured(metric))
        .map(|value| scale.shown(value))
        .collect()
}

fn all_values(sheet: &Sheet<'_>, scale: &Scale) -> Vec<f64> {
    sheet.study.variants.iter().flat_map(|runs| values(sheet, runs, scale)).collect()
}

/// At most `MOST_VALUES` of the sorted values, the first and the last among them.
fn ranks(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, most) = (sorted.len(), sorted.len().min(MOST_VALUES));
    let rank = |place: usize| if most < 2 { 0 } else { place * (n - 1) / (most - 1) };
    let point = |rank: usize| (rounded(sorted[rank]), rounded((rank + 1) as f64 / n as f64));
    (0..most).map(rank).map(point).collect()
}

/// Words on the repetitions that are drawn.
fn thinned_values(sheet: &Sheet<'_>) -> String {
    let most = sheet.study.variants.iter().map(|runs| runs.runs.len()).max().unwrap_or(0);
    match most {
        0..=MOST_VALUES => String::new(),
        most => format!(
            " Of {most} repetitions, {MOST_VALUES} of equally spaced ranks are drawn; runs.parquet \
             has all of them."
        ),
    }
}

fn boxes(sheet: &Sheet<'_>) -> Figure {
    let scale = scale(sheet.report.metric, &sheet.report.variants);
    let (mut traces, mut names) = (Vec::new(), Vec::new());
    for runs in &sheet.study.variants {
        let values = values(sheet, runs, &scale);
        let Some(trace) = one_box(sheet, &runs.variant, &values, names.len()) else { continue };
        traces.push(trace);
        names.push(format!("{}<br>n={}", runs.variant.name, values.len()));
    }
    let x = axis_of(&metric(sheet, &scale), &all_values(sheet, &scale), true);
    Figure {
        id: "boxes".to_owned(),
        title: "All repetitions".to_owned(),
        caption: "Median, quartiles, whiskers at 1.5 times the interquartile range, outliers; the \
                  dashed line is the mean."
            .to_owned(),
        height: 90 + 46 * traces.len() as u32,
        choice: VARIANT,
        sets: vec![(String::new(), traces)],
        layout: layout(&x, &rows_axis(&names)),
    }
}

/// The box of a variant in a row; `None` without values. plotly.js would interpolate quartiles in
/// another way than the tables, so it gets them.
fn one_box(sheet: &Sheet<'_>, variant: &Variant, values: &[f64], row: usize) -> Option<Value> {
    let of = Boxed::of(values)?;
    let look = palette::of_variant(sheet.scenario, variant);
    Some(json!({
        "type": "box", "orientation": "h", "y": [row], "x": [of.sample()], "name": variant.name,
        "lowerfence": [of.first], "q1": [of.low], "median": [of.median], "q3": [of.high],
        "upperfence": [of.last], "mean": [mean(values)], "boxmean": true,
        "boxpoints": "outliers", "fillcolor": "#ffffff", "width": 0.55,
        "line": {"color": look.colour, "width": 2}, "showlegend": false,
        "marker": {"color": look.colour, "symbol": look.symbol(), "size": 5},
    }))
}

/// A vertical axis with one row per name, the first at the top.
pub(super) fn rows_axis(names: &[String]) -> Value {
    let mut axis = axis("");
    axis["range"] = json!([names.len() as f64 - 0.5, -0.5]);
    axis["tickvals"] = json!((0..names.len()).collect::<Vec<usize>>());
    axis["ticktext"] = json!(names);
    axis["tickfont"] = json!({"size": 12});
    axis["fixedrange"] = json!(true);
    axis["showgrid"] = json!(false);
    axis
}

fn distribution(sheet: &Sheet<'_>) -> Figure {
    let scale = scale(sheet.report.metric, &sheet.report.variants);
    let of = |runs: &VariantRuns| {
        let points = ranks(&values(sheet, runs, &scale));
        let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        (!x.is_empty()).then(|| steps(runs, sheet, json!(x), json!(y)))
    };
    let traces: Vec<Value> = sheet.study.variants.iter().filter_map(of).collect();
    let x = axis_of(&metric(sheet, &scale), &all_values(sheet, &scale), false);
    let mut y = axis("share of repetitions");
    y["range"] = json!([0, 1.02]);
    Figure {
        id: "cdf".to_owned(),
        title: "Cumulative distribution".to_owned(),
        caption: format!("Share of the repetitions at or below a value.{}", thinned_values(sheet)),
        height: 380,
        choice: VARIANT,
        sets: vec![(String::new(), traces)],
        layout: layout(&x, &y),
    }
}

/// The line of a variant through the steps of a distribution, with a mark at each of few.
fn steps(runs: &VariantRuns, sheet: &Sheet<'_>, x: Value, y: Value) -> Value {
    const MOST_MARKED: usize = 60;
    let look = palette::of_variant(sheet.scenario, &runs.variant);
    let few = x.as_array().is_none_or(|points| points.len() <= MOST_MARKED);
    json!({
        "type": "scatter", "mode": if few { "lines+markers" } else { "lines" }, "x": x, "y": y,
        "name": runs.variant.name,
        "line": {"shape": "hv", "color": look.colour, "dash": look.dash.name(), "width": 2},
        "marker": {"color": look.colour, "symbol": look.symbol(), "size": 6},
    })
}

/// The sets of a figure over time, variants over several paths first.
pub(super) fn sets(
    sheet: &Sheet<'_>,
    traces: impl Fn(&VariantSeries) -> Vec<Value>,
) -> Vec<(String, Vec<Value>)> {
    in_order(sheet).into_iter().map(|series| (name_of(series), traces(series))).collect()
}

/// The variants, those over several paths first.
pub(super) fn in_order<'a>(sheet: &Sheet<'a>) -> Vec<&'a VariantSeries> {
    let mut order: Vec<&VariantSeries> = sheet.series.iter().collect();
    let single = |series: &VariantSeries| {
        let runs = sheet.study.variants.iter().find(|runs| runs.variant.name == series.variant);
        runs.is_some_and(|runs| runs.variant.single_path().is_some())
    };
    order.sort_by_key(|series| single(series));
    order
}

pub(super) fn name_of(series: &VariantSeries) -> String {
    format!("{}, repetition {}", series.variant, series.run)
}

/// Times and values of a series, thinned and packed; with an end the last value lasts until then.
fn points(
    series: &Series,
    end: Option<f64>,
    (most, factor): (usize, f64),
    tally: &Tally,
) -> (Value, Value) {
    let most = most.clamp(LEAST_POINTS, MOST_POINTS);
    let thinned = series.thinned(most);
    tally.count(thinned.points.len(), series.points.len());
    let last = thinned.seconds().last();
    let lasting = end.zip(last).filter(|(end, (at, _))| end > at).map(|(end, (_, y))| (end, y));
    let (x, y): (Vec<f64>, Vec<f64>) =
        thinned.seconds().chain(lasting).map(|(at, value)| (at, value * factor)).unzip();
    (packed_all(x), packed_all(y))
}

/// Time of the last value of all series of a repetition.
fn end_of(all: &[Series]) -> f64 {
    all.iter().filter_map(|series| series.seconds().last()).map(|(at, _)| at).fold(0.0, f64::max)
}

pub(super) fn path_name<'a>(sheet: &'a Sheet<'_>, path: Option<usize>) -> &'a str {
    let path = path.and_then(|index| sheet.scenario.paths.get(index));
    path.map_or("connection", |path| path.name.as_str())
}

/// Arrivals by path over time, and the times in which the reader was blocked by a gap.
fn timeline(sheet: &Sheet<'_>) -> Figure {
    let tally = Tally::default();
    let most = MARKS / sheet.scenario.paths.len().max(1);
    let of = |one: &VariantSeries| {
        let mut traces = Vec::new();
        for series in &one.series {
            match series.quantity {
                Quantity::Arrived => {
                    let look = palette::of_path(series.path.unwrap_or(0));
                    let (x, y) = points(series, None, (most, 1e-6), &tally);
                    traces.push(json!({
                        "type": "scatter", "mode": "markers", "x": x, "y": y,
                        "name": format!("arrived on {}", path_name(sheet, series.path)),
                        "marker": {"color": look.colour, "symbol": look.symbol(), "size": 5},
                    }));
                }
                Quantity::Read => {
                    let (x, y) = points(series, None, (MOST_POINTS, 1e-6), &tally);
                    traces.push(json!({
                        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": "read",
                        "line": {"shape": "hv", "color": BLACK, "width": 1},
                    }));
                }
                Quantity::ReorderBuffer => traces.push(blocked(series, end_of(&one.series))),
                _ => {}
            }
        }
        traces
    };
    let y = axis("position in the stream [MB]");
    let sets = sets(sheet, of);
    Figure {
        id: "timeline".to_owned(),
        title: "Bytes by path".to_owned(),
        caption: format!(
            "Repetition nearest to the median; of several connections, the one that carried most \
             data. Marks above the line of what was read arrived out of order; the red bar at the \
             bottom shows when the reader was blocked by a gap.{}",
            tally.text()
        ),
        height: 440,
        choice: VARIANT,
        sets,
        layout: layout(&axis("time [s]"), &y),
    }
}

/// A bar wherever the reader is blocked by a gap.
fn blocked(series: &Series, end: f64) -> Value {
    let (mut x, mut y): (Vec<Option<f64>>, Vec<Option<f64>>) = (Vec::new(), Vec::new());
    for (from, until) in blocked_times(series.seconds(), end) {
        x.extend([Some(from), Some(until), None]);
        y.extend([Some(0.0), Some(0.0), None]);
    }
    json!({
        "type": "scatter", "mode": "lines", "x": packed(&x), "y": packed(&y),
        "name": "reader blocked by a gap", "connectgaps": false, "line": {"color": RED, "width": 8},
    })
}

/// Beginnings and ends of the periods in which the reorder buffer held something; the last one may
/// last until the end of the run.
fn blocked_times(held: impl Iterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let (mut times, mut since) = (Vec::new(), None);
    for (at, bytes) in held {
        match (since, bytes > 0.0) {
            (None, true) => since = Some(at),
            (Some(start), false) => {
                times.push((start, at));
                since = None;
            }
            _ => {}
        }
    }
    times.extend(since.map(|start| (start, end)));
    times
}

/// The panels of the figure over time: quantity, axis title, factor, description.
const PANELS: [(Quantity, &str, f64, &str); 5] = [
    (Quantity::CongestionWindow, "cwnd<br>[kB]", 1e-3, "congestion window (cwnd)"),
    (Quantity::SmoothedRtt, "srtt<br>[ms]", 1e3, "smoothed round-trip time (srtt)"),
    (Quantity::InFlight, "in flight<br>[segments]", 1.0, "segments in flight"),
    (
        Quantity::Queue,
        "queue<br>[packets]",
        1.0,
        "packets in the bottleneck queue at every arrival",
    ),
    (
        Quantity::ReorderBuffer,
        "reorder buffer<br>[kB]",
        1e-3,
        "bytes in the reorder buffer of the receiver",
    ),
];

/// Whether a variant has this quantity. Datagrams are delivered at once: their reorder buffer is
/// always empty.
fn is_known(sheet: &Sheet<'_>, quantity: Quantity) -> bool {
    let is_datagrams = |one: &VariantSeries| {
        let all = &mut sheet.study.variants.iter();
        let runs = all.find(|runs| runs.variant.name == one.variant);
        runs.is_some_and(|runs| runs.variant.protocol() == Protocol::Udp)
    };
    sheet.series.iter().any(|one| {
        let has = one.series.iter().any(|series| series.quantity == quantity);
        has && !(quantity == Quantity::ReorderBuffer && is_datagrams(one))
    })
}

fn over_time(sheet: &Sheet<'_>) -> Figure {
    let tally = Tally::default();
    let panels: Vec<_> = PANELS.iter().filter(|panel| is_known(sheet, panel.0)).collect();
    let of = |one: &VariantSeries| {
        let is_drawn = |quantity: Quantity| panels.iter().any(|panel| panel.0 == quantity);
        let lines = one.series.iter().filter(|series| is_drawn(series.quantity)).count();
        let most = LINE_POINTS / lines.max(1);
        let end = end_of(&one.series);
        let mut traces = Vec::new();
        for (panel, (quantity, _, factor, _)) in panels.iter().enumerate() {
            for series in one.series.iter().filter(|series| series.quantity == *quantity) {
                // The others are valid until their next value, a queue at an arrival only.
                let end = (*quantity != Quantity::Queue).then_some(end);
                let points = points(series, end, (most, *factor), &tally);
                traces.push(line(sheet, series, panel, points));
            }
        }
        // Not every path has a line in the first panel.
        once_in_the_legend(&mut traces);
        traces
    };
    let sets = sets(sheet, of);
    let mut layout = layout(&axis("time [s]"), &Value::Null);
    layout["grid"] =
        json!({"rows": panels.len(), "columns": 1, "pattern": "coupled", "ygap": 0.12});
    for (panel, (_, title, ..)) in panels.iter().enumerate() {
        let mut axis = axis(title);
        axis["rangemode"] = json!("tozero");
        axis["title"]["font"] = json!({"size": 12});
        layout[axis_name("yaxis", panel)] = axis;
    }
    Figure {
        id: "series".to_owned(),
        title: "Paths over time".to_owned(),
        caption: format!(
            "The same repetition and connection: {}.{}",
            panels.iter().map(|panel| panel.3).collect::<Vec<_>>().join(", "),
            tally.text()
        ),
        height: 100 + 140 * panels.len() as u32,
        choice: VARIANT,
        sets,
        layout,
    }
}

/// `yaxis`, `yaxis2`, ...
pub(super) fn axis_name(axis: &str, panel: usize) -> String {
    if panel == 0 { axis.to_owned() } else { format!("{axis}{}", panel + 1) }
}

fn line(sheet: &Sheet<'_>, series: &Series, panel: usize, (x, y): (Value, Value)) -> Value {
    let black = Look { colour: BLACK, dash: Dash::Solid, marker: Marker::Circle, open: false };
    let look = series.path.map_or(black, palette::of_path);
    let name = path_name(sheet, series.path);
    // A click on a name in the legend hides it in all panels.
    json!({
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "legendgroup": name,
        "xaxis": "x", "yaxis": axis_name("y", panel),
        "line": {"shape": "hv", "color": look.colour, "dash": look.dash.name(), "width": 1.5},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_is_blocked_until_the_buffer_is_empty_or_the_run_ends() {
        let held = [(1.0, 0.0), (2.0, 5.0), (3.0, 9.0), (4.0, 0.0), (6.0, 1.0), (7.0, 2.0)];
        assert_eq!(blocked_times(held.into_iter(), 8.0), [(2.0, 4.0), (6.0, 8.0)]);
        assert_eq!(blocked_times([].into_iter(), 8.0), []);
    }
}

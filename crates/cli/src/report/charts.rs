//! The figures of a study: distributions of the metric, and one representative run over time.
//!
//! Box plots show the median, quartiles, whiskers at 1.5 times the interquartile range, outliers,
//! and n. Nothing is smoothed.

use super::Sheet;
use super::calls::calls;
use super::figure::Figure;
use super::palette::{self, Look};
use super::sharing;
use super::{events, failover};
use lab::series::{Quantity, Series};
use lab::{Scale, VariantRuns, VariantSeries, scale};
use serde_json::{Value, json};

/// Largest number of points of a line; longer ones are thinned.
const MOST_POINTS: usize = 1_200;
/// Largest number of marks of a path in the timeline.
const MOST_MARKS: usize = 3_000;
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
    figures.extend([events::delivery(sheet), sharing::over_time(sheet)]);
    figures.extend([timeline(sheet), over_time(sheet), calls(sheet)]);
    figures.retain(|figure| figure.sets.iter().any(|(_, traces)| !traces.is_empty()));
    figures
}

pub(super) fn axis(title: &str) -> Value {
    json!({"title": {"text": title}, "zeroline": false, "gridcolor": "#e5e5e5", "automargin": true})
}

/// The axis of these values: logarithmic where they differ by more than a factor of 20, which would
/// hide small ones on a linear axis; else from zero, if requested.
pub(super) fn axis_of(title: &str, values: &[f64], from_zero: bool) -> Value {
    const WIDE: f64 = 20.0;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let mut axis = axis(title);
    if least > 0.0 && most > WIDE * least {
        axis["type"] = json!("log");
        axis["dtick"] = json!("D2");
    } else if from_zero {
        axis["rangemode"] = json!("tozero");
    }
    axis
}

pub(super) fn layout(x: &Value, y: &Value) -> Value {
    json!({
        "xaxis": x, "yaxis": y,
        "margin": {"l": 70, "r": 20, "t": 20, "b": 50},
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#222222"},
        // At the bottom of the figure, below the axis for any width of the page.
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0,
            "itemsizing": "constant"},
        "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff", "hovermode": "closest",
    })
}

/// The metric with its unit.
fn metric(sheet: &Sheet<'_>, scale: &Scale) -> String {
    format!("{} [{}]", sheet.report.metric.name().replace('_', " "), scale.unit)
}

fn values(runs: &VariantRuns, scale: &Scale) -> Vec<f64> {
    runs.runs.iter().filter_map(|run| run.value).map(|value| scale.shown(value)).collect()
}

fn all_values(sheet: &Sheet<'_>, scale: &Scale) -> Vec<f64> {
    sheet.study.variants.iter().flat_map(|runs| values(runs, scale)).collect()
}

fn boxes(sheet: &Sheet<'_>) -> Figure {
    let scale = scale(sheet.report.metric, &sheet.report.variants);
    let of = |runs: &VariantRuns| {
        let values = values(runs, &scale);
        let look = palette::of_variant(sheet.scenario, &runs.variant);
        // In two lines, to leave room for the boxes on a narrow page.
        let name = format!("{}<br>n={}", runs.variant.name, values.len());
        (!values.is_empty()).then(|| {
            json!({
                "type": "box", "x": values, "name": name, "boxpoints": "outliers",
                "boxmean": true, "quartilemethod": "linear", "fillcolor": "#ffffff",
                "line": {"color": look.colour, "width": 2}, "showlegend": false,
                "marker": {"color": look.colour, "symbol": look.symbol, "size": 5},
            })
        })
    };
    let traces: Vec<Value> = sheet.study.variants.iter().filter_map(of).collect();
    let mut y = axis("");
    y["autorange"] = json!("reversed");
    let x = axis_of(&metric(sheet, &scale), &all_values(sheet, &scale), true);
    Figure {
        id: "boxes".to_owned(),
        title: "All repetitions".to_owned(),
        caption: "Median, quartiles, whiskers at 1.5 times the interquartile range, outliers; the \
                  dashed line is the mean."
            .to_owned(),
        height: 110 + 46 * traces.len() as u32,
        sets: vec![(String::new(), traces)],
        layout: layout(&x, &y),
    }
}

fn distribution(sheet: &Sheet<'_>) -> Figure {
    let scale = scale(sheet.report.metric, &sheet.report.variants);
    let of = |runs: &VariantRuns| {
        let mut values = values(runs, &scale);
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let shares: Vec<f64> = (1..=values.len()).map(|rank| rank as f64 / n).collect();
        let look = palette::of_variant(sheet.scenario, &runs.variant);
        (!values.is_empty()).then(|| {
            json!({
                "type": "scatter", "mode": "lines+markers", "x": values, "y": shares,
                "name": runs.variant.name,
                "line": {"shape": "hv", "color": look.colour, "dash": look.dash, "width": 2},
                "marker": {"color": look.colour, "symbol": look.symbol, "size": 5},
            })
        })
    };
    let traces: Vec<Value> = sheet.study.variants.iter().filter_map(of).collect();
    let x = axis_of(&metric(sheet, &scale), &all_values(sheet, &scale), false);
    let mut y = axis("share of repetitions");
    y["range"] = json!([0, 1.02]);
    Figure {
        id: "cdf".to_owned(),
        title: "Cumulative distribution".to_owned(),
        caption: "Share of the repetitions at or below a value.".to_owned(),
        height: 420,
        sets: vec![(String::new(), traces)],
        layout: layout(&x, &y),
    }
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

fn points(series: &Series, most: usize, factor: f64) -> (Vec<f64>, Vec<f64>) {
    series.thinned(most).seconds().map(|(at, value)| (at, value * factor)).unzip()
}

pub(super) fn path_name<'a>(sheet: &'a Sheet<'_>, path: Option<usize>) -> &'a str {
    let path = path.and_then(|index| sheet.scenario.paths.get(index));
    path.map_or("connection", |path| path.name.as_str())
}

/// Arrivals by path over time, and the times in which the reader was blocked by a gap.
fn timeline(sheet: &Sheet<'_>) -> Figure {
    let of = |one: &VariantSeries| {
        let mut traces = Vec::new();
        for series in &one.series {
            match series.quantity {
                Quantity::Arrived => {
                    let look = palette::of_path(series.path.unwrap_or(0));
                    let (x, y) = points(series, MOST_MARKS, 1e-6);
                    traces.push(json!({
                        "type": "scatter", "mode": "markers", "x": x, "y": y,
                        "name": format!("arrived on {}", path_name(sheet, series.path)),
                        "marker": {"color": look.colour, "symbol": look.symbol, "size": 5},
                    }));
                }
                Quantity::Read => {
                    let (x, y) = points(series, MOST_POINTS, 1e-6);
                    traces.push(json!({
                        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": "read",
                        "line": {"shape": "hv", "color": "#000000", "width": 1},
                    }));
                }
                Quantity::ReorderBuffer => traces.push(blocked(series)),
                _ => {}
            }
        }
        traces
    };
    let y = axis("position in the stream [MB]");
    Figure {
        id: "timeline".to_owned(),
        title: "Bytes by path".to_owned(),
        caption:
            "Repetition nearest to the median; of several connections, the one that carried most \
                  data. Marks above the black line arrived out of order; the red bar at the bottom \
                  shows when the reader was blocked by a gap. Long series are reduced to the \
                  extremes of equal time bins."
                .to_owned(),
        height: 480,
        sets: sets(sheet, of),
        layout: layout(&axis("time [s]"), &y),
    }
}

/// A bar wherever the reader is blocked by a gap.
fn blocked(series: &Series) -> Value {
    let (mut x, mut y): (Vec<Option<f64>>, Vec<Option<f64>>) = (Vec::new(), Vec::new());
    let mut since = None;
    for (at, held) in series.seconds() {
        match (since, held > 0.0) {
            (None, true) => since = Some(at),
            (Some(start), false) => {
                x.extend([Some(start), Some(at), None]);
                y.extend([Some(0.0), Some(0.0), None]);
                since = None;
            }
            _ => {}
        }
    }
    json!({
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": "reader blocked by a gap",
        "connectgaps": false, "line": {"color": RED, "width": 8},
    })
}

/// The panels of the figure over time: quantity, axis title, factor.
const PANELS: [(Quantity, &str, f64); 5] = [
    (Quantity::CongestionWindow, "cwnd [kB]", 1e-3),
    (Quantity::SmoothedRtt, "srtt [ms]", 1e3),
    (Quantity::InFlight, "in flight [segments]", 1.0),
    (Quantity::Queue, "queue [packets]", 1.0),
    (Quantity::ReorderBuffer, "reorder buffer [kB]", 1e-3),
];

fn over_time(sheet: &Sheet<'_>) -> Figure {
    let of = |one: &VariantSeries| {
        let mut traces = Vec::new();
        for (panel, (quantity, _, factor)) in PANELS.iter().enumerate() {
            for series in one.series.iter().filter(|series| series.quantity == *quantity) {
                traces.push(line(sheet, series, panel, *factor));
            }
        }
        traces
    };
    let mut layout = layout(&axis("time [s]"), &Value::Null);
    layout["grid"] =
        json!({"rows": PANELS.len(), "columns": 1, "pattern": "coupled", "ygap": 0.12});
    for (panel, (_, title, _)) in PANELS.iter().enumerate() {
        let mut axis = axis(title);
        axis["rangemode"] = json!("tozero");
        layout[axis_name("yaxis", panel)] = axis;
    }
    Figure {
        id: "series".to_owned(),
        title: "Paths over time".to_owned(),
        caption: "The same repetition and connection: congestion window, smoothed round-trip time \
                  and segments in flight at the sender, packets in the bottleneck queue at every \
                  arrival, bytes in the reorder buffer of the receiver."
            .to_owned(),
        height: 180 * PANELS.len() as u32,
        sets: sets(sheet, of),
        layout,
    }
}

/// `yaxis`, `yaxis2`, ...
pub(super) fn axis_name(axis: &str, panel: usize) -> String {
    if panel == 0 { axis.to_owned() } else { format!("{axis}{}", panel + 1) }
}

fn line(sheet: &Sheet<'_>, series: &Series, panel: usize, factor: f64) -> Value {
    let (x, y) = points(series, MOST_POINTS, factor);
    let black = Look { colour: "#000000", dash: "solid", symbol: "circle" };
    let look = series.path.map_or(black, palette::of_path);
    let name = path_name(sheet, series.path);
    // Every name is in the legend once, and a click on it hides it in all panels.
    let shown = panel == 0 || series.path.is_none();
    json!({
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "legendgroup": name,
        "showlegend": shown, "xaxis": "x", "yaxis": axis_name("y", panel),
        "line": {"shape": "hv", "color": look.colour, "dash": look.dash, "width": 1.5},
    })
}

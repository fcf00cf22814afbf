//! The figure of a scheduler's calls as 002 draws them (its Fig. 6): the compared value of each
//! path at every call, marks for full windows and for TCP Small Queues, and a line through the
//! chosen paths.

use super::Sheet;
use super::charts::{axis, layout, path_name, sets};
use super::figure::Figure;
use super::palette::{self, Look};
use lab::VariantSeries;
use lab::series::{CallMarks, MOST_CALLS, Quantity, WAITS};
use serde_json::{Value, json};

const BLACK: &str = "#000000";

/// The figure; without sets if nothing was scheduled.
pub(super) fn calls(sheet: &Sheet<'_>) -> Figure {
    let mut sets = sets(sheet, |one| traces(sheet, one));
    // Variants without a scheduler come last.
    while sets.pop_if(|(_, traces)| traces.is_empty()).is_some() {}
    let mut x = axis("scheduler call");
    x["rangemode"] = json!("tozero");
    let mut y = axis("compared value [ms]");
    y["rangemode"] = json!("tozero");
    Figure {
        id: "calls".to_owned(),
        title: "Decisions of the scheduler".to_owned(),
        caption: format!(
            "The same repetition and connection. Every call with data to send is a step to the \
             right; hover for its time. Each path has the value that the scheduler compares: its \
             own prediction or the smoothed round-trip time. Triangle: the congestion window of \
             the path was full; star: the path was limited by TCP Small Queues. The line connects \
             the chosen paths; a cross at the bottom is a call that sent nothing. The first \
             {MOST_CALLS} calls; anabranch explain prints all of them."
        ),
        height: 420,
        sets,
        layout: layout(&x, &y),
    }
}

/// One call.
#[derive(Clone, Copy)]
struct Point {
    number: usize,
    seconds: f64,
    value: f64,
}

fn traces(sheet: &Sheet<'_>, one: &VariantSeries) -> Vec<Value> {
    let of = |quantity, path| {
        one.series.iter().find(|series| (series.quantity, series.path) == (quantity, path))
    };
    let Some(choices) = of(Quantity::CallChoice, None) else { return Vec::new() };
    let mut traces = Vec::new();
    let mut chosen: Vec<Option<Point>> = vec![None; choices.points.len()];
    let mut waits = Vec::new();
    for path in 0..sheet.scenario.paths.len() {
        let series = (of(Quantity::CallCompared, Some(path)), of(Quantity::CallMarks, Some(path)));
        let (Some(compared), Some(marks)) = series else { continue };
        let calls = compared.seconds().zip(&marks.points).zip(&choices.points).enumerate();
        let (mut free, mut full, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (((seconds, value), (_, marks)), (_, choice))) in calls {
            let point = Point { number: index + 1, seconds, value: value * 1e3 };
            if *choice == path as f64 {
                chosen[index] = Some(point);
            }
            let marks = CallMarks::of(*marks);
            match (marks.is_unusable(), marks.is_held_by_small_queue(), marks.is_full()) {
                (true, ..) => {}
                (_, true, _) => held.push(point),
                (_, _, true) => full.push(point),
                _ => free.push(point),
            }
        }
        let look = palette::of_path(path);
        let name = path_name(sheet, Some(path));
        traces.push(dots(&free, name.to_owned(), look, look.symbol, 7));
        traces.push(dots(&full, format!("{name}, window full"), look, "triangle-down-open", 10));
        traces.push(dots(&held, format!("{name}, small queue"), look, "star-open", 11));
    }
    for (index, (seconds, choice)) in choices.seconds().enumerate() {
        if choice == WAITS {
            waits.push(Point { number: index + 1, seconds, value: 0.0 });
        }
    }
    let black = Look { colour: BLACK, dash: "solid", symbol: "x-thin-open" };
    traces.push(dots(&waits, "nothing sent".to_owned(), black, black.symbol, 6));
    traces.retain(|trace| trace["x"].as_array().is_some_and(|points| !points.is_empty()));
    traces.push(line(&chosen));
    traces
}

fn dots(points: &[Point], name: String, look: Look, symbol: &str, size: u32) -> Value {
    let x: Vec<usize> = points.iter().map(|point| point.number).collect();
    let y: Vec<f64> = points.iter().map(|point| point.value).collect();
    let text: Vec<String> = points.iter().map(|point| format!("{:.6} s", point.seconds)).collect();
    json!({
        "type": "scatter", "mode": "markers", "x": x, "y": y, "text": text, "name": name,
        "marker": {"color": look.colour, "symbol": symbol, "size": size}, "cliponaxis": false,
    })
}

/// The line through the chosen paths.
fn line(chosen: &[Option<Point>]) -> Value {
    let points: Vec<&Point> = chosen.iter().flatten().collect();
    let x: Vec<usize> = points.iter().map(|point| point.number).collect();
    let y: Vec<f64> = points.iter().map(|point| point.value).collect();
    json!({
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": "chosen",
        "hoverinfo": "skip", "line": {"color": BLACK, "width": 1},
    })
}

//! The figure of a scheduler's calls as 002 draws them (its Fig. 6): the compared value of each
//! path at every call, marks for full windows and for TCP Small Queues, and a line through the
//! chosen paths.

use super::Sheet;
use super::charts::{Tally, axis, layout, path_name, sets};
use super::draw::packed_all;
use super::figure::{Figure, VARIANT};
use super::palette::{self, BLACK};
use lab::VariantSeries;
use lab::series::{CallMarks, Quantity, WAITS};
use serde_json::{Value, json};

/// Points of all paths of a variant; of longer runs, the first calls are drawn.
const MOST_POINTS: usize = 1_000;

/// The figure; without sets if nothing was scheduled.
pub(super) fn calls(sheet: &Sheet<'_>) -> Figure {
    let tally = Tally::default();
    let most = MOST_POINTS / sheet.scenario.paths.len().max(1);
    let mut sets = sets(sheet, |one| traces(sheet, one, most, &tally));
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
             the chosen paths; a cross at the bottom is a call that sent nothing. The first {most} \
             calls of a variant; anabranch explain prints all of them.{}",
            tally.text()
        ),
        height: 380,
        choice: VARIANT,
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

/// The traces of the first `most` calls.
fn traces(sheet: &Sheet<'_>, one: &VariantSeries, most: usize, tally: &Tally) -> Vec<Value> {
    let of = |quantity, path| {
        one.series.iter().find(|series| (series.quantity, series.path) == (quantity, path))
    };
    let Some(choices) = of(Quantity::CallChoice, None) else { return Vec::new() };
    let mut traces = Vec::new();
    let shown = choices.points.len().min(most);
    tally.count(shown, choices.points.len());
    let mut chosen: Vec<Option<Point>> = vec![None; shown];
    let mut waits = Vec::new();
    for path in 0..sheet.scenario.paths.len() {
        let series = (of(Quantity::CallCompared, Some(path)), of(Quantity::CallMarks, Some(path)));
        let (Some(compared), Some(marks)) = series else { continue };
        let calls =
            compared.seconds().zip(&marks.points).zip(&choices.points).take(shown).enumerate();
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
        traces.push(dots(&free, name.to_owned(), look.colour, &look.symbol(), 7));
        traces.push(dots(
            &full,
            format!("{name}, window full"),
            look.colour,
            "triangle-down-open",
            10,
        ));
        traces.push(dots(&held, format!("{name}, small queue"), look.colour, "star-open", 11));
    }
    for (index, (seconds, choice)) in choices.seconds().take(shown).enumerate() {
        if choice == WAITS {
            waits.push(Point { number: index + 1, seconds, value: 0.0 });
        }
    }
    traces.push(dots(&waits, "nothing sent".to_owned(), BLACK, "x-thin-open", 6));
    traces.retain(|trace| !trace.is_null());
    traces.push(line(&chosen));
    traces
}

fn dots(points: &[Point], name: String, colour: &str, symbol: &str, size: u32) -> Value {
    if points.is_empty() {
        return Value::Null;
    }
    json!({
        "type": "scatter", "mode": "markers", "name": name,
        "x": packed_all(points.iter().map(|point| point.number as f64)),
        "y": packed_all(points.iter().map(|point| point.value)),
        "customdata": packed_all(points.iter().map(|point| point.seconds)),
        "hovertemplate": "%{y:.3f} ms at %{customdata:.4f} s",
        "marker": {"color": colour, "symbol": symbol, "size": size}, "cliponaxis": false,
    })
}

/// The line through the chosen paths.
fn line(chosen: &[Option<Point>]) -> Value {
    let points = || chosen.iter().flatten();
    json!({
        "type": "scatter", "mode": "lines", "name": "chosen",
        "x": packed_all(points().map(|point| point.number as f64)),
        "y": packed_all(points().map(|point| point.value)),
        "hoverinfo": "skip", "line": {"color": BLACK, "width": 1},
    })
}

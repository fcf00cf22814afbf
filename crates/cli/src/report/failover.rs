//! Fail-over times: a table, and the times of all repetitions by event and variant.
//!
//! `docs/results.md` defines fail-over times; `events` shows the goodput around the events.

use super::Sheet;
use super::charts::{axis_name, axis_of, layout, rows_axis};
use super::draw::{packed_all, rounded};
use super::figure::{Figure, VARIANT};
use super::page::{Page, escaped};
use super::palette;
use super::tables::{below, variant};
use lab::Summary;
use lab::failover::{FailoverEvent, Failovers};
use lab::statistics::Interval;
use serde_json::{Value, json};

/// Largest number of events with a panel.
const MOST_PANELS: usize = 8;
/// Largest number of repetitions of a row; of more, each n-th is drawn.
const MOST_DOTS: usize = 120;
/// Heights in pixels of a variant's row, of a panel's heading, and of the margin.
const ROW: u32 = 26;
const HEADING: u32 = 30;
const MARGINS: u32 = 80;

/// The names of all events, those of the variant with most events first.
fn events<'a>(sheet: &'a Sheet<'_>) -> Vec<&'a str> {
    let of = |summary: &'a Summary| summary.failovers.iter().flat_map(|all| &all.events);
    let mut summaries: Vec<&Summary> = sheet.report.variants.iter().collect();
    summaries.sort_by_key(|summary| std::cmp::Reverse(of(summary).count()));
    let mut names: Vec<&str> = Vec::new();
    for event in summaries.into_iter().flat_map(of) {
        if !names.contains(&event.name.as_str()) {
            names.push(&event.name);
        }
    }
    names
}

fn find<'a>(failovers: &'a Failovers, name: &str) -> Option<&'a FailoverEvent> {
    failovers.events.iter().find(|event| event.name == name)
}

/// Table of means with intervals, for the largest time of each run and for every event.
pub(super) fn table(page: &mut Page, sheet: &Sheet<'_>) {
    let events = events(sheet);
    let concerned = |summary: &&Summary| summary.failovers.is_some();
    if !sheet.report.variants.iter().any(|summary| concerned(&summary)) {
        return;
    }
    page.line("<h3>Fail-over</h3>");
    page.line("<div class=\"scroll\"><table id=\"failover-table\">");
    let heads = events.iter().map(|name| format!("<th class=\"n\">{} [s]</th>", heading(name)));
    let heads: String = heads.collect();
    page.line(&format!("<tr><th>variant</th><th class=\"n\">worst [s]</th>{heads}</tr>"));
    for summary in sheet.report.variants.iter().filter(concerned) {
        let Some(failovers) = &summary.failovers else { continue };
        let of = |event: &&str| {
            let event = find(failovers, event);
            event.map_or("-".to_owned(), |event| time(event.mean, event.interval))
        };
        let cells = std::iter::once(worst(failovers)).chain(events.iter().map(of));
        let cells: String = cells.map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
        page.line(&format!("<tr><td>{}</td>{cells}</tr>", variant(sheet, &summary.variant)));
    }
    page.line("</table></div>");
    page.line(
        "<p class=\"small\">The longest time between two deliveries to the application that an \
         event can have caused: means over the repetitions with 95 % intervals (Student t). Worst: \
         the mean of the largest value of each repetition.</p>",
    );
}

/// `silent:wlan@20s` as a heading that can wrap.
fn heading(event: &str) -> String {
    escaped(event).replacen(':', ":<wbr>", 1)
}

fn worst(failovers: &Failovers) -> String {
    let never = failovers.unresumed;
    let never = match never {
        0 => return time(failovers.mean, failovers.interval),
        lost => format!("never in {lost} of {}", lost + failovers.n),
    };
    failovers.mean.map_or(never.clone(), |mean| below(&format!("{mean:.3}"), &never))
}

fn time(mean: Option<f64>, interval: Option<Interval>) -> String {
    let interval = interval.filter(|interval| interval.half_width() > 0.0);
    let interval = interval.map_or(String::new(), |i| format!("{:.3} to {:.3}", i.low, i.high));
    mean.map_or("-".to_owned(), |mean| below(&format!("{mean:.3}"), &interval))
}

/// The rows of an event's panel: variants and their times.
struct Panel<'a> {
    event: &'a str,
    rows: Vec<(&'a Summary, &'a FailoverEvent)>,
}

/// Figure of the times of all repetitions by event and variant.
pub(super) fn times(sheet: &Sheet<'_>) -> Figure {
    let all = events(sheet);
    let panels: Vec<Panel> =
        all.iter().copied().take(MOST_PANELS).map(|event| panel(sheet, event)).collect();
    let height = panels.iter().map(|panel| HEADING + ROW * panel.rows.len() as u32).sum::<u32>();
    let traces = panels.iter().enumerate();
    let traces: Vec<Value> =
        traces.flat_map(|(number, panel)| traces_of(sheet, panel, number)).collect();
    let left_out = match all.len().saturating_sub(MOST_PANELS) {
        0 => String::new(),
        more => format!(" {more} further events are in result.json."),
    };
    let thinned = match sheet.report.runs.div_ceil(MOST_DOTS as u32) {
        0 | 1 => String::new(),
        every => format!(" One of {every} repetitions is drawn; runs.parquet has all of them."),
    };
    Figure {
        id: "failovers".to_owned(),
        title: "Time without delivery after a path failure".to_owned(),
        caption: format!(
            "The longest time between two deliveries that an event can have caused. Every dot is \
             one of {} repetitions ({}), in order from top to bottom; the upright mark is \
             the mean with its 95 % interval (Student t).{thinned}{left_out}",
            sheet.report.runs,
            sheet.seeds(),
        ),
        height: height + MARGINS,
        choice: VARIANT,
        sets: vec![(String::new(), traces)],
        layout: panels_layout(&panels, height),
    }
}

fn panel<'a>(sheet: &Sheet<'a>, event: &'a str) -> Panel<'a> {
    let row = |summary: &'a Summary| Some((summary, find(summary.failovers.as_ref()?, event)?));
    Panel { event, rows: sheet.report.variants.iter().filter_map(row).collect() }
}

fn traces_of(sheet: &Sheet<'_>, panel: &Panel<'_>, number: usize) -> Vec<Value> {
    let mut traces = Vec::new();
    for (place, (summary, event)) in panel.rows.iter().enumerate() {
        let look = palette::of_variant(sheet.scenario, &summary.variant);
        let n = event.times.len();
        let every = n.div_ceil(MOST_DOTS).max(1);
        // From a quarter of a row above its middle for the first repetition to a quarter below for
        // the last.
        let place = place as f64;
        let spread = |run: usize| place + (run as f64 + 0.5) / n.max(1) as f64 * 0.5 - 0.25;
        traces.push(json!({
            "type": "scatter", "mode": "markers", "name": summary.variant.name,
            "x": event.times.iter().step_by(every).map(|time| rounded(*time)).collect::<Vec<_>>(),
            "y": packed_all((0..n).step_by(every).map(spread)),
            "yaxis": axis_name("y", number), "showlegend": false,
            "marker": {"color": look.colour, "symbol": look.symbol(), "size": 5, "opacity": 0.55},
            "hovertemplate": "%{x:.3f} s",
        }));
        traces.extend(mean(event, place, number));
    }
    traces
}

/// The mean with its interval, clipped to a logarithmic axis.
fn mean(event: &FailoverEvent, place: f64, panel: usize) -> Option<Value> {
    let mean = event.mean?;
    let (low, high) = event.interval.map_or((mean, mean), |interval| (interval.low, interval.high));
    Some(json!({
        "type": "scatter", "mode": "markers", "name": format!("mean of {}", event.times.len()),
        "x": [mean], "y": [place], "yaxis": axis_name("y", panel), "showlegend": false,
        "marker": {"color": "#000000", "symbol": "line-ns-open", "size": 12,
            "line": {"width": 2}},
        "error_x": {"type": "data", "symmetric": false, "array": [high - mean],
            "arrayminus": [mean - low], "color": "#000000", "thickness": 1.5, "width": 4},
        "hovertemplate": "%{x:.3f} s",
    }))
}

fn panels_layout(panels: &[Panel<'_>], height: u32) -> Value {
    let rows = panels.iter().flat_map(|panel| &panel.rows);
    let times: Vec<f64> = rows.flat_map(|(_, event)| event.times.iter().copied()).collect();
    let mut x = axis_of("time without delivery [s]", &times, true);
    x["anchor"] = json!(axis_name("y", panels.len().saturating_sub(1)));
    let mut layout = layout(&x, &Value::Null);
    let mut annotations = Vec::new();
    let mut top = height;
    for (number, panel) in panels.iter().enumerate() {
        let rows = panel.rows.len() as u32 * ROW;
        let share = |pixels: u32| f64::from(pixels) / f64::from(height.max(1));
        let (upper, lower) = (share(top - HEADING), share(top - HEADING - rows));
        top -= HEADING + rows;
        layout[axis_name("yaxis", number)] = row_axis(panel, [lower, upper]);
        annotations.push(json!({
            "text": format!("<b>{}</b>", escaped(panel.event)), "showarrow": false,
            "xref": "paper", "x": 0, "xanchor": "left",
            "yref": "paper", "y": upper, "yanchor": "bottom",
        }));
    }
    layout["annotations"] = json!(annotations);
    layout
}

/// One row per variant, the first at the top.
fn row_axis(panel: &Panel<'_>, domain: [f64; 2]) -> Value {
    let names = panel.rows.iter().map(|(summary, _)| summary.variant.name.clone());
    let mut axis = rows_axis(&names.collect::<Vec<String>>());
    axis["domain"] = json!(domain);
    axis
}

//! Rate of each path over time, one strip per variant, with the path events, if there are any,
//! above and behind them.

use super::Sheet;
use super::charts::{RED, Tally, axis, axis_name, in_order, layout, name_of, path_name, rows_axis};
use super::draw::{packed, packed_all};
use super::figure::{Figure, VARIANT};
use super::page::escaped;
use super::palette;
use lab::path_spec::{Change, TimedChange};
use lab::series::{Quantity, Series};
use lab::{Scale, VariantSeries};
use serde_json::{Value, json};

/// Largest number of variants shown.
const MOST_STRIPS: usize = 16;
/// Values of all paths of a variant in its strip; longer runs are averaged.
const MOST_VALUES: usize = 1_000;
/// Least values of a path.
const LEAST_VALUES: usize = 60;
/// Shortest marked time without a read, in seconds: the minimum retransmission time-out of Linux.
const FROZEN: f64 = 0.2;
/// A long run's series is thinned to bins of this share of it, in which short pauses vanish.
const BINS: f64 = 1_500.0;
/// Heights in pixels of a path's lane, of a strip with its heading, of a heading, and of the
/// margin.
const LANE: u32 = 26;
const STRIP: u32 = 92;
const HEADING: u32 = 24;
const MARGINS: u32 = 80;

/// Colours of events by kind, and whether they are shaded; changes of rate or loss are not failures
/// and not shaded.
const KINDS: [(&str, &str, bool); 8] = [
    ("down", "#000000", true),
    ("silent", "#cc79a7", true),
    ("removed", "#d55e00", true),
    ("reset", "#000000", true),
    ("delay", "#009e73", true),
    ("rate", "#aaaaaa", false),
    ("loss", "#777777", false),
    ("backup", "#d9d9d9", false),
];

/// Rates over time, around the events if there are any; without traces in folders of versions that
/// did not store rates.
pub(super) fn delivery(sheet: &Sheet<'_>) -> Figure {
    let has_rates =
        |one: &&VariantSeries| one.series.iter().any(|of| of.quantity == Quantity::Brought);
    let all: Vec<&VariantSeries> = in_order(sheet).into_iter().filter(has_rates).collect();
    let left_out = all.len().saturating_sub(MOST_STRIPS);
    let strips = &all[..all.len() - left_out];
    let end = strips.iter().flat_map(|one| &one.series).filter_map(last).fold(0.0, f64::max);
    let scale = scale(strips);
    let tally = Tally::default();
    let mut traces = Vec::new();
    if !strips.is_empty() {
        traces.extend(lanes(sheet, end));
        for (place, one) in strips.iter().enumerate() {
            traces.extend(strip(sheet, one, place, (&scale, &tally)));
        }
        once_in_the_legend(&mut traces);
    }
    let title = if is_eventful(sheet) {
        "Rate of each path around path events"
    } else {
        "Rate of each path over time"
    };
    Figure {
        id: "delivery".to_owned(),
        title: title.to_owned(),
        caption: caption(sheet, end, left_out, &tally),
        height: MARGINS + rows_height(sheet, strips),
        choice: VARIANT,
        sets: vec![(String::new(), traces)],
        layout: strips_layout(sheet, strips, end, &scale),
    }
}

/// Every name has its first trace in the legend.
pub(super) fn once_in_the_legend(traces: &mut [Value]) {
    let mut seen: Vec<Value> = Vec::new();
    for trace in traces {
        let name = trace["name"].clone();
        trace["showlegend"] = json!(!seen.contains(&name));
        seen.push(name);
    }
}

/// Whether a path has events.
fn is_eventful(sheet: &Sheet<'_>) -> bool {
    sheet.scenario.paths.iter().any(|path| !path.events.is_empty())
}

fn caption(sheet: &Sheet<'_>, end: f64, left_out: usize, tally: &Tally) -> String {
    let events = if is_eventful(sheet) {
        format!(
            " Top: the events of each path. Periods in which a path is down, silent, removed or \
             slow are shaded in its colour; a dotted line is a reset, a red bar a period of at \
             least {:.0} ms in which the application read nothing.",
            FROZEN.max(end / BINS) * 1e3
        )
    } else {
        String::new()
    };
    let more = match left_out {
        0 => String::new(),
        more => format!(" {more} further variants are in series.parquet."),
    };
    format!(
        "For every variant: rate of the bytes that each path delivered first, per 100 ms, stacked; \
         of several connections, the one that carried most data; means of equal times where there \
         are more values than fit.{events} Each variant is shown by the \
         repetition nearest to its median ({}); variants without a finished repetition are \
         omitted.{more}{}",
        sheet.seeds(),
        tally.text()
    )
}

fn last(series: &Series) -> Option<f64> {
    series.seconds().last().map(|(at, _)| at)
}

fn brought(one: &VariantSeries) -> impl Iterator<Item = &Series> {
    one.series.iter().filter(|of| of.quantity == Quantity::Brought)
}

/// Scale of the largest value.
fn scale(strips: &[&VariantSeries]) -> Scale {
    let values = strips.iter().flat_map(|one| brought(one)).flat_map(Series::seconds);
    Scale::of("bit/s", values.map(|(_, bits)| bits).fold(0.0, f64::max))
}

/// End of an event, at most the end of the figure.
fn until(event: &TimedChange, end: f64) -> f64 {
    event.end.map_or(end, |at| at.as_secs_f64().min(end))
}

/// The lanes at the top: a bar for each event, one trace per kind.
fn lanes(sheet: &Sheet<'_>, end: f64) -> Vec<Value> {
    let of_kind = |(kind, colour, _): &(&str, &str, bool)| {
        let (mut x, mut y, mut text) = (Vec::new(), Vec::new(), Vec::new());
        for (lane, path) in sheet.scenario.paths.iter().enumerate() {
            let shown = path.events.iter().filter(|event| event.change.word() == *kind);
            for event in shown.filter(|event| event.start.as_secs_f64() < end) {
                let start = event.start.as_secs_f64();
                let words = escaped(&format!("{}: {event}", path.name));
                match event.change {
                    Change::Reset => x.push(json!(start)),
                    _ => x.extend([json!(start), json!(until(event, end)), Value::Null]),
                }
                y.resize(x.len(), lane);
                text.resize(x.len(), words);
            }
        }
        let mut trace = json!({
            "type": "scatter", "mode": "lines", "x": x, "y": y, "text": text, "name": kind,
            "line": {"color": colour, "width": 9}, "hoverinfo": "text",
        });
        if *kind == "reset" {
            trace["mode"] = json!("markers");
            trace["marker"] = json!({"color": colour, "symbol": "x", "size": 10});
        }
        (!x.is_empty()).then_some(trace)
    };
    KINDS.iter().filter_map(of_kind).collect()
}

/// One variant: its paths stacked, and a red bar where nothing was read.
fn strip(
    sheet: &Sheet<'_>,
    one: &VariantSeries,
    place: usize,
    (scale, tally): (&Scale, &Tally),
) -> Vec<Value> {
    let y = axis_name("y", place + 1);
    let most = (MOST_VALUES / sheet.scenario.paths.len().max(1)).max(LEAST_VALUES);
    let mut traces: Vec<Value> = brought(one)
        .map(|series| {
            let colour = palette::of_path(series.path.unwrap_or(0)).colour;
            let name = path_name(sheet, series.path);
            let (x, values) = averaged(series, most);
            tally.count(x.len(), series.points.len());
            let (x, values) = (packed_all(x), packed_all(values.iter().map(|v| scale.shown(*v))));
            json!({
                "type": "scatter", "mode": "lines", "x": x, "y": values, "yaxis": y,
                "name": name, "legendgroup": name,
                // A value covers the time before it.
                "stackgroup": y, "fillcolor": colour,
                "line": {"shape": "vh", "color": colour, "width": 0},
            })
        })
        .collect();
    if !is_eventful(sheet) {
        return traces;
    }
    let read = one.series.iter().find(|of| of.quantity == Quantity::Read);
    let pauses = read.map(|read| pauses(read, FROZEN));
    let (x, zeros) = pauses.unwrap_or_default();
    let name = "nothing read";
    traces.push(json!({
        "type": "scatter", "mode": "lines", "x": packed(&x), "y": packed(&zeros),
        "yaxis": y, "name": name,
        "legendgroup": name, "connectgaps": false,
        "line": {"color": RED, "width": 6}, "cliponaxis": false, "hoverinfo": "x",
    }));
    traces
}

/// At most `most` means of equal numbers of values.
fn averaged(series: &Series, most: usize) -> (Vec<f64>, Vec<f64>) {
    let all: Vec<(f64, f64)> = series.seconds().collect();
    let each = all.len().div_ceil(most).max(1);
    let mean = |some: &[(f64, f64)]| {
        let at = some.last().map_or(0.0, |(at, _)| *at);
        (at, some.iter().map(|(_, value)| value).sum::<f64>() / some.len() as f64)
    };
    all.chunks(each).map(mean).unzip()
}

/// Lines between readings that are `least` seconds or more apart.
fn pauses(read: &Series, least: f64) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
    let times: Vec<f64> = read.seconds().map(|(at, _)| at).collect();
    let least = least.max(times.last().map_or(0.0, |end| end / BINS));
    let long = times.windows(2).filter(|pair| pair[1] - pair[0] >= least);
    let line = |pair: &[f64]| [Some(pair[0]), Some(pair[1]), None];
    // An empty line keeps its entry in the legend.
    let x: Vec<Option<f64>> = std::iter::once(None).chain(long.flat_map(line)).collect();
    let y = x.iter().map(|at| at.map(|_| 0.0)).collect();
    (x, y)
}

/// Height of the lanes with their heading.
fn lanes_height(sheet: &Sheet<'_>) -> u32 {
    if is_eventful(sheet) { HEADING + LANE * sheet.scenario.paths.len() as u32 } else { 0 }
}

fn rows_height(sheet: &Sheet<'_>, strips: &[&VariantSeries]) -> u32 {
    lanes_height(sheet) + STRIP * strips.len() as u32
}

/// Lanes at the top, strips below them, one time axis.
fn strips_layout(sheet: &Sheet<'_>, strips: &[&VariantSeries], end: f64, scale: &Scale) -> Value {
    let height = f64::from(rows_height(sheet, strips));
    let at = |pixels: u32| 1.0 - f64::from(pixels) / height;
    let mut x = axis("time [s]");
    x["range"] = json!([0, end]);
    x["anchor"] = json!(axis_name("y", strips.len()));
    let mut layout = layout(&x, &Value::Null);
    let above = lanes_height(sheet);
    let mut annotations = Vec::new();
    if above > 0 {
        let names = sheet.scenario.paths.iter().map(|path| path.name.clone());
        let mut lanes = rows_axis(&names.collect::<Vec<String>>());
        lanes["domain"] = json!([at(above), at(HEADING)]);
        layout["yaxis"] = lanes;
        annotations.push(heading("<b>path events</b>", at(HEADING)));
    } else {
        // The axes of the strips have the same numbers with and without lanes.
        layout["yaxis"] = json!({"visible": false, "domain": [1, 1]});
    }
    for (place, one) in strips.iter().enumerate() {
        let top = above + STRIP * place as u32 + HEADING;
        let mut axis = axis("");
        axis["domain"] = json!([at(top + STRIP - HEADING), at(top)]);
        axis["rangemode"] = json!("tozero");
        axis["nticks"] = json!(4);
        // All strips have one scale, so that they can be compared.
        axis["matches"] = json!(if place == 0 { Value::Null } else { json!("y2") });
        layout[axis_name("yaxis", place + 1)] = axis;
        let unit = if place == 0 { format!(" [{}]", scale.unit) } else { String::new() };
        annotations.push(heading(&format!("<b>{}</b>{unit}", escaped(&name_of(one))), at(top)));
    }
    layout["annotations"] = json!(annotations);
    layout["shapes"] = json!(shades(sheet, end, at(above)));
    layout
}

/// A heading, left-aligned above its strip.
fn heading(text: &str, y: f64) -> Value {
    json!({
        "text": text, "showarrow": false, "font": {"size": 12}, "xref": "paper", "x": 0,
        "xanchor": "left", "yref": "paper", "y": y, "yanchor": "bottom",
    })
}

/// Shading behind the strips, in the colour of the failed path.
fn shades(sheet: &Sheet<'_>, end: f64, top: f64) -> Vec<Value> {
    let shading = |event: &&TimedChange| {
        let word = event.change.word();
        KINDS.iter().any(|(kind, _, shades)| *kind == word && *shades)
    };
    let mut shapes = Vec::new();
    for (index, path) in sheet.scenario.paths.iter().enumerate() {
        let colour = palette::of_path(index).colour;
        for event in path.events.iter().filter(shading) {
            let start = event.start.as_secs_f64();
            let mut shape = json!({
                "type": "rect", "yref": "paper", "y0": 0, "y1": top, "layer": "below",
                "x0": start, "x1": until(event, end), "fillcolor": colour, "opacity": 0.15,
                "line": {"width": 0},
            });
            if event.change == Change::Reset {
                shape["type"] = json!("line");
                shape["x1"] = json!(start);
                shape["opacity"] = json!(1);
                shape["line"] = json!({"color": colour, "width": 2, "dash": "dot"});
            }
            if start < end {
                shapes.push(shape);
            }
        }
    }
    shapes
}

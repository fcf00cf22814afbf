//! Competing connections: a table, the share of every variant against TCP, and goodputs over time.

use super::Sheet;
use super::charts::{axis, layout, rows_axis, sets};
use super::draw::packed_all;
use super::figure::{Figure, VARIANT};
use super::page::{Page, escaped};
use super::palette;
use super::tables::{below, variant};
use crate::columns::Column;
use crate::fairness::{INTERVAL, absences, caption, columns, heading, scale};
use crate::output::counted;
use lab::VariantSeries;
use lab::series::{Quantity, Series};
use serde_json::{Value, json};

/// The colour of the compared connection among its competitors.
const MAIN: &str = "#000000";

/// The table of `compare`, with competing flows.
pub(super) fn table(page: &mut Page, sheet: &Sheet<'_>) {
    let columns = columns(sheet.scenario, sheet.report);
    let Some((_, values)) = columns.split_first() else { return };
    // Intervals are below their means.
    let is_interval = |column: &Column| column.heading() == INTERVAL;
    let heads = || values.iter().enumerate().filter(|(_, column)| !is_interval(column));
    page.line("<h3>Sharing</h3>");
    page.line("<div class=\"scroll\"><table id=\"sharing-table\">");
    let headings =
        heads().map(|(_, head)| format!("<th class=\"n\">{}</th>", escaped(head.heading())));
    page.line(&format!("<tr><th>variant</th>{}</tr>", headings.collect::<String>()));
    for (row, summary) in sheet.report.variants.iter().enumerate() {
        let text = |column: &Column| column.cells().get(row).map_or(String::new(), |c| escaped(c));
        let cells = heads().map(|(place, head)| {
            let interval = values.get(place + 1).filter(|next| is_interval(next));
            let cell = below(&text(head), &interval.map_or(String::new(), text));
            format!("<td class=\"n\">{cell}</td>")
        });
        let cells: String = cells.collect();
        page.line(&format!("<tr><td>{}</td>{cells}</tr>", variant(sheet, &summary.variant)));
    }
    page.line("</table></div>");
    for text in std::iter::once(caption(|_| true)).chain(absences(sheet.report)) {
        page.line(&format!("<p class=\"small\">{}</p>", escaped(&text)));
    }
}

/// A mean, its distances to both ends of its interval, and its colour.
struct Bar<'a> {
    name: &'a str,
    mean: f64,
    below: f64,
    above: f64,
    colour: &'static str,
}

/// Figure of the share of every variant against a competing TCP flow.
pub(super) fn shares(sheet: &Sheet<'_>) -> Figure {
    let mut bars: Vec<Bar> = Vec::new();
    for summary in &sheet.report.variants {
        let share = summary.fairness.as_ref().and_then(|fairness| fairness.tcp_share);
        let Some(share) = share else { continue };
        let (below, above) = share
            .interval
            .map_or((0.0, 0.0), |interval| (share.mean - interval.low, interval.high - share.mean));
        let colour = palette::of_variant(sheet.scenario, &summary.variant).colour;
        bars.push(Bar { name: &summary.variant.name, mean: share.mean, below, above, colour });
    }
    let each = |pick: &dyn Fn(&Bar) -> Value| bars.iter().map(pick).collect::<Vec<_>>();
    let trace = json!({
        "type": "bar", "orientation": "h", "showlegend": false,
        "x": each(&|bar| json!(bar.mean)), "y": (0..bars.len()).collect::<Vec<usize>>(),
        "error_x": {"type": "data", "symmetric": false, "color": "#222222",
            "array": each(&|bar| json!(bar.above)),
            "arrayminus": each(&|bar| json!(bar.below))},
        "marker": {"color": each(&|bar| json!(bar.colour)), "opacity": 0.75},
    });
    let mut x = axis("share of TCP");
    x["rangemode"] = json!("tozero");
    let names: Vec<String> = bars.iter().map(|bar| bar.name.to_owned()).collect();
    let mut layout = layout(&x, &rows_axis(&names));
    layout["shapes"] = json!([{
        "type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": MAIN, "dash": "dash", "width": 1.5},
    }]);
    Figure {
        id: "shares".to_owned(),
        title: "Share against TCP".to_owned(),
        caption: format!(
            "The goodput of a variant divided by the mean goodput of the competing TCP flows: mean \
             over {} ({}) with 95 % interval. At the dashed line both are equal; to the right of \
             it the variant gets more.",
            counted(sheet.report.runs, "repetition"),
            sheet.seeds(),
        ),
        height: 90 + 34 * bars.len() as u32,
        choice: VARIANT,
        sets: vec![(String::new(), if bars.is_empty() { Vec::new() } else { vec![trace] })],
        layout,
    }
}

/// Figure of the goodput of every connection per second.
pub(super) fn over_time(sheet: &Sheet<'_>) -> Figure {
    let scale = scale(sheet.report);
    let of = |one: &VariantSeries| -> Vec<Value> {
        // Runs of less than a second have no points.
        let has_points = |of: &&Series| of.quantity == Quantity::Goodput && !of.points.is_empty();
        let goodputs = one.series.iter().filter(has_points);
        let mut lines: Vec<Value> = goodputs
            .map(|series| line(sheet, series, &one.variant, |bits| scale.shown(bits)))
            .collect();
        // Flows of one kind look the same: one entry for all of them.
        for place in 1..lines.len() {
            let again = lines[place]["name"] == lines[place - 1]["name"];
            lines[place]["showlegend"] = json!(!again);
        }
        lines
    };
    let mut y = axis(&format!("goodput [{}]", scale.unit));
    y["rangemode"] = json!("tozero");
    let mut layout = layout(&axis("time [s]"), &y);
    let warm_up = sheet.scenario.warm_up.as_secs_f64();
    if warm_up > 0.0 {
        layout["shapes"] = json!([{
            "type": "rect", "x0": 0, "x1": warm_up, "yref": "paper", "y0": 0, "y1": 1,
            "fillcolor": "#eeeeee", "line": {"width": 0}, "layer": "below",
        }]);
    }
    Figure {
        id: "goodputs".to_owned(),
        title: "Goodput of every connection".to_owned(),
        caption: "Goodput per second in the repetition nearest to the median; the thick line is \
                  the compared connection. At most 16 flows are shown; the shaded warm-up is \
                  excluded from the results."
            .to_owned(),
        height: 380,
        choice: VARIANT,
        sets: sets(sheet, of),
        layout,
    }
}

fn line(sheet: &Sheet<'_>, series: &Series, variant: &str, shown: impl Fn(f64) -> f64) -> Value {
    // A value covers the second before it, the first one, too.
    let first = series.seconds().next().map(|(at, bits)| ((at - 1.0).max(0.0), bits));
    let points = first.into_iter().chain(series.seconds());
    let (x, y): (Vec<f64>, Vec<f64>) = points.map(|(at, bits)| (at, shown(bits))).unzip();
    let (name, kind, colour, width) = match series.path {
        None => (variant.to_owned(), variant.to_owned(), MAIN, 2.5),
        Some(number) => {
            let flows = sheet.scenario.flows.iter().enumerate();
            let mut kinds = flows.flat_map(|(kind, flow)| vec![kind; flow.count as usize]);
            let kind = kinds.nth(number).unwrap_or(0);
            let heading = sheet.scenario.flows.get(kind).map(heading).unwrap_or_default();
            let name = sheet.scenario.flow_names().get(number).cloned().unwrap_or_default();
            (name, heading, palette::of_path(kind).colour, 1.25)
        }
    };
    json!({
        "type": "scatter", "mode": "lines", "x": packed_all(x), "y": packed_all(y),
        "name": kind, "legendgroup": kind,
        "hovertemplate": format!("%{{x}} s: %{{y:.3f}}<extra>{}</extra>", escaped(&name)),
        "line": {"shape": "vh", "color": colour, "width": width},
    })
}

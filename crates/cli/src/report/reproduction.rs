//! The page of a reproduced paper: the table of its claims first, then its figures, interactive.
//!
//! The data of the figures are the lab's; `figure` draws with plotly.js, which the page includes.

use super::boxed::Boxed;
use super::charts::{axis, layout};
use super::draw::packed_all;
use super::figure::{Figure, scripts};
use super::grid;
use super::matrix::MATRIX_STYLE;
use super::page::{escaped, head};
use super::palette::Look;
use super::plotted::{Plot, Plotted};
use crate::table::named_seeds;
use lab::reproduction::{Compared, Differences, Draw, Drawn, Judged, Paper, Row, Series};
use lab::{Scale, percent};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Height of a figure in CSS pixels.
const HEIGHT: u32 = 380;
const CAPTION: &str = "<p class=\"small\">A claim holds where its interval shows it, fails where \
     the interval shows the contrary, and is undecided otherwise. Hard claims follow from the \
     mechanism; soft ones depend on the networks of the authors. Linux 6.18: the same claim with \
     the model of today's kernel.</p>";

/// What made the page, and the seeds of its figures.
fn provenance(drawn: &[&Drawn<'_>]) -> String {
    let groups = drawn.iter().flat_map(|of| &of.groups);
    let seeds: BTreeSet<u64> = groups.map(|group| group.scenario.seed).collect();
    let seeds: Vec<u64> = seeds.into_iter().collect();
    let seeds = if seeds.is_empty() { String::new() } else { format!(", {}", named_seeds(&seeds)) };
    format!("anabranch {}{seeds}", env!("CARGO_PKG_VERSION"))
}

const QUICK: &str = "<p><b>Quick:</b> few repetitions of short runs, a first impression.</p>\n";

/// HTML of the page, of a quick run or of a full one.
pub(crate) fn reproduction_page(
    (paper, is_quick): (&Paper, bool),
    rows: &[&Row<'_>],
    numbers: &[Compared<'_>],
    drawn: &[&Drawn<'_>],
) -> String {
    let title = format!("{} {}", paper.number, paper.title);
    let mut page = head(&title);
    if is_quick {
        page.push_str(QUICK);
    }
    if !rows.is_empty() {
        page.push_str(&table(rows));
        page.push_str(CAPTION);
        page.push_str(&reasons(rows));
    }
    let is_table = |of: &&&Drawn<'_>| of.figure.draw == Draw::Matrix;
    if drawn.iter().any(|of| !is_table(&of)) {
        page.push_str(&scripts());
    }
    if drawn.iter().any(|of| is_table(&of)) {
        page.push_str(&format!("<style>{MATRIX_STYLE}</style>\n"));
    }
    for (number, of) in drawn.iter().enumerate() {
        page.push_str(&match of.figure.draw {
            Draw::Matrix => outcomes(of),
            _ => figure(number, of).html(),
        });
    }
    page.push_str(&stated(numbers));
    page + &format!("<p class=\"small\">{}.</p>\n</body></html>\n", provenance(drawn))
}

/// `yes`, `no` or `undecided`; `not run` where a feature is missing.
pub(crate) fn holds(judged: &Judged) -> &'static str {
    match judged.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None if judged.ours == "not run" => "not run",
        None => "undecided",
    }
}

/// Why a claim does not hold, without the word that is before it.
pub(crate) fn reason(judged: &Judged) -> &str {
    judged.why.strip_prefix("undecided: ").unwrap_or(&judged.why)
}

/// What is assumed of the traffic, with the claims that it concerns.
pub(crate) fn assumptions<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> Vec<String> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        for note in &row.notes {
            all.entry(note).or_default().push(&row.claim.id);
        }
    }
    all.into_iter().map(|(note, ids)| format!("{note} ({})", ids.join(", "))).collect()
}

fn table(rows: &[&Row<'_>]) -> String {
    let has_today = rows.iter().any(|row| row.linux.is_some());
    let today = if has_today { "<th>Linux 6.18</th>" } else { "" };
    let mut html = format!(
        "<div class=\"scroll\"><table><tr><th>id</th><th>kind</th><th>source</th><th>paper</th>\
         <th>ours</th><th>holds?</th>{today}</tr>\n"
    );
    for row in rows {
        let cells = [&row.claim.id, row.claim.kind.name(), &row.claim.source, &row.claim.paper];
        let ours = [&*row.ours.ours, holds(&row.ours)];
        let linux = row.linux.as_ref().map_or("-", holds);
        let all = cells.into_iter().chain(ours).chain(has_today.then_some(linux));
        let cell = |text| format!("<td class=\"wide\">{}</td>", escaped(text));
        let cells: String = all.map(cell).collect();
        html.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    html + "</table></div>\n"
}

/// Why a claim does not hold, its soft parts that do not, and rows of sensitivity.
pub(crate) fn remarks(row: &Row<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if row.ours.holds != Some(true) && !row.ours.why.is_empty() {
        all.push(format!("{}: {}", holds(&row.ours), reason(&row.ours)));
    }
    if let Some(because) = &row.ours.because {
        all.push(format!("why: {because}"));
    }
    for part in row.ours.parts.iter().filter(|part| part.holds != Some(true)) {
        if part.why != row.ours.why {
            let says = part.says.as_deref().unwrap_or("a further part");
            all.push(format!("{says} ({}): {}; {}", part.kind.name(), part.ours, part.why));
        }
    }
    for (says, judged) in &row.sensitivity {
        all.push(format!("with {says}: {}, {}", judged.ours, holds(judged)));
    }
    all
}

/// Why claims do not hold, and what neighbouring values give.
fn reasons(rows: &[&Row<'_>]) -> String {
    let mut items = String::new();
    for row in rows {
        let mut item = |text: &str| {
            items.push_str(&format!("<li>{}: {}</li>\n", row.claim.id, escaped(text)));
        };
        remarks(row).iter().for_each(|remark| item(remark));
    }
    for note in assumptions(rows.iter().copied()) {
        items.push_str(&format!("<li>{}</li>\n", escaped(&note)));
    }
    if items.is_empty() { items } else { format!("<ul class=\"small\">\n{items}</ul>\n") }
}

/// The numbers of the paper beside ours.
fn stated(numbers: &[Compared<'_>]) -> String {
    let Some(differences) = Differences::of(numbers) else { return String::new() };
    let mut html = format!(
        "<h2>Numbers of the paper</h2>\n<p>{}.</p>\n<div class=\"scroll\"><table><tr>\
         <th>source</th><th>number</th><th>experiment</th><th>paper</th><th>ours</th>\
         <th>difference</th></tr>\n",
        capitalised(&differences_of(&differences))
    );
    for of in numbers {
        let texts = [of.source, of.says, of.experiment];
        let texts = texts.map(|text| format!("<td class=\"wide\">{}</td>", escaped(text)));
        let values = [shown(of, of.paper), shown(of, of.ours), difference(of)];
        let values = values.map(|value| format!("<td>{}</td>", escaped(&value)));
        html.push_str(&format!("<tr>{}{}</tr>\n", texts.concat(), values.concat()));
    }
    html + "</table></div>\n"
}

/// `of 84 numbers that it states ours differ by 12 % in the median, by 210 % at most`.
pub(crate) fn differences_of(of: &Differences) -> String {
    let (median, worst) = (percent(of.median), percent(of.worst));
    match of.count {
        1 => format!("of the number that it states ours differs by {worst}"),
        count => format!(
            "of {count} numbers that it states ours differ by {median} in the median, by {worst} \
             at most"
        ),
    }
}

/// A number of the paper, or ours, in the unit that suits the paper's.
pub(crate) fn shown(of: &Compared<'_>, value: f64) -> String {
    Scale::of(&of.unit, of.paper).value(value).trim_end().to_owned()
}

/// `+12 %`.
pub(crate) fn difference(of: &Compared<'_>) -> String {
    let difference = of.difference();
    let sign = if difference < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(difference.abs()))
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// A table of outcomes.
fn outcomes(of: &Drawn<'_>) -> String {
    format!(
        "<h3>{}</h3>\n{}<p class=\"small\">{}. {}</p>\n",
        escaped(&of.name),
        grid::table(&of.cells),
        escaped(&of.figure.caption),
        grid::CAPTION
    )
}

fn figure(number: usize, drawn: &Drawn<'_>) -> Figure {
    let plotted = Plotted::of(drawn);
    let mut value_axis = axis(&plotted.label);
    if plotted.is_log() {
        value_axis["type"] = json!("log");
    } else if drawn.figure.draw != Draw::Box {
        value_axis["rangemode"] = json!("tozero");
    }
    let (x, y) = match drawn.figure.draw {
        Draw::Ccdf | Draw::Packets => {
            let mut shares = axis(plotted.share_label());
            shares["type"] = json!("log");
            (value_axis, shares)
        }
        Draw::Lines => (axis(drawn.figure.x.as_deref().unwrap_or("")), value_axis),
        Draw::Series => (axis("time (s)"), value_axis),
        Draw::Bars | Draw::Box | Draw::Matrix => (axis(""), value_axis),
    };
    let traces = plotted.plots.iter().map(|plot| trace(&plotted, plot)).collect();
    let mut layout = layout(&x, &y);
    match drawn.figure.draw {
        Draw::Bars => layout["barmode"] = json!("group"),
        Draw::Box => layout["boxmode"] = json!("group"),
        Draw::Ccdf | Draw::Lines | Draw::Packets | Draw::Series | Draw::Matrix => {}
    }
    Figure {
        id: format!("figure{number}"),
        title: drawn.name.clone(),
        caption: format!("{}. {}", drawn.figure.caption, says(drawn.figure.draw)),
        height: HEIGHT,
        choice: "",
        sets: vec![(String::new(), traces)],
        layout,
    }
}

const fn says(draw: Draw) -> &'static str {
    match draw {
        Draw::Bars => "Bars: means over the repetitions with 95 % intervals.",
        Draw::Box => "Boxes: quartiles over the repetitions.",
        Draw::Ccdf => "Share of the repetitions above a value.",
        Draw::Lines => "Points: means over the repetitions with 95 % intervals.",
        Draw::Packets => "Share of the packets above a value: means of the repetitions' quantiles.",
        Draw::Series => "The repetition nearest to the median.",
        Draw::Matrix => grid::CAPTION,
    }
}

/// Patterns of bars, and opacities of boxes, that have one colour.
const PATTERNS: [&str; 7] = ["", "/", "x", "-", "|", "+", "."];
const OPACITIES: [f64; 4] = [0.5, 0.0, 0.8, 0.25];

fn trace(plotted: &Plotted<'_>, plot: &Plot<'_>) -> Value {
    let Look { colour, dash, .. } = plot.look;
    let same = plotted.of_colour_before(plot);
    let line = json!({"color": colour, "dash": dash.name(), "width": 1.5});
    let groups = || plot.series.iter().map(|(place, _)| plotted.groups[*place]);
    let means: Vec<(f64, f64, f64)> =
        plot.series.iter().map(|(_, series)| plotted.mean(series)).collect();
    let y: Vec<f64> = means.iter().map(|(mean, ..)| *mean).collect();
    let above: Vec<f64> = means.iter().map(|(mean, _, high)| high - mean).collect();
    let below: Vec<f64> = means.iter().map(|(mean, low, _)| mean - low).collect();
    let error = |colour: &str| {
        json!({"type": "data", "symmetric": false, "array": above, "arrayminus": below,
            "color": colour})
    };
    match plotted.drawn.figure.draw {
        Draw::Bars => json!({"type": "bar", "name": plot.name, "x": groups().collect::<Vec<_>>(),
            "y": y,
            "marker": {"color": colour, "pattern": {"shape": PATTERNS[same % PATTERNS.len()]}},
            "error_y": error("#222222")}),
        Draw::Box => {
            let boxed = |(place, series): &(usize, &Series<'_>)| {
                Some((plotted.groups[*place], Boxed::of(&plotted.shown(series))?))
            };
            let boxes: Vec<(&str, Boxed)> = plot.series.iter().filter_map(boxed).collect();
            let each = |pick: fn(&Boxed) -> Value| {
                boxes.iter().map(|(_, of)| pick(of)).collect::<Vec<_>>()
            };
            json!({"type": "box", "name": plot.name,
                "x": boxes.iter().map(|(group, _)| *group).collect::<Vec<_>>(),
                "lowerfence": each(|of| json!(of.first)), "q1": each(|of| json!(of.low)),
                "median": each(|of| json!(of.median)), "q3": each(|of| json!(of.high)),
                "upperfence": each(|of| json!(of.last)), "y": each(|of| json!(of.sample())),
                "boxpoints": "outliers",
                "line": {"width": 1.2, "color": colour},
                "fillcolor": translucent(colour, OPACITIES[same % OPACITIES.len()]),
                "marker": {"color": colour, "size": 4}})
        }
        Draw::Lines => {
            let x: Vec<f64> = plot.series.iter().map(|(place, _)| plotted.place(*place)).collect();
            json!({"type": "scatter", "mode": "lines+markers", "name": plot.name, "x": x, "y": y,
                "line": line, "marker": {"symbol": plot.look.symbol(), "color": colour, "size": 8},
                "error_y": error(colour)})
        }
        // A table is not a figure of plotly.js.
        Draw::Series | Draw::Matrix => {
            let points = plot.line.map(|line| plotted.points(line)).unwrap_or_default();
            let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            json!({"type": "scatter", "mode": "lines", "name": plot.name,
                "x": packed_all(x), "y": packed_all(y), "line": line})
        }
        Draw::Ccdf | Draw::Packets => {
            let (x, y): (Vec<f64>, Vec<f64>) = plotted.tail(plot).into_iter().unzip();
            let is_steps = plotted.drawn.figure.draw == Draw::Ccdf;
            let mut line = line;
            line["shape"] = json!(if is_steps { "hv" } else { "linear" });
            json!({"type": "scatter", "mode": if is_steps { "lines" } else { "lines+markers" },
                "name": plot.name, "x": x, "y": y, "line": line,
                "marker": {"symbol": plot.look.symbol(), "color": colour, "size": 6}})
        }
    }
}

/// The colour `#rrggbb` with an opacity from 0 to 1.
fn translucent(colour: &str, opacity: f64) -> String {
    let part = |from: usize| {
        let digits = colour.get(from..from + 2).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or_default()
    };
    format!("rgba({},{},{},{opacity})", part(1), part(3), part(5))
}

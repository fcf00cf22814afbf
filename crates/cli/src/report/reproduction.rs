//! The page of a reproduced paper: the table of its claims first, then its figures, interactive.
//!
//! The data of the figures are the lab's; `figure` draws with plotly.js, which the page includes.

use super::charts::layout;
use super::figure::{Figure, scripts};
use super::page::{escaped, head};
use lab::reproduction::{Compared, Differences, Draw, Drawn, Judged, Paper, Row, Series};
use lab::{Scale, percent};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Height of a figure in CSS pixels.
const HEIGHT: u32 = 380;
/// Colours of variants in their order (Okabe and Ito), each with another marker.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const MARKERS: [&str; 5] = ["circle", "square", "diamond", "triangle-up", "x"];

const CAPTION: &str = "<p class=\"small\">A claim holds where its interval shows it, fails where \
     the interval shows the contrary, and is undecided otherwise. Hard claims follow from the \
     mechanism; soft ones depend on the networks of the authors. Linux 6.18: the same claim with \
     the model of today's kernel.</p>";

/// HTML of the page.
pub(crate) fn reproduction_page(
    paper: &Paper,
    rows: &[&Row<'_>],
    numbers: &[Compared<'_>],
    drawn: &[&Drawn<'_>],
) -> String {
    let title = format!("{} {}", paper.number, paper.title);
    let mut page = head(&title);
    page.push_str(&table(rows));
    page.push_str(CAPTION);
    page.push_str(&reasons(rows));
    if !drawn.is_empty() {
        page.push_str(&scripts());
    }
    for (number, of) in drawn.iter().enumerate() {
        page.push_str(&figure(number, of).html());
    }
    page.push_str(&stated(numbers));
    page + "</body></html>\n"
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

/// Why claims do not hold, and what neighbouring values give.
fn reasons(rows: &[&Row<'_>]) -> String {
    let mut items = String::new();
    for row in rows {
        let mut item = |text: &str| {
            items.push_str(&format!("<li>{}: {}</li>\n", row.claim.id, escaped(text)));
        };
        if row.ours.holds != Some(true) && !row.ours.why.is_empty() {
            item(&format!("{}: {}", holds(&row.ours), row.ours.why));
        }
        if let Some(because) = &row.ours.because {
            item(&format!("why: {because}"));
        }
        for note in &row.notes {
            item(note);
        }
        for (says, judged) in &row.sensitivity {
            item(&format!("with {says}: {}, {}", judged.ours, holds(judged)));
        }
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

fn figure(number: usize, drawn: &Drawn<'_>) -> Figure {
    let values = drawn.groups.iter().flat_map(|group| &group.series).flat_map(|of| &of.values);
    let least = values.map(|value| value.abs()).filter(|value| *value > 0.0);
    let scale = Scale::of(&drawn.unit, least.fold(f64::INFINITY, f64::min).min(1e9));
    let name = if drawn.metric == "own" { "value" } else { &drawn.metric };
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" [{}]", scale.unit) };
    let value_axis = axis(&format!("{}{unit}", name.replace('_', " ")));
    let (traces, x, y) = match drawn.figure.draw {
        Draw::Ccdf => {
            let mut x = value_axis;
            x["type"] = json!("log");
            let mut y = axis("share above");
            y["type"] = json!("log");
            (ccdf(drawn, &scale), x, y)
        }
        Draw::Lines => {
            (lines(drawn, &scale), axis(drawn.figure.x.as_deref().unwrap_or("")), value_axis)
        }
        Draw::Bars | Draw::Box => (groups(drawn, &scale), axis(""), value_axis),
    };
    let mut layout = layout(&x, &y);
    match drawn.figure.draw {
        Draw::Bars => layout["barmode"] = json!("group"),
        Draw::Box => layout["boxmode"] = json!("group"),
        Draw::Ccdf | Draw::Lines => {}
    }
    Figure {
        id: format!("figure{number}"),
        title: drawn.name.clone(),
        caption: format!("{}.{}", drawn.figure.caption, says(drawn.figure.draw)),
        height: HEIGHT,
        choice: "",
        sets: vec![(String::new(), traces)],
        layout,
    }
}

const fn says(draw: Draw) -> &'static str {
    match draw {
        Draw::Bars => " Bars: means over the repetitions with 95 % intervals.",
        Draw::Box => " Boxes: quartiles over the repetitions.",
        Draw::Ccdf => " Share of the repetitions above a value.",
        Draw::Lines => " Points: means over the repetitions with 95 % intervals.",
    }
}

fn axis(title: &str) -> Value {
    json!({"title": {"text": title}, "gridcolor": "#e5e5e5", "zerolinecolor": "#d9d9d9",
        "automargin": true})
}

/// A variant with its series by experiment.
type OfVariant<'d> = (&'d str, Vec<(&'d str, &'d Series<'d>)>);

/// The series of every variant over the experiments, in the order in which they appear.
fn by_variant<'d>(drawn: &'d Drawn<'_>) -> Vec<OfVariant<'d>> {
    let mut order: Vec<&str> = Vec::new();
    let mut all: BTreeMap<&str, Vec<(&str, &Series<'_>)>> = BTreeMap::new();
    let cases_only = drawn.groups.len() > 1 && {
        let first = drawn.groups[0].name.split('/').next();
        drawn.groups.iter().all(|group| group.name.split('/').next() == first)
    };
    for group in &drawn.groups {
        let name = if cases_only { group.case() } else { group.name };
        for series in &group.series {
            if !order.contains(&series.variant) {
                order.push(series.variant);
            }
            all.entry(series.variant).or_default().push((name, series));
        }
    }
    order.into_iter().filter_map(|name| all.remove_entry(name)).collect()
}

fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

fn marker(number: usize) -> Value {
    json!({"symbol": MARKERS[number % MARKERS.len()], "color": colour(number), "size": 8})
}

/// Means with half-widths of their intervals.
fn means(series: &[(&str, &Series<'_>)], scale: &Scale) -> (Vec<f64>, Vec<f64>) {
    let of = |series: &Series<'_>| {
        let (mean, interval) = series.mean().unwrap_or_default();
        (scale.shown(mean), interval.map_or(0.0, |of| scale.shown(of.half_width())))
    };
    series.iter().map(|(_, series)| of(series)).unzip()
}

/// Bars or boxes, one group for each experiment.
fn groups(drawn: &Drawn<'_>, scale: &Scale) -> Vec<Value> {
    let trace = |(number, (name, series)): (usize, OfVariant<'_>)| {
        if drawn.figure.draw == Draw::Box {
            let points = series.iter().flat_map(|(group, series)| {
                series.values.iter().map(move |value| (*group, scale.shown(*value)))
            });
            let (x, y): (Vec<&str>, Vec<f64>) = points.unzip();
            return json!({"type": "box", "name": name, "x": x, "y": y,
                "marker": {"color": colour(number), "size": 4}});
        }
        let x: Vec<&str> = series.iter().map(|(group, _)| *group).collect();
        let (y, half) = means(&series, scale);
        json!({"type": "bar", "name": name, "x": x, "y": y,
            "marker": {"color": colour(number)},
            "error_y": {"type": "data", "array": half, "color": "#222222"}})
    };
    by_variant(drawn).into_iter().enumerate().map(trace).collect()
}

/// Means over the cases, whose names begin with a number.
fn lines(drawn: &Drawn<'_>, scale: &Scale) -> Vec<Value> {
    let trace = |(number, (name, series)): (usize, OfVariant<'_>)| {
        let x: Vec<Value> = series.iter().map(|(case, _)| place(case)).collect();
        let (y, half) = means(&series, scale);
        json!({"type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": y,
            "line": {"color": colour(number)}, "marker": marker(number),
            "error_y": {"type": "data", "array": half, "color": colour(number)}})
    };
    by_variant(drawn).into_iter().enumerate().map(trace).collect()
}

/// The number at the beginning of the name of a case, or else the name.
fn place(case: &str) -> Value {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let digits: String = case.chars().take_while(|c| is_part(*c)).collect();
    digits.parse::<f64>().map_or_else(|_| json!(case), |number| json!(number))
}

/// Share of the repetitions above each value, for every experiment and variant.
fn ccdf(drawn: &Drawn<'_>, scale: &Scale) -> Vec<Value> {
    let all = drawn.groups.iter().flat_map(|group| {
        group
            .series
            .iter()
            .map(move |series| (format!("{} {}", group.name, series.variant), series))
    });
    let trace = |(number, (name, series)): (usize, (String, &Series<'_>))| {
        let mut values = series.values.clone();
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let y: Vec<f64> = (0..values.len()).map(|rank| (n - rank as f64) / n).collect();
        let x: Vec<f64> = values.iter().map(|value| scale.shown(*value)).collect();
        json!({"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y,
            "line": {"color": colour(number), "shape": "hv"}})
    };
    all.enumerate().map(trace).collect()
}

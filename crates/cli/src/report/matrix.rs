//! The page of a matrix: one table, whose cells link to the reports of their comparisons.
//!
//! It has no script and loads nothing. What is in a cell is the lab's; `page` has the style of all
//! pages.

use super::page::{STYLE, escaped};
use crate::output::counted;
use lab::Scale;
use lab::results::{GENERATOR, Grade, MatrixCell, MatrixResult};
use lab::scenario::{MatrixPlan, Protocol, Runs};

pub(super) const MATRIX_STYLE: &str = include_str!("matrix.css");

/// A column: a variant over one pair of paths.
pub(crate) struct MatrixColumn {
    /// Name of its protocol, or of its variant, where the protocol has several.
    pub heading: String,
    pair: String,
    protocol: Protocol,
    background: bool,
    variant: String,
}

impl MatrixColumn {
    /// Whether the cell is in this column.
    pub(crate) fn has(&self, cell: &MatrixCell) -> bool {
        let place = &cell.place;
        place.pair == self.pair
            && place.protocol == self.protocol
            && place.background == self.background
            && cell.summary.variant.name == self.variant
    }
}

/// The columns of a pair, in the order of the cells.
pub(crate) fn columns_of(cells: &[MatrixCell], pair: &str) -> Vec<MatrixColumn> {
    let mut columns: Vec<MatrixColumn> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.place.pair == pair) {
        if columns.iter().any(|column| column.has(cell)) {
            continue;
        }
        columns.push(MatrixColumn {
            heading: String::new(),
            pair: pair.to_owned(),
            protocol: cell.place.protocol,
            background: cell.place.background,
            variant: cell.summary.variant.name.clone(),
        });
    }
    let key = |column: &MatrixColumn| (column.protocol, column.background);
    let alike: Vec<usize> = columns
        .iter()
        .map(|column| columns.iter().filter(|other| key(other) == key(column)).count())
        .collect();
    for (column, alike) in columns.iter_mut().zip(alike) {
        let name = if alike == 1 { column.protocol.name() } else { &column.variant };
        let loaded = if column.background { ", background" } else { "" };
        column.heading = format!("{name}{loaded}");
    }
    columns
}

/// Difference and interval as shares of the baseline's mean: `-7.1 %`, `-8.0 to -6.2 %`.
pub(crate) fn figures(cell: &MatrixCell) -> (Option<String>, Option<String>) {
    let Some((difference, interval)) = cell.relative() else { return (None, None) };
    let interval = interval
        .filter(|interval| interval.half_width() > 0.0)
        .map(|of| format!("{} to {} %", signed(of.low), signed(of.high)));
    (Some(format!("{} %", signed(difference))), interval)
}

/// A share in per cent with its sign, without decimals, or with one below ten.
pub(super) fn signed(share: f64) -> String {
    let percent = share * 100.0;
    let text =
        if percent.abs() >= 9.95 { format!("{percent:+.0}") } else { format!("{percent:+.1}") };
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// What the cells of a pair are compared with; `None` if none has a verdict.
pub(crate) fn baseline_of(result: &MatrixResult<'_>, pair: &String) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for cell in result.cells.iter().filter(|cell| cell.place.pair == *pair) {
        let name = cell.summary.baseline.as_deref();
        names.extend(name.filter(|name| !names.contains(name)));
    }
    if names == ["average"] {
        return Some("the average of the single paths".to_owned());
    }
    (!names.is_empty()).then(|| names.join(" or "))
}

/// What the cells of every pair are compared with: `wlan+3g with tcp/wlan/cubic; 3g+3g with the
/// average of the single paths`.
pub(crate) fn baselines(plan: &MatrixPlan, result: &MatrixResult<'_>) -> Option<String> {
    let of = |pair: &String| Some(format!("{pair} with {}", baseline_of(result, pair)?));
    let all: Vec<String> = plan.pairs.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// HTML of the page.
pub(crate) fn matrix_page(plan: &MatrixPlan, result: &MatrixResult<'_>) -> String {
    let mut page = String::new();
    let mut line = |text: &str| {
        page.push_str(text);
        page.push('\n');
    };
    line("<!doctype html>");
    line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
    line(&format!("<meta name={GENERATOR} {}\">", env!("CARGO_PKG_VERSION")));
    line("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    line("<meta name=\"color-scheme\" content=\"light dark\">");
    line("<title>Traffic by paths and protocols</title>");
    line(&format!("<style>{STYLE}{MATRIX_STYLE}</style></head><body>"));
    line("<h1>Traffic by paths and protocols</h1>");
    line(&format!("<p>{}</p>", introduction(plan, result)));
    if result.interrupted {
        line("<p class=\"warning\">Interrupted: only the finished cells are shown.</p>");
    }
    line(&legend(result.cells));
    line("<div class=\"scroll\"><table class=\"matrix\">");
    let columns: Vec<(&String, Vec<MatrixColumn>)> =
        plan.pairs.iter().map(|pair| (pair, columns_of(result.cells, pair))).collect();
    line(&head(&columns));
    for row in &plan.traffic {
        line(&format!("<tr><th scope=\"row\">{}</th>", escaped(row)));
        for column in columns.iter().flat_map(|(_, columns)| columns) {
            let is_it = |cell: &&MatrixCell| cell.place.traffic == *row && column.has(cell);
            let cell = result.cells.iter().find(is_it);
            line(&cell.map_or("<td></td>".to_owned(), html));
        }
        line("</tr>");
    }
    line("</table></div>");
    line(CAPTION);
    if result.cells.iter().any(|cell| cell.place.reported.is_some()) {
        line(REPORTED);
    }
    line("<h2>Resolved paths</h2>\n<div class=\"scroll\"><table class=\"paths\">");
    for (name, spec) in &plan.described {
        let (name, spec) = (escaped(name), escaped(spec));
        line(&format!("<tr><th>{name}</th><td><code>{spec}</code></td></tr>"));
    }
    line("</table></div>");
    for note in result.notes {
        line(&format!("<p class=\"small\">Note: {}.</p>", escaped(note.trim_end_matches('.'))));
    }
    let hash = result.hash();
    line(&format!(
        "<p class=\"small\">anabranch {}. Result hash: <code class=\"hash\">{hash}</code></p>",
        env!("CARGO_PKG_VERSION")
    ));
    line("</body></html>");
    page
}

const CAPTION: &str = "<p class=\"small\">A cell has the outcome of several paths at once, the \
     difference from the baseline's mean and the 95 % interval that decides, both as shares of \
     that mean; of times, less is a gain. A cell links to its comparison, with the same \
     numbers.</p>";

const REPORTED: &str = "<p class=\"small\">000: what the text of paper 000 says of the cell, where \
     it does; \u{2260} where the classes differ. Its stack and its network are not all those of \
     this matrix.</p>";

fn introduction(plan: &MatrixPlan, result: &MatrixResult<'_>) -> String {
    let runs = match result.scenario.runs {
        Runs::Fixed(1) => "1 repetition".to_owned(),
        Runs::Fixed(runs) => format!("{runs} repetitions"),
        Runs::Auto { most } => format!("up to {most} repetitions"),
    };
    let baselines = baselines(plan, result);
    let baselines = baselines.map(|of| format!(" Compared: {}.", escaped(&of)));
    let goal = result.scenario.goal.as_ref();
    let goal = goal.map(|goal| format!(" Goal: {}.", escaped(&goal.to_string())));
    format!(
        "Several paths at once compared with single ones: {runs} of each variant, seed {}; a \
         difference of {} of the baseline's mean matters.{}{}",
        result.scenario.seed,
        lab::percent(result.scenario.matters.0),
        baselines.unwrap_or_default(),
        goal.unwrap_or_default()
    )
}

/// The classes with their colours; those without a verdict only where a cell has none.
fn legend(cells: &[MatrixCell]) -> String {
    let is_usual = |grade: &Grade| *grade <= Grade::Undecided;
    let is_shown =
        |grade: &&Grade| is_usual(grade) || cells.iter().any(|cell| cell.grade() == **grade);

    let meaning = |grade: Grade| match grade {
        Grade::SignificantGain => "pays off, by more than 10 %",
        Grade::SlightGain => "pays off",
        Grade::None => "no difference that matters",
        Grade::Degraded => "hurts",
        Grade::Undecided => "the interval leaves several classes open",
        Grade::NotKnown => "what no run has shown yet may change the class",
        Grade::NoVerdict => "too many runs are incomplete",
    };
    let item = |grade: &Grade| {
        let (class, name) = (outcome(*grade), grade.name());
        format!("<li><span class=\"key {class}\">{name}</span> {}</li>", meaning(*grade))
    };
    let items: Vec<String> = Grade::ALL.iter().filter(is_shown).map(item).collect();
    format!("<ul class=\"legend\">{}</ul>", items.join(""))
}

fn head(columns: &[(&String, Vec<MatrixColumn>)]) -> String {
    let shown = || columns.iter().filter(|(_, columns)| !columns.is_empty());
    let pairs = shown().map(|(pair, columns)| {
        let (span, pair) = (columns.len(), escaped(pair));
        format!("<th scope=\"colgroup\" colspan=\"{span}\">{pair}</th>")
    });
    let names = shown().flat_map(|(_, columns)| columns);
    let names = names.map(|column| format!("<th scope=\"col\">{}</th>", escaped(&column.heading)));
    format!(
        "<tr><td rowspan=\"2\"></td>{}</tr>\n<tr>{}</tr>",
        pairs.collect::<String>(),
        names.collect::<String>()
    )
}

fn html(cell: &MatrixCell) -> String {
    let grade = cell.grade();
    let (difference, interval) = figures(cell);
    let goal = cell.goal.map_or(String::new(), |goal| format!("<i>goal {}</i>", goal.name()));
    let reported = cell.place.reported.map_or(String::new(), |of| {
        let sign = if cell.agrees() == Some(false) { " \u{2260}" } else { "" };
        format!("<i title=\"000 {}\">000: {}{sign}</i>", of.source, of.class)
    });
    format!(
        "<td class=\"{}\"><a href=\"{}/report.html\" title=\"{}\"><b>{}</b>{}<i>{}</i>{goal}\
         {reported}</a></td>",
        outcome(grade),
        escaped(&cell.place.folder),
        escaped(&means(cell)),
        grade.name(),
        difference.unwrap_or_default(),
        interval.unwrap_or_default(),
    )
}

/// `mptcp/linux/cubic 35.8 ms, average 50.5 ms; 128 runs`.
fn means(cell: &MatrixCell) -> String {
    let (mean, reference) = (cell.summary.mean, cell.baseline_mean());
    let smallest = [mean, reference].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let scale = Scale::of(cell.metric.unit(), if smallest.is_finite() { smallest } else { 0.0 });
    let value = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| scale.value(mean));
    format!(
        "{}: {} {}, {} {}; {}",
        cell.metric.info().heading,
        cell.summary.variant.name,
        value(mean),
        cell.summary.baseline.as_deref().unwrap_or("baseline"),
        value(reference),
        counted(cell.summary.n, "run")
    )
}

/// Class of the style.
pub(super) const fn outcome(grade: Grade) -> &'static str {
    match grade {
        Grade::SignificantGain => "significant-gain",
        Grade::SlightGain => "slight-gain",
        Grade::None => "no-gain",
        Grade::Degraded => "degraded",
        Grade::Undecided => "hatched",
        Grade::NotKnown | Grade::NoVerdict => "hatched unknown",
    }
}

//! The table of a matrix: for each pair of paths a row per traffic and a column per protocol; in
//! Markdown one table.

use crate::columns::{Column, Table};
use crate::output::{Screen, counted};
use crate::report::{baseline_of, baselines, columns_of, figures};
use lab::results::{Grade, MatrixCell, MatrixResult};
use lab::scenario::{MatrixPlan, Reported, Runs};

/// Text output.
pub(super) fn text(plan: &MatrixPlan, result: &MatrixResult<'_>, screen: Screen) -> String {
    let mut text = String::new();
    screen.wrap(&mut text, "", &heading(plan, result), "");
    for pair in &plan.pairs {
        let rows: Vec<&String> = with_cells(plan, result, Some(pair));
        if rows.is_empty() {
            continue;
        }
        text.push('\n');
        screen.wrap(&mut text, "", &format!("{pair}{}", against(result, pair)), "1");
        text.push_str(&table(result, &rows, &[pair]).render(screen.of_tables()));
    }
    text.push('\n');
    screen.wrap(&mut text, "", CAPTION, "2");
    if let Some(reported) = reported(result) {
        text.push('\n');
        text.push_str(&reported.render(screen.of_tables()));
        text.push('\n');
    }
    for note in result.notes {
        screen.wrap(&mut text, "note: ", note, "");
    }
    text.push('\n');
    screen.wrap(&mut text, "", &summary(result), "1");
    text
}

const CAPTION: &str = "Difference from the baseline's mean, and its 95 % interval, which decides; \
     of times, less is a gain.";

/// One table in Markdown.
pub(super) fn markdown(plan: &MatrixPlan, result: &MatrixResult<'_>) -> String {
    let pairs: Vec<&String> = plan.pairs.iter().collect();
    let rows = with_cells(plan, result, None);
    let reported = reported(result).map_or(String::new(), |of| format!("\n{}", of.markdown()));
    let table = table(result, &rows, &pairs).markdown();
    let compared = baselines(plan, result).map_or(String::new(), |of| format!("Compared: {of}\n"));
    let goal = goal(result).map_or(String::new(), |goal| format!("Goal: {goal}\n"));
    let about = format!("{compared}{goal}");
    let about = if about.is_empty() { about } else { format!("\n{about}") };
    format!("{table}{about}{reported}\n{}\n", summary(result))
}

fn goal(result: &MatrixResult<'_>) -> Option<String> {
    result.scenario.goal.as_ref().map(ToString::to_string)
}

fn heading(plan: &MatrixPlan, result: &MatrixResult<'_>) -> String {
    let several = |number: usize, one: &str, more: &str| {
        format!("{number} {}", if number == 1 { one } else { more })
    };
    let runs = match result.scenario.runs {
        Runs::Fixed(runs) => counted(runs, "run"),
        Runs::Auto { most } => format!("up to {}", counted(most, "run")),
    };
    let protocols: Vec<&str> = plan.protocols.iter().map(|protocol| protocol.name()).collect();
    let interrupted = if result.interrupted { " (interrupted)" } else { "" };
    format!(
        "{} over {}, {}; {runs}{interrupted}, seed {}{}",
        several(plan.traffic.len(), "traffic model", "traffic models"),
        several(plan.pairs.len(), "pair of paths", "pairs of paths"),
        protocols.join(" and "),
        result.scenario.seed,
        goal(result).map_or(String::new(), |goal| format!("; goal {goal}"))
    )
}

/// Rows with a finished cell.
fn with_cells<'a>(
    plan: &'a MatrixPlan,
    result: &MatrixResult<'_>,
    pair: Option<&String>,
) -> Vec<&'a String> {
    let is_of = |cell: &MatrixCell, row: &String| {
        cell.place.traffic == *row && pair.is_none_or(|pair| cell.place.pair == *pair)
    };
    let has = |row: &&String| result.cells.iter().any(|cell| is_of(cell, row));
    plan.traffic.iter().filter(has).collect()
}

/// What the cells of a pair are compared with; empty if none has a verdict.
fn against(result: &MatrixResult<'_>, pair: &String) -> String {
    baseline_of(result, pair).map_or(String::new(), |name| format!(", compared with {name}"))
}

fn table(result: &MatrixResult<'_>, rows: &[&String], pairs: &[&String]) -> Table {
    let names = rows.iter().map(|row| (*row).clone()).collect();
    let mut columns = vec![Column::new("traffic", false, 0, names)];
    for pair in pairs {
        for column in columns_of(result.cells, pair) {
            let found = |row: &&String| {
                let is_it = |cell: &&MatrixCell| cell.place.traffic == **row && column.has(cell);
                result.cells.iter().find(is_it)
            };
            let cells: Vec<Option<&MatrixCell>> = rows.iter().map(found).collect();
            let texts = cells.iter().map(|cell| cell.map_or(String::new(), shown)).collect();
            let heading = if pairs.len() > 1 {
                format!("{pair} {}", column.heading)
            } else {
                column.heading.clone()
            };
            let mut column = Column::new(heading, false, 0, texts);
            column.styles = cells.iter().map(|cell| cell.map_or("", style)).collect();
            columns.push(column);
        }
    }
    Table { columns }
}

/// The cells of which paper 000 says something, and whether they agree.
fn reported(result: &MatrixResult<'_>) -> Option<Table> {
    let of_paper: Vec<(&MatrixCell, Reported)> =
        result.cells.iter().filter_map(|cell| Some((cell, cell.place.reported?))).collect();
    let column = |heading: &str, text: &dyn Fn(&MatrixCell, Reported) -> String| {
        let cells = of_paper.iter().map(|(cell, of)| text(cell, *of)).collect();
        Column::new(heading, false, 0, cells)
    };
    let is_alone = |cell: &MatrixCell| {
        result.cells.iter().filter(|other| other.place == cell.place).count() == 1
    };
    let name = |cell: &MatrixCell| match is_alone(cell) {
        true => cell.place.protocol.name().to_owned(),
        false => cell.summary.variant.name.clone(),
    };
    let agreement = |cell: &MatrixCell| match cell.agrees() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let columns = vec![
        column("paper 000", &|cell, _| cell.place.traffic.clone()),
        column("paths", &|cell, _| cell.place.pair.clone()),
        column("protocol", &|cell, _| name(cell)),
        column("there", &|_, of| of.class.to_owned()),
        column("here", &|cell, _| cell.grade().name().to_owned()),
        column("agrees", &|cell, _| agreement(cell).to_owned()),
        column("section", &|_, of| of.source.to_owned()),
    ];
    (!of_paper.is_empty()).then_some(Table { columns })
}

/// `slight gain -7.1 % (-8.0 to -6.2 %)`.
fn shown(cell: &MatrixCell) -> String {
    let (difference, interval) = figures(cell);
    let goal = cell.goal.map_or(String::new(), |goal| format!("; goal {}", goal.name()));
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    let difference = difference.map_or(String::new(), |difference| format!(" {difference}"));
    format!("{}{difference}{interval}{goal}", cell.grade().name())
}

/// Colours nearest to Okabe and Ito's green, orange and yellow among the sixteen of terminals.
fn style(cell: &MatrixCell) -> &'static str {
    match cell.grade() {
        Grade::SignificantGain => "1;32",
        Grade::SlightGain => "32",
        Grade::None => "",
        Grade::Degraded => "31",
        Grade::Undecided | Grade::NotKnown | Grade::NoVerdict => "33",
    }
}

/// `30 cells: 9 significant gain, 8 none, 13 degraded`.
pub(super) fn summary(result: &MatrixResult<'_>) -> String {
    let count = |grade: &Grade| {
        let number = result.cells.iter().filter(|cell| cell.grade() == *grade).count();
        (number > 0).then(|| format!("{number} {}", grade.name()))
    };
    let counts: Vec<String> = Grade::ALL.iter().filter_map(count).collect();
    let number = u32::try_from(result.cells.len()).unwrap_or(u32::MAX);
    format!("{}: {}", counted(number, "cell"), counts.join(", "))
}

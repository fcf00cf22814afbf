//! The claims as a table, in text and Markdown, and the list of what can be reproduced.

use super::spent::purpose;
use crate::columns::{Column, Table};
use crate::output::{Screen, counted};
use crate::report::{assumptions, difference, differences_of, holds, reason, shown};
use lab::InputError;
use lab::reproduction::{
    Column as Kernel, Compared, Cost, Costs, Differences, Judged, Kind, Plan, Row, figure_name,
    table_name,
};
use std::fmt::Write;

/// The numbers of papers that were compared, by the number of the paper.
pub(super) type Numbers<'a> = Vec<OfPaper<'a>>;

/// The number of a paper, and its numbers that were compared.
pub(super) type OfPaper<'a> = (&'a str, Vec<Compared<'a>>);

/// In place of the table where a selection has figures only.
const NO_CLAIM: &str = "no claim is selected; figures are drawn in the folder of `--out`\n";

/// Text output: selected tables, then claims.
pub(super) fn text(
    rows: &[Row<'_>],
    (numbers, tables): (&Numbers<'_>, &[OfPaper<'_>]),
    screen: Screen,
) -> String {
    let mut text = String::new();
    for (_, of) in tables.iter().filter(|(_, of)| !of.is_empty()) {
        text.push_str(&numbers_of(of).render(screen.of_tables()));
        text.push('\n');
    }
    if !rows.is_empty() {
        claims(&mut text, rows, screen);
    }
    if text.is_empty() {
        return NO_CLAIM.to_owned();
    }
    for (paper, all) in numbers {
        if let Some(differences) = Differences::of(all) {
            screen.wrap(&mut text, &format!("{paper}: "), &differences_of(&differences), "");
        }
    }
    if !rows.is_empty() {
        text.push('\n');
        screen.wrap(&mut text, "", &summary(rows), "1");
    }
    text
}

/// The table of claims, and why those do not hold that do not.
fn claims(text: &mut String, rows: &[Row<'_>], screen: Screen) {
    text.push_str(&table(rows).render(screen.of_tables()));
    text.push('\n');
    for row in rows {
        if row.ours.holds != Some(true) && !row.ours.why.is_empty() {
            let holds = holds(&row.ours);
            let why = reason(&row.ours);
            screen.wrap(text, &format!("{} ({holds}): ", row.claim.id), why, "");
        }
        if let Some(because) = &row.ours.because {
            screen.wrap(text, &format!("{} why: ", row.claim.id), because, "");
        }
        for (says, judged) in &row.sensitivity {
            let content = format!("{says}: {}, {}", judged.ours, holds(judged));
            screen.wrap(text, &format!("{} with ", row.claim.id), &content, "2");
        }
    }
    for note in assumptions(rows.iter()) {
        screen.wrap(text, "note: ", &note, "");
    }
}

/// The numbers of a paper beside ours.
pub(super) fn numbers_of(all: &[Compared<'_>]) -> Table {
    let each = |cell: &dyn Fn(&Compared<'_>) -> String| all.iter().map(cell).collect();
    let value = |of: &Compared<'_>, value: f64| shown(of, value);
    let columns = vec![
        Column::new("source", false, 1, each(&|of| of.source.to_owned())),
        Column::new("number", false, 0, each(&|of| of.says.to_owned())),
        Column::new("experiment", false, 2, each(&|of| of.experiment.to_owned())),
        Column::new("paper", true, 0, each(&|of| value(of, of.paper))),
        Column::new("ours", true, 0, each(&|of| value(of, of.ours))),
        Column::new("difference", true, 0, each(&|of| difference(of))),
    ];
    Table { columns }
}

/// The same tables in Markdown.
pub(super) fn markdown(rows: &[Row<'_>], tables: &[OfPaper<'_>]) -> String {
    let mut text = String::new();
    for (_, of) in tables.iter().filter(|(_, of)| !of.is_empty()) {
        text.push_str(&numbers_of(of).markdown());
        text.push('\n');
    }
    if !rows.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\n{}", table(rows).markdown(), summary(rows));
    }
    if text.is_empty() { NO_CLAIM.to_owned() } else { text }
}

/// `43 studies, 4680 runs, about 12.3 million packets and 40 CPU seconds`.
fn costs(cost: &Cost) -> String {
    let studies = if cost.studies == 1 { "study" } else { "studies" };
    let counts = format!("{} {studies}, {}", cost.studies, counted(cost.runs, "run"));
    match estimate(cost) {
        Some(estimate) => format!("{counts}, about {estimate}"),
        None => counts,
    }
}

/// `12.3 million packets and 40 CPU seconds`; `None` where it is not known.
fn estimate(cost: &Cost) -> Option<String> {
    let (packets, seconds) = (cost.packets / 1e6, cost.seconds.ceil());
    let plural = if seconds == 1.0 { "" } else { "s" };
    let text = format!("{packets:.1} million packets and {seconds} CPU second{plural}");
    (cost.unknown == 0).then_some(text)
}

/// The table with a row for each claim.
fn table(rows: &[Row<'_>]) -> Table {
    of_paper(&rows.iter().collect::<Vec<_>>())
}

/// The same of some of the rows.
pub(super) fn of_paper(rows: &[&Row<'_>]) -> Table {
    let each = |cell: &dyn Fn(&Row<'_>) -> String| {
        rows.iter().map(|row| cell(row)).collect::<Vec<String>>()
    };
    let mut holding = Column::new("holds?", false, 0, each(&|row| holds(&row.ours).to_owned()));
    holding.styles = rows.iter().map(|row| style(&row.ours)).collect();
    let mut columns = vec![
        Column::new("id", false, 0, each(&|row| row.claim.id.clone())),
        Column::new("kind", false, 3, each(&|row| row.claim.kind.name().to_owned())),
        Column::new("paper", false, 0, each(&|row| row.claim.paper.clone())),
        Column::new("ours", false, 0, each(&|row| row.ours.ours.clone())),
        holding,
    ];
    if rows.iter().any(|row| row.linux.is_some()) {
        let today = each(&|row| row.linux.as_ref().map_or("-", |of| holds(of)).to_owned());
        columns.push(Column::new("Linux 6.18", false, 1, today));
    }
    Table { columns }
}

fn style(judged: &Judged) -> &'static str {
    match judged.holds {
        Some(true) => "32",
        Some(false) => "31",
        None => "33",
    }
}

/// `Hard claims: 40 of 48 hold, 2 fail, 6 are undecided or not run. Soft claims: ...`
pub(super) fn summary(rows: &[Row<'_>]) -> String {
    let of = |(kind, name): (Kind, &str)| {
        let own = rows.iter().filter(|row| row.claim.kind == kind);
        let all: Vec<Option<bool>> = own.map(|row| row.ours.holds).collect();
        let count = |holds| all.iter().filter(|of| **of == holds).count();
        let (yes, no, open) = (count(Some(true)), count(Some(false)), count(None));
        let (hold, fail, are) = (
            if yes == 1 { "holds" } else { "hold" },
            if no == 1 { "fails" } else { "fail" },
            if open == 1 { "is" } else { "are" },
        );
        let counts = format!("{yes} of {} {hold}, {no} {fail}, {open} {are} undecided", all.len());
        (!all.is_empty()).then(|| format!("{name} claims: {counts} or not run."))
    };
    let kinds = [(Kind::Hard, "Hard"), (Kind::Soft, "Soft")];
    kinds.into_iter().filter_map(of).collect::<Vec<String>>().join(" ")
}

/// The list of papers, figures and claims, with what they cost.
pub(super) fn list(plan: &Plan, screen: Screen) -> Result<String, InputError> {
    let mut text = String::new();
    let all = plan.costs()?;
    for (number, paper) in plan.papers.iter().enumerate() {
        let tables = plan.tables.iter().map(|(paper, _)| paper);
        let others = plan.claims.iter().chain(&plan.figures).map(|(paper, _)| paper);
        if !others.chain(tables).any(|paper| *paper == number) {
            continue;
        }
        let title = format!("{} {}", paper.number, paper.title);
        screen.wrap(&mut text, "", &title, "1");
        totals(&mut text, &all, Some(number), screen);
        let costing = |cost: &Cost| {
            let known = estimate(cost).filter(|_| cost.studies > 0);
            known.map_or(String::new(), |known| format!(" ({known})"))
        };
        let is_shown = |index| plan.figures.contains(&(number, index));
        let figures = paper.figures.iter().enumerate().filter(|(index, _)| is_shown(*index));
        for (_, figure) in figures {
            let name = figure_name(paper, figure);
            let cost = all.of_figure(&plan.papers, (number, figure));
            let content = format!("{}{}", figure.caption, costing(&cost));
            screen.wrap(&mut text, &format!("  {name}: "), &content, "");
        }
        for (source, cost) in all.of_sources(&plan.papers, number) {
            let content = format!("the paper's numbers beside ours{}", costing(&cost));
            let name = table_name(paper, source).unwrap_or_else(|| source.to_owned());
            screen.wrap(&mut text, &format!("  {name}: "), &content, "");
        }
        let is_shown = |index| plan.claims.contains(&(number, index));
        let claims = paper.claims.iter().enumerate().filter(|(index, _)| is_shown(*index));
        for (_, claim) in claims {
            let first = format!("  {} ({}, {}): ", claim.id, claim.kind.name(), claim.source);
            let cost = all.of_claim(&plan.papers, (number, claim));
            screen.wrap(&mut text, &first, &format!("{}{}", claim.paper, costing(&cost)), "");
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text);
    }
    screen.wrap(&mut text, "", "All of them", "1");
    totals(&mut text, &all, None, screen);
    Ok(text)
}

/// What the studies of a paper, or of all, cost by column.
fn totals(text: &mut String, all: &Costs, paper: Option<usize>, screen: Screen) {
    let own = all.of(paper, |of| of == Kernel::Paper);
    let today = all.of(paper, |of| of == Kernel::Linux);
    let neighbours = all.of(paper, |of| matches!(of, Kernel::Sensitivity(..)));
    let columns =
        [(Kernel::Paper, own), (Kernel::Linux, today), (Kernel::Sensitivity(0, 0), neighbours)];
    let columns = columns.map(|(of, cost)| (purpose(of), cost));
    for (name, cost) in columns.iter().filter(|(_, cost)| cost.studies > 0) {
        screen.wrap(text, "  ", &format!("{name}: {}", costs(cost)), "2");
    }
}

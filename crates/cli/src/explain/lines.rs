//! Decisions as lines: time, data, every path with the numbers compared, the answer and why.
//!
//! Repeated waits without a relevant difference are one line with their number. On a narrow
//! terminal a decision takes several lines: the columns of a path are never divided, and the answer
//! is on a line of its own.

use crate::meanings::kernel;
use crate::output::{Screen, width_of};
use crate::table::protocols;
use base::decision::{
    Answer, Candidate, Explanation, Mark, Marks, SchedulerCall, Sent, Test, Unit,
};
use base::{Instant, PathId};
use lab::decisions::{Call, Decisions, mark_word, mark_words, reason};
use lab::scenario::Variant;
use lab::{Scenario, describe_traffic};
use std::cmp::Ordering;
use std::ops::Range;

/// Blanks between columns.
const GAP: &str = "  ";

/// Text output of `explain` (without `--json`).
pub(super) fn text(
    scenario: &Scenario,
    variant: &Variant,
    run: u64,
    decisions: &Decisions,
    screen: Screen,
) -> String {
    let mut text = String::new();
    heading(&mut text, scenario, variant, run, decisions, screen);
    let rows: Vec<Row> = folded(&decisions.calls).map(|calls| row(scenario, calls)).collect();
    for note in &scenario.notes {
        screen.wrap(&mut text, "note: ", note, "");
    }
    legend(&mut text, &decisions.calls, screen);
    text.push('\n');
    let columns = Columns::of(scenario, score_heading(&decisions.calls), &rows, screen);
    columns.line(&mut text, &columns.headings, "answer", "1");
    for row in &rows {
        // Waits are dimmed.
        columns.line(&mut text, &row.cells, &row.answer, if row.waits { "2" } else { "" });
    }
    text
}

fn heading(
    text: &mut String,
    scenario: &Scenario,
    variant: &Variant,
    run: u64,
    decisions: &Decisions,
    screen: Screen,
) {
    let (number, of) = decisions.connection;
    let connection = if of > 1 { format!(", connection {number} of {of}") } else { String::new() };
    let hosts = match variant.protocol().is_sctp() {
        true => format!("SCTP profile {}", scenario.choices.sctp.profile.name()),
        false => format!("hosts like {}", kernel(scenario.ends.profile)),
    };
    let heading = format!(
        "{}: {}; {}, {hosts}; repetition {run}, seed {}{connection}",
        variant.name,
        describe_traffic(&scenario.traffic, scenario.ends.reverse),
        protocols(scenario),
        scenario.seed
    );
    screen.wrap(text, "", &heading, "");
}

/// Explains the columns and the marks that occur.
fn legend(text: &mut String, calls: &[Call], screen: Screen) {
    let columns = "Data: position and length in the stream [byte]; left: data waiting to be \
                   scheduled. For each path: smoothed RTT [ms], segments in flight/congestion \
                   window +segments queued below, the scheduler's own number if it has one, marks:";
    screen.wrap(text, "", columns, "");
    let occur =
        |mark| calls.iter().any(|one| one.call.paths.iter().any(|p| p.marks.contains(mark)));
    for (_, word, meaning) in mark_words().filter(|(mark, ..)| occur(*mark)) {
        screen.wrap(text, &format!("  {word:<8} "), meaning, "");
    }
}

/// Groups of calls that are shown as one: the same wait for the same data with the same marks.
fn folded(calls: &[Call]) -> impl Iterator<Item = &[Call]> {
    calls.chunk_by(|a, b| {
        let (a, b) = (&a.call, &b.call);
        let marks = |call: &SchedulerCall| -> Vec<(PathId, Marks)> {
            call.paths.iter().map(|path| (path.path, path.marks)).collect()
        };
        let offset = |call: &SchedulerCall| call.offered.map(|offered| offered.offset);
        let rule = |call: &SchedulerCall| call.why.as_ref().map(|why| why.rule);
        matches!(a.answer, Answer::Wait(_))
            && a.answer == b.answer
            && offset(a) == offset(b)
            && rule(a) == rule(b)
            && marks(a) == marks(b)
    })
}

/// A line of the table.
struct Row {
    /// Time, data, data left, and four cells for each path of the scenario.
    cells: Vec<String>,
    answer: String,
    waits: bool,
}

/// Number of cells per path.
const OF_PATH: usize = 4;

fn row(scenario: &Scenario, calls: &[Call]) -> Row {
    // Chunks are never empty.
    let (first, last) = (&calls[0], &calls[calls.len() - 1]);
    let call = &first.call;
    let left = call.offered.map_or(0, |offered| offered.len);
    let mut cells = vec![seconds(first.at), data(call), format!("{:.1}", left as f64 / 1e3)];
    for index in 0..scenario.paths.len() {
        cells.extend(of_path(call, index));
    }
    let mut answer = answer(scenario, call);
    if calls.len() > 1 {
        answer.push_str(&format!(" ({} times, to {} s)", calls.len(), seconds(last.at)));
    }
    Row { cells, answer, waits: matches!(call.answer, Answer::Wait(_)) }
}

fn seconds(at: Instant) -> String {
    format!("{:.6}", (at - Instant::ZERO).as_secs_f64())
}

fn data(call: &SchedulerCall) -> String {
    match (&call.answer, call.offered) {
        (Answer::Send { offset: Some(offset), len, .. }, _) => format!("{offset} +{len}"),
        (_, Some(offered)) => offered.offset.to_string(),
        _ => "-".to_owned(),
    }
}

/// RTT, data in flight, score and marks of a path; of several subflows, the open one.
fn of_path(call: &SchedulerCall, index: usize) -> [String; OF_PATH] {
    let on_path = || call.paths.iter().filter(|path| path.interface.index() == index);
    let open = |path: &&Candidate| !path.marks.contains(Mark::Closed);
    let Some(path) = on_path().find(open).or_else(|| on_path().next()) else {
        return ["-".to_owned(), String::new(), String::new(), String::new()];
    };
    let queued = match path.unsent_segs {
        0 => String::new(),
        segs => format!(" +{segs}"),
    };
    let scores = call.why.as_ref().map_or(&[][..], |why| &why.scores);
    let own = scores.iter().filter(|score| score.path == path.path);
    let marks: Vec<&str> = path.marks.iter().map(mark_word).collect();
    [
        format!("{:.1}", path.srtt.as_secs_f64() * 1e3),
        format!("{}/{}{queued}", path.inflight_segs, path.cwnd_segs),
        own.map(|score| amount(score.value, score.unit).0).collect::<Vec<_>>().join(", "),
        marks.join(" "),
    ]
}

/// A number and its unit.
fn amount(value: f64, unit: Unit) -> (String, &'static str) {
    match unit {
        Unit::Seconds => (format!("{:.1}", value * 1e3), "ms"),
        Unit::Bytes => (format!("{:.1}", value / 1e3), "kB"),
        Unit::Segments => (format!("{value:.0}"), "segments"),
    }
}

fn answer(scenario: &Scenario, call: &SchedulerCall) -> String {
    let name = |id: PathId| {
        let path = call.paths.iter().find(|path| path.path == id);
        let path = path.and_then(|path| scenario.paths.get(path.interface.index()));
        path.map_or("?", |path| path.name.as_str())
    };
    let why = call.why.as_ref();
    let mut words = match &call.answer {
        Answer::Send { path, what, queued, .. } => {
            let what = match what {
                Sent::New => "",
                Sent::Reinjection => " again",
                Sent::Copy => " a copy",
                Sent::Probe => " a probe",
            };
            let full = |candidate: &Candidate| candidate.marks.contains(Mark::WindowFull);
            let chosen = call.paths.iter().find(|candidate| candidate.path == *path);
            let queued = if *queued && chosen.is_some_and(full) { ", queued" } else { "" };
            format!("{}{what}{queued}: {}", name(*path), explained(why, "its choice"))
        }
        Answer::Wait(reason_to) => match reason(*reason_to) {
            Some(reason) => format!("wait: {reason}"),
            None => format!("wait: {}", explained(why, "its own choice")),
        },
    };
    for path in &call.penalised {
        words.push_str(&format!("; halves the window of {}", name(*path)));
    }
    words
}

/// The rule, and the values that it compared.
fn explained(why: Option<&Explanation>, otherwise: &str) -> String {
    let Some(why) = why else { return otherwise.to_owned() };
    if why.tests.is_empty() {
        return why.rule.to_owned();
    }
    let tests: Vec<String> = why.tests.iter().map(compared).collect();
    format!("{} ({})", why.rule, tests.join("; "))
}

fn compared(test: &Test) -> String {
    let relation = match test.order {
        Ordering::Less => "<",
        Ordering::Equal => "=",
        Ordering::Greater => ">",
    };
    let shown = |(name, value)| {
        let (number, unit) = amount(value, test.unit);
        format!("{name} {number} {unit}")
    };
    format!("{} {relation} {}", shown(test.left), shown(test.right))
}

/// Name and unit of the scheduler's own number.
fn score_heading(calls: &[Call]) -> String {
    let mut scores = calls.iter().filter_map(|one| one.call.why.as_ref()?.scores.first());
    scores.next().map_or(String::new(), |score| {
        format!("{} [{}]", score.name, amount(score.value, score.unit).1)
    })
}

/// Number of cells before those of the paths.
const OF_DATA: usize = 3;
/// Indent of the second line of a decision.
const INDENT: usize = 4;

/// Headings and widths.
struct Columns {
    headings: Vec<String>,
    widths: Vec<usize>,
    screen: Screen,
}

impl Columns {
    fn of(scenario: &Scenario, score: String, rows: &[Row], screen: Screen) -> Columns {
        let mut headings: Vec<String> = ["time [s]", "data", "left [kB]"].map(str::to_owned).into();
        for path in &scenario.paths {
            headings.extend([path.name.clone(), String::new(), score.clone(), String::new()]);
        }
        let mut widths: Vec<usize> = headings.iter().map(|text| width_of(text)).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = width_of(cell).max(*width);
            }
        }
        Columns { headings, widths, screen }
    }

    /// Appends the cells and the answer, on as many lines as they need.
    fn line(&self, text: &mut String, cells: &[String], answer: &str, style: &str) {
        let Screen { width, .. } = self.screen;
        let width = width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for columns in self.groups() {
            let indent = if line.is_empty() { "" } else { GAP };
            let group = self.group(columns.clone(), cells);
            if width_of(&line) + indent.len() + self.width(columns) > width && !line.is_empty() {
                self.end(text, &line, style);
                line = " ".repeat(INDENT);
            } else {
                line.push_str(indent);
            }
            line.push_str(&group);
        }
        if width_of(&line) + GAP.len() + width_of(answer) <= width {
            self.end(text, &format!("{line}{GAP}{answer}"), style);
        } else {
            self.end(text, &line, style);
            self.screen.wrap(text, &" ".repeat(INDENT), answer, style);
        }
    }

    /// Appends a line; one that is longer than the screen is wrapped.
    fn end(&self, text: &mut String, line: &str, style: &str) {
        let content = line.trim_start();
        let indent = &line[..line.len() - content.len()];
        self.screen.wrap(text, indent, content.trim_end(), style);
    }

    /// Columns that stay on one line: those of the data, and those of each path.
    fn groups(&self) -> Vec<Range<usize>> {
        let paths = (OF_DATA..self.widths.len()).step_by(OF_PATH).map(|at| at..at + OF_PATH);
        std::iter::once(0..OF_DATA).chain(paths).collect()
    }

    /// Width of a group; empty columns take none.
    fn width(&self, columns: Range<usize>) -> usize {
        let widths = self.widths[columns].iter().filter(|width| **width > 0);
        widths.map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    }

    /// A group with numbers right-aligned, data and marks left-aligned.
    fn group(&self, columns: Range<usize>, cells: &[String]) -> String {
        let shown = columns.filter(|column| self.widths[*column] > 0).map(|column| {
            let (cell, width) = (&cells[column], self.widths[column]);
            let blanks = " ".repeat(width.saturating_sub(width_of(cell)));
            let marks = column >= OF_DATA && (column - OF_DATA) % OF_PATH == OF_PATH - 1;
            if column == 1 || marks { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        shown.collect::<Vec<_>>().join(GAP)
    }
}

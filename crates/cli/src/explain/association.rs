//! Where an association sent its chunks, as lines: time, path, data, window, and why there.

use super::Prepared;
use crate::columns::{Column, Table};
use crate::output::Screen;
use crate::table::protocols;
use lab::decisions::{PathReport, Stretch, Stretches};
use lab::describe_traffic;

/// A line of the output.
#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
    /// Chunks that were sent.
    Sent(&'a Stretch),
    /// A SACK and a path.
    Sack(&'a PathReport),
}

impl Line<'_> {
    fn at(&self) -> base::Instant {
        match self {
            Line::Sent(one) => one.at,
            Line::Sack(report) => report.at,
        }
    }
}

/// The lines in time order, a SACK before what it lets out.
pub(super) fn lines(found: &Stretches, with_sacks: bool) -> Vec<Line<'_>> {
    let sacks = found.reports.iter().filter(|_| with_sacks).map(Line::Sack);
    let mut lines: Vec<Line<'_>> = sacks.chain(found.stretches.iter().map(Line::Sent)).collect();
    lines.sort_by_key(Line::at);
    lines
}

/// Text output of `explain` for SCTP.
pub(super) fn text(
    prepared: &Prepared,
    run: u64,
    (found, lines): (&Stretches, &[Line<'_>]),
    screen: Screen,
) -> String {
    let Prepared { scenario, variant, .. } = prepared;
    let mut text = String::new();
    let (number, of) = found.connection;
    let which = if of > 1 { format!(", association {number} of {of}") } else { String::new() };
    let heading = format!(
        "{}: {}; {}, SCTP profile {}; repetition {run}, seed {}{which}",
        variant.name,
        describe_traffic(&scenario.traffic, scenario.ends.reverse),
        protocols(scenario),
        scenario.choices.sctp.profile.name(),
        scenario.seed
    );
    screen.wrap(&mut text, "", &heading, "");
    for note in &scenario.notes {
        screen.wrap(&mut text, "note: ", note, "");
    }
    let legend = "Chunks sent one after another on one path for one reason: virtual times of the \
                  first and the last one; again: sent on this path before; user data, congestion \
                  window and chunks in flight after the last one.";
    screen.wrap(&mut text, "", legend, "");
    if lines.iter().any(|line| matches!(line, Line::Sack(_))) {
        let legend = "acked: what a SACK, and the path it came over, means for chunks that a path \
                      sent last; may grow: congestion window update (CUC); missing: chunks in \
                      flight that split fast retransmit (SFR) counts, 2x: twice, since the SACK \
                      is for two packets (DAC).";
        screen.wrap(&mut text, "", legend, "");
    }
    text.push('\n');
    let each = |cell: &dyn Fn(&Line<'_>) -> String| lines.iter().map(cell).collect();
    let sent = |cell: &dyn Fn(&Stretch) -> String| {
        each(&|line| match line {
            Line::Sent(one) => cell(one),
            Line::Sack(_) => String::new(),
        })
    };
    let seconds = |at: base::Instant| format!("{:.6}", (at - base::Instant::ZERO).as_secs_f64());
    let path = |line: &Line<'_>| match line {
        Line::Sent(one) => found.name(scenario, one.path),
        Line::Sack(report) => found.name(scenario, report.path),
    };
    let why = |line: &Line<'_>| match line {
        Line::Sent(one) => found.reason(scenario, variant, one),
        Line::Sack(report) => found.meaning(scenario, report),
    };
    let kilobytes = |one: &Stretch| format!("{:.1}", one.bytes as f64 / 1e3);
    let table = Table {
        columns: vec![
            Column::new("from [s]", true, 0, each(&|line| seconds(line.at()))),
            Column::new("to [s]", true, 1, sent(&|one| seconds(one.until))),
            Column::new("path", false, 0, each(&path)),
            Column::new("chunks", true, 0, sent(&|one| one.chunks.to_string())),
            Column::new("again", true, 1, sent(&|one| one.again.to_string())),
            Column::new("data [kB]", true, 0, sent(&kilobytes)),
            Column::new("cwnd [B]", true, 0, sent(&|one| one.cwnd_bytes.to_string())),
            Column::new("in flight", true, 2, sent(&|one| one.inflight_segs.to_string())),
            Column::new("why", false, 0, each(&why)),
        ],
    };
    text.push_str(&table.render(screen));
    text
}

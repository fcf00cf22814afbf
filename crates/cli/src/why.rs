//! The table of `--why`: times of each variant's connections by state, and repeated segments.
//! `docs/results.md` defines the terms.

use crate::columns::{Column, Table};
use crate::output::Screen;
use base::Blocked;
use lab::Summary;
use lab::blocking::Blocking;

/// A column of shares of time: its heading and the reasons in it. Together they cover the whole
/// life.
pub(crate) const SHARES: [(&str, &[Blocked]); 7] = [
    ("cwnd", &[Blocked::CongestionWindow]),
    ("rwnd", &[Blocked::ReceiveWindow]),
    ("send buffer", &[Blocked::SendBuffer]),
    ("scheduler", &[Blocked::SchedulerWaits]),
    ("host", &[Blocked::Pacing, Blocked::SmallQueue, Blocked::Nagle]),
    ("path down", &[Blocked::PathDown]),
    ("nothing to send", &[Blocked::NothingToSend, Blocked::Opening]),
];

/// Heading of the names.
const NAMES: &str = "why not sending";

/// Sentences of the caption, each after a heading that it explains.
const CAPTION: [(&str, &str); 6] = [
    (
        NAMES,
        "Shares of the time that the connections of the data sender were open, by what kept them \
         from sending (host: pacing, small queues, Nagle).",
    ),
    ("blocked", "Blocked reader: time and bytes waiting at the receiver behind a gap."),
    ("SACKs", "SACKs: of SCTP, per packet with data."),
    ("spurious", "Spurious: segments that the receiver already had."),
    ("reinjected", "Reinjected: segments sent on a second path."),
    (NAMES, "Means over the repetitions."),
];

/// Caption of a table with these headings.
pub(crate) fn caption(has: impl Fn(&str) -> bool) -> String {
    let shown = CAPTION.iter().filter(|(heading, _)| has(heading));
    shown.map(|(_, sentence)| *sentence).collect::<Vec<_>>().join(" ")
}

/// The table with its caption; empty without accounts.
pub(crate) fn text(variants: &[Summary], screen: Screen) -> String {
    let Some(table) = table(variants) else { return String::new() };
    let mut text = table.render(screen.of_tables());
    let caption = caption(|heading| text.contains(heading));
    screen.wrap(&mut text, "", &caption, "2");
    text
}

/// The table; `None` without accounts.
pub(crate) fn table(variants: &[Summary]) -> Option<Table> {
    if variants.iter().all(|summary| summary.blocking.is_none()) {
        return None;
    }
    let each = |cell: &dyn Fn(&Summary) -> String| variants.iter().map(cell).collect();
    let of = |summary: &Summary, cell: &dyn Fn(&Blocking) -> String| {
        summary.blocking.as_ref().map_or("-".to_owned(), cell)
    };
    let mut columns = vec![
        Column::new(NAMES, false, 0, each(&|v| v.variant.name.clone())),
        Column::new("open [s]", true, 1, each(&|v| of(v, &|b| format!("{:.2}", b.life)))),
    ];
    for (heading, reasons) in SHARES {
        if variants.iter().any(|summary| share(summary, reasons).is_some_and(|share| share > 0.0)) {
            let cell = |summary: &Summary| percentage(share(summary, reasons));
            columns.push(Column::new(heading, true, 0, each(&cell)));
        }
    }
    let blocked = |b: &Blocking| format!("{:.1}", b.head_of_line.time * 1e3);
    let early = |b: &Blocking| format!("{:.1}", b.head_of_line.bytes / 1e3);
    columns.push(Column::new("blocked reader [ms]", true, 0, each(&|v| of(v, &blocked))));
    columns.push(Column::new("blocked bytes [kB]", true, 2, each(&|v| of(v, &early))));
    if variants.iter().any(|summary| summary.sacks_per_data_packet.is_some()) {
        columns.push(Column::new("SACKs", true, 1, each(&sacks)));
    }
    for (index, repeats) in variants.first().map_or(&[][..], |v| &v.repeats).iter().enumerate() {
        let on = &repeats.path;
        let spurious = |v: &Summary| v.repeats.get(index).map_or(0.0, |of| of.spurious_segs);
        let reinjected = |v: &Summary| v.repeats.get(index).map_or(0.0, |of| of.reinjected_segs);
        let numbers = [("spurious", each_number(variants, &spurious))];
        let numbers =
            numbers.into_iter().chain([("reinjected", each_number(variants, &reinjected))]);
        for (name, cells) in numbers.filter(|(_, cells)| !cells.is_empty()) {
            columns.push(Column::new(format!("{name} on {on}"), true, 3, cells));
        }
    }
    Some(Table { columns })
}

/// SACKs per packet with data, `0.52`; a dash without SCTP.
pub(crate) fn sacks(summary: &Summary) -> String {
    summary.sacks_per_data_packet.map_or("-".to_owned(), |rate| format!("{rate:.2}"))
}

/// A cell for each variant; none if all are zero.
fn each_number(variants: &[Summary], number: &dyn Fn(&Summary) -> f64) -> Vec<String> {
    if variants.iter().all(|summary| number(summary) == 0.0) {
        return Vec::new();
    }
    variants.iter().map(|summary| format!("{:.1}", number(summary))).collect()
}

/// Share of its life in which a variant was stopped by these reasons.
pub(crate) fn share(summary: &Summary, reasons: &[Blocked]) -> Option<f64> {
    let blocking = summary.blocking.as_ref()?;
    Some(reasons.iter().map(|why| blocking.share(*why)).sum())
}

/// `12 %`; a dash for zero.
pub(crate) fn percentage(share: Option<f64>) -> String {
    match share {
        None | Some(0.0) => "-".to_owned(),
        Some(share) if share < 0.001 => "<0.1 %".to_owned(),
        Some(share) => format!("{:.1} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn caption_explains_only_columns_that_are_shown() {
        let narrow = super::caption(|heading| ["why not sending", "blocked"].contains(&heading));
        assert!(narrow.ends_with("behind a gap. Means over the repetitions."), "{narrow}");
        assert!(!narrow.contains("SACKs") && !narrow.contains("Spurious"), "{narrow}");
        assert!(super::caption(|_| true).contains("SACKs: of SCTP"));
    }
}

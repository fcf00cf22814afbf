//! The table of competing connections: the goodput of each, and the fairness of the shares.
//! `docs/results.md` defines the numbers.

use crate::columns::{Column, Table};
use crate::output::Screen;
use lab::fairness::{Estimate, Fairness};
use lab::scenario::FlowSpec;
use lab::{Report, Scale, Scenario, Summary};

/// Sentences of the caption, each after a heading that it explains.
const CAPTION: [(&str, &str); 5] = [
    ("sharing", "Means over the repetitions."),
    (INTERVAL, "95 %: interval of the mean before it."),
    (
        "share of TCP",
        "Share of TCP: the goodput of the compared connection divided by the mean goodput of the \
         competing TCP flows.",
    ),
    ("Jain", "Jain's index: 1 if all connections get the same."),
    (
        "convergence",
        "Convergence: time from the last start until Jain's index of the connections present stays \
         at 0.9 or above over any 5 s, and the number of repetitions in which it does.",
    ),
];

/// Caption of a table with these headings.
pub(crate) fn caption(has: impl Fn(&str) -> bool) -> String {
    let shown = CAPTION.iter().filter(|(heading, _)| has(heading));
    shown.map(|(_, sentence)| *sentence).collect::<Vec<_>>().join(" ")
}

/// Heading of the intervals of the column before.
pub(crate) const INTERVAL: &str = "95 %";

/// The table with its caption; empty without competing flows.
pub(crate) fn text(scenario: &Scenario, report: &Report, screen: Screen) -> String {
    let columns = columns(scenario, report);
    if columns.is_empty() {
        return String::new();
    }
    let mut text = Table { columns }.render(screen.of_tables());
    let caption = caption(|heading| text.contains(heading));
    screen.wrap(&mut text, "", &caption, "2");
    for absence in absences(report) {
        screen.wrap(&mut text, "", &absence, "2");
    }
    text
}

/// The table with its caption in Markdown; `None` without competing flows.
pub(crate) fn markdown(scenario: &Scenario, report: &Report) -> Option<String> {
    let columns = columns(scenario, report);
    if columns.is_empty() {
        return None;
    }
    let table = Table { columns }.markdown();
    let said = [caption(|heading| table.contains(heading))].into_iter().chain(absences(report));
    Some(format!("{table}\n{}\n", said.collect::<Vec<_>>().join(" ")))
}

/// Remarks on flows that were absent.
pub(crate) fn absences(report: &Report) -> Vec<String> {
    let said = report.variants.iter().filter_map(|summary| {
        let fairness = summary.fairness.as_ref().filter(|fairness| !fairness.absent.is_empty())?;
        let flows = fairness.absent.iter().map(|(name, runs)| format!("{name} in {runs}"));
        let flows = flows.collect::<Vec<_>>().join(", ");
        Some(format!(
            "Flows that never ran together with {}: {flows} of {} repetitions, which ended before \
             these flows started, or within the warm-up.",
            summary.variant.name, fairness.runs
        ))
    });
    said.collect()
}

/// The columns, the first with the names of variants; none without competing flows.
pub(crate) fn columns(scenario: &Scenario, report: &Report) -> Vec<Column> {
    if report.variants.iter().all(|summary| summary.fairness.is_none()) {
        return Vec::new();
    }
    let each = |cell: &dyn Fn(&Summary) -> String| report.variants.iter().map(cell).collect();
    let of = |summary: &Summary, pick: &dyn Fn(&Fairness) -> Option<Estimate>| {
        summary.fairness.as_ref().and_then(pick)
    };
    let goodputs = scale(report);
    let mut columns = vec![Column::new("sharing", false, 0, each(&|v| v.variant.name.clone()))];
    let mut add = |heading: String,
                   dispensable: u8,
                   scale: &Scale,
                   pick: &dyn Fn(&Fairness) -> Option<Estimate>| {
        let number = |v: &Summary| of(v, pick).map_or("-".to_owned(), |e| scale.number(e.mean));
        columns.push(Column::new(heading, true, 0, each(&number)));
        let interval = |v: &Summary| of(v, pick).map_or(String::new(), |e| interval(&e, scale));
        columns.push(Column::new(INTERVAL, false, dispensable, each(&interval)));
    };
    add(format!("goodput [{}]", goodputs.unit), 3, &goodputs, &|fairness| fairness.main);
    for (number, flow) in scenario.flows.iter().enumerate() {
        add(heading(flow), 3, &goodputs, &|fairness| *fairness.kinds.get(number)?);
    }
    let plain = Scale::of("", 1.0);
    add("share of TCP".to_owned(), 1, &plain, &|fairness| fairness.tcp_share);
    add("Jain".to_owned(), 2, &plain, &|fairness| fairness.jain);
    let even = |v: &Summary| v.fairness.as_ref().map_or("-".to_owned(), even_after);
    columns.push(Column::new("convergence", false, 1, each(&even)));
    columns
}

/// One scale for all goodputs of a study.
pub(crate) fn scale(report: &Report) -> Scale {
    let fairness = report.variants.iter().filter_map(|summary| summary.fairness.as_ref());
    let goodputs = fairness.flat_map(|one| one.kinds.iter().chain([&one.main]).flatten());
    let least = goodputs.map(|estimate| estimate.mean).filter(|mean| *mean > 0.0);
    let least = least.fold(f64::INFINITY, f64::min);
    Scale::of("bit/s", if least.is_finite() { least } else { USUAL_GOODPUT })
}

/// Goodput whose unit a table without goodputs has, in bit/s.
const USUAL_GOODPUT: f64 = 1e6;

/// Flows of one kind: their name and number.
pub(crate) fn heading(flow: &FlowSpec) -> String {
    match flow.count {
        1 => flow.name.clone(),
        count => format!("{} (each of {count})", flow.name),
    }
}

/// `2.30 to 2.61`; empty for a single run, or without randomness.
fn interval(estimate: &Estimate, scale: &Scale) -> String {
    let interval = estimate.interval.filter(|interval| interval.half_width() > 0.0);
    interval.map_or(String::new(), |interval| {
        format!("{} to {}", scale.number(interval.low), scale.number(interval.high))
    })
}

/// `12.4 s (19 of 20)`.
pub(crate) fn even_after(fairness: &Fairness) -> String {
    let Fairness { convergence, converged, runs, .. } = fairness;
    match convergence {
        None => "never".to_owned(),
        Some(time) => format!("{:.1} s ({converged} of {runs})", time.mean),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn caption_explains_only_columns_that_are_shown() {
        let narrow = super::caption(|heading| ["sharing", "Jain"].contains(&heading));
        assert!(narrow.contains("Jain's index") && !narrow.contains("Convergence"), "{narrow}");
        assert!(!narrow.contains("interval"), "{narrow}");
        assert!(super::caption(|_| true).contains("Convergence"));
    }
}

//! Distributions of both sides as text: figures over the whole set, and what is outside the
//! targets.

use super::{modes, multi_path, plain_percent, recorded_side, signed_percent};
use crate::columns::{Column, Table};
use crate::output::counted;
use lab::Scale;
use lab::validation::{
    Decision, LEAST_SHARES, MOST_MEDIAN, MOST_ONE_SIDED, MOST_P90, MOST_WORST, NO_RUNS, Overall,
    Spread, Validation,
};
use std::fmt::Write;

/// Lines on the whole set: one per stack, one on decisions.
pub(super) fn overall(result: &Validation) -> Vec<String> {
    let stacks = result.overall();
    let mut lines: Vec<String> = stacks.iter().map(|(stack, of)| stack_line(stack, of)).collect();
    if !result.decisions.is_empty() {
        let number = |of: fn(&Decision) -> bool| result.decisions.iter().filter(|d| of(d)).count();
        lines.push(format!(
            "decisions: {} compared, {} contradict each other, in {} one side decides alone",
            result.decisions.len(),
            number(Decision::contradicts),
            number(Decision::is_one_sided),
        ));
    }
    lines
}

fn stack_line(stack: &str, of: &Overall) -> String {
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), plain_percent);
    let mut line = format!(
        "{stack}: {}, median misfit {}, 90th percentile {}, worst {}",
        counted(u32::try_from(of.n).unwrap_or(u32::MAX), "variant"),
        figure(of.median),
        figure(of.p90),
        figure(of.worst_known),
    );
    if of.known < of.n {
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            " (of {} known to 4 %), {} beyond the interval of the others",
            of.known,
            figure(of.worst_wide)
        );
    }
    if of.too_few > 0 {
        let _ = write!(line, "; {} with too few runs left out", of.too_few);
    }
    if of.shared > 0 {
        let _ = write!(line, "; shares within 5 points in {} of {}", of.shares_within, of.shared);
    }
    line
}

/// The targets on scenarios that no change of the simulator took into account.
pub(super) fn targets(side: &str) -> String {
    let [median, p90, worst, one_sided, shares] =
        [MOST_MEDIAN, MOST_P90, MOST_WORST, MOST_ONE_SIDED, LEAST_SHARES]
            .map(|share| format!("{:.0} %", share * 100.0));
    format!(
        "Targets of multi-path variants on scenarios that no change took into account: median at \
         most {median}, 90th percentile at most {p90}, worst at most {worst} where the {side}'s \
         figure is known to 4 % and {p90} beyond its interval elsewhere, no contradiction, one \
         side deciding alone in at most {one_sided}, shares within 5 points in {shares}."
    )
}

/// Table of the variants outside the targets; `None` if there is none.
pub(super) fn outside(result: &Validation) -> Option<Table> {
    let differs = |row: &Spread| row.share_diff.is_some_and(|diff| diff > 0.05);
    let rows = result.spreads.iter();
    let rows: Vec<&Spread> = rows.filter(|row| !row.is_within() || differs(row)).collect();
    let column = |heading: &str, dispensable, right, cell: &dyn Fn(&Spread) -> String| {
        let cells = rows.iter().map(|row| cell(row)).collect();
        Column::new(heading, right, dispensable, cells)
    };
    let columns = vec![
        column("scenario", 0, false, &|row| row.subject.scenario.clone()),
        column("variant", 0, false, &|row| row.subject.variant.clone()),
        column("runs", 3, true, &counts),
        column(recorded_side(result), 0, true, &|row| kernel(row)),
        column("+-", 2, true, &|row| row.half_width.map_or(String::new(), plain_percent)),
        column("ours", 0, true, &|row| ours(row)),
        column("diff", 0, true, &|row| signed_percent(row.diff)),
        column("shares", 1, true, &shares),
    ];
    (!rows.is_empty()).then_some(Table { columns })
}

/// Table of the decisions that contradict each other, or that one side makes alone.
pub(super) fn disputed(result: &Validation) -> Option<Table> {
    let all = result.decisions.iter();
    let rows: Vec<&Decision> = all.filter(|d| d.contradicts() || d.is_one_sided()).collect();
    let column = |heading: &str, cell: &dyn Fn(&Decision) -> String| {
        Column::new(heading, false, 0, rows.iter().map(|row| cell(row)).collect())
    };
    let columns = vec![
        column("scenario", &|row| row.scenario.clone()),
        column("control", &|row| row.cc.clone()),
        column(recorded_side(result), &|row| row.kernel.name().to_owned()),
        column("ours", &|row| row.ours.name().to_owned()),
    ];
    (!rows.is_empty()).then_some(Table { columns })
}

fn counts(row: &Spread) -> String {
    format!("{}/{}", row.kernel.values.len(), row.ours.values.len())
}

/// The compared value of the kernel.
fn kernel(row: &Spread) -> String {
    let value = if row.is_known() { row.kernel.mean } else { row.kernel.median };
    Scale::of(&row.subject.unit, value).value(value)
}

/// The compared value of the simulator, in the unit of the kernel's.
fn ours(row: &Spread) -> String {
    let (kernel, ours) = if row.is_known() {
        (row.kernel.mean, row.ours.mean)
    } else {
        (row.kernel.median, row.ours.median)
    };
    Scale::of(&row.subject.unit, kernel).value(ours)
}

/// Shares of the paths of both sides, in per cent.
fn shares(row: &Spread) -> String {
    let text = |shares: &[f64]| {
        let of = shares.iter().map(|share| format!("{:.0}", share * 100.0));
        of.collect::<Vec<String>>().join(":")
    };
    if row.share_diff.is_none() {
        return String::new();
    }
    format!("{} / {}", text(&row.kernel.shares), text(&row.ours.shares))
}

/// Section of the page: figures, targets, decisions, and all variants.
pub(super) fn section(result: &Validation) -> String {
    if result.spreads.is_empty() {
        return String::new();
    }
    let side = recorded_side(result);
    let multi_path = multi_path(side);
    let mut text = format!(
        "\n## Distributions\n\nAll runs of both sides. The {side}'s figure is its mean where the \
         half-width of its 95 % interval is at most 4 %,\nelse its median; the misfit of a median \
         is what the half-width leaves. Pairs are {side} / simulator. A scenario is\ndecided if \
         the 95 % interval of the difference between {multi_path} and the best path alone is on \
         one side of 5 %, or within it.\n\n"
    );
    for line in overall(result) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "\n{}", targets(side));
    text.push_str(&decisions(result));
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n| scenario | variant | runs | {side} | +- | ours | difference | misfit | shares | sent \
         again (segments) | limited by window (s) | by send buffer (s) | modes |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- \
         |\n",
    );
    for row in &result.spreads {
        text.push_str(&page_row(row));
    }
    text
}

/// Reasons for scenarios that are left out; many that are not recorded yet are one.
pub(super) fn left_out(result: &Validation) -> Vec<String> {
    const SEVERAL: usize = 3;
    let several = result.unrecorded > SEVERAL;
    let all = format!(
        "{} of {} scenarios: they have no recorded runs",
        result.unrecorded, result.scenarios
    );
    let shown = |reason: &&String| !several || !reason.ends_with(NO_RUNS);
    let single = result.left_out.iter().filter(shown).cloned();
    several.then_some(all).into_iter().chain(single).collect()
}

fn decisions(result: &Validation) -> String {
    let mut text = String::new();
    for decision in result.decisions.iter().filter(|d| d.contradicts() || d.is_one_sided()) {
        if text.is_empty() {
            let side = recorded_side(result);
            let head = "| --- | --- | --- | --- |\n";
            // Writing to a string cannot fail.
            let _ = write!(text, "\n| scenario | control | {side} | ours |\n{head}");
        }
        let Decision { scenario, cc, .. } = decision;
        let [kernel, ours] = [decision.kernel, decision.ours].map(lab::comparison::Class::name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {scenario} | {cc} | {kernel} | {ours} |");
    }
    text
}

fn page_row(row: &Spread) -> String {
    let pair = |digits: usize, kernel: Option<f64>, ours: Option<f64>| {
        let text = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.digits$}"));
        format!("{} / {}", text(kernel), text(ours))
    };
    let of_modes = [&row.kernel.modes, &row.ours.modes];
    let several = of_modes.iter().any(|modes| modes.len() > 1);
    let of_modes = of_modes.map(|found| modes(found, &row.subject.unit)).join(" / ");
    format!(
        "| {} | `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        row.subject.scenario,
        row.subject.variant,
        counts(row),
        kernel(row),
        row.half_width.map_or("-".to_owned(), plain_percent),
        ours(row),
        signed_percent(row.diff),
        plain_percent(row.misfit),
        shares(row),
        pair(1, row.kernel.retransmitted_segs, row.ours.retransmitted_segs),
        pair(2, row.kernel.receive_window, row.ours.receive_window),
        pair(2, row.kernel.send_buffer, row.ours.send_buffer),
        if several { of_modes } else { String::new() },
    )
}

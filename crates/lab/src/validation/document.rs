//! The document of `validate --json`: differences are fractions.

use super::distribution::{Decision, Side, Spread};
use super::judge::{Apart, Estimate, QuantileRow, Row, Validation};
use super::series::Machine;
use crate::statistics::{Interval, Mode};
use serde_json::{Value, json};

/// The version of the document.
const SCHEMA: u32 = 1;

/// The document for a result.
pub fn document(validation: &Validation, machine: &Machine) -> Value {
    json!({
        "schema": SCHEMA,
        "scenarios": validation.rows.iter().map(row).collect::<Vec<_>>(),
        "median_abs_diff": validation.median_abs_diff(),
        "worst": validation.worst(),
        "counted": validation.counted().len(),
        "apart": validation.apart.iter().map(apart).collect::<Vec<_>>(),
        "distributions": validation.spreads.iter().map(spread).collect::<Vec<_>>(),
        "decisions": validation.decisions.iter().map(decision).collect::<Vec<_>>(),
        "overall": overall(validation),
        "scenarios_of_set": validation.scenarios,
        "scenarios_unrecorded": validation.unrecorded,
        "left_out": validation.left_out,
        "machine": machine,
    })
}

fn row(row: &Row) -> Value {
    json!({
        "name": row.subject.scenario,
        "variant": row.subject.variant,
        "stack": row.subject.stack,
        "cc": row.subject.cc,
        "metric": row.subject.metric,
        "unit": row.subject.unit,
        "kernel": row.kernel.mean,
        "kernel_ci95": ends(row.kernel.interval),
        "kernel_n": row.kernel.n,
        "ours": row.ours.mean,
        "ours_ci95": ours_ends(&row.ours),
        "ours_n": row.ours.n,
        "diff": row.diff,
        "excess": row.excess,
        "counted": row.counted,
    })
}

/// A single run of a deterministic simulation is sufficient.
fn ours_ends(ours: &Estimate) -> Value {
    if ours.interval.is_none() { json!([ours.mean, ours.mean]) } else { ends(ours.interval) }
}

/// A variant of a scenario with all runs of both sides.
fn spread(row: &Spread) -> Value {
    json!({
        "name": row.subject.scenario,
        "variant": row.subject.variant,
        "stack": row.subject.stack,
        "cc": row.subject.cc,
        "metric": row.subject.metric,
        "unit": row.subject.unit,
        "kernel": side(&row.kernel),
        "ours": side(&row.ours),
        "quantiles": row.quantiles.iter().map(quantile).collect::<Vec<_>>(),
        "kernel_half_width": row.half_width,
        "diff": row.diff,
        "misfit": row.misfit,
        "share_diff": row.share_diff,
    })
}

fn side(side: &Side) -> Value {
    json!({
        "values": side.values,
        "incomplete": side.incomplete,
        "mean": side.mean,
        "median": side.median,
        "modes": side.modes.iter().map(mode).collect::<Vec<_>>(),
        "shares": side.shares,
        "retransmitted_segs": side.retransmitted_segs,
        "reinjected_bytes": side.reinjected_bytes,
        "receive_window_s": side.receive_window,
        "send_buffer_s": side.send_buffer,
    })
}

fn decision(decision: &Decision) -> Value {
    json!({
        "name": decision.scenario,
        "cc": decision.cc,
        "kernel": decision.kernel.name(),
        "ours": decision.ours.name(),
        "contradict": decision.contradicts(),
        "one_sided": decision.is_one_sided(),
    })
}

/// Figures over the whole set, by stack.
fn overall(validation: &Validation) -> Value {
    let stacks = validation.overall().into_iter().map(|(stack, of)| {
        let figures = json!({
            "n": of.n,
            "known": of.known,
            "too_few_runs": of.too_few,
            "median": of.median,
            "p90": of.p90,
            "worst_known": of.worst_known,
            "worst_wide": of.worst_wide,
            "with_shares": of.shared,
            "shares_within": of.shares_within,
        });
        (stack.to_owned(), figures)
    });
    let number = |of: fn(&Decision) -> bool| validation.decisions.iter().filter(|d| of(d)).count();
    json!({
        "stacks": stacks.collect::<serde_json::Map<_, _>>(),
        "decisions": validation.decisions.len(),
        "contradict": number(Decision::contradicts),
        "one_sided": number(Decision::is_one_sided),
    })
}

fn quantile(row: &QuantileRow) -> Value {
    json!({
        "q": row.q,
        "kernel": row.kernel,
        "kernel_ci95": ends(row.kernel_interval),
        "ours": row.ours,
        "ours_ci95": ends(row.ours_interval),
        "diff": row.diff,
    })
}

fn apart(apart: &Apart) -> Value {
    json!({
        "name": apart.subject.scenario,
        "variant": apart.subject.variant,
        "stack": apart.subject.stack,
        "cc": apart.subject.cc,
        "metric": apart.subject.metric,
        "unit": apart.subject.unit,
        "kernel_n": apart.kernel_n,
        "ours_n": apart.ours_n,
        "quantiles": apart.quantiles.iter().map(quantile).collect::<Vec<_>>(),
        "kernel_modes": apart.kernel_modes.iter().map(mode).collect::<Vec<_>>(),
        "ours_modes": apart.our_modes.iter().map(mode).collect::<Vec<_>>(),
    })
}

/// Position of a mode and its share of the runs.
fn mode(mode: &Mode) -> Value {
    json!({"at": mode.centre, "share": mode.share})
}

fn ends(interval: Option<Interval>) -> Value {
    interval.map_or(Value::Null, |interval| json!([interval.low, interval.high]))
}

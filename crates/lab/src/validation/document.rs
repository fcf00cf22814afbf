//! The document of `validate --json`: differences are fractions.

use super::judge::{Apart, Estimate, Row, Validation};
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

fn apart(apart: &Apart) -> Value {
    let quantile = |row: &super::judge::QuantileRow| {
        json!({
            "q": row.q,
            "kernel": row.kernel,
            "kernel_ci95": ends(row.kernel_interval),
            "ours": row.ours,
            "ours_ci95": ends(row.ours_interval),
            "diff": row.diff,
        })
    };
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

//! The claims with their judgements as a JSON document.
//!
//! Pages and tables belong to the command line.

use super::judge::{Judged, JudgedPart};
use super::plan::Row;
use crate::results::json_ends;
use serde_json::{Value, json};

/// The version of the document.
const SCHEMA: u32 = 1;

/// The document of `reproduce --json`.
pub fn document(rows: &[Row<'_>], is_quick: bool) -> Value {
    json!({
        "schema": SCHEMA,
        "program": "anabranch",
        "quick": is_quick,
        "claims": rows.iter().map(claim).collect::<Vec<_>>(),
    })
}

fn claim(row: &Row<'_>) -> Value {
    let Row { claim, ours, linux, sensitivity, notes } = row;
    let rows = sensitivity.iter().map(|(says, judged)| {
        json!({"says": says, "ours": judged.ours, "ci95": ends(judged), "holds": judged.holds})
    });
    json!({
        "id": claim.id,
        "kind": claim.kind.name(),
        "source": claim.source,
        "paper": claim.paper,
        "ours": ours.ours,
        "ci95": ends(ours),
        "holds": ours.holds,
        "why": ours.why,
        "parts": ours.parts.iter().map(part).collect::<Vec<_>>(),
        "linux": linux.as_ref().map(|judged| json!({
            "ours": judged.ours,
            "ci95": ends(judged),
            "holds": judged.holds,
            "why": judged.why,
        })),
        "sensitivity": rows.collect::<Vec<_>>(),
        "notes": notes,
    })
}

fn part(part: &JudgedPart) -> Value {
    json!({
        "kind": part.kind.name(),
        "says": part.says,
        "ours": part.ours,
        "ci95": part.interval.map(json_ends),
        "holds": part.holds,
        "why": part.why,
    })
}

fn ends(judged: &Judged) -> Option<Value> {
    judged.interval.map(json_ends)
}

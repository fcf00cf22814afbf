//! The claims with their judgements as a JSON document.
//!
//! Pages and tables belong to the command line.

use super::judge::{Judged, JudgedPart};
use super::numbers::{Compared, Differences};
use super::plan::Row;
use crate::results::json_ends;
use serde_json::{Map, Value, json};

/// The version of the document.
const SCHEMA: u32 = 1;

/// The document of `reproduce --json`: the claims, and the numbers of each paper by its number.
pub fn document(rows: &[Row<'_>], numbers: &[(&str, Vec<Compared<'_>>)], is_quick: bool) -> Value {
    let stated = |(paper, all): &(&str, Vec<Compared<'_>>)| {
        let differences = Differences::of(all);
        let content = json!({
            "median_abs_difference": differences.map(|of| of.median),
            "worst_abs_difference": differences.map(|of| of.worst),
            "numbers": all.iter().map(number).collect::<Vec<_>>(),
        });
        ((*paper).to_owned(), content)
    };
    let stated = numbers.iter().filter(|(_, all)| !all.is_empty()).map(stated);
    json!({
        "schema": SCHEMA,
        "program": "anabranch",
        "quick": is_quick,
        "claims": rows.iter().map(claim).collect::<Vec<_>>(),
        "papers": stated.collect::<Map<String, Value>>(),
    })
}

fn number(of: &Compared<'_>) -> Value {
    json!({
        "source": of.source,
        "says": of.says,
        "experiment": of.experiment,
        "unit": of.unit,
        "paper": of.paper,
        "ours": of.ours,
        "difference": of.difference(),
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
        "explanation": ours.because,
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

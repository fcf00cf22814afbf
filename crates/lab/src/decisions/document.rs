//! A decision as a JSON object, one per line. Units are s, bytes and segments.

use super::{Call, mark_word, reason};
use crate::scenario::Scenario;
use base::Instant;
use base::decision::{Answer, Candidate, Explanation, Score, Sent, Test, Unit};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// The object of one call.
pub fn decision_document(scenario: &Scenario, one: &Call) -> Value {
    let call = &one.call;
    let name = |candidate: &Candidate| {
        let path = scenario.paths.get(candidate.interface.index());
        path.map_or_else(String::new, |path| path.name.clone())
    };
    let named = |id| call.paths.iter().find(|path| path.path == id).map(name);
    let why = call.why.as_ref();
    let candidates = call.paths.iter().map(|path| candidate(&name(path), path, why));
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("time", json!((one.at - Instant::ZERO).as_secs_f64()));
    put(
        "offered",
        call.offered.map_or(Value::Null, |offered| {
            let what = if offered.reinject { "reinjection" } else { "new" };
            json!({"what": what, "offset": offered.offset, "bytes": offered.len})
        }),
    );
    put("candidates", candidates.collect());
    put("tests", why.map_or_else(|| json!([]), |why| why.tests.iter().map(test).collect()));
    put("rule", json!(why.map(|why| why.rule)));
    match &call.answer {
        Answer::Send { path, what, offset, len, queued } => {
            put("answer", json!("send"));
            put("path", json!(named(*path)));
            put("what", json!(sent(*what)));
            put("offset", json!(offset));
            put("bytes", json!(len));
            put("queued", json!(queued));
        }
        Answer::Wait(why) => {
            put("answer", json!("wait"));
            put("why", json!(reason(*why).unwrap_or("the scheduler's own choice")));
        }
    }
    put("penalised", call.penalised.iter().filter_map(|id| named(*id)).collect());
    Value::Object(document)
}

fn candidate(name: &str, path: &Candidate, why: Option<&Explanation>) -> Value {
    let scores = why.map_or(&[][..], |why| &why.scores);
    let own = scores.iter().filter(|score| score.path == path.path);
    json!({
        "path": name,
        "subflow": path.path.0,
        "srtt": path.srtt.as_secs_f64(),
        "cwnd_segments": path.cwnd_segs,
        "inflight_segments": path.inflight_segs,
        "unsent_segments": path.unsent_segs,
        "marks": path.marks.iter().map(mark_word).collect::<Vec<_>>(),
        "scores": own.map(score).collect::<Vec<_>>(),
    })
}

fn score(score: &Score) -> Value {
    json!({"name": score.name, "value": score.value, "unit": unit(score.unit)})
}

fn test(test: &Test) -> Value {
    let side = |(name, value): (&str, f64)| json!({"name": name, "value": value});
    let relation = match test.order {
        Ordering::Less => "<",
        Ordering::Equal => "=",
        Ordering::Greater => ">",
    };
    let (left, right) = (side(test.left), side(test.right));
    json!({"left": left, "relation": relation, "right": right, "unit": unit(test.unit)})
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Bytes => "byte",
        Unit::Segments => "segments",
    }
}

const fn sent(what: Sent) -> &'static str {
    match what {
        Sent::New => "new",
        Sent::Reinjection => "reinjection",
        Sent::Copy => "copy",
        Sent::Probe => "probe",
    }
}

//! Paths of stored results, described without their recordings.
//!
//! The recordings may be on another machine, or changed since. A result needs their names only.

use super::items::{Item, Kind, items};
use super::trace_file::TraceFile;
use super::{CapacitySpec, Direction, LinkSpec, PathSpec};
use crate::error::Refusal;
use base::{Duration, Rate};
use network::CapacityTrace;
use network::trace::{Form, Unit};
use std::sync::Arc;

/// Placeholder for a recording while the description is parsed.
const STAND_IN: &str = "rate 1mbit";

/// The description with a rate instead of every recording.
pub(crate) fn without_recordings(spec: &str) -> Result<String, Refusal> {
    let mut text = spec.to_owned();
    let items = items(spec)?;
    if !items.iter().any(drives_downlink) {
        text.push_str(&format!(" downlink {STAND_IN}"));
    }
    for item in items.iter().rev() {
        if let Kind::Trace { .. } = item.kind {
            let of_uplink = spec[item.span.clone()].starts_with("trace-up");
            let prefix = if of_uplink { "uplink " } else { "" };
            text.replace_range(item.span.clone(), &format!("{prefix}{STAND_IN}"));
        }
    }
    Ok(text)
}

/// Whether the downlink has a capacity, or needs none, without the recording of the uplink.
fn drives_downlink(item: &Item) -> bool {
    match &item.kind {
        Kind::Rate(_) => item.direction != Direction::Up,
        Kind::Trace { upload, .. } => !upload,
        kind => matches!(kind, Kind::Profile(_) | Kind::Via(_)),
    }
}

/// Puts recordings of these names, downlink and uplink, back into a path that was read from
/// `without_recordings(spec)`. Nothing can be simulated with them.
pub(crate) fn name_recordings(path: &mut PathSpec, spec: &str, names: [Option<String>; 2]) {
    let items = items(spec).unwrap_or_default();
    let [down, up] = names;
    let [down_unit, up_unit] = [Direction::Down, Direction::Up].map(|way| unit(&items, way));
    let (down_unit, up_unit) = (down_unit.or(up_unit), up_unit.or(down_unit));
    for (link, name, unit) in [(&mut path.down, down, down_unit), (&mut path.up, up, up_unit)] {
        if let Some(name) = name {
            name_recording(link, name, unit);
        }
    }
    spec.clone_into(&mut path.anchored);
}

fn name_recording(link: &mut LinkSpec, file: String, unit: Option<Unit>) {
    let steady = [(Duration::from_secs(1), Rate::from_mbit(1))];
    if let Ok(capacity) = CapacityTrace::from_steps(&steady) {
        let capacity = Arc::new(capacity);
        let (form, digest) = (Form::Json, [0; 32]);
        let anchored = file.clone();
        let trace = TraceFile { file, anchored, unit, capacity, form, digest, other_column: None };
        link.capacity = CapacitySpec::Trace(Arc::new(trace));
    }
}

/// The unit given for the recording of a direction.
fn unit(items: &[Item], direction: Direction) -> Option<Unit> {
    let of = |item: &Item| match &item.kind {
        Kind::Trace { unit, upload, .. } if *upload == (direction == Direction::Up) => unit.clone(),
        _ => None,
    };
    items.iter().find_map(of).and_then(|name| Unit::from_name(&name))
}

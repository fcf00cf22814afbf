//! Paths of stored results, described without recordings that are gone.
//!
//! The recordings may be on another machine, or changed since. A result needs their names; how long
//! their slowest parts are decides how wide intervals are.

use super::items::{Item, Kind, items};
use super::trace_file::TraceFile;
use super::{CapacitySpec, Direction, LinkSpec, PathSpec};
use crate::built_in;
use crate::error::{Given, Refusal};
use crate::words::hex;
use base::{Duration, Rate};
use network::CapacityTrace;
use network::trace::{Form, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Placeholder for a recording while the description is parsed.
const STAND_IN: &str = "rate 1mbit";
/// Events of any time are accepted: the study had them.
const NO_DEADLINE: Duration = Duration::from_secs(u32::MAX as u64);

/// Whether all recordings of the path can be read and are unchanged: part of the program, or files
/// with one of these SHA-256.
pub(crate) fn has_its_recordings(name: &Given, spec: &Given, inputs: &BTreeSet<String>) -> bool {
    let Ok(path) = PathSpec::parse_named(name, spec, NO_DEADLINE) else { return false };
    [&path.down, &path.up].into_iter().all(|link| match &link.capacity {
        CapacitySpec::Trace(trace) => {
            built_in::trace(&trace.file).is_some() || inputs.contains(&hex(&trace.digest))
        }
        CapacitySpec::Rate(_) | CapacitySpec::Unlimited => true,
    })
}

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

/// Gives the recordings of a path, downlink and uplink, these names. In a path that was read from
/// `without_recordings(spec)` nothing can be simulated with them.
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
    if let CapacitySpec::Trace(trace) = &link.capacity {
        let (anchored, known) = (file.clone(), trace.as_ref().clone());
        link.capacity = CapacitySpec::Trace(Arc::new(TraceFile { file, anchored, ..known }));
        return;
    }
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

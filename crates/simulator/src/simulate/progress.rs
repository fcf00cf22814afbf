//! Follows the flows of a run while time passes, and records what each of them got.
//!
//! Shares and fairness are left to the lab.

use super::hosts::{FlowHosts, half};
use super::sent::{duplicate_bytes, sacks, sent_by};
use crate::setup::RunSetup;
use crate::world::{Stopped, World, WorldError};
use base::{Duration, Instant};
use harness::FlowRecord;
use traffic::{Application, Half};

/// Bytes that were read are noted this often.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// Follows all flows of a run.
pub(super) struct Progress<'a> {
    setup: &'a RunSetup,
    flows: &'a [FlowHosts<'a>],
    /// Bytes read by every full second, by flow.
    read_by: Vec<Vec<u64>>,
    next_note: Instant,
    /// By flow, when the warm-up is over.
    warm: Option<Vec<Warm>>,
}

/// What a flow had done when the warm-up was over.
#[derive(Clone, Default)]
struct Warm {
    bytes_read: u64,
    /// By path.
    first_sent_bytes: Vec<u64>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(setup: &'a RunSetup, flows: &'a [FlowHosts<'a>]) -> Self {
        let read_by = vec![Vec::new(); flows.len()];
        Progress { setup, flows, read_by, next_note: Instant::ZERO, warm: None }
    }

    /// Let time pass until the result of flow 0 is known.
    pub(super) fn run(&mut self, world: &mut World<Half>) -> Result<Stopped, WorldError> {
        let limit = Instant::ZERO + self.setup.limit;
        let measured = self.flows[0].both();
        let is_measured =
            |world: &World<Half>| measured.iter().any(|host| half(world, *host).is_done());
        loop {
            let next = self.next_stop().filter(|next| *next < limit);
            let stopped = world.run_until(next.unwrap_or(limit), is_measured)?;
            if stopped != Stopped::Limit || next.is_none() {
                return Ok(stopped);
            }
            self.note(world);
        }
    }

    /// When there is something to note; never for a single flow without a warm-up.
    fn next_stop(&self) -> Option<Instant> {
        if self.flows.len() == 1 && self.setup.warm_up.is_zero() {
            return None;
        }
        let warm = Instant::ZERO + self.setup.warm_up;
        Some(if self.warm.is_none() { warm.min(self.next_note) } else { self.next_note })
    }

    fn note(&mut self, world: &World<Half>) {
        let now = world.now();
        if self.warm.is_none() && now >= Instant::ZERO + self.setup.warm_up {
            let state = |flow: &FlowHosts<'_>| Warm {
                bytes_read: bytes_read(world, flow),
                first_sent_bytes: sent_by(self.setup, world, flow).first_sent_bytes,
            };
            self.warm = Some(self.flows.iter().map(state).collect());
        }
        if now >= self.next_note {
            for (noted, flow) in self.read_by.iter_mut().zip(self.flows) {
                noted.push(bytes_read(world, flow));
            }
            self.next_note += NOTE_EVERY;
        }
    }

    /// What every flow did by now, the end of the run; what is known later is left out.
    pub(super) fn finish(self, world: &World<Half>) -> Vec<FlowRecord> {
        let Progress { setup, flows, read_by, warm, .. } = self;
        let warm = warm.unwrap_or_else(|| vec![Warm::default(); flows.len()]);
        let flows = flows.iter().zip(warm).zip(read_by);
        flows.map(|((flow, warm), read_by)| record(setup, world, flow, &warm, read_by)).collect()
    }
}

fn record(
    setup: &RunSetup,
    world: &World<Half>,
    flow: &FlowHosts<'_>,
    warm: &Warm,
    read_by: Vec<u64>,
) -> FlowRecord {
    let mut sent = sent_by(setup, world, flow);
    for (bytes, before) in sent.first_sent_bytes.iter_mut().zip(&warm.first_sent_bytes) {
        *bytes = bytes.saturating_sub(*before);
    }
    let ended = ended(world, flow);
    let begin = flow.flow.start.max(setup.warm_up);
    let end = ended.unwrap_or(world.now() - Instant::ZERO);
    let bytes_read = bytes_read(world, flow);
    let bits = bytes_read.saturating_sub(warm.bytes_read) as f64 * 8.0;
    FlowRecord {
        started: flow.flow.start,
        ended,
        bytes_read,
        goodput: (end > begin).then(|| bits / (end - begin).as_secs_f64()),
        read_by,
        sent,
        duplicate_bytes: duplicate_bytes(world, flow),
        sacks: sacks(world, flow),
        ..FlowRecord::default()
    }
}

fn bytes_read(world: &World<Half>, flow: &FlowHosts<'_>) -> u64 {
    half(world, flow.ends().1).report().bytes_read
}

/// When a competing flow had read everything, if it has. The end of flow 0 is that of the run.
fn ended(world: &World<Half>, flow: &FlowHosts<'_>) -> Option<Duration> {
    let is_done = flow.both().iter().any(|host| half(world, *host).is_done());
    let is_whole = !flow.is_measured() && is_done && flow.failure(world).is_none();
    let last_read = half(world, flow.ends().1).report().last_read;
    last_read.filter(|_| is_whole).map(|at| at - Instant::ZERO)
}

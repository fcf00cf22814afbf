//! The processing cost of a host: a host with a cost is serial.
//!
//! It takes one segment per transmit call, and input waits while it is busy. Two effects of the
//! papers need such a host: TCP Small Queues, which never limit an infinitely fast one (002 sV-B),
//! and list maintenance that saturates a processor (003). The order of work is left to `host`.

use base::{Duration, Instant};
use std::collections::VecDeque;
use transport::{Input, Transmit};

/// Processing time of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessingCost {
    /// For each packet received or sent.
    pub per_segment: Duration,
    /// For each scheduling decision: one for each packet sent that carries payload.
    pub per_decision: Duration,
    /// For each entry of a gap structure that a packet received makes an association visit: a chunk
    /// at the sender, a block of TSNs at the receiver.
    pub per_gap_entry: Duration,
}

impl ProcessingCost {
    /// Whether the host is infinitely fast.
    pub const fn is_zero(&self) -> bool {
        self.per_segment.is_zero() && self.per_decision.is_zero() && self.per_gap_entry.is_zero()
    }
}

/// A host's one processor.
#[derive(Debug)]
pub(crate) struct Processor {
    cost: ProcessingCost,
    busy_until: Instant,
    waiting: VecDeque<Input>,
    /// The packet being made; it leaves when the processor is free again.
    made: Option<Transmit>,
}

impl Processor {
    pub(crate) const fn new(cost: ProcessingCost) -> Self {
        Processor { cost, busy_until: Instant::ZERO, waiting: VecDeque::new(), made: None }
    }

    /// When the current work is done; `None` if there is none.
    pub(crate) fn busy_until(&self, now: Instant) -> Option<Instant> {
        (self.busy_until > now).then_some(self.busy_until)
    }

    pub(crate) fn queue(&mut self, input: Input) {
        self.waiting.push_back(input);
    }

    pub(crate) const fn take_made(&mut self) -> Option<Transmit> {
        self.made.take()
    }

    /// Takes the oldest input; a packet costs time.
    pub(crate) fn next_input(&mut self, now: Instant) -> Option<Input> {
        let input = self.waiting.pop_front()?;
        if matches!(input, Input::Packet { .. }) {
            self.busy_until = now + self.cost.per_segment;
        }
        Some(input)
    }

    /// The packet that was taken last made the stack visit entries of a gap structure.
    pub(crate) fn visit(&mut self, now: Instant, entries: u64) {
        let visiting = self.cost.per_gap_entry * entries;
        self.busy_until = self.busy_until.max(now) + visiting;
    }

    /// Make a packet; it leaves after its processing time.
    pub(crate) fn make(&mut self, now: Instant, transmit: Transmit) {
        let decision = transmit.packet.payload_len() > 0;
        let deciding = if decision { self.cost.per_decision } else { Duration::ZERO };
        self.busy_until = now + self.cost.per_segment + deciding;
        self.made = Some(transmit);
    }
}

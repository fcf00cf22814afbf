//! The configuration of a link and its changes during a run.
//!
//! Plain values. Parsing `rate 25mbit delay 20ms limit 100p` and refusing invalid values with a
//! message is left to the lab.

use crate::jitter::Jitter;
use crate::loss::LossConfig;
use crate::queue::QueueConfig;
use crate::trace::CapacityTrace;
use base::{Duration, Rate};
use std::sync::Arc;

/// One direction of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkConfig {
    /// The capacity at which the queue is served.
    pub capacity: Capacity,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Deviation of each packet's delay.
    pub jitter: Jitter,
    /// Limit of the queue; the packet in service is not counted.
    pub limit: Limit,
    /// The queue discipline.
    pub queue: QueueConfig,
    /// Random loss after serialisation.
    pub loss: LossConfig,
    /// Probability that a packet skips the delay and overtakes others (netem's `reorder`).
    pub reorder: f64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that a packet is damaged.
    pub corrupt: f64,
}

impl LinkConfig {
    /// Whether a packet passes it at once and unchanged.
    pub fn is_wire(&self) -> bool {
        let happens = [self.reorder, self.duplicate, self.corrupt];
        matches!(self.capacity, Capacity::Unlimited)
            && self.delay.is_zero()
            && self.jitter.is_zero()
            && self.loss == LossConfig::None
            && happens.iter().all(|p| *p == 0.0)
    }
}

/// The capacity of a link.
#[derive(Clone, Debug, Default)]
pub enum Capacity {
    /// No serialisation time and therefore no queue.
    #[default]
    Unlimited,
    /// A constant rate.
    Rate(Rate),
    /// A recorded trace, repeated.
    Trace {
        /// The recording.
        trace: Arc<CapacityTrace>,
        /// Position in the trace at the start of the run.
        offset: Duration,
    },
}

/// The limit of a queue; the packet in service is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Number of packets.
    Packets(u32),
    /// IP bytes.
    Bytes(u64),
    /// The bytes that drain in this time at the current rate (of a recorded trace: the mean rate of
    /// the following second).
    Time(Duration),
}

impl Default for Limit {
    /// 1000 packets: netem's default and the usual length of a NIC's transmit queue.
    fn default() -> Self {
        Limit::Packets(1000)
    }
}

/// A change of a link.
#[derive(Clone, Debug)]
pub enum LinkChange {
    /// New packets are dropped, queued packets wait until `Up`, packets in flight arrive.
    Down,
    /// The same as `Down`, but the host is not notified.
    Silent,
    /// The end of `Down` or `Silent`.
    Up,
    /// A new rate; the remaining bits of the packet in service are sent at it.
    Rate(Rate),
    /// A new capacity.
    Capacity(Capacity),
    /// A new delay, of packets whose serialisation ends from now on.
    Delay(Duration),
    /// A new loss model, of packets accepted from now on.
    Loss(LossConfig),
}

impl LinkChange {
    /// The name in recorded events.
    pub const fn name(&self) -> &'static str {
        match self {
            LinkChange::Down => "down",
            LinkChange::Silent => "silent",
            LinkChange::Up => "up",
            LinkChange::Rate(_) => "rate",
            LinkChange::Capacity(_) => "capacity",
            LinkChange::Delay(_) => "delay",
            LinkChange::Loss(_) => "loss",
        }
    }
}

impl From<Rate> for Capacity {
    fn from(rate: Rate) -> Self {
        Capacity::Rate(rate)
    }
}

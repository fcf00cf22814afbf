//! What a link is made of, and what may happen to it while it runs.
//!
//! Plain values: turning `rate 25mbit delay 20ms limit 100p` into them, and refusing nonsense with
//! a message, is left to the lab.

use crate::loss::LossConfig;
use crate::queue::QueueConfig;
use crate::trace::CapacityTrace;
use base::{Duration, Rate};
use std::sync::Arc;

/// One direction of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkConfig {
    /// How fast packets leave the queue.
    pub capacity: Capacity,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// The delay of each packet is uniform in `delay - jitter ..= delay + jitter`, never negative;
    /// packets may overtake each other, as with netem.
    pub jitter: Duration,
    /// How much may wait; the packet in service does not count.
    pub limit: Limit,
    /// Who is dropped, and when.
    pub queue: QueueConfig,
    /// Random loss after serialisation.
    pub loss: LossConfig,
    /// Probability that a packet skips the delay and so overtakes others (netem's `reorder`).
    pub reorder: f64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that a packet is damaged.
    pub corrupt: f64,
}

impl LinkConfig {
    /// Whether it does nothing to a packet: what enters it comes out at once.
    pub fn is_wire(&self) -> bool {
        let happens = [self.reorder, self.duplicate, self.corrupt];
        matches!(self.capacity, Capacity::Unlimited)
            && self.delay.is_zero()
            && self.jitter.is_zero()
            && self.loss == LossConfig::None
            && happens.iter().all(|p| *p == 0.0)
    }
}

/// How fast a link serves its queue.
#[derive(Clone, Debug, Default)]
pub enum Capacity {
    /// Without serialisation time, hence without a queue.
    #[default]
    Unlimited,
    /// A constant rate.
    Rate(Rate),
    /// A recording, at `offset` into it when the world begins.
    Trace { trace: Arc<CapacityTrace>, offset: Duration },
}

/// How much may wait in a queue, the packet in service not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    Packets(u32),
    Bytes(u64),
    /// As many bytes as drain in this time at the rate of the moment (with chances: the mean of
    /// the second from then on).
    Time(Duration),
}

impl Default for Limit {
    /// 1000 packets: netem's default, and the usual length of a NIC's transmit queue.
    fn default() -> Self {
        Limit::Packets(1000)
    }
}

/// An event in the life of a link.
#[derive(Clone, Debug)]
pub enum LinkChange {
    /// What is sent is dropped, what waits is kept until `Up`; what has left the queue arrives.
    Down,
    /// To the link the same as `Down`; only the host differs: it is not told.
    Silent,
    /// The end of `Down` or `Silent`.
    Up,
    /// The rate from now on; the packet in service sends its remaining bits at it.
    Rate(Rate),
    /// The capacity from now on.
    Capacity(Capacity),
    /// The delay of packets whose serialisation ends from now on.
    Delay(Duration),
    /// The loss of packets accepted from now on.
    Loss(LossConfig),
}

impl LinkChange {
    /// The word the recorder uses.
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

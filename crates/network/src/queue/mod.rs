//! Queue disciplines: which packet is dropped from a full or growing queue, and which is served
//! next.
//!
//! A *tail* discipline decides when a packet arrives and serves in order of arrival (drop-tail,
//! RED); the link then knows at once when the packet will leave and needs no event for it. A *head*
//! discipline holds the packets and decides when the link is free (CoDel, FQ-CoDel). Random loss on
//! the link is left to `loss`.

mod codel;
mod drop_tail;
mod fq_codel;
mod red;

use base::{Chance, DropReason, Duration, Instant};
use codel::CoDelQueue;
use drop_tail::DropTail;
use fq_codel::FqCoDel;
use red::Red;
use wire::Packet;

/// Name, one sentence and source of every discipline.
pub const NAMES: [(&str, &str, &str); 4] = [
    ("droptail", "Drops packets that arrive at a full queue.", "netem's `limit`"),
    (
        "red",
        "Drops early, the more often the longer the average queue: MIN, MAX, probability at MAX.",
        "Floyd and Jacobson 1993",
    ),
    ("codel", "Drops at the head while packets wait longer than 5 ms for 100 ms.", "RFC 8289"),
    ("fq_codel", "A queue for each flow, CoDel in each, new flows first.", "RFC 8290"),
];

/// How a discipline and its parameters are written, for a help text.
pub const FORMS: &str = "droptail | red MIN MAX P | codel | fq_codel";
/// The same in a sentence.
pub const ABOUT: &str =
    "Queue discipline: droptail, red MIN MAX P, codel or fq_codel. Default: droptail.";
/// The same as a regular expression.
pub const PATTERN: &str = r"^(droptail|red .+|codel|fq_codel)$";

/// The disciplines by name, with their parameters.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum QueueConfig {
    /// Drops packets that arrive at a full queue.
    #[default]
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// Lower threshold of the average queue, in packets; below it nothing is dropped.
        min_packets: f64,
        /// Upper threshold of the average queue, in packets; from it on everything is dropped.
        max_packets: f64,
        /// Probability of a drop just below the upper threshold, in 0 ..= 1.
        max_p: f64,
    },
    /// RFC 8289 with its default target of 5 ms and interval of 100 ms.
    CoDel,
    /// RFC 8290 with its defaults.
    FqCoDel,
}

impl QueueConfig {
    /// As a path's description spells it.
    pub const fn name(&self) -> &'static str {
        let place = match self {
            QueueConfig::DropTail => 0,
            QueueConfig::Red { .. } => 1,
            QueueConfig::CoDel => 2,
            QueueConfig::FqCoDel => 3,
        };
        NAMES[place].0
    }

    /// The discipline of that name that has no parameters.
    pub fn by_name(name: &str) -> Option<QueueConfig> {
        let plain = [QueueConfig::DropTail, QueueConfig::CoDel, QueueConfig::FqCoDel];
        plain.into_iter().find(|queue| queue.name() == name)
    }
}

/// The backlog of a queue, without the packet in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets that wait.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

/// A packet that arrives at a tail discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    pub chance: Chance,
    pub owner: u64,
    /// IP length.
    pub len: u32,
    /// The backlog before it.
    pub backlog: Backlog,
    /// Since when the link has been idle; `None` if it is busy.
    pub idle_since: Option<Instant>,
    pub room: Room,
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    Packets(u64),
    Bytes(u64),
}

impl Room {
    /// Whether a packet of `len` bytes may wait behind `backlog`.
    pub(crate) fn fits(self, backlog: Backlog, len: u32) -> bool {
        match self {
            Room::Packets(limit) => backlog.packets < limit,
            Room::Bytes(limit) => backlog.bytes.saturating_add(u64::from(len)) <= limit,
        }
    }

    /// Whether it is not exceeded.
    pub(crate) const fn holds(self, backlog: Backlog) -> bool {
        match self {
            Room::Packets(limit) => backlog.packets <= limit,
            Room::Bytes(limit) => backlog.bytes <= limit,
        }
    }
}

/// Decides at arrival; serves in order of arrival.
pub(crate) trait TailDiscipline {
    /// Whether the packet is kept.
    fn admit(&mut self, arrival: &Arrival) -> Result<(), DropReason>;
}

/// Holds packets; decides when the link is free.
pub(crate) trait HeadDiscipline {
    fn enqueue(&mut self, held: Held);
    /// The packet to serve at `now`; packets dropped meanwhile go to `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Held>) -> Option<Held>;
    /// Whether a full queue takes the packet that arrives, and sheds packets then; otherwise it
    /// drops that packet.
    fn sheds(&self) -> bool {
        false
    }
    /// Drop one packet or several of the discipline's choice from a queue beyond its limit.
    fn shed(&mut self, _dropped: &mut Vec<Held>) {}
    fn backlog(&self) -> Backlog;
}

/// A packet that waits in a head discipline.
#[derive(Debug)]
pub(crate) struct Held {
    /// When it was enqueued.
    pub since: Instant,
    /// Its place in the order of acceptance.
    pub number: u64,
    /// IP length.
    pub len: u32,
    pub packet: Box<Packet>,
}

/// The queue of a link.
#[derive(Debug)]
pub(crate) enum Queue {
    Tail(Tail),
    Head(Box<Head>),
}

/// The tail disciplines by name.
#[derive(Debug)]
pub(crate) enum Tail {
    DropTail(DropTail),
    Red(Box<Red>),
}

/// The head disciplines by name.
#[derive(Debug)]
pub(crate) enum Head {
    CoDel(CoDelQueue),
    FqCoDel(FqCoDel),
}

impl Queue {
    /// `packet_time` is the serialisation time of a 1500-byte packet on this link.
    pub(crate) fn new(config: QueueConfig, packet_time: Option<Duration>) -> Self {
        match config {
            QueueConfig::DropTail => Queue::Tail(Tail::DropTail(DropTail)),
            QueueConfig::Red { min_packets, max_packets, max_p } => {
                let red = Red::new(min_packets, max_packets, max_p, packet_time);
                Queue::Tail(Tail::Red(Box::new(red)))
            }
            QueueConfig::CoDel => Queue::Head(Box::new(Head::CoDel(CoDelQueue::default()))),
            QueueConfig::FqCoDel => Queue::Head(Box::new(Head::FqCoDel(FqCoDel::new()))),
        }
    }
}

impl TailDiscipline for Tail {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Result<(), DropReason> {
        match self {
            Tail::DropTail(queue) => queue.admit(arrival),
            Tail::Red(queue) => queue.admit(arrival),
        }
    }
}

impl HeadDiscipline for Head {
    fn enqueue(&mut self, held: Held) {
        match self {
            Head::CoDel(queue) => queue.enqueue(held),
            Head::FqCoDel(queue) => queue.enqueue(held),
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Held>) -> Option<Held> {
        match self {
            Head::CoDel(queue) => queue.dequeue(now, dropped),
            Head::FqCoDel(queue) => queue.dequeue(now, dropped),
        }
    }

    fn sheds(&self) -> bool {
        match self {
            Head::CoDel(queue) => queue.sheds(),
            Head::FqCoDel(queue) => queue.sheds(),
        }
    }

    fn shed(&mut self, dropped: &mut Vec<Held>) {
        match self {
            Head::CoDel(queue) => queue.shed(dropped),
            Head::FqCoDel(queue) => queue.shed(dropped),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            Head::CoDel(queue) => queue.backlog(),
            Head::FqCoDel(queue) => queue.backlog(),
        }
    }
}

//! The record of a scheduler call: the data on offer, every path with the numbers compared, and the
//! answer.
//!
//! Plain values without the engine's types. They are built only for a recorder that asks for
//! `EventMask::DECISION`; their presentation is left to the lab.

use crate::id::{InterfaceId, PathId, SocketId};
use crate::record::Blocked;
use crate::time::Duration;
use std::cmp::Ordering;

/// A call of a scheduler and its answer.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerCall {
    /// Multi-path connection whose scheduler was called.
    pub socket: SocketId,
    /// The segment on offer; `None` if everything written was assigned.
    pub offered: Option<Offered>,
    /// Every path, by ascending number.
    pub paths: Vec<Candidate>,
    /// The scheduler's explanation; `None` if it gives none.
    pub why: Option<Explanation>,
    /// The scheduler's answer.
    pub answer: Answer,
    /// Paths whose windows the answer halves.
    pub penalised: Vec<PathId>,
}

/// Data that can be sent on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Position of the first byte in the connection's stream.
    pub offset: u64,
    /// All bytes on offer.
    pub len: u64,
    /// The data were sent on another path before.
    pub reinject: bool,
}

/// A path at the time of the call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// Number of the path in its connection.
    pub path: PathId,
    /// Interface of this host that the path starts at.
    pub interface: InterfaceId,
    /// Smoothed RTT (RFC 6298 s2); zero before the first sample.
    pub srtt: Duration,
    /// Congestion window, in segments.
    pub cwnd_segs: u32,
    /// Segments in flight.
    pub inflight_segs: u32,
    /// Segments assigned to the path and not yet transmitted.
    pub unsent_segs: u32,
    /// Reasons not to use the path for the data on offer; empty if there is none.
    pub marks: Marks,
}

/// A reason not to use a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Its subflow is not established or closed.
    Closed,
    /// Its retransmission timer expired and nothing was acknowledged since.
    Failed,
    /// Either end asked to use it as a backup only.
    Backup,
    /// It may carry probes and reinjections only.
    Probing,
    /// The congestion window is full or will be filled by the queued data.
    WindowFull,
    /// It retransmits data that a time-out declared lost.
    Loss,
    /// TCP Small Queues: the limit of bytes below the transport is reached.
    SmallQueue,
    /// The segment exceeds its receive window.
    ReceiveWindow,
    /// It carried the segment before.
    Carried,
}

impl Mark {
    /// All of them, in the order of the enum.
    pub const ALL: [Mark; 9] = [
        Mark::Closed,
        Mark::Failed,
        Mark::Backup,
        Mark::Probing,
        Mark::WindowFull,
        Mark::Loss,
        Mark::SmallQueue,
        Mark::ReceiveWindow,
        Mark::Carried,
    ];
}

/// A set of marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks(u16);

impl Marks {
    /// The set with `mark` if `holds`.
    #[must_use]
    pub const fn with(self, mark: Mark, holds: bool) -> Self {
        Marks(self.0 | (holds as u16) << mark as u16)
    }

    /// Whether `mark` is in the set.
    pub const fn contains(self, mark: Mark) -> bool {
        self.0 & 1 << mark as u16 != 0
    }

    /// The marks in the set, in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |mark| self.contains(*mark))
    }
}

/// A scheduler's explanation of its answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The path that the rule selects; `None` to wait.
    pub best: Option<PathId>,
    /// The rule that applied, in a few words.
    pub rule: &'static str,
    /// Numbers of single paths that only this scheduler has.
    pub scores: Vec<Score>,
    /// Comparisons of two paths, in order.
    pub tests: Vec<Test>,
}

/// A number that a scheduler computed for a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// The path that the number describes.
    pub path: PathId,
    /// Name of the quantity, in a few words.
    pub name: &'static str,
    /// The number, in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: Unit,
}

/// Two numbers whose order decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Test {
    /// Name and value of the left operand.
    pub left: (&'static str, f64),
    /// Name and value of the right operand.
    pub right: (&'static str, f64),
    /// Unit of both values.
    pub unit: Unit,
    /// Result of comparing `left` with `right` in the scheduler's own arithmetic.
    pub order: Ordering,
}

/// Unit of a score or a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Time in seconds.
    Seconds,
    /// Payload bytes.
    Bytes,
    /// Segments of the path's MSS.
    Segments,
}

/// The answer of a scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Send data on a path.
    Send {
        /// The path to send on.
        path: PathId,
        /// Which data to send.
        what: Sent,
        /// Position of the data in the connection's stream; `None` for a probe.
        offset: Option<u64>,
        /// Upper limit of the bytes to send.
        len: u64,
        /// The data are queued on the path regardless of its congestion window.
        queued: bool,
    },
    /// Send nothing until the next event, for this reason.
    Wait(Blocked),
}

/// Which data to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Data that were not assigned to a path before.
    New,
    /// The head of the reinjection queue.
    Reinjection,
    /// A copy of data that another path has.
    Copy,
    /// A copy that measures a path.
    Probe,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_a_set_in_the_order_of_the_enum() {
        let marks = Marks::default().with(Mark::Carried, true).with(Mark::Failed, true);
        let marks = marks.with(Mark::Closed, false);
        assert!(marks.iter().eq([Mark::Failed, Mark::Carried]));
        assert!(Mark::ALL.iter().enumerate().all(|(index, mark)| *mark as usize == index));
    }
}

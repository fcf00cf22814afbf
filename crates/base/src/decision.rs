//! What is recorded of a scheduler call: the data on offer, every path with the numbers compared,
//! and the answer (rule 8).
//!
//! Plain values without the engine's types. They are built only for a recorder that wants
//! `EventMask::DECISION`; how they read is the lab's business.

use crate::id::{InterfaceId, PathId, SocketId};
use crate::record::Blocked;
use crate::time::Duration;
use std::cmp::Ordering;

/// A question to a scheduler and its answer.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerCall {
    pub socket: SocketId,
    /// The segment on offer; `None`: everything written was handed out.
    pub offered: Option<Offered>,
    /// Every path there was, by ascending number.
    pub paths: Vec<Candidate>,
    /// What the scheduler says of its rule; `None` from one that does not explain itself.
    pub why: Option<Explanation>,
    pub answer: Answer,
    /// Paths whose windows the answer halves.
    pub penalised: Vec<PathId>,
}

/// Data that a path could be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Position of the first byte in the connection's stream.
    pub offset: u64,
    /// Bytes, all of what is on offer.
    pub len: u64,
    /// They were sent on another path before.
    pub reinject: bool,
}

/// A path at the time of the call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    pub path: PathId,
    pub interface: InterfaceId,
    /// Zero without a sample.
    pub srtt: Duration,
    pub cwnd_segs: u32,
    pub inflight_segs: u32,
    /// Handed or assigned to the path, not transmitted.
    pub unsent_segs: u32,
    pub marks: Marks,
}

/// What speaks against a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Its subflow is not open for data (yet, or any more).
    Closed,
    /// Its retransmission timer expired, no progress since.
    Failed,
    /// Either side asks to spare it.
    Backup,
    /// Probes and reinjections only.
    Probing,
    /// The congestion window is full, or will be by what is queued.
    WindowFull,
    /// It repeats what a time-out declared lost.
    Loss,
    /// TCP Small Queues: enough waits below the transport.
    SmallQueue,
    /// Its receive window does not take the segment.
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

/// A scheduler's account of the answer it is about to give.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The path that the rule names; `None`: it waits.
    pub best: Option<PathId>,
    /// The rule in a few words, as it applied.
    pub rule: &'static str,
    /// What it has of single paths beside what everybody sees.
    pub scores: Vec<Score>,
    /// What it compared of two paths, in order.
    pub tests: Vec<Test>,
}

/// A number that a scheduler has of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    pub path: PathId,
    pub name: &'static str,
    pub value: f64,
    pub unit: Unit,
}

/// Two numbers that a scheduler compared, of which the order decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Test {
    pub left: (&'static str, f64),
    pub right: (&'static str, f64),
    pub unit: Unit,
    /// Of the left one to the right one, in the scheduler's own arithmetic.
    pub order: Ordering,
}

/// Of a score.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Seconds,
    Bytes,
    Segments,
}

/// What a scheduler answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Send {
        path: PathId,
        what: Sent,
        /// Where the data begin in the connection's stream; unknown of a probe.
        offset: Option<u64>,
        /// At most so many bytes.
        len: u64,
        /// Into the path's queue, whatever its congestion window.
        queued: bool,
    },
    Wait(Blocked),
}

/// Which data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Never handed to a path before.
    New,
    /// The head of the reinject queue.
    Reinjection,
    /// A copy of what another path has.
    Copy,
    /// A copy to measure a path.
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

//! `Paths`: what the executor asks of a protocol.
//!
//! A path is an MPTCP subflow or a pair of SCTP addresses. The protocol owns its sequence numbers,
//! congestion window, retransmission on the path and wire format; the executor decides which data
//! go to which path. All calls are generic, so that none of them is dispatched at run time.

use crate::congestion::Penalty;
use crate::scheduler::PathView;
use base::{Blocked, Context, Duration, Instant, PathId};
use std::ops::Range;
use wire::Payload;

/// Data for one path: a mapping of MPTCP, or the user data of a DATA chunk.
#[derive(Debug)]
pub struct Piece {
    /// Position of the first byte in the connection's stream.
    pub offset: u64,
    pub payload: Payload,
    /// Several pieces of this many bytes, of which the last may be shorter, handed over as one.
    pub most: u32,
    /// More was written after it.
    pub more: bool,
}

/// The progress of a path, by which fail-over judges it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Advances with every cumulative acknowledgement of data of this path.
    pub una: u64,
    /// Data behind a gap were acknowledged.
    pub is_sacked: bool,
    /// Data were passed to it that it has not acknowledged.
    pub has_outstanding: bool,
    /// Either host asks to use it as a backup only.
    pub is_backup: bool,
    /// Retransmission time-out.
    pub rto: Duration,
}

/// What a path is asked to send so that the peer answers on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prompt {
    /// A window probe (RFC 9293 s3.8.6.1).
    Window,
    /// A keep-alive segment (RFC 1122 s4.2.3.6) or a HEARTBEAT (RFC 9260 s8.3).
    KeepAlive,
    /// The retransmission that waits for the back-off of its timer.
    Retransmission,
}

/// The paths of a connection.
///
/// A path is known by its number, which is below [`Paths::count`]. The number of a path that is
/// over may be given to another one.
pub trait Paths {
    /// Numbers in use, those of paths that are over included.
    fn count(&self) -> usize;

    /// What a scheduler sees of a path; `None`: it is over. Left to the executor: failures found by
    /// it, the mark of the path policy, and data that are assigned and not dispatched.
    fn view(&self, path: PathId) -> Option<PathView>;

    /// Writes the same to its place; `false`: the path is over. What is not asked for by `whole` a
    /// protocol may leave out (`Scheduler::reads_admission_only`).
    fn look(&self, path: PathId, view: &mut PathView, _whole: bool) -> bool {
        let current = self.view(path);
        if let Some(current) = current {
            *view = current;
        }
        current.is_some()
    }

    /// The path was given data: updates windows and queue of its view. An idle path may have to
    /// restart its window first.
    fn refresh(&mut self, _cx: &Context<'_>, view: &mut PathView) {
        if let Some(current) = self.view(view.id) {
            *view = current;
        }
    }

    /// Whether data may be passed to the path at all.
    fn is_usable(&self, path: PathId) -> bool {
        self.view(path).is_some_and(|view| view.is_open())
    }

    /// Payload of a full segment or packet, in bytes.
    fn segment_size(&self, path: PathId) -> u32 {
        self.view(path).map_or(0, |view| view.window.mss)
    }

    /// The longest piece that the path takes at once, in bytes.
    fn max_piece(&self, _path: PathId) -> u32 {
        u32::from(u16::MAX)
    }

    /// Whether data that begin at `offset` may follow what was passed to the path last.
    fn may_carry(&self, _path: PathId, _offset: u64) -> bool {
        true
    }

    /// Whether data that another path has may go on this one, too. A protocol refuses where a
    /// retransmission on another path is its own decision.
    fn may_copy(&self, _path: PathId, _range: &Range<u64>) -> bool {
        true
    }

    /// Whether the peer accepts the same data on several paths at all.
    fn accepts_copies(&self) -> bool {
        true
    }

    /// Whether data that are put into the queue of a path that is not idle change nothing of its
    /// view but what is unsent and what its own window permits.
    fn only_queues(&self) -> bool {
        false
    }

    /// Put data at the end of the path's queue.
    fn enqueue(&mut self, path: PathId, piece: Piece);

    /// Penalise a path that blocks others; nothing happens where the protocol has no penalties.
    fn penalise(&mut self, _now: Instant, _path: PathId, _kind: Penalty) {}

    /// The progress of the path.
    fn progress(&self, path: PathId) -> Progress;

    /// Time until the retransmission timer of the path expires; `None`: it does not run.
    /// By default a whole time-out while data are outstanding.
    fn timer_left(&self, path: PathId, _now: Instant, _counts_unsent: bool) -> Option<Duration> {
        let progress = self.progress(path);
        progress.has_outstanding.then_some(progress.rto)
    }

    /// The time within which a probe of the path is answered: a round trip and its variation, of
    /// which `slack` is the least.
    fn probe_patience(&self, path: PathId, slack: Duration) -> Duration {
        self.view(path).map_or(slack, |view| view.rtt.srtt + (view.rtt.rttvar * 4).max(slack))
    }

    /// Send something that the peer answers.
    fn prompt(&mut self, cx: &Context<'_>, path: PathId, prompt: Prompt);

    /// When a timer of the connection fires that is set to `interval` now.
    fn expiry(&self, now: Instant, interval: Duration) -> Instant {
        now + interval
    }

    /// Bytes passed to the path and not sent, zero unless it is established.
    fn unsent(&self, path: PathId) -> u64;

    /// Why these bytes are not sent.
    fn why_unsent(&self, _path: PathId) -> Blocked {
        Blocked::CongestionWindow
    }

    /// The connection has ended or uses one path only: nothing is scheduled any more.
    fn is_over(&self) -> bool;
}

//! The recorder, its typed events, and the context that passes time, random draws and the recorder
//! to every call.
//!
//! Metrics, time series, captures, decision logs and the result hash are all derived from these
//! events. An event is built only if its bit is in the mask, so a run without a recorder pays one
//! test per place. The presentation of events is left to the lab.

use crate::chance::Chance;
use crate::decision::SchedulerCall;
use crate::id::{HostId, LinkId, PathId, SocketId};
use crate::time::{Duration, Instant};
use std::hint::cold_path;

/// How code treats what is usual: an expected segment, a link without loss.
///
/// A short way asks once whether a packet is the usual one, and leaves out what cannot concern it.
/// It falls through to the whole way and gives the same result; a test switches short ways off and
/// compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ways {
    /// Short ways are taken where they exist.
    #[default]
    Short,
    /// Everything takes the whole way.
    Whole,
}

/// Passed to every call: the time, the random draws of the run, and the recorder.
pub struct Context<'a> {
    /// The current time.
    pub now: Instant,
    /// The random draws of the run.
    pub chance: Chance,
    /// The host whose stack is being called.
    pub host: HostId,
    /// A connection waits for departures at known times, and needs a report of each.
    pub recalls: bool,
    /// Departures from interfaces at this very time are still to come.
    pub departures_follow: bool,
    ways: Ways,
    mask: EventMask,
    recorder: Option<&'a mut dyn Recorder>,
}

impl<'a> Context<'a> {
    /// A context that records nothing.
    pub const fn quiet(now: Instant, chance: Chance) -> Self {
        let (ways, mask) = (Ways::Short, EventMask::NONE);
        Context {
            now,
            chance,
            host: HostId(0),
            recalls: false,
            departures_follow: false,
            ways,
            mask,
            recorder: None,
        }
    }

    /// A context whose events go to `recorder`, if its mask asks for them.
    pub fn recording(now: Instant, chance: Chance, recorder: &'a mut dyn Recorder) -> Self {
        Context::recording_kinds(recorder.mask(), now, chance, recorder)
    }

    /// The same where the recorder's mask is known.
    #[inline]
    pub const fn recording_kinds(
        mask: EventMask,
        now: Instant,
        chance: Chance,
        recorder: &'a mut dyn Recorder,
    ) -> Self {
        let mut cx = Context::quiet(now, chance);
        cx.mask = mask;
        cx.recorder = Some(recorder);
        cx
    }

    /// The same context with these ways.
    #[must_use]
    pub const fn by_ways(mut self, ways: Ways) -> Self {
        self.ways = ways;
        self
    }

    /// The time by which known departures from interfaces have happened.
    #[inline]
    pub fn departed_by(&self) -> Instant {
        self.now - Duration::from_nanos(self.departures_follow.into())
    }

    /// Whether the usual may take a short way.
    #[inline]
    pub const fn has_short_ways(&self) -> bool {
        matches!(self.ways, Ways::Short)
    }

    /// The same context for another host.
    #[must_use]
    pub const fn for_host(mut self, host: HostId) -> Self {
        self.host = host;
        self
    }

    /// Whether any event of `kind` is requested.
    #[inline]
    pub const fn wants(&self, kind: EventMask) -> bool {
        self.mask.intersects(kind)
    }

    /// Records the event that `build` returns, if its kind is requested.
    #[inline(always)]
    pub fn record(&mut self, kind: EventMask, build: impl FnOnce() -> Event) {
        if self.mask.intersects(kind)
            && let Some(recorder) = self.recorder.as_deref_mut()
        {
            // The event is built out of line: most runs record few kinds.
            cold_path();
            recorder.record_kind(kind, self.now, self.host, &build());
        }
    }
}

/// Receives events.
pub trait Recorder {
    /// The kinds of events requested; called once per context.
    fn mask(&self) -> EventMask;
    /// Record an event of `host` at `now`.
    fn record(&mut self, now: Instant, host: HostId, event: &Event);
    /// The same with the kind of the event, for a recorder that passes events on to others.
    fn record_kind(&mut self, kind: EventMask, now: Instant, host: HostId, event: &Event) {
        let _ = kind;
        self.record(now, host, event);
    }
}

/// A set of event kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventMask(u32);

impl EventMask {
    /// No event.
    pub const NONE: EventMask = EventMask(0);
    /// Segments sent, acknowledged and declared lost.
    pub const SEGMENT: EventMask = EventMask(1);
    /// Congestion windows, RTT samples and congestion states.
    pub const WINDOW: EventMask = EventMask(1 << 1);
    /// Timers that fired.
    pub const TIMER: EventMask = EventMask(1 << 2);
    /// Data delivered to an application.
    pub const DELIVERY: EventMask = EventMask(1 << 3);
    /// Why nothing was sent.
    pub const BLOCKED: EventMask = EventMask(1 << 4);
    /// Packets that links delivered.
    pub const PACKET: EventMask = EventMask(1 << 5);
    /// Connections opened and closed, links that changed.
    pub const STATE: EventMask = EventMask(1 << 6);
    /// Scheduler decisions with their inputs.
    pub const DECISION: EventMask = EventMask(1 << 7);
    /// Data that reached a host, in order or not.
    pub const ARRIVAL: EventMask = EventMask(1 << 8);
    /// Accounts of connections: why senders are stopped and what waits at receivers.
    pub const ACCOUNT: EventMask = EventMask(1 << 9);
    /// What SACKs mean for each path of an association with data on all paths (CMT-SCTP).
    pub const REPORT: EventMask = EventMask(1 << 10);
    /// Data that an application gave to a socket.
    pub const WRITE: EventMask = EventMask(1 << 11);
    /// Packets that links accepted, with the queue that they found.
    pub const QUEUE: EventMask = EventMask(1 << 12);
    /// Packets that links dropped.
    pub const DROP: EventMask = EventMask(1 << 13);
    /// All events.
    pub const ALL: EventMask = EventMask(u32::MAX);

    /// Both sets.
    #[must_use]
    pub const fn union(self, other: EventMask) -> EventMask {
        EventMask(self.0 | other.0)
    }

    /// The kinds of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: EventMask) -> EventMask {
        EventMask(self.0 & !other.0)
    }

    /// Whether the sets share a kind.
    pub const fn intersects(self, other: EventMask) -> bool {
        self.0 & other.0 != 0
    }
}

/// An event. Offsets are 64-bit positions in their stream, from zero.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A segment with payload or FIN was sent.
    SegmentSent {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Position of its first byte in the subflow's stream.
        offset: u64,
        /// Payload bytes.
        len: u32,
        /// The segment was sent before, on the same path.
        retransmission: bool,
        /// Segments in flight after the event.
        inflight_segs: u32,
    },
    /// An acknowledgement arrived while segments were outstanding.
    SegmentAcked {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Cumulative acknowledgement: all bytes of the subflow's stream below this position.
        up_to: u64,
        /// Bytes newly acknowledged, selectively or cumulatively; 0 for a duplicate.
        newly_acked: u64,
        /// Segments in flight after the event.
        inflight_segs: u32,
    },
    /// A SACK acknowledges or misses chunks of a path, of an association with data on all paths.
    PathReport {
        /// Socket of the association.
        socket: SocketId,
        /// Path of the last transmission of these chunks.
        path: PathId,
        /// Path that the SACK arrived on, if it is one.
        over: Option<PathId>,
        /// Bytes newly acknowledged.
        newly_acked: u32,
        /// Congestion window update (CUC): the window may grow.
        may_grow: bool,
        /// Chunks of the path in flight that count as missing: with split fast retransmit (SFR)
        /// those below a new arrival of the path itself.
        missing: u32,
        /// Delayed acknowledgements (DAC): how often those below all new arrivals count.
        times: u8,
        /// Chunks that counted as missing for the third time, and are lost.
        lost: u32,
    },
    /// A segment was declared lost.
    SegmentLost {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Position of its first byte in the subflow's stream.
        offset: u64,
        /// Sequence space of the segment, FIN included, in bytes.
        len: u32,
        /// The rule that declared it lost.
        reason: LossReason,
    },
    /// The congestion window, threshold or state changed.
    WindowChange {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Congestion window, in bytes.
        cwnd_bytes: u64,
        /// Slow-start threshold, in bytes; `None` while still infinite.
        ssthresh_bytes: Option<u64>,
        /// Segments in flight after the event.
        inflight_segs: u32,
        /// Congestion state after the event.
        state: CaState,
    },
    /// A valid RTT sample.
    RttSample {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// The measured round-trip time.
        sample: Duration,
        /// Smoothed RTT, the sample included (RFC 6298 s2).
        srtt: Duration,
        /// RTT variation, the sample included (RFC 6298 s2).
        rttvar: Duration,
        /// Retransmission time-out computed from both, without back-off (RFC 6298 s2).
        rto: Duration,
    },
    /// A timer fired.
    TimerFired {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Name of the timer, such as `rto`.
        timer: &'static str,
    },
    /// A segment with new payload arrived.
    SegmentArrived {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Position of its first byte in the subflow's stream.
        offset: u64,
        /// Payload bytes within the window.
        len: u32,
    },
    /// Data in order within a subflow reached its connection.
    DataArrived {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// Position of the first byte in the connection's stream.
        offset: u64,
        /// Position of the same byte in the subflow's stream.
        subflow_offset: u64,
        /// Payload bytes.
        len: u32,
    },
    /// A socket took data from the application.
    Written {
        /// Socket of the connection.
        socket: SocketId,
        /// Bytes taken.
        len: u32,
    },
    /// In-order data was read by the application.
    Delivered {
        /// Socket of the connection.
        socket: SocketId,
        /// Position of the first byte in the connection's stream.
        offset: u64,
        /// Bytes read.
        len: u32,
    },
    /// Sending stopped.
    Blocked {
        /// Socket of the connection.
        socket: SocketId,
        /// Path that cannot send; 0 if the scheduler of a multi-path connection waits.
        path: PathId,
        /// Why nothing was sent.
        why: Blocked,
    },
    /// The reason why a sender is stopped changed.
    Stops {
        /// Socket of the connection.
        socket: SocketId,
        /// The new reason.
        why: Blocked,
        /// Bytes of the connection's stream below this position were sent.
        sent_to: u64,
        /// Bytes of the connection's stream below this position were written.
        written_to: u64,
    },
    /// The bytes that wait at a receiver for preceding bytes changed.
    Holds {
        /// Socket of the connection.
        socket: SocketId,
        /// Bytes received out of order and not delivered.
        bytes: u64,
        /// The next byte of the reader is missing while later bytes have arrived.
        blocks_reader: bool,
    },
    /// A scheduler was called. Boxed, since it is large and rare.
    Decision(Box<SchedulerCall>),
    /// A connection or subflow entered a state.
    Connection {
        /// Socket of the connection.
        socket: SocketId,
        /// Name of the new state in RFC 9293 s3.3.2, such as `FIN-WAIT-1`.
        state: &'static str,
    },
    /// A path is only probed from now on, or carries data again.
    Probing {
        /// Socket of the connection.
        socket: SocketId,
        /// Path of the connection.
        path: PathId,
        /// The path carries probes and reinjections only.
        on: bool,
    },
    /// A link accepted a packet.
    PacketAccepted {
        /// The link.
        link: LinkId,
        /// IP datagram length, in bytes.
        len: u32,
        /// Packets in the queue ahead of it, the packet in service not counted.
        waiting: u32,
    },
    /// A link lost a packet.
    PacketDropped {
        /// The link.
        link: LinkId,
        /// IP datagram length, in bytes.
        len: u32,
        /// Where and why the packet was lost.
        reason: DropReason,
    },
    /// A packet came out of a link. `flow` and `seq` identify it for the result hash.
    PacketDelivered {
        /// The link.
        link: LinkId,
        /// IP datagram length, in bytes.
        len: u32,
        /// Number of the flow at the sending host.
        flow: u32,
        /// TCP sequence number; 0 for other protocols.
        seq: u32,
        /// Transport payload, in bytes.
        payload_len: u32,
    },
    /// A link went up or down or changed its rate, delay or loss.
    LinkChange {
        /// The link.
        link: LinkId,
        /// Name of the change, such as `down` or `rate`.
        what: &'static str,
    },
}

/// Why a segment was declared lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossReason {
    /// RACK's time rule (RFC 8985).
    Rack,
    /// Duplicate acknowledgements or SACKed segments above (RFC 6675, 5681).
    DupThresh,
    /// The retransmission timer.
    Timeout,
}

/// The congestion state of a path, with the names of Linux (`tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// No sign of loss.
    #[default]
    Open,
    /// Duplicate acknowledgements or SACKs without a loss.
    Disorder,
    /// The window is being reduced without a loss in the network.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission time-out.
    Loss,
}

/// Why nothing was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocked {
    /// The congestion window is full.
    CongestionWindow,
    /// The peer's receive window is full.
    ReceiveWindow,
    /// The send buffer is full and the application waits.
    SendBuffer,
    /// The scheduler waits for another path.
    SchedulerWaits,
    /// The next departure time of pacing is not reached.
    Pacing,
    /// TCP Small Queues: the limit of bytes below the transport is reached.
    SmallQueue,
    /// Nagle's algorithm delays a small segment (RFC 9293 s3.7.4).
    Nagle,
    /// Nothing to send.
    NothingToSend,
    /// The path is down.
    PathDown,
    /// The connection is being opened.
    Opening,
}

impl Blocked {
    /// All of them, in the order of the enum.
    pub const ALL: [Blocked; 10] = [
        Blocked::CongestionWindow,
        Blocked::ReceiveWindow,
        Blocked::SendBuffer,
        Blocked::SchedulerWaits,
        Blocked::Pacing,
        Blocked::SmallQueue,
        Blocked::Nagle,
        Blocked::NothingToSend,
        Blocked::PathDown,
        Blocked::Opening,
    ];

    /// Its place in `ALL`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in tables and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Blocked::CongestionWindow => "congestion_window",
            Blocked::ReceiveWindow => "receive_window",
            Blocked::SendBuffer => "send_buffer",
            Blocked::SchedulerWaits => "scheduler",
            Blocked::Pacing => "pacing",
            Blocked::SmallQueue => "small_queue",
            Blocked::Nagle => "nagle",
            Blocked::NothingToSend => "nothing_to_send",
            Blocked::PathDown => "path_down",
            Blocked::Opening => "opening",
        }
    }
}

/// Why a link lost a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The queue discipline dropped it early.
    Early,
    /// The loss model.
    Random,
    /// The link was down.
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_the_order_of_the_enum() {
        assert!(Blocked::ALL.iter().enumerate().all(|(place, why)| why.index() == place));
    }

    struct Count(u32);

    impl Recorder for Count {
        fn mask(&self) -> EventMask {
            EventMask::TIMER
        }
        fn record(&mut self, _now: Instant, _host: HostId, _event: &Event) {
            self.0 += 1;
        }
    }

    #[test]
    fn an_unwanted_event_is_never_built() {
        let mut count = Count(0);
        let mut cx = Context::recording(Instant::ZERO, Chance::new(1, 0), &mut count);
        cx.record(EventMask::PACKET, || unreachable!("the mask has no packets"));
        cx.record(EventMask::TIMER, || Event::TimerFired {
            socket: SocketId(0),
            path: PathId(0),
            timer: "rto",
        });
        assert_eq!(count.0, 1);
    }
}

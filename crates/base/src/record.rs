//! The recorder, its typed events, and the context that carries time, chance and recorder down.
//!
//! Metrics, time series, captures, decision logs and the result hash all hang off these events
//! (rule 8). An event is built only if its bit is in the mask, so a run without a recorder pays
//! one test per place. What an event means to a user is the lab's business.

use crate::chance::Chance;
use crate::decision::SchedulerCall;
use crate::id::{HostId, LinkId, PathId, SocketId};
use crate::time::{Duration, Instant};

/// What is passed down with every call: the time, the run's chance, and where events go.
pub struct Context<'a> {
    /// The present.
    pub now: Instant,
    /// The run's source of chance.
    pub chance: Chance,
    /// The host whose stack is being called.
    pub host: HostId,
    mask: EventMask,
    recorder: Option<&'a mut dyn Recorder>,
}

impl<'a> Context<'a> {
    /// A context that records nothing.
    pub const fn quiet(now: Instant, chance: Chance) -> Self {
        Context { now, chance, host: HostId(0), mask: EventMask::NONE, recorder: None }
    }

    /// A context whose events go to `recorder`, as far as its mask asks for them.
    pub fn recording(now: Instant, chance: Chance, recorder: &'a mut dyn Recorder) -> Self {
        let mask = recorder.mask();
        Context { now, chance, host: HostId(0), mask, recorder: Some(recorder) }
    }

    /// The same context speaking for `host`.
    #[must_use]
    pub const fn for_host(mut self, host: HostId) -> Self {
        self.host = host;
        self
    }

    /// Whether any event of `kind` is wanted.
    #[inline]
    pub const fn wants(&self, kind: EventMask) -> bool {
        self.mask.intersects(kind)
    }

    /// Record the event that `build` makes if its kind is wanted.
    #[inline]
    pub fn record(&mut self, kind: EventMask, build: impl FnOnce() -> Event) {
        if self.mask.intersects(kind)
            && let Some(recorder) = self.recorder.as_deref_mut()
        {
            recorder.record(self.now, self.host, &build());
        }
    }
}

/// Takes events.
pub trait Recorder {
    /// The kinds of events wanted; asked once per context.
    fn mask(&self) -> EventMask;
    /// One event of `host` at `now`.
    fn record(&mut self, now: Instant, host: HostId, event: &Event);
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
    /// Data handed to an application.
    pub const DELIVERY: EventMask = EventMask(1 << 3);
    /// Why nothing was sent.
    pub const BLOCKED: EventMask = EventMask(1 << 4);
    /// Packets on links: accepted, dropped, delivered.
    pub const PACKET: EventMask = EventMask(1 << 5);
    /// Connections opened and closed, links that changed.
    pub const STATE: EventMask = EventMask(1 << 6);
    /// Scheduler decisions with their inputs.
    pub const DECISION: EventMask = EventMask(1 << 7);
    /// Data that reached a host, in order or not.
    pub const ARRIVAL: EventMask = EventMask(1 << 8);
    /// Why senders stand still, and what waits at receivers: the accounts of connections.
    pub const ACCOUNT: EventMask = EventMask(1 << 9);
    /// Everything.
    pub const ALL: EventMask = EventMask(u32::MAX);

    /// Both sets.
    #[must_use]
    pub const fn union(self, other: EventMask) -> EventMask {
        EventMask(self.0 | other.0)
    }

    /// Whether the sets share a kind.
    pub const fn intersects(self, other: EventMask) -> bool {
        self.0 & other.0 != 0
    }
}

/// Something that happened. Offsets are 64-bit positions from zero in their stream.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A segment with payload (or FIN) was handed to the network.
    SegmentSent {
        socket: SocketId,
        path: PathId,
        /// Position of its first byte in the subflow's stream.
        offset: u64,
        /// Payload bytes.
        len: u32,
        retransmission: bool,
        /// Segments in flight afterwards.
        inflight_segs: u32,
    },
    /// An acknowledgement made progress.
    SegmentAcked {
        socket: SocketId,
        path: PathId,
        /// Everything below is acknowledged.
        up_to: u64,
        /// Bytes newly acknowledged, selectively ones included.
        newly_acked: u64,
        inflight_segs: u32,
    },
    /// A segment was declared lost.
    SegmentLost { socket: SocketId, path: PathId, offset: u64, len: u32, reason: LossReason },
    /// The congestion window, threshold or state changed.
    WindowChange {
        socket: SocketId,
        path: PathId,
        cwnd_bytes: u64,
        /// `None` while still infinite.
        ssthresh_bytes: Option<u64>,
        inflight_segs: u32,
        state: CaState,
    },
    /// A valid RTT sample.
    RttSample {
        socket: SocketId,
        path: PathId,
        sample: Duration,
        srtt: Duration,
        rttvar: Duration,
        rto: Duration,
    },
    /// A timer fired; the name is the timer's.
    TimerFired { socket: SocketId, path: PathId, timer: &'static str },
    /// A segment with payload that was not there yet came.
    SegmentArrived {
        socket: SocketId,
        path: PathId,
        /// Position of its first byte in the subflow's stream.
        offset: u64,
        /// Payload bytes within the window.
        len: u32,
    },
    /// Data in order within a subflow reached its connection.
    DataArrived {
        socket: SocketId,
        path: PathId,
        /// Position of the first byte in the connection's stream.
        offset: u64,
        /// Its position in the subflow's stream.
        subflow_offset: u64,
        len: u32,
    },
    /// In-order data was read by the application.
    Delivered { socket: SocketId, offset: u64, len: u32 },
    /// Sending stopped for a reason.
    Blocked { socket: SocketId, path: PathId, why: Blocked },
    /// A sender sends nothing more for now, for another reason than the last time.
    Stops {
        socket: SocketId,
        why: Blocked,
        /// Of the connection's stream everything below was sent,
        sent_to: u64,
        /// and written.
        written_to: u64,
    },
    /// What waits at a receiver for bytes before it changed.
    Holds {
        socket: SocketId,
        bytes: u64,
        /// The next byte that a reader needs is missing while later ones are there.
        blocks_reader: bool,
    },
    /// A scheduler was asked; boxed, for it is large and rare.
    Decision(Box<SchedulerCall>),
    /// A connection changed its state; the name is RFC 9293's.
    Connection { socket: SocketId, state: &'static str },
    /// A path is probed only from now on, or carries data again.
    Probing { socket: SocketId, path: PathId, on: bool },
    /// A link accepted a packet; so many waited before it.
    PacketAccepted { link: LinkId, len: u32, waiting: u32 },
    /// A link lost a packet.
    PacketDropped { link: LinkId, len: u32, reason: DropReason },
    /// A packet came out of a link. `flow` and `seq` identify it for the result hash.
    PacketDelivered { link: LinkId, len: u32, flow: u32, seq: u32, payload_len: u32 },
    /// A link went up or down or changed its rate, delay or loss.
    LinkChange { link: LinkId, what: &'static str },
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

/// The congestion state of a path, Linux's names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate acknowledgements or SACKs, not yet a loss.
    Disorder,
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
    /// The send buffer is full: the application waits.
    SendBuffer,
    /// The scheduler waits for another path.
    SchedulerWaits,
    /// The next departure time of pacing is not reached.
    Pacing,
    /// TCP Small Queues: enough below the transport already.
    SmallQueue,
    /// Nagle's rule holds a small segment back.
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

    /// As tables and documents spell it.
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
    /// The queue discipline dropped early.
    Early,
    /// The loss model.
    Random,
    /// The link was down.
    Down,
    /// No route leads on.
    NoRoute,
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

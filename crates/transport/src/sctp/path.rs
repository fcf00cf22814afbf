//! `Path`: timers, round trips and counters of one path of an association.
//!
//! Windows are left to the congestion controller, states to `PathStates`, chunks to `Outstanding`.

use super::rto::{Rto, RtoBounds};
use super::verifier::Verifier;
use base::{CaState, Duration, Instant, InterfaceId, PathId};
use std::net::IpAddr;
use wire::sctp::Tsn;

/// One path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub id: PathId,
    /// The interface that its packets leave on.
    pub interface: InterfaceId,
    pub rto: Rto,
    pub verifier: Verifier,
    /// When T3-rtx expires.
    pub t3: Option<Instant>,
    pub heartbeat: Heartbeat,
    /// The last time that data were sent.
    pub last_sent: Instant,
    /// The chunk whose round trip is measured, one at a time (RFC 9260 s6.3.1 C4).
    pub timed: Option<Tsn>,
    /// The highest TSN that was outstanding when fast recovery began (RFC 9260 s7.2.4).
    pub recovery_exit: Option<Tsn>,
    /// The path of the next retransmission of what T3-rtx took for lost here, once it is chosen.
    pub rtx_to: Option<PathId>,
    /// It takes no new data until then.
    pub blocked_until: Option<Instant>,
    /// A chunk of the path that a SACK over another path reported, and when it was sent.
    pub unmeasured: Option<(Tsn, Instant)>,
    pub after_loss: AfterLoss,
    /// Bytes of chunks in a packet to this path.
    pub room: u32,
    /// Packets to it are carried in UDP (RFC 6951).
    pub in_udp: bool,
    /// A packet of the peer has come on it.
    pub heard: bool,
    /// Smallest round trip measured.
    pub min_rtt: Option<Duration>,
    pub samples: Samples,
    /// Share of chunks that were lost, averaged.
    pub loss: f64,
    pub counters: Counters,
}

/// What is sent after a loss, whatever the window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AfterLoss {
    /// One packet may be sent: the first retransmission.
    pub owes_packet: bool,
    /// T3-rtx expired: one packet is in the network at most until one is acknowledged (RFC 9260
    /// s7.2.3).
    pub one_packet: bool,
}

/// Round trips that were measured; zero before the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Samples {
    pub count: u32,
    pub first: Duration,
    pub last: Duration,
}

/// The heartbeat timer of a path (RFC 9260 s8.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heartbeat {
    /// No more heartbeats are sent.
    Off,
    /// The next one is due then, unless data are sent before.
    Next(Instant),
    /// One was sent; its answer is due by then.
    Answer(Instant),
}

/// What was sent on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counters {
    /// Packets with data.
    pub packets: u64,
    /// Chunks that were sent again.
    pub retransmitted: u64,
    /// User data of first transmissions, in bytes.
    pub first_bytes: u64,
    /// Chunks that another path had sent before.
    pub moved: u64,
    /// Their user data, in bytes.
    pub moved_bytes: u64,
    /// User data of all transmissions, in bytes.
    pub bytes: u64,
    /// User data acknowledged, in bytes.
    pub acked_bytes: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Retransmitted chunks that the peer had already.
    pub spurious: u64,
    /// Chunks of a window lost and sent, for the loss estimate.
    window_sent: u32,
    window_lost: u32,
}

/// Chunks over which the loss rate is averaged once.
const LOSS_WINDOW: u32 = 64;

impl Counters {
    /// Counts a chunk that was sent, and ends a window of the loss estimate.
    pub(super) fn on_sent(&mut self, loss: &mut f64) {
        self.window_sent += 1;
        if self.window_sent >= LOSS_WINDOW {
            let share = f64::from(self.window_lost.min(LOSS_WINDOW)) / f64::from(LOSS_WINDOW);
            *loss += (share - *loss) / 8.0;
            (self.window_sent, self.window_lost) = (0, 0);
        }
    }

    /// Counts a chunk that was lost.
    pub(super) const fn on_lost(&mut self) {
        self.window_lost += 1;
    }
}

impl Path {
    /// A path to `address` with this number; its packets have `room` bytes for chunks.
    pub(super) const fn new(
        id: PathId,
        address: IpAddr,
        bounds: RtoBounds,
        room: u32,
        now: Instant,
    ) -> Path {
        Path {
            id,
            interface: InterfaceId(id.0 as u16),
            rto: Rto::new(bounds),
            verifier: Verifier::new(id, address),
            t3: None,
            heartbeat: Heartbeat::Off,
            last_sent: now,
            timed: None,
            recovery_exit: None,
            rtx_to: None,
            blocked_until: None,
            unmeasured: None,
            after_loss: AfterLoss { owes_packet: false, one_packet: false },
            room,
            in_udp: false,
            heard: false,
            min_rtt: None,
            samples: Samples { count: 0, first: Duration::ZERO, last: Duration::ZERO },
            loss: 0.0,
            counters: Counters {
                packets: 0,
                retransmitted: 0,
                moved: 0,
                moved_bytes: 0,
                first_bytes: 0,
                bytes: 0,
                acked_bytes: 0,
                timeouts: 0,
                spurious: 0,
                window_sent: 0,
                window_lost: 0,
            },
        }
    }

    /// Whether it leaves on the interface of `other`, to the same address.
    pub(super) fn is_like(&self, other: &Path) -> bool {
        self.interface == other.interface && self.verifier.address() == other.verifier.address()
    }

    /// A valid sample of the round-trip time.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        self.rto.sample(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        let first = if self.samples.count == 0 { rtt } else { self.samples.first };
        self.samples = Samples { count: self.samples.count.saturating_add(1), first, last: rtt };
    }

    /// The round trip of the path, zero before the first sample.
    pub(super) fn srtt(&self) -> Duration {
        self.rto.srtt().unwrap_or(Duration::ZERO)
    }

    /// Congestion state, in the words of TCP.
    pub(super) const fn ca_state(&self) -> CaState {
        match (self.recovery_exit, self.after_loss.owes_packet) {
            (Some(_), _) => CaState::Recovery,
            (None, true) => CaState::Loss,
            (None, false) => CaState::Open,
        }
    }

    /// Whether it takes no new data now.
    pub(super) fn is_blocked(&self, now: Instant) -> bool {
        self.blocked_until.is_some_and(|until| now < until)
    }

    /// Whether a packet may follow those that have `in_flight` bytes in the network, as far as a
    /// time-out goes.
    pub(super) const fn takes_another(&self, in_flight: u64) -> bool {
        !self.after_loss.one_packet || in_flight == 0
    }

    /// Whether data sent on it are not acknowledged, or are about to be sent again: T3-rtx judges
    /// it.
    pub(super) const fn has_outstanding(&self) -> bool {
        self.t3.is_some() || self.after_loss.owes_packet
    }

    /// Starts T3-rtx anew.
    pub(super) fn start_t3(&mut self, now: Instant) {
        self.t3 = Some(self.rto.expiry(now));
    }

    /// A chunk whose last path was `from` was rescheduled here. On its own path T3-rtx goes on: if
    /// each repetition started it anew, a dead path would never fail (RFC 9260 s6.3.2 R1).
    pub(super) fn on_rescheduled(&mut self, now: Instant, from: PathId) {
        if from != self.id || self.t3.is_none() {
            self.start_t3(now);
        }
    }

    /// When a timer of the path expires next.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Instant {
        let heartbeat = match self.heartbeat {
            Heartbeat::Off => Instant::FAR_FUTURE,
            Heartbeat::Next(at) | Heartbeat::Answer(at) => at,
        };
        let blocked = self.blocked_until.unwrap_or(Instant::FAR_FUTURE);
        self.t3.unwrap_or(Instant::FAR_FUTURE).min(heartbeat).min(blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Regression: the lowest chunk was sent again on its own path, which was dead, every two round
    /// trips, and each time T3-rtx began anew, so that the path never failed.
    #[test]
    fn t3_goes_on_when_a_chunk_is_rescheduled_on_its_own_path() {
        let (own, other) = (PathId(1), PathId(0));
        let at = Instant::from_millis;
        let address = Ipv4Addr::LOCALHOST.into();
        let mut path = Path::new(own, address, RtoBounds::RFC_9260, 1452, at(0));
        path.on_rescheduled(at(0), own);
        assert_eq!(path.t3, Some(at(1000)), "it did not run");
        path.on_rescheduled(at(200), own);
        assert_eq!(path.t3, Some(at(1000)));
        path.on_rescheduled(at(300), other);
        assert_eq!(path.t3, Some(at(1300)), "the lowest chunk is new on this path");
    }
}

//! `Shutdown`: the states of an established association up to its end, and the timers T2 and T5
//! (RFC 9260 s4, s9).

use base::{Duration, Instant, PathId};

/// States from ESTABLISHED on (RFC 9260 s4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShutdownStep {
    Nothing,
    /// SHUTDOWN is to be sent.
    SendShutdown,
    /// SHUTDOWN ACK is to be sent.
    SendShutdownAck,
    /// The peer does not answer: the association is over.
    GiveUp,
    /// The guard timer T5 expired: ABORT.
    Abort,
}

/// The end of an association.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shutdown {
    stage: Stage,
    t2: Option<Instant>,
    t5: Option<Instant>,
    retransmissions: u32,
    /// The path that the last SHUTDOWN or SHUTDOWN ACK took.
    pub(super) path: PathId,
}

/// T5-shutdown-guard in RTO.Max (RFC 9260 s9.2).
const GUARD: u64 = 5;

impl Stage {
    /// The name in RFC 9260 s4.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Stage::Established => "ESTABLISHED",
            Stage::ShutdownPending => "SHUTDOWN-PENDING",
            Stage::ShutdownSent => "SHUTDOWN-SENT",
            Stage::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Stage::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            Stage::Closed => "CLOSED",
        }
    }

    /// Data may be sent.
    pub(super) const fn sends_data(self) -> bool {
        matches!(self, Stage::Established | Stage::ShutdownPending | Stage::ShutdownReceived)
    }

    /// Data are accepted.
    pub(super) const fn takes_data(self) -> bool {
        matches!(self, Stage::Established | Stage::ShutdownPending | Stage::ShutdownSent)
    }
}

impl Shutdown {
    /// The association is established.
    pub(super) const fn new() -> Shutdown {
        let stage = Stage::Established;
        Shutdown { stage, t2: None, t5: None, retransmissions: 0, path: PathId(0) }
    }

    pub(super) const fn stage(&self) -> Stage {
        self.stage
    }

    /// When T2 or T5 expires.
    pub(super) fn deadline(&self) -> Instant {
        let at = |timer: Option<Instant>| timer.unwrap_or(Instant::FAR_FUTURE);
        at(self.t2).min(at(self.t5))
    }

    /// The user has nothing more to send.
    pub(super) fn request(&mut self) {
        if self.stage == Stage::Established {
            self.stage = Stage::ShutdownPending;
        }
    }

    /// Everything is acknowledged, or not: what follows.
    pub(super) fn on_progress(&mut self, all_acked: bool) -> ShutdownStep {
        match self.stage {
            Stage::ShutdownPending if all_acked => {
                self.stage = Stage::ShutdownSent;
                ShutdownStep::SendShutdown
            }
            Stage::ShutdownReceived if all_acked => {
                self.stage = Stage::ShutdownAckSent;
                ShutdownStep::SendShutdownAck
            }
            _ => ShutdownStep::Nothing,
        }
    }

    /// SHUTDOWN arrives; returns whether the peer's direction is closed by it.
    pub(super) fn on_shutdown(&mut self) -> (ShutdownStep, bool) {
        match self.stage {
            Stage::Established | Stage::ShutdownPending => {
                self.stage = Stage::ShutdownReceived;
                (ShutdownStep::Nothing, true)
            }
            // Both sides shut down at the same time (RFC 9260 s9.2).
            Stage::ShutdownSent => {
                self.stage = Stage::ShutdownAckSent;
                (ShutdownStep::SendShutdownAck, true)
            }
            Stage::ShutdownAckSent => (ShutdownStep::SendShutdownAck, false),
            Stage::ShutdownReceived | Stage::Closed => (ShutdownStep::Nothing, false),
        }
    }

    /// SHUTDOWN ACK arrives; returns whether it ends the association.
    pub(super) const fn ends_with_ack(&self) -> bool {
        matches!(self.stage, Stage::ShutdownSent | Stage::ShutdownAckSent)
    }

    /// SHUTDOWN COMPLETE arrives; returns whether it ends the association.
    pub(super) const fn ends_with_complete(&self) -> bool {
        matches!(self.stage, Stage::ShutdownAckSent)
    }

    /// SHUTDOWN or SHUTDOWN ACK was sent on `path`, whose time-out is `rto`.
    pub(super) fn on_sent(&mut self, now: Instant, path: PathId, rto: Duration, rto_max: Duration) {
        self.path = path;
        self.t2 = Some(now + rto);
        self.t5.get_or_insert(now + rto_max * GUARD);
    }

    /// A packet of the peer arrived while SHUTDOWN waits for its answer: it is alive (RFC 9260
    /// s9.2).
    pub(super) const fn on_packet(&mut self) {
        if matches!(self.stage, Stage::ShutdownSent) {
            self.retransmissions = 0;
        }
    }

    /// A timer may have expired. `most`: Association.Max.Retrans.
    pub(super) fn on_timeout(&mut self, now: Instant, most: u32) -> ShutdownStep {
        let expired = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if expired(self.t5) {
            (self.t2, self.t5) = (None, None);
            return ShutdownStep::Abort;
        }
        if !expired(self.t2) {
            return ShutdownStep::Nothing;
        }
        self.t2 = None;
        self.retransmissions += 1;
        if self.retransmissions > most {
            return ShutdownStep::GiveUp;
        }
        match self.stage {
            Stage::ShutdownSent => ShutdownStep::SendShutdown,
            Stage::ShutdownAckSent => ShutdownStep::SendShutdownAck,
            _ => ShutdownStep::Nothing,
        }
    }

    /// The association is over.
    pub(super) const fn close(&mut self) {
        (self.stage, self.t2, self.t5) = (Stage::Closed, None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_secs(1);
    const RTO_MAX: Duration = Duration::from_secs(60);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn graceful_end_on_both_sides() {
        let mut ours = Shutdown::new();
        ours.request();
        assert_eq!(ours.stage(), Stage::ShutdownPending);
        assert_eq!(ours.on_progress(false), ShutdownStep::Nothing, "data are outstanding");
        assert_eq!(ours.on_progress(true), ShutdownStep::SendShutdown);
        assert!(!ours.ends_with_complete() && ours.ends_with_ack());

        let mut theirs = Shutdown::new();
        assert_eq!(theirs.on_shutdown(), (ShutdownStep::Nothing, true));
        assert!(theirs.stage().sends_data() && !theirs.stage().takes_data());
        assert_eq!(theirs.on_progress(true), ShutdownStep::SendShutdownAck);
        assert!(theirs.ends_with_complete() && theirs.ends_with_ack());
        theirs.close();
        assert_eq!(theirs.stage(), Stage::Closed);
    }

    #[test]
    fn both_sides_at_once_answer_with_shutdown_ack() {
        let mut side = Shutdown::new();
        side.request();
        side.on_progress(true);
        assert_eq!(side.on_shutdown(), (ShutdownStep::SendShutdownAck, true));
        assert_eq!(side.stage(), Stage::ShutdownAckSent);
    }

    #[test]
    fn t2_retransmits_and_gives_up_and_packets_prolong_it() {
        let mut side = Shutdown::new();
        side.request();
        side.on_progress(true);
        for second in 1..=10 {
            side.on_sent(at(second - 1), PathId(0), RTO, RTO_MAX);
            assert_eq!(side.on_timeout(at(second), 10), ShutdownStep::SendShutdown);
        }
        side.on_sent(at(10), PathId(0), RTO, RTO_MAX);
        let mut alive = side;
        assert_eq!(side.on_timeout(at(11), 10), ShutdownStep::GiveUp);
        alive.on_packet();
        assert_eq!(alive.on_timeout(at(11), 10), ShutdownStep::SendShutdown);
        alive.on_sent(at(11), PathId(0), Duration::from_secs(900), RTO_MAX);
        assert_eq!(alive.deadline(), at(300), "the guard is five times RTO.Max");
        assert_eq!(alive.on_timeout(at(300), 10), ShutdownStep::Abort);
    }
}

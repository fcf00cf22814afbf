//! The multi-path handshake of one subflow (RFC 8684 s3.1, s3.2).

use super::simultaneous::SimultaneousSyn;
use crate::path_manager::Ending;
use base::{Duration, Instant};
use wire::mptcp::ResetReason;
use wire::{Flags, TcpSegment};

/// Repetitions of the third packet of a join before it fails (Linux `tcp_synack_retries`).
const ACK_REPETITIONS: u32 = 5;

/// The state of the handshake of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The SYN or the SYN/ACK is under way.
    Opening,
    /// The initiator of a join waits for the fourth packet and sends no data.
    PreEstablished,
    /// Data may be sent.
    Open,
    /// The subflow ended. It keeps its path number until a new subflow takes it.
    Gone,
}

/// What follows when the third packet of a join is due again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repetition {
    Send,
    GiveUp,
}

/// The handshake of a subflow, and how it ended.
#[derive(Debug)]
pub struct Handshake {
    stage: Stage,
    /// This host sent the SYN.
    initiator: bool,
    local_nonce: u32,
    remote_nonce: u32,
    /// When the third packet of a join is repeated.
    repeat_at: Option<Instant>,
    repetitions: u32,
    /// The reason in the peer's reset (RFC 8684 s3.6).
    pub reset_reason: Option<Ending>,
    /// It is one of a group of simultaneous SYNs.
    pub simultaneous: Option<Box<SimultaneousSyn>>,
}

impl Handshake {
    /// A subflow whose SYN or SYN/ACK is to be sent.
    pub const fn new(initiator: bool, local_nonce: u32, remote_nonce: u32) -> Self {
        Handshake {
            stage: Stage::Opening,
            initiator,
            local_nonce,
            remote_nonce,
            repeat_at: None,
            repetitions: 0,
            reset_reason: None,
            simultaneous: None,
        }
    }

    /// The state.
    #[inline]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// This host sent the SYN.
    #[inline]
    pub const fn is_initiator(&self) -> bool {
        self.initiator
    }

    /// The nonces of this host and of the peer.
    pub const fn nonces(&self) -> (u32, u32) {
        (self.local_nonce, self.remote_nonce)
    }

    /// Keeps the SYN/ACK of a subflow of a group until the server's key is known. Returns whether
    /// the subflow is in a group.
    pub fn hold_answer(&mut self, segment: &TcpSegment) -> bool {
        let opening = self.stage == Stage::Opening && segment.flags.contains(Flags::SYN);
        match &mut self.simultaneous {
            Some(syn) if opening => {
                syn.answer = Some(Box::new(segment.clone()));
                true
            }
            _ => false,
        }
    }

    /// The SYN/ACK of a join was verified: the third packet goes out, and again after `rto`.
    pub fn on_answered(&mut self, now: Instant, remote_nonce: u32, rto: Duration) {
        debug_assert_eq!(self.stage, Stage::Opening);
        debug_assert!(self.initiator, "an acceptor has no SYN/ACK to verify");
        self.stage = Stage::PreEstablished;
        self.remote_nonce = remote_nonce;
        self.repeat_at = Some(now + rto);
    }

    /// Records the reason of the peer's reset (RFC 8684 s3.6), which determines whether another
    /// subflow is tried. The unspecified reason only means that this subflow is over: resets after
    /// the removal of an address have it, too, even if the address returned before the REMOVE_ADDR
    /// arrived.
    pub fn on_reset(&mut self, transient: bool, reason: ResetReason) {
        self.reset_reason = match transient {
            true => Some(Ending::NotNow),
            false if reason == ResetReason::UNSPECIFIED => None,
            false => Some(Ending::Refused),
        };
    }

    /// Data may be sent from now on.
    pub fn on_open(&mut self) {
        debug_assert_ne!(self.stage, Stage::Gone);
        self.stage = Stage::Open;
        self.repeat_at = None;
    }

    /// The subflow ended. Whether it had not before.
    pub fn on_gone(&mut self) -> bool {
        self.repeat_at = None;
        std::mem::replace(&mut self.stage, Stage::Gone) != Stage::Gone
    }

    /// When the third packet of a join is repeated.
    #[inline]
    pub fn deadline(&self) -> Instant {
        debug_assert!(self.repeat_at.is_none() || self.stage == Stage::PreEstablished);
        self.repeat_at.unwrap_or(Instant::FAR_FUTURE)
    }

    /// The third packet is due again; it is repeated until the fourth comes (RFC 8684 s3.2).
    pub fn on_repeat_due(&mut self, now: Instant, rto: Duration) -> Repetition {
        self.repetitions += 1;
        if self.repetitions > ACK_REPETITIONS {
            return Repetition::GiveUp;
        }
        self.repeat_at = Some(now + rto * (1 << self.repetitions));
        Repetition::Send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(100);

    #[test]
    fn third_packet_is_repeated_five_times_at_doubled_intervals() {
        let mut handshake = Handshake::new(true, 1, 0);
        assert_eq!(handshake.deadline(), Instant::FAR_FUTURE);
        handshake.on_answered(Instant::ZERO, 2, RTO);
        assert_eq!((handshake.stage(), handshake.nonces()), (Stage::PreEstablished, (1, 2)));
        let mut waits = Vec::new();
        let mut before = Instant::ZERO;
        loop {
            let now = handshake.deadline();
            waits.push((now - before).as_millis() / 100);
            before = now;
            if handshake.on_repeat_due(now, RTO) == Repetition::GiveUp {
                break;
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32]);
    }

    #[test]
    fn open_or_ended_join_repeats_nothing() {
        for end in [Handshake::on_open, |handshake: &mut Handshake| assert!(handshake.on_gone())] {
            let mut handshake = Handshake::new(true, 1, 0);
            handshake.on_answered(Instant::ZERO, 2, RTO);
            end(&mut handshake);
            assert_eq!(handshake.deadline(), Instant::FAR_FUTURE);
        }
        let mut gone = Handshake::new(false, 0, 0);
        assert!(gone.on_gone());
        assert!(!gone.on_gone(), "it ends once");
    }
}

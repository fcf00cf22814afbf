//! F-RTO: was the retransmission time-out spurious? (RFC 5682, tcp-subflow spec s3.2)
//!
//! Decisions only; sending the new segments, undoing and the recovery itself are left to the
//! connection.

/// The state after a time-out.
#[derive(Clone, Debug, Default)]
pub struct Frto {
    phase: Phase,
    /// End of the segment retransmitted at the time-out.
    retransmission_end: u64,
    recover: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    #[default]
    Off,
    /// Step 2: the first new ACK decides whether to send new data.
    FirstAck,
    /// Step 3: the ACK after that decides.
    SecondAck,
}

/// What an acknowledgement after the time-out brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrtoAck {
    pub snd_una: u64,
    pub snd_una_advanced: bool,
    /// It acknowledged or SACKed, below `recover()`, a segment never retransmitted.
    pub original_acked: bool,
    /// It SACKed something new at or above `recover()`, or is a duplicate without news.
    pub sacked_beyond_or_dup: bool,
    /// SACK is in use: duplicates only update the scoreboard in step 2.
    pub sack: bool,
    pub snd_nxt: u64,
    /// Unsent data are there and the peer's window allows them.
    pub can_send_new: bool,
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrtoDecision {
    /// F-RTO is not running, or goes on waiting.
    Wait,
    /// Step 2b: send up to this many new segments instead of retransmissions.
    SendNew(u32),
    /// The time-out was right: retransmit as usual, window at most this many segments.
    Conventional { cwnd_at_most_segs: u32 },
    /// The time-out was spurious: undo the reduction.
    Spurious,
}

impl Frto {
    /// Not running.
    pub fn new() -> Self {
        Frto::default()
    }

    /// The timer fired and the first segment, ending at `retransmission_end`, is sent again.
    /// Not entered inside a recovery unless it is a repeated time-out of the same segment.
    pub fn on_rto(
        &mut self,
        in_recovery: bool,
        repeated: bool,
        retransmission_end: u64,
        snd_nxt: u64,
    ) {
        let entered = !in_recovery || repeated;
        self.phase = if entered { Phase::FirstAck } else { Phase::Off };
        self.retransmission_end = retransmission_end;
        self.recover = snd_nxt;
    }

    /// Whether a decision is still open.
    pub fn is_running(&self) -> bool {
        self.phase != Phase::Off
    }

    /// Step 3 runs: new data were sent, retransmissions wait.
    pub fn holds_retransmissions(&self) -> bool {
        self.phase == Phase::SecondAck
    }

    /// The offset that separates what was sent before from what was sent after.
    pub const fn recover(&self) -> u64 {
        self.recover
    }

    /// Stop without a decision.
    pub const fn stop(&mut self) {
        self.phase = Phase::Off;
    }

    /// An acknowledgement arrived after the time-out.
    pub fn on_ack(&mut self, ack: &FrtoAck) -> FrtoDecision {
        match self.phase {
            Phase::Off => FrtoDecision::Wait,
            Phase::FirstAck => self.first_ack(ack),
            Phase::SecondAck => self.second_ack(ack),
        }
    }

    fn first_ack(&mut self, ack: &FrtoAck) -> FrtoDecision {
        if ack.original_acked && ack.sack {
            // SACK shows an original arriving: no need for new data (RFC 5682 s3.1, as Linux).
            return self.spurious();
        }
        if !ack.snd_una_advanced {
            return if ack.sack { FrtoDecision::Wait } else { self.conventional(2) };
        }
        let covers = ack.snd_una >= self.retransmission_end;
        if !covers || ack.snd_una >= self.recover || !ack.can_send_new {
            return self.conventional(2);
        }
        self.recover = ack.snd_nxt;
        self.phase = Phase::SecondAck;
        FrtoDecision::SendNew(2)
    }

    fn second_ack(&mut self, ack: &FrtoAck) -> FrtoDecision {
        if ack.original_acked {
            return self.spurious();
        }
        if ack.sacked_beyond_or_dup || ack.snd_una >= self.recover {
            return self.conventional(3);
        }
        FrtoDecision::Wait
    }

    const fn spurious(&mut self) -> FrtoDecision {
        self.phase = Phase::Off;
        FrtoDecision::Spurious
    }

    const fn conventional(&mut self, cwnd_at_most_segs: u32) -> FrtoDecision {
        self.phase = Phase::Off;
        FrtoDecision::Conventional { cwnd_at_most_segs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time-out with 10 segments of length 1 outstanding.
    fn timed_out() -> Frto {
        let mut frto = Frto::new();
        frto.on_rto(false, false, 1, 10);
        frto
    }

    fn ack(snd_una: u64) -> FrtoAck {
        FrtoAck {
            snd_una,
            snd_una_advanced: true,
            sack: true,
            snd_nxt: 10,
            can_send_new: true,
            ..FrtoAck::default()
        }
    }

    #[test]
    fn two_advancing_acks_prove_the_time_out_spurious() {
        let mut frto = timed_out();
        assert_eq!(frto.on_ack(&ack(2)), FrtoDecision::SendNew(2));
        assert!(frto.holds_retransmissions());
        let second = FrtoAck { original_acked: true, snd_nxt: 12, ..ack(3) };
        assert_eq!(frto.on_ack(&second), FrtoDecision::Spurious);
        assert!(!frto.is_running());
    }

    #[test]
    fn original_acknowledged_at_once_needs_no_second_step() {
        let sacked = FrtoAck { snd_una_advanced: false, original_acked: true, ..ack(0) };
        assert_eq!(timed_out().on_ack(&sacked), FrtoDecision::Spurious);
    }

    #[test]
    fn duplicate_after_new_data_proves_the_loss() {
        let mut frto = timed_out();
        frto.on_ack(&ack(2));
        let dup = FrtoAck { snd_una_advanced: false, sacked_beyond_or_dup: true, ..ack(2) };
        assert_eq!(frto.on_ack(&dup), FrtoDecision::Conventional { cwnd_at_most_segs: 3 });
    }

    #[test]
    fn ack_of_everything_or_of_part_of_the_retransmission_is_conventional() {
        let conventional = FrtoDecision::Conventional { cwnd_at_most_segs: 2 };
        assert_eq!(timed_out().on_ack(&ack(10)), conventional);
        let mut frto = Frto::new();
        frto.on_rto(false, false, 5, 10);
        assert_eq!(frto.on_ack(&ack(3)), conventional);
    }

    #[test]
    fn without_new_data_there_is_no_test() {
        let none = FrtoAck { can_send_new: false, ..ack(2) };
        let conventional = FrtoDecision::Conventional { cwnd_at_most_segs: 2 };
        assert_eq!(timed_out().on_ack(&none), conventional);
    }

    #[test]
    fn first_duplicate_ends_it_only_without_sack() {
        let dup = FrtoAck { snd_una_advanced: false, ..ack(0) };
        let mut frto = timed_out();
        assert_eq!(frto.on_ack(&dup), FrtoDecision::Wait);
        assert!(frto.is_running());
        let dup = FrtoAck { sack: false, ..dup };
        assert!(matches!(frto.on_ack(&dup), FrtoDecision::Conventional { .. }));
    }

    #[test]
    fn recovery_under_way_keeps_it_out_unless_repeated() {
        let mut frto = Frto::new();
        frto.on_rto(true, false, 1, 10);
        assert!(!frto.is_running());
        frto.on_rto(true, true, 1, 10);
        assert!(frto.is_running());
        assert_eq!(frto.recover(), 10);
    }
}

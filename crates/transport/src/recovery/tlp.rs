//! Tail loss probe: when to probe and what its acknowledgement means (RFC 8985 s7).
//!
//! Choosing and sending the probe segment, and the timer, are left to the connection.

use base::Duration;

/// What a lone segment waits for in addition, because its acknowledgement may be delayed.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe time-out before the first RTT sample.
const PTO_WITHOUT_RTT: Duration = Duration::from_secs(1);
/// Linux adds this to every probe time-out with more than one segment in flight.
const LINUX_SLACK: Duration = Duration::from_millis(2);
/// Smallest probe time-out of kernels before 4.13.
const PAPERS_MIN_PTO: Duration = Duration::from_millis(10);

/// How long to wait before probing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TlpRule {
    /// Linux 6.x: twice the RTT, plus the smallest RTO if one segment is in flight, else 2 ms.
    #[default]
    Linux,
    /// RFC 8985 s7.2.
    Rfc8985,
    /// Linux 4.1 and before: `1.5 srtt + 200 ms` for one segment, and no probe while something
    /// unsent fits into the window.
    Papers,
}

/// What the probe time-out depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PtoInput {
    /// Zero before the first sample.
    pub srtt: Duration,
    pub inflight_segs: u32,
    /// Time until the retransmission timer would fire: the probe is never later.
    pub rto_left: Duration,
    /// The smallest RTO of the estimator (`Linux`).
    pub min_rto: Duration,
    /// Only `Papers` asks: the window is full or nothing is unsent.
    pub cwnd_limited_or_nothing_unsent: bool,
}

/// How long to wait for the probe; `None` if none is to be scheduled. That no recovery runs and
/// nothing is SACKed is for the caller to check.
pub fn pto(rule: TlpRule, input: &PtoInput) -> Option<Duration> {
    if input.inflight_segs == 0 {
        return None;
    }
    if rule == TlpRule::Papers && !input.cwnd_limited_or_nothing_unsent {
        return None;
    }
    let wait = if input.srtt.is_zero() {
        PTO_WITHOUT_RTT
    } else {
        let twice = input.srtt * 2;
        match (rule, input.inflight_segs) {
            (TlpRule::Linux, 1) => twice + input.min_rto,
            (TlpRule::Linux, _) => twice + LINUX_SLACK,
            (TlpRule::Rfc8985, 1) => twice + MAX_ACK_DELAY,
            (TlpRule::Rfc8985, _) => twice,
            (TlpRule::Papers, 1) => twice.max(twice * 3 / 4 + MAX_ACK_DELAY).max(PAPERS_MIN_PTO),
            (TlpRule::Papers, _) => twice.max(PAPERS_MIN_PTO),
        }
    };
    Some(wait.min(input.rto_left))
}

/// Book-keeping of the probe outstanding.
#[derive(Clone, Debug, Default)]
pub struct Tlp {
    /// `snd_nxt` after the probe.
    end: Option<u64>,
    is_retrans: bool,
    sampled: bool,
}

/// What an acknowledgement says about a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TlpAck {
    pub ack: u64,
    /// A D-SACK covers the probe.
    pub dsack_of_probe: bool,
    pub snd_una_advanced: bool,
    pub newly_sacked: bool,
    /// It carried data or changed the window: not a duplicate ACK.
    pub not_dup: bool,
}

/// What became of the probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlpOutcome {
    /// Nothing new.
    None,
    /// The episode is over without a loss.
    Cleared,
    /// The probe repaired a loss: reduce as for a fast recovery.
    LossRepaired,
}

impl Tlp {
    /// No probe outstanding.
    pub fn new() -> Self {
        Tlp::default()
    }

    /// A valid RTT sample was taken.
    pub const fn on_rtt_sample(&mut self) {
        self.sampled = true;
    }

    /// Whether a probe may be sent when the timer fires: none is outstanding, and (RFC 8985 s7.3,
    /// not `Linux`) an RTT sample was taken since the last one.
    pub fn may_probe(&self, rule: TlpRule) -> bool {
        self.end.is_none() && (self.sampled || rule == TlpRule::Linux)
    }

    /// A probe was sent; `snd_nxt` is the offset after it, `is_retrans` that it was no new data.
    pub const fn on_probe(&mut self, snd_nxt: u64, is_retrans: bool) {
        self.end = Some(snd_nxt);
        self.is_retrans = is_retrans;
        self.sampled = false;
    }

    /// A recovery starts: forget the probe.
    pub const fn reset(&mut self) {
        self.end = None;
        self.is_retrans = false;
    }

    /// Where the outstanding probe ends.
    pub const fn end_offset(&self) -> Option<u64> {
        self.end
    }

    /// Whether the outstanding probe was a retransmission.
    pub const fn is_retrans(&self) -> bool {
        self.is_retrans
    }

    /// An acknowledgement arrived (RFC 8985 s7.4.2).
    pub fn on_ack(&mut self, ack: &TlpAck) -> TlpOutcome {
        let Some(end) = self.end else { return TlpOutcome::None };
        if ack.ack < end {
            return TlpOutcome::None;
        }
        let outcome = if !self.is_retrans || ack.dsack_of_probe {
            TlpOutcome::Cleared
        } else if ack.ack > end {
            TlpOutcome::LossRepaired
        } else if !ack.snd_una_advanced && !ack.newly_sacked && !ack.not_dup {
            TlpOutcome::Cleared
        } else {
            return TlpOutcome::None;
        };
        self.reset();
        outcome
    }
}

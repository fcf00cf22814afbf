//! Tail loss probe: when to probe and what the acknowledgement of a probe means (RFC 8985 s7).
//!
//! Choosing and sending the probe segment, and the timer, are left to the owner.

use base::Duration;
use std::num::NonZeroU64;

/// Additional wait for a single segment, whose acknowledgement may be delayed.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe time-out before the first RTT sample.
const PTO_WITHOUT_RTT: Duration = Duration::from_secs(1);
/// Linux adds this to every probe time-out with more than one segment in flight.
pub(crate) const LINUX_SLACK: Duration = Duration::from_millis(2);
/// Smallest probe time-out of Linux before 4.13.
const PAPERS_MIN_PTO: Duration = Duration::from_millis(10);

/// How long to wait before probing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TlpRule {
    /// Linux 6.x: twice the RTT, plus the smallest RTO if one segment is in flight, else 2 ms.
    #[default]
    Linux,
    /// RFC 8985 s7.2.
    Rfc8985,
    /// Linux 4.1 and before: `1.5 srtt + 200 ms` for one segment, and no probe while unsent data
    /// fit into the window.
    Papers,
}

/// What the probe time-out depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PtoInput {
    /// Zero before the first sample.
    pub srtt: Duration,
    pub inflight_segs: u32,
    /// Time until the retransmission timer would fire: the probe is never later.
    pub rto_left: Duration,
    /// The smallest RTO of the estimator (`Linux`).
    pub min_rto: Duration,
    /// The window is full or nothing is unsent (used by `Papers`).
    pub cwnd_limited_or_nothing_unsent: bool,
}

/// How long to wait for the probe; `None` if none is to be scheduled. The caller checks that no
/// recovery is running and nothing is SACKed.
pub(crate) fn pto(rule: TlpRule, input: &PtoInput) -> Option<Duration> {
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
    debug_assert!(!wait.is_zero(), "a probe waits for an acknowledgement");
    Some(wait.min(input.rto_left))
}

/// The outstanding probe.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Tlp {
    is_retrans: bool,
    sampled: bool,
    /// One more than `snd_nxt` after the probe. Last, since every segment asks for it.
    end: Option<NonZeroU64>,
}

/// What an acknowledgement reports about a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TlpAck {
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
pub(crate) enum TlpOutcome {
    /// Nothing new.
    None,
    /// The episode is over without a loss.
    Cleared,
    /// The probe repaired a loss: reduce as for a fast recovery.
    LossRepaired,
}

impl Tlp {
    /// A valid RTT sample was taken.
    pub(crate) const fn on_rtt_sample(&mut self) {
        self.sampled = true;
    }

    /// Whether a probe may be sent when the timer fires: none is outstanding, and (RFC 8985 s7.3,
    /// not `Linux`) an RTT sample was taken since the last one.
    pub(crate) fn may_probe(&self, rule: TlpRule) -> bool {
        self.end.is_none() && (self.sampled || rule == TlpRule::Linux)
    }

    /// A probe was sent; `snd_nxt` is the offset after it, `is_retrans` that it was no new data.
    pub(crate) const fn on_probe(&mut self, snd_nxt: u64, is_retrans: bool) {
        self.end = NonZeroU64::new(snd_nxt + 1);
        self.is_retrans = is_retrans;
        self.sampled = false;
    }

    /// A recovery starts: forget the probe.
    pub(crate) const fn reset(&mut self) {
        self.end = None;
        self.is_retrans = false;
    }

    /// Where the outstanding probe ends.
    pub(crate) const fn end_offset(&self) -> Option<u64> {
        match self.end {
            Some(end) => Some(end.get() - 1),
            None => None,
        }
    }

    /// Whether the outstanding probe was a retransmission.
    pub(crate) const fn is_retrans(&self) -> bool {
        self.is_retrans
    }

    /// An acknowledgement arrived (RFC 8985 s7.4.2).
    pub(crate) fn on_ack(&mut self, ack: &TlpAck) -> TlpOutcome {
        let Some(end) = self.end_offset() else { return TlpOutcome::None };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::{Rack, RackSample};
    use base::Instant;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn input(srtt: u64, inflight_segs: u32, rto_left: u64) -> PtoInput {
        PtoInput {
            srtt: ms(srtt),
            inflight_segs,
            rto_left: ms(rto_left),
            min_rto: ms(200),
            cwnd_limited_or_nothing_unsent: true,
        }
    }

    #[test]
    fn tlp_1_one_segment_waits_for_a_delayed_ack() {
        assert_eq!(pto(TlpRule::Rfc8985, &input(50, 2, 300)), Some(ms(100)));
        assert_eq!(pto(TlpRule::Rfc8985, &input(50, 1, 300)), Some(ms(300)));
        assert_eq!(pto(TlpRule::Linux, &input(50, 2, 300)), Some(ms(102)));
        assert_eq!(pto(TlpRule::Linux, &input(50, 1, 300)), Some(ms(300)));
        assert_eq!(pto(TlpRule::Papers, &input(50, 1, 300)), Some(ms(275)));
        assert_eq!(pto(TlpRule::Papers, &input(2, 9, 300)), Some(ms(10)));
    }

    #[test]
    fn probe_is_never_later_than_the_rto_and_waits_a_second_without_rtt() {
        assert_eq!(pto(TlpRule::Rfc8985, &input(200, 2, 300)), Some(ms(300)));
        assert_eq!(pto(TlpRule::Rfc8985, &input(0, 2, 3000)), Some(ms(1000)));
        assert_eq!(pto(TlpRule::Rfc8985, &input(50, 0, 300)), None);
        let free = PtoInput { cwnd_limited_or_nothing_unsent: false, ..input(50, 2, 300) };
        assert_eq!(pto(TlpRule::Papers, &free), None);
        assert!(pto(TlpRule::Linux, &free).is_some());
    }

    /// The way of 10 segments whose last three are lost.
    #[test]
    fn tlp_2_probe_starts_fast_recovery_before_the_rto() {
        let at = Instant::from_millis;
        let probe_at = at(57) + pto(TlpRule::Rfc8985, &input(50, 3, 300)).unwrap();
        assert_eq!(probe_at, at(157));
        let mut tlp = Tlp::default();
        tlp.on_rtt_sample();
        assert!(tlp.may_probe(TlpRule::Rfc8985));
        tlp.on_probe(10, true);
        let mut rack = Rack::default();
        let sample = |now, sent_at, end_offset, retransmitted| RackSample {
            now,
            sent_at,
            end_offset,
            retransmitted,
            echo_older: false,
            min_rtt: ms(50),
            rtt_known: false,
        };
        rack.on_delivered(&sample(at(57), at(7), 7, false));
        assert!(rack.on_delivered(&sample(at(207), probe_at, 10, true)));
        let wnd = rack.reo_wnd(false, 1, 3, ms(50), ms(50));
        assert_eq!(wnd, Duration::from_micros(12_500));
        for (sent, end) in [(8, 8), (9, 9)] {
            assert!(rack.overtook(at(sent), end));
            assert_eq!(rack.deadline_of(at(sent), wnd), at(sent) + Duration::from_micros(62_500));
            assert!(rack.deadline_of(at(sent), wnd) < at(207), "lost at once");
        }
        tlp.reset();
        assert_eq!(tlp.end_offset(), None);
    }

    #[test]
    fn tlp_3_repaired_loss_shows_with_the_ack_of_later_data() {
        let wait = pto(TlpRule::Rfc8985, &input(50, 1, 400)).unwrap();
        assert_eq!(Instant::from_millis(59) + wait, Instant::from_millis(359));
        let mut tlp = Tlp::default();
        tlp.on_probe(10, true);
        let ack = TlpAck { ack: 10, snd_una_advanced: true, ..TlpAck::default() };
        assert_eq!(tlp.on_ack(&ack), TlpOutcome::None, "it may be the original's ACK");
        let ack = TlpAck { ack: 11, snd_una_advanced: true, ..TlpAck::default() };
        assert_eq!(tlp.on_ack(&ack), TlpOutcome::LossRepaired);
        assert_eq!(tlp.on_ack(&ack), TlpOutcome::None, "once");
    }

    #[test]
    fn both_copies_arrived_or_new_data_clear_the_probe() {
        let mut tlp = Tlp::default();
        tlp.on_probe(10, true);
        let dsack = TlpAck { ack: 10, dsack_of_probe: true, ..TlpAck::default() };
        assert_eq!(tlp.on_ack(&dsack), TlpOutcome::Cleared);
        tlp.on_probe(20, true);
        assert_eq!(tlp.on_ack(&TlpAck { ack: 19, ..TlpAck::default() }), TlpOutcome::None);
        let dup = TlpAck { ack: 20, ..TlpAck::default() };
        assert_eq!(tlp.on_ack(&dup), TlpOutcome::Cleared, "pure duplicate");
        tlp.on_probe(30, false);
        let ack = TlpAck { ack: 30, snd_una_advanced: true, ..TlpAck::default() };
        assert_eq!(tlp.on_ack(&ack), TlpOutcome::Cleared);
    }

    #[test]
    fn second_probe_needs_a_sample_first() {
        let mut tlp = Tlp::default();
        assert!(!tlp.may_probe(TlpRule::Rfc8985) && tlp.may_probe(TlpRule::Linux));
        tlp.on_rtt_sample();
        assert!(tlp.may_probe(TlpRule::Rfc8985));
        tlp.on_probe(10, false);
        assert!(!tlp.may_probe(TlpRule::Linux), "one at a time");
    }
}

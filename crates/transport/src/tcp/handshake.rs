//! The handshake of a connection (RFC 9293 s3.5): initial sequence numbers, the options that both
//! sides agreed on, and the retransmission of the SYN or SYN/ACK.
//!
//! Window scaling and timestamps are RFC 7323, SACK is RFC 2018. The segments of the handshake are
//! written in `transmit` and handled in `incoming`.

use base::{Duration, Instant};
use wire::{SeqNumber, TcpSegment, Timestamps};

/// First time-out of a SYN and a SYN/ACK (RFC 6298 s2.1).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest time-out (Linux TCP_RTO_MAX).
const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// SYNs repeated before the connection fails, without those at constant intervals (Linux
/// `tcp_syn_retries`; with 4 of the others the last one is sent after 67 s).
const SYN_RETRIES: u32 = 6;
/// SYN/ACKs repeated before the connection fails (Linux `tcp_synack_retries`).
const SYNACK_RETRIES: u32 = 5;
/// Half the tick of timestamps.
const HALF_A_TICK: Duration = Duration::from_micros(500);
/// Largest window shift (RFC 7323 s2.3).
const MAX_SHIFT: u8 = 14;

/// The result of the handshake, and its retransmission state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// Our initial sequence number; the first byte of the stream is one above.
    iss: SeqNumber,
    /// The peer's initial sequence number.
    irs: SeqNumber,
    /// Added to the millisecond clock of our timestamps.
    ts_offset: u32,
    timestamps: bool,
    sack: bool,
    /// Shift of the windows that the peer announces.
    peer_shift: u8,
    /// Shift of the windows that we announce; 0 unless both sides agreed.
    our_shift: u8,
    /// Shift in our SYN.
    offered_shift: u8,
    /// A SYN or SYN/ACK is to be sent now.
    due: bool,
    retries: u32,
    /// Number of SYNs or SYN/ACKs sent, those in answer to a repeated SYN included.
    sends: u32,
    sent_at: Instant,
    /// Our timestamp in the first of them.
    first_stamp: u32,
}

impl Handshake {
    /// Nothing is agreed; the SYN or SYN/ACK is due.
    pub(super) fn new(iss: SeqNumber, ts_offset: u32, offered_shift: u8) -> Self {
        debug_assert!(offered_shift <= MAX_SHIFT);
        Handshake {
            iss,
            irs: SeqNumber(0),
            ts_offset,
            timestamps: true,
            sack: true,
            peer_shift: 0,
            our_shift: 0,
            offered_shift,
            due: true,
            retries: 0,
            sends: 0,
            sent_at: Instant::ZERO,
            first_stamp: 0,
        }
    }

    /// Takes over what the peer's SYN or SYN/ACK offers.
    pub(super) fn on_syn(&mut self, segment: &TcpSegment) {
        let options = &segment.options;
        self.irs = segment.seq;
        self.sack &= options.sack_permitted;
        self.timestamps &= options.timestamps.is_some();
        match options.window_scale {
            Some(shift) => {
                self.peer_shift = shift.min(MAX_SHIFT);
                self.our_shift = self.offered_shift;
            }
            None => {
                self.peer_shift = 0;
                self.our_shift = 0;
                self.offered_shift = 0;
            }
        }
    }

    /// Requests another SYN or SYN/ACK.
    pub(super) const fn repeat(&mut self) {
        self.due = true;
    }

    /// Begins anew with a SYN/ACK: both sides sent a SYN.
    pub(super) const fn open_simultaneously(&mut self) {
        self.retries = 0;
        self.sends = 0;
        self.due = true;
    }

    /// The handshake is over, or was aborted.
    pub(super) const fn stop(&mut self) {
        self.due = false;
    }

    /// Whether a SYN or SYN/ACK is to be sent now.
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// The same; it counts as sent.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        if !self.due {
            return false;
        }
        self.due = false;
        self.sent_at = now;
        if self.sends == 0 {
            self.first_stamp = self.ts_value(now);
        }
        self.sends += 1;
        true
    }

    /// The handshake timer fired. `linear`: number of SYNs repeated at constant intervals, `None`
    /// for a SYN/ACK. Returns whether the connection is to go on.
    pub(super) const fn on_timeout(&mut self, linear: Option<u32>) -> bool {
        let limit = match linear {
            Some(linear) => SYN_RETRIES + linear,
            None => SYNACK_RETRIES,
        };
        if self.retries >= limit {
            return false;
        }
        self.retries += 1;
        self.due = true;
        true
    }

    /// Number of repetitions because no answer came.
    pub(super) const fn retries(&self) -> u32 {
        self.retries
    }

    /// Begins the back-off anew.
    pub(super) const fn reset_retries(&mut self) {
        self.retries = 0;
    }

    /// The round trip of a handshake without repetition, or of the timestamp that was echoed:
    /// Karn's algorithm does not apply to timestamps (RFC 6298 s3).
    pub(super) fn rtt(&self, now: Instant, echo: Option<u32>) -> Option<Duration> {
        if self.sends <= 1 {
            return Some(now - self.sent_at);
        }
        self.rtt_of_echo(now, echo)
    }

    /// Number of SYNs or SYN/ACKs sent.
    pub(super) const fn sends(&self) -> u32 {
        self.sends
    }

    /// Whether the echo shows that the first SYN or SYN/ACK was answered, so that its repetitions
    /// were needless: the round trip is longer than their time-out.
    pub(super) fn is_answer_to_first(&self, echo: Option<u32>) -> bool {
        self.timestamps && echo == Some(self.first_stamp)
    }

    /// The window scale option of our SYN, or of our SYN/ACK in answer to the option of the peer.
    pub(super) fn window_scale_option(&self, syn_ack: bool) -> Option<u8> {
        let agreed = !syn_ack || self.our_shift > 0 || self.peer_shift > 0;
        agreed.then_some(self.offered_shift)
    }

    /// Our initial sequence number.
    pub(super) const fn iss(&self) -> SeqNumber {
        self.iss
    }

    /// The peer's initial sequence number.
    pub(super) const fn irs(&self) -> SeqNumber {
        self.irs
    }

    /// Whether SACK may be used.
    pub(super) const fn sack(&self) -> bool {
        self.sack
    }

    /// Whether every segment carries timestamps.
    pub(super) const fn timestamps(&self) -> bool {
        self.timestamps
    }

    /// Shift of the windows that we announce.
    pub(super) const fn our_shift(&self) -> u8 {
        self.our_shift
    }

    /// The window in a segment that is not a SYN, in bytes.
    pub(super) fn scaled_window(&self, segment: &TcpSegment) -> u64 {
        u64::from(segment.window) << self.peer_shift
    }

    /// Sequence number of our first byte.
    pub(super) fn first_seq(&self) -> SeqNumber {
        self.iss + 1
    }

    /// Sequence number of the peer's first byte.
    pub(super) fn peer_first_seq(&self) -> SeqNumber {
        self.irs + 1
    }

    /// Sequence number of our byte at `offset`.
    pub(super) fn seq_of(&self, offset: u64) -> SeqNumber {
        SeqNumber::from_offset(self.first_seq(), offset)
    }

    /// Sequence number of the peer's byte at `offset`.
    pub(super) fn peer_seq_of(&self, offset: u64) -> SeqNumber {
        SeqNumber::from_offset(self.peer_first_seq(), offset)
    }

    /// Our timestamp at `now`, in milliseconds (RFC 7323 s5.4). The origin of a host's clock is
    /// arbitrary: with half a tick of difference from the simulated clock, a round trip of whole
    /// milliseconds and a fraction is mostly measured as the nearest whole number.
    pub(super) fn ts_value(&self, now: Instant) -> u32 {
        let ticks = (now + HALF_A_TICK).as_millis() as u32;
        ticks.wrapping_add(self.ts_offset)
    }

    /// The timestamps option of a segment sent at `now`.
    pub(super) fn timestamps_option(&self, now: Instant, echo: u32) -> Option<Timestamps> {
        let value = self.ts_value(now);
        self.timestamps.then_some(Timestamps { value, echo })
    }

    /// The round trip since the timestamp that was echoed, at least a tick.
    pub(super) fn rtt_of_echo(&self, now: Instant, echo: Option<u32>) -> Option<Duration> {
        let echo = echo.filter(|_| self.timestamps)?;
        let ticks = self.ts_value(now).wrapping_sub(echo);
        let millis = u64::from(ticks.max(1));
        ((ticks as i32) >= 0).then(|| Duration::from_millis(millis))
    }

    /// Whether the echoed timestamp is older than the timestamp of a segment sent at `sent_at`.
    pub(super) fn is_echo_older(&self, echo: Option<u32>, sent_at: Instant) -> bool {
        let sent = self.ts_value(sent_at);
        echo.is_some_and(|echo| (echo.wrapping_sub(sent) as i32) < 0)
    }
}

/// How long a SYN waits after `retries` repetitions, of which the first `linear` are at constant
/// intervals.
pub(super) fn syn_timeout(retries: u32, linear: u32) -> Duration {
    let doublings = retries.saturating_sub(linear).min(7);
    (INITIAL_TIMEOUT * (1 << doublings)).min(MAX_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syn_timeouts_are_linear_then_exponential() {
        let secs: Vec<u64> = (0..8).map(|n| syn_timeout(n, 4).as_millis() / 1000).collect();
        assert_eq!(secs, [1, 1, 1, 1, 1, 2, 4, 8]);
        let secs: Vec<u64> = (0..9).map(|n| syn_timeout(n, 0).as_millis() / 1000).collect();
        assert_eq!(secs, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
    }

    #[test]
    fn syn_is_repeated_six_times_beside_the_linear_ones() {
        let mut handshake = Handshake::new(SeqNumber(1), 0, 7);
        assert_eq!((0..50).filter(|_| handshake.on_timeout(Some(4))).count(), 10);
        let mut handshake = Handshake::new(SeqNumber(1), 0, 7);
        assert_eq!((0..50).filter(|_| handshake.on_timeout(None)).count(), 5);
    }
}

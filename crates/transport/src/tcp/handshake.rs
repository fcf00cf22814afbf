//! Opening a connection (RFC 9293 s3.5): SYN, SYN/ACK, and what their options agree on.
//!
//! Retransmission of both, window scaling and timestamps (RFC 7323), SACK (RFC 2018), the
//! initial window after a lost handshake (RFC 6928 s2). Leaves established traffic to `incoming`.

use super::subflow::Subflow;
use super::timers::Retransmit;
use crate::congestion::{CongestionControl, Controller, PathStart};
use crate::socket::{ConnectionEvent, SocketError};
use base::{Context, Duration, Instant};
use wire::{Flags, MptcpOptions, Packet, SeqNumber, TcpOptions, TcpSegment, Timestamps};

/// First time-out of a SYN and a SYN/ACK (RFC 6298 s2.1).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest time-out (Linux TCP_RTO_MAX).
const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// SYNs repeated before giving up, those at constant intervals not counted (Linux
/// `tcp_syn_retries`; with 4 of the others the last goes out after 67 s).
const SYN_RETRIES: u32 = 6;
/// SYN/ACKs repeated before giving up (Linux `tcp_synack_retries`).
const SYNACK_RETRIES: u32 = 5;
/// The payload of a segment if the peer does not say (RFC 9293 s3.7.1).
const DEFAULT_MSS: u16 = 536;
/// Smallest peer MSS believed: smaller ones make a host flood itself with headers
/// (Linux `tcp_min_snd_mss`, CVE-2019-11479).
const MIN_MSS: u16 = 48;

/// What the handshake found out, and its own retries.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// Our initial sequence number; the stream's first byte is one above.
    pub iss: SeqNumber,
    /// The peer's.
    pub irs: SeqNumber,
    /// Added to the millisecond clock of our timestamps.
    pub ts_offset: u32,
    pub timestamps: bool,
    pub sack: bool,
    /// Shift of the windows that the peer sends.
    pub peer_shift: u8,
    /// Shift of the windows that we send; 0 unless both sides agreed.
    pub our_shift: u8,
    /// Shift that we offer.
    pub offered_shift: u8,
    /// SYN or SYN/ACK to be sent now.
    pub due: bool,
    pub retries: u32,
    /// Times the SYN or SYN/ACK was sent, in answer to a repeated SYN, too.
    pub sends: u32,
    pub sent_at: Instant,
}

/// Half the tick of timestamps.
const HALF_A_TICK: Duration = Duration::from_micros(500);

impl Handshake {
    /// Nothing agreed yet.
    pub fn new(iss: SeqNumber, ts_offset: u32, offered_shift: u8) -> Self {
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
        }
    }

    /// Our timestamp at `now`, in milliseconds (RFC 7323 s5.4). The clock of a host began at some
    /// time of its own: half a tick beside the world's, a round trip of whole milliseconds and a
    /// bit is mostly measured as what it is next to.
    pub fn ts_value(&self, now: Instant) -> u32 {
        let ticks = (now + HALF_A_TICK).as_millis() as u32;
        ticks.wrapping_add(self.ts_offset)
    }
}

/// How long a SYN waits after `retries` repetitions: the first `linear` at constant intervals.
pub fn syn_timeout(retries: u32, linear: u32) -> Duration {
    let doublings = retries.saturating_sub(linear).min(7);
    (INITIAL_TIMEOUT * (1 << doublings)).min(MAX_TIMEOUT)
}

impl Subflow {
    /// The SYN or SYN/ACK that is due.
    pub(super) fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        if !self.hs.due {
            return None;
        }
        self.hs.due = false;
        let syn_ack = self.fsm.is_syn_received();
        let linear = if syn_ack { 0 } else { self.switches.linear_syn_retries };
        let wait = syn_timeout(self.hs.retries, linear);
        self.timers.set_retransmit(Retransmit::Handshake, cx.now, wait);
        self.hs.sent_at = cx.now;
        self.hs.sends += 1;
        self.stats.segs_out += 1;
        Some(self.syn_segment(cx.now, syn_ack))
    }

    fn syn_segment(&mut self, now: Instant, syn_ack: bool) -> Box<Packet> {
        let echo = if syn_ack { self.rx.ts_recent } else { 0 };
        let timestamps =
            self.hs.timestamps.then(|| Timestamps { value: self.hs.ts_value(now), echo });
        let scale_agreed = !syn_ack || self.hs.our_shift > 0 || self.hs.peer_shift > 0;
        let window = self.rx.buffer.initial_window().min(65_535);
        self.rx.announced_window = window;
        self.packet(TcpSegment {
            src_port: self.tuple.local.port(),
            dst_port: self.tuple.remote.port(),
            seq: self.hs.iss,
            ack: if syn_ack { self.hs.irs + 1 } else { SeqNumber(0) },
            flags: if syn_ack { Flags::SYN | Flags::ACK } else { Flags::SYN },
            window: window as u16,
            options: TcpOptions {
                mss: Some(self.advertised_mss()),
                window_scale: scale_agreed.then_some(self.hs.offered_shift),
                sack_permitted: self.hs.sack,
                timestamps,
                mptcp: self
                    .mp
                    .as_ref()
                    .map_or_else(MptcpOptions::default, |mp| mp.syn_options(self.hs.retries)),
                ..TcpOptions::default()
            },
            ..TcpSegment::default()
        })
    }

    /// The handshake timer fired.
    pub(super) fn on_handshake_timeout(&mut self, cx: &mut Context<'_>) {
        let limit = if self.fsm.is_syn_received() {
            SYNACK_RETRIES
        } else {
            SYN_RETRIES + self.switches.linear_syn_retries
        };
        if self.hs.retries >= limit {
            self.fail(cx, SocketError::TimedOut);
            return;
        }
        self.hs.retries += 1;
        self.hs.due = true;
    }

    /// Take over what a SYN or SYN/ACK offers.
    pub(super) fn learn_from_syn(&mut self, now: Instant, segment: &TcpSegment) {
        self.hs.irs = segment.seq;
        self.rx.on_syn();
        let options = &segment.options;
        let mss = options.mss.unwrap_or(DEFAULT_MSS).max(MIN_MSS);
        self.hs.sack &= options.sack_permitted;
        self.hs.timestamps &= options.timestamps.is_some();
        if let Some(timestamps) = options.timestamps {
            self.rx.ts_recent = timestamps.value;
            self.rx.ts_recent_at = now;
        }
        match options.window_scale {
            Some(shift) => {
                self.hs.peer_shift = shift.min(14);
                self.hs.our_shift = self.hs.offered_shift;
            }
            None => {
                self.hs.peer_shift = 0;
                self.hs.our_shift = 0;
                self.hs.offered_shift = 0;
            }
        }
        let mut option_bytes = if self.hs.timestamps { 12 } else { 0 };
        if let Some(mp) = self.mp.as_mut() {
            if segment.options.mptcp.is_empty() {
                mp.set_room(0);
            }
            option_bytes += mp.room();
        }
        self.tx.mss = u32::from(mss.min(self.advertised_mss())) - option_bytes;
        // The window of a SYN is never scaled (RFC 7323 s2.2).
        self.tx.window = u64::from(segment.window);
        self.tx.max_window = self.tx.window;
        self.tx.window_updated_at = segment.seq;
    }

    /// SYN-SENT: a segment came (RFC 9293 s3.10.7.3).
    pub(super) fn handle_in_syn_sent(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.hs.iss + 1;
        if segment.flags.contains(Flags::ACK) && !acks_syn {
            if !segment.flags.contains(Flags::RST) {
                self.outbox.reset_with = Some(segment.ack);
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.summarise(segment, 0, false);
                self.fail(cx, SocketError::Refused);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.learn_from_syn(cx.now, segment);
        if !acks_syn {
            // Simultaneous open: answer with SYN/ACK.
            self.fsm.open_simultaneously(cx);
            self.hs.retries = 0;
            self.hs.sends = 0;
            self.hs.due = true;
            return;
        }
        self.summarise(segment, 0, false);
        self.become_established(cx, cc);
        self.rx.ack.on_connected(cx.now);
        self.rx.ack.now();
        self.news.push(ConnectionEvent::Connected);
    }

    /// SYN-RECEIVED: our SYN was acknowledged by `segment`.
    pub(super) fn accept_ack_of_syn(
        &mut self,
        cx: &mut Context<'_>,
        cc: &mut Controller,
        segment: &TcpSegment,
    ) {
        self.tx.window = u64::from(segment.window) << self.hs.peer_shift;
        self.tx.max_window = self.tx.window;
        self.tx.window_updated_at = segment.seq;
        self.become_established(cx, cc);
        self.news.push(ConnectionEvent::Accepted);
    }

    fn become_established(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        self.fsm.establish(cx);
        self.timers.stop_retransmit();
        self.hs.due = false;
        if self.hs.sends <= 1 {
            let rtt = cx.now - self.hs.sent_at;
            self.min_rtt.update(cx.now, rtt);
            self.rtt.sample(rtt, 0, 0);
            self.record_rtt(cx, rtt);
        } else {
            self.rtt.on_handshake_timeout();
        }
        // RFC 6928 s2: a single lost SYN keeps the initial window.
        let initial_window_segs =
            if self.hs.sends > 2 { 1 } else { self.switches.initial_window_segs };
        let mss = self.tx.mss;
        let bytes = |segs: u32| u64::from(segs) * u64::from(mss);
        cc.on_path_added(
            self.path,
            &PathStart {
                now: cx.now,
                mss,
                initial_window_bytes: bytes(initial_window_segs),
                initial_ssthresh_bytes: self.options.initial_ssthresh_segs.map(bytes),
                srtt: self.rtt.srtt(),
            },
        );
        self.tx.tuning.expand(cc.cwnd_segs(self.path), self.loss.dup_thresh(), self.tx.mss);
        self.tx.cwnd_stamp = cx.now;
        // What the peer may send is not lowered by options of our own (Linux `advmss`).
        self.rx.on_established(cx.now, self.tx.mss + self.option_room());
        self.update_pacing_rate(cc);
    }
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
}

//! Congestion window validation: how much of the window is in use, and what silence does to it
//! (RFC 5681 s4.1, RFC 2861; Linux `tcp_cwnd_validate`, `tcp_is_cwnd_limited`).
//!
//! The window itself is the congestion controller's.

use crate::congestion::{CongestionControl, Controller};
use crate::tcp::round_trip::RoundTrip;
use base::{Duration, Instant, PathId};
use std::hint::cold_path;

/// What is known about the use of the congestion window.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CwndValidation {
    /// New segments sent since the use was last judged.
    round_sent: u32,
    /// The congestion window was the limit when the use was last judged (Linux `is_cwnd_limited`).
    limited: bool,
    /// Buffers queued in the present silence for which the controller was told of it.
    told: u8,
    /// Largest number of outstanding segments in the present round.
    max_packets_out: u32,
    /// Largest number of outstanding segments since the window was last full.
    used: u32,
    /// The round ends when this offset is acknowledged.
    round_end: u64,
    /// When the window was last full or set, or an acknowledgement reached congestion avoidance
    /// (Linux `snd_cwnd_stamp`).
    stamp: Instant,
    last_data_sent: Option<Instant>,
    /// The transmission after which silence was last considered.
    idle_since: Option<Instant>,
}

/// The state of the sender after a round of sending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage<'a> {
    pub now: Instant,
    pub una: u64,
    pub nxt: u64,
    pub packets_out: u32,
    /// The congestion window kept something from being sent.
    pub limited: bool,
    /// Lack of data, rather than loss or a full buffer, may be the reason for a low use.
    pub application_limited: bool,
    pub rtt: &'a RoundTrip,
}

impl CwndValidation {
    /// Nothing was sent.
    pub(crate) const fn new() -> Self {
        CwndValidation {
            round_sent: 0,
            limited: false,
            told: 0,
            max_packets_out: 0,
            used: 0,
            round_end: 0,
            stamp: Instant::ZERO,
            last_data_sent: None,
            idle_since: None,
        }
    }

    /// The connection is established.
    pub(crate) const fn on_established(&mut self, now: Instant) {
        self.stamp = now;
    }

    /// An acknowledgement let the controller grow the window, were it full or not (Linux
    /// `tcp_cong_avoid`); a time-out set it (`tcp_enter_loss`); or the send buffer grew
    /// (`tcp_new_space`). A window counts as unused only after an RTO without any of these.
    pub(crate) const fn restart_clock(&mut self, now: Instant) {
        self.stamp = now;
    }

    /// A segment was sent for the first time.
    pub(crate) const fn on_new_segment(&mut self) {
        self.round_sent += 1;
    }

    /// Data were sent.
    pub(crate) const fn on_data_sent(&mut self, now: Instant) {
        self.last_data_sent = Some(now);
    }

    /// When data were last sent.
    pub(crate) const fn last_data_sent(&self) -> Option<Instant> {
        self.last_data_sent
    }

    /// Whether segments were sent that `validate` has not judged.
    pub(crate) const fn has_round(&self) -> bool {
        self.round_sent > 0
    }

    /// Ends a round of sending; returns the number of new segments.
    pub(crate) const fn take_round(&mut self) -> u32 {
        std::mem::replace(&mut self.round_sent, 0)
    }

    /// Judges the use of the window: the strongest sign within a round counts. Reports to the
    /// controller if the application leaves the window unused for an RTO.
    pub(crate) fn validate(&mut self, usage: &Usage<'_>, cc: &mut Controller, path: PathId) {
        let Usage { now, una, nxt, packets_out: out, limited, .. } = *usage;
        debug_assert!(una <= nxt, "acknowledged data were sent");
        if una >= self.round_end || limited || (!self.limited && out > self.max_packets_out) {
            self.limited = limited;
            self.max_packets_out = out;
            self.round_end = nxt;
        }
        if self.is_limited(cc, path) {
            self.used = 0;
            self.stamp = now;
            return;
        }
        cold_path();
        self.used = self.used.max(out);
        if now - self.stamp >= usage.rtt.rto() {
            if usage.application_limited {
                cc.on_application_limited(path, self.used);
                self.used = 0;
            }
            self.stamp = now;
        }
    }

    /// Whether the window limits the sender, so that it may grow: in slow start already when half
    /// of it is in use.
    pub(crate) fn is_limited(&self, cc: &Controller, path: PathId) -> bool {
        if self.limited {
            return true;
        }
        let cwnd = cc.cwnd_segs(path);
        let slow_start = cc.ssthresh_segs(path).is_none_or(|ssthresh| cwnd < ssthresh);
        slow_start && cwnd < 2 * self.max_packets_out
    }

    /// Reports silence to the controller before data are sent again: after an RTO the window is out
    /// of date (RFC 5681 s4.1). Nothing is outstanding. Linux considers silence for each of the
    /// `buffers` that are queued before the first of them is sent (`tcp_skb_entail`,
    /// `tcp_slow_start_after_idle_check`).
    pub(crate) fn on_send_after_idle(
        &mut self,
        (now, rto): (Instant, Duration),
        buffers: u8,
        cc: &mut Controller,
        path: PathId,
    ) {
        debug_assert!(buffers > 0, "there are data to send");
        let Some(last) = self.last_data_sent else { return };
        let begins = self.idle_since != Some(last);
        if begins {
            self.idle_since = Some(last);
            self.told = 0;
        }
        let idle = now - last;
        while self.told < buffers {
            self.told += 1;
            if idle > rto {
                cc.on_idle_restart(path, idle, rto, now);
                self.stamp = now;
                self.used = 0;
            }
        }
        if begins {
            cc.on_transmit_start(path, idle, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Options, PathStart, by_name};

    /// Linux 6.18 over two paths: a window of 56 segments was 14 when 65,456 bytes in two buffers
    /// were sent after 270 ms of silence with an RTO of 236 ms.
    #[test]
    fn each_buffer_queued_in_silence_halves_the_window() {
        let ms = Duration::from_millis;
        let path = PathId(0);
        let mut cc = by_name("reno", &Options::LINUX).expect("a known name");
        let start = PathStart {
            now: Instant::ZERO,
            mss: 1424,
            initial_window_bytes: 10 * 1424,
            initial_ssthresh_bytes: None,
            srtt: Duration::ZERO,
        };
        cc.on_path_added(path, &start);
        cc.set_recovery_window(path, 56);
        let mut validation = CwndValidation::new();
        validation.on_data_sent(Instant::from_secs(1));
        let mut window_after = |waited, buffers| {
            let silence = (Instant::from_secs(1) + ms(waited), ms(236));
            validation.on_send_after_idle(silence, buffers, &mut cc, path);
            cc.cwnd_segs(path)
        };
        assert_eq!(window_after(230, 2), 56, "no silence");
        assert_eq!(window_after(270, 2), 56, "considered already");
        assert_eq!(window_after(270, 3), 28);
        assert_eq!(window_after(270, 4), 14);
        assert_eq!(window_after(270, 4), 14);
    }
}

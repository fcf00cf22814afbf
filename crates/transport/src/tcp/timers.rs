//! The timers of one subflow: their deadlines, and the granularity of Linux's timer wheel.
//!
//! At most one of the retransmission, loss probe, reordering, persist and handshake timers runs at
//! a time, as in Linux; they share one slot.

use base::{Duration, Instant};
use std::hint::cold_path;

/// The timer in the shared slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retransmit {
    /// A SYN or SYN/ACK was not answered.
    Handshake,
    /// The retransmission time-out (RFC 6298).
    Rto,
    /// The probe time-out (RFC 8985 s7).
    LossProbe,
    /// A segment may be late rather than lost (RFC 8985 s6.2).
    Reordering,
    /// The update of a closed window may have been lost (RFC 9293 s3.8.6.1).
    Persist,
}

/// When Linux's timer wheel fires a timer that is set at `now` for `span`. The wheel sorts timers
/// by the distance of their expiry: up to 62 ticks into slots of one tick, up to 503 into slots of
/// eight, and so on. A timer fires at the end of its slot, never early (Linux `calc_index`).
pub(crate) fn wheel_expiry(now: Instant, span: Duration, tick: Duration) -> Instant {
    /// Slots of a level that count for the distance.
    const SLOTS: u64 = 63;
    let tick = tick.as_nanos();
    if tick == 0 {
        return now + span;
    }
    let ticks = span.as_nanos().div_ceil(tick);
    let expires = (now.as_nanos() / tick).saturating_add(ticks);
    let level = (0..7).find(|level| ticks < SLOTS << (3 * level)).unwrap_or(7);
    let slot = (expires >> (3 * level)) + 1;
    Instant::from_nanos((slot << (3 * level)).saturating_mul(tick))
}

impl Retransmit {
    /// The name in events.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Retransmit::Handshake => "handshake",
            Retransmit::Rto => "rto",
            Retransmit::LossProbe => "loss-probe",
            Retransmit::Reordering => "reordering",
            Retransmit::Persist => "persist",
        }
    }
}

/// A timer on the wheel. Most are set anew before they are looked at: only then it is worked out
/// when they fire.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    set_at: Instant,
    span: Duration,
}

impl Alarm {
    /// When the wheel fires it: the tick of setting it plus the span in whole ticks, rounded up.
    fn expiry(self, tick: Duration) -> Instant {
        let tick = tick.as_nanos();
        if tick == 0 {
            return self.set_at + self.span;
        }
        let base = self.set_at.as_nanos() / tick;
        let ticks = self.span.as_nanos().div_ceil(tick).max(1);
        Instant::from_nanos(base.saturating_add(ticks).saturating_mul(tick))
    }

    /// Whether it fires no later than another one.
    fn precedes(self, other: Alarm, tick: Duration) -> bool {
        let is_plain = self.set_at <= other.set_at && self.span <= other.span;
        is_plain || self.expiry(tick) <= other.expiry(tick)
    }
}

/// All timers of one subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    retransmit: Option<(Retransmit, Alarm)>,
    delayed_ack: Option<Alarm>,
    compressed_ack: Instant,
    pacing: Instant,
    close: Instant,
    /// None fires before: the earliest time that one was set to since `next_before` last looked at
    /// all of them.
    floor: Instant,
    tick: Duration,
}

impl Timers {
    /// No timer runs. Timers of Linux's timer wheel fire at multiples of `tick`.
    pub(crate) const fn new(tick: Duration) -> Self {
        Timers {
            retransmit: None,
            delayed_ack: None,
            compressed_ack: Instant::FAR_FUTURE,
            pacing: Instant::FAR_FUTURE,
            close: Instant::FAR_FUTURE,
            floor: Instant::FAR_FUTURE,
            tick,
        }
    }

    /// An alarm was set.
    #[inline]
    fn lower_floor(&mut self, alarm: Alarm) {
        // The wheel fires at most a tick early.
        if alarm.set_at + alarm.span < self.floor + self.tick {
            self.floor = self.floor.min(alarm.expiry(self.tick));
        }
    }

    /// Sets the shared slot.
    #[inline]
    pub(crate) fn set_retransmit(&mut self, kind: Retransmit, now: Instant, span: Duration) {
        let alarm = Alarm { set_at: now, span };
        self.retransmit = Some((kind, alarm));
        self.lower_floor(alarm);
    }

    /// Clears the shared slot.
    pub(crate) const fn stop_retransmit(&mut self) {
        self.retransmit = None;
    }

    /// The timer in the shared slot.
    pub(crate) fn retransmit(&self) -> Option<Retransmit> {
        self.retransmit.map(|(kind, _)| kind)
    }

    /// The deadline of the shared slot.
    pub(crate) fn retransmit_at(&self) -> Option<Instant> {
        self.retransmit.map(|(_, alarm)| alarm.expiry(self.tick))
    }

    /// Takes the timer in the shared slot if it is due.
    pub(crate) fn take_due_retransmit(&mut self, now: Instant) -> Option<Retransmit> {
        let (kind, alarm) = self.retransmit?;
        (alarm.expiry(self.tick) <= now).then(|| {
            self.retransmit = None;
            kind
        })
    }

    /// Sets the delayed acknowledgement timer unless it fires earlier already.
    pub(crate) fn set_delayed_ack(&mut self, now: Instant, span: Duration) {
        let alarm = Alarm { set_at: now, span };
        if self.delayed_ack.is_none_or(|known| !known.precedes(alarm, self.tick)) {
            self.delayed_ack = Some(alarm);
            self.lower_floor(alarm);
        }
    }

    /// Stops both acknowledgement timers.
    pub(crate) const fn stop_acks(&mut self) {
        self.delayed_ack = None;
        self.compressed_ack = Instant::FAR_FUTURE;
    }

    /// Sets the high-resolution timer of compressed acknowledgements.
    pub(crate) fn set_compressed_ack(&mut self, now: Instant, span: Duration) {
        self.compressed_ack = now + span;
        self.floor = self.floor.min(self.compressed_ack);
    }

    /// Whether compressed acknowledgements are held back.
    pub(crate) fn compressed_ack_runs(&self) -> bool {
        self.compressed_ack != Instant::FAR_FUTURE
    }

    /// Takes the delayed acknowledgement timer if it is due.
    pub(crate) fn take_due_delayed_ack(&mut self, now: Instant) -> bool {
        let due = self.delayed_ack.is_some_and(|alarm| alarm.expiry(self.tick) <= now);
        if due {
            self.delayed_ack = None;
        }
        due
    }

    /// Takes the compressed acknowledgement timer if it is due.
    pub(crate) fn take_due_compressed_ack(&mut self, now: Instant) -> bool {
        let due = self.compressed_ack <= now;
        if due {
            self.compressed_ack = Instant::FAR_FUTURE;
        }
        due
    }

    /// Sets the time at which pacing allows the next segment.
    pub(crate) const fn set_pacing(&mut self, at: Instant) {
        self.pacing = at;
        self.floor = if at.as_nanos() < self.floor.as_nanos() { at } else { self.floor };
    }

    /// Takes the pacing timer if it is due.
    pub(crate) fn take_due_pacing(&mut self, now: Instant) -> bool {
        let due = self.pacing <= now;
        if due {
            self.pacing = Instant::FAR_FUTURE;
        }
        due
    }

    /// Sets the end of TIME-WAIT or FIN-WAIT-2.
    pub(crate) fn set_close(&mut self, now: Instant, span: Duration) {
        self.close = now + span;
        self.floor = self.floor.min(self.close);
    }

    /// Takes the closing timer if it is due.
    pub(crate) fn take_due_close(&mut self, now: Instant) -> bool {
        let due = self.close <= now;
        if due {
            self.close = Instant::FAR_FUTURE;
        }
        due
    }

    /// Stops every timer.
    pub(crate) fn stop_all(&mut self) {
        *self = Timers::new(self.tick);
    }

    /// The earliest deadline; `FAR_FUTURE` if no timer runs.
    pub(crate) fn next(&self) -> Instant {
        let expiry = |alarm: Option<Alarm>| {
            alarm.map_or(Instant::FAR_FUTURE, |alarm| alarm.expiry(self.tick))
        };
        expiry(self.retransmit.map(|(_, alarm)| alarm))
            .min(expiry(self.delayed_ack))
            .min(self.compressed_ack)
            .min(self.pacing)
            .min(self.close)
    }

    /// The earliest deadline if it is before `at`, else any time that is not: timers mostly move
    /// away from now, so that not all of them are looked at after each packet.
    #[inline]
    pub(crate) fn next_before(&mut self, at: Instant) -> Instant {
        debug_assert!(self.floor <= self.next(), "no timer fires before");
        if self.floor < at {
            cold_path();
            self.floor = self.next();
        }
        self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheel_timers_fire_on_ticks() {
        let mut timers = Timers::new(Duration::from_millis(4));
        timers.set_retransmit(
            Retransmit::Rto,
            Instant::from_micros(5_900),
            Duration::from_micros(6_100),
        );
        assert_eq!(timers.next(), Instant::from_millis(12), "tick 1 plus two ticks");
        assert_eq!(timers.take_due_retransmit(Instant::from_millis(11)), None);
        assert_eq!(timers.take_due_retransmit(Instant::from_millis(12)), Some(Retransmit::Rto));
        assert_eq!(timers.next(), Instant::FAR_FUTURE);
    }

    #[test]
    fn deadline_before_a_time_is_that_of_a_timer_or_not_before_it() {
        let mut timers = Timers::new(Duration::ZERO);
        let at = Instant::from_millis;
        timers.set_delayed_ack(at(0), Duration::from_millis(40));
        assert_eq!(timers.next_before(at(50)), at(40));
        timers.stop_acks();
        assert!(timers.next_before(at(30)) >= at(30));
        assert_eq!(timers.next_before(at(41)), Instant::FAR_FUTURE);
        timers.set_pacing(at(35));
        timers.set_close(at(0), Duration::from_millis(60));
        assert!(timers.take_due_pacing(at(35)));
        assert_eq!(timers.next_before(Instant::FAR_FUTURE), at(60));
    }

    #[test]
    fn far_timers_fire_with_the_end_of_a_coarse_slot() {
        // Measured on Linux 6.18, in its ticks: set at, for, fired at.
        for (now, span, expiry) in
            [(1296, 26, 1323), (1289, 50, 1340), (1289, 63, 1360), (1277, 250, 1528)]
        {
            let tick = Duration::from_millis(4);
            let at = |ticks: u64| Instant::from_millis(4 * ticks);
            assert_eq!(wheel_expiry(at(now), tick * span, tick), at(expiry), "{now} {span}");
        }
        let (now, span) = (Instant::from_micros(1), Duration::from_micros(5));
        assert_eq!(wheel_expiry(now, span, Duration::ZERO), now + span);
    }

    #[test]
    fn delayed_ack_keeps_the_earlier_deadline() {
        let mut timers = Timers::new(Duration::ZERO);
        timers.set_delayed_ack(Instant::from_millis(0), Duration::from_millis(40));
        timers.set_delayed_ack(Instant::from_millis(20), Duration::from_millis(40));
        assert_eq!(timers.next(), Instant::from_millis(40));
    }
}

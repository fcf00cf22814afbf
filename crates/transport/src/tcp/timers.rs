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

/// The timer wheel of a kernel, which fires timers at multiples of its tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerWheel {
    /// In nanoseconds. Zero: timers fire when they are due.
    tick: u32,
    kind: Wheel,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wheel {
    Cascading,
    Slots,
}

impl TimerWheel {
    /// The wheel up to Linux 4.7: a timer fires with the tick that it expires with, counted from
    /// the last one, and so up to a tick early.
    pub const fn cascading(tick: Duration) -> Self {
        TimerWheel { tick: nanos_of(tick), kind: Wheel::Cascading }
    }

    /// The wheel since Linux 4.8 sorts timers by the distance of their expiry: up to 62 ticks into
    /// slots of one tick, up to 503 into slots of eight, and so on. A timer fires at the end of its
    /// slot, never early (Linux `calc_index`).
    pub const fn with_slots(tick: Duration) -> Self {
        TimerWheel { tick: nanos_of(tick), kind: Wheel::Slots }
    }

    /// When a timer is due that is set at `now` for `span`, counted in ticks from the last one:
    /// what a socket remembers of its timer (Linux `icsk_timeout`).
    fn due(self, now: Instant, span: Duration) -> Instant {
        TimerWheel { kind: Wheel::Cascading, ..self }.expiry(now, span)
    }

    /// The last tick (Linux `jiffies`).
    fn last_tick(self, now: Instant) -> Instant {
        let left_over = now.as_nanos().checked_rem(u64::from(self.tick)).unwrap_or(0);
        Instant::from_nanos(now.as_nanos() - left_over)
    }

    /// When it fires a timer that is set at `now` for `span`.
    pub(crate) fn expiry(self, now: Instant, span: Duration) -> Instant {
        /// Slots of a level that count for the distance.
        const SLOTS: u64 = 63;
        let tick = u64::from(self.tick);
        if tick == 0 {
            return now + span;
        }
        let ticks = span.as_nanos().div_ceil(tick);
        let base = now.as_nanos() / tick;
        let fires = match self.kind {
            Wheel::Cascading => base.saturating_add(ticks.max(1)),
            Wheel::Slots => {
                let level = (0..7).find(|level| ticks < SLOTS << (3 * level)).unwrap_or(7);
                let slot = (base.saturating_add(ticks) >> (3 * level)) + 1;
                slot << (3 * level)
            }
        };
        Instant::from_nanos(fires.saturating_mul(tick))
    }

    /// How early it may fire a timer.
    const fn earliness(self) -> Duration {
        match self.kind {
            Wheel::Cascading => Duration::from_nanos(self.tick as u64),
            Wheel::Slots => Duration::ZERO,
        }
    }
}

const fn nanos_of(tick: Duration) -> u32 {
    assert!(tick.as_nanos() <= u32::MAX as u64, "a tick is short");
    tick.as_nanos() as u32
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
    /// When the wheel fires it.
    fn expiry(self, wheel: TimerWheel) -> Instant {
        wheel.expiry(self.set_at, self.span)
    }

    /// Whether it fires no later than another one.
    fn precedes(self, other: Alarm, wheel: TimerWheel) -> bool {
        let is_plain = self.set_at <= other.set_at && self.span <= other.span;
        is_plain || self.expiry(wheel) <= other.expiry(wheel)
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
    wheel: TimerWheel,
}

impl Timers {
    /// No timer runs.
    pub(crate) const fn new(wheel: TimerWheel) -> Self {
        Timers {
            retransmit: None,
            delayed_ack: None,
            compressed_ack: Instant::FAR_FUTURE,
            pacing: Instant::FAR_FUTURE,
            close: Instant::FAR_FUTURE,
            floor: Instant::FAR_FUTURE,
            wheel,
        }
    }

    /// An alarm was set.
    #[inline]
    fn lower_floor(&mut self, alarm: Alarm) {
        if alarm.set_at + alarm.span < self.floor + self.wheel.earliness() {
            self.set_floor(alarm);
        }
    }

    /// The same of an alarm that may be the first.
    // In a call: an alarm is rarely earlier than the last one, and to round it takes divisions.
    #[cold]
    fn set_floor(&mut self, alarm: Alarm) {
        self.floor = self.floor.min(alarm.expiry(self.wheel));
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

    /// When the timer in the shared slot is due; the wheel may fire it later.
    pub(crate) fn retransmit_at(&self) -> Option<Instant> {
        self.retransmit.map(|(_, alarm)| self.wheel.due(alarm.set_at, alarm.span))
    }

    /// Time until the timer in the shared slot is due, in whole ticks (Linux
    /// `mptcp_timeout_from_subflow`).
    pub(crate) fn retransmit_in(&self, now: Instant) -> Option<Duration> {
        self.retransmit_at().map(|at| at - self.wheel.last_tick(now))
    }

    /// The same of one that would be set now for `span`.
    pub(crate) fn ticks_of(&self, now: Instant, span: Duration) -> Duration {
        self.wheel.due(now, span) - self.wheel.last_tick(now)
    }

    /// Takes the timer in the shared slot if it is due.
    pub(crate) fn take_due_retransmit(&mut self, now: Instant) -> Option<Retransmit> {
        let (kind, alarm) = self.retransmit?;
        (alarm.expiry(self.wheel) <= now).then(|| {
            self.retransmit = None;
            kind
        })
    }

    /// Sets the delayed acknowledgement timer unless it fires earlier already.
    pub(crate) fn set_delayed_ack(&mut self, now: Instant, span: Duration) {
        let alarm = Alarm { set_at: now, span };
        if self.delayed_ack.is_none_or(|known| !known.precedes(alarm, self.wheel)) {
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
        let due = self.delayed_ack.is_some_and(|alarm| alarm.expiry(self.wheel) <= now);
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
        *self = Timers::new(self.wheel);
    }

    /// The earliest deadline; `FAR_FUTURE` if no timer runs.
    pub(crate) fn next(&self) -> Instant {
        let expiry = |alarm: Option<Alarm>| {
            alarm.map_or(Instant::FAR_FUTURE, |alarm| alarm.expiry(self.wheel))
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
        let mut timers = Timers::new(TimerWheel::cascading(Duration::from_millis(4)));
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
        let mut timers = Timers::new(TimerWheel::with_slots(Duration::ZERO));
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

    /// Measured on Linux 6.18, in its ticks: set at, for, fired at. The last ones are delayed
    /// acknowledgements (43.2 to 43.6 ms) and the time-outs of one segment (208, 416 to 436, 832,
    /// 1664 ms) for 204 ms and its doubles.
    #[test]
    fn timers_fire_with_the_end_of_their_slot() {
        let wheel = TimerWheel::with_slots(Duration::from_millis(4));
        let measured = [
            (1296, 26, 1323),
            (1289, 50, 1340),
            (1289, 63, 1360),
            (1277, 250, 1528),
            (0, 10, 11),
            (0, 51, 52),
            (1003, 102, 1112),
            (1112, 204, 1320),
            (1320, 408, 1736),
        ];
        for (now, ticks, fires) in measured {
            let at = |ticks: u64| Instant::from_millis(4 * ticks);
            let span = Duration::from_millis(4) * ticks;
            assert_eq!(wheel.expiry(at(now), span), at(fires), "{now} {ticks}");
        }
        let (now, span) = (Instant::from_micros(1), Duration::from_micros(5));
        assert_eq!(TimerWheel::with_slots(Duration::ZERO).expiry(now, span), now + span);
    }

    /// Regression: the time was counted from now, up to a tick too short. Set at tick 1 for three.
    #[test]
    fn time_left_is_counted_in_ticks() {
        let mut timers = Timers::new(TimerWheel::with_slots(Duration::from_millis(4)));
        timers.set_retransmit(Retransmit::Rto, Instant::from_millis(7), Duration::from_millis(9));
        let left = timers.retransmit_in(Instant::from_micros(10_900));
        assert_eq!(left, Some(Duration::from_millis(8)), "of tick 2");
        let span = Duration::from_millis(9);
        assert_eq!(timers.ticks_of(Instant::from_millis(7), span), Duration::from_millis(12));
        let timers = Timers::new(TimerWheel::with_slots(Duration::ZERO));
        assert_eq!(timers.ticks_of(Instant::from_millis(7), span), span);
    }

    #[test]
    fn delayed_ack_keeps_the_earlier_deadline() {
        let mut timers = Timers::new(TimerWheel::with_slots(Duration::ZERO));
        timers.set_delayed_ack(Instant::from_millis(0), Duration::from_millis(40));
        timers.set_delayed_ack(Instant::from_millis(20), Duration::from_millis(40));
        assert_eq!(timers.next(), Instant::from_millis(40));
    }
}

//! When to sleep, when to spin, when to let others run: decisions of times, as pure functions.
//!
//! A sleep ends late by what the machine takes to wake a thread, so the loop asks to be woken that
//! much earlier and spins for the rest. Spinning takes a core from the hosts under test, and Linux
//! pauses a real-time thread that uses a core up (`sched_rt_runtime_us`; since 6.12 the deadline
//! server); so both are rationed by what has been used in the present window of time.

use base::{Duration, Instant};

/// The window over which use is counted.
const WINDOW: Duration = Duration::from_millis(100);
/// Most of a window that may be spun away.
const SPIN_BUDGET: Duration = Duration::from_millis(20);
/// Most of a window that may be used in all: below the 95 % that Linux grants.
const BUSY_BUDGET: Duration = Duration::from_millis(85);
/// A pause after that, half of what makes a packet late.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest spin, however long waking takes.
const LONGEST_SPIN: Duration = Duration::from_micros(60);
/// The longest sleep, so that nothing depends on being woken.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// What to do until the next deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// It is due.
    Go,
    /// Look at the clock and the devices until then.
    Spin,
    /// Sleep this long, or until a device has something.
    Sleep(Duration),
    /// Sleep this long, whatever arrives.
    Pause(Duration),
}

/// What a loop has used and what it has learned about waking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// How late sleeps end.
    overshoot: Duration,
    window: Instant,
    spun: Duration,
    busy: Duration,
}

impl Waiting {
    /// Nothing used, nothing known.
    pub(super) const fn new() -> Self {
        Waiting {
            overshoot: Duration::ZERO,
            window: Instant::ZERO,
            spun: Duration::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// What to do at `now` if the next thing is due at `deadline`.
    pub(super) fn plan(&mut self, now: Instant, deadline: Option<Instant>) -> Plan {
        if now - self.window >= WINDOW {
            *self = Waiting { overshoot: self.overshoot, window: now, ..Waiting::new() };
        }
        if self.busy > BUSY_BUDGET {
            self.busy = BUSY_BUDGET.saturating_sub(PAUSE);
            return Plan::Pause(PAUSE);
        }
        let Some(deadline) = deadline else { return Plan::Sleep(LONGEST_SLEEP) };
        if deadline <= now {
            return Plan::Go;
        }
        let ahead = (deadline - now).min(LONGEST_SLEEP);
        let margin = if self.spun < SPIN_BUDGET { self.overshoot } else { Duration::ZERO };
        if ahead <= margin { Plan::Spin } else { Plan::Sleep(ahead.saturating_sub(margin)) }
    }

    /// A sleep that nothing ended early was this much too long. Followed upwards at once and
    /// downwards slowly: spinning a little is better than being late a little.
    pub(super) fn on_overshoot(&mut self, by: Duration) {
        let by = by.min(LONGEST_SPIN);
        let (old, new) = (self.overshoot.as_nanos(), by.as_nanos());
        let mean = if new > old { (old + new) / 2 } else { old - (old - new) / 32 };
        self.overshoot = Duration::from_nanos(mean);
    }

    /// This much time was spent spinning.
    pub(super) fn on_spun(&mut self, time: Duration) {
        self.spun += time;
        self.busy += time;
    }

    /// This much time was spent working.
    pub(super) fn on_worked(&mut self, time: Duration) {
        self.busy += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + us(micros)
    }

    #[test]
    fn sleep_ends_before_the_deadline_by_what_waking_takes() {
        let mut waiting = Waiting::new();
        assert_eq!(waiting.plan(at(0), Some(at(1000))), Plan::Sleep(us(1000)));
        for _ in 0..20 {
            waiting.on_overshoot(us(40));
        }
        let Plan::Sleep(time) = waiting.plan(at(0), Some(at(1000))) else { panic!("no sleep") };
        assert!(time >= us(960) && time <= us(961), "{time}");
        assert_eq!(waiting.plan(at(970), Some(at(1000))), Plan::Spin);
        assert_eq!(waiting.plan(at(1000), Some(at(1000))), Plan::Go);
    }

    #[test]
    fn one_slow_waking_is_forgotten_and_never_spins_long() {
        let mut waiting = Waiting::new();
        waiting.on_overshoot(Duration::from_millis(30));
        assert_eq!(waiting.plan(at(0), Some(at(30))), Plan::Spin);
        (0..200).for_each(|_| waiting.on_overshoot(us(1)));
        assert!(matches!(waiting.plan(at(0), Some(at(30))), Plan::Sleep(_)));
    }

    #[test]
    fn spinning_is_rationed_within_a_window() {
        let mut waiting = Waiting::new();
        (0..20).for_each(|_| waiting.on_overshoot(us(50)));
        waiting.on_spun(Duration::from_millis(21));
        assert_eq!(waiting.plan(at(99_000), Some(at(99_010))), Plan::Sleep(us(10)));
        assert_eq!(waiting.plan(at(100_000), Some(at(100_010))), Plan::Spin);
    }

    #[test]
    fn loop_that_never_rests_is_paused_before_linux_does_it() {
        let mut waiting = Waiting::new();
        waiting.on_worked(Duration::from_millis(86));
        assert_eq!(waiting.plan(at(90_000), Some(at(0))), Plan::Pause(PAUSE));
        assert_eq!(waiting.plan(at(91_000), Some(at(0))), Plan::Go);
        waiting.on_worked(Duration::from_millis(2));
        assert_eq!(waiting.plan(at(93_000), Some(at(0))), Plan::Pause(PAUSE));
        assert_eq!(waiting.plan(at(100_000), Some(at(0))), Plan::Go);
    }

    #[test]
    fn nothing_due_is_a_bounded_sleep() {
        assert_eq!(Waiting::new().plan(at(0), None), Plan::Sleep(LONGEST_SLEEP));
    }
}

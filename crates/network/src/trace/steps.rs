//! Rates that hold for a time each.
//!
//! Work is counted in 10^-9 bits, so that rate times nanoseconds is exact and errors do not add up:
//! a packet ends at the last whole nanosecond before its end, and the next one continues from
//! there.

use super::{Spent, TraceFault};
use base::{Duration, Rate};

/// 10^-9 bits in a byte.
const WORK_PER_BYTE: u128 = 8_000_000_000;

/// A step this many times as long as usual is a gap in the recording.
const GAP: u64 = 5;

/// The steps of one period.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Steps {
    steps: Vec<Step>,
    period: u64,
    /// Work of a whole period.
    total: u128,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Step {
    /// Nanoseconds from the beginning of the period.
    start: u64,
    bps: u64,
    /// Work of the period before this step.
    before: u128,
}

impl Steps {
    /// Steps without duration are left out.
    pub(super) fn new(described: &[(Duration, Rate)]) -> Result<Self, TraceFault> {
        if described.is_empty() {
            return Err(TraceFault::Empty);
        }
        let mut steps = Vec::with_capacity(described.len());
        let (mut start, mut before) = (0u64, 0u128);
        for (duration, rate) in described {
            let (nanos, bps) = (duration.as_nanos(), rate.as_bps());
            if nanos == 0 {
                continue;
            }
            steps.push(Step { start, bps, before });
            start = start.checked_add(nanos).ok_or(TraceFault::TooLong)?;
            // At most 2^64 ns in all, so at most 2^128 in the sum of the products.
            before += u128::from(nanos) * u128::from(bps);
        }
        match (start, before) {
            (0, _) => Err(TraceFault::NoTime),
            (_, 0) => Err(TraceFault::NoCapacity),
            (period, total) => Ok(Steps { steps, period, total }),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) const fn period_ns(&self) -> u64 {
        self.period
    }

    pub(super) fn mean_rate(&self) -> Rate {
        Rate::from_bps((self.total / u128::from(self.period)) as u64)
    }

    /// The longest step, if it is far longer than others: a gap in the recording.
    pub(super) fn longest_gap_ns(&self) -> Option<u64> {
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([self.period]);
        let mut lengths: Vec<u64> = self.steps.iter().zip(ends).map(|(s, e)| e - s.start).collect();
        lengths.sort_unstable();
        let usual = lengths[lengths.len() / 2];
        lengths.last().copied().filter(|longest| longest / GAP >= usual)
    }

    /// The longest time at a rate of zero, the beginning of the next period included.
    pub(super) fn longest_silence_ns(&self) -> u64 {
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([self.period]);
        let lengths = self.steps.iter().zip(ends).map(|(step, end)| (step.bps, end - step.start));
        let (mut longest, mut now) = (0, 0u64);
        // What begins at the end of a period is whole in the second one.
        for (bps, length) in lengths.clone().chain(lengths) {
            now = if bps == 0 { now + length } else { 0 };
            longest = longest.max(now);
        }
        longest
    }

    /// The longest time until `bytes` have passed, from any time on.
    pub(super) fn longest_ns_for(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let work = u128::from(bytes) * WORK_PER_BYTE;
        let (periods, rest) = (work / self.total, work % self.total);
        let whole = periods.saturating_mul(u128::from(self.period));
        let whole = u64::try_from(whole).unwrap_or(u64::MAX);
        whole.saturating_add(self.longest_within(rest).max(self.reversed().longest_within(rest)))
    }

    /// The steps from the last to the first. The longest time for some work begins where a step
    /// begins or ends where one ends, since it changes evenly between; the second is the first of
    /// the steps in reverse.
    fn reversed(&self) -> Steps {
        let (mut end, mut after) = (self.period, self.total);
        let reversed = self.steps.iter().rev().map(|step| {
            let (start, before) = (self.period - end, self.total - after);
            (end, after) = (step.start, step.before);
            Step { start, bps: step.bps, before }
        });
        Steps { steps: reversed.collect(), ..*self }
    }

    /// The longest time from the beginning of a step on for less work than a period has. The end
    /// moves on with the beginning.
    fn longest_within(&self, work: u128) -> u64 {
        let (mut longest, mut last, mut over) = (0, 0, false);
        for begin in self.steps.iter().filter(|_| work > 0) {
            let target = begin.before + work;
            let wraps = target > self.total;
            if wraps && !over {
                (last, over) = (0, true);
            }
            let target = if wraps { target - self.total } else { target };
            while self.steps.get(last + 1).is_some_and(|next| next.before < target) {
                last += 1;
            }
            // Not silent: the following step has more before it.
            let step = &self.steps[last];
            let rest = (target - step.before) as f64 / step.bps as f64;
            let round = u64::from(wraps) * self.period;
            let end = step.start.saturating_add(rest as u64).saturating_add(round);
            longest = longest.max(end - begin.start);
        }
        longest
    }

    pub(super) fn rate_at(&self, nanos: u64) -> Rate {
        let within = nanos % self.period;
        Rate::from_bps(self.steps[self.step_at(within, 0)].bps)
    }

    pub(super) fn finish(&self, spent: &mut Spent, start: u64, bytes: u32) -> u64 {
        let passed = self.work_until(start, &mut spent.step);
        let work = u128::from(bytes) * WORK_PER_BYTE;
        spent.position = spent.position.max(passed).saturating_add(work);
        if work == 0 {
            return start;
        }
        self.time_of(spent.position, &mut spent.step).max(start)
    }

    /// Work that has passed by `nanos`.
    pub(super) fn passed(&self, nanos: u64) -> u128 {
        self.work_until(nanos, &mut 0)
    }

    /// Work that could have been done by `nanos`.
    fn work_until(&self, nanos: u64, hint: &mut usize) -> u128 {
        let (cycle, within) = (nanos / self.period, nanos % self.period);
        *hint = self.step_at(within, *hint);
        let step = &self.steps[*hint];
        let here = u128::from(within - step.start) * u128::from(step.bps);
        u128::from(cycle) * self.total + step.before + here
    }

    /// The last whole nanosecond at which no more than `work` could have been done.
    fn time_of(&self, work: u128, hint: &mut usize) -> u64 {
        let (cycle, within) = (work / self.total, work % self.total);
        // Work that ends with a step ends there, not after a following step of rate zero.
        let (cycle, within) = if within == 0 { (cycle - 1, self.total) } else { (cycle, within) };
        *hint = self.step_of(within, *hint);
        let step = &self.steps[*hint];
        let (rest, bps) = (within - step.before, u128::from(step.bps));
        let nanos = cycle * u128::from(self.period) + u128::from(step.start);
        u64::try_from(nanos + rest / bps).unwrap_or(u64::MAX)
    }

    /// The step at `within` a period; the hint is tried first.
    fn step_at(&self, within: u64, hint: usize) -> usize {
        let holds = |index: usize| {
            self.steps.get(index).is_some_and(|step| step.start <= within)
                && self.steps.get(index + 1).is_none_or(|next| within < next.start)
        };
        if holds(hint) {
            return hint;
        }
        // The first step starts at 0, so the answer is at least 1.
        self.steps.partition_point(|step| step.start <= within) - 1
    }

    /// The step in which the work of a period exceeds `within` (more than 0); never one of rate
    /// zero.
    fn step_of(&self, within: u128, hint: usize) -> usize {
        let holds = |index: usize| {
            self.steps.get(index).is_some_and(|step| step.before < within && step.bps > 0)
                && self.steps.get(index + 1).is_none_or(|next| within <= next.before)
        };
        if holds(hint) {
            return hint;
        }
        // The first step has no work before it, so the result is at least 1. The last step that
        // begins below `within` is the one, since later steps of rate zero begin at or above it.
        self.steps.partition_point(|step| step.before < within) - 1
    }
}

//! The jitter of the goodput (004 sIV): how much what the application read in one second differs
//! from what it read in the next one.

use base::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Bytes that the application read in every second of the run, of all connections together.
#[derive(Clone, Debug, Default)]
pub(super) struct Goodput {
    by_second: Vec<u64>,
}

impl Goodput {
    /// The data receiver's application read these bytes.
    pub(super) fn read(&mut self, now: Instant, len: u32) {
        let second = ((now - Instant::ZERO).as_nanos() / SECOND.as_nanos()) as usize;
        if self.by_second.len() <= second {
            self.by_second.resize(second + 1, 0);
        }
        self.by_second[second] += u64::from(len);
    }

    /// Mean size of the steps between consecutive full seconds from `begin` to `end` of the run,
    /// in bit/s; `None` with fewer than two of these seconds.
    pub(super) fn jitter(&self, begin: Duration, end: Duration) -> Option<f64> {
        let first = begin.as_nanos().div_ceil(SECOND.as_nanos());
        let after = end.as_nanos() / SECOND.as_nanos();
        let read = |second: u64| self.by_second.get(second as usize).copied().unwrap_or(0);
        let steps = (first + 1..after).map(|second| read(second).abs_diff(read(second - 1)));
        let (sum, count) = steps.fold((0, 0_u64), |(sum, count), step| (sum + step, count + 1));
        (count > 0).then(|| 8.0 * sum as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_the_mean_step_between_full_seconds() {
        let mut of = Goodput::default();
        for (millis, bytes) in [(500, 9_000), (1_000, 300), (1_999, 700), (2_500, 400), (4_100, 50)]
        {
            of.read(Instant::from_millis(millis), bytes);
        }
        let jitter =
            |begin, end| of.jitter(Duration::from_millis(begin), Duration::from_millis(end));
        // Seconds 1 to 3 have 1000, 400 and 0 bytes; seconds that are not whole are left out.
        assert_eq!(jitter(900, 4_200), Some(8.0 * 500.0));
        assert_eq!(jitter(1_000, 4_000), Some(8.0 * 500.0));
        assert_eq!(jitter(1_001, 3_999), None);
        // Nothing is read at the end.
        assert_eq!(jitter(4_000, 7_000), Some(8.0 * 25.0));
    }
}

//! The machine's monotonic clock as the engine's time.
//!
//! The one place besides the command's progress where a clock is read.

use base::{Duration, Instant};
use std::time::{SystemTime, UNIX_EPOCH};

/// Counts from its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// A clock that is zero now.
    pub fn start() -> Self {
        Clock { origin: read() }
    }

    /// The present.
    pub fn now(&self) -> Instant {
        let nanos = read().duration_since(self.origin).as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The time of day at its creation, since 1970 (UTC): for captures, no engine has it.
    #[allow(clippy::disallowed_methods, reason = "times of packets in a capture")]
    pub(crate) fn since_1970(&self) -> Duration {
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let elapsed = (self.now() - Instant::ZERO).as_nanos();
        let nanos = day.as_nanos().saturating_sub(elapsed.into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[allow(clippy::disallowed_methods, reason = "here the engine's time comes from")]
fn read() -> std::time::Instant {
    std::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_near_zero_and_never_goes_back() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(first < Instant::from_secs(5));
        assert!(clock.now() >= first);
    }
}

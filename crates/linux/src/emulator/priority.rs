//! What a thread that must be in time can ask of the machine, and what it was kept waiting.
//!
//! Real-time priority where it is allowed, else at least sleeps that end when they should. How
//! long the thread waited for a processor is the kernel's own count.

use crate::system::run_in_real_time;
use base::Duration;
use nix::sys::prctl;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Who must be in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Urgency {
    /// Programs that measure: before everything else.
    Measuring = 40,
    /// The links, which must not wait for whom they carry packets; below the kernel's own threads
    /// (watchdogs have 99).
    Carrying = 50,
}

/// Give the calling thread real-time priority. Whether that is allowed here; if not, it at least
/// wakes as exactly as the clock can.
pub fn hurry(urgency: Urgency) -> bool {
    let allowed = run_in_real_time(urgency as i32).is_ok();
    // Real-time threads have no slack; for others it is 50 microseconds.
    let _ = prctl::set_timerslack(1);
    allowed
}

/// The time the calling thread spent runnable without a processor.
pub(super) struct RunDelay {
    /// `None` where the kernel does not count.
    file: Option<File>,
    seen: u64,
}

impl RunDelay {
    /// Of the calling thread, from now on.
    pub(super) fn new() -> Self {
        let mut delay = RunDelay { file: File::open("/proc/thread-self/schedstat").ok(), seen: 0 };
        delay.take();
        delay
    }

    /// What was added since the last call.
    pub(super) fn take(&mut self) -> Duration {
        let now = self.read().unwrap_or(self.seen);
        let added = now.saturating_sub(self.seen);
        self.seen = now;
        Duration::from_nanos(added)
    }

    fn read(&self) -> Option<u64> {
        let mut bytes = [0; 64];
        let len = self.file.as_ref()?.read_at(&mut bytes, 0).ok()?;
        second_number(std::str::from_utf8(bytes.get(..len)?).ok()?)
    }
}

/// Time on a processor, time waiting for one (ns), time slices.
fn second_number(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_the_second_number() {
        assert_eq!(second_number("120 4567 8\n"), Some(4567));
        assert_eq!(second_number("120"), None);
        assert_eq!(second_number(""), None);
    }

    #[test]
    fn delay_is_counted_from_the_last_look() {
        let mut delay = RunDelay::new();
        delay.take();
        assert!(delay.take() < Duration::from_secs(5));
    }
}

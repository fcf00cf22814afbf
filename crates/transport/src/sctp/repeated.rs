//! `Repeated`: the timer of a request that is repeated until it is answered: T4 of ASCONF and that
//! of RE-CONFIG (RFC 5061 s5.1.1, RFC 6525 s5.1.1). What is sent is left to its owners.
//!
//! The RTO of the path does not back off enough: an acknowledgement of data restores it. The error
//! counters alone decide whether the association ends (RFC 5061 s5.1.1 B2, as in Linux): one whose
//! data arrive goes on, though a middlebox drops its requests.

use base::{Duration, Instant};

/// A request that is outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    /// When it is sent again.
    pub deadline: Instant,
    /// The time that its last transmission has for an answer.
    timeout: Duration,
}

impl Repeated {
    /// A request was sent on a path with this time-out.
    pub(super) fn new(now: Instant, rto: Duration) -> Repeated {
        Repeated { deadline: now + rto, timeout: rto }
    }

    /// It is sent again, on a path with this time-out: it has twice the time that it had before, up
    /// to `max`, and that of the path at least (RFC 5061 s5.1.1 B3, B5).
    pub(super) fn on_sent_again(&mut self, now: Instant, rto: Duration, max: Duration) {
        self.timeout = (self.timeout * 2).min(max).max(rto);
        self.deadline = now + self.timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_backs_off_whatever_the_rto_of_the_path_is() {
        let (second, max) = (Duration::from_secs(1), Duration::from_secs(60));
        let mut now = Instant::ZERO;
        let mut repeated = Repeated::new(now, second);
        let mut waited = Vec::new();
        for _ in 0..8 {
            waited.push((repeated.deadline - now).as_millis() / 1000);
            now = repeated.deadline;
            repeated.on_sent_again(now, second, max);
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 32, 60, 60]);
        let slow = Duration::from_secs(3);
        repeated = Repeated::new(now, second);
        repeated.on_sent_again(now, slow, max);
        assert_eq!(repeated.deadline - now, slow, "the RTO of a slower path");
    }
}

//! `Repeated`: the timer of a request that is repeated until it is answered: T4 of ASCONF and that of
//! RE-CONFIG (RFC 5061 s5.1.1, RFC 6525 s5.1.1).
//!
//! The error counter and the RTO of the path are not enough: acknowledgements of data restore both,
//! and a peer that never answers would be asked for ever.

use base::{Duration, Instant};

/// A request that is outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    /// When it is sent again.
    pub deadline: Instant,
    /// The time that its last transmission has for an answer.
    timeout: Duration,
    /// Transmissions without an answer.
    unanswered: u32,
}

impl Repeated {
    /// A request was sent on a path with this time-out.
    pub(super) fn new(now: Instant, rto: Duration) -> Repeated {
        Repeated { deadline: now + rto, timeout: rto, unanswered: 0 }
    }

    /// The timer expired; returns whether the request may be sent again, up to `most` times (RFC
    /// 5061 s5.1.1 B2).
    pub(super) const fn may_go_on(&mut self, most: u32) -> bool {
        self.unanswered += 1;
        self.unanswered <= most
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
    fn request_backs_off_whatever_the_rto_of_the_path_is_and_ends() {
        let (second, max) = (Duration::from_secs(1), Duration::from_secs(60));
        let mut now = Instant::ZERO;
        let mut repeated = Repeated::new(now, second);
        let mut waited = Vec::new();
        loop {
            waited.push((repeated.deadline - now).as_millis() / 1000);
            now = repeated.deadline;
            if !repeated.may_go_on(8) {
                break;
            }
            repeated.on_sent_again(now, second, max);
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 32, 60, 60, 60], "eight repetitions");
        let slow = Duration::from_secs(3);
        repeated = Repeated::new(now, second);
        repeated.on_sent_again(now, slow, max);
        assert_eq!(repeated.deadline - now, slow, "the RTO of a slower path");
    }
}

//! REMOVE_ADDR (RFC 8684 s3.4.2): whether a subflow to an address that the peer removed still works
//! is checked by keep-alive segments, so that a forged option ends no subflow. Kernels end such
//! subflows at once, and simulated kernels do, too.

use base::{Duration, Instant};

/// Keep-alive segments without an answer after which a subflow is over.
const PROBES: u32 = 2;

/// The check of a subflow whose address was removed by the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemovalCheck {
    /// When the next keep-alive segment is sent, or the subflow is over.
    due: Instant,
    /// Keep-alive segments sent.
    sent: u32,
}

/// What follows when a check is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepAlive {
    /// The next keep-alive segment, after `sent` of them.
    Send { sent: u32 },
    /// None was answered.
    GiveUp,
}

impl RemovalCheck {
    /// After another keep-alive segment in addition to `sent` of them.
    pub fn after(now: Instant, rto: Duration, sent: u32) -> Self {
        RemovalCheck { due: now + rto * (1 << sent), sent: sent + 1 }
    }

    /// What follows if it is due.
    pub fn on_due(self, now: Instant) -> Option<KeepAlive> {
        if self.due > now {
            None
        } else if self.sent >= PROBES {
            Some(KeepAlive::GiveUp)
        } else {
            Some(KeepAlive::Send { sent: self.sent })
        }
    }

    /// When it continues.
    pub const fn deadline(self) -> Instant {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subflow_is_given_up_after_two_unanswered_segments() {
        let rto = Duration::from_millis(100);
        let first = RemovalCheck::after(Instant::ZERO, rto, 0);
        assert_eq!(first.deadline(), Instant::from_millis(100));
        assert_eq!(first.on_due(Instant::from_millis(99)), None);
        assert_eq!(first.on_due(first.deadline()), Some(KeepAlive::Send { sent: 1 }));
        let second = RemovalCheck::after(first.deadline(), rto, 1);
        assert_eq!(second.deadline(), Instant::from_millis(300), "the interval doubles");
        assert_eq!(second.on_due(second.deadline()), Some(KeepAlive::GiveUp));
    }
}

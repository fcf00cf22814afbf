//! Addresses that the peer withdraws (RFC 8684 s3.4.2): whether a subflow to one still works is
//! found out by keepalives, so that a forged option ends nothing; the address is used for nothing
//! new. The kernels end such subflows at once, and are played so.

use base::{Duration, Instant};

/// Keepalives without an answer after which a subflow is over.
const PROBES: u32 = 2;

/// The check of a subflow whose address was removed by the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemovalCheck {
    /// When the next keepalive is sent, or the subflow is over.
    due: Instant,
    /// Keepalives sent.
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
    /// After another keep-alive segment beside `sent` of them.
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

    /// When it goes on.
    pub const fn deadline(self) -> Instant {
        self.due
    }
}

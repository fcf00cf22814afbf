//! Failures of paths and how long the application received nothing.

use base::Duration;

/// How a path fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The link is down and the hosts are notified.
    Down,
    /// The link is down without a notification.
    Silent,
    /// The delay grows.
    Delay,
    /// Connections are reset.
    Reset,
    /// The address is withdrawn.
    Removed,
}

/// The longest time without a delivery that a failure caused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailoverTime {
    /// Index of the path.
    pub path: usize,
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Since the start of the run.
    pub at: Duration,
    /// From the last delivery before to the first one after; `None`: the end of the run came first.
    pub time: Option<Duration>,
}

impl FailureKind {
    /// The name in path descriptions and in results.
    pub const fn name(self) -> &'static str {
        match self {
            FailureKind::Down => "down",
            FailureKind::Silent => "silent",
            FailureKind::Delay => "delay",
            FailureKind::Reset => "reset",
            FailureKind::Removed => "removed",
        }
    }
}

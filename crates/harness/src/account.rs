//! Where the time of the data sender's connections went.

use base::{Blocked, Duration};

/// Time of the connections of a data sender by state, summed over all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// From the opening of each connection until the run was over.
    pub life: Duration,
    /// By the place of the reason in `Blocked::ALL`; the times add up to `life`.
    pub stopped: [Held; Blocked::ALL.len()],
    /// At the data receiver: time in which later bytes had arrived and the next byte had not.
    pub head_of_line: Held,
}

/// Time, and the bytes that had to wait in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Total time in this state.
    pub time: Duration,
    /// Each byte is counted once. Of a sender: bytes that were unsent when such a time began or
    /// were sent in it; of the send buffer, bytes that were written at its end. Of a receiver:
    /// bytes that arrived before bytes that precede them.
    pub bytes: u64,
}

impl Account {
    /// Time and bytes of one reason.
    pub const fn of(&self, why: Blocked) -> Held {
        self.stopped[why.index()]
    }
}

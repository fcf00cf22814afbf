//! Words for what stands in a record of decisions.

use base::Blocked;
use base::decision::Mark;

/// A mark in one word, as tables and documents have it.
pub const fn mark_word(mark: Mark) -> &'static str {
    words_of(mark).0
}

/// A mark in one word, and what that means.
pub fn mark_words() -> impl Iterator<Item = (Mark, &'static str, &'static str)> {
    Mark::ALL.into_iter().map(|mark| {
        let (word, meaning) = words_of(mark);
        (mark, word, meaning)
    })
}

const fn words_of(mark: Mark) -> (&'static str, &'static str) {
    match mark {
        Mark::Closed => ("closed", "its subflow is not open for data"),
        Mark::Failed => ("failed", "its retransmission timer expired, no progress since"),
        Mark::Backup => ("backup", "to be used only if no other path can"),
        Mark::Probing => ("probing", "suspended by the path policy: probes only"),
        Mark::WindowFull => ("full", "its congestion window is full, or will be by what is queued"),
        Mark::Loss => ("loss", "it repeats what a time-out declared lost"),
        Mark::SmallQueue => ("tsq", "enough of it waits in the host's own queue"),
        Mark::ReceiveWindow => ("rwnd", "the peer's receive window does not take the segment"),
        Mark::Carried => ("carried", "the segment was on it before"),
    }
}

/// Why a scheduler waits, in words; `None`: by its own choice, which its rule explains.
pub const fn reason(why: Blocked) -> Option<&'static str> {
    Some(match why {
        Blocked::CongestionWindow => "no path has room in its congestion window",
        Blocked::ReceiveWindow => "the peer's receive window is full",
        Blocked::SendBuffer => "all is handed out, the application waits for the send buffer",
        Blocked::SchedulerWaits => return None,
        Blocked::Pacing => "the next departure time of pacing is not reached",
        Blocked::SmallQueue => "enough waits in the host's own queue",
        Blocked::Nagle => "a small segment waits for more data",
        Blocked::NothingToSend => "all is handed out",
        Blocked::PathDown => "no path can carry data",
        Blocked::Opening => "the connection is being opened",
    })
}

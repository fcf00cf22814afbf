//! Texts for the contents of a record of decisions.

use base::Blocked;
use base::decision::Mark;

/// A mark in one word, as tables and documents have it.
pub const fn mark_word(mark: Mark) -> &'static str {
    words_of(mark).0
}

/// A mark in one word, and its meaning.
pub fn mark_words() -> impl Iterator<Item = (Mark, &'static str, &'static str)> {
    Mark::ALL.into_iter().map(|mark| {
        let (word, meaning) = words_of(mark);
        (mark, word, meaning)
    })
}

const fn words_of(mark: Mark) -> (&'static str, &'static str) {
    match mark {
        Mark::Closed => ("closed", "its subflow is not open for data"),
        Mark::Failed => ("failed", "its retransmission timer expired, no progress since then"),
        Mark::Backup => ("backup", "backup, used only if no other path can be"),
        Mark::Probing => ("probing", "suspended by the path policy: probes only"),
        Mark::WindowFull => (
            "full",
            "its congestion window is full, or will be with the queued \
            segments",
        ),
        Mark::Loss => ("loss", "it retransmits data declared lost by a time-out"),
        Mark::SmallQueue => (
            "tsq",
            "TCP Small Queues: enough waits \
            in the host's own queue",
        ),
        Mark::ReceiveWindow => ("rwnd", "the segment does not fit the peer's receive window"),
        Mark::Carried => ("carried", "it already carried the segment"),
    }
}

/// Reason why a scheduler waits; `None` for its own choice, which its rule explains.
pub const fn reason(why: Blocked) -> Option<&'static str> {
    Some(match why {
        Blocked::CongestionWindow => "no path has room in its congestion window",
        Blocked::ReceiveWindow => "the peer's receive window is full",
        Blocked::SendBuffer => "all data are scheduled, the application waits for the send buffer",
        Blocked::SchedulerWaits => return None,
        Blocked::Pacing => "pacing: the next departure time is not reached",
        Blocked::SmallQueue => "TCP Small Queues: enough waits in the host's own queue",
        Blocked::Nagle => "Nagle's algorithm: a small segment waits for more data",
        Blocked::NothingToSend => "all data are scheduled",
        Blocked::PathDown => "no path can carry data",
        Blocked::Opening => "the connection is being opened",
    })
}

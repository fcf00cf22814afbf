//! Chunk rescheduling: the lowest chunk, which keeps the shared buffers full, is sent again on a
//! path that has room (Dreibholz et al., PAMS 2011; `cmtChunkReschedulingVariant` of INET).
//!
//! What arrived and waits for the lowest chunk takes room in the buffer of the receiver, and in the
//! send buffer unless the peer keeps it (NR-SACK): the two buffers are looked at with their own
//! contents. INET has one number for both, because its receivers never report that they keep data.

use super::config::Sides;

/// When the lowest chunk is sent again on another path, and what that means for its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rescheduling {
    /// The buffers that are looked at.
    pub sides: Sides,
    /// Share of the path's buffer that waits for the lowest chunk from which on it is moved, in
    /// thousandths.
    pub threshold_permille: u32,
    /// The path that loses a chunk cuts its window.
    pub moved_reduces_cwnd: bool,
    /// Round trips of its new path after which a moved chunk may be retransmitted fast.
    pub moved_fast_rtx: u32,
}

impl Rescheduling {
    /// The values of INET, for these buffers.
    pub const fn of(sides: Sides) -> Self {
        Rescheduling { sides, threshold_permille: 500, moved_reduces_cwnd: true, moved_fast_rtx: 2 }
    }
}

/// What the rule asks about. All in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sctp) struct Stall {
    /// Sent on the path, and not acknowledged for good.
    pub queued: u64,
    /// In the network on the path.
    pub outstanding: u64,
    /// Sent on the path, arrived, and kept by the peer until the lowest chunk arrives.
    pub kept: u64,
    /// The send buffer; 0: unlimited.
    pub send_buffer: u64,
    /// The peer's window with what is queued on all paths, and what the peer keeps.
    pub window: u64,
    /// Paths that share the buffers.
    pub paths: u64,
}

/// Whether what arrived on the path and waits for the lowest chunk takes too much of a buffer.
/// `split`: the buffers of which every path has its share.
pub(in crate::sctp) fn is_stalled(rule: &Rescheduling, split: Sides, stall: &Stall) -> bool {
    let Stall { queued, outstanding, kept, send_buffer, window, paths } = *stall;
    // What waits has far less than 64 bits; a threshold that has more is not reached.
    let threshold = u64::from(rule.threshold_permille);
    let exceeds = |waiting: u64, is_split: bool, buffer: u64| {
        let shares = if is_split { paths } else { 1 };
        waiting.saturating_mul(1000 * shares) >= threshold.saturating_mul(buffer)
    };
    let waiting = queued.saturating_sub(outstanding);
    let by_sender = rule.sides.has_sender()
        && send_buffer > 0
        && exceeds(waiting, split.has_sender(), send_buffer);
    let waiting = waiting + kept;
    let by_receiver =
        rule.sides.has_receiver() && waiting > 0 && exceeds(waiting, split.has_receiver(), window);
    by_sender || by_receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn stall(queued: u64) -> Stall {
        let (outstanding, kept) = (20_000, 0);
        Stall { queued, outstanding, kept, send_buffer: MIB, window: 1 << 40, paths: 2 }
    }

    #[test]
    fn chunk_is_moved_from_half_of_the_share_of_the_send_buffer_on() {
        let rule = Rescheduling::of(Sides::Both);
        assert!(is_stalled(&rule, Sides::Both, &stall(400_000)), "0.7248 of 524288 bytes");
        assert!(!is_stalled(&rule, Sides::Both, &stall(280_000)), "0.4959");
        assert!(is_stalled(&rule, Sides::Both, &stall(20_000 + 262_144)));
        assert!(!is_stalled(&rule, Sides::Both, &stall(20_000 + 262_143)));
        // Without splitting the path has all of the buffer.
        assert!(!is_stalled(&rule, Sides::Receiver, &stall(400_000)));
        assert!(is_stalled(&rule, Sides::None, &stall(20_000 + 524_288)));
        let unlimited = Stall { send_buffer: 0, ..stall(400_000) };
        assert!(!is_stalled(&rule, Sides::Both, &unlimited));
    }

    #[test]
    fn each_side_is_looked_at_by_its_own_rule() {
        let both = Stall { window: MIB, ..stall(400_000) };
        let receiver = Stall { send_buffer: 100 * MIB, ..both };
        for (sides, sender, receives) in [
            (Sides::None, false, false),
            (Sides::Sender, true, false),
            (Sides::Receiver, false, true),
            (Sides::Both, true, true),
        ] {
            let rule = Rescheduling::of(sides);
            assert_eq!(is_stalled(&rule, Sides::Both, &stall(400_000)), sender, "{sides:?}");
            assert_eq!(is_stalled(&rule, Sides::Both, &receiver), receives, "{sides:?}");
        }
        // Kept by the receiver: its buffer is full of it, the send buffer is not.
        let kept = Stall { queued: 20_000, kept: 380_000, ..both };
        let rule = |sides| Rescheduling::of(sides);
        assert!(!is_stalled(&rule(Sides::Sender), Sides::Both, &kept));
        assert!(is_stalled(&rule(Sides::Receiver), Sides::Both, &kept));
        let idle = Stall { queued: 0, outstanding: 0, window: 0, ..receiver };
        assert!(!is_stalled(&Rescheduling::of(Sides::Both), Sides::Both, &idle));
    }
}

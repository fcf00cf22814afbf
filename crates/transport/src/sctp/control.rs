//! `ControlQueue`: control chunks that wait to be sent, by the pair of addresses they go to.

use base::PathId;
use std::collections::VecDeque;
use wire::sctp::Chunk;

/// Control chunks that wait at most: a peer that makes us answer faster than we send loses answers.
const MAX_WAITING: usize = 64;

/// Control chunks in the order in which they were queued.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlQueue {
    waiting: VecDeque<(PathId, Chunk)>,
}

impl ControlQueue {
    /// Queues a chunk to `pair`; it is dropped if too many wait.
    pub(super) fn push(&mut self, pair: PathId, chunk: Chunk) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((pair, chunk));
        }
    }

    /// Queues a chunk to `pair` before all others.
    pub(super) fn push_first(&mut self, pair: PathId, chunk: Chunk) {
        self.waiting.push_front((pair, chunk));
    }

    /// Where the next chunk goes.
    pub(super) fn next_pair(&self) -> Option<PathId> {
        self.waiting.front().map(|(pair, _)| *pair)
    }

    /// The next chunks, which all go to `pair` and fit `room` bytes; at least one, whatever its
    /// size.
    pub(super) fn take(&mut self, pair: PathId, room: u32) -> Vec<Chunk> {
        let (mut chunks, mut left) = (Vec::new(), room);
        while let Some((to, chunk)) = self.waiting.front() {
            let len = chunk.padded_len();
            if *to != pair || (len > left && !chunks.is_empty()) {
                break;
            }
            left = left.saturating_sub(len);
            chunks.extend(self.waiting.pop_front().map(|(_, chunk)| chunk));
        }
        chunks
    }

    /// Chunks that `is_unwanted` says are dropped.
    pub(super) fn drop_where(&mut self, is_unwanted: impl Fn(&Chunk) -> bool) {
        self.waiting.retain(|(_, chunk)| !is_unwanted(chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_to_one_pair_share_a_packet_in_their_order() {
        let mut queue = ControlQueue::default();
        for (pair, chunk) in [(0, Chunk::CookieAck), (0, Chunk::ShutdownAck), (1, Chunk::CookieAck)]
        {
            queue.push(PathId(pair), chunk);
        }
        assert_eq!(queue.next_pair(), Some(PathId(0)));
        assert_eq!(queue.take(PathId(0), 4), [Chunk::CookieAck], "no room for two");
        assert_eq!(queue.take(PathId(0), 100), [Chunk::ShutdownAck]);
        assert_eq!(queue.take(PathId(1), 0), [Chunk::CookieAck], "one at least");
        assert_eq!(queue.next_pair(), None);
    }

    #[test]
    fn flood_of_answers_is_bounded() {
        let mut queue = ControlQueue::default();
        (0..1000).for_each(|_| queue.push(PathId(0), Chunk::CookieAck));
        assert_eq!(queue.take(PathId(0), u32::MAX).len(), MAX_WAITING);
    }
}

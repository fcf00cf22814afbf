//! `Fragments`: how Linux cuts a connection's send queue into pieces of pages.
//!
//! A write is copied to pages of 32 KiB (`skb_page_frag_refill`). Each piece has a description
//! (`struct mptcp_data_frag`) in front of its data. A write extends the last piece while part of it
//! was never passed to a path (`mptcp_frag_can_collapse_to`); otherwise it begins another piece, in
//! the same page if there is room. When everything was acknowledged the page is filled from its
//! start again. Only the ends of the pieces are kept; data are in `SendBuffer`.

use std::collections::VecDeque;

/// Bytes of a page fragment (Linux `SKB_FRAG_PAGE_ORDER`).
const PAGE_BYTES: u32 = 32 << 10;
/// Memory of a description, in bytes.
const DESCRIPTION_BYTES: u32 = 40;
/// A piece begins in a page that has this much room in addition to its description.
const LEAST_ROOM: u32 = 32;
/// Descriptions begin at multiples of this.
const ALIGNMENT: u32 = 8;

/// Most bytes that one piece holds.
pub const FRAGMENT_BYTES: u32 = PAGE_BYTES - DESCRIPTION_BYTES;

/// The pieces of a send queue that are not entirely acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    pieces: VecDeque<Piece>,
    /// Bytes used of the current page, in which the last piece lies.
    page_used: u32,
    overhead_bytes: u32,
}

/// One piece: it begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Offset in the stream of the first byte behind it.
    end: u64,
    /// Memory of its description and of the bytes that align it.
    overhead: u32,
}

impl Fragments {
    /// Of a protocol that does not hold its data in pieces.
    pub const fn none() -> &'static Fragments {
        static NONE: Fragments =
            Fragments { pieces: VecDeque::new(), page_used: 0, overhead_bytes: 0 };
        &NONE
    }

    /// Bytes that the next piece of a write takes at most; `is_pending` if something that was
    /// written was never passed to a path.
    pub fn room(&self, is_pending: bool) -> u32 {
        if self.extends(is_pending) {
            return PAGE_BYTES - self.page_used;
        }
        PAGE_BYTES - self.next_start() - DESCRIPTION_BYTES
    }

    /// `len` bytes are written at offset `at`, which is where the last piece ends.
    pub fn append(&mut self, at: u64, len: u32, is_pending: bool) {
        debug_assert!(
            self.pieces.back().is_none_or(|last| last.end == at),
            "the stream has no gap"
        );
        let (mut end, mut left, mut is_pending) = (at, len, is_pending);
        while left > 0 {
            let step = self.room(is_pending).min(left);
            if !self.extends(is_pending) {
                self.begin_piece(end);
            }
            end += u64::from(step);
            self.page_used += step;
            if let Some(last) = self.pieces.back_mut() {
                last.end = end;
            }
            left -= step;
            is_pending = true;
        }
    }

    /// Everything below `una` is acknowledged; the end of the last piece that was released.
    pub fn release_below(&mut self, una: u64) -> Option<u64> {
        let mut released = None;
        while let Some(first) = self.pieces.front()
            && first.end <= una
        {
            self.overhead_bytes -= first.overhead;
            released = Some(first.end);
            self.pieces.pop_front();
        }
        released
    }

    /// The end of the piece that has the byte before `offset`; `offset` where there is none.
    pub fn end_of(&self, offset: u64) -> u64 {
        let index = self.pieces.partition_point(|piece| piece.end < offset);
        self.pieces.get(index).map_or(offset, |piece| piece.end)
    }

    /// Memory of all descriptions, in bytes.
    pub const fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }

    /// A write goes on in the last piece.
    fn extends(&self, is_pending: bool) -> bool {
        is_pending && !self.pieces.is_empty() && self.page_used < PAGE_BYTES
    }

    /// Where in its page the next description begins.
    fn next_start(&self) -> u32 {
        let is_free = self.pieces.is_empty();
        if is_free || self.page_used + LEAST_ROOM + DESCRIPTION_BYTES > PAGE_BYTES {
            return 0;
        }
        self.page_used.next_multiple_of(ALIGNMENT)
    }

    fn begin_piece(&mut self, end: u64) {
        let start = self.next_start();
        let padding = start.saturating_sub(self.page_used);
        let overhead = DESCRIPTION_BYTES + if start == 0 { 0 } else { padding };
        self.page_used = start + DESCRIPTION_BYTES;
        self.overhead_bytes += overhead;
        self.pieces.push_back(Piece { end, overhead });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(fragments: &Fragments) -> Vec<u64> {
        fragments.pieces.iter().map(|piece| piece.end).collect()
    }

    #[test]
    fn long_write_fills_pages() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.room(false), 32_728);
        fragments.append(0, 70_000, false);
        assert_eq!(ends(&fragments), [32_728, 65_456, 70_000]);
        assert_eq!(fragments.overhead_bytes(), 120);
        fragments.append(70_000, 1000, true);
        assert_eq!(ends(&fragments), [32_728, 65_456, 71_000], "the last piece is extended");
    }

    #[test]
    fn piece_that_was_passed_on_is_not_extended() {
        let mut fragments = Fragments::default();
        fragments.append(0, 28_401, false);
        fragments.append(28_401, 42_600, false);
        // 40 + 28,401 bytes of the page, 7 to align, 40, and 4,280 are left.
        assert_eq!(ends(&fragments), [28_401, 32_681, 65_409, 71_001]);
        assert_eq!(fragments.overhead_bytes(), 40 + 47 + 40 + 40);
        assert_eq!(
            [1, 28_401, 28_402, 71_001, 80_000].map(|at| fragments.end_of(at)),
            [28_401, 28_401, 32_681, 71_001, 80_000]
        );
    }

    /// As seen of Linux 6.18: 20 segments of 1420 bytes, and after their acknowledgement 30 more.
    #[test]
    fn page_is_filled_from_its_start_when_all_is_acknowledged() {
        let mut fragments = Fragments::default();
        fragments.append(0, 28_400, false);
        fragments.release_below(28_400);
        assert_eq!(fragments.overhead_bytes(), 0);
        fragments.append(28_400, 42_600, false);
        assert_eq!(ends(&fragments), [28_400 + 32_728, 71_000]);
        fragments.release_below(28_400 + 32_727);
        assert_eq!(ends(&fragments).len(), 2, "a piece goes as a whole");
        fragments.release_below(28_400 + 32_728);
        assert_eq!((ends(&fragments).len(), fragments.overhead_bytes()), (1, 40));
    }

    #[test]
    fn full_page_is_left() {
        let mut fragments = Fragments::default();
        fragments.append(0, FRAGMENT_BYTES - 71, false);
        assert_eq!(fragments.room(false), FRAGMENT_BYTES, "71 bytes do not take a piece");
        assert_eq!(fragments.room(true), 71);
        fragments.append(u64::from(FRAGMENT_BYTES) - 71, 71, true);
        assert_eq!(fragments.room(true), FRAGMENT_BYTES);
    }
}

//! `StreamEdits`: replacements in a byte stream, and the shifts of all later bytes.
//!
//! Offsets count from zero, on the sender's side (*before*) and on the receiver's side (*after*)
//! of the middlebox. An edit is made once and applies to every later copy of its bytes, however
//! they are split into segments. Sequence numbers and the search are left to `payload_rewriter`.

use wire::Payload;

/// Most edits of a stream, which bounds the memory per flow.
const MAX_EDITS: usize = 64;

/// The edits of one stream, in order and disjoint.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamEdits {
    edits: Vec<Edit>,
}

/// `removed` bytes from `at` on are replaced by others. At least one is removed.
#[derive(Clone, Debug)]
struct Edit {
    at: u64,
    removed: u64,
    put: Payload,
}

impl Edit {
    const fn end(&self) -> u64 {
        self.at + self.removed
    }

    /// The part of the replacement that corresponds to the first `removed` bytes.
    fn put_for(&self, removed: u64) -> u64 {
        let put = u64::from(self.put.len());
        if removed == self.removed { put } else { removed.min(put) }
    }

    /// Growth of the stream, in two's complement.
    fn growth(&self) -> u64 {
        u64::from(self.put.len()).wrapping_sub(self.removed)
    }
}

impl StreamEdits {
    /// Replace `removed` bytes at `at`, after all earlier edits. False if there are too many.
    pub(super) fn push(&mut self, at: u64, removed: u64, put: Payload) -> bool {
        debug_assert!(self.edits.last().is_none_or(|last| last.end() <= at) && removed > 0);
        let room = self.edits.len() < MAX_EDITS;
        if room {
            self.edits.push(Edit { at, removed, put });
        }
        room
    }

    /// The receiver's offset of the byte that the sender sent at `before`.
    pub(super) fn after(&self, before: u64) -> u64 {
        let mut growth = 0u64;
        for edit in &self.edits {
            if before <= edit.at {
                break;
            }
            if before < edit.end() {
                let inside = edit.put_for(before - edit.at);
                return edit.at.wrapping_add(growth) + inside;
            }
            growth = growth.wrapping_add(edit.growth());
        }
        before.wrapping_add(growth)
    }

    /// The sender's offset up to which the receiver has everything, given its offset `after`. The
    /// last replaced byte is included only with its whole replacement.
    pub(super) fn before(&self, after: u64) -> u64 {
        let mut growth = 0u64;
        for edit in &self.edits {
            let start = edit.at.wrapping_add(growth);
            let put = u64::from(edit.put.len());
            if after < start || (after == start && put > 0) {
                break;
            }
            if after - start < put {
                return edit.at + (after - start).min(edit.removed - 1);
            }
            growth = growth.wrapping_add(edit.growth());
        }
        after.wrapping_sub(growth)
    }

    /// The bytes that the receiver gets for `payload`, sent at `start`.
    pub(super) fn apply(&self, start: u64, payload: &Payload) -> Payload {
        let end = start + u64::from(payload.len());
        let mut edited = Payload::EMPTY;
        let mut done = start;
        // In range: offsets between `start` and `end`.
        let part = |from: u64, to: u64| payload.slice((from - start) as u32, (to - from) as u32);
        for edit in self.edits.iter().filter(|edit| edit.at < end && edit.end() > start) {
            let (from, to) = (edit.at.max(start), edit.end().min(end));
            edited.append(part(done, from));
            let (first, last) = (edit.put_for(from - edit.at), edit.put_for(to - edit.at));
            edited.append(edit.put.slice(first as u32, (last - first) as u32));
            done = to;
        }
        edited.append(part(done, end));
        edited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEN: u64 = 200;

    /// Gaps before edits, bytes removed, bytes put in.
    fn edits() -> impl Strategy<Value = StreamEdits> {
        proptest::collection::vec((0u64..40, 1u64..8, 0usize..8), 0..5).prop_map(|list| {
            let mut edits = StreamEdits::default();
            let mut at = 0;
            for (gap, removed, put) in list {
                at += gap;
                if at + removed <= LEN {
                    assert!(edits.push(at, removed, vec![0xEE; put].into()));
                    at += removed;
                }
            }
            edits
        })
    }

    #[test]
    fn a_longer_word_moves_what_follows() {
        let mut edits = StreamEdits::default();
        edits.push(10, 2, b"12345".to_vec().into());
        assert_eq!([9, 10, 11, 12, 20].map(|at| edits.after(at)), [9, 10, 11, 15, 23]);
        // Bytes 12 to 14 of the receiver belong to the last byte that was replaced.
        assert_eq!([10, 11, 14, 15, 23].map(|at| edits.before(at)), [10, 11, 11, 12, 20]);
    }

    #[test]
    fn a_word_taken_out_is_acknowledged_with_what_precedes_it() {
        let mut edits = StreamEdits::default();
        edits.push(10, 3, Payload::EMPTY);
        assert_eq!([10, 11, 13, 20].map(|at| edits.after(at)), [10, 10, 10, 17]);
        assert_eq!([9, 10, 17].map(|at| edits.before(at)), [9, 13, 20]);
    }

    #[test]
    fn edits_are_bounded() {
        let mut edits = StreamEdits::default();
        let made = (0..1000).filter(|at| edits.push(2 * at, 1, Payload::EMPTY)).count();
        assert_eq!(made, MAX_EDITS);
    }

    proptest! {
        #[test]
        fn stream_is_the_same_however_it_is_cut(
            edits in edits(),
            cuts in proptest::collection::vec(0..LEN, 0..8),
        ) {
            let stream = Payload::virtual_range(1, 0, LEN as u32);
            let whole = edits.apply(0, &stream).to_bytes();
            let mut cuts = cuts;
            cuts.extend([0, LEN]);
            cuts.sort_unstable();
            for cut in cuts.windows(2) {
                let (from, to) = (cut[0], cut[1]);
                let piece = edits.apply(from, &stream.slice(from as u32, (to - from) as u32));
                let place = edits.after(from) as usize..edits.after(to) as usize;
                prop_assert_eq!(piece.to_bytes(), whole.slice(place));
            }
        }

        #[test]
        fn acknowledgement_covers_no_more_than_what_arrived(edits in edits()) {
            for before in 0..=LEN {
                let after = edits.after(before);
                prop_assert!(edits.before(after) >= before);
                prop_assert_eq!(edits.after(edits.before(after)), after);
            }
            for after in 0..edits.after(LEN) {
                prop_assert!(edits.after(edits.before(after)) <= after);
                prop_assert!(edits.before(after) <= edits.before(after + 1));
            }
        }
    }
}

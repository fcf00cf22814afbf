//! `SendBuffer`: the bytes of a stream that were written and are not yet acknowledged.
//!
//! Offsets are 64-bit positions from zero in the stream. Virtual payload that continues itself is
//! one piece of any length, so a bulk transfer costs O(1) here. Which bytes were sent, and limits
//! on the size, are left to the owner.

use base::prefetch;
use bytes::Bytes;
use std::cell::Cell;
use std::collections::VecDeque;
use std::hint::cold_path;
use wire::{Payload, payload};

/// Bytes `start()..end()` of a stream.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SendBuffer {
    pieces: VecDeque<Piece>,
    start: u64,
    /// Index of the piece read last; the next slice is mostly in the same one or the next.
    hint: Cell<usize>,
    /// Last, since every packet asks for it.
    end: u64,
}

/// A run of bytes of one kind.
#[derive(Clone, Debug)]
struct Piece {
    /// Stream offset of the first byte, which may be below the start of the buffer.
    start: u64,
    /// Stream offset after the last byte.
    end: u64,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// Bytes from `offset` of virtual stream `stream`.
    Virtual {
        stream: u32,
        offset: u64,
    },
    Real(Bytes),
}

impl SendBuffer {
    /// An empty buffer at offset zero.
    pub fn new() -> Self {
        SendBuffer::default()
    }

    /// Requests the memory of the first bytes.
    pub fn prefetch(&self) {
        self.pieces.front().inspect(|piece| prefetch(*piece));
    }

    /// Offset after the last byte.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Number of bytes.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Appends bytes.
    pub fn append(&mut self, payload: Payload) {
        match payload.content() {
            payload::Content::Empty => {}
            payload::Content::Virtual(range) => {
                self.append_virtual(range.stream, range.offset, u64::from(range.len));
            }
            payload::Content::Real(bytes) => {
                self.push(bytes.len() as u64, Content::Real(bytes.clone()));
            }
            payload::Content::Mixed(_) => {
                for piece in payload.into_pieces() {
                    self.append(piece);
                }
            }
        }
    }

    /// Virtual bytes extend the last piece if they continue it.
    fn append_virtual(&mut self, stream: u32, offset: u64, len: u64) {
        if let Some(last) = self.pieces.back_mut()
            && let Content::Virtual { stream: s, offset: o } = last.content
            && s == stream
            && o.wrapping_add(last.end - last.start) == offset
        {
            last.end += len;
            self.end += len;
            return;
        }
        self.push(len, Content::Virtual { stream, offset });
    }

    fn push(&mut self, len: u64, content: Content) {
        if len > 0 {
            let start = self.end;
            self.end += len;
            debug_assert!(
                self.pieces.back().is_none_or(|last| last.end == start),
                "pieces are contiguous"
            );
            // Mostly one: a queue that grows takes four.
            if self.pieces.capacity() == 0 {
                self.pieces.reserve_exact(1);
            }
            self.pieces.push_back(Piece { start, end: self.end, content });
        }
    }

    /// The bytes `offset..offset + len`, as far as they are in the buffer.
    #[inline(always)]
    pub fn slice(&self, offset: u64, len: u32) -> Payload {
        let start = offset.max(self.start);
        let end = offset.saturating_add(u64::from(len)).min(self.end);
        if start >= end {
            cold_path();
            return Payload::EMPTY;
        }
        // Mostly the piece read last has all of it.
        match self.pieces.get(self.hint.get()) {
            Some(piece) if piece.start <= start && end <= piece.end => piece.slice(start, end),
            _ => {
                cold_path();
                self.slice_of_others(start, end)
            }
        }
    }

    /// The bytes `start..end`, not all in the piece read last.
    #[inline(never)]
    fn slice_of_others(&self, start: u64, end: u64) -> Payload {
        let index = self.index_of(start);
        match self.pieces.get(index) {
            Some(piece) if end <= piece.end => {
                self.hint.set(index);
                piece.slice(start, end)
            }
            _ => self.gather(index, start, end),
        }
    }

    /// The bytes `start..end`, the first of which is in piece `index`.
    fn gather(&self, index: usize, start: u64, end: u64) -> Payload {
        let mut out = Payload::EMPTY;
        for (index, piece) in self.pieces.iter().enumerate().skip(index) {
            if piece.start >= end {
                break;
            }
            self.hint.set(index);
            out.append(piece.slice(start.max(piece.start), end.min(piece.end)));
        }
        out
    }

    /// Index of the piece with the byte at `offset`, which is in the buffer.
    fn index_of(&self, offset: u64) -> usize {
        let hint = self.hint.get();
        let holds =
            |index: &usize| self.pieces.get(*index).is_some_and(|piece| piece.holds(offset));
        let likely = [hint, hint + 1].into_iter().find(holds);
        likely.unwrap_or_else(|| self.pieces.partition_point(|piece| piece.end <= offset))
    }

    /// Forgets everything below `offset` (at most everything).
    pub fn release_below(&mut self, offset: u64) {
        self.start = self.start.max(offset.min(self.end));
        while self.pieces.front().is_some_and(|first| first.end <= self.start) {
            cold_path();
            self.pieces.pop_front();
            self.hint.set(self.hint.get().saturating_sub(1));
        }
        debug_assert!(self.start <= self.end);
        debug_assert!(
            self.pieces.front().is_none_or(|first| first.holds(self.start)),
            "the first piece has the first byte"
        );
    }
}

impl Piece {
    fn holds(&self, offset: u64) -> bool {
        (self.start..self.end).contains(&offset)
    }

    /// The bytes `start..end` of the stream, at most 4 GiB, all of which are in the piece.
    #[inline(always)]
    fn slice(&self, start: u64, end: u64) -> Payload {
        let (from, len) = (start - self.start, (end - start) as u32);
        match &self.content {
            Content::Virtual { stream, offset } => {
                Payload::virtual_range(*stream, offset.wrapping_add(from), len)
            }
            Content::Real(bytes) => slice_of(bytes, from as usize, len),
        }
    }
}

#[inline(never)]
fn slice_of(bytes: &Bytes, from: usize, len: u32) -> Payload {
    bytes.slice(from..from + len as usize).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(payload: Payload) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in payload.into_pieces() {
            match piece.content() {
                payload::Content::Real(bytes) => out.extend_from_slice(bytes),
                // Virtual streams represent their offsets here.
                payload::Content::Virtual(range) => {
                    out.extend((0..u64::from(range.len)).map(|i| (range.offset + i) as u8));
                }
                payload::Content::Empty | payload::Content::Mixed(_) => {
                    unreachable!("pieces are plain")
                }
            }
        }
        out
    }

    #[test]
    fn a_virtual_bulk_transfer_is_one_piece() {
        let mut buffer = SendBuffer::new();
        for i in 0..200_000u64 {
            buffer.append(Payload::virtual_range(7, i * 65_536, 65_536));
        }
        assert_eq!(buffer.pieces.len(), 1);
        assert_eq!(buffer.len(), 200_000 * 65_536);
        let above_4_gib = 5 << 30;
        assert_eq!(buffer.slice(above_4_gib, 1448), Payload::virtual_range(7, above_4_gib, 1448));
    }

    #[test]
    fn a_slice_outside_gives_what_is_there() {
        let mut buffer = SendBuffer::new();
        buffer.append(Bytes::from_static(b"abcdef").into());
        buffer.release_below(2);
        assert_eq!(bytes_of(buffer.slice(0, 4)), b"cd");
        assert_eq!(bytes_of(buffer.slice(4, 100)), b"ef");
        assert_eq!(buffer.slice(6, 1), Payload::EMPTY);
        assert_eq!(buffer.slice(u64::MAX, 9), Payload::EMPTY);
        buffer.release_below(u64::MAX);
        assert!(buffer.is_empty());
        assert_eq!(buffer.start, 6);
    }

    #[derive(Clone, Debug)]
    enum Op {
        Real(Vec<u8>),
        /// Length, and whether a new virtual stream starts.
        Virtual(u32, bool),
        Slice(u16, u32),
        Release(u16),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            2 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Op::Real),
            2 => (0..20u32, any::<bool>()).prop_map(|(n, fresh)| Op::Virtual(n, fresh)),
            6 => (any::<u16>(), 0..30u32).prop_map(|(at, n)| Op::Slice(at, n)),
            1 => any::<u16>().prop_map(Op::Release),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn random_operations_equal_a_vector(ops in prop::collection::vec(op(), 1..60)) {
            let mut buffer = SendBuffer::new();
            let mut model: Vec<u8> = Vec::new();
            let mut start = 0usize;
            let (mut stream, mut next) = (0u32, 0u64);
            for op in ops {
                match op {
                    Op::Real(bytes) => {
                        model.extend_from_slice(&bytes);
                        buffer.append(Payload::from(bytes));
                    }
                    Op::Virtual(len, fresh) => {
                        stream += u32::from(fresh);
                        model.extend((0..u64::from(len)).map(|i| (next + i) as u8));
                        buffer.append(Payload::virtual_range(stream, next, len));
                        next += u64::from(len);
                    }
                    Op::Slice(at, len) => {
                        let at = usize::from(at) % (model.len() + 1);
                        let end = (at + len as usize).min(model.len());
                        let expected = &model[at.max(start).min(end)..end];
                        prop_assert_eq!(bytes_of(buffer.slice(at as u64, len)), expected);
                    }
                    Op::Release(at) => {
                        let at = usize::from(at) % (model.len() + 1);
                        start = start.max(at);
                        buffer.release_below(at as u64);
                    }
                }
                prop_assert_eq!(buffer.start, start as u64);
                prop_assert_eq!(buffer.end(), model.len() as u64);
            }
        }
    }
}

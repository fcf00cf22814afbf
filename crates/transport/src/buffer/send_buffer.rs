//! `SendBuffer`: the bytes of a stream that were written and are not yet acknowledged.
//!
//! Offsets are 64-bit positions from zero in the stream. Virtual payload that continues itself is
//! one piece however long it grows, so a bulk transfer costs O(1) here. Which bytes were sent,
//! and limits on the size, are left to the connection.

use bytes::Bytes;
use std::cell::Cell;
use std::collections::VecDeque;
use wire::Payload;

/// Bytes `start()..end()` of a stream.
#[derive(Clone, Debug, Default)]
pub struct SendBuffer {
    pieces: VecDeque<Piece>,
    start: u64,
    end: u64,
    /// Index of the piece read last: the next slice is mostly in the same one or the next.
    hint: Cell<usize>,
}

/// A run of bytes of one kind; its end is where the next one starts.
#[derive(Clone, Debug)]
struct Piece {
    /// Stream offset of the first byte, which may lie below the buffer's start.
    start: u64,
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

    /// Offset of the first byte held.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Offset behind the last byte held.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Bytes held.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether nothing is held.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Add bytes at the end.
    pub fn append(&mut self, payload: Payload) {
        match payload {
            Payload::Empty => {}
            Payload::Virtual(range) => {
                self.push_virtual(range.stream, range.offset);
                self.end += u64::from(range.len);
            }
            Payload::Real(bytes) => {
                let len = bytes.len() as u64;
                if len > 0 {
                    let content = Content::Real(*bytes);
                    self.pieces.push_back(Piece { start: self.end, content });
                    self.end += len;
                }
            }
            mixed @ Payload::Mixed(_) => {
                for piece in mixed.into_pieces() {
                    self.append(piece);
                }
            }
        }
    }

    /// Start a virtual piece at the end, unless the last one continues there by itself.
    fn push_virtual(&mut self, stream: u32, offset: u64) {
        if let Some(last) = self.pieces.back()
            && let Content::Virtual { stream: s, offset: o } = last.content
            && s == stream
            && o.wrapping_add(self.end - last.start) == offset
        {
            return;
        }
        let content = Content::Virtual { stream, offset };
        self.pieces.push_back(Piece { start: self.end, content });
    }

    /// The bytes `offset..offset + len`; of a range not wholly held, the part that is.
    pub fn slice(&self, offset: u64, len: u32) -> Payload {
        let mut at = offset.max(self.start);
        let end = offset.saturating_add(u64::from(len)).min(self.end);
        if at >= end {
            return Payload::Empty;
        }
        let mut index = self.piece_at(at);
        let mut out = Payload::Empty;
        while let Some(piece) = self.pieces.get(index) {
            let piece_end = self.pieces.get(index + 1).map_or(self.end, |next| next.start);
            let stop = end.min(piece_end);
            // At most `len`, which is a u32.
            out.append(piece.content.slice(at - piece.start, (stop - at) as u32));
            at = stop;
            if at >= end {
                break;
            }
            index += 1;
        }
        self.hint.set(index);
        out
    }

    /// Index of the piece that holds `offset`, which lies in `start..end`.
    fn piece_at(&self, offset: u64) -> usize {
        let hint = self.hint.get();
        for index in [hint, hint + 1] {
            let starts = self.pieces.get(index).is_some_and(|piece| piece.start <= offset);
            if starts && self.pieces.get(index + 1).is_none_or(|next| offset < next.start) {
                return index;
            }
        }
        self.pieces.partition_point(|piece| piece.start <= offset).saturating_sub(1)
    }

    /// Forget everything below `offset` (at most everything).
    pub fn release_below(&mut self, offset: u64) {
        self.start = self.start.max(offset.min(self.end));
        while !self.pieces.is_empty() {
            let end = self.pieces.get(1).map_or(self.end, |next| next.start);
            if end > self.start {
                break;
            }
            self.pieces.pop_front();
            self.hint.set(self.hint.get().saturating_sub(1));
        }
    }
}

impl Content {
    fn slice(&self, from: u64, len: u32) -> Payload {
        match self {
            Content::Virtual { stream, offset } => {
                Payload::virtual_range(*stream, offset.wrapping_add(from), len)
            }
            Content::Real(bytes) => {
                let from = from as usize;
                bytes.slice(from..from + len as usize).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(payload: Payload) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in payload.into_pieces() {
            match piece {
                Payload::Real(bytes) => out.extend_from_slice(&bytes),
                // Virtual streams stand for their offsets here.
                Payload::Virtual(range) => {
                    out.extend((0..u64::from(range.len)).map(|i| (range.offset + i) as u8));
                }
                Payload::Empty | Payload::Mixed(_) => unreachable!("pieces are plain"),
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
        assert_eq!(buffer.slice(6, 1), Payload::Empty);
        assert_eq!(buffer.slice(u64::MAX, 9), Payload::Empty);
        buffer.release_below(u64::MAX);
        assert!(buffer.is_empty());
        assert_eq!(buffer.start(), 6);
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
                prop_assert_eq!(buffer.start(), start as u64);
                prop_assert_eq!(buffer.end(), model.len() as u64);
            }
        }
    }
}

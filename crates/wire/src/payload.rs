//! `Payload`: real bytes, or a virtual function of (stream, offset), or a mixture of both.
//!
//! A virtual payload moves no bytes through the simulator and has a checksum in O(1). Its bytes are
//! defined in `virtual_stream`; buffering is left to `transport`.

use crate::rarely::Rarely;
use bytes::Bytes;
use std::hint::cold_path;
use std::num::NonZeroU32;

/// The payload of one segment or datagram, or a piece of a stream. 16 bytes, because it is in every
/// packet and in every buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Payload(Repr);

/// The compiler keeps the other variant where the length is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Repr {
    /// A range of a virtual stream.
    Virtual { stream: u32, len: NonZeroU32, offset: u64 },
    /// Real bytes or several pieces; `None`: no bytes. Boxed, since packets are moved often and
    /// simulated ones have none.
    Other(Rarely<Stored>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Stored {
    /// At least one byte.
    Real(Bytes),
    /// Several pieces in order; never nested, never with empty pieces. With their length, which is
    /// often asked for.
    Mixed(Vec<Payload>, u32),
}

/// What a payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// No bytes.
    Empty,
    /// Bytes of a virtual stream.
    Virtual(VirtualRange),
    /// Real bytes.
    Real(&'a Bytes),
    /// Several pieces in order; never nested, never with empty pieces.
    Mixed(&'a [Payload]),
}

impl Default for Repr {
    fn default() -> Repr {
        Repr::Other(Rarely::NONE)
    }
}

/// A range of a virtual stream: `len` bytes from `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualRange {
    /// Number of the stream, which determines its bytes.
    pub stream: u32,
    /// Bytes of the range; at least 1 in a payload.
    pub len: u32,
    /// Position of the first byte in the stream.
    pub offset: u64,
}

impl Payload {
    /// No bytes.
    pub const EMPTY: Payload = Payload(Repr::Other(Rarely::NONE));

    /// Bytes `offset..offset + len` of virtual stream `stream`; empty if `len` is 0.
    #[inline]
    pub const fn virtual_range(stream: u32, offset: u64, len: u32) -> Self {
        match NonZeroU32::new(len) {
            Some(len) => Payload(Repr::Virtual { stream, len, offset }),
            None => Payload::EMPTY,
        }
    }

    /// Pieces in order, of which none is empty or several pieces itself.
    pub fn from_pieces(mut pieces: Vec<Payload>) -> Payload {
        debug_assert!(
            pieces.iter().all(|piece| !piece.is_empty() && !piece.is_mixed()),
            "the pieces of a payload are plain"
        );
        if pieces.len() > 1 {
            let len = pieces.iter().map(Payload::len).sum();
            return Payload(Repr::Other(Rarely::new(Stored::Mixed(pieces, len))));
        }
        pieces.pop().unwrap_or_default()
    }

    /// What it is.
    #[inline]
    pub fn content(&self) -> Content<'_> {
        match &self.0 {
            Repr::Virtual { stream, len, offset } => {
                let (stream, len, offset) = (*stream, len.get(), *offset);
                Content::Virtual(VirtualRange { stream, len, offset })
            }
            Repr::Other(stored) => match stored.get() {
                None => Content::Empty,
                Some(Stored::Real(bytes)) => Content::Real(bytes),
                Some(Stored::Mixed(pieces, _)) => Content::Mixed(pieces),
            },
        }
    }

    /// The range of a virtual stream, if it is one.
    #[inline]
    pub const fn as_virtual(&self) -> Option<VirtualRange> {
        match self.0 {
            Repr::Virtual { stream, len, offset } => {
                Some(VirtualRange { stream, len: len.get(), offset })
            }
            Repr::Other(_) => None,
        }
    }

    /// Whether it has several pieces.
    pub fn is_mixed(&self) -> bool {
        matches!(self.content(), Content::Mixed(_))
    }

    /// Number of bytes.
    // Called dozens of times per packet: the variants of simulated packets are distinguished by
    // comparisons, not by a jump table, which is hard to predict.
    #[inline]
    pub fn len(&self) -> u32 {
        match &self.0 {
            Repr::Virtual { len, .. } => len.get(),
            Repr::Other(stored) => match stored.get() {
                None => 0,
                Some(stored) => {
                    cold_path();
                    stored.len()
                }
            },
        }
    }

    /// Whether there are no bytes.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Other(stored) if stored.is_none())
    }

    /// The bytes `from..from + len` of this payload.
    ///
    /// # Panics
    /// If the range is not within the payload.
    #[inline]
    pub fn slice(&self, from: u32, len: u32) -> Payload {
        match &self.0 {
            Repr::Virtual { stream, len: whole, offset }
                if from.checked_add(len).is_some_and(|end| end <= whole.get()) =>
            {
                Payload::virtual_range(*stream, offset.wrapping_add(from.into()), len)
            }
            _ => {
                cold_path();
                self.slice_of_real(from, len)
            }
        }
    }

    fn slice_of_real(&self, from: u32, len: u32) -> Payload {
        assert!(
            from.checked_add(len).is_some_and(|end| end <= self.len()),
            "slice within the payload"
        );
        match self.content() {
            _ if len == 0 => Payload::EMPTY,
            Content::Empty | Content::Virtual(_) => Payload::EMPTY,
            Content::Real(bytes) => bytes.slice(from as usize..(from + len) as usize).into(),
            Content::Mixed(pieces) => slice_pieces(pieces, from, len),
        }
    }

    /// Whether `next` and this are ranges of a virtual stream that make up one range.
    #[inline]
    pub const fn is_continued_by(&self, next: &Payload) -> bool {
        matches!((self.as_virtual(), next.as_virtual()), (Some(last), Some(next))
            if last.continues_with(&next))
    }

    /// Extends a range of a virtual stream by `next` if that is the range after it; returns whether
    /// it did. No bytes are copied.
    #[inline]
    pub const fn join(&mut self, next: &Payload) -> bool {
        if !self.is_continued_by(next) {
            return false;
        }
        if let (Repr::Virtual { len, .. }, Repr::Virtual { len: more, .. }) = (&mut self.0, &next.0)
        {
            // No overflow: that was a condition.
            *len = len.saturating_add(more.get());
        }
        true
    }

    /// Append `other`, joining consecutive pieces.
    pub fn append(&mut self, other: Payload) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other;
            return;
        }
        if self.join(&other) {
            return;
        }
        let whole = [std::mem::take(self), other];
        *self = whole.into_iter().collect();
    }

    /// The bytes; copied or generated unless this is one piece of real bytes.
    pub fn to_bytes(&self) -> Bytes {
        if let Content::Real(bytes) = self.content() {
            return bytes.clone();
        }
        let mut out = Vec::new();
        self.write_to(&mut out);
        out.into()
    }

    /// Append the bytes to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self.content() {
            Content::Empty => {}
            Content::Virtual(range) => range.write_to(out),
            Content::Real(bytes) => out.extend_from_slice(bytes),
            Content::Mixed(pieces) => pieces.iter().for_each(|piece| piece.write_to(out)),
        }
    }

    /// The first `N` bytes, `None` of fewer ones.
    pub fn prefix<const N: usize>(&self) -> Option<[u8; N]> {
        match self.content() {
            Content::Real(bytes) => bytes.first_chunk().copied(),
            Content::Mixed([first, ..]) if first.len() as usize >= N => first.prefix(),
            _ => {
                let len = u32::try_from(N).ok().filter(|len| *len <= self.len())?;
                self.slice(0, len).to_bytes().first_chunk().copied()
            }
        }
    }

    /// The byte at `index`, `None` beyond the end.
    pub fn byte_at(&self, index: u32) -> Option<u8> {
        match self.content() {
            Content::Empty => None,
            Content::Virtual(range) => (index < range.len).then(|| range.byte_at(index)),
            Content::Real(bytes) => bytes.get(index as usize).copied(),
            Content::Mixed(pieces) => {
                let mut index = index;
                for piece in pieces {
                    match index.checked_sub(piece.len()) {
                        None => return piece.byte_at(index),
                        Some(beyond) => index = beyond,
                    }
                }
                None
            }
        }
    }

    /// The real bytes of `self` with the pieces of `original`: bytes equal to a virtual piece
    /// become that piece again, so that a parsed packet equals the one sent.
    #[must_use]
    pub fn reshaped_like(self, original: &Payload) -> Payload {
        let bytes = match self.content() {
            Content::Real(bytes) if bytes.len() == original.len() as usize => bytes,
            _ => return self,
        };
        match original.content() {
            Content::Virtual(range) if range.matches(bytes) => original.clone(),
            Content::Mixed(pieces) => {
                let mut from = 0;
                let reshaped = pieces.iter().map(|piece| {
                    let part = bytes.slice(from..from + piece.len() as usize);
                    from += part.len();
                    Payload::from(part).reshaped_like(piece)
                });
                Payload::from_pieces(reshaped.collect())
            }
            _ => self,
        }
    }

    /// The pieces in order, none empty, none mixed.
    pub fn into_pieces(mut self) -> Vec<Payload> {
        if let Repr::Other(stored) = &mut self.0 {
            return match stored.take() {
                None => Vec::new(),
                Some(Stored::Mixed(pieces, _)) => pieces,
                Some(real @ Stored::Real(_)) => vec![Payload(Repr::Other(Rarely::new(real)))],
            };
        }
        vec![self]
    }
}

impl Stored {
    const fn len(&self) -> u32 {
        match self {
            Stored::Real(bytes) => bytes.len() as u32,
            Stored::Mixed(_, len) => *len,
        }
    }
}

impl VirtualRange {
    /// Whether `next` begins where this range ends, in the same stream.
    pub const fn continues_with(&self, next: &VirtualRange) -> bool {
        self.stream == next.stream
            && self.offset.wrapping_add(self.len as u64) == next.offset
            && self.len.checked_add(next.len).is_some()
    }
}

impl FromIterator<Payload> for Payload {
    /// The bytes of all of them in order, consecutive pieces joined.
    fn from_iter<I: IntoIterator<Item = Payload>>(parts: I) -> Payload {
        let parts = parts.into_iter();
        let mut pieces = Vec::with_capacity(parts.size_hint().0);
        for part in parts.filter(|part| !part.is_empty()) {
            if part.is_mixed() {
                part.into_pieces().into_iter().for_each(|piece| push_piece(&mut pieces, piece));
            } else {
                push_piece(&mut pieces, part);
            }
        }
        Payload::from_pieces(pieces)
    }
}

impl From<Bytes> for Payload {
    /// Real bytes; `Empty` if there are none.
    fn from(bytes: Bytes) -> Payload {
        if bytes.is_empty() {
            return Payload::EMPTY;
        }
        Payload(Repr::Other(Rarely::new(Stored::Real(bytes))))
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Payload {
        Bytes::from(bytes).into()
    }
}

fn slice_pieces(pieces: &[Payload], mut from: u32, mut len: u32) -> Payload {
    let mut out = Vec::new();
    for piece in pieces {
        let here = piece.len();
        if from >= here {
            from -= here;
            continue;
        }
        let take = len.min(here - from);
        if take == len && out.is_empty() {
            return piece.slice(from, len);
        }
        push_piece(&mut out, piece.slice(from, take));
        from = 0;
        len -= take;
        if len == 0 {
            break;
        }
    }
    Payload::from_pieces(out)
}

/// Appends a piece that is neither empty nor mixed.
fn push_piece(pieces: &mut Vec<Payload>, piece: Payload) {
    if !pieces.last_mut().is_some_and(|last| last.join(&piece)) {
        pieces.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Payload {
        let mut payload = Payload::virtual_range(1, 10, 5);
        payload.append(Payload::from(vec![1, 2, 3]));
        payload.append(Payload::virtual_range(1, 15, 4));
        payload
    }

    #[test]
    fn slices_have_the_bytes_of_the_whole() {
        let whole = mixed();
        let bytes = whole.to_bytes();
        assert_eq!(bytes.len(), 12);
        for from in 0..=12u32 {
            for len in 0..=12 - from {
                let slice = whole.slice(from, len);
                assert_eq!(slice.len(), len);
                assert_eq!(slice.to_bytes(), bytes[from as usize..(from + len) as usize]);
            }
        }
        assert_eq!(whole.prefix::<12>().map(|found| found.to_vec()), Some(bytes.to_vec()));
        assert_eq!(whole.slice(5, 7).prefix::<3>(), Some([1, 2, 3]), "in the first piece");
        assert_eq!(whole.slice(5, 7).prefix::<4>(), Some([1, 2, 3, bytes[8]]));
        assert_eq!((whole.prefix::<13>(), Payload::EMPTY.prefix::<0>()), (None, Some([])));
        assert!((0..12).all(|i| whole.byte_at(i) == Some(bytes[i as usize])));
        assert_eq!(whole.byte_at(12), None);
    }

    #[test]
    fn a_slice_of_one_piece_is_that_piece() {
        assert_eq!(mixed().slice(6, 2), Payload::from(vec![2, 3]));
        assert_eq!(mixed().slice(1, 3), Payload::virtual_range(1, 11, 3));
    }

    #[test]
    fn appending_joins_ranges_that_continue_and_skips_nothing() {
        let mut payload = Payload::from(Bytes::new());
        payload.append(Payload::virtual_range(1, 0, 5));
        payload.append(Payload::from(Bytes::new()));
        payload.append(Payload::virtual_range(1, 5, 5));
        assert_eq!(payload, Payload::virtual_range(1, 0, 10));
        let mut real = Payload::from(vec![7]);
        real.append(payload.slice(0, 4));
        real.append(payload.slice(4, 6));
        let pieces = real.into_pieces();
        assert_eq!(pieces, [Payload::from(vec![7]), payload]);
    }

    #[test]
    fn collected_pieces_are_those_appended_one_by_one() {
        let parts = [mixed(), Payload::EMPTY, mixed().slice(2, 7), Payload::from(Bytes::new())];
        let mut appended = Payload::EMPTY;
        parts.iter().for_each(|part| appended.append(part.clone()));
        assert_eq!(parts.into_iter().collect::<Payload>(), appended);
        let halves = [Payload::virtual_range(1, 0, 5), Payload::virtual_range(1, 5, 5)];
        assert_eq!(halves.into_iter().collect::<Payload>(), Payload::virtual_range(1, 0, 10));
    }

    #[test]
    fn reshaping_finds_virtual_pieces_again_and_only_where_they_are() {
        let original = mixed();
        let wire = Payload::from(original.to_bytes());
        assert_eq!(wire.clone().reshaped_like(&original), original);

        let mut damaged = original.to_bytes().to_vec();
        damaged[9] ^= 1;
        let reshaped = Payload::from(damaged.clone()).reshaped_like(&original);
        assert_ne!(reshaped, original);
        assert_eq!(reshaped.to_bytes(), damaged);
        assert_eq!(wire.clone().reshaped_like(&Payload::virtual_range(1, 0, 3)), wire);
    }
}

//! `Payload`: real bytes, or a virtual function of (stream, offset), or a mixture (rule 7).
//!
//! A virtual payload moves no bytes through the simulator and has a checksum in O(1). Leaves
//! buffering to `transport`.

use bytes::Bytes;

/// The payload of one segment or datagram, or a piece of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Payload {
    /// No bytes.
    #[default]
    Empty,
    /// Bytes `offset..offset + len` of the virtual stream `stream`.
    Virtual(VirtualRange),
    /// Real bytes.
    Real(Bytes),
    /// Several pieces in order; never nested, never with empty pieces.
    Mixed(Box<[Payload]>),
}

/// A range of a virtual stream: `len` bytes from `offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualRange {
    pub stream: u32,
    pub len: u32,
    pub offset: u64,
}

impl Payload {
    /// Bytes `offset..offset + len` of virtual stream `stream`; empty if `len` is 0.
    pub const fn virtual_range(stream: u32, offset: u64, len: u32) -> Self {
        if len == 0 {
            return Payload::Empty;
        }
        Payload::Virtual(VirtualRange { stream, len, offset })
    }

    /// Number of bytes.
    pub fn len(&self) -> u32 {
        match self {
            Payload::Empty => 0,
            Payload::Virtual(range) => range.len,
            Payload::Real(bytes) => bytes.len() as u32,
            Payload::Mixed(pieces) => pieces.iter().map(Payload::len).sum(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes `from..from + len` of this payload.
    ///
    /// # Panics
    /// If the range is not within the payload.
    pub fn slice(&self, from: u32, len: u32) -> Payload {
        assert!(
            from.checked_add(len).is_some_and(|end| end <= self.len()),
            "slice within the payload"
        );
        if len == 0 {
            return Payload::Empty;
        }
        match self {
            Payload::Empty => Payload::Empty,
            Payload::Virtual(range) => {
                Payload::virtual_range(range.stream, range.offset + u64::from(from), len)
            }
            Payload::Real(bytes) => {
                Payload::Real(bytes.slice(from as usize..(from + len) as usize))
            }
            Payload::Mixed(pieces) => slice_pieces(pieces, from, len),
        }
    }

    /// Append `other`, joining pieces that continue each other.
    pub fn append(&mut self, other: Payload) {
        match (&mut *self, other) {
            (_, Payload::Empty) => {}
            (Payload::Empty, other) => *self = other,
            (Payload::Virtual(range), Payload::Virtual(next)) if range.continues_with(&next) => {
                range.len += next.len;
            }
            (_, other) => {
                let mut pieces = std::mem::take(self).into_pieces();
                for piece in other.into_pieces() {
                    match (pieces.last_mut(), piece) {
                        (Some(Payload::Virtual(last)), Payload::Virtual(next))
                            if last.continues_with(&next) =>
                        {
                            last.len += next.len;
                        }
                        (_, piece) => pieces.push(piece),
                    }
                }
                *self = Payload::Mixed(pieces.into_boxed_slice());
            }
        }
    }

    /// The pieces in order, none empty, none mixed.
    pub fn into_pieces(self) -> Vec<Payload> {
        match self {
            Payload::Empty => Vec::new(),
            Payload::Mixed(pieces) => pieces.into_vec(),
            piece => vec![piece],
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

fn slice_pieces(pieces: &[Payload], mut from: u32, mut len: u32) -> Payload {
    let mut out = Payload::Empty;
    for piece in pieces {
        let here = piece.len();
        if from >= here {
            from -= here;
            continue;
        }
        let take = len.min(here - from);
        out.append(piece.slice(from, take));
        from = 0;
        len -= take;
        if len == 0 {
            break;
        }
    }
    out
}

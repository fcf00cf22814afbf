//! `StreamCheck`: the bytes read must be the bytes written, in order.
//!
//! Every application writes a virtual stream of its own, so each piece read identifies its origin.
//! One comparison per piece detects any loss, duplication or reordering in an engine; it is always
//! on. Real bytes (from kernel sockets) are compared with the bytes of the stream.

use wire::Payload;
use wire::payload::{Content, VirtualRange};

/// The reading end of one virtual stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamCheck {
    stream: u32,
    /// Bytes read so far: the next offset.
    offset: u64,
}

/// The bytes read and those expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StreamMismatch {
    /// Bytes of another stream, or of another place in the stream of this reader.
    #[error(
        "read stream {stream} offset {offset} where stream {expected_stream} offset \
         {expected_offset} had to come"
    )]
    Misplaced {
        /// Virtual stream of the bytes read.
        stream: u32,
        /// Offset of the first byte read in its stream.
        offset: u64,
        /// Virtual stream of this reader.
        expected_stream: u32,
        /// Offset of the next byte of that stream.
        expected_offset: u64,
    },
    /// Real bytes that differ from the contents of the stream at the same offset.
    #[error("{len} bytes read at offset {offset} are not those of stream {stream}")]
    Content {
        /// Virtual stream of this reader.
        stream: u32,
        /// Offset in the stream at which the bytes were read.
        offset: u64,
        /// Number of bytes read.
        len: u32,
    },
    /// Bytes of a page connection are not a frame, or not one that is allowed there.
    #[error("read bytes that are no frame of the page where one had to come")]
    Frame,
}

impl StreamCheck {
    /// A reader at the start of virtual stream `stream`.
    pub const fn new(stream: u32) -> Self {
        StreamCheck { stream, offset: 0 }
    }

    /// A reader of the stream from `offset` on.
    pub(crate) const fn at(stream: u32, offset: u64) -> Self {
        StreamCheck { stream, offset }
    }

    /// Bytes read so far.
    pub const fn bytes_read(&self) -> u64 {
        self.offset
    }

    /// Check a piece that was read.
    // The next bytes of a virtual stream are told where it is called: a third of the cost.
    #[inline]
    pub fn advance(&mut self, payload: &Payload) -> Result<(), StreamMismatch> {
        if let Some(VirtualRange { stream, len, offset }) = payload.as_virtual()
            && (stream, offset) == (self.stream, self.offset)
        {
            self.offset += u64::from(len);
            return Ok(());
        }
        self.advance_by_content(payload)
    }

    #[inline(never)]
    fn advance_by_content(&mut self, payload: &Payload) -> Result<(), StreamMismatch> {
        match payload.content() {
            Content::Empty => Ok(()),
            Content::Virtual(range) => {
                // `advance` took the one that continues.
                Err(self.mismatch(range.stream, range.offset))
            }
            Content::Real(bytes) => {
                let (stream, offset, len) = (self.stream, self.offset, bytes.len() as u32);
                if !(VirtualRange { stream, len, offset }).matches(bytes) {
                    return Err(StreamMismatch::Content { stream, offset, len });
                }
                self.offset += u64::from(len);
                Ok(())
            }
            Content::Mixed(pieces) => pieces.iter().try_for_each(|piece| self.advance(piece)),
        }
    }

    const fn mismatch(&self, stream: u32, offset: u64) -> StreamMismatch {
        StreamMismatch::Misplaced {
            stream,
            offset,
            expected_stream: self.stream,
            expected_offset: self.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_order_advance_the_check() {
        let mut check = StreamCheck::new(2);
        assert_eq!(check.advance(&Payload::virtual_range(2, 0, 100)), Ok(()));
        assert_eq!(check.advance(&Payload::EMPTY), Ok(()));
        let pieces = [Payload::virtual_range(2, 100, 1), Payload::virtual_range(2, 101, 9)];
        assert_eq!(check.advance(&Payload::from_pieces(pieces.into())), Ok(()));
        assert_eq!(check.bytes_read(), 110);
    }

    #[test]
    fn loss_duplication_and_a_foreign_stream_are_found() {
        let mut check = StreamCheck::new(2);
        assert_eq!(check.advance(&Payload::virtual_range(2, 0, 100)), Ok(()));
        let lost = check.advance(&Payload::virtual_range(2, 200, 1));
        assert!(matches!(lost, Err(StreamMismatch::Misplaced { offset: 200, .. })), "{lost:?}");
        assert!(check.advance(&Payload::virtual_range(2, 0, 100)).is_err(), "duplicate");
        assert!(check.advance(&Payload::virtual_range(1, 100, 1)).is_err(), "foreign stream");
        assert_eq!(check.bytes_read(), 100, "nothing wrong is counted");
    }

    #[test]
    fn real_bytes_are_compared_with_the_stream() {
        let bytes = Payload::virtual_range(2, 0, 1001).to_bytes();
        let mut check = StreamCheck::new(2);
        assert_eq!(check.advance(&Payload::from(bytes.slice(..333))), Ok(()));
        assert!(check.advance(&Payload::from(bytes.slice(334..))).is_err(), "a byte is missing");
        assert_eq!(check.advance(&Payload::from(bytes.slice(333..))), Ok(()));
        assert_eq!(check.bytes_read(), 1001);
    }
}

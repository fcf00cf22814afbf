//! `StreamCheck`: what is read must continue, exactly, what was written.
//!
//! Every application writes a virtual stream of its own, so each piece read says where it comes
//! from. One comparison per piece finds any loss, duplication or reordering in an engine; it is
//! always on. Real bytes (kernel sockets, corrupted packets) are left to the content check of
//! `wire`.

use wire::Payload;

/// The reader's end of one virtual stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamCheck {
    stream: u32,
    /// Bytes read so far: the offset that must come next.
    offset: u64,
}

/// What was read instead of what had to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "read stream {stream} offset {offset} where stream {expected_stream} offset \
     {expected_offset} had to come"
)]
pub struct StreamMismatch {
    pub stream: u32,
    pub offset: u64,
    pub expected_stream: u32,
    pub expected_offset: u64,
}

impl StreamCheck {
    /// A reader at the start of virtual stream `stream`.
    pub const fn new(stream: u32) -> Self {
        StreamCheck { stream, offset: 0 }
    }

    /// Bytes read so far.
    pub const fn bytes_read(&self) -> u64 {
        self.offset
    }

    /// Take note of what was read.
    pub fn advance(&mut self, payload: &Payload) -> Result<(), StreamMismatch> {
        match payload {
            Payload::Empty => Ok(()),
            Payload::Virtual(range) => {
                if range.stream != self.stream || range.offset != self.offset {
                    return Err(self.mismatch(range.stream, range.offset));
                }
                self.offset += u64::from(range.len);
                Ok(())
            }
            Payload::Real(bytes) => {
                self.offset += bytes.len() as u64;
                Ok(())
            }
            Payload::Mixed(pieces) => pieces.iter().try_for_each(|piece| self.advance(piece)),
        }
    }

    const fn mismatch(&self, stream: u32, offset: u64) -> StreamMismatch {
        StreamMismatch {
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
        assert_eq!(check.advance(&Payload::Empty), Ok(()));
        let pieces = [Payload::virtual_range(2, 100, 1), Payload::virtual_range(2, 101, 9)];
        assert_eq!(check.advance(&Payload::Mixed(Box::new(pieces))), Ok(()));
        assert_eq!(check.bytes_read(), 110);
    }

    #[test]
    fn loss_duplication_and_a_foreign_stream_are_found() {
        let mut check = StreamCheck::new(2);
        assert_eq!(check.advance(&Payload::virtual_range(2, 0, 100)), Ok(()));
        let lost = check.advance(&Payload::virtual_range(2, 200, 1));
        assert_eq!(lost.map_err(|error| error.offset), Err(200));
        assert!(check.advance(&Payload::virtual_range(2, 0, 100)).is_err(), "duplicate");
        assert!(check.advance(&Payload::virtual_range(1, 100, 1)).is_err(), "foreign stream");
        assert_eq!(check.bytes_read(), 100, "nothing wrong is counted");
    }
}

//! Frames on a stream of bytes: the real bytes of an otherwise virtual exchange.
//!
//! The header is that of HTTP/2 (RFC 9113 s4.1): length, type, flags, stream, 9 bytes. Both
//! versions of HTTP use it, since a reader must know whose bytes follow; payloads are virtual. The
//! meaning of frames is left to `exchange`.

use wire::Payload;

/// Bytes of a frame's header.
pub(super) const HEADER_BYTES: u32 = 9;
/// The longest payload that the header can describe.
pub(super) const LONGEST: u32 = (1 << 24) - 1;

/// What a frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data,
    Headers,
}

/// A frame's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub kind: Kind,
    /// Length of the payload, at most `LONGEST`.
    pub len: u32,
    /// Number of the object; on the wire an odd stream number (RFC 9113 s5.1.1).
    pub object: u32,
    /// The last frame of its direction.
    pub ends: bool,
}

/// A header that `Header` does not produce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BadHeader;

impl Header {
    /// Append the bytes.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let kind = match self.kind {
            Kind::Data => 0,
            Kind::Headers => 1,
        };
        out.extend_from_slice(&self.len.to_be_bytes()[1..]);
        out.extend_from_slice(&[kind, u8::from(self.ends)]);
        out.extend_from_slice(&(self.object * 2 + 1).to_be_bytes());
    }

    fn read(bytes: &[u8; HEADER_BYTES as usize]) -> Result<Header, BadHeader> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        let kind = match kind {
            0 => Kind::Data,
            1 => Kind::Headers,
            _ => return Err(BadHeader),
        };
        if flags > 1 || stream.is_multiple_of(2) {
            return Err(BadHeader);
        }
        let len = u32::from_be_bytes([0, l0, l1, l2]);
        Ok(Header { kind, len, object: stream / 2, ends: flags == 1 })
    }
}

/// Splits a stream into frames, piece by piece as it is read.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    head: Vec<u8>,
    frame: Option<Header>,
    /// Bytes of the frame not read yet.
    left: u32,
}

/// A piece of one frame.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub header: Header,
    pub content: Payload,
    /// The frame is complete.
    pub complete: bool,
}

impl FrameReader {
    /// The pieces of frames in `payload`, in order.
    pub(super) fn read(&mut self, payload: &Payload) -> Result<Vec<Piece>, BadHeader> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < payload.len() {
            at += match self.frame {
                Some(header) => {
                    let take = self.left.min(payload.len() - at);
                    self.left -= take;
                    pieces.push(self.piece(header, payload.slice(at, take)));
                    take
                }
                None => self.read_header(payload, at, &mut pieces)?,
            };
        }
        Ok(pieces)
    }

    /// Take the available bytes of a header. Returns their number.
    fn read_header(
        &mut self,
        payload: &Payload,
        at: u32,
        pieces: &mut Vec<Piece>,
    ) -> Result<u32, BadHeader> {
        let missing = HEADER_BYTES - self.head.len() as u32;
        let take = missing.min(payload.len() - at);
        payload.slice(at, take).write_to(&mut self.head);
        if let Ok(bytes) = <&[u8; HEADER_BYTES as usize]>::try_from(self.head.as_slice()) {
            let header = Header::read(bytes)?;
            self.head.clear();
            self.frame = Some(header);
            self.left = header.len;
            if header.len == 0 {
                pieces.push(self.piece(header, Payload::EMPTY));
            }
        }
        Ok(take)
    }

    fn piece(&mut self, header: Header, content: Payload) -> Piece {
        let complete = self.left == 0;
        if complete {
            self.frame = None;
        }
        Piece { header, content, complete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream_of(frames: &[(u32, u32)]) -> Payload {
        let mut stream = Payload::EMPTY;
        for (object, len) in frames {
            let header = Header { kind: Kind::Data, len: *len, object: *object, ends: true };
            let mut bytes = Vec::new();
            header.write_to(&mut bytes);
            stream.append(bytes.into());
            stream.append(Payload::virtual_range(*object, 0, *len));
        }
        stream
    }

    #[test]
    fn header_looks_as_rfc_9113_says() {
        let header = Header { kind: Kind::Headers, len: 0x01_02_03, object: 2, ends: true };
        let mut bytes = Vec::new();
        header.write_to(&mut bytes);
        assert_eq!(bytes, [1, 2, 3, 1, 1, 0, 0, 0, 5]);
    }

    #[test]
    fn bad_headers_are_refused() {
        for bytes in [[0, 0, 0, 2, 0, 0, 0, 0, 1], [0, 0, 0, 0, 2, 0, 0, 0, 1], [0; 9]] {
            let read = FrameReader::default().read(&Payload::from(bytes.to_vec()));
            assert_eq!(read, Err(BadHeader), "{bytes:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However a stream is cut, the same bytes of the same frames come out.
        #[test]
        fn stream_cut_anywhere_yields_its_frames(
            frames in proptest::collection::vec((0u32..50, 0u32..3000), 1..8),
            cuts in proptest::collection::vec(1u32..400, 1..60),
        ) {
            let stream = stream_of(&frames);
            let mut reader = FrameReader::default();
            let mut read: Vec<(u32, u32, bool)> = Vec::new();
            let (mut at, mut cut) = (0, cuts.iter().cycle());
            while at < stream.len() {
                let take = (*cut.next().expect("endless")).min(stream.len() - at);
                for piece in reader.read(&stream.slice(at, take)).expect("ours") {
                    let last = read.last_mut().filter(|(_, _, complete)| !*complete);
                    match last {
                        Some((_, len, complete)) => {
                            *len += piece.content.len();
                            *complete = piece.complete;
                        }
                        None => read.push((
                            piece.header.object, piece.content.len(), piece.complete,
                        )),
                    }
                }
                at += take;
            }
            let expected: Vec<_> = frames.iter().map(|(o, l)| (*o, *l, true)).collect();
            prop_assert_eq!(read, expected);
        }
    }
}

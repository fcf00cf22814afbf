//! Chunks and parameters of unknown type: the two highest bits of the type say what to do.
//!
//! Answering with the reports is left to `transport`.

use super::{Cause, Chunk, RawChunk, SctpPacket};

/// What a receiver does with an unknown type (RFC 9260 s3.2 and s3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownRule {
    /// What follows in the packet, or in the list of parameters, is not processed.
    pub stop: bool,
    /// The sender gets a copy.
    pub report: bool,
}

/// The chunks of a packet by what to do with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted<'a> {
    /// Known chunks, up to the first unknown one that stops processing.
    pub chunks: Vec<&'a Chunk>,
    /// Causes of an ERROR that reports unknown chunks (RFC 9260 s3.3.10.6).
    pub reports: Vec<Cause>,
}

/// ECNE and CWR, whose format RFC 9260 no longer gives: ignored although their bits say stop.
const RESERVED_FOR_ECN: [u8; 2] = [0x0C, 0x0D];

impl UnknownRule {
    /// The rule for a chunk of unknown type `kind`.
    pub fn of_chunk(kind: u8) -> UnknownRule {
        if RESERVED_FOR_ECN.contains(&kind) {
            return UnknownRule { stop: false, report: false };
        }
        UnknownRule { stop: kind & 0x80 == 0, report: kind & 0x40 != 0 }
    }

    /// The rule for a parameter of unknown type `kind`.
    pub const fn of_parameter(kind: u16) -> UnknownRule {
        UnknownRule { stop: kind & 0x8000 == 0, report: kind & 0x4000 != 0 }
    }
}

impl SctpPacket {
    /// The chunks to process, and the reports of unknown ones.
    pub fn admitted(&self) -> Admitted<'_> {
        let mut admitted = Admitted { chunks: vec![], reports: vec![] };
        for chunk in &self.chunks {
            let Chunk::Unknown(RawChunk { kind, .. }) = chunk else {
                admitted.chunks.push(chunk);
                continue;
            };
            let rule = UnknownRule::of_chunk(*kind);
            if rule.report {
                let mut copy = Vec::new();
                chunk.emit_unpadded(&mut copy);
                admitted.reports.push(Cause::UnrecognizedChunk(copy.into()));
            }
            if rule.stop {
                break;
            }
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_highest_bits_say_what_to_do() {
        let of = |kind| UnknownRule::of_chunk(kind);
        assert_eq!(of(0x3E), UnknownRule { stop: true, report: false });
        assert_eq!(of(0x7E), UnknownRule { stop: true, report: true });
        assert_eq!(of(0xBE), UnknownRule { stop: false, report: false });
        assert_eq!(of(0xFE), UnknownRule { stop: false, report: true });
        assert_eq!(of(0x0C), UnknownRule { stop: false, report: false }, "ECNE");
        let of = UnknownRule::of_parameter;
        assert_eq!(of(0x3FFF), UnknownRule { stop: true, report: false });
        assert_eq!(of(0x4001), UnknownRule { stop: true, report: true });
        assert_eq!(of(0x8001), UnknownRule { stop: false, report: false });
        assert_eq!(of(0xC009), UnknownRule { stop: false, report: true });
    }
}

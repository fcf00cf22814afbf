//! FORWARD TSN (RFC 3758 s3.2) and I-FORWARD-TSN (RFC 8260 s2.3).
//!
//! When to abandon a message is left to `transport`.

use super::{Mid, Ssn, Tsn};
use crate::fields::Fields;

/// The receiver shall skip TSNs that the sender has abandoned (RFC 3758 s3.2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForwardTsn {
    /// New cumulative TSN.
    pub new_cum_tsn: Tsn,
    /// Each ordered stream with skipped messages, and the highest SSN skipped.
    pub streams: Box<[(u16, Ssn)]>,
}

/// FORWARD TSN of associations with I-DATA (RFC 8260 s2.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IForwardTsn {
    /// New cumulative TSN.
    pub new_cum_tsn: Tsn,
    /// Streams with skipped messages, ordered and unordered ones apart.
    pub streams: Box<[SkippedMessages]>,
}

/// Messages of one stream that are skipped (RFC 8260 s2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkippedMessages {
    /// Stream identifier.
    pub stream: u16,
    /// Unordered messages are meant, otherwise ordered ones.
    pub unordered: bool,
    /// Highest message identifier skipped.
    pub mid: Mid,
}

/// U bit of a skipped stream.
const UNORDERED: u16 = 1;

impl ForwardTsn {
    pub(super) const fn value_len(&self) -> u32 {
        4 + 4 * self.streams.len() as u32
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.new_cum_tsn.0.to_be_bytes());
        for (stream, ssn) in &self.streams {
            out.extend_from_slice(&stream.to_be_bytes());
            out.extend_from_slice(&ssn.0.to_be_bytes());
        }
    }

    pub(super) fn parse(value: &[u8]) -> Option<ForwardTsn> {
        let mut fields = Fields(value);
        let new_cum_tsn = Tsn(fields.u32()?);
        let count = entries(&fields, 4)?;
        let entry = |fields: &mut Fields<'_>| Some((fields.u16()?, Ssn(fields.u16()?)));
        let streams = (0..count).map(|_| entry(&mut fields)).collect::<Option<_>>()?;
        Some(ForwardTsn { new_cum_tsn, streams })
    }
}

impl IForwardTsn {
    pub(super) const fn value_len(&self) -> u32 {
        4 + 8 * self.streams.len() as u32
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.new_cum_tsn.0.to_be_bytes());
        for skipped in &self.streams {
            let flags = if skipped.unordered { UNORDERED } else { 0 };
            out.extend_from_slice(&skipped.stream.to_be_bytes());
            out.extend_from_slice(&flags.to_be_bytes());
            out.extend_from_slice(&skipped.mid.0.to_be_bytes());
        }
    }

    pub(super) fn parse(value: &[u8]) -> Option<IForwardTsn> {
        let mut fields = Fields(value);
        let new_cum_tsn = Tsn(fields.u32()?);
        let count = entries(&fields, 8)?;
        let entry = |fields: &mut Fields<'_>| {
            let (stream, flags) = (fields.u16()?, fields.u16()?);
            let (unordered, mid) = (flags & UNORDERED != 0, Mid(fields.u32()?));
            Some(SkippedMessages { stream, unordered, mid })
        };
        let streams = (0..count).map(|_| entry(&mut fields)).collect::<Option<_>>()?;
        Some(IForwardTsn { new_cum_tsn, streams })
    }
}

/// Number of entries of `len` bytes that fill the rest of a chunk.
fn entries(fields: &Fields<'_>, len: usize) -> Option<usize> {
    fields.0.len().is_multiple_of(len).then_some(fields.0.len() / len)
}

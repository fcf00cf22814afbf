//! Lists of type, length and value: parameters (RFC 9260 s3.2.1) and error causes (s3.3.10).
//!
//! A length counts type and length and not the padding to a multiple of four bytes. The padding of
//! the last item is outside of the list.

use crate::error::be16;

/// Bytes of type and length.
pub(super) const HEADER: usize = 4;

/// Items of a list, in order. After an item whose length is impossible there are no more.
pub(super) struct Tlvs<'a>(pub &'a [u8]);

/// An item of a list.
#[derive(Clone, Copy)]
pub(super) struct Tlv<'a> {
    pub(super) kind: u16,
    pub(super) value: &'a [u8],
}

impl<'a> Iterator for Tlvs<'a> {
    /// `None`: the length of the item is below 4 or beyond the list.
    type Item = Option<Tlv<'a>>;

    fn next(&mut self) -> Option<Option<Tlv<'a>>> {
        // Fewer bytes than a header are the padding of the last item.
        if self.0.len() < HEADER {
            return None;
        }
        let (kind, len) = (be16(self.0, 0), usize::from(be16(self.0, 2)));
        let value = self.0.get(HEADER..len);
        let padded = len.next_multiple_of(4).min(self.0.len());
        self.0 = if value.is_some() { &self.0[padded..] } else { &[] };
        Some(value.map(|value| Tlv { kind, value }))
    }
}

/// Length of a list in bytes, from the lengths of its items; the last one is not padded.
pub(super) fn list_len(lens: impl Iterator<Item = u32>) -> u32 {
    lens.fold(0, |sum: u32, len| sum.next_multiple_of(4) + len)
}

/// Appends items in order with padding between them.
pub(super) fn emit_list<T>(items: &[T], out: &mut Vec<u8>, emit: impl Fn(&T, &mut Vec<u8>)) {
    let start = out.len();
    for item in items {
        pad(out, start);
        emit(item, out);
    }
}

/// Appends one item whose value `content` appends; no padding.
///
/// # Panics
/// If the item is longer than its length field can express.
pub(super) fn emit_tlv(kind: u16, out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    content(out);
    let len = out.len() - start;
    assert!(len <= usize::from(u16::MAX), "an item of {len} bytes");
    out[start + 2..start + HEADER].copy_from_slice(&(len as u16).to_be_bytes());
}

/// Appends zeros until the bytes from `start` are a multiple of four.
pub(super) fn pad(out: &mut Vec<u8>, start: usize) {
    let len = out.len() - start;
    out.resize(start + len.next_multiple_of(4), 0);
}

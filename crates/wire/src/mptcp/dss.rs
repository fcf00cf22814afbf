//! `Dss`: the data sequence signal (RFC 8684 s3.3), its numbers and its checksum.
//!
//! Nearly every segment of a connection has one, so it has 32 bytes and needs no allocation. What
//! mappings cover and what is acknowledged is left to `transport`.

use crate::fields::Fields;
use crate::{Checksum, Payload};
use std::num::NonZeroU8;

/// A data sequence signal: any of a data acknowledgement, a mapping and the `DATA_FIN` mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dss {
    // A field whose bit is not set is zero, so that equal signals are equal values.
    ack: u64,
    dsn: u64,
    subflow_seq: u32,
    len: u16,
    checksum: u16,
    bits: NonZeroU8,
}

/// A data sequence number or data acknowledgement as it was, or will be, sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataNumber {
    /// The lower 32 bits.
    Short(u32),
    /// All of it.
    Long(u64),
}

/// Which bytes of the subflow are which bytes of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Number of the first byte in the connection.
    pub dsn: DataNumber,
    /// Number of the first byte in the subflow, whose SYN is 0; 0 for a `DATA_FIN` alone.
    pub subflow_seq: u32,
    /// Bytes mapped, a `DATA_FIN` counted as one; 0 maps everything that follows.
    pub len: u16,
    /// There if and only if checksums were negotiated.
    pub checksum: Option<u16>,
}

/// The flags of the wire format; the two reserved bits hold what follows from the length.
const ACK: u8 = 0x01;
const ACK_LONG: u8 = 0x02;
const MAPPING: u8 = 0x04;
const DSN_LONG: u8 = 0x08;
const FIN: u8 = 0x10;
const CHECKSUM: u8 = 0x20;
/// Set in every value, so that an `Option` of it takes no more room.
// Evaluated by the compiler, and 0x80 is not 0.
const PRESENT: NonZeroU8 = NonZeroU8::new(0x80).unwrap();
const ON_THE_WIRE: u8 = ACK | ACK_LONG | MAPPING | DSN_LONG | FIN;

/// Bytes an option of these bits takes. Lengths are asked for several times on the way of each
/// packet, hence no branches.
const LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut bits = 0;
    while bits < lengths.len() {
        lengths[bits] = len_of(bits as u8);
        bits += 1;
    }
    lengths
};

impl Dss {
    /// A signal of nothing.
    pub const EMPTY: Dss =
        Dss { ack: 0, dsn: 0, subflow_seq: 0, len: 0, checksum: 0, bits: PRESENT };

    /// The signal with a data acknowledgement: the number of the byte expected next.
    #[inline]
    #[must_use]
    pub const fn with_ack(self, ack: DataNumber) -> Dss {
        let rest = self.bits.get() & !(ACK | ACK_LONG);
        match ack {
            DataNumber::Short(ack) => Dss { ack: ack as u64, bits: bits(rest | ACK), ..self },
            DataNumber::Long(ack) => Dss { ack, bits: bits(rest | ACK | ACK_LONG), ..self },
        }
    }

    /// The signal with a mapping.
    #[inline]
    #[must_use]
    pub const fn with_mapping(self, mapping: Mapping) -> Dss {
        let rest = self.bits.get() & !(MAPPING | DSN_LONG | CHECKSUM);
        let (dsn, width) = match mapping.dsn {
            DataNumber::Short(dsn) => (dsn as u64, MAPPING),
            DataNumber::Long(dsn) => (dsn, MAPPING | DSN_LONG),
        };
        let (checksum, summed) = match mapping.checksum {
            Some(checksum) => (checksum, CHECKSUM),
            None => (0, 0),
        };
        let Mapping { subflow_seq, len, .. } = mapping;
        Dss { dsn, subflow_seq, len, checksum, bits: bits(rest | width | summed), ..self }
    }

    /// The signal with the `DATA_FIN` mark: the last number of its mapping ends the stream.
    #[inline]
    #[must_use]
    pub const fn with_fin(self) -> Dss {
        Dss { bits: bits(self.bits.get() | FIN), ..self }
    }

    /// The data acknowledgement.
    #[inline]
    pub const fn ack(&self) -> Option<DataNumber> {
        match self.bits.get() & (ACK | ACK_LONG) {
            0 => None,
            ACK => Some(DataNumber::Short(self.ack as u32)),
            _ => Some(DataNumber::Long(self.ack)),
        }
    }

    /// The mapping.
    #[inline]
    pub const fn mapping(&self) -> Option<Mapping> {
        if !self.has(MAPPING) {
            return None;
        }
        let dsn = match self.has(DSN_LONG) {
            true => DataNumber::Long(self.dsn),
            false => DataNumber::Short(self.dsn as u32),
        };
        let checksum = if self.has(CHECKSUM) { Some(self.checksum) } else { None };
        Some(Mapping { dsn, subflow_seq: self.subflow_seq, len: self.len, checksum })
    }

    /// Whether it has a mapping.
    #[inline]
    pub const fn maps(&self) -> bool {
        self.has(MAPPING)
    }

    /// Whether it has that mapping, and no `DATA_FIN`: for less than what it costs to take the
    /// mapping out.
    #[inline]
    pub const fn has_mapping(&self, mapping: &Mapping) -> bool {
        let like = Dss::EMPTY.with_mapping(*mapping);
        let bits = self.bits.get() | ACK | ACK_LONG;
        self.subflow_seq == like.subflow_seq
            && self.dsn == like.dsn
            && self.len == like.len
            && self.checksum == like.checksum
            && bits == like.bits.get() | ACK | ACK_LONG
    }

    /// Whether the number of the mapping has 64 bits.
    #[inline]
    pub const fn maps_long(&self) -> bool {
        self.has(DSN_LONG)
    }

    /// Whether the last number of the mapping is the `DATA_FIN`.
    #[inline]
    pub const fn fin(&self) -> bool {
        self.has(FIN)
    }

    /// Bytes the option takes, padding excluded.
    #[inline]
    pub const fn wire_len(&self) -> u32 {
        LENGTHS[self.bits.get() as usize] as u32
    }

    #[inline]
    const fn has(&self, bit: u8) -> bool {
        self.bits.get() & bit != 0
    }

    /// Append what follows kind and length.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0x20, self.bits.get() & ON_THE_WIRE]);
        if let Some(ack) = self.ack() {
            ack.emit(out);
        }
        if let Some(mapping) = self.mapping() {
            mapping.dsn.emit(out);
            out.extend_from_slice(&mapping.subflow_seq.to_be_bytes());
            out.extend_from_slice(&mapping.len.to_be_bytes());
            if let Some(checksum) = mapping.checksum {
                out.extend_from_slice(&checksum.to_be_bytes());
            }
        }
    }

    /// The signal whose flags and fields follow the subtype; `None` if they are not as long as the
    /// flags require. A width without its number has no meaning and is dropped.
    pub(super) fn parse(content: &[u8]) -> Option<Dss> {
        let mut fields = Fields(content);
        let flags = fields.u8()?;
        let mut dss = Dss::EMPTY;
        if flags & ACK != 0 {
            dss = dss.with_ack(DataNumber::parse(&mut fields, flags & ACK_LONG != 0)?);
        }
        if flags & MAPPING != 0 {
            dss = dss.with_mapping(Mapping {
                dsn: DataNumber::parse(&mut fields, flags & DSN_LONG != 0)?,
                subflow_seq: fields.u32()?,
                len: fields.u16()?,
                checksum: fields.u16(),
            });
        }
        if flags & FIN != 0 {
            dss = dss.with_fin();
        }
        fields.is_empty().then_some(dss)
    }
}

const fn len_of(bits: u8) -> u8 {
    let ack = match bits & (ACK | ACK_LONG) {
        0 | ACK_LONG => 0,
        ACK => 4,
        _ => 8,
    };
    let mapping = match bits & (MAPPING | DSN_LONG) {
        0 | DSN_LONG => 0,
        MAPPING => 4 + 6,
        _ => 8 + 6,
    };
    4 + ack + mapping + if bits & CHECKSUM != 0 { 2 } else { 0 }
}

/// The bits of a signal; with `PRESENT` they are never zero.
#[inline]
const fn bits(bits: u8) -> NonZeroU8 {
    match NonZeroU8::new(bits | PRESENT.get()) {
        Some(bits) => bits,
        None => PRESENT,
    }
}

impl Mapping {
    /// The checksum's share of everything but the mapped bytes (RFC 8684 s3.3.1): go on with
    /// `add_payload`, then `finish`. `dsn` is the whole number also where half of it is sent.
    pub fn pseudo_header(dsn: u64, subflow_seq: u32, len: u16) -> Checksum {
        let mut sum = Checksum::new();
        sum.add_bytes(&dsn.to_be_bytes());
        sum.add_bytes(&subflow_seq.to_be_bytes());
        sum.add_bytes(&len.to_be_bytes());
        sum
    }

    /// The checksum of a mapping of `payload`, or of a `DATA_FIN` alone.
    pub fn checksum_of(dsn: u64, subflow_seq: u32, len: u16, payload: &Payload) -> u16 {
        let mut sum = Mapping::pseudo_header(dsn, subflow_seq, len);
        sum.add_payload(payload);
        sum.finish()
    }

    /// Whether the mapping's checksum is that of the bytes that came; also if it has none. `dsn`
    /// is the whole number.
    #[inline]
    pub fn matches(&self, dsn: u64, payload: &Payload) -> bool {
        self.checksum.is_none_or(|checksum| self.agrees(checksum, dsn, payload))
    }

    fn agrees(&self, checksum: u16, dsn: u64, payload: &Payload) -> bool {
        let mut sum = Mapping::pseudo_header(dsn, self.subflow_seq, self.len);
        sum.add_payload(payload);
        sum.agrees_with(checksum)
    }

    /// Whether this maps everything that follows: the connection falls back to TCP
    /// (RFC 8684 s3.7).
    pub const fn is_infinite(&self) -> bool {
        self.len == 0
    }
}

impl DataNumber {
    /// The 64-bit number meant by a peer of which `expected` is the next number.
    #[inline]
    pub const fn expand(self, expected: u64) -> u64 {
        match self {
            DataNumber::Short(short) => nearest(short, expected),
            DataNumber::Long(long) => long,
        }
    }

    fn emit(self, out: &mut Vec<u8>) {
        match self {
            DataNumber::Short(short) => out.extend_from_slice(&short.to_be_bytes()),
            DataNumber::Long(long) => out.extend_from_slice(&long.to_be_bytes()),
        }
    }

    fn parse(fields: &mut Fields<'_>, long: bool) -> Option<DataNumber> {
        match long {
            true => fields.u64().map(DataNumber::Long),
            false => fields.u32().map(DataNumber::Short),
        }
    }
}

/// The 64-bit number nearest to `expected` whose lower half is `short`; wraps at both ends.
#[inline]
pub const fn nearest(short: u32, expected: u64) -> u64 {
    let distance = short.wrapping_sub(expected as u32) as i32;
    expected.wrapping_add_signed(distance as i64)
}

//! SACK (RFC 9260 s3.3.4) and NR-SACK (draft-natarajan-tsvwg-sctp-nrsack s3).
//!
//! Blocks of a parsed chunk have `1 <= start <= end`; their order and distance are not checked,
//! since receivers of SACK tolerate any. What they acknowledge is left to `transport`.

use super::{Few, Tsn};
use crate::fields::Fields;
use crate::rarely::Rarely;

/// A range of TSNs as offsets from the cumulative TSN, both ends included (RFC 9260 s3.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapBlock {
    /// Offset of the first TSN; at least 2 if the block is isolated.
    pub start: u16,
    /// Offset of the last TSN.
    pub end: u16,
}

/// Selective acknowledgement (RFC 9260 s3.3.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// Last TSN before the first gap.
    pub cum_tsn: Tsn,
    /// Advertised receiver window, in bytes.
    pub a_rwnd: u32,
    /// Packets that this SACK acknowledges, 0 to 3 with 0 for unknown: the two highest flags, of
    /// delayed acknowledgement for concurrent multipath transfer.
    pub dac_packets: u8,
    /// TSNs received above the cumulative one.
    pub gaps: Box<[GapBlock]>,
    /// TSNs received once more since the last SACK, each as often.
    pub duplicates: Few<Tsn>,
}

/// Selective acknowledgement that tells non-renegable TSNs from renegable ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NrSack {
    /// As in SACK.
    pub cum_tsn: Tsn,
    /// As in SACK.
    pub a_rwnd: u32,
    /// As in SACK.
    pub dac_packets: u8,
    /// TSNs that the receiver never discards.
    pub nr_gaps: Box<[GapBlock]>,
    /// What few of them have.
    pub rest: RestOfSack,
}

/// What few NR-SACKs have, which takes one word in the others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RestOfSack(Rarely<Lists>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lists {
    gaps: Box<[GapBlock]>,
    duplicates: Box<[Tsn]>,
}

impl RestOfSack {
    /// `gaps`: TSNs that the receiver may still discard, disjoint from `nr_gaps`; `duplicates`: as
    /// in SACK.
    #[inline]
    pub fn new(gaps: Box<[GapBlock]>, duplicates: Box<[Tsn]>) -> RestOfSack {
        match gaps.is_empty() && duplicates.is_empty() {
            true => RestOfSack::default(),
            false => RestOfSack(Rarely::new(Lists { gaps, duplicates })),
        }
    }
}

/// Position of the DAC packet count in the flags.
const DAC_SHIFT: u32 = 6;

impl Sack {
    /// Bytes of the chunk without blocks and duplicates.
    pub const HEADER: u32 = 16;

    /// Highest TSN that the chunk acknowledges.
    pub fn highest(&self) -> Tsn {
        highest(self.cum_tsn, &[&self.gaps])
    }

    /// Drops the lists.
    #[inline(always)]
    pub(super) fn discard_lists(&mut self) {
        drop(std::mem::take(&mut self.gaps));
        drop(std::mem::take(&mut self.duplicates));
    }

    pub(super) fn value_len(&self) -> u32 {
        Self::HEADER - 4 + 4 * (self.gaps.len() + self.duplicates.len()) as u32
    }

    pub(super) const fn flags(&self) -> u8 {
        dac_flags(self.dac_packets)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.cum_tsn.0.to_be_bytes());
        out.extend_from_slice(&self.a_rwnd.to_be_bytes());
        emit_count(self.gaps.len(), out);
        emit_count(self.duplicates.len(), out);
        emit_gaps(&self.gaps, out);
        emit_duplicates(&self.duplicates, out);
    }

    pub(super) fn parse(flags: u8, value: &[u8]) -> Option<Sack> {
        let mut fields = Fields(value);
        let (cum_tsn, a_rwnd) = (Tsn(fields.u32()?), fields.u32()?);
        let [gaps, duplicates] = [fields.u16()?, fields.u16()?].map(usize::from);
        // Counts are believed only if the chunk has that many bytes.
        if fields.0.len() != 4 * (gaps + duplicates) {
            return None;
        }
        let sack = Sack {
            cum_tsn,
            a_rwnd,
            dac_packets: flags >> DAC_SHIFT,
            gaps: parse_gaps(&mut fields, gaps)?,
            duplicates: parse_duplicates(&mut fields, duplicates)?.into(),
        };
        Some(sack)
    }
}

impl NrSack {
    /// Bytes of the chunk without blocks and duplicates.
    pub const HEADER: u32 = 20;

    /// Highest TSN that the chunk acknowledges.
    pub fn highest(&self) -> Tsn {
        highest(self.cum_tsn, &[self.gaps(), &self.nr_gaps])
    }

    /// Drops the lists.
    #[inline(always)]
    pub(super) fn discard_lists(&mut self) {
        drop(std::mem::take(&mut self.nr_gaps));
        drop(std::mem::take(&mut self.rest));
    }

    /// TSNs that the receiver may still discard.
    #[inline]
    pub fn gaps(&self) -> &[GapBlock] {
        self.rest.0.get().map_or(&[], |lists| &lists.gaps)
    }

    /// TSNs received once more since the last report, each as often.
    #[inline]
    pub fn duplicates(&self) -> &[Tsn] {
        self.rest.0.get().map_or(&[], |lists| &lists.duplicates)
    }

    pub(super) fn value_len(&self) -> u32 {
        let words = self.gaps().len() + self.nr_gaps.len() + self.duplicates().len();
        Self::HEADER - 4 + 4 * words as u32
    }

    pub(super) const fn flags(&self) -> u8 {
        dac_flags(self.dac_packets)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.cum_tsn.0.to_be_bytes());
        out.extend_from_slice(&self.a_rwnd.to_be_bytes());
        emit_count(self.gaps().len(), out);
        emit_count(self.nr_gaps.len(), out);
        emit_count(self.duplicates().len(), out);
        out.extend_from_slice(&[0, 0]);
        emit_gaps(self.gaps(), out);
        emit_gaps(&self.nr_gaps, out);
        emit_duplicates(self.duplicates(), out);
    }

    pub(super) fn parse(flags: u8, value: &[u8]) -> Option<NrSack> {
        let mut fields = Fields(value);
        let (cum_tsn, a_rwnd) = (Tsn(fields.u32()?), fields.u32()?);
        let counts = [fields.u16()?, fields.u16()?, fields.u16()?];
        fields.u16()?;
        let [gaps, nr_gaps, duplicates] = counts.map(usize::from);
        if fields.0.len() != 4 * (gaps + nr_gaps + duplicates) {
            return None;
        }
        let (gaps, nr_gaps) = (parse_gaps(&mut fields, gaps)?, parse_gaps(&mut fields, nr_gaps)?);
        Some(NrSack {
            cum_tsn,
            a_rwnd,
            dac_packets: flags >> DAC_SHIFT,
            nr_gaps,
            rest: RestOfSack::new(gaps, parse_duplicates(&mut fields, duplicates)?),
        })
    }
}

fn highest(cum_tsn: Tsn, lists: &[&[GapBlock]]) -> Tsn {
    let ends = lists.iter().flat_map(|list| list.iter()).map(|block| block.end);
    cum_tsn + u32::from(ends.max().unwrap_or(0))
}

const fn dac_flags(packets: u8) -> u8 {
    // The count of two bits saturates.
    (if packets > 3 { 3 } else { packets }) << DAC_SHIFT
}

fn emit_count(count: usize, out: &mut Vec<u8>) {
    // A chunk has room for less than 2^14 of them.
    debug_assert!(count <= usize::from(u16::MAX), "{count} blocks or duplicates");
    out.extend_from_slice(&(count as u16).to_be_bytes());
}

fn emit_gaps(gaps: &[GapBlock], out: &mut Vec<u8>) {
    for block in gaps {
        out.extend_from_slice(&block.start.to_be_bytes());
        out.extend_from_slice(&block.end.to_be_bytes());
    }
}

fn emit_duplicates(duplicates: &[Tsn], out: &mut Vec<u8>) {
    duplicates.iter().for_each(|tsn| out.extend_from_slice(&tsn.0.to_be_bytes()));
}

fn parse_gaps(fields: &mut Fields<'_>, count: usize) -> Option<Box<[GapBlock]>> {
    let block = |fields: &mut Fields<'_>| {
        let (start, end) = (fields.u16()?, fields.u16()?);
        (1 <= start && start <= end).then_some(GapBlock { start, end })
    };
    (0..count).map(|_| block(fields)).collect()
}

fn parse_duplicates(fields: &mut Fields<'_>, count: usize) -> Option<Box<[Tsn]>> {
    (0..count).map(|_| fields.u32().map(Tsn)).collect()
}

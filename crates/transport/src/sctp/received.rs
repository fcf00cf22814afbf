//! `ReceivedTsns`: which TSNs have arrived, and the SACKs and NR-SACKs that report them.
//!
//! TSNs are offsets of 64 bits from the peer's initial TSN. When to send a report is left to the
//! association, the data to its streams.

mod last_blocks;

use super::gaps::{GapStructure, ReceivedGaps};
use crate::buffer::RangeSet;
use last_blocks::{LastBlocks, blocks};
use std::hint::cold_path;
use wire::sctp::{GapBlock, NrSack, RestOfSack, Sack, Tsn};

/// Duplicates that one report lists at most: enough to detect a spurious retransmission of a
/// window's beginning, and a bound on what a hostile sender can make us remember.
const MAX_DUPLICATES: usize = 64;
/// Once TSNs have begun anew, half of the number space further on (RFC 6525 s5.2.4), those that
/// seem to be this far ahead are of before: an old packet was late.
pub(super) const OLD_NUMBERS_FROM: u64 = 1 << 30;

/// TSNs that have arrived from a peer.
#[derive(Clone, Debug)]
pub struct ReceivedTsns {
    initial: Tsn,
    /// Offset of the lowest TSN that has not arrived.
    next: u64,
    /// What has arrived above it.
    above: RangeSet,
    /// The part of `above` that may still be discarded.
    renegable: RangeSet,
    duplicates: Vec<Tsn>,
    gaps: ReceivedGaps,
    last: LastBlocks,
    /// TSNs began anew.
    renumbered: bool,
}

/// Whether a chunk may be discarded after it was reported (RFC 9260 s6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The receiver may run out of memory and discard it.
    Renegable,
    /// It is delivered, or never discarded.
    Forever,
}

/// What the arrival of a TSN is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Its first arrival.
    New,
    /// It had arrived before, or was skipped.
    Duplicate,
}

impl ReceivedTsns {
    /// Nothing has arrived from a peer whose first TSN is `initial`.
    pub fn new(initial: Tsn) -> Self {
        ReceivedTsns::with_structure(initial, GapStructure::Tree)
    }

    /// The same, and arrivals visit the entries of this structure.
    pub fn with_structure(initial: Tsn, structure: GapStructure) -> Self {
        ReceivedTsns {
            initial,
            next: 0,
            above: RangeSet::new(),
            renegable: RangeSet::new(),
            duplicates: Vec::new(),
            gaps: ReceivedGaps::new(structure),
            last: LastBlocks::new(),
            renumbered: false,
        }
    }

    /// The chunk behind all others arrives, as without loss: its offset. `None` if this is another
    /// one, or one is missing.
    #[inline]
    pub(super) fn take_next(&mut self, tsn: Tsn) -> Option<u64> {
        if self.has_gap() || tsn != self.tsn(self.next) {
            return None;
        }
        let at = self.next;
        self.next += 1;
        self.gaps.on_arrival(at, 0, Arrival::New);
        Some(at)
    }

    /// A chunk with this TSN arrives and is kept.
    pub fn insert(&mut self, tsn: Tsn, keep: Keep) -> Arrival {
        let (offset, blocks) = (self.offset(tsn), self.above.len());
        let arrival = self.enter(tsn, offset, keep);
        if let Some(at) = offset {
            self.gaps.on_arrival(at, blocks, arrival);
        }
        arrival
    }

    fn enter(&mut self, tsn: Tsn, offset: Option<u64>, keep: Keep) -> Arrival {
        let at = match offset {
            Some(at) if at >= self.next && !self.above.contains(at) => at,
            _ => {
                if self.duplicates.len() < MAX_DUPLICATES {
                    self.duplicates.push(tsn);
                }
                return Arrival::Duplicate;
            }
        };
        self.keep_new(at, keep);
        Arrival::New
    }

    /// A chunk arrives that is not known, with this offset, and is kept.
    pub(super) fn insert_new(&mut self, at: u64, keep: Keep) {
        let blocks = self.above.len();
        self.keep_new(at, keep);
        self.gaps.on_arrival(at, blocks, Arrival::New);
    }

    fn keep_new(&mut self, at: u64, keep: Keep) {
        if at == self.next {
            return self.advance(at + 1);
        }
        self.above.insert(at..at + 1);
        self.last.on_change(at);
        if keep == Keep::Renegable {
            self.renegable.insert(at..at + 1);
        }
    }

    /// The chunk with this TSN is not discarded any more.
    pub fn keep_forever(&mut self, tsn: Tsn) {
        if let Some(at) = self.offset(tsn) {
            self.renegable.remove(at..at + 1);
        }
    }

    /// The chunk that is discarded first when memory runs out: the highest renegable one.
    pub fn highest_renegable(&self) -> Option<Tsn> {
        self.renegable.last().map(|range| self.tsn(range.end - 1))
    }

    /// The renegable chunk with this TSN is discarded; returns whether there was one.
    pub fn discard(&mut self, tsn: Tsn) -> bool {
        match self.offset(tsn) {
            Some(at) if self.renegable.contains(at) => {
                self.renegable.remove(at..at + 1);
                self.above.remove(at..at + 1);
                self.last.on_change(at);
                self.gaps.on_discarded(at);
                true
            }
            _ => false,
        }
    }

    /// The sender skips what is up to `new_cum_tsn` (RFC 3758 s3.6); returns whether anything was
    /// missing there.
    pub fn skip_to(&mut self, new_cum_tsn: Tsn) -> bool {
        let is_old = |at: u64| self.renumbered && at > self.next + OLD_NUMBERS_FROM;
        match self.offset(new_cum_tsn) {
            Some(at) if at >= self.next && !is_old(at) => {
                self.advance(at + 1);
                self.gaps.on_skipped(at + 1);
                true
            }
            _ => false,
        }
    }

    /// The peer goes on with the TSN `next` (RFC 6525 s5.2.4). Nothing is missing.
    pub fn renumber(&mut self, next: Tsn) {
        debug_assert!(!self.has_gap(), "everything has arrived");
        self.renumbered = true;
        self.initial = Tsn(next.0.wrapping_sub(self.next as u32));
        self.duplicates.clear();
    }

    /// Last TSN before the first gap; the one before the initial TSN if nothing has arrived.
    pub fn cum_tsn(&self) -> Tsn {
        self.tsn(self.next) - 1
    }

    /// Highest TSN that has arrived or was skipped.
    pub fn highest_tsn(&self) -> Tsn {
        self.above.last().map_or(self.cum_tsn(), |range| self.tsn(range.end - 1))
    }

    /// Whether a TSN is missing below one that has arrived.
    pub fn has_gap(&self) -> bool {
        !self.above.is_empty()
    }

    /// Blocks that a report would have, without limit.
    pub fn gaps(&self) -> usize {
        self.above.len() + self.renegable.len()
    }

    /// Entries that arrivals visited since the last call: blocks of TSNs.
    pub const fn take_visited(&mut self) -> u64 {
        self.gaps.take_visited()
    }

    /// Duplicates since the last report.
    pub const fn duplicates(&self) -> usize {
        self.duplicates.len()
    }

    /// The SACK to send in at most `room` bytes of chunk. Duplicates are left out first, then the
    /// highest blocks. Duplicates are reported once.
    pub fn sack(&mut self, a_rwnd: u32, room: u32) -> Sack {
        let mut words = words(room, Sack::HEADER);
        let gaps = self.blocks(&mut words);
        let duplicates = self.take_duplicates(words);
        Sack {
            cum_tsn: self.cum_tsn(),
            a_rwnd,
            dac_packets: 0,
            gaps,
            duplicates: duplicates.into(),
        }
    }

    /// The NR-SACK to send in at most `room` bytes of chunk. Renegable blocks come first, then the
    /// others, then duplicates; the highest blocks are left out.
    pub fn nr_sack(&mut self, a_rwnd: u32, room: u32) -> NrSack {
        let mut words = words(room, NrSack::HEADER);
        // Rarely does a report have both kinds: only then is each one collected.
        let (gaps, nr_gaps) = match self.renegable.is_empty() {
            true => (Box::default(), self.blocks(&mut words)),
            false => {
                cold_path();
                let gaps: Box<_> = blocks(self.renegable.iter(), self.next).take(words).collect();
                words -= gaps.len();
                let kept = self.above.iter().flat_map(|range| self.renegable.missing(range));
                let nr_gaps: Box<_> = blocks(kept, self.next).take(words).collect();
                words -= nr_gaps.len();
                (gaps, nr_gaps)
            }
        };
        let rest = RestOfSack::new(gaps, self.take_duplicates(words));
        NrSack { cum_tsn: self.cum_tsn(), a_rwnd, dac_packets: 0, nr_gaps, rest }
    }

    /// Blocks of what has arrived, lowest first, until `words` are used up or offsets have too many
    /// bits.
    fn blocks(&mut self, words: &mut usize) -> Box<[GapBlock]> {
        if !self.has_gap() {
            return Box::default();
        }
        let blocks = self.last.update(&self.above, self.next, *words);
        *words -= blocks.len();
        blocks.into()
    }

    fn take_duplicates(&mut self, words: usize) -> Box<[Tsn]> {
        let mut duplicates = std::mem::take(&mut self.duplicates);
        duplicates.truncate(words);
        duplicates.into()
    }

    /// Everything below `at` has arrived or is skipped.
    fn advance(&mut self, at: u64) {
        self.above.remove_below(at);
        let reached = self.above.first().filter(|first| first.start == at);
        self.next = reached.map_or(at, |first| first.end);
        self.above.remove_below(self.next);
        self.renegable.remove_below(self.next);
        debug_assert!(!self.above.contains(self.next), "the next TSN is missing");
    }

    /// Offset of a TSN that has not arrived and was not skipped.
    pub(super) fn new_offset(&self, tsn: Tsn) -> Option<u64> {
        let is_new = |at: &u64| *at == self.next || (*at > self.next && !self.above.contains(*at));
        self.offset(tsn).filter(is_new)
    }

    /// Offset of a TSN, which is near the next one; `None` before the initial TSN.
    pub fn offset(&self, tsn: Tsn) -> Option<u64> {
        u64::try_from(tsn.to_offset(self.initial, self.next)).ok()
    }

    fn tsn(&self, at: u64) -> Tsn {
        Tsn::from_offset(self.initial, at)
    }
}

/// Blocks or duplicates for which a chunk of `room` bytes has space.
fn words(room: u32, header: u32) -> usize {
    (room.saturating_sub(header) / 4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Room of a chunk in a packet of 1500 bytes over IPv4.
    const ROOM: u32 = 1500 - 20 - 12;

    fn received(tsns: impl IntoIterator<Item = u32>) -> ReceivedTsns {
        let mut received = ReceivedTsns::new(Tsn(1));
        for tsn in tsns {
            assert_eq!(received.insert(Tsn(tsn), Keep::Forever), Arrival::New);
        }
        received
    }

    fn pairs(blocks: &[GapBlock]) -> Vec<(u16, u16)> {
        blocks.iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn rfc_9260_section_3_3_4_example() {
        let mut received = received((1..=12).chain([14, 15, 17]));
        let sack = received.sack(4660, ROOM);
        assert_eq!((sack.cum_tsn, sack.a_rwnd), (Tsn(12), 4660));
        assert_eq!(pairs(&sack.gaps), [(2, 3), (5, 5)]);
        assert_eq!((received.highest_tsn(), received.has_gap()), (Tsn(17), true));
        received.insert(Tsn(13), Keep::Forever);
        assert_eq!(received.cum_tsn(), Tsn(15));
    }

    #[test]
    fn duplicates_are_reported_once_and_at_most_64_of_them() {
        let mut received = received(1..=3);
        for _ in 0..100 {
            assert_eq!(received.insert(Tsn(2), Keep::Forever), Arrival::Duplicate);
        }
        assert_eq!(received.insert(Tsn(0), Keep::Forever), Arrival::Duplicate, "before the first");
        assert_eq!(*received.sack(0, ROOM).duplicates, [Tsn(2); 64]);
        assert!(received.sack(0, ROOM).duplicates.is_empty());
    }

    #[test]
    fn report_too_long_for_a_packet_loses_duplicates_then_its_highest_blocks() {
        let mut received = received((2..).step_by(2).take(400));
        received.insert(Tsn(2), Keep::Forever);
        let sack = received.sack(0, ROOM);
        assert_eq!((sack.gaps.len(), sack.duplicates.len()), (363, 0));
        assert_eq!(sack.gaps[0].start, 2);
        assert_eq!(received.nr_sack(0, ROOM).nr_gaps.len(), 362);
        assert!(received.sack(0, 0).gaps.is_empty());
    }

    #[test]
    fn tsns_beyond_65535_are_kept_and_not_reported() {
        let mut received = received([65_534, 65_535, 65_536, 70_000]);
        let sack = received.sack(0, ROOM);
        assert_eq!(pairs(&sack.gaps), [(65_534, 65_535)], "offsets from TSN 0");
        assert_eq!(received.insert(Tsn(70_000), Keep::Forever), Arrival::Duplicate);
        received.insert(Tsn(1), Keep::Forever);
        assert_eq!(pairs(&received.sack(0, ROOM).gaps), [(65_533, 65_535)]);
    }

    #[test]
    fn forward_tsn_advances_over_what_has_arrived() {
        let mut received = received((1..=102).chain([104, 105, 107]));
        assert!(received.skip_to(Tsn(103)));
        assert_eq!(received.cum_tsn(), Tsn(105));
        assert_eq!(pairs(&received.sack(0, ROOM).gaps), [(2, 2)]);
        assert!(!received.skip_to(Tsn(103)), "an old one");
        assert_eq!(received.insert(Tsn(103), Keep::Forever), Arrival::Duplicate, "a late one");
    }

    #[test]
    fn blocks_of_an_nr_sack_are_disjoint() {
        let mut received = ReceivedTsns::new(Tsn(13));
        for tsn in [14, 15, 17] {
            received.insert(Tsn(tsn), Keep::Renegable);
        }
        received.keep_forever(Tsn(17));
        let sack = received.nr_sack(4660, ROOM);
        assert_eq!((pairs(sack.gaps()), pairs(&sack.nr_gaps)), (vec![(2, 3)], vec![(5, 5)]));
        assert_eq!(received.highest_renegable(), Some(Tsn(15)));
        assert!(received.discard(Tsn(15)));
        assert!(!received.discard(Tsn(17)), "it is kept");
        assert_eq!(received.insert(Tsn(15), Keep::Forever), Arrival::New);
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, bool),
        Keep(u64),
        Discard(u64),
        Skip(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            12 => (0..60u64, any::<bool>()).prop_map(|(at, keep)| Op::Insert(at, keep)),
            2 => (0..60u64).prop_map(Op::Keep),
            2 => (0..60u64).prop_map(Op::Discard),
            1 => (0..60u64).prop_map(Op::Skip),
        ]
    }

    /// The linear model: every TSN above the cumulative one, and whether it is kept forever.
    #[derive(Default)]
    struct Model {
        next: u64,
        above: BTreeMap<u64, bool>,
    }

    impl Model {
        fn insert(&mut self, at: u64, forever: bool) -> Arrival {
            if at < self.next || self.above.contains_key(&at) {
                return Arrival::Duplicate;
            }
            self.above.insert(at, forever);
            self.settle();
            Arrival::New
        }

        fn settle(&mut self) {
            while self.above.remove(&self.next).is_some() {
                self.next += 1;
            }
            self.above.retain(|at, _| *at >= self.next);
        }
    }

    fn offsets(blocks: &[GapBlock]) -> BTreeSet<u64> {
        blocks.iter().flat_map(|block| u64::from(block.start)..=u64::from(block.end)).collect()
    }

    proptest! {
        #[test]
        fn random_arrivals_equal_a_linear_list(
            initial in prop_oneof![Just(u32::MAX - 20), any::<u32>()],
            ops in prop::collection::vec(op(), 1..80),
            ops_per_report in 1..4usize,
        ) {
            let initial = Tsn(initial);
            let (mut received, mut model) = (ReceivedTsns::new(initial), Model::default());
            for (number, op) in ops.into_iter().enumerate() {
                match op {
                    Op::Insert(at, forever) => {
                        let keep = if forever { Keep::Forever } else { Keep::Renegable };
                        let arrival = received.insert(initial + at as u32, keep);
                        prop_assert_eq!(arrival, model.insert(at, forever));
                    }
                    Op::Keep(at) => {
                        received.keep_forever(initial + at as u32);
                        model.above.entry(at).and_modify(|forever| *forever = true);
                    }
                    Op::Discard(at) => {
                        let there = model.above.get(&at) == Some(&false);
                        prop_assert_eq!(received.discard(initial + at as u32), there);
                        if there {
                            model.above.remove(&at);
                        }
                    }
                    Op::Skip(at) => {
                        prop_assert_eq!(received.skip_to(initial + at as u32), at >= model.next);
                        model.next = model.next.max(at + 1);
                        model.settle();
                    }
                }
                prop_assert_eq!(received.cum_tsn(), initial + model.next as u32 - 1);
                if number % ops_per_report > 0 {
                    continue;
                }
                let of = |forever: bool| -> BTreeSet<u64> {
                    let held = model.above.iter().filter(|(_, kept)| **kept == forever);
                    held.map(|(at, _)| at + 1 - model.next).collect()
                };
                let nr_sack = received.nr_sack(0, ROOM);
                prop_assert_eq!(offsets(nr_sack.gaps()), of(false));
                prop_assert_eq!(offsets(&nr_sack.nr_gaps), of(true));
                let all: BTreeSet<u64> = of(false).union(&of(true)).copied().collect();
                let sack = received.sack(0, ROOM);
                prop_assert_eq!(offsets(&sack.gaps), all);
                prop_assert!(sack.gaps.windows(2).all(|w| w[0].end + 1 < w[1].start), "isolated");
            }
        }
    }
}

//! Trees and lists have the same TSNs, and visit different numbers of entries.

use super::*;
use crate::sctp::outstanding::Outstanding;
use crate::sctp::received::{Keep, ReceivedTsns};
use base::{Duration, Instant, PathId};
use proptest::prelude::*;
use proptest::sample::Index;
use std::ops::Range;
use wire::sctp::GapBlock;

fn block(start: u16, end: u16) -> GapBlock {
    GapBlock { start, end }
}

#[test]
fn names_are_found_in_any_case() {
    for structure in GapStructure::ALL {
        assert_eq!(GapStructure::by_name(&structure.name().to_uppercase()), Some(structure));
    }
    assert_eq!(GapStructure::by_name("heap"), None);
}

/// A sender of `count` chunks with TSNs from 1 on, of which 2 to 11 were reported.
fn sender(structure: GapStructure, count: usize) -> (Outstanding<()>, SentGaps) {
    let (mut out, mut gaps) = (Outstanding::new(Tsn(1)), SentGaps::new(structure, Tsn(1)));
    for _ in 0..count {
        out.send(Instant::ZERO, PathId(0), 1000, ());
        gaps.on_sent();
    }
    assert_eq!(visits(&mut out, &mut gaps, Tsn(0), &[block(2, 11)]), 10 + listed(structure, 1));
    (out, gaps)
}

/// Entries that only a list visits.
fn listed(structure: GapStructure, entries: u64) -> u64 {
    if structure == GapStructure::List { entries } else { 0 }
}

fn visits(
    out: &mut Outstanding<()>,
    gaps: &mut SentGaps,
    cum_tsn: Tsn,
    blocks: &[GapBlock],
) -> u64 {
    let report = Report { cum_tsn, gaps: blocks, nr_gaps: &[], complete: true };
    let acked = out.acknowledge(&report).unwrap();
    gaps.on_report(&report, &acked);
    gaps.take_visited()
}

#[test]
fn report_of_one_chunk_visits_it_in_a_tree_and_all_below_it_in_a_list() {
    for structure in GapStructure::ALL {
        let (mut out, mut gaps) = sender(structure, 20);
        let visited = visits(&mut out, &mut gaps, Tsn(0), &[block(2, 12)]);
        assert_eq!(visited, 1 + listed(structure, 11), "{structure:?}");
        let visited = visits(&mut out, &mut gaps, Tsn(12), &[]);
        assert_eq!(visited, 1 + listed(structure, 11), "{structure:?}");
        assert_eq!(visits(&mut out, &mut gaps, Tsn(13), &[]), 1, "in order");
    }
}

#[test]
fn arrival_visits_the_height_of_a_tree_and_all_blocks_below_it_in_a_list() {
    let last_of = |structure, blocks: u32| {
        let mut received = ReceivedTsns::with_structure(Tsn(1), structure);
        for at in 1..=blocks {
            received.insert(Tsn(1 + 2 * at), Keep::Forever);
        }
        received.take_visited();
        received.insert(Tsn(1 + 2 * blocks + 2), Keep::Forever);
        received.take_visited()
    };
    assert_eq!(
        [0, 1, 100, 10_000].map(|blocks| last_of(GapStructure::Tree, blocks)),
        [0, 1, 7, 14]
    );
    assert_eq!(
        [0, 1, 100, 10_000].map(|blocks| last_of(GapStructure::List, blocks)),
        [0, 1, 100, 10_000]
    );
}

#[derive(Clone, Debug)]
enum Op {
    Send,
    Abandon(u32),
    Report { cum: u32, gaps: Vec<(u16, u16)>, nr_gaps: Vec<(u16, u16)>, complete: bool },
}

fn op() -> impl Strategy<Value = Op> {
    let blocks = || prop::collection::vec((0..40u16, 0..8u16), 0..5);
    prop_oneof![
        10 => Just(Op::Send),
        1 => (0..40u32).prop_map(Op::Abandon),
        5 => (0..4u32, blocks(), blocks(), any::<bool>()).prop_map(
            |(cum, gaps, nr_gaps, complete)| Op::Report { cum, gaps, nr_gaps, complete },
        ),
    ]
}

/// Blocks of what was sent, in any order; some overlap, some are reversed.
fn within(outstanding: u32, pairs: &[(u16, u16)]) -> Vec<GapBlock> {
    let most = outstanding as u16;
    let block_of = |(start, len): &(u16, u16)| {
        let start = start.min(&most) + 1;
        block(start.min(most), (start + len).saturating_sub(1).min(most))
    };
    let is_above = |block: &GapBlock| block.start > 1;
    pairs.iter().map(block_of).filter(is_above).collect()
}

proptest! {
    #[test]
    fn random_reports_acknowledge_the_same_in_a_list(
        initial in prop_oneof![Just(u32::MAX - 20), any::<u32>()],
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let initial = Tsn(initial);
        let (mut out, mut list) = (Outstanding::new(initial), SentList::new(initial));
        for op in ops {
            let outstanding = out.next_tsn().distance_from(out.cum_tsn()) as u32 - 1;
            match op {
                Op::Send => {
                    out.send(Instant::ZERO, PathId(0), 1000, ());
                    list.send();
                }
                Op::Abandon(at) if at < outstanding => {
                    let tsn = out.cum_tsn() + 1 + at;
                    out.abandon(tsn);
                    list.abandon(tsn);
                }
                Op::Abandon(_) => {}
                Op::Report { cum, gaps, nr_gaps, complete } => {
                    let cum = cum.min(outstanding);
                    let cum_tsn = out.cum_tsn() + cum;
                    let gaps = within(outstanding - cum, &gaps);
                    let nr_gaps = within(outstanding - cum, &nr_gaps);
                    let report = Report { cum_tsn, gaps: &gaps, nr_gaps: &nr_gaps, complete };
                    let acked = out.acknowledge(&report).unwrap();
                    let answer = list.acknowledge(&report);
                    let newly: Vec<Tsn> = acked.newly.iter().map(|chunk| chunk.tsn).collect();
                    prop_assert_eq!(&answer.newly, &newly);
                    prop_assert_eq!(&answer.reneged, &acked.reneged);
                    prop_assert!(answer.visited >= (newly.len() + acked.reneged.len()) as u64);
                }
            }
        }
    }

    /// Reports of a receiver, as many blocks as fit, of which most are those of the last report.
    #[test]
    fn reports_of_random_arrivals_acknowledge_the_same_in_a_list(
        ops in prop::collection::vec((0..16u8, any::<Index>(), any::<bool>()), 1..300),
        nr_sack: bool,
    ) {
        let initial = Tsn(u32::MAX - 20);
        let (mut out, mut list) = (Outstanding::new(initial), SentList::new(initial));
        let mut received = ReceivedTsns::new(initial);
        let mut flying: Vec<Tsn> = Vec::new();
        for (what, which, keep) in ops {
            let keep = if keep { Keep::Forever } else { Keep::Renegable };
            match what {
                0..8 => {
                    flying.push(out.send(Instant::ZERO, PathId(0), 1000, ()));
                    list.send();
                    continue;
                }
                8..14 if !flying.is_empty() => {
                    received.insert(flying.swap_remove(which.index(flying.len())), keep);
                }
                14 => {
                    let highest = received.highest_renegable();
                    flying.extend(highest.filter(|tsn| received.discard(*tsn)));
                }
                _ => {}
            }
            // Five blocks.
            let room = if what == 15 { 1400 } else { 16 + 4 * 5 };
            let (sack, nr_sack_chunk) = (received.sack(0, room), received.nr_sack(0, room + 4));
            let (gaps, nr_gaps) = match nr_sack {
                true => (nr_sack_chunk.gaps(), &nr_sack_chunk.nr_gaps[..]),
                false => (&sack.gaps[..], &[][..]),
            };
            let complete = received.gaps() <= 5;
            let report = Report { cum_tsn: sack.cum_tsn, gaps, nr_gaps, complete };
            let acked = out.acknowledge(&report).unwrap();
            let answer = list.acknowledge(&report);
            let newly: Vec<Tsn> = acked.newly.iter().map(|chunk| chunk.tsn).collect();
            prop_assert_eq!(&answer.newly, &newly);
            prop_assert_eq!(&answer.reneged, &acked.reneged);
            out.recycle(acked);
        }
    }

    /// SACKs come over two paths, some of them late: what they lack is not taken back. Regression:
    /// the list took it back.
    #[test]
    fn late_reports_acknowledge_the_same_in_a_list(
        ops in prop::collection::vec((0..16u8, any::<Index>(), 0..400u64), 1..300),
    ) {
        let initial = Tsn(u32::MAX - 20);
        let (mut out, mut list) = (Outstanding::new(initial), SentList::new(initial));
        let mut received = ReceivedTsns::new(initial);
        let (mut flying, mut late): (Vec<Tsn>, Vec<_>) = (Vec::new(), Vec::new());
        let mut now = Instant::ZERO;
        for (what, which, ms) in ops {
            match what {
                0..7 => {
                    flying.push(out.send(now, PathId(0), 1000, ()));
                    list.send();
                    continue;
                }
                7..13 if !flying.is_empty() => {
                    received.insert(flying.swap_remove(which.index(flying.len())), Keep::Renegable);
                }
                13 => {
                    let highest = received.highest_renegable();
                    flying.extend(highest.filter(|tsn| received.discard(*tsn)));
                }
                _ => {}
            }
            let room = if ms % 3 == 0 { 16 + 4 * 3 } else { 1400 };
            let new = (received.sack(0, room), received.gaps() <= 3 || room == 1400);
            let (sack, complete) = match what {
                14 => {
                    late.push(new);
                    continue;
                }
                15 if !late.is_empty() => late.swap_remove(which.index(late.len())),
                _ => new,
            };
            now += Duration::from_millis(ms);
            let over = Some(PathId((ms % 2) as u8));
            let report =
                Report { cum_tsn: sack.cum_tsn, gaps: &sack.gaps, nr_gaps: &[], complete };
            out.arrives(now, over);
            let Ok(acked) = out.acknowledge(&report) else { continue };
            list.arrives(now, over);
            let answer = list.acknowledge(&report);
            let newly: Vec<Tsn> = acked.newly.iter().map(|chunk| chunk.tsn).collect();
            prop_assert_eq!(&answer.newly, &newly);
            prop_assert_eq!(&answer.reneged, &acked.reneged);
            out.recycle(acked);
        }
    }

    #[test]
    fn random_arrivals_make_the_same_blocks_in_a_list(
        ops in prop::collection::vec((0..12u8, 0..60u64), 1..120),
    ) {
        let initial = Tsn(u32::MAX - 20);
        let (mut tree, mut list) = (ReceivedTsns::new(initial), ReceivedList::default());
        for (what, at) in ops {
            let tsn = initial + at as u32;
            match what {
                0 => {
                    tree.skip_to(tsn);
                    list.skip_to(at + 1);
                }
                1 => {
                    tree.discard(tsn);
                    list.remove(at);
                }
                _ => prop_assert_eq!(tree.insert(tsn, Keep::Renegable), list.insert(at).0),
            }
            prop_assert_eq!(tree.cum_tsn(), initial + list.next() as u32 - 1);
            let of_tree = tree.sack(0, 1500).gaps;
            let near = |at: u64| (at - list.next() + 1) as u16;
            let block_of = |range: &Range<u64>| block(near(range.start), near(range.end - 1));
            let of_list = list.blocks().iter().map(block_of);
            prop_assert!(of_list.eq(of_tree.iter().copied()));
        }
    }
}

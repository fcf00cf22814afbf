//! The worked examples of SFR, CUC and DAC, and random histories against a model that walks over
//! every chunk.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const A: PathId = PathId(0);
const B: PathId = PathId(1);

fn algorithms(cuc: CucRule) -> Algorithms {
    Algorithms { sfr: true, dac: true, frc: true, cuc }
}

/// Marks of which TSNs 1 to `count` were sent, each on the path that `path` says.
fn sent(cuc: CucRule, count: u64, path: impl Fn(u64) -> PathId) -> Marks {
    let mut marks = Marks::new(algorithms(cuc));
    (1..=count).for_each(|tsn| marks.on_sent(tsn, path(tsn)));
    marks
}

/// A report: the TSNs that it acknowledges for the first time, the cumulative one and the highest.
fn report(marks: &mut Marks, newly: &[(u64, PathId)], cum: u64, highest: u64) {
    let newly = newly.iter().map(|(tsn, path)| (*tsn, *path, true));
    marks.on_report(newly, (cum + 1, highest));
}

/// Odd TSNs go to A, even ones to B, which is much faster.
fn odd_and_even(tsn: u64) -> PathId {
    if tsn % 2 == 1 { A } else { B }
}

fn grows(marks: &Marks, path: PathId) -> bool {
    marks.advance(path, false).grows
}

#[test]
fn reordering_between_paths_is_no_miss() {
    let mut marks = sent(CucRule::V2, 9, odd_and_even);
    for tsn in [2, 4, 6] {
        report(&mut marks, &[(tsn, B)], 0, tsn);
        assert_eq!(marks.misses(A, 1), None, "nothing of A arrived");
        assert_eq!(marks.misses(B, 1).map(|misses| misses.below), Some(tsn));
    }
}

#[test]
fn real_loss_is_found_by_three_arrivals_of_the_path() {
    let mut marks = sent(CucRule::V2, 9, odd_and_even);
    let mut missed = 0;
    let expected = [0, 1, 1, 2, 2, 3];
    for (tsn, expected) in (2..=7).zip(expected) {
        report(&mut marks, &[(tsn, odd_and_even(tsn))], 0, tsn);
        missed += u32::from(marks.misses(A, 1).is_some_and(|misses| 1 < misses.below));
        assert_eq!(missed, expected, "TSN {tsn}");
    }
}

#[test]
fn window_grows_with_the_pseudo_cumulative_acknowledgement_of_its_path() {
    let mut marks = sent(CucRule::V2, 9, odd_and_even);
    for (tsn, a, b) in [(2, false, true), (3, false, false), (4, false, true)] {
        report(&mut marks, &[(tsn, odd_and_even(tsn))], 0, tsn);
        assert_eq!((grows(&marks, A), grows(&marks, B)), (a, b), "TSN {tsn}");
    }
    for tsn in 5..=7 {
        report(&mut marks, &[(tsn, odd_and_even(tsn))], 0, tsn);
    }
    marks.on_sent_again(1, A, B);
    report(&mut marks, &[(1, B)], 7, 7);
    assert_eq!((grows(&marks, A), grows(&marks, B)), (false, true));
}

#[test]
fn chunks_sent_again_have_a_pseudo_cumulative_acknowledgement_of_their_own() {
    let mut marks = sent(CucRule::V2, 7, |_| A);
    report(&mut marks, &[(2, A), (3, A), (4, A)], 0, 4);
    assert_eq!(marks.paths[0].fresh.at, Some(1));
    marks.on_sent_again(1, A, A);
    report(&mut marks, &[(6, A), (7, A)], 0, 7);
    assert_eq!(marks.paths[0].again.at, Some(1));
    assert!(!grows(&marks, A));
    report(&mut marks, &[(1, A)], 4, 7);
    assert!(grows(&marks, A));
    assert_eq!(marks.paths[0].fresh.at, Some(5));
}

#[test]
fn delayed_acknowledgement_counts_for_chunks_below_all_that_arrived() {
    let count = |misses: Option<Misses>, tsn: u64| {
        misses.map_or(0, |misses| {
            let far = if tsn < misses.far_below { misses.more } else { 0 };
            u32::from(tsn < misses.below) + far
        })
    };
    let mut marks = sent(CucRule::V2, 9, |_| A);
    report(&mut marks, &[(2, A), (3, A)], 0, 3);
    assert_eq!(count(marks.misses(A, 2), 1), 2);
    report(&mut marks, &[(4, A), (5, A)], 0, 5);
    assert_eq!(count(marks.misses(A, 2), 1), 2, "4 together");
    let mut marks = sent(CucRule::V2, 5, |tsn| if tsn < 5 { A } else { B });
    report(&mut marks, &[(2, A), (4, A)], 0, 4);
    assert_eq!((count(marks.misses(A, 2), 1), count(marks.misses(A, 2), 3)), (2, 1));
    let mut marks = sent(CucRule::V2, 5, odd_and_even);
    marks.on_sent_again(2, B, A);
    report(&mut marks, &[(2, A), (4, B)], 0, 4);
    assert_eq!(count(marks.misses(A, 2), 1), 1, "arrivals on two paths");
}

/// Implementations that take 0 for "none" miss one chunk in 2^32.
#[test]
fn chunk_with_the_number_0_is_a_sign_like_any_other() {
    let mut marks = Marks::new(algorithms(CucRule::V2));
    (0..3).for_each(|at| marks.on_sent(at, A));
    marks.on_report([(0, A, true)].into_iter(), (1, 0));
    assert_eq!(marks.misses(A, 1).map(|misses| misses.below), Some(0));
    assert!(grows(&marks, A));
    assert_eq!(marks.misses(B, 1), None);
}

/// SHUTDOWN has a cumulative TSN and no blocks.
#[test]
fn cumulative_tsn_alone_grows_the_windows_of_all_its_paths() {
    let mut marks = sent(CucRule::V2, 4, odd_and_even);
    report(&mut marks, &[(1, A), (2, B)], 2, 2);
    assert!(grows(&marks, A) && grows(&marks, B));
    report(&mut marks, &[], 2, 2);
    assert!(!grows(&marks, A) && !grows(&marks, B), "nothing new");
}

#[test]
fn chunk_that_moves_begins_the_search_on_both_paths_anew() {
    let mut marks = sent(CucRule::V2, 6, odd_and_even);
    report(&mut marks, &[(3, A), (4, B)], 0, 4);
    assert_eq!([0, 1].map(|path: usize| marks.paths[path].fresh.at), [Some(1), Some(2)]);
    marks.on_sent_again(1, A, B);
    assert!(marks.paths.iter().all(|path| path.fresh.find && path.again.find));
    report(&mut marks, &[(5, A)], 0, 5);
    assert_eq!(marks.paths[0].fresh.at, Some(5), "1 is no chunk of A any more");
    assert!(grows(&marks, A));
}

#[test]
fn window_of_a_path_that_is_added_later_grows_with_its_first_chunk() {
    let late = PathId(2);
    let mut marks = sent(CucRule::V2, 4, odd_and_even);
    report(&mut marks, &[(4, B)], 0, 4);
    marks.on_sent(5, late);
    report(&mut marks, &[(5, late)], 0, 5);
    assert!(grows(&marks, late));
}

/// The rule of CUC as it is written: every chunk up to the highest reported one is looked at.
#[derive(Default)]
struct Walk {
    chunks: BTreeMap<u64, (PathId, bool)>,
    paths: BTreeMap<PathId, [(bool, Option<u64>); 2]>,
}

impl Walk {
    fn path(&mut self, path: PathId) -> &mut [(bool, Option<u64>); 2] {
        self.paths.entry(path).or_insert([(true, None); 2])
    }

    /// Paths whose window may grow.
    fn report(&mut self, newly: &BTreeSet<u64>, next: u64, highest: u64) -> BTreeSet<PathId> {
        let mut grows = BTreeSet::new();
        let chunks: Vec<_> = self.chunks.range(..=highest).map(|(at, of)| (*at, *of)).collect();
        for (at, (path, again)) in chunks {
            let marks = self.path(path);
            if at < next {
                (marks[0].0, marks[1].0) = (true, true);
                grows.insert(path);
                continue;
            }
            let kind = &mut marks[usize::from(again)];
            if kind.0 {
                *kind = (false, Some(at));
            }
            if newly.contains(&at) {
                for kind in marks.iter_mut().filter(|kind| kind.1 == Some(at)) {
                    kind.0 = true;
                    grows.insert(path);
                }
            }
        }
        self.chunks.retain(|at, _| *at >= next && !newly.contains(at));
        grows
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn random_histories_equal_a_walk_over_all_chunks(
        steps in prop::collection::vec((0..3u8, 0..3u8, any::<u32>()), 1..60)
    ) {
        let (mut marks, mut walk) = (Marks::new(algorithms(CucRule::V2)), Walk::default());
        let (mut end, mut cum) = (1u64, 0u64);
        for (kind, path, bits) in steps {
            let path = PathId(path);
            let known: Vec<u64> = walk.chunks.keys().copied().collect();
            match kind {
                0 => for _ in 0..1 + bits % 4 {
                    marks.on_sent(end, path);
                    walk.path(path);
                    walk.chunks.insert(end, (path, false));
                    end += 1;
                },
                1 if !known.is_empty() => {
                    let at = known[bits as usize % known.len()];
                    let before = walk.chunks[&at].0;
                    marks.on_sent_again(at, before, path);
                    if before != path {
                        for path in [before, path] {
                            walk.path(path).iter_mut().for_each(|kind| kind.0 = true);
                        }
                    }
                    walk.path(path);
                    walk.chunks.insert(at, (path, true));
                }
                _ => {
                    let bit = |at: &u64| bits >> (at % 31) & 1 == 1;
                    let newly: BTreeSet<u64> = known.iter().copied().filter(bit).collect();
                    let missing = known.iter().find(|at| !newly.contains(at));
                    let next = missing.copied().unwrap_or(end).max(cum + 1);
                    cum = next - 1;
                    let highest = newly.last().copied().unwrap_or(cum).max(cum);
                    let of: Vec<(u64, PathId, bool)> =
                        newly.iter().map(|at| (*at, walk.chunks[at].0, true)).collect();
                    marks.on_report(of.into_iter(), (next, highest));
                    let expected = walk.report(&newly, next, highest);
                    for path in (0..3).map(PathId) {
                        let grows = marks.advance(path, false).grows;
                        prop_assert_eq!(grows, expected.contains(&path), "{:?} at {}", path, next);
                    }
                }
            }
        }
    }
}

//! Tests of `Outstanding`: the examples of RFC 9260 and drafts, and a linear list as the model.

use super::misses::MISSES;
use super::*;
use crate::sctp::cmt::Misses;
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;
const LEN: u32 = 1468;
const A: PathId = PathId(0);
const B: PathId = PathId(1);

/// TSNs from 1, all sent on path A.
/// Each chunk has as many bytes as its data say.
impl UserData for u32 {
    fn bytes(&self) -> u64 {
        (*self).into()
    }
}

fn sent(count: u32) -> Outstanding<u32> {
    let mut out = Outstanding::new(Tsn(1));
    for tsn in 1..=count {
        assert_eq!(out.send(NOW, A, LEN, tsn), Tsn(tsn));
    }
    out
}

fn blocks(pairs: &[(u16, u16)]) -> Vec<GapBlock> {
    pairs.iter().map(|(start, end)| GapBlock { start: *start, end: *end }).collect()
}

fn sack(
    out: &mut Outstanding<u32>,
    cum_tsn: u32,
    gaps: &[(u16, u16)],
) -> Result<Box<Acknowledged>, SackError> {
    let gaps = blocks(gaps);
    out.acknowledge(&Report { cum_tsn: Tsn(cum_tsn), gaps: &gaps, nr_gaps: &[], complete: true })
}

fn tsns(answer: &Acknowledged) -> Vec<u32> {
    answer.newly.iter().map(|acked| acked.tsn.0).collect()
}

#[test]
fn old_reports_and_tsns_never_sent_are_refused() {
    let mut out = sent(5);
    assert!(sack(&mut out, 2, &[]).unwrap().advanced);
    assert_eq!(sack(&mut out, 1, &[]), Err(SackError::Old));
    assert_eq!(sack(&mut out, 6, &[]), Err(SackError::NeverSent));
    assert_eq!(sack(&mut out, 2, &[(2, 4)]), Err(SackError::NeverSent));
    assert_eq!(out.in_flight_bytes(A), 3 * u64::from(LEN), "nothing changed");
    assert_eq!(tsns(&sack(&mut out, 2, &[(2, 3)]).unwrap()), [4, 5]);
    assert_eq!((out.cum_tsn(), out.next_tsn(), out.earliest(A)), (Tsn(2), Tsn(6), Some(Tsn(3))));
}

#[test]
fn third_report_marks_a_missing_chunk_and_it_is_fast_retransmitted_once() {
    let mut out = sent(6);
    for (end, expected) in [(2, vec![]), (3, vec![]), (4, vec![Tsn(3)])] {
        sack(&mut out, 2, &[(2, end)]).unwrap();
        assert_eq!(out.count_misses(None, Tsn(2 + u32::from(end))), expected);
    }
    assert_eq!(out.next_marked().map(|marked| (marked.tsn, *marked.data)), Some((Tsn(3), 3)));
    assert_eq!(out.in_flight_bytes(A), 0);
    assert!(out.retransmit(NOW, Tsn(3), B));
    assert!(!out.retransmit(NOW, Tsn(3), B), "it is not marked any more");
    assert_eq!((out.in_flight_bytes(B), out.earliest(B)), (LEN.into(), Some(Tsn(3))));
    for _ in 0..5 {
        assert!(out.count_misses(None, Tsn(6)).is_empty(), "a second loss is left to the timer");
    }
    let answer = sack(&mut out, 6, &[]).unwrap();
    assert_eq!(tsns(&answer), [3]);
    assert!(!answer.newly[0].sent_once, "no sample of the round trip");
    assert_eq!(answer.released_bytes, 3 + 4 + 5 + 6);
    assert!(out.is_empty());
}

#[test]
fn chunk_retransmitted_by_the_timer_is_counted_anew() {
    let mut out = sent(4);
    for end in [2, 2] {
        out.count_misses(None, Tsn(end));
    }
    assert_eq!(out.mark_path(A), (4 * u64::from(LEN), 4));
    assert!(out.retransmit(NOW, Tsn(1), A));
    assert!(out.count_misses(None, Tsn(4)).is_empty());
    assert!(out.count_misses(None, Tsn(4)).is_empty());
    assert_eq!(out.count_misses(None, Tsn(4)), [Tsn(1)]);
    assert_eq!(out.next_marked().map(|marked| (marked.tsn, *marked.data)), Some((Tsn(1), 1)));
}

#[test]
fn reports_of_one_path_say_nothing_about_chunks_of_another() {
    let mut out = Outstanding::new(Tsn(1));
    for tsn in 1..=8 {
        out.send(NOW, if tsn % 2 == 1 { A } else { B }, LEN, tsn);
    }
    let gaps = [(2, 2), (4, 4), (6, 6), (8, 8)];
    for count in 2..=4 {
        sack(&mut out, 0, &gaps[..count]).unwrap();
        let highest = Tsn(gaps[count - 1].0.into());
        assert!(out.count_misses(Some(B), highest).is_empty(), "TSN 1 is on A");
    }
    for highest in [3, 5, 7] {
        let missing = out.count_misses(Some(A), Tsn(highest));
        assert_eq!(missing, if highest == 7 { vec![Tsn(1)] } else { vec![] });
    }
}

#[test]
fn chunk_not_reported_any_more_is_in_the_network_again() {
    let mut out = sent(5);
    sack(&mut out, 1, &[(2, 4)]).unwrap();
    let answer = sack(&mut out, 1, &[(3, 3)]).unwrap();
    assert_eq!(answer.reneged, [Tsn(3), Tsn(5)]);
    assert_eq!(out.in_flight_bytes(A), 3 * u64::from(LEN));
    assert!(out.count_misses(None, Tsn(4)).is_empty(), "the second miss of TSN 3");
    assert_eq!(out.count_misses(None, Tsn(4)), [Tsn(3)]);
}

#[test]
fn chunk_taken_back_after_its_fast_retransmission_is_left_to_the_timer() {
    let mut out = sent(4);
    for _ in 0..3 {
        out.count_misses(None, Tsn(4));
    }
    assert!(out.retransmit(NOW, Tsn(2), A));
    sack(&mut out, 1, &[(1, 1)]).unwrap();
    assert_eq!(sack(&mut out, 1, &[(3, 3)]).unwrap().reneged, [Tsn(2)]);
    for _ in 0..3 {
        assert!(!out.count_misses(None, Tsn(4)).contains(&Tsn(2)));
    }
}

#[test]
fn marked_chunk_taken_back_before_its_retransmission_is_not_marked_again() {
    let mut out = sent(9);
    for highest in [4, 4, 4] {
        out.count_misses(None, Tsn(highest));
    }
    sack(&mut out, 1, &[(1, 1)]).unwrap();
    assert_eq!(sack(&mut out, 1, &[(2, 2)]).unwrap().reneged, [Tsn(2)]);
    for _ in 0..3 {
        assert!(!out.count_misses(None, Tsn(9)).contains(&Tsn(2)));
    }
}

#[test]
fn report_without_room_for_more_blocks_takes_nothing_back_above_them() {
    let mut out = sent(9);
    sack(&mut out, 1, &[(2, 2), (5, 5), (8, 8)]).unwrap();
    let gaps = blocks(&[(5, 5)]);
    let report = Report { cum_tsn: Tsn(1), gaps: &gaps, nr_gaps: &[], complete: false };
    assert_eq!(out.acknowledge(&report).unwrap().reneged, [Tsn(3)], "9 may be reported later");
}

#[test]
fn advanced_point_of_rfc_3758_section_3_5_passes_what_is_abandoned() {
    // 102 is acknowledged, 103 and 104 are abandoned, 105 is not: here from 1.
    let mut out = sent(5);
    sack(&mut out, 2, &[]).unwrap();
    assert_eq!(out.advanced_tsn(), Tsn(2));
    for skipped in [3, 4] {
        assert_eq!(out.abandon(Tsn(skipped)), Some(skipped));
    }
    assert_eq!(out.advanced_tsn(), Tsn(4));
}

#[test]
fn nr_sack_frees_what_sack_must_keep() {
    let held = |kept: bool| {
        let mut out = Outstanding::new(Tsn(1));
        out.send(NOW, A, LEN, 1);
        (2..=60).for_each(|tsn| _ = out.send(NOW, B, LEN, tsn));
        let gaps = blocks(&[(2, 60)]);
        let (gaps, nr_gaps): (&[_], &[_]) = if kept { (&[], &gaps) } else { (&gaps, &[]) };
        let report = Report { cum_tsn: Tsn(0), gaps, nr_gaps, complete: true };
        let released = out.acknowledge(&report).unwrap().released_bytes;
        assert_eq!(out.total_in_flight_bytes(), LEN.into());
        (released, out.held_bytes() / u64::from(LEN))
    };
    assert_eq!(held(false), (0, 60));
    assert_eq!(held(true), ((2..=60).sum(), 1));
}

#[test]
fn chunk_that_the_peer_keeps_counts_until_it_is_acknowledged_cumulatively_or_abandoned() {
    let mut out = sent(4);
    let nr_gaps = blocks(&[(2, 4)]);
    let report = Report { cum_tsn: Tsn(0), gaps: &[], nr_gaps: &nr_gaps, complete: true };
    out.acknowledge(&report).unwrap();
    let len = u64::from(LEN);
    assert_eq!((out.kept_bytes(), out.held_bytes()), (3 * len, len));
    out.abandon(Tsn(3));
    assert_eq!(out.kept_bytes(), 2 * len);
    sack(&mut out, 2, &[]).unwrap();
    assert_eq!(out.kept_bytes(), len);
    sack(&mut out, 4, &[]).unwrap();
    assert_eq!(out.kept_bytes(), 0);
}

#[test]
fn kept_chunk_is_never_taken_back() {
    let mut out = sent(4);
    let nr_gaps = blocks(&[(2, 3)]);
    let report = Report { cum_tsn: Tsn(1), gaps: &[], nr_gaps: &nr_gaps, complete: true };
    out.acknowledge(&report).unwrap();
    assert!(sack(&mut out, 1, &[]).unwrap().reneged.is_empty());
    assert_eq!(out.in_flight_bytes(A), 2 * u64::from(LEN) - u64::from(LEN), "TSN 2 only");
}

/// A chunk of the linear model, in which every report visits every chunk.
#[derive(Clone, Debug)]
struct Plain {
    len: u32,
    path: PathId,
    state: State,
    fast: bool,
    misses: usize,
}

#[derive(Clone, Debug)]
enum Op {
    Send(u8, u32),
    Sack { cum: u64, gaps: u64, kept: u64, complete: bool },
    Misses(u64),
    MarkPath(u8),
    Retransmit(u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => (0..3u8, 1..1500u32).prop_map(|(path, len)| Op::Send(path, len)),
        6 => (0..4u64, any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()).prop_map(
            |(cum, a, b, kept, complete)| Op::Sack { cum, gaps: a & b, kept: kept & b, complete },
        ),
        6 => (0..20u64).prop_map(Op::Misses),
        1 => (0..3u8).prop_map(Op::MarkPath),
        6 => (0..3u8).prop_map(Op::Retransmit),
    ]
}

/// Bits as blocks: bit i stands for offset i + 2.
fn blocks_of(bits: u64) -> Vec<GapBlock> {
    let set = (0..64u16).filter(|i| bits >> i & 1 == 1);
    let mut list: Vec<GapBlock> = Vec::new();
    for at in set.map(|i| i + 2) {
        match list.last_mut() {
            Some(last) if last.end + 1 == at => last.end = at,
            _ => list.push(GapBlock { start: at, end: at }),
        }
    }
    list
}

/// The linear model of an association.
#[derive(Default)]
struct Model {
    first: usize,
    chunks: Vec<Plain>,
}

impl Model {
    fn report(
        &mut self,
        cum: usize,
        gaps: u64,
        kept: u64,
        complete: bool,
    ) -> (Vec<usize>, Vec<usize>) {
        let (mut newly, mut reneged) = (vec![], vec![]);
        let bit = |bits: u64, at: usize| {
            at.checked_sub(cum + 1).is_some_and(|i| i < 64 && bits >> i & 1 == 1)
        };
        let highest =
            (0..64).filter(|i| (gaps | kept) >> i & 1 == 1).max().map_or(cum, |i| cum + 2 + i);
        for (at, chunk) in self.chunks.iter_mut().enumerate().skip(self.first) {
            let open = matches!(chunk.state, State::InFlight | State::Marked);
            let state = match () {
                () if at < cum || bit(kept, at) => State::Kept,
                () if bit(gaps, at) => State::Acked,
                () if chunk.state == State::Acked && (complete || at < highest) => {
                    reneged.push(at);
                    chunk.misses = 1;
                    chunk.state = State::InFlight;
                    continue;
                }
                () => continue,
            };
            if open {
                newly.push(at);
            }
            if chunk.state != State::Kept {
                chunk.state = state;
            }
        }
        self.first = cum;
        (newly, reneged)
    }

    fn misses(&mut self, path: Option<PathId>, end: usize) -> Vec<usize> {
        let mut marked = vec![];
        for (at, chunk) in self.chunks.iter_mut().enumerate().take(end).skip(self.first) {
            let counts = path.is_none_or(|path| path == chunk.path);
            if chunk.state == State::InFlight && counts && !chunk.fast {
                chunk.misses += 1;
                if chunk.misses == MISSES {
                    (chunk.state, chunk.fast) = (State::Marked, true);
                    marked.push(at);
                }
            }
        }
        marked
    }

    fn bytes(&self, path: PathId) -> u64 {
        let on_path = |chunk: &&Plain| chunk.state == State::InFlight && chunk.path == path;
        self.chunks.iter().skip(self.first).filter(on_path).map(|chunk| u64::from(chunk.len)).sum()
    }

    fn kept(&self, path: PathId) -> u64 {
        let kept = |chunk: &&Plain| chunk.state == State::Kept && chunk.path == path;
        self.chunks.iter().skip(self.first).filter(kept).map(|chunk| u64::from(chunk.len)).sum()
    }

    fn marked(&self) -> u64 {
        let chunks = self.chunks.iter().skip(self.first);
        chunks.filter(|chunk| chunk.state == State::Marked).map(|chunk| u64::from(chunk.len)).sum()
    }

    fn held(&self) -> u64 {
        let held = self.chunks.iter().skip(self.first).filter(|chunk| chunk.state != State::Kept);
        held.map(|chunk| u64::from(chunk.len)).sum()
    }
}

/// Carries out `ops` on both, which must agree after each of them.
fn compare(initial: Tsn, by_path: bool, ops: Vec<Op>) {
    let (mut out, mut model) = (Outstanding::new(initial), Model::default());
    let at_of = |tsn: Tsn| tsn.distance_from(initial) as usize;
    for op in ops {
        match op {
            Op::Send(path, len) => {
                let path = PathId(path);
                assert_eq!(at_of(out.send(NOW, path, len, len)), model.chunks.len());
                let state = State::InFlight;
                model.chunks.push(Plain { len, path, state, fast: false, misses: 0 });
            }
            Op::Sack { cum, gaps, kept, complete } => {
                let cum = (model.first + cum as usize).min(model.chunks.len());
                let room = (model.chunks.len() - cum).saturating_sub(1).min(63);
                let mask = (1u64 << room) - 1;
                let (kept, gaps) = (kept & mask, gaps & mask & !(kept & mask));
                let (nr_gaps, gap_blocks) = (blocks_of(kept), blocks_of(gaps));
                let answer = out
                    .acknowledge(&Report {
                        cum_tsn: initial + cum as u32 - 1,
                        gaps: &gap_blocks,
                        nr_gaps: &nr_gaps,
                        complete,
                    })
                    .unwrap();
                let (newly, reneged) = model.report(cum, gaps, kept, complete);
                let acked: Vec<_> = answer.newly.iter().map(|acked| at_of(acked.tsn)).collect();
                assert_eq!(acked, newly);
                let back: Vec<_> = answer.reneged.iter().map(|tsn| at_of(*tsn)).collect();
                assert_eq!(back, reneged);
            }
            Op::Misses(back) => {
                let Some(last) = model.chunks.len().checked_sub(1 + back as usize) else {
                    continue;
                };
                let path = by_path.then_some(PathId((back % 3) as u8));
                let marked = out.count_misses(path, initial + last as u32);
                let marked: Vec<_> = marked.into_iter().map(at_of).collect();
                assert_eq!(marked, model.misses(path, last));
            }
            Op::MarkPath(path) => {
                let path = PathId(path);
                assert_eq!(out.mark_path(path).0, model.bytes(path));
                for chunk in model.chunks.iter_mut().skip(model.first) {
                    if chunk.state == State::InFlight && chunk.path == path {
                        chunk.state = State::Marked;
                    }
                }
            }
            Op::Retransmit(path) => {
                let marked = |chunk: &Plain| chunk.state == State::Marked;
                let next = model.chunks.iter().skip(model.first).position(marked);
                let next = next.map(|at| at + model.first);
                assert_eq!(out.next_marked().map(|marked| at_of(marked.tsn)), next);
                if let Some(at) = next {
                    assert!(out.retransmit(NOW, initial + at as u32, PathId(path)));
                    let chunk = &mut model.chunks[at];
                    (chunk.state, chunk.path, chunk.misses) = (State::InFlight, PathId(path), 0);
                }
            }
        }
        for path in [A, B, PathId(2)] {
            assert_eq!(out.in_flight_bytes(path), model.bytes(path));
            assert_eq!(out.kept_bytes_of(path), model.kept(path));
        }
        assert_eq!(out.held_bytes(), model.held());
        assert_eq!(out.marked_bytes(), model.marked());
    }
}

proptest! {
    #[test]
    fn random_operations_equal_a_linear_list(
        initial in prop_oneof![Just(u32::MAX - 20), any::<u32>()],
        by_path: bool,
        ops in prop::collection::vec(op(), 1..120),
    ) {
        compare(Tsn(initial), by_path, ops);
    }
}

#[test]
fn lowest_chunk_that_is_moved_counts_for_its_new_path_and_says_so() {
    let (a, b, now) = (PathId(0), PathId(1), Instant::from_millis);
    let mut sender: Outstanding<u32> = Outstanding::new(Tsn(u32::MAX));
    let first = sender.send(now(0), a, 100, 0);
    (1..4).for_each(|number| _ = sender.send(now(1), b, 100, number));
    assert_eq!(sender.take_lowest(b, now(0)), Some((first, a, 100)));
    assert_eq!(sender.take_lowest(b, now(0)), None, "it is marked");
    assert!(sender.retransmit(now(5), first, b));
    assert_eq!(sender.take_lowest(a, now(9)), None, "once");
    assert_eq!((sender.in_flight_bytes(a), sender.in_flight_bytes(b)), (0, 400));
    assert_eq!((sender.held_bytes_of(a), sender.held_bytes_of(b)), (0, 400));
    let report = Report { cum_tsn: Tsn(1), gaps: &[], nr_gaps: &[], complete: true };
    assert!(
        Outstanding::<u32>::covers(&report, first) && Outstanding::<u32>::covers(&report, Tsn(1))
    );
    assert!(!Outstanding::<u32>::covers(&report, Tsn(2)));
    let acked = sender.acknowledge(&report).expect("a report");
    let moved: Vec<_> = acked.newly.iter().map(|chunk| (chunk.path, chunk.moved)).collect();
    assert_eq!(moved, [(b, true), (b, false), (b, false)]);
}

#[test]
fn chunk_moved_to_its_own_path_is_sent_again_there_only_after_a_while() {
    let (a, now) = (PathId(0), Instant::from_millis);
    let mut sender: Outstanding<u32> = Outstanding::new(Tsn(1));
    let first = sender.send(now(10), a, 100, 0);
    assert_eq!(sender.take_lowest(a, now(10)), None);
    assert_eq!(sender.take_lowest(a, now(11)), Some((first, a, 100)));
    assert!(sender.retransmit(now(30), first, a));
    assert_eq!(sender.take_lowest(a, now(31)), Some((first, a, 100)), "it was not moved");
}

#[test]
fn moved_chunk_is_retransmitted_fast_once_and_not_before_its_sack_can_be_there() {
    let (a, b, now) = (PathId(0), PathId(1), Instant::from_millis);
    let mut sender: Outstanding<u32> = Outstanding::new(Tsn(1));
    let first = sender.send(now(0), a, 100, 0);
    (1..9).for_each(|number| _ = sender.send(now(1), b, 100, number));
    sender.take_lowest(b, now(0)).expect("it is moved");
    assert!(sender.retransmit(now(10), first, b));
    let miss = |settled| Misses { below: 8, far_below: 8, more: 0, settled };
    for _ in 0..4 {
        let missing = sender.count_misses_of(Some(b), &miss(now(10)));
        assert!(!missing.contains(&first), "sent just now");
    }
    assert!(sender.count_misses_of(Some(b), &miss(now(11))).contains(&first));
    assert!(sender.retransmit(now(40), first, b));
    for _ in 0..4 {
        let missing = sender.count_misses_of(Some(b), &miss(now(99)));
        assert!(!missing.contains(&first), "once");
    }
}

/// Regression: what a receiver discarded was never sent again, and nothing else had room there.
#[test]
fn acknowledgement_is_taken_back_by_its_own_path_at_once_and_by_others_after_a_second() {
    for (over, millis, expected) in
        [(A, 10, vec![]), (B, 10, vec![Tsn(3)]), (A, 999, vec![]), (A, 1000, vec![Tsn(3)])]
    {
        let mut out = sent(5);
        out.arrives(NOW, Some(B));
        assert_eq!(tsns(&sack(&mut out, 0, &[(3, 3)]).unwrap()), [3]);
        out.arrives(NOW + Duration::from_millis(1), Some(A));
        assert_eq!(sack(&mut out, 0, &[]).unwrap().reneged, [], "it may be late");
        out.arrives(NOW + Duration::from_millis(millis), Some(over));
        assert_eq!(sack(&mut out, 0, &[]).unwrap().reneged, expected, "{over:?} {millis} ms");
    }
}

/// Regression: the report that acknowledged all else was taken for a late one, no other came, and
/// what the receiver had discarded was never sent again.
#[test]
fn report_that_advances_the_cumulative_tsn_is_never_late() {
    let mut out = sent(3);
    out.arrives(NOW, Some(B));
    assert_eq!(tsns(&sack(&mut out, 0, &[(3, 3)]).unwrap()), [3]);
    out.arrives(NOW + Duration::from_millis(1), Some(A));
    assert_eq!(sack(&mut out, 2, &[]).unwrap().reneged, [Tsn(3)]);
}

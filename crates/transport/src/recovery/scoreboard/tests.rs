//! The scoreboard against a naive one: a plain vector that is searched and sorted anew each time.
//!
//! Operations follow the scoreboard's contract: offsets are contiguous, time never runs
//! backwards, and losses are declared of segments that are outstanding.

use super::*;
use proptest::prelude::*;

/// One segment of the naive scoreboard.
#[derive(Clone, Copy, Debug)]
struct Naive {
    id: u64,
    offset: u64,
    len: u32,
    fin: bool,
    sent_at: Instant,
    /// Order of transmissions at one instant.
    transmission: u64,
    first_transmission: u64,
    sacked: bool,
    lost: bool,
    ever: bool,
    out: bool,
}

impl Naive {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

#[derive(Debug, Default)]
struct Model {
    segments: Vec<Naive>,
    next_id: u64,
    transmissions: u64,
    highest: u64,
}

impl Model {
    fn count(&self, which: impl Fn(&Naive) -> bool) -> u32 {
        self.segments.iter().filter(|segment| which(segment)).count() as u32
    }

    /// Positions of segments whose delivery is open: neither SACKed, nor lost and waiting.
    fn by_time(&self) -> Vec<u64> {
        let mut open: Vec<&Naive> =
            self.segments.iter().filter(|s| !s.sacked && (!s.lost || s.out)).collect();
        open.sort_by_key(|segment| (segment.sent_at, segment.transmission));
        open.iter().map(|segment| segment.id).collect()
    }

    fn overtaken(&self) -> Vec<u64> {
        let is_overtaken = |old: &&Naive| {
            let sacked = self.segments.iter().filter(|later| later.offset < self.highest);
            old.out && sacked.map(|later| later.first_transmission).max() > Some(old.transmission)
        };
        self.segments.iter().filter(is_overtaken).map(|segment| segment.id).collect()
    }

    fn waiting(&self) -> Option<u64> {
        self.segments.iter().find(|s| s.lost && !s.out && !s.sacked).map(|s| s.id)
    }

    fn send(&mut self, now: Instant, offset: u64, len: u32, fin: bool) {
        self.transmissions += 1;
        self.segments.push(Naive {
            id: self.next_id,
            offset,
            len,
            fin,
            sent_at: now,
            transmission: self.transmissions,
            first_transmission: self.transmissions,
            sacked: false,
            lost: false,
            ever: false,
            out: false,
        });
        self.next_id += 1;
    }

    /// Ids of the segments that are newly SACKed.
    fn sack(&mut self, block: Range<u64>) -> Vec<u64> {
        let mut newly = Vec::new();
        for segment in &mut self.segments {
            let whole = block.start <= segment.offset && segment.end() <= block.end;
            if whole && !segment.sacked {
                newly.push(segment.offset);
                segment.sacked = true;
                segment.lost = false;
                segment.out = false;
                self.highest = self.highest.max(segment.end());
            }
        }
        newly
    }

    fn ack(&mut self, up_to: u64) -> Vec<u64> {
        let acked = self.segments.iter().take_while(|segment| segment.end() <= up_to);
        let acked: Vec<u64> = acked.map(|segment| segment.offset).collect();
        self.segments.drain(..acked.len());
        if let Some(head) = self.segments.first_mut()
            && up_to > head.offset
        {
            head.len -= (up_to - head.offset) as u32;
            head.offset = up_to;
        }
        acked
    }
}

/// Positions are picked modulo what there is.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send { len: u32, wait_us: u64 },
    Sack { from: usize, count: usize, jag: u64 },
    Ack { count: usize, part: u32 },
    Lose(usize),
    LoseAllOlderThan(usize),
    RetransmitNext { wait_us: u64 },
    Probe,
    UnmarkAll,
    ForgetSacks,
}

fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![4 => Just(1000u32), 1 => 1u32..1400];
    prop_oneof![
        8 => (len, 0u64..3).prop_map(|(len, wait_us)| Op::Send { len, wait_us }),
        5 => (0usize..64, 1usize..6, prop_oneof![3 => Just(0u64), 1 => 0u64..900])
            .prop_map(|(from, count, jag)| Op::Sack { from, count, jag }),
        3 => (0usize..6, prop_oneof![3 => Just(0u32), 1 => 1u32..900])
            .prop_map(|(count, part)| Op::Ack { count, part }),
        4 => (0usize..64).prop_map(Op::Lose),
        1 => (0usize..64).prop_map(Op::LoseAllOlderThan),
        4 => (0u64..3).prop_map(|wait_us| Op::RetransmitNext { wait_us }),
        1 => Just(Op::Probe),
        1 => Just(Op::UnmarkAll),
        1 => Just(Op::ForgetSacks),
    ]
}

/// Both scoreboards and the clock.
#[derive(Default)]
struct Rig {
    board: Scoreboard,
    model: Model,
    now: Instant,
    nxt: u64,
}

impl Rig {
    fn pick(&self, index: usize) -> Option<u64> {
        let count = self.model.segments.len();
        (count > 0).then(|| self.model.segments[index % count].id)
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Send { len, wait_us } => {
                self.now += base::Duration::from_micros(wait_us);
                self.board.on_sent(self.now, self.nxt, len, false);
                self.model.send(self.now, self.nxt, len, false);
                self.nxt += u64::from(len);
            }
            Op::Sack { from, count, jag } => self.sack(from, count, jag),
            Op::Ack { count, part } => self.ack(count, part),
            Op::Lose(index) => {
                if let Some(id) = self.pick(index) {
                    self.lose(id);
                }
            }
            Op::LoseAllOlderThan(index) => {
                let Some(id) = self.pick(index) else { return };
                let older: Vec<u64> = self.model.by_time();
                older.into_iter().take_while(|other| *other != id).for_each(|id| self.lose(id));
            }
            Op::RetransmitNext { wait_us } => {
                self.now += base::Duration::from_micros(wait_us);
                let next = self.board.next_to_retransmit();
                assert_eq!(next, self.model.waiting());
                if let Some(id) = next {
                    self.retransmit(id, true);
                }
            }
            // A tail loss probe: a copy of the highest segment, not counted.
            Op::Probe => {
                let last = self.model.segments.last().copied();
                if let Some(last) = last.filter(|last| !last.sacked && (!last.lost || last.out)) {
                    self.retransmit(last.id, false);
                }
            }
            Op::UnmarkAll => {
                self.board.unmark_all_lost();
                self.model.segments.iter_mut().for_each(|segment| segment.lost = false);
            }
            Op::ForgetSacks => {
                self.board.forget_sacks();
                self.model.segments.iter_mut().for_each(|segment| segment.sacked = false);
                self.model.highest = 0;
            }
        }
    }

    fn sack(&mut self, from: usize, count: usize, jag: u64) {
        let segments = &self.model.segments;
        if segments.is_empty() {
            return;
        }
        let from = from % segments.len();
        let to = (from + count).min(segments.len());
        // Ragged ends: what is covered in part does not count.
        let start = segments[from].offset + jag;
        let end = segments[to - 1].end() - jag.min(u64::from(segments[to - 1].len) - 1);
        let mut seen = Vec::new();
        self.board.sack(start..end, |segment| seen.push(segment.offset()));
        if start < end {
            assert_eq!(seen, self.model.sack(start..end), "lowest first, once each");
        } else {
            assert!(seen.is_empty());
        }
    }

    fn ack(&mut self, count: usize, part: u32) {
        let segments = &self.model.segments;
        let Some(last) = segments.get(count.min(segments.len().saturating_sub(1))) else { return };
        let up_to = (last.offset + u64::from(part)).min(last.end());
        let before = self.model.segments.clone();
        let expected = self.model.ack(up_to);
        let mut acked = Vec::new();
        // Half of the time the short way takes what it can.
        if count.is_multiple_of(2)
            && let Some(run) = self.board.pop_plain(up_to)
        {
            let covered = &before[..run.segs as usize];
            assert!(covered.iter().all(|s| !s.sacked && !s.lost && !s.ever), "sent once");
            assert_eq!(run.bytes(), covered.iter().map(|s| u64::from(s.len)).sum::<u64>());
            acked.extend(covered.iter().map(|s| s.offset));
            assert_eq!(Some(run.first.offset()), acked.first().copied());
            assert_eq!(Some(run.last.offset()), acked.last().copied());
        }
        while let Some(segment) = self.board.pop_acked(up_to) {
            acked.push(segment.offset());
        }
        self.board.forget_below(up_to);
        assert_eq!(acked, expected);
    }

    fn lose(&mut self, id: u64) {
        let changed = self.board.mark_lost(id);
        let segment = self.model.segments.iter_mut().find(|segment| segment.id == id);
        let Some(segment) = segment else { return };
        assert_eq!(changed, !segment.sacked && (!segment.lost || segment.out));
        if changed {
            segment.lost = true;
            segment.out = false;
        }
    }

    fn retransmit(&mut self, id: u64, counted: bool) {
        self.board.on_retransmitted(self.now, id, counted);
        self.model.transmissions += 1;
        let transmission = self.model.transmissions;
        let segment = self.model.segments.iter_mut().find(|segment| segment.id == id);
        let Some(segment) = segment else { return };
        segment.sent_at = self.now;
        segment.transmission = transmission;
        segment.ever = true;
        segment.out |= counted;
    }

    fn compare(&mut self) {
        let ours: Vec<u64> = self.board.by_time().map(|(id, _)| id).collect();
        let (board, model) = (&self.board, &self.model);
        let mut overtaken = board.overtaken_retransmissions();
        overtaken.sort_unstable();
        assert_eq!(overtaken, model.overtaken());
        assert_eq!(board.packets_out(), model.segments.len() as u32);
        assert_eq!(board.sacked_out(), model.count(|s| s.sacked));
        assert_eq!(board.lost_out(), model.count(|s| s.lost));
        assert_eq!(board.retrans_out(), model.count(|s| s.out));
        let inflight = model.count(|s| !s.sacked && !s.lost) + model.count(|s| s.out);
        assert_eq!(board.inflight(), inflight);
        assert_eq!(board.highest_sacked(7), model.highest.max(7));
        assert_eq!(board.next_to_retransmit(), model.waiting());
        assert_eq!(board.head().map(|(id, _)| id), model.segments.first().map(|s| s.id));
        assert_eq!(board.last().map(|(id, _)| id), model.segments.last().map(|s| s.id));
        for ((id, segment), naive) in board.iter().zip(&model.segments) {
            assert_eq!((id, segment.offset()), (naive.id, naive.offset));
            assert_eq!(segment.len(), naive.len);
            assert_eq!((segment.is_sacked(), segment.is_lost()), (naive.sacked, naive.lost));
            assert_eq!(segment.ever_retransmitted(), naive.ever);
            assert_eq!(segment.retransmission_out(), naive.out);
            assert_eq!((segment.sent_at(), segment.fin()), (naive.sent_at, naive.fin));
            assert_eq!(board.segment(id).map(|s| s.offset()), Some(naive.offset));
        }
        // Segments of one instant may swap places where an undo put them back.
        let times = |ids: &mut dyn Iterator<Item = u64>| {
            let mut pairs: Vec<(Instant, u64)> =
                ids.map(|id| (board.segment(id).map(|s| s.sent_at()).unwrap(), id)).collect();
            assert!(pairs.is_sorted_by_key(|(at, _)| *at), "oldest first: {pairs:?}");
            pairs.sort_unstable();
            pairs
        };
        let ours = times(&mut ours.into_iter());
        assert_eq!(ours, times(&mut model.by_time().into_iter()));
    }
}

fn replay(ops: &[Op]) {
    let mut rig = Rig::default();
    for op in ops {
        rig.apply(*op);
        rig.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn scoreboard_is_the_naive_one(ops in prop::collection::vec(op(), 1..120)) {
        replay(&ops);
    }
}

#[test]
fn by_time_moves_a_retransmission_to_the_end() {
    let mut board = Scoreboard::default();
    (0..3).for_each(|n| board.on_sent(Instant::from_millis(n), n * 100, 100, false));
    board.mark_lost(0);
    assert_eq!(board.by_time().map(|(id, _)| id).collect::<Vec<_>>(), [1, 2]);
    board.on_retransmitted(Instant::from_millis(9), 0, true);
    assert_eq!(board.by_time().map(|(id, _)| id).collect::<Vec<_>>(), [1, 2, 0]);
    assert_eq!(board.inflight(), 3);
}

#[test]
fn sack_of_a_part_of_a_segment_counts_nothing() {
    let mut board = Scoreboard::default();
    (0..3).for_each(|n| board.on_sent(Instant::ZERO, n * 100, 100, false));
    board.sack(50..199, |_| panic!("neither is covered whole"));
    assert_eq!(board.sacked_out(), 0);
    board.sack(50..200, |segment| assert_eq!(segment.offset(), 100));
    assert_eq!(board.sacked_out(), 1);
}

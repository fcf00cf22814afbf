//! Worked examples of STTF's Algorithms 2 and 3 (002 sIV-B), the merge against the literal loop,
//! and every rule against tagging anew.

use super::plan::{Candidate, Merge, Tags};
use super::transfer::Window;
use super::*;
use crate::scheduler::tests::support::{MSS, Model, path};
use crate::scheduler::{AnyScheduler, PathState, RttView, Step, by_name};
use base::Instant;
use proptest::prelude::*;

fn sttf(name: &str) -> AnyScheduler {
    by_name(name, &Options::default()).expect("a name of the table")
}

fn fast_and_slow(slow_ms: u64) -> Vec<PathView> {
    vec![path(0, 10, 10, 0), path(1, slow_ms, 10, 0)]
}

/// The path of every segment of a burst, counted from 1, as planned at once.
fn planned(paths: &[PathView], segments: u64) -> Vec<u8> {
    let mut sttf = Sttf::new(&Options::default(), &Settings::defaults(PARAMETERS));
    let mut model = Model::new(paths.to_vec(), segments);
    model.window = 1 << 30;
    let view = model.view();
    assert!(sttf.predicts(&view));
    sttf.look_at_candidates(&view, &view.unsent_offer());
    sttf.tag(&view);
    owners(&sttf.tags, segments)
}

fn owners(tags: &Tags, segments: u64) -> Vec<u8> {
    let mut tags = tags.clone();
    let mut owners = vec![u8::MAX; segments as usize];
    let paths: Vec<PathId> = tags.paths().collect();
    for path in paths {
        while let Some(run) = tags.first_of(path).cloned() {
            let (first, last) = (run.start / u64::from(MSS), run.end.div_ceil(u64::from(MSS)));
            owners[first as usize..last as usize].fill(path.0);
            tags.pop(path, run.end - run.start);
        }
    }
    owners
}

#[test]
fn sttf_2_burst_of_fifteen_stays_on_the_fast_path() {
    assert_eq!(planned(&fast_and_slow(100), 15), [0; 15]);
    let mut model = Model::new(fast_and_slow(100), 15);
    model.run(&mut sttf("sttf"));
    assert_eq!((model.on_path(0), model.on_path(1)), (15, 0));
    assert_eq!(model.completion, Some(Duration::from_millis(15)));
}

#[test]
fn sttf_3_slow_path_gets_what_arrives_there_first() {
    for (slow_ms, segments, first) in [(100, 700, 311), (40, 100, 31)] {
        let owners = planned(&fast_and_slow(slow_ms), segments);
        let slow = owners.iter().filter(|owner| **owner == 1).count();
        assert_eq!(owners.iter().position(|owner| *owner == 1), Some(first - 1), "{slow_ms}");
        assert_eq!(slow, 10, "{slow_ms}");
        assert!(owners.iter().all(|owner| *owner < 2), "{slow_ms}");
    }
}

/// What the slow path is given leaves at once, before what the fast one waits with.
#[test]
fn slow_path_sends_its_segments_before_their_turn() {
    let mut model = Model::new(fast_and_slow(40), 100);
    let mut scheduler = sttf("sttf");
    assert_eq!(model.push(&mut scheduler), Blocked::CongestionWindow);
    assert_eq!((model.on_path(0), model.on_path(1)), (10, 10));
    assert_eq!(model.snd_nxt, 10 * u64::from(MSS));
    assert_eq!(model.segments[10].offset, 30 * u64::from(MSS));
    assert_eq!(model.segments[10].paths, PathSet(0b10));
    model.run(&mut scheduler);
    assert_eq!(model.snd_una, model.write_end);
    // 90 segments in windows of 10, 20, 40 and 80 on F: no later than S alone would have it.
    assert_eq!(model.completion, Some(Duration::from_millis(35)));
}

/// S, with a last RTT of 400 ms, and 60 ms at first.
fn silent_slow(silence_ms: u64) -> Model {
    let mut slow = path(1, 400, 10, 0);
    slow.rtt.first = Duration::from_millis(60);
    slow.rtt.rto = Duration::from_millis(300);
    slow.last_send = Some(Instant::from_millis(1000));
    let mut model = Model::new(vec![path(0, 100, 10, 0), slow], 20);
    model.now = Instant::from_millis(1000 + silence_ms);
    model
}

#[test]
fn sttf_6_first_rtt_counts_after_an_rto_of_silence() {
    let ms = Duration::from_millis;
    for (silence_ms, rtt) in [(1200, ms(60)), (301, ms(60)), (300, ms(400))] {
        let model = silent_slow(silence_ms);
        let view = model.view();
        let mut sttf = Sttf::new(&Options::default(), &Settings::defaults(PARAMETERS));
        sttf.heed_silence(&view);
        assert_eq!(sttf.rtt(&model.paths[1]), rtt, "{silence_ms}");
        // Until there is a new sample: sending alone gives none.
        let sent = PathView { last_send: Some(model.now), ..model.paths[1] };
        sttf.heed_silence(&View { paths: &[model.paths[0], sent], ..view });
        assert_eq!(sttf.rtt(&sent), rtt, "{silence_ms}");
        assert_eq!(
            sttf.rtt(&PathView { rtt: RttView { samples: 2, ..sent.rtt }, ..sent }),
            ms(400),
            "{silence_ms}"
        );
    }
    for (name, on_slow) in [("sttf", 10), ("sttf:reset=5", 0), ("sttf:srtt=1", 10)] {
        let mut model = silent_slow(1200);
        model.push(&mut sttf(name));
        assert_eq!(model.on_path(1), on_slow, "{name}");
    }
}

#[test]
fn smoothed_rtt_counts_if_asked_for() {
    let mut fast = path(0, 10, 10, 0);
    fast.rtt.last = Duration::from_millis(200);
    for (name, chosen) in [("sttf", 1), ("sttf:srtt=1", 0)] {
        let mut model = Model::new(vec![fast, path(1, 100, 10, 0)], 5);
        model.push(&mut sttf(name));
        assert_eq!(model.on_path(chosen), 5, "{name}");
    }
}

#[test]
fn paths_alike_are_lrfs() {
    let alike = |name: &str, first_ms: [u64; 2]| {
        let mut paths = fast_and_slow(100);
        for (path, ms) in paths.iter_mut().zip(first_ms) {
            path.rtt.first = Duration::from_millis(ms);
        }
        // LRF fills both windows at once, STTF plans with the RTTs of today.
        let mut model = Model::new(paths, 15);
        model.push(&mut sttf(name));
        model.on_path(1) == 5
    };
    for (name, first_ms, expected) in [
        ("sttf", [10, 11], true),
        ("sttf", [100, 109], true),
        ("sttf", [100, 110], false),
        ("sttf", [10, 100], false),
        ("sttf:alpha=20", [100, 119], true),
        ("sttf:alpha=0", [100, 100], false),
        ("sttf", [0, 100], false),
    ] {
        assert_eq!(alike(name, first_ms), expected, "{name} {first_ms:?}");
    }
}

/// Regression: a path whose SYN was repeated has its first sample later, and was never compared.
#[test]
fn paths_are_compared_again_once_all_have_a_sample() {
    let mut scheduler = Sttf::new(&Options::default(), &Settings::defaults(PARAMETERS));
    let mut model = Model::new(vec![path(0, 20, 10, 0), path(1, 20, 10, 0)], 15);
    model.paths[1].rtt.first = Duration::ZERO;
    assert!(scheduler.predicts(&model.view()));
    model.paths[1].rtt.first = Duration::from_millis(20);
    assert!(!scheduler.predicts(&model.view()), "alike");
}

#[test]
fn paths_that_come_or_go_are_compared_anew() {
    let mut scheduler = sttf("sttf");
    let mut model = Model::new(vec![path(0, 10, 10, 0), path(1, 11, 10, 0)], 15);
    model.push(&mut scheduler);
    assert_eq!((model.on_path(0), model.on_path(1)), (10, 5), "alike");
    model.replace(1);
    scheduler.on_path_changed(PathId(1), PathChange::Removed);
    model.paths[1] = path(1, 100, 10, 0);
    scheduler.on_path_changed(PathId(1), PathChange::Added);
    model.reinject.clear();
    model.write_end += 5 * u64::from(MSS);
    model.push(&mut scheduler);
    assert_eq!(model.on_path(1), 5, "they wait for the fast one");
}

#[test]
fn throttled_path_is_waited_for() {
    let mut model = Model::new(fast_and_slow(100), 5);
    model.paths[0].throttled = true;
    let mut scheduler = sttf("sttf");
    assert_eq!(model.push(&mut scheduler), Blocked::SchedulerWaits);
    assert_eq!(model.sent, []);
    model.paths[0].throttled = false;
    model.push(&mut scheduler);
    assert_eq!(model.on_path(0), 5);
}

/// Ten are under way on F, twenty arrive there a round trip later, the rest after what S would
/// carry if it had room: it gets that now.
#[test]
fn tags_stay_unless_shares_change_by_more_than_the_tolerance() {
    for (name, waiting, on_slow) in
        [("sttf", 21, 0), ("sttf", 22, 2), ("sttf:tolerance=0", 21, 1), ("sttf:tolerance=2", 22, 0)]
    {
        let mut scheduler = sttf(name);
        let mut model = Model::new(fast_and_slow(40), 10 + waiting);
        model.paths[1].window.inflight_segs = 10;
        assert_eq!(model.push(&mut scheduler), Blocked::CongestionWindow);
        model.paths[1].window.inflight_segs = 0;
        model.push(&mut scheduler);
        assert_eq!((model.on_path(0), model.on_path(1)), (10, on_slow), "{name} {waiting}");
    }
}

#[test]
fn backup_rests_while_others_can_send() {
    let mut paths = vec![path(0, 100, 10, 0), path(1, 10, 10, 0), path(2, 400, 10, 0)];
    paths[1].backup = true;
    let mut model = Model::new(paths.clone(), 25);
    model.push(&mut sttf("sttf"));
    assert_eq!((model.on_path(0), model.on_path(1)), (10, 0));
    paths[0].state = PathState::PotentiallyFailed;
    paths[2].state = PathState::PotentiallyFailed;
    let mut model = Model::new(paths, 25);
    model.push(&mut sttf("sttf"));
    assert_eq!(model.on_path(1), 10);
}

#[test]
fn path_without_sample_rests_while_another_has_one() {
    let mut model = Model::new(vec![path(0, 0, 10, 0), path(1, 100, 10, 0)], 25);
    model.push(&mut sttf("sttf"));
    assert_eq!((model.on_path(0), model.on_path(1)), (0, 10));
}

#[test]
fn what_is_meant_for_a_path_that_fails_goes_to_others() {
    let mut scheduler = sttf("sttf");
    let mut model = Model::new(fast_and_slow(100), 15);
    model.push(&mut scheduler);
    assert_eq!(model.sent, [0; 10], "five wait for it");
    model.paths[0].loss = LossPhase::Timeout;
    model.push(&mut scheduler);
    assert_eq!((model.on_path(0), model.on_path(1)), (10, 5));
}

#[test]
fn tags_stay_after_the_peer_closed_but_for_a_path_that_fails() {
    for (closed, on_slow) in [(false, 5), (true, 0)] {
        let mut scheduler = sttf("sttf");
        let mut model = Model::new(fast_and_slow(100), 15);
        model.peer_closed = closed;
        model.push(&mut scheduler);
        // F is slower than S all of a sudden.
        model.paths[0].rtt.last = Duration::from_millis(500);
        model.push(&mut scheduler);
        assert_eq!(model.on_path(1), on_slow, "{closed}");
        model.paths[0].state = PathState::PotentiallyFailed;
        model.push(&mut scheduler);
        assert_eq!(model.on_path(1), 5, "{closed}");
    }
}

#[test]
fn nothing_is_planned_while_more_is_under_way_than_windows_take() {
    let mut model = Model::new(vec![path(0, 10, 10, 11), path(1, 100, 10, 11)], 15);
    let mut scheduler = sttf("sttf");
    assert_eq!(model.push(&mut scheduler), Blocked::CongestionWindow);
    let AnyScheduler::Sttf(sttf) = &scheduler else { unreachable!() };
    assert!(sttf.tags.is_empty());
    model.paths[1].window.inflight_segs = 10;
    model.push(&mut scheduler);
    let AnyScheduler::Sttf(sttf) = &scheduler else { unreachable!() };
    assert_eq!(sttf.tags.bytes_of(PathId(0)), 15 * u64::from(MSS));
}

#[test]
fn reinjection_waits_for_the_path_where_it_arrives_first() {
    let mut model = Model::new(vec![path(0, 10, 10, 0), path(1, 100, 9, 0), path(2, 400, 9, 0)], 1);
    let mut scheduler = sttf("sttf");
    model.push(&mut scheduler);
    model.reinject.push_back(0..u64::from(MSS));
    model.paths[1].window.inflight_segs = 9;
    assert_eq!(model.push(&mut scheduler), Blocked::SchedulerWaits);
    model.paths[1].window.inflight_segs = 8;
    model.push(&mut scheduler);
    assert_eq!(model.sent, [0, 1], "not where it was, although that is the fastest");
}

#[test]
fn full_receive_window_calls_for_a_copy() {
    for (name, copies) in [("sttf", 1), ("sttf:optim=0", 0)] {
        let mut model = Model::new(vec![path(0, 10, 10, 10), path(1, 100, 2, 0)], 9);
        model.window = 2 * u64::from(MSS);
        model.paths[0].loss = LossPhase::Timeout;
        let mut scheduler = sttf(name);
        assert_eq!(model.push(&mut scheduler), Blocked::ReceiveWindow);
        assert_eq!(model.sent, [1, 1]);
        (model.paths[0].loss, model.paths[0].window.inflight_segs) = (LossPhase::Open, 0);
        assert_eq!(model.push(&mut scheduler), Blocked::ReceiveWindow, "{name}");
        assert_eq!(model.on_path(0), copies, "{name}");
    }
}

/// Something of the connection itself sent what was meant for a path: its window probe.
#[test]
fn data_that_left_otherwise_are_not_sent_again() {
    let mut scheduler = sttf("sttf");
    let mut model = Model::new(fast_and_slow(100), 15);
    model.push(&mut scheduler);
    let offset = model.snd_nxt;
    let paths = PathSet::EMPTY.with(PathId(1));
    model.segments.push_back(crate::scheduler::DataSegment { offset, len: 700, paths });
    model.snd_nxt += 700;
    model.paths[0].window.inflight_segs = 0;
    model.push(&mut scheduler);
    assert_eq!(model.snd_nxt, model.write_end);
}

/// Paths as small numbers: RTT in ms, window, threshold, segments under way.
type Small = (u64, u32, Option<u32>, u32);

fn candidate(id: usize, (rtt, cwnd, ssthresh, inflight): Small) -> Candidate {
    let rtt = Duration::from_millis(rtt);
    let room = i64::from(cwnd) - i64::from(inflight);
    let window = Window { room, cwnd, ssthresh, rtt };
    Candidate { id: PathId(id as u8), mss: u64::from(MSS), window, window_left: u64::MAX }
}

fn small_paths() -> impl Strategy<Value = Vec<Small>> {
    let small = (1..40u64, 1..30u32, prop::option::of(2..60u32), 0..40u32);
    prop::collection::vec(small, 2..6)
}

proptest! {
    /// Segment by segment, each where `T` of its number is smallest, the lowest number in a tie.
    #[test]
    fn merge_is_the_literal_loop(paths in small_paths(), segments in 1..600u64) {
        let candidates: Vec<Candidate> =
            paths.iter().enumerate().map(|(id, small)| candidate(id, *small)).collect();
        let mut merge = Merge::default();
        for candidate in &candidates {
            merge.add(*candidate, 0);
        }
        let mut merged = Vec::new();
        while (merged.len() as u64) < segments {
            let left = (segments - merged.len() as u64) * u64::from(MSS);
            let (path, bytes) = merge.take(left, false).expect("a window without end");
            merged.extend((0..bytes.div_ceil(u64::from(MSS))).map(|_| path.index()));
        }
        let mut counts = vec![0; candidates.len()];
        for (number, path) in merged.iter().enumerate() {
            let time = |index: &usize| candidates[*index].window.transfer_time(counts[*index] + 1);
            let expected = (0..candidates.len()).min_by_key(time).expect("paths");
            prop_assert_eq!(*path, expected, "segment {}", number);
            counts[expected] += 1;
        }
        // Going on from what waits is the same as having given it out.
        let mut later = Merge::default();
        for (candidate, given) in merge.given() {
            later.add(Candidate { window_left: u64::MAX, ..*candidate }, given * candidate.mss);
        }
        for _ in 0..20 {
            let next = |merge: &mut Merge| merge.take(u64::from(MSS), false);
            prop_assert_eq!(next(&mut merge), next(&mut later));
        }
    }

    /// What is given out fits, and is whole where more data follow.
    #[test]
    fn merge_keeps_to_windows(
        paths in small_paths(),
        windows in prop::collection::vec(0..20_000u64, 6),
        data in 1..60_000u64,
        is_cut in any::<bool>(),
    ) {
        let mut merge = Merge::default();
        for (id, small) in paths.iter().enumerate() {
            merge.add(Candidate { window_left: windows[id], ..candidate(id, *small) }, 0);
        }
        let (mut left, mut given) = (data, vec![0; paths.len()]);
        while left > 0 && let Some((path, bytes)) = merge.take(left, is_cut) {
            prop_assert!(bytes > 0 && (!is_cut || bytes % u64::from(MSS) == 0));
            left -= bytes;
            given[path.index()] += bytes;
        }
        for (given, window) in given.iter().zip(&windows) {
            prop_assert!(given <= window);
            // A short rest may have to wait until one is asked about it alone.
            prop_assert!(left < u64::from(MSS) || given + u64::from(MSS) > *window);
        }
    }
}

/// The step that a decision asks for on a path.
#[test]
fn assignment_is_part_of_the_decision_that_sends() {
    let mut model = Model::new(fast_and_slow(40), 100);
    let mut scheduler = sttf("sttf");
    for _ in 0..10 {
        assert_eq!(model.step(&mut scheduler), None);
    }
    let decision = scheduler.next(&model.view());
    let first = 30 * u64::from(MSS);
    let range = first..first + u64::from(MSS);
    let assign = Action::Assign { range, path: PathId(1), revocable: true };
    assert_eq!(decision.actions, [assign]);
    assert!(matches!(decision.step, Step::Send { path: PathId(1), what: What::New, .. }));
}

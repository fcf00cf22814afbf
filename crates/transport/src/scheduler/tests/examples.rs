//! Worked examples of LRF, round robin, redundant and bursts, and their edge cases.

use super::support::{MSS, Model, path};
use crate::reinjection::Opportunistic;
use crate::scheduler::*;
use base::{Blocked, Duration, PathId};

fn scheduler(name: &str) -> AnyScheduler {
    by_name(name, &Options::default()).expect("a name of the table")
}

/// F has an RTT of 10 ms, S of 100 ms.
fn fast_and_slow(fast_inflight: u32) -> Vec<PathView> {
    vec![path(0, 10, 10, fast_inflight), path(1, 100, 10, 0)]
}

/// The path of the first segment, or why there is none.
fn first(name: &str, paths: Vec<PathView>) -> Result<u8, Blocked> {
    let mut model = Model::new(paths, 5);
    match model.step(&mut scheduler(name)) {
        None => Ok(model.sent[0]),
        Some(why) => Err(why),
    }
}

#[test]
fn names_of_the_table_are_those_that_can_be_made() {
    for (name, sentence, source) in NAMES {
        assert!(by_name(name, &Options::default()).is_some(), "{name}");
        assert!(sentence.ends_with('.') && !source.is_empty());
    }
    assert!(matches!(scheduler("minrtt"), AnyScheduler::Lrf(_)));
    assert!(by_name("default", &Options::default()).is_none(), "two kernels mean two rules");
}

#[test]
fn lrf_1_fastest_with_room() {
    assert_eq!(first("lrf", fast_and_slow(9)), Ok(0));
    assert_eq!(first("lrf", fast_and_slow(10)), Ok(1));
    let mut paths = fast_and_slow(9);
    paths[0].loss = LossPhase::Timeout;
    assert_eq!(first("lrf", paths), Ok(1));
    let mut paths = fast_and_slow(10);
    paths[1].backup = true;
    assert_eq!(first("lrf", paths), Err(Blocked::CongestionWindow));
}

/// The test of the queue is strict (kernel v0.95 `mptcp_is_temp_unavailable`): one segment may wait
/// in addition to an exactly filled window.
#[test]
fn path_with_a_queue_of_its_free_window_still_has_room() {
    let mut paths = fast_and_slow(8);
    paths[0].queue.unsent_bytes = 2 * u64::from(MSS);
    assert_eq!(first("lrf", paths.clone()), Ok(0));
    paths[0].queue.unsent_bytes += 1;
    assert_eq!(first("lrf", paths), Ok(1));
}

#[test]
fn lrf_2_burst_of_fifteen() {
    let mut model = Model::new(fast_and_slow(0), 15);
    model.run(&mut scheduler("lrf"));
    assert_eq!((model.on_path(0), model.on_path(1)), (10, 5));
    assert_eq!(model.completion, Some(Duration::from_millis(50)));
    for name in ["lrf", "rr", "redundant"] {
        let mut alone = Model::new(vec![path(0, 10, 10, 0)], 15);
        alone.run(&mut scheduler(name));
        assert_eq!(alone.completion, Some(Duration::from_millis(15)), "{name}");
        assert_eq!(alone.sent.len(), 15, "{name} with one path is plain TCP");
    }
}

/// The burst of LRF-2 with `rr` and `redundant`.
#[test]
fn burst_of_fifteen_rr_and_redundant() {
    let mut model = Model::new(fast_and_slow(0), 15);
    model.run(&mut scheduler("rr"));
    assert_eq!((model.on_path(0), model.on_path(1)), (8, 7));
    assert_eq!(model.completion, Some(Duration::from_millis(50)));
    let mut model = Model::new(fast_and_slow(0), 15);
    model.run(&mut scheduler("redundant"));
    assert_eq!((model.on_path(0), model.on_path(1)), (15, 10));
    assert_eq!(model.completion, Some(Duration::from_millis(15)));
}

#[test]
fn lrf_path_without_sample_comes_last_but_first_for_the_kernel() {
    let paths = vec![path(0, 0, 10, 0), path(1, 100, 10, 0)];
    assert_eq!(first("lrf", paths.clone()), Ok(1));
    let options = Options { kernel_compat: true, ..Options::default() };
    let mut model = Model::new(paths, 5);
    model.step(&mut by_name("lrf", &options).unwrap());
    assert_eq!(model.sent, [0]);
}

/// BK-1: F active with `pf`, S backup.
#[test]
fn bk_1_backup_while_the_primary_failed() {
    for name in ["lrf", "rr", "redundant"] {
        let mut paths = fast_and_slow(0);
        paths[1].backup = true;
        let mut model = Model::new(paths, 5);
        let mut scheduler = scheduler(name);
        model.paths[0].state = PathState::PotentiallyFailed;
        model.step(&mut scheduler);
        model.paths[0].state = PathState::Open;
        model.step(&mut scheduler);
        assert_eq!(model.sent, [1, 0], "{name}");
    }
}

/// A model whose first segment was sent on path 0 and waits for reinjection.
fn reinjecting(paths: Vec<PathView>) -> Model {
    let mut model = Model::new(paths, 1);
    let mut first = scheduler("lrf");
    assert!(model.step(&mut first).is_none());
    assert_eq!(model.sent, [0]);
    model.reinject.push_back(0..u64::from(MSS));
    model
}

#[test]
fn lrf_reinjection_prefers_a_path_it_was_not_on() {
    let mut model = reinjecting(fast_and_slow(0));
    model.push(&mut scheduler("lrf"));
    assert_eq!(model.sent, [0, 1]);
    assert_eq!(model.segments[0].paths, PathSet(0b11));
}

#[test]
fn lrf_reinjection_waits_for_no_path_once_all_were_tried() {
    let mut model = reinjecting(fast_and_slow(0));
    // Only the one it was on has room, the other is merely full, no backup: the mask is cleared.
    model.paths[1].window.inflight_segs = 10;
    model.push(&mut scheduler("lrf"));
    assert_eq!(model.sent, [0, 0]);
    assert_eq!(model.segments[0].paths, PathSet(0b01), "forgotten, then sent");
}

#[test]
fn lrf_reinjection_tried_on_all_active_goes_to_the_backup() {
    let mut paths = fast_and_slow(0);
    paths[1].backup = true;
    paths.push(path(2, 50, 10, 0));
    let mut model = reinjecting(paths);
    model.segments[0].paths = PathSet(0b101);
    model.push(&mut scheduler("lrf"));
    assert_eq!(model.sent, [0, 1]);
    // With the other active path unused, but full: wait for it, the backup rests.
    model.reinject.push_back(0..u64::from(MSS));
    model.segments[0].paths = PathSet(0b001);
    model.paths[0].window.inflight_segs = 10;
    model.paths[2].window.inflight_segs = 10;
    assert_eq!(model.push(&mut scheduler("lrf")), Blocked::CongestionWindow);
}

/// As the kernel: no active path is new to the segment and open, so a new backup is preferred.
#[test]
fn lrf_reinjection_goes_to_an_unused_backup_rather_than_repeat() {
    let mut paths = fast_and_slow(0);
    paths[1].backup = true;
    paths.push(path(2, 50, 10, 10));
    let mut model = reinjecting(paths);
    model.push(&mut scheduler("lrf"));
    assert_eq!(model.sent, [0, 1]);
}

/// As the kernel: the procedure ends at a backup that is unused and merely full.
#[test]
fn lrf_reinjection_waits_for_an_unused_backup_rather_than_repeat() {
    let mut paths = fast_and_slow(0);
    paths[1].backup = true;
    paths[1].window.inflight_segs = 10;
    let mut model = reinjecting(paths);
    assert_eq!(model.push(&mut scheduler("lrf")), Blocked::SchedulerWaits);
    model.paths[1].state = PathState::Closed;
    model.push(&mut scheduler("lrf"));
    assert_eq!(model.sent, [0, 0], "nobody else is left");
}

#[test]
fn throttled_path_is_passed_over_and_named() {
    for name in ["lrf", "rr", "redundant"] {
        let mut paths = fast_and_slow(0);
        paths[0].throttled = true;
        assert_eq!(first(name, paths.clone()), Ok(1), "{name}");
        paths[1].state = PathState::Closed;
        assert_eq!(first(name, paths), Err(Blocked::SmallQueue), "{name}");
    }
}

#[test]
fn path_that_must_continue_somewhere_carries_contiguous_data_only() {
    let mut paths = fast_and_slow(0);
    assert_eq!(first("lrf", paths.clone()), Ok(0), "the first data");
    paths[0].continues_at = Some(0);
    assert_eq!(first("lrf", paths.clone()), Ok(0), "the next data");
    paths[0].continues_at = Some(u64::from(MSS));
    assert_eq!(first("lrf", paths), Ok(1), "not others");
}

fn turns(num_segments: u32, weights: &[u32]) -> RoundRobin {
    RoundRobin::new(Turns { num_segments, cwnd_limited: true, weights: weights.to_vec() })
}

fn order(mut scheduler: RoundRobin, model: &mut Model, segments: usize) -> Vec<u8> {
    for _ in 0..segments {
        assert_eq!(model.step(&mut scheduler), None);
    }
    std::mem::take(&mut model.sent)
}

#[test]
fn rr_1_turns_and_weights() {
    let model = || Model::new(vec![path(0, 10, 100, 0), path(1, 100, 100, 0)], 50);
    assert_eq!(order(turns(1, &[]), &mut model(), 4), [0, 1, 0, 1]);
    assert_eq!(order(turns(2, &[]), &mut model(), 6), [0, 0, 1, 1, 0, 0]);
    assert_eq!(order(turns(1, &[3, 1]), &mut model(), 8), [0, 0, 0, 1, 0, 0, 0, 1]);
    // A path that left and came again has another number, and its weight still.
    let again = vec![path(0, 10, 100, 0), PathView { id: PathId(9), ..path(1, 100, 100, 0) }];
    let again = order(turns(1, &[1, 2]), &mut Model::new(again, 50), 6);
    assert_eq!(again, [0, 9, 9, 0, 9, 9]);
    let three = vec![path(0, 9, 100, 0), path(4, 9, 100, 0), path(7, 9, 100, 0)];
    let three = order(turns(1, &[]), &mut Model::new(three, 50), 7);
    assert_eq!(three, [0, 4, 7, 0, 4, 7, 0], "numbers need not be contiguous");
}

#[test]
fn rr_1_full_path_rejoins_with_its_remaining_quota() {
    let mut model = Model::new(vec![path(0, 10, 1, 0), path(1, 100, 100, 0)], 50);
    let mut scheduler = turns(3, &[]);
    for _ in 0..5 {
        model.step(&mut scheduler);
    }
    assert_eq!(model.sent, [0, 1, 1, 1, 1], "all to 1, its round begins anew");
    model.paths[0].window.cwnd_segs = 100;
    for _ in 0..6 {
        model.step(&mut scheduler);
    }
    assert_eq!(model.sent[5..], [1, 1, 0, 0, 1, 1], "1 ends its turn, 0 has two left");
}

#[test]
fn rr_without_cwnd_limit_blocks_on_the_slot() {
    let turns = Turns { cwnd_limited: false, ..Turns::default() };
    let mut scheduler = RoundRobin::new(turns);
    let mut model = Model::new(vec![path(0, 10, 1, 0), path(1, 100, 100, 0)], 50);
    assert_eq!(model.push(&mut scheduler), Blocked::SchedulerWaits);
    assert_eq!(model.sent, [0, 1]);
    assert_eq!(model.push(&mut scheduler), Blocked::SchedulerWaits, "still 0's turn");
    model.acknowledge_one_on(0);
    model.step(&mut scheduler);
    assert_eq!(model.sent, [0, 1, 0]);
}

/// CMT-SCTP's round robin of 000.
#[test]
fn rr_of_endless_turns_fills_one_path_then_the_next() {
    let mut scheduler = turns(u32::MAX, &[]);
    let mut model = Model::new(vec![path(0, 10, 3, 0), path(1, 100, 4, 0)], 50);
    model.push(&mut scheduler);
    assert_eq!(model.sent, [0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn rr_reinjects_on_a_path_not_tried_else_on_any() {
    let mut model = reinjecting(fast_and_slow(0));
    let mut scheduler = scheduler("rr");
    model.push(&mut scheduler);
    assert_eq!(model.sent, [0, 1]);
    model.reinject.push_back(0..u64::from(MSS));
    model.push(&mut scheduler);
    assert_eq!(model.sent, [0, 1, 0]);
    assert_eq!(model.segments[0].paths, PathSet(0b01), "forgotten, then sent");
}

#[test]
fn red_1_a_slow_path_skips_what_is_delivered() {
    let mut paths = vec![path(0, 10, 2, 0), path(1, 100, 2, 0)];
    paths.iter_mut().for_each(|path| path.window.ssthresh_segs = Some(2));
    let mut model = Model::new(paths, 4);
    let mut scheduler = scheduler("redundant");
    assert_eq!(model.push(&mut scheduler), Blocked::CongestionWindow);
    assert_eq!(model.sent, [0, 1, 0, 1]);
    assert_eq!(model.snd_nxt, 2 * u64::from(MSS), "two segments, each twice");
    model.acknowledge_one_on(0);
    model.acknowledge_one_on(0);
    model.step(&mut scheduler);
    assert_eq!(model.segments[0], DataSegment { paths: PathSet(0b01), ..model.segments[0] });
    model.paths[1].window.inflight_segs = 0;
    model.paths[0].window.inflight_segs = 2;
    model.step(&mut scheduler);
    assert_eq!(model.segments[0].offset, 2 * u64::from(MSS));
    assert_eq!(model.segments[0].paths, PathSet(0b11), "B takes 3, not 2");
}

#[test]
fn redundant_backup_never_carries_a_copy() {
    let mut paths = fast_and_slow(0);
    paths[1].backup = true;
    let mut model = Model::new(paths, 3);
    model.push(&mut scheduler("redundant"));
    assert_eq!(model.sent, [0, 0, 0]);
}

#[test]
fn redundant_counts_only_first_copies_against_the_window() {
    let mut model = Model::new(fast_and_slow(0), 9);
    model.window = 3 * u64::from(MSS);
    assert_eq!(model.push(&mut scheduler("redundant")), Blocked::ReceiveWindow);
    assert_eq!((model.on_path(0), model.on_path(1)), (3, 3));
}

#[test]
fn redundant_does_not_repeat_a_reinjection() {
    let mut model = reinjecting(fast_and_slow(0));
    model.push(&mut scheduler("redundant"));
    assert_eq!(model.sent, [0, 1]);
}

#[test]
fn probed_path_carries_reinjections_only() {
    for name in ["lrf", "rr", "redundant"] {
        let mut paths = fast_and_slow(0);
        paths[1].probing = true;
        let mut model = Model::new(paths, 12);
        assert_eq!(model.push(&mut scheduler(name)), Blocked::CongestionWindow, "{name}");
        assert_eq!(model.on_path(1), 0, "{name}");
        model.paths[0].state = PathState::PotentiallyFailed;
        model.reinject.push_back(0..u64::from(MSS));
        model.push(&mut scheduler(name));
        assert_eq!(model.on_path(1), 1, "{name}");
    }
}

#[test]
fn nothing_to_send_and_no_path_are_told_apart() {
    for name in ["lrf", "rr", "redundant"] {
        let mut model = Model::new(fast_and_slow(0), 0);
        assert_eq!(model.push(&mut scheduler(name)), Blocked::NothingToSend, "{name}");
        model.sndbuf_limited = name == "lrf";
        let why = if name == "lrf" { Blocked::SendBuffer } else { Blocked::NothingToSend };
        assert_eq!(model.push(&mut scheduler(name)), why, "{name}");
        assert_eq!(first(name, Vec::new()), Err(Blocked::PathDown), "{name}");
        let mut paths = fast_and_slow(0);
        paths.iter_mut().for_each(|path| path.state = PathState::PotentiallyFailed);
        assert_eq!(first(name, paths), Err(Blocked::PathDown), "{name}");
    }
}

#[test]
fn off_switch_leaves_opportunistic_retransmission_out() {
    let options = Options { opportunistic: Some(Opportunistic::Off), ..Options::default() };
    let mut model = Model::new(fast_and_slow(10), 9);
    model.window = u64::from(MSS);
    let mut lrf = by_name("lrf", &options).unwrap();
    assert_eq!(model.push(&mut lrf), Blocked::ReceiveWindow);
    model.paths[0].window.inflight_segs = 0;
    assert_eq!(model.push(&mut lrf), Blocked::ReceiveWindow);
    assert_eq!(model.sent, [1]);
}

//! Today's Linux scheduler over the abstract model (mainline Linux 6.18, `mptcp_subflow_get_send`).

use super::support::{MSS, Model, path};
use crate::scheduler::*;
use base::{Blocked, PathId};

fn linux() -> Linux {
    Linux::new(&Settings::defaults(parameters("linux")))
}

/// A and B, 1 MB/s and 100 kB/s, with 20,000 and 5,000 bytes queued: 20 ms and 50 ms.
fn lingering() -> Vec<PathView> {
    let mut a = PathView { pacing_rate: Some(1_000_000), ..path(0, 10, 14, 14) };
    let mut b = PathView { pacing_rate: Some(100_000), ..path(1, 10, 10, 4) };
    (a.queue.memory_bytes, b.queue.memory_bytes) = (20_000, 5_000);
    vec![a, b]
}

fn grant(path: u8, max_bytes: u32) -> Decision {
    let step = Step::Send { path: PathId(path), what: What::New, bind: Bind::Queue, max_bytes };
    Decision { actions: Vec::new(), step }
}

#[test]
fn shortest_linger_is_granted_whole_fragments() {
    let mut model = Model::new(lingering(), 1000);
    assert_eq!(linux().next(&model.view()), grant(0, 2 * 32_728), "used up after 65,428 bytes");
    model.snd_nxt = 10_000;
    assert_eq!(linux().next(&model.view()), grant(0, 3 * 32_728 - 10_000));
    model.paths[0].queue.limit_bytes = model.paths[0].queue.memory_bytes + 22_728;
    assert_eq!(linux().next(&model.view()), grant(0, 22_728), "until the buffer is full");
    model.paths[0].queue.limit_bytes += 1;
    assert_eq!(linux().next(&model.view()), grant(0, 2 * 32_728 - 10_000), "which may overflow");
    let mut model = Model::new(lingering(), 0);
    model.write_end = 50_000;
    let Step::Send { max_bytes, .. } = linux().next(&model.view()).step else { panic!("grants") };
    assert_eq!(max_bytes, 50_000, "a short rest, too, goes whole");
    let mut model = Model::new(lingering(), 1000);
    model.window = 3 * u64::from(MSS) + 1;
    assert_eq!(linux().next(&model.view()), grant(0, 3 * MSS + 1), "where the window ends");
}

/// Each acknowledgement of a receiver whose memory fills may open the window by 12 to 16 bytes.
#[test]
fn window_smaller_than_a_segment_is_filled_at_once() {
    let mut model = Model::new(lingering(), 1000);
    model.snd_nxt = 10_000;
    model.window = 10_000 + 12;
    assert_eq!(linux().next(&model.view()), grant(0, 12));
    model.window = 10_000;
    assert_eq!(linux().next(&model.view()), Decision::wait(Blocked::ReceiveWindow));
}

/// Parts of a grant follow each other without a new decision, as the engine dispatches less at a
/// time than a grant may have.
#[test]
fn grant_handed_over_in_parts_goes_on_where_it_stopped() {
    let mut model = Model::new(lingering(), 1000);
    let mut scheduler = linux();
    model.snd_nxt = 10_000;
    scheduler.next(&model.view());
    // Now the other path would be chosen.
    model.paths[0].queue.memory_bytes = 200_000;
    model.snd_nxt = 10_000 + 65_535;
    assert_eq!(scheduler.next(&model.view()), grant(0, 3 * 32_728 - 75_535));
    model.snd_nxt = 3 * 32_728;
    let Step::Send { path, .. } = scheduler.next(&model.view()).step else { panic!("grants") };
    assert_eq!(path, PathId(1));
}

#[test]
fn full_window_does_not_keep_a_grant_away_but_a_full_buffer_does() {
    let mut model = Model::new(lingering(), 1000);
    model.paths[0].queue.limit_bytes = 20_000;
    assert_eq!(linux().next(&model.view()), Decision::wait(Blocked::SchedulerWaits));
    model.paths[1].queue.limit_bytes = 5_000;
    assert_eq!(linux().next(&model.view()), Decision::wait(Blocked::CongestionWindow));
    model.paths[0].queue.limit_bytes = 20_001;
    assert_eq!(linux().next(&model.view()), grant(0, 32_728), "the fragment goes whole");
}

#[test]
fn ties_go_to_the_earlier_path_and_backups_rest() {
    let mut paths = vec![path(0, 100, 10, 0), path(1, 10, 10, 0)];
    paths.iter_mut().for_each(|path| path.pacing_rate = Some(1_000_000));
    assert_eq!(linux().next(&Model::new(paths.clone(), 9).view()), grant(0, 9 * MSS));
    paths[0].backup = true;
    assert_eq!(linux().next(&Model::new(paths.clone(), 9).view()), grant(1, 9 * MSS));
    paths[1].state = PathState::PotentiallyFailed;
    assert_eq!(linux().next(&Model::new(paths.clone(), 9).view()), grant(0, 9 * MSS));
    paths[0].state = PathState::Closed;
    let none = linux().next(&Model::new(paths, 9).view());
    assert_eq!(none, Decision::wait(Blocked::PathDown));
}

/// As measured on Linux 6.18: up to 46 segments of 1420 on one path, the rest of 50 on the other,
/// from the end of the second fragment on.
#[test]
fn burst_beyond_a_grant_continues_on_the_other_path() {
    let sent = |bytes| {
        let mut paths = vec![path(0, 10, 10, 0), path(1, 100, 10, 0)];
        for path in &mut paths {
            path.window.mss = 1420;
            path.pacing_rate = Some(2_000_000);
        }
        let mut model = Model::new(paths, 0);
        model.write_end = bytes;
        model.push(&mut linux());
        model.paths.iter().map(|path| path.queue.outstanding_bytes).collect::<Vec<_>>()
    };
    assert_eq!(sent(46 * 1420), [46 * 1420, 0]);
    assert_eq!(sent(50 * 1420), [46 * 1420 + 136, 4 * 1420 - 136]);
}

#[test]
fn average_follows_the_pacing_rate_by_what_is_granted() {
    let mut model = Model::new(lingering(), 1000);
    model.paths[1].state = PathState::Closed;
    model.window = 60_000;
    let mut scheduler = linux();
    model.paths[0].pacing_rate = Some(1_000_000);
    // The average begins here, and this grant of 60,000 bytes does not move it.
    assert_eq!(scheduler.next(&model.view()), grant(0, 60_000));
    model.paths[0].pacing_rate = Some(1_200_000);
    assert_eq!(scheduler.next(&model.view()), grant(0, 60_000));
    // 1.15 MB/s by now: 23,000 bytes take 20 ms, as 2,000 do at B.
    model.paths[1].state = PathState::Open;
    let mut chosen = |queued: u32| {
        model.paths[0].queue.memory_bytes = queued;
        model.paths[1].queue.memory_bytes = 2_000;
        match scheduler.clone().next(&model.view()).step {
            Step::Send { path, .. } => path.0,
            Step::Wait(why) => panic!("{why:?}"),
        }
    };
    assert_eq!((chosen(23_000), chosen(23_001)), (0, 1));
}

#[test]
fn repetition_waits_for_an_idle_path_while_new_data_go_on() {
    let mut model = Model::new(lingering(), 10);
    let mut scheduler = linux();
    model.push(&mut scheduler);
    assert_eq!(model.queued, [0; 10]);
    model.reinject.push_back(0..u64::from(MSS));
    assert_eq!(model.push(&mut scheduler), Blocked::SchedulerWaits, "B has four outstanding");
    model.write_end += u64::from(MSS);
    model.push(&mut scheduler);
    assert_eq!(model.queued.len(), 11, "new data do not wait");
    (model.paths[1].queue.outstanding_bytes, model.paths[1].window.inflight_segs) = (0, 0);
    model.push(&mut scheduler);
    assert_eq!((model.queued.len(), model.queued.last()), (12, Some(&1)));
}

#[test]
fn data_of_failed_paths_alone_are_granted_like_new_ones() {
    let mut model = Model::new(lingering(), 10);
    let mut scheduler = linux();
    model.push(&mut scheduler);
    model.paths[0].state = PathState::PotentiallyFailed;
    model.reinject_all_of(PathId(0));
    model.push(&mut scheduler);
    assert_eq!(model.queued[10..], [1; 10], "although B has data outstanding");
}

//! Opportunistic retransmission and penalisation through LRF (schedulers spec s11, RP-1).

use super::support::{MSS, Model, path};
use crate::reinjection::Opportunistic;
use crate::scheduler::*;
use base::{Blocked, CaState, Duration, PathId};

fn lrf(opportunistic: Opportunistic) -> AnyScheduler {
    by_name("lrf", &Options { opportunistic, ..Options::default() }).unwrap()
}

/// The first segment is on S, the window is full, F has room.
fn blocked(fast_ms: u64, slow_cwnd: u32) -> Model {
    let mut model = Model::new(vec![path(0, fast_ms, 10, 10), path(1, 100, slow_cwnd, 0)], 9);
    model.window = u64::from(MSS);
    assert_eq!(model.push(&mut lrf(Opportunistic::Off)), Blocked::ReceiveWindow);
    model.paths[0].inflight_segs = 0;
    model
}

#[test]
fn rp_1_window_full_copies_the_head_and_penalises_its_carrier() {
    let model = blocked(10, 20);
    let expected = Decision::send(PathId(0), What::Copy(0..u64::from(MSS)), MSS);
    assert_eq!(lrf(Opportunistic::RetransOnly).next(&model.view()), expected);
    let expected = expected.with(Action::Penalise(PathId(1)));
    assert_eq!(lrf(Opportunistic::Kernel).next(&model.view()), expected);
}

#[test]
fn rp_1_gate_of_four_rtts() {
    let copies = |fast_ms, slow_cwnd| {
        let decision = lrf(Opportunistic::RetransOnly).next(&blocked(fast_ms, slow_cwnd).view());
        matches!(decision.step, Step::Send { what: What::Copy(_), .. })
    };
    assert!(!copies(30, 20), "120 ms against 100 ms");
    assert!(copies(24, 20));
    assert!(copies(30, 4), "a small window needs help");
    assert!(!copies(30, 5));
}

#[test]
fn penalty_counts_for_the_gate() {
    let decision = lrf(Opportunistic::Kernel).next(&blocked(30, 8).view());
    assert!(matches!(decision.step, Step::Send { what: What::Copy(_), .. }), "8 became 4");
    let decision = lrf(Opportunistic::Kernel).next(&blocked(30, 10).view());
    assert_eq!(decision.step, Step::Wait(Blocked::ReceiveWindow), "10 became 5");
}

#[test]
fn copy_and_penalty_come_once_in_a_round_trip() {
    let mut model = blocked(10, 20);
    let mut lrf = lrf(Opportunistic::Kernel);
    assert_eq!(model.push(&mut lrf), Blocked::ReceiveWindow);
    assert_eq!((model.on_path(0), model.paths[1].cwnd_segs), (1, 10));
    model.push(&mut lrf);
    assert_eq!((model.on_path(0), model.paths[1].cwnd_segs), (1, 10));
    model.now += Duration::from_millis(10);
    model.push(&mut lrf);
    assert_eq!((model.on_path(0), model.paths[1].cwnd_segs), (1, 5), "the copy is on its way");
}

#[test]
fn penalty_spares_faster_and_recovering_carriers() {
    let mut model = blocked(10, 20);
    model.paths[1].ca_state = CaState::Recovery;
    assert!(lrf(Opportunistic::Kernel).next(&model.view()).actions.is_empty());
    let mut model = blocked(200, 20);
    model.paths[1].inflight_segs = 20;
    let expected = Decision::wait(Blocked::ReceiveWindow);
    assert_eq!(lrf(Opportunistic::Kernel).next(&model.view()), expected, "S is faster than F");
}

#[test]
fn send_buffer_full_copies_too() {
    let mut model = blocked(10, 20);
    model.write_end = u64::from(MSS);
    let mut lrf = lrf(Opportunistic::Kernel);
    assert_eq!(model.push(&mut lrf), Blocked::NothingToSend);
    model.sndbuf_limited = true;
    assert_eq!(model.push(&mut lrf), Blocked::SendBuffer);
    assert_eq!((model.on_path(0), model.paths[1].cwnd_segs), (1, 10));
}

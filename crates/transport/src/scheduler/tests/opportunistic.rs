//! Opportunistic retransmission and penalisation through LRF (004 sII-D).

use super::support::{MSS, Model, path};
use crate::congestion::Penalty;
use crate::reinjection::{self, Opportunistic};
use crate::scheduler::*;
use base::{Blocked, Duration, PathId};

fn lrf(opportunistic: Opportunistic) -> AnyScheduler {
    by_name("lrf", &Options { opportunistic: Some(opportunistic), ..Options::default() }).unwrap()
}

/// The first segment is on S, the window is full, F has room.
fn blocked(fast_ms: u64, slow_cwnd: u32) -> Model {
    let mut model = Model::new(vec![path(0, fast_ms, 10, 10), path(1, 100, slow_cwnd, 0)], 9);
    model.window = u64::from(MSS);
    assert_eq!(model.push(&mut lrf(Opportunistic::Off)), Blocked::ReceiveWindow);
    model.paths[0].window.inflight_segs = 0;
    model
}

#[test]
fn rp_1_window_full_copies_the_head_and_penalises_its_carrier() {
    let model = blocked(10, 20);
    let expected = Decision::send(PathId(0), What::Copy(0..u64::from(MSS)), MSS);
    assert_eq!(lrf(Opportunistic::RetransOnly).next(&model.view()), expected);
    for (mode, kind) in [
        (Opportunistic::Nsdi12, Penalty::Nsdi12),
        (Opportunistic::P004, Penalty::P004),
        (Opportunistic::Conext13, Penalty::Conext13),
        (Opportunistic::Kernel, Penalty::Kernel),
    ] {
        let expected = expected.clone().with(Action::Penalise(PathId(1), kind));
        assert_eq!(lrf(mode).next(&model.view()), expected, "{mode:?}");
    }
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
fn rp_1_gate_is_the_kernels_alone() {
    for mode in [Opportunistic::Nsdi12, Opportunistic::P004, Opportunistic::Conext13] {
        let step = lrf(mode).next(&blocked(30, 20).view()).step;
        assert!(matches!(step, Step::Send { what: What::Copy(_), .. }), "{mode:?}");
    }
    let step = lrf(Opportunistic::Kernel).next(&blocked(30, 20).view()).step;
    assert_eq!(step, Step::Wait(Blocked::ReceiveWindow));
}

#[test]
fn nsdi12_penalises_once_in_a_round_trip_of_the_slow_path() {
    let mut model = blocked(10, 20);
    let mut lrf = lrf(Opportunistic::Nsdi12);
    let mut cwnd_after = |ms| {
        model.now = base::Instant::ZERO + Duration::from_millis(ms);
        model.push(&mut lrf);
        model.paths[1].window.cwnd_segs
    };
    assert_eq!([0, 10, 99, 100, 150].map(&mut cwnd_after), [10, 10, 10, 5, 5]);
}

#[test]
fn nsdi12_copies_once_in_a_round_trip_of_the_fast_path() {
    let model = blocked(10, 20);
    let mut lrf = lrf(Opportunistic::Nsdi12);
    let mut copies = |ms| {
        let now = base::Instant::ZERO + Duration::from_millis(ms);
        let step = lrf.next(&View { now, ..model.view() }).step;
        matches!(step, Step::Send { what: What::Copy(_), .. })
    };
    assert_eq!([0, 5, 10].map(&mut copies), [true, false, true]);
}

/// Schedulers without a reinjection of their own use the one given; the others do not change.
#[test]
fn schedulers_without_reinjection_of_their_own_get_one() {
    for name in ["rr", "wrr", "redundant", "linux", "daps:optim=0"] {
        let join = if name.contains(':') { ',' } else { ':' };
        let with = |mode| {
            let name = format!("{name}{join}reinjection={mode}");
            by_name(&name, &Options::default()).unwrap().next(&blocked(10, 20).view())
        };
        let expected = Decision::send(PathId(0), What::Copy(0..u64::from(MSS)), MSS);
        assert_eq!(with("retrans-only"), expected, "{name}");
        if name != "redundant" {
            let expected = expected.with(Action::Penalise(PathId(1), Penalty::Kernel));
            assert_eq!(with("kernel"), expected, "{name}");
            assert_eq!(with("off"), Decision::wait(Blocked::ReceiveWindow), "{name}");
        }
    }
}

#[test]
fn names_say_what_schedulers_do() {
    for (name, ..) in reinjection::NAMES {
        let mode = Opportunistic::by_name(name).unwrap();
        for scheduler in ["lrf", "ecf", "blest", "ecf-kernel", "blest-kernel"] {
            let named = format!("{scheduler}:reinjection={name}");
            let mut named = by_name(&named, &Options::default()).unwrap();
            let optioned = Options { opportunistic: Some(mode), ..Options::default() };
            let mut optioned = by_name(scheduler, &optioned).unwrap();
            let model = blocked(30, 20);
            let expected = lrf(mode).next(&model.view());
            assert_eq!(named.next(&model.view()), expected, "{scheduler} {name}");
            assert_eq!(optioned.next(&model.view()), expected, "{scheduler} {name}");
        }
    }
}

#[test]
fn sources_have_their_own_reinjection() {
    let penalises = |name: &str| {
        let decision = by_name(name, &Options::default()).unwrap().next(&blocked(10, 20).view());
        (decision.actions.len(), matches!(decision.step, Step::Send { .. }))
    };
    // Those two copy by rules of their own.
    let others = NAMES.iter().filter(|(name, ..)| !["xlink", "raven"].contains(name));
    for (name, ..) in others {
        let expected = match *name {
            "lrf" | "ecf" | "ecf-kernel" | "blest-kernel" => (1, true),
            "sttf" => (0, true),
            // DAPS repeats a segment by a rule of its own, redundant always does.
            "blest" | "redundant" | "daps" => (0, true),
            _ => (0, false),
        };
        assert_eq!(penalises(name), expected, "{name}");
    }
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
    assert_eq!((model.on_path(0), model.paths[1].window.cwnd_segs), (1, 10));
    model.push(&mut lrf);
    assert_eq!((model.on_path(0), model.paths[1].window.cwnd_segs), (1, 10));
    model.now += Duration::from_millis(10);
    model.push(&mut lrf);
    assert_eq!(
        (model.on_path(0), model.paths[1].window.cwnd_segs),
        (1, 5),
        "the copy is on its way"
    );
}

#[test]
fn penalty_spares_faster_and_recovering_carriers() {
    let mut model = blocked(10, 20);
    model.paths[1].loss = LossPhase::Recovery;
    assert!(lrf(Opportunistic::Kernel).next(&model.view()).actions.is_empty());
    let mut model = blocked(200, 20);
    model.paths[1].window.inflight_segs = 20;
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
    assert_eq!((model.on_path(0), model.paths[1].window.cwnd_segs), (1, 10));
}

/// A writer that waits is woken by a third of the buffer. Until then the head is copied, but no
/// path is penalised (`mptcp_rcv_buf_optimization`: `!penal && sk_stream_memory_free`).
#[test]
fn send_buffer_with_room_copies_without_a_penalty() {
    let mut model = blocked(10, 20);
    model.write_end = u64::from(MSS);
    let mut lrf = lrf(Opportunistic::Kernel);
    assert_eq!(model.push(&mut lrf), Blocked::NothingToSend);
    (model.sndbuf_limited, model.sndbuf_full) = (true, false);
    assert_eq!(model.push(&mut lrf), Blocked::SendBuffer);
    assert_eq!((model.on_path(0), model.paths[1].window.cwnd_segs), (1, 20));
}

/// Regression: `daps:optim=1` went on repeating segments beside the reinjection that was given,
/// `off` included.
#[test]
fn reinjection_supersedes_optim_of_the_same_scheduler() {
    for scheduler in ["daps:optim=1", "otias:optim=2", "sttf:optim=2"] {
        let named = |mode| {
            let mut named =
                by_name(&format!("{scheduler},reinjection={mode}"), &Options::default()).unwrap();
            let decision = named.next(&blocked(30, 20).view());
            (decision.actions.len(), matches!(decision.step, Step::Send { .. }))
        };
        assert_eq!(named("off"), (0, false), "{scheduler}");
        assert_eq!(named("kernel"), (1, false), "{scheduler}: 120 ms against 100 ms");
        assert_eq!(named("nsdi12"), (1, true), "{scheduler}");
    }
}

/// `optim` in turn supersedes the reinjection of all schedulers.
#[test]
fn optim_supersedes_the_reinjection_of_all_schedulers() {
    let optioned = Options { opportunistic: Some(Opportunistic::Nsdi12), ..Options::default() };
    for name in ["daps:optim=0", "otias:optim=0", "sttf:optim=0"] {
        let decision = by_name(name, &optioned).unwrap().next(&blocked(10, 20).view());
        assert_eq!(decision, Decision::wait(Blocked::ReceiveWindow), "{name}");
    }
    let daps = by_name("daps:optim=1", &optioned).unwrap().next(&blocked(10, 20).view());
    assert_eq!(daps, Decision::send(PathId(0), What::Copy(0..u64::from(MSS)), MSS));
}

/// Regression: OTIAS, which binds everything at once, said that there was nothing to send, and its
/// `optim` and `reinjection` had no effect where the send buffer is the limit.
#[test]
fn otias_copies_the_head_while_the_application_waits_for_the_send_buffer() {
    for (name, copies) in [("otias", 0), ("otias:optim=1", 1), ("otias:reinjection=nsdi12", 1)] {
        let mut otias = by_name(name, &Options::default()).unwrap();
        let mut model = blocked(10, 20);
        model.write_end = u64::from(MSS);
        assert_eq!(model.push(&mut otias), Blocked::NothingToSend, "{name}");
        model.sndbuf_limited = true;
        assert_eq!(model.push(&mut otias), Blocked::SendBuffer, "{name}");
        assert_eq!(model.on_path(0), copies, "{name}");
    }
}

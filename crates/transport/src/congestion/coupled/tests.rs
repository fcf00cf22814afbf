//! Properties of every coupled control, and helpers for the tests of each.

use super::*;
use crate::congestion::test_support::{ack, loss, path_start};
use crate::congestion::{Controller, TABLE, by_name};
use proptest::prelude::*;

const OPTIONS: Options = Options { hystart: false, ..Options::LINUX };

/// In slow start or, with a threshold, beyond it.
pub(crate) fn start(cwnd: u32, ssthresh: Option<u32>) -> PathStart {
    path_start(1428, cwnd, ssthresh)
}

/// An acknowledgement over a path of that RTT while the window is the limit.
pub(crate) fn ack_of(rtt_ms: u64, acked: u32) -> AckSample {
    let srtt = Duration::from_millis(rtt_ms);
    AckSample { srtt, rtt: Some(srtt), ..ack(Instant::from_secs(1), acked) }
}

/// In congestion avoidance, every RTT known to all: window and RTT in ms of each path.
pub(crate) fn avoiding<R: Rule>(options: Options, paths: &[(u32, u64)]) -> Coupled<R> {
    let mut coupled = Coupled::new(options);
    for (id, (cwnd, rtt_ms)) in (0..).map(PathId).zip(paths) {
        coupled.on_path_added(id, &start(*cwnd, Some(1)));
        coupled.on_ack(id, &AckSample { cwnd_limited: false, ..ack_of(*rtt_ms, 1) });
    }
    coupled
}

/// The window of that path with its fraction.
pub(crate) fn cwnd<R: Rule>(coupled: &Coupled<R>, path: u8) -> f64 {
    coupled.paths.window(PathId(path)).unwrap().cwnd()
}

/// The growth by one acknowledged segment on that path.
pub(crate) fn growth<R: Rule>(paths: &[(u32, u64)], path: u8) -> f64 {
    let mut coupled: Coupled<R> = avoiding(OPTIONS, paths);
    let before = cwnd(&coupled, path);
    coupled.on_ack(PathId(path), &ack_of(paths[usize::from(path)].1, 1));
    cwnd(&coupled, path) - before
}

const WITH_LISA: [&str; 3] = ["lia:lisa=1", "olia:lisa=1", "balia:lisa=1"];

fn coupled_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|row| row.is_coupled).map(|row| row.name).chain(WITH_LISA)
}

/// Two paths in congestion avoidance, or more.
fn controller(name: &str, options: &Options, paths: &[(u32, u64)]) -> Controller {
    let mut controller = by_name(name, options).unwrap();
    for (id, (cwnd, rtt_ms)) in (0..).map(PathId).zip(paths) {
        controller.on_path_added(id, &start(*cwnd, Some(1)));
        controller.on_ack(id, &AckSample { cwnd_limited: false, ..ack_of(*rtt_ms, 1) });
    }
    controller
}

#[test]
fn slow_start_is_not_coupled() {
    for name in coupled_names() {
        let mut controller = controller(name, &OPTIONS, &[(10, 100), (20, 100)]);
        controller.on_path_added(PathId(2), &start(10, None));
        controller.on_ack(PathId(2), &ack_of(50, 10));
        assert_eq!(controller.cwnd_segs(PathId(2)), 20, "{name}");
    }
}

/// A backup that carried nothing yet is a sibling all the same.
#[test]
fn handshake_makes_a_path_a_sibling() {
    for name in ["lia", "olia", "balia"] {
        let grown = |srtt| {
            let mut controller = controller(name, &OPTIONS, &[(10, 100)]);
            controller.on_path_added(PathId(1), &PathStart { srtt, ..start(10, Some(1)) });
            (0..10).for_each(|_| controller.on_ack(PathId(0), &ack_of(100, 1)));
            controller.cwnd_bytes(PathId(0))
        };
        assert_eq!(grown(Duration::ZERO), 11 * 1428, "{name}: no sibling yet");
        assert!(grown(Duration::from_millis(100)) < 11 * 1428, "{name}");
    }
}

/// RFC 6356 s3: what is in flight counts, not a window that is not filled.
#[test]
fn sibling_at_rest_has_no_part_in_the_increase() {
    for name in ["lia", "olia", "olia-draft", "balia"] {
        let grown = |kernel_compat, in_flight, after: u64, resumes| {
            let options = Options { kernel_compat, ..OPTIONS };
            let mut controller = controller(name, &options, &[(10, 100), (80, 100)]);
            let busy = AckSample { snd_nxt: in_flight, cwnd_limited: false, ..ack_of(100, 1) };
            controller.on_ack(PathId(1), &busy);
            let now = busy.now + Duration::from_millis(after);
            if resumes {
                controller.on_transmit_start(PathId(1), Duration::from_millis(after), now);
            }
            let ack = AckSample { now, snd_nxt: 1448, ..ack_of(100, 1) };
            (0..10).for_each(|_| controller.on_ack(PathId(0), &ack));
            controller.cwnd_bytes(PathId(0))
        };
        let coupled = grown(false, 1448, 300, false);
        assert!(coupled < 11 * 1428, "{name}");
        assert_eq!(grown(false, 0, 300, false), 11 * 1428, "{name}: as alone");
        assert_eq!(grown(false, 0, 100, false), coupled, "{name}: between two bursts");
        assert_eq!(grown(false, 0, 300, true), coupled, "{name}: it sends again");
        assert_eq!(grown(true, 0, 300, false), grown(true, 1448, 300, false), "{name}: kernel");
    }
}

#[test]
fn window_that_is_not_the_limit_does_not_grow() {
    for name in coupled_names() {
        let mut controller = controller(name, &OPTIONS, &[(10, 100), (20, 100)]);
        for _ in 0..500 {
            controller.on_ack(PathId(0), &AckSample { cwnd_limited: false, ..ack_of(100, 10) });
        }
        assert_eq!(controller.cwnd_segs(PathId(0)), 10, "{name}");
    }
}

/// Regression: windows grew by fractions and lost them at every loss, half a segment of what was
/// left of small windows, without what a TCP gains by counting whole ones.
#[test]
fn loss_on_one_path_among_several_keeps_fractions() {
    for name in ["lia", "olia", "olia-draft", "balia"] {
        let halved = |kernel_compat, paths: &[(u32, u64)]| {
            let options = Options { kernel_compat, ..OPTIONS };
            let mut controller = controller(name, &options, paths);
            controller.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
            controller.set_recovery_window(PathId(0), 9);
            controller.on_recovery_exit(PathId(0), Instant::from_secs(1));
            controller.cwnd_bytes(PathId(0))
        };
        let several = [(15, 100), (10, 100)];
        assert_eq!(halved(false, &several), 7 * 1428 + 714, "{name}");
        let whole = if name == "balia" { 8 } else { 7 };
        assert_eq!(halved(true, &several), whole * 1428, "{name} as the kernel counts");
        assert_eq!(halved(false, &several[..1]), 7 * 1428, "{name} alone is NewReno");
    }
}

#[test]
fn idle_window_shrinks_as_a_plain_ones() {
    let (idle, rto) = (Duration::from_millis(800), Duration::from_millis(250));
    for name in coupled_names() {
        let mut controller = by_name(name, &OPTIONS).unwrap();
        controller.on_path_added(PathId(0), &start(10, Some(40)));
        controller.on_path_added(PathId(1), &start(10, Some(40)));
        controller.set_recovery_window(PathId(0), 80);
        controller.on_idle_restart(PathId(0), idle, rto, Instant::from_secs(1));
        let after = (controller.cwnd_segs(PathId(0)), controller.ssthresh_segs(PathId(0)));
        assert_eq!(after, (10, Some(60)), "{name}: IDLE-1");
        assert_eq!(controller.cwnd_segs(PathId(1)), 10, "{name}");
    }
}

#[test]
fn penalty_is_of_one_path() {
    for name in coupled_names() {
        let mut controller = controller(name, &OPTIONS, &[(20, 100), (10, 100)]);
        controller.penalise(PathId(0), Penalty::Nsdi12, Instant::from_secs(1));
        assert_eq!(controller.cwnd_segs(PathId(0)), 10, "{name}");
        assert_eq!(controller.cwnd_segs(PathId(1)), 10, "{name}");
    }
}

/// Resource pooling takes half of all windows from the path that lost, down to its floor.
#[test]
fn loss_of_equal_paths_halves() {
    let pools = ["cmtrpv1", "cmtrpv2", "rpv2-bsd"];
    for name in coupled_names().filter(|name| !pools.contains(name)) {
        let mut controller = controller(name, &OPTIONS, &[(20, 100), (20, 100)]);
        controller.on_congestion(PathId(0), &loss(Instant::from_secs(1)));
        controller.on_recovery_exit(PathId(0), Instant::from_secs(1));
        let windows = [0, 1].map(|path| controller.cwnd_segs(PathId(path)));
        assert_eq!(windows, [10, 20], "{name}");
    }
}

/// What happens: to which path, what, how much, and how much time passes.
type Op = (u8, u8, u32, u64);

fn apply(controller: &mut Controller, (path, what, segs, gap): Op, now: Instant, una: u64) {
    let path = PathId(path);
    match what {
        0 => controller.on_congestion(path, &loss(now)),
        1 => controller.on_recovery_exit(path, now),
        2 | 3 => {
            let kind = if what == 2 { CongestionKind::Rto } else { CongestionKind::RtoRepeated };
            controller.on_congestion(path, &CongestionEvent { kind, ..loss(now) });
        }
        4 => controller.set_recovery_window(path, segs),
        5 => {
            let (idle, rto) = (Duration::from_millis(gap), Duration::from_millis(200));
            controller.on_idle_restart(path, idle, rto, now);
            controller.on_transmit_start(path, idle, now);
        }
        6 => controller.on_undo(path, now),
        7 => {
            let kinds = [Penalty::Nsdi12, Penalty::P004, Penalty::Conext13, Penalty::Kernel];
            controller.penalise(path, kinds[segs as usize % 4], now);
        }
        8 => controller.on_path_removed(path),
        9 => controller.on_path_added(path, &start(10, None)),
        10 => controller.on_application_limited(path, segs),
        _ => {
            let sample = AckSample { now, snd_una: una, snd_nxt: una + 9, ..ack_of(gap + 1, segs) };
            controller.on_ack(path, &sample);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// A coupled control with one path is an uncoupled TCP (RFC 6356 s3); the kernel's modules do
    /// the same, except for wVegas.
    #[test]
    fn one_path_is_new_reno(
        kernel_compat in any::<bool>(),
        ops in prop::collection::vec((0..1u8, 0..30u8, 1..20u32, 0..400u64), 1..150),
    ) {
        let options = Options { kernel_compat, ..Options::LINUX };
        for name in coupled_names() {
            let mut both = ["reno", name].map(|name| by_name(name, &options).unwrap());
            both.iter_mut().for_each(|control| control.on_path_added(PathId(0), &start(10, None)));
            let (mut now, mut una) = (Instant::from_secs(1), 0);
            for op in ops.iter().copied() {
                now += Duration::from_millis(op.3);
                una += u64::from(op.2);
                both.iter_mut().for_each(|controller| apply(controller, op, now, una));
                let [reno, coupled] = &both;
                let (path, of) = (PathId(0), name);
                prop_assert_eq!(reno.cwnd_bytes(path), coupled.cwnd_bytes(path), "{}", of);
                prop_assert_eq!(reno.ssthresh_bytes(path), coupled.ssthresh_bytes(path), "{}", of);
            }
        }
    }

    /// Paths join, leave, die and return: windows stay those of real connections, and what is
    /// acknowledged adds at most twice as much.
    #[test]
    fn windows_stay_sane_while_paths_come_and_go(
        kernel_compat in any::<bool>(),
        ops in prop::collection::vec((0..4u8, 0..30u8, 1..20u32, 0..400u64), 1..150),
    ) {
        let options = Options { kernel_compat, ..OPTIONS };
        for name in coupled_names() {
            let mut controller = controller(name, &options, &[(10, 10), (40, 100), (2, 300)]);
            let mut alive = [true, true, true, false];
            let (mut now, mut una) = (Instant::from_secs(1), 0);
            for op in ops.iter().copied() {
                let (id, what, segs, gap) = op;
                now += Duration::from_millis(gap);
                una += u64::from(segs);
                match what {
                    8 => alive[usize::from(id)] = false,
                    9 => alive[usize::from(id)] = true,
                    _ => {}
                }
                let before = controller.cwnd_segs(PathId(id));
                apply(&mut controller, op, now, una);
                if what > 10 {
                    let most = before.max(2) + 2 * segs;
                    prop_assert!(controller.cwnd_segs(PathId(id)) <= most, "{}", name);
                }
                for (id, alive) in (0..).map(PathId).zip(alive) {
                    let cwnd = controller.cwnd_segs(id);
                    prop_assert_eq!(cwnd >= 1, alive, "{} {:?}", name, id);
                    prop_assert!(cwnd < 1 << 20 && controller.cwnd_bytes(id) < 1 << 40);
                    prop_assert!(controller.ssthresh_segs(id).is_none_or(|least| least >= 1));
                }
            }
        }
    }

    /// No path starves: acknowledged without losses while it is the limit, each one grows.
    #[test]
    fn every_path_makes_progress(
        windows in prop::collection::vec((1..40u32, 10..400u64), 2..5),
    ) {
        for name in coupled_names().filter(|name| *name != "wvegas") {
            let mut controller = controller(name, &OPTIONS, &windows);
            let windows = || (0..).map(PathId).zip(&windows);
            let before: f64 = windows().map(|(id, _)| controller.cwnd_bytes(id) as f64).sum();
            let mut una = 0;
            for _ in 0..2000 {
                una += 10_000;
                for (id, (_, rtt_ms)) in windows() {
                    let sample = AckSample { snd_una: una, snd_nxt: una + 1, ..ack_of(*rtt_ms, 8) };
                    controller.on_ack(id, &sample);
                }
            }
            let after: f64 = windows().map(|(id, _)| controller.cwnd_bytes(id) as f64).sum();
            prop_assert!(after > before, "{}: {} {}", name, before, after);
        }
    }
}

//! Controllers through their face: what all share, and windows round by round.

use super::test_support::{ack, loss, path_start};
use super::*;
use proptest::prelude::*;

const PATH: PathId = PathId(0);

fn controller(name: &str, options: &Options, cwnd: u32, ssthresh: Option<u32>) -> Controller {
    let mut controller = by_name(name, options).unwrap();
    controller.on_path_added(PATH, &path_start(1448, cwnd, ssthresh));
    controller
}

/// Rounds of one window each, one ACK per segment, evenly spaced; the window after each.
struct Rounds {
    now: Instant,
    rtt: Duration,
    snd_una: u64,
}

impl Rounds {
    fn new(rtt_ms: u64) -> Self {
        Rounds { now: Instant::from_secs(1), rtt: Duration::from_millis(rtt_ms), snd_una: 0 }
    }

    fn run(&mut self, controller: &mut Controller, rounds: usize) -> Vec<u32> {
        (0..rounds).map(|_| self.round(controller)).collect()
    }

    fn round(&mut self, controller: &mut Controller) -> u32 {
        let window = controller.cwnd_segs(PATH);
        let start = self.now;
        for i in 1..=window {
            let passed = self.rtt.as_micros() * u64::from(i) / u64::from(window);
            self.snd_una += 1448;
            let mut sample = ack(start + Duration::from_micros(passed), 1);
            (sample.rtt, sample.srtt) = (Some(self.rtt), self.rtt);
            sample.snd_una = self.snd_una;
            sample.snd_nxt = self.snd_una + u64::from(window) * 1448;
            controller.on_ack(PATH, &sample);
        }
        self.now = start + self.rtt;
        controller.cwnd_segs(PATH)
    }

    /// A loss and a recovery in no time.
    fn lose(&mut self, controller: &mut Controller) -> u32 {
        controller.on_congestion(PATH, &loss(self.now));
        controller.on_recovery_exit(PATH, self.now);
        controller.cwnd_segs(PATH)
    }

    fn time_out(&mut self, controller: &mut Controller) {
        let event = CongestionEvent { kind: CongestionKind::Rto, ..loss(self.now) };
        controller.on_congestion(PATH, &event);
    }
}

const NO_HYSTART: Options = Options { hystart: false, ..Options::LINUX };

#[test]
fn names_of_the_table_are_those_that_can_be_made() {
    for (name, sentence, source) in NAMES {
        assert!(by_name(name, &Options::LINUX).is_some(), "{name}");
        assert!(sentence.ends_with('.') && !source.is_empty());
    }
    assert!(by_name("vegas", &Options::LINUX).is_none());
}

#[test]
fn parameters_follow_the_name() {
    let known = |name: &str| by_name(name, &Options::LINUX).is_some();
    for row in TABLE {
        for parameter in row.parameters {
            let example = parameter.example(row.name);
            let choice: ControllerChoice = example.parse().unwrap();
            assert!(choice.is_coupled(), "{example}");
        }
    }
    assert!(known("wvegas:total-alpha=20,gamma=2"));
    for wrong in ["olia:min-ssthresh=3", "reno:min-ssthresh=1", "lia:x=1", "olia:", "cubic:"] {
        assert!(!known(wrong), "{wrong}");
    }
}

#[test]
fn smallest_threshold_can_be_set_for_one_path_among_several() {
    let threshold = |name: &str, several: bool| {
        let mut controller = controller(name, &Options::LINUX, 2, Some(1));
        let start = PathStart { srtt: Duration::from_millis(50), ..path_start(1448, 10, Some(1)) };
        let paths = if several { 0..2 } else { 0..1 };
        paths.for_each(|path| controller.on_path_added(PathId(path), &start));
        controller.set_recovery_window(PATH, 2);
        controller.on_congestion(PATH, &loss(Instant::ZERO));
        controller.ssthresh_segs(PATH)
    };
    for (name, several) in [
        ("olia", 2),
        ("olia:min-ssthresh=1", 1),
        ("balia", 1),
        ("balia:min-ssthresh=2", 2),
        ("lia", 2),
    ] {
        assert_eq!(threshold(name, true), Some(several), "{name}");
        assert_eq!(threshold(name, false), Some(2), "{name} alone is NewReno");
    }
}

#[test]
fn trace_reno_linux() {
    let mut reno = controller("reno", &NO_HYSTART, 10, None);
    let mut rounds = Rounds::new(100);
    assert_eq!(rounds.run(&mut reno, 3), [20, 40, 80]);
    assert_eq!(rounds.lose(&mut reno), 40);
    assert_eq!(rounds.run(&mut reno, 6), [41, 42, 43, 44, 45, 46]);
    rounds.time_out(&mut reno);
    assert_eq!((reno.cwnd_segs(PATH), reno.ssthresh_segs(PATH)), (1, Some(23)));
    assert_eq!(rounds.run(&mut reno, 7), [2, 4, 8, 16, 23, 24, 25]);
}

/// The windows of a plain model of the kernel's arithmetic, written independently; the counter
/// starts anew at every reduction.
#[test]
fn trace_cubic_linux_after_losses() {
    let mut cubic = controller("cubic", &NO_HYSTART, 100, Some(100));
    let mut rounds = Rounds::new(100);
    assert_eq!(rounds.lose(&mut cubic), 70);
    let first = [
        72, 74, 76, 78, 80, 82, 83, 85, 86, 87, 88, 90, 91, 92, 93, 94, 95, 95, 96, 97, 97, 98, 98,
        98, 99, 99, 99, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
        100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 101, 101, 101, 101, 102, 102,
    ];
    assert_eq!(rounds.run(&mut cubic, 60), first);
    assert_eq!(rounds.lose(&mut cubic), 71);
    let second = [
        73, 75, 77, 79, 81, 83, 85, 86, 87, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 98, 99, 99,
        100, 100, 101, 101, 101, 101, 102, 102,
    ];
    assert_eq!(rounds.run(&mut cubic, 30), second);
}

/// A 6.18 kernel that lost one segment at a window of 356, RTT 41 to 50 ms: seconds after the
/// recovery and window.
#[test]
fn trace_cubic_linux_is_near_a_kernels() {
    let mut cubic = controller("cubic", &NO_HYSTART, 356, Some(356));
    let mut rounds = Rounds::new(45);
    assert_eq!(rounds.lose(&mut cubic), 249);
    let start = rounds.now;
    for (ms, window) in [(484, 273), (1_011, 293), (2_112, 325), (2_966, 341), (4_110, 353)] {
        let mut ours = cubic.cwnd_segs(PATH);
        while rounds.now - start < Duration::from_millis(ms) {
            ours = rounds.round(&mut cubic);
        }
        assert!(ours.abs_diff(window) <= 2, "{ours} after {ms} ms, the kernel had {window}");
    }
}

#[test]
fn trace_cubic_linux_before_the_first_loss() {
    let mut cubic = controller("cubic", &NO_HYSTART, 10, Some(20));
    let trace = [
        20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 32, 34, 35, 37, 39, 41, 43, 45, 47, 50, 52, 55, 57,
        60, 63, 66, 70, 73, 77, 81,
    ];
    assert_eq!(Rounds::new(100).run(&mut cubic, 30), trace);
}

#[test]
fn trace_cubic_linux_keeps_up_with_reno_on_short_paths() {
    let mut cubic = controller("cubic", &NO_HYSTART, 20, Some(20));
    let mut rounds = Rounds::new(10);
    assert_eq!(rounds.lose(&mut cubic), 14);
    let trace = [15, 15, 15, 16, 16, 16, 16, 17, 18, 18, 18, 19, 20, 20, 20, 21, 22, 22, 22, 23];
    assert_eq!(rounds.run(&mut cubic, 20), trace);
}

#[test]
fn trace_cubic_hystart_leaves_slow_start_before_the_loss() {
    let mut cubic = controller("cubic", &Options::LINUX, 10, None);
    // Evenly spaced ACKs of a filling pipe: the train is as long as the round trip.
    let windows = Rounds::new(20).run(&mut cubic, 6);
    // The first round ends before a train is counted: it starts with a window of 16.
    assert_eq!(windows[0], 20);
    // The second begins with its second ACK; (20 ms + 1 ms) / 2 later, at one ACK a millisecond,
    // the thirteenth finds 12 segments added.
    assert_eq!(cubic.ssthresh_segs(PATH), Some(32));
    let mut reno = controller("reno", &Options::LINUX, 10, None);
    assert_eq!(Rounds::new(20).run(&mut reno, 6)[5], 640, "reno has no HyStart");
}

#[test]
fn window_not_filled_does_not_grow() {
    for (name, _, _) in NAMES {
        let mut controller = controller(name, &Options::LINUX, 10, None);
        let sample = AckSample { cwnd_limited: false, ..ack(Instant::from_secs(1), 5) };
        controller.on_ack(PATH, &sample);
        assert_eq!(controller.cwnd_segs(PATH), 10, "{name}");
    }
}

#[test]
fn stretched_ack_grows_slow_start_by_all_that_it_covers() {
    let mut reno = controller("reno", &Options::LINUX, 10, None);
    reno.on_ack(PATH, &ack(Instant::from_secs(1), 5));
    assert_eq!(reno.cwnd_segs(PATH), 15);
}

#[test]
fn undo_after_a_spurious_time_out_restores_the_window() {
    for (name, _, _) in NAMES {
        let mut controller = controller(name, &Options::LINUX, 40, None);
        let mut rounds = Rounds::new(50);
        rounds.time_out(&mut controller);
        assert_eq!(controller.cwnd_segs(PATH), 1);
        controller.on_undo(PATH, rounds.now);
        assert_eq!((controller.cwnd_segs(PATH), controller.ssthresh_segs(PATH)), (40, None));
    }
}

#[test]
fn repeated_time_out_keeps_the_threshold() {
    let mut reno = controller("reno", &Options::LINUX, 40, None);
    let mut rounds = Rounds::new(50);
    rounds.time_out(&mut reno);
    let event = CongestionEvent { kind: CongestionKind::RtoRepeated, ..loss(rounds.now) };
    reno.on_congestion(PATH, &CongestionEvent { cwnd_after_rto_segs: 3, ..event });
    assert_eq!((reno.cwnd_segs(PATH), reno.ssthresh_segs(PATH)), (3, Some(20)));
}

#[test]
fn penalty_halves_the_window_and_the_threshold_only_outside_of_slow_start() {
    let mut reno = controller("reno", &Options::LINUX, 9, None);
    reno.penalise(PATH, Penalty::Kernel, Instant::ZERO);
    assert_eq!((reno.cwnd_segs(PATH), reno.ssthresh_segs(PATH)), (4, None));
    let mut reno = controller("reno", &Options::LINUX, 9, Some(7));
    reno.penalise(PATH, Penalty::Kernel, Instant::ZERO);
    assert_eq!((reno.cwnd_segs(PATH), reno.ssthresh_segs(PATH)), (4, Some(3)));
}

#[test]
fn paths_are_independent_and_an_unknown_one_has_no_window() {
    let mut reno = controller("reno", &Options::LINUX, 10, None);
    reno.on_path_added(PathId(3), &path_start(1420, 1, Some(64)));
    reno.on_ack(PathId(3), &ack(Instant::ZERO, 1));
    assert_eq!((reno.cwnd_segs(PathId(3)), reno.cwnd_segs(PATH)), (2, 10));
    assert_eq!(reno.cwnd_bytes(PathId(3)), 2840);
    assert_eq!(reno.ssthresh_bytes(PathId(3)), Some(64 * 1420));
    reno.on_path_removed(PathId(3));
    assert_eq!((reno.cwnd_segs(PathId(3)), reno.cwnd_bytes(PathId(1))), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// After any events: a window of at least one segment, finite, never lowered by an ACK.
    #[test]
    fn window_stays_sane(
        cubic in any::<bool>(),
        hystart in any::<bool>(),
        ops in prop::collection::vec((0..8u8, 1..20u32, 0..400u64), 1..150),
    ) {
        let options = Options { hystart, ..Options::LINUX };
        let mut controller =
            controller(if cubic { "cubic" } else { "reno" }, &options, 10, None);
        let mut now = Instant::from_secs(1);
        let mut una = 0;
        for (op, segs, gap) in ops {
            now += Duration::from_millis(gap);
            let before = controller.cwnd_segs(PATH);
            una += u64::from(segs);
            match op {
                0 => controller.on_congestion(PATH, &loss(now)),
                1 => controller.on_recovery_exit(PATH, now),
                2 => {
                    let event = CongestionEvent { kind: CongestionKind::Rto, ..loss(now) };
                    controller.on_congestion(PATH, &event);
                }
                3 => controller.set_recovery_window(PATH, segs),
                4 => {
                    let idle = Duration::from_millis(gap);
                    controller.on_idle_restart(PATH, idle, Duration::from_millis(200), now);
                    controller.on_transmit_start(PATH, idle, now);
                }
                _ => {
                    let rtt = Some(Duration::from_millis(gap + 1));
                    let (snd_una, snd_nxt) = (una, una + 10);
                    let sample = AckSample { rtt, snd_una, snd_nxt, ..ack(now, segs) };
                    controller.on_ack(PATH, &sample);
                    prop_assert!(controller.cwnd_segs(PATH) >= before);
                    prop_assert!(controller.cwnd_segs(PATH) <= before + before.max(segs) + segs);
                }
            }
            prop_assert!(controller.cwnd_segs(PATH) >= 1);
            prop_assert!(controller.ssthresh_segs(PATH).is_none_or(|s| s >= 2));
        }
    }
}

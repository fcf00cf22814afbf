//! RFC 9260 s7 as worked examples, the laws over windows in bytes, and properties of all of them.

use super::*;
use crate::congestion::law::{Flow, lia, olia};
use crate::congestion::test_support::{ack, loss};
use crate::congestion::{Controller, ControllerChoice, PathGroups, TABLE};
use proptest::prelude::*;

/// PMDCS of a path over Ethernet and IPv4.
const P: u64 = 1468;
const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

fn start(cwnd: u64, ssthresh: u64, rtt_ms: u64) -> PathStart {
    PathStart {
        now: Instant::ZERO,
        mss: P as u32,
        initial_window_bytes: cwnd,
        initial_ssthresh_bytes: Some(ssthresh),
        srtt: Duration::from_millis(rtt_ms),
    }
}

/// Window, threshold and RTT in ms of each path.
fn control(name: &str, paths: &[(u64, u64, u64)]) -> Controller {
    let mut control = ControllerChoice::find(name).unwrap().make_over_bytes(1).unwrap();
    for (id, (cwnd, ssthresh, rtt_ms)) in (0..).map(PathId).zip(paths) {
        control.on_path_added(id, &start(*cwnd, *ssthresh, *rtt_ms));
    }
    control
}

/// A SACK for that many bytes while `outstanding` were; more are outstanding afterwards.
fn sack(control: &mut Controller, path: PathId, bytes: u64, outstanding: u64, rtt_ms: u64) -> u64 {
    let before = control.cwnd_bytes(path);
    let sample = AckSample {
        acked_bytes: bytes,
        srtt: Duration::from_millis(rtt_ms),
        cwnd_limited: outstanding >= before,
        snd_nxt: 1,
        ..ack(Instant::from_secs(1), 1)
    };
    control.on_ack(path, &sample);
    control.cwnd_bytes(path) - before
}

const fn t3(repeated: bool) -> CongestionEvent {
    let kind = if repeated { CongestionKind::RtoRepeated } else { CongestionKind::Rto };
    CongestionEvent {
        now: Instant::ZERO,
        kind,
        inflight_segs: 10,
        cwnd_after_rto_segs: 1,
        snd_nxt: 0,
    }
}

fn names_over_bytes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|row| row.bytes.is_some()).map(|row| row.name)
}

#[test]
fn some_controls_run_over_bytes() {
    let names =
        ["reno", "lia", "olia", "olia-draft", "lia-printed", "cmtrpv1", "cmtrpv2", "rpv2-bsd"];
    assert_eq!(names_over_bytes().collect::<Vec<_>>(), names);
    assert!(ControllerChoice::CUBIC.make_over_bytes(1).is_none());
}

/// Regression: parameters were accepted and had no effect.
#[test]
fn controls_with_parameters_do_not_run_over_bytes() {
    for text in ["lia:lisa=1", "lia:app-limited-alpha=1", "olia:min-ssthresh=1"] {
        let choice: ControllerChoice = text.parse().unwrap();
        assert!(choice.make_over_bytes(1).is_none(), "{text}");
    }
}

/// RFC 9260 s7.2.1 to s7.2.4: three chunks in flight, then three more; the third of the first
/// three is lost and the SACKs for the others come one by one.
#[test]
fn slow_start_to_fast_recovery_as_in_rfc_9260() {
    let mut reno = control("reno", &[(3 * P, 1_000_000, 100)]);
    assert_eq!(sack(&mut reno, FIRST, 2 * P, 4404, 100), P, "the lesser of 2936 and L * PMDCS");
    assert_eq!(sack(&mut reno, FIRST, P, 5872, 100), P, "a gap block counts as acknowledged");
    assert_eq!(sack(&mut reno, FIRST, P, 4404, 100), 0, "4404 of 7340 outstanding");
    assert_eq!(sack(&mut reno, FIRST, P, 2936, 100), 0);
    reno.on_congestion(FIRST, &loss(Instant::from_secs(1)));
    // max(7340 / 2, 4 PMDCS).
    assert_eq!((reno.cwnd_bytes(FIRST), reno.ssthresh_bytes(FIRST)), (5872, Some(5872)));
    assert_eq!(sack(&mut reno, FIRST, P, 5872, 100), 0, "in fast recovery");
    reno.on_congestion(FIRST, &loss(Instant::from_secs(1)));
    assert_eq!(reno.cwnd_bytes(FIRST), 5872, "no second cut");
    reno.on_recovery_exit(FIRST, Instant::from_secs(1));
    assert_eq!(sack(&mut reno, FIRST, P, 5872, 100), P);
}

/// RFC 9260 s7.2.2 from a window at its threshold, every SACK for two chunks.
#[test]
fn congestion_avoidance_adds_one_chunk_per_window() {
    let mut reno = control("reno", &[(14_680, 14_680, 100)]);
    let mut sack = || sack(&mut reno, FIRST, 2 * P, 1 << 20, 100);
    assert_eq!(sack(), P, "cwnd <= ssthresh is slow start");
    assert_eq!([(); 5].map(|()| sack()), [0; 5], "2936 to 14680 of 16148 bytes");
    assert_eq!(sack(), P, "17616 of 16148 bytes");
    // 1468 are left: 17616 more take six SACKs.
    assert_eq!([(); 5].map(|()| sack()), [0; 5]);
    assert_eq!(sack(), P);
}

/// RFC 9260 s7.2.3.
#[test]
fn t3_leaves_one_chunk_and_half_of_the_window_as_threshold() {
    let mut reno = control("reno", &[(44_040, 1_000_000, 100)]);
    reno.on_congestion(FIRST, &t3(false));
    assert_eq!((reno.cwnd_bytes(FIRST), reno.ssthresh_bytes(FIRST)), (P, Some(22_020)));
    assert_eq!((reno.cwnd_segs(FIRST), reno.ssthresh_segs(FIRST)), (1, Some(15)));
    reno.on_congestion(FIRST, &t3(true));
    assert_eq!((reno.cwnd_bytes(FIRST), reno.ssthresh_bytes(FIRST)), (P, Some(4 * P)));
}

#[test]
fn change_of_route_starts_the_path_anew() {
    let mut reno = control("reno", &[(3 * P, 1_000_000, 100)]);
    sack(&mut reno, FIRST, P, 1 << 20, 100);
    reno.on_path_added(FIRST, &start(3 * P, 1_000_000, 0));
    assert_eq!(reno.cwnd_bytes(FIRST), 3 * P);
    reno.on_path_removed(FIRST);
    assert_eq!((reno.cwnd_bytes(FIRST), reno.cwnd_segs(FIRST)), (0, 0));
}

/// Windows of 14,680 and 44,040 bytes, 0.1 and 0.2 s.
const TWO: [(u64, u64, u64); 2] = [(14_680, 20_000, 100), (44_040, 30_000, 200)];

/// The growth of path `own` by one SACK that completes a step of its phase.
fn growth(name: &str, own: usize, bytes: u64) -> u64 {
    let mut control = control(name, &TWO);
    let (path, rtt_ms) = (PathId(own as u8), TWO[own].2);
    if own == 1 {
        // In congestion avoidance: all but the last bytes of a window.
        assert_eq!(sack(&mut control, path, TWO[1].0 - bytes, 1 << 20, rtt_ms), 0);
    }
    sack(&mut control, path, bytes, 1 << 20, rtt_ms)
}

fn ssthresh(name: &str, path: PathId) -> Option<u64> {
    let mut control = control(name, &TWO);
    control.on_congestion(path, &loss(Instant::from_secs(1)));
    assert_eq!(control.ssthresh_bytes(path), Some(control.cwnd_bytes(path)));
    control.ssthresh_bytes(path)
}

#[test]
fn newreno_treats_every_path_by_itself() {
    assert_eq!([growth("reno", 0, P), growth("reno", 1, P)], [P, P]);
    assert_eq!([FIRST, SECOND].map(|path| ssthresh("reno", path)), [Some(7340), Some(22_020)]);
}

/// alpha is 0.64; the first path is in slow start, the second in congestion avoidance.
#[test]
fn lia_takes_its_share_of_every_step() {
    let flows = TWO.map(|(cwnd, _, rtt_ms)| Flow::new(cwnd as f64, Duration::from_millis(rtt_ms)));
    assert!((lia::alpha(&flows) - 0.64).abs() < 1e-9);
    assert_eq!([growth("lia", 0, P), growth("lia", 0, 500)], [235, 80]);
    assert_eq!(growth("lia", 1, P), 705);
    assert_eq!([FIRST, SECOND].map(|path| ssthresh("lia", path)), [Some(7340), Some(22_020)]);
    let mut small = control("lia", &[(P, P, 100), (P, P, 100)]);
    small.on_congestion(FIRST, &loss(Instant::from_secs(1)));
    assert_eq!(small.ssthresh_bytes(FIRST), Some(P), "the floor is one PMDCS");
}

/// RPv1 and RPv2: shares of 0.4 and 0.6 of every step; a loss takes half of all windows from the
/// path that lost, RPv2 in proportion to the rates.
#[test]
fn resource_pooling_takes_its_share_of_every_step_and_pays_for_all_windows() {
    for (name, first, second) in
        [("cmtrpv1", 2349, 14_680), ("cmtrpv2", P, 7340), ("rpv2-bsd", 2349, 14_680)]
    {
        assert_eq!([growth(name, 0, P), growth(name, 0, 500)], [588, 200], "{name}");
        assert_eq!(growth(name, 1, P), 881, "{name}");
        let thresholds = [FIRST, SECOND].map(|path| ssthresh(name, path));
        assert_eq!(thresholds, [Some(first), Some(second)], "{name}");
        let mut control = control(name, &TWO);
        control.on_congestion(SECOND, &t3(false));
        assert_eq!((control.cwnd_bytes(SECOND), control.ssthresh_bytes(SECOND)), (P, Some(second)));
    }
}

/// INET's `rpMinCwnd`: the share of one packet, 587.2 bytes, is less than a packet.
#[test]
fn floor_of_rpv1_in_inet_is_one_packet() {
    for (name, floor, expected) in [("cmtrpv1", 4, 2349), ("cmtrpv1", 1, P), ("rpv2-bsd", 1, 2349)]
    {
        let choice = ControllerChoice::find(name).unwrap();
        let mut control = choice.make_grouped(1, PathGroups::ONE, floor).unwrap();
        for (id, (cwnd, ssthresh, rtt_ms)) in (0..).map(PathId).zip(TWO) {
            control.on_path_added(id, &start(cwnd, ssthresh, rtt_ms));
        }
        control.on_congestion(FIRST, &loss(Instant::from_secs(1)));
        assert_eq!(control.ssthresh_bytes(FIRST), Some(expected), "{name}, {floor}");
    }
}

#[test]
fn window_before_any_floor_may_be_negative() {
    let reduced = |name, path| control(name, &TWO).reduced_window(path);
    assert_eq!(reduced("cmtrpv1", FIRST), Some(-14_680.0));
    assert_eq!(reduced("cmtrpv2", FIRST), Some(-3670.0));
    assert_eq!(reduced("reno", SECOND), Some(22_020.0));
    assert_eq!(reduced("lia", PathId(7)), None);
}

/// The equation as printed: alpha of 939.52, so that every step is a whole one.
#[test]
fn lia_as_printed_is_capped_at_every_step() {
    assert_eq!([growth("lia-printed", 0, P), growth("lia-printed", 1, P)], [P, P]);
    let thresholds = [FIRST, SECOND].map(|path| ssthresh("lia-printed", path));
    assert_eq!(thresholds, [Some(7340), Some(22_020)]);
}

#[test]
fn paths_of_other_groups_are_not_coupled() {
    let grown = |groups: &[u8]| {
        let groups = PathGroups::new(groups).unwrap();
        let choice = ControllerChoice::find("lia").unwrap();
        let mut control = choice.make_grouped(1, groups, 4).unwrap();
        for (id, (cwnd, ssthresh, rtt_ms)) in (0..).map(PathId).zip(TWO) {
            control.on_path_added(id, &start(cwnd, ssthresh, rtt_ms));
        }
        sack(&mut control, FIRST, P, 1 << 20, 100)
    };
    assert_eq!([grown(&[0, 0]), grown(&[0, 1]), grown(&[1, 0])], [235, P, P]);
}

/// l of 60000 and 70000 bytes: the first path is best by either measure, the second the largest.
#[test]
fn olia_moves_windows_to_the_best_path() {
    let flow = |(cwnd, _, rtt_ms): (u64, u64, u64), loss_interval| Flow {
        loss_interval,
        ..Flow::new(cwnd as f64, Duration::from_millis(rtt_ms))
    };
    let flows = [flow(TWO[0], 60_000), flow(TWO[1], 70_000)];
    for metric in [olia::Metric::Kernel, olia::Metric::Draft] {
        let per_packet = [0, 1].map(|own| P as f64 * olia::increase(&flows, own, metric, P as f64));
        assert!((per_packet[0] - 96.9).abs() < 0.05, "{per_packet:?}");
        assert!((per_packet[1] + 6.9).abs() < 0.05, "{per_packet:?}");
    }
    for name in ["olia", "olia-draft"] {
        let mut olia = control(name, &TWO);
        for (path, acked, (.., rtt_ms)) in [(FIRST, 60_000, TWO[0]), (SECOND, 70_000, TWO[1])] {
            let srtt = Duration::from_millis(rtt_ms);
            let (snd_una, snd_nxt) = (acked, acked + 1);
            let sample = AckSample { snd_una, snd_nxt, srtt, ..ack(Instant::from_secs(1), 0) };
            olia.on_ack(path, &sample);
        }
        let before = olia.cwnd_bytes(SECOND);
        let rest = AckSample {
            acked_bytes: before,
            srtt: Duration::from_millis(200),
            snd_una: 70_000,
            snd_nxt: 70_001,
            ..ack(Instant::from_secs(1), 0)
        };
        olia.on_ack(SECOND, &rest);
        // One window of 30 packets, -6.9 bytes each.
        let change = olia.cwnd_bytes(SECOND) as i64 - before as i64;
        assert_eq!(change, -205, "{name}");
    }
}

/// The equation as 003 prints it mixes bytes and packets: alpha is too large by the MSS.
#[test]
fn alpha_in_mixed_units_would_be_larger_by_the_segment_size() {
    let bytes = TWO.map(|(cwnd, _, rtt_ms)| Flow::new(cwnd as f64, Duration::from_millis(rtt_ms)));
    let packets = bytes.map(|flow| Flow { cwnd: flow.cwnd / P as f64, ..flow });
    let printed = lia::alpha(&packets) * lia::total(&bytes) / lia::total(&packets);
    assert!((printed - 939.52).abs() < 1e-6, "{printed}");
}

/// What happens to which path: what, bytes, and milliseconds.
type Op = (u8, u8, u64, u64);

fn apply(control: &mut Controller, (path, what, bytes, ms): Op, una: &mut u64) {
    let (path, now) = (PathId(path), Instant::from_secs(1));
    match what {
        0 => control.on_congestion(path, &loss(now)),
        1 => control.on_recovery_exit(path, now),
        2 => control.on_congestion(path, &t3(false)),
        3 => control.on_congestion(path, &t3(true)),
        4 => control.on_path_removed(path),
        5 => control.on_path_added(path, &start(3 * P, 50_000, ms)),
        6 => {
            let (idle, rto) = (Duration::from_millis(10 * ms), Duration::from_millis(300));
            control.on_idle_restart(path, idle, rto, now);
        }
        _ => {
            *una += bytes;
            let sample = AckSample {
                acked_bytes: bytes,
                srtt: Duration::from_millis(ms + 1),
                cwnd_limited: what % 3 > 0,
                may_grow: what % 4 > 0,
                snd_una: *una,
                snd_nxt: *una + u64::from(what % 2),
                ..ack(now, 1)
            };
            control.on_ack(path, &sample);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn one_path_is_new_reno(
        ops in prop::collection::vec((0..1u8, 0..30u8, 1..6000u64, 0..400u64), 1..150),
    ) {
        let ops = ops.iter().copied().filter(|(_, what, ..)| ![4, 5].contains(what));
        for name in names_over_bytes() {
            let mut both = ["reno", name].map(|name| control(name, &[(4404, 100_000, 50)]));
            let mut una = [0, 0];
            // The floors of thresholds differ below 8 PMDCS.
            for op in ops.clone() {
                both.iter_mut().zip(&mut una).for_each(|(one, una)| apply(one, op, una));
                let [reno, coupled] = [0, 1].map(|one: usize| both[one].cwnd_bytes(FIRST));
                if both[1].ssthresh_bytes(FIRST).is_some_and(|bytes| bytes < 4 * P) {
                    break;
                }
                prop_assert_eq!(reno, coupled, "{}", name);
            }
        }
    }

    #[test]
    fn windows_stay_sane_while_paths_come_and_go(
        ops in prop::collection::vec((0..3u8, 0..30u8, 1..6000u64, 0..400u64), 1..150),
    ) {
        for name in names_over_bytes() {
            let mut control = control(name, &[(4404, 100_000, 50), (50_000, P, 0), (P, P, 300)]);
            let mut una = 0;
            for op in ops.iter().copied() {
                let path = PathId(op.0);
                let before = control.cwnd_bytes(path);
                apply(&mut control, op, &mut una);
                let after = control.cwnd_bytes(path);
                let is_ack = op.1 > 6;
                prop_assert!(!is_ack || after <= before + P, "{}: {} {}", name, before, after);
                prop_assert!(!is_ack || op.1 % 4 > 0 || after <= before, "{}: may not grow", name);
                let alive = after > 0;
                prop_assert!(!alive || after >= P, "{}", name);
                prop_assert!(control.ssthresh_bytes(path).is_none_or(|bytes| bytes >= P));
            }
        }
    }
}

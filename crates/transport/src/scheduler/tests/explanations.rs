//! The numbers that schedulers explain themselves with are those of the worked examples.
//! That the path explained is the one answered, the model checks at every call of every test.

use super::support::{MSS, Model, path};
use crate::scheduler::*;
use base::decision::{Explanation, Unit};
use base::{Duration, PathId};
use std::cmp::Ordering;

/// F has an RTT of 10 ms and a full window of 10, S of 100 ms.
fn full_and_free() -> Vec<PathView> {
    vec![path(0, 10, 10, 10), path(1, 100, 10, 0)]
}

fn explained(name: &str, model: &Model) -> Explanation {
    let scheduler = by_name(name, &Options::default()).expect("a name of the table");
    scheduler.explain(&model.view()).expect("it explains itself")
}

fn scores(explanation: &Explanation) -> Vec<(u8, &'static str, f64)> {
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let of = |score: &base::decision::Score| (score.path.0, score.name, rounded(score.value));
    explanation.scores.iter().map(of).collect()
}

#[test]
fn every_scheduler_of_the_table_explains_itself() {
    for (name, ..) in NAMES {
        let model = Model::new(full_and_free(), 5);
        assert!(!explained(name, &model).rule.is_empty(), "{name}");
    }
}

#[test]
fn lrf_names_the_fastest_with_room() {
    let explanation = explained("lrf", &Model::new(full_and_free(), 5));
    assert_eq!(explanation.best, Some(PathId(1)));
    assert!(explanation.scores.is_empty() && explanation.tests.is_empty());
}

#[test]
fn ecf_1_both_inequalities_as_times() {
    let mut paths = full_and_free();
    (paths[0].rtt.rttvar, paths[1].rtt.rttvar) =
        (Duration::from_millis(2), Duration::from_millis(10));
    let explanation = explained("ecf-kernel", &Model::new(paths, 5));
    assert_eq!(explanation.best, None);
    let [first, second] = explanation.tests.as_slice() else { panic!("{explanation:?}") };
    let close = |value: f64, ms: f64| (value * 1e3 - ms).abs() < 1e-9;
    assert!(close(first.left.1, 20.0) && close(first.right.1, 110.0), "{first:?}");
    assert!(close(second.left.1, 100.0) && close(second.right.1, 30.0), "{second:?}");
    assert_eq!((first.order, second.order), (Ordering::Less, Ordering::Greater));
}

#[test]
fn blest_1_and_4_bytes_on_both_sides() {
    let mut paths = full_and_free();
    paths[0].window.ssthresh_segs = Some(8);
    let mut model = Model::new(paths, 5);
    model.window = 200_000;
    for (name, fast_bytes) in [("blest-kernel", 282_744.0), ("blest", 207_060.0)] {
        let explanation = explained(name, &model);
        let [test] = explanation.tests.as_slice() else { panic!("{explanation:?}") };
        assert_eq!((test.left.1, test.right.1), (fast_bytes, 198_572.0), "{name}");
        assert_eq!((test.order, test.unit), (Ordering::Greater, Unit::Bytes));
        assert_eq!(explanation.best, None);
    }
    model.window = 400_000;
    assert_eq!(explained("blest-kernel", &model).best, Some(PathId(1)));
}

#[test]
fn otias_1_arrivals_of_both() {
    let mut model = Model::new(full_and_free(), 5);
    model.paths[0].queue.unsent_bytes = 40 * u64::from(MSS);
    let explanation = explained("otias", &model);
    assert_eq!(scores(&explanation), [(0, "arrival in", 0.055), (1, "arrival in", 0.05)]);
    assert_eq!(explanation.best, Some(PathId(1)));
    model.paths[0].queue.unsent_bytes -= u64::from(MSS);
    assert_eq!(explained("otias", &model).best, Some(PathId(0)));
}

/// S answers 50 ms after it is sent on, F, whose window is full, after a round more.
#[test]
fn sttf_transfer_times_of_both() {
    let explanation = explained("sttf", &Model::new(full_and_free(), 5));
    assert_eq!(scores(&explanation), [(0, "transfer time", 0.015), (1, "transfer time", 0.05)]);
    assert_eq!(explanation.best, None, "it waits for F");
}

/// The example of `scheduler/linux`.
#[test]
fn linux_time_to_flush() {
    let mut paths = full_and_free();
    (paths[0].queue.memory_bytes, paths[0].pacing_rate) = (20_000, Some(1_000_000));
    (paths[1].queue.memory_bytes, paths[1].pacing_rate) = (5_000, Some(100_000));
    let explanation = explained("linux", &Model::new(paths, 5));
    assert_eq!(scores(&explanation), [(0, "linger", 0.02), (1, "linger", 0.05)]);
    assert_eq!(explanation.best, Some(PathId(0)));
}

#[test]
fn turns_and_runs_are_counted_as_they_are_used() {
    let paths = vec![path(0, 10, 10, 0), path(1, 10, 10, 0)];
    let mut model = Model::new(paths, 20);
    let mut rr = by_name("wrr:3,1", &Options::default()).expect("a name of the table");
    model.step(&mut rr);
    model.step(&mut rr);
    let explanation = rr.explain(&model.view()).expect("it explains itself");
    assert_eq!(scores(&explanation), [(0, "used of its turn", 2.0), (1, "used of its turn", 0.0)]);
    let mut daps = by_name("daps", &Options::default()).expect("a name of the table");
    model.step(&mut daps);
    let explanation = daps.explain(&model.view()).expect("it explains itself");
    assert_eq!(scores(&explanation)[0], (0, "left of its run", 8.0));
}

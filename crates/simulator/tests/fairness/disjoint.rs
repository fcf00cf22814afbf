//! One connection over two paths without competition: at least the throughput of TCP on the better
//! of them (RFC 6356 s2, goal 1).

use crate::net::{Bottleneck, Experiment, Flow, flow, run};
use crate::{LOSS_BASED, mean, studied};
use base::Duration;

/// Rate in Mbit/s and RTT in ms of two paths.
const PAIRS: [[(u64, u64); 2]; 4] =
    [[(10, 40), (10, 40)], [(20, 20), (5, 100)], [(10, 100), (20, 20)], [(20, 10), (2, 150)]];

/// A bottleneck of that rate and RTT.
type Make = fn((u64, u64)) -> Bottleneck;

/// The options of MPTCP take 20 of 1448 bytes of every segment.
const PAYLOAD: f64 = 1428.0 / 1448.0;

fn drop_tail((mbit, rtt_ms): (u64, u64)) -> Bottleneck {
    Bottleneck::drop_tail(mbit, rtt_ms)
}

fn red((mbit, rtt_ms): (u64, u64)) -> Bottleneck {
    Bottleneck::red(mbit, rtt_ms)
}

fn lossy(path: (u64, u64)) -> Bottleneck {
    Bottleneck { loss: 0.005, ..drop_tail(path) }
}

/// The mean goodput of a flow for itself, in bit/s.
fn goodput(bottlenecks: &[Bottleneck], flow: Flow, seeds: u64, secs: u64) -> f64 {
    let experiment = Experiment {
        bottlenecks: bottlenecks.to_vec(),
        flows: vec![flow],
        warm_up: Duration::from_secs(20),
        measured: Duration::from_secs(secs),
    };
    mean((0..seeds).map(|seed| run(&experiment, seed).goodput[0]))
}

/// Goodput by what a NewReno has on the better path, in the order of `congestion`.
fn gains(paths: &[Bottleneck; 2], congestion: &[&'static str], seeds: u64, secs: u64) -> Vec<f64> {
    let alone = [0, 1].map(|path| goodput(paths, flow("reno", &[path]), seeds, secs));
    let best = alone[0].max(alone[1]);
    congestion.iter().map(|name| goodput(paths, flow(name, &[0, 1]), seeds, secs) / best).collect()
}

fn assert_no_less_than_the_best_path(make: impl Fn([(u64, u64); 2]) -> [Bottleneck; 2]) {
    for pair in PAIRS {
        for (name, gain) in LOSS_BASED.iter().zip(gains(&make(pair), &LOSS_BASED, 1, 40)) {
            println!("{pair:?} {name}: {gain:.3}");
            // Of 36 pairs, queues and controls two of the last pair are 0.3 and 0.5 % below that of
            // the payloads, and one elsewhere 0.1 %.
            let below = if pair == PAIRS[3] { 0.006 } else { 0.002 };
            assert!(gain >= PAYLOAD - below, "{name} over {pair:?}: {gain}");
        }
    }
}

#[test]
fn coupled_paths_reach_the_best_one_on_drop_tail() {
    assert_no_less_than_the_best_path(|pair| pair.map(drop_tail));
}

#[test]
fn coupled_paths_reach_the_best_one_on_red() {
    assert_no_less_than_the_best_path(|pair| pair.map(red));
}

/// The second path loses, the first does not.
#[test]
fn lossy_second_path_does_not_hold_the_first_one_back() {
    assert_no_less_than_the_best_path(|[clean, lossy]| {
        [drop_tail(clean), Bottleneck { loss: 0.01, ..drop_tail(lossy) }]
    });
}

/// Regression: windows that had drained stayed small, and two paths had less than one. The gain is
/// 1.11 where acknowledgements wait for the reader of the connection, as in Linux 6.18, 0.95 in the
/// kernel that has wVegas (`linux-4.1`), and was above 1.3 where each subflow of 6.18 acknowledged
/// two segments; why is not known.
#[test]
fn wvegas_over_two_equal_paths_has_more_than_over_one() {
    let paths = [drop_tail((10, 40)), drop_tail((10, 40))];
    let gain = gains(&paths, &["wvegas"], 1, 40)[0];
    assert!(gain > 1.1, "{gain}");
}

#[test]
#[ignore = "a study: make fairness"]
fn study_of_gains() {
    let all: Vec<&str> = studied().collect();
    println!("goodput over two paths by that of NewReno on the better one, 5 seeds, 100 s");
    let kinds: [(&str, Make); 3] = [("drop-tail", drop_tail), ("RED", red), ("0.5 % lost", lossy)];
    for (kind, make) in kinds {
        for pair in PAIRS {
            print!("{kind:<10} {pair:?}");
            let paths = pair.map(make);
            for (name, gain) in all.iter().zip(gains(&paths, &all, 5, 100)) {
                print!(" | {name} {gain:.2}");
            }
            println!();
        }
    }
}

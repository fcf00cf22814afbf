//! Two subflows and one TCP connection on a bottleneck: the share of the multi-path connection is
//! its goodput divided by that of the TCP connection, which is NewReno.
//!
//! Starts are spread over 5 s, the first 20 s do not count.

use crate::net::{Bottleneck, Experiment, Flow, cmt, flow, run};
use crate::{LOSS_BASED, mean, studied};
use base::Duration;

const SEEDS: u64 = 20;
/// Of associations, whose mean varies by 0.04 with these, and by 0.07 with 20 (95 %).
const SEEDS_OF_CMT: u64 = 60;

/// The shares of `seeds` runs.
fn shares(congestion: &'static str, bottleneck: &Bottleneck, seeds: u64, secs: u64) -> Vec<f64> {
    shares_of(&flow(congestion, &[0, 0]), bottleneck, seeds, secs)
}

fn shares_of(multipath: &Flow, bottleneck: &Bottleneck, seeds: u64, secs: u64) -> Vec<f64> {
    let congestion = multipath.congestion;
    let experiment = Experiment {
        bottlenecks: vec![bottleneck.clone()],
        flows: vec![multipath.clone(), flow("reno", &[0])],
        warm_up: Duration::from_secs(20),
        measured: Duration::from_secs(secs),
    };
    let share = |seed| {
        let result = run(&experiment, seed);
        // A sixteenth of the link is little; a window that never grew gets less.
        let least = bottleneck.mbit as f64 * 1e6 / 16.0;
        assert!(result.goodput[1] > least, "{congestion}, seed {seed}: {result:?}");
        let sent = &result.sent[0];
        let idle = sent.iter().any(|bytes| *bytes < secs * 4_000);
        assert!(!idle, "a subflow made no progress: {congestion}, seed {seed}: {result:?}");
        result.goodput[0] / result.goodput[1]
    };
    (0..seeds).map(share).collect()
}

fn mean_share(congestion: &'static str, bottleneck: &Bottleneck) -> f64 {
    let share = mean(shares(congestion, bottleneck, SEEDS, 60));
    println!("{congestion} at {:?}: {share:.3}", bottleneck.queue);
    share
}

#[test]
fn coupled_subflows_take_what_one_tcp_takes_on_red() {
    let red = Bottleneck::red(10, 80);
    for congestion in LOSS_BASED {
        let share = mean_share(congestion, &red);
        assert!((0.8..=1.15).contains(&share), "{congestion}: {share}");
    }
}

#[test]
fn uncoupled_subflows_take_what_two_tcps_take_on_red() {
    let share = mean_share("reno", &Bottleneck::red(10, 80));
    assert!((1.8..=2.2).contains(&share), "{share}");
}

/// The share of an association with data on two paths.
fn mean_share_of_cmt(congestion: &'static str) -> f64 {
    let share =
        mean(shares_of(&cmt(congestion, &[0, 0]), &Bottleneck::red(10, 80), SEEDS_OF_CMT, 60));
    println!("cmt-sctp with {congestion}: {share:.3}");
    share
}

#[test]
fn coupled_paths_of_cmt_take_about_what_one_tcp_takes_on_red() {
    let controls = ["lia", "olia", "cmtrpv1", "cmtrpv2", "rpv2-bsd", "olia-draft"];
    let shares = controls.map(|control| (control, mean_share_of_cmt(control)));
    for (congestion, share) in shares {
        assert!((0.75..=1.25).contains(&share), "{congestion}: {share}");
    }
}

#[test]
fn uncoupled_paths_of_cmt_take_about_what_two_tcps_take_on_red() {
    let share = mean_share_of_cmt("reno");
    assert!((1.75..=2.25).contains(&share), "{share}");
}

#[test]
fn coupled_subflows_stay_below_two_tcps_on_drop_tail() {
    let drop_tail = Bottleneck::drop_tail(10, 80);
    for congestion in LOSS_BASED {
        let share = mean_share(congestion, &drop_tail);
        assert!(share < 1.6, "{congestion}: {share}");
    }
}

/// Vegas leaves the queue to those who fill it: less than a TCP, but never nothing.
#[test]
fn wvegas_yields_to_one_tcp() {
    for bottleneck in [Bottleneck::red(10, 80), Bottleneck::drop_tail(10, 80)] {
        let share = mean(shares("wvegas", &bottleneck, 5, 60));
        assert!((0.1..1.0).contains(&share), "{:?}: {share}", bottleneck.queue);
    }
}

#[test]
#[ignore = "a study: make fairness"]
fn study_of_shares() {
    println!("share of two subflows beside one NewReno, 20 seeds, 100 s: mean (least to most)");
    for (mbit, rtt_ms) in [(5, 100), (10, 40), (10, 80), (20, 100)] {
        let places = [
            ("RED", Bottleneck::red(mbit, rtt_ms)),
            ("drop-tail", Bottleneck::drop_tail(mbit, rtt_ms)),
        ];
        for (queue, bottleneck) in places {
            print!("{mbit:>3} Mbit/s, {rtt_ms:>3} ms, {queue:<9}");
            for congestion in studied() {
                let shares = shares(congestion, &bottleneck, SEEDS, 100);
                let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
                let most = shares.iter().copied().fold(0.0, f64::max);
                print!(" | {congestion} {:.2} ({least:.2} to {most:.2})", mean(shares));
            }
            println!();
        }
    }
}

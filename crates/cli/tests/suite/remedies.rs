//! Every remedy of CMT-SCTP changes what it is for, with buffers of 256 KiB and paths of very
//! different delay (the network of docs/cmt.md, which has intervals): the directions.

use crate::{Scratch, succeeds};
use serde_json::Value;

/// A variant: means over the runs.
#[derive(Debug)]
struct Of {
    /// Mbit/s.
    goodput: f64,
    sacks_per_packet: f64,
    /// Spurious retransmissions on both paths.
    spurious: f64,
}

/// The variants of this list, in its order.
fn compared(switch: &[&str]) -> Vec<Of> {
    let paths =
        ["a=rate 25mbit delay 18ms..22ms limit 100p", "b=rate 4mbit delay 63ms..77ms limit 100p"];
    let network = ["--path", paths[0], "--path", paths[1]];
    let buffers =
        if switch.contains(&"--buffers") { [].as_slice() } else { &["--buffers", "256KiB/256KiB"] };
    let run = ["--traffic", "bulk:10s", "--protocols", "cmt-sctp", "--cc", "reno", "--runs", "5"];
    let text = succeeds(&[&["compare"], &network[..], buffers, &run, switch, &["--json"]].concat());
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let number = |of: &Value| of.as_f64().expect("a number");
    let of = |of: &Value| Of {
        goodput: number(&of["mean"]) / 1e6,
        sacks_per_packet: number(&of["sacks_per_data_packet"]),
        spurious: ["a", "b"]
            .map(|path| number(&of["repeated"][path]["spurious_segments"]))
            .iter()
            .sum(),
    };
    let all: Vec<Of> = document["variants"].as_array().expect("variants").iter().map(of).collect();
    println!("{switch:?}: {all:.2?}");
    all
}

#[test]
fn split_fast_retransmit_avoids_spurious_retransmissions() {
    let of = compared(&["--sfr", "on,off", "--resched", "none"]);
    assert!(of[0].spurious < 5.0 && of[1].spurious > 100.0, "{of:?}");
}

#[test]
fn windows_grow_with_the_pseudo_cumulative_acknowledgement() {
    let of = compared(&["--cuc", "v2,normal"]);
    assert!(of[0].goodput > 1.1 * of[1].goodput, "{of:?}");
}

#[test]
fn delayed_acknowledgements_halve_the_number_of_sacks() {
    let of = compared(&["--dac", "on,off"]);
    assert!((0.5..0.55).contains(&of[0].sacks_per_packet), "{of:?}");
    assert!(of[1].sacks_per_packet > 0.65, "{of:?}");
}

/// With rescheduling the share of the fast path is a limit: it is slower with splitting.
#[test]
fn split_buffers_are_not_full_of_what_a_slow_path_delays() {
    let of = compared(&["--buffer-split", "both,none", "--resched", "none"]);
    assert!(of[0].goodput > 1.2 * of[1].goodput, "{of:?}");
    let of = compared(&["--buffer-split", "both,none"]);
    assert!(of[0].goodput < of[1].goodput, "{of:?}");
}

/// What the receiver keeps for good leaves the send buffer and stays in the receive buffer:
/// rescheduling never began with NR-SACK.
#[test]
fn rescheduling_frees_the_receive_buffer_with_and_without_nr_sack() {
    for nr_sack in ["on", "off"] {
        let of = compared(&["--nr-sack", nr_sack, "--resched", "both,none"]);
        assert!(of[0].goodput > 1.1 * of[1].goodput, "{nr_sack}: {of:?}");
    }
}

/// Buffers of equal size: the receive buffer is full as soon as the send buffer.
#[test]
fn nr_sack_helps_where_the_send_buffer_is_the_smaller_one() {
    let goodput = |nr_sack, buffers| {
        let nr_sack = ["--nr-sack", nr_sack, "--resched", "none"];
        compared(&[&nr_sack[..], &["--buffers", buffers]].concat())[0].goodput
    };
    let [with, without] = ["on", "off"].map(|nr_sack| goodput(nr_sack, "256KiB/1MiB"));
    assert!(with > 1.1 * without, "{with} and {without}");
}

/// The accounts of a run have its SACKs: the document, the table of runs and the page.
#[test]
fn sacks_per_data_packet_are_in_the_accounts_of_sctp() {
    let scratch = Scratch::new("sacks");
    let out = scratch.path("results");
    let study = ["--path", "a=rate 9mbit delay 9ms", "--traffic", "bulk:256KiB", "--runs", "1"];
    let output = ["--protocols", "tcp,sctp", "--out", &out, "--csv", "--json", "-q"];
    let text = succeeds(&[&["compare"], &study[..], &output].concat());
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let profiles = [0, 1].map(|at| document["variants"][at]["profile"].clone());
    assert_eq!(profiles, ["linux", "rfc9260"], "SCTP has its own");
    let [tcp, sctp] = [0, 1].map(|at| document["variants"][at]["sacks_per_data_packet"].as_f64());
    assert!(tcp.is_none() && sctp.is_some_and(|rate| (0.4..1.0).contains(&rate)), "{sctp:?}");
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("the page");
    assert!(page.contains("<th class=\"n\">SACKs</th>"), "the table of accounts");
    let table = std::fs::read_to_string(format!("{out}/runs.csv")).expect("the table of runs");
    assert!(table.lines().next().is_some_and(|names| names.split(',').any(|name| name == "sacks")));
}

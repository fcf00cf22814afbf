//! Claims of the papers, as a user checks them: the command line, 128 runs, JSON.

use crate::succeeds;
use serde_json::Value;

/// A video call over two paths of 000 with its buffers, without other traffic (000 s5.1.1): means
/// in seconds, and the difference of CMT-SCTP from SCTP over the better path.
struct Video {
    /// SCTP over each path.
    alone: [f64; 2],
    /// The 95 % interval of CMT-SCTP's mean.
    cmt: [f64; 2],
    /// The 95 % interval of the difference.
    difference: [f64; 2],
}

fn video(paths: [&str; 2], buffers: &str) -> Video {
    let [a, b] = [("a", paths[0]), ("b", paths[1])];
    let [a, b] = [a, b].map(|(name, profile)| format!("{name}=profile {profile}"));
    let text = succeeds(&[
        "compare",
        "--path",
        &a,
        "--path",
        &b,
        "--traffic",
        "video",
        "--protocols",
        "sctp,cmt-sctp",
        "--sctp-profile",
        "inet000",
        "--cc",
        "reno",
        "--buffers",
        buffers,
        "--runs",
        "128",
        "--json",
    ]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let of = |name: &str| {
        let mut all = document["variants"].as_array().expect("variants").iter();
        all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}: {document}")).clone()
    };
    let ends = |of: &Value| [0, 1].map(|end| of[end].as_f64().expect("an interval"));
    let alone = ["sctp/a/reno", "sctp/b/reno"].map(|name| of(name)["mean"].as_f64().expect(name));
    let cmt = of("cmt-sctp/send-all/reno");
    println!("{paths:?}: {alone:?} s alone, CMT {} {}", cmt["ci95"], cmt["share"]);
    Video { alone, cmt: ends(&cmt["ci95"]), difference: ends(&cmt["diff"]["ci95"]) }
}

#[test]
fn video_of_000_over_two_equal_3g_paths_is_as_late_as_over_one() {
    let Video { alone, cmt, .. } = video(["3g", "3g"], "256KiB/256KiB");
    let mean = (alone[0] + alone[1]) / 2.0;
    let near = |end: f64| (end / mean - 1.0).abs() < 0.05;
    assert!(cmt.into_iter().all(near), "{cmt:?} around {mean}");
}

#[test]
fn video_of_000_over_wlan_and_3g_is_later_than_over_wlan() {
    let Video { difference, .. } = video(["wlan", "3g"], "1024KiB/2048KiB");
    assert!(difference[0] > 0.0, "{difference:?}");
}

/// 003's laboratory (sIII): two disjoint paths with RED, A of 0.8 Mbit/s, 20 s of warm-up. Goodput
/// of a variant in Mbit/s.
fn lab(mbit: &str, delay: &str, more: &[&str], names: &[&str]) -> Vec<f64> {
    let path = |name: &str, rate: &str| {
        format!("{name}=rate {rate}mbit delay {delay} queue red 30p 90p 10% limit 1000p")
    };
    let (a, b) = (path("a", "0.8"), path("b", mbit));
    let call = ["compare", "--path", &a, "--path", &b, "--traffic", "bulk:320s"];
    let lab = ["--warm-up", "20s", "--sctp-profile", "lab003"];
    let has_buffers = more.contains(&"--buffers");
    let buffers = if has_buffers { [].as_slice() } else { &["--buffers", "16MiB/16MiB"] };
    let cc = if more.contains(&"--cc") { [].as_slice() } else { &["--cc", "lia"] };
    let text = succeeds(&[&call[..], &lab, buffers, cc, &["--runs", "2", "--json"], more].concat());
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let of = |name: &&str| {
        let mut all = document["variants"].as_array().expect("variants").iter();
        let found = all.find(|of| of["name"] == *name);
        let found = found.unwrap_or_else(|| panic!("{name}: {document}"));
        found["mean"].as_f64().expect("a goodput") / 1e6
    };
    let goodput: Vec<f64> = names.iter().map(of).collect();
    println!("B = {mbit} Mbit/s, {delay}, {more:?}: {names:?} {goodput:.2?}");
    goodput
}

const CMT: &str = "cmt-sctp/send-all/lia";
const CAPACITIES: [&str; 7] = ["0.2", "0.4", "0.8", "1.6", "2.5", "5", "10"];

/// 003 Fig. 3: without delay both protocols have the sum of both links.
#[test]
fn disjoint_paths_of_003_add_up() {
    for mbit in CAPACITIES {
        let more = ["--protocols", "mptcp,cmt-sctp", "--schedulers", "lrf,send-all"];
        let found = lab(mbit, "0ms", &more, &["mptcp/lrf/lia", CMT]);
        let ideal = 0.968 * (0.8 + mbit.parse::<f64>().expect("a number"));
        assert!(found.iter().all(|goodput| *goodput >= 0.9 * ideal), "{found:?} of {ideal}");
    }
}

/// 003 Fig. 4, RTT 200 ms. Up to 2.5 Mbit/s both protocols have 90 % of the sum. At 10 Mbit/s a
/// window that RED halves is below the 166 packets of the path for half of the time, so that a
/// single path has 87 % alone; both have what their paths have alone.
#[test]
fn disjoint_long_paths_of_003_add_up_to_what_each_has_alone() {
    let names = ["sctp/a/reno", "sctp/b/reno", CMT, "tcp/a/reno", "tcp/b/reno", "mptcp/lrf/lia"];
    let more = ["--protocols", "tcp,sctp,mptcp,cmt-sctp", "--schedulers", "lrf,send-all"];
    let more = [&more[..], &["--cc", "lia,reno"]].concat();
    for mbit in ["2.5", "10"] {
        let of = lab(mbit, "100ms", &more, &names);
        let ideal = 0.968 * (0.8 + mbit.parse::<f64>().expect("a number"));
        let (cmt, mptcp) = (of[2] / (of[0] + of[1]), of[5] / (of[3] + of[4]));
        assert!(cmt >= 0.95 && mptcp >= 0.9, "{mbit}: {cmt} and {mptcp} of the single paths");
        let least = if mbit == "10" { 0.8 } else { 0.9 };
        assert!(of[2] >= least * ideal && of[5] >= least * ideal, "{of:.2?} of {ideal}");
    }
}

/// 003 Fig. 4 without a cost of lists: while a chunk on A waits in a queue of up to 1.5 s, what B
/// delivers fills a receive buffer of 256 KiB.
#[test]
fn small_buffers_make_cmt_slower_than_a_single_path_of_003() {
    let more = ["--protocols", "sctp,cmt-sctp", "--buffers", "256KiB/256KiB"];
    let names = ["sctp/b/reno", CMT];
    let [near, above, far] = ["2.5", "5", "10"].map(|mbit| lab(mbit, "100ms", &more, &names));
    assert!(near[1] > 0.9 * 0.968 * 3.3, "{near:?}");
    assert!(above[1] < above[0] && far[1] < far[0] / 2.0, "{above:?} {far:?}");
    assert!((far[1] / near[1] - 1.0).abs() < 0.1, "it does not grow any more: {far:?} {near:?}");
}

/// 003 Fig. 4 and sIII-D: a host that walks lists saturates near 2.5 Mbit/s, and is below a single
/// path at 10; one with trees is not.
#[test]
fn lists_of_gaps_make_cmt_slower_than_a_single_path_of_003() {
    let lists = ["--protocols", "sctp,cmt-sctp", "--gap-structure", "list"];
    let lists = [&lists[..], &["--host-cost", "gap=40us"]].concat();
    let names = ["sctp/b/reno", CMT];
    let [near, above, far] = ["2.5", "5", "10"].map(|mbit| lab(mbit, "100ms", &lists, &names));
    assert!(near[1] > near[0], "it just holds: {near:?}");
    assert!(above[1] < above[0] && far[1] < far[0] / 2.0, "{above:?} {far:?}");
    let cmt = |mbit| lab(mbit, "100ms", &["--protocols", "cmt-sctp"], &[CMT])[0];
    let trees = CAPACITIES.map(cmt);
    assert!(trees.is_sorted(), "{trees:?}");
    assert!(trees[6] > far[0], "{trees:?} {far:?}");
}

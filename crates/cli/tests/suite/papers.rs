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

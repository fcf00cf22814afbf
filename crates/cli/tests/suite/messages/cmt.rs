//! CMT-SCTP: what it refuses, as a transcript, and what a study with it shows.

use super::Session;
use crate::succeeds;
use serde_json::Value;

/// A fast path and a slow one.
const PATHS: [&str; 4] = [
    "--path",
    "a=rate 25mbit delay 20ms limit 100p",
    "--path",
    "b=rate 4mbit delay 70ms limit 100p",
];

#[test]
fn options_of_cmt_sctp() {
    let mut session = Session::new("cmt");
    let cmt: &[&str] = &["--protocols", "cmt-sctp"];
    let refused: &[&[&str]] = &[
        &["--sfr", "off"],
        &["--protocols", "sctp", "--resched", "none"],
        &["--schedulers", "send-all"],
        &["--flow", "x=cmt-sctp on a"],
        &["--flow", "x=cmt-sctp on a,b cc cubic"],
        &["--flow", "x=cmt-sctp on a,b scheduler redundant"],
        &["--flow", "x=mptcp on a,b scheduler send-all"],
    ];
    let refused_there: &[&[&str]] = &[
        &["--schedulers", "redundant"],
        &["--schedulers", "send-all:key=fastest"],
        &["--schedulers", "send-all:last-tx"],
        &["--path-managers", "fullmesh"],
        &["--sfr", "maybe"],
        &["--cuc", "v3"],
        &["--path-mode", "ring"],
        &["--buffer-split", "left"],
        &["--buffer-split-basis", "sent"],
        &["--resched", "left"],
        &["--resched-threshold", "2"],
        &["--sack-path", "fastest"],
        &["--rtt-rule", "none"],
        &["--path-blocking", "maybe"],
        &["--primary-first", "never"],
        &["--cc-groups", "one"],
        &["--cc-groups", "0:1:2:3"],
        &["--max-burst", "many"],
        &["--max-burst-variant", "tiny"],
        &["--abc-limit", "0"],
        &["--baseline", "average"],
    ];
    for more in refused {
        session.call(&[&["compare"][..], &PATHS, &["--traffic", "video"], more].concat());
    }
    for more in refused_there {
        session.call(&[&["compare"][..], &PATHS, &["--traffic", "video"], cmt, more].concat());
    }
    session.call(&[&["compare", "--path", "a=rate 5mbit", "--traffic", "video"], cmt].concat());
    let fork = ["a=rate 5mbit client s1 server r1", "b=rate 5mbit client s1 server r2"];
    let fork = ["compare", "--path", fork[0], "--path", fork[1], "--traffic", "video"];
    session.call(&[&fork[..], cmt, &["--pair-rule", "zip"]].concat());
    let small: &[&str] = &["--traffic", "bulk:256KiB", "--protocols", "mptcp,cmt-sctp"];
    let lists = ["--schedulers", "lrf,send-all", "--cc", "reno,cubic", "--sfr", "on,off"];
    session.call(&[&["compare"][..], &PATHS, small, &lists].concat());
    session.call(&[
        "live",
        "get",
        "--protocol",
        "cmt-sctp",
        "--path",
        "udp=127.0.0.1",
        "127.0.0.1:8080/FILE",
    ]);
    session.call(&[
        "live",
        "get",
        "--protocol",
        "tpc",
        "--path",
        "dev=tun0",
        "127.0.0.1:8080/FILE",
    ]);
    session.end();
}

/// The output of a comparison over these paths.
fn compare(more: &[&str]) -> String {
    succeeds(&[&["compare"][..], &PATHS, more].concat())
}

#[test]
fn cmt_is_compared_with_sctp_over_each_path() {
    let call = ["--traffic", "bulk:20s", "--protocols", "sctp,cmt-sctp", "--json"];
    let document: Value = serde_json::from_str(&compare(&call)).expect("JSON");
    let of = |name: &str, key: &str| {
        let all = document["variants"].as_array().expect("variants");
        all.iter().find(|of| of["name"] == name).expect("a variant")[key].clone()
    };
    let cmt = "cmt-sctp/send-all/reno";
    assert_eq!((of(cmt, "protocol"), of(cmt, "scheduler")), ("cmt-sctp".into(), "send-all".into()));
    assert_eq!(of(cmt, "baseline"), "sctp/a/reno");
    let mean = |name| of(name, "mean").as_f64().expect("a goodput");
    assert!(mean(cmt) > mean("sctp/a/reno"), "{document}");
    assert_eq!(document["answer"]["variant"], cmt, "{}", document["answer"]);
    let share = of(cmt, "share");
    assert!(share["a"].as_f64() > share["b"].as_f64(), "{share}");
}

#[test]
fn explain_says_why_a_path_has_its_turn() {
    let call = ["--traffic", "bulk:2s", "--protocols", "cmt-sctp", "--until", "1s"];
    let text = succeeds(&[&["explain"][..], &PATHS, &call].concat());
    for part in ["CMT-SCTP over all paths, a first", "send-all: the path that was idle longest"] {
        assert!(text.contains(part), "{text}");
    }
}

/// One decision a line, with the scheduler's number of each path, as with MPTCP.
#[test]
fn explain_shows_decisions_of_a_scheduler_of_mptcp() {
    let call = ["--traffic", "bulk:2s", "--protocols", "cmt-sctp", "--until", "1s"];
    // Regression: `--scheduler` explained MPTCP, whatever `--protocols` said.
    for (option, scheduler, part) in [
        ("--schedulers", "otias", "earliest arrival"),
        ("--schedulers", "lrf", "lowest srtt"),
        ("--scheduler", "lrf", "lowest srtt"),
    ] {
        let call = [&["explain"][..], &PATHS, &call, &[option, scheduler]].concat();
        let text = succeeds(&call);
        for part in ["CMT-SCTP over all paths, a first", part] {
            assert!(text.contains(part), "{text}");
        }
        let json = succeeds(&[&call[..], &["--json"]].concat());
        let first: Value =
            serde_json::from_str(json.lines().next().expect("a decision")).expect("JSON");
        assert_eq!(first["candidates"][0]["path"], "a", "{first}");
        assert_eq!(first["answer"], "send", "{first}");
    }
}

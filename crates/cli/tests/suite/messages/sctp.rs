//! SCTP: what it refuses, as a transcript, and the sentences of its results.

use super::Session;
use crate::succeeds;

/// A primary path that fails, and another one.
const PATHS: [&str; 4] =
    ["--path", "a=rate 10mbit delay 20ms silent @5s..60s", "--path", "b=rate 5mbit delay 40ms"];

#[test]
fn options_of_sctp() {
    let mut session = Session::new("sctp");
    let options: &[&[&str]] = &[
        &["--sctp-profile", "bsd"],
        &["--failover", "pf"],
        &["--failover", "pf", "--protocols", "tcp,mptcp"],
        &["--failover", "probe", "--protocols", "sctp"],
        &["--failover", "pff", "--protocols", "sctp"],
        &["--sctp-profile", "ns3", "--protocols", "sctp"],
        &["--rtx-policy", "fastest", "--protocols", "sctp"],
        &["--message-size", "1MiB", "--protocols", "sctp"],
        &[
            "--message-size",
            "40000",
            "--buffers",
            "1MiB/32KiB",
            "--protocols",
            "sctp",
            "--runs",
            "1",
            "--traffic",
            "bulk:100kB",
        ],
        &["--streams", "0", "--protocols", "sctp"],
        &["--stream-scheduler", "wfq", "--protocols", "sctp"],
        &["--nr-sack", "maybe", "--protocols", "sctp"],
        &["--gap-structure", "heap", "--protocols", "sctp"],
        &["--gap-structure", "list", "--protocols", "sctp", "--runs", "1"],
        &["--host-cost", "gap=1us"],
        &[
            "--host-cost",
            "gap=1us",
            "--gap-structure",
            "list",
            "--protocols",
            "sctp",
            "--runs",
            "1",
        ],
        &["--host-cost", "100us", "--protocols", "sctp"],
        &["--host-cost", "segment=5us,gaps=1us", "--protocols", "sctp"],
        &["--host-cost", "gap=1us,gap=2us", "--protocols", "sctp"],
        &["--host-cost", "gap=2s", "--protocols", "sctp"],
        &["--path", "c=rate 1mbit reset @3s", "--protocols", "sctp"],
        &["--path", "multihomed=rate 1mbit", "--protocols", "sctp"],
        &["--flow", "x=sctp on a cc lia"],
        &["--flow", "x=sctp on a cc cubic"],
        &["--flow", "x=sctp on a scheduler lrf"],
        &["--traffic", "web:wikipedia", "--http", "streams"],
    ];
    for more in options {
        let traffic = if more.contains(&"--traffic") { &[][..] } else { &["--traffic", "video"] };
        session.call(&[&["compare"][..], &PATHS, traffic, more].concat());
    }
    session.call(&[
        "explain",
        "--path",
        "a=rate 1mbit",
        "--traffic",
        "video",
        "--protocols",
        "sctp",
    ]);
    session.end();
}

#[test]
fn names_of_freebsd_and_of_inet() {
    let mut session = Session::new("elsewhere");
    let association = [&["compare"][..], &PATHS, &["--traffic", "video", "--protocols", "sctp"]];
    let call = |more: &[&'static str]| [&association.concat(), more].concat();
    session.call(&call(&["--path_pf_threshold", "7"]));
    session.call(&call(&["--nrsack_enable", "1", "--nr-sack", "off"]));
    session.call(&call(&["--cmtRetransmissionVariants", "normal"]));
    for (name, line) in [
        ("value.toml", "path_pf_threshold = 7\n"),
        ("both.toml", "nrsack_enable = 1\nnr-sack = \"off\"\n"),
        ("near.toml", "nrsack_enabled = 1\n"),
    ] {
        session.file(name, format!("{line}traffic = \"video\"\npath.a = \"rate 5mbit\"\n"));
        session.call(&["compare", name]);
    }
    session.end();
}

/// The output of a call about these paths.
fn output(verb: &str, more: &[&str]) -> String {
    succeeds(&[&[verb][..], &PATHS, more].concat())
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn dead_primary_fails_over_beside_tcp_and_mptcp() {
    let text = output("compare", &["--traffic", "bulk:20s", "--protocols", "tcp,sctp,mptcp"]);
    let heading = "TCP over each path alone; SCTP over each path alone and over all in turn, a \
                   first; MPTCP over all paths, a first, hosts like Linux 6.18, SCTP profile \
                   rfc9260";
    let alone = "more than SCTP over b alone";
    let baselines = "note: differences are from tcp/b/cubic (tcp, mptcp), sctp/b/reno (sctp)";
    has(&text, &[baselines]);
    has(&text, &[heading, "sctp has no `cubic`: it takes `reno`", "sctp/multihomed/reno", alone]);
    let call = ["--traffic", "bulk:20s", "--protocols", "tcp,sctp,mptcp", "--json"];
    let document: serde_json::Value =
        serde_json::from_str(&output("compare", &call)).expect("JSON");
    let of = |name: &str, key: &str| {
        let all = document["variants"].as_array().expect("variants");
        all.iter().find(|of| of["name"] == name).expect("a variant")[key].clone()
    };
    let mean = |name| of(name, "mean").as_f64().expect("a goodput");
    assert!(mean("sctp/multihomed/reno") >= 4.5e6, "{document}");
    assert!(mean("sctp/b/reno") > mean("sctp/a/reno"), "{document}");
    assert_eq!(of("sctp/multihomed/reno", "baseline"), "sctp/b/reno");
    assert_eq!(of("sctp/multihomed/reno", "failover"), "pf");
    assert_eq!(of("mptcp/linux/cubic", "baseline"), "tcp/b/cubic");
}

#[test]
fn heading_and_notes_say_what_sctp_is() {
    let only = ["--path", "a=rate 5mbit", "--traffic", "bulk:64KiB", "--protocols", "sctp"];
    let text = succeeds(&[&["compare"][..], &only, &["--cc", "reno,cubic"]].concat());
    has(&text, &["SCTP over the path, hosts with the SCTP profile rfc9260"]);
    has(&text, &["only one path is given: there is no `sctp/multihomed`"]);
    has(&text, &["skipped `cubic` with sctp, which lacks it"]);
    let page = ["--traffic", "web:wikipedia", "--http", "streams", "--protocols", "tcp,sctp"];
    let text = output("compare", &page);
    has(
        &text,
        &["10 streams of one association", "tcp has no streams: fetched as with `--http 1.1`"],
    );
    let one = output("compare", &[&page[..], &["--streams", "1"]].concat());
    has(&one, &["over one stream of one association"]);
}

#[test]
fn explain_says_why_an_association_uses_a_path() {
    let call = ["--traffic", "bulk:70s", "--protocols", "sctp"];
    let of = |more: &[&str]| output("explain", &[&call[..], more].concat());
    let text = of(&[]);
    has(&text, &["Chunks sent one after another", "the primary path"]);
    has(&text, &["T3-rtx expired", "retransmission of what a lost, by the policy next"]);
    has(&text, &["fail-over: a had a time-out (RFC 7829)"]);
    let json = of(&["--json", "--until", "6s"]);
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["path"], &first["what"]), (&"a".into(), &"new".into()));
    assert!(first["cwnd_bytes"].as_u64() > Some(4000), "{first}");
}

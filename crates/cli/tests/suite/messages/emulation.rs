//! Messages of `emulate` and `validate --record` before a privilege is needed.

use super::Session;

const PATHS: [&str; 5] = ["emulate", "--path", "a=rate 9mbit", "--path", "b=rate 5mbit"];
const SET_OF_NOTES: &str = "\
series = 'notes.txt'
runs = 2

[[scenario]]
name = 'clean'
traffic = 'bulk:64KiB'
path = { a = 'rate 9mbit' }
";
const STUDY: [&str; 5] = ["emulate", "--path", "a=rate 9mbit", "--traffic", "bulk:64KiB"];

#[test]
fn help_of_emulate() {
    let mut session = Session::new("help-emulate");
    session.call(&["emulate", "-h"]);
    session.call(&["emulate", "--help"]);
    session.end();
}

#[test]
fn arguments_of_emulate() {
    let mut session = Session::new("emulate");
    session.file("file", "in the way");
    session.call(&["emulate"]);
    session.call(&["emulate", "--shell", "client"]);
    let shells: &[&[&str]] = &[
        &["--shell", "router"],
        &["--shell", "client", "--stack", "kernel-tcp"],
        &["--shell", "client", "--first", "c"],
        &["--tcp"],
        &["--ipv6"],
        &["--", "ping"],
        &["--path", "c=rate 5mbit backup"],
        &["--shell", "client", "--start", "2s"],
        &["--shell", "client", "--path", "c=rate 5mbit backup @3s"],
    ];
    for more in shells {
        session.call(&[&PATHS[..], more].concat());
    }
    let studies: &[&[&str]] = &[
        &["--flow", "x=tcp on a"],
        &["--path", "b=rate 5mbit", "--path-managers", "binder"],
        &["--path", "b=rate 5mbit", "--path-managers", "kernel", "--endpoints", "client b subflow"],
        &["--path", "c=rate 5mbit reset @3s"],
        &["--path", "c=rate 5mbit strip mptcp"],
        &["--path", "c=via core", "--link", "core=rate 5mbit"],
        &["--stack", "kernel"],
        &["--stack", "kernel-tpc,anabranch"],
        &["--stack", "anabranch, anabranch"],
        &["--stack", ""],
        &["--cc", "lia"],
        &["--stack", "kernel-tcp,anabranch", "--nagle"],
        &["--path", "b=rate 5mbit", "--schedulers", "rr", "--policy", "drepas", "--out", "file"],
        &["--protocols", "tcp,sctp"],
        &["--protocols", "tcp,udp"],
        &["--stack", "kernel-tcp,usrsctp", "--protocols", "tcp"],
        &["--stack", "usrsctp,anabranch-sctp", "--interleaving", "on"],
        &["--out", "file"],
        &["--pcap", "file"],
        &[
            "--stack",
            "kernel-mptcp",
            "--cc",
            "lia",
            "--protocols",
            "mptcp",
            "--path",
            "b=rate 5mbit",
        ],
        &["--stack", "kernel-tcp", "--cc", "lia", "--protocols", "mptcp", "--path", "b=rate 5mbit"],
    ];
    session.call(&[&PATHS[..], &["--stack", "usrsctp", "--traffic", "video"]].concat());
    for more in studies {
        session.call(&[&STUDY[..], more].concat());
    }
    let simulated = ["compare", "--path", "a=rate 9mbit", "--traffic", "bulk:16KiB", "--runs", "1"];
    session.call(&[&simulated[..], &["--quiet", "--out", "simulated"]].concat());
    session.call(&[&STUDY[..], &["--out", "simulated"]].concat());
    session.call(&["validate", "--record", "no-such.toml"]);
    session.call(&["validate", "--record", "--json", "no-such.toml"]);
    // Regression: a file that is no recording was replaced.
    session.file("notes.txt", "mine");
    session.file("set.toml", SET_OF_NOTES);
    session.call(&["validate", "--record", "set.toml"]);
    let notes = std::fs::read_to_string(session.scratch.0.join("notes.txt")).expect("a file");
    assert_eq!(notes, "mine");
    session.end();
}

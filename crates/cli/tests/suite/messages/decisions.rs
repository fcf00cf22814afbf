//! Output of `explain`, and errors in its options.

use super::Session;

const FAST: &str = "fast=rate 50mbit delay 5ms";
const SLOW: &str = "slow=rate 50mbit delay 50ms";

fn explain(session: &mut Session, more: &[&str]) {
    let study = ["explain", "--path", FAST, "--path", SLOW, "--traffic", "burst:15"];
    session.call(&[&study[..], more].concat());
}

#[test]
fn decisions_of_schedulers() {
    let mut session = Session::new("explain");
    for scheduler in ["lrf", "blest-kernel", "ecf-kernel"] {
        let profile = ["--profile", "linux-4.1", "--from", "2s"];
        explain(&mut session, &[&profile[..], &["--scheduler", scheduler]].concat());
    }
    for scheduler in ["wrr:3,1", "redundant", "daps", "otias", "linux", "blest", "ecf"] {
        explain(&mut session, &["--scheduler", scheduler, "--from", "2s"]);
    }
    session.end();
}

#[test]
fn accounts_of_why_nothing_was_sent() {
    let mut session = Session::new("why");
    let study = ["--path", FAST, "--path", "slow=rate 5mbit delay 90ms loss 2%", "--traffic"];
    for protocols in ["tcp,mptcp", "sctp,cmt-sctp"] {
        let study = [&study[..], &["bulk:512KiB", "--protocols", protocols, "--why"]].concat();
        session.call(&[&["compare", "--runs", "3", "--quiet"], &study[..]].concat());
    }
    let fails = "fast=rate 50mbit delay 5ms duplicate 1% silent @60ms..1s";
    let paths = ["--path", fails, "--path", "slow=rate 5mbit delay 20ms loss 2%"];
    let rest = ["--traffic", "bulk:512KiB", "--protocols", "mptcp,tcp,sctp", "--why"];
    let more = ["--schedulers", "lrf", "--runs", "2", "--markdown", "--quiet"];
    session.call(&[&["compare"][..], &paths, &rest, &more].concat());
    session.end();
}

#[test]
fn decisions_in_trouble() {
    let mut session = Session::new("explain-trouble");
    let bulk = |path: &'static str| {
        ["explain", "--path", path, "--path", SLOW, "--traffic", "bulk:512KiB"]
    };
    let lost = "fast=rate 50mbit delay 5ms silent @150ms..2s";
    let first = ["--scheduler", "lrf", "--from", "300ms", "--until", "700ms"];
    session.call(&[&bulk(lost)[..], &first].concat());
    let failed = ["explain", "--path", lost, "--path", SLOW, "--traffic", "bulk:1MiB"];
    let second = ["--scheduler", "lrf", "--from", "415ms", "--until", "471.3ms"];
    session.call(&[&failed[..], &second].concat());
    let spared = ["--scheduler", "lrf", "--from", "25ms", "--until", "26ms"];
    session.call(&[&bulk("fast=rate 50mbit delay 5ms backup")[..], &spared].concat());
    let host = ["--scheduler", "lrf", "--nic", "20mbit", "--until", "45ms"];
    session.call(&[&bulk(FAST)[..], &host].concat());
    let small = ["--scheduler", "lrf", "--buffers", "fixed:64KiB/32KiB", "--until", "250ms"];
    session.call(&[&bulk(FAST)[..], &small].concat());
    let json = ["--scheduler", "blest-kernel", "--profile", "linux-4.1", "--json"];
    explain(&mut session, &[&json[..], &["--from", "3s", "--until", "3.0251s"]].concat());
    session.end();
}

#[test]
fn sacks_of_cmt() {
    let mut session = Session::new("explain-sacks");
    let lossy = "fast=rate 25mbit delay 20ms loss 1%";
    let study = ["explain", "--path", lossy, "--path", SLOW, "--traffic", "bulk:1MiB", "--sacks"];
    let time = ["--from", "386ms", "--until", "402ms"];
    for more in [&["--protocols", "cmt-sctp"][..], &["--protocols", "cmt-sctp", "--json"]] {
        session.call(&[&study[..], &time, more].concat());
    }
    session.call(&[&study[..], &["--protocols", "sctp"]].concat());
    session.end();
}

#[test]
fn options_of_explain() {
    let mut session = Session::new("explain-refused");
    session.call(&["explain"]);
    session.call(&["explain", "no-such.toml"]);
    let options: &[&[&str]] = &[
        &["--protocols", "tcp"],
        &["--scheduler", "lfr"],
        &["--scheduler", "lrf", "--schedulers", "rr"],
        &["--schedulers", "lrf,rr"],
        &["--variant", "tcp/fast/cubic", "--protocols", "tcp,mptcp"],
        &["--variant", "mptcp/rr/cubic"],
        &["--from", "soon"],
        &["--from", "2s", "--until", "1s"],
        &["--until", "0s"],
        &["--from", "100s"],
        &["--connection", "2"],
        &["--connection", "0"],
        &["--connection", "one"],
        &["--run", "-1"],
        // Regression: the help was to change the options --from and --until, which were not given.
        &["--path", "cut=rate 5mbit strip mptcp", "--first", "cut"],
    ];
    for more in options {
        explain(&mut session, more);
    }
    session.end();
}

//! Output of `run` for single repetitions, and errors in its options.

use super::Session;

const WLAN: &str = "wlan=rate 25mbit delay 20ms loss 1% limit 100p";
const LTE: &str = "lte=rate 10mbit delay 30ms limit 200p";

fn run(session: &mut Session, more: &[&str]) {
    let study = ["run", "--path", WLAN, "--path", LTE, "--traffic", "bulk:64KiB"];
    session.call(&[&study[..], more].concat());
}

#[test]
fn single_repetitions_and_what_they_leave() {
    let mut session = Session::new("run");
    run(&mut session, &[]);
    run(&mut session, &["--run", "3", "--reverse", "--quiet"]);
    run(&mut session, &["--protocols", "tcp,mptcp", "--variant", "mptcp/lrf/cubic"]);
    run(&mut session, &["--variant", "tcp/lte/cubic", "--json"]);
    run(&mut session, &["--pcap", "packets"]);
    run(&mut session, &["--series"]);
    run(&mut session, &["--pcap", "packets", "--series"]);
    run(&mut session, &["--pcap", "packets", "--series", "--out", "all"]);
    run(&mut session, &["--series", "--out", "all", "--quiet", "--variant", "tcp/lte/cubic"]);
    session.call(&["report", "all"]);
    let dead = "dead=rate 5mbit delay 10ms silent @50ms";
    session.call(&["run", "--path", dead, "--traffic", "bulk:1MiB"]);
    session.file(
        "titled.toml",
        "title = \"At home\"\ntraffic = \"burst:5\"\n[path]\nhome = \"rate 5mbit delay 10ms\"\n",
    );
    session.call(&["run", "titled.toml"]);
    session.end();
}

#[test]
fn options_of_run() {
    let mut session = Session::new("run-refused");
    session.call(&["run"]);
    session.call(&["run", "no-such.toml"]);
    session.file("file", "in the way");
    let options: &[&[&str]] = &[
        &["--variant", "tcp/wlan"],
        &["--variant", "mptcp/rr/cubic"],
        &["--run", "-1"],
        &["--run", "all"],
        &["--runs", "3"],
        &["--protocols", "cmt-sctp"],
        &["--pcap", "file"],
        &["--out", "file/below"],
        &["--out", ""],
    ];
    for more in options {
        run(&mut session, more);
    }
    let comparison = ["compare", "--path", LTE, "--traffic", "bulk:16KiB", "--runs", "1"];
    session.call(&[&comparison[..], &["--quiet", "--out", "comparison"]].concat());
    run(&mut session, &["--series", "--out", "comparison"]);
    session.end();
}

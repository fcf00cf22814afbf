//! Tables, notes and verdicts of small studies.

use super::Session;

const WLAN: &str = "wlan=rate 25mbit delay 20ms loss 1% limit 100p";
const LTE: &str = "lte=rate 10mbit delay 30ms limit 200p";
const SLOW: &str = "slow=rate 300kbit delay 400ms limit 100p";

fn study(session: &mut Session, paths: &[&str], more: &[&str]) {
    let paths: Vec<&str> = paths.iter().flat_map(|path| ["--path", path]).collect();
    session.call(&[&["compare"], &paths[..], more].concat());
}

fn alone(session: &mut Session, paths: &[&str], more: &[&str]) {
    study(session, paths, &[more, &["--protocols", "tcp"]].concat());
}

#[test]
fn single_paths_beside_each_other() {
    let mut session = Session::new("tables-tcp");
    alone(&mut session, &[WLAN], &["--traffic", "bulk:256KiB", "--runs", "1"]);
    alone(&mut session, &[LTE], &["--traffic", "bulk:256KiB", "--runs", "2"]);
    alone(&mut session, &[WLAN, LTE], &["--traffic", "bulk:256KiB", "--runs", "4"]);
    let first = ["--traffic", "bulk:256KiB", "--runs", "1", "--first", "lte"];
    alone(&mut session, &[WLAN, LTE], &first);
    study(&mut session, &[WLAN, LTE], &["--traffic", "bulk:256KiB", "--runs", "4"]);
    alone(&mut session, &[LTE, SLOW], &["--traffic", "burst:20", "--runs", "2", "--reverse"]);
    let narrow = "narrow=rate 10mbit delay 20ms downlink limit 1KiB";
    alone(&mut session, &[narrow], &["--traffic", "bulk:64KiB", "--runs", "1"]);
    let same = LTE.replace("lte", "same");
    alone(&mut session, &[LTE, &same], &["--traffic", "bulk:2s", "--runs", "2"]);
    let controls = ["--traffic", "bulk:2s", "--cc", "cubic,reno,lia", "--runs", "8"];
    alone(&mut session, &[WLAN, LTE], &controls);
    alone(&mut session, &[LTE, SLOW], &["--traffic", "bulk:3s", "--runs", "2"]);
    alone(&mut session, &[WLAN, SLOW], &["--traffic", "video:4s", "--runs", "4"]);
    alone(&mut session, &[LTE, WLAN], &["--traffic", "web:google", "--runs", "4"]);
    session.end();
}

#[test]
fn several_paths_beside_single_ones() {
    let mut session = Session::new("tables-mptcp");
    let both = ["--protocols", "tcp,mptcp", "--runs", "4"];
    let with = |more: &[&'static str]| [&both[..], more].concat();
    study(&mut session, &[WLAN, LTE], &with(&["--traffic", "bulk:4MiB", "--schedulers", "lrf,rr"]));
    let hurts = with(&["--traffic", "bulk:256KiB", "--schedulers", "lrf,rr", "--cc", "cubic,lia"]);
    study(&mut session, &[LTE, SLOW], &hurts);
    study(&mut session, &[LTE, SLOW], &with(&["--traffic", "video:4s", "--first", "slow"]));
    study(
        &mut session,
        &[LTE, SLOW],
        &with(&["--traffic", "bulk:3s", "--schedulers", "lrf,redundant"]),
    );
    study(&mut session, &[WLAN, LTE], &with(&["--traffic", "burst:10"]));
    study(&mut session, &[LTE, SLOW], &with(&["--traffic", "bulk:16KiB"]));
    study(&mut session, &[WLAN, LTE], &with(&["--traffic", "web:google", "--baseline", "average"]));
    let alone = ["--protocols", "mptcp", "--schedulers", "lrf,wrr", "--traffic", "bulk:64KiB"];
    study(&mut session, &[WLAN, LTE], &[&alone[..], &["--runs", "3"]].concat());
    study(&mut session, &[WLAN], &[&alone[..2], &alone[4..], &["--runs", "2"]].concat());
    session.end();
}

#[test]
fn pairs_and_automatic_numbers_of_runs() {
    let mut session = Session::new("tables-pairs");
    let both = ["--protocols", "tcp,mptcp", "--schedulers", "lrf,rr,redundant"];
    let pairs = [&both[..], &["--pairs", "--traffic", "bulk:1MiB", "--runs", "6"]].concat();
    study(&mut session, &[WLAN, LTE], &pairs);
    let auto = ["--traffic", "bulk:256KiB", "--runs", "auto"];
    study(&mut session, &[LTE, SLOW], &auto);
    study(&mut session, &[WLAN, LTE], &[&auto[..], &["--runs-max", "30"]].concat());
    study(&mut session, &[LTE], &["--traffic", "bulk:16KiB", "--runs", "2", "--runs-max", "9"]);
    let unused = ["--runs", "2", "--time", "60s", "--hystart", "off", "--cc", "reno"];
    study(&mut session, &[LTE], &[&["--traffic", "bulk:16KiB"][..], &unused].concat());
    session.end();
}

#[test]
fn runs_without_an_end_and_tails_that_are_heavy() {
    let mut session = Session::new("tables-doubtful");
    let dead = "dead=rate 5mbit delay 10ms silent @50ms";
    study(&mut session, &[dead], &["--traffic", "bulk:1MiB", "--runs", "2"]);
    study(&mut session, &[LTE, dead], &["--traffic", "bulk:1MiB", "--runs", "2"]);
    let lossy = "lossy=rate 25mbit delay 20ms loss 3% limit 100p";
    study(&mut session, &[lossy, LTE], &["--traffic", "burst:5", "--runs", "60"]);
    study(
        &mut session,
        &[lossy],
        &["--traffic", "bulk:16KiB", "--runs", "3", "--jobs", "1", "--verbose"],
    );
    session.end();
}

//! Verdicts, what to do with them, and the options that decide them.

use super::Session;

const NEAR: &str = "near=rate 5mbit delay 10ms";
const FAR: &str = "far=rate 5mbit delay 15ms";
const LOSSY: &str = "lossy=rate 8mbit delay 15ms loss 0.5%";

fn study(session: &mut Session, paths: [&str; 2], more: &[&str]) {
    let [a, b] = paths;
    session.call(&[&["compare", "--path", a, "--path", b, "--quiet"], more].concat());
}

#[test]
fn what_to_do_with_an_answer() {
    let mut session = Session::new("advice");
    let bulk = ["--traffic", "bulk:2MiB", "--schedulers"];
    for scheduler in ["linux", "rr", "xlink"] {
        study(&mut session, [NEAR, FAR], &[&bulk[..], &[scheduler]].concat());
    }
    study(&mut session, [NEAR, FAR], &[&bulk[..], &["linux,xlink"]].concat());
    let third = ["--path", "third=rate 5mbit delay 12ms"];
    study(&mut session, [NEAR, FAR], &[&bulk[..], &["linux"], &third[..]].concat());
    study(&mut session, [NEAR, FAR], &[&bulk[..], &["all"]].concat());
    let slow = "slow=rate 300kbit delay 400ms";
    study(&mut session, [NEAR, slow], &[&bulk[..], &["redundant", "--first", "slow"]].concat());
    session.end();
}

/// Regression: runs that ended by themselves "did not finish within 600s".
#[test]
fn runs_that_end_by_themselves() {
    let mut session = Session::new("ended");
    let reset = ["--path", "a=rate 5mbit delay 10ms reset @1s", "--runs", "1", "--quiet"];
    session.call(&[&["compare", "--traffic", "bulk:4MiB"], &reset[..]].concat());
    let slow = ["--path", "a=rate 20kbit delay 10ms", "--runs", "2", "--quiet"];
    session.call(&[&["compare", "--traffic", "vod:netflix:60s"], &slow[..]].concat());
    let flow =
        ["--path", "a=rate 9mbit delay 10ms silent @1ms", "--flow", "web=tcp on a", "--runs", "1"];
    session.call(&[&["compare", "--traffic", "bulk:2s", "--quiet"], &flow[..]].concat());
    session.end();
}

#[test]
fn classes_in_words() {
    let mut session = Session::new("verdicts");
    let with = |traffic, scheduler, runs| {
        ["--traffic", traffic, "--schedulers", scheduler, "--runs", runs]
    };
    let far = "far=rate 8mbit delay 40ms loss 0.2%";
    let margin = |share| ["--matters", share];
    let all = |of: [&'static str; 6], more: &[&'static str]| [&of[..], more].concat();
    study(&mut session, [LOSSY, far], &all(with("bulk:2MiB", "rr", "8"), &margin("30%")));
    study(
        &mut session,
        [LOSSY, "slow=rate 300kbit delay 400ms"],
        &all(with("bulk:256KiB", "lrf,rr", "12"), &margin("90%")),
    );
    study(&mut session, [LOSSY, far], &with("bulk:256KiB", "lrf", "40"));
    study(&mut session, [LOSSY, far], &with("bulk:256KiB", "lrf", "2"));
    let hasty = ["--deadline", "600ms"];
    study(&mut session, [LOSSY, far], &all(with("bulk:256KiB", "redundant", "100"), &hasty));
    study(&mut session, ["wlan", "3g"], &with("video:5s", "linux", "20"));
    study(&mut session, [NEAR, FAR], &with("video:5s", "linux", "4"));
    study(&mut session, ["wlan", "3g"], &with("bulk:256KiB", "lrf", "80"));
    let named = ["--baseline", "tcp/slow/cubic"];
    let slow = "slow=rate 300kbit delay 400ms";
    study(&mut session, [NEAR, slow], &all(with("bulk:256KiB", "rr", "4"), &named));
    session.end();
}

#[test]
fn failures_of_paths_in_the_verdict() {
    let mut session = Session::new("verdicts-failures");
    let dead = "dead=rate 8mbit delay 15ms loss 0.5% silent @200ms";
    let rest = ["--traffic", "bulk:5s", "--schedulers", "lrf", "--runs", "4"];
    study(&mut session, [dead, FAR], &rest);
    let gone = "gone=rate 8mbit delay 40ms silent @300ms";
    study(&mut session, [dead, gone], &rest);
    let back = "back=rate 8mbit delay 15ms loss 0.5% silent @200ms..1s";
    study(&mut session, [back, FAR], &rest);
    let returns = "back=rate 8mbit delay 15ms loss 0.1% silent @1s..4s";
    let thin = "thin=rate 300kbit delay 40ms";
    let more = ["--traffic", "bulk:8s", "--schedulers", "lrf", "--runs", "12"];
    study(&mut session, [returns, thin], &more);
    let early = "back=rate 8mbit delay 15ms loss 0.1% silent @1s..2s";
    let late = "twin=rate 7mbit delay 15ms loss 0.1% silent @4s..5s";
    let alike = ["--traffic", "bulk:20s", "--schedulers", "redundant", "--runs", "12"];
    study(&mut session, [early, late], &[&alike[..], &["--matters", "20%"]].concat());
    session.end();
}

#[test]
fn options_of_the_decision_that_are_refused() {
    let mut session = Session::new("decision-refused");
    for more in [
        ["--matters", "100%"],
        ["--matters", "much"],
        ["--time", "0s"],
        ["--time", "long"],
        ["--fail-if", "loses"],
        ["--fail-if", "hurts,undecided,hurts"],
        ["--fail-if", "goal-missed"],
        ["--metric", "p95"],
        ["--metric", "speed"],
        ["--metric", "failover"],
        ["--metric", "rtt/near/p95"],
        ["--goal", "completion_time"],
        ["--goal", "p95 of time < 1s"],
        ["--goal", "p98 completion_time < 1s"],
    ] {
        study(&mut session, [NEAR, FAR], &[&["--traffic", "bulk:64KiB"], &more[..]].concat());
    }
    let video = ["--traffic", "video:5s", "--goal", "p98 late < 5%"];
    study(&mut session, [NEAR, FAR], &video);
    session.end();
}

#[test]
fn metrics_and_goals() {
    let mut session = Session::new("goals");
    let video = ["--traffic", "video:10s", "--schedulers", "ecf", "--runs", "12"];
    let goal = |text| ["--goal", text];
    study(&mut session, ["wlan", "3g"], &[&video[..], &["--metric", "late"]].concat());
    // All of them are 0.
    study(&mut session, [NEAR, FAR], &[&video[..], &["--metric", "late"]].concat());
    study(&mut session, ["wlan", "3g"], &[&video[..], &goal("p95 message_delay < 150ms")].concat());
    study(
        &mut session,
        ["wlan", "3g"],
        &[&video[..], &goal("median message_delay < 5ms")].concat(),
    );
    let bulk = ["--traffic", "bulk:512KiB", "--schedulers", "lrf", "--runs", "40"];
    let far = "far=rate 8mbit delay 40ms loss 0.2%";
    for text in ["p95 completion_time < 9s", "median completion_time < 2s", "goodput > 90mbit"] {
        study(&mut session, [LOSSY, far], &[&bulk[..], &goal(text)].concat());
    }
    let alone = ["--protocols", "tcp", "--traffic", "bulk:512KiB"];
    study(&mut session, [NEAR, FAR], &[&alone[..], &goal("completion_time < 10ms")].concat());
    let dead = "dead=rate 8mbit delay 15ms loss 0.5% silent @200ms";
    let bulk = ["--traffic", "bulk:5s", "--schedulers", "lrf", "--runs", "6"];
    study(&mut session, [dead, FAR], &[&bulk[..], &["--metric", "failover"]].concat());
    let alone = ["--protocols", "tcp", "--metric", "failover", "--traffic", "bulk:5s"];
    study(&mut session, [dead, FAR], &[&alone[..], &["--runs", "6"]].concat());
    let failover = ["--protocols", "tcp", "--runs", "6", "--goal", "failover < 1ms"];
    for traffic in ["bulk:5s", "bulk:32KiB"] {
        let more = [&failover[..], &["--traffic", traffic]].concat();
        study(&mut session, [dead, FAR], &more);
    }
    let rate = ["--traffic", "bulk:2s", "--runs", "20", "--goal", "p95 goodput > 1mbit"];
    study(&mut session, [LOSSY, FAR], &rate);
    let packets = ["--packet-metrics", "--traffic", "bulk:128KiB", "--runs", "6"];
    for more in [
        ["--metric", "rtt/lossy/p95"],
        ["--metric", "rtt/lossy/p98"],
        ["--goal", "max reorder_buffer < 64kB"],
    ] {
        study(&mut session, [LOSSY, far], &[&packets[..], &more].concat());
    }
    let unfinished = ["--deadline", "500ms", "--protocols", "tcp", "--traffic", "bulk:512KiB"];
    let goal = goal("completion_time < 10ms");
    study(&mut session, [NEAR, FAR], &[&unfinished[..], &goal].concat());
    session.end();
}

//! Errors in descriptions of paths.

use super::Session;

fn session(name: &'static str, specs: &[&str]) {
    let mut session = Session::new(name);
    for spec in specs {
        session.path(spec);
    }
    session.end();
}

#[test]
fn units_that_are_missing_wrong_or_ambiguous() {
    session(
        "units",
        &[
            "rate 25",
            "rate 25mbps",
            "rate 8Kbps",
            "rate 25mbti",
            "rate 0mbit",
            "rate -5mbit",
            "rate nan",
            "rate 99999999999999999999gbit",
            "rate mbit",
            "rate 1.2.3mbit",
            "rate 5mbit delay 20",
            "rate 5mbit delay 20mss",
            "rate 5mbit loss 2",
            "rate 5mbit loss 1.5",
            "rate 5mbit loss 101%",
            "rate 5mbit loss 1..2%",
            "rate 5mbit loss 1ms",
            "rate 5mbit limit 100",
            "rate 5mbit limit 64k",
            "rate 5mbit limit 5pkts",
            "rate 5mbit limit 0p",
            "rate 5mbit limit 1.5p",
            "rate 5mbit limit ''",
        ],
    );
}

#[test]
fn items_that_are_unknown_incomplete_or_out_of_place() {
    session(
        "items",
        &[
            "",
            "delay 20ms",
            "downlink rate 5mbit",
            "uplink rate 5mbit",
            "rate",
            "rate delay 20ms",
            "rate 5mbit dellay 20ms",
            "bandwidth 5mbit",
            "rate 5mbit xyz 3",
            "rate 5mbit 20ms",
            "rate 5mbit @20s",
            "@20s",
            "rate 5mbit unit=mbit",
            "rate 5mbit uplink",
            "uplink down @20s..30s",
            "uplink backup",
            "uplink trace-up file",
            "uplink profile wlan",
            "uplnik rate 5mbit",
            "rate 5mbit loss gemodel 1%",
            "rate 5mbit queue",
            "rate 5mbit queue rde",
            "rate 5mbit queue red",
            "rate 5mbit queue red 20p",
            "rate 5mbit queue red 20ms 60p 10%",
            "rate 5mbit queue red 60p 20p 10%",
            "rate 5mbit..9mbit delay 20ms+-5ms loss 0.1%..0.2% limit 50p..99p",
            "rate 9mbit..5mbit",
            "rate 5..9mbit",
            "rate 5mbit delay 20ms+-5",
            "rate 5mbit limit 50p..1MiB",
            "rate 5mbit rate 1mbit..2mbit @5s",
            "trace \"file",
        ],
    );
}

#[test]
fn middleboxes_that_are_incomplete_or_out_of_place() {
    session(
        "middleboxes",
        &[
            "rate 5mbit strip",
            "rate 5mbit strip tcp",
            "rate 5mbit strip mptcp at",
            "rate 5mbit strip mptcp at synak",
            "rate 5mbit uplink strip mptcp",
            "rate 5mbit nat",
            "rate 5mbit nat 60s",
            "rate 5mbit nat timeout 60",
            "rate 5mbit nat timeout 0s",
            "rate 5mbit nat timeout 60s rebind",
            "rate 5mbit promotion 10s",
            "rate 5mbit promotion 10s 300",
            "rate 5mbit rewrite numbers",
            "rate 5mbit strip mptcp strip mptcp at syn",
            "via core nat timeout 60s",
        ],
    );
}

#[test]
fn words_of_netem_that_are_refused() {
    session(
        "netem",
        &[
            "rate 5mbit delay 20ms 25%",
            "rate 5mbit delay 20ms unordered",
            "rate 5mbit delay 20ms 5ms 100%",
            "rate 5mbit delay 20ms 5ms distribution",
            "rate 5mbit delay 20ms 5ms distribution pareto",
            "rate 5mbit delay 20ms 5ms distribution gauss",
            "rate 5mbit loss 1% 25%",
            "rate 5mbit loss state",
            "rate 5mbit loss state 1% 30% 5%",
            "rate 5mbit duplicate 1% 25%",
        ],
    );
}

#[test]
fn events_and_contradictions() {
    session(
        "events",
        &[
            "rate 5mbit down",
            "rate 5mbit silent",
            "rate 5mbit down @35s..20s",
            "rate 5mbit down @20s..20s",
            "rate 5mbit limit 10p @20s",
            "rate 5mbit down @700s",
            "rate 5mbit down @0s",
            "rate 5mbit down @10s..20s down @15s..30s",
            "rate 5mbit rate 6mbit",
            "rate 5mbit rate 2mbit @10s..20s rate 3mbit @15s..30s",
            "rate 5mbit delay 700s",
            "rate 5mbit loss 100%",
            "rate 5mbit corrupt 100%",
            "rate 5mbit @",
        ],
    );
}

#[test]
fn names_of_paths_and_profiles() {
    let mut session = Session::new("names");
    for path in [
        "wlna",
        "nornet",
        "nothing-like-it",
        "rate 25mbit delay 20ms",
        "höhle=rate 5mbit",
        "a/b=rate 5mbit",
        "=rate 5mbit",
        "p=profile wlna",
    ] {
        session.call(&["compare", "--traffic", "video", "--path", path]);
    }
    session.call(&["compare", "--traffic", "video", "--path", "wlan", "--path", "wlan"]);
    session.call(&["compare", "--path", "WiFi", "--traffic", "Bulk:16KiB", "--runs", "1"]);
    session.end();
}

#[test]
fn resets_and_withdrawn_addresses_that_cannot_be() {
    session(
        "path-failures",
        &[
            "rate 5mbit reset",
            "rate 5mbit reset @5s..6s",
            "rate 5mbit reset @5s reset @5s",
            "rate 5mbit uplink reset @5s",
            "rate 5mbit removed",
            "rate 5mbit removed @0s..5s",
            "rate 5mbit removed @5s..9s silent @8s",
            "rate 5mbit reset @700s",
        ],
    );
}

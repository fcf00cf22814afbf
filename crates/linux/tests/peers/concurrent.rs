//! Concurrent multipath transfer with usrsctp: two paths of 20 Mbit/s in two namespaces, we as
//! sender with coupled and uncoupled windows, and usrsctp as sender in each of its modes.
//!
//! Both paths must be used and everything must arrive; how much faster two paths are is asserted
//! by `make soak` alone, which has the machine to itself. Without root, TUN devices or usrsctp
//! every test prints `skipped: ...`.

use crate::two_addresses::Ends;
use crate::usrsctp_peer::count;
use std::time::Duration;
use transport::congestion::ControllerChoice;
use transport::sctp::SctpConfig;
use transport::sctp::cmt::CmtConfig;

const RATE: Option<&str> = Some("rate 20mbit burst 32kb limit 100kb");
const PATIENCE: Duration = Duration::from_secs(60);
/// The part of all bytes that each of two equal paths carries at least.
const LEAST: f64 = 0.25;

/// Bytes of a transfer; more where `make soak` asks for it.
fn size() -> u64 {
    match is_soak() {
        true => 64 << 20,
        false => 8 << 20,
    }
}

fn is_soak() -> bool {
    std::env::var_os("ANABRANCH_SOAK_MIB").is_some()
}

/// We, with both paths at once or with the primary alone.
fn config(cc: &str, is_concurrent: bool) -> SctpConfig {
    SctpConfig {
        congestion: ControllerChoice::find(cc).expect("a controller"),
        send_buffer: 1 << 20,
        receive_buffer: 1 << 20,
        cmt: is_concurrent.then(CmtConfig::default),
        ..SctpConfig::default()
    }
}

/// Bytes that came over each path, as parts of their sum.
fn parts(bytes: [u64; 2]) -> [f64; 2] {
    let sum = (bytes[0] + bytes[1]) as f64;
    bytes.map(|bytes| bytes as f64 / sum)
}

/// Time that our transfer takes until usrsctp has everything; `None`: there is no usrsctp.
fn we_send(cc: &str, is_concurrent: bool) -> Option<Duration> {
    let size = size();
    let arguments = format!("expect={size} window=1048576");
    let mut ends = Ends::open_over(&[RATE; 2], &arguments, config(cc, is_concurrent))?;
    let begin = ends.ours.now;
    ends.ours.to_write = size;
    ends.run("data of ours", |_, peer| peer.has_said("complete"));
    let took = Duration::from_nanos((ends.ours.now - begin).as_nanos());
    let shares = parts([ends.world.carried(0), ends.world.carried(1)]);
    println!("{cc}, concurrent {is_concurrent}: {took:?}, shares {shares:.2?}");
    if is_concurrent {
        assert!(shares.iter().all(|share| *share >= LEAST), "{cc}: {shares:?}");
    }
    ends.end(0);
    Some(took)
}

/// usrsctp takes what comes over both paths, and two are faster than one.
fn two_paths_add_up(cc: &str) {
    let Some(both) = we_send(cc, true) else { return };
    if is_soak() {
        let one = we_send(cc, false).expect("usrsctp was there");
        let gain = one.as_secs_f64() / both.as_secs_f64();
        assert!(gain >= 1.8, "{cc}: {gain:.2} times one path: {both:?} for {one:?}");
    }
}

#[test]
fn usrsctp_takes_what_comes_over_two_paths_with_windows_of_their_own() {
    two_paths_add_up("reno");
}

#[test]
fn usrsctp_takes_what_comes_over_two_paths_with_coupled_windows() {
    two_paths_add_up("mptcp-like");
}

/// usrsctp sends in one of its modes (`sctp_cmt_on_off`); nothing is asked of its rate.
fn they_send(mode: u8) {
    let size = size();
    let arguments = format!("send={size} cmt={mode} wait=1 heartbeat=500 window=1048576");
    let opened = Ends::open_over(&[RATE; 2], &arguments, config("reno", true));
    let Some(mut ends) = opened else { return };
    let begin = ends.ours.now;
    ends.peer.tell("send");
    ends.run("data of theirs", |ours, _| ours.received >= size);
    let took = Duration::from_nanos((ends.ours.now - begin).as_nanos());
    let shares = parts([ends.world.carried_back(0), ends.world.carried_back(1)]);
    let statistics = ends.end(size);
    let [retransmitted, fast, t3] = ["rtx", "fastrtx", "t3"].map(|name| count(&statistics, name));
    println!(
        "usrsctp sends in mode {mode}: {took:?}, shares {shares:.2?}, {retransmitted} chunks \
         retransmitted, {fast} fast, {t3} time-outs"
    );
    assert!(took < PATIENCE && shares.iter().all(|share| *share > 0.01), "{mode}: {shares:?}");
}

#[test]
fn usrsctp_sends_over_two_paths_with_newreno() {
    they_send(1);
}

#[test]
fn usrsctp_sends_over_two_paths_with_rpv1() {
    they_send(2);
}

#[test]
fn usrsctp_sends_over_two_paths_with_rpv2() {
    they_send(3);
}

#[test]
fn usrsctp_sends_over_two_paths_with_mptcp_like_windows() {
    they_send(4);
}

//! The rule by which the kernel judges its own scheduler (its `simult_flows` test), on the wire:
//! paths with a rate, a large transfer one way and a small one the other.

use crate::forwarder::Conditions;
use crate::interop::{Case, Role, timed, transfer_multipath, world};
use crate::world::{Family, World};
use std::process::Command;
use std::time::Duration;

const MIB: usize = 1 << 20;
const LARGE: usize = 16 * MIB;
const SMALL: usize = 80 << 10;
/// What may be lost beyond a tenth of the rate.
const SLACK: Duration = Duration::from_millis(450);

/// Rates in Mbit/s, delays one way in milliseconds.
fn holds(rates: [u64; 2], delays: [u64; 2], engine_sends_more: bool) {
    let path = |delay| Conditions { delay: Duration::from_millis(delay), drop_every: 0 };
    let Some(world) = world(&delays.map(path)) else { return };
    // Joins from both ends at once are refused by the kernel; a server leaves them to its client.
    world.ip_mptcp("limits set subflows 8 add_addr_accepted 0");
    // A window that is no narrower than the paths.
    world.peer.set("ipv4.tcp_rmem", "4096 1048576 6291456").expect("a setting of ours");
    for (number, rate) in rates.iter().enumerate() {
        if !limit(&world, number, *rate) {
            println!("skipped: the kernel has no tbf");
            return;
        }
    }
    let (size, kernel_sends) = if engine_sends_more { (LARGE, SMALL) } else { (SMALL, LARGE) };
    let kernel_sends = Some(kernel_sends);
    let case = Case { size, kernel_sends, ..Case::new(Role::Client, Family::V4) };
    let took = timed(|| transfer_multipath(&world, &case, || {}));
    let bits_per_s = (rates[0] + rates[1]) as f64 * 1e6;
    let most = Duration::from_secs_f64(8.0 * LARGE as f64 / (0.9 * bits_per_s)) + SLACK;
    println!("{rates:?} Mbit/s, {delays:?} ms: {took:?} of {most:?}");
    assert!(took <= most, "{rates:?} Mbit/s, {delays:?} ms: {took:?}, allowed {most:?}");
}

/// Give both ends of a path's wire a rate in Mbit/s.
fn limit(world: &World, number: usize, rate: u64) -> bool {
    let words =
        format!("qdisc add dev wire{number} root tbf rate {rate}mbit burst 16kb limit 300kb");
    let add = || Command::new("tc").args(words.split_whitespace()).status();
    [&world.engine, &world.peer].iter().all(|end| {
        let status = end.run(add).expect("the namespace");
        status.is_ok_and(|status| status.success())
    })
}

#[test]
#[ignore = "measures time: run it alone"]
fn two_like_paths_add_up() {
    holds([10, 10], [0, 0], true);
    holds([10, 10], [0, 0], false);
}

#[test]
#[ignore = "measures time: run it alone"]
fn the_faster_path_with_the_longer_delay_adds_up() {
    holds([15, 5], [25, 1], true);
    holds([15, 5], [25, 1], false);
}

#[test]
#[ignore = "fails: the join of the slower path is refused, and not tried again"]
fn the_slower_path_with_the_longer_delay_adds_up() {
    holds([15, 5], [1, 25], true);
    holds([15, 5], [1, 25], false);
}

//! Ends of a connection: DATA_FIN both ways and one way, abrupt ends, paths that die
//! (RFC 8684 s3.3.3, s3.5, s3.6).

use crate::pair::{Pair, Path, Side, tcp};
use base::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;
use transport::SocketError;
use transport::mptcp::MptcpConfig;
use wire::Flags;
use wire::mptcp::MptcpOption;

fn two_paths() -> Pair {
    let config = MptcpConfig::default();
    Pair::new(&[Path::ms(10), Path::ms(30)], config.clone(), config)
}

#[test]
fn half_close_leaves_the_other_direction_open() {
    for first in [Side::Client, Side::Server] {
        let mut pair = two_paths();
        let other = first.other();
        pair.ends[other as usize].hold_open = true;
        pair.ends[first as usize].to_write = 50_000;
        pair.ends[other as usize].to_write = 10_000;
        pair.run_until(Duration::from_secs(9), |pair| pair.ends[other as usize].ended);
        assert!(!pair.ends[first as usize].closed);
        pair.ends[other as usize].to_write = 2 << 20;
        pair.run_until(Duration::from_secs(60), Pair::is_delivered);
        assert!(!pair.ends[first as usize].ended);
        pair.ends[other as usize].hold_open = false;
        pair.settle();
        pair.close();
        // Nothing is left a while later.
        pair.pass(Duration::from_secs(200));
        assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [0, 0]);
    }
}

/// Regression: the DATA_FIN of a client that ended before the SYN/ACK came was never sent, and both
/// ends waited for ever.
#[test]
fn client_that_ends_before_it_is_connected_ends_its_stream() {
    let config = MptcpConfig::default();
    for paths in [&[Path::ms(10)][..], &[Path::ms(10), Path::ms(30)]] {
        let mut pair = Pair::new(paths, config.clone(), config.clone());
        pair.ends[1].hold_open = true;
        pair.shutdown(Side::Client);
        pair.run_until(Duration::from_secs(9), |pair| pair.ends[1].ended);
        pair.shutdown(Side::Server);
        pair.close();
    }
}

#[test]
fn both_ends_close_at_once() {
    for size in [0, 1, 100_000] {
        let mut pair = two_paths();
        pair.finish = false;
        pair.transfer(size + 1, size + 1);
        pair.pass(Duration::from_secs(1));
        for side in [Side::Client, Side::Server] {
            pair.shutdown(side);
        }
        let at = pair.now;
        pair.close();
        assert!(pair.now - at < Duration::from_millis(500), "{}", pair.now - at);
    }
}

#[test]
fn any_packet_of_the_close_lost_closes_all_the_same() {
    for burst in [1, 2, 3] {
        for side in [Side::Client, Side::Server] {
            for (client_first, together) in [(true, true), (true, false), (false, false)] {
                for n in 1..30 {
                    let mut pair = two_paths();
                    pair.finish = false;
                    pair.transfer(5_000, 5_000);
                    pair.await_subflows(2);
                    pair.pass(Duration::from_secs(1));
                    let mut count = 0;
                    pair.mangle = Some(Box::new(move |from, _, _| {
                        count += u32::from(from == side);
                        from != side || !(n..n + burst).contains(&count)
                    }));
                    let first = if client_first { Side::Client } else { Side::Server };
                    pair.shutdown(first);
                    if !together {
                        pair.expect("the end", Duration::from_secs(30), |pair| {
                            pair.ends[first.other() as usize].ended
                        });
                    }
                    pair.shutdown(first.other());
                    pair.close();
                    pair.pass(Duration::from_secs(300));
                    pair.assert_intact();
                }
            }
        }
    }
}

#[test]
fn data_fin_is_sent_on_subflows_that_come_later() {
    // The only path fails with the DATA_FIN; the next one carries it.
    let mut pair = two_paths();
    let mut from = Instant::from_millis(200);
    pair.rule = Some(Box::new(move |_, path, now| {
        from = from.min(now);
        let join_is_late = path == 1 && now < Instant::from_secs(6);
        if join_is_late { crate::pair::Fate::Drop } else { crate::pair::Fate::Pass }
    }));
    pair.finish = false;
    pair.transfer(5_000, 5_000);
    pair.pass(Duration::from_millis(500));
    pair.paths[0].cut = true;
    for side in [Side::Client, Side::Server] {
        pair.shutdown(side);
    }
    pair.close();
    assert!(pair.now < Instant::from_secs(60), "{}", pair.now);
}

#[test]
fn abort_resets_every_subflow_and_tells_the_peer_at_once() {
    for side in [Side::Client, Side::Server] {
        for lost in [None, Some(0), Some(1)] {
            let mut pair = two_paths();
            pair.ends[1].to_write = 1 << 30;
            pair.ends[0].hold_open = true;
            pair.ends[0].to_write = 1;
            pair.await_subflows(2);
            pair.mangle = Some(Box::new(move |from, path, packet| {
                let reset = tcp(packet).is_some_and(|s| s.flags.contains(Flags::RST));
                !(from == side && reset && lost == Some(path))
            }));
            pair.abort(side);
            let peer = side.other() as usize;
            let at = pair.now;
            pair.expect("a failure", Duration::from_secs(9), |pair| {
                pair.ends[peer].failed.is_some()
            });
            assert_eq!(pair.ends[peer].failed, Some(SocketError::Reset));
            assert!(pair.now - at < Duration::from_millis(100));
            assert_eq!(pair.ends[side as usize].failed, None, "its own doing");
        }
    }
}

#[test]
fn abort_says_fast_close_with_the_peers_key() {
    let mut pair = two_paths();
    pair.ends[0].to_write = 1;
    pair.ends[0].hold_open = true;
    pair.await_subflows(2);
    let count = Rc::new(Cell::new(0));
    let seen = Rc::clone(&count);
    pair.mangle = Some(Box::new(move |_, _, packet| {
        let Some(segment) = tcp(packet) else { return true };
        let options = segment.options.mptcp.others();
        let fast = options.iter().any(|option| matches!(option, MptcpOption::FastClose { .. }));
        seen.set(seen.get() + u32::from(fast && segment.flags.contains(Flags::RST)));
        true
    }));
    pair.abort(Side::Client);
    assert_eq!(count.get(), 2, "on every subflow (option R)");
}

#[test]
fn all_paths_dead_fail_at_last() {
    let mut pair = two_paths();
    pair.ends[1].to_write = 1 << 30;
    pair.await_subflows(2);
    for path in &mut pair.paths {
        path.cut = true;
    }
    let limit = Duration::from_secs(2 * 3600);
    pair.expect("a failure", limit, |pair| pair.ends[1].failed.is_some());
    assert_eq!(pair.ends[1].failed, Some(SocketError::TimedOut));
}

#[test]
fn one_dead_subflow_is_no_failure_and_is_opened_again() {
    // Long enough for TCP to give a subflow up: afterwards the path is joined anew.
    let mut pair = two_paths();
    pair.fictive = true;
    pair.finish = false;
    pair.ends[0].to_write = 1 << 20;
    pair.await_subflows(2);
    pair.paths[1].cut = true;
    // Something is in flight there, so that its timer runs.
    pair.ends[0].to_write = 40 << 20;
    pair.expect("the end of a subflow", Duration::from_secs(3 * 3600), |pair| {
        pair.live(Side::Client) == 1
    });
    pair.assert_intact();
    pair.paths[1].cut = false;
    pair.expect("a new subflow", Duration::from_secs(600), |pair| pair.live(Side::Client) == 2);
    pair.transfer(50 << 20, 0);
}

#[test]
fn connection_nobody_reads_does_not_last_for_ever() {
    let mut pair = two_paths();
    pair.ends[0].to_write = 1000;
    pair.ends[1].hold_open = true;
    pair.transfer(1000, 0);
    pair.pass(Duration::from_secs(1));
    pair.release(Side::Client);
    pair.expect("an end", Duration::from_secs(90), |pair| pair.ends[1].failed.is_some());
}

#[test]
fn close_before_the_join_is_through_leaves_nothing_behind() {
    for ms in 0..60 {
        let mut pair = two_paths();
        pair.ends[0].to_write = 10;
        pair.ends[1].to_write = 10;
        pair.rule = Some(Box::new(move |_, path, now| {
            let held = path == 1 && now < Instant::from_millis(30 + ms);
            if held {
                crate::pair::Fate::Late(Duration::from_millis(ms))
            } else {
                crate::pair::Fate::Pass
            }
        }));
        pair.transfer(10, 10);
        pair.close();
        pair.pass(Duration::from_secs(400));
        assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [0, 0]);
    }
}

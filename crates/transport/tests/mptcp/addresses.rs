//! Addresses that are announced, come, go and are spared (RFC 8684 s3.3.8, s3.4), and what is
//! carried over which path then.

use crate::pair::{Pair, Path, Side, address, tcp};
use base::{Duration, Instant};
use std::cell::Cell;
use std::rc::Rc;
use transport::InterfaceEvent;
use transport::mptcp::MptcpConfig;
use wire::mptcp::{AddAddr, MptcpOption};

fn paths(delays: &[u64]) -> Pair {
    let paths: Vec<Path> = delays.iter().map(|ms| Path::ms(*ms)).collect();
    Pair::new(&paths, MptcpConfig::default(), MptcpConfig::default())
}

/// Change the ADD_ADDRs of `side`, echoes included or alone; `None` loses the packet.
fn on_add_addr(
    pair: &mut Pair,
    mut change: impl FnMut(Side, AddAddr) -> Option<AddAddr> + 'static,
) {
    pair.mangle = Some(Box::new(move |side, _, packet| {
        let Some(segment) = tcp(packet) else { return true };
        let Some(add) = segment.options.mptcp.add_addr() else { return true };
        match change(side, add) {
            Some(add) => segment.options.mptcp = MptcpOption::AddAddr(add).into(),
            None => return false,
        }
        true
    }));
}

#[test]
fn announcement_is_repeated_until_it_is_echoed() {
    for lost in 0..4 {
        let mut pair = paths(&[10, 30]);
        let count = Rc::new(Cell::new([0, 0]));
        let seen = Rc::clone(&count);
        on_add_addr(&mut pair, move |side, add| {
            let [sent, echoed] = seen.get();
            match (side, add.is_echo()) {
                (Side::Server, false) => {
                    seen.set([sent + 1, echoed]);
                    (sent >= lost).then_some(add)
                }
                (Side::Client, true) => {
                    seen.set([sent, echoed + 1]);
                    (echoed > 0).then_some(add)
                }
                _ => Some(add),
            }
        });
        pair.ends[0].hold_open = true;
        pair.transfer(10_000, 10_000);
        pair.pass(Duration::from_secs(100));
        let [sent, _] = count.get();
        assert_eq!(sent, lost + 2, "the first {lost} are lost, the first echo, too");
        assert_eq!(pair.live(Side::Client), 2);
    }
}

#[test]
fn forged_announcement_is_silently_ignored() {
    let mut pair = paths(&[10, 30]);
    let echoes = Rc::new(Cell::new(0));
    let seen = Rc::clone(&echoes);
    on_add_addr(&mut pair, move |side, add| {
        seen.set(seen.get() + u32::from(add.is_echo() && side == Side::Client));
        let hmac = add.hmac.map(|hmac| hmac.map(|byte| byte ^ 1));
        Some(if side == Side::Server { AddAddr { hmac, ..add } } else { add })
    });
    pair.transfer(100_000, 500_000);
    assert_eq!(echoes.get(), 0);
    assert!(pair.info(Side::Client).refused > 0);
    assert_eq!(pair.info(Side::Client).paths.len(), 1);
}

#[test]
fn both_sides_announce_and_the_client_joins_every_pair() {
    // One network: 2 x 2 addresses.
    let mut pair = paths(&[10, 10]);
    pair.ends[0].hold_open = true;
    pair.transfer(1_000_000, 1_000_000);
    // Pairs of one network only.
    pair.await_subflows(2);
}

/// Data packets of the server on each path while `span` passes.
fn sent_during(pair: &mut Pair, span: Duration) -> Vec<u64> {
    let before = pair.data_packets.clone();
    pair.pass(span);
    pair.data_packets.iter().zip(before).map(|(now, before)| now - before).collect()
}

/// An endless download.
fn download(pair: &mut Pair) {
    pair.fictive = true;
    pair.ends[1].to_write = 1 << 40;
    pair.ends[1].hold_open = true;
    pair.rule = Some(pacer());
    pair.await_subflows(pair.paths.len());
    pair.pass(Duration::from_millis(500));
}

/// At most this many data packets in a row on one path within a round: windows stay small.
fn pacer() -> crate::pair::Rule {
    let mut counts = [(Instant::ZERO, 0); 8];
    Box::new(move |side, path, now| {
        let (since, count) = &mut counts[path];
        if side == Side::Server {
            if now - *since > Duration::from_millis(40) {
                (*since, *count) = (now, 0);
            }
            *count += 1;
            if *count > 25 {
                return crate::pair::Fate::Drop;
            }
        }
        crate::pair::Fate::Pass
    })
}

#[test]
fn silent_path_fails_over_and_is_used_again_when_it_returns() {
    for cut in [0, 1] {
        let mut pair = paths(&[10, 20]);
        download(&mut pair);
        pair.paths[cut].cut = true;
        pair.pass(Duration::from_secs(3));
        let got = pair.ends[0].got;
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(pair.ends[0].got > got + 100_000, "the other one carries on");
        assert!(sent[cut] <= 3, "only retransmissions on the dead one: {sent:?}");
        pair.paths[cut].cut = false;
        pair.pass(Duration::from_secs(20));
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[cut] > 20, "used again: {sent:?}");
        assert!(pair.info(Side::Server).reinjected_bytes > 0);
    }
}

#[test]
fn two_of_three_paths_die_one_after_the_other() {
    // What was on both of the failed ones must go to the third.
    for order in [[0, 1], [1, 0], [0, 2], [2, 1]] {
        let mut pair = paths(&[10, 20, 30]);
        download(&mut pair);
        for (after, path) in [(0, order[0]), (1_200, order[1])] {
            pair.pass(Duration::from_millis(after));
            pair.paths[path].cut = true;
        }
        pair.pass(Duration::from_secs(5));
        let got = pair.ends[0].got;
        pair.pass(Duration::from_secs(2));
        assert!(pair.ends[0].got > got + 100_000, "{order:?}: {}", pair.describe());
    }
}

#[test]
fn path_that_is_alone_when_it_stalls_gives_its_data_to_one_that_opens_later() {
    let mut pair = paths(&[10, 20]);
    // The join succeeds only after the first path died.
    let late = Instant::from_secs(5);
    let mut rule = pacer();
    pair.rule = Some(Box::new(move |side, path, at| {
        let fate = rule(side, path, at);
        if path == 1 && at < late { crate::pair::Fate::Drop } else { fate }
    }));
    pair.ends[1].to_write = 3 << 20;
    pair.run_until(Duration::from_secs(20), |pair| pair.ends[0].got > 300_000);
    pair.paths[0].cut = true;
    let cut_at = pair.now;
    pair.run_until(Duration::from_secs(60), Pair::is_delivered);
    assert!(pair.now - cut_at < Duration::from_secs(20), "{}", pair.describe());
}

#[test]
fn backup_path_rests_until_the_others_are_gone() {
    for side in [Side::Client, Side::Server] {
        let backup = MptcpConfig { backup: vec![address(side, 1)], ..MptcpConfig::default() };
        let (client, server) = match side {
            Side::Client => (backup, MptcpConfig::default()),
            Side::Server => (MptcpConfig::default(), backup),
        };
        let mut pair = Pair::new(&[Path::ms(20), Path::ms(10)], client, server);
        download(&mut pair);
        assert!(pair.info(Side::Server).paths[1].backup);
        assert!(pair.info(Side::Client).paths[1].backup);
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[0] > 50 && sent[1] == 0, "{sent:?}");
        pair.paths[0].cut = true;
        pair.pass(Duration::from_secs(3));
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[1] > 50, "fail-over: {sent:?}");
        pair.paths[0].cut = false;
        pair.pass(Duration::from_secs(30));
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[0] > 50 && sent[1] == 0, "and back: {sent:?}");
    }
}

#[test]
fn priority_changes_while_data_flow() {
    for side in [Side::Client, Side::Server] {
        let mut pair = paths(&[10, 12]);
        download(&mut pair);
        for (backup, rests) in [(true, true), (false, false), (true, true)] {
            let socket = pair.socket(side);
            pair.stack(side).set_backup(socket, address(side, 0), backup).expect("a socket");
            pair.settle();
            pair.pass(Duration::from_secs(3));
            assert!(pair.info(Side::Server).paths[0].backup == backup);
            let sent = sent_during(&mut pair, Duration::from_secs(3));
            assert!(sent[1] > 20, "{side:?} {sent:?}");
            assert_eq!(sent[0] == 0, rests, "{side:?} {sent:?}");
        }
        assert_eq!(pair.info(Side::Client).refused, 0);
    }
}

#[test]
fn priority_set_while_a_join_is_under_way_is_told_once_it_is_open() {
    for side in [Side::Client, Side::Server] {
        let mut pair = paths(&[10, 40]);
        let socket = |pair: &Pair| pair.ends[side as usize].socket;
        while socket(&pair).and_then(|_| pair.try_info(side)).is_none_or(|i| i.paths.len() < 2) {
            pair.pass(Duration::from_millis(1));
        }
        let id = pair.socket(side);
        pair.stack(side).set_backup(id, address(side, 1), true).expect("a socket");
        pair.settle();
        download(&mut pair);
        for end in [Side::Client, Side::Server] {
            let backups: Vec<bool> = pair.info(end).paths.iter().map(|s| s.backup).collect();
            assert_eq!(backups, [false, true], "{side:?} at {end:?}");
        }
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[0] > 20 && sent[1] == 0, "{side:?} {sent:?}");
    }
}

#[test]
fn first_subflow_from_a_backup_address_is_spared() {
    for side in [Side::Client, Side::Server] {
        let backup = MptcpConfig { backup: vec![address(side, 0)], ..MptcpConfig::default() };
        let (client, server) = match side {
            Side::Client => (backup, MptcpConfig::default()),
            Side::Server => (MptcpConfig::default(), backup),
        };
        let mut pair = Pair::new(&[Path::ms(10), Path::ms(20)], client, server);
        download(&mut pair);
        assert!(pair.info(side.other()).paths[0].backup, "{side:?}");
        // What the pacer dropped before it was a backup is repaired there.
        pair.pass(Duration::from_millis(500));
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[0] == 0 && sent[1] > 20, "{side:?} {sent:?}");
    }
}

#[test]
fn interface_down_withdraws_its_address_and_up_joins_again() {
    for (side, path) in [(Side::Client, 0), (Side::Client, 1), (Side::Server, 1)] {
        let mut pair = paths(&[10, 20]);
        download(&mut pair);
        pair.paths[path].cut = true;
        pair.interface(side, path, InterfaceEvent::Down);
        // Gathered for a moment here, asked twice for an answer there.
        pair.pass(Duration::from_secs(4));
        assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [1, 1], "told");
        let got = pair.ends[0].got;
        pair.pass(Duration::from_secs(2));
        assert!(pair.ends[0].got > got + 100_000);
        pair.paths[path].cut = false;
        pair.interface(side, path, InterfaceEvent::Up);
        pair.await_subflows(2);
        pair.pass(Duration::from_secs(1));
        let sent = sent_during(&mut pair, Duration::from_secs(2));
        assert!(sent[path] > 20, "{side:?} {path}: {sent:?}");
        pair.assert_intact();
    }
}

#[test]
fn address_added_later_becomes_a_path() {
    for late in [Side::Client, Side::Server] {
        let mut pair = paths(&[10, 20]);
        let added = address(late, 1);
        pair.interface(late, 1, InterfaceEvent::AddressRemoved(added));
        // The connection reads its host's addresses when it begins, so the client's has it.
        pair.ends[0].to_write = 1;
        pair.ends[1].to_write = 1 << 40;
        pair.ends[1].hold_open = true;
        pair.rule = Some(pacer());
        pair.run_until(Duration::from_secs(9), |pair| pair.ends[0].got > 200_000);
        let before = [Side::Client, Side::Server].map(|side| pair.live(side));
        assert_eq!(before, [1, 1]);
        pair.interface(late, 1, InterfaceEvent::AddressAdded(added));
        pair.await_subflows(2);
        // It counts as one of the interface's from now on.
        pair.interface(late, 1, InterfaceEvent::Down);
        pair.paths[1].cut = true;
        pair.pass(Duration::from_secs(1));
        assert_eq!(pair.live(late), 1);
        pair.assert_intact();
    }
}

#[test]
fn flapping_interface_does_not_use_up_the_subflows() {
    let mut pair = paths(&[10, 12]);
    download(&mut pair);
    for _ in 0..80 {
        pair.interface(Side::Client, 1, InterfaceEvent::Down);
        // Changes are gathered for half a second.
        pair.pass(Duration::from_millis(600));
        assert_eq!(pair.live(Side::Client), 1);
        pair.interface(Side::Client, 1, InterfaceEvent::Up);
        pair.await_subflows(2);
    }
    pair.pass(Duration::from_secs(1));
    let sent = sent_during(&mut pair, Duration::from_secs(2));
    assert!(sent[1] > 20, "{sent:?}");
    pair.assert_intact();
}

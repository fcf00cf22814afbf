//! Paths that die and return: each way in which a subflow can end, or a join fail, while the
//! network gets well again, and that there is a subflow again soon (RFC 8684 s3.4, s3.6).

use crate::pair::{Pair, Path, Side, address, tcp};
use base::{Duration, InterfaceId};
use std::cell::Cell;
use std::rc::Rc;
use transport::InterfaceEvent;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{Endpoint, EndpointFlags, Endpoints, Limits, PathManagerKind};
use wire::Flags;
use wire::mptcp::MptcpOption;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Two paths, both in use, and room for no subflow more. The client sends now and then.
fn full() -> Pair {
    let config = MptcpConfig { max_extra_subflows: 1, ..MptcpConfig::default() };
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], config.clone(), config);
    pair.finish = false;
    pair.await_subflows(2);
    pair.transfer(50_000, 50_000);
    pair
}

/// Both sides have two subflows within this time.
fn expect_two(pair: &mut Pair, within: Duration) {
    pair.expect("two subflows", within, |pair| {
        [Side::Client, Side::Server].iter().all(|side| pair.live(*side) == 2)
    });
}

fn reset(pair: &mut Pair, path: usize, sides: &[Side]) {
    for side in sides {
        pair.reset(*side, path);
    }
}

/// Two paths, where all subflows lead to the server's first address: mainline's, and those by
/// gateways, which begin at the client's first one, too.
fn to_one_address(manager: PathManagerKind) -> Pair {
    let flags = EndpointFlags { subflow: true, ..EndpointFlags::default() };
    let endpoint = Endpoint { ip: address(Side::Client, 1), flags };
    let limits = Limits { subflows: 2, add_addr_accepted: 0 };
    let server = MptcpConfig {
        path_manager: manager,
        endpoints: Endpoints { endpoints: Vec::new(), limits },
        common_prefix_bits: Some(8),
        gateways: vec![InterfaceId(1)],
        ..MptcpConfig::default()
    };
    let endpoints = Endpoints { endpoints: vec![endpoint], limits };
    let client = MptcpConfig { endpoints, ..server.clone() };
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], client, server);
    pair.finish = false;
    pair.transfer(50_000, 50_000);
    pair.await_subflows(2);
    assert_eq!(pair.info(Side::Server).paths[1].local.ip(), address(Side::Server, 0));
    pair
}

/// It ended those of all paths at the server, or none at all.
#[test]
fn reset_of_a_path_ends_what_is_on_it_even_if_all_subflows_lead_to_one_address() {
    for manager in [PathManagerKind::Kernel, PathManagerKind::Binder] {
        for path in [0, 1] {
            let mut pair = to_one_address(manager);
            reset(&mut pair, path, &[Side::Client, Side::Server]);
            for side in [Side::Client, Side::Server] {
                let subflows = pair.info(side).paths;
                let live = subflows.iter().filter(|at| at.tcp.state == "ESTABLISHED");
                let live: Vec<InterfaceId> = live.map(|at| at.interface).collect();
                assert_eq!(live, [InterfaceId(1 - path as u16)], "{manager:?} at {side:?}");
            }
            pair.transfer(100_000, 100_000);
            pair.assert_intact();
        }
    }
}

/// All of them, or none.
#[test]
fn path_that_is_to_be_spared_is_that_of_the_interface_even_if_all_subflows_share_an_address() {
    for manager in [PathManagerKind::Kernel, PathManagerKind::Binder] {
        for path in [0, 1] {
            let mut pair = to_one_address(manager);
            pair.interface(Side::Client, path, InterfaceEvent::Backup(true));
            pair.pass(secs(1));
            for side in [Side::Client, Side::Server] {
                let backups: Vec<bool> = pair.info(side).paths.iter().map(|s| s.backup).collect();
                assert_eq!(backups, [path == 0, path == 1], "{manager:?} at {side:?}");
            }
        }
    }
}

#[test]
fn join_by_a_gateway_is_of_a_path_to_be_spared_if_its_interface_is() {
    for path in [0, 1] {
        let server =
            MptcpConfig { path_manager: PathManagerKind::Binder, ..MptcpConfig::default() };
        let client = MptcpConfig {
            gateways: vec![InterfaceId(1)],
            backup: vec![address(Side::Client, path)],
            ..server.clone()
        };
        let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], client, server);
        pair.finish = false;
        pair.transfer(50_000, 50_000);
        pair.await_subflows(2);
        pair.pass(secs(1));
        let backups: Vec<bool> = pair.info(Side::Server).paths.iter().map(|s| s.backup).collect();
        assert_eq!(backups, [path == 0, path == 1]);
    }
}

#[test]
fn path_that_is_reset_again_and_again_is_joined_each_time_a_second_later() {
    for path in [0, 1] {
        let mut pair = full();
        for _ in 0..3 {
            reset(&mut pair, path, &[Side::Client, Side::Server]);
            assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [1, 1]);
            expect_two(&mut pair, Duration::from_millis(1200));
            // The fourth packet comes.
            pair.pass(Duration::from_millis(100));
        }
        pair.assert_intact();
    }
}

#[test]
fn reset_that_strikes_a_join_is_no_refusal() {
    for wait in [1, 31, 61] {
        let mut pair = full();
        reset(&mut pair, 1, &[Side::Client, Side::Server]);
        // The SYN, the SYN/ACK or the third packet is on its way.
        pair.pass(secs(1) + Duration::from_millis(wait));
        reset(&mut pair, 1, &[Side::Client, Side::Server]);
        expect_two(&mut pair, secs(6));
    }
}

/// The server still has the old subflow, which fills its limit and sends nothing any more.
#[test]
fn join_that_finds_no_room_asks_whether_the_old_subflow_lives() {
    let mut pair = full();
    reset(&mut pair, 1, &[Side::Client]);
    assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [1, 2]);
    expect_two(&mut pair, secs(4));
    assert!(pair.stack(Side::Server).refused_joins() > 0);
    // A live one is not given away: it answers.
    let info = pair.info(Side::Server);
    assert_eq!(info.paths.iter().filter(|at| at.tcp.state == "ESTABLISHED").count(), 2);
}

#[test]
fn withdrawal_that_is_lost_does_not_keep_the_address_out() {
    let mut pair = full();
    pair.mangle = Some(Box::new(|_, _, packet| {
        let Some(segment) = tcp(packet) else { return true };
        let mut others = segment.options.mptcp.others().iter();
        let withdrawn = others.any(|option| matches!(option, MptcpOption::RemoveAddr { .. }));
        !withdrawn && !segment.flags.contains(Flags::RST)
    }));
    pair.interface(Side::Client, 1, InterfaceEvent::Down);
    pair.pass(secs(1));
    assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [1, 2]);
    pair.mangle = None;
    pair.interface(Side::Client, 1, InterfaceEvent::Up);
    expect_two(&mut pair, secs(4));
}

/// The kernels end subflows of withdrawn addresses at once, and so the new one, too.
#[test]
fn withdrawal_overtaken_by_the_return_of_its_address_costs_a_second() {
    let config = MptcpConfig { keepalive_on_withdrawal: false, ..MptcpConfig::default() };
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], config.clone(), config);
    pair.finish = false;
    pair.await_subflows(2);
    pair.paths[0].delay = secs(2);
    pair.interface(Side::Client, 1, InterfaceEvent::Down);
    pair.pass(Duration::from_millis(600));
    pair.interface(Side::Client, 1, InterfaceEvent::Up);
    pair.await_subflows(2);
    // It arrives.
    pair.pass(Duration::from_millis(1500));
    pair.expect("the end of the new one", secs(2), |pair| pair.live(Side::Client) == 1);
    expect_two(&mut pair, Duration::from_millis(1200));
}

#[test]
fn syn_is_repeated_at_short_intervals_after_the_return_of_its_address() {
    let mut pair = full();
    reset(&mut pair, 1, &[Side::Client, Side::Server]);
    pair.paths[1].cut = true;
    // One second later, then after 1, 2 and 4 s more; the next interval would be 8 s.
    pair.pass(secs(9));
    // The interface is there before its network is.
    pair.interface(Side::Client, 1, InterfaceEvent::Up);
    pair.pass(Duration::from_millis(500));
    pair.paths[1].cut = false;
    expect_two(&mut pair, secs(2));
}

#[test]
fn announcement_outlives_a_silence_of_the_path_it_goes_by() {
    let mut pair = full();
    // The server's address goes, and returns while nothing gets through on the other path.
    pair.interface(Side::Server, 1, InterfaceEvent::Down);
    pair.pass(secs(5));
    assert_eq!([Side::Client, Side::Server].map(|side| pair.live(side)), [1, 1]);
    pair.paths[0].cut = true;
    pair.interface(Side::Server, 1, InterfaceEvent::Up);
    pair.pass(secs(40));
    pair.paths[0].cut = false;
    // It has been repeated after 1, 2, 4, 8 and 16 s; the next time is 32 s later.
    expect_two(&mut pair, secs(30));
}

/// Three addresses, and a limit of two subflows.
#[test]
fn join_that_found_no_room_is_made_once_there_is() {
    let client = MptcpConfig { max_extra_subflows: 1, ..MptcpConfig::default() };
    let paths = [Path::ms(10), Path::ms(20), Path::ms(30)];
    let mut pair = Pair::new(&paths, client, MptcpConfig::default());
    pair.finish = false;
    pair.transfer(50_000, 50_000);
    let on_third = Rc::new(Cell::new(0));
    let count = Rc::clone(&on_third);
    pair.mangle = Some(Box::new(move |_, path, _| {
        count.set(count.get() + u32::from(path == 2));
        true
    }));
    pair.pass(secs(3));
    assert_eq!((pair.live(Side::Client), on_third.get()), (2, 0));
    pair.interface(Side::Client, 1, InterfaceEvent::Down);
    pair.pass(secs(10));
    assert_eq!(pair.live(Side::Client), 2);
    assert!(on_third.get() > 0);
}

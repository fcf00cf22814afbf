//! SYNs on all paths at once (001 s4.1.1).

use crate::pair::{PORT, Pair, Path, Side, address, tcp};
use base::{Duration, Instant};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use transport::mptcp::MptcpConfig;
use transport::scheduler::SchedulerChoice;
use wire::Flags;
use wire::mptcp::{MptcpOption, MptcpOptions};

fn client(paths: usize) -> MptcpConfig {
    let peer = |path| {
        let remote = SocketAddr::new(address(Side::Server, path), PORT);
        (address(Side::Client, path), remote)
    };
    let peers = (1..paths).map(peer).collect();
    MptcpConfig { simultaneous_syn: Some(peers), ..MptcpConfig::default() }
}

fn server() -> MptcpConfig {
    MptcpConfig { simultaneous_syn: Some(Vec::new()), ..MptcpConfig::default() }
}

fn pair(delays: &[u64], client: MptcpConfig, server: MptcpConfig) -> Pair {
    let paths: Vec<Path> = delays.iter().map(|ms| Path::ms(*ms)).collect();
    let mut pair = Pair::new(&paths, client, server);
    pair.ends[0].hold_open = true;
    pair.ends[0].to_write = 1;
    pair
}

/// When the server may send on this many paths.
fn ready(pair: &mut Pair, paths: usize) -> Duration {
    pair.run_until(Duration::from_secs(5), |pair| {
        let Some(info) = pair.try_info(Side::Server) else { return false };
        let open = info.paths.iter().filter(|subflow| subflow.tcp.state == "ESTABLISHED");
        open.count() == paths
    });
    pair.now - Instant::ZERO
}

#[test]
fn ss_1_second_path_is_ready_after_90_ms_instead_of_150() {
    let at = |client, server| ready(&mut pair(&[15, 30], client, server), 2).as_millis();
    assert_eq!(at(MptcpConfig::default(), MptcpConfig::default()), 150);
    assert_eq!(at(client(2), server()), 90);
}

#[test]
fn path_that_answers_before_the_first_waits_for_its_keys() {
    // The keys arrive at 90 ms on the first path, half a round trip later than those of a join
    // could have been proved.
    let mut pair = pair(&[30, 10], client(2), server());
    assert_eq!(ready(&mut pair, 2).as_millis(), 90);
    pair.transfer(100_000, 400_000);
    assert_eq!(pair.info(Side::Client).refused, 0);
}

#[test]
fn every_path_of_three_carries_data_and_none_is_joined_twice() {
    for delays in [[10, 20, 40], [40, 20, 10], [20, 20, 20]] {
        let mut pair = pair(&delays, client(3), server());
        ready(&mut pair, 3);
        pair.transfer(200_000, 600_000);
        pair.pass(Duration::from_secs(3));
        for side in [Side::Client, Side::Server] {
            let info = pair.info(side);
            assert_eq!(info.paths.len(), 3, "{delays:?} {side:?}");
            assert_eq!(info.refused, 0);
        }
        pair.assert_intact();
    }
}

#[test]
fn without_support_paths_are_joined_as_usual() {
    let mut pair = pair(&[15, 30], client(2), MptcpConfig::default());
    pair.ends[1].hold_open = true;
    pair.transfer(10_000, 10_000);
    pair.await_subflows(2);
    pair.transfer(100_000, 400_000);
    pair.assert_intact();
}

#[test]
fn plain_tcp_server_has_one_connection() {
    let mut pair = pair(&[15, 30], client(2), server());
    pair.mangle = Some(Box::new(|side, path, packet| {
        let Some(segment) = tcp(packet) else { return true };
        if side == Side::Server && path == 0 && segment.flags.contains(Flags::SYN) {
            segment.options.mptcp = MptcpOptions::default();
        }
        true
    }));
    pair.transfer(100_000, 100_000);
    assert!(pair.info(Side::Client).fallback);
    pair.assert_intact();
}

#[test]
fn any_lost_packet_of_the_group_delays_it_only() {
    for side in [Side::Client, Side::Server] {
        for path in 0..2 {
            for nth in 0..3 {
                let mut pair = pair(&[15, 30], client(2), server());
                let count = Rc::new(Cell::new(0));
                pair.mangle = Some(Box::new(move |from, over, packet| {
                    let counted = from == side && over == path && tcp(packet).is_some();
                    let number = count.get();
                    count.set(number + u32::from(counted));
                    !(counted && number == nth)
                }));
                pair.transfer(20_000, 20_000);
                pair.ends[0].to_write += 1000;
                pair.pass(Duration::from_secs(5));
                pair.await_subflows(2);
                pair.assert_intact();
            }
        }
    }
}

#[test]
fn forged_third_packet_joins_nothing() {
    let mut pair = pair(&[15, 30], client(2), server());
    pair.mangle = Some(Box::new(|side, path, packet| {
        let Some(segment) = tcp(packet) else { return true };
        let join = segment.options.mptcp.join();
        if side == Side::Client && path == 1 && join.is_some() {
            let hmac = [7; 20];
            let forged = wire::mptcp::Join::Ack { hmac };
            segment.options.mptcp = MptcpOption::Join(forged).into();
        }
        true
    }));
    pair.transfer(20_000, 20_000);
    assert_eq!(pair.live(Side::Server), 1);
    assert!(pair.info(Side::Server).refused > 0);
}

#[test]
fn flood_of_groups_is_bounded_and_forgotten() {
    let mut pair = pair(&[15, 30], MptcpConfig::default(), server());
    let option =
        |number| MptcpOption::Group(wire::mptcp::GroupSyn { backup: false, address_id: 1, number });
    for number in 0..1000u16 {
        let segment = wire::TcpSegment {
            src_port: 1000 + number,
            dst_port: PORT,
            flags: Flags::SYN,
            window: 1000,
            options: wire::TcpOptions {
                mptcp: option(u64::from(number)).into(),
                ..wire::TcpOptions::default()
            },
            ..wire::TcpSegment::default()
        };
        let (src, dst) = (address(Side::Client, 1), address(Side::Server, 1));
        let packet = wire::Packet::new(src, dst, wire::Body::Tcp(segment));
        pair.inject(Side::Server, 1, packet);
    }
    pair.transfer(20_000, 20_000);
    pair.assert_intact();
}

/// Only acknowledgements on the first subflow proved that the server knows the connection, so that
/// data were bound to be contiguous on every other one after the first one was reset. The scheduler
/// `linux` chose a path that had carried nothing before, and nothing more was sent.
#[test]
fn reset_of_the_first_path_before_its_first_answer_leaves_the_others_in_use() {
    let linux = MptcpConfig { scheduler: SchedulerChoice::linux(), ..client(3) };
    let mut pair = pair(&[27, 45, 0], linux, server());
    pair.run_until(Duration::from_secs(1), |pair| pair.ends.iter().all(|end| end.connected));
    pair.reset(Side::Client, 0);
    pair.pass(Duration::from_millis(99));
    pair.transfer(50_000, 0);
    pair.assert_intact();
}

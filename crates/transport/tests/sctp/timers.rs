//! Timers of an association as the wire shows them: T3-rtx, fast retransmission, fail-over with
//! potentially failed paths, and zero-window probes (RFC 9260 s6.1, s6.3.3, s7.2.4; RFC 7829 s5).

use crate::pair::{Client, DELAY, Fate, Pair, Passing, Server, address, config, message};
use base::{Duration, Instant};
use std::net::IpAddr;
use transport::sctp::SctpConfig;
use transport::{InterfaceEvent, SocketError, SocketEventKind};
use wire::sctp::{Chunk, Tsn};

/// TSNs of the data in a packet.
fn tsns(passing: &Passing) -> Vec<Tsn> {
    let tsn = |chunk: &Chunk| match chunk {
        Chunk::Data(data) => Some(data.tsn),
        _ => None,
    };
    passing.packet.chunks.iter().filter_map(tsn).collect()
}

/// Drops what goes to this address or comes from it.
fn cut(pair: &mut Pair, dead: IpAddr) {
    let is_cut = move |passing: &Passing| passing.dst == dead || passing.src == dead;
    pair.rule =
        Some(Box::new(move |passing| if is_cut(passing) { Fate::Drop } else { Fate::Pass }));
}

/// Milliseconds between an instant and the packets of the client that `is` accepts.
fn times(pair: &Pair, since: Instant, is: impl Fn(&Passing) -> bool) -> Vec<u64> {
    let sent = pair.sent(Client).filter(|passing| passing.at >= since && is(passing));
    sent.map(|passing| (passing.at - since).as_millis()).collect()
}

#[test]
fn t3_backs_off_from_1_s_on_a_path_alone() {
    // A potentially failed path gets heartbeats, too, whose loss is that of the data.
    for potentially_failed in [None, Some(0)] {
        let mut config = config();
        config.parameters.limits.potentially_failed = potentially_failed;
        let mut pair = Pair::open_with(1, config);
        pair.send(Client, message(0, 100));
        pair.pass(Duration::from_secs(1));
        cut(&mut pair, address(Server, 0));
        let start = pair.now;
        pair.send(Client, message(0, 100));
        pair.pass(Duration::from_secs(40));
        let sent = times(&pair, start, Passing::has_data);
        assert_eq!(sent, [0, 1000, 3000, 7000, 15_000, 31_000], "RTO 1, 2, 4, 8, 16 s");
    }
}

/// Regression: two chunks of 500 bytes leave room in a window of one packet, and a second packet
/// followed.
#[test]
fn one_packet_is_sent_after_a_time_out_until_it_is_acknowledged() {
    let mut pair = Pair::open(1);
    let start = pair.now;
    let returns = start + Duration::from_secs(5);
    pair.rule = Some(Box::new(move |sent| if sent.at < returns { Fate::Drop } else { Fate::Pass }));
    for _ in 0..8 {
        pair.send(Client, message(0, 500));
    }
    pair.pass(Duration::from_secs(7));
    let sent = times(&pair, start, Passing::has_data);
    assert_eq!(
        sent.iter().filter(|at| **at > 0).take(3).collect::<Vec<_>>(),
        [&1000, &3000, &7000]
    );
    assert_eq!(pair.host(Server).lens(), [], "{}", pair.describe());
    pair.pass(Duration::from_millis(100));
    assert_eq!(pair.host(Server).lens(), [500; 8], "without a delayed SACK: {}", pair.describe());
}

#[test]
fn acknowledgement_of_what_t3_took_for_lost_does_not_revive_the_path() {
    let mut pair = Pair::open(2);
    // Windows are large enough for twelve packets in one round trip.
    for _ in 0..5 {
        pair.send(Client, message(0, 14_520));
        pair.pass(Duration::from_secs(1));
    }
    let (start, primary) = (pair.now, address(Server, 0));
    let dies = start + Duration::from_millis(500);
    pair.rule = Some(Box::new(move |passing| {
        let is_lost = passing.src == primary || (passing.dst == primary && passing.at >= dies);
        if is_lost { Fate::Drop } else { Fate::Pass }
    }));
    // All of it arrives, and only SACKs are lost: the first retransmission is answered for all.
    pair.send(Client, message(0, 12 * 1452));
    pair.pass(Duration::from_millis(1500));
    pair.send(Client, message(0, 5000));
    pair.pass(Duration::from_secs(3));
    assert_eq!(pair.host(Server).lens().last(), Some(&5000), "{}", pair.describe());
    let is_late = |passing: &&Passing| passing.at >= dies && passing.dst == primary;
    let late = pair.sent(Client).filter(is_late).filter(|passing| passing.has_data());
    assert_eq!(late.count(), 0, "{}", pair.describe());
}

#[test]
fn dead_primary_is_potentially_failed_after_1_s_and_inactive_after_63_s() {
    let mut pair = Pair::open(2);
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    let primary = address(Server, 0);
    cut(&mut pair, primary);
    let start = pair.now;
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(90));
    assert_eq!(pair.host(Server).lens(), [100, 100]);
    let data = times(&pair, start, Passing::has_data);
    assert_eq!(data, [0, 1000], "sent again on the other path when T3 expires");
    let is_heartbeat = |chunk: &Chunk| matches!(chunk, Chunk::Heartbeat(_));
    let heartbeats =
        times(&pair, start, |passing| passing.dst == primary && passing.has(is_heartbeat));
    // The last one finds the path inactive: the next follows after HB.interval.
    assert_eq!(heartbeats, [1000, 3000, 7000, 15_000, 31_000]);
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    assert_eq!(pair.host(Server).lens(), [100, 100, 100], "at once on the other path");
}

/// Regression: it was sent on the dead path, and waited there for its long time-out although the
/// other path worked.
#[test]
fn what_is_lost_while_no_path_is_active_is_sent_again_on_that_with_the_fewest_errors() {
    let mut pair = Pair::open(2);
    let (primary, other) = (address(Server, 0), address(Server, 1));
    cut(&mut pair, primary);
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(10));
    assert_eq!(pair.host(Server).lens(), [100], "the primary had errors at 1, 3 and 7 s");
    let start = pair.now;
    pair.rule = Some(Box::new(move |passing| {
        let is_dead = passing.dst == primary || passing.src == primary;
        let is_lost = passing.at == start && passing.has_data();
        if is_dead || is_lost { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(3));
    let sent = pair.sent(Client).filter(|passing| passing.at >= start && passing.has_data());
    let sent: Vec<_> = sent.map(|sent| ((sent.at - start).as_millis(), sent.dst)).collect();
    assert_eq!(sent, [(0, other), (1000, other)], "{}", pair.describe());
    assert_eq!(pair.host(Server).lens(), [100, 100]);
}

/// Regression: chunks that waited for the window of one path held up those of the other one.
#[test]
fn retransmissions_on_one_path_do_not_wait_for_the_window_of_another() {
    let mut config = config();
    config.parameters.limits.potentially_failed = None;
    let mut pair = Pair::open_with(2, config);
    for _ in 0..4 {
        pair.send(Client, message(0, 14_520));
        pair.pass(Duration::from_secs(1));
    }
    let (start, primary, other) = (pair.now, address(Server, 0), address(Server, 1));
    let works = start + Duration::from_millis(1500);
    pair.rule = Some(Box::new(move |passing| {
        let is_lost = passing.dst == primary || (passing.has_data() && passing.at < works);
        if is_lost { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, message(0, 4 * 1452));
    pair.pass(Duration::from_secs(3));
    let on = |address| times(&pair, start, |sent| sent.dst == address && sent.has_data());
    // Of the three lost on the other path too the first one fills the window of the primary.
    assert_eq!(on(primary), [0, 0, 0, 0, 2000], "{}", pair.describe());
    assert_eq!(on(other), [1000, 1000, 1000, 2000], "{}", pair.describe());
    pair.pass(Duration::from_secs(30));
    assert_eq!(pair.host(Server).lens().last(), Some(&(4 * 1452)));
}

#[test]
fn third_report_retransmits_at_once_and_only_what_is_lost() {
    let mut pair = Pair::open(1);
    // Windows are large enough for eight packets in one round trip.
    for _ in 0..4 {
        pair.send(Client, message(0, 14_520));
        pair.pass(Duration::from_secs(1));
    }
    let start = pair.now;
    let mut lost = None;
    pair.rule = Some(Box::new(move |passing| {
        let is_first = lost.is_none() && passing.has_data();
        if is_first {
            lost = tsns(passing).first().copied();
        }
        if is_first { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, message(0, 8 * 1452));
    pair.pass(Duration::from_secs(5));
    let dropped = pair.sent(Client).find(|passing| passing.at >= start && passing.dropped);
    let tsn = tsns(dropped.expect("a lost packet"))[0];
    let again: Vec<u64> = times(&pair, start, |passing| tsns(passing).contains(&tsn));
    let round_trip = (DELAY + DELAY).as_millis();
    assert_eq!(again, [0, round_trip], "no time-out");
    let all = times(&pair, start, Passing::has_data);
    assert_eq!(all.len(), 9, "one packet twice");
    assert_eq!(pair.host(Server).lens(), [14_520, 14_520, 14_520, 14_520, 8 * 1452]);
}

#[test]
fn late_chunk_that_was_sent_again_is_a_spurious_retransmission() {
    let mut pair = Pair::open(1);
    for _ in 0..4 {
        pair.send(Client, message(0, 14_520));
        pair.pass(Duration::from_secs(1));
    }
    let late = Fate::Late(DELAY * 3);
    let mut is_first = true;
    pair.rule = Some(Box::new(move |passing| {
        let is_late = is_first && passing.has_data();
        is_first &= !is_late;
        if is_late { late } else { Fate::Pass }
    }));
    pair.send(Client, message(0, 8 * 1452));
    pair.pass(Duration::from_secs(5));
    let paths = pair.info(Client).paths;
    assert_eq!((paths[0].segs_retrans, paths[0].spurious_retrans), (1, 1));
}

#[test]
fn zero_window_is_probed_after_1_2_and_4_s() {
    let server = SctpConfig { receive_buffer: 6000, ..config() };
    let mut pair = Pair::new([1, 1], [config(), server]);
    pair.run_until("establishment", Duration::from_secs(2), |pair| {
        pair.hosts.iter().all(|host| host.is_open())
    });
    pair.hosts[Server as usize].paused = true;
    for _ in 0..20 {
        pair.send(Client, message(0, 1000));
    }
    pair.pass(Duration::from_secs(2));
    let closed = pair.sent(Server).filter(|passing| {
        passing.has(|chunk| matches!(chunk, Chunk::NrSack(sack) if sack.a_rwnd == 0))
    });
    let first = closed.map(|passing| passing.at).next().expect("a closed window");
    pair.pass(Duration::from_secs(30));
    let probes = times(&pair, first + DELAY + Duration::from_millis(1), Passing::has_data);
    let gaps: Vec<u64> = probes.windows(2).map(|pair| (pair[1] - pair[0]) / 100).collect();
    // What the peer still takes although it announces nothing is acknowledged; then it is full.
    let full = gaps.iter().position(|gap| *gap >= 15).expect("probes that back off");
    assert!(gaps[..full].iter().all(|gap| (9..=11).contains(gap)), "{probes:?}");
    assert_eq!(gaps[full..full + 3], [20, 40, 80], "tenths of a second: {probes:?}");
    assert!(!pair.host(Client).has(SocketEventKind::Failed(SocketError::TimedOut)));
    pair.hosts[Server as usize].paused = false;
    pair.receive(Server);
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.host(Server).lens(), [1000; 20], "nothing is lost");
}

/// Regression: the timer of a zero-window probe stopped with the path that went down, and the
/// sender waited for it for good if the SACK that opened the window was lost.
#[test]
fn zero_window_is_probed_on_another_path_when_the_one_of_the_timer_goes_down() {
    let server = SctpConfig { receive_buffer: 6000, ..config() };
    let mut pair = Pair::new([2, 2], [config(), server]);
    pair.run_until("establishment", Duration::from_secs(2), |pair| {
        pair.hosts.iter().all(|host| host.is_open())
    });
    pair.pass(Duration::from_secs(1));
    pair.hosts[Server as usize].paused = true;
    for _ in 0..20 {
        pair.send(Client, message(0, 1000));
    }
    let closes = |chunk: &Chunk| matches!(chunk, Chunk::NrSack(sack) if sack.a_rwnd == 0);
    pair.run_until("a closed window", Duration::from_secs(2), |pair| {
        pair.sent(Server).any(|passing| passing.has(closes))
    });
    pair.pass(Duration::from_millis(500));
    pair.rule =
        Some(Box::new(|passing| if passing.from == Server { Fate::Drop } else { Fate::Pass }));
    pair.hosts[Server as usize].paused = false;
    pair.receive(Server);
    pair.settle();
    pair.interface(Client, 0, InterfaceEvent::Down);
    pair.pass(Duration::from_millis(100));
    pair.rule = None;
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.host(Server).lens(), [1000; 20]);
}

/// Regression: a path that took the place of an idle one owed a packet that did not exist, as if
/// data waited there for T3-rtx: heartbeats without an answer were no errors.
#[test]
fn idle_association_notices_that_the_peer_is_gone_after_an_address_was_removed() {
    let mut pair = Pair::open(2);
    pair.pass(Duration::from_secs(5));
    pair.interface(Client, 0, InterfaceEvent::AddressRemoved(address(Client, 0)));
    pair.pass(Duration::from_secs(5));
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.pass(Duration::from_secs(1000));
    for side in [Client, Server] {
        let last = pair.host(side).events.last();
        assert_eq!(last, Some(&SocketEventKind::Failed(SocketError::TimedOut)), "{side:?}");
    }
}

/// Regression: only the path left fast recovery when its interface went down, and its controller
/// did not: the window never grew again, and the next loss did not cut it.
#[test]
fn window_grows_again_after_the_interface_went_down_in_fast_recovery() {
    let mut config = config();
    config.parameters.max_burst = 0;
    let mut pair = Pair::open_with(1, config);
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        count += u32::from(passing.has_data());
        if passing.has_data() && count == 6 { Fate::Drop } else { Fate::Pass }
    }));
    pair.send(Client, message(0, 40 * 1452));
    pair.run_until("a cut", Duration::from_secs(1), |pair| {
        pair.cwnds(Client).windows(2).any(|pair| pair[1] < pair[0])
    });
    pair.interface(Client, 0, InterfaceEvent::Down);
    pair.pass(Duration::from_millis(50));
    pair.interface(Client, 0, InterfaceEvent::Up);
    pair.pass(Duration::from_secs(5));
    let before = *pair.cwnds(Client).last().expect("a window");
    for _ in 0..20 {
        pair.send(Client, message(0, 40 * 1452));
        pair.pass(Duration::from_millis(300));
    }
    assert_eq!(pair.host(Server).received.len(), 21);
    let after = *pair.cwnds(Client).last().expect("a window");
    assert!(after > 2 * before, "{before} and {after} bytes");
}

/// Regression: an answer that came after the time-out of its heartbeat did not count, and the path
/// of an interface that had returned was not used for another 30 s.
#[test]
fn late_answer_to_a_heartbeat_brings_the_path_of_an_interface_back() {
    let mut pair = Pair::open(2);
    pair.pass(Duration::from_secs(1));
    pair.interface(Client, 0, InterfaceEvent::Down);
    pair.pass(Duration::from_secs(1));
    pair.rule = Some(Box::new(|passing: &Passing| {
        match passing.has(|chunk| matches!(chunk, Chunk::HeartbeatAck(_))) {
            true => Fate::Late(Duration::from_millis(1200)),
            false => Fate::Pass,
        }
    }));
    pair.interface(Client, 0, InterfaceEvent::Up);
    let source_of_the_next = |pair: &mut Pair| {
        pair.send(Client, message(0, 1000));
        pair.pass(Duration::from_millis(500));
        pair.sent(Client).filter(|passing| passing.has_data()).last().map(|passing| passing.src)
    };
    assert_eq!(source_of_the_next(&mut pair), Some(address(Client, 1)), "not proved yet");
    pair.pass(Duration::from_secs(2));
    assert_eq!(source_of_the_next(&mut pair), Some(address(Client, 0)));
}

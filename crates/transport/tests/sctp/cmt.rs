//! CMT-SCTP between two hosts with two interfaces each: data on both paths at once.

use crate::pair::{Client, Fate, Pair, Passing, Server, address, config, message};
use base::{Duration, Instant};
use std::collections::BTreeSet;
use std::net::IpAddr;
use transport::InterfaceEvent;
use transport::sctp::cmt::{
    BufferSplit, CmtConfig, PathBlocking, PathMode, PrimaryFirst, Rescheduling, RttRule, SackPath,
    Sides,
};
use transport::sctp::{RtxPolicy, SctpConfig, SendRules};
use wire::sctp::{Chunk, DataFlags, Features, Tsn};

const FULL: usize = 1452;

fn cmt(cmt: CmtConfig) -> SctpConfig {
    SctpConfig { cmt: Some(cmt), ..config() }
}

fn local(path: usize) -> IpAddr {
    address(Client, path)
}

/// Data of the client: when, from which address, TSN and flags.
fn data(pair: &Pair, since: Instant) -> Vec<(Instant, IpAddr, Tsn, DataFlags)> {
    let mut all = Vec::new();
    for passing in pair.sent(Client).filter(|passing| passing.at >= since) {
        for chunk in &passing.packet.chunks {
            if let Chunk::Data(data) = chunk {
                all.push((passing.at, passing.src, data.tsn, data.flags));
            }
        }
    }
    all
}

/// Packets with data from the client's second address.
fn is_second(passing: &Passing) -> bool {
    passing.from == Client && passing.has_data() && passing.src == local(1)
}

/// The first chunk of the second path does not arrive for three seconds; milliseconds until it is
/// sent on the first one, and whether its SACK is asked for at once.
fn moved_after(reschedule: Rescheduling, nr_sack: bool) -> (u64, bool) {
    moved_within(reschedule, nr_sack, config().receive_buffer)
}

fn moved_within(reschedule: Rescheduling, nr_sack: bool, receive_buffer: u32) -> (u64, bool) {
    let features = config().features.0;
    let features = Features(if nr_sack { features } else { features & !Features::NR_SACK.0 });
    let with = CmtConfig { reschedule, ..CmtConfig::default() };
    let with = SctpConfig { receive_buffer, send_buffer: 65_536, features, ..cmt(with) };
    let mut pair = Pair::open_with(2, with);
    let start = pair.now;
    let late = Fate::Late(Duration::from_secs(3));
    pair.rule = Some(Box::new(move |passing| if is_second(passing) { late } else { Fate::Pass }));
    for _ in 0..44 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_secs(20));
    assert_eq!(pair.host(Server).lens(), [FULL as u32; 44], "exactly once");
    let sent = data(&pair, start);
    let lowest = sent.iter().find(|(_, src, ..)| *src == local(1)).expect("both paths send").2;
    let again = sent.iter().find(|(_, src, tsn, _)| *src == local(0) && *tsn == lowest);
    let (at, .., flags) = again.expect("it is sent again");
    ((*at - start).as_millis(), flags.contains(DataFlags::IMMEDIATE))
}

#[test]
fn chunk_that_blocks_the_send_buffer_is_moved_to_the_path_with_room() {
    let (moved, immediate) = moved_after(Rescheduling::of(Sides::Sender), false);
    assert!(moved < 500 && immediate, "after {moved} ms");
    let (timed_out, _) = moved_after(Rescheduling::of(Sides::None), false);
    assert!(timed_out >= 1000, "T3-rtx: {timed_out} ms");
}

/// What the peer keeps for good takes no room of the send buffer.
#[test]
fn chunk_is_not_moved_while_nr_sacks_free_the_send_buffer() {
    let (timed_out, _) = moved_after(Rescheduling::of(Sides::Sender), true);
    assert!(timed_out >= 1000, "{timed_out} ms");
}

/// It takes room of the receive buffer until the lowest chunk arrives.
#[test]
fn chunk_that_blocks_the_receive_buffer_is_moved_although_nr_sacks_free_the_send_buffer() {
    let receiver = Rescheduling::of(Sides::Receiver);
    let (moved, immediate) = moved_within(receiver, true, 65_536);
    assert!(moved < 500 && immediate, "after {moved} ms");
    let (timed_out, _) = moved_within(receiver, true, 1 << 20);
    assert!(timed_out >= 1000, "half of a large buffer is not full: {timed_out} ms");
}

/// Most of what is sent on one path at once is lost there: `asap` draws a path for each
/// retransmission, and not one for all of them.
#[test]
fn policy_chooses_the_path_of_every_retransmission_after_a_time_out() {
    let mut with = SctpConfig { rtx_policy: RtxPolicy::Asap, ..cmt(CmtConfig::default()) };
    with.parameters.limits.potentially_failed = None;
    let mut pair = Pair::open_with(2, with);
    let mut rounds = Vec::new();
    for _ in 0..10 {
        // Its window grows again.
        for _ in 0..60 {
            pair.send(Client, message(0, FULL));
        }
        pair.pass(Duration::from_secs(10));
        pair.rule =
            Some(Box::new(|passing| if is_second(passing) { Fate::Drop } else { Fate::Pass }));
        for _ in 0..40 {
            pair.send(Client, message(0, FULL));
        }
        pair.pass(Duration::from_millis(500));
        pair.rule = None;
        let start = pair.now;
        pair.pass(Duration::from_secs(10));
        let again = data(&pair, start);
        let on = |path| again.iter().filter(|(_, src, ..)| *src == local(path)).count();
        rounds.push([on(0), on(1)]);
    }
    assert_eq!(pair.host(Server).lens(), [FULL as u32; 1000]);
    let mixed = rounds.iter().filter(|on| on[0] > 0 && on[1] > 0).count();
    assert!(mixed > 5, "{rounds:?}");
}

/// Packets of 1016 bytes, of which five exceed a window of 4404.
#[test]
fn strict_booking_lets_no_packet_exceed_the_sum_of_windows() {
    let sent = |strict_booking| {
        let with = CmtConfig { strict_booking, ..CmtConfig::default() };
        let mut pair = Pair::open_with(2, cmt(with));
        let start = pair.now;
        for _ in 0..12 {
            pair.send(Client, message(0, 1000));
        }
        data(&pair, start).len()
    };
    assert_eq!([false, true].map(sent), [10, 8]);
}

/// Regression: SACKs went to a primary that was dead, and nothing sent over the other path was
/// acknowledged until the association failed.
#[test]
fn sack_leaves_a_dead_primary_when_data_come_twice() {
    let with = CmtConfig { sack_path: SackPath::Primary, ..CmtConfig::default() };
    let mut pair = Pair::open_with(2, cmt(with));
    let dead = [local(0), address(Server, 0)];
    pair.rule = Some(Box::new(move |passing| match dead.contains(&passing.src) {
        true => Fate::Drop,
        false => Fate::Pass,
    }));
    for _ in 0..20 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_secs(5));
    let is_sack = |chunk: &Chunk| matches!(chunk, Chunk::NrSack(_));
    let arrives = |passing: &Passing| !passing.dropped && passing.has(is_sack);
    // Before a heartbeat of the server finds the path dead.
    assert!(pair.sent(Server).any(arrives));
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.host(Server).lens(), [FULL as u32; 20]);
}

/// New chunks on the second path in the second after it lost one.
fn sent_after_loss(blocking: PathBlocking) -> usize {
    let with = CmtConfig { blocking, ..CmtConfig::default() };
    let congestion = "cmtrpv1".parse().expect("a control");
    let mut pair = Pair::open_with(2, SctpConfig { congestion, ..cmt(with) });
    let mut count = 0;
    pair.rule = Some(Box::new(move |passing| {
        count += u32::from(is_second(passing));
        if is_second(passing) && count == 2 { Fate::Drop } else { Fate::Pass }
    }));
    let start = pair.now;
    for _ in 0..400 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_secs(1));
    let lost = pair.sent(Client).find(|passing| passing.dropped).expect("a lost packet");
    let first = lost.packet.chunks.iter().find_map(|chunk| match chunk {
        Chunk::Data(data) => Some(data.tsn),
        _ => None,
    });
    let (first, lost) = (first.expect("a chunk"), data(&pair, lost.at));
    let again = lost.iter().filter(|(_, _, tsn, _)| *tsn == first).nth(1).expect("sent again").0;
    let highest = |until: Instant| {
        let before = data(&pair, start).into_iter().filter(|(at, ..)| *at <= until);
        before.map(|(.., tsn, _)| tsn.distance_from(first)).max().expect("data")
    };
    let known = highest(again);
    let all = data(&pair, again);
    let new = |(at, src, tsn, _): &&(Instant, IpAddr, Tsn, DataFlags)| {
        *at > again && *src == local(1) && tsn.distance_from(first) > known
    };
    all.iter().filter(new).count()
}

#[test]
fn path_whose_window_would_be_less_than_a_packet_rests_for_an_rto() {
    assert_eq!(sent_after_loss(PathBlocking::On), 0);
    assert!(sent_after_loss(PathBlocking::Off) > 0);
}

/// An association whose first path takes 50 ms more in each direction.
fn slow_first(config: CmtConfig, server: SctpConfig) -> Pair {
    let mut pair = Pair::new([2, 2], [cmt(config), server]);
    let late = Fate::Late(Duration::from_millis(50));
    let first: [IpAddr; 2] = [local(0), address(Server, 0)];
    pair.rule =
        Some(Box::new(move |passing| if first.contains(&passing.src) { late } else { Fate::Pass }));
    pair.run_until("establishment", Duration::from_secs(5), |pair| {
        pair.hosts.iter().all(crate::pair::Host::is_open)
    });
    pair.pass(Duration::from_secs(1));
    pair
}

/// Regression: new data on other paths took the room of lost chunks that were about to be sent
/// again. The peer, whose window was closed, dropped them until the association failed.
#[test]
fn new_data_leave_the_room_of_lost_chunks_to_their_retransmission() {
    let none = BufferSplit { sides: Sides::None, ..BufferSplit::default() };
    let with = CmtConfig {
        buffer_split: none,
        reschedule: Rescheduling::of(Sides::None),
        ..CmtConfig::default()
    };
    let rtx_policy = RtxPolicy::Rtt;
    let with = SctpConfig { receive_buffer: 30_000, rtx_policy, ..cmt(with) };
    let mut pair = Pair::open_with(3, with);
    pair.hosts[Server as usize].paused = true;
    // Retransmissions take the last path, which is the fastest.
    pair.rule = Some(Box::new(|passing| match passing.src {
        src if passing.has_data() && src == local(0) => Fate::Drop,
        src if src == local(1) => Fate::Late(Duration::from_millis(5)),
        _ => Fate::Pass,
    }));
    let start = pair.now;
    for _ in 0..60 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_millis(500));
    let tsns = |pair: &Pair| data(pair, start).iter().map(|sent| sent.2.0).collect::<BTreeSet<_>>();
    let before = tsns(&pair);
    pair.pass(Duration::from_millis(1400));
    let again = data(&pair, start).len() - before.len();
    assert!(again >= 2, "{again} chunks of the first path are sent again");
    assert_eq!(tsns(&pair).len(), before.len(), "the peer has no room for others");
}

#[test]
fn zero_window_is_probed_on_the_fastest_path() {
    let server = SctpConfig { receive_buffer: 6000, ..cmt(CmtConfig::default()) };
    let mut pair = slow_first(CmtConfig::default(), server);
    pair.hosts[Server as usize].paused = true;
    for _ in 0..20 {
        pair.send(Client, message(0, 1000));
    }
    pair.pass(Duration::from_secs(2));
    let start = pair.now;
    pair.pass(Duration::from_secs(30));
    let probes = data(&pair, start);
    assert!(probes.len() >= 3, "{probes:?}");
    assert!(probes.iter().all(|(_, src, ..)| *src == local(1)), "{probes:?}");
    pair.hosts[Server as usize].paused = false;
    pair.receive(Server);
    pair.pass(Duration::from_secs(60));
    assert_eq!(pair.host(Server).lens(), [1000; 20]);
}

/// The smoothed round trip of the slow path in ms after data whose SACKs take the fast one.
fn srtt_of_slow_path(rtt: RttRule) -> u64 {
    let server = CmtConfig { sack_path: SackPath::SmallestSrtt, ..CmtConfig::default() };
    let mut pair = slow_first(CmtConfig { rtt, ..CmtConfig::default() }, cmt(server));
    // One message on either path in turn.
    for _ in 0..300 {
        pair.send(Client, message(0, FULL));
        pair.pass(Duration::from_millis(5));
    }
    let info = pair.info(Client);
    info.paths[0].tcp.srtt.as_millis()
}

/// 120 ms; SACKs that come back on the fast path make it 70.
#[test]
fn round_trip_of_a_slow_path_is_that_of_sacks_on_it() {
    assert!(srtt_of_slow_path(RttRule::AnyPath) < 100);
    for rule in [RttRule::SamePath, RttRule::SlowPath] {
        let srtt = srtt_of_slow_path(rule);
        assert!((115..400).contains(&srtt), "{rule:?}: {srtt} ms");
    }
}

#[test]
fn fastest_path_becomes_the_primary_when_it_is_verified() {
    let is_primary = |prefers_fastest| {
        let with =
            CmtConfig { prefers_fastest, sack_path: SackPath::Primary, ..CmtConfig::default() };
        let mut pair = slow_first(with, cmt(with));
        let start = pair.now;
        // The server has its own view: SACKs go to its primary.
        for _ in 0..8 {
            pair.send(Client, message(0, FULL));
        }
        pair.pass(Duration::from_secs(1));
        let is_sack = |chunk: &Chunk| matches!(chunk, Chunk::Sack(_) | Chunk::NrSack(_));
        let sacks = pair.sent(Server).filter(|passing| passing.at >= start && passing.has(is_sack));
        let sources: Vec<IpAddr> = sacks.map(|passing| passing.src).collect();
        assert!(!sources.is_empty());
        sources.iter().all(|src| *src == address(Server, 1))
    };
    assert!(is_primary(true));
    assert!(!is_primary(false));
}

/// A path that dies: its chunks are moved by T3-rtx, and a late SACK for them counts for their new
/// path and not as a sign of life of the old one.
#[test]
fn late_sack_for_chunks_of_a_dead_path_counts_for_their_new_path() {
    let mut pair = Pair::open_with(2, cmt(CmtConfig::default()));
    let start = pair.now;
    pair.rule = Some(Box::new(|passing: &Passing| {
        let of_path = passing.src == local(1) || passing.src == address(Server, 1);
        if of_path { Fate::Drop } else { Fate::Pass }
    }));
    for _ in 0..60 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_secs(90));
    assert_eq!(pair.host(Server).lens(), [FULL as u32; 60]);
    let later = data(&pair, start + Duration::from_secs(70));
    assert!(later.is_empty(), "{later:?}");
    let second = pair.info(Client).paths[1].tcp.srtt;
    assert!(second <= Duration::from_millis(25), "no sample by chunks sent twice: {second}");
}

#[test]
fn new_data_avoid_a_path_that_may_have_failed_while_another_is_active() {
    let mut pair = Pair::open_with(2, cmt(CmtConfig::default()));
    pair.rule = Some(Box::new(|passing: &Passing| {
        let of_path = passing.src == local(1) || passing.src == address(Server, 1);
        if of_path { Fate::Drop } else { Fate::Pass }
    }));
    for _ in 0..8 {
        pair.send(Client, message(0, FULL));
    }
    // T3-rtx of the second path.
    pair.pass(Duration::from_secs(2));
    let start = pair.now;
    for _ in 0..40 {
        pair.send(Client, message(0, FULL));
    }
    pair.pass(Duration::from_secs(5));
    let sent = data(&pair, start);
    assert!(sent.len() >= 40 && sent.iter().all(|(_, src, ..)| *src == local(0)), "{sent:?}");
    // With both of them dead data go on one that may have failed.
    pair.rule = Some(Box::new(|_| Fate::Drop));
    pair.send(Client, message(0, FULL));
    pair.pass(Duration::from_secs(3));
    pair.rule = None;
    let start = pair.now;
    pair.pass(Duration::from_secs(60));
    assert!(!data(&pair, start).is_empty());
    assert_eq!(pair.host(Server).lens(), [FULL as u32; 49]);
}

/// Two small messages at once with Nagle's algorithm: milliseconds until each is sent, its path,
/// and whether a SACK is asked for.
fn two_small_ones(sending: SendRules) -> Vec<(u64, IpAddr, bool)> {
    let with = CmtConfig { primary_first: PrimaryFirst::Always, ..CmtConfig::default() };
    let mut with = SctpConfig { nagle: true, ..cmt(with) };
    with.parameters.sending = sending;
    let mut pair = Pair::open_with(2, with);
    // The first SACK of an association is not delayed.
    pair.send(Client, message(0, 100));
    pair.pass(Duration::from_secs(1));
    let start = pair.now;
    for _ in 0..2 {
        pair.send(Client, message(0, 100));
    }
    pair.pass(Duration::from_secs(1));
    let asks = |flags: &DataFlags| flags.contains(DataFlags::IMMEDIATE);
    let sent = data(&pair, start);
    sent.iter().map(|(at, src, _, flags)| ((*at - start).as_millis(), *src, asks(flags))).collect()
}

/// `sendOnPath` of INET compares with what its own path has outstanding.
#[test]
fn small_message_takes_the_path_without_data_where_nagle_asks_by_path() {
    let usual = config().parameters.sending;
    let on = |path| (0, local(path), false);
    let by_path = SendRules { nagle_by_path: true, ..usual };
    assert_eq!(two_small_ones(by_path), [on(0), on(1)]);
    let late = (220, local(0), false);
    assert_eq!(two_small_ones(usual), [on(0), late], "the delayed SACK lets it go");
}

#[test]
fn sack_is_asked_for_where_no_more_packets_follow_on_the_path() {
    let asking = SendRules { asks_for_sacks: true, ..config().parameters.sending };
    let sent = [(0, local(0), true), (20, local(0), true)];
    assert_eq!(two_small_ones(asking), sent, "after a round trip");
    let sent = [(0, local(0), true), (0, local(1), true)];
    assert_eq!(two_small_ones(SendRules { nagle_by_path: true, ..asking }), sent);
}

/// The client's second address is replaced by another one, `count` times; returns the last one.
fn hand_over(pair: &mut Pair, count: u8) -> IpAddr {
    let mut old = local(1);
    for number in 0..count {
        let new = IpAddr::from([10, 0, 2, 50 + number]);
        pair.interface(Client, 1, InterfaceEvent::AddressAdded(new));
        pair.pass(Duration::from_secs(2));
        pair.interface(Client, 1, InterfaceEvent::AddressRemoved(old));
        pair.pass(Duration::from_secs(2));
        old = new;
    }
    old
}

/// Regression: paths whose address was deleted went on to take their shares of the buffers.
#[test]
fn paths_that_are_deleted_have_no_share_of_the_buffers() {
    let after = |handovers| {
        let buffers =
            SctpConfig { send_buffer: 60_000, receive_buffer: 60_000, ..cmt(CmtConfig::default()) };
        let mut pair = Pair::open_with(2, buffers);
        hand_over(&mut pair, handovers);
        let start = pair.now;
        let mut sent = 0;
        while sent < 1000 {
            let socket = pair.socket(Client);
            while sent < 1000
                && pair.stack(Client).send_message(socket, message(0, 1400)) == Ok(true)
            {
                sent += 1;
            }
            pair.pass(Duration::from_millis(5));
        }
        pair.run_until("all messages", Duration::from_secs(10), |pair| {
            pair.host(Server).received.len() == 1000
        });
        (pair.now - start).as_millis()
    };
    let (without, with) = (after(0), after(6));
    assert!(with * 10 < without * 12, "{with} ms in place of {without} ms");
}

/// Regression: a mesh had eight paths in its life.
#[test]
fn mesh_has_paths_from_the_last_address_after_many_others() {
    let mesh = CmtConfig { path_mode: PathMode::Mesh, ..CmtConfig::default() };
    let mut pair = Pair::open_with(2, cmt(mesh));
    let last = hand_over(&mut pair, 6);
    for _ in 0..20 {
        pair.send(Client, message(0, 1400));
    }
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.host(Server).received.len(), 20);
    assert!(pair.sent(Client).any(|passing| passing.has_data() && passing.src == last));
}

/// Regression: the controller of coupled windows counted the path that was deleted.
#[test]
fn window_of_a_path_that_is_deleted_ends_and_begins_anew_when_the_address_returns() {
    for congestion in ["reno", "lia", "olia"] {
        let congestion = congestion.parse().expect("a controller");
        let mut pair = Pair::open_with(2, SctpConfig { congestion, ..cmt(CmtConfig::default()) });
        let windows = |pair: &Pair| -> Vec<u32> {
            pair.info(Client).paths.iter().map(|path| path.tcp.cwnd_segs).collect()
        };
        let first = windows(&pair);
        for _ in 0..5 {
            pair.send(Client, message(0, 40 * FULL));
            pair.pass(Duration::from_secs(1));
        }
        pair.interface(Client, 1, InterfaceEvent::AddressRemoved(local(1)));
        pair.pass(Duration::from_secs(1));
        let [left, gone] = windows(&pair)[..] else { panic!("two paths") };
        assert!(left > first[0] && gone == 0, "{left} and {gone}");
        pair.send(Client, message(0, 40 * FULL));
        pair.pass(Duration::from_secs(1));
        pair.interface(Client, 1, InterfaceEvent::AddressAdded(local(1)));
        pair.pass(Duration::from_secs(1));
        assert_eq!(windows(&pair)[1], first[1]);
        pair.send(Client, message(0, 100 * FULL));
        pair.pass(Duration::from_secs(1));
        assert_eq!(pair.host(Server).received.len(), 7);
    }
}

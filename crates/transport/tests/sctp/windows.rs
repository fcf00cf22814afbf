//! Congestion windows of an association, driven by SACKs of a hand-made peer (RFC 9260 s7.2).

use crate::pair::{Client, Fate, Pair, Server, Window, config, message};
use base::Duration;
use transport::sctp::{InitialWindow, SctpConfig, SctpProfile};
use wire::sctp::{Chunk, GapBlock, Sack, Tsn};

/// The largest DATA chunk of a path with an MTU of 1500 bytes, and the data in it.
const PMDCS: u64 = 1468;
const FULL: usize = 1452;

/// An open association whose data never arrive; the server's window is the threshold.
fn driven(server: SctpConfig, client: SctpConfig) -> Pair {
    let mut pair = Pair::new([1, 1], [client, server]);
    pair.run_until("establishment", Duration::from_secs(1), |pair| {
        pair.hosts.iter().all(crate::pair::Host::is_open)
    });
    pair.pass(Duration::from_millis(100));
    pair.rule = Some(Box::new(|passing| if passing.has_data() { Fate::Drop } else { Fate::Pass }));
    pair
}

/// TSNs of the DATA that the client has sent, in their order.
fn tsns(pair: &Pair) -> Vec<Tsn> {
    let tsn = |(_, chunk): (_, &Chunk)| match chunk {
        Chunk::Data(data) => Some(data.tsn),
        _ => None,
    };
    pair.chunks(Client).filter_map(tsn).collect()
}

/// The peer acknowledges everything up to the `cum`-th chunk, from 1, and blocks behind it.
fn sack(pair: &mut Pair, cum: u32, gaps: &[(u16, u16)]) {
    sack_with(pair, cum, gaps, 1_000_000);
}

/// The same, with this window of the peer.
fn sack_with(pair: &mut Pair, cum: u32, gaps: &[(u16, u16)], a_rwnd: u32) {
    let first = tsns(pair)[0];
    let gaps = gaps.iter().map(|(start, end)| GapBlock { start: *start, end: *end }).collect();
    let sack = Sack { cum_tsn: first + cum - 1, a_rwnd, gaps, ..Sack::default() };
    pair.forge(Client, vec![Chunk::Sack(sack)]);
}

/// The trace of four SACKs, of which the last one is the third that misses TSN 3.
fn fast_retransmit(client: SctpConfig) -> Pair {
    fast_retransmit_with(client, 1_000_000)
}

/// The same, where the last SACK has this window of the peer.
fn fast_retransmit_with(client: SctpConfig, a_rwnd: u32) -> Pair {
    let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, client);
    for _ in 0..6 {
        pair.send(Client, message(0, FULL));
    }
    assert_eq!(tsns(&pair).len(), 3, "4404 bytes");
    sack(&mut pair, 2, &[]);
    let first = tsns(&pair)[0];
    assert_eq!(tsns(&pair).len(), 6, "4, 5 and 6 follow");
    sack(&mut pair, 2, &[(2, 2)]);
    sack(&mut pair, 2, &[(2, 3)]);
    assert_eq!(tsns(&pair).len(), 6, "twice is not enough");
    sack_with(&mut pair, 2, &[(2, 4)], a_rwnd);
    assert_eq!(tsns(&pair)[6..], [first + 2], "3 is sent again at once, and nothing else");
    pair
}

#[test]
fn fast_retransmit_trace_of_four_sacks() {
    let pair = fast_retransmit(config());
    assert_eq!(pair.cwnds(Client), [4404, 5872, 7340, 5872]);
    let last = pair.windows(Client).last().and_then(|window| window.ssthresh);
    assert_eq!(last, Some(4 * PMDCS), "max(7340 / 2, 4 PMDCS)");
}

#[test]
fn lost_chunk_is_sent_again_although_the_window_of_the_peer_is_closed() {
    let mut pair = fast_retransmit_with(config(), 0);
    pair.send(Client, message(0, FULL));
    assert_eq!(tsns(&pair).len(), 7, "RFC 9260 s6.1 A and C: new data wait");
}

#[test]
fn lost_chunk_gives_back_its_room_in_the_window_of_the_peer_once() {
    let mut pair = fast_retransmit_with(config(), 2 * PMDCS as u32);
    for _ in 0..3 {
        pair.send(Client, message(0, FULL));
    }
    let first = tsns(&pair)[0];
    assert_eq!(tsns(&pair)[6..], [first + 2, first + 6], "two chunks are outstanding");
}

#[test]
fn window_grows_with_the_cumulative_tsn_only_if_the_profile_says_so() {
    let mut client = config();
    client.parameters.grows_with_cum_tsn = true;
    let pair = fast_retransmit(client);
    assert_eq!(pair.cwnds(Client), [4404, 5872, 5872], "the second SACK grows nothing");
}

#[test]
fn congestion_avoidance_adds_one_chunk_for_a_window_that_was_acknowledged() {
    let server = SctpConfig { receive_buffer: 14_680, ..config() };
    let mut pair = driven(server, config());
    for _ in 0..40 {
        pair.send(Client, message(0, FULL));
    }
    let mut windows = vec![];
    for sacks in 1..=14 {
        sack(&mut pair, 2 * sacks, &[]);
        windows.push(*pair.cwnds(Client).last().expect("a window"));
    }
    // Slow start up to the threshold, and once more at it.
    let slow_start = (1..=8).map(|sack| 4404 + sack * PMDCS);
    let avoidance = [16_148; 5].into_iter().chain([17_616]);
    assert_eq!(windows, slow_start.chain(avoidance).collect::<Vec<_>>());
}

#[test]
fn split_acknowledgements_grow_the_window_by_no_more_than_they_acknowledge() {
    let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, config());
    for _ in 0..200 {
        pair.send(Client, message(0, 100));
    }
    let chunk = 116;
    for (acked, cwnd) in (1..=30).zip((1..).map(|acked| 4404 + acked * chunk)) {
        sack(&mut pair, acked, &[]);
        assert_eq!(pair.cwnds(Client).last(), Some(&cwnd), "{acked} chunks");
        // The same again acknowledges nothing.
        sack(&mut pair, acked, &[]);
        assert_eq!(pair.cwnds(Client).last(), Some(&cwnd), "{acked} chunks");
    }
}

#[test]
fn one_sack_adds_no_more_than_the_limit_of_the_profile_in_slow_start() {
    for (profile, limit) in [(SctpProfile::Rfc9260, 1), (SctpProfile::Bsd, 2)] {
        let mut client = SctpConfig::of(profile);
        client.parameters.initial_window = InitialWindow::Rfc9260;
        let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, client);
        for _ in 0..6 {
            pair.send(Client, message(0, FULL));
        }
        sack(&mut pair, 3, &[]);
        assert_eq!(pair.cwnds(Client), [4404, 4404 + limit * PMDCS], "{profile:?}");
    }
}

/// Regression: the window of FreeBSD was three chunks, which kept the fourth packet back.
#[test]
fn first_window_of_freebsd_lets_a_fourth_packet_out() {
    for (profile, cwnd, packets) in [
        (SctpProfile::Rfc9260, 4404, 3),
        (SctpProfile::Lab003, 3 * (1500 - 12), 4),
        (SctpProfile::Bsd, 3 * (1500 - 12), 4),
    ] {
        let client = SctpConfig { nagle: false, ..SctpConfig::of(profile) };
        let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, client);
        for _ in 0..6 {
            pair.send(Client, message(0, FULL));
        }
        assert_eq!(pair.cwnds(Client), [cwnd], "{profile:?}");
        assert_eq!(tsns(&pair).len(), packets, "{profile:?}");
    }
}

#[test]
fn initial_window_is_recorded_for_every_path() {
    let pair = Pair::open(2);
    for side in [Client, Server] {
        let of: Vec<Window> = pair.windows(side).collect();
        assert_eq!(of.len(), 2, "{of:?}");
        assert!(of.iter().all(|window| window.cwnd == 4404 && window.ssthresh == Some(6 << 20)));
    }
}

#[test]
fn data_wait_200_ms_for_a_window_that_takes_neither_a_full_chunk_nor_all_of_them() {
    let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, config());
    pair.send(Client, message(0, 100));
    let grant = |pair: &mut Pair, cum: u32, a_rwnd: u32| {
        let cum_tsn = tsns(pair)[0] + cum - 1;
        pair.forge(Client, vec![Chunk::Sack(Sack { cum_tsn, a_rwnd, ..Sack::default() })]);
    };
    grant(&mut pair, 1, 1000);
    let start = pair.now;
    pair.send(Client, message(0, 400));
    assert_eq!(tsns(&pair).len(), 2, "all that is queued fits");
    grant(&mut pair, 2, 1000);
    let socket = pair.socket(Client);
    for _ in 0..5 {
        assert_eq!(pair.stack(Client).send_message(socket, message(0, 400)), Ok(true));
    }
    pair.settle();
    assert_eq!(tsns(&pair).len(), 2, "five do not");
    pair.pass(Duration::from_millis(300));
    let times = pair.sent(Client).filter(|passing| passing.has_data() && passing.at > start);
    let times: Vec<u64> = times.map(|passing| (passing.at - start).as_millis()).collect();
    assert_eq!(times, [200]);
    let sent = tsns(&pair).len() as u32;
    grant(&mut pair, sent, 100_000);
    assert_eq!(tsns(&pair).len(), 7, "a larger window takes the rest at once");
}

/// Milliseconds after the first DATA at which the third chunk is sent, whose two predecessors are
/// acknowledged 50 ms after they were sent, the second one shortly before T3-rtx expires.
fn sending_times_of_the_third(profile: SctpProfile) -> Vec<u64> {
    let client = SctpConfig { parameters: profile.parameters(), ..config() };
    let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, client);
    let start = pair.now;
    pair.send(Client, message(0, FULL));
    pair.send(Client, message(0, FULL));
    pair.pass(Duration::from_millis(50));
    sack(&mut pair, 1, &[]);
    pair.pass(Duration::from_millis(920));
    pair.send(Client, message(0, FULL));
    pair.pass(Duration::from_millis(10));
    sack(&mut pair, 2, &[]);
    pair.pass(Duration::from_secs(3));
    let third = tsns(&pair)[0] + 2;
    let is_third = |chunk: &Chunk| matches!(chunk, Chunk::Data(data) if data.tsn == third);
    let sent = pair.sent(Client).filter(|passing| passing.has(is_third));
    sent.map(|passing| (passing.at - start).as_millis()).collect()
}

#[test]
fn t3_of_freebsd_runs_on_beside_sacks_and_spares_what_was_sent_recently() {
    assert_eq!(sending_times_of_the_third(SctpProfile::Rfc9260)[..2], [970, 1980]);
    // It began with the first chunk, and again for 2 s when it expired without a loss.
    let sent = sending_times_of_the_third(SctpProfile::Bsd);
    assert!(matches!(sent[..], [970, 3000..3020]), "{sent:?}: timers expire in steps of 10 ms");
}

/// Regression: usrsctp had 117 chunks of 1452 bytes outstanding where the engine had 138.
#[test]
fn chunk_takes_256_bytes_more_of_the_buffer_of_a_peer_with_freebsd() {
    for (profile, outstanding) in [(SctpProfile::Rfc9260, 138), (SctpProfile::Bsd, 117)] {
        let client = SctpConfig { parameters: profile.parameters(), ..config() };
        let mut pair = driven(SctpConfig { receive_buffer: 1_000_000, ..config() }, client);
        for _ in 0..1000 {
            pair.send(Client, message(0, FULL));
        }
        let window = 203_092;
        for acked in 1..=300 {
            sack_with(&mut pair, acked, &[], window);
        }
        assert_eq!(tsns(&pair).len(), 300 + outstanding, "{profile:?}");
    }
}

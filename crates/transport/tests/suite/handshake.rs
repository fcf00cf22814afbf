//! Opening connections: options, retries, refusals, simultaneous open (RFC 9293 s3.5).

use crate::bare::{Bare, ISS, modern};
use crate::end::tcp_info;
use crate::fate::{Fate, first};
use crate::middlebox::strip;
use crate::pair::{Setup, Side};
use base::{Duration, HostId, Purpose};
use std::net::SocketAddr;
use transport::{Profile, SocketError, SocketEventKind, TcpConfig};
use wire::{Flags, SeqNumber, TcpOptions};

fn profile(profile: Profile) -> TcpConfig {
    TcpConfig { profile, ..TcpConfig::default() }
}

/// Seconds at which SYNs leave, and the one at which the connection fails.
fn syn_times(config: TcpConfig) -> (Vec<u64>, u64) {
    let mut pair = Setup::with(config).idle();
    pair.rule(Box::new(|_| Fate::Drop));
    pair.connect(0);
    pair.drive();
    assert_eq!(pair.end(Side::Client).failure(), Some(SocketError::TimedOut));
    let syns = pair.log.iter().map(|sent| {
        assert!(sent.has(Flags::SYN));
        sent.at.as_millis() / 1000
    });
    (syns.collect(), pair.now.as_millis() / 1000)
}

#[test]
fn syn_unanswered_is_repeated_linearly_then_exponentially_and_given_up() {
    // `tcp_syn_retries` 6 and `tcp_syn_linear_timeouts` 4: the last SYN after 67 s, and what slots
    // of the timer wheel add.
    let linear_first = vec![0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 69];
    assert_eq!(syn_times(profile(Profile::Linux)), (linear_first, 135));
}

#[test]
fn switch_linear_syn_retries_old_kernels_back_off_from_the_first() {
    for old in [Profile::Linux41, Profile::Linux314, Profile::Linux311, Profile::Linux35] {
        assert_eq!(syn_times(profile(old)), (vec![0, 1, 3, 7, 15, 31, 63], 127));
    }
}

#[test]
fn syn_ack_unanswered_is_repeated_five_times_and_forgotten() {
    let (mut bare, _) = Bare::syn_received(TcpConfig::default(), modern());
    let repeats = bare.wait(Duration::from_secs(300));
    let seconds: Vec<u64> = repeats.iter().map(|(at, _)| at.as_millis() / 1000 - 1).collect();
    assert_eq!(seconds, [1, 3, 7, 15, 31]);
    assert!(repeats.iter().all(|(_, segment)| segment.flags == Flags::SYN | Flags::ACK));
    assert!(bare.stack.info(bare.socket).is_none(), "no state is left behind");
}

#[test]
fn syn_to_a_closed_port_is_refused() {
    let mut pair = Setup::default().idle();
    pair.connect_to(Side::Client, 0, 81);
    pair.drive();
    assert_eq!(pair.end(Side::Client).failure(), Some(SocketError::Refused));
    assert_eq!(pair.end(Side::Client).news[0].0.as_millis(), 40);
}

#[test]
fn syn_offers_what_linux_offers() {
    let (_, syn) = Bare::syn_sent(TcpConfig::default());
    assert_eq!(syn.options.mss, Some(1460));
    assert_eq!(syn.options.window_scale, Some(7));
    assert!(syn.options.sack_permitted);
    assert!(syn.options.timestamps.is_some_and(|stamps| stamps.echo == 0));
    assert!(syn.window > 0, "never scaled");
}

#[test]
fn syn_ack_offers_only_what_the_syn_did() {
    let (_, bare) = Bare::syn_received(TcpConfig::default(), TcpOptions::default());
    assert_eq!(bare.options, TcpOptions { mss: Some(1460), ..TcpOptions::default() });
    let (_, full) = Bare::syn_received(TcpConfig::default(), modern());
    assert!(full.options.sack_permitted && full.options.window_scale.is_some());
    assert!(full.options.timestamps.is_some_and(|stamps| stamps.echo == 6_000));
}

#[test]
fn syn_without_mss_means_536() {
    let mut bare = Bare::accepted(TcpConfig::default(), TcpOptions::default());
    let sent = bare.write(5000);
    assert!(!sent.is_empty());
    assert!(sent.iter().all(|segment| segment.payload.len() <= 536));
    assert_eq!(sent[0].payload.len(), 536);
}

#[test]
fn syn_with_a_tiny_mss_is_not_believed() {
    let tiny = TcpOptions { mss: Some(1), ..TcpOptions::default() };
    let mut bare = Bare::accepted(TcpConfig::default(), tiny);
    assert_eq!(bare.write(5000)[0].payload.len(), 48, "Linux tcp_min_snd_mss");
}

#[test]
fn syn_with_a_huge_mss_is_bounded_by_the_interface() {
    let huge = TcpOptions { mss: Some(65_535), ..modern() };
    let mut bare = Bare::accepted(TcpConfig::default(), huge);
    assert_eq!(bare.write(50_000)[0].payload.len(), 1448);
}

#[test]
fn window_of_a_syn_is_not_scaled_and_later_ones_are() {
    let (mut bare, _) = Bare::syn_sent(TcpConfig::default());
    bare.window = 1000;
    bare.answer_syn(modern());
    assert_eq!(bare.info().snd_wnd, 1000);
    bare.ack(0);
    assert_eq!(bare.info().snd_wnd, 1000 << 7);
}

#[test]
fn peer_without_window_scale_gets_unscaled_windows() {
    let plain = TcpOptions { window_scale: None, ..modern() };
    let mut bare = Bare::accepted(TcpConfig::default(), plain);
    let answers = bare.send_data(1448);
    assert!(answers[0].window >= 60_000, "{}", answers[0].window);
    bare.ack(0);
    assert_eq!(bare.info().snd_wnd, 65_535);
}

#[test]
fn syn_sent_ignores_a_reset_that_acknowledges_nothing() {
    let (mut bare, _) = Bare::syn_sent(TcpConfig::default());
    assert!(bare.send(bare.segment(Flags::RST)).is_empty());
    let mut wrong = bare.segment(Flags::RST | Flags::ACK);
    wrong.ack += 5;
    assert!(bare.send(wrong).is_empty());
    assert_eq!(bare.state(), "SYN-SENT");
    bare.send(bare.segment(Flags::RST | Flags::ACK));
    assert_eq!(bare.last_event(), Some(SocketEventKind::Failed(SocketError::Refused)));
}

#[test]
fn syn_sent_answers_an_old_syn_ack_with_a_reset() {
    let (mut bare, _) = Bare::syn_sent(TcpConfig::default());
    let mut old = bare.segment(Flags::SYN | Flags::ACK);
    old.seq = ISS;
    old.ack = SeqNumber(77);
    let answers = bare.send(old);
    assert_eq!((answers.len(), answers[0].seq, answers[0].flags), (1, SeqNumber(77), Flags::RST));
    assert_eq!(bare.state(), "SYN-SENT");
    bare.answer_syn(modern());
    assert_eq!(bare.state(), "ESTABLISHED");
}

#[test]
fn syn_received_gets_the_syn_again_and_repeats_the_syn_ack() {
    let (mut bare, first) = Bare::syn_received(TcpConfig::default(), modern());
    let answers = bare.send_syn(modern());
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].seq, answers[0].flags), (first.seq, first.flags));
}

#[test]
fn syn_received_takes_data_with_the_acknowledgement() {
    let (mut bare, _) = Bare::syn_received(TcpConfig::default(), modern());
    bare.send_data(100);
    assert_eq!(bare.state(), "ESTABLISHED");
    assert_eq!(bare.read(1000).0, 100);
}

#[test]
fn syn_received_answers_a_wrong_acknowledgement_with_a_reset() {
    let (mut bare, _) = Bare::syn_received(TcpConfig::default(), modern());
    bare.acked = 5000;
    let answers = bare.send(bare.segment(Flags::ACK));
    assert_eq!(answers.len(), 1);
    assert!(answers[0].flags.contains(Flags::RST));
    assert_eq!(answers[0].seq, bare.their_iss + 5001);
}

/// First flight of a client whose first `lost` SYNs are lost.
fn first_flight(lost: u32) -> usize {
    let mut pair = Setup::default().idle();
    pair.rule(first(Side::Client, lost, Fate::Drop, |sight| sight.has(Flags::SYN)));
    pair.connect(0);
    pair.write_virtual(Side::Client, 100_000);
    pair.run_until("first data", Duration::from_secs(10), |pair| {
        !pair.data_sent(Side::Client).is_empty()
    });
    pair.data_sent(Side::Client).len()
}

/// RFC 6928 s2: one lost SYN keeps the initial window, more do not.
#[test]
fn initial_window_is_ten_and_one_after_two_lost_syns() {
    assert_eq!(first_flight(0), 10);
    assert_eq!(first_flight(1), 10);
    assert_eq!(first_flight(2), 1);
}

#[test]
fn initial_window_of_the_acceptor_is_one_after_two_lost_syn_acks() {
    let mut pair = Setup::default().idle();
    pair.rule(first(Side::Server, 3, Fate::Drop, |sight| sight.has(Flags::SYN)));
    pair.connect(0);
    pair.write_virtual(Side::Server, 100_000);
    pair.run_until("first data", Duration::from_secs(10), |pair| {
        !pair.data_sent(Side::Server).is_empty()
    });
    assert_eq!(pair.data_sent(Side::Server).len(), 1);
}

/// Sizes of the first flights of both ends over a path of 1.2 s whose round trip is longer than the
/// time-outs of two SYNs.
fn first_flights_over_a_long_path(profile: Profile, stamps: bool) -> [usize; 2] {
    Side::BOTH.map(|sender| {
        let config = TcpConfig { profile, ..TcpConfig::default() };
        let mut pair = Setup { delay: Duration::from_millis(1200), ..Setup::with(config) }.idle();
        if !stamps {
            pair.mangle = Some(strip(|options| TcpOptions { timestamps: None, ..options }));
        }
        pair.connect(0);
        pair.write_virtual(sender, 100_000);
        pair.run_until("first data", Duration::from_secs(10), |pair| {
            !pair.data_sent(sender).is_empty()
        });
        assert!(pair.log.iter().filter(|sent| sent.has(Flags::SYN)).count() > 3, "repeated");
        pair.data_sent(sender).len()
    })
}

/// Regression: a round trip above 2 s left an initial window of one segment (Linux 5.3
/// `tcp_try_undo_spurious_syn`).
#[test]
fn switch_undoes_syn_timeouts_keeps_the_initial_window_over_a_long_path() {
    assert_eq!(first_flights_over_a_long_path(Profile::Linux, true), [10, 10]);
    assert_eq!(first_flights_over_a_long_path(Profile::Linux, false), [1, 1], "no proof");
    // Old kernels back off: the client repeats one SYN, and the server one SYN/ACK and an answer.
    assert_eq!(first_flights_over_a_long_path(Profile::Linux41, true), [10, 1]);
}

#[test]
fn handshake_without_retries_gives_the_first_rtt_sample() {
    let pair = Setup::default().established();
    let info = pair.info(Side::Client);
    assert_eq!(info.srtt, Duration::from_millis(40));
    assert_eq!(info.rto, Duration::from_millis(240), "srtt plus the floor of 200 ms");
}

/// Regression: the first time-out after a repeated SYN was 3 s although timestamps show which SYN
/// was answered (RFC 6298 s3, Linux `tcp_ack_update_rtt`).
#[test]
fn repeated_syn_gives_a_sample_with_timestamps_and_none_without() {
    let after_a_lost_syn = |stamps: bool| {
        let mut pair = Setup::default().idle();
        if !stamps {
            pair.mangle = Some(strip(|options| TcpOptions { timestamps: None, ..options }));
        }
        pair.rule(first(Side::Client, 1, Fate::Drop, |_| true));
        pair.connect(0);
        pair.run_until("connect", Duration::from_secs(2), |pair| {
            pair.state(Side::Client) == "ESTABLISHED"
        });
        (pair.info(Side::Client).srtt, pair.info(Side::Client).rto)
    };
    let ms = Duration::from_millis;
    assert_eq!(after_a_lost_syn(true), (ms(40), ms(240)));
    assert_eq!(after_a_lost_syn(false), (Duration::ZERO, ms(3000)), "Karn, RFC 6298 s5.7");
}

/// Karn's rule for handshakes: only a timestamp shows which of two SYN/ACKs is acknowledged.
#[test]
fn repeated_syn_ack_gives_a_sample_with_timestamps_and_none_without() {
    let after_a_repeated_syn = |options: TcpOptions| {
        let (mut bare, _) = Bare::syn_received(TcpConfig::default(), options.clone());
        bare.wait_ms(90);
        assert_eq!(bare.send_syn(options).len(), 1);
        bare.wait_ms(10);
        bare.send(bare.segment(Flags::ACK));
        assert_eq!(bare.state(), "ESTABLISHED");
        bare.info().srtt
    };
    assert_eq!(after_a_repeated_syn(modern()), Duration::from_millis(10));
    let without = TcpOptions { timestamps: None, ..modern() };
    assert_eq!(after_a_repeated_syn(without), Duration::ZERO);
}

/// Both ends connect to the port that the other will draw.
fn simultaneous() -> crate::pair::Pair {
    let mut pair = Setup::default().idle();
    let chance = pair.chance;
    let port = |side: Side| {
        let host = HostId(side.index() as u16);
        32_768 + (chance.bits(host.0.into(), Purpose::Port, 1) % (61_000 - 32_768)) as u16
    };
    pair.connect_to(Side::Client, 0, port(Side::Server));
    pair.connect_to(Side::Server, 0, port(Side::Client));
    pair
}

#[test]
fn simultaneous_open_ends_established_on_both_sides() {
    let mut pair = simultaneous();
    pair.write(Side::Client, 20_000);
    pair.write(Side::Server, 30_000);
    pair.shutdown(Side::Client);
    pair.shutdown(Side::Server);
    pair.drive_bounded(Duration::from_secs(2));
    pair.assert_intact();
    for side in Side::BOTH {
        assert_eq!(pair.end(side).heard(SocketEventKind::Connected).unwrap().as_millis(), 40);
    }
    assert!(pair.log.iter().all(|sent| !sent.has(Flags::RST)));
}

#[test]
fn simultaneous_open_survives_the_loss_of_any_packet() {
    for (side, n) in Side::BOTH.into_iter().flat_map(|side| (1..=6).map(move |n| (side, n))) {
        let mut pair = simultaneous();
        let mut count = 2 - 1;
        pair.rule(Box::new(move |sight| {
            // The SYNs left before this rule was made.
            count += u64::from(sight.from == side);
            if sight.from == side && count == n { Fate::Drop } else { Fate::Pass }
        }));
        pair.write(Side::Client, 5_000);
        pair.write(Side::Server, 5_000);
        pair.shutdown(Side::Client);
        pair.shutdown(Side::Server);
        pair.drive_bounded(Duration::from_secs(20));
        pair.assert_intact();
        pair.drive();
    }
}

#[test]
fn connections_over_two_interfaces_and_both_families_do_not_mix() {
    for ipv6 in [false, true] {
        let mut pair = Setup { interfaces: 2, ipv6, ..Setup::default() }.established();
        let second = pair.connect(1);
        pair.drive_for(Duration::from_millis(100));
        let info = tcp_info(&pair.end(Side::Client).stack, second).unwrap();
        assert_eq!(info.state, "ESTABLISHED");
        assert_eq!(info.mss, if ipv6 { 1428 } else { 1448 });
        pair.write(Side::Client, 50_000);
        pair.drive_bounded(Duration::from_secs(1));
        pair.assert_intact();
    }
}

#[test]
fn socket_calls_refuse_what_cannot_be() {
    let mut pair = Setup::default().idle();
    let local = pair.address(7, Side::Client);
    let remote = SocketAddr::new(pair.address(0, Side::Server), 80);
    pair.with(Side::Client, |end, cx| {
        let config = TcpConfig::default;
        let error = end.stack.connect(cx, local, remote, &config().into()).unwrap_err();
        assert_eq!(error, SocketError::NoSuchAddress);
        end.stack.listen(90, config()).unwrap();
        assert_eq!(end.stack.listen(90, config()), Err(SocketError::AddressInUse));
        let error = end.stack.read(cx, base::SocketId(99), 1).unwrap_err();
        assert_eq!(error, SocketError::NoSuchSocket);
    });
}

#[test]
fn syn_sent_refuses_writes_and_closes_silently() {
    let (mut bare, _) = Bare::syn_sent(TcpConfig::default());
    assert!(bare.shutdown().is_empty());
    assert_eq!(bare.state(), "CLOSED");
    assert!(bare.wait(Duration::from_secs(100)).is_empty());
}

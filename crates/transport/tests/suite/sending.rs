//! What limits a sender that has data: Nagle, `notsent_lowat`, initial window, idle restart,
//! pacing, the NIC's queue, and numbers that wrap.

use crate::bare::{Bare, bytes, modern};
use crate::pair::{Setup, Side};
use base::{Chance, Duration, Instant, Purpose};
use transport::congestion::ControllerChoice;
use transport::{Buffers, Profile, SocketEventKind, TcpConfig};
use wire::{Flags, Payload};

const MSS: u32 = 1448;
const SECOND: Duration = Duration::from_secs(1);

fn accepted(config: TcpConfig) -> Bare {
    Bare::accepted(config, modern())
}

#[test]
fn nagle_holds_a_short_segment_until_all_is_acknowledged() {
    let mut bare = accepted(TcpConfig { nagle: true, ..TcpConfig::default() });
    assert_eq!(bytes(&bare.write(100)), 100, "nothing in flight: it goes");
    assert!(bare.write(100).is_empty());
    assert!(bare.write(100).is_empty());
    assert_eq!(bytes(&bare.ack(100)), 200, "both in one");
    assert_eq!(bytes(&bare.write(2 * MSS + 10)), 2 * MSS, "full segments go");
}

#[test]
fn nagle_does_not_hold_a_segment_with_fin() {
    let mut bare = accepted(TcpConfig { nagle: true, ..TcpConfig::default() });
    bare.write(100);
    assert!(bare.write(100).is_empty());
    let sent = bare.shutdown();
    assert_eq!((sent.len(), bytes(&sent)), (1, 100));
    assert!(sent[0].flags.contains(Flags::FIN));
}

#[test]
fn without_nagle_every_write_goes_at_once() {
    let mut bare = accepted(TcpConfig::default());
    for _ in 0..5 {
        assert_eq!(bytes(&bare.write(100)), 100);
    }
}

#[test]
fn initial_window_is_ten_segments_and_push_marks_the_end() {
    let mut bare = accepted(TcpConfig::default());
    let sent = bare.write(12 * MSS);
    assert_eq!(sent.len(), 10, "RFC 6928");
    assert!(!sent[0].flags.contains(Flags::PSH));
    let rest = bare.ack(2 * MSS);
    assert_eq!(rest.len(), 2);
    assert!(rest[1].flags.contains(Flags::PSH));
}

/// Regression (reno over 42 Mbit/s and 36 ms, a server that takes 85 us for each segment): a loss
/// halved the window while a burst was leaving, and the rest of the burst left nevertheless.
#[test]
fn burst_granted_before_a_loss_ends_at_the_window_after_it() {
    let config = TcpConfig { congestion: ControllerChoice::RENO, ..TcpConfig::default() };
    let (mut bare, _) = Bare::syn_received(config, modern());
    // So near that a burst is up to half of the window.
    bare.wait_ms(1);
    bare.send(bare.segment(Flags::ACK));
    for segs in [10, 20] {
        assert_eq!(bare.write(segs * MSS).len(), segs as usize);
        bare.wait_ms(1);
        let all = bare.acked + segs * MSS;
        bare.ack(all);
    }
    assert_eq!(bare.info().cwnd_segs, 40);
    let first = bare.acked;
    assert_eq!(bare.write(20 * MSS).len(), 20, "half of the window is in flight");
    bare.wait_ms(1);
    bare.queue(20 * MSS);
    assert!(bare.poll_one(), "the first of a burst of twenty");
    // The first segment is lost, as the three after it show.
    bare.send_segment(bare.sacking(&[(first + MSS, first + 4 * MSS)]));
    let info = bare.info();
    let inflight = 21 - 1 - 3;
    assert!(info.cwnd_segs <= 21, "{info:?}");
    let sent = bare.drain();
    let allowed = (info.cwnd_segs - inflight) as usize;
    assert_eq!(sent.len(), allowed, "the lost one and what the window takes: {info:?}");
}

#[test]
fn notsent_lowat_bounds_what_is_taken_ahead() {
    let lowat = 20_000;
    let config = TcpConfig { notsent_lowat: Some(lowat), ..TcpConfig::default() };
    let mut pair = Setup::with(config).established();
    let taken = pair.with(Side::Client, |end, cx| {
        let socket = end.socket.unwrap();
        let mut taken = 0;
        loop {
            let payload = Payload::virtual_range(1, taken, 4_000);
            match end.stack.write(cx, socket, &payload).unwrap() {
                0 => return taken,
                some => taken += u64::from(some),
            }
        }
    });
    assert_eq!(taken, 31_856, "the offload buffer that was begun before is filled");
    pair.end_mut(Side::Client).asked = taken;
    pair.drive_bounded(SECOND);
    let news = &pair.end(Side::Client).news;
    assert!(news.iter().any(|(_, kind)| *kind == SocketEventKind::Writable));
}

/// Linux restarts the clock of RFC 2861 with every acknowledgement that reaches congestion
/// avoidance (`tcp_cong_avoid`), so that a stream below its window keeps it.
#[test]
fn window_of_an_acknowledged_stream_that_never_fills_it_does_not_decay() {
    let config = TcpConfig { congestion: ControllerChoice::RENO, ..TcpConfig::default() };
    let mut bare = accepted(config);
    for segs in [10, 20] {
        bare.write(segs * MSS);
        bare.wait_ms(20);
        let all = bare.acked + segs * MSS;
        bare.ack(all);
    }
    assert_eq!(bare.info().cwnd_segs, 40);
    for _ in 0..100 {
        bare.write(2 * MSS);
        bare.wait_ms(20);
        let all = bare.acked + 2 * MSS;
        bare.ack(all);
    }
    assert_eq!(bare.info().cwnd_segs, 40, "two seconds, many RTOs");
}

/// IDLE-1 (RFC 2861, `tcp_cwnd_restart`): each RTO of silence halves the window, not below the
/// initial one; the threshold keeps three quarters of it.
#[test]
fn idle_1_window_halves_for_each_rto_of_silence() {
    let grown = || {
        let mut pair = Setup::default().established();
        pair.write_virtual(Side::Client, 600_000);
        pair.drive_bounded(SECOND);
        pair.drive_for(Duration::from_millis(100));
        pair
    };
    let pair = grown();
    let before = pair.info(Side::Client);
    assert!(before.cwnd_segs >= 80, "{}", before.cwnd_segs);
    let last = pair.data_sent(Side::Client).last().unwrap().at;
    for (rtos, halvings) in [(0.5, 0), (1.5, 1), (2.5, 2), (20.0, 20)] {
        let mut pair = grown();
        let until = last + Duration::from_secs_f64(before.rto.as_secs_f64() * rtos);
        let idle = until - pair.now;
        pair.drive_for(idle);
        pair.log.clear();
        pair.write_virtual(Side::Client, 600_000);
        let expected = (before.cwnd_segs >> halvings.min(31)).max(10);
        let cwnd = pair.info(Side::Client).cwnd_segs;
        // The window had not been filled: validation took a few segments off before.
        assert!(cwnd.abs_diff(expected) <= expected / 20, "after {rtos} RTO {cwnd}");
        let sent = pair.data_sent(Side::Client).len() as u32;
        assert!(sent <= cwnd && sent >= cwnd.min(300), "{sent} of {cwnd}");
        if halvings > 0 {
            let kept = before.cwnd_segs / 2 + before.cwnd_segs / 4;
            assert!(pair.info(Side::Client).ssthresh_segs.is_none_or(|now| now >= kept));
        }
    }
}

#[test]
fn closing_does_not_wait_for_nagle_nor_a_full_buffer() {
    let mut pair = Setup::with(TcpConfig { nagle: true, ..TcpConfig::default() }).established();
    pair.write(Side::Client, 10 * MSS + 1);
    pair.write(Side::Client, 1);
    pair.shutdown(Side::Client);
    pair.drive_bounded(Duration::from_millis(100));
    pair.assert_intact();
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let spread = |pacing: bool| {
        let mut pair =
            Setup::with(TcpConfig { pacing, ..TcpConfig::default() }).delay_ms(50).established();
        pair.write_virtual(Side::Client, 300_000);
        pair.drive_bounded(SECOND * 5);
        let data = pair.data_sent(Side::Client);
        let second: Vec<Instant> = data.iter().skip(12).take(12).map(|sent| sent.at).collect();
        second[11] - second[0]
    };
    assert!(spread(false) < Duration::from_millis(2));
    assert!(spread(true) > Duration::from_millis(10));
}

/// A write goes on in the last offload buffer, of half the peer's window, as far as it is unsent,
/// and needs memory for another one only: what Linux 6.18 took of the first writes with a peer that
/// had announced 65,535 bytes (`tcp_sendmsg_locked`, `tcp_bound_to_half_wnd`).
///
/// Regression: buffers had 44 segments whatever the window, and were full when they were sent.
#[test]
fn writer_fills_offload_buffers_beyond_the_send_buffer() {
    for (send_max, taken) in [(200 << 10, 205_616), (100 << 10, 110_048)] {
        let buffers = Buffers { send_max, receive_max: 8 << 20, auto_tuning: false };
        let mut pair = Setup::with(TcpConfig { buffers, ..TcpConfig::default() }).established();
        pair.write_virtual(Side::Client, 1_000_000);
        pair.drive_for(Duration::from_millis(1));
        assert_eq!(pair.end(Side::Client).written(), taken, "10 and whole buffers of 22 segments");
        pair.drive_bounded(Duration::from_secs(20));
    }
}

#[test]
fn nic_that_keeps_packets_stops_the_sender_until_they_leave() {
    let buffers = Buffers { send_max: 8 << 20, receive_max: 8 << 20, auto_tuning: false };
    let config = TcpConfig { buffers, ..TcpConfig::default() };
    let mut pair = Setup::with(config).established();
    pair.write_virtual(Side::Client, 4_000_000);
    pair.drive_for(Duration::from_millis(200));
    pair.nic_holds[0] = true;
    pair.drive_for(Duration::from_millis(100));
    let held = pair.nic_bytes(Side::Client);
    let cwnd = pair.info(Side::Client).cwnd_segs * MSS;
    assert!(held > 0 && held < cwnd / 2, "{held} bytes below, window {cwnd}");
    pair.nic_holds[0] = false;
    pair.release_nic(Side::Client);
    pair.drive_bounded(Duration::from_secs(5));
}

/// A connection with a window of 40 segments, which are outstanding.
fn with_40_segments_outstanding(config: TcpConfig) -> Bare {
    let mut bare = accepted(config);
    let mut acked = 0;
    for segs in [10, 20, 40] {
        let sent = bare.write(segs * MSS).len();
        assert_eq!(sent + bare.wait_ms(40).len(), segs as usize);
        if segs < 40 {
            acked += segs * MSS;
            bare.ack(acked);
        }
    }
    bare
}

/// Regression: retransmissions that the queue of the interface kept back waited for the next
/// acknowledgement; with none the connection stood still until the time-out (Linux
/// `tcp_small_queue_check` asks the queue to resume it, and lets twice as much through).
#[test]
fn retransmissions_wait_for_the_queue_of_the_interface_and_go_on_when_it_empties() {
    let lost_20 = |profile: Profile| {
        let mut bare = with_40_segments_outstanding(TcpConfig { profile, ..TcpConfig::default() });
        let end = 70 * MSS;
        bare.send_segment(bare.sacking(&[(end - 20 * MSS, end)]));
        (bare.drain_into_nic().len(), bare)
    };
    let (sent, mut bare) = lost_20(Profile::Linux);
    assert_eq!(sent, 5, "6000 bytes, and the one that exceeds them");
    for _ in 0..10 {
        assert_eq!(bare.depart(1500).len(), 1);
    }
    let (sent, _) = lost_20(Profile::Linux41);
    assert_eq!(sent, 20, "before Linux 4.9 nothing bounds them");
}

/// Regression: a retransmission was not paced, and pacing did not count it.
#[test]
fn retransmissions_are_paced() {
    let mut bare = with_40_segments_outstanding(TcpConfig::default());
    let mut paced =
        with_40_segments_outstanding(TcpConfig { pacing: true, ..TcpConfig::default() });
    for (bare, at_once) in [(&mut bare, 20), (&mut paced, 1)] {
        let end = 70 * MSS;
        let sent = bare.sack(&[(end - 20 * MSS, end)]);
        assert_eq!(sent.len(), at_once);
        let later = bare.wait_ms(30);
        assert_eq!(sent.len() + later.len(), 20, "{later:?}");
    }
}

/// Regression: full segments had no room for SACK blocks, so that a host that sent data, too, was
/// told of no loss (RFC 2018 s4; Linux `tcp_current_mss` shortens the payload).
#[test]
fn full_segments_make_room_for_sack_blocks() {
    let mut bare = accepted(TcpConfig::default());
    for gaps in 1..=4u32 {
        bare.send(bare.data_at(2000 * gaps, 1000));
        let blocks = gaps.min(3);
        let sent = bare.write(MSS * 3);
        let room = 4 + 8 * blocks;
        assert_eq!(sent[0].payload.len(), MSS - room, "{gaps} gaps");
        assert_eq!(sent[0].options.sack.len(), blocks as usize);
        assert!(sent.iter().all(|segment| 20 + segment.wire_len() <= 1500));
        let position = bare.position(sent.last().unwrap().seq) as u32;
        bare.ack(position + sent.last().unwrap().payload.len());
    }
    bare.send(bare.data_at(0, 20_000));
    assert_eq!(bare.write(MSS * 2)[0].payload.len(), MSS, "no gap is left");
}

#[test]
fn stream_longer_than_four_gib_wraps_and_goes_on() {
    // Both initial numbers just below a wrap.
    let near_wrap = |seed: &u64| {
        let chance = Chance::new(*seed, 0);
        let client = chance.bits(0, Purpose::InitialSequence, 2) as u32;
        let server = chance.bits(1, Purpose::InitialSequence, 1) as u32;
        client > u32::MAX - 4_000_000 && server > u32::MAX - 4_000_000
    };
    let seed = (0..10_000_000).find(near_wrap).unwrap();
    let buffers = Buffers { send_max: 64 << 20, receive_max: 64 << 20, auto_tuning: false };
    let config = TcpConfig { buffers, ..TcpConfig::default() };
    let delay = Duration::from_millis(1);
    let setup = Setup { mtu: 65_535, seed, delay, ..Setup::with(config) };
    let mut pair = setup.established();
    let iss: Vec<u32> = pair
        .log
        .iter()
        .filter(|sent| sent.has(Flags::SYN))
        .map(|sent| sent.segment.seq.0)
        .collect();
    assert!(iss.iter().all(|iss| *iss > u32::MAX - 4_000_000), "{iss:?}");
    pair.keep_log = false;
    // The last bytes of every 64 MiB are lost once.
    let mut data = 0u32;
    pair.rule(Box::new(move |sight| {
        data += u32::from(sight.payload_len() > 0);
        let lost = sight.payload_len() > 0 && data % 1000 == 999;
        if lost { crate::fate::Fate::Drop } else { crate::fate::Fate::Pass }
    }));
    for _ in 0..5 {
        pair.write_virtual(Side::Client, 1 << 30);
    }
    pair.write(Side::Server, 100_000);
    pair.shutdown(Side::Client);
    pair.drive_bounded(Duration::from_secs(600));
    assert_eq!(pair.end(Side::Server).received, 5 << 30);
    pair.assert_intact();
    pair.drive_for(SECOND);
    assert_eq!(pair.info(Side::Client).bytes_acked, (5 << 30) + 1);
}

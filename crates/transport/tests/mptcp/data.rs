//! The data sequence space: wraps, widths of numbers, windows, buffers (RFC 8684 s3.3).

use crate::pair::{Fate, Pair, Path, Side, tcp};
use base::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use transport::congestion::ControllerChoice;
use transport::mptcp::MptcpConfig;
use transport::scheduler::SchedulerChoice;
use transport::{Buffers, Profile};
use wire::mptcp::{DataNumber, Dss};
use wire::{Flags, Packet, SeqNumber};

fn fixed(kib: u32) -> MptcpConfig {
    let mut config = MptcpConfig::default();
    config.tcp.buffers =
        Buffers { send_max: kib << 10, receive_max: kib << 10, auto_tuning: false };
    config
}

const STARTS: [[u64; 2]; 5] = [
    [u64::MAX - 70_000, u64::MAX - 3],
    [u64::MAX, u64::MAX - 1],
    [(1 << 32) - 50_000, (1 << 32) - 2],
    [(1 << 31) - 50_000, (3 << 31) - 70_000],
    [0, (7 << 32) - 100],
];

#[test]
fn numbers_wrap_in_both_directions() {
    for (index, start) in STARTS.into_iter().enumerate() {
        let lossy = |ms| Path { loss: 0.01, ..Path::ms(ms) };
        let config =
            |checksum| MptcpConfig { test_idsn: Some(start), checksum, ..MptcpConfig::default() };
        let (client, server) = (config(index % 2 == 0), config(false));
        let mut pair = Pair::with_seed(&[lossy(10), lossy(25)], client, server, index as u64);
        pair.transfer(300_000, 400_000);
        pair.close();
        assert_eq!(pair.info(Side::Client).refused + pair.info(Side::Server).refused, 0);
    }
}

/// The same number in the other width.
fn shorten(number: DataNumber) -> DataNumber {
    match number {
        DataNumber::Long(number) => DataNumber::Short(number as u32),
        short => short,
    }
}

/// Give some numbers 32 bits, as a sender may.
fn mix_widths(pair: &mut Pair, often: u32) {
    let mut count = 0u32;
    pair.mangle = Some(Box::new(move |_, _, packet| {
        let Some(segment) = tcp(packet) else { return true };
        let Some(dss) = segment.options.mptcp.dss else { return true };
        count = count.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut other = Dss::EMPTY;
        let short = |bit: u32| !(count >> bit).is_multiple_of(often);
        if let Some(ack) = dss.ack() {
            other = other.with_ack(if short(8) { shorten(ack) } else { ack });
        }
        if let Some(mut mapping) = dss.mapping() {
            if short(16) {
                mapping.dsn = shorten(mapping.dsn);
            }
            other = other.with_mapping(mapping);
        }
        segment.options.mptcp.dss = Some(if dss.fin() { other.with_fin() } else { other });
        true
    }));
}

#[test]
fn widths_of_numbers_may_change_from_packet_to_packet() {
    for (index, start) in STARTS.into_iter().enumerate() {
        for often in [2, u32::MAX] {
            let config = MptcpConfig {
                test_idsn: Some(start),
                checksum: index == 0,
                ..MptcpConfig::default()
            };
            let mut pair = Pair::new(&[Path::ms(10), Path::ms(25)], config.clone(), config);
            mix_widths(&mut pair, often);
            pair.transfer(200_000, 400_000);
            pair.close();
            assert_eq!(pair.info(Side::Client).refused + pair.info(Side::Server).refused, 0);
        }
    }
}

#[test]
fn sixty_four_bit_numbers_are_acknowledged_with_64_bits() {
    let mut pair = Pair::new(&[Path::ms(10)], MptcpConfig::default(), MptcpConfig::default());
    let wrong = Rc::new(Cell::new(0));
    let seen = Rc::clone(&wrong);
    let mut data_came = Instant::FAR_FUTURE;
    let mut clock = 0u64;
    pair.mangle = Some(Box::new(move |side, _, packet| {
        clock += 1;
        let data = packet.payload_len() > 0;
        let dss = tcp(packet).and_then(|segment| segment.options.mptcp.dss);
        if side == Side::Server && data && data_came == Instant::FAR_FUTURE {
            data_came = Instant::from_nanos(clock);
        }
        let short = dss.is_some_and(|dss| matches!(dss.ack(), Some(DataNumber::Short(_))));
        // One flight later everything must be long.
        let later = Instant::from_nanos(clock) > data_came + Duration::from_nanos(20);
        seen.set(seen.get() + u32::from(side == Side::Client && short && later));
        true
    }));
    pair.transfer(0, 300_000);
    assert_eq!(wrong.get(), 0);
}

#[test]
fn a_subflow_longer_than_4_gib_on_large_segments() {
    let config = MptcpConfig::default();
    let mut pair = Pair::with_mtu(&[Path::ms(1)], config.clone(), config, 1, 65_535);
    pair.fictive = true;
    let size = (4 << 30) + (40 << 20);
    pair.transfer(1, size);
    pair.close();
    let info = pair.info(Side::Client);
    assert_eq!((info.refused, info.duplicate_bytes, info.fallback), (0, 0, false));
    assert!(pair.info(Side::Server).paths[0].tcp.bytes_acked > 1 << 32);
}

#[test]
fn many_mappings_in_flight_are_no_fault() {
    // More segments than the old limit of 4096 wait behind one that is lost.
    let mut config = fixed(64 << 10);
    config.tcp.congestion = ControllerChoice::RENO;
    let mut pair = Pair::new(&[Path::ms(50)], config.clone(), config);
    pair.fictive = true;
    let most = Rc::new(Cell::new(0));
    let mut count = 0;
    pair.mangle = Some(Box::new(move |side, _, packet| {
        count += u32::from(side == Side::Server && packet.payload_len() > 0);
        count != 5_200 || side == Side::Client
    }));
    pair.ends[1].to_write = 40 << 20;
    while !pair.is_delivered() {
        assert!(pair.step());
        if pair.ends[0].socket.is_some() {
            most.set(most.get().max(pair.info(Side::Client).mappings));
        }
    }
    assert!(most.get() > 4096, "{} mappings", most.get());
    assert_eq!(pair.info(Side::Client).refused, 0);
}

/// The right edge of the window that a side announces, over all subflows: (ack, edge, moves left).
#[derive(Clone, Default)]
struct Edge {
    shift: u8,
    edge: u64,
    left: u32,
    /// Windows too small for a segment.
    zero: u32,
}

fn watch_edge(pair: &mut Pair, side: Side) -> Rc<RefCell<Edge>> {
    let edge = Rc::new(RefCell::new(Edge::default()));
    let seen = Rc::clone(&edge);
    pair.mangle = Some(Box::new(move |from, _, packet: &mut Packet| {
        let Some(segment) = tcp(packet).filter(|_| from == side) else { return true };
        let mut seen = seen.borrow_mut();
        if segment.flags.contains(Flags::SYN) {
            seen.shift = segment.options.window_scale.unwrap_or(0);
        } else if let Some(DataNumber::Long(ack)) =
            segment.options.mptcp.dss.and_then(|dss| dss.ack())
        {
            let now = ack + (u64::from(segment.window) << seen.shift);
            // Rounding to the window's unit is no move.
            seen.left += u32::from(now + (1 << seen.shift) <= seen.edge);
            seen.edge = seen.edge.max(now);
            seen.zero += u32::from(u64::from(segment.window) << seen.shift < 1420);
        }
        true
    }));
    edge
}

#[test]
fn right_edge_never_moves_left_over_all_subflows() {
    for kib in [32, 64, 256, 2048] {
        let mut pair = Pair::new(&[Path::ms(5), Path::ms(60)], fixed(kib), fixed(1024));
        let edge = watch_edge(&mut pair, Side::Client);
        pair.ends[1].to_write = 3 << 20;
        for _ in 0..20 {
            pair.set_reading(Side::Client, false);
            pair.pass(Duration::from_millis(90));
            pair.set_reading(Side::Client, true);
            pair.pass(Duration::from_millis(40));
        }
        pair.transfer(0, 3 << 20);
        assert_eq!(edge.borrow().left, 0, "{kib} KiB");
        assert_eq!(pair.info(Side::Client).refused, 0);
    }
}

#[test]
fn closed_window_opens_again_though_the_update_is_lost() {
    for paths in [1, 2] {
        let all = [Path::ms(10), Path::ms(30)];
        let mut pair = Pair::new(&all[..paths], fixed(64), fixed(1024));
        let edge = watch_edge(&mut pair, Side::Client);
        pair.set_reading(Side::Client, false);
        pair.ends[1].to_write = 1 << 20;
        pair.pass(Duration::from_secs(20));
        assert!(edge.borrow().zero > 0, "a closed window");
        let until = pair.now + Duration::from_millis(100);
        pair.rule = Some(Box::new(move |side, _, now| {
            if side == Side::Client && now < until { Fate::Drop } else { Fate::Pass }
        }));
        pair.set_reading(Side::Client, true);
        pair.transfer(0, 1 << 20);
        assert!(pair.now < until + Duration::from_secs(130));
    }
}

#[test]
fn window_closed_for_hours_is_no_failure() {
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], fixed(64), fixed(1024));
    pair.set_reading(Side::Client, false);
    pair.ends[0].to_write = 1;
    pair.ends[1].to_write = 1 << 20;
    pair.pass(Duration::from_secs(4 * 3600));
    pair.assert_intact();
    pair.set_reading(Side::Client, true);
    pair.transfer(1, 1 << 20);
    pair.close();
}

#[test]
fn data_fin_behind_a_closed_window_waits_for_hours() {
    let mut pair = Pair::new(&[Path::ms(10)], fixed(64), fixed(1024));
    pair.set_reading(Side::Client, false);
    pair.ends[1].to_write = 20_000;
    pair.ends[0].to_write = 1;
    pair.pass(Duration::from_secs(4 * 3600));
    pair.assert_intact();
    pair.set_reading(Side::Client, true);
    pair.transfer(1, 20_000);
    pair.close();
}

#[test]
fn small_receive_buffer_and_different_paths_never_stall() {
    // Linux 6.18 may stall here: data out of order fill its memory while the next bytes in order
    // wait in the queue of a subflow.
    for scheduler in SchedulerChoice::all() {
        for (first, second) in [(200, 5), (5, 200)] {
            for kib in [16, 64, 128] {
                let with =
                    |config: MptcpConfig| MptcpConfig { scheduler: scheduler.clone(), ..config };
                let lossy = |ms| Path { loss: 0.005, ..Path::ms(ms) };
                let paths = [lossy(first), lossy(second)];
                let mut pair = Pair::with_seed(&paths, with(fixed(kib)), with(fixed(1024)), 9);
                pair.ends[1].to_write = 600_000;
                // Constant bit rate, so that the slow path gets its share.
                let mut last = (0, Instant::ZERO);
                while !pair.is_delivered() {
                    assert!(pair.step(), "{}", pair.describe());
                    if pair.ends[0].got > last.0 {
                        last = (pair.ends[0].got, pair.now);
                    }
                    let quiet = pair.now - last.1;
                    assert!(quiet < Duration::from_secs(20), "{scheduler} {kib} {first}");
                }
                pair.shutdown(Side::Client);
                pair.close();
            }
        }
    }
}

/// In the profile `linux` no scheduler chose a path while the window was full.
#[test]
fn full_window_calls_for_copies_as_asked() {
    let reinjected = |scheduler: &str| {
        let scheduler = scheduler.parse().unwrap();
        let config = MptcpConfig { scheduler, ..fixed(64) };
        let mut pair = Pair::new(&[Path::ms(200), Path::ms(5)], fixed(64), config);
        pair.transfer(1, 600_000);
        let reinjected = pair.info(Side::Server).reinjected_bytes;
        pair.close();
        reinjected
    };
    for scheduler in ["lrf", "rr:reinjection=kernel", "rr:reinjection=nsdi12"] {
        assert!(reinjected(scheduler) > 0, "{scheduler}");
    }
    for scheduler in ["lrf:reinjection=off", "rr", "rr:reinjection=off"] {
        assert_eq!(reinjected(scheduler), 0, "{scheduler}");
    }
}

#[test]
fn partial_copies_do_not_fill_the_receive_buffer() {
    // Segments of different sizes on both paths: copies overlap in part, again and again.
    let mut config = MptcpConfig { scheduler: "redundant".parse().unwrap(), ..fixed(128) };
    config.tcp.congestion = ControllerChoice::RENO;
    let mut pair = Pair::new(&[Path::ms(5), Path::ms(7)], config.clone(), config);
    pair.mangle = Some(Box::new(|_, path, packet| {
        if let Some(segment) = tcp(packet).filter(|segment| segment.flags.contains(Flags::SYN)) {
            segment.options.mss = Some(if path == 0 { 1460 } else { 1111 });
        }
        true
    }));
    pair.transfer(0, 8 << 20);
    let took = pair.now;
    assert!(took < Instant::from_secs(20), "{took}");
}

#[test]
fn send_buffer_limits_what_a_writer_can_leave() {
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], fixed(64), fixed(256));
    pair.set_reading(Side::Client, false);
    pair.ends[1].to_write = 10 << 20;
    pair.pass(Duration::from_secs(5));
    let info = pair.info(Side::Server);
    let kept = pair.ends[1].written - info.snd_una;
    // One write of 64 KiB may overshoot, as in Linux.
    assert!(kept <= 320 << 10, "{kept} bytes kept");
    pair.set_reading(Side::Client, true);
    pair.pass(Duration::from_millis(500));
    assert!(pair.ends[1].written > 512 << 10, "the writer is woken");
}

/// Mainline: 4 KiB and the subflows' 46,080 bytes each, as the handshake leaves them; the last
/// fragment may overshoot by its 32 KiB. The multipath-tcp kernels leave the 4 KiB out.
#[test]
fn tuned_send_buffer_is_that_of_all_subflows() {
    for (profile, expected) in [(Profile::Linux, 96_256), (Profile::Linux41, 92_160)] {
        let mut config = MptcpConfig::default();
        config.tcp.profile = profile;
        let mut pair = Pair::new(&[Path::ms(50), Path::ms(80)], config.clone(), config);
        pair.pass(Duration::from_secs(2));
        assert_eq!(pair.info(Side::Server).paths.len(), 2);
        pair.ends[1].to_write = 10 << 20;
        pair.pass(Duration::from_millis(1));
        let memory = pair.ends[1].written - pair.info(Side::Server).snd_una;
        let overshoot = memory.checked_sub(expected).expect("as much as the buffer holds");
        assert!(overshoot < 32 << 10, "{profile:?}: {memory} bytes");
    }
}

#[test]
fn memory_of_a_lazy_reader_stays_within_the_buffer() {
    for scheduler in SchedulerChoice::all() {
        let with = |config: MptcpConfig| MptcpConfig { scheduler: scheduler.clone(), ..config };
        let paths = [Path { loss: 0.03, ..Path::ms(10) }, Path::ms(50), Path::ms(90)];
        let mut pair = Pair::new(&paths, with(fixed(256)), with(fixed(1024)));
        pair.set_reading(Side::Client, false);
        pair.ends[1].to_write = 4 << 20;
        for _ in 0..200 {
            pair.pass(Duration::from_millis(20));
            let held = pair.info(Side::Client).held_bytes;
            assert!(held <= 256 << 10, "{scheduler}: {held}");
        }
        pair.set_reading(Side::Client, true);
        pair.transfer(0, 4 << 20);
    }
}

#[test]
fn retransmissions_after_longer_acknowledgements_fit() {
    // Data cut for 32-bit acknowledgements go again when 64 bits are due; the pair checks sizes.
    let mut pair = Pair::new(&[Path::ms(10)], MptcpConfig::default(), MptcpConfig::default());
    let mut lost = 0;
    pair.mangle = Some(Box::new(move |side, _, packet| {
        let lose = side == Side::Client && packet.payload_len() > 1000 && lost < 5;
        lost += u32::from(lose);
        !lose
    }));
    pair.ends[1].to_write = 50_000;
    pair.transfer(50_000, 50_000);
}

/// A middlebox shrinks the windows announced on the second path.
#[test]
fn window_of_a_subflow_bounds_it_with_the_papers_kernels() {
    for (profile, bound) in [(Profile::Linux41, true), (Profile::Linux, false)] {
        let mut config = MptcpConfig { scheduler: "rr".parse().unwrap(), ..MptcpConfig::default() };
        config.tcp.profile = profile;
        let mut pair = Pair::new(&[Path::ms(10), Path::ms(10)], config.clone(), config);
        pair.mangle = Some(Box::new(|side, path, packet| {
            if (side, path) == (Side::Client, 1)
                && let Some(segment) = tcp(packet)
                && !segment.flags.contains(Flags::SYN)
            {
                segment.window = segment.window.min(30);
            }
            true
        }));
        (pair.ends[0].to_write, pair.ends[1].to_write) = (1, 400_000);
        let mut most = 0;
        while !pair.is_delivered() {
            assert!(pair.step(), "{}", pair.describe());
            let Some(info) = pair.try_info(Side::Server) else { continue };
            if let [_, second] = &info.paths[..] {
                let tcp = &second.tcp;
                most = most.max(tcp.bytes_sent - tcp.bytes_retrans - tcp.bytes_acked);
            }
        }
        // 30 units of 128 bytes.
        assert_eq!(most <= 30 * 128, bound, "{most} bytes under way");
        assert!(pair.info(Side::Server).paths[1].first_sent_bytes > 3000);
    }
}

/// The announcement that the window opened is lost on a path that is not used until then.
#[test]
fn subflow_that_missed_the_opening_of_its_window_is_asked() {
    let mut config = MptcpConfig::default();
    config.tcp.profile = Profile::Linux41;
    config.tcp.buffers = Buffers { send_max: 1 << 20, receive_max: 64 << 10, auto_tuning: false };
    let mut pair = Pair::new(&[Path::ms(10), Path::ms(30)], config.clone(), config);
    pair.ends[1].hold_open = true;
    pair.ends[1].to_write = 1;
    pair.await_subflows(2);
    pair.ends[0].paused = true;
    pair.ends[1].to_write = 400_000;
    pair.pass(Duration::from_secs(20));
    pair.paths[1].cut = true;
    pair.set_reading(Side::Client, true);
    pair.pass(Duration::from_millis(5));
    pair.paths[1].cut = false;
    pair.paths[0].cut = true;
    pair.run_until(Duration::from_secs(300), Pair::is_delivered);
}

/// Of the client's data segments the share that an interface could merge with the one before: equal
/// options, one after the other. And the transfer is intact, with losses.
fn mergeable(joins_mappings: bool) -> f64 {
    let config = MptcpConfig { joins_mappings, ..MptcpConfig::default() };
    let lossy = |ms| Path { loss: 0.01, ..Path::ms(ms) };
    let mut pair = Pair::with_seed(&[lossy(10), lossy(25)], config, MptcpConfig::default(), 3);
    let count = Rc::new(RefCell::new((vec![None; 2], 0u32, 0u32)));
    let counted = Rc::clone(&count);
    pair.mangle = Some(Box::new(move |side, path, packet| {
        let Some(segment) = tcp(packet).filter(|segment| !segment.payload.is_empty()) else {
            return true;
        };
        if side == Side::Client {
            let (last, all, follow) = &mut *counted.borrow_mut();
            *all += 1;
            *follow +=
                u32::from(last[path].as_ref() == Some(&(segment.seq, segment.options.clone())));
            let next = SeqNumber(segment.seq.0.wrapping_add(segment.payload.len()));
            last[path] = Some((next, segment.options.clone()));
        }
        true
    }));
    pair.transfer(2_000_000, 1000);
    pair.close();
    assert_eq!(pair.info(Side::Client).refused + pair.info(Side::Server).refused, 0);
    let (_, all, follow) = &*count.borrow();
    f64::from(*follow) / f64::from(*all)
}

#[test]
fn segments_of_one_mapping_have_equal_options_if_an_interface_is_to_merge_them() {
    let (apart, joined) = (mergeable(false), mergeable(true));
    assert!(apart < 0.02, "most have a mapping of their own: {apart}");
    assert!(joined > 0.3, "{joined}");
}

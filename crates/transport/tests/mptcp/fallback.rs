//! Leaving MPTCP: options that disappear at each stage, payload that a middlebox rewrites
//! (RFC 8684 s3.7).

use crate::pair::{Pair, Path, Side, tcp};
use base::Duration;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use transport::mptcp::MptcpConfig;
use transport::{Buffers, SocketError};
use wire::mptcp::{MptcpOption, ResetReason};
use wire::{Flags, Payload, TcpSegment};

fn one_path(checksum: bool) -> Pair {
    let config = MptcpConfig { checksum, ..MptcpConfig::default() };
    Pair::new(&[Path::ms(10)], config.clone(), config)
}

fn two_paths(checksum: bool) -> Pair {
    let config = MptcpConfig { checksum, ..MptcpConfig::default() };
    Pair::new(&[Path::ms(10), Path::ms(30)], config.clone(), config)
}

/// Strip options of segments that `which` picks, on path 0.
fn strip(pair: &mut Pair, which: impl Fn(Side, &TcpSegment) -> bool + 'static) {
    pair.mangle = Some(Box::new(move |side, path, packet| {
        if path == 0
            && let Some(segment) = tcp(packet)
            && which(side, segment)
        {
            segment.options.mptcp = Default::default();
        }
        true
    }));
}

fn assert_both_are_tcp(pair: &Pair) {
    assert!(pair.info(Side::Client).fallback, "client");
    assert!(pair.info(Side::Server).fallback, "server");
    assert_eq!(pair.info(Side::Client).paths.len(), 1);
}

#[test]
fn options_missing_on_the_syn_ack_mean_tcp() {
    let mut pair = two_paths(false);
    strip(&mut pair, |_, segment| segment.flags.contains(Flags::SYN | Flags::ACK));
    pair.transfer(50_000, 50_000);
    pair.close();
    assert_both_are_tcp(&pair);
}

#[test]
fn options_missing_from_the_third_ack_on_mean_tcp() {
    for (up, down) in [(50_000, 50_000), (0, 50_000), (50_000, 0)] {
        for one_way in [false, true] {
            let mut pair = two_paths(false);
            strip(&mut pair, move |side, segment| {
                let way = side == Side::Client || !one_way;
                way && !segment.flags.contains(Flags::SYN)
            });
            pair.transfer(up, down);
            for side in [Side::Client, Side::Server] {
                pair.shutdown(side);
            }
            pair.close();
            assert_both_are_tcp(&pair);
        }
    }
}

#[test]
fn options_missing_on_all_data_mean_tcp_before_a_join() {
    for (client, server) in [(true, false), (false, true), (true, true)] {
        let mut pair = one_path(false);
        strip(&mut pair, move |side, segment| {
            let way = if side == Side::Client { client } else { server };
            way && !segment.payload.is_empty()
        });
        pair.transfer(200_000, 300_000);
        pair.close();
        assert!(pair.info(Side::Server).fallback && pair.info(Side::Client).fallback);
    }
}

/// Strip everything once `up` bytes have arrived, at several places of a transfer.
fn stripped_after(pair: &mut Pair, bytes: u64) {
    pair.ends[0].to_write = 400_000;
    pair.ends[1].to_write = 600_000;
    pair.run_until(Duration::from_secs(60), |pair| pair.ends[0].got >= bytes);
    strip(pair, |_, segment| !segment.flags.contains(Flags::RST));
}

#[test]
fn options_lost_midway_on_the_only_subflow_mean_tcp() {
    for checksum in [false, true] {
        for bytes in [1, 50_000, 99_999, 333_333, 600_000] {
            let mut pair = one_path(checksum);
            stripped_after(&mut pair, bytes);
            pair.transfer(400_000, 600_000);
            pair.close();
            let fallen = [Side::Client, Side::Server].map(|side| pair.info(side).fallback);
            assert!(fallen == [true, true] || bytes == 600_000, "{bytes}: {fallen:?}");
        }
    }
}

#[test]
fn options_lost_midway_with_losses_still_deliver() {
    for seed in 0..30 {
        let path = Path { loss: 0.02, ..Path::ms(10) };
        let config = MptcpConfig { checksum: seed % 2 == 0, ..MptcpConfig::default() };
        let mut pair = Pair::with_seed(&[path], config.clone(), config, seed);
        stripped_after(&mut pair, 20_000 * seed);
        pair.transfer(400_000, 600_000);
        pair.close();
    }
}

/// Resets that went by, with their reasons.
fn reasons(pair: &mut Pair) -> Rc<RefCell<Vec<(usize, u8)>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let list = Rc::clone(&seen);
    let mut before = pair.mangle.take();
    pair.mangle = Some(Box::new(move |side, path, packet| {
        if let Some(segment) = tcp(packet) {
            for option in segment.options.mptcp.others() {
                if let MptcpOption::TcpRst { reason: ResetReason(reason), .. } = option {
                    list.borrow_mut().push((path, *reason));
                }
            }
        }
        before.as_mut().is_none_or(|before| before(side, path, packet))
    }));
    seen
}

/// One side may consider the join complete and the other one not: the latter waits.
#[test]
fn options_lost_while_a_join_is_under_way_leave_both_sides_of_one_mind() {
    let mut fallen = [0, 0];
    for (near, far) in [(5, 40), (20, 20), (40, 5), (10, 100)] {
        // Around the third packet of the join, which leaves after two of the other's round trips.
        for after in (0..14).map(|step| 2 * far + near + step * (4 * near + far) / 13) {
            for way in [[true, false], [false, true], [true, true]] {
                let mut config = MptcpConfig { checksum: after % 2 == 0, ..MptcpConfig::default() };
                // So small that data flow all the time.
                config.tcp.buffers =
                    Buffers { send_max: 24 << 10, receive_max: 24 << 10, auto_tuning: false };
                let paths = [Path::ms(near), Path::ms(far)];
                let mut pair = Pair::new(&paths, config.clone(), config);
                pair.fictive = true;
                (pair.ends[0].to_write, pair.ends[1].to_write) = (300_000, 300_000);
                pair.pass(Duration::from_millis(after));
                assert!(!pair.is_delivered());
                strip(&mut pair, move |side, segment| {
                    way[side as usize] && !segment.flags.contains(Flags::RST)
                });
                pair.transfer(300_000, 300_000);
                pair.close();
                let plain = [Side::Client, Side::Server].map(|side| pair.info(side).fallback);
                assert_eq!(plain[0], plain[1], "{near} {far}: {after} ms, {way:?}");
                fallen[usize::from(plain[0])] += 1;
            }
        }
    }
    assert!(fallen[0] > 20 && fallen[1] > 20, "{fallen:?}");
}

#[test]
fn options_lost_after_a_join_reset_that_subflow_with_reason_6() {
    let mut pair = two_paths(false);
    pair.ends[0].to_write = 1;
    pair.ends[1].to_write = 4 << 20;
    pair.await_subflows(2);
    pair.run_until(Duration::from_secs(60), |pair| pair.ends[0].got >= 500_000);
    strip(&mut pair, |_, segment| !segment.flags.contains(Flags::RST));
    let seen = reasons(&mut pair);
    pair.transfer(1, 4 << 20);
    assert!(seen.borrow().contains(&(0, 6)), "{:?}", seen.borrow());
    assert!(!pair.info(Side::Client).fallback);
    pair.close();
}

#[test]
fn old_data_again_without_options_do_no_harm() {
    // A middlebox repeats a segment without its options.
    for paths in [1, 2] {
        let mut pair = if paths == 1 { one_path(false) } else { two_paths(false) };
        pair.ends[0].to_write = 1;
        pair.ends[1].to_write = 4 << 20;
        let kept = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&kept);
        pair.mangle = Some(Box::new(move |side, path, packet| {
            if side == Side::Server && path == 0 && packet.payload_len() > 0 {
                let mut copy = packet.clone();
                if let Some(segment) = tcp(&mut copy) {
                    segment.options.mptcp = Default::default();
                }
                keep.borrow_mut().get_or_insert(copy);
            }
            true
        }));
        pair.run_until(Duration::from_secs(60), |pair| pair.ends[0].got >= 500_000);
        if paths == 2 {
            pair.await_subflows(2);
        }
        let copy = kept.borrow_mut().take().expect("a data segment");
        pair.inject(Side::Client, 0, copy);
        pair.transfer(1, 4 << 20);
        assert_eq!(pair.info(Side::Client).refused, 0);
        assert!(!pair.info(Side::Client).fallback);
    }
}

/// Flip a byte of the payload of the first data segment from `side` after `after` others.
fn rewrite(pair: &mut Pair, side: Side, path: usize, after: u32) -> Rc<Cell<u32>> {
    let count = Rc::new(Cell::new(0));
    let seen = Rc::clone(&count);
    pair.mangle = Some(Box::new(move |from, on, packet| {
        let Some(segment) = tcp(packet) else { return true };
        if from == side && on == path && !segment.payload.is_empty() {
            seen.set(seen.get() + 1);
            if seen.get() == after {
                let mut bytes = segment.payload.to_bytes().to_vec();
                bytes[0] ^= 0xff;
                segment.payload = Payload::from(bytes);
            }
        }
        true
    }));
    count
}

/// What `side` read, without a check: the pair's own check does not allow for middleboxes.
fn read_all(pair: &mut Pair, side: Side, want: u64) -> Vec<u8> {
    let mut all = std::mem::take(&mut pair.ends[side as usize].read);
    let mut until = pair.now + Duration::from_secs(300);
    pair.ends[side as usize].paused = true;
    pair.expect("connection", Duration::from_secs(9), |pair| pair.ends[1].connected);
    while (all.len() as u64) < want {
        assert!(pair.step() && pair.now < until, "{} bytes {}", all.len(), pair.describe());
        let socket = pair.socket(side);
        let mut cx = pair.cx(side);
        while let Ok(payload) = pair.stack(side).read(&mut cx, socket, 1 << 20)
            && !payload.is_empty()
        {
            all.extend_from_slice(&payload.to_bytes());
            until = pair.now + Duration::from_secs(300);
        }
        pair.settle();
    }
    all
}

#[test]
fn rewritten_payload_on_the_only_subflow_means_tcp_both_ways() {
    for side in [Side::Client, Side::Server] {
        for after in [1, 2, 30, 69, 70] {
            let mut pair = one_path(true);
            let size = 100_000;
            pair.ends[side as usize].to_write = size;
            rewrite(&mut pair, side, 0, after);
            let read = read_all(&mut pair, side.other(), size);
            let wrong: Vec<usize> = (0..read.len())
                .filter(|at| read[*at] != crate::pair::byte(side, *at as u64))
                .collect();
            assert_eq!(read.len() as u64, size);
            assert_eq!(wrong.len(), 1, "what the middlebox wrote is the stream: {wrong:?}");
            pair.pass(Duration::from_secs(10));
            let fallen = [Side::Client, Side::Server].map(|side| pair.info(side).fallback);
            assert_eq!(fallen, [true, true], "{side:?} after {after}");
            // The other direction works, too.
            pair.ends[side.other() as usize].to_write = 50_000;
            pair.run_until(Duration::from_secs(60), |pair| pair.ends[side as usize].got == 50_000);
        }
    }
}

#[test]
fn lost_mp_fail_and_lost_answer_are_repeated() {
    for lose in 1..4 {
        let mut pair = one_path(true);
        pair.ends[1].to_write = 60_000;
        rewrite(&mut pair, Side::Server, 0, 40);
        let mut rest = pair.mangle.take();
        let mut seen = 0;
        pair.mangle = Some(Box::new(move |side, path, packet| {
            let fail = tcp(packet).is_some_and(|segment| {
                let options = segment.options.mptcp.others();
                options.iter().any(|option| matches!(option, MptcpOption::Fail { .. }))
            });
            seen += u32::from(fail);
            let passed = rest.as_mut().is_none_or(|rest| rest(side, path, packet));
            passed && !(fail && seen <= lose)
        }));
        let read = read_all(&mut pair, Side::Client, 60_000);
        assert_eq!(read.len(), 60_000);
        assert!(pair.info(Side::Client).fallback);
    }
}

#[test]
fn mp_fail_without_answer_ends_the_connection() {
    let mut pair = one_path(true);
    pair.ends[1].to_write = 60_000;
    rewrite(&mut pair, Side::Server, 0, 41);
    let mut rest = pair.mangle.take();
    pair.mangle = Some(Box::new(move |side, path, packet| {
        let passed = rest.as_mut().is_none_or(|rest| rest(side, path, packet));
        if let Some(segment) = tcp(packet) {
            let kept = segment.options.mptcp.others().iter().cloned();
            let kept: Vec<_> =
                kept.filter(|option| !matches!(option, MptcpOption::Fail { .. })).collect();
            let dss = segment.options.mptcp.dss;
            segment.options.mptcp = kept.into_iter().collect();
            segment.options.mptcp.dss = dss;
        }
        passed
    }));
    pair.expect("a failure", Duration::from_secs(400), |pair| pair.ends[0].failed.is_some());
    assert_eq!(pair.ends[0].failed, Some(SocketError::Reset));
    assert!(pair.ends[0].got < 60_000, "nothing doubtful was delivered");
}

#[test]
fn rewritten_payload_on_one_of_two_subflows_resets_it_and_is_sent_again() {
    for (path, after) in [(0, 250), (1, 5)] {
        let mut pair = two_paths(true);
        pair.ends[0].to_write = 1;
        pair.ends[1].to_write = 2 << 20;
        rewrite(&mut pair, Side::Server, path, after);
        let seen = reasons(&mut pair);
        pair.transfer(1, 2 << 20);
        assert!(
            seen.borrow().contains(&(path, 6)),
            "{path} {:?} {}",
            seen.borrow(),
            pair.describe()
        );
        assert!(pair.info(Side::Client).refused > 0);
        pair.close();
    }
}

#[test]
fn payload_that_changes_its_length_means_tcp() {
    // As an application gateway does: one byte more, and all numbers shifted. Regression: of 8000
    // bytes the DATA_FIN arrives before the fallback, and the last byte was lost.
    for size in [50_000, 8_000, 2_000] {
        let mut pair = one_path(true);
        pair.ends[1].to_write = size;
        lengthen(&mut pair);
        let read = read_all(&mut pair, Side::Client, size + 1);
        assert_eq!(read.len() as u64, size + 1);
        assert!(pair.info(Side::Client).fallback && pair.info(Side::Server).fallback);
    }
}

/// The first segment of the server is one byte longer.
fn lengthen(pair: &mut Pair) {
    let mut shifted = None;
    pair.mangle = Some(Box::new(move |side, _, packet| {
        let Some(segment) = tcp(packet) else { return true };
        if side == Side::Server {
            if shifted.is_some_and(|at| segment.seq > at) {
                segment.seq += 1;
            } else if segment.payload.len() > 100 && shifted.is_none_or(|at| at == segment.seq) {
                shifted = Some(segment.seq);
                let mut bytes = segment.payload.to_bytes().slice(1..).to_vec();
                bytes.splice(0..0, [1, 2]);
                // The segment must fit: it loses its last byte to the next one's place.
                segment.payload = Payload::from(Bytes::from(bytes));
                segment.options.sack = Default::default();
                segment.options.timestamps = segment.options.timestamps.take();
            }
        } else if shifted.is_some_and(|at| segment.ack > at + 1) {
            segment.ack = segment.ack - 1;
            segment.options.sack = Default::default();
        }
        true
    }));
}

/// Regression: an MP_FAIL, which nothing authenticates, had both ends answer each other for ever.
#[test]
fn one_forged_mp_fail_starts_no_endless_exchange() {
    for target in [Side::Client, Side::Server] {
        let mut pair = one_path(false);
        pair.finish = false;
        pair.transfer(1_000, 1_000);
        let (mut forged, seen) = (false, Rc::new(Cell::new(0)));
        let count = Rc::clone(&seen);
        pair.mangle = Some(Box::new(move |side, _, packet| {
            let Some(segment) = tcp(packet) else { return true };
            if side != target && !std::mem::replace(&mut forged, true) {
                segment.options.mptcp = MptcpOption::Fail { dsn: 7 }.into();
            }
            let is_fail = |option: &MptcpOption| matches!(option, MptcpOption::Fail { .. });
            count.set(count.get() + u32::from(segment.options.mptcp.others().iter().any(is_fail)));
            true
        }));
        pair.ends[0].to_write += 1_000;
        pair.ends[1].to_write += 1_000;
        pair.settle();
        pair.pass(Duration::from_secs(60));
        let fallen = [Side::Client, Side::Server].map(|side| pair.info(side).fallback);
        assert_eq!(fallen, [true, true]);
        assert!((1..=4).contains(&seen.get()), "{} MP_FAIL", seen.get());
    }
}

#[test]
fn flow_control_lasts_after_falling_back() {
    for (stage, mainline_limits) in [("syn", false), ("data", false), ("syn", true), ("data", true)]
    {
        let mut config = MptcpConfig { mainline_limits, ..MptcpConfig::default() };
        config.tcp.buffers =
            Buffers { send_max: 1 << 20, receive_max: 256 << 10, auto_tuning: false };
        let mut pair = Pair::new(&[Path::ms(10)], config.clone(), config);
        strip(&mut pair, move |_, segment| stage == "syn" || !segment.payload.is_empty());
        pair.ends[0].paused = true;
        pair.ends[1].to_write = 4 << 20;
        pair.pass(Duration::from_secs(30));
        let info = pair.info(Side::Client);
        assert!(info.fallback);
        assert!(info.held_bytes <= 256 << 10, "{} bytes held for a lazy reader", info.held_bytes);
        pair.set_reading(Side::Client, true);
        pair.transfer(0, 4 << 20);
    }
}

#[test]
fn segments_of_a_connection_that_fell_back_are_full_and_fit() {
    let mut pair = one_path(false);
    strip(&mut pair, |_, _| true);
    let longest = Rc::new(Cell::new(0));
    let seen = Rc::clone(&longest);
    let mut rest = pair.mangle.take();
    pair.mangle = Some(Box::new(move |side, path, packet| {
        seen.set(seen.get().max(packet.wire_len()));
        rest.as_mut().is_none_or(|rest| rest(side, path, packet))
    }));
    pair.transfer(100_000, 100_000);
    assert_eq!(longest.get(), 1500);
}

//! Opening a connection: every packet lost once, keys in the first data, versions and flags
//! (RFC 8684 s3.1).

use crate::pair::{Pair, Path, Side, tcp};
use base::Duration;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use transport::mptcp::MptcpConfig;
use transport::{Profile, TcpConfig};
use wire::mptcp::{Capable, CapableFlags, CapableForm, Join, MptcpOption};
use wire::{Flags, Packet};

fn checksums(on: bool) -> MptcpConfig {
    MptcpConfig { checksum: on, ..MptcpConfig::default() }
}

fn two_paths(client: MptcpConfig, server: MptcpConfig) -> Pair {
    Pair::new(&[Path::ms(10), Path::ms(15)], client, server)
}

/// Let both sides write `up` and `down` bytes and close; where nothing is written the client closes
/// first and the server when it is notified of that.
fn run(pair: &mut Pair, up: u64, down: u64) {
    pair.ends[0].to_write = up;
    pair.ends[1].to_write = down;
    let limit = Duration::from_secs(200);
    pair.expect("delivery", limit, |pair| {
        pair.ends.iter().all(|end| end.connected) && pair.is_delivered()
    });
    if up == 0 {
        pair.shutdown(Side::Client);
    }
    pair.expect("end of stream", limit, |pair| pair.ends[1].ended);
    if down == 0 {
        pair.shutdown(Side::Server);
    }
    pair.close();
}

/// Lose packets `from..from + burst` that `side` sends, in all; how many it sent.
fn lose(pair: &mut Pair, side: Side, from: u32, burst: u32) -> Rc<Cell<u32>> {
    let sent = Rc::new(Cell::new(0));
    let count = Rc::clone(&sent);
    pair.mangle = Some(Box::new(move |sender, _, _| {
        count.set(count.get() + u32::from(sender == side));
        sender != side || !(from..from + burst).contains(&count.get())
    }));
    sent
}

fn every_packet_lost(up: u64, down: u64, burst: u32, checksum: bool) {
    for side in [Side::Client, Side::Server] {
        for n in 1.. {
            let mut pair = two_paths(checksums(checksum), checksums(false));
            let sent = lose(&mut pair, side, n, burst);
            run(&mut pair, up, down);
            if (side, n, burst) == (Side::Client, 1, 3) {
                assert!(pair.info(side).fallback, "the fourth SYN goes without the option");
                continue;
            }
            for info in [pair.info(Side::Client), pair.info(Side::Server)] {
                assert!(!info.fallback, "packet {n} of {side:?}");
                assert_eq!(info.refused, 0, "packet {n} of {side:?}");
            }
            if sent.get() < n {
                assert!(n > 6, "{n} packets of {side:?} in a whole connection");
                break;
            }
        }
    }
}

#[test]
fn any_packet_lost_client_sends_first() {
    every_packet_lost(3000, 3000, 1, false);
}

#[test]
fn any_packet_lost_server_sends_first() {
    every_packet_lost(0, 4000, 1, false);
}

#[test]
fn any_packet_lost_only_the_client_sends() {
    every_packet_lost(4000, 0, 1, true);
}

#[test]
fn any_packet_lost_nobody_sends() {
    every_packet_lost(0, 0, 1, false);
}

#[test]
fn any_two_packets_lost() {
    every_packet_lost(3000, 3000, 2, true);
}

#[test]
fn any_three_packets_lost_server_sends_first() {
    every_packet_lost(0, 3000, 3, false);
}

/// The forms of MP_CAPABLE that the client sends on data, as (length of option, segment).
fn data_forms(pair: &mut Pair) -> Rc<Cell<(u32, u32)>> {
    let forms = Rc::new(Cell::new((0, 0)));
    let seen = Rc::clone(&forms);
    pair.mangle = Some(Box::new(move |side, _, packet| {
        if side == Side::Client
            && packet.payload_len() > 0
            && let Some(segment) = tcp(packet)
            && let Some(capable) = segment.options.mptcp.capable()
        {
            seen.set((capable.wire_len(), seen.get().1 + 1));
        }
        true
    }));
    forms
}

#[test]
fn first_data_carry_the_keys() {
    for (checksum, len) in [(false, 22), (true, 24)] {
        let mut pair = two_paths(checksums(checksum), checksums(false));
        let forms = data_forms(&mut pair);
        run(&mut pair, 3000, 100);
        assert_eq!(forms.get(), (len, 1), "one segment, in the form for checksums or without");
    }
}

/// The payload of each segment of one side's 14,280 bytes, of which the peer writes none.
fn payloads(config: &MptcpConfig, side: Side) -> Vec<u32> {
    let mut pair = two_paths(config.clone(), config.clone());
    let lens = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&lens);
    pair.mangle = Some(Box::new(move |from, _, packet| {
        if from == side && packet.payload_len() > 0 {
            seen.borrow_mut().push(packet.payload_len());
        }
        true
    }));
    let (up, down) = if side == Side::Client { (14_280, 0) } else { (0, 14_280) };
    run(&mut pair, up, down);
    lens.take()
}

#[test]
fn first_flight_consists_of_full_segments() {
    // Payload of a segment with a 64-bit number and a 32-bit acknowledgement, as Linux's.
    let full: Vec<u32> = [&[1424; 10][..], &[40]].concat();
    assert_eq!(payloads(&checksums(false), Side::Client), full);
}

/// Regression: the kernels of the papers sent numbers of 64 bits, and their packets had 1424 bytes
/// of data in place of 1428 (000 s4.2).
#[test]
fn kernels_of_the_papers_send_numbers_of_32_bits() {
    let tcp = TcpConfig { profile: Profile::Linux314, ..TcpConfig::default() };
    for checksum in [false, true] {
        let config = MptcpConfig { tcp: tcp.clone(), ..checksums(checksum) };
        assert_eq!(payloads(&config, Side::Server), [1428; 10], "checksum {checksum}");
    }
    // The keys with the first data take 4 bytes more.
    let config = MptcpConfig { tcp, ..MptcpConfig::default() };
    assert_eq!(payloads(&config, Side::Client)[..2], [1424; 2]);
}

#[test]
fn first_data_without_third_ack_establish() {
    let mut pair = two_paths(checksums(true), checksums(false));
    pair.mangle = Some(Box::new(|side, _, packet| {
        let data = packet.payload_len() > 0;
        let keys = tcp(packet).and_then(|segment| segment.options.mptcp.capable());
        let third = matches!(keys, Some(Capable::V1 { form: CapableForm::Ack { .. }, .. }));
        side == Side::Server || data || !third
    }));
    run(&mut pair, 3000, 3000);
    assert!(!pair.info(Side::Server).fallback);
}

#[test]
fn keys_lost_while_later_data_arrive_are_waited_for() {
    let mut pair = two_paths(checksums(false), checksums(false));
    let mut lost = 0;
    pair.mangle = Some(Box::new(move |side, _, packet| {
        // The third ACK and the first data segment, both with keys.
        let keys = tcp(packet).is_some_and(|segment| {
            !segment.flags.contains(Flags::SYN) && segment.options.mptcp.capable().is_some()
        });
        let lose = side == Side::Client && keys && lost < 2;
        lost += u32::from(lose);
        !lose
    }));
    run(&mut pair, 20_000, 100);
    assert!(!pair.info(Side::Server).fallback, "the DSS of later data shows that options pass");
    assert!(!pair.info(Side::Client).fallback);
}

fn is_syn(packet: &mut Packet) -> bool {
    tcp(packet).is_some_and(|segment| segment.flags == Flags::SYN)
}

#[test]
fn syn_without_answer_drops_the_option_after_two_repetitions() {
    let mut pair = two_paths(checksums(false), checksums(false));
    let with_option = Rc::new(Cell::new(0));
    let seen = Rc::clone(&with_option);
    pair.mangle = Some(Box::new(move |_, _, packet| {
        let syn = is_syn(packet);
        let option = tcp(packet).is_some_and(|segment| !segment.options.mptcp.is_empty());
        seen.set(seen.get() + u32::from(syn && option));
        !(syn && option)
    }));
    run(&mut pair, 2000, 2000);
    assert_eq!(with_option.get(), 3);
    assert!(pair.info(Side::Client).fallback);
}

#[test]
fn repeated_syn_without_the_option_is_answered_without() {
    let mut pair = two_paths(checksums(false), checksums(false));
    pair.mangle = Some(Box::new(move |side, _, packet| {
        // SYN/ACKs with the option are lost: as if it were too much for a middlebox.
        side == Side::Client
            || tcp(packet).is_none_or(|segment| {
                !segment.flags.contains(Flags::SYN) || segment.options.mptcp.is_empty()
            })
    }));
    run(&mut pair, 2000, 2000);
    assert!(pair.info(Side::Client).fallback && pair.info(Side::Server).fallback);
}

/// Change the MP_CAPABLE of the SYN (or with `back`: of the SYN/ACK).
fn change_capable(pair: &mut Pair, back: bool, change: impl Fn(Capable) -> Capable + 'static) {
    pair.mangle = Some(Box::new(move |_, _, packet| {
        if let Some(segment) = tcp(packet)
            && segment.flags.contains(Flags::SYN)
            && segment.flags.contains(Flags::ACK) == back
            && let Some(capable) = segment.options.mptcp.capable()
        {
            segment.options.mptcp = MptcpOption::Capable(change(capable)).into();
        }
        true
    }));
}

fn with_flags(capable: Capable, change: impl Fn(CapableFlags) -> CapableFlags) -> Capable {
    match capable {
        Capable::V1 { flags, form } => Capable::V1 { flags: change(flags), form },
        other => other,
    }
}

#[test]
fn version_0_is_answered_with_tcp() {
    let mut pair = two_paths(checksums(false), checksums(false));
    change_capable(&mut pair, false, |_| Capable::Unsupported { version: 0 });
    run(&mut pair, 2000, 2000);
    assert!(pair.info(Side::Client).fallback);
}

#[test]
fn version_0_in_the_answer_means_tcp() {
    let mut pair = two_paths(checksums(false), checksums(false));
    change_capable(&mut pair, true, |_| Capable::Unsupported { version: 0 });
    run(&mut pair, 2000, 2000);
    assert!(pair.info(Side::Client).fallback && pair.info(Side::Server).fallback);
}

#[test]
fn extensibility_bit_or_no_known_algorithm_is_ignored() {
    for flags in [0x41, 0x00, 0x10] {
        for back in [false, true] {
            let mut pair = two_paths(checksums(false), checksums(false));
            change_capable(&mut pair, back, move |capable| {
                with_flags(capable, |_| CapableFlags(flags))
            });
            run(&mut pair, 2000, 2000);
            assert!(pair.info(Side::Client).fallback, "flags {flags:#x}");
        }
    }
}

#[test]
fn checksums_wanted_by_either_side_are_used_by_both() {
    for (client, server) in [(true, false), (false, true), (true, true), (false, false)] {
        let mut pair = two_paths(checksums(client), checksums(server));
        let right = Rc::new(Cell::new([0, 0]));
        let seen = Rc::clone(&right);
        let wanted = client || server;
        pair.mangle = Some(Box::new(move |_, _, packet| {
            let mapping = tcp(packet).and_then(|s| s.options.mptcp.dss).and_then(|d| d.mapping());
            if let Some(mapping) = mapping {
                let [yes, no] = seen.get();
                let as_wanted = mapping.checksum.is_some() == wanted;
                seen.set([yes + u32::from(as_wanted), no + u32::from(!as_wanted)]);
            }
            true
        }));
        run(&mut pair, 30_000, 30_000);
        let [yes, no] = right.get();
        assert!(yes > 20 && no == 0, "{client} {server}: {yes} {no}");
    }
}

#[test]
fn no_join_flag_keeps_joins_off_the_first_address() {
    let mut pair = two_paths(checksums(false), checksums(false));
    let joins = Rc::new(Cell::new(0));
    let seen = Rc::clone(&joins);
    pair.mangle = Some(Box::new(move |side, path, packet| {
        let Some(segment) = tcp(packet) else { return true };
        if let Some(capable) = segment.options.mptcp.capable() {
            let change = |flags: CapableFlags| flags.with(CapableFlags::NO_JOIN);
            let changed = MptcpOption::Capable(with_flags(capable, change));
            if side == Side::Server {
                segment.options.mptcp = changed.into();
            }
        }
        let syn = matches!(segment.options.mptcp.join(), Some(Join::Syn { .. }));
        seen.set(seen.get() + u32::from(syn && side == Side::Client && path == 0));
        true
    }));
    pair.transfer(10_000, 100_000);
    assert_eq!(joins.get(), 0);
}

#[test]
fn wrong_key_in_the_third_ack_means_tcp() {
    let mut pair = two_paths(checksums(false), checksums(false));
    pair.mangle = Some(Box::new(|side, _, packet| {
        if side == Side::Client
            && let Some(segment) = tcp(packet)
            && let Some(Capable::V1 { flags, form }) = segment.options.mptcp.capable()
        {
            let form = match form {
                CapableForm::Ack { sender, receiver } => {
                    let receiver = wire::mptcp::Key(receiver.0 ^ 1);
                    CapableForm::Ack { sender, receiver }
                }
                CapableForm::Data { sender, receiver, len, checksum } => {
                    let receiver = wire::mptcp::Key(receiver.0 ^ 1);
                    CapableForm::Data { sender, receiver, len, checksum }
                }
                other => other,
            };
            segment.options.mptcp = MptcpOption::Capable(Capable::V1 { flags, form }).into();
        }
        true
    }));
    run(&mut pair, 5000, 5000);
    assert!(pair.info(Side::Server).fallback && pair.info(Side::Server).refused > 0);
}

#[test]
fn window_of_the_syn_ack_is_not_scaled() {
    // A client that takes it for a scaled one overruns a small receiver.
    let small = transport::Buffers { send_max: 1 << 20, receive_max: 1 << 20, auto_tuning: false };
    let mut server = checksums(false);
    server.tcp.buffers = small;
    let mut pair = two_paths(checksums(false), server);
    pair.ends[1].paused = true;
    pair.ends[0].to_write = 4 << 20;
    pair.pass(Duration::from_secs(2));
    assert_eq!(pair.info(Side::Client).reinjected_bytes, 0);
    pair.set_reading(Side::Server, true);
    run(&mut pair, 4 << 20, 0);
}

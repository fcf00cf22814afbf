//! Hostile options: any set of them on established connections never panics, never puts a byte
//! where it does not belong, is counted where it is refused, and makes nothing grow beyond what
//! windows allow.

use crate::raw::{KEY, Raw, stream};
use base::Duration;
use proptest::prelude::*;
use transport::Buffers;
use transport::mptcp::MptcpConfig;
use wire::mptcp::{
    AddAddr, Capable, CapableFlags, CapableForm, DataNumber, Dss, Join, Key, Mapping, MptcpOption,
    MptcpOptions, ResetReason, Token,
};
use wire::{Flags, Payload, TcpSegment};

const BUFFER: u32 = 96 << 10;

/// An option by what it has to do with the connection's state.
#[derive(Clone, Debug)]
enum Bad {
    /// Bytes behind kind and length.
    Bytes(Vec<u8>),
    Dss {
        ack: Option<i64>,
        map: Option<(i64, i64, u16)>,
        fin: bool,
        short: bool,
        sum: bool,
    },
    AddAddr {
        signed: bool,
        id: u8,
        ip: [u8; 4],
        port: Option<u16>,
        echo: bool,
    },
    RemoveAddr(Vec<u8>),
    Prio(bool),
    Fail(i64),
    FastClose,
    TcpRst(u8),
    Capable {
        flags: u8,
        right: bool,
        len: Option<u16>,
    },
    Join(u8),
}

/// Near the present, or anywhere.
fn near() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0i64),
        4 => -3000i64..20_000,
        2 => -100_000i64..5_000_000,
        1 => any::<i32>().prop_map(i64::from),
        1 => any::<i64>(),
    ]
}

fn dss() -> impl Strategy<Value = Bad> {
    let len = prop_oneof![1 => Just(0u16), 2 => Just(1), 4 => 2..2000u16, 1 => any::<u16>()];
    let map = prop::option::of((near(), near(), len));
    let bits = prop::array::uniform3(prop::bool::weighted(0.2));
    (prop::option::of(near()), map, bits).prop_map(|(ack, map, [fin, short, sum])| Bad::Dss {
        ack,
        map,
        fin,
        short,
        sum,
    })
}

fn bad() -> impl Strategy<Value = Bad> {
    let add = (any::<bool>(), any::<u8>(), 0u8..4, prop::option::of(any::<u16>()), any::<bool>());
    prop_oneof![
        8 => dss(),
        2 => prop::collection::vec(any::<u8>(), 1..26).prop_map(Bad::Bytes),
        3 => add.prop_map(|(signed, id, net, port, echo)| {
            Bad::AddAddr { signed, id, ip: [10, 0, net, id], port, echo }
        }),
        1 => prop::collection::vec(any::<u8>(), 1..8).prop_map(Bad::RemoveAddr),
        1 => any::<bool>().prop_map(Bad::Prio),
        1 => near().prop_map(Bad::Fail),
        1 => Just(Bad::FastClose),
        1 => any::<u8>().prop_map(Bad::TcpRst),
        1 => (any::<u8>(), any::<bool>(), prop::option::of(any::<u16>()))
            .prop_map(|(flags, right, len)| Bad::Capable { flags, right, len }),
        1 => (0u8..3).prop_map(Bad::Join),
    ]
}

/// One step of an attack.
#[derive(Clone, Debug)]
enum Step {
    /// Options without payload, on one of the subflows.
    Say(usize, Vec<Bad>),
    /// With payload, at a distance from what is next on that subflow.
    Send(usize, Vec<Bad>, u32, i64),
    Reset(usize, Vec<Bad>),
    /// What an honest peer sends.
    Honest(usize, u16),
    Join(bool),
    Write(u32),
    Read,
    Pass(u64),
}

fn step(payload: bool) -> impl Strategy<Value = Step> {
    let bads = || prop::collection::vec(bad(), 0..4);
    let loud = if payload { 6 } else { 0 };
    let kill = u32::from(payload);
    prop_oneof![
        8 => (0usize..4, bads()).prop_map(|(sub, bads)| Step::Say(sub, bads)),
        loud => (0usize..4, bads(), 1u32..1460, near())
            .prop_map(|(sub, bads, len, at)| Step::Send(sub, bads, len, at)),
        kill => (0usize..4, bads()).prop_map(|(sub, bads)| Step::Reset(sub, bads)),
        4 => (0usize..4, 1u16..1460).prop_map(|(sub, len)| Step::Honest(sub, len)),
        kill => any::<bool>().prop_map(Step::Join),
        2 => (1u32..100_000).prop_map(Step::Write),
        2 => Just(Step::Read),
        2 => (1u64..3000).prop_map(Step::Pass),
    ]
}

fn number(base: u64, distance: i64, short: bool) -> DataNumber {
    let number = base.wrapping_add_signed(distance);
    if short { DataNumber::Short(number as u32) } else { DataNumber::Long(number) }
}

fn build(raw: &Raw, sub: usize, bads: &[Bad], honest: u64) -> MptcpOptions {
    let mut options = MptcpOptions::default();
    for bad in bads {
        match option(raw, sub, bad, honest) {
            Some(option) => options.push(option),
            None => continue,
        }
    }
    options
}

fn option(raw: &Raw, sub: usize, bad: &Bad, honest: u64) -> Option<MptcpOption> {
    let sent = i64::from(raw.subs[sub].sent) + 1;
    Some(match bad {
        Bad::Bytes(bytes) => MptcpOption::parse(bytes)?,
        Bad::Dss { ack, map, fin, short, sum } => {
            let mut dss = Dss::EMPTY;
            if let Some(ack) = ack {
                dss = dss.with_ack(number(raw.their_number(0), *ack, *short));
            }
            if let Some((dsn, ssn, len)) = map {
                let dsn = number(raw.number(honest), *dsn, *short);
                let subflow_seq = sent.wrapping_add(*ssn) as u32;
                let checksum = sum.then_some(0x1234);
                dss = dss.with_mapping(Mapping { dsn, subflow_seq, len: *len, checksum });
            }
            MptcpOption::Dss(if *fin { dss.with_fin() } else { dss })
        }
        Bad::AddAddr { signed, id, ip, port, echo } => {
            let key = if *signed { KEY } else { Key(9) };
            let add = AddAddr::signed(key, raw.their_key, *id, (*ip).into(), *port);
            MptcpOption::AddAddr(if *echo { add.echo() } else { add })
        }
        Bad::RemoveAddr(ids) => MptcpOption::RemoveAddr { ids: ids.clone() },
        Bad::Prio(backup) => MptcpOption::Prio { backup: *backup },
        Bad::Fail(at) => MptcpOption::Fail { dsn: raw.their_number(0).wrapping_add_signed(*at) },
        Bad::FastClose => MptcpOption::FastClose { receiver: Key(raw.their_key.0 ^ 4) },
        Bad::TcpRst(reason) => {
            MptcpOption::TcpRst { transient: false, reason: ResetReason(*reason) }
        }
        Bad::Capable { flags, right, len } => {
            let sender = if *right { KEY } else { Key(5) };
            let receiver = raw.their_key;
            let form = match len {
                None => CapableForm::Ack { sender, receiver },
                Some(len) => CapableForm::Data { sender, receiver, len: *len, checksum: None },
            };
            MptcpOption::Capable(Capable::V1 { flags: CapableFlags(*flags), form })
        }
        Bad::Join(0) => MptcpOption::Join(Join::Ack { hmac: [3; 20] }),
        Bad::Join(1) => {
            MptcpOption::Join(Join::SynAck { backup: true, address_id: 1, hmac: [4; 8], nonce: 5 })
        }
        Bad::Join(_) => {
            MptcpOption::Join(Join::Syn { backup: false, address_id: 1, token: Token(7), nonce: 5 })
        }
    })
}

fn config() -> MptcpConfig {
    let mut config = MptcpConfig::default();
    config.tcp.buffers = Buffers { send_max: BUFFER, receive_max: BUFFER, auto_tuning: false };
    config
}

fn check_memory(raw: &Raw) {
    let Some(info) = raw.socket.and_then(|socket| raw.stack.info(socket)) else { return };
    // The connection's buffer, as much for all subflows together, and the least of each.
    let subflows = info.paths.len() as u64;
    let most = 2 * u64::from(BUFFER) + subflows * 65_535;
    assert!(info.held_bytes <= most, "{} bytes held by {subflows}", info.held_bytes);
    assert!(info.mappings <= 4097 * info.paths.len() as u32);
    assert!(info.paths.len() <= 64);
    assert!(info.snd_una <= info.snd_nxt + 1);
}

/// What an honest peer sent and the application read.
#[derive(Default)]
struct Honest {
    sent: u64,
    read: u64,
}

fn apply(raw: &mut Raw, honest: &mut Honest, step: &Step) {
    let alive: Vec<usize> =
        (0..raw.subs.len()).filter(|sub| raw.subs[*sub].reset.is_none()).collect();
    let pick = |sub: usize| alive.get(sub % alive.len().max(1)).copied();
    match step {
        Step::Say(sub, bads) => {
            let Some(sub) = pick(*sub) else { return };
            let options = build(raw, sub, bads, honest.sent);
            raw.say(sub, options);
        }
        Step::Send(sub, bads, len, at) => {
            let Some(sub) = pick(*sub) else { return };
            let options = build(raw, sub, bads, honest.sent);
            let mut segment = raw.segment(sub, options, stream(honest.sent, *len));
            segment.seq += *at as u32;
            if *at == 0 {
                raw.subs[sub].sent += *len;
            }
            raw.put(sub, segment);
        }
        Step::Reset(sub, bads) => {
            let Some(sub) = pick(*sub) else { return };
            let options = build(raw, sub, bads, honest.sent);
            let mut segment = raw.segment(sub, options, Payload::EMPTY);
            segment.flags = Flags::RST | Flags::ACK;
            raw.put(sub, segment);
        }
        Step::Honest(sub, len) => {
            let Some(sub) = pick(*sub) else { return };
            if honest.sent + u64::from(*len) > honest.read + 20_000 {
                return;
            }
            raw.send_mapped(sub, honest.sent, *len);
            honest.sent += u64::from(*len);
        }
        Step::Join(proved) => {
            let token = raw.their_key.token();
            let (sub, theirs) = raw.begin_join(7, token, 77);
            if let Some(theirs) = theirs.filter(|_| *proved) {
                raw.prove(sub, 77, theirs);
            }
        }
        Step::Write(len) => {
            raw.write(*len);
        }
        Step::Read => {
            let socket = raw.socket;
            if socket.is_some() {
                honest.read = raw.read_any(honest.read);
            }
        }
        Step::Pass(ms) => raw.pass(Duration::from_millis(*ms)),
    }
}

/// Found by the fuzz target `stack_handle`: what was written went behind the FIN.
#[test]
fn mp_fail_after_the_fin_of_the_only_subflow_means_no_tcp() {
    for written_before in [true, false] {
        let mut raw = Raw::server(&config());
        let mut fin = raw.segment(0, raw.data_ack(0), Payload::EMPTY);
        fin.flags = fin.flags | Flags::FIN;
        raw.put(0, fin);
        raw.subs[0].sent += 1;
        let is_fin = |(_, segment): &(usize, TcpSegment)| segment.flags.contains(Flags::FIN);
        assert!(raw.came.iter().any(is_fin), "the subflow is closed both ways");
        if written_before {
            assert_eq!(raw.write(1000), 1000);
        }
        let dsn = raw.their_number(0);
        raw.say(0, MptcpOption::Fail { dsn }.into());
        if !written_before {
            raw.write(1000);
        }
        raw.pass(Duration::from_secs(10));
        assert!(raw.came.iter().all(|(_, segment)| segment.payload.is_empty()));
    }
}

proptest! {
    #![proptest_config(crate::cases(128))]

    /// Options on segments without payload: what the peer sends at the same time arrives unchanged.
    #[test]
    fn options_alone_never_change_the_stream(
        steps in prop::collection::vec(step(false), 1..60),
        joined in 0usize..3,
    ) {
        let mut raw = Raw::client(&config());
        let mut honest = Honest::default();
        raw.send_mapped(0, 0, 100);
        honest.sent = 100;
        (0..joined).for_each(|id| { raw.join(id as u8 + 1); });
        for step in &steps {
            apply(&mut raw, &mut honest, step);
            check_memory(&raw);
            // Bytes in order are those that were sent, with any options.
            honest.read = raw.read(honest.read);
            prop_assert!(honest.read <= honest.sent);
        }
        raw.pass(Duration::from_secs(200));
        honest.read = raw.read(honest.read);
        prop_assert!(honest.read <= honest.sent);
    }

    /// Anything, with payload at any place: nothing panics, nothing grows.
    #[test]
    fn anything_at_all_is_survived(
        steps in prop::collection::vec(step(true), 1..80),
        joined in 0usize..3,
        client in any::<bool>(),
        checksum in prop::bool::weighted(0.2),
    ) {
        let config = MptcpConfig { checksum, ..config() };
        let mut raw = if client { Raw::client(&config) } else { Raw::server(&config) };
        (0..joined).for_each(|id| { raw.join(id as u8 + 1); });
        let mut honest = Honest::default();
        for step in &steps {
            apply(&mut raw, &mut honest, step);
            check_memory(&raw);
        }
        raw.pass(Duration::from_secs(4000));
        check_memory(&raw);
    }

    /// What is refused is counted.
    #[test]
    fn refused_options_are_counted(
        kinds in prop::collection::vec(0usize..5, 1..30),
        numbers in prop::collection::vec(any::<u32>(), 30),
    ) {
        let mut raw = Raw::client(&config());
        let sub = raw.join(1);
        for (count, kind) in kinds.iter().enumerate() {
            let option = match kind {
                0 => MptcpOption::FastClose { receiver: Key(numbers[count].into()) },
                1 => {
                    let ip = std::net::Ipv4Addr::from(numbers[count]).into();
                    MptcpOption::AddAddr(AddAddr::signed(Key(2), raw.their_key, 9, ip, None))
                }
                2 => {
                    let ack = number(raw.their_number(0), i64::from(numbers[count]) + 9, false);
                    MptcpOption::Dss(Dss::EMPTY.with_ack(ack))
                }
                3 => {
                    let dsn = number(raw.number(0), 1 << 40, false);
                    let mapping = Mapping { dsn, subflow_seq: 0, len: 1, checksum: None };
                    MptcpOption::Dss(Dss::EMPTY.with_mapping(mapping).with_fin())
                }
                _ => {
                    let dsn = number(raw.number(0), 0, false);
                    let mapping = Mapping { dsn, subflow_seq: 1, len: 700, checksum: None };
                    MptcpOption::Dss(Dss::EMPTY.with_mapping(mapping))
                }
            };
            raw.say(sub, option.into());
            prop_assert_eq!(raw.info().refused, count as u64 + 1, "kind {}", kind);
        }
        raw.send_mapped(0, 0, 100);
        prop_assert_eq!(raw.read(0), 100);
    }
}

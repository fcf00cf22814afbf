//! Boxes on single packets: what changes, what does not, and that the wire takes what comes out.

mod nat;
mod numbers;
mod options;
mod segments;

use super::*;
use base::{Chance, Context, Instant};
use std::net::IpAddr;
use wire::mptcp::{Capable, CapableFlags, CapableForm, DataNumber, Dss, Join, Key, Mapping};
use wire::mptcp::{MptcpOption, Token};
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpSegment, Timestamps};

/// A box and the time.
struct Bench {
    halves: Halves,
    now: Instant,
}

impl Bench {
    fn new(config: &MiddleBoxConfig) -> Bench {
        Bench { halves: config.build(), now: Instant::ZERO }
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
    }

    fn cx(&self) -> Context<'static> {
        Context::quiet(self.now, Chance::new(1, 0))
    }

    /// What comes out for `packet`; all of it must survive the wire, checksums verified.
    fn through(&mut self, way: Way, packet: Packet) -> Vec<Packet> {
        let (mut cx, mut out) = (self.cx(), Vec::new());
        self.half(way).handle(&mut cx, Box::new(packet), &mut out);
        let out: Vec<Packet> = out.into_iter().map(|packet| *packet).collect();
        for packet in &out {
            assert_eq!(packet.roundtrip().as_ref(), Ok(packet));
        }
        out
    }

    /// What is due by now.
    fn release(&mut self, way: Way) -> Vec<Packet> {
        let (mut cx, mut out) = (self.cx(), Vec::new());
        self.half(way).release(&mut cx, &mut out);
        out.into_iter().map(|packet| *packet).collect()
    }

    fn half(&mut self, way: Way) -> &mut dyn MiddleBox {
        match way {
            Way::Outward => &mut *self.halves[0],
            Way::Inward => &mut *self.halves[1],
        }
    }
}

fn ip(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

/// A segment of the client (`ip(1)`, port 4000) to the server (`ip(2)`, port 80), or back.
fn packet(way: Way, segment: TcpSegment) -> Packet {
    let (src, dst, src_port, dst_port) = match way {
        Way::Outward => (ip(1), ip(2), 4000, 80),
        Way::Inward => (ip(2), ip(1), 80, 4000),
    };
    Packet::new(src, dst, Body::Tcp(TcpSegment { src_port, dst_port, ..segment }))
}

fn syn(seq: u32) -> TcpSegment {
    TcpSegment { seq: SeqNumber(seq), flags: Flags::SYN, ..TcpSegment::default() }
}

fn ack(seq: u32, ack: u32) -> TcpSegment {
    let (seq, ack) = (SeqNumber(seq), SeqNumber(ack));
    TcpSegment { seq, ack, flags: Flags::ACK, window: 500, ..TcpSegment::default() }
}

/// Bytes of virtual stream 1 which begin at `offset`, on a subflow whose first byte is `seq` 1.
fn data(offset: u32, len: u32) -> TcpSegment {
    let payload = Payload::virtual_range(1, offset.into(), len);
    TcpSegment { payload, ..ack(1 + offset, 1) }
}

fn mapping(offset: u32, len: u16) -> MptcpOption {
    let mapping =
        Mapping { dsn: DataNumber::Short(offset), subflow_seq: 1 + offset, len, checksum: None };
    MptcpOption::Dss(Dss::EMPTY.with_ack(DataNumber::Short(7)).with_mapping(mapping))
}

fn with_options(mut segment: TcpSegment, option: MptcpOption) -> TcpSegment {
    segment.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    segment.options.mptcp = option.into();
    segment
}

fn segment(packet: &Packet) -> &TcpSegment {
    flow::tcp(packet).expect("a TCP packet")
}

/// One of each.
fn all() -> Vec<MiddleBoxConfig> {
    let hold = Duration::from_millis(1);
    vec![
        MiddleBoxConfig::Nat { outside: ip(100), idle: Duration::from_secs(60), rebind: None },
        MiddleBoxConfig::StripOptions { stage: Stage::All },
        MiddleBoxConfig::Promotion { idle: Duration::from_secs(9), delay: Duration::ZERO },
        MiddleBoxConfig::RewriteSequence { owner: 1 },
        MiddleBoxConfig::RewritePayload {
            way: Way::Outward,
            find: b"PORT".to_vec(),
            replace: b"EPRT |".to_vec(),
        },
        MiddleBoxConfig::Coalesce { max_bytes: 3000, hold, rule: JoinRule::FirstOptions },
        MiddleBoxConfig::Split { max_bytes: 500, copies: OptionCopies::All },
        MiddleBoxConfig::SilentDrop { swallowed: Swallowed::Everything },
    ]
}

#[test]
fn table_names_every_box_once_in_order() {
    let names: Vec<&str> = NAMES.iter().map(|(name, _, _)| *name).collect();
    let built: Vec<&str> = all().iter().map(MiddleBoxConfig::name).collect();
    assert_eq!(names, built);
    assert!(NAMES.iter().all(|(_, what, source)| what.ends_with('.') && !source.is_empty()));
}

#[test]
fn boxes_leave_alone_what_is_not_theirs() {
    let echo =
        wire::Icmp::Echo { reply: false, identifier: 1, sequence: 1, data: b"abc".to_vec().into() };
    let v6 = |last| IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, last]);
    for config in all() {
        if matches!(config, MiddleBoxConfig::SilentDrop { .. }) {
            continue;
        }
        let mut bench = Bench::new(&config);
        let ping = Packet::new(v6(1), v6(2), Body::Icmp(echo.clone()));
        assert_eq!(bench.through(Way::Outward, ping.clone()), [ping], "{config:?}");
    }
}

#[test]
fn plain_acknowledgement_passes_boxes_for_options_and_data_unchanged() {
    for config in &all()[1..6] {
        if matches!(config, MiddleBoxConfig::RewriteSequence { .. }) {
            continue;
        }
        let mut bench = Bench::new(config);
        for way in [Way::Outward, Way::Inward] {
            let plain = packet(way, ack(5, 9));
            assert_eq!(bench.through(way, plain.clone()), [plain], "{config:?}");
        }
    }
}

//! One stack against a peer whose segments are made by hand: what smoltcp calls the state
//! constructors, for tests that define exactly what arrives and check exactly what leaves.
//!
//! The peer sends from `PEER` (sequence numbers from 1000) with a millisecond clock.

use crate::end::tcp_info;
use base::{Chance, Context, Duration, Instant, InterfaceId, SocketId};
use std::net::{IpAddr, Ipv4Addr};
use transport::{
    Input, InterfaceConfig, SocketEvent, SocketEventKind, Stack, StackConfig, TcpConfig, TcpInfo,
};
use wire::{Body, Flags, Packet, Payload, SeqNumber, TcpOptions, TcpSegment, Timestamps};

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// The peer's initial sequence number.
pub(crate) const ISS: SeqNumber = SeqNumber(1000);
const HERE_PORT: u16 = 80;
const PEER_PORT: u16 = 40_000;

/// A stack and its hand-made peer.
pub(crate) struct Bare {
    pub stack: Stack,
    pub now: Instant,
    chance: Chance,
    pub socket: SocketId,
    /// Position of the peer's next byte.
    pub sent: u32,
    /// What the peer acknowledges, as a position.
    pub acked: u32,
    /// The stack's initial sequence number.
    pub their_iss: SeqNumber,
    /// The stack's port and the peer's.
    ports: (u16, u16),
    /// The window field the peer sends.
    pub window: u16,
    /// Timestamps were agreed on; the value last received.
    pub stamps: Option<u32>,
    pub events: Vec<SocketEvent>,
}

/// The options of a modern peer.
pub(crate) fn modern() -> TcpOptions {
    TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 0, echo: 0 }),
        ..TcpOptions::default()
    }
}

impl Bare {
    fn new() -> Bare {
        let interface = InterfaceConfig { addresses: vec![HERE], mtu: 1500 };
        Bare {
            stack: Stack::new(StackConfig {
                interfaces: vec![interface],
                ..StackConfig::default()
            }),
            now: Instant::from_secs(1),
            chance: Chance::new(1, 0),
            socket: SocketId(1),
            sent: 0,
            acked: 0,
            their_iss: SeqNumber(0),
            ports: (HERE_PORT, PEER_PORT),
            window: 65_535,
            stamps: None,
            events: Vec::new(),
        }
    }

    /// A listening stack.
    pub(crate) fn listening(config: TcpConfig) -> Bare {
        let mut bare = Bare::new();
        bare.stack.listen(HERE_PORT, config).unwrap();
        bare
    }

    /// The peer's SYN was answered; returns the SYN/ACK, too.
    pub(crate) fn syn_received(config: TcpConfig, options: TcpOptions) -> (Bare, TcpSegment) {
        let mut bare = Bare::listening(config);
        let answers = bare.send_syn(options);
        assert_eq!(answers.len(), 1, "one SYN/ACK");
        let syn_ack = answers[0].clone();
        assert!(syn_ack.flags.contains(Flags::SYN | Flags::ACK));
        (bare, syn_ack)
    }

    /// The stack accepted a connection from the peer, 40 ms away.
    pub(crate) fn accepted(config: TcpConfig, options: TcpOptions) -> Bare {
        let (mut bare, _) = Bare::syn_received(config, options);
        bare.wait_ms(40);
        let answers = bare.send(bare.segment(Flags::ACK));
        assert!(answers.is_empty(), "nothing to say to the last ACK of the handshake");
        assert_eq!(bare.state(), "ESTABLISHED");
        bare
    }

    /// The stack's SYN went to the peer; returns it, too.
    pub(crate) fn syn_sent(config: TcpConfig) -> (Bare, TcpSegment) {
        let mut bare = Bare::new();
        let mut cx = Context::quiet(bare.now, bare.chance);
        let remote = (PEER, 80).into();
        bare.socket = bare.stack.connect(&mut cx, HERE, remote, &config.into()).unwrap();
        let syn = bare.drain().pop().unwrap();
        bare.their_iss = syn.seq;
        bare.ports = (syn.src_port, syn.dst_port);
        (bare, syn)
    }

    /// The peer answers the stack's SYN with a SYN/ACK of these options.
    pub(crate) fn answer_syn(&mut self, options: TcpOptions) -> Vec<TcpSegment> {
        let stamps = options.timestamps.is_some();
        let mut segment = self.segment(Flags::SYN | Flags::ACK);
        segment.seq = ISS;
        segment.options = self.stamped(options);
        self.stamps = stamps.then_some(0);
        self.send(segment)
    }

    /// The peer opens with these options.
    pub(crate) fn send_syn(&mut self, options: TcpOptions) -> Vec<TcpSegment> {
        self.stamps = options.timestamps.map(|_| 0);
        let mut segment = self.segment(Flags::SYN);
        segment.seq = ISS;
        segment.ack = SeqNumber(0);
        segment.options = self.stamped(options);
        let answers = self.send(segment);
        if let Some(syn_ack) = answers.iter().find(|answer| answer.flags.contains(Flags::SYN)) {
            self.their_iss = syn_ack.seq;
        }
        answers
    }

    /// The peer's millisecond clock.
    pub(crate) fn clock(&self) -> u32 {
        self.now.as_millis() as u32 + 5_000
    }

    fn stamped(&self, options: TcpOptions) -> TcpOptions {
        let timestamps = options.timestamps.map(|_| Timestamps { value: self.clock(), echo: 0 });
        TcpOptions { timestamps, ..options }
    }

    /// A segment without payload at the peer's place in the stream.
    pub(crate) fn segment(&self, flags: Flags) -> TcpSegment {
        let timestamps = self.stamps.map(|echo| Timestamps { value: self.clock(), echo });
        TcpSegment {
            src_port: self.ports.1,
            dst_port: self.ports.0,
            seq: ISS + 1 + self.sent,
            ack: self.their_iss + 1 + self.acked,
            flags,
            window: self.window,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            payload: Payload::EMPTY,
        }
    }

    /// Payload of the peer's stream (virtual stream 1) at any position.
    pub(crate) fn data_at(&self, offset: u32, len: u32) -> TcpSegment {
        let mut segment = self.segment(Flags::ACK);
        segment.seq = ISS + 1 + offset;
        segment.payload = Payload::virtual_range(1, offset.into(), len);
        segment
    }

    /// The next `len` bytes of the peer's stream; what is answered at once.
    pub(crate) fn send_data(&mut self, len: u32) -> Vec<TcpSegment> {
        let segment = self.data_at(self.sent, len);
        self.sent += len;
        self.send(segment)
    }

    /// A pure acknowledgement of everything below `position`; what is answered at once.
    pub(crate) fn ack(&mut self, position: u32) -> Vec<TcpSegment> {
        self.acked = position;
        self.send(self.segment(Flags::ACK))
    }

    /// An acknowledgement of everything below `acked` with SACK blocks of positions.
    pub(crate) fn sack(&mut self, blocks: &[(u32, u32)]) -> Vec<TcpSegment> {
        self.send(self.sacking(blocks))
    }

    /// That acknowledgement.
    pub(crate) fn sacking(&self, blocks: &[(u32, u32)]) -> TcpSegment {
        let mut segment = self.segment(Flags::ACK);
        for (start, end) in blocks {
            segment.options.sack.push(self.their_iss + 1 + *start, self.their_iss + 1 + *end);
        }
        segment
    }

    /// Any segment arrives; what is answered at once.
    pub(crate) fn send(&mut self, segment: TcpSegment) -> Vec<TcpSegment> {
        self.send_segment(segment);
        self.drain()
    }

    /// Any segment arrives, and nothing is sent yet.
    pub(crate) fn send_segment(&mut self, segment: TcpSegment) {
        self.send_packet(Packet::new(PEER, HERE, Body::Tcp(segment)));
    }

    /// Any packet arrives.
    pub(crate) fn send_packet(&mut self, packet: Packet) {
        let mut cx = Context::quiet(self.now, self.chance);
        let interface = InterfaceId(0);
        self.stack.handle(&mut cx, Input::Packet { interface, packet: packet.into() });
    }

    /// All TCP segments that the stack sends; other packets are dropped.
    pub(crate) fn drain(&mut self) -> Vec<TcpSegment> {
        let packets = self.drain_packets();
        let tcp = packets.into_iter().filter_map(|packet| match packet.body {
            Body::Tcp(segment) => Some(segment),
            _ => None,
        });
        tcp.collect()
    }

    /// The next packet alone leaves, as from a host that takes its time over each.
    pub(crate) fn poll_one(&mut self) -> bool {
        let mut cx = Context::quiet(self.now, self.chance);
        self.stack.poll_transmit(&mut cx).is_some()
    }

    /// The segments that the stack sends while none leaves the interface; none has an event.
    pub(crate) fn drain_into_nic(&mut self) -> Vec<TcpSegment> {
        let mut cx = Context::quiet(self.now, self.chance);
        let sent = std::iter::from_fn(|| self.stack.poll_transmit(&mut cx));
        let tcp = sent.map(|transmit| match transmit.packet.body {
            Body::Tcp(segment) => segment,
            other => panic!("{other:?}"),
        });
        tcp.collect()
    }

    /// A packet of the connection with `bytes` leaves the interface; what is sent at once.
    pub(crate) fn depart(&mut self, bytes: u32) -> Vec<TcpSegment> {
        let mut cx = Context::quiet(self.now, self.chance);
        let flow = self.socket.0 + 1;
        self.stack.handle(&mut cx, Input::Departed { flow, bytes });
        self.drain_into_nic()
    }

    /// All packets that the stack sends.
    pub(crate) fn drain_packets(&mut self) -> Vec<Packet> {
        let mut cx = Context::quiet(self.now, self.chance);
        let mut packets = Vec::new();
        loop {
            while let Some(transmit) = self.stack.poll_transmit(&mut cx) {
                let (flow, bytes) = (transmit.packet.flow, transmit.packet.wire_len());
                self.stack.handle(&mut cx, Input::Departed { flow, bytes });
                packets.push(*transmit.packet);
                assert!(packets.len() < 10_000, "live-lock");
            }
            match self.stack.poll_event() {
                Some(event) => self.hear(event),
                None => break,
            }
        }
        for packet in &packets {
            if let (Body::Tcp(segment), Some(echo)) = (&packet.body, self.stamps.as_mut())
                && let Some(timestamps) = segment.options.timestamps
            {
                *echo = timestamps.value;
            }
        }
        packets
    }

    fn hear(&mut self, event: SocketEvent) {
        if matches!(event.kind, SocketEventKind::Accepted { .. }) {
            self.socket = event.socket;
        }
        self.events.push(event);
    }

    /// Let `span` pass; what is sent meanwhile, with times.
    pub(crate) fn wait(&mut self, span: Duration) -> Vec<(Instant, TcpSegment)> {
        let end = self.now + span;
        let mut sent = Vec::new();
        while let Some(at) = self.stack.poll_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut cx = Context::quiet(self.now, self.chance);
            self.stack.handle(&mut cx, Input::Timeout);
            let now = self.now;
            sent.extend(self.drain().into_iter().map(|segment| (now, segment)));
        }
        self.now = end;
        sent
    }

    pub(crate) fn wait_ms(&mut self, ms: u64) -> Vec<(Instant, TcpSegment)> {
        self.wait(Duration::from_millis(ms))
    }

    /// The application writes `len` bytes of virtual stream 2; what is sent at once.
    pub(crate) fn write(&mut self, len: u32) -> Vec<TcpSegment> {
        self.queue(len);
        self.drain()
    }

    /// The application writes, and nothing is sent yet.
    pub(crate) fn queue(&mut self, len: u32) {
        let mut cx = Context::quiet(self.now, self.chance);
        let payload = Payload::virtual_range(2, 0, len);
        self.stack.write(&mut cx, self.socket, &payload).unwrap();
    }

    /// The application reads; bytes and what is sent at once.
    pub(crate) fn read(&mut self, max: u32) -> (u32, Vec<TcpSegment>) {
        let mut cx = Context::quiet(self.now, self.chance);
        let payload = self.stack.read(&mut cx, self.socket, max).unwrap();
        (payload.len(), self.drain())
    }

    /// The application closes its sending direction; what is sent at once.
    pub(crate) fn shutdown(&mut self) -> Vec<TcpSegment> {
        let mut cx = Context::quiet(self.now, self.chance);
        self.stack.shutdown(&mut cx, self.socket).unwrap();
        self.drain()
    }

    /// The application aborts; what is sent at once.
    pub(crate) fn abort(&mut self) -> Vec<TcpSegment> {
        let mut cx = Context::quiet(self.now, self.chance);
        self.stack.abort(&mut cx, self.socket).unwrap();
        self.drain()
    }

    pub(crate) fn info(&self) -> TcpInfo {
        tcp_info(&self.stack, self.socket).unwrap()
    }

    pub(crate) fn state(&self) -> &'static str {
        tcp_info(&self.stack, self.socket).map_or("-", |info| info.state)
    }

    /// The last event of the connection.
    pub(crate) fn last_event(&self) -> Option<SocketEventKind> {
        let mine = self.events.iter().filter(|event| event.socket == self.socket);
        mine.map(|event| event.kind).next_back()
    }

    /// Position in the stack's stream of a sequence number.
    pub(crate) fn position(&self, seq: SeqNumber) -> i64 {
        seq.to_offset(self.their_iss + 1, 0)
    }

    /// Position in the peer's stream of an acknowledgement number.
    pub(crate) fn acks(&self, segment: &TcpSegment) -> i64 {
        segment.ack.to_offset(ISS + 1, 0)
    }
}

/// Payload bytes of segments.
pub(crate) fn bytes(segments: &[TcpSegment]) -> u32 {
    segments.iter().map(|segment| segment.payload.len()).sum()
}

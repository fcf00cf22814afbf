//! Two hosts with an association between them, and a network that drops, delays and forges.

use base::{Chance, Context, Duration, HostId, Instant, InterfaceId, SocketId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use transport::sctp::{Addresses, GapStructure, SctpConfig};
use transport::{Input, InterfaceConfig, SocketEventKind, Stack, StackConfig};
use wire::sctp::Chunk;
use wire::{Body, Packet, SctpPacket};

/// Port of the server.
const PORT: u16 = 5001;
/// More packets in answer to one input are a loop.
const MOST_ANSWERS: u32 = 5_000;
/// Interfaces of each host.
pub const INTERFACES: u8 = 2;

pub struct Associations {
    pub now: Instant,
    pub stacks: [Stack; 2],
    pub sockets: [Option<SocketId>; 2],
    flying: BTreeMap<(Instant, u64), (usize, Box<Packet>)>,
    count: u64,
    /// Packets sent, which forged ones resemble.
    pub models: Vec<(usize, Packet)>,
    /// Packets to `.1` are dropped while the bit of their interface is set.
    pub cut: u8,
}

pub fn address(side: usize, interface: u8) -> IpAddr {
    [10, 0, interface + 1, side as u8 + 1].into()
}

impl Associations {
    pub fn new(configs: [SctpConfig; 2]) -> Associations {
        let stack = |side: usize| {
            let interface =
                |index| InterfaceConfig { addresses: vec![address(side, index)], mtu: 1500 };
            let interfaces = (0..INTERFACES).map(interface).collect();
            Stack::new(StackConfig { interfaces, ..StackConfig::default() })
        };
        let mut pair = Associations {
            now: Instant::ZERO,
            stacks: [stack(0), stack(1)],
            sockets: [None, None],
            flying: BTreeMap::new(),
            count: 0,
            models: Vec::new(),
            cut: 0,
        };
        let [client, server] = configs.map(|config| SctpConfig {
            addresses: Addresses::All,
            // The list beside the tree checks what the tree acknowledges.
            gap_structure: GapStructure::List,
            ..config
        });
        pair.stacks[1].listen(PORT, server).expect("a free port");
        let mut cx = pair.cx(0);
        let remote = SocketAddr::new(address(1, 0), PORT);
        let socket = pair.stacks[0].connect(&mut cx, address(0, 0), remote, &client.into());
        pair.sockets[0] = socket.ok();
        pair.drain();
        pair
    }

    pub fn cx(&self, side: usize) -> Context<'static> {
        Context::quiet(self.now, Chance::new(1, 0)).for_host(HostId(side as u16))
    }

    /// A packet of anybody arrives.
    pub fn inject(&mut self, side: usize, src: IpAddr, dst: IpAddr, packet: SctpPacket) {
        let packet = Box::new(Packet::new(src, dst, Body::Sctp(packet)));
        self.arrive(side, packet);
    }

    fn arrive(&mut self, side: usize, packet: Box<Packet>) {
        let mut cx = self.cx(side);
        let interface = InterfaceId(0);
        self.stacks[side].handle(&mut cx, Input::Packet { interface, packet });
        self.drain();
    }

    /// Lets everything out that the hosts have to send.
    pub fn drain(&mut self) {
        let mut count = 0;
        loop {
            let mut any = false;
            for side in 0..2 {
                let mut cx = self.cx(side);
                while let Some(transmit) = self.stacks[side].poll_transmit(&mut cx) {
                    any = true;
                    count += 1;
                    assert!(count < MOST_ANSWERS, "live-lock at {}", self.now);
                    self.carry(side, *transmit.packet);
                }
                while let Some(event) = self.stacks[side].poll_event() {
                    any = true;
                    if matches!(event.kind, SocketEventKind::Accepted { .. }) {
                        self.sockets[side] = Some(event.socket);
                    }
                    while self.stacks[side].receive_message(&mut cx, event.socket).is_some() {}
                }
            }
            if !any {
                return;
            }
        }
    }

    fn carry(&mut self, side: usize, packet: Packet) {
        assert!(packet.wire_len() <= 1500, "{} bytes", packet.wire_len());
        let known = (0..INTERFACES).any(|index| packet.dst() == address(1 - side, index));
        let Body::Sctp(sctp) = &packet.body else { return };
        let has_data =
            sctp.chunks.iter().any(|chunk| matches!(chunk, Chunk::Data(_) | Chunk::IData(_)));
        assert!(known || !has_data, "data to an address that nobody verified: {}", packet.dst());
        if self.models.len() < 64 {
            self.models.push((side, packet.clone()));
        }
        let interface = match packet.dst() {
            IpAddr::V4(v4) => v4.octets()[2].wrapping_sub(1),
            IpAddr::V6(_) => 0,
        };
        if known && self.cut >> (interface % 8) & 1 == 0 {
            self.count += 1;
            let at = (self.now + Duration::from_millis(10), self.count);
            self.flying.insert(at, (1 - side, Box::new(packet)));
        }
    }

    /// Lets `span` pass.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        let mut steps = 0;
        loop {
            let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
            let deadline = self.stacks.iter().filter_map(Stack::poll_deadline).min();
            let next = [arrival, deadline].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            steps += 1;
            assert!(steps < 100_000, "live-lock at {}", self.now);
            self.now = self.now.max(next);
            if let Some(first) = self.flying.first_entry()
                && first.key().0 <= self.now
            {
                let (side, packet) = first.remove();
                self.arrive(side, packet);
                continue;
            }
            for side in 0..2 {
                let mut cx = self.cx(side);
                self.stacks[side].handle(&mut cx, Input::Timeout);
            }
            self.drain();
        }
        self.now = end;
    }
}

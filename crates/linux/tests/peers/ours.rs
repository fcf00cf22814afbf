//! `Ours`: a stack with one association and its user, driven with packets as bytes.
//!
//! The user writes a pattern, or whole messages, and reads everything at once. It relies on events
//! only. Where bytes come from and go to is left to the tests.

use crate::pattern::{self, Hash};
use base::{Chance, Context, Instant, InterfaceId, SocketId};
use bytes::Bytes;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use transport::sctp::SctpConfig;
use transport::sctp::streams::{Message, Received};
use transport::{Input, InterfaceConfig, SocketEventKind, Stack, StackConfig};
use wire::sctp::UdpPorts;
use wire::{Body, Packet, Payload, SctpPacket};

/// Seed of what our side writes.
pub(crate) const OUR_SEED: u64 = 1;
/// Seed of what the peer writes.
pub(crate) const PEER_SEED: u64 = 2;
/// Bytes of one write.
const WRITE: u64 = 1 << 16;

/// A packet with its addresses, as bytes of SCTP.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub udp: Option<UdpPorts>,
    pub bytes: Vec<u8>,
}

/// Our end of an association.
pub(crate) struct Ours {
    pub stack: Stack,
    pub now: Instant,
    pub socket: Option<SocketId>,
    /// Bytes to write in all, and those written.
    pub to_write: u64,
    pub written: u64,
    /// Bytes read, and their hash.
    pub received: u64,
    pub hash: Hash,
    /// Events other than `Readable` and `Writable`.
    pub events: Vec<SocketEventKind>,
    /// Whole messages to send.
    pub to_send: VecDeque<Message>,
    /// Whole messages received, if the user wants messages in place of bytes.
    pub messages: Option<Vec<Received>>,
    /// SHUTDOWN follows the data.
    pub shuts_down: bool,
    shut: bool,
    chance: Chance,
    /// One per interface.
    addresses: Vec<IpAddr>,
}

impl Ours {
    /// A host with these addresses, one per interface.
    pub(crate) fn new(addresses: &[IpAddr], seed: u64) -> Ours {
        let interface = |address: &IpAddr| InterfaceConfig { addresses: vec![*address], mtu: 1500 };
        let interfaces = addresses.iter().map(interface).collect();
        Ours {
            stack: Stack::new(StackConfig { interfaces, ..StackConfig::default() }),
            now: Instant::ZERO,
            socket: None,
            to_write: 0,
            written: 0,
            received: 0,
            hash: Hash::EMPTY,
            events: Vec::new(),
            to_send: VecDeque::new(),
            messages: None,
            shuts_down: false,
            shut: false,
            chance: Chance::new(seed, 0),
            addresses: addresses.to_vec(),
        }
    }

    /// Calls the stack at the present time.
    pub(crate) fn with<R>(&mut self, call: impl FnOnce(&mut Stack, &mut Context<'_>) -> R) -> R {
        let mut cx = Context::quiet(self.now, self.chance);
        call(&mut self.stack, &mut cx)
    }

    /// Opens an association.
    pub(crate) fn connect(&mut self, local: IpAddr, remote: SocketAddr, config: &SctpConfig) {
        let config = config.clone().into();
        let socket = self.with(|stack, cx| stack.connect(cx, local, remote, &config));
        self.socket = Some(socket.expect("an address of the host"));
    }

    /// Accepts associations.
    pub(crate) fn listen(&mut self, port: u16, config: &SctpConfig) {
        self.stack.listen(port, config.clone()).expect("a free port");
    }

    /// A packet arrives; returns whether it could be parsed.
    pub(crate) fn on_packet(&mut self, datagram: &Datagram) -> bool {
        let Ok(mut packet) = SctpPacket::parse(&datagram.bytes) else { return false };
        packet.udp = datagram.udp;
        let body = Body::Sctp(packet);
        let packet = Box::new(Packet::new(datagram.src, datagram.dst, body));
        let interface = self.addresses.iter().position(|address| *address == datagram.dst);
        let interface = InterfaceId(interface.expect("an address of the host") as u16);
        self.with(|stack, cx| stack.handle(cx, Input::Packet { interface, packet }));
        true
    }

    /// Timers may have expired.
    pub(crate) fn on_timeout(&mut self) {
        if self.stack.poll_deadline().is_some_and(|at| at <= self.now) {
            self.with(|stack, cx| stack.handle(cx, Input::Timeout));
        }
    }

    /// Packets to send and the work of the user, until there is nothing more to do now.
    pub(crate) fn drain(&mut self) -> Vec<Datagram> {
        let mut datagrams = Vec::new();
        loop {
            if let Some(sent) = self.with(Stack::poll_transmit) {
                datagrams.extend(to_datagram(&sent.packet));
            } else if let Some(event) = self.stack.poll_event() {
                let is_ours = self.socket.is_none_or(|socket| socket == event.socket);
                if is_ours {
                    self.socket = Some(event.socket);
                    let is_rare = !matches!(
                        event.kind,
                        SocketEventKind::Readable | SocketEventKind::Writable
                    );
                    if is_rare {
                        self.events.push(event.kind);
                    }
                    self.act();
                }
            } else {
                return datagrams;
            }
        }
    }

    /// The user reads, writes, and ends.
    pub(crate) fn act(&mut self) {
        let Some(socket) = self.socket else { return };
        if let Some(mut messages) = self.messages.take() {
            while let Some(message) = self.with(|stack, cx| stack.receive_message(cx, socket)) {
                self.received += u64::from(message.payload.len());
                messages.push(message);
            }
            self.messages = Some(messages);
        } else {
            while let Ok(payload) = self.with(|stack, cx| stack.read(cx, socket, u32::MAX))
                && !payload.is_empty()
            {
                self.received += u64::from(payload.len());
                self.hash.add(&payload.to_bytes());
            }
        }
        self.write(socket);
        let is_done = self.written == self.to_write && self.to_send.is_empty();
        if self.shuts_down && !self.shut && is_done && self.is_open() {
            self.shut = true;
            let _ = self.with(|stack, cx| stack.shutdown(cx, socket));
        }
    }

    fn write(&mut self, socket: SocketId) {
        while self.written < self.to_write {
            let len = (self.to_write - self.written).min(WRITE);
            let bytes = pattern::bytes(OUR_SEED, self.written, len as usize);
            let payload = Payload::from(Bytes::from(bytes));
            match self.with(|stack, cx| stack.write(cx, socket, &payload)) {
                Ok(taken) if taken > 0 => self.written += u64::from(taken),
                _ => break,
            }
        }
        while let Some(message) = self.to_send.front().cloned() {
            match self.stack.send_message(socket, message) {
                Ok(true) => self.to_send.pop_front(),
                _ => break,
            };
        }
    }

    /// The association is set up.
    pub(crate) fn is_open(&self) -> bool {
        self.events.iter().any(|event| {
            matches!(event, SocketEventKind::Connected | SocketEventKind::Accepted { .. })
        })
    }

    /// The association is over.
    pub(crate) fn is_over(&self) -> bool {
        self.events
            .iter()
            .any(|event| matches!(event, SocketEventKind::Closed | SocketEventKind::Failed(_)))
    }
}

fn to_datagram(packet: &Packet) -> Option<Datagram> {
    let Body::Sctp(sctp) = &packet.body else { return None };
    let mut bytes = Vec::new();
    sctp.emit(&mut bytes);
    Some(Datagram { src: packet.src(), dst: packet.dst(), udp: sctp.udp, bytes })
}

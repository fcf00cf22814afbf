//! A split-TCP proxy on a path (RFC 3135 s2.4): it ends each TCP connection and opens another one
//! behind it.
//!
//! To the client it is the server, to the server the client, with their addresses. A connection to
//! the server begins when the client's handshake is complete, so SYNs that are answered without
//! MPTCP options and then reset (RFC 8684 s3.2) do not reach the server. It knows TCP only: MPTCP
//! falls back to it on the first path, and no other path through it can be joined. Packets of other
//! protocols pass. Where it stands, and what carries its packets, is left to `fabric`.

use base::{Context, HostId, Instant, InterfaceId, SocketId};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use transport::{
    Input, InterfaceConfig, ProtocolConfig, SocketEvent, SocketEventKind, Stack, StackConfig,
    TcpConfig,
};
use wire::{Body, Flags, Packet, Payload};

/// Bytes that are passed on at once.
const CHUNK: u32 = 1 << 16;

/// The proxy of a path.
pub(crate) struct Proxy {
    /// Keys its random draws.
    host: HostId,
    config: TcpConfig,
    mtu: u32,
    pairs: BTreeMap<Ends, Pair>,
    /// Packets for the client that were not taken yet.
    pub to_client: VecDeque<Box<Packet>>,
    /// The same for the server.
    pub to_server: VecDeque<Box<Packet>>,
}

/// A client, a server and its port.
type Ends = (IpAddr, IpAddr, u16);

/// The two sides of the connections between two addresses.
struct Pair {
    ends: Ends,
    config: ProtocolConfig,
    /// Faces the client, with the server's address.
    inner: Stack,
    /// Faces the server, with the client's address.
    outer: Stack,
    relays: Vec<Relay>,
}

/// A connection of the client and the one behind it.
struct Relay {
    inner: SocketId,
    outer: SocketId,
    up: Stream,
    down: Stream,
}

/// One direction of a relay.
#[derive(Default)]
struct Stream {
    /// Read, but not written yet.
    pending: Payload,
    ended: bool,
    shut: bool,
}

impl Proxy {
    pub(crate) fn new(host: HostId, config: TcpConfig, mtu: u32) -> Proxy {
        let (to_client, to_server) = (VecDeque::new(), VecDeque::new());
        Proxy { host, config, mtu, pairs: BTreeMap::new(), to_client, to_server }
    }

    /// A packet of the client arrived.
    pub(crate) fn outward(&mut self, cx: &mut Context<'_>, packet: Box<Packet>) {
        let Body::Tcp(segment) = &packet.body else { return self.to_server.push_back(packet) };
        let ends = (packet.src(), packet.dst(), segment.dst_port);
        let begins = segment.flags.contains(Flags::SYN);
        if begins && !self.pairs.contains_key(&ends) {
            self.pairs.insert(ends, Pair::new(ends, &self.config, self.mtu));
        }
        self.input(cx, ends, |pair| {
            (&mut pair.inner, Input::Packet { interface: INTERFACE, packet })
        });
    }

    /// A packet of the server arrived.
    pub(crate) fn inward(&mut self, cx: &mut Context<'_>, packet: Box<Packet>) {
        let Body::Tcp(segment) = &packet.body else { return self.to_client.push_back(packet) };
        let ends = (packet.dst(), packet.src(), segment.src_port);
        self.input(cx, ends, |pair| {
            (&mut pair.outer, Input::Packet { interface: INTERFACE, packet })
        });
    }

    /// When to call `timeout`.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let of = |pair: &Pair| [pair.inner.poll_deadline(), pair.outer.poll_deadline()];
        self.pairs.values().flat_map(of).flatten().min()
    }

    /// The deadline is due.
    pub(crate) fn timeout(&mut self, cx: &mut Context<'_>) {
        let due = |pair: &Pair| {
            let deadlines = [pair.inner.poll_deadline(), pair.outer.poll_deadline()];
            deadlines.into_iter().flatten().any(|at| at <= cx.now)
        };
        let ends: Vec<Ends> =
            self.pairs.values().filter(|pair| due(pair)).map(|pair| pair.ends).collect();
        for ends in ends {
            self.input(cx, ends, |pair| (&mut pair.inner, Input::Timeout));
            self.input(cx, ends, |pair| (&mut pair.outer, Input::Timeout));
        }
    }

    /// Passes an input to a side of a pair, if there is one.
    fn input<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
        ends: Ends,
        of: impl FnOnce(&'a mut Pair) -> (&'a mut Stack, Input),
    ) {
        let host = std::mem::replace(&mut cx.host, self.host);
        if let Some(pair) = self.pairs.get_mut(&ends) {
            let (stack, input) = of(pair);
            stack.handle(cx, input);
        }
        cx.host = host;
    }

    /// Sends what the last input caused. Called after each of them.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>) {
        let host = std::mem::replace(&mut cx.host, self.host);
        for pair in self.pairs.values_mut() {
            while pair.step(cx, &mut self.to_client, &mut self.to_server) {}
        }
        cx.host = host;
    }
}

const INTERFACE: InterfaceId = InterfaceId(0);

impl Pair {
    fn new(ends: Ends, config: &TcpConfig, mtu: u32) -> Pair {
        let (client, server, port) = ends;
        let stack = |address| {
            let interfaces = vec![InterfaceConfig { addresses: vec![address], mtu }];
            Stack::new(StackConfig { interfaces, ..StackConfig::default() })
        };
        let config = ProtocolConfig::Tcp(config.clone());
        let (mut inner, outer) = (stack(server), stack(client));
        // The only listener of a new stack: its port is free.
        let _ = inner.listen(port, config.clone());
        Pair { ends, config, inner, outer, relays: Vec::new() }
    }

    /// Sends a packet of either side or handles one event; false if there is neither.
    fn step(
        &mut self,
        cx: &mut Context<'_>,
        to_client: &mut VecDeque<Box<Packet>>,
        to_server: &mut VecDeque<Box<Packet>>,
    ) -> bool {
        for (stack, out) in [(&mut self.inner, to_client), (&mut self.outer, to_server)] {
            if let Some(transmit) = stack.poll_transmit(cx) {
                let flow = transmit.packet.flow;
                out.push_back(transmit.packet);
                // No network card: a packet leaves while it is sent.
                if flow != 0 {
                    stack.handle(cx, Input::Departed { flow, bytes: transmit.bytes });
                }
                return true;
            }
        }
        if let Some(event) = self.inner.poll_event() {
            self.on_inner(cx, event);
        } else if let Some(event) = self.outer.poll_event() {
            self.on_outer(cx, event);
        } else {
            return false;
        }
        true
    }

    fn on_inner(&mut self, cx: &mut Context<'_>, SocketEvent { socket, kind }: SocketEvent) {
        if matches!(kind, SocketEventKind::Accepted { .. }) {
            let (client, server, port) = self.ends;
            let remote = SocketAddr::new(server, port);
            match self.outer.connect(cx, client, remote, &self.config) {
                Ok(outer) => {
                    let (up, down) = (Stream::default(), Stream::default());
                    self.relays.push(Relay { inner: socket, outer, up, down });
                }
                Err(_) => {
                    let _ = self.inner.abort(cx, socket);
                }
            }
            return;
        }
        if let Some(place) = self.relays.iter().position(|relay| relay.inner == socket) {
            self.on_event(cx, place, &kind);
        }
    }

    fn on_outer(&mut self, cx: &mut Context<'_>, SocketEvent { socket, kind }: SocketEvent) {
        if let Some(place) = self.relays.iter().position(|relay| relay.outer == socket) {
            self.on_event(cx, place, &kind);
        }
    }

    /// A failure ends both connections; after everything else data may pass.
    fn on_event(&mut self, cx: &mut Context<'_>, place: usize, kind: &SocketEventKind) {
        if matches!(kind, SocketEventKind::Failed(_)) {
            // One of them is closed already.
            let relay = self.relays.remove(place);
            let _ = self.inner.abort(cx, relay.inner);
            let _ = self.outer.abort(cx, relay.outer);
            self.inner.release(cx, relay.inner);
            self.outer.release(cx, relay.outer);
            return;
        }
        let relay = &mut self.relays[place];
        relay.up.pass(cx, (&mut self.inner, relay.inner), (&mut self.outer, relay.outer));
        relay.down.pass(cx, (&mut self.outer, relay.outer), (&mut self.inner, relay.inner));
    }
}

impl Stream {
    /// Writes what can be read to the other side, and ends it after the last byte.
    fn pass(
        &mut self,
        cx: &mut Context<'_>,
        (from, reader): (&mut Stack, SocketId),
        (to, writer): (&mut Stack, SocketId),
    ) {
        loop {
            if self.pending.is_empty() && !self.ended {
                match from.read(cx, reader, CHUNK) {
                    Ok(payload) => self.pending = payload,
                    Err(_) => self.ended = true,
                }
            }
            if self.pending.is_empty() {
                break;
            }
            // Nothing before the connection is open: `Connected` follows.
            let taken = to.write(cx, writer, &self.pending).unwrap_or(0);
            self.pending = self.pending.slice(taken, self.pending.len() - taken);
            if !self.pending.is_empty() {
                return;
            }
        }
        if self.ended && !self.shut {
            self.shut = to.shutdown(cx, writer).is_ok();
        }
    }
}

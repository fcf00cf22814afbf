//! Simultaneous SYNs, the server's side: subflows that are opened before their connection is
//! known wait here for its keys (001 s4.1.1; mptcp-protocol spec s4.6).
//!
//! The client's SYNs of one group leave on all paths at once. The first path's makes the
//! connection; the others are answered with a nonce. Their third packets prove themselves like
//! those of any join, once the connection that has the group is fully established.

use super::addressing::{FlowKey, FlowRef};
use super::{ProtocolConfig, Socket, Stack, Transmit};
use crate::mptcp::grouped::GroupedJoin;
use crate::tcp::multipath::Multipath;
use crate::tcp::subflow::{Subflow, Tuple};
use base::{Context, Duration, Instant, InterfaceId, Purpose, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::{GroupSyn, MptcpOption, MptcpOptions};
use wire::{Flags, TcpSegment};

/// How long a group may be incomplete.
const LIFETIME: Duration = Duration::from_secs(3);
/// Subflows, and connections, that wait at most; more are answered as if they were plain TCP.
const MOST: usize = 64;
/// Option bytes kept free for a DSS, until the connection says how many it takes.
const ROOM: u32 = 28;

/// The groups that are not complete.
#[derive(Default)]
pub(super) struct Groups {
    /// Connections by their group and port.
    connections: Vec<(u64, u16, SocketId, Instant)>,
    waiting: Vec<Waiting>,
}

/// A subflow whose connection is not known.
struct Waiting {
    group: u64,
    interface: InterfaceId,
    join: GroupedJoin,
    subflow: Subflow,
    /// The third packet, which came before the connection had its keys.
    third: Option<TcpSegment>,
    until: Instant,
}

impl Groups {
    fn forget_old(&mut self, now: Instant) {
        self.connections.retain(|(.., until)| *until > now);
        self.waiting.retain(|waiting| waiting.until > now);
    }

    fn find(&self, tuple: &Tuple) -> Option<usize> {
        let same = |ends: &Tuple| ends.local == tuple.local && ends.remote == tuple.remote;
        self.waiting.iter().position(|waiting| same(waiting.subflow.tuple()))
    }

    /// The connection of a group.
    fn connection(&self, group: u64, port: u16) -> Option<SocketId> {
        let has = |(known, at, ..): &&(u64, u16, SocketId, Instant)| (*known, *at) == (group, port);
        self.connections.iter().find(has).map(|(.., id, _)| *id)
    }
}

impl Stack {
    /// The client's side: SYNs to these peers from these addresses, beside the first path's.
    pub(super) fn open_group(
        &mut self,
        cx: &mut Context<'_>,
        id: SocketId,
        peers: &[(IpAddr, SocketAddr)],
    ) {
        if peers.is_empty() {
            return;
        }
        let group = self.draw(cx, Purpose::Key);
        for (local, remote) in peers {
            let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) else { return };
            connection.name_group(group);
            let (Some(request), Some(path)) =
                (connection.grouped_request(*local, *remote), connection.free_path())
            else {
                continue;
            };
            self.open_join(cx, id, &request, path, |connection, identity, _| {
                connection.open_grouped(&request, identity, group);
            });
        }
    }

    /// A connection was made by the first SYN of a group.
    pub(super) fn note_group(&mut self, now: Instant, id: SocketId, syn: &TcpSegment) {
        let Some(group) = syn.options.mptcp.group() else { return };
        self.groups.forget_old(now);
        if self.groups.connections.len() < MOST {
            let until = now + LIFETIME;
            self.groups.connections.push((group.number, syn.dst_port, id, until));
        }
    }

    /// A segment to nobody known: whether it belongs to a group.
    pub(super) fn handle_grouped(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        tuple: Tuple,
        segment: &TcpSegment,
    ) -> bool {
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        let group = segment.options.mptcp.group();
        if self.groups.waiting.is_empty() && group.is_none() {
            return false;
        }
        self.groups.forget_old(cx.now);
        match (self.groups.find(&tuple), group) {
            (Some(index), _) => {
                let waiting = &mut self.groups.waiting[index];
                if segment.flags.contains(Flags::RST) {
                    self.groups.waiting.swap_remove(index);
                } else if opens {
                    waiting.subflow.repeat_syn_ack();
                    self.answer_grouped(cx, index);
                } else {
                    waiting.third = Some(segment.clone());
                    self.adopt_grouped(cx);
                }
                true
            }
            (None, Some(group)) if opens && segment.options.mptcp.capable().is_none() => {
                self.accept_grouped(cx, interface, tuple, segment, group)
            }
            _ => false,
        }
    }

    /// The SYN of a path that is not the first one's. `false`: it is to be answered as any other.
    fn accept_grouped(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        tuple: Tuple,
        syn: &TcpSegment,
        asked: GroupSyn,
    ) -> bool {
        let Some(listener) = self.addressing.listener(tuple.local.port()) else { return false };
        let config = match self.sockets.get(listener.index()) {
            Some(Socket::Listener(entry)) => match &entry.config {
                ProtocolConfig::Mptcp(config) if config.simultaneous_syn.is_some() => {
                    config.clone()
                }
                _ => return false,
            },
            _ => return false,
        };
        if self.groups.waiting.len() >= MOST {
            return false;
        }
        let nonce = self.draw(cx, Purpose::Key);
        let identity = self.identity(cx, listener, interface, tuple);
        let address_id = self.address_id_of(&tuple, asked.number);
        let answer = GroupSyn { backup: false, address_id, number: nonce };
        let on_syn = MptcpOptions::from(MptcpOption::Group(answer));
        let mp = Multipath::new(on_syn, ROOM);
        let subflow = Subflow::accept_multipath(cx.now, &identity, &config.tcp, syn, mp);
        self.groups.waiting.push(Waiting {
            group: asked.number,
            interface,
            join: GroupedJoin {
                remote_id: asked.address_id,
                backup: asked.backup,
                local_nonce: nonce as u32,
                remote_nonce: asked.number as u32 ^ u32::from(asked.address_id),
            },
            subflow,
            third: None,
            until: cx.now + LIFETIME,
        });
        self.answer_grouped(cx, self.groups.waiting.len() - 1);
        true
    }

    /// The number of the local address: as the group's connection has it, or, without one yet, as
    /// one will that begins at this host's first address.
    fn address_id_of(&self, tuple: &Tuple, group: u64) -> u8 {
        let ip = tuple.local.ip();
        let id = self.groups.connection(group, tuple.local.port());
        if let Some(Socket::Mptcp(connection)) = id.and_then(|id| self.sockets.get(id.index())) {
            return connection.address_id(ip).unwrap_or(0);
        }
        let host = self.addressing.host();
        let mut family = host.iter().filter(|(at, _)| at.is_ipv4() == ip.is_ipv4());
        let place = family.position(|(at, _)| *at == ip).unwrap_or(0);
        u8::try_from(place).unwrap_or(u8::MAX)
    }

    fn answer_grouped(&mut self, cx: &mut Context<'_>, index: usize) {
        let waiting = &mut self.groups.waiting[index];
        if let Some(packet) = waiting.subflow.poll_syn_ack(cx) {
            let interface = waiting.interface;
            self.send_stray_packet(Transmit { interface, packet });
        }
    }

    /// Subflows whose third packet came go to their connection, if it is ready.
    pub(super) fn adopt_grouped(&mut self, cx: &mut Context<'_>) {
        let mut index = 0;
        while let Some(waiting) = self.groups.waiting.get(index) {
            let port = waiting.subflow.tuple().local.port();
            let id = self.groups.connection(waiting.group, port);
            let id = id.filter(|_| waiting.third.is_some());
            let ready = id.filter(|id| match self.sockets.get(id.index()) {
                Some(Socket::Mptcp(connection)) => connection.may_accept_join(),
                _ => false,
            });
            let Some(id) = ready else {
                index += 1;
                continue;
            };
            let Waiting { interface, join, subflow, third, .. } =
                self.groups.waiting.swap_remove(index);
            let Tuple { local, remote } = *subflow.tuple();
            let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) else { return };
            let Some(path) = connection.adopt(interface, subflow, &join) else { continue };
            let flow = FlowRef { socket: id, subflow: path.0 };
            self.addressing.bind_flow(FlowKey::new(local, remote), flow);
            if let Some(mut third) = third {
                self.deliver(cx, flow, &mut third);
            }
        }
    }
}

//! Simultaneous SYNs on the server's side: subflows that begin before their connection is known
//! (001 s4.1.1).
//!
//! A client sends the SYNs of all paths at once, each with the number of their group. The SYN with
//! MP_CAPABLE makes the connection. The others are answered with a nonce and wait here with their
//! third packet, whose HMAC is verified as in any join once the connection of the group is fully
//! established. The option is for private use: a server that does not know it answers as TCP.

use super::connection::Connection;
use super::host::HostView;
use super::simultaneous::SimultaneousJoin;
use crate::endpoint::{Arrival, Claim, Draws, NewPath, Transmit, Tuple};
use crate::tcp::multipath::Multipath;
use crate::tcp::subflow::{Identity, Subflow};
use base::{Context, Duration, Instant, InterfaceId, PathId, Purpose, SocketId};
use wire::mptcp::{GroupSyn, MptcpOption, MptcpOptions};
use wire::{Body, Flags, TcpSegment};

/// How long a group may be incomplete.
const LIFETIME: Duration = Duration::from_secs(3);
/// The largest number of waiting subflows, and of groups; SYNs beyond it are answered as TCP.
const MOST: usize = 64;
/// Option bytes reserved for a DSS until the connection determines the number that it needs.
const ROOM: u32 = 28;

/// The groups that are not complete.
#[derive(Default)]
pub(super) struct EarlyJoins {
    groups: Vec<Group>,
    waiting: Vec<EarlyJoin>,
}

/// The connection of a group.
#[derive(Clone, Copy, Debug)]
struct Group {
    number: u64,
    /// The local port.
    port: u16,
    connection: SocketId,
    until: Instant,
}

/// A subflow whose connection is not known.
pub(crate) struct EarlyJoin {
    group: u64,
    pub interface: InterfaceId,
    pub join: SimultaneousJoin,
    pub subflow: Subflow,
    /// The third packet, which arrived before the connection had its keys.
    pub third: Option<TcpSegment>,
    until: Instant,
}

impl EarlyJoins {
    /// No subflow waits.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A connection was made by the first SYN of a group.
    pub(super) fn on_connection(&mut self, now: Instant, connection: SocketId, syn: &TcpSegment) {
        let Some(group) = syn.options.mptcp.group() else { return };
        self.forget_old(now);
        if self.groups.len() < MOST {
            let (number, port, until) = (group.number, syn.dst_port, now + LIFETIME);
            self.groups.push(Group { number, port, connection, until });
        }
    }

    /// Takes a segment between unknown ends if it belongs to a group.
    pub(super) fn claim(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        host: &impl HostView,
        arrival: &Arrival,
        segment: &TcpSegment,
    ) -> Claim {
        let group = segment.options.mptcp.group();
        if self.waiting.is_empty() && group.is_none() {
            return Claim::Unclaimed;
        }
        self.forget_old(cx.now);
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        match (self.find(&arrival.ends), group) {
            (Some(index), _) if segment.flags.contains(Flags::RST) => {
                self.waiting.swap_remove(index);
                Claim::Handled(None)
            }
            (Some(index), _) if opens => {
                self.waiting[index].subflow.repeat_syn_ack();
                Claim::Handled(self.waiting[index].answer(cx))
            }
            (Some(index), _) => {
                self.waiting[index].third = Some(segment.clone());
                Claim::Completed
            }
            (None, Some(group)) if opens && segment.options.mptcp.capable().is_none() => {
                self.begin(cx, draws, host, (arrival, group), segment)
            }
            _ => Claim::Unclaimed,
        }
    }

    /// The SYN of a path that is not the first one of its group.
    fn begin(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        host: &impl HostView,
        (arrival, asked): (&Arrival, GroupSyn),
        syn: &TcpSegment,
    ) -> Claim {
        let Arrival { interface, ends } = *arrival;
        let listener = host.listener(ends.local.port());
        let accepts = listener.filter(|(_, config)| config.simultaneous_syn.is_some());
        let Some((socket, config)) = accepts.filter(|_| self.waiting.len() < MOST) else {
            return Claim::Unclaimed;
        };
        let nonce = draws.draw(cx, Purpose::Key);
        let mtu = host.mtu(interface);
        let path = NewPath { socket, path: PathId(0), interface, ends, mtu };
        let identity = Identity::draw(cx, draws, &path);
        let address_id = self.address_id_of(host, &ends, asked.number);
        let answer = GroupSyn { backup: false, address_id, number: nonce };
        let on_syn = MptcpOptions::from(MptcpOption::Group(answer));
        let mp = Multipath::new(on_syn, ROOM);
        let subflow = Subflow::accept_multipath(cx.now, &identity, &config.tcp, syn, mp);
        let join = SimultaneousJoin {
            remote_id: asked.address_id,
            backup: asked.backup,
            local_nonce: nonce as u32,
            remote_nonce: asked.number as u32 ^ u32::from(asked.address_id),
        };
        let (group, until) = (asked.number, cx.now + LIFETIME);
        let mut early = EarlyJoin { group, interface, join, subflow, third: None, until };
        let answer = early.answer(cx);
        debug_assert!(self.find(&ends).is_none(), "a subflow waits once");
        self.waiting.push(early);
        debug_assert!(self.waiting.len() <= MOST);
        Claim::Handled(answer)
    }

    /// The number of the local address: that of the group's connection or, before there is one,
    /// that of a connection that begins at the first address of this host.
    fn address_id_of(&self, host: &impl HostView, ends: &Tuple, group: u64) -> u8 {
        let ip = ends.local.ip();
        let id = self.connection(group, ends.local.port());
        if let Some(connection) = id.and_then(|id| host.connection(id)) {
            return connection.address_id(ip).unwrap_or(0);
        }
        let addresses = host.addresses();
        let mut family = addresses.iter().filter(|(at, _)| at.is_ipv4() == ip.is_ipv4());
        let place = family.position(|(at, _)| *at == ip).unwrap_or(0);
        u8::try_from(place).unwrap_or(u8::MAX)
    }

    /// The next subflow from `from` on that has its third packet and whose connection can take it,
    /// with that connection. `from` is where to look next.
    pub(super) fn take_complete(
        &mut self,
        from: &mut usize,
        host: &impl HostView,
    ) -> Option<(SocketId, EarlyJoin)> {
        while let Some(early) = self.waiting.get(*from) {
            let port = early.subflow.tuple().local.port();
            let id = self.connection(early.group, port).filter(|_| early.third.is_some());
            let accepts = |id: &SocketId| host.connection(*id).is_some_and(accepts_join);
            if let Some(id) = id.filter(accepts) {
                return Some((id, self.waiting.swap_remove(*from)));
            }
            *from += 1;
        }
        None
    }

    fn forget_old(&mut self, now: Instant) {
        self.groups.retain(|group| group.until > now);
        self.waiting.retain(|early| early.until > now);
    }

    fn find(&self, ends: &Tuple) -> Option<usize> {
        self.waiting.iter().position(|early| early.subflow.tuple() == ends)
    }

    fn connection(&self, number: u64, port: u16) -> Option<SocketId> {
        let of = |group: &&Group| (group.number, group.port) == (number, port);
        self.groups.iter().find(of).map(|group| group.connection)
    }
}

fn accepts_join(connection: &Connection) -> bool {
    connection.may_accept_join()
}

impl EarlyJoin {
    fn answer(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        let packet = self.subflow.poll_syn_ack(cx)?;
        Some(Transmit::new(self.interface, packet))
    }

    /// The third packet, to be handled by the connection that adopted the subflow.
    pub(crate) fn take_third(&mut self) -> Option<Body> {
        self.third.take().map(Body::Tcp)
    }
}

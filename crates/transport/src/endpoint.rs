//! `Endpoint`: a connection as the stack sees it. Every protocol implements it.
//!
//! A connection has one path or several, each between two ends. The stack finds the connection and
//! the path of a packet by its ends. A packet between unknown ends can still belong to a
//! connection, which it then names by a [`Tag`]: the protocol finds that out, and the connection
//! admits the path or refuses it. A connection that wants another path asks the stack for it
//! ([`Endpoint::poll_path`]), because ports and ends are the stack's.
//!
//! The stack calls what it needs for every packet on the type of the protocol, and the rest through
//! `dyn Endpoint`.

use crate::info::ConnectionInfo;
use crate::scheduler::PathSet;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use base::{Context, Instant, InterfaceId, PathId, Purpose, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::Token;
use wire::sctp::VerificationTag;
use wire::{Body, Packet, Payload, SeqNumber};

/// Both ends of a connection or of one of its paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuple {
    pub local: SocketAddr,
    pub remote: SocketAddr,
}

/// The protocol of a connection in IP packets, with its number (IANA).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum IpProtocol {
    Tcp = 6,
    Sctp = 132,
}

impl IpProtocol {
    /// Every protocol.
    pub(crate) const ALL: [IpProtocol; 2] = [IpProtocol::Tcp, IpProtocol::Sctp];

    /// The protocol with this number.
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        match number {
            6 => Some(IpProtocol::Tcp),
            132 => Some(IpProtocol::Sctp),
            _ => None,
        }
    }
}

/// A packet to put on an interface.
#[derive(Debug)]
pub struct Transmit {
    /// Interface that the packet leaves on.
    pub interface: InterfaceId,
    /// The packet, with its IP header.
    pub packet: Box<Packet>,
    /// `Packet::wire_len`.
    pub bytes: u32,
}

impl Transmit {
    /// Of any packet.
    pub(crate) fn new(interface: InterfaceId, packet: Box<Packet>) -> Self {
        Transmit { interface, bytes: packet.wire_len(), packet }
    }
}

/// Where a packet arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub interface: InterfaceId,
    pub ends: Tuple,
}

/// The name that a packet between unknown ends has for its connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Tag {
    /// The token of an MPTCP connection (RFC 8684 s3.2).
    Token(Token),
    /// Port and verification tag of this side of an association (RFC 9260 s8.5).
    Verification(u16, VerificationTag),
}

/// What a protocol makes of a packet between unknown ends.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It belongs to no connection; a listener may take it.
    Unclaimed,
    /// It asks to add a path to this connection.
    Path(SocketId),
    /// It asks for a path of an unknown connection, and is refused with this answer.
    Refused(Body),
    /// It was processed; the answer, if any, is to be sent.
    Handled(Option<Transmit>),
    /// It was the last packet that a path needed whose connection was not known: the path can be
    /// adopted now.
    Completed,
}

/// The beginning of a path.
#[derive(Clone, Copy, Debug)]
pub struct NewPath {
    pub socket: SocketId,
    pub path: PathId,
    pub interface: InterfaceId,
    pub ends: Tuple,
    /// Largest IP datagram of the interface, in bytes.
    pub mtu: u32,
}

/// A path that a connection requests, from a port that the stack chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathRequest {
    /// Its number; `None` if all numbers are in use.
    pub path: Option<PathId>,
    pub interface: InterfaceId,
    pub local: IpAddr,
    pub remote: SocketAddr,
}

/// A change of an address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressChange {
    /// It was added, or its link is up.
    Up,
    /// Its link is down.
    Down,
    /// It was removed.
    Removed,
}

/// A connection that has nothing to send for now; the fields are the answers of the methods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub has_events: bool,
    pub is_closed: bool,
    pub deadline: Instant,
}

/// A connection.
pub(crate) trait Endpoint {
    /// The stack's record of the socket.
    fn marks(&mut self) -> &mut SocketMarks;

    /// The protocol of its packets.
    fn ip_protocol(&self) -> IpProtocol;

    /// Takes a packet that arrived on a path.
    fn handle(&mut self, cx: &mut Context<'_>, path: PathId, body: &mut Body);

    /// The next packet to send.
    fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit>;

    /// When `on_timeout` is to be called. Any time not before `SocketMarks::armed_at` is as good as
    /// any other.
    fn deadline(&mut self) -> Instant;

    fn on_timeout(&mut self, cx: &mut Context<'_>);

    /// `bytes` of a packet of this path left the network interface. The result is whether the
    /// connection may have something to send now.
    fn on_departed(&mut self, path: PathId, bytes: u32) -> bool;

    /// The last packet, which is of this path, leaves the network interface at `at`: `on_departed`
    /// does not follow. The result is whether it should, because something waits for it: then
    /// `recall` is called.
    fn on_departure_known(&mut self, departed_by: Instant, path: PathId, at: Instant) -> bool {
        let _ = (departed_by, path, at);
        false
    }

    /// The paths that wait for departures after `departed_by` that they know of: `on_departed` is
    /// to follow after all.
    fn recall(&mut self, departed_by: Instant) -> PathSet {
        let _ = departed_by;
        PathSet::EMPTY
    }

    /// The path was reset, as by a valid packet of the peer.
    fn on_reset(&mut self, cx: &mut Context<'_>, path: PathId);

    /// An ICMP message reports that the peer cannot be reached on the path. `quoted`: the sequence
    /// number of the segment that it quotes, if it has that.
    fn on_unreachable(&mut self, cx: &mut Context<'_>, path: PathId, quoted: Option<SeqNumber>);

    /// Appends to the stream. The result is the number of bytes taken.
    fn write(&mut self, cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError>;

    /// Takes the next bytes in order, at most `max`.
    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError>;

    /// The number of bytes that can be read.
    fn readable(&self) -> u64;

    /// Nothing more will be written.
    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError>;

    /// Resets the connection.
    fn abort(&mut self, cx: &mut Context<'_>);

    /// The application released the socket.
    fn on_released(&mut self, cx: &mut Context<'_>);

    /// A call of the application made a packet due at once.
    fn has_urgent(&self) -> bool;

    fn has_events(&self) -> bool;

    /// Moves the events to the end of `events`.
    // The memory of both lists stays: an allocation for each event costs a tenth of a packet.
    fn take_events(&mut self, events: &mut Vec<ConnectionEvent>);

    /// Takes the event that data can be read, if it is the only one.
    fn take_readable(&mut self) -> bool {
        false
    }

    /// The connection is over, and everything is sent.
    fn is_closed(&self) -> bool;

    /// What the stack asks when nothing more is sent for now, in one call.
    #[inline(always)]
    fn rest(&mut self) -> Rest {
        Rest {
            has_events: self.has_events(),
            is_closed: self.is_closed(),
            deadline: self.deadline(),
        }
    }

    fn info(&self) -> ConnectionInfo;

    /// The ends and the interface of every path, in the order of the paths.
    fn paths(&self) -> Vec<(Tuple, InterfaceId)>;

    /// A packet opens a new connection although it has the ends of this path: the path is over, or
    /// only waits for late packets (RFC 9293 s3.6.1).
    fn is_replaced_by(&self, path: PathId, body: &Body) -> bool;

    /// The name of the connection in packets between unknown ends.
    fn tag(&self) -> Option<Tag> {
        None
    }

    /// A packet between `ends` asks to add a path. The result is the number of the path, or the
    /// refusal to send.
    fn admit_path(&mut self, ends: &Tuple, body: &Body) -> Result<PathId, Option<Body>> {
        let _ = (ends, body);
        Err(None)
    }

    /// Adds the path that `body` asks for, which was admitted.
    fn accept_path(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        path: &NewPath,
        body: &Body,
    ) {
        let _ = (cx, draws, path, body);
    }

    /// The next path to be opened. It stays the next one until `open_path` or `on_path_unopened`
    /// is called.
    fn poll_path(&mut self) -> Option<PathRequest> {
        None
    }

    /// Opens the path that was asked for.
    fn open_path(&mut self, cx: &mut Context<'_>, draws: &mut Draws, path: &NewPath) {
        let _ = (cx, draws, path);
    }

    /// The path that was asked for cannot be opened: there is no number or no port for it.
    fn on_path_unopened(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// The ends of the former path whose number `path` is taken by a new one.
    fn ends_replaced_by(&self, path: PathId) -> Option<Tuple> {
        let _ = path;
        None
    }

    /// Addresses of an interface of this host changed. The result is whether the protocol heeds
    /// such changes.
    fn on_addresses(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &[IpAddr],
        interface: InterfaceId,
        change: AddressChange,
    ) -> bool {
        let _ = (cx, addresses, interface, change);
        false
    }

    /// The paths of an interface are for backup, or no longer are. Returns whether the protocol can
    /// notify the peer.
    fn set_interface_backup(&mut self, interface: InterfaceId, backup: bool) -> bool {
        let _ = (interface, backup);
        false
    }

    /// The same for the paths of a local address.
    fn set_address_backup(&mut self, local: IpAddr, backup: bool) -> bool {
        let _ = (local, backup);
        false
    }
}

/// The lowest bit of the path in `Packet::flow`; below is the number of the socket plus one.
pub(crate) const FLOW_PATH_SHIFT: u32 = 24;

/// The socket and the path of a packet that left, by its `Packet::flow`.
pub(crate) const fn split_flow(flow: u32) -> Option<(SocketId, PathId)> {
    let socket = flow & ((1 << FLOW_PATH_SHIFT) - 1);
    match socket.checked_sub(1) {
        Some(index) => Some((SocketId(index), PathId((flow >> FLOW_PATH_SHIFT) as u8))),
        None => None,
    }
}

/// Largest number of packets in an interface with a departure known in advance
/// (`Sent::Departs`).
pub const KNOWN_DEPARTURES: usize = 8;

/// `Packet::flow` of the packets of a path.
pub(crate) const fn flow_of(socket: SocketId, path: PathId) -> u32 {
    (socket.0 + 1) | (path.0 as u32) << FLOW_PATH_SHIFT
}

/// The random numbers that a stack draws, of which each is drawn once: the n-th is a function of
/// the seed, the host, the purpose and n.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draws {
    count: u64,
}

impl Draws {
    /// The next random number.
    pub fn draw(&mut self, cx: &Context<'_>, purpose: Purpose) -> u64 {
        self.count += 1;
        cx.chance.bits(u64::from(cx.host.0), purpose, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_of_a_packet_names_socket_and_path() {
        let flow = |socket: u32, path: u32| (socket + 1) | path << FLOW_PATH_SHIFT;
        assert_eq!(split_flow(flow(0, 0)), Some((SocketId(0), PathId(0))));
        assert_eq!(split_flow(flow(70_000, 63)), Some((SocketId(70_000), PathId(63))));
        assert_eq!(split_flow(0), None, "of no connection");
    }

    #[test]
    fn protocol_numbers_are_those_of_ip() {
        for protocol in IpProtocol::ALL {
            assert_eq!(IpProtocol::from_number(protocol as u8), Some(protocol));
        }
        assert_eq!(IpProtocol::from_number(17), None, "UDP has no connections");
    }
}

//! MPTCP for a host rather than for one connection: opening and accepting connections, and segments
//! between unknown ends (RFC 8684 s3.1, s3.2).

use super::MptcpConfig;
use super::config::Start;
use super::connection::Connection;
use super::early_joins::{EarlyJoin, EarlyJoins};
use super::handshake::acceptable_capable;
use crate::endpoint::{Arrival, Claim, Draws, NewPath, Tag, Tuple};
use crate::routes::Routes;
use crate::tcp::stray::opens_connection;
use crate::tcp::subflow::Identity;
use base::{Context, InterfaceId, Purpose, SocketId};
use std::net::IpAddr;
use wire::mptcp::{Join, Key, MptcpOption, ResetReason};
use wire::{Body, Flags, SeqNumber, TcpSegment};

/// The view of the host that MPTCP needs.
pub(crate) trait HostView {
    /// The MPTCP connection with this number.
    fn connection(&self, id: SocketId) -> Option<&Connection>;
    /// The listener for MPTCP on a port.
    fn listener(&self, port: u16) -> Option<(SocketId, &MptcpConfig)>;
    /// The connection with this name.
    fn tagged(&self, tag: Tag) -> Option<SocketId>;
    /// All addresses with their interfaces.
    fn addresses(&self) -> Vec<(IpAddr, InterfaceId)>;
    /// Largest IP datagram of an interface, in bytes.
    fn mtu(&self, interface: InterfaceId) -> u32;
    /// Routes by pair of addresses.
    fn routes(&self) -> &Routes;
}

/// A SYN that arrived for a listener, with the path and the socket number chosen for it.
pub(crate) struct ListenerSyn<'a> {
    pub path: &'a NewPath,
    pub syn: &'a TcpSegment,
    pub listener: SocketId,
    /// Configuration of the listener.
    pub config: &'a MptcpConfig,
}

/// What MPTCP keeps for a host.
#[derive(Default)]
pub(crate) struct MptcpHost {
    early_joins: EarlyJoins,
}

impl MptcpHost {
    /// Opens a connection on its first path.
    pub(crate) fn connect(
        &self,
        cx: &Context<'_>,
        draws: &mut Draws,
        host: &impl HostView,
        path: &NewPath,
        config: &MptcpConfig,
    ) -> Connection {
        let identity = Identity::draw(cx, draws, path);
        let key = draw_key(cx, draws, host);
        let addresses = host.addresses();
        let start = Start {
            socket: path.socket,
            config,
            client: true,
            key,
            local: path.ends.local.ip(),
            remote: path.ends.remote,
            host: (&addresses, host.routes()),
            listener: None,
        };
        let mut connection = Connection::connect(&start, &identity, path.interface);
        let peers = config.simultaneous_syn.as_deref().unwrap_or_default();
        if !peers.is_empty() {
            connection.open_group(draws.draw(cx, Purpose::Key), peers);
        }
        connection
    }

    /// Answers a SYN that arrived for a listener. `None`: it does not ask for MPTCP, or for a
    /// version or an algorithm that this host lacks.
    pub(crate) fn accept(
        &mut self,
        cx: &Context<'_>,
        draws: &mut Draws,
        host: &impl HostView,
        request: &ListenerSyn<'_>,
    ) -> Option<Connection> {
        let ListenerSyn { path, syn, listener, config } = *request;
        let asked = acceptable_capable(syn)?;
        let identity = Identity::draw(cx, draws, path);
        let key = draw_key(cx, draws, host);
        let addresses = host.addresses();
        let start = Start {
            socket: path.socket,
            config,
            client: false,
            key,
            local: path.ends.local.ip(),
            remote: path.ends.remote,
            host: (&addresses, host.routes()),
            listener: Some(listener),
        };
        let interface = path.interface;
        let connection = Connection::accept(cx.now, &start, &identity, interface, syn, asked);
        if config.simultaneous_syn.is_some() {
            self.early_joins.on_connection(cx.now, path.socket, syn);
        }
        Some(connection)
    }

    /// Finds out what a segment between unknown ends is. The token of a join names its connection;
    /// the port does not matter (RFC 8684 s3.2), but mainline Linux must listen there.
    pub(crate) fn claim(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        host: &impl HostView,
        arrival: &Arrival,
        segment: &TcpSegment,
    ) -> Claim {
        let early = self.early_joins.claim(cx, draws, host, arrival, segment);
        if !matches!(early, Claim::Unclaimed) {
            return early;
        }
        match segment.options.mptcp.join() {
            Some(Join::Syn { token, .. }) if opens_connection(segment) => {
                let id = host.tagged(Tag::Token(token));
                let connection = id.and_then(|id| Some((id, host.connection(id)?)));
                let is_listening = || host.listener(arrival.ends.local.port()).is_some();
                match connection {
                    Some((_, known)) if known.is_joined_where_it_listens() && !is_listening() => {
                        Claim::Unclaimed
                    }
                    Some((id, _)) => Claim::Path(id),
                    None => {
                        let reason = ResetReason::MPTCP_ERROR;
                        Claim::Refused(refusal(&arrival.ends, segment, reason, false))
                    }
                }
            }
            _ => Claim::Unclaimed,
        }
    }

    /// Subflows wait for their connection.
    #[inline]
    pub(crate) const fn has_waiting(&self) -> bool {
        !self.early_joins.is_empty()
    }

    /// The next waiting subflow that its connection can adopt: see [`EarlyJoins::take_complete`].
    pub(crate) fn take_complete(
        &mut self,
        from: &mut usize,
        host: &impl HostView,
    ) -> Option<(SocketId, EarlyJoin)> {
        self.early_joins.take_complete(from, host)
    }
}

/// A key whose token no other connection of the host has.
fn draw_key(cx: &Context<'_>, draws: &mut Draws, host: &impl HostView) -> Key {
    loop {
        let key = Key(draws.draw(cx, Purpose::Key));
        if host.tagged(Tag::Token(key.token())).is_none() {
            return key;
        }
    }
}

/// The reset that refuses the SYN of a join (RFC 8684 s3.6). `transient`: the peer may try again.
pub(crate) fn refusal(
    ends: &Tuple,
    syn: &TcpSegment,
    reason: ResetReason,
    transient: bool,
) -> Body {
    let mut reset = TcpSegment {
        src_port: ends.local.port(),
        dst_port: ends.remote.port(),
        seq: SeqNumber(0),
        ack: syn.seq + syn.sequence_len(),
        flags: Flags::RST | Flags::ACK,
        ..TcpSegment::default()
    };
    reset.options.mptcp.push(MptcpOption::TcpRst { transient, reason });
    Body::Tcp(reset)
}

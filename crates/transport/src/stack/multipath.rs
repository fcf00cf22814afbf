//! MPTCP sockets: opening, listening, joins by token, and interfaces that come and go.

use super::addressing::{FlowKey, FlowRef};
use super::face::InterfaceEvent;
use super::{Socket, Stack};
use crate::mptcp::MptcpConfig;
use crate::mptcp::connection::{Connection, Start};
use crate::mptcp::management::{JoinRequest, LocalChange};
use crate::socket::SocketError;
use crate::tcp::subflow::{Identity, Tuple};
use base::{Context, InterfaceId, PathId, Purpose, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::{CapableFlags, Key, MptcpOption, ResetReason, Token};
use wire::{Body, Flags, SeqNumber, TcpSegment};

impl Stack {
    pub(super) fn connect_mptcp(
        &mut self,
        cx: &mut Context<'_>,
        local: IpAddr,
        remote: SocketAddr,
        config: &MptcpConfig,
    ) -> Result<SocketId, SocketError> {
        let interface = self.addressing.interface_of(local).ok_or(SocketError::NoSuchAddress)?;
        let first = self.draw(cx, Purpose::Port);
        let local = self.addressing.free_port(local, remote, first)?;
        let id = self.next_id();
        let identity = self.identity(cx, id, interface, Tuple { local, remote });
        let key = self.draw_key(cx);
        let host = self.addressing.host();
        let start = Start {
            socket: id,
            config,
            client: true,
            key,
            local: local.ip(),
            remote,
            host: &host,
            listener: None,
        };
        let connection = Connection::connect(&start, &identity, interface);
        self.insert_mptcp(id, connection, Tuple { local, remote });
        self.open_group(cx, id, config.simultaneous_syn.as_deref().unwrap_or_default());
        Ok(id)
    }

    /// A key whose token no other connection has.
    fn draw_key(&mut self, cx: &Context<'_>) -> Key {
        loop {
            let key = Key(self.draw(cx, Purpose::Key));
            if self.addressing.by_token(key.token()).is_none() {
                return key;
            }
        }
    }

    fn insert_mptcp(&mut self, id: SocketId, mut connection: Connection, tuple: Tuple) {
        for (interface, backup) in &self.backups {
            connection.mark_interface(*interface, *backup);
        }
        self.addressing.bind_token(connection.token(), id);
        let flow = FlowRef { socket: id, subflow: 0 };
        self.addressing.bind_flow(FlowKey::new(tuple.local, tuple.remote), flow);
        self.sockets.push(Socket::Mptcp(Box::new(connection)));
        self.wake(id);
    }

    /// A SYN with MP_CAPABLE for a listener.
    pub(super) fn accept_capable(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        listener: SocketId,
        config: &MptcpConfig,
        tuple: Tuple,
        (syn, asked): (&TcpSegment, CapableFlags),
    ) {
        let id = self.next_id();
        let identity = self.identity(cx, id, interface, tuple);
        let key = self.draw_key(cx);
        let host = self.addressing.host();
        let start = Start {
            socket: id,
            config,
            client: false,
            key,
            local: tuple.local.ip(),
            remote: tuple.remote,
            host: &host,
            listener: Some(listener),
        };
        let connection = Connection::accept(cx.now, &start, &identity, interface, syn, asked);
        self.insert_mptcp(id, connection, tuple);
        if config.simultaneous_syn.is_some() {
            self.note_group(cx.now, id, syn);
        }
        self.join_backlog(listener);
    }

    /// A SYN with MP_JOIN: the token names the connection, not the port (RFC 8684 s3.2).
    pub(super) fn accept_join(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        token: Token,
        tuple: Tuple,
        syn: &TcpSegment,
    ) {
        let id = self.addressing.by_token(token);
        let socket = id.and_then(|id| self.sockets.get(id.index()));
        let (Some(id), Some(Socket::Mptcp(connection))) = (id, socket) else {
            self.refuse_join(interface, tuple, syn, ResetReason::MPTCP_ERROR, false);
            return;
        };
        let path = connection.free_path().filter(|_| connection.may_accept_join());
        let Some(path) = path else {
            let reason = ResetReason::ADMINISTRATIVELY_PROHIBITED;
            let asks = self.ask_rivals(id, &tuple);
            self.refuse_join(interface, tuple, syn, reason, asks);
            return;
        };
        let identity = self.join_identity(cx, id, interface, tuple, path);
        let nonce = self.draw(cx, Purpose::Key) as u32;
        self.unbind_replaced(id, path);
        if let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) {
            connection.accept_join(cx.now, &identity, interface, syn, nonce);
        }
        let flow = FlowRef { socket: id, subflow: path.0 };
        self.addressing.bind_flow(FlowKey::new(tuple.local, tuple.remote), flow);
        self.wake(id);
    }

    /// Whether there may be room for a join later, which is being found out.
    fn ask_rivals(&mut self, id: SocketId, tuple: &Tuple) -> bool {
        let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) else {
            return false;
        };
        let asks = connection.ask_rivals(tuple);
        self.wake(id);
        asks
    }

    /// A new subflow takes the number of one that is over: packets for that one are nobody's.
    fn unbind_replaced(&mut self, id: SocketId, path: PathId) {
        let Some(Socket::Mptcp(connection)) = self.sockets.get(id.index()) else { return };
        if let Some(Tuple { local, remote }) = connection.ends_replaced_by(path) {
            self.addressing.unbind_flow(FlowKey::new(local, remote), id);
        }
    }

    /// Ask the peer of an MPTCP connection to spare the subflows of a local address, or to use
    /// them again (MP_PRIO, RFC 8684 s3.3.8); this host does likewise.
    pub fn set_backup(
        &mut self,
        socket: SocketId,
        local: IpAddr,
        backup: bool,
    ) -> Result<(), SocketError> {
        let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(socket.index()) else {
            return Err(SocketError::NoSuchSocket);
        };
        connection.set_backup(local, backup);
        self.wake(socket);
        Ok(())
    }

    fn join_identity(
        &mut self,
        cx: &Context<'_>,
        id: SocketId,
        interface: InterfaceId,
        tuple: Tuple,
        path: PathId,
    ) -> Identity {
        Identity { path, ..self.identity(cx, id, interface, tuple) }
    }

    fn refuse_join(
        &mut self,
        interface: InterfaceId,
        tuple: Tuple,
        syn: &TcpSegment,
        reason: ResetReason,
        transient: bool,
    ) {
        self.refused_joins += 1;
        let mut reset = TcpSegment {
            src_port: tuple.local.port(),
            dst_port: tuple.remote.port(),
            seq: SeqNumber(0),
            ack: syn.seq + syn.sequence_len(),
            flags: Flags::RST | Flags::ACK,
            ..TcpSegment::default()
        };
        reset.options.mptcp.push(MptcpOption::TcpRst { transient, reason });
        self.send_stray(interface, tuple.local.ip(), tuple.remote.ip(), Body::Tcp(reset));
    }

    /// Open the subflows that a path manager asked for. Whether there were any.
    pub(super) fn open_joins(&mut self, cx: &mut Context<'_>, id: SocketId) -> bool {
        let mut opened = false;
        while let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index())
            && let Some(request) = connection.take_join()
        {
            let path = connection.free_path();
            let open = |connection: &mut Connection, identity: &Identity, nonce| {
                connection.open_join(&request, identity, nonce);
            };
            if path.is_some_and(|path| self.open_join(cx, id, &request, path, open)) {
                opened = true;
            } else if let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) {
                connection.on_unopened(cx, &request);
            }
        }
        opened
    }

    /// Open one from a free port. Whether there was one.
    pub(super) fn open_join(
        &mut self,
        cx: &mut Context<'_>,
        id: SocketId,
        request: &JoinRequest,
        path: PathId,
        open: impl FnOnce(&mut Connection, &Identity, u32),
    ) -> bool {
        let first = self.draw(cx, Purpose::Port);
        let Ok(local) = self.addressing.free_port(request.local, request.remote, first) else {
            return false;
        };
        let tuple = Tuple { local, remote: request.remote };
        let identity = self.join_identity(cx, id, request.interface, tuple, path);
        let nonce = self.draw(cx, Purpose::Key) as u32;
        self.unbind_replaced(id, path);
        if let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id.index()) {
            open(connection, &identity, nonce);
        }
        let flow = FlowRef { socket: id, subflow: path.0 };
        self.addressing.bind_flow(FlowKey::new(tuple.local, tuple.remote), flow);
        true
    }

    /// An interface or address came or went: connections with several paths care.
    pub(super) fn on_interface_event(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        event: InterfaceEvent,
    ) {
        let all = |change| (self.addressing.addresses_of(interface), change);
        let (addresses, change) = match event {
            InterfaceEvent::Up => all(LocalChange::Up),
            InterfaceEvent::Down => all(LocalChange::Down),
            InterfaceEvent::AddressAdded(address) => (vec![address], LocalChange::Up),
            InterfaceEvent::AddressRemoved(address) => (vec![address], LocalChange::Removed),
            InterfaceEvent::Backup(backup) => return self.mark_interface(interface, backup),
        };
        self.addressing.on_interface_event(interface, event);
        for index in 0..self.sockets.len() {
            let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(index) else { continue };
            for address in &addresses {
                connection.on_local_address(cx, *address, interface, change);
            }
            self.wake(SocketId(index as u32));
        }
    }

    /// Connections that are there and those to come ask their peers to spare an interface, or not.
    fn mark_interface(&mut self, interface: InterfaceId, backup: bool) {
        self.backups.retain(|(known, _)| *known != interface);
        self.backups.push((interface, backup));
        for index in 0..self.sockets.len() {
            let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(index) else { continue };
            connection.mark_interface(interface, backup);
            self.wake(SocketId(index as u32));
        }
    }

    /// Joins refused since the beginning: of unknown connections, or of too many subflows. Those
    /// that fail their proof are counted by their connections.
    pub const fn refused_joins(&self) -> u64 {
        self.refused_joins
    }
}

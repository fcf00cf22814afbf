//! Paths of connections that the stack opens, accepts and closes, and interfaces that change.

use super::Stack;
use super::addressing::{Addressing, FlowRef};
use super::io::{InterfaceEvent, ProtocolConfig};
use super::sctp::SctpInput;
use super::sockets::{Socket, Sockets};
use crate::endpoint::{
    AddressChange, Arrival, Claim, Draws, Endpoint, IpProtocol, NewPath, PathRequest, Tag, Tuple,
};
use crate::mptcp::MptcpConfig;
use crate::mptcp::connection::Connection as MptcpConnection;
use crate::mptcp::host::HostView;
use crate::routes::Routes;
use crate::sctp::host::LocalAddress;
use crate::socket::SocketError;
use base::{Context, InterfaceId, PathId, Purpose, SocketId};
use std::net::IpAddr;
use wire::Body;

/// The host as a protocol sees it.
pub(super) struct View<'a> {
    sockets: &'a Sockets,
    addressing: &'a Addressing,
}

impl<'a> View<'a> {
    pub(super) const fn new(sockets: &'a Sockets, addressing: &'a Addressing) -> Self {
        View { sockets, addressing }
    }
}

impl HostView for View<'_> {
    fn connection(&self, id: SocketId) -> Option<&MptcpConnection> {
        match self.sockets.get(id)? {
            Socket::Mptcp(connection) => Some(connection),
            _ => None,
        }
    }

    fn listener(&self, port: u16) -> Option<(SocketId, &MptcpConfig)> {
        let id = self.addressing.listener(IpProtocol::Tcp, port)?;
        match &self.sockets.listener(id)?.config {
            ProtocolConfig::Mptcp(config) => Some((id, config)),
            ProtocolConfig::Tcp(_) | ProtocolConfig::Sctp(_) | ProtocolConfig::Udp => None,
        }
    }

    fn tagged(&self, tag: Tag) -> Option<SocketId> {
        self.addressing.tagged(tag)
    }

    fn addresses(&self) -> Vec<(IpAddr, InterfaceId)> {
        self.addressing.host()
    }

    fn mtu(&self, interface: InterfaceId) -> u32 {
        self.addressing.mtu(interface)
    }

    fn routes(&self) -> &Routes {
        self.addressing.routes()
    }
}

impl Stack {
    pub(super) fn new_path(
        &self,
        socket: SocketId,
        path: PathId,
        interface: InterfaceId,
        ends: Tuple,
    ) -> NewPath {
        NewPath { socket, path, interface, ends, mtu: self.addressing.mtu(interface) }
    }

    /// One address of the host.
    pub(super) fn sctp_locals(&self, interface: InterfaceId, address: IpAddr) -> LocalAddress {
        // A packet may arrive on another interface than that of its destination.
        let interface = self.addressing.interface_for(interface, address);
        LocalAddress { address, interface, mtu: self.addressing.mtu(interface) }
    }

    /// All addresses of the host.
    pub(super) fn sctp_host_addresses(&self) -> Vec<LocalAddress> {
        let all = self.addressing.host().into_iter();
        all.map(|(address, interface)| self.sctp_locals(interface, address)).collect()
    }

    /// Adds a connection with the paths that it begins with.
    pub(super) fn insert(&mut self, mut socket: Socket) -> SocketId {
        let id = self.sockets.next_id();
        if let Some(endpoint) = socket.endpoint_mut() {
            for (interface, backup) in &self.backups {
                endpoint.set_interface_backup(*interface, *backup);
            }
            if let Some(tag) = endpoint.tag() {
                self.addressing.bind_tag(tag, id);
            }
            let protocol = endpoint.ip_protocol();
            for (path, (ends, _)) in (0..).zip(endpoint.paths()) {
                self.addressing.bind_flow(
                    protocol,
                    &ends,
                    FlowRef { socket: id, path: PathId(path) },
                );
            }
        }
        self.sockets.push(socket);
        debug_assert!(self.sockets.endpoint(id).is_some_and(|made| !made.paths().is_empty()));
        self.wake(id);
        id
    }

    /// A packet between unknown ends, to an address of this host.
    pub(super) fn handle_unknown(
        &mut self,
        cx: &mut Context<'_>,
        protocol: IpProtocol,
        arrival: &Arrival,
        body: &Body,
    ) {
        match self.claim(cx, arrival, body) {
            Claim::Unclaimed => {
                match self.addressing.listener(protocol, arrival.ends.local.port()) {
                    Some(listener) if Stack::opens_connection(body) => {
                        self.accept(cx, arrival, listener, body);
                    }
                    _ => self.refuse(arrival, body),
                }
            }
            Claim::Path(id) => self.accept_path(cx, id, arrival, body),
            Claim::Refused(answer) => {
                self.refused_paths += 1;
                self.answer(arrival, answer);
            }
            Claim::Handled(Some(answer)) => self.send_stray_packet(answer),
            Claim::Handled(None) => {}
            Claim::Completed => self.adopt_paths(cx),
        }
    }

    fn claim(&mut self, cx: &mut Context<'_>, arrival: &Arrival, body: &Body) -> Claim {
        let host = View::new(&self.sockets, &self.addressing);
        match body {
            Body::Tcp(segment) => self.mptcp.claim(cx, &mut self.draws, &host, arrival, segment),
            _ => Claim::Unclaimed,
        }
    }

    /// A packet asks to add a path to a connection.
    fn accept_path(&mut self, cx: &mut Context<'_>, id: SocketId, arrival: &Arrival, body: &Body) {
        let Arrival { interface, ends } = *arrival;
        let Ok(endpoint) = self.sockets.endpoint_mut(id) else { return };
        let admitted = endpoint.admit_path(&ends, body);
        match admitted {
            Ok(path) => {
                let path = self.new_path(id, path, interface, ends);
                self.begin_path(&path, |endpoint, draws| {
                    endpoint.accept_path(cx, draws, &path, body);
                });
            }
            Err(answer) => {
                self.refused_paths += 1;
                if let Some(answer) = answer {
                    self.answer(arrival, answer);
                }
            }
        }
        self.wake(id);
    }

    /// Lets a connection begin a path, which may take the number of one that is over: packets of
    /// that one then belong to no connection.
    fn begin_path(&mut self, path: &NewPath, begin: impl FnOnce(&mut dyn Endpoint, &mut Draws)) {
        let Ok(endpoint) = self.sockets.endpoint_mut(path.socket) else { return };
        let protocol = endpoint.ip_protocol();
        if let Some(replaced) = endpoint.ends_replaced_by(path.path) {
            self.addressing.unbind_flow(protocol, &replaced, path.socket);
        }
        begin(endpoint, &mut self.draws);
        let flow = FlowRef { socket: path.socket, path: path.path };
        self.addressing.bind_flow(protocol, &path.ends, flow);
    }

    /// Opens the paths that a connection asks for. The result is whether there was one.
    pub(super) fn open_paths(&mut self, cx: &mut Context<'_>, id: SocketId) -> bool {
        let mut opened = false;
        while let Ok(endpoint) = self.sockets.endpoint_mut(id)
            && let Some(request) = endpoint.poll_path()
        {
            if self.open_path(cx, id, &request).is_some() {
                opened = true;
            } else if let Ok(endpoint) = self.sockets.endpoint_mut(id) {
                endpoint.on_path_unopened(cx);
            }
        }
        opened
    }

    fn open_path(
        &mut self,
        cx: &mut Context<'_>,
        id: SocketId,
        request: &PathRequest,
    ) -> Option<()> {
        let PathRequest { path, interface, local, remote } = *request;
        let path = path?;
        let protocol = self.sockets.endpoint(id)?.ip_protocol();
        let first = self.draws.draw(cx, Purpose::Port);
        let ends = self.addressing.free_ends(protocol, local, remote, first).ok()?;
        let path = self.new_path(id, path, interface, ends);
        self.begin_path(&path, |endpoint, draws| endpoint.open_path(cx, draws, &path));
        Some(())
    }

    /// Gives paths that were answered before their connection was known to that connection.
    #[cold]
    pub(super) fn adopt_paths(&mut self, cx: &mut Context<'_>) {
        let mut from = 0;
        loop {
            let host = View::new(&self.sockets, &self.addressing);
            let Some((id, mut early)) = self.mptcp.take_complete(&mut from, &host) else { return };
            let third = early.take_third();
            let ends = *early.subflow.tuple();
            let Some(Socket::Mptcp(connection)) = self.sockets.get_mut(id) else { return };
            let adopted = connection.adopt(early.interface, early.subflow, &early.join);
            let Some(path) = adopted else { continue };
            let flow = FlowRef { socket: id, path };
            self.addressing.bind_flow(IpProtocol::Tcp, &ends, flow);
            if let Some(mut third) = third {
                let _ = self.deliver(cx, flow, &mut third);
            }
        }
    }

    /// An interface or an address changed. Connections with several paths may open or close some.
    pub(super) fn on_interface_event(
        &mut self,
        cx: &mut Context<'_>,
        interface: InterfaceId,
        event: InterfaceEvent,
    ) {
        let all = |change| (self.addressing.addresses_of(interface), change);
        let (addresses, change) = match event {
            InterfaceEvent::Up => all(AddressChange::Up),
            InterfaceEvent::Down => all(AddressChange::Down),
            InterfaceEvent::AddressAdded(address) => (vec![address], AddressChange::Up),
            InterfaceEvent::AddressRemoved(address) => (vec![address], AddressChange::Removed),
            InterfaceEvent::Backup(backup) => return self.set_interface_backup(interface, backup),
        };
        self.addressing.on_interface_event(interface, event);
        for id in self.sockets.ids() {
            let Ok(endpoint) = self.sockets.endpoint_mut(id) else { continue };
            if endpoint.on_addresses(cx, &addresses, interface, change) {
                SctpInput::rebind(self, id);
                self.wake(id);
            }
        }
    }

    /// Connections, present and future, ask their peers to use an interface as backup only, or no
    /// longer.
    fn set_interface_backup(&mut self, interface: InterfaceId, backup: bool) {
        self.backups.retain(|(known, _)| *known != interface);
        self.backups.push((interface, backup));
        for id in self.sockets.ids() {
            let Ok(endpoint) = self.sockets.endpoint_mut(id) else { continue };
            if endpoint.set_interface_backup(interface, backup) {
                self.wake(id);
            }
        }
    }

    /// Asks the peer of a connection to use the paths of a local address as backup only, or again
    /// as any other (MPTCP: MP_PRIO, RFC 8684 s3.3.8). This host does likewise.
    pub fn set_backup(
        &mut self,
        socket: SocketId,
        local: IpAddr,
        backup: bool,
    ) -> Result<(), SocketError> {
        if !self.sockets.endpoint_mut(socket)?.set_address_backup(local, backup) {
            return Err(SocketError::NoSuchSocket);
        }
        self.wake(socket);
        Ok(())
    }

    /// Paths that were refused since the beginning: of unknown connections, or beyond the limit of
    /// a connection. Those whose proof fails are counted by their connections.
    pub const fn refused_joins(&self) -> u64 {
        self.refused_paths
    }
}

//! An MPTCP connection as the stack sees it.

use super::connection::Connection;
use super::host::refusal;
use crate::endpoint::{
    AddressChange, Draws, Endpoint, IpProtocol, NewPath, PathRequest, Tag, Transmit, Tuple,
};
use crate::info::ConnectionInfo;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use crate::tcp::subflow::Identity;
use base::{Context, Instant, InterfaceId, PathId, Purpose};
use std::net::IpAddr;
use wire::mptcp::ResetReason;
use wire::{Body, Payload};

impl Endpoint for Connection {
    fn marks(&mut self) -> &mut SocketMarks {
        &mut self.marks
    }

    fn ip_protocol(&self) -> IpProtocol {
        IpProtocol::Tcp
    }

    #[inline]
    fn handle(&mut self, cx: &mut Context<'_>, path: PathId, body: &mut Body) {
        if let Body::Tcp(segment) = body {
            self.handle_segment(cx, path.index(), segment);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Context<'_>) -> Option<Transmit> {
        let (packet, interface) = self.poll_packet(cx)?;
        Some(Transmit { interface, packet })
    }

    fn deadline(&self) -> Instant {
        self.deadline()
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.on_timeout(cx);
    }

    fn on_departed(&mut self, path: PathId, bytes: u32) -> bool {
        self.on_departed(path.index(), bytes)
    }

    fn on_reset(&mut self, cx: &mut Context<'_>, path: PathId) {
        self.on_reset(cx, path.index());
    }

    fn on_unreachable(&mut self, cx: &mut Context<'_>, path: PathId) {
        self.on_unreachable(cx, path.index(), SocketError::Unreachable);
    }

    fn write(&mut self, cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        self.write(cx, payload)
    }

    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.read(cx, max)
    }

    fn readable(&self) -> u64 {
        self.readable()
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        self.shutdown(cx)
    }

    fn abort(&mut self, cx: &mut Context<'_>) {
        self.abort(cx);
    }

    fn on_released(&mut self, cx: &mut Context<'_>) {
        self.on_released(cx);
    }

    fn has_urgent(&self) -> bool {
        self.has_to_poll()
    }

    fn has_events(&self) -> bool {
        self.has_news()
    }

    fn take_events(&mut self) -> Vec<ConnectionEvent> {
        self.take_news()
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn info(&self) -> ConnectionInfo {
        self.info()
    }

    fn paths(&self) -> Vec<(Tuple, InterfaceId)> {
        self.subflows().map(|(_, ends)| *ends).zip(self.interfaces()).collect()
    }

    fn is_replaced_by(&self, path: PathId, _body: &Body) -> bool {
        self.is_subflow_closed(path.index())
    }

    fn tag(&self) -> Option<Tag> {
        Some(Tag::Token(self.token()))
    }

    fn admit_path(&mut self, ends: &Tuple, body: &Body) -> Result<PathId, Option<Body>> {
        if let Some(path) = self.free_path().filter(|_| self.may_accept_join()) {
            return Ok(path);
        }
        let asked = self.ask_rivals(ends);
        let Body::Tcp(syn) = body else { return Err(None) };
        Err(Some(refusal(ends, syn, ResetReason::ADMINISTRATIVELY_PROHIBITED, asked)))
    }

    fn accept_path(
        &mut self,
        cx: &mut Context<'_>,
        draws: &mut Draws,
        path: &NewPath,
        body: &Body,
    ) {
        let Body::Tcp(syn) = body else { return };
        let identity = Identity::draw(cx, draws, path);
        let nonce = draws.draw(cx, Purpose::Key) as u32;
        self.accept_join(cx.now, &identity, path.interface, syn, nonce);
    }

    fn poll_path(&mut self) -> Option<PathRequest> {
        let join = *self.next_join()?;
        let (local, remote, interface) = (join.local, join.remote, join.interface);
        Some(PathRequest { path: self.free_path(), interface, local, remote })
    }

    fn open_path(&mut self, cx: &mut Context<'_>, draws: &mut Draws, path: &NewPath) {
        let Some(join) = self.take_join() else { return };
        let identity = Identity::draw(cx, draws, path);
        let nonce = draws.draw(cx, Purpose::Key) as u32;
        match join.group {
            Some(group) => self.open_grouped(&join, &identity, group),
            None => self.open_join(&join, &identity, nonce),
        }
    }

    fn on_path_unopened(&mut self, cx: &mut Context<'_>) {
        // A path of a group is opened with the connection or, later, as any other.
        if let Some(join) = self.take_join().filter(|join| join.group.is_none()) {
            self.on_unopened(cx, &join);
        }
    }

    fn ends_replaced_by(&self, path: PathId) -> Option<Tuple> {
        self.ends_replaced_by(path)
    }

    fn on_addresses(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &[IpAddr],
        interface: InterfaceId,
        change: AddressChange,
    ) -> bool {
        for address in addresses {
            self.on_local_address(cx, *address, interface, change);
        }
        true
    }

    fn set_interface_backup(&mut self, interface: InterfaceId, backup: bool) -> bool {
        self.mark_interface(interface, backup);
        true
    }

    fn set_address_backup(&mut self, local: IpAddr, backup: bool) -> bool {
        self.set_backup(local, backup);
        true
    }
}

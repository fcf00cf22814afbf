//! An application over the sockets of an engine's stack.
//!
//! Calls of the application become calls of the stack ([`StackSockets`]), events of sockets become
//! calls of the application ([`deliver`]). When the stack is polled is left to the host.

use base::{Context, Event, EventMask, Instant, SocketId};
use std::net::{IpAddr, SocketAddr};
use traffic::{Application, MessageInfo, StreamFailure, StreamHost};
use transport::sctp::streams::{Message, Reliability};
use transport::{ProtocolConfig, SocketError, SocketEvent, SocketEventKind, Stack};
use wire::{Payload, UdpDatagram};

/// Pass an event of a socket to the application that owns it.
pub fn deliver<A: Application>(
    application: &mut A,
    host: &mut dyn StreamHost,
    SocketEvent { socket, kind }: SocketEvent,
) {
    match kind {
        SocketEventKind::Connected => application.on_connected(host, socket),
        SocketEventKind::Accepted { .. } => application.on_accepted(host, socket),
        SocketEventKind::Readable => application.on_readable(host, socket),
        SocketEventKind::Writable => application.on_writable(host, socket),
        SocketEventKind::PeerClosed => application.on_peer_closed(host, socket),
        SocketEventKind::Closed => application.on_closed(socket),
        // What was not delivered is lost, as after a reset.
        SocketEventKind::Restarted => application.on_failed(socket, StreamFailure::Reset),
        // Applications count what arrives.
        SocketEventKind::SendFailed(_) => {}
        SocketEventKind::Failed(error) => application.on_failed(socket, failure(error)),
    }
}

/// Follows the sockets that an application opens and closes.
pub trait SocketOwner {
    /// The application opened a socket.
    fn on_opened(&mut self, socket: SocketId);
    /// The application is about to release a socket, of which the stack then keeps nothing.
    fn on_release(&mut self, _stack: &Stack, _socket: SocketId) {}
}

/// The sockets of a stack, as an application sees them during a call.
pub struct StackSockets<'a, 'c, O> {
    /// Time, random draws and recorder of the call.
    pub cx: &'a mut Context<'c>,
    /// The stack that has the sockets.
    pub stack: &'a mut Stack,
    /// The local address and the peer of `connect`, if there is a peer.
    pub ends: Option<(&'a IpAddr, &'a SocketAddr)>,
    /// The protocol of sockets that are opened.
    pub protocol: &'a ProtocolConfig,
    /// Notified of sockets that are opened and released.
    pub owner: O,
}

impl<O: SocketOwner> StreamHost for StackSockets<'_, '_, O> {
    fn now(&self) -> Instant {
        self.cx.now
    }

    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        let (local, remote) = self.ends.ok_or(StreamFailure::Local)?;
        let socket =
            self.stack.connect(self.cx, *local, *remote, self.protocol).map_err(failure)?;
        self.owner.on_opened(socket);
        Ok(socket)
    }

    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32 {
        // A failed connection is reported by an event of its own.
        let len = self.stack.write(self.cx, socket, payload).unwrap_or(0);
        self.cx.record(EventMask::WRITE, || Event::Written { socket, len });
        len
    }

    fn read(&mut self, socket: SocketId, max: u32) -> Payload {
        self.stack.read(self.cx, socket, max).unwrap_or_default()
    }

    fn acknowledged(&self, socket: SocketId) -> Option<u64> {
        self.stack.info(socket).map(|info| info.snd_una)
    }

    // A read gives all that can be read, up to its limit.
    fn drains(&self) -> bool {
        self.cx.has_short_ways()
    }

    fn largest_message(&self) -> Option<u32> {
        match self.protocol {
            // Longer messages are sent in fragments.
            ProtocolConfig::Sctp(config) => Some(config.message_size.unwrap_or(u32::MAX)),
            ProtocolConfig::Udp => Some(UdpDatagram::MOST_BYTES),
            ProtocolConfig::Tcp(_) | ProtocolConfig::Mptcp(_) => None,
        }
    }

    fn send_message(&mut self, socket: SocketId, payload: &Payload, info: MessageInfo) -> bool {
        if self.largest_message().is_none() {
            return self.write(socket, payload) == payload.len();
        }
        if matches!(self.protocol, ProtocolConfig::Udp) {
            return self.stack.udp_write(socket, payload.clone()).is_ok();
        }
        let lifetime = |time| Reliability::Lifetime(self.cx.now + time);
        let message = Message {
            stream: info.stream,
            ppid: 0,
            unordered: info.unordered,
            immediate: false,
            reliability: info.lifetime.map_or(Reliability::Full, lifetime),
            payload: payload.clone(),
        };
        let is_taken = self.stack.send_message(socket, message).unwrap_or(false);
        let len = if is_taken { payload.len() } else { 0 };
        self.cx.record(EventMask::WRITE, || Event::Written { socket, len });
        is_taken
    }

    fn receive_message(&mut self, socket: SocketId) -> Option<(u16, Payload)> {
        if self.largest_message().is_none() {
            let payload = self.read(socket, u32::MAX);
            return (!payload.is_empty()).then_some((0, payload));
        }
        if matches!(self.protocol, ProtocolConfig::Udp) {
            return self.stack.udp_read(self.cx, socket).map(|payload| (0, payload));
        }
        let received = self.stack.receive_message(self.cx, socket)?;
        Some((received.stream, received.payload))
    }

    fn shutdown(&mut self, socket: SocketId) {
        // If the socket is closed or released already, nothing is left to do.
        let _ = self.stack.shutdown(self.cx, socket);
    }

    fn close(&mut self, socket: SocketId) {
        self.owner.on_release(self.stack, socket);
        self.stack.release(self.cx, socket);
    }

    fn abort(&mut self, socket: SocketId) {
        // If the socket is released already, nothing is left to do.
        let _ = self.stack.abort(self.cx, socket);
        self.close(socket);
    }
}

/// An engine's error as an application sees it.
const fn failure(error: SocketError) -> StreamFailure {
    match error {
        SocketError::Refused => StreamFailure::Refused,
        SocketError::Reset => StreamFailure::Reset,
        SocketError::TimedOut => StreamFailure::TimedOut,
        SocketError::Unreachable => StreamFailure::Unreachable,
        _ => StreamFailure::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Chance;
    use transport::{InterfaceConfig, StackConfig};

    const LOCAL: [u8; 4] = [10, 0, 0, 1];

    /// Notes which of its methods were called.
    #[derive(Default)]
    struct Noting(Vec<&'static str>);

    impl Application for Noting {
        fn on_connected(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {
            self.0.push("connected");
        }
        fn on_accepted(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {
            self.0.push("accepted");
        }
        fn on_readable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {
            self.0.push("readable");
        }
        fn on_writable(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {
            self.0.push("writable");
        }
        fn on_peer_closed(&mut self, _host: &mut dyn StreamHost, _socket: SocketId) {
            self.0.push("peer closed");
        }
        fn on_closed(&mut self, _socket: SocketId) {
            self.0.push("closed");
        }
        fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
            assert_eq!(failure, StreamFailure::Reset);
            self.0.push("failed");
        }
        fn is_done(&self) -> bool {
            false
        }
    }

    /// Opened and released sockets, and whether the stack still had the latter.
    #[derive(Default)]
    struct Owner {
        opened: Vec<SocketId>,
        released: Vec<(SocketId, bool)>,
    }

    impl SocketOwner for &mut Owner {
        fn on_opened(&mut self, socket: SocketId) {
            self.opened.push(socket);
        }
        fn on_release(&mut self, stack: &Stack, socket: SocketId) {
            self.released.push((socket, stack.info(socket).is_some()));
        }
    }

    fn with_sockets(
        ends: Option<(IpAddr, SocketAddr)>,
        call: impl FnOnce(&mut dyn StreamHost),
    ) -> Owner {
        let interface = InterfaceConfig { addresses: vec![LOCAL.into()], mtu: 1500 };
        let stack =
            &mut Stack::new(StackConfig { interfaces: vec![interface], ..StackConfig::default() });
        let cx = &mut Context::quiet(Instant::ZERO, Chance::new(1, 0));
        let mut owner = Owner::default();
        let protocol = &ProtocolConfig::default();
        let ends = ends.as_ref().map(|(local, remote)| (local, remote));
        call(&mut StackSockets { cx, stack, ends, protocol, owner: &mut owner });
        owner
    }

    #[test]
    fn every_event_reaches_the_application() {
        let mut application = Noting::default();
        let socket = SocketId(0);
        let kinds = [
            SocketEventKind::Connected,
            SocketEventKind::Accepted { listener: SocketId(1) },
            SocketEventKind::Readable,
            SocketEventKind::Writable,
            SocketEventKind::PeerClosed,
            SocketEventKind::Closed,
            SocketEventKind::Failed(SocketError::Reset),
        ];
        with_sockets(None, |host| {
            for kind in kinds {
                deliver(&mut application, host, SocketEvent { socket, kind });
            }
        });
        let all =
            ["connected", "accepted", "readable", "writable", "peer closed", "closed", "failed"];
        assert_eq!(application.0, all);
    }

    #[test]
    fn connect_needs_a_peer_and_an_address_of_the_host() {
        let refused = |ends| {
            let owner = with_sockets(ends, |host| {
                assert_eq!(host.connect(), Err(StreamFailure::Local));
            });
            assert!(owner.opened.is_empty());
        };
        refused(None);
        refused(Some(([10, 0, 0, 9].into(), ([10, 0, 0, 2], 80).into())));
    }

    #[test]
    fn owner_learns_of_a_socket_before_the_stack_forgets_it() {
        let ends = Some((LOCAL.into(), ([10, 0, 0, 2], 80).into()));
        let owner = with_sockets(ends, |host| {
            let socket = host.connect().expect("the address is the host's");
            host.abort(socket);
        });
        assert_eq!(owner.released, [(owner.opened[0], true)]);
    }
}

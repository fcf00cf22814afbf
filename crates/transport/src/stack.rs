//! `Stack`: a host's transport, its sockets and the five calls a world makes.
//!
//! Addresses, ports, listeners and demultiplexing are here; what a connection does is in `tcp`.

use crate::tcp::{TcpConfig, TcpInfo};
use base::{Context, Instant, InterfaceId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::{Packet, Payload};

/// A host's transport stack.
pub struct Stack {}

/// What a stack is made of.
#[derive(Clone, Debug, Default)]
pub struct StackConfig {
    /// In the order of their `InterfaceId`s.
    pub interfaces: Vec<InterfaceConfig>,
}

/// One interface of a host.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    pub addresses: Vec<IpAddr>,
    /// Largest IP datagram, in bytes.
    pub mtu: u32,
}

/// Something that happened to the stack.
#[derive(Debug)]
pub enum Input {
    /// A packet arrived on an interface.
    Packet { interface: InterfaceId, packet: Packet },
    /// The time that `poll_deadline` named has come. Harmless if early.
    Timeout,
    /// `bytes` (IP length) of `flow` (`Packet::flow`) left the NIC.
    Departed { flow: u32, bytes: u32 },
    /// An interface changed.
    Interface { interface: InterfaceId, event: InterfaceEvent },
}

/// A change of an interface that the host notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceEvent {
    Up,
    Down,
    AddressAdded(IpAddr),
    AddressRemoved(IpAddr),
}

/// A packet to put on an interface.
#[derive(Debug)]
pub struct Transmit {
    pub interface: InterfaceId,
    pub packet: Packet,
}

/// News about a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketEvent {
    pub socket: SocketId,
    pub kind: SocketEventKind,
}

/// Kinds of news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketEventKind {
    /// `connect` succeeded.
    Connected,
    /// A listener produced this connection.
    Accepted { listener: SocketId },
    /// There is something new to read.
    Readable,
    /// A `write` that was refused or cut short may be tried again.
    Writable,
    /// The peer will send no more: after the data, `read` gives end of stream.
    PeerClosed,
    /// The connection is over in both directions.
    Closed,
    /// The connection failed.
    Failed(SocketError),
}

/// What a socket call or a connection can fail with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SocketError {
    #[error("no such socket")]
    NoSuchSocket,
    #[error("the socket is not connected")]
    NotConnected,
    #[error("the sending side is closed")]
    Closed,
    #[error("the address is in use")]
    AddressInUse,
    #[error("no interface has that address")]
    NoSuchAddress,
    #[error("no port is free")]
    NoFreePort,
    #[error("connection refused")]
    Refused,
    #[error("connection reset by peer")]
    Reset,
    #[error("connection timed out")]
    TimedOut,
    #[error("destination unreachable")]
    Unreachable,
}

impl Stack {
    /// A stack with these interfaces and no socket.
    pub fn new(_config: StackConfig) -> Stack {
        todo!()
    }

    /// Feed one input. Drain `poll_transmit` and `poll_event` afterwards.
    pub fn handle(&mut self, _cx: &mut Context<'_>, _input: Input) {
        todo!()
    }

    /// The next packet to send, until `None`.
    pub fn poll_transmit(&mut self, _cx: &mut Context<'_>) -> Option<Transmit> {
        todo!()
    }

    /// The next news for an application, until `None`.
    pub fn poll_event(&mut self) -> Option<SocketEvent> {
        todo!()
    }

    /// When to call `handle` with `Input::Timeout`; `None` if no timer runs.
    pub fn poll_deadline(&self) -> Option<Instant> {
        todo!()
    }

    /// Accept TCP connections on a local port, on all addresses.
    pub fn listen(&mut self, _port: u16, _config: TcpConfig) -> Result<SocketId, SocketError> {
        todo!()
    }

    /// Open a TCP connection from `local` (an address of this host) to `remote`.
    pub fn connect(
        &mut self,
        _cx: &mut Context<'_>,
        _local: IpAddr,
        _remote: SocketAddr,
        _config: TcpConfig,
    ) -> Result<SocketId, SocketError> {
        todo!()
    }

    /// Append to the stream; returns how many bytes were taken (a prefix). After less than all a
    /// `Writable` event follows when there is room again.
    pub fn write(
        &mut self,
        _cx: &mut Context<'_>,
        _socket: SocketId,
        _payload: &Payload,
    ) -> Result<u32, SocketError> {
        todo!()
    }

    /// Take the next in-order bytes, at most `max`; empty if there is nothing to read now.
    /// `Err(Closed)` at the end of the stream.
    pub fn read(
        &mut self,
        _cx: &mut Context<'_>,
        _socket: SocketId,
        _max: u32,
    ) -> Result<Payload, SocketError> {
        todo!()
    }

    /// Bytes that `read` would give.
    pub fn readable(&self, _socket: SocketId) -> u64 {
        todo!()
    }

    /// No more data will be written: FIN after what is buffered.
    pub fn shutdown(
        &mut self,
        _cx: &mut Context<'_>,
        _socket: SocketId,
    ) -> Result<(), SocketError> {
        todo!()
    }

    /// Reset the connection at once.
    pub fn abort(&mut self, _cx: &mut Context<'_>, _socket: SocketId) -> Result<(), SocketError> {
        todo!()
    }

    /// The application has no more use for the socket: its state goes once TCP is done with it.
    pub fn release(&mut self, _cx: &mut Context<'_>, _socket: SocketId) {
        todo!()
    }

    /// The state of a TCP connection, for measurement.
    pub fn tcp_info(&self, _socket: SocketId) -> Option<TcpInfo> {
        todo!()
    }

    /// Bind a UDP port; 0 picks a free one.
    pub fn udp_bind(&mut self, _cx: &mut Context<'_>, _port: u16) -> Result<SocketId, SocketError> {
        todo!()
    }

    /// Send a datagram from `local` to `remote`.
    pub fn udp_send(
        &mut self,
        _socket: SocketId,
        _local: IpAddr,
        _remote: SocketAddr,
        _payload: Payload,
    ) -> Result<(), SocketError> {
        todo!()
    }

    /// The next datagram that arrived, with its sender.
    pub fn udp_receive(&mut self, _socket: SocketId) -> Option<(SocketAddr, Payload)> {
        todo!()
    }
}

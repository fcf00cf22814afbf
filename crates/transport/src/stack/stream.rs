//! What the stack does with any stream socket, TCP or MPTCP.

use crate::mptcp::connection::Connection as MptcpConnection;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use crate::tcp::connection::Connection as TcpConnection;
use crate::tcp::subflow::Tuple;
use base::{Context, Instant, InterfaceId};
use wire::Payload;

/// A stream socket.
pub trait Stream {
    fn marks(&mut self) -> &mut SocketMarks;
    fn write(&mut self, cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError>;
    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError>;
    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError>;
    fn abort(&mut self, cx: &mut Context<'_>);
    fn on_released(&mut self, cx: &mut Context<'_>);
    fn on_timeout(&mut self, cx: &mut Context<'_>);
    /// A valid reset came on a subflow.
    fn on_reset(&mut self, cx: &mut Context<'_>, subflow: usize);
    fn on_departed(&mut self, subflow: usize, bytes: u32) -> bool;
    /// A read made an acknowledgement urgent.
    fn owes_now(&self) -> bool;
    fn has_news(&self) -> bool;
    fn take_news(&mut self) -> Vec<ConnectionEvent>;
    fn deadline(&self) -> Instant;
    fn is_closed(&self) -> bool;
    /// The ends of its subflows, in order.
    fn tuples(&self) -> Vec<Tuple>;
    /// The interfaces that the packets of its subflows leave on, in order.
    fn interfaces(&self) -> Vec<InterfaceId>;
}

impl Stream for TcpConnection {
    fn marks(&mut self) -> &mut SocketMarks {
        &mut self.marks
    }
    fn write(&mut self, _cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        self.write(payload)
    }
    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.read(cx, max)
    }
    fn shutdown(&mut self, cx: &mut Context<'_>) -> Result<(), SocketError> {
        self.shutdown(cx)
    }
    fn abort(&mut self, cx: &mut Context<'_>) {
        self.subflow.abort(cx);
    }
    fn on_released(&mut self, cx: &mut Context<'_>) {
        self.subflow.on_released(cx);
    }
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.on_timeout(cx);
    }
    fn on_reset(&mut self, cx: &mut Context<'_>, _subflow: usize) {
        self.subflow.handle_reset(cx);
    }
    fn on_departed(&mut self, _subflow: usize, bytes: u32) -> bool {
        self.subflow.on_departed(bytes)
    }
    fn owes_now(&self) -> bool {
        self.subflow.needs_ack_now()
    }
    fn has_news(&self) -> bool {
        self.subflow.has_events()
    }
    fn take_news(&mut self) -> Vec<ConnectionEvent> {
        self.take_news()
    }
    fn deadline(&self) -> Instant {
        self.subflow.deadline()
    }
    fn is_closed(&self) -> bool {
        self.subflow.is_closed()
    }
    fn tuples(&self) -> Vec<Tuple> {
        vec![*self.subflow.tuple()]
    }
    fn interfaces(&self) -> Vec<InterfaceId> {
        vec![self.interface]
    }
}

impl Stream for MptcpConnection {
    fn marks(&mut self) -> &mut SocketMarks {
        &mut self.marks
    }
    fn write(&mut self, cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        self.write(cx, payload)
    }
    fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        self.read(cx, max)
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
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.on_timeout(cx);
    }
    fn on_reset(&mut self, cx: &mut Context<'_>, subflow: usize) {
        self.on_reset(cx, subflow);
    }
    fn on_departed(&mut self, subflow: usize, bytes: u32) -> bool {
        self.on_departed(subflow, bytes)
    }
    fn owes_now(&self) -> bool {
        self.has_to_poll()
    }
    fn has_news(&self) -> bool {
        self.has_news()
    }
    fn take_news(&mut self) -> Vec<ConnectionEvent> {
        self.take_news()
    }
    fn deadline(&self) -> Instant {
        self.deadline()
    }
    fn is_closed(&self) -> bool {
        self.is_closed()
    }
    fn tuples(&self) -> Vec<Tuple> {
        self.subflows().map(|(_, tuple)| *tuple).collect()
    }
    fn interfaces(&self) -> Vec<InterfaceId> {
        self.interfaces().collect()
    }
}

//! `WebServer`: the server's half. It answers every request on the connection it arrived on, after
//! the think time of the object.

use super::exchange::{GREETING, Inbox, Outbox, Way};
use super::{Tls, Web};
use crate::application::{Application, StreamFailure, StreamHost};
use crate::one_way::Report;
use base::{Instant, SocketId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The server of a page, for any number of connections.
pub struct WebServer {
    web: Web,
    connections: BTreeMap<SocketId, Connection>,
    /// In the order they were accepted.
    sockets: Vec<SocketId>,
    /// Responses in preparation: (time ready, order of requests, connection, object).
    thinking: BinaryHeap<Reverse<(Instant, u64, SocketId, u32)>>,
    requests: u64,
    report: Report,
}

struct Connection {
    outbox: Outbox,
    inbox: Inbox,
    /// Streams that requests in preparation came on, which answers take, too.
    streams: BTreeMap<u32, u16>,
    /// When the answer to the last request is ready.
    last_ready: Instant,
    released: bool,
}

impl WebServer {
    /// A server without connections.
    pub fn new(web: &Web) -> Self {
        WebServer {
            web: web.clone(),
            connections: BTreeMap::new(),
            sockets: Vec::new(),
            thinking: BinaryHeap::new(),
            requests: 0,
            report: Report::default(),
        }
    }

    /// The report of this half so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The sockets of all connections, in the order they were accepted.
    pub fn sockets(&self) -> impl Iterator<Item = SocketId> {
        self.sockets.iter().copied()
    }

    fn receive(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while let Some((stream, payload)) = self.web.http.read(host, socket) {
            self.report.bytes_read += u64::from(payload.len());
            let Some(connection) = self.connections.get_mut(&socket) else { return };
            let arrivals = match connection.inbox.read(&payload, &self.web.page) {
                Ok(arrivals) => arrivals,
                Err(mismatch) => {
                    self.report.mismatch.get_or_insert(mismatch);
                    return;
                }
            };
            for arrival in arrivals.iter().filter(|arrival| arrival.ends) {
                if arrival.object == GREETING {
                    let bytes = self.web.opening.tls.map_or(0, Tls::server_bytes);
                    connection.outbox.push(GREETING, 0, bytes, stream.into());
                    connection.outbox.flush(host, socket);
                    continue;
                }
                let about = &self.web.page.objects()[arrival.object as usize];
                let mut ready = host.now() + about.think;
                if self.web.http.keeps_order() {
                    ready = ready.max(connection.last_ready);
                    connection.last_ready = ready;
                }
                connection.streams.insert(arrival.object, stream);
                self.thinking.push(Reverse((ready, self.requests, socket, arrival.object)));
                self.requests += 1;
            }
        }
        self.answer(host);
    }

    /// Send the responses that are ready.
    fn answer(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        while let Some(Reverse((ready, _, socket, object))) = self.thinking.peek().copied()
            && ready <= now
        {
            self.thinking.pop();
            let about = &self.web.page.objects()[object as usize];
            if let Some(connection) = self.connections.get_mut(&socket) {
                let stream = connection.streams.remove(&object).unwrap_or(0).into();
                let urgency = self.web.urgency_of(about);
                connection.outbox.push(object, urgency, about.response_bytes, stream);
                // Of responses that are ready at the same time the less urgent ones wait.
                if !self.more_is_ready(now, socket) {
                    self.flush(host, socket);
                }
            }
        }
    }

    fn more_is_ready(&self, now: Instant, socket: SocketId) -> bool {
        let next = self.thinking.peek();
        next.is_some_and(|Reverse((ready, _, of, _))| *ready <= now && *of == socket)
    }

    fn flush(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(&socket)
            && !connection.released
        {
            connection.outbox.flush(host, socket);
        }
    }
}

impl Application for WebServer {
    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.report.connected.get_or_insert(host.now());
        let outbox = Outbox::new(Way::Response, self.web.http);
        let inbox = Inbox::new(Way::Request).greeted(self.web.opening.tls.is_some());
        let (streams, last_ready, released) = (BTreeMap::new(), Instant::ZERO, false);
        let connection = Connection { outbox, inbox, streams, last_ready, released };
        self.connections.insert(socket, connection);
        self.sockets.push(socket);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.flush(host, socket);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
        if let Some(connection) = self.connections.get_mut(&socket)
            && !std::mem::replace(&mut connection.released, true)
        {
            host.shutdown(socket);
            host.close(socket);
        }
    }

    fn on_closed(&mut self, _socket: SocketId) {
        self.report.closed = true;
    }

    fn on_failed(&mut self, socket: SocketId, failure: StreamFailure) {
        let released = self.connections.get(&socket).is_some_and(|c| c.released);
        if !released {
            self.report.failure.get_or_insert(failure);
        }
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        self.answer(host);
    }

    fn poll_deadline(&self) -> Option<Instant> {
        self.thinking.peek().map(|Reverse((ready, ..))| *ready)
    }

    fn is_done(&self) -> bool {
        self.report.failure.is_some() || self.report.mismatch.is_some()
    }
}

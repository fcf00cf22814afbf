//! `Browser`: the client's half. It loads the page and notes when every object was fetched.

use super::exchange::{GREETING, Inbox, Outbox, Way, content_bytes};
use super::opening::{Names, Tls};
use super::pool::{Pools, Step};
use super::progress::Progress;
use super::{Web, outcome};
use crate::application::{Application, StreamFailure, StreamHost};
use crate::check::StreamMismatch;
use crate::one_way::Report;
use crate::outcome::Outcome;
use base::{Duration, Instant, SocketId};
use std::collections::BTreeMap;

/// The client of a page.
pub struct Browser {
    web: Web,
    progress: Progress,
    names: Names,
    pools: Pools,
    connections: Vec<Connection>,
    by_socket: BTreeMap<SocketId, usize>,
    /// By object.
    fetches: Vec<Fetch>,
    closed: bool,
    report: Report,
}

struct Connection {
    socket: SocketId,
    outbox: Outbox,
    inbox: Inbox,
    tls: Option<Tls>,
    /// Number of requests so far.
    requests: u64,
}

/// The fetch of one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fetch {
    /// When the page requested it.
    pub wanted: Option<Instant>,
    /// When and on which connection its request was written.
    pub asked: Option<(Instant, usize)>,
    pub finished: Option<Instant>,
}

impl Browser {
    /// A client that has not started.
    pub fn new(web: &Web) -> Self {
        Browser {
            progress: Progress::new(web.page.clone()),
            names: Names::new(web.opening.lookup, web.page.hosts()),
            pools: Pools::new(web.pools(), web.http.limits()),
            connections: Vec::new(),
            by_socket: BTreeMap::new(),
            fetches: vec![Fetch::default(); web.page.objects().len()],
            closed: false,
            report: Report::default(),
            web: web.clone(),
        }
    }

    /// The report of this half so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The sockets of all connections, in the order they were opened.
    pub fn sockets(&self) -> impl Iterator<Item = SocketId> {
        self.connections.iter().map(|connection| connection.socket)
    }

    /// The result of the page.
    pub fn outcome(&self) -> Outcome {
        let started = self.report.started;
        let since = |at: Instant| started.map(|started| (at - started).as_secs_f64());
        let times = outcome::Times {
            loaded: self.progress.load_time().map(Duration::as_secs_f64),
            finished: self.progress.finished().and_then(since),
            connections: self.connections.len(),
            bytes_read: self.report.bytes_read,
        };
        outcome::outcome(self.web.metric(), &times, &self.fetches, started)
    }

    /// When each object's request was written, and on which connection.
    #[cfg(test)]
    pub(super) fn asked(&self) -> impl Iterator<Item = Option<(Instant, usize)>> {
        self.fetches.iter().map(|fetch| fetch.asked)
    }

    /// Request every object that is due, as far as connections allow.
    fn pump(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        while let Some(object) = self.progress.poll(now) {
            self.fetches[object as usize].wanted = Some(now);
            if self.names.knows(self.web.page.objects()[object as usize].host, object, now) {
                self.request(object, host);
            }
        }
        while let Some(object) = self.names.poll(now) {
            self.request(object, host);
        }
        if self.progress.finished().is_some() {
            self.close(host);
        }
    }

    /// Request an object as soon as its pool can.
    fn request(&mut self, object: u32, host: &mut dyn StreamHost) {
        let about = &self.web.page.objects()[object as usize];
        let pool = self.web.pool_of(object);
        self.pools.ask(pool, self.web.urgency_of(about), object);
        self.serve(pool, host);
    }

    /// Carry out the next steps of a pool.
    fn serve(&mut self, pool: usize, host: &mut dyn StreamHost) {
        while let Some(step) = self.pools.step(pool) {
            match step {
                Step::Send { connection, object } => self.send(connection, object, host),
                Step::Open => match host.connect() {
                    Ok(socket) => self.opened(pool, socket),
                    Err(failure) => {
                        self.report.failure.get_or_insert(failure);
                        return;
                    }
                },
            }
        }
    }

    fn opened(&mut self, pool: usize, socket: SocketId) {
        let number = self.pools.opening(pool);
        debug_assert_eq!(number, self.connections.len());
        self.by_socket.insert(socket, number);
        // Pools in the clear have odd numbers.
        let tls = self.web.opening.tls.filter(|_| pool.is_multiple_of(2));
        self.connections.push(Connection {
            socket,
            outbox: Outbox::new(Way::Request, self.web.http),
            inbox: Inbox::new(Way::Response).greeted(tls.is_some()),
            tls,
            requests: 0,
        });
    }

    /// The connection can carry requests.
    fn open(&mut self, number: usize, host: &mut dyn StreamHost) {
        let pool = self.pools.connected(number);
        self.serve(pool, host);
    }

    fn send(&mut self, connection: usize, object: u32, host: &mut dyn StreamHost) {
        let about = &self.web.page.objects()[object as usize];
        let urgency = self.web.urgency_of(about);
        self.fetches[object as usize].asked = Some((host.now(), connection));
        let Connection { socket, outbox, requests, .. } = &mut self.connections[connection];
        outbox.push(object, urgency, about.request_bytes, *requests);
        *requests += 1;
        outbox.flush(host, *socket);
    }

    /// Read everything available, then continue with the page.
    fn receive(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        let Some(&number) = self.by_socket.get(&socket) else { return };
        while let Some((_, payload)) = self.web.http.read(host, socket) {
            let now = host.now();
            self.report.bytes_read += u64::from(payload.len());
            self.report.last_read = Some(now);
            let arrivals = self.connections[number].inbox.read(&payload, &self.web.page);
            let news = arrivals.and_then(|arrivals| {
                let (greetings, arrivals): (Vec<_>, Vec<_>) =
                    arrivals.into_iter().partition(|arrival| arrival.object == GREETING);
                arrivals.iter().try_for_each(|arrival| self.arrived(number, arrival, now))?;
                Ok(greetings.iter().any(|greeting| greeting.ends))
            });
            match news {
                Ok(is_greeted) => {
                    if is_greeted && self.connections[number].tls.take() == Some(Tls::Full) {
                        self.open(number, host);
                    }
                }
                Err(mismatch) => {
                    self.report.mismatch.get_or_insert(mismatch);
                    return;
                }
            }
        }
        self.pump(host);
        let pool = self.pools.pool_of(number);
        self.serve(pool, host);
    }

    fn arrived(
        &mut self,
        connection: usize,
        arrival: &super::exchange::Arrival,
        now: Instant,
    ) -> Result<(), StreamMismatch> {
        let fetch = &mut self.fetches[arrival.object as usize];
        let asked_here = fetch.asked.is_some_and(|(_, asked)| asked == connection);
        if !asked_here || fetch.finished.is_some() {
            return Err(StreamMismatch::Frame);
        }
        let total = content_bytes(self.web.page.objects()[arrival.object as usize].response_bytes);
        self.progress.on_received(arrival.object, arrival.content, total, now);
        if arrival.ends {
            fetch.finished = Some(now);
            self.pools.over(connection);
            self.progress.on_fetched(arrival.object, now);
        }
        Ok(())
    }

    /// Nothing more will be fetched.
    fn close(&mut self, host: &mut dyn StreamHost) {
        if !std::mem::replace(&mut self.closed, true) {
            for connection in &self.connections {
                host.shutdown(connection.socket);
                host.close(connection.socket);
            }
        }
    }
}

impl Application for Browser {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.report.started = Some(host.now());
        self.progress.begin(host.now());
        self.pump(host);
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.report.connected.get_or_insert(host.now());
        let Some(&number) = self.by_socket.get(&socket) else { return };
        let connection = &mut self.connections[number];
        if let Some(tls) = connection.tls {
            connection.outbox.push(GREETING, 0, tls.client_bytes(), 0);
            connection.outbox.flush(host, socket);
        }
        if connection.tls != Some(Tls::Full) {
            self.open(number, host);
        }
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        if let Some(&number) = self.by_socket.get(&socket) {
            self.connections[number].outbox.flush(host, socket);
        }
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
        if !self.closed {
            // A server that keeps its connections has no reason to close one.
            self.report.failure.get_or_insert(StreamFailure::Reset);
        }
    }

    fn on_closed(&mut self, _socket: SocketId) {
        self.report.closed = true;
    }

    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        if !self.closed {
            self.report.failure.get_or_insert(failure);
        }
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        self.pump(host);
    }

    fn poll_deadline(&self) -> Option<Instant> {
        self.progress.deadline().into_iter().chain(self.names.deadline()).min()
    }

    fn is_done(&self) -> bool {
        let report = &self.report;
        self.progress.finished().is_some() || report.failure.is_some() || report.mismatch.is_some()
    }
}

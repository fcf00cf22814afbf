//! `KernelHost`: one application over the kernel's sockets, from start to end.
//!
//! One thread, one loop: events of sockets, calls of the application, the next deadline. Events are
//! edge-triggered: applications read until nothing is left, and a write that was cut short ended
//! with the kernel's refusal. Times are read when they are requested.

use super::connection::{Connection, Phase, failure};
use super::info::MptcpReading;
use super::options::SocketOptions;
use super::poller::{Poller, Readiness};
use crate::clock::Clock;
use crate::error::LiveError;
use base::{Duration, Instant, SocketId};
use mio::Waker;
use nix::libc;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::{Application, StreamFailure, StreamHost};
use transport::Protocol;
use wire::Payload;

/// The number of the listening socket; connections have those below.
const LISTENER: usize = u32::MAX as usize;
/// The most one read takes, were the application to ask for more.
const LARGEST_READ: usize = 1 << 20;
/// The longest wait; waking up once a second costs nothing noticeable.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A host with one application.
pub(crate) struct KernelHost<A> {
    application: A,
    sockets: Sockets,
    stop: Stop,
}

/// Ends the run of a host from another thread.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    stopped: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Stop {
    /// End it.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        // Without a wake-up the run ends at its next event.
        let _ = self.waker.wake();
    }
}

/// The sockets of a host, as its application sees them.
struct Sockets {
    options: SocketOptions,
    clock: Clock,
    poller: Poller,
    listener: Option<Socket>,
    /// For `connect`: from where, to where.
    ends: Option<(SocketAddr, SocketAddr)>,
    /// By socket number; none is ever removed.
    connections: Vec<Connection>,
    buffer: Vec<u8>,
    /// What makes the run meaningless.
    fault: Option<LiveError>,
}

impl<A: Application> KernelHost<A> {
    /// A host that takes connections at `local`, in the calling thread's namespace.
    pub(crate) fn listen(
        local: SocketAddr,
        options: SocketOptions,
        clock: Clock,
        application: A,
    ) -> Result<Self, LiveError> {
        let listener = options.listen(local)?;
        let mut host = KernelHost::new(options, clock, application)?;
        let failed = |error| LiveError::system("waiting for connections", &error);
        host.sockets.poller.register(&listener, LISTENER).map_err(failed)?;
        host.sockets.listener = Some(listener);
        Ok(host)
    }

    /// A host that connects from `local` to `remote`. It opens its sockets in the namespace of the
    /// thread that runs it; whether they can be set as they shall is seen at once.
    pub(crate) fn client(
        (local, remote): (SocketAddr, SocketAddr),
        options: SocketOptions,
        clock: Clock,
        application: A,
    ) -> Result<Self, LiveError> {
        options.open(local).map(drop)?;
        let mut host = KernelHost::new(options, clock, application)?;
        host.sockets.ends = Some((local, remote));
        Ok(host)
    }

    fn new(options: SocketOptions, clock: Clock, application: A) -> Result<Self, LiveError> {
        let failed = |error| LiveError::system("waiting for sockets", &error);
        let poller = Poller::new().map_err(failed)?;
        let waker = Arc::new(poller.waker().map_err(failed)?);
        let stop = Stop { stopped: Arc::new(AtomicBool::new(false)), waker };
        let sockets = Sockets {
            options,
            clock,
            poller,
            listener: None,
            ends: None,
            connections: Vec::new(),
            buffer: Vec::new(),
            fault: None,
        };
        Ok(KernelHost { application, sockets, stop })
    }

    /// What ends `run`.
    pub(crate) fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// The application.
    pub(crate) const fn application(&self) -> &A {
        &self.application
    }

    /// Runs until the application is done, it is stopped, or the time is `limit`.
    pub(crate) fn run(&mut self, limit: Instant) -> Result<(), LiveError> {
        self.application.on_start(&mut self.sockets);
        loop {
            self.settle();
            if let Some(fault) = self.sockets.fault.take() {
                return Err(fault);
            }
            let now = self.sockets.clock.now();
            let stopped = self.stop.stopped.load(Ordering::Acquire);
            if stopped || now >= limit || self.application.is_done() {
                return Ok(());
            }
            let deadline = self.application.poll_deadline().unwrap_or(Instant::FAR_FUTURE);
            if deadline <= now {
                self.application.on_timeout(&mut self.sockets);
                continue;
            }
            let wait = (deadline.min(limit) - now).min(LONGEST_WAIT);
            let ready = self.sockets.poller.wait(wait);
            for ready in ready.map_err(|error| LiveError::system("waiting", &error))? {
                self.handle(ready);
            }
        }
    }

    fn handle(&mut self, ready: Readiness) {
        if ready.number == LISTENER {
            return self.accept();
        }
        let socket = SocketId(ready.number as u32);
        let Some(connection) = self.sockets.connections.get_mut(ready.number) else { return };
        if connection.phase == Phase::Connecting {
            match connection.poll_connected() {
                None => return,
                Some(Err(failure)) => {
                    connection.failure = Some(failure);
                    return;
                }
                Some(Ok(())) => {
                    connection.phase = Phase::Open;
                    self.application.on_connected(&mut self.sockets, socket);
                }
            }
        }
        if ready.readable && self.is_open(socket) {
            self.application.on_readable(&mut self.sockets, socket);
        }
        if ready.writable && self.is_open(socket) && self.sockets.takes_room(socket) {
            self.application.on_writable(&mut self.sockets, socket);
        }
    }

    fn accept(&mut self) {
        while let Some(socket) = self.sockets.accept() {
            self.application.on_accepted(&mut self.sockets, socket);
        }
    }

    fn is_open(&self, socket: SocketId) -> bool {
        let connection = self.sockets.connections.get(socket.index());
        connection.is_some_and(|connection| connection.phase == Phase::Open)
    }

    /// Notifies the application of what was found while it was called, until there is nothing new.
    fn settle(&mut self) {
        let mut number = 0;
        while let Some(connection) = self.sockets.connections.get_mut(number) {
            let socket = SocketId(number as u32);
            if connection.phase == Phase::Over {
                number += 1;
            } else if let Some(failure) = connection.failure {
                connection.phase = Phase::Over;
                self.application.on_failed(socket, failure);
            } else if connection.ended && !connection.told_end {
                connection.told_end = true;
                self.application.on_peer_closed(&mut self.sockets, socket);
            } else if connection.ended && connection.shut {
                connection.phase = Phase::Over;
                self.application.on_closed(socket);
            } else {
                number += 1;
            }
        }
    }
}

impl<A> KernelHost<A> {
    /// The kernel's information on every MPTCP connection, in the order in which they were opened.
    pub(crate) fn mptcp_readings(&self) -> io::Result<Vec<MptcpReading>> {
        let connections = self.sockets.connections.iter();
        let open = connections.filter(|connection| connection.phase != Phase::Connecting);
        open.map(|connection| MptcpReading::of(&connection.socket)).collect()
    }

    /// The protocol of its sockets.
    pub(crate) const fn protocol(&self) -> Protocol {
        self.sockets.options.protocol
    }

    /// Bytes that the application has read, over time, in the connection with the most.
    pub(crate) fn read_series(&self) -> Vec<(Instant, f64)> {
        let longest = self.sockets.connections.iter().max_by_key(|one| one.read_bytes());
        longest.map_or_else(Vec::new, |connection| connection.read.clone())
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for connection in &self.connections {
            connection.abort();
        }
    }
}

impl Sockets {
    /// Whether a write was cut short before; it is to be tried again now.
    fn takes_room(&mut self, socket: SocketId) -> bool {
        let connection = self.connections.get_mut(socket.index());
        connection.is_some_and(|connection| std::mem::take(&mut connection.wants_room))
    }

    fn accept(&mut self) -> Option<SocketId> {
        loop {
            match self.listener.as_ref()?.accept() {
                Ok((socket, _)) => {
                    if let Err(fault) = self.options.apply(&socket) {
                        self.fault.get_or_insert(fault);
                        return None;
                    }
                    return self.add(socket, Phase::Open);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // A connection that was aborted before it was accepted.
                Err(error) if failure(&error) == StreamFailure::Reset => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let fault = LiveError::system("accepting a connection", &error);
                    self.fault.get_or_insert(fault);
                    return None;
                }
            }
        }
    }

    fn add(&mut self, socket: Socket, phase: Phase) -> Option<SocketId> {
        let number = self.connections.len();
        if let Err(error) = self.poller.register(&socket, number) {
            self.fault.get_or_insert(LiveError::system("waiting for a socket", &error));
            return None;
        }
        self.connections.push(Connection::new(socket, phase));
        Some(SocketId(number as u32))
    }

    fn open(&mut self) -> Result<Socket, StreamFailure> {
        let (local, remote) = self.ends.ok_or(StreamFailure::Local)?;
        let socket = self.options.open(local).map_err(|fault| {
            self.fault.get_or_insert(fault);
            StreamFailure::Local
        })?;
        match socket.connect(&remote.into()) {
            Ok(()) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            Err(error) => Err(failure(&error)),
        }
    }
}

impl StreamHost for Sockets {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn connect(&mut self) -> Result<SocketId, StreamFailure> {
        let socket = self.open()?;
        self.add(socket, Phase::Connecting).ok_or(StreamFailure::Local)
    }

    fn write(&mut self, socket: SocketId, payload: &Payload) -> u32 {
        let Some(connection) = self.connections.get_mut(socket.index()) else { return 0 };
        connection.write(&payload.to_bytes()) as u32
    }

    fn read(&mut self, socket: SocketId, max: u32) -> Payload {
        let max = (max as usize).min(LARGEST_READ);
        if self.buffer.len() < max {
            self.buffer.resize(max, 0);
        }
        let clock = self.clock;
        let Some(connection) = self.connections.get_mut(socket.index()) else {
            return Payload::EMPTY;
        };
        connection.read(&mut self.buffer[..max], || clock.now()).into()
    }

    fn shutdown(&mut self, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(socket.index()) {
            connection.shutdown();
        }
    }

    /// Its writing end is shut by then; the socket itself stays, to be asked what it did.
    fn close(&mut self, socket: SocketId) {
        self.shutdown(socket);
    }

    fn abort(&mut self, socket: SocketId) {
        if let Some(connection) = self.connections.get_mut(socket.index()) {
            connection.abort();
            connection.phase = Phase::Over;
        }
    }
}

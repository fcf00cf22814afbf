//! Both directions of one connection at once: what the engine and a kernel send each other, and
//! who closes first.

use super::kernel;
use super::world::PATIENCE;
use base::{Instant, SocketId};
use socket2::{SockRef, Socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;
use traffic::{Application, StreamFailure, StreamHost};
use transport::Protocol;
use wire::Payload;

/// Bytes taken or given at once.
const CHUNK: u32 = 1 << 16;
/// What is written before a pause (the kernel's `mptcp_connect -j`).
const PROLOGUE: u32 = 100;
/// Time between two reads of what the peer has acknowledged.
const REREAD: base::Duration = base::Duration::from_millis(10);

/// When an end closes its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Close {
    /// As soon as everything is written.
    AtOnce,
    /// When the other end has closed too.
    Second,
    /// Never: reset after receiving this many bytes. Of the kernel only.
    Abort(usize),
}

/// The engine's half.
pub(crate) struct Exchange {
    client: bool,
    close: Close,
    content: Payload,
    sent: u32,
    peer_closed: bool,
    shut: bool,
    pub received: Vec<u8>,
    pub failure: Option<StreamFailure>,
    pub closed: bool,
    /// Resets the connection after receiving this many bytes.
    pub abort_at: Option<usize>,
    /// Plain TCP is closed only after TIME-WAIT: the exchange is over when both ends have closed
    /// and the peer has acknowledged everything.
    pub is_tcp: bool,
    /// Time to wait after the first bytes.
    pub pause: Duration,
    resumes_at: Option<Instant>,
    socket: Option<SocketId>,
    connected_at: Option<Instant>,
    /// When the peer had closed and everything was written.
    over_at: Option<Instant>,
    /// The peer has acknowledged everything.
    acknowledged: bool,
    /// When the acknowledgements are to be read again.
    rereads_at: Option<Instant>,
}

impl Exchange {
    pub(crate) fn new(client: bool, content: impl Into<Payload>, close: Close) -> Exchange {
        Exchange {
            client,
            close,
            content: content.into(),
            sent: 0,
            peer_closed: false,
            shut: false,
            received: Vec::new(),
            failure: None,
            closed: false,
            abort_at: None,
            is_tcp: false,
            pause: Duration::ZERO,
            resumes_at: None,
            socket: None,
            connected_at: None,
            over_at: None,
            acknowledged: false,
            rereads_at: None,
        }
    }

    /// Time from connecting until both directions were closed, as seen by this end.
    pub(crate) fn took(&self) -> Duration {
        let ends = self.connected_at.zip(self.over_at);
        ends.map_or(Duration::ZERO, |(from, to)| Duration::from_nanos((to - from).as_nanos()))
    }

    fn pump(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        while self.sent < self.content.len() {
            let len = self.next_len(host.now());
            if len == 0 {
                return;
            }
            let taken = host.write(socket, &self.content.slice(self.sent, len));
            self.sent += taken;
            if taken < len {
                return;
            }
        }
        if !self.shut && (self.close == Close::AtOnce || self.peer_closed) {
            self.shut = true;
            host.shutdown(socket);
        }
        if self.peer_closed {
            self.over_at.get_or_insert(host.now());
            // A peer may close while much of ours is still queued, and nothing tells of the last
            // acknowledgement.
            let acknowledged = host.acknowledged(socket);
            self.acknowledged = acknowledged.is_none_or(|bytes| bytes >= self.content.len().into());
            self.rereads_at = (!self.acknowledged).then(|| host.now() + REREAD);
        }
    }

    /// How much may be written at once now.
    fn next_len(&mut self, now: Instant) -> u32 {
        let left = self.content.len() - self.sent;
        if self.pause.is_zero() {
            return left.min(CHUNK);
        }
        let prologue = left.min(PROLOGUE.saturating_sub(self.sent));
        if prologue > 0 {
            return prologue;
        }
        let pause = base::Duration::from_micros(self.pause.as_micros() as u64);
        let resumes_at = *self.resumes_at.get_or_insert(now + pause);
        if now < resumes_at { 0 } else { left.min(CHUNK) }
    }
}

impl Application for Exchange {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        if self.client {
            host.connect().expect("an address and a port");
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.connected_at = Some(host.now());
        self.pump(host, socket);
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.connected_at = Some(host.now());
        self.pump(host, socket);
        self.on_readable(host, socket);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            let data = host.read(socket, CHUNK);
            if data.is_empty() {
                return;
            }
            data.write_to(&mut self.received);
            if self.abort_at.is_some_and(|at| self.received.len() >= at) {
                self.closed = true;
                host.abort(socket);
                return;
            }
        }
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.pump(host, socket);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.on_readable(host, socket);
        self.peer_closed = true;
        self.pump(host, socket);
    }

    fn on_closed(&mut self, _: SocketId) {
        self.closed = true;
    }

    fn on_failed(&mut self, _: SocketId, failure: StreamFailure) {
        self.failure = Some(failure);
    }

    fn poll_deadline(&self) -> Option<Instant> {
        let resumes_at = self.resumes_at.filter(|_| self.sent <= PROLOGUE);
        [resumes_at, self.rereads_at].into_iter().flatten().min()
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        if let Some(socket) = self.socket.filter(|_| self.poll_deadline() <= Some(host.now())) {
            self.pump(host, socket);
        }
    }

    fn is_done(&self) -> bool {
        let over = self.is_tcp && self.shut && self.peer_closed && self.acknowledged;
        self.closed || self.failure.is_some() || over
    }
}

/// How the kernel's half behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub close: Close,
    /// Time to wait after the first bytes.
    pub pause: Duration,
}

/// What the kernel's half received, and how long it took from connected on.
pub(crate) struct Kept {
    pub content: Vec<u8>,
    pub took: Duration,
}

/// The kernel's half, as the client.
pub(crate) fn connect(
    server: SocketAddr,
    content: &[u8],
    manner: Manner,
    held: Receiver<()>,
) -> io::Result<Kept> {
    let socket = kernel::socket(Protocol::Mptcp, server)?;
    socket.connect_timeout(&server.into(), PATIENCE)?;
    exchange(socket, content, manner, held)
}

/// The kernel's half, as the server of one connection.
pub(crate) fn accept(
    listener: &Socket,
    content: &[u8],
    manner: Manner,
    held: Receiver<()>,
) -> io::Result<Kept> {
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    exchange(socket, content, manner, held)
}

/// The last byte is sent when `held` yields a value or is closed: what runs in parallel with the
/// transfer is over then.
fn exchange(
    socket: Socket,
    content: &[u8],
    manner: Manner,
    held: Receiver<()>,
) -> io::Result<Kept> {
    let start = now();
    let Manner { close, pause } = manner;
    let mut reader = TcpStream::from(socket);
    let mut writer = reader.try_clone()?;
    let content = thread::scope(|scope| {
        let writing = scope.spawn(move || {
            if matches!(close, Close::Abort(_)) {
                return Ok(());
            }
            let at = if pause.is_zero() { 0 } else { content.len().min(PROLOGUE as usize) };
            writer.write_all(&content[..at])?;
            thread::sleep(pause);
            let last = content.len().saturating_sub(1).max(at);
            writer.write_all(&content[at..last])?;
            let _ = held.recv();
            writer.write_all(&content[last..])?;
            if close == Close::AtOnce { writer.shutdown(Shutdown::Write) } else { Ok(()) }
        });
        let mut received = Vec::new();
        if let Close::Abort(most) = close {
            SockRef::from(&reader).set_linger(Some(Duration::ZERO))?;
            (&reader).take(most as u64).read_to_end(&mut received)?;
            // The writer's copy is closed already.
            writing.join().expect("no panic")?;
            drop(reader);
            return Ok(received);
        }
        let read = reader.read_to_end(&mut received);
        writing.join().expect("no panic")?;
        read?;
        if close == Close::Second {
            reader.shutdown(Shutdown::Write)?;
        }
        io::Result::Ok(received)
    })?;
    Ok(Kept { content, took: start.elapsed() })
}

/// User plus system time of this process, ended threads included, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything; the 14th and 15th field are meant.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    // USER_HZ, which is 100 on every Linux since 2.6.
    ticks / 100.0
}

#[allow(clippy::disallowed_methods, reason = "goodput in real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

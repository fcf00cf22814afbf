//! Both directions of one connection at once: what the engine and a kernel send each other, and
//! who closes first.

use crate::kernel::{self, Transport};
use crate::world::PATIENCE;
use base::SocketId;
use socket2::{SockRef, Socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use traffic::{Application, StreamFailure, StreamHost};
use wire::Payload;

/// Bytes taken or given at once.
const CHUNK: u32 = 1 << 16;

/// When an end closes its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Close {
    /// As soon as everything is written.
    AtOnce,
    /// When the other end has closed too.
    Second,
    /// Never: reset when this much has come. Of the kernel only.
    Abort(usize),
}

/// The engine's half.
pub struct Exchange {
    client: bool,
    close: Close,
    content: Payload,
    sent: u32,
    peer_closed: bool,
    shut: bool,
    pub received: Vec<u8>,
    pub failure: Option<StreamFailure>,
    pub closed: bool,
    /// Reset the connection when this much has come.
    pub abort_at: Option<usize>,
    /// Plain TCP is closed only after TIME-WAIT: when both ends have said so, it is over.
    pub is_tcp: bool,
}

impl Exchange {
    pub fn new(client: bool, content: Vec<u8>, close: Close) -> Exchange {
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
        }
    }

    fn pump(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while self.sent < self.content.len() {
            let len = CHUNK.min(self.content.len() - self.sent);
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
    }
}

impl Application for Exchange {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        if self.client {
            host.connect().expect("an address and a port");
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.pump(host, socket);
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
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

    fn is_done(&self) -> bool {
        let over = self.is_tcp && self.shut && self.peer_closed;
        self.closed || self.failure.is_some() || over
    }
}

/// The kernel's half, as the client.
pub fn connect(server: SocketAddr, content: &[u8], close: Close) -> io::Result<Vec<u8>> {
    let socket = kernel::socket(Transport::Mptcp, server)?;
    socket.connect_timeout(&server.into(), PATIENCE)?;
    exchange(socket, content, close)
}

/// The kernel's half, as the server of one connection.
pub fn accept(listener: &Socket, content: &[u8], close: Close) -> io::Result<Vec<u8>> {
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    exchange(socket, content, close)
}

fn exchange(socket: Socket, content: &[u8], close: Close) -> io::Result<Vec<u8>> {
    let mut reader = TcpStream::from(socket);
    let mut writer = reader.try_clone()?;
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            if matches!(close, Close::Abort(_)) {
                return Ok(());
            }
            writer.write_all(content)?;
            if close == Close::AtOnce { writer.shutdown(Shutdown::Write) } else { Ok(()) }
        });
        let mut received = Vec::new();
        if let Close::Abort(most) = close {
            SockRef::from(&reader).set_linger(Some(Duration::ZERO))?;
            (&reader).take(most as u64).read_to_end(&mut received)?;
            // The writer's copy is gone already.
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
        Ok(received)
    })
}

//! One host of a `Pair`: its stack, and an application that writes what it was given and reads
//! everything at once unless reading is stopped.
//!
//! The application relies on events only (it writes again after `Writable`, reads after
//! `Readable`), so that a missing event shows as silence.

use base::{Context, Instant, SocketId};
use std::collections::VecDeque;
use transport::{SocketError, SocketEvent, SocketEventKind, Stack, TcpInfo};
use wire::Payload;

/// The state of a TCP connection.
pub(crate) fn tcp_info(stack: &Stack, socket: SocketId) -> Option<TcpInfo> {
    Some(stack.info(socket)?.paths[0].tcp)
}

/// A host and its application.
pub(crate) struct End {
    pub stack: Stack,
    pub socket: Option<SocketId>,
    /// Every event of the socket.
    pub news: Vec<(Instant, SocketEventKind)>,
    waiting: VecDeque<Payload>,
    may_write: bool,
    shutdown_asked: bool,
    shut: bool,
    /// Bytes the application was asked to write in total.
    pub asked: u64,
    pub reading: bool,
    /// Bytes read.
    pub received: u64,
    /// The real bytes read.
    pub bytes: Vec<u8>,
    /// The reader met the end of the stream.
    pub ended: bool,
    /// Virtual payload is checked against this stream.
    pub expects_stream: u32,
}

impl End {
    pub(crate) fn new(stack: Stack) -> Self {
        End {
            stack,
            socket: None,
            news: Vec::new(),
            waiting: VecDeque::new(),
            may_write: false,
            shutdown_asked: false,
            shut: false,
            asked: 0,
            reading: true,
            received: 0,
            bytes: Vec::new(),
            ended: false,
            expects_stream: 1,
        }
    }

    /// Have the application write `payload` after what it has to write already.
    pub(crate) fn queue(&mut self, payload: Payload) {
        self.asked += u64::from(payload.len());
        self.waiting.push_back(payload);
    }

    /// Close the sending side once all is written.
    pub(crate) const fn queue_shutdown(&mut self) {
        self.shutdown_asked = true;
    }

    /// Bytes that the engine took of what the application writes.
    pub(crate) fn written(&self) -> u64 {
        let waiting: u64 = self.waiting.iter().map(|payload| u64::from(payload.len())).sum();
        self.asked - waiting
    }

    /// Whether the application has nothing left to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.shut == self.shutdown_asked
    }

    /// Whether the sending side was closed or is going to be.
    pub(crate) const fn closes(&self) -> bool {
        self.shutdown_asked
    }

    /// Whether the sending side was closed.
    pub(crate) const fn is_shut(&self) -> bool {
        self.shut
    }

    /// How the connection failed, if it did.
    pub(crate) fn failure(&self) -> Option<SocketError> {
        self.news.iter().find_map(|(_, kind)| match kind {
            SocketEventKind::Failed(error) => Some(*error),
            _ => None,
        })
    }

    /// Time of the first such event.
    pub(crate) fn heard(&self, wanted: SocketEventKind) -> Option<Instant> {
        self.news.iter().find(|(_, kind)| *kind == wanted).map(|(at, _)| *at)
    }

    /// React to one event.
    pub(crate) fn on_event(&mut self, cx: &mut Context<'_>, event: SocketEvent) {
        if matches!(event.kind, SocketEventKind::Accepted { .. }) && self.socket.is_none() {
            self.socket = Some(event.socket);
        }
        if self.socket != Some(event.socket) {
            return;
        }
        self.news.push((cx.now, event.kind));
        match event.kind {
            SocketEventKind::Connected
            | SocketEventKind::Accepted { .. }
            | SocketEventKind::Writable => self.may_write = true,
            _ => {}
        }
        self.act(cx);
    }

    /// Read and write as far as possible.
    pub(crate) fn act(&mut self, cx: &mut Context<'_>) {
        let Some(socket) = self.socket else { return };
        if self.reading {
            self.read_all(cx, socket);
        }
        while self.may_write
            && let Some(next) = self.waiting.pop_front()
        {
            let Ok(taken) = self.stack.write(cx, socket, &next) else {
                self.waiting.push_front(next);
                self.may_write = false;
                break;
            };
            assert!(taken <= next.len(), "the engine took more than it was given");
            if taken < next.len() {
                self.waiting.push_front(next.slice(taken, next.len() - taken));
                self.may_write = false;
            }
        }
        if self.shutdown_asked && !self.shut && self.waiting.is_empty() && self.may_write {
            self.shut = self.stack.shutdown(cx, socket).is_ok();
        }
    }

    fn read_all(&mut self, cx: &mut Context<'_>, socket: SocketId) {
        while !self.ended {
            match self.stack.read(cx, socket, 256 << 10) {
                Ok(payload) if payload.is_empty() => break,
                Ok(payload) => self.take(payload),
                Err(SocketError::Closed) => self.ended = true,
                Err(_) => break,
            }
        }
    }

    /// Read at most `max` bytes, once.
    pub(crate) fn read_some(&mut self, cx: &mut Context<'_>, max: u32) -> u32 {
        let Some(socket) = self.socket else { return 0 };
        let Ok(payload) = self.stack.read(cx, socket, max) else { return 0 };
        let len = payload.len();
        self.take(payload);
        len
    }

    fn take(&mut self, payload: Payload) {
        for piece in payload.into_pieces() {
            let len = piece.len();
            if let Some(range) = piece.as_virtual() {
                assert_eq!((range.stream, range.offset), (self.expects_stream, self.received));
            } else {
                piece.write_to(&mut self.bytes);
            }
            self.received += u64::from(len);
        }
    }
}

//! `OneWay`: one half of a model that sends messages over one connection.
//!
//! Download: the client connects and writes a request of one byte, the server answers with the
//! model's messages and closes its side. Upload: the client sends the messages as soon as it is
//! connected. In both directions: each end sends its messages from its side of the handshake on,
//! without a request, and closes its side when it has written and read everything. The receiving
//! half reads everything that is readable at once and notes when each measured message was
//! complete. The result is left to the model.

use crate::application::{Application, MessageInfo, StreamFailure, StreamHost};
use crate::check::{StreamCheck, StreamMismatch};
use crate::model::{Due, Message, TrafficModel};
use crate::outcome::Part;
use base::{Duration, Instant, SocketId, prefetch};
use std::hint::cold_path;
use wire::Payload;

/// Most bytes of one read, as in the measured kernel runs.
const READ_BYTES: u32 = 256 << 10;
/// The request of a download.
const REQUEST_BYTES: u32 = 1;

/// An end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that connects.
    Client,
    /// The end that listens.
    Server,
}

/// What one half observed. Times are those of its host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Report {
    /// Bytes read in the measured direction.
    pub bytes_read: u64,
    /// When the last byte was read.
    pub last_read: Option<Instant>,
    /// Just before `connect` was called.
    pub started: Option<Instant>,
    /// When the connection was established.
    pub connected: Option<Instant>,
    /// When each measured message is considered sent.
    pub sent: Vec<Instant>,
    /// When the last byte of each measured message was read.
    pub arrived: Vec<Instant>,
    /// The time of the client is over.
    pub timed_out: bool,
    /// The connection is closed in both directions.
    pub closed: bool,
    /// Why the connection failed, if it did.
    pub failure: Option<StreamFailure>,
    /// The bytes read differ from the bytes written.
    pub mismatch: Option<StreamMismatch>,
}

impl Report {
    /// Opens the connection, if this is the half that connects.
    pub(crate) fn dial(&mut self, role: Role, host: &mut dyn StreamHost) -> Option<SocketId> {
        if role == Role::Server {
            return None;
        }
        self.started = Some(host.now());
        host.connect().map_err(|failure| self.failure = Some(failure)).ok()
    }

    /// The measured messages that `sender` sent, from the start of `client`.
    pub fn parts_since(&self, sender: &Report, client: &Report) -> Vec<Part> {
        let origin = client.started.unwrap_or(Instant::ZERO);
        let arrived = self.arrived.iter().map(|at| Some(*at)).chain(std::iter::repeat(None));
        let part = |(sent, arrived): (&Instant, Option<Instant>)| Part {
            start: Some(*sent - origin),
            delay: arrived.map(|at| at - *sent),
        };
        sender.sent.iter().zip(arrived).map(part).collect()
    }

    /// Seconds from sending, by the report of `sender`, to arrival here, by message.
    pub fn delays_since(&self, sender: &Report) -> Vec<f64> {
        self.arrived
            .iter()
            .zip(&sender.sent)
            .map(|(arrived, sent)| (*arrived - *sent).as_secs_f64())
            .collect()
    }
}

/// One half of a one-way model. The fields that every read needs come first.
#[repr(C)]
pub struct OneWay {
    socket: Option<SocketId>,
    role: Role,
    /// The socket was released.
    released: bool,
    /// The data, if this half sends it.
    outgoing: Option<Box<Outgoing>>,
    ends_at: Option<Instant>,
    /// The data, if this half receives it.
    incoming: Option<Incoming>,
    report: Report,
    ends_after: Option<Duration>,
    /// The request of a download, as the server reads it.
    request: StreamCheck,
    request_stream: u32,
}

impl OneWay {
    /// The half of `role`. `connection` numbers the connections of a world, so that each has
    /// virtual streams of its own.
    pub fn new(
        model: Box<dyn TrafficModel + Send>,
        role: Role,
        reverse: bool,
        connection: u32,
    ) -> Self {
        let (up, down) = (connection.wrapping_mul(2), connection.wrapping_mul(2).wrapping_add(1));
        let data = if reverse { up } else { down };
        let sends = (role == Role::Client) == reverse;
        let ends_after = model.ends_after().filter(|_| role == Role::Client);
        let (outgoing, incoming) = if sends {
            (Some(Box::new(Outgoing::new(model, data))), None)
        } else {
            (None, Some(Incoming::new(model, data)))
        };
        OneWay {
            role,
            socket: None,
            outgoing,
            incoming,
            request: StreamCheck::new(up),
            request_stream: up,
            ends_after,
            ends_at: None,
            released: false,
            report: Report::default(),
        }
    }

    /// The half of `role` of messages in both directions: its own, and those of its peer.
    pub fn two_way(
        [own, peers]: [Box<dyn TrafficModel + Send>; 2],
        role: Role,
        connection: u32,
    ) -> Self {
        let (up, down) = (connection.wrapping_mul(2), connection.wrapping_mul(2).wrapping_add(1));
        let (sent, read) = if role == Role::Client { (up, down) } else { (down, up) };
        OneWay {
            role,
            socket: None,
            outgoing: Some(Box::new(Outgoing::new(own, sent))),
            incoming: Some(Incoming::new(peers, read)),
            request: StreamCheck::new(up),
            request_stream: up,
            ends_after: None,
            ends_at: None,
            released: false,
            report: Report::default(),
        }
    }

    /// The report of this half so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The socket of the connection, once there is one.
    pub const fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    fn send(&mut self, host: &mut dyn StreamHost) {
        if self.released {
            return;
        }
        let (Some(outgoing), Some(socket)) = (self.outgoing.as_mut(), self.socket) else { return };
        outgoing.advance(host, socket, &mut self.report);
        let reads = self.incoming.as_ref().is_some_and(|incoming| !incoming.is_finished());
        if outgoing.is_finished() && !outgoing.shut && !reads {
            outgoing.shut = true;
            host.shutdown(socket);
        }
    }

    /// Messages of the peer may be what own ones wait for.
    fn answer(&mut self, host: &mut dyn StreamHost) {
        if let Some(outgoing) = self.outgoing.as_mut() {
            outgoing.on_messages(&self.report.arrived);
            self.send(host);
        }
    }

    /// Whether it has messages to send, and some are not written.
    fn is_sending(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| !outgoing.shut)
    }

    const fn is_two_way(&self) -> bool {
        self.outgoing.is_some() && self.incoming.is_some()
    }

    fn begin_sending(&mut self, host: &mut dyn StreamHost) {
        if let Some(outgoing) = self.outgoing.as_mut() {
            outgoing.begin(host.now(), &self.report.arrived);
        }
        self.send(host);
    }

    /// The peer's request arrived, or an unexpected payload.
    fn on_request(&mut self, payload: &Payload, host: &mut dyn StreamHost) {
        match self.request.advance(payload) {
            Ok(()) if self.request.bytes_read() >= u64::from(REQUEST_BYTES) => {
                self.begin_sending(host);
            }
            Ok(()) => {}
            Err(mismatch) => self.report.mismatch = Some(mismatch),
        }
    }

    fn receive(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            let payload = host.read(socket, READ_BYTES);
            let len = payload.len();
            if len == 0 {
                break;
            }
            let is_last = len < READ_BYTES && host.drains();
            match self.incoming.as_mut() {
                Some(incoming) => incoming.on_read(&payload, host.now(), &mut self.report),
                None => {
                    cold_path();
                    self.on_request(&payload, host);
                }
            }
            if is_last {
                break;
            }
        }
        if self.is_two_way() {
            self.answer(host);
        } else if self.incoming.as_ref().is_some_and(Incoming::is_finished) {
            cold_path();
            self.finish(host);
        }
    }

    /// Nothing more to read or write on this side.
    fn finish(&mut self, host: &mut dyn StreamHost) {
        if let Some(socket) = self.socket
            && !self.released
        {
            self.released = true;
            host.shutdown(socket);
            host.close(socket);
        }
    }
}

impl Application for OneWay {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.socket = self.report.dial(self.role, host);
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        let now = host.now();
        self.report.connected = Some(now);
        self.ends_at = self.ends_after.map(|time| now + time);
        if self.outgoing.is_some() {
            self.begin_sending(host);
        } else {
            // One byte always fits into an empty send buffer.
            host.write(socket, &Payload::virtual_range(self.request_stream, 0, REQUEST_BYTES));
        }
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.report.connected = Some(host.now());
        if self.is_two_way() {
            self.begin_sending(host);
        }
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.send(host);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
        if let Some(incoming) = self.incoming.as_mut() {
            incoming.peer_closed = true;
        }
        if !(self.is_two_way() && self.is_sending()) {
            self.finish(host);
        }
    }

    fn on_closed(&mut self, _socket: SocketId) {
        self.report.closed = true;
    }

    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        self.report.failure = Some(failure);
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        if self.ends_at.is_some_and(|end| end <= host.now()) {
            self.ends_at = None;
            self.report.timed_out = true;
            self.finish(host);
        } else {
            self.send(host);
        }
    }

    fn poll_deadline(&self) -> Option<Instant> {
        let next = self.outgoing.as_deref().and_then(Outgoing::deadline);
        match (self.ends_at, next) {
            (Some(end), Some(next)) => Some(end.min(next)),
            (end, next) => end.or(next),
        }
    }

    fn prefetch(&self) {
        prefetch(&self.socket);
        prefetch(&self.incoming);
        prefetch(&self.report);
    }

    fn is_done(&self) -> bool {
        let report = &self.report;
        if report.failure.is_some() || report.mismatch.is_some() || report.timed_out {
            return true;
        }
        // Only the bytes read and the clock of the client count, not the sending half. An end of
        // both closes its direction when it has read everything.
        let is_whole = |incoming: &Incoming| incoming.peer_closed || self.outgoing.is_none();
        self.incoming.as_ref().is_some_and(|own| own.is_finished() && is_whole(own))
    }
}

/// The sending side of the data.
struct Outgoing {
    model: Box<dyn TrafficModel + Send>,
    stream: u32,
    /// Bytes written so far.
    offset: u64,
    /// When the sender was requested to begin.
    start: Option<Instant>,
    /// Number of the next message.
    next: u64,
    /// The message that is waited for or being written, and when it is due, if that is known.
    message: Option<(Message, Option<Instant>)>,
    /// Bytes of `message` not written yet.
    left: u64,
    shut: bool,
}

impl Outgoing {
    fn new(model: Box<dyn TrafficModel + Send>, stream: u32) -> Self {
        Outgoing {
            model,
            stream,
            offset: 0,
            start: None,
            next: 0,
            message: None,
            left: 0,
            shut: false,
        }
    }

    fn begin(&mut self, now: Instant, arrived: &[Instant]) {
        if self.start.is_none() {
            self.start = Some(now);
            self.line_up(now, arrived);
        }
    }

    /// Make the next message the current one; `now` is when the preceding one was written,
    /// `arrived` when messages of the peer were read.
    fn line_up(&mut self, now: Instant, arrived: &[Instant]) {
        let start = self.start.unwrap_or(now);
        self.message = self.model.message(self.next).map(|message| match message.due {
            Due::SinceStart(after) => (message, Some(start + after)),
            Due::SincePrevious(after) => (message, Some(now + after)),
            Due::SincePeer { messages, after } => (message, since_peer(messages, after, arrived)),
        });
        self.left = 0;
        self.next += 1;
    }

    /// Messages of the peer were read, at these times since the start.
    fn on_messages(&mut self, arrived: &[Instant]) {
        if let Some((message, due @ None)) = &mut self.message
            && let Due::SincePeer { messages, after } = message.due
        {
            *due = since_peer(messages, after, arrived);
        }
    }

    fn is_finished(&self) -> bool {
        self.start.is_some() && self.message.is_none()
    }

    /// When the waiting message is due; none while one is being written.
    fn deadline(&self) -> Option<Instant> {
        self.message.filter(|_| self.left == 0).and_then(|(_, due)| due)
    }

    /// Write the messages that are due, as far as the socket accepts them.
    fn advance(&mut self, host: &mut dyn StreamHost, socket: SocketId, report: &mut Report) {
        let now = host.now();
        while let Some((message, Some(due))) = self.message {
            if self.left == 0 {
                if due > now {
                    return;
                }
                self.left = message.len;
                if message.measured {
                    let since_start = matches!(message.due, Due::SinceStart(_));
                    report.sent.push(if since_start { due } else { now });
                }
            }
            if !self.write_some(host, socket) {
                return;
            }
            if self.left == 0 {
                self.line_up(now, &report.arrived);
            }
        }
    }

    /// One write. Returns whether all of it was accepted.
    fn write_some(&mut self, host: &mut dyn StreamHost, socket: SocketId) -> bool {
        let whole = self.model.message_bytes().zip(host.largest_message());
        let most = whole.map_or(self.model.write_limit(), |(own, most)| own.min(most));
        let len = self.left.min(u64::from(most)) as u32;
        let payload = Payload::virtual_range(self.stream, self.offset, len);
        let taken = match whole {
            None => host.write(socket, &payload),
            Some(_) if host.send_message(socket, &payload, MessageInfo::default()) => len,
            Some(_) => 0,
        };
        self.offset += u64::from(taken);
        self.left -= u64::from(taken);
        taken == len
    }
}

/// When a message is due that waits for the peer's first `messages`; `None`: not all are read.
fn since_peer(messages: u64, after: Duration, arrived: &[Instant]) -> Option<Instant> {
    let last = usize::try_from(messages).ok()?.checked_sub(1)?;
    arrived.get(last).map(|at| *at + after)
}

/// The receiving side of the data.
struct Incoming {
    model: Box<dyn TrafficModel + Send>,
    check: StreamCheck,
    /// Number of the message that is being received.
    next: u64,
    message: Option<Message>,
    /// Offset where it ends.
    ends_at: u64,
    peer_closed: bool,
}

impl Incoming {
    fn new(model: Box<dyn TrafficModel + Send>, stream: u32) -> Self {
        let mut incoming = Incoming {
            model,
            check: StreamCheck::new(stream),
            next: 0,
            message: None,
            ends_at: 0,
            peer_closed: false,
        };
        incoming.line_up();
        incoming
    }

    fn line_up(&mut self) {
        self.message = self.model.message(self.next);
        self.next += 1;
        self.ends_at = self.ends_at.saturating_add(self.message.map_or(0, |message| message.len));
    }

    fn is_finished(&self) -> bool {
        self.message.is_none()
    }

    #[inline]
    fn on_read(&mut self, payload: &Payload, now: Instant, report: &mut Report) {
        if let Err(mismatch) = self.check.advance(payload) {
            cold_path();
            report.mismatch.get_or_insert(mismatch);
            return;
        }
        report.bytes_read = self.check.bytes_read();
        report.last_read = Some(now);
        while self.check.bytes_read() >= self.ends_at
            && let Some(message) = self.message
        {
            cold_path();
            if message.measured {
                report.arrived.push(now);
            }
            self.line_up();
        }
    }
}

#[cfg(test)]
mod tests;

//! `Datagrams`: one half of a model that sends its messages as datagrams, each on its own.
//!
//! Nothing is sent again, and what does not arrive is lost. A datagram begins with its kind and the
//! number of its message. Download: the client says hello once a second until it hears from the
//! server, which then begins. Upload: the client begins at once. Behind its last message the sender
//! says so once a second until the receiver has answered, as in the closing of RTP sessions (BYE,
//! RFC 3550 s6.6). The receiver waits for `LINGER` after that for messages that were overtaken.

use crate::application::{Application, MessageInfo, StreamFailure, StreamHost};
use crate::check::StreamCheck;
use crate::model::delays::interarrival_jitter;
use crate::model::{Due, TrafficModel};
use crate::one_way::{Report, Role};
use crate::outcome::{Outcome, Part, mean};
use base::{Duration, Instant, SocketId};
use wire::Payload;

/// Bytes of kind and number; shorter messages are as long as that.
const HEADER_BYTES: u32 = 8;
/// Largest content of a UDP datagram over IPv4.
pub(crate) const MOST_BYTES: u32 = 65_507;
/// Place of a message in the virtual stream of its sender: datagrams are shorter.
const STRIDE: u64 = 1 << 16;
/// Interval of what is repeated until there is an answer: TCP's initial time-out (RFC 6298 s2).
const REPEAT: Duration = Duration::from_secs(1);
/// Time after the end for messages that were overtaken (assumed).
const LINGER: Duration = Duration::from_secs(1);
/// Name of the share of messages that did not arrive.
pub(crate) const LOST: &str = "lost";
/// Name of the interarrival jitter.
pub(crate) const INTERARRIVAL_JITTER: &str = "interarrival_jitter";

/// What a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The client is there.
    Hello,
    /// A message.
    Message,
    /// No message follows.
    End,
    /// The end has arrived.
    EndSeen,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Hello, Kind::Message, Kind::End, Kind::EndSeen];

    /// A datagram of this kind, whose content follows.
    fn datagram(self, number: u32) -> Payload {
        let mut bytes = vec![self as u8, 0, 0, 0];
        bytes.extend(number.to_be_bytes());
        bytes.into()
    }

    /// Kind and number of a datagram; `None`: it is none of ours.
    fn of(datagram: &Payload) -> Option<(Kind, u32)> {
        if datagram.len() < HEADER_BYTES {
            return None;
        }
        let header = datagram.slice(0, HEADER_BYTES).to_bytes();
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == header[0])?;
        Some((kind, u32::from_be_bytes([header[4], header[5], header[6], header[7]])))
    }
}

/// One half of a model over datagrams.
pub struct Datagrams {
    model: Box<dyn TrafficModel + Send>,
    role: Role,
    socket: Option<SocketId>,
    stream: u32,
    task: Task,
    /// When hello, or the end, is said again.
    repeat_at: Option<Instant>,
    report: Report,
}

/// What a half does.
enum Task {
    Send(Sending),
    Receive(Receiving),
}

/// The half that sends.
#[derive(Default)]
struct Sending {
    start: Option<Instant>,
    /// Number of the next message, and when it is due.
    next: u64,
    due: Option<Instant>,
    /// The receiver has seen the end.
    is_seen: bool,
}

/// The half that receives.
#[derive(Default)]
struct Receiving {
    /// By number.
    arrived: Vec<Option<Instant>>,
    count: usize,
    /// Number of messages, once the last one has arrived.
    total: Option<usize>,
    /// When nothing more is waited for.
    over_at: Option<Instant>,
    is_over: bool,
}

impl Datagrams {
    /// The half of `role`. `connection` numbers the connections of a world, as for `OneWay`.
    pub(crate) fn new(
        model: Box<dyn TrafficModel + Send>,
        role: Role,
        reverse: bool,
        connection: u32,
    ) -> Self {
        let sends = (role == Role::Client) == reverse;
        Datagrams {
            model,
            role,
            socket: None,
            stream: connection.wrapping_mul(2).wrapping_add(u32::from(!reverse)),
            task: match sends {
                true => Task::Send(Sending::default()),
                false => Task::Receive(Receiving::default()),
            },
            repeat_at: None,
            report: Report::default(),
        }
    }

    /// The report of this half so far; a receiver's has no times of messages.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The socket, once it is known.
    pub const fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    fn say(&mut self, host: &mut dyn StreamHost, kind: Kind) {
        if let Some(socket) = self.socket {
            host.send_message(socket, &kind.datagram(0), MessageInfo::default());
        }
    }

    /// Says something now and again, until `repeat_at` is cleared.
    fn repeat(&mut self, host: &mut dyn StreamHost, kind: Kind) {
        self.repeat_at = Some(host.now() + REPEAT);
        self.say(host, kind);
    }

    /// The sender begins, unless it has.
    fn begin(&mut self, host: &mut dyn StreamHost) {
        let Task::Send(sending) = &mut self.task else { return };
        if sending.start.is_none() {
            sending.start = Some(host.now());
            sending.line_up(&*self.model, host.now());
            self.send(host);
        }
    }

    /// Send the messages that are due, and behind the last one the end.
    fn send(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        let (Task::Send(sending), Some(socket)) = (&mut self.task, self.socket) else { return };
        let is_sending = sending.due.is_some();
        while let Some(due) = sending.due.filter(|due| *due <= now) {
            // The lab refuses models with longer messages.
            let len = self.model.message(sending.next).map_or(0, |message| message.len);
            let len = len.clamp(u64::from(HEADER_BYTES), u64::from(MOST_BYTES)) as u32;
            let content =
                Payload::virtual_range(self.stream, sending.next * STRIDE, len - HEADER_BYTES);
            let mut datagram = Kind::Message.datagram(sending.next as u32);
            datagram.append(content);
            // What the host does not take is lost.
            host.send_message(socket, &datagram, MessageInfo::default());
            self.report.sent.push(due);
            sending.next += 1;
            sending.line_up(&*self.model, now);
        }
        if is_sending && sending.due.is_none() {
            self.repeat(host, Kind::End);
        }
    }

    fn take_in(&mut self, host: &mut dyn StreamHost, datagram: &Payload) {
        let now = host.now();
        match (Kind::of(datagram), &mut self.task) {
            (Some((Kind::Hello, _)), Task::Send(_)) => self.begin(host),
            (Some((Kind::EndSeen, _)), Task::Send(sending)) => {
                sending.is_seen = true;
                self.repeat_at = None;
            }
            (Some((Kind::Message, number)), Task::Receive(_)) => {
                self.repeat_at = None;
                self.on_message(now, number, datagram);
            }
            (Some((Kind::End, _)), Task::Receive(receiving)) => {
                self.repeat_at = None;
                receiving.over_at.get_or_insert(now + LINGER);
                self.say(host, Kind::EndSeen);
            }
            _ => {}
        }
    }

    fn on_message(&mut self, now: Instant, number: u32, datagram: &Payload) {
        let Task::Receive(receiving) = &mut self.task else { return };
        let (index, place) = (number as usize, u64::from(number));
        if self.model.message(place).is_none() {
            return;
        }
        let content = datagram.slice(HEADER_BYTES, datagram.len() - HEADER_BYTES);
        let mut check = StreamCheck::at(self.stream, place * STRIDE);
        if let Err(mismatch) = check.advance(&content) {
            self.report.mismatch.get_or_insert(mismatch);
            return;
        }
        if receiving.arrived.len() <= index {
            receiving.arrived.resize(index + 1, None);
        }
        // The network may deliver a datagram twice.
        if receiving.arrived[index].is_some() {
            return;
        }
        receiving.arrived[index] = Some(now);
        receiving.count += 1;
        self.report.bytes_read += u64::from(datagram.len());
        self.report.last_read = Some(now);
        if self.model.message(place + 1).is_none() {
            receiving.total = Some(index + 1);
        }
        receiving.is_over |= receiving.total == Some(receiving.count);
    }
}

impl Sending {
    /// The time of the next message; `now` is when the one before it was sent.
    fn line_up(&mut self, model: &dyn TrafficModel, now: Instant) {
        let start = self.start.unwrap_or(now);
        self.due = model.message(self.next).map(|message| match message.due {
            Due::SinceStart(after) => start + after,
            // The lab refuses models that wait for answers.
            Due::SincePrevious(after) | Due::SincePeer { after, .. } => now + after,
        });
    }
}

impl Application for Datagrams {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        if self.role == Role::Client {
            self.report.started = Some(host.now());
            match host.connect() {
                Ok(socket) => self.socket = Some(socket),
                Err(failure) => self.report.failure = Some(failure),
            }
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.report.connected = Some(host.now());
        match self.task {
            Task::Send(_) => self.begin(host),
            Task::Receive(_) => self.repeat(host, Kind::Hello),
        }
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket.get_or_insert(socket);
        self.report.connected.get_or_insert(host.now());
        while let Some((_, datagram)) = host.receive_message(socket) {
            self.take_in(host, &datagram);
        }
    }

    fn on_closed(&mut self, _socket: SocketId) {
        self.report.closed = true;
    }

    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        self.report.failure.get_or_insert(failure);
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        self.send(host);
        if self.repeat_at.is_some_and(|at| at <= now) {
            let kind = if matches!(self.task, Task::Send(_)) { Kind::End } else { Kind::Hello };
            self.repeat(host, kind);
        }
        if let Task::Receive(receiving) = &mut self.task {
            receiving.is_over |= receiving.over_at.is_some_and(|at| at <= now);
        }
    }

    fn poll_deadline(&self) -> Option<Instant> {
        let next = match &self.task {
            Task::Send(sending) => sending.due,
            Task::Receive(receiving) => receiving.over_at.filter(|_| !receiving.is_over),
        };
        next.into_iter().chain(self.repeat_at).min()
    }

    fn is_done(&self) -> bool {
        let is_over = matches!(&self.task, Task::Receive(receiving) if receiving.is_over);
        self.report.failure.is_some() || self.report.mismatch.is_some() || is_over
    }
}

/// The result of a run from both halves. The value is the mean delay of the messages that arrived;
/// without any, the run is incomplete.
pub(crate) fn outcome(client: &Datagrams, server: &Datagrams) -> Outcome {
    let model = &client.model;
    let (sender, receiver) = match &client.task {
        Task::Send(_) => (client, server),
        Task::Receive(_) => (server, client),
    };
    let Task::Receive(receiving) = &receiver.task else {
        return Outcome::single(model.metric(), None, 0);
    };
    let origin = client.report.started.unwrap_or(Instant::ZERO);
    let arrived = receiving.arrived.iter().copied().chain(std::iter::repeat(None));
    let part = |(sent, arrived): (&Instant, Option<Instant>)| Part {
        start: Some(*sent - origin),
        delay: arrived.map(|at| at - *sent),
    };
    let parts: Vec<Part> = sender.report.sent.iter().zip(arrived).map(part).collect();
    let seconds = |part: &Part| part.delay.map(Duration::as_secs_f64);
    let delays: Vec<f64> = parts.iter().filter_map(seconds).collect();
    let all: Vec<f64> = parts.iter().map(|part| seconds(part).unwrap_or(f64::INFINITY)).collect();
    let lost = (parts.len() - delays.len()) as f64 / parts.len().max(1) as f64;
    let mut extra = model.numbers(&delays, &all);
    let own = [Some((LOST, lost)), interarrival_jitter(&delays)];
    extra.retain(|(name, _)| own.iter().flatten().all(|(known, _)| known != name));
    extra.extend(own.into_iter().flatten());
    Outcome {
        metric: model.metric(),
        value: mean(&delays).filter(|_| receiving.is_over),
        bytes_read: receiver.report.bytes_read,
        message_delays: delays,
        parts,
        extra,
    }
}

#[cfg(test)]
mod tests;

//! `Datagrams`: one half of a model that sends its messages as datagrams, each on its own.
//!
//! Nothing is sent again, and what does not arrive is lost. A datagram begins with its kind and the
//! number of its message. Download: the client says hello once a second until it hears from the
//! server, which then begins. Upload: the client begins at once. In both directions: the client
//! begins and says hello. Behind its last message a sender says so once a second until the receiver
//! has answered, as in the closing of RTP sessions (BYE, RFC 3550 s6.6). The receiver waits for
//! `LINGER` after that for messages that were overtaken.

use crate::application::{Application, MessageInfo, StreamFailure, StreamHost, earliest};
use crate::check::StreamCheck;
use crate::model::delays::{interarrival_jitter_of_ways, separate_jitter};
use crate::model::{Due, TrafficModel};
use crate::one_way::{Report, Role};
use crate::outcome::{Metric, Outcome, Part, mean};
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
        let mut bytes = [self as u8, 0, 0, 0, 0, 0, 0, 0];
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        bytes.to_vec().into()
    }

    /// Kind and number of a datagram; `None`: it is none of ours.
    fn of(datagram: &Payload) -> Option<(Kind, u32)> {
        let header = datagram.prefix::<{ HEADER_BYTES as usize }>()?;
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == header[0])?;
        Some((kind, u32::from_be_bytes([header[4], header[5], header[6], header[7]])))
    }
}

/// One half of a model over datagrams.
pub struct Datagrams {
    role: Role,
    socket: Option<SocketId>,
    /// Virtual streams of the messages sent and received.
    streams: [u32; 2],
    sending: Option<Sending>,
    receiving: Option<Receiving>,
    /// When hello is said again.
    hello_at: Option<Instant>,
    report: Report,
}

/// A model of messages.
type AnyModel = Box<dyn TrafficModel + Send>;

/// What a half sends.
struct Sending {
    model: AnyModel,
    start: Option<Instant>,
    /// Number of the next message, and when it is due.
    next: u64,
    due: Option<Instant>,
    /// When the end is said again.
    end_at: Option<Instant>,
    /// When the receiver, which has seen the end, waits for nothing more.
    over_at: Option<Instant>,
    is_over: bool,
}

/// What a half receives.
struct Receiving {
    model: AnyModel,
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
    pub(crate) fn new(model: AnyModel, role: Role, reverse: bool, connection: u32) -> Self {
        match (role == Role::Client) == reverse {
            true => Self::of(Some(model), None, role, connection),
            false => Self::of(None, Some(model), role, connection),
        }
    }

    /// The half of `role` of messages in both directions: its own, and those of its peer.
    pub(crate) fn two_way([own, peers]: [AnyModel; 2], role: Role, connection: u32) -> Self {
        Self::of(Some(own), Some(peers), role, connection)
    }

    fn of(own: Option<AnyModel>, peers: Option<AnyModel>, role: Role, connection: u32) -> Self {
        let (up, down) = (connection.wrapping_mul(2), connection.wrapping_mul(2).wrapping_add(1));
        Datagrams {
            role,
            socket: None,
            streams: if role == Role::Client { [up, down] } else { [down, up] },
            sending: own.map(Sending::new),
            receiving: peers.map(Receiving::new),
            hello_at: None,
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

    fn say_hello(&mut self, host: &mut dyn StreamHost) {
        self.hello_at = Some(host.now() + REPEAT);
        self.say(host, Kind::Hello);
    }

    fn say_end(&mut self, host: &mut dyn StreamHost) {
        if let Some(sending) = &mut self.sending {
            sending.end_at = Some(host.now() + REPEAT);
        }
        self.say(host, Kind::End);
    }

    /// The sender begins, unless it has.
    fn begin(&mut self, host: &mut dyn StreamHost) {
        let Some(sending) = &mut self.sending else { return };
        if sending.start.is_none() {
            sending.start = Some(host.now());
            sending.line_up(host.now());
            self.send(host);
        }
    }

    /// Send the messages that are due, and behind the last one the end.
    fn send(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        let (Some(sending), Some(socket)) = (&mut self.sending, self.socket) else { return };
        let is_sending = sending.due.is_some();
        while let Some(due) = sending.due.filter(|due| *due <= now) {
            // The lab refuses models with longer messages.
            let len = sending.model.message(sending.next).map_or(0, |message| message.len);
            let len = len.clamp(u64::from(HEADER_BYTES), u64::from(MOST_BYTES)) as u32;
            let offset = sending.next * STRIDE;
            let content = Payload::virtual_range(self.streams[0], offset, len - HEADER_BYTES);
            let mut datagram = Kind::Message.datagram(sending.next as u32);
            datagram.append(content);
            // What the host does not take is lost.
            host.send_message(socket, &datagram, MessageInfo::default());
            self.report.sent.push(due);
            sending.next += 1;
            sending.line_up(now);
        }
        if is_sending && sending.due.is_none() {
            self.say_end(host);
        }
    }

    fn take_in(&mut self, host: &mut dyn StreamHost, datagram: &Payload) {
        let now = host.now();
        let Some((kind, number)) = Kind::of(datagram) else { return };
        match (kind, &mut self.sending, &mut self.receiving) {
            (Kind::Hello, Some(_), _) => self.begin(host),
            (Kind::EndSeen, Some(sending), _) => {
                sending.end_at = None;
                sending.over_at.get_or_insert(now + LINGER + LINGER);
            }
            (Kind::Message, _, Some(_)) => {
                self.hello_at = None;
                self.on_message(now, number, datagram);
            }
            (Kind::End, _, Some(receiving)) => {
                self.hello_at = None;
                receiving.over_at.get_or_insert(now + LINGER);
                self.say(host, Kind::EndSeen);
            }
            _ => {}
        }
        // Of two senders the server begins with the first thing that it hears.
        if self.receiving.is_some() {
            self.begin(host);
        }
    }

    fn on_message(&mut self, now: Instant, number: u32, datagram: &Payload) {
        let Some(receiving) = &mut self.receiving else { return };
        let (index, place) = (number as usize, u64::from(number));
        if receiving.model.message(place).is_none() {
            return;
        }
        let content = datagram.slice(HEADER_BYTES, datagram.len() - HEADER_BYTES);
        let mut check = StreamCheck::at(self.streams[1], place * STRIDE);
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
        if receiving.model.message(place + 1).is_none() {
            receiving.total = Some(index + 1);
        }
        receiving.is_over |= receiving.total == Some(receiving.count);
    }
}

impl Sending {
    fn new(model: AnyModel) -> Self {
        let (start, due, end_at, over_at) = (None, None, None, None);
        Sending { model, start, next: 0, due, end_at, over_at, is_over: false }
    }

    /// The time of the next message; `now` is when the one before it was sent.
    fn line_up(&mut self, now: Instant) {
        let start = self.start.unwrap_or(now);
        self.due = self.model.message(self.next).map(|message| match message.due {
            Due::SinceStart(after) => start + after,
            // The lab refuses models that wait for answers.
            Due::SincePrevious(after) | Due::SincePeer { after, .. } => now + after,
        });
    }
}

impl Receiving {
    fn new(model: AnyModel) -> Self {
        let is_over = model.message(0).is_none();
        let (arrived, total, over_at) = (Vec::new(), None, None);
        Receiving { model, arrived, count: 0, total, over_at, is_over }
    }
}

impl Application for Datagrams {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.socket = self.report.dial(self.role, host);
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.report.connected = Some(host.now());
        if self.receiving.is_some() {
            self.say_hello(host);
        }
        self.begin(host);
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
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.sending.as_ref().and_then(|sending| sending.end_at)) {
            self.say_end(host);
        }
        if is_due(self.hello_at) {
            self.say_hello(host);
        }
        if let Some(sending) = &mut self.sending {
            sending.is_over |= is_due(sending.over_at);
        }
        if let Some(receiving) = &mut self.receiving {
            receiving.is_over |= is_due(receiving.over_at);
        }
    }

    fn poll_deadline(&self) -> Option<Instant> {
        let receiving = self.receiving.as_ref().filter(|receiving| !receiving.is_over);
        let sending = self.sending.as_ref();
        // A sender alone is not what the run waits for.
        let both = sending.filter(|sending| self.receiving.is_some() && !sending.is_over);
        earliest([
            sending.and_then(|sending| sending.due),
            sending.and_then(|sending| sending.end_at),
            both.and_then(|sending| sending.over_at),
            receiving.and_then(|receiving| receiving.over_at),
            self.hello_at,
        ])
    }

    fn is_done(&self) -> bool {
        let is_sent = self.sending.as_ref().is_none_or(|sending| sending.is_over);
        let is_over = self.receiving.as_ref().is_some_and(|receiving| receiving.is_over);
        self.report.failure.is_some() || self.report.mismatch.is_some() || is_over && is_sent
    }
}

/// The result of a run from both halves. The value is the mean delay of the messages that arrived;
/// without any, the run is incomplete.
pub(crate) fn outcome(client: &Datagrams, server: &Datagrams) -> Outcome {
    let origin = client.report.started.unwrap_or(Instant::ZERO);
    let ways: Vec<(&Datagrams, &Receiving)> = [(client, server), (server, client)]
        .into_iter()
        .filter_map(|(sender, receiver)| Some((sender, receiver.receiving.as_ref()?)))
        .collect();
    let part = |(sent, arrived): (&Instant, Option<Instant>)| Part {
        start: Some(*sent - origin),
        delay: arrived.map(|at| at - *sent),
    };
    let parts = |(sender, receiving): &(&Datagrams, &Receiving)| -> Vec<Part> {
        let arrived = receiving.arrived.iter().copied().chain(std::iter::repeat(None));
        sender.report.sent.iter().zip(arrived).map(part).collect()
    };
    let of_ways: Vec<Vec<Part>> = ways.iter().map(parts).collect();
    let seconds = |part: &Part| part.delay.map(Duration::as_secs_f64);
    let delays = |parts: &[Part]| -> Vec<f64> { parts.iter().filter_map(seconds).collect() };
    let delays_of_ways: Vec<Vec<f64>> = of_ways.iter().map(|parts| delays(parts)).collect();
    let delays_of_ways: Vec<&[f64]> = delays_of_ways.iter().map(Vec::as_slice).collect();
    let mut parts = of_ways.concat();
    parts.sort_by_key(|part| part.start);
    let delays = delays(&parts);
    let all: Vec<f64> = parts.iter().map(|part| seconds(part).unwrap_or(f64::INFINITY)).collect();
    let lost = (parts.len() - delays.len()) as f64 / parts.len().max(1) as f64;
    let Some((_, first)) = ways.first() else {
        return Outcome::single(Metric::MessageDelay, None, 0);
    };
    let mut extra = first.model.numbers(&delays, &all);
    separate_jitter(&mut extra, &delays_of_ways);
    let own = [Some((LOST, lost)), interarrival_jitter_of_ways(&delays_of_ways)];
    extra.retain(|(name, _)| own.iter().flatten().all(|(known, _)| known != name));
    extra.extend(own.into_iter().flatten());
    Outcome {
        metric: first.model.metric(),
        value: mean(&delays).filter(|_| ways.iter().all(|(_, receiving)| receiving.is_over)),
        bytes_read: client.report.bytes_read + server.report.bytes_read,
        message_delays: delays,
        parts,
        extra,
    }
}

#[cfg(test)]
mod tests;

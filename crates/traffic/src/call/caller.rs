//! `Caller`: either half of an adaptive call.

use super::line::Line;
use super::nada::{Control, DELTA, Observer};
use super::talk::{Arrival, HEADER_BYTES, Header, Kind, Report as Saw};
use super::{Call, METRIC};
use crate::application::{Application, StreamFailure, StreamHost, earliest};
use crate::check::StreamMismatch;
use crate::datagrams::LOST;
use crate::model::delays::{OVER_150MS, distribution_of};
use crate::model::video::{FREEZES, FROZEN_TIME, SHARES};
use crate::one_way::{Report, Role};
use crate::outcome::{Outcome, Part, mean};
use crate::vod::BITRATE;
use base::{Duration, Instant, SocketId};
use wire::Payload;

/// Interval of what is said until there is an answer, and time after the end for what was
/// overtaken, as with other datagrams.
const REPEAT: Duration = Duration::from_secs(1);
const LINGER: Duration = Duration::from_secs(1);
/// Most frames between two that arrive: minutes of them. Datagrams that claim more are dropped.
const MOST_MISSED: usize = 10_000;
/// From the established connection to the first frame.
const LEAD_IN: Duration = Duration::from_millis(500);
/// More than intervals of whole nanoseconds add up to.
const ROUNDING: Duration = Duration::from_millis(1);
/// Time of audio in a message, and its bytes: 32 kbit/s (RFC 7587 s3.1.1).
const AUDIO_TIME: Duration = Duration::from_millis(20);
const AUDIO_BYTES: u32 = 80;

/// Either half of an adaptive call.
pub struct Caller {
    call: Call,
    role: Role,
    socket: Option<SocketId>,
    line: Line,
    /// Of datagrams: when hello is said again.
    hello_at: Option<Instant>,
    stream: u32,
    /// Bytes of virtual content written so far.
    offset: u64,
    video: Option<Sending>,
    watching: Option<Watching>,
    is_shut: bool,
    peer_closed: bool,
    report: Report,
}

/// The video and audio that this half sends.
struct Sending {
    control: Control,
    begins: Option<Instant>,
    next_frame: Option<Instant>,
    next_audio: Option<Instant>,
    /// Bits of every frame.
    bits: u64,
    skipped: u64,
    /// The end was written.
    ended: bool,
    /// Of datagrams: when the end is said again, and when the peer, which has seen it, waits for
    /// nothing more.
    end_at: Option<Instant>,
    over_at: Option<Instant>,
    is_over: bool,
}

/// The video that this half receives.
#[derive(Default)]
struct Watching {
    observer: Observer,
    next_report: Option<Instant>,
    /// When the last frame was made and when it arrived.
    last: Option<(Instant, Instant)>,
    audio_delays: Vec<f64>,
    /// By number: when each frame arrived.
    arrived: Vec<Option<Instant>>,
    ended: bool,
    /// Of datagrams: when nothing more is waited for.
    over_at: Option<Instant>,
    is_over: bool,
}

impl Caller {
    /// The half of `role`; `connection` numbers the connections of a world.
    pub fn new(call: &Call, role: Role, reverse: bool, connection: u32) -> Self {
        let sends = call.is_two_way() || (role == Role::Client) == reverse;
        let watches = call.is_two_way() || !sends;
        let up = role == Role::Client;
        let video = Sending {
            control: Control::new(call.limits()),
            begins: None,
            next_frame: None,
            next_audio: None,
            bits: 0,
            skipped: 0,
            ended: false,
            end_at: None,
            over_at: None,
            is_over: false,
        };
        Caller {
            call: *call,
            role,
            socket: None,
            line: Line::stream(),
            hello_at: None,
            stream: connection.wrapping_mul(2).wrapping_add(u32::from(!up)),
            offset: 0,
            video: sends.then_some(video),
            watching: watches.then(Watching::default),
            is_shut: false,
            peer_closed: false,
            report: Report::default(),
        }
    }

    /// The same with datagrams in place of the stream.
    pub(crate) fn over_datagrams(self) -> Self {
        Caller { line: Line::Datagrams, ..self }
    }

    /// The report of this half so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The socket of the connection, once there is one.
    pub const fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    fn begin(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        self.report.connected = Some(now);
        if let Some(video) = &mut self.video {
            let first = now + LEAD_IN;
            video.begins = Some(first);
            video.next_frame = Some(first);
            video.next_audio = Some(first).filter(|_| self.call.is_two_way());
        }
    }

    /// Whether everything that was made was accepted by the socket.
    fn flush(&mut self, host: &mut dyn StreamHost) -> bool {
        let Some(socket) = self.socket else { return false };
        self.line.flush(host, socket)
    }

    fn push(&mut self, host: &mut dyn StreamHost, message: Payload) {
        // The frame that is sent, or the next one.
        let number = self.report.sent.len().saturating_sub(1) as u32;
        self.line.put(host, self.socket, (number, message));
    }

    fn tell(&mut self, host: &mut dyn StreamHost, kind: Kind) {
        let made = host.now();
        self.push(host, Header { kind, len: 0, made }.to_payload());
    }

    /// A message with virtual content, which is long enough for its header.
    fn say(&mut self, host: &mut dyn StreamHost, kind: Kind, made: Instant, bytes: u32) {
        let len = bytes.saturating_sub(HEADER_BYTES);
        let mut message = Header { kind, len, made }.to_payload();
        message.append(Payload::virtual_range(self.stream, self.offset, len));
        self.offset += u64::from(len);
        self.push(host, message);
    }

    /// Make everything that is due.
    fn pump(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        while let Some(at) = self.due_frame(now) {
            self.frame(host, at);
        }
        while let Some(at) = self.due_audio(now) {
            self.say(host, Kind::Audio, at, AUDIO_BYTES);
        }
        if let Some(saw) = self.due_report(now) {
            self.push(host, saw.to_payload(now));
        }
        self.repeat(host);
        self.finish(host);
    }

    /// Datagrams: say again what was not answered.
    fn repeat(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        if self.hello_at.is_some_and(|at| at <= now) {
            self.hello_at = Some(now + REPEAT);
            self.tell(host, Kind::Hello);
        }
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if let Some(watching) = &mut self.watching {
            watching.is_over |= is_due(watching.over_at);
        }
        if let Some(video) = &mut self.video {
            video.is_over |= is_due(video.over_at);
        }
        if let Some(video) = &mut self.video
            && is_due(video.end_at)
        {
            video.end_at = Some(now + REPEAT);
            self.tell(host, Kind::End);
        }
    }

    fn due_frame(&self, now: Instant) -> Option<Instant> {
        self.video.as_ref()?.next_frame.filter(|at| *at <= now)
    }

    /// The time of the audio that is due; the next one is lined up.
    fn due_audio(&mut self, now: Instant) -> Option<Instant> {
        let video = self.video.as_mut()?;
        let at = video.next_audio.filter(|at| *at <= now)?;
        let end = video.begins? + self.call.time;
        video.next_audio = Some(at + AUDIO_TIME).filter(|next| *next < end);
        Some(at)
    }

    fn due_report(&mut self, now: Instant) -> Option<Saw> {
        let watching = self.watching.as_mut()?;
        if watching.ended {
            watching.next_report = None;
        }
        watching.next_report.filter(|at| *at <= now)?;
        watching.next_report = Some(now + DELTA);
        let (echo, arrived) = watching.last?;
        let (seen, held) = (watching.observer.report(now), now.since(arrived));
        Some(Saw { seen, echo, held })
    }

    /// The frame of this time, unless an earlier one still waits for the socket.
    fn frame(&mut self, host: &mut dyn StreamHost, at: Instant) {
        let is_free = self.flush(host);
        let Some(video) = &mut self.video else { return };
        let rate = video.control.rate();
        let frames = self.call.limits().frames_at(rate);
        let next = at + Duration::from_secs_f64(1.0 / frames);
        let end = video.begins.map_or(at, |begins| begins + self.call.time);
        // Intervals are in whole nanoseconds, and a frame at the very end is none.
        let is_last = next + ROUNDING >= end;
        video.next_frame = Some(next).filter(|_| !is_last);
        if is_free {
            let bytes = ((rate / frames / 8.0) as u32).max(HEADER_BYTES + 1);
            video.bits += u64::from(bytes) * 8;
            self.report.sent.push(at);
            self.say(host, Kind::Frame, at, bytes);
        } else {
            video.skipped += 1;
        }
    }

    /// Say that all was sent, and close when the peer has said so, too.
    fn finish(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        let is_over = self.video.as_ref().is_some_and(|video| {
            let over = video.next_frame.is_none() && video.next_audio.is_none();
            video.begins.is_some() && over && !video.ended
        });
        if is_over {
            let again = (!self.line.is_stream()).then(|| now + REPEAT);
            if let Some(video) = &mut self.video {
                video.ended = true;
                video.end_at = again;
            }
            self.tell(host, Kind::End);
        }
        let sent = self.video.as_ref().is_none_or(|video| video.ended);
        let seen = self.watching.as_ref().is_none_or(|watching| watching.ended);
        if self.line.is_stream() && sent && seen && self.flush(host) {
            self.shut(host);
        }
    }

    fn shut(&mut self, host: &mut dyn StreamHost) {
        if let Some(socket) = self.socket
            && !std::mem::replace(&mut self.is_shut, true)
        {
            host.shutdown(socket);
        }
    }

    fn receive(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while let Some((bytes, arrivals)) = self.line.take(host, socket) {
            let now = host.now();
            self.report.bytes_read += u64::from(bytes);
            self.report.last_read = Some(now);
            let Ok(arrivals) = arrivals else {
                self.report.mismatch.get_or_insert(StreamMismatch::Frame);
                return;
            };
            self.hello_at = None;
            arrivals.iter().for_each(|(number, arrival)| self.arrived(host, *number, arrival));
        }
        self.pump(host);
    }

    fn arrived(&mut self, host: &mut dyn StreamHost, number: Option<u32>, arrival: &Arrival) {
        let now = host.now();
        match (arrival, &mut self.video, &mut self.watching) {
            (Arrival::Report(saw), Some(video), _) => {
                let rtt = now.since(saw.echo).saturating_sub(saw.held);
                video.control.on_report(now, &saw.seen, rtt);
            }
            (Arrival::Message(header), video, watching) => match (header.kind, watching) {
                (Kind::Frame, Some(watching)) => {
                    let is_new = watching.on_frame(now, number, header);
                    self.report.arrived.extend(is_new.then_some(now));
                }
                (Kind::Audio, Some(watching)) => {
                    watching.audio_delays.push(now.since(header.made).as_secs_f64());
                }
                (Kind::End, Some(watching)) => {
                    watching.ended = true;
                    if !self.line.is_stream() {
                        watching.over_at.get_or_insert(now + LINGER);
                        self.tell(host, Kind::EndSeen);
                    }
                }
                (Kind::EndSeen, _) => {
                    if let Some(video) = video {
                        video.end_at = None;
                        video.over_at.get_or_insert(now + LINGER + LINGER);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

impl Watching {
    /// Whether the frame is new; a network may repeat datagrams.
    fn on_frame(&mut self, now: Instant, number: Option<u32>, header: &Header) -> bool {
        let place = number.map_or(self.arrived.len(), |number| number as usize);
        if place > self.arrived.len() + MOST_MISSED
            || self.arrived.get(place).is_some_and(Option::is_some)
        {
            return false;
        }
        let missed = place.saturating_sub(self.arrived.len()) as u32;
        if self.arrived.len() <= place {
            self.arrived.resize(place + 1, None);
        }
        self.arrived[place] = Some(now);
        self.observer.on_missed(now, missed);
        let bytes = u64::from(header.len + HEADER_BYTES);
        self.observer.on_frame(now, now.since(header.made), bytes);
        self.last = Some((header.made, now));
        self.next_report.get_or_insert(now + DELTA);
        true
    }
}

impl Application for Caller {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.socket = self.report.dial(self.role, host);
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.begin(host);
        if !self.line.is_stream() {
            // Frames begin later, and the server waits for something.
            self.hello_at = Some(host.now());
            self.repeat(host);
        }
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.begin(host);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        if self.socket.is_none() {
            // The first datagram is all that there is of a connection.
            self.socket = Some(socket);
            self.begin(host);
        }
        self.receive(host, socket);
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.flush(host);
        self.finish(host);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
        self.peer_closed = true;
        if let Some(watching) = &mut self.watching
            && !watching.ended
        {
            self.report.failure.get_or_insert(StreamFailure::Reset);
        }
        self.shut(host);
        host.close(socket);
    }

    fn on_closed(&mut self, _socket: SocketId) {
        self.report.closed = true;
    }

    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        self.report.failure.get_or_insert(failure);
    }

    fn on_timeout(&mut self, host: &mut dyn StreamHost) {
        self.pump(host);
    }

    fn poll_deadline(&self) -> Option<Instant> {
        let (video, watching) = (self.video.as_ref(), self.watching.as_ref());
        earliest([
            video.and_then(|video| video.next_frame),
            video.and_then(|video| video.next_audio),
            video.and_then(|video| video.end_at),
            video.filter(|video| !video.is_over).and_then(|video| video.over_at),
            watching.and_then(|watching| watching.next_report),
            watching.filter(|watching| !watching.is_over).and_then(|watching| watching.over_at),
            self.hello_at,
        ])
    }

    fn is_done(&self) -> bool {
        let report = &self.report;
        let is_whole = self.watching.as_ref().is_some_and(|watching| {
            if !self.line.is_stream() {
                return watching.is_over && self.video.as_ref().is_none_or(|video| video.is_over);
            }
            // An end of two closes its direction when it has sent and read everything.
            watching.ended && (self.video.is_none() || self.peer_closed)
        });
        report.failure.is_some() || report.mismatch.is_some() || is_whole
    }
}

/// The result of a call, from both halves.
pub(crate) fn outcome(call: &Call, [client, server]: [&Caller; 2], reverse: bool) -> Outcome {
    let up = Way { sender: client, receiver: server };
    let down = Way { sender: server, receiver: client };
    let ways = match (call.is_two_way(), reverse) {
        (true, _) => vec![up, down],
        (false, true) => vec![up],
        (false, false) => vec![down],
    };
    let origin = client.report.started.unwrap_or(Instant::ZERO);
    let part = |(made, arrived): (Instant, Option<Instant>)| Part {
        start: Some(made - origin),
        delay: arrived.map(|at| at - made),
    };
    let mut parts: Vec<Part> = ways.iter().flat_map(|way| way.frames().map(part)).collect();
    parts.sort_by_key(|part| part.start);
    let seconds = |part: &Part| part.delay.map(Duration::as_secs_f64);
    let delays: Vec<f64> = parts.iter().filter_map(seconds).collect();
    let all: Vec<f64> = parts.iter().map(|part| seconds(part).unwrap_or(f64::INFINITY)).collect();
    let lost = (parts.len() - delays.len()) as f64 / parts.len().max(1) as f64;
    let lost = (!client.line.is_stream()).then_some((LOST, lost));
    Outcome {
        metric: METRIC,
        value: mean(&delays).filter(|_| ways.iter().all(Way::is_complete)),
        bytes_read: ways.iter().map(|way| way.receiver.report.bytes_read).sum(),
        extra: [
            distribution_of(&delays, &all, SHARES),
            numbers(call, &ways),
            lost.into_iter().collect(),
        ]
        .concat(),
        message_delays: delays,
        parts,
    }
}

/// One direction of a call.
#[derive(Clone, Copy)]
struct Way<'a> {
    sender: &'a Caller,
    receiver: &'a Caller,
}

impl Way<'_> {
    fn is_complete(&self) -> bool {
        self.receiver.watching.as_ref().is_some_and(|watching| {
            let is_whole = self.sender.report.sent.len() == watching.arrived.len();
            // Of datagrams the end may have been lost, and frames may be.
            if self.receiver.line.is_stream() {
                watching.ended && is_whole
            } else {
                watching.is_over
            }
        })
    }

    /// When each frame was made, and when it arrived, if it did.
    fn frames(&self) -> impl Iterator<Item = (Instant, Option<Instant>)> {
        let arrived = self.receiver.watching.as_ref().map_or(&[][..], |watching| &watching.arrived);
        let arrived = arrived.iter().copied().chain(std::iter::repeat(None));
        self.sender.report.sent.iter().copied().zip(arrived)
    }

    /// How often the picture froze, and for how long: a late frame leaves the one before it on the
    /// screen until the next is due.
    fn freezes(&self) -> (f64, f64) {
        let (sent, deadline) = (&self.sender.report.sent, OVER_150MS.1);
        let (mut count, mut frozen, mut was_late) = (0.0, 0.0, false);
        for (index, (made, arrived)) in self.frames().enumerate() {
            let is_late = arrived.is_none_or(|arrived| arrived.since(made) > deadline);
            if is_late {
                let next = sent.get(index + 1).map_or(Duration::ZERO, |next| next.since(made));
                frozen += next.as_secs_f64();
                count += if was_late { 0.0 } else { 1.0 };
            }
            was_late = is_late;
        }
        (count, frozen)
    }
}

/// Numbers of the directions together: sums of freezes, means of rates.
fn numbers(call: &Call, ways: &[Way<'_>]) -> Vec<(&'static str, f64)> {
    let seconds = call.time.as_secs_f64();
    let each = |number: &dyn Fn(&Way<'_>) -> f64| ways.iter().map(number).collect::<Vec<f64>>();
    let bits = each(&|way| way.sender.video.as_ref().map_or(0.0, |video| video.bits as f64));
    let frames = each(&|way| way.sender.report.sent.len() as f64);
    let skipped = each(&|way| way.sender.video.as_ref().map_or(0.0, |video| video.skipped as f64));
    let per_second = |all: &[f64]| mean(all).map(|mean| mean / seconds);
    let audio: Vec<f64> = ways
        .iter()
        .filter_map(|way| way.receiver.watching.as_ref())
        .flat_map(|watching| watching.audio_delays.iter().copied())
        .collect();
    [
        (FREEZES, Some(each(&|way| way.freezes().0).iter().sum())),
        (FROZEN_TIME, Some(each(&|way| way.freezes().1).iter().sum())),
        (BITRATE, per_second(&bits)),
        ("frames_per_second", per_second(&frames)),
        ("skipped", Some(skipped.iter().sum())),
        ("audio_delay", mean(&audio)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

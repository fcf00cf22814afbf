//! `Caller`: either half of an adaptive call.

use super::nada::{Control, DELTA, Observer};
use super::talk::{Arrival, HEADER_BYTES, Header, Kind, Reader, Report as Saw};
use super::{Call, METRIC};
use crate::application::{Application, StreamFailure, StreamHost};
use crate::check::StreamMismatch;
use crate::model::delays::{OVER_150MS, distribution};
use crate::model::video::{FREEZES, FROZEN_TIME, SHARES};
use crate::one_way::{Report, Role};
use crate::outcome::{Outcome, mean};
use crate::vod::BITRATE;
use base::{Duration, Instant, SocketId};
use wire::Payload;

/// Most bytes of one read.
const READ_BYTES: u32 = 256 << 10;
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
    /// Bytes that the socket did not accept yet.
    waiting: Payload,
    stream: u32,
    /// Bytes of virtual content written so far.
    offset: u64,
    video: Option<Sending>,
    watching: Option<Watching>,
    reader: Reader,
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
}

/// The video that this half receives.
#[derive(Default)]
struct Watching {
    observer: Observer,
    next_report: Option<Instant>,
    /// When the last frame was made and when it arrived.
    last: Option<(Instant, Instant)>,
    audio_delays: Vec<f64>,
    ended: bool,
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
        };
        Caller {
            call: *call,
            role,
            socket: None,
            waiting: Payload::Empty,
            stream: connection.wrapping_mul(2).wrapping_add(u32::from(!up)),
            offset: 0,
            video: sends.then_some(video),
            watching: watches.then(Watching::default),
            reader: Reader::default(),
            is_shut: false,
            peer_closed: false,
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
        if !self.waiting.is_empty() {
            let taken = host.write(socket, &self.waiting).min(self.waiting.len());
            self.waiting = self.waiting.slice(taken, self.waiting.len() - taken);
        }
        self.waiting.is_empty()
    }

    fn push(&mut self, host: &mut dyn StreamHost, message: Payload) {
        self.waiting.append(message);
        self.flush(host);
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
        self.finish(host);
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
            if let Some(video) = &mut self.video {
                video.ended = true;
            }
            let end = Header { kind: Kind::End, len: 0, made: now };
            self.push(host, end.to_payload());
        }
        let sent = self.video.as_ref().is_none_or(|video| video.ended);
        let seen = self.watching.as_ref().is_none_or(|watching| watching.ended);
        if sent && seen && self.waiting.is_empty() {
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
        loop {
            let payload = host.read(socket, READ_BYTES);
            if payload.is_empty() {
                break;
            }
            let now = host.now();
            self.report.bytes_read += u64::from(payload.len());
            self.report.last_read = Some(now);
            let Ok(arrivals) = self.reader.read(&payload) else {
                self.report.mismatch.get_or_insert(StreamMismatch::Frame);
                return;
            };
            arrivals.iter().for_each(|arrival| self.arrived(now, arrival));
        }
        self.pump(host);
    }

    fn arrived(&mut self, now: Instant, arrival: &Arrival) {
        match (arrival, &mut self.video, &mut self.watching) {
            (Arrival::Report(saw), Some(video), _) => {
                let rtt = now.since(saw.echo).saturating_sub(saw.held);
                video.control.on_report(now, &saw.seen, rtt);
            }
            (Arrival::Message(header), _, Some(watching)) => match header.kind {
                Kind::Frame => {
                    self.report.arrived.push(now);
                    let bytes = u64::from(header.len + HEADER_BYTES);
                    watching.observer.on_frame(now, now.since(header.made), bytes);
                    watching.last = Some((header.made, now));
                    watching.next_report.get_or_insert(now + DELTA);
                }
                Kind::Audio => {
                    watching.audio_delays.push(now.since(header.made).as_secs_f64());
                }
                Kind::End => watching.ended = true,
                Kind::Report => {}
            },
            _ => {}
        }
    }
}

impl Application for Caller {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        if self.role == Role::Client {
            self.report.started = Some(host.now());
            match host.connect() {
                Ok(socket) => self.socket = Some(socket),
                Err(failure) => self.report.failure = Some(failure),
            }
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.begin(host);
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.begin(host);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
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
        let video = self.video.as_ref();
        let times = [
            video.and_then(|video| video.next_frame),
            video.and_then(|video| video.next_audio),
            self.watching.as_ref().and_then(|watching| watching.next_report),
        ];
        times.into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        let report = &self.report;
        // An end of two closes its direction when it has sent and read everything.
        let is_read = self.video.is_none() || self.peer_closed;
        let is_whole = self.watching.as_ref().is_some_and(|watching| watching.ended) && is_read;
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
    let mut parts: Vec<_> = ways
        .iter()
        .flat_map(|way| way.receiver.report.parts_since(&way.sender.report, &client.report))
        .collect();
    parts.sort_by_key(|part| part.start);
    let delays: Vec<f64> =
        parts.iter().filter_map(|part| Some(part.delay?.as_secs_f64())).collect();
    Outcome {
        metric: METRIC,
        value: mean(&delays).filter(|_| ways.iter().all(Way::is_complete)),
        bytes_read: ways.iter().map(|way| way.receiver.report.bytes_read).sum(),
        extra: [distribution(&delays, SHARES), numbers(call, &ways)].concat(),
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
        let ended = self.receiver.watching.as_ref().is_some_and(|watching| watching.ended);
        let [sent, arrived] = [&self.sender.report.sent, &self.receiver.report.arrived];
        ended && sent.len() == arrived.len()
    }

    /// How often the picture froze, and for how long: a late frame leaves the one before it on the
    /// screen until the next is due.
    fn freezes(&self) -> (f64, f64) {
        let (sent, deadline) = (&self.sender.report.sent, OVER_150MS.1);
        let (mut count, mut frozen, mut was_late) = (0.0, 0.0, false);
        for (index, (made, arrived)) in sent.iter().zip(&self.receiver.report.arrived).enumerate() {
            let is_late = arrived.since(*made) > deadline;
            if is_late {
                let next = sent.get(index + 1).map_or(Duration::ZERO, |next| next.since(*made));
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

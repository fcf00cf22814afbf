//! `Player`: the client's half. It requests the film piece by piece until the viewer leaves.

use super::playback::Playback;
use super::services::{Block, HEAD_CONTENT, Service};
use super::{BITRATE, BLOCK, BUFFER, METRIC, PREFETCH, STALL_TIME, STALLS, SWITCHES, Vod, ladder};
use crate::application::{Application, StreamFailure, StreamHost};
use crate::check::StreamMismatch;
use crate::one_way::Report;
use crate::outcome::{Outcome, Part, mean};
use crate::web::Web;
use crate::web::exchange::{Arrival, Inbox, Outbox, Way, content_bytes};
use base::{Duration, Instant, SocketId};

/// The client of a film.
pub struct Player {
    vod: Vod,
    web: Web,
    /// Of a service with blocks.
    blocks: Vec<Block>,
    socket: Option<SocketId>,
    outbox: Outbox,
    inbox: Inbox,
    fetches: Vec<Fetch>,
    /// When the next piece is requested, if none is on its way.
    next_at: Option<Instant>,
    ends_at: Option<Instant>,
    playback: Playback,
    closed: bool,
    report: Report,
}

/// A piece of the film: a block or a segment.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    object: u32,
    asked: Instant,
    finished: Option<Instant>,
    /// Media of it that arrived.
    media: Duration,
}

impl Player {
    /// A client that has not started.
    pub fn new(vod: &Vod) -> Self {
        let web = vod.web();
        let blocks = if vod.service == Service::Dash { Vec::new() } else { vod.blocks() };
        Player {
            outbox: Outbox::new(Way::Request, web.http),
            inbox: Inbox::new(Way::Response),
            vod: *vod,
            web,
            blocks,
            socket: None,
            fetches: Vec::new(),
            next_at: None,
            ends_at: None,
            playback: Playback::default(),
            closed: false,
            report: Report::default(),
        }
    }

    /// The report of this half so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The socket of its connection, once there is one.
    pub const fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    /// The result of the run: the time until playing began, once the viewer has left.
    pub fn outcome(&self) -> Outcome {
        let origin = self.report.started.unwrap_or(Instant::ZERO);
        let begun = self.playback.begun().filter(|_| self.report.timed_out);
        let done = || self.fetches.iter().filter_map(|one| Some((one, one.finished?)));
        let part = |(one, finished): (&Fetch, Instant)| Part {
            start: Some(one.asked - origin),
            delay: Some(finished - one.asked),
        };
        let times: Vec<f64> =
            done().map(|(one, finished)| (finished - one.asked).as_secs_f64()).collect();
        Outcome {
            metric: METRIC,
            value: begun.map(|begun| (begun - origin).as_secs_f64()),
            bytes_read: self.report.bytes_read,
            extra: self.extra(&times),
            message_delays: times,
            parts: done().map(part).collect(),
        }
    }

    fn extra(&self, times: &[f64]) -> Vec<(&'static str, f64)> {
        let playback = &self.playback;
        let mut all = vec![
            (STALL_TIME, Some(playback.stalled().as_secs_f64())),
            (STALLS, Some(playback.stalls() as f64)),
            (BUFFER, playback.mean_level()),
        ];
        if self.vod.service == Service::Dash {
            let rungs: Vec<usize> =
                self.fetches.iter().map(|one| ladder::rung(one.object as usize)).collect();
            let rates: Vec<f64> = rungs.iter().map(|rung| ladder::LADDER[*rung] as f64).collect();
            let switches = rungs.windows(2).filter(|two| two[0] != two[1]).count();
            all.extend([(BITRATE, mean(&rates)), (SWITCHES, Some(switches as f64))]);
        } else {
            let (prefetch, blocks) = times.split_at(times.len().min(1));
            all.extend([(PREFETCH, prefetch.first().copied()), (BLOCK, mean(blocks))]);
        }
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Request the next piece, if it is due.
    fn pump(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        let (Some(socket), Some(_)) = (self.socket, self.next_at.filter(|at| *at <= now)) else {
            return;
        };
        self.next_at = None;
        self.playback.advance(now);
        let object = self.next_object();
        let Some(about) = self.web.page.objects().get(object) else { return };
        let (object, exchange) = (object as u32, self.fetches.len() as u64);
        self.outbox.push(object, about.urgency, about.request_bytes, exchange);
        let (asked, finished, media) = (now, None, Duration::ZERO);
        self.fetches.push(Fetch { object, asked, finished, media });
        self.outbox.flush(host, socket);
    }

    fn next_object(&self) -> usize {
        let number = self.fetches.len();
        if self.vod.service != Service::Dash {
            return number;
        }
        let last = self.fetches.last().map(|last| ladder::rung(last.object as usize));
        ladder::object(number, ladder::choose(last, self.playback.level()))
    }

    /// When the piece after one that was requested at `asked` and is complete is requested.
    fn due_after(&self, asked: Instant, now: Instant) -> Instant {
        if self.vod.service == Service::Dash {
            let beyond = self.playback.level() + ladder::SEGMENT;
            return now + beyond.saturating_sub(ladder::CAPACITY);
        }
        let number = self.fetches.len() - 1;
        let period = self.blocks.get(number).map_or(Duration::ZERO, |block| block.period);
        if number == 0 { now + period } else { (asked + period).max(now) }
    }

    fn receive(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while let Some((_, payload)) = self.web.http.read(host, socket) {
            if self.closed {
                continue;
            }
            let now = host.now();
            self.report.bytes_read += u64::from(payload.len());
            self.report.last_read = Some(now);
            let arrivals = self.inbox.read(&payload, &self.web.page);
            let news = arrivals.and_then(|arrivals| {
                arrivals.iter().try_for_each(|arrival| self.arrived(arrival, now))
            });
            if let Err(mismatch) = news {
                self.report.mismatch.get_or_insert(mismatch);
                return;
            }
        }
        self.pump(host);
    }

    fn arrived(&mut self, arrival: &Arrival, now: Instant) -> Result<(), StreamMismatch> {
        let bps = match self.vod.service {
            Service::Dash => ladder::LADDER[ladder::rung(arrival.object as usize)],
            service => service.block_bps(),
        };
        let total = content_bytes(self.web.page.objects()[arrival.object as usize].response_bytes);
        let Some(fetch) = self.fetches.last_mut().filter(|one| one.object == arrival.object) else {
            return Err(StreamMismatch::Frame);
        };
        if fetch.finished.is_some() || arrival.content > total {
            return Err(StreamMismatch::Frame);
        }
        let bytes = arrival.content.saturating_sub(HEAD_CONTENT);
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(bps);
        let media = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let more = media.saturating_sub(fetch.media);
        fetch.media = media;
        let asked = fetch.asked;
        fetch.finished = arrival.ends.then_some(now);
        self.playback.on_media(now, more);
        if arrival.ends {
            self.next_at = Some(self.due_after(asked, now));
        }
        Ok(())
    }

    /// The viewer leaves.
    fn leave(&mut self, host: &mut dyn StreamHost) {
        self.playback.advance(host.now());
        self.report.timed_out = true;
        (self.ends_at, self.next_at) = (None, None);
        if let Some(socket) = self.socket
            && !std::mem::replace(&mut self.closed, true)
        {
            host.shutdown(socket);
            host.close(socket);
        }
    }
}

impl Application for Player {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        let now = host.now();
        self.report.started = Some(now);
        self.ends_at = Some(now + self.vod.time);
        self.playback.advance(now);
        match host.connect() {
            Ok(socket) => self.socket = Some(socket),
            Err(failure) => self.report.failure = Some(failure),
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        let now = host.now();
        self.report.connected.get_or_insert(now);
        self.next_at = Some(now);
        self.pump(host);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.outbox.flush(host, socket);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.receive(host, socket);
        if !self.closed {
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
        if self.ends_at.is_some_and(|end| end <= host.now()) {
            self.leave(host);
        } else {
            self.pump(host);
        }
    }

    fn poll_deadline(&self) -> Option<Instant> {
        match (self.ends_at, self.next_at) {
            (Some(end), Some(next)) => Some(end.min(next)),
            (end, next) => end.or(next),
        }
    }

    fn is_done(&self) -> bool {
        let report = &self.report;
        report.timed_out || report.failure.is_some() || report.mismatch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Draws;

    /// Regression: the head of a response counted as media, 282 bytes of each piece.
    #[test]
    fn piece_has_the_media_of_its_bytes_and_none_of_its_head() {
        let time = Vod::DEFAULT_TIME;
        let mut player =
            Player::new(&Vod { service: Service::Dash, time, draws: Draws::default() });
        let (object, asked) = (3, Instant::ZERO);
        player.fetches.push(Fetch { object, asked, finished: None, media: Duration::ZERO });
        let total = content_bytes(player.web.page.objects()[3].response_bytes);
        for (content, ends, level) in [
            (HEAD_CONTENT, false, Duration::ZERO),
            // 750 kbit/s for four seconds are 375,000 bytes.
            (HEAD_CONTENT + 93_750, false, Duration::from_secs(1)),
            (total, true, ladder::SEGMENT),
        ] {
            let arrival = Arrival { object, content, ends };
            assert_eq!(player.arrived(&arrival, asked), Ok(()));
            assert_eq!(player.playback.level(), level, "after {content} bytes");
        }
    }
}

//! What a call puts on its line: video frames, audio and reports, each behind a small header.
//!
//! A header has the kind, the length behind it, and the time at which it was made by the clock of
//! its sender; contents are virtual but for those of reports. The bytes that arrive are untrusted.

use super::nada::Seen;
use base::{Duration, Instant};
use wire::Payload;

/// Bytes of a header: kind, length, time.
pub(super) const HEADER_BYTES: u32 = 13;
/// Bytes of a report behind its header: delay and rate, freedom, and the time of the last frame
/// with how long it was held.
const REPORT_BYTES: u32 = 25;
/// Longest content: a second at the highest rate.
const LONGEST: u32 = 1 << 20;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A frame of the video.
    Frame,
    /// Audio of 20 ms.
    Audio,
    /// What the receiver of a video saw.
    Report,
    /// Nothing follows but reports.
    End,
    /// The client of datagrams is there.
    Hello,
    /// The end has arrived, of datagrams.
    EndSeen,
}

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub kind: Kind,
    /// Bytes behind the header.
    pub len: u32,
    /// When it was made, by the clock of its sender.
    pub made: Instant,
}

/// A report with what is needed for the round-trip time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Report {
    pub seen: Seen,
    /// When the last frame that arrived was made, by the clock of its sender.
    pub echo: Instant,
    /// How long ago it arrived.
    pub held: Duration,
}

/// Bytes that are no message of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BadMessage;

impl Header {
    pub(super) fn to_payload(self) -> Payload {
        let kind = match self.kind {
            Kind::Frame => 0,
            Kind::Audio => 1,
            Kind::Report => 2,
            Kind::End => 3,
            Kind::Hello => 4,
            Kind::EndSeen => 5,
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&self.len.to_be_bytes());
        bytes.extend_from_slice(&self.made.as_nanos().to_be_bytes());
        bytes.into()
    }

    fn read(bytes: &[u8]) -> Result<Header, BadMessage> {
        let kind = match bytes[0] {
            0 => Kind::Frame,
            1 => Kind::Audio,
            2 => Kind::Report,
            3 => Kind::End,
            4 => Kind::Hello,
            5 => Kind::EndSeen,
            _ => return Err(BadMessage),
        };
        let len = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let is_sound = match kind {
            Kind::Frame | Kind::Audio => len <= LONGEST,
            Kind::Report => len == REPORT_BYTES,
            Kind::End | Kind::Hello | Kind::EndSeen => len == 0,
        };
        let made = Instant::from_nanos(number(&bytes[5..]));
        if is_sound { Ok(Header { kind, len, made }) } else { Err(BadMessage) }
    }
}

impl Report {
    /// The whole message.
    pub(super) fn to_payload(self, now: Instant) -> Payload {
        let header = Header { kind: Kind::Report, len: REPORT_BYTES, made: now };
        let Report { seen, echo, held } = self;
        let mut bytes = Vec::new();
        let whole = |value: f64| (value.max(0.0) * 1e6) as u64;
        bytes.extend_from_slice(&(whole(seen.delay) as u32).to_be_bytes());
        bytes.extend_from_slice(&(seen.received_bps as u64).to_be_bytes());
        bytes.push(u8::from(seen.is_free));
        bytes.extend_from_slice(&echo.as_nanos().to_be_bytes());
        bytes.extend_from_slice(&(held.as_micros().min(u32::MAX.into()) as u32).to_be_bytes());
        let mut message = header.to_payload();
        message.append(bytes.into());
        message
    }

    fn read(bytes: &[u8]) -> Report {
        let micros =
            |bytes: &[u8]| u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let seen = Seen {
            delay: micros(bytes) as f64 / 1e6,
            received_bps: number(&bytes[4..]) as f64,
            is_free: bytes[12] != 0,
        };
        let echo = Instant::from_nanos(number(&bytes[13..]));
        Report { seen, echo, held: Duration::from_micros(micros(&bytes[21..])) }
    }
}

/// The first eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arrival {
    /// A whole message without a content of its own.
    Message(Header),
    /// A whole report.
    Report(Report),
}

/// Splits a stream into messages, piece by piece as it is read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Bytes of a header, or of a report.
    bytes: Vec<u8>,
    header: Option<Header>,
    /// Bytes of the content not read yet.
    left: u32,
}

impl Reader {
    /// The messages that `payload` completes.
    pub(super) fn read(&mut self, payload: &Payload) -> Result<Vec<Arrival>, BadMessage> {
        let mut arrivals = Vec::new();
        let mut at = 0;
        while at < payload.len() {
            let there = payload.len() - at;
            let Some(header) = self.header else {
                let take = (HEADER_BYTES - self.bytes.len() as u32).min(there);
                payload.slice(at, take).write_to(&mut self.bytes);
                at += take;
                if self.bytes.len() as u32 == HEADER_BYTES {
                    let header = Header::read(&self.bytes)?;
                    self.bytes.clear();
                    (self.header, self.left) = (Some(header), header.len);
                    arrivals.extend(self.whole(header));
                }
                continue;
            };
            let take = self.left.min(there);
            if header.kind == Kind::Report {
                payload.slice(at, take).write_to(&mut self.bytes);
            }
            at += take;
            self.left -= take;
            arrivals.extend(self.whole(header));
        }
        Ok(arrivals)
    }

    /// The message, if all of it was read.
    fn whole(&mut self, header: Header) -> Option<Arrival> {
        if self.left > 0 {
            return None;
        }
        self.header = None;
        let bytes = std::mem::take(&mut self.bytes);
        Some(match header.kind {
            Kind::Report => Arrival::Report(Report::read(&bytes)),
            _ => Arrival::Message(header),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> (Payload, Vec<Arrival>) {
        let seen = Seen { delay: 0.0125, received_bps: 950_000.0, is_free: true };
        let (echo, held) = (Instant::from_millis(77), Duration::from_micros(1500));
        let report = Report { seen, echo, held };
        let frame = Header { kind: Kind::Frame, len: 3000, made: Instant::from_millis(5) };
        let end = Header { kind: Kind::End, len: 0, made: Instant::from_millis(9) };
        let mut stream = frame.to_payload();
        stream.append(Payload::virtual_range(3, 0, 3000));
        stream.append(report.to_payload(Instant::from_millis(8)));
        stream.append(end.to_payload());
        (stream, vec![Arrival::Message(frame), Arrival::Report(report), Arrival::Message(end)])
    }

    #[test]
    fn stream_cut_anywhere_yields_its_messages() {
        let (stream, expected) = messages();
        for step in [1, 2, 7, 12, 13, 500, 5000] {
            let (mut reader, mut found, mut at) = (Reader::default(), Vec::new(), 0);
            while at < stream.len() {
                let take = step.min(stream.len() - at);
                found.extend(reader.read(&stream.slice(at, take)).expect("sound"));
                at += take;
            }
            assert_eq!(found, expected, "in steps of {step}");
        }
    }

    #[test]
    fn bad_headers_are_refused() {
        let refused = |bytes: Vec<u8>| Reader::default().read(&bytes.into()).is_err();
        assert!(refused(vec![4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert!(refused(vec![6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert!(refused(vec![0, 9, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert!(refused(vec![2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
    }
}

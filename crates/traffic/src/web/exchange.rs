//! Requests and responses on one connection: which frame is written next, and what has been read.
//!
//! A message is a frame of headers and frames of data. Of several messages the most urgent one is
//! served; messages of equal urgency alternate frame by frame (RFC 9218 s10). With one message at a
//! time, or messages that are written whole, this is HTTP/1.1. A frame that has begun is finished
//! first. Which exchange a connection may carry is left to `pool`.

use super::frame::{FrameReader, HEADER_BYTES, Header, Kind, LONGEST};
use super::{Http, page::Page};
use crate::application::{MessageInfo, StreamHost};
use crate::check::{StreamCheck, StreamMismatch};
use base::SocketId;
use std::collections::BTreeMap;
use wire::Payload;

/// Most bytes of one call of `write`.
const WRITE_BYTES: u32 = 64 << 10;
/// Longest payload of a data frame with concurrent streams (RFC 9113 s4.2).
const SHARED_FRAME: u32 = 1 << 14;
/// In place of an object in frames of what opens a connection; pages have fewer objects.
pub(crate) const GREETING: u32 = u32::MAX >> 1;
/// Least length of a message: the headers of two frames.
const LEAST_BYTES: u64 = 2 * HEADER_BYTES as u64;

/// Direction of a message; each has virtual streams of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Request,
    Response,
}

impl Way {
    const fn stream(self, object: u32) -> u32 {
        match self {
            Way::Request => object.wrapping_mul(2),
            Way::Response => object.wrapping_mul(2).wrapping_add(1),
        }
    }
}

/// Bytes of data in a message of `bytes`.
pub(crate) const fn content_bytes(bytes: u64) -> u64 {
    bytes.saturating_sub(LEAST_BYTES)
}

/// The writing side.
#[derive(Debug)]
pub(crate) struct Outbox {
    way: Way,
    longest: u32,
    /// Messages do not alternate: each is written whole.
    keeps_order: bool,
    /// Streams of the association that frames are messages on; `None`: frames are on a byte
    /// stream.
    streams: Option<u16>,
    messages: Vec<Message>,
    /// The frame that has begun and is not yet written, and its stream.
    pending: Payload,
    stream: u16,
    /// Counts frames and messages; the message served longest ago has the smallest number.
    turn: u64,
}

#[derive(Debug)]
struct Message {
    object: u32,
    /// Number of the exchange on the connection.
    exchange: u64,
    urgency: u8,
    content: u64,
    sent: u64,
    begun: bool,
    served: u64,
}

impl Outbox {
    pub(crate) fn new(way: Way, http: Http) -> Self {
        let longest = match http {
            Http::One { .. } | Http::Pipelined { .. } => LONGEST,
            Http::Two | Http::Streams(_) => SHARED_FRAME,
        };
        let streams = match http {
            Http::Streams(streams) => Some(streams.max(1)),
            Http::One { .. } | Http::Pipelined { .. } | Http::Two => None,
        };
        let (messages, pending) = (Vec::new(), Payload::EMPTY);
        let keeps_order = http.keeps_order();
        Outbox { way, longest, keeps_order, streams, messages, pending, stream: 0, turn: 0 }
    }

    /// Queue a message of `bytes` about an object, in the exchange of this number.
    pub(crate) fn push(&mut self, object: u32, urgency: u8, bytes: u64, exchange: u64) {
        let content = content_bytes(bytes);
        let served = self.turn;
        self.turn += 1;
        let (sent, begun) = (0, false);
        self.messages.push(Message { object, exchange, urgency, content, sent, begun, served });
    }

    /// Write as much as the socket accepts.
    pub(crate) fn flush(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            if self.pending.is_empty() {
                // Messages have the headers of two frames at most.
                let most = host.largest_message().unwrap_or(u32::MAX);
                let most = most.saturating_sub(LEAST_BYTES as u32).max(1);
                match self.next_frame(if self.streams.is_some() { most } else { u32::MAX }) {
                    Some(frame) => self.pending = frame,
                    None => return,
                }
            }
            if self.streams.is_some() {
                let info = MessageInfo { stream: self.stream, ..MessageInfo::default() };
                if !host.send_message(socket, &self.pending, info) {
                    return;
                }
                self.pending = Payload::EMPTY;
                continue;
            }
            let offered = self.pending.len().min(WRITE_BYTES);
            let taken = host.write(socket, &self.pending.slice(0, offered)).min(offered);
            self.pending = self.pending.slice(taken, self.pending.len() - taken);
            if taken < offered {
                return;
            }
        }
    }

    /// The next frame of the message to be served; preceded by its headers if it is the first one.
    fn next_frame(&mut self, most: u32) -> Option<Payload> {
        let order = |message: &(usize, &Message)| (message.1.urgency, message.1.served);
        let (index, _) = self.messages.iter().enumerate().min_by_key(order)?;
        let message = &mut self.messages[index];
        let (object, left) = (message.object, message.content - message.sent);
        let len = left.min(self.longest.min(most).into()) as u32;
        let stream = self.streams.map_or(0, |streams| message.exchange % u64::from(streams));
        self.stream = u16::try_from(stream).unwrap_or(0);
        let ends = u64::from(len) == left;
        let mut head = Vec::new();
        if !message.begun {
            message.begun = true;
            Header { kind: Kind::Headers, len: 0, object, ends: false }.write_to(&mut head);
        }
        Header { kind: Kind::Data, len, object, ends }.write_to(&mut head);
        let mut frame = Payload::from(head);
        frame.append(Payload::virtual_range(self.way.stream(object), message.sent, len));
        message.sent += u64::from(len);
        if !self.keeps_order {
            message.served = self.turn;
            self.turn += 1;
        }
        if ends {
            self.messages.remove(index);
        }
        Some(frame)
    }
}

/// The reading side.
#[derive(Debug)]
pub(crate) struct Inbox {
    way: Way,
    /// Whether a greeting may arrive.
    is_greeted: bool,
    frames: FrameReader,
    open: BTreeMap<u32, StreamCheck>,
}

/// Progress of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub object: u32,
    /// Bytes of its data read so far.
    pub content: u64,
    /// The message is complete.
    pub ends: bool,
}

impl Inbox {
    pub(crate) fn new(way: Way) -> Self {
        let (frames, open) = (FrameReader::default(), BTreeMap::new());
        Inbox { way, is_greeted: false, frames, open }
    }

    /// The same for a connection on which a greeting may arrive.
    pub(crate) fn greeted(self, is_greeted: bool) -> Self {
        Inbox { is_greeted, ..self }
    }

    /// The progress made by `payload`, which is untrusted.
    pub(crate) fn read(
        &mut self,
        payload: &Payload,
        page: &Page,
    ) -> Result<Vec<Arrival>, StreamMismatch> {
        let pieces = self.frames.read(payload).map_err(|_| StreamMismatch::Frame)?;
        let mut arrivals = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let object = piece.header.object;
            let is_greeting = object == GREETING && self.is_greeted;
            if object as usize >= page.objects().len() && !is_greeting {
                return Err(StreamMismatch::Frame);
            }
            let stream = self.way.stream(object);
            let check = match (piece.header.kind, self.open.get_mut(&object)) {
                (Kind::Headers, None) => {
                    self.open.entry(object).or_insert_with(|| StreamCheck::new(stream))
                }
                (Kind::Data, Some(check)) => check,
                _ => return Err(StreamMismatch::Frame),
            };
            check.advance(&piece.content)?;
            let content = check.bytes_read();
            let ends = piece.complete && piece.header.ends;
            if ends {
                self.open.remove(&object);
            }
            arrivals.push(Arrival { object, content, ends });
        }
        Ok(arrivals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a message longer than a frame alternated with those behind it.
    #[test]
    fn answers_of_a_pipelined_connection_keep_their_order_however_long_they_are() {
        let mut outbox = Outbox::new(Way::Response, Http::SIX_PIPELINED);
        outbox.push(0, 0, 40 << 20, 0);
        outbox.push(1, 0, 1000, 1);
        let (mut reader, mut objects) = (FrameReader::default(), Vec::new());
        while let Some(frame) = outbox.next_frame(u32::MAX) {
            let pieces = reader.read(&frame).expect("frames");
            objects.extend(pieces.iter().map(|piece| piece.header.object));
        }
        objects.dedup();
        assert_eq!(objects, [0, 1]);
    }
}

//! `Line`: how the messages of a call travel: on a stream, or each as a datagram.
//!
//! A datagram is a number and a message. The number counts the frames of its sender, so that the
//! receiver sees which are lost; a stream has them all, in order. What a datagram carries is
//! written once: what the host does not take, and what the network loses, is not sent again.

use super::talk::{Arrival, BadMessage, Reader};
use crate::application::{MessageInfo, StreamHost};
use base::SocketId;
use wire::Payload;

/// Most bytes of one read.
const READ_BYTES: u32 = 256 << 10;
/// Bytes of the number.
const NUMBER_BYTES: u32 = 4;

/// One end of a call's way.
pub(super) enum Line {
    Stream {
        /// Bytes that the socket did not accept yet.
        waiting: Payload,
        reader: Reader,
    },
    Datagrams,
}

/// What was read, and of datagrams the number.
pub(super) type Numbered = (Option<u32>, Arrival);

impl Line {
    /// An empty stream.
    pub(super) fn stream() -> Line {
        Line::Stream { waiting: Payload::EMPTY, reader: Reader::default() }
    }

    pub(super) const fn is_stream(&self) -> bool {
        matches!(self, Line::Stream { .. })
    }

    /// Writes what waits. Whether nothing waits any more.
    pub(super) fn flush(&mut self, host: &mut dyn StreamHost, socket: SocketId) -> bool {
        let Line::Stream { waiting, .. } = self else { return true };
        if !waiting.is_empty() {
            let taken = host.write(socket, waiting).min(waiting.len());
            *waiting = waiting.slice(taken, waiting.len() - taken);
        }
        waiting.is_empty()
    }

    /// Sends a message, which has this number among the frames.
    pub(super) fn put(
        &mut self,
        host: &mut dyn StreamHost,
        socket: Option<SocketId>,
        (number, message): (u32, Payload),
    ) {
        match (self, socket) {
            (line @ Line::Stream { .. }, socket) => {
                if let Line::Stream { waiting, .. } = line {
                    waiting.append(message);
                }
                if let Some(socket) = socket {
                    line.flush(host, socket);
                }
            }
            (Line::Datagrams, Some(socket)) => {
                let mut datagram = Payload::from(number.to_be_bytes().to_vec());
                datagram.append(message);
                host.send_message(socket, &datagram, MessageInfo::default());
            }
            (Line::Datagrams, None) => {}
        }
    }

    /// The next messages and the bytes that they came in; `None`: nothing is there.
    pub(super) fn take(
        &mut self,
        host: &mut dyn StreamHost,
        socket: SocketId,
    ) -> Option<(u32, Result<Vec<Numbered>, BadMessage>)> {
        match self {
            Line::Stream { reader, .. } => {
                let payload = host.read(socket, READ_BYTES);
                let arrivals = (!payload.is_empty()).then(|| reader.read(&payload))?;
                let arrivals = arrivals.map(|all| all.into_iter().map(|one| (None, one)).collect());
                Some((payload.len(), arrivals))
            }
            Line::Datagrams => {
                let (_, datagram) = host.receive_message(socket)?;
                Some((datagram.len(), of_datagram(&datagram)))
            }
        }
    }
}

/// The message of a datagram, which is untrusted.
fn of_datagram(datagram: &Payload) -> Result<Vec<Numbered>, BadMessage> {
    if datagram.len() < NUMBER_BYTES {
        return Err(BadMessage);
    }
    let bytes = datagram.slice(0, NUMBER_BYTES).to_bytes();
    let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let message = datagram.slice(NUMBER_BYTES, datagram.len() - NUMBER_BYTES);
    let arrivals = Reader::default().read(&message)?;
    if arrivals.len() != 1 {
        return Err(BadMessage);
    }
    Ok(arrivals.into_iter().map(|arrival| (Some(number), arrival)).collect())
}

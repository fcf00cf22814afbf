//! Netlink by bytes, for the two families that need no more of it than a header and a list of
//! attributes: generic netlink (`mptcp_pm`) and socket diagnosis (`sock_diag`).
//!
//! One request, its answers, no threads. A connection uses the namespace it was opened in,
//! whichever thread calls it. The meaning of requests and answers is left to those two.

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use netlink_sys::{Socket, SocketAddr};
use std::io;

/// Length of the header of a message (Linux `struct nlmsghdr`).
const HEADER: usize = 16;
/// Types of messages that end an answer (Linux NLMSG_ERROR, NLMSG_DONE).
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Marks an attribute that consists of attributes (Linux NLA_F_NESTED).
const NESTED: u16 = 1 << 15;

/// A connection to one family of netlink.
pub(crate) struct RawNetlink {
    socket: Socket,
    sequence: u32,
}

impl RawNetlink {
    /// To `protocol` in the namespace that the calling thread is in.
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(RawNetlink { socket, sequence: 0 })
    }

    /// Ask for something to be done.
    pub(crate) fn command(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.request(kind, NLM_F_ACK, body)
    }

    /// Ask for everything there is of a kind; the bodies of the answers.
    pub(crate) fn dump(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.request(kind, NLM_F_DUMP, body)
    }

    fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let mut request = Vec::with_capacity(HEADER + body.len());
        request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        request.extend(self.sequence.to_ne_bytes());
        request.extend(0u32.to_ne_bytes());
        request.extend(body);
        self.socket.send(&request, 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            if self.take(&datagram, &mut answers)? {
                return Ok(answers);
            }
        }
    }

    /// Keep what a datagram answers; whether it was the last one.
    fn take(&self, datagram: &[u8], answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
        let mut rest = datagram;
        while let Some((kind, sequence, body, behind)) = split(rest) {
            rest = behind;
            match kind {
                _ if sequence != self.sequence => {}
                DONE => return Ok(true),
                ERROR => match i32::from_ne_bytes(array(body, 0).unwrap_or_default()) {
                    0 => return Ok(true),
                    code => return Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                },
                _ => answers.push(body.to_vec()),
            }
        }
        Ok(false)
    }
}

/// Kind, sequence number and body of the first message, and what follows it.
fn split(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let len = u32::from_ne_bytes(array(bytes, 0)?) as usize;
    let kind = u16::from_ne_bytes(array(bytes, 4)?);
    let sequence = u32::from_ne_bytes(array(bytes, 8)?);
    let body = bytes.get(HEADER..len)?;
    let next = len.checked_next_multiple_of(4)?;
    Some((kind, sequence, body, bytes.get(next..).unwrap_or(&[])))
}

/// The `N` bytes at `offset`, or `None` if there are fewer.
pub(crate) fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

/// Append an attribute.
pub(crate) fn push_attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend(((4 + value.len()) as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Append an attribute that consists of attributes.
pub(crate) fn push_nested(out: &mut Vec<u8>, kind: u16, inner: &[u8]) {
    push_attribute(out, kind | NESTED, inner);
}

/// Kinds and values of a list of attributes, up to the first one that is cut short.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(array(bytes, 0)?));
        let kind = u16::from_ne_bytes(array(bytes, 2)?) & !NESTED;
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The value of the first attribute of a kind.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_in_order_whatever_their_length() {
        let mut out = Vec::new();
        push_attribute(&mut out, 1, &[7]);
        push_nested(&mut out, 2, &[1, 2, 3, 4, 5]);
        push_attribute(&mut out, 3, &[]);
        let found: Vec<_> = attributes(&out).collect();
        assert_eq!(found, [(1, &[7][..]), (2, &[1, 2, 3, 4, 5]), (3, &[])]);
        assert_eq!(attribute(&out, 2), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(attribute(&out, 4), None);
    }

    #[test]
    fn broken_attributes_and_messages_end_the_list() {
        for bytes in [&[][..], &[0, 0, 1, 0], &[3, 0, 1, 0], &[9, 0, 1, 0, 5, 5, 5, 5], &[8, 0, 1]]
        {
            assert_eq!(attributes(bytes).count(), 0, "{bytes:?}");
        }
        for len in [0u32, 15, 21, u32::MAX] {
            let mut message = len.to_ne_bytes().to_vec();
            message.resize(20, 0);
            assert!(split(&message).is_none(), "{len}");
        }
    }
}

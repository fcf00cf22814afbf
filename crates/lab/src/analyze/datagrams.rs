//! `Datagrams`: the UDP conversation of a capture with the most payload.
//!
//! SCTP over UDP (RFC 6951) is left to the analysis of associations. The client is the end that
//! sent the first datagram.

use super::capture::{contents, identification};
use super::copies;
use super::talkers::Header;
use base::Instant;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::{CaptureError, CaptureReader, CapturedPacket};

const UDP: u8 = 17;
/// UDP port of SCTP (RFC 6951 s5.1).
const SCTP_OVER_UDP: u16 = 9899;

/// Datagrams between two UDP ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagrams {
    /// The end that sent the first one.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// Payload bytes of both directions.
    pub bytes: u64,
    /// On datagrams that were captured twice.
    pub copies: Option<String>,
    /// When each was captured, whether the client sent it, and its payload in bytes; in the order
    /// of time.
    pub sent: Vec<(Instant, bool, u64)>,
}

/// A datagram of the conversation.
struct Sent {
    time: Instant,
    src: SocketAddr,
    len: u64,
    identification: u16,
    content: u64,
}

/// Reads the conversation up to the first damage; `None` without UDP payload.
pub fn datagrams(file: &[u8]) -> Result<Option<Datagrams>, CaptureError> {
    let mut bytes: BTreeMap<[SocketAddr; 2], u64> = BTreeMap::new();
    each(file, |_, header| {
        *bytes.entry(ends_of(header)).or_default() += header.payload_bytes;
    })?;
    // The first of equal ones.
    let most = bytes.iter().rev().max_by_key(|(_, bytes)| **bytes);
    let Some((ends, _)) = most.filter(|(_, bytes)| **bytes > 0) else { return Ok(None) };
    let mut sent = Vec::new();
    each(file, |packet, header| {
        if ends_of(header) == *ends && header.payload_bytes > 0 {
            sent.push(Sent {
                time: packet.time,
                src: header.src,
                len: header.payload_bytes,
                identification: identification(packet.datagram),
                content: contents(packet.datagram).next().unwrap_or_default(),
            });
        }
    })?;
    sent.sort_by_key(|one| one.time);
    let copies = copies::remove_datagrams(&mut sent, |one| {
        let is_known = one.identification != 0;
        (one.time, is_known.then_some((one.src, one.identification, one.content)))
    });
    let Some(&Sent { src: client, .. }) = sent.first() else { return Ok(None) };
    let server = if ends[0] == client { ends[1] } else { ends[0] };
    let bytes = sent.iter().map(|one| one.len).sum();
    let sent = sent.into_iter().map(|one| (one.time, one.src == client, one.len)).collect();
    Ok(Some(Datagrams { client, server, bytes, copies, sent }))
}

/// Both ends, the lower address first.
fn ends_of(header: &Header<'_>) -> [SocketAddr; 2] {
    [header.src.min(header.dst), header.src.max(header.dst)]
}

/// Visits every UDP datagram of a capture.
fn each(
    file: &[u8],
    mut visit: impl FnMut(&CapturedPacket<'_>, &Header<'_>),
) -> Result<(), CaptureError> {
    for packet in CaptureReader::new(file)? {
        let packet = match packet {
            Ok(packet) => packet,
            // Other interfaces of the file can be read.
            Err(CaptureError::LinkType { .. }) => continue,
            Err(_) => break,
        };
        let Some(header) = Header::read(packet.datagram) else { continue };
        // The first fragment names the length of the datagram.
        if header.fragment.is_some_and(|fragment| fragment.is_later) {
            continue;
        }
        let is_sctp = [header.src.port(), header.dst.port()].contains(&SCTP_OVER_UDP);
        if header.protocol == UDP && !is_sctp {
            visit(&packet, &header);
        }
    }
    Ok(())
}

//! `Datagrams`: the UDP conversation of a capture with the most payload.
//!
//! SCTP over UDP (RFC 6951) is left to the analysis of associations. The client is the end that
//! sent the first datagram.

use super::talkers::Header;
use base::Instant;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::{CaptureError, CaptureReader};

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
    /// When each was captured, whether the client sent it, and its payload in bytes; in the order
    /// of time.
    pub sent: Vec<(Instant, bool, u64)>,
}

/// Reads the conversation up to the first damage; `None` without UDP payload.
pub fn datagrams(file: &[u8]) -> Result<Option<Datagrams>, CaptureError> {
    let mut bytes: BTreeMap<[SocketAddr; 2], u64> = BTreeMap::new();
    each(file, |_, header| {
        *bytes.entry(ends_of(header)).or_default() += header.payload_bytes;
    })?;
    // The first of equal ones.
    let most = bytes.iter().rev().max_by_key(|(_, bytes)| **bytes);
    let Some((ends, bytes)) = most.filter(|(_, bytes)| **bytes > 0) else { return Ok(None) };
    let mut sent = Vec::new();
    each(file, |time, header| {
        if ends_of(header) == *ends && header.payload_bytes > 0 {
            sent.push((time, header.src, header.payload_bytes));
        }
    })?;
    sent.sort_by_key(|(time, ..)| *time);
    let Some(&(_, client, _)) = sent.first() else { return Ok(None) };
    let server = if ends[0] == client { ends[1] } else { ends[0] };
    let sent = sent.into_iter().map(|(time, src, len)| (time, src == client, len)).collect();
    Ok(Some(Datagrams { client, server, bytes: *bytes, sent }))
}

/// Both ends, the lower address first.
fn ends_of(header: &Header<'_>) -> [SocketAddr; 2] {
    [header.src.min(header.dst), header.src.max(header.dst)]
}

/// Visits every UDP datagram of a capture.
fn each(file: &[u8], mut visit: impl FnMut(Instant, &Header<'_>)) -> Result<(), CaptureError> {
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
            visit(packet.time, &header);
        }
    }
    Ok(())
}

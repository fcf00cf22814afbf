//! The TCP segments of a capture file, with what the analysis needs of each.
//!
//! Packets cut short by the capture keep the length that their IP header names. Packets other than
//! TCP, and unreadable ones, are counted.

use super::talkers::Counts;
use base::Instant;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::{
    Body, CaptureError, CaptureReader, Flags, Layer, Packet, ParseError, SeqNumber, TcpOptions,
};

/// IP protocol of SCTP.
const SCTP: u8 = 132;

/// A segment as seen at the point of capture.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub time: Instant,
    /// Index into the names of the file's interfaces.
    pub interface: usize,
    pub src: SocketAddr,
    pub dst: SocketAddr,
    pub seq: SeqNumber,
    pub ack: SeqNumber,
    pub flags: Flags,
    pub options: TcpOptions,
    /// Bytes of payload.
    pub len: u64,
}

/// Contents of a capture file.
pub(super) struct Captured {
    pub segments: Vec<Segment>,
    /// IP packets of any kind.
    pub packets: u64,
    /// Times of the earliest and the latest packet.
    pub span: Option<(Instant, Instant)>,
    /// Names of the interfaces; empty for interfaces without a name.
    pub names: Vec<String>,
    /// Packets by protocol and by pair of hosts.
    pub counts: Counts,
    /// Notes on omitted packets.
    pub notes: Vec<String>,
}

/// Reads a file up to the first damage.
pub(super) fn read(file: &[u8]) -> Result<Captured, CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let (segments, names, notes) = (Vec::new(), Vec::new(), Vec::new());
    let counts = Counts::default();
    let mut captured = Captured { segments, packets: 0, span: None, names, counts, notes };
    let mut unread: BTreeMap<String, u64> = BTreeMap::new();
    for packet in reader.by_ref() {
        let packet = match packet {
            Ok(packet) => packet,
            Err(damage) => {
                captured.notes.push(format!(
                    "the file is damaged; read up to the damage: \
                    {damage}"
                ));
                break;
            }
        };
        captured.packets += 1;
        captured.counts.packet(packet.datagram);
        let (start, end) = captured.span.unwrap_or((packet.time, packet.time));
        captured.span = Some((start.min(packet.time), end.max(packet.time)));
        match segment(packet.datagram) {
            Ok(Some(segment)) => captured.segments.push(Segment {
                time: packet.time,
                interface: packet.interface,
                ..segment
            }),
            // Counted as the others.
            Ok(None) => {}
            Err(why) => *unread.entry(why).or_default() += 1,
        }
    }
    captured.names = (0..).map_while(|n| reader.interface_name(n).map(str::to_owned)).collect();
    let left_out = unread.into_iter().map(|(why, count)| format!("{count} left out: {why}"));
    captured.notes.extend(left_out);
    Ok(captured)
}

/// Parses a segment; `None` if the packet is not TCP.
fn segment(datagram: &[u8]) -> Result<Option<Segment>, String> {
    let whole = whole_len(datagram);
    let packet = if datagram.len() < whole {
        let mut padded = datagram.to_vec();
        padded.resize(whole, 0);
        Packet::parse_captured(&padded)
    } else {
        Packet::parse_captured(datagram)
    };
    let packet = packet.map_err(|error| without_sctp(error).to_string())?;
    let segment = match packet.body {
        Body::Tcp(segment) => segment,
        Body::Sctp(_) => return Err(ParseError::Protocol(SCTP).to_string()),
        _ => return Ok(None),
    };
    let len = u64::from(segment.payload.len());
    Ok(Some(Segment {
        time: Instant::ZERO,
        interface: 0,
        src: SocketAddr::new(packet.src, segment.src_port),
        dst: SocketAddr::new(packet.dst, segment.dst_port),
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags,
        options: segment.options,
        len,
    }))
}

/// The same reason for every SCTP packet, whole or not: it is not analysed.
const fn without_sctp(error: ParseError) -> ParseError {
    match error {
        ParseError::Truncated { layer: Layer::Sctp, .. }
        | ParseError::Length { layer: Layer::Sctp, .. }
        | ParseError::PortZero(Layer::Sctp)
        | ParseError::Adler32 => ParseError::Protocol(SCTP),
        other => other,
    }
}

/// Bytes of the datagram when it was sent; 0 if its headers were cut.
fn whole_len(datagram: &[u8]) -> usize {
    // The TCP header with all options must be there: IPv4 with options takes at most 60 + 60.
    match datagram {
        [first, _, high, low, ..] if first >> 4 == 4 && has_headers(datagram, first, 9) => {
            usize::from(u16::from_be_bytes([*high, *low]))
        }
        [first, _, _, _, high, low, ..] if first >> 4 == 6 && has_headers(datagram, first, 6) => {
            40 + usize::from(u16::from_be_bytes([*high, *low]))
        }
        _ => 0,
    }
}

/// Whether the datagram has an IP header followed by a complete TCP header.
fn has_headers(datagram: &[u8], first: &u8, protocol_at: usize) -> bool {
    const TCP: u8 = 6;
    let ip = if first >> 4 == 4 { usize::from(first & 15) * 4 } else { 40 };
    let tcp = datagram.get(ip + 12).map(|offset| usize::from(offset >> 4) * 4);
    datagram.get(protocol_at) == Some(&TCP) && tcp.is_some_and(|tcp| datagram.len() >= ip + tcp)
}

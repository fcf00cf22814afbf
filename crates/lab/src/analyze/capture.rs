//! The TCP segments and SCTP packets of a capture file, with what the analysis needs of each.
//!
//! Segments cut short by the capture keep the length that their IP header names and the options
//! before the cut, SCTP packets the chunks of which all but user data was captured. Other packets,
//! and unreadable ones, are counted.

use super::parts::{Parts, cut_header, fill_options, plain};
use super::sctp::Unit;
use super::talkers::{Counts, Ip};
use base::Instant;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use wire::sctp::{Chunk, Data, IData, UdpPorts};
use wire::{
    Body, CaptureError, CaptureReader, Flags, Layer, Packet, ParseError, Payload, SctpPacket,
    SeqNumber, TcpOptions, UdpDatagram,
};

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const UDP_HEADER: usize = 8;
/// UDP port of SCTP (RFC 6951 s5.1).
const SCTP_OVER_UDP: u16 = 9899;

/// A segment as seen at the point of capture.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub time: Instant,
    /// Index into the names of the file's interfaces.
    pub interface: usize,
    pub src: SocketAddr,
    pub dst: SocketAddr,
    /// Identification of the IPv4 header, 0 for IPv6.
    pub identification: u16,
    pub seq: SeqNumber,
    pub ack: SeqNumber,
    pub flags: Flags,
    pub options: TcpOptions,
    /// Bytes of payload.
    pub len: u64,
}

/// Contents of a capture file.
#[derive(Default)]
pub(super) struct Captured {
    pub segments: Vec<Segment>,
    /// SCTP packets.
    pub units: Vec<Unit>,
    /// SCTP packets that were left out because their checksum is that of RFC 2960.
    pub adler32_packets: u64,
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
    let mut captured = Captured::default();
    let mut unread: BTreeMap<String, u64> = BTreeMap::new();
    let (mut malformed, mut parts, mut cut) = (Malformed::default(), Parts::default(), 0_u64);
    let mut unsupported = None;
    while let Some(packet) = reader.next() {
        let packet = match packet {
            Ok(packet) => packet,
            Err(why @ CaptureError::LinkType { link, .. }) => {
                unsupported = unsupported.or(Some(why));
                *unread.entry(format!("link type {link} is not supported")).or_default() += 1;
                continue;
            }
            Err(damage) => {
                captured.notes.push(format!(
                    "the file is damaged; read up to the damage: \
                    {damage}"
                ));
                break;
            }
        };
        captured.packets += 1;
        let (start, end) = captured.span.unwrap_or((packet.time, packet.time));
        captured.span = Some((start.min(packet.time), end.max(packet.time)));
        let (time, interface) = (packet.time, first_of_name(&reader, packet.interface));
        let (datagram, beyond) = with_length(packet.datagram, packet.len);
        let found = match parts.is_later(interface, &datagram, &mut captured.segments) {
            true => Ok(Found::Other),
            false => found(&datagram, beyond),
        };
        captured.counts.packet(&datagram, packet.len as u64, matches!(found, Ok(Found::Units(_))));
        match found {
            Ok(Found::Segment(segment)) => {
                captured.segments.push(Segment { time, interface, ..segment });
                parts.found(interface, &datagram, &mut captured.segments);
                let ip = Ip::read(&datagram);
                cut += u64::from(ip.is_some_and(|ip| cut_header(&datagram, &ip).is_some()));
            }
            Ok(Found::Units(units)) => {
                let (identification, contents) = (identification(&datagram), contents(&datagram));
                let units = units.into_iter().zip(contents);
                captured.units.extend(units.map(|(unit, content)| Unit {
                    time,
                    interface,
                    identification,
                    content,
                    ..unit
                }));
            }
            // Counted as the others.
            Ok(Found::Other) => {}
            Err(why) => {
                captured.adler32_packets += u64::from(why == ParseError::Adler32);
                malformed.count(why);
            }
        }
    }
    if let Some(why) = unsupported.filter(|_| captured.packets == 0) {
        return Err(why);
    }
    captured.notes.extend(hidden(&reader));
    captured.notes.extend(cut_options(cut));
    malformed.count_all(ParseError::Fragment, parts.lost());
    captured.names = (0..).map_while(|n| reader.interface_name(n).map(str::to_owned)).collect();
    let left_out = unread.into_iter().map(|(why, count)| format!("{count} left out: {why}"));
    captured.notes.extend(left_out.chain(malformed.notes()));
    Ok(captured)
}

/// The first interface of the name, since each section of a file describes its interfaces anew.
fn first_of_name(reader: &CaptureReader<'_>, interface: usize) -> usize {
    let name = reader.interface_name(interface).filter(|name| !name.is_empty());
    let is_it = |other: &usize| reader.interface_name(*other) == name;
    name.and_then(|_| (0..interface).find(is_it)).unwrap_or(interface)
}

/// Notes on frames whose header is not read.
fn hidden(reader: &CaptureReader<'_>) -> impl Iterator<Item = String> {
    reader.hidden().map(|(header, frames)| {
        let of = if frames == 1 { "frame" } else { "frames" };
        format!("{frames} {of} left out: {header} is not supported")
    })
}

/// A note on segments that were cut within their options.
fn cut_options(cut: u64) -> Option<String> {
    let are = if cut == 1 { "segment was" } else { "segments were" };
    (cut > 0).then(|| {
        format!(
            "{cut} {are} cut within the TCP options by the capture: of the options, such as those \
             of MPTCP, only what is before the cut counts"
        )
    })
}

/// Malformed packets by kind of error: the first error, their number, and whether all are equal.
#[derive(Default)]
struct Malformed(BTreeMap<String, (ParseError, u64, bool)>);

impl Malformed {
    fn count(&mut self, why: ParseError) {
        self.count_all(why, 1);
    }

    /// Counts packets with one error.
    fn count_all(&mut self, why: ParseError, packets: u64) {
        if packets == 0 {
            return;
        }
        // Errors of one kind share a note, whatever their lengths.
        let kind = match why {
            ParseError::Truncated { layer, .. } => format!("{layer} cut short"),
            ParseError::Length { layer, .. } => format!("{layer} length"),
            ParseError::TcpOption { .. } => "TCP option".to_owned(),
            other => other.to_string(),
        };
        let (first, count, is_equal) = self.0.entry(kind).or_insert((why, 0, true));
        *is_equal &= *first == why;
        *count += packets;
    }

    fn notes(self) -> impl Iterator<Item = String> {
        self.0.into_values().map(|(first, count, is_equal)| match is_equal {
            true => format!("{count} left out: {first}"),
            false => format!("{count} left out, with different lengths; the first: {first}"),
        })
    }
}

/// What a packet is to the analysis.
enum Found {
    Segment(Segment),
    /// A packet, or several in one datagram.
    Units(Vec<Unit>),
    Other,
}

/// Most bytes that a header can name, less those of TCP options that `wire` may add.
const MOST_NAMED: usize = 65_495;

/// The datagram with its length, `len`, in the header, and the bytes beyond what that can name.
/// Offloading hardware fills the length in later, so that a capture at the sender has zero; the
/// checksum of an IPv4 header is not filled in then, either. Linux leaves it zero for packets of
/// more than 64 KiB (BIG TCP).
fn with_length(datagram: &[u8], len: usize) -> (Cow<'_, [u8]>, u64) {
    let named = len.min(MOST_NAMED) as u16;
    let filled = || datagram[..datagram.len().min(named.into())].to_vec();
    let filled = match *datagram {
        [first, _, 0, 0, ..] if first >> 4 == 4 && datagram.len() >= 20 => {
            let mut filled = filled();
            filled[2..4].copy_from_slice(&named.to_be_bytes());
            filled[10..12].fill(0);
            filled
        }
        [first, _, _, _, 0, 0, ..] if first >> 4 == 6 && datagram.len() > 40 => {
            let mut filled = filled();
            filled[4..6].copy_from_slice(&(named - 40).to_be_bytes());
            filled
        }
        _ => return (Cow::Borrowed(datagram), 0),
    };
    (Cow::Owned(filled), (len - usize::from(named)) as u64)
}

/// Parses a datagram; `beyond` are bytes of its payload that it lacks.
fn found(captured: &[u8], beyond: u64) -> Result<Found, ParseError> {
    let datagram = &*match Ip::read(captured) {
        Some(ip) => plain(captured, &ip),
        None => Cow::Borrowed(captured),
    };
    let whole = whole_len(datagram);
    let packet = if datagram.len() < whole {
        let mut padded = datagram.to_vec();
        if let Some(ip) = Ip::read(datagram)
            && let Some(header) = cut_header(datagram, &ip)
        {
            fill_options(&mut padded, &ip, header);
        }
        padded.resize(whole, 0);
        Packet::parse_captured(&padded)?
    } else {
        Packet::parse_captured(datagram)?
    };
    let cut = whole.saturating_sub(datagram.len());
    // Bytes of the IP payload that the capture has.
    let there = Ip::read(datagram).map_or(0, |ip| datagram.len().saturating_sub(ip.end));
    let (src, dst) = (packet.src(), packet.dst());
    match packet.body {
        Body::Tcp(segment) => {
            let len = u64::from(segment.payload.len()) + beyond;
            Ok(Found::Segment(Segment {
                time: Instant::ZERO,
                interface: 0,
                src: SocketAddr::new(src, segment.src_port),
                dst: SocketAddr::new(dst, segment.dst_port),
                identification: identification(datagram),
                seq: segment.seq,
                ack: segment.ack,
                flags: segment.flags,
                options: segment.options,
                len,
            }))
        }
        // What was cut off cannot have a right checksum.
        Body::Sctp(_) if packet.corrupted && cut == 0 => Err(ParseError::Checksum(Layer::Sctp)),
        Body::Sctp(ref sctp) => {
            Ok(Found::Units(vec![unit(&packet, sctp.clone(), (cut > 0).then_some(there))?]))
        }
        Body::Udp(ref udp) => {
            let there = (cut > 0).then_some(there.saturating_sub(UDP_HEADER));
            let carried = carried(udp, cut)?.into_iter();
            let units =
                carried.map(|sctp| unit(&packet, sctp, there)).collect::<Result<Vec<_>, _>>()?;
            Ok(if units.is_empty() { Found::Other } else { Found::Units(units) })
        }
        _ => Ok(Found::Other),
    }
}

/// For each place in a datagram, a hash of that and of what follows the IP header.
pub(super) fn contents(datagram: &[u8]) -> impl Iterator<Item = u64> {
    let end = Ip::read(datagram).map_or(0, |ip| ip.end);
    let content = datagram.get(end..).unwrap_or_default();
    (0_usize..).map(move |place| {
        let mut hash = DefaultHasher::new();
        (place, content).hash(&mut hash);
        hash.finish()
    })
}

/// Identification of the IPv4 header, 0 for IPv6.
pub(super) fn identification(datagram: &[u8]) -> u16 {
    match datagram {
        [first, _, _, _, high, low, ..] if first >> 4 == 4 => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

/// The SCTP packet that a UDP datagram carries: one with a right checksum, or to the port of
/// RFC 6951. There are several where the kernel joined them.
fn carried(udp: &UdpDatagram, cut: usize) -> Result<Vec<SctpPacket>, ParseError> {
    let bytes = udp.payload.to_bytes();
    let named = [udp.src_port, udp.dst_port].contains(&SCTP_OVER_UDP);
    let parsed = match SctpPacket::parse(&bytes) {
        Err(_) if named && cut > 0 => SctpPacket::parse_captured(&bytes).map(|(packet, _)| packet),
        parsed => parsed,
    };
    let parsed = match parsed {
        Err(why @ ParseError::Checksum(_)) => SctpPacket::parse_joined(&bytes).ok_or(why),
        parsed => parsed.map(|packet| vec![packet]),
    };
    match parsed {
        Ok(mut packets) => {
            let ports = UdpPorts { src: udp.src_port, dst: udp.dst_port };
            packets.iter_mut().for_each(|packet| packet.udp = Some(ports));
            Ok(packets)
        }
        Err(why) if named => Err(why),
        Err(_) => Ok(vec![]),
    }
}

/// An SCTP packet without the chunks whose fields the capture cut off at its end; `there`: bytes of
/// a packet that was cut.
fn unit(packet: &Packet, mut sctp: SctpPacket, there: Option<usize>) -> Result<Unit, ParseError> {
    let there = there.unwrap_or(usize::MAX);
    let needed = |chunk: &Chunk| match chunk {
        Chunk::Data(_) => Data::HEADER,
        Chunk::IData(_) => IData::HEADER,
        other => other.padded_len(),
    };
    let mut end = SctpPacket::HEADER;
    let kept = sctp.chunks.iter().take_while(|chunk| {
        let whole = (end + needed(chunk)) as usize <= there;
        end += chunk.padded_len();
        whole
    });
    let kept = kept.count();
    if kept == 0 {
        let first = sctp.chunks.iter().next().map_or(0, needed);
        return Err(ParseError::Truncated {
            layer: Layer::Sctp,
            need: (SctpPacket::HEADER + first) as usize,
            have: there,
        });
    }
    sctp.chunks.change(|chunks| chunks.truncate(kept));
    // Only the lengths of payloads are needed.
    for payload in sctp.chunks.iter_mut().filter_map(Chunk::payload_mut) {
        *payload = Payload::virtual_range(0, 0, payload.len());
    }
    let (src, dst) = (packet.src(), packet.dst());
    let (time, interface, identification, content) = (Instant::ZERO, 0, 0, 0);
    Ok(Unit { time, interface, src, dst, identification, content, packet: sctp })
}

/// Bytes of the datagram when it was sent; 0 if its headers were cut.
fn whole_len(datagram: &[u8]) -> usize {
    let whole = Ip::read(datagram).filter(|ip| has_headers(datagram, ip));
    whole.and_then(|ip| usize::try_from(ip.len).ok()).unwrap_or(0)
}

/// Whether the datagram has an IP header followed by a TCP header, perhaps without all options, or
/// by the common header of SCTP and a chunk header, or by those in UDP.
fn has_headers(datagram: &[u8], ip: &Ip) -> bool {
    const COMMON_AND_CHUNK: usize = 16;
    let end = ip.end;
    let port =
        |at: usize| datagram.get(at..at + 2).map(|port| u16::from_be_bytes([port[0], port[1]]));
    match ip.protocol {
        TCP => datagram.len() >= end + 20,
        SCTP => datagram.len() >= end + COMMON_AND_CHUNK,
        UDP => {
            let named = [port(end), port(end + 2)].contains(&Some(SCTP_OVER_UDP));
            named && datagram.len() >= end + 8 + COMMON_AND_CHUNK
        }
        _ => false,
    }
}

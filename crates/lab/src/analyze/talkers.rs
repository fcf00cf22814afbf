//! `Counts`: packets and bytes of a capture by protocol, and by pair of hosts.
//!
//! Reads IP headers only, so it counts what the analysis leaves out. A UDP conversation is QUIC if
//! one of its datagrams has a long header of a known version (RFC 9000 s17.2, RFC 9369), or its
//! server has port 443 and its datagrams the fixed bit.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Extension headers of IPv6 that begin with the next header and their own length (RFC 8200 s4.3,
/// s4.4 and s4.6).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION_OPTIONS: u8 = 60;
/// The fragment header of IPv6 (RFC 8200 s4.5).
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

/// Packets and bytes of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// `TCP`, `UDP`, `QUIC`, `ICMP`, `SCTP`, `SCTP over UDP`, or `IP protocol N`.
    pub protocol: String,
    /// IP packets.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Pairs of addresses and ports; without ports, of addresses.
    pub conversations: u64,
}

/// Traffic between two hosts, in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Talkers {
    /// The two hosts, the one that sent most bytes first.
    pub hosts: [IpAddr; 2],
    /// IP packets.
    pub packets: u64,
    /// Bytes sent by each of the hosts, IP headers included.
    pub bytes: [u64; 2],
}

/// Counts of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    conversations: BTreeMap<(SocketAddr, SocketAddr, u8), Conversation>,
    /// Protocol and ports of the first fragments of datagrams.
    fragments: BTreeMap<Datagram, (u8, [u16; 2])>,
}

/// Addresses, protocol of the fragments and identification of a datagram in fragments.
pub(super) type Datagram = (IpAddr, IpAddr, u8, u32);

#[derive(Clone, Copy, Debug, Default)]
struct Conversation {
    packets: u64,
    /// Bytes sent by each end, the lower address first.
    bytes: [u64; 2],
    quic: bool,
    /// UDP with SCTP packets (RFC 6951).
    sctp: bool,
    /// One of its packets has ports, or its protocol has none.
    known: bool,
}

impl Counts {
    /// Counts an IP packet of `len` bytes, of which the capture may have only the first ones;
    /// `sctp`: it carries an SCTP packet.
    pub(super) fn packet(&mut self, datagram: &[u8], len: u64, sctp: bool) {
        let Some(mut header) = Header::read(datagram) else { return };
        let joined = self.join(&mut header);
        let Header { src, dst, protocol, .. } = header;
        let of = self.conversations.entry((src.min(dst), src.max(dst), protocol)).or_default();
        of.packets += 1;
        of.bytes[usize::from(src > dst)] += len;
        of.quic |= protocol == UDP && is_quic(&header);
        of.sctp |= sctp;
        of.known |= joined;
    }

    /// Gives a later fragment the protocol and the ports of the first one; whether they are known.
    fn join(&mut self, header: &mut Header<'_>) -> bool {
        let Some(fragment) = header.fragment else { return true };
        let id = fragment.datagram(header.src.ip(), header.dst.ip());
        if !fragment.is_later {
            let ports = [header.src.port(), header.dst.port()];
            self.fragments.insert(id, (header.protocol, ports));
            return true;
        }
        let Some(&(protocol, [src, dst])) = self.fragments.get(&id) else { return false };
        header.protocol = protocol;
        header.src.set_port(src);
        header.dst.set_port(dst);
        true
    }

    /// Packets by protocol, most bytes first.
    pub(super) fn protocols(&self) -> Vec<Counted> {
        let mut counted: BTreeMap<String, Counted> = BTreeMap::new();
        for ((.., protocol), of) in &self.conversations {
            let name = name(*protocol, of);
            let empty = Counted { protocol: name.clone(), packets: 0, bytes: 0, conversations: 0 };
            let sum = counted.entry(name).or_insert(empty);
            sum.packets += of.packets;
            sum.bytes += of.bytes[0] + of.bytes[1];
            sum.conversations += u64::from(of.known);
        }
        let mut counted: Vec<Counted> = counted.into_values().collect();
        counted.sort_by_key(|one| std::cmp::Reverse(one.bytes));
        counted
    }

    /// Pairs of hosts, most bytes first.
    pub(super) fn talkers(&self) -> Vec<Talkers> {
        let mut pairs: BTreeMap<[IpAddr; 2], Talkers> = BTreeMap::new();
        for ((low, high, _), of) in &self.conversations {
            let hosts = [low.ip(), high.ip()];
            let pair = pairs.entry(hosts).or_insert(Talkers { hosts, packets: 0, bytes: [0; 2] });
            pair.packets += of.packets;
            pair.bytes[0] += of.bytes[0];
            pair.bytes[1] += of.bytes[1];
        }
        let mut pairs: Vec<Talkers> = pairs.into_values().collect();
        for pair in pairs.iter_mut().filter(|pair| pair.bytes[1] > pair.bytes[0]) {
            pair.hosts.reverse();
            pair.bytes.reverse();
        }
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes[0] + pair.bytes[1]));
        pairs
    }
}

fn name(protocol: u8, of: &Conversation) -> String {
    match protocol {
        TCP => "TCP".to_owned(),
        UDP if of.sctp => "SCTP over UDP".to_owned(),
        UDP if of.quic => "QUIC".to_owned(),
        UDP => "UDP".to_owned(),
        ICMP | ICMPV6 => "ICMP".to_owned(),
        SCTP => "SCTP".to_owned(),
        other => format!("IP protocol {other}"),
    }
}

/// The fields of an IP header that are counted.
pub(super) struct Header<'a> {
    pub src: SocketAddr,
    pub dst: SocketAddr,
    pub protocol: u8,
    /// `None` for whole datagrams.
    pub fragment: Option<Fragment>,
    /// Bytes behind the UDP header when it was sent, of all fragments; 0 for later fragments.
    pub payload_bytes: u64,
    /// What follows the UDP header, as far as it was captured.
    payload: &'a [u8],
}

/// A part of a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    /// That of the datagram, or of an extension header of its first fragment.
    protocol: u8,
    identification: u32,
    /// Not the first one: it has no ports.
    pub is_later: bool,
    /// Bytes of the datagram in earlier fragments.
    pub offset: u64,
    /// Bytes of the headers before the part.
    pub begins: usize,
}

impl Fragment {
    /// `None` unless it is a part: with an offset, in units of 8 bytes, or not the last one.
    fn of(units: u16, is_last: bool, part: Fragment) -> Option<Fragment> {
        let is_later = units > 0;
        let offset = u64::from(units) * 8;
        (is_later || !is_last).then_some(Fragment { is_later, offset, ..part })
    }

    fn datagram(self, src: IpAddr, dst: IpAddr) -> Datagram {
        (src, dst, self.protocol, self.identification)
    }
}

/// The IP header of a datagram, extension headers included.
pub(super) struct Ip {
    src: IpAddr,
    /// The last one where a routing header names others.
    pub dst: IpAddr,
    pub protocol: u8,
    /// Bytes of the datagram when it was sent.
    pub len: u64,
    /// Bytes of the headers.
    pub end: usize,
    pub fragment: Option<Fragment>,
}

impl Ip {
    /// `None` if the header was cut.
    pub(super) fn read(datagram: &[u8]) -> Option<Ip> {
        match datagram.first()? >> 4 {
            4 => Ip::v4(datagram),
            6 => Ip::v6(datagram),
            _ => None,
        }
    }

    fn v4(datagram: &[u8]) -> Option<Ip> {
        let address = |at: usize| -> Option<Ipv4Addr> {
            let octets: [u8; 4] = datagram.get(at..at + 4)?.try_into().ok()?;
            Some(octets.into())
        };
        let (place, protocol) = (short(datagram, 6)?, *datagram.get(9)?);
        let (is_last, identification) = (place & 0x2000 == 0, short(datagram, 4)?.into());
        let end = usize::from(datagram[0] & 15) * 4;
        let part = Fragment { protocol, identification, begins: end, is_later: false, offset: 0 };
        Some(Ip {
            src: address(12)?.into(),
            dst: address(16)?.into(),
            protocol,
            len: short(datagram, 2)?.into(),
            end,
            fragment: Fragment::of(place & 0x1fff, is_last, part),
        })
    }

    fn v6(datagram: &[u8]) -> Option<Ip> {
        let address = |at: usize| -> Option<Ipv6Addr> {
            let octets: [u8; 16] = datagram.get(at..at + 16)?.try_into().ok()?;
            Some(octets.into())
        };
        let (mut protocol, mut end, mut fragment) = (*datagram.get(6)?, 40, None);
        let mut dst = address(24)?;
        while let Some([next, units, high, low, id @ ..]) =
            datagram.get(end..).and_then(|header| header.first_chunk::<8>())
        {
            match protocol {
                HOP_BY_HOP | DESTINATION_OPTIONS => end += 8 + usize::from(*units) * 8,
                ROUTING => {
                    // The first two bytes behind the length are type and segments left.
                    let last = last_address(*high, *units).filter(|_| *low > 0);
                    dst = last.and_then(|last| address(end + last)).unwrap_or(dst);
                    end += 8 + usize::from(*units) * 8;
                }
                FRAGMENT => {
                    let place = u16::from_be_bytes([*high, *low]);
                    let (protocol, identification) = (*next, u32::from_be_bytes(*id));
                    end += 8;
                    let (begins, is_later, offset) = (end, false, 0);
                    let part = Fragment { protocol, identification, begins, is_later, offset };
                    fragment = Fragment::of(place >> 3, place & 1 == 0, part);
                }
                _ => break,
            }
            protocol = *next;
            // What follows the header of a later fragment is payload.
            if fragment.is_some_and(|fragment| fragment.is_later) {
                break;
            }
        }
        let len = 40 + u64::from(short(datagram, 4)?);
        Some(Ip { src: address(8)?.into(), dst: dst.into(), protocol, len, end, fragment })
    }

    /// The datagram of which this is a part.
    pub(super) fn datagram(&self, part: Fragment) -> Datagram {
        part.datagram(self.src, self.dst)
    }
}

/// Where a routing header of this type and length, in units of 8 bytes, has the last destination.
fn last_address(kind: u8, units: u8) -> Option<usize> {
    /// In the order of the route (RFC 5095 s2, RFC 6275 s6.4.1).
    const IN_ORDER: [u8; 2] = [0, 2];
    /// In the reverse order (RFC 8754 s2).
    const SEGMENTS: u8 = 4;
    match kind {
        _ if units < 2 => None,
        SEGMENTS => Some(8),
        _ if IN_ORDER.contains(&kind) => Some(8 + (usize::from(units) / 2 - 1) * 16),
        _ => None,
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

impl Header<'_> {
    pub(super) fn read(datagram: &[u8]) -> Option<Header<'_>> {
        let Ip { src, dst, protocol, len, end, fragment } = Ip::read(datagram)?;
        let is_later = fragment.is_some_and(|fragment| fragment.is_later);
        let has_ports = matches!(protocol, TCP | UDP | SCTP) && !is_later;
        let port = |at: usize| if has_ports { short(datagram, at).unwrap_or(0) } else { 0 };
        let (src, dst) = (SocketAddr::new(src, port(end)), SocketAddr::new(dst, port(end + 2)));
        // A length of zero is that of a packet which the sender's hardware divides.
        let len = len.max(datagram.len() as u64);
        let behind = len.saturating_sub(end as u64 + 8);
        let named = short(datagram, end + 4).and_then(|len| len.checked_sub(8)).map(u64::from);
        let payload_bytes = match (named, fragment) {
            (_, Some(Fragment { is_later: true, .. })) => 0,
            (Some(named), Some(_)) => named,
            (Some(named), None) => named.min(behind),
            (None, _) => behind,
        };
        let payload = datagram.get(end + 8..).filter(|_| !is_later).unwrap_or(&[]);
        Some(Header { src, dst, protocol, fragment, payload_bytes, payload })
    }
}

/// Whether a UDP datagram has a QUIC header.
fn is_quic(header: &Header<'_>) -> bool {
    const HTTPS: u16 = 443;
    let Some(first) = header.payload.first() else { return false };
    let has_fixed_bit = first & 0x40 != 0;
    if let (0x80.., [_, a, b, c, d, ..]) = (*first, header.payload) {
        let version = u32::from_be_bytes([*a, *b, *c, *d]);
        // Versions 1 and 2, and the drafts of version 1.
        return has_fixed_bit
            && (matches!(version, 1 | 0x6b33_43cf) || version >> 8 == 0x00ff_0000);
    }
    has_fixed_bit && (header.src.port() == HTTPS || header.dst.port() == HTTPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(counts: &mut Counts, datagram: &[u8]) {
        counts.packet(datagram, datagram.len() as u64, false);
    }

    /// An IPv4 packet from host `from` to host `to`, as captured.
    fn packet(protocol: u8, from: u8, to: u8, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let len = (28 + payload.len() as u16).to_be_bytes();
        let mut bytes = vec![0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes.extend([10, 0, 0, from, 10, 0, 0, to]);
        bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        bytes.extend([0; 4]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn quic_is_told_from_other_udp_by_its_header() {
        let mut counts = Counts::default();
        let initial = [0xc3, 0, 0, 0, 1, 8];
        count(&mut counts, &packet(UDP, 1, 2, [5000, 9443], &initial));
        count(&mut counts, &packet(UDP, 2, 1, [9443, 5000], &[0x41; 100]));
        count(&mut counts, &packet(UDP, 1, 3, [5001, 443], &[0x41; 10]));
        count(&mut counts, &packet(UDP, 1, 4, [5353, 53], &[0x41; 10]));
        count(&mut counts, &packet(UDP, 1, 4, [5353, 53], &[0xc1, 1, 2, 3, 4]));
        let shown: Vec<_> = counts.protocols();
        let row =
            |at: usize| (shown[at].protocol.as_str(), shown[at].packets, shown[at].conversations);
        assert_eq!((row(0), row(1), shown.len()), (("QUIC", 3, 2), ("UDP", 2, 1), 2));
    }

    /// An IPv4 packet with this identification and field of flags and offset.
    fn fragment(id: u8, place: u16, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let mut bytes = packet(UDP, 1, 2, ports, payload);
        bytes[5] = id;
        bytes[6..8].copy_from_slice(&place.to_be_bytes());
        bytes
    }

    /// Regression: the payload of later fragments was read as ports.
    #[test]
    fn fragments_belong_to_the_conversation_of_their_first_one() {
        const MORE: u16 = 0x2000;
        let mut counts = Counts::default();
        count(&mut counts, &fragment(1, MORE, [5000, 53], &[0; 92]));
        count(&mut counts, &fragment(1, MORE | 13, [0xabcd, 1], &[0; 92]));
        count(&mut counts, &fragment(1, 26, [0x1234, 443], &[0x41; 12]));
        // The first fragment of this one is not in the capture.
        count(&mut counts, &fragment(2, 26, [0x5678, 443], &[0x41; 12]));
        let shown = counts.protocols();
        let [udp] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((udp.protocol.as_str(), udp.packets, udp.conversations), ("UDP", 4, 1));
    }

    #[test]
    fn fragments_of_ipv6_have_the_protocol_of_their_datagram() {
        let datagram = |place: u16| {
            let mut bytes = vec![0x60, 0, 0, 0, 0, 24, FRAGMENT, 64];
            bytes.extend([1; 16]);
            bytes.extend([2; 16]);
            bytes.extend([UDP, 0]);
            bytes.extend(place.to_be_bytes());
            bytes.extend([0, 0, 0, 9]);
            bytes.extend([0x13, 0x88, 0, 53, 0, 200, 0, 0]);
            bytes.extend([0; 8]);
            bytes
        };
        let (first, later) = (datagram(1), datagram(2 << 3));
        let header = Header::read(&first).unwrap();
        assert_eq!((header.dst.port(), header.payload_bytes), (53, 192));
        let mut counts = Counts::default();
        count(&mut counts, &first);
        count(&mut counts, &later);
        let shown = counts.protocols();
        let [udp] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((udp.protocol.as_str(), udp.packets, udp.conversations), ("UDP", 2, 1));
    }

    /// Regression: the options of IPv6 before TCP, UDP or a fragment were a protocol of their own.
    #[test]
    fn extension_headers_of_ipv6_are_passed_over() {
        let datagram = |headers: &[u8]| {
            let mut bytes = vec![0x60, 0, 0, 0, 0, headers.len() as u8 + 8, HOP_BY_HOP, 64];
            bytes.extend([1; 16]);
            bytes.extend([2; 16]);
            bytes.extend(headers);
            bytes.extend([0x13, 0x88, 0, 53, 0, 200, 0, 0]);
            bytes
        };
        let options = |next: u8, units: u8| {
            let mut header = vec![next, units, 1, 4 + 8 * units];
            header.resize(8 + 8 * usize::from(units), 0);
            header
        };
        let fragment = |next: u8, place: u16| {
            let [high, low] = place.to_be_bytes();
            vec![next, 0, high, low, 0, 0, 0, 9]
        };
        let whole = [options(DESTINATION_OPTIONS, 1), options(UDP, 0)].concat();
        let first = [options(FRAGMENT, 0), fragment(DESTINATION_OPTIONS, 1), options(UDP, 0)];
        let later = [options(FRAGMENT, 0), fragment(DESTINATION_OPTIONS, 3 << 3)].concat();
        let mut counts = Counts::default();
        for headers in [whole, first.concat(), later] {
            count(&mut counts, &datagram(&headers));
        }
        let shown = counts.protocols();
        let [udp] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((udp.protocol.as_str(), udp.packets, udp.conversations), ("UDP", 3, 1));
    }

    #[test]
    fn pairs_of_hosts_are_ordered_by_bytes_and_name_the_larger_sender_first() {
        let mut counts = Counts::default();
        count(&mut counts, &packet(TCP, 1, 2, [5000, 443], &[0; 10]));
        count(&mut counts, &packet(TCP, 2, 1, [443, 5000], &[0; 100]));
        count(&mut counts, &packet(UDP, 1, 2, [5000, 53], &[]));
        count(&mut counts, &packet(SCTP, 1, 3, [1, 2], &[0; 300]));
        let talkers = counts.talkers();
        let of = |at: usize| (talkers[at].hosts.map(|h| h.to_string()), talkers[at].bytes);
        assert_eq!(of(0), (["10.0.0.1".to_owned(), "10.0.0.3".to_owned()], [328, 0]));
        assert_eq!(of(1), (["10.0.0.2".to_owned(), "10.0.0.1".to_owned()], [128, 66]));
        assert_eq!((talkers[1].packets, talkers.len()), (3, 2));
    }

    #[test]
    fn cut_and_odd_packets_do_no_harm() {
        let mut counts = Counts::default();
        let whole = packet(UDP, 1, 2, [5000, 443], &[0xc3, 0, 0, 0, 1]);
        for len in 0..whole.len() {
            count(&mut counts, &whole[..len]);
        }
        count(&mut counts, &[0x60; 39]);
        count(&mut counts, &[0xf0; 60]);
        assert!(counts.protocols().iter().all(|one| one.packets > 0));
    }
}

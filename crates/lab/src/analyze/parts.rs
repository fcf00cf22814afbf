//! Datagrams that `wire` does not read as they were captured: segments in fragments, behind
//! extension headers of IPv6, or cut within their options.

use super::capture::Segment;
use super::talkers::{Datagram, Ip};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

const TCP: u8 = 6;
/// Bytes of the headers without options.
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// The datagram without extension headers of IPv6, to its last destination; the first fragment of
/// a TCP segment as a datagram of its own.
pub(super) fn plain<'a>(datagram: &'a [u8], ip: &Ip) -> Cow<'a, [u8]> {
    let is_read = match ip.fragment {
        None => ip.dst.is_ipv4() || ip.end == IPV6_HEADER,
        Some(fragment) => fragment.is_later || ip.protocol != TCP,
    };
    let Some(unit) = datagram.get(ip.end..).filter(|_| !is_read) else {
        return Cow::Borrowed(datagram);
    };
    let IpAddr::V6(dst) = ip.dst else {
        let mut whole = datagram.to_vec();
        // Without flags and offset, and so without a checksum.
        whole[6..8].fill(0);
        whole[10..12].fill(0);
        return Cow::Owned(whole);
    };
    let len = ip.len.saturating_sub(ip.end as u64) as u16;
    let mut whole = Vec::with_capacity(IPV6_HEADER + unit.len());
    whole.extend(&datagram[..4]);
    whole.extend(len.to_be_bytes());
    whole.extend([ip.protocol, datagram[7]]);
    whole.extend(&datagram[8..24]);
    whole.extend(dst.octets());
    whole.extend(unit);
    Cow::Owned(whole)
}

/// Bytes of the TCP header of a segment that was cut within its options.
pub(super) fn cut_header(datagram: &[u8], ip: &Ip) -> Option<usize> {
    let header = tcp_header(datagram, ip)?;
    let there = datagram.len() - ip.end;
    (TCP_HEADER..header).contains(&there).then_some(header)
}

/// Bytes of the TCP header; `None` if its first 20 bytes are not there.
fn tcp_header(datagram: &[u8], ip: &Ip) -> Option<usize> {
    let header = datagram.get(ip.end..).filter(|_| ip.protocol == TCP)?;
    let first = header.first_chunk::<TCP_HEADER>()?;
    Some(usize::from(first[12] >> 4) * 4)
}

/// Fills the header of a segment that was cut within its options up to its length, without the
/// option that was cut.
pub(super) fn fill_options(datagram: &mut Vec<u8>, ip: &Ip, header: usize) {
    let mut whole = ip.end + TCP_HEADER;
    while let Some(kind) = datagram.get(whole) {
        whole += match (*kind, datagram.get(whole + 1)) {
            (END_OF_OPTIONS, _) => break,
            (NO_OPERATION, _) => 1,
            (_, Some(len)) if *len >= 2 && whole + usize::from(*len) <= datagram.len() => {
                usize::from(*len)
            }
            _ => break,
        };
    }
    datagram.truncate(whole);
    datagram.resize(ip.end + header, NO_OPERATION);
}

/// TCP segments in fragments, by interface and datagram: all fragments together have the length
/// of the segment.
#[derive(Default)]
pub(super) struct Parts {
    parts: BTreeMap<(usize, Datagram), Part>,
}

#[derive(Default)]
struct Part {
    /// Indices of the segment, and of its copies.
    segments: Vec<usize>,
    /// Bytes of the datagram before the payload of the segment.
    header: u64,
    /// Bytes of the datagram up to the end of the last fragment.
    end: u64,
    /// Fragments that came before the first one.
    early: u64,
}

impl Parts {
    /// A segment was found, the last one of all.
    pub(super) fn found(&mut self, interface: usize, datagram: &[u8], segments: &mut [Segment]) {
        let Some(ip) = Ip::read(datagram) else { return };
        let (Some(fragment), Some(header)) = (ip.fragment, tcp_header(datagram, &ip)) else {
            return;
        };
        let Some(index) = segments.len().checked_sub(1) else { return };
        let part = self.parts.entry((interface, ip.datagram(fragment))).or_default();
        let is_copy = |known: &usize| segments[*known].seq == segments[index].seq;
        if !part.segments.iter().all(is_copy) {
            // Another datagram has the identification of an earlier one.
            *part = Part::default();
        }
        part.segments.push(index);
        part.header = (ip.end - fragment.begins + header) as u64;
        part.end = part.end.max(ip.len.saturating_sub(fragment.begins as u64));
        part.early = 0;
        part.measure(segments);
    }

    /// Whether the packet is another fragment of a segment than the first one.
    pub(super) fn is_later(
        &mut self,
        interface: usize,
        datagram: &[u8],
        segments: &mut [Segment],
    ) -> bool {
        let Some(ip) = Ip::read(datagram) else { return false };
        let Some(fragment) = ip.fragment.filter(|fragment| fragment.is_later) else { return false };
        let key = (interface, ip.datagram(fragment));
        if ip.protocol != TCP && !self.parts.contains_key(&key) {
            return false;
        }
        let part = self.parts.entry(key).or_default();
        part.end = part.end.max(fragment.offset + ip.len.saturating_sub(fragment.begins as u64));
        part.early += u64::from(part.segments.is_empty());
        part.measure(segments);
        true
    }

    /// Fragments of segments whose first fragment is not in the capture.
    pub(super) fn lost(&self) -> u64 {
        self.parts.values().map(|part| part.early).sum()
    }
}

impl Part {
    fn measure(&self, segments: &mut [Segment]) {
        for index in &self.segments {
            segments[*index].len = self.end.saturating_sub(self.header);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Analysis, analyze};
    use base::{Duration, Instant};

    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const DESTINATION_OPTIONS: u8 = 60;

    /// The analysis of datagrams at intervals of 10 ms.
    fn analyzed(datagrams: &[Vec<u8>]) -> Analysis {
        let mut file = wire::PcapngWriter::new(Vec::new(), &["wlan"]).unwrap();
        for (n, datagram) in datagrams.iter().enumerate() {
            let time = Instant::ZERO + Duration::from_millis(10 * n as u64);
            file.write_datagram(0, time, datagram).unwrap();
        }
        analyze(&file.into_inner()).unwrap()
    }

    /// Bytes of the only connection from port 7 and from port 9.
    fn bytes(analysis: &Analysis) -> [u64; 2] {
        let [connection] = &analysis.connections[..] else { panic!("{analysis:?}") };
        let [subflow] = &connection.subflows[..] else { panic!("{connection:?}") };
        let [mut bytes] = [[subflow.up.bytes, subflow.down.bytes]];
        if subflow.client.port() != 7 {
            bytes.reverse();
        }
        bytes
    }

    /// A segment with a header of 20 bytes.
    fn segment(ports: [u8; 2], payload: usize) -> Vec<u8> {
        let mut bytes = vec![0, ports[0], 0, ports[1], 0, 0, 0, 1, 0, 0, 0, 1];
        bytes.extend([0x50, 0x10, 0, 9, 0, 0, 0, 0]);
        bytes.resize(20 + payload, 0);
        bytes
    }

    fn ipv4(identification: u8, place: u16, unit: &[u8]) -> Vec<u8> {
        let (len, place) = ((20 + unit.len() as u16).to_be_bytes(), place.to_be_bytes());
        let mut bytes = vec![0x45, 0, len[0], len[1], 0, identification, place[0], place[1]];
        bytes.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(unit);
        bytes
    }

    fn ipv6(src: u8, dst: u8, next: u8, unit: &[u8]) -> Vec<u8> {
        let len = (unit.len() as u16).to_be_bytes();
        let mut bytes = vec![0x60, 0, 0, 0, len[0], len[1], next, 64];
        bytes.extend([src; 16]);
        bytes.extend([dst; 16]);
        bytes.extend(unit);
        bytes
    }

    /// Regression: segments behind a routing header were left out.
    #[test]
    fn segments_behind_a_routing_header_go_to_its_last_address() {
        // Of three addresses; segment routing has the last one first.
        for (kind, last) in [(0_u8, 40_usize), (4, 8)] {
            let mut header = vec![DESTINATION_OPTIONS, 6, kind, 2, 0, 0, 0, 0];
            header.resize(56, 5);
            header[last..last + 16].fill(2);
            header.extend([6, 0, 1, 4, 0, 0, 0, 0]);
            header.extend(segment([7, 9], 100));
            let there = ipv6(1, 3, ROUTING, &header);
            let back = ipv6(2, 1, 6, &segment([9, 7], 50));
            let mut arrived = ipv6(1, 2, ROUTING, &header);
            arrived[43] = 0;
            for there in [there.clone(), there[..40 + 64 + 20].to_vec(), arrived] {
                let analysis = analyzed(&[there, back.clone()]);
                assert_eq!(analysis.notes, [""; 0]);
                assert_eq!(bytes(&analysis), [100, 50]);
            }
        }
    }

    /// Regression: segments in fragments were left out.
    #[test]
    fn segment_in_fragments_has_their_length() {
        let whole = segment([7, 9], 100);
        let v4 = |id: u8, from: usize, to: usize| {
            let more = if to == 120 { 0 } else { 0x2000 };
            ipv4(id, more | (from / 8) as u16, &whole[from..to])
        };
        let v6 = |id: u8, from: usize, to: usize| {
            let place = (from as u16 | u16::from(to != 120)).to_be_bytes();
            let mut unit = vec![6, 0, place[0], place[1], 0, 0, 0, id];
            unit.extend(&whole[from..to]);
            ipv6(1, 2, FRAGMENT, &unit)
        };
        let of: [&dyn Fn(u8, usize, usize) -> Vec<u8>; 2] = [&v4, &v6];
        for of in of {
            let parts = [of(1, 0, 48), of(1, 48, 96), of(1, 96, 120)];
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
                let analysis = analyzed(&order.map(|n| parts[n].clone()));
                assert_eq!((bytes(&analysis), analysis.notes), ([100, 0], vec![]), "{order:?}");
            }
            // Cut by the capture.
            let [first, second, third] = parts.map(|part| part[..part.len().min(68)].to_vec());
            assert_eq!(bytes(&analyzed(&[first.clone(), second.clone(), third])), [100, 0]);
            // The last one was lost.
            assert_eq!(bytes(&analyzed(&[first, second])), [76, 0]);
            let analysis = analyzed(&[of(1, 0, 120), of(2, 48, 96), of(2, 96, 120)]);
            assert_eq!(bytes(&analysis), [100, 0]);
            assert_eq!(analysis.notes, ["2 left out: fragments are not supported"]);
        }
    }

    /// Regression: segments that were cut within their options were left out.
    #[test]
    fn segment_cut_within_its_options_has_those_before_the_cut() {
        let with_options = |flags: u8, options: &[u8], payload: usize| {
            let mut unit = segment([7, 9], 0);
            (unit[12], unit[13]) = (((20 + options.len()) as u8 / 4) << 4, flags);
            unit.extend(options);
            unit.resize(unit.len() + payload, 0);
            ipv4(0, 0x4000, &unit)
        };
        let stamps = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
        let capable = [30, 12, 1, 0x81, 1, 2, 3, 4, 5, 6, 7, 8];
        let options = [&stamps[..], &[2, 4, 5, 180], &capable].concat();
        let mut syn = with_options(2, &options, 0);
        syn[27] = 0;
        let data = with_options(16, &options, 100);
        for there in 0..options.len() {
            let analysis = analyzed(&[syn.clone(), data[..40 + there].to_vec()]);
            assert_eq!(bytes(&analysis), [100, 0], "{there}");
            let note = "1 segment was cut within the TCP options by the capture: of the options, \
                        such as those of MPTCP, only what is before the cut counts";
            assert_eq!(analysis.notes, [note]);
        }
        assert_eq!(analyzed(&[syn.clone(), data[..68].to_vec()]).notes, [""; 0]);
        let cut = analyzed(&[syn[..50].to_vec(), data[..39].to_vec()]);
        assert_eq!((bytes(&cut), cut.notes.len()), ([0, 0], 2));
    }
}

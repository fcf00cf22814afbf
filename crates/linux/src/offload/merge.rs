//! Packets for a device with offloads: consecutive segments of one flow become one datagram, whose
//! segmentation and checksums are left to the kernel.
//!
//! Segments can be merged if they differ in nothing but sequence number and payload, and only the
//! last one is shorter or has PSH, for that is what segmentation makes of them again. Options are
//! equal if one mapping covers the segments (RFC 8684 s3.3.1) and their timestamps are, as with
//! a kernel's own.

use super::split::Pieces;
use super::{GSO_NONE, GSO_TCPV4, GSO_TCPV6, HEADER, NEEDS_CSUM};
use crate::ack_filter::supersedes;
use tun_rs::VirtioNetHdr;
use wire::{Body, Flags, Packet, Payload, TcpSegment};

/// Longest datagram, in bytes.
const MAX_LEN: u32 = 65_535;
/// Most segments of a datagram: those of 1,400 bytes that fit into the longest one.
const MAX_SEGMENTS: usize = 64;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: u16 = 16;

/// Merges packets for one device until they are taken.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    held: Option<Held>,
}

/// A segment that others may follow, or a pure acknowledgement that a later one may replace.
#[derive(Debug)]
struct Held {
    /// The first segment, whose payload is the first of `payloads`.
    head: Box<Packet>,
    payloads: Vec<Payload>,
    /// Payload of the first segment, in bytes.
    size: u32,
    /// Payload of all.
    len: u32,
    /// The last one is shorter or has PSH.
    is_complete: bool,
    /// It is an acknowledgement that no later one may replace.
    is_final: bool,
}

/// Packets to be written at once.
#[derive(Debug)]
pub(crate) struct Merged {
    /// The header of the first packet, and the payload of all.
    packet: Box<Packet>,
    /// Number of packets.
    pub(crate) count: usize,
    /// Payload of each packet but the last one.
    size: u32,
}

impl Merger {
    /// Takes the next packet; what must be written now, in this order: what was held before, and
    /// the packet itself if nothing can follow it.
    pub(crate) fn push(&mut self, mut packet: Box<Packet>) -> [Option<Merged>; 2] {
        if self.held.as_ref().is_some_and(|held| held.is_followed_by(&packet)) {
            if let (Some(held), Body::Tcp(segment)) = (&mut self.held, &mut packet.body) {
                held.append(segment);
            }
            let is_complete = self.held.as_ref().is_some_and(|held| held.is_complete);
            return [is_complete.then(|| self.take()).flatten(), None];
        }
        if let Some(held) = &mut self.held
            && held.len == 0
            && !held.is_final
            && supersedes(&packet, &held.head)
        {
            held.head = packet;
            return [None, None];
        }
        let before = self.take();
        match Held::new(packet) {
            Ok(held) => {
                self.held = Some(held);
                [before, None]
            }
            Err(packet) => [before, Some(Merged { packet, count: 1, size: 0 })],
        }
    }

    /// What the engine has read so far is acknowledged: acknowledgements from here on replace none
    /// of before.
    pub(crate) fn settle(&mut self) {
        if let Some(held) = &mut self.held {
            held.is_final = true;
        }
    }

    /// What is held.
    pub(crate) fn take(&mut self) -> Option<Merged> {
        let Held { mut head, payloads, size, .. } = self.held.take()?;
        let count = payloads.len();
        if let Body::Tcp(segment) = &mut head.body {
            // Without payload there is one that is empty.
            segment.payload = payloads.into_iter().collect();
        }
        Some(Merged { packet: head, count, size })
    }
}

impl Held {
    /// Of a packet, if it is a segment that another one may follow.
    fn new(mut packet: Box<Packet>) -> Result<Held, Box<Packet>> {
        match &mut packet.body {
            Body::Tcp(segment) if segment.flags == Flags::ACK && !packet.corrupted => {
                let payload = std::mem::take(&mut segment.payload);
                let size = payload.len();
                let payloads = vec![payload];
                let (is_complete, is_final) = (false, false);
                Ok(Held { head: packet, payloads, size, len: size, is_complete, is_final })
            }
            _ => Err(packet),
        }
    }

    fn is_followed_by(&self, packet: &Packet) -> bool {
        let (Body::Tcp(head), Body::Tcp(next)) = (&self.head.body, &packet.body) else {
            return false;
        };
        let sort = |flags: Flags| flags.0 & !Flags::PSH.0;
        let len = next.payload.len();
        let is_next = next.seq.0 == head.seq.0.wrapping_add(self.len)
            && (next.src_port, next.dst_port) == (head.src_port, head.dst_port)
            && packet.ends == self.head.ends;
        let ends_alike = (packet.hop_limit, packet.ecn) == (self.head.hop_limit, self.head.ecn)
            && (next.ack, next.window) == (head.ack, head.window)
            && sort(next.flags) == sort(head.flags)
            && next.options == head.options;
        let fits = len > 0
            && len <= self.size
            && self.payloads.len() < MAX_SEGMENTS
            && self.head.wire_len() + self.len + len <= MAX_LEN;
        is_next && fits && ends_alike && !packet.corrupted && !self.is_complete
    }

    fn append(&mut self, segment: &mut TcpSegment) {
        let payload = std::mem::take(&mut segment.payload);
        self.is_complete = payload.len() < self.size || segment.flags.contains(Flags::PSH);
        self.len += payload.len();
        self.payloads.push(payload);
        if let Body::Tcp(head) = &mut self.head.body {
            head.flags = head.flags | segment.flags;
        }
    }
}

impl Merged {
    /// Replaces `out` by a header and the datagram.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        out.clear();
        out.resize(HEADER, 0);
        let start = self.packet.emit_to_device(out);
        let mut header = VirtioNetHdr::default();
        if let Some(start) = start {
            header.flags = NEEDS_CSUM;
            header.csum_start = start as u16;
            header.csum_offset = TCP_CHECKSUM;
        }
        header.gso_type = GSO_NONE;
        if self.count > 1 {
            header.gso_type = if self.packet.is_ipv4() { GSO_TCPV4 } else { GSO_TCPV6 };
            header.gso_size = self.size as u16;
            header.hdr_len = (self.packet.wire_len() - self.packet.payload_len()) as u16;
        }
        // Cannot fail: `out` begins with this many bytes.
        let _ = header.encode(out);
    }

    /// Each packet apart.
    pub(crate) fn into_singles(self) -> impl Iterator<Item = Merged> {
        let single = |packet| Merged { packet: Box::new(packet), count: 1, size: 0 };
        Pieces::new(*self.packet, self.size).map(single)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Read, read};
    use super::*;
    use std::net::Ipv4Addr;
    use wire::mptcp::{DataNumber, Dss, Mapping};
    use wire::sctp::Chunk;
    use wire::{Ends, SackBlocks, SctpPacket, SeqNumber, Timestamps};

    const MSS: u32 = 1400;

    /// A segment of a flow.
    fn segment(port: u16, seq: u32, len: u32) -> TcpSegment {
        let bytes: Vec<u8> = (0..len).map(|at| (seq + at) as u8).collect();
        TcpSegment {
            src_port: port,
            seq: SeqNumber(seq),
            flags: Flags::ACK,
            window: 500,
            payload: bytes.into(),
            ..TcpSegment::default()
        }
    }

    fn packet(segment: TcpSegment) -> Packet {
        let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        Packet::new(src.into(), dst.into(), Body::Tcp(segment))
    }

    /// What a kernel makes of the packets: how many each write has, and all of them.
    fn written(packets: &[Packet]) -> (Vec<usize>, Vec<Packet>) {
        let (mut merger, mut counts, mut sent) = (Merger::default(), vec![], vec![]);
        let mut out = Vec::new();
        let mut write = |merged: Merged| {
            counts.push(merged.count);
            merged.emit(&mut out);
            assert!(out.len() <= HEADER + MAX_LEN as usize);
            match read(&out) {
                Some(Read::Whole(packet)) => sent.push(packet),
                Some(Read::Pieces(pieces)) => sent.extend(pieces),
                None => panic!("refused: {:?}", &out[..out.len().min(80)]),
            }
        };
        for packet in packets {
            merger.push(Box::new(packet.clone())).into_iter().flatten().for_each(&mut write);
        }
        merger.take().into_iter().for_each(&mut write);
        (counts, sent)
    }

    #[test]
    fn consecutive_segments_are_written_at_once_and_segmented_again() {
        let mut packets: Vec<Packet> =
            (0..100).map(|number| packet(segment(1, number * MSS, MSS))).collect();
        packets.push(packet(segment(1, 100 * MSS, 77)));
        packets.push(packet(segment(1, 100 * MSS + 77, MSS)));
        let (counts, sent) = written(&packets);
        assert_eq!(counts, [46, 46, 9, 1], "64 KiB at most, and nothing follows a shorter one");
        assert_eq!(sent, packets);
    }

    #[test]
    fn small_segments_are_bounded_in_number() {
        let packets: Vec<Packet> =
            (0..100).map(|number| packet(segment(1, number * 10, 10))).collect();
        let (counts, sent) = written(&packets);
        assert_eq!((counts, sent), (vec![64, 36], packets));
    }

    #[test]
    fn push_ends_a_datagram() {
        let mut pushed = segment(1, MSS, MSS);
        pushed.flags = Flags::ACK | Flags::PSH;
        let packets = [packet(segment(1, 0, MSS)), packet(pushed), packet(segment(1, 2800, MSS))];
        let (counts, sent) = written(&packets);
        assert_eq!((counts, &sent[..]), (vec![2, 1], &packets[..]));
    }

    #[test]
    fn whatever_differs_is_written_apart_and_in_order() {
        type Change = fn(&mut Packet, &mut TcpSegment);
        let changes: [(&str, Change); 12] = [
            ("gap", |_, next| next.seq.0 += 1),
            ("flow", |_, next| next.dst_port = 9),
            ("source", |packet, _| {
                packet.ends = Ends::new(Ipv4Addr::new(10, 0, 0, 7).into(), packet.dst())
            }),
            ("destination", |packet, _| {
                packet.ends = Ends::new(packet.src(), Ipv4Addr::new(10, 0, 0, 7).into())
            }),
            ("mark", |packet, _| packet.ecn = 2),
            ("hop limit", |packet, _| packet.hop_limit = 1),
            ("acknowledgement", |_, next| next.ack = SeqNumber(5)),
            ("window", |_, next| next.window += 1),
            ("FIN", |_, next| next.flags = next.flags | Flags::FIN),
            ("timestamp", |_, next| {
                next.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
            }),
            ("SACK", |_, next| {
                let mut blocks = SackBlocks::NONE;
                assert!(blocks.push(SeqNumber(1), SeqNumber(2)));
                next.options.sack = blocks;
            }),
            ("mapping", |_, next| {
                let dsn = DataNumber::Long(7);
                let map = Mapping { dsn, subflow_seq: 1, len: 1400, checksum: None };
                next.options.mptcp.dss = Some(Dss::EMPTY.with_mapping(map));
            }),
        ];
        for (name, change) in changes {
            let mut next = segment(1, MSS, MSS);
            let mut changed = packet(TcpSegment::default());
            change(&mut changed, &mut next);
            changed.body = Body::Tcp(next);
            let packets = [packet(segment(1, 0, MSS)), changed, packet(segment(1, 2800, MSS))];
            let (counts, sent) = written(&packets);
            assert_eq!((counts, &sent[..]), (vec![1, 1, 1], &packets[..]), "{name}");
        }
    }

    #[test]
    fn longer_segment_and_another_protocol_are_written_apart() {
        let chunks = Chunk::Pad(vec![7; 4].into()).into();
        let sctp = Body::Sctp(SctpPacket { src_port: 5, dst_port: 6, chunks, ..<_>::default() });
        let sctp = Packet { body: sctp, ..packet(TcpSegment::default()) };
        let packets = [packet(segment(1, 0, 100)), packet(segment(1, 100, 101)), sctp];
        let (counts, sent) = written(&packets);
        assert_eq!((counts, &sent[..]), (vec![1, 1, 1], &packets[..]));
    }

    #[test]
    fn acknowledgement_is_replaced_by_a_later_one_and_not_by_a_repetition() {
        let ack = |number| packet(TcpSegment { ack: SeqNumber(number), ..segment(1, 0, 0) });
        let (counts, sent) = written(&[ack(10), ack(20), ack(30), ack(30), ack(30)]);
        assert_eq!((counts, sent), (vec![1, 1, 1], vec![ack(30), ack(30), ack(30)]));
        let data = packet(segment(1, 0, 10));
        let (_, sent) = written(&[ack(10), data.clone(), ack(20)]);
        assert_eq!(sent, [ack(10), data, ack(20)]);
    }

    #[test]
    fn acknowledgement_of_one_read_is_not_replaced_by_that_of_the_next() {
        let ack = |number| packet(TcpSegment { ack: SeqNumber(number), ..segment(7, 1, 0) });
        let mut merger = Merger::default();
        let mut push = |number| merger.push(Box::new(ack(number))).into_iter().flatten().count();
        assert_eq!([push(1), push(2)], [0, 0], "one read: the later one replaces the earlier");
        merger.settle();
        let written = merger.push(Box::new(ack(3)));
        let numbers = written.into_iter().flatten().map(|merged| merged.packet);
        let numbers: Vec<Packet> = numbers.map(|packet| *packet).collect();
        assert_eq!(numbers, [ack(2)]);
        assert_eq!(merger.take().map(|merged| *merged.packet), Some(ack(3)));
        merger.settle();
        assert!(merger.take().is_none(), "nothing is held");
    }

    #[test]
    fn datagram_that_a_kernel_refuses_falls_apart_into_its_packets() {
        let packets: Vec<Packet> =
            [0, 1, 2].map(|number| packet(segment(1, number * MSS, MSS))).to_vec();
        let mut merger = Merger::default();
        for packet in &packets {
            assert!(merger.push(Box::new(packet.clone())).iter().all(Option::is_none));
        }
        let singles = merger.take().expect("three packets").into_singles();
        let singles: Vec<Packet> = singles.map(|single| *single.packet).collect();
        assert_eq!(singles, packets);
    }
}

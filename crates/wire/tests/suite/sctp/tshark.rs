//! tshark reads the vectors as this crate emits them, over IP and over UDP.

use super::vectors::{VECTORS, packet};
use crate::tshark::{capture, tshark};
use std::net::IpAddr;
use wire::sctp::UdpPorts;
use wire::{Body, Packet, SctpPacket};

/// The checksum status, the chunk types, then what must never show.
const FIELDS: [&str; 9] = [
    "sctp.checksum.status",
    "sctp.chunk_type",
    "_ws.malformed",
    "sctp.chunk_length.bad",
    "sctp.parameter_length.bad",
    "sctp.parameter_padding.expert",
    "sctp.sack_gap_block_malformed",
    "sctp.sack_gap_block_out_of_order",
    "udp.checksum.status",
];

fn datagrams(corrupted: bool) -> Vec<Packet> {
    let v6 = |last| IpAddr::from([0x2001, 0xDB8, 0, 0, 0, 0, 0, last]);
    let ends = [([10, 0, 0, 1].into(), [10, 0, 0, 2].into()), (v6(1), v6(2))];
    let carriers = [None, Some(UdpPorts { src: 9899, dst: 9899 })];
    let each = |(src, dst)| {
        carriers.into_iter().flat_map(move |udp| {
            VECTORS.iter().map(move |vector| {
                let packet = SctpPacket { udp, ..packet(vector.name) };
                let datagram = Packet::new(src, dst, Body::Sctp(packet));
                Packet { corrupted, ..datagram }
            })
        })
    };
    ends.into_iter().flat_map(each).collect()
}

#[test]
fn tshark_finds_every_vector_whole_and_its_checksums_good() {
    let packets = datagrams(false);
    let Some(rows) = tshark("sctp.pcapng", &capture(&packets), &FIELDS) else { return };
    assert_eq!(rows.len(), packets.len());
    for (row, packet) in rows.iter().zip(&packets) {
        let Body::Sctp(sctp) = &packet.body else { panic!("an SCTP packet") };
        assert_eq!(row[0], "1", "{packet:?}");
        let kinds: Vec<String> = sctp.chunks.iter().map(|chunk| chunk.kind().to_string()).collect();
        // The chunk that V24 quotes is listed behind the ERROR.
        assert!(row[1].starts_with(&kinds.join(",")), "{row:?} {packet:?}");
        assert!(row[2..8].iter().all(String::is_empty), "{row:?} {packet:?}");
        let carried = if sctp.udp.is_some() { "1" } else { "" };
        assert_eq!(row[8], carried, "{packet:?}");
    }
}

#[test]
fn tshark_finds_the_checksum_of_a_damaged_packet_bad() {
    let packets = datagrams(true);
    let Some(rows) = tshark("sctp-damaged.pcapng", &capture(&packets), &FIELDS) else { return };
    for (row, packet) in rows.iter().zip(&packets) {
        assert!(row[0] == "0" || row[8] == "0", "{row:?} {packet:?}");
    }
}

//! Captures of real hosts: everything is read, every TCP packet parses.
//!
//! The files are next to the repository and not part of it; without them the tests skip.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::sctp::Chunk;
use wire::{Body, CaptureReader, Packet, ParseError, SctpPacket};

/// What was found in one file.
#[derive(PartialEq, Eq, Debug, Default)]
struct Census {
    datagrams: usize,
    tcp: usize,
    /// TCP packets with every checksum right.
    good: usize,
    sctp: usize,
    /// SCTP packets with the checksum of RFC 2960.
    adler: usize,
    other: usize,
}

pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of captures");
        return None;
    };
    let folder = Path::new(&data).join("pcap").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no captures at {}", folder.display());
    None
}

fn census(file: &Path) -> Census {
    let bytes = std::fs::read(file).unwrap();
    let mut census = Census::default();
    for captured in CaptureReader::new(&bytes).unwrap() {
        let captured = captured.unwrap();
        census.datagrams += 1;
        match Packet::parse_captured(captured.datagram) {
            Ok(Packet { body: Body::Tcp(_), corrupted, .. }) => {
                assert!(!corrupted, "{}: neither good nor unfilled", file.display());
                census.tcp += 1;
                census.good += usize::from(Packet::parse(captured.datagram).is_ok());
            }
            Ok(Packet { body: Body::Sctp(packet), corrupted, .. }) => {
                assert!(!corrupted, "{}: a wrong checksum", file.display());
                assert_eq!(Packet::parse(captured.datagram).map(drop), Ok(()), "not unfilled");
                census.sctp += 1;
                assert!(!has_malformed(&packet), "{}: {packet:?}", file.display());
            }
            Ok(_) => census.other += 1,
            Err(ParseError::Adler32) => census.adler += 1,
            Err(error) => panic!("{}: {error}: {:02x?}", file.display(), captured.datagram),
        }
    }
    census
}

#[test]
fn mptcp_captures_parse() {
    let Some(folder) = folder("mptcp") else { return };
    // Datagrams, TCP packets, and those with good checksums: what tshark counts. The rest of the
    // checksums were left to the hardware.
    let cases = [
        ("linux-6.18-v4-2subflows", 190, 190, 190),
        ("linux-6.18-v4-backup-rmaddr", 329, 329, 329),
        ("linux-6.18-v4-csum-addaddr", 112, 112, 112),
        ("linux-6.18-v4-fastclose", 41, 41, 41),
        ("tcpdump-aa-echo", 2, 2, 0),
        ("tcpdump-aa-v1", 24, 22, 0),
        ("tcpdump-dss-oobr", 1, 1, 0),
        ("tcpdump-fclose", 9, 9, 9),
        ("tcpdump-tcprst", 2, 2, 2),
        ("tcpdump-v0", 264, 264, 264),
        ("tcpdump-v1", 20, 20, 0),
    ];
    for (name, datagrams, tcp, good) in cases {
        let expected = Census { datagrams, tcp, good, other: datagrams - tcp, ..Census::default() };
        assert_eq!(census(&folder.join(format!("{name}.pcap"))), expected, "{name}");
    }
}

/// Whether a chunk of a known type has a content that it cannot have.
fn has_malformed(packet: &SctpPacket) -> bool {
    packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Malformed(_)))
}

#[test]
fn sctp_captures_parse_but_for_the_checksums_of_rfc_2960() {
    let Some(folder) = folder("sctp") else { return };
    let cases = [
        ("ndpi-sctp.cap", 0, 4),
        ("suricata-decode-01.pcap", 1, 0),
        ("suricata-keywords.pcap", 19, 0),
        ("usrsctp-cmt.pcap", 207, 0),
        ("usrsctp-mh.pcap", 78, 0),
        ("zeek-communityid-sctp.pcap", 74, 0),
    ];
    for (name, sctp, adler) in cases {
        let expected = Census { datagrams: sctp + adler, sctp, adler, ..Census::default() };
        assert_eq!(census(&folder.join(name)), expected, "{name}");
    }
}

/// Number of chunks of each type in a capture, by type.
fn chunks(file: &Path) -> BTreeMap<u8, usize> {
    let bytes = std::fs::read(file).unwrap();
    let mut count = BTreeMap::new();
    for captured in CaptureReader::new(&bytes).unwrap() {
        let packet = Packet::parse(captured.unwrap().datagram).unwrap();
        let mut again = Vec::new();
        packet.emit(&mut again);
        assert_eq!(Packet::parse(&again).as_ref(), Ok(&packet));
        let Body::Sctp(packet) = packet.body else { panic!("an SCTP packet") };
        packet.chunks.iter().for_each(|chunk| *count.entry(chunk.kind()).or_insert(0) += 1);
    }
    count
}

#[test]
fn chunks_of_sctp_captures_are_those_that_tshark_counts() {
    let Some(folder) = folder("sctp") else { return };
    let cases: [(&str, &[(u8, usize)]); 4] = [
        ("usrsctp-mh.pcap", &[(0, 43), (3, 22), (4, 3), (5, 3), (1, 1), (2, 1), (7, 1), (8, 1)]),
        ("usrsctp-cmt.pcap", &[(0, 100), (3, 94), (4, 3), (5, 3)]),
        ("zeek-communityid-sctp.pcap", &[(0, 120), (3, 49)]),
        ("suricata-keywords.pcap", &[(0, 15), (1, 1), (2, 1), (3, 7)]),
    ];
    for (name, expected) in cases {
        let found = chunks(&folder.join(name));
        for (kind, count) in expected {
            assert_eq!(found.get(kind), Some(count), "{name}: chunks of type {kind} in {found:?}");
        }
    }
}

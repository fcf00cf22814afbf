//! Captures of real hosts: everything is read, every TCP packet parses.
//!
//! The files are next to the repository and not part of it; without them the tests skip.

use std::path::{Path, PathBuf};
use wire::{Body, CaptureReader, Packet, ParseError};

/// What was found in one file.
#[derive(PartialEq, Eq, Debug, Default)]
struct Census {
    datagrams: usize,
    tcp: usize,
    /// TCP packets with every checksum right.
    good: usize,
    sctp: usize,
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
            Ok(_) => census.other += 1,
            Err(ParseError::Protocol(132)) => census.sctp += 1,
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
        let expected = Census { datagrams, tcp, good, other: datagrams - tcp, sctp: 0 };
        assert_eq!(census(&folder.join(format!("{name}.pcap"))), expected, "{name}");
    }
}

#[test]
fn sctp_captures_are_read() {
    let Some(folder) = folder("sctp") else { return };
    let cases = [
        ("ndpi-sctp.cap", 4),
        ("suricata-decode-01.pcap", 1),
        ("suricata-keywords.pcap", 19),
        ("usrsctp-cmt.pcap", 207),
        ("usrsctp-mh.pcap", 78),
        ("zeek-communityid-sctp.pcap", 74),
    ];
    for (name, sctp) in cases {
        let expected = Census { datagrams: sctp, sctp, ..Census::default() };
        assert_eq!(census(&folder.join(name)), expected, "{name}");
    }
}

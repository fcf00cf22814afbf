//! Captures of kernels: what each option proves is computed again from the keys of the handshake.
//!
//! The files are next to the repository and not part of it; without them the tests skip.

use crate::capture_files::folder;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use wire::mptcp::{Capable, CapableForm, Join, Key, Mapping, add_addr_hmac, join_hmac};
use wire::{
    Body, CaptureReader, Flags, MptcpOption, Packet, ParseError, Payload, SeqNumber, TcpSegment,
};

/// How many options of each subtype a file has; versions other than 1 and ignored ones apart.
#[derive(PartialEq, Eq, Debug, Default)]
struct Census {
    capable: usize,
    unsupported: usize,
    join: usize,
    dss: usize,
    add_addr: usize,
    remove_addr: usize,
    prio: usize,
    fail: usize,
    fast_close: usize,
    tcp_rst: usize,
    ignored: usize,
}

/// The bytes of every datagram of a file that parses as TCP, and what it parses to.
fn segments(file: &Path) -> Vec<(Vec<u8>, Packet)> {
    let bytes = std::fs::read(file).unwrap();
    let datagrams = CaptureReader::new(&bytes).unwrap().map(|captured| captured.unwrap().datagram);
    let packets = datagrams.map(|datagram| {
        let packet = Packet::parse_captured(datagram).unwrap();
        (datagram.to_vec(), packet)
    });
    packets.filter(|(_, packet)| matches!(packet.body, Body::Tcp(_))).collect()
}

fn segment(packet: &Packet) -> &TcpSegment {
    match &packet.body {
        Body::Tcp(segment) => segment,
        other => unreachable!("{other:?}"),
    }
}

fn count(census: &mut Census, packet: &Packet) {
    let mptcp = &segment(packet).options.mptcp;
    census.dss += usize::from(mptcp.dss.is_some());
    census.ignored += usize::from(mptcp.ignored());
    for option in mptcp.others() {
        *match option {
            MptcpOption::Capable(Capable::V1 { .. }) => &mut census.capable,
            MptcpOption::Capable(Capable::Unsupported { version }) => {
                assert_eq!(*version, 0);
                &mut census.unsupported
            }
            MptcpOption::Join(_) => &mut census.join,
            MptcpOption::Dss(_) => unreachable!("lies apart"),
            MptcpOption::AddAddr(_) => &mut census.add_addr,
            MptcpOption::RemoveAddr { .. } => &mut census.remove_addr,
            MptcpOption::Prio { .. } => &mut census.prio,
            MptcpOption::Fail { .. } => &mut census.fail,
            MptcpOption::FastClose { .. } => &mut census.fast_close,
            MptcpOption::TcpRst { .. } => &mut census.tcp_rst,
            MptcpOption::Group(_) => unreachable!("no kernel sends it"),
        } += 1;
    }
}

/// The counts of tshark, except that tshark decodes version 0 of the options as well.
#[test]
fn every_option_of_every_capture_is_recognised() {
    let Some(folder) = folder("mptcp") else { return };
    let none = Census::default;
    let cases = [
        ("linux-6.18-v4-2subflows", Census { capable: 4, join: 3, dss: 183, ..none() }),
        (
            "linux-6.18-v4-backup-rmaddr",
            Census { capable: 4, join: 3, dss: 321, remove_addr: 1, prio: 1, ..none() },
        ),
        (
            "linux-6.18-v4-csum-addaddr",
            Census { capable: 3, join: 3, dss: 104, add_addr: 2, ..none() },
        ),
        (
            "linux-6.18-v4-fastclose",
            Census { capable: 4, join: 3, dss: 32, fast_close: 2, tcp_rst: 2, ..none() },
        ),
        ("tcpdump-aa-echo", Census { add_addr: 2, dss: 2, ..none() }),
        ("tcpdump-aa-v1", Census { capable: 4, dss: 18, add_addr: 1, ..none() }),
        // A DSS that ends before its flags.
        ("tcpdump-dss-oobr", Census { ignored: 1, ..none() }),
        ("tcpdump-fclose", Census { unsupported: 3, dss: 5, fast_close: 1, ..none() }),
        ("tcpdump-tcprst", Census { tcp_rst: 2, ..none() }),
        // The ADD_ADDR of version 0 has no HMAC.
        (
            "tcpdump-v0",
            Census { unsupported: 3, join: 3, dss: 258, remove_addr: 1, ignored: 1, ..none() },
        ),
        ("tcpdump-v1", Census { capable: 4, dss: 16, ..none() }),
    ];
    for (name, expected) in cases {
        let mut census = Census::default();
        let segments = segments(&folder.join(format!("{name}.pcap")));
        segments.iter().for_each(|(_, packet)| count(&mut census, packet));
        assert_eq!(census, expected, "{name}");
    }
}

/// Lengths damaged in any option of any kernel: refused, ignored or another option, never taken
/// for what it was.
#[test]
fn damaged_option_is_refused_or_ignored() {
    let Some(folder) = folder("mptcp") else { return };
    for name in ["2subflows", "backup-rmaddr", "csum-addaddr", "fastclose"] {
        for (datagram, packet) in segments(&folder.join(format!("linux-6.18-v4-{name}.pcap"))) {
            // Behind the header and, in all of these, 12 bytes of timestamps or 20 of a SYN.
            let at = 40 + if segment(&packet).options.mss.is_some() { 20 } else { 12 };
            if segment(&packet).options.mptcp.is_empty() || datagram[at] != 30 {
                continue;
            }
            let parsed = |len: u8| {
                let mut damaged = datagram.clone();
                damaged[at + 1] = len;
                // Checksum left to the hardware.
                damaged[36..38].fill(0);
                Packet::parse_captured(&damaged)
            };
            let right = datagram[at + 1];
            assert_eq!(parsed(right), Ok(packet.clone()));
            for len in (0..=255).filter(|len| *len != right) {
                assert_ne!(parsed(len), Ok(packet.clone()), "length {len} instead of {right}");
            }
            for len in [0, 1, 41, 255] {
                assert_eq!(parsed(len), Err(ParseError::TcpOption { kind: 30, len }));
            }
        }
    }
}

/// 6.18 lays out every option as we do: padding, order, reserved bits.
#[test]
fn every_header_of_a_kernel_is_emitted_bit_by_bit() {
    let Some(folder) = folder("mptcp") else { return };
    for name in ["2subflows", "backup-rmaddr", "csum-addaddr", "fastclose"] {
        for (datagram, packet) in segments(&folder.join(format!("linux-6.18-v4-{name}.pcap"))) {
            let mut emitted = Vec::new();
            packet.emit(&mut emitted);
            assert_eq!(emitted[20..], datagram[20..], "{name}: {packet:?}");
        }
    }
}

fn way(packet: &Packet) -> Way {
    let tcp = segment(packet);
    let from = SocketAddr::new(packet.src(), tcp.src_port);
    Way { from, to: SocketAddr::new(packet.dst(), tcp.dst_port) }
}

/// One way of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    from: SocketAddr,
    to: SocketAddr,
}

/// A subflow, as its SYN began it.
struct Subflow {
    way: Way,
    /// The nonces of a joined one: of the side that joined, and of the other.
    nonces: [u32; 2],
}

/// The connection of a file: the keys of initiator and listener, what was found to be right.
struct Connection {
    keys: [Key; 2],
    subflows: Vec<Subflow>,
    /// What each way of each subflow carried, the SYN at 0.
    streams: BTreeMap<Way, Stream>,
    early_kernel: bool,
    proofs: usize,
    mappings: usize,
    checksums: usize,
}

#[derive(Default)]
struct Stream {
    isn: SeqNumber,
    bytes: Vec<u8>,
    /// Mappings with a checksum, each once: whole DSN, and whether a DATA_FIN ends it.
    summed: BTreeMap<u64, (Mapping, bool)>,
}

impl Stream {
    fn add(&mut self, tcp: &TcpSegment) {
        if tcp.flags.contains(Flags::SYN) {
            self.isn = tcp.seq;
        }
        let at = tcp.seq.0.wrapping_sub(self.isn.0) as usize;
        let payload = tcp.payload.to_bytes();
        let end = at + payload.len();
        self.bytes.resize(end.max(self.bytes.len()), 0);
        self.bytes[at..end].copy_from_slice(&payload);
    }

    /// How many checksums were those of the bytes mapped.
    fn verify(&self) -> usize {
        for (dsn, (mapping, fin)) in &self.summed {
            let from = mapping.subflow_seq as usize;
            let to = from + usize::from(mapping.len - u16::from(*fin));
            let payload = Payload::from(self.bytes[from..to].to_vec());
            assert!(mapping.matches(*dsn, &payload), "{mapping:?}");
        }
        self.summed.len()
    }
}

impl Connection {
    fn new(segments: &[(Vec<u8>, Packet)], early_kernel: bool) -> Connection {
        let keys = segments.iter().find_map(|(_, packet)| {
            match segment(packet).options.mptcp.capable()? {
                Capable::V1 { form: CapableForm::Ack { sender, receiver }, .. } => {
                    Some([sender, receiver])
                }
                _ => None,
            }
        });
        let keys = keys.expect("a third ACK");
        let (subflows, streams) = (Vec::new(), BTreeMap::new());
        let (proofs, mappings, checksums) = (0, 0, 0);
        Connection { keys, subflows, streams, early_kernel, proofs, mappings, checksums }
    }

    /// The keys of the packet's sender and receiver, and its subflow.
    fn sides(&mut self, packet: &Packet) -> (Key, Key, &mut Subflow) {
        let Way { from, to } = way(packet);
        let [a, b] = self.keys;
        let back = Way { from: to, to: from };
        let known = |subflow: &&mut Subflow| [Way { from, to }, back].contains(&subflow.way);
        let subflow = self.subflows.iter_mut().find(known).expect("a SYN before");
        let forward = subflow.way.from == from;
        if forward { (a, b, subflow) } else { (b, a, subflow) }
    }

    fn check(&mut self, packet: &Packet) {
        if segment(packet).flags == Flags::SYN {
            self.subflows.push(Subflow { way: way(packet), nonces: [0; 2] });
        }
        self.streams.entry(way(packet)).or_default().add(segment(packet));
        let options = &segment(packet).options.mptcp;
        for option in options.others() {
            let proved = match option {
                MptcpOption::Capable(capable) => self.check_capable(packet, capable),
                MptcpOption::Join(join) => self.check_join(packet, join),
                MptcpOption::AddAddr(add) => {
                    let (sender, receiver, _) = self.sides(packet);
                    match add.hmac {
                        // What the first kernels with version 1 took for the truncation.
                        Some(hmac) if self.early_kernel => {
                            let (id, address, port) = (add.address_id, add.address, add.port);
                            hmac == add_addr_hmac(sender, receiver, id, address, port).left8()
                        }
                        Some(_) => add.is_signed_by(sender, receiver),
                        None => true,
                    }
                }
                MptcpOption::FastClose { receiver } => self.sides(packet).1 == *receiver,
                _ => true,
            };
            assert!(proved, "{option:?}");
            self.proofs += 1;
        }
        self.check_dss(packet);
    }

    fn check_capable(&mut self, packet: &Packet, capable: &Capable) -> bool {
        let payload = &segment(packet).payload;
        let (own, peer, _) = self.sides(packet);
        let Capable::V1 { form, flags } = capable else { return false };
        assert!(!flags.must_be_ignored());
        match *form {
            CapableForm::Syn => true,
            CapableForm::SynAck { sender } => sender == own,
            CapableForm::Ack { sender, receiver } => (sender, receiver) == (own, peer),
            CapableForm::Data { sender, receiver, len, checksum: None } => {
                (sender, receiver) == (own, peer) && u32::from(len) >= payload.len()
            }
            CapableForm::Data { .. } => false,
        }
    }

    fn check_join(&mut self, packet: &Packet, join: &Join) -> bool {
        let (own, peer, subflow) = self.sides(packet);
        let [nonce_a, nonce_b] = subflow.nonces;
        match *join {
            Join::Syn { token, nonce, .. } => {
                subflow.nonces[0] = nonce;
                token == peer.token()
            }
            Join::SynAck { nonce, .. } => {
                subflow.nonces[1] = nonce;
                join.proves(&join_hmac((own, nonce), (peer, nonce_a)))
            }
            Join::Ack { .. } => join.proves(&join_hmac((own, nonce_a), (peer, nonce_b))),
        }
    }

    /// Sequence numbers are in the range that follows from the keys.
    fn check_dss(&mut self, packet: &Packet) {
        let Some(dss) = segment(packet).options.mptcp.dss else { return };
        let (own, peer, _) = self.sides(packet);
        if let Some(ack) = dss.ack() {
            let begin = peer.idsn() + 1;
            let acked = ack.expand(begin).wrapping_sub(begin);
            assert!(acked < 1 << 24, "{dss:?}");
        }
        let Some(mapping) = dss.mapping() else { return };
        let begin = own.idsn() + 1;
        let dsn = mapping.dsn.expand(begin);
        assert!(dsn.wrapping_sub(begin) < 1 << 24, "{dss:?}");
        self.mappings += 1;
        if mapping.checksum.is_some() {
            let stream = self.streams.entry(way(packet)).or_default();
            stream.summed.insert(dsn, (mapping, dss.fin()));
        }
    }
}

#[test]
fn tokens_hmacs_numbers_and_checksums_follow_from_the_keys() {
    let Some(folder) = folder("mptcp") else { return };
    // Options that prove something, mappings, and different ones with a checksum.
    let cases = [
        ("linux-6.18-v4-2subflows", 7, 101, 0),
        ("linux-6.18-v4-backup-rmaddr", 9, 163, 0),
        ("linux-6.18-v4-csum-addaddr", 8, 50, 8),
        ("linux-6.18-v4-fastclose", 11, 15, 0),
        ("tcpdump-aa-v1", 5, 9, 0),
        ("tcpdump-v1", 4, 5, 0),
    ];
    for (name, proofs, mappings, checksums) in cases {
        let segments = segments(&folder.join(format!("{name}.pcap")));
        let mut connection = Connection::new(&segments, name == "tcpdump-aa-v1");
        segments.iter().for_each(|(_, packet)| connection.check(packet));
        connection.checksums = connection.streams.values().map(Stream::verify).sum();
        let found = (connection.proofs, connection.mappings, connection.checksums);
        assert_eq!(found, (proofs, mappings, checksums), "{name}");
    }
}

//! tshark reads what we write: no packet is malformed, every checksum is good.

use base::Instant;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use wire::mptcp::{Capable, CapableFlags, CapableForm};
use wire::{
    Body, Flags, Icmp, MptcpOption, Packet, Payload, PcapngWriter, SackBlocks, SeqNumber,
    TcpOptions, TcpSegment, Timestamps, UdpDatagram,
};

/// The columns asked of tshark, in this order.
const FIELDS: [&str; 10] = [
    "frame.interface_name",
    "frame.time_epoch",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "tcp.len",
    "tcp.option_kind",
    "_ws.malformed",
];

fn segment(flags: Flags, options: TcpOptions, payload: Payload) -> Body {
    let (src_port, dst_port) = (40_000, 50_001);
    let (seq, ack) = (SeqNumber(1000), SeqNumber(2000));
    Body::Tcp(TcpSegment { src_port, dst_port, seq, ack, flags, window: 512, options, payload })
}

fn datagram(payload: Payload) -> Body {
    Body::Udp(UdpDatagram { src_port: 40_000, dst_port: 50_001, payload })
}

fn timestamps() -> Option<Timestamps> {
    Some(Timestamps { value: 77, echo: 66 })
}

fn syn_options() -> TcpOptions {
    let flags = CapableFlags::HMAC_SHA256;
    let mptcp = MptcpOption::Capable(Capable::V1 { flags, form: CapableForm::Syn }).into();
    TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: timestamps(),
        sack: SackBlocks::NONE,
        mptcp,
    }
}

fn ack_options() -> TcpOptions {
    let mut options = TcpOptions { timestamps: timestamps(), ..TcpOptions::default() };
    assert!(options.sack.push(SeqNumber(5000), SeqNumber(6000)));
    assert!(options.sack.push(SeqNumber(3000), SeqNumber(4000)));
    options
}

/// One packet of each kind for one family.
fn packets(src: IpAddr, dst: IpAddr) -> Vec<Packet> {
    let data = TcpOptions { timestamps: timestamps(), ..TcpOptions::default() };
    let mut mixed = Payload::virtual_range(3, 70_001, 701);
    mixed.append(vec![1, 2, 3].into());
    mixed.append(Payload::virtual_range(4, 131_001, 702));
    let echo = |reply| Icmp::Echo { reply, identifier: 7, sequence: 9, data: vec![5; 33].into() };
    let mut bodies = vec![
        segment(Flags::SYN, syn_options(), Payload::EMPTY),
        segment(Flags::ACK, ack_options(), Payload::EMPTY),
        segment(Flags::ACK | Flags::PSH, data.clone(), Payload::virtual_range(1, 13, 1448)),
        segment(Flags::ACK, data, mixed),
        segment(Flags::RST, TcpOptions::default(), Payload::EMPTY),
        datagram(Payload::virtual_range(2, 1, 1001)),
        datagram(Payload::EMPTY),
        Body::Icmp(echo(false)),
        Body::Icmp(echo(true)),
    ];
    let mut original = Vec::new();
    Packet::new(dst, src, datagram(Payload::EMPTY)).emit(&mut original);
    let unreachable = |code, next_hop_mtu| {
        let original = original.clone().into();
        Body::Icmp(Icmp::Unreachable { code, next_hop_mtu, original })
    };
    bodies.push(unreachable(if src.is_ipv4() { 3 } else { 4 }, 0));
    bodies.push(unreachable(if src.is_ipv4() { 4 } else { 0 }, 1400));
    bodies.into_iter().map(|body| Packet::new(src, dst, body)).collect()
}

fn all_packets() -> Vec<Packet> {
    let v6 = |last| IpAddr::from([0x2001, 0xDB8, 0, 0, 0, 0, 0, last]);
    let mut all = packets([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    all.extend(packets(v6(1), v6(2)));
    all
}

/// The rows of `fields` that tshark gives for a capture; `None` if there is no tshark.
pub(crate) fn tshark(name: &str, capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    for check in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    command.args(["-o", "sctp.checksum:CRC-32c", "-d", "udp.port==9899,sctp"]);
    command.args(fields.iter().flat_map(|field| ["-e", *field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: tshark not found");
            return None;
        }
        Err(error) => panic!("tshark: {error}"),
    };
    let (stdout, stderr) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "tshark: {stderr}");
    let rows = String::from_utf8(stdout.clone()).unwrap();
    Some(rows.lines().map(|row| row.split(';').map(String::from).collect()).collect())
}

pub(crate) fn capture(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["wlan", "3g"]).unwrap();
    for (i, packet) in packets.iter().enumerate() {
        let now = Instant::from_nanos(1_000_000_001 + i as u64);
        writer.write(i % 2, now, packet).unwrap();
    }
    writer.into_inner()
}

/// Whether each checksum a row shows is good; tshark gives one status per nested header.
fn checksums_good(row: &[String]) -> bool {
    row[2..7].iter().flat_map(|column| column.split(',')).all(|status| matches!(status, "" | "1"))
}

#[test]
fn tshark_finds_our_packets_whole_and_their_checksums_good() {
    let packets = all_packets();
    let Some(rows) = tshark("good.pcapng", &capture(&packets), &FIELDS) else { return };
    assert_eq!(rows.len(), packets.len());
    for (i, (row, packet)) in rows.iter().zip(&packets).enumerate() {
        assert_eq!(row[0], ["wlan", "3g"][i % 2]);
        assert_eq!(row[1], format!("1.{:09}", i + 1), "nanoseconds survive");
        assert!(checksums_good(row), "{row:?} {packet:?}");
        assert_eq!(row[9], "", "{packet:?} is malformed");
        // Every packet shows the status of its transport unit, and of its IPv4 header.
        let shown = row[2..7].iter().filter(|column| !column.is_empty()).count();
        assert!(shown >= if packet.is_ipv4() { 2 } else { 1 }, "{row:?}");
        if let Body::Tcp(segment) = &packet.body {
            assert_eq!(row[7], segment.payload.len().to_string());
        }
    }
    assert_eq!(rows[0][8], "2,4,8,1,3,30", "options of a SYN in Linux's order");
    assert_eq!(rows[1][8], "1,1,8,1,1,5", "options of an ACK in Linux's order");
}

#[test]
fn tshark_finds_the_checksum_of_a_corrupted_packet_bad() {
    let mut packets = all_packets();
    packets.iter_mut().for_each(|packet| packet.corrupted = true);
    let Some(rows) = tshark("corrupted.pcapng", &capture(&packets), &FIELDS) else { return };
    assert_eq!(rows.len(), packets.len());
    for (row, packet) in rows.iter().zip(&packets) {
        assert!(!checksums_good(row), "{row:?} {packet:?}");
    }
}

#[test]
fn tshark_puts_the_fragments_of_a_datagram_together() {
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let packet = Packet::new(src, dst, datagram(Payload::virtual_range(2, 1, 5000)));
    let parts = packet.fragmented(1500, 77);
    let fields = ["ip.checksum.status", "udp.checksum.status", "udp.length", "_ws.malformed"];
    let Some(rows) = tshark("fragments.pcapng", &capture(&parts), &fields) else { return };
    let found: Vec<String> = rows.iter().map(|row| row.join(";")).collect();
    assert_eq!(found, ["1;;;", "1;;;", "1;;;", "1;1;5008;"]);
}

//! Any bytes as a capture, and any segments in one: the analysis never panics, its shares are
//! shares, and its memory is in proportion to the file.
//!
//! Files that begin as captures do are taken as they are. Other bytes choose segments and SCTP
//! packets between few addresses and ports, so that many belong together.

#![no_main]

mod packets;

use arbitrary::{Result, Unstructured};
use base::Instant;
use lab::analyze::{Analysis, analysis_document, analyze};
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use wire::sctp::{Chunk, UdpPorts, VerificationTag, fill_checksum};
use wire::{Body, Packet, Payload, PcapngWriter, SctpPacket};

/// Packets of a made capture.
const MOST: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(analysis) = analyze(bytes) {
        check(&analysis, bytes.len());
    } else if let Ok(file) = made(&mut Unstructured::new(bytes)) {
        let analysis = analyze(&file).expect("a capture");
        check(&analysis, file.len());
        assert_eq!(analysis, analyze(&file).expect("a capture"));
    }
});

fn check(analysis: &Analysis, len: usize) {
    assert!(analysis.tcp_segments <= analysis.packets);
    assert!(analysis.packets <= len as u64);
    assert!(analysis.duration >= 0.0);
    for connection in &analysis.connections {
        assert!(connection.duration >= 0.0 && !connection.subflows.is_empty());
        for down in [false, true] {
            let flows = connection.subflows.iter().map(|subflow| subflow.flowing(down));
            let shares: Vec<f64> = flows.clone().filter_map(|flow| flow.share).collect();
            if let Some(sctp) = &connection.sctp {
                let sent = &sctp.sides[usize::from(down)];
                assert!(sent.unique_chunks <= sent.chunks && sent.unique_bytes <= sent.bytes);
            }
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
            assert!(shares.is_empty() || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
            for flow in flows {
                assert!(flow.first_bytes <= flow.bytes && flow.resent_bytes <= flow.bytes);
                assert!(flow.loss.is_none_or(|loss| (0.0..=1.0).contains(&loss)));
            }
        }
    }
    let document = serde_json::to_string(&analysis_document("fuzz", analysis));
    assert!(document.expect("memory").starts_with('{'));
}

/// A capture of segments that may belong together.
fn made(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut writer = PcapngWriter::new(Vec::new(), &["a", "b"]).expect("memory");
    let mut now = 0;
    for _ in 0..MOST {
        if u.is_empty() {
            break;
        }
        now += u64::from(u.arbitrary::<u16>()?);
        let interface = usize::from(u.arbitrary::<bool>()?);
        let packet = if u.ratio(1, 2)? { packet(u)? } else { sctp_packet(u)? };
        writer.write(interface, Instant::from_micros(now), &packet).expect("memory");
    }
    Ok(writer.into_inner())
}

fn packet(u: &mut Unstructured<'_>) -> Result<Packet> {
    let mut segment = packets::segment(u)?;
    let choice: u8 = u.arbitrary()?;
    let host = |low: bool| IpAddr::from([10, 0, choice >> 7, 1 + u8::from(low)]);
    (segment.src_port, segment.dst_port) = if choice & 1 == 0 {
        (1000 + u16::from(choice >> 4 & 3), 80)
    } else {
        (80, 1000 + u16::from(choice >> 4 & 3))
    };
    // Numbers near each other, on both sides of where they wrap.
    segment.seq.0 = (segment.seq.0 % 4096).wrapping_add(u32::MAX - 2048);
    segment.ack.0 = (segment.ack.0 % 4096).wrapping_add(u32::MAX - 2048);
    segment.payload = Payload::virtual_range(1, 0, u32::from(u.arbitrary::<u16>()?) % 2000);
    Ok(Packet::new(host(choice & 1 == 0), host(choice & 1 == 1), Body::Tcp(segment)))
}

/// An SCTP packet of few ports, tags and TSNs whose chunks are any bytes of few types.
fn sctp_packet(u: &mut Unstructured<'_>) -> Result<Packet> {
    let choice: u8 = u.arbitrary()?;
    let mut bytes = Vec::new();
    let ports = if choice & 1 == 0 { [1000, 80_u16] } else { [80, 1000] };
    bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    bytes.extend(u32::from(choice >> 1 & 3).to_be_bytes());
    bytes.extend([0; 4]);
    for _ in 0..u.int_in_range(1..=4)? {
        let kinds = [0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 16, 64, 0x80, 0x82, 0xC0, 0xC1, 0xC2];
        let kind: u8 = *u.choose(&kinds)?;
        let len = u.int_in_range(0..=60)?;
        let mut value = u.bytes(len)?.to_vec();
        // TSNs and tags near each other, on both sides of where they wrap.
        for at in value.iter_mut().take(3) {
            *at = if choice & 8 == 0 { 0 } else { 0xFF };
        }
        bytes.extend([kind, u.arbitrary::<u8>()? & 15]);
        bytes.extend((value.len() as u16 + 4).to_be_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    fill_checksum(&mut bytes);
    // A first chunk that is cut short makes no packet.
    let parsed = SctpPacket::parse(&bytes).unwrap_or_else(|_| SctpPacket {
        src_port: ports[0],
        dst_port: ports[1],
        tag: VerificationTag(1),
        udp: None,
        chunks: Chunk::CookieAck.into(),
    });
    let udp = (choice & 16 != 0).then_some(UdpPorts { src: 9899, dst: 9899 });
    let host = |low: bool| IpAddr::from([10, 0, choice >> 7, 1 + u8::from(low)]);
    let body = Body::Sctp(SctpPacket { udp, ..parsed });
    Ok(Packet::new(host(choice & 1 == 0), host(choice & 1 == 1), body))
}

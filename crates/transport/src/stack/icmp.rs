//! ICMP messages of the host: what they quote of a packet (RFC 792, RFC 4443).

use crate::endpoint::{IpProtocol, Tuple};
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};
use wire::sctp::VerificationTag;
use wire::{Body, Icmp, Packet, SeqNumber, UdpDatagram};

/// The code "port unreachable" (RFC 792), and that of ICMPv6 (RFC 4443 s3.1).
const PORT_UNREACHABLE_V4: u8 = 3;
const PORT_UNREACHABLE_V6: u8 = 4;

/// The answer to a datagram to an unbound port.
pub(super) fn port_unreachable(src: IpAddr, dst: IpAddr, datagram: &UdpDatagram) -> Body {
    let code = if dst.is_ipv4() { PORT_UNREACHABLE_V4 } else { PORT_UNREACHABLE_V6 };
    let original = udp_header(src, dst, datagram);
    Body::Icmp(Icmp::Unreachable { code, next_hop_mtu: 0, original })
}

/// The IP and UDP headers of a datagram, as an ICMP message quotes them.
fn udp_header(src: IpAddr, dst: IpAddr, datagram: &UdpDatagram) -> Bytes {
    let header = UdpDatagram {
        src_port: datagram.src_port,
        dst_port: datagram.dst_port,
        ..UdpDatagram::default()
    };
    let mut bytes = Vec::new();
    Packet::new(src, dst, Body::Udp(header)).emit(&mut bytes);
    Bytes::from(bytes)
}

/// The protocol and the ends of the connection whose packet an ICMP message quotes.
pub(super) fn quoted_ends(original: &[u8]) -> Option<(IpProtocol, Tuple)> {
    let version = original.first()? >> 4;
    let (src, dst, protocol, ports): (IpAddr, IpAddr, u8, usize) = match version {
        4 => {
            let header = original.first_chunk::<20>()?;
            let ports = usize::from(header[0] & 15) * 4;
            let src: [u8; 4] = header[12..16].try_into().ok()?;
            let dst: [u8; 4] = header[16..20].try_into().ok()?;
            (src.into(), dst.into(), header[9], ports)
        }
        6 => {
            let header = original.first_chunk::<40>()?;
            let src: [u8; 16] = header[8..24].try_into().ok()?;
            let dst: [u8; 16] = header[24..40].try_into().ok()?;
            (src.into(), dst.into(), header[6], 40)
        }
        _ => return None,
    };
    let protocol = IpProtocol::from_number(protocol)?;
    let ends = original.get(ports..ports + 4)?;
    let local = SocketAddr::new(src, u16::from_be_bytes([ends[0], ends[1]]));
    let remote = SocketAddr::new(dst, u16::from_be_bytes([ends[2], ends[3]]));
    Some((protocol, Tuple { local, remote }))
}

/// Sequence number of the TCP segment that an ICMP message quotes.
pub(super) fn quoted_seq(original: &[u8]) -> Option<SeqNumber> {
    let header = match original.first()? >> 4 {
        4 => usize::from(original[0] & 15) * 4,
        _ => 40,
    };
    let bytes = original.get(header + 4..header + 8)?.try_into().ok()?;
    Some(SeqNumber(u32::from_be_bytes(bytes)))
}

/// Verification tag of the SCTP packet that an ICMP message quotes, and the Initiate Tag if it is
/// an INIT of which enough is quoted (RFC 9260 s10).
pub(super) fn quoted_tags(original: &[u8]) -> Option<(VerificationTag, Option<VerificationTag>)> {
    const INIT: u8 = 1;
    let header = match original.first()? >> 4 {
        4 => usize::from(original[0] & 15) * 4,
        _ => 40,
    };
    let word = |at: usize| {
        let bytes = original.get(header + at..header + at + 4)?.try_into().ok()?;
        Some(VerificationTag(u32::from_be_bytes(bytes)))
    };
    let is_init = original.get(header + 12) == Some(&INIT);
    Some((word(4)?, if is_init { word(16) } else { None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::TcpSegment;

    #[test]
    fn quoted_packet_names_its_connection() {
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let [src, dst]: [IpAddr; 2] = [src, dst].map(|at| at.parse().expect("an address"));
            let segment = TcpSegment { src_port: 4000, dst_port: 80, ..TcpSegment::default() };
            let mut bytes = Vec::new();
            Packet::new(src, dst, Body::Tcp(segment)).emit(&mut bytes);
            let (local, remote) = (SocketAddr::new(src, 4000), SocketAddr::new(dst, 80));
            assert_eq!(quoted_ends(&bytes), Some((IpProtocol::Tcp, Tuple { local, remote })));
            let quoted = if src.is_ipv4() { 20 } else { 40 } + 4;
            assert!(quoted_ends(&bytes[..quoted]).is_some(), "ports are enough");
            assert_eq!(quoted_ends(&bytes[..quoted - 1]), None);
            let mut udp = Vec::new();
            Packet::new(src, dst, Body::Udp(UdpDatagram::default())).emit(&mut udp);
            assert_eq!(quoted_ends(&udp), None, "UDP has no connections");
        }
    }
}

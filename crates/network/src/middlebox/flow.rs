//! What middleboxes read of a packet: its TCP segment, and the flow that it belongs to.

use super::Way;
use std::net::SocketAddr;
use wire::{Body, Packet, TcpSegment};

/// A TCP flow as a middlebox sees it, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flow {
    pub inside: SocketAddr,
    pub outside: SocketAddr,
}

impl Flow {
    /// The flow of a TCP packet in direction `way`.
    pub(super) fn of(packet: &Packet, way: Way) -> Option<Flow> {
        let segment = tcp(packet)?;
        let src = SocketAddr::new(packet.src(), segment.src_port);
        let dst = SocketAddr::new(packet.dst(), segment.dst_port);
        Some(match way {
            Way::Outward => Flow { inside: src, outside: dst },
            Way::Inward => Flow { inside: dst, outside: src },
        })
    }
}

/// The TCP segment of a packet.
pub(super) const fn tcp(packet: &Packet) -> Option<&TcpSegment> {
    match &packet.body {
        Body::Tcp(segment) => Some(segment),
        Body::Udp(_) | Body::Sctp(_) | Body::Icmp(_) | Body::Fragment(_) | Body::Opaque(_) => None,
    }
}

/// The TCP segment of a packet, mutable.
pub(super) const fn tcp_mut(packet: &mut Packet) -> Option<&mut TcpSegment> {
    match &mut packet.body {
        Body::Tcp(segment) => Some(segment),
        Body::Udp(_) | Body::Sctp(_) | Body::Icmp(_) | Body::Fragment(_) | Body::Opaque(_) => None,
    }
}

//! Middleboxes: elements between links that change, swallow or multiply packets.
//!
//! Only the face and one trivial element; a world puts boxes behind links. Boxes that edit
//! packets (NAT, option stripper, proxy) come with the protocols they are to disturb.

use base::Context;
use wire::Packet;

/// An element that packets pass.
pub trait MiddleBox {
    /// Take a packet and put what goes on into `out`: nothing, the packet, or several.
    fn handle(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>);
}

/// Swallows every packet and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlackHole;

impl MiddleBox for BlackHole {
    fn handle(&mut self, _cx: &mut Context<'_>, _packet: Box<Packet>, _out: &mut Vec<Box<Packet>>) {
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Chance, Instant};
    use std::net::IpAddr;
    use wire::{Body, UdpDatagram};

    #[test]
    fn black_hole_lets_nothing_through() {
        let address = IpAddr::from([10, 0, 0, 1]);
        let packet = Packet::new(address, address, Body::Udp(UdpDatagram::default()));
        let mut out = Vec::new();
        let mut cx = Context::quiet(Instant::ZERO, Chance::new(1, 0));
        BlackHole.handle(&mut cx, Box::new(packet), &mut out);
        assert!(out.is_empty());
    }
}

//! `SilentDrop`: swallows packets and says nothing, neither by RST nor by ICMP.
//!
//! The firewall that does not like an option on a SYN, the path that dies in one direction while
//! no interface goes down (RFC 8684 s3.1 and s3.7; Honda s4.2). One object is one direction; which
//! ones have one is left to the world.

use super::MiddleBox;
use super::flow::tcp;
use base::Context;
use wire::{Flags, Packet};

/// What is swallowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swallowed {
    /// Every packet.
    Everything,
    /// SYNs and SYN/ACKs with an MPTCP option.
    MptcpSyns,
    /// Every packet after the first `passed` ones.
    After { passed: u64 },
}

/// Swallows packets of one direction.
#[derive(Clone, Copy, Debug)]
pub struct SilentDrop {
    swallowed: Swallowed,
    /// Packets that came so far.
    seen: u64,
}

impl SilentDrop {
    pub const fn new(swallowed: Swallowed) -> Self {
        SilentDrop { swallowed, seen: 0 }
    }

    fn swallows(&self, packet: &Packet) -> bool {
        match self.swallowed {
            Swallowed::Everything => true,
            Swallowed::MptcpSyns => tcp(packet).is_some_and(|segment| {
                segment.flags.contains(Flags::SYN) && !segment.options.mptcp.is_empty()
            }),
            Swallowed::After { passed } => self.seen >= passed,
        }
    }
}

impl MiddleBox for SilentDrop {
    fn handle(&mut self, _cx: &mut Context<'_>, packet: Box<Packet>, out: &mut Vec<Box<Packet>>) {
        if !self.swallows(&packet) {
            out.push(packet);
        }
        self.seen += 1;
    }
}

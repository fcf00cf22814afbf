//! `SilentDrop`: drops packets without an RST or an ICMP message.
//!
//! A firewall that drops SYNs with unknown options, or a path that fails in one direction while all
//! interfaces stay up (RFC 8684 s3.1 and s3.7; Honda s4.2). One object is one direction; which
//! directions have one is left to the world.

use super::MiddleBox;
use super::flow::tcp;
use base::Context;
use wire::{Flags, Packet};

/// Which packets are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swallowed {
    /// Every packet.
    Everything,
    /// SYNs and SYN/ACKs with an MPTCP option.
    MptcpSyns,
    /// Every packet after the first ones of this direction.
    After {
        /// Number of packets that pass.
        passed: u64,
    },
}

/// Drops packets of one direction.
#[derive(Clone, Copy, Debug)]
pub struct SilentDrop {
    swallowed: Swallowed,
    /// Packets received so far.
    seen: u64,
}

impl SilentDrop {
    /// Drops the packets that `swallowed` selects.
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

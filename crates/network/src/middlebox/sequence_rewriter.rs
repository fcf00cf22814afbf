//! `SequenceRewriter`: adds an offset of its own to all sequence numbers of a direction of a flow.
//!
//! A firewall that randomises predictable initial sequence numbers (Honda s4.3). Numbers,
//! acknowledgements and SACK blocks of both directions are consistent, so it is transparent to TCP
//! and to MPTCP, whose mappings count from the SYN (RFC 8684 s3.3.1). The offsets are keyed draws
//! of the flow: there is no state, and two objects with the same `owner` are one middlebox.

use super::flow::{Flow, tcp_mut};
use super::{MiddleBox, Way};
use base::{Chance, Context, Purpose};
use std::net::{IpAddr, SocketAddr};
use wire::{Flags, Packet, SackBlocks, TcpSegment};

/// Shifts the sequence numbers of one direction, and the acknowledgements of the other.
#[derive(Clone, Copy, Debug)]
pub struct SequenceRewriter {
    owner: u64,
    way: Way,
}

impl SequenceRewriter {
    /// The half for `way` of the middlebox whose draws are keyed by `owner`.
    pub const fn new(owner: u64, way: Way) -> Self {
        SequenceRewriter { owner, way }
    }

    /// The offsets of this direction and of the other one.
    fn offsets(&self, chance: Chance, flow: &Flow) -> (u32, u32) {
        let [from, to] = [flow.inside, flow.outside].map(words);
        let key = [from, to]
            .concat()
            .into_iter()
            .fold(self.owner, |key, word| chance.bits(key, Purpose::InitialSequence, word));
        let (outward, inward) = (key as u32, (key >> 32) as u32);
        match self.way {
            Way::Outward => (outward, inward),
            Way::Inward => (inward, outward),
        }
    }
}

impl MiddleBox for SequenceRewriter {
    fn handle(
        &mut self,
        cx: &mut Context<'_>,
        mut packet: Box<Packet>,
        out: &mut Vec<Box<Packet>>,
    ) {
        if let Some(flow) = Flow::of(&packet, self.way)
            && let Some(segment) = tcp_mut(&mut packet)
        {
            let (ours, theirs) = self.offsets(cx.chance, &flow);
            shift(segment, ours, theirs);
        }
        out.push(packet);
    }
}

/// Add `ours` to the sequence number, subtract `theirs` from acknowledgements.
fn shift(segment: &mut TcpSegment, ours: u32, theirs: u32) {
    segment.seq += ours;
    if segment.flags.contains(Flags::ACK) {
        segment.ack = segment.ack - theirs;
    }
    if !segment.options.sack.is_empty() {
        let mut blocks = SackBlocks::NONE;
        for (start, end) in segment.options.sack.as_slice() {
            blocks.push(*start - theirs, *end - theirs);
        }
        segment.options.sack = blocks;
    }
}

/// An address and port as words of a key.
fn words(address: SocketAddr) -> [u64; 3] {
    let bits = match address.ip() {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    [(bits >> 64) as u64, bits as u64, address.port().into()]
}

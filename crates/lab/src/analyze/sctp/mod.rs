//! SCTP in captures: sorts packets to associations.
//!
//! A packet belongs to the association of its ports and verification tag, whatever its addresses
//! (RFC 9260 s8.5). Tags come from INIT and INIT ACK; where the capture lacks them, from the first
//! packet between two addresses. `association` has the state of one, `half` the TSNs of one side,
//! `streams` its messages.

mod association;
mod document;
mod half;
mod result;
#[cfg(test)]
mod simulated_tests;
mod streams;
#[cfg(test)]
mod tests;
mod words;

pub(super) use document::{association, path_use};
pub use result::{
    Address, AddressChange, Association, Change, End, Known, PathUse, Retransmissions, Sacks, Sent,
    State, Stream,
};

use super::Connection;
use association::Opened;
use base::Instant;
use std::collections::BTreeMap;
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{Chunk, Init};

/// An SCTP packet as seen at the point of capture.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub time: Instant,
    /// Index into the names of the file's interfaces.
    pub interface: usize,
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Identification of the IPv4 header, 0 for IPv6.
    pub identification: u16,
    /// Hash of what follows the IP header, as far as it was captured, and of the place of the
    /// packet in it.
    pub content: u64,
    /// Payloads have their lengths only.
    pub packet: SctpPacket,
}

/// Associations of equal ports that are searched for the one of a packet with an unknown tag.
const MOST_SEARCHED: usize = 16;

/// State of the analysis.
#[derive(Debug, Default)]
pub(super) struct Associations {
    opened: Vec<Opened>,
    /// Association and receiver of a packet, by the receiver's port, the sender's and the tag.
    tags: BTreeMap<(u16, u16, u32), (usize, usize)>,
    /// Associations by their ports, the lower one first.
    by_ports: BTreeMap<(u16, u16), Vec<usize>>,
    /// Whether sequences are recorded.
    sequences: bool,
}

impl Associations {
    pub(super) fn new(sequences: bool) -> Associations {
        Associations { sequences, ..Associations::default() }
    }

    /// Processes the next packet in time order.
    pub(super) fn packet(&mut self, unit: &Unit) {
        let Some((index, sender)) = self.find(unit) else { return };
        self.opened[index].packet(unit, sender);
        let (src, dst) = (unit.packet.src_port, unit.packet.dst_port);
        for chunk in &unit.packet.chunks {
            if let Chunk::Init(init) | Chunk::InitAck(init) = chunk {
                // The tag is that of packets to the sender of the chunk.
                self.tags.entry((src, dst, init.tag.0)).or_insert((index, sender));
            }
        }
    }

    /// Association and sender of a packet; `None` if it has a wrong tag.
    fn find(&mut self, unit: &Unit) -> Option<(usize, usize)> {
        let packet = &unit.packet;
        if let Some(Chunk::Init(init)) = packet.chunks.first() {
            return Some(self.of_init(unit, init));
        }
        let (src, dst, tag) = (packet.src_port, packet.dst_port, packet.tag.0);
        if let Some((index, receiver)) = self.tags.get(&(dst, src, tag)) {
            return Some((*index, 1 - receiver));
        }
        let reflects = |chunk: &Chunk| {
            matches!(
                chunk,
                Chunk::Abort { reflected: true, .. } | Chunk::ShutdownComplete { reflected: true }
            )
        };
        if packet.chunks.iter().any(reflects)
            && let Some((index, owner)) = self.tags.get(&(src, dst, tag))
        {
            return Some((*index, *owner));
        }
        if let Some((index, sender)) = self.between(unit) {
            let opened = &mut self.opened[index];
            let receiver = 1 - sender;
            if opened.tags[receiver].is_some() {
                opened.wrong_tags += 1;
                return None;
            }
            opened.tags[receiver] = Some(tag);
            self.tags.insert((dst, src, tag), (index, receiver));
            return Some((index, sender));
        }
        let (sender, is_known) = match packet.chunks.first() {
            // Who sends these, RFC 9260 s5.1 says.
            Some(Chunk::CookieEcho(_)) => (0, true),
            Some(Chunk::InitAck(_) | Chunk::CookieAck) => (1, true),
            // The end with the lower port is assumed to be the server.
            _ => (usize::from(src < dst), false),
        };
        let index = self.open(unit, sender);
        self.opened[index].initiated = is_known;
        self.opened[index].tags[1 - sender] = Some(tag);
        self.tags.insert((dst, src, tag), (index, 1 - sender));
        Some((index, sender))
    }

    /// The association of an INIT: a new one unless it was sent before, or both ends sent one.
    fn of_init(&mut self, unit: &Unit, init: &Init) -> (usize, usize) {
        let (src, dst) = (unit.packet.src_port, unit.packet.dst_port);
        if let Some(known) = self.tags.get(&(src, dst, init.tag.0)) {
            return *known;
        }
        if let Some((index, sender)) = self.between(unit) {
            let before = &mut self.opened[index];
            if sender == 1 && before.state == State::CookieWait && before.tags[1].is_none() {
                return (index, sender);
            }
            if before.end == End::Running {
                before.end = End::Restart;
            }
        }
        (self.open(unit, 0), 0)
    }

    fn open(&mut self, unit: &Unit, sender: usize) -> usize {
        let index = self.opened.len();
        self.opened.push(Opened::new(unit, sender, self.sequences));
        let (src, dst) = (unit.packet.src_port, unit.packet.dst_port);
        self.by_ports.entry((src.min(dst), src.max(dst))).or_default().push(index);
        index
    }

    /// The newest association of these ports that has one of the addresses, if it has not ended;
    /// and the sender.
    fn between(&self, unit: &Unit) -> Option<(usize, usize)> {
        let (src, dst) = (unit.packet.src_port, unit.packet.dst_port);
        let candidates = self.by_ports.get(&(src.min(dst), src.max(dst)))?;
        candidates.iter().rev().take(MOST_SEARCHED).find_map(|&index| {
            let opened = &self.opened[index];
            if opened.state == State::Closed || matches!(opened.end, End::Abort(..)) {
                return None;
            }
            let has = |side: usize, ip: IpAddr| {
                opened.addresses[side].iter().any(|known| known.address == ip)
            };
            let sends = |side: usize| {
                opened.ports[side] == src
                    && opened.ports[1 - side] == dst
                    && (has(side, unit.src) || has(1 - side, unit.dst))
            };
            [0, 1].into_iter().find(|side| sends(*side)).map(|sender| (index, sender))
        })
    }

    /// The results, in the order in which associations begin.
    pub(super) fn finish(&self, start: Instant, names: &[String]) -> Vec<Connection> {
        self.opened.iter().map(|opened| opened.finish(start, names)).collect()
    }
}

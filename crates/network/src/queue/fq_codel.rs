//! FQ-CoDel (RFC 8290): flows hashed to queues, served by deficit round robin with new flows
//! first, each under CoDel.
//!
//! Flows are distinguished by addresses, protocol and ports. The hash is fixed, so a run does not
//! depend on the machine.

use super::codel::{CoDel, Store};
use super::{Backlog, HeadDiscipline, Held};
use base::Instant;
use std::collections::VecDeque;
use std::net::IpAddr;
use wire::Packet;

/// Number of queues (RFC 8290 s5.2.5).
const FLOWS: usize = 1024;
/// Bytes a flow may send per round (RFC 8290 s5.2.4).
const QUANTUM: i64 = 1514;
/// Most packets that a queue beyond its limit drops at once (RFC 8290 s4.1).
const BATCH: usize = 64;

/// The flows and the two lists of RFC 8290 s4.2.
#[derive(Debug)]
pub(crate) struct FqCoDel {
    flows: Vec<FlowQueue>,
    new_flows: VecDeque<u16>,
    old_flows: VecDeque<u16>,
    backlog: Backlog,
}

#[derive(Debug, Default)]
struct FlowQueue {
    store: Store,
    codel: CoDel,
    /// Bytes it may still send in this round.
    credits: i64,
    /// Whether it is on one of the lists.
    active: bool,
}

impl FqCoDel {
    pub(crate) fn new() -> Self {
        FqCoDel {
            flows: (0..FLOWS).map(|_| FlowQueue::default()).collect(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    /// The next flow, and whether it is a new one. Flows without credit get a new quantum and move
    /// to the end of the old flows.
    fn next_flow(&mut self) -> Option<(u16, bool)> {
        loop {
            let (index, new) = match (self.new_flows.front(), self.old_flows.front()) {
                (Some(index), _) => (*index, true),
                (None, Some(index)) => (*index, false),
                (None, None) => return None,
            };
            let flow = &mut self.flows[usize::from(index)];
            if flow.credits > 0 {
                return Some((index, new));
            }
            flow.credits += QUANTUM;
            self.pop_list(new);
            self.old_flows.push_back(index);
        }
    }

    fn pop_list(&mut self, new: bool) {
        if new {
            self.new_flows.pop_front();
        } else {
            self.old_flows.pop_front();
        }
    }

    fn forget(&mut self, held: &Held) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(held.len);
    }
}

impl HeadDiscipline for FqCoDel {
    fn enqueue(&mut self, held: Held) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(held.len);
        let index = flow_of(&held.packet);
        let flow = &mut self.flows[usize::from(index)];
        flow.store.push(held);
        if !flow.active {
            flow.active = true;
            flow.credits = QUANTUM;
            self.new_flows.push_back(index);
        }
    }

    /// RFC 8290 s4.2.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Held>) -> Option<Held> {
        while let Some((index, new)) = self.next_flow() {
            let before = dropped.len();
            let flow = &mut self.flows[usize::from(index)];
            // CoDel spares the last packet of the whole queue, not of each flow.
            let others = self.backlog.bytes - flow.store.backlog().bytes;
            let held = flow.codel.dequeue(now, &mut flow.store, others, dropped);
            if let Some(held) = &held {
                flow.credits -= i64::from(held.len);
            } else if !new || self.old_flows.is_empty() {
                flow.active = false;
            }
            dropped[before..].iter().for_each(|lost| self.forget(lost));
            if let Some(held) = held {
                self.forget(&held);
                return Some(held);
            }
            // An empty new flow moves to the old flows, so that it does not stay new by sending
            // one packet at a time (RFC 8290 s4.2).
            self.pop_list(new);
            if self.flows[usize::from(index)].active {
                self.old_flows.push_back(index);
            }
        }
        None
    }

    fn sheds(&self) -> bool {
        true
    }

    /// Drop half of the flow with the most bytes from its head, at most a batch (RFC 8290 s4.1; by
    /// bytes, as in Linux).
    fn shed(&mut self, dropped: &mut Vec<Held>) {
        let flows = self.flows.iter_mut().rev();
        let Some(fattest) = flows.max_by_key(|flow| flow.store.backlog().bytes) else { return };
        let left = fattest.store.backlog().bytes.div_ceil(2);
        let before = dropped.len();
        while dropped.len() - before < BATCH
            && let Some(held) = fattest.store.pop()
        {
            dropped.push(held);
            if fattest.store.backlog().bytes <= left {
                break;
            }
        }
        dropped[before..].iter().for_each(|held| self.forget(held));
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// The queue of a packet's flow: a fixed multiplicative hash of its addresses and ports.
fn flow_of(packet: &Packet) -> u16 {
    let (protocol, src, dst) = packet.body.flow();
    let mut hash = u64::from(protocol) << 32 | ports(src, dst);
    for part in [address(packet.src()), address(packet.dst())] {
        hash = (hash ^ part as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        hash = (hash ^ (part >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    (hash % FLOWS as u64) as u16
}

fn ports(src: u16, dst: u16) -> u64 {
    u64::from(src) << 16 | u64::from(dst)
}

fn address(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Body, Payload, UdpDatagram};

    fn held(port: u16, number: u64, payload: u32) -> Held {
        let address = IpAddr::from([10, 0, 0, 1]);
        let payload = Payload::virtual_range(0, 0, payload);
        let packet = Packet::new(
            address,
            address,
            Body::Udp(UdpDatagram { src_port: port, dst_port: 9, payload }),
        );
        Held { since: Instant::ZERO, number, len: packet.wire_len(), packet: Box::new(packet) }
    }

    fn source(held: &Held) -> u16 {
        match &held.packet.body {
            Body::Udp(datagram) => datagram.src_port,
            _ => 0,
        }
    }

    fn drain(queue: &mut FqCoDel) -> Vec<u16> {
        let mut dropped = Vec::new();
        std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut dropped))
            .map(|held| source(&held))
            .collect()
    }

    #[test]
    fn flows_share_by_bytes_in_turn() {
        let mut queue = FqCoDel::new();
        for number in 0..6 {
            queue.enqueue(held(1, number, 1472));
        }
        for number in 6..12 {
            queue.enqueue(held(2, number, 1472));
        }
        // A quantum is 14 bytes above a packet, so a flow sends two in its first turn.
        assert_eq!(drain(&mut queue), [1, 1, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn sparse_flow_goes_before_a_bulk_flow() {
        let mut queue = FqCoDel::new();
        let mut dropped = Vec::new();
        for number in 0..20 {
            queue.enqueue(held(1, number, 1472));
        }
        for _ in 0..3 {
            queue.dequeue(Instant::ZERO, &mut dropped);
        }
        queue.enqueue(held(2, 20, 100));
        let next = queue.dequeue(Instant::ZERO, &mut dropped);
        assert_eq!(next.map(|held| source(&held)), Some(2));
    }

    /// Regression: a flow that has one packet at a time lost none, however long it waited behind
    /// those of others (RFC 8289 s4.4; `codel_should_drop` of Linux over the backlog of all flows).
    #[test]
    fn flow_with_one_packet_at_a_time_loses_some_while_others_wait() {
        let mut queue = FqCoDel::new();
        let mut dropped = Vec::new();
        (0..20).for_each(|number| queue.enqueue(held(number as u16, number, 1472)));
        for number in 20..200 {
            let now = Instant::from_millis(12 * number);
            let Some(sent) = queue.dequeue(now, &mut dropped) else { break };
            queue.enqueue(Held { since: now, ..held(source(&sent), number, 1472) });
        }
        assert!(!dropped.is_empty(), "240 ms behind 19 others");
        assert_eq!(queue.backlog().packets, 20 - dropped.len() as u64);
    }

    #[test]
    fn full_queue_drops_half_of_the_fattest_flow_and_at_most_a_batch() {
        for (packets, expected) in [(1, 1), (2, 1), (4, 2), (5, 3), (101, 51), (128, 64), (400, 64)]
        {
            let mut queue = FqCoDel::new();
            queue.enqueue(held(2, 0, 100));
            (1..=packets).for_each(|number| queue.enqueue(held(1, number, 1472)));
            let mut dropped = Vec::new();
            queue.shed(&mut dropped);
            let numbers: Vec<u64> = dropped.iter().map(|held| held.number).collect();
            assert_eq!(numbers, (1..=expected).collect::<Vec<u64>>(), "of {packets}");
            let left = packets - expected;
            let backlog = Backlog { packets: left + 1, bytes: left * 1500 + 128 };
            assert_eq!(queue.backlog(), backlog, "of {packets}");
        }
    }
}

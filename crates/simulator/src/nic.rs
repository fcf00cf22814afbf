//! A host's network interface card: a queue in front of the network, served at a constant rate.
//!
//! Equivalent to a `network::Link` with a rate, a drop-tail queue in packets and no delay, at a
//! tenth of the cost: every packet passes one, and a world with a thousand connections has
//! thousands.

use base::{Context, DropReason, Event, EventMask, HostId, Instant, LinkId, Rate, ring};
use network::NicSetup;
use std::collections::VecDeque;
use wire::Packet;

/// One NIC.
#[derive(Debug)]
pub(crate) struct Nic {
    /// Packets in service or waiting for service, in order.
    queue: VecDeque<Leaving>,
    busy_until: Instant,
    /// Remainder of the last packet below one nanosecond; see `Rate::serialisation`.
    carry: u64,
    rate: Rate,
    queue_packets: u32,
    pub host: HostId,
    /// Its number; NICs are numbered after the links of the network.
    id: LinkId,
    /// The link that it sends into.
    pub next: LinkId,
}

/// A packet with its departure time and its length.
#[derive(Debug)]
pub(crate) struct Leaving {
    at: Instant,
    pub len: u32,
    pub packet: Box<Packet>,
}

impl Nic {
    pub(crate) const fn new(setup: NicSetup, id: LinkId, host: HostId, next: LinkId) -> Self {
        Nic {
            queue: VecDeque::new(),
            busy_until: Instant::ZERO,
            carry: 0,
            rate: setup.rate,
            queue_packets: setup.queue_packets,
            host,
            id,
            next,
        }
    }

    /// Queue a packet of `len` bytes, or drop it if the queue is full. The packet in service is not
    /// counted.
    #[inline]
    pub(crate) fn enqueue(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, len: u32) {
        debug_assert_eq!(len, packet.wire_len());
        if self.queue.len() > self.queue_packets as usize {
            let (link, reason) = (self.id, DropReason::QueueFull);
            cx.record(EventMask::PACKET, || Event::PacketDropped { link, len, reason });
            return;
        }
        if self.busy_until < cx.now {
            self.busy_until = cx.now;
            self.carry = 0;
        }
        let (time, carry) = self.rate.serialisation(u64::from(len), self.carry);
        self.busy_until += time;
        self.carry = carry;
        self.queue.push_back(Leaving { at: self.busy_until, len, packet });
    }

    /// Departure time of the packet in service; the end of time without any.
    #[inline]
    pub(crate) fn next_departure(&self) -> Instant {
        self.queue.front().map_or(Instant::FAR_FUTURE, |first| first.at)
    }

    /// Takes the packet that leaves by `now`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Leaving> {
        if self.next_departure() > now {
            return None;
        }
        ring::pop_front(&mut self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Chance;
    use network::{Capacity, Limit, Link, LinkConfig};
    use proptest::prelude::*;
    use wire::{Body, Payload, UdpDatagram};

    fn packet(len: u32, number: u16) -> Box<Packet> {
        let payload = Payload::virtual_range(0, 0, len);
        let body = Body::Udp(UdpDatagram { src_port: number, dst_port: 0, payload });
        let address = [10, 0, 0, 1].into();
        Box::new(Packet::new(address, address, body))
    }

    proptest! {
        #[test]
        fn nic_does_what_a_link_does(
            arrivals in proptest::collection::vec((0u64..40_000, 0u32..1400), 1..60),
            queue_packets in 0u32..6,
        ) {
            let rate = Rate::from_mbit(700);
            let setup = NicSetup { rate, queue_packets };
            let mut nic = Nic::new(setup, LinkId(9), HostId(0), LinkId(0));
            let limit = Limit::Packets(queue_packets);
            let config =
                LinkConfig { capacity: Capacity::Rate(rate), limit, ..LinkConfig::default() };
            let mut link = Link::new(LinkId(9), config, 0);
            let mut now = Instant::ZERO;
            for (number, (gap, len)) in (0u16..).zip(arrivals) {
                now += base::Duration::from_nanos(gap);
                let mut cx = Context::quiet(now, Chance::new(1, 0));
                loop {
                    prop_assert_eq!(nic.next_departure(), link.next_poll());
                    let ours = nic.poll(now).map(|left| left.packet);
                    let theirs = link.poll(&mut cx);
                    prop_assert_eq!(&ours, &theirs);
                    if ours.is_none() {
                        break;
                    }
                }
                let first = packet(len, number);
                let len = first.wire_len();
                nic.enqueue(&mut cx, first, len);
                link.enqueue(&mut cx, packet(len - 28, number));
            }
            prop_assert_eq!(nic.next_departure(), link.next_poll());
        }
    }
}

//! A host's network interface card: a queue in front of the network, served at a constant rate.
//!
//! Equivalent to a `network::Link` with a rate, a drop-tail queue in packets and no delay, at a
//! tenth of the cost: every packet passes one, and a world with a thousand connections has
//! thousands.

use base::{Context, DropReason, Event, EventMask, HostId, Instant, LinkId, Serialiser, ring};
use network::NicSetup;
use std::collections::VecDeque;
use std::hint::cold_path;
use wire::Packet;

/// One NIC.
#[derive(Debug)]
pub(crate) struct Nic {
    /// Packets in service or waiting for service, in order.
    queue: VecDeque<Leaving>,
    /// Departure of the first one; the end of time without any. Asked thrice a packet.
    first_at: Instant,
    busy_until: Instant,
    packets: Serialiser,
    queue_packets: u32,
    /// Its next departure is in the event queue, or being entered.
    is_awaited: bool,
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
    pub(crate) fn new(setup: NicSetup, id: LinkId, host: HostId, next: LinkId) -> Self {
        Nic {
            queue: VecDeque::new(),
            first_at: Instant::FAR_FUTURE,
            busy_until: Instant::ZERO,
            packets: Serialiser::new(setup.rate),
            queue_packets: setup.queue_packets,
            is_awaited: false,
            host,
            id,
            next,
        }
    }

    /// Queue a packet of `len` bytes, or drop it if the queue is full. The packet in service is not
    /// counted. Returns the next departure unless it is awaited.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Context<'_>,
        packet: Box<Packet>,
        len: u32,
    ) -> Option<Instant> {
        debug_assert_eq!(len, packet.wire_len());
        if self.queue.len() > self.queue_packets as usize {
            cold_path();
            let (link, reason) = (self.id, DropReason::QueueFull);
            cx.record(EventMask::PACKET, || Event::PacketDropped { link, len, reason });
        } else {
            if self.busy_until < cx.now {
                self.busy_until = cx.now;
                self.packets.restart();
            }
            self.busy_until += self.packets.packet(len);
            if self.first_at == Instant::FAR_FUTURE {
                self.first_at = self.busy_until;
            }
            self.queue.push_back(Leaving { at: self.busy_until, len, packet });
        }
        if self.is_awaited {
            return None;
        }
        self.is_awaited = true;
        Some(self.next_departure())
    }

    /// The next departure is awaited from now on, if there is one. Returns it.
    #[inline]
    pub(crate) fn await_departure(&mut self) -> Instant {
        self.is_awaited = self.first_at != Instant::FAR_FUTURE;
        self.first_at
    }

    /// Departure time of the packet in service; the end of time without any.
    #[inline]
    pub(crate) const fn next_departure(&self) -> Instant {
        self.first_at
    }

    /// Takes the packet that leaves by `now`. The next departure is not awaited then.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Leaving> {
        self.is_awaited = false;
        if self.first_at > now {
            return None;
        }
        let first = ring::pop_front(&mut self.queue);
        self.first_at = self.queue.front().map_or(Instant::FAR_FUTURE, |next| next.at);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Chance, Rate};
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

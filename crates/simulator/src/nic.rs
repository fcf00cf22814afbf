//! A host's network interface card: a queue in front of the network, served at a constant rate.
//!
//! Equivalent to a `network::Link` with a rate, a drop-tail queue in packets and no delay, at a
//! tenth of the cost: every packet passes one, and a world with a thousand connections has
//! thousands.

use crate::departures::Departure;
use crate::event_queue::{EventQueue, Target};
use base::{
    ChunkQueue, Context, DropReason, Event, EventMask, HostId, Instant, LinkId, Serialiser,
    chunked, prefetch,
};
use network::NicSetup;
use std::hint::cold_path;
use std::iter;
use transport::KNOWN_DEPARTURES;
use wire::Packet;

/// One NIC. Begins with what every packet needs, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Nic {
    /// Packets in service or waiting for service, in order.
    queue: ChunkQueue<Leaving>,
    /// Departure of the first one; the end of time without any. Read three times a packet.
    first_at: Instant,
    busy_until: Instant,
    pub target: Target,
    /// The link that it sends into.
    pub next: LinkId,
    packets: Serialiser,
    queue_packets: u32,
    /// Its number; NICs are numbered after the links of the network.
    id: LinkId,
    pub host: HostId,
    /// Its next departure is in the event queue, or being entered.
    is_awaited: bool,
    /// Packets that passed the queue and did not leave yet.
    passing: u8,
    /// Most of them.
    most_passing: u8,
    /// The insertion number that an event would have for the next one of them to leave.
    number: u64,
}

/// `Nic::number` where it is unknown.
const UNKNOWN: u64 = u64::MAX;

/// A packet with its departure time and its length.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    at: Instant,
    pub len: u32,
    /// `None` in the default only.
    pub packet: Option<Box<Packet>>,
}

// Mostly empty, and without memory then: a ring of its own was a cache line and a page a packet.
chunked!(Leaving);

impl Nic {
    /// `owner`: its host, and its target.
    pub(crate) fn new(setup: NicSetup, id: LinkId, owner: (HostId, Target), next: LinkId) -> Self {
        Nic {
            queue: ChunkQueue::new(),
            first_at: Instant::FAR_FUTURE,
            busy_until: Instant::ZERO,
            target: owner.1,
            next,
            packets: Serialiser::new(setup.rate),
            queue_packets: setup.queue_packets,
            id,
            host: owner.0,
            is_awaited: false,
            passing: 0,
            most_passing: KNOWN_DEPARTURES as u8,
            number: UNKNOWN,
        }
    }

    /// Prefetch what every packet needs.
    pub(crate) fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.packets);
    }

    /// When a packet of `len` bytes departs that is sent now; `None` if the queue is full. The
    /// packet in service is not counted.
    #[inline(always)]
    pub(crate) fn admit(&mut self, cx: &mut Context<'_>, len: u32) -> Option<Instant> {
        if self.busy_until < cx.now {
            self.busy_until = cx.now;
            self.packets.restart();
        }
        if self.queue.len() + usize::from(self.passing) > self.queue_packets as usize {
            cold_path();
            let (link, reason) = (self.id, DropReason::QueueFull);
            cx.record(EventMask::DROP, || Event::PacketDropped { link, len, reason });
            return None;
        }
        self.busy_until += self.packets.packet(len);
        Some(self.busy_until)
    }

    /// Whether a packet may pass without the queue: none is in it.
    #[inline]
    pub(crate) const fn may_pass(&self) -> bool {
        self.first_at.as_nanos() == Instant::FAR_FUTURE.as_nanos()
            && self.passing < self.most_passing
    }

    /// From now on each packet waits in the queue for the event of its departure.
    pub(crate) const fn queue_all(&mut self) {
        self.most_passing = 0;
    }

    /// The packet that was admitted last passes without the queue.
    #[inline]
    pub(crate) fn pass(&mut self, queue: &mut EventQueue) {
        debug_assert!(self.may_pass());
        self.passing += 1;
        if self.passing == 1 {
            self.number = queue.next_number();
        }
    }

    /// A packet that passed without the queue leaves. Returns the next departure, which is awaited
    /// from now on, if only the queue has more.
    #[inline]
    pub(crate) fn leave(&mut self, queue: &mut EventQueue) -> Option<Instant> {
        self.passing -= 1;
        if self.passing > 0 {
            self.number = queue.next_number();
            return None;
        }
        let next = self.await_departure();
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// The insertion number that an event would have for the next packet of those that passed.
    #[inline]
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// A packet that passed, as the first one of those or not, is in the queue from now on. Returns
    /// the insertion number that its departure would have had.
    pub(crate) fn recall(&mut self, departure: Departure, is_first: bool) -> u64 {
        self.passing -= 1;
        let Departure { at, len, packet, .. } = departure;
        self.insert(Leaving { at, len, packet: Some(packet) });
        self.first_at = self.queue.front().map_or(Instant::FAR_FUTURE, |first| first.at);
        if is_first { std::mem::replace(&mut self.number, UNKNOWN) } else { UNKNOWN }
    }

    /// Inserts one behind all that depart by then. Rare: takes them all out and puts them back.
    fn insert(&mut self, leaving: Leaving) {
        let mut all: Vec<Leaving> = iter::from_fn(|| self.queue.pop_front()).collect();
        let place = all.partition_point(|other| other.at <= leaving.at);
        all.insert(place, leaving);
        all.into_iter().for_each(|leaving| self.queue.push_back(leaving));
    }

    /// Queue the packet of `len` bytes that was admitted last. Returns the next departure unless it
    /// is awaited.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, packet: Box<Packet>, len: u32) -> Option<Instant> {
        debug_assert_eq!(len, packet.wire_len());
        let at = self.busy_until;
        if self.first_at == Instant::FAR_FUTURE {
            self.first_at = at;
        }
        self.queue.push_back(Leaving { at, len, packet: Some(packet) });
        // Its event is inserted when the packet before it leaves.
        if self.passing > 0 {
            cold_path();
            return None;
        }
        self.await_first()
    }

    /// The next departure, which is awaited from now on, unless it was already.
    #[inline(always)]
    fn await_first(&mut self) -> Option<Instant> {
        let was_awaited = std::mem::replace(&mut self.is_awaited, true);
        (!was_awaited).then_some(self.first_at)
    }

    /// The next departure is awaited from now on, if there is one. Returns it.
    #[inline]
    pub(crate) fn await_departure(&mut self) -> Instant {
        self.is_awaited = self.first_at != Instant::FAR_FUTURE;
        self.first_at
    }

    /// Takes the packet that leaves by `now`. The next departure is not awaited then.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Leaving> {
        self.is_awaited = false;
        if self.first_at > now {
            return None;
        }
        let first = self.queue.pop_front();
        self.first_at = self.queue.front().map_or(Instant::FAR_FUTURE, |next| next.at);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::departures::Departures;
    use base::{Chance, Rate};
    use network::{Capacity, Limit, Link, LinkConfig};
    use proptest::prelude::*;
    use std::cell::RefCell;
    use wire::{Body, Payload, UdpDatagram};

    fn packet(len: u32, number: u16) -> Box<Packet> {
        let payload = Payload::virtual_range(0, 0, len);
        let body = Body::Udp(UdpDatagram { src_port: number, dst_port: 0, payload });
        let address = [10, 0, 0, 1].into();
        Box::new(Packet::new(address, address, body))
    }

    /// A NIC and a link that are to do the same.
    fn alike(queue_packets: u32) -> (Nic, Link) {
        let rate = Rate::from_mbit(700);
        let setup = NicSetup { rate, queue_packets };
        let nic = Nic::new(setup, LinkId(9), (HostId(0), Target(0)), LinkId(0));
        let (capacity, limit) = (Capacity::Rate(rate), Limit::Packets(queue_packets));
        let config = LinkConfig { capacity, limit, ..LinkConfig::default() };
        (nic, Link::new(LinkId(9), config, 0))
    }

    proptest! {
        #[test]
        fn nic_does_what_a_link_does(
            arrivals in proptest::collection::vec((0u64..40_000, 0u32..1400), 1..60),
            queue_packets in 0u32..6,
        ) {
            let (mut nic, mut link) = alike(queue_packets);
            let mut now = Instant::ZERO;
            for (number, (gap, len)) in (0u16..).zip(arrivals) {
                now += base::Duration::from_nanos(gap);
                let mut cx = Context::quiet(now, Chance::new(1, 0));
                loop {
                    prop_assert_eq!(nic.first_at, link.next_poll());
                    let ours = nic.poll(now).and_then(|left| left.packet);
                    let theirs = link.poll(&mut cx);
                    prop_assert_eq!(&ours, &theirs);
                    if ours.is_none() {
                        break;
                    }
                }
                let first = packet(len, number);
                let len = first.wire_len();
                if nic.admit(&mut cx, len).is_some() {
                    nic.enqueue(first, len);
                }
                link.enqueue(&mut cx, packet(len - 28, number));
            }
            prop_assert_eq!(nic.first_at, link.next_poll());
        }

        /// Packets that pass depart and are refused as those in the queue, also after a recall.
        #[test]
        fn nic_that_packets_pass_does_what_a_link_does(
            arrivals in proptest::collection::vec(
                (0u64..40_000, 0u32..1400, any::<bool>(), 0u32..3, prop::bool::weighted(0.2)),
                1..60,
            ),
            queue_packets in 0u32..6,
        ) {
            let (mut nic, mut link) = alike(queue_packets);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let mut passing = Departures::new();
            let events = RefCell::new(EventQueue::new());
            let mut serve =
                |nic: &mut Nic, passing: &mut Departures, link: &mut Link, until: Instant| {
                    while nic.first_at <= until {
                        let at = nic.first_at;
                        ours.extend(nic.poll(at).map(|left| (at, left.len)));
                    }
                    while passing.first().is_some_and(|first| first.0 <= until) {
                        ours.extend(passing.pop_first().map(|left| (left.at, left.len)));
                        let mut events = events.borrow_mut();
                        let number = events.next_number() + 1;
                        let _ = nic.leave(&mut events);
                        assert_eq!(nic.number() == number, !passing.is_empty());
                    }
                    while link.next_poll() <= until {
                        let at = link.next_poll();
                        let packet = link.poll(&mut Context::quiet(at, Chance::new(1, 0)));
                        theirs.extend(packet.map(|packet| (at, packet.wire_len())));
                    }
                };
            let mut now = Instant::ZERO;
            for (number, (gap, len, passes, flow, recalls)) in (0u16..).zip(arrivals) {
                now += base::Duration::from_nanos(gap);
                serve(&mut nic, &mut passing, &mut link, now);
                let mut cx = Context::quiet(now, Chance::new(1, 0));
                let mut first = packet(len, number);
                first.flow = flow;
                let len = first.wire_len();
                link.enqueue(&mut cx, first.clone());
                let Some(at) = nic.admit(&mut cx, len) else { continue };
                if passes && nic.may_pass() {
                    let mut events = events.borrow_mut();
                    let number = events.next_number() + 1;
                    nic.pass(&mut events);
                    prop_assert_eq!(nic.number() == number, passing.is_empty());
                    passing.insert(Departure { at, packet: first, nic: 0, len });
                } else {
                    nic.enqueue(first, len);
                }
                for index in (0..KNOWN_DEPARTURES).rev().filter(|_| recalls) {
                    if passing.get(index).is_some_and(|(_, other)| other.flow == flow) {
                        let (number, is_first) = (nic.number(), !passing.any_before(index, 0));
                        let recalled = passing.remove(index).expect("it is there");
                        let returned = nic.recall(recalled, is_first);
                        prop_assert_eq!(returned, if is_first { number } else { UNKNOWN });
                    }
                }
            }
            let end = Instant::FAR_FUTURE - base::Duration::from_nanos(1);
            serve(&mut nic, &mut passing, &mut link, end);
            ours.sort_unstable();
            prop_assert_eq!(ours, theirs);
        }
    }
}

//! A host's network interface card: a queue in front of the network, served at a constant rate.
//!
//! Equivalent to a `network::Link` with a rate, a drop-tail queue in packets and no delay, at a
//! tenth of the cost: every packet passes one, and a world with a thousand connections has
//! thousands.

use crate::event_queue::Target;
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
    /// Departures of the last packets that passed without the queue.
    passed: Passed,
}

/// The last packets that passed without the queue, since the NIC was last idle.
#[derive(Debug, Default)]
#[repr(C)]
struct Passed {
    count: usize,
    departures: [Departure; KNOWN_DEPARTURES],
}

/// The departure of a packet that passed without the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    pub at: Instant,
    pub len: u32,
    pub flow: u32,
    /// Its place in the order of all packets that passed.
    pub number: u64,
}

/// A packet with its departure time, its length and its flow.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    at: Instant,
    pub len: u32,
    pub flow: u32,
    /// `None`: it passed, and only its departure is to be reported.
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
            passed: Passed::default(),
        }
    }

    /// Prefetch what every packet needs.
    pub(crate) fn prefetch(&self) {
        prefetch(self);
        prefetch(&self.packets);
        prefetch(&self.passed.count);
    }

    /// When a packet of `len` bytes departs that is sent now; `None` if the queue is full. The
    /// packet in service is not counted.
    #[inline(always)]
    pub(crate) fn admit(&mut self, cx: &mut Context<'_>, len: u32) -> Option<Instant> {
        if self.busy_until < cx.now {
            self.busy_until = cx.now;
            self.packets.restart();
            self.passed.count = 0;
        }
        if self.queue.len() + self.passed.count > self.queue_packets as usize
            && self.queue.len() + self.passed.waiting(cx.now) > self.queue_packets as usize
        {
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
            && self.passed.count < KNOWN_DEPARTURES
    }

    /// The packet that was admitted last passes without the queue.
    #[inline]
    pub(crate) fn pass(&mut self, departure: Departure) {
        debug_assert_eq!(departure.at, self.busy_until);
        debug_assert!(self.may_pass());
        self.passed.departures[self.passed.count % KNOWN_DEPARTURES] = departure;
        self.passed.count += 1;
    }

    /// Those packets of `flows` that passed and depart after `now` are in the queue from now on.
    /// The number of the first one.
    pub(crate) fn recall(&mut self, now: Instant, flows: &[u32]) -> Option<u64> {
        let (mut kept, mut first) = (0, None);
        for index in 0..self.passed.count {
            let departure = self.passed.departures[index];
            let Departure { at, len, flow, number } = departure;
            if at > now && flows.contains(&flow) {
                first = first.or(Some(number));
                self.insert(Leaving { at, len, flow, packet: None });
            } else {
                self.passed.departures[kept] = departure;
                kept += 1;
            }
        }
        self.passed.count = kept;
        self.first_at = self.queue.front().map_or(Instant::FAR_FUTURE, |first| first.at);
        first
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
        let flow = packet.flow;
        self.queue.push_back(Leaving { at, len, flow, packet: Some(packet) });
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
        let first = self.queue.pop_front();
        self.first_at = self.queue.front().map_or(Instant::FAR_FUTURE, |next| next.at);
        first
    }
}

impl Passed {
    /// Those that have not left by `now`.
    #[cold]
    fn waiting(&self, now: Instant) -> usize {
        self.departures[..self.count].iter().filter(|departure| departure.at > now).count()
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
                    prop_assert_eq!(nic.next_departure(), link.next_poll());
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
            prop_assert_eq!(nic.next_departure(), link.next_poll());
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
            let (mut ours, mut theirs, mut passed) = (Vec::new(), Vec::new(), Vec::new());
            let mut serve = |nic: &mut Nic, link: &mut Link, until: Instant| {
                while nic.next_departure() <= until {
                    let at = nic.next_departure();
                    ours.extend(nic.poll(at).map(|left| (at, left.len)));
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
                serve(&mut nic, &mut link, now);
                let mut cx = Context::quiet(now, Chance::new(1, 0));
                let mut first = packet(len, number);
                first.flow = flow;
                let len = first.wire_len();
                link.enqueue(&mut cx, first.clone());
                let Some(at) = nic.admit(&mut cx, len) else { continue };
                if passes && nic.may_pass() {
                    nic.pass(Departure { at, len, flow, number: number.into() });
                    passed.push((at, len, flow));
                } else {
                    nic.enqueue(first, len);
                }
                if recalls {
                    nic.recall(now, &[flow]);
                    passed.retain(|(at, _, of)| *at <= now || *of != flow);
                }
            }
            serve(&mut nic, &mut link, Instant::FAR_FUTURE - base::Duration::from_nanos(1));
            ours.extend(passed.into_iter().map(|(at, len, _)| (at, len)));
            ours.sort_unstable();
            prop_assert_eq!(ours, theirs);
        }
    }
}

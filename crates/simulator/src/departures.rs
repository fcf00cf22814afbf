//! Packets that leave a NIC at a known time, without an event.
//!
//! Their order is that of events: by time, then by insertion number. When one is due is left to
//! `fabric`.

use base::{Instant, LinkId};
use std::hint::cold_path;
use wire::Packet;

/// Most of them at a time; further departures are events.
const PLACES: usize = 64;

/// `Departure::number` where it is unknown.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// A packet of `len` bytes that leaves a NIC for `link` at `at`.
#[derive(Debug)]
pub(crate) struct Departure {
    pub at: Instant,
    /// The insertion number that its event would have; unknown as long as another packet of the NIC
    /// leaves before it.
    pub number: u64,
    pub packet: Box<Packet>,
    /// Number of the NIC.
    pub nic: u32,
    pub link: LinkId,
    pub len: u32,
}

/// Departures in their order.
#[derive(Debug)]
pub(crate) struct Departures {
    // A ring of a constant size needs neither capacity nor growth, at every packet.
    ring: [Option<Departure>; PLACES],
    /// The place of the first one, modulo `PLACES`.
    first: usize,
    len: usize,
}

impl Departures {
    pub(crate) const fn new() -> Departures {
        Departures { ring: [const { None }; PLACES], first: 0, len: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there is no place for another one.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.len == PLACES
    }

    /// The one that is `index` places behind the first.
    #[inline]
    pub(crate) const fn get(&self, index: usize) -> Option<&Departure> {
        if index < self.len { self.ring[(self.first + index) % PLACES].as_ref() } else { None }
    }

    #[inline]
    pub(crate) const fn first(&self) -> Option<&Departure> {
        self.ring[self.first % PLACES].as_ref()
    }

    /// Adds one, behind those of the same time, unless it is full.
    #[inline(always)]
    pub(crate) fn insert(&mut self, departure: Departure) {
        debug_assert!(!self.is_full());
        let (at, place) = (departure.at, self.first + self.len);
        self.ring[place % PLACES] = Some(departure);
        self.len += 1;
        if self.len > 1 && self.is_before(at, place - 1) {
            cold_path();
            self.move_forward(at, place);
        }
    }

    fn is_before(&self, at: Instant, place: usize) -> bool {
        self.ring[place % PLACES].as_ref().is_some_and(|other| at < other.at)
    }

    /// Moves the last one, of this time, which is at `place`, before those that are later.
    // Rare: another NIC has a longer packet in service.
    #[inline(never)]
    fn move_forward(&mut self, at: Instant, mut place: usize) {
        while place > self.first && self.is_before(at, place - 1) {
            self.ring.swap(place % PLACES, (place - 1) % PLACES);
            place -= 1;
        }
    }

    /// Takes the first one.
    #[inline(always)]
    pub(crate) const fn pop_first(&mut self) -> Option<Departure> {
        let first = self.ring[self.first % PLACES].take();
        if first.is_some() {
            self.first = (self.first + 1) % PLACES;
            self.len -= 1;
        }
        first
    }

    /// Takes the one that is `index` places behind the first.
    #[cold]
    pub(crate) fn remove(&mut self, index: usize) -> Option<Departure> {
        if index >= self.len {
            return None;
        }
        let taken = self.ring[(self.first + index) % PLACES].take();
        for behind in index + 1..self.len {
            let place = self.first + behind;
            self.ring.swap((place - 1) % PLACES, place % PLACES);
        }
        self.len -= 1;
        taken
    }

    /// Sets the number of the next departure of a NIC.
    pub(crate) fn set_number(&mut self, nic: u32, number: u64) {
        for index in 0..self.len {
            if let Some(next) = &mut self.ring[(self.first + index) % PLACES]
                && next.nic == nic
            {
                next.number = number;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{Body, Payload, UdpDatagram};

    fn departure(at: u64, id: u32) -> Departure {
        let payload = Payload::virtual_range(0, 0, 1);
        let body = Body::Udp(UdpDatagram { src_port: 0, dst_port: 0, payload });
        let address = [10, 0, 0, 1].into();
        let packet = Box::new(Packet::new(address, address, body));
        let (at, nic) = (Instant::from_nanos(at), id % 3);
        Departure { at, number: UNKNOWN, packet, nic, link: LinkId(id), len: id }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Pop,
        Remove(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u64..20).prop_map(Step::Insert),
            2 => Just(Step::Pop),
            1 => (0usize..8).prop_map(Step::Remove),
        ]
    }

    proptest! {
        /// As a list that is sorted, stably, after each insertion.
        #[test]
        fn departures_are_in_order(steps in proptest::collection::vec(step(), 0..300)) {
            let mut departures = Departures::new();
            let mut model: Vec<(u64, u32)> = Vec::new();
            for (number, step) in (0u32..).zip(steps) {
                let (ours, theirs) = match step {
                    Step::Insert(at) if !departures.is_full() => {
                        departures.insert(departure(at, number));
                        model.push((at, number));
                        model.sort_by_key(|(at, _)| *at);
                        continue;
                    }
                    Step::Insert(_) => continue,
                    Step::Pop if model.is_empty() => (departures.pop_first(), None),
                    Step::Pop => (departures.pop_first(), Some(model.remove(0))),
                    Step::Remove(index) if index >= model.len() => (departures.remove(index), None),
                    Step::Remove(index) => (departures.remove(index), Some(model.remove(index))),
                };
                prop_assert_eq!(ours.map(|ours| (ours.at.as_nanos(), ours.len)), theirs);
                let left = (0..).map_while(|index| departures.get(index));
                let left: Vec<_> = left.map(|left| (left.at.as_nanos(), left.len)).collect();
                prop_assert_eq!(&left, &model);
                prop_assert_eq!(departures.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn number_is_that_of_the_next_departure_of_the_nic() {
        let mut departures = Departures::new();
        for (at, number) in [(1, 0), (2, 1), (3, 4)] {
            departures.insert(departure(at, number));
        }
        departures.set_number(1, 7);
        let numbers: Vec<u64> =
            (0..3).filter_map(|i| departures.get(i)).map(|left| left.number).collect();
        assert_eq!(numbers, [UNKNOWN, 7, UNKNOWN]);
    }
}

//! Packets that leave a NIC at a known time, without an event.
//!
//! Their order is that of events: by time, then by insertion. The insertion number of the next one
//! of a NIC is left to `nic`, and when one is due to `fabric`.

use base::Instant;
use std::hint::cold_path;
use wire::Packet;

/// Most of them at a time; further departures are events.
const PLACES: usize = 64;

/// A packet of `len` bytes that leaves a NIC at `at`.
#[derive(Debug)]
pub(crate) struct Departure {
    pub at: Instant,
    pub packet: Box<Packet>,
    /// Number of the NIC.
    pub nic: u32,
    pub len: u32,
}

/// Departures in their order.
#[derive(Debug)]
pub(crate) struct Departures {
    // A ring of a constant size needs neither capacity nor growth, at every packet. Two rings: one
    // that is not the last is moved forward by 16 bytes a place, and to compare takes one load.
    times: [Instant; PLACES],
    packets: [Option<Passing>; PLACES],
    /// The place of the first one, modulo `PLACES`.
    first: usize,
    len: usize,
}

/// What departs.
#[derive(Debug)]
struct Passing {
    packet: Box<Packet>,
    nic: u32,
    len: u32,
}

impl Departures {
    pub(crate) const fn new() -> Departures {
        let (times, packets) = ([Instant::ZERO; PLACES], [const { None }; PLACES]);
        Departures { times, packets, first: 0, len: 0 }
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

    /// The NIC and the packet of the one that is `index` places behind the first.
    pub(crate) fn get(&self, index: usize) -> Option<(u32, &Packet)> {
        let passing = self.packets[(self.first + index) % PLACES].as_ref();
        passing.filter(|_| index < self.len).map(|passing| (passing.nic, &*passing.packet))
    }

    /// Whether one of a NIC is before the one that is `index` places behind the first.
    #[cold]
    pub(crate) fn any_before(&self, index: usize, nic: u32) -> bool {
        (0..index).filter_map(|before| self.get(before)).any(|before| before.0 == nic)
    }

    /// Time and NIC of the first one.
    #[inline]
    pub(crate) const fn first(&self) -> Option<(Instant, u32)> {
        let place = self.first % PLACES;
        match &self.packets[place] {
            Some(passing) => Some((self.times[place], passing.nic)),
            None => None,
        }
    }

    /// Whether one is at this time, too.
    #[inline]
    pub(crate) fn has(&self, at: Instant) -> bool {
        let Some(last) = self.len.checked_sub(1) else { return false };
        at <= self.times[(self.first + last) % PLACES] && self.has_before(at)
    }

    /// The same where one is not before that time.
    #[inline(never)]
    fn has_before(&self, at: Instant) -> bool {
        (self.first..self.first + self.len).any(|place| self.times[place % PLACES] == at)
    }

    /// Adds one, behind those of the same time, unless it is full.
    #[inline(always)]
    pub(crate) fn insert(&mut self, departure: Departure) {
        debug_assert!(!self.is_full());
        let Departure { at, packet, nic, len } = departure;
        let place = self.first + self.len;
        self.times[place % PLACES] = at;
        let passing = Some(Passing { packet, nic, len });
        let before = std::mem::replace(&mut self.packets[place % PLACES], passing);
        debug_assert!(before.is_none(), "the place is free");
        // To drop what is not there was a call a packet.
        std::mem::forget(before);
        self.len += 1;
        if self.len > 1 && at < self.times[(place - 1) % PLACES] {
            cold_path();
            self.move_forward(at, place);
        }
    }

    /// Moves the last one, of this time, which is at `place`, before those that are later.
    // Another NIC has a longer packet in service: rare with a few connections.
    #[inline(never)]
    fn move_forward(&mut self, at: Instant, mut place: usize) {
        while place > self.first && at < self.times[(place - 1) % PLACES] {
            self.times[place % PLACES] = self.times[(place - 1) % PLACES];
            self.packets.swap(place % PLACES, (place - 1) % PLACES);
            place -= 1;
        }
        self.times[place % PLACES] = at;
    }

    /// Takes the first one.
    #[inline(always)]
    pub(crate) fn pop_first(&mut self) -> Option<Departure> {
        let place = self.first % PLACES;
        let Passing { packet, nic, len } = self.packets[place].take()?;
        self.first = (self.first + 1) % PLACES;
        self.len -= 1;
        Some(Departure { at: self.times[place], packet, nic, len })
    }

    /// Takes the one that is `index` places behind the first.
    #[cold]
    pub(crate) fn remove(&mut self, index: usize) -> Option<Departure> {
        if index >= self.len {
            return None;
        }
        let place = self.first + index;
        let at = self.times[place % PLACES];
        let taken = self.packets[place % PLACES].take();
        for behind in place + 1..self.first + self.len {
            self.times[(behind - 1) % PLACES] = self.times[behind % PLACES];
            self.packets.swap((behind - 1) % PLACES, behind % PLACES);
        }
        self.len -= 1;
        taken.map(|Passing { packet, nic, len }| Departure { at, packet, nic, len })
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
        Departure { at, packet, nic, len: id }
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
                let left: Vec<_> = left.map(|(nic, _)| nic).collect();
                let expected: Vec<_> = model.iter().map(|(_, number)| number % 3).collect();
                prop_assert_eq!(&left, &expected);
                let first = departures.first().map(|(at, nic)| (at.as_nanos(), nic));
                prop_assert_eq!(first, model.first().map(|(at, number)| (*at, number % 3)));
                prop_assert_eq!(departures.is_empty(), model.is_empty());
            }
        }
    }
}

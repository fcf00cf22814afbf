//! Packets between the queue and the far end: a FIFO while the delay is constant, a heap ordered
//! by (arrival, number) where packets may overtake each other.
//!
//! Packets stay boxed, since they are large and pass several links.

use base::{ChunkQueue, Instant, chunked, prefetch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::cold_path;
use wire::{Note, Packet};

/// A packet in flight. Ordered by arrival, as the fields are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Flight {
    /// When it arrives at the far end.
    pub arrival: Instant,
    /// A copy has that of its original.
    pub accepted: Accepted,
}

/// The place of a packet in the order of acceptance, and its IP length. Ordered by place. In one
/// word, because a full queue has one of them a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Accepted(u64);

/// More than the longest IP datagram takes (an IPv6 header and 65,535 bytes).
const LEN_BITS: u32 = 20;

impl Accepted {
    #[inline]
    pub(crate) const fn new(number: u64, len: u32) -> Accepted {
        debug_assert!(len >> LEN_BITS == 0, "the length of a datagram");
        Accepted(number << LEN_BITS | len as u64)
    }

    /// Its place in the order of acceptance.
    #[inline]
    pub(crate) const fn number(self) -> u64 {
        self.0 >> LEN_BITS
    }

    /// IP length.
    #[inline]
    pub(crate) const fn len(self) -> u32 {
        self.0 as u32 & ((1 << LEN_BITS) - 1)
    }
}

/// All packets whose service has begun and that have not arrived.
#[derive(Debug)]
pub(crate) enum Flights {
    Fifo(Fifo),
    Heap(Box<Heap>),
}

/// Packets that arrive in the order they left, each with its arrival. The rest of its flight is
/// noted in the packet: it would be a third of the memory of the queue.
#[derive(Debug)]
pub(crate) struct Fifo {
    flights: ChunkQueue<Arriving>,
    /// The first arrival; the end of time without any. Asked thrice a packet.
    first_at: Instant,
}

/// A packet in order, with its arrival. None only of one that was taken.
#[derive(Debug, Default)]
struct Arriving(Instant, Option<Box<Packet>>);

chunked!(Arriving);

/// Packets that may overtake each other.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Flights, each with the place of its packet in `packets`.
    flights: BinaryHeap<Reverse<(Flight, usize)>>,
    packets: Vec<Option<Box<Packet>>>,
    /// Free places in `packets`.
    free: Vec<usize>,
}

impl Flights {
    /// `overtaking`: whether packets may arrive in another order than they left.
    pub(crate) fn new(overtaking: bool) -> Self {
        if overtaking { Flights::Heap(Box::default()) } else { Flights::Fifo(Fifo::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Flights::Fifo(fifo) => fifo.flights.len(),
            Flights::Heap(heap) => heap.flights.len(),
        }
    }

    /// The flight at `index` of packets that arrive in order.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Flight> {
        match self {
            Flights::Fifo(fifo) => fifo.flights.get(index).map(flight_of),
            Flights::Heap(_) => None,
        }
    }

    /// Some flights from `index` on of packets that arrive in order; none only at the end.
    pub(crate) fn run_from(&self, index: usize) -> impl Iterator<Item = Flight> {
        let run = match self {
            Flights::Fifo(fifo) => fifo.flights.run_from(index),
            Flights::Heap(_) => &[],
        };
        run.iter().map(flight_of)
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Flights::Fifo(fifo) => fifo.flights.is_empty(),
            Flights::Heap(heap) => heap.flights.is_empty(),
        }
    }

    /// Add a packet. In a FIFO it arrives no earlier than the one before it: packets do not
    /// overtake when the delay falls.
    #[inline(always)]
    pub(crate) fn push(&mut self, flight: Flight, mut packet: Box<Packet>) {
        match self {
            Flights::Fifo(fifo) => {
                if fifo.flights.is_empty() {
                    fifo.first_at = flight.arrival;
                }
                packet.note = Note(flight.accepted.0);
                fifo.flights.push_back(Arriving(flight.arrival, Some(packet)));
            }
            Flights::Heap(heap) => {
                cold_path();
                heap.push(flight, packet);
            }
        }
    }

    /// Prefetch the entries of the first packet and of the next one: its arrival is looked up when
    /// the first is taken.
    pub(crate) fn prefetch_first(&self) {
        if let Flights::Fifo(fifo) = self {
            fifo.flights.prefetch_front();
        }
    }

    /// Prefetch the place behind the last packet.
    pub(crate) fn prefetch_last(&self) {
        if let Flights::Fifo(fifo) = self
            && let Some(last) = fifo.flights.back()
        {
            prefetch(last);
        }
    }

    /// Prefetch the first packet.
    pub(crate) fn prefetch_packet(&self) {
        if let Flights::Fifo(fifo) = self
            && let Some(Arriving(_, Some(packet))) = fifo.flights.front()
        {
            prefetch(&**packet);
            prefetch(&packet.body);
            prefetch(&packet.flow);
            fifo.flights.prefetch_second();
        }
    }

    /// The first arrival; the end of time without any.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Instant {
        match self {
            Flights::Fifo(fifo) => fifo.first_at,
            Flights::Heap(heap) => {
                cold_path();
                let first = heap.flights.peek();
                first.map_or(Instant::FAR_FUTURE, |Reverse((first, _))| first.arrival)
            }
        }
    }

    /// The last arrival of those that will arrive.
    pub(crate) fn last_arrival(&self) -> Option<Instant> {
        let arrives = |arrival: &Instant| *arrival != Instant::FAR_FUTURE;
        match self {
            Flights::Fifo(fifo) => {
                fifo.flights.iter().rev().map(|Arriving(arrival, _)| *arrival).find(arrives)
            }
            Flights::Heap(heap) => {
                heap.flights.iter().map(|Reverse((flight, _))| flight.arrival).filter(arrives).max()
            }
        }
    }

    /// Latest arrival of the packets that will arrive and whose number `wanted` accepts; the start
    /// of time without any.
    pub(crate) fn latest(&self, wanted: impl Fn(u64) -> bool) -> Instant {
        let later = |latest: Instant, flight: Flight| {
            let arrives = flight.arrival != Instant::FAR_FUTURE && wanted(flight.accepted.number());
            if arrives { latest.max(flight.arrival) } else { latest }
        };
        match self {
            Flights::Fifo(fifo) => fifo.flights.iter().map(flight_of).fold(Instant::ZERO, later),
            Flights::Heap(heap) => {
                heap.flights.iter().map(|Reverse((flight, _))| *flight).fold(Instant::ZERO, later)
            }
        }
    }

    /// Take the first packet, if it has arrived at `now`.
    #[inline(always)]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Accepted, Box<Packet>)> {
        match self {
            Flights::Fifo(fifo) => {
                if fifo.first_at > now {
                    return None;
                }
                let Arriving(_, packet) = fifo.flights.pop_front()?;
                fifo.look();
                let packet = packet?;
                Some((Accepted(packet.note.0), packet))
            }
            Flights::Heap(heap) => {
                cold_path();
                heap.pop_due(now)
            }
        }
    }

    /// Set new arrivals. `arrival_of` returns that of a number, or `None` for a packet that has
    /// left the queue and keeps its own.
    pub(crate) fn reschedule(&mut self, mut arrival_of: impl FnMut(u64) -> Option<Instant>) {
        match self {
            Flights::Fifo(fifo) => {
                for entry in fifo.flights.iter_mut() {
                    if let Some(arrival) = arrival_of(flight_of(entry).accepted.number()) {
                        entry.0 = arrival;
                    }
                }
                fifo.look();
            }
            Flights::Heap(heap) => {
                let mut flights = std::mem::take(&mut heap.flights).into_vec();
                for Reverse((flight, _)) in &mut flights {
                    if let Some(arrival) = arrival_of(flight.accepted.number()) {
                        flight.arrival = arrival;
                    }
                }
                heap.flights = BinaryHeap::from(flights);
            }
        }
    }
}

/// The flight of a packet that arrives in order.
fn flight_of(Arriving(arrival, packet): &Arriving) -> Flight {
    let accepted = Accepted(packet.as_ref().map_or(0, |packet| packet.note.0));
    Flight { arrival: *arrival, accepted }
}

impl Fifo {
    const fn new() -> Self {
        Fifo { flights: ChunkQueue::new(), first_at: Instant::FAR_FUTURE }
    }

    /// Notes the first arrival.
    #[inline]
    fn look(&mut self) {
        self.first_at =
            self.flights.front().map_or(Instant::FAR_FUTURE, |Arriving(arrival, _)| *arrival);
    }
}

impl Heap {
    #[inline(never)]
    fn push(&mut self, flight: Flight, packet: Box<Packet>) {
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place] = Some(packet);
                place
            }
            None => {
                self.packets.push(Some(packet));
                self.packets.len() - 1
            }
        };
        self.flights.push(Reverse((flight, place)));
    }

    #[inline(never)]
    fn pop_due(&mut self, now: Instant) -> Option<(Accepted, Box<Packet>)> {
        let Reverse((flight, place)) = *self.flights.peek()?;
        if flight.arrival > now {
            return None;
        }
        self.flights.pop();
        self.free.push(place);
        Some((flight.accepted, self.packets[place].take()?))
    }
}

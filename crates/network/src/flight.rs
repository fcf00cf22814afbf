//! Packets between the queue and the far end: a FIFO while the delay is constant, a heap ordered
//! by (arrival, number) while jitter or reordering is on.

use base::Instant;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use wire::Packet;

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct Flight {
    /// When it comes out at the far end.
    pub arrival: Instant,
    /// Its place in the order of acceptance.
    pub number: u64,
    /// IP length.
    pub len: u32,
    pub packet: Packet,
}

/// All packets that have gone into service and not come out yet.
#[derive(Debug)]
pub(crate) enum Flights {
    Fifo(VecDeque<Flight>),
    Heap(BinaryHeap<Reverse<Flight>>),
}

impl Flights {
    /// `overtaking`: whether packets may arrive in another order than they left.
    pub(crate) fn new(overtaking: bool) -> Self {
        if overtaking { Flights::Heap(BinaryHeap::new()) } else { Flights::Fifo(VecDeque::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Flights::Fifo(fifo) => fifo.len(),
            Flights::Heap(heap) => heap.len(),
        }
    }

    /// Add a packet. In a FIFO it arrives no earlier than the one before it: a delay that falls
    /// does not make packets overtake.
    pub(crate) fn push(&mut self, mut flight: Flight) {
        match self {
            Flights::Fifo(fifo) => {
                if let Some(last) = fifo.back() {
                    flight.arrival = flight.arrival.max(last.arrival);
                }
                fifo.push_back(flight);
            }
            Flights::Heap(heap) => heap.push(Reverse(flight)),
        }
    }

    /// The first arrival.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        let arrival = match self {
            Flights::Fifo(fifo) => fifo.front()?.arrival,
            Flights::Heap(heap) => heap.peek()?.0.arrival,
        };
        (arrival != Instant::FAR_FUTURE).then_some(arrival)
    }

    /// Take the first packet that has arrived at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Flight> {
        match self {
            Flights::Fifo(fifo) => {
                if fifo.front()?.arrival > now {
                    return None;
                }
                fifo.pop_front()
            }
            Flights::Heap(heap) => {
                if heap.peek()?.0.arrival > now {
                    return None;
                }
                heap.pop().map(|Reverse(flight)| flight)
            }
        }
    }

    /// Give packets new arrivals: `arrival_of` answers for a number, or `None` for a packet that
    /// has left the queue and keeps its own.
    pub(crate) fn reschedule(&mut self, mut arrival_of: impl FnMut(u64) -> Option<Instant>) {
        match self {
            Flights::Fifo(fifo) => {
                let mut before = Instant::ZERO;
                for flight in fifo {
                    if let Some(arrival) = arrival_of(flight.number) {
                        flight.arrival = arrival.max(before);
                    }
                    before = flight.arrival;
                }
            }
            Flights::Heap(heap) => {
                let mut flights = std::mem::take(heap).into_vec();
                for Reverse(flight) in &mut flights {
                    if let Some(arrival) = arrival_of(flight.number) {
                        flight.arrival = arrival;
                    }
                }
                *heap = BinaryHeap::from(flights);
            }
        }
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrival, self.number).cmp(&(other.arrival, other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Flight {}

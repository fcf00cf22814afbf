//! `Far`: events that are not among the next ones.
//!
//! A list for each short span of time, which is put in order when its time comes: to add an event
//! takes a store, and the order of a dozen events little. What is later than all spans is in a
//! heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A span has 2^14 ns, in which a thousand busy connections have three events: to put a dozen in
/// order was a hundred instructions a packet.
const SPAN_BITS: u32 = 14;
/// Spans, of 34 ms together.
const SPANS: u64 = 2048;

/// Least growth of a list in events: doubling left most of the memory of all spans empty.
const STEP: usize = 4;
/// Most events for which an empty list keeps memory.
const KEPT: usize = 32;

/// Pending events in the order of their numbers. The upper half of a number is a time in ns.
#[derive(Debug)]
pub(super) struct Far {
    /// The events of the first span in descending order.
    current: Vec<u128>,
    /// Those of the others in any order, by the number of the span, modulo `SPANS`; none until
    /// there is an event.
    spans: Vec<Vec<u128>>,
    /// Number of the first span: those before it have no event in `spans`.
    first: u64,
    /// Events before or behind all spans.
    others: BinaryHeap<Reverse<u128>>,
    /// Events in all.
    len: usize,
}

/// Number of the span of an event.
const fn span_of(number: u128) -> u64 {
    (number >> (u64::BITS + SPAN_BITS)) as u64
}

impl Far {
    pub(super) const fn new() -> Self {
        Far { current: Vec::new(), spans: Vec::new(), first: 0, others: BinaryHeap::new(), len: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event, which is not before `from`.
    pub(super) fn push(&mut self, number: u128, from: u128) {
        let span = span_of(number);
        if self.len == self.others.len() {
            self.first = span_of(from);
            self.spans.resize_with(SPANS as usize, Vec::new);
        }
        self.len += 1;
        match span.wrapping_sub(self.first) {
            0 => {
                let place = self.current.partition_point(|other| *other > number);
                self.current.insert(place, number);
            }
            1..SPANS => {
                let list = &mut self.spans[(span % SPANS) as usize];
                if list.len() == list.capacity() {
                    list.reserve_exact(list.len() / 4 + STEP);
                }
                list.push(number);
            }
            _ => self.others.push(Reverse(number)),
        }
    }

    /// Takes the lowest number.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u128> {
        if self.current.is_empty() && self.len > self.others.len() {
            self.next_span();
        }
        let first = self.current.last().copied().unwrap_or(u128::MAX);
        if self.others.peek().is_some_and(|Reverse(other)| *other < first) {
            self.len -= 1;
            return self.others.pop().map(|Reverse(number)| number);
        }
        self.current.pop().inspect(|_| self.len -= 1)
    }

    /// The events of the next span that has any are the current ones.
    #[inline(never)]
    fn next_span(&mut self) {
        if self.current.capacity() > KEPT {
            self.current.shrink_to(KEPT);
        }
        self.first += 1;
        while self.spans[(self.first % SPANS) as usize].is_empty() {
            self.first += 1;
        }
        // The list of the span that is over is that of one to come.
        std::mem::swap(&mut self.current, &mut self.spans[(self.first % SPANS) as usize]);
        self.current.sort_unstable_by_key(|number| Reverse(*number));
    }
}

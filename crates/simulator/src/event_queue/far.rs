//! `Far`: events that are not among the next ones.
//!
//! A heap for each short span of time, so that none is large when thousands of events are pending;
//! what is later than all spans is in a heap of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by ascending numbers. The upper half of a number is a time in ns.
type Heap = BinaryHeap<Reverse<u128>>;

/// A span has 2^16 ns, in which a thousand busy connections have a dozen events.
const SPAN_BITS: u32 = 16;
/// Spans, of 34 ms together.
const SPANS: u64 = 512;

/// Least growth of a heap in events: doubling left most of the memory of all spans empty.
const STEP: usize = 8;
/// Most events for which an empty span keeps memory.
const KEPT: usize = 32;

/// Pending events in the order of their numbers.
#[derive(Debug)]
pub(super) struct Far {
    /// By the number of the span, modulo `SPANS`; none until there is an event.
    spans: Vec<Heap>,
    /// Number of the first span: those before it have no event in `spans`.
    first: u64,
    /// Events before or behind all spans.
    others: Heap,
    /// Events in all.
    len: usize,
}

/// Number of the span of an event.
const fn span_of(number: u128) -> u64 {
    (number >> (u64::BITS + SPAN_BITS)) as u64
}

impl Far {
    pub(super) const fn new() -> Self {
        Far { spans: Vec::new(), first: 0, others: Heap::new(), len: 0 }
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
            self.spans.resize_with(SPANS as usize, Heap::new);
        }
        self.len += 1;
        let is_near = span.wrapping_sub(self.first) < SPANS;
        let heap =
            if is_near { &mut self.spans[(span % SPANS) as usize] } else { &mut self.others };
        if heap.len() == heap.capacity() {
            heap.reserve_exact(heap.len() / 4 + STEP);
        }
        heap.push(Reverse(number));
    }

    /// Takes the lowest number.
    pub(super) fn pop(&mut self) -> Option<u128> {
        let other = self.others.peek().map_or(u128::MAX, |Reverse(number)| *number);
        let mut heap = &mut self.others;
        if self.len > heap.len() {
            while self.spans[(self.first % SPANS) as usize].is_empty() {
                let span = &mut self.spans[(self.first % SPANS) as usize];
                if span.capacity() > KEPT {
                    span.shrink_to(KEPT);
                }
                self.first += 1;
            }
            let span = &mut self.spans[(self.first % SPANS) as usize];
            if span.peek().is_some_and(|Reverse(number)| *number < other) {
                heap = span;
            }
        }
        let Reverse(number) = heap.pop()?;
        self.len -= 1;
        Some(number)
    }
}

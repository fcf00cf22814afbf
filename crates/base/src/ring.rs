//! Queues that take and keep little memory.
//!
//! A `VecDeque` cycles through all of its memory, regardless of its length. After a peak, such as
//! at the end of slow start, a short queue would cycle through cold memory. And it doubles, so that
//! a third of it is empty on average; thousands of connections have several queues each.

use std::collections::VecDeque;

/// Shorter queues keep their memory.
const SMALL: usize = 32;

/// Takes the first element, and releases half of the memory if a third suffices. Amortised O(1).
#[inline]
pub fn pop_front<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.capacity() > SMALL && 3 * queue.len() < queue.capacity() {
        shrink(queue);
    }
    first
}

/// Appends an element. A queue that is not small grows by a quarter. Amortised O(1).
#[inline]
pub fn push_back<T>(queue: &mut VecDeque<T>, element: T) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
    queue.push_back(element);
}

/// Inserts an element before that at `index`, or appends it; grows as `push_back` does.
pub fn insert<T>(queue: &mut VecDeque<T>, index: usize, element: T) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
    queue.insert(index, element);
}

#[cold]
fn grow<T>(queue: &mut VecDeque<T>) {
    let len = queue.len();
    if len >= SMALL {
        queue.reserve_exact(len / 4);
    }
}

#[cold]
fn shrink<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to(queue.capacity() / 2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_that_grows_is_mostly_full() {
        let mut queue: VecDeque<u64> = VecDeque::new();
        for element in 0..1000 {
            push_back(&mut queue, element);
            let most = (queue.len() * 5 / 4).max(SMALL);
            assert!(queue.capacity() <= most, "{} for {}", queue.capacity(), queue.len());
        }
        assert_eq!(queue, (0..1000).collect::<Vec<u64>>());
        let mut queue: VecDeque<u64> = VecDeque::new();
        for element in 0..1000 {
            insert(&mut queue, element as usize / 2, element);
            let most = (queue.len() * 5 / 4).max(SMALL);
            assert!(queue.capacity() <= most, "{} for {}", queue.capacity(), queue.len());
        }
        assert_eq!((queue.front(), queue.back(), queue.len()), (Some(&1), Some(&0), 1000));
    }

    #[test]
    fn queue_that_was_long_becomes_small_again() {
        let mut queue: VecDeque<u64> = (0..1000).collect();
        for expected in 0..990 {
            assert_eq!(pop_front(&mut queue), Some(expected));
        }
        assert!(queue.capacity() <= SMALL, "{}", queue.capacity());
        assert_eq!(queue, (990..1000).collect::<Vec<u64>>());
        for _ in 0..10 {
            assert!(pop_front(&mut queue).is_some());
        }
        assert_eq!(pop_front(&mut queue), None);
    }
}

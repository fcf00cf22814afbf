//! `ShortQueue`: a queue that mostly has at most one element, which is kept outside of the ring.
//!
//! A ring takes its place, its length and a wrap for each step: for one element three times the
//! instructions.

use std::collections::VecDeque;

/// A queue.
#[derive(Clone, Debug)]
pub struct ShortQueue<T> {
    /// None only if the queue is empty.
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> ShortQueue<T> {
    /// A queue without elements or memory.
    pub const fn new() -> Self {
        ShortQueue { first: None, rest: VecDeque::new() }
    }

    /// Whether there is no element.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first element.
    #[inline]
    pub const fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The first element.
    #[inline]
    pub const fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The last element.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.rest.back_mut().or(self.first.as_mut())
    }

    /// Whether there is exactly one element.
    #[inline]
    pub fn has_one(&self) -> bool {
        self.first.is_some() && self.rest.is_empty()
    }

    /// Appends an element.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.push_rest(element);
        }
    }

    /// Takes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take()?;
        if !self.rest.is_empty() {
            self.next();
        }
        Some(first)
    }

    #[inline(never)]
    fn push_rest(&mut self, element: T) {
        self.rest.push_back(element);
    }

    #[inline(never)]
    fn next(&mut self) {
        self.first = self.rest.pop_front();
    }
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        ShortQueue::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_is_a_deque() {
        for (pushes, pops) in [(1, 1), (3, 2), (5, 5), (2, 3)] {
            let (mut queue, mut model) = (ShortQueue::new(), VecDeque::new());
            for round in 0..20 {
                for element in 0..pushes {
                    queue.push_back((round, element));
                    model.push_back((round, element));
                }
                for _ in 0..pops {
                    assert_eq!(queue.front(), model.front());
                    assert_eq!(queue.front_mut(), model.front_mut());
                    assert_eq!(queue.back_mut(), model.back_mut());
                    assert_eq!(queue.is_empty(), model.is_empty());
                    assert_eq!(queue.has_one(), model.len() == 1);
                    assert_eq!(queue.pop_front(), model.pop_front());
                }
            }
        }
    }
}

//! `KeyedQueue`: values by ascending keys, most of which are near each other.
//!
//! With several paths most messages wait for others: a slot is found without a search where a tree
//! takes some hundred instructions a message. What is far from the others is in a tree, so that a
//! peer cannot make the slots long. What a key means is left to the owner.

use std::collections::{BTreeMap, VecDeque};

/// Keys from the first slot to the last one at most.
const SPAN: u64 = 4096;
/// Slots for a value at most, and those beside: memory stays in proportion to what was received.
const SLOTS_PER_VALUE: u64 = 4;
const SPARE_SLOTS: u64 = 8;

/// Values by keys.
#[derive(Clone, Debug)]
pub(super) struct KeyedQueue<T> {
    /// Key of the first slot.
    base: u64,
    /// The first one has a value, if there is any.
    slots: VecDeque<Option<T>>,
    /// Values in `slots`.
    filled: u64,
    /// Values that were too far from those of `slots`.
    far: BTreeMap<u64, T>,
}

impl<T> Default for KeyedQueue<T> {
    fn default() -> Self {
        KeyedQueue { base: 0, slots: VecDeque::new(), filled: 0, far: BTreeMap::new() }
    }
}

impl<T> KeyedQueue<T> {
    /// Whether there is no value.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.far.is_empty()
    }

    /// Whether there is a value with this key.
    pub(super) fn contains(&self, key: u64) -> bool {
        let index = key.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        let slot = index.and_then(|index| self.slots.get(index));
        slot.is_some_and(Option::is_some) || self.far.contains_key(&key)
    }

    /// Adds a value with a key that none has.
    pub(super) fn insert(&mut self, key: u64, value: T) {
        if self.slots.is_empty() {
            self.base = key;
        }
        let end = self.base + self.slots.len() as u64;
        let most = SPAN.min(SLOTS_PER_VALUE * self.filled + SPARE_SLOTS);
        if key < self.base && end - key <= most {
            self.filled += 1;
            (key + 1..self.base).for_each(|_| self.slots.push_front(None));
            self.slots.push_front(Some(value));
            self.base = key;
        } else if key >= self.base && key - self.base < most {
            self.filled += 1;
            (end..=key).for_each(|_| self.slots.push_back(None));
            let index = (key - self.base) as usize;
            self.slots[index] = Some(value);
        } else {
            self.far.insert(key, value);
        }
    }

    /// Removes the value with the lowest key, unless that is above `most`.
    pub(super) fn pop_up_to(&mut self, most: u64) -> Option<(u64, T)> {
        let has_slot = !self.slots.is_empty();
        if let Some(first) = self.far.first_entry()
            && (!has_slot || *first.key() < self.base)
        {
            return (*first.key() <= most).then(|| first.remove_entry());
        }
        if !has_slot || self.base > most {
            return None;
        }
        let key = self.base;
        let value = self.slots.pop_front().flatten();
        self.filled -= u64::from(value.is_some());
        self.base += 1;
        self.drop_empty();
        value.map(|value| (key, value))
    }

    /// Removes the value with this key.
    pub(super) fn remove(&mut self, key: u64) -> Option<T> {
        let index = key.checked_sub(self.base).and_then(|index| usize::try_from(index).ok());
        let slot = index.and_then(|index| self.slots.get_mut(index));
        let near = slot.and_then(Option::take);
        self.filled -= u64::from(near.is_some());
        self.drop_empty();
        near.or_else(|| self.far.remove(&key))
    }

    /// Drops slots without a value before the first one with a value.
    fn drop_empty(&mut self) {
        while self.slots.front().is_some_and(Option::is_none) {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// Keys and values, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let slots = (self.base..).zip(&self.slots);
        let near = slots.filter_map(|(key, slot)| Some((key, slot.as_ref()?)));
        near.chain(self.far.iter().map(|(key, value)| (*key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_values_far_apart_take_no_slots_between_them() {
        let mut queue = KeyedQueue::default();
        queue.insert(1, "first");
        queue.insert(2_000, "far");
        assert_eq!((queue.slots.len(), queue.far.len()), (1, 1));
        queue.insert(12, "within the spare slots");
        assert_eq!(queue.slots.len(), 12);
        let taken = std::iter::from_fn(|| queue.pop_up_to(u64::MAX)).map(|(key, _)| key);
        assert_eq!(taken.collect::<Vec<_>>(), [1, 12, 2_000]);
    }

    proptest! {
        #[test]
        fn random_calls_equal_a_tree(
            ops in prop::collection::vec((0..3u8, 0..3u64, 0..40u64), 1..200),
        ) {
            let (mut queue, mut tree) = (KeyedQueue::default(), BTreeMap::new());
            for (op, far, near) in ops {
                let key = 10_000 + far * (SPAN - 20) + near;
                prop_assert_eq!(queue.filled, queue.slots.iter().flatten().count() as u64);
                match op {
                    0 if !queue.contains(key) => {
                        queue.insert(key, key);
                        prop_assert_eq!(tree.insert(key, key), None);
                    }
                    1 => prop_assert_eq!(queue.remove(key), tree.remove(&key)),
                    _ => {
                        let first = tree.first_key_value().filter(|(first, _)| **first <= key);
                        let first = first.map(|(first, value)| (*first, *value));
                        prop_assert_eq!(queue.pop_up_to(key), first);
                        first.and_then(|(first, _)| tree.remove(&first));
                    }
                }
                prop_assert_eq!(queue.contains(key), tree.contains_key(&key));
                prop_assert_eq!(queue.is_empty(), tree.is_empty());
                let all: BTreeMap<_, _> = queue.iter().map(|(key, value)| (key, *value)).collect();
                prop_assert_eq!(&all, &tree);
            }
        }
    }
}

//! `ChunkQueue`: a queue in chunks of eight elements, for long queues of which a world has
//! thousands.
//!
//! It takes the memory of its elements and hardly more, and gives it back as it becomes shorter.
//! A ring that grows leaves blocks of all the sizes that it had, which an allocator cannot use for
//! anything else: with a thousand connections that was a sixth of their memory. The first and the
//! last chunk are found without a list, since on a long way of a packet each cache miss counts.
//!
//! The chunk that one queue has emptied is the next one of any queue of the same elements, since it
//! is in the processor's cache. The allocator takes the one that was freed first.

use crate::prefetch;
use std::cell::RefCell;
use std::collections::VecDeque;

/// Elements of a chunk.
const CHUNK: usize = 8;
/// Most empty chunks that are kept of one kind of element.
const MOST_SPARE: usize = 256;

type Chunk<T> = Box<[T; CHUNK]>;

/// An element of a [`ChunkQueue`], by [`crate::chunked`]. Its default owns nothing.
pub trait Chunked: Default {
    /// Does something with the chunks that are kept, which are empty.
    fn with_spares<R>(what: impl FnOnce(&Spares<Self>) -> R) -> R;
}

/// Empty chunks of a thread, whose elements have the default.
#[derive(Debug)]
pub struct Spares<T>(RefCell<Vec<Chunk<T>>>);

impl<T: Chunked> Spares<T> {
    /// None.
    #[expect(clippy::new_without_default, reason = "a default is no constant")]
    pub const fn new() -> Self {
        Spares(RefCell::new(Vec::new()))
    }

    fn keep(&self, chunk: Chunk<T>) {
        let mut chunks = self.0.borrow_mut();
        if chunks.len() < MOST_SPARE {
            chunks.push(chunk);
        }
    }

    fn take(&self) -> Chunk<T> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }
}

/// Makes a type an element of [`ChunkQueue`]s.
#[macro_export]
macro_rules! chunked {
    ($element:ty) => {
        impl $crate::Chunked for $element {
            fn with_spares<R>(what: impl FnOnce(&$crate::Spares<Self>) -> R) -> R {
                thread_local! {
                    static SPARES: $crate::Spares<$element> = const { $crate::Spares::new() };
                }
                SPARES.with(what)
            }
        }
    };
}

/// A queue. Elements that were taken are replaced by the default.
#[derive(Clone, Debug, Default)]
pub struct ChunkQueue<T> {
    /// The first elements are at `start..end`; none if the queue is empty.
    front: Option<Chunk<T>>,
    /// The last elements, if they are not in `front`, are at `..back_len`.
    back: Option<Chunk<T>>,
    /// Full chunks between `front` and `back`, if there were any; boxed, as few calls need it.
    #[expect(clippy::box_collection, reason = "a quarter of the size, and rarely there")]
    middle: Option<Box<VecDeque<Chunk<T>>>>,
    len: u32,
    start: u8,
    end: u8,
    back_len: u8,
}

impl<T: Chunked> ChunkQueue<T> {
    /// A queue without elements or memory.
    pub const fn new() -> Self {
        ChunkQueue { front: None, back: None, middle: None, len: 0, start: 0, end: 0, back_len: 0 }
    }

    /// Number of elements.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an element.
    // Saves a call a packet.
    #[inline(always)]
    pub fn push_back(&mut self, element: T) {
        self.len += 1;
        let last = match &mut self.back {
            Some(back) => Some((back, &mut self.back_len)),
            None => self.front.as_mut().map(|front| (front, &mut self.end)),
        };
        if let Some((chunk, len)) = last
            && let Some(place) = chunk.get_mut(usize::from(*len))
        {
            put(place, element);
            *len += 1;
            return;
        }
        self.push_chunk(element);
    }

    /// Appends an element in a chunk of its own.
    #[inline(never)]
    fn push_chunk(&mut self, element: T) {
        let mut chunk = T::with_spares(Spares::take);
        put(&mut chunk[0], element);
        if self.front.is_none() {
            (self.front, self.start, self.end) = (Some(chunk), 0, 1);
            return;
        }
        if let Some(full) = self.back.replace(chunk) {
            self.middle.get_or_insert_default().push_back(full);
        }
        self.back_len = 1;
    }

    /// Takes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let front = self.front.as_mut()?;
        if self.start == self.end {
            return None;
        }
        let first = std::mem::take(&mut front[usize::from(self.start) % CHUNK]);
        self.len -= 1;
        self.start += 1;
        if self.start == self.end {
            self.next_chunk();
        }
        Some(first)
    }

    /// All elements of the first of several chunks were taken.
    #[inline(never)]
    fn next_chunk(&mut self) {
        self.start = 0;
        let next = self.middle.as_mut().and_then(|middle| middle.pop_front());
        let empty = if next.is_some() {
            self.end = CHUNK as u8;
            std::mem::replace(&mut self.front, next)
        } else {
            self.middle = None;
            self.end = std::mem::take(&mut self.back_len);
            std::mem::replace(&mut self.front, self.back.take())
        };
        if let Some(chunk) = empty {
            T::with_spares(|spares| spares.keep(chunk));
        }
    }

    /// Prefetch the first two elements, or where the second one is found.
    #[inline]
    pub fn prefetch_front(&self) {
        let Some(front) = &self.front else { return };
        let start = usize::from(self.start) % CHUNK;
        prefetch(&front[start]);
        match (front.get(start + 1), &self.middle) {
            (Some(second), _) => prefetch(second),
            (None, Some(middle)) => prefetch(&**middle),
            (None, None) => {}
        }
    }

    /// Prefetch the second element, after `prefetch_front`.
    #[inline]
    pub fn prefetch_second(&self) {
        if usize::from(self.start) == CHUNK - 1 {
            let next = self.middle.as_ref().and_then(|middle| middle.front());
            if let Some(chunk) = next.or(self.back.as_ref()) {
                prefetch(&chunk[0]);
            }
        }
    }

    /// The first element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        let front = self.front.as_ref()?;
        (self.start != self.end).then(|| &front[usize::from(self.start) % CHUNK])
    }

    /// The first element.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// The last element.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        if let Some(back) = &mut self.back {
            return Some(&mut back[usize::from(self.back_len.wrapping_sub(1)) % CHUNK]);
        }
        let front = self.front.as_mut()?;
        let last = usize::from(self.end.wrapping_sub(1)) % CHUNK;
        (self.start != self.end).then(|| &mut front[last])
    }

    /// The last element.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if let Some(back) = &self.back {
            return Some(&back[usize::from(self.back_len.wrapping_sub(1)) % CHUNK]);
        }
        let front = self.front.as_ref()?;
        let last = usize::from(self.end.wrapping_sub(1)) % CHUNK;
        (self.start != self.end).then(|| &front[last])
    }

    /// The element at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let front = self.front_elements();
        match index.checked_sub(front.len()) {
            None => front.get(index),
            Some(beyond) => self.get_beyond(beyond),
        }
    }

    /// The element at `index` after those of the first chunk.
    fn get_beyond(&self, index: usize) -> Option<&T> {
        let (chunk, place) = (index / CHUNK, index % CHUNK);
        let middle = self.middle.as_deref();
        match middle.and_then(|middle| middle.get(chunk)) {
            Some(chunk) => chunk.get(place),
            None if chunk == middle.map_or(0, VecDeque::len) => self.back_elements().get(place),
            None => None,
        }
    }

    /// The element at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let len = usize::from(self.end - self.start);
        match index.checked_sub(len) {
            None => self.front.as_mut()?.get_mut(usize::from(self.start) + index),
            Some(beyond) => self.get_beyond_mut(beyond),
        }
    }

    fn get_beyond_mut(&mut self, index: usize) -> Option<&mut T> {
        let (chunk, place) = (index / CHUNK, index % CHUNK);
        let chunks = self.middle.as_ref().map_or(0, |middle| middle.len());
        if chunk < chunks {
            return self.middle.as_mut()?.get_mut(chunk)?.get_mut(place);
        }
        if chunk > chunks {
            return None;
        }
        self.back.as_mut()?[..usize::from(self.back_len)].get_mut(place)
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let middle = self.middle.iter().flat_map(|middle| middle.iter());
        let middle = middle.flat_map(|chunk| chunk.iter());
        self.front_elements().iter().chain(middle).chain(self.back_elements())
    }

    /// Elements from `index` on, as far as they are in one chunk; none only at the end.
    pub fn run_from(&self, index: usize) -> &[T] {
        let front = self.front_elements();
        let Some(beyond) = index.checked_sub(front.len()) else { return &front[index..] };
        let (chunk, place) = (beyond / CHUNK, beyond % CHUNK);
        let middle = self.middle.as_deref();
        match middle.and_then(|middle| middle.get(chunk)) {
            Some(chunk) => &chunk[place..],
            None if chunk == middle.map_or(0, VecDeque::len) => {
                self.back_elements().get(place..).unwrap_or_default()
            }
            None => &[],
        }
    }

    /// The elements in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (start, end) = (usize::from(self.start), usize::from(self.end));
        let front = self.front.iter_mut().flat_map(move |chunk| &mut chunk[start..end]);
        let middle = self.middle.iter_mut().flat_map(|middle| middle.iter_mut());
        let middle = middle.flat_map(|chunk| chunk.iter_mut());
        let back_len = usize::from(self.back_len);
        let back = self.back.iter_mut().flat_map(move |chunk| &mut chunk[..back_len]);
        front.chain(middle).chain(back)
    }

    /// Number of the elements at the front for which `holds`, which holds for no later one.
    pub fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let half = low.midpoint(high);
            match self.get(half).is_some_and(&holds) {
                true => low = half + 1,
                false => high = half,
            }
        }
        low
    }

    #[inline]
    fn front_elements(&self) -> &[T] {
        match &self.front {
            Some(chunk) => &chunk[usize::from(self.start)..usize::from(self.end)],
            None => &[],
        }
    }

    #[inline]
    fn back_elements(&self) -> &[T] {
        match &self.back {
            Some(chunk) => &chunk[..usize::from(self.back_len)],
            None => &[],
        }
    }
}

/// Puts an element in the place of one that was taken.
#[inline(always)]
fn put<T>(place: &mut T, element: T) {
    // The default owns nothing: to ask whether it does is to wait for its memory.
    std::mem::forget(std::mem::replace(place, element));
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::chunked!(u64);

    /// The same as a `VecDeque` after `pushes` and `pops`, in each way to look at it.
    fn compare(queue: &mut ChunkQueue<u64>, model: &VecDeque<u64>) {
        assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
        assert_eq!((queue.front(), queue.back()), (model.front(), model.back()));
        assert_eq!(queue.back_mut().copied(), model.back().copied());
        assert_eq!(queue.front_mut().copied(), model.front().copied());
        assert!(queue.iter().eq(model.iter()));
        assert!(queue.iter().rev().eq(model.iter().rev()));
        for index in [0, 1, 7, 8, 9, 20, 33, 1000] {
            let mut all: Vec<u64> = Vec::new();
            while let run @ [_, ..] = queue.run_from(index + all.len()) {
                all.extend(run);
            }
            assert!(all.iter().eq(model.iter().skip(index)), "{index}");
        }
        for index in 0..model.len() + 20 {
            assert_eq!(queue.get(index), model.get(index), "{index} of {}", model.len());
            assert_eq!(queue.get_mut(index).copied(), model.get(index).copied());
        }
        for bound in [0, 3, 17, 1000].map(|more| model.front().unwrap_or(&0) + more) {
            let expected = model.partition_point(|element| *element < bound);
            assert_eq!(queue.partition_point(|element| *element < bound), expected);
        }
        let mut changed: Vec<u64> = Vec::new();
        queue.iter_mut().for_each(|element| changed.push(*element));
        assert!(changed.iter().eq(model.iter()));
    }

    #[test]
    fn queue_is_a_deque_for_any_numbers_of_pushes_and_pops() {
        for pushes in 1..40usize {
            for pops in 1..40usize {
                let (mut queue, mut model) = (ChunkQueue::new(), VecDeque::new());
                let mut next = 0u64;
                for _ in 0..6 {
                    for _ in 0..pushes {
                        queue.push_back(next);
                        model.push_back(next);
                        next += 1;
                    }
                    compare(&mut queue, &model);
                    for _ in 0..pops {
                        assert_eq!(queue.pop_front(), model.pop_front());
                    }
                    compare(&mut queue, &model);
                }
            }
        }
    }

    #[test]
    fn memory_is_that_of_the_elements() {
        let chunks = |queue: &ChunkQueue<u64>| {
            let ends = usize::from(queue.front.is_some()) + usize::from(queue.back.is_some());
            ends + queue.middle.as_ref().map_or(0, |middle| middle.len())
        };
        let mut queue = ChunkQueue::new();
        assert_eq!(chunks(&queue), 0);
        for element in 0..1000 {
            queue.push_back(element);
            assert_eq!(chunks(&queue), queue.len().div_ceil(CHUNK));
        }
        while queue.pop_front().is_some() {
            assert!(chunks(&queue) <= queue.len().div_ceil(CHUNK) + 1);
        }
        assert_eq!(chunks(&queue), 0);
        u64::with_spares(|spares| assert_eq!(spares.0.borrow().len(), 1000 / CHUNK));
        assert!(size_of::<ChunkQueue<u64>>() <= 32, "as a VecDeque");
    }
}

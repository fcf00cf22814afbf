//! `StreamTable`: values by stream identifier, found without a search.
//!
//! Streams cost memory when they are first used, and then together with their neighbours.

use std::hint::cold_path;

/// Streams that are allocated together.
const PAGE: usize = 16;

type Page<T> = [Option<T>; PAGE];

/// Values of some of 65,536 streams.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamTable<T> {
    pages: Vec<Option<Box<Page<T>>>>,
}

impl<T> StreamTable<T> {
    /// No stream was used.
    pub(super) const fn new() -> Self {
        StreamTable { pages: Vec::new() }
    }

    /// The value of a stream that was used.
    pub(super) fn get(&self, stream: u16) -> Option<&T> {
        let (page, index) = place(stream);
        self.pages.get(page)?.as_ref()?[index].as_ref()
    }

    /// The value of a stream that was used.
    pub(super) fn get_mut(&mut self, stream: u16) -> Option<&mut T> {
        let (page, index) = place(stream);
        self.pages.get_mut(page)?.as_mut()?[index].as_mut()
    }

    /// Streams that were used, ascending.
    pub(super) fn keys(&self) -> impl Iterator<Item = u16> + '_ {
        let used = |(page, values): (usize, &Page<T>)| {
            let has_value: [bool; PAGE] = std::array::from_fn(|index| values[index].is_some());
            (0..PAGE).filter(move |index| has_value[*index]).map(move |index| page * PAGE + index)
        };
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(page, values)| Some((page, values.as_deref()?)));
        pages.flat_map(used).map(|stream| stream as u16)
    }

    /// Values of the streams that were used, ascending.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> + '_ {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).flatten()
    }
}

impl<T: Default> StreamTable<T> {
    /// The value of a stream, which may be used for the first time.
    #[inline(always)]
    pub(super) fn entry(&mut self, stream: u16) -> &mut T {
        let (page, index) = place(stream);
        if self.pages.len() <= page {
            self.grow(page + 1);
        }
        let page = self.pages[page].get_or_insert_with(new_page);
        page[index].get_or_insert_with(|| {
            cold_path();
            T::default()
        })
    }

    #[cold]
    fn grow(&mut self, pages: usize) {
        self.pages.resize_with(pages, || None);
    }
}

#[cold]
#[inline(never)]
fn new_page<T>() -> Box<Page<T>> {
    Box::new(std::array::from_fn(|_| None))
}

fn place(stream: u16) -> (usize, usize) {
    (usize::from(stream) / PAGE, usize::from(stream) % PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_values_from_their_first_use_on() {
        let mut table: StreamTable<u32> = StreamTable::new();
        assert!(table.get(7).is_none() && table.get_mut(65_535).is_none());
        for stream in [65_535, 7, 300, 8] {
            *table.entry(stream) += u32::from(stream);
        }
        *table.entry(7) += 1;
        assert_eq!(
            (table.get(7), table.get(9), table.get(65_535)),
            (Some(&8), None, Some(&65_535))
        );
        assert_eq!(table.keys().collect::<Vec<_>>(), [7, 8, 300, 65_535]);
        table.values_mut().for_each(|value| *value = 1);
        assert_eq!(table.keys().filter_map(|stream| table.get(stream)).sum::<u32>(), 4);
    }
}

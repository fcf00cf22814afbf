//! `Chunks`: the chunks of a packet. Nearly all packets have one, which needs no list of its own.

use super::chunk::Chunk;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Chunks in the order of the packet.
#[derive(Clone)]
pub struct Chunks(List);

#[derive(Clone)]
enum List {
    /// Apart from `Several`, so that it need not be released.
    None,
    /// The only chunk.
    One(Chunk),
    Several(Vec<Chunk>),
}

impl Chunks {
    /// No chunks.
    pub const NONE: Chunks = Chunks(List::None);

    /// One chunk.
    #[inline]
    pub const fn one(chunk: Chunk) -> Chunks {
        Chunks(List::One(chunk))
    }

    /// The only chunk, unless it is in a list.
    // Asked first, this saves the look at the others where there is one, as in nearly all packets.
    #[inline]
    pub const fn only(&self) -> Option<&Chunk> {
        match &self.0 {
            List::One(chunk) => Some(chunk),
            _ => None,
        }
    }

    #[inline(never)]
    fn several(&self) -> &[Chunk] {
        match &self.0 {
            List::Several(list) => list,
            List::One(_) | List::None => &[],
        }
    }

    /// The only chunk, unless it is in a list, to change it.
    #[inline]
    pub const fn only_mut(&mut self) -> Option<&mut Chunk> {
        match &mut self.0 {
            List::One(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// Drops what the chunks own.
    // Without a jump table where there is one of the kinds that nearly all packets have, which is
    // left as it is but for its lists: to move it takes longer.
    #[inline(always)]
    pub(crate) fn discard(&mut self) {
        match &mut self.0 {
            List::One(Chunk::Data(data)) => drop(std::mem::take(&mut data.payload)),
            List::One(Chunk::Sack(sack)) => sack.discard_lists(),
            List::One(Chunk::NrSack(sack)) => sack.discard_lists(),
            _ => self.discard_others(),
        }
    }

    #[inline(never)]
    fn discard_others(&mut self) {
        *self = Chunks::NONE;
    }

    /// Appends a chunk.
    #[inline]
    pub fn push(&mut self, chunk: Chunk) {
        match &self.0 {
            List::None => self.0 = List::One(chunk),
            _ => self.push_to_others(chunk),
        }
    }

    #[inline(never)]
    fn push_to_others(&mut self, chunk: Chunk) {
        self.change(|list| list.push(chunk));
    }

    /// Puts a chunk before the others.
    #[inline(never)]
    pub fn push_first(&mut self, chunk: Chunk) {
        self.change(|list| list.insert(0, chunk));
    }

    /// Changes the chunks as a list.
    pub fn change(&mut self, change: impl FnOnce(&mut Vec<Chunk>)) {
        let mut list = std::mem::take(self).into_list();
        change(&mut list);
        self.0 = List::Several(list);
    }

    /// The chunks as a list.
    pub fn into_list(self) -> Vec<Chunk> {
        match self.0 {
            List::None => Vec::new(),
            List::One(chunk) => vec![chunk],
            List::Several(list) => list,
        }
    }
}

impl Default for Chunks {
    #[inline]
    fn default() -> Chunks {
        Chunks::NONE
    }
}

impl Deref for Chunks {
    type Target = [Chunk];

    #[inline]
    fn deref(&self) -> &[Chunk] {
        match self.only() {
            Some(chunk) => std::slice::from_ref(chunk),
            None => self.several(),
        }
    }
}

impl DerefMut for Chunks {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Chunk] {
        match &mut self.0 {
            List::One(chunk) => std::slice::from_mut(chunk),
            List::None => &mut [],
            List::Several(list) => list,
        }
    }
}

impl From<Chunk> for Chunks {
    fn from(chunk: Chunk) -> Chunks {
        Chunks::one(chunk)
    }
}

impl From<Vec<Chunk>> for Chunks {
    fn from(list: Vec<Chunk>) -> Chunks {
        Chunks(List::Several(list))
    }
}

impl<const N: usize> From<[Chunk; N]> for Chunks {
    fn from(chunks: [Chunk; N]) -> Chunks {
        chunks.into_iter().collect()
    }
}

impl FromIterator<Chunk> for Chunks {
    fn from_iter<I: IntoIterator<Item = Chunk>>(chunks: I) -> Chunks {
        Vec::from_iter(chunks).into()
    }
}

impl IntoIterator for Chunks {
    type Item = Chunk;
    type IntoIter = std::vec::IntoIter<Chunk>;

    fn into_iter(self) -> std::vec::IntoIter<Chunk> {
        self.into_list().into_iter()
    }
}

impl<'a> IntoIterator for &'a Chunks {
    type Item = &'a Chunk;
    type IntoIter = std::slice::Iter<'a, Chunk>;

    #[inline]
    fn into_iter(self) -> std::slice::Iter<'a, Chunk> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Chunks {
    type Item = &'a mut Chunk;
    type IntoIter = std::slice::IterMut<'a, Chunk>;

    #[inline]
    fn into_iter(self) -> std::slice::IterMut<'a, Chunk> {
        self.iter_mut()
    }
}

impl PartialEq for Chunks {
    fn eq(&self, other: &Chunks) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Chunks {}

impl<const N: usize> PartialEq<[Chunk; N]> for Chunks {
    fn eq(&self, other: &[Chunk; N]) -> bool {
        self[..] == other[..]
    }
}

impl PartialEq<Vec<Chunk>> for Chunks {
    fn eq(&self, other: &Vec<Chunk>) -> bool {
        self[..] == other[..]
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chunk_and_a_list_of_one_are_the_same() {
        let mut chunks = Chunks::default();
        assert!(chunks.is_empty());
        chunks.push(Chunk::CookieAck);
        assert_eq!(chunks, Chunks::from(vec![Chunk::CookieAck]));
        chunks.push_first(Chunk::ShutdownAck);
        chunks.push(Chunk::CookieAck);
        assert_eq!(chunks, [Chunk::ShutdownAck, Chunk::CookieAck, Chunk::CookieAck]);
        assert_eq!(chunks.clone().into_iter().collect::<Chunks>(), chunks);
        assert!(size_of::<Chunks>() <= size_of::<Chunk>(), "without a word for which it is");
    }
}

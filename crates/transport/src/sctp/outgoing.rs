//! `Outgoing`: the packet that an association sends next, while it gets its chunks.

use std::net::Ipv4Addr;
use wire::sctp::{Chunk, Chunks};
use wire::{Body, Packet, SctpPacket};

/// No packet, or one with a chunk at least.
// Made with its first chunk, which is written once, where the packet has it: each return of chunks
// by value moved them.
#[derive(Debug, Default)]
pub(super) struct Outgoing(Option<Box<Packet>>);

/// A spare packet. Taken before its chunk is made, whose fields are then written there only.
pub(super) type Place = Box<Packet>;

impl Outgoing {
    /// A packet with these chunks, if there are any.
    pub(super) fn set(&mut self, chunks: Chunks) {
        if !chunks.is_empty() {
            self.0 = Some(Box::new(packet(chunks)));
        }
    }

    /// A spare packet, if there is none.
    #[inline(always)]
    pub(super) fn place(&self) -> Option<Place> {
        self.0.is_none().then(Packet::spare)
    }

    /// The first chunk.
    #[inline(always)]
    pub(super) fn begin(&mut self, mut place: Place, chunk: Chunk) {
        debug_assert!(self.is_empty(), "it has none");
        place.fill_sctp(chunk);
        self.0 = Some(place);
    }

    /// Appends a chunk; `place` is what [`Self::place`] has given.
    #[inline(always)]
    pub(super) fn push_at(&mut self, place: Option<Place>, chunk: Chunk) {
        match place {
            Some(place) => self.begin(place, chunk),
            None => self.append(chunk),
        }
    }

    /// Appends a chunk.
    #[inline(always)]
    pub(super) fn push(&mut self, chunk: Chunk) {
        self.push_at(self.place(), chunk);
    }

    /// Appends a chunk to others.
    #[inline(never)]
    fn append(&mut self, chunk: Chunk) {
        self.change(|chunks| chunks.push(chunk));
    }

    /// Puts a chunk before the others.
    #[inline(never)]
    pub(super) fn push_first(&mut self, chunk: Chunk) {
        self.change(|chunks| chunks.push_first(chunk));
    }

    fn change(&mut self, change: impl FnOnce(&mut Chunks)) {
        if let Some(packet) = &mut self.0
            && let Body::Sctp(sctp) = &mut packet.body
        {
            change(&mut sctp.chunks);
        }
    }

    /// The chunks so far.
    #[inline]
    pub(super) fn chunks(&self) -> &[Chunk] {
        match self.0.as_deref() {
            Some(Packet { body: Body::Sctp(sctp), .. }) => &sctp.chunks,
            _ => &[],
        }
    }

    /// The last chunk so far.
    pub(super) fn last_mut(&mut self) -> Option<&mut Chunk> {
        match self.0.as_deref_mut() {
            Some(Packet { body: Body::Sctp(sctp), .. }) => sctp.chunks.last_mut(),
            _ => None,
        }
    }

    /// Whether there is no packet.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The packet, without addresses, ports and tag.
    #[inline]
    pub(super) fn into_packet(self) -> Option<Box<Packet>> {
        self.0
    }
}

/// A packet with these chunks from nowhere to nowhere.
#[inline(always)]
pub(super) fn packet(chunks: Chunks) -> Packet {
    let nowhere = Ipv4Addr::UNSPECIFIED.into();
    let body = Body::Sctp(SctpPacket { chunks, ..SctpPacket::default() });
    Packet::new(nowhere, nowhere, body)
}

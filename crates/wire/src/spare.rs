//! Boxes of packets that were discarded, for the next ones.
//!
//! The last one is taken first, since it is in the processor's cache. The allocator takes the one
//! that was freed first: with a thousand connections, to wait for it was an eighth of a packet's
//! time.

use crate::{Body, Ends, Packet, TcpSegment};
use std::cell::Cell;
use std::hint::cold_path;
use std::net::Ipv4Addr;

/// Most boxes that are kept.
const MOST: usize = 256;

/// A stack of a constant size: a vector in a `RefCell` takes 40 instructions a packet more.
struct Boxes {
    /// Those below `len` have one.
    places: [Cell<Option<Box<Packet>>>; MOST],
    len: Cell<usize>,
}

thread_local! {
    static BOXES: Boxes =
        const { Boxes { places: [const { Cell::new(None) }; MOST], len: Cell::new(0) } };
}

/// Keeps a packet whose body owns nothing.
// In line it costs 5 misses of the instruction cache per packet of MPTCP.
#[inline(never)]
pub(crate) fn keep(packet: Box<Packet>) {
    BOXES.with(|boxes| {
        let len = boxes.len.get();
        let Some(place) = boxes.places.get(len) else {
            cold_path();
            return drop(packet);
        };
        let before = place.replace(Some(packet));
        debug_assert!(before.is_none());
        // To ask whether there is one to drop takes longer than the rest.
        std::mem::forget(before);
        boxes.len.set(len + 1);
    });
}

/// A packet whose body owns nothing.
// A call saves more registers than it has steps.
#[inline(always)]
pub(crate) fn take() -> Box<Packet> {
    let taken = BOXES.with(|boxes| {
        let last = boxes.len.get().wrapping_sub(1);
        let packet = boxes.places.get(last)?.take();
        boxes.len.set(last);
        packet
    });
    taken.unwrap_or_else(made)
}

/// A new one.
#[cold]
#[inline(never)]
fn made() -> Box<Packet> {
    let nowhere = Ipv4Addr::UNSPECIFIED.into();
    Box::new(Packet::between(Ends::new(nowhere, nowhere), Body::Tcp(TcpSegment::default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sctp::{Chunk, Chunks, Data, GapBlock, IData, NrSack, Sack, Tsn};
    use crate::{Payload, SctpPacket};
    use bytes::Bytes;
    use std::sync::Arc;

    /// Bytes that show when they are released.
    struct Held(#[expect(dead_code, reason = "its count shows it")] Arc<()>);

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            b"held"
        }
    }

    fn sctp(chunks: Chunks) -> Box<Packet> {
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
        let body = Body::Sctp(SctpPacket { chunks, ..SctpPacket::default() });
        Box::new(Packet::new(ends[0].into(), ends[1].into(), body))
    }

    #[test]
    fn discarded_packet_releases_what_it_owns() {
        let held = Arc::new(());
        let payload = || Payload::from(Bytes::from_owner(Held(Arc::clone(&held))));
        let data = || Chunk::Data(Data { payload: payload(), ..Data::default() });
        let segment = TcpSegment { payload: payload(), ..TcpSegment::default() };
        let tcp = Packet { body: Body::Tcp(segment), ..*sctp(Chunks::NONE) };
        for packet in [
            Box::new(tcp),
            sctp(Chunks::one(data())),
            sctp([data(), data()].into()),
            sctp(Chunks::one(Chunk::IData(IData { payload: payload(), ..IData::default() }))),
        ] {
            assert!(Arc::strong_count(&held) > 1);
            packet.discard();
        }
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn packet_in_the_box_of_another_one_is_as_a_new_one() {
        let block = GapBlock { start: 2, end: 3 };
        let sack = Sack { gaps: [block].into(), duplicates: [Tsn(5)].into(), ..Sack::default() };
        let report = NrSack { nr_gaps: [block].into(), ..NrSack::default() };
        for before in [Chunk::Sack(sack.clone()), Chunk::NrSack(report), Chunk::CookieAck] {
            for chunk in [Chunk::Data(Data::default()), Chunk::Sack(sack.clone())] {
                let new = sctp(Chunks::one(chunk.clone()));
                let old = Packet { ecn: 3, corrupted: true, ..*sctp(Chunks::one(before.clone())) };
                let old = Box::new(old);
                let place = &raw const *old;
                old.discard();
                let mut next = take();
                assert_eq!(&raw const *next, place, "the last box is the first");
                next.fill_sctp(chunk);
                assert_eq!(next, new);
            }
        }
    }
}

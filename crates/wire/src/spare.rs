//! Boxes of packets that were discarded, for the next ones.
//!
//! The last one is taken first, since it is in the processor's cache. The allocator takes the one
//! that was freed first: with a thousand connections, to wait for it was an eighth of a packet's
//! time.

use crate::{Body, Ends, Packet, TcpSegment};
use std::cell::RefCell;
use std::hint::cold_path;
use std::net::Ipv4Addr;

/// Most boxes that are kept.
const MOST: usize = 256;

thread_local! {
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    static BOXES: RefCell<Vec<Box<Packet>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a packet of TCP that owns nothing.
// In line it costs 5 misses of the instruction cache per packet of MPTCP.
#[inline(never)]
pub(crate) fn keep(packet: Box<Packet>) {
    BOXES.with_borrow_mut(|boxes| {
        if boxes.len() < MOST {
            boxes.push(packet);
        }
    });
}

/// A packet of TCP that owns nothing.
#[inline]
pub(crate) fn take() -> Box<Packet> {
    BOXES.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
        cold_path();
        let nowhere = Ipv4Addr::UNSPECIFIED.into();
        Box::new(Packet::between(Ends::new(nowhere, nowhere), Body::Tcp(TcpSegment::default())))
    })
}

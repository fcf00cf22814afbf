//! Holds every segment against what both sides of its connection sent before.
//!
//! Nothing is acknowledged that was not sent, cumulatively or selectively, and the right edge of a
//! window never moves left (RFC 9293 s3.8.6).

use crate::pair::Side;
use std::collections::BTreeMap;
use wire::{Flags, SeqNumber, TcpSegment};

/// What was seen of one direction of one connection.
#[derive(Clone, Copy, Default)]
struct Seen {
    iss: Option<SeqNumber>,
    /// The window scale it offered.
    shift: Option<u8>,
    /// Highest position sent, FIN included.
    end: i64,
    /// Highest `ack + window` announced.
    edge: i64,
    /// There was an earlier connection between the same ports.
    again: bool,
}

impl Seen {
    fn position(&self, seq: SeqNumber) -> i64 {
        self.iss.map_or(0, |iss| seq.to_offset(iss + 1, self.end.max(0) as u64))
    }
}

/// All connections, by side and ports.
#[derive(Default)]
pub(crate) struct Witness {
    seen: BTreeMap<(u8, u16, u16), Seen>,
}

impl Witness {
    /// `from` sends `segment`; returns the position of its first byte, -1 for a SYN.
    pub(crate) fn observe(&mut self, from: Side, segment: &TcpSegment) -> i64 {
        let low = segment.src_port.min(segment.dst_port);
        let high = segment.src_port.max(segment.dst_port);
        let key = |side: Side| (side.index() as u8, low, high);
        let is_syn = segment.flags.contains(Flags::SYN);
        let known = self.seen.get(&key(from)).and_then(|seen| seen.iss);
        if is_syn && known.is_some_and(|iss| iss != segment.seq) {
            self.seen.insert(key(from), Seen { again: true, ..Seen::default() });
            self.seen.entry(key(from.other())).or_default().edge = 0;
        }
        let peer = self.seen.get(&key(from.other())).copied().unwrap_or_default();
        let seen = self.seen.entry(key(from)).or_default();
        if is_syn {
            seen.iss = Some(segment.seq);
            seen.shift = segment.options.window_scale;
        }
        let offset = seen.position(segment.seq);
        seen.end = seen.end.max(offset + i64::from(segment.sequence_len()));
        check_acknowledgement(seen, &peer, segment);
        offset
    }
}

fn check_acknowledgement(seen: &mut Seen, peer: &Seen, segment: &TcpSegment) {
    let ack = peer.position(segment.ack);
    let of_earlier = peer.again && ack < 0;
    let plain = segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST);
    if !plain || peer.iss.is_none() || of_earlier {
        return;
    }
    assert!(ack <= peer.end, "{ack} acknowledged, sent was {}: {segment:?}", peer.end);
    for (start, end) in segment.options.sack.as_slice() {
        let (start, end) = (peer.position(*start), peer.position(*end));
        assert!(start >= 0 && start < end && end <= peer.end, "SACK {start}..{end}: {segment:?}");
    }
    let is_syn = segment.flags.contains(Flags::SYN);
    let agreed = seen.shift.filter(|_| peer.shift.is_some() && !is_syn);
    let scale = agreed.unwrap_or(0);
    let edge = ack + (i64::from(segment.window) << scale);
    // Scaling rounds down.
    let slack = 1i64 << scale;
    let before = seen.edge;
    assert!(edge + slack > before, "window taken back from {before} to {edge}: {segment:?}");
    seen.edge = before.max(edge);
}

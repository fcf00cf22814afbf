//! `Origins`: initial sequence numbers of subflows whose SYN is not in the capture.
//!
//! A mapping names its first byte by its distance from the SYN (RFC 8684 s3.3.1), and a segment
//! with a mapping is inside it. So the SYN's number is that of the segment less this distance, or
//! less: exactly that if the mapping begins with the segment, as each does with one of its
//! segments. The earliest number that any segment admits is the SYN's.

use super::capture::Segment;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::{Flags, SeqNumber};

/// Origins by sender and receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    directions: BTreeMap<(SocketAddr, SocketAddr), Origin>,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    /// Earliest number so far.
    From(SeqNumber),
    /// The capture has the SYNs from here on.
    Over(Option<SeqNumber>),
}

impl Origins {
    /// Origins from segments in time order.
    pub(super) fn of(segments: &[Segment]) -> Origins {
        let mut origins = Origins::default();
        segments.iter().for_each(|segment| origins.observe(segment));
        origins
    }

    /// Number of the SYN that the sender of `segment` sent before the capture began, if mappings
    /// show it.
    pub(super) fn before(&self, segment: &Segment) -> Option<SeqNumber> {
        match *self.directions.get(&(segment.src, segment.dst))? {
            Origin::From(seq) => Some(seq),
            Origin::Over(seq) => seq,
        }
    }

    fn observe(&mut self, segment: &Segment) {
        let direction = (segment.src, segment.dst);
        if segment.flags.contains(Flags::SYN) {
            for direction in [direction, (segment.dst, segment.src)] {
                let origin = self.directions.entry(direction).or_insert(Origin::Over(None));
                if let Origin::From(seq) = *origin {
                    *origin = Origin::Over(Some(seq));
                }
            }
            return;
        }
        let mapping = segment.options.mptcp.dss.and_then(|dss| dss.mapping());
        let Some(mapping) = mapping.filter(|mapping| mapping.subflow_seq != 0) else { return };
        if segment.len == 0 || mapping.is_infinite() {
            return;
        }
        let seq = segment.seq - mapping.subflow_seq;
        match self.directions.entry(direction).or_insert(Origin::From(seq)) {
            Origin::From(earliest) if seq < *earliest => *earliest = seq,
            Origin::From(_) | Origin::Over(_) => {}
        }
    }
}

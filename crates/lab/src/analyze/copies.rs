//! Segments that were captured more than once, such as with `-i any` on a router.
//!
//! A copy has the sequence number, length, timestamps and IPv4 identification of a segment of the
//! milliseconds before. A retransmission is a packet of its own, with another identification; where
//! that is 0 (DF, and IPv6), the segments must have timestamps.

use super::capture::Segment;
use base::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Longest time between a segment and its copy.
const NEAR: Duration = Duration::from_millis(5);

/// The equal fields of a segment and its copy.
type Key = (SocketAddr, SocketAddr, u32, u64, u16, Option<(u32, u32)>);

/// Removes the copies from segments in the order of time; a note on them, if any.
pub(super) fn remove(segments: &mut Vec<Segment>) -> Option<String> {
    let before = segments.len();
    let mut newest: BTreeMap<Key, Instant> = BTreeMap::new();
    let mut recent: VecDeque<(Instant, Key)> = VecDeque::new();
    segments.retain(|segment| {
        while let Some((time, key)) = recent.front().filter(|(time, _)| *time + NEAR < segment.time)
        {
            if newest.get(key) == Some(time) {
                newest.remove(key);
            }
            recent.pop_front();
        }
        let Some(key) = key(segment) else { return true };
        let is_first = newest.insert(key, segment.time).is_none();
        recent.push_back((segment.time, key));
        is_first
    });
    let copies = before - segments.len();
    let are = if copies == 1 { "segment is" } else { "segments are" };
    let note = "in the capture again within milliseconds, from another interface or duplicated by \
                the network: left out, not counted as sent again";
    (copies > 0).then(|| format!("{copies} {are} {note}"))
}

/// `None` for segments that cannot be told from a repetition by the sender.
fn key(segment: &Segment) -> Option<Key> {
    let stamps = segment.options.timestamps.map(|stamps| (stamps.value, stamps.echo));
    let is_known = segment.identification != 0 || stamps.is_some();
    (segment.len > 0 && is_known).then_some((
        segment.src,
        segment.dst,
        segment.seq.0,
        segment.len,
        segment.identification,
        stamps,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Flags, SeqNumber, TcpOptions};

    fn segment(millis: u64, seq: u32, identification: u16) -> Segment {
        let end = ([10, 0, 0, 1], 1).into();
        Segment {
            time: Instant::ZERO + Duration::from_millis(millis),
            interface: 0,
            src: end,
            dst: end,
            identification,
            seq: SeqNumber(seq),
            ack: SeqNumber(1),
            flags: Flags::ACK,
            options: TcpOptions::default(),
            len: 100,
        }
    }

    /// Regression: a capture at all interfaces of a router had a loss of 50 %.
    #[test]
    fn segment_captured_twice_is_no_retransmission() {
        let mut segments = vec![
            segment(0, 100, 7),
            segment(0, 100, 7),
            segment(1, 200, 8),
            segment(2, 200, 8),
            // Retransmissions: another packet, and a late one.
            segment(3, 200, 9),
            segment(90, 200, 8),
            // Unknown.
            segment(91, 300, 0),
            segment(91, 300, 0),
        ];
        let note = remove(&mut segments).unwrap();
        assert!(note.starts_with("2 segments are in the capture again"), "{note}");
        let left: Vec<_> = segments.iter().map(|one| (one.seq.0, one.identification)).collect();
        assert_eq!(left, [(100, 7), (200, 8), (200, 9), (200, 8), (300, 0), (300, 0)]);
        assert_eq!(remove(&mut segments), None);
    }
}

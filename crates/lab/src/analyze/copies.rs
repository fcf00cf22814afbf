//! Segments, SCTP packets and datagrams that were captured more than once, such as with `-i any` on
//! a router.
//!
//! A copy has the IPv4 identification of a segment or packet of the milliseconds before, and what
//! it carries. A retransmission is a packet of its own, with another identification; where that is
//! 0 (DF, and IPv6), segments must have timestamps, and packets of SCTP and UDP cannot be told
//! apart.

use super::capture::Segment;
use super::sctp::Unit;
use base::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};
use wire::Flags;

/// Longest time between a segment and its copy.
const NEAR: Duration = Duration::from_millis(5);

/// Removes the copies from segments in the order of time; a note on them, if any.
pub(super) fn remove(segments: &mut Vec<Segment>) -> Option<String> {
    let copies = remove_equal(segments, |segment| (segment.time, key(segment)));
    note(copies, ["segment", "segments"])
}

/// The same for SCTP packets.
pub(super) fn remove_packets(units: &mut Vec<Unit>) -> Option<String> {
    let copies = remove_equal(units, |unit| {
        let key = (unit.src, unit.dst, unit.identification, unit.content);
        (unit.time, (unit.identification != 0).then_some(key))
    });
    note(copies, ["SCTP packet", "SCTP packets"])
}

/// The same for datagrams of UDP, with `of` as in `remove_equal`.
pub(super) fn remove_datagrams<T, K: Ord + Clone>(
    datagrams: &mut Vec<T>,
    of: impl Fn(&T) -> (Instant, Option<K>),
) -> Option<String> {
    note(remove_equal(datagrams, of), ["datagram", "datagrams"])
}

fn note(copies: usize, [one, many]: [&str; 2]) -> Option<String> {
    let (what, are) = if copies == 1 { (one, "is") } else { (many, "are") };
    let note = "in the capture again within milliseconds, from another interface or duplicated by \
                the network: left out, not counted as sent again";
    (copies > 0).then(|| format!("{copies} {what} {are} {note}"))
}

/// Removes items in the order of time whose key is that of a near one; returns their number. `of`
/// gives the time and the key, `None` for items that cannot be told from a repetition by the
/// sender.
fn remove_equal<T, K: Ord + Clone>(
    items: &mut Vec<T>,
    of: impl Fn(&T) -> (Instant, Option<K>),
) -> usize {
    let before = items.len();
    let mut newest: BTreeMap<K, Instant> = BTreeMap::new();
    let mut recent: VecDeque<(Instant, K)> = VecDeque::new();
    items.retain(|item| {
        let (now, key) = of(item);
        while let Some((time, key)) = recent.front().filter(|(time, _)| *time + NEAR < now) {
            if newest.get(key) == Some(time) {
                newest.remove(key);
            }
            recent.pop_front();
        }
        let Some(key) = key else { return true };
        let is_first = newest.insert(key.clone(), now).is_none();
        recent.push_back((now, key));
        is_first
    });
    before - items.len()
}

/// The equal fields of a segment and its copy.
fn key(segment: &Segment) -> Option<impl Ord + Clone + use<>> {
    let stamps = segment.options.timestamps.map(|stamps| (stamps.value, stamps.echo));
    let is_known = segment.identification != 0 || stamps.is_some();
    let key =
        (segment.src, segment.dst, segment.seq.0, segment.len, segment.identification, stamps);
    let has_number = segment.len > 0 || segment.flags.contains(Flags::SYN);
    (has_number && is_known).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{SeqNumber, TcpOptions};

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

    /// Regression: a SYN that was captured twice was one sent again, so that the handshake had no
    /// round-trip time.
    #[test]
    fn syn_captured_twice_is_no_retransmission() {
        let syn = |millis, identification| Segment {
            flags: Flags::SYN,
            len: 0,
            ..segment(millis, 100, identification)
        };
        let mut segments = vec![syn(0, 7), syn(0, 7), syn(1000, 8)];
        assert!(remove(&mut segments).is_some());
        assert_eq!(segments.len(), 2);
    }
}

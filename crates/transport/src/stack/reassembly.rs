//! Reassembly of IPv4 datagrams from their fragments (RFC 791 s3.2, RFC 815).
//!
//! As Linux does: a datagram whose fragments overlap is dropped (RFC 5722 s3, there for IPv6),
//! repeated ones are ignored, and one that is not whole 30 s after its first fragment is given up.
//! Memory is bounded: when it is used up, the datagrams that have waited longest go first. Time is
//! looked at when a fragment arrives, since nothing else depends on it.

use base::{Duration, Instant};
use std::collections::BTreeMap;
use std::net::IpAddr;
use wire::{Body, Fragment, Packet, Payload};

/// Time from the first fragment of a datagram until it is given up (Linux `net.ipv4.ipfrag_time`).
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of all fragments that wait (Linux `net.ipv4.ipfrag_high_thresh`).
const MOST_BYTES: u64 = 4 << 20;
/// Bytes that a fragment takes in addition to its payload.
const OVERHEAD: u64 = 256;
/// Largest content of a datagram: 65,535 less the shortest header.
const LARGEST: u32 = 65_515;

/// What the fragments of a datagram have in common. First what differs most, for comparisons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    identification: u16,
    protocol: u8,
    src: IpAddr,
    dst: IpAddr,
}

/// The datagrams of which some fragments have arrived.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    waiting: BTreeMap<Key, Partial>,
    /// Keys by the arrival of the first fragment.
    by_age: BTreeMap<(Instant, u64), Key>,
    /// Number of the next datagram.
    next: u64,
    bytes: u64,
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct Partial {
    age: (Instant, u64),
    /// Parts by offset; they do not overlap.
    parts: BTreeMap<u32, Payload>,
    /// Bytes of all parts.
    received: u32,
    /// Length of the content, once the last fragment has arrived.
    len: Option<u32>,
    /// Bit N: a fragment had N in its ECN field.
    ecn: u8,
    corrupted: bool,
}

/// What a fragment does to its datagram.
enum Effect {
    Ignored,
    /// It holds more bytes.
    Added(u64),
    /// The fragments contradict each other.
    Broken,
}

impl Reassembly {
    /// Takes a fragment out of its packet; the datagram if it is whole now. It may be corrupted.
    pub(super) fn handle(&mut self, now: Instant, packet: &mut Packet) -> Option<Packet> {
        let (src, dst) = (packet.src(), packet.dst());
        let Body::Fragment(part) = &mut packet.body else { return None };
        let Fragment { identification, protocol, .. } = *part;
        self.expire(now);
        let key = Key { src, dst, protocol, identification };
        let age = (now, self.next);
        let partial = self.waiting.entry(key).or_insert_with(|| Partial::new(age));
        if partial.age == age {
            self.by_age.insert(age, key);
            self.next += 1;
        }
        match partial.add(part) {
            Effect::Ignored if partial.parts.is_empty() => self.forget(key),
            Effect::Ignored => {}
            Effect::Broken => self.forget(key),
            Effect::Added(bytes) => {
                partial.ecn |= 1 << (packet.ecn & 3);
                partial.corrupted |= packet.corrupted;
                self.bytes += bytes;
                if partial.is_whole() {
                    let partial = self.take(key)?;
                    return partial.into_packet(packet, protocol);
                }
                self.make_room();
            }
        }
        debug_assert_eq!(self.waiting.len(), self.by_age.len(), "one age each");
        None
    }

    fn take(&mut self, key: Key) -> Option<Partial> {
        let partial = self.waiting.remove(&key)?;
        self.by_age.remove(&partial.age);
        let held = u64::from(partial.received) + OVERHEAD * partial.parts.len() as u64;
        debug_assert!(held <= self.bytes, "bytes are counted as they come");
        self.bytes -= held;
        Some(partial)
    }

    fn forget(&mut self, key: Key) {
        self.take(key);
    }

    /// Gives up the datagrams that have waited for too long.
    fn expire(&mut self, now: Instant) {
        while let Some((&(since, _), &key)) = self.by_age.first_key_value()
            && now.since(since) >= TIMEOUT
        {
            self.forget(key);
        }
    }

    fn make_room(&mut self) {
        while self.bytes > MOST_BYTES
            && let Some((_, &key)) = self.by_age.first_key_value()
        {
            self.forget(key);
        }
    }
}

impl Partial {
    const fn new(age: (Instant, u64)) -> Self {
        let (received, ecn) = (0, 0);
        Partial { age, parts: BTreeMap::new(), received, len: None, ecn, corrupted: false }
    }

    fn is_whole(&self) -> bool {
        self.len == Some(self.received)
    }

    fn add(&mut self, part: &mut Fragment) -> Effect {
        let (start, end) = (u32::from(part.offset), part.end());
        if start == end || (part.more && end % 8 != 0) {
            return Effect::Ignored;
        }
        let known_to = self.parts.last_key_value().map_or(0, |(at, last)| at + last.len());
        let contradicts = match (self.len, part.more) {
            (Some(len), true) => end > len,
            (Some(len), false) => end != len,
            (None, true) => false,
            (None, false) => end < known_to,
        };
        if end > LARGEST || contradicts {
            return Effect::Broken;
        }
        match self.is_known(start, end) {
            Some(true) => return Effect::Ignored,
            Some(false) => return Effect::Broken,
            None => {}
        }
        if !part.more {
            self.len = Some(end);
        }
        self.parts.insert(start, std::mem::take(&mut part.payload));
        self.received += end - start;
        Effect::Added(u64::from(end - start) + OVERHEAD)
    }

    /// Whether all bytes from `start` to `end` have arrived; `None`: none of them has.
    fn is_known(&self, start: u32, end: u32) -> Option<bool> {
        let mut covered = 0;
        let before = self.parts.range(..=start).next_back();
        let inside = self.parts.range(start + 1..end);
        for (at, part) in before.into_iter().chain(inside) {
            let (from, to) = ((*at).max(start), (at + part.len()).min(end));
            covered += to.saturating_sub(from);
        }
        (covered > 0).then_some(covered == end - start)
    }

    /// The packet, with the hop limit of the fragment that arrived last; `None`: its content is no
    /// packet, or its ECN fields exclude each other.
    fn into_packet(self, last: &Packet, protocol: u8) -> Option<Packet> {
        let unit: Payload = self.parts.into_values().collect();
        if self.corrupted {
            return None;
        }
        let ecn = joined_ecn(self.ecn)?;
        Packet::reassembled(last, protocol, &unit).ok().map(|packet| Packet { ecn, ..packet })
    }
}

/// The ECN field of a datagram whose fragments had these (RFC 3168 s5.3); `None`: it is dropped,
/// because some fragments were of an ECN-capable transport and others not.
const fn joined_ecn(seen: u8) -> Option<u8> {
    const CE: u8 = 1 << 3;
    match seen {
        0b0001 => Some(0),
        _ if seen & 1 != 0 => None,
        _ if seen & CE != 0 => Some(3),
        0b0010 => Some(1),
        _ => Some(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{Ends, UdpDatagram};

    const UDP: u8 = 17;

    fn datagram(len: u32, stream: u32) -> Packet {
        let payload = Payload::virtual_range(stream, 0, len);
        let body = Body::Udp(UdpDatagram { src_port: 7, dst_port: 8, payload });
        Packet::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), body)
    }

    fn parts(len: u32, identification: u16) -> Vec<Packet> {
        datagram(len, u32::from(identification)).fragmented(1500, identification)
    }

    fn fragment(packet: &mut Packet) -> &mut Fragment {
        match &mut packet.body {
            Body::Fragment(fragment) => fragment,
            other => panic!("{other:?}"),
        }
    }

    /// The datagrams that come out.
    fn feed(reassembly: &mut Reassembly, at: u64, packets: Vec<Packet>) -> Vec<Packet> {
        let now = Instant::from_millis(at);
        packets.into_iter().filter_map(|mut packet| reassembly.handle(now, &mut packet)).collect()
    }

    fn is_empty(reassembly: &Reassembly) -> bool {
        let Reassembly { waiting, by_age, bytes, .. } = reassembly;
        waiting.is_empty() && by_age.is_empty() && *bytes == 0
    }

    #[test]
    fn fragments_in_any_order_make_up_the_datagram() {
        let order = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]];
        for order in order {
            let mut reassembly = Reassembly::default();
            let all = parts(5000, 9);
            let shuffled = order.map(|at| all[at].clone()).to_vec();
            assert_eq!(feed(&mut reassembly, 0, shuffled), [datagram(5000, 9)]);
            assert!(is_empty(&reassembly));
        }
    }

    #[test]
    fn repeated_fragments_are_ignored_and_overlapping_ones_end_the_datagram() {
        let mut reassembly = Reassembly::default();
        let all = parts(5000, 9);
        let twice = [&all[..2], &all[..2], &all[1..]].concat();
        assert_eq!(feed(&mut reassembly, 0, twice), [datagram(5000, 9)]);

        let mut overlapping = all[1].clone();
        fragment(&mut overlapping).offset -= 8;
        let with = [vec![all[0].clone(), overlapping], all[1..].to_vec()].concat();
        assert_eq!(feed(&mut reassembly, 0, with), []);
        // What came later is another datagram's, as far as the host knows.
        assert_eq!(feed(&mut reassembly, 1, all[..1].to_vec()), [datagram(5000, 9)]);
        assert!(is_empty(&reassembly));
    }

    #[test]
    fn two_ends_and_bytes_behind_the_end_end_the_datagram() {
        let mut reassembly = Reassembly::default();
        let all = parts(5000, 9);
        let mut sooner = all[2].clone();
        fragment(&mut sooner).more = false;
        assert_eq!(feed(&mut reassembly, 0, vec![all[3].clone(), sooner.clone()]), []);
        assert!(is_empty(&reassembly));
        assert_eq!(feed(&mut reassembly, 0, vec![sooner, all[3].clone()]), []);
        assert!(is_empty(&reassembly));
        let mut beyond = all[3].clone();
        fragment(&mut beyond).offset = 65_528;
        assert_eq!(feed(&mut reassembly, 0, vec![all[0].clone(), beyond]), []);
        assert!(is_empty(&reassembly));
    }

    #[test]
    fn empty_and_odd_fragments_are_ignored() {
        let mut reassembly = Reassembly::default();
        let all = parts(5000, 9);
        let mut empty = all[1].clone();
        fragment(&mut empty).payload = Payload::EMPTY;
        let mut odd = all[1].clone();
        fragment(&mut odd).payload = Payload::virtual_range(1, 0, 1001);
        assert_eq!(feed(&mut reassembly, 0, vec![empty.clone(), odd.clone()]), []);
        assert!(is_empty(&reassembly));
        let with = [vec![all[0].clone(), empty, odd], all[1..].to_vec()].concat();
        assert_eq!(feed(&mut reassembly, 0, with), [datagram(5000, 9)]);
    }

    #[test]
    fn datagram_is_given_up_30_seconds_after_its_first_fragment() {
        for (late, whole) in [(29_999, true), (30_000, false)] {
            let mut reassembly = Reassembly::default();
            let all = parts(5000, 9);
            assert_eq!(feed(&mut reassembly, 0, all[..2].to_vec()), []);
            assert_eq!(feed(&mut reassembly, 20_000, all[2..3].to_vec()), []);
            let found = feed(&mut reassembly, late, all[3..].to_vec());
            assert_eq!(found.len(), usize::from(whole), "{late}");
        }
    }

    #[test]
    fn datagrams_that_wait_longest_go_when_memory_is_used_up() {
        let mut reassembly = Reassembly::default();
        // 1480 + 256 bytes each: 2416 of them fit into 4 MiB.
        for number in 0..2417 {
            assert_eq!(feed(&mut reassembly, 0, parts(5000, number)[..1].to_vec()), []);
        }
        assert_eq!(reassembly.waiting.len(), 2416);
        assert!(reassembly.bytes <= MOST_BYTES);
        assert_eq!(feed(&mut reassembly, 0, parts(5000, 0)[1..].to_vec()), []);
        assert_eq!(feed(&mut reassembly, 0, parts(5000, 2416)[1..].to_vec()).len(), 1);
    }

    #[test]
    fn damaged_or_mixed_datagrams_do_not_arrive() {
        let mut reassembly = Reassembly::default();
        let mut damaged = parts(5000, 9);
        damaged[2].corrupted = true;
        assert_eq!(feed(&mut reassembly, 0, damaged), []);
        let mut mixed = parts(5000, 9);
        mixed[1] = Packet { ends: mixed[1].ends.clone(), ..parts(5000, 8)[1].clone() };
        fragment(&mut mixed[1]).identification = 9;
        assert_eq!(feed(&mut reassembly, 0, mixed), [], "the checksum of UDP finds it");
        assert!(is_empty(&reassembly));
    }

    /// RFC 3168 s5.3, and `ip_frag_ecn_table` of Linux.
    #[test]
    fn congestion_mark_of_any_fragment_is_that_of_the_datagram() {
        for (marks, expected) in [
            ([0, 0, 0, 0], Some(0)),
            ([2, 3, 2, 2], Some(3)),
            ([1, 1, 1, 1], Some(1)),
            ([2, 2, 2, 2], Some(2)),
            ([0, 3, 0, 0], None),
        ] {
            let mut all = parts(5000, 9);
            all.iter_mut().zip(marks).for_each(|(part, mark)| part.ecn = mark);
            let found = feed(&mut Reassembly::default(), 0, all);
            assert_eq!(found.first().map(|packet| packet.ecn), expected);
        }
    }

    #[test]
    fn fragments_of_different_hosts_and_protocols_are_kept_apart() {
        let mut reassembly = Reassembly::default();
        let [one, other] = [1, 3].map(|last| {
            let parts = parts(3000, 9).into_iter();
            parts.map(move |part| Packet {
                ends: Ends::new([10, 0, 0, last].into(), part.dst()),
                ..part
            })
        });
        let between: Vec<Packet> = one.zip(other).flat_map(|(a, b)| [a, b]).collect();
        // The addresses enter the checksum.
        assert_eq!(feed(&mut reassembly, 0, between).len(), 1);
        let mut tcp = parts(3000, 9);
        tcp.iter_mut().skip(1).for_each(|part| fragment(part).protocol = 6);
        assert_eq!(feed(&mut reassembly, 0, tcp), []);
        assert_eq!(reassembly.waiting.len(), 2);
    }

    proptest! {
        /// Every byte, any order, duplicates, and the loss of some.
        #[test]
        fn datagram_arrives_once_if_all_its_fragments_do(
            len in 1500u32..20_000,
            mtu in 68u32..1500,
            picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..300),
        ) {
            let packet = datagram(len, 5);
            let all = packet.clone().fragmented(mtu, 3);
            let chosen: Vec<usize> = picks.iter().map(|pick| pick.index(all.len())).collect();
            let sent = chosen.iter().map(|at| all[*at].clone()).collect();
            let mut reassembly = Reassembly::default();
            let mut seen = vec![0; all.len()];
            let mut rounds = 0;
            for at in &chosen {
                seen[*at] += 1;
                if seen.iter().all(|count| *count > 0) {
                    rounds += 1;
                    seen.fill(0);
                }
            }
            let found = feed(&mut reassembly, 0, sent);
            prop_assert_eq!(found, vec![packet; rounds]);
            prop_assert_eq!(is_empty(&reassembly), seen.iter().all(|count| *count == 0));
        }

        #[test]
        fn any_fragments_are_taken_within_bounded_memory(
            all in proptest::collection::vec(
                (0u16..3, 0u16..0x2000, any::<bool>(), 0u32..4000, 0u64..20_000, any::<u8>()),
                0..200,
            ),
        ) {
            let mut reassembly = Reassembly::default();
            let mut now = 0;
            for (identification, units, more, len, later, protocol) in all {
                now += later;
                let payload = Payload::virtual_range(1, 0, len);
                let offset = units * 8;
                let protocol = if protocol < 250 { UDP } else { protocol };
                let part = Fragment { identification, protocol, offset, more, payload };
                let packet = Packet { body: Body::Fragment(part), ..datagram(0, 0) };
                feed(&mut reassembly, now, vec![packet]);
                let held: u64 = reassembly.waiting.values().map(|partial| {
                    u64::from(partial.received) + OVERHEAD * partial.parts.len() as u64
                }).sum();
                prop_assert_eq!(held, reassembly.bytes);
                prop_assert!(held <= MOST_BYTES);
                let oldest = reassembly.by_age.keys().next().map(|(since, _)| *since);
                let now = Instant::from_millis(now);
                prop_assert!(oldest.is_none_or(|since| now.since(since) < TIMEOUT));
            }
        }
    }
}

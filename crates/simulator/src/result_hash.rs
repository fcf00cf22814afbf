//! The hash of a run: SHA-256 over every packet and delivery event and the metric values.
//!
//! Two runs with the same hash delivered the same packets at the same times in the same order.
//! Every record has 32 bytes in little-endian order, so the hash does not depend on the machine.

use base::{Event, EventMask, HostId, Instant, LinkId, Recorder};
use sha2::{Digest, Sha256};
use traffic::Outcome;
use traffic::model::video::OF_PLAYER;

/// Records collected before they are hashed together.
const BATCH_BYTES: usize = 4096;

/// A recorder that hashes.
#[derive(Debug)]
pub struct ResultHash {
    state: Sha256,
    batch: Vec<u8>,
    /// Links from this one on are NICs inside hosts and are not hashed.
    end_of_paths: LinkId,
}

impl ResultHash {
    /// Hashes the packets of the links below `end_of_paths`.
    pub fn new(end_of_paths: LinkId) -> Self {
        ResultHash { state: Sha256::new(), batch: Vec::with_capacity(BATCH_BYTES), end_of_paths }
    }

    /// The hash of the events followed by the metric values.
    pub fn finish(mut self, outcome: &Outcome) -> [u8; 32] {
        self.state.update(&self.batch);
        self.state.update(outcome.bytes_read.to_le_bytes());
        self.number(outcome.metric.name(), outcome.value.unwrap_or(-1.0));
        for delay in &outcome.message_delays {
            self.number("message", *delay);
        }
        let own = outcome.extra.iter().filter(|(name, _)| !OF_PLAYER.contains(name));
        for (name, value) in own {
            self.number(name, *value);
        }
        self.state.finalize().into()
    }

    fn number(&mut self, name: &str, value: f64) {
        self.state.update((name.len() as u64).to_le_bytes());
        self.state.update(name);
        self.state.update(value.to_le_bytes());
    }

    #[inline]
    fn event(&mut self, now: Instant, kind: u32, id: u32, a: u64, b: u64) {
        if self.batch.len() + 32 > BATCH_BYTES {
            self.state.update(&self.batch);
            self.batch.clear();
        }
        let mut record = [0; 32];
        record[..8].copy_from_slice(&now.as_nanos().to_le_bytes());
        record[8..12].copy_from_slice(&kind.to_le_bytes());
        record[12..16].copy_from_slice(&id.to_le_bytes());
        record[16..24].copy_from_slice(&a.to_le_bytes());
        record[24..].copy_from_slice(&b.to_le_bytes());
        self.batch.extend_from_slice(&record);
    }
}

impl Recorder for ResultHash {
    fn mask(&self) -> EventMask {
        EventMask::PACKET.union(EventMask::DELIVERY)
    }

    // Saves a call an event.
    #[inline(always)]
    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        match *event {
            Event::PacketDelivered { link, len, flow, seq, payload_len }
                if link < self.end_of_paths =>
            {
                let lengths = u64::from(len) << 32 | u64::from(payload_len);
                self.event(now, 1, link.0, lengths, u64::from(flow) << 32 | u64::from(seq));
            }
            Event::Delivered { socket, offset, len } => {
                let who = u64::from(host.0) << 32 | u64::from(socket.0);
                self.event(now, 2, len, offset, who);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traffic::Metric;

    fn hash_of(events: &[(u64, Event)], value: f64) -> [u8; 32] {
        let mut hash = ResultHash::new(LinkId(2));
        for (millis, event) in events {
            hash.record(Instant::from_millis(*millis), HostId(0), event);
        }
        hash.finish(&Outcome::single(Metric::Goodput, Some(value), 0))
    }

    fn delivered(link: u32, seq: u32) -> Event {
        Event::PacketDelivered { link: LinkId(link), len: 1500, flow: 1, seq, payload_len: 1448 }
    }

    #[test]
    fn time_link_sequence_and_value_enter() {
        let base = hash_of(&[(1, delivered(0, 7))], 1.0);
        assert_eq!(base, hash_of(&[(1, delivered(0, 7))], 1.0));
        assert_ne!(base, hash_of(&[(2, delivered(0, 7))], 1.0));
        assert_ne!(base, hash_of(&[(1, delivered(1, 7))], 1.0));
        assert_ne!(base, hash_of(&[(1, delivered(0, 8))], 1.0));
        assert_ne!(base, hash_of(&[(1, delivered(0, 7))], 2.0));
    }

    #[test]
    fn numbers_that_follow_from_the_delays_do_not_enter() {
        let of = |extra| {
            let outcome = Outcome { extra, ..Outcome::single(Metric::MessageDelay, Some(1.0), 0) };
            ResultHash::new(LinkId(2)).finish(&outcome)
        };
        assert_eq!(of(vec![]), of(vec![("freezes", 2.0), ("frozen_time", 0.3), ("late", 0.1)]));
        assert_ne!(of(vec![]), of(vec![("jitter", 2.0)]));
    }

    #[test]
    fn links_inside_hosts_do_not_enter() {
        let base = hash_of(&[], 1.0);
        assert_eq!(base, hash_of(&[(1, delivered(2, 7))], 1.0));
    }

    #[test]
    fn batches_do_not_show() {
        let events: Vec<(u64, Event)> = (0..300).map(|n| (n, delivered(0, n as u32))).collect();
        assert_ne!(hash_of(&events, 1.0), hash_of(&events[..299], 1.0));
        assert_eq!(hash_of(&events, 1.0), hash_of(&events, 1.0));
    }
}

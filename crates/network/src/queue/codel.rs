//! CoDel, controlled delay (RFC 8289): drops at the head when packets have waited longer than the
//! target for at least an interval, at an increasing rate until they have not.
//!
//! `CoDel` is the control law over any first-in first-out store, shared with FQ-CoDel. ECN-capable
//! packets are dropped like others: marking is left out, since no transport here responds to it.

use super::{Backlog, HeadDiscipline, Held};
use base::{Duration, Instant};
use std::collections::VecDeque;

/// Acceptable standing delay (RFC 8289 s4.3).
const TARGET: Duration = Duration::from_millis(5);
/// On the order of a worst-case RTT (RFC 8289 s4.2).
const INTERVAL: Duration = Duration::from_millis(100);
/// No drop while no more than one full packet waits (RFC 8289 s5.6), with the others in queues of
/// one link (s4.4).
const MTU_BYTES: u64 = 1514;

/// Packets in order, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct Store {
    packets: VecDeque<Held>,
    bytes: u64,
}

impl Store {
    pub(crate) fn push(&mut self, held: Held) {
        self.bytes += u64::from(held.len);
        self.packets.push_back(held);
    }

    pub(crate) fn pop(&mut self) -> Option<Held> {
        let held = self.packets.pop_front()?;
        self.bytes -= u64::from(held.len);
        Some(held)
    }

    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

/// The state of the control law, with the names of RFC 8289 s5.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoDel {
    /// When the delay will have been above the target for an interval; `None` while below.
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDel {
    /// The next packet to serve (RFC 8289 s5.5); `others` is the number of bytes in other queues of
    /// the link.
    pub(crate) fn dequeue(
        &mut self,
        now: Instant,
        store: &mut Store,
        others: u64,
        dropped: &mut Vec<Held>,
    ) -> Option<Held> {
        let (mut held, mut ok_to_drop) = self.take(now, store, others);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                dropped.extend(held);
                self.count = self.count.saturating_add(1);
                (held, ok_to_drop) = self.take(now, store, others);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(held);
            (held, _) = self.take(now, store, others);
            self.start_dropping(now);
        }
        held
    }

    fn start_dropping(&mut self, now: Instant) {
        self.dropping = true;
        // Continue with the count of the last dropping state if it was recent (RFC 8289 s5.5).
        let delta = self.count.saturating_sub(self.last_count);
        let lately = now - self.drop_next < INTERVAL * 16;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = control_law(now, self.count);
        self.last_count = self.count;
    }

    /// `dodequeue` of RFC 8289 s5.6: a packet, and whether it may be dropped.
    fn take(&mut self, now: Instant, store: &mut Store, others: u64) -> (Option<Held>, bool) {
        let Some(held) = store.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn = now - held.since;
        if sojourn < TARGET || store.bytes + others <= MTU_BYTES {
            self.first_above_time = None;
            return (Some(held), false);
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + INTERVAL);
                (Some(held), false)
            }
            Some(time) => (Some(held), now >= time),
        }
    }
}

/// The next drop: t + interval / sqrt(count) (RFC 8289 s5.6).
fn control_law(t: Instant, count: u32) -> Instant {
    let nanos = INTERVAL.as_nanos() as f64 / libm::sqrt(f64::from(count.max(1)));
    t + Duration::from_nanos(nanos as u64)
}

/// One queue under CoDel. A full one drops the packet that arrives, as in Linux.
#[derive(Debug, Default)]
pub(crate) struct CoDelQueue {
    store: Store,
    codel: CoDel,
}

impl HeadDiscipline for CoDelQueue {
    fn enqueue(&mut self, held: Held) {
        self.store.push(held);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Held>) -> Option<Held> {
        self.codel.dequeue(now, &mut self.store, 0, dropped)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Body, Icmp, Packet};

    fn held(number: u64, since: Instant) -> Held {
        let address = std::net::IpAddr::from([10, 0, 0, 1]);
        let echo =
            Icmp::Echo { reply: false, identifier: 0, sequence: 0, data: bytes_of(1472).into() };
        let packet = Box::new(Packet::new(address, address, Body::Icmp(echo)));
        Held { since, number, len: 1500, packet }
    }

    fn bytes_of(len: usize) -> Vec<u8> {
        vec![0; len]
    }

    /// Serve one packet a millisecond from a queue fed two a millisecond; the times of drops.
    fn overload(millis: u64) -> Vec<u64> {
        let mut queue = CoDelQueue::default();
        let mut dropped = Vec::new();
        let mut times = Vec::new();
        for ms in 0..millis {
            let now = Instant::from_millis(ms);
            queue.enqueue(held(2 * ms, now));
            queue.enqueue(held(2 * ms + 1, now));
            assert!(queue.dequeue(now, &mut dropped).is_some());
            times.extend(dropped.drain(..).map(|_| ms));
        }
        times
    }

    #[test]
    fn delay_above_target_for_an_interval_drops_with_the_control_law() {
        let times = overload(400);
        // One in, one kept a millisecond: the head has waited 5 ms from about 10 ms on; the first
        // drop follows an interval later, the next ones after interval/sqrt(1), /sqrt(2), ...
        let first = times[0];
        assert!((105..=115).contains(&first), "first drop at {first}");
        let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        assert_eq!(&gaps[..3], &[100, 71, 58], "{times:?}");
    }

    #[test]
    fn delay_below_target_never_drops() {
        let mut queue = CoDelQueue::default();
        let mut dropped = Vec::new();
        for ms in 0..1000 {
            queue.enqueue(held(ms, Instant::from_millis(ms)));
            queue.dequeue(Instant::from_millis(ms + 4), &mut dropped);
        }
        assert!(dropped.is_empty());
    }

    #[test]
    fn last_packet_is_never_dropped() {
        let mut queue = CoDelQueue::default();
        let mut dropped = Vec::new();
        for s in 0..10 {
            queue.enqueue(held(s, Instant::from_secs(s)));
            assert!(queue.dequeue(Instant::from_secs(s + 1), &mut dropped).is_some());
        }
        assert!(dropped.is_empty());
        assert_eq!(queue.backlog(), Backlog::default());
    }
}

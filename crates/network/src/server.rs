//! The service times of a link.
//!
//! Pure arithmetic over time; which packet is served next is left to the queue.

use crate::link_config::{Capacity, Limit};
use crate::trace::{CapacityTrace, Spent};
use base::{Duration, Instant, Rate, Serialiser};
use std::hint::cold_path;
use std::sync::Arc;

/// Bytes of the packet whose serialisation time is the mean service time of RED and the slot of
/// Gilbert-Elliott.
pub(crate) const TYPICAL_BYTES: u32 = 1500;

/// Serves packets one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pace: Pace,
    busy_until: Instant,
}

/// The state of a `Capacity`. Small, since every link has one.
#[derive(Clone, Debug)]
enum Pace {
    Unlimited,
    Rate(Serialiser),
    Trace(Box<Playback>),
}

/// The state of a recorded trace.
#[derive(Clone, Debug)]
struct Playback {
    trace: Arc<CapacityTrace>,
    offset: Duration,
    /// The part that is used up.
    spent: Spent,
}

impl Pace {
    fn new(capacity: Capacity) -> Self {
        match capacity {
            Capacity::Unlimited => Pace::Unlimited,
            Capacity::Rate(rate) => Pace::Rate(Serialiser::new(rate)),
            Capacity::Trace { trace, offset } => {
                Pace::Trace(Box::new(Playback { trace, offset, spent: Spent::default() }))
            }
        }
    }
}

impl Playback {
    fn finish(&mut self, start: Instant, bytes: u32) -> Instant {
        match self.trace.finish(&mut self.spent, start + self.offset, bytes) {
            Instant::FAR_FUTURE => Instant::FAR_FUTURE,
            end => end - self.offset,
        }
    }
}

impl Server {
    pub(crate) fn new(capacity: Capacity) -> Self {
        Server { pace: Pace::new(capacity), busy_until: Instant::ZERO }
    }

    /// The time at which `bytes` have been served whose service begins at `start`, or as soon as
    /// the packet before them has left.
    // Saves a call a packet.
    #[inline(always)]
    pub(crate) fn finish(&mut self, start: Instant, bytes: u32) -> Instant {
        self.idle_until(start);
        let start = self.busy_until;
        self.busy_until = match &mut self.pace {
            Pace::Rate(packets) => start + packets.packet(bytes),
            Pace::Unlimited => {
                cold_path();
                start
            }
            Pace::Trace(playback) => {
                cold_path();
                playback.finish(start, bytes)
            }
        };
        self.busy_until
    }

    /// The time at which a packet has been served of which `work` (in 10^-9 bits) is left, as
    /// `finish`.
    pub(crate) fn finish_work(&mut self, start: Instant, work: u64) -> Instant {
        self.idle_until(start);
        if let Pace::Rate(packets) = &mut self.pace {
            self.busy_until += packets.finish(work);
        }
        self.busy_until
    }

    /// The queue was empty until `now`.
    #[inline]
    pub(crate) fn idle_until(&mut self, now: Instant) {
        if now > self.busy_until {
            self.reset(now);
        }
    }

    /// Restart: the next service begins at `now` at the earliest.
    #[inline]
    pub(crate) const fn reset(&mut self, now: Instant) {
        self.busy_until = now;
        if let Pace::Rate(packets) = &mut self.pace {
            packets.restart();
        }
    }

    /// Stop at `now`. Of a recorded trace only the part before `now` is used up.
    pub(crate) fn suspend(&mut self, now: Instant) {
        if let Pace::Trace(playback) = &mut self.pace {
            let Playback { trace, offset, spent } = &mut **playback;
            trace.lapse(spent, now + *offset);
        }
    }

    /// Remaining work (in 10^-9 bits) at `now` of a packet that would leave at `depart`; `None`
    /// with a recorded trace, which serves the packet again.
    pub(crate) fn work_left(&self, now: Instant, depart: Instant) -> Option<u64> {
        let Pace::Rate(packets) = &self.pace else { return None };
        if depart == Instant::FAR_FUTURE {
            return None;
        }
        let work = u128::from((depart - now).as_nanos()) * u128::from(packets.rate().as_bps());
        u64::try_from(work).ok()
    }

    /// Change the capacity from `now` on.
    pub(crate) fn set_capacity(&mut self, now: Instant, capacity: Capacity) {
        self.pace = Pace::new(capacity);
        self.reset(now);
    }

    /// Departure time of the last packet.
    pub(crate) const fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Length of the last packet; 0 if it is not known.
    #[inline]
    pub(crate) const fn last_len(&self) -> u32 {
        match &self.pace {
            Pace::Rate(packets) => packets.last_len(),
            Pace::Unlimited | Pace::Trace(_) => 0,
        }
    }

    /// The number of packets that depart after `now`, if all of those have the last one's length
    /// and take whole nanoseconds.
    #[inline]
    pub(crate) fn waiting(&self, now: Instant) -> Option<u32> {
        let Pace::Rate(packets) = &self.pace else { return None };
        let time = packets.whole_time()?.as_nanos();
        u32::try_from((self.busy_until - now).as_nanos().div_ceil(time)).ok()
    }

    /// The bytes that `limit` allows at `now`, if it is one of bytes or time.
    pub(crate) fn byte_limit(&self, limit: Limit, now: Instant) -> Option<u64> {
        match limit {
            Limit::Packets(_) => None,
            Limit::Bytes(bytes) => Some(bytes),
            Limit::Time(time) => self.rate_at(now).map(|rate| bytes_in(rate, time)),
        }
    }

    /// As that of the capacity.
    pub(crate) fn typical_packet_time(&self) -> Option<Duration> {
        match &self.pace {
            Pace::Unlimited => None,
            Pace::Rate(packets) => typical_packet_time(packets.rate()),
            Pace::Trace(playback) => typical_packet_time(playback.trace.mean_rate()),
        }
    }

    /// The current rate; `None` without one.
    fn rate_at(&self, now: Instant) -> Option<Rate> {
        match &self.pace {
            Pace::Unlimited => None,
            Pace::Rate(packets) => Some(packets.rate()),
            Pace::Trace(playback) => {
                let Playback { trace, offset, .. } = &**playback;
                Some(trace.rate_at((now + *offset).since(Instant::ZERO)))
            }
        }
    }
}

impl Capacity {
    /// Mean serialisation time of a 1500-byte packet; `None` if it is zero or infinite.
    pub(crate) fn typical_packet_time(&self) -> Option<Duration> {
        match self {
            Capacity::Unlimited => None,
            Capacity::Rate(rate) => typical_packet_time(*rate),
            Capacity::Trace { trace, .. } => typical_packet_time(trace.mean_rate()),
        }
    }
}

fn typical_packet_time(rate: Rate) -> Option<Duration> {
    let (time, _) = rate.serialisation(u64::from(TYPICAL_BYTES), 0);
    (time != Duration::MAX).then_some(time)
}

/// Bytes that `rate` serves in `time`.
fn bytes_in(rate: Rate, time: Duration) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn those_that_wait_are_those_that_depart_later(
            mbit in 1u64..40,
            gaps in proptest::collection::vec(0u64..30_000, 1..40),
            later in 0u64..400_000,
        ) {
            let mut server = Server::new(Rate::from_mbit(mbit).into());
            let mut now = Instant::ZERO;
            let mut departures = Vec::new();
            for gap in gaps {
                now += Duration::from_micros(gap);
                departures.push(server.finish(now, 1500));
            }
            now += Duration::from_micros(later);
            let waiting = departures.iter().filter(|at| **at > now).count();
            if let Some(computed) = server.waiting(now) {
                prop_assert_eq!(computed as usize, waiting);
            } else {
                prop_assert!(12_000_000_000_000 % (mbit * 1_000_000) != 0);
            }
        }
    }
}

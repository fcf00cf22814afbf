//! `udp:RATE[:TIME][:bytes=N]`: datagrams of one size at a constant rate, as of a test stream.
//!
//! The first one is due at once, and each of the others when the rate has room for it. Over a byte
//! stream the datagrams are messages. Further numbers: the share of messages that did not arrive,
//! quantiles of the delay, and the interarrival jitter of RFC 3550 s6.4.1.

use crate::measure::Measure;
use crate::model::delays::{
    INTERARRIVAL, LOST_SHARE, MEDIAN, OVER_150MS, P95, P99, distribution_of, interarrival_jitter,
    of_messages,
};
use crate::model::{Due, Message, TrafficModel};
use crate::one_way::Report;
use crate::outcome::{Metric, Outcome};
use base::{Duration, Rate};

/// Delays beyond which the shares of messages are counted.
const SHARES: &[(&str, Duration)] = &[OVER_150MS];

/// Datagrams at a constant rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Rate of the payload, above zero.
    pub rate: Rate,
    /// Length of the traffic.
    pub time: Duration,
    /// Payload of a datagram in bytes, from 8 to 65,507.
    pub bytes: u32,
}

impl Udp {
    /// The default length.
    pub const DEFAULT_TIME: Duration = Duration::from_secs(60);
    /// The default payload: that of iperf 2, which fits an Ethernet frame.
    pub const DEFAULT_BYTES: u32 = 1470;
    /// The shortest payload: kind and number of a message.
    pub const LEAST_BYTES: u32 = 8;
    /// The longest payload of UDP over IPv4.
    pub const MOST_BYTES: u32 = crate::datagrams::MOST_BYTES;

    /// Datagrams that are due within the time.
    pub fn messages(&self) -> u64 {
        let bits = u128::from(self.rate.as_bps()) * u128::from(self.time.as_nanos());
        let each = u128::from(self.bytes) * 8 * 1_000_000_000;
        u64::try_from(bits.div_ceil(each)).unwrap_or(u64::MAX)
    }
}

impl TrafficModel for Udp {
    fn message(&self, index: u64) -> Option<Message> {
        // Computed from the index, so that nothing drifts.
        let bits = u128::from(index) * u128::from(self.bytes) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.rate.as_bps());
        let due = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        (index < self.messages()).then_some(Message {
            due: Due::SinceStart(due),
            len: self.bytes.into(),
            measured: true,
        })
    }

    /// A datagram is a message.
    fn message_bytes(&self) -> Option<u32> {
        Some(u32::MAX)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.time)
    }

    fn metric(&self) -> Metric {
        Metric::MessageDelay
    }

    fn further(&self) -> &'static [Measure] {
        &[MEDIAN, P95, P99, LOST_SHARE, INTERARRIVAL]
    }

    fn numbers(&self, delays: &[f64], all: &[f64]) -> Vec<(&'static str, f64)> {
        let lost = (all.len() - delays.len()) as f64 / all.len().max(1) as f64;
        let mut numbers = distribution_of(delays, all, SHARES);
        numbers.push((crate::datagrams::LOST, lost));
        numbers.extend(interarrival_jitter(delays));
        numbers
    }

    fn outcome(&self, client: &Report, sender: &Report, receiver: &Report) -> Outcome {
        of_messages(self, self.messages(), [client, sender, receiver])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(mbit: u64, seconds: u64, bytes: u32) -> Udp {
        Udp { rate: Rate::from_mbit(mbit), time: Duration::from_secs(seconds), bytes }
    }

    fn due(udp: Udp, index: u64) -> u64 {
        match udp.message(index).expect("a message").due {
            Due::SinceStart(after) => after.as_nanos(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn datagrams_have_the_rate_and_do_not_drift() {
        let udp = udp(5, 60, 1250);
        assert_eq!(udp.messages(), 30_000);
        assert_eq!((due(udp, 0), due(udp, 1), due(udp, 29_999)), (0, 2_000_000, 59_998_000_000));
        assert_eq!(udp.message(30_000), None);
        let odd = Udp { bytes: 1470, ..udp };
        let bits = odd.messages() * 1470 * 8;
        assert!(bits.abs_diff(60 * 5_000_000) < 1470 * 8, "{bits}");
        assert!(due(odd, odd.messages() - 1) < 60_000_000_000);
    }

    #[test]
    fn numbers_have_the_share_lost_and_late_datagrams_count_those() {
        let numbers =
            udp(5, 1, 1250).numbers(&[0.1, 0.2], &[0.1, f64::INFINITY, 0.2, f64::INFINITY]);
        let of = |name: &str| numbers.iter().find(|(known, _)| *known == name).map(|found| found.1);
        assert_eq!(of("lost"), Some(0.5));
        assert_eq!(of("over_150ms"), Some(0.75));
        assert_eq!(of("median"), Some(0.15000000000000002));
        assert_eq!(of("interarrival_jitter"), Some(0.1 / 16.0));
    }
}

//! Numbers of the delays of a run's messages: quantiles, shares of late messages, jitter.
//!
//! The thresholds, and which of the numbers may be compared, are left to the models.

use crate::datagrams::{INTERARRIVAL_JITTER, LOST};
use crate::measure::{Measure, Silence, Source};
use crate::model::TrafficModel;
use crate::one_way::Report;
use crate::outcome::{
    Metric, MetricInfo, Outcome, jitter, jitter_of_ways, mean, quantile, share_above,
};

/// Name of the mean difference between a delay and the next.
const JITTER: &str = "jitter";
use base::Duration;

/// The metric that the numbers are of.
const METRIC: &str = Metric::MessageDelay.name();

/// Delays above 150 ms, the longest of live video (000 s3.1): name and limit of their share.
pub(crate) const OVER_150MS: (&str, Duration) = ("over_150ms", Duration::from_millis(150));

/// The median of the delays of a run.
pub(crate) const MEDIAN: Measure = Measure::delay(
    ("median", METRIC),
    ("median", "median"),
    ["median delay", "median message delay", "has a median message delay of"],
    Silence::Above(0.5),
);
/// Their 95 % quantile.
pub(crate) const P95: Measure = Measure::delay(
    ("p95", METRIC),
    ("p95", "p95"),
    ["p95 delay", "95 % of messages within", "delivers 95 % of messages within"],
    Silence::Above(0.05),
);
/// Their 99 % quantile.
pub(crate) const P99: Measure = Measure::delay(
    ("p99", METRIC),
    ("p99", "p99"),
    ["p99 delay", "99 % of messages within", "delivers 99 % of messages within"],
    Silence::Above(0.01),
);

/// The outcome of a model whose number is the mean delay of its messages: a value once all of them,
/// `count`, are read. The reports are the client's, the sender's and the receiver's.
pub(super) fn of_messages(
    model: &dyn TrafficModel,
    count: u64,
    [client, sender, receiver]: [&Report; 3],
) -> Outcome {
    let delays = receiver.delays_since(sender);
    let complete = delays.len() as u64 == count;
    Outcome {
        metric: model.metric(),
        value: mean(&delays).filter(|_| complete),
        bytes_read: receiver.bytes_read,
        extra: model.numbers(&delays, &delays),
        message_delays: delays,
        parts: receiver.parts_since(sender, client),
    }
}

/// The share of late messages: the further number `number`, with its heading, its words before a
/// value, and those in a sentence.
pub(super) const fn late(
    [heading, short, verb]: [&'static str; 3],
    number: &'static str,
) -> Measure {
    Measure {
        info: MetricInfo {
            name: "late",
            unit: "1",
            larger_is_better: false,
            heading,
            short,
            verb,
            worse: ("has", "more late messages"),
            parts: "messages",
            // One message in a thousand.
            least_noticed: 0.001,
        },
        statistic: "late",
        of: METRIC,
        source: Source::Further(number),
        silence: Silence::Late,
    }
}

/// The share of messages that did not arrive.
pub(super) const LOST_SHARE: Measure = Measure {
    info: MetricInfo {
        name: LOST,
        unit: "1",
        larger_is_better: false,
        heading: "lost",
        short: "lost messages:",
        verb: "loses messages:",
        worse: ("has", "more lost messages"),
        parts: "messages",
        // One message in a thousand.
        least_noticed: 0.001,
    },
    statistic: LOST,
    of: METRIC,
    source: Source::Further(LOST),
    silence: Silence::Late,
};
/// The interarrival jitter.
pub(super) const INTERARRIVAL: Measure = Measure::delay(
    (INTERARRIVAL_JITTER, INTERARRIVAL_JITTER),
    (INTERARRIVAL_JITTER, INTERARRIVAL_JITTER),
    ["interarrival jitter", "interarrival jitter", "has an interarrival jitter of"],
    Silence::Share,
);

/// The interarrival jitter after the last message (RFC 3550 s6.4.1): each difference of the delays
/// of two messages in a row moves the estimate by a sixteenth of its distance. The messages are in
/// the order of sending, which a path without reordering keeps.
pub(crate) fn interarrival_jitter(delays: &[f64]) -> Option<(&'static str, f64)> {
    let step = |jitter: f64, two: &[f64]| jitter + ((two[1] - two[0]).abs() - jitter) / 16.0;
    (!delays.is_empty()).then(|| (INTERARRIVAL_JITTER, delays.windows(2).fold(0.0, step)))
}

/// The interarrival jitter of messages in several directions: the mean over the messages.
pub(crate) fn interarrival_jitter_of_ways(ways: &[&[f64]]) -> Option<(&'static str, f64)> {
    let count: usize = ways.iter().map(|delays| delays.len()).sum();
    let weighed = ways.iter().filter_map(|delays| {
        interarrival_jitter(delays).map(|(_, jitter)| jitter * delays.len() as f64)
    });
    (count > 0).then(|| (INTERARRIVAL_JITTER, weighed.sum::<f64>() / count as f64))
}

/// Replaces the jitter among these numbers, which is of messages in one order, by that of the
/// messages of each direction.
pub(crate) fn separate_jitter(numbers: &mut [(&'static str, f64)], ways: &[&[f64]]) {
    let of_ways = jitter_of_ways(ways);
    for (_, value) in numbers.iter_mut().filter(|(name, _)| *name == JITTER) {
        *value = of_ways.unwrap_or(*value);
    }
}

/// Quantiles of the delays, the share above each limit, by name, and the jitter; empty without a
/// message.
pub(crate) fn distribution(
    delays: &[f64],
    limits: &[(&'static str, Duration)],
) -> Vec<(&'static str, f64)> {
    distribution_of(delays, delays, limits)
}

/// The same where messages are lost: the shares are of `all`, which has infinity for those.
pub(crate) fn distribution_of(
    delays: &[f64],
    all: &[f64],
    limits: &[(&'static str, Duration)],
) -> Vec<(&'static str, f64)> {
    let mut sorted = delays.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantiles = [("median", 0.5), ("p95", 0.95), ("p99", 0.99)];
    let quantiles = quantiles.map(|(name, q)| (name, quantile(&sorted, q)));
    let shares = limits.iter().map(|&(name, limit)| (name, share_above(all, limit)));
    let all = quantiles.into_iter().chain(shares).chain([(JITTER, jitter(delays))]);
    all.filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550 s6.4.1, J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16.
    #[test]
    fn interarrival_jitter_is_smoothed_by_a_sixteenth() {
        let of = |delays: &[f64]| interarrival_jitter(delays).map(|(_, jitter)| jitter);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0.3]), Some(0.0));
        assert_eq!(of(&[0.0, 16.0]), Some(1.0));
        assert_eq!(of(&[0.0, 16.0, 0.0]), Some(1.0 + 15.0 / 16.0));
        let steady: Vec<f64> = (0..1000).map(|n| f64::from(n % 2)).collect();
        assert!((of(&steady).expect("jitter") - 1.0).abs() < 1e-9);
        let both = interarrival_jitter_of_ways(&[&[0.0, 16.0], &[5.0; 6], &[]]);
        assert_eq!(both.map(|(_, jitter)| jitter), Some(0.25));
        assert_eq!(interarrival_jitter_of_ways(&[&[], &[]]), None);
    }

    #[test]
    fn lost_messages_are_late_but_have_no_delay() {
        let all = [0.1, f64::INFINITY, 0.3, 0.2];
        let found = distribution_of(&[0.1, 0.3, 0.2], &all, &[OVER_150MS]);
        let of = |name: &str| found.iter().find(|(known, _)| *known == name).map(|found| found.1);
        assert_eq!((of("median"), of("over_150ms")), (Some(0.2), Some(0.75)));
    }
}

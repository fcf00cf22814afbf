//! Numbers of the delays of a run's messages: quantiles, shares of late messages, jitter.
//!
//! The thresholds, and which of the numbers may be compared, are left to the models.

use crate::measure::{Measure, Silence, Source};
use crate::outcome::{Metric, MetricInfo, jitter, quantile, share_above};
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

/// Quantiles of the delays, the share above each limit, by name, and the jitter; empty without a
/// message.
pub(crate) fn distribution(
    delays: &[f64],
    limits: &[(&'static str, Duration)],
) -> Vec<(&'static str, f64)> {
    let mut sorted = delays.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantiles = [("median", 0.5), ("p95", 0.95), ("p99", 0.99)];
    let quantiles = quantiles.map(|(name, q)| (name, quantile(&sorted, q)));
    let shares = limits.iter().map(|&(name, limit)| (name, share_above(delays, limit)));
    let all = quantiles.into_iter().chain(shares).chain([("jitter", jitter(delays))]);
    all.filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

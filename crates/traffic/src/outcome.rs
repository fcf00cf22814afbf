//! `Outcome`: the result of a run, with the numbers it was computed from.
//!
//! Statistics over runs are left to the lab; the quantiles here are over the messages of one run.

use base::Duration;

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What `value` measures.
    pub metric: Metric,
    /// In the metric's unit; `None` if the run is incomplete.
    pub value: Option<f64>,
    /// Application bytes read in the measured direction.
    pub bytes_read: u64,
    /// Delay of every measured message that arrived, in seconds, in order of sending. Of a page:
    /// the time of every object, in the order of the page, NaN if it was not fetched.
    pub message_delays: Vec<f64>,
    /// Every measured message, or every object of the page, in the same order; also those that did
    /// not arrive.
    pub parts: Vec<Part>,
    /// Further numbers by name, in SI units.
    pub extra: Vec<(&'static str, f64)>,
}

/// A measured message, or an object of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// From the start of the connection, or of the page, until it was sent, or was to be sent, or
    /// the object was requested; `None` if that did not happen.
    pub start: Option<Duration>,
    /// From then until its last byte was read; `None` if it did not arrive.
    pub delay: Option<Duration>,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Start of connect to last byte read.
    CompletionTime,
    /// Application bits read per second.
    Goodput,
    /// Send call (or its scheduled time) to last byte of the message read.
    MessageDelay,
    /// Start of the first connect until the page is loaded.
    PageLoadTime,
    /// Request of an object to its last byte read.
    ObjectTime,
    /// Start of connect until a film begins to play.
    StartupDelay,
}

/// The parts of a page.
const OBJECTS: &str = "objects";

/// Description of a metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MetricInfo {
    /// The name in files.
    pub name: &'static str,
    /// The SI unit.
    pub unit: &'static str,
    /// Whether a larger value is the better one.
    pub larger_is_better: bool,
    /// The heading of a column.
    pub heading: &'static str,
    /// Before the value of the best variant: "wlan: completes in 2 s".
    pub short: &'static str,
    /// The same in a sentence.
    pub verb: &'static str,
    /// Around a difference to a better variant: "takes 1 s longer".
    pub worse: (&'static str, &'static str),
    /// What a run consists of, each with a delay of its own.
    pub parts: &'static str,
    /// Differences below this matter to nobody, in the unit.
    pub least_noticed: f64,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 6] = [
        Metric::CompletionTime,
        Metric::Goodput,
        Metric::MessageDelay,
        Metric::PageLoadTime,
        Metric::ObjectTime,
        Metric::StartupDelay,
    ];

    /// The metric of that name.
    pub fn by_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The description of the metric.
    pub const fn info(self) -> MetricInfo {
        match self {
            Metric::CompletionTime => MetricInfo {
                name: "completion_time",
                unit: "s",
                larger_is_better: false,
                heading: "completion",
                short: "completes in",
                verb: "completes in",
                worse: ("takes", "longer"),
                parts: "messages",
                least_noticed: 0.0,
            },
            Metric::Goodput => MetricInfo {
                name: "goodput",
                unit: "bit/s",
                larger_is_better: true,
                heading: "goodput",
                short: "goodput",
                verb: "has a goodput of",
                worse: ("has", "less goodput"),
                parts: "messages",
                least_noticed: 0.0,
            },
            Metric::MessageDelay => MetricInfo {
                name: "message_delay",
                unit: "s",
                larger_is_better: false,
                heading: "delay",
                short: "message delay",
                verb: "has a message delay of",
                worse: ("delays by", "more"),
                parts: "messages",
                least_noticed: 0.005,
            },
            Metric::PageLoadTime => MetricInfo {
                name: "page_load_time",
                unit: "s",
                larger_is_better: false,
                heading: "page load",
                short: "loads in",
                verb: "loads the page in",
                worse: ("takes", "longer"),
                parts: OBJECTS,
                least_noticed: 0.005,
            },
            Metric::StartupDelay => MetricInfo {
                name: "startup_delay",
                unit: "s",
                larger_is_better: false,
                heading: "start-up",
                short: "starts to play after",
                verb: "starts to play after",
                worse: ("takes", "longer"),
                parts: "blocks",
                least_noticed: 0.005,
            },
            Metric::ObjectTime => MetricInfo {
                name: "object_time",
                unit: "s",
                larger_is_better: false,
                heading: "object",
                short: "loads an object in",
                verb: "loads an object in",
                worse: ("takes", "longer"),
                parts: OBJECTS,
                least_noticed: 0.005,
            },
        }
    }

    /// The name in tables and files.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The SI unit.
    pub const fn unit(self) -> &'static str {
        self.info().unit
    }

    /// Whether a larger value is the better one.
    pub const fn larger_is_better(self) -> bool {
        self.info().larger_is_better
    }

    /// Whether the delays of a run are those of a page's objects.
    pub fn has_objects(self) -> bool {
        self.info().parts == OBJECTS
    }
}

impl Outcome {
    /// Whether the run is complete.
    pub const fn is_complete(&self) -> bool {
        self.value.is_some()
    }

    /// An outcome without messages.
    pub const fn single(metric: Metric, value: Option<f64>, bytes_read: u64) -> Self {
        Outcome {
            metric,
            value,
            bytes_read,
            message_delays: Vec::new(),
            parts: Vec::new(),
            extra: Vec::new(),
        }
    }
}

/// Arithmetic mean; `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `q`-quantile of sorted values, linear between order statistics (Hyndman and Fan type 7).
pub(crate) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = q.clamp(0.0, 1.0) * last as f64;
    let below = rank as usize;
    let above = (below + 1).min(last);
    let fraction = rank - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * fraction)
}

/// Share of values above `limit`.
pub(crate) fn share_above(values: &[f64], limit: Duration) -> Option<f64> {
    let above = values.iter().filter(|delay| **delay > limit.as_secs_f64()).count();
    (!values.is_empty()).then(|| above as f64 / values.len() as f64)
}

/// Mean absolute difference of consecutive delays; zero for one message.
pub(crate) fn jitter(delays: &[f64]) -> Option<f64> {
    jitter_of_ways(&[delays])
}

/// The same of messages in several directions, each by itself.
pub(crate) fn jitter_of_ways(ways: &[&[f64]]) -> Option<f64> {
    let pairs = ways.iter().flat_map(|delays| delays.windows(2));
    let steps: Vec<f64> = pairs.map(|pair| (pair[1] - pair[0]).abs()).collect();
    let is_empty = ways.iter().all(|delays| delays.is_empty());
    if is_empty { None } else { Some(mean(&steps).unwrap_or(0.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sorted, 0.5), Some(2.5));
        assert_eq!(quantile(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile(&sorted, 1.0), Some(4.0));
        assert_eq!(quantile(&sorted, 0.95), Some(3.8499999999999996));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn jitter_is_the_mean_step_between_consecutive_messages() {
        assert_eq!(jitter(&[1.0, 3.0, 2.0]), Some(1.5));
        assert_eq!(jitter(&[1.0]), Some(0.0));
        assert_eq!(jitter(&[]), None);
        assert_eq!(jitter_of_ways(&[&[1.0, 1.0, 3.0], &[9.0], &[]]), Some(1.0));
        assert_eq!(jitter_of_ways(&[&[1.0], &[9.0]]), Some(0.0));
    }

    #[test]
    fn share_above_excludes_the_limit_itself() {
        let limit = Duration::from_millis(100);
        assert_eq!(share_above(&[0.1, 0.2, 0.3, 0.05], limit), Some(0.5));
        assert_eq!(share_above(&[], limit), None);
    }
}

//! `Measure`: the number of each run that variants are compared by: the metric of the traffic, or
//! another number of the run in its place.
//!
//! A traffic model names its own measures; means over runs and their intervals are left to the lab.

use crate::outcome::{Metric, MetricInfo};

/// A number of each run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measure {
    /// Name, unit and words.
    pub info: MetricInfo,
    /// What it is of a message or an object: `mean`, `p95`; empty where a run has one value.
    pub statistic: &'static str,
    /// The metric whose statistic it is: `message_delay`.
    pub of: &'static str,
    /// Where the number comes from.
    pub source: Source,
    /// The effect of a second without a delivery.
    pub silence: Silence,
}

/// Where the number of a run comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The value of the run.
    Value,
    /// The further number of this name.
    Further(&'static str),
    /// The bits read per second of the value.
    Rate,
}

/// The largest effect of a time without a delivery on the number of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Silence {
    /// That time.
    Whole,
    /// That time multiplied by its share of the run's length.
    Share,
    /// As `Whole` if the share of the run is more than this share, which a quantile leaves out;
    /// otherwise as `Share`.
    Above(f64),
    /// The share of the run itself: the number is a share.
    Late,
    /// The share of the run of the number itself: it is neither a time nor a share of messages.
    Proportional,
}

impl Measure {
    /// The metric of the traffic.
    pub const fn of_metric(metric: Metric) -> Measure {
        Measure {
            info: metric.info(),
            statistic: "mean",
            of: metric.name(),
            source: Source::Value,
            silence: Silence::Share,
        }
    }

    /// The goodput of a transfer whose metric is its time.
    pub const RATE: Measure =
        Measure { source: Source::Rate, ..Measure::of_metric(Metric::Goodput) };

    /// The longest time without a delivery after a failure of a path.
    pub const FAILOVER: Measure = Measure::delay(
        ("failover", "failover_time"),
        ("failover_time", "failover_time"),
        [
            "fail-over",
            "nothing is delivered after a failure for",
            "delivers nothing after a failure for",
        ],
        Silence::Whole,
    );

    /// Another number of the run, in seconds: `statistic` of the metric `of`.
    pub const fn delay(
        (statistic, of): (&'static str, &'static str),
        (name, number): (&'static str, &'static str),
        [heading, short, verb]: [&'static str; 3],
        silence: Silence,
    ) -> Measure {
        let base = Metric::MessageDelay.info();
        Measure {
            info: MetricInfo {
                name,
                heading,
                short,
                verb,
                worse: ("is", "slower"),
                unit: "s",
                larger_is_better: false,
                parts: base.parts,
                least_noticed: base.least_noticed,
            },
            statistic,
            of,
            source: Source::Further(number),
            silence,
        }
    }

    /// The description.
    pub const fn info(self) -> MetricInfo {
        self.info
    }

    /// The name in options and files.
    pub const fn name(self) -> &'static str {
        self.info.name
    }

    /// The SI unit; `1` of a share.
    pub const fn unit(self) -> &'static str {
        self.info.unit
    }

    /// Whether a larger value is the better one.
    pub const fn larger_is_better(self) -> bool {
        self.info.larger_is_better
    }

    /// The effect of `silence` seconds without a delivery on a run of `length` seconds, or without
    /// a length of its own, whose number is about `reference`; in the unit of the number.
    pub fn of_silence(self, silence: f64, length: Option<f64>, reference: f64) -> f64 {
        let share = length.map_or(1.0, |length| silence / length).min(1.0);
        match self.silence {
            Silence::Proportional => share * reference,
            _ if self.larger_is_better() => share * reference,
            Silence::Whole => silence,
            Silence::Above(left_out) if share > left_out => silence,
            Silence::Share | Silence::Above(_) => silence * share,
            Silence::Late => share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Traffic;
    use base::Duration;

    #[test]
    fn names_of_a_model_s_measures_differ() {
        let video = Traffic::video(Duration::from_secs(60));
        for traffic in [Traffic::BulkSize(1), Traffic::BulkTime(Duration::from_secs(1)), video] {
            let measures = traffic.measures();
            let mut names: Vec<&str> = measures.iter().map(|measure| measure.name()).collect();
            assert_eq!(names[0], traffic.metric().name());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), measures.len(), "{traffic:?}");
        }
    }

    #[test]
    fn second_of_silence_moves_a_quantile_if_it_is_longer_than_what_the_quantile_leaves_out() {
        let of = |name: &str| {
            let measures = Traffic::video(Duration::from_secs(60)).measures();
            measures.into_iter().find(|measure| measure.name() == name).expect("a measure")
        };
        let (share, minute) = (1.0 / 60.0, Some(60.0));
        assert_eq!(of("p99").of_silence(1.0, minute, 0.1), 1.0);
        assert_eq!(of("p95").of_silence(1.0, minute, 0.1), share);
        assert_eq!(of("late").of_silence(1.0, minute, 0.0), share);
        assert_eq!(Measure::of_metric(Metric::Goodput).of_silence(1.0, Some(10.0), 4e6), 4e5);
        // Six seconds are more than what the quantile leaves out, and a tenth of the minute.
        assert_eq!(of("p95").of_silence(6.0, minute, 0.1), 6.0);
        assert_eq!(of("message_delay").of_silence(6.0, minute, 0.1), 0.6000000000000001);
    }
}

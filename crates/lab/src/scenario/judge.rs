//! `--metric` and `--goal`: the number of each run that variants are compared by, and a bound of
//! it that is to be kept; and the switch for the numbers that need every packet.
//!
//! `goal` (of the lab) judges the bound.

use super::row::{Counts, OptionRow, switch};
use crate::error::Refusal;
use crate::path_spec::{Change, PathSpec};
use crate::units::{parse_probability, parse_rate, parse_size, parse_time};
use crate::words::nearest_help;
use std::fmt;
use traffic::{Measure, Source, Traffic};

/// Quantiles that a goal may be about although a run has one value: then they are over the runs.
const OF_RUNS: [(&str, f64); 3] = [("median", 0.5), ("p95", 0.95), ("p99", 0.99)];
/// A comparison, whether the number is to be below the bound, and whether the bound is excluded.
type Sign = (&'static str, bool, bool);
/// Comparisons, the longer ones first.
const COMPARISONS: [Sign; 4] =
    [("<=", true, false), (">=", false, false), ("<", true, true), (">", false, true)];
/// An example of each kind of goal.
const EXAMPLES: &str =
    "`p95 message_delay < 150ms`, `page_load_time < 3s`, `goodput > 5mbit`, `late < 1%`";

/// The row of `--packet-metrics`.
pub(super) const PACKET_METRICS: OptionRow = switch(
    "packet-metrics",
    "Also measure what needs every packet: round trips, loss and contribution of each path, delay \
     by reordering, delay from write to read. Default: false.",
)
.argument(
    78,
    "",
    "Also measure what needs every packet: round trips, loss and contribution of each path, delay \
     by reordering, delay from write to read",
)
.shown(|s| s.ends.packet_metrics.then(|| "true".to_owned()))
.counts(Counts::StudyKey, "");

/// A bound that a variant is to keep.
#[derive(Clone, PartialEq, Debug)]
pub struct Goal {
    /// The goal as written.
    pub text: String,
    /// The number that it is about.
    pub metric: Measure,
    /// The bound, in the unit of the number.
    pub bound: f64,
    /// Whether the number is to be below the bound.
    pub below: bool,
    /// Whether the bound itself does not keep the goal.
    pub strict: bool,
    /// The share of the runs that are to keep it; `None`: their mean is.
    pub quantile: Option<f64>,
}

/// The numbers of a run that may be compared.
pub(crate) fn measures(traffic: &Traffic, paths: &[PathSpec], links: &[PathSpec]) -> Vec<Measure> {
    let fails = |path: &PathSpec| path.events.iter().any(|event| is_failure(&event.change));
    let failover = paths.iter().chain(links).any(fails).then_some(Measure::FAILOVER);
    traffic.measures().into_iter().chain(failover).collect()
}

const fn is_failure(change: &Change) -> bool {
    match change {
        Change::Down | Change::Silent | Change::Reset | Change::Removed | Change::Delay(_) => true,
        Change::Loss(share) => *share >= 1.0,
        Change::Rate(_) | Change::Backup => false,
    }
}

/// The number of that name or statistic.
pub(crate) fn metric(word: &str, measures: &[Measure]) -> Result<Measure, Refusal> {
    let word = word.trim();
    let is = |name: &str| name.eq_ignore_ascii_case(word);
    let named = measures.iter().find(|measure| is(measure.name()));
    if let Some(measure) = named.or_else(|| measures.iter().find(|of| is(of.statistic))) {
        return Ok(*measure);
    }
    let names: Vec<&str> = measures.iter().map(|measure| short(measure)).collect();
    if is(Measure::FAILOVER.statistic) || is(Measure::FAILOVER.name()) {
        let help = "let a path fail: `--path a='rate 10mbit delay 20ms silent @5s..10s'`";
        return Err(Refusal::new(word, "no path fails, so there is no fail-over time", help));
    }
    let problem = if OF_RUNS.iter().any(|(name, _)| is(name)) {
        format!("`{word}` is of messages or objects, and a run of this traffic has one value")
    } else {
        format!("`{word}` is not measured with this traffic")
    };
    Err(Refusal::new(word, problem, nearest_help(word, &names)))
}

/// The shorter of name and statistic, where it is not ambiguous.
fn short(measure: &Measure) -> &'static str {
    if measure.name() == Measure::FAILOVER.name() { measure.statistic } else { measure.name() }
}

/// Parses `[STATISTIC] METRIC COMPARISON VALUE`.
pub(super) fn goal(text: &str, measures: &[Measure]) -> Result<Goal, Refusal> {
    let found = COMPARISONS.iter().find_map(|(sign, below, strict)| {
        text.find(sign).map(|at| (*below, *strict, &text[..at], &text[at + sign.len()..]))
    });
    let Some((below, strict, subject, value)) = found else {
        let problem = format!("`{}` has no comparison", text.trim());
        return Err(Refusal::new(text, problem, format!("write a goal such as {EXAMPLES}")));
    };
    let (metric, quantile) = self::subject(subject, measures)?;
    let bound = self::value(value.trim(), metric)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Goal { text, metric, bound, below, strict, quantile })
}

/// The number, and the quantile over the runs if it is one.
fn subject(text: &str, measures: &[Measure]) -> Result<(Measure, Option<f64>), Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (statistic, name) = match words[..] {
        [one] => (None, one),
        [statistic, name] => (Some(statistic), name),
        _ => {
            let problem = format!("`{}` is not a statistic and a metric", text.trim());
            return Err(Refusal::new(text, problem, format!("write a goal such as {EXAMPLES}")));
        }
    };
    let Some(statistic) = statistic else { return Ok((metric(name, measures)?, None)) };
    let is = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let whole = measures
        .iter()
        .find(|of| is(of.statistic, statistic) && (is(of.of, name) || is(of.name(), name)));
    if let Some(measure) = whole {
        return Ok((*measure, None));
    }
    let metric = metric(name, measures)?;
    let of_runs = OF_RUNS.iter().find(|(name, _)| is(name, statistic));
    if let (Some((_, quantile)), Source::Value | Source::Rate) = (of_runs, metric.source) {
        return Ok((metric, Some(*quantile)));
    }
    let with_name = measures.iter().filter(|of| is(of.of, name));
    let statistics: Vec<&str> = with_name.map(|of| of.statistic).collect();
    let problem = format!("`{statistic}` of `{name}` is not known");
    if statistics.is_empty() {
        let help = format!("`{name}` is one number of a run: leave `{statistic}` out");
        return Err(Refusal::new(text, problem, help));
    }
    Err(Refusal::new(text, problem, nearest_help(statistic, &statistics)))
}

fn value(text: &str, metric: Measure) -> Result<f64, Refusal> {
    match metric.unit() {
        "bit/s" => Ok(parse_rate(text)?.as_bps() as f64),
        "1" => parse_probability(text),
        "bytes" => Ok(parse_size(text)? as f64),
        _ => Ok(parse_time(text)?.as_secs_f64()),
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    fn video() -> Vec<Measure> {
        measures(&Traffic::video(Duration::from_secs(60)), &[], &[])
    }

    #[test]
    fn goals_name_statistic_metric_and_bound() {
        let of = |text: &str| {
            let goal = goal(text, &video()).unwrap();
            assert_eq!(goal.strict, !text.contains('='), "{text}");
            (goal.metric.name(), goal.bound, goal.below, goal.quantile)
        };
        assert_eq!(of("p95 message_delay < 150ms"), ("p95", 0.15, true, None));
        assert_eq!(of("message_delay<=50ms"), ("message_delay", 0.05, true, None));
        assert_eq!(of("mean message_delay < 50ms"), ("message_delay", 0.05, true, None));
        assert_eq!(of("Late < 1%"), ("late", 0.01, true, None));
        let bulk = measures(&Traffic::BulkSize(1 << 20), &[], &[]);
        let goal = goal("p95 completion_time < 2s", &bulk).unwrap();
        assert_eq!((goal.metric.name(), goal.quantile), ("completion_time", Some(0.95)));
        let goal = super::goal("goodput > 5mbit", &bulk).unwrap();
        assert_eq!((goal.bound, goal.below, goal.quantile), (5e6, false, None));
    }

    #[test]
    fn what_is_no_goal_is_refused_with_a_remedy() {
        let of = |text: &str| {
            let Refusal { problem, help, .. } = goal(text, &video()).unwrap_err();
            format!("{problem}; {help}")
        };
        assert!(of("p95 message_delay").contains("has no comparison; write a goal such as"));
        assert!(of("p95 of message_delay < 1s").contains("is not a statistic and a metric"));
        assert!(of("p98 message_delay < 1s").contains("`p98` of `message_delay` is not known"));
        assert!(of("p98 late < 5%").contains("leave `p98` out"), "{}", of("p98 late < 5%"));
        assert!(of("goodput > 1mbit").contains("is not measured with this traffic"));
        assert!(of("p95 message_delay < 150").contains("unit"));
        assert!(of("failover < 1s").contains("no path fails"));
    }

    #[test]
    fn quantile_of_a_single_value_is_no_metric() {
        let bulk = measures(&Traffic::BulkSize(1 << 20), &[], &[]);
        let refused = metric("p95", &bulk).unwrap_err();
        assert!(refused.problem.contains("a run of this traffic has one value"), "{refused:?}");
        assert_eq!(metric("mean", &bulk).unwrap().name(), "completion_time");
    }
}

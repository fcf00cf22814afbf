//! Fail-over times of runs and of variants.
//!
//! Each time that the simulator measured (`harness::FailoverTime`) is a further number of its run,
//! `failover_time/silent:wlan@5s`, beside the largest of the run, `failover_time`, and the number
//! of failures after which nothing was delivered, `failovers_unresumed`. They are therefore in
//! every file of runs.

use crate::run::{FAILOVER_AT_LEAST as AT_LEAST, Run, names_of};
use crate::scenario::Scenario;
use crate::statistics::{Interval, interval_of_several, mean, median};
use crate::units::parse_time;
use base::Duration;
use harness::{FailoverTime, RunRecord};
use traffic::Measure;

/// The largest time of a run, in seconds; absent if nothing was delivered after a failure.
const LARGEST: &str = Measure::FAILOVER.name();
/// Prefix of single times, in seconds.
const SINGLE: &str = "failover_time/";
/// Number of failures of a run after which nothing was delivered.
const UNRESUMED: &str = "failovers_unresumed";

/// The fail-over times of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Failovers {
    /// Mean of the largest time of each run with deliveries after every failure, in seconds.
    pub mean: Option<f64>,
    /// Median of the same times.
    pub median: Option<f64>,
    /// 95 % interval of the mean.
    pub interval: Option<Interval>,
    /// Number of those runs.
    pub n: usize,
    /// Runs without a delivery after some failure.
    pub unresumed: usize,
    /// Every failure of a path that a delivery followed in a run, in the order of time, then of
    /// paths.
    pub events: Vec<FailoverEvent>,
}

/// One failure of a path over the runs of a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct FailoverEvent {
    /// `silent:wlan@5s`.
    pub name: String,
    /// Times of the runs in which a delivery followed, in seconds, in the order of runs.
    pub times: Vec<f64>,
    /// Mean of `times`.
    pub mean: Option<f64>,
    /// Median of `times`.
    pub median: Option<f64>,
    /// 95 % interval of the mean.
    pub interval: Option<Interval>,
}

/// Whether a further number of a run is one of these.
pub(crate) fn is_failover(name: &str) -> bool {
    [LARGEST, AT_LEAST, UNRESUMED].contains(&name) || name.starts_with(SINGLE)
}

/// The further numbers of a run of this scenario.
pub(crate) fn numbers(scenario: &Scenario, record: &RunRecord) -> Vec<(String, f64)> {
    let paths: Vec<&str> = scenario.paths.iter().map(|path| path.name.as_str()).collect();
    numbers_on(&paths, record.failovers(), end(scenario, record))
}

/// Time until which nothing was delivered if nothing followed a failure. A connection that failed
/// ends its run early, but would have delivered nothing more until the planned end.
fn end(scenario: &Scenario, record: &RunRecord) -> Duration {
    let measured = record.measured();
    if measured.failure.is_none() {
        return record.ended;
    }
    let planned = scenario.traffic.duration().map(|length| measured.started + length);
    planned.unwrap_or(scenario.deadline).max(record.ended)
}

/// The same; `paths` are the names of the paths, and `ended` is the time of [`end`].
fn numbers_on(paths: &[&str], times: &[FailoverTime], ended: Duration) -> Vec<(String, f64)> {
    let seconds = |of: &FailoverTime| of.time.map(|time| time.as_secs_f64());
    let largest = times.iter().map(seconds).try_fold(0.0, |most: f64, time| Some(most.max(time?)));
    let largest = largest.filter(|_| !times.is_empty()).map(|time| (LARGEST.to_owned(), time));
    let unresumed = times.iter().filter(|of| of.time.is_none()).count();
    let waited = |of: &FailoverTime| {
        let since = |at| ended.saturating_sub(at).as_secs_f64();
        seconds(of).unwrap_or_else(|| since(of.at))
    };
    let at_least = times.iter().map(waited).fold(0.0, f64::max);
    let at_least = (unresumed > 0).then(|| (AT_LEAST.to_owned(), at_least));
    let unresumed = (!times.is_empty()).then(|| (UNRESUMED.to_owned(), unresumed as f64));
    let single = times.iter().filter_map(|of| {
        let path = paths.get(of.path)?;
        Some((format!("{SINGLE}{}:{path}@{}", of.kind.name(), of.at), seconds(of)?))
    });
    largest.into_iter().chain(unresumed).chain(at_least).chain(single).collect()
}

impl Failovers {
    /// The fail-over times of these runs; `None` if no path failed in any.
    pub(crate) fn of(scenario: &Scenario, runs: &[Run]) -> Option<Failovers> {
        let met: Vec<&Run> = runs.iter().filter(|run| run.further(UNRESUMED).is_some()).collect();
        if met.is_empty() {
            return None;
        }
        let times: Vec<f64> = met.iter().filter_map(|run| run.further(LARGEST)).collect();
        // A run has none of a failure after which nothing was delivered.
        let event = |name: &str| {
            let times: Vec<f64> = met.iter().filter_map(|run| run.further(name)).collect();
            FailoverEvent::new(name[SINGLE.len()..].to_owned(), times)
        };
        let names = names_of(&met, |name| name.starts_with(SINGLE));
        let mut events: Vec<FailoverEvent> = names.map(event).collect();
        events.sort_by_key(|event| (event.at(), event.place(scenario)));
        Some(Failovers {
            mean: mean(&times),
            median: median(&times),
            interval: interval_of_several(&times),
            n: times.len(),
            unresumed: met.len() - times.len(),
            events,
        })
    }
}

impl FailoverEvent {
    fn new(name: String, times: Vec<f64>) -> FailoverEvent {
        let interval = interval_of_several(&times);
        FailoverEvent { name, mean: mean(&times), median: median(&times), interval, times }
    }

    /// Its time, from its name.
    fn at(&self) -> Option<Duration> {
        self.name.rsplit_once('@').and_then(|(_, at)| parse_time(at).ok())
    }

    /// Index of its path, from its name.
    fn place(&self, scenario: &Scenario) -> Option<usize> {
        let (failure, _) = self.name.rsplit_once('@')?;
        let (_, name) = failure.split_once(':')?;
        scenario.paths.iter().position(|path| path.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::study_of;
    use crate::scenario::{Key, Options};
    use harness::{FailureKind, FlowRecord, SimulatedRecord};
    use traffic::{Metric, Outcome, StreamFailure};

    fn time(kind: FailureKind, at: u64, millis: Option<u64>) -> FailoverTime {
        let (at, time) = (Duration::from_secs(at), millis.map(Duration::from_millis));
        FailoverTime { path: 1, kind, at, time }
    }

    #[test]
    fn largest_is_given_beside_each_and_how_many_never_resumed() {
        let times =
            [time(FailureKind::Silent, 5, Some(400)), time(FailureKind::Reset, 9, Some(30))];
        let end = Duration::from_secs(20);
        let numbers_of = |times: &[FailoverTime]| numbers_on(&["lte", "wlan"], times, end);
        let named = |name: &str, value| (name.to_owned(), value);
        let all = [
            named("failover_time", 0.4),
            named("failovers_unresumed", 0.0),
            named("failover_time/silent:wlan@5s", 0.4),
            named("failover_time/reset:wlan@9s", 0.03),
        ];
        assert_eq!(numbers_of(&times), all);
        let lost = [time(FailureKind::Silent, 5, None)];
        let at_least = [named("failovers_unresumed", 1.0), named("failover_at_least", 15.0)];
        assert_eq!(numbers_of(&lost), at_least);
        assert_eq!(numbers_of(&[]), []);
        assert!(all.iter().all(|(name, _)| is_failover(name)) && !is_failover("jitter"));
    }

    /// Regression: of two failures, each of which ended one of the runs, the second was left out.
    #[test]
    fn failures_of_all_runs_are_listed_in_the_order_of_time() {
        let path = Options::default().with(Key::Path, "a=rate 5mbit");
        let scenario = path.with(Key::Traffic, "bulk:1MiB").resolve().unwrap();
        let mut study = study_of(&scenario, &[vec![Some(1.0); 3]]);
        let runs = &mut study.variants[0].runs;
        let millis = [[None, Some(500)], [Some(300), None], [None, Some(700)]];
        for (run, [first, second]) in runs.iter_mut().zip(millis) {
            let of = [(2, first), (5, second), (11, None)];
            let times = of.map(|(at, millis)| time(FailureKind::Silent, at, millis));
            run.extra = numbers_on(&["lte", "wlan"], &times, Duration::from_secs(20));
        }
        let found = Failovers::of(&scenario, runs).unwrap();
        let events: Vec<(&str, Option<f64>, usize)> =
            found.events.iter().map(|of| (of.name.as_str(), of.mean, of.times.len())).collect();
        let expected = [("silent:wlan@2s", Some(0.3), 1), ("silent:wlan@5s", Some(0.6), 2)];
        assert_eq!((events, found.unresumed), (expected.to_vec(), 3));
    }

    /// Regression: failures at one time had the order of the first run that met each, which is
    /// another one in stored runs.
    #[test]
    fn failures_at_one_time_are_in_the_order_of_paths() {
        let paths =
            Options::default().with(Key::Path, "z=rate 5mbit").with(Key::Path, "a=rate 5mbit");
        let scenario = paths.with(Key::Traffic, "bulk:1MiB").resolve().unwrap();
        let mut study = study_of(&scenario, &[vec![Some(1.0); 2]]);
        let runs = &mut study.variants[0].runs;
        let of = |path, millis| FailoverTime { path, ..time(FailureKind::Silent, 5, millis) };
        for (run, first) in runs.iter_mut().zip([None, Some(300)]) {
            let times = [of(1, Some(400)), of(0, first)];
            run.extra = numbers_on(&["z", "a"], &times, Duration::from_secs(20));
        }
        let found = Failovers::of(&scenario, runs).unwrap();
        let names: Vec<&str> = found.events.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["silent:z@5s", "silent:a@5s"]);
    }

    /// Regression: a connection that was reset had a fail-over time of 0 s, the best of all.
    #[test]
    fn connection_that_failed_delivers_nothing_until_the_planned_end() {
        let of = |traffic: &str, deadline: &str, failure| {
            let options = Options::default().with(Key::Path, "a=rate 5mbit reset @1s");
            let options = options.with(Key::Traffic, traffic).with(Key::Deadline, deadline);
            let at = Duration::from_secs(1);
            let flow = FlowRecord { failure, ..FlowRecord::default() };
            let failovers =
                vec![FailoverTime { path: 0, kind: FailureKind::Reset, at, time: None }];
            let record = RunRecord {
                outcome: Outcome::single(Metric::Goodput, None, 0),
                ended: at,
                flows: vec![flow],
                links: Vec::new(),
                shared: Vec::new(),
                captures: None,
                simulated: Some(SimulatedRecord { failovers, ..SimulatedRecord::default() }),
            };
            let numbers = numbers(&options.resolve().unwrap(), &record);
            numbers.iter().find(|(name, _)| name == AT_LEAST).map(|(_, value)| *value)
        };
        let reset = Some(StreamFailure::Reset);
        assert_eq!(of("bulk:4s", "600s", reset), Some(3.0));
        assert_eq!(of("bulk:4MiB", "90s", reset), Some(89.0));
        assert_eq!(of("bulk:4MiB", "90s", None), Some(0.0), "the run ended in another way");
    }
}

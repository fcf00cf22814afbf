//! The numbers of a page load.
//!
//! `page_load_time` is the time from before the first `connect` to the end of the last activity
//! that the page needs to be loaded; the time of an object is from its request to its last byte
//! read. The result of a user's session is the mean time of its objects.

use super::Web;
use super::browser::Fetch;
use crate::measure::{Measure, Silence};
use crate::outcome::{Metric, Outcome, Part, mean, quantile};
use base::Instant;

impl Web {
    /// What the value of a run is.
    pub fn metric(&self) -> Metric {
        if self.page.is_session() { Metric::ObjectTime } else { Metric::PageLoadTime }
    }

    /// Numbers of a run that may be compared in place of the metric.
    pub(crate) fn further(&self) -> &'static [Measure] {
        if self.page.is_session() { OF_OBJECTS } else { OF_PAGE }
    }
}

/// Numbers of a page load that may be compared in place of its time.
const OF_PAGE: &[Measure] = &[
    Measure::delay(
        ("mean", OBJECT_TIME),
        (OBJECT_TIME, OBJECT_TIME),
        ["object", "loads an object in", "loads an object in"],
        Silence::Whole,
    ),
    MEDIAN,
    P95,
    SLOWEST,
];
/// Numbers of a session that may be compared in place of the mean time of an object.
const OF_OBJECTS: &[Measure] = &[MEDIAN, P95, SLOWEST];
const MEDIAN: Measure = Measure::delay(
    ("median", OBJECT_TIME),
    ("median", "object_time_median"),
    ["median object", "median time of an object", "has a median time of an object of"],
    Silence::Whole,
);
const P95: Measure = Measure::delay(
    ("p95", OBJECT_TIME),
    ("p95", "object_time_p95"),
    ["p95 object", "95 % of objects within", "loads 95 % of objects within"],
    Silence::Whole,
);
const SLOWEST: Measure = Measure::delay(
    ("slowest", OBJECT_TIME),
    ("slowest", "object_time_max"),
    ["slowest object", "slowest object in", "loads the slowest object in"],
    Silence::Whole,
);
/// The time of an object.
const OBJECT_TIME: &str = Metric::ObjectTime.name();

/// What a browser measured of the whole page, in seconds since its start.
pub(super) struct Times {
    pub loaded: Option<f64>,
    pub finished: Option<f64>,
    pub connections: usize,
    pub bytes_read: u64,
}

pub(super) fn outcome(
    metric: Metric,
    times: &Times,
    fetches: &[Fetch],
    started: Option<Instant>,
) -> Outcome {
    let object_times: Vec<f64> = fetches.iter().filter_map(object_time).collect();
    let by_object = fetches.iter().map(|fetch| object_time(fetch).unwrap_or(f64::NAN));
    Outcome {
        metric,
        value: match metric {
            Metric::ObjectTime => mean(&object_times).filter(|_| times.finished.is_some()),
            _ => times.loaded,
        },
        bytes_read: times.bytes_read,
        extra: extra(times, fetches, &object_times),
        message_delays: by_object.collect(),
        parts: fetches.iter().map(|fetch| part(fetch, started)).collect(),
    }
}

fn part(fetch: &Fetch, started: Option<Instant>) -> Part {
    let asked = fetch.asked.map(|(at, _)| at);
    Part {
        start: asked.map(|at| at - started.unwrap_or(Instant::ZERO)),
        delay: asked.and_then(|asked| Some(fetch.finished? - asked)),
    }
}

/// The outcome of a run without a browser.
pub(crate) fn nothing_loaded(web: &Web) -> Outcome {
    Outcome::single(web.metric(), None, 0)
}

/// Seconds from the request to the last byte.
fn object_time(fetch: &Fetch) -> Option<f64> {
    let (asked, _) = fetch.asked?;
    Some((fetch.finished? - asked).as_secs_f64())
}

/// Seconds from when the page requested it until the request was written.
fn waiting_time(fetch: &Fetch) -> Option<f64> {
    Some((fetch.asked?.0 - fetch.wanted?).as_secs_f64())
}

fn extra(times: &Times, fetches: &[Fetch], object_times: &[f64]) -> Vec<(&'static str, f64)> {
    let mut sorted = object_times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let waits: Vec<f64> = fetches.iter().filter_map(waiting_time).collect();
    [
        (OBJECT_TIME, mean(object_times)),
        ("object_time_median", quantile(&sorted, 0.5)),
        ("object_time_p95", quantile(&sorted, 0.95)),
        ("object_time_max", sorted.last().copied()),
        ("object_wait", mean(&waits)),
        ("all_fetched_time", times.finished),
        ("objects", Some(sorted.len() as f64)),
        ("connections", Some(times.connections as f64)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect()
}

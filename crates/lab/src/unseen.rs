//! What no run has shown yet.
//!
//! With random loss a rare run waits for a retransmission time-out: its first segment is lost, or
//! its last. Over a recorded link a rare run meets its slowest part, such as a tunnel. Few runs do
//! not show it, and their spread says nothing about it. So an interval allows for one further run
//! that is worse or better by a silence: of a second, the initial RTO (RFC 6298 s2.1), or of the
//! delay in the slowest part of a recording.

use crate::path_spec::PathSpec;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::statistics::mean;
use base::Duration;
use traffic::Measure;

/// The initial RTO, in seconds.
const TIMEOUT: f64 = 1.0;

/// The effect of the longest silence on a metric whose mean is `reference`, in the metric's unit;
/// zero without random loss and recordings. A run transfers so many `bytes`.
pub(crate) fn unseen(scenario: &Scenario, metric: Measure, reference: f64, bytes: f64) -> f64 {
    let links = || scenario.paths.iter().chain(&scenario.links);
    let length = scenario.traffic.duration().map(Duration::as_secs_f64);
    // In the other direction there are acknowledgements.
    let bytes = if scenario.ends.reverse { [0.0, bytes] } else { [bytes, 0.0] };
    let recorded = links().filter_map(|link| link.longest_delay(bytes, length.unwrap_or(0.0)));
    let silence = recorded.reduce(f64::max).map(|longest| longest.max(TIMEOUT));
    let silence = silence.or(links().any(PathSpec::loses).then_some(TIMEOUT));
    silence.map_or(0.0, |silence| metric.of_silence(silence, length, reference))
}

/// What the application of a run reads on average, in bytes.
pub(crate) fn mean_bytes<'a>(runs: impl Iterator<Item = &'a Run>) -> f64 {
    let read: Vec<f64> = runs.map(|run| run.bytes_read as f64).collect();
    mean(&read).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    fn scenario(path: &str, traffic: &str) -> Scenario {
        let options =
            Options::default().with(Key::Path, &format!("a={path}")).with(Key::Traffic, traffic);
        options.resolve().unwrap()
    }

    #[test]
    fn second_of_silence_counts_by_its_share_of_the_run() {
        let of = |path: &str, traffic, mean| {
            let scenario = scenario(&format!("rate 5mbit {path}"), traffic);
            unseen(&scenario, scenario.metric, mean, 1e6)
        };
        assert_eq!(of("loss 1%", "bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("loss 1%", "bulk:10s", 4e6), 4e5);
        assert_eq!(of("loss 1%", "video:20s", 0.1), 0.05);
        assert_eq!(of("delay 10ms", "bulk:1MiB", 2.0), 0.0, "nothing is lost");
        assert_eq!(of("loss 1% @1s..2s", "bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("loss gemodel 1% 30% 100% 0%", "bulk:1MiB", 2.0), 1.0);
    }

    /// Regression: over a recorded train half of the intervals did not contain the truth, because
    /// few runs meet one of its tunnels.
    #[test]
    fn slowest_part_of_a_recording_counts_where_it_costs_more_than_a_second() {
        let of = |trace: &str, traffic, bytes| {
            let scenario = scenario(&format!("trace {trace} delay 30ms"), traffic);
            unseen(&scenario, scenario.metric, 2.0, bytes)
        };
        let seconds =
            |found: f64, low: f64, high: f64| assert!((low..high).contains(&found), "{found}");
        // No capacity for three seconds, several times.
        seconds(of("lte-ghent-train", "bulk:1MiB", 0.0), 3.0, 3.1);
        seconds(of("lte-ghent-train", "video:10s", 0.0), 0.9, 0.91);
        seconds(of("lte-ghent-train", "bulk:8MiB", 8e6), 17.2, 17.3);
        // The slowest second has 3.5 Mbit/s, the mean of 27.6 is eight times as much.
        assert_eq!(of("lte-ghent-bus", "bulk:1MiB", 0.0), 1.0);
        seconds(of("lte-ghent-bus", "bulk:8MiB", 8e6), 4.4, 4.5);
    }
}

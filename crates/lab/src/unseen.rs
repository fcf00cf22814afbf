//! What no run has shown yet.
//!
//! With random loss a rare run waits for a retransmission time-out: its first segment is lost, or
//! its last. Over a recorded link a rare run meets its slowest part, such as a tunnel. Few runs do
//! not show it, and their spread says nothing about it. So an interval allows for one further run
//! that is worse or better by a silence: of a second, the initial RTO (RFC 6298 s2.1), or of the
//! delay in the slowest part of a recording, if that is longer.

use crate::path_spec::PathSpec;
use crate::run::Run;
use crate::scenario::{Scenario, Variant};
use crate::statistics::mean;
use base::Duration;
use traffic::{Measure, Model};

/// The initial RTO, in seconds.
const TIMEOUT: f64 = 1.0;

/// The effect of the longest silence that may hit one of these variants on a metric whose mean is
/// `reference`, in the metric's unit; zero without random loss and recordings. A run reads
/// `bytes`.
pub(crate) fn unseen<'v>(
    scenario: &Scenario,
    variants: impl Iterator<Item = &'v Variant>,
    metric: Measure,
    (reference, bytes): (f64, f64),
) -> f64 {
    let mut used = vec![false; scenario.paths.len()];
    for variant in variants {
        match variant.single_path() {
            Some(path) => used[path] = true,
            None => used.fill(true),
        }
    }
    let paths = scenario.paths.iter().zip(used).filter_map(|(path, used)| used.then_some(path));
    let length = scenario.traffic.duration().map(Duration::as_secs_f64);
    let bytes = match scenario.traffic.model() {
        Model::TwoWay(_) | Model::Call(_) => [bytes; 2],
        // In the other direction there are acknowledgements.
        _ if scenario.ends.reverse => [0.0, bytes],
        _ => [bytes, 0.0],
    };
    let of = |link: &PathSpec| {
        let recorded = link.longest_delay(bytes, length.unwrap_or(0.0)).unwrap_or(0.0);
        recorded.max(if link.loses() { TIMEOUT } else { 0.0 })
    };
    match paths.chain(&scenario.links).map(of).fold(0.0, f64::max) {
        0.0 => 0.0,
        silence => metric.of_silence(silence, length, reference),
    }
}

/// What the application of a finished run reads on average, in bytes.
pub(crate) fn mean_bytes<'a>(runs: impl Iterator<Item = &'a Run>) -> f64 {
    let finished = runs.filter(|run| run.value.is_some());
    let read: Vec<f64> = finished.map(|run| run.bytes_read as f64).collect();
    mean(&read).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options, variants_of};

    fn scenario(path: &str, traffic: &str) -> Scenario {
        let options =
            Options::default().with(Key::Path, &format!("a={path}")).with(Key::Traffic, traffic);
        options.resolve().unwrap()
    }

    fn of_all(scenario: &Scenario, mean: f64, bytes: f64) -> f64 {
        unseen(scenario, variants_of(scenario).iter(), scenario.metric, (mean, bytes))
    }

    #[test]
    fn second_of_silence_counts_by_its_share_of_the_run() {
        let of = |path: &str, traffic, mean| {
            let scenario = scenario(&format!("rate 5mbit {path}"), traffic);
            of_all(&scenario, mean, 1e6)
        };
        assert_eq!(of("loss 1%", "bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("loss 1%", "bulk:10s", 4e6), 4e5);
        assert_eq!(of("loss 1%", "video:20s", 0.1), 0.05);
        assert_eq!(of("delay 10ms", "bulk:1MiB", 2.0), 0.0, "nothing is lost");
        assert_eq!(of("loss 1% @1s..2s", "bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("loss gemodel 1% 30% 100% 0%", "bulk:1MiB", 2.0), 1.0);
        // Regression: corrupted packets and those of RED did not count as lost.
        assert_eq!(of("uplink corrupt 1%", "bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("limit 60p queue red 5p 30p 10%", "bulk:1MiB", 2.0), 1.0);
    }

    /// Regression: over a recorded train half of the intervals did not contain the truth, because
    /// few runs meet one of its tunnels.
    #[test]
    fn slowest_part_of_a_recording_counts() {
        let of = |trace: &str, traffic, bytes| {
            let scenario = scenario(&format!("trace {trace} delay 30ms"), traffic);
            of_all(&scenario, 2.0, bytes)
        };
        let seconds =
            |found: f64, low: f64, high: f64| assert!((low..high).contains(&found), "{found}");
        // No capacity for three seconds, several times.
        seconds(of("lte-ghent-train", "bulk:1MiB", 0.0), 2.9, 3.1);
        seconds(of("lte-ghent-train", "video:10s", 0.0), 0.9, 0.91);
        seconds(of("lte-ghent-train", "bulk:8MiB", 8e6), 17.3, 17.4);
        // The slowest second has 3.5 Mbit/s, the mean of 27.6 is eight times as much.
        assert_eq!(of("lte-ghent-bus", "bulk:1MiB", 0.0), 0.0);
        seconds(of("lte-ghent-bus", "bulk:1MiB", 1e6), 1.2, 1.3);
        seconds(of("lte-ghent-bus", "bulk:8MiB", 8e6), 4.4, 4.5);
    }

    /// Regression: a recorded path widened the intervals of paths that were neither recorded nor
    /// lossy.
    #[test]
    fn only_paths_that_a_variant_uses_count() {
        let options = Options::default()
            .with(Key::Path, "a=trace lte-ghent-train delay 30ms")
            .with(Key::Path, "b=rate 5mbit delay 10ms loss 1%")
            .with(Key::Path, "c=rate 5mbit delay 10ms")
            .with(Key::Traffic, "bulk:1MiB");
        let scenario = options.resolve().unwrap();
        let variants = variants_of(&scenario);
        let of = |used: &[usize]| {
            let used = used.iter().map(|index| &variants[*index]);
            unseen(&scenario, used, scenario.metric, (2.0, 0.0))
        };
        assert_eq!([of(&[0, 2]), of(&[1, 2]), of(&[2])], [3.001, 1.0, 0.0]);
        assert_eq!(variants[3].single_path(), None);
        assert_eq!(of(&[2, 3]), 3.001);
    }
}

//! What no run has shown yet.
//!
//! With random loss a rare run waits for a retransmission time-out: its first segment is lost, or
//! its last. Few runs do not show it, and their spread says nothing about it. So an interval allows
//! for one further run that is a second worse or better: the initial RTO (RFC 6298 s2.1).

use crate::path_spec::PathSpec;
use crate::scenario::Scenario;
use base::Duration;
use traffic::Measure;

/// The effect of a second of silence on a metric whose mean is `reference`, in the metric's unit;
/// zero without random loss.
pub(crate) fn unseen(scenario: &Scenario, metric: Measure, reference: f64) -> f64 {
    let links = scenario.paths.iter().chain(&scenario.links);
    if !links.into_iter().any(PathSpec::loses) {
        return 0.0;
    }
    let share = |length: Duration| 1.0 / length.as_secs_f64();
    let share = scenario.traffic.duration().map_or(1.0, share);
    metric.of_silence(share, reference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    fn scenario(path: &str, traffic: &str) -> Scenario {
        let options = Options::default()
            .with(Key::Path, &format!("a=rate 5mbit {path}"))
            .with(Key::Traffic, traffic);
        options.resolve().unwrap()
    }

    #[test]
    fn second_of_silence_counts_by_its_share_of_the_run() {
        let of = |traffic, mean| {
            let scenario = scenario("loss 1%", traffic);
            unseen(&scenario, scenario.metric, mean)
        };
        assert_eq!(of("bulk:1MiB", 2.0), 1.0);
        assert_eq!(of("bulk:10s", 4e6), 4e5);
        assert_eq!(of("video:20s", 0.1), 0.05);
        let whole = scenario("delay 10ms", "bulk:1MiB");
        assert_eq!(unseen(&whole, whole.metric, 2.0), 0.0, "nothing is lost");
        let later = scenario("loss 1% @1s..2s", "bulk:1MiB");
        assert_eq!(unseen(&later, later.metric, 2.0), 1.0);
        let bursts = scenario("loss gemodel 1% 30% 100% 0%", "bulk:1MiB");
        assert_eq!(unseen(&bursts, bursts.metric, 2.0), 1.0);
    }
}

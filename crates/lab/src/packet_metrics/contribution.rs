//! The contribution of each path, as DRePaS measures it (004 sV): data in flight over the smoothed
//! round-trip time, relative to the best path, every 100 ms; data in flight are averaged over
//! 0.5 s. The throughputs of several connections and subflows of a path are added up.

use base::{Duration, Instant, PathId, SocketId};
use std::collections::BTreeMap;

/// Time between samples.
const PERIOD: Duration = Duration::from_millis(100);
/// Samples of data in flight that are averaged.
const AVERAGED: usize = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Contributions {
    paths: BTreeMap<(SocketId, PathId), Path>,
    next: Option<Instant>,
    /// Segments a second by number of the subflow, over all connections, in every sample.
    samples: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, Default)]
struct Path {
    inflight: u32,
    srtt: Duration,
    /// The last samples of data in flight; the oldest one is replaced.
    last: [u32; AVERAGED],
}

impl Contributions {
    pub(super) fn on_round_trip(&mut self, path: (SocketId, PathId), srtt: Duration) {
        self.paths.entry(path).or_default().srtt = srtt;
    }

    pub(super) fn on_inflight(&mut self, path: (SocketId, PathId), segments: u32) {
        self.paths.entry(path).or_default().inflight = segments;
    }

    /// Takes the samples that are due before what happens now.
    pub(super) fn sample(&mut self, now: Instant) {
        let mut next = *self.next.get_or_insert(now + PERIOD);
        while next <= now {
            self.take();
            next += PERIOD;
        }
        self.next = Some(next);
    }

    fn take(&mut self) {
        let place = self.samples.len() % AVERAGED;
        let mut throughputs: Vec<f64> = Vec::new();
        for ((_, id), path) in &mut self.paths {
            path.last[place] = path.inflight;
            throughputs.resize(throughputs.len().max(id.index() + 1), 0.0);
            throughputs[id.index()] += path.throughput();
        }
        self.samples.push(throughputs);
    }

    /// The mean of the samples of each of `paths` paths; zero without samples. `subflows` has the
    /// path of every number of a subflow.
    pub(super) fn of(&self, subflows: &[usize], paths: usize) -> Vec<f64> {
        let mut sums = vec![0.0; paths];
        for sample in &self.samples {
            let mut throughputs = vec![0.0; paths];
            for (path, throughput) in subflows.iter().zip(sample) {
                if let Some(of) = throughputs.get_mut(*path) {
                    *of += throughput;
                }
            }
            let best = throughputs.iter().copied().fold(0.0, f64::max);
            if best > 0.0 {
                sums.iter_mut().zip(throughputs).for_each(|(sum, of)| *sum += of / best);
            }
        }
        sums.iter().map(|sum| sum / self.samples.len().max(1) as f64).collect()
    }
}

impl Path {
    /// Segments a second.
    fn throughput(&self) -> f64 {
        let inflight = self.last.iter().sum::<u32>() as f64 / AVERAGED as f64;
        if self.srtt.is_zero() { 0.0 } else { inflight / self.srtt.as_secs_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_path_contributes_its_share_of_the_best() {
        let mut of = Contributions::default();
        let path = |number| (SocketId(1), PathId(number));
        of.sample(Instant::ZERO);
        for (number, segments, millis) in [(0, 20, 50), (1, 40, 500)] {
            of.on_inflight(path(number), segments);
            of.on_round_trip(path(number), Duration::from_millis(millis));
        }
        // 400 and 80 segments a second in ten samples.
        of.sample(Instant::from_millis(1_000));
        let of_path = |path: usize| of.of(&[0, 1], 2)[path];
        assert!((of_path(0) - 1.0).abs() < 1e-9, "{}", of_path(0));
        assert!((of_path(1) - 0.2).abs() < 1e-9, "{}", of_path(1));
        // Nothing in flight on it any more: its average takes 0.5 s to reach zero.
        of.on_inflight(path(1), 0);
        of.sample(Instant::from_millis(2_000));
        let expected = (10.0 * 0.2 + 0.2 * (0.8 + 0.6 + 0.4 + 0.2)) / 20.0;
        let found = of.of(&[0, 1], 2)[1];
        assert!((found - expected).abs() < 1e-9, "{found}");
    }

    #[test]
    fn connections_and_subflows_of_a_path_are_added_up_before_the_comparison() {
        let mut of = Contributions::default();
        of.sample(Instant::ZERO);
        let shares = [(0, 0, 20), (0, 1, 10), (1, 0, 10), (1, 1, 10), (1, 2, 5), (2, 1, 10)];
        for (socket, number, segments) in shares {
            let path = (SocketId(socket), PathId(number));
            of.on_inflight(path, segments);
            of.on_round_trip(path, Duration::from_millis(100));
        }
        of.sample(Instant::from_millis(1_000));
        // 30 segments on the first path, 35 on the second one, whose subflows are 1 and 2.
        let found = of.of(&[0, 1, 1], 2);
        assert!((found[0] - 30.0 / 35.0).abs() < 1e-9, "{found:?}");
        assert!((found[1] - 1.0).abs() < 1e-9, "{found:?}");
    }
}

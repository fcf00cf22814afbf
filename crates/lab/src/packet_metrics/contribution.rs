//! The contribution of each path, as DRePaS measures it (004 sV): data in flight over the smoothed
//! round-trip time, relative to the best path of the connection, every 100 ms; data in flight are
//! averaged over 0.5 s.

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
    samples: u64,
}

#[derive(Clone, Debug, Default)]
struct Path {
    inflight: u32,
    srtt: Duration,
    /// The last samples of data in flight; the oldest one is replaced.
    last: [u32; AVERAGED],
    /// Sum of the shares of the best path.
    sum: f64,
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
        let mut best = 0.0_f64;
        let place = (self.samples % AVERAGED as u64) as usize;
        for path in self.paths.values_mut() {
            path.last[place] = path.inflight;
            best = best.max(path.throughput());
        }
        self.samples += 1;
        if best > 0.0 {
            for path in self.paths.values_mut() {
                path.sum += path.throughput() / best;
            }
        }
    }

    /// The mean of the samples of the paths with these numbers; zero without samples.
    pub(super) fn of(&self, is_meant: impl Fn(&PathId) -> bool) -> f64 {
        let meant = self.paths.iter().filter(|((_, path), _)| is_meant(path));
        meant.map(|(_, path)| path.sum).sum::<f64>() / self.samples.max(1) as f64
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
        let of_path = |number| of.of(|path| *path == PathId(number));
        assert!((of_path(0) - 1.0).abs() < 1e-9, "{}", of_path(0));
        assert!((of_path(1) - 0.2).abs() < 1e-9, "{}", of_path(1));
        // Nothing in flight on it any more: its average takes 0.5 s to reach zero.
        of.on_inflight(path(1), 0);
        of.sample(Instant::from_millis(2_000));
        let expected = (10.0 * 0.2 + 0.2 * (0.8 + 0.6 + 0.4 + 0.2)) / 20.0;
        let found = of.of(|path| *path == PathId(1));
        assert!((found - expected).abs() < 1e-9, "{found}");
    }
}

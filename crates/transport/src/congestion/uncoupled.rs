//! `Uncoupled`: one independent state per path behind the trait of a connection.
//!
//! Common to all uncoupled controllers: growth only while the window is the limit, slow start,
//! HyStart, time-outs, undo and the decay of unused windows (`idle`). The increase in congestion
//! avoidance and the threshold after a congestion event come from an `Algorithm`.

use super::hystart::HyStart;
use super::idle;
use super::segment_window::SegmentWindow;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Counting, Growth, Options,
    PathStart, Penalty,
};
use base::{Duration, Instant, PathId, prefetch};
use std::hint::cold_path;

/// The part of a controller that differs: one instance per path.
pub trait Algorithm {
    /// Whether it leaves slow start by HyStart.
    const HYSTART: bool = false;

    /// The state of a new path.
    fn new(options: &Options) -> Self;
    /// Congestion avoidance: `acked` segments were acknowledged while the window was the limit.
    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, sample: &AckSample);
    /// The threshold after a congestion event.
    fn ssthresh(&mut self, window: &SegmentWindow, event: &CongestionEvent) -> f64;
    /// An acknowledgement, before any growth, whether or not the window is the limit.
    #[inline]
    fn on_ack(&mut self, _window: &mut SegmentWindow, _sample: &AckSample) {}
    /// The part of `acked` segments that may grow the window in slow start.
    #[inline]
    fn slow_start_credit(&self, acked: f64) -> f64 {
        acked
    }
    /// An RTT sample, whether or not the window is the limit. `false` keeps it from HyStart.
    fn on_rtt(&mut self, _rtt: Duration, _now: Instant) -> bool {
        true
    }
    /// The retransmission timer expired; after `ssthresh`, if this is the first expiry.
    fn on_timeout(&mut self) {}
    /// Transmission resumes after more than an RTO without data in flight.
    fn on_idle_restart(&mut self) {}
    /// Transmission resumes after `idle` without data in flight.
    fn on_transmit_start(&mut self, _idle: Duration, _now: Instant) {}
}

/// A controller whose paths do not influence each other.
#[derive(Clone, Debug)]
pub struct Uncoupled<A> {
    options: Options,
    /// By `PathId`.
    paths: Vec<Option<Path<A>>>,
}

#[derive(Clone, Debug)]
struct Path<A> {
    window: SegmentWindow,
    algorithm: A,
    hystart: Option<HyStart>,
}

impl<A: Algorithm> Uncoupled<A> {
    /// No path yet.
    pub const fn new(options: Options) -> Self {
        Uncoupled { options, paths: Vec::new() }
    }

    fn path(&self, path: PathId) -> Option<&Path<A>> {
        self.paths.get(path.index())?.as_ref()
    }

    fn path_mut(&mut self, path: PathId) -> Option<&mut Path<A>> {
        self.paths.get_mut(path.index())?.as_mut()
    }

    /// The window of a path.
    #[cfg(test)]
    pub fn window(&self, path: PathId) -> Option<&SegmentWindow> {
        self.path(path).map(|path| &path.window)
    }

    /// The algorithm of a path, for the controllers that couple paths.
    pub fn algorithm_mut(&mut self, path: PathId) -> Option<&mut A> {
        self.path_mut(path).map(|path| &mut path.algorithm)
    }

    /// Window and algorithm of a path.
    pub fn parts_mut(&mut self, path: PathId) -> Option<(&mut SegmentWindow, &mut A)> {
        self.path_mut(path).map(|path| (&mut path.window, &mut path.algorithm))
    }

    /// Window and algorithm of every path, in the order of their numbers.
    pub fn parts(&self) -> impl Iterator<Item = (PathId, &SegmentWindow, &A)> {
        let numbered = (0..=u8::MAX).map(PathId).zip(&self.paths);
        numbered
            .filter_map(|(id, path)| path.as_ref().map(|path| (id, &path.window, &path.algorithm)))
    }
}

impl<A: Algorithm> Path<A> {
    fn new(options: &Options, start: &PathStart) -> Self {
        Path {
            window: SegmentWindow::new(
                start.mss,
                start.initial_window_segs(),
                start.initial_ssthresh_segs(),
            ),
            algorithm: A::new(options),
            hystart: (A::HYSTART && options.hystart).then(|| HyStart::new(start.now)),
        }
    }

    fn on_ack(&mut self, sample: &AckSample, (counting, growth): (Counting, Growth)) {
        self.algorithm.on_ack(&mut self.window, sample);
        if let Some(rtt) = sample.rtt
            && self.algorithm.on_rtt(rtt, sample.now)
            && let Some(hystart) = &mut self.hystart
        {
            hystart.on_rtt(&mut self.window, rtt, sample);
        }
        let may_grow = match growth {
            Growth::WhenFull => sample.cwnd_limited,
            Growth::WhenNearlyFull => self.window.is_nearly_full(sample.inflight_before_segs),
        };
        if !may_grow || sample.acked_segs == 0 {
            return;
        }
        let mut acked = f64::from(sample.acked_segs);
        if self.window.in_slow_start() {
            cold_path();
            if counting == Counting::Acknowledgements {
                acked = 1.0;
            }
            acked = self.algorithm.slow_start_credit(acked);
            acked = self.window.slow_start(acked);
        }
        if acked > 0.0 {
            self.algorithm.increase(&mut self.window, acked, sample);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != CongestionKind::RtoRepeated {
            let ssthresh = self.algorithm.ssthresh(&self.window, event);
            self.window.reduce(ssthresh);
        }
        if matches!(event.kind, CongestionKind::Rto | CongestionKind::RtoRepeated) {
            self.window.on_timeout(event.cwnd_after_rto_segs);
            self.algorithm.on_timeout();
            if let Some(hystart) = &mut self.hystart {
                hystart.on_timeout(event.now, event.snd_nxt);
            }
        }
    }
}

impl<A: Algorithm> CongestionControl for Uncoupled<A> {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        let index = path.index();
        if self.paths.len() <= index {
            // Mostly one: a vector that grows takes four.
            self.paths.reserve_exact(index + 1 - self.paths.len());
            self.paths.resize_with(index + 1, || None);
        }
        self.paths[index] = Some(Path::new(&self.options, start));
    }

    fn on_path_removed(&mut self, path: PathId) {
        if let Some(slot) = self.paths.get_mut(path.index()) {
            *slot = None;
        }
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        let rules = (self.options.counting, self.options.growth);
        if let Some(path) = self.path_mut(path) {
            path.on_ack(sample, rules);
        }
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        if let Some(path) = self.path_mut(path) {
            path.on_congestion(event);
        }
    }

    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) {
        if let Some(path) = self.path_mut(path) {
            path.window.set_cwnd(f64::from(cwnd_segs));
        }
    }

    fn on_recovery_exit(&mut self, path: PathId, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.window.on_recovery_exit();
        }
    }

    fn on_undo(&mut self, path: PathId, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.window.undo();
        }
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            idle::restart(&mut path.window, idle, rto);
            path.algorithm.on_idle_restart();
        }
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.algorithm.on_transmit_start(idle, now);
        }
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        if let Some(path) = self.path_mut(path) {
            idle::application_limited(&mut path.window, used_segs);
        }
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            kind.apply(&mut path.window);
        }
    }

    fn prefetch(&self) {
        if let Some(Some(path)) = self.paths.first() {
            prefetch(&path.window);
            prefetch(&path.algorithm);
            prefetch(&path.hystart);
        }
    }

    fn cwnd_bytes(&self, path: PathId) -> u64 {
        self.path(path).map_or(0, |path| path.window.cwnd_bytes())
    }

    #[inline]
    fn cwnd_segs(&self, path: PathId) -> u32 {
        self.path(path).map_or(0, |path| path.window.cwnd_segs())
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        self.path(path)?.window.ssthresh_bytes()
    }

    #[inline]
    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        self.path(path)?.window.ssthresh_segs()
    }
}

//! `Uncoupled`: one independent state per path behind the per-connection trait (rule 5).
//!
//! What every uncoupled controller shares (congestion spec s0): growth only while the window is
//! the limit, slow start with its limit and HyStart, time-outs, undo and idle rules. The increase
//! in congestion avoidance and the threshold come from an `Algorithm`.

use super::hystart::HyStart;
use super::idle::{self, Validation};
use super::window::Window;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, HyStartKind, IdleRule, Options,
    PathStart, Penalty,
};
use base::{Duration, Instant, PathId, prefetch};

/// The part of a controller that differs: one instance per path.
pub trait Algorithm {
    /// The state of a new path.
    fn new(options: &Options) -> Self;
    /// Congestion avoidance: `acked` segments were acknowledged while the window was the limit.
    fn increase(&mut self, window: &mut Window, acked: f64, sample: &AckSample);
    /// An acknowledgement, before any growth, whether or not the window is the limit.
    #[inline]
    fn on_ack(&mut self, _window: &mut Window, _sample: &AckSample) {}
    /// What of `acked` segments may grow the window in slow start.
    #[inline]
    fn growing(&self, acked: f64) -> f64 {
        acked
    }
    /// The threshold after a congestion signal, whole if the window is counted so.
    fn threshold(&mut self, window: &Window, event: &CongestionEvent) -> f64;
    /// An RTT sample, whether or not the window is the limit. `false` keeps it from HyStart.
    fn on_rtt(&mut self, _rtt: Duration, _now: Instant) -> bool {
        true
    }
    /// The retransmission timer expired (after `threshold`, if that was asked).
    fn on_timeout(&mut self) {}
    /// The last reduction was wrong.
    fn on_undo(&mut self) {}
    /// Sending resumes after more than an RTO without data in flight.
    fn on_idle_restart(&mut self) {}
    /// Sending resumes after `idle` without data in flight.
    fn on_transmit_start(&mut self, _idle: Duration, _now: Instant) {}
    /// Whether classic HyStart belongs to it.
    const CLASSIC_HYSTART: bool = false;
}

/// A controller that treats every path by itself.
#[derive(Clone, Debug)]
pub struct Uncoupled<A> {
    options: Options,
    /// By `PathId`.
    paths: Vec<Option<Path<A>>>,
}

#[derive(Clone, Debug)]
struct Path<A> {
    window: Window,
    algorithm: A,
    hystart: HyStart,
    /// Only under `IdleRule::Cwv`.
    validation: Option<Box<Validation>>,
}

impl<A: Algorithm> Uncoupled<A> {
    /// No path yet.
    pub const fn new(options: Options) -> Self {
        Uncoupled { options, paths: Vec::new() }
    }

    /// Ask for the memory of the first path.
    pub fn prefetch(&self) {
        if let Some(Some(path)) = self.paths.first() {
            prefetch(&path.window);
            prefetch(&path.algorithm);
            prefetch(&path.hystart);
        }
    }

    fn path(&self, path: PathId) -> Option<&Path<A>> {
        self.paths.get(path.index())?.as_ref()
    }

    fn path_mut(&mut self, path: PathId) -> Option<&mut Path<A>> {
        self.paths.get_mut(path.index())?.as_mut()
    }

    /// The window of a path, for tests and coupled siblings.
    pub fn window(&self, path: PathId) -> Option<&Window> {
        self.path(path).map(|path| &path.window)
    }

    /// The algorithm of a path, for the controllers that couple paths.
    pub fn algorithm_mut(&mut self, path: PathId) -> Option<&mut A> {
        self.path_mut(path).map(|path| &mut path.algorithm)
    }

    /// Window and algorithm of a path.
    pub fn parts_mut(&mut self, path: PathId) -> Option<(&mut Window, &mut A)> {
        self.path_mut(path).map(|path| (&mut path.window, &mut path.algorithm))
    }

    /// Window and algorithm of every path, by number.
    pub fn parts(&self) -> impl Iterator<Item = (PathId, &Window, &A)> {
        let numbered = (0..=u8::MAX).map(PathId).zip(&self.paths);
        numbered
            .filter_map(|(id, path)| path.as_ref().map(|path| (id, &path.window, &path.algorithm)))
    }
}

impl<A: Algorithm> Path<A> {
    fn new(options: &Options, start: &PathStart) -> Self {
        let hystart = match options.hystart {
            HyStartKind::Classic if !A::CLASSIC_HYSTART => HyStartKind::Off,
            kind => kind,
        };
        Path {
            window: Window::new(
                options.arithmetic,
                start.mss,
                start.initial_window_segs,
                start.initial_ssthresh_segs,
            ),
            algorithm: A::new(options),
            hystart: HyStart::new(hystart, start.now),
            validation: (options.idle == IdleRule::Cwv).then(Box::default),
        }
    }

    fn on_ack(&mut self, limit: Option<u32>, sample: &AckSample) {
        if let Some(validation) = &mut self.validation {
            validation.on_ack(&mut self.window, sample);
        }
        self.algorithm.on_ack(&mut self.window, sample);
        if let Some(rtt) = sample.rtt
            && self.algorithm.on_rtt(rtt, sample.now)
        {
            self.hystart.on_rtt(&mut self.window, rtt, sample);
        }
        if !sample.cwnd_limited || sample.acked_segs == 0 {
            return;
        }
        let mut acked = f64::from(sample.acked_segs);
        if self.window.in_slow_start() {
            acked = self.algorithm.growing(acked);
            if let Some(limit) = self.hystart.growth_limit(limit, sample.paced) {
                acked = acked.min(f64::from(limit));
            }
            acked = self.window.slow_start(acked, self.hystart.growth_divisor());
        }
        if acked > 0.0 {
            self.algorithm.increase(&mut self.window, acked, sample);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != CongestionKind::RtoRepeated {
            let ordinary = self.algorithm.threshold(&self.window, event);
            let validated = self
                .validation
                .as_mut()
                .and_then(|validation| validation.on_congestion(&self.window, event));
            let validated = validated.map(|ssthresh| self.window.whole(ssthresh));
            self.window.reduce(validated.unwrap_or(ordinary));
        }
        self.hystart.on_congestion();
        if matches!(event.kind, CongestionKind::Rto | CongestionKind::RtoRepeated) {
            self.window.collapse(event.cwnd_after_rto_segs);
            self.algorithm.on_timeout();
            self.hystart.on_timeout(event.now, event.snd_nxt);
        }
    }
}

impl<A: Algorithm> CongestionControl for Uncoupled<A> {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        let index = path.index();
        if self.paths.len() <= index {
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
        let limit = self.options.slow_start_limit_segs;
        if let Some(path) = self.path_mut(path) {
            path.on_ack(limit, sample);
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
        let Some(path) = self.path_mut(path) else { return };
        if let Some(ssthresh) = path.validation.as_mut().and_then(|v| v.on_recovery_exit()) {
            path.window.set_ssthresh(ssthresh);
        }
        path.window.settle();
    }

    fn on_retransmitted(&mut self, path: PathId, segs: u32) {
        if let Some(validation) = self.path_mut(path).and_then(|path| path.validation.as_mut()) {
            validation.on_retransmitted(segs);
        }
    }

    fn on_undo(&mut self, path: PathId, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.window.undo();
            path.algorithm.on_undo();
        }
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        let rule = self.options.idle;
        let Some(path) = self.path_mut(path) else { return };
        match &mut path.validation {
            Some(validation) => validation.on_time(&mut path.window, now),
            None => idle::restart(rule, &mut path.window, idle, rto),
        }
        path.algorithm.on_idle_restart();
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.algorithm.on_transmit_start(idle, now);
        }
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        let rule = self.options.idle;
        if let Some(path) = self.path_mut(path) {
            idle::application_limited(rule, &mut path.window, used_segs);
        }
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            kind.apply(&mut path.window);
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

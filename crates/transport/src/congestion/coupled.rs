//! `Coupled`: what the controls that couple the paths of a connection share (congestion spec s0).
//!
//! Every path has a plain TCP's slow start, time-outs, undo and idle rules, those of `uncoupled`
//! (RFC 6356 s3). What differs is a `Rule`: the increase in congestion avoidance and the threshold
//! after a loss, from what all paths with an RTT sample have. A path alone is NewReno. A path in
//! fast recovery counts with its threshold, not with the window of the moment.
//! A path that had nothing in flight for longer than its round-trip time has no part in the sums:
//! RFC 6356 s3 counts the flight size where the application does not fill the window. The kernels
//! count its window, so that what a scheduler bound to a path of two segments waits for as long as
//! an idle sibling's window is large.
//! `app-limited-alpha` has a path that the application does not fill count with what it has in
//! flight (RFC 6356). `lisa` couples initial windows, too.

use super::lisa::{self, SlowStart};
use super::reno::Reno;
use super::uncoupled::{Algorithm, Uncoupled};
use super::window::Window;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Options, PathStart, Penalty,
};
use crate::parameters::Settings;
use base::{Duration, Instant, PathId};

/// What parameters of a name set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coupling {
    /// OLIA and BALIA: the smallest threshold of one path among several, in segments; `None`: as
    /// the kernel has it.
    pub min_ssthresh_segs: Option<u32>,
    /// LIA: of windows that are not filled only what is in flight counts.
    pub app_limited_alpha: bool,
    /// LIA, OLIA and BALIA: initial windows come out of a sibling's slow start.
    pub lisa: bool,
    /// wVegas: segments in queues that a path begins with,
    pub initial_alpha_segs: u32,
    /// that all paths share,
    pub total_alpha_segs: u32,
    /// and that end slow start;
    pub gamma_segs: u32,
    /// how long the smallest RTT counts, zero for always.
    pub base_window: Duration,
}

impl Coupling {
    /// As the sources have it.
    pub const DEFAULT: Coupling = Coupling {
        min_ssthresh_segs: None,
        app_limited_alpha: false,
        lisa: false,
        initial_alpha_segs: 2,
        total_alpha_segs: 10,
        gamma_segs: 1,
        base_window: Duration::ZERO,
    };

    pub(super) fn of(settings: &Settings) -> Coupling {
        let whole = |key, default| settings.given(key).map_or(default, |value| value as u32);
        Coupling {
            min_ssthresh_segs: settings.given("min-ssthresh").map(|value| value as u32),
            app_limited_alpha: settings.is_on("app-limited-alpha"),
            lisa: settings.is_on("lisa"),
            initial_alpha_segs: whole("initial-alpha", Self::DEFAULT.initial_alpha_segs),
            total_alpha_segs: whole("total-alpha", Self::DEFAULT.total_alpha_segs),
            gamma_segs: whole("gamma", Self::DEFAULT.gamma_segs),
            base_window: settings.time("base-window"),
        }
    }
}

/// The part of a coupled control that differs: one instance per path.
pub trait Rule {
    /// What siblings are told beside window and RTT.
    type Told: Copy;

    /// The state of a new path.
    fn new(options: &Options) -> Self;
    /// What siblings are told.
    fn told(&self) -> Self::Told;
    /// An acknowledgement, before any growth. `flows` are all paths with an RTT sample, this one
    /// last; without one it is not among them.
    fn on_ack(&mut self, _: &mut Window, _flows: &[Flow<Self::Told>], _: &AckSample) {}
    /// Congestion avoidance of one path among several: `acked` segments were acknowledged while
    /// the window was the limit.
    fn increase(&mut self, window: &mut Window, acked: f64, flows: &[Flow<Self::Told>]);
    /// The threshold after a congestion signal on one path among several: as precise as the
    /// window it is made from.
    fn threshold(
        &mut self,
        window: &Window,
        _: &[Flow<Self::Told>],
        event: &CongestionEvent,
    ) -> f64 {
        Reno.threshold(window, event)
    }
    /// A congestion signal came, whether or not the path is alone.
    fn on_loss(&mut self) {}
    /// The retransmission timer expired.
    fn on_timeout(&mut self) {}
    /// Sending resumes after more than a time-out's idling.
    fn on_idle_restart(&mut self) {}
}

/// What rules take of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow<T> {
    /// `w_i`, in segments.
    pub window: f64,
    /// `rtt_i`, smoothed, not zero.
    pub srtt: Duration,
    pub told: T,
}

impl<T> Flow<T> {
    /// `rtt_i` in seconds.
    pub fn rtt(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// `x_i = w_i / rtt_i`, in segments a second.
    pub fn rate(&self) -> f64 {
        self.window / self.rtt()
    }
}

/// Half of a window that grew by fractions, or in kernels' arithmetic by whole segments.
pub fn half(window: &Window, kernel_compat: bool) -> f64 {
    let half = window.cwnd() / 2.0;
    if kernel_compat { window.whole(half) } else { half }
}

/// `sum_i w_i / rtt_i`.
pub fn total_rate<T>(flows: &[Flow<T>]) -> f64 {
    flows.iter().map(Flow::rate).sum()
}

/// The linked windows of one connection.
#[derive(Clone, Debug)]
pub struct Coupled<R: Rule> {
    pub(super) paths: Uncoupled<Share<R>>,
    /// Reused for every acknowledgement.
    siblings: Vec<Flow<R::Told>>,
    lisa: bool,
}

impl<R: Rule> Coupled<R> {
    /// No path yet.
    pub const fn new(options: Options) -> Self {
        let lisa = options.coupling.lisa;
        Coupled { paths: Uncoupled::new(options), siblings: Vec::new(), lisa }
    }

    /// LISA: a path that begins takes its window from the fastest in its first slow start.
    fn share_slow_start(&mut self, path: PathId, start: &PathStart) {
        let others = self.paths.parts().filter(|(id, ..)| *id != path);
        let rates = others.filter_map(|(id, window, share)| Some((id, share.first_rate(window)?)));
        let Some((fastest, _)) = rates.max_by(|(_, one), (_, other)| one.total_cmp(other)) else {
            return;
        };
        let Some((window, share)) = self.paths.parts_mut(fastest) else { return };
        let grant = lisa::grant(start.initial_window_segs, window.cwnd_segs());
        window.set_cwnd(window.cwnd() - f64::from(grant.taken));
        share.slow_start.give(grant.taken);
        if let Some((window, _)) = self.paths.parts_mut(path) {
            window.set_cwnd(f64::from(grant.initial));
        }
    }

    /// Tell a path what its siblings have.
    fn inform(&mut self, path: PathId, now: Instant) {
        self.siblings.clear();
        let others = self.paths.parts().filter(|(id, ..)| *id != path);
        self.siblings.extend(others.filter_map(|(_, window, share)| share.flow(window, now)));
        if let Some(share) = self.paths.algorithm_mut(path) {
            std::mem::swap(&mut share.siblings, &mut self.siblings);
        }
    }

    fn set_recovering(&mut self, path: PathId, recovering: bool) {
        if let Some(share) = self.paths.algorithm_mut(path) {
            share.recovering = recovering;
        }
    }
}

impl<R: Rule> CongestionControl for Coupled<R> {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        self.paths.on_path_added(path, start);
        if let Some(share) = self.paths.algorithm_mut(path) {
            share.srtt = start.srtt;
        }
        if self.lisa {
            self.share_slow_start(path, start);
        }
    }

    fn on_path_removed(&mut self, path: PathId) {
        self.paths.on_path_removed(path);
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        self.inform(path, sample.now);
        self.paths.on_ack(path, sample);
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        self.inform(path, event.now);
        self.paths.on_congestion(path, event);
        self.set_recovering(path, event.kind == CongestionKind::FastRecovery);
    }

    fn set_recovery_window(&mut self, path: PathId, cwnd_segs: u32) {
        self.paths.set_recovery_window(path, cwnd_segs);
    }

    fn on_recovery_exit(&mut self, path: PathId, now: Instant) {
        self.set_recovering(path, false);
        self.paths.on_recovery_exit(path, now);
    }

    fn on_undo(&mut self, path: PathId, now: Instant) {
        self.set_recovering(path, false);
        self.paths.on_undo(path, now);
    }

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        self.paths.on_idle_restart(path, idle, rto, now);
    }

    fn on_transmit_start(&mut self, path: PathId, idle: Duration, now: Instant) {
        self.paths.on_transmit_start(path, idle, now);
    }

    fn penalise(&mut self, path: PathId, kind: Penalty, now: Instant) {
        self.paths.penalise(path, kind, now);
    }

    fn on_application_limited(&mut self, path: PathId, used_segs: u32) {
        self.paths.on_application_limited(path, used_segs);
    }

    fn on_retransmitted(&mut self, path: PathId, segs: u32) {
        self.paths.on_retransmitted(path, segs);
    }

    fn cwnd_bytes(&self, path: PathId) -> u64 {
        self.paths.cwnd_bytes(path)
    }

    fn cwnd_segs(&self, path: PathId) -> u32 {
        self.paths.cwnd_segs(path)
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        self.paths.ssthresh_bytes(path)
    }

    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        self.paths.ssthresh_segs(path)
    }
}

/// One path's part.
#[derive(Clone, Debug)]
pub struct Share<R: Rule> {
    rule: R,
    srtt: Duration,
    /// In fast recovery: its window is inflated or not yet down, the threshold counts.
    recovering: bool,
    app_limited_alpha: bool,
    /// With `app_limited_alpha`, what was in flight if the window was not full, in segments.
    in_use: Option<f64>,
    /// Since when nothing is in flight; never in kernels' arithmetic, where windows count always.
    rests_since: Option<Instant>,
    kernel_compat: bool,
    slow_start: SlowStart,
    /// The other paths, as of the event being dealt with.
    siblings: Vec<Flow<R::Told>>,
}

impl<R: Rule> Share<R> {
    /// What siblings see of it; nothing before its first sample, nor at rest.
    fn flow(&self, window: &Window, now: Instant) -> Option<Flow<R::Told>> {
        let segs = if self.recovering { window.ssthresh() } else { self.counted(window) };
        let told = self.rule.told();
        let counts = !self.srtt.is_zero() && !self.is_at_rest(now);
        counts.then_some(Flow { window: segs, srtt: self.srtt, told })
    }

    /// It carries nothing, and not only between two bursts of a round trip.
    fn is_at_rest(&self, now: Instant) -> bool {
        self.rests_since.is_some_and(|since| now - since > self.srtt)
    }

    /// `w_i / rtt_i` in the first slow start.
    fn first_rate(&self, window: &Window) -> Option<f64> {
        let gives = self.slow_start.is_first() && window.in_slow_start();
        (gives && !self.srtt.is_zero()).then(|| window.cwnd() / self.srtt.as_secs_f64())
    }

    /// `w_i`: the window, or what of it is in use.
    fn counted(&self, window: &Window) -> f64 {
        self.in_use.map_or(window.cwnd(), |in_use| in_use.min(window.cwnd()))
    }

    /// Put itself after its siblings. Whether it is one among several.
    fn join(&mut self, window: &Window) -> bool {
        if self.srtt.is_zero() {
            return false;
        }
        let (window, srtt, told) = (self.counted(window), self.srtt, self.rule.told());
        self.siblings.push(Flow { window, srtt, told });
        self.siblings.len() > 1
    }

    /// The same again is another view of itself.
    fn leave(&mut self) {
        if !self.srtt.is_zero() {
            self.siblings.pop();
        }
    }
}

impl<R: Rule> Algorithm for Share<R> {
    fn new(options: &Options) -> Self {
        Share {
            rule: R::new(options),
            srtt: Duration::ZERO,
            recovering: false,
            app_limited_alpha: options.coupling.app_limited_alpha,
            in_use: options.coupling.app_limited_alpha.then_some(0.0),
            rests_since: None,
            kernel_compat: options.kernel_compat,
            slow_start: SlowStart::BEGINS,
            siblings: Vec::new(),
        }
    }

    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        self.srtt = sample.srtt;
        self.slow_start.on_ack(sample.acked_segs);
        let rests = !self.kernel_compat && sample.snd_una == sample.snd_nxt;
        self.rests_since = rests.then_some(sample.now);
        let unused = self.app_limited_alpha && !sample.cwnd_limited;
        self.in_use = unused.then(|| f64::from(sample.inflight_before_segs.max(1)));
        self.join(window);
        self.rule.on_ack(window, &self.siblings, sample);
        self.leave();
    }

    fn growing(&self, acked: f64) -> f64 {
        self.slow_start.growing(acked)
    }

    fn increase(&mut self, window: &mut Window, acked: f64, _sample: &AckSample) {
        self.slow_start.end();
        if self.join(window) {
            self.rule.increase(window, acked, &self.siblings);
        } else {
            window.reno_increase(acked);
        }
        self.leave();
    }

    fn threshold(&mut self, window: &Window, event: &CongestionEvent) -> f64 {
        self.slow_start.end();
        self.rule.on_loss();
        let threshold = match self.join(window) {
            true => self.rule.threshold(window, &self.siblings, event),
            false => Reno.threshold(window, event),
        };
        self.leave();
        threshold
    }

    fn on_timeout(&mut self) {
        self.rule.on_timeout();
    }

    fn on_idle_restart(&mut self) {
        self.slow_start.end();
        self.rule.on_idle_restart();
    }

    fn on_transmit_start(&mut self, _idle: Duration, _now: Instant) {
        self.rests_since = None;
    }
}

/// Kernel arithmetic: whole segments from fractions gathered over acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckCounter(u32);

impl AckCounter {
    /// One acknowledgement more; whether that makes `per_step` and a new count begins.
    pub fn steps(&mut self, per_step: u64) -> bool {
        let full = u64::from(self.0) >= per_step;
        self.0 = if full { 0 } else { self.0 + 1 };
        full
    }
}

#[cfg(test)]
impl<R: Rule> Share<R> {
    /// Its rule.
    pub const fn rule(&self) -> &R {
        &self.rule
    }
}

#[cfg(test)]
pub(crate) mod tests;

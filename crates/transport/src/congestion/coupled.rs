//! `Coupled`: common to the controls that couple the paths of a connection, over windows in
//! segments.
//!
//! Every path has the slow start, time-outs, undo and idle rules of `uncoupled` (RFC 6356 s3). A
//! `Rule` defines the increase in congestion avoidance and the threshold after a loss from the
//! windows and round-trip times of all paths with an RTT sample. A path alone is NewReno. A path
//! in fast recovery counts with its threshold instead of its present window (RFC 6356 s3).
//!
//! A path that had nothing in flight for longer than its round-trip time is left out of the sums:
//! RFC 6356 s3 counts the flight size where the application does not fill the window. The
//! multipath-tcp kernels count its window; a path of two segments that a scheduler waits for then
//! grows slowly for as long as an idle sibling has a large window. With `app-limited-alpha` a path
//! that the application does not fill counts with its flight (RFC 6356). `lisa` couples the
//! initial windows as well.

use super::law::Flow;
use super::lisa::{self, FirstSlowStart};
use super::reno;
use super::segment_window::SegmentWindow;
use super::uncoupled::{Algorithm, Uncoupled};
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Counting, Options, PathStart,
    Penalty,
};
use crate::parameters::Settings;
use base::{Duration, Instant, PathId};

/// The parameters that a user may set with the name of a coupled control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coupling {
    /// OLIA and BALIA: smallest threshold of one path among several, in segments; `None`: the
    /// kernel's.
    pub min_ssthresh_segs: Option<u32>,
    /// LIA: a window that is not filled counts with its flight.
    pub app_limited_alpha: bool,
    /// LIA, OLIA and BALIA: LISA, coupled initial windows.
    pub lisa: bool,
    /// wVegas: `initial_alpha`, segments in queues at the start of a path.
    pub initial_alpha_segs: u32,
    /// wVegas: `total_alpha`, segments in queues for all paths together.
    pub total_alpha_segs: u32,
    /// wVegas: `gamma`, queued segments that end slow start.
    pub gamma_segs: u32,
    /// wVegas: how long an RTT sample counts as the smallest; zero: for ever.
    pub base_window: Duration,
}

impl Coupling {
    /// The values of the sources.
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
///
/// `flows` are all paths with an RTT sample, the path itself last.
pub trait Rule {
    /// The state of a new path.
    fn new(options: &Options) -> Self;
    /// Adds to `flow` what the law needs of this path in addition to window and RTT.
    fn describe(&self, flow: Flow) -> Flow {
        flow
    }
    /// An acknowledgement, before any growth. Without an RTT sample the path itself is not among
    /// the flows.
    fn on_ack(&mut self, _: &mut SegmentWindow, _flows: &[Flow], _: &AckSample) {}
    /// Congestion avoidance of one path among several: `acked` segments were acknowledged while
    /// the window was the limit.
    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, flows: &[Flow]);
    /// The threshold after a congestion event on one path among several, as precise as the window
    /// that it follows from.
    fn ssthresh(&mut self, window: &SegmentWindow, _: &[Flow], _: &CongestionEvent) -> f64 {
        reno::ssthresh(window)
    }
    /// A congestion event, whether or not the path is alone.
    fn on_loss(&mut self) {}
    /// The retransmission timer expired.
    fn on_timeout(&mut self) {}
    /// Transmission resumes after more than an RTO without data in flight.
    fn on_idle_restart(&mut self) {}
}

/// The coupled windows of one connection.
#[derive(Clone, Debug)]
pub struct Coupled<R> {
    pub(super) paths: Uncoupled<CoupledPath<R>>,
    /// Reused for every acknowledgement.
    siblings: Vec<Flow>,
    lisa: bool,
}

impl<R: Rule> Coupled<R> {
    /// No path yet.
    pub const fn new(options: Options) -> Self {
        let lisa = options.coupling.lisa;
        Coupled { paths: Uncoupled::new(options), siblings: Vec::new(), lisa }
    }

    /// LISA: a new path takes its initial window from the fastest path in its first slow start.
    fn share_slow_start(&mut self, path: PathId, start: &PathStart) {
        let others = self.paths.parts().filter(|(id, ..)| *id != path);
        let rates = others
            .filter_map(|(id, window, other)| Some((id, other.first_slow_start_rate(window)?)));
        let Some((fastest, _)) = rates.max_by(|(_, one), (_, other)| one.total_cmp(other)) else {
            return;
        };
        let Some((window, donor)) = self.paths.parts_mut(fastest) else { return };
        let grant = lisa::grant(start.initial_window_segs(), window.cwnd_segs());
        window.set_cwnd(window.cwnd() - f64::from(grant.taken));
        donor.slow_start.on_taken(grant.taken);
        if let Some((window, _)) = self.paths.parts_mut(path) {
            window.set_cwnd(f64::from(grant.initial));
        }
    }

    /// Updates the siblings that a path sees.
    fn update_siblings(&mut self, path: PathId, now: Instant) {
        self.siblings.clear();
        let others = self.paths.parts().filter(|(id, ..)| *id != path);
        self.siblings.extend(others.filter_map(|(_, window, other)| other.flow(window, now)));
        if let Some(own) = self.paths.algorithm_mut(path) {
            std::mem::swap(&mut own.siblings, &mut self.siblings);
        }
    }

    fn set_recovering(&mut self, path: PathId, recovering: bool) {
        if let Some(path) = self.paths.algorithm_mut(path) {
            path.recovering = recovering;
        }
    }
}

impl<R: Rule> CongestionControl for Coupled<R> {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        self.paths.on_path_added(path, start);
        if let Some(path) = self.paths.algorithm_mut(path) {
            path.srtt = start.srtt;
        }
        if self.lisa {
            self.share_slow_start(path, start);
        }
    }

    fn on_path_removed(&mut self, path: PathId) {
        self.paths.on_path_removed(path);
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        self.update_siblings(path, sample.now);
        self.paths.on_ack(path, sample);
    }

    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        self.update_siblings(path, event.now);
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

/// The state of one path.
#[derive(Clone, Debug)]
pub(super) struct CoupledPath<R> {
    rule: R,
    srtt: Duration,
    /// In fast recovery: the window is not yet reduced, the threshold counts.
    recovering: bool,
    app_limited_alpha: bool,
    /// With `app_limited_alpha`: the flight if the window was not full, in segments.
    in_use: Option<f64>,
    /// Since when nothing is in flight; `None` in the kernel's arithmetic, where every window
    /// counts.
    idle_since: Option<Instant>,
    kernel_compat: bool,
    counting: Counting,
    slow_start: FirstSlowStart,
    /// The other paths at the present event.
    siblings: Vec<Flow>,
}

impl<R: Rule> CoupledPath<R> {
    /// The path as its siblings see it; `None` before its first RTT sample and while it is idle.
    fn flow(&self, window: &SegmentWindow, now: Instant) -> Option<Flow> {
        let cwnd = if self.recovering { window.ssthresh() } else { self.effective_window(window) };
        let counts = !self.srtt.is_zero() && !self.is_idle(now);
        let ssthresh = window.ssthresh();
        counts.then(|| self.rule.describe(Flow { ssthresh, ..Flow::new(cwnd, self.srtt) }))
    }

    /// Nothing is in flight for longer than between two bursts of a round trip.
    fn is_idle(&self, now: Instant) -> bool {
        self.idle_since.is_some_and(|since| now - since > self.srtt)
    }

    /// `w_i / rtt_i` in the first slow start.
    fn first_slow_start_rate(&self, window: &SegmentWindow) -> Option<f64> {
        let is_donor = self.slow_start.is_first() && window.in_slow_start();
        (is_donor && !self.srtt.is_zero()).then(|| window.cwnd() / self.srtt.as_secs_f64())
    }

    /// `w_i`: the window, or the part of it that is in use.
    fn effective_window(&self, window: &SegmentWindow) -> f64 {
        self.in_use.map_or(window.cwnd(), |in_use| in_use.min(window.cwnd()))
    }

    /// Appends the path itself to its siblings. Whether it is one among several.
    fn push_self(&mut self, window: &SegmentWindow) -> bool {
        if self.srtt.is_zero() {
            return false;
        }
        let ssthresh = window.ssthresh();
        let flow = Flow { ssthresh, ..Flow::new(self.effective_window(window), self.srtt) };
        self.siblings.push(self.rule.describe(flow));
        self.siblings.len() > 1
    }

    /// The inverse of `push_self`.
    fn pop_self(&mut self) {
        if !self.srtt.is_zero() {
            self.siblings.pop();
        }
    }
}

impl<R: Rule> Algorithm for CoupledPath<R> {
    fn new(options: &Options) -> Self {
        CoupledPath {
            rule: R::new(options),
            srtt: Duration::ZERO,
            recovering: false,
            app_limited_alpha: options.coupling.app_limited_alpha,
            in_use: options.coupling.app_limited_alpha.then_some(0.0),
            idle_since: None,
            kernel_compat: options.kernel_compat,
            counting: options.counting,
            slow_start: FirstSlowStart::NEW,
            siblings: Vec::new(),
        }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, sample: &AckSample) {
        self.srtt = sample.srtt;
        self.slow_start.on_ack(sample.acked_segs);
        let idle = !self.kernel_compat && sample.snd_una == sample.snd_nxt;
        self.idle_since = idle.then_some(sample.now);
        let unused = self.app_limited_alpha && !sample.cwnd_limited;
        self.in_use = unused.then(|| f64::from(sample.inflight_before_segs.max(1)));
        self.push_self(window);
        self.rule.on_ack(window, &self.siblings, sample);
        self.pop_self();
    }

    fn slow_start_credit(&self, acked: f64) -> f64 {
        self.slow_start.credit(acked)
    }

    fn increase(&mut self, window: &mut SegmentWindow, acked: f64, _sample: &AckSample) {
        self.slow_start.end();
        if self.push_self(window) {
            self.rule.increase(window, acked, &self.siblings);
        } else {
            reno::increase(window, acked, self.counting);
        }
        self.pop_self();
    }

    fn ssthresh(&mut self, window: &SegmentWindow, event: &CongestionEvent) -> f64 {
        self.slow_start.end();
        self.rule.on_loss();
        let ssthresh = match self.push_self(window) {
            true => self.rule.ssthresh(window, &self.siblings, event),
            false => reno::ssthresh(window),
        };
        self.pop_self();
        ssthresh
    }

    fn on_timeout(&mut self) {
        self.rule.on_timeout();
    }

    fn on_idle_restart(&mut self) {
        self.slow_start.end();
        self.rule.on_idle_restart();
    }

    fn on_transmit_start(&mut self, _idle: Duration, _now: Instant) {
        self.idle_since = None;
    }
}

/// The kernel's counter of acknowledgements, regardless of what each covers (`mptcp_coupled.c`:
/// compared, then incremented, so that a step takes one acknowledgement more than asked for).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckCounter(u32);

impl AckCounter {
    /// One more acknowledgement. Whether it completes a step.
    pub(super) fn steps(&mut self, per_step: u64) -> bool {
        let full = u64::from(self.0) >= per_step;
        self.0 = if full { 0 } else { self.0 + 1 };
        full
    }
}

#[cfg(test)]
impl<R: Rule> CoupledPath<R> {
    /// Its rule.
    pub(super) const fn rule(&self) -> &R {
        &self.rule
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! `ByteControl`: the windows of one SCTP association, in bytes, under one law (RFC 9260 s7.2).
//!
//! Every path is a `ByteWindow`; a `ByteLaw` determines the share of a step that is taken and the
//! window after a loss, from the windows and round-trip times of all paths. A path alone is NewReno
//! of
//! RFC 9260 under every law.

use super::PathGroups;
use super::byte_window::{Acknowledged, ByteWindow, Step};
use super::law::Flow;
use super::olia::LossInterval;
use super::{AckSample, BurstLimit, CongestionControl, CongestionEvent, CongestionKind, PathStart};
use base::{Duration, Instant, PathId};

/// The round-trip time of a path without a sample: RTO.Initial (RFC 9260 s16).
const UNMEASURED_RTT: Duration = Duration::from_secs(1);

/// A law over windows in bytes. The arguments are all paths, the number of the path concerned
/// among them and its PMDCS.
#[derive(Clone, Copy, Debug)]
pub struct ByteLaw {
    /// The share of a step of slow start that is taken, at most 1.
    pub slow_start_share: fn(&[Flow], usize, f64) -> f64,
    /// Change per acknowledged byte in congestion avoidance.
    pub increase: fn(&[Flow], usize, f64) -> f64,
    /// The threshold after a loss and after T3-rtx expired, before any floor.
    pub reduced: fn(&[Flow], usize) -> f64,
    /// The least threshold.
    pub floor: fn(&[Flow], usize, f64) -> f64,
    /// The initial window of a path among `n` is at most 4 PMDCS / n.
    pub shares_start: bool,
}

/// The windows of one association.
#[derive(Clone, Debug)]
pub struct ByteControl {
    law: ByteLaw,
    /// L of RFC 9260 s7.2.1: the most PMDCS that an acknowledgement adds in slow start.
    slow_start_limit: u32,
    groups: PathGroups,
    /// By `PathId`.
    paths: Vec<Option<Path>>,
    /// Reused for every acknowledgement.
    flows: Vec<Flow>,
}

#[derive(Clone, Debug)]
struct Path {
    window: ByteWindow,
    /// Zero before the first sample.
    srtt: Duration,
    interval: LossInterval,
}

impl Path {
    fn flow(&self) -> Flow {
        let srtt = if self.srtt.is_zero() { UNMEASURED_RTT } else { self.srtt };
        let flow = Flow::new(self.window.cwnd() as f64, srtt);
        let ssthresh = self.window.ssthresh().map_or(f64::INFINITY, |bytes| bytes as f64);
        Flow { loss_interval: self.interval.bytes(), ssthresh, ..flow }
    }
}

impl ByteControl {
    /// No path yet.
    pub const fn new(law: ByteLaw, slow_start_limit: u32, groups: PathGroups) -> Self {
        ByteControl { law, slow_start_limit, groups, paths: Vec::new(), flows: Vec::new() }
    }

    fn path(&self, path: PathId) -> Option<&Path> {
        self.paths.get(path.index())?.as_ref()
    }

    fn path_mut(&mut self, path: PathId) -> Option<&mut Path> {
        self.paths.get_mut(path.index())?.as_mut()
    }

    /// Updates the flows, those of the group of `path`, and returns its number among them.
    fn update_flows(&mut self, path: PathId) -> Option<usize> {
        self.path(path)?;
        self.flows.clear();
        let (group, mut own) = (self.groups.of(path), 0);
        for (other, state) in (0..).map(PathId).zip(&self.paths) {
            let Some(state) = state else { continue };
            if self.groups.of(other) != group {
                continue;
            }
            if other == path {
                own = self.flows.len();
            }
            self.flows.push(state.flow());
        }
        Some(own)
    }

    /// The threshold after a loss on `path`, in whole bytes.
    fn ssthresh_after_loss(&mut self, path: PathId) -> Option<u64> {
        let own = self.update_flows(path)?;
        let pmdcs = f64::from(self.path(path)?.window.pmdcs());
        let reduced = (self.law.reduced)(&self.flows, own);
        Some(reduced.max((self.law.floor)(&self.flows, own, pmdcs)) as u64)
    }

    fn grow(&mut self, path: PathId, step: Step) {
        let Some(own) = self.update_flows(path) else { return };
        let Some(Some(Path { window, .. })) = self.paths.get_mut(path.index()) else { return };
        let pmdcs = f64::from(window.pmdcs());
        match step {
            Step::None => {}
            Step::SlowStart(bytes) => {
                let share = (self.law.slow_start_share)(&self.flows, own, pmdcs);
                debug_assert!(share > 0.0 && share <= 1.0, "{share}");
                window.change(share * bytes as f64);
            }
            Step::CongestionAvoidance => {
                let per_byte = (self.law.increase)(&self.flows, own, pmdcs);
                window.change((per_byte * self.flows[own].cwnd).min(pmdcs));
            }
        }
    }
}

impl CongestionControl for ByteControl {
    fn on_path_added(&mut self, path: PathId, start: &PathStart) {
        let index = path.index();
        if self.paths.len() <= index {
            self.paths.resize_with(index + 1, || None);
        }
        let PathStart { mss, initial_window_bytes, initial_ssthresh_bytes, srtt, .. } = *start;
        let window = ByteWindow::new(mss, initial_window_bytes, initial_ssthresh_bytes);
        self.paths[index] = Some(Path { window, srtt, interval: LossInterval::default() });
    }

    fn on_path_removed(&mut self, path: PathId) {
        if let Some(slot) = self.paths.get_mut(path.index()) {
            *slot = None;
        }
    }

    fn on_ack(&mut self, path: PathId, sample: &AckSample) {
        let limit = self.slow_start_limit;
        let Some(state) = self.path_mut(path) else { return };
        state.srtt = sample.srtt;
        state.interval.on_ack(sample.snd_una);
        let acked = Acknowledged {
            bytes: sample.acked_bytes,
            fully_used: sample.cwnd_limited,
            may_grow: sample.may_grow,
            all_acked: sample.snd_una == sample.snd_nxt,
        };
        let step = state.window.on_ack(limit, acked);
        if step != Step::None {
            self.grow(path, step);
        }
    }

    /// Unlike TCP, a further expiry of T3-rtx lowers the threshold, too (RFC 9260 s6.3.3, rule E1).
    fn on_congestion(&mut self, path: PathId, event: &CongestionEvent) {
        let Some(ssthresh) = self.ssthresh_after_loss(path) else { return };
        let Some(path) = self.path_mut(path) else { return };
        let begins_interval = match event.kind {
            CongestionKind::FastRecovery => path.window.on_loss(ssthresh),
            CongestionKind::Rto | CongestionKind::RtoRepeated => {
                path.window.on_timeout(ssthresh);
                event.kind == CongestionKind::Rto
            }
        };
        if begins_interval {
            path.interval.on_loss();
        }
    }

    /// RFC 9260 has no proportional rate reduction: the window is at the threshold already.
    fn set_recovery_window(&mut self, _path: PathId, _cwnd_segs: u32) {}

    fn on_recovery_exit(&mut self, path: PathId, _now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.window.on_recovery_exit();
        }
    }

    /// RFC 9260 has no undo.
    fn on_undo(&mut self, _path: PathId, _now: Instant) {}

    fn on_idle_restart(&mut self, path: PathId, idle: Duration, rto: Duration, now: Instant) {
        if let Some(path) = self.path_mut(path) {
            path.window.decay(now - idle, rto, now);
        }
    }

    fn limit_window(&mut self, path: PathId, bytes: u64, how: BurstLimit) {
        if let Some(path) = self.path_mut(path) {
            path.window.limit(bytes, how);
        }
    }

    fn reduced_window(&mut self, path: PathId) -> Option<f64> {
        let own = self.update_flows(path)?;
        Some((self.law.reduced)(&self.flows, own))
    }

    fn set_segment_size(&mut self, path: PathId, mss: u32) {
        if let Some(path) = self.path_mut(path) {
            path.window.set_pmdcs(mss);
        }
    }

    #[inline]
    fn cwnd_bytes(&self, path: PathId) -> u64 {
        self.path(path).map_or(0, |path| path.window.cwnd())
    }

    fn cwnd_segs(&self, path: PathId) -> u32 {
        self.path(path).map_or(0, |path| whole_segs(&path.window, path.window.cwnd()))
    }

    fn ssthresh_bytes(&self, path: PathId) -> Option<u64> {
        self.path(path)?.window.ssthresh()
    }

    fn ssthresh_segs(&self, path: PathId) -> Option<u32> {
        let window = &self.path(path)?.window;
        window.ssthresh().map(|bytes| whole_segs(window, bytes))
    }
}

/// `bytes` in whole PMDCS.
fn whole_segs(window: &ByteWindow, bytes: u64) -> u32 {
    u32::try_from(bytes / u64::from(window.pmdcs())).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

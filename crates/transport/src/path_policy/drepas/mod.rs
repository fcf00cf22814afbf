//! DRePaS, dynamic relative path scoring (004 sV, Algorithm 2).
//!
//! Decision rule, every `period` for every path `i`:
//! `throughput_i = sinflight_i / srtt_i`, `factor_i = throughput_i / max_j throughput_j`,
//! `score_i = 1` if `factor_i >= mincontribution`, else `0`. An active path whose scores over
//! `interval` are all zero is probed only; a probed path whose score is one is active again.
//!
//! Not specified in 004: probes are copies of the newest data sent elsewhere; a path without RTT
//! sample cannot be judged and scores one; no path is judged while nothing is in flight; a path
//! that becomes active again begins without a history, as does every path after a pause of the
//! connection; backups at rest are not judged, and are not probed either. Paths that no longer work
//! leave the others alone: if all active ones failed, the probed ones are active at once.
//!
//! Finding data for probes and sending them is left to the connection.

#[cfg(test)]
mod tests;

use super::{AnyPolicy, PathPolicy, PolicyRow};
use crate::parameters::{Kind, Parameter, Settings};
use crate::scheduler::PathView;
use base::{Duration, Instant, PathId};
use std::collections::VecDeque;

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "mincontribution",
        about: "minimum throughput of a path, as a share of the best path's",
        least: 0.0,
        most: 1.0,
        default: 0.1,
        kind: Kind::Real,
        source: "004 sV",
    },
    time("interval", "time below the minimum until a path is suspended", 100.0, 3000.0),
    time("period", "time between two samples", 10.0, 100.0),
    time("window", "averaging time of the data in flight", 10.0, 500.0),
    Parameter {
        key: "probes",
        about: "packets per probe; 0: no probes",
        least: 0.0,
        most: 100.0,
        default: 10.0,
        kind: Kind::Whole,
        source: "004 sV",
    },
    Parameter {
        key: "probe-size",
        about: "size of a probe packet",
        least: 1.0,
        most: 1400.0,
        default: 1024.0,
        kind: Kind::Size,
        source: "004 sV",
    },
    time("probe-interval", "time between two probes", 100.0, 3000.0),
];

const fn time(key: &'static str, about: &'static str, least: f64, default: f64) -> Parameter {
    let source = "004 sV";
    Parameter { key, about, least, most: 60_000.0, default, kind: Kind::Time, source }
}

/// Its line in the table.
pub(super) const ROW: PolicyRow = PolicyRow {
    name: "drepas",
    about: "Suspends and probes a path whose throughput stays below a share of the best one's.",
    source: "004 sV",
    parameters: PARAMETERS,
    make: |settings| AnyPolicy::Drepas(Drepas::new(settings)),
};

/// Suspends paths that contribute too little.
#[derive(Clone, Debug)]
pub struct Drepas {
    mincontribution: f64,
    period: Duration,
    /// Samples of data in flight that are averaged.
    window: usize,
    /// Zero scores in a row that suspend a path.
    zeros: u32,
    probes: u32,
    probe_bytes: u32,
    probe_interval: Duration,
    next_sample: Option<Instant>,
    scored: Vec<Scored>,
}

/// The history of a path.
#[derive(Clone, Debug)]
struct Scored {
    id: PathId,
    /// Bytes, the newest last.
    inflight: VecDeque<u64>,
    /// Zero scores in a row.
    zeros: u32,
    /// It is not in play: a backup at rest.
    rests: bool,
    next_probe: Instant,
    /// Packets of the present probe that are still to go.
    probes_left: u32,
}

impl Drepas {
    /// With these parameters.
    pub fn new(settings: &Settings) -> Self {
        let period = settings.time("period");
        let periods = |key| {
            let nanos = settings.time(key).as_nanos();
            // At most a minute in periods of 10 ms.
            ((nanos + period.as_nanos() / 2) / period.as_nanos()).max(1) as u32
        };
        Drepas {
            mincontribution: settings.number("mincontribution"),
            period,
            window: periods("window") as usize,
            zeros: periods("interval"),
            probes: settings.whole("probes"),
            probe_bytes: settings.whole("probe-size"),
            probe_interval: settings.time("probe-interval"),
            next_sample: None,
            scored: Vec::new(),
        }
    }

    fn of(&mut self, id: PathId) -> Option<&mut Scored> {
        self.scored.iter_mut().find(|scored| scored.id == id)
    }

    /// Whether it is time for a sample; sets when the next one is.
    fn is_sampling(&mut self, now: Instant) -> bool {
        match self.next_sample {
            Some(at) if now < at => return false,
            Some(at) if now <= at + self.period => self.next_sample = Some(at + self.period),
            _ => {
                // Nothing was under way for a while: what was measured before is no matter.
                self.scored.iter_mut().for_each(Scored::forget);
                self.next_sample = Some(now + self.period);
            }
        }
        true
    }

    /// Take a sample of the paths in play; the histories of all others are void.
    fn sample(&mut self, paths: &[PathView], in_play: &[&PathView]) {
        self.scored.retain(|scored| paths.iter().any(|path| path.id == scored.id));
        for scored in &mut self.scored {
            scored.rests = !in_play.iter().any(|path| path.id == scored.id);
            if scored.rests {
                scored.forget();
            }
        }
        for path in in_play {
            if !self.scored.iter().any(|scored| scored.id == path.id) {
                self.scored.push(Scored::new(path.id));
            }
            let window = self.window;
            if let Some(scored) = self.of(path.id) {
                scored.inflight.push_back(path.window.inflight_bytes);
                if scored.inflight.len() > window {
                    scored.inflight.pop_front();
                }
            }
        }
    }

    /// The score of each path in play; `None`: nothing is in flight.
    fn scores(&self, in_play: &[&PathView]) -> Option<Vec<bool>> {
        let own = |path: &&PathView| {
            let scored = self.scored.iter().find(|scored| scored.id == path.id)?;
            throughput(scored.mean_inflight(), path.rtt.srtt)
        };
        let throughputs: Vec<Option<f64>> = in_play.iter().map(own).collect();
        let best = throughputs.iter().flatten().copied().fold(0.0, f64::max);
        let contributes =
            |own: &Option<f64>| own.is_none_or(|own| own >= self.mincontribution * best);
        (best > 0.0).then(|| throughputs.iter().map(contributes).collect())
    }

    /// The changes that follow from the scores.
    fn judge(&mut self, now: Instant, in_play: &[&PathView]) -> Vec<(PathId, bool)> {
        let Some(scores) = self.scores(in_play) else {
            self.scored.iter_mut().for_each(|scored| scored.zeros = 0);
            return Vec::new();
        };
        let (most, first_probe) = (self.zeros, now + self.probe_interval);
        let mut changes = Vec::new();
        for (path, contributes) in in_play.iter().zip(scores) {
            let Some(scored) = self.of(path.id) else { continue };
            scored.zeros = if contributes { 0 } else { scored.zeros + 1 };
            if path.probing && contributes {
                *scored = Scored::new(path.id);
                changes.push((path.id, false));
            } else if !path.probing && scored.zeros >= most {
                (scored.next_probe, scored.probes_left) = (first_probe, 0);
                changes.push((path.id, true));
            }
        }
        changes
    }
}

impl Scored {
    fn new(id: PathId) -> Self {
        let (inflight, next_probe) = (VecDeque::new(), Instant::ZERO);
        Scored { id, inflight, zeros: 0, rests: false, next_probe, probes_left: 0 }
    }

    /// Clears the history. The time of the next probe stays.
    fn forget(&mut self) {
        self.inflight.clear();
        self.zeros = 0;
    }

    /// Bytes; zero before the first sample.
    fn mean_inflight(&self) -> f64 {
        let sum: u64 = self.inflight.iter().sum();
        sum as f64 / self.inflight.len().max(1) as f64
    }
}

/// Bytes a second; `None` without an RTT sample.
fn throughput(sinflight: f64, srtt: Duration) -> Option<f64> {
    (!srtt.is_zero()).then(|| sinflight / srtt.as_secs_f64())
}

const fn is_usable(path: &PathView) -> bool {
    path.is_open()
}

/// The paths that carry data or could be made to: not those that failed, nor backups at rest.
fn in_play(paths: &[PathView]) -> Vec<&PathView> {
    let backups_rest = paths.iter().any(|path| is_usable(path) && path.is_active());
    let plays = |path: &&PathView| is_usable(path) && (path.is_active() || !backups_rest);
    paths.iter().filter(plays).collect()
}

impl PathPolicy for Drepas {
    fn review(&mut self, now: Instant, paths: &[PathView]) -> Vec<(PathId, bool)> {
        let in_play = in_play(paths);
        if in_play.iter().all(|path| path.probing) {
            self.scored.clear();
            return in_play.iter().map(|path| (path.id, false)).collect();
        }
        if !self.is_sampling(now) {
            return Vec::new();
        }
        self.sample(paths, &in_play);
        self.judge(now, &in_play)
    }

    fn next_probe(&mut self, now: Instant, path: &PathView) -> Option<u32> {
        let (probes, bytes, interval) = (self.probes, self.probe_bytes, self.probe_interval);
        let scored = self.of(path.id).filter(|scored| path.probing && !scored.rests)?;
        if now >= scored.next_probe {
            (scored.next_probe, scored.probes_left) = (now + interval, probes);
        }
        let room = path.free_segs() > 0 && path.queue.unsent_bytes == 0;
        (scored.probes_left > 0 && is_usable(path) && room).then_some(bytes)
    }

    fn on_probe_sent(&mut self, path: PathId) {
        if let Some(scored) = self.of(path) {
            scored.probes_left = scored.probes_left.saturating_sub(1);
        }
    }

    fn on_path_added(&mut self, path: PathId) {
        self.scored.retain(|scored| scored.id != path);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_sample.filter(|_| self.scored.len() > 1)
    }
}

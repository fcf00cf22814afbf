//! Times by state of a variant's connections, and repeated segments: means over repetitions.
//! docs/results.md defines the terms.

use crate::run::Run;
use crate::scenario::Scenario;
use base::Blocked;
use harness::{Held, Repeated};

/// Means over the repetitions with accounts.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocking {
    /// Seconds from the opening of the data sender's connections until the run was over, over all
    /// of them.
    pub life: f64,
    /// By the place of the reason in `Blocked::ALL`; the times add up to `life`.
    pub stopped: Vec<Lost>,
    /// The reader waited while later bytes had arrived.
    pub head_of_line: Lost,
}

/// Time and bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lost {
    /// Seconds.
    pub time: f64,
    /// Bytes that had to wait, each counted once.
    pub bytes: f64,
}

/// Repeated segments on a path, per repetition.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeats {
    /// Name of the path.
    pub path: String,
    /// Segments retransmitted on the path that the receiver had already.
    pub spurious_segs: f64,
    /// Segments assigned to it although another path had them.
    pub reinjected_segs: f64,
    /// Payload of `reinjected_segs`.
    pub reinjected_bytes: f64,
}

impl Blocking {
    /// Means over these runs; `None` without accounts, as of kernels.
    pub(crate) fn mean(runs: &[Run]) -> Option<Blocking> {
        let accounts: Vec<_> = runs.iter().filter_map(|run| run.account.as_ref()).collect();
        let n = accounts.len() as f64;
        if accounts.is_empty() {
            return None;
        }
        let mean = |of: &dyn Fn(usize) -> Held| {
            let held = || (0..accounts.len()).map(of);
            let time: f64 = held().map(|held| held.time.as_secs_f64()).sum();
            let bytes: u64 = held().map(|held| held.bytes).sum();
            Lost { time: time / n, bytes: bytes as f64 / n }
        };
        let each = Blocked::ALL.iter().map(|why| mean(&|run| accounts[run].of(*why)));
        Some(Blocking {
            life: accounts.iter().map(|account| account.life.as_secs_f64()).sum::<f64>() / n,
            stopped: each.collect(),
            head_of_line: mean(&|run| accounts[run].head_of_line),
        })
    }

    /// Time and bytes of one reason.
    pub fn of(&self, why: Blocked) -> Lost {
        self.stopped.get(why.index()).copied().unwrap_or_default()
    }

    /// Its share of the life.
    pub fn share(&self, why: Blocked) -> f64 {
        if self.life > 0.0 { self.of(why).time / self.life } else { 0.0 }
    }
}

impl Repeats {
    /// Means of every path.
    pub(crate) fn mean(scenario: &Scenario, runs: &[Run]) -> Vec<Repeats> {
        let mean = |path: usize, of: fn(&Repeated) -> u64| {
            let sum: u64 = runs.iter().filter_map(|run| run.repeated.get(path)).map(of).sum();
            sum as f64 / runs.len().max(1) as f64
        };
        let of = |(index, path): (usize, &crate::path_spec::PathSpec)| Repeats {
            path: path.name.clone(),
            spurious_segs: mean(index, |repeated| repeated.spurious_segs),
            reinjected_segs: mean(index, |repeated| repeated.reinjected_segs),
            reinjected_bytes: mean(index, |repeated| repeated.reinjected_bytes),
        };
        scenario.paths.iter().enumerate().map(of).collect()
    }
}

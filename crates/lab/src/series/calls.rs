//! The calls of a scheduler as series, for the figure that 002 draws (its Fig. 6).
//!
//! Every call adds one point of the compared number and one of the marks for every path of the
//! scenario, and one of the choice for the connection; the n-th points are of one call. Only the
//! first calls with data on offer are kept.

use super::{Points, Quantity};
use base::decision::{Answer, Candidate, Mark, SchedulerCall, Unit};
use base::{Instant, PathId};
use std::collections::BTreeMap;

/// Largest number of calls kept, smaller than the length of thinned series.
pub const MOST_CALLS: usize = 2_000;
/// The choice of a call that nothing sent.
pub const WAITS: f64 = -1.0;

/// The marks in a value of `Quantity::CallMarks`, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallMarks(u32);

impl CallMarks {
    const FULL: u32 = 1;
    const SMALL_QUEUE: u32 = 2;
    const UNUSABLE: u32 = 4;

    /// The marks in a value.
    pub const fn of(value: f64) -> CallMarks {
        CallMarks(value as u32)
    }

    /// The congestion window is full.
    pub const fn is_full(self) -> bool {
        self.0 & CallMarks::FULL != 0
    }

    /// TCP Small Queues limits the path.
    pub const fn is_held_by_small_queue(self) -> bool {
        self.0 & CallMarks::SMALL_QUEUE != 0
    }

    /// There is no subflow, or it cannot carry data.
    pub const fn is_unusable(self) -> bool {
        self.0 & CallMarks::UNUSABLE != 0
    }

    fn of_candidate(path: &Candidate) -> CallMarks {
        let unusable = [Mark::Closed, Mark::Failed, Mark::Loss];
        let has = |mark: Mark, bit: u32| if path.marks.contains(mark) { bit } else { 0 };
        let unusable = unusable.map(|mark| has(mark, CallMarks::UNUSABLE));
        CallMarks(
            has(Mark::WindowFull, CallMarks::FULL)
                | has(Mark::SmallQueue, CallMarks::SMALL_QUEUE)
                | unusable.into_iter().fold(0, |all, bit| all | bit),
        )
    }
}

/// The calls of a connection's scheduler.
#[derive(Debug, Default)]
pub(super) struct Calls {
    seen: usize,
    choices: Points,
    /// By path of the scenario.
    compared: Vec<Points>,
    marks: Vec<Points>,
}

impl Calls {
    /// Add a call, of a scenario with this many paths.
    pub(super) fn add(&mut self, now: Instant, call: &SchedulerCall, paths: usize) {
        if call.offered.is_none() || self.seen >= MOST_CALLS {
            return;
        }
        self.seen += 1;
        self.compared.resize(paths, Points::new());
        self.marks.resize(paths, Points::new());
        for index in 0..paths {
            let on_path = || call.paths.iter().filter(|path| path.interface.index() == index);
            // Of several subflows, a usable one.
            let usable = |path: &&Candidate| !CallMarks::of_candidate(path).is_unusable();
            let path = on_path().find(usable).or_else(|| on_path().next());
            let marks = path.map_or(CallMarks(CallMarks::UNUSABLE), CallMarks::of_candidate);
            self.compared[index].push((now, path.map_or(0.0, |path| compared(call, path))));
            self.marks[index].push((now, f64::from(marks.0)));
        }
        self.choices.push((now, choice(call)));
    }

    /// The calls as series by quantity and path.
    pub(super) fn into_series(self) -> BTreeMap<(Quantity, Option<usize>), Points> {
        let mut series = BTreeMap::new();
        series.insert((Quantity::CallChoice, None), self.choices);
        for (index, (compared, marks)) in self.compared.into_iter().zip(self.marks).enumerate() {
            series.insert((Quantity::CallCompared, Some(index)), compared);
            series.insert((Quantity::CallMarks, Some(index)), marks);
        }
        series
    }
}

/// The time that the scheduler compares for a path; otherwise the smoothed RTT.
fn compared(call: &SchedulerCall, path: &Candidate) -> f64 {
    let scores = call.why.as_ref().map_or(&[][..], |why| &why.scores);
    let own = scores.iter().find(|score| score.path == path.path && score.unit == Unit::Seconds);
    own.map_or(path.srtt.as_secs_f64(), |score| score.value)
}

fn choice(call: &SchedulerCall) -> f64 {
    let interface = |id: PathId| {
        let path = call.paths.iter().find(|path| path.path == id);
        path.map_or(WAITS, |path| f64::from(path.interface.0))
    };
    match call.answer {
        Answer::Send { path, .. } => interface(path),
        Answer::Wait(_) => WAITS,
    }
}

//! The links of one repetition: values drawn from ranges, traces with their offset.
//!
//! Everything depends on (seed, run, path) only and never on the variant: variants are paired.

use super::{CapacitySpec, Change, Direction, Limits, LinkSpec, Loss, PathSpec, Span, TimedChange};
use crate::units::QueueLimit;
use base::chance::owner_of;
use base::{Chance, Duration, Purpose, Rate};
use network::{Capacity, Limit, LinkChange, LinkConfig, LossConfig};
use simulator::{BackupMark, Mark, PathEvent, PathMark, PathSetup};
use std::sync::Arc;

/// Indices of the draws of a path's parameters; one draw serves both directions.
const RATE: u64 = 0;
const DELAY: u64 = 1;
const LOSS: u64 = 2;
const LIMIT: u64 = 3;
const NOISE: u64 = 4;
/// Owner of the draw of trace offsets.
const TRACES: u64 = owner_of("traces");

impl PathSpec {
    /// The path of repetition `run` of a study with `seed`.
    pub fn draw(&self, seed: u64, run: u64) -> PathSetup {
        let dice = Dice { chance: Chance::new(seed, run), owner: owner_of(&self.name) };
        let down = dice.link(&self.down);
        let up = dice.link(&self.up);
        let mut events = Vec::new();
        for event in &self.events {
            let sides = match (event.direction, event.change) {
                // The former values of the two directions may differ.
                (Direction::Both, Change::Rate(_) | Change::Delay(_) | Change::Loss(_)) => {
                    vec![Direction::Down, Direction::Up]
                }
                (direction, _) => vec![direction],
            };
            for direction in sides {
                let link = if direction == Direction::Up { &up } else { &down };
                events.extend(pair(event, direction, link));
            }
        }
        // Ends come before beginnings at the same time.
        events.sort_by_key(|(event, begins)| (event.at, *begins));
        let events = events.into_iter().map(|(event, _)| event).collect();
        PathSetup { name: self.name.clone(), down, up, events }
    }

    /// The same with an extra delay of up to `noise` in both directions, at all times.
    pub(crate) fn draw_with_noise(&self, (seed, run): (u64, u64), noise: Duration) -> PathSetup {
        let mut path = self.draw(seed, run);
        let chance = Chance::new(seed, run);
        let share = chance.uniform(owner_of(&self.name), Purpose::PathParameter, NOISE);
        let extra = Duration::from_nanos((share * noise.as_nanos() as f64) as u64);
        path.down.delay += extra;
        path.up.delay += extra;
        for event in &mut path.events {
            if let LinkChange::Delay(delay) = &mut event.change {
                *delay += extra;
            }
        }
        path
    }

    /// Backup changes of path number `path` of a run.
    pub fn backup_marks(&self, path: usize) -> Vec<BackupMark> {
        let marks = self.events.iter().filter(|event| event.change == Change::Backup);
        let marks = marks.flat_map(|event| {
            let begin = BackupMark { path, at: event.start, on: true };
            let end = event.end.map(|at| BackupMark { path, at, on: false });
            std::iter::once(begin).chain(end)
        });
        let mut marks: Vec<BackupMark> = marks.collect();
        // Ends come before beginnings at the same time.
        marks.sort_by_key(|mark| (mark.at, mark.on));
        marks
    }

    /// Events of the connections and addresses of path number `path` of a run.
    pub fn marks(&self, path: usize) -> Vec<PathMark> {
        let of = |event: &TimedChange| {
            let what = match event.change {
                Change::Reset => Mark::Reset,
                Change::Removed => Mark::Removed,
                _ => return Vec::new(),
            };
            let begin = PathMark { path, at: event.start, what };
            let end = event.end.map(|at| PathMark { path, at, what: Mark::Returned });
            std::iter::once(begin).chain(end).collect()
        };
        let mut marks: Vec<PathMark> = self.events.iter().flat_map(of).collect();
        // Ends come before beginnings at the same time.
        marks.sort_by_key(|mark| (mark.at, mark.what != Mark::Returned));
        marks
    }
}

/// Begin and end of a timed change of a link.
fn pair(event: &TimedChange, direction: Direction, link: &LinkConfig) -> Vec<(PathEvent, bool)> {
    let (begin, end) = match event.change {
        // These belong to the path, not to its links: see `backup_marks` and `marks`.
        Change::Backup | Change::Reset | Change::Removed => return Vec::new(),
        Change::Down => (LinkChange::Down, LinkChange::Up),
        Change::Silent => (LinkChange::Silent, LinkChange::Up),
        Change::Rate(rate) => (LinkChange::Rate(rate), LinkChange::Capacity(link.capacity.clone())),
        Change::Delay(delay) => (LinkChange::Delay(delay), LinkChange::Delay(link.delay)),
        Change::Loss(p) => (LinkChange::Loss(bernoulli(p)), LinkChange::Loss(link.loss)),
    };
    let mut both = vec![(PathEvent { at: event.start, direction, change: begin }, true)];
    if let Some(at) = event.end {
        both.push((PathEvent { at, direction, change: end }, false));
    }
    both
}

fn bernoulli(p: f64) -> LossConfig {
    if p > 0.0 { LossConfig::Bernoulli { p } } else { LossConfig::None }
}

/// Random draws of one path in one repetition.
struct Dice {
    chance: Chance,
    owner: u64,
}

impl Dice {
    fn link(&self, spec: &LinkSpec) -> LinkConfig {
        LinkConfig {
            capacity: self.capacity(&spec.capacity),
            delay: self.time(spec.delay),
            jitter: spec.jitter,
            limit: self.limit(spec.limit),
            queue: spec.queue,
            loss: self.loss(spec.loss),
            reorder: spec.reorder,
            duplicate: spec.duplicate,
            corrupt: spec.corrupt,
        }
    }

    fn capacity(&self, capacity: &CapacitySpec) -> Capacity {
        match capacity {
            CapacitySpec::Rate(rate) => {
                // No rate is zero.
                Capacity::Rate(Rate::from_bps(self.whole(rate.map(Rate::as_bps), RATE).max(1)))
            }
            CapacitySpec::Unlimited => Capacity::Unlimited,
            CapacitySpec::Trace(trace) => {
                let trace = Arc::clone(&trace.capacity);
                // Keyed by the run alone, so that recordings made together stay synchronous.
                let share = self.chance.uniform(TRACES, Purpose::TraceOffset, 0);
                let millis = share * trace.period().as_millis() as f64;
                Capacity::Trace { trace, offset: Duration::from_millis(millis as u64) }
            }
        }
    }

    fn time(&self, span: Span<Duration>) -> Duration {
        Duration::from_nanos(self.whole(span.map(|time| time.as_nanos()), DELAY))
    }

    fn loss(&self, loss: Loss) -> LossConfig {
        match loss {
            Loss::Random(span) => bernoulli(span.draw(&self.chance, self.owner, LOSS)),
            Loss::GilbertElliott { p, r, one_minus_h, one_minus_k } => {
                LossConfig::GilbertElliott { p, r, one_minus_h, one_minus_k }
            }
        }
    }

    fn limit(&self, limits: Limits) -> Limit {
        let amount = |limit| match limit {
            QueueLimit::Packets(n) | QueueLimit::Bytes(n) => n,
            QueueLimit::Time(time) => time.as_nanos(),
        };
        // No queue is without room.
        let drawn = self.whole(limits.0.map(amount), LIMIT).max(1);
        match limits.0.low {
            QueueLimit::Packets(_) => Limit::Packets(u32::try_from(drawn).unwrap_or(u32::MAX)),
            QueueLimit::Bytes(_) => Limit::Bytes(drawn),
            QueueLimit::Time(_) => Limit::Time(Duration::from_nanos(drawn)),
        }
    }

    fn whole(&self, span: Span<u64>, index: u64) -> u64 {
        span.draw(&self.chance, self.owner, index)
    }
}

//! The links of all paths in the order of time, as a world that follows a clock.
//!
//! Each path has two lanes: network card (if there is one), then link. They are numbered, keyed and
//! driven as the simulator's, so that the n-th packet of a link has the same draw in both.
//! Everything happens at the moment it is due, even if it is polled later: a packet leaves the card
//! and enters the link at its due time, so being late does not add up. Reading clocks and devices
//! is the loop's.

use base::{Chance, Context, Instant, LinkId};
use network::{
    Capacity, Direction, Limit, Link, LinkConfig, LinkStats, NicSetup, PathCounters, PathSetup,
    ScheduledChange,
};
use std::collections::VecDeque;
use wire::Packet;

/// The directions of a path, in the order in which links are numbered.
const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

/// One direction of one path.
struct Lane {
    /// The sending host's card.
    nic: Option<Link>,
    link: Link,
    /// Still to come, earliest first.
    changes: VecDeque<ScheduledChange>,
}

/// Where something is in a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Change,
    Nic,
    Link,
}

/// Something that leaves the links.
#[derive(Debug)]
pub(super) enum Output {
    /// A packet is to be delivered to the host at the far end.
    Delivery { path: usize, direction: Direction, due: Instant, packet: Box<Packet> },
    /// The host that sends in this direction is to be notified that its interface went up or down.
    Notify { path: usize, direction: Direction, up: bool },
}

/// All links of a run.
pub(super) struct Lanes {
    /// Down and up, path by path.
    lanes: Vec<Lane>,
    chance: Chance,
    /// When the last thing happened. A packet that waited for a slower one before it, because the
    /// delay fell, leaves then, though it was due earlier.
    reached: Instant,
    /// What happens next, kept so that looking is cheap.
    next: Option<(Instant, usize, Stage)>,
}

impl Lanes {
    /// The links of repetition `run` of a study with `seed`, at time zero.
    pub(super) fn new(paths: &[PathSetup], nic: Option<NicSetup>, seed: u64, run: u64) -> Self {
        let sides = paths.iter().flat_map(|path| DIRECTIONS.map(|direction| (path, direction)));
        let cards = 2 * paths.len();
        let lane = |(number, (path, direction)): (usize, (&PathSetup, Direction))| {
            let config = if direction == Direction::Up { &path.up } else { &path.down };
            let id = |number: usize| LinkId(number as u32);
            Lane {
                nic: nic.map(|nic| card(nic, id(cards + number))),
                link: Link::new(id(number), config.clone(), path.owner(direction)),
                changes: path.changes(direction).into(),
            }
        };
        let lanes = sides.enumerate().map(lane).collect();
        let mut lanes =
            Lanes { lanes, chance: Chance::new(seed, run), reached: Instant::ZERO, next: None };
        lanes.look_ahead();
        lanes
    }

    /// A host sends a packet. What was due by `now` must have been polled.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        path: usize,
        direction: Direction,
        packet: Packet,
    ) {
        debug_assert!(self.next_deadline().is_none_or(|due| due > now), "drain before");
        let mut cx = Context::quiet(now, self.chance);
        let lane = &mut self.lanes[number_of(path, direction)];
        match &mut lane.nic {
            Some(nic) => nic.enqueue(&mut cx, packet),
            None => lane.link.enqueue(&mut cx, packet),
        };
        self.look_ahead();
    }

    /// When something happens next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next.map(|(due, ..)| due)
    }

    /// Let happen what is due by `now`, up to the next thing that leaves the links.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Output> {
        while let Some((due, number, stage)) = self.next
            && due <= now
        {
            self.reached = self.reached.max(due);
            let output = self.happen(self.reached, number, stage);
            self.look_ahead();
            if output.is_some() {
                return output;
            }
        }
        None
    }

    /// What the links of each path counted.
    pub(super) fn counters(&self) -> Vec<PathCounters> {
        let stats = |lane: &Lane| lane.link.stats();
        let pair = |pair: &[Lane]| PathCounters { down: stats(&pair[0]), up: stats(&pair[1]) };
        self.lanes.chunks_exact(2).map(pair).collect()
    }

    /// What the cards before the links of a path counted: the server's, the client's.
    pub(super) fn nic_counters(&self, path: usize) -> [LinkStats; 2] {
        DIRECTIONS.map(|direction| {
            let nic = self.lanes[number_of(path, direction)].nic.as_ref();
            nic.map_or(LinkStats::default(), |nic| nic.stats())
        })
    }

    fn happen(&mut self, due: Instant, number: usize, stage: Stage) -> Option<Output> {
        let mut cx = Context::quiet(due, self.chance);
        let lane = &mut self.lanes[number];
        let (path, direction) = (number / 2, DIRECTIONS[number % 2]);
        match stage {
            Stage::Change => {
                let ScheduledChange { change, notify_up, .. } = lane.changes.pop_front()?;
                lane.link.apply(&mut cx, change);
                notify_up.map(|up| Output::Notify { path, direction, up })
            }
            Stage::Nic => {
                if let Some(packet) = lane.nic.as_mut().and_then(|nic| nic.poll(&mut cx)) {
                    lane.link.enqueue(&mut cx, packet);
                }
                None
            }
            Stage::Link => {
                let packet = lane.link.poll(&mut cx)?;
                Some(Output::Delivery { path, direction, due, packet })
            }
        }
    }

    /// Find what is next. A scan: there are few links.
    fn look_ahead(&mut self) {
        let of_lane = |(number, lane): (usize, &Lane)| {
            let change = lane.changes.front().map(|change| Instant::ZERO + change.at);
            let nic = lane.nic.as_ref().and_then(Link::next_deadline);
            let stages = [
                (change, Stage::Change),
                (nic, Stage::Nic),
                (lane.link.next_deadline(), Stage::Link),
            ];
            let due = stages.into_iter().filter_map(|(due, stage)| Some((due?, number, stage)));
            due.min_by_key(|(due, _, stage)| (*due, *stage))
        };
        let lanes = self.lanes.iter().enumerate();
        // Changes first, as in the simulator, whose events they are from the beginning.
        self.next = lanes
            .filter_map(of_lane)
            .min_by_key(|(due, number, stage)| (*due, *stage != Stage::Change, *number));
    }
}

const fn number_of(path: usize, direction: Direction) -> usize {
    match direction {
        Direction::Up => 2 * path + 1,
        Direction::Down | Direction::Both => 2 * path,
    }
}

/// A card is a link without delay and loss: it draws nothing.
fn card(nic: NicSetup, id: LinkId) -> Link {
    let config = LinkConfig {
        capacity: Capacity::Rate(nic.rate),
        limit: Limit::Packets(nic.queue_packets),
        ..LinkConfig::default()
    };
    Link::new(id, config, 0)
}

#[cfg(test)]
mod tests;

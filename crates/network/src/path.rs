//! A path between two hosts: one link each way, scheduled changes, a NIC before it.
//!
//! The simulator and the emulator build the same links from it, with the same keys of random draws,
//! and notify the sending host of the same changes. Driving links is left to them.

use crate::link_config::{LinkChange, LinkConfig};
use crate::link_stats::LinkStats;
use base::{Duration, Rate, chance};

/// A path between client and server.
#[derive(Clone, Debug)]
pub struct PathSetup {
    /// Names the path in captures and, with the direction, keys its random draws.
    pub name: String,
    /// Server to client.
    pub down: LinkConfig,
    /// Client to server.
    pub up: LinkConfig,
    /// In any order; equal times in the order given.
    pub events: Vec<PathEvent>,
}

/// A scheduled change of a path.
#[derive(Clone, Debug)]
pub struct PathEvent {
    /// Since the start of the run.
    pub at: Duration,
    /// The links that change.
    pub direction: Direction,
    /// The host that sends into the link is notified of `Down` and the following `Up`, but not of
    /// `Silent`.
    pub change: LinkChange,
}

/// The links of a path that an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Both links.
    Both,
    /// Server to client.
    Down,
    /// Client to server.
    Up,
}

/// The NIC link before a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicSetup {
    /// Rate at which packets leave the queue.
    pub rate: Rate,
    /// Limit of the queue, in packets; the packet in service is not counted.
    pub queue_packets: u32,
}

/// Counters of the links of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCounters {
    /// The link from server to client.
    pub down: LinkStats,
    /// The link from client to server.
    pub up: LinkStats,
}

/// A change of one link, and the notification of the host that sends into it.
#[derive(Clone, Debug)]
pub struct ScheduledChange {
    /// Since the start of the run.
    pub at: Duration,
    /// The change of the link.
    pub change: LinkChange,
    /// Notification of the host: the interface went up, or down; `None` without a notification.
    pub notify_up: Option<bool>,
}

impl Default for NicSetup {
    /// 1 Gbit/s and 1000 packets, Linux's `txqueuelen`.
    fn default() -> Self {
        NicSetup { rate: Rate::from_mbit(1000), queue_packets: 1000 }
    }
}

impl PathSetup {
    /// The key of the random draws of one of the links. It depends on the name, not the number, so
    /// a path has the same draws in variants with other paths.
    pub fn owner(&self, direction: Direction) -> u64 {
        let word = if direction == Direction::Up { "up" } else { "down" };
        chance::owner_of(&format!("{}/{word}", self.name))
    }

    /// The changes of one of the links, in the order of time.
    pub fn changes(&self, direction: Direction) -> Vec<ScheduledChange> {
        let concerns = |event: &&PathEvent| [direction, Direction::Both].contains(&event.direction);
        let mut events: Vec<&PathEvent> = self.events.iter().filter(concerns).collect();
        events.sort_by_key(|event| event.at);
        let mut is_known_down = false;
        let schedule = |event: &PathEvent| {
            let notify_up = match event.change {
                LinkChange::Down => Some(false),
                LinkChange::Up if is_known_down => Some(true),
                _ => None,
            };
            is_known_down = notify_up.map_or(is_known_down, |up| !up);
            ScheduledChange { at: event.at, change: event.change.clone(), notify_up }
        };
        events.into_iter().map(schedule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(events: Vec<(u64, Direction, LinkChange)>) -> PathSetup {
        let event = |(seconds, direction, change)| PathEvent {
            at: Duration::from_secs(seconds),
            direction,
            change,
        };
        PathSetup {
            name: "wlan".to_owned(),
            down: LinkConfig::default(),
            up: LinkConfig::default(),
            events: events.into_iter().map(event).collect(),
        }
    }

    #[test]
    fn host_hears_of_an_outage_and_its_end_but_of_nothing_silent() {
        let path = path(vec![
            (9, Direction::Up, LinkChange::Up),
            (1, Direction::Both, LinkChange::Silent),
            (2, Direction::Both, LinkChange::Up),
            (3, Direction::Up, LinkChange::Down),
            (4, Direction::Down, LinkChange::Delay(Duration::ZERO)),
        ]);
        let notified = |direction| -> Vec<(u64, Option<bool>)> {
            let changes = path.changes(direction);
            changes.iter().map(|c| (c.at.as_nanos() / 1_000_000_000, c.notify_up)).collect()
        };
        assert_eq!(
            notified(Direction::Up),
            [(1, None), (2, None), (3, Some(false)), (9, Some(true))]
        );
        assert_eq!(notified(Direction::Down), [(1, None), (2, None), (4, None)]);
    }

    #[test]
    fn draws_are_keyed_by_name_and_direction() {
        let path = path(Vec::new());
        assert_eq!(path.owner(Direction::Down), chance::owner_of("wlan/down"));
        assert_ne!(path.owner(Direction::Up), path.owner(Direction::Down));
    }
}

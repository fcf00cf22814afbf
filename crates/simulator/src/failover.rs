//! How long an application hears nothing when a path fails.
//!
//! A path fails when its link goes down, silently or not, when its delay grows by 200 ms or more
//! (what no retransmission timer overlooks), when its connections are reset, or when its address is
//! withdrawn. Of each such moment the recorder keeps the longest time between two deliveries in
//! order to the application that overlaps the second after it, or what of that second is left until
//! the next event of that path. What was under way at that moment still arrives, so that this is
//! the time from the last delivery before to the first one after; what happens later has other
//! reasons.

use crate::run::{Mark, Protocol, RunSetup};
use base::{Duration, Event, EventMask, HostId, Instant, Recorder};
use network::{Direction, LinkChange, LossConfig, PathSetup};

/// A delay that grows by less is no failure: Linux's smallest retransmission time-out.
const EXPLOSION: Duration = Duration::from_millis(200);

/// In so much time after it everything that was under way has arrived.
const SPAN: Duration = Duration::from_secs(1);

/// How a path fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The link, and the hosts are told.
    Down,
    /// The link, and nobody is told.
    Silent,
    /// The delay grows.
    Delay,
    /// Connections are reset.
    Reset,
    /// The address is withdrawn.
    Removed,
}

impl Kind {
    /// As paths spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Down => "down",
            Kind::Silent => "silent",
            Kind::Delay => "delay",
            Kind::Reset => "reset",
            Kind::Removed => "removed",
        }
    }
}

/// A path fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disruption {
    /// Index of the path.
    pub path: usize,
    pub kind: Kind,
    /// Since the start of the run.
    pub at: Duration,
    /// A gap that begins later has other reasons.
    pub until: Duration,
}

/// What became of the data then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailoverTime {
    /// Index of the path.
    pub path: usize,
    pub kind: Kind,
    /// Since the start of the run.
    pub at: Duration,
    /// From the last delivery before to the first one after; `None`: there was none after.
    pub time: Option<Duration>,
}

/// The failures of paths that a run may use, in the order of time. Paths that are not there from
/// the start do not fail, they appear.
pub fn disruptions(setup: &RunSetup) -> Vec<Disruption> {
    let used = |path: &usize| match setup.protocol {
        Protocol::Tcp { path: only } => *path == only,
        Protocol::Mptcp(_) => true,
    };
    let of = |path: usize| of_path(setup, path);
    let mut all: Vec<Disruption> = (0..setup.paths.len()).filter(used).flat_map(of).collect();
    all.sort_by_key(|disruption| (disruption.at, disruption.path));
    all
}

/// The failures of a path.
fn of_path(setup: &RunSetup, path: usize) -> Vec<Disruption> {
    let links = link_events(&setup.paths[path]);
    let marks = setup.marks.iter().filter(|mark| mark.path == path).map(|mark| {
        let kind = match mark.what {
            Mark::Reset => Some(Kind::Reset),
            Mark::Removed => Some(Kind::Removed),
            Mark::Returned => None,
        };
        (mark.at, kind)
    });
    let mut events: Vec<(Duration, Option<Kind>)> = links.into_iter().chain(marks).collect();
    events.sort_by_key(|(at, kind)| (*at, kind.is_none()));
    // Both directions change at the same moment.
    events.dedup_by_key(|(at, _)| *at);
    let until = |next: Option<&(Duration, Option<Kind>)>| next.map_or(Duration::MAX, |(at, _)| *at);
    let events = events.iter().enumerate();
    let failing = events.clone().filter_map(|(place, (at, kind))| {
        let kind = kind.filter(|_| !at.is_zero())?;
        let until = until(events.clone().nth(place + 1).map(|(_, next)| next)).min(*at + SPAN);
        Some(Disruption { path, kind, at: *at, until })
    });
    failing.collect()
}

/// Every event of a path's links: when, and how the path fails by it, if it does.
fn link_events(path: &PathSetup) -> Vec<(Duration, Option<Kind>)> {
    let mut events = Vec::new();
    for (direction, link) in [(Direction::Down, &path.down), (Direction::Up, &path.up)] {
        let mut delay = link.delay;
        for change in path.changes(direction) {
            let kind = match change.change {
                LinkChange::Down => Some(Kind::Down),
                LinkChange::Silent => Some(Kind::Silent),
                LinkChange::Loss(LossConfig::Bernoulli { p }) if p >= 1.0 => Some(Kind::Silent),
                LinkChange::Delay(new) => {
                    let grows = new >= delay + EXPLOSION;
                    delay = new;
                    grows.then_some(Kind::Delay)
                }
                _ => None,
            };
            events.push((change.at, kind));
        }
    }
    events
}

/// Watches for gaps between deliveries.
#[derive(Debug)]
pub(crate) struct Gaps {
    receiver: HostId,
    /// In the order of time, with the longest gap so far.
    watched: Vec<(Disruption, Duration)>,
    last: Instant,
}

impl Gaps {
    /// Of what `receiver` reads.
    pub(crate) fn new(receiver: HostId, disruptions: Vec<Disruption>) -> Self {
        let watched = disruptions.into_iter().map(|disruption| (disruption, Duration::ZERO));
        Gaps { receiver, watched: watched.collect(), last: Instant::ZERO }
    }

    /// What there is at the end of the run; `complete`: everything was delivered.
    pub(crate) fn finish(self, ended: Instant, complete: bool) -> Vec<FailoverTime> {
        let (last, ended) = (self.last - Instant::ZERO, ended - Instant::ZERO);
        let happened = self.watched.iter().filter(|(disruption, _)| disruption.at <= ended);
        let time = |(disruption, longest): &(Disruption, Duration)| {
            let Disruption { path, kind, at, until } = *disruption;
            let resumed = complete || last >= until;
            FailoverTime { path, kind, at, time: resumed.then_some(*longest) }
        };
        happened.map(time).collect()
    }
}

impl Recorder for Gaps {
    fn mask(&self) -> EventMask {
        EventMask::DELIVERY
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if host != self.receiver || !matches!(event, Event::Delivered { .. }) {
            return;
        }
        let (from, to) = (self.last - Instant::ZERO, now - Instant::ZERO);
        for (disruption, longest) in &mut self.watched {
            if disruption.at > to {
                break;
            }
            if disruption.until > from {
                *longest = (*longest).max(to - from);
            }
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::PathMark;
    use base::SocketId;
    use network::{LinkConfig, PathEvent};

    const RECEIVER: HostId = HostId(0);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn path(events: &[(u64, LinkChange)]) -> PathSetup {
        let event = |(at, change): &(u64, LinkChange)| PathEvent {
            at: seconds(*at),
            direction: Direction::Both,
            change: change.clone(),
        };
        PathSetup {
            name: "wlan".to_owned(),
            down: LinkConfig::default(),
            up: LinkConfig::default(),
            events: events.iter().map(event).collect(),
        }
    }

    fn deliver(gaps: &mut Gaps, millis: &[u64]) {
        for at in millis {
            let event = Event::Delivered { socket: SocketId(0), offset: 0, len: 1 };
            gaps.record(Instant::from_millis(*at), RECEIVER, &event);
        }
    }

    #[test]
    fn outages_resets_removals_and_growing_delays_are_failures_and_returns_are_not() {
        let slow = LinkChange::Delay(seconds(1));
        let paths = vec![
            path(&[(0, LinkChange::Down), (1, LinkChange::Up), (5, LinkChange::Silent)]),
            path(&[(2, slow), (3, LinkChange::Delay(Duration::ZERO))]),
        ];
        let mark = |at, what| PathMark { path: 0, at: seconds(at), what };
        let marks = vec![mark(8, Mark::Removed), mark(9, Mark::Returned), mark(9, Mark::Reset)];
        let protocol = Protocol::Mptcp(crate::Multipath::default());
        let setup = RunSetup { paths, marks, protocol, ..RunSetup::default() };
        let all: Vec<_> = disruptions(&setup).iter().map(|d| (d.path, d.kind, d.at)).collect();
        let expected = [
            (1, Kind::Delay, seconds(2)),
            (0, Kind::Silent, seconds(5)),
            (0, Kind::Removed, seconds(8)),
            (0, Kind::Reset, seconds(9)),
        ];
        assert_eq!(all, expected);
        let alone = RunSetup { protocol: Protocol::Tcp { path: 1 }, ..setup };
        assert_eq!(disruptions(&alone).len(), 1, "the other path is not used");
    }

    #[test]
    fn longest_gap_until_the_next_event_counts() {
        let failure = |at, until| Disruption { path: 0, kind: Kind::Silent, at, until };
        let watched = vec![failure(seconds(1), seconds(3)), failure(seconds(4), Duration::MAX)];
        let mut gaps = Gaps::new(RECEIVER, watched);
        deliver(&mut gaps, &[100, 900, 1_020, 1_400, 1_500, 3_100, 9_000]);
        let times: Vec<_> = gaps.finish(Instant::from_millis(9_000), true);
        let times: Vec<_> = times.iter().map(|failover| failover.time).collect();
        let ms = |millis| Some(Duration::from_millis(millis));
        assert_eq!(times, [ms(1_600), ms(5_900)]);
    }

    #[test]
    fn what_never_resumed_has_no_time_and_what_never_happened_is_left_out() {
        let failure = |at| Disruption { path: 0, kind: Kind::Reset, at, until: Duration::MAX };
        let mut gaps = Gaps::new(RECEIVER, vec![failure(seconds(1)), failure(seconds(700))]);
        deliver(&mut gaps, &[900]);
        let times = gaps.finish(Instant::from_millis(600_000), false);
        assert_eq!(times.iter().map(|failover| failover.time).collect::<Vec<_>>(), [None]);
    }
}

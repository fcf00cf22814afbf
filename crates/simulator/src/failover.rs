//! How long an application receives nothing when a path fails.
//!
//! A path fails when one of its links goes down, with or without notification, when its delay grows
//! by 200 ms or more (which no retransmission timer overlooks), when its connections are reset, or
//! when its address is withdrawn. For each failure the recorder keeps the longest time between two
//! in-order deliveries that the failure can have caused. Such a gap contains the time of the
//! failure, or it begins while the application still waits for data that had been sent when the
//! path failed, and before the data in flight at that time would have arrived, or within one second
//! if that is later. Data that are sent on the path before it is back, of which nothing may arrive,
//! and the return of the path extend the period in the same way. Gaps that begin later have other
//! causes. The bytes sent are the sender's count and the arrival times those of the links; the
//! world passes both to `Gaps` when it asks.

use crate::setup::{Mark, PathMark, RunSetup};
use base::{Duration, Event, EventMask, HostId, Instant, Recorder};
use harness::{FailoverTime, FailureKind};
use network::{Direction, LinkChange, LossConfig, PathSetup, ScheduledChange};

/// The least growth of a delay that is a failure: Linux's smallest retransmission time-out.
const EXPLOSION: Duration = Duration::from_millis(200);

/// A gap that begins within this time after a failure can be caused by it: recovery begins with
/// single packets and gaps between them.
const SPAN: Duration = Duration::from_secs(1);

/// A failure of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Disruption {
    /// Index of the path.
    pub path: usize,
    pub kind: FailureKind,
    /// Since the start of the run.
    pub at: Duration,
    /// When the path is back; at once after a reset, `Duration::MAX` if never.
    pub end: Duration,
}

/// The failures of paths that flow 0 may use, in the order of time. A path that is not there when
/// the connection is opened does not fail, it appears.
pub(crate) fn disruptions(setup: &RunSetup) -> Vec<Disruption> {
    let Some(flow) = setup.flows.first() else { return Vec::new() };
    let used = |path: &&usize| flow.carrier.uses_all_paths() || flow.first_path() == Some(**path);
    let of = |path: &usize| of_path(setup, *path, flow.start);
    let mut all: Vec<Disruption> = flow.paths.iter().filter(used).flat_map(of).collect();
    all.sort_by_key(|disruption| (disruption.at, disruption.path));
    all
}

/// The failures of a path after `start`; several at one time are one.
fn of_path(setup: &RunSetup, path: usize, start: Duration) -> Vec<Disruption> {
    let shared = setup.network.links.iter().filter(|shared| shared.paths.contains(&path));
    let links =
        std::iter::once(&setup.network.paths[path]).chain(shared.map(|shared| &shared.link));
    let failure = |(kind, at, end)| Disruption { path, kind, at, end };
    let mut all: Vec<Disruption> =
        links.flat_map(of_link).chain(of_marks(setup, path)).map(failure).collect();
    all.retain(|disruption| disruption.at > start);
    all.sort_by_key(|disruption| disruption.at);
    all.dedup_by(|next, kept| {
        let same = next.at == kept.at;
        if same {
            kept.end = kept.end.max(next.end);
        }
        same
    });
    all
}

/// How, when and until when a link fails.
fn of_link(link: &PathSetup) -> Vec<(FailureKind, Duration, Duration)> {
    let mut all = Vec::new();
    for (direction, config) in [(Direction::Down, &link.down), (Direction::Up, &link.up)] {
        let mut delay = config.delay;
        let changes = link.changes(direction);
        for (place, ScheduledChange { at, change, .. }) in changes.iter().enumerate() {
            let before = delay;
            let kind = match change {
                LinkChange::Down => FailureKind::Down,
                LinkChange::Silent => FailureKind::Silent,
                loss if is_total(loss) => FailureKind::Silent,
                LinkChange::Delay(new) => {
                    delay = *new;
                    if *new < before + EXPLOSION {
                        continue;
                    }
                    FailureKind::Delay
                }
                _ => continue,
            };
            let is_back = |later: &&ScheduledChange| match (change, &later.change) {
                (LinkChange::Down | LinkChange::Silent, LinkChange::Up) => true,
                (LinkChange::Loss(_), LinkChange::Loss(_)) => !is_total(&later.change),
                (LinkChange::Delay(_), LinkChange::Delay(new)) => *new < before + EXPLOSION,
                _ => false,
            };
            let back = changes[place + 1..].iter().find(is_back);
            all.push((kind, *at, back.map_or(Duration::MAX, |back| back.at)));
        }
    }
    all
}

/// Whether all packets are lost.
fn is_total(change: &LinkChange) -> bool {
    matches!(change, LinkChange::Loss(LossConfig::Bernoulli { p }) if *p >= 1.0)
}

/// How, when and until when a path fails although its links work.
fn of_marks(setup: &RunSetup, path: usize) -> Vec<(FailureKind, Duration, Duration)> {
    let marks = || setup.marks.iter().filter(|mark| mark.path == path);
    let failure = |mark: &PathMark| match mark.what {
        Mark::Reset => Some((FailureKind::Reset, mark.at, mark.at)),
        Mark::Removed => {
            let returns = |later: &&PathMark| later.what == Mark::Returned && later.at >= mark.at;
            let end = marks().filter(returns).map(|later| later.at).min();
            Some((FailureKind::Removed, mark.at, end.unwrap_or(Duration::MAX)))
        }
        Mark::Returned => None,
    };
    marks().filter_map(failure).collect()
}

/// How the deliveries ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Everything was delivered.
    Delivered,
    /// The run ended, more deliveries might have followed.
    Cut,
    /// No further delivery was possible.
    Failed,
}

/// Watches for gaps between deliveries.
#[derive(Debug)]
pub(crate) struct Gaps {
    sender: HostId,
    receiver: HostId,
    /// The path that each interface of the sender leads to.
    paths: Vec<usize>,
    /// In the order of time.
    watched: Vec<Watched>,
    /// Time of the last delivery; at first the start of the connection.
    last: Duration,
    /// Bytes delivered on all connections.
    delivered: u64,
    /// Number of failures in `watched` that have begun and know what had been sent.
    begun: usize,
    /// The sender has sent data while a path was not available.
    sent_more: bool,
    /// When the next path is back.
    next_return: Duration,
}

/// A failure and its longest gap.
#[derive(Debug)]
struct Watched {
    failure: Disruption,
    longest: Duration,
    /// Bytes sent at the time of the failure, once that is reached.
    sent: Option<SentBy>,
    returned: bool,
}

/// Bytes first sent by the last time at which the failure can have affected new data.
#[derive(Clone, Copy, Debug)]
struct SentBy {
    in_all: u64,
    on_path: u64,
    /// When the last packet in flight arrives, or `SPAN` after the failure if that is later.
    arrival: Duration,
}

impl Watched {
    const fn new(failure: Disruption) -> Self {
        Watched { failure, longest: Duration::ZERO, sent: None, returned: false }
    }

    /// Whether it can cause a gap that begins at `from`, when `delivered` bytes are delivered.
    fn explains(&self, from: Duration, delivered: u64) -> bool {
        let awaited = |sent: SentBy| delivered <= sent.in_all && from <= sent.arrival;
        from <= self.failure.at || self.sent.is_some_and(awaited)
    }
}

impl Gaps {
    /// Watches what `receiver` reads on connections opened from `start` on. `paths` are those of
    /// the interfaces of the sender.
    pub(crate) fn new(
        (sender, receiver): (HostId, HostId),
        paths: &[usize],
        start: Duration,
        disruptions: Vec<Disruption>,
    ) -> Self {
        let watched = disruptions.into_iter().map(Watched::new).collect();
        Gaps {
            sender,
            receiver,
            paths: paths.to_vec(),
            watched,
            last: start,
            delivered: 0,
            begun: 0,
            sent_more: false,
            next_return: Duration::MAX,
        }
    }

    /// The host whose bytes first sent are needed before anything happens at `now`.
    pub(crate) fn asks(&self, now: Instant) -> Option<HostId> {
        let now = now - Instant::ZERO;
        let begins = self.watched.get(self.begun).is_some_and(|next| next.failure.at <= now);
        (self.sent_more || begins || self.next_return < now).then_some(self.sender)
    }

    /// Note the bytes first sent on each interface before `now`, and when the last packet in flight
    /// arrives.
    pub(crate) fn note(&mut self, now: Instant, first_sent: &[u64], arrival: Option<Instant>) {
        let now = now - Instant::ZERO;
        let arrival = arrival.map_or(now, |arrival| arrival - Instant::ZERO);
        let in_all = first_sent.iter().sum();
        let more = std::mem::take(&mut self.sent_more);
        self.next_return = Duration::MAX;
        self.begun = self.watched.partition_point(|one| one.failure.at <= now);
        for one in &mut self.watched[..self.begun] {
            let interface = self.paths.iter().position(|path| *path == one.failure.path);
            let on_path = interface.and_then(|number| first_sent.get(number)).copied().unwrap_or(0);
            let returns = one.failure.end < now && !one.returned;
            one.returned |= returns;
            if !one.returned {
                self.next_return = self.next_return.min(one.failure.end);
            }
            match &mut one.sent {
                None => {
                    let arrival = arrival.max(one.failure.at + SPAN);
                    one.sent = Some(SentBy { in_all, on_path, arrival });
                }
                Some(sent) if more && on_path > sent.on_path && now <= one.failure.end => {
                    *sent = SentBy { in_all, on_path, arrival: arrival.max(now + SPAN) };
                }
                Some(sent) if returns => sent.arrival = arrival.max(sent.arrival),
                Some(_) => {}
            }
        }
    }

    /// The fail-over times at the end of the run.
    pub(crate) fn finish(self, ended: Instant, ending: Ending) -> Vec<FailoverTime> {
        let Gaps { watched, last, delivered, .. } = self;
        let ended = ended - Instant::ZERO;
        // A failure after the last delivery has no effect.
        let (by, open) = match ending {
            Ending::Delivered => (last, None),
            Ending::Cut => (ended, Some(ended.saturating_sub(last))),
            Ending::Failed => (ended, Some(Duration::MAX)),
        };
        let time = |one: &Watched| {
            let Disruption { path, kind, at, .. } = one.failure;
            let is_open = one.explains(last, delivered) && open.is_some_and(|o| o >= one.longest);
            FailoverTime { path, kind, at, time: (!is_open).then_some(one.longest) }
        };
        watched.iter().filter(|one| one.failure.at <= by).map(time).collect()
    }
}

impl Recorder for Gaps {
    fn mask(&self) -> EventMask {
        EventMask::DELIVERY.union(EventMask::SEGMENT)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        let now = now - Instant::ZERO;
        match *event {
            Event::SegmentSent { .. } if host == self.sender && !self.sent_more => {
                let begun = &self.watched[..self.begun];
                self.sent_more = begun.iter().any(|one| now < one.failure.end);
            }
            Event::Delivered { len, .. } if host == self.receiver => {
                let (from, delivered) = (self.last, self.delivered);
                let begun = self.watched.iter_mut().take_while(|one| one.failure.at <= now);
                for one in begun.filter(|one| one.explains(from, delivered)) {
                    one.longest = one.longest.max(now - from);
                }
                self.last = now;
                self.delivered += u64::from(len);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Carrier;
    use crate::setup::Multipath;
    use base::SocketId;
    use network::{LinkConfig, PathEvent};
    use traffic::Traffic;
    use transport::Protocol;

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

    fn over(paths: Vec<PathSetup>) -> RunSetup {
        RunSetup::new(paths, Multipath::default().into(), Traffic::BulkSize(1))
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
        let mut setup = over(paths);
        setup.marks = marks;
        let all: Vec<_> = disruptions(&setup).iter().map(|d| (d.path, d.kind, d.at)).collect();
        let expected = [
            (1, FailureKind::Delay, seconds(2)),
            (0, FailureKind::Silent, seconds(5)),
            (0, FailureKind::Removed, seconds(8)),
            (0, FailureKind::Reset, seconds(9)),
        ];
        assert_eq!(all, expected);
        (setup.flows[0].carrier, setup.flows[0].first) = (Carrier::Single(Protocol::Tcp), 1);
        assert_eq!(disruptions(&setup).len(), 1, "the other path is not used");
    }

    fn failure(at: u64, end: Duration) -> Disruption {
        Disruption { path: 0, kind: FailureKind::Silent, at: seconds(at), end }
    }

    fn watch(disruptions: Vec<Disruption>) -> Gaps {
        Gaps::new((HostId(1), RECEIVER), &[0, 1], Duration::ZERO, disruptions)
    }

    /// Adds the bytes first sent on the two paths until `at` and the bytes that arrived.
    fn send(gaps: &mut Gaps, at: u64, first_sent: [u64; 2], arrival: u64) {
        let (socket, path) = (SocketId(0), base::PathId(0));
        let (offset, len, retransmission, inflight_segs) = (0, 1, false, 1);
        let event = Event::SegmentSent { socket, path, offset, len, retransmission, inflight_segs };
        let now = Instant::from_millis(at);
        gaps.record(now, HostId(1), &event);
        if gaps.asks(now).is_some() {
            gaps.note(now, &first_sent, Some(Instant::from_millis(arrival)));
        }
    }

    fn times(gaps: Gaps, ended: u64, ending: Ending) -> Vec<Option<u128>> {
        let times = gaps.finish(Instant::from_millis(ended), ending);
        let millis = |time: Duration| u128::from(time.as_nanos() / 1_000_000);
        times.iter().map(|failover| failover.time.map(millis)).collect()
    }

    #[test]
    fn failures_last_until_the_path_is_back() {
        let delay = |millis| LinkChange::Delay(Duration::from_millis(millis));
        let path = path(&[
            (1, LinkChange::Silent),
            (2, delay(30)),
            (3, LinkChange::Up),
            (5, delay(400)),
            (6, delay(300)),
            (7, delay(200)),
        ]);
        let mut setup =
            RunSetup::new(vec![path], Carrier::Single(Protocol::Tcp), Traffic::BulkSize(1));
        setup.marks = vec![PathMark { path: 0, at: seconds(9), what: Mark::Reset }];
        let ends = |setup: &RunSetup| -> Vec<_> {
            disruptions(setup).iter().map(|d| (d.kind, d.at, d.end)).collect()
        };
        let all = [
            (FailureKind::Silent, seconds(1), seconds(3)),
            (FailureKind::Delay, seconds(5), seconds(7)),
            (FailureKind::Reset, seconds(9), seconds(9)),
        ];
        assert_eq!(ends(&setup), all);
        setup.flows[0].start = seconds(5);
        assert_eq!(ends(&setup), all[2..], "the connection does not know what was before it");
    }

    #[test]
    fn path_fails_with_the_shared_link_it_leads_through() {
        let link = path(&[(4, LinkChange::Silent), (6, LinkChange::Up)]);
        let mut setup = over(vec![path(&[]), path(&[])]);
        setup.network.links = vec![crate::SharedLink { link, paths: vec![1] }];
        let (kind, at, end) = (FailureKind::Silent, seconds(4), seconds(6));
        let expected = Disruption { path: 1, kind, at, end };
        assert_eq!(disruptions(&setup), [expected]);
    }

    #[test]
    fn longest_gap_counts_while_what_had_been_sent_is_awaited() {
        let mut gaps = watch(vec![failure(1, seconds(3)), failure(20, Duration::MAX)]);
        deliver(&mut gaps, &[100, 900]);
        send(&mut gaps, 1_000, [3, 2], 8_000);
        // The third and the fourth byte had been sent; the fifth comes after a pause, and it had
        // been sent, too; the sixth is the first that had not.
        deliver(&mut gaps, &[1_020, 1_400, 4_000, 6_000]);
        deliver(&mut gaps, &[9_000]);
        send(&mut gaps, 20_000, [7, 2], 20_000);
        deliver(&mut gaps, &[20_100]);
        assert_eq!(times(gaps, 21_000, Ending::Delivered), [Some(2_600), Some(11_100)]);
    }

    #[test]
    fn data_first_sent_on_the_failed_path_prolong_the_watch_until_it_is_back() {
        let mut gaps = watch(vec![failure(1, seconds(3))]);
        deliver(&mut gaps, &[990]);
        send(&mut gaps, 1_000, [1, 0], 1_020);
        deliver(&mut gaps, &[1_010]);
        // On the other path only: the 490 ms before that are not this failure's.
        send(&mut gaps, 1_100, [1, 3], 1_200);
        deliver(&mut gaps, &[1_500, 2_100]);
        send(&mut gaps, 2_200, [2, 3], 2_800);
        deliver(&mut gaps, &[2_500, 2_600, 2_700, 3_800]);
        assert_eq!(times(gaps, 3_900, Ending::Delivered), [Some(400)]);
    }

    #[test]
    fn gap_after_everything_under_way_would_have_come_has_other_reasons() {
        let mut gaps = watch(vec![failure(1, Duration::MAX)]);
        deliver(&mut gaps, &[990]);
        send(&mut gaps, 1_000, [9, 0], 1_050);
        deliver(&mut gaps, &[1_040, 1_700, 2_010, 3_100]);
        assert_eq!(times(gaps, 3_100, Ending::Delivered), [Some(660)]);
    }

    #[test]
    fn freeze_at_the_end_has_no_time() {
        let ending = |ending, millis: &[u64]| {
            let mut gaps = watch(vec![failure(1, Duration::MAX), failure(700, Duration::MAX)]);
            send(&mut gaps, 1_000, [5, 0], 1_100);
            deliver(&mut gaps, millis);
            times(gaps, 15_000, ending)
        };
        assert_eq!(ending(Ending::Cut, &[900, 1_010]), [None]);
        assert_eq!(ending(Ending::Cut, &[900, 14_000]), [Some(13_100)], "longer than the rest");
        assert_eq!(ending(Ending::Failed, &[900, 1_010]), [None]);
        assert_eq!(ending(Ending::Delivered, &[900, 1_010]), [Some(110)]);
        assert_eq!(ending(Ending::Delivered, &[900]), [], "nothing was left that could be late");
    }
}

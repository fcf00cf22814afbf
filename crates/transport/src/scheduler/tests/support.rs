//! Paths for tests, and the abstract model of the worked examples: paths with an RTT and a
//! window, no bandwidth limit, no loss. Every answer is checked before it is carried out.

use crate::buffer::Fragments;
use crate::scheduler::*;
use base::decision::Explanation;
use base::{Blocked, Duration, Instant, InterfaceId, PathId};
use std::collections::VecDeque;
use std::ops::Range;

pub(crate) const MSS: u32 = 1428;

/// A path that may send: a window of `cwnd_segs`, `inflight_segs` of it used.
pub(crate) fn path(id: u8, srtt_ms: u64, cwnd_segs: u32, inflight_segs: u32) -> PathView {
    let srtt = Duration::from_millis(srtt_ms);
    PathView {
        id: PathId(id),
        interface: InterfaceId(u16::from(id)),
        state: PathState::Open,
        backup: false,
        probing: false,
        throttled: false,
        loss: LossPhase::Open,
        continues_at: None,
        last_send: None,
        pacing_rate: None,
        rtt: RttView {
            srtt,
            rttvar: Duration::ZERO,
            last: srtt,
            first: srtt,
            samples: 1,
            rto: srtt * 2,
        },
        window: WindowView {
            mss: MSS,
            cwnd_segs,
            ssthresh_segs: None,
            inflight_segs,
            inflight_bytes: u64::from(inflight_segs * MSS),
            send_window_bytes: 1 << 30,
        },
        queue: QueueView {
            unsent_bytes: 0,
            unsent_segs: 0,
            outstanding_bytes: u64::from(inflight_segs * MSS),
            memory_bytes: inflight_segs * MSS,
            limit_bytes: 4 << 20,
        },
    }
}

/// A segment on its way: when it is acknowledged, on which path, what it carries.
#[derive(Clone, Debug)]
struct Flight {
    acked_at: Instant,
    path: usize,
    range: Range<u64>,
}

/// A connection of the abstract model.
pub(crate) struct Model {
    pub now: Instant,
    pub paths: Vec<PathView>,
    pub segments: VecDeque<DataSegment>,
    /// Those of one long write.
    fragments: Fragments,
    pub reinject: VecDeque<Range<u64>>,
    pub snd_una: u64,
    pub snd_nxt: u64,
    pub write_end: u64,
    pub window: u64,
    pub sndbuf_limited: bool,
    pub sndbuf_full: bool,
    pub peer_closed: bool,
    /// What the present decision means for a path.
    tag: Option<(PathId, Range<u64>)>,
    flights: Vec<Flight>,
    /// What the receiver has.
    received: Vec<Range<u64>>,
    /// By place of the path: what waits there, bound to it.
    queues: Vec<VecDeque<Range<u64>>>,
    /// By place of the path: bytes of others that wait there.
    pub foreign: Vec<u64>,
    /// Path of everything sent, in order.
    pub sent: Vec<u8>,
    /// Path of every segment bound early, in order.
    pub queued: Vec<u8>,
    /// When everything written had arrived.
    pub completion: Option<Duration>,
}

impl Model {
    pub(crate) fn new(paths: Vec<PathView>, segments: u64) -> Self {
        let (queues, foreign) = (vec![VecDeque::new(); paths.len()], vec![0; paths.len()]);
        let mut fragments = Fragments::default();
        fragments.append(0, 16 << 20, false);
        Model {
            now: Instant::ZERO,
            paths,
            segments: VecDeque::new(),
            fragments,
            reinject: VecDeque::new(),
            snd_una: 0,
            snd_nxt: 0,
            write_end: segments * u64::from(MSS),
            window: 400_000,
            sndbuf_limited: false,
            sndbuf_full: true,
            peer_closed: false,
            tag: None,
            flights: Vec::new(),
            received: Vec::new(),
            queues,
            foreign,
            sent: Vec::new(),
            queued: Vec::new(),
            completion: None,
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            now: self.now,
            paths: &self.paths,
            data: DataView {
                segments: &self.segments,
                fragments: &self.fragments,
                snd_una: self.snd_una,
                snd_nxt: self.snd_nxt,
                write_end: self.write_end,
                window_end: self.snd_una + self.window,
                reinject: self.reinject.front().cloned(),
                sndbuf_limited: self.sndbuf_limited,
                sndbuf_full: self.sndbuf_limited && self.sndbuf_full,
                peer_closed: self.peer_closed,
            },
        }
    }

    /// Ask until the scheduler waits; why it does.
    pub(crate) fn push(&mut self, scheduler: &mut impl Scheduler) -> Blocked {
        for _ in 0..10_000 {
            if let Some(why) = self.step(scheduler) {
                return why;
            }
        }
        panic!("the scheduler never waits");
    }

    /// Ask once; why nothing was sent, if nothing was.
    pub(crate) fn step(&mut self, scheduler: &mut impl Scheduler) -> Option<Blocked> {
        let told = scheduler.explain(&self.view());
        let decision = scheduler.next(&self.view());
        for action in &decision.actions {
            self.act(action);
        }
        self.check(&decision);
        self.check_explanation(told.as_ref(), &decision.step);
        match decision.step {
            Step::Wait(why) => {
                if why == Blocked::ReceiveWindow {
                    scheduler.on_window_blocked(&self.view());
                }
                Some(why)
            }
            Step::Send { path, what, max_bytes, bind } => {
                self.send(path, &what, u64::from(max_bytes), bind);
                None
            }
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Penalise(path, _) => {
                let slow = self.index(*path);
                self.paths[slow].window.cwnd_segs = (self.paths[slow].window.cwnd_segs / 2).max(1);
            }
            Action::ForgetPaths { range } => self.mark(range, |_| PathSet::EMPTY),
            Action::Assign { range, path, revocable: true } => {
                let holds = |part: Range<u64>| part.start <= range.start && range.end <= part.end;
                assert!(self.view().data.unsent().any(holds), "what is tagged was never sent");
                self.tag = Some((*path, range.clone()));
            }
            other => panic!("no scheduler of these answers {other:?}"),
        }
    }

    /// Acknowledgements until nothing is on its way.
    pub(crate) fn run(&mut self, scheduler: &mut impl Scheduler) {
        self.push(scheduler);
        while let Some(at) = self.flights.iter().map(|flight| flight.acked_at).min() {
            self.now = self.now.max(at);
            while let Some(index) = self.flights.iter().position(|f| f.acked_at == at) {
                let path = self.paths[self.flights[index].path].id;
                self.acknowledge(index);
                if scheduler.heeds_acks() {
                    scheduler.on_ack(&self.view(), path);
                }
                self.push(scheduler);
            }
        }
    }

    /// Everything that this path has and no other goes to the reinject queue.
    pub(crate) fn reinject_all_of(&mut self, id: PathId) {
        let only = |s: &&DataSegment| s.paths.without(id).is_empty() && s.paths.contains(id);
        let stuck = self.segments.iter().filter(only).map(|s| s.offset.max(self.snd_una)..s.end());
        let known: Vec<_> = std::mem::take(&mut self.reinject).into();
        let mut ranges: Vec<_> = stuck.chain(known).filter(|range| !range.is_empty()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup_by(|next, range| {
            let within = next.start < range.end;
            if within {
                range.end = range.end.max(next.end);
            }
            within
        });
        self.reinject = ranges.into();
    }

    /// The path is lost with all that is on it; it comes back as a new one.
    pub(crate) fn replace(&mut self, index: usize) {
        let id = self.paths[index].id;
        self.reinject_all_of(id);
        self.flights.retain(|flight| flight.path != index);
        self.queues[index].clear();
        for segment in &mut self.segments {
            segment.paths = segment.paths.without(id);
        }
        let path = &mut self.paths[index];
        (path.window.inflight_segs, path.queue.outstanding_bytes) = (0, 0);
        self.refresh(index);
    }

    /// The oldest segment on that path is acknowledged.
    pub(crate) fn acknowledge_one_on(&mut self, id: u8) {
        let path = self.index(PathId(id));
        if let Some(index) = self.flights.iter().position(|flight| flight.path == path) {
            self.acknowledge(index);
        }
    }

    pub(crate) fn on_path(&self, id: u8) -> usize {
        self.sent.iter().filter(|path| **path == id).count()
    }

    pub(crate) fn index(&self, id: PathId) -> usize {
        self.paths.iter().position(|path| path.id == id).expect("paths of answers exist")
    }

    /// The rules that hold for every scheduler.
    fn check(&self, decision: &Decision) {
        let view = self.view();
        let Step::Send { path, what, bind, max_bytes } = &decision.step else {
            return assert_eq!(self.tag, None, "a tag is for a segment that is sent");
        };
        let path = view.path(*path).expect("the path chosen exists");
        if *bind == Bind::Queue {
            return self.check_early(&view, path, what, *max_bytes);
        }
        assert!((1..=MSS).contains(max_bytes), "{decision:?}");
        match what {
            What::New => {
                let offer = view.unsent_offer();
                assert!(view.data.reinject.is_none(), "the reinject queue goes first");
                assert!(path.is_available(&offer), "{path:?}");
                let range = self.next_new(path.id, u64::from(*max_bytes));
                assert_eq!(range.end - range.start, u64::from(*max_bytes), "one piece");
                assert!(range.end <= view.data.window_end && range.end <= self.write_end);
                assert!(path.is_active() || !view.has_active(&offer), "backups rest");
            }
            What::Reinject => {
                assert!(path.is_available(&view.offered().expect("something to reinject")));
            }
            What::Copy(range) => {
                assert!(self.snd_una <= range.start && range.end <= self.snd_nxt);
                assert_eq!(range.end - range.start, u64::from(*max_bytes));
                let segment = view.data.segment_at(range.start).expect("copies are of something");
                assert!(range.end <= segment.end() && !segment.paths.contains(path.id));
            }
            What::Probe => panic!("no scheduler of these probes"),
        }
    }

    /// The explanation made beforehand agrees with the decision and with its numbers.
    fn check_explanation(&self, told: Option<&Explanation>, step: &Step) {
        let Some(Explanation { best, rule, scores, .. }) = told else { return };
        assert!(!rule.is_empty());
        assert!(scores.iter().all(|score| self.view().path(score.path).is_some()));
        match step {
            Step::Send { path, .. } => assert_eq!(*best, Some(*path), "{told:?}"),
            Step::Wait(Blocked::NothingToSend | Blocked::ReceiveWindow | Blocked::SendBuffer) => {}
            Step::Wait(why) => assert_eq!(*best, None, "{why:?}, {told:?}"),
        }
    }

    /// What is bound early may wait for the congestion window, and is more than a segment.
    fn check_early(&self, view: &View<'_>, path: &PathView, what: &What, max_bytes: u32) {
        let offer = match what {
            What::New => view.unsent_offer(),
            What::Reinject => view.offered().expect("something to reinject"),
            other => panic!("{other:?} is not bound early"),
        };
        assert!(!path.is_definitely_unavailable(&offer) && max_bytes > 0);
        assert!(path.is_active() || !view.has_active(&offer), "backups rest");
        let granted = offer.range_on(path).end.min(offer.offset + u64::from(max_bytes));
        assert!(offer.reinject || granted <= view.data.window_end);
    }

    fn send(&mut self, id: PathId, what: &What, max_bytes: u64, bind: Bind) {
        let range = match what {
            What::New => {
                let Range { start, end } = self.next_new(id, max_bytes);
                let end = end.min(self.snd_una + self.window);
                assert!(start < end, "a grant is of something");
                self.tag = None;
                let segment =
                    DataSegment { offset: start, len: (end - start) as u32, paths: PathSet::EMPTY };
                let index = self.segments.partition_point(|known| known.offset < start);
                self.segments.insert(index, segment);
                while let Some(next) = self.segments.iter().find(|s| s.offset == self.snd_nxt) {
                    self.snd_nxt = next.end();
                }
                start..end
            }
            What::Reinject => {
                let head = self.reinject.front_mut().expect("checked");
                let start = head.start.max(self.snd_una);
                head.start = head.end.min(start + max_bytes);
                let range = start..head.start;
                if head.start >= head.end {
                    self.reinject.pop_front();
                }
                range
            }
            What::Copy(range) => range.clone(),
            What::Probe => unreachable!("checked"),
        };
        self.mark(&range, |paths| paths.with(id));
        let index = self.index(id);
        self.paths[index].queue.outstanding_bytes += range.end - range.start;
        if bind == Bind::Now {
            self.transmit(index, range);
        } else {
            for start in range.clone().step_by(MSS as usize) {
                self.queued.push(id.0);
                self.queues[index].push_back(start..range.end.min(start + u64::from(MSS)));
            }
            self.drain(index);
        }
        self.refresh(index);
    }

    /// What a path gets: what is meant for it, otherwise the next data.
    fn next_new(&self, id: PathId, max_bytes: u64) -> Range<u64> {
        let view = self.view();
        let own = self.tag.clone().filter(|(path, _)| *path == id).map(|(_, range)| range);
        let next = own.or_else(|| view.data.unsent().next()).expect("something unsent");
        next.start..next.end.min(next.start + max_bytes)
    }

    fn transmit(&mut self, index: usize, range: Range<u64>) {
        let path = &mut self.paths[index];
        path.window.inflight_segs += 1;
        path.last_send = Some(self.now);
        self.sent.push(path.id.0);
        self.flights.push(Flight { acked_at: self.now + path.rtt.srtt, path: index, range });
    }

    /// What waits on a path goes as far as its window lets it.
    pub(crate) fn drain(&mut self, index: usize) {
        while self.paths[index].free_segs() > 0
            && let Some(range) = self.queues[index].pop_front()
        {
            self.transmit(index, range);
        }
    }

    /// Updates what the view shows of a path's queue.
    pub(crate) fn refresh(&mut self, index: usize) {
        let queued: u64 = self.queues[index].iter().map(|range| range.end - range.start).sum();
        let path = &mut self.paths[index];
        path.queue.unsent_bytes = queued + self.foreign[index];
        path.queue.unsent_segs = path.queue.unsent_bytes.div_ceil(u64::from(MSS)) as u32;
        path.queue.memory_bytes = path.queue.outstanding_bytes as u32;
    }

    /// Change the paths of a range; segments are split where it begins and ends.
    fn mark(&mut self, range: &Range<u64>, change: impl Fn(PathSet) -> PathSet) {
        for at in [range.start, range.end] {
            let Some(index) = self.segments.iter().position(|s| s.offset < at && at < s.end())
            else {
                continue;
            };
            let whole = self.segments[index];
            let first = (at - whole.offset) as u32;
            self.segments[index].len = first;
            let rest = DataSegment { offset: at, len: whole.len - first, ..whole };
            self.segments.insert(index + 1, rest);
        }
        for segment in &mut self.segments {
            if range.start <= segment.offset && segment.end() <= range.end {
                segment.paths = change(segment.paths);
            }
        }
        // A split may leave a head of which everything is acknowledged.
        while self.segments.front().is_some_and(|segment| segment.end() <= self.snd_una) {
            self.segments.pop_front();
        }
    }

    fn acknowledge(&mut self, index: usize) {
        let flight = self.flights.remove(index);
        let index = flight.path;
        let path = &mut self.paths[index];
        path.window.inflight_segs -= 1;
        (path.rtt.last, path.rtt.samples) = (path.rtt.srtt, path.rtt.samples + 1);
        path.queue.outstanding_bytes -= flight.range.end - flight.range.start;
        if path.window.ssthresh_segs.is_none_or(|ssthresh| path.window.cwnd_segs < ssthresh) {
            path.window.cwnd_segs += 1;
        }
        let arrived_at = flight.acked_at.as_nanos().saturating_sub(path.rtt.srtt.as_nanos() / 2);
        self.received.push(flight.range);
        // The peer's connection acknowledges what has no gap before it.
        while let Some(range) = self.received.iter().find(|range| range.contains(&self.snd_una)) {
            self.snd_una = range.end;
        }
        if self.snd_una == self.write_end && self.completion.is_none() {
            self.completion = Some(Duration::from_nanos(arrived_at));
        }
        while self.segments.front().is_some_and(|segment| segment.end() <= self.snd_una) {
            self.segments.pop_front();
        }
        while self.reinject.front().is_some_and(|range| range.end <= self.snd_una) {
            self.reinject.pop_front();
        }
        if let Some(head) = self.reinject.front_mut() {
            head.start = head.start.max(self.snd_una);
        }
        self.drain(index);
        self.refresh(index);
    }
}

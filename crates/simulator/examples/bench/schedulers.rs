//! Schedulers alone: nanoseconds a segment sent, and the worst single call.
//!
//! A thousand segments are written at once, dispatched by the scheduler, and acknowledged in the
//! order of the data whenever the scheduler waits. Only its calls are timed.

use base::{Duration, Instant, InterfaceId, PathId};
use std::collections::VecDeque;
use std::hint::black_box;
use transport::buffer::Fragments;
use transport::scheduler::{
    Action, AnyScheduler, Bind, DataSegment, DataView, LossPhase, NAMES, Options, PathSet,
    PathState, PathView, QueueView, RttView, Scheduler, Step, View, What, WindowView, by_name,
};

const MSS: u32 = 1420;
/// Written at once.
const SEGMENTS: u64 = 1000;
/// The worst call is that of the best round: what else the machine does is no part of it.
const ROUNDS: u32 = 60;

/// Every scheduler at 2, 8 and 64 paths.
pub(crate) fn all() -> Result<(), String> {
    for (name, ..) in NAMES {
        for paths in [2, 8, 64] {
            let scheduler = by_name(name, &Options::default()).ok_or("an unknown name")?;
            let taken = measure(scheduler, paths)?;
            println!("scheduler/{name}-{paths} {:.1} ns/segment", taken.amortised_ns);
            println!("scheduler/{name}-{paths}-worst {} ns", taken.worst_ns);
        }
    }
    Ok(())
}

struct Taken {
    amortised_ns: f64,
    worst_ns: u64,
}

fn measure(mut scheduler: AnyScheduler, paths: u8) -> Result<Taken, String> {
    let mut model = Model::new(paths);
    let clock = (0..1000).map(|_| timed(|| ()).0).min().unwrap_or(0);
    let (mut amortised_ns, mut worst_ns) = (f64::INFINITY, u64::MAX);
    for _ in 0..ROUNDS {
        model.write_end += SEGMENTS * u64::from(MSS);
        let (mut total, mut worst, mut segments, mut calls) = (0, 0, 0, 0);
        while model.snd_nxt < model.write_end {
            let (ns, decision) = timed(|| scheduler.next(black_box(&model.view())));
            let ns = ns.saturating_sub(clock);
            (total, worst, calls) = (total + ns, worst.max(ns), calls + 1);
            if calls > 100 * SEGMENTS {
                return Err("it never sends".to_owned());
            }
            for action in &decision.actions {
                model.act(action);
            }
            match decision.step {
                Step::Send { path, what, bind, max_bytes } => {
                    segments += model.send(path, &what, bind, max_bytes);
                }
                Step::Wait(_) => model.acknowledge(&mut scheduler),
            }
        }
        amortised_ns = amortised_ns.min(total as f64 / f64::from(segments));
        worst_ns = worst_ns.min(worst);
        while !model.segments.is_empty() {
            model.acknowledge(&mut scheduler);
        }
    }
    Ok(Taken { amortised_ns, worst_ns })
}

/// What `work` took, in nanoseconds of the wall clock.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let begin = std::time::Instant::now();
    let result = work();
    (begin.elapsed().as_nanos() as u64, result)
}

/// A connection without a network.
struct Model {
    now: Instant,
    paths: Vec<PathView>,
    segments: VecDeque<DataSegment>,
    snd_una: u64,
    snd_nxt: u64,
    write_end: u64,
    /// Where the data begin that the present decision means for a path.
    meant: Option<u64>,
}

impl Model {
    /// RTTs from 10 ms on, windows of 10 to 40.
    fn new(paths: u8) -> Self {
        Model {
            now: Instant::ZERO,
            paths: (0..paths).map(path).collect(),
            segments: VecDeque::new(),
            snd_una: 0,
            snd_nxt: 0,
            write_end: 0,
            meant: None,
        }
    }

    fn view(&self) -> View<'_> {
        let data = DataView {
            segments: &self.segments,
            fragments: Fragments::none(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            write_end: self.write_end,
            window_end: self.snd_una + (6 << 20),
            reinject: None,
            sndbuf_limited: false,
            sndbuf_full: false,
            peer_closed: false,
        };
        View { now: self.now, paths: &self.paths, data }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Penalise(path, _) => {
                let cwnd = &mut self.paths[path.index()].window.cwnd_segs;
                *cwnd = (*cwnd / 2).max(2);
            }
            Action::Assign { range, .. } => self.meant = Some(range.start),
            _ => {}
        }
    }

    /// Passes data to a path; returns the number of segments.
    fn send(&mut self, id: PathId, what: &What, bind: Bind, max_bytes: u32) -> u32 {
        let path = &mut self.paths[id.index()];
        let mut left = max_bytes;
        let mut segments = 0;
        if let What::Copy(range) = what {
            left = 0;
            segments = 1;
            add(path, (range.end - range.start) as u32, bind);
            let index = self.segments.partition_point(|segment| segment.offset < range.start);
            if let Some(segment) = self.segments.get_mut(index) {
                segment.paths = segment.paths.with(id);
            }
        }
        let meant = self.meant.take();
        while left > 0 && self.snd_nxt < self.write_end {
            let len = left.min(MSS);
            let paths = PathSet::EMPTY.with(id);
            let offset = meant.unwrap_or(self.snd_nxt);
            self.insert(DataSegment { offset, len, paths });
            left -= len;
            segments += 1;
            add(&mut self.paths[id.index()], len, bind);
        }
        segments
    }

    /// A segment is under way, possibly before its turn.
    fn insert(&mut self, segment: DataSegment) {
        let index = self.segments.partition_point(|known| known.offset < segment.offset);
        self.segments.insert(index, segment);
        for next in self.segments.range(index..) {
            if next.offset != self.snd_nxt {
                break;
            }
            self.snd_nxt = next.end();
        }
    }

    /// The first segment arrived everywhere it was sent.
    fn acknowledge(&mut self, scheduler: &mut AnyScheduler) {
        let Some(segment) = self.segments.pop_front() else { return };
        self.now += Duration::from_micros(100);
        self.snd_una = segment.end();
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            if !segment.paths.contains(path.id) {
                continue;
            }
            path.queue.outstanding_bytes -= u64::from(segment.len);
            path.queue.memory_bytes -= segment.len;
            if path.queue.unsent_segs > 0 {
                path.queue.unsent_segs -= 1;
                path.queue.unsent_bytes -= u64::from(segment.len);
            } else {
                path.window.inflight_segs -= 1;
                path.window.inflight_bytes -= u64::from(segment.len);
            }
            let id = path.id;
            if scheduler.heeds_acks() {
                scheduler.on_ack(&self.view(), id);
            }
        }
    }
}

/// `len` bytes more on a path: sent if its window takes them, else queued.
fn add(path: &mut PathView, len: u32, bind: Bind) {
    path.queue.outstanding_bytes += u64::from(len);
    path.queue.memory_bytes += len;
    if bind == Bind::Now || path.free_segs() > 0 {
        path.window.inflight_segs += 1;
        path.window.inflight_bytes += u64::from(len);
    } else {
        path.queue.unsent_segs += 1;
        path.queue.unsent_bytes += u64::from(len);
    }
}

fn path(id: u8) -> PathView {
    let srtt = Duration::from_millis(10 + 9 * u64::from(id));
    let cwnd_segs = 10 + u32::from(id) % 31;
    PathView {
        id: PathId(id),
        interface: InterfaceId(u16::from(id)),
        state: PathState::Open,
        backup: false,
        probing: false,
        throttled: false,
        loss: LossPhase::Open,
        continues_at: None,
        last_send: Some(Instant::ZERO),
        pacing_rate: Some(u64::from(cwnd_segs * MSS) * 1200 / srtt.as_millis()),
        rtt: RttView { srtt, rttvar: srtt / 8, last: srtt, first: srtt, samples: 1, rto: srtt * 3 },
        window: WindowView {
            mss: MSS,
            cwnd_segs,
            ssthresh_segs: Some(cwnd_segs),
            inflight_segs: 0,
            inflight_bytes: 0,
            send_window_bytes: 1 << 30,
        },
        queue: QueueView {
            unsent_bytes: 0,
            unsent_segs: 0,
            outstanding_bytes: 0,
            memory_bytes: 0,
            limit_bytes: 400_000,
        },
    }
}

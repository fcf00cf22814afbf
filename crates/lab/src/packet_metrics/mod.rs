//! Numbers of a repetition that need every packet: `--packet-metrics`.
//!
//! Round trips, losses, contributions and slow start of each path, delays by reordering, the delay
//! of each byte from write to read, bytes that wait for earlier ones, probes, and the jitter of the
//! goodput. A recorder takes them from the
//! events of the compared connection; docs/results.md defines them and names their sources. Means
//! over repetitions are left to `summary`, distributions over repetitions to `run`.

mod contribution;
mod distribution;
mod goodput;
mod order;
mod slow_start;
mod waiting;
mod written;

use crate::run::{Counted, Histogram, Run};
use crate::scenario::Scenario;
use base::{Duration, Event, EventMask, HostId, Instant, PathId, Recorder, SocketId};
use contribution::Contributions;
use distribution::Distribution;
use goodput::Goodput;
use harness::RunRecord;
use order::Order;
use simulator::RunSetup;
use slow_start::SlowStart;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use traffic::Traffic;
use waiting::Waiting;
use written::Written;

/// Round trips whose share above is a number of its own (001 s5.1).
const LONG_ROUND_TRIPS: [(&str, Duration); 5] = [
    ("above_50ms", Duration::from_millis(50)),
    ("above_100ms", Duration::from_millis(100)),
    ("above_200ms", Duration::from_millis(200)),
    ("above_1s", Duration::from_millis(1000)),
    ("above_2s", Duration::from_millis(2000)),
];
/// The same of delays by reordering (001 s5.2).
const LONG_WAITS: [(&str, Duration); 1] = [("above_150ms", Duration::from_millis(150))];

/// The numbers of a run, shared by the recorder and its reader.
#[derive(Clone, Debug)]
pub(crate) struct PacketMetrics(Rc<RefCell<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    sender: HostId,
    receiver: HostId,
    /// By subflow of the sender.
    round_trips: BTreeMap<PathId, Distribution>,
    sent: BTreeMap<PathId, Sent>,
    contributions: Contributions,
    slow_start: SlowStart,
    orders: BTreeMap<SocketId, Order>,
    out_of_order: Distribution,
    written: Written,
    waiting: Waiting,
    goodput: Goodput,
    uses_all_paths: bool,
}

/// Segments with payload of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    segments: u64,
    retransmissions: u64,
}

impl PacketMetrics {
    /// A recorder for this run; `None` if they are not asked for.
    pub(crate) fn of(scenario: &Scenario, setup: &RunSetup) -> Option<PacketMetrics> {
        let flow = setup.flows.first().filter(|_| scenario.ends.packet_metrics)?;
        // The client is host 0.
        let (client, server) = (HostId(0), HostId(1));
        let (sender, receiver) = if flow.reverse { (client, server) } else { (server, client) };
        let uses_all_paths = flow.carrier.uses_all_paths();
        let seen = Seen { sender, receiver, uses_all_paths, ..Seen::default() };
        Some(PacketMetrics(Rc::new(RefCell::new(seen))))
    }

    /// Gives the run its numbers and distributions.
    pub(crate) fn add_to(&self, run: &mut Run, scenario: &Scenario, record: &RunRecord) {
        run.extra.extend(self.numbers(scenario, record));
        run.histograms = self.0.borrow().histograms(scenario, record);
    }

    /// The numbers by name, in SI units.
    fn numbers(&self, scenario: &Scenario, record: &RunRecord) -> Vec<(String, f64)> {
        let seen = self.0.borrow();
        let mut numbers = seen.of_paths(scenario, record);
        if !seen.out_of_order.is_empty() {
            let add = |(name, value)| (format!("out_of_order/{name}"), value);
            let late = ("share", seen.out_of_order.above_zero());
            let named = seen.out_of_order.numbers(&LONG_WAITS);
            numbers.extend(std::iter::once(late).chain(named).map(add));
        }
        if let Some(delays) = seen.written.delays() {
            let add = |(name, value)| (format!("application_delay/{name}"), value);
            // Of bytes, not of packets.
            numbers.extend(delays.numbers(&[]).filter(|(name, _)| *name != "n").map(add));
        }
        let [mean, max] = seen.waiting.bytes();
        numbers.push(("reorder_buffer/mean".to_owned(), mean));
        numbers.push(("reorder_buffer/max".to_owned(), max));
        numbers.push(("probes/bytes".to_owned(), record.measured().sent.probe_bytes as f64));
        // Only these data are read all the time.
        if matches!(scenario.traffic, Traffic::BulkSize(_) | Traffic::BulkTime(_)) {
            let begin = scenario.warm_up.max(record.measured().started);
            let jitter = seen.goodput.jitter(begin, record.ended);
            numbers.extend(jitter.map(|jitter| ("goodput/jitter".to_owned(), jitter)));
        }
        numbers
    }
}

impl Recorder for PacketMetrics {
    fn mask(&self) -> EventMask {
        let host = EventMask::WINDOW.union(EventMask::SEGMENT).union(EventMask::DELIVERY);
        host.union(EventMask::ARRIVAL).union(EventMask::ACCOUNT).union(EventMask::WRITE)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        let seen = &mut *self.0.borrow_mut();
        if host == seen.sender {
            seen.on_sender(now, event);
        } else if host == seen.receiver {
            seen.on_receiver(now, event);
        }
    }
}

impl Seen {
    fn on_sender(&mut self, now: Instant, event: &Event) {
        self.contributions.sample(now);
        match *event {
            Event::RttSample { socket, path, sample, srtt, .. } => {
                self.round_trips.entry(path).or_default().add(sample, &LONG_ROUND_TRIPS);
                self.contributions.on_round_trip((socket, path), srtt);
            }
            Event::SegmentSent { socket, path, len, retransmission, inflight_segs, .. } => {
                let sent = self.sent.entry(path).or_default();
                sent.segments += u64::from(len > 0);
                sent.retransmissions += u64::from(retransmission && len > 0);
                self.contributions.on_inflight((socket, path), inflight_segs);
            }
            Event::SegmentAcked { socket, path, inflight_segs, .. } => {
                self.contributions.on_inflight((socket, path), inflight_segs);
            }
            Event::WindowChange { socket, path, cwnd_bytes, ssthresh_bytes, state, .. } => {
                let window = [cwnd_bytes, ssthresh_bytes.unwrap_or(u64::MAX)];
                self.slow_start.on_window((socket, path), window, state);
            }
            Event::Written { socket, len } => self.written.write(now, socket, len),
            _ => {}
        }
    }

    fn on_receiver(&mut self, now: Instant, event: &Event) {
        let waits = &mut self.out_of_order;
        match *event {
            Event::SegmentArrived { socket, path, offset, len } => {
                let order = self.orders.entry(socket).or_default();
                if self.uses_all_paths {
                    order.on_segment(now, path, offset, len);
                } else {
                    order.on_data(now, (offset, len), now, &mut |wait| {
                        waits.add(wait, &LONG_WAITS);
                    });
                }
                self.waiting.arrive(now);
            }
            Event::DataArrived { socket, path, offset, subflow_offset, len } => {
                let order = self.orders.entry(socket).or_default();
                order.on_mapped(now, (path, subflow_offset), (offset, len), &mut |wait| {
                    waits.add(wait, &LONG_WAITS);
                });
            }
            Event::Delivered { socket, len, .. } => {
                self.written.read(now, socket, len);
                self.goodput.read(now, len);
            }
            Event::Holds { socket, bytes, .. } => self.waiting.hold(now, socket, bytes),
            _ => {}
        }
    }

    /// Of every path that was used.
    fn of_paths(&self, scenario: &Scenario, record: &RunRecord) -> Vec<(String, f64)> {
        let subflows = &record.measured().sender_subflows;
        let is_on = |path: usize| move |id: &PathId| subflows.get(id.index()) == Some(&path);
        let contributions = self.contributions.of(subflows, scenario.paths.len());
        let mut numbers = Vec::new();
        for (path, spec) in scenario.paths.iter().enumerate() {
            let round_trips = self.round_trips_on(is_on(path));
            let name = &spec.name;
            let of = round_trips.numbers(&LONG_ROUND_TRIPS);
            numbers.extend(of.map(|(number, value)| (format!("rtt/{name}/{number}"), value)));
            let mut sent = Sent::default();
            for (_, of) in self.sent.iter().filter(|(id, _)| is_on(path)(id)) {
                sent.segments += of.segments;
                sent.retransmissions += of.retransmissions;
            }
            if sent.segments > 0 {
                let loss = sent.retransmissions as f64 / sent.segments as f64;
                numbers.push((format!("loss/{name}"), loss));
            }
            if self.uses_all_paths {
                numbers.push((format!("contribution/{name}"), contributions[path]));
            }
            let slow_start = self.slow_start.of(is_on(path));
            numbers.extend(slow_start.map(|share| (format!("slow_start/{name}"), share)));
        }
        numbers
    }

    /// Round trips of these subflows.
    fn round_trips_on(&self, is_meant: impl Fn(&PathId) -> bool) -> Distribution {
        let mut all = Distribution::default();
        for (_, of) in self.round_trips.iter().filter(|(id, _)| is_meant(id)) {
            all.merge(of);
        }
        all
    }

    /// The distributions that have samples.
    fn histograms(&self, scenario: &Scenario, record: &RunRecord) -> Vec<Histogram> {
        let subflows = &record.measured().sender_subflows;
        let of_path = |path: usize| {
            let on_it = self.round_trips_on(|id| subflows.get(id.index()) == Some(&path));
            Histogram::new(Counted::RoundTrip, Some(path), on_it.counts())
        };
        let paths = (0..scenario.paths.len()).map(of_path);
        let waits = Histogram::new(Counted::OutOfOrder, None, self.out_of_order.counts());
        let delays = self
            .written
            .delays()
            .map(|delays| Histogram::new(Counted::ApplicationDelay, None, delays.counts()));
        let all = paths.chain([waits]).chain(delays);
        all.filter(|histogram| !histogram.counts.is_empty()).collect()
    }
}

/// Several recorders of one run.
pub(crate) struct Recorders(pub Vec<Box<dyn Recorder>>);

impl Recorders {
    /// Those that there are; `None` if there is none.
    pub(crate) fn boxed(all: [Option<Box<dyn Recorder>>; 2]) -> Option<Box<dyn Recorder>> {
        let all: Vec<Box<dyn Recorder>> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| Box::new(Recorders(all)) as Box<dyn Recorder>)
    }
}

impl Recorder for Recorders {
    fn mask(&self) -> EventMask {
        self.0.iter().fold(EventMask::NONE, |mask, one| mask.union(one.mask()))
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        self.record_kind(EventMask::ALL, now, host, event);
    }

    fn record_kind(&mut self, kind: EventMask, now: Instant, host: HostId, event: &Event) {
        for one in self.0.iter_mut().filter(|one| one.mask().intersects(kind)) {
            one.record_kind(kind, now, host, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the events that it gets.
    struct Count(EventMask, Rc<RefCell<u32>>);

    impl Recorder for Count {
        fn mask(&self) -> EventMask {
            self.0
        }

        fn record(&mut self, _: Instant, _: HostId, _: &Event) {
            *self.1.borrow_mut() += 1;
        }
    }

    /// Regression: with time series the contributions of paths had further samples, at events that
    /// only the series need.
    #[test]
    fn recorder_gets_the_kinds_that_it_needs_beside_another_one_too() {
        let counts = [EventMask::WRITE, EventMask::ARRIVAL].map(|kind| (kind, Rc::default()));
        let boxed = |(kind, count): &(_, Rc<RefCell<u32>>)| {
            Some(Box::new(Count(*kind, Rc::clone(count))) as Box<dyn Recorder>)
        };
        let mut all = Recorders::boxed(counts.each_ref().map(boxed)).unwrap();
        let event = Event::Written { socket: SocketId(0), len: 1 };
        all.record_kind(EventMask::WRITE, Instant::ZERO, HostId(0), &event);
        assert_eq!(counts.map(|(_, count)| *count.borrow()), [1, 0]);
    }
}

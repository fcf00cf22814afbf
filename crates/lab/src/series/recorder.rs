//! The recorder that turns the events of a run into time series.
//!
//! Of several connections, the one that carried most data is recorded. Subflow numbers become paths
//! of the scenario at the end of the run, when the interface of each subflow is known.

use super::brought::Brought;
use super::calls::Calls;
use super::{Points, Quantity, Series, thinned};
use crate::delays::Arrivals;
use crate::packet_metrics::{PacketMetrics, Recorders};
use base::{Event, EventMask, HostId, Instant, PathId, Recorder, SocketId};
use harness::{FlowRecord, RunRecord};
use network::Capacity;
use simulator::{RunError, RunSetup, simulate_recorded};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;
use transport::buffer::RangeSet;

/// Runs a repetition and records its series, in the order of quantities and paths.
pub fn record_series(setup: &RunSetup) -> Result<(RunRecord, Vec<Series>), RunError> {
    record_series_and_more(setup, None, None)
}

/// The same, with the paths of messages and the numbers that need every packet.
pub(crate) fn record_series_and_more(
    setup: &RunSetup,
    arrivals: Option<Arrivals>,
    packets: Option<PacketMetrics>,
) -> Result<(RunRecord, Vec<Series>), RunError> {
    let seen = Rc::new(RefCell::new(Seen::new(setup)));
    let watch: Box<dyn Recorder> = Box::new(Watch(Rc::clone(&seen), arrivals));
    let recorder = match packets {
        Some(packets) => Box::new(Recorders(vec![watch, Box::new(packets)])),
        None => watch,
    };
    let record = simulate_recorded(setup, recorder)?;
    let seen = mem::take(&mut *seen.borrow_mut());
    let mut series = seen.into_series(&record);
    series.extend(goodputs(&record));
    Ok((record, series))
}

/// The goodputs of the compared connection and of the first competing flows, if there are any.
fn goodputs(record: &RunRecord) -> Vec<Series> {
    let competing = record.competing();
    if competing.is_empty() {
        return Vec::new();
    }
    let flows = competing.iter().take(MOST_FLOWS_SHOWN).enumerate();
    let flows = flows.map(|(number, flow)| goodput(Some(number), flow));
    std::iter::once(goodput(None, record.measured())).chain(flows).collect()
}

fn goodput(path: Option<usize>, flow: &FlowRecord) -> Series {
    let seconds = flow.read_by.windows(2).zip(1..);
    let point = |(pair, second): (&[u64], u64)| {
        (Instant::from_secs(second), (pair[1] - pair[0]) as f64 * 8.0)
    };
    Series { quantity: Quantity::Goodput, path, points: seconds.map(point).collect() }
}

/// Most flows that can be distinguished in a figure.
const MOST_FLOWS_SHOWN: usize = 16;
/// Points of a series at which it is thinned.
const MOST_KEPT: usize = 200_000;

struct Watch(Rc<RefCell<Seen>>, Option<Arrivals>);

/// State of the recorder.
#[derive(Default)]
struct Seen {
    sender: HostId,
    receiver: HostId,
    /// Links in the direction of the data have even numbers in a download, odd ones otherwise.
    odd: bool,
    /// The path of each pair of links whose queue is recorded.
    queues: Vec<Option<usize>>,
    paths: usize,
    multipath: bool,
    of_links: BTreeMap<usize, Points>,
    of_sender: BTreeMap<SocketId, Sending>,
    of_receiver: BTreeMap<SocketId, Receiving>,
}

/// The sender of a connection.
#[derive(Default)]
struct Sending {
    bytes: u64,
    of_subflows: BTreeMap<(Quantity, PathId), Points>,
    calls: Calls,
}

/// The receiver of a connection.
#[derive(Default)]
struct Receiving {
    arrived: BTreeMap<PathId, Points>,
    brought: Brought,
    read: Points,
    held: Points,
    /// Bytes that arrived, by subflow.
    subflow: BTreeMap<PathId, RangeSet>,
    /// Number of bytes that reached the connection.
    reached: u64,
    /// Bytes that reached the connection.
    connection: RangeSet,
    /// Bytes that the reader has taken.
    taken: u64,
}

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        let host = EventMask::WINDOW.union(EventMask::SEGMENT).union(EventMask::DELIVERY);
        host.union(EventMask::ARRIVAL).union(EventMask::QUEUE).union(EventMask::DECISION)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if let Some(arrivals) = &self.1 {
            arrivals.on_event(host, event);
        }
        let seen = &mut *self.0.borrow_mut();
        if let Event::PacketAccepted { link, waiting, .. } = *event {
            seen.on_link(now, link.0, waiting);
        } else if host == seen.sender {
            seen.on_sender(now, event);
        } else if host == seen.receiver {
            seen.on_receiver(now, event);
        }
    }
}

impl Seen {
    fn new(setup: &RunSetup) -> Seen {
        // The client is host 0, and links are numbered down, up, path by path.
        let (client, server) = (HostId(0), HostId(1));
        let measured = setup.flows.first();
        let reverse = measured.is_some_and(|flow| flow.reverse);
        let (sender, receiver) = if reverse { (client, server) } else { (server, client) };
        Seen {
            sender,
            receiver,
            odd: reverse,
            queues: queues(setup),
            paths: setup.network.paths.len(),
            multipath: measured.is_some_and(|flow| flow.carrier.uses_all_paths()),
            ..Seen::default()
        }
    }

    fn on_link(&mut self, now: Instant, link: u32, waiting: u32) {
        let path = self.queues.get(link as usize / 2).copied().flatten();
        if let Some(path) = path.filter(|_| (link % 2 == 1) == self.odd) {
            keep(self.of_links.entry(path).or_default(), now, waiting.into());
        }
    }

    fn on_sender(&mut self, now: Instant, event: &Event) {
        if let Event::Decision(call) = event {
            let sending = self.of_sender.entry(call.socket).or_default();
            return sending.calls.add(now, call, self.paths);
        }
        let (quantity, socket, path, value) = match *event {
            Event::WindowChange { socket, path, cwnd_bytes, .. } => {
                (Quantity::CongestionWindow, socket, path, cwnd_bytes as f64)
            }
            Event::RttSample { socket, path, srtt, .. } => {
                (Quantity::SmoothedRtt, socket, path, srtt.as_secs_f64())
            }
            Event::SegmentSent { socket, path, len, inflight_segs, .. } => {
                self.of_sender.entry(socket).or_default().bytes += u64::from(len);
                (Quantity::InFlight, socket, path, inflight_segs.into())
            }
            Event::SegmentAcked { socket, path, inflight_segs, .. } => {
                (Quantity::InFlight, socket, path, inflight_segs.into())
            }
            _ => return,
        };
        let sending = self.of_sender.entry(socket).or_default();
        step(sending.of_subflows.entry((quantity, path)).or_default(), now, value);
    }

    fn on_receiver(&mut self, now: Instant, event: &Event) {
        let (Event::SegmentArrived { socket, .. }
        | Event::DataArrived { socket, .. }
        | Event::Delivered { socket, .. }) = *event
        else {
            return;
        };
        self.of_receiver.entry(socket).or_default().on_event(now, event, self.multipath);
    }

    fn into_series(mut self, record: &RunRecord) -> Vec<Series> {
        let sending = self.of_sender.into_values().max_by_key(|sending| sending.bytes);
        let receiving = self.of_receiver.into_values().max_by_key(|receiving| receiving.taken);
        let (sending, receiving) = (sending.unwrap_or_default(), receiving.unwrap_or_default());
        let path = |subflows: &[usize], path: PathId| subflows.get(path.index()).copied();
        let mut merged = sending.calls.into_series();
        for ((quantity, subflow), points) in sending.of_subflows {
            let key = (quantity, path(&record.measured().sender_subflows, subflow));
            merged.entry(key).or_default().extend(points);
        }
        for (subflow, points) in receiving.arrived {
            let key = (Quantity::Arrived, path(&record.measured().receiver_subflows, subflow));
            merged.entry(key).or_default().extend(points);
        }
        while let Some((link, points)) = self.of_links.pop_first() {
            merged.insert((Quantity::Queue, Some(link)), points);
        }
        merged.insert((Quantity::Read, None), receiving.read);
        merged.insert((Quantity::ReorderBuffer, None), receiving.held);
        let mut series: Vec<Series> = merged
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|((quantity, path), points)| Series { quantity, path, points })
            .collect();
        let path = |subflow| path(&record.measured().receiver_subflows, subflow);
        series.extend(receiving.brought.into_series(path));
        for one in &mut series {
            // A path that was joined again has several subflows.
            one.points.sort_by_key(|(at, _)| *at);
        }
        series
    }
}

/// The queue of a path is that of its own link, or else that of its shared link, recorded for the
/// first of several such paths.
fn queues(setup: &RunSetup) -> Vec<Option<usize>> {
    let has_none = |path: &usize| {
        let path = &setup.network.paths[*path];
        matches!(
            [&path.down.capacity, &path.up.capacity],
            [Capacity::Unlimited, Capacity::Unlimited]
        )
    };
    let leads_on =
        |path: &usize| setup.network.links.iter().any(|shared| shared.paths.contains(path));
    let own = (0..setup.network.paths.len())
        .map(|path| Some(path).filter(|path| !(has_none(path) && leads_on(path))));
    let of_shared =
        setup.network.links.iter().map(|shared| shared.paths.iter().copied().find(has_none));
    own.chain(of_shared).collect()
}

impl Receiving {
    fn on_event(&mut self, now: Instant, event: &Event, multipath: bool) {
        match *event {
            Event::SegmentArrived { path, offset, len, .. } => {
                let end = offset + u64::from(len);
                let new = self.subflow.entry(path).or_default().insert(offset..end);
                if !multipath {
                    self.brought.add(now, path, new);
                    keep(self.arrived.entry(path).or_default(), now, end as f64);
                }
            }
            Event::DataArrived { path, offset, len, .. } => {
                let end = offset + u64::from(len);
                self.reached += u64::from(len);
                let new = self.connection.insert(offset..end);
                self.brought.add(now, path, new);
                keep(self.arrived.entry(path).or_default(), now, end as f64);
            }
            Event::Delivered { offset, len, .. } => {
                self.taken = offset + u64::from(len);
                keep(&mut self.read, now, self.taken as f64);
            }
            _ => {}
        }
        let held = self.held_bytes(multipath) as f64;
        step(&mut self.held, now, held);
    }

    /// Bytes that arrived out of order: the reader takes in-order bytes at once.
    fn held_bytes(&self, multipath: bool) -> u64 {
        let subflows: u64 = self.subflow.values().map(RangeSet::covered_bytes).sum();
        let arrived = if multipath {
            subflows.saturating_sub(self.reached) + self.connection.covered_bytes()
        } else {
            subflows
        };
        arrived.saturating_sub(self.taken)
    }
}

/// The last of several values of one instant is kept; equal successive values are merged.
fn step(points: &mut Points, now: Instant, value: f64) {
    match points.last_mut() {
        Some((at, last)) if *at == now => *last = value,
        Some((_, last)) if *last == value => {}
        _ => keep(points, now, value),
    }
}

/// Adds a point. A series that grows too long is thinned, so that memory is bounded for long runs.
fn keep(points: &mut Points, now: Instant, value: f64) {
    points.push((now, value));
    if points.len() >= MOST_KEPT {
        *points = thinned(points, MOST_KEPT / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Duration, Rate};
    use network::{Capacity, Limit, LinkConfig, LossConfig};
    use simulator::{Carrier, Multipath, PathSetup};
    use traffic::Traffic;
    use transport::Protocol;

    fn setup(carrier: Carrier) -> RunSetup {
        let path = |(name, mbit, millis, p): (&str, u64, u64, f64)| {
            let link = LinkConfig {
                capacity: Capacity::Rate(Rate::from_mbit(mbit)),
                delay: Duration::from_millis(millis),
                limit: Limit::Packets(100),
                loss: LossConfig::Bernoulli { p },
                ..LinkConfig::default()
            };
            PathSetup { name: name.to_owned(), down: link.clone(), up: link, events: Vec::new() }
        };
        let paths = [("wlan", 20, 10, 0.01), ("lte", 5, 50, 0.0)].map(path);
        let mut setup = RunSetup::new(paths.into(), carrier, Traffic::BulkSize(2 << 20));
        if setup.flows[0].carrier == Carrier::Single(Protocol::Tcp) {
            setup.flows[0].first = 1;
        }
        setup
    }

    fn of(series: &[Series], quantity: Quantity, path: Option<usize>) -> &Series {
        let found = series.iter().find(|s| s.quantity == quantity && s.path == path);
        found.unwrap_or_else(|| panic!("no {quantity:?} of {path:?}"))
    }

    #[test]
    fn two_paths_bring_every_byte_and_the_reader_waits_for_gaps() {
        let (record, series) = record_series(&setup(Multipath::default().into())).unwrap();
        assert_eq!(record.measured().sender_subflows, [0, 1]);
        for path in [Some(0), Some(1)] {
            let srtt = &of(&series, Quantity::SmoothedRtt, path).points;
            let least = if path == Some(0) { 0.02 } else { 0.1 };
            assert!(srtt.iter().all(|(_, value)| *value >= least), "{:?}", srtt.first());
            assert!(of(&series, Quantity::CongestionWindow, path).points.len() > 10);
            let most = of(&series, Quantity::Queue, path).points.iter().map(|(_, n)| *n);
            assert!(most.fold(0.0, f64::max) <= 101.0);
        }
        let end = (2 << 20) as f64;
        assert_eq!(of(&series, Quantity::Read, None).points.last().map(|(_, at)| *at), Some(end));
        let arrived = |path| of(&series, Quantity::Arrived, Some(path)).points.iter();
        let highest = arrived(0).chain(arrived(1)).map(|(_, at)| *at).fold(0.0, f64::max);
        assert_eq!(highest, end);
        let held = &of(&series, Quantity::ReorderBuffer, None).points;
        assert!(held.iter().any(|(_, bytes)| *bytes > 10_000.0), "the fast path overtakes");
        assert_eq!(held.last().map(|(_, bytes)| *bytes), Some(0.0));
        assert!(series.iter().all(|s| s.points.windows(2).all(|pair| pair[0].0 <= pair[1].0)));
    }

    #[test]
    fn series_of_a_long_run_stays_bounded_and_keeps_its_peak() {
        let mut points = Points::new();
        for n in 0..1_000_000u64 {
            let value = if n == 123_456 { 9.0 } else { (n % 2) as f64 };
            step(&mut points, Instant::from_millis(n), value);
            assert!(points.len() < MOST_KEPT);
        }
        assert!(points.contains(&(Instant::from_millis(123_456), 9.0)));
        assert_eq!(points.first(), Some(&(Instant::ZERO, 0.0)));
        assert_eq!(points.last(), Some(&(Instant::from_millis(999_999), 1.0)));
    }

    #[test]
    fn recording_changes_nothing() {
        for carrier in [Carrier::Single(Protocol::Tcp), Multipath::default().into()] {
            let setup = setup(carrier);
            let (record, series) = record_series(&setup).unwrap();
            assert_eq!(record, simulator::simulate(&setup).unwrap());
            assert!(series.iter().all(|s| s.path.is_none_or(|path| path < 2)));
        }
    }

    #[test]
    fn series_of_an_upload_are_those_of_the_uplink() {
        let mut setup = setup(Carrier::Single(Protocol::Tcp));
        setup.flows[0].reverse = true;
        let (_, series) = record_series(&setup).unwrap();
        let queue = &of(&series, Quantity::Queue, Some(1)).points;
        assert!(queue.len() > 1_000, "{} packets of data", queue.len());
        assert!(series.iter().all(|s| s.path != Some(0)), "the other path is idle");
    }
}

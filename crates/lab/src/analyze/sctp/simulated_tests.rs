//! Captures of simulated associations against what the recorder saw of them.

use super::Association;
use crate::analyze::{Connection, analyze};
use base::{Duration, Event, EventMask, HostId, Instant, LossReason, PathId, Rate, Recorder};
use harness::RunRecord;
use network::{Capacity, Direction, Limit, LinkChange, LinkConfig, LossConfig, PathEvent};
use simulator::{Carrier, PathSetup, RunSetup, Until, simulate_recorded};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use traffic::Traffic;
use transport::sctp::{Addresses, SctpConfig};

const SERVER: HostId = HostId(1);

/// Recorded truth of the data of the server.
#[derive(Debug, Default)]
struct Truth {
    chunks: u64,
    /// Retransmissions: all, fast ones, and those on another path than before.
    again: u64,
    fast: u64,
    moved: u64,
    /// By position of the chunk: the path of the latest copy, and whether a fast retransmission
    /// follows.
    copies: BTreeMap<u64, (PathId, bool)>,
    /// The chunks that were sent since the last RTT sample.
    since: u64,
    /// Sum of the samples in seconds, each times the chunks of its round trip, and their number.
    rtt: (f64, u64),
}

struct Watch(Rc<RefCell<Truth>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::ALL
    }

    fn record(&mut self, _: Instant, host: HostId, event: &Event) {
        let truth = &mut *self.0.borrow_mut();
        if host != SERVER {
            return;
        }
        match *event {
            Event::SegmentSent { path, offset, len, .. } if len > 0 => {
                truth.chunks += 1;
                truth.since += 1;
                if let Some((before, fast)) = truth.copies.insert(offset, (path, false)) {
                    truth.again += 1;
                    truth.fast += u64::from(fast);
                    truth.moved += u64::from(before != path);
                }
            }
            Event::SegmentLost { offset, reason, .. } => {
                if let Some((_, fast)) = truth.copies.get_mut(&offset) {
                    *fast = reason != LossReason::Timeout;
                }
            }
            Event::RttSample { sample, .. } => {
                let chunks = std::mem::take(&mut truth.since);
                truth.rtt.0 += sample.as_secs_f64() * chunks as f64;
                truth.rtt.1 += chunks;
            }
            _ => {}
        }
    }
}

fn link(mbit: u64, millis: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(mbit)),
        delay: Duration::from_millis(millis),
        limit: Limit::Packets(100),
        loss: LossConfig::Bernoulli { p: loss },
        ..LinkConfig::default()
    }
}

fn path(name: &str, link: &LinkConfig) -> PathSetup {
    PathSetup { name: name.to_owned(), down: link.clone(), up: link.clone(), events: Vec::new() }
}

/// A download over the links, one at a time; the events are those of the first one.
fn download(links: &[LinkConfig], events: Vec<PathEvent>) -> (RunRecord, Truth) {
    let mut paths: Vec<PathSetup> =
        ["wlan", "lte"].iter().zip(links).map(|(name, link)| path(name, link)).collect();
    paths[0].events = events;
    let addresses = if links.len() > 1 { Addresses::All } else { Addresses::One };
    let config = SctpConfig { addresses, ..SctpConfig::default() };
    carry(config, paths)
}

fn carry(config: SctpConfig, paths: Vec<PathSetup>) -> (RunRecord, Truth) {
    let carrier = Carrier::Sctp(Box::new(config));
    let mut setup = RunSetup::new(paths, carrier, Traffic::BulkSize(4 << 20));
    setup.until = Until::Measured;
    setup.recording.capture = true;
    let truth = Rc::new(RefCell::new(Truth::default()));
    let record = simulate_recorded(&setup, Box::new(Watch(Rc::clone(&truth)))).unwrap();
    let truth = Rc::try_unwrap(truth).unwrap_or_else(|_| unreachable!("the run is over"));
    (record, truth.into_inner())
}

/// The association as both ends captured it, the sender first.
fn both(record: &RunRecord) -> [Connection; 2] {
    let captures = record.captures.as_ref().expect("asked for");
    [&captures.sender, &captures.receiver].map(|file| {
        let analysis = analyze(file).unwrap();
        assert_eq!(analysis.notes, Vec::<String>::new());
        let [connection] = <[Connection; 1]>::try_from(analysis.connections).expect("one");
        connection
    })
}

fn of(connection: &Connection) -> &Association {
    connection.sctp.as_ref().expect("an association")
}

#[test]
fn lossy_download_shows_what_the_recorder_counted() {
    let (record, truth) = download(&[link(10, 20, 0.02)], Vec::new());
    let [sender, receiver] = both(&record);
    let sent = &of(&sender).sides[1];
    let found = sent.retransmissions;
    let counted = (sent.chunks, found.fast + found.timeout, found.fast, found.moved);
    assert_eq!(counted, (truth.chunks, truth.again, truth.fast, truth.moved));
    assert!(truth.fast > 30, "{}", truth.fast);
    assert_eq!((of(&receiver).sides[1].unique_bytes, sent.unique_bytes), (4 << 20, 4 << 20));
    // The receiver tells lost chunks from late ones, but not how often one was lost.
    let lost = record.links[0].down.lost + record.links[0].down.dropped_full;
    let seen = of(&receiver).sides[1].retransmissions.lost_before;
    assert!(seen <= lost && seen * 10 >= lost * 9, "{seen} of {lost} lost");
}

#[test]
fn round_trip_times_are_those_of_the_recorder() {
    let mut config = SctpConfig { addresses: Addresses::One, ..SctpConfig::default() };
    // A delayed SACK reports two chunks: the engine times either, the analysis the older one.
    config.parameters.sack_delay = Duration::ZERO;
    let (record, truth) = carry(config, vec![path("wlan", &link(10, 20, 0.01))]);
    let [sender, receiver] = both(&record);
    let down = &sender.subflows[0].down;
    let rtt = down.rtt.expect("at the sender").mean;
    // The engine times one chunk a round trip, the analysis each one.
    let mean = truth.rtt.0 / truth.rtt.1 as f64;
    assert!((rtt / mean - 1.0).abs() < 0.03, "{rtt} and {mean}");
    assert_eq!(receiver.subflows[0].down.rtt, None, "the sender alone knows them");
}

#[test]
fn fail_over_shows_as_chunks_moved_to_the_other_path() {
    let silent = PathEvent {
        at: Duration::from_millis(1000),
        direction: Direction::Both,
        change: LinkChange::Silent,
    };
    let (record, truth) = download(&[link(10, 20, 0.0), link(5, 40, 0.0)], vec![silent]);
    let [sender, receiver] = both(&record);
    let sent = &of(&sender).sides[1];
    assert_eq!(sent.chunks, truth.chunks);
    assert_eq!(sent.retransmissions.moved, truth.moved);
    assert!(truth.moved > 10, "{}", truth.moved);
    assert_eq!(of(&receiver).sides[1].unique_bytes, 4 << 20);
    let addresses = of(&sender).addresses.each_ref().map(Vec::len);
    assert_eq!(addresses, [2, 2]);
}

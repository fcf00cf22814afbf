//! Gap structures alone: what a sender and a receiver cost by the span of the gaps.
//!
//! Some TSNs arrive late, by as many positions as the span, and the receiver reports every arrival.
//! At a receiver every tenth TSN is late, so that the gaps grow with the span. A sender has twenty
//! gaps at either span, about as many as over two paths of different delay; another figure is of a
//! packet full of gaps. With lists in place of trees the time grows with the span (003 sIII-D).

use crate::figures::line;
use base::{Instant, PathId};
use std::hint::black_box;
use transport::sctp::{Keep, Outstanding, ReceivedList, ReceivedTsns, Report, SentList};
use wire::sctp::{Sack, Tsn};

/// Arrivals of which the time is taken.
const ARRIVALS: u64 = 5_000;
/// The best round counts: what else the machine does is no part of it.
const ROUNDS: usize = 5;
/// The spans that are compared, in TSNs.
const SPANS: [u64; 2] = [100, 100_000];
/// At a receiver one TSN in this many is late.
const LATE: u64 = 10;
/// Gaps in the reports to a sender.
const GAPS: u64 = 20;
/// Bytes of chunks in a packet.
const ROOM: u32 = 1468;
/// The first TSN.
const FIRST: Tsn = Tsn(1);
/// Growth of a tree's time from the small to the large span: most per chunk that a sender newly
/// acknowledges, and per TSN that a receiver inserts.
const MOST: [f64; 2] = [2.0, 5.0];
/// Least growth of a list's time, without which the figures show nothing.
const LEAST_OF_LISTS: f64 = 50.0;

/// The time at both spans, and how much it grows.
pub(crate) fn all() -> Result<(), String> {
    let sent = SPANS.map(|span| Arrivals::new(span, span / GAPS));
    let received = SPANS.map(|span| Arrivals::new(span, LATE));
    let lists = LEAST_OF_LISTS..f64::INFINITY;
    let full = received[1].acknowledge();
    line("gaps/sender-full-report", format_args!("{full:.1}"), "ns/chunk");
    let results = [
        compare(
            "gaps/sender",
            "ns/chunk",
            0.0..MOST[0],
            sent.each_ref().map(Arrivals::acknowledge),
        ),
        compare("gaps/receiver", "ns/tsn", 0.0..MOST[1], received.each_ref().map(Arrivals::insert)),
        compare(
            "gaps/sender-list",
            "ns/chunk",
            lists.clone(),
            sent.map(Arrivals::acknowledge_listed),
        ),
        compare("gaps/receiver-list", "ns/tsn", lists, received.map(Arrivals::insert_listed)),
    ];
    results.into_iter().collect()
}

/// Prints the times of a structure and their ratio.
///
/// # Errors
/// If the ratio is out of bounds.
fn compare(
    name: &str,
    unit: &str,
    bounds: std::ops::Range<f64>,
    times: [f64; 2],
) -> Result<(), String> {
    for (span, time) in SPANS.iter().zip(times) {
        line(&format!("{name}-{span}"), format_args!("{time:.1}"), unit);
    }
    let growth = times[1] / times[0];
    line(&format!("{name}-growth"), format_args!("{growth:.2}"), "times");
    if bounds.contains(&growth) {
        return Ok(());
    }
    Err(format!("{name}-growth: {growth:.2} is not from {} to {}", bounds.start, bounds.end))
}

/// TSNs in the order of their arrival, as offsets, and the reports of the receiver.
struct Arrivals {
    /// Before the time is taken.
    before: Vec<u64>,
    timed: Vec<u64>,
    /// After `before`, and after each of `timed`.
    sacks: Vec<Sack>,
    /// Chunks that were sent.
    sent: u64,
}

impl Arrivals {
    /// One TSN in `late` is late by `span` positions.
    fn new(span: u64, late: u64) -> Arrivals {
        let end = span + ARRIVALS;
        let arrives = |at: u64| (if at.is_multiple_of(late) { at + span } else { at }, at);
        let mut order: Vec<(u64, u64)> = (0..end).map(arrives).collect();
        order.retain(|(position, _)| *position < end);
        order.sort_unstable();
        let split = order.partition_point(|(position, _)| *position < span);
        let mut before: Vec<u64> = order.into_iter().map(|(_, at)| at).collect();
        let timed = before.split_off(split);
        let mut received = receiver(&before);
        let mut sacks = vec![received.sack(0, ROOM)];
        sacks.extend(timed.iter().map(|at| {
            received.insert(FIRST + *at as u32, Keep::Forever);
            received.sack(0, ROOM)
        }));
        Arrivals { before, timed, sacks, sent: end }
    }

    /// Nanoseconds of a sender for each chunk newly acknowledged.
    fn acknowledge(&self) -> f64 {
        let mut sender = Outstanding::new(FIRST);
        (0..self.sent).for_each(|_| _ = sender.send(Instant::ZERO, PathId(0), 1468, ()));
        self.report(sender, |sender, report| {
            let Ok(acked) = sender.acknowledge(report) else { return 0 };
            let highest = acked.newly.last().map(|chunk| chunk.tsn);
            black_box(highest.map(|highest| sender.count_misses(None, highest)));
            let newly = acked.newly.len();
            sender.recycle(acked);
            newly
        })
    }

    fn acknowledge_listed(self) -> f64 {
        let mut sender = SentList::new(FIRST);
        (0..self.sent).for_each(|_| sender.send());
        self.report(sender, |sender, report| sender.acknowledge(report).newly.len())
    }

    /// Nanoseconds for each chunk, of which `take` returns the number.
    fn report<S: Clone>(&self, mut sender: S, take: impl Fn(&mut S, &Report<'_>) -> usize) -> f64 {
        take(&mut sender, &report_of(&self.sacks[0]));
        let acked = |sender: &mut S| -> usize {
            self.sacks[1..].iter().map(|sack| take(sender, &report_of(sack))).sum()
        };
        best(|| sender.clone(), acked)
    }

    /// Nanoseconds of a receiver for each TSN.
    fn insert(&self) -> f64 {
        let received = receiver(&self.before);
        best(
            || received.clone(),
            |received| {
                for at in &self.timed {
                    black_box(received.insert(FIRST + *at as u32, Keep::Forever));
                }
                self.timed.len()
            },
        )
    }

    fn insert_listed(self) -> f64 {
        let mut list = ReceivedList::default();
        self.before.iter().for_each(|at| _ = list.insert(*at));
        best(
            || list.clone(),
            |list| {
                for at in &self.timed {
                    black_box(list.insert(*at));
                }
                self.timed.len()
            },
        )
    }
}

/// A SACK that a packet had no room for more blocks of.
fn report_of(sack: &Sack) -> Report<'_> {
    let Sack { cum_tsn, gaps, .. } = sack;
    Report { cum_tsn: *cum_tsn, gaps, nr_gaps: &[], complete: false }
}

/// A receiver that these have arrived at.
fn receiver(arrived: &[u64]) -> ReceivedTsns {
    let mut received = ReceivedTsns::new(FIRST);
    for at in arrived {
        received.insert(FIRST + *at as u32, Keep::Forever);
    }
    received
}

/// The least nanoseconds of a round for each of the steps that `work` counts.
#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn best<S>(start: impl Fn() -> S, work: impl Fn(&mut S) -> usize) -> f64 {
    let round = |_| {
        let mut state = start();
        let begin = std::time::Instant::now();
        let steps = work(&mut state);
        begin.elapsed().as_nanos() as f64 / steps as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

//! Congestion controls over whole runs, by every name of the table, while paths join, leave, die
//! and return: no more is in flight than was allowed, and no path that lives starves.

use crate::multipath::{hostile_run, over};
use crate::pair::{SERVER, link};
use base::{Duration, Event, EventMask, HostId, Instant, PathId, Recorder};
use network::LossConfig;
use proptest::prelude::*;
use simulator::{RunSetup, simulate_recorded};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use traffic::Traffic;
use transport::congestion;

/// One sender's path.
#[derive(Clone, Copy, Default)]
struct Seen {
    cwnd_bytes: u64,
    /// The longest segment, which is the MSS of a bulk transfer.
    mss: u32,
    last_sent: Option<Instant>,
    /// The longest silence between two segments.
    silence: Duration,
}

#[derive(Default)]
struct Paths {
    seen: BTreeMap<(HostId, PathId), Seen>,
    excess: Vec<String>,
}

struct Watch(Rc<RefCell<Paths>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::SEGMENT.union(EventMask::WINDOW)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        let Paths { seen, excess } = &mut *self.0.borrow_mut();
        match event {
            Event::WindowChange { path, cwnd_bytes, .. } => {
                seen.entry((host, *path)).or_default().cwnd_bytes = *cwnd_bytes;
            }
            Event::SegmentSent { path, len, retransmission, inflight_segs, .. } => {
                let seen = seen.entry((host, *path)).or_default();
                seen.mss = seen.mss.max(*len);
                let silence = seen.last_sent.map_or(Duration::ZERO, |last| now - last);
                seen.silence = seen.silence.max(silence);
                seen.last_sent = Some(now);
                // The first window was never advertised; a loss probe may exceed any window.
                let cwnd_segs = seen.cwnd_bytes.div_ceil(u64::from(seen.mss.max(1))).max(10);
                if !retransmission && u64::from(*inflight_segs) > cwnd_segs + 1 {
                    excess.push(format!("{now} {path:?}: {inflight_segs} of {cwnd_segs}"));
                }
            }
            _ => {}
        }
    }
}

/// Every control, and those that have coupled initial windows with them.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let lisa = ["lia:lisa=1", "olia:lisa=1", "balia:lisa=1"];
    congestion::NAMES.iter().map(|(name, ..)| *name).chain(lisa)
}

fn watched(setup: &RunSetup) -> Paths {
    let paths = Rc::new(RefCell::new(Paths::default()));
    simulate_recorded(setup, Box::new(Watch(Rc::clone(&paths)))).expect("the run is sound");
    paths.take()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn flight_stays_within_what_was_allowed(setup in hostile_run()) {
        for congestion in names() {
            let mut setup = setup.clone();
            setup.flows[0].tcp.congestion = congestion.parse().unwrap();
            let excess = watched(&setup).excess;
            prop_assert!(excess.is_empty(), "{}: {:?}", congestion, excess);
        }
    }
}

/// Two paths that lose much, one ten times as slow: a second is a time-out and more of either.
#[test]
fn no_live_path_starves_while_there_are_data() {
    let lossy = |mbit, delay_ms| network::LinkConfig {
        loss: LossConfig::Bernoulli { p: 0.01 },
        ..link(mbit, delay_ms)
    };
    for congestion in names() {
        let links = [lossy(20, 5), lossy(2, 50)];
        let mut setup = over(&links, "lrf", Traffic::BulkTime(Duration::from_secs(20)));
        setup.flows[0].tcp.congestion = congestion.parse().unwrap();
        let paths = watched(&setup);
        for path in [PathId(0), PathId(1)] {
            let seen = paths.seen.get(&(SERVER, path)).copied().unwrap_or_default();
            assert!(seen.last_sent > Some(Instant::from_secs(18)), "{congestion} {path:?}");
            assert!(
                seen.silence < Duration::from_secs(2),
                "{congestion} {path:?}: {}",
                seen.silence
            );
        }
    }
}

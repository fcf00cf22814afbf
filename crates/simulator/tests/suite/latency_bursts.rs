//! 002 Figures 6 and 8 over the whole engine: a burst in one write after a warm-up and a silence,
//! both windows 10, the profile of the paper's kernel. Figure 6 is who sends what of 15 segments
//! at 0.5 Gbit/s. How soon TCP Small Queues turn LRF away from the fast path depends on what a
//! segment costs the sending host, so that cost is swept; cards are those of every host. Figure 8
//! is how long bursts of 10 to 50 segments take at 100 Mbit/s (002 Table II).

use crate::multipath::over;
use crate::pair::{SERVER, link, one_path, value};
use base::{Blocked, Duration, Event, EventMask, HostId, Instant, Recorder};
use simulator::{RunSetup, simulate_recorded};
use std::cell::RefCell;
use std::rc::Rc;
use traffic::Traffic;
use transport::Profile;

/// Payload of a segment of that profile.
const SEGMENT_BYTES: u32 = 1428;
/// The warm-up is over for a while then, the burst is still to come.
const BETWEEN: Instant = Instant::from_secs(2);
/// The fast path's RTT in ms.
const FAST_RTT: f64 = 10.0;

/// The burst as its sender saw it.
#[derive(Default, Debug)]
struct Burst {
    /// Its segments in order: when, on which path, how many were under way there then.
    sent: Vec<(Instant, u8, u32)>,
    /// Small queues held the fast path up before anything went to the other one.
    is_turned_away: bool,
}

struct Watch(Rc<RefCell<Burst>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::SEGMENT.union(EventMask::BLOCKED)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if (host, now > BETWEEN) != (SERVER, true) {
            return;
        }
        let mut burst = self.0.borrow_mut();
        match event {
            Event::SegmentSent { path, len, inflight_segs, .. } if *len > 1 => {
                burst.sent.push((now, path.0, *inflight_segs));
            }
            Event::Blocked { path, why: Blocked::SmallQueue, .. } if path.0 == 0 => {
                burst.is_turned_away |= burst.segments_on(1) == 0;
            }
            _ => {}
        }
    }
}

impl Burst {
    fn segments_on(&self, path: u8) -> usize {
        self.sent.iter().filter(|(_, on, _)| *on == path).count()
    }

    /// The paths in order, equal ones in a row once.
    fn order(&self) -> Vec<u8> {
        let mut order: Vec<u8> = self.sent.iter().map(|(_, path, _)| *path).collect();
        order.dedup();
        order
    }
}

fn setup(scheduler: &'static str, segments: u32, mbit: u64, slow_ms: u64) -> RunSetup {
    let links = [link(mbit, 5), link(mbit, slow_ms / 2)];
    let traffic = Traffic::Burst { segments, segment_bytes: SEGMENT_BYTES };
    let mut setup = over(&links, scheduler, traffic);
    setup.flows[0].tcp.profile = Profile::Linux41;
    setup
}

/// The burst and its delay in ms on a host that needs `cost_us` microseconds per segment.
fn figure_6(scheduler: &'static str, segments: u32, cost_us: u64) -> (Burst, f64) {
    let mut setup = setup(scheduler, segments, 500, 100);
    setup.server_cost.per_segment = Duration::from_micros(cost_us);
    let burst = Rc::new(RefCell::new(Burst::default()));
    let record = simulate_recorded(&setup, Box::new(Watch(Rc::clone(&burst)))).unwrap();
    (burst.take(), record.outcome.value.unwrap() * 1e3)
}

/// More than both windows take goes to both at once: ten each, and no more before the fast path's
/// first acknowledgement.
#[test]
fn both_windows_are_ten_at_the_burst() {
    for cost_us in 0..=20 {
        let (burst, _) = figure_6("lrf", 40, cost_us);
        let begin = burst.sent[0].0;
        let at_once = |&&(at, ..): &&(Instant, u8, u32)| at - begin < Duration::from_millis(9);
        for path in [0, 1] {
            let on_it = burst.sent.iter().filter(at_once).filter(|(_, on, _)| *on == path);
            let under_way: Vec<u32> = on_it.map(|(.., inflight)| *inflight).collect();
            assert_eq!(under_way, (1..=10).collect::<Vec<_>>(), "{cost_us}: path {path}");
        }
    }
}

/// From this many microseconds per segment on, the card is never behind the host.
const NEVER_TURNED_AWAY_FROM: u64 = 6;
/// From this many microseconds per segment on, the fast path is available again often enough that
/// its window is filled in any case.
const TEN_AND_FIVE_FROM: u64 = 3;

#[test]
fn figure_6_small_queues_turn_lrf_away_from_the_fast_path_and_back() {
    for cost_us in 0..=20 {
        let (burst, ms) = figure_6("lrf", 15, cost_us);
        let split = [0, 1].map(|path| burst.segments_on(path));
        let context = || format!("{cost_us}: {:?}, {split:?}", burst.order());
        assert_eq!(burst.is_turned_away, cost_us < NEVER_TURNED_AWAY_FROM, "{}", context());
        if burst.is_turned_away && cost_us >= TEN_AND_FIVE_FROM {
            assert_eq!(burst.order()[..4], [0, 1, 0, 1], "{}", context());
        }
        if cost_us >= TEN_AND_FIVE_FROM {
            assert_eq!(split, [10, 5], "{}", context());
        }
        assert!((50.0..51.0).contains(&ms), "{ms} ms, {}", context());
    }
}

#[test]
fn figure_6_blest_and_sttf_stay_on_the_fast_path() {
    for scheduler in ["blest", "blest-kernel", "sttf"] {
        for cost_us in 0..=20 {
            let (burst, ms) = figure_6(scheduler, 15, cost_us);
            assert_eq!(burst.segments_on(0), 15, "{scheduler} {cost_us}");
            assert_eq!(burst.segments_on(1), 0, "{scheduler} {cost_us}");
            // Ten in the first round trip, five in the next.
            let (first, next) = burst.sent.split_at(10);
            assert!(first[9].0 - first[0].0 < Duration::from_millis(1), "{scheduler} {cost_us}");
            assert!(next[0].0 - first[0].0 > Duration::from_millis(10), "{scheduler} {cost_us}");
            assert!((15.0..16.0).contains(&ms), "{scheduler} {cost_us}: {ms} ms");
        }
    }
}

/// Figure 8, in ms.
fn figure_8(scheduler: &'static str, segments: u32, slow_ms: u64) -> f64 {
    value(&setup(scheduler, segments, 100, slow_ms)) * 1e3
}

/// TCP over the fast path, in ms.
fn alone(segments: u32) -> f64 {
    let traffic = Traffic::Burst { segments, segment_bytes: SEGMENT_BYTES };
    let mut setup = one_path(&link(100, 5), traffic);
    setup.flows[0].tcp.profile = Profile::Linux41;
    value(&setup) * 1e3
}

#[test]
fn figure_8_lrf_pays_half_the_slow_rtt_and_the_others_do_not() {
    for segments in 11..=50 {
        let lrf = figure_8("lrf", segments, 100);
        assert!(lrf >= 50.0, "{segments}: {lrf} ms");
        let tcp = alone(segments);
        for scheduler in ["blest-kernel", "sttf"] {
            let ms = figure_8(scheduler, segments, 100);
            assert!((ms - tcp).abs() <= FAST_RTT, "{scheduler} {segments}: {ms} ms, TCP {tcp}");
        }
    }
}

#[test]
fn figure_8_paths_alike_make_schedulers_alike() {
    for segments in 10..=50 {
        let all = ["lrf", "blest-kernel", "sttf"].map(|name| figure_8(name, segments, 10));
        let least = all.iter().fold(f64::INFINITY, |least, ms| least.min(*ms));
        let most = all.iter().fold(0.0, |most: f64, ms| most.max(*ms));
        assert!(most - least <= FAST_RTT, "{segments}: {all:?}");
    }
}

/// 002 sV-B: small queues turn LRF away from a path whose window takes the whole burst.
#[test]
fn figure_8_lrf_is_slow_even_where_one_window_takes_all() {
    for slow_ms in [40, 100] {
        let lrf = figure_8("lrf", 10, slow_ms);
        assert!(lrf >= slow_ms as f64 / 2.0, "{lrf} ms");
        for scheduler in ["blest-kernel", "sttf"] {
            assert!(figure_8(scheduler, 10, slow_ms) < FAST_RTT, "{scheduler}");
        }
    }
}

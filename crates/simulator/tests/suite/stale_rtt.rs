//! The trap of a stale RTT (002 sII-C) over the whole engine. The rate of the fast path falls for
//! two seconds and its queue grows: a video that one path can carry leaves it for the other one.
//! The queue drains, but a scheduler that uses the last RTT never notices, as nothing is sent
//! there. STTF takes the first RTT again after an RTO of silence: it tries the path once an RTO
//! while it is slow, and is back as soon as it is not.

use crate::multipath::over;
use crate::pair::{SERVER, link, record};
use base::{Duration, Event, EventMask, HostId, Instant, PathId, Rate, Recorder};
use network::LinkChange;
use simulator::{Direction, PathEvent, simulate_recorded};
use std::cell::RefCell;
use std::rc::Rc;
use traffic::Traffic;
use transport::Profile;

const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);
const BLOATS: Instant = Instant::from_secs(5);
const DRAINS: Instant = Instant::from_secs(7);
const ENDS: Instant = Instant::from_secs(20);

/// What the server did on the fast path, and where it sent data.
#[derive(Default)]
struct Seen {
    /// Segments with data: when, on which path.
    sent: Vec<(Instant, PathId)>,
    /// Samples of the fast path's RTT and the time-out after each.
    samples: Vec<(Instant, Duration, Duration)>,
}

impl Seen {
    fn sent_on(&self, path: PathId, from: Instant, to: Instant) -> usize {
        let within = |(at, on): &&(Instant, PathId)| *on == path && (from..to).contains(at);
        self.sent.iter().filter(within).count()
    }
}

struct Watch(Rc<RefCell<Seen>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::SEGMENT.union(EventMask::WINDOW)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if host != SERVER {
            return;
        }
        let mut seen = self.0.borrow_mut();
        match event {
            Event::SegmentSent { path, len, .. } if *len > 1 => seen.sent.push((now, *path)),
            Event::RttSample { path: FAST, sample, rto, .. } => {
                seen.samples.push((now, *sample, *rto));
            }
            _ => {}
        }
    }
}

fn seen(scheduler: &'static str) -> Seen {
    let video = Traffic::video(ENDS - Instant::ZERO);
    let mut setup = over(&[link(20, 10), link(20, 20)], scheduler, video);
    setup.flows[0].tcp.profile = Profile::Linux41;
    let rate = |at: Instant, kbit: u64| PathEvent {
        at: at - Instant::ZERO,
        direction: Direction::Both,
        change: LinkChange::Rate(Rate::from_bps(kbit * 1000)),
    };
    setup.network.paths[0].events = vec![rate(BLOATS, 400), rate(DRAINS, 20_000)];
    let seen = Rc::new(RefCell::new(Seen::default()));
    let record = simulate_recorded(&setup, Box::new(Watch(Rc::clone(&seen)))).unwrap();
    assert!(record.outcome.is_complete());
    seen.take()
}

#[test]
fn lrf_never_returns_to_a_path_that_was_slow_for_a_while() {
    // STTF neither if silence does not count for it.
    for scheduler in ["lrf", "sttf:reset=1000"] {
        let seen = seen(scheduler);
        assert_eq!(seen.sent_on(SLOW, Instant::ZERO, BLOATS), 0, "{scheduler}");
        assert!(seen.sent_on(SLOW, BLOATS, DRAINS) > 100, "{scheduler}");
        assert_eq!(seen.sent_on(FAST, DRAINS, ENDS), 0, "{scheduler}");
        assert!(seen.sent_on(SLOW, DRAINS, ENDS) > 1000, "{scheduler}");
    }
}

#[test]
fn sttf_returns_after_an_rto_of_silence() {
    let seen = seen("sttf");
    assert!(seen.sent_on(SLOW, BLOATS, DRAINS) > 100);
    let on_fast: Vec<Instant> =
        seen.sent.iter().filter(|(_, on)| *on == FAST).map(|(at, _)| *at).collect();
    // Messages are 33 ms apart: a longer gap means that the path was left.
    let left = on_fast.windows(2).filter(|pair| pair[1] - pair[0] > Duration::from_millis(70));
    let mut back_at = Instant::ZERO;
    for pair in left {
        let [left_at, returned_at] = [pair[0], pair[1]];
        let (.., rto) = seen.samples.iter().rfind(|(at, ..)| *at < returned_at).expect("sampled");
        let silence = returned_at - left_at;
        let late = Duration::from_millis(34);
        assert!(*rto < silence && silence <= *rto + late, "{silence:?} of silence, RTO {rto:?}");
        back_at = returned_at;
    }
    assert!(back_at > BLOATS && back_at < DRAINS + Duration::from_secs(1), "{back_at:?}");
    let settled = back_at + Duration::from_millis(500);
    assert_eq!(seen.sent_on(SLOW, settled, ENDS), 0, "and it stays");
    assert!(seen.sent_on(FAST, settled, ENDS) > 1000);
}

/// A delay that rises for good leaves wVegas hardly a window, since its smallest RTT never comes
/// again; the smallest one of a minute does. Nothing but that: no path is penalised.
#[test]
fn wvegas_uses_a_path_whose_delay_rose_again_once_it_forgets() {
    let share_at = |congestion: &str, at: Duration| {
        let traffic = Traffic::BulkTime(Duration::from_secs(160));
        let mut setup = over(&[link(10, 10), link(10, 10)], "lrf:reinjection=off", traffic);
        setup.flows[0].tcp.congestion = congestion.parse().unwrap();
        setup.warm_up = Duration::from_secs(100);
        let change = LinkChange::Delay(Duration::from_millis(60));
        let direction = Direction::Both;
        setup.network.paths[0].events.push(PathEvent { at, direction, change });
        let sent = record(&setup).measured().sent.first_sent_bytes.clone();
        sent[0] as f64 / (sent[0] + sent[1]) as f64
    };
    // Twelve moments of the change: the share depends on where it lies within the minute.
    let share = |congestion: &str| {
        let at = |number| Duration::from_secs(20) + Duration::from_secs(1) * number;
        let shares: Vec<f64> = (0..12).map(|number| share_at(congestion, at(number))).collect();
        println!("{congestion}: {shares:.3?}");
        shares.iter().sum::<f64>() / 12.0
    };
    let (kernel, windowed) = (share("wvegas"), share("wvegas:base-window=60s"));
    assert!(kernel < 0.1 && windowed > 2.0 * kernel, "{kernel} {windowed}");
}

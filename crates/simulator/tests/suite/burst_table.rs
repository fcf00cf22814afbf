//! The burst of 002 sIV-C under every scheduler over the whole engine: 15 segments in one write,
//! RTTs of 10 and 100 ms, both windows 10, no TSQ, almost no serialisation time, no loss. The
//! expected segments per path follow from the rules of the schedulers by hand.

use crate::multipath::over;
use crate::pair::{SERVER, link, with};
use base::{Blocked, Event, EventMask, HostId, Instant, Recorder};
use simulator::{RunSetup, simulate_recorded};
use std::cell::RefCell;
use std::rc::Rc;
use traffic::Traffic;
use transport::{Buffers, Profile};

/// Segments of the burst by path.
#[derive(Default)]
struct Sent {
    segments: [u32; 2],
    throttled: bool,
}

/// The warm-up is over for a while then, the burst is still to come.
const BETWEEN: Instant = Instant::from_secs(2);

struct Watch(Rc<RefCell<Sent>>);

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::SEGMENT.union(EventMask::BLOCKED)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        if host != SERVER {
            return;
        }
        let mut sent = self.0.borrow_mut();
        match event {
            Event::SegmentSent { path, len, .. } if now > BETWEEN && *len > 1 => {
                sent.segments[path.index()] += 1;
            }
            Event::Blocked { why: Blocked::SmallQueue, .. } => sent.throttled = true,
            _ => {}
        }
    }
}

fn setup(scheduler: &'static str, segments: u32, segment_bytes: u32) -> RunSetup {
    let links = [link(10_000, 5), link(10_000, 50)];
    let traffic = Traffic::Burst { segments, segment_bytes };
    with(over(&links, scheduler, traffic), |setup| setup.network.nic = None)
}

fn burst(scheduler: &'static str) -> (Sent, f64) {
    let mut setup = setup(scheduler, 15, 1428);
    setup.flows[0].tcp.profile = Profile::Linux41;
    // Windows of 20 segments first, and of two more for each of the 20 of the warm-up (Linux 4.1).
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 4 << 20, receive_max: 800_000, auto_tuning: false };
    run(&setup)
}

fn run(setup: &RunSetup) -> (Sent, f64) {
    let sent = Rc::new(RefCell::new(Sent::default()));
    let record = simulate_recorded(setup, Box::new(Watch(Rc::clone(&sent))));
    let record = record.expect("the run is sound");
    (sent.take(), record.outcome.value.expect("complete") * 1e3)
}

/// LRF's ten show that F's window is 10 again after the silence. Deviations of handshake samples
/// are half an RTT; 002 has none. ECF's paper form gets acknowledgements of two segments each.
#[test]
fn burst_of_fifteen_by_every_scheduler() {
    let table = [
        ("lrf", [10, 5], 50.0),
        ("redundant", [15, 10], 15.0),
        ("otias", [15, 0], 15.0),
        ("ecf-kernel:sigma=0", [15, 0], 15.0),
        ("ecf:sigma=0", [14, 1], 60.0),
        ("blest-kernel", [15, 0], 15.0),
        // 206 kB fit beside a segment on the slow path, and the window is 87 kB, as 002 Fig. 6.
        ("blest", [15, 0], 15.0),
        ("sttf", [15, 0], 15.0),
        // Not in 002: runs of F's window, and a grant beyond the burst.
        ("daps", [15, 0], 15.0),
        ("linux", [15, 0], 15.0),
        ("xlink", [15, 5], 25.0),
        // The warm-up makes the intervals small enough to tell the paths apart.
        ("raven", [10, 5], 50.0),
    ];
    // Round robin has a test of its own.
    let turns = |name: &str| matches!(name, "rr" | "wrr");
    let covered = |name: &str| table.iter().any(|row| row.0.split(':').next() == Some(name));
    for (name, ..) in transport::scheduler::NAMES {
        assert!(covered(name) || turns(name), "{name}");
    }
    for (name, expected, time_ms) in table {
        let (sent, ms) = burst(name);
        assert_eq!(sent.segments, expected, "{name}");
        assert!((time_ms..time_ms + 0.05).contains(&ms), "{name}: {ms} ms");
        assert!(!sent.throttled, "{name}");
    }
}

/// Whose turn it is depends on the warm-up.
#[test]
fn burst_of_fifteen_is_halved_by_round_robin() {
    let (sent, ms) = burst("rr");
    assert!([[8, 7], [7, 8]].contains(&sent.segments), "{:?}", sent.segments);
    assert!((50.0..50.05).contains(&ms), "{ms} ms");
}

/// One subflow up to 45 segments, what is more on the other path, which then dictates the time: a
/// second path that rests keeps the receiver's window at half its memory, so the rest waits one
/// round trip of the fast path for the window and goes out on the slow one then. A 46th segment is
/// cut where the window ends, and its rest goes on the fast path, too, when the connection's timer
/// runs out, 28 ms after the last acknowledgement there: as in kernel 6.18, which takes
/// 27.5, 60.6 and 60.9 ms for 45, 46 and 50 segments at 100 Mbit/s.
#[test]
fn burst_of_fifty_by_linux_leaves_its_rest_to_the_slow_path() {
    for (segments, expected, time_ms) in [(45, [45, 0], 25.0), (46, [47, 1], 60.0)] {
        let (sent, ms) = run(&setup("linux", segments, 1420));
        assert_eq!(sent.segments, expected, "{segments}");
        assert!((time_ms..time_ms + 1.0).contains(&ms), "{segments}: {ms} ms");
    }
    let (sent, ms) = run(&setup("linux", 50, 1420));
    assert!(sent.segments[1] >= 1 && (60.0..61.0).contains(&ms), "{:?}, {ms} ms", sent.segments);
}

//! Random lives of paths under every congestion control: they appear, leave, die and return, with
//! and without notice, their connections are reset, their delay explodes. A window is never below
//! a segment, nothing new is sent beyond it, and a path that lives again carries data again within
//! one back-off of the time-out.

use crate::multipath::over;
use crate::pair::{link, record_with};
use crate::windows::names;
use base::{Duration, Event, EventMask, Instant, PathId};
use network::LinkChange;
use proptest::prelude::*;
use simulator::{Direction, Mark, Multipath, PathEvent, PathMark, Protocol, RunSetup};
use std::collections::BTreeMap;
use traffic::Traffic;
use transport::mptcp::Failover;

/// Everything lives from then on.
const CALM: Duration = Duration::from_secs(16);
const END: Duration = Duration::from_secs(52);

/// One spell of a path: how it is, for how long, and how long it lives after that.
#[derive(Clone, Copy, Debug)]
struct Spell {
    how: How,
    millis: u64,
    then: u64,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Down,
    Silent,
    Slow,
    Removed,
    Reset,
}

fn spell() -> impl Strategy<Value = Spell> {
    let how = prop_oneof![
        Just(How::Down),
        Just(How::Silent),
        Just(How::Slow),
        Just(How::Removed),
        Just(How::Reset),
    ];
    (how, 50u64..4000, 1u64..4000).prop_map(|(how, millis, then)| Spell { how, millis, then })
}

/// Give path `path` of the setup these spells, as far as there is time.
fn live(setup: &mut RunSetup, path: usize, spells: &[Spell]) {
    // The first handshake is let through.
    let mut at = Duration::from_millis(300);
    for Spell { how, millis, then } in spells {
        let end = at + Duration::from_millis(*millis);
        if end > CALM {
            return;
        }
        let mut link = |at, change| {
            setup.paths[path].events.push(PathEvent { at, direction: Direction::Both, change });
        };
        match how {
            How::Down => {
                link(at, LinkChange::Down);
                link(end, LinkChange::Up);
            }
            How::Silent => {
                link(at, LinkChange::Silent);
                link(end, LinkChange::Up);
            }
            How::Slow => {
                let usual = setup.paths[path].down.delay;
                let slow = usual + Duration::from_millis(millis / 2);
                for (at, delay) in [(at, slow), (end, usual)] {
                    let (direction, change) = (Direction::Both, LinkChange::Delay(delay));
                    setup.paths[path].events.push(PathEvent { at, direction, change });
                }
            }
            How::Removed => {
                setup.marks.push(PathMark { path, at, what: Mark::Removed });
                setup.marks.push(PathMark { path, at: end, what: Mark::Returned });
            }
            // A path manager may take a reset for a refusal, and not try again.
            How::Reset if path > 0 => {
                setup.marks.push(PathMark { path, at, what: Mark::Reset });
            }
            How::Reset => {}
        }
        at = end + Duration::from_millis(*then);
    }
}

/// What is checked of a subflow of the sender.
#[derive(Clone, Copy, Default)]
struct Seen {
    cwnd: u64,
    /// A loss probe went out then.
    probed_at: Option<Instant>,
}

fn check(setup: &RunSetup) -> Result<(), TestCaseError> {
    let mut seen: BTreeMap<PathId, Seen> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let pick = move |now: Instant, event: &Event| {
        match event {
            Event::WindowChange { path, cwnd_bytes, .. } => {
                seen.entry(*path).or_default().cwnd = *cwnd_bytes;
                if *cwnd_bytes == 0 {
                    wrong.push(format!("{now}: no window on {path:?}"));
                }
            }
            Event::SegmentSent { path, retransmission: false, inflight_segs, len, .. } => {
                let allowed = seen.entry(*path).or_default().cwnd;
                // A probe may go beyond it (RFC 8985 s7.3).
                let probes = seen.get(path).is_some_and(|seen| seen.probed_at == Some(now));
                let beyond = u64::from(*inflight_segs) * 1420 > allowed;
                if *len > 0 && allowed > 0 && beyond && !probes {
                    wrong.push(format!("{now}: {inflight_segs} of {allowed} bytes on {path:?}"));
                }
            }
            Event::TimerFired { path, timer: "loss-probe", .. } => {
                seen.entry(*path).or_default().probed_at = Some(now);
            }
            Event::SegmentAcked { path, .. } => return Some((now - Instant::ZERO, Ok(*path))),
            _ => {}
        }
        wrong.pop().map(|wrong| (now - Instant::ZERO, Err(wrong)))
    };
    let mask = EventMask::SEGMENT.union(EventMask::WINDOW).union(EventMask::TIMER);
    let (record, found) = record_with(setup, mask, pick);
    prop_assert!(record.failure.is_none(), "{:?}", record.failure);
    let wrong = found.iter().find_map(|(_, what)| what.as_ref().err());
    prop_assert!(wrong.is_none(), "{wrong:?}");
    // A path was silent for at most 16 s, and the back-off of its time-out is as long again.
    let late = CALM + CALM + Duration::from_secs(4);
    for path in 0..setup.paths.len() {
        let of = |id: &PathId| record.sender_subflows.get(id.index()) == Some(&path);
        let lives = found
            .iter()
            .any(|(at, what)| (CALM..late).contains(at) && what.as_ref().is_ok_and(&of));
        // Where hosts are told, it is the path manager who says whether there is a subflow again.
        let events = &setup.paths[path].events;
        let told = events.iter().any(|event| matches!(event.change, LinkChange::Down))
            || setup.marks.iter().any(|mark| mark.path == path);
        prop_assert!(lives || told, "path {path} starves: {:?}", record.sender_subflows);
    }
    Ok(())
}

/// Found at random: the connection's timer had a path probe the peer's window, which was open, with
/// a segment that its congestion window of one had no room for.
#[test]
fn probe_of_an_open_window_keeps_to_the_congestion_window() {
    let mut setup = over(&[link(2, 10), link(2, 25)], "linux", Traffic::BulkTime(END));
    setup.run = 298;
    setup.tcp.congestion = "reno";
    let failover = Some(Failover::Stale);
    setup.protocol =
        Protocol::Mptcp(Multipath { scheduler: "linux", failover, ..Multipath::default() });
    for path in &mut setup.paths {
        path.down.loss = network::LossConfig::Bernoulli { p: 0.018167879300036174 };
    }
    live(&mut setup, 0, &[Spell { how: How::Down, millis: 330, then: 1 }]);
    check(&setup).expect("nothing goes beyond the window");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn windows_hold_and_no_live_path_starves(
        lives in prop::collection::vec(prop::collection::vec(spell(), 0..6), 2..=3),
        rule in prop::sample::select(Failover::ALL.to_vec()),
        scheduler in prop::sample::select(vec!["lrf", "rr", "linux", "redundant"]),
        loss in prop_oneof![Just(0.0), 0.0..0.03],
        run in 0u64..1000,
    ) {
        for cc in names() {
            let links: Vec<_> = (0..lives.len()).map(|i| link(2, 10 + 15 * i as u64)).collect();
            let mut setup = over(&links, scheduler, Traffic::BulkTime(END));
            setup.run = run;
            setup.tcp.congestion = cc;
            let failover = Some(rule);
            setup.protocol =
                Protocol::Mptcp(Multipath { scheduler, failover, ..Multipath::default() });
            for (path, spells) in lives.iter().enumerate() {
                if loss > 0.0 {
                    setup.paths[path].down.loss = network::LossConfig::Bernoulli { p: loss };
                }
                live(&mut setup, path, spells);
            }
            check(&setup).map_err(|error| TestCaseError::fail(format!("{cc}: {error}")))?;
        }
    }
}

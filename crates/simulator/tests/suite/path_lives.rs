//! Random failures and returns of paths under every congestion control: paths appear, are removed,
//! fail and return, with and without a notification, their connections are reset, their delay
//! rises. A window is never below a segment, no new data are sent beyond it, and a path that works
//! again carries data again: also with notifications, after resets and withdrawals, where a path
//! manager has to join it anew. While one path is down the other is used, under every fail-over
//! rule and most schedulers and reinjections.

use crate::multipath::over;
use crate::pair::{link, record, record_with};
use crate::windows::names;
use base::{Duration, Event, EventMask, Instant, PathId};
use network::{LinkChange, LossConfig};
use proptest::prelude::*;
use simulator::{Direction, Mark, Multipath, PathEvent, PathMark, RunSetup};
use std::collections::BTreeMap;
use traffic::Traffic;
use transport::Buffers;
use transport::Failover;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;

/// No failure begins before this time, and nothing is lost: the first handshake must succeed,
/// because without an answer to its second SYN a client takes its peer for plain TCP.
const BEGIN: Duration = Duration::from_millis(300);
/// Every path works from this time on, in the random runs without losses but at full queues.
const CALM: Duration = Duration::from_secs(16);
/// Time after which it carries data. Every repetition, of a segment, a SYN, a join or an
/// announcement, is made at intervals that double, so that after an outage of 16 s the next one is
/// at most 16 s away; a second more for the first interval itself, half of one in which `fullmesh`
/// gathers what changes of addresses, and the rest for the round trips of a join through full
/// queues.
const LATE: Duration = Duration::from_secs(36);
const END: Duration = Duration::from_secs(52);
/// A time-out at a full queue of 100 packets of 10 Mbit/s, and the longer one after it.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Five intervals of the connection's timer, as long each as a time-out; and what the scheduler
/// `linux` has bound to the failed path is sent before anything new arrives in order.
const KERNEL_PATIENCE: Duration = Duration::from_millis(4000);

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

/// Whether the manager restores the path, independently of other paths. Mainline's does not open a
/// subflow again that was reset, also because its withdrawal was lost or overtaken by its return.
fn heals(manager: PathManagerKind, how: How) -> bool {
    manager != PathManagerKind::Kernel || !matches!(how, How::Reset | How::Removed)
}

/// Give path `path` of the setup these spells, as far as there is time.
fn live(setup: &mut RunSetup, path: usize, spells: &[Spell]) {
    let mut at = BEGIN;
    for Spell { how, millis, then } in spells {
        let end = at + Duration::from_millis(*millis);
        if end > CALM {
            return;
        }
        let mut link = |at, change| {
            setup.network.paths[path].events.push(PathEvent {
                at,
                direction: Direction::Both,
                change,
            });
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
                let usual = setup.network.paths[path].down.delay;
                let slow = usual + Duration::from_millis(millis / 2);
                for (at, delay) in [(at, slow), (end, usual)] {
                    let (direction, change) = (Direction::Both, LinkChange::Delay(delay));
                    setup.network.paths[path].events.push(PathEvent { at, direction, change });
                }
            }
            How::Removed => {
                setup.marks.push(PathMark { path, at, what: Mark::Removed });
                setup.marks.push(PathMark { path, at: end, what: Mark::Returned });
            }
            How::Reset => setup.marks.push(PathMark { path, at, what: Mark::Reset }),
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
    prop_assert!(record.measured().failure.is_none(), "{:?}", record.measured().failure);
    let wrong = found.iter().find_map(|(_, what)| what.as_ref().err());
    prop_assert!(wrong.is_none(), "{wrong:?}");
    for path in 0..setup.network.paths.len() {
        let of = |id: &PathId| record.measured().sender_subflows.get(id.index()) == Some(&path);
        let lives = found
            .iter()
            .any(|(at, what)| (CALM..LATE).contains(at) && what.as_ref().is_ok_and(&of));
        prop_assert!(
            lives || offers(setup, CALM..LATE) == 0,
            "path {path} starves: {:?}",
            record.measured().sender_subflows
        );
    }
    Ok(())
}

/// How often the scheduler was offered data in this time.
fn offers(setup: &RunSetup, time: std::ops::Range<Duration>) -> usize {
    let pick = move |now: Instant, event: &Event| match event {
        Event::Decision(call) => call.offered.filter(|_| time.contains(&(now - Instant::ZERO))),
        _ => None,
    };
    record_with(setup, EventMask::DECISION, pick).1.len()
}

/// Regression: the connection's timer had a path probe the peer's window, which was open, with a
/// segment that its congestion window of one had no room for.
#[test]
fn probe_of_an_open_window_keeps_to_the_congestion_window() {
    let mut setup = over(&[link(2, 10), link(2, 25)], "linux", Traffic::BulkTime(END));
    setup.run = 298;
    setup.flows[0].tcp.congestion = "reno".parse().unwrap();
    let failover = Some(Failover::Stale);
    setup.flows[0].carrier =
        Multipath { scheduler: "linux".parse().unwrap(), failover, ..Multipath::default() }.into();
    for path in &mut setup.network.paths {
        path.down.loss = LossConfig::Bernoulli { p: 0.018167879300036174 };
    }
    live(&mut setup, 0, &[Spell { how: How::Down, millis: 330, then: 1 }]);
    check(&setup).expect("nothing goes beyond the window");
}

/// The first of two paths of 10 Mbit/s fails silently: the data acknowledged on the second in
/// `SPAN` from `patience` after that on, as a share of its capacity.
fn use_after_death(setup: &mut RunSetup, death: Duration, patience: Duration) -> f64 {
    setup.network.paths[0].events.push(PathEvent {
        at: death,
        direction: Direction::Both,
        change: LinkChange::Silent,
    });
    let pick = move |now: Instant, event: &Event| match event {
        Event::SegmentAcked { path, newly_acked, .. } => {
            Some((now - Instant::ZERO, *path, *newly_acked))
        }
        _ => None,
    };
    let (record, acked) = record_with(setup, EventMask::SEGMENT, pick);
    let span = death + patience..death + patience + SPAN;
    let on_live = acked.iter().filter(|(at, path, _)| {
        span.contains(at) && record.measured().sender_subflows.get(path.index()) == Some(&1)
    });
    let bytes: u64 = on_live.map(|(.., bytes)| *bytes).sum();
    bytes as f64 * 8.0 / (10e6 * SPAN.as_secs_f64())
}

const SPAN: Duration = Duration::from_millis(1500);

fn dying(scheduler: &'static str, failover: Failover, delays: [u64; 2]) -> RunSetup {
    let links = delays.map(|delay| link(10, delay));
    let mut setup = over(&links, scheduler, Traffic::BulkTime(Duration::from_secs(12)));
    setup.flows[0].carrier = Multipath {
        scheduler: scheduler.parse().unwrap(),
        failover: Some(failover),
        ..Multipath::default()
    }
    .into();
    setup
}

/// Regression: a copy of the head each round trip delivered a failed path's data, one by one, and
/// each acknowledgement of one restarted the interval anew after which the path would have failed.
#[test]
fn copies_of_a_dead_paths_head_do_not_keep_it_from_failing() {
    for scheduler in
        ["lrf", "lrf:reinjection=retrans-only", "blest", "ecf", "rr:reinjection=kernel"]
    {
        let mut setup = dying(scheduler, Failover::Stale, [25, 25]);
        let used = use_after_death(&mut setup, Duration::from_secs(5), PATIENCE);
        assert!(used > 0.8, "{scheduler}: {used}");
    }
}

/// Regression: of a grant of 64 KiB the rest that was not reinjected at once waited until the live
/// path had nothing outstanding.
#[test]
fn grants_of_a_failed_path_are_reinjected_whole() {
    for rule in [Failover::Rto, Failover::Probe] {
        let mut setup = dying("linux", rule, [25, 25]);
        let used = use_after_death(&mut setup, Duration::from_secs(5), PATIENCE);
        assert!(used > 0.9, "{rule:?}: {used}");
    }
}

/// Regression: a path of two segments, with data bound to it that no other may carry, grew as if
/// its idle sibling filled its window.
#[test]
fn path_that_recovered_drains_what_is_bound_to_it_while_the_other_rests() {
    // All that grow with each acknowledgement; `wvegas` grows by queueing delay, once per round
    // trip.
    let coupled = ControllerChoice::all().filter(ControllerChoice::is_coupled);
    for congestion in coupled.filter(|control| control.name() != "wvegas") {
        let mut setup = dying("linux", Failover::Rto, [25, 5]);
        setup.flows[0].traffic = Traffic::BulkTime(Duration::from_secs(20));
        setup.flows[0].tcp.congestion = congestion.clone();
        setup.network.paths[0].down.limit = network::Limit::Packets(60);
        setup.network.paths[1].down.limit = network::Limit::Packets(80);
        let slow = base::Rate::from_bps(100_000);
        let changes = [
            (4158, LinkChange::Loss(LossConfig::Bernoulli { p: 0.1 })),
            (5158, LinkChange::Loss(LossConfig::None)),
            (5258, LinkChange::Rate(slow)),
            (8258, LinkChange::Rate(base::Rate::from_mbit(10))),
        ];
        let events = changes.map(|(at, change)| PathEvent {
            at: Duration::from_millis(at),
            direction: Direction::Both,
            change,
        });
        setup.network.paths[0].events.extend(events);
        let value = crate::pair::value(&setup);
        // Of 20 Mbit/s; 4.5 with `olia-draft` before.
        assert!(value > 10e6, "{congestion}: {value}");
    }
}

/// Mainline's manager identifies paths by addresses (Linux `__mark_subflow_endp_available`).
#[test]
fn kernel_joins_an_address_that_comes_back_but_nothing_after_a_reset() {
    let at = Duration::from_secs(3);
    let back = at + Duration::from_secs(1);
    let removed = vec![
        PathMark { path: 1, at, what: Mark::Removed },
        PathMark { path: 1, at: back, what: Mark::Returned },
    ];
    let reset = vec![PathMark { path: 1, at, what: Mark::Reset }];
    for (marks, again) in [(removed, true), (reset, false)] {
        let traffic = Traffic::BulkTime(Duration::from_secs(8));
        let mut setup = over(&[link(2, 10), link(2, 25)], "linux", traffic);
        let path_manager = PathManagerKind::Kernel;
        setup.flows[0].carrier =
            Multipath { scheduler: "linux".parse().unwrap(), path_manager, ..Multipath::default() }
                .into();
        setup.marks = marks;
        let pick = move |now: Instant, event: &Event| match event {
            Event::SegmentAcked { path, .. } => Some((now - Instant::ZERO, *path)),
            _ => None,
        };
        let (record, acked) = record_with(&setup, EventMask::SEGMENT, pick);
        let on_second =
            |path: &PathId| record.measured().sender_subflows.get(path.index()) == Some(&1);
        let times = acked.iter().filter(|(_, path)| on_second(path)).map(|(at, _)| *at);
        let (before, after): (Vec<_>, Vec<_>) = times.partition(|time| *time < at);
        assert!(!before.is_empty());
        // What was acknowledged before may still arrive.
        let mut after = after.into_iter().filter(|time| *time > at + Duration::from_millis(700));
        let first = after.next();
        assert_eq!(first.is_some(), again, "{first:?}");
        // A grant of 64 KiB for the other path takes 0.26 s.
        assert!(first.is_none_or(|first| first < back + Duration::from_millis(600)), "{first:?}");
    }
}

/// Bytes that came over each path of 10 Mbit/s in the last of twelve seconds.
fn last_second(path_manager: PathManagerKind, marks: &[PathMark]) -> [u64; 2] {
    let by = |secs| {
        let traffic = Traffic::BulkTime(Duration::from_secs(secs));
        let mut setup = over(&[link(10, 10), link(10, 10)], "lrf", traffic);
        setup.flows[0].carrier = Multipath { path_manager, ..Multipath::default() }.into();
        setup.marks = marks.to_vec();
        let links = record(&setup).links;
        [0, 1].map(|path: usize| links[path].down.bytes_delivered)
    };
    let (all, before) = (by(12), by(11));
    [0, 1].map(|path: usize| all[path] - before[path])
}

/// A reset ended all subflows to the server's first address, or none of that path.
#[test]
fn reset_of_a_path_ends_its_subflow_and_no_other_under_managers_without_another_try() {
    for manager in [PathManagerKind::Kernel, PathManagerKind::Binder] {
        for path in [0, 1] {
            let reset = PathMark { path, at: Duration::from_secs(5), what: Mark::Reset };
            let carried = last_second(manager, &[reset]);
            assert!(carried[path] < 10_000, "{manager:?}: {carried:?}");
            assert!(carried[1 - path] > 1_000_000, "{manager:?}: {carried:?}");
        }
    }
}

#[test]
fn withdrawn_address_carries_nothing_until_it_returns() {
    let joins = PathManagerKind::Default { accept_add_addr: true };
    for (manager, returns) in
        [(PathManagerKind::Kernel, true), (PathManagerKind::FULLMESH, true), (joins, false)]
    {
        let mark = |secs, what| PathMark { path: 1, at: Duration::from_secs(secs), what };
        let (removed, back) = (mark(5, Mark::Removed), mark(7, Mark::Returned));
        let gone = last_second(manager, &[removed]);
        assert!(gone[0] > 1_000_000 && gone[1] < 10_000, "{manager:?}: {gone:?}");
        let again = last_second(manager, &[removed, back]);
        assert_eq!(again[1] > 1_000_000, returns, "{manager:?}: {again:?}");
    }
}

/// While two of three lossy paths are down, the third one is given the whole send buffer of 4 MiB,
/// which stays its own. Its window is then that of a slow path coupled with an idle fast one: it
/// takes longer than the run to send it, and a path that joins again has nothing to send. The
/// kernel leaves such a path out, too (`kernel_gives_a_path_nothing_while_all_data_are_bound_to_
/// another`).
#[test]
fn path_joined_with_a_small_window_waits_for_what_is_bound_to_another() {
    let links = [link(2, 10), link(2, 25), link(2, 40)];
    let mut setup = over(&links, "linux", Traffic::BulkTime(END));
    setup.run = 10;
    setup.flows[0].tcp.congestion = "balia:lisa=1".parse().unwrap();
    // The window of the peer leaves room for all of it.
    let receive_max = 16 << 20;
    setup.flows[0].tcp.buffers = Buffers { auto_tuning: false, receive_max, ..Buffers::default() };
    let failover = Some(Failover::Rto);
    setup.flows[0].carrier =
        Multipath { scheduler: "linux".parse().unwrap(), failover, ..Multipath::default() }.into();
    for path in 0..3 {
        let loss = LossConfig::Bernoulli { p: 0.027550014729696204 };
        let (at, direction, change) = (BEGIN, Direction::Down, LinkChange::Loss(loss));
        setup.network.paths[path].events.push(PathEvent { at, direction, change });
    }
    for path in 0..2 {
        live(&mut setup, path, &[Spell { how: How::Down, millis: 1500, then: 1 }]);
    }
    check(&setup).expect("no live path is left out that data are offered for");
    let up = BEGIN + Duration::from_millis(1500);
    assert!(offers(&setup, BEGIN..up) > 50);
    assert_eq!(offers(&setup, up + Duration::from_secs(2)..END), 0, "all of it is bound");
}

/// Regression: the announcement of a path that returned was repeated on one subflow alone, whose
/// full queue dropped it each time until it was given up.
#[test]
fn announcement_lost_at_a_full_queue_is_repeated_on_another_subflow() {
    let links: Vec<_> = (0..3).map(|i| link(2, 10 + 15 * i as u64)).collect();
    let mut setup = over(&links, "rr", Traffic::BulkTime(END));
    setup.run = 621;
    setup.flows[0].tcp.congestion = "olia".parse().unwrap();
    setup.flows[0].tcp.buffers = Buffers { auto_tuning: false, ..Buffers::default() };
    setup.flows[0].carrier = Multipath {
        scheduler: "rr".parse().unwrap(),
        failover: Some(Failover::Probe),
        path_manager: PathManagerKind::FULLMESH,
        ..Multipath::default()
    }
    .into();
    let spell = |how, millis, then| Spell { how, millis, then };
    live(&mut setup, 0, &[spell(How::Reset, 3642, 47), spell(How::Reset, 50, 1)]);
    live(&mut setup, 1, &[spell(How::Slow, 859, 3556), spell(How::Removed, 2195, 2386)]);
    live(&mut setup, 2, &[spell(How::Down, 1281, 2411)]);
    check(&setup).expect("no live path is left out");
}

/// A path that was down joins anew, and the withdrawal of its address arrives afterwards over one
/// that has become slow. Linux closes the new subflow at once; here the reset is lost, too, and a
/// peer that only receives does not know of it. Asked first (RFC 8684 s3.4.2), it stays.
#[test]
fn withdrawal_that_arrives_late_closes_the_new_subflow_unless_it_is_asked_first() {
    let spell = |how, millis, then| Spell { how, millis, then };
    let lives = [
        vec![spell(How::Slow, 3264, 1)],
        vec![spell(How::Down, 501, 1)],
        vec![spell(How::Silent, 222, 2847), spell(How::Silent, 1843, 3492)],
    ];
    for probes_removed in [true, false] {
        let links: Vec<_> = (0..lives.len()).map(|i| link(2, 10 + 15 * i as u64)).collect();
        let mut setup = over(&links, "lrf", Traffic::BulkTime(END));
        setup.run = 958;
        setup.flows[0].tcp.congestion = "reno".parse().unwrap();
        setup.flows[0].tcp.buffers = Buffers { auto_tuning: false, ..Buffers::default() };
        setup.flows[0].carrier = Multipath {
            scheduler: "lrf".parse().unwrap(),
            failover: Some(Failover::Rto),
            path_manager: PathManagerKind::FULLMESH,
            probes_removed,
            ..Multipath::default()
        }
        .into();
        for (path, spells) in lives.iter().enumerate() {
            lose_until_calm(&mut setup, path, 0.0170745);
            live(&mut setup, path, spells);
        }
        assert_eq!(check(&setup).is_ok(), probes_removed);
    }
}

/// Losses of path `path` from the beginning of its failures to their end.
fn lose_until_calm(setup: &mut RunSetup, path: usize, p: f64) {
    for (at, loss) in [(BEGIN, LossConfig::Bernoulli { p }), (CALM, LossConfig::None)] {
        let (direction, change) = (Direction::Down, LinkChange::Loss(loss));
        setup.network.paths[path].events.push(PathEvent { at, direction, change });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn windows_hold_and_no_live_path_starves(
        lives in prop::collection::vec(prop::collection::vec(spell(), 0..6), 2..=3),
        rule in prop::sample::select(Failover::ALL.to_vec()),
        // Not the whole table: over all schedulers, `redundant` with `lia:lisa=1` and the rule
        // `probe` was seen to starve a path, in few runs.
        scheduler in prop::sample::select(vec!["lrf", "rr", "linux", "redundant"]),
        manager in prop_oneof![
            2 => Just(PathManagerKind::FULLMESH),
            1 => Just(PathManagerKind::Kernel),
        ],
        loss in prop_oneof![Just(0.0), 0.0..0.03],
        run in 0u64..1000,
    ) {
        // With LISA the scheduler `linux` may leave a path out, see below.
        let starves = |cc: &str| scheduler == "linux" && cc.contains("lisa");
        for cc in names().filter(|cc| !starves(cc)) {
            let links: Vec<_> = (0..lives.len()).map(|i| link(2, 10 + 15 * i as u64)).collect();
            let mut setup = over(&links, scheduler, Traffic::BulkTime(END));
            setup.run = run;
            setup.flows[0].tcp.congestion = cc.parse().unwrap();
            // A window that one path alone fills leaves the others nothing to carry.
            setup.flows[0].tcp.buffers = Buffers { auto_tuning: false, ..Buffers::default() };
            setup.flows[0].carrier = Multipath {
                scheduler: scheduler.parse().unwrap(),
                failover: Some(rule),
                path_manager: manager,
                // Closed unasked, a subflow may be lost for good, see above. Mainline's manager
                // closes them so, and its paths are not withdrawn here.
                probes_removed: manager != PathManagerKind::Kernel,
                ..Multipath::default()
            }.into();
            for (path, spells) in lives.iter().enumerate() {
                let healed = spells.iter().filter(|spell| heals(manager, spell.how));
                let spells: Vec<Spell> = healed.copied().collect();
                // Random losses end with the failures: the first repetition afterwards could be
                // lost as well, and the next one is twice as late. Seen with `linux`, `reno` and a
                // time-out of 8.6 s after a spell of a long delay: at 18.9 s and at 36.02 s.
                if loss > 0.0 {
                    lose_until_calm(&mut setup, path, loss);
                }
                live(&mut setup, path, &spells);
            }
            check(&setup).map_err(|error| TestCaseError::fail(format!("{cc}: {error}")))?;
        }
    }

    /// With each of these schedulers and reinjections and every rule, a working path is in full
    /// use soon after the other one failed.
    #[test]
    fn live_path_is_used_soon_after_the_other_dies(
        scheduler in prop::sample::select(vec![
            "lrf", "lrf:reinjection=off", "lrf:reinjection=retrans-only",
            "lrf:reinjection=conext13", "rr", "rr:reinjection=kernel", "redundant", "daps", "otias",
            "ecf", "blest", "sttf", "xlink", "raven", "linux", "linux:reinjection=kernel",
        ]),
        rule in prop::sample::select(Failover::ALL.to_vec()),
        death in 3000u64..5500,
        delays in [5u64..60, 5u64..60],
        run in 0u64..1000,
    ) {
        let mut setup = dying(scheduler, rule, delays);
        setup.run = run;
        let patience = if scheduler.starts_with("linux") { KERNEL_PATIENCE } else { PATIENCE };
        let used = use_after_death(&mut setup, Duration::from_millis(death), patience);
        prop_assert!(used > 0.6, "{scheduler} {rule:?}: {used} of the live path");
    }
}

//! CMT-SCTP over simulated links: data on all paths of an association at once.

use crate::multipath::{assert_exactly_once, hostile_run};
use crate::pair::{link, record, record_with, value, with};
use crate::sctp::{cases, keep_opening, sctp};
use base::{Blocked, Duration, Event, EventMask, Instant, PathId, Rate};
use network::{Capacity, Direction, Limit, LinkChange, LinkConfig, PathEvent};
use proptest::prelude::*;
use simulator::{Carrier, Mark, PathEnds, PathMark, PathSetup, RunSetup, SharedLink, Until};
use traffic::Traffic;
use transport::Buffers;
use transport::sctp::cmt::{
    Algorithms, BufferBasis, BufferSplit, CmtConfig, CucRule, PathBlocking, PathMode, PrimaryFirst,
    Rescheduling, RttRule, SackPath, SendAllKey, Sides, Smart,
};
use transport::sctp::{Addresses, BurstRule, RtxPolicy, SctpConfig, SctpProfile};
use wire::sctp::Features;

/// One association over all of these links at once.
pub(crate) fn cmt(links: &[LinkConfig], traffic: Traffic) -> RunSetup {
    change(sctp(links, traffic), |config| config.cmt = Some(CmtConfig::default()))
}

fn change(setup: RunSetup, change: impl FnOnce(&mut SctpConfig)) -> RunSetup {
    with(setup, |setup| {
        if let Carrier::Sctp(config) = &mut setup.flows[0].carrier {
            change(config);
        }
    })
}

fn goodput(links: &[LinkConfig], seconds: u64) -> f64 {
    value(&cmt(links, Traffic::BulkTime(Duration::from_secs(seconds))))
}

#[test]
fn two_equal_disjoint_paths_carry_twice_as_much_as_one() {
    let traffic = || Traffic::BulkTime(Duration::from_secs(20));
    let one = value(&sctp(&[link(10, 20)], traffic()));
    let two = value(&cmt(&[link(10, 20), link(10, 20)], traffic()));
    assert!(two >= 1.9 * one, "{two} {one}");
}

#[test]
fn unequal_paths_are_both_filled() {
    let sum = goodput(&[link(25, 20), link(4, 70)], 60);
    assert!(sum >= 26e6, "{sum}");
}

#[test]
fn objects_arrive_whole_over_all_paths() {
    for mib in [1u64, 16] {
        let links = [link(25, 20), link(4, 70), link(10, 5)];
        let record = record(&cmt(&links, Traffic::BulkSize(mib << 20)));
        assert!(record.outcome.value.is_some(), "{:?}", record.outcome);
    }
}

/// The share of the second, slower path in a video of a light load.
fn share_of_slow_path(scheduler: Option<&str>) -> f64 {
    let video = Traffic::video(Duration::from_secs(10));
    let setup = change(cmt(&[link(25, 20), link(25, 70)], video), |config| {
        config.scheduler = scheduler.map(|name| name.parse().expect("a scheduler"));
    });
    let record = record(&setup);
    let bytes = &record.measured().sent.first_sent_bytes;
    bytes[1] as f64 / bytes.iter().sum::<u64>() as f64
}

#[test]
fn scheduler_chooses_the_path_of_new_data() {
    let send_all = share_of_slow_path(None);
    assert!((0.3..0.7).contains(&send_all), "the path idle longest: {send_all}");
    for scheduler in ["lrf", "blest", "ecf", "otias", "sttf"] {
        let share = share_of_slow_path(Some(scheduler));
        assert!(share < 0.1, "{scheduler}: {share}");
    }
    let turns = share_of_slow_path(Some("rr"));
    assert!((0.4..0.6).contains(&turns), "a segment in turn: {turns}");
    let weighted = share_of_slow_path(Some("wrr:3,1"));
    assert!((0.2..0.3).contains(&weighted), "{weighted}");
}

#[test]
fn schedulers_fill_unequal_paths() {
    for scheduler in ["lrf", "rr", "blest", "ecf", "daps", "otias", "linux", "sttf"] {
        let bulk = Traffic::BulkTime(Duration::from_secs(30));
        let setup = change(cmt(&[link(25, 20), link(4, 70)], bulk), |config| {
            config.scheduler = Some(scheduler.parse().expect("a scheduler"));
        });
        let sum = value(&setup);
        assert!(sum >= 24e6, "{scheduler}: {sum}");
    }
}

/// Regression: data that a scheduler had bound to a path with room overtook more than 65,535
/// messages of their stream, and were read in the place of others.
#[test]
fn small_messages_stay_in_order_whatever_is_bound_ahead() {
    for scheduler in ["daps", "otias"] {
        let links = [link(100, 5), link(10, 400)];
        let setup = change(cmt(&links, Traffic::BulkSize(700_000)), |config| {
            let inet = SctpProfile::Inet000;
            *config = SctpConfig {
                addresses: config.addresses.clone(),
                cmt: Some(CmtConfig::of(inet)),
                scheduler: Some(scheduler.parse().expect("a scheduler")),
                message_size: Some(5),
                ..SctpConfig::of(inet)
            };
        });
        let record = record(&setup);
        assert!(record.outcome.value.is_some(), "{scheduler}: {:?}", record.outcome);
    }
}

/// Any switches of CMT-SCTP.
fn any_cmt() -> impl Strategy<Value = CmtConfig> {
    let switches = any::<[bool; 12]>();
    let indices = (0usize..6, 0usize..3, 0usize..4, 0usize..4, 0usize..4, 0usize..3, 0usize..3);
    let reschedule = (0u32..1000, 0u32..4);
    (switches, indices, reschedule).prop_map(|(on, index, (threshold_permille, moved_fast_rtx))| {
        let [sfr, dac, frc, fast_rtx, reneging, t3, queued, mesh, moved_reduces_cwnd, ..] = on;
        let (key, cuc, split, sack, sides, rtt, blocking) = index;
        let queued = if queued { BufferBasis::Queued } else { BufferBasis::Outstanding };
        let buffers = |index: usize| Sides::ALL[index].0;
        CmtConfig {
            algorithms: Algorithms { sfr, dac, frc, cuc: CucRule::ALL[cuc].0 },
            smart: Smart { fast_rtx, reneging, t3 },
            send_all: SendAllKey::ALL[key].0,
            buffer_split: BufferSplit { sides: buffers(split), basis: queued },
            sack_path: SackPath::ALL[sack].0,
            path_mode: if mesh { PathMode::Mesh } else { PathMode::Paired },
            reschedule: Rescheduling {
                sides: buffers(sides),
                threshold_permille,
                moved_reduces_cwnd,
                moved_fast_rtx,
            },
            rtt: RttRule::ALL[rtt].0,
            blocking: PathBlocking::ALL[blocking].0,
            primary_first: PrimaryFirst::ALL[usize::from(on[9])].0,
            strict_booking: on[10],
            ..CmtConfig::default()
        }
    })
}

/// Any association on all paths at once.
fn any_sctp() -> impl Strategy<Value = SctpConfig> {
    let features = (any::<[bool; 4]>(), 0usize..RtxPolicy::ALL.len(), 100u32..5000);
    let buffers = (20_000u32..400_000, 20_000u32..400_000);
    // A burst of one packet waits for the delayed SACK each time.
    let burst = (0usize..BurstRule::ALL.len(), prop_oneof![Just(0u32), 2u32..6]);
    let controls = ["reno", "lia", "olia", "olia-draft", "cmtrpv1", "cmtrpv2", "rpv2-bsd"];
    let schedulers = [
        "",
        "",
        "lrf",
        "rr",
        "wrr:2,1",
        "ecf",
        "ecf-kernel",
        "blest",
        "blest-kernel",
        "linux",
        "daps",
        "otias",
        "sttf",
        "sttf:alpha=0",
    ];
    let policies = ["none", "none", "drepas:interval=200ms,probe-interval=300ms"];
    let control = (0..controls.len(), 0..schedulers.len(), 0..policies.len()).prop_map(
        move |(control, scheduler, policy)| {
            (controls[control], schedulers[scheduler], policies[policy])
        },
    );
    (any_cmt(), features, buffers, burst, control).prop_map(
        |(
            cmt,
            (on, rtx, message_size),
            buffers,
            (burst, max_burst),
            (control, scheduler, policy),
        )| {
            let [nr_sack, interleaving, nagle, reneging] = on;
            let mut config = SctpConfig {
                cmt: Some(cmt),
                addresses: Addresses::All,
                send_buffer: buffers.0,
                receive_buffer: buffers.1,
                congestion: control.parse().expect("a control"),
                scheduler: scheduler.parse().ok(),
                policy: policy.parse().expect("a policy"),
                rtx_policy: RtxPolicy::ALL[rtx].0,
                message_size: (message_size < 3000).then_some(message_size),
                nagle,
                reneging,
                ..SctpConfig::default()
            };
            (config.parameters.burst, config.parameters.max_burst) =
                (BurstRule::ALL[burst].0, max_burst);
            for (on, feature) in
                [(nr_sack, Features::NR_SACK), (interleaving, Features::INTERLEAVING)]
            {
                let all = config.features.0;
                config.features = Features(if on { all | feature.0 } else { all & !feature.0 });
            }
            config
        },
    )
}

/// What happens to a path, when, and for how many milliseconds.
type Spell = (u8, u64, u64);

/// A path dies for a while, is slow, or loses its address. The first one does not before the
/// handshake is over.
fn live(setup: &mut RunSetup, path: usize, spells: &[Spell]) {
    let mut at = Duration::from_millis(500);
    for (what, wait, millis) in spells {
        at += Duration::from_millis(*wait);
        let end = at + Duration::from_millis(*millis);
        let mut event = |at, change| {
            let direction = Direction::Both;
            setup.network.paths[path].events.push(PathEvent { at, direction, change });
        };
        match what {
            0 | 1 => {
                event(at, if *what == 0 { LinkChange::Silent } else { LinkChange::Down });
                event(end, LinkChange::Up);
            }
            2 => {
                let usual = Duration::from_millis(20);
                event(at, LinkChange::Delay(usual + Duration::from_millis(millis / 4)));
                event(end, LinkChange::Delay(usual));
            }
            _ => {
                setup.marks.push(PathMark { path, at, what: Mark::Removed });
                setup.marks.push(PathMark { path, at: end, what: Mark::Returned });
            }
        }
        at = end;
    }
}

proptest! {
    // What is found becomes a named test below.
    #![proptest_config(ProptestConfig {
        cases: cases(96),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_exactly_once_over_all_hostile_paths(
        setup in hostile_run(),
        config in any_sctp(),
    ) {
        let mut setup = setup;
        setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
        keep_opening(&mut setup);
        assert_exactly_once(&setup);
    }

    /// The first path lives.
    #[test]
    fn all_arrives_while_a_path_lives(
        config in any_sctp(),
        lives in prop::collection::vec(
            prop::collection::vec((0u8..4, 1u64..3000, 50u64..4000), 0..4),
            1..4,
        ),
        (mib, seed) in (1u64..3, any::<u64>()),
    ) {
        let links: Vec<LinkConfig> = (0..=lives.len()).map(|_| link(5, 20)).collect();
        let mut setup = sctp(&links, Traffic::BulkSize(mib << 20));
        setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
        (setup.seed, setup.until) = (seed, Until::Closed);
        for (path, spells) in (1..).zip(&lives) {
            live(&mut setup, path, spells);
        }
        let record = record(&setup);
        let outcome = &record.outcome;
        prop_assert_eq!(record.measured().failure, None, "{:?}", outcome);
        prop_assert_eq!(outcome.bytes_read, mib << 20, "{:?}", outcome);
        prop_assert!(outcome.is_complete(), "{:?}", outcome);
        let first_sent: u64 = record.measured().sent.first_sent_bytes.iter().sum();
        prop_assert_eq!(first_sent, mib << 20);
    }

    /// Four paths between two addresses of each host, each behind a link of its own that two paths
    /// share. The first path lives, and so do all shared links.
    #[test]
    fn all_arrives_over_shared_ends_and_links(
        config in any_sctp(),
        lives in prop::collection::vec(
            prop::collection::vec((0u8..4, 1u64..3000, 50u64..4000), 0..4),
            3,
        ),
        rates in prop::array::uniform4(1u64..20),
        seed in any::<u64>(),
    ) {
        let mut setup = sctp(&[link(100, 1), link(100, 1), link(100, 1), link(100, 1)], MIB);
        setup.network.ends = (0..4).map(|path| ends(path / 2, path % 2)).collect();
        let shared = [("s0", [0, 1]), ("s1", [2, 3]), ("r0", [0, 2]), ("r1", [1, 3])];
        for ((name, paths), mbit) in shared.into_iter().zip(rates) {
            let (down, up) = (link(mbit, 20), link(mbit, 20));
            let link = PathSetup { name: name.to_owned(), down, up, events: Vec::new() };
            setup.network.links.push(SharedLink { link, paths: paths.to_vec() });
        }
        setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
        (setup.seed, setup.until) = (seed, Until::Closed);
        for (path, spells) in (1..).zip(&lives) {
            // The client's address of the second path is that of the first one, too.
            let spells = spells.iter().filter(|(what, ..)| path > 1 || *what < 3);
            live(&mut setup, path, &spells.copied().collect::<Vec<_>>());
        }
        let record = record(&setup);
        let outcome = &record.outcome;
        prop_assert_eq!(record.measured().failure, None, "{:?}", outcome);
        prop_assert_eq!(outcome.bytes_read, 1 << 20, "{:?}", outcome);
        prop_assert!(outcome.is_complete(), "{:?}", outcome);
        let first_sent: u64 = record.measured().sent.first_sent_bytes.iter().sum();
        prop_assert_eq!(first_sent, 1 << 20);
    }
}

/// One object.
const MIB: Traffic = Traffic::BulkSize(1 << 20);

fn ends(client: usize, server: usize) -> PathEnds {
    PathEnds { client: Some(client), server: Some(server) }
}

/// Regression: two of three paths die while a message of two chunks is bound to one of them.
#[test]
fn message_of_two_chunks_goes_on_elsewhere_when_its_path_dies() {
    let links = [link(5, 20), link(5, 20), link(5, 20)];
    let mut setup = change(cmt(&links, Traffic::BulkSize(1 << 20)), |config| {
        config.cmt = Some(CmtConfig {
            algorithms: Algorithms { sfr: false, dac: false, frc: false, cuc: CucRule::Normal },
            smart: Smart { fast_rtx: false, reneging: false, t3: false },
            send_all: SendAllKey::Normal,
            buffer_split: BufferSplit { sides: Sides::None, basis: BufferBasis::Outstanding },
            sack_path: SackPath::Standard,
            reschedule: Rescheduling {
                sides: Sides::None,
                threshold_permille: 0,
                moved_reduces_cwnd: false,
                moved_fast_rtx: 0,
            },
            rtt: RttRule::AnyPath,
            primary_first: PrimaryFirst::On,
            strict_booking: true,
            ..CmtConfig::default()
        });
        config.features = Features(15);
        (config.send_buffer, config.receive_buffer) = (20_000, 20_000);
        (config.parameters.max_burst, config.rtx_policy) = (0, RtxPolicy::Same);
        (config.message_size, config.reneging) = (Some(2915), false);
        config.scheduler = Some("linux".parse().expect("a scheduler"));
    });
    (setup.seed, setup.until) = (0, Until::Closed);
    live(&mut setup, 1, &[(0, 584, 1087)]);
    live(&mut setup, 2, &[(0, 849, 858), (2, 592, 2012)]);
    let record = record(&setup);
    assert!(record.outcome.is_complete(), "{:?}", record.outcome);
}

/// Regression: what was bound to the dead path came before what was bound to the other one, which
/// waited for it, and the scheduler waited until that had been sent.
#[test]
fn what_is_bound_to_a_dead_path_is_sent_before_what_waits_for_it() {
    for millis in [100, 250, 550] {
        let short = |link| LinkConfig { limit: Limit::Packets(4), ..link };
        let links = [short(link(25, 8)), short(link(1, 15))];
        let mut setup = change(cmt(&links, Traffic::BulkSize(200_000)), |config| {
            config.scheduler = Some("linux".parse().expect("a scheduler"));
            config.message_size = Some(100);
        });
        setup.until = Until::Closed;
        setup.flows[0].tcp.congestion = "cmtrpv1".parse().expect("a control");
        setup.flows[0].tcp.buffers =
            Buffers { send_max: 86_000, receive_max: 64_000, auto_tuning: false };
        let (at, change) = (Duration::from_millis(millis), LinkChange::Silent);
        setup.network.paths[1].events = vec![PathEvent { at, direction: Direction::Both, change }];
        let record = record(&setup);
        let time = record.outcome.value.expect("complete");
        // The time-out of the dead path, and the data at the window of 64 KB and RTT.
        assert!(time < 4.0, "{:?}", record.outcome);
    }
}

/// 004's WLAN and 2G: time of 8 MiB, changes of the slow path, bytes of its probes and of its data.
fn beside_2g(scheduler: Option<&str>, policy: &str) -> (f64, Vec<(f64, bool)>, [u64; 2]) {
    let cell = LinkConfig { limit: Limit::Bytes(100 << 10), ..link(1, 300) };
    let cell = LinkConfig { capacity: Capacity::Rate(Rate::from_bps(200_000)), ..cell };
    let setup = change(cmt(&[link(10, 25), cell], Traffic::BulkSize(8 << 20)), |config| {
        config.scheduler = scheduler.map(|name| name.parse().expect("a scheduler"));
        config.policy = policy.parse().expect("a policy");
        (config.send_buffer, config.receive_buffer) = (512 << 10, 512 << 10);
    });
    let (record, changes) = record_with(&setup, EventMask::STATE, |now, event| match event {
        Event::Probing { path, on, .. } => {
            assert_eq!(*path, PathId(1), "WLAN is the better one");
            Some((now.since(Instant::ZERO).as_secs_f64(), *on))
        }
        _ => None,
    });
    let time = record.outcome.value.expect("complete");
    let sent = &record.measured().sent;
    (time, changes, [sent.probe_bytes, sent.first_sent_bytes[1]])
}

/// Probes are heartbeats: a TSN travels once.
#[test]
fn drepas_suspends_a_path_that_contributes_too_little() {
    for scheduler in [None, Some("lrf"), Some("otias"), Some("sttf"), Some("linux")] {
        let (plain, none, [nothing, usual_slow]) = beside_2g(scheduler, "none");
        assert_eq!((none.len(), nothing), (0, 0));
        let (time, changes, [probes, slow]) = beside_2g(scheduler, "drepas");
        println!("{scheduler:?}: {plain:.2} s, DRePaS {time:.2} s, {probes} bytes, {changes:?}");
        let (at, on) = changes[0];
        assert!(on && (3.0..8.0).contains(&at), "{scheduler:?}: suspended at {at} s");
        assert!(time <= 1.02 * plain, "{scheduler:?}: {time} s, without {plain} s");
        assert!(slow < usual_slow, "{scheduler:?}: {slow} bytes, without {usual_slow}");
        // Ten packets of 1 KiB every three seconds.
        let bound = 10_240.0 * ((time - at) / 3.0 + 1.0);
        assert!(probes > 0 && probes as f64 <= bound, "{scheduler:?}: {probes} bytes");
    }
}

/// ECF leaves the slow path alone although it has room; windows are not what stops it.
/// Regression: the path stayed suspended when its address was added again, by whichever way its
/// packets then went, as probes alone are hardly ever a tenth of the other path's data.
#[test]
fn path_that_is_added_again_is_not_suspended_any_more() {
    let (gone, back) = (Duration::from_secs(15), Duration::from_secs(16));
    let slow = LinkConfig { capacity: Capacity::Rate(Rate::from_bps(100_000)), ..link(1, 200) };
    let mut setup = cmt(&[link(10, 10), slow], Traffic::BulkTime(Duration::from_secs(30)));
    setup = change(setup, |config| config.policy = "drepas".parse().expect("a policy"));
    let rate = LinkChange::Rate(Rate::from_mbit(10));
    let faster = [rate, LinkChange::Delay(Duration::from_millis(10))];
    let event = |change| PathEvent { at: gone, direction: Direction::Both, change };
    setup.network.paths[1].events = faster.into_iter().map(event).collect();
    let mark = |at, what| PathMark { path: 1, at, what };
    setup.marks = vec![mark(gone, Mark::Removed), mark(back, Mark::Returned)];
    let (record, changes) = record_with(&setup, EventMask::STATE, |now, event| match event {
        Event::Probing { path: PathId(1), on, .. } => Some((now - Instant::ZERO, *on)),
        _ => None,
    });
    let [(suspended, true), (resumed, false)] = changes[..] else { panic!("{changes:?}") };
    assert!(suspended < gone && back <= resumed, "{suspended} {resumed}");
    let goodput = record.outcome.value.expect("a goodput");
    assert!(goodput > 12e6, "{goodput}");
}

#[test]
fn wait_of_a_scheduler_is_its_own_in_the_account() {
    let waited = |scheduler: &str| {
        let setup = cmt(&[link(25, 10), link(4, 70)], Traffic::BulkSize(2 << 20));
        let setup = change(setup, |config| {
            config.scheduler = Some(scheduler.parse().expect("a scheduler"));
        });
        let setup = with(setup, |setup| setup.recording.accounts = true);
        let account = record(&setup).account().expect("an account");
        let sum = account.stopped.iter().fold(Duration::ZERO, |sum, held| sum + held.time);
        assert_eq!(sum, account.life, "{account:?}");
        account.of(Blocked::SchedulerWaits).time
    };
    assert!(waited("ecf-kernel") > Duration::from_millis(20));
    assert_eq!(waited("lrf"), Duration::ZERO);
}

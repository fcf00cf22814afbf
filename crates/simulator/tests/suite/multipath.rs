//! MPTCP over two and three paths: bytes out are bytes in, exactly once, and every transfer
//! completes while one path lives.

use crate::pair::{link, record, value, with};
use crate::robustness::{hostile_link, outage};
use base::Duration;
use harness::RunRecord;
use network::{Jitter, Limit, LinkChange, LinkConfig, LossConfig};
use proptest::prelude::*;
use simulator::{Carrier, Direction, Multipath, NicSetup, PathEvent, PathSetup, RunSetup, Until};
use traffic::Traffic;
use transport::choice::Choice;
use transport::path_manager::PathManagerKind;
use transport::{Buffers, Profile, Protocol, congestion, scheduler};

/// Every scheduler of the table.
fn schedulers() -> impl Iterator<Item = &'static str> {
    scheduler::TABLE.iter().map(|row| row.name)
}

/// Schedulers with early binding: data queued on a lossy path delay the other paths.
const EARLY_BINDING: [&str; 3] = ["linux", "daps", "otias"];

/// A run of MPTCP over these links, each alike in both directions.
pub(crate) fn over(links: &[LinkConfig], scheduler: &'static str, traffic: Traffic) -> RunSetup {
    let path = |(number, link): (usize, &LinkConfig)| PathSetup {
        name: format!("p{number}"),
        down: link.clone(),
        up: link.clone(),
        events: Vec::new(),
    };
    let paths = links.iter().enumerate().map(path).collect();
    RunSetup::new(
        paths,
        Multipath { scheduler: scheduler.parse().unwrap(), ..Multipath::default() }.into(),
        traffic,
    )
}

/// The multi-path protocol of the measured flow.
pub(crate) fn multipath(setup: &mut RunSetup) -> &mut Multipath {
    match &mut setup.flows[0].carrier {
        Carrier::Multipath(multipath) => multipath,
        carrier => panic!("one path at a time: {carrier:?}"),
    }
}

/// From `from` on, until `to` or the end of the run.
fn gone(change: LinkChange, from: Duration, to: Option<Duration>) -> Vec<PathEvent> {
    let event = |at, change| PathEvent { at, direction: Direction::Both, change };
    let end = to.map(|to| event(to, LinkChange::Up));
    std::iter::once(event(from, change)).chain(end).collect()
}

/// A path that does its worst, comes and goes.
fn hostile_path() -> impl Strategy<Value = PathSetup> {
    (hostile_link(), hostile_link(), outage()).prop_map(|(down, up, events)| PathSetup {
        name: String::new(),
        down,
        up,
        events,
    })
}

/// The place of the first path, and what runs over all of them.
fn any_multipath() -> impl Strategy<Value = (usize, Multipath)> {
    let manager = prop_oneof![
        1 => Just(PathManagerKind::PASSIVE),
        5 => Just(PathManagerKind::FULLMESH),
    ];
    let policy = prop_oneof![2 => Just("none"), 1 => Just("drepas:interval=300ms")];
    (0usize..2, 0..scheduler::TABLE.len(), policy, manager, any::<bool>()).prop_map(
        |(first, scheduler, policy, path_manager, checksum)| {
            let scheduler = Choice::of(&scheduler::TABLE[scheduler]);
            let policy = policy.parse().unwrap();
            let rest = Multipath::default();
            (first, Multipath { scheduler, policy, path_manager, checksum, ..rest })
        },
    )
}

/// Without link-down notifications. A host with a notification closes the subflows of the path, and
/// mainline accepts no joins once its application has sent everything: the path would not be used
/// again.
fn never_told(paths: &mut [PathSetup]) {
    for event in paths.iter_mut().flat_map(|path| &mut path.events) {
        if matches!(event.change, LinkChange::Down) {
            event.change = LinkChange::Silent;
        }
    }
}

pub(crate) fn hostile_run() -> impl Strategy<Value = RunSetup> {
    let paths = proptest::collection::vec(hostile_path(), 2..4);
    let buffers = (16_384u32..400_000, 16_384u32..400_000, any::<bool>()).prop_map(
        |(send_max, receive_max, auto_tuning)| Buffers { send_max, receive_max, auto_tuning },
    );
    let congestion = (0..congestion::NAMES.len()).prop_map(|index| congestion::NAMES[index].0);
    let profile = prop_oneof![Just(Profile::Linux), Just(Profile::Linux41), Just(Profile::Linux35)];
    let tcp = (buffers, congestion, profile);
    let cost = prop_oneof![4 => Just(0u64), 1 => 1u64..100];
    // One path may fail permanently, if it is not the first one.
    let death = proptest::option::of((0u64..3000, any::<bool>()));
    let choices = (any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (paths, any_multipath(), tcp, cost, death, 1u64..300_000, choices).prop_map(
        |(mut paths, (first, multipath), tcp, cost, death, bytes, choices)| {
            let (seed, reverse, nic, pass_through, ipv6) = choices;
            for (number, path) in paths.iter_mut().enumerate() {
                path.name = format!("p{number}");
            }
            if let Some((at, told)) = death {
                let change = if told { LinkChange::Down } else { LinkChange::Silent };
                let mortal = 1 - first;
                paths[mortal].events = gone(change, Duration::from_millis(at), None);
            }
            let (buffers, congestion, profile) = tcp;
            if profile == Profile::Linux {
                never_told(&mut paths);
            }
            let per_segment = Duration::from_micros(cost);
            let mut setup = RunSetup::new(paths, multipath.into(), Traffic::BulkSize(bytes));
            setup.seed = seed;
            setup.network.nic = nic.then(NicSetup::default);
            setup.network.ipv6 = ipv6;
            setup.recording.pass_through = pass_through;
            setup.until = Until::Closed;
            setup.server_cost.per_segment = per_segment;
            setup.flows[0].first = first;
            setup.flows[0].reverse = reverse;
            setup.flows[0].tcp.buffers = buffers;
            setup.flows[0].tcp.congestion = congestion.parse().unwrap();
            setup.flows[0].tcp.profile = profile;
            setup
        },
    )
}

/// What must hold of every run.
pub(crate) fn assert_exactly_once(setup: &RunSetup) -> RunRecord {
    let Traffic::BulkSize(bytes) = setup.flows[0].traffic else { unreachable!() };
    let record = record(setup);
    let context = || format!("{record:#?}\n{setup:#?}");
    assert_eq!(record.measured().failure, None, "{}", context());
    assert_eq!(record.outcome.bytes_read, bytes, "{}", context());
    assert!(record.outcome.is_complete(), "{}", context());
    let dies = |path: &PathSetup| path.events.len() == 1;
    // TCP itself keeps trying for a quarter of an hour on a failed path.
    let dead = setup.network.paths.iter().any(dies);
    assert!(record.is_idle() || dead, "nothing is left to happen: {}", context());
    let first_sent: u64 = record.measured().sent.first_sent_bytes.iter().sum();
    assert_eq!(first_sent, bytes, "every byte is first sent once: {}", context());
    record
}

proptest! {
    // What is found becomes a named test below.
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_exactly_once_over_hostile_paths(setup in hostile_run()) {
        assert_exactly_once(&setup);
    }
}

/// Regression: over IPv6 the receiver took a byte less than its handshake had offered.
#[test]
fn all_that_the_handshake_offered_is_taken() {
    let slow = LinkConfig { limit: Limit::Packets(4), ..link(1, 1) };
    let mut setup = over(&[slow.clone(), slow], "linux", Traffic::BulkSize(34_817));
    setup.flows[0].carrier = Multipath {
        scheduler: "linux".parse().unwrap(),
        path_manager: PathManagerKind::PASSIVE,
        checksum: true,
        ..Multipath::default()
    }
    .into();
    setup.flows[0].reverse = true;
    setup.network.ipv6 = true;
    setup.network.nic = None;
    setup.until = Until::Closed;
    setup.flows[0].tcp.congestion = "reno".parse().unwrap();
    for profile in [Profile::Linux, Profile::Linux41] {
        setup.flows[0].tcp.profile = profile;
        let buffers = Buffers { send_max: 32_769, receive_max: 71_400, auto_tuning: false };
        setup.flows[0].tcp.buffers = buffers;
        assert_exactly_once(&setup);
    }
}

/// Regression: the last data acknowledgement was lost, what came afterwards had no room for one,
/// and a connection of one subflow asked for none.
#[test]
fn lost_data_acknowledgement_of_an_only_subflow_is_asked_for() {
    let ms = Duration::from_millis;
    let hop = |mbit: u64, delay: u64, jitter: u64, limit: u32| LinkConfig {
        jitter: Jitter { spread: ms(jitter), unordered: true, ..Jitter::default() },
        limit: Limit::Packets(limit),
        ..link(mbit, delay)
    };
    let links = [hop(4, 6, 6, 4), hop(1, 1, 0, 4)];
    let mut setup = over(&links, "lrf", Traffic::BulkSize(35_169));
    setup.network.paths[0].up = LinkConfig {
        loss: LossConfig::GilbertElliott { p: 0.001, r: 0.3, one_minus_h: 0.7, one_minus_k: 0.0 },
        reorder: 0.04554885686198772,
        corrupt: 0.03832442137196102,
        ..hop(35, 34, 11, 10)
    };
    setup.network.paths[0].events = gone(LinkChange::Down, ms(169), Some(ms(455)));
    setup.network.paths[1].events = gone(LinkChange::Silent, ms(169), None);
    setup.seed = 4_838_296_000_788_472_972;
    setup.flows[0].reverse = true;
    setup.network.nic = None;
    setup.until = Until::Closed;
    setup.flows[0].tcp.congestion = "lia".parse().unwrap();
    setup.flows[0].tcp.profile = Profile::Linux41;
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 32_304, receive_max: 41_376, auto_tuning: false };
    assert_exactly_once(&setup);
}

#[test]
fn every_scheduler_uses_every_path() {
    for scheduler in schedulers() {
        for paths in [2, 3] {
            let links: Vec<LinkConfig> = (0..paths).map(|n| link(10, 10 + 15 * n)).collect();
            let record = assert_exactly_once(&with(
                over(&links, scheduler, Traffic::BulkSize(4_000_000)),
                |setup| setup.until = Until::Closed,
            ));
            let carried = |path: &simulator::PathCounters| path.down.delivered > 150;
            assert!(record.links.iter().all(carried), "{scheduler}: {record:?}");
        }
    }
}

#[test]
fn weights_of_round_robin_are_the_shares_of_its_paths() {
    for (weights, expected) in [("wrr:1,3", 0.25), ("wrr:3,1", 0.75), ("wrr", 0.5)] {
        for first in [0, 1] {
            // Windows never bind.
            let links = [link(100, 10), link(100, 10)];
            let video = Traffic::video(Duration::from_secs(10));
            let mut setup = over(&links, weights, video);
            setup.flows[0].first = first;
            let sent = record(&setup).measured().sent.first_sent_bytes.clone();
            let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
            assert!((share - expected).abs() < 0.06, "{weights} from {first}: {share}");
        }
    }
}

#[test]
fn path_manager_default_stays_on_the_first_path() {
    for first in [0, 1] {
        let mut setup = over(&[link(10, 10), link(10, 10)], "lrf", Traffic::BulkSize(100_000));
        setup.flows[0].first = first;
        multipath(&mut setup).path_manager = PathManagerKind::PASSIVE;
        let record = record(&setup);
        assert_eq!(record.measured().sent.first_sent_bytes[first], 100_000);
        assert_eq!(record.links[1 - first].down.delivered, 0);
    }
}

/// One pair of addresses over every path: by the gateways of the others.
#[test]
fn binder_uses_every_path_between_the_first_addresses() {
    for first in [0, 2] {
        let links = [link(10, 10), link(10, 20), link(10, 30)];
        let mut setup = over(&links, "lrf", Traffic::BulkSize(4 << 20));
        setup.flows[0].first = first;
        multipath(&mut setup).path_manager = PathManagerKind::Binder;
        setup.recording.capture = true;
        let record = record(&setup);
        assert!(
            record.measured().sent.first_sent_bytes.iter().all(|sent| *sent > 500_000),
            "{record:?}"
        );
        let capture = record.captures.expect("it was asked for").sender;
        let others = (0..3u8).filter(|path| usize::from(*path) != first);
        let from_to = |path: u8| [10, 0, path, 1, 10, 0, path, 2];
        let has = |path| capture.windows(8).any(|bytes| bytes == from_to(path));
        assert!(has(first as u8) && !others.into_iter().any(has));
    }
}

#[test]
fn transfer_goes_on_when_either_path_is_gone_for_good() {
    for scheduler in schedulers() {
        for change in [LinkChange::Down, LinkChange::Silent] {
            for mortal in [0, 1] {
                let links = [link(10, 20), link(10, 30)];
                let mut setup = over(&links, scheduler, Traffic::BulkSize(6_000_000));
                setup.until = Until::Closed;
                setup.network.paths[mortal].events =
                    gone(change.clone(), Duration::from_secs(1), None);
                let record = assert_exactly_once(&setup);
                let time = record.outcome.value.expect("complete");
                let case = format!("{scheduler} {change:?} of path {mortal}: {time} s");
                println!("{case}");
                // 5.2 s over one path alone, and the time to find out.
                assert!(time < 7.5, "{case}");
            }
        }
    }
}

#[test]
fn path_that_returns_carries_again() {
    for change in [LinkChange::Down, LinkChange::Silent] {
        for (path, first) in [(1, 0), (0, 0), (0, 1)] {
            let links = [link(10, 20), link(10, 20)];
            let mut setup = over(&links, "lrf", Traffic::BulkTime(Duration::from_secs(30)));
            setup.flows[0].first = first;
            let (from, to) = (Duration::from_secs(5), Duration::from_secs(8));
            let never = record(&setup).measured().sent.first_sent_bytes.clone()[path];
            setup.network.paths[path].events = gone(change.clone(), from, Some(to));
            let with = record(&setup).measured().sent.first_sent_bytes.clone()[path];
            setup.network.paths[path].events = gone(change.clone(), from, None);
            let until = record(&setup).measured().sent.first_sent_bytes.clone()[path];
            println!("{change:?} of path {path}: {never} {with} {until}");
            let back = with.saturating_sub(until) as f64 / never as f64;
            assert!(back > 0.55, "{change:?} of path {path}, {first} first: {back} of {never}");
        }
    }
}

#[test]
fn lossy_path_does_not_take_the_other_one_with_it() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.05 }, ..link(10, 20) };
    for scheduler in schedulers().filter(|name| !EARLY_BINDING.contains(name)) {
        let both = over(&[link(10, 20), lossy.clone()], scheduler, Traffic::BulkSize(4_000_000));
        let alone =
            with(both.clone(), |setup| setup.flows[0].carrier = Carrier::Single(Protocol::Tcp));
        let (both, alone) = (crate::pair::value(&both), crate::pair::value(&alone));
        println!("{scheduler}: {both:.3} s, alone {alone:.3} s");
        assert!(both < 1.05 * alone, "{scheduler}: {both} s, the good path alone {alone} s");
    }
}

/// Regression: a link-down notification during the handshake ended the connection.
#[test]
fn first_path_told_down_during_the_handshake_is_waited_for() {
    let mut setup = over(&[link(10, 20), link(10, 20)], "lrf", Traffic::BulkSize(30_000));
    setup.until = Until::Closed;
    let (from, to) = (Duration::from_millis(1), Duration::from_millis(30));
    setup.network.paths[0].events = gone(LinkChange::Down, from, Some(to));
    let time = assert_exactly_once(&setup).outcome.value.expect("complete");
    assert!((0.03..0.4).contains(&time), "a second SYN as soon as it is back: {time} s");
}

/// Regression: the client scaled the window of the SYN/ACK, overran the server's buffer, and data
/// that a subflow had acknowledged and the connection had not were sent again too slowly.
#[test]
fn upload_into_a_small_buffer_over_queues_that_overflow_is_not_stuck() {
    let narrow = LinkConfig { limit: network::Limit::Packets(4), ..link(1, 1) };
    let mut setup = over(&[narrow.clone(), narrow], "lrf", Traffic::BulkSize(32_293));
    setup.flows[0].tcp.buffers =
        Buffers { send_max: 16_384, receive_max: 16_384, auto_tuning: false };
    setup.flows[0].reverse = true;
    setup.network.nic = None;
    setup.until = Until::Closed;
    let record = assert_exactly_once(&setup);
    let time = record.outcome.value.expect("complete");
    assert!(time < 0.5, "{time} s; 0.14 s at the rate of both links");
}

/// Regression: the server lost the address of the working path for a moment, just when the other
/// path failed without a notification; its reset ended the first subflow, and no other was opened.
#[test]
fn address_lost_for_a_moment_is_joined_again() {
    for moment in 0..60 {
        let mut setup = over(&[link(5, 10), link(5, 40)], "lrf", Traffic::BulkSize(1_000_000));
        setup.until = Until::Closed;
        let at = Duration::from_millis(40 + 4 * moment);
        let back = at + Duration::from_millis(1);
        setup.network.paths[0].events = gone(LinkChange::Down, at, Some(back));
        setup.network.paths[1].events = gone(LinkChange::Silent, at, None);
        let time = assert_exactly_once(&setup).outcome.value.expect("complete");
        assert!(time < 8.0, "gone after {at}: {time} s");
    }
}

/// Regression, seen in captures: every segment was pushed alone, so that it carried PSH, and a join
/// took its own options off the segment size that it expected; either brought one ACK for each
/// segment.
#[test]
fn acknowledgements_are_for_two_segments_on_every_subflow() {
    let links = [link(25, 20), link(4, 70)];
    let record = record(&over(&links, "lrf", Traffic::BulkTime(Duration::from_secs(20))));
    for path in &record.links {
        let share = path.up.delivered as f64 / path.down.delivered as f64;
        assert!((0.49..0.65).contains(&share), "{share} ACKs a segment: {path:?}");
    }
}

/// The receive buffer of old kernels grows by what is read in a round trip. The window of the
/// connection was not known where subflows measure the round trip: it seemed to be so short that
/// the buffer stayed at 450 kB, and 100 Mbit/s with 400 ms gave 4.5 Mbit/s.
#[test]
fn receive_buffer_of_old_kernels_grows_over_a_long_path() {
    for profile in [Profile::Linux35, Profile::Linux311, Profile::Linux314, Profile::Linux41] {
        let long = LinkConfig { limit: Limit::Packets(1000), ..link(100, 200) };
        let mut setup = over(&[long], "lrf", Traffic::BulkTime(Duration::from_secs(20)));
        setup.flows[0].tcp.profile = profile;
        let bits_per_s = value(&setup);
        assert!(bits_per_s > 25e6, "{profile:?}: {bits_per_s}");
    }
}

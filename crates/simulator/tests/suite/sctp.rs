//! SCTP over simulated links (RFC 9260).

use crate::multipath::{assert_exactly_once, hostile_run};
use crate::pair::{link, one_path, record, record_with, value, with};
use base::{Chance, Duration, Event, EventMask, Purpose, Rate};
use network::{Capacity, Direction, Limit, LinkChange, LinkConfig, LossConfig, PathEvent};
use proptest::prelude::*;
use simulator::{Carrier, ProcessingCost, RunSetup, Until};
use traffic::Traffic;
use transport::congestion::ControllerChoice;
use transport::sctp::{Addresses, FailureLimits, GapStructure, RtxPolicy, SctpConfig, SctpProfile};
use wire::sctp::Features;

/// One association over these links; more than one: with all addresses, the first path primary.
pub(crate) fn sctp(links: &[LinkConfig], traffic: Traffic) -> RunSetup {
    let mut setup = crate::multipath::over(links, "lrf", traffic);
    let addresses = if links.len() > 1 { Addresses::All } else { Addresses::One };
    let config = SctpConfig { addresses, ..SctpConfig::default() };
    setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
    setup
}

#[test]
fn bulk_completes_at_nearly_the_rate_of_the_link() {
    for size in [1 << 16, 1 << 20, 1 << 24] {
        let record = record(&sctp(&[link(10, 10)], Traffic::BulkSize(size)));
        assert!(record.outcome.value.is_some(), "{:?}", record.outcome);
    }
}

/// One TCP connection with Reno.
fn reno(link: &LinkConfig, traffic: Traffic) -> RunSetup {
    with(one_path(link, traffic), |setup| setup.flows[0].tcp.congestion = ControllerChoice::RENO)
}

/// The seconds that a run waits for T3-rtx with everything else delivered: the loss of its last
/// chunks, which no later chunk reveals (RFC 9260 has no tail loss probe).
fn waited_for_t3(setup: &RunSetup) -> f64 {
    let timers = EventMask::TIMER.union(EventMask::SEGMENT);
    let (_, events) = record_with(setup, timers, |now, event| match event {
        Event::SegmentAcked { .. } => Some((now.as_secs_f64(), false)),
        Event::TimerFired { timer: "t3-rtx", .. } => Some((now.as_secs_f64(), true)),
        _ => None,
    });
    let pairs = events.iter().zip(events.iter().skip(1));
    pairs.filter(|(_, (_, is_t3))| *is_t3).map(|((acked, _), (fired, _))| fired - acked).sum()
}

/// Seconds of a download by slow start alone (RFC 9260 s7.2.1 with L = 1): two round trips of
/// handshake, the request, then windows that grow by one chunk for every SACK, which answers two
/// packets, until they fill the link.
fn slow_start_model(rate: f64, rtt: f64, bytes: f64) -> f64 {
    let (chunk, packet) = (1452.0, 1500.0);
    let (mut window, mut left, mut time) = (3.0 * chunk, bytes, 2.5 * rtt);
    while left > window && window * packet / chunk * 8.0 / rate < rtt {
        left -= window;
        window *= 1.5;
        time += rtt;
    }
    time + left * packet / chunk * 8.0 / rate + rtt / 2.0
}

#[test]
fn without_loss_transfers_are_those_of_reno_or_of_slow_start() {
    for mbit in [10, 25] {
        let link = link(mbit, 20);
        let long = Traffic::BulkSize(16 << 20);
        let sctp_time = value(&sctp(std::slice::from_ref(&link), long.clone()));
        let reno_time = value(&reno(&link, long));
        assert!((sctp_time / reno_time - 1.0).abs() < 0.05, "{sctp_time} {reno_time}");
        for mib in [1u64, 4] {
            let setup = sctp(std::slice::from_ref(&link), Traffic::BulkSize(mib << 20));
            let time = value(&setup) - waited_for_t3(&setup);
            let rtt = 0.04 + 1500.0 * 8.0 / (mbit as f64 * 1e6);
            let model = slow_start_model(mbit as f64 * 1e6, rtt, (mib << 20) as f64);
            assert!((time / model - 1.0).abs() < 0.05, "{mbit} Mbit/s, {mib} MiB: {time} {model}");
        }
    }
}

/// Reno of TCP has no floor of four packets, and its recovery is paced by PRR.
#[test]
fn with_loss_transfers_take_about_the_time_of_reno() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.01 }, ..link(25, 20) };
    let mean = |make: &dyn Fn() -> RunSetup| {
        let of = |run| value(&with(make(), |setup| setup.run = run));
        (0..100).map(of).sum::<f64>() / 100.0
    };
    let sctp_time = mean(&|| sctp(std::slice::from_ref(&lossy), Traffic::BulkSize(16 << 20)));
    let reno_time = mean(&|| reno(&lossy, Traffic::BulkSize(16 << 20)));
    assert!((sctp_time / reno_time - 1.0).abs() < 0.12, "{sctp_time} {reno_time}");
}

/// The primary is silent from 5 s to 60 s; `limits` are those of failure detection.
fn dead_primary(limits: FailureLimits) -> RunSetup {
    let links = [link(10, 20), link(5, 40)];
    let mut setup = sctp(&links, Traffic::BulkTime(Duration::from_secs(20)));
    let event =
        |at, change| PathEvent { at: Duration::from_secs(at), direction: Direction::Both, change };
    setup.network.paths[0].events = vec![event(5, LinkChange::Silent), event(60, LinkChange::Up)];
    if let Carrier::Sctp(config) = &mut setup.flows[0].carrier {
        config.parameters.limits = limits;
    }
    setup
}

/// Without RFC 7829.
const PMR: FailureLimits = FailureLimits { potentially_failed: None, ..FailureLimits::RFC_9260 };

#[test]
fn dead_primary_is_left_after_one_timeout_with_pf() {
    let (pf, pmr) = (value(&dead_primary(FailureLimits::RFC_9260)), value(&dead_primary(PMR)));
    assert!(pf >= 4.5e6, "{pf}");
    assert!(pmr < pf, "{pmr} {pf}");
}

/// Regression: after each time-out new data went to the dead path, and the gaps until the next one
/// were not taken for its effect, as nothing that was sent there could arrive.
#[test]
fn gaps_that_data_sent_on_the_dead_path_cause_are_part_of_the_fail_over() {
    let of = |limits| record(&dead_primary(limits)).failovers()[0].time;
    let pf = of(FailureLimits::RFC_9260).expect("data go on");
    assert!((Duration::from_secs(1)..Duration::from_secs(3)).contains(&pf), "{pf}");
    assert_eq!(of(PMR), None, "nothing arrives at the end");
}

/// Regression: chunks that a dead path left to another one were counted as retransmissions there.
#[test]
fn chunks_that_moved_are_not_retransmitted_where_they_went() {
    let mut setup = dead_primary(FailureLimits::RFC_9260);
    for path in &mut setup.network.paths {
        path.down.limit = Limit::Packets(10_000);
    }
    let sent = record(&setup).measured().sent.clone();
    assert!(sent.repeated[1].reinjected_segs > 10, "{sent:?}");
    assert_eq!(sent.retransmitted_segs, 0, "nothing is lost on the other path");
}

/// Any association over any two or three hostile paths.
fn any_sctp() -> impl Strategy<Value = RunSetup> {
    let switches = (any::<[bool; 6]>(), 0usize..RtxPolicy::ALL.len(), 100u32..5000);
    (hostile_run(), switches).prop_map(|(mut setup, (on, policy, message_size))| {
        let [reneging, nr_sack, interleaving, nagle, all, pf] = on;
        let mut config = SctpConfig {
            addresses: if all { Addresses::All } else { Addresses::One },
            reneging,
            nagle,
            rtx_policy: RtxPolicy::ALL[policy].0,
            message_size: (message_size < 3000).then_some(message_size),
            ..SctpConfig::default()
        };
        let features = [
            (true, Features::PARTIAL_RELIABILITY),
            (nr_sack, Features::NR_SACK),
            (interleaving, Features::INTERLEAVING),
        ];
        let listed = features.iter().filter(|(on, _)| *on);
        config.features = Features(listed.fold(0, |all, (_, feature)| all | feature.0));
        config.parameters.limits.potentially_failed = pf.then_some(0);
        setup.flows[0].tcp.nagle = nagle;
        setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
        keep_opening(&mut setup);
        setup
    })
}

/// The handshake is repeated for longer than by Max.Init.Retransmits: with one path silent for good
/// every second repetition goes there, and those on the other path are lost four times in a row in
/// one of some thousand runs.
pub(crate) fn keep_opening(setup: &mut RunSetup) {
    setup.limit = Duration::from_secs(3600);
    if let Carrier::Sctp(config) = &mut setup.flows[0].carrier {
        config.parameters.init_retransmits = 40;
    }
}

/// Random cases: `usual`, or the number in `PROPTEST_CASES`.
pub(crate) fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok());
    asked.unwrap_or(usual)
}

proptest! {
    // What is found becomes a named test below.
    #![proptest_config(ProptestConfig {
        cases: cases(96),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_exactly_once_over_hostile_paths(setup in any_sctp()) {
        assert_exactly_once(&setup);
    }
}

/// Regression: SHUTDOWN ACK went to the path of the data, which was dead, and not to where SHUTDOWN
/// came from.
#[test]
fn association_ends_although_a_path_is_dead() {
    for seed in 0..100 {
        let loss = LossConfig::Bernoulli { p: 0.07 };
        let lossy = LinkConfig { loss, reorder: 0.1, duplicate: 0.1, ..link(25, 40) };
        let mut setup = sctp(&[lossy.clone(), lossy], Traffic::BulkSize(10_000));
        setup.seed = seed;
        setup.flows[0].first = 1;
        setup.flows[0].reverse = true;
        setup.until = Until::Closed;
        let (at, direction) = (Duration::from_millis(300), Direction::Both);
        setup.network.paths[0].events = vec![PathEvent { at, direction, change: LinkChange::Down }];
        assert_exactly_once(&setup);
    }
}

/// 000 sV-A1: video of 950 kbit/s over 3G, 128 runs with paths from its table 3 (3 to 5 Mbit/s, 65
/// to 75 ms). A frame of 3958 bytes is three messages of at most 1452 bytes; without loss it takes
/// the propagation, its serialisation, and what the window delays. The paper measured 80 to 90 ms.
#[test]
fn video_over_3g_takes_propagation_and_serialisation() {
    let chance = Chance::new(1, 0);
    let excess = |run: u64| {
        let draw = |index| chance.uniform(run, Purpose::PathParameter, index);
        let (rate, delay) = (3e6 + 2e6 * draw(0), 0.065 + 0.010 * draw(1));
        let link = LinkConfig {
            capacity: Capacity::Rate(Rate::from_bps(rate as u64)),
            delay: Duration::from_secs_f64(delay),
            limit: Limit::Packets(3750),
            ..LinkConfig::default()
        };
        let traffic = Traffic::video(Duration::from_secs(60));
        let mut setup = sctp(std::slice::from_ref(&link), traffic);
        let inet = SctpConfig::of(SctpProfile::Inet000);
        let config = SctpConfig { message_size: Some(1452), ..inet };
        setup.flows[0].carrier = Carrier::Sctp(Box::new(config));
        setup.run = run;
        let packets = [1500.0, 1500.0, 1054.0 + 2.0 + 48.0];
        let serialised = packets.iter().sum::<f64>() * 8.0 / rate;
        (value(&setup), delay + serialised)
    };
    let runs: Vec<(f64, f64)> = (0..128).map(excess).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / 128.0;
    let (measured, least) = (mean(&|run| run.0), mean(&|run| run.1));
    println!(
        "{:.1} ms, of them {:.1} ms propagation and serialisation; 000: 80 to 90 ms",
        1e3 * measured,
        1e3 * least
    );
    assert!((0.0..0.005).contains(&(measured - least)), "{measured} {least}");
}

/// Regression: a frame whose last fragments were still to come counted as waiting behind a gap.
#[test]
fn nothing_waits_at_the_receiver_without_loss() {
    let mut setup = sctp(&[link(4, 70)], Traffic::video(Duration::from_secs(5)));
    setup.recording.accounts = true;
    let waited = record(&setup).account().expect("accounts were asked for").head_of_line;
    assert_eq!((waited.time, waited.bytes), (Duration::ZERO, 0));
}

/// An association that loses packets, with this structure and this time for each entry visited.
fn visiting(gap_structure: GapStructure, per_gap_entry: Duration) -> RunSetup {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.001 }, ..link(20, 100) };
    let mut setup = sctp(&[lossy], Traffic::BulkTime(Duration::from_secs(20)));
    if let Carrier::Sctp(config) = &mut setup.flows[0].carrier {
        config.gap_structure = gap_structure;
    }
    let cost = ProcessingCost { per_gap_entry, ..ProcessingCost::default() };
    (setup.client_cost, setup.server_cost) = (cost, cost);
    setup
}

#[test]
fn gap_structure_without_a_cost_changes_no_packet() {
    let hash = |structure| record(&visiting(structure, Duration::ZERO)).hash();
    assert_eq!(hash(GapStructure::Tree), hash(GapStructure::List));
}

#[test]
fn visited_entries_slow_hosts_with_lists_down_and_not_those_with_trees() {
    let goodput = |structure, micros| value(&visiting(structure, Duration::from_micros(micros)));
    let free = goodput(GapStructure::Tree, 0);
    let (tree, list) = (goodput(GapStructure::Tree, 300), goodput(GapStructure::List, 300));
    assert!(tree > 0.9 * free, "{tree} of {free} bit/s");
    assert!(list < 0.5 * free, "{list} of {free} bit/s");
}

/// Regression: COOKIE ECHO came over another path than INIT, and the server made paths of the
/// local address of the one and the remote address of the other.
#[test]
fn association_whose_cookie_takes_another_path_survives_that_one() {
    let mut setup = sctp(&[link(1, 1), link(1, 1)], Traffic::BulkSize(1));
    let at = |ms, change| PathEvent {
        at: Duration::from_millis(ms),
        direction: Direction::Both,
        change,
    };
    // COOKIE ECHO is lost on the first path, and the second one dies once it carried it.
    setup.network.paths[0].events = vec![at(5, LinkChange::Silent), at(6, LinkChange::Up)];
    setup.network.paths[1].events = vec![at(1008, LinkChange::Silent)];
    let record = record(&setup);
    assert!(record.outcome.value.is_some(), "{:?}", record.outcome);
}

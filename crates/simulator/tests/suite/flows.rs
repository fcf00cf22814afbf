//! Several connections in one run: shared links, flows that compete with the measured one, the
//! warm-up.

use crate::determinism::through_bytes;
use crate::multipath::over;
use crate::pair::{link, one_path, record, with};
use base::Duration;
use harness::{FlowRecord, RunRecord};
use network::{LinkChange, LinkConfig, LossConfig, MiddleBoxConfig};
use simulator::{
    BackupMark, Carrier, Direction, FlowSetup, MOST_FLOWS, Mark, Multipath, PathBox, PathEvent,
    PathMark, PathSetup, RunError, RunSetup, SharedLink, simulate,
};
use traffic::{StreamFailure, Traffic};
use transport::Protocol;
use transport::path_manager::PathManagerKind;

const FOREVER: Traffic = Traffic::BulkTime(Duration::from_secs(600));

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn path(name: &str, link: &LinkConfig) -> PathSetup {
    PathSetup { name: name.to_owned(), down: link.clone(), up: link.clone(), events: Vec::new() }
}

/// `link`, shared by these paths.
fn shared(link: &LinkConfig, paths: &[usize]) -> SharedLink {
    SharedLink { link: path("core", link), paths: paths.to_vec() }
}

/// Half a minute of TCP over a path that is nothing but a shared link of 10 Mbit/s.
fn through_core(flows: Vec<FlowSetup>) -> RunSetup {
    let wire = LinkConfig::default();
    let mut setup = one_path(&wire, Traffic::BulkTime(seconds(30)));
    setup.network.links = vec![shared(&link(10, 20), &[0])];
    setup.flows.extend(flows);
    setup
}

fn flow(paths: &[usize]) -> FlowSetup {
    FlowSetup { start: Duration::from_millis(300), ..FlowSetup::new(paths, FOREVER) }
}

/// MPTCP as competing flows have it.
fn competing() -> Carrier {
    Multipath { probes_removed: true, ..Multipath::default() }.into()
}

fn goodputs(record: &RunRecord) -> Vec<f64> {
    record.flows.iter().map(|flow| flow.goodput.unwrap() / 1e6).collect()
}

#[test]
fn path_through_a_shared_link_alone_is_as_a_path_of_that_link() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.005 }, ..link(10, 20) };
    let plain = one_path(&lossy, Traffic::BulkSize(5_000_000));
    // The same draws, as draws are keyed by name.
    let core = SharedLink { link: path("p0", &lossy), paths: vec![0] };
    let behind = with(plain.clone(), |setup| {
        setup.network.paths = vec![path("access", &LinkConfig::default())];
        setup.network.links = vec![core];
    });
    let (plain, behind) = (record(&plain), record(&behind));
    assert_eq!(plain.outcome, behind.outcome);
    assert_eq!(plain.measured().sent.retransmitted_segs, behind.measured().sent.retransmitted_segs);
    assert!(plain.measured().sent.retransmitted_segs > 0);
    assert_eq!(plain.links[0].down, behind.shared[0].down);
    assert_eq!(behind.links[0].down.delivered, behind.shared[0].down.delivered);
    assert!(plain.competing().is_empty() && plain.shared.is_empty());
}

/// Regression: beside a flow of another path packets find their way by routes, of which none led to
/// the outside address of a translator.
#[test]
fn answers_find_a_translator_where_another_path_has_a_flow() {
    let outside = [192, 0, 2, 1].into();
    let config = MiddleBoxConfig::Nat { outside, idle: seconds(60), rebind: None };
    let mut setup = over(&[link(10, 20), link(10, 20)], "lrf", Traffic::BulkSize(1 << 20));
    setup.flows[0].carrier = Carrier::Single(Protocol::Tcp);
    setup.network.boxes.push(PathBox { path: 0, config });
    let alone = record(&setup).outcome;
    setup.flows.push(flow(&[1]));
    assert_eq!(record(&setup).outcome, alone);
}

#[test]
fn flow_beside_the_connection_takes_its_share_of_the_link() {
    let record = record(&through_core(vec![flow(&[0])]));
    let [main, beside] = goodputs(&record)[..] else { panic!("two connections") };
    assert!((9.0..10.0).contains(&(main + beside)), "{main} and {beside}");
    assert!(main > 3.0 && beside > 3.0, "{main} and {beside}");
    let whole = record.outcome.value.unwrap() / 1e6;
    assert!((whole - main).abs() < 0.05, "{whole} and {main}, over the handshake too");
    let FlowRecord { read_by, started, ended, failure, .. } = &record.flows[1];
    assert_eq!(read_by.len(), 31, "at 0 s, 1 s, ... 30 s");
    assert!(read_by[0] == 0 && read_by.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!((*started, *ended, *failure), (Duration::from_millis(300), None, None));
}

#[test]
fn without_flows_a_warm_up_changes_what_counts_and_nothing_else() {
    let plain = one_path(&link(10, 20), Traffic::BulkTime(seconds(20)));
    let warm = RunSetup { warm_up: seconds(15), ..plain.clone() };
    let (plain, warm) = (record(&plain), record(&warm));
    assert_eq!(plain.links, warm.links);
    assert_eq!(plain.outcome.bytes_read, warm.outcome.bytes_read);
    let after = warm.measured();
    let bytes = after.bytes_read - after.read_by[15];
    let window = (warm.ended - seconds(15)).as_secs_f64();
    assert_eq!(warm.outcome.value, Some(bytes as f64 * 8.0 / window));
    assert!(after.sent.first_sent_bytes[0] < plain.measured().sent.first_sent_bytes[0] * 2 / 5);
    assert_eq!(plain.hash().is_some(), warm.hash().is_some());
}

/// Regression: the handshake counted as a part of the time after a warm-up that was over by then.
#[test]
fn warm_up_before_the_connection_changes_no_goodput() {
    let plain = one_path(&link(10, 50), Traffic::BulkTime(seconds(5)));
    let late = with(plain.clone(), |setup| setup.flows[0].start = seconds(3));
    let expected = record(&plain).outcome.value;
    for warm_up in [1000, 3050] {
        let warm_up = Duration::from_millis(warm_up);
        let warm = record(&RunSetup { warm_up, ..late.clone() });
        assert_eq!(warm.outcome.value, expected, "{warm_up}");
    }
}

#[test]
fn connection_starts_when_it_is_told_to() {
    let plain = one_path(&link(10, 20), Traffic::BulkSize(1_000_000));
    let late = with(plain.clone(), |setup| setup.flows[0].start = seconds(3));
    let (plain, late) = (record(&plain), record(&late));
    assert_eq!(plain.outcome.value, late.outcome.value);
    assert_eq!(late.ended - plain.ended, seconds(3));
}

/// Which of two flows loses a packet at a full queue is chance: eight starts.
#[test]
fn flow_with_a_longer_way_gets_less_and_one_the_other_way_round_nearly_all() {
    let shares = (0..8).map(|number| {
        let start = Duration::from_millis(300 + 170 * number);
        let far = FlowSetup { delay: Duration::from_millis(60), start, ..flow(&[0]) };
        let [main, far] = goodputs(&record(&through_core(vec![far])))[..] else { panic!("two") };
        far / (main + far)
    });
    let shares: Vec<f64> = shares.collect();
    println!("{shares:.3?} of a longer way");
    let mean = shares.iter().sum::<f64>() / 8.0;
    assert!(mean < 0.45, "{mean} of a longer way: {shares:?}");
    let up = FlowSetup { reverse: true, ..flow(&[0]) };
    let both = goodputs(&record(&through_core(vec![up])));
    assert!(both.iter().all(|goodput| *goodput > 7.0), "{both:?}: one each way");
}

#[test]
fn flow_over_several_paths_carries_on_each_and_only_on_its_own() {
    for ipv6 in [false, true] {
        let links = [link(8, 10), link(8, 10), link(8, 10)];
        let mut setup = over(&links, "lrf", Traffic::BulkTime(seconds(10)));
        let beside = FlowSetup { first: 1, carrier: competing(), ..flow(&[0, 2]) };
        setup.flows.extend([beside, flow(&[1])]);
        setup.network.ipv6 = ipv6;
        let plain = record(&setup);
        let sent = &plain.flows[1].sent.first_sent_bytes;
        assert!(sent[0] > 1_000_000 && sent[2] > 1_000_000 && sent[1] == 0, "{sent:?}");
        let sent = &plain.flows[2].sent.first_sent_bytes;
        assert!(sent[1] > 1_000_000 && sent[0] + sent[2] == 0, "{sent:?}");
        let through = record(&through_bytes(setup));
        assert_eq!((plain.hash(), plain.flows), (through.hash(), through.flows));
    }
}

#[test]
fn flow_of_a_size_ends_and_its_goodput_is_over_its_time() {
    let short = FlowSetup { traffic: Traffic::BulkSize(1_000_000), ..flow(&[0]) };
    let setup = through_core(vec![short]);
    let flow = &record(&RunSetup { warm_up: seconds(1), ..setup.clone() }).flows[1];
    let ended = flow.ended.unwrap();
    assert_eq!(flow.bytes_read, 1_000_000);
    let bits = (flow.bytes_read - flow.read_by[1]) as f64 * 8.0;
    let goodput = flow.goodput.unwrap();
    assert!((goodput - bits / (ended.as_secs_f64() - 1.0)).abs() < 1.0, "{goodput}");
    let late = record(&RunSetup { warm_up: seconds(20), ..setup });
    assert_eq!(late.flows[1].goodput, None, "it was over by then");
}

#[test]
fn outage_of_a_path_is_told_to_the_flows_on_it_and_one_of_a_shared_link_to_nobody() {
    let down = PathEvent { at: seconds(2), direction: Direction::Both, change: LinkChange::Down };
    let mut setup = through_core(vec![flow(&[0])]);
    setup.network.paths.push(path("spare", &link(10, 20)));
    setup.flows[0].paths = vec![0, 1];
    setup.flows[0].carrier = Multipath::default().into();
    setup.flows[1] = FlowSetup { carrier: competing(), ..flow(&[0, 1]) };
    let mut told = setup.clone();
    told.network.paths[0].events.push(down.clone());
    setup.network.links[0].link.events.push(down);
    for setup in [told, setup] {
        let record = record(&setup);
        let [main, beside] = goodputs(&record)[..] else { panic!("two connections") };
        assert!(main > 2.0 && beside > 2.0, "{main} and {beside} over the spare path");
        assert!(record.links[1].down.delivered > 10_000);
    }
}

/// A TCP flow on the first path and an MPTCP one on both, which begins later on the second one, and
/// a TCP connection on the second.
fn on_both() -> RunSetup {
    let late = FlowSetup { carrier: competing(), start: seconds(1), ..flow(&[1, 0]) };
    let paths = vec![path("a", &link(10, 20)), path("b", &link(10, 20))];
    let mut setup =
        RunSetup::new(paths, Carrier::Single(Protocol::Tcp), Traffic::BulkTime(seconds(20)));
    setup.flows[0].first = 1;
    setup.flows.extend([flow(&[0]), late]);
    setup
}

#[test]
fn reset_of_a_path_ends_the_flows_on_it() {
    let mut setup = on_both();
    setup.marks = vec![PathMark { path: 0, at: seconds(5), what: Mark::Reset }];
    let record = record(&setup);
    let [main, tcp, mptcp] = &record.flows[..] else { panic!("three flows") };
    assert_eq!(tcp.failure, Some(StreamFailure::Reset));
    assert_eq!(tcp.read_by[6], tcp.bytes_read);
    assert_eq!([main.failure, mptcp.failure], [None, None]);
    assert!(mptcp.sent.first_sent_bytes[0] > 10_000_000, "it joins again");
}

#[test]
fn flow_over_several_paths_spares_a_backup_and_leaves_a_path_whose_address_is_withdrawn() {
    let backup: fn(Duration, &mut RunSetup) =
        |at, setup| setup.backup = vec![BackupMark { path: 0, at, on: true }];
    let removed: fn(Duration, &mut RunSetup) =
        |at, setup| setup.marks = vec![PathMark { path: 0, at, what: Mark::Removed }];
    // Before the flow begins, and after.
    for (at, most) in [(Duration::from_millis(500), 0), (seconds(4), 3_000_000)] {
        for happens in [backup, removed] {
            let mut setup = on_both();
            let before = record(&setup).flows[2].sent.first_sent_bytes[0];
            happens(at, &mut setup);
            let record = record(&setup);
            let [_, tcp, mptcp] = &record.flows[..] else { panic!("three flows") };
            let carried = mptcp.sent.first_sent_bytes[0];
            assert!(carried <= most && carried < before / 2, "{carried} of {before}");
            assert!(mptcp.sent.first_sent_bytes[1] > 5_000_000, "{mptcp:?}");
            // TCP has neither.
            assert!(tcp.sent.first_sent_bytes[0] > 15_000_000, "{tcp:?}");
        }
    }
}

/// A subflow may lead from the client's address on one path to the server's on another; once there
/// was no way for it as soon as anything else was in the network.
#[test]
fn managers_that_join_the_first_address_use_both_paths_beside_a_flow_elsewhere() {
    for path_manager in [PathManagerKind::Kernel, PathManagerKind::Binder] {
        let links = [0; 3].map(|_| link(10, 20));
        let mut setup = over(&links, "lrf", Traffic::BulkTime(seconds(10)));
        setup.flows[0].carrier = Multipath { path_manager, ..Multipath::default() }.into();
        let alone = record(&setup).measured().sent.first_sent_bytes.clone();
        setup.flows.push(FlowSetup { start: seconds(9), ..flow(&[2]) });
        let beside = record(&setup).measured().sent.first_sent_bytes.clone();
        assert!(alone.iter().all(|bytes| *bytes > 8_000_000), "{path_manager:?} {alone:?}");
        for (alone, beside) in alone.iter().zip(&beside[..2]) {
            let off = alone.abs_diff(*beside);
            assert!(off < alone / 50, "{path_manager:?} {alone} {beside}");
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let error = |change: fn(&mut RunSetup)| {
        let mut setup = through_core(vec![flow(&[0])]);
        change(&mut setup);
        simulate(&setup).unwrap_err()
    };
    assert_eq!(error(|setup| setup.flows[1].paths = vec![1]), RunError::NoSuchPath(1));
    assert_eq!(error(|setup| setup.flows[1].paths.clear()), RunError::NoSuchPath(0));
    assert_eq!(error(|setup| setup.network.links[0].paths.push(7)), RunError::NoSuchPath(7));
    assert_eq!(error(|setup| setup.flows.clear()), RunError::NoFlow);
    let many = |setup: &mut RunSetup| setup.flows = vec![setup.flows[0].clone(); MOST_FLOWS + 2];
    assert_eq!(error(many), RunError::TooManyFlows(MOST_FLOWS + 1));
}

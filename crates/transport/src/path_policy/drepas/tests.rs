//! The rules of DRePaS, one by one, with the numbers of 004 sV.

use super::*;
use crate::scheduler::PathState;
use crate::scheduler::tests::support;

const WLAN: PathId = PathId(0);
const CELL: PathId = PathId(1);

/// A policy with the parameters of `text` and the clock of a connection that is always busy.
struct Bench {
    policy: Drepas,
    now: Instant,
    paths: Vec<PathView>,
}

fn path(id: u8, srtt_ms: u64, inflight_bytes: u64) -> PathView {
    let mut path = support::path(id, srtt_ms, 100, 0);
    path.window.inflight_bytes = inflight_bytes;
    path
}

impl Bench {
    fn with(text: &str, paths: Vec<PathView>) -> Bench {
        let settings = Settings::parse("drepas", PARAMETERS, text).expect("parameters");
        Bench { policy: Drepas::new(&settings), now: Instant::ZERO, paths }
    }

    fn new(paths: Vec<PathView>) -> Bench {
        Bench::with("interval=3s", paths)
    }

    /// DRE-1: WLAN 60,000 bytes at 50 ms, 2G 30,000 bytes at 1.4 s.
    fn dre_1() -> Bench {
        Bench::new(vec![path(0, 50, 60_000), path(1, 1400, 30_000)])
    }

    /// Reviews now and applies the changes to the paths.
    fn review(&mut self) -> Vec<(PathId, bool)> {
        let changes = self.policy.review(self.now, &self.paths);
        for (id, on) in &changes {
            let path = self.paths.iter_mut().find(|path| path.id == *id).expect("a path");
            assert_ne!(path.probing, *on, "a change changes something");
            path.probing = *on;
        }
        changes
    }

    /// The changes by the end of `count` more samples, 100 ms apart.
    fn samples(&mut self, count: u32) -> Vec<(PathId, bool)> {
        let mut changes = Vec::new();
        for _ in 0..count {
            changes.extend(self.review());
            self.now += Duration::from_millis(100);
        }
        changes
    }

    /// Packets of probes that `path` is to send now, each of them sent.
    fn probes(&mut self, path: usize) -> u32 {
        let mut sent = 0;
        while let Some(bytes) = self.policy.next_probe(self.now, &self.paths[path]) {
            assert_eq!(bytes, 1024);
            self.policy.on_probe_sent(self.paths[path].id);
            sent += 1;
        }
        sent
    }
}

#[test]
fn dre_1_thirty_samples_below_a_tenth_suspend_the_path() {
    let mut bench = Bench::dre_1();
    assert_eq!(bench.samples(29), []);
    assert_eq!(bench.samples(1), [(CELL, true)]);
    assert_eq!(bench.samples(100), [], "nothing else changes");
}

#[test]
fn dre_1_probed_path_is_active_once_the_best_falls_below_ten_times_its_throughput() {
    let mut bench = Bench::dre_1();
    bench.samples(30);
    // Probes alone: 10,240 bytes at 0.6 s are 17,067 bytes a second.
    bench.paths[1] = PathView { probing: true, ..path(1, 600, 10_240) };
    assert_eq!(bench.samples(5), [], "the window of half a second has forgotten the payload");
    bench.paths[0].window.inflight_bytes = 8534;
    assert_eq!(bench.samples(10), [], "170,680 bytes a second are more than ten times that");
    bench.paths[0].window.inflight_bytes = 8533;
    assert_eq!(bench.samples(5), [(CELL, false)], "170,660 are not");
}

#[test]
fn one_sample_that_contributes_starts_the_interval_anew() {
    let mut bench = Bench::dre_1();
    bench.samples(29);
    bench.paths[0].rtt.srtt = Duration::from_millis(500);
    bench.samples(1);
    bench.paths[0].rtt.srtt = Duration::from_millis(50);
    assert_eq!(bench.samples(29), []);
    assert_eq!(bench.samples(1), [(CELL, true)]);
}

#[test]
fn resumed_path_begins_without_a_history() {
    let mut bench = Bench::dre_1();
    bench.samples(30);
    bench.paths[0].rtt.srtt = Duration::from_millis(1400);
    assert_eq!(bench.samples(1), [(CELL, false)]);
    bench.paths[0].rtt.srtt = Duration::from_millis(50);
    assert_eq!(bench.samples(29), [], "it could drop out again at once otherwise");
    assert_eq!(bench.samples(1), [(CELL, true)]);
}

#[test]
fn data_in_flight_are_averaged_over_half_a_second() {
    let mut bench = Bench::dre_1();
    // Cumulative acknowledgements: full in one sample of five, empty in the others.
    for sample in 0..100 {
        bench.paths[1].window.inflight_bytes = if sample % 5 == 0 { 1_000_000 } else { 0 };
        assert_eq!(bench.samples(1), [], "200,000 bytes at 1.4 s are more than a tenth");
    }
}

#[test]
fn path_without_a_sample_is_not_judged() {
    let mut bench = Bench::new(vec![path(0, 50, 60_000), path(1, 0, 0)]);
    assert_eq!(bench.samples(100), []);
}

#[test]
fn while_nothing_is_in_flight_nothing_changes() {
    let mut bench = Bench::new(vec![path(0, 50, 0), path(1, 1400, 0)]);
    assert_eq!(bench.samples(100), []);
    bench = Bench::dre_1();
    bench.samples(30);
    bench.paths[0].window.inflight_bytes = 0;
    bench.paths[1].window.inflight_bytes = 0;
    assert_eq!(bench.samples(100), [], "a probed path stays so");
}

#[test]
fn pause_of_the_connection_makes_histories_void() {
    let mut bench = Bench::dre_1();
    bench.samples(29);
    bench.now += Duration::from_secs(10);
    assert_eq!(bench.samples(29), []);
    assert_eq!(bench.samples(1), [(CELL, true)]);
}

#[test]
fn only_usable_path_is_active_and_not_judged() {
    let mut bench = Bench::dre_1();
    bench.samples(30);
    bench.paths[0].state = PathState::PotentiallyFailed;
    // Between two samples.
    bench.now += Duration::from_millis(1);
    assert_eq!(bench.review(), [(CELL, false)]);
    assert_eq!(bench.samples(100), []);
}

#[test]
fn all_probed_paths_are_active_when_all_active_ones_fail() {
    let mut bench = Bench::dre_1();
    bench.paths.push(path(2, 1400, 10_000));
    bench.samples(30);
    bench.paths[0].state = PathState::Closed;
    let third = PathId(2);
    assert_eq!(bench.review(), [(CELL, false), (third, false)]);
    bench.paths[0].state = PathState::Open;
    assert_eq!(bench.samples(29), [], "the interval begins anew");
}

#[test]
fn backup_at_rest_is_neither_judged_nor_counted_on() {
    let mut bench = Bench::dre_1();
    bench.paths[1].backup = true;
    bench.paths.push(path(2, 1400, 10_000));
    let third = PathId(2);
    assert_eq!(bench.samples(30), [(third, true)]);
    bench.paths[0].state = PathState::PotentiallyFailed;
    assert_eq!(bench.review(), [(third, false)], "a path that is no backup comes first");
    bench.paths[2].state = PathState::PotentiallyFailed;
    assert_eq!(bench.samples(100), [], "the backup was never suspended");
}

#[test]
fn probes_of_ten_packets_come_every_three_seconds() {
    let mut bench = Bench::dre_1();
    assert_eq!(bench.probes(1), 0, "an active path needs none");
    bench.samples(30);
    let suspended = bench.now - Duration::from_millis(100);
    let mut sent = Vec::new();
    for _ in 0..100 {
        bench.samples(1);
        let probes = bench.probes(1);
        if probes > 0 {
            sent.push((bench.now.since(suspended).as_millis(), probes));
        }
    }
    assert_eq!(sent, [(3000, 10), (6000, 10), (9000, 10)]);
    assert_eq!(bench.probes(0), 0);
}

/// Regression: a suspended path that became a backup was probed for as long as the connection.
#[test]
fn backup_at_rest_is_not_probed() {
    let mut bench = Bench::dre_1();
    assert_eq!(bench.samples(30), [(CELL, true)]);
    bench.now += Duration::from_secs(3);
    assert_eq!(bench.probes(1), 10);
    bench.paths[1].backup = true;
    bench.samples(1);
    bench.now += Duration::from_secs(6);
    assert_eq!(bench.probes(1), 0);
    bench.paths[1].backup = false;
    bench.samples(1);
    assert_eq!(bench.probes(1), 10);
}

#[test]
fn probe_that_finds_no_room_waits_and_does_not_add_up() {
    let mut bench = Bench::dre_1();
    bench.samples(30);
    bench.paths[1].window.inflight_segs = 100;
    bench.samples(70);
    assert_eq!(bench.probes(1), 0);
    bench.paths[1].window.inflight_segs = 0;
    assert_eq!(bench.probes(1), 10);
    bench.paths[1].queue.unsent_bytes = 1;
    bench.now += Duration::from_secs(60);
    assert_eq!(bench.probes(1), 0, "what was handed out before comes first");
}

#[test]
fn parameters_are_those_given() {
    let text = "mincontribution=0.01,interval=1s,period=200ms,window=200ms,probes=2,\
                probe-size=500B,probe-interval=500ms";
    let mut bench = Bench::with(text, vec![path(0, 50, 60_000), path(1, 1400, 30_000)]);
    let step = |bench: &mut Bench| {
        let changes = bench.review();
        bench.now += Duration::from_millis(200);
        changes
    };
    for _ in 0..20 {
        assert_eq!(step(&mut bench), [], "0.0179 is more than 0.01");
    }
    bench.paths[1].window.inflight_bytes = 10_000;
    for _ in 0..4 {
        assert_eq!(step(&mut bench), []);
    }
    assert_eq!(step(&mut bench), [(CELL, true)], "five samples are a second");
    bench.now += Duration::from_millis(500);
    assert_eq!(bench.policy.next_probe(bench.now, &bench.paths[1]), Some(500));
    bench.policy.on_probe_sent(CELL);
    bench.policy.on_probe_sent(CELL);
    assert_eq!(bench.policy.next_probe(bench.now, &bench.paths[1]), None);
}

#[test]
fn parameter_outside_its_range_names_range_and_paper() {
    let refused = |text| Settings::parse("drepas", PARAMETERS, text).unwrap_err().help;
    let share = refused("mincontribution=2");
    assert!(share.contains("from 0 to 1 (0.1 in 004 sV), as in `drepas:mincontribution=0.1`"));
    assert!(
        refused("interval=3")
            .ends_with("from 100ms to 60s (3s in 004 sV), as in `drepas:interval=3s`")
    );
    assert!(refused("probe-size=2KiB").contains("from 1B to 1400B (1KiB in 004 sV)"));
    assert!(refused("probes=-1").contains("a whole number from 0 to 100 (10 in 004 sV)"));
}

#[test]
fn deadline_is_that_of_the_next_sample_once_there_is_a_choice() {
    let mut bench = Bench::new(vec![path(0, 50, 60_000)]);
    bench.samples(3);
    assert_eq!(bench.policy.poll_timeout(), None);
    bench.paths.push(path(1, 1400, 0));
    bench.review();
    assert_eq!(bench.policy.poll_timeout(), Some(Instant::ZERO + Duration::from_millis(400)));
    bench.policy.on_path_added(WLAN);
    assert_eq!(bench.policy.poll_timeout(), None, "another path has that number");
}

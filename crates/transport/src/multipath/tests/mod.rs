//! The executor over a protocol made for it: scheduling, copies, fail-over, veto, probes, and why
//! nothing is sent.

mod fake;

use super::send_queue::SendQueue;
use super::*;
use crate::path_policy::PolicyChoice;
use crate::scheduler::{self, AnyScheduler, Decision, Options, PathState, Scheduler, View, What};
use base::{Blocked, Chance, Context, Instant, PathId, SocketId};
use fake::{Fake, SEGMENT};
use std::ops::Range;
use wire::Payload;

const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);

/// A connection over the protocol of `fake`.
struct Bench {
    sender: Sender,
    fake: Fake,
    now: Instant,
}

impl Bench {
    fn new(scheduler: &str, failover: Failover, paths: &[(u64, u64)]) -> Bench {
        Bench::with_policy(scheduler, "none", failover, paths)
    }

    fn with_policy(
        scheduler: &str,
        policy: &str,
        failover: Failover,
        paths: &[(u64, u64)],
    ) -> Bench {
        let mut sender = Sender::new(SenderConfig {
            socket: SocketId(0),
            scheduler: scheduler::by_name(scheduler, &Options::default()).expect("a name"),
            policy: policy.parse::<PolicyChoice>().expect("a name").make(),
            failover,
            one_at_a_time: false,
        });
        sender.queue.allow(0, 1 << 30);
        Bench { sender, fake: Fake::new(paths), now: Instant::ZERO }
    }

    fn write(&mut self, segments: u32) {
        let bytes = vec![7; (segments * SEGMENT) as usize];
        self.sender.queue.write(Payload::from(bytes));
        self.schedule();
    }

    /// A round, and what each path was given in it.
    fn schedule(&mut self) -> Vec<Vec<Range<u64>>> {
        let before: Vec<usize> = self.fake.paths.iter().map(|path| path.given.len()).collect();
        self.sender.set_due();
        let mut cx = Context::quiet(self.now, Chance::new(0, 0));
        if self.sender.begin_round(&mut cx, &mut self.fake) {
            while self.sender.dispatch(&mut cx, &mut self.fake) == Dispatched::Again {}
        }
        let since = self.fake.paths.iter().zip(before);
        since.map(|(path, before)| path.given[before..].to_vec()).collect()
    }

    /// The path acknowledges everything, the peer everything below `up_to`.
    fn acknowledge(&mut self, path: PathId, up_to: u64) {
        let path = &mut self.fake.paths[path.index()];
        path.una = path.given.len();
        self.sender.queue.on_ack(up_to, PathId(0));
        self.sender.restart_timer(self.now, &self.fake);
    }

    fn judge(&mut self, path: PathId, signs: Signs) {
        let cx = Context::quiet(self.now, Chance::new(0, 0));
        self.sender.judge(&cx, &mut self.fake, path, signs);
    }

    fn given(&self, path: PathId) -> u64 {
        let given = &self.fake.paths[path.index()].given;
        given.iter().map(|range| range.end - range.start).sum()
    }

    fn timer_ms(&self) -> u64 {
        (self.sender.timer_at() - Instant::ZERO).as_millis()
    }

    fn why_idle(&self) -> Blocked {
        self.sender.why_idle(&self.fake, true)
    }
}

const TIMED_OUT: Signs = Signs { timed_out: true, probed: false };

#[test]
fn windows_of_both_paths_are_filled_in_the_order_of_the_scheduler() {
    let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 3000), (50, 1500)]);
    bench.write(9);
    assert_eq!(bench.fake.paths[0].given, [0..1000, 1000..2000, 2000..3000]);
    assert_eq!(bench.fake.paths[1].given, [3000..4000, 4000..5000], "1500 take two of 1000");
    assert_eq!(bench.why_idle(), Blocked::CongestionWindow);
    bench.acknowledge(FAST, 3000);
    assert_eq!(bench.schedule(), [vec![5000..6000, 6000..7000, 7000..8000], vec![]]);
    assert_eq!(bench.sender.account(FAST).first_sent_bytes, 6000);
    assert_eq!(bench.sender.unsent(&bench.fake), 1000 + 500);
}

#[test]
fn longest_piece_of_the_protocol_bounds_a_grant() {
    let mut bench = Bench::new("linux", Failover::Rto, &[(10, 100_000), (50, 100_000)]);
    bench.fake.max_piece = SEGMENT;
    bench.write(20);
    let pieces = &bench.fake.paths[0].given;
    assert_eq!(pieces.len(), 20);
    assert!(pieces.iter().all(|piece| piece.end - piece.start == u64::from(SEGMENT)));
}

#[test]
fn redundant_data_are_on_every_path_unless_the_protocol_refuses_copies() {
    for vetoes in [false, true] {
        let mut bench = Bench::new("redundant", Failover::Rto, &[(10, 9000), (50, 9000)]);
        bench.fake.vetoes = vetoes;
        bench.write(4);
        // A refused copy ends the round.
        while bench.sender.queue.nxt() < 4000 {
            bench.schedule();
        }
        let both = (bench.given(FAST), bench.given(SLOW));
        assert_eq!(both.0 + both.1, if vetoes { 4000 } else { 8000 });
        let copied = if vetoes { 0 } else { 4000 };
        assert_eq!(bench.sender.queue.reinjected_bytes(), copied);
    }
}

#[test]
fn data_of_a_failed_path_go_on_the_other_one_unless_the_protocol_refuses() {
    for vetoes in [false, true] {
        let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 4000), (50, 9000)]);
        bench.write(4);
        bench.fake.vetoes = vetoes;
        bench.judge(FAST, TIMED_OUT);
        assert!(bench.sender.is_failed(FAST));
        let given = bench.schedule();
        let expected: &[Range<u64>] = &[0..1000, 1000..2000, 2000..3000, 3000..4000];
        assert_eq!(given[1], if vetoes { &[] } else { expected });
        if vetoes {
            assert_eq!(bench.why_idle(), Blocked::SchedulerWaits);
            continue;
        }
        assert_eq!(bench.sender.account(SLOW).reinjected_segs, 4);
        assert_eq!(bench.schedule(), [vec![], vec![]], "once");
        bench.acknowledge(FAST, 0);
        bench.judge(FAST, Signs::default());
        assert!(!bench.sender.is_failed(FAST), "progress brings it back");
    }
}

#[test]
fn unanswered_probe_fails_a_path_and_keep_alives_bring_it_back() {
    let mut bench = Bench::new("lrf", Failover::Probe, &[(10, 4000), (50, 9000)]);
    bench.write(4);
    bench.judge(FAST, Signs { probed: true, timed_out: false });
    let usable = |_| true;
    assert_eq!(bench.sender.watch_deadline(usable), Instant::from_millis(60));
    for at in [60, 1060] {
        bench.now = Instant::from_millis(at);
        let cx = Context::quiet(bench.now, Chance::new(0, 0));
        bench.sender.on_watch_timeout(&cx, &mut bench.fake);
    }
    assert!(bench.sender.is_failed(FAST));
    assert_eq!(bench.fake.prompts, [(FAST, Prompt::KeepAlive)]);
    bench.sender.on_arrival(bench.now, FAST);
    bench.judge(FAST, Signs::default());
    assert_eq!(bench.fake.prompts[1..], [(FAST, Prompt::Retransmission)]);
    bench.acknowledge(FAST, 4000);
    bench.judge(FAST, Signs::default());
    assert!(!bench.sender.is_failed(FAST));
}

/// Mainline's rule: the head goes on an idle path at each expiry of the data timer, and the path
/// fails after five silent intervals, if another path in use is not silent.
#[test]
fn stale_path_fails_after_five_silent_intervals() {
    let mut bench = Bench::new("linux", Failover::Stale, &[(10, 4000), (50, 9000)]);
    bench.write(4);
    bench.judge(FAST, TIMED_OUT);
    assert!(!bench.sender.is_failed(FAST), "a time-out alone changes nothing");
    let mut heads = Vec::new();
    for interval in 1..=5 {
        bench.now = bench.sender.timer_at();
        bench.sender.on_arrival(bench.now, SLOW);
        assert!(!bench.sender.is_failed(FAST), "{interval}");
        let before = bench.fake.paths[1].given.len();
        bench.sender.count_timeout(bench.now, &bench.fake);
        let cx = Context::quiet(bench.now, Chance::new(0, 0));
        bench.sender.on_data_timeout(&cx, &mut bench.fake);
        heads.extend(bench.fake.paths[1].given[before..].iter().cloned());
    }
    assert!(bench.sender.is_failed(FAST));
    let once = heads.iter().eq(&[Range { start: 0, end: 4000 }]);
    assert!(once, "afterwards that path has something outstanding: {heads:?}");
    let again = bench.schedule();
    assert!(again[1].iter().eq(&[Range { start: 0, end: 4000 }]), "wherever they are: {again:?}");
}

/// Regression: the head went on the other path twice, as an own copy and with all the data that
/// are sent again (Linux `mptcp_subflow_get_retrans`, which finds that path in use by then).
#[test]
fn head_goes_only_with_all_data_when_a_path_fails() {
    let mut bench = Bench::new("linux", Failover::Stale, &[(10, 4000), (50, 9000)]);
    bench.write(4);
    let mut copies = Vec::new();
    for _ in 0..5 {
        bench.now = bench.sender.timer_at();
        bench.sender.on_arrival(bench.now, SLOW);
        let before = bench.fake.paths[1].given.len();
        bench.fake.paths[1].una = before;
        bench.sender.count_timeout(bench.now, &bench.fake);
        let cx = Context::quiet(bench.now, Chance::new(0, 0));
        bench.sender.on_data_timeout(&cx, &mut bench.fake);
        copies.push(bench.fake.paths[1].given.len() - before);
    }
    assert!(bench.sender.is_failed(FAST));
    assert_eq!(copies, [1, 1, 1, 1, 0]);
    assert_eq!(bench.schedule()[1].len(), 1);
}

/// Regression: the interval was that of an earlier time, and data that were queued and not sent
/// counted, so that a head that waited for a slow path was not copied to an idle one (Linux
/// `ack_update_msk`, `__mptcp_subflow_push_pending`).
#[test]
fn data_timer_has_the_time_that_is_left_when_a_path_is_looked_for() {
    let mut bench = Bench::new("linux", Failover::Stale, &[(10, 9000), (50, 9000)]);
    bench.sender.queue = SendQueue::default();
    bench.sender.queue.allow(0, 6000);
    bench.write(12);
    assert_eq!(bench.timer_ms(), 200, "what was just given is not sent");
    bench.now = Instant::from_millis(20);
    bench.sender.queue.allow(3000, 6000);
    bench.acknowledge(FAST, 3000);
    assert_eq!(bench.timer_ms(), 220, "no timer runs");
    bench.schedule();
    bench.now = Instant::from_millis(40);
    bench.schedule();
    bench.acknowledge(SLOW, 4000);
    assert_eq!(bench.timer_ms(), 240, "no path is looked for while the window is closed");
    bench.sender.on_write();
    bench.schedule();
    bench.acknowledge(SLOW, 5000);
    assert_eq!(bench.timer_ms(), 60, "a write looks for one: its time-out is 20 ms");
}

/// Regression: the interval was that of before the round, so that data on a slow path were copied
/// to an idle one 145 ms later than Linux does.
#[test]
fn data_timer_has_the_time_that_is_left_when_the_last_data_are_given() {
    let mut bench = Bench::new("rr", Failover::Stale, &[(10, 9000), (50, 9000)]);
    bench.write(1);
    assert_eq!(bench.timer_ms(), 200, "what was just given is not sent");
    bench.acknowledge(FAST, 1000);
    bench.write(2);
    assert_eq!([bench.given(FAST), bench.given(SLOW)], [2000, 1000]);
    assert_eq!(bench.timer_ms(), 100, "the slow path was given data first, which are sent");
}

/// Regression: a DATA_ACK that was lost after the path had acknowledged everything was never asked
/// for, where no copy may be sent.
#[test]
fn lost_data_ack_is_asked_for_before_a_path_joined() {
    let mut bench = Bench::new("linux", Failover::Stale, &[(10, 9000)]);
    bench.fake.vetoes = true;
    bench.write(4);
    for is_acknowledged in [false, true] {
        if is_acknowledged {
            bench.fake.paths[0].una = bench.fake.paths[0].given.len();
        }
        bench.now = bench.sender.timer_at();
        bench.sender.count_timeout(bench.now, &bench.fake);
        let cx = Context::quiet(bench.now, Chance::new(0, 0));
        bench.sender.on_data_timeout(&cx, &mut bench.fake);
        let prompts: &[(PathId, Prompt)] =
            if is_acknowledged { &[(FAST, Prompt::Window)] } else { &[] };
        assert_eq!(bench.fake.prompts, prompts);
    }
    assert_eq!(bench.given(FAST), 4000, "no copy");
}

/// Regression: the window of the handshake, which no DATA_ACK accompanied, was taken for a promise:
/// a kernel dropped what was beyond the edge of its first DATA_ACK.
#[test]
fn first_data_ack_may_take_back_what_the_handshake_announced() {
    let mut queue = SendQueue::default();
    queue.allow_provisionally(6000);
    assert_eq!(queue.window_end(), 6000);
    queue.allow(100, 5000);
    assert_eq!(queue.window_end(), 5100);
    queue.allow(100, 4000);
    assert_eq!(queue.window_end(), 5100, "only the first one");
}

#[test]
fn data_timer_probes_a_closed_window_and_gives_up_after_fifteen_tries() {
    let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 4000), (50, 9000)]);
    bench.sender.queue = SendQueue::default();
    bench.write(4);
    assert_eq!(bench.why_idle(), Blocked::ReceiveWindow);
    for tries in 1..=16 {
        bench.now = bench.sender.timer_at();
        let gives_up = bench.sender.count_timeout(bench.now, &bench.fake);
        assert_eq!(gives_up, tries == 16);
        let cx = Context::quiet(bench.now, Chance::new(0, 0));
        assert!(bench.sender.on_data_timeout(&cx, &mut bench.fake));
    }
    assert_eq!(bench.fake.prompts, [(FAST, Prompt::Window); 16]);
    bench.sender.queue.allow(0, 500);
    bench.now = bench.sender.timer_at();
    let cx = Context::quiet(bench.now, Chance::new(0, 0));
    bench.sender.on_data_timeout(&cx, &mut bench.fake);
    let filled = std::iter::once(0..500);
    assert!(bench.fake.paths[0].given.iter().cloned().eq(filled), "less than a segment");
}

#[test]
fn head_goes_elsewhere_when_the_data_timer_expires() {
    let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 4000), (50, 9000)]);
    bench.write(4);
    bench.acknowledge(FAST, 1000);
    bench.now = bench.sender.timer_at();
    bench.sender.count_timeout(bench.now, &bench.fake);
    let cx = Context::quiet(bench.now, Chance::new(0, 0));
    assert!(!bench.sender.on_data_timeout(&cx, &mut bench.fake));
    assert_eq!(bench.schedule()[1], [1000..2000, 2000..3000, 3000..4000]);
}

#[test]
fn suspended_path_gets_probes_only() {
    let policy = "drepas:interval=100ms,probe-interval=100ms,probes=2,probe-size=500B";
    let paths = [(10, 50_000), (100, 50_000)];
    let mut bench = Bench::with_policy("lrf", policy, Failover::Rto, &paths);
    bench.write(20);
    while bench.now < Instant::from_millis(400) {
        bench.now += base::Duration::from_millis(10);
        bench.schedule();
    }
    assert!(bench.sender.is_probing(SLOW) && !bench.sender.is_probing(FAST));
    let probes = &bench.fake.paths[1].given;
    assert!(probes.len() >= 2 && probes.iter().all(|probe| probe.end - probe.start == 500));
    assert_eq!(bench.sender.queue.probe_bytes(), bench.given(SLOW));
    assert_eq!(probes[0].end, 20_000, "the newest data");
}

#[test]
fn path_that_ends_leaves_its_data_and_its_number() {
    let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 4000), (50, 9000)]);
    bench.write(4);
    bench.fake.paths[0].state = PathState::Closed;
    bench.sender.on_path_removed(bench.now, &bench.fake, FAST);
    assert_eq!(bench.schedule()[1].len(), 4);
    assert_eq!(bench.sender.take_account(FAST).first_sent_bytes, 4000);
    assert_eq!(bench.sender.account(FAST), PathAccount::default());
}

#[test]
fn reason_for_silence_is_named() {
    let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 4000), (50, 9000)]);
    assert_eq!(bench.why_idle(), Blocked::NothingToSend);
    bench.sender.queue.set_writer_waits(true);
    assert_eq!(bench.why_idle(), Blocked::SendBuffer);
    for path in &mut bench.fake.paths {
        path.state = PathState::Closed;
    }
    bench.write(1);
    assert_eq!(bench.why_idle(), Blocked::PathDown);
    bench.fake.is_over = true;
    assert_eq!(bench.schedule(), [vec![], vec![]]);
    assert_eq!(bench.sender.deadline(true), bench.sender.timer_at());
}

/// Sends the first segment again and again, whether the path has room or not: as often as this
/// says.
struct Copier(u32);

impl Scheduler for Copier {
    fn next(&mut self, view: &View<'_>) -> Decision {
        if view.offered().is_some() {
            return Decision::send(FAST, What::New, SEGMENT);
        }
        self.0 -= 1;
        match self.0 {
            0 => Decision::wait(Blocked::NothingToSend),
            _ => Decision::send(SLOW, What::Copy(0..u64::from(SEGMENT)), SEGMENT),
        }
    }
}

/// Regression: it was asked for ever, while the path's queue took all memory.
#[test]
fn scheduler_that_sends_copies_without_end_is_a_defect_with_a_name() {
    let run = |copies| {
        let mut bench = Bench::new("lrf", Failover::Rto, &[(10, 100), (20, 100)]);
        bench.sender.scheduler = AnyScheduler::Custom(Box::new(Copier(copies)));
        bench.write(1);
        bench.fake.paths[SLOW.index()].given.len()
    };
    assert_eq!(run(1000), 999);
    let defect = std::panic::catch_unwind(|| run(1 << 12)).expect_err("an end");
    let text = defect.downcast_ref::<String>().expect("a text");
    assert!(text.starts_with("the scheduler sends copies without end"), "{text}");
}

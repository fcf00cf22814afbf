//! What schedulers from outside may ask for: late and early binding, grants, copies, probes, a
//! timer. With any decisions, every byte arrives exactly once.

use crate::pair::{Pair, Path, Side};
use base::{Blocked, Duration, Instant, PathId};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use transport::mptcp::MptcpConfig;
use transport::scheduler::{
    Action, Bind, Custom, Decision, Lrf, Options, Scheduler, Step, View, What,
};
use transport::{InterfaceEvent, PathInfo};

const MSS: u32 = 1400;
const FAST: PathId = PathId(0);
const SLOW: PathId = PathId(1);

/// A scheduler that is a function.
struct Scripted<F>(F);

impl<F: FnMut(&View<'_>) -> Decision> Scheduler for Scripted<F> {
    fn next(&mut self, view: &View<'_>) -> Decision {
        (self.0)(view)
    }
}

/// A pair whose client schedules by `make()`, over a fast and a slow path.
fn pair_with<S: Scheduler + Send + 'static>(make: impl Fn() -> S + Send + Sync + 'static) -> Pair {
    let custom = Custom::new(move || Box::new(make()));
    let client = MptcpConfig { custom_scheduler: Some(custom), ..MptcpConfig::default() };
    let mut pair = Pair::new(&[Path::ms(5), Path::ms(20)], client, MptcpConfig::default());
    pair.finish = false;
    pair
}

/// Both subflows are there before anything is written.
fn joined<F>(decide: impl Fn() -> F + Send + Sync + 'static) -> Pair
where
    F: FnMut(&View<'_>) -> Decision + Send + 'static,
{
    let mut pair = pair_with(move || Scripted(decide()));
    open(&mut pair);
    pair
}

/// A byte shows the server that the client has its keys; the server's byte, that joins are
/// permitted.
fn open(pair: &mut Pair) {
    pair.ends[1].to_write = 1;
    pair.await_subflows(2);
    pair.pass(Duration::from_secs(1));
}

fn write(pair: &mut Pair, len: u64) {
    pair.ends[0].to_write += len;
}

fn delivered(pair: &mut Pair) -> [PathInfo; 2] {
    pair.run_until(Duration::from_secs(60), Pair::is_delivered);
    pair.info(Side::Client).paths.try_into().expect("two subflows")
}

fn send(path: PathId, what: What, bind: Bind, max_bytes: u32) -> Decision {
    Decision { actions: Vec::new(), step: Step::Send { path, what, bind, max_bytes } }
}

fn assign(range: std::ops::Range<u64>, path: PathId, revocable: bool) -> Action {
    Action::Assign { range, path, revocable }
}

/// Send what the path takes now of what is meant for it.
fn send_own(view: &View<'_>, path: PathId) -> Option<Decision> {
    let seen = view.path(path)?;
    let room = seen.free_segs() > 0 && seen.is_established();
    room.then(|| send(path, What::New, Bind::Now, MSS))
}

#[test]
fn data_go_to_the_path_they_are_meant_for() {
    let mut pair = joined(|| {
        |view: &View<'_>| {
            let Some(unsent) = view.data.unsent().next() else {
                return Decision::wait(Blocked::NothingToSend);
            };
            // The last quarter of the stream is meant for the slow path.
            let quarter = view.data.write_end * 3 / 4;
            let path = if unsent.start < quarter { FAST } else { SLOW };
            send_own(view, path)
                .unwrap_or(Decision::wait(Blocked::CongestionWindow))
                .with(assign(0..quarter, FAST, true))
                .with(assign(quarter..view.data.write_end, SLOW, true))
        }
    });
    write(&mut pair, 40_000);
    let [fast, slow] = delivered(&mut pair);
    assert_eq!([fast.first_sent_bytes, slow.first_sent_bytes], [30_000, 10_000]);
}

/// Linux pushes in the middle of each `sendmsg` (`__mptcp_push_pending`): a decision covers what
/// was written until then.
///
/// Regression: records of 16 KiB that were written one after the other went to one path, up to 64
/// KiB together; a page over HTTP/2 took 1.22 s where a kernel took 0.82.
#[test]
fn each_write_is_assigned_before_the_next_one() {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ends);
    let mut pair = joined(move || {
        let seen = Arc::clone(&seen);
        move |view: &View<'_>| {
            if view.data.write_end > view.data.snd_nxt {
                seen.lock().unwrap().push(view.data.write_end);
            }
            send_own(view, FAST).unwrap_or(Decision::wait(Blocked::CongestionWindow))
        }
    });
    let before = ends.lock().unwrap().len();
    for number in 0..2 {
        assert_eq!(pair.write_at_once(Side::Client, 3 * u64::from(MSS)), 3 * u64::from(MSS));
        let ends = &ends.lock().unwrap()[before..];
        let last = (number + 1) * 3 * u64::from(MSS);
        assert_eq!(ends.last(), Some(&last), "{ends:?}");
        assert!(ends.iter().filter(|end| **end == last).count() >= 3, "{ends:?}");
    }
    pair.run_until(Duration::from_secs(60), Pair::is_delivered);
}

#[test]
fn mark_that_is_taken_back_frees_the_data_for_others() {
    let marked = Arc::new(Mutex::new(0u64));
    let seen = Arc::clone(&marked);
    let mut pair = joined(move || {
        let seen = Arc::clone(&seen);
        let mut asked = 0;
        move |view: &View<'_>| {
            let range = view.data.snd_nxt..view.data.write_end;
            asked += 1;
            if asked == 1 {
                return Decision::wait(Blocked::SchedulerWaits).with(assign(range, SLOW, true));
            }
            *seen.lock().expect("nobody panicked") =
                view.path(SLOW).map_or(0, |path| path.queue.unsent_bytes);
            match asked {
                // Nothing is left for the fast path: a decision without effect ends the round.
                2 => send(FAST, What::New, Bind::Now, MSS),
                3 => Decision::wait(Blocked::SchedulerWaits).with(Action::Unassign { range }),
                _ => send_own(view, FAST).unwrap_or(Decision::wait(Blocked::CongestionWindow)),
            }
        }
    });
    write(&mut pair, 10_000);
    pair.settle();
    // What else happens has it asked again.
    for asked in 2..=3 {
        pair.ends[1].to_write += 1;
        pair.pass(Duration::from_millis(100));
        assert_eq!(
            *marked.lock().expect("nobody panicked"),
            10_000,
            "a mark counts as queued, {asked}"
        );
        assert_eq!(pair.info(Side::Client).snd_nxt, 0);
    }
    pair.ends[1].to_write += 1;
    let [fast, slow] = delivered(&mut pair);
    assert_eq!([fast.first_sent_bytes, slow.first_sent_bytes], [10_000, 0]);
}

/// The second half goes to the slow path at once, then the first half to the fast one.
fn early_halves() -> impl FnMut(&View<'_>) -> Decision + Send {
    |view: &View<'_>| {
        let (una, end) = (view.data.snd_una, view.data.write_end);
        let mut decision = match view.offered() {
            None => return Decision::wait(Blocked::NothingToSend),
            Some(offer) if offer.reinject => send(FAST, What::Reinject, Bind::Now, MSS),
            Some(_) => send_own(view, FAST).unwrap_or(Decision::wait(Blocked::CongestionWindow)),
        };
        if view.data.segments.is_empty() && end > una {
            decision = decision.with(assign(una + (end - una) / 2..end, SLOW, false));
        }
        decision
    }
}

#[test]
fn data_bound_before_their_turn_arrive_in_order() {
    let mut pair = joined(early_halves);
    write(&mut pair, 20_000);
    pair.settle();
    let info = pair.info(Side::Client);
    assert_eq!(info.paths[1].first_sent_bytes, 10_000, "at once");
    let [fast, slow] = delivered(&mut pair);
    assert_eq!([fast.first_sent_bytes, slow.first_sent_bytes], [10_000, 10_000]);
    assert_eq!(pair.info(Side::Client).reinjected_bytes, 0);
    pair.shutdown(Side::Client);
    pair.shutdown(Side::Server);
    pair.close();
}

#[test]
fn data_bound_to_a_path_that_goes_away_are_sent_again() {
    let mut pair = joined(early_halves);
    pair.paths[1].cut = true;
    write(&mut pair, 20_000);
    pair.settle();
    pair.pass(Duration::from_millis(1));
    pair.interface(Side::Client, 1, InterfaceEvent::Down);
    pair.run_until(Duration::from_secs(60), Pair::is_delivered);
    assert_eq!(pair.info(Side::Client).reinjected_bytes, 10_000);
}

#[test]
fn queue_takes_more_than_the_window_and_a_grant_does_not() {
    for bind in [Bind::Queue, Bind::Now] {
        let most = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&most);
        let mut pair = joined(move || {
            let seen = Arc::clone(&seen);
            move |view: &View<'_>| {
                let path = view.path(FAST).expect("a path");
                let mut most = seen.lock().expect("nobody panicked");
                *most = path.queue.unsent_bytes.max(*most);
                let full = path.is_window_full() && bind == Bind::Now;
                if view.offered().is_none() || full {
                    return Decision::wait(Blocked::CongestionWindow);
                }
                send(FAST, What::New, bind, 65_428)
            }
        });
        write(&mut pair, 60_000);
        let [fast, _] = delivered(&mut pair);
        assert_eq!(fast.first_sent_bytes, 60_000);
        let most = *most.lock().expect("nobody panicked");
        match bind {
            Bind::Queue => assert_eq!(most, 60_000, "all of it waits in the queue"),
            Bind::Now => assert!((1400..30_000).contains(&most), "{most}"),
        }
    }
}

/// The `linux` scheduler took a joined path for one that flushes at once until it had carried
/// something.
#[test]
fn joined_path_has_a_pacing_rate_before_anything_goes_over_it() {
    let rates = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&rates);
    let mut pair = joined(move || {
        let seen = Arc::clone(&seen);
        move |view: &View<'_>| {
            let rate = view.path(SLOW).and_then(|path| path.pacing_rate);
            seen.lock().expect("nobody panicked").push(rate);
            send_own(view, FAST).unwrap_or(Decision::wait(Blocked::CongestionWindow))
        }
    });
    write(&mut pair, 20_000);
    delivered(&mut pair);
    let rates = rates.lock().expect("nobody panicked");
    // Twice ten segments in 40 ms.
    assert!(rates.iter().all(|rate| rate.is_some_and(|rate| (600_000..750_000).contains(&rate))));
}

/// Sends every 300 ms only, and records its notifications.
struct Periodic {
    at: Option<Instant>,
    told: Arc<Mutex<(u32, u32)>>,
}

impl Scheduler for Periodic {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let at = *self.at.get_or_insert(view.now + Duration::from_millis(300));
        if view.now < at {
            return Decision::wait(Blocked::SchedulerWaits);
        }
        self.at = Some(view.now + Duration::from_millis(300));
        match view.offered() {
            Some(offer) if view.path(FAST).is_some_and(|path| view.fits_window(&offer, path)) => {
                send(FAST, What::New, Bind::Now, MSS)
            }
            Some(_) => Decision::wait(Blocked::ReceiveWindow),
            None => Decision::wait(Blocked::NothingToSend),
        }
    }

    fn heeds_acks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, view: &View<'_>, path: PathId) {
        assert!(view.path(path).is_some());
        self.told.lock().expect("nobody panicked").0 += 1;
    }

    fn on_window_blocked(&mut self, _view: &View<'_>) {
        self.told.lock().expect("nobody panicked").1 += 1;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.at
    }
}

#[test]
fn scheduler_with_a_period_is_asked_when_it_wants_to_be() {
    let told = Arc::new(Mutex::new((0, 0)));
    let noted = Arc::clone(&told);
    let mut pair = pair_with(move || Periodic { at: None, told: Arc::clone(&noted) });
    open(&mut pair);
    write(&mut pair, 5 * u64::from(MSS));
    let begun = pair.now;
    delivered(&mut pair);
    let took = pair.now - begun;
    assert!((Duration::from_millis(1500)..Duration::from_millis(1560)).contains(&took), "{took}");
    let (acks, blocked) = *told.lock().expect("nobody panicked");
    assert!(acks >= 5, "{acks}");
    assert_eq!(blocked, 0);
    pair.set_reading(Side::Server, false);
    write(&mut pair, 10 << 20);
    pair.pass(Duration::from_secs(300));
    assert!(told.lock().expect("nobody panicked").1 > 0, "told that the window is full");
}

/// Decides at random for a while, then in earnest.
struct Random {
    state: u64,
    left: u32,
    lrf: Lrf,
    /// It may wait when nothing else would happen.
    at: Option<Instant>,
}

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 33) % bound.max(1)
    }

    fn range(&mut self, view: &View<'_>) -> std::ops::Range<u64> {
        let from = view.data.snd_una.saturating_sub(1000);
        let start = from + self.below(view.data.write_end + 2000 - from);
        start..start + self.below(30_000)
    }

    fn action(&mut self, view: &View<'_>) -> Action {
        let path = PathId(self.below(4) as u8);
        match self.below(4) {
            0 => Action::Unassign { range: self.range(view) },
            1 => Action::ForgetPaths { range: self.range(view) },
            2 => assign(self.range(view), path, false),
            _ => assign(self.range(view), path, true),
        }
    }
}

impl Scheduler for Random {
    fn poll_timeout(&self) -> Option<Instant> {
        self.at
    }

    fn next(&mut self, view: &View<'_>) -> Decision {
        self.at = (self.left > 0).then_some(view.now + Duration::from_millis(10));
        if self.left == 0 {
            let everything = Action::Unassign { range: 0..u64::MAX };
            return self.lrf.next(view).with(everything);
        }
        self.left -= 1;
        let path = PathId(self.below(3) as u8);
        let what = match self.below(6) {
            0 => What::Reinject,
            1 => What::Copy(self.range(view)),
            2 => What::Probe,
            _ => What::New,
        };
        let bind = if self.below(3) == 0 { Bind::Queue } else { Bind::Now };
        let max_bytes =
            1 + self.below(if self.left.is_multiple_of(4) { 70_000 } else { 3000 }) as u32;
        let mut decision = match self.below(8) {
            0 => Decision::wait(Blocked::SchedulerWaits),
            _ => send(path, what, bind, max_bytes),
        };
        for _ in 0..self.below(3) {
            decision = decision.with(self.action(view));
        }
        decision
    }
}

proptest! {
    #![proptest_config(crate::cases(64))]

    #[test]
    fn whatever_is_decided_bytes_arrive_once(
        seed in any::<u64>(),
        left in 0u32..400,
        size in 1u64..300_000,
        checksum in any::<bool>(),
        loss in prop_oneof![Just(0.0), 0.0..0.03],
        cut in prop::option::of((0usize..3, 1u64..300, 1u64..5000)),
    ) {
        let lrf = || Lrf::new(&Options::default());
        let make = move || Random { state: seed, left, lrf: lrf(), at: None };
        let config = MptcpConfig {
            custom_scheduler: Some(Custom::new(move || Box::new(make()))),
            checksum,
            ..MptcpConfig::default()
        };
        let path = |delay| Path { loss, ..Path::ms(delay) };
        let paths = [path(5), path(20), path(60)];
        let mut pair = Pair::with_seed(&paths, config.clone(), config, seed);
        (pair.ends[0].to_write, pair.ends[1].to_write) = (size, size);
        if let Some((path, after, span)) = cut {
            pair.pass(Duration::from_millis(after));
            pair.paths[path].cut = true;
            pair.pass(Duration::from_millis(span));
            pair.paths[path].cut = false;
        }
        pair.run_until(Duration::from_secs(900), Pair::is_delivered);
        pair.close();
    }
}

/// A scheduler without explanations.
struct Silent(Lrf);

impl Scheduler for Silent {
    fn next(&mut self, view: &View<'_>) -> Decision {
        self.0.next(view)
    }

    fn explain(&self, _view: &View<'_>) -> Option<base::decision::Explanation> {
        unreachable!("no recorder wants decisions")
    }
}

#[test]
fn scheduler_is_not_asked_for_reasons_that_nobody_wants() {
    let mut pair = pair_with(|| Silent(Lrf::new(&Options::default())));
    open(&mut pair);
    write(&mut pair, 100_000);
    delivered(&mut pair);
}

/// Regression: such a scheduler was asked for ever, within one call of the stack.
#[test]
#[should_panic(expected = "the scheduler sends copies without end: 1048576 in one round")]
fn scheduler_that_sends_copies_without_end_is_a_defect_with_a_name() {
    let mut pair = joined(|| {
        let mut left = 3 << 20;
        move |view: &View<'_>| {
            left -= 1;
            match view.data.snd_una..view.data.snd_una + u64::from(MSS) {
                _ if left <= 0 => Decision::wait(Blocked::NothingToSend),
                _ if view.offered().is_some() => send(FAST, What::New, Bind::Now, MSS),
                first => send(SLOW, What::Copy(first), Bind::Now, MSS),
            }
        }
    });
    write(&mut pair, 2 * u64::from(MSS));
    delivered(&mut pair);
}

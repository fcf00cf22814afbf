//! Under all events of a connection: no scheduler sends beyond the window or on a path that cannot
//! (the model checks every answer), and none rests while it has a path and data.

use super::roomiest::Roomiest;
use super::support::{MSS, Model, path};
use crate::scheduler::*;
use base::{Blocked, Duration};
use proptest::prelude::*;

/// Something happens: what, to which path, how much.
type Op = (u8, usize, u32);

fn apply(model: &mut Model, scheduler: &mut AnyScheduler, (what, index, amount): Op) {
    let index = index % model.paths.len();
    let id = model.paths[index].id;
    let path = &mut model.paths[index];
    match what {
        0 => model.write_end += u64::from(amount) * 97,
        1 => model.window = u64::from(amount) * 500,
        2 => path.window.cwnd_segs = amount / 4 + 1,
        3 => path.backup = !path.backup,
        4 => {
            path.state = match path.state {
                PathState::Open => PathState::PotentiallyFailed,
                _ => PathState::Open,
            };
            if !path.is_open() {
                model.reinject_all_of(id);
            }
        }
        5 => path.throttled = !path.throttled,
        6 => path.loss = if amount % 2 == 0 { LossPhase::Timeout } else { LossPhase::Open },
        7 => path.window.send_window_bytes = u64::from(amount) * 200,
        8 => path.probing = !path.probing,
        9 => model.sndbuf_limited = !model.sndbuf_limited,
        10 => model.reinject = model.segments.iter().map(|s| s.offset..s.end()).collect(),
        11 => model.foreign[index] = u64::from(amount % 3) * u64::from(MSS),
        12 => {
            model.replace(index);
            scheduler.on_path_changed(id, PathChange::Removed);
            scheduler.on_path_changed(id, PathChange::Added);
        }
        13 => path.rtt.srtt = Duration::from_millis(u64::from(amount)),
        14 => path.window.ssthresh_segs = (amount % 3 > 0).then_some(amount / 8),
        15 => model.now += Duration::from_millis(u64::from(amount)),
        16 => model.peer_closed = !model.peer_closed,
        _ => {
            model.acknowledge_one_on(id.0);
            if scheduler.heeds_acks() {
                scheduler.on_ack(&model.view(), id);
            }
        }
    }
    if matches!(what, 3 | 4) {
        scheduler.on_path_changed(id, PathChange::State);
    }
    model.drain(index);
    model.refresh(index);
    for range in &mut model.reinject {
        range.start = range.start.max(model.snd_una);
    }
}

/// The rule of work-conserving schedulers: they rest only if no path could take the offer. LRF
/// alone may leave a reinjection to a path it was not on that will open soon, a backup even.
/// Where each path walks the stream at its own speed, what it has to send next may be longer than
/// the offer.
fn has_reason_to_wait(model: &Model, each_at_its_own_speed: bool) -> bool {
    let view = model.view();
    let Some(offer) = view.offered() else { return true };
    let has_active = view.has_active(&offer);
    let could = |path: &PathView| {
        path.is_available(&offer)
            && (!each_at_its_own_speed || path.window.send_window_bytes >= u64::from(MSS))
            && (path.is_active() || !has_active)
            && (offer.reinject || view.fits_window(&offer, path))
    };
    let opens_soon = |path: &PathView| {
        !offer.paths.contains(path.id)
            && !path.is_definitely_unavailable(&offer)
            && path.is_temporarily_unavailable(&offer)
    };
    let is_patient = offer.reinject && view.paths.iter().any(opens_soon);
    is_patient || !view.paths.iter().any(could)
}

/// Those that send whenever a path has room; the others may leave it unused, or queue beyond it.
fn work_conserving() -> Vec<AnyScheduler> {
    let rr = |num_segments, weights: &[u32]| {
        let turns = Turns { num_segments, weights: weights.to_vec(), ..Turns::default() };
        AnyScheduler::Rr(RoundRobin::new(turns))
    };
    let named = ["lrf", "redundant"].map(|name| by_name(name, &Options::default()).unwrap());
    named.into_iter().chain([rr(1, &[]), rr(2, &[1, 3]), rr(u32::MAX, &[])]).collect()
}

/// Every name of the table, and parameters that change much.
fn schedulers() -> impl Iterator<Item = (&'static str, AnyScheduler)> {
    let more = [
        "ecf:beta=4,sigma=0",
        "blest-kernel:app-aware=1",
        "daps:round-delay=1,smooth-cwnd=0",
        "daps:optim=0,in-ss=0",
        "otias:optim=2",
        "otias:floor=1",
        "linux:burst=2000",
        "sttf:tolerance=0,srtt=1",
        "sttf:alpha=0,reset=0.1",
        "sttf:tolerance=100000,optim=2",
        "xlink:factor=0,lower-bound=1ms",
        "raven:width=0.1",
        "lrf:reinjection=nsdi12",
        "lrf:reinjection=off",
        "ecf:reinjection=p004",
        "blest:reinjection=conext13",
        "rr:reinjection=kernel",
        "wrr:3,1,reinjection=nsdi12",
        "redundant:reinjection=retrans-only",
        "linux:reinjection=conext13",
        "daps:reinjection=kernel",
        "otias:reinjection=nsdi12",
    ];
    let names = NAMES.iter().map(|(name, ..)| *name).chain(more);
    let named = |name| (name, by_name(name, &Options::default()).expect("a name of the table"));
    names.map(named).chain([("roomiest", AnyScheduler::Custom(Box::new(Roomiest)))])
}

/// The event that a scheduler waits for by its own choice will come: some path is not open to the
/// offer now, or has something under way.
fn waits_for_something(model: &Model) -> bool {
    let view = model.view();
    let Some(offer) = view.offered() else { return false };
    view.paths.iter().any(|path| {
        let may = !path.is_definitely_unavailable(&offer);
        let has_more = path.queue.outstanding_bytes > 0 || path.queue.unsent_bytes > 0;
        may && (path.is_temporarily_unavailable(&offer) || has_more)
    })
}

/// Nothing blocks paths any more, and the last usable one must carry everything.
fn heal(model: &mut Model, scheduler: &mut AnyScheduler, keep: usize) {
    model.window = 1 << 20;
    model.sndbuf_limited = false;
    for index in 0..model.paths.len() {
        model.foreign[index] = 0;
        let path = &mut model.paths[index];
        (path.throttled, path.backup, path.loss) = (false, false, LossPhase::Open);
        (path.window.send_window_bytes, path.queue.limit_bytes) = (1 << 30, 100_000);
        (path.probing, path.state) = (false, PathState::Open);
        scheduler.on_path_changed(path.id, PathChange::State);
        model.drain(index);
        model.refresh(index);
    }
    let keep = keep % model.paths.len();
    for index in (0..model.paths.len()).filter(|index| *index != keep) {
        model.replace(index);
        model.paths[index].state = PathState::Closed;
        scheduler.on_path_changed(model.paths[index].id, PathChange::Removed);
    }
}

/// Asks as often as the scheduler says it would decide the same, with what the executor would
/// change in between. How often that was; `Err` if it decides otherwise.
fn repeat(model: &Model, scheduler: &mut AnyScheduler) -> Result<u64, Decision> {
    let (mut view, mut paths) = (model.view(), model.paths.clone());
    let Some(offer) = view.offered().filter(|offer| !offer.reinject) else { return Ok(0) };
    let (Offer { offset, end, .. }, window_end) = (offer, view.data.window_end);
    let run = scheduler.next_run(&paths, &NewData { offset, end, window_end });
    let Some(Run { path, max_bytes, times, fills_windows }) = run else { return Ok(0) };
    for place in 0..times + u64::from(fills_windows) {
        let decision = scheduler.next(&View { paths: &paths, ..view.clone() });
        let expected = match place < times {
            true => Decision::send(path, What::New, max_bytes),
            false => Decision::wait(Blocked::CongestionWindow),
        };
        if decision != expected {
            return Err(decision);
        }
        view.data.snd_nxt += u64::from(max_bytes);
        let changed = paths.iter_mut().find(|view| view.id == path).expect("it is in the view");
        changed.queue.unsent_bytes += u64::from(max_bytes);
        let left = changed.window.send_window_bytes;
        changed.window.send_window_bytes = left.saturating_sub(u64::from(max_bytes));
    }
    Ok(times)
}

#[test]
fn lrf_repeats_its_decision_until_a_window_is_full() {
    let mut lrf = by_name("lrf", &Options::default()).expect("a name of the table");
    let mut times = |inflight, segments, window| {
        let paths = vec![path(0, 10, 10, inflight), path(1, 50, 10, 0)];
        let mut model = Model::new(paths, segments);
        model.window = window * u64::from(MSS);
        repeat(&model, &mut lrf).expect("the same decision")
    };
    assert_eq!(times(6, 20, 100), 5, "one more may wait behind the window");
    assert_eq!(times(6, 20, 3), 3, "the connection's window");
    assert_eq!(times(6, 3, 100), 3, "everything that was written");
    assert_eq!(times(0, 20, 100), 1, "an idle path restarts its window first");
    assert_eq!(times(6, 20, 0), 0, "nothing fits");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn answers_keep_the_rules(
        paths in prop::collection::vec((0..300u64, 1..20u32), 1..5),
        ops in prop::collection::vec((0..30u8, 0..4usize, 0..400u32), 1..80),
    ) {
        for mut scheduler in work_conserving() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| path(id as u8 * 2, *srtt, *cwnd, 0));
            let mut model = Model::new(paths.collect(), 20);
            for op in &ops {
                apply(&mut model, &mut scheduler, *op);
                let why = model.push(&mut scheduler);
                let redundant = matches!(scheduler, AnyScheduler::Redundant(_));
                prop_assert!(has_reason_to_wait(&model, redundant), "{why:?}");
                let nothing = matches!(why, Blocked::NothingToSend | Blocked::SendBuffer);
                prop_assert_eq!(nothing, model.view().offered().is_none());
                let patient = model.view().offered().is_some_and(|offer| offer.reinject);
                prop_assert!(patient || why != Blocked::SchedulerWaits);
            }
        }
    }

    #[test]
    fn repetitions_are_decided_the_same(
        paths in prop::collection::vec((0..300u64, 1..20u32), 1..5),
        ops in prop::collection::vec((0..30u8, 0..4usize, 0..400u32), 1..80),
    ) {
        for (name, mut scheduler) in schedulers() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| path(id as u8 * 2, *srtt, *cwnd, 0));
            let mut model = Model::new(paths.collect(), 20);
            for op in &ops {
                apply(&mut model, &mut scheduler, *op);
                let mut fresh = by_name(name, &Options::default());
                if let Some(fresh) = &mut fresh {
                    prop_assert!(repeat(&model, fresh).is_ok(), "{name}");
                }
                model.push(&mut scheduler);
            }
        }
    }

    /// The model checks every answer. After any events, everything arrives over the one path that
    /// is left, so no wait outlasts what it waits for.
    #[test]
    fn everything_arrives_while_one_path_lives(
        paths in prop::collection::vec((0..300u64, 1..20u32), 1..5),
        ops in prop::collection::vec((0..30u8, 0..4usize, 0..400u32), 1..60),
        keep in 0..4usize,
    ) {
        for (name, mut scheduler) in schedulers() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| {
                let mut path = path(id as u8 * 2, *srtt, *cwnd, 0);
                path.pacing_rate = (*srtt > 0).then(|| u64::from(*cwnd) * 2_856_000 / srtt);
                path.queue.limit_bytes = cwnd * 10_000;
                path
            });
            let mut model = Model::new(paths.collect(), 20);
            for op in &ops {
                apply(&mut model, &mut scheduler, *op);
                let why = model.push(&mut scheduler);
                let nothing = matches!(why, Blocked::NothingToSend | Blocked::SendBuffer);
                prop_assert_eq!(nothing, model.view().offered().is_none(), "{}", name);
                let chooses = why == Blocked::SchedulerWaits;
                prop_assert!(!chooses || waits_for_something(&model), "{}", name);
            }
            heal(&mut model, &mut scheduler, keep);
            model.run(&mut scheduler);
            prop_assert_eq!(model.snd_una, model.write_end, "{}: {:?}", name, model.view());
        }
    }

    /// Against the rule as 002 writes it.
    #[test]
    fn lrf_takes_the_lowest_rtt_with_room(
        paths in prop::collection::vec((1..6u64, 1..4u32, 0..4u32, any::<bool>()), 1..6),
    ) {
        let paths: Vec<PathView> = (0..)
            .zip(paths)
            .map(|(id, (srtt, cwnd, inflight, failed))| {
                let state = if failed { PathState::PotentiallyFailed } else { PathState::Open };
                PathView { state, ..path(id, srtt * 10, cwnd, inflight) }
            })
            .collect();
        let mut expected: Option<&PathView> = None;
        for path in paths.iter().filter(|path| path.is_open() && path.free_segs() > 0) {
            if expected.is_none_or(|best| path.rtt.srtt < best.rtt.srtt) {
                expected = Some(path);
            }
        }
        let expected = expected.map(|path| path.id.0);
        let mut model = Model::new(paths.clone(), 1);
        model.step(&mut by_name("lrf", &Options::default()).unwrap());
        prop_assert_eq!(model.sent.first().copied(), expected);
    }

    /// Without a limit everything arrives, each byte first sent once, on one path or several.
    #[test]
    fn everything_is_sent_once(
        paths in prop::collection::vec((1..300u64, 1..20u32), 1..5),
        segments in 1..60u64,
    ) {
        for (name, mut scheduler) in schedulers() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| path(id as u8, *srtt, *cwnd, 0));
            let mut model = Model::new(paths.collect(), segments);
            model.run(&mut scheduler);
            prop_assert_eq!(model.snd_una, model.write_end, "{}", name);
            prop_assert!(model.completion.is_some());
            let copies = scheduler.makes_copies();
            // Grants of `linux` end with fragments of 32,728 bytes, inside of segments.
            let grants = name.starts_with("linux");
            let cut = if grants { segments * u64::from(MSS) / 32_728 } else { 0 };
            let sent = model.sent.len() as u64;
            prop_assert!(copies || (segments..=segments + cut).contains(&sent), "{}", name);
        }
    }
}

//! Whatever happens to a connection: no scheduler sends beyond the window or on a path that
//! cannot (the model checks every answer), and none rests while it has a path and data.

use super::support::{MSS, Model, path};
use crate::scheduler::*;
use base::{Blocked, CaState};
use proptest::prelude::*;

/// Something happens: what, to which path, how much.
type Op = (u8, usize, u32);

fn apply(model: &mut Model, (what, index, amount): Op) {
    let index = index % model.paths.len();
    let id = model.paths[index].id.0;
    let path = &mut model.paths[index];
    match what {
        0 => model.write_end += u64::from(amount) * 97,
        1 => model.window = u64::from(amount) * 500,
        2 => path.cwnd_segs = amount / 4 + 1,
        3 => path.backup = !path.backup,
        4 => path.pf = !path.pf,
        5 => path.tsq_throttled = !path.tsq_throttled,
        6 => path.ca_state = if amount % 2 == 0 { CaState::Loss } else { CaState::Open },
        7 => path.window_left_bytes = u64::from(amount) * 200,
        8 => path.probing = !path.probing,
        9 => model.sndbuf_limited = !model.sndbuf_limited,
        10 => model.reinject = model.segments.iter().map(|s| s.offset..s.end()).collect(),
        11 => path.unsent_bytes = u64::from(amount % 3) * u64::from(MSS),
        _ => model.acknowledge_one_on(id),
    }
    for range in &mut model.reinject {
        range.start = range.start.max(model.snd_una);
    }
}

/// The rule of work-conserving schedulers: they rest only if no path could take the offer. LRF
/// alone may leave a reinjection to a path it was not on that will open soon, a backup even.
fn has_reason_to_wait(model: &Model) -> bool {
    let view = model.view();
    let Some(offer) = view.offered() else { return true };
    let has_active = view.has_active(&offer);
    let could = |path: &PathView| {
        path.is_available(&offer)
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

fn schedulers() -> Vec<AnyScheduler> {
    let rr = |num_segments, weights: &[u32]| {
        let turns = Turns { num_segments, weights: weights.to_vec(), ..Turns::default() };
        AnyScheduler::Rr(RoundRobin::new(turns))
    };
    let named = ["lrf", "redundant"].map(|name| by_name(name, &Options::default()).unwrap());
    named.into_iter().chain([rr(1, &[]), rr(2, &[1, 3]), rr(u32::MAX, &[])]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn answers_keep_the_rules(
        paths in prop::collection::vec((0..300u64, 1..20u32), 1..5),
        ops in prop::collection::vec((0..24u8, 0..4usize, 0..400u32), 1..80),
    ) {
        for mut scheduler in schedulers() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| path(id as u8 * 2, *srtt, *cwnd, 0));
            let mut model = Model::new(paths.collect(), 20);
            for op in &ops {
                apply(&mut model, *op);
                let why = model.push(&mut scheduler);
                prop_assert!(has_reason_to_wait(&model), "{why:?}");
                let nothing = matches!(why, Blocked::NothingToSend | Blocked::SendBuffer);
                prop_assert_eq!(nothing, model.view().offered().is_none());
                let patient = model.view().offered().is_some_and(|offer| offer.reinject);
                prop_assert!(patient || why != Blocked::SchedulerWaits);
            }
        }
    }

    /// Against the rule as 002 writes it.
    #[test]
    fn lrf_takes_the_lowest_rtt_with_room(
        paths in prop::collection::vec((1..6u64, 1..4u32, 0..4u32, any::<bool>()), 1..6),
    ) {
        let paths: Vec<PathView> = (0..)
            .zip(paths)
            .map(|(id, (srtt, cwnd, inflight, pf))| {
                PathView { pf, ..path(id, srtt * 10, cwnd, inflight) }
            })
            .collect();
        let mut expected: Option<&PathView> = None;
        for path in paths.iter().filter(|path| !path.pf && path.inflight_segs < path.cwnd_segs) {
            if expected.is_none_or(|best| path.srtt < best.srtt) {
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
        for mut scheduler in schedulers() {
            let paths = paths.iter().enumerate();
            let paths = paths.map(|(id, (srtt, cwnd))| path(id as u8, *srtt, *cwnd, 0));
            let mut model = Model::new(paths.collect(), segments);
            model.run(&mut scheduler);
            prop_assert_eq!(model.snd_una, model.write_end);
            prop_assert!(model.completion.is_some());
            let copies = matches!(scheduler, AnyScheduler::Redundant(_));
            prop_assert!(copies || model.sent.len() as u64 == segments);
        }
    }
}

//! BLEST: blocking estimation, in the paper's form and in the kernel's.
//!
//! Decision rule (002 sIV-A, kernel v0.95 `mptcp_blest.c`): where the fastest path `F` is full and
//! LRF would take `S`, estimate the bytes `X` that `F` could send while a segment is under way on
//! `S`; if `X * lambda` and what `S` carries exceed the connection's whole send window `SW`, wait
//! for `F`. Paper: `rtts = RTT_S / RTT_F`, `X = MSS_F (CWND_F + (rtts - 1) / 2) rtts`, against
//! `SW - MSS_S (inflight_S + 1)`. Kernel: the time on `S` from its extreme RTTs and how full it is,
//! rounds on `F` by its mean RTT, doubling windows while its threshold is infinite, against
//! `SW - len - outstanding_S`. `lambda` grows when the window or the send buffer blocked, otherwise
//! it shrinks: once per RTT of `F` (paper) or smallest RTT of `S` (kernel). Added here: `F` is a
//! backup only where all are (the kernel's fast backup would stop an active path for ever),
//! reinjections follow LRF, and `lambda` is constant until the first period is over. `app_aware=1`
//! counts for `F` at most the data that are there to be sent.

use super::lrf::{self, Choice, choose};
use super::opportunistic::OpportunisticRetransmission;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow};
use crate::parameters::{Kind, Parameter, Refused, Settings};
use crate::reinjection::Opportunistic;
use base::decision::{Explanation, Test, Unit};
use base::{Duration, Instant, PathId};

/// The parameters of the paper's form. 002 names neither a step nor bounds of `lambda`: the
/// kernel's.
const PAPER: &[Parameter] = &[
    lambda(1.0, "002"),
    share("delta", "step of lambda", 0.01, "the kernel of 002, which names none"),
    bound("min", "smallest lambda", 1.0),
    bound("max", "largest lambda", 1.3),
    APP_AWARE,
];

/// The parameters of the kernel's form.
const KERNEL: &[Parameter] = &[
    lambda(1.2, "multipath-tcp kernel v0.95"),
    share("bad", "step of lambda after blocking", 0.04, "multipath-tcp kernel v0.95"),
    share("good", "step of lambda without blocking", 0.01, "multipath-tcp kernel v0.95"),
    bound("min", "smallest lambda", 1.0),
    bound("max", "largest lambda", 1.3),
    APP_AWARE,
];

const APP_AWARE: Parameter = Parameter {
    key: "app-aware",
    about: "1: limit the estimate for the fast path to the data to be sent",
    least: 0.0,
    most: 1.0,
    default: 0.0,
    kind: Kind::Whole,
    source: "002",
};

const fn lambda(default: f64, source: &'static str) -> Parameter {
    let about = "initial lambda";
    Parameter { key: "lambda", about, least: 0.5, most: 4.0, default, kind: Kind::Real, source }
}

const fn share(
    key: &'static str,
    about: &'static str,
    default: f64,
    source: &'static str,
) -> Parameter {
    Parameter { key, about, least: 0.0, most: 1.0, default, kind: Kind::Real, source }
}

const fn bound(key: &'static str, about: &'static str, default: f64) -> Parameter {
    let source = "multipath-tcp kernel v0.95";
    Parameter { key, about, least: 0.5, most: 4.0, default, kind: Kind::Real, source }
}

/// Largest number of rounds of doubling that are predicted (kernel v0.95).
const MOST_DOUBLINGS: u64 = 16;

/// Which of the two rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Paper,
    Kernel,
}

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "blest",
    about: "Blocking estimation: skips a slow path whose segment would block the fast path.",
    source: "002 sIV-A",
    parameters: PAPER,
    own_reinjection: Some(Opportunistic::RetransOnly),
    make: |options, asked| AnyScheduler::Blest(Blest::new(Form::Paper, options, &asked.settings)),
};

/// The line of the kernel's form in the table.
pub(super) const KERNEL_ROW: SchedulerRow = SchedulerRow {
    name: "blest-kernel",
    about: "BLEST as in the kernel, slow start included.",
    source: "multipath-tcp kernel v0.95 `blest`",
    parameters: KERNEL,
    own_reinjection: Some(Opportunistic::Kernel),
    make: |options, asked| AnyScheduler::Blest(Blest::new(Form::Kernel, options, &asked.settings)),
};

/// Blocking estimation.
#[derive(Clone, Debug)]
pub struct Blest {
    form: Form,
    lambda: Lambda,
    app_aware: bool,
    kernel_compat: bool,
    /// By path number: smallest and largest smoothed RTT seen, in microseconds.
    extremes: Vec<Option<(u64, u64)>>,
    opportunistic: OpportunisticRetransmission,
}

/// Refuses bounds of `lambda` in the wrong order, and an initial value outside of them, which the
/// first step would replace.
pub(super) fn check(name: &str, settings: &Settings) -> Result<(), Refused> {
    let [lambda, min, max] = ["lambda", "min", "max"].map(|key| settings.number(key));
    if min > max {
        let problem = format!("`min` of `{name}` is {min}, and `max` is {max}");
        return Err(Refused { problem, help: "the smallest lambda comes first".to_owned() });
    }
    let (key, bound, relation) = match lambda {
        _ if lambda < min => ("min", min, "less"),
        _ if lambda > max => ("max", max, "more"),
        _ => return Ok(()),
    };
    let problem = format!("`lambda` of `{name}` is {lambda}, {relation} than its `{key}`, {bound}");
    let help = format!("set both, as in `{name}:lambda={lambda},{key}={lambda}`");
    Err(Refused { problem, help })
}

/// The factor `lambda`, in thousandths.
#[derive(Clone, Copy, Debug)]
struct Lambda {
    value: u64,
    bad: u64,
    good: u64,
    min: u64,
    max: u64,
    /// The window or the send buffer blocked since the last step.
    blocked: bool,
    stepped_at: Option<Instant>,
}

impl Lambda {
    fn new(form: Form, settings: &Settings) -> Self {
        debug_assert!(check(ROW.name, settings).is_ok(), "{settings:?}");
        let (bad, good) = match form {
            Form::Paper => ("delta", "delta"),
            Form::Kernel => ("bad", "good"),
        };
        let (min, max) = (settings.thousandths("min"), settings.thousandths("max"));
        Lambda {
            value: settings.thousandths("lambda"),
            bad: settings.thousandths(bad),
            good: settings.thousandths(good),
            min,
            max,
            blocked: false,
            stepped_at: None,
        }
    }

    /// Adapts `lambda` if a period is over.
    fn on_decision(&mut self, now: Instant, period: Duration) {
        let since = *self.stepped_at.get_or_insert(now);
        if now - since >= period && now > since {
            self.stepped_at = Some(now);
            self.step();
        }
    }

    fn step(&mut self) {
        let value = match std::mem::take(&mut self.blocked) {
            true => self.value + self.bad,
            false => self.value.saturating_sub(self.good),
        };
        self.value = value.clamp(self.min, self.max);
    }
}

/// Both sides of the rule, in bytes.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// What the fast path could send, times `lambda`.
    fast_bytes: u128,
    /// What the slow path's segment leaves of the connection's window.
    left: u64,
}

impl Estimate {
    /// A segment on the slow path would take window that the fast one needs meanwhile.
    fn blocks(&self) -> bool {
        self.fast_bytes > u128::from(self.left)
    }

    fn test(&self) -> Test {
        Test {
            left: ("fastest could send", self.fast_bytes as f64),
            right: ("window left beside the slower", self.left as f64),
            unit: Unit::Bytes,
            order: self.fast_bytes.cmp(&u128::from(self.left)),
        }
    }
}

impl Blest {
    /// With the switches that concern it, `kernel_compat` and `opportunistic`, and its parameters.
    pub fn new(form: Form, options: &Options, settings: &Settings) -> Self {
        Blest {
            form,
            lambda: Lambda::new(form, settings),
            app_aware: settings.is_on("app-aware"),
            kernel_compat: options.kernel_compat,
            extremes: Vec::new(),
            opportunistic: OpportunisticRetransmission::new(
                options.opportunistic.unwrap_or_default(),
            ),
        }
    }

    fn extremes(&mut self, path: PathId) -> &mut Option<(u64, u64)> {
        if self.extremes.len() <= path.index() {
            self.extremes.resize(path.index() + 1, None);
        }
        &mut self.extremes[path.index()]
    }

    fn note_rtts(&mut self, view: &View<'_>) {
        for path in view.paths.iter().filter(|path| !path.rtt.srtt.is_zero()) {
            let srtt = path.rtt.srtt.as_micros();
            let extremes = self.extremes(path.id);
            let (min, max) = extremes.unwrap_or((srtt, srtt));
            *extremes = Some((min.min(srtt), max.max(srtt)));
        }
    }

    fn choose<'a>(&mut self, view: &View<'a>, offer: &Offer) -> Choice<'a> {
        match self.estimate(view, offer) {
            (_, Some(estimate)) if estimate.blocks() => Choice::NONE,
            (choice, _) => choice,
        }
    }

    /// The path that LRF takes, and the estimate if that is not the fastest.
    fn estimate<'a>(&mut self, view: &View<'a>, offer: &Offer) -> (Choice<'a>, Option<Estimate>) {
        if self.form == Form::Kernel {
            self.note_rtts(view);
        }
        let choice = choose(view, offer, self.kernel_compat);
        if offer.reinject {
            return (choice, None);
        }
        let (Some(fast), Some(slow)) = (lrf::fastest(view, offer, self.kernel_compat), choice.path)
        else {
            return (choice, None);
        };
        if fast.id == slow.id {
            return (choice, None);
        }
        let period = match self.form {
            Form::Paper => fast.rtt.srtt,
            Form::Kernel => Duration::from_micros(self.extremes(slow.id).map_or(0, |(min, _)| min)),
        };
        self.lambda.on_decision(view.now, period);
        let estimate = self.compare(view, fast, slow, offer);
        (choice, Some(estimate))
    }

    /// What `fast` could send while a segment is on `slow`, and what that leaves of the window.
    fn compare(
        &mut self,
        view: &View<'_>,
        fast: &PathView,
        slow: &PathView,
        offer: &Offer,
    ) -> Estimate {
        let window = view.data.window_end.saturating_sub(view.data.snd_una);
        let (fast_bytes, slow_bytes) = match self.form {
            Form::Paper => {
                let carried =
                    u64::from(slow.window.mss) * (u64::from(slow.window.inflight_segs) + 1);
                (sendable_paper(fast, slow.rtt.srtt), carried)
            }
            Form::Kernel => {
                let segs = self.sendable_segs(fast, slow);
                let carried = u64::from(offer.len_on(slow)) + slow.queue.outstanding_bytes;
                (segs.saturating_mul(u64::from(fast.window.mss)), carried)
            }
        };
        let mut fast_bytes = u128::from(fast_bytes) * u128::from(self.lambda.value) / 1000;
        if self.app_aware {
            fast_bytes = fast_bytes.min(u128::from(offer.end.saturating_sub(offer.offset)));
        }
        Estimate { fast_bytes, left: window.saturating_sub(slow_bytes) }
    }

    /// Segments that `fast` sends while one is under way on `slow`, as the kernel counts.
    fn sendable_segs(&mut self, fast: &PathView, slow: &PathView) -> u64 {
        let (f_min, f_max) = self.extremes(fast.id).unwrap_or((0, 0));
        let slow_extremes = self.extremes(slow.id).unwrap_or((0, 0));
        let linger = linger(slow, slow_extremes);
        let avg = u64::midpoint(f_min, f_max);
        let rounds = linger.checked_div(avg).map_or(1, |rounds| rounds + 1);
        segs_in(rounds, u64::from(fast.window.cwnd_segs), fast.window.ssthresh_segs)
    }
}

impl Scheduler for Blest {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let mut opportunistic = std::mem::take(&mut self.opportunistic);
        let mut blocked = false;
        let decision =
            lrf::serve(view, &mut opportunistic, &mut blocked, |offer| self.choose(view, offer));
        self.opportunistic = opportunistic;
        self.lambda.blocked |= blocked;
        decision
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn reinjects(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        // What it notes on the way is noted when it is asked in earnest.
        let (choice, estimate) = self.clone().estimate(view, &view.offered_or_empty());
        let Some(estimate) = estimate else {
            return Some(choice.explained("lowest srtt with room"));
        };
        let tests = vec![estimate.test()];
        Some(if estimate.blocks() {
            let rule = "a segment on the slower path would take window the fastest needs";
            Explanation { tests, ..Choice::NONE.explained(rule) }
        } else {
            let rule = "the window has room for the slower path's segment";
            Explanation { tests, ..choice.explained(rule) }
        })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            *self.extremes(path) = None;
        }
    }
}

/// The paper's `X` in bytes.
fn sendable_paper(fast: &PathView, rtt_s: Duration) -> u64 {
    let rtt_f = fast.rtt.srtt.as_micros().max(1) as f64;
    let rtts = rtt_s.as_micros() as f64 / rtt_f;
    let segs = (f64::from(fast.window.cwnd_segs) + (rtts - 1.0) / 2.0) * rtts;
    (f64::from(fast.window.mss) * segs) as u64
}

/// Time that one more segment takes on `slow`, in microseconds.
fn linger(slow: &PathView, (min, max): (u64, u64)) -> u64 {
    let inflight = u64::from(slow.window.inflight_segs) + 1;
    let cwnd = u64::from(slow.window.cwnd_segs);
    let estimate = if inflight >= cwnd { max } else { min + (max - min) * inflight / cwnd };
    estimate.max(slow.rtt.srtt.as_micros())
}

/// Segments sent in `rounds` rounds, the first of which has a window of `cwnd`.
fn segs_in(rounds: u64, cwnd: u64, ssthresh: Option<u32>) -> u64 {
    match ssthresh {
        None => cwnd * ((1 << rounds.min(MOST_DOUBLINGS)) - 1),
        Some(ssthresh) => {
            let window = cwnd.max(u64::from(ssthresh) + 1);
            (window + rounds.saturating_sub(1) / 2).saturating_mul(rounds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{MSS, Model, path};
    use super::*;
    use crate::scheduler::{AnyScheduler, Step, by_name};

    /// In congestion avoidance.
    fn avoiding(mut path: PathView) -> PathView {
        path.window.ssthresh_segs = Some(8);
        path
    }

    #[test]
    fn segments_of_the_rounds_as_the_kernel_counts() {
        assert_eq!(segs_in(11, 10, Some(8)), 165, "BLEST-1");
        assert_eq!(segs_in(11, 10, None), 20_470, "BLEST-2");
        assert_eq!(segs_in(7, 10, Some(8)), 91, "BLEST-3");
        assert_eq!(segs_in(40, 1, None), 65_535, "no more than sixteen doublings");
    }

    #[test]
    fn blest_3_time_on_the_slow_path() {
        let slow = path(1, 100, 10, 4);
        assert_eq!(linger(&slow, (80_000, 160_000)), 120_000);
        assert_eq!(linger(&path(1, 100, 10, 9), (80_000, 160_000)), 160_000);
        assert_eq!(linger(&path(1, 200, 10, 0), (80_000, 160_000)), 200_000);
    }

    #[test]
    fn blest_4_what_the_fast_path_sends_meanwhile() {
        assert_eq!(sendable_paper(&path(0, 10, 10, 10), Duration::from_millis(100)), 207_060);
    }

    #[test]
    fn blest_5_lambda() {
        let settings = Settings::defaults(KERNEL);
        let mut lambda = Lambda::new(Form::Kernel, &settings);
        let mut values = vec![lambda.value];
        for blocked in [true, true, true, false] {
            lambda.blocked = blocked;
            lambda.step();
            values.push(lambda.value);
        }
        assert_eq!(values, [1200, 1240, 1280, 1300, 1290]);
    }

    /// Regression: bounds in the wrong order were accepted, and a lambda outside of them lasted for
    /// one period.
    #[test]
    fn lambda_outside_of_its_bounds_is_refused() {
        for (text, problem) in [
            ("blest:min=2,max=1", "`min` of `blest` is 2, and `max` is 1"),
            ("blest:lambda=2", "`lambda` of `blest` is 2, more than its `max`, 1.3"),
            ("blest:min=1.1", "`lambda` of `blest` is 1, less than its `min`, 1.1"),
            ("blest-kernel:max=1.1", "`lambda` of `blest-kernel` is 1.2, more than its `max`, 1.1"),
        ] {
            let refused = text.parse::<crate::scheduler::SchedulerChoice>().unwrap_err();
            assert_eq!(refused.problem, problem, "{text}");
        }
        for text in ["blest:lambda=2,max=2", "blest:lambda=0.5,min=0.5", "blest-kernel:max=1.2"] {
            assert!(by_name(text, &Options::default()).is_some(), "{text}");
        }
    }

    #[test]
    fn lambda_steps_once_a_period() {
        let mut lambda = Lambda::new(Form::Kernel, &Settings::defaults(KERNEL));
        let mut at = |ms: u64| {
            lambda.on_decision(Instant::ZERO + Duration::from_millis(ms), Duration::from_millis(9));
            lambda.value
        };
        assert_eq!([5, 6, 13, 14, 15, 23].map(&mut at), [1200, 1200, 1200, 1190, 1190, 1180]);
    }

    /// Whether BLEST sends on S, in the situation of the examples.
    fn sends(name: &str, fast: PathView, slow: PathView, window: u64) -> bool {
        let mut model = Model::new(vec![fast, slow], 30_000);
        model.window = window;
        let options = Options::default();
        let mut blest: AnyScheduler = by_name(name, &options).unwrap();
        matches!(
            crate::scheduler::Scheduler::next(&mut blest, &model.view()).step,
            Step::Send { .. }
        )
    }

    #[test]
    fn blest_1_2_and_4_wait_or_send_by_the_window() {
        let slow = || path(1, 100, 10, 0);
        let avoidance = || avoiding(path(0, 10, 10, 10));
        assert!(!sends("blest-kernel", avoidance(), slow(), 200_000));
        assert!(sends("blest-kernel", avoidance(), slow(), 400_000));
        let start = || path(0, 10, 10, 10);
        assert!(!sends("blest-kernel", start(), slow(), 35_078_819));
        // lambda 1.2 times 20,470 segments, and one.
        let window = 20_470 * u64::from(MSS) * 1200 / 1000 + u64::from(MSS);
        assert_eq!(window, 35_078_820);
        assert!(sends("blest-kernel", start(), slow(), window));
        assert!(!sends("blest", start(), slow(), 208_487));
        assert!(sends("blest", start(), slow(), 208_488));
    }

    #[test]
    fn blest_1_2_and_4_bytes_of_both_sides() {
        let (avoidance, start) = (avoiding(path(0, 10, 10, 10)), path(0, 10, 10, 10));
        for (form, fast, window, expected) in [
            (Form::Kernel, avoidance, 200_000, (282_744, 198_572)),
            (Form::Kernel, avoidance, 400_000, (282_744, 398_572)),
            (Form::Kernel, start, 400_000, (35_077_392, 398_572)),
            (Form::Paper, start, 200_000, (207_060, 198_572)),
        ] {
            let table = if form == Form::Paper { PAPER } else { KERNEL };
            let mut blest = Blest::new(form, &Options::default(), &Settings::defaults(table));
            let mut model = Model::new(vec![fast, path(1, 100, 10, 0)], 100);
            model.window = window;
            let view = model.view();
            let (_, estimate) = blest.estimate(&view, &view.unsent_offer());
            let estimate = estimate.expect("LRF takes the slow path");
            assert_eq!((estimate.fast_bytes, estimate.left), expected, "{form:?} {window}");
        }
    }

    #[test]
    fn blest_3_sends_with_extremes_of_both() {
        let mut blest = Blest::new(Form::Kernel, &Options::default(), &Settings::defaults(KERNEL));
        let fast = avoiding(path(0, 20, 10, 10));
        let mut slow = path(1, 100, 10, 4);
        slow.queue.unsent_bytes = 4 * u64::from(MSS);
        *blest.extremes(PathId(0)) = Some((10_000, 30_000));
        *blest.extremes(PathId(1)) = Some((80_000, 160_000));
        assert_eq!(blest.sendable_segs(&fast, &slow), 91);
        let model = Model::new(vec![fast, slow], 100);
        let view = model.view();
        let offer = view.unsent_offer();
        let estimate = blest.compare(&view, &fast, &slow, &offer);
        assert_eq!((estimate.fast_bytes, estimate.left), (155_937, 392_860));
        assert!(!estimate.blocks());
    }

    #[test]
    fn little_data_do_not_wait_if_they_are_counted() {
        let paths = || (path(0, 10, 10, 10), path(1, 100, 10, 0));
        let name = "blest-kernel:app-aware=1";
        let (fast, slow) = paths();
        let mut model = Model::new(vec![fast, slow], 5);
        model.push(&mut by_name(name, &Options::default()).unwrap());
        assert_eq!(model.on_path(1), 5);
        let mut model = Model::new(vec![fast, slow], 5);
        model.push(&mut by_name("blest-kernel", &Options::default()).unwrap());
        assert_eq!(model.on_path(1), 0);
    }
}

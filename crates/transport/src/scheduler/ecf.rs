//! ECF: earliest completion first, in the paper's form and in the kernel's.
//!
//! Decision rule (002 sIII-C, kernel v0.95 `mptcp_ecf.c`): `f` is the fastest path, full or not,
//! `s` the one that LRF would take. If they differ, with `k` bytes not dispatched, `W = CWND * MSS`
//! and `delta = max(sigma_f, sigma_s)`:
//! `RTT_f (W_f + k) < (1 + waiting * beta) (RTT_s + delta) W_f`, so `f` would complete it sooner,
//! and `RTT_s k >= (2 RTT_f + delta) W_s`, so `s` is slower than a round on `f` more: wait for `f`.
//! If the first fails, `waiting` ends. The kernel puts `max(k, W)` for `k` in both, which makes it
//! wait more often for little data. `sigma` is a multiple of RTTVAR, which on a TCP path has the
//! floor of Linux, 50 ms, as in the authors' kernel, however constant the RTT is. Added here: `f`
//! is a backup only where all are, and reinjections follow LRF. Availability is left to `view`,
//! opportunistic retransmission to `lrf`.

use super::lrf::{self, Choice, choose};
use super::opportunistic::OpportunisticRetransmission;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, Scheduler, SchedulerRow};
use crate::parameters::{Kind, Parameter, Settings};
use crate::reinjection::Opportunistic;
use base::decision::{Explanation, Test, Unit};
use std::iter;

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "beta",
        about: "hysteresis of waiting, as a fraction",
        least: 0.0,
        most: 4.0,
        default: 0.25,
        kind: Kind::Real,
        source: "002",
    },
    Parameter {
        key: "sigma",
        about: "deviation of the RTT in multiples of RTTVAR, of mptcp at least 50 ms as in Linux",
        least: 0.0,
        most: 4.0,
        default: 1.0,
        kind: Kind::Real,
        source: "002, 2 in its kernel",
    },
];

/// Which of the two rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Paper,
    Kernel,
}

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "ecf",
    about: "Earliest completion first: waits for the fastest path where that ends sooner.",
    source: "002 sIII-C",
    parameters: PARAMETERS,
    own_reinjection: Some(Opportunistic::Kernel),
    make: |options, asked| AnyScheduler::Ecf(Ecf::new(Form::Paper, options, &asked.settings)),
};

/// The line of the kernel's form in the table.
pub(super) const KERNEL_ROW: SchedulerRow = SchedulerRow {
    name: "ecf-kernel",
    about: "ECF as in the kernel: data count as one window at least.",
    source: "multipath-tcp kernel v0.95 `ecf`",
    parameters: PARAMETERS,
    own_reinjection: Some(Opportunistic::Kernel),
    make: |options, asked| AnyScheduler::Ecf(Ecf::new(Form::Kernel, options, &asked.settings)),
};

/// Earliest completion first.
#[derive(Clone, Debug)]
pub struct Ecf {
    form: Form,
    /// In thousandths.
    beta: u64,
    /// In thousandths of RTTVAR.
    sigma: u64,
    kernel_compat: bool,
    waiting: bool,
    opportunistic: OpportunisticRetransmission,
}

impl Ecf {
    /// With the switches that concern it, `kernel_compat` and `opportunistic`, and its parameters.
    pub fn new(form: Form, options: &Options, settings: &Settings) -> Self {
        let compat = options.kernel_compat && settings.given("sigma").is_none();
        Ecf {
            form,
            beta: settings.thousandths("beta"),
            sigma: if compat { 2000 } else { settings.thousandths("sigma") },
            kernel_compat: options.kernel_compat,
            waiting: false,
            opportunistic: OpportunisticRetransmission::new(
                options.opportunistic.unwrap_or_default(),
            ),
        }
    }

    fn choose<'a>(&mut self, view: &View<'a>, offer: &Offer) -> Choice<'a> {
        let slow = choose(view, offer, self.kernel_compat);
        match self.compare(view, offer, &slow).map(|weighed| weighed.verdict()) {
            None | Some(Verdict::Slow) => slow,
            Some(Verdict::Wait) => {
                self.waiting = true;
                Choice::NONE
            }
            Some(Verdict::SlowAgain) => {
                self.waiting = false;
                slow
            }
        }
    }

    /// Both inequalities, if a slower path than the fastest is chosen for new data.
    fn compare(&self, view: &View<'_>, offer: &Offer, slow: &Choice<'_>) -> Option<Weighed> {
        if offer.reinject {
            return None;
        }
        let (f, s) = (lrf::fastest(view, offer, self.kernel_compat)?, slow.path?);
        let k = offer.end.saturating_sub(offer.offset);
        (f.id != s.id).then(|| self.pair(f, s, k).weigh(self.form, self.beta, self.waiting))
    }

    fn pair(&self, f: &PathView, s: &PathView, k: u64) -> Pair {
        let window =
            |path: &PathView| u64::from(path.window.cwnd_segs.max(1)) * u64::from(path.window.mss);
        let deviation = f.rtt.rttvar.max(s.rtt.rttvar).as_micros();
        Pair {
            rtt_f: f.rtt.srtt.as_micros(),
            rtt_s: s.rtt.srtt.as_micros(),
            delta: deviation * self.sigma / 1000,
            w_f: window(f),
            w_s: window(s),
            k,
        }
    }
}

impl Scheduler for Ecf {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let mut opportunistic = std::mem::take(&mut self.opportunistic);
        let decision =
            lrf::serve(view, &mut opportunistic, &mut false, |offer| self.choose(view, offer));
        self.opportunistic = opportunistic;
        decision
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn reinjects(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let offer = view.offered_or_empty();
        let slow = choose(view, &offer, self.kernel_compat);
        let Some(weighed) = self.compare(view, &offer, &slow) else {
            return Some(slow.explained("lowest srtt with room"));
        };
        let (choice, rule) = match weighed.verdict() {
            Verdict::Wait => (Choice::NONE, "waiting for the fastest path ends sooner"),
            Verdict::Slow => (slow, "a round more on the fastest path is no faster"),
            Verdict::SlowAgain => (slow, "the fastest path would not have it all sooner"),
        };
        Some(Explanation { tests: weighed.tests(), ..choice.explained(rule) })
    }
}

/// The inputs of the rule; times and data in any one unit each.
#[derive(Clone, Copy, Debug)]
struct Pair {
    rtt_f: u64,
    rtt_s: u64,
    delta: u64,
    w_f: u64,
    w_s: u64,
    k: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Wait,
    /// The slow path, `waiting` as it was.
    Slow,
    /// The slow path, and `waiting` ends.
    SlowAgain,
}

/// Both sides of the two inequalities, the first times `W_f`, the second times `W_s`.
#[derive(Clone, Copy, Debug)]
struct Weighed {
    /// In thousandths.
    all_on_f: (u128, u128),
    on_s: (u128, u128),
    pair: Pair,
}

impl Pair {
    fn weigh(&self, form: Form, beta_thousandths: u64, waiting: bool) -> Weighed {
        let Pair { rtt_f, rtt_s, delta, w_f, w_s, k } = *self;
        let (x_f, x_s) = match form {
            Form::Paper => (k, k),
            Form::Kernel => (k.max(w_f), k.max(w_s)),
        };
        let patience = 1000 + if waiting { beta_thousandths } else { 0 };
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let on_slow = product(w_f, rtt_s + delta) * u128::from(patience);
        Weighed {
            all_on_f: (product(rtt_f, x_f + w_f) * 1000, on_slow),
            on_s: (product(rtt_s, x_s), product(w_s, 2 * rtt_f + delta)),
            pair: *self,
        }
    }
}

impl Weighed {
    fn verdict(&self) -> Verdict {
        if self.all_on_f.0 >= self.all_on_f.1 {
            Verdict::SlowAgain
        } else if self.on_s.0 >= self.on_s.1 {
            Verdict::Wait
        } else {
            Verdict::Slow
        }
    }

    /// The sides as times; the second inequality counts only if the first holds.
    fn tests(&self) -> Vec<Test> {
        let test = |names: (&'static str, &'static str), sides: (u128, u128), per: f64| Test {
            left: (names.0, sides.0 as f64 / per),
            right: (names.1, sides.1 as f64 / per),
            unit: Unit::Seconds,
            order: sides.0.cmp(&sides.1),
        };
        let (per_f, per_s) = (self.pair.w_f as f64 * 1e9, self.pair.w_s as f64 * 1e6);
        let first = test(("all on the fastest", "on the slower"), self.all_on_f, per_f);
        let second = test(("on the slower", "two rounds of the fastest"), self.on_s, per_s);
        let holds = self.all_on_f.0 < self.all_on_f.1;
        iter::once(first).chain(holds.then_some(second)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{Model, path};
    use super::*;
    use base::{Duration, PathId};

    type Path = (u64, u64, u64);

    /// Of tuples: (RTT, window, sigma) of both, in ms and segments, and `k`.
    fn judge(form: Form, f: Path, s: Path, k: u64, waiting: bool) -> Verdict {
        let delta = f.2.max(s.2);
        let pair = Pair { rtt_f: f.0, rtt_s: s.0, delta, w_f: f.1, w_s: s.1, k };
        pair.weigh(form, 250, waiting).verdict()
    }

    #[test]
    fn ecf_1_and_2_kernel_waits_for_little_data_too() {
        let (f, s) = ((10, 10, 2), (100, 10, 10));
        assert_eq!(judge(Form::Kernel, f, s, 5, false), Verdict::Wait);
        assert_eq!(judge(Form::Paper, f, s, 5, false), Verdict::Wait);
        assert_eq!(judge(Form::Kernel, f, s, 2, false), Verdict::Wait);
        assert_eq!(judge(Form::Paper, f, s, 2, false), Verdict::Slow);
    }

    #[test]
    fn ecf_3_and_4_hysteresis() {
        let (f, s) = ((55, 10, 0), (100, 5, 0));
        assert_eq!(judge(Form::Kernel, f, s, 10, false), Verdict::SlowAgain);
        assert_eq!(judge(Form::Kernel, f, s, 10, true), Verdict::Wait);
        let (f, s) = ((60, 10, 0), (100, 10, 0));
        assert_eq!(judge(Form::Kernel, f, s, 10, true), Verdict::Slow);
    }

    /// The same as decisions: F is full, S is free. The path, and `waiting` afterwards.
    #[test]
    fn ecf_1_to_4_decisions_and_state() {
        let (near, far) = ((10, 10, 2), (100, 10, 10));
        let (slow, half) = ((55, 10, 0), (100, 5, 0));
        for (form, f, s, k, waiting, expected) in [
            (Form::Kernel, near, far, 5, false, (None, true)),
            (Form::Paper, near, far, 5, false, (None, true)),
            (Form::Kernel, near, far, 2, false, (None, true)),
            (Form::Paper, near, far, 2, false, (Some(PathId(1)), false)),
            (Form::Kernel, slow, half, 10, false, (Some(PathId(1)), false)),
            (Form::Kernel, slow, half, 10, true, (None, true)),
            (Form::Kernel, (60, 10, 0), (100, 10, 0), 10, true, (Some(PathId(1)), true)),
        ] {
            let view = |id, (rtt, cwnd, sigma): Path, inflight| {
                let mut view = path(id, rtt, cwnd as u32, inflight);
                view.rtt.rttvar = Duration::from_millis(sigma);
                view
            };
            let model = Model::new(vec![view(0, f, f.1 as u32), view(1, s, 0)], k);
            let mut ecf = Ecf::new(form, &Options::default(), &Settings::defaults(PARAMETERS));
            ecf.waiting = waiting;
            let path = ecf.next(&model.view()).path();
            assert_eq!((path, ecf.waiting), expected, "{form:?} {f:?} {s:?} {k} {waiting}");
        }
    }
}

//! A scheduler with the parameters that are set: `lrf`, `wrr:3,1`, `ecf:reinjection=off`.

use super::parameters::SchedulerParameters;
use super::reinjecting::Reinjecting;
use super::table::{AnyScheduler, TABLE};
use super::{Options, Scheduler, linux, rr};
use crate::choice::{Choice, Row};
use crate::parameters::{Parameter, Refused};
use crate::reinjection::Opportunistic;

/// A line of the table of schedulers.
#[derive(Debug)]
pub struct SchedulerRow {
    /// The name in options.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The paper, the RFC or the kernel that it follows.
    pub source: &'static str,
    /// The parameters other than the reinjection.
    pub parameters: &'static [Parameter],
    /// The reinjection of its source, where that is one of those with a name. A parameter `optim`
    /// sets another.
    pub own_reinjection: Option<Opportunistic>,
    /// Makes a scheduler with the options and parameters given.
    pub(super) make: fn(&Options, &SchedulerParameters) -> AnyScheduler,
}

/// A scheduler and its parameters.
pub type SchedulerChoice = Choice<SchedulerRow>;

impl Row for SchedulerRow {
    type Values = SchedulerParameters;
    const KIND: &'static str = "scheduler";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("minrtt", "lrf"),
        ("min-rtt", "lrf"),
        ("lowrtt", "lrf"),
        ("low-rtt", "lrf"),
        ("lowest-rtt", "lrf"),
        ("lowest-rtt-first", "lrf"),
        ("roundrobin", "rr"),
        ("round-robin", "rr"),
        ("weighted-rr", "wrr"),
        ("weighted-roundrobin", "wrr"),
        ("weighted-round-robin", "wrr"),
        ("earliest-completion-first", "ecf"),
        ("blocking-estimation", "blest"),
        ("delay-aware-packet-scheduling", "daps"),
        ("shortest-transfer-time-first", "sttf"),
        ("out-of-order-transmission-for-in-order-arrival", "otias"),
        ("mainline", "linux"),
    ];

    fn table() -> &'static [Self] {
        TABLE
    }

    fn about(&self) -> (&'static str, &'static str, &'static str) {
        (self.name, self.about, self.source)
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn defaults(&self) -> SchedulerParameters {
        SchedulerParameters::defaults(self.name)
    }

    fn parse(&self, text: &str) -> Result<SchedulerParameters, Refused> {
        SchedulerParameters::parse(self.name, text)
    }
}

impl Default for SchedulerChoice {
    /// `lrf`, the default of the papers' kernels.
    fn default() -> Self {
        Choice::of(&super::lrf::ROW)
    }
}

impl SchedulerChoice {
    /// The scheduler of mainline Linux.
    pub const fn linux() -> Self {
        Choice::of(&linux::ROW)
    }

    /// Whether it is mainline's, with any parameters.
    pub fn is_linux(&self) -> bool {
        self.name() == linux::ROW.name
    }

    /// Whether it is weighted: `wrr:3,1`.
    pub fn takes_weights(&self) -> bool {
        self.name() == rr::WEIGHTED.name
    }

    /// The number of weights that are given; `None`: none.
    pub fn weights(&self) -> Option<usize> {
        self.values(|asked| asked.weights.as_ref().map(Vec::len))
    }

    /// Whether the parameters determine the reinjection; `optim` does, too.
    pub fn sets_reinjection(&self) -> bool {
        self.values(|asked| asked.reinjection.is_some() || asked.settings.given("optim").is_some())
    }

    /// Whether `optim` sets a reinjection.
    pub(crate) fn sets_optim(&self) -> bool {
        self.values(|asked| asked.settings.given("optim").is_some_and(|optim| optim > 0.0))
    }

    /// The same scheduler with this reinjection.
    ///
    /// # Errors
    /// Another one is set.
    pub fn with_reinjection(&self, mode: Opportunistic) -> Result<Self, Refused> {
        let written = self.written().map_or(String::new(), |written| format!("{written},"));
        self.with(&format!("{written}reinjection={}", mode.name()))
    }

    /// A scheduler for one connection.
    pub fn make(&self, options: &Options) -> AnyScheduler {
        self.values(|asked| self.made(options, asked))
    }

    fn made(&self, options: &Options, asked: &SchedulerParameters) -> AnyScheduler {
        let row = self.row();
        // The scheduler's own `optim` takes precedence over the reinjection of all schedulers.
        let common = options.opportunistic.filter(|_| asked.settings.given("optim").is_none());
        let wanted = asked.reinjection.or(common);
        let has_optim = row.parameters.iter().any(|parameter| parameter.key == "optim");
        let own = row.own_reinjection.filter(|_| !has_optim);
        let opportunistic = wanted.or(own);
        let scheduler = (row.make)(&Options { opportunistic, ..options.clone() }, asked);
        match wanted {
            Some(mode) if mode != Opportunistic::Off && !scheduler.reinjects() => {
                AnyScheduler::Reinjecting(Box::new(Reinjecting::new(scheduler, mode)))
            }
            _ => scheduler,
        }
    }
}

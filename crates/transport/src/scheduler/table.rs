//! `AnyScheduler`: the table of schedulers and their dispatch without boxing (house rule 3).
//!
//! Adding one touches its file, an arm here, the table, and its tests. The word `default` is not
//! in the table: it means `lrf` in the papers' kernels and another rule in today's; who reads the
//! word explains that.

use super::asked::Asked;
use super::{Blest, Daps, Decision, Ecf, Linux, Lrf, Otias, PathChange, Raven, Redundant};
use super::{RoundRobin, Scheduler, Sttf, Turns, View, Xlink};
use super::{blest, daps, ecf, linux, otias, raven, sttf, xlink};
use crate::parameters::Parameter;
use crate::reinjection::{Opportunistic, Reinjecting};
use base::decision::Explanation;
use base::{Instant, PathId};
use std::fmt;
use std::sync::Arc;

/// The switches of all schedulers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Do as the papers' kernels where we mend them: a path without RTT sample comes first.
    pub kernel_compat: bool,
    /// What is done when the receive window or the send buffer is full; `None`: as the scheduler's
    /// source has it.
    pub opportunistic: Option<Opportunistic>,
    /// The turns of `rr` and `wrr`.
    pub turns: Turns,
}

/// Name, one sentence and source of every scheduler.
pub const NAMES: &[(&str, &str, &str)] = &[
    (
        "lrf",
        "Lowest RTT first (minrtt): the fastest path that has room in its window.",
        "002 sII-C, multipath-tcp kernel v0.95 `default`",
    ),
    ("rr", "Round robin: one segment a path in turn.", "000 s2.3.2, kernel v0.95 `roundrobin`"),
    (
        "wrr",
        "Weighted round robin: a path's weight in segments a turn, as in `wrr:3,1`.",
        "000 s2.3.2",
    ),
    (
        "redundant",
        "Every path carries everything not yet acknowledged, at its own speed.",
        "multipath-tcp kernel v0.95 `redundant`",
    ),
    (
        "linux",
        "Today's Linux: 64 KiB to the path that flushes its queue first, or wait for it.",
        "mainline Linux `default`",
    ),
    (
        "daps",
        "Runs of segments queued so that slow paths' arrive in order.",
        "002 sIII-A, 000 s2.3.2",
    ),
    ("otias", "Queues each segment where it is predicted to arrive first.", "002 sIII-B"),
    (
        "ecf",
        "Earliest completion first: waits for the fastest path where that ends sooner.",
        "002 sIII-C",
    ),
    (
        "ecf-kernel",
        "The same as the kernel does it: data count at least a window.",
        "multipath-tcp kernel v0.95 `ecf`",
    ),
    (
        "blest",
        "Blocking estimation: no slow path if its segment would block the fast one's window.",
        "002 sIV-A",
    ),
    (
        "blest-kernel",
        "The same as the kernel estimates it, slow start included.",
        "multipath-tcp kernel v0.95 `blest`",
    ),
    (
        "sttf",
        "Shortest transfer time first: plans where all unsent data arrive first, and plans anew.",
        "002 sIV-B",
    ),
    (
        "xlink",
        "Lowest RTT first, and a copy elsewhere of what is under way for too long.",
        "XLINK, SIGCOMM 2021, XQUIC `deadline`",
    ),
    (
        "raven",
        "Lowest RTT first, and copies on paths that may be as fast as the fastest.",
        "RAVEN, MobiCom 2018",
    ),
];

/// A scheduler.
pub enum AnyScheduler {
    Lrf(Lrf),
    Rr(RoundRobin),
    Redundant(Redundant),
    Linux(Linux),
    Daps(Daps),
    Otias(Otias),
    Ecf(Ecf),
    Blest(Blest),
    /// Larger than any other.
    Sttf(Box<Sttf>),
    Xlink(Xlink),
    Raven(Raven),
    /// One of them with a reinjection that its source does not have.
    Reinjecting(Box<Reinjecting>),
    /// One from outside of this crate.
    Custom(Box<dyn Scheduler + Send>),
}

impl AnyScheduler {
    /// It may have something to send though everything was handed to some path.
    pub const fn makes_copies(&self) -> bool {
        match self {
            Self::Reinjecting(around) => around.inner().makes_copies(),
            Self::Redundant(_) | Self::Xlink(_) | Self::Raven(_) | Self::Custom(_) => true,
            _ => false,
        }
    }

    /// It is mainline's, whose connection sends data of a path that timed out elsewhere by its own
    /// timer only.
    pub const fn leaves_timeouts(&self) -> bool {
        matches!(self, Self::Linux(_))
    }
}

/// Makes a scheduler from outside of this crate, one for each connection.
#[derive(Clone)]
pub struct Custom(Arc<dyn Fn() -> Box<dyn Scheduler + Send> + Send + Sync>);

impl Custom {
    /// By calling `make`.
    pub fn new(make: impl Fn() -> Box<dyn Scheduler + Send> + Send + Sync + 'static) -> Self {
        Custom(Arc::new(make))
    }

    /// A new one.
    pub fn make(&self) -> AnyScheduler {
        AnyScheduler::Custom((self.0)())
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

/// What can be set of the scheduler of that name.
pub fn parameters(name: &str) -> &'static [Parameter] {
    match name {
        "linux" => linux::PARAMETERS,
        "daps" => daps::PARAMETERS,
        "otias" => otias::PARAMETERS,
        "ecf" | "ecf-kernel" => ecf::PARAMETERS,
        "blest" => blest::PAPER,
        "blest-kernel" => blest::KERNEL,
        "sttf" => sttf::PARAMETERS,
        "xlink" => xlink::PARAMETERS,
        "raven" => raven::PARAMETERS,
        _ => &[],
    }
}

/// The reinjection that the source of the scheduler of that name has (schedulers spec s12a);
/// `None`: none of those there are names for. A parameter `optim` says another.
pub fn own_reinjection(name: &str) -> Option<Opportunistic> {
    match name {
        "lrf" | "ecf" | "ecf-kernel" | "blest-kernel" => Some(Opportunistic::Kernel),
        "blest" | "sttf" => Some(Opportunistic::RetransOnly),
        _ => None,
    }
}

/// The scheduler of that name; `None` if there is none. What follows a colon is `Asked`'s:
/// `wrr:3,1` names one with its weights, `ecf:beta=0.5,reinjection=off` one with parameters.
pub fn by_name(name: &str, options: &Options) -> Option<AnyScheduler> {
    let (name, text) = name.split_once(':').map_or((name, None), |(name, text)| (name, Some(text)));
    let name = if name == "minrtt" { "lrf" } else { name };
    let asked = match text {
        Some(text) => Asked::parse(name, text).ok()?,
        None => Asked::defaults(name),
    };
    let wanted = asked.reinjection.or(options.opportunistic);
    let has_optim = parameters(name).iter().any(|parameter| parameter.key == "optim");
    let own = own_reinjection(name).filter(|_| !has_optim);
    let opportunistic = wanted.or(own);
    let scheduler = plain(name, &asked, &Options { opportunistic, ..options.clone() })?;
    Some(match wanted {
        Some(mode) if mode != Opportunistic::Off && !scheduler.reinjects() => {
            AnyScheduler::Reinjecting(Box::new(Reinjecting::new(scheduler, mode)))
        }
        _ => scheduler,
    })
}

fn plain(
    name: &str,
    Asked { weights, settings, .. }: &Asked,
    options: &Options,
) -> Option<AnyScheduler> {
    let turns = |weights: &[u32]| Turns { weights: weights.to_vec(), ..options.turns.clone() };
    Some(match name {
        "lrf" => AnyScheduler::Lrf(Lrf::new(options)),
        "rr" => AnyScheduler::Rr(RoundRobin::new(turns(&[]))),
        "wrr" => {
            let weights = weights.as_ref().unwrap_or(&options.turns.weights);
            AnyScheduler::Rr(RoundRobin::new(turns(weights)))
        }
        "redundant" => AnyScheduler::Redundant(Redundant::new(options)),
        "linux" => AnyScheduler::Linux(Linux::new(settings)),
        "daps" => AnyScheduler::Daps(Daps::new(options, settings)),
        "otias" => AnyScheduler::Otias(Otias::new(options, settings)),
        "ecf" => AnyScheduler::Ecf(Ecf::new(ecf::Form::Paper, options, settings)),
        "ecf-kernel" => AnyScheduler::Ecf(Ecf::new(ecf::Form::Kernel, options, settings)),
        "blest" => AnyScheduler::Blest(Blest::new(blest::Form::Paper, options, settings)),
        "blest-kernel" => AnyScheduler::Blest(Blest::new(blest::Form::Kernel, options, settings)),
        "sttf" => AnyScheduler::Sttf(Box::new(Sttf::new(options, settings))),
        "xlink" => AnyScheduler::Xlink(Xlink::new(options, settings)),
        "raven" => AnyScheduler::Raven(Raven::new(options, settings)),
        _ => return None,
    })
}

/// Calls the same method of whichever scheduler it is.
macro_rules! dispatch {
    ($self:ident.$method:ident($($arg:expr),*)) => {
        match $self {
            AnyScheduler::Lrf(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Rr(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Redundant(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Linux(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Daps(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Otias(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Ecf(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Blest(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Sttf(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Xlink(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Raven(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Reinjecting(scheduler) => scheduler.$method($($arg),*),
            AnyScheduler::Custom(scheduler) => scheduler.$method($($arg),*),
        }
    };
}

impl AnyScheduler {
    /// Whether it calls opportunistic retransmission itself, with the path it chose.
    const fn reinjects(&self) -> bool {
        use AnyScheduler::{Blest, Ecf, Lrf, Otias, Sttf};
        matches!(self, Lrf(_) | Otias(_) | Ecf(_) | Blest(_) | Sttf(_))
    }
}

impl Scheduler for AnyScheduler {
    fn next(&mut self, view: &View<'_>) -> Decision {
        dispatch!(self.next(view))
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        dispatch!(self.explain(view))
    }

    fn heeds_acks(&self) -> bool {
        dispatch!(self.heeds_acks())
    }

    fn on_ack(&mut self, view: &View<'_>, path: PathId) {
        dispatch!(self.on_ack(view, path));
    }

    fn on_window_blocked(&mut self, view: &View<'_>) {
        dispatch!(self.on_window_blocked(view));
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        dispatch!(self.on_path_changed(path, change));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        dispatch!(self.poll_timeout())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_belong_to_the_name_of_wrr() {
        for wrong in ["", "3,", "0", "256", "+3", "a"] {
            assert!(by_name(&format!("wrr:{wrong}"), &Options::default()).is_none());
        }
        assert!(by_name("wrr:3,1", &Options::default()).is_some());
        assert!(by_name("rr:3,1", &Options::default()).is_none());
    }

    #[test]
    fn parameters_belong_to_their_scheduler() {
        let known = |name: &str| by_name(name, &Options::default()).is_some();
        for name in ["ecf:beta=0.5", "daps:optim=0,round-delay=1", "linux:burst=1420"] {
            assert!(known(name), "{name}");
        }
        for name in ["ecf:", "ecf:beta", "ecf:good=1", "lrf:x=1", "blest:bad=0", "otias:floor=2"] {
            assert!(!known(name), "{name}");
        }
    }

    #[test]
    fn every_default_is_within_its_range() {
        for (name, ..) in NAMES {
            for parameter in parameters(name) {
                let example = parameter.example(name);
                assert!(by_name(&example, &Options::default()).is_some(), "{example}");
            }
        }
    }

    #[test]
    fn every_name_of_the_table_is_known() {
        for (name, ..) in NAMES {
            assert!(by_name(name, &Options::default()).is_some(), "{name}");
        }
    }
}

//! `SchedulerRefusal`: why CMT-SCTP does not take a scheduler of MPTCP.

use crate::reinjection::Opportunistic;
use crate::scheduler::{Options, Scheduler, SchedulerChoice};

/// Why a scheduler is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulerRefusal {
    /// It sends copies on several paths.
    Copies,
    /// It is to reinject data.
    Reinjects,
    /// It binds data to a path that has no room yet.
    Binds,
}

impl SchedulerRefusal {
    /// Why this one is refused; `None`: it is taken.
    pub fn of(choice: &SchedulerChoice) -> Option<SchedulerRefusal> {
        let reinjects =
            choice.values(|asked| asked.reinjection.is_some_and(|mode| mode != Opportunistic::Off));
        let binds = ["daps", "otias", "linux", "sttf"].contains(&choice.name());
        let options = Options { opportunistic: Some(Opportunistic::Off), ..Options::default() };
        if binds {
            return Some(SchedulerRefusal::Binds);
        }
        if reinjects || choice.sets_optim() {
            return Some(SchedulerRefusal::Reinjects);
        }
        choice.make(&options).makes_copies().then_some(SchedulerRefusal::Copies)
    }

    /// The reason, as the end of a sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            SchedulerRefusal::Copies | SchedulerRefusal::Reinjects => {
                "it copies data, and a TSN travels once: moving chunks is rescheduling"
            }
            SchedulerRefusal::Binds => {
                "it binds data to a path before that has room, and chunks get their TSNs when they \
                 are sent"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::NAMES;

    #[test]
    fn schedulers_that_copy_reinject_or_bind_are_refused() {
        let of = |name: &str| {
            SchedulerRefusal::of(&name.parse::<SchedulerChoice>().expect("a scheduler"))
        };
        let taken = ["lrf", "rr", "wrr", "ecf", "ecf-kernel", "blest", "blest-kernel"];
        for (name, ..) in NAMES {
            assert_eq!(of(name).is_none(), taken.contains(name), "{name}");
        }
        for name in ["xlink", "raven"] {
            assert_eq!(of(name), Some(SchedulerRefusal::Copies), "{name}");
        }
        for name in ["daps", "otias", "linux", "sttf"] {
            assert_eq!(of(name), Some(SchedulerRefusal::Binds), "{name}");
        }
        assert_eq!(of("lrf:reinjection=nsdi12"), Some(SchedulerRefusal::Reinjects));
        assert_eq!(of("lrf:reinjection=off"), None);
        assert!(SchedulerRefusal::Binds.reason().contains("TSN"));
    }
}

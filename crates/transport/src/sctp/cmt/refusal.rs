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
}

impl SchedulerRefusal {
    /// Why this one is refused; `None`: it is taken.
    pub fn of(choice: &SchedulerChoice) -> Option<SchedulerRefusal> {
        let reinjects =
            choice.values(|asked| asked.reinjection.is_some_and(|mode| mode != Opportunistic::Off));
        let options = Options { opportunistic: Some(Opportunistic::Off), ..Options::default() };
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::NAMES;

    #[test]
    fn schedulers_that_copy_or_reinject_are_refused() {
        let of = |name: &str| {
            SchedulerRefusal::of(&name.parse::<SchedulerChoice>().expect("a scheduler"))
        };
        for (name, ..) in NAMES {
            let copies = ["redundant", "xlink", "raven"].contains(name);
            assert_eq!(of(name), copies.then_some(SchedulerRefusal::Copies), "{name}");
        }
        assert_eq!(of("lrf:reinjection=nsdi12"), Some(SchedulerRefusal::Reinjects));
        assert_eq!(of("lrf:reinjection=off"), None);
        assert_eq!(of("otias:optim=1"), Some(SchedulerRefusal::Reinjects));
        assert_eq!(of("daps:optim=0"), None);
        assert!(SchedulerRefusal::Copies.reason().contains("TSN"));
    }
}

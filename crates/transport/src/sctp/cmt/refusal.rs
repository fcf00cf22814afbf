//! `SchedulerRefusal`: why CMT-SCTP does not take a scheduler of MPTCP.

use crate::reinjection::Opportunistic;
use crate::scheduler::SchedulerChoice;

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
        match choice.name() {
            "redundant" | "xlink" | "raven" => Some(SchedulerRefusal::Copies),
            "daps" | "otias" | "linux" | "sttf" => Some(SchedulerRefusal::Binds),
            _ if reinjects || choice.sets_optim() => Some(SchedulerRefusal::Reinjects),
            _ => None,
        }
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

    #[test]
    fn schedulers_that_copy_reinject_or_bind_are_refused() {
        let of = |name: &str| {
            SchedulerRefusal::of(&name.parse::<SchedulerChoice>().expect("a scheduler"))
        };
        for name in ["lrf", "rr", "wrr:3,1", "ecf", "ecf-kernel", "blest", "blest-kernel"] {
            assert_eq!(of(name), None, "{name}");
        }
        for name in ["redundant", "xlink", "raven"] {
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

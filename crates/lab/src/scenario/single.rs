//! The choices of a single connection, in the grammar of comparisons.

use super::choice::{
    Complaint, built_control, check_weights, chosen_of, failover, path_manager, policy, scheduler,
    with_parameters,
};
use super::variants::Protocol;
use super::{cmt, sctp};
use crate::error::{Given, InputError};
use std::slice;
use transport::Failover;
use transport::congestion::ControllerChoice;
use transport::path_manager::PathManagerKind;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;

/// Requested choices of a connection over several paths.
#[derive(Clone, Debug)]
pub struct SingleOptions {
    /// Congestion control.
    pub congestion: Given,
    /// Scheduler.
    pub scheduler: Given,
    /// Path manager.
    pub path_manager: Given,
    /// Path policy.
    pub policy: Given,
    /// Fail-over rule.
    pub failover: Given,
}

/// Parsed choices: names with their parameters, as in variants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SingleChoices {
    /// Congestion control.
    pub congestion: ControllerChoice,
    /// Scheduler.
    pub scheduler: SchedulerChoice,
    /// Path manager.
    pub path_manager: PathManagerKind,
    /// Path policy.
    pub policy: PolicyChoice,
    /// Fail-over rule.
    pub failover: Failover,
}

impl SingleOptions {
    /// Parses the choices of a connection over `paths` paths, in the grammar of `compare`.
    pub fn resolve(&self, paths: usize) -> Result<SingleChoices, InputError> {
        let scheduler = one(&self.scheduler, scheduler)?;
        check_weights(slice::from_ref(&self.scheduler), slice::from_ref(&scheduler), paths)?;
        Ok(SingleChoices {
            congestion: one(&self.congestion, built_control)?,
            scheduler,
            path_manager: one(&self.path_manager, path_manager)?,
            policy: one(&self.policy, policy)?,
            failover: one(&self.failover, failover)?,
        })
    }
}

/// The congestion control named, for SCTP or CMT-SCTP; `None` if the protocol lacks it.
pub fn control_of_sctp(
    protocol: Protocol,
    given: &Given,
) -> Result<Option<ControllerChoice>, InputError> {
    let has = if protocol.is_multipath() { cmt::has } else { sctp::has };
    Ok(Some(one(given, built_control)?).filter(has))
}

/// The only word of a text.
fn one<T: PartialEq + Clone>(
    given: &Given,
    read: impl Fn(&str) -> Result<T, Complaint>,
) -> Result<T, InputError> {
    let mut values = chosen_of(slice::from_ref(given), Vec::new(), &[], with_parameters, read)?;
    match (values.pop(), values.is_empty()) {
        (Some(value), true) => Ok(value),
        _ => Err(given.refuse_whole(
            "a single connection takes one value",
            "name one; `anabranch compare` compares several",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(scheduler: &str, path_manager: &str) -> SingleOptions {
        let given = |option: &str, text: &str| Given::argument(option, text);
        SingleOptions {
            congestion: given("--cc", "olia:min-ssthresh=1"),
            scheduler: given("--scheduler", scheduler),
            path_manager: given("--path-manager", path_manager),
            policy: given("--policy", "none"),
            failover: given("--failover", "probe"),
        }
    }

    #[test]
    fn words_have_the_parameters_that_comparisons_take() {
        let single = asked("ecf:beta=0.5", "ndiffports:3").resolve(2).unwrap();
        let names = (single.congestion.to_string(), single.scheduler.to_string());
        assert_eq!(names, ("olia:min-ssthresh=1".to_owned(), "ecf:beta=0.5".to_owned()));
        assert_eq!(single.path_manager, PathManagerKind::Ndiffports { subflows: 3 });
        let weighted = asked("wrr:3,1", "default").resolve(2).unwrap().scheduler;
        assert_eq!(weighted.to_string(), "wrr:3,1");
    }

    #[test]
    fn several_names_and_weights_of_other_paths_are_refused() {
        for (scheduler, part) in [
            ("lrf,rr", "takes one value"),
            ("wrr:3,1,1", "has 3 weights"),
            ("ecf:gamma=1", "gamma"),
            ("lrv", "unknown scheduler"),
        ] {
            let refused = asked(scheduler, "fullmesh").resolve(2).unwrap_err().to_string();
            assert!(refused.contains(part) && refused.contains("--scheduler"), "{refused}");
        }
    }
}

//! What the names of a variant and of the modelled hosts mean, for tables and pages.
//!
//! Schedulers, congestion controls and the other choices have the sentence of their table.

use crate::output::Screen;
use lab::scenario::{Carrier, SCTP_FAILOVERS, Variant};
use lab::{Report, Scenario, Summary};
use std::collections::BTreeMap;
use transport::choice::Row;
use transport::congestion::ControllerRow;
use transport::path_policy::PolicyRow;
use transport::scheduler::SchedulerRow;
use transport::sctp::RtxPolicy;
use transport::{FAILOVER_NAMES, Profile, path_manager};

/// Largest number of names of one kind that are explained below a table of paths.
const MOST_EXPLAINED: usize = 6;

/// The kernel that both hosts model: `Linux 6.18`.
pub(crate) fn kernel(profile: Profile) -> String {
    match profile {
        Profile::Linux => "Linux 6.18".to_owned(),
        old => old.name().replace("linux-", "Linux "),
    }
}

/// What both hosts are: `like Linux 6.18`.
pub(crate) fn hosts(scenario: &Scenario, report: &Report) -> String {
    let by_kernel = |summary: &Summary| summary.variant.name.starts_with("kernel-");
    if report.variants.iter().all(by_kernel) {
        return "with the running kernel".to_owned();
    }
    let is_sctp = |summary: &&Summary| summary.variant.protocol().is_sctp();
    let profile = scenario.choices.sctp.profile.name();
    match report.variants.iter().filter(is_sctp).count() {
        0 => format!("like {}", kernel(scenario.ends.profile)),
        all if all == report.variants.len() => format!("with the SCTP profile {profile}"),
        _ => format!("like {}, SCTP profile {profile}", kernel(scenario.ends.profile)),
    }
}

/// Kind, name and meaning of the choices of a variant that its name has.
pub(crate) fn choices(variant: &Variant) -> Vec<(&'static str, String, &'static str)> {
    let mut choices = Vec::new();
    let mut add = |kind: &'static str, name: String, about: Option<&'static str>| {
        let shown = variant.name.split('/').any(|part| part == name);
        choices.extend(about.filter(|_| shown).map(|about| (kind, name, about)));
    };
    let control = variant.congestion.name();
    if let Carrier::Multipath { scheduler, path_manager, policy, failover, .. } = &variant.carrier {
        add("scheduler", scheduler.to_string(), about::<SchedulerRow>(scheduler.name()));
        let manager = path_manager.to_string();
        let named = path_manager::NAMES.iter().find(|row| row.0 == manager);
        add("path manager", manager, named.map(|row| row.1));
        add("path policy", policy.to_string(), about::<PolicyRow>(policy.name()));
        let rule = failover.name();
        let named = FAILOVER_NAMES.iter().find(|row| row.0 == rule);
        add("fail-over rule", rule.to_owned(), named.map(|row| row.1));
    }
    if let Carrier::Multihomed { failover, rtx_policy, .. } = &variant.carrier {
        let named = SCTP_FAILOVERS.iter().find(|row| row.0 == failover.name());
        add("fail-over rule", failover.name().to_owned(), named.map(|row| row.1));
        let named = RtxPolicy::ALL.iter().find(|(policy, _)| policy == rtx_policy);
        add("retransmission", rtx_policy.name().to_owned(), named.map(|row| row.1));
    }
    let written = variant.congestion.to_string();
    add("congestion control", written, about::<ControllerRow>(control));
    choices
}

/// The sentence of a table's row.
fn about<R: Row>(name: &str) -> Option<&'static str> {
    R::table().iter().map(Row::about).find(|row| row.0 == name).map(|row| row.1)
}

/// The names in the table of results with their meanings, by kind; of the congestion controls only
/// those that couple paths.
pub(crate) fn text(variants: &[Summary], screen: Screen) -> String {
    let mut kinds: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for summary in variants {
        for (kind, name, about) in choices(&summary.variant) {
            let is_plain = kind == "congestion control" && !summary.variant.congestion.is_coupled();
            let names = kinds.entry(kind).or_default();
            if !is_plain && names.iter().all(|(known, _)| *known != name) {
                names.push((name, about));
            }
        }
    }
    let mut text = String::new();
    for (kind, names) in kinds.into_iter().filter(|(_, names)| !names.is_empty()) {
        text.push_str(&format!("{}\n", screen.styled("1", kind)));
        if names.len() > MOST_EXPLAINED {
            let count = names.len();
            screen.wrap(&mut text, "", &format!("{count} names, see `anabranch list`"), "");
            continue;
        }
        let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(4);
        for (name, about) in &names {
            screen.wrap(&mut text, &format!("{name:<width$}  "), about, "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_the_names_of_their_versions() {
        let names = Profile::ALL.map(|(profile, _)| kernel(profile));
        assert_eq!(names, ["Linux 6.18", "Linux 4.1", "Linux 3.14", "Linux 3.11", "Linux 3.5"]);
    }
}

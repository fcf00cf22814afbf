//! Values of options in a written scenario file.

use super::choice::usual_schedulers;
use super::cmt;
use super::primary::Primary;
use super::table::Key;
use super::{Protocol, Scenario, SctpChoices, names_of};
use traffic::Traffic;
use transport::path_policy::PolicyChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::cmt::{CmtConfig, SendAllKey};

/// A quoted text of a TOML file.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An optional quoted text.
pub(super) fn maybe(text: Option<&String>) -> Option<String> {
    text.map(|text| quoted(text))
}

/// A value for studies with MPTCP only.
pub(super) fn multipath(scenario: &Scenario, value: impl FnOnce() -> String) -> Option<String> {
    scenario.compares(Protocol::Mptcp).then(|| quoted(&value()))
}

/// The path policies of protocols over several paths at once.
pub(super) fn policies(scenario: &Scenario) -> Option<String> {
    let is_usual = scenario.choices.policies == [PolicyChoice::NONE];
    let of_cmt = scenario.compares(Protocol::CmtSctp) && !is_usual;
    let is_shown = scenario.compares(Protocol::Mptcp) || of_cmt;
    is_shown.then(|| quoted(&names_of(&scenario.choices.policies)))
}

/// A value for studies with SCTP only.
pub(super) fn of_sctp(
    scenario: &Scenario,
    value: impl FnOnce(&SctpChoices) -> Option<String>,
) -> Option<String> {
    let value = scenario.has_sctp().then(|| value(&scenario.choices.sctp)).flatten()?;
    Some(quoted(&value))
}

/// The paths that variants over several paths begin with.
pub(super) fn primaries(scenario: &Scenario) -> Option<String> {
    let chosen = &scenario.choices.primaries;
    let words: Vec<&str> = chosen.iter().map(|primary| primary.word(&scenario.paths)).collect();
    (*chosen != [Primary::First]).then(|| quoted(&words.join(",")))
}

/// The schedulers of the protocols compared.
pub(super) fn schedulers(scenario: &Scenario) -> Option<String> {
    let choices = &scenario.choices;
    // CMT-SCTP would take the default of MPTCP from a file, too.
    let is_default = choices.schedulers == usual_schedulers(scenario.ends.profile);
    let is_said = !(scenario.compares(Protocol::CmtSctp) && is_default);
    let of_mptcp = scenario.compares(Protocol::Mptcp) && is_said;
    let of_mptcp = of_mptcp.then(|| names_of(&choices.schedulers));
    let concurrent = &choices.sctp.cmt;
    let is_usual =
        concurrent.send_all == [SendAllKey::default()] && concurrent.schedulers.is_empty();
    let of_cmt = || {
        let keys = concurrent.send_all.iter().map(|key| cmt::scheduler_name(*key));
        let is_new =
            |one: &&SchedulerChoice| of_mptcp.is_none() || !choices.schedulers.contains(one);
        let others = concurrent.schedulers.iter().filter(is_new).map(ToString::to_string);
        keys.chain(others).collect::<Vec<_>>().join(",")
    };
    let of_cmt = (scenario.compares(Protocol::CmtSctp) && !is_usual).then(of_cmt);
    let of_cmt = of_cmt.filter(|names| !names.is_empty());
    let names: Vec<String> = of_mptcp.into_iter().chain(of_cmt).collect();
    (!names.is_empty()).then(|| quoted(&names.join(",")))
}

/// The values of a switch of CMT-SCTP, unless it is that of the profile.
pub(super) fn of_cmt(scenario: &Scenario, key: Key) -> Option<String> {
    let sctp = &scenario.choices.sctp;
    let shown = || sctp.cmt.shown(key, &CmtConfig::of(sctp.profile));
    let value = scenario.compares(Protocol::CmtSctp).then(shown).flatten()?;
    Some(quoted(&value))
}

/// A value about fetching a page, for web traffic only.
pub(super) fn fetched(
    scenario: &Scenario,
    show: impl Fn(&traffic::web::Web) -> String,
) -> Option<String> {
    match &scenario.traffic {
        Traffic::Web(web) => Some(show(web)),
        _ => None,
    }
}

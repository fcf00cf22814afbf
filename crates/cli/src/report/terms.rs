//! Terms: what the names and headings of the page mean, as titles where they appear and as a list
//! at the end.
//!
//! Schedulers, congestion controls and the other choices have the sentence of their table; only
//! those that the page names are listed.

use super::Sheet;
use super::page::{Page, escaped};
use lab::scenario::{Carrier, Variant};
use std::collections::BTreeMap;
use transport::choice::Row;
use transport::congestion::ControllerRow;
use transport::path_policy::PolicyRow;
use transport::scheduler::SchedulerRow;
use transport::{FAILOVER_NAMES, path_manager};

/// Terms of every page, in the order of the list.
const GENERAL: &[(&str, &str)] = &[
    (
        "variant",
        "One way of carrying the traffic: tcp/PATH/CONGESTION-CONTROL over one path, or \
         mptcp/SCHEDULER/CONGESTION-CONTROL over all of them, followed by path manager, policy and \
         fail-over rule where they are compared.",
    ),
    (
        "repetition",
        "One run of a variant. The same repetition of every variant has the same random draws \
         (losses, rates, offsets of recordings), so the variants are compared run by run.",
    ),
    (
        "baseline",
        "The variant with which the others are compared: by default the best one that uses a \
         single path.",
    ),
    (
        "95 % interval",
        "Range that contains the true value in 95 of 100 such studies. A difference whose interval \
         contains zero may be chance.",
    ),
    (
        "difference",
        "Mean of the differences between a variant and the baseline, repetition by repetition \
         (paired), with the interval that decides the result: it holds for all compared variants \
         together, and whenever the runs ended.",
    ),
    (
        "result",
        "pays-off or hurts: the interval of the difference is beyond the smallest difference that \
         matters (--matters, 5 % of the baseline by default); no-difference: it is within; \
         undecided: neither is shown. A difference above 10 % is significant, a smaller one \
         slight.",
    ),
    (
        "sent first on",
        "Path on which each byte was sent for the first time, as a share of all bytes; repetitions \
         of a byte are not counted.",
    ),
    (
        "sender",
        "Kernel that both ends behave like (option --profile): its buffers, timers and options.",
    ),
    ("cwnd", "Congestion window: the amount of data that may be in flight on a path (RFC 5681)."),
    ("rwnd", "Receive window: the amount of data that the receiver has room for (RFC 9293)."),
    ("srtt", "Smoothed round-trip time of a path, as measured by the sender (RFC 6298)."),
    (
        "reinjected",
        "Data that were sent on one path and not yet acknowledged, and sent on another one, too.",
    ),
    (
        "reorder buffer",
        "Data that have arrived and wait at the receiver because earlier data are missing.",
    ),
];

/// Terms of tables that not every page has.
pub(super) const UNPAIRED: &str = "Interval of the difference if the repetitions of both variants \
    were independent (Welch); a wider one than the paired shows what the common draws gain";
pub(super) const CORRELATION: &str = "Correlation of the values of the same repetitions of the \
    variant and the baseline: near 1, both have the same bad luck";

/// The text of a general term.
fn meaning(term: &str) -> &'static str {
    GENERAL.iter().find(|(name, _)| *name == term).map_or("", |(_, meaning)| meaning)
}

/// A heading that explains itself and refers to the list.
pub(super) fn term(name: &str) -> String {
    titled(name, meaning(name))
}

/// A text with an explanation.
pub(super) fn titled(text: &str, meaning: &str) -> String {
    format!("<span class=\"term\" title=\"{}\">{}</span>", escaped(meaning), escaped(text))
}

/// What a variant does, in a line.
pub(super) fn of_variant(sheet: &Sheet<'_>, variant: &Variant) -> String {
    let way = match &variant.carrier {
        Carrier::Single { path, .. } => {
            let name = sheet.scenario.paths.get(*path).map_or("", |path| path.name.as_str());
            format!("all data over {name}")
        }
        Carrier::Multipath { .. } => "data over all paths".to_owned(),
    };
    let choices = choices(variant).into_iter();
    let choices = choices.map(|(kind, name, about)| format!("; {kind} {name}: {about}"));
    format!("{way}{}", choices.collect::<String>().trim_end_matches('.'))
}

/// Kind, name and meaning of the choices of a variant that its name has.
fn choices(variant: &Variant) -> Vec<(&'static str, String, &'static str)> {
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
    let written = variant.congestion.to_string();
    add("congestion control", written, about::<ControllerRow>(control));
    choices
}

/// The sentence of a table's row.
fn about<R: Row>(name: &str) -> Option<&'static str> {
    R::table().iter().map(Row::about).find(|row| row.0 == name).map(|row| row.1)
}

/// The list of terms.
pub(super) fn list(page: &mut Page, sheet: &Sheet<'_>) {
    page.line("<h2 id=\"terms\">Terms</h2><dl>");
    let mut entry = |name: &str, meaning: &str| {
        page.line(&format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(meaning)));
    };
    for (name, meaning) in GENERAL {
        entry(name, meaning);
    }
    let all = sheet.report.variants.iter().flat_map(|summary| choices(&summary.variant));
    let all: BTreeMap<(&str, String), &str> =
        all.map(|(kind, name, about)| ((kind, name), about)).collect();
    for ((kind, name), about) in all {
        entry(&format!("{name} ({kind})"), about);
    }
    page.line("</dl>");
}

//! Terms: what the names and headings of the page mean, as titles where they appear and as a list
//! at the end.
//!
//! Schedulers, congestion controls and the other choices have the sentence of their table; only
//! those that the page names are listed.

use super::Sheet;
use super::page::{Page, escaped};
use crate::meanings::choices;
use lab::scenario::{Carrier, Variant};
use std::collections::BTreeMap;

/// Terms of every page, in the order of the list.
const GENERAL: &[(&str, &str)] = &[
    (
        "variant",
        "One way of carrying the traffic: tcp/PATH/CONGESTION-CONTROL over one path, or \
         mptcp/SCHEDULER/CONGESTION-CONTROL over all of them, followed by path manager, policy and \
         fail-over rule where they are compared; sctp/PATH/CONGESTION-CONTROL over one path, \
         sctp/multihomed/CONGESTION-CONTROL over all of them, one at a time; \
         cmt-sctp/SCHEDULER/CONGESTION-CONTROL over all of them at once; udp/PATH: datagrams over \
         one path.",
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
        "hosts",
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
pub(super) const CORRELATION: &str = "That of the values of the same repetitions of the variant \
    and the baseline: near 1, both have the same bad luck";

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
        Carrier::Multihomed { cmt: Some(_), .. } => "data over all paths".to_owned(),
        Carrier::Multihomed { .. } => {
            let paths = &sheet.scenario.paths;
            let name = paths.get(sheet.scenario.ends.first).map_or("", |path| path.name.as_str());
            format!("data over {name}, over the other paths while it fails")
        }
    };
    let choices = choices(variant).into_iter();
    let choices = choices.map(|(kind, name, about)| format!("; {kind} {name}: {about}"));
    format!("{way}{}", choices.collect::<String>().trim_end_matches('.'))
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

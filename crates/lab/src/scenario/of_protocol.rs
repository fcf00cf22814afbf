//! The options of a study with one protocol over several paths, out of options for several.
//!
//! A comparison of all protocols takes options of each of them. Where every protocol has a study of
//! its own, options of another protocol would be refused there: they are left out. Which values are
//! valid is left to `choice` and the other parsers.

use super::choice::{Scheduling, scheduling, with_parameters};
use super::cmt;
use super::options::Options;
use super::sctp::{SctpChoices, SctpFailover};
use super::table::Key;
use super::variants::{Family, Protocol};
use crate::error::Given;
use transport::sctp::cmt::SchedulerRefusal;

/// Options that only MPTCP has, or only it and TCP.
const OF_MPTCP: [Key; 8] = [
    Key::Reinjection,
    Key::PathManagers,
    Key::Endpoints,
    Key::Limits,
    Key::SimultaneousSyn,
    Key::Ssthresh,
    Key::Pacing,
    Key::Hystart,
];

/// The options without those that this protocol lacks, and a note on schedulers left out.
pub(super) fn of_protocol(options: &Options, protocol: Protocol) -> (Options, Option<String>) {
    let mut of = options.clone();
    match Family::of(protocol) {
        Family::Sctp => OF_MPTCP.into_iter().for_each(|key| of.forget(key)),
        // A competing connection may be of SCTP.
        Family::Tcp if options.described(Key::Flow).is_empty() => {
            let keys = SctpChoices::OPTIONS.into_iter().chain(cmt::switches());
            keys.for_each(|key| of.forget(key));
        }
        Family::Tcp => cmt::switches().for_each(|key| of.forget(key)),
    }
    let is_streams = |given: &Given| given.text.eq_ignore_ascii_case("streams");
    if Family::of(protocol) == Family::Tcp && options.text(Key::Http).is_some_and(is_streams) {
        of.forget(Key::Http);
    }
    for key in [Key::Schedulers, Key::Failover, Key::Primary] {
        keep(&mut of, key, |word| has(protocol, key, word));
    }
    let lost = |word: &str| {
        let is_of_mptcp = matches!(scheduling(word), Ok(Scheduling::Mptcp(_)));
        is_of_mptcp && !has(protocol, Key::Schedulers, word)
    };
    let words = options.texts(Key::Schedulers).iter().flat_map(with_parameters);
    let lost: Vec<String> =
        words.filter(|(_, word)| lost(word)).map(|(_, word)| format!("`{word}`")).collect();
    let note = (!lost.is_empty())
        .then(|| format!("skipped {} with {}, which lacks it", lost.join(", "), protocol.name()));
    (of, note)
}

/// Whether the protocol has what the word of this list names; unknown words are refused elsewhere.
fn has(protocol: Protocol, key: Key, word: &str) -> bool {
    let is_sctp = protocol.is_sctp();
    match key {
        Key::Schedulers => match scheduling(word) {
            Ok(Scheduling::SendAll(_)) => is_sctp,
            Ok(Scheduling::Mptcp(choice)) => !is_sctp || SchedulerRefusal::of(&choice).is_none(),
            Err(_) => true,
        },
        Key::Failover => {
            let is_of_sctp = SctpFailover::by_name(word).is_some();
            let is_of_mptcp = !is_of_sctp && transport::Failover::by_name(word).is_some();
            if is_sctp { !is_of_mptcp } else { !is_of_sctp }
        }
        _ => is_sctp || !word.eq_ignore_ascii_case("fastest-handshake"),
    }
}

/// Removes words from a list; without any left, it is not given.
fn keep(options: &mut Options, key: Key, is_kept: impl Fn(&str) -> bool) {
    let mut lists = Vec::new();
    for given in options.texts(key) {
        let words = with_parameters(given);
        let kept: Vec<&str> =
            words.iter().map(|(_, word)| *word).filter(|word| is_kept(word)).collect();
        if kept.len() == words.len() {
            lists.push(given.clone());
        } else if !kept.is_empty() {
            lists.push(given.with_text(&kept.join(",")));
        }
    }
    options.set_texts(key, lists);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(options: &Options, key: Key) -> Vec<&str> {
        options.texts(key).iter().map(|given| given.text.as_str()).collect()
    }

    #[test]
    fn options_of_the_other_protocol_are_left_out() {
        let all = Options::default()
            .with(Key::Schedulers, "redundant,wrr:3,1,send-all")
            .with(Key::Failover, "pmr")
            .with(Key::PathManagers, "fullmesh")
            .with(Key::Http, "streams")
            .with(Key::Ssthresh, "64KiB")
            .with(Key::Primary, "fastest-handshake,random")
            .with(Key::Sfr, "off")
            .with(Key::Buffers, "1MiB/1MiB");
        let (mptcp, note) = of_protocol(&all, Protocol::Mptcp);
        assert_eq!(note, None, "`send-all` is of the other protocol, not lost");
        assert_eq!(texts(&mptcp, Key::Schedulers), ["redundant,wrr:3,1"]);
        assert_eq!(texts(&mptcp, Key::Primary), ["random"]);
        let given = [Key::Failover, Key::Http, Key::Sfr].map(|key| mptcp.is_given(key));
        assert_eq!(given, [false; 3]);
        let (cmt, note) = of_protocol(&all, Protocol::CmtSctp);
        assert_eq!(texts(&cmt, Key::Schedulers), ["wrr:3,1,send-all"]);
        assert_eq!(note.as_deref(), Some("skipped `redundant` with cmt-sctp, which lacks it"));
        assert_eq!(texts(&cmt, Key::Primary), ["fastest-handshake,random"]);
        let given = [Key::PathManagers, Key::Ssthresh].map(|key| cmt.is_given(key));
        assert_eq!(given, [false; 2]);
        for of in [mptcp, cmt] {
            assert!(of.is_given(Key::Buffers), "options of both stay");
        }
    }

    #[test]
    fn list_without_words_of_the_protocol_is_not_given() {
        let all = Options::default().with(Key::Schedulers, "redundant");
        assert!(!of_protocol(&all, Protocol::CmtSctp).0.is_given(Key::Schedulers));
        let all = Options::default().with(Key::Schedulers, "all");
        assert!(of_protocol(&all, Protocol::CmtSctp).0.is_given(Key::Schedulers));
    }
}

//! Single values of a scenario: congestion controls, protocols, profiles, buffers, numbers.

use super::Baseline;
use crate::error::{Given, InputError, Refusal};
use crate::units::{parse_rate, parse_size};
use crate::words::nearest_help;
use simulator::NicSetup;
use transport::{Buffers, Profile, congestion};

/// Controls that couple several paths: nothing for one path alone.
const COUPLED: [&str; 7] = ["lia", "olia", "balia", "wvegas", "cmtrpv1", "cmtrpv2", "mptcp-like"];
/// Controls that are known but not built yet.
const LATER: [&str; 1] = ["bbr"];
/// Protocols that are known but not built yet.
const PROTOCOLS_LATER: [&str; 3] = ["mptcp", "sctp", "cmt-sctp"];
/// Most repetitions of a study.
const MOST_RUNS: u64 = 1_000_000;
/// Most threads.
const MOST_JOBS: u64 = 4_096;
/// Smallest buffer: less than a segment or two would never move.
const LEAST_BUFFER: u64 = 4 << 10;
/// Largest buffer: what TCP's window field can announce.
const MOST_BUFFER: u64 = 1 << 30;

/// The uncoupled controls of a list, and notes on those left out.
pub(super) fn congestion(lists: &[Given]) -> Result<(Vec<&'static str>, Vec<String>), InputError> {
    let mut chosen: Vec<&'static str> = Vec::new();
    let mut notes = Vec::new();
    for given in lists {
        for (span, word) in given.split_at_commas() {
            let refuse = |problem: String, help: String| {
                given.refuse(Refusal { span: span.clone(), problem, help })
            };
            match controller(word) {
                Ok(Some(name)) if chosen.contains(&name) => {
                    return Err(refuse(format!("`{name}` is given twice"), "keep one".into()));
                }
                Ok(Some(name)) => chosen.push(name),
                Ok(None) => notes.push(format!(
                    "skipped `{word}`: it couples several paths, and TCP has one at a time"
                )),
                Err((problem, help)) => return Err(refuse(problem, help)),
            }
        }
    }
    if chosen.is_empty()
        && let Some(given) = lists.first()
    {
        return Err(given.refuse_whole(
            "no congestion control is left: coupled ones need multi-path TCP, not available yet",
            format!("add one of: {}", available().join(", ")),
        ));
    }
    Ok((chosen, notes))
}

/// The names of the controls that can run on one path.
pub(super) fn available() -> Vec<&'static str> {
    let names = congestion::NAMES.iter().map(|(name, _, _)| *name);
    names.filter(|name| !congestion::is_coupled(name)).collect()
}

/// The control of that name, `None` for a coupled one.
fn controller(word: &str) -> Result<Option<&'static str>, (String, String)> {
    let known = available();
    if let Some(name) = known.iter().find(|name| **name == word) {
        return Ok(Some(name));
    }
    if COUPLED.contains(&word) {
        return Ok(None);
    }
    if LATER.contains(&word) {
        let problem = format!("the congestion control `{word}` is not available yet");
        return Err((problem, format!("available are: {}", known.join(", "))));
    }
    let problem = format!("unknown congestion control `{word}`");
    Err((problem, nearest_help(word, &[known.as_slice(), &COUPLED].concat())))
}

/// Checks that only available protocols are asked for.
pub(super) fn protocols(lists: &[Given]) -> Result<(), InputError> {
    for given in lists {
        for (span, word) in given.split_at_commas() {
            if word == "tcp" {
                continue;
            }
            let (problem, help) = if PROTOCOLS_LATER.contains(&word) {
                let problem = format!("the protocol `{word}` is not available yet");
                (problem, "use `tcp`: each path alone".to_owned())
            } else {
                let names = [&["tcp"][..], &PROTOCOLS_LATER].concat();
                (format!("unknown protocol `{word}`"), nearest_help(word, &names))
            };
            return Err(given.refuse(Refusal { span, problem, help }));
        }
    }
    Ok(())
}

pub(super) fn profile(given: &Given) -> Result<Profile, InputError> {
    Profile::by_name(&given.text).ok_or_else(|| {
        let names: Vec<&str> = Profile::ALL.iter().map(|(_, name)| *name).collect();
        let problem = format!("unknown profile `{}` of the sender", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

/// `SND/RCV` or `fixed:SND/RCV`.
pub(super) fn buffers(given: &Given) -> Result<Buffers, InputError> {
    let (text, auto_tuning) = match given.text.strip_prefix("fixed:") {
        Some(rest) => (rest, false),
        None => (given.text.as_str(), true),
    };
    let offset = given.text.len() - text.len();
    let Some((send, receive)) = text.split_once('/') else {
        return Err(given.refuse_whole(
            format!("`{}` does not name two buffers", given.text),
            "write SEND/RECEIVE, `4MiB/6MiB`; `fixed:1MiB/2MiB` switches auto-tuning off",
        ));
    };
    let size = |text: &str, offset: usize| {
        let refuse = |refusal: Refusal| given.refuse(refusal.shifted(offset));
        let bytes = parse_size(text).map_err(refuse)?;
        if !(LEAST_BUFFER..=MOST_BUFFER).contains(&bytes) {
            let problem = format!("a buffer of `{text}` is not between 4KiB and 1GiB");
            return Err(refuse(Refusal::new(text, problem, "write `1MiB`, for example")));
        }
        // At most 1 GiB.
        Ok(u32::try_from(bytes).unwrap_or(u32::MAX))
    };
    let (send_max, receive_max) = (size(send, offset)?, size(receive, offset + send.len() + 1)?);
    Ok(Buffers { send_max, receive_max, auto_tuning })
}

/// `none` or a rate.
pub(super) fn nic(given: &Given) -> Result<Option<NicSetup>, InputError> {
    if given.text == "none" {
        return Ok(None);
    }
    match parse_rate(&given.text) {
        Ok(rate) => Ok(Some(NicSetup { rate, ..NicSetup::default() })),
        Err(refusal) if given.text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            Err(given.refuse(refusal))
        }
        Err(_) => Err(given.refuse_whole(
            format!("`{}` is not the rate of a network interface", given.text),
            "write `1gbit`, for example, or `none` to leave the interface's queue out",
        )),
    }
}

pub(super) fn runs(given: &Given) -> Result<u32, InputError> {
    if given.text == "auto" {
        return Err(given.refuse_whole("`auto` is not available yet", "write a number: 20"));
    }
    let runs = number(given, 1..=MOST_RUNS, "number of repetitions")?;
    // At most a million.
    Ok(u32::try_from(runs).unwrap_or(u32::MAX))
}

pub(super) fn jobs(given: &Given) -> Result<usize, InputError> {
    let jobs = number(given, 1..=MOST_JOBS, "number of threads")?;
    Ok(usize::try_from(jobs).unwrap_or(1))
}

pub(super) fn seed(given: &Given) -> Result<u64, InputError> {
    number(given, 0..=u64::MAX, "seed")
}

fn number(
    given: &Given,
    range: std::ops::RangeInclusive<u64>,
    what: &str,
) -> Result<u64, InputError> {
    given.text.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
        given.refuse_whole(
            format!("`{}` is not a {what}", given.text),
            format!("write a whole number from {} to {}", range.start(), range.end()),
        )
    })
}

pub(super) fn baseline(given: &Given, variants: &[String]) -> Result<Baseline, InputError> {
    match given.text.as_str() {
        "best" => Ok(Baseline::Best),
        "average" => Ok(Baseline::Average),
        name if variants.iter().any(|variant| variant == name) => {
            Ok(Baseline::Named(name.to_owned()))
        }
        name => {
            let mut names = vec!["best", "average"];
            names.extend(variants.iter().map(String::as_str));
            let problem = format!("no variant is called `{name}`");
            Err(given.refuse_whole(problem, nearest_help(name, &names)))
        }
    }
}

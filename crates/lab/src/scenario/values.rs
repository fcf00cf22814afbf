//! Single values of a scenario: profiles, buffers, numbers, the baseline. `choice` parses lists of
//! names.

use super::Baseline;
use super::variants::{Family, Protocol, Variant};
use crate::error::{Given, InputError, Refusal};
use crate::units::{parse_probability, parse_rate, parse_size, parse_time};
use crate::words::nearest_help;
use base::Duration;
use simulator::NicSetup;
use transport::{Buffers, Profile};

/// Most repetitions of a study.
pub(super) const MOST_RUNS: u64 = 1_000_000;
/// Most threads.
pub(super) const MOST_JOBS: u64 = 4_096;
/// Smallest buffer: with less than a segment or two, no data could be sent.
const LEAST_BUFFER: u64 = 4 << 10;
/// Largest buffer: the largest window that TCP can announce.
const MOST_BUFFER: u64 = 1 << 30;

pub(super) fn profile(given: &Given) -> Result<Profile, InputError> {
    Profile::by_name(&given.text).ok_or_else(|| {
        let names: Vec<&str> = Profile::ALL.iter().map(|(_, name)| *name).collect();
        let problem = format!("unknown profile `{}` of the sender", given.text);
        given.refuse_whole(problem, nearest_help(&given.text, &names))
    })
}

/// The pattern of what `buffers` reads.
pub(super) const BUFFERS_PATTERN: &str = r"^(fixed:)?[0-9.]+[a-zA-Z]*/[0-9.]+[a-zA-Z]*$";

/// `SND/RCV` or `fixed:SND/RCV`.
pub(super) fn buffers(given: &Given) -> Result<Buffers, InputError> {
    parse_buffers(&given.text).map_err(|refusal| given.refuse(refusal))
}

/// The same, of a text within an option.
pub(super) fn parse_buffers(whole: &str) -> Result<Buffers, Refusal> {
    let (text, auto_tuning) = match whole.strip_prefix("fixed:") {
        Some(rest) => (rest, false),
        None => (whole, true),
    };
    let offset = whole.len() - text.len();
    let Some((send, receive)) = text.split_once('/') else {
        let problem = format!("`{whole}` is not a pair of buffer sizes");
        let help = "write SEND/RECEIVE, `4MiB/6MiB`; `fixed:1MiB/2MiB` switches auto-tuning off";
        return Err(Refusal::new(whole, problem, help));
    };
    let size = |text: &str, offset: usize| {
        let bytes = parse_size(text).map_err(|refusal| refusal.shifted(offset))?;
        if !(LEAST_BUFFER..=MOST_BUFFER).contains(&bytes) {
            let problem = format!("a buffer of `{text}` is not between 4KiB and 1GiB");
            let refusal = Refusal::new(text, problem, "write `1MiB`, for example");
            return Err(refusal.shifted(offset));
        }
        // At most 1 GiB.
        Ok(u32::try_from(bytes).unwrap_or(u32::MAX))
    };
    let (send_max, receive_max) = (size(send, offset)?, size(receive, offset + send.len() + 1)?);
    Ok(Buffers { send_max, receive_max, auto_tuning })
}

/// A time from zero to a second; zero needs no unit.
pub(super) fn path_noise(given: &Given) -> Result<Duration, InputError> {
    if given.text == "0" {
        return Ok(Duration::ZERO);
    }
    let noise = parse_time(&given.text).map_err(|refusal| given.refuse(refusal))?;
    if noise > Duration::from_secs(1) {
        let problem = format!("an extra delay of up to `{}` is no noise", given.text);
        return Err(given.refuse_whole(problem, "write `0.1ms`, for example, or `0` for none"));
    }
    Ok(noise)
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
            "write `1gbit`, for example, or `none` for no interface queue",
        )),
    }
}

/// Parses `--runs`.
pub(super) enum RunsWord {
    Auto,
    Number(u32),
}

pub(super) fn runs(given: &Given) -> Result<RunsWord, InputError> {
    if given.text == "auto" {
        return Ok(RunsWord::Auto);
    }
    if !given.text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        let problem = format!("`{}` is not a number of repetitions", given.text);
        let help = format!("write a whole number from 1 to {MOST_RUNS}, or `auto`");
        return Err(given.refuse_whole(problem, help));
    }
    runs_max(given).map(RunsWord::Number)
}

pub(super) fn runs_max(given: &Given) -> Result<u32, InputError> {
    let runs = number(given, 1..=MOST_RUNS, "number of repetitions")?;
    // At most a million.
    Ok(u32::try_from(runs).unwrap_or(u32::MAX))
}

/// `--matters`: a share below 1.
pub(super) fn matters(given: &Given) -> Result<f64, InputError> {
    let share = parse_probability(&given.text).map_err(|refusal| given.refuse(refusal))?;
    if share >= 1.0 {
        return Err(given.refuse_whole(
            format!("a difference of `{}` or more is never reached by a gain", given.text),
            "write a share of the baseline below 100%: `5%`, or `0`",
        ));
    }
    Ok(share)
}

/// `--time`: a time above zero, or `none`.
pub(super) fn time_limit(given: &Given) -> Result<Option<Duration>, InputError> {
    if given.text == "none" {
        return Ok(None);
    }
    let time = parse_time(&given.text).map_err(|refusal| given.refuse(refusal))?;
    if time.is_zero() {
        return Err(given.refuse_whole("no time is left for any run", "write `60s`, or `none`"));
    }
    Ok(Some(time))
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

/// The baseline among these variants. UDP is that of UDP alone: it loses what others deliver.
pub(super) fn baseline(given: &Given, variants: &[Variant]) -> Result<Baseline, InputError> {
    let is_udp = |variant: &Variant| variant.protocol() == Protocol::Udp;
    let only_udp = variants.iter().all(is_udp);
    match given.text.to_ascii_lowercase().as_str() {
        "best" => Ok(Baseline::Best),
        "average" if variants.iter().all(|variant| variant.single_path().is_none()) => Err(given
            .refuse_whole(
                "no path is used alone, so there is no average of single paths",
                if variants.iter().all(|variant| variant.family() == Family::Sctp) {
                    "add `sctp` to the protocols: `--protocols sctp,cmt-sctp`"
                } else {
                    "add `tcp` to the protocols: `--protocols tcp,mptcp`"
                },
            )),
        "average" if variants.iter().all(|of| of.single_path().is_none() || is_udp(of)) => {
            Err(given.refuse_whole(
                "only UDP uses a path alone, and it has no part in the average",
                "add `tcp` to the protocols: `--protocols tcp,udp`",
            ))
        }
        "average" => Ok(Baseline::Average),
        _ => {
            let name = given.text.as_str();
            let exact = variants.iter().find(|variant| variant.name == name);
            let alike = || variants.iter().find(|one| one.name.eq_ignore_ascii_case(name));
            let found = exact.or_else(alike);
            if let Some(variant) = found.filter(|variant| only_udp || !is_udp(variant)) {
                return Ok(Baseline::Named(variant.name.clone()));
            }
            let mut names = vec!["best", "average"];
            let others = variants.iter().filter(|variant| only_udp || !is_udp(variant));
            names.extend(others.map(|variant| variant.name.as_str()));
            let (problem, help) = match found {
                Some(variant) => (
                    format!("`{}` loses what other variants deliver", variant.name),
                    format!("valid are: {}", names.join(", ")),
                ),
                None => (format!("unknown variant `{name}`"), nearest_help(name, &names)),
            };
            Err(given.refuse_whole(problem, help))
        }
    }
}

//! Choices to compare: protocols, congestion controls, schedulers, path managers, path policies, by
//! name.
//!
//! Every name must be known and unique, and a choice without effect is refused. `values` parses
//! single values, `variants` builds the variants.

use super::Options;
use super::cmt::{self, CmtChoices};
use super::sctp::{self, MULTIHOMED, SCTP_FAILOVERS, SctpChoices, SctpFailover};
use super::table::Key;
use super::variants::Protocol;
use crate::error::{Given, InputError, Refusal};
use crate::words::{counted, nearest_help, there_are};
use std::ops::Range;
use transport::choice::{Choice, Row};
use transport::congestion::{self, ControllerChoice, ControllerRow};
use transport::parameters::Refused;
use transport::path_manager::{self, PathManagerKind};
use transport::path_policy::PolicyChoice;
use transport::reinjection::Opportunistic;
use transport::scheduler::{SchedulerChoice, SchedulerRow};
use transport::sctp::cmt::{SchedulerRefusal, SendAllKey};
use transport::{FAILOVER_NAMES, Failover, Profile};

/// Congestion controls that are not implemented yet.
const LATER: [&str; 4] = ["bbr", "bbr1", "bbr2", "bbr3"];
/// The word for every value of a list.
pub(super) const ALL: &str = "all";
/// Largest number of addresses per end of an MPTCP connection, as in Linux.
pub(super) const MOST_PATHS: usize = 8;

/// The chosen names, each list in the order given.
pub(super) struct Chosen {
    pub protocols: Vec<Protocol>,
    pub congestion: Vec<ControllerChoice>,
    pub schedulers: Vec<SchedulerChoice>,
    pub path_managers: Vec<PathManagerKind>,
    pub policies: Vec<PolicyChoice>,
    /// Empty: the default of each scheduler.
    pub failovers: Vec<Failover>,
    /// Congestion controls and fail-over rules of SCTP.
    pub sctp: SctpChoices,
    /// Notes on omitted choices.
    pub notes: Vec<String>,
}

/// Problem of a word, and its remedy.
pub(super) type Complaint = (String, String);

impl Chosen {
    pub(super) fn resolve(
        options: &Options,
        paths: usize,
        profile: Profile,
    ) -> Result<Chosen, InputError> {
        // UDP carries only some traffic, and loses some of it.
        let every: Vec<Protocol> =
            Protocol::ALL.into_iter().filter(|of| *of != Protocol::Udp).collect();
        let protocols = chosen(options.texts(Key::Protocols), usual(paths), &every, protocol)?;
        let mut notes = Vec::new();
        notes.extend(renamed::<SchedulerRow>(options.texts(Key::Schedulers)));
        notes.extend(renamed::<ControllerRow>(options.texts(Key::Cc)));
        let multipath = protocols.contains(&Protocol::Mptcp);
        if protocols.iter().copied().any(Protocol::is_multipath) {
            check_paths(options, &protocols, paths, &mut notes)?;
        }
        if !multipath {
            check_single(options, &protocols)?;
        }
        let congestion = controls(options.texts(Key::Cc), &protocols, &mut notes)?;
        let usual = ControllerChoice::RENO;
        let of_sctp = controls_of(Protocol::Sctp, (&congestion, usual), &protocols, &mut notes);
        let profile_of_sctp = sctp::profile_of(options)?;
        let usual = cmt::usual_control(profile_of_sctp);
        let of_cmt = controls_of(Protocol::CmtSctp, (&congestion, usual), &protocols, &mut notes);
        let default = usual_schedulers(profile);
        let (schedulers, of_schedulers) =
            schedulers(options.texts(Key::Schedulers), default, &protocols, &mut notes)?;
        let schedulers = with_reinjection(schedulers, options.text(Key::Reinjection))?;
        let default = vec![PathManagerKind::default()];
        let names = path_manager::NAMES.iter().map(|(name, ..)| *name);
        let every: Vec<PathManagerKind> = names.filter_map(PathManagerKind::by_name).collect();
        let managers = options.texts(Key::PathManagers);
        let path_managers = chosen_of(managers, default, &every, with_parameters, path_manager)?;
        let default = vec![PolicyChoice::NONE];
        let concurrent = protocols.iter().copied().any(Protocol::is_multipath);
        let every = PolicyChoice::all().filter(|policy| concurrent || policy.is_none());
        let every: Vec<PolicyChoice> = every.collect();
        let texts = options.texts(Key::Policy);
        let policies = chosen_of(texts, default, &every, with_parameters, |word| {
            policy(word).and_then(|policy| fitting(policy, concurrent))
        })?;
        let (failovers, rules) = failovers(options.texts(Key::Failover), &protocols)?;
        notes.extend(unweighted(&schedulers));
        check_weights(options.texts(Key::Schedulers), &schedulers, paths)?;
        notes.extend(unnamed(&path_managers, &failovers));
        notes.extend(single_homed(&protocols, paths));
        notes.extend(none_alone(&protocols).filter(|_| !options.is_given(Key::Baseline)));
        check_weights(options.texts(Key::Schedulers), &of_schedulers.schedulers, paths)?;
        cmt::check_groups(options.texts(Key::CcGroups), paths)?;
        let cmt = CmtChoices { congestion: of_cmt, ..of_schedulers };
        let sctp =
            SctpChoices { congestion: of_sctp, failovers: rules, cmt, ..SctpChoices::default() };
        Ok(Chosen {
            protocols,
            congestion,
            schedulers,
            path_managers,
            policies,
            failovers,
            sctp,
            notes,
        })
    }
}

/// Options of MPTCP are refused without it.
fn check_single(options: &Options, protocols: &[Protocol]) -> Result<(), InputError> {
    let has = |is_one: fn(Protocol) -> bool, key: Key| match protocols
        .iter()
        .any(|protocol| is_one(*protocol))
    {
        true => &[][..],
        false => options.texts(key),
    };
    let lists = [
        has(Protocol::is_multipath, Key::Schedulers),
        options.texts(Key::Reinjection),
        options.texts(Key::PathManagers),
        has(Protocol::is_sctp, Key::Failover),
    ];
    for lists in lists {
        only_with_mptcp(lists, protocols)?;
    }
    Ok(())
}

/// A note on `wrr` without weights.
fn unweighted(schedulers: &[SchedulerChoice]) -> Option<String> {
    let is_wrr = |scheduler: &&SchedulerChoice| scheduler.takes_weights();
    let mut wrr = schedulers.iter().filter(is_wrr);
    wrr.any(|scheduler| scheduler.weights().is_none())
        .then(|| "`wrr` without weights is `rr`; write `wrr:3,1`, one weight per path".to_owned())
}

/// A note on studies without a single path.
pub(crate) fn none_alone(protocols: &[Protocol]) -> Option<String> {
    let all = protocols.iter().copied().all(Protocol::is_multipath);
    let alone = if protocols == [Protocol::CmtSctp] { "sctp" } else { "tcp" };
    all.then(|| {
        format!(
            "no path is used alone, so variants are compared with the best variant; add `{alone}` \
             to the protocols to learn whether several paths pay off"
        )
    })
}

/// A note on SCTP over one path, which has no other one.
fn single_homed(protocols: &[Protocol], paths: usize) -> Option<String> {
    (paths == 1 && protocols.contains(&Protocol::Sctp))
        .then(|| format!("only one path is given: there is no `sctp/{MULTIHOMED}`"))
}

/// Who switches MPTCP on in mainline Linux gets its scheduler.
pub(super) fn usual_schedulers(profile: Profile) -> Vec<SchedulerChoice> {
    vec![match profile {
        Profile::Linux => SchedulerChoice::linux(),
        _ => SchedulerChoice::default(),
    }]
}

/// The schedulers of MPTCP and the orders of CMT-SCTP's own one, each of the protocols compared.
fn schedulers(
    lists: &[Given],
    default: Vec<SchedulerChoice>,
    protocols: &[Protocol],
    notes: &mut Vec<String>,
) -> Result<(Vec<SchedulerChoice>, CmtChoices), InputError> {
    let compares = |protocol: Protocol| protocols.contains(&protocol);
    let (mptcp, concurrent) = (compares(Protocol::Mptcp), compares(Protocol::CmtSctp));
    let takes = |choice: &SchedulerChoice| SchedulerRefusal::of(choice).is_none();
    let listed = SchedulerChoice::all().filter(|choice| mptcp || (concurrent && takes(choice)));
    let of_mptcp = listed.map(Scheduling::Mptcp);
    let of_cmt = SendAllKey::ALL.into_iter().filter(|_| concurrent);
    let of_cmt = of_cmt.map(|(key, ..)| Scheduling::SendAll(key));
    let every: Vec<Scheduling> = of_mptcp.chain(of_cmt).collect();
    let asked = chosen_of(lists, Vec::new(), &every, with_parameters, |word| {
        let asked = scheduling(word)?;
        match &asked {
            Scheduling::SendAll(_) if !concurrent => Err((
                format!("`{word}` is a scheduler of cmt-sctp, which is not compared"),
                "add `cmt-sctp` to the protocols, or leave the scheduler out".to_owned(),
            )),
            Scheduling::Mptcp(choice) if concurrent && !mptcp => {
                let Some(why) = SchedulerRefusal::of(choice) else { return Ok(asked) };
                let Refused { problem, help } = cmt::no_scheduler(choice.name(), why);
                Err((problem, help))
            }
            _ => Ok(asked),
        }
    })?;
    let mut of_mptcp = Vec::new();
    let mut of_cmt = Vec::new();
    for one in asked {
        match one {
            Scheduling::Mptcp(choice) => of_mptcp.push(choice),
            Scheduling::SendAll(key) => of_cmt.push(key),
        }
    }
    let (taken, skipped): (Vec<_>, Vec<_>) =
        of_mptcp.iter().filter(|_| concurrent).cloned().partition(takes);
    if !skipped.is_empty() {
        let names: Vec<String> = skipped.iter().map(|one| format!("`{one}`")).collect();
        notes.push(format!("skipped {} with cmt-sctp, which lacks it", names.join(", ")));
    }
    if of_cmt.is_empty() && taken.is_empty() {
        of_cmt.push(SendAllKey::default());
    }
    let of_mptcp = if of_mptcp.is_empty() || !mptcp { default } else { of_mptcp };
    Ok((of_mptcp, CmtChoices { send_all: of_cmt, schedulers: taken, ..CmtChoices::default() }))
}

/// A scheduler of any protocol.
#[derive(Clone, PartialEq)]
pub(super) enum Scheduling {
    Mptcp(SchedulerChoice),
    SendAll(SendAllKey),
}

/// The scheduler of any protocol with that name.
pub(super) fn scheduling(word: &str) -> Result<Scheduling, Complaint> {
    Ok(match cmt::send_all(word) {
        Some(key) => Scheduling::SendAll(key?),
        None => Scheduling::Mptcp(scheduler(word)?),
    })
}

/// The congestion controls of SCTP or CMT-SCTP, otherwise its `usual` one, and a note on those that
/// it lacks.
fn controls_of(
    protocol: Protocol,
    (asked, usual): (&[ControllerChoice], ControllerChoice),
    protocols: &[Protocol],
    notes: &mut Vec<String>,
) -> Vec<ControllerChoice> {
    let has = if protocol.is_multipath() { cmt::has } else { sctp::has };
    let (has, lacks): (Vec<_>, Vec<_>) = asked.iter().cloned().partition(has);
    let names: Vec<String> = lacks.iter().map(|control| format!("`{control}`")).collect();
    let compared = protocols.contains(&protocol);
    let name = protocol.name();
    match (has.is_empty(), names.as_slice()) {
        (_, []) => {}
        _ if !compared => {}
        (true, _) => {
            notes.push(format!("{name} has no {}: it takes `{usual}`", names.join(" and no ")))
        }
        (false, _) => {
            notes.push(format!("skipped {} with {name}, which lacks it", names.join(", ")))
        }
    }
    if has.is_empty() { vec![usual] } else { has }
}

/// A fail-over rule of any protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Mptcp(Failover),
    Sctp(SctpFailover),
}

/// The fail-over rules of MPTCP and of SCTP.
fn failovers(
    lists: &[Given],
    protocols: &[Protocol],
) -> Result<(Vec<Failover>, Vec<SctpFailover>), InputError> {
    let compares = |rule: &Rule| {
        let is_owner = |protocol: &Protocol| match rule {
            Rule::Mptcp(_) => *protocol == Protocol::Mptcp,
            Rule::Sctp(_) => protocol.is_sctp(),
        };
        protocols.iter().any(is_owner)
    };
    let every = Failover::ALL.map(Rule::Mptcp).into_iter();
    let every = every.chain(SctpFailover::ALL.map(Rule::Sctp)).filter(compares);
    let every: Vec<Rule> = every.collect();
    let rules = chosen(lists, Vec::new(), &every, |word| {
        let rule = rule(word, protocols)?;
        if compares(&rule) {
            return Ok(rule);
        }
        let owner = if matches!(rule, Rule::Sctp(_)) { "sctp" } else { "mptcp" };
        let problem = format!("`{word}` is a rule of {owner}, which is not compared");
        Err((problem, format!("add `{owner}` to the protocols, or leave the rule out")))
    })?;
    let of_mptcp = rules.iter().filter_map(|rule| match rule {
        Rule::Mptcp(rule) => Some(*rule),
        Rule::Sctp(_) => None,
    });
    let of_sctp = rules.iter().filter_map(|rule| match rule {
        Rule::Sctp(rule) => Some(*rule),
        Rule::Mptcp(_) => None,
    });
    Ok((of_mptcp.collect(), of_sctp.collect()))
}

fn rule(word: &str, protocols: &[Protocol]) -> Result<Rule, Complaint> {
    if let Some(rule) = SctpFailover::by_name(word) {
        return Ok(Rule::Sctp(rule));
    }
    if !protocols.iter().copied().any(Protocol::is_sctp) || Failover::by_name(word).is_some() {
        return failover(word).map(Rule::Mptcp);
    }
    let of_mptcp = FAILOVER_NAMES.iter().filter(|_| protocols.contains(&Protocol::Mptcp));
    let names: Vec<&str> = of_mptcp.chain(SCTP_FAILOVERS).map(|(name, _, _)| *name).collect();
    Err(unknown("fail-over rule", word, &names, &[]))
}

/// Notes on defaults that the names of variants omit.
fn unnamed(managers: &[PathManagerKind], failovers: &[Failover]) -> Vec<String> {
    let mut notes = Vec::new();
    let usual = PathManagerKind::default();
    if managers.len() > 1 && managers.contains(&usual) {
        notes.push(format!("variants without a path manager in their name use `{usual}`"));
    }
    if failovers.len() > 1 {
        notes.push(
            "variants without a fail-over rule in their name use that of their scheduler: `stale` \
             with `linux` and the profile `linux`, otherwise `rto`"
                .to_owned(),
        );
    }
    notes
}

/// Default protocols: with several paths, the comparison includes MPTCP.
fn usual(paths: usize) -> Vec<Protocol> {
    match paths {
        0 | 1 => vec![Protocol::Tcp],
        _ => vec![Protocol::Tcp, Protocol::Mptcp],
    }
}

/// Values of all words of some lists, `default` without words, `every` for the word `all`.
pub(super) fn chosen<T: PartialEq + Clone>(
    lists: &[Given],
    default: Vec<T>,
    every: &[T],
    read: impl Fn(&str) -> Result<T, Complaint>,
) -> Result<Vec<T>, InputError> {
    chosen_of(lists, default, every, Given::split_at_commas, read)
}

/// A word with its position in its list.
type Word<'a> = (Range<usize>, &'a str);

/// The same for words found by `split`.
pub(super) fn chosen_of<T: PartialEq + Clone>(
    lists: &[Given],
    default: Vec<T>,
    every: &[T],
    split: impl for<'a> Fn(&'a Given) -> Vec<Word<'a>>,
    read: impl Fn(&str) -> Result<T, Complaint>,
) -> Result<Vec<T>, InputError> {
    let mut values: Vec<T> = Vec::new();
    for given in lists {
        for (span, word) in split(given) {
            if word.eq_ignore_ascii_case(ALL) && !every.is_empty() {
                let more = every.iter().filter(|value| !values.contains(value));
                let more: Vec<T> = more.cloned().collect();
                values.extend(more);
                continue;
            }
            let value = match read(word) {
                Ok(value) if values.contains(&value) => {
                    Err((format!("`{word}` is given twice"), "keep one".to_owned()))
                }
                other => other,
            };
            values.push(
                value.map_err(|(problem, help)| given.refuse(Refusal { span, problem, help }))?,
            );
        }
    }
    Ok(if values.is_empty() { default } else { values })
}

/// Notes on the names that are not those of the table.
fn renamed<R: Row>(lists: &[Given]) -> Vec<String> {
    let mut notes = Vec::new();
    for (_, word) in lists.iter().flat_map(with_parameters) {
        let name = word.split(':').next().unwrap_or(word).trim();
        let own = Choice::<R>::find(name).map_or(name, |choice| choice.name());
        if !own.eq_ignore_ascii_case(name) {
            notes.push(format!("{} `{name}`: its name here is `{own}`", R::KIND));
        }
    }
    notes
}

fn protocol(word: &str) -> Result<Protocol, Complaint> {
    Protocol::by_name(word)
        .ok_or_else(|| unknown("protocol", word, &Protocol::ALL.map(Protocol::name), &[]))
}

/// Error for an unknown word, or for one that is not implemented yet.
fn unknown(what: &str, word: &str, names: &[&str], later: &[&str]) -> Complaint {
    if later.contains(&word.to_lowercase().as_str()) {
        let problem = format!("the {what} `{word}` is not available yet");
        return (problem, format!("available are: {}", names.join(", ")));
    }
    let problem = format!("unknown {what} `{word}`");
    (problem, nearest_help(word, names))
}

/// Refuses too many paths, and notes a single one.
fn check_paths(
    options: &Options,
    protocols: &[Protocol],
    paths: usize,
    notes: &mut Vec<String>,
) -> Result<(), InputError> {
    if let (1, true, Some(given)) =
        (paths, protocols.contains(&Protocol::CmtSctp), options.text(Key::Protocols))
    {
        let problem = "`cmt-sctp` uses several paths at once, and only one is given";
        return Err(given.refuse_whole(problem, "add a path, or write `sctp`"));
    }
    if paths == 1 {
        notes.push("only one path is given: `mptcp` has a single subflow".to_owned());
    }
    if paths <= MOST_PATHS {
        return Ok(());
    }
    let problem = format!(
        "`mptcp` uses at most {MOST_PATHS} addresses per host, and {paths} paths are given"
    );
    let help = "remove some paths, or compare them with `--protocols tcp`";
    Err(match options.text(Key::Protocols) {
        Some(given) => given.refuse_whole(problem, help),
        None => InputError::at("--path", problem, help),
    })
}

/// Refuses a list for several paths if only single paths are compared.
fn only_with_mptcp(lists: &[Given], protocols: &[Protocol]) -> Result<(), InputError> {
    let Some(given) = lists.first() else { return Ok(()) };
    let problem = match protocols.iter().any(|protocol| protocol.is_sctp()) {
        false => "this option needs several paths at once, but each path is compared alone",
        true => "this is an option of MPTCP, which is not compared",
    };
    let with_it = protocols.iter().map(|protocol| protocol.name()).chain(["mptcp"]);
    let with_it: Vec<_> = with_it.collect();
    let help = format!("add `mptcp` to the protocols: `--protocols {}`", with_it.join(","));
    Err(given.refuse_whole(problem, help))
}

/// Whether the word is `wrr` with a weight, under any of its names.
fn is_weighted(word: &str) -> bool {
    let name = word.split_once(':').map(|(name, _)| name);
    name.and_then(SchedulerChoice::find).is_some_and(|scheduler| scheduler.takes_weights())
}

/// The words of a list; numbers after `wrr:` and `key=value` after the colon of another scheduler
/// belong to its word.
pub(super) fn with_parameters(given: &Given) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    for (span, word) in given.split_at_commas() {
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let setting = word.contains('=') && !word.contains(':');
        let continues =
            |last: &str| (setting && last.contains(':')) || (number && is_weighted(last));
        match words.last_mut().filter(|(_, last)| continues(last)) {
            Some((whole, last)) => {
                whole.end = span.end;
                *last = &given.text[whole.clone()];
            }
            None => words.push((span, word)),
        }
    }
    words
}

/// The policy of a word, with its parameters; `special` has other words for some.
fn named<R: Row>(
    word: &str,
    special: impl Fn(&str) -> Option<Complaint>,
) -> Result<Choice<R>, Complaint> {
    let (name, set) = match word.split_once(':') {
        Some((name, set)) => (name.trim(), Some(set)),
        None => (word, None),
    };
    let choice = Choice::find(name).ok_or_else(|| {
        let names: Vec<&str> = R::table().iter().map(|row| row.about().0).collect();
        special(name).unwrap_or_else(|| unknown(R::KIND, name, &names, &[]))
    })?;
    match set {
        Some(set) => choice.with(set).map_err(|Refused { problem, help }| (problem, help)),
        None => Ok(choice),
    }
}

/// The schedulers, with the given reinjection for those that define none.
fn with_reinjection(
    schedulers: Vec<SchedulerChoice>,
    asked: Option<&Given>,
) -> Result<Vec<SchedulerChoice>, InputError> {
    let Some(given) = asked else { return Ok(schedulers) };
    let word = given.text.trim();
    let Some(mode) = Opportunistic::by_name(word) else {
        let known = Opportunistic::ALL.map(Opportunistic::name);
        let (problem, help) = unknown("reinjection", word, &known, &[]);
        return Err(given.refuse_whole(problem, help));
    };
    let mut all: Vec<SchedulerChoice> = Vec::new();
    for scheduler in schedulers {
        let scheduler = match scheduler.sets_reinjection() {
            true => scheduler,
            false => scheduler
                .with_reinjection(mode)
                .map_err(|Refused { problem, help }| given.refuse_whole(problem, help))?,
        };
        if all.contains(&scheduler) {
            let problem = format!(
                "`{scheduler}` is given twice, because this reinjection is the default of \
                    all"
            );
            return Err(given.refuse_whole(problem, "keep one"));
        }
        all.push(scheduler);
    }
    Ok(all)
}

/// Refuses weights of nonexistent paths.
pub(super) fn check_weights(
    lists: &[Given],
    schedulers: &[SchedulerChoice],
    paths: usize,
) -> Result<(), InputError> {
    let counts = schedulers.iter().filter_map(SchedulerChoice::weights);
    let Some(count) = counts.into_iter().find(|count| *count != paths) else {
        return Ok(());
    };
    let has_weights = |given: &&Given| with_parameters(given).iter().any(|(_, w)| is_weighted(w));
    let Some(given) = lists.iter().find(has_weights) else {
        return Ok(());
    };
    let weights = counted(count, "weight");
    let problem = format!("`wrr` has {weights}, and {}", there_are(paths));
    Err(given.refuse_whole(problem, "write one weight per path, in the order of the paths"))
}

/// A scheduler, by its name in the papers or in kernels.
pub(super) fn scheduler(word: &str) -> Result<SchedulerChoice, Complaint> {
    named(word, |name| {
        name.eq_ignore_ascii_case("default").then(|| {
            (
                "`default` is ambiguous: lowest RTT first in the kernels of the papers, another \
                 rule (queued bytes over pacing rate) in mainline Linux"
                    .to_owned(),
                "write `lrf` for the first, `linux` for the second".to_owned(),
            )
        })
    })
}

pub(super) fn path_manager(word: &str) -> Result<PathManagerKind, Complaint> {
    let names: Vec<&str> = path_manager::NAMES.iter().map(|(name, _, _)| *name).collect();
    let found = match word.split_once(':') {
        None => PathManagerKind::by_name(word).map(Ok),
        Some((name, text)) => {
            let text: String = text.split_whitespace().collect();
            PathManagerKind::parse(name.trim(), &text)
        }
    };
    let found = found.ok_or_else(|| unknown("path manager", word, &names, &[]))?;
    found.map_err(|Refused { problem, help }| (problem, help))
}

pub(super) fn failover(word: &str) -> Result<Failover, Complaint> {
    let names: Vec<&str> = FAILOVER_NAMES.iter().map(|(name, _, _)| *name).collect();
    Failover::by_name(word).ok_or_else(|| unknown("fail-over rule", word, &names, &[]))
}

pub(super) fn policy(word: &str) -> Result<PolicyChoice, Complaint> {
    named(word, |_| None)
}

/// Refuses a policy for several paths if every path is used alone.
fn fitting(policy: PolicyChoice, multipath: bool) -> Result<PolicyChoice, Complaint> {
    if multipath || policy.is_none() {
        return Ok(policy);
    }
    let problem = format!("`{policy}` chooses among paths, and `tcp` uses one path");
    let help = format!(
        "policies of `tcp`: {}; add `mptcp` to the protocols to use others: `--protocols \
         tcp,mptcp`",
        PolicyChoice::NONE
    );
    Err((problem, help))
}

/// The controls of some lists that one of `protocols` can use, and notes on the others.
fn controls(
    lists: &[Given],
    protocols: &[Protocol],
    notes: &mut Vec<String>,
) -> Result<Vec<ControllerChoice>, InputError> {
    let multipath = protocols.iter().copied().any(Protocol::is_multipath);
    let default = vec![ControllerChoice::CUBIC];
    let every: Vec<ControllerChoice> = ControllerChoice::all().collect();
    let asked = chosen_of(lists, default, &every, with_parameters, built_control)?;
    if protocols.contains(&Protocol::Tcp) {
        let skipped = asked.iter().filter(|control| control.is_coupled());
        let skipped: Vec<String> = skipped.map(|control| format!("`{control}`")).collect();
        let what = if skipped.len() == 1 { "it couples" } else { "they couple" };
        if !skipped.is_empty() {
            notes.push(format!(
                "skipped {} with tcp: {what} several paths, and TCP has one at a time",
                skipped.join(", ")
            ));
        }
    }
    let only_sctp = protocols.iter().copied().all(Protocol::is_sctp);
    let is_usable = |control: &ControllerChoice| multipath || only_sctp || !control.is_coupled();
    let usable: Vec<ControllerChoice> = asked.into_iter().filter(is_usable).collect();
    if let (true, Some(given)) = (usable.is_empty() && !only_sctp, lists.first()) {
        let uncoupled = ControllerChoice::all().filter(|control| !control.is_coupled());
        let uncoupled: Vec<&str> = uncoupled.map(|control| control.name()).collect();
        return Err(given.refuse_whole(
            "no congestion control remains: coupled ones need several paths",
            format!("add one of {}, or `--protocols tcp,mptcp`", uncoupled.join(", ")),
        ));
    }
    Ok(usable)
}

/// A congestion control with its parameters.
pub(super) fn built_control(word: &str) -> Result<ControllerChoice, Complaint> {
    named(word, |name| {
        let names: Vec<&str> = congestion::TABLE.iter().map(|row| row.name).collect();
        Some(unknown("congestion control", name, &names, &LATER))
    })
}

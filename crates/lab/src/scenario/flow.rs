//! Descriptions of flows that compete with the compared connection: `web='tcp on wlan cc reno start
//! 0s..2s count 3'`.
//!
//! A flow is a connection between two further hosts at the ends of paths of the scenario. Its start
//! may be a range; every repetition draws a value, the same for every variant. `flow_table` reads
//! flows that are given key by key.

use super::choice::{MOST_PATHS, Scheduling, built_control, scheduling};
use super::cmt;
use super::flow_table::item_words;
use super::sctp::{self, SctpChoices, SctpFailover};
use super::show_buffers;
use super::values::parse_buffers;
use super::variants::Protocol;
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::token::{Token, tokens};
use crate::path_spec::{PathSpec, RUN_LIMIT, Span, check_name, show_time};
use crate::traffic_spec::{
    DATAGRAM_EXAMPLES, FLOW_EXAMPLES, Fetching, Folders, names_model, parse_traffic, show_traffic,
};
use crate::units::parse_time;
use crate::words::nearest_help;
use base::chance::owner_of;
use base::{Chance, Duration, Purpose};
use simulator::{Carrier, FlowSetup, MOST_FLOWS, Multipath};
use std::fmt::Write;
use traffic::{Draws, Traffic};
use transport::congestion::ControllerChoice;
use transport::scheduler::SchedulerChoice;
use transport::sctp::cmt::{CmtConfig, SchedulerRefusal, SendAllKey};
use transport::sctp::{Addresses, RtxPolicy, SctpConfig};
use transport::{Buffers, Profile, TcpConfig};

const EXAMPLE: &str = "tcp on wlan cc reno start 0s..2s";

/// One or several identical flows.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowSpec {
    /// Name given by the user.
    pub name: String,
    /// TCP or UDP over one path, MPTCP over some, or SCTP over one of some at a time.
    pub protocol: Protocol,
    /// Indices of the paths of the scenario that it may use, the first subflow's first.
    pub paths: Vec<usize>,
    /// Congestion control.
    pub congestion: ControllerChoice,
    /// Scheduler of MPTCP.
    pub scheduler: SchedulerChoice,
    /// Scheduler of CMT-SCTP: one of MPTCP, otherwise the order of `send-all`.
    pub concurrent: (SendAllKey, Option<SchedulerChoice>),
    /// Traffic; `None`: saturating from its start to the end of the run.
    pub traffic: Option<Traffic>,
    /// Start time.
    pub start: Span<Duration>,
    /// One-way delay between its client and the paths, added to theirs.
    pub delay: Duration,
    /// Client to server.
    pub reverse: bool,
    /// Number of such flows, each with its own start.
    pub count: u32,
    /// Socket buffers of both ends; `None`: those of the scenario.
    pub buffers: Option<Buffers>,
    /// It follows from `--background`.
    pub is_background: bool,
}

/// Context of parsing a flow.
pub(super) struct Surroundings<'a> {
    pub paths: &'a [PathSpec],
    pub profile: Profile,
    /// Earliest end of the compared connection, and of the run.
    pub over_at: Duration,
}

impl FlowSpec {
    /// Parses a description whose name is given separately.
    pub(super) fn parse(
        name: &str,
        spec: &Given,
        offset: usize,
        around: &Surroundings<'_>,
    ) -> Result<FlowSpec, InputError> {
        read(name, &spec.text[offset..], around)
            .map_err(|refusal| spec.refuse(refusal.shifted(offset)))
    }

    /// Whether repetitions draw its start, its traffic or the order of its paths.
    pub(super) fn is_drawn(&self) -> bool {
        let draws_order = self.protocol == Protocol::CmtSctp
            && matches!(self.concurrent, (SendAllKey::Random, None));
        draws_order || self.start.is_drawn() || self.traffic.as_ref().is_some_and(Traffic::is_drawn)
    }

    /// Name of each flow.
    pub fn names(&self) -> Vec<String> {
        match self.count {
            1 => vec![self.name.clone()],
            count => (1..=count).map(|number| format!("{}-{number}", self.name)).collect(),
        }
    }

    /// The flows in repetition `run` of a study with `seed`.
    /// Saturating traffic lasts until `deadline`.
    pub(crate) fn draw(
        &self,
        (seed, run): (u64, u64),
        (tcp, sctp): (&TcpConfig, &SctpChoices),
        deadline: Duration,
    ) -> Vec<FlowSetup> {
        let saturating = || Traffic::BulkTime(deadline);
        let carrier = match self.protocol {
            Protocol::Mptcp => Carrier::Multipath(Multipath {
                protocol: self.protocol,
                scheduler: self.scheduler.clone(),
                probes_removed: true,
                ..Multipath::default()
            }),
            Protocol::Sctp if self.paths.len() > 1 => {
                let usual = SctpFailover::usual(sctp.profile);
                let config = sctp.config(Addresses::All, usual, RtxPolicy::default());
                Carrier::Sctp(Box::new(config))
            }
            Protocol::Sctp => Carrier::Sctp(Box::new(sctp.single())),
            Protocol::CmtSctp => {
                let usual = SctpFailover::usual(sctp.profile);
                let policy = cmt::rtx_policy(sctp.profile);
                let config = sctp.config(Addresses::All, usual, policy);
                let (send_all, scheduler) = self.concurrent.clone();
                let cmt = Some(CmtConfig { send_all, ..CmtConfig::of(sctp.profile) });
                Carrier::Sctp(Box::new(SctpConfig { cmt, scheduler, ..config }))
            }
            Protocol::Tcp | Protocol::Udp => Carrier::Single(self.protocol),
        };
        let traffic = self.traffic.clone().unwrap_or_else(saturating);
        let congestion = self.congestion.clone();
        let buffers = self.buffers.unwrap_or(tcp.buffers);
        let names = self.names();
        let drawn = |number: u32| {
            let name = names.get(number as usize).unwrap_or(&self.name);
            traffic.drawn(Draws::new((seed, run), owner_of(&format!("flow/{name}"))))
        };
        let one = |number: u32| FlowSetup {
            carrier: carrier.clone(),
            tcp: TcpConfig { congestion: congestion.clone(), buffers, ..tcp.clone() },
            reverse: self.reverse,
            start: draw_start(&self.start, &format!("flow/{}", self.name), seed, run, number),
            delay: self.delay,
            ..FlowSetup::new(&self.paths, drawn(number))
        };
        (0..self.count).map(one).collect()
    }

    /// The description for a scenario file; `paths` are those of the scenario.
    pub fn show(&self, paths: &[PathSpec]) -> String {
        let names = self.paths.iter().filter_map(|path| paths.get(*path));
        let names: Vec<&str> = names.map(|path| path.name.as_str()).collect();
        let mut words = format!("{} on {}", self.protocol.name(), names.join(","));
        if self.protocol != Protocol::Udp {
            // Writing to a string cannot fail.
            let _ = write!(words, " cc {}", self.congestion);
        }
        let mut add = |word: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = write!(words, " {word} {value}");
        };
        match (self.protocol, &self.concurrent) {
            (Protocol::Mptcp, _) => add("scheduler", self.scheduler.to_string()),
            (Protocol::CmtSctp, (_, Some(scheduler))) => add("scheduler", scheduler.to_string()),
            (Protocol::CmtSctp, (key, None)) if *key != SendAllKey::default() => {
                add("scheduler", cmt::scheduler_name(*key));
            }
            _ => {}
        }
        if let Some(traffic) = &self.traffic {
            add("traffic", show_traffic(traffic));
        }
        if self.start != Span::fixed(Duration::ZERO) {
            add("start", show_start(&self.start));
        }
        if !self.delay.is_zero() {
            add("delay", show_time(self.delay));
        }
        if let Some(buffers) = &self.buffers {
            add("buffers", show_buffers(buffers));
        }
        if self.count != 1 {
            add("count", self.count.to_string());
        }
        if self.reverse {
            words.push_str(" reverse");
        }
        words
    }
}

/// A time, or a range that repetitions draw from.
pub(super) fn show_start(start: &Span<Duration>) -> String {
    if start.is_drawn() {
        format!("{}..{}", show_time(start.low), show_time(start.high))
    } else {
        show_time(start.low)
    }
}

/// The start of the `number`-th connection of `owner` in a repetition, the same for every variant.
pub(crate) fn draw_start(
    start: &Span<Duration>,
    owner: &str,
    seed: u64,
    run: u64,
    number: u32,
) -> Duration {
    let width = start.high.saturating_sub(start.low).as_nanos();
    let chance = Chance::new(seed, run);
    let bound = width.saturating_add(1);
    let drawn = chance.below(bound, owner_of(owner), Purpose::Traffic, number.into());
    Duration::from_nanos(start.low.as_nanos() + drawn)
}

/// `2s`, or `0s..2s`.
pub(super) fn parse_start(text: &str) -> Result<Span<Duration>, Refusal> {
    let Some((low, high)) = text.split_once("..") else {
        return parse_time(text).map(Span::fixed);
    };
    let high_at = low.len() + 2;
    let shifted = |refusal: Refusal| refusal.shifted(high_at);
    let span = Span::uniform(parse_time(low)?, parse_time(high).map_err(shifted)?);
    if span.high < span.low {
        let help = format!("write the earlier time first: `{high}..{low}`");
        return Err(Refusal::new(text, format!("`{text}` has its ends in the wrong order"), help));
    }
    Ok(span)
}

/// Items parsed so far.
#[derive(Default)]
struct Draft<'t> {
    protocol: Option<Protocol>,
    on: Option<(Vec<usize>, &'t Token)>,
    congestion: Option<(ControllerChoice, &'t Token)>,
    scheduler: Option<(Scheduling, &'t Token)>,
    traffic: Option<Traffic>,
    start: Option<Span<Duration>>,
    delay: Option<Duration>,
    count: Option<u32>,
    buffers: Option<(Buffers, &'t Token)>,
    reverse: bool,
}

fn read(name: &str, text: &str, around: &Surroundings<'_>) -> Result<FlowSpec, Refusal> {
    let tokens = tokens(text)?;
    let mut said: Vec<Option<&str>> = Vec::new();
    let mut draft = Draft::default();
    let mut rest = tokens.iter();
    while let Some(word) = rest.next() {
        // The names of protocols are one item.
        let item = Some(word.text.as_str()).filter(|word| Protocol::by_name(word).is_none());
        if said.contains(&item) {
            let what = item.map_or("the protocol".to_owned(), |item| format!("`{item}`"));
            return Err(word.refuse(format!("{what} is given twice"), "keep one"));
        }
        said.push(item);
        draft.item(word, &mut rest, around)?;
    }
    let (paths, place) = draft.on.take().ok_or_else(|| {
        let help = format!("write `{EXAMPLE}`, for example");
        Refusal::new(text, format!("flow `{name}` has no path"), help)
    })?;
    let several = if paths.len() > 1 { Protocol::Mptcp } else { Protocol::Tcp };
    let protocol = draft.protocol.unwrap_or(several);
    match protocol {
        Protocol::Mptcp => draft.check_mptcp()?,
        Protocol::CmtSctp => draft.check_concurrent((&paths, place))?,
        Protocol::Udp => draft.check_datagrams((&paths, place))?,
        Protocol::Tcp | Protocol::Sctp => draft.check_one_at_a_time(protocol, (&paths, place))?,
    }
    if paths.len() > MOST_PATHS {
        let problem = format!("`mptcp` uses at most {MOST_PATHS} addresses per host");
        return Err(place.refuse(problem, "name fewer paths"));
    }
    let usual = match protocol {
        Protocol::Sctp | Protocol::CmtSctp => ControllerChoice::RENO,
        Protocol::Tcp | Protocol::Mptcp | Protocol::Udp => ControllerChoice::CUBIC,
    };
    let (scheduler, concurrent) = match draft.scheduler {
        Some((Scheduling::Mptcp(scheduler), _)) => {
            (scheduler.clone(), (SendAllKey::default(), Some(scheduler)))
        }
        Some((Scheduling::SendAll(key), _)) => (SchedulerChoice::default(), (key, None)),
        None => Default::default(),
    };
    Ok(FlowSpec {
        name: name.to_owned(),
        protocol,
        paths,
        congestion: draft.congestion.map_or(usual, |(control, _)| control),
        scheduler,
        concurrent,
        traffic: draft.traffic,
        start: draft.start.unwrap_or(Span::fixed(Duration::ZERO)),
        delay: draft.delay.unwrap_or(Duration::ZERO),
        reverse: draft.reverse,
        count: draft.count.unwrap_or(1),
        buffers: draft.buffers.map(|(buffers, _)| buffers),
        is_background: false,
    })
}

impl<'t> Draft<'t> {
    /// Refuses the scheduler of CMT-SCTP.
    fn check_mptcp(&self) -> Result<(), Refusal> {
        match &self.scheduler {
            Some((Scheduling::SendAll(_), word)) => {
                let problem = format!("`{}` is a scheduler of cmt-sctp", word.text);
                Err(word.refuse(problem, "write `lrf`, or make the flow `cmt-sctp`"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what CMT-SCTP lacks: a scheduler that copies data, a single path, and controls
    /// without a form in bytes.
    fn check_concurrent(&self, (paths, place): (&[usize], &Token)) -> Result<(), Refusal> {
        if paths.len() < 2 {
            return Err(place.refuse("a CMT-SCTP flow uses several paths", "write `sctp`"));
        }
        if let Some((name, word)) = self.congestion.as_ref().filter(|(of, _)| !cmt::has(of)) {
            return Err(word.refuse(format!("CMT-SCTP has no `{name}`"), "write `cc reno`"));
        }
        if let Some((Scheduling::Mptcp(scheduler), word)) = &self.scheduler
            && let Some(why) = SchedulerRefusal::of(scheduler)
        {
            let problem = cmt::no_scheduler(scheduler.name(), why).problem;
            return Err(word.refuse(problem, "write `send-all`, or make the flow `mptcp`"));
        }
        Ok(())
    }

    /// Refuses what UDP lacks: several paths, congestion control and a scheduler, and traffic that
    /// adapts to the network.
    fn check_datagrams(&self, (paths, place): (&[usize], &Token)) -> Result<(), Refusal> {
        if paths.len() > 1 {
            return Err(place.refuse("a UDP flow uses one path", "name one path"));
        }
        if let Some((name, word)) = &self.congestion {
            let problem = format!("UDP has no congestion control, and `{name}` is one");
            return Err(word.refuse(problem, "leave `cc` out"));
        }
        if let Some((_, word)) = &self.scheduler {
            return Err(word.refuse("a UDP flow has no scheduler", "leave it out"));
        }
        if let Some((_, word)) = &self.buffers {
            return Err(word.refuse("a UDP flow fills no socket buffers", "leave `buffers` out"));
        }
        match &self.traffic {
            Some(traffic) if traffic.fits_datagrams() => Ok(()),
            Some(traffic) => {
                let problem = format!("`udp` does not carry `{}`", show_traffic(traffic));
                Err(place.refuse(problem, DATAGRAM_EXAMPLES))
            }
            None => Err(place.refuse("a UDP flow needs a traffic", DATAGRAM_EXAMPLES)),
        }
    }

    /// Refuses what TCP and SCTP lack: a scheduler, coupled congestion control and, for TCP, more
    /// than one path.
    fn check_one_at_a_time(
        &self,
        protocol: Protocol,
        (paths, place): (&[usize], &Token),
    ) -> Result<(), Refusal> {
        if paths.len() > 1 && protocol == Protocol::Tcp {
            let help = "name one path, or write `mptcp`";
            return Err(place.refuse("a TCP flow uses one path", help));
        }
        let control = self.congestion.as_ref();
        if let Some((name, word)) = control.filter(|(control, _)| control.is_coupled()) {
            let problem = match protocol {
                Protocol::Sctp => {
                    format!("`{name}` couples several paths, and SCTP uses one at a time")
                }
                _ => format!("`{name}` couples several paths, and TCP uses one"),
            };
            let help = match protocol {
                Protocol::Sctp => "write `cc reno`",
                _ => "write `cc reno` or `cc cubic`, or make it `mptcp`",
            };
            return Err(word.refuse(problem, help));
        }
        let lacking = control.filter(|(control, _)| !sctp::has(control));
        if let (Protocol::Sctp, Some((name, word))) = (protocol, lacking) {
            return Err(word.refuse(format!("SCTP has no `{name}`"), "write `cc reno`"));
        }
        if let Some((_, word)) = &self.scheduler {
            let problem = match protocol {
                Protocol::Sctp => "an SCTP flow has no scheduler",
                _ => "a TCP flow has no scheduler",
            };
            return Err(word.refuse(problem, "leave it out, or make the flow `mptcp`"));
        }
        Ok(())
    }

    /// Parses the item that begins with `word`; its values are taken from `rest`.
    fn item(
        &mut self,
        word: &'t Token,
        rest: &mut std::slice::Iter<'t, Token>,
        around: &Surroundings<'_>,
    ) -> Result<(), Refusal> {
        if let Some(protocol) = Protocol::by_name(&word.text) {
            self.protocol = Some(protocol);
            return Ok(());
        }
        match word.text.to_ascii_lowercase().as_str() {
            "reverse" => self.reverse = true,
            "on" => self.on = Some(on(word, rest, around.paths)?),
            "cc" => {
                let value = value(word, rest, "reno")?;
                self.congestion = Some((named(value, built_control)?, value));
            }
            "scheduler" => {
                let value = value(word, rest, "lrf")?;
                self.scheduler = Some((named(value, scheduling)?, value));
            }
            "traffic" => self.traffic = Some(one_way(value(word, rest, "bulk:4MiB")?, around)?),
            "start" => self.start = Some(start(value(word, rest, "0s..2s")?, around)?),
            "delay" => self.delay = Some(delay(value(word, rest, "20ms")?)?),
            "count" => self.count = Some(count(value(word, rest, "3")?)?),
            "buffers" => {
                let value = value(word, rest, "fixed:1MiB/2MiB")?;
                let buffers = parse_buffers(&value.text).map_err(|refusal| value.place(refusal))?;
                self.buffers = Some((buffers, value));
            }
            unknown => {
                let problem = format!("unknown word `{}` in a flow", word.text);
                return Err(word.refuse(problem, help_with(unknown, around.paths)));
            }
        }
        Ok(())
    }
}

/// Help with an unknown word: the item that it is a value of, otherwise the nearest word.
fn help_with(word: &str, paths: &[PathSpec]) -> String {
    let item = match word {
        "via" | "over" | "path" | "paths" => {
            let name = paths.first().map_or("wlan", |path| &path.name);
            return format!("write `on {name}`, for example");
        }
        _ if paths.iter().any(|path| path.name.eq_ignore_ascii_case(word)) => "on",
        _ if ControllerChoice::find(word).is_some() => "cc",
        _ if SchedulerChoice::find(word).is_some() => "scheduler",
        _ if names_model(word) => "traffic",
        _ => return nearest_help(word, &item_words()),
    };
    format!("write `{item} {word}`")
}

/// Parses the value that must follow `word`.
fn value<'t>(
    word: &Token,
    rest: &mut std::slice::Iter<'t, Token>,
    example: &str,
) -> Result<&'t Token, Refusal> {
    let missing = || {
        let help = format!("write `{} {example}`", word.text);
        word.refuse(format!("`{}` needs a value", word.text), help)
    };
    let is_value = |token: &&&Token| !item_words().contains(&token.text.as_str());
    let present = rest.as_slice().first().filter(|token| is_value(&token));
    present.ok_or_else(missing)?;
    rest.next().ok_or_else(missing)
}

fn named<T>(
    value: &Token,
    read: impl Fn(&str) -> Result<T, (String, String)>,
) -> Result<T, Refusal> {
    read(&value.text).map_err(|(problem, help)| value.refuse(problem, help))
}

/// Paths by name, with commas between them.
fn on<'t>(
    word: &'t Token,
    rest: &mut std::slice::Iter<'t, Token>,
    paths: &[PathSpec],
) -> Result<(Vec<usize>, &'t Token), Refusal> {
    let known: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
    let mut found = Vec::new();
    loop {
        let list = value(word, rest, known.first().unwrap_or(&"wlan"))?;
        for name in list.text.split(',').filter(|name| !name.is_empty()) {
            let is_named = |known: &&str| known.eq_ignore_ascii_case(name);
            let exact = known.iter().position(|known| *known == name);
            let Some(path) = exact.or_else(|| known.iter().position(is_named)) else {
                let problem = format!("unknown path `{name}`");
                return Err(list.refuse(problem, nearest_help(name, &known)));
            };
            if found.contains(&path) {
                return Err(list.refuse(format!("path `{name}` is given twice"), "keep one"));
            }
            found.push(path);
        }
        if !list.text.ends_with(',') {
            return Ok((found, list));
        }
    }
}

fn one_way(value: &Token, around: &Surroundings<'_>) -> Result<Traffic, Refusal> {
    let fetching = Fetching::USUAL;
    if ["web", "maps"].iter().any(|model| value.text.starts_with(model)) {
        return Err(value.refuse("a flow loads no pages", FLOW_EXAMPLES));
    }
    if value.text.starts_with("call") || value.text.contains(":adaptive") {
        return Err(value.refuse("a flow has no adaptive video", FLOW_EXAMPLES));
    }
    if value.text.starts_with("vod") {
        return Err(value.refuse("a flow plays no films", FLOW_EXAMPLES));
    }
    if ["game", "pcap", "table"].iter().any(|model| value.text.starts_with(model)) {
        return Err(value.refuse("a flow repeats no recording", FLOW_EXAMPLES));
    }
    let read = parse_traffic(&value.text, around.profile, Folders::default(), fetching);
    read.map(|(traffic, _)| traffic).map_err(|refusal| value.place(refusal))
}

fn start(value: &Token, around: &Surroundings<'_>) -> Result<Span<Duration>, Refusal> {
    let start = parse_start(&value.text).map_err(|refusal| value.place(refusal))?;
    let over = around.over_at;
    if start.high >= over {
        let problem = format!("the flow starts at {}, after the run ends at {over}", start.high);
        let help = "start it earlier, or lengthen the traffic";
        return Err(value.refuse(problem, help));
    }
    Ok(start)
}

fn delay(value: &Token) -> Result<Duration, Refusal> {
    let delay = parse_time(&value.text).map_err(|refusal| value.place(refusal))?;
    if delay >= RUN_LIMIT {
        let problem = format!("a delay of {delay} is longer than a run ({RUN_LIMIT})");
        return Err(value.refuse(problem, "delays are one-way; write `delay 20ms`, for example"));
    }
    Ok(delay)
}

fn count(value: &Token) -> Result<u32, Refusal> {
    let most = u32::try_from(MOST_FLOWS).unwrap_or(u32::MAX);
    let number = value.text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        let problem = format!("`{}` is not a number of flows", value.text);
        value.refuse(problem, format!("write a whole number from 1 to {most}"))
    })
}

/// Name and description of `NAME='tcp on wlan ...'`, and where the description begins.
pub(super) fn split_name(given: &Given) -> Result<(&str, usize), InputError> {
    let text = given.text.as_str();
    let Some((name, spec)) = text.split_once('=') else {
        let help = format!("write `NAME='{EXAMPLE}'`");
        return Err(given.refuse_whole("a flow needs a name and a description", help));
    };
    check_flow_name(name).map_err(|refusal| given.refuse(refusal))?;
    Ok((name, text.len() - spec.len()))
}

/// Names of flows have the syntax of path names.
pub(super) fn check_flow_name(name: &str) -> Result<(), Refusal> {
    check_name(name).map_err(|refusal| Refusal {
        problem: refusal.problem.replace("path", "flow"),
        help: refusal.help.replace("rate 25mbit delay 20ms limit 100p", EXAMPLE),
        ..refusal
    })
}

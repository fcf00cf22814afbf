//! Path descriptions: `wlan`, or `wlan='rate 25mbit delay 20ms loss 1% limit 100p'`.
//!
//! `items` parses the items, `assemble` combines profile, items and defaults, `show` prints the
//! resolved path, `draw` makes the links of one repetition. `network` simulates links; `trace_file`
//! reads capacity files.

mod assemble;
mod copies;
mod draw;
mod items;
mod middlebox;
mod netem;
mod profile;
mod recordings;
mod show;
mod span;
mod stored;
pub(crate) mod token;
pub(crate) mod trace_file;
pub(crate) mod words;

pub use crate::built_in::BUILT_IN_TRACES;
pub(crate) use assemble::RUN_LIMIT;
pub(crate) use copies::with_copies;
pub use items::Change;
pub use middlebox::Middlebox;
pub use profile::Profile;
pub(crate) use show::show_time;
pub use span::{Limits, Span};
pub(crate) use stored::{has_its_recordings, name_recordings, without_recordings};

use crate::error::{Given, InputError, Refusal};
use base::{Duration, Rate};
use network::{Jitter, QueueConfig};
pub use simulator::Direction;
use std::sync::Arc;
use trace_file::TraceFile;

/// A path of a scenario.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// Name given by the user.
    pub name: String,
    /// Description as given, or the name of a profile.
    pub given: String,
    /// The same with absolute file names.
    pub anchored: String,
    /// Server to client.
    pub down: LinkSpec,
    /// Client to server.
    pub up: LinkSpec,
    /// Timed changes, in the order given.
    pub events: Vec<TimedChange>,
    /// Shared links of the path, from client to server.
    pub via: Vec<Via>,
    /// Named ends, client and server: paths that name the same end have one address there.
    pub ends: [Option<String>; 2],
    /// Its middleboxes, from client to server.
    pub middleboxes: Vec<Middlebox>,
    /// Notes on how the description was resolved.
    pub notes: Vec<String>,
}

/// Keywords of the ends of a path.
pub(crate) const END_WORDS: [&str; 2] = ["client", "server"];

/// A reference to a shared link, and its position in the description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Via {
    /// Its name.
    pub link: String,
    pub(crate) span: std::ops::Range<usize>,
}

/// One direction of a path.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkSpec {
    /// Capacity, constant or recorded.
    pub capacity: CapacitySpec,
    /// One-way delay.
    pub delay: Span<Duration>,
    /// Deviation of the delay.
    pub jitter: Jitter,
    /// Random loss.
    pub loss: Loss,
    /// Limit of the queue.
    pub limit: Limits,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Probability that a packet is reordered.
    pub reorder: f64,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Probability that a packet is corrupted.
    pub corrupt: f64,
}

/// Capacity of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum CapacitySpec {
    /// A constant rate.
    Rate(Span<Rate>),
    /// A recorded capacity.
    Trace(Arc<TraceFile>),
    /// No capacity limit: packets do not queue before the shared link of the path.
    Unlimited,
}

/// Random loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    /// Independent loss of every packet.
    Random(Span<f64>),
    /// netem's `gemodel p r 1-h 1-k`.
    GilbertElliott {
        /// Probability per packet of the change from the good to the bad state, from 0 to 1.
        p: f64,
        /// Probability per packet of the change from the bad to the good state, from 0 to 1.
        r: f64,
        /// Probability of loss in the bad state, from 0 to 1.
        one_minus_h: f64,
        /// Probability of loss in the good state, from 0 to 1.
        one_minus_k: f64,
    },
}

/// A timed change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimedChange {
    /// Links that it affects.
    pub direction: Direction,
    /// The change.
    pub change: Change,
    /// Begin, since the start of the run.
    pub start: Duration,
    /// End, when the former value returns; `None`: never.
    pub end: Option<Duration>,
}

impl PathSpec {
    /// Parses `NAME` or `NAME=spec` from the command line.
    pub fn parse(given: &Given) -> Result<PathSpec, InputError> {
        PathSpec::parse_within(given, RUN_LIMIT)
    }

    /// The same for runs that end after `deadline`.
    pub(crate) fn parse_within(given: &Given, deadline: Duration) -> Result<PathSpec, InputError> {
        let text = given.text.as_str();
        let (name, spec) = match text.split_once('=') {
            Some((name, _)) if name.contains(char::is_whitespace) => (text, None),
            Some((name, spec)) => (name, Some(spec)),
            None => (text, None),
        };
        check_name(name).map_err(|e| given.refuse(e))?;
        let Some(spec) = spec else {
            let profile = Profile::find(name).map_err(|e| given.refuse(e))?;
            let spec = format!("profile {}", profile.name);
            let mut path = assemble::assemble(profile.name, &spec, given, 0, deadline)?;
            if !profile.name.eq_ignore_ascii_case(name) {
                path.notes.insert(0, format!("`{name}` is the profile `{}`", profile.name));
            }
            return Ok(path);
        };
        let offset = text.len() - spec.len();
        let (spec, offset) = unquoted(spec, offset);
        assemble::assemble(name, spec, given, offset, deadline)
    }

    /// Parses a description whose name is given separately, as in scenario files.
    pub(crate) fn parse_named(
        name: &Given,
        given: &Given,
        deadline: Duration,
    ) -> Result<PathSpec, InputError> {
        check_name(&name.text).map_err(|e| name.refuse(e))?;
        assemble::assemble(&name.text, &given.text, given, 0, deadline)
    }

    /// Whether repetitions differ randomly.
    pub fn is_random(&self) -> bool {
        [&self.down, &self.up].into_iter().any(LinkSpec::is_random)
            || self.events.iter().any(|event| matches!(event.change, Change::Loss(p) if p > 0.0))
    }
}

impl PathSpec {
    /// Its named ends with their keywords.
    pub fn end_words(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = END_WORDS.into_iter().zip(&self.ends);
        named.filter_map(|(word, end)| Some((word, end.as_deref()?)))
    }

    /// Whether TCP connections over it end at a proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        self.middleboxes.contains(&Middlebox::Proxy)
    }

    /// Whether it passes this shared link.
    pub fn passes(&self, link: &str) -> bool {
        self.via.iter().any(|via| via.link == link)
    }

    /// Whether packets are lost at random.
    pub(crate) fn loses(&self) -> bool {
        [&self.down, &self.up].into_iter().any(LinkSpec::loses)
            || self.events.iter().any(|event| matches!(event.change, Change::Loss(p) if p > 0.0))
    }

    /// By how many seconds a run of `length` seconds may take longer in the slowest part of its
    /// recordings, if it has any; `bytes` is what it transfers down and up.
    pub(crate) fn longest_delay(&self, bytes: [f64; 2], length: f64) -> Option<f64> {
        let of = |(link, bytes): (&LinkSpec, f64)| match &link.capacity {
            CapacitySpec::Trace(trace) => Some(trace.longest_delay(bytes, length)),
            CapacitySpec::Rate(_) | CapacitySpec::Unlimited => None,
        };
        let delays = [&self.down, &self.up].into_iter().zip(bytes).filter_map(of);
        delays.reduce(f64::max)
    }

    /// Text of exactly what runs depend on; recordings are identified by their content.
    pub(crate) fn essence(&self) -> String {
        let [down, up] = [&self.down, &self.up].map(LinkSpec::essence);
        let via: String = self.via.iter().map(|via| format!(" via {:?}", via.link)).collect();
        let ends: String = self.end_words().map(|(word, end)| format!(" {word} {end:?}")).collect();
        let boxes: String = self.middleboxes.iter().map(|there| format!(" {there}")).collect();
        format!("{:?} down {down} up {up} events {:?}{via}{ends}{boxes}", self.name, self.events)
    }
}

impl LinkSpec {
    fn essence(&self) -> String {
        let CapacitySpec::Trace(trace) = &self.capacity else { return format!("{self:?}") };
        let capacity = CapacitySpec::Rate(Span::fixed(Rate::from_bps(0)));
        let rest = LinkSpec { capacity, ..self.clone() };
        let TraceFile { unit, form, digest, .. } = trace.as_ref();
        format!("{unit:?} {form:?} {digest:?} {rest:?}")
    }

    /// Whether packets are lost at random: on the way, because they arrive corrupted, or in a queue
    /// that drops early.
    pub(crate) fn loses(&self) -> bool {
        let on_the_way = match self.loss {
            Loss::Random(loss) => loss.high > 0.0 || loss.deviation.is_some(),
            Loss::GilbertElliott { .. } => true,
        };
        on_the_way || self.corrupt > 0.0 || matches!(self.queue, QueueConfig::Red { .. })
    }

    fn is_random(&self) -> bool {
        let drawn_capacity = match &self.capacity {
            CapacitySpec::Rate(rate) => rate.is_drawn(),
            CapacitySpec::Trace(_) => true,
            CapacitySpec::Unlimited => false,
        };
        drawn_capacity
            || self.loses()
            || self.delay.is_drawn()
            || self.limit.0.is_drawn()
            || !self.jitter.is_zero()
            || [self.reorder, self.duplicate].iter().any(|p| *p > 0.0)
    }
}

/// A spec may have the quotes of the grammar if no shell removed them.
fn unquoted(spec: &str, offset: usize) -> (&str, usize) {
    for quote in ['\'', '"'] {
        let inner = spec.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return (inner, offset + 1);
        }
    }
    (spec, offset)
}

/// Names are parts of variant names (`tcp/wlan/cubic`), so they are plain words.
pub(crate) fn check_name(name: &str) -> Result<(), Refusal> {
    const LONGEST: usize = 32;
    if name.contains(char::is_whitespace) {
        return Err(Refusal::new(
            name,
            "a path needs a name before its description",
            "write `NAME='rate 25mbit delay 20ms limit 100p'`",
        ));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(plain) {
        let shown: String = name.chars().take(2 * LONGEST).collect();
        return Err(Refusal::new(
            name,
            format!("`{shown}` is not a path name"),
            format!("use 1 to {LONGEST} letters (A to Z), digits, `-`, `_` or `.`"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

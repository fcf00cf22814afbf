//! The decisions of a scheduler in one run: connection, time, question and answer.
//!
//! A run depends on the scenario, the variant and its number only, so these are the decisions of
//! the same run in a study. `words` has the texts, `document` the JSON; the caller prints tables.

mod association;
mod document;
mod words;

pub use association::{PathReport, Stretch, Stretches, Why, record_stretches};
pub use document::decision_document;
pub use words::{mark_word, mark_words, reason};

use crate::error::{Given, InputError};
use crate::scenario::{Scenario, Variant};
use crate::setup::setup;
use crate::study::StudyError;
use crate::units::parse_time;
use base::decision::{Answer, SchedulerCall, Sent};
use base::{Duration, Event, EventMask, HostId, Instant, Recorder, SocketId};
use simulator::{RunError, RunSetup, simulate_recorded};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;

/// Largest number of calls kept of a run; they take half a gigabyte.
const MOST_CALLS: usize = 500_000;

/// A part of a run's virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Start of the span.
    pub from: Duration,
    /// End of the span; `None`: end of the run.
    pub until: Option<Duration>,
}

impl Span {
    /// Parses the values of two options.
    ///
    /// # Errors
    /// If a value is not a time, or if the span is empty.
    pub fn parse(from: Option<&Given>, until: Option<&Given>) -> Result<Span, InputError> {
        let time = |given: &Given| parse_time(&given.text).map_err(|refusal| given.refuse(refusal));
        let span = Span {
            from: from.map(time).transpose()?.unwrap_or_default(),
            until: until.map(time).transpose()?,
        };
        if let (Some(end), Some(given)) = (span.until, until)
            && end <= span.from
        {
            let from = from.map_or("its start".to_owned(), |from| format!("`{}`", from.text));
            let problem = format!("no part of the run is between {from} and `{}`", given.text);
            let later = span.from + Duration::from_secs(1);
            return Err(
                given.refuse_whole(problem, format!("name a later time, such as `{later}`"))
            );
        }
        Ok(span)
    }
}

/// A call and its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Virtual time since the start of the run.
    pub at: Instant,
    /// The question and its answer.
    pub call: SchedulerCall,
}

/// The calls in a part of a run.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// Number of the connection, from 1, and number of connections with decisions.
    pub connection: (usize, usize),
    /// Calls of that connection in time order.
    pub calls: Vec<Call>,
    /// Whether calls were dropped after `MOST_CALLS`; the rest of the run is missing.
    pub cut: bool,
}

/// Runs repetition `number` of a variant and keeps the calls of its data sender's scheduler for
/// that connection (from 1), or else for the one with most data. `None` if there is no such
/// connection in that time.
pub fn record_decisions(
    scenario: &Scenario,
    variant: &Variant,
    number: u64,
    span: Span,
    connection: Option<usize>,
) -> Result<Option<Decisions>, StudyError> {
    let mut setup = setup(scenario, variant, number);
    setup.recording.hash = false;
    if let Some(until) = span.until {
        setup.limit = setup.limit.min(until);
    }
    let seen = record(&setup, span).map_err(|error| StudyError::Run {
        variant: variant.name.clone(),
        run: number,
        seed: scenario.seed,
        reason: error.to_string(),
    })?;
    Ok(seen.decisions(connection))
}

fn record(setup: &RunSetup, span: Span) -> Result<Seen, RunError> {
    let reverse = setup.flows.first().is_some_and(|flow| flow.reverse);
    let sender = HostId(if reverse { 0 } else { 1 });
    let seen = Seen { span, sender, ..Seen::default() };
    let seen = Rc::new(RefCell::new(seen));
    simulate_recorded(setup, Box::new(Watch(Rc::clone(&seen))))?;
    Ok(mem::take(&mut *seen.borrow_mut()))
}

struct Watch(Rc<RefCell<Seen>>);

/// Calls recorded so far.
#[derive(Default)]
struct Seen {
    span: Span,
    sender: HostId,
    /// Scheduled bytes of each connection, in opening order.
    handed: BTreeMap<SocketId, u64>,
    calls: Vec<Call>,
    cut: bool,
}

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        EventMask::DECISION
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        let Event::Decision(call) = event else { return };
        let seen = &mut *self.0.borrow_mut();
        let since = now - Instant::ZERO;
        let within = since >= seen.span.from && seen.span.until.is_none_or(|until| since < until);
        if host == seen.sender && within {
            seen.on_call(now, call);
        }
    }
}

impl Seen {
    fn on_call(&mut self, at: Instant, call: &SchedulerCall) {
        *self.handed.entry(call.socket).or_default() += handed(call);
        if self.calls.len() < MOST_CALLS {
            self.calls.push(Call { at, call: call.clone() });
        } else {
            self.cut = true;
        }
    }

    fn decisions(self, connection: Option<usize>) -> Option<Decisions> {
        let most = || {
            let carried = self.handed.values().enumerate();
            // The first of equal ones.
            carried.max_by_key(|(index, bytes)| (**bytes, usize::MAX - index)).map(|(i, _)| i + 1)
        };
        let number = connection.or_else(most)?;
        let socket = *self.handed.keys().nth(number.checked_sub(1)?)?;
        let calls = self.calls.into_iter().filter(|one| one.call.socket == socket).collect();
        Some(Decisions { connection: (number, self.handed.len()), calls, cut: self.cut })
    }
}

/// Bytes that the call assigns for the first time.
const fn handed(call: &SchedulerCall) -> u64 {
    match call.answer {
        Answer::Send { what: Sent::New, len, .. } => len,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

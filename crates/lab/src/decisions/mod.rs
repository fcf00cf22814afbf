//! The decisions of a scheduler in one run: which connection asked what when, and the answers.
//!
//! A run depends on the scenario, the variant and its number only, so these are the decisions of
//! the run that a study has under that number. Leaves words for reasons to `words`, the document to
//! `document`, tables to the caller.

mod document;
mod words;

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

/// Calls kept of a run at most: half a gigabyte of them.
const MOST_CALLS: usize = 500_000;

/// A part of a run's virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// From then on.
    pub from: Duration,
    /// Before then; `None`: to the end.
    pub until: Option<Duration>,
}

impl Span {
    /// As two options have it.
    ///
    /// # Errors
    /// What is no time, and a span of nothing.
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
            let problem = format!("nothing of a run lies between {from} and `{}`", given.text);
            return Err(given.refuse_whole(problem, "name a later time, such as `2s`"));
        }
        Ok(span)
    }
}

/// A call and when it was.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Virtual time since the start of the run.
    pub at: Instant,
    /// The question and its answer.
    pub call: SchedulerCall,
}

/// What was asked in a part of a run.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// The number of the connection, from 1, and how many had decisions to make.
    pub connection: (usize, usize),
    /// Of that connection, in the order of time.
    pub calls: Vec<Call>,
    /// There were more than are kept; the rest of the run is not there.
    pub cut: bool,
}

/// Carry out repetition `number` of a variant and keep what its data sender's scheduler was asked:
/// on that connection (from 1), else on the one that it handed most data out on. `None`: there is
/// no such connection in that time.
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

/// What was seen so far.
#[derive(Default)]
struct Seen {
    span: Span,
    sender: HostId,
    /// Bytes handed out of each connection, in the order they were opened.
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
            // Of equal ones the first.
            carried.max_by_key(|(index, bytes)| (**bytes, usize::MAX - index)).map(|(i, _)| i + 1)
        };
        let number = connection.or_else(most)?;
        let socket = *self.handed.keys().nth(number.checked_sub(1)?)?;
        let calls = self.calls.into_iter().filter(|one| one.call.socket == socket).collect();
        Some(Decisions { connection: (number, self.handed.len()), calls, cut: self.cut })
    }
}

/// Bytes that no path had before.
const fn handed(call: &SchedulerCall) -> u64 {
    match call.answer {
        Answer::Send { what: Sent::New, len, .. } => len,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

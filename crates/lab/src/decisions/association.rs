//! Where an association sent its chunks, and why there: the primary path, fail-over,
//! retransmission.
//!
//! Chunks that follow one another on one path for one reason are one stretch. The reasons follow
//! from the events of the data sender; what it does with its paths is left to the engine.

use super::Span;
use crate::scenario::{Carrier, Scenario, SctpFailover, Variant};
use crate::setup::setup;
use crate::study::StudyError;
use base::{Duration, Event, EventMask, HostId, Instant, PathId, Recorder, SocketId};
use harness::RunRecord;
use serde_json::{Value, json};
use simulator::simulate_recorded;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::rc::Rc;
use transport::sctp::RtxPolicy;

/// Largest number of stretches kept of a run.
const MOST_STRETCHES: usize = 500_000;

/// Why chunks went to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// New data on the first path.
    Primary,
    /// New data on another path, after time-outs of the first one.
    Failover,
    /// New data on another path, though the first one had no time-out.
    OtherPrimary,
    /// Retransmission on the path that the chunk was sent on before.
    SamePath,
    /// Retransmission of what was sent on this path before.
    Moved(PathId),
    /// T3-rtx of the path expired: nothing is sent.
    Timeout,
}

/// Chunks that an association sent on one path for one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Virtual time of the first one.
    pub at: Instant,
    /// Virtual time of the last one.
    pub until: Instant,
    /// Path of the association.
    pub path: PathId,
    /// Reason.
    pub why: Why,
    /// Number of chunks.
    pub chunks: u32,
    /// Those of them that were sent on this path before.
    pub again: u32,
    /// Bytes of user data.
    pub bytes: u64,
    /// Congestion window of the path after the last one, in bytes.
    pub cwnd_bytes: u64,
    /// Chunks in flight on the path after the last one.
    pub inflight_segs: u32,
}

/// What a SACK meant for a path of an association with data on all paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathReport {
    /// Virtual time.
    pub at: Instant,
    /// Path of the last transmission of the chunks concerned.
    pub path: PathId,
    /// Path that the SACK arrived on.
    pub over: Option<PathId>,
    /// Bytes newly acknowledged.
    pub acked_bytes: u32,
    /// The window may grow (CUC).
    pub may_grow: bool,
    /// Chunks in flight that count as missing (SFR).
    pub missing: u32,
    /// How often those below all new arrivals count (DAC).
    pub times: u8,
    /// Chunks that are lost.
    pub lost: u32,
}

/// The stretches of an association in a part of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Stretches {
    /// Number of the association, from 1, and number of associations with data.
    pub connection: (usize, usize),
    /// In time order.
    pub stretches: Vec<Stretch>,
    /// In time order; only CMT-SCTP has any.
    pub reports: Vec<PathReport>,
    /// Place in the scenario of each path of the association.
    pub places: Vec<usize>,
    /// Further ones were not kept.
    pub cut: bool,
}

/// Runs repetition `number` of a variant of SCTP and keeps what the data sender of that association
/// (from 1) sent where, or else of the one with most data. `None` if there is none in that time.
pub fn record_stretches(
    scenario: &Scenario,
    variant: &Variant,
    number: u64,
    span: Span,
    connection: Option<usize>,
) -> Result<Option<Stretches>, StudyError> {
    let mut setup = setup(scenario, variant, number);
    setup.recording.hash = false;
    if let Some(until) = span.until {
        setup.limit = setup.limit.min(until);
    }
    let reverse = setup.flows.first().is_some_and(|flow| flow.reverse);
    let sender = HostId(if reverse { 0 } else { 1 });
    let seen = Rc::new(RefCell::new(Seen { span, sender, ..Seen::default() }));
    let record = simulate_recorded(&setup, Box::new(Watch(Rc::clone(&seen))));
    let record = record.map_err(|error| StudyError::Run {
        variant: variant.name.clone(),
        run: number,
        seed: scenario.seed,
        reason: error.to_string(),
    })?;
    let seen = mem::take(&mut *seen.borrow_mut());
    Ok(seen.stretches(connection, &record))
}

struct Watch(Rc<RefCell<Seen>>);

/// What was recorded so far.
#[derive(Default)]
struct Seen {
    span: Span,
    sender: HostId,
    of: BTreeMap<SocketId, Sending>,
}

/// The data sender of an association.
#[derive(Default)]
struct Sending {
    bytes: u64,
    stretches: Vec<Stretch>,
    reports: Vec<PathReport>,
    cwnd_bytes: BTreeMap<PathId, u64>,
    /// Path of the last transmission of each chunk, by its offset.
    sent_on: BTreeMap<u64, PathId>,
    /// Paths that had a time-out.
    timed_out: BTreeSet<PathId>,
    cut: bool,
}

impl Recorder for Watch {
    fn mask(&self) -> EventMask {
        let sender = EventMask::SEGMENT.union(EventMask::WINDOW).union(EventMask::TIMER);
        sender.union(EventMask::REPORT)
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        let seen = &mut *self.0.borrow_mut();
        if host != seen.sender {
            return;
        }
        let since = now - Instant::ZERO;
        let within = since >= seen.span.from && seen.span.until.is_none_or(|until| since < until);
        seen.on_event(now, event, within);
    }
}

impl Seen {
    fn on_event(&mut self, at: Instant, event: &Event, within: bool) {
        match *event {
            Event::SegmentSent { socket, path, offset, len, retransmission, inflight_segs } => {
                let of = self.of.entry(socket).or_default();
                of.bytes += u64::from(len);
                let before = of.sent_on.insert(offset, path);
                let why = of.why(path, retransmission, before);
                let chunk =
                    Stretch { inflight_segs, bytes: len.into(), ..of.stretch(at, path, why) };
                if within {
                    of.add(chunk);
                }
            }
            Event::WindowChange { socket, path, cwnd_bytes, .. } => {
                self.of.entry(socket).or_default().cwnd_bytes.insert(path, cwnd_bytes);
            }
            Event::PathReport {
                socket,
                path,
                over,
                newly_acked,
                may_grow,
                missing,
                times,
                lost,
            } if within => {
                let acked_bytes = newly_acked;
                let report =
                    PathReport { at, path, over, acked_bytes, may_grow, missing, times, lost };
                self.of.entry(socket).or_default().report(report);
            }
            Event::TimerFired { socket, path, timer: "t3-rtx" } => {
                let of = self.of.entry(socket).or_default();
                of.timed_out.insert(path);
                let expiry = Stretch { chunks: 0, ..of.stretch(at, path, Why::Timeout) };
                if within {
                    of.add(expiry);
                }
            }
            _ => {}
        }
    }

    fn stretches(self, connection: Option<usize>, record: &RunRecord) -> Option<Stretches> {
        let carried = || self.of.values().enumerate().filter(|(_, of)| of.bytes > 0);
        // The first of equal ones.
        let most = || carried().max_by_key(|(index, of)| (of.bytes, usize::MAX - index));
        let number = connection.or_else(|| most().map(|(index, _)| index + 1))?;
        let count = carried().count();
        let of = self.of.into_values().nth(number.checked_sub(1)?)?;
        (!of.stretches.is_empty()).then(|| Stretches {
            connection: (number, count),
            stretches: of.stretches,
            reports: of.reports,
            places: record.measured().sender_subflows.clone(),
            cut: of.cut,
        })
    }
}

impl Sending {
    fn why(&self, path: PathId, again: bool, before: Option<PathId>) -> Why {
        match before {
            Some(before) if before != path => Why::Moved(before),
            Some(_) if again => Why::SamePath,
            _ if path == PathId(0) => Why::Primary,
            _ if self.timed_out.contains(&PathId(0)) => Why::Failover,
            _ => Why::OtherPrimary,
        }
    }

    fn stretch(&self, at: Instant, path: PathId, why: Why) -> Stretch {
        let cwnd_bytes = self.cwnd_bytes.get(&path).copied().unwrap_or(0);
        let (until, chunks, bytes, inflight_segs) = (at, 1, 0, 0);
        let again = u32::from(why == Why::SamePath);
        Stretch { at, until, path, why, chunks, again, bytes, cwnd_bytes, inflight_segs }
    }

    fn report(&mut self, report: PathReport) {
        match self.reports.len() < MOST_STRETCHES {
            true => self.reports.push(report),
            false => self.cut = true,
        }
    }

    /// Continues the last stretch, if path and reason are the same, or begins one. Retransmissions
    /// on the path that lost them begin none: in recovery they alternate with new data.
    fn add(&mut self, next: Stretch) {
        let same = |last: &&mut Stretch| {
            let whys = [last.why, next.why];
            let goes_on = last.why == next.why || whys.contains(&Why::SamePath);
            last.path == next.path && goes_on && !whys.contains(&Why::Timeout)
        };
        if let Some(last) = self.stretches.last_mut().filter(same) {
            if last.why == Why::SamePath {
                last.why = next.why;
            }
            last.chunks += next.chunks;
            last.again += next.again;
            last.bytes += next.bytes;
            let Stretch { until, cwnd_bytes, inflight_segs, .. } = next;
            (last.until, last.cwnd_bytes, last.inflight_segs) = (until, cwnd_bytes, inflight_segs);
        } else if self.stretches.len() < MOST_STRETCHES {
            self.stretches.push(next);
        } else {
            self.cut = true;
        }
    }
}

impl Stretches {
    /// Name of a path of the association.
    pub fn name(&self, scenario: &Scenario, path: PathId) -> String {
        let place = self.places.get(path.index()).copied().unwrap_or(path.index());
        scenario.paths.get(place).map_or(String::new(), |path| path.name.clone())
    }

    /// The reason in words.
    pub fn reason(&self, scenario: &Scenario, variant: &Variant, one: &Stretch) -> String {
        let (rule, policy) = match variant.carrier {
            Carrier::Multihomed { failover, rtx_policy, .. } => (failover, rtx_policy),
            _ => (SctpFailover::Pf, RtxPolicy::default()),
        };
        let first = self.name(scenario, PathId(0));
        let is_new = matches!(one.why, Why::Primary | Why::OtherPrimary | Why::Failover);
        if let Some(about) = variant.scheduler_about().filter(|_| is_new) {
            return about;
        }
        match one.why {
            Why::Primary => "the primary path".to_owned(),
            Why::Failover if rule == SctpFailover::Pf => {
                format!("fail-over: {first} had a time-out (RFC 7829)")
            }
            Why::Failover => {
                format!("fail-over: {first} had too many time-outs (RFC 9260 s8.2)")
            }
            Why::OtherPrimary => {
                format!("the primary path in place of {first}")
            }
            Why::SamePath => "retransmission on the same path".to_owned(),
            Why::Moved(from) => {
                let from = self.name(scenario, from);
                format!("retransmission of what {from} lost, by the policy {}", policy.name())
            }
            Why::Timeout => "T3-rtx expired: its chunks count as lost".to_owned(),
        }
    }

    /// What a SACK meant for a path, in words.
    pub fn meaning(&self, scenario: &Scenario, report: &PathReport) -> String {
        let mut text = format!("acked {} B", report.acked_bytes);
        if let Some(over) = report.over {
            text += &format!(" over {}", self.name(scenario, over));
        }
        if report.may_grow {
            text += ", may grow";
        }
        match (report.missing, report.times) {
            (0, _) => {}
            (missing, 1) => text += &format!(", {missing} missing"),
            (missing, times) => text += &format!(", {missing} missing {times}x"),
        }
        if report.lost > 0 {
            text += &format!(", {} lost", report.lost);
        }
        text
    }

    /// The object of a SACK and a path.
    pub fn report_document(&self, scenario: &Scenario, report: &PathReport) -> Value {
        json!({
            "time": (report.at - Instant::ZERO).as_secs_f64(),
            "path": self.name(scenario, report.path),
            "what": "sack",
            "over": report.over.map(|over| self.name(scenario, over)),
            "acked_bytes": report.acked_bytes,
            "may_grow": report.may_grow,
            "missing_chunks": report.missing,
            "times": report.times,
            "lost_chunks": report.lost,
        })
    }

    /// The object of one stretch.
    pub fn document(&self, scenario: &Scenario, variant: &Variant, one: &Stretch) -> Value {
        let seconds = |at: Instant| (at - Instant::ZERO).as_secs_f64();
        let what = match one.why {
            Why::Timeout => "timeout",
            Why::SamePath | Why::Moved(_) => "retransmission",
            Why::Primary | Why::Failover | Why::OtherPrimary => "new",
        };
        json!({
            "time": seconds(one.at),
            "until": seconds(one.until),
            "path": self.name(scenario, one.path),
            "what": what,
            "chunks": one.chunks,
            "retransmitted": one.again,
            "bytes": one.bytes,
            "cwnd_bytes": one.cwnd_bytes,
            "inflight_chunks": one.inflight_segs,
            "why": self.reason(scenario, variant, one),
        })
    }
}

impl Stretch {
    /// How long it took.
    pub fn length(&self) -> Duration {
        self.until - self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options, variants_of};

    /// SFR, CUC and DAC: 1 % loss on two unlike paths.
    #[test]
    fn sacks_say_what_counts_as_missing_and_whether_a_window_may_grow() {
        let scenario = Options::default()
            .with(Key::Path, "a=rate 25mbit delay 20ms loss 1%")
            .with(Key::Path, "b=rate 4mbit delay 70ms limit 1000p")
            .with(Key::Traffic, "bulk:4MiB")
            .with(Key::Protocols, "cmt-sctp")
            .with(Key::Resched, "none")
            .resolve()
            .unwrap();
        let variant = &variants_of(&scenario)[0];
        let found = record_stretches(&scenario, variant, 0, Span::default(), None);
        let found = found.unwrap().expect("data were sent");
        let reports = &found.reports;
        let moved = found.stretches.iter().find(|one| matches!(one.why, Why::Moved(_)));
        let moved = moved.map_or(Instant::FAR_FUTURE, |one| one.at);
        assert!(reports.is_sorted_by_key(|report| report.at));
        // Everything is acknowledged once, chunk by chunk, on the path that sent it last.
        let acked: u64 = reports.iter().map(|report| u64::from(report.acked_bytes)).sum();
        assert!(acked >= 4 << 20, "{acked}");
        let of = |path: u8| reports.iter().filter(move |report| report.path == PathId(path));
        // b loses nothing, and has no chunk of a before the first time-out: nothing of it counts as
        // missing, and its window always may grow, although the cumulative TSN waits for a.
        let of_b = || of(1).filter(|report| report.at < moved);
        assert!(of_b().count() > 20 && of(0).any(|report| report.lost > 0));
        assert!(of_b().all(|report| report.missing == 0 && report.lost == 0), "SFR");
        assert!(of_b().all(|report| report.acked_bytes == 0 || report.may_grow), "CUC");
        assert!(of(0).any(|report| report.acked_bytes > 0 && !report.may_grow), "CUC");
        assert!(of(0).any(|report| report.missing > 0 && report.times == 2), "DAC");
        let lossy = of(0).find(|report| report.missing > 0 && report.times == 2).unwrap();
        let text = found.meaning(&scenario, lossy);
        assert!(text.starts_with("acked ") && text.contains(" missing 2x"), "{text}");
        let document = found.report_document(&scenario, lossy);
        assert_eq!((&document["what"], &document["times"]), (&json!("sack"), &json!(2)));
    }

    #[test]
    fn dead_primary_leads_to_fail_over_retransmissions_and_back() {
        let scenario = Options::default()
            .with(Key::Path, "a=rate 10mbit delay 10ms silent @2s..4s")
            .with(Key::Path, "b=rate 5mbit delay 20ms")
            .with(Key::Traffic, "bulk:20s")
            .with(Key::Protocols, "sctp")
            .resolve()
            .unwrap();
        let variants = variants_of(&scenario);
        let of = |name: &str| variants.iter().find(|variant| variant.name == name).unwrap();
        let several = of("sctp/multihomed/reno");
        let found = record_stretches(&scenario, several, 0, Span::default(), None);
        let found = found.unwrap().expect("data were sent");
        let whys: Vec<Why> = found.stretches.iter().map(|one| one.why).collect();
        let place = |why: Why| whys.iter().position(|found| *found == why);
        assert_eq!(place(Why::Primary), Some(0));
        let timeout = place(Why::Timeout).expect("T3-rtx of a expires");
        let moved = place(Why::Moved(PathId(0))).expect("b retransmits");
        let failed_over = place(Why::Failover).expect("b sends new data");
        assert!(timeout < moved && moved < failed_over, "{whys:?}");
        let back = whys.iter().rposition(|why| *why == Why::Primary);
        assert!(back > Some(failed_over), "the primary is used again");
        let text = found.reason(&scenario, several, &found.stretches[moved]);
        assert_eq!(text, "retransmission of what a lost, by the policy next");
        let document = found.document(&scenario, several, &found.stretches[failed_over]);
        assert_eq!((&document["path"], &document["what"]), (&json!("b"), &json!("new")));
        let alone = record_stretches(&scenario, of("sctp/b/reno"), 0, Span::default(), None);
        assert_eq!(alone.unwrap().unwrap().name(&scenario, PathId(0)), "b");
    }
}

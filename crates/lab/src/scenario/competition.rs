//! Competition in a scenario: shared links, competing flows, the start of the compared connection,
//! and the warm-up.
//!
//! Refuses unused links, paths with an unknown link, and a warm-up as long as the traffic. `flow`
//! parses single flows.

use super::flow::{FlowSpec, Surroundings, check_flow_name, parse_start, split_name};
use super::options::said;
use super::table::Key;
use super::{Options, PathOption, background};
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::{Change, PathSpec, RUN_LIMIT, Span};
use crate::units::parse_time;
use crate::words::nearest_help;
use base::Duration;
use simulator::MOST_FLOWS;
use traffic::Traffic;
use transport::Profile;

/// Start and warm-up times.
pub(super) struct Timing {
    pub start: Span<Duration>,
    pub warm_up: Duration,
    pub deadline: Duration,
}

/// Time that a run has after the end of its traffic.
const TIME_LEFT: Duration = Duration::from_secs(120);

/// Virtual time after which a run is incomplete, of traffic of this length: 600 s, or the length
/// plus 120 s if that is longer.
pub(super) fn default_deadline(start: &Span<Duration>, length: Option<Duration>) -> Duration {
    length.map_or(RUN_LIMIT, |length| (start.high + length + TIME_LEFT).max(RUN_LIMIT))
}

impl Timing {
    /// End of a run, if it is known beforehand.
    pub(super) fn over_at(&self, traffic: &Traffic) -> Option<Duration> {
        traffic.duration().map(|end| self.start.low + end)
    }

    /// Notes on path events after the end of the traffic.
    pub(super) fn late_events(&self, traffic: &Traffic, paths: &[PathSpec]) -> Vec<String> {
        let Some(end) = traffic.duration().map(|time| self.start.high + time) else {
            return Vec::new();
        };
        let late = paths.iter().flat_map(|path| {
            let late = path.events.iter().filter(|event| event.start > end);
            late.map(|event| {
                let name = &path.name;
                format!("path `{name}`: `{event}` is later than the traffic, which ends at {end}")
            })
        });
        late.collect()
    }
}

impl Options {
    /// The shared links, each of which must be used by a path.
    pub(super) fn resolve_links(
        &self,
        paths: &[PathSpec],
        deadline: Duration,
    ) -> Result<Vec<PathSpec>, InputError> {
        self.check_ends(paths)?;
        let mut links: Vec<PathSpec> = Vec::new();
        for option in self.described(Key::Link) {
            let (link, name, spec) = match option {
                PathOption::Whole(given) => {
                    (PathSpec::parse_within(given, deadline)?, given, given)
                }
                PathOption::Named { name, spec } => {
                    (PathSpec::parse_named(name, spec, deadline)?, name, spec)
                }
            };
            check_link(&link, spec)?;
            if paths.iter().chain(&links).any(|other| other.name == link.name) {
                let problem = format!("`{}` is the name of two paths or links", link.name);
                return Err(name.refuse_whole(problem, "give each a name of its own"));
            }
            if !paths.iter().any(|path| path.passes(&link.name)) {
                let problem = format!("no path uses the link `{}`", link.name);
                let help = format!("write `via {}` in a path, or remove the link", link.name);
                return Err(name.refuse_whole(problem, help));
            }
            links.push(link);
        }
        let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        for (path, option) in paths.iter().zip(self.described(Key::Path)) {
            let unknown = path.via.iter().find(|via| !known.contains(&via.link.as_str()));
            let Some(via) = unknown else { continue };
            let problem = format!("unknown link `{}`", via.link);
            let help = if known.is_empty() {
                format!("describe it: `--link {}='rate 20mbit delay 10ms limit 100p'`", via.link)
            } else {
                nearest_help(&via.link, &known)
            };
            let given = spec_of(option);
            return Err(given.refuse(Refusal { span: via.span.clone(), problem, help }));
        }
        Ok(links)
    }

    /// Refuses two paths between the same ends.
    fn check_ends(&self, paths: &[PathSpec]) -> Result<(), InputError> {
        for (place, (path, option)) in paths.iter().zip(self.described(Key::Path)).enumerate() {
            let is_same = |other: &&PathSpec| other.ends == path.ends;
            let named = path.ends.iter().all(Option::is_some);
            if let Some(other) = paths[..place].iter().find(is_same).filter(|_| named) {
                let problem = format!(
                    "the paths `{}` and `{}` have the same two ends",
                    other.name, path.name
                );
                let help = "give one of them another `client` or `server`: a pair of addresses is \
                            one path";
                return Err(spec_of(option).refuse_whole(problem, help));
            }
        }
        Ok(())
    }

    /// Virtual time after which a run with traffic of this length is incomplete, as far as the
    /// texts of the options are valid.
    pub(super) fn deadline(&self, length: Option<Duration>) -> Duration {
        let given = self.text(Key::Deadline).and_then(|given| parse_time(&given.text).ok());
        let start = self.text(Key::Start).and_then(|given| parse_start(&given.text).ok());
        let start = start.unwrap_or(self.usual_start());
        let given = given.filter(|deadline| !deadline.is_zero());
        given.unwrap_or_else(|| default_deadline(&start, length))
    }

    /// Start of the compared connection unless it is given: background traffic starts before it.
    fn usual_start(&self) -> Span<Duration> {
        Span::fixed(match self.switch(Key::Background) {
            Some(true) => background::FOREGROUND_START,
            _ => Duration::ZERO,
        })
    }

    /// Start of the compared connection, warm-up, and the end of incomplete runs.
    pub(super) fn resolve_timing(&self, traffic: &Traffic) -> Result<Timing, InputError> {
        let refusing = |given: &Given, read: fn(&str) -> Result<Span<Duration>, Refusal>| {
            read(&given.text).map_err(|refusal| given.refuse(refusal))
        };
        let start = said(self.text(Key::Start), |given| refusing(given, parse_start))?;
        let timing = Timing {
            start: start.unwrap_or(self.usual_start()),
            warm_up: said(self.text(Key::WarmUp), |given| {
                parse_time(&given.text).map_err(|refusal| given.refuse(refusal))
            })?
            .unwrap_or(Duration::ZERO),
            deadline: self.deadline(traffic.duration()),
        };
        self.check_deadline(&timing, traffic)?;
        if let Some(given) = self.text(Key::WarmUp).filter(|_| !timing.warm_up.is_zero()) {
            let over = timing.over_at(traffic).unwrap_or(timing.deadline);
            if timing.warm_up >= over {
                let problem = format!(
                    "the warm-up of {} is not shorter than the run, which ends at {over}",
                    timing.warm_up
                );
                let help = "shorten it, or lengthen the traffic";
                return Err(given.refuse_whole(problem, help));
            }
            if self.described(Key::Flow).is_empty() && !matches!(traffic, Traffic::BulkTime(_)) {
                let help = "leave it out, or send `bulk:60s`";
                let problem = "a warm-up affects the goodput of `bulk:TIME` and of flows only";
                return Err(given.refuse_whole(problem, help));
            }
        }
        Ok(timing)
    }

    /// Refuses a deadline before the end of the traffic, and a start after the deadline.
    fn check_deadline(&self, timing: &Timing, traffic: &Traffic) -> Result<(), InputError> {
        let deadline = timing.deadline;
        let over = traffic.duration().map_or(Duration::ZERO, |end| timing.start.high + end);
        if let Some(given) = self.text(Key::Deadline) {
            let asked = parse_time(&given.text).map_err(|refusal| given.refuse(refusal))?;
            if asked.is_zero() || over > deadline {
                let problem = if asked.is_zero() {
                    "a run cannot end at its start".to_owned()
                } else {
                    format!(
                        "the traffic lasts until {over}, after the end of the run at {deadline}"
                    )
                };
                let help = format!("write `{}`, or leave it out", over.max(RUN_LIMIT) + TIME_LEFT);
                return Err(given.refuse_whole(problem, help));
            }
        }
        if let Some(given) = self.text(Key::Start).filter(|_| timing.start.high >= deadline) {
            let problem =
                format!("a start at {} is too late: a run ends after {deadline}", given.text);
            return Err(
                given.refuse_whole(problem, "write an earlier time, or a later `--deadline`")
            );
        }
        Ok(())
    }

    /// The competing flows, those of background traffic last.
    pub(super) fn resolve_flows(
        &self,
        (paths, links): (&[PathSpec], &[PathSpec]),
        profile: Profile,
        over_at: Duration,
        deadline: Duration,
    ) -> Result<Vec<FlowSpec>, InputError> {
        let around = Surroundings { paths, profile, over_at };
        let mut flows: Vec<FlowSpec> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for option in self.described(Key::Flow) {
            let (flow, given) = match option {
                PathOption::Whole(given) => {
                    let (name, offset) = split_name(given)?;
                    (FlowSpec::parse(name, given, offset, &around)?, given)
                }
                PathOption::Named { name, spec } => {
                    check_flow_name(&name.text).map_err(|refusal| name.refuse(refusal))?;
                    (FlowSpec::parse(&name.text, spec, 0, &around)?, name)
                }
            };
            for name in flow.names() {
                if names.contains(&name) {
                    let problem = format!("two flows have the name `{name}`");
                    return Err(given.refuse_whole(problem, "give each a name of its own"));
                }
                names.push(name);
            }
            if names.len() > MOST_FLOWS {
                let problem = format!("{} flows are more than {MOST_FLOWS}", names.len());
                return Err(given.refuse_whole(problem, "lower a `count`"));
            }
            flows.push(flow);
        }
        flows.extend(background::flows(self, (paths, links), deadline));
        Ok(flows)
    }
}

/// Refuses items that a link cannot have: another link, and events that notify hosts.
fn check_link(link: &PathSpec, given: &Given) -> Result<(), InputError> {
    if let Some(via) = link.via.first() {
        let problem = format!("the link `{}` cannot use another link", link.name);
        let help = "a path passes several in order: `via S1 via R1`; write `via` in paths only";
        return Err(given.refuse(Refusal { span: via.span.clone(), problem, help: help.into() }));
    }
    if let Some((word, _)) = link.end_words().next() {
        let problem = format!("the link `{}` has no {word}: only paths have ends", link.name);
        return Err(given.refuse_whole(problem, "write it in the paths that use the link"));
    }
    if let Some(there) = link.middleboxes.first() {
        let problem = format!("`{there}` belongs to a path, not to the link `{}`", link.name);
        return Err(given.refuse_whole(problem, "write it in the paths that use the link"));
    }
    if link.events.iter().any(|event| event.change == Change::Backup) {
        let help = "write it in a path";
        return Err(given.refuse_whole("a link cannot be a backup: only paths can", help));
    }
    let of_hosts = |change: &Change| matches!(change, Change::Reset | Change::Removed);
    if let Some(event) = link.events.iter().find(|event| of_hosts(&event.change)) {
        let problem = format!("`{event}` affects hosts, and the link `{}` has none", link.name);
        let help = "write it in the paths that use the link";
        return Err(given.refuse_whole(problem, help));
    }
    Ok(())
}

fn spec_of(option: &PathOption) -> &Given {
    match option {
        PathOption::Whole(given) => given,
        PathOption::Named { spec, .. } => spec,
    }
}

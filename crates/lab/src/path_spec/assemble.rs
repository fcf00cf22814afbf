//! Builds a path from items: profile, items of both directions, items of one direction, defaults.
//!
//! A more specific item overrides a less specific one, regardless of order; two items of the same
//! rank are refused as contradictory, as is a path that is never up.

use super::items::{Item, Kind, items};
use super::middlebox::Middlebox;
use super::recordings::{CapacityDraft, Recordings, TraceDraft};
use super::trace_file::absolute;
use super::{
    CapacitySpec, Change, Direction, END_WORDS, Limits, LinkSpec, Loss, PathSpec, Profile, Span,
    TimedChange, Via,
};
use crate::error::{Given, InputError, Refusal};
use crate::units::QueueLimit;
use base::Duration;
use network::{Jitter, QueueConfig};

/// Default queue limit, as in netem.
const DEFAULT_LIMIT: QueueLimit = QueueLimit::Packets(1000);
/// Virtual time after which a run is incomplete, unless its traffic lasts longer.
pub(crate) const RUN_LIMIT: Duration = Duration::from_secs(600);

/// The path described by `spec`, which is at `offset` in the input, for runs that end after
/// `deadline`.
pub(super) fn assemble(
    name: &str,
    spec: &str,
    given: &Given,
    offset: usize,
    deadline: Duration,
) -> Result<PathSpec, InputError> {
    let refuse = |refusal: Refusal| given.refuse(refusal.shifted(offset));
    let explicit = items(spec).map_err(refuse)?;
    if explicit.is_empty() {
        return Err(refuse(Refusal::new(
            spec,
            format!("path `{name}` has no description"),
            "write `rate 25mbit delay 20ms limit 100p`, for example",
        )));
    }
    contradictions(&explicit).map_err(refuse)?;
    let profile = profile_items(&explicit).map_err(refuse)?;
    let layers = Layers { profile: &profile, explicit: &explicit };
    let mut notes = Vec::new();
    let mut down = Draft::default();
    let mut up = Draft::default();
    layers.apply(Direction::Down, &mut down);
    layers.apply(Direction::Up, &mut up);
    let via = via(&explicit, offset);
    let mut recordings = Recordings { given, offset, notes: &mut notes };
    let [down_capacity, up_capacity] =
        recordings.both(down.capacity.as_ref(), up.capacity.as_ref(), !via.is_empty())?;
    let without = |capacity: &Option<CapacitySpec>| !via.is_empty() && capacity.is_none();
    if without(&down_capacity) && without(&up_capacity) {
        without_a_queue(&explicit).map_err(refuse)?;
    }
    let [down_capacity, up_capacity] = [down_capacity, up_capacity]
        .map(|capacity| capacity.or_else(|| via.first().map(|_| CapacitySpec::Unlimited)));
    let missing = |direction: &str| {
        let problem = format!("path `{name}` has neither `rate` nor `trace` {direction}");
        refuse(Refusal::new(spec, problem, capacity_help(&explicit)))
    };
    let mut path = PathSpec {
        name: name.to_owned(),
        given: spec.to_owned(),
        anchored: anchored(spec, &explicit, given),
        down: down.finish(down_capacity.ok_or_else(|| missing("for the downlink"))?),
        up: up.finish(up_capacity.ok_or_else(|| missing("for the uplink"))?),
        events: events(&explicit),
        via,
        ends: ends(&explicit),
        middleboxes: middleboxes(&explicit),
        notes,
    };
    possible(&path, &explicit, deadline).map_err(refuse)?;
    translated(&path, &explicit).map_err(refuse)?;
    path.notes.extend(order_note(&path).into_iter().chain(room_note(&path)));
    Ok(path)
}

/// What to write for a path without a capacity.
fn capacity_help(items: &[Item]) -> &'static str {
    if items.iter().any(is_rate_event) {
        "a rate with a time is a change; give the initial rate too: `rate 25mbit rate 5mbit @20s`"
    } else {
        "write `rate 25mbit`, `trace FILE` or `profile NAME`"
    }
}

/// Explains that jitter keeps the order of packets, which it does not with netem.
fn order_note(path: &PathSpec) -> Option<String> {
    let keeps = |link: &LinkSpec| !link.jitter.is_zero() && !link.jitter.unordered;
    (keeps(&path.down) || keeps(&path.up)).then(|| {
        "jitter keeps the order of packets; write `unordered` after it for netem's, which does not"
            .to_owned()
    })
}

/// Bytes of a full packet.
const FULL_PACKET: u128 = 1500;

/// Explains what a queue does that has no room for a full packet.
fn room_note(path: &PathSpec) -> Option<String> {
    let is_small = |link: &LinkSpec| {
        let bytes = match (link.limit.0.low, &link.capacity) {
            (QueueLimit::Bytes(bytes), _) => u128::from(bytes),
            (QueueLimit::Time(time), CapacitySpec::Rate(rate)) => {
                u128::from(rate.low.as_bps()) * u128::from(time.as_nanos()) / 8_000_000_000
            }
            _ => return false,
        };
        bytes < FULL_PACKET
    };
    (is_small(&path.down) || is_small(&path.up)).then(|| {
        "the queue has no room for a packet of 1500 bytes: one that arrives while another is being \
         sent is dropped"
            .to_owned()
    })
}

/// The links that the path passes, from client to server.
fn via(items: &[Item], offset: usize) -> Vec<Via> {
    let of = items.iter().filter_map(|item| match &item.kind {
        Kind::Via(link) => {
            let span = item.span.start + offset..item.span.end + offset;
            Some(Via { link: link.clone(), span })
        }
        _ => None,
    });
    of.collect()
}

/// The middleboxes of the path, from client to server.
fn middleboxes(items: &[Item]) -> Vec<Middlebox> {
    let of = |item: &Item| match item.kind {
        Kind::Middlebox(middlebox) => Some(middlebox),
        _ => None,
    };
    items.iter().filter_map(of).collect()
}

/// A translator's outside address is known to the two hosts of a path of its own only.
fn translated(path: &PathSpec, items: &[Item]) -> Result<(), Refusal> {
    let is_nat = |item: &&Item| matches!(item.kind, Kind::Middlebox(Middlebox::Nat(..)));
    let shares = !path.via.is_empty() || path.end_words().next().is_some();
    match items.iter().find(is_nat).filter(|_| shares) {
        None => Ok(()),
        Some(nat) => Err(at(
            nat,
            "`nat` stands on a path of its own, without `via`, `client` and `server`",
            "describe the whole path without them",
        )),
    }
}

/// The named ends of the path.
fn ends(items: &[Item]) -> [Option<String>; 2] {
    END_WORDS.map(|word| {
        items.iter().find_map(|item| match &item.kind {
            Kind::End(of, name) if *of == word => Some(name.clone()),
            _ => None,
        })
    })
}

/// Refuses queue items of a path without a queue.
fn without_a_queue(items: &[Item]) -> Result<(), Refusal> {
    let of_a_queue = |item: &&Item| matches!(item.kind, Kind::Limit(_) | Kind::Queue(_));
    match items.iter().find(of_a_queue) {
        None => Ok(()),
        Some(item) => Err(at(
            item,
            "a path without a rate of its own has no queue",
            "give it for the link of the path, or add a `rate`",
        )),
    }
}

fn is_rate_event(item: &Item) -> bool {
    matches!(item.kind, Kind::Event { change: Change::Rate(_), .. })
}

/// The description with absolute names of its trace files.
fn anchored(spec: &str, items: &[Item], given: &Given) -> String {
    let mut text = spec.to_owned();
    for item in items.iter().rev() {
        if let Kind::Trace { file, file_span, .. } = &item.kind {
            let name = absolute(given.folder(), file);
            text.replace_range(file_span.clone(), &format!("\"{name}\""));
        }
    }
    text
}

/// Items of the named profile; none without a profile.
fn profile_items(explicit: &[Item]) -> Result<Vec<Item>, Refusal> {
    for item in explicit {
        if let Kind::Profile(name) = &item.kind {
            let profile = Profile::find(name).map_err(|e| at(item, e.problem, e.help))?;
            return items(&profile.spec)
                .map_err(|e| at(item, format!("profile `{name}`: {}", e.problem), e.help));
        }
    }
    Ok(Vec::new())
}

struct Layers<'a> {
    profile: &'a [Item],
    explicit: &'a [Item],
}

impl Layers<'_> {
    /// Applies all items for `direction`, the least specific first.
    fn apply(&self, direction: Direction, draft: &mut Draft) {
        for layer in [self.profile, self.explicit] {
            for rank in [Direction::Both, direction] {
                for item in layer.iter().filter(|item| item.direction == rank) {
                    draft.set(&item.kind, direction);
                }
            }
        }
    }
}

/// An incomplete link.
#[derive(Clone, Debug, Default)]
struct Draft {
    capacity: Option<CapacityDraft>,
    delay: Option<Span<Duration>>,
    jitter: Option<Jitter>,
    loss: Option<Loss>,
    limit: Option<Span<QueueLimit>>,
    queue: Option<QueueConfig>,
    reorder: f64,
    duplicate: f64,
    corrupt: f64,
}

impl Draft {
    fn set(&mut self, kind: &Kind, direction: Direction) {
        match kind {
            Kind::Rate(rate) => self.capacity = Some(CapacityDraft::Rate(*rate)),
            Kind::Trace { upload: false, .. } if direction == Direction::Up => {
                self.capacity = Some(CapacityDraft::TraceOfDownlink);
            }
            Kind::Trace { file, unit, file_span, .. } => {
                let (file, unit, span) = (file.clone(), unit.clone(), file_span.clone());
                self.capacity = Some(CapacityDraft::Trace(TraceDraft { file, unit, span }));
            }
            Kind::Delay(delay, jitter) => {
                self.delay = Some(*delay);
                self.jitter = *jitter;
            }
            Kind::Loss(loss) => self.loss = Some(*loss),
            Kind::Limit(limit) => self.limit = Some(*limit),
            Kind::Queue(queue) => self.queue = Some(*queue),
            Kind::Reorder(p) => self.reorder = *p,
            Kind::Duplicate(p) => self.duplicate = *p,
            Kind::Corrupt(p) => self.corrupt = *p,
            Kind::Profile(_) | Kind::Via(_) | Kind::End(..) | Kind::Middlebox(_) => {}
            Kind::Event { .. } => {}
        }
    }

    fn finish(self, capacity: CapacitySpec) -> LinkSpec {
        LinkSpec {
            capacity,
            delay: self.delay.unwrap_or(Span::fixed(Duration::ZERO)),
            jitter: self.jitter.unwrap_or_default(),
            loss: self.loss.unwrap_or(Loss::Random(Span::fixed(0.0))),
            limit: Limits(self.limit.unwrap_or(Span::fixed(DEFAULT_LIMIT))),
            queue: self.queue.unwrap_or_default(),
            reorder: self.reorder,
            duplicate: self.duplicate,
            corrupt: self.corrupt,
        }
    }
}

/// The property that an item sets, to find two items that set the same one.
fn decides(kind: &Kind) -> &'static str {
    match kind {
        Kind::Rate(_) | Kind::Trace { .. } => "the capacity",
        Kind::Delay(..) => "`delay`",
        Kind::Loss(_) => "`loss`",
        Kind::Limit(_) => "`limit`",
        Kind::Queue(_) => "`queue`",
        Kind::Reorder(_) => "`reorder`",
        Kind::Duplicate(_) => "`duplicate`",
        Kind::Corrupt(_) => "`corrupt`",
        Kind::Profile(_) => "`profile`",
        Kind::Via(_) => "`via`",
        Kind::End("client", _) => "`client`",
        Kind::End(..) => "`server`",
        Kind::Middlebox(Middlebox::Strip(_)) => "`strip`",
        Kind::Middlebox(Middlebox::Nat(..)) => "`nat`",
        Kind::Middlebox(Middlebox::Promotion(..)) => "`promotion`",
        Kind::Middlebox(Middlebox::RewriteSequence) => "`rewrite`",
        Kind::Middlebox(Middlebox::Proxy) => "`proxy`",
        Kind::Event { change, .. } => decides_for_a_time(change),
    }
}

fn decides_for_a_time(change: &Change) -> &'static str {
    match change {
        Change::Down | Change::Silent | Change::Removed => "an outage",
        Change::Reset => "a reset",
        Change::Rate(_) => "the rate",
        Change::Delay(_) => "the delay",
        Change::Loss(_) => "the loss",
        Change::Backup => "`backup`",
    }
}

/// Refuses items that contradict each other.
fn contradictions(items: &[Item]) -> Result<(), Refusal> {
    for (i, later) in items.iter().enumerate() {
        for earlier in &items[..i] {
            if decides(&earlier.kind) != decides(&later.kind) {
                continue;
            }
            if let (Kind::Via(one), Kind::Via(other)) = (&earlier.kind, &later.kind) {
                if one != other {
                    continue;
                }
                let problem = format!("the path passes `{one}` twice");
                return Err(at(later, problem, "name each link once, in order: `via S1 via R1`"));
            }
            let what = decides(&later.kind);
            match (event_time(&earlier.kind), event_time(&later.kind)) {
                (Some(a), Some(b))
                    if touch(earlier.direction, later.direction) && a.0 < b.1 && b.0 < a.1 =>
                {
                    let problem = match &later.kind {
                        Kind::Event {
                            change: Change::Down | Change::Silent | Change::Removed,
                            ..
                        } => "two outages overlap".to_owned(),
                        _ => format!("two events change {what} at the same time"),
                    };
                    return Err(at(later, problem, "end one before the other begins"));
                }
                (None, None) if earlier.direction == later.direction => {
                    let both = matches!(
                        (&earlier.kind, &later.kind),
                        (Kind::Rate(_), Kind::Trace { .. }) | (Kind::Trace { .. }, Kind::Rate(_))
                    );
                    let problem = if both {
                        "`rate` and `trace` both set the capacity".to_owned()
                    } else {
                        format!("{what} is given twice")
                    };
                    let help = "keep one; `uplink ...` and `downlink ...` set one direction only";
                    return Err(at(later, problem, help));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn touch(a: Direction, b: Direction) -> bool {
    a == b || a == Direction::Both || b == Direction::Both
}

fn event_time(kind: &Kind) -> Option<(Duration, Duration)> {
    match kind {
        Kind::Event { change: Change::Reset, start, .. } => {
            Some((*start, *start + Duration::from_nanos(1)))
        }
        Kind::Event { start, end, .. } => Some((*start, end.unwrap_or(Duration::MAX))),
        _ => None,
    }
}

fn events(items: &[Item]) -> Vec<TimedChange> {
    let event = |item: &Item| match item.kind {
        Kind::Event { change, start, end } => {
            Some(TimedChange { direction: item.direction, change, start, end })
        }
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

/// Refuses valid syntax without a meaningful path.
fn possible(path: &PathSpec, items: &[Item], deadline: Duration) -> Result<(), Refusal> {
    for item in items {
        match item.kind {
            Kind::Delay(delay, _) if delay.high >= deadline => {
                return Err(at(
                    item,
                    format!("a delay of {} is longer than a run ({deadline})", delay.high),
                    "delays are one-way; write `delay 20ms`, for example",
                ));
            }
            Kind::Loss(loss) if loses_everything(&loss) => {
                return Err(at(
                    item,
                    "a path that loses every packet is never up",
                    "`1` means always: write `1%` for one in a hundred, \
                     or `silent @20s..35s` for an outage",
                ));
            }
            Kind::Corrupt(p) if p >= 1.0 => {
                return Err(at(
                    item,
                    "a path that corrupts every packet is never up",
                    "`1` means always: write `1%` for one in a hundred",
                ));
            }
            Kind::Event { start, .. } if start >= deadline => {
                return Err(at(
                    item,
                    format!("the event at {start} never happens: a run ends after {deadline}"),
                    "write an earlier time, or a later `--deadline`",
                ));
            }
            Kind::Event { change: Change::Removed, start: Duration::ZERO, .. } => {
                return Err(at(
                    item,
                    "an address that does not exist yet cannot be removed",
                    "a path that appears later is `down @0s..10s`",
                ));
            }
            Kind::Event { change, .. } => fitting(path, item, &change)?,
            _ => {}
        }
    }
    never_up(path, items, deadline)
}

fn loses_everything(loss: &Loss) -> bool {
    match loss {
        Loss::Random(p) => p.high >= 1.0,
        Loss::GilbertElliott { p, r, one_minus_h, one_minus_k } => {
            let good = *one_minus_k >= 1.0 || (*p >= 1.0 && *r <= 0.0);
            *one_minus_h >= 1.0 && good
        }
    }
}

/// Refuses an event that would interrupt a recording.
fn fitting(path: &PathSpec, item: &Item, change: &Change) -> Result<(), Refusal> {
    let links = match item.direction {
        Direction::Both => vec![&path.down, &path.up],
        Direction::Down => vec![&path.down],
        Direction::Up => vec![&path.up],
    };
    let traced = |link: &&LinkSpec| matches!(link.capacity, CapacitySpec::Trace(_));
    if matches!(change, Change::Rate(_)) && links.iter().any(traced) {
        let help = "use `down`, `silent`, `delay` or `loss` events on such a path";
        return Err(at(item, "a `rate` event on a path that follows a trace", help));
    }
    Ok(())
}

/// Refuses outages that cover the whole run.
fn never_up(path: &PathSpec, items: &[Item], deadline: Duration) -> Result<(), Refusal> {
    for direction in [Direction::Down, Direction::Up] {
        let mut outages: Vec<(Duration, Duration)> = path
            .events
            .iter()
            .filter(|event| touch(event.direction, direction))
            .filter(|event| match event.change {
                Change::Down | Change::Silent | Change::Removed => true,
                Change::Loss(p) => p >= 1.0,
                _ => false,
            })
            .map(|event| (event.start, event.end.unwrap_or(Duration::MAX)))
            .collect();
        outages.sort();
        let mut dead_until = Duration::ZERO;
        for (start, end) in outages {
            if start > dead_until {
                break;
            }
            dead_until = dead_until.max(end);
        }
        if dead_until >= deadline
            && let Some(item) = items.iter().find(|item| event_time(&item.kind).is_some())
        {
            return Err(at(
                item,
                format!("path `{}` is never up", path.name),
                "give the outage a later start or an end: `down @20s..35s`",
            ));
        }
    }
    Ok(())
}

fn at(item: &Item, problem: impl Into<String>, help: impl Into<String>) -> Refusal {
    Refusal { span: item.span.clone(), problem: problem.into(), help: help.into() }
}

//! The items of a path description: `rate 25mbit delay 20ms 5ms loss 1% down @20s..35s`.
//!
//! The syntax follows `tc`. `assemble` handles conflicts between items, profiles and defaults.

use super::middlebox::{Middlebox, middlebox};
use super::span::parse_span;
use super::token::{Token, tokens};
use super::words::{OF_DIRECTION, OFFERED, item_words};
use super::{Direction, Loss, Span};
use crate::error::Refusal;
use crate::units::{
    QueueLimit, parse_probability, parse_queue, parse_queue_or_zero, parse_rate,
    parse_rate_or_zero, parse_time,
};
use crate::words::{nearest, nearest_help};
use base::{Duration, Rate};
use network::{Jitter, QueueConfig, queue};
use std::ops::Range;
use std::sync::LazyLock;

/// An item, its direction and its position.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Item {
    pub(super) direction: Direction,
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// The property that an item sets.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    Rate(Span<Rate>),
    Delay(Span<Duration>, Option<Jitter>),
    Loss(Loss),
    Limit(Span<QueueLimit>),
    Queue(QueueConfig),
    Reorder(f64),
    Duplicate(f64),
    Corrupt(f64),
    /// `upload`: from `trace-up` or `uplink trace`.
    Trace {
        file: String,
        unit: Option<String>,
        file_span: Range<usize>,
        upload: bool,
    },
    Profile(String),
    /// Through a link that other paths may share.
    Via(String),
    /// The name of an end that other paths may have, too: keyword and name.
    End(&'static str, String),
    Middlebox(Middlebox),
    Event {
        change: Change,
        start: Duration,
        end: Option<Duration>,
    },
}

/// A change limited in time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// Outage with a link-down notification.
    Down,
    /// Outage without a notification.
    Silent,
    /// Another rate.
    Rate(Rate),
    /// Another one-way delay.
    Delay(Duration),
    /// Another loss probability.
    Loss(f64),
    /// Backup priority, requested by the client (RFC 8684 s3.3.8).
    Backup,
    /// Reset of its connections at both ends.
    Reset,
    /// Removal of the client's address; the link works.
    Removed,
}

impl Change {
    /// Keyword of the change in a description.
    pub const fn word(self) -> &'static str {
        match self {
            Change::Down => "down",
            Change::Silent => "silent",
            Change::Rate(_) => "rate",
            Change::Delay(_) => "delay",
            Change::Loss(_) => "loss",
            Change::Backup => "backup",
            Change::Reset => "reset",
            Change::Removed => "removed",
        }
    }
}

/// Keywords of items.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(item_words);
/// Equivalent keywords of other programs.
const SYNONYMS: [(&str, &str); 12] = [
    ("bandwidth", "rate"),
    ("bw", "rate"),
    ("latency", "delay"),
    ("rtt", "delay"),
    ("plr", "loss"),
    ("jitter", "delay"),
    ("buffer", "limit"),
    ("max_queue_size", "limit"),
    ("outage", "down"),
    ("up", "uplink"),
    ("upload", "uplink"),
    ("download", "downlink"),
];

/// The items of `text`.
pub(super) fn items(text: &str) -> Result<Vec<Item>, Refusal> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, next: 0, end: text.len() };
    let mut found = Vec::new();
    while let Some(word) = reader.take() {
        found.push(reader.item(word)?);
    }
    Ok(found)
}

pub(super) struct Reader<'a> {
    tokens: &'a [Token],
    pub(super) next: usize,
    /// Length of the text: the position of a missing word.
    end: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.next)?;
        self.next += 1;
        Some(token)
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    /// Parses the value that must follow `word`.
    pub(super) fn value(&mut self, word: &Token, what: &str) -> Result<&'a Token, Refusal> {
        let missing = match self.peek() {
            Some(next) => next.text.starts_with('@') || WORDS.contains(&next.text.as_str()),
            None => true,
        };
        if missing {
            let problem = format!("`{}` needs a value", word.text);
            return Err(word.refuse(problem, format!("write `{} {what}`", word.text)));
        }
        // Present: peeked above.
        self.take().ok_or_else(|| word.refuse("a value is missing", what))
    }

    fn item(&mut self, word: &'a Token) -> Result<Item, Refusal> {
        let (direction, word) = self.direction(word)?;
        let first = self.next;
        let kind = self.kind(word, direction)?;
        // `trace-up` implies its direction.
        let direction = if word.text == "trace-up" { Direction::Up } else { direction };
        let last = self.tokens.get(self.next.max(first).saturating_sub(1)).unwrap_or(word);
        let kind = match self.peek() {
            Some(at) if at.text.starts_with('@') => self.event(word, kind)?,
            _ => kind,
        };
        let end = last.span.end.max(word.span.end).min(self.end);
        Ok(Item { direction, kind: self.complete(word, kind)?, span: word.span.start..end })
    }

    /// The direction given by a prefix, and the word after it.
    fn direction(&mut self, word: &'a Token) -> Result<(Direction, &'a Token), Refusal> {
        let direction = match word.text.as_str() {
            "uplink" => Direction::Up,
            "downlink" => Direction::Down,
            _ => return Ok((Direction::Both, word)),
        };
        let item = self.take().ok_or_else(|| {
            word.refuse(
                format!("`{}` needs an item after it", word.text),
                format!("write `{} rate 5mbit`, for example", word.text),
            )
        })?;
        match item.text.as_str() {
            "uplink" | "downlink" | "profile" | "trace-up" | "backup" | "reset" | "removed"
            | "via" | "client" | "server" | "strip" | "nat" | "promotion" | "rewrite" | "proxy" => {
                Err(item.refuse(
                    format!("`{}` cannot follow `{}`", item.text, word.text),
                    match item.text.as_str() {
                        "backup" => "`backup` is for a whole path",
                        "reset" | "removed" => "connections and addresses have both directions",
                        "via" => "a path uses a link in both directions",
                        "client" | "server" => "the ends of a path are those of both directions",
                        "strip" | "nat" | "promotion" | "rewrite" | "proxy" => {
                            "a middlebox stands in both directions"
                        }
                        "trace-up" => "`trace-up FILE` implies its direction",
                        _ => "a direction is followed by one item: rate, delay, loss, limit, ...",
                    },
                ))
            }
            _ => Ok((direction, item)),
        }
    }

    fn kind(&mut self, word: &Token, direction: Direction) -> Result<Kind, Refusal> {
        match word.text.as_str() {
            "rate" => self.range(word, "25mbit", parse_rate, parse_rate_or_zero).map(Kind::Rate),
            "delay" => self.delay(word),
            "loss" => self.loss(word).map(Kind::Loss),
            "limit" => self.range(word, "100p", parse_queue, parse_queue_or_zero).map(Kind::Limit),
            "queue" => self.queue(word).map(Kind::Queue),
            "reorder" => self.probability(word).map(Kind::Reorder),
            "duplicate" => self.probability(word).map(Kind::Duplicate),
            "corrupt" => self.probability(word).map(Kind::Corrupt),
            "trace" => self.trace(word, direction == Direction::Up),
            "trace-up" => self.trace(word, true),
            "profile" => Ok(Kind::Profile(self.value(word, "wlan")?.text.clone())),
            "via" => Ok(Kind::Via(self.value(word, "core")?.text.clone())),
            "client" => Ok(Kind::End("client", self.value(word, "c1")?.text.clone())),
            "server" => Ok(Kind::End("server", self.value(word, "s1")?.text.clone())),
            "strip" | "nat" | "promotion" | "rewrite" | "proxy" => {
                middlebox(self, word).map(Kind::Middlebox)
            }
            "down" => Ok(outage(Change::Down)),
            "silent" => Ok(outage(Change::Silent)),
            "reset" => Ok(outage(Change::Reset)),
            "removed" => Ok(outage(Change::Removed)),
            // Without a time, it applies to the whole run.
            "backup" => {
                Ok(Kind::Event { change: Change::Backup, start: Duration::ZERO, end: None })
            }
            _ => Err(unknown(word, direction)),
        }
    }

    fn queue(&mut self, word: &Token) -> Result<QueueConfig, Refusal> {
        let name = self.value(word, "droptail")?;
        if name.text == "red" {
            let min = self.value(word, "red 20p 60p 10%")?;
            let max = self.value(word, "red 20p 60p 10%")?;
            let p = self.value(word, "red 20p 60p 10%")?;
            return red(min, max, p);
        }
        QueueConfig::by_name(&name.text).ok_or_else(|| {
            name.refuse(
                format!("unknown queue discipline `{}`", name.text),
                nearest_help(&name.text, &queue::NAMES.map(|(name, ..)| name)),
            )
        })
    }

    fn trace(&mut self, word: &Token, upload: bool) -> Result<Kind, Refusal> {
        let file = self.value(word, "FILE")?;
        let unit = match self.peek().and_then(|next| next.text.strip_prefix("unit=")) {
            Some(unit) => {
                self.next += 1;
                Some(unit.to_owned())
            }
            None => None,
        };
        let (file, file_span) = (file.text.clone(), file.span.clone());
        Ok(Kind::Trace { file, unit, file_span, upload })
    }

    fn probability(&mut self, word: &Token) -> Result<f64, Refusal> {
        let value = self.value(word, "1%")?;
        let probability = parse_probability(&value.text).map_err(|e| value.place(e))?;
        self.no_correlation(word, value)?;
        Ok(probability)
    }

    /// A value, or the distribution that repetitions draw from.
    pub(super) fn range<T: Copy + PartialOrd>(
        &mut self,
        word: &Token,
        example: &str,
        parse: impl Fn(&str) -> Result<T, Refusal>,
        parse_deviation: impl Fn(&str) -> Result<T, Refusal>,
    ) -> Result<Span<T>, Refusal> {
        parse_span(self.value(word, example)?, parse, parse_deviation)
    }

    /// Turns `kind` and the time after it into a change.
    fn event(&mut self, word: &Token, kind: Kind) -> Result<Kind, Refusal> {
        let Some(at) = self.take() else { return Ok(kind) };
        let drawn = match &kind {
            Kind::Rate(rate) => rate.is_drawn(),
            Kind::Delay(delay, _) => delay.is_drawn(),
            Kind::Loss(Loss::Random(loss)) => loss.is_drawn(),
            _ => false,
        };
        if drawn {
            let problem = format!("`{}` at a time takes one value", word.text);
            let help = "ranges are for the whole run: write one value before the time";
            return Err(word.refuse(problem, help));
        }
        let change = match kind {
            Kind::Event { change, .. } => change,
            Kind::Rate(rate) => Change::Rate(rate.low),
            Kind::Delay(delay, None) => Change::Delay(delay.low),
            Kind::Loss(Loss::Random(loss)) => Change::Loss(loss.low),
            _ => {
                return Err(word.refuse(
                    format!("`{}` as given here cannot change at a time", word.text),
                    "events are `down`, `silent`, `reset`, `removed`, `rate RATE`, `delay TIME`, \
                     `loss PROB`, `backup`",
                ));
            }
        };
        let (start, end) = when(at)?;
        if change == Change::Reset && end.is_some() {
            let help = format!("write `reset @{start}`; later connections are not reset");
            return Err(at.refuse("a reset happens at one moment and has no end", help));
        }
        Ok(Kind::Event { change, start, end })
    }

    /// Refuses an outage without a time.
    fn complete(&self, word: &Token, kind: Kind) -> Result<Kind, Refusal> {
        match kind {
            Kind::Event { start: Duration::MAX, change: Change::Reset, .. } => {
                Err(word.refuse("`reset` without a time", "add the time, `reset @20s`"))
            }
            Kind::Event { start: Duration::MAX, .. } => Err(word.refuse(
                format!("`{}` without a time: the path would never be up", word.text),
                format!("add the time, `{} @20s..35s`", word.text),
            )),
            kind => Ok(kind),
        }
    }
}

/// An outage whose time has not been read yet.
const fn outage(change: Change) -> Kind {
    Kind::Event { change, start: Duration::MAX, end: None }
}

fn red(min: &Token, max: &Token, p: &Token) -> Result<QueueConfig, Refusal> {
    let example = "write `queue red 20p 60p 10%`, for example";
    let packets = |token: &Token| match parse_queue(&token.text).map_err(|e| token.place(e))? {
        QueueLimit::Packets(n) => Ok(n as f64),
        _ => Err(token.refuse("RED's thresholds are numbers of packets", example)),
    };
    let (min_packets, max_packets) = (packets(min)?, packets(max)?);
    let max_p = parse_probability(&p.text).map_err(|e| p.place(e))?;
    if min_packets >= max_packets || max_p == 0.0 {
        return Err(max.refuse("RED needs MIN below MAX and a probability above zero", example));
    }
    Ok(QueueConfig::Red { min_packets, max_packets, max_p })
}

/// `@START` or `@START..END`.
fn when(at: &Token) -> Result<(Duration, Option<Duration>), Refusal> {
    let text = &at.text[1..];
    let time =
        |text: &str, offset: usize| parse_time(text).map_err(|e| at.place(e.shifted(offset)));
    let Some((start, end)) = text.split_once("..") else {
        return Ok((time(text, 1)?, None));
    };
    let (begin, finish) = (time(start, 1)?, time(end, start.len() + 3)?);
    if finish == begin {
        let help = "write a later end, or none: `@20s..35s`, `@20s`";
        return Err(at.refuse(format!("`{}` ends when it begins", at.text), help));
    }
    if finish < begin {
        return Err(at.refuse(
            format!("`{}` ends before it begins", at.text),
            format!("write the earlier time first: `@{finish}..{begin}`"),
        ));
    }
    Ok((begin, Some(finish)))
}

fn unknown(word: &Token, direction: Direction) -> Refusal {
    let text = word.text.as_str();
    if text.starts_with('@') {
        let help = "write the event before its time: `down @20s..35s`, `rate 2mbit @10s`";
        return word.refuse(format!("`{text}` is a time without an event"), help);
    }
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return word.refuse(
            format!("`{text}` has no keyword before it"),
            "name it: `rate 25mbit delay 20ms 5ms loss 1% limit 100p`",
        );
    }
    if let Some(unit) = text.strip_prefix("unit=") {
        let help = format!("write it after the file: `trace FILE unit={unit}`");
        return word.refuse("`unit=` belongs to a trace", help);
    }
    let known =
        if direction == Direction::Both { &WORDS[..OFFERED] } else { &WORDS[..OF_DIRECTION] };
    let lower = text.to_lowercase();
    let synonym = SYNONYMS.iter().find(|(name, _)| *name == lower).map(|(_, word)| *word);
    let help = match synonym.or_else(|| nearest(text, known.iter().copied())) {
        Some(near) => format!("did you mean `{near}`? Valid are: {}", known.join(", ")),
        None => format!("valid are: {}", known.join(", ")),
    };
    word.refuse(format!("unknown word `{text}` in a path"), help)
}

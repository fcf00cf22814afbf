//! Prints a resolved path in the canonical spelling.

use super::{CapacitySpec, Change, Direction, LinkSpec, Loss, PathSpec, TimedChange};
use crate::units::show_probability;
use base::Duration;
use network::{Distribution, Jitter, QueueConfig};
use std::fmt;

impl fmt::Display for PathSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        for (down, up) in link_items(&self.down).into_iter().zip(link_items(&self.up)) {
            match (down, up) {
                (down, up) if down == up => words.extend(down),
                (down, up) => {
                    words.extend(down.map(|item| format!("downlink {item}")));
                    words.extend(up.map(|item| format!("uplink {item}")));
                }
            }
        }
        words.extend(self.via.iter().map(|via| format!("via {}", via.link)));
        words.extend(self.end_words().map(|(word, end)| format!("{word} {end}")));
        words.extend(self.middleboxes.iter().map(ToString::to_string));
        words.extend(self.events.iter().map(ToString::to_string));
        f.write_str(&words.join(" "))
    }
}

/// Items of a link in a fixed order.
pub(crate) fn link_items(link: &LinkSpec) -> [Option<String>; 8] {
    let has_queue = link.capacity != CapacitySpec::Unlimited;
    let some_probability =
        |word: &str, p: f64| (p > 0.0).then(|| format!("{word} {}", show_probability(p)));
    [
        show_capacity(&link.capacity),
        Some(show_delay(link)),
        show_loss(&link.loss),
        has_queue.then(|| format!("limit {}", link.limit)),
        show_queue(&link.queue),
        some_probability("reorder", link.reorder),
        some_probability("duplicate", link.duplicate),
        some_probability("corrupt", link.corrupt),
    ]
}

fn show_capacity(capacity: &CapacitySpec) -> Option<String> {
    Some(match capacity {
        CapacitySpec::Unlimited => return None,
        CapacitySpec::Rate(rate) => format!("rate {}", rate.show(|r| r.to_string())),
        CapacitySpec::Trace(trace) => {
            let blank = trace.file.contains(char::is_whitespace);
            let quote = if blank { "\"" } else { "" };
            let unit = trace.unit.map_or(String::new(), |unit| format!(" unit={}", unit.name()));
            format!("trace {quote}{}{quote}{unit}", trace.file)
        }
    })
}

fn show_delay(link: &LinkSpec) -> String {
    let delay = format!("delay {}", link.delay.show(show_time));
    if link.jitter.is_zero() { delay } else { format!("{delay} {}", show_jitter(&link.jitter)) }
}

fn show_jitter(jitter: &Jitter) -> String {
    let mut words = vec![jitter.spread.to_string()];
    if jitter.correlation > 0.0 {
        words.push(show_probability(jitter.correlation));
    }
    if jitter.distribution != Distribution::default() {
        words.push(format!("distribution {}", jitter.distribution.name()));
    }
    if jitter.unordered {
        words.push("unordered".to_owned());
    }
    words.join(" ")
}

fn show_loss(loss: &Loss) -> Option<String> {
    match loss {
        Loss::Random(span) if span.high == 0.0 && !span.is_drawn() => None,
        Loss::Random(span) => Some(format!("loss {}", span.show(show_probability))),
        Loss::GilbertElliott { p, r, one_minus_h, one_minus_k } => {
            let [p, r, h, k] = [p, r, one_minus_h, one_minus_k].map(|p| show_probability(*p));
            Some(format!("loss gemodel {p} {r} {h} {k}"))
        }
    }
}

fn show_queue(queue: &QueueConfig) -> Option<String> {
    match queue {
        QueueConfig::DropTail => None,
        QueueConfig::Red { min_packets, max_packets, max_p } => {
            let p = show_probability(*max_p);
            Some(format!("queue red {min_packets}p {max_packets}p {p}"))
        }
        plain => Some(format!("queue {}", plain.name())),
    }
}

impl fmt::Display for TimedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.direction {
            Direction::Both => "",
            Direction::Down => "downlink ",
            Direction::Up => "uplink ",
        })?;
        f.write_str(self.change.word())?;
        match self.change {
            Change::Rate(rate) => write!(f, " {rate}")?,
            Change::Delay(delay) => write!(f, " {}", show_time(delay))?,
            Change::Loss(p) => write!(f, " {}", show_probability(p))?,
            Change::Backup if self.start.is_zero() && self.end.is_none() => return Ok(()),
            _ => {}
        }
        write!(f, " @{}", show_time(self.start))?;
        self.end.map_or(Ok(()), |end| write!(f, "..{}", show_time(end)))
    }
}

pub(crate) fn show_time(time: Duration) -> String {
    if time.is_zero() { "0ms".to_owned() } else { time.to_string() }
}

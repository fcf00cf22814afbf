//! The numbers of `--packet-metrics` as metrics: `--metric rtt/wlan/p95`, `--goal 'loss/3g < 1%'`.
//!
//! Their names, units and words; `packet_metrics` measures them.

use crate::error::{Given, InputError};
use crate::path_spec::PathSpec;
use crate::words::nearest;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use traffic::{Measure, Metric, MetricInfo, Silence, Source};

/// Statistics of times that are shares, beside those above a bound.
const SHARE: &str = "share";
/// Statistics of every distribution.
const OF_TIMES: [&str; 8] = ["min", "mean", "p25", "p50", "p75", "p95", "p99", "max"];
/// Shares of round trips and of delays by reordering above a bound.
const OF_ROUND_TRIPS: [&str; 5] =
    ["above_50ms", "above_100ms", "above_200ms", "above_1s", "above_2s"];
const OF_ORDER: [&str; 2] = [SHARE, "above_150ms"];

/// A name in parts.
struct Name {
    /// `rtt/wlan`.
    of: String,
    /// `p95`; empty of numbers that are alone.
    statistic: &'static str,
}

impl Name {
    fn text(&self) -> String {
        match self.statistic {
            "" => self.of.clone(),
            statistic => format!("{}/{statistic}", self.of),
        }
    }
}

/// All names with these paths.
fn names(paths: &[PathSpec]) -> Vec<Name> {
    let mut names = Vec::new();
    let mut add = |of: String, statistics: &[&'static str]| {
        let one = |statistic: &&'static str| Name { of: of.clone(), statistic };
        names.extend(statistics.iter().map(one));
    };
    for path in paths {
        add(format!("rtt/{}", path.name), &[&OF_TIMES[..], &OF_ROUND_TRIPS].concat());
        add(format!("loss/{}", path.name), &[""]);
        add(format!("contribution/{}", path.name), &[""]);
        add(format!("slow_start/{}", path.name), &[""]);
    }
    add("out_of_order".to_owned(), &[&OF_TIMES[..], &OF_ORDER].concat());
    add("application_delay".to_owned(), &OF_TIMES);
    add("reorder_buffer".to_owned(), &["mean", "max"]);
    add("probes".to_owned(), &["bytes"]);
    add("goodput".to_owned(), &["jitter"]);
    names
}

/// The numbers that the words of an option name: `rtt/wlan/p95`, or `p95 rtt/wlan`. Refused without
/// `--packet-metrics`, and where no number has such a name.
pub(super) fn named(
    given: &Given,
    paths: &[PathSpec],
    measured: bool,
) -> Result<Vec<Measure>, InputError> {
    let names = names(paths);
    let is_end = |c: char| c.is_whitespace() || "<>=".contains(c);
    let words: Vec<&str> = given.text.split(is_end).filter(|word| !word.is_empty()).collect();
    let pairs = words.windows(2).map(|pair| format!("{}/{}", pair[1], pair[0]));
    let asked: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain(pairs).collect();
    let find = |word: &String| names.iter().find(|name| name.text().eq_ignore_ascii_case(word));
    let found: Vec<&Name> = asked.iter().filter_map(find).collect();
    if !found.is_empty() && !measured {
        let problem = format!("`{}` needs every packet", found[0].text());
        return Err(given.refuse_whole(problem, "add `--packet-metrics`"));
    }
    let unknown = words.iter().find(|word| is_like(word)).filter(|_| found.is_empty());
    if let Some(word) = unknown {
        let all: Vec<String> = names.iter().map(Name::text).collect();
        let near = nearest(word, all.iter().map(String::as_str));
        let help = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let problem = format!("no number of packets has the name `{word}`");
        let help = format!("{help}`--packet-metrics --json` prints all of them, in `extra`");
        return Err(given.refuse_whole(problem, help));
    }
    Ok(found.into_iter().map(measure).collect())
}

/// Refuses what has a family of these numbers and is none of them; other names pass.
pub(crate) fn must_be_known(name: &str, paths: &[PathSpec]) -> Result<(), String> {
    if unit_of(name).is_none() {
        return Ok(());
    }
    let all: Vec<String> = names(paths).iter().map(Name::text).collect();
    // Their count is no metric of `compare`, but runs have it.
    let counted = name.strip_suffix("/n");
    let has_count = |known: &String| {
        counted.is_some_and(|of| known.strip_prefix(of).is_some_and(|rest| rest.starts_with('/')))
    };
    if all.iter().any(|known| known == name || has_count(known)) {
        return Ok(());
    }
    let near = nearest(name, all.iter().map(String::as_str));
    let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Err(format!("no number of packets has the name `{name}`{help}"))
}

/// Whether a word can only be meant as a number of packets.
fn is_like(word: &str) -> bool {
    let of_paths = ["rtt", "loss", "contribution", "slow_start"];
    let others = ["out_of_order", "application_delay", "reorder_buffer", "probes", "goodput"];
    let all = of_paths.into_iter().chain(others);
    word.split_once('/').is_some_and(|(family, _)| all.into_iter().any(|known| known == family))
}

/// The unit of a number that `--packet-metrics` adds; `None` if it is none of these.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    let (group, rest) = name.split_once('/')?;
    let number = rest.rsplit('/').next().unwrap_or(rest);
    match group {
        "loss" | "contribution" | "slow_start" => Some("1"),
        "goodput" => Some("bit/s"),
        "reorder_buffer" | "probes" => Some("bytes"),
        "rtt" | "out_of_order" | "application_delay" => Some(match number {
            "n" => "",
            "share" => "1",
            _ if number.starts_with("above_") => "1",
            _ => "s",
        }),
        _ => None,
    }
}

fn measure(name: &Name) -> Measure {
    let text = interned(&name.text());
    let unit = unit_of(text).unwrap_or_default();
    let larger_is_better = text.starts_with("contribution/");
    let silence = match unit {
        "s" => of_time(name.statistic),
        "1" if !larger_is_better => Silence::Late,
        _ => Silence::Proportional,
    };
    Measure {
        info: MetricInfo {
            name: text,
            unit,
            larger_is_better,
            heading: text,
            short: text,
            verb: interned(&format!("has {text}:")),
            worse: ("has", if larger_is_better { "less" } else { "more" }),
            parts: Metric::MessageDelay.info().parts,
            least_noticed: if unit == "1" { 0.001 } else { 0.0 },
        },
        statistic: if name.statistic.is_empty() { text } else { name.statistic },
        of: interned(&name.of),
        source: Source::Further(text),
        silence,
    }
}

/// A time of silence and a statistic of times.
fn of_time(statistic: &str) -> Silence {
    match statistic {
        "max" => Silence::Whole,
        "p50" => Silence::Above(0.5),
        "p75" => Silence::Above(0.25),
        "p95" => Silence::Above(0.05),
        "p99" => Silence::Above(0.01),
        _ => Silence::Share,
    }
}

/// The text for the life of the program; each one is kept once.
fn interned(text: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(own) = known.get(text) {
        return own;
    }
    let own: &'static str = Box::leak(text.into());
    known.insert(own);
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Key, Options};

    fn asked(key: Key, text: &str, measured: bool) -> Result<(Measure, bool), String> {
        let mut options = Options::default().with(Key::Path, "a=rate 5mbit").with(key, text);
        options.set_switch(Key::PacketMetrics, measured);
        let scenario = options.with(Key::Traffic, "video:10s").resolve();
        let scenario = scenario.map_err(|error| error.to_string())?;
        Ok((scenario.metric, scenario.goal.is_some()))
    }

    #[test]
    fn numbers_of_packets_are_metrics() {
        let (metric, _) = asked(Key::Metric, "RTT/a/p95", true).unwrap();
        assert_eq!((metric.name(), metric.unit(), metric.of), ("rtt/a/p95", "s", "rtt/a"));
        assert_eq!(metric.of_silence(1.0, Some(100.0), 0.1), 0.01);
        let (metric, has_goal) = asked(Key::Goal, "p95 rtt/a<100ms", true).unwrap();
        assert_eq!((metric.name(), has_goal), ("rtt/a/p95", true));
        let (metric, _) = asked(Key::Goal, "reorder_buffer/max < 64KiB", true).unwrap();
        assert_eq!((metric.unit(), metric.larger_is_better()), ("bytes", false));
        assert_eq!(metric.of_silence(1.0, Some(10.0), 5000.0), 500.0);
        let (metric, _) = asked(Key::Metric, "contribution/a", true).unwrap();
        assert!(metric.larger_is_better() && metric.statistic == "contribution/a");
        let (metric, _) = asked(Key::Metric, "p95", true).unwrap();
        assert_eq!(metric.name(), "p95", "that of the messages");
    }

    #[test]
    fn what_no_packet_has_is_refused_with_the_mend() {
        let refused = |text: &str, measured| asked(Key::Metric, text, measured).unwrap_err();
        assert!(refused("rtt/a/p95", false).contains("add `--packet-metrics`"));
        let text = refused("rtt/b/p95", true);
        assert!(text.contains("`rtt/b/p95`") && text.contains("mean `rtt/a/p95`"), "{text}");
    }
}

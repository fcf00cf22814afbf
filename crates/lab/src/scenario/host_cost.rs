//! Processing time of the hosts: `segment=5us,decision=1us,gap=100ns`.
//!
//! A host with a cost does one thing after the other: the simulator's `ProcessingCost`.

use super::row::{Counts, OptionRow, list};
use super::schema::Pattern::Of;
use super::show::maybe;
use super::table::Key;
use super::{Options, schema};
use crate::error::{Given, InputError, Refusal};
use crate::path_spec::show_time;
use crate::units::parse_time;
use crate::words::nearest_help;
use base::Duration;
use simulator::ProcessingCost;
use std::ops::Range;
use transport::sctp::GapStructure;

/// What a cost is of, in the order of [`parts_of`].
pub(super) const PARTS: [&str; 3] = ["segment", "decision", "gap"];
/// Largest time: more than any host takes for one step.
const MOST: Duration = Duration::from_secs(1);
const EXAMPLE: &str = "write what takes time and how long, `segment=5us,gap=100ns`, or `none`";

/// The row of `--host-cost`.
pub(super) const ROW: OptionRow = list(
    "host-cost",
    "Processing time of the hosts: of each segment received or sent, of each scheduling \
     decision, of each gap entry that SCTP visits: `segment=5us,decision=1us,gap=100ns`. \
     Default: none.",
)
.argument(
    35,
    "LIST",
    "Processing time of the hosts: of each segment received or sent, of each scheduling \
     decision, of each gap entry that sctp visits: segment=5us,decision=1us,gap=100ns \
     [default: none]",
)
.pattern(Of(schema::host_cost))
.shown(|s| maybe(show(&s.ends.cost).as_ref()))
.counts(Counts::StudyKey, "segment=5us");

/// The cost in `options`; `has_sctp`: SCTP, which alone has gap entries, is compared or competes.
pub(super) fn resolve(options: &Options, has_sctp: bool) -> Result<ProcessingCost, InputError> {
    let mut found = [None; PARTS.len()];
    for given in options.texts(Key::HostCost) {
        if given.text == "none" {
            continue;
        }
        for (span, word) in given.split_at_commas() {
            let refuse = |problem: String, help: &str| {
                Err(given.refuse(Refusal { span: span.clone(), problem, help: help.to_owned() }))
            };
            let (part, time) = one(given, &span, word)?;
            let name = PARTS[part];
            if found[part].replace(time).is_some() {
                return refuse(format!("`{name}` is given twice"), "keep one");
            }
            if name == "gap" && !has_sctp {
                let problem = "`gap` is the time of SCTP's gap entries, and SCTP is not compared";
                let help = "add `sctp` to the protocols: `--protocols tcp,sctp`";
                return refuse(problem.to_owned(), help);
            }
        }
    }
    let [per_segment, per_decision, per_gap_entry] = found.map(Option::unwrap_or_default);
    Ok(ProcessingCost { per_segment, per_decision, per_gap_entry })
}

/// Number of a part, and its time.
fn one(given: &Given, span: &Range<usize>, word: &str) -> Result<(usize, Duration), InputError> {
    let refuse = |problem: String, help: String| {
        Err(given.refuse(Refusal { span: span.clone(), problem, help }))
    };
    let Some((name, text)) = word.split_once('=') else {
        return refuse(format!("`{word}` is not a cost"), EXAMPLE.to_owned());
    };
    let offset = span.start + word.len() - text.trim_start().len();
    let (name, text) = (name.trim(), text.trim());
    let Some(part) = PARTS.iter().position(|part| *part == name) else {
        return refuse(format!("unknown cost `{name}`"), nearest_help(name, &PARTS));
    };
    let time = parse_time(text).map_err(|refusal| given.refuse(refusal.shifted(offset)))?;
    if time > MOST {
        let problem = format!("`{text}` is more than a second for each `{name}`");
        return refuse(problem, "write a time such as `5us`".to_owned());
    }
    Ok((part, time))
}

/// The times of a cost.
const fn parts_of(cost: &ProcessingCost) -> [Duration; PARTS.len()] {
    [cost.per_segment, cost.per_decision, cost.per_gap_entry]
}

/// The cost as text; `None` without any.
pub(super) fn show(cost: &ProcessingCost) -> Option<String> {
    let times = PARTS.iter().zip(parts_of(cost)).filter(|(_, time)| !time.is_zero());
    let parts: Vec<String> =
        times.map(|(part, time)| format!("{part}={}", show_time(time))).collect();
    (!parts.is_empty()).then(|| parts.join(","))
}

/// What readers of the results must know of the hosts.
pub(super) fn note(cost: &ProcessingCost, structure: GapStructure) -> Option<String> {
    let is_list = structure == GapStructure::List;
    if is_list && cost.per_gap_entry.is_zero() {
        return Some("`gap-structure` has no effect without `--host-cost gap=TIME`".to_owned());
    }
    let entries = if is_list { ", gap entries in lists" } else { "" };
    Some(format!("hosts have processing times: {}{entries}", show(cost)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> Result<ProcessingCost, String> {
        let options = Options::default().with(Key::HostCost, text);
        resolve(&options, true).map_err(|error| error.to_string())
    }

    #[test]
    fn every_part_is_read_and_shown() {
        let all = cost("gap=100ns, segment=5us,decision=1.5us").unwrap();
        assert_eq!(all.per_segment, Duration::from_micros(5));
        assert_eq!(all.per_gap_entry, Duration::from_nanos(100));
        let text = show(&all).unwrap();
        assert_eq!(text, "segment=5us,decision=1.5us,gap=100ns");
        assert_eq!(cost(&text), Ok(all));
        assert_eq!(show(&cost("none").unwrap()), None);
        let twice = Options::default().with(Key::HostCost, "gap=1us");
        let twice = twice.with(Key::HostCost, "segment=2us");
        assert_eq!(show(&resolve(&twice, true).unwrap()).unwrap(), "segment=2us,gap=1us");
    }

    #[test]
    fn readers_learn_of_a_cost_and_of_a_structure_without_effect() {
        let of = |text, structure| note(&cost(text).unwrap(), structure).unwrap_or_default();
        assert_eq!(of("none", GapStructure::Tree), "");
        assert!(of("segment=1us", GapStructure::List).contains("no effect"));
        let list = "hosts have processing times: gap=1us, gap entries in lists";
        assert_eq!(of("gap=1us", GapStructure::List), list);
        let tree = "hosts have processing times: segment=2us,gap=1us";
        assert_eq!(of("gap=1us,segment=2us", GapStructure::Tree), tree);
    }

    #[test]
    fn mistakes_are_refused_with_a_remedy() {
        for (text, part) in [
            ("5us", "`segment=5us,gap=100ns`"),
            ("", "is not a cost"),
            ("gaps=1us", "did you mean `gap`"),
            ("gap=5", "without a unit"),
            ("gap=-5us", "negative"),
            ("gap=2s", "more than a second"),
            ("gap=1us,gap=2us", "given twice"),
        ] {
            let message = cost(text).unwrap_err();
            assert!(message.contains(part), "`{part}` is missing in:\n{message}");
        }
        let of_gaps = Options::default().with(Key::HostCost, "segment=1us,gap=1us");
        let message = resolve(&of_gaps, false).unwrap_err().to_string();
        assert!(message.contains("add `sctp` to the protocols"), "{message}");
    }
}

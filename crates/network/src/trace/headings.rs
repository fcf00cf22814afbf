//! Units in the headings of two columns: `time_ms`, `rate (Mbit/s)`, `kByte/s`, `bits per second`.
//!
//! A heading without a unit leaves it to the caller; one with a unit that is not understood is
//! refused, because a wrong guess is wrong by a factor of 8 or 1000.

use super::detect::Unit;
use super::error::TraceFault;

/// Seconds in one of the unit of a heading of times; 1 if it names none.
pub(super) fn seconds(heading: &str) -> Result<f64, TraceFault> {
    const OTHERS: &[&str] = &[
        "us",
        "usec",
        "µs",
        "micros",
        "microseconds",
        "ns",
        "nanos",
        "nanoseconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hour",
        "hours",
        "day",
        "days",
    ];
    let words = words(heading);
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    if has(OTHERS) {
        return Err(TraceFault::malformed(heading, "a heading of times in seconds or ms"));
    }
    let is_millis = has(&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"]);
    Ok(if is_millis { 1e-3 } else { 1.0 })
}

/// The unit of a heading of rates, and the number of it that the heading names: `kByte/s` is a
/// thousand bytes. `None` if the heading names no unit.
pub(super) fn unit(heading: &str) -> Result<Option<(Unit, f64)>, TraceFault> {
    let words = words(heading);
    let per_second = !words.iter().any(|word| {
        matches!(word.as_str(), "ms" | "millisecond" | "min" | "minute" | "h" | "hour" | "interval")
    });
    let mut found = None;
    let mut unknown = false;
    for (index, word) in words.iter().enumerate() {
        let next_is_second = words.get(index + 1).is_some_and(|next| next == "s");
        match parse(word) {
            Word::Rate(unit, factor) if found.is_none_or(|known| known == (unit, factor)) => {
                found = Some((unit, factor));
            }
            Word::Short if word != "b" || next_is_second => {
                let why = "`b` and `bps` in the heading could be bits or bytes";
                return Err(TraceFault::Ambiguous { why });
            }
            Word::Rate(..) => return Err(NOT_UNDERSTOOD),
            Word::Like => unknown = true,
            Word::Short | Word::Other => {}
        }
    }
    if (found.is_some() && !per_second) || (found.is_none() && unknown) {
        return Err(NOT_UNDERSTOOD);
    }
    Ok(found)
}

const NOT_UNDERSTOOD: TraceFault = TraceFault::Ambiguous {
    why: "the heading names a unit other than bit, byte, kbit, kbyte, Mbit, ... per second",
};

/// A word of a heading.
enum Word {
    /// A unit per second, and the number of it.
    Rate(Unit, f64),
    /// `kB`, `Mbps`: bits for some, bytes for others (`tc`).
    Short,
    /// It contains `bit` or `byte`, but is not understood.
    Like,
    Other,
}

fn parse(word: &str) -> Word {
    let names = [("byte", Unit::Bytes), ("bit", Unit::Bit)];
    if let Some((prefix, unit, rest)) = names
        .into_iter()
        .find_map(|(name, unit)| word.split_once(name).map(|(prefix, rest)| (prefix, unit, rest)))
    {
        let is_rate = matches!(rest, "" | "s" | "ps" | "sps" | "sec" | "ssec");
        return match (factor(prefix).filter(|_| is_rate), unit) {
            (Some(1e3), Unit::Bit) => Word::Rate(Unit::Kbit, 1.0),
            (Some(1e6), Unit::Bit) => Word::Rate(Unit::Mbit, 1.0),
            (Some(factor), unit) => Word::Rate(unit, factor),
            (None, _) => Word::Like,
        };
    }
    let is_short = ["b", "bps"]
        .iter()
        .any(|name| word.strip_suffix(name).is_some_and(|prefix| factor(prefix).is_some()));
    if is_short { Word::Short } else { Word::Other }
}

/// The number that a prefix of a unit means.
fn factor(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "k" | "kilo" => 1e3,
        "m" | "mega" => 1e6,
        "g" | "giga" => 1e9,
        "ki" | "kibi" => 1024.0,
        "mi" | "mebi" => 1024.0 * 1024.0,
        "gi" | "gibi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// The words of a heading in lower case; `rateMbit` has two, `kByte` one.
fn words(heading: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for c in heading.chars() {
        let is_prefix = words.last().is_some_and(|word| factor(word).is_some());
        if !c.is_alphanumeric() || (before_is_lower && c.is_uppercase() && !is_prefix) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before_is_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: bits were read as bytes, kByte and MByte as bytes, and Gbit by its values.
    #[test]
    fn unit_of_a_heading_has_its_prefix_and_its_word() {
        for (heading, expected) in [
            ("Throughput (bits/s)", (Unit::Bit, 1.0)),
            ("bits", (Unit::Bit, 1.0)),
            ("bit/s", (Unit::Bit, 1.0)),
            ("bits per second", (Unit::Bit, 1.0)),
            ("rate_kbit", (Unit::Kbit, 1.0)),
            ("rateMbit", (Unit::Mbit, 1.0)),
            ("bitrate (Mbit/s)", (Unit::Mbit, 1.0)),
            ("Gbit/s", (Unit::Bit, 1e9)),
            ("BytesPerSecond", (Unit::Bytes, 1.0)),
            ("bytes-per-second", (Unit::Bytes, 1.0)),
            ("kByte/s", (Unit::Bytes, 1e3)),
            ("MBytes/s", (Unit::Bytes, 1e6)),
            ("megabit/s", (Unit::Mbit, 1.0)),
            ("KiByte/s", (Unit::Bytes, 1024.0)),
        ] {
            assert_eq!(unit(heading), Ok(Some(expected)), "{heading}");
        }
        for heading in ["rate", "", "throughput", "b", "bandwidth", "capacity", "goodput"] {
            assert_eq!(unit(heading), Ok(None), "{heading}");
        }
    }

    #[test]
    fn unit_that_is_not_understood_is_refused() {
        for heading in
            ["bps", "Mbps", "kB/s", "b/s", "bitrate", "xbit", "bytes/ms", "Mbit/min", "bit kbit"]
        {
            let refused = unit(heading);
            assert!(matches!(refused, Err(TraceFault::Ambiguous { .. })), "{heading}: {refused:?}");
        }
    }

    #[test]
    fn times_are_seconds_or_milliseconds() {
        for (heading, expected) in
            [("time", 1.0), ("Time (s)", 1.0), ("time_ms", 1e-3), ("Time (ms)", 1e-3)]
        {
            assert_eq!(seconds(heading), Ok(expected), "{heading}");
        }
        assert!(seconds("time_us").is_err() && seconds("minutes").is_err());
    }
}

//! Parses and prints quantities: rates, times, probabilities, queue lengths, sizes.
//!
//! Existing spellings are accepted, one canonical spelling is printed, and a spelling that two
//! programs read differently is refused with both readings.

use crate::error::Refusal;
use crate::words::nearest_help;
use base::{Duration, Rate};

/// A limit of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Packets waiting.
    Packets(u64),
    /// Bytes waiting, at IP length.
    Bytes(u64),
    /// Transmission time of the waiting bytes at the link's rate.
    Time(Duration),
}

impl PartialOrd for QueueLimit {
    /// `None` of limits of different kinds.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (QueueLimit::Packets(a), QueueLimit::Packets(b))
            | (QueueLimit::Bytes(a), QueueLimit::Bytes(b)) => Some(a.cmp(b)),
            (QueueLimit::Time(a), QueueLimit::Time(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

const RATE_UNITS: [(&str, u64); 5] = [
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
];
const TIME_UNITS: [(&str, u64); 4] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const SIZE_UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Reads a rate such as `25mbit`; zero is refused.
pub(crate) fn parse_rate(text: &str) -> Result<Rate, Refusal> {
    let rate = parse_rate_or_zero(text)?;
    if rate.as_bps() == 0 {
        return Err(Refusal::new(
            text,
            format!("a rate of zero (`{text}`) transmits nothing"),
            "write a rate above zero; an outage is `down @START..END` or `silent @START..END`",
        ));
    }
    Ok(rate)
}

/// Reads a rate such as `25mbit`, or a deviation of rates, which may be zero.
pub(crate) fn parse_rate_or_zero(text: &str) -> Result<Rate, Refusal> {
    let (number, unit) = split_number(text)?;
    let lower = unit.to_lowercase();
    let word = lower.strip_suffix("/s").unwrap_or(&lower);
    let Some((_, factor)) = RATE_UNITS.iter().find(|(name, _)| *name == word) else {
        return Err(unknown_rate_unit(text, &number, unit, word));
    };
    let bps = number.times(*factor).ok_or_else(|| too_large(text, "rate"))?;
    Ok(Rate::from_bps(bps))
}

fn unknown_rate_unit(text: &str, number: &Decimal, unit: &str, word: &str) -> Refusal {
    let shown = number.shown();
    if word.is_empty() {
        return Refusal::new(
            text,
            format!("`{text}` is a rate without a unit: bit/s to tc, Mbit/s to Mininet"),
            format!(
                "write `{shown}mbit` for megabit per second or `{shown}bit` for bit per second"
            ),
        );
    }
    if let Some(prefix @ ("" | "k" | "m" | "g" | "t")) = word.strip_suffix("bps") {
        let bytes = number.scaled(8).unwrap_or_else(|| format!("8 x {shown}"));
        let (name, _) = prefix_name(prefix);
        return Refusal::new(
            text,
            format!(
                "`{unit}` is refused: it means {name}byte per second in tc, \
                 {name}bit per second elsewhere"
            ),
            format!(
                "write `{shown}{prefix}bit` if you mean {name}bit, \
                 `{bytes}{prefix}bit` if you mean {name}byte"
            ),
        );
    }
    let names: Vec<&str> = RATE_UNITS.iter().map(|(name, _)| *name).collect();
    Refusal::new(text, format!("unknown unit `{unit}` of a rate"), nearest_help(word, &names))
}

fn prefix_name(prefix: &str) -> (&'static str, u64) {
    match prefix {
        "k" => ("kilo", 1_000),
        "m" => ("mega", 1_000_000),
        "g" => ("giga", 1_000_000_000),
        "t" => ("tera", 1_000_000_000_000),
        _ => ("", 1),
    }
}

/// Reads a time such as `20ms`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, Refusal> {
    let (number, unit) = split_number(text)?;
    if unit.is_empty() {
        let shown = number.shown();
        return Err(Refusal::new(
            text,
            format!(
                "`{text}` is a time without a unit: microseconds to tc, milliseconds elsewhere"
            ),
            format!("write `{shown}ms` or `{shown}s`"),
        ));
    }
    let Some(factor) = time_unit(unit) else {
        let names: Vec<&str> = TIME_UNITS.iter().map(|(name, _)| *name).collect();
        return Err(Refusal::new(
            text,
            format!("unknown unit `{unit}` of a time"),
            nearest_help(&unit.to_lowercase(), &names),
        ));
    };
    number.times(factor).map(Duration::from_nanos).ok_or_else(|| too_large(text, "time"))
}

/// Whether it is a unit of times.
pub(crate) fn is_time_unit(unit: &str) -> bool {
    time_unit(unit).is_some()
}

/// The factor of a unit of times.
fn time_unit(unit: &str) -> Option<u64> {
    let lower = unit.to_lowercase();
    // `tc` also knows sec, msec and usec, with or without a plural.
    let stem = lower.strip_suffix("secs").or_else(|| lower.strip_suffix("sec"));
    let word = stem.map_or_else(|| lower.clone(), |prefix| format!("{prefix}s"));
    TIME_UNITS.iter().find(|(name, _)| *name == word).map(|(_, factor)| *factor)
}

/// Reads a probability such as `1%` or `0.01`; above 100 % is refused.
pub(crate) fn parse_probability(text: &str) -> Result<f64, Refusal> {
    let (number, unit) = split_number(text)?;
    let value = match unit {
        "%" => number.value() / 100.0,
        "" => number.value(),
        other => {
            return Err(Refusal::new(
                text,
                format!("unknown unit `{other}` of a probability"),
                "write a percentage such as `1%` or a fraction such as `0.01`",
            ));
        }
    };
    if value <= 1.0 {
        return Ok(value);
    }
    let help = if unit.is_empty() && number.value() <= 100.0 {
        format!(
            "a number without `%` is a fraction, and 1 means always; write `{}%` for \
            percent",
            number.shown()
        )
    } else {
        "write a percentage from `0%` to `100%` or a fraction from `0` to `1`".to_owned()
    };
    let percent = number.scaled(if unit == "%" { 1 } else { 100 }).unwrap_or_default();
    Err(Refusal::new(text, format!("`{text}` is a probability above 100 % ({percent} %)"), help))
}

/// Reads the bound of a queue such as `100p`, `64KiB` or `50ms`; zero and bare numbers are refused.
pub(crate) fn parse_queue(text: &str) -> Result<QueueLimit, Refusal> {
    match parse_queue_or_zero(text)? {
        QueueLimit::Packets(0) | QueueLimit::Bytes(0) | QueueLimit::Time(Duration::ZERO) => {
            Err(Refusal::new(
                text,
                format!("a queue of `{text}` has no room and drops every burst"),
                "write at least `1p`; 100p is usual for WLAN, 1000p is the default of Linux",
            ))
        }
        limit => Ok(limit),
    }
}

/// Reads the bound of a queue, or a deviation of bounds, which may be zero.
pub(crate) fn parse_queue_or_zero(text: &str) -> Result<QueueLimit, Refusal> {
    let (number, unit) = split_number(text)?;
    match unit {
        "" => {
            let shown = number.shown();
            Err(Refusal::new(
                text,
                format!(
                    "`{text}` is a queue length without a unit: packets to tc, bytes elsewhere"
                ),
                format!("write `{shown}p` for packets, `{shown}B` for bytes or `{shown}ms`"),
            ))
        }
        "p" => whole(text, &number, "packets").map(QueueLimit::Packets),
        unit if TIME_UNITS.iter().any(|(name, _)| *name == unit) => {
            parse_time(text).map(QueueLimit::Time)
        }
        unit if looks_like_size(unit) => parse_size(text).map(QueueLimit::Bytes),
        unit => {
            let mut names = vec!["p", "ms", "s", "us"];
            names.extend(SIZE_UNITS.iter().map(|(name, _)| *name));
            Err(Refusal::new(
                text,
                format!("unknown unit `{unit}` of a queue length"),
                nearest_help(unit, &names),
            ))
        }
    }
}

/// Reads a size such as `4MiB`, `1500` or `64kB`; a bare `k` or `M` is refused.
pub(crate) fn parse_size(text: &str) -> Result<u64, Refusal> {
    let (number, unit) = split_number(text)?;
    let factor = match SIZE_UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => 1,
        None => return Err(unknown_size_unit(text, &number, unit)),
    };
    if factor == 1 {
        return whole(text, &number, "bytes");
    }
    number.times(factor).ok_or_else(|| too_large(text, "size"))
}

fn unknown_size_unit(text: &str, number: &Decimal, unit: &str) -> Refusal {
    let shown = number.shown();
    let prefix = match unit.to_lowercase().as_str() {
        "k" | "kb" => Some(("KiB", "kB", 1u64 << 10, 1_000)),
        "m" | "mb" => Some(("MiB", "MB", 1 << 20, 1_000_000)),
        "g" | "gb" => Some(("GiB", "GB", 1 << 30, 1_000_000_000)),
        _ => None,
    };
    if let Some((binary, decimal, two, ten)) = prefix {
        let both = match (number.scaled(two), number.scaled(ten)) {
            (Some(two), Some(ten)) => format!("{two} or {ten} bytes"),
            _ => "either".to_owned(),
        };
        return Refusal::new(
            text,
            format!("`{text}` has two readings ({both})"),
            format!("write `{shown}{binary}` (powers of 1024) or `{shown}{decimal}` (of 1000)"),
        );
    }
    let names: Vec<&str> = SIZE_UNITS.iter().map(|(name, _)| *name).collect();
    Refusal::new(text, format!("unknown unit `{unit}` of a size"), nearest_help(unit, &names))
}

fn looks_like_size(unit: &str) -> bool {
    matches!(unit.to_lowercase().as_str(), "k" | "m" | "g" | "b" | "kb" | "mb" | "gb")
        || SIZE_UNITS.iter().any(|(name, _)| *name == unit)
}

/// A size in its canonical spelling: the largest unit that needs no fraction.
pub(crate) fn show_size(bytes: u64) -> String {
    let units = ["GiB", "MiB", "KiB", "GB", "MB", "kB"];
    let of = |name: &str| SIZE_UNITS.iter().find(|(n, _)| *n == name).map_or(1, |(_, f)| *f);
    match units.iter().find(|name| bytes > 0 && bytes.is_multiple_of(of(name))) {
        Some(name) => format!("{}{name}", bytes / of(name)),
        None => format!("{bytes}B"),
    }
}

/// A probability in its canonical spelling: `1%`.
pub(crate) fn show_probability(p: f64) -> String {
    let digits = format!("{:.8}", p * 100.0);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    // Below the digits shown, the fraction itself is exact.
    if digits == "0" && p > 0.0 { format!("{p}") } else { format!("{digits}%") }
}

impl std::fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueueLimit::Packets(n) => write!(f, "{n}p"),
            QueueLimit::Bytes(n) => f.write_str(&show_size(*n)),
            QueueLimit::Time(time) => write!(f, "{time}"),
        }
    }
}

/// A non-negative decimal number, exactly as written: `digits / 10^scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Decimal {
    digits: u64,
    scale: u32,
}

impl Decimal {
    /// The number times `factor`, rounded to a whole; `None` if it does not fit.
    fn times(&self, factor: u64) -> Option<u64> {
        let scale = 10u128.pow(self.scale);
        let product = u128::from(self.digits) * u128::from(factor);
        u64::try_from((product + scale / 2) / scale).ok()
    }

    fn value(&self) -> f64 {
        self.digits as f64 / 10u64.pow(self.scale) as f64
    }

    fn shown(&self) -> String {
        self.scaled(1).unwrap_or_default()
    }

    /// The number times `factor` in decimal digits; `None` if it does not fit.
    fn scaled(&self, factor: u64) -> Option<String> {
        let product = self.digits.checked_mul(factor)?;
        let scale = 10u64.pow(self.scale);
        let (whole, rest) = (product / scale, product % scale);
        if rest == 0 {
            return Some(whole.to_string());
        }
        let fraction = format!("{rest:0width$}", width = self.scale as usize);
        Some(format!("{whole}.{}", fraction.trim_end_matches('0')))
    }
}

/// The number a text starts with, and the rest without surrounding blanks.
fn split_number(text: &str) -> Result<(Decimal, &str), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new(text, "a number is missing", "write a number and its unit"));
    }
    if let Some(rest) = text.strip_prefix('-')
        && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return Err(Refusal::new(
            text,
            format!("`{text}` is negative"),
            "write a number that is not negative",
        ));
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(Refusal::new(
            text,
            format!("`{text}` is not a number with a unit"),
            "write digits, optionally with a decimal point, and the unit: `1.5s`, `25mbit`, `1%`",
        ));
    }
    let fraction = fraction.trim_end_matches('0');
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    if digits.len() > 18 || fraction.len() > 18 {
        return Err(too_large(text, "number"));
    }
    // At most 18 digits fit; a number of zeros only has none left.
    let digits = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) };
    Ok((Decimal { digits, scale: fraction.len() as u32 }, unit.trim()))
}

fn whole(text: &str, number: &Decimal, what: &str) -> Result<u64, Refusal> {
    if number.scale == 0 {
        return Ok(number.digits);
    }
    Err(Refusal::new(
        text,
        format!("`{text}` is not a whole number of {what}"),
        "write a whole one",
    ))
}

fn too_large(text: &str, what: &str) -> Refusal {
    Refusal::new(
        text,
        format!("`{text}` is too large or too precise for a {what}"),
        "write fewer digits",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        let refusal = result.unwrap_err();
        format!("{} / {}", refusal.problem, refusal.help)
    }

    #[test]
    fn rates_are_read_and_printed_canonically() {
        for (text, bps, canonical) in [
            ("25mbit", 25_000_000, "25mbit"),
            ("512kbit", 512_000, "512kbit"),
            ("1.5gbit", 1_500_000_000, "1.5gbit"),
            ("1500kbit", 1_500_000, "1.5mbit"),
            ("25Mbit/s", 25_000_000, "25mbit"),
            ("0.1mbit", 100_000, "100kbit"),
            ("7bit", 7, "7bit"),
        ] {
            let rate = parse_rate(text).unwrap();
            assert_eq!(rate.as_bps(), bps, "{text}");
            assert_eq!(rate.to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn bare_mbps_is_refused_with_both_readings() {
        let message = problem(parse_rate("25mbps"));
        assert!(message.contains("megabyte per second in tc"), "{message}");
        assert!(message.contains("`25mbit`") && message.contains("`200mbit`"), "{message}");
        assert!(problem(parse_rate("1.5Kbps")).contains("`12kbit`"));
        assert!(problem(parse_rate("8bps")).contains("byte per second in tc"));
    }

    #[test]
    fn senseless_rates_are_refused() {
        assert!(problem(parse_rate("0mbit")).contains("zero"));
        assert!(problem(parse_rate("0.0000001bit")).contains("zero"));
        assert!(problem(parse_rate("-5mbit")).contains("negative"));
        assert!(problem(parse_rate("25")).contains("without a unit"));
        assert!(problem(parse_rate("25mbti")).contains("did you mean `mbit`"));
        assert!(problem(parse_rate("nanmbit")).contains("not a number"));
        assert!(problem(parse_rate("infmbit")).contains("not a number"));
        assert!(problem(parse_rate("99999999999tbit")).contains("too large"));
        assert!(problem(parse_rate("1.2.3mbit")).contains("not a number"));
        assert!(problem(parse_rate("")).contains("missing"));
        assert!(problem(parse_rate(".")).contains("not a number"));
    }

    #[test]
    fn times_are_read_and_printed_canonically() {
        assert_eq!(parse_time("20ms").unwrap(), Duration::from_millis(20));
        assert_eq!(parse_time("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_time("250us").unwrap().to_string(), "250us");
        assert_eq!(parse_time("1500ms").unwrap().to_string(), "1.5s");
        assert!(problem(parse_time("20")).contains("without a unit"));
        assert_eq!(parse_time("20msec").unwrap(), Duration::from_millis(20));
        assert!(problem(parse_time("20mss")).contains("did you mean `ms`"));
        assert!(problem(parse_time("-1s")).contains("negative"));
        assert!(problem(parse_time("99999999999999999s")).contains("too large"));
    }

    #[test]
    fn probabilities_above_one_hundred_per_cent_are_refused() {
        assert_eq!(parse_probability("1%").unwrap(), 0.01);
        assert_eq!(parse_probability("0.01").unwrap(), 0.01);
        assert_eq!(parse_probability("100%").unwrap(), 1.0);
        assert!(problem(parse_probability("150%")).contains("above 100 % (150 %)"));
        assert!(problem(parse_probability("2")).contains("write `2%`"));
        assert!(problem(parse_probability("NaN")).contains("not a number"));
        assert!(problem(parse_probability("1ms")).contains("unknown unit `ms`"));
        assert_eq!(show_probability(0.07), "7%");
        assert_eq!(show_probability(0.015), "1.5%");
        assert_eq!(show_probability(0.0), "0%");
        assert_eq!(show_probability(1e-12), "0.000000000001");
    }

    #[test]
    fn queues_need_a_unit() {
        assert_eq!(parse_queue("100p").unwrap(), QueueLimit::Packets(100));
        assert_eq!(parse_queue("64KiB").unwrap(), QueueLimit::Bytes(65_536));
        assert_eq!(parse_queue("50ms").unwrap(), QueueLimit::Time(Duration::from_millis(50)));
        assert_eq!(parse_queue("64KiB").unwrap().to_string(), "64KiB");
        assert!(problem(parse_queue("100")).contains("`100p` for packets"));
        assert!(problem(parse_queue("64k")).contains("two readings"));
        assert!(problem(parse_queue("0p")).contains("has no room"));
        assert!(problem(parse_queue("1.5p")).contains("whole number"));
        assert!(problem(parse_queue("5pkts")).contains("unknown unit"));
    }

    #[test]
    fn bare_prefixes_of_sizes_are_refused_with_both_readings() {
        assert_eq!(parse_size("4MiB").unwrap(), 4 << 20);
        assert_eq!(parse_size("4MB").unwrap(), 4_000_000);
        assert_eq!(parse_size("1.5kB").unwrap(), 1_500);
        assert_eq!(parse_size("1500").unwrap(), 1_500);
        let message = problem(parse_size("4M"));
        assert!(message.contains("4194304 or 4000000 bytes"), "{message}");
        assert!(message.contains("`4MiB`") && message.contains("`4MB`"), "{message}");
        assert!(problem(parse_size("64k")).contains("65536 or 64000 bytes"));
        assert!(problem(parse_size("4Mib")).contains("did you mean `MiB`"));
        assert_eq!(show_size(4 << 20), "4MiB");
        assert_eq!(show_size(4_000_000), "4MB");
        assert_eq!(show_size(1_500), "1500B");
        assert_eq!(show_size(0), "0B");
    }

    proptest! {
        #[test]
        fn canonical_spellings_are_read_back(bps in 1u64..10_000_000_000_000, bytes: u64,
                                             nanos in 0u64..1_000_000_000_000) {
            let rate = Rate::from_bps(bps);
            prop_assert_eq!(parse_rate(&rate.to_string()).unwrap(), rate);
            let time = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_time(&time.to_string()).unwrap(), time);
            let bytes = bytes >> 8;
            prop_assert_eq!(parse_size(&show_size(bytes)).unwrap(), bytes);
        }

        #[test]
        fn any_text_is_answered(text in "\\PC{0,24}", number in "[0-9.]{0,30}[a-zA-Z%/]{0,6}") {
            for text in [&text, &number] {
                let _ = parse_rate(text);
                let _ = parse_time(text);
                let _ = parse_probability(text);
                let _ = parse_queue(text);
                let _ = parse_size(text);
            }
        }
    }
}

//! Values of a path that repetitions draw: `20ms..25ms` uniformly, `20ms+-5ms` from a normal
//! distribution.
//!
//! `items` parses them, `show` prints them, `draw` draws them by (seed, run, path).

use super::token::Token;
use crate::error::Refusal;
use crate::units::QueueLimit;
use base::{Chance, Purpose};
use network::standard_normal;
use std::cmp::Ordering;
use std::fmt;

/// Separates the ends of a uniform distribution.
const TO: &str = "..";
/// Separates the mean of a normal distribution and its standard deviation.
const PLUS_MINUS: &str = "+-";

/// A value, or the distribution that each repetition draws one from.
#[derive(Clone, Copy, PartialEq)]
pub struct Span<T> {
    /// Lower end of a uniform distribution, or the mean of a normal one.
    pub low: T,
    /// Upper end; equal to `low` when nothing is drawn, and for a normal distribution.
    pub high: T,
    /// Standard deviation of a normal distribution, which is cut at zero.
    pub deviation: Option<T>,
}

/// Limits of a queue that repetitions draw.
#[derive(Clone, Copy, PartialEq)]
pub struct Limits(pub Span<QueueLimit>);

impl<T: Copy + PartialEq> Span<T> {
    /// One value.
    pub const fn fixed(value: T) -> Self {
        Span::uniform(value, value)
    }

    /// A uniform distribution.
    pub const fn uniform(low: T, high: T) -> Self {
        Span { low, high, deviation: None }
    }

    /// Whether the value is drawn.
    pub fn is_drawn(&self) -> bool {
        self.low != self.high || self.deviation.is_some()
    }

    /// The same in another unit.
    pub(super) fn map<U>(self, convert: impl Fn(T) -> U) -> Span<U> {
        let Span { low, high, deviation } = self;
        Span { low: convert(low), high: convert(high), deviation: deviation.map(convert) }
    }

    /// The value as in a description.
    pub(crate) fn show(&self, show: impl Fn(T) -> String) -> String {
        let low = show(self.low);
        match self.deviation {
            Some(deviation) => format!("{low}{PLUS_MINUS}{}", show(deviation)),
            None if self.is_drawn() => format!("{low}{TO}{}", show(self.high)),
            None => low,
        }
    }
}

impl Span<u64> {
    /// A whole number for this key.
    pub(super) fn draw(self, chance: &Chance, owner: u64, index: u64) -> u64 {
        let Span { low, high, deviation } = self;
        let Some(deviation) = deviation else {
            let bound = (high - low).saturating_add(1);
            return low + chance.below(bound, owner, Purpose::PathParameter, index);
        };
        let share = chance.uniform(owner, Purpose::PathParameter, index);
        libm::round(normal(low as f64, deviation as f64, f64::INFINITY, share)) as u64
    }
}

impl Span<f64> {
    /// A probability for this key.
    pub(super) fn draw(self, chance: &Chance, owner: u64, index: u64) -> f64 {
        let share = chance.uniform(owner, Purpose::PathParameter, index);
        match self.deviation {
            None => self.low + (self.high - self.low) * share,
            Some(deviation) => normal(self.low, deviation, 1.0, share),
        }
    }
}

/// The value of a normal distribution, cut at zero and at `most`, below which the share `u` of its
/// values is.
fn normal(mean: f64, deviation: f64, most: f64, u: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc((mean - x) / deviation * std::f64::consts::FRAC_1_SQRT_2);
    let (none, all) = (below(0.0), below(most));
    (mean + deviation * standard_normal(none + u * (all - none))).clamp(0.0, most)
}

/// The value of a word, or the distribution that it describes. `parse_deviation` reads a standard
/// deviation, which may be zero.
pub(super) fn parse_span<T: Copy + PartialOrd>(
    value: &Token,
    parse: impl Fn(&str) -> Result<T, Refusal>,
    parse_deviation: impl Fn(&str) -> Result<T, Refusal>,
) -> Result<Span<T>, Refusal> {
    let text = value.text.as_str();
    let place = |refusal: Refusal, at| value.place(refusal.shifted(at));
    if let Some((mean, deviation)) = text.split_once(PLUS_MINUS) {
        let at = mean.len() + PLUS_MINUS.len();
        let mean = parse(mean).map_err(|refusal| value.place(refusal))?;
        let deviation = parse_deviation(deviation).map_err(|refusal| place(refusal, at))?;
        order(value, mean, deviation)?;
        return Ok(Span { low: mean, high: mean, deviation: Some(deviation) });
    }
    let Some((low, high)) = text.split_once(TO) else {
        return parse(text).map(Span::fixed).map_err(|refusal| value.place(refusal));
    };
    let at = low.len() + TO.len();
    let low = parse(low).map_err(|refusal| value.place(refusal))?;
    let high = parse(high).map_err(|refusal| place(refusal, at))?;
    if order(value, low, high)? == Ordering::Greater {
        let help = match text.split_once(TO) {
            Some((low, high)) if has_unit(high) && !has_unit(low) => {
                format!("write the unit at both ends, or the smaller one first (`{low}` has none)")
            }
            Some((low, high)) => format!("write the smaller one first: `{high}{TO}{low}`"),
            None => String::new(),
        };
        return Err(value.refuse(format!("`{text}` has its ends in the wrong order"), help));
    }
    Ok(Span::uniform(low, high))
}

fn has_unit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphabetic() || c == '%')
}

/// The order of two values of one kind.
fn order<T: PartialOrd>(value: &Token, a: T, b: T) -> Result<Ordering, Refusal> {
    a.partial_cmp(&b).ok_or_else(|| {
        let problem = format!("`{}` has values of two kinds", value.text);
        value.refuse(problem, "write both in packets, both in bytes or both as times")
    })
}

// A description of what runs depend on has this text, so it stays as it is.
impl<T: fmt::Debug> fmt::Debug for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Span");
        shown.field("low", &self.low).field("high", &self.high);
        if let Some(deviation) = &self.deviation {
            shown.field("deviation", deviation);
        }
        shown.finish()
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_drawn() { self.0.fmt(f) } else { self.0.low.fmt(f) }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.show(|limit| limit.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{parse_probability, parse_queue, parse_queue_or_zero, parse_time};
    use base::Duration;

    fn word(text: &str) -> Token {
        Token { text: text.to_owned(), span: 7..7 + text.len() }
    }

    #[test]
    fn normal_values_have_their_mean_and_deviation_and_none_is_below_zero() {
        let draws = |span: Span<u64>| -> Vec<f64> {
            (0..4000).map(|run| span.draw(&Chance::new(1, run), 5, 0) as f64).collect()
        };
        let moments = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square = |value: &f64| (value - mean) * (value - mean);
            (mean, (values.iter().map(square).sum::<f64>() / values.len() as f64).sqrt())
        };
        let far = Span { low: 20_000, high: 20_000, deviation: Some(3_000) };
        let (mean, deviation) = moments(&draws(far));
        assert!((mean - 20_000.0).abs() < 150.0, "{mean}");
        assert!((deviation - 3_000.0).abs() < 100.0, "{deviation}");
        // The half-normal distribution has the mean sqrt(2/pi) and the variance 1 - 2/pi.
        let half = Span { low: 0, high: 0, deviation: Some(10_000) };
        let (mean, deviation) = moments(&draws(half));
        assert!((mean - 7_978.8).abs() < 300.0, "{mean}");
        assert!((deviation - 6_028.1).abs() < 300.0, "{deviation}");
        let loss = Span { low: 0.9, high: 0.9, deviation: Some(0.5) };
        let losses = (0..500).map(|run| loss.draw(&Chance::new(1, run), 5, 2));
        assert!(losses.into_iter().all(|loss| (0.0..=1.0).contains(&loss)));
    }

    fn queue(text: &str) -> Result<Span<QueueLimit>, Refusal> {
        parse_span(&word(text), parse_queue, parse_queue_or_zero)
    }

    #[test]
    fn values_are_read_and_shown() {
        let shown = |text: &str| {
            parse_span(&word(text), parse_time, parse_time)
                .map(|span| span.show(|time| time.to_string()))
        };
        for text in ["20ms", "20ms..25ms", "20ms+-5ms"] {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
        assert_eq!(shown("20ms..20ms").as_deref(), Ok("20ms"));
        let loss = parse_span(&word("1%+-0.5%"), parse_probability, parse_probability).unwrap();
        assert_eq!((loss.low, loss.high, loss.deviation), (0.01, 0.01, Some(0.005)));
        assert!(loss.is_drawn());
        let limits = queue("50p..100p").map(Limits).unwrap();
        assert_eq!(limits.to_string(), "50p..100p");
    }

    #[test]
    fn bad_values_are_refused_where_they_are() {
        let refused = |text: &str| parse_span(&word(text), parse_time, parse_time).unwrap_err();
        assert_eq!(refused("25ms..20ms").help, "write the smaller one first: `20ms..25ms`");
        assert_eq!(refused("20ms..25").span, 13..15);
        assert_eq!(refused("20ms+-5").span, 13..14);
        assert_eq!(refused("20..25ms").span, 7..9);
        assert!(refused("20ms..").problem.contains("a number is missing"));
        let kinds = queue("50p..64KiB").unwrap_err();
        assert_eq!(kinds.problem, "`50p..64KiB` has values of two kinds");
    }

    /// Stored results have the digest of these texts.
    #[test]
    fn text_of_fixed_values_stays() {
        let time = Duration::from_millis(20);
        let both = Span::uniform(time, time + time);
        assert_eq!(
            format!("{both:?}"),
            format!("Span {{ low: {time:?}, high: {:?} }}", time + time)
        );
        let limits = Limits(Span::fixed(QueueLimit::Packets(9)));
        assert_eq!(format!("{limits:?}"), "Packets(9)");
    }
}

//! `delay` and `loss` with the words of netem (`tc-netem(8)`).
//!
//! Accepted where the meaning is defined: jitter with the correlation of `get_crandom`, two
//! distributions, `gemodel`, and the part of the 4-state Markov chain that is a `gemodel`. Anything
//! else is refused with a description of nearly the same effect.

use super::items::{Kind, Reader};
use super::token::Token;
use super::{Loss, Span};
use crate::error::Refusal;
use crate::units::{parse_probability, parse_time, show_probability};
use network::{Distribution, Jitter};

/// tc's distributions that are refused.
const OTHER_DISTRIBUTIONS: [&str; 3] = ["pareto", "paretonormal", "experimental"];

impl Reader<'_> {
    /// `TIME [JITTER [CORR] [distribution NAME] [unordered]]`.
    pub(super) fn delay(&mut self, word: &Token) -> Result<Kind, Refusal> {
        let delay = self.range(word, "20ms", parse_time, parse_time)?;
        if let Some(next) = self.peek()
            && matches!(next.text.as_str(), "distribution" | "unordered")
        {
            let problem = format!("`{}` without a jitter before it", next.text);
            return Err(next.refuse(problem, "write `delay 20ms 5ms`, then this word"));
        }
        let Some(next) = self.number() else { return Ok(Kind::Delay(delay, None)) };
        if next.text.ends_with('%') {
            let help = "write the jitter before it, `delay 20ms 5ms 25%`";
            return Err(next.refuse(format!("`{}` is a correlation of no jitter", next.text), help));
        }
        let spread = parse_time(&next.text).map_err(|e| next.place(e))?;
        let mut jitter = Jitter::uniform(spread);
        if let Some(next) = self.number() {
            jitter.correlation = correlation(next)?;
        }
        if self.takes("distribution") {
            jitter.distribution = self.distribution(word)?;
        }
        jitter.unordered = self.takes("unordered");
        Ok(Kind::Delay(delay, Some(jitter)))
    }

    fn distribution(&mut self, word: &Token) -> Result<Distribution, Refusal> {
        let name = self.value(word, "20ms 5ms distribution normal")?;
        Distribution::from_name(&name.text).ok_or_else(|| {
            let known = OTHER_DISTRIBUTIONS.contains(&name.text.as_str());
            let problem = if known {
                format!("tc's distribution `{}` is not supported", name.text)
            } else {
                format!("unknown distribution `{}`", name.text)
            };
            name.refuse(problem, "write `distribution normal`, or `distribution uniform`")
        })
    }

    /// `PROB`, `random PROB`, `gemodel P R 1-H 1-K` or `state P13 [P31]`.
    pub(super) fn loss(&mut self, word: &Token) -> Result<Loss, Refusal> {
        if self.takes("gemodel") {
            let mut values = [0.0; 4];
            for value in &mut values {
                let token = self.value(word, "gemodel P R 1-H 1-K")?;
                *value = parse_probability(&token.text).map_err(|e| token.place(e))?;
            }
            let [p, r, one_minus_h, one_minus_k] = values;
            return Ok(Loss::GilbertElliott { p, r, one_minus_h, one_minus_k });
        }
        if self.takes("state") {
            return self.markov(word);
        }
        self.takes("random");
        let loss = self.range(word, "1%", parse_probability, parse_probability)?;
        let Some(next) = self.number() else { return Ok(Loss::Random(loss)) };
        Err(next.refuse(
            format!("`{}` is tc's correlation of losses, which its manual deprecates", next.text),
            as_bursts(loss, next),
        ))
    }

    /// netem's `loss state P13 [P31 [P32 [P23 P14]]]`. Without P32 and P14 its states 2 and 4 are
    /// never entered, and the chain is that of `gemodel P13 P31 100% 0%`; P31 is 1-P13 by default,
    /// which makes losses independent.
    fn markov(&mut self, word: &Token) -> Result<Loss, Refusal> {
        let mut values = Vec::new();
        let first = self.value(word, "state P13 P31")?;
        values.push(parse_probability(&first.text).map_err(|e| first.place(e))?);
        while values.len() < 5
            && let Some(next) = self.number()
        {
            let value = parse_probability(&next.text).map_err(|e| next.place(e))?;
            // P32 and P14.
            if matches!(values.len(), 2 | 4) && value > 0.0 {
                let help = "write `loss state P13 P31`, or `loss gemodel P R 1-H 1-K`, which may \
                            lose packets in both states";
                let problem = "netem's chain of more than two states is not supported";
                return Err(next.refuse(problem, help));
            }
            values.push(value);
        }
        Ok(match values[..] {
            [p] => Loss::Random(Span::fixed(p)),
            [p, r, ..] => Loss::GilbertElliott { p, r, one_minus_h: 1.0, one_minus_k: 0.0 },
            [] => Loss::Random(Span::fixed(0.0)),
        })
    }

    /// Refuses a number after the probability of an item.
    pub(super) fn no_correlation(&self, word: &Token, value: &Token) -> Result<(), Refusal> {
        let Some(next) = self.peek().filter(|next| is_number(next)) else { return Ok(()) };
        if !next.text.ends_with('%') {
            return Ok(());
        }
        let problem = format!("a correlation of `{}` is not supported", word.text);
        Err(next.refuse(problem, format!("write `{} {}`", word.text, value.text)))
    }

    /// Takes the next word if it is `wanted`.
    fn takes(&mut self, wanted: &str) -> bool {
        let is_next = self.peek().is_some_and(|next| next.text == wanted);
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes the next word if it is a number.
    fn number(&mut self) -> Option<&Token> {
        let next = self.peek().filter(|next| is_number(next))?;
        self.next += 1;
        Some(next)
    }
}

fn is_number(token: &Token) -> bool {
    token.text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

fn correlation(token: &Token) -> Result<f64, Refusal> {
    let share = parse_probability(&token.text).map_err(|e| token.place(e))?;
    if share > Jitter::MAX_CORRELATION {
        let help = "write at most `99%`, or leave the jitter out";
        let problem = "a correlation near 100 % gives every packet the delay of the first one";
        return Err(token.refuse(problem, help));
    }
    Ok(share)
}

/// The `gemodel` with the mean loss and the correlation of successive losses that were asked for: a
/// chain of two states with `p` = (1-c) loss and `r` = (1-c) (1-loss).
fn as_bursts(loss: Span<f64>, correlation: &Token) -> String {
    let share = parse_probability(&correlation.text).unwrap_or(0.0);
    let [p, r] = [loss.high, 1.0 - loss.high]
        .map(|x| show_probability(libm::round((1.0 - share) * x * 1e6) / 1e6));
    format!("write `loss gemodel {p} {r} 100% 0%`, bursts of the same mean and correlation")
}

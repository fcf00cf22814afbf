//! The words of a path description and their positions.
//!
//! Words are separated by blanks; an `@` begins a new word; double quotes keep blanks in a file
//! name. `items` interprets the words.

use crate::error::Refusal;
use std::ops::Range;

/// A word and its bytes in the description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

impl Token {
    /// A refusal of this word.
    pub(crate) fn refuse(&self, problem: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal { span: self.span.clone(), problem: problem.into(), help: help.into() }
    }

    /// Converts a refusal of this word's text to positions in the description.
    pub(crate) fn place(&self, refusal: Refusal) -> Refusal {
        refusal.shifted(self.span.start)
    }
}

/// The words of `text`.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Refusal> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut at = 0;
    loop {
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks;
        rest = &rest[blanks..];
        if rest.is_empty() {
            return Ok(found);
        }
        let length = if rest.starts_with('"') { quoted(rest, at)? } else { bare(rest) };
        found.push(Token {
            text: rest[..length].trim_matches('"').to_owned(),
            span: at..at + length,
        });
        at += length;
        rest = &rest[length..];
    }
}

/// Length of a quoted word, with its quotes.
fn quoted(rest: &str, at: usize) -> Result<usize, Refusal> {
    rest[1..].find('"').map(|end| end + 2).ok_or_else(|| Refusal {
        span: at..at + rest.len(),
        problem: "a quotation mark is not closed".into(),
        help: "close it with `\"`".into(),
    })
}

fn bare(rest: &str) -> usize {
    let ends = |(i, c): &(usize, char)| *i > 0 && (c.is_whitespace() || *c == '@');
    rest.char_indices().find(ends).map_or(rest.len(), |(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).unwrap().into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_are_split_at_blanks_and_before_an_at_sign() {
        assert_eq!(texts(" rate  25mbit\tdown@20s..35s "), ["rate", "25mbit", "down", "@20s..35s"]);
        assert_eq!(texts("trace \"my file\""), ["trace", "my file"]);
        assert!(texts("").is_empty());
        assert!(tokens("trace \"my file").is_err());
    }

    #[test]
    fn spans_point_into_the_text() {
        let text = "rate 25mbit @ä ö";
        for token in tokens(text).unwrap() {
            assert_eq!(&text[token.span.clone()], token.text);
        }
    }
}

//! The games of paper 000: three recordings of Age of Conan, 10 minutes each.
//!
//! Two of the recordings may be in a folder of data. For all of them the paper gives the mean gap
//! and the mean size: without a recording both are exponentially distributed, which is assumed.

use base::{Chance, Duration, Purpose};
use std::f64::consts::LN_2;
use traffic::Role;
use traffic::model::conversation::Turn;

/// Length of each recording (000 s4.3.2).
const LENGTH: f64 = 600.0;
/// Owner of the draws: they are the same in every study.
const OWNER: u64 = 0;

/// A game of a paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NamedGame {
    /// Name in `game:NAME`.
    pub name: &'static str,
    /// Mean time between messages, in milliseconds.
    pub mean_gap_ms: f64,
    /// Mean size of a message, in bytes.
    pub mean_bytes: f64,
    /// Source of both numbers.
    pub source: &'static str,
    /// Its recording in a folder of data, if any.
    pub(super) recorded: Option<&'static str>,
    /// Number of the recording, which its draws depend on.
    number: u64,
}

/// All of them.
pub const NAMED_GAMES: &[NamedGame] = &[
    named(1, "aoc-1", [181.4, 142.7], Some("age-of-conan/trace111.csv")),
    named(2, "aoc-2", [74.1, 113.0], Some("age-of-conan/trace405.csv")),
    named(3, "aoc-3", [167.7, 101.7], None),
];

const fn named(
    number: u64,
    name: &'static str,
    [mean_gap_ms, mean_bytes]: [f64; 2],
    recorded: Option<&'static str>,
) -> NamedGame {
    NamedGame { name, mean_gap_ms, mean_bytes, source: "000 s4.3.2", recorded, number }
}

impl NamedGame {
    /// The model: as many messages as fit the length, with exponential gaps and sizes that are
    /// scaled so that their means are those of the paper.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let gap = self.mean_gap_ms / 1e3;
        let count = (LENGTH / gap).round() as u64;
        let chance = Chance::new(self.number, 0);
        let drawn = |index: u64| -ln(1.0 - chance.uniform(OWNER, Purpose::Traffic, index));
        let total = |odd: u64| (0..count).map(|k| drawn(2 * k + odd)).sum::<f64>() / count as f64;
        let (gaps, sizes) = (total(0), total(1));
        let mut at = 0.0;
        let turn = |k: u64| {
            let start = Duration::from_secs_f64(at);
            at += drawn(2 * k) / gaps * gap;
            // Whole bytes and at least one: the part below a byte is rounded to the nearest.
            let bytes = (drawn(2 * k + 1) / sizes * self.mean_bytes).round().max(1.0) as u64;
            Turn { from: Role::Server, start, end: start, bytes }
        };
        (0..count).map(turn).collect()
    }
}

/// Natural logarithm of a positive normal number, from operations that every machine rounds alike:
/// results do not depend on its library.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as f64 - 1023.0;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    // ln m = 2 artanh t with t at most 1/3: 16 terms are exact to 1e-16.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let terms = (0..16).rev().fold(0.0, |sum, k| sum * (t * t) + 1.0 / f64::from(2 * k + 1));
    exponent * LN_2 + 2.0 * t * terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_logarithm_is_that_of_the_library() {
        for x in [1e-9, 0.1, 0.5, 0.99, 1.0, 1.5, 1.999, 2.0, 12345.6] {
            assert!((ln(x) - x.ln()).abs() < 1e-14 * x.ln().abs().max(1.0), "{x}");
        }
    }

    /// 000 s4.3.2: mean inter-departure times and sizes of the three traces.
    #[test]
    fn models_have_the_means_of_the_paper() {
        for (game, [gap, bytes]) in
            NAMED_GAMES.iter().zip([[0.1814, 142.7], [0.0741, 113.0], [0.1677, 101.7]])
        {
            let turns = game.turns();
            let count = turns.len() as f64;
            let last = turns.last().map_or(0.0, |turn| turn.start.as_secs_f64());
            let mean = turns.iter().map(|turn| turn.bytes as f64).sum::<f64>() / count;
            assert!((last / (count - 1.0) / gap - 1.0).abs() < 0.01, "{}: {last}", game.name);
            assert!((mean / bytes - 1.0).abs() < 0.01, "{}: {mean}", game.name);
        }
    }
}

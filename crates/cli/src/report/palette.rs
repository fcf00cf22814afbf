//! Colours, dashes and symbols: the same path and the same scheduler look the same in every figure.
//!
//! Okabe and Ito's colours, told apart by colour-blind readers too; a symbol stands beside every
//! colour, and no two paths or schedulers share both. Paths and schedulers have colours of their
//! own. A dash tells congestion controls apart.

use lab::{Scenario, Variant};

const BLACK: &str = "#000000";
const ORANGE: &str = "#e69f00";
const SKY_BLUE: &str = "#56b4e9";
const GREEN: &str = "#009e73";
const YELLOW: &str = "#f0e442";
const BLUE: &str = "#0072b2";
const VERMILLION: &str = "#d55e00";
const PURPLE: &str = "#cc79a7";

/// Of paths, in the order of the scenario.
const PATHS: [(&str, &str); 4] =
    [(BLUE, "circle"), (ORANGE, "triangle-up"), (SKY_BLUE, "square"), (YELLOW, "cross")];
/// Of what runs over several paths, by scheduler; what tends to be compared differs in colour.
const SCHEDULERS: [(&str, &str, &str); 14] = [
    ("lrf", VERMILLION, "diamond"),
    ("rr", PURPLE, "diamond"),
    ("wrr", PURPLE, "x"),
    ("redundant", BLACK, "diamond"),
    ("linux", GREEN, "diamond"),
    ("daps", BLACK, "x"),
    ("otias", PURPLE, "star"),
    ("ecf", GREEN, "x"),
    ("ecf-kernel", GREEN, "star"),
    ("blest", VERMILLION, "x"),
    ("blest-kernel", VERMILLION, "star"),
    ("sttf", BLACK, "star"),
    ("xlink", PURPLE, "triangle-down"),
    ("raven", GREEN, "triangle-down"),
];
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];

/// What marks a path or a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    pub colour: &'static str,
    pub dash: &'static str,
    pub symbol: &'static str,
}

impl Look {
    /// The symbol as a letter, for where text stands.
    pub fn letter(&self) -> char {
        match self.symbol {
            "circle" => '\u{25cf}',
            "triangle-up" => '\u{25b2}',
            "square" => '\u{25a0}',
            "cross" => '\u{271a}',
            "diamond" => '\u{25c6}',
            "x" => '\u{2716}',
            "triangle-down" => '\u{25bc}',
            _ => '\u{2605}',
        }
    }
}

/// Of a path, by its place in the scenario.
pub fn of_path(index: usize) -> Look {
    let (colour, symbol) = PATHS[index % PATHS.len()];
    Look { colour, dash: DASHES[index % DASHES.len()], symbol }
}

/// Of a variant: its only path's colour and symbol, or its scheduler's; the dash is that of its
/// congestion control.
pub fn of_variant(scenario: &Scenario, variant: &Variant) -> Look {
    let control = scenario.congestion.iter().position(|name| *name == variant.congestion);
    let dash = DASHES[control.unwrap_or(0) % DASHES.len()];
    let (colour, symbol) = match (variant.single_path(), variant.scheduler()) {
        (Some(path), _) => (of_path(path).colour, of_path(path).symbol),
        (None, scheduler) => of_scheduler(scheduler.unwrap_or_default()),
    };
    Look { colour, dash, symbol }
}

/// Of `wrr:3,1` as of `wrr`.
fn of_scheduler(scheduler: &str) -> (&'static str, &'static str) {
    let kind = scheduler.split(':').next().unwrap_or_default();
    let known = SCHEDULERS.iter().find(|(name, ..)| *name == kind);
    known.map_or((BLACK, "circle"), |(_, colour, symbol)| (*colour, *symbol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_scheduler_has_a_look_that_nothing_else_has() {
        let mut seen: BTreeSet<(&str, &str)> = PATHS.into_iter().collect();
        for (name, ..) in transport::scheduler::NAMES {
            assert!(SCHEDULERS.iter().any(|(known, ..)| known == name), "{name}");
            assert!(seen.insert(of_scheduler(name)), "{name} looks like another");
        }
        assert_eq!(of_scheduler("wrr:3,1"), of_scheduler("wrr"));
    }

    #[test]
    fn every_symbol_has_a_letter_of_its_own() {
        let schedulers = SCHEDULERS.iter().map(|(_, _, symbol)| *symbol);
        let symbols: BTreeSet<&str> = PATHS.iter().map(|path| path.1).chain(schedulers).collect();
        let look = |symbol| Look { colour: BLACK, dash: "solid", symbol };
        let letters: BTreeSet<char> = symbols.iter().map(|name| look(name).letter()).collect();
        assert_eq!(letters.len(), symbols.len());
    }
}

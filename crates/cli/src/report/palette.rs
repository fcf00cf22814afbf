//! Colours and line styles: the same path and the same scheduler look the same in every figure.
//!
//! Okabe and Ito's colours, told apart by colour-blind readers too; a second cue (dash, symbol)
//! stands beside every colour.

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
const PATHS: [&str; 4] = [BLUE, ORANGE, SKY_BLUE, YELLOW];
/// Of what runs over several paths, by scheduler; the others take turns.
const SCHEDULERS: [(&str, &str); 5] =
    [("lrf", VERMILLION), ("rr", PURPLE), ("redundant", BLACK), ("wrr", GREEN), ("linux", GREEN)];
const OTHER_SCHEDULERS: [&str; 4] = [GREEN, VERMILLION, PURPLE, BLACK];
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];
const SYMBOLS: [&str; 4] = ["circle", "triangle-up", "square", "cross"];

/// What marks a path or a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    pub colour: &'static str,
    pub dash: &'static str,
    pub symbol: &'static str,
}

/// Of a path, by its place in the scenario.
pub fn of_path(index: usize) -> Look {
    Look {
        colour: PATHS[index % PATHS.len()],
        dash: DASHES[index % DASHES.len()],
        symbol: SYMBOLS[index % SYMBOLS.len()],
    }
}

/// Of a variant: its only path's colour, or its scheduler's; congestion controls differ by dash.
pub fn of_variant(scenario: &Scenario, variant: &Variant) -> Look {
    let control = scenario.congestion.iter().position(|name| *name == variant.congestion);
    let control = control.unwrap_or(0);
    let colour = match (variant.single_path(), variant.scheduler()) {
        (Some(path), _) => of_path(path).colour,
        (None, Some(scheduler)) => of_scheduler(scenario, scheduler),
        (None, None) => BLACK,
    };
    let (dash, symbol) = (DASHES[control % DASHES.len()], SYMBOLS[control % SYMBOLS.len()]);
    Look { colour, dash, symbol }
}

fn of_scheduler(scenario: &Scenario, scheduler: &str) -> &'static str {
    // `wrr:3,1` is `wrr` with its weights.
    let kind = scheduler.split(':').next().unwrap_or_default();
    let known = SCHEDULERS.iter().find(|(name, _)| *name == kind);
    let other = scenario.schedulers.iter().position(|name| *name == scheduler).unwrap_or(0);
    known.map_or(OTHER_SCHEDULERS[other % OTHER_SCHEDULERS.len()], |(_, colour)| colour)
}

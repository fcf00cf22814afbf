//! Colours, dashes and symbols: the same path and the same scheduler look the same in every figure.
//!
//! The colours are those of Okabe and Ito, which colour-blind readers can distinguish; every colour
//! has a symbol, and no two paths or schedulers share both. Dashes and open symbols distinguish
//! congestion control, path manager, policy and fail-over rule.
use lab::Scenario;
use lab::scenario::{Carrier, Variant};
use transport::scheduler::{SchedulerChoice, TABLE};

const BLACK: &str = "#000000";
const ORANGE: &str = "#e69f00";
const SKY_BLUE: &str = "#56b4e9";
const GREEN: &str = "#009e73";
const YELLOW: &str = "#f0e442";
const BLUE: &str = "#0072b2";
const VERMILLION: &str = "#d55e00";
const PURPLE: &str = "#cc79a7";

/// Looks of paths, in the order of the scenario.
const PATHS: [(&str, &str); 4] =
    [(BLUE, "circle"), (ORANGE, "triangle-up"), (SKY_BLUE, "square"), (YELLOW, "cross")];
/// Looks of multi-path variants, by the scheduler's position in the engine's table; schedulers that
/// are often compared differ in colour.
const SCHEDULERS: [(&str, &str); 18] = [
    (VERMILLION, "diamond"),
    (PURPLE, "diamond"),
    (PURPLE, "x"),
    (BLACK, "diamond"),
    (GREEN, "diamond"),
    (BLACK, "x"),
    (PURPLE, "star"),
    (GREEN, "x"),
    (GREEN, "star"),
    (VERMILLION, "x"),
    (VERMILLION, "star"),
    (BLACK, "star"),
    (PURPLE, "triangle-down"),
    (GREEN, "triangle-down"),
    (VERMILLION, "triangle-down"),
    (BLACK, "triangle-down"),
    (PURPLE, "square"),
    (GREEN, "square"),
];
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];

/// Look of a path or a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub colour: &'static str,
    pub dash: &'static str,
    pub symbol: &'static str,
}

impl Look {
    /// The symbol as a character, for text.
    pub(crate) fn letter(&self) -> char {
        match self.symbol {
            "circle" => '\u{25cf}',
            "triangle-up" => '\u{25b2}',
            "square" => '\u{25a0}',
            "cross" => '\u{271a}',
            "diamond" => '\u{25c6}',
            "x" => '\u{2716}',
            "triangle-down" => '\u{25bc}',
            "circle-open" => '\u{25cb}',
            "triangle-up-open" => '\u{25b3}',
            "square-open" => '\u{25a1}',
            "cross-open" => '\u{271b}',
            "diamond-open" => '\u{25c7}',
            "x-open" => '\u{2715}',
            "triangle-down-open" => '\u{25bd}',
            "star-open" => '\u{2606}',
            _ => '\u{2605}',
        }
    }
}

/// Look of a path, by its position in the scenario.
pub(crate) fn of_path(index: usize) -> Look {
    let (colour, symbol) = PATHS[index % PATHS.len()];
    Look { colour, dash: DASHES[index % DASHES.len()], symbol }
}

/// Look of a variant: colour and symbol of its only path or of its scheduler; the dash shows its
/// other choices. From the fifth combination of those on, symbols are open.
pub(crate) fn of_variant(scenario: &Scenario, variant: &Variant) -> Look {
    let (colour, symbol) = match (variant.single_path(), variant.scheduler()) {
        (Some(path), _) => (of_path(path).colour, of_path(path).symbol),
        (None, scheduler) => scheduler.map_or((BLACK, "circle"), of_scheduler),
    };
    let combination = combination(scenario, variant);
    let is_open = combination / DASHES.len() % 2 == 1;
    let symbol = if is_open { open(symbol) } else { symbol };
    Look { colour, dash: DASHES[combination % DASHES.len()], symbol }
}

/// Index among all combinations of the scenario's choices other than paths and schedulers.
fn combination(scenario: &Scenario, variant: &Variant) -> usize {
    fn place<T: PartialEq>(all: &[T], one: &T) -> (usize, usize) {
        (all.iter().position(|other| other == one).unwrap_or(0), all.len().max(1))
    }
    let (control, _) = place(&scenario.choices.congestion, &variant.congestion);
    let Carrier::Multipath { path_manager, policy, failover, .. } = &variant.carrier else {
        return control;
    };
    let others = [
        place(&scenario.choices.path_managers, path_manager),
        place(&scenario.choices.policies, policy),
        place(&scenario.choices.failovers, failover),
    ];
    others.into_iter().fold(control, |sum, (place, count)| sum * count + place)
}

/// The open form of a symbol.
fn open(symbol: &str) -> &'static str {
    match symbol {
        "circle" => "circle-open",
        "triangle-up" => "triangle-up-open",
        "square" => "square-open",
        "cross" => "cross-open",
        "diamond" => "diamond-open",
        "x" => "x-open",
        "triangle-down" => "triangle-down-open",
        _ => "star-open",
    }
}

/// Look of a scheduler, regardless of its parameters.
fn of_scheduler(scheduler: &SchedulerChoice) -> (&'static str, &'static str) {
    let place = TABLE.iter().position(|row| row.name == scheduler.name()).unwrap_or(0);
    SCHEDULERS[place % SCHEDULERS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::scenario::variants_of;
    use std::collections::BTreeSet;

    #[test]
    fn every_scheduler_has_a_look_that_nothing_else_has() {
        let mut seen: BTreeSet<(&str, &str)> = PATHS.into_iter().collect();
        for scheduler in SchedulerChoice::all() {
            assert!(seen.insert(of_scheduler(&scheduler)), "{scheduler} looks like another");
        }
        let choice = |text: &str| text.parse::<SchedulerChoice>().unwrap();
        assert_eq!(of_scheduler(&choice("wrr:3,1")), of_scheduler(&choice("wrr")));
        assert_eq!(of_scheduler(&choice("raven")), (GREEN, "triangle-down"));
    }

    #[test]
    fn variants_that_differ_look_different() {
        for file in ["mobility/handover", "mobility/silent-death", "fairness/two-links"] {
            let file = format!("{}/../../scenarios/{file}.toml", env!("CARGO_MANIFEST_DIR"));
            let scenario = Scenario::options_from_file(&file).and_then(|all| all.resolve());
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
            let mut seen = Vec::new();
            for variant in variants_of(&scenario) {
                let look = of_variant(&scenario, &variant);
                assert!(!seen.contains(&look), "{} looks like another: {look:?}", variant.name);
                seen.push(look);
            }
        }
    }

    #[test]
    fn every_symbol_has_a_letter_of_its_own() {
        let schedulers = SCHEDULERS.iter().map(|(_, symbol)| *symbol);
        let filled = PATHS.iter().map(|path| path.1).chain(schedulers);
        let symbols: BTreeSet<&str> = filled.flat_map(|symbol| [symbol, open(symbol)]).collect();
        let look = |symbol| Look { colour: BLACK, dash: "solid", symbol };
        let letters: BTreeSet<char> = symbols.iter().map(|name| look(name).letter()).collect();
        assert_eq!(letters.len(), symbols.len());
    }
}

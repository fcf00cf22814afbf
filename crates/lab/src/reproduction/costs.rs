//! What studies cost: packets and CPU seconds, estimated from recorded repetitions.
//!
//! `scenarios/costs.json` has the packets with payload of one repetition of all variants of each
//! study, and how many of them the simulator handles in a CPU second. An experiment without an
//! entry has no estimate.

use super::claims::Paper;
use super::plan::{Column, Plan};
use crate::error::InputError;
use crate::scenario::{Runs, variants_of};
use serde_json::Value;

/// The recorded numbers.
const COSTS: &str = include_str!("../../../../scenarios/costs.json");

/// The cost of studies.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Number of studies.
    pub studies: usize,
    /// Their runs.
    pub runs: usize,
    /// Packets with payload.
    pub packets: f64,
    /// CPU seconds.
    pub seconds: f64,
    /// Studies without an estimate.
    pub unknown: usize,
}

impl Plan {
    /// The cost of the studies of a paper for a column.
    pub fn cost(&self, paper: usize, column: Column) -> Result<Cost, InputError> {
        let costs: Value = serde_json::from_str(COSTS).unwrap_or_default();
        let speed = costs["packets_per_cpu_second"].as_f64().unwrap_or(f64::NAN);
        let mut cost = Cost::default();
        for unit in self.units_of(paper, column) {
            let scenario = self.scenario(unit)?;
            let repetitions = match scenario.runs {
                Runs::Fixed(runs) => runs,
                Runs::Auto { most } => most,
            };
            cost.studies += 1;
            cost.runs += variants_of(&scenario).len() * repetitions as usize;
            match recorded(&costs, &self.papers[paper], self.experiment(unit)) {
                Some(packets) => cost.packets += packets * f64::from(repetitions),
                None => cost.unknown += 1,
            }
        }
        cost.seconds = cost.packets / speed;
        Ok(cost)
    }
}

fn recorded(costs: &Value, paper: &Paper, experiment: &str) -> Option<f64> {
    costs["packets"][&paper.number][experiment].as_f64()
}

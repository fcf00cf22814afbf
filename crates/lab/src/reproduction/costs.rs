//! What studies cost: packets and CPU seconds, estimated from recorded repetitions.
//!
//! `scenarios/costs.json` has, for each experiment and column, the packets with payload of one
//! repetition of every variant, and the CPU time of one of them. A study with a variant that has no
//! entry has no estimate. `RECORD_COSTS=1 cargo test -p anabranch-lab --lib record_costs` adds what
//! the file lacks, `RECORD_COSTS=all` writes it anew.

use super::claims::{Claim, Figure, Paper};
use super::plan::{Column, Plan, Unit, experiments_of, repetitions};
use crate::error::InputError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;
use std::ops::Add;

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

/// The costs of the studies of a plan.
#[derive(Clone, Debug)]
pub struct Costs(BTreeMap<Unit, Cost>);

impl Plan {
    /// The costs of all studies.
    pub fn costs(&self) -> Result<Costs, InputError> {
        let recorded: Value = serde_json::from_str(COSTS).unwrap_or_default();
        let one = |unit: &Unit| Ok((unit.clone(), self.cost(&recorded, unit)?));
        self.units.iter().map(one).collect::<Result<_, _>>().map(Costs)
    }

    fn cost(&self, recorded: &Value, unit: &Unit) -> Result<Cost, InputError> {
        let scenario = self.scenario(unit)?;
        let variants = self.variants(unit, &scenario);
        let repetitions = repetitions(&scenario);
        let of_paper = &recorded[&self.papers[unit.paper].number];
        let found = &of_paper[self.experiment(unit).name.as_str()][column(unit)];
        let packets = variants.iter().map(|of| found["packets"][&of.name].as_f64());
        let packets: Option<f64> = packets.sum();
        let known = packets.zip(found["cpu_us_per_packet"].as_f64());
        let (packets, micros) = known.unwrap_or_default();
        let packets = packets * f64::from(repetitions);
        Ok(Cost {
            studies: 1,
            runs: variants.len() * repetitions as usize,
            packets,
            seconds: packets * micros / 1e6,
            unknown: usize::from(known.is_none()),
        })
    }
}

impl Costs {
    /// Of the studies of a paper, or of all, for columns.
    pub fn of(&self, paper: Option<usize>, is_meant: impl Fn(Column) -> bool) -> Cost {
        let own = |unit: &Unit| paper.is_none_or(|paper| unit.paper == paper);
        self.sum(|unit| own(unit) && is_meant(unit.column))
    }

    /// Of one study; nothing if it is not of the plan.
    pub fn of_unit(&self, unit: &Unit) -> Cost {
        self.0.get(unit).copied().unwrap_or_default()
    }

    /// Of a claim of a paper, on the paper's kernel.
    pub fn of_claim(&self, papers: &[Paper], (paper, claim): (usize, &Claim)) -> Cost {
        self.of_experiments(paper, &experiments_of(&papers[paper], claim))
    }

    /// Of the tables and texts of a paper whose numbers are compared, on its kernel; of those whose
    /// studies are planned.
    pub fn of_sources<'a>(&self, papers: &'a [Paper], paper: usize) -> Vec<(&'a str, Cost)> {
        let of = &papers[paper];
        let mut sources: Vec<(&str, BTreeSet<usize>)> = Vec::new();
        for number in &of.numbers {
            let experiments = of.experiments_of(&number.part);
            match sources.iter_mut().find(|(source, _)| *source == number.source) {
                Some((_, all)) => all.extend(experiments),
                None => sources.push((&number.source, experiments.into_iter().collect())),
            }
        }
        let costs = sources.iter().map(|(source, all)| (*source, self.of_experiments(paper, all)));
        costs.filter(|(_, cost)| cost.studies > 0).collect()
    }

    /// Of a figure of a paper.
    pub fn of_figure(&self, papers: &[Paper], (paper, figure): (usize, &Figure)) -> Cost {
        let found = figure.experiments.iter().filter_map(|name| papers[paper].find(name));
        self.of_experiments(paper, &found.flatten().collect())
    }

    fn of_experiments(&self, paper: usize, experiments: &BTreeSet<usize>) -> Cost {
        self.sum(|unit| {
            let is_own = unit.paper == paper && unit.column == Column::Paper;
            is_own && experiments.contains(&unit.experiment)
        })
    }

    fn sum(&self, is_meant: impl Fn(&Unit) -> bool) -> Cost {
        self.0.iter().filter(|(unit, _)| is_meant(unit)).map(|(_, cost)| *cost).sum()
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            studies: self.studies + other.studies,
            runs: self.runs + other.runs,
            packets: self.packets + other.packets,
            seconds: self.seconds + other.seconds,
            unknown: self.unknown + other.unknown,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::default(), Cost::add)
    }
}

/// Neighbouring values take about as long as the paper's own.
const fn column(unit: &Unit) -> &'static str {
    match unit.column {
        Column::Paper | Column::Sensitivity(..) => "paper",
        Column::Linux => "linux",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Given;
    use crate::reproduction::{Asked, VariantValues};
    use crate::run::Run;
    use crate::scenario::{Key, Options, Runs, Variant};
    use crate::study::Watcher;
    use serde_json::{Map, json};
    use traffic::Traffic;

    struct Silent;

    impl Watcher for Silent {
        fn on_run(&self, _: &Variant, _: &Run) {}

        fn is_stopped(&self) -> bool {
            false
        }
    }

    fn plan(quick: bool) -> Plan {
        let asked = Asked {
            selection: Given::argument("WHAT", "all"),
            quick,
            linux: true,
            scheduler: None,
            options: Options::default().with(Key::Jobs, "1"),
        };
        let papers = Paper::all().unwrap_or_else(|refusal| panic!("{refusal}"));
        Plan::new(papers, asked).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// CPU seconds of the process so far.
    fn cpu_seconds() -> f64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        // utime and stime are fields 14 and 15 of proc(5), in 1/100 s.
        [11, 12].iter().map(|field| fields[*field].parse::<f64>().unwrap()).sum::<f64>() / 100.0
    }

    /// The length of a run, in a unit of its traffic.
    fn length(traffic: &Traffic) -> f64 {
        match traffic {
            Traffic::BulkSize(bytes) => *bytes as f64,
            Traffic::BulkTime(time) => time.as_secs_f64(),
            Traffic::Conversation(of) => of.length().as_secs_f64(),
            _ => 1.0,
        }
    }

    /// Writes `scenarios/costs.json` from two short repetitions of each study, if asked to: the
    /// packets are in proportion to the length of the traffic.
    #[test]
    fn record_costs() {
        let Some(asked) = std::env::var_os("RECORD_COSTS") else { return };
        let (whole, quick) = (plan(false), plan(true));
        let is_new = asked == "all";
        let mut all: Value = serde_json::from_str(if is_new { "{}" } else { COSTS }).unwrap();
        let known = whole.costs().unwrap();
        for unit in &quick.units {
            if !is_new && known.0[unit].unknown == 0 {
                continue;
            }
            let mut scenario = quick.scenario(unit).unwrap();
            scenario.runs = Runs::Fixed(2);
            let longer = length(&whole.scenario(unit).unwrap().traffic) / length(&scenario.traffic);
            let before = cpu_seconds();
            let values = quick.run(unit, &scenario, &Silent).unwrap().unwrap();
            let micros = (cpu_seconds() - before) * 1e6;
            let packets: u64 = values.variants.iter().map(|of| of.packets).sum();
            let of = |of: &VariantValues| {
                (of.name.clone(), json!((of.packets as f64 / 2.0 * longer).round()))
            };
            let entry = json!({
                "cpu_us_per_packet": (micros / packets.max(1) as f64 * 100.0).round() / 100.0,
                "packets": values.variants.iter().map(of).collect::<Map<String, Value>>(),
            });
            let paper = quick.papers[unit.paper].number.as_str();
            all[paper][quick.experiment(unit).name.as_str()][column(unit)] = entry;
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/costs.json");
        std::fs::write(file, format!("{all:#}\n")).unwrap();
    }

    /// The program says of every study of the papers what it costs.
    #[test]
    fn every_study_of_the_papers_has_an_estimate() {
        let plan = plan(false);
        let costs = plan.costs().unwrap();
        let lacking = costs.0.iter().filter(|(_, cost)| cost.unknown > 0);
        let lacking: Vec<String> = lacking.map(|(unit, _)| plan.label(unit)).collect();
        assert!(lacking.is_empty(), "RECORD_COSTS=1: {}", lacking.join(", "));
        let papers: Cost = (0..plan.papers.len()).map(|of| costs.of(Some(of), |_| true)).sum();
        let all = costs.of(None, |_| true);
        assert_eq!((papers.studies, papers.runs), (all.studies, all.runs));
        assert!(all.seconds > 0.0 && (papers.seconds / all.seconds - 1.0).abs() < 1e-9);
    }
}

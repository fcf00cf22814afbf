//! Which variants of an experiment are run: those that a claim or a figure uses.
//!
//! Variants are a cross product of protocols, schedulers and congestion control, so a scenario has
//! some that a paper does not compare. `plan` runs the others.

use super::claims::{Experiment, Metric, Paper, Part, Quantity, Term};
use crate::error::InputError;
use crate::scenario::{Family, Protocol, Scenario, Variant, variants_of};
use crate::words::nearest_help;
use std::collections::BTreeSet;

/// What the claims and figures of a paper use of an experiment.
#[derive(Clone, Default, Debug)]
pub(super) struct Used {
    /// All, because a figure draws all.
    all: bool,
    names: BTreeSet<String>,
    /// All over single paths of both families, of TCP, of SCTP.
    singles: BTreeSet<Option<bool>>,
}

impl Used {
    /// Of the experiment of this number, by all claims and figures, so that stored values serve any
    /// selection of them.
    pub(super) fn of(paper: &Paper, experiment: usize) -> Used {
        let has = |name: &str| paper.find(name).is_some_and(|found| found.contains(&experiment));
        let mut used = Used::default();
        for part in paper.claims.iter().flat_map(|claim| &claim.parts) {
            let is_default = part.experiments.iter().any(|name| has(name));
            used.add(part, &|name: Option<&str>| name.map_or(is_default, &has));
        }
        for stated in &paper.numbers {
            let is_meant = stated.part.experiments.iter().any(|name| has(name));
            used.add(&stated.part, &|_| is_meant);
        }
        for figure in &paper.figures {
            for cell in &figure.cells {
                let is_meant = cell.part.experiments.iter().any(|name| has(name));
                used.add(&cell.part, &|_| is_meant);
            }
            if figure.cells.is_empty() && figure.experiments.iter().any(|name| has(name)) {
                used.all |= figure.variants.is_empty();
                used.names.extend(figure.variants.iter().cloned());
            }
        }
        used
    }

    fn add(&mut self, part: &Part, is_meant: &dyn Fn(Option<&str>) -> bool) {
        let mut add = |quantity: &Quantity| match quantity {
            Quantity::Variant(name) => {
                self.names.insert(name.clone());
            }
            Quantity::Single(_, family) => {
                self.singles.insert(family.map(|family| family == Family::Sctp));
            }
        };
        for term in &part.values {
            match term {
                Term::Of { experiment, value } if is_meant(experiment.as_deref()) => add(value),
                Term::Gain { experiment, first, second }
                | Term::Difference { experiment, first, second }
                    if is_meant(experiment.as_deref()) =>
                {
                    add(first);
                    add(second);
                }
                _ => {}
            }
        }
    }

    /// Whether it uses this variant of `all`.
    fn has(&self, variant: &Variant, all: &[Variant]) -> bool {
        let is_sctp = variant.family() == Family::Sctp;
        let of_family = || self.singles.iter().any(|of| of.is_none_or(|of| of == is_sctp));
        self.all
            || self.names.contains(&variant.name)
            || is_alone(variant, all.iter()) && of_family()
    }

    /// The names of variants that it has and `all` lacks.
    fn lacking<'u>(&'u self, all: &'u [Variant]) -> impl Iterator<Item = &'u str> {
        let is_there = |name: &String| all.iter().any(|variant| variant.name == *name);
        self.names.iter().filter(move |name| !is_there(name)).map(String::as_str)
    }
}

/// Whether `average` and the like are over this variant of `all`: one over a single path, or,
/// where its family has none, one that uses one path at a time (multi-homed SCTP).
pub(super) fn is_alone<'v>(variant: &Variant, mut all: impl Iterator<Item = &'v Variant>) -> bool {
    let is_single = |of: &Variant| of.single_path().is_some();
    let is_other = |of: &Variant| of.family() == variant.family() && is_single(of);
    variant.protocol() != Protocol::Udp
        && (is_single(variant) || !variant.is_concurrent() && !all.any(is_other))
}

/// The variants of a scenario that are run; those of the scheduler `added` by the user are, too.
pub(super) fn shown(
    scenario: &Scenario,
    experiment: &Experiment,
    used: &Used,
    added: Option<&str>,
) -> Vec<Variant> {
    let is_added = |variant: &Variant| {
        added.is_some_and(|name| variant.scheduler().is_some_and(|of| *of == name))
    };
    let is_chosen = |variant: &Variant| {
        experiment.only.is_empty() || experiment.only.iter().any(|of| of.text == variant.name)
    };
    let mut all = variants_of(scenario);
    all.retain(|of| is_added(of) || is_chosen(of));
    let chosen = all.clone();
    all.retain(|of| is_added(of) || used.has(of, &chosen));
    all
}

/// The variants in their order, those together that run in the same scenario: a flow on another
/// path does not change what a variant over one path does, and is left out. Flows are connections
/// between hosts of their own.
pub(super) fn batches(
    scenario: &Scenario,
    variants: Vec<Variant>,
    metrics: &[Metric],
) -> Vec<(Scenario, Vec<Variant>)> {
    let is_of_flows = |of: &Metric| matches!(of, Metric::Number(name) if name.contains("flows/"));
    let is_apart = scenario.links.is_empty() && !metrics.iter().any(is_of_flows);
    let met = |variant: &Variant| variant.single_path().filter(|_| is_apart);
    let mut all: Vec<(Option<usize>, Scenario, Vec<Variant>)> = Vec::new();
    for variant in variants {
        let path = met(&variant);
        match all.last_mut() {
            Some((last, _, batch)) if *last == path => batch.push(variant),
            _ => {
                let mut scenario = scenario.clone();
                scenario.flows.retain(|of| path.is_none_or(|path| of.paths.contains(&path)));
                all.push((path, scenario, vec![variant]));
            }
        }
    }
    all.into_iter().map(|(_, scenario, batch)| (scenario, batch)).collect()
}

/// Refuses names that the scenario does not have: of `only`, and of variants that claims, figures
/// and stated numbers use. A claim would be undecided, a cell of a table absent.
pub(super) fn check_names(
    scenario: &Scenario,
    experiment: &Experiment,
    used: &Used,
) -> Result<(), InputError> {
    let variants = variants_of(scenario);
    let names: Vec<&str> = variants.iter().map(|of| of.name.as_str()).collect();
    let unknown = experiment.only.iter().find(|of| !names.contains(&of.text.as_str()));
    if let Some(given) = unknown {
        let problem = format!("`{}` has no variant `{}`", experiment.name, given.text);
        return Err(given.refuse_whole(problem, nearest_help(&given.text, &names)));
    }
    let run = shown(scenario, experiment, used, None);
    let Some(name) = used.lacking(&run).next() else { return Ok(()) };
    let problem = format!("a claim or a figure uses `{name}`, which is not run");
    let help = match names.contains(&name) {
        true => "add it to `only`".to_owned(),
        false => nearest_help(name, &names),
    };
    Err(InputError::at(&experiment.name, problem, help))
}

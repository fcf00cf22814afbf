//! Takes the samples of claims from the values of studies, repetition by repetition.
//!
//! `values` has the numbers of single variants, `checks` compares the samples.

use super::checks::{Joining, Side};
use super::claims::{Metric, Pick, Quantity, Term};
use super::values::{Values, VariantValues};
use crate::path_spec::PathSpec;
use crate::scenario::{Family, Scenario};

/// The values of a study with what its random draws depend on.
#[derive(Clone, Copy)]
pub(super) struct Sampled<'v> {
    pub(super) values: &'v Values,
    /// Repetitions of studies with the same key are paired.
    pub(super) draws: &'v str,
}

/// What the draws of a repetition depend on besides its number: seed, and names of paths and
/// links. With the number of repetitions, because those of sides of a comparison are paired.
pub(super) fn draws(scenario: &Scenario, repetitions: u32) -> String {
    let named = |all: &[PathSpec]| all.iter().map(|of| of.name.clone()).collect::<Vec<_>>();
    let (paths, links) = (named(&scenario.paths).join(","), named(&scenario.links).join(","));
    format!("{}/{repetitions}/{paths}/{links}", scenario.seed)
}

impl Sampled<'_> {
    /// The sample of a term, of a part whose first variant is of this family; `draws` is the
    /// number of the study's draws. The error names what is missing.
    pub(super) fn side(
        &self,
        metric: &Metric,
        term: &Term,
        family: Option<bool>,
        draws: usize,
    ) -> Result<Side, String> {
        let values = self.values;
        let side = |rows, joined| Ok(Side::Runs { draws, rows, joined });
        match term {
            Term::Constant(value) => Ok(Side::Constant(*value)),
            Term::Of { value: Quantity::Single(Pick::Average, of), .. } => {
                let family = of.map(|of| of == Family::Sctp).or(family);
                side(values.singles(metric, family)?, Joining::Average)
            }
            Term::Of { value, .. } => {
                let numbers = values.numbers(metric, value, family)?;
                let row = |value: Option<f64>| value.map(|value| vec![value]);
                side(numbers.into_iter().map(row).collect(), Joining::Average)
            }
            Term::Gain { first, second, .. } => {
                let family = values.is_sctp(first).or(values.is_sctp(second));
                let firsts = values.numbers(metric, first, family)?;
                let others = match second {
                    Quantity::Single(Pick::Average, of) => {
                        let family = of.map(|of| of == Family::Sctp).or(family);
                        values.singles(metric, family)?
                    }
                    _ => {
                        let numbers = values.numbers(metric, second, family)?;
                        numbers
                            .into_iter()
                            .map(|number| number.map(|number| vec![number]))
                            .collect()
                    }
                };
                let row = |(first, others): (Option<f64>, Option<Vec<f64>>)| {
                    Some([vec![first?], others?].concat())
                };
                side(firsts.into_iter().zip(others).map(row).collect(), Joining::Gain)
            }
            Term::Difference { first, second, .. } => {
                let family = values.is_sctp(first).or(values.is_sctp(second));
                let a = values.numbers(metric, first, family)?;
                let b = values.numbers(metric, second, family)?;
                let pairs = a.into_iter().zip(b).map(|(a, b)| a.zip(b));
                side(pairs.map(|of| of.map(|(a, b)| vec![a - b])).collect(), Joining::Average)
            }
        }
    }
}

impl Values {
    /// For every repetition the numbers of all single paths; `None` where one did not finish.
    fn singles(
        &self,
        metric: &Metric,
        family: Option<bool>,
    ) -> Result<Vec<Option<Vec<f64>>>, String> {
        let (column, _) =
            self.column(metric).ok_or_else(|| format!("no metric {}", metric.name()))?;
        let is_in =
            |of: &&VariantValues| of.is_alone && family.is_none_or(|is_sctp| of.is_sctp == is_sctp);
        let columns: Vec<&Vec<Option<f64>>> =
            self.variants.iter().filter(is_in).map(|of| &of.columns[column]).collect();
        let rows = columns.iter().map(|column| column.len()).min();
        let rows = rows.ok_or_else(|| "no variants over single paths".to_owned())?;
        Ok((0..rows).map(|run| columns.iter().map(|column| column[run]).collect()).collect())
    }
}

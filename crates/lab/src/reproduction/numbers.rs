//! The numbers that papers state beside ours, with their relative differences.
//!
//! They decide nothing: `judge` has the claims. Tables and pages belong to the command line.

use super::judge::Context;
use super::plan::{Column, Plan, Results, Unit};
use crate::scenario::DEFAULT_SEED;
use crate::statistics::quantile;

/// A number of a paper and ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared<'a> {
    /// Section, figure or table of the paper.
    pub source: &'a str,
    /// What it is.
    pub says: &'a str,
    /// Name of the experiment.
    pub experiment: &'a str,
    /// SI unit; empty of a ratio or another number without one.
    pub unit: String,
    /// The paper's number.
    pub paper: f64,
    /// Ours, on the paper's kernel.
    pub ours: f64,
}

/// The relative differences of a paper's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Differences {
    /// How many numbers.
    pub count: usize,
    /// Median of their sizes.
    pub median: f64,
    /// The largest.
    pub worst: f64,
}

impl Compared<'_> {
    /// (ours - paper) / paper.
    pub fn difference(&self) -> f64 {
        (self.ours - self.paper) / self.paper
    }
}

impl Differences {
    /// Of these numbers; `None` without any.
    pub fn of(all: &[Compared<'_>]) -> Option<Differences> {
        let mut sizes: Vec<f64> = all.iter().map(|of| of.difference().abs()).collect();
        sizes.retain(|size| size.is_finite());
        sizes.sort_by(f64::total_cmp);
        let (median, worst) = (quantile(&sizes, 0.5)?, *sizes.last()?);
        Some(Differences { count: sizes.len(), median, worst })
    }
}

impl Plan {
    /// The numbers of a paper whose experiments were run; where tables are selected, and no
    /// figures, theirs alone.
    pub fn compared<'a>(&'a self, paper: usize, results: &'a Results) -> Vec<Compared<'a>> {
        let of = &self.papers[paper];
        let column = Column::Paper;
        let values = |experiment| results.sampled(&Unit { paper, column, experiment });
        let is_shown = |source: &str| {
            let mut tables = self.tables.iter();
            self.tables.is_empty()
                || !self.figures.is_empty()
                || tables.any(|(number, table)| *number == paper && table == source)
        };
        let mut all = Vec::new();
        for stated in of.numbers.iter().filter(|stated| is_shown(&stated.source)) {
            let experiments = of.experiments_of(&stated.part);
            for (experiment, number) in experiments.into_iter().zip(&stated.paper) {
                let context = Context {
                    paper: of,
                    part: &stated.part,
                    values: &values,
                    experiment: Some(experiment),
                    beside: &[],
                    keys: (DEFAULT_SEED, 0),
                };
                let Some(ours) = context.number() else { continue };
                let is_ratio = stated.part.values.len() > 1;
                all.push(Compared {
                    source: &stated.source,
                    says: &stated.says,
                    experiment: &of.experiments[experiment].name,
                    unit: if is_ratio { String::new() } else { context.unit() },
                    paper: *number,
                    ours,
                });
            }
        }
        all
    }
}

impl Context<'_, '_> {
    /// The value, or the first over the second; `None` if it was not run.
    fn number(&self) -> Option<f64> {
        let value = |term| self.means().value(&self.side(term).ok()?);
        let first = value(self.part.values.first()?)?;
        match self.part.values.get(1) {
            Some(second) => value(second).filter(|of| *of != 0.0).map(|second| first / second),
            None => Some(first),
        }
    }
}

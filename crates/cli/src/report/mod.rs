//! The report: one self-contained page. It has the verdict, the tables, interactive figures, the
//! resolved inputs, and the commands to reproduce the run.
//!
//! It loads no script, font or image, so it can be opened offline.

mod boxed;
mod calls;
mod capture;
mod ccdf;
mod charts;
mod delays;
mod draw;
mod events;
mod failover;
mod figure;
pub(crate) mod grid;
mod matrix;
mod notes;
mod page;
pub(crate) mod palette;
mod plotted;
mod reproduction;
mod sharing;
mod tables;
mod terms;
mod why;

pub(crate) use boxed::Boxed;
pub(crate) use capture::{CapturePage, capture_page};
pub(crate) use matrix::{baseline_of, baselines, columns_of, figures, matrix_page};
pub(crate) use page::{page, utc};
pub(crate) use plotted::{Plot, Plotted};
pub(crate) use reproduction::{
    assumptions, difference, differences_of, holds, reason, remarks, reproduction_page, shown,
};

use crate::table::named_seeds;
use lab::delays::Delays;
use lab::results::{Provenance, StoredStudy};
use lab::{Report, Scenario, Study, VariantSeries};

/// Contents of a page.
#[derive(Clone, Copy)]
pub(crate) struct Sheet<'a> {
    pub scenario: &'a Scenario,
    /// The scenario as a file; empty of several folders.
    pub toml: &'a str,
    pub study: &'a Study,
    pub report: &'a Report,
    /// Time series of one repetition of each variant.
    pub series: &'a [VariantSeries],
    /// Delays of single messages and objects.
    pub delays: &'a Delays,
    pub provenance: &'a Provenance,
    /// Number of the repetition, for a single repetition.
    pub repetition: Option<u64>,
    /// Notes at the top of the page.
    pub notes: &'a [String],
    /// Seeds of the runs, each once.
    pub seeds: &'a [u64],
}

impl<'a> Sheet<'a> {
    /// The sheet of a results folder.
    pub(crate) fn of_stored(stored: &'a StoredStudy) -> Sheet<'a> {
        Sheet {
            scenario: &stored.scenario,
            toml: &stored.toml,
            study: &stored.study,
            report: &stored.report,
            series: &stored.series,
            delays: &stored.delays,
            provenance: &stored.provenance,
            repetition: stored.repetition,
            notes: &stored.notes,
            seeds: &stored.seeds,
        }
    }

    /// `seed 1`, `seeds 1, 4`.
    fn seeds(&self) -> String {
        named_seeds(self.seeds)
    }
}

//! The report: one self-contained page. Verdict first, then the table, figures that can be hovered
//! and zoomed, how the inputs were understood, and how to run exactly this again.
//!
//! No script, no font, no picture from elsewhere: the file opens offline and for ever.

mod calls;
mod charts;
mod events;
mod failover;
mod figure;
mod page;
mod palette;
mod sharing;
mod tables;
mod why;

pub(crate) use page::{page, utc};

use lab::results::{Provenance, StoredStudy};
use lab::{Report, Scenario, Study, VariantSeries};

/// Everything a page is made of.
#[derive(Clone, Copy)]
pub(crate) struct Sheet<'a> {
    pub scenario: &'a Scenario,
    /// The scenario as a file.
    pub toml: &'a str,
    pub study: &'a Study,
    pub report: &'a Report,
    /// Of one repetition of each variant.
    pub series: &'a [VariantSeries],
    pub provenance: &'a Provenance,
    /// The number of the repetition, if only one was asked for.
    pub repetition: Option<u64>,
    /// What a reader must know before anything else.
    pub notes: &'a [String],
}

impl<'a> Sheet<'a> {
    /// Of a results folder.
    pub(crate) fn of_stored(stored: &'a StoredStudy) -> Sheet<'a> {
        Sheet {
            scenario: &stored.scenario,
            toml: &stored.toml,
            study: &stored.study,
            report: &stored.report,
            series: &stored.series,
            provenance: &stored.provenance,
            repetition: stored.repetition,
            notes: &stored.notes,
        }
    }
}

//! The report: one self-contained page. Verdict first, then the table, figures that can be hovered
//! and zoomed, how the inputs were understood, and how to run exactly this again.
//!
//! No script, no font, no picture from elsewhere: the file opens offline and for ever.

mod charts;
mod figure;
mod page;
mod palette;

pub use page::page;

use lab::results::Provenance;
use lab::{Report, Scenario, Study, VariantSeries};

/// Everything a page is made of.
#[derive(Clone, Copy)]
pub struct Sheet<'a> {
    pub scenario: &'a Scenario,
    pub study: &'a Study,
    pub report: &'a Report,
    /// Of one repetition of each variant.
    pub series: &'a [VariantSeries],
    pub provenance: &'a Provenance,
}

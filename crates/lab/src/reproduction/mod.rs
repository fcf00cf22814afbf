//! The claims of the five papers, and whether they hold: `anabranch reproduce`.
//!
//! Data flow: `claims` reads the claims files that are part of the program, `selection` finds what
//! is selected of them, `plan` makes studies of it, with those `variants` that are looked at,
//! `values` keeps the looked-at numbers of their runs, `samples` takes those of each part from
//! them, to which `judge` applies the rules of `checks`, `numbers` compares the numbers that papers
//! state, `document` writes the result, `costs` estimates what studies take, and `figures` has the
//! data of drawings, with `grid` and `timelines` for tables of outcomes and quantities over time.
//! Arguments, tables and pages belong to the command line.

mod checks;
mod claims;
mod costs;
mod document;
mod figures;
mod grid;
mod judge;
mod numbers;
mod plan;
mod read;
mod samples;
mod selection;
mod timelines;
mod values;
mod variants;

pub use claims::{Claim, Draw, Experiment, Figure, Kind, Paper, Part, Sensitivity, Stated};
pub use costs::{Cost, Costs};
pub use document::document;
pub use figures::{Drawn, Group, Series};
pub use grid::Graded;
pub use judge::{Judged, JudgedPart};
pub use numbers::{Compared, Differences};
pub use plan::{Asked, Column, Plan, Results, Row, Unit, UnitError};
pub use selection::{figure_name, table_name};
pub use timelines::Line;
pub use values::{Values, VariantValues};

#[cfg(test)]
mod tests;

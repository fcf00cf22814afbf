//! The goals of coupled congestion control, over whole connections that compete: a fair share with
//! TCP, at least the best path alone, and congestion balanced between paths (RFC 6356 s2, 001 sII).
//!
//! The tests that are ignored print tables over many more runs: `make fairness`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alone;
mod balance;
mod disjoint;
mod net;
mod shared;
mod single;

use transport::congestion::ControllerChoice;

/// Coupled controls that reduce their windows after losses only. `wvegas` yields to queues and has
/// tests of its own; `olia-draft`, `olia` with another ranking of paths, is in the studies only.
const LOSS_BASED: [&str; 3] = ["lia", "olia", "balia"];

/// Every coupled control of the table.
fn coupled() -> impl Iterator<Item = &'static str> {
    let coupled = ControllerChoice::all().filter(ControllerChoice::is_coupled);
    coupled.map(|control| control.name())
}

/// The controls of the studies: NewReno, for comparison, and every coupled control.
fn studied() -> impl Iterator<Item = &'static str> {
    std::iter::once("reno").chain(coupled())
}

/// The arithmetic mean.
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

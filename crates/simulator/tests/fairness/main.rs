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

/// The arithmetic mean.
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

//! Worked examples, and properties of every scheduler.

mod bursts;
mod examples;
mod explanations;
mod linux;
mod opportunistic;
mod properties;
mod roomiest;
pub(crate) mod support;

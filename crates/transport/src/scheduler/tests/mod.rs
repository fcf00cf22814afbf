//! The worked examples of the schedulers spec, and properties of every scheduler.

mod examples;
mod opportunistic;
mod properties;
mod support;

//! Application models as sans-IO state machines over a byte-stream socket, and what they measure.
//!
//! A model defines what is written when and the single number that a run yields; the two halves of
//! [`OneWay`] carry it out over any [`StreamHost`]: the engine in virtual time, kernel sockets, a
//! live endpoint; over UDP those of `datagrams` do. [`web`] is a model of its own, with many
//! connections. [`Half`] is one end of any model. No clock, no socket, no text: parsing
//! `bulk:4MiB` and statistics over several runs are left to the lab.

mod application;
pub mod call;
mod check;
mod datagrams;
mod half;
mod measure;
pub mod model;
mod one_way;
mod outcome;
pub mod vod;
pub mod web;

pub use application::{Application, MessageInfo, StreamFailure, StreamHost};
pub use check::{StreamCheck, StreamMismatch};
pub use half::Half;
pub use measure::{Measure, Silence, Source};
pub use model::{Draws, Due, MODELS, Message, Model, ModelInfo, Traffic, TrafficModel};
pub use one_way::{OneWay, Report, Role};
pub use outcome::{Metric, MetricInfo, Outcome, Part};

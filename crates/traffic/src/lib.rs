//! Application models as sans-IO state machines over a byte-stream socket, and what they measure.
//!
//! A model says what is written when and which single number a run yields; the two halves of
//! [`OneWay`] carry it out over any [`StreamHost`]: the engine in virtual time, kernel sockets, a
//! live endpoint. [`web`] is a model of its own, with many connections. [`Half`] is an end of any.
//! No clock, no socket, no text: reading `bulk:4MiB` is the lab's business, and so
//! is everything that is computed over several runs.

pub mod application;
pub mod bulk;
pub mod burst;
pub mod check;
pub mod half;
pub mod model;
pub mod one_way;
pub mod outcome;
pub mod video;
pub mod web;

pub use application::{Application, StreamFailure, StreamHost};
pub use check::{StreamCheck, StreamMismatch};
pub use half::Half;
pub use model::{Due, MODELS, Message, Model, ModelInfo, Traffic, TrafficModel};
pub use one_way::{OneWay, Report, Role};
pub use outcome::{Metric, Outcome};

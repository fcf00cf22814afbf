//! CMT-SCTP: data on all paths of an association at once (Iyengar et al., IEEE/ACM ToN 2006;
//! draft-tuexen-tsvwg-sctp-multipath).
//!
//! `CmtConfig` has every switch. `Marks` keep what a report says of each path: split fast
//! retransmit (SFR), pseudo-cumulative acknowledgements (CUC), delayed acknowledgements (DAC) and
//! recovery per path (FRC). `SendRound` is the order in which paths send, `split` keeps one path
//! from taking a shared buffer, `SackRoute` chooses the path of a SACK. What is sent and received
//! is left to the association.

mod config;
mod marks;
mod names;
mod sack_route;
mod send_round;
pub(super) mod split;

pub use config::{
    Algorithms, BufferBasis, BufferSplit, CmtConfig, CucRule, PathMode, SackPath, SendAllKey,
    Sides, Smart,
};
pub(super) use marks::{Marks, Misses};
pub(super) use sack_route::SackRoute;
pub(super) use send_round::{PathKey, SendRound};

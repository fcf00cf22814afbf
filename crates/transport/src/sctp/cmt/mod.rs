//! CMT-SCTP: data on all paths of an association at once (Iyengar et al., IEEE/ACM ToN 2006;
//! draft-tuexen-tsvwg-sctp-multipath).
//!
//! `CmtConfig` has every switch. `Marks` keep what a report says of each path: split fast
//! retransmit (SFR), pseudo-cumulative acknowledgements (CUC), delayed acknowledgements (DAC) and
//! recovery per path (FRC). `SendRound` is the order in which paths send, `split` keeps one path
//! from taking a shared buffer, `reschedule` says when the chunk that all others wait for is sent
//! again elsewhere, `SackRoute` chooses the path of a SACK. What is sent and received is left to
//! the association.

mod blocking;
mod config;
mod marks;
mod names;
mod refusal;
pub(super) mod reschedule;
mod rtt;
mod sack_route;
mod send_round;
pub(super) mod split;

pub use crate::congestion::PathGroups;
pub use blocking::PathBlocking;
pub use config::{
    Algorithms, BufferBasis, BufferSplit, CmtConfig, CucRule, PairRule, PathMode, PrimaryFirst,
    SackPath, SendAllKey, Sides, Smart,
};
pub(super) use marks::{Marks, Misses};
pub(super) use names::named;
pub use refusal::SchedulerRefusal;
pub use reschedule::Rescheduling;
pub use rtt::RttRule;
pub(super) use sack_route::SackRoute;
pub(super) use send_round::{PathKey, SendRound};

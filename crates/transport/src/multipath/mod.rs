//! Sending the data of a connection over several paths of any protocol.
//!
//! [`Sender`] carries out what a scheduler and a path policy decide: it keeps the send queue
//! (`send_queue`) and what is assigned to which path (`assignments`), calls the scheduler and
//! passes data to paths (`dispatch`), finds failed paths by a rule (`failover`), retransmits what
//! does not arrive (`repair`, `data_timer`), and returns why nothing is sent. Questions and answers
//! are recorded in `explain`.
//!
//! Everything that depends on a protocol is behind the trait [`Paths`]: numbers on the wire,
//! windows, retransmission on a path. A protocol owns one [`Sender`], passes its paths to each
//! call, and notifies it of events. Receiving is left to the protocol.

mod assignments;
mod data_timer;
mod dispatch;
mod explain;
mod failover;
mod paths;
mod repair;
mod send_queue;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use dispatch::Dispatched;
pub(crate) use explain::ask as ask_and_record;
pub(crate) use failover::Signs;
pub use failover::{FAILOVER_NAMES, Failover};
pub(crate) use paths::{Paths, Piece, Progress, Prompt};
pub(crate) use send_queue::SendQueue;
pub(crate) use sender::{PathAccount, Sender, SenderConfig, path_id};

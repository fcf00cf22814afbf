//! Multi-path TCP, version 1 (RFC 8684): one connection over several TCP subflows.
//!
//! | file | what |
//! |---|---|
//! | `connection` | the socket: the parts it consists of, and the application's calls |
//! | `keys` | the key exchange of MP_CAPABLE and what it agreed on |
//! | `fallback` | the state machines of falling back to TCP |
//! | `plain` | carrying a fallback out, and the stream after it |
//! | `handshake` | opening the connection and its joins |
//! | `subflows`, `subflow` | all subflows; one of them: its TCP and what is kept about it |
//! | `stage`, `priority`, `mappings` | its handshake, its backup flags, the mappings received |
//! | `incoming` | input: data acknowledgements, mappings, data, options |
//! | `receive`, `reader` | the receiving half of the data sequence space, and its reader |
//! | `addresses`, `manage` | the addresses of both hosts, and the path manager's commands |
//! | `remove_addr` | REMOVE_ADDR: checking the subflows of an address |
//! | `grouped` | opening all paths at once by simultaneous SYNs |
//! | `outgoing`, `send` | giving data to subflows; the sending half of the data sequence space |
//! | `binding`, `eligible` | data assigned to paths, paths the policy permits |
//! | `explained`, `standing` | why the scheduler decided so, why nothing is sent |
//! | `failover` | when a path counts as failed |
//! | `timers`, `close` | the connection's own timers, and its end |
//! | `config` | the configuration |
//!
//! Subflows are those of `tcp`, schedulers of `scheduler`, path policies of `path_policy`, path
//! managers of `path_manager`.

mod addresses;
mod binding;
mod close;
mod config;
pub(crate) mod connection;
mod deadlines;
mod eligible;
mod explained;
mod failover;
mod fallback;
pub(crate) mod grouped;
mod handshake;
mod incoming;
mod keys;
mod lifecycle;
mod manage;
pub(crate) mod management;
mod mappings;
mod outgoing;
mod plain;
mod priority;
mod reader;
mod receive;
mod remove_addr;
mod send;
mod stage;
mod standing;
mod subflow;
mod subflows;
mod timers;

pub(crate) use handshake::acceptable_capable;
pub(crate) use outgoing::split_flow;
pub(crate) use send::FRAGMENT_BYTES;

pub use config::MptcpConfig;
pub use failover::{FAILOVER_NAMES, Failover};

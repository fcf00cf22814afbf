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
//! | `grouped`, `early_joins` | simultaneous SYNs: of a connection, and before it is known |
//! | `outgoing`, `paths` | packets to send; the subflows as the paths of a `multipath::Sender` |
//! | `numbers` | the sending half of the data sequence space: numbers on the wire, DATA_FIN |
//! | `timers`, `close` | the connection's own timers, and its end |
//! | `endpoint`, `host` | the face towards the stack: of a connection, and of all of them |
//! | `config` | the configuration |
//!
//! Subflows are those of `tcp`, path managers of `path_manager`. Which data go to which path, and
//! when a path counts as failed, is decided in `multipath`.

mod addresses;
mod close;
mod config;
pub(crate) mod connection;
mod deadlines;
mod early_joins;
mod endpoint;
mod fallback;
mod grouped;
mod handshake;
pub(crate) mod host;
mod incoming;
mod keys;
mod lifecycle;
mod manage;
mod management;
mod mappings;
mod numbers;
mod outgoing;
mod paths;
mod plain;
mod priority;
mod reader;
mod receive;
mod remove_addr;
mod stage;
mod subflow;
mod subflows;
mod timers;

pub use crate::multipath::{FAILOVER_NAMES, Failover};
pub use config::MptcpConfig;

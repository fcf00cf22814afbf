//! Multi-path TCP, version 1 (RFC 8684): one connection over several TCP subflows.
//!
//! A `Connection` is made of parts that keep their own rules. What needs several parts at once is
//! in four files with methods of the connection: `connection`, `handshake`, `input`, `output`.
//!
//! | file | what |
//! |---|---|
//! | `connection` | the parts of a connection, its interface to the stack (`Endpoint`), its end |
//! | `handshake` | opening connections and joins, and carrying out a fallback |
//! | `input` | what arrives: data acknowledgements, mappings, data, options |
//! | `output` | what the connection does by itself: packets, timers, the path manager's commands |
//! | `keys` | the key exchange of MP_CAPABLE and what it agreed on |
//! | `fallback`, `plain_stream` | falling back to TCP as state machines; the stream after it |
//! | `subflows`, `subflow` | all subflows; one of them: its TCP and what is kept about it |
//! | `opening`, `stage`, `priority` | making a subflow; its handshake; its backup flags |
//! | `mappings` | the mappings received on a subflow |
//! | `receive`, `reader` | the receiving half of the data sequence space, and its reader |
//! | `numbers`, `write_limit` | data sequence numbers of the sending half; its buffer's size |
//! | `paths` | the subflows as paths of a `multipath::Sender` |
//! | `management`, `addresses` | the path manager and the joins it wants; addresses of both hosts |
//! | `remove_addr` | the check of a subflow whose address the peer removed |
//! | `simultaneous`, `early_joins` | simultaneous SYNs: of a connection, and before it is known |
//! | `lifecycle`, `deadlines` | whether the connection is over, and its own timers |
//! | `host`, `config` | MPTCP for a host rather than one connection; the configuration |
//!
//! Sending over paths is `multipath`'s, subflows are those of `tcp`, path managers those of
//! `path_manager`.

mod addresses;
mod config;
pub(crate) mod connection;
mod deadlines;
mod early_joins;
mod fallback;
mod handshake;
pub(crate) mod host;
mod input;
mod keys;
mod lifecycle;
pub(crate) mod management;
mod mappings;
mod numbers;
mod opening;
mod output;
mod paths;
mod plain_stream;
mod priority;
mod reader;
mod receive;
mod remove_addr;
mod simultaneous;
mod stage;
mod subflow;
mod subflows;
mod write_limit;

pub use config::MptcpConfig;

//! Simultaneous SYNs: the subflows of a group, of which all but the first join without a token
//! (001 s4.1.1). What the server keeps until the connection of a group is known is in
//! `early_joins`.
//!
//! The option is for private use. A server that does not know it answers as TCP; such a path is
//! reset, and joined as usual later.

use wire::TcpSegment;

/// What a server keeps of a path's SYN until the connection is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimultaneousJoin {
    pub remote_id: u8,
    pub backup: bool,
    pub local_nonce: u32,
    pub remote_nonce: u32,
}

/// What a client keeps of a path of a group.
#[derive(Clone, Debug, Default)]
pub struct SimultaneousSyn {
    /// The SYN/ACK, which came before the server's key.
    pub answer: Option<Box<TcpSegment>>,
}

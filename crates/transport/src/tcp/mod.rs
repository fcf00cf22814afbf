//! TCP (RFC 9293) as a subflow: the state of one connection and its parts.

mod config;

pub use config::{Buffers, Profile, TcpConfig, TcpInfo};

//! TCP segments (RFC 9293) and their options.

mod codec;
mod options;
mod segment;

pub use options::{SackBlocks, TcpOptions, Timestamps};
pub use segment::{Flags, TcpSegment};

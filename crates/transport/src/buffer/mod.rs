//! Buffers of bytes with 64-bit offsets, shared by every protocol of the engine.
//!
//! `SendBuffer` has the data that are not yet acknowledged, `Reassembly` the data that arrived and
//! are not yet read, and `RangeSet` is an ordered set of ranges. Gaps are kept in ordered
//! structures with logarithmic operations. Sequence numbers and windows are left to the protocols.

mod range_set;
mod reassembly;
mod send_buffer;

pub use range_set::RangeSet;
pub use reassembly::{Inserted, Reassembly};
pub use send_buffer::SendBuffer;

/// Bytes that one fragment of a send queue holds in Linux (32 KiB with its description).
pub const FRAGMENT_BYTES: u32 = (32 << 10) - FRAGMENT_OVERHEAD;
/// Memory of that description (Linux `struct mptcp_data_frag`), in bytes.
pub const FRAGMENT_OVERHEAD: u32 = 40;

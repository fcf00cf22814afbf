//! Buffers of bytes with 64-bit offsets, shared by every protocol of the engine.
//!
//! What is sent and not yet acknowledged (`SendBuffer`), what arrived and is not yet read
//! (`Reassembly`), and the ordered set of ranges both lean on (`RangeSet`). Gaps live in ordered
//! structures with logarithmic operations (rule 6). Sequence numbers of the wire and windows are
//! left to the protocols.

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

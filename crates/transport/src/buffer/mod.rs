//! Buffers of bytes with 64-bit offsets, shared by every protocol of the engine.
//!
//! `SendBuffer` has the data that are not yet acknowledged, `Reassembly` the data that arrived and
//! are not yet read, `RangeSet` is an ordered set of ranges, and `Fragments` are the pieces in
//! which Linux holds a send queue. Gaps are kept in ordered structures with logarithmic
//! operations. Sequence numbers and windows are left to the protocols.

mod fragments;
mod range_set;
mod reassembly;
mod send_buffer;

pub use fragments::{FRAGMENT_BYTES, Fragments};
pub use range_set::RangeSet;
pub use reassembly::{Inserted, Reassembly};
pub use send_buffer::SendBuffer;

//! Multipath TCP (RFC 8684): what TCP option 30 carries, as values and bytes.
//!
//! Numbers are those of the wire: absolute data sequence numbers and data acknowledgements,
//! subflow sequence numbers counted from the subflow's SYN. What options mean, and when they may
//! be sent, is left to `transport`.

mod address;
mod capable;
mod dss;
mod group;
mod join;
mod keys;
mod option;
mod options;

pub use address::AddAddr;
pub use capable::{Capable, CapableFlags, CapableForm};
pub use dss::{DataNumber, Dss, Mapping, nearest};
pub use group::GroupSyn;
pub use join::Join;
pub(crate) use keys::is_same;
pub use keys::{Hmac, Key, Token, add_addr_hmac, join_hmac};
pub use option::{MptcpOption, ResetReason};
pub use options::MptcpOptions;

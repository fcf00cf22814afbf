//! SCTP: known bytes, wrong bytes, properties of emit and parse, captures.

mod encapsulation;
mod negative;
pub(crate) mod properties;
mod tshark;
mod vectors;

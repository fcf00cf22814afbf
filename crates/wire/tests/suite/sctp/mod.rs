//! SCTP: known bytes, wrong bytes, properties of emit and parse, captures.

mod negative;
mod properties;
mod vectors;

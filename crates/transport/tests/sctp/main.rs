//! SCTP over a pair in memory: two stacks with several addresses each, virtual time, and a look at
//! every packet that passes.

mod basics;
mod pair;

//! MPTCP over a pair in memory: two stacks, several paths, virtual time.

mod basics;
mod pair;

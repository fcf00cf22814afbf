//! SCTP over a pair in memory: two stacks with several addresses each, virtual time, and a look at
//! every packet that passes.

mod abandon;
mod addresses;
mod attacks;
mod basics;
mod binding;
mod cmt;
mod data;
mod handshake;
mod icmp;
mod pair;
mod random_ops;
mod reset;
mod shutdown;
mod timers;
mod windows;

/// `cases` random cases, or the number in `PROPTEST_CASES`; a failure prints its smallest input.
fn cases(cases: u32) -> proptest::prelude::ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok());
    proptest::prelude::ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        ..Default::default()
    }
}

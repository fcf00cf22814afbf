//! MPTCP over a pair in memory: two stacks, several paths, virtual time. `raw` is a peer made by
//! hand, for what a stack of ours never sends.

mod addresses;
mod basics;
mod data;
mod ending;
mod fallback;
mod fates;
mod handshake;
mod hostile;
mod joins;
mod kernel_manager;
mod mappings;
mod pair;
mod probing;
mod random_fates;
mod random_ops;
mod random_worlds;
mod raw;
mod rejoining;
mod scheduling;
mod simultaneous;

/// `cases` random cases, or the number in `PROPTEST_CASES`; a failure prints its smallest input.
fn cases(cases: u32) -> proptest::prelude::ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok());
    proptest::prelude::ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        max_shrink_iters: 5_000,
        ..Default::default()
    }
}

//! Tests of the engine's interface: pairs of stacks in virtual time, and stacks against hand-made
//! peers. One binary, so that it links once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod ack;
mod bare;
mod close;
mod end;
mod fate;
mod handshake;
mod hostile;
mod hosts;
mod loss_loops;
mod middlebox;
mod pair;
mod peers;
mod profiles;
mod random_ops;
mod recovery;
mod reset;
mod sending;
mod setup;
mod undo;
mod window;
mod witness;

/// `cases` random cases, or the number in `PROPTEST_CASES`; a failure prints its smallest input.
fn cases(cases: u32) -> proptest::prelude::ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok());
    proptest::prelude::ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Default::default()
    }
}

//! An emulation to test, one at a time.

use crate::timekeeping;
use base::{Duration, Rate};
use linux::LiveError;
use linux::emulator::{EmulatedRun, Emulator, EmulatorConfig};
use network::{Capacity, Limit, LinkConfig, LossConfig, NicSetup, PathSetup};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests of this program measure time, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// How often something that depends on time is tried.
const ATTEMPTS: usize = 3;

/// Wait until no other test runs.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One direction of a path.
pub(crate) fn link(mbit: u64, delay_ms: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        capacity: Capacity::Rate(Rate::from_mbit(mbit)),
        delay: Duration::from_millis(delay_ms),
        limit: Limit::Packets(100),
        loss: if loss > 0.0 { LossConfig::Bernoulli { p: loss } } else { LossConfig::None },
        ..LinkConfig::default()
    }
}

/// A path alike in both directions.
pub(crate) fn path(name: &str, link: LinkConfig) -> PathSetup {
    PathSetup { name: name.to_owned(), down: link.clone(), up: link, events: Vec::new() }
}

/// Repetition 0 of seed 1.
pub(crate) fn run_over(paths: &[PathSetup]) -> EmulatedRun {
    let nic = Some(NicSetup::default());
    EmulatedRun { seed: 1, run: 0, paths: paths.to_vec(), nic, capture: false, waits: false }
}

/// The hosts for these paths; `None`, after printing the reason, where they cannot be created.
pub(crate) fn emulator(paths: &[PathSetup], ipv6: bool) -> Option<Emulator> {
    let names = paths.iter().map(|path| path.name.clone()).collect();
    let config = EmulatorConfig { ipv6, ..EmulatorConfig::new(names) };
    match Emulator::start(&config) {
        Ok(emulator) => Some(emulator),
        Err(error @ LiveError::Missing { .. }) => {
            println!("skipped: {}", error.to_string().lines().next().unwrap_or_default());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Try something that depends on time until it is right; skip it on a machine that does not keep
/// time.
pub(crate) fn attempt(what: impl Fn() -> Result<(), String>) {
    if timekeeping::keeps_time() {
        timekeeping::attempt(ATTEMPTS, what);
    }
}

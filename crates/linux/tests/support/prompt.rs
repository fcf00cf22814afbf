//! Threads that must not wait for a busy machine: real-time priority where it can be had.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);

/// From now on, wires and engines of this program come before everything else.
pub(crate) fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Raises the calling thread's priority, if that is requested.
pub(crate) fn hurry() {
    if WANTED.load(Ordering::Relaxed) {
        let thread = nix::unistd::gettid().to_string();
        // Without the program or the permission a late transfer is repeated.
        let _ = Command::new("chrt")
            .args(["--fifo", "--pid", "10", &thread])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

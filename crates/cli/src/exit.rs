//! Exit codes. `doctor` has one more, for what is missing on this machine.

/// A run-time failure.
pub(crate) const FAILED: u8 = 1;
/// A usage or scenario error.
pub(crate) const USAGE: u8 = 2;
/// Finished, but a check failed.
pub(crate) const CHECK_FAILED: u8 = 4;
/// Stopped by the user.
pub(crate) const INTERRUPTED: u8 = 130;

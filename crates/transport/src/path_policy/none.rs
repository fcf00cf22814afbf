//! No policy: every path is eligible, as the schedulers' own papers assume.
//!
//! Backup marks still count (RFC 8684 s3.3.8): they are the scheduler's to heed.

use super::PathPolicy;
use crate::scheduler::PathView;
use base::{Instant, PathId};

/// Leaves every path as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoPolicy;

impl PathPolicy for NoPolicy {
    fn review(&mut self, _now: Instant, _paths: &[PathView]) -> Vec<(PathId, bool)> {
        Vec::new()
    }
}

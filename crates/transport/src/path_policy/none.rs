//! No policy: every path is eligible, as the schedulers' own papers assume.
//!
//! Backup marks still count (RFC 8684 s3.3.8): every scheduler heeds them.

use super::{AnyPolicy, PathPolicy, PolicyRow};
use crate::scheduler::PathView;
use base::{Instant, PathId};

/// Its line in the table.
pub(super) const ROW: PolicyRow = PolicyRow {
    name: "none",
    about: "Every path may carry data; backup paths as signalled by the peer.",
    source: "RFC 8684 s3.3.8",
    parameters: &[],
    make: |_| AnyPolicy::None(NoPolicy),
};

/// Leaves every path as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoPolicy;

impl PathPolicy for NoPolicy {
    fn review(&mut self, _now: Instant, _paths: &[PathView]) -> Vec<(PathId, bool)> {
        Vec::new()
    }
}

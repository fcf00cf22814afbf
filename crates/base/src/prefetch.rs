//! A hint to the processor: this memory will be needed soon.
//!
//! Changes nothing but time. Worlds of thousands of connections spend most of theirs waiting for
//! memory; whoever knows what comes next can say so.

use std::slice::from_ref;

/// Ask for the cache line in which `value` begins.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index::prefetch_index(from_ref(value), 0);
}

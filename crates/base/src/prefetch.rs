//! A hint to the processor that some memory is needed soon.
//!
//! Changes nothing but time. Worlds with thousands of connections spend most of their time waiting
//! for memory that their next events need.

use std::slice::from_ref;

/// Prefetch the cache line in which `value` begins.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index::prefetch_index(from_ref(value), 0);
}

//! What is forgiven: rule, file, and how many findings of it. This list may only shrink.

/// (rule, file, findings forgiven).
pub(crate) const EXCEPTIONS: &[(&str, &str, usize)] = &[];

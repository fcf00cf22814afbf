//! `RttRule`: which SACKs measure the round trip of a path.
//!
//! A SACK may take another path than the chunk that it acknowledges, and then says when the chunk
//! arrived, but not how long a round trip of its path is.

use super::names::named;

/// Which SACKs measure the round trip of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RttRule {
    /// The first one that acknowledges the chunk (FreeBSD).
    AnyPath,
    /// The first one, if it came over the path of the chunk (INET).
    SamePath,
    /// The first one over the path of the chunk that reports it (`cmtSlowPathRTTUpdate` of INET).
    #[default]
    SlowPath,
}

named! {
    RttRule {
        AnyPath "any-path" "the first SACK for a chunk, whatever path it came over";
        SamePath "same-path" "the first SACK for a chunk, if it came over the chunk's path";
        SlowPath "slow-path" "the first SACK over the chunk's path that reports the chunk";
    }
}

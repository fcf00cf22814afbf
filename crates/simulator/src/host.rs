//! A simulated host (being built).
use base::Duration;

/// What a host's processor needs for its work; a host with a cost is serial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessingCost {
    /// For each segment received or sent.
    pub per_segment: Duration,
    /// For each scheduling decision.
    pub per_decision: Duration,
    /// For each gap entry visited in a reorder structure.
    pub per_gap_entry: Duration,
}

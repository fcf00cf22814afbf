//! Time series of one run.
//!
//! Windows, RTT, segments in flight and queue of each path; the bytes that each path delivered, the
//! bytes that waited for preceding bytes, and the calls of the scheduler. Files are left to
//! `results` and plots to the caller.

mod brought;
mod calls;
mod recorder;
mod representative;

pub use calls::{CallMarks, MOST_CALLS, WAITS};
pub use recorder::record_series;
pub(crate) use recorder::record_series_and_more;
pub use representative::{VariantSeries, representative_series};

use base::Instant;

/// A quantity over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Quantity.
    pub quantity: Quantity,
    /// Index of the path in the scenario; of goodputs, index of the competing flow; `None` for the
    /// connection.
    pub path: Option<usize>,
    /// Points in time order.
    pub points: Vec<(Instant, f64)>,
}

type Points = Vec<(Instant, f64)>;

/// A recorded quantity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quantity {
    /// Congestion window of the data sender, in bytes.
    CongestionWindow,
    /// Smoothed round-trip time at the data sender, in seconds.
    SmoothedRtt,
    /// Segments in flight at the data sender.
    InFlight,
    /// Packets that wait in the queue of the path's link in the direction of the data, whenever
    /// one more is accepted.
    Queue,
    /// A segment reached the receiver: the position in the connection behind its last byte.
    Arrived,
    /// Bytes read by the application.
    Read,
    /// Bytes that arrived and wait for preceding bytes.
    ReorderBuffer,
    /// At each of the first calls of the scheduler with data on offer: the path it chose, by its
    /// place in the scenario, or -1 if it waits.
    CallChoice,
    /// At the same calls, of each path: the time that the scheduler compares, its own prediction
    /// or the smoothed RTT, in seconds; 0 for a path without a subflow.
    CallCompared,
    /// At the same calls, of each path: the sum of 1 if its congestion window is full, 2 if TCP
    /// Small Queues limits it, 4 if it cannot carry data.
    CallMarks,
    /// With competing flows: bits per second that each connection read in the preceding second.
    Goodput,
    /// Bits per second that each path delivered first to the receiver in the preceding tenth of a
    /// second.
    Brought,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Quantity; 12] = [
        Quantity::CongestionWindow,
        Quantity::SmoothedRtt,
        Quantity::InFlight,
        Quantity::Queue,
        Quantity::Arrived,
        Quantity::Read,
        Quantity::ReorderBuffer,
        Quantity::CallChoice,
        Quantity::CallCompared,
        Quantity::CallMarks,
        Quantity::Goodput,
        Quantity::Brought,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::CongestionWindow => "cwnd",
            Quantity::SmoothedRtt => "srtt",
            Quantity::InFlight => "inflight",
            Quantity::Queue => "queue",
            Quantity::Arrived => "arrived",
            Quantity::Read => "read",
            Quantity::ReorderBuffer => "reorder_buffer",
            Quantity::CallChoice => "call_choice",
            Quantity::CallCompared => "call_compared",
            Quantity::CallMarks => "call_marks",
            Quantity::Goodput => "goodput",
            Quantity::Brought => "brought",
        }
    }

    /// The quantity of that name.
    pub fn by_name(name: &str) -> Option<Quantity> {
        Quantity::ALL.into_iter().find(|quantity| quantity.name() == name)
    }

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Quantity::SmoothedRtt | Quantity::CallCompared => "s",
            Quantity::InFlight => "segments",
            Quantity::Queue => "packets",
            Quantity::CallChoice => "path",
            Quantity::CallMarks => "marks",
            Quantity::Goodput | Quantity::Brought => "bit/s",
            Quantity::CongestionWindow
            | Quantity::Arrived
            | Quantity::Read
            | Quantity::ReorderBuffer => "byte",
        }
    }
}

impl Series {
    /// The points with the time in seconds since the run began.
    pub fn seconds(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().map(|(at, value)| ((*at - Instant::ZERO).as_secs_f64(), *value))
    }

    /// At most about `most` points: time is divided into equal bins, and the first, lowest, highest
    /// and last point of each bin are kept. Nothing is averaged.
    pub fn thinned(&self, most: usize) -> Series {
        Series { points: thinned(&self.points, most), ..*self }
    }
}

/// As `Series::thinned`.
fn thinned(points: &[(Instant, f64)], most: usize) -> Vec<(Instant, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= most {
        return points.to_vec();
    }
    let bins = (most / 4).max(1) as u64;
    let span = (last.0 - first.0).as_nanos().max(1);
    let bin = |at: Instant| (at - first.0).as_nanos().saturating_mul(bins) / (span + 1);
    let same = |a: &(Instant, f64), b: &(Instant, f64)| bin(a.0) == bin(b.0);
    points.chunk_by(same).flat_map(extremes).collect()
}

/// The first, lowest, highest and last of some points, in the order of time, each once.
fn extremes(points: &[(Instant, f64)]) -> Vec<(Instant, f64)> {
    let by_value = |a: &&usize, b: &&usize| points[**a].1.total_cmp(&points[**b].1);
    let all: Vec<usize> = (0..points.len()).collect();
    let lowest = all.iter().min_by(by_value).copied();
    let highest = all.iter().max_by(by_value).copied();
    let mut kept: Vec<usize> =
        [Some(0), lowest, highest, points.len().checked_sub(1)].into_iter().flatten().collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().filter_map(|index| points.get(index).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_series_keeps_its_ends_and_its_peaks() {
        let at = Instant::from_millis;
        let mut points: Vec<(Instant, f64)> = (0..10_000).map(|n| (at(n), 1.0)).collect();
        points[5_000].1 = 9.0;
        points[7_001].1 = -3.0;
        let series = Series { quantity: Quantity::Queue, path: Some(0), points };
        let thin = series.thinned(400);
        assert!(thin.points.len() <= 400 && thin.points.len() >= 200, "{}", thin.points.len());
        assert!(
            thin.points.contains(&(at(5_000), 9.0)) && thin.points.contains(&(at(7_001), -3.0))
        );
        assert_eq!(thin.points.first(), series.points.first());
        assert_eq!(thin.points.last(), series.points.last());
        assert!(thin.points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thin.thinned(400), thin);
    }
}

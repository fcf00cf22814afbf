//! Analysis of captures of TCP and MPTCP traffic: subflows, shares, RTT, loss, reinjection, and
//! out-of-order delay.
//!
//! Any capture that `wire` reads, from this program or tcpdump, at either end or between. The
//! caller prints tables and documents. The definitions are those of 001 sIII-B: loss is
//! retransmitted segments over segments sent, RTT excludes retransmissions (Karn), and out-of-order
//! delay is the time from the arrival of a segment until all data before it have arrived.

mod capture;
mod connection;
mod data;
mod distribution;
mod document;
mod flow;
mod half;
mod origin;
mod result;
mod sequence;
mod talkers;
#[cfg(test)]
mod tests;

pub use distribution::Distribution;
pub use document::analysis_document;
pub use result::{Analysis, Connection, Flowing, OutOfOrder, Spoken, Subflow, Vantage};
pub use sequence::{Sending, SentAt, Sequence};
pub use talkers::{Counted, Talkers};

use capture::{Captured, read};
use connection::Connections;
use origin::Origins;
use wire::CaptureError;

/// Analyzes the bytes of a pcapng or pcap file. Damage ends the analysis at that point and is
/// noted; a file that is not a capture is an error.
pub fn analyze(file: &[u8]) -> Result<Analysis, CaptureError> {
    with(file, false)
}

/// The same with the sequence of every connection: what was sent and acknowledged when.
pub fn analyze_sequences(file: &[u8]) -> Result<Analysis, CaptureError> {
    with(file, true)
}

fn with(file: &[u8], sequences: bool) -> Result<Analysis, CaptureError> {
    let Captured { mut segments, packets, span, names, counts, mut notes } = read(file)?;
    // Interfaces are written one after the other, each with its own delay.
    segments.sort_by_key(|segment| segment.time);
    let start = segments.first().map(|segment| segment.time);
    let mut connections = Connections::new(Origins::of(&segments), sequences);
    for segment in &segments {
        connections.segment(segment);
    }
    let duration = span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
    let connections = match start {
        Some(start) => connections.finish(start, &names, &mut notes),
        None => Vec::new(),
    };
    let (protocols, talkers) = (counts.protocols(), counts.talkers());
    let tcp_segments = segments.len() as u64;
    Ok(Analysis { packets, tcp_segments, duration, protocols, talkers, connections, notes })
}

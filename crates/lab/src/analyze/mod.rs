//! Analysis of captures of TCP, MPTCP and SCTP traffic: subflows or paths, shares, RTT, loss,
//! reinjection, and out-of-order delay.
//!
//! Any capture that `wire` reads, from this program or tcpdump, at either end or between. The
//! caller prints tables and documents. The definitions are those of 001 sIII-B: loss is
//! retransmitted segments over segments sent, RTT excludes retransmissions (Karn), and out-of-order
//! delay is the time from the arrival of a segment until all data before it have arrived.

mod capture;
mod connection;
mod copies;
mod data;
mod datagrams;
mod distribution;
mod document;
mod flow;
mod half;
mod origin;
mod parts;
mod result;
mod sctp;
mod sequence;
mod talkers;
#[cfg(test)]
mod tests;

pub use datagrams::{Datagrams, datagrams};
pub use distribution::Distribution;
pub use document::analysis_document;
pub use result::{Analysis, Connection, Flowing, OutOfOrder, Spoken, Subflow, Vantage};
pub use sctp::{
    Address, AddressChange, Association, Change, End, Known, PathUse, Retransmissions, Sacks, Sent,
    State, Stream,
};
pub use sequence::{Sending, SentAt, Sequence};
pub use talkers::{Counted, Talkers};

use capture::{Captured, read};
use connection::Connections;
use origin::Origins;
use sctp::Associations;
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
    let Captured {
        mut segments,
        mut units,
        packets,
        adler32_packets,
        span,
        names,
        counts,
        mut notes,
    } = read(file)?;
    // Interfaces are written one after the other, each with its own delay.
    segments.sort_by_key(|segment| segment.time);
    units.sort_by_key(|unit| unit.time);
    let times = [segments.first().map(|first| first.time), units.first().map(|first| first.time)];
    let start = times.into_iter().flatten().min();
    let (tcp_segments, sctp_packets) = (segments.len() as u64, units.len() as u64);
    notes.extend(copies::remove(&mut segments));
    notes.extend(copies::remove_packets(&mut units));
    let mut connections = Connections::new(Origins::of(&segments), sequences);
    segments.iter().for_each(|segment| connections.segment(segment));
    let mut associations = Associations::new(sequences);
    units.iter().for_each(|unit| associations.packet(unit));
    let duration = span.map_or(0.0, |(start, end)| (end - start).as_secs_f64());
    let connections = match start {
        Some(start) => {
            let mut all = connections.finish(start, &names, &mut notes);
            all.extend(associations.finish(start, &names));
            all.sort_by(|a, b| a.start.total_cmp(&b.start));
            all
        }
        None => Vec::new(),
    };
    Ok(Analysis {
        packets,
        tcp_segments,
        sctp_packets,
        adler32_packets,
        duration,
        protocols: counts.protocols(),
        talkers: counts.talkers(),
        connections,
        notes,
    })
}

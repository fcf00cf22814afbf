//! Packet formats: values, parse and emit, checksums and pcapng.
//!
//! No state, no clock, no I/O. A packet is a value: its headers are real,
//! its payload is real bytes or a virtual function of (stream, offset). `emit` turns a value into
//! bytes and `parse` turns bytes into a value; the one is the inverse of the other.

mod checksum;
mod error;
mod fields;
mod fragment;
mod icmp;
mod ip;
pub mod mptcp;
mod opaque;
mod packet;
pub mod payload;
pub mod pcapng;
mod rarely;
pub mod sctp;
mod seq;
mod spare;
mod tcp;
mod udp;
mod virtual_stream;

pub use checksum::Checksum;
pub use error::{Layer, ParseError};
pub use fragment::Fragment;
pub use icmp::Icmp;
pub use mptcp::{Dss, MptcpOption, MptcpOptions};
pub use opaque::Opaque;
pub use packet::{Body, Ends, Note, Packet};
pub use payload::Payload;
pub use pcapng::{CaptureError, CaptureReader, CapturedPacket, PcapngWriter};
pub use sctp::SctpPacket;
pub use seq::SeqNumber;
pub use tcp::{Flags, SackBlocks, TcpOptions, TcpSegment, Timestamps};
pub use udp::UdpDatagram;

//! Captures: writing pcapng, reading pcapng and classic pcap (draft-ietf-opsawg-pcapng and -pcap).
//!
//! The writer makes one interface per path with ns time stamps, so that Wireshark shows a
//! simulation as it shows a host. The reader works on the bytes of a file, gives IP datagrams and
//! allocates nothing but the names of interfaces. Leaves files to the caller and what is in a
//! datagram to `Packet::parse_captured`.

mod link;
mod reader;
mod writer;

pub use reader::{CaptureError, CaptureReader, CapturedPacket};
pub use writer::PcapngWriter;

/// Block type of a section header; reads the same in both byte orders.
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
/// Of old files only; as an enhanced packet block except for a shorter interface number.
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Indicates the byte order of a section.
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;

const OPTION_END: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

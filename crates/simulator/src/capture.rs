//! A capture of the packets that pass one host's interfaces, one pcapng interface per path.
//!
//! Like tcpdump on that host: what is sent is seen before the NIC's queue, what arrives when it
//! arrives. Leaves the format to `wire` and the file to the caller: the capture is in memory.

use base::{HostId, Instant, InterfaceId};
use std::io;
use wire::Packet;
use wire::pcapng::PcapngWriter;

/// A capture in the making.
#[derive(Debug)]
pub struct Capture {
    host: HostId,
    writer: PcapngWriter<Vec<u8>>,
}

impl Capture {
    /// Captures at `host`; interfaces have the `names` of the paths.
    pub fn new(host: HostId, names: &[&str]) -> io::Result<Self> {
        Ok(Capture { host, writer: PcapngWriter::new(Vec::new(), names)? })
    }

    /// A packet passed an interface.
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        host: HostId,
        interface: InterfaceId,
        packet: &Packet,
    ) {
        if host == self.host {
            // Memory does not fail, and interfaces are as many as names.
            let _ = self.writer.write(interface.index(), now, packet);
        }
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.writer.into_inner()
    }
}

//! Captures of the packets that pass the hosts' interfaces, one pcapng interface per path.
//!
//! Like tcpdump on each host: what is sent is seen before the NIC's queue, what arrives when it
//! arrives. Leaves the format to `wire` and the files to the caller: a capture is in memory.

use base::{HostId, Instant, InterfaceId};
use std::io;
use wire::Packet;
use wire::pcapng::PcapngWriter;

/// Captures in the making, one a host.
#[derive(Debug)]
pub struct Capture {
    hosts: Vec<(HostId, PcapngWriter<Vec<u8>>)>,
}

impl Capture {
    /// Captures at `hosts`; interfaces have the `names` of the paths.
    pub fn new(hosts: &[HostId], names: &[&str]) -> io::Result<Self> {
        let writer = |host: &HostId| Ok((*host, PcapngWriter::new(Vec::new(), names)?));
        Ok(Capture { hosts: hosts.iter().map(writer).collect::<io::Result<_>>()? })
    }

    /// A packet passed an interface.
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        host: HostId,
        interface: InterfaceId,
        packet: &Packet,
    ) {
        if let Some((_, writer)) = self.hosts.iter_mut().find(|(at, _)| *at == host) {
            // Memory does not fail, and interfaces are as many as names.
            let _ = writer.write(interface.index(), now, packet);
        }
    }

    /// The files, in the order in which the hosts were named.
    pub fn into_files(self) -> Vec<Vec<u8>> {
        self.hosts.into_iter().map(|(_, writer)| writer.into_inner()).collect()
    }
}

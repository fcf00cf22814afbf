//! Captures of the packets that pass the hosts' interfaces, one pcapng interface per path.
//!
//! As with tcpdump on each host, sent packets are seen before the NIC's queue and received packets
//! when they arrive. A capture is in memory; the format is left to `wire`, files to the caller.

use base::{HostId, Instant, InterfaceId};
use std::io;
use wire::Packet;
use wire::pcapng::PcapngWriter;

/// Unfinished captures, one per host.
#[derive(Debug)]
pub struct Capture {
    hosts: Vec<(HostId, PcapngWriter<Vec<u8>>)>,
}

impl Capture {
    /// Captures at `hosts`; the interfaces have these names.
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
            // Writing to memory does not fail, and every interface has a name.
            let _ = writer.write(interface.index(), now, packet);
        }
    }

    /// The files, in the order in which the hosts were named.
    pub fn into_files(self) -> Vec<Vec<u8>> {
        self.hosts.into_iter().map(|(_, writer)| writer.into_inner()).collect()
    }
}

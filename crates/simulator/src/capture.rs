//! A capture of the packets that pass one host's interfaces, one pcapng interface per path.
use base::{HostId, Instant, InterfaceId};
use wire::Packet;

/// A capture in the making.
#[derive(Debug)]
pub struct Capture {
    host: HostId,
}

impl Capture {
    /// Captures at `host`; interfaces have the `names` of the paths.
    pub fn new(host: HostId, _names: &[&str]) -> Self {
        Capture { host }
    }

    /// A packet passed an interface.
    pub(crate) fn packet(&mut self, _: Instant, host: HostId, _: InterfaceId, _: &Packet) {
        if host != self.host {}
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        Vec::new()
    }
}

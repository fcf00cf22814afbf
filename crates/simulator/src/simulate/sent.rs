//! What the connections of one host sent, path by path.

use super::{ends, half};
use crate::run::{Repeated, RunSetup};
use crate::world::World;
use base::HostId;
use traffic::Half;

/// What the connections did by the time the number was known.
#[derive(Default)]
pub(super) struct Sent {
    /// Per path.
    pub first_sent_bytes: Vec<u64>,
    pub retransmitted_segs: u64,
    pub reinjected_bytes: u64,
    pub probe_bytes: u64,
    pub duplicate_bytes: u64,
    /// Per path.
    pub repeated: Vec<Repeated>,
}

/// Of the measured connections of a run.
pub(super) fn sent(setup: &RunSetup, world: &World<Half>) -> Sent {
    let (sender, receiver) = ends(setup);
    let paths: Vec<usize> = (0..setup.paths.len()).collect();
    let mut sent = Sent::new(paths.len());
    sent.add(world, sender, &paths, setup.protocol.first_path());
    for socket in half(world, receiver).sockets() {
        if let Some(info) = world.mptcp_info(receiver, socket) {
            sent.duplicate_bytes += info.duplicate_bytes;
        }
    }
    sent
}

impl Sent {
    /// Nothing yet, over so many paths.
    pub(super) fn new(paths: usize) -> Self {
        Sent {
            first_sent_bytes: vec![0; paths],
            repeated: vec![Repeated::default(); paths],
            ..Sent::default()
        }
    }

    /// What `sender` sent, whose interfaces lead to `paths`; TCP to the path `first`.
    pub(super) fn add(
        &mut self,
        world: &World<Half>,
        sender: HostId,
        paths: &[usize],
        first: usize,
    ) {
        for socket in half(world, sender).sockets() {
            if let Some(info) = world.tcp_info(sender, socket) {
                let bytes = info.bytes_sent.saturating_sub(info.bytes_retrans);
                self.first_sent_bytes[first] += bytes;
                self.retransmitted_segs += info.segs_retrans;
                self.repeated[first].spurious_segs += info.spurious_retrans;
            }
            if let Some(info) = world.mptcp_info(sender, socket) {
                for subflow in &info.subflows {
                    let path = paths[subflow.interface.index()];
                    self.first_sent_bytes[path] += subflow.first_sent_bytes;
                    self.retransmitted_segs += subflow.tcp.segs_retrans;
                    let repeated = &mut self.repeated[path];
                    repeated.spurious_segs += subflow.tcp.spurious_retrans;
                    repeated.reinjected_segs += subflow.reinjected_segs;
                    repeated.reinjected_bytes += subflow.reinjected_bytes;
                }
                for retired in &info.retired {
                    let path = paths[retired.interface.index()];
                    self.first_sent_bytes[path] += retired.first_sent_bytes;
                    self.retransmitted_segs += retired.segs_retrans;
                    let repeated = &mut self.repeated[path];
                    repeated.spurious_segs += retired.spurious_retrans;
                    repeated.reinjected_segs += retired.reinjected_segs;
                    repeated.reinjected_bytes += retired.reinjected_bytes;
                }
                self.reinjected_bytes += info.reinjected_bytes;
                self.probe_bytes += info.probe_bytes;
            }
        }
    }
}

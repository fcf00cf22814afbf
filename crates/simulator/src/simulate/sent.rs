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
        if let Some(info) = world.info(receiver, socket) {
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
            if let Some(info) = world.info(sender, socket) {
                for each in &info.paths {
                    let single = !info.protocol.is_multipath();
                    let path = if single { first } else { paths[each.interface.index()] };
                    self.first_sent_bytes[path] += each.first_sent_bytes;
                    self.retransmitted_segs += each.segs_retrans;
                    let repeated = &mut self.repeated[path];
                    repeated.spurious_segs += each.spurious_retrans;
                    repeated.reinjected_segs += each.reinjected_segs;
                    repeated.reinjected_bytes += each.reinjected_bytes;
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

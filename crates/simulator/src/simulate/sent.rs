//! What the connections of a flow sent, path by path.

use super::hosts::{FlowHosts, half};
use crate::setup::RunSetup;
use crate::world::World;
use harness::{Repeated, SentRecord};
use traffic::Half;

/// What the data sender of a flow sent so far.
pub(super) fn sent_by(setup: &RunSetup, world: &World<Half>, flow: &FlowHosts<'_>) -> SentRecord {
    let count = setup.network.paths.len();
    let mut sent = SentRecord {
        first_sent_bytes: vec![0; count],
        repeated: vec![Repeated::default(); count],
        ..SentRecord::default()
    };
    let (sender, _) = flow.ends();
    for socket in half(world, sender).sockets() {
        let Some(info) = world.info(sender, socket) else { continue };
        for each in &info.paths {
            let is_multipath = info.protocol.is_multipath();
            let path = if is_multipath { flow.path_of(each.interface) } else { flow.first_path };
            sent.first_sent_bytes[path] += each.first_sent_bytes;
            sent.retransmitted_segs += each.segs_retrans;
            let repeated = &mut sent.repeated[path];
            repeated.spurious_segs += each.spurious_retrans;
            repeated.reinjected_segs += each.reinjected_segs;
            repeated.reinjected_bytes += each.reinjected_bytes;
        }
        for retired in &info.retired {
            let path = flow.path_of(retired.interface);
            sent.first_sent_bytes[path] += retired.first_sent_bytes;
            sent.retransmitted_segs += retired.segs_retrans;
            let repeated = &mut sent.repeated[path];
            repeated.spurious_segs += retired.spurious_retrans;
            repeated.reinjected_segs += retired.reinjected_segs;
            repeated.reinjected_bytes += retired.reinjected_bytes;
        }
        sent.reinjected_bytes += info.reinjected_bytes;
        sent.probe_bytes += info.probe_bytes;
    }
    sent
}

/// Bytes that reached the connections of the data receiver more than once.
pub(super) fn duplicate_bytes(world: &World<Half>, flow: &FlowHosts<'_>) -> u64 {
    let (_, receiver) = flow.ends();
    let sockets = half(world, receiver).sockets().into_iter();
    let infos = sockets.filter_map(|socket| world.info(receiver, socket));
    infos.map(|info| info.duplicate_bytes).sum()
}

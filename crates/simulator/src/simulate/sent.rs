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
    let (paths, first) = (&flow.flow.paths, flow.first_path);
    for socket in half(world, sender).sockets() {
        if let Some(info) = world.tcp_info(sender, socket) {
            let bytes = info.bytes_sent.saturating_sub(info.bytes_retrans);
            sent.first_sent_bytes[first] += bytes;
            sent.retransmitted_segs += info.segs_retrans;
            sent.repeated[first].spurious_segs += info.spurious_retrans;
        }
        if let Some(info) = world.mptcp_info(sender, socket) {
            for subflow in &info.subflows {
                let path = paths[subflow.interface.index()];
                sent.first_sent_bytes[path] += subflow.first_sent_bytes;
                sent.retransmitted_segs += subflow.tcp.segs_retrans;
                let repeated = &mut sent.repeated[path];
                repeated.spurious_segs += subflow.tcp.spurious_retrans;
                repeated.reinjected_segs += subflow.reinjected_segs;
                repeated.reinjected_bytes += subflow.reinjected_bytes;
            }
            for retired in &info.retired {
                let path = paths[retired.interface.index()];
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
    }
    sent
}

/// Bytes that reached the connections of the data receiver more than once.
pub(super) fn duplicate_bytes(world: &World<Half>, flow: &FlowHosts<'_>) -> u64 {
    let (_, receiver) = flow.ends();
    let sockets = half(world, receiver).sockets().into_iter();
    sockets.filter_map(|socket| world.mptcp_info(receiver, socket)).map(|i| i.duplicate_bytes).sum()
}

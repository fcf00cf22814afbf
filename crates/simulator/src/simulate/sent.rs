//! What the connections of a flow sent, path by path.

use super::hosts::{FlowHosts, half};
use crate::setup::RunSetup;
use crate::world::World;
use harness::{Repeated, SentRecord};
use traffic::Half;
use transport::ConnectionInfo;

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
        if let Some(info) = world.info(sender, socket) {
            sent.add(&info, |interface| flow.path_of(interface));
        }
    }
    sent
}

/// Bytes that reached the connections of the data receiver more than once.
pub(super) fn duplicate_bytes(world: &World<Half>, flow: &FlowHosts<'_>) -> u64 {
    receiving(world, flow).map(|info| info.duplicate_bytes).sum()
}

/// SACKs that the associations of the data receiver sent; `None` if it has none.
pub(super) fn sacks(world: &World<Half>, flow: &FlowHosts<'_>) -> Option<u64> {
    let sctp = receiving(world, flow).filter(|info| info.protocol.is_sctp());
    sctp.map(|info| info.sacks).reduce(|sum, sacks| sum + sacks)
}

/// The connections of the data receiver.
fn receiving(world: &World<Half>, flow: &FlowHosts<'_>) -> impl Iterator<Item = ConnectionInfo> {
    let (_, receiver) = flow.ends();
    let sockets = half(world, receiver).sockets().into_iter();
    sockets.filter_map(move |socket| world.info(receiver, socket))
}

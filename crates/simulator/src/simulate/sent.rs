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
        if let Some(info) = world.info(sender, socket) {
            sent.add(&info, |interface| flow.path_of(interface));
        }
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

//! `fullmesh`: n local and m remote addresses become n x m subflows (mptcp-protocol spec s4.2).
//!
//! Only the client opens subflows, as servers behind NATs cannot; both sides announce what they
//! have beside the address of the first subflow.

use super::{Address, Command, PathEvent};
use std::collections::BTreeSet;

/// The manager's memory.
#[derive(Clone, Debug)]
pub struct Fullmesh {
    client: bool,
    established: bool,
    /// Pairs tried, the first subflow's included.
    tried: BTreeSet<(u8, u8)>,
    /// Pairs that failed once and were tried again.
    retried: BTreeSet<(u8, u8)>,
}

impl Fullmesh {
    /// For the side that opened the connection, or the other one.
    pub fn new(client: bool) -> Self {
        Fullmesh {
            client,
            established: false,
            tried: BTreeSet::from([(0, 0)]),
            retried: BTreeSet::new(),
        }
    }

    /// What to do about an event.
    pub fn on_event(
        &mut self,
        event: PathEvent,
        local: &[Address],
        remote: &[Address],
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            PathEvent::Established => {
                self.established = true;
                let others = local.iter().filter(|address| address.id != 0);
                commands.extend(others.map(|address| Command::Announce { local_id: address.id }));
            }
            PathEvent::LocalUp(address) if self.established => {
                self.tried.retain(|(id, _)| *id != address.id);
                commands.push(Command::Announce { local_id: address.id });
            }
            PathEvent::LocalDown { id } => {
                self.tried.retain(|(local_id, _)| *local_id != id);
                commands.push(Command::Withdraw { local_id: id });
                return commands;
            }
            PathEvent::Withdrawn { id } => {
                self.tried.retain(|(_, remote_id)| *remote_id != id);
                return commands;
            }
            PathEvent::Failed { local_id, remote_id } => {
                if self.retried.insert((local_id, remote_id)) {
                    self.tried.remove(&(local_id, remote_id));
                }
            }
            PathEvent::Lost { local_id, remote_id } => {
                self.tried.remove(&(local_id, remote_id));
                self.retried.remove(&(local_id, remote_id));
            }
            PathEvent::Announced(address) => {
                self.tried.retain(|(_, remote_id)| *remote_id != address.id);
                self.retried.retain(|(_, remote_id)| *remote_id != address.id);
            }
            PathEvent::LocalUp(_) => {}
        }
        if self.client && self.established {
            self.mesh(local, remote, &mut commands);
        }
        commands
    }

    fn mesh(&mut self, local: &[Address], remote: &[Address], commands: &mut Vec<Command>) {
        for there in remote {
            for here in local.iter().filter(|here| here.ip.is_ipv4() == there.ip.is_ipv4()) {
                if self.tried.insert((here.id, there.id)) {
                    commands.push(Command::Join { local_id: here.id, remote_id: there.id });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ids: &[u8], net: u8) -> Vec<Address> {
        ids.iter().map(|id| Address { id: *id, ip: [10, net, 0, *id].into() }).collect()
    }

    fn joins(commands: &[Command]) -> Vec<(u8, u8)> {
        commands
            .iter()
            .filter_map(|command| match command {
                Command::Join { local_id, remote_id } => Some((*local_id, *remote_id)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn fm_1_two_by_two_addresses_are_four_subflows() {
        let mut mesh = Fullmesh::new(true);
        let local = addresses(&[0, 1], 1);
        let one = mesh.on_event(PathEvent::Established, &local, &addresses(&[0], 2));
        assert_eq!(joins(&one), [(1, 0)], "two by one: one beside the first");
        let remote = addresses(&[0, 1], 2);
        let more = mesh.on_event(PathEvent::Announced(remote[1]), &local, &remote);
        assert_eq!(joins(&more), [(0, 1), (1, 1)]);
        let again = mesh.on_event(PathEvent::LocalUp(local[1]), &local, &remote);
        assert_eq!(joins(&again), [(1, 0), (1, 1)], "only what the address has to do with");
    }

    #[test]
    fn server_announces_and_opens_nothing() {
        let mut mesh = Fullmesh::new(false);
        let commands =
            mesh.on_event(PathEvent::Established, &addresses(&[0, 1], 1), &addresses(&[0, 3], 2));
        assert_eq!(commands, [Command::Announce { local_id: 1 }]);
    }

    #[test]
    fn failed_pair_is_tried_once_more() {
        let mut mesh = Fullmesh::new(true);
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        mesh.on_event(PathEvent::Established, &local, &remote);
        let failed = PathEvent::Failed { local_id: 1, remote_id: 0 };
        assert_eq!(joins(&mesh.on_event(failed, &local, &remote)), [(1, 0)]);
        assert!(joins(&mesh.on_event(failed, &local, &remote)).is_empty());
    }
}

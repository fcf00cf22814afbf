//! `binder`: one more subflow between the first two addresses for each list of gateways, which
//! its packets visit by loose source routing (multipath-tcp kernel v0.95, `mptcp_binder.c`).
//!
//! The lists are part of the configuration; here they are numbers. A list is represented by the
//! interface in front of its first gateway: the packets of the subflow leave there, and those of
//! the peer, on the reversed route (RFC 1122 s4.2.3.8), where its SYN arrived. The IPv4 option
//! itself is not on the wire: almost no router of today's Internet obeys it, and in the simulator
//! the route is the same without it.

use super::table::{PathManagerKind, PathManagerRow, Side};
use super::{Command, JoinKind, Known, Manager, PathEvent};
use base::Instant;

/// The row of `binder`.
pub(super) const ROW: PathManagerRow = PathManagerRow {
    name: "binder",
    about: "The client joins the first two addresses again through the gateway of every other \
            path, with loose source routes.",
    source: "multipath-tcp kernel v0.95 `binder`",
    parameters: &[],
    number: None,
    kind: |_| PathManagerKind::Binder,
    values: |_| Vec::new(),
    extra_subflows: PathManagerRow::one_per_path,
};

/// The state of the manager.
#[derive(Clone, Debug)]
pub struct Binder {
    client: bool,
    /// Lists of gateways without a subflow.
    lists: u8,
}

impl Binder {
    /// Only the client opens subflows.
    pub(super) const fn new(side: &Side<'_>) -> Self {
        Binder { client: side.client, lists: side.gateway_lists }
    }
}

impl Manager for Binder {
    /// Each list is used by at most one subflow, which is not opened again after it ended.
    fn on_event(&mut self, _: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        let is_ipv4 = known.local.iter().any(|here| here.id == 0 && here.ip.is_ipv4());
        if event != PathEvent::Established || !self.client || !is_ipv4 {
            return Vec::new();
        }
        let join =
            |list| Command::Join { local_id: 0, remote_id: 0, kind: JoinKind::Gateways(list) };
        (0..std::mem::take(&mut self.lists)).map(join).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Address;
    use crate::path_manager::Endpoints;
    use crate::path_manager::tests::{addresses, known};

    fn binder(client: bool) -> Binder {
        Binder::new(&Side { client, endpoints: &Endpoints::default(), gateway_lists: 3 })
    }

    #[test]
    fn each_list_is_one_more_subflow() {
        let both = addresses(&[0], 1);
        let mut manager = binder(true);
        let established = PathEvent::Established;
        let commands = manager.on_event(Instant::ZERO, established, &known(&both, &both));
        let lists: Vec<JoinKind> = commands
            .iter()
            .filter_map(|command| match command {
                Command::Join { kind, .. } => Some(*kind),
                _ => None,
            })
            .collect();
        assert_eq!(lists, [JoinKind::Gateways(0), JoinKind::Gateways(1), JoinKind::Gateways(2)]);
        assert!(manager.on_event(Instant::ZERO, established, &known(&both, &both)).is_empty());
    }

    #[test]
    fn ipv6_has_no_source_routes_and_servers_open_nothing() {
        let v6 = [Address { id: 0, ip: [0xFD00, 0, 0, 0, 0, 0, 0, 1].into() }];
        let mut manager = binder(true);
        let commands = manager.on_event(Instant::ZERO, PathEvent::Established, &known(&v6, &v6));
        assert!(commands.is_empty());
        let both = addresses(&[0], 1);
        let mut server = binder(false);
        let commands = server.on_event(Instant::ZERO, PathEvent::Established, &known(&both, &both));
        assert!(commands.is_empty());
    }
}

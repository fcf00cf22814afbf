//! `binder`: one more subflow between the first two addresses for each list of gateways, which
//! its packets name by loose source routing (mptcp-protocol spec s4.4).
//!
//! The lists themselves are the configuration's; here they are numbers. A list stands for the
//! interface that its first gateway is behind: the packets of the subflow leave there, and the
//! peer's answers, its route reversed (RFC 1122 s4.2.3.8), where its SYN came in. The IPv4 option
//! itself is not on the wire: almost no router of today's Internet heeds it, and in a simulated
//! world the way is the same without it.

use super::{Command, Known, Manager, Over, PathEvent};
use base::Instant;

/// The manager's memory.
#[derive(Clone, Debug)]
pub struct Binder {
    client: bool,
    /// Lists of gateways.
    lists: u8,
}

impl Binder {
    /// Only the client opens subflows.
    pub const fn new(client: bool, lists: u8) -> Self {
        Binder { client, lists }
    }
}

impl Manager for Binder {
    /// A list is used by one subflow at most; one that ended is not opened again.
    fn on_event(&mut self, _: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        let is_ipv4 = known.local.iter().any(|here| here.id == 0 && here.ip.is_ipv4());
        if event != PathEvent::Established || !self.client || !is_ipv4 {
            return Vec::new();
        }
        let join = |list| Command::Join { local_id: 0, remote_id: 0, over: Over::Gateways(list) };
        (0..std::mem::take(&mut self.lists)).map(join).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Address;
    use crate::path_manager::tests::{addresses, known};

    #[test]
    fn each_list_is_one_more_subflow() {
        let both = addresses(&[0], 1);
        let mut manager = Binder::new(true, 3);
        let established = PathEvent::Established;
        let commands = manager.on_event(Instant::ZERO, established, &known(&both, &both));
        let lists: Vec<Over> = commands
            .iter()
            .filter_map(|command| match command {
                Command::Join { over, .. } => Some(*over),
                _ => None,
            })
            .collect();
        assert_eq!(lists, [Over::Gateways(0), Over::Gateways(1), Over::Gateways(2)]);
        assert!(manager.on_event(Instant::ZERO, established, &known(&both, &both)).is_empty());
    }

    #[test]
    fn ipv6_has_no_source_routes_and_servers_open_nothing() {
        let v6 = [Address { id: 0, ip: [0xFD00, 0, 0, 0, 0, 0, 0, 1].into() }];
        let mut manager = Binder::new(true, 3);
        let commands = manager.on_event(Instant::ZERO, PathEvent::Established, &known(&v6, &v6));
        assert!(commands.is_empty());
        let both = addresses(&[0], 1);
        let mut server = Binder::new(false, 3);
        let commands = server.on_event(Instant::ZERO, PathEvent::Established, &known(&both, &both));
        assert!(commands.is_empty());
    }
}

//! `default`: announces nothing and opens nothing by itself (mptcp-protocol spec s4.1).
//!
//! The papers' kernels do no more than number addresses. 000 s2.3.1 says that it uses the
//! addresses that the peer announces, which is `accept_add_addr`.

use super::{Command, Known, Manager, Over, PathEvent};
use base::Instant;

/// The manager's memory.
#[derive(Clone, Debug)]
pub struct Passive {
    /// Join what is announced.
    accepts: bool,
}

impl Passive {
    /// Only a client joins: servers behind NATs could not be reached the other way round.
    pub const fn new(client: bool, accept_add_addr: bool) -> Self {
        Passive { accepts: client && accept_add_addr }
    }
}

impl Manager for Passive {
    fn on_event(&mut self, _: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        match event {
            PathEvent::Announced(there) if self.accepts => {
                let here = known.source_of(there.ip);
                let join =
                    |local_id| Command::Join { local_id, remote_id: there.id, over: Over::Pair };
                here.map(join).into_iter().collect()
            }
            // Joins may have begun there.
            PathEvent::LocalDown { id, removed: true } if self.accepts => {
                vec![Command::Withdraw { local_id: id }]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::tests::{addresses, known};

    #[test]
    fn announced_address_is_joined_only_if_asked_for() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1], 1));
        let known = known(&local, &remote);
        let announced = PathEvent::Announced(remote[1]);
        for (client, accept, joins) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
            let mut manager = Passive::new(client, accept);
            assert!(manager.on_event(Instant::ZERO, PathEvent::Established, &known).is_empty());
            let commands = manager.on_event(Instant::ZERO, announced, &known);
            assert_eq!(commands.len(), joins, "{client} {accept}");
        }
    }

    #[test]
    fn address_of_this_host_that_is_gone_is_withdrawn_if_joins_may_begin_there() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1], 1));
        let known = known(&local, &remote);
        let withdraw = vec![Command::Withdraw { local_id: 1 }];
        let none = Vec::new();
        for (accept, removed, commands) in
            [(true, true, &withdraw), (true, false, &none), (false, true, &none)]
        {
            let gone = PathEvent::LocalDown { id: 1, removed };
            let told = Passive::new(true, accept).on_event(Instant::ZERO, gone, &known);
            assert_eq!(told, *commands, "{accept} {removed}");
        }
    }
}

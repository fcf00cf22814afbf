//! `default`: announces nothing and opens nothing by itself (multipath-tcp kernel v0.95,
//! `mptcp_pm.c`, which only numbers addresses).
//!
//! According to 000 s2.3.1 it uses the addresses that the peer announces: `accept_add_addr`.

use super::table::{PathManagerKind, PathManagerRow, Side};
use super::{Command, JoinKind, Known, Manager, PathEvent};
use crate::parameters::{Kind, Parameter};
use base::Instant;

/// The row of `default`.
pub(super) const ROW: PathManagerRow = PathManagerRow {
    name: "default",
    about: "Announces nothing and opens nothing, but accepts joins.",
    source: "multipath-tcp kernel v0.95 `default`",
    parameters: &[Parameter {
        key: "accept_add_addr",
        about: "the client joins addresses that the server announces",
        least: 0.0,
        most: 1.0,
        default: 0.0,
        kind: Kind::Switch,
        source: "multipath-tcp kernel v0.95; 000 s2.3.1 says on",
    }],
    number: None,
    kind: |settings| PathManagerKind::Default {
        accept_add_addr: settings.is_on("accept_add_addr"),
    },
    values: |kind| {
        let on = matches!(kind, PathManagerKind::Default { accept_add_addr: true });
        vec![f64::from(u8::from(on))]
    },
    extra_subflows: PathManagerRow::one_per_path,
};

/// The state of the manager.
#[derive(Clone, Debug)]
pub struct Passive {
    /// Announced addresses are joined.
    accepts: bool,
}

impl Passive {
    /// Only a client joins: clients behind NATs cannot be reached.
    pub(super) const fn new(side: &Side<'_>, accept_add_addr: bool) -> Self {
        Passive { accepts: side.client && accept_add_addr }
    }
}

impl Manager for Passive {
    fn on_event(&mut self, _: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        match event {
            PathEvent::Announced(there) if self.accepts => {
                let here = known.source_of(there.ip);
                let join = |local_id| Command::Join {
                    local_id,
                    remote_id: there.id,
                    kind: JoinKind::Pair,
                };
                here.map(join).into_iter().collect()
            }
            // Its subflows may have begun there.
            PathEvent::LocalDown { id, removed: true } if self.accepts => {
                vec![Command::Remove { local_id: id }]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Endpoints;
    use crate::path_manager::tests::{addresses, known};

    fn passive((client, accept): (bool, bool)) -> Passive {
        let endpoints = &Endpoints::default();
        Passive::new(&Side { client, endpoints, gateway_lists: 0 }, accept)
    }

    #[test]
    fn announced_address_is_joined_only_if_asked_for() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1], 1));
        let known = known(&local, &remote);
        let announced = PathEvent::Announced(remote[1]);
        for (client, accept, joins) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
            let mut manager = passive((client, accept));
            assert!(manager.on_event(Instant::ZERO, PathEvent::Established, &known).is_empty());
            let commands = manager.on_event(Instant::ZERO, announced, &known);
            assert_eq!(commands.len(), joins, "{client} {accept}");
        }
    }

    #[test]
    fn address_of_this_host_that_is_gone_is_removed_if_joins_may_begin_there() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1], 1));
        let known = known(&local, &remote);
        let remove = vec![Command::Remove { local_id: 1 }];
        let none = Vec::new();
        for (accept, removed, commands) in
            [(true, true, &remove), (true, false, &none), (false, true, &none)]
        {
            let gone = PathEvent::LocalDown { id: 1, removed };
            let commanded = passive((true, accept)).on_event(Instant::ZERO, gone, &known);
            assert_eq!(commanded, *commands, "{accept} {removed}");
        }
    }
}

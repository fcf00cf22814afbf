//! Properties of every manager, and helpers for the tests of each.

use super::{
    Address, Command, Ending, Endpoint, EndpointFlags, Endpoints, Known, Limits, Manager,
    PathEvent, PathManager, PathManagerKind,
};
use base::{Duration, Instant};
use proptest::prelude::*;

/// Addresses of one network with these numbers.
pub(super) fn addresses(ids: &[u8], net: u8) -> Vec<Address> {
    ids.iter().map(|id| Address { id: *id, ip: [10, net, *id, net].into() }).collect()
}

/// A connection with these addresses and one subflow.
pub(super) const fn known<'a>(local: &'a [Address], remote: &'a [Address]) -> Known<'a> {
    Known { local, remote, extra_subflows: 0 }
}

/// The pairs to be joined.
pub(super) fn joins(commands: &[Command]) -> Vec<(u8, u8)> {
    let pair = |command: &Command| match command {
        Command::Join { local_id, remote_id, .. } => Some((*local_id, *remote_id)),
        _ => None,
    };
    commands.iter().filter_map(pair).collect()
}

#[test]
fn route_is_taken_from_the_address_that_is_nearest() {
    let local = addresses(&[0, 1, 2], 1);
    let facts = known(&local, &[]);
    assert_eq!(facts.source_of([10, 1, 2, 9].into()), Some(2));
    assert_eq!(facts.source_of([192, 0, 2, 1].into()), Some(0), "none is near");
    assert_eq!(facts.source_of("2001:db8::1".parse().unwrap()), None);
}

/// Events, with numbers that need not be known.
fn events() -> impl Strategy<Value = PathEvent> {
    let id = 0u8..5;
    let how = prop_oneof![
        Just(Ending::Unreachable),
        Just(Ending::NotNow),
        Just(Ending::Refused),
        Just(Ending::TimedOut),
        Just(Ending::Reset),
    ];
    prop_oneof![
        Just(PathEvent::Established),
        id.clone().prop_map(|id| PathEvent::Announced(addresses(&[id], 2)[0])),
        id.clone().prop_map(|id| PathEvent::Removed { id }),
        id.clone().prop_map(|id| PathEvent::LocalUp(addresses(&[id], 1)[0])),
        (id.clone(), any::<bool>()).prop_map(|(id, removed)| PathEvent::LocalDown { id, removed }),
        (id.clone(), id.clone())
            .prop_map(|(local_id, remote_id)| PathEvent::Joined { local_id, remote_id }),
        (id.clone(), id.clone(), how).prop_map(|(local_id, remote_id, how)| PathEvent::Ended {
            local_id,
            remote_id,
            how
        }),
        id.prop_map(|local_id| PathEvent::Echoed { local_id }),
        Just(PathEvent::Timer),
    ]
}

/// The addresses of a connection as events change them.
#[derive(Default)]
struct Tables {
    local: Vec<Address>,
    remote: Vec<Address>,
}

impl Tables {
    fn on(&mut self, event: PathEvent) {
        match event {
            PathEvent::LocalUp(at) if !self.local.contains(&at) => self.local.push(at),
            PathEvent::LocalDown { id, .. } => self.local.retain(|at| at.id != id),
            PathEvent::Announced(at) if !self.remote.contains(&at) => self.remote.push(at),
            PathEvent::Removed { id } => self.remote.retain(|at| at.id != id || id == 0),
            _ => {}
        }
    }

    fn has_local(&self, id: u8) -> bool {
        self.local.iter().any(|at| at.id == id)
    }

    fn has_remote(&self, id: u8) -> bool {
        self.remote.iter().any(|at| at.id == id)
    }
}

const LIMITS: Limits = Limits { subflows: 3, add_addr_accepted: 2 };

fn endpoints() -> Endpoints {
    let flags = |id: u8| EndpointFlags {
        signal: id.is_multiple_of(2),
        subflow: true,
        backup: false,
        fullmesh: id % 2 == 1,
    };
    let all = addresses(&[0, 1, 2, 3, 4], 1);
    let endpoint = |at: &Address| Endpoint { ip: at.ip, flags: flags(at.id) };
    Endpoints { endpoints: all.iter().map(endpoint).collect(), limits: LIMITS }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn commands_name_what_is_known_and_keep_to_the_limits(
        manager in 0usize..5,
        client in any::<bool>(),
        steps in prop::collection::vec((events(), 0u64..700), 0..60),
    ) {
        let mut tables = Tables { local: addresses(&[0, 1], 1), remote: addresses(&[0], 2) };
        let kind = [
            PathManagerKind::Default { accept_add_addr: true },
            PathManagerKind::FULLMESH,
            PathManagerKind::Ndiffports { subflows: 4 },
            PathManagerKind::Binder,
            PathManagerKind::Kernel,
        ][manager];
        let mut manager = PathManager::new(kind, client, &endpoints(), 3);
        let mut now = Instant::ZERO;
        let mut extra = 0usize;
        for (event, ms) in steps {
            now += Duration::from_millis(ms);
            tables.on(event);
            if matches!(event, PathEvent::Ended { .. }) {
                extra = extra.saturating_sub(1);
            }
            let (local, remote) = (&tables.local, &tables.remote);
            let known = Known { local, remote, extra_subflows: extra };
            let commands = manager.on_event(now, event, &known);
            for command in &commands {
                match *command {
                    // Number 0 is the connection's own address, even after it was removed.
                    Command::Join { local_id, remote_id, kind: super::JoinKind::Pair } => {
                        prop_assert!(tables.has_local(local_id) && tables.has_remote(remote_id));
                    }
                    Command::Join { local_id, remote_id, .. } => {
                        prop_assert_eq!((local_id, remote_id), (0, 0));
                    }
                    Command::Announce { local_id } => prop_assert!(tables.has_local(local_id)),
                    // It was there before.
                    Command::Remove { local_id } => prop_assert!(!tables.has_local(local_id)),
                }
            }
            let joins = joins(&commands).len();
            // An announced address is used before the limit is checked.
            let beyond = matches!(event, PathEvent::Established | PathEvent::Announced(_));
            let most = usize::from(LIMITS.subflows).max(extra + usize::from(beyond));
            extra += joins;
            let kernel = kind == PathManagerKind::Kernel && joins > 0;
            prop_assert!(!kernel || extra <= most, "{extra}");
            prop_assert!(manager.deadline() > now, "it would be asked for ever");
        }
    }
}

//! `kernel`: the path manager in mainline Linux, with endpoints and limits as set by `ip mptcp`
//! (`net/mptcp/pm_kernel.c`; measured on Linux 6.18).
//!
//! An endpoint is an address of this host with its use. Removing an address from an interface
//! removes its endpoint, as network managers do; a link that is down changes nothing, because the
//! kernel does not look at links.
//!
//! A connection uses an endpoint once, and once more each time it comes back (Linux
//! `id_avail_bitmap`, `__mark_subflow_endp_available`), that of the first subflow included. A
//! subflow that was reset, refused or timed out is therefore not opened again; an endpoint that is
//! not used yet may take its place. The first subflow does not count against a limit, but opening
//! it again needs room: there is none if `subflows` is not larger than the number of the others.
//! There is no new subflow either if a REMOVE_ADDR is lost, because the peer still counts the old
//! one, or if it arrives after the new one, which it then ends.
//!
//! A host accepts joins where it listens only. A client does not, so that a server that joins an
//! address which a client announced is refused.

use super::table::{PathManagerKind, PathManagerRow, Side};
use super::{Address, Command, JoinKind, Known, Manager, PathEvent};
use base::Instant;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Largest number of endpoints, extra subflows and accepted addresses (measured on Linux 6.18).
pub const LIMIT: u8 = 8;

/// An address that connections may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The address.
    pub ip: IpAddr,
    /// Its use.
    pub flags: EndpointFlags,
}

/// The use of an endpoint, in the words of `ip mptcp endpoint`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EndpointFlags {
    /// Announce it to the peer.
    pub signal: bool,
    /// Open a subflow from it to the peer's first address.
    pub subflow: bool,
    /// Its subflows are backup subflows.
    pub backup: bool,
    /// Open a subflow from it to every address of the peer.
    pub fullmesh: bool,
}

/// Limits of a connection, in the words of `ip mptcp limits`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Subflows in addition to the first one.
    pub subflows: u8,
    /// Announced addresses of the peer that are used.
    pub add_addr_accepted: u8,
}

impl Default for Limits {
    /// The kernel's defaults.
    fn default() -> Self {
        Limits { subflows: 2, add_addr_accepted: 0 }
    }
}

/// The endpoints and limits of one host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Endpoints {
    /// The endpoints in the order in which they were added, at most [`LIMIT`].
    pub endpoints: Vec<Endpoint>,
    /// The limits of each connection.
    pub limits: Limits,
}

/// The reason for refusing an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndpointError {
    /// The host has [`LIMIT`] endpoints.
    #[error("there are {LIMIT} endpoints already")]
    TooMany,
    /// Another endpoint has the address.
    #[error("the address is an endpoint already")]
    Twice,
    /// The flags `signal` and `fullmesh` are both set.
    #[error("`signal` and `fullmesh` exclude each other")]
    Exclusive,
}

impl Endpoints {
    /// Adds an endpoint, as `ip mptcp endpoint add`.
    ///
    /// # Errors
    /// Those of Linux 6.18.
    pub fn add(&mut self, endpoint: Endpoint) -> Result<(), EndpointError> {
        if endpoint.flags.signal && endpoint.flags.fullmesh {
            return Err(EndpointError::Exclusive);
        }
        if self.endpoints.iter().any(|known| known.ip == endpoint.ip) {
            return Err(EndpointError::Twice);
        }
        if self.endpoints.len() >= usize::from(LIMIT) {
            return Err(EndpointError::TooMany);
        }
        self.endpoints.push(endpoint);
        Ok(())
    }
}

/// The row of `kernel`.
pub(super) const ROW: PathManagerRow = PathManagerRow {
    name: "kernel",
    about: "Endpoints and limits as `ip mptcp` sets them, see `endpoints` and `limits`.",
    source: "Linux 6.18 in-kernel path manager",
    parameters: &[],
    number: None,
    kind: |_| PathManagerKind::Kernel,
    values: |_| Vec::new(),
    extra_subflows: PathManagerRow::one_per_path,
};

/// The state of the manager.
#[derive(Clone, Debug)]
pub struct Kernel {
    config: Endpoints,
    established: bool,
    /// Numbers of addresses of this host that were announced.
    signalled: BTreeSet<u8>,
    /// Numbers of addresses of this host that subflows were opened from.
    used: BTreeSet<u8>,
    /// The announcement that is not echoed yet.
    pending_echo: Option<u8>,
    /// Numbers of announced addresses of the peer that are used.
    accepted: BTreeSet<u8>,
    /// A limit was reached when an announced address was used: no further one is, whatever ends
    /// meanwhile, until the peer removes one (Linux `accept_addr`).
    declines: bool,
    /// The pairs of addresses that subflows were opened between, in this order, as numbers of this
    /// host's and of the peer's address; those that ended are not among them.
    pairs: Vec<(u8, u8)>,
}

impl Kernel {
    /// A manager with the endpoints and limits of its host.
    pub(super) fn new(side: &Side<'_>) -> Self {
        Kernel {
            config: side.endpoints.clone(),
            established: false,
            signalled: BTreeSet::new(),
            used: BTreeSet::new(),
            pending_echo: None,
            accepted: BTreeSet::new(),
            declines: false,
            pairs: Vec::new(),
        }
    }

    /// Addresses of this host that are endpoints, in the endpoints' order.
    fn local<'k>(
        &'k self,
        known: &'k Known<'_>,
        wanted: impl Fn(&EndpointFlags) -> bool + 'k,
    ) -> impl Iterator<Item = (Address, EndpointFlags)> + 'k {
        let of = |endpoint: &Endpoint| {
            let here = known.local.iter().find(|here| here.ip == endpoint.ip)?;
            Some((*here, endpoint.flags))
        };
        let wanted = move |endpoint: &&Endpoint| wanted(&endpoint.flags);
        self.config.endpoints.iter().filter(wanted).filter_map(of)
    }

    /// Whether `extra` subflows in addition to the first one reach the limit.
    fn is_full(&self, extra: usize) -> bool {
        extra >= usize::from(self.config.limits.subflows)
    }

    /// A subflow of this pair, which counts from now on.
    fn open(&mut self, local_id: u8, remote_id: u8) -> Command {
        self.on_open(local_id, remote_id);
        join(local_id, remote_id)
    }

    fn on_open(&mut self, local_id: u8, remote_id: u8) {
        if !self.pairs.contains(&(local_id, remote_id)) {
            self.pairs.push((local_id, remote_id));
        }
    }

    /// The addresses that an endpoint's subflows go to: the peer's first one or, with `fullmesh`,
    /// every one that has a subflow already, but none from the endpoint.
    fn targets(&self, here: Address, flags: EndpointFlags, known: &Known<'_>) -> Vec<u8> {
        let family = |id: &u8| {
            let there = known.remote.iter().find(|there| there.id == *id);
            there.is_some_and(|there| there.ip.is_ipv4() == here.ip.is_ipv4())
        };
        let mut targets = vec![0];
        if flags.fullmesh {
            for (_, remote) in &self.pairs {
                if !targets.contains(remote) {
                    targets.push(*remote);
                }
            }
            targets.retain(|remote| !self.pairs.contains(&(here.id, *remote)));
        }
        targets.retain(family);
        targets
    }

    /// One announcement at a time, then subflows within the limit.
    fn proceed(&mut self, known: &Known<'_>) -> Vec<Command> {
        let mut commands = Vec::new();
        if !self.established {
            return commands;
        }
        if self.pending_echo.is_none() {
            let mut signals = self.local(known, |flags| flags.signal);
            // The first subflow's address needs no announcement.
            let next = signals.find(|(at, _)| at.id != 0 && !self.signalled.contains(&at.id));
            drop(signals);
            if let Some((at, _)) = next {
                self.signalled.insert(at.id);
                self.pending_echo = Some(at.id);
                commands.push(Command::Announce { local_id: at.id });
            }
        }
        let sources: Vec<_> = self.local(known, |flags| flags.subflow).collect();
        let mut extra = known.extra_subflows;
        for (here, flags) in sources {
            if self.is_full(extra) || !self.used.insert(here.id) {
                continue;
            }
            for remote in self.targets(here, flags, known) {
                if self.is_full(extra) {
                    break;
                }
                commands.push(self.open(here.id, remote));
                extra += 1;
            }
        }
        commands
    }

    /// The peer announced an address: subflows to it from every `fullmesh` endpoint, or, without
    /// any, from the address that routing selects. The limit of subflows is checked afterwards, so
    /// that they may exceed it if the host's own endpoints have reached it.
    fn accept(&mut self, there: Address, known: &Known<'_>) -> Vec<Command> {
        let Limits { subflows, add_addr_accepted } = self.config.limits;
        let is_off = subflows == 0 || add_addr_accepted == 0;
        if is_off || self.declines || self.pairs.iter().any(|(_, remote)| *remote == there.id) {
            return Vec::new();
        }
        let mut meshed: Vec<u8> = self
            .local(known, |flags| flags.fullmesh)
            .map(|(here, _)| here)
            .filter(|here| here.ip.is_ipv4() == there.ip.is_ipv4())
            .map(|here| here.id)
            .collect();
        if meshed.is_empty() {
            meshed.extend(known.source_of(there.ip));
        }
        let mut commands = Vec::new();
        for here in meshed {
            commands.push(self.open(here, there.id));
            if self.is_full(known.extra_subflows + commands.len()) {
                break;
            }
        }
        if !commands.is_empty() {
            self.accepted.insert(there.id);
            self.declines = self.accepted.len() >= usize::from(add_addr_accepted)
                || self.is_full(known.extra_subflows + commands.len());
        }
        commands
    }

    /// The connection is fully established. If the packet that says so is an announcement, its
    /// address is used before the host's own endpoints (Linux `__mptcp_pm_kernel_worker`).
    fn establish(&mut self, known: &Known<'_>) -> Vec<Command> {
        self.established = true;
        // The connection began there.
        self.used.insert(0);
        let announced: Vec<_> = known.remote.iter().filter(|there| there.id != 0).collect();
        let mut commands = Vec::new();
        let with = |joins: usize| Known { extra_subflows: known.extra_subflows + joins, ..*known };
        for there in announced {
            let joins = self.accept(*there, &with(commands.len()));
            commands.extend(joins);
        }
        commands.extend(self.proceed(&with(commands.len())));
        commands
    }
}

const fn join(local_id: u8, remote_id: u8) -> Command {
    Command::Join { local_id, remote_id, kind: JoinKind::Pair }
}

impl Manager for Kernel {
    fn on_event(&mut self, _: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        match event {
            PathEvent::Established => return self.establish(known),
            PathEvent::Announced(there) if self.established => return self.accept(there, known),
            PathEvent::Removed { id } => {
                self.pairs.retain(|(_, remote)| *remote != id);
                let limit = usize::from(self.config.limits.add_addr_accepted);
                if self.accepted.remove(&id) && self.accepted.len() < limit {
                    self.declines = false;
                }
            }
            PathEvent::Echoed { local_id } if self.pending_echo == Some(local_id) => {
                self.pending_echo = None
            }
            PathEvent::LocalDown { id, removed: true } => {
                let signalled = self.signalled.remove(&id);
                let used = self.used.remove(&id);
                self.pending_echo = self.pending_echo.filter(|pending| *pending != id);
                let mut commands = Vec::new();
                if signalled || used || id == 0 {
                    commands.push(Command::Remove { local_id: id });
                }
                commands.extend(self.proceed(known));
                return commands;
            }
            PathEvent::Joined { local_id, remote_id } => self.on_open(local_id, remote_id),
            // A pair that failed is not tried again, but leaves room for the next endpoint.
            PathEvent::Ended { local_id, remote_id, .. } => {
                self.pairs.retain(|pair| *pair != (local_id, remote_id));
            }
            PathEvent::LocalUp(_) => {}
            // A link that is down has no effect.
            _ => return Vec::new(),
        }
        self.proceed(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_manager::Ending;
    use crate::path_manager::tests::{addresses, joins, known};

    const SUBFLOW: EndpointFlags =
        EndpointFlags { subflow: true, signal: false, backup: false, fullmesh: false };
    const SIGNAL: EndpointFlags = EndpointFlags { signal: true, subflow: false, ..SUBFLOW };
    const FULLMESH: EndpointFlags = EndpointFlags { fullmesh: true, ..SUBFLOW };

    fn manager(local: &[Address], flags: &[EndpointFlags], limits: (u8, u8)) -> Kernel {
        let endpoint =
            |(at, flags): (&Address, &EndpointFlags)| Endpoint { ip: at.ip, flags: *flags };
        let limits = Limits { subflows: limits.0, add_addr_accepted: limits.1 };
        let endpoints = local.iter().zip(flags).map(endpoint).collect();
        let endpoints = &Endpoints { endpoints, limits };
        Kernel::new(&Side { client: true, endpoints, gateway_lists: 0 })
    }

    fn on(kernel: &mut Kernel, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        kernel.on_event(Instant::ZERO, event, known)
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        let mut endpoints = Endpoints::default();
        let at = |id: u8, flags| Endpoint { ip: [10, 1, id, 1].into(), flags };
        let both = EndpointFlags { signal: true, ..FULLMESH };
        assert_eq!(endpoints.add(at(0, both)), Err(EndpointError::Exclusive));
        for id in 0..8 {
            assert_eq!(endpoints.add(at(id, SUBFLOW)), Ok(()));
        }
        assert_eq!(endpoints.add(at(3, SUBFLOW)), Err(EndpointError::Twice));
        assert_eq!(endpoints.add(at(8, SUBFLOW)), Err(EndpointError::TooMany));
    }

    #[test]
    fn subflow_endpoints_join_the_first_address_as_far_as_the_limit_allows() {
        let (local, remote) = (addresses(&[0, 1, 2, 3], 1), addresses(&[0], 2));
        let known = known(&local, &remote);
        let mut kernel = manager(&local, &[SUBFLOW; 4], (2, 0));
        assert_eq!(joins(&on(&mut kernel, PathEvent::Established, &known)), [(1, 0), (2, 0)]);
        let full = Known { extra_subflows: 2, ..known };
        let joined = PathEvent::Joined { local_id: 1, remote_id: 0 };
        assert!(on(&mut kernel, joined, &full).is_empty());
        let one = Known { extra_subflows: 1, ..known };
        assert_eq!(joins(&on(&mut kernel, joined, &one)), [(3, 0)], "room came");
        assert!(on(&mut kernel, joined, &one).is_empty(), "each endpoint once");
    }

    #[test]
    fn next_announcement_waits_for_the_echo() {
        let (local, remote) = (addresses(&[0, 1, 2], 1), addresses(&[0], 2));
        let known = known(&local, &remote);
        let mut kernel = manager(&local, &[SIGNAL; 3], (2, 0));
        let announced = |id| vec![Command::Announce { local_id: id }];
        assert_eq!(on(&mut kernel, PathEvent::Established, &known), announced(1));
        let joined = PathEvent::Joined { local_id: 0, remote_id: 1 };
        assert!(on(&mut kernel, joined, &known).is_empty());
        assert_eq!(on(&mut kernel, PathEvent::Echoed { local_id: 1 }, &known), announced(2));
        assert!(on(&mut kernel, PathEvent::Echoed { local_id: 2 }, &known).is_empty());
    }

    #[test]
    fn endpoint_to_signal_and_for_subflows_is_announced_and_used() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        let both = EndpointFlags { signal: true, ..SUBFLOW };
        let mut kernel = manager(&local, &[both; 2], (2, 0));
        let commands = on(&mut kernel, PathEvent::Established, &known(&local, &remote));
        assert_eq!(commands, [Command::Announce { local_id: 1 }, join(1, 0)]);
    }

    #[test]
    fn announced_address_is_used_within_both_limits() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1, 2], 1));
        let (first, facts) = (known(&local, &remote[..1]), known(&local, &remote));
        for (limits, joined) in [
            ((2, 0), vec![]),
            ((2, 1), vec![(1, 1)]),
            ((2, 2), vec![(1, 1), (0, 2)]),
            ((0, 2), vec![]),
        ] {
            let mut kernel = manager(&local, &[], limits);
            on(&mut kernel, PathEvent::Established, &first);
            let mut all = joins(&on(&mut kernel, PathEvent::Announced(remote[1]), &facts));
            all.extend(joins(&on(&mut kernel, PathEvent::Announced(remote[2]), &facts)));
            assert_eq!(all, joined, "{limits:?}");
        }
        // An address withdrawn makes room for another one.
        let mut kernel = manager(&local, &[], (2, 1));
        on(&mut kernel, PathEvent::Established, &first);
        on(&mut kernel, PathEvent::Announced(remote[1]), &facts);
        on(&mut kernel, PathEvent::Removed { id: 1 }, &facts);
        let commands = on(&mut kernel, PathEvent::Announced(remote[2]), &facts);
        assert_eq!(joins(&commands), [(0, 2)]);
    }

    #[test]
    fn fullmesh_endpoints_join_every_address() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0, 1], 2));
        let mut kernel = manager(&local, &[FULLMESH; 2], (8, 8));
        let first = on(&mut kernel, PathEvent::Established, &known(&local, &remote[..1]));
        assert_eq!(joins(&first), [(1, 0)]);
        let facts = known(&local, &remote);
        let more = on(&mut kernel, PathEvent::Announced(remote[1]), &facts);
        assert_eq!(joins(&more), [(0, 1), (1, 1)]);
    }

    #[test]
    fn link_that_is_down_means_nothing_and_an_address_removed_much() {
        let (local, remote) = (addresses(&[0, 1, 2], 1), addresses(&[0], 2));
        let facts = known(&local, &remote);
        let mut kernel = manager(&local, &[SUBFLOW; 3], (1, 0));
        assert_eq!(joins(&on(&mut kernel, PathEvent::Established, &facts)), [(1, 0)]);
        let down = |removed| PathEvent::LocalDown { id: 1, removed };
        let full = Known { extra_subflows: 1, ..facts };
        assert!(on(&mut kernel, down(false), &full).is_empty());
        let left = [local[0], local[2]];
        let commands = on(&mut kernel, down(true), &Known { local: &left, ..facts });
        assert_eq!(commands, [Command::Remove { local_id: 1 }, join(2, 0)]);
        let again = on(&mut kernel, PathEvent::LocalUp(local[1]), &facts);
        assert_eq!(joins(&again), [(1, 0)], "its endpoint is there again");
    }

    #[test]
    fn address_of_the_first_subflow_that_comes_back_is_used_if_there_is_room() {
        let (local, remote) = (addresses(&[0, 1], 1), addresses(&[0], 2));
        let facts = Known { extra_subflows: 1, ..known(&local, &remote) };
        for (limit, again) in [(1, vec![]), (2, vec![(0, 0)])] {
            let mut kernel = manager(&local, &[SUBFLOW; 2], (limit, 0));
            on(&mut kernel, PathEvent::Established, &known(&local, &remote));
            let down = PathEvent::LocalDown { id: 0, removed: true };
            let commands = on(&mut kernel, down, &Known { local: &local[1..], ..facts });
            assert_eq!(commands, [Command::Remove { local_id: 0 }]);
            let commands = on(&mut kernel, PathEvent::LocalUp(local[0]), &facts);
            assert_eq!(joins(&commands), again, "limit {limit}: the other one counts");
        }
    }

    #[test]
    fn subflow_that_ended_is_not_opened_again_but_makes_room_for_the_next_endpoint() {
        let (local, remote) = (addresses(&[0, 1, 2], 1), addresses(&[0], 2));
        let facts = known(&local, &remote);
        for how in [Ending::Reset, Ending::TimedOut, Ending::Refused, Ending::Unreachable] {
            let mut kernel = manager(&local, &[SUBFLOW; 3], (1, 0));
            assert_eq!(joins(&on(&mut kernel, PathEvent::Established, &facts)), [(1, 0)]);
            let ended = |local_id| PathEvent::Ended { local_id, remote_id: 0, how };
            assert_eq!(joins(&on(&mut kernel, ended(1), &facts)), [(2, 0)]);
            assert!(on(&mut kernel, ended(2), &facts).is_empty());
        }
    }
}

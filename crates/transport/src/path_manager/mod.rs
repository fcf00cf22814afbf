//! Path managers: which addresses are announced and which pairs of them become subflows
//! (mptcp-protocol spec s4).
//!
//! A manager hears events and answers commands; it sees numbers of addresses, not sockets.
//! Carrying commands out is the connection's work.

mod binder;
mod fullmesh;
mod kernel;
mod kind;
mod ndiffports;
mod passive;
#[cfg(test)]
mod tests;

pub use binder::Binder;
pub use fullmesh::{Again, Fullmesh};
pub use kernel::{Endpoint, EndpointError, EndpointFlags, Endpoints, Kernel, LIMIT, Limits};
pub use kind::{NAMES, PathManagerKind, parameters};
pub use ndiffports::Ndiffports;
pub use passive::Passive;

use base::Instant;
use std::net::IpAddr;

/// An address by its number in the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub id: u8,
    pub ip: IpAddr,
}

/// What a manager knows: the addresses that can be used now, and how many subflows count against
/// its limit.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub local: &'a [Address],
    pub remote: &'a [Address],
    pub extra_subflows: usize,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEvent {
    /// The connection is fully established over the addresses with number 0.
    Established,
    /// The peer has another address, or announces one again: what failed may be tried once more.
    Announced(Address),
    /// The peer lost an address.
    Withdrawn { id: u8 },
    /// This host got another address, or got it back.
    LocalUp(Address),
    /// This host lost an address, or its link (`removed` is false).
    LocalDown { id: u8, removed: bool },
    /// A subflow is open.
    Joined { local_id: u8, remote_id: u8 },
    /// A subflow that this host opened, or was about to, is over.
    Ended { local_id: u8, remote_id: u8, how: Ending },
    /// An announcement was echoed.
    Echoed { local_id: u8 },
    /// The manager's deadline passed.
    Timer,
}

/// How a subflow ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was never open: no answer, the network says there is no way, or this host could not even
    /// try.
    Unreachable,
    /// It was never open: the peer has no room now, but may have later.
    NotNow,
    /// The peer will not have it, and says so.
    Refused,
    /// It was open, and nothing was answered any more.
    TimedOut,
    /// It was reset, and nobody says why.
    Reset,
}

/// How a subflow is to be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Between two addresses that have none yet.
    Pair,
    /// Between addresses that have some, from another port.
    OtherPort,
    /// By the list of gateways with this number.
    Gateways(u8),
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Tell the peer of an address of this host.
    Announce { local_id: u8 },
    /// Open a subflow.
    Join { local_id: u8, remote_id: u8, over: Over },
    /// Tell the peer that an address is gone, and close its subflows.
    Withdraw { local_id: u8 },
}

/// A manager of one connection.
pub trait Manager {
    /// What to do about an event.
    fn on_event(&mut self, now: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command>;

    /// When it wants to hear `PathEvent::Timer`.
    fn deadline(&self) -> Instant {
        Instant::FAR_FUTURE
    }
}

/// Any of the managers.
#[derive(Clone, Debug)]
pub enum PathManager {
    Passive(Passive),
    Fullmesh(Fullmesh),
    Ndiffports(Ndiffports),
    Binder(Binder),
    Kernel(Kernel),
}

impl PathManager {
    /// A manager for one side. `endpoints` are `kernel`'s, `lists` of gateways are `binder`'s.
    pub fn new(kind: PathManagerKind, client: bool, endpoints: &Endpoints, lists: u8) -> Self {
        match kind {
            PathManagerKind::Default { accept_add_addr } => {
                PathManager::Passive(Passive::new(client, accept_add_addr))
            }
            PathManagerKind::Fullmesh { again, batch } => {
                PathManager::Fullmesh(Fullmesh::new(client, again, batch))
            }
            PathManagerKind::Ndiffports { subflows } => {
                PathManager::Ndiffports(Ndiffports::new(client, subflows))
            }
            PathManagerKind::Binder => PathManager::Binder(Binder::new(client, lists)),
            PathManagerKind::Kernel => PathManager::Kernel(Kernel::new(endpoints.clone())),
        }
    }

    fn manager(&mut self) -> &mut dyn Manager {
        match self {
            PathManager::Passive(manager) => manager,
            PathManager::Fullmesh(manager) => manager,
            PathManager::Ndiffports(manager) => manager,
            PathManager::Binder(manager) => manager,
            PathManager::Kernel(manager) => manager,
        }
    }
}

impl Manager for PathManager {
    fn on_event(&mut self, now: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command> {
        self.manager().on_event(now, event, known)
    }

    fn deadline(&self) -> Instant {
        match self {
            PathManager::Fullmesh(manager) => manager.deadline(),
            _ => Instant::FAR_FUTURE,
        }
    }
}

impl Known<'_> {
    /// The number of the address that a route to `there` would take: the one that shares the most
    /// leading bits, the first subflow's where that is nothing.
    pub fn source_of(&self, there: IpAddr) -> Option<u8> {
        let family = self.local.iter().filter(|here| here.ip.is_ipv4() == there.is_ipv4());
        // Of equal ones the one with the smallest number.
        let near = |here: &&Address| (shared_bits(here.ip, there), std::cmp::Reverse(here.id));
        family.max_by_key(near).map(|here| here.id)
    }
}

/// How many leading bits two addresses of one family share.
fn shared_bits(one: IpAddr, other: IpAddr) -> u32 {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => 0,
    }
}

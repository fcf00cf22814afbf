//! Path managers: which addresses are announced and which pairs of them become subflows
//! (mptcp-protocol spec s4).
//!
//! A manager hears events and answers commands; it sees numbers of addresses, not sockets.
//! Carrying commands out is the connection's work.

mod fullmesh;

pub use fullmesh::Fullmesh;

use std::net::IpAddr;

/// Which manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathManagerKind {
    /// Announces nothing and opens nothing; accepts what the peer opens.
    Default,
    /// The client opens every pair of addresses, both sides announce theirs.
    #[default]
    Fullmesh,
}

/// Name, one sentence and source of every path manager.
pub const NAMES: &[(&str, &str, &str)] = &[
    (
        "default",
        "Announces nothing and opens nothing, but accepts joins.",
        "multipath-tcp kernel v0.95 `default`",
    ),
    (
        "fullmesh",
        "The client joins every pair of addresses; both sides announce theirs.",
        "000 s2.3.1, multipath-tcp kernel v0.95 `fullmesh`",
    ),
];

impl PathManagerKind {
    /// Every manager.
    pub const ALL: [PathManagerKind; 2] = [PathManagerKind::Default, PathManagerKind::Fullmesh];

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            PathManagerKind::Default => "default",
            PathManagerKind::Fullmesh => "fullmesh",
        }
    }

    /// The manager of that name; `None` if there is none.
    pub fn by_name(name: &str) -> Option<PathManagerKind> {
        PathManagerKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A manager of one connection.
#[derive(Clone, Debug)]
pub enum PathManager {
    Default,
    Fullmesh(Fullmesh),
}

/// An address by its number in the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub id: u8,
    pub ip: IpAddr,
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
    /// This host got another address.
    LocalUp(Address),
    /// This host lost an address.
    LocalDown { id: u8 },
    /// A subflow could not be opened for lack of an answer.
    Failed { local_id: u8, remote_id: u8 },
    /// A subflow that was open ended for lack of answers.
    Lost { local_id: u8, remote_id: u8 },
}

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Tell the peer of an address of this host.
    Announce { local_id: u8 },
    /// Open a subflow.
    Join { local_id: u8, remote_id: u8 },
    /// Tell the peer that an address is gone, and close its subflows.
    Withdraw { local_id: u8 },
}

impl PathManager {
    /// A manager for one side.
    pub fn new(kind: PathManagerKind, client: bool) -> Self {
        match kind {
            PathManagerKind::Default => PathManager::Default,
            PathManagerKind::Fullmesh => PathManager::Fullmesh(Fullmesh::new(client)),
        }
    }

    /// What to do about an event, given the addresses of both sides.
    pub fn on_event(
        &mut self,
        event: PathEvent,
        local: &[Address],
        remote: &[Address],
    ) -> Vec<Command> {
        match self {
            PathManager::Default => Vec::new(),
            PathManager::Fullmesh(mesh) => mesh.on_event(event, local, remote),
        }
    }
}

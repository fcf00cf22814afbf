//! Path managers: which addresses are announced (ADD_ADDR, RFC 8684 s3.4.1) and which pairs of them
//! become subflows (MP_JOIN, RFC 8684 s3.2).
//!
//! A manager receives events and returns commands. It sees the numbers of addresses, not sockets;
//! the connection carries the commands out.

mod binder;
mod fullmesh;
mod kernel;
mod ndiffports;
mod passive;
mod table;
#[cfg(test)]
mod tests;

pub use binder::Binder;
pub use fullmesh::{Fullmesh, Reopen};
pub use kernel::{Endpoint, EndpointError, EndpointFlags, Endpoints, Kernel, LIMIT, Limits};
pub use ndiffports::Ndiffports;
pub use passive::Passive;
pub use table::{NAMES, PathManager, PathManagerKind, parameters};

use base::Instant;
use std::net::IpAddr;

/// An address by its number in the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The address ID (RFC 8684 s3.4.1); 0 is the address of the first subflow.
    pub id: u8,
    /// The address.
    pub ip: IpAddr,
}

/// The state of the connection that a manager sees.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Addresses of this host that can be used now.
    pub local: &'a [Address],
    /// Addresses of the peer.
    pub remote: &'a [Address],
    /// Subflows that count against the manager's limit.
    pub extra_subflows: usize,
}

/// An event of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEvent {
    /// The connection is fully established over the addresses with number 0.
    Established,
    /// The peer announced an address (ADD_ADDR), possibly again: failed pairs with it may be tried
    /// once more.
    Announced(Address),
    /// The peer removed an address (REMOVE_ADDR).
    Removed {
        /// Address ID that the peer removed.
        id: u8,
    },
    /// This host has a new address, or an old one again.
    LocalUp(Address),
    /// This host lost an address, or only its link is down.
    LocalDown {
        /// Address ID of this host.
        id: u8,
        /// The address was removed; otherwise its link is down.
        removed: bool,
    },
    /// A subflow is open.
    Joined {
        /// Address ID of this host.
        local_id: u8,
        /// Address ID of the peer.
        remote_id: u8,
    },
    /// A subflow that this host opened, or was to open, ended.
    Ended {
        /// Address ID of this host.
        local_id: u8,
        /// Address ID of the peer.
        remote_id: u8,
        /// The cause.
        how: Ending,
    },
    /// The peer echoed an announcement.
    Echoed {
        /// Address ID that this host announced.
        local_id: u8,
    },
    /// The manager's deadline passed.
    Timer,
}

/// The cause of the end of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was never open: no answer, an ICMP error, or an error of this host.
    Unreachable,
    /// It was never open: there is no room for it at present.
    NotNow,
    /// The peer refused it with a reason that is not transient (RFC 8684 s3.6).
    Refused,
    /// It was open and timed out.
    TimedOut,
    /// It was reset without a reason.
    Reset,
}

/// The kind of a subflow to open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// The only one between two addresses.
    Pair,
    /// One more between two addresses, from another port.
    OtherPort,
    /// One more between two addresses, through the list of gateways of this number.
    Gateways(u8),
}

/// A command to the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Announce an address of this host (ADD_ADDR).
    Announce {
        /// Address ID of this host.
        local_id: u8,
    },
    /// Open a subflow.
    Join {
        /// Address ID of this host.
        local_id: u8,
        /// Address ID of the peer.
        remote_id: u8,
        /// The kind of the subflow.
        kind: JoinKind,
    },
    /// Remove an address of this host (REMOVE_ADDR) and close its subflows.
    Remove {
        /// Address ID of this host.
        local_id: u8,
    },
}

/// A manager of one connection.
pub trait Manager {
    /// The commands that an event causes.
    fn on_event(&mut self, now: Instant, event: PathEvent, known: &Known<'_>) -> Vec<Command>;

    /// The time of the next `PathEvent::Timer`.
    fn deadline(&self) -> Instant {
        Instant::FAR_FUTURE
    }
}

impl Known<'_> {
    /// The number of the source address of a route to `there`: the address with the longest common
    /// prefix, among equals the one with the smallest number.
    pub fn source_of(&self, there: IpAddr) -> Option<u8> {
        let family = self.local.iter().filter(|here| here.ip.is_ipv4() == there.is_ipv4());
        let near = |here: &&Address| (common_prefix(here.ip, there), std::cmp::Reverse(here.id));
        family.max_by_key(near).map(|here| here.id)
    }
}

/// The length of the common prefix of two addresses of one family, in bits.
fn common_prefix(one: IpAddr, other: IpAddr) -> u32 {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => 0,
    }
}

//! What hosts are told of their paths, and what happens to their connections there: links up and
//! down, addresses withdrawn, paths to be spared, resets. Flows hear what the measured connection
//! hears, each of the paths that it is on.
//!
//! Leaves the links themselves to `simulate`, and what hosts make of it to `transport`.

use super::flows::client_address;
use super::layout::hosts_of;
use super::{CLIENT, SERVER, address};
use crate::run::{BackupMark, Mark, Multipath, PathMark, Protocol, RunSetup};
use crate::world::{Told, World};
use base::{Duration, HostId, Instant, InterfaceId};
use network::Direction;
use std::net::IpAddr;
use traffic::Half;
use transport::InterfaceEvent;
use transport::path_manager::PathManagerKind;

/// A pair of hosts with its connections.
pub(super) struct Party<'a> {
    setup: &'a RunSetup,
    /// Client, server.
    hosts: [HostId; 2],
    /// Index of the path of each interface.
    paths: Vec<usize>,
    /// Index of the path of the connection or of its first subflow.
    first: usize,
    /// When the client begins.
    start: Duration,
    multipath: Option<&'a Multipath>,
    /// The client's address on each interface.
    addresses: Vec<IpAddr>,
}

impl<'a> Party<'a> {
    /// That of the measured connection.
    pub(super) fn measured(setup: &'a RunSetup) -> Self {
        let paths: Vec<usize> = (0..setup.paths.len()).collect();
        Party {
            setup,
            hosts: [CLIENT, SERVER],
            first: setup.protocol.first_path(),
            start: setup.start,
            multipath: match &setup.protocol {
                Protocol::Tcp { .. } => None,
                Protocol::Mptcp(multipath) => Some(multipath),
            },
            addresses: paths.iter().map(|path| address(setup, *path, CLIENT)).collect(),
            paths,
        }
    }

    /// That of flow `number`, whose paths exist.
    pub(super) fn of_flow(setup: &'a RunSetup, number: usize) -> Self {
        let flow = &setup.flows[number];
        let multipath = flow.multipath.as_ref();
        let at = |interface| client_address(setup, number, interface);
        Party {
            setup,
            hosts: hosts_of(number),
            first: flow.paths[multipath.map_or(0, |multipath| multipath.first)],
            start: flow.start,
            multipath,
            addresses: (0..flow.paths.len()).map(at).collect(),
            paths: flow.paths.clone(),
        }
    }

    /// The client's addresses on paths that are backups when it begins.
    pub(super) fn backups(&self) -> Vec<IpAddr> {
        let spared = |path: usize| {
            let marks = self.setup.backup.iter();
            let begun = marks.filter(|mark| mark.path == path && mark.at <= self.start);
            // What ends at a moment ends before what begins at it.
            begun.max_by_key(|mark| (mark.at, mark.on)).is_some_and(|mark| mark.on)
        };
        let ours = self.paths.iter().zip(&self.addresses);
        ours.filter(|(path, _)| spared(**path)).map(|(_, address)| *address).collect()
    }

    /// The interface on a path, with the client's address.
    fn interface(&self, path: usize) -> Option<(InterfaceId, IpAddr)> {
        let number = self.paths.iter().position(|each| *each == path)?;
        Some((InterfaceId(number as u16), self.addresses[number]))
    }

    /// What the client says of its paths later than at the start.
    pub(super) fn tell_backups(&self, world: &mut World<Half>) {
        let [host, _] = self.hosts;
        for BackupMark { path, at, on } in
            self.setup.backup.iter().filter(|mark| mark.at > self.start)
        {
            let Some((interface, _)) = self.interface(*path) else { continue };
            let told = Told { host, interface, event: InterfaceEvent::Backup(*on) };
            world.tell_at(Instant::ZERO + *at, told);
        }
    }

    /// What happens to addresses and connections.
    pub(super) fn tell_marks(&self, world: &mut World<Half>) {
        let [client, server] = self.hosts;
        for mark in &self.setup.marks {
            let Some((interface, own)) = self.interface(mark.path) else { continue };
            let at = Instant::ZERO + mark.at;
            let event = match mark.what {
                Mark::Reset => {
                    world.reset_at(at, [client, server], interface);
                    continue;
                }
                Mark::Removed if self.loses_address(mark) => InterfaceEvent::AddressRemoved(own),
                Mark::Removed => InterfaceEvent::Down,
                Mark::Returned => InterfaceEvent::AddressAdded(own),
            };
            world.tell_at(at, Told { host: client, interface, event });
        }
    }

    /// Whether the client has a withdrawn address no more. Otherwise it hears of it as of a link
    /// that is down, and what has no other address goes on with it, as TCP does.
    fn loses_address(&self, mark: &PathMark) -> bool {
        let Some(multipath) = self.multipath else { return false };
        // These hear of addresses only, not of links.
        let by_address = matches!(
            multipath.path_manager,
            PathManagerKind::Kernel | PathManagerKind::Default { accept_add_addr: true }
        );
        by_address || (mark.at <= self.start && mark.path != self.first)
    }

    /// Links that go down and come back: hosts of flows hear what the measured connection's hear.
    pub(super) fn tell_links(&self, world: &mut World<Half>) {
        for (host, direction) in self.hosts.into_iter().zip([Direction::Up, Direction::Down]) {
            for (number, path) in self.paths.iter().enumerate() {
                for change in self.setup.paths[*path].changes(direction) {
                    let Some(up) = change.told_up else { continue };
                    let event = if up { InterfaceEvent::Up } else { InterfaceEvent::Down };
                    let told = Told { host, interface: InterfaceId(number as u16), event };
                    world.tell_at(Instant::ZERO + change.at, told);
                }
            }
        }
    }
}

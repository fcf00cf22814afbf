//! Events of paths: what happens to their links, which notifications the hosts of each flow get,
//! and what happens to addresses and connections.
//!
//! The hosts of flow 0 are notified within the event of the link, all others by an event of their
//! own. What links do is left to `network`, what hosts do when they are notified to `transport`.

use super::hosts::FlowHosts;
use super::links_of;
use crate::setup::{BackupMark, Carrier, Mark, PathMark, RunSetup};
use crate::world::{Notice, World};
use base::{Duration, HostId, Instant, InterfaceId};
use network::{Direction, ScheduledChange};
use std::net::IpAddr;
use traffic::{Half, Role};
use transport::InterfaceEvent;
use transport::path_manager::PathManagerKind;

/// Schedule all events of a run.
pub(super) fn schedule(world: &mut World<Half>, setup: &RunSetup, flows: &[FlowHosts<'_>]) {
    let (measured, competing) = flows.split_at(1);
    for path in 0..setup.network.paths.len() {
        change_links(world, setup, path, &measured[0]);
    }
    change_shared_links(world, setup);
    for flow in competing {
        notify_of_links(world, setup, flow);
    }
    for flow in flows {
        notify_of_backups(world, setup, flow);
        schedule_marks(world, setup, flow);
    }
}

const fn up_or_down(up: bool) -> InterfaceEvent {
    if up { InterfaceEvent::Up } else { InterfaceEvent::Down }
}

/// The links of a path, and the hosts of the measured flow. One whose address other paths have,
/// too, keeps its link: it is not notified.
fn change_links(world: &mut World<Half>, setup: &RunSetup, path: usize, flow: &FlowHosts<'_>) {
    let [down, up] = links_of(path);
    let interface = flow.interface_on(path);
    for (direction, link, host) in
        [(Direction::Down, down, Role::Server), (Direction::Up, up, Role::Client)]
    {
        let interface = interface.filter(|interface| !flow.is_shared(host, *interface));
        let host = flow.host(host);
        for ScheduledChange { at, change, notify_up } in
            setup.network.paths[path].changes(direction)
        {
            let notice = notify_up.zip(interface).map(|(up, interface)| Notice {
                host,
                interface,
                event: up_or_down(up),
            });
            world.change_at(Instant::ZERO + at, link, change, notice);
        }
    }
}

/// Hosts are notified of their own links only.
fn change_shared_links(world: &mut World<Half>, setup: &RunSetup) {
    let paths = setup.network.paths.len();
    for (number, shared) in setup.network.links.iter().enumerate() {
        let links = links_of(paths + number);
        for (direction, link) in [Direction::Down, Direction::Up].into_iter().zip(links) {
            for ScheduledChange { at, change, .. } in shared.link.changes(direction) {
                world.change_at(Instant::ZERO + at, link, change, None);
            }
        }
    }
}

/// Links that go down and come back, as notified to the hosts of a flow.
fn notify_of_links(world: &mut World<Half>, setup: &RunSetup, flow: &FlowHosts<'_>) {
    for (role, direction) in [(Role::Client, Direction::Up), (Role::Server, Direction::Down)] {
        let host = flow.host(role);
        for (number, path) in flow.flow.paths.iter().enumerate() {
            if flow.is_shared(role, InterfaceId(number as u16)) {
                continue;
            }
            for change in setup.network.paths[*path].changes(direction) {
                let Some(up) = change.notify_up else { continue };
                let interface = InterfaceId(number as u16);
                notify(world, change.at, host, interface, up_or_down(up));
            }
        }
    }
}

/// The client's requests of backup after its start; earlier ones are in its configuration.
fn notify_of_backups(world: &mut World<Half>, setup: &RunSetup, flow: &FlowHosts<'_>) {
    for BackupMark { path, at, on } in setup.backup.iter().filter(|mark| mark.at > flow.flow.start)
    {
        let Some(interface) = flow.interface_on(*path) else { continue };
        notify(world, *at, flow.client(), interface, InterfaceEvent::Backup(*on));
    }
}

/// What happens to the addresses and connections of a flow.
fn schedule_marks(world: &mut World<Half>, setup: &RunSetup, flow: &FlowHosts<'_>) {
    for mark in &setup.marks {
        let Some(interface) = flow.interface_on(mark.path) else { continue };
        let own = flow.address(Role::Client, interface.index());
        let event = match mark.what {
            Mark::Reset => {
                world.reset_at(Instant::ZERO + mark.at, flow.both(), interface);
                continue;
            }
            Mark::Removed if loses_address(flow, mark) => InterfaceEvent::AddressRemoved(own),
            Mark::Removed => InterfaceEvent::Down,
            Mark::Returned => {
                // Every path of the address works again.
                for interface in flow.interfaces_with(Role::Client, own) {
                    let event = InterfaceEvent::AddressAdded(own);
                    notify(world, mark.at, flow.client(), interface, event);
                }
                continue;
            }
        };
        notify(world, mark.at, flow.client(), interface, event);
    }
}

/// Whether a withdrawn address is taken from the client. Otherwise the client is notified that the
/// link is down, and a connection without another address continues, as TCP does.
fn loses_address(flow: &FlowHosts<'_>, mark: &PathMark) -> bool {
    let multipath = match &flow.flow.carrier {
        Carrier::Single(_) => return false,
        // ASCONF deletes the address (RFC 5061), unless it is the only one.
        carrier @ Carrier::Sctp(_) => return carrier.uses_all_paths(),
        Carrier::Multipath(multipath) => multipath,
    };
    // These react to addresses only, not to links.
    let by_address = matches!(
        multipath.path_manager,
        PathManagerKind::Kernel | PathManagerKind::Default { accept_add_addr: true }
    );
    by_address || (mark.at <= flow.flow.start && mark.path != flow.first_path)
}

fn notify(
    world: &mut World<Half>,
    at: Duration,
    host: HostId,
    interface: InterfaceId,
    event: InterfaceEvent,
) {
    world.notify_at(Instant::ZERO + at, Notice { host, interface, event });
}

/// The client's addresses on paths that are backups when it begins.
pub(super) fn initial_backups(setup: &RunSetup, flow: &FlowHosts<'_>) -> Vec<IpAddr> {
    let is_backup = |path: usize| {
        let marks = setup.backup.iter();
        let begun = marks.filter(|mark| mark.path == path && mark.at <= flow.flow.start);
        // Of two marks at the same time the one that sets the flag counts.
        begun.max_by_key(|mark| (mark.at, mark.on)).is_some_and(|mark| mark.on)
    };
    let backups = flow.interfaces().filter(|(path, _)| is_backup(*path));
    backups.map(|(_, [client, _])| client).collect()
}

//! The path manager of a connection with its data: the addresses of both hosts and the subflows it
//! requests (RFC 8684 s3.4).
//!
//! It decides and keeps the addresses and requests; the connection applies the decisions to
//! subflows.

use super::addresses::{Addresses, LocalAddress, share_prefix};
use super::config::MptcpConfig;
use super::keys::Keys;
use super::stage::Stage;
use super::subflows::Subflows;
use crate::path_manager::{
    Command, JoinKind, Known, Manager, PathEvent, PathManager, PathManagerKind,
};
use crate::routes::Routes;
use base::{Instant, InterfaceId};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::AddAddr;

/// A subflow to be opened, from a port that the stack chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinRequest {
    pub local_id: u8,
    pub remote_id: u8,
    pub local: IpAddr,
    pub remote: SocketAddr,
    pub interface: InterfaceId,
    pub backup: bool,
    /// The number of its group, if it is one of simultaneous SYNs and not a join with a token.
    pub group: Option<u64>,
}

/// The result of a request to announce an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Announced {
    /// It is not announced.
    Never,
    /// The option is to be sent now.
    Now(AddAddr),
    /// It is sent after the echo of another one.
    Later,
}

/// There are too many subflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

/// Path management of one connection.
#[derive(Debug)]
pub(crate) struct PathManagement {
    addresses: Addresses,
    manager: PathManager,
    requests: VecDeque<JoinRequest>,
    /// Largest number of subflows.
    max_subflows: u8,
    /// Number of leading bits that both addresses of a join must share; `None`: all pairs are
    /// joined.
    common_prefix_bits: Option<u8>,
    /// If there are any, only their pairs are joined, over their interfaces.
    routes: Routes,
    /// The interface behind which each list of gateways is.
    gateways: Vec<InterfaceId>,
    /// Addresses that joins begin from are not announced.
    joins_own_addresses: bool,
}

impl PathManagement {
    /// For a connection from `addresses`' first to the peer's first.
    pub(crate) fn new(
        config: &MptcpConfig,
        client: bool,
        addresses: Addresses,
        routes: Routes,
    ) -> Self {
        let lists = u8::try_from(config.gateways.len()).unwrap_or(u8::MAX);
        let manager = PathManager::new(config.path_manager, client, &config.endpoints, lists);
        let max_subflows = match config.path_manager {
            PathManagerKind::Kernel => config.endpoints.limits.subflows,
            // One in addition to the extra ones.
            _ => config.max_extra_subflows.saturating_add(1),
        };
        // An endpoint of mainline is for joins or for announcements, and an echo would cost a
        // sample of the round-trip time.
        let meshes = matches!(manager, PathManager::Fullmesh(_));
        PathManagement {
            addresses,
            manager,
            requests: VecDeque::new(),
            max_subflows,
            common_prefix_bits: config.common_prefix_bits,
            routes,
            gateways: config.gateways.clone(),
            joins_own_addresses: client && config.mainline_limits && meshes,
        }
    }

    /// The addresses of both hosts.
    pub(crate) const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The same, to be changed.
    pub(crate) const fn addresses_mut(&mut self) -> &mut Addresses {
        &mut self.addresses
    }

    /// The manager is mainline Linux's.
    pub(crate) const fn is_kernel(&self) -> bool {
        matches!(self.manager, PathManager::Kernel(_))
    }

    /// The manager's answer to an event.
    pub(crate) fn on_event(
        &mut self,
        now: Instant,
        event: PathEvent,
        subflows: &Subflows,
    ) -> Vec<Command> {
        let (local, remote) = self.addresses.tables();
        let extra_subflows = self.count(subflows) + self.requests.len();
        let known = Known { local: &local, remote: &remote, extra_subflows };
        self.manager.on_event(now, event, &known)
    }

    /// When the manager wants a `PathEvent::Timer`.
    #[inline]
    pub(crate) fn manager_deadline(&self) -> Instant {
        self.manager.deadline()
    }

    /// When an announcement is repeated.
    #[inline]
    pub(crate) fn announcement_deadline(&self) -> Instant {
        self.addresses.deadline()
    }

    /// Subflows that count against the limit. Mainline's manager does not count the first one,
    /// whether or not it exists.
    fn count(&self, subflows: &Subflows) -> usize {
        let counted = subflows.iter().skip(usize::from(self.is_kernel()));
        counted.filter(|entry| entry.stage() != Stage::Gone).count()
    }

    /// Whether one more subflow is permitted in addition to those that exist.
    pub(crate) fn has_room(&self, subflows: &Subflows) -> bool {
        self.count(subflows) < usize::from(self.max_subflows)
    }

    /// Announce an address of this host to the peer (RFC 8684 s3.4.1).
    pub(crate) fn announce(&mut self, now: Instant, local_id: u8, keys: &Keys) -> Announced {
        let (Some(receiver), Some(address)) = (keys.remote(), self.addresses.local(local_id))
        else {
            return Announced::Never;
        };
        if self.joins_own_addresses || !self.addresses.is_announced_to_peer(address) {
            return Announced::Never;
        }
        let option = AddAddr::signed(keys.local(), receiver, local_id, address.ip, None);
        self.addresses.announce(now, option).map_or(Announced::Later, Announced::Now)
    }

    /// Queues a request for a subflow between two addresses, unless it exists or the two are not
    /// connected.
    pub(crate) fn request_join(
        &mut self,
        (local_id, remote_id): (u8, u8),
        kind: JoinKind,
        subflows: &Subflows,
    ) -> Result<(), NoRoom> {
        let (Some(&local), Some(remote)) =
            (self.addresses.local(local_id), self.addresses.remote(remote_id))
        else {
            return Ok(());
        };
        let remote = remote.address;
        // It may have survived the temporary removal of an address.
        let exists = kind == JoinKind::Pair && self.is_joined(local.ip, remote, subflows);
        if exists || !self.are_connected(local.ip, remote.ip()) {
            return Ok(());
        }
        // Mainline's manager applies its limit itself.
        let is_full = self.count(subflows) + self.requests.len() >= usize::from(self.max_subflows);
        if is_full && !self.is_kernel() {
            return Err(NoRoom);
        }
        let (interface, backup) = self.first_hop(&local, remote.ip(), kind);
        let local = local.ip;
        self.requests.push_back(JoinRequest {
            local_id,
            remote_id,
            local,
            remote,
            interface,
            backup,
            group: None,
        });
        Ok(())
    }

    /// Whether a subflow between these exists or is requested.
    fn is_joined(&self, local: IpAddr, remote: SocketAddr, subflows: &Subflows) -> bool {
        let requested = |join: &JoinRequest| join.local == local && join.remote == remote;
        subflows.has_pair(local, remote) || self.requests.iter().any(requested)
    }

    /// Whether the networks of two addresses reach each other.
    fn are_connected(&self, local: IpAddr, remote: IpAddr) -> bool {
        if !self.routes.is_empty() {
            return self.routes.connects(local, remote);
        }
        self.common_prefix_bits.is_none_or(|bits| share_prefix(local, remote, bits))
    }

    /// The interface that a subflow's packets leave on, and whether it is a backup.
    fn first_hop(
        &self,
        local: &LocalAddress,
        remote: IpAddr,
        kind: JoinKind,
    ) -> (InterfaceId, bool) {
        let behind = match kind {
            JoinKind::Gateways(list) => self.gateways.get(usize::from(list)).copied(),
            JoinKind::Pair | JoinKind::OtherPort => None,
        };
        match behind {
            Some(behind) => (behind, self.addresses.is_backup_interface(behind)),
            None => (self.interface_to(local, remote), local.backup),
        }
    }

    /// The interface that packets from an address of this host leave on.
    fn interface_to(&self, local: &LocalAddress, remote: IpAddr) -> InterfaceId {
        self.routes.interface(local.ip, remote).unwrap_or(local.interface)
    }

    /// Queues the requests for a group of simultaneous SYNs.
    pub(crate) fn request_group(&mut self, group: u64, peers: &[(IpAddr, SocketAddr)]) {
        for (local, remote) in peers {
            let local_id = self.addresses.local_id(*local);
            let Some(here) = local_id.and_then(|id| self.addresses.local(id)) else { continue };
            self.requests.push_back(JoinRequest {
                local_id: here.id,
                // The peer's number of its address is unknown.
                remote_id: 0,
                local: *local,
                remote: *remote,
                interface: self.interface_to(here, remote.ip()),
                backup: here.backup,
                group: Some(group),
            });
        }
    }

    /// The next request.
    pub(crate) fn next_request(&self) -> Option<&JoinRequest> {
        self.requests.front()
    }

    /// Takes the next request.
    pub(crate) fn take_request(&mut self) -> Option<JoinRequest> {
        self.requests.pop_front()
    }

    /// No subflow is opened any more.
    pub(crate) fn clear_requests(&mut self) {
        self.requests.clear();
    }

    /// An address of this host was removed: it is not announced and nothing is opened from it.
    /// Returns the next announcement to send.
    pub(crate) fn withdraw(&mut self, now: Instant, local_id: u8) -> Option<AddAddr> {
        self.requests.retain(|join| join.local_id != local_id);
        self.addresses.unannounce(now, local_id)
    }

    /// Whether the peer has an address of this host, from an announcement or a subflow.
    pub(crate) fn is_known_to_peer(&self, local_id: u8, subflows: &Subflows) -> bool {
        let address = self.addresses.local(local_id);
        address.is_some_and(|address| self.addresses.is_announced_to_peer(address))
            || subflows.iter().any(|entry| entry.ids.local == local_id)
    }

    /// The connection is over or TCP: nothing is announced any more.
    pub(crate) fn stop(&mut self) {
        self.addresses.clear_announcements();
    }
}

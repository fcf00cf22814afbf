//! What the path manager hears and what becomes of its commands: announcements, joins,
//! withdrawals, and paths to be spared (RFC 8684 s3.3.8, s3.4).

use super::addresses::share_prefix;
use super::connection::Connection;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use crate::path_manager::{
    Address, Command, Ending, Known, Manager, Over, PathEvent, PathManager, PathManagerKind,
};
use crate::scheduler::PathChange;
use base::{Context, InterfaceId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::{AddAddr, MptcpOption, ResetReason};

/// A subflow that the path manager wants: the stack finds a port for it.
#[derive(Clone, Copy, Debug)]
pub struct JoinRequest {
    pub local_id: u8,
    pub remote_id: u8,
    pub local: IpAddr,
    pub remote: SocketAddr,
    pub interface: InterfaceId,
    pub backup: bool,
}

impl Connection {
    /// Subflows that the path manager wants opened.
    pub fn take_join(&mut self) -> Option<JoinRequest> {
        if self.closed || self.is_plain() {
            self.joins.clear();
        }
        self.joins.pop_front()
    }

    /// Tell the path manager, and do what it says.
    pub(super) fn manage(&mut self, cx: &mut Context<'_>, event: PathEvent) {
        if self.closed || self.is_plain() {
            return;
        }
        let (local, remote) = self.addresses.tables();
        let extra_subflows = self.counted() + self.joins.len();
        let known = Known { local: &local, remote: &remote, extra_subflows };
        for command in self.manager.on_event(cx.now, event, &known) {
            match command {
                Command::Announce { local_id } => self.announce(cx, local_id),
                Command::Join { local_id, remote_id, over } => {
                    self.request_join(cx, local_id, remote_id, over);
                }
                Command::Withdraw { local_id } => self.withdraw(cx, local_id),
            }
        }
    }

    /// Whether there may be one more subflow, opened or accepted, beside those that are there and
    /// so many that are to be opened.
    pub(super) fn has_room(&self, to_open: usize) -> bool {
        let most = match self.config.path_manager {
            PathManagerKind::Kernel => self.config.endpoints.limits.subflows,
            // Beside one of them.
            _ => self.config.max_extra_subflows.saturating_add(1),
        };
        self.counted() + to_open < usize::from(most)
    }

    /// Subflows that count against the limit. Mainline's manager does not count the first one,
    /// whether or not it is there.
    fn counted(&self) -> usize {
        let uncounted = usize::from(self.config.path_manager == PathManagerKind::Kernel);
        let counted = self.subflows.iter().skip(uncounted);
        counted.filter(|entry| entry.stage() != Stage::Gone).count()
    }

    /// What the manager waits for, and announcements that are to be repeated.
    pub(super) fn run_manager(&mut self, cx: &mut Context<'_>) {
        if self.manager.deadline() <= cx.now {
            self.manage(cx, PathEvent::Timer);
        }
        let (due, given_up) = self.addresses.take_due(cx.now, self.timers.heard_at);
        for option in due {
            self.send_announcement(option);
            // Nothing may have been heard since the last one.
            self.acknowledge_first();
        }
        for local_id in given_up {
            self.manage(cx, PathEvent::Echoed { local_id });
        }
    }

    fn announce(&mut self, cx: &mut Context<'_>, local_id: u8) {
        if !self.try_announce(cx, local_id) {
            // There is no echo to wait for.
            self.manage(cx, PathEvent::Echoed { local_id });
        }
    }

    /// Whether the peer is told.
    fn try_announce(&mut self, cx: &Context<'_>, local_id: u8) -> bool {
        let meshes = matches!(self.manager, PathManager::Fullmesh(_));
        if self.keys.is_client() && self.mainline_limits && meshes {
            // An address that joins begin from is not announced, too (mainline's endpoints are
            // for one or the other), and its echo would cost a sample of the round trip.
            return false;
        }
        let (Some(receiver), Some(address)) = (self.keys.remote(), self.addresses.local(local_id))
        else {
            return false;
        };
        if !self.addresses.is_told(address) {
            return false;
        }
        let option = AddAddr::signed(self.keys.local(), receiver, local_id, address.ip, None);
        if let Some(option) = self.addresses.announce(cx.now, option) {
            self.send_announcement(option);
        }
        true
    }

    /// An ADD_ADDR on an acknowledgement of its own.
    pub(super) fn send_announcement(&mut self, option: AddAddr) {
        self.say(MptcpOption::AddAddr(option), None);
    }

    /// An option on an acknowledgement of an open subflow, not of the address `without`; one
    /// that works is preferred.
    fn say(&mut self, option: MptcpOption, without: Option<u8>) {
        if let Some(index) = self.speaker(without) {
            self.say_on(index, option);
        }
    }

    fn speaker(&self, without: Option<u8>) -> Option<usize> {
        let open =
            |entry: &SubflowEntry| entry.stage() == Stage::Open && Some(entry.ids.local) != without;
        let works = self.subflows.iter().position(|entry| open(entry) && !entry.pf);
        works.or_else(|| self.subflows.iter().position(open))
    }

    /// An acknowledgement of the subflow that options go to.
    pub(super) fn acknowledge_first(&mut self) {
        if let Some(index) = self.speaker(None) {
            self.subflows[index].tcp.acknowledge();
            self.subflows.wake(index);
        }
    }

    /// An option on an acknowledgement of that subflow.
    pub(super) fn say_on(&mut self, index: usize, option: MptcpOption) {
        self.subflows[index].tcp.queue_option(option);
        self.subflows.wake(index);
    }

    /// Whether a subflow between these is there or on its way.
    fn is_joined(&self, local: IpAddr, remote: SocketAddr) -> bool {
        let same =
            |ends: &crate::tcp::subflow::Tuple| ends.local.ip() == local && ends.remote == remote;
        let mut alive = self.subflows.iter().filter(|entry| entry.stage() != Stage::Gone);
        alive.any(|entry| same(entry.tcp.tuple()))
            || self.joins.iter().any(|join| join.local == local && join.remote == remote)
    }

    fn request_join(&mut self, cx: &mut Context<'_>, local_id: u8, remote_id: u8, over: Over) {
        let failed = self.fallback.is_pending();
        if failed || self.is_plain() || (remote_id == 0 && self.keys.forbids_join_to_first()) {
            return;
        }
        let (Some(local), Some(remote)) =
            (self.addresses.local(local_id), self.addresses.remote(remote_id))
        else {
            return;
        };
        if over == Over::Pair && self.is_joined(local.ip, remote.address) {
            // It outlived an address that was gone for a while.
            return;
        }
        let apart = self
            .config
            .common_prefix_bits
            .is_some_and(|bits| !share_prefix(local.ip, remote.address.ip(), bits));
        if apart {
            return;
        }
        if !self.has_room(self.joins.len()) {
            self.manage(cx, PathEvent::Ended { local_id, remote_id, how: Ending::NotNow });
            return;
        }
        let (interface, backup) = match over {
            Over::Gateways(list) => self.gateway(list).map(|behind| (behind, self.spares(behind))),
            _ => None,
        }
        .unwrap_or((local.interface, local.backup));
        let (local, remote) = (local.ip, remote.address);
        self.joins.push_back(JoinRequest { local_id, remote_id, local, remote, interface, backup });
    }

    /// Whether subflows over an interface are to be spared.
    fn spares(&self, interface: InterfaceId) -> bool {
        let mut here = self.addresses.local.iter().filter(|here| here.interface == interface);
        here.any(|here| here.backup)
    }

    /// Where the packets of a subflow leave that goes by the list of gateways of this number.
    fn gateway(&self, list: u8) -> Option<InterfaceId> {
        self.config.gateways.get(usize::from(list)).copied()
    }

    /// Close the subflows of an address that is gone. Without another one they stay: the address
    /// may return, and TCP would have waited for it too.
    fn withdraw(&mut self, cx: &mut Context<'_>, local_id: u8) {
        if let Some(next) = self.addresses.unannounce(cx.now, local_id) {
            self.send_announcement(next);
        }
        self.joins.retain(|join| join.local_id != local_id);
        let told = self.addresses.local(local_id).is_some_and(|at| self.addresses.is_told(at));
        if !told && !self.subflows.iter().any(|entry| entry.ids.local == local_id) {
            // The peer never heard of it.
            return;
        }
        if !self.subflows.iter().any(|entry| entry.ids.local != local_id && entry.is_usable()) {
            return;
        }
        for index in 0..self.subflows.len() {
            let entry = &self.subflows[index];
            if entry.ids.local == local_id && entry.stage() != Stage::Gone {
                self.reset_for(cx, index, ResetReason::UNSPECIFIED);
                // There is room for another one.
                self.on_ended(cx, index, Ending::Refused);
            }
        }
        self.say(MptcpOption::RemoveAddr { ids: vec![local_id] }, Some(local_id));
    }

    /// Ask the peer to spare, or to use again, the subflows of an address of this host
    /// (RFC 8684 s3.3.8).
    pub fn set_backup(&mut self, ip: IpAddr, backup: bool) {
        for address in self.addresses.local.iter_mut().filter(|address| address.ip == ip) {
            address.backup = backup;
        }
        self.spare(backup, |entry| entry.tcp.tuple().local.ip() == ip);
    }

    /// The same for the subflows whose packets leave on an interface, whatever their addresses.
    pub fn mark_interface(&mut self, interface: InterfaceId, backup: bool) {
        let addresses = self.addresses.local.iter_mut();
        for address in addresses.filter(|address| address.interface == interface) {
            address.backup = backup;
        }
        self.spare(backup, |entry| entry.interface == interface);
    }

    /// Some subflows are to be spared, or used again.
    fn spare(&mut self, backup: bool, which: impl Fn(&SubflowEntry) -> bool) {
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            if !which(entry) || !entry.priority.set_local(backup) {
                continue;
            }
            let path = entry.path;
            if entry.stage() == Stage::Open {
                self.on_path_changed(path, PathChange::State);
            }
            self.tell_priority(index);
        }
        self.schedule_due = true;
    }

    /// Tell the peer whether a subflow is to be spared, if it believes otherwise; of one that is
    /// being opened once it is open.
    pub(super) fn tell_priority(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        if entry.stage() != Stage::Open || self.fallback.is_plain() {
            return;
        }
        if let Some(backup) = entry.priority.take_announcement() {
            self.say_on(index, MptcpOption::Prio { backup });
        }
    }

    /// An address of this host came or went, or its link did (`removed` is false).
    pub fn on_local_address(
        &mut self,
        cx: &mut Context<'_>,
        ip: IpAddr,
        interface: InterfaceId,
        change: LocalChange,
    ) {
        match change {
            LocalChange::Up => {
                let backup = self.config.backup.contains(&ip);
                let Some(id) = self.addresses.add_local(ip, interface, backup) else { return };
                self.retry_openings_from(cx, ip);
                self.manage(cx, PathEvent::LocalUp(Address { id, ip }));
            }
            LocalChange::Down | LocalChange::Removed => {
                let Some(id) = self.addresses.lose_local(ip) else { return };
                let removed = change == LocalChange::Removed;
                self.manage(cx, PathEvent::LocalDown { id, removed });
            }
        }
    }

    /// A subflow that the manager asked for could not be opened: this host has no port or no number
    /// for it now.
    pub fn on_unopened(&mut self, cx: &mut Context<'_>, request: &JoinRequest) {
        let JoinRequest { local_id, remote_id, .. } = *request;
        self.manage(cx, PathEvent::Ended { local_id, remote_id, how: Ending::Unreachable });
    }

    /// A subflow that this host opened is over: the manager may want another one.
    pub(super) fn on_ended(&mut self, cx: &mut Context<'_>, index: usize, how: Ending) {
        let entry = &self.subflows[index];
        if entry.handshake.is_initiator() {
            let (local_id, remote_id) = (entry.ids.local, entry.ids.remote);
            self.manage(cx, PathEvent::Ended { local_id, remote_id, how });
        }
    }
}

/// What became of an address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalChange {
    Up,
    /// Its link is down.
    Down,
    Removed,
}

//! Carrying out what the path manager decides: announcements, joins, removals, and backup flags
//! (RFC 8684 s3.3.8, s3.4).

use super::connection::Connection;
use super::management::{Announced, JoinRequest, NoRoom};
use super::stage::Stage;
use super::subflow::{AddressIds, SubflowEntry};
use crate::endpoint::AddressChange;
use crate::path_manager::{Address, Command, Ending, JoinKind, PathEvent};
use crate::scheduler::PathChange;
use base::{Context, InterfaceId};
use std::net::IpAddr;
use wire::mptcp::{AddAddr, MptcpOption, ResetReason};

impl Connection {
    /// The next subflow to be opened.
    pub fn next_join(&mut self) -> Option<&JoinRequest> {
        if self.is_over() {
            self.management.clear_requests();
        }
        self.management.next_request()
    }

    /// The same, to be opened now.
    pub fn take_join(&mut self) -> Option<JoinRequest> {
        self.management.take_request()
    }

    /// Notify the path manager, and carry out its commands.
    pub(super) fn notify_manager(&mut self, cx: &mut Context<'_>, event: PathEvent) {
        if self.is_over() {
            return;
        }
        for command in self.management.on_event(cx.now, event, &self.subflows) {
            match command {
                Command::Announce { local_id } => self.announce(cx, local_id),
                Command::Join { local_id, remote_id, kind } => {
                    self.request_join(cx, local_id, remote_id, kind);
                }
                Command::Remove { local_id } => self.withdraw(cx, local_id),
            }
        }
    }

    /// The manager's timer, and announcements that are repeated.
    pub(super) fn run_manager(&mut self, cx: &mut Context<'_>) {
        if self.management.manager_deadline() <= cx.now {
            self.notify_manager(cx, PathEvent::Timer);
        }
        let heard_at = self.peer_heard_at;
        let (due, given_up) = self.management.addresses_mut().take_due(cx.now, heard_at);
        for option in due {
            self.send_announcement(option);
            // Nothing may have arrived since the last one: an acknowledgement asks for an answer.
            if let Some(index) = self.subflows.option_carrier(&self.sender, None) {
                self.subflows[index].tcp.acknowledge();
                self.subflows.wake(index);
            }
        }
        for local_id in given_up {
            self.notify_manager(cx, PathEvent::Echoed { local_id });
        }
    }

    fn announce(&mut self, cx: &mut Context<'_>, local_id: u8) {
        match self.management.announce(cx.now, local_id, &self.keys) {
            Announced::Now(option) => self.send_announcement(option),
            Announced::Later => {}
            // There is no echo to wait for.
            Announced::Never => self.notify_manager(cx, PathEvent::Echoed { local_id }),
        }
    }

    /// An ADD_ADDR on an acknowledgement of its own.
    pub(super) fn send_announcement(&mut self, option: AddAddr) {
        self.subflows.queue_option(&self.sender, None, MptcpOption::AddAddr(option));
    }

    fn request_join(&mut self, cx: &mut Context<'_>, local_id: u8, remote_id: u8, kind: JoinKind) {
        let forbidden = remote_id == 0 && self.keys.forbids_join_to_first();
        if self.fallback.is_pending() || self.is_plain() || forbidden {
            return;
        }
        let ids = (local_id, remote_id);
        if self.management.request_join(ids, kind, &self.subflows) == Err(NoRoom) {
            let how = Ending::NotNow;
            self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
        }
    }

    /// Reset the subflows of an address that is gone, and remove it at the peer. Without another
    /// subflow they stay: the address may return, and TCP would have waited for it, too.
    fn withdraw(&mut self, cx: &mut Context<'_>, local_id: u8) {
        if let Some(next) = self.management.withdraw(cx.now, local_id) {
            self.send_announcement(next);
        }
        let other = |entry: &SubflowEntry| entry.ids.local != local_id && entry.is_usable();
        if !self.management.is_known_to_peer(local_id, &self.subflows)
            || !self.subflows.iter().any(other)
        {
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
        let option = MptcpOption::RemoveAddr { ids: vec![local_id] };
        self.subflows.queue_option(&self.sender, Some(local_id), option);
    }

    /// Ask the peer to use the subflows of an address of this host as backup, or no longer
    /// (RFC 8684 s3.3.8).
    pub fn set_backup(&mut self, ip: IpAddr, backup: bool) {
        self.management.addresses_mut().set_backup(backup, |address| address.ip == ip);
        self.set_priority(backup, |entry| entry.tcp.tuple().local.ip() == ip);
    }

    /// The same for the subflows whose packets leave on an interface, whatever their addresses.
    pub fn mark_interface(&mut self, interface: InterfaceId, backup: bool) {
        let addresses = self.management.addresses_mut();
        addresses.set_backup(backup, |address| address.interface == interface);
        self.set_priority(backup, |entry| entry.interface == interface);
    }

    fn set_priority(&mut self, backup: bool, which: impl Fn(&SubflowEntry) -> bool) {
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            if !which(entry) || !entry.priority.set_local(backup) {
                continue;
            }
            if entry.stage() == Stage::Open {
                let path = entry.path;
                self.sender.on_path_changed(path, PathChange::State);
            }
            self.announce_priority(index);
        }
        self.sender.set_due();
    }

    /// Announce the priority of a subflow to the peer by MP_PRIO, if it believes otherwise; that of
    /// a subflow being opened once it is open.
    pub(super) fn announce_priority(&mut self, index: usize) {
        let entry = &mut self.subflows[index];
        if entry.stage() != Stage::Open || self.fallback.is_plain() {
            return;
        }
        if let Some(backup) = entry.priority.take_announcement() {
            self.subflows.queue_option_on(index, MptcpOption::Prio { backup });
        }
    }

    /// An address of this host came or went, or its link did.
    pub fn on_local_address(
        &mut self,
        cx: &mut Context<'_>,
        ip: IpAddr,
        interface: InterfaceId,
        change: AddressChange,
    ) {
        let addresses = self.management.addresses_mut();
        match change {
            AddressChange::Up => {
                let backup = self.config.backup.contains(&ip);
                let Some(id) = addresses.add_local(ip, interface, backup) else { return };
                self.subflows.retry_openings_from(cx, ip);
                self.notify_manager(cx, PathEvent::LocalUp(Address { id, ip }));
            }
            AddressChange::Down | AddressChange::Removed => {
                let Some(id) = addresses.lose_local(ip) else { return };
                let removed = change == AddressChange::Removed;
                self.notify_manager(cx, PathEvent::LocalDown { id, removed });
            }
        }
    }

    /// A subflow that the manager wants could not be opened: this host has no port or no path
    /// number for it now.
    pub fn on_unopened(&mut self, cx: &mut Context<'_>, request: &JoinRequest) {
        let JoinRequest { local_id, remote_id, .. } = *request;
        let how = Ending::Unreachable;
        self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
    }

    /// A subflow that this host opened ended: the manager may want another one.
    pub(super) fn on_ended(&mut self, cx: &mut Context<'_>, index: usize, how: Ending) {
        let entry = &self.subflows[index];
        if entry.handshake.is_initiator() {
            let AddressIds { local: local_id, remote: remote_id } = entry.ids;
            self.notify_manager(cx, PathEvent::Ended { local_id, remote_id, how });
        }
    }
}

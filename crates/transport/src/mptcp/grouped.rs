//! Simultaneous SYNs: the subflows of a group, of which all but the first join without a token
//! (001 s4.1.1). What the server keeps until the connection of a group is known is in
//! `early_joins`.
//!
//! The option is for private use. A server that does not know it answers as TCP; such a path is
//! reset, and joined as usual later.

use super::connection::Connection;
use super::management::JoinRequest;
use super::priority::Priority;
use super::stage::{Handshake, Stage};
use super::subflow::{AddressIds, SubflowEntry};
use crate::tcp::multipath::{Multipath, SegmentInfo};
use crate::tcp::subflow::{Identity, Subflow};
use base::{Context, InterfaceId, PathId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::{GroupSyn, Join, MptcpOption, MptcpOptions};
use wire::{Flags, TcpSegment};

/// What a server keeps of a path's SYN until it knows the connection.
#[derive(Clone, Copy, Debug)]
pub struct GroupedJoin {
    pub remote_id: u8,
    pub backup: bool,
    pub local_nonce: u32,
    pub remote_nonce: u32,
}

/// What a client keeps of a path of a group.
#[derive(Clone, Debug, Default)]
pub struct Grouped {
    /// The SYN/ACK, which came before the server's key.
    answer: Option<Box<TcpSegment>>,
}

impl Connection {
    /// Puts the option on the SYN of the first path, and has the SYNs to these peers from these
    /// addresses sent beside it.
    pub fn open_group(&mut self, group: u64, peers: &[(IpAddr, SocketAddr)]) {
        let option = GroupSyn { backup: false, address_id: 0, number: group };
        let first = self.subflows.first_mut().and_then(|entry| entry.tcp.multipath());
        let options = first.map(|mp| mp.syn_options_mut());
        if let Some(options) = options.filter(|options| options.group().is_none()) {
            options.push(MptcpOption::Group(option));
        }
        self.management.request_group(group, peers);
    }

    /// Sends the SYN of another path of the group.
    pub fn open_grouped(&mut self, request: &JoinRequest, identity: &Identity, group: u64) {
        let JoinRequest { local_id, remote_id, interface, .. } = *request;
        // The interface may have been marked for backup since the request.
        let here = self.management.addresses().local(local_id);
        let backup = here.is_some_and(|here| here.backup);
        let option = GroupSyn { backup, address_id: local_id, number: group };
        let on_syn = MptcpOptions::from(MptcpOption::Group(option));
        let mut subflow = Subflow::connect(identity, &self.config.tcp);
        subflow.set_multipath(Multipath::new(on_syn, self.room()));
        let mut handshake = Handshake::new(true, group as u32 ^ u32::from(local_id), 0);
        handshake.grouped = Some(Box::default());
        let ids = AddressIds { local: local_id, remote: remote_id };
        let priority = Priority::new(backup, false);
        let entry = SubflowEntry::new(subflow, interface, handshake, ids, priority);
        self.subflows.add(entry, &self.controller, &mut self.sender);
    }

    /// A SYN/ACK that comes before the first path's waits for it: without the server's key there
    /// is no third packet. Whether it does.
    pub(super) fn holds_answer(&mut self, index: usize, segment: &TcpSegment) -> bool {
        let waits = self.keys.remote().is_none() && !self.is_plain();
        let entry = &mut self.subflows[index];
        let opening = entry.stage() == Stage::Opening && segment.flags.contains(Flags::SYN);
        match &mut entry.handshake.grouped {
            Some(grouped) if waits && opening => {
                grouped.answer = Some(Box::new(segment.clone()));
                true
            }
            _ => false,
        }
    }

    /// The server's key is there: SYN/ACKs that waited for it are heard now.
    pub(super) fn release_answers(&mut self, cx: &mut Context<'_>) {
        for index in 1..self.subflows.len() {
            let grouped = self.subflows[index].handshake.grouped.as_mut();
            if let Some(mut answer) = grouped.and_then(|grouped| grouped.answer.take()) {
                self.handle_segment(cx, index, &mut answer);
            }
        }
    }

    /// The SYN/ACK of a path of the group. `false`: the server does not know groups, and the path
    /// is free to be joined as usual.
    pub(super) fn hear_group_answer(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
    ) -> bool {
        let (Some(remote_key), Some(answer)) = (self.keys.remote(), heard.options.group()) else {
            self.reset_subflow(cx, index, MptcpOptions::default());
            return false;
        };
        let nonce = answer.number as u32;
        let entry = &mut self.subflows[index];
        let hmac = self.keys.own_hmac(remote_key, entry.handshake.nonces().0, nonce).left20();
        entry.handshake.on_answered(cx.now, nonce, entry.tcp.rto());
        entry.ids.remote = answer.address_id;
        entry.priority.add_remote(answer.backup);
        let at = entry.tcp.tuple().remote;
        if let Some(mp) = entry.tcp.multipath() {
            mp.repeat_on_acks(MptcpOption::Join(Join::Ack { hmac }));
        }
        self.fallback.on_group_answered();
        self.management.addresses_mut().learn(answer.address_id, at);
        true
    }

    /// The number of an address of this host.
    pub fn address_id(&self, ip: IpAddr) -> Option<u8> {
        self.management.addresses().local_id(ip)
    }

    /// Take over a subflow that was opened before this connection was known.
    pub fn adopt(
        &mut self,
        interface: InterfaceId,
        mut subflow: Subflow,
        join: &GroupedJoin,
    ) -> Option<PathId> {
        let path = self.subflows.next_path()?;
        subflow.set_owner(self.socket, path);
        subflow.set_option_room(self.room());
        let local = subflow.tuple().local.ip();
        let local_id = self.management.addresses().local_id(local).unwrap_or(0);
        let handshake = Handshake::new(false, join.local_nonce, join.remote_nonce);
        let ids = AddressIds { local: local_id, remote: join.remote_id };
        let priority = Priority::new(false, join.backup);
        let entry = SubflowEntry::new(subflow, interface, handshake, ids, priority);
        self.subflows.add(entry, &self.controller, &mut self.sender);
        Some(path)
    }
}

//! Opening a connection and joining subflows to it: MP_CAPABLE and MP_JOIN (RFC 8684 s3.1, s3.2).

use super::connection::{Connection, Start};
use super::fallback::{Announcement, JoinAccepted};
use super::management::JoinRequest;
use super::priority::Priority;
use super::receive::{DataReceive, SYN_ACK_HEADER, SYN_HEADER};
use super::stage::{Handshake, Repetition, Stage};
use super::subflow::{AddressIds, SubflowEntry};
use crate::path_manager::{Ending, PathEvent};
use crate::scheduler::PathChange;
use crate::socket::ConnectionEvent;
use crate::tcp::multipath::{Multipath, SegmentInfo};
use crate::tcp::subflow::{Identity, Subflow, Tuple};
use base::{Context, Instant, InterfaceId, PathId};
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, Join, Key, MptcpOption, MptcpOptions, ResetReason,
};
use wire::{Flags, TcpSegment};

/// SYNs repeated with the option before it is left out (Linux `syn_retrans_before_tcp_fallback`).
const SYN_REPETITIONS: u32 = 2;
/// Option bytes of a mapping with 64 bits and an acknowledgement with 32, padded.
pub(super) const SHORT_ROOM: u32 = 24;
/// With 64 bits both, or a checksum.
pub(super) const LONG_ROOM: u32 = 28;

/// What the peer asks for in a SYN that we can serve.
pub fn acceptable_capable(syn: &TcpSegment) -> Option<CapableFlags> {
    match syn.options.mptcp.capable()? {
        Capable::V1 { flags, form: CapableForm::Syn } if !flags.must_be_ignored() => Some(flags),
        _ => None,
    }
}

impl Connection {
    /// An active opener: the first subflow's SYN is due.
    pub fn connect(start: &Start<'_>, identity: &Identity, interface: InterfaceId) -> Connection {
        let receive = DataReceive::new(start.config, identity.mtu, SYN_HEADER);
        let mut connection = Connection::new(start, receive);
        let on_syn = MptcpOptions::from(connection.keys.syn_option());
        let mut subflow = Subflow::connect(identity, &start.config.tcp);
        let mut mp = Multipath::new(on_syn, connection.room());
        mp.limit_syn_repetitions(SYN_REPETITIONS);
        subflow.set_multipath(mp);
        connection.add_first(subflow, interface);
        connection
    }

    /// A passive opener that answers a SYN with MP_CAPABLE.
    pub fn accept(
        now: Instant,
        start: &Start<'_>,
        identity: &Identity,
        interface: InterfaceId,
        syn: &TcpSegment,
        asked: CapableFlags,
    ) -> Connection {
        let receive = DataReceive::new(start.config, identity.mtu, SYN_ACK_HEADER);
        let mut connection = Connection::new(start, receive);
        connection.keys.on_flags(asked);
        let on_syn = MptcpOptions::from(connection.keys.syn_ack_option());
        let mp = Multipath::new(on_syn, connection.room());
        let subflow = Subflow::accept_multipath(now, identity, &start.config.tcp, syn, mp);
        connection.add_first(subflow, interface);
        connection
    }

    pub(super) fn room(&self) -> u32 {
        if self.keys.uses_checksum() || self.receive.uses_long_numbers() {
            LONG_ROOM
        } else {
            SHORT_ROOM
        }
    }

    /// Add the first subflow.
    fn add_first(&mut self, subflow: Subflow, interface: InterfaceId) {
        // Its handshake offers the connection's window (RFC 8684 s3.3.4).
        self.receive.extend_edge(u64::from(subflow.offered_window()));
        let handshake = Handshake::new(self.keys.is_client(), 0, 0);
        let (ids, priority) = (AddressIds::FIRST, Priority::default());
        let entry = SubflowEntry::new(subflow, interface, handshake, ids, priority);
        self.subflows.add(entry, &self.controller, &mut self.sender);
    }

    /// Path number for a subflow that is to be opened or accepted.
    pub fn free_path(&self) -> Option<PathId> {
        self.subflows.next_path()
    }

    /// Open the subflow that was asked for.
    pub fn open_join(&mut self, request: &JoinRequest, identity: &Identity, nonce: u32) {
        let Some(remote_key) = self.keys.remote() else { return };
        let JoinRequest { local_id, remote_id, backup, interface, .. } = *request;
        let mut on_syn = MptcpOptions::default();
        on_syn.push(MptcpOption::Join(Join::Syn {
            backup,
            address_id: local_id,
            token: remote_key.token(),
            nonce,
        }));
        let mut subflow = Subflow::connect(identity, &self.config.tcp);
        subflow.set_multipath(Multipath::new(on_syn, self.room()));
        let handshake = Handshake::new(true, nonce, 0);
        let ids = AddressIds { local: local_id, remote: remote_id };
        let priority = Priority::new(backup, false);
        let entry = SubflowEntry::new(subflow, interface, handshake, ids, priority);
        self.subflows.add(entry, &self.controller, &mut self.sender);
    }

    /// Whether the SYN of a join is taken: fully established, and room for one more.
    pub fn may_accept_join(&self) -> bool {
        self.keys.is_fully_established()
            && !self.is_plain()
            && !self.lifecycle.is_closed()
            && !self.refuses_joins()
            && !self.fallback.is_fail_sent()
            && !self.fallback.is_fail_agreed()
            && self.management.has_room(&self.subflows)
            && self.subflows.next_path().is_some()
    }

    /// A join found no room. The peer may know better which of the subflows between these
    /// addresses live: what told this host that one is over may have been lost. They are asked,
    /// and an answer that they are unknown makes room. Whether there are any; mainline does not
    /// ask.
    pub fn ask_rivals(&mut self, tuple: &Tuple) -> bool {
        if self.is_over() || self.management.is_kernel() {
            return false;
        }
        let mut asked = false;
        for index in 0..self.subflows.len() {
            let entry = &mut self.subflows[index];
            let ends = entry.tcp.tuple();
            if ends.local != tuple.local || ends.remote.ip() != tuple.remote.ip() {
                continue;
            }
            match entry.stage() {
                Stage::Open => entry.tcp.send_keep_alive(),
                Stage::Opening if !entry.handshake.is_initiator() => entry.tcp.repeat_syn_ack(),
                _ => continue,
            }
            asked = true;
            self.subflows.wake(index);
        }
        asked
    }

    /// The application will send no more, and mainline then takes no more joins, at
    /// none of their three packets: Linux 6.18 wants the connection in state ESTABLISHED.
    fn refuses_joins(&self) -> bool {
        self.numbers.is_fin_queued() && self.mainline_limits
    }

    /// Answer the SYN of a join.
    pub fn accept_join(
        &mut self,
        now: Instant,
        identity: &Identity,
        interface: InterfaceId,
        syn: &TcpSegment,
        nonce: u32,
    ) {
        let Some(Join::Syn { backup, address_id, nonce: theirs, .. }) = syn.options.mptcp.join()
        else {
            return;
        };
        let Some(remote_key) = self.keys.remote() else { return };
        let addresses = self.management.addresses();
        let local_id = addresses.local_id(identity.tuple.local.ip()).unwrap_or(0);
        let hmac = self.keys.own_hmac(remote_key, nonce, theirs).left8();
        let backup_local = addresses.local(local_id).is_some_and(|local| local.backup);
        let answer = Join::SynAck { backup: backup_local, address_id: local_id, hmac, nonce };
        let mut on_syn = MptcpOptions::default();
        on_syn.push(MptcpOption::Join(answer));
        let mp = Multipath::new(on_syn, self.room());
        let subflow = Subflow::accept_multipath(now, identity, &self.config.tcp, syn, mp);
        let handshake = Handshake::new(false, nonce, theirs);
        let ids = AddressIds { local: local_id, remote: address_id };
        let priority = Priority::new(backup_local, backup);
        let entry = SubflowEntry::new(subflow, interface, handshake, ids, priority);
        self.subflows.add(entry, &self.controller, &mut self.sender);
    }

    /// A segment arrived on a subflow that is being opened. `false`: it is no more.
    pub(super) fn hear_opening(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
    ) -> bool {
        let first = index == 0;
        match (first, self.subflows[index].handshake.is_initiator()) {
            (true, true) => self.hear_capable_answer(cx, heard),
            (true, false) => self.hear_capable_proof(cx, heard),
            (false, true) if self.subflows[index].handshake.grouped.is_some() => {
                return self.hear_group_answer(cx, index, heard);
            }
            (false, true) => return self.hear_join_answer(cx, index, heard),
            (false, false) => return self.hear_join_proof(cx, index, heard),
        }
        true
    }

    /// The client's first subflow: the SYN/ACK.
    fn hear_capable_answer(&mut self, cx: &mut Context<'_>, heard: &SegmentInfo) {
        self.sender.queue.allow(self.sender.queue.una(), heard.window);
        self.subflows[0].handshake.on_open();
        self.receive.on_established(cx.now);
        self.lifecycle.push(ConnectionEvent::Connected);
        let (flags, remote) = match heard.options.capable() {
            Some(Capable::V1 { flags, form: CapableForm::SynAck { sender } })
                if !flags.must_be_ignored() =>
            {
                (flags, sender)
            }
            _ => return self.fall_back(cx, Announcement::Nothing),
        };
        self.keys.on_flags(flags);
        self.learn_remote_key(remote);
        let (flags, sender, receiver) = self.keys.proof(remote);
        let room = self.room();
        if let Some(mp) = self.subflows[0].tcp.multipath() {
            let form = CapableForm::Ack { sender, receiver };
            mp.repeat_on_acks(MptcpOption::Capable(Capable::V1 { flags, form }));
            mp.set_keys(flags, sender, receiver);
        }
        self.subflows[0].tcp.set_option_room(room);
    }

    /// The server's first subflow: the third packet, or the first data.
    fn hear_capable_proof(&mut self, cx: &mut Context<'_>, heard: &SegmentInfo) {
        self.sender.queue.allow(self.sender.queue.una(), heard.window);
        self.subflows[0].handshake.on_open();
        self.receive.on_established(cx.now);
        self.lifecycle.push(ConnectionEvent::Accepted);
        let key = self.keys.proven_key(heard);
        self.refused += u64::from(key.is_err());
        let Ok(Some(key)) = key else { return self.fall_back(cx, Announcement::Nothing) };
        self.learn_remote_key(key);
        self.become_fully_established(cx);
    }

    /// A segment that says by its DSS that the peer speaks MPTCP, but lacks the keys, came before
    /// the one with them: it is as good as lost. The SYN/ACK is repeated, and the keys with it.
    pub(super) fn comes_before_keys(&self, segment: &TcpSegment) -> bool {
        let Some(entry) = self.subflows.first() else { return false };
        let waits = !self.keys.is_client() && entry.stage() == Stage::Opening;
        let options = &segment.options.mptcp;
        waits
            && entry.tcp.handshake_repetitions() <= SYN_REPETITIONS
            && !segment.flags.contains(Flags::SYN)
            && options.dss.is_some()
            && options.capable().is_none()
    }

    /// The peer's SYN came again without the option: it is answered without (RFC 8684 s3.1).
    pub(super) fn heed_repeated_syn(&mut self, segment: &TcpSegment) {
        let opening = self.subflows.first().is_some_and(|entry| entry.stage() == Stage::Opening);
        let syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        if syn
            && opening
            && !self.keys.is_client()
            && acceptable_capable(segment).is_none()
            && let Some(mp) = self.subflows[0].tcp.multipath()
        {
            *mp.syn_options_mut() = MptcpOptions::default();
        }
    }

    fn learn_remote_key(&mut self, key: Key) {
        self.keys.on_remote_key(key);
        let idsn = match self.config.test_idsn {
            Some([client, server]) => {
                if self.keys.is_client() {
                    server
                } else {
                    client
                }
            }
            None => key.idsn(),
        };
        self.receive.set_idsn(idsn);
    }

    /// Both sides know that both have the keys.
    pub(super) fn become_fully_established(&mut self, cx: &mut Context<'_>) {
        if !self.keys.on_established() {
            return;
        }
        if let Some(mp) = self.subflows[0].tcp.multipath() {
            mp.on_fully_established();
        }
        self.receive.mark_changed();
        self.sender.set_due();
        self.notify_manager(cx, PathEvent::Established);
        if let Some(first) = self.management.addresses().local(0).filter(|first| first.backup) {
            // The SYN of a first subflow has no flag for it.
            self.set_backup(first.ip, true);
            self.announce_priority(0);
        }
        self.check_fin(cx);
    }

    /// The initiator of a join: the SYN/ACK.
    fn hear_join_answer(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        heard: &SegmentInfo,
    ) -> bool {
        let Some(remote_key) = self.keys.remote() else { return false };
        let Some(answer @ Join::SynAck { backup, address_id, nonce, .. }) = heard.options.join()
        else {
            self.refused += 1;
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        };
        if self.fallback.is_pending() {
            // Falling back was proposed when no join was known to both.
            self.reset_for(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            return false;
        }
        if self.refuses_joins() {
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        let (ours, _) = self.subflows[index].handshake.nonces();
        let expected = self.keys.peer_hmac(remote_key, ours, nonce);
        if !answer.proves(&expected) {
            self.refused += 1;
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        if self.fallback.on_join_answered().is_err() {
            return false;
        }
        let proof = self.keys.own_hmac(remote_key, ours, nonce).left20();
        let entry = &mut self.subflows[index];
        entry.handshake.on_answered(cx.now, nonce, entry.tcp.rto());
        entry.ids.remote = address_id;
        entry.priority.add_remote(backup);
        if let Some(mp) = entry.tcp.multipath() {
            mp.repeat_on_acks(MptcpOption::Join(Join::Ack { hmac: proof }));
        }
        true
    }

    /// The third packet of a join is repeated until the fourth comes (RFC 8684 s3.2).
    pub(super) fn repeat_third_packet(&mut self, cx: &mut Context<'_>, index: usize) {
        let entry = &mut self.subflows[index];
        match entry.handshake.on_repeat_due(cx.now, entry.tcp.rto()) {
            Repetition::Send => {
                entry.tcp.acknowledge();
                self.subflows.wake(index);
            }
            Repetition::GiveUp => {
                self.reset_for(cx, index, ResetReason::UNSPECIFIED);
                self.on_ended(cx, index, Ending::Unreachable);
            }
        }
    }

    /// The acceptor of a join: the third packet.
    fn hear_join_proof(&mut self, cx: &mut Context<'_>, index: usize, heard: &SegmentInfo) -> bool {
        let Some(remote_key) = self.keys.remote() else { return false };
        let (ours, theirs) = self.subflows[index].handshake.nonces();
        let expected = self.keys.peer_hmac(remote_key, ours, theirs);
        if !heard.options.join().is_some_and(|proof| proof.proves(&expected)) {
            self.refused += 1;
            self.reset_for(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        if self.fallback.is_fail_agreed() {
            self.reset_for(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            return false;
        }
        if self.refuses_joins() {
            self.reset_for(cx, index, ResetReason::ADMINISTRATIVELY_PROHIBITED);
            return false;
        }
        if self.fallback.on_join_accepted() == Ok(JoinAccepted::InsteadOfFail) {
            // The peer confirmed the join before the MP_FAIL arrived there.
            self.deadlines.stop_fail();
            self.reset_for(cx, 0, ResetReason::MIDDLEBOX_INTERFERENCE);
        }
        self.on_join_open(cx, index);
        let entry = &self.subflows[index];
        let from = entry.tcp.tuple().remote.ip();
        self.management.addresses_mut().on_joined_from(entry.ids.remote, from);
        // The fourth packet, at once.
        self.subflows[index].tcp.acknowledge();
        true
    }

    /// A join is complete.
    pub(super) fn on_join_open(&mut self, cx: &mut Context<'_>, index: usize) {
        let entry = &mut self.subflows[index];
        entry.handshake.on_open();
        if let Some(mp) = entry.tcp.multipath() {
            mp.stop_repeating();
        }
        let (path, AddressIds { local: local_id, remote: remote_id }) = (entry.path, entry.ids);
        self.sender.on_path_changed(path, PathChange::Added);
        self.announce_priority(index);
        self.receive.mark_changed();
        self.sender.set_due();
        self.fallback.on_join_confirmed();
        self.stop_alone_timer();
        self.offer_fin();
        let (sender, paths) = self.parts();
        sender.reinject_failed(&paths);
        self.set_writer_waits(self.sender.queue.writer_waits());
        self.check_writer();
        self.notify_manager(cx, PathEvent::Joined { local_id, remote_id });
    }
}

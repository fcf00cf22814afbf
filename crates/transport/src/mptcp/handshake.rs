//! Opening a connection and its subflows, and falling back to TCP: MP_CAPABLE, MP_JOIN and
//! simultaneous SYNs (RFC 8684 s3.1, s3.2, s3.7; 001 s4.1.1).

use super::config::Start;
use super::connection::Connection;
use super::fallback::{Announcement, JoinAccepted, Suspect};
use super::management::JoinRequest;
use super::opening::Opening;
use super::plain_stream::PlainStream;
use super::receive::{DataReceive, SYN_ACK_HEADER, SYN_HEADER};
use super::simultaneous::SimultaneousJoin;
use super::stage::{Repetition, Stage};
use super::subflow::{AddressIds, SubflowEntry};
use super::subflows::FIRST;
use crate::path_manager::{Ending, PathEvent};
use crate::scheduler::PathChange;
use crate::socket::ConnectionEvent;
use crate::tcp::multipath::SegmentInfo;
use crate::tcp::subflow::{Identity, Subflow, Tuple};
use base::{Context, Instant, InterfaceId, PathId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, GroupSyn, Join, Key, MptcpOption, MptcpOptions, ResetReason,
};
use wire::{Flags, TcpSegment};

/// Option bytes of a mapping and an acknowledgement of 32 bits, with or without a checksum, padded.
const LEAST_ROOM: u32 = 20;
/// Of a mapping with 64 bits and an acknowledgement with 32, padded; of the keys with the first
/// data, too.
const SHORT_ROOM: u32 = 24;
/// With 64 bits both, or a checksum.
const LONG_ROOM: u32 = 28;

/// The flags of an MP_CAPABLE in the peer's SYN whose version and algorithm are supported.
pub(super) fn acceptable_capable(syn: &TcpSegment) -> Option<CapableFlags> {
    match syn.options.mptcp.capable()? {
        Capable::V1 { flags, form: CapableForm::Syn } if !flags.must_be_ignored() => Some(flags),
        _ => None,
    }
}

impl Connection {
    /// An active opener: the SYN of the first subflow is due.
    pub(crate) fn connect(
        start: &Start<'_>,
        identity: &Identity,
        interface: InterfaceId,
    ) -> Connection {
        let receive = DataReceive::new(start.config, identity.mtu, SYN_HEADER);
        let mut connection = Connection::new(start, receive);
        let entry = connection.opening().first(identity, interface);
        connection.add_first(entry);
        connection
    }

    /// A passive opener that answers a SYN with MP_CAPABLE.
    pub(crate) fn accept(
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
        let entry = connection.opening().first_accepted(now, identity, interface, syn);
        connection.add_first(entry);
        connection
    }

    /// Option bytes that the DSS of a segment takes.
    pub(super) fn room(&self) -> u32 {
        let has_keys = self.keys.is_client() && !self.keys.is_fully_established();
        match (self.numbers.are_long(), self.receive.uses_long_numbers()) {
            (false, false) if !has_keys => LEAST_ROOM,
            (false, _) => SHORT_ROOM,
            (true, false) if !self.keys.uses_checksum() => SHORT_ROOM,
            (true, _) => LONG_ROOM,
        }
    }

    /// Add the first subflow. Its handshake offers the connection's window (RFC 8684 s3.3.4).
    fn add_first(&mut self, entry: SubflowEntry) {
        self.receive.extend_edge(u64::from(entry.tcp.offered_window()));
        self.add_subflow(entry);
    }

    pub(super) fn add_subflow(&mut self, mut entry: SubflowEntry) {
        // It learns of the next change. Until then its own window is announced, as a join has no
        // DATA_ACK to raise it (Linux `mptcp_set_rwin`).
        if self.subflows.len() > 0 {
            entry.informed = self.receive.version();
        }
        self.subflows.add(entry, &self.controller, &mut self.sender);
    }

    /// What new subflows are made from.
    pub(super) fn opening(&self) -> Opening<'_> {
        Opening { keys: &self.keys, config: &self.config.tcp, room: self.room() }
    }

    /// Open the subflow that was requested.
    pub(crate) fn open_join(&mut self, request: &JoinRequest, identity: &Identity, nonce: u32) {
        if let Some(entry) = self.opening().join(request, identity, nonce) {
            self.add_subflow(entry);
        }
    }

    /// Whether the SYN of a join is accepted: the connection is fully established and has room.
    pub(crate) fn may_accept_join(&self) -> bool {
        self.keys.is_fully_established()
            && !self.is_over()
            && !self.refuses_joins()
            && !self.fallback.is_pending()
            && self.management.has_room(&self.subflows)
            && self.subflows.next_path().is_some()
    }

    /// Whether joins are accepted only on ports where the host listens, as in mainline Linux.
    pub(crate) fn is_joined_where_it_listens(&self) -> bool {
        self.management.is_kernel()
    }

    /// A join exceeds the limit of subflows. A reset of one of the subflows between these addresses
    /// may have been lost: the peer is made to answer on each of them, and a reset in answer makes
    /// room. Returns whether there are any. Mainline Linux does not do this.
    pub(crate) fn ask_rivals(&mut self, tuple: &Tuple) -> bool {
        !self.is_over() && !self.management.is_kernel() && self.subflows.prompt_between(tuple)
    }

    /// Once nothing more is written mainline Linux (6.18) refuses joins at any of their packets.
    fn refuses_joins(&self) -> bool {
        self.numbers.is_fin_queued() && self.config.mainline_limits
    }

    /// Answer the SYN of a join.
    pub(crate) fn accept_join(
        &mut self,
        now: Instant,
        identity: &Identity,
        interface: InterfaceId,
        syn: &TcpSegment,
        nonce: u32,
    ) {
        let (opening, addresses) = (self.opening(), self.management.addresses());
        let entry = opening.accepted(now, identity, interface, (syn, nonce), addresses);
        if let Some(entry) = entry {
            self.add_subflow(entry);
        }
    }

    /// A segment with a DSS that lacks the keys came before the one with them: it is dropped, so
    /// that the SYN/ACK is repeated, and the keys with it.
    pub(super) fn comes_before_keys(&self, segment: &TcpSegment) -> bool {
        let first = self.subflows.first().filter(|_| !self.keys.is_client());
        first.is_some_and(|entry| entry.comes_before_keys(segment))
    }

    /// The peer's SYN came again without the option: it is answered without (RFC 8684 s3.1).
    pub(super) fn handle_repeated_syn(&mut self, segment: &TcpSegment) {
        let first = self.subflows.first_mut().filter(|_| !self.keys.is_client());
        let syn = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        if let Some(entry) = first.filter(|entry| syn && entry.stage() == Stage::Opening)
            && acceptable_capable(segment).is_none()
            && let Some(mp) = entry.tcp.multipath()
        {
            *mp.syn_options_mut() = MptcpOptions::default();
        }
    }

    /// A segment arrived on a subflow that is being opened. Returns `false` if
    /// the segment is not processed further.
    pub(super) fn handle_opening(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &SegmentInfo<'_>,
    ) -> bool {
        let first = index == 0;
        match (first, self.subflows[index].handshake.is_initiator()) {
            (true, true) => self.handle_capable_answer(cx, segment),
            (true, false) => self.handle_capable_proof(cx, segment),
            (false, true) if self.subflows[index].handshake.simultaneous.is_some() => {
                return self.handle_group_answer(cx, index, segment);
            }
            (false, true) => return self.handle_join_answer(cx, index, segment),
            (false, false) => return self.handle_join_proof(cx, index, segment),
        }
        true
    }

    /// The client's first subflow: the SYN/ACK.
    fn handle_capable_answer(&mut self, cx: &mut Context<'_>, segment: &SegmentInfo<'_>) {
        self.sender.queue.allow_provisionally(segment.window);
        self.subflows[0].handshake.on_open();
        self.receive.on_established(cx.now, self.subflows[0].tcp.received_mss());
        self.lifecycle.push(ConnectionEvent::Connected);
        let (flags, remote) = match segment.options.capable() {
            Some(Capable::V1 { flags, form: CapableForm::SynAck { sender } })
                if !flags.must_be_ignored() =>
            {
                (flags, sender)
            }
            _ => return self.fall_back(cx, Announcement::Nothing),
        };
        self.keys.on_flags(flags);
        self.on_remote_key(remote);
        let (flags, sender, receiver) = self.keys.proof(remote);
        let room = self.room();
        if let Some(mp) = self.subflows[0].tcp.multipath() {
            let form = CapableForm::Ack { sender, receiver };
            mp.repeat_on_acks(MptcpOption::Capable(Capable::V1 { flags, form }));
            mp.set_keys(flags, sender, receiver);
        }
        self.subflows[0].tcp.set_option_room(room);
        // It may have been shut down before.
        self.check_fin(cx);
    }

    /// The server's first subflow: the third packet, or the first data.
    fn handle_capable_proof(&mut self, cx: &mut Context<'_>, segment: &SegmentInfo<'_>) {
        self.sender.queue.allow_provisionally(segment.window);
        self.subflows[0].handshake.on_open();
        self.receive.on_established(cx.now, self.subflows[0].tcp.received_mss());
        self.lifecycle.push(ConnectionEvent::Accepted);
        let key = self.keys.proven_key(segment);
        self.refused += u64::from(key.is_err());
        let Ok(Some(key)) = key else { return self.fall_back(cx, Announcement::Nothing) };
        self.on_remote_key(key);
        self.become_fully_established(cx);
    }

    fn on_remote_key(&mut self, key: Key) {
        self.keys.on_remote_key(key);
        self.receive.set_idsn(self.config.idsn(!self.keys.is_client(), key));
    }

    /// Both sides know that both have the keys.
    pub(super) fn become_fully_established(&mut self, cx: &mut Context<'_>) {
        if !self.keys.on_established() {
            return;
        }
        if let Some(mp) = self.subflows[0].tcp.multipath() {
            mp.on_fully_established();
        }
        self.subflows.set_option_room(self.room());
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
    fn handle_join_answer(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &SegmentInfo<'_>,
    ) -> bool {
        let Some(remote_key) = self.keys.remote() else { return false };
        let Some(answer @ Join::SynAck { backup, address_id, nonce, .. }) = segment.options.join()
        else {
            self.refused += 1;
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        };
        if self.fallback.is_pending() {
            // Falling back was proposed when no join was known to both.
            self.reset(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            return false;
        }
        if self.refuses_joins() {
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        let (ours, _) = self.subflows[index].handshake.nonces();
        let expected = self.keys.peer_hmac(remote_key, ours, nonce);
        if !answer.proves(&expected) {
            self.refused += 1;
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        if self.fallback.on_join_answered().is_err() {
            return false;
        }
        let proof = self.keys.own_hmac(remote_key, ours, nonce).left20();
        let third = MptcpOption::Join(Join::Ack { hmac: proof });
        self.receive.on_joined();
        self.subflows[index].on_join_answered(cx.now, nonce, (address_id, backup), third);
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
                self.reset(cx, index, ResetReason::UNSPECIFIED);
                self.on_ended(cx, index, Ending::Unreachable);
            }
        }
    }

    /// The acceptor of a join: the third packet.
    fn handle_join_proof(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &SegmentInfo<'_>,
    ) -> bool {
        let Some(remote_key) = self.keys.remote() else { return false };
        let (ours, theirs) = self.subflows[index].handshake.nonces();
        let expected = self.keys.peer_hmac(remote_key, ours, theirs);
        if !segment.options.join().is_some_and(|proof| proof.proves(&expected)) {
            self.refused += 1;
            self.reset(cx, index, ResetReason::MPTCP_ERROR);
            return false;
        }
        if self.fallback.is_fail_agreed() {
            self.reset(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
            return false;
        }
        if self.refuses_joins() {
            self.reset(cx, index, ResetReason::ADMINISTRATIVELY_PROHIBITED);
            return false;
        }
        if self.fallback.on_join_accepted() == Ok(JoinAccepted::InsteadOfFail) {
            // The peer confirmed the join before the MP_FAIL arrived there.
            self.deadlines.stop_fail();
            self.reset(cx, 0, ResetReason::MIDDLEBOX_INTERFERENCE);
        }
        self.receive.on_joined();
        self.on_join_open(cx, index);
        let entry = &mut self.subflows[index];
        let from = entry.tcp.tuple().remote.ip();
        self.management.addresses_mut().on_joined_from(entry.ids.remote, from);
        // The fourth packet, at once.
        entry.tcp.acknowledge();
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

    /// Puts the option on the SYN of the first path, and requests the SYNs to these peers from
    /// these addresses in addition.
    pub(crate) fn open_group(&mut self, group: u64, peers: &[(IpAddr, SocketAddr)]) {
        let option = GroupSyn { backup: false, address_id: 0, number: group };
        let first = self.subflows.first_mut().and_then(|entry| entry.tcp.multipath());
        let options = first.map(|mp| mp.syn_options_mut());
        if let Some(options) = options.filter(|options| options.group().is_none()) {
            options.push(MptcpOption::Group(option));
        }
        self.management.request_group(group, peers);
    }

    /// Sends the SYN of another path of the group.
    pub(crate) fn open_simultaneous(
        &mut self,
        request: &JoinRequest,
        identity: &Identity,
        group: u64,
    ) {
        // The interface may have been marked for backup since the request.
        let here = self.management.addresses().local(request.local_id);
        let request = JoinRequest { backup: here.is_some_and(|here| here.backup), ..*request };
        let entry = self.opening().simultaneous(&request, identity, group);
        self.add_subflow(entry);
    }

    /// A SYN/ACK that arrives before the first path's waits for it: without the server's key there
    /// is no third packet. Whether it does.
    pub(super) fn hold_answer(&mut self, index: usize, segment: &TcpSegment) -> bool {
        let waits = self.keys.remote().is_none() && !self.is_plain();
        waits && self.subflows[index].handshake.hold_answer(segment)
    }

    /// The server's key arrived: handle the SYN/ACKs that waited for it.
    pub(super) fn release_answers(&mut self, cx: &mut Context<'_>) {
        for index in 1..self.subflows.len() {
            let syn = self.subflows[index].handshake.simultaneous.as_mut();
            if let Some(mut answer) = syn.and_then(|syn| syn.answer.take()) {
                self.handle_segment(cx, index, &mut answer);
            }
        }
    }

    /// The SYN/ACK of a path of the group. `false`: the server does not know groups, and the path
    /// is free to be joined as usual.
    pub(super) fn handle_group_answer(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        segment: &SegmentInfo<'_>,
    ) -> bool {
        let (Some(remote_key), Some(answer)) = (self.keys.remote(), segment.options.group()) else {
            self.reset_subflow(cx, index, MptcpOptions::default());
            return false;
        };
        let nonce = answer.number as u32;
        let entry = &mut self.subflows[index];
        let hmac = self.keys.own_hmac(remote_key, entry.handshake.nonces().0, nonce).left20();
        let at = entry.tcp.tuple().remote;
        let third = MptcpOption::Join(Join::Ack { hmac });
        entry.on_join_answered(cx.now, nonce, (answer.address_id, answer.backup), third);
        self.receive.on_joined();
        self.fallback.on_group_answered();
        self.management.addresses_mut().learn(answer.address_id, at);
        true
    }

    /// The number of an address of this host.
    pub(crate) fn address_id(&self, ip: IpAddr) -> Option<u8> {
        self.management.addresses().local_id(ip)
    }

    /// Take over a subflow that was opened before this connection was known.
    pub(crate) fn adopt(
        &mut self,
        interface: InterfaceId,
        mut tcp: Subflow,
        join: &SimultaneousJoin,
    ) -> Option<PathId> {
        let path = self.subflows.next_path()?;
        tcp.set_owner(self.socket, path);
        let entry = self.opening().adopted(tcp, interface, join, self.management.addresses());
        self.add_subflow(entry);
        Some(path)
    }

    /// A join was confirmed or failed: once none is pending, options lost before are judged.
    pub(super) fn resolve_join(&mut self, cx: &mut Context<'_>) {
        if self.is_over() {
            return;
        }
        let pending = |entry: &SubflowEntry| entry.stage() == Stage::PreEstablished;
        if !self.fallback.is_join_confirmed() && self.subflows.iter().any(pending) {
            return;
        }
        let lost = self.fallback.on_joins_settled();
        let open = self.subflows.first().is_some_and(|entry| entry.stage() == Stage::Open);
        if let Some(announcement) = lost.filter(|_| open) {
            self.on_options_lost(cx, 0, announcement);
        }
    }

    /// Become TCP.
    pub(super) fn fall_back(&mut self, cx: &mut Context<'_>, announcement: Announcement) {
        if announcement == Announcement::FailAndInfiniteMapping {
            self.send_fail();
        }
        let Ok(suspect) = self.fallback.become_plain(announcement) else { return };
        self.stop_timers();
        self.sender.end_multipath();
        self.receive.forget_fin();
        self.receive.mark_changed();
        self.subflows.set_informed(false);
        for index in 1..self.subflows.len() {
            self.reset(cx, index, ResetReason::MIDDLEBOX_INTERFERENCE);
        }
        let announces = announcement != Announcement::Nothing;
        let infinite = announces.then(|| {
            let start = self.sender.queue.una();
            self.numbers.infinite_mapping(start, self.keys.uses_checksum())
        });
        let window = self.sender.queue.window_end();
        let Some(entry) = self.subflows.first_mut() else { return };
        entry.fall_back(infinite, window);
        if let Some(suspect) = suspect {
            self.accept_suspect(cx, suspect);
        }
        self.push_plain();
        self.plain_stream().receive(cx.now);
    }

    /// Payload that a middlebox changed is part of the stream after all.
    pub(super) fn accept_suspect(
        &mut self,
        cx: &mut Context<'_>,
        Suspect { offset, payload }: Suspect,
    ) {
        self.receive.extend_edge(offset + u64::from(payload.len()));
        self.receive.insert(cx.now, offset, payload);
        self.lifecycle.push_readable();
    }

    /// Passes written data to the first subflow.
    pub(super) fn push_plain(&mut self) {
        let ends = self.numbers.is_fin_queued();
        self.plain_stream().send(ends);
        self.subflows.wake(0);
    }

    /// The stream after a fallback.
    pub(super) fn plain_stream(&mut self) -> PlainStream<'_> {
        PlainStream {
            first: &mut self.subflows[FIRST],
            sender: &mut self.sender,
            receive: &mut self.receive,
            lifecycle: &mut self.lifecycle,
        }
    }
}

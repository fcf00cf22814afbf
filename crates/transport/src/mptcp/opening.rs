//! Making subflows: the options on their SYN or SYN/ACK, and what is kept of their handshake
//! (RFC 8684 s3.1, s3.2).

use super::addresses::Addresses;
use super::keys::Keys;
use super::management::JoinRequest;
use super::priority::Priority;
use super::simultaneous::SimultaneousJoin;
use super::stage::Handshake;
use super::subflow::{AddressIds, SubflowEntry};
use crate::tcp::TcpConfig;
use crate::tcp::multipath::Multipath;
use crate::tcp::subflow::{Identity, Subflow};
use base::{Instant, InterfaceId};
use wire::TcpSegment;
use wire::mptcp::{GroupSyn, Join, MptcpOption, MptcpOptions};

/// SYNs repeated with the option before it is left out (Linux `syn_retrans_before_tcp_fallback`).
pub(super) const SYN_REPETITIONS: u32 = 2;

/// What a new subflow of a connection is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening<'a> {
    pub keys: &'a Keys,
    pub config: &'a TcpConfig,
    /// Option bytes that are kept free for the DSS.
    pub room: u32,
}

impl Opening<'_> {
    /// The first subflow of a client.
    pub(super) fn first(&self, identity: &Identity, interface: InterfaceId) -> SubflowEntry {
        let mut tcp = Subflow::connect(identity, self.config);
        let mut mp = Multipath::new(self.keys.syn_option().into(), self.room);
        mp.limit_syn_repetitions(SYN_REPETITIONS);
        tcp.set_multipath(mp);
        let handshake = Handshake::new(true, 0, 0);
        SubflowEntry::new(tcp, interface, handshake, AddressIds::FIRST, Priority::default())
    }

    /// The first subflow of a server, which answers a SYN with MP_CAPABLE.
    pub(super) fn first_accepted(
        &self,
        now: Instant,
        identity: &Identity,
        interface: InterfaceId,
        syn: &TcpSegment,
    ) -> SubflowEntry {
        let mp = Multipath::new(self.keys.syn_ack_option().into(), self.room);
        let tcp = Subflow::accept_multipath(now, identity, self.config, syn, mp);
        let handshake = Handshake::new(false, 0, 0);
        SubflowEntry::new(tcp, interface, handshake, AddressIds::FIRST, Priority::default())
    }

    /// The subflow that was requested; `None` before the peer's key is known.
    pub(super) fn join(
        &self,
        request: &JoinRequest,
        identity: &Identity,
        nonce: u32,
    ) -> Option<SubflowEntry> {
        let token = self.keys.remote()?.token();
        let (backup, address_id) = (request.backup, request.local_id);
        let option = MptcpOption::Join(Join::Syn { backup, address_id, token, nonce });
        Some(self.initiated(request, identity, option, Handshake::new(true, nonce, 0)))
    }

    /// One of a group of simultaneous SYNs (001 s4.1.1).
    pub(super) fn simultaneous(
        &self,
        request: &JoinRequest,
        identity: &Identity,
        group: u64,
    ) -> SubflowEntry {
        let (backup, address_id) = (request.backup, request.local_id);
        let option = MptcpOption::Group(GroupSyn { backup, address_id, number: group });
        let nonce = group as u32 ^ u32::from(address_id);
        let mut handshake = Handshake::new(true, nonce, 0);
        handshake.simultaneous = Some(Box::default());
        self.initiated(request, identity, option, handshake)
    }

    fn initiated(
        &self,
        request: &JoinRequest,
        identity: &Identity,
        option: MptcpOption,
        handshake: Handshake,
    ) -> SubflowEntry {
        let mut tcp = Subflow::connect(identity, self.config);
        tcp.set_multipath(Multipath::new(option.into(), self.room));
        let ids = AddressIds { local: request.local_id, remote: request.remote_id };
        let priority = Priority::new(request.backup);
        SubflowEntry::new(tcp, request.interface, handshake, ids, priority)
    }

    /// A subflow that answers the SYN of a join; `None` if it is none.
    pub(super) fn accepted(
        &self,
        now: Instant,
        identity: &Identity,
        interface: InterfaceId,
        (syn, nonce): (&TcpSegment, u32),
        addresses: &Addresses,
    ) -> Option<SubflowEntry> {
        let Some(Join::Syn { backup, address_id, nonce: theirs, .. }) = syn.options.mptcp.join()
        else {
            return None;
        };
        let remote_key = self.keys.remote()?;
        let local_id = addresses.local_id(identity.tuple.local.ip()).unwrap_or(0);
        let own_backup = addresses.local(local_id).is_some_and(|local| local.backup);
        let hmac = self.keys.own_hmac(remote_key, nonce, theirs).left8();
        let answer = Join::SynAck { backup: own_backup, address_id: local_id, hmac, nonce };
        let on_syn = MptcpOptions::from(MptcpOption::Join(answer));
        let mp = Multipath::new(on_syn, self.room);
        let tcp = Subflow::accept_multipath(now, identity, self.config, syn, mp);
        let handshake = Handshake::new(false, nonce, theirs);
        let ids = AddressIds { local: local_id, remote: address_id };
        let priority = Priority::new(own_backup).with_remote(backup);
        Some(SubflowEntry::new(tcp, interface, handshake, ids, priority))
    }

    /// A subflow of a group that was opened before its connection was known.
    pub(super) fn adopted(
        &self,
        mut tcp: Subflow,
        interface: InterfaceId,
        join: &SimultaneousJoin,
        addresses: &Addresses,
    ) -> SubflowEntry {
        tcp.set_option_room(self.room);
        let local_id = addresses.local_id(tcp.tuple().local.ip()).unwrap_or(0);
        let handshake = Handshake::new(false, join.local_nonce, join.remote_nonce);
        let ids = AddressIds { local: local_id, remote: join.remote_id };
        let priority = Priority::new(false).with_remote(join.backup);
        SubflowEntry::new(tcp, interface, handshake, ids, priority)
    }
}

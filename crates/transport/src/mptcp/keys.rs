//! The key exchange of MP_CAPABLE, and what both hosts agreed on with it (RFC 8684 s3.1).

use crate::tcp::multipath::SegmentInfo;
use wire::mptcp::{
    Capable, CapableFlags, CapableForm, DataNumber, Hmac, Key, Mapping, MptcpOption, Token,
    join_hmac,
};

/// How far the exchange is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exchange {
    /// The peer's key is unknown.
    LocalOnly,
    /// Both keys are known here.
    Known(Key),
    /// Both hosts know that both have the keys: fully established.
    Established(Key),
}

/// The keys of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// This host opened the connection.
    client: bool,
    local: Key,
    exchange: Exchange,
    /// DSS checksums are used: either host asked for them.
    checksum: bool,
    /// The peer forbids joins to the address of the first subflow.
    no_join_to_first: bool,
}

impl Keys {
    /// Before the peer's key is known.
    pub(crate) const fn new(client: bool, local: Key) -> Self {
        let exchange = Exchange::LocalOnly;
        Keys { client, local, exchange, checksum: false, no_join_to_first: false }
    }

    /// This host asks for DSS checksums.
    #[must_use]
    pub(crate) const fn with_checksum(mut self, checksum: bool) -> Self {
        self.checksum = checksum;
        self
    }

    /// This host opened the connection.
    #[inline]
    pub(crate) const fn is_client(&self) -> bool {
        self.client
    }

    /// The key of this host.
    #[inline]
    pub(crate) const fn local(&self) -> Key {
        self.local
    }

    /// The token that names this connection in joins of the peer (RFC 8684 s3.2).
    pub(crate) fn token(&self) -> Token {
        self.local.token()
    }

    /// The peer's key.
    #[inline]
    pub(crate) const fn remote(&self) -> Option<Key> {
        match self.exchange {
            Exchange::LocalOnly => None,
            Exchange::Known(key) | Exchange::Established(key) => Some(key),
        }
    }

    /// Both hosts know that both have the keys.
    #[inline]
    pub(crate) const fn is_fully_established(&self) -> bool {
        matches!(self.exchange, Exchange::Established(_))
    }

    /// Mappings carry checksums (RFC 8684 s3.3.1).
    #[inline]
    pub(crate) const fn uses_checksum(&self) -> bool {
        self.checksum
    }

    /// The peer forbids joins to the address of the first subflow.
    pub(crate) const fn forbids_join_to_first(&self) -> bool {
        self.no_join_to_first
    }

    /// The flags of the peer's MP_CAPABLE.
    pub(crate) fn on_flags(&mut self, flags: CapableFlags) {
        self.checksum |= flags.contains(CapableFlags::CHECKSUM);
        self.no_join_to_first |= flags.contains(CapableFlags::NO_JOIN);
    }

    /// The peer's key arrived.
    pub(crate) fn on_remote_key(&mut self, key: Key) {
        debug_assert_eq!(self.exchange, Exchange::LocalOnly, "a key is learned once");
        self.exchange = Exchange::Known(key);
    }

    /// The peer proved that it has both keys. Whether that is new.
    #[inline]
    pub(crate) const fn on_established(&mut self) -> bool {
        match self.exchange {
            Exchange::Known(key) => {
                self.exchange = Exchange::Established(key);
                true
            }
            Exchange::LocalOnly | Exchange::Established(_) => false,
        }
    }

    const fn flags(&self) -> CapableFlags {
        let flags = CapableFlags::HMAC_SHA256;
        if self.checksum { flags.with(CapableFlags::CHECKSUM) } else { flags }
    }

    /// MP_CAPABLE on the SYN of a client.
    pub(crate) const fn syn_option(&self) -> MptcpOption {
        let form = CapableForm::Syn;
        MptcpOption::Capable(Capable::V1 { flags: self.flags(), form })
    }

    /// MP_CAPABLE on the SYN/ACK of a server.
    pub(crate) const fn syn_ack_option(&self) -> MptcpOption {
        let form = CapableForm::SynAck { sender: self.local };
        MptcpOption::Capable(Capable::V1 { flags: self.flags(), form })
    }

    /// What MP_CAPABLE of a client has on its third packet and its first data: flags, its key,
    /// the server's key.
    pub(crate) const fn proof(&self, remote: Key) -> (CapableFlags, Key, Key) {
        (self.flags(), self.local, remote)
    }

    /// The client's key, from its third packet or its first data, if these prove that it has both.
    /// `Err` counts as a refused option, `Ok(None)` does not.
    pub(crate) fn proven_key(&self, segment: &SegmentInfo<'_>) -> Result<Option<Key>, WrongKey> {
        let Some(Capable::V1 { form, .. }) = segment.options.capable() else { return Ok(None) };
        match form {
            CapableForm::Ack { sender, receiver } | CapableForm::Data { sender, receiver, .. } => {
                if receiver == self.local {
                    Ok(Some(sender))
                } else {
                    Err(WrongKey)
                }
            }
            CapableForm::Syn | CapableForm::SynAck { .. } => Ok(None),
        }
    }

    /// The HMAC that this host sends in a join, for both nonces (RFC 8684 s3.2).
    pub(crate) fn own_hmac(&self, remote: Key, local_nonce: u32, remote_nonce: u32) -> Hmac {
        join_hmac((self.local, local_nonce), (remote, remote_nonce))
    }

    /// The HMAC that the peer has to send.
    pub(crate) fn peer_hmac(&self, remote: Key, local_nonce: u32, remote_nonce: u32) -> Hmac {
        join_hmac((remote, remote_nonce), (self.local, local_nonce))
    }

    /// The implied mapping of first data that carry the keys (RFC 8684 s3.1); the peer's stream
    /// begins at `first_dsn`.
    #[inline]
    pub(crate) fn implied_mapping(
        &self,
        segment: &SegmentInfo<'_>,
        first_dsn: u64,
    ) -> Option<Mapping> {
        let Capable::V1 { form, .. } = segment.options.capable()? else { return None };
        let CapableForm::Data { sender, receiver, len, checksum } = form else { return None };
        if self.remote() != Some(sender) || receiver != self.local {
            return None;
        }
        Some(Mapping { dsn: DataNumber::Long(first_dsn), subflow_seq: 1, len, checksum })
    }
}

/// The peer named another key than this host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WrongKey;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_exchanged_before_the_connection_is_fully_established() {
        let mut keys = Keys::new(true, Key(1));
        assert!(!keys.on_established(), "the peer's key is unknown");
        keys.on_remote_key(Key(2));
        assert_eq!((keys.remote(), keys.is_fully_established()), (Some(Key(2)), false));
        assert!(keys.on_established());
        assert!(!keys.on_established(), "it is established once");
        assert!(keys.is_fully_established());
    }

    #[test]
    fn flag_of_either_host_switches_checksums_on() {
        let mut keys = Keys::new(false, Key(1));
        keys.on_flags(CapableFlags::HMAC_SHA256);
        assert!(!keys.uses_checksum() && !keys.forbids_join_to_first());
        keys.on_flags(CapableFlags::HMAC_SHA256.with(CapableFlags::CHECKSUM));
        keys.on_flags(CapableFlags::HMAC_SHA256.with(CapableFlags::NO_JOIN));
        assert!(keys.uses_checksum() && keys.forbids_join_to_first());
        assert!(Keys::new(true, Key(1)).with_checksum(true).uses_checksum());
    }

    #[test]
    fn hosts_of_a_join_compute_the_hmac_of_each_other() {
        let (client, server) = (Keys::new(true, Key(1)), Keys::new(false, Key(2)));
        assert_eq!(client.own_hmac(Key(2), 7, 8), server.peer_hmac(Key(1), 8, 7));
        assert_ne!(client.own_hmac(Key(2), 7, 8), server.own_hmac(Key(1), 8, 7));
    }
}

//! `Chunk`: the chunks of a packet, any type (RFC 9260 s3.2 and s3.3).
//!
//! Chunks with several fields have modules of their own. A chunk of a known type whose content is
//! impossible is kept as [`Chunk::Malformed`]: whether it is answered with ABORT, or ignored,
//! depends on the association.

use super::tlv::pad;
use super::{
    Asconf, AsconfAck, Auth, Cause, Data, ForwardTsn, IData, IForwardTsn, Init, NrSack, Parameter,
    Sack, Tsn, cause, parameter, reconfig,
};
use bytes::Bytes;

/// A chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk {
    /// DATA (RFC 9260 s3.3.1).
    Data(Data),
    /// INIT (RFC 9260 s3.3.2).
    Init(Box<Init>),
    /// INIT ACK (RFC 9260 s3.3.3).
    InitAck(Box<Init>),
    /// SACK (RFC 9260 s3.3.4).
    Sack(Sack),
    /// HEARTBEAT: its first parameter is a Heartbeat Info (RFC 9260 s3.3.5).
    Heartbeat(Vec<Parameter>),
    /// HEARTBEAT ACK: the parameters of the HEARTBEAT, unchanged (RFC 9260 s3.3.6).
    HeartbeatAck(Vec<Parameter>),
    /// ABORT (RFC 9260 s3.3.7).
    Abort {
        /// T bit: the verification tag is that of the packet answered.
        reflected: bool,
        /// Reasons.
        causes: Vec<Cause>,
    },
    /// SHUTDOWN (RFC 9260 s3.3.8).
    Shutdown {
        /// Last TSN received before a gap.
        cum_tsn: Tsn,
    },
    /// SHUTDOWN ACK (RFC 9260 s3.3.9).
    ShutdownAck,
    /// ERROR (RFC 9260 s3.3.10).
    Error(Vec<Cause>),
    /// COOKIE ECHO with the State Cookie (RFC 9260 s3.3.11).
    CookieEcho(Bytes),
    /// COOKIE ACK (RFC 9260 s3.3.12).
    CookieAck,
    /// SHUTDOWN COMPLETE (RFC 9260 s3.3.13).
    ShutdownComplete {
        /// T bit: the verification tag is that of the packet answered.
        reflected: bool,
    },
    /// AUTH (RFC 4895 s4.1).
    Auth(Auth),
    /// NR-SACK (draft-natarajan-tsvwg-sctp-nrsack s3).
    NrSack(NrSack),
    /// I-DATA (RFC 8260 s2.1).
    IData(IData),
    /// ASCONF ACK (RFC 5061 s4.1.2).
    AsconfAck(AsconfAck),
    /// RE-CONFIG: one or two parameters in an allowed combination (RFC 6525 s3.1).
    Reconfig(Vec<Parameter>),
    /// PAD: bytes that are discarded (RFC 4820 s3).
    Pad(Bytes),
    /// FORWARD TSN (RFC 3758 s3.2).
    ForwardTsn(ForwardTsn),
    /// ASCONF (RFC 5061 s4.1.1).
    Asconf(Box<Asconf>),
    /// I-FORWARD-TSN (RFC 8260 s2.3).
    IForwardTsn(IForwardTsn),
    /// A type that is not known here; see [`super::UnknownRule`].
    Unknown(RawChunk),
    /// A known type with a content that it cannot have.
    Malformed(RawChunk),
}

/// A chunk as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawChunk {
    /// Chunk type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Bytes behind the length, without padding.
    pub value: Bytes,
}

/// Bytes of type, flags and length.
pub(super) const HEADER: usize = 4;

const DATA: u8 = 0x00;
const INIT: u8 = 0x01;
const INIT_ACK: u8 = 0x02;
const SACK: u8 = 0x03;
const HEARTBEAT: u8 = 0x04;
const HEARTBEAT_ACK: u8 = 0x05;
const ABORT: u8 = 0x06;
const SHUTDOWN: u8 = 0x07;
const SHUTDOWN_ACK: u8 = 0x08;
const ERROR: u8 = 0x09;
const COOKIE_ECHO: u8 = 0x0A;
const COOKIE_ACK: u8 = 0x0B;
const SHUTDOWN_COMPLETE: u8 = 0x0E;
const AUTH: u8 = 0x0F;
const NR_SACK: u8 = 0x10;
const I_DATA: u8 = 0x40;
const ASCONF_ACK: u8 = 0x80;
const RE_CONFIG: u8 = 0x82;
const PAD: u8 = 0x84;
const FORWARD_TSN: u8 = 0xC0;
const ASCONF: u8 = 0xC1;
const I_FORWARD_TSN: u8 = 0xC2;

/// T bit of ABORT and SHUTDOWN COMPLETE.
const REFLECTED: u8 = 0x01;

impl Chunk {
    /// Chunk type.
    pub const fn kind(&self) -> u8 {
        match self {
            Chunk::Data(_) => DATA,
            Chunk::Init(_) => INIT,
            Chunk::InitAck(_) => INIT_ACK,
            Chunk::Sack(_) => SACK,
            Chunk::Heartbeat(_) => HEARTBEAT,
            Chunk::HeartbeatAck(_) => HEARTBEAT_ACK,
            Chunk::Abort { .. } => ABORT,
            Chunk::Shutdown { .. } => SHUTDOWN,
            Chunk::ShutdownAck => SHUTDOWN_ACK,
            Chunk::Error(_) => ERROR,
            Chunk::CookieEcho(_) => COOKIE_ECHO,
            Chunk::CookieAck => COOKIE_ACK,
            Chunk::ShutdownComplete { .. } => SHUTDOWN_COMPLETE,
            Chunk::Auth(_) => AUTH,
            Chunk::NrSack(_) => NR_SACK,
            Chunk::IData(_) => I_DATA,
            Chunk::AsconfAck(_) => ASCONF_ACK,
            Chunk::Reconfig(_) => RE_CONFIG,
            Chunk::Pad(_) => PAD,
            Chunk::ForwardTsn(_) => FORWARD_TSN,
            Chunk::Asconf(_) => ASCONF,
            Chunk::IForwardTsn(_) => I_FORWARD_TSN,
            Chunk::Unknown(raw) | Chunk::Malformed(raw) => raw.kind,
        }
    }

    /// User data of DATA and I-DATA.
    #[inline]
    pub const fn payload(&self) -> Option<&crate::Payload> {
        match self {
            Chunk::Data(data) => Some(&data.payload),
            Chunk::IData(data) => Some(&data.payload),
            _ => None,
        }
    }

    /// User data of DATA and I-DATA, to change it.
    pub const fn payload_mut(&mut self) -> Option<&mut crate::Payload> {
        match self {
            Chunk::Data(data) => Some(&mut data.payload),
            Chunk::IData(data) => Some(&mut data.payload),
            _ => None,
        }
    }

    /// Bytes of the chunk in a packet, padding included.
    #[inline]
    pub fn padded_len(&self) -> u32 {
        (HEADER as u32 + self.value_len()).next_multiple_of(4)
    }

    // Called often per packet: DATA is found by a comparison, not by a jump table.
    #[inline]
    fn value_len(&self) -> u32 {
        match self {
            Chunk::Data(data) => Data::HEADER - HEADER as u32 + data.payload.len(),
            other => other.value_len_of_others(),
        }
    }

    #[inline(never)]
    fn value_len_of_others(&self) -> u32 {
        match self {
            Chunk::Data(data) => Data::HEADER - HEADER as u32 + data.payload.len(),
            Chunk::Init(init) | Chunk::InitAck(init) => init.value_len(),
            Chunk::Sack(sack) => sack.value_len(),
            Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) | Chunk::Reconfig(list) => {
                parameter::list_len_of(list)
            }
            Chunk::Abort { causes, .. } | Chunk::Error(causes) => cause::list_len_of(causes),
            Chunk::Shutdown { .. } => 4,
            Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } => 0,
            Chunk::CookieEcho(bytes) | Chunk::Pad(bytes) => bytes.len() as u32,
            Chunk::Auth(auth) => auth.value_len(),
            Chunk::NrSack(sack) => sack.value_len(),
            Chunk::IData(data) => IData::HEADER - HEADER as u32 + data.payload.len(),
            Chunk::AsconfAck(ack) => ack.value_len(),
            Chunk::ForwardTsn(forward) => forward.value_len(),
            Chunk::Asconf(asconf) => asconf.value_len(),
            Chunk::IForwardTsn(forward) => forward.value_len(),
            Chunk::Unknown(raw) | Chunk::Malformed(raw) => raw.value.len() as u32,
        }
    }

    const fn flags(&self) -> u8 {
        match self {
            Chunk::Data(data) => data.flags.0,
            Chunk::IData(data) => data.flags.0,
            Chunk::Sack(sack) => sack.flags(),
            Chunk::NrSack(sack) => sack.flags(),
            Chunk::Abort { reflected: true, .. } | Chunk::ShutdownComplete { reflected: true } => {
                REFLECTED
            }
            Chunk::Unknown(raw) | Chunk::Malformed(raw) => raw.flags,
            _ => 0,
        }
    }

    /// Appends the chunk with its padding.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.emit_unpadded(out);
        pad(out, start);
    }

    /// The chunk without padding, as an ERROR quotes it.
    pub fn to_unpadded_bytes(&self) -> Bytes {
        let mut out = Vec::new();
        self.emit_unpadded(&mut out);
        out.into()
    }

    /// Appends the chunk without padding.
    pub(super) fn emit_unpadded(&self, out: &mut Vec<u8>) {
        let (start, len) = (out.len(), HEADER as u32 + self.value_len());
        assert!(len <= u32::from(u16::MAX), "a chunk of {len} bytes");
        out.extend_from_slice(&[self.kind(), self.flags()]);
        out.extend_from_slice(&(len as u16).to_be_bytes());
        self.emit_value(out);
        debug_assert_eq!(out.len() - start, len as usize, "length of {self:?}");
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        match self {
            Chunk::Data(data) => data.emit(out),
            Chunk::Init(init) | Chunk::InitAck(init) => init.emit(out),
            Chunk::Sack(sack) => sack.emit(out),
            Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) | Chunk::Reconfig(list) => {
                parameter::emit_parameters(list, out);
            }
            Chunk::Abort { causes, .. } | Chunk::Error(causes) => cause::emit_causes(causes, out),
            Chunk::Shutdown { cum_tsn } => out.extend_from_slice(&cum_tsn.0.to_be_bytes()),
            Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } => {}
            Chunk::CookieEcho(bytes) | Chunk::Pad(bytes) => out.extend_from_slice(bytes),
            Chunk::Auth(auth) => auth.emit(out),
            Chunk::NrSack(sack) => sack.emit(out),
            Chunk::IData(data) => data.emit(out),
            Chunk::AsconfAck(ack) => ack.emit(out),
            Chunk::ForwardTsn(forward) => forward.emit(out),
            Chunk::Asconf(asconf) => asconf.emit(out),
            Chunk::IForwardTsn(forward) => forward.emit(out),
            Chunk::Unknown(raw) | Chunk::Malformed(raw) => out.extend_from_slice(&raw.value),
        }
    }

    /// The chunk with this type, these flags and these bytes behind the length.
    pub(super) fn parse(kind: u8, flags: u8, value: &[u8]) -> Chunk {
        let raw = || RawChunk { kind, flags, value: Bytes::copy_from_slice(value) };
        match Chunk::parse_known(kind, flags, value) {
            Known::Chunk(chunk) => chunk,
            Known::Malformed => Chunk::Malformed(raw()),
            Known::Not => Chunk::Unknown(raw()),
        }
    }

    fn parse_known(kind: u8, flags: u8, value: &[u8]) -> Known {
        let reflected = flags & REFLECTED != 0;
        let bytes = || Bytes::copy_from_slice(value);
        let exact = |chunk: Chunk| value.is_empty().then_some(chunk);
        let chunk = match kind {
            DATA => Data::parse(flags, value).map(Chunk::Data),
            INIT => Init::parse(value).map(|init| Chunk::Init(Box::new(init))),
            INIT_ACK => Init::parse(value).map(|init| Chunk::InitAck(Box::new(init))),
            SACK => Sack::parse(flags, value).map(Chunk::Sack),
            HEARTBEAT => heartbeat(value).map(Chunk::Heartbeat),
            HEARTBEAT_ACK => heartbeat(value).map(Chunk::HeartbeatAck),
            ABORT => Some(Chunk::Abort { reflected, causes: cause::parse_causes(value) }),
            SHUTDOWN => {
                let tsn = value.try_into().ok().map(u32::from_be_bytes);
                tsn.map(|tsn| Chunk::Shutdown { cum_tsn: Tsn(tsn) })
            }
            SHUTDOWN_ACK => exact(Chunk::ShutdownAck),
            ERROR => Some(Chunk::Error(cause::parse_causes(value))),
            COOKIE_ECHO => Some(Chunk::CookieEcho(bytes())),
            COOKIE_ACK => exact(Chunk::CookieAck),
            SHUTDOWN_COMPLETE => exact(Chunk::ShutdownComplete { reflected }),
            AUTH => Auth::parse(value).map(Chunk::Auth),
            NR_SACK => NrSack::parse(flags, value).map(Chunk::NrSack),
            I_DATA => IData::parse(flags, value).map(Chunk::IData),
            ASCONF_ACK => AsconfAck::parse(value).map(Chunk::AsconfAck),
            RE_CONFIG => {
                let list = parameter::parse_parameters(value);
                list.filter(|list| reconfig::is_allowed(list)).map(Chunk::Reconfig)
            }
            PAD => Some(Chunk::Pad(bytes())),
            FORWARD_TSN => ForwardTsn::parse(value).map(Chunk::ForwardTsn),
            ASCONF => Asconf::parse(value).map(|asconf| Chunk::Asconf(Box::new(asconf))),
            I_FORWARD_TSN => IForwardTsn::parse(value).map(Chunk::IForwardTsn),
            _ => return Known::Not,
        };
        chunk.map_or(Known::Malformed, Known::Chunk)
    }
}

/// What a type and a content give.
enum Known {
    Chunk(Chunk),
    Malformed,
    Not,
}

/// The parameters of a HEARTBEAT, of which the first is mandatory.
fn heartbeat(value: &[u8]) -> Option<Vec<Parameter>> {
    let list = parameter::parse_parameters(value)?;
    matches!(list.first(), Some(Parameter::HeartbeatInfo(_))).then_some(list)
}

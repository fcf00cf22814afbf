//! The configuration of an association or of an SCTP listener.

use super::cmt::CmtConfig;
use super::ends::LocalAddress;
use super::gaps::GapStructure;
use super::handshake::Offer;
use super::profile::{InitialWindow, SctpParameters, SctpProfile};
use super::rtx_policy::RtxPolicy;
use super::streams::StreamOrder;
use crate::congestion::{Controller, ControllerChoice, PathGroups, initial_window};
use crate::info::Protocol;
use crate::path_policy::PolicyChoice;
use crate::scheduler::SchedulerChoice;
use std::net::IpAddr;
use wire::sctp::{Features, UdpPorts};

/// The smallest receiver window that may be offered, in bytes (RFC 9260 s3.3.2).
const MIN_WINDOW: u32 = 1500;

/// How an association behaves at one end.
#[derive(Clone, PartialEq, Debug)]
pub struct SctpConfig {
    /// Parameters of the protocol.
    pub parameters: SctpParameters,
    /// Congestion control.
    pub congestion: ControllerChoice,
    /// Send buffer, in bytes of user data; there is no auto-tuning.
    pub send_buffer: u32,
    /// Receiver window (a_rwnd) from the start, in bytes of user data.
    pub receive_buffer: u32,
    /// The addresses of this host that the peer may use.
    pub addresses: Addresses,
    /// Further addresses of the peer, which INIT may be sent to.
    pub peer_addresses: Vec<IpAddr>,
    /// Streams in each direction.
    pub streams: u16,
    /// The stream that is next (RFC 8260 s3).
    pub stream_order: StreamOrder,
    /// Extensions to offer.
    pub features: Features,
    /// The path of a retransmission after T3-rtx expired.
    pub rtx_policy: RtxPolicy,
    /// Hold packets that are not full while anything is outstanding (RFC 9260 s7.3 allows it).
    pub nagle: bool,
    /// Bytes of the messages that a byte stream is cut into; `None`: what fits one chunk.
    pub message_size: Option<u32>,
    /// UDP ports of packets to the peer (RFC 6951); `None`: no UDP, unless packets come in it.
    pub udp: Option<UdpPorts>,
    /// Chunks that arrived out of order may be discarded when memory runs out (RFC 9260 s6.2).
    pub reneging: bool,
    /// Data go on all paths at once; `None`: on one at a time.
    pub cmt: Option<CmtConfig>,
    /// With data on all paths: the scheduler that chooses the path of new data; `None`: every path
    /// sends as much as it can, in the order of `CmtConfig::send_all`. One that CMT does not take
    /// (`SchedulerRefusal`) is ignored.
    pub scheduler: Option<SchedulerChoice>,
    /// With data on all paths: which of them get new data.
    pub policy: PolicyChoice,
    /// How TSNs above the cumulative one are kept; it has a cost and changes no packet.
    pub gap_structure: GapStructure,
}

/// The addresses of this host that the peer may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Addresses {
    /// The one that the association was opened from, or for.
    One,
    /// All of the host.
    All,
    /// These, if the host has them.
    Listed(Vec<IpAddr>),
}

impl SctpConfig {
    /// What this profile has by default.
    pub fn of(profile: SctpProfile) -> Self {
        let features = Features::PARTIAL_RELIABILITY.0
            | Features::RECONFIG.0
            | Features::ASCONF.0
            | Features::AUTH.0
            | Features::NR_SACK.0;
        SctpConfig {
            parameters: profile.parameters(),
            congestion: ControllerChoice::RENO,
            send_buffer: 4 << 20,
            receive_buffer: 6 << 20,
            addresses: Addresses::One,
            peer_addresses: Vec::new(),
            streams: 1,
            stream_order: StreamOrder::RoundRobin,
            features: Features(features),
            rtx_policy: RtxPolicy::Next,
            nagle: false,
            message_size: None,
            udp: None,
            reneging: false,
            cmt: None,
            scheduler: None,
            policy: PolicyChoice::NONE,
            gap_structure: GapStructure::Tree,
        }
    }

    /// The name of what its associations do.
    pub const fn protocol(&self) -> Protocol {
        if self.cmt.is_some() { Protocol::CmtSctp } else { Protocol::Sctp }
    }

    /// What INIT and INIT ACK say; addresses are listed if there are several. `random` is needed if
    /// chunks can be authenticated.
    pub(super) fn offer(&self, locals: &[LocalAddress], random: [u8; 32]) -> Offer {
        let listed = if locals.len() > 1 { locals } else { &[] };
        Offer {
            a_rwnd: self.receive_buffer.max(MIN_WINDOW),
            outbound_streams: self.streams.max(1),
            inbound_streams: u16::MAX,
            features: self.features,
            addresses: listed.iter().map(|local| local.address).collect(),
            random: self.features.contains(Features::AUTH).then_some(random),
        }
    }

    /// The addresses of the host that the peer may use, that of the first path first.
    pub(crate) fn locals(&self, first: LocalAddress, host: &[LocalAddress]) -> Vec<LocalAddress> {
        let is_used = |local: &&LocalAddress| match &self.addresses {
            Addresses::One => false,
            Addresses::All => local.address != first.address,
            Addresses::Listed(list) => {
                local.address != first.address && list.contains(&local.address)
            }
        };
        std::iter::once(first).chain(host.iter().filter(is_used).copied()).collect()
    }

    /// Whether the peer may use an address that the host gets later.
    pub(super) fn may_use(&self, address: IpAddr) -> bool {
        match &self.addresses {
            Addresses::One => false,
            Addresses::All => true,
            Addresses::Listed(list) => list.contains(&address),
        }
    }

    /// The congestion controller of one association; `reno` if the one chosen has no form in
    /// bytes.
    pub(super) fn new_controller(&self) -> Controller {
        let limit = self.parameters.slow_start_limit;
        let groups = self.cmt.map_or(PathGroups::ONE, |cmt| cmt.cc_groups);
        let floor = self.parameters.pooled_floor;
        let reno = || ControllerChoice::RENO.make_grouped(limit, groups, floor);
        let made = self.congestion.make_grouped(limit, groups, floor).or_else(reno);
        made.unwrap_or_else(|| ControllerChoice::RENO.make(&crate::congestion::Options::LINUX))
    }

    /// The first window of a path among `paths`, in bytes; `whole`: that of a path alone. Under
    /// some laws paths share it.
    pub(super) fn shared_window(&self, whole: u64, pmdcs: u32, paths: usize) -> u64 {
        if self.cmt.is_none() || !self.congestion.shares_start() {
            return whole;
        }
        let pmdcs = u64::from(pmdcs);
        whole.min((4 * pmdcs).div_ceil(paths.max(1) as u64)).max(pmdcs)
    }

    /// The first window of a path to `address`, in bytes.
    pub(super) fn initial_window(&self, pmdcs: u32, mtu: u32, address: IpAddr) -> u64 {
        match self.parameters.initial_window {
            InitialWindow::Rfc9260 => initial_window(pmdcs, address),
            InitialWindow::Rfc4960 => u64::from((4 * mtu).min((2 * mtu).max(4380))),
            InitialWindow::ThreePackets => {
                let ip_header = if address.is_ipv4() { 20 } else { 40 };
                3 * u64::from(pmdcs + ip_header)
            }
        }
    }
}

impl Default for SctpConfig {
    fn default() -> Self {
        SctpConfig::of(SctpProfile::Rfc9260)
    }
}

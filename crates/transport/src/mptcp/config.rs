//! The configuration of an MPTCP connection.

use crate::multipath::{Failover, SenderConfig};
use crate::path_manager::{Endpoints, PathManagerKind};
use crate::path_policy::PolicyChoice;
use crate::routes::Routes;
use crate::scheduler::{self, Custom, SchedulerChoice};
use crate::tcp::{Profile, TcpConfig};
use base::{InterfaceId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::Key;

/// The configuration of a multi-path connection.
#[derive(Clone, PartialEq, Debug)]
pub struct MptcpConfig {
    /// TCP configuration of every subflow. One controller owns the windows of all of them.
    pub tcp: TcpConfig,
    /// The scheduler, which chooses the path of each segment.
    pub scheduler: SchedulerChoice,
    /// A scheduler from outside of this crate that replaces `scheduler`.
    pub custom_scheduler: Option<Custom>,
    /// The path policy, which determines the eligible paths.
    pub policy: PolicyChoice,
    /// Which addresses are announced and joined.
    pub path_manager: PathManagerKind,
    /// Rules for declaring a path failed.
    pub failover: Failover,
    /// Ask for DSS checksums (RFC 8684 s3.3.1).
    pub checksum: bool,
    /// Subflows beyond the first, opened or accepted.
    pub max_extra_subflows: u8,
    /// Only pairs of addresses that share this many leading bits are joined; `None`: all pairs of
    /// one family. For hosts whose networks do not reach each other.
    pub common_prefix_bits: Option<u8>,
    /// Behave as mainline Linux even where that costs throughput: for a simulated kernel, not for
    /// real transfers. See the switch of the profile with this name.
    pub mainline_limits: bool,
    /// Data that follow each other share a mapping, for an interface that segments: it repeats the
    /// options of a header in every segment.
    pub joins_mappings: bool,
    /// Endpoints of the path manager `kernel`.
    pub endpoints: Endpoints,
    /// For the path manager `binder`: the interface behind which the gateways of each further
    /// subflow are.
    pub gateways: Vec<InterfaceId>,
    /// Simultaneous SYNs (001 s4.1.1): the server accepts them, the client sends them to these
    /// peers from these addresses, in addition to the first. The option is for private use, between
    /// hosts that both run this engine.
    pub simultaneous_syn: Option<Vec<(IpAddr, SocketAddr)>>,
    /// A subflow whose address the peer removes ends only if keep-alive segments on it are not
    /// answered (RFC 8684 s3.4.2); kernels end it at once.
    pub keepalive_on_withdrawal: bool,
    /// Addresses of this host whose subflows are for backup.
    pub backup: Vec<IpAddr>,
    /// For tests near a wrap: the initial data sequence numbers of client and server, instead of
    /// those derived from their keys; equal at both hosts.
    pub test_idsn: Option<[u64; 2]>,
}

impl Default for MptcpConfig {
    fn default() -> Self {
        MptcpConfig {
            tcp: TcpConfig::default(),
            scheduler: SchedulerChoice::default(),
            custom_scheduler: None,
            policy: PolicyChoice::NONE,
            path_manager: PathManagerKind::FULLMESH,
            failover: Failover::Rto,
            checksum: false,
            max_extra_subflows: 8,
            common_prefix_bits: None,
            mainline_limits: false,
            joins_mappings: false,
            endpoints: Endpoints::default(),
            gateways: Vec::new(),
            simultaneous_syn: None,
            keepalive_on_withdrawal: true,
            backup: Vec::new(),
            test_idsn: None,
        }
    }
}

impl Failover {
    /// The default rule: `stale` for the profile of today's Linux with its own scheduler, `rto` for
    /// all other combinations, as in the papers' kernels.
    pub fn usual(profile: Profile, scheduler: &SchedulerChoice) -> Failover {
        if scheduler.is_linux() && !profile.is_old() { Failover::Stale } else { Failover::Rto }
    }
}

impl MptcpConfig {
    /// The initial data sequence number of the client or the server with that key (RFC 8684 s3.1).
    pub(super) fn idsn(&self, client: bool, key: Key) -> u64 {
        match self.test_idsn {
            Some(by_role) => by_role[usize::from(!client)],
            None => key.idsn(),
        }
    }

    /// The configuration of the sender. `one_at_a_time`: each segment leaves before the scheduler
    /// is asked about the next one.
    pub(super) fn sender(&self, socket: SocketId, one_at_a_time: bool) -> SenderConfig {
        let options = scheduler::Options {
            kernel_compat: self.tcp.profile.is_old(),
            ..scheduler::Options::default()
        };
        let scheduler = match &self.custom_scheduler {
            Some(custom) => custom.make(),
            None => self.scheduler.make(&options),
        };
        let (policy, failover) = (self.policy.make(), self.failover);
        SenderConfig { socket, scheduler, policy, failover, one_at_a_time }
    }
}

/// The initial values of a connection.
pub(crate) struct Start<'a> {
    pub socket: SocketId,
    pub config: &'a MptcpConfig,
    pub client: bool,
    pub key: Key,
    pub local: IpAddr,
    pub remote: SocketAddr,
    /// All addresses of this host, and its routes by pair of addresses.
    pub host: (&'a [(IpAddr, InterfaceId)], &'a Routes),
    pub listener: Option<SocketId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_todays_linux_with_its_own_scheduler_waits_for_a_stale_path() {
        let usual =
            |profile, scheduler: &str| Failover::usual(profile, &scheduler.parse().unwrap());
        assert_eq!(usual(Profile::Linux, "linux"), Failover::Stale);
        assert_eq!(usual(Profile::Linux, "linux:burst=1000"), Failover::Stale);
        assert_eq!(usual(Profile::Linux, "lrf"), Failover::Rto);
        assert_eq!(usual(Profile::Linux314, "linux"), Failover::Rto);
    }
}

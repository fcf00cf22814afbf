//! The configuration of an MPTCP connection.

use crate::multipath::Failover;
use crate::path_manager::{Endpoints, PathManagerKind};
use crate::path_policy::PolicyChoice;
use crate::scheduler::{Custom, SchedulerChoice};
use crate::tcp::{Profile, TcpConfig};
use base::InterfaceId;
use std::net::{IpAddr, SocketAddr};

/// The configuration of a multi-path connection.
#[derive(Clone, PartialEq, Debug)]
pub struct MptcpConfig {
    /// Of every subflow; its controller owns the windows of all of them.
    pub tcp: TcpConfig,
    /// Which path sends next.
    pub scheduler: SchedulerChoice,
    /// A scheduler from outside of this crate in its place.
    pub custom_scheduler: Option<Custom>,
    /// Which paths are eligible.
    pub policy: PolicyChoice,
    pub path_manager: PathManagerKind,
    /// When a path counts as failed.
    pub failover: Failover,
    /// Ask for DSS checksums (RFC 8684 s3.3.1).
    pub checksum: bool,
    /// Subflows beyond the first, opened or accepted.
    pub max_extra_subflows: u8,
    /// Only pairs of addresses that share so many leading bits are joined; `None`: all pairs of
    /// one family. Hosts whose networks do not reach each other set this.
    pub common_prefix_bits: Option<u8>,
    /// Play the kernel where ours does better: see the profile's switch of this name. A simulated
    /// kernel is told so; live, every path is welcome and the window as large as it may be.
    pub mainline_limits: bool,
    /// What `kernel` goes by.
    pub endpoints: Endpoints,
    /// What `binder` goes by: the interface behind which the gateways of each further subflow
    /// are.
    pub gateways: Vec<InterfaceId>,
    /// The server takes SYNs on all paths at once, and the client sends them: to these peers from
    /// these addresses, beside the first. Never to a foreign peer: the option is for private use.
    pub simultaneous_syn: Option<Vec<(IpAddr, SocketAddr)>>,
    /// A subflow whose address the peer withdraws ends only if it does not answer (RFC 8684
    /// s3.4.2); the kernels end it at once.
    pub keepalive_on_withdrawal: bool,
    /// Addresses of this host whose subflows are for backup.
    pub backup: Vec<IpAddr>,
    /// For tests near a wrap: the initial data sequence numbers of client and server, in place
    /// of those that their keys give. Both sides must be told the same.
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
    /// The rule that is used unless one is chosen: today's Linux with its own scheduler is taken
    /// whole, everything else fails over as the papers' kernels.
    pub fn usual(profile: Profile, scheduler: &SchedulerChoice) -> Failover {
        if scheduler.is_linux() && !profile.is_old() { Failover::Stale } else { Failover::Rto }
    }
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

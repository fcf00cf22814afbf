//! What path managers need to know of the simulated world: endpoints and limits by paths, how many
//! subflows may be, and which addresses reach each other.

use base::HostId;
use std::net::IpAddr;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{Endpoint, EndpointFlags, Endpoints, LIMIT, Limits, PathManagerKind};

/// What the manager `kernel` goes by at both ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelSetup {
    pub endpoints: Vec<PathEndpoint>,
    /// Of the client,
    pub client_limits: Limits,
    /// and of the server.
    pub server_limits: Limits,
}

/// The address that one end has on a path, as an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEndpoint {
    /// The server's otherwise.
    pub client: bool,
    /// Index of the path.
    pub path: usize,
    pub flags: EndpointFlags,
}

impl KernelSetup {
    /// A subflow on every one of so many paths, as `anabranch emulate` has the kernel do it.
    pub fn every_path(paths: usize) -> Self {
        let flags = EndpointFlags { subflow: true, ..EndpointFlags::default() };
        let endpoint = |path| PathEndpoint { client: true, path, flags };
        let extra = paths.saturating_sub(1).min(usize::from(LIMIT)) as u8;
        let limits = Limits { subflows: extra, add_addr_accepted: 0 };
        KernelSetup {
            endpoints: (0..paths.min(usize::from(LIMIT))).map(endpoint).collect(),
            client_limits: limits,
            server_limits: limits,
        }
    }

    /// What one end is told.
    fn of(&self, client: bool, address: impl Fn(usize) -> IpAddr) -> Endpoints {
        let limits = if client { self.client_limits } else { self.server_limits };
        let mut endpoints = Endpoints { endpoints: Vec::new(), limits };
        for at in self.endpoints.iter().filter(|endpoint| endpoint.client == client) {
            // One that Linux would refuse is not there, as in Linux.
            endpoints.add(Endpoint { ip: address(at.path), flags: at.flags }).ok();
        }
        endpoints
    }
}

/// Complete what one of the hosts speaks for its path manager. `address` has its addresses by
/// path, of which there are `paths`.
pub fn complete(
    config: &mut MptcpConfig,
    kernel: Option<&KernelSetup>,
    host: HostId,
    paths: usize,
    address: impl Fn(usize) -> IpAddr,
) {
    let client = host == HostId(0);
    // The kernels that are simulated end subflows of withdrawn addresses at once.
    config.keepalive_on_withdrawal = false;
    config.max_extra_subflows = config.path_manager.extra_subflows(paths);
    match config.path_manager {
        PathManagerKind::Kernel => {
            let default = KernelSetup::every_path(paths);
            config.endpoints = kernel.unwrap_or(&default).of(client, address);
            let spared = config.endpoints.endpoints.iter().filter(|at| at.flags.backup);
            config.backup.extend(spared.map(|at| at.ip));
            // The server's first address is reached over every path, by the address it is asked
            // from, as over links that are emulated.
            config.common_prefix_bits = None;
        }
        PathManagerKind::Default { accept_add_addr: true } if !client => {
            // Somebody announces what the client is to join.
            config.path_manager = PathManagerKind::FULLMESH;
        }
        _ => {}
    }
}

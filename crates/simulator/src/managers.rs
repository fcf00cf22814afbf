//! What path managers are configured with: endpoints and limits by path, the number of subflows,
//! and which addresses reach each other.

use std::net::IpAddr;
use traffic::Role;
use transport::mptcp::MptcpConfig;
use transport::path_manager::{Endpoint, EndpointFlags, Endpoints, LIMIT, Limits, PathManagerKind};

/// Endpoints and limits of the path manager `kernel` at both hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelSetup {
    /// The endpoints of both hosts, in the order in which they are added.
    pub endpoints: Vec<PathEndpoint>,
    /// Limits at the client.
    pub client_limits: Limits,
    /// Limits at the server.
    pub server_limits: Limits,
}

/// The address of one host on a path, as an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEndpoint {
    /// Of the client, not of the server.
    pub client: bool,
    /// Index of the path.
    pub path: usize,
    /// The use of the endpoint.
    pub flags: EndpointFlags,
}

impl KernelSetup {
    /// A subflow on every one of `paths` paths, as `anabranch emulate` configures the kernel.
    pub fn every_path(paths: usize) -> Self {
        KernelSetup::on_paths(0..paths)
    }

    fn on_paths(paths: impl ExactSizeIterator<Item = usize>) -> Self {
        let flags = EndpointFlags { subflow: true, ..EndpointFlags::default() };
        let endpoint = |path| PathEndpoint { client: true, path, flags };
        let extra = paths.len().saturating_sub(1).min(usize::from(LIMIT)) as u8;
        let limits = Limits { subflows: extra, add_addr_accepted: 0 };
        KernelSetup {
            endpoints: paths.take(usize::from(LIMIT)).map(endpoint).collect(),
            client_limits: limits,
            server_limits: limits,
        }
    }

    /// The endpoints and limits of one host, whose addresses are given by path.
    fn of(&self, role: Role, own: &[(usize, IpAddr)]) -> Endpoints {
        let client = role == Role::Client;
        let limits = if client { self.client_limits } else { self.server_limits };
        let mut endpoints = Endpoints { endpoints: Vec::new(), limits };
        for at in self.endpoints.iter().filter(|endpoint| endpoint.client == client) {
            let Some((_, ip)) = own.iter().find(|(path, _)| *path == at.path) else { continue };
            // An endpoint that Linux would refuse is left out, as in Linux.
            endpoints.add(Endpoint { ip: *ip, flags: at.flags }).ok();
        }
        endpoints
    }
}

/// Complete the configuration of one host of a flow for its path manager. `own` has the addresses
/// of this host by path.
pub(crate) fn complete(
    config: &mut MptcpConfig,
    kernel: Option<&KernelSetup>,
    role: Role,
    own: &[(usize, IpAddr)],
) {
    config.max_extra_subflows = config.path_manager.extra_subflows(own.len());
    match config.path_manager {
        PathManagerKind::Kernel => {
            let default = KernelSetup::on_paths(own.iter().map(|(path, _)| *path));
            config.endpoints = kernel.unwrap_or(&default).of(role, own);
            let backups = config.endpoints.endpoints.iter().filter(|at| at.flags.backup);
            config.backup.extend(backups.map(|at| at.ip));
            // Every path leads to the server's first address; which one a packet takes depends on
            // the address it is sent from, as over emulated links.
            config.common_prefix_bits = None;
        }
        PathManagerKind::Default { accept_add_addr: true } if role == Role::Server => {
            // One side must announce what the client is to join.
            config.path_manager = PathManagerKind::FULLMESH;
        }
        _ => {}
    }
}

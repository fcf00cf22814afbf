//! What the sockets of a flow are configured with.

use super::SERVER_PORT;
use super::hosts::FlowHosts;
use super::notify::initial_backups;
use crate::managers;
use crate::setup::{Carrier, FlowSetup, Multipath, RunSetup};
use base::InterfaceId;
use std::net::{IpAddr, SocketAddr};
use traffic::Role;
use transport::Failover;
use transport::mptcp::MptcpConfig;
use transport::path_manager::PathManagerKind;
use transport::sctp::{Addresses, SctpConfig};
use transport::{Protocol, ProtocolConfig, TcpConfig};

/// Lists of gateways that `binder` takes, as its kernel module.
const MOST_GATEWAYS: usize = 10;

/// The configuration that both hosts of a flow have in common.
pub fn socket_config(flow: &FlowSetup, ipv6: bool) -> ProtocolConfig {
    let tcp = flow.tcp.clone();
    let (multipath, paths) = match &flow.carrier {
        Carrier::Single(protocol) => {
            (&Multipath { protocol: *protocol, ..Multipath::default() }, 1)
        }
        Carrier::Multipath(multipath) => (multipath, flow.paths.len()),
        Carrier::Sctp(config) => return sctp_config(config, tcp).into(),
    };
    match multipath.protocol {
        Protocol::Tcp => tcp.into(),
        Protocol::Mptcp => mptcp_config(multipath, tcp, paths, ipv6).into(),
        Protocol::Sctp | Protocol::CmtSctp => sctp_config(&SctpConfig::default(), tcp).into(),
        Protocol::Udp => ProtocolConfig::Udp,
    }
}

/// What TCP and SCTP have in common is given once, for TCP.
fn sctp_config(config: &SctpConfig, tcp: TcpConfig) -> SctpConfig {
    SctpConfig {
        congestion: tcp.congestion,
        send_buffer: tcp.buffers.send_max,
        receive_buffer: tcp.buffers.receive_max,
        nagle: tcp.nagle,
        ..config.clone()
    }
}

fn mptcp_config(multipath: &Multipath, tcp: TcpConfig, paths: usize, ipv6: bool) -> MptcpConfig {
    let usual = || Failover::usual(tcp.profile, &multipath.scheduler);
    MptcpConfig {
        scheduler: multipath.scheduler.clone(),
        policy: multipath.policy.clone(),
        path_manager: multipath.path_manager,
        failover: multipath.failover.unwrap_or_else(usual),
        checksum: multipath.checksum,
        mainline_limits: tcp.profile.switches().multipath.mainline_limits,
        tcp,
        // Every path that was named is meant to be used, but none leads into another.
        max_extra_subflows: u8::try_from(paths - 1).unwrap_or(u8::MAX),
        common_prefix_bits: Some(if ipv6 { 112 } else { 24 }),
        ..MptcpConfig::default()
    }
}

/// The configuration of one host of a flow.
pub(super) fn host_config(setup: &RunSetup, flow: &FlowHosts<'_>, role: Role) -> ProtocolConfig {
    let mut socket = socket_config(flow.flow, setup.network.ipv6);
    if let (ProtocolConfig::Sctp(config), Role::Client) = (&mut socket, role)
        && config.addresses != Addresses::One
    {
        for (_, [_, server]) in flow.interfaces() {
            if !config.peer_addresses.contains(&server) {
                config.peer_addresses.push(server);
            }
        }
    }
    if let (ProtocolConfig::Mptcp(config), Some(multipath)) =
        (&mut socket, flow.flow.carrier.multipath())
    {
        if role == Role::Client {
            config.backup = initial_backups(setup, flow);
        }
        config.keepalive_on_withdrawal = multipath.probes_removed;
        let own = |(path, [client, server]): (usize, [IpAddr; 2])| {
            (path, if role == Role::Client { client } else { server })
        };
        let own: Vec<(usize, IpAddr)> = flow.interfaces().map(own).collect();
        managers::complete(config, multipath.kernel.as_ref(), role, &own);
        config.gateways = gateways(flow);
        let at_once = matches!(config.path_manager, PathManagerKind::Fullmesh { .. });
        if multipath.simultaneous_syn && at_once {
            config.simultaneous_syn = Some(simultaneous_syns(flow, role));
        }
    }
    socket
}

/// Interfaces other than the first one.
fn others<'a>(flow: &'a FlowHosts<'_>) -> impl Iterator<Item = usize> + 'a {
    (0..flow.flow.paths.len()).filter(|interface| *interface != flow.flow.first)
}

/// Every path but the first has a gateway.
fn gateways(flow: &FlowHosts<'_>) -> Vec<InterfaceId> {
    others(flow).take(MOST_GATEWAYS).map(|interface| InterfaceId(interface as u16)).collect()
}

/// The pairs of addresses that the client opens subflows between at once, in addition to the first.
fn simultaneous_syns(flow: &FlowHosts<'_>, role: Role) -> Vec<(IpAddr, SocketAddr)> {
    let ends = |interface| {
        let [client, server] =
            [Role::Client, Role::Server].map(|role| flow.address(role, interface));
        (client, SocketAddr::new(server, SERVER_PORT))
    };
    others(flow).filter(|_| role == Role::Client).map(ends).collect()
}

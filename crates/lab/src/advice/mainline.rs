//! The settings of mainline Linux for a variant that it has.

use crate::path_spec::PathSpec;
use crate::scenario::{Carrier, Primary, Scenario, Variant};
use simulator::{KernelSetup, PathEndpoint};
use transport::path_manager::{EndpointFlags, Limits, PathManagerKind};
use transport::{Failover, Profile};

/// First routing table of further paths; 253 to 255 are the kernel's (ip-route(8)).
const FIRST_TABLE: usize = 101;

/// Whether mainline Linux has the variant.
pub(super) fn is_mainline(scenario: &Scenario, variant: &Variant) -> bool {
    let Carrier::Multipath { scheduler, policy, failover, path_manager, .. } = &variant.carrier
    else {
        return false;
    };
    let has_manager = match path_manager {
        PathManagerKind::Kernel => true,
        manager => *manager == PathManagerKind::FULLMESH && !scenario.choices.simultaneous_syn,
    };
    let usual = Failover::usual(Profile::Linux, scheduler);
    let congestion = &variant.congestion;
    scenario.ends.profile == Profile::Linux
        && scheduler.is_linux()
        && scheduler.written().is_none()
        && policy.is_none()
        && *failover == usual
        && !congestion.is_coupled()
        && congestion.written().is_none()
        && variant.primary != Primary::Random
        && has_manager
}

/// The settings. Without a route of its own through the interface, an endpoint opens no subflow;
/// without the rule, strict source validation (`rp_filter`) drops the answers.
pub(super) fn mainline(scenario: &Scenario, variant: &Variant) -> Vec<String> {
    let first = first_of(scenario, variant);
    let setup = setup_of(scenario, variant, first);
    let control = &variant.congestion;
    let mut lines = vec![
        "On Linux 5.19 or newer, at both ends:".to_owned(),
        format!("  sysctl -w net.mptcp.enabled=1 net.ipv4.tcp_congestion_control={control}"),
    ];
    if setup.client_limits == setup.server_limits {
        lines.push(limits(setup.client_limits));
    } else {
        for (side, of) in [("client", setup.client_limits), ("server", setup.server_limits)] {
            lines.extend([format!("at the {side}:"), limits(of)]);
        }
    }
    lines.extend(at_client(scenario, &setup, first));
    lines.extend(at_server(scenario, &setup));
    lines.push(
        "and start the programs of both ends with `mptcpize run PROGRAM`, unless they open MPTCP \
         sockets: a server without MPTCP gets TCP over one path."
            .to_owned(),
    );
    lines
}

/// The path of the first subflow.
fn first_of(scenario: &Scenario, variant: &Variant) -> usize {
    variant.primary.place(scenario.ends.first, scenario.paths.len(), (scenario.seed, 0))
}

/// The endpoints and limits of the variant: those given for the path manager `kernel`, otherwise a
/// subflow of the client on every further path. Backup paths have backup endpoints.
fn setup_of(scenario: &Scenario, variant: &Variant, first: usize) -> KernelSetup {
    let is_kernel =
        matches!(variant.carrier, Carrier::Multipath { path_manager: PathManagerKind::Kernel, .. });
    let mut setup = match &scenario.choices.kernel {
        Some(setup) if is_kernel => setup.clone(),
        _ => every_further_path(scenario.paths.len(), first),
    };
    let backups = scenario.paths.iter().enumerate().filter(|(_, path)| is_backup(path));
    for (path, _) in backups {
        let mut on_it = setup.endpoints.iter_mut().filter(|at| at.client && at.path == path);
        match on_it.next() {
            Some(endpoint) => endpoint.flags.backup = true,
            None if path == first => {
                let flags =
                    EndpointFlags { subflow: true, backup: true, ..EndpointFlags::default() };
                setup.endpoints.insert(0, PathEndpoint { client: true, path, flags });
            }
            None => {}
        }
    }
    setup
}

fn every_further_path(paths: usize, first: usize) -> KernelSetup {
    let flags = EndpointFlags { subflow: true, ..EndpointFlags::default() };
    let more = u8::try_from(paths.saturating_sub(1)).unwrap_or(u8::MAX);
    let limits = Limits { subflows: more, add_addr_accepted: more };
    let others = (0..paths).filter(|path| *path != first);
    KernelSetup {
        endpoints: others.map(|path| PathEndpoint { client: true, path, flags }).collect(),
        client_limits: limits,
        server_limits: limits,
    }
}

/// Whether the path is a backup path from the start.
fn is_backup(path: &PathSpec) -> bool {
    path.backup_marks(0).iter().any(|mark| mark.on && mark.at.is_zero())
}

fn limits(of: Limits) -> String {
    let Limits { subflows, add_addr_accepted } = of;
    format!("  ip mptcp limits set subflows {subflows} add_addr_accepted {add_addr_accepted}")
}

fn name(scenario: &Scenario, path: usize) -> &str {
    scenario.paths.get(path).map_or("", |path| path.name.as_str())
}

fn endpoint(flags: EndpointFlags) -> String {
    let EndpointFlags { signal, subflow, backup, fullmesh } = flags;
    let words =
        [(signal, "signal"), (subflow, "subflow"), (backup, "backup"), (fullmesh, "fullmesh")];
    let on = words.iter().filter(|(on, _)| *on);
    let words: String = on.map(|(_, word)| format!(" {word}")).collect();
    format!("  ip mptcp endpoint add ADDRESS dev INTERFACE{words}")
}

/// Routes and endpoints of the client, whose default route is over the first path.
fn at_client(scenario: &Scenario, setup: &KernelSetup, first: usize) -> Vec<String> {
    let route = name(scenario, first);
    let own: Vec<&PathEndpoint> = setup.endpoints.iter().filter(|at| at.client).collect();
    if own.is_empty() {
        return vec![format!("with the default route of the client over {route},")];
    }
    let mut lines = Vec::new();
    let mut table = FIRST_TABLE;
    for (index, at) in own.into_iter().enumerate() {
        let path = name(scenario, at.path);
        lines.push(match index {
            0 => format!(
                "at the client, whose default route is over {route}, with address, interface and \
                 gateway of {path}:"
            ),
            _ => format!("with those of {path}:"),
        });
        if at.path != first {
            lines.push(format!("  ip route add default via GATEWAY dev INTERFACE table {table}"));
            lines.push(format!("  ip rule add from ADDRESS table {table}"));
            table += 1;
        }
        lines.push(endpoint(at.flags));
    }
    lines
}

/// Endpoints of the server, which are given for the path manager `kernel` only.
fn at_server(scenario: &Scenario, setup: &KernelSetup) -> Vec<String> {
    let own = setup.endpoints.iter().filter(|at| !at.client);
    let lines = own.flat_map(|at| {
        let path = name(scenario, at.path);
        [format!("at the server, with address and interface of {path}:"), endpoint(at.flags)]
    });
    lines.collect()
}

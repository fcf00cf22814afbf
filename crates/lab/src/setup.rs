//! One repetition of a variant as the simulator is asked for it.

use crate::path_spec::PathSpec;
use crate::scenario::{Carrier, Scenario, Variant, draw_start};
use simulator::{Multipath, PathSetup, Protocol, RunSetup, SharedLink};
use transport::TcpConfig;

/// What one repetition depends on.
pub(crate) fn setup(scenario: &Scenario, variant: &Variant, number: u64) -> RunSetup {
    let paths: Vec<PathSetup> =
        scenario.paths.iter().map(|path| path.draw(scenario.seed, number)).collect();
    let (seed, tcp) = (scenario.seed, tcp_config(scenario, variant));
    RunSetup {
        seed,
        run: number,
        paths,
        links: scenario.links.iter().map(|link| shared(scenario, link, number)).collect(),
        start: draw_start(&scenario.start, "start", seed, number, 0),
        flows: scenario.flows.iter().flat_map(|flow| flow.draw(seed, number, &tcp)).collect(),
        warm_up: scenario.warm_up,
        backup: (scenario.paths.iter().enumerate())
            .flat_map(|(number, path)| path.backup_marks(number))
            .collect(),
        marks: (scenario.paths.iter().enumerate())
            .flat_map(|(number, path)| path.marks(number))
            .collect(),
        protocol: match variant.carrier.clone() {
            Carrier::Tcp { path } => Protocol::Tcp { path },
            Carrier::Mptcp { scheduler, path_manager, policy, failover } => {
                Protocol::Mptcp(Multipath {
                    first: scenario.first,
                    scheduler,
                    path_manager,
                    policy,
                    failover: Some(failover),
                    ..Multipath::default()
                })
            }
        },
        traffic: scenario.traffic.clone(),
        reverse: scenario.reverse,
        kernel: scenario.kernel.clone(),
        simultaneous_syn: scenario.simultaneous_syn,
        tcp,
        nic: scenario.nic,
        accounts: true,
        ..RunSetup::default()
    }
}

fn tcp_config(scenario: &Scenario, variant: &Variant) -> TcpConfig {
    TcpConfig {
        profile: scenario.profile,
        congestion: variant.congestion.clone(),
        buffers: scenario.buffers,
        ..TcpConfig::default()
    }
}

/// A link, and which paths lead through it.
fn shared(scenario: &Scenario, link: &PathSpec, number: u64) -> SharedLink {
    let leads_through =
        |path: &PathSpec| path.via.as_ref().is_some_and(|via| via.link == link.name);
    let paths = scenario.paths.iter().enumerate().filter(|(_, path)| leads_through(path));
    SharedLink {
        link: link.draw(scenario.seed, number),
        paths: paths.map(|(path, _)| path).collect(),
    }
}

//! The simulator's setup of one repetition of a variant.

use crate::path_spec::{Middlebox, PathSpec, Via};
use crate::scenario::{Carrier, Protocol, Scenario, Variant, draw_start};
use base::chance::owner_of;
use simulator::{
    FlowSetup, Multipath, NetworkSetup, PathBox, PathEnds, PathSetup, Recording, RunSetup,
    SharedLink,
};
use traffic::web::{Http, Web};
use traffic::{Draws, Traffic};
use transport::TcpConfig;
use transport::sctp::{Addresses, SctpConfig};

/// What is recorded of the repetitions of a study.
pub(crate) const RECORDING: Recording =
    Recording { hash: true, accounts: true, capture: false, pass_through: false };

/// Inputs of one repetition.
pub(crate) fn setup(scenario: &Scenario, variant: &Variant, number: u64) -> RunSetup {
    let draw =
        |path: &PathSpec| path.draw_with_noise((scenario.seed, number), scenario.path_noise());
    let paths: Vec<PathSetup> = scenario.paths.iter().map(draw).collect();
    let (seed, tcp) = (scenario.seed, tcp_config(scenario, variant));
    let limit = scenario.deadline;
    let ends = (&tcp, &scenario.choices.sctp);
    let competing: Vec<FlowSetup> =
        scenario.flows.iter().flat_map(|flow| flow.draw((seed, number), ends, limit)).collect();
    let on_all: Vec<usize> = (0..paths.len()).collect();
    let measured = FlowSetup {
        first: variant.single_path().unwrap_or_else(|| {
            variant.primary.place(scenario.ends.first, paths.len(), (seed, number))
        }),
        carrier: carrier(scenario, variant),
        tcp,
        reverse: scenario.ends.reverse,
        start: draw_start(&scenario.start, "start", seed, number, 0),
        ..FlowSetup::new(&on_all, traffic(scenario, variant).drawn(draws(scenario, number)))
    };
    let links = scenario.links.iter().map(|link| shared(scenario, link, number)).collect();
    let numbered = || scenario.paths.iter().enumerate();
    let network = NetworkSetup {
        paths,
        links,
        order: scenario.paths.iter().map(|path| order(scenario, path)).collect(),
        ends: path_ends(scenario),
        boxes: numbered().flat_map(|(number, path)| boxes(number, path)).collect(),
        proxies: numbered()
            .filter(|(_, path)| path.has_proxy())
            .map(|(number, _)| number)
            .collect(),
        nic: scenario.ends.nic,
        ..NetworkSetup::default()
    };
    RunSetup {
        seed,
        run: number,
        network,
        flows: std::iter::once(measured).chain(competing).collect(),
        warm_up: scenario.warm_up,
        client_cost: scenario.ends.cost,
        server_cost: scenario.ends.cost,
        limit,
        backup: numbered().flat_map(|(number, path)| path.backup_marks(number)).collect(),
        marks: numbered().flat_map(|(number, path)| path.marks(number)).collect(),
        recording: RECORDING,
        ..RunSetup::default()
    }
}

/// The middleboxes of path number `number`.
fn boxes(number: usize, path: &PathSpec) -> impl Iterator<Item = PathBox> {
    let of = move |there: &Middlebox| there.config(number, &path.name);
    path.middleboxes.iter().filter_map(of).map(move |config| PathBox { path: number, config })
}

/// Random numbers of the measured traffic in one repetition, the same for all variants.
pub(crate) const fn draws(scenario: &Scenario, number: u64) -> Draws {
    Draws::new((scenario.seed, number), owner_of("traffic"))
}

/// The traffic of a variant: without streams, a page is fetched over six connections.
fn traffic(scenario: &Scenario, variant: &Variant) -> Traffic {
    match &scenario.traffic {
        Traffic::Web(web)
            if matches!(web.http, Http::Streams(_)) && !variant.protocol().is_sctp() =>
        {
            Traffic::Web(Web { http: Http::SIX, ..web.clone() })
        }
        traffic => traffic.clone(),
    }
}

/// Protocol of the compared connection.
fn carrier(scenario: &Scenario, variant: &Variant) -> simulator::Carrier {
    match variant.carrier.clone() {
        Carrier::Single { protocol: Protocol::Sctp, .. } => {
            simulator::Carrier::Sctp(Box::new(scenario.choices.sctp.single()))
        }
        Carrier::Single { protocol, .. } => simulator::Carrier::Single(protocol),
        Carrier::Multihomed { cmt, scheduler, policy, failover, rtx_policy } => {
            let config = scenario.choices.sctp.config(Addresses::All, failover, rtx_policy);
            simulator::Carrier::Sctp(Box::new(SctpConfig { cmt, scheduler, policy, ..config }))
        }
        Carrier::Multipath { protocol, scheduler, path_manager, policy, failover } => {
            simulator::Carrier::Multipath(Multipath {
                protocol,
                scheduler,
                path_manager,
                policy,
                failover: Some(failover),
                kernel: scenario.choices.kernel.clone(),
                simultaneous_syn: scenario.choices.simultaneous_syn,
                ..Multipath::default()
            })
        }
    }
}

fn tcp_config(scenario: &Scenario, variant: &Variant) -> TcpConfig {
    let tcp = TcpConfig {
        profile: scenario.ends.profile,
        congestion: variant.congestion.clone(),
        buffers: scenario.ends.buffers,
        ..TcpConfig::default()
    };
    scenario.ends.sender.apply(tcp)
}

/// The places of the shared links that a path passes, from client to server.
fn order(scenario: &Scenario, path: &PathSpec) -> Vec<usize> {
    let place = |via: &Via| scenario.links.iter().position(|link| link.name == via.link);
    path.via.iter().filter_map(place).collect()
}

/// The ends of all paths; none if no path names one.
fn path_ends(scenario: &Scenario) -> Vec<PathEnds> {
    let number = |side: usize, name: &str| {
        scenario.paths.iter().position(|path| path.ends[side].as_deref() == Some(name))
    };
    let of = |path: &PathSpec| {
        let [client, server] =
            [0, 1].map(|side| path.ends[side].as_deref().and_then(|name| number(side, name)));
        PathEnds { client, server }
    };
    let has_ends = scenario.paths.iter().any(|path| path.end_words().next().is_some());
    scenario.paths.iter().filter(|_| has_ends).map(of).collect()
}

/// A shared link, and the paths that use it.
fn shared(scenario: &Scenario, link: &PathSpec, number: u64) -> SharedLink {
    let paths = scenario.paths.iter().enumerate().filter(|(_, path)| path.passes(&link.name));
    SharedLink {
        link: link.draw(scenario.seed, number),
        paths: paths.map(|(path, _)| path).collect(),
    }
}

//! Two namespaces joined by any number of paths: the engine's and its peer's.
//!
//! ```text
//! engine -- tunN -- kernel as router -- wireN ==forwarder== wireN -- kernel of the peer
//!      namespace of the engine                                  namespace of the peer
//! ```
//!
//! Path N has the subnets 10.1.N.0/24 and fd01:N::/64 between engine and router and 10.2.N.0/24
//! and fd02:N::/64 between router and peer; hosts count from 1 as seen from the router, so the
//! engine and the peer are 2. The peer may be another engine: then there is a second router.

use super::forwarder::{Conditions, Control, Forwarder};
use super::kernel;
use linux::netlink::MAIN_TABLE;
use linux::{Endpoint, Live, LiveError, Namespace, PathDevice, Route, Subnet, Tun};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::thread;
use std::time::Duration;
use traffic::Application;
use transport::Protocol;

/// Longer than any test takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Where servers listen.
pub(crate) const PORT: u16 = 8080;

/// Wait for something that comes soon.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    assert!(comes_true(PATIENCE, condition), "it did not come about");
}

/// Whether the condition becomes true within `patience`.
pub(crate) fn comes_true(patience: Duration, condition: impl Fn() -> bool) -> bool {
    for _ in 0..patience.as_millis() / 5 {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// An IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Which network of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Net {
    Engine = 1,
    Wire = 2,
    FarEngine = 3,
}

/// The namespaces and what joins them.
pub(crate) struct World {
    pub engine: Namespace,
    pub peer: Namespace,
    paths: usize,
    /// The peer is an engine behind its kernel.
    far_engine: bool,
    forwarders: Vec<Forwarder>,
}

impl World {
    /// A kernel as the peer, one path per entry; `None`, after printing the reason, where it cannot
    /// be created.
    pub(crate) fn with_kernel(conditions: &[Conditions]) -> Option<World> {
        World::new(conditions, false)
    }

    /// An engine as the peer.
    pub(crate) fn with_engine(conditions: &[Conditions]) -> Option<World> {
        World::new(conditions, true)
    }

    fn new(conditions: &[Conditions], far_engine: bool) -> Option<World> {
        let (engine, peer) = (namespace_or_skip()?, namespace_or_skip()?);
        let join = |(number, conditions): (usize, &Conditions)| {
            let near = wire(&engine, number, 1);
            let far = wire(&peer, number, 2);
            route(&engine, number, Net::FarEngine);
            route(&peer, number, Net::Engine);
            Forwarder::start(near, far, *conditions)
        };
        let forwarders = conditions.iter().enumerate().map(join).collect();
        Some(World { engine, peer, paths: conditions.len(), far_engine, forwarders })
    }

    /// Open an engine in its namespace, on all paths. To be called in a thread of its own.
    pub(crate) fn open<A: Application>(
        &self,
        endpoint: Endpoint,
        application: A,
    ) -> Result<Live<A>, LiveError> {
        self.engine.enter().expect("the namespace of the engine");
        Live::open(&self.devices(Net::Engine), endpoint, application)
    }

    /// The same for the engine that is the peer.
    pub(crate) fn open_far<A: Application>(
        &self,
        endpoint: Endpoint,
        application: A,
    ) -> Result<Live<A>, LiveError> {
        self.peer.enter().expect("the namespace of the peer");
        Live::open(&self.devices(Net::FarEngine), endpoint, application)
    }

    /// Where the engine's server listens, on path `number`.
    pub(crate) fn engine_server(&self, family: Family, number: usize) -> SocketAddr {
        SocketAddr::new(host(family, Net::Engine, number, 2), PORT)
    }

    /// Where the peer's server listens, on path `number`.
    pub(crate) fn peer_server(&self, family: Family, number: usize) -> SocketAddr {
        let net = if self.far_engine { Net::FarEngine } else { Net::Wire };
        SocketAddr::new(host(family, net, number, 2), PORT)
    }

    /// `ip mptcp` with these words, in the namespace of the peer.
    pub(crate) fn ip_mptcp(&self, words: &str) {
        ip_mptcp(&self.peer, words);
    }

    /// The same in the namespace of the engine.
    pub(crate) fn ip_mptcp_near(&self, words: &str) {
        ip_mptcp(&self.engine, words);
    }

    /// A counter of the peer's kernel, as `nstat` names it.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let file = "/proc/thread-self/net/netstat";
        let text = self.peer.run(|| std::fs::read_to_string(file));
        let text = text.expect("the namespace").expect("the counters");
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.chunks_exact(2) {
            let prefix = pair[0].split(':').next().unwrap_or_default();
            let names = pair[0].split_whitespace().skip(1);
            for (counter, value) in names.zip(pair[1].split_whitespace().skip(1)) {
                if name == format!("{prefix}{counter}") {
                    return value.parse().expect("a number");
                }
            }
        }
        panic!("no counter {name}");
    }

    /// Bytes that the peer's kernel received from the wire of a path.
    pub(crate) fn carried(&self, number: usize) -> u64 {
        received(&self.peer, number)
    }

    /// Bytes that the engine's kernel received from the wire of a path.
    pub(crate) fn carried_back(&self, number: usize) -> u64 {
        received(&self.engine, number)
    }

    /// Gives both ends of a path's wire a rate, in the words of tbf; whether the kernel has it.
    pub(crate) fn limit_rate(&self, number: usize, words: &str) -> bool {
        let words = format!("qdisc add dev wire{number} root tbf {words}");
        let add = || Command::new("tc").args(words.split_whitespace()).status();
        [&self.engine, &self.peer].iter().all(|end| {
            let status = end.run(add).expect("the namespace");
            status.is_ok_and(|status| status.success())
        })
    }

    /// Whether the peer's kernel supports MPTCP; prints it if not.
    pub(crate) fn has_mptcp(&self) -> bool {
        let probe =
            self.peer.run(|| kernel::listen(Protocol::Mptcp, self.peer_server(Family::V4, 0)));
        let probed = probe.expect("the namespace").is_ok();
        if !probed {
            println!("skipped: the kernel has no MPTCP (sudo sysctl -w net.mptcp.enabled=1)");
        }
        probed
    }

    /// What can be done to the wire of path `number`.
    pub(crate) fn control(&self, number: usize) -> &Control {
        &self.forwarders[number].control
    }

    fn devices(&self, net: Net) -> Vec<PathDevice> {
        let device = |number| PathDevice {
            name: format!("tun{number}"),
            addresses: [Family::V4, Family::V6]
                .map(|family| Subnet::usual(host(family, net, number, 2)))
                .to_vec(),
            backup: false,
        };
        (0..self.paths).map(device).collect()
    }
}

/// Bytes that a namespace received from the wire of a path.
fn received(namespace: &Namespace, number: usize) -> u64 {
    let text = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
    let text = text.expect("the namespace").expect("the devices");
    let name = format!("wire{number}:");
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&name));
    let bytes = line.and_then(|line| line.split_whitespace().next());
    bytes.and_then(|bytes| bytes.parse().ok()).expect("a counter")
}

fn ip_mptcp(namespace: &Namespace, words: &str) {
    let command = || Command::new("ip").arg("mptcp").args(words.split_whitespace()).status();
    let status = namespace.run(command).expect("the namespace").expect("ip(8)");
    assert!(status.success(), "ip mptcp {words}");
}

/// A namespace that routes and has TUN devices; `None`, after printing the reason, where that
/// cannot be created.
pub(crate) fn namespace_or_skip() -> Option<Namespace> {
    match namespace() {
        Ok(namespace) => Some(namespace),
        Err(why) => {
            println!("skipped: {}", why.to_string().lines().next().unwrap_or_default());
            None
        }
    }
}

fn namespace() -> Result<Namespace, LiveError> {
    let namespace = Namespace::new()?;
    let probed = namespace.run(|| Tun::open("probe").map(drop));
    probed.expect("a namespace to enter")?;
    for (name, value) in [
        ("ipv4.ip_forward", "1"),
        ("ipv6.conf.all.forwarding", "1"),
        ("ipv4.conf.all.rp_filter", "0"),
        ("ipv4.conf.default.rp_filter", "0"),
    ] {
        namespace.set(name, value).expect("a setting of our own namespace");
    }
    Ok(namespace)
}

/// The end of a path's wire in a namespace.
fn wire(namespace: &Namespace, number: usize, end: u8) -> Tun {
    let name = format!("wire{number}");
    let tun = namespace.run(|| Tun::open(&name)).expect("the namespace").expect("a TUN device");
    let addresses =
        [Family::V4, Family::V6].map(|family| Subnet::usual(host(family, Net::Wire, number, end)));
    namespace.bring_up(&name, &addresses).expect("addresses of the wire");
    tun
}

/// Lead to the engine on the far side of a wire; and what the engine here sends from the path's
/// device over that wire, for any destination: an address of an engine identifies a path.
fn route(namespace: &Namespace, number: usize, far: Net) {
    let own_table = 100 + number as u32;
    let routed = namespace.configure(|netlink| {
        let device = netlink.link(&format!("wire{number}"))?.expect("it was just made").index;
        for family in [Family::V4, Family::V6] {
            netlink.add_rule(&format!("tun{number}"), own_table, family == Family::V4)?;
            for (destination, table) in
                [(subnet(family, far, number), MAIN_TABLE), (everything(family), own_table)]
            {
                netlink.add_route(&Route { destination, device, gateway: None, table })?;
            }
        }
        Ok(())
    });
    routed.expect("a route");
}

fn everything(family: Family) -> Subnet {
    let address = match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    Subnet { address, prefix_len: 0 }
}

fn host(family: Family, net: Net, number: usize, host: u8) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(10, net as u8, number as u8, host).into(),
        Family::V6 => {
            let net = 0xfd00 | net as u16;
            Ipv6Addr::new(net, number as u16, 0, 0, 0, 0, 0, host.into()).into()
        }
    }
}

fn subnet(family: Family, net: Net, number: usize) -> Subnet {
    Subnet::usual(host(family, net, number, 0))
}

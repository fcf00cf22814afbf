//! What the tests share: a client and a server with one or two paths, and boxes on them.

use base::{Chance, Duration, HostId, Instant, InterfaceId, LinkId, Rate};
use network::middlebox::{MiddleBox, MiddleBoxConfig, Way};
use network::{Capacity, End, Limit, LinkConfig, LinkEnds, LossConfig, Network};
use simulator::{Endpoint, ProcessingCost, Stopped, World};
use std::net::{IpAddr, SocketAddr};
use traffic::{Half, Report, Role, StreamMismatch, Traffic};
use transport::mptcp::MptcpConfig;
use transport::{
    ConnectionInfo, InterfaceConfig, Protocol, ProtocolConfig, StackConfig, TcpConfig,
};

const CLIENT: HostId = HostId(0);
const SERVER: HostId = HostId(1);
const PORT: u16 = 5001;
/// The virtual streams that an upload and a download consist of.
pub(crate) const UPLOAD: u32 = 0;
pub(crate) const DOWNLOAD: u32 = 1;
/// No transfer here takes longer, including silent paths and their timers.
const LIMIT: Duration = Duration::from_secs(300);

/// Rate in Mbit/s and one-way delay in milliseconds of each path.
const PATHS: [(u64, u64); 2] = [(20, 10), (10, 25)];

/// A run to be made.
pub(crate) struct Run {
    paths: usize,
    socket: ProtocolConfig,
    bytes: u64,
    upload: bool,
    loss: f64,
    boxes: Vec<(usize, Option<Way>, MiddleBoxConfig)>,
    /// On the way to the client, on the first path.
    own: Option<Box<dyn MiddleBox>>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What had to arrive.
    pub bytes: u64,
    pub client: Report,
    pub server: Report,
    /// Of client and server when the transfer was over; `None` on TCP sockets.
    pub mptcp: [Option<ConnectionInfo>; 2],
    /// Segments with payload that reached client and server.
    pub data_packets: [u64; 2],
    /// When the transfer was over.
    pub ended: Instant,
    pub stopped: Stopped,
}

impl Run {
    /// A download of 2 MB over TCP.
    pub(crate) fn tcp() -> Run {
        Run::new(1, ProtocolConfig::Tcp(TcpConfig::default()))
    }

    /// The same over MPTCP with this number of paths.
    pub(crate) fn mptcp(paths: usize) -> Run {
        Run::new(paths, ProtocolConfig::Mptcp(Box::new(config(false))))
    }

    /// The same with DSS checksums.
    pub(crate) fn with_checksums(paths: usize) -> Run {
        Run::new(paths, ProtocolConfig::Mptcp(Box::new(config(true))))
    }

    fn new(paths: usize, socket: ProtocolConfig) -> Run {
        Run {
            paths,
            socket,
            bytes: 2_000_000,
            upload: false,
            loss: 0.0,
            boxes: Vec::new(),
            own: None,
        }
    }

    /// The client sends.
    #[must_use]
    pub(crate) fn upload(self) -> Run {
        Run { upload: true, ..self }
    }

    /// Every link loses packets.
    #[must_use]
    pub(crate) fn lossy(self, loss: f64) -> Run {
        Run { loss, ..self }
    }

    /// A box on a path, in both directions.
    #[must_use]
    pub(crate) fn behind(mut self, path: usize, config: MiddleBoxConfig) -> Run {
        self.boxes.push((path, None, config));
        self
    }

    /// A box on a path for what goes `way`.
    #[must_use]
    pub(crate) fn one_way(mut self, path: usize, way: Way, config: MiddleBoxConfig) -> Run {
        self.boxes.push((path, Some(way), config));
        self
    }

    /// A box of the test's own on the first path, for what goes to the client.
    #[must_use]
    pub(crate) fn behind_own(self, own: impl MiddleBox + 'static) -> Run {
        Run { own: Some(Box::new(own)), ..self }
    }

    /// Make the run.
    pub(crate) fn go(mut self) -> Seen {
        let mut world = self.build();
        let done = |world: &World<Half>| {
            [CLIENT, SERVER]
                .iter()
                .any(|host| world.applications(*host).any(traffic::Application::is_done))
        };
        let mut stopped = world.run_until(Instant::ZERO + LIMIT, done).unwrap();
        let ended = world.now();
        let mptcp = [CLIENT, SERVER].map(|host| {
            let socket = world.applications(host).next()?.sockets().first().copied()?;
            world.info(host, socket).filter(|info| info.protocol == Protocol::Mptcp)
        });
        if stopped == Stopped::Condition {
            stopped = world.run_until(ended + LIMIT, |_| false).unwrap();
        }
        let report = |host| world.applications(host).next().unwrap().report().clone();
        Seen {
            bytes: self.bytes,
            client: report(CLIENT),
            server: report(SERVER),
            mptcp,
            data_packets: [CLIENT, SERVER].map(|host| world.counters(host).data_packets),
            ended,
            stopped,
        }
    }

    fn build(&mut self) -> World<Half> {
        let mut world = World::new(Chance::new(1, 0), &network(self.paths)).unwrap();
        for (path, (mbit, delay)) in PATHS.iter().enumerate().take(self.paths) {
            for side in 0..2 {
                world.add_link(self.link(*mbit, *delay), 2 * path as u64 + side);
            }
        }
        for host in [CLIENT, SERVER] {
            let interface =
                |path| InterfaceConfig { addresses: vec![address(path, host)], mtu: 1500 };
            let interfaces = (0..self.paths).map(interface).collect();
            world.add_host(
                StackConfig { interfaces, ..StackConfig::default() },
                ProcessingCost::default(),
                None,
            );
        }
        for (path, way, config) in &self.boxes {
            let [outward, inward] = config.build();
            if *way != Some(Way::Inward) {
                world.set_middlebox(LinkId(2 * *path as u32 + 1), outward);
            }
            if *way != Some(Way::Outward) {
                world.set_middlebox(LinkId(2 * *path as u32), inward);
            }
        }
        if let Some(own) = self.own.take() {
            world.set_middlebox(LinkId(0), own);
        }
        self.add_applications(&mut world);
        world.set_pass_through(true);
        world
    }

    fn link(&self, mbit: u64, delay: u64) -> LinkConfig {
        LinkConfig {
            capacity: Capacity::Rate(Rate::from_mbit(mbit)),
            delay: Duration::from_millis(delay),
            limit: Limit::Packets(100),
            loss: LossConfig::Bernoulli { p: self.loss },
            ..LinkConfig::default()
        }
    }

    fn add_applications(&self, world: &mut World<Half>) {
        for (host, role) in [(CLIENT, Role::Client), (SERVER, Role::Server)] {
            let endpoint = Endpoint {
                local: address(0, host),
                remote: SocketAddr::new(address(0, SERVER), PORT),
                listen: (role == Role::Server).then_some(PORT),
                starts_at: Instant::ZERO,
                socket: self.socket.clone(),
            };
            let application = Half::new(&Traffic::BulkSize(self.bytes), role, self.upload, 0);
            world.add_application(host, application, endpoint).unwrap();
        }
    }
}

impl Seen {
    /// Everything arrived exactly once, and both ends closed in peace.
    pub(crate) fn assert_complete(&self) -> &Seen {
        self.assert_arrived();
        assert_eq!(self.stopped, Stopped::Idle, "{self:#?}");
        assert!(self.client.closed && self.server.closed, "{self:#?}");
        assert_eq!((self.client.failure, self.server.failure), (None, None), "{self:#?}");
        self
    }

    /// Everything arrived exactly once.
    pub(crate) fn assert_arrived(&self) -> &Seen {
        assert_eq!(self.mismatch(), None, "{self:#?}");
        assert_eq!(self.bytes_read(), self.bytes, "{self:#?}");
        self
    }

    /// Everything arrived exactly once, or an application was notified that it did not.
    pub(crate) fn assert_honest(&self) -> &Seen {
        assert_eq!(self.mismatch(), None, "{self:#?}");
        let failed = self.client.failure.is_some() || self.server.failure.is_some();
        assert!(failed || self.bytes_read() == self.bytes, "{self:#?}");
        self
    }

    /// Both ends agree whether they use MPTCP; one that received no option has a TCP socket.
    pub(crate) fn assert_fallback(&self, fallback: bool) -> &Seen {
        for info in &self.mptcp {
            assert_eq!(info.as_ref().is_none_or(|info| info.fallback), fallback, "{self:#?}");
        }
        self
    }

    /// The data sender used this path for a tenth of the data at least, or not at all.
    pub(crate) fn assert_used(&self, path: usize, used: bool) -> &Seen {
        let [client, server] = [0, 1].map(|end| self.first_sent(end, path));
        let sent = client.max(server);
        assert!(if used { sent > 200_000 } else { sent <= 1 }, "{sent} bytes: {self:#?}");
        self
    }

    /// In the direction of the transfer.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.client.bytes_read + self.server.bytes_read
    }

    pub(crate) fn mismatch(&self) -> Option<StreamMismatch> {
        self.client.mismatch.or(self.server.mismatch)
    }

    /// Options, mappings and joins that were refused by either end.
    pub(crate) fn refused(&self) -> u64 {
        self.mptcp.iter().flatten().map(|info| info.refused).sum()
    }

    fn first_sent(&self, end: usize, path: usize) -> u64 {
        let subflows = self.mptcp[end].iter().flat_map(|info| &info.paths);
        let here = subflows.filter(|subflow| subflow.interface.index() == path);
        here.map(|subflow| subflow.first_sent_bytes).sum()
    }
}

fn config(checksum: bool) -> MptcpConfig {
    MptcpConfig { checksum, common_prefix_bits: Some(24), ..MptcpConfig::default() }
}

pub(crate) fn address(path: usize, host: HostId) -> IpAddr {
    [10, 0, path as u8, host.0 as u8 + 1].into()
}

/// Two links for each path: down, up.
fn network(paths: usize) -> Network {
    let links = (0..paths).flat_map(|number| {
        let end = |host| End::Host(host, InterfaceId(number as u16));
        let (client, server) = (end(CLIENT), end(SERVER));
        [LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }]
    });
    Network { links: links.collect(), routes: Vec::new() }
}

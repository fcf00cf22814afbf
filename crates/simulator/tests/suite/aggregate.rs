//! The aggregate rule of the kernel's own MPTCP self-test: over two paths, 16 MiB one way and
//! 80 KiB the other at once take at most 8 x size / (0.9 x (r1 + r2)) + 450 ms.

use crate::pair::{CLIENT, SERVER, stack_of};
use base::{Chance, Duration, InterfaceId, Rate, SocketId};
use network::{End, Limit, LinkConfig, LinkEnds, Network};
use simulator::{Endpoint, NicSetup, ProcessingCost, World};
use traffic::{Application, StreamCheck, StreamFailure, StreamHost};
use transport::mptcp::MptcpConfig;
use transport::{ProtocolConfig, TcpConfig};
use wire::Payload;

const LARGE: u64 = 16 << 20;
const SMALL: u64 = 80 << 10;
const PORT: u16 = 5001;

/// Writes and reads at the same time, then closes.
struct Both {
    client: bool,
    stream: u32,
    socket: Option<SocketId>,
    to_write: u64,
    written: u64,
    to_read: u64,
    check: StreamCheck,
    done: bool,
    failure: Option<StreamFailure>,
}

impl Both {
    fn new(client: bool, to_write: u64, to_read: u64) -> Both {
        let stream = u32::from(client);
        Both {
            client,
            stream,
            socket: None,
            to_write,
            written: 0,
            to_read,
            check: StreamCheck::new(1 - stream),
            done: false,
            failure: None,
        }
    }

    fn write(&mut self, host: &mut dyn StreamHost) {
        let Some(socket) = self.socket else { return };
        while self.written < self.to_write {
            let len = (self.to_write - self.written).min(1 << 20) as u32;
            let payload = Payload::virtual_range(self.stream, self.written, len);
            let taken = host.write(socket, &payload);
            self.written += u64::from(taken);
            if taken < len {
                return;
            }
        }
        host.shutdown(socket);
    }
}

impl Application for Both {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        if self.client {
            self.socket = Some(host.connect().expect("the address is there"));
        }
    }
    fn on_connected(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.write(host);
    }
    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.socket = Some(socket);
        self.write(host);
    }
    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            let payload = host.read(socket, 1 << 20);
            if payload.is_empty() {
                break;
            }
            self.check.advance(&payload).expect("what is read is what was written");
        }
        self.done = self.check.bytes_read() == self.to_read;
    }
    fn on_writable(&mut self, host: &mut dyn StreamHost, _socket: SocketId) {
        self.write(host);
    }
    fn on_failed(&mut self, _socket: SocketId, failure: StreamFailure) {
        self.failure = Some(failure);
    }
    fn is_done(&self) -> bool {
        self.done
    }
}

/// A path: rate in Mbit/s and one-way delay in ms, the same in both directions.
type Path = (u64, u64);

/// Seconds until both directions are read; and the segments sent again by the side with more.
fn time(paths: [Path; 2], congestion: &'static str, client_sends: u64, server_sends: u64) -> f64 {
    let mut world = world(paths);
    let tcp = TcpConfig { congestion: congestion.parse().unwrap(), ..TcpConfig::default() };
    let mptcp = MptcpConfig { tcp, common_prefix_bits: Some(24), ..MptcpConfig::default() };
    let both = [(client_sends, server_sends), (server_sends, client_sends)];
    for (host, (sends, reads)) in [CLIENT, SERVER].into_iter().zip(both) {
        let endpoint = Endpoint {
            local: crate::pair::address_on(0, host).into(),
            remote: (crate::pair::address_on(0, SERVER), PORT).into(),
            listen: (host == SERVER).then_some(PORT),
            starts_at: base::Instant::ZERO,
            socket: ProtocolConfig::Mptcp(Box::new(mptcp.clone())),
        };
        world.add_application(host, Both::new(host == CLIENT, sends, reads), endpoint).unwrap();
    }
    let both_done = |world: &World<Both>| {
        [CLIENT, SERVER].iter().all(|host| world.applications(*host).all(Both::is_done))
    };
    let limit = base::Instant::from_secs(60);
    let stopped = world.run_until(limit, both_done).unwrap();
    for host in [CLIENT, SERVER] {
        let failure = world.applications(host).find_map(|both| both.failure);
        assert_eq!(failure, None, "{stopped:?}");
    }
    world.now().as_secs_f64()
}

fn world(paths: [Path; 2]) -> World<Both> {
    let links = (0..2).flat_map(|number| {
        let [client, server] = [CLIENT, SERVER].map(|host| End::Host(host, InterfaceId(number)));
        [LinkEnds { from: server, to: client }, LinkEnds { from: client, to: server }]
    });
    let network = Network { links: links.collect(), routes: Vec::new() };
    let mut world = World::new(Chance::new(1, 0), &network).unwrap();
    for (owner, (mbit, delay_ms)) in paths.into_iter().flat_map(|path| [path, path]).enumerate() {
        let link = LinkConfig {
            capacity: Rate::from_mbit(mbit).into(),
            delay: Duration::from_millis(delay_ms),
            limit: Limit::Packets(100),
            ..LinkConfig::default()
        };
        world.add_link(link, owner as u64);
    }
    for host in [CLIENT, SERVER] {
        let nic = Some(NicSetup::default());
        world.add_host(stack_of(host, 2), ProcessingCost::default(), nic);
    }
    world
}

fn holds(rates: [u64; 2], delays: [u64; 2]) {
    let bound = 8.0 * LARGE as f64 / (0.9e6 * (rates[0] + rates[1]) as f64) + 0.45;
    let paths = [(rates[0], delays[0]), (rates[1], delays[1])];
    for congestion in ["cubic", "reno"] {
        for (up, down) in [(LARGE, SMALL), (SMALL, LARGE)] {
            let time = time(paths, congestion, up, down);
            let case =
                format!("{rates:?} Mbit/s, {delays:?} ms, {congestion}, {up} up {down} down");
            println!("{case}: {time:.3} s of {bound:.3} s");
            assert!(time <= bound, "{case}: {time:.3} s, bound {bound:.3} s");
        }
    }
}

#[test]
fn equal_rates_without_delay() {
    holds([10, 10], [0, 0]);
}

#[test]
fn equal_rates_with_different_delays() {
    holds([10, 10], [1, 25]);
    holds([10, 10], [25, 1]);
}

#[test]
fn different_rates_without_delay() {
    holds([15, 5], [0, 0]);
}

#[test]
fn different_rates_with_different_delays() {
    holds([15, 5], [1, 25]);
    holds([15, 5], [25, 1]);
}

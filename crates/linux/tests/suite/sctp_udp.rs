//! SCTP in UDP (RFC 6951) on loopback: whole files between two engines, with equal hashes.
//!
//! Needs no privilege, except where a filter cuts a path. Each test has loopback addresses of its
//! own, so that all have the usual port.

use crate::connection::run_for;
use crate::kernel;
use crate::transfer::Folder;
use crate::world::PATIENCE;
use linux::path::{Paths, parse_any};
use linux::{Download, End, Endpoint, FileServer, Live, LiveCounters, Namespace, Progress};
use linux::{Received, SCTP_UDP_PORT, UdpAddress};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use transport::sctp::SctpConfig;

const MIB: usize = 1 << 20;
/// SCTP port of the server.
const PORT: u16 = 8080;

/// Addresses of one test: those of the server and those of the client.
struct Hosts {
    servers: Vec<Ipv4Addr>,
    clients: Vec<Ipv4Addr>,
}

/// Result of a download at both ends.
struct Ends {
    received: Received,
    client: LiveCounters,
    server: LiveCounters,
}

impl Hosts {
    /// `each` addresses a side, those of test number `test`.
    fn new(test: u8, each: u8) -> Hosts {
        let process = (std::process::id() % 0xFFFF).to_be_bytes();
        let net = 1 + (process[2] ^ process[3]) % 250;
        let side = |from: u8| {
            (1..=each).map(move |host| Ipv4Addr::new(127, net, process[3], test * 16 + from + host))
        };
        Hosts { servers: side(0).collect(), clients: side(8).collect() }
    }

    fn server(&self) -> SocketAddr {
        (self.servers[0], PORT).into()
    }
}

fn paths(addresses: &[Ipv4Addr]) -> Vec<UdpAddress> {
    let texts: Vec<String> = addresses.iter().map(|address| format!("udp={address}")).collect();
    match parse_any(texts.iter().map(String::as_str)) {
        Ok(Paths::Udp(paths)) => paths,
        other => panic!("{other:?}"),
    }
}

fn endpoint() -> Endpoint {
    Endpoint { protocol: SctpConfig::default().into(), ..Endpoint::default() }
}

/// The client of a download into `folder`.
fn client(
    hosts: &Hosts,
    folder: &Path,
    on_progress: impl FnMut(Progress) + 'static,
) -> (Received, LiveCounters) {
    let server = hosts.server();
    let got = folder.join("got");
    let download = Download::new(server, "file", &got, true, on_progress);
    let download = download.expect("a file").with_http11("file");
    let endpoint = Endpoint { remote: Some(server), ..endpoint() };
    let live = Live::open_udp(&paths(&hosts.clients), endpoint, download);
    let mut live = live.expect("a client");
    run_for(&mut live, PATIENCE).expect("a run");
    (live.application().result().expect("a download"), live.counters())
}

/// Downloads `size` bytes; `on_progress` is called by the client, which `disturb` runs beside.
fn download(
    name: &str,
    hosts: &Hosts,
    size: usize,
    on_progress: impl FnMut(Progress) + Send + 'static,
    disturb: impl FnOnce(),
) -> Ends {
    let folder = Folder::new(name);
    let content = kernel::content(size);
    std::fs::write(folder.0.join("file"), &content).expect("a file");
    let (ready, wait) = channel();
    let ends = thread::scope(|scope| {
        let folder = &folder.0;
        let server = scope.spawn(move || {
            let served = FileServer::new(folder, |served| assert_eq!(served.failure, None));
            let listen = Some(hosts.server());
            let endpoint = Endpoint { listen, ..endpoint() };
            let served = served.expect("a server");
            let live = Live::open_udp(&paths(&hosts.servers), endpoint, served);
            let mut live = live.expect("a server");
            ready.send(live.stopper()).expect("somebody who waits");
            assert_eq!(run_for(&mut live, PATIENCE).expect("a run"), End::Stopped);
            live.counters()
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        disturb();
        let client = scope.spawn(move || client(hosts, folder, on_progress)).join();
        stopper.stop();
        let server = server.join().expect("no panic");
        let (received, client) = client.expect("no panic");
        Ends { received, client, server }
    });
    assert_eq!(ends.received.bytes, size as u64);
    assert_eq!(ends.received.sha256, Some(kernel::sha256(&content)));
    ends
}

#[test]
fn file_of_1_and_16_mib_arrives_over_udp_without_privilege() {
    for size in [MIB, 16 * MIB] {
        let ends = download("sctp-udp", &Hosts::new(1, 1), size, |_| {}, || {});
        assert_eq!((ends.client.ignored, ends.server.ignored), (0, 0));
        assert_eq!((ends.client.unsent, ends.server.unsent), (0, 0));
    }
}

#[test]
fn file_arrives_between_hosts_of_two_addresses() {
    let ends = download("sctp-udp-two", &Hosts::new(2, 2), MIB, |_| {}, || {});
    assert_eq!((ends.client.ignored, ends.server.ignored), (0, 0));
}

#[test]
fn bad_datagrams_are_counted_and_ignored() {
    let hosts = Hosts::new(3, 1);
    let target = SocketAddr::from((hosts.servers[0], SCTP_UDP_PORT));
    let attack = move || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let wrong_checksum = [0, 1, 0x1F, 0x90, 0, 0, 0, 0, 1, 2, 3, 4, 1, 0, 0, 4];
        for bytes in [&[][..], &[0; 3], &[0xFF; 200], &wrong_checksum] {
            socket.send_to(bytes, target).expect("a datagram");
        }
    };
    let ends = download("sctp-udp-bad", &hosts, MIB, |_| {}, attack);
    assert_eq!((ends.client.ignored, ends.server.ignored), (0, 4));
}

#[test]
fn client_of_a_host_without_server_fails_at_once() {
    let hosts = Hosts::new(5, 1);
    let folder = Folder::new("sctp-udp-none");
    let got = folder.0.join("got");
    let download = Download::new(hosts.server(), "file", &got, false, |_| {}).expect("a file");
    let endpoint = Endpoint { remote: Some(hosts.server()), ..endpoint() };
    let live = Live::open_udp(&paths(&hosts.clients), endpoint, download);
    let mut live = live.expect("a client");
    assert_eq!(run_for(&mut live, PATIENCE).expect("a run"), End::Done);
    let why = live.application().result().expect_err("no server").to_string();
    assert!(why.contains("unreachable"), "{why}");
}

/// Drops what is sent to the address; `false`, after printing the reason, if that cannot be.
fn cut(address: Ipv4Addr) -> bool {
    let rules = format!(
        "add table ip cut; \
         add chain ip cut way {{ type filter hook input priority 0; }}; \
         add rule ip cut way ip daddr {address} drop; \
         add rule ip cut way ip saddr {address} drop"
    );
    match Command::new("nft").arg(&rules).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!("skipped: nft: {}", String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            println!("skipped: nft: {error}");
            false
        }
    }
}

/// The whole test in a namespace; `false`, after printing the reason, where that cannot be made.
fn apart(what: impl FnOnce() + Send) -> bool {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(why) => {
            println!("skipped: {}", why.to_string().lines().next().unwrap_or_default());
            return false;
        }
    };
    namespace.run(what).expect("the namespace");
    true
}

#[test]
fn file_arrives_when_the_primary_path_is_cut_in_the_middle() {
    apart(|| {
        let hosts = Hosts::new(4, 2);
        let mut primary = Some(hosts.servers[0]);
        let is_cut = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_cut);
        let cut_in_the_middle = move |progress: Progress| {
            if progress.received > 4 * MIB as u64
                && let Some(address) = primary.take()
            {
                done.store(cut(address), Ordering::Relaxed);
            }
        };
        let ends = download("sctp-udp-cut", &hosts, 16 * MIB, cut_in_the_middle, || {});
        assert_eq!((ends.client.ignored, ends.server.ignored), (0, 0));
        // RTO.Min is a second.
        let waited = ends.received.time >= base::Duration::from_millis(900);
        assert!(waited || !is_cut.load(Ordering::Relaxed), "{}", ends.received.time);
    });
}

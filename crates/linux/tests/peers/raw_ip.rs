//! usrsctp over IP protocol 132 (RFC 9260 s3), and an engine behind TUN devices: between the two
//! are our kernel as a router and two paths.
//!
//! Our host has addresses of IPv6, too, which this peer ignores.
//!
//! Needs root and TUN devices; without them every test prints `skipped: ...`.

use crate::ours::{OUR_SEED, PEER_SEED};
use crate::pattern::{self, Hash};
use crate::support::connection::run_for;
use crate::support::exchange::{Close, Exchange};
use crate::support::forwarder::Conditions;
use crate::support::world::{Family, World};
use crate::usrsctp_peer::{self, UsrsctpPeer, count};
use linux::Endpoint;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use transport::sctp::SctpConfig;

const SIZE: u64 = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(60);
/// The peer's window: what does not fit the kernel's buffer of a raw socket is answered with ICMP
/// protocol unreachable (Linux `raw_v4_input`), which ends an association (RFC 9260 s10).
const WINDOW: u32 = 64 << 10;
const WIRE: Conditions = Conditions { delay: Duration::from_millis(2), drop_every: 0 };

/// Bytes both ways; usrsctp begins the end.
fn exchange(we_connect: bool) {
    if !usrsctp_peer::is_there() {
        return;
    }
    let Some(world) = World::with_kernel(&[WIRE, WIRE]) else { return };
    let (server, listen) = (world.peer_server(Family::V4, 0), world.engine_server(Family::V4, 0));
    let theirs = [0, 1].map(|number| Ipv4Addr::new(10, 2, number, 2).to_string()).join(",");
    let common = format!("local={theirs} send={SIZE} expect={SIZE} window={WINDOW}");
    let start = |arguments: String| {
        world.peer.run(|| UsrsctpPeer::start(&arguments)).expect("the namespace of the peer")
    };
    let mut peer = we_connect.then(|| start(format!("server port={} {common}", server.port())));
    if let Some(peer) = &mut peer {
        peer.wait_for("listening");
    }
    let (ready, opened) = channel();
    let endpoint = Endpoint {
        remote: we_connect.then_some(server),
        listen: (!we_connect)
            .then_some(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), listen.port())),
        protocol: SctpConfig::default().into(),
        ..Endpoint::default()
    };
    let ours = thread::scope(|scope| {
        let ours = scope.spawn(|| {
            let content = pattern::bytes(OUR_SEED, 0, SIZE as usize);
            let application = Exchange::new(we_connect, content, Close::Second);
            let mut live = world.open(endpoint, application).expect("an engine");
            ready.send(()).expect("somebody who waits");
            run_for(&mut live, PATIENCE).expect("a run");
            live.into_application()
        });
        opened.recv_timeout(PATIENCE).expect("an engine");
        let role = format!("client peer-port={} remote={}", listen.port(), listen.ip());
        let peer = peer.get_or_insert_with(|| start(format!("{role} {common}")));
        peer.wait_for("complete");
        peer.wait_for("sent");
        peer.tell("shutdown");
        peer.wait_for("over");
        ours.join().expect("no panic")
    });
    let mut peer = peer.expect("it was started");
    let received = peer.line("received").map(str::to_owned);
    let hash = Hash::of_pattern(OUR_SEED, SIZE);
    assert_eq!(received, Some(format!("received {SIZE} {:016x}", hash.0)));
    assert_eq!((ours.failure, ours.closed), (None, true));
    assert!(ours.received == pattern::bytes(PEER_SEED, 0, SIZE as usize), "contents differ");
    let statistics = peer.quit_without_fault();
    // We verified the second path.
    assert!(count(&statistics, "heartbeats") >= 1, "{statistics}");
}

#[test]
fn we_exchange_bytes_with_usrsctp_in_ip_as_client() {
    exchange(true);
}

#[test]
fn we_exchange_bytes_with_usrsctp_in_ip_as_server() {
    exchange(false);
}

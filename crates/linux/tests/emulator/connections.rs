//! Kernel connections over the paths: TCP takes the one it was given, MPTCP all of them.

use crate::world::{emulator, link, path, run_over, turn};
use linux::emulator::{EmulatedRecord, Emulator, Side, address};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

const PORT: u16 = 8080;
const LENGTH: usize = 3 << 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// Linux IPPROTO_MPTCP.
const MPTCP: i32 = 262;

fn socket(protocol: Protocol) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.set_tcp_congestion(b"cubic")?;
    Ok(socket)
}

/// Download from the server's address on `first`.
fn download(emulator: &mut Emulator, protocol: Protocol, first: usize) -> EmulatedRecord {
    let server = SocketAddr::new(address(Side::Server, first, false), PORT);
    let listen = || {
        let socket = socket(protocol)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from(([0, 0, 0, 0], PORT)).into())?;
        socket.listen(1).map(|()| socket)
    };
    let listener = emulator.server.namespace.run(listen).expect("the namespace").expect("a port");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (peer, _) = listener.accept().expect("a client");
            let mut peer = TcpStream::from(peer);
            peer.read_exact(&mut [0]).expect("a request");
            peer.write_all(&vec![7; LENGTH]).expect("everything");
        });
        let connect = || {
            let socket = socket(protocol)?;
            socket.connect_timeout(&server.into(), PATIENCE).map(|()| TcpStream::from(socket))
        };
        let client = emulator.client.namespace.run(connect).expect("the namespace");
        let mut client = client.expect("a connection");
        client.write_all(&[1]).expect("a request");
        let mut got = Vec::new();
        client.read_to_end(&mut got).expect("everything");
        assert!(got == vec![7; LENGTH], "what came is not what was sent");
    });
    thread::sleep(Duration::from_millis(200));
    emulator.end_run().expect("a record")
}

/// Bytes that came down each path.
fn carried(record: &EmulatedRecord) -> Vec<u64> {
    record.links.iter().map(|path| path.down.bytes_delivered).collect()
}

#[test]
fn connections_use_the_paths_they_are_meant_to_use() {
    let _turn = turn();
    let paths = [path("a", link(10, 10, 0.0)), path("b", link(10, 15, 0.0))];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    for first in [0, 1] {
        emulator.begin_run(&run_over(&paths)).expect("a run");
        let record = download(&mut emulator, Protocol::TCP, first);
        let carried = carried(&record);
        assert!(carried[first] > LENGTH as u64, "{carried:?}");
        assert_eq!(carried[1 - first], 0, "{carried:?}");
    }
    if !emulator.server.mptcp || emulator.server.namespace.run(|| socket(MPTCP.into())).is_err() {
        println!("skipped: the kernel has no MPTCP (sudo sysctl -w net.mptcp.enabled=1)");
        return;
    }
    for first in [0, 1] {
        emulator.begin_run(&run_over(&paths)).expect("a run");
        let record = download(&mut emulator, MPTCP.into(), first);
        let carried = carried(&record);
        println!("first {first}: {carried:?}; {}", record.quality);
        let least = carried.iter().min().expect("two paths");
        assert!(*least > LENGTH as u64 / 5, "{carried:?}");
    }
}

#[test]
fn captures_of_both_hosts_hold_every_packet() {
    let _turn = turn();
    let paths = [path("a", link(20, 5, 0.0))];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    let run = linux::emulator::EmulatedRun { capture: true, ..run_over(&paths) };
    emulator.begin_run(&run).expect("a run");
    let record = download(&mut emulator, Protocol::TCP, 0);
    let captures = record.captures.expect("captures");
    let delivered = record.links[0].down.delivered + record.links[0].up.delivered;
    for file in captures {
        let reader = wire::CaptureReader::new(&file[..]).expect("a capture");
        let packets: Vec<_> = reader.map(|packet| packet.expect("a packet")).collect();
        let packets = packets.len() as u64;
        // Each host sees what it sent, lost or not, and what reached it.
        assert!(packets >= delivered, "{packets} of {delivered}");
    }
}

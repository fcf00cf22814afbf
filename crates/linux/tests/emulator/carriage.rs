//! Every IP datagram is delivered byte for byte; neighbour discovery is not carried.

use crate::world::{emulator, link, path, run_over, turn};
use linux::emulator::{Emulator, Side};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::Read;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::process::Command;
use std::time::Duration;

/// Linux ETH_P_ALL.
const EVERYTHING: u16 = 3;
/// Linux IPPROTO_RAW: the datagram is sent as it is.
const AS_IT_IS: i32 = 255;

/// Sees all packets of a host.
fn tap(emulator: &Emulator, side: Side) -> Socket {
    let protocol = Protocol::from(i32::from(EVERYTHING.to_be()));
    let open = || Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol));
    let socket = emulator.host(side).namespace.run(open).expect("the namespace").expect("a tap");
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a time-out");
    socket
}

/// What a tap saw, until nothing more comes.
fn seen(mut tap: &Socket) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 70_000];
    std::iter::from_fn(|| tap.read(&mut buffer).ok().map(|len| buffer[..len].to_vec())).collect()
}

/// An IPv4 header with options; the kernel fills in the rest.
fn ipv4(protocol: u8, options: &[u8], fragment: u16, ecn: u8, unit: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let len = (words * 4 + unit.len()) as u16;
    let mut bytes = vec![0x40 | words as u8, ecn];
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(&[0xAB, 0xCD]);
    bytes.extend_from_slice(&fragment.to_be_bytes());
    bytes.extend_from_slice(&[33, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend_from_slice(options);
    bytes.extend_from_slice(unit);
    bytes
}

fn ipv6(next: u8, unit: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x6A, 0x12, 0x34, 0x56];
    bytes.extend_from_slice(&(unit.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&[next, 17]);
    for host in [1, 2] {
        let address = Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, host);
        bytes.extend_from_slice(&address.octets());
    }
    bytes.extend_from_slice(unit);
    bytes
}

/// Datagrams that no parser of ours would let pass.
fn odd() -> Vec<Vec<u8>> {
    let udp = [0x10, 0, 0x20, 0, 0, 12, 0, 0, 1, 2, 3, 4];
    // A SYN with option 254, which is not assigned, and a wrong checksum.
    let mut syn = [0; 28];
    syn[..4].copy_from_slice(&[0x10, 0, 0x20, 0]);
    syn[12..14].copy_from_slice(&[0x70, 2]);
    syn[20..28].copy_from_slice(&[254, 8, 1, 2, 3, 4, 5, 6]);
    let hop_by_hop = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &udp].concat();
    vec![
        ipv4(17, &[], 0, 3, &udp),
        ipv4(17, &[7, 7, 4, 0, 0, 0, 0, 0], 0, 0, &udp),
        ipv4(17, &[], 0x2000, 0, &[9; 64]),
        ipv4(17, &[], 0x0008, 1, &[8; 61]),
        ipv4(253, &[], 0x4000, 2, &[7; 1480]),
        ipv4(6, &[], 0, 0, &syn),
        ipv6(17, &udp),
        ipv6(0, &hop_by_hop),
        ipv6(253, &[6; 1460]),
    ]
}

fn send(emulator: &Emulator, datagram: &[u8]) {
    let is_ipv4 = datagram[0] >> 4 == 4;
    let domain = if is_ipv4 { Domain::IPV4 } else { Domain::IPV6 };
    let target: SockAddr = if is_ipv4 {
        SocketAddr::new(IpAddr::from([10, 0, 0, 2]), 0).into()
    } else {
        SocketAddrV6::new(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 2), 0, 0, 0).into()
    };
    let raw = || {
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(AS_IT_IS)))?;
        socket.send_to(datagram, &target)
    };
    emulator.client.namespace.run(raw).expect("the namespace").expect("sent");
}

#[test]
fn datagrams_of_any_kind_come_out_byte_for_byte() {
    let _turn = turn();
    let paths = [path("only", link(100, 2, 0.0))];
    let Some(mut emulator) = emulator(&paths, true) else { return };
    emulator.begin_run(&run_over(&paths)).expect("a run");
    let (near, far) = (tap(&emulator, Side::Client), tap(&emulator, Side::Server));
    let sent = odd();
    for datagram in &sent {
        send(&emulator, datagram);
    }
    let (left, arrived) = (seen(&near), seen(&far));
    for (number, datagram) in sent.iter().enumerate() {
        // The kernel filled in the checksum of an IPv4 header, and maybe its length.
        let same = |other: &&Vec<u8>| other.get(12..) == datagram.get(12..);
        let whole = left.iter().find(same).expect("it left the client");
        assert!(arrived.contains(whole), "datagram {number} did not arrive as it left: {whole:?}");
    }
    let record = emulator.end_run().expect("a record");
    assert_eq!(record.links[0].up.accepted, sent.len() as u64, "{record:?}");
    assert_eq!(record.quality.refused, 0);
}

#[test]
fn kernels_say_nothing_on_a_path_unasked() {
    let _turn = turn();
    let paths = [path("one", link(100, 2, 0.0)), path("two", link(100, 2, 0.0))];
    for ipv6 in [false, true] {
        let Some(mut emulator) = emulator(&paths, ipv6) else { return };
        emulator.begin_run(&run_over(&paths)).expect("a run");
        std::thread::sleep(Duration::from_millis(1500));
        let record = emulator.end_run().expect("a record");
        for path in record.links {
            assert_eq!((path.up.accepted, path.down.accepted), (0, 0), "with IPv6: {ipv6}");
        }
    }
}

#[test]
fn full_sized_ping_passes_in_fragments_too() {
    let _turn = turn();
    let paths = [path("only", link(100, 2, 0.0))];
    let Some(mut emulator) = emulator(&paths, true) else { return };
    emulator.begin_run(&run_over(&paths)).expect("a run");
    for target in ["10.0.0.2", "fd00::2"] {
        let words = ["-n", "-c", "2", "-i", "0.1", "-s", "5000", "-W", "2", target];
        let command = || Command::new("ping").args(words).output();
        let Ok(output) = emulator.client.namespace.run(command).expect("the namespace") else {
            println!("skipped: no ping (sudo apt-get install iputils-ping)");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("5008 bytes from"), "{text}");
    }
}

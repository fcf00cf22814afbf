//! Offloads of TUN devices: the kernel on the other side of the device is the peer, so that it
//! neither segments what it sends nor computes checksums.

use crate::exchange::{self, Close, Exchange, Manner};
use crate::kernel;
use crate::transfer::{Folder, run};
use crate::world::{Family, PORT, namespace_or_skip};
use linux::{End, Endpoint, Live, LiveCounters, PathDevice};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use transport::{Protocol, ProtocolConfig, TcpConfig};
use wire::{CaptureReader, Packet, ParseError};

const SIZE: usize = 8 << 20;

fn protocol(protocol: Protocol) -> ProtocolConfig {
    match protocol {
        Protocol::Tcp => ProtocolConfig::Tcp(TcpConfig::default()),
        _ => ProtocolConfig::Mptcp(Box::default()),
    }
}

/// Exchanges `SIZE` bytes both ways with the kernel; `None` where there are no namespaces.
fn transfer(kind: Protocol, family: Family, capture: Option<&Folder>) -> Option<LiveCounters> {
    let namespace = namespace_or_skip()?;
    let (ours, theirs): (&str, IpAddr) = match family {
        Family::V4 => ("10.7.0.2/24", [10, 7, 0, 1].into()),
        Family::V6 => ("fd07::2/64", "fd07::1".parse().expect("an address")),
    };
    let any: IpAddr = match family {
        Family::V4 => [0; 4].into(),
        Family::V6 => [0u16; 8].into(),
    };
    let listen = || kernel::listen(kind, SocketAddr::new(any, PORT));
    let Ok(listener) = namespace.run(listen).expect("the namespace") else {
        println!("skipped: the kernel has no MPTCP (sudo sysctl -w net.mptcp.enabled=1)");
        return None;
    };
    let content = kernel::content(SIZE);
    thread::scope(|scope| {
        let manner = Manner { close: Close::Second, pause: Duration::ZERO };
        let (listener, content, namespace) = (&listener, &content, &namespace);
        // Nothing runs in parallel: the last byte is sent at once.
        let free = || channel().1;
        let accept = move || exchange::accept(listener, content, manner, free());
        let peer = scope.spawn(move || namespace.run(accept));
        let engine = scope.spawn(|| {
            namespace.enter().expect("the namespace");
            let addresses = vec![ours.parse().expect("an address")];
            let device = PathDevice { name: "tun7".to_owned(), addresses, backup: false };
            let remote = Some(SocketAddr::new(theirs, PORT));
            let endpoint = Endpoint { remote, protocol: protocol(kind), ..Endpoint::default() };
            let mut application = Exchange::new(true, content.clone(), Close::AtOnce);
            application.is_tcp = kind == Protocol::Tcp;
            let mut live = Live::open(&[device], endpoint, application).expect("an engine");
            assert_eq!(live.note(), None, "this kernel has offloads");
            if let Some(folder) = capture {
                live.capture(&folder.0.join("pcapng")).expect("a file");
            }
            assert_eq!(run(&mut live).expect("a run"), End::Done);
            let counters = live.counters();
            (live.into_application(), counters)
        });
        let (application, counters) = engine.join().expect("no panic");
        let kept = peer.join().expect("no panic").expect("the namespace").expect("a transfer");
        assert_eq!(application.failure, None);
        assert!(application.received == *content && kept.content == *content, "contents differ");
        Some(counters)
    })
}

#[test]
fn kernel_merges_what_it_sends_and_segments_what_the_engine_sends() {
    for kind in [Protocol::Mptcp, Protocol::Tcp] {
        for family in [Family::V4, Family::V6] {
            let Some(counters) = transfer(kind, family, None) else { return };
            let LiveCounters { received, sent, received_merged, sent_merged, .. } = counters;
            assert_eq!(counters.unsent, 0, "{kind:?} {family:?}");
            assert!(counters.ignored < 10, "multicast of IPv6: {kind:?} {family:?} {counters:?}");
            assert!(received_merged > received / 2, "{kind:?} {family:?} {counters:?}");
            assert!(sent_merged > sent / 2, "{kind:?} {family:?} {counters:?}");
        }
    }
}

/// Seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "what times of captures are compared with")]
fn time_of_day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

#[test]
fn capture_has_packets_as_they_would_be_on_a_wire() {
    let folder = Folder::new("offload-capture");
    let begun = time_of_day();
    let Some(counters) = transfer(Protocol::Mptcp, Family::V4, Some(&folder)) else { return };
    let file = std::fs::read(folder.0.join("pcapng")).expect("a capture");
    let (mut packets, mut longest) = (0, 0);
    for captured in CaptureReader::new(&file).expect("a capture") {
        packets += 1;
        let captured = captured.expect("a packet");
        let time = captured.time.as_nanos() / 1_000_000_000;
        assert!((begun..=time_of_day()).contains(&time), "the time of day: {time} at {begun}");
        match Packet::parse(captured.datagram) {
            Ok(packet) => longest = packet.wire_len().max(longest),
            // Multicast of IPv6.
            Err(ParseError::IcmpType { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(packets >= counters.received + counters.sent, "{packets} of {counters:?}");
    assert_eq!(longest, 1500);
}

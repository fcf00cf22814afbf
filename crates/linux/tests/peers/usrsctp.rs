//! usrsctp 0.9.5.0, the user-land form of FreeBSD's SCTP, over UDP on loopback (RFC 6951).
//!
//! Needs its library and a C compiler; without them every test prints `skipped: ...`.

use crate::ours::{OUR_SEED, Ours, PEER_SEED};
use crate::pattern::{self, Hash};
use crate::sockets::Sockets;
use crate::tshark;
use crate::usrsctp_peer::{self, UsrsctpPeer, count};
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use transport::sctp::SctpConfig;
use transport::sctp::streams::{Message, Received, Reliability};
use transport::{SocketError, SocketEventKind};
use wire::sctp::{Features, UdpPorts};

/// Port of SCTP on both sides.
const PORT: u16 = 5000;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Receive window of both sides.
const WINDOW: u32 = 1 << 20;

/// The side that does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Ours,
    Theirs,
}

/// Both ends.
struct Ends {
    ours: Ours,
    sockets: Sockets,
    peer: UsrsctpPeer,
    /// Role and addresses of the peer.
    arguments: String,
    /// Ports of packets to the peer.
    udp: UdpPorts,
}

/// A port of UDP that nobody has; somebody else might take it before the peer does.
fn free_port() -> u16 {
    let socket = UdpSocket::bind((HERE, 0)).expect("a port of UDP");
    socket.local_addr().expect("it is bound").port()
}

impl Ends {
    /// `client` opens an association; the user of our side is set up by `prepare`.
    fn open(
        client: Side,
        config: SctpConfig,
        arguments: &str,
        prepare: impl FnOnce(&mut Ours, &mut Sockets),
    ) -> Ends {
        let mut sockets = Sockets::bind(&[HERE]);
        let (ours_udp, theirs_udp) = (sockets.port(), free_port());
        let udp = UdpPorts { src: ours_udp, dst: theirs_udp };
        let mut ours = Ours::new(&[HERE], 1);
        prepare(&mut ours, &mut sockets);
        let common = format!("local={HERE} port={PORT} udp={theirs_udp} window={WINDOW}");
        let role = match client {
            Side::Ours => format!("server {common}"),
            Side::Theirs => {
                format!("client {common} remote={HERE} peer-port={PORT} peer-udp={ours_udp}")
            }
        };
        if client == Side::Theirs {
            ours.listen(PORT, &config);
        }
        let mut peer = UsrsctpPeer::start(&format!("{role} {arguments}"));
        if client == Side::Ours {
            peer.wait_for("listening");
            let remote = SocketAddr::new(HERE, PORT);
            ours.connect(HERE, remote, &SctpConfig { udp: Some(udp), ..config });
        }
        let mut ends = Ends { ours, sockets, peer, arguments: role, udp };
        ends.run("set-up", |ours, peer| ours.is_open() && peer.has_said("open"));
        ends
    }

    fn run(&mut self, what: &str, mut done: impl FnMut(&Ours, &mut UsrsctpPeer) -> bool) {
        let peer = &mut self.peer;
        self.sockets.run(&mut self.ours, what, PATIENCE, |ours| done(ours, peer));
    }

    /// Both ends shut down, begun by `closer`.
    fn shut_down(&mut self, closer: Side) {
        match closer {
            Side::Ours => self.ours.shuts_down = true,
            Side::Theirs => self.peer.tell("shutdown"),
        }
        self.run("the end", |ours, peer| ours.is_over() && peer.has_said("over"));
        let events = &self.ours.events;
        assert!(events.contains(&SocketEventKind::Closed), "{events:?}");
    }
}

fn config() -> SctpConfig {
    SctpConfig { receive_buffer: WINDOW, send_buffer: WINDOW, streams: 16, ..SctpConfig::default() }
}

/// Bytes of each direction: 64 MiB, or what the environment says.
fn bulk_size() -> u64 {
    let mebibytes = std::env::var("ANABRANCH_SOAK_MIB").ok().and_then(|text| text.parse().ok());
    mebibytes.unwrap_or(64_u64) << 20
}

/// Bytes both ways, and the end.
fn exchange_bytes(client: Side) {
    if !usrsctp_peer::is_there() {
        return;
    }
    let size = bulk_size();
    let arguments = format!("send={size} expect={size}");
    let mut ends = Ends::open(client, config(), &arguments, |ours, _| ours.to_write = size);
    let (peer, ours) = (&mut ends.peer, &mut ends.ours);
    // A busy machine has 2 MiB/s at least.
    let limit = PATIENCE + Duration::from_secs(size >> 21);
    ends.sockets
        .run(ours, "all data", limit, |ours| ours.received >= size && peer.has_said("complete"));
    ends.shut_down(client);
    let hash = Hash::of_pattern(OUR_SEED, size);
    let received = ends.peer.line("received").map(str::to_owned);
    assert_eq!(received, Some(format!("received {size} {:016x}", hash.0)));
    assert_eq!(ends.ours.hash, Hash::of_pattern(PEER_SEED, size));
    ends.peer.quit_without_fault();
}

#[test]
fn sixty_four_mebibytes_both_ways_with_usrsctp_as_server() {
    exchange_bytes(Side::Ours);
}

#[test]
fn sixty_four_mebibytes_both_ways_with_usrsctp_as_client() {
    exchange_bytes(Side::Theirs);
}

/// Enough that something is under way when the association ends.
const ENDLESS: u64 = 1 << 40;

/// Data both ways that one side breaks off.
fn abort(client: Side, by: Side) {
    if !usrsctp_peer::is_there() {
        return;
    }
    let arguments = format!("send={}", 1 << 30);
    let mut ends = Ends::open(client, config(), &arguments, |ours, _| ours.to_write = ENDLESS);
    ends.run("some data", |ours, _| ours.received > 1 << 20);
    match by {
        Side::Ours => {
            let socket = ends.ours.socket.expect("it is open");
            let _ = ends.ours.with(|stack, cx| stack.abort(cx, socket));
            ends.run("the end", |_, peer| peer.has_said("association lost"));
            // usrsctp notifies of the abort before it counts it (`sctp_handle_abort`).
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Side::Theirs => {
            ends.peer.tell("abort");
            ends.run("the end", |ours, _| ours.is_over());
            let failure = SocketEventKind::Failed(SocketError::Reset);
            assert!(ends.ours.events.contains(&failure), "{:?}", ends.ours.events);
        }
    }
    let statistics = ends.peer.quit();
    for fault in ["badsum", "hdrops", "badsid"] {
        assert_eq!(count(&statistics, fault), 0, "{fault}: {statistics}");
    }
    assert_eq!(count(&statistics, "aborted"), 1, "{statistics}");
}

#[test]
fn abort_of_ours_ends_the_association_of_usrsctp() {
    abort(Side::Ours, Side::Ours);
}

#[test]
fn abort_of_usrsctp_ends_our_association() {
    abort(Side::Theirs, Side::Theirs);
}

/// A client of usrsctp that is killed and comes back with the same ports, which RFC 9260 s5.2.4.1
/// calls a restart.
#[test]
fn association_goes_on_after_a_restart_of_usrsctp() {
    if !usrsctp_peer::is_there() {
        return;
    }
    let size = 1 << 20;
    let arguments = format!("send={size}");
    let mut ends =
        Ends::open(Side::Theirs, config(), &arguments, |_, sockets| sockets.start_capture());
    ends.run("data", |ours, _| ours.received >= size);
    let socket = ends.ours.socket;
    ends.peer.kill();
    let arguments = format!("{} send={size} expect={size}", ends.arguments);
    ends.peer = UsrsctpPeer::start(&arguments);
    ends.run("the restart", |ours, _| ours.events.contains(&SocketEventKind::Restarted));
    ends.ours.to_write = size;
    ends.run("data", |ours, peer| ours.received >= 2 * size && peer.has_said("complete"));
    assert_eq!(ends.ours.socket, socket, "it is the same association");
    ends.shut_down(Side::Theirs);
    let statistics = ends.peer.quit();
    for fault in ["badsum", "hdrops", "badsid", "aborted"] {
        assert_eq!(count(&statistics, fault), 0, "{fault}: {statistics}");
    }
    tshark::find_no_fault(&mut ends.sockets);
}

/// A host of ours that comes back with the same ports and other tags: it knows nothing of the
/// association that it had.
fn restarted(before: &Ours, sockets: &Sockets, config: &SctpConfig) -> Ours {
    let info = before.socket.and_then(|socket| before.stack.info(socket)).expect("an association");
    let path = info.paths.first().expect("a path");
    let again = |seed| {
        let mut ours = Ours::new(&[HERE], seed);
        ours.now = sockets.now();
        ours.connect(HERE, path.remote, config);
        ours
    };
    let has_port = |ours: &Ours| {
        let info = ours.socket.and_then(|socket| ours.stack.info(socket));
        info.is_some_and(|info| info.paths[0].local == path.local)
    };
    (2..2_000_000).map(again).find(has_port).expect("a seed with this port")
}

#[test]
fn association_goes_on_after_a_restart_of_ours() {
    if !usrsctp_peer::is_there() {
        return;
    }
    let size = 1 << 20;
    let arguments = format!("expect={}", 2 * size);
    let mut ends = Ends::open(Side::Ours, config(), &arguments, |ours, sockets| {
        sockets.start_capture();
        ours.to_write = size;
    });
    ends.run("data", |ours, _| {
        let info = ours.socket.and_then(|socket| ours.stack.info(socket));
        info.is_some_and(|info| info.snd_una == size)
    });
    let again = SctpConfig { udp: Some(ends.udp), ..config() };
    ends.ours = restarted(&ends.ours, &ends.sockets, &again);
    ends.ours.to_write = size;
    ends.run("the restart", |_, peer| peer.has_said("association restart"));
    ends.run("data", |_, peer| peer.has_said("complete"));
    ends.shut_down(Side::Ours);
    let statistics = ends.peer.quit();
    assert_eq!(count(&statistics, "restarts"), 1, "{statistics}");
    for fault in ["badsum", "hdrops", "badsid", "aborted"] {
        assert_eq!(count(&statistics, fault), 0, "{fault}: {statistics}");
    }
    tshark::find_no_fault(&mut ends.sockets);
}

/// Whole messages of each side, and streams that they use.
const MESSAGES: u32 = 1000;
const STREAMS: u32 = 10;
/// Protocol identifier of message 0; smaller ones are assigned to protocols.
const FIRST_PPID: u32 = 0x4000_0000;

/// Message `number` of a side, as `usrsctp_association.c` has it.
fn message(seed: u64, number: u32) -> Message {
    let random = pattern::word(seed << 32 | u64::from(number));
    let len = 1 + random % if number % 10 == 9 { 100_000 } else { 3000 };
    let bytes = pattern::bytes(seed, u64::from(number) << 20, len as usize);
    Message {
        stream: (number % STREAMS) as u16,
        ppid: FIRST_PPID + number,
        unordered: number / STREAMS % 2 == 1,
        immediate: false,
        reliability: Reliability::Full,
        payload: Bytes::from(bytes).into(),
    }
}

/// Each message of the peer arrived once and whole, those with an order in it.
fn assert_messages(received: &[Received]) {
    let mut seen = [0_u32; MESSAGES as usize];
    let mut last = [0; STREAMS as usize];
    for received in received {
        let number = received.ppid - FIRST_PPID;
        let expected = message(PEER_SEED, number);
        assert_eq!(received.stream, expected.stream, "message {number}");
        assert_eq!(received.unordered, expected.unordered, "message {number}");
        let (bytes, wanted) = (received.payload.to_bytes(), expected.payload.to_bytes());
        assert!(bytes == wanted, "message {number} differs");
        seen[number as usize] += 1;
        if !received.unordered {
            let last = &mut last[usize::from(received.stream)];
            assert!(*last <= number, "message {number} after {last}");
            *last = number;
        }
    }
    assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
}

/// Messages both ways with these extensions; `client` opens, the other side shuts down.
fn exchange_messages(client: Side, (nr_sack, i_data): (bool, bool)) {
    if !usrsctp_peer::is_there() {
        return;
    }
    let with = |wanted: bool, feature: Features| if wanted { feature.0 } else { 0 };
    let features = with(nr_sack, Features::NR_SACK)
        | with(i_data, Features::INTERLEAVING)
        | Features::PARTIAL_RELIABILITY.0;
    let config = SctpConfig { features: Features(features), ..config() };
    let arguments = format!(
        "messages={MESSAGES} streams={STREAMS} nr-sack={} i-data={}",
        u8::from(nr_sack),
        u8::from(i_data)
    );
    let mut ends = Ends::open(client, config, &arguments, |ours, sockets| {
        sockets.start_capture();
        ours.messages = Some(Vec::new());
        ours.to_send = (0..MESSAGES).map(|number| message(OUR_SEED, number)).collect();
    });
    let all = format!("messages {MESSAGES} wrong 0");
    ends.run("all messages", |ours, peer| {
        let received = ours.messages.as_ref().map_or(0, Vec::len);
        received >= MESSAGES as usize && peer.has_said("messages") && peer.has_said("sent")
    });
    assert!(ends.peer.has_said(&all), "{:?}", ends.peer.said);
    assert_messages(ends.ours.messages.as_deref().unwrap_or_default());
    ends.shut_down(match client {
        Side::Ours => Side::Theirs,
        Side::Theirs => Side::Ours,
    });
    ends.peer.quit_without_fault();
    tshark::find_no_fault(&mut ends.sockets);
}

#[test]
fn messages_pass_in_data_with_sack() {
    exchange_messages(Side::Ours, (false, false));
}

#[test]
fn messages_pass_in_data_with_nr_sack() {
    exchange_messages(Side::Theirs, (true, false));
}

#[test]
fn messages_pass_in_i_data_with_sack() {
    exchange_messages(Side::Theirs, (false, true));
}

#[test]
fn messages_pass_in_i_data_with_nr_sack() {
    exchange_messages(Side::Ours, (true, true));
}

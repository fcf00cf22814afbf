//! `Sockets`: our end of an association over UDP sockets of this machine, in real time (RFC 6951).

use crate::ours::{Datagram, Ours};
use base::Instant;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use wire::sctp::{Chunk, Parameter, UdpPorts};
use wire::{Body, Packet, Payload, PcapngWriter, UdpDatagram};

/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Datagrams read from a socket at a time.
const BATCH: usize = 64;
/// The stack is asked at least this often.
const NAP: Duration = Duration::from_millis(5);
/// Packets that are remembered for the message of a test that fails.
const REMEMBERED: usize = 40;

/// One socket per local address, and the time.
pub(crate) struct Sockets {
    sockets: Vec<(IpAddr, UdpSocket)>,
    begin: std::time::Instant,
    last: VecDeque<String>,
    /// Changes of addresses that the peer has asked for (RFC 5061), in order.
    pub asked: Vec<Parameter>,
    /// What passes, if it is wanted.
    capture: Option<PcapngWriter<Vec<u8>>>,
}

impl Sockets {
    /// Sockets at a port of every address; 0: any port, the same one for all.
    pub(crate) fn bind(addresses: &[IpAddr]) -> Sockets {
        let first = UdpSocket::bind((addresses[0], 0)).expect("a port of UDP");
        let port = first.local_addr().expect("it is bound").port();
        let mut sockets = vec![(addresses[0], first)];
        for address in &addresses[1..] {
            let socket = UdpSocket::bind((*address, port)).expect("the same port");
            sockets.push((*address, socket));
        }
        for (_, socket) in &sockets {
            socket.set_nonblocking(true).expect("a socket");
            // More than the largest window, where that is allowed.
            let _ = nix::sys::socket::setsockopt(
                socket,
                nix::sys::socket::sockopt::RcvBufForce,
                &(8 << 20),
            );
        }
        Sockets { sockets, begin: now(), last: VecDeque::new(), asked: Vec::new(), capture: None }
    }

    /// Keeps what passes from now on.
    pub(crate) fn start_capture(&mut self) {
        let capture = PcapngWriter::new(Vec::new(), &["udp"]).expect("memory");
        self.capture = Some(capture);
    }

    /// What passed, as a file of pcapng.
    pub(crate) fn take_capture(&mut self) -> Vec<u8> {
        self.capture.take().expect("it was started").into_inner()
    }

    /// Our port of UDP.
    pub(crate) fn port(&self) -> u16 {
        self.sockets[0].1.local_addr().expect("it is bound").port()
    }

    /// Time since the sockets were bound, which is the time of the stack.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.begin.elapsed().as_nanos() as u64)
    }

    /// Carries packets until `done`.
    ///
    /// # Panics
    /// If that takes longer than `limit`.
    pub(crate) fn run(
        &mut self,
        ours: &mut Ours,
        what: &str,
        limit: Duration,
        mut done: impl FnMut(&Ours) -> bool,
    ) {
        let end = now() + limit;
        loop {
            ours.now = self.now();
            ours.on_timeout();
            ours.act();
            for datagram in ours.drain() {
                self.send(&datagram);
            }
            if done(ours) {
                return;
            }
            assert!(now() < end, "{what} takes too long: {}", self.describe(ours));
            self.wait(ours);
            self.receive(ours);
        }
    }

    fn wait(&self, ours: &Ours) {
        let due = ours.stack.poll_deadline().map(|at| (at - ours.now).as_nanos());
        let wait = due.map_or(NAP, |nanos| Duration::from_nanos(nanos).min(NAP));
        let timeout = PollTimeout::try_from(wait).unwrap_or(PollTimeout::ZERO);
        let mut polled: Vec<PollFd<'_>> = self
            .sockets
            .iter()
            .map(|(_, socket)| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
            .collect();
        let _ = poll(&mut polled, timeout);
    }

    fn send(&mut self, datagram: &Datagram) {
        self.remember(">", datagram);
        let size = datagram.bytes.len() + HEADERS;
        assert!(size <= 1500, "a datagram of {size} bytes: {datagram:?}");
        let ports = datagram.udp.expect("it goes in UDP");
        let socket = self.sockets.iter().find(|(address, _)| *address == datagram.src);
        let (_, socket) = socket.expect("an address of ours");
        let to = SocketAddr::new(datagram.dst, ports.dst);
        loop {
            match socket.send_to(&datagram.bytes, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                // An ICMP message for an earlier datagram, or a route that is missing.
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn receive(&mut self, ours: &mut Ours) {
        let mut buffer = vec![0; 1 << 16];
        for index in 0..self.sockets.len() {
            for _ in 0..BATCH {
                let (dst, socket) = &self.sockets[index];
                let Ok((len, from)) = socket.recv_from(&mut buffer) else { break };
                let udp = Some(UdpPorts { src: from.port(), dst: self.port() });
                let bytes = buffer[..len].to_vec();
                let datagram = Datagram { src: from.ip(), dst: *dst, udp, bytes };
                self.remember("<", &datagram);
                ours.now = self.now();
                assert!(ours.on_packet(&datagram), "not understood: {datagram:02x?}");
                for datagram in ours.drain() {
                    self.send(&datagram);
                }
            }
        }
    }

    fn remember(&mut self, direction: &str, datagram: &Datagram) {
        let at = self.now();
        if let (Some(capture), Some(UdpPorts { src, dst })) = (&mut self.capture, datagram.udp) {
            let payload = Payload::from(datagram.bytes.clone());
            let carrier = UdpDatagram { src_port: src, dst_port: dst, payload };
            let packet = Packet::new(datagram.src, datagram.dst, Body::Udp(carrier));
            capture.write(0, at, &packet).expect("memory");
        }
        let packet = wire::SctpPacket::parse(&datagram.bytes);
        if let (Ok(packet), "<") = (&packet, direction) {
            let asconfs = packet.chunks.iter().filter_map(|chunk| match chunk {
                Chunk::Asconf(asconf) => Some(&asconf.requests),
                _ => None,
            });
            self.asked.extend(asconfs.flatten().cloned());
        }
        let kinds: Vec<String> =
            packet.map_or_else(|_| Vec::new(), |packet| packet.chunks.iter().map(brief).collect());
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        let (src, dst) = (datagram.src, datagram.dst);
        self.last.push_back(format!("{} {src} {direction} {dst} {}", at, kinds.join(", ")));
    }

    /// The state of our end and the last packets.
    pub(crate) fn describe(&self, ours: &Ours) -> String {
        let info = ours.socket.and_then(|socket| ours.stack.info(socket));
        let last: Vec<&str> = self.last.iter().map(String::as_str).collect();
        format!(
            "wrote {} of {}, read {}, messages {:?}, {:?}, {info:?}\n{}",
            ours.written,
            ours.to_write,
            ours.received,
            ours.messages.as_ref().map(Vec::len),
            ours.events,
            last.join("\n"),
        )
    }
}

/// A chunk without its user data.
fn brief(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Data(data) => format!("DATA {:?}", data.tsn),
        Chunk::IData(data) => format!("I-DATA {:?}", data.tsn),
        other => format!("{other:?}").chars().take(150).collect(),
    }
}

#[allow(clippy::disallowed_methods, reason = "packets travel in real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

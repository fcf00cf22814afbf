//! `UdpPath`: SCTP packets in UDP datagrams of one local address (RFC 6951).
//!
//! Needs no privilege. Packets to one peer leave in batches that the kernel cuts into datagrams
//! (UDP_SEGMENT), and arrive in batches that it joined (UDP_GRO). The CRC32c of SCTP is computed
//! and verified here, the UDP checksum by the kernel. Grammar is left to `path`.

use crate::error::LiveError;
use crate::live::LiveCounters;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, RecvMsg, SockaddrStorage, recvmsg, sendmsg,
    setsockopt, sockopt,
};
use socket2::{Domain, Socket, Type};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use wire::sctp::UdpPorts;
use wire::{Body, Icmp, Packet, SctpPacket};

/// The port that takes SCTP in UDP (RFC 6951 s5.1).
pub const SCTP_UDP_PORT: u16 = 9899;
/// Datagrams of one call (Linux UDP_MAX_SEGMENTS before 6.9).
const MOST_SEGMENTS: usize = 64;
/// Bytes of one call: a whole IP datagram with its headers has at most 65,535.
const MOST_BYTES: usize = 65_000;
/// Bytes that the kernel keeps for a socket until they are read: what several connections with the
/// usual windows have in the network. Without CAP_NET_ADMIN at most `net.core.rmem_max`.
const BUFFER: usize = 8 << 20;
/// How long the kernel may hold up a full queue of packets before one is dropped.
const FULL: Duration = Duration::from_millis(100);

/// A local address and the UDP socket at it.
pub(crate) struct UdpPath {
    socket: Socket,
    local: SocketAddr,
    name: String,
    batch: Batch,
    /// The kernel cuts batches on the way to every peer so far.
    cuts: bool,
}

/// Packets of one length to one peer; the last one may be shorter.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    to: Option<SocketAddr>,
    /// Bytes of every packet but the last.
    len: usize,
    count: usize,
}

/// Datagrams from one peer, all of `len` bytes but the last, which may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub from: SocketAddr,
    pub total: usize,
    pub len: usize,
}

/// What the kernel has for a path.
#[derive(Debug)]
pub(crate) enum Received {
    Datagrams(Arrival),
    /// An ICMP message about a packet that could not be delivered (RFC 6951 s5.4).
    Unreachable(Box<Packet>),
}

impl UdpPath {
    /// A socket at `local`, whose port may be 0 for any, and which sends over `device` only, if
    /// one is named.
    pub(crate) fn open(local: SocketAddr, device: Option<&str>) -> Result<Self, LiveError> {
        let socket = bind(local, device).map_err(|error| explain(local, device, &error))?;
        let failed = |error| LiveError::Failed(format!("UDP at {local}: {error}"));
        let bound = socket.local_addr().map_err(failed)?.as_socket();
        let local = bound.unwrap_or(local);
        let name = format!("udp {local}");
        Ok(UdpPath { socket, local, name, batch: Batch::default(), cuts: true })
    }

    /// The address and the port.
    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Its name in a capture.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Queues a packet to `remote`; `flush` sends it. A full batch leaves before.
    pub(crate) fn send(
        &mut self,
        remote: IpAddr,
        packet: &SctpPacket,
        counters: &mut LiveCounters,
    ) {
        let to = SocketAddr::new(remote, peer_port(packet));
        let len = packet.wire_len() as usize;
        if !self.batch.takes(to, len) {
            self.flush(counters);
            self.batch.to = Some(to);
            self.batch.len = len;
        }
        packet.emit(&mut self.batch.bytes);
        self.batch.count += 1;
    }

    /// A packet with the ports that it leaves with.
    pub(crate) fn as_sent(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        if let Body::Sctp(sctp) = &mut packet.body {
            let (src, dst) = (self.local.port(), peer_port(sctp));
            sctp.udp = Some(UdpPorts { src, dst });
        }
        packet
    }

    /// Sends what is queued.
    pub(crate) fn flush(&mut self, counters: &mut LiveCounters) {
        let Batch { bytes, to: Some(to), len, count } = &self.batch else { return };
        let (bytes, len, count) = (bytes.as_slice(), (*len).max(1), *count);
        let to = SockaddrStorage::from(*to);
        let mut whole = Err(Errno::EINVAL);
        if self.cuts && count > 1 {
            whole = send(&self.socket, bytes, Some(len as u16), &to);
            // A device without checksum offload, or a path whose MTU is below `len`.
            self.cuts = !matches!(whole, Err(Errno::EIO | Errno::EINVAL | Errno::EMSGSIZE));
        }
        match whole {
            Ok(()) => counters.sent += count as u64,
            Err(_) if self.cuts && count > 1 => counters.unsent += count as u64,
            Err(_) => {
                for packet in bytes.chunks(len) {
                    match send(&self.socket, packet, None, &to) {
                        Ok(()) => counters.sent += 1,
                        // No route, a filter, a queue that stays full: a loss like any other.
                        Err(_) => counters.unsent += 1,
                    }
                }
            }
        }
        self.batch.clear();
    }

    /// What arrived next, at the front of `buffer`; `None` if there is nothing now.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        loop {
            let mut control = nix::cmsg_space!(i32);
            let mut pieces = [IoSliceMut::new(buffer)];
            let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
            match recvmsg::<SockaddrStorage>(fd, &mut pieces, Some(&mut control), flags) {
                Ok(message) => return Ok(arrival(&message).map(Received::Datagrams)),
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(error) if is_reported(error) => {
                    if let Some(refusal) = self.refusal(buffer) {
                        return Ok(Some(Received::Unreachable(Box::new(refusal))));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next entry of the error queue, if it is an ICMP message about a packet that did not
    /// reach a host or a port: the message as it arrived, without UDP.
    fn refusal(&self, buffer: &mut [u8]) -> Option<Packet> {
        let mut control = nix::cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
        let mut pieces = [IoSliceMut::new(buffer)];
        let (fd, flags) =
            (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_ERRQUEUE);
        let message =
            recvmsg::<SockaddrStorage>(fd, &mut pieces, Some(&mut control), flags).ok()?;
        let to = address_of(&message)?.ip();
        let (code, error) = message.cmsgs().ok()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4RecvErr(error, _)
            | ControlMessageOwned::Ipv6RecvErr(error, _) => Some((error.ee_code, error.ee_errno)),
            _ => None,
        })?;
        let len = message.bytes;
        // The common header is quoted by any current router; a larger MTU is the kernel's business.
        let quoted = buffer.get(..len)?;
        let header = quoted.first_chunk::<12>()?;
        let error = Errno::from_raw(error as i32);
        if !matches!(error, Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) {
            return None;
        }
        let sent = SctpPacket {
            src_port: u16::from_be_bytes([header[0], header[1]]),
            dst_port: u16::from_be_bytes([header[2], header[3]]),
            ..SctpPacket::default()
        };
        let mut original = Vec::new();
        let local = self.local.ip();
        Packet::new(local, to, Body::Sctp(sent)).emit(&mut original);
        // The tags of the packet, which prove that it was sent, are in the quotation.
        original.truncate(original.len() - header.len());
        original.extend_from_slice(quoted);
        let message = Icmp::Unreachable { code, next_hop_mtu: 0, original: original.into() };
        Some(Packet::new(to, local, Body::Icmp(message)))
    }
}

impl AsRawFd for UdpPath {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Batch {
    /// Whether a packet of `len` bytes to `to` can be the next one.
    fn takes(&self, to: SocketAddr, len: usize) -> bool {
        // The kernel cuts in equal lengths: nothing can follow a shorter packet.
        let is_whole = self.bytes.len() == self.count * self.len;
        self.to == Some(to)
            && is_whole
            && len <= self.len
            && self.count < MOST_SEGMENTS
            && self.bytes.len() + len <= MOST_BYTES
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.to = None;
        self.count = 0;
    }
}

impl Arrival {
    /// Where each datagram is in the buffer.
    pub(crate) fn datagrams(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let Arrival { total, len, .. } = self;
        // An empty datagram is one, too.
        let starts = (0..total.max(1)).step_by(len.max(1));
        starts.map(move |start| start..(start + len).min(total))
    }
}

/// The UDP port that a packet is for.
fn peer_port(packet: &SctpPacket) -> u16 {
    packet.udp.map_or(SCTP_UDP_PORT, |ports| ports.dst)
}

fn bind(local: SocketAddr, device: Option<&str>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM.cloexec(), None)?;
    if local.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if let Some(device) = device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.bind(&local.into())?;
    socket.set_write_timeout(Some(FULL))?;
    // Without the privilege the kernel gives less, which is enough to work.
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        let _ = socket.set_recv_buffer_size(BUFFER);
    }
    if setsockopt(&socket, sockopt::SndBufForce, &BUFFER).is_err() {
        let _ = socket.set_send_buffer_size(BUFFER);
    }
    // ICMP messages are queued as errors; without them time-outs tell as much, but later.
    let _ = match local {
        SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4RecvErr, &true),
        SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvErr, &true),
    };
    // Kernels before 5.0 do not join datagrams.
    let _ = setsockopt(&socket, sockopt::UdpGroSegment, &true);
    Ok(socket)
}

fn send(
    socket: &Socket,
    bytes: &[u8],
    segment: Option<u16>,
    to: &SockaddrStorage,
) -> Result<(), Errno> {
    let (fd, pieces) = (socket.as_raw_fd(), [IoSlice::new(bytes)]);
    let cut = segment.as_ref().map(ControlMessage::UdpGsoSegments);
    let mut again = true;
    loop {
        match sendmsg(fd, &pieces, cut.as_slice(), MsgFlags::empty(), Some(to)) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            // Perhaps about an earlier packet.
            Err(error) if again && is_reported(error) => again = false,
            Err(error) => return Err(error),
        }
    }
}

/// Whether an error may be that of an ICMP message, which the kernel reports once by any call.
const fn is_reported(error: Errno) -> bool {
    matches!(
        error,
        Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EMSGSIZE
            | Errno::EACCES
            | Errno::EPROTO
            | Errno::ENOPROTOOPT
            | Errno::EOPNOTSUPP
            | Errno::EHOSTDOWN
            | Errno::ENONET
    )
}

fn arrival(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<Arrival> {
    let from = address_of(message)?;
    let joined = message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::UdpGroSegments(len) => usize::try_from(len).ok(),
        _ => None,
    });
    let total = message.bytes;
    Some(Arrival { from, total, len: joined.filter(|len| *len > 0).unwrap_or(total) })
}

fn address_of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<SocketAddr> {
    let address = message.address.as_ref()?;
    let v4 = || address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    let v6 = || address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into()));
    v4().or_else(v6)
}

fn explain(local: SocketAddr, device: Option<&str>, error: &io::Error) -> LiveError {
    let (address, port) = (local.ip(), local.port());
    let elsewhere = SocketAddr::new(address, port.saturating_add(1));
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EADDRNOTAVAIL) => LiveError::Usage(format!(
            "--path udp={address}: this host has no such address; `ip addr` shows those it has"
        )),
        Some(Errno::EADDRINUSE) => LiveError::Failed(format!(
            "--path udp={address}: UDP port {port} is in use, perhaps by another server; choose \
             another one: --path udp={elsewhere}"
        )),
        Some(Errno::ENODEV) => LiveError::Usage(format!(
            "--path udp={address},dev={}: there is no such device; `ip link` shows those there are",
            device.unwrap_or_default()
        )),
        Some(Errno::EACCES | Errno::EPERM) if port != 0 && port < 1024 => LiveError::missing(
            format!("--path udp={local}: ports below 1024 need a privilege"),
            format!("use a port from 1024 on, such as {SCTP_UDP_PORT}"),
        ),
        Some(Errno::EACCES | Errno::EPERM) => LiveError::missing(
            format!("--path udp={local}: not permitted"),
            "run the same command with sudo, or without dev=",
        ),
        _ => LiveError::Failed(format!("--path udp={local}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use wire::sctp::{Chunk, VerificationTag};

    fn path() -> UdpPath {
        UdpPath::open("127.0.0.1:0".parse().expect("an address"), None).expect("a socket")
    }

    fn packet(to: u16, pad: usize) -> SctpPacket {
        let udp = Some(UdpPorts { src: 1, dst: to });
        let chunks = [Chunk::Pad(vec![7; pad].into())].into();
        SctpPacket { src_port: 5, dst_port: 6, tag: VerificationTag(9), udp, chunks }
    }

    /// What arrives at `path` until `count` datagrams have.
    fn take(path: &UdpPath, count: usize) -> Vec<(SocketAddr, SctpPacket)> {
        let mut buffer = vec![0; 1 << 16];
        let mut taken = Vec::new();
        for _ in 0..10_000 {
            if taken.len() >= count {
                break;
            }
            let Some(received) = path.receive(&mut buffer).expect("a socket") else {
                std::thread::sleep(Duration::from_micros(100));
                continue;
            };
            let Received::Datagrams(arrival) = received else { panic!("{received:?}") };
            for range in arrival.datagrams() {
                taken.push((arrival.from, SctpPacket::parse(&buffer[range]).expect("a packet")));
            }
        }
        taken
    }

    #[test]
    fn packets_of_many_lengths_arrive_whole_and_in_order() {
        let (mut here, there) = (path(), path());
        let mut counters = LiveCounters::default();
        let lengths = (0..300).map(|number| [1200, 1200, 1200, 40, 1200, 8][number % 6]);
        let sent: Vec<SctpPacket> =
            lengths.map(|length| packet(there.local().port(), length)).collect();
        for packet in &sent {
            here.send(there.local().ip(), packet, &mut counters);
        }
        here.flush(&mut counters);
        assert_eq!((counters.sent, counters.unsent), (300, 0));
        let taken = take(&there, 300);
        assert_eq!(taken.len(), 300);
        for ((from, taken), sent) in taken.iter().zip(sent) {
            assert_eq!(*from, here.local());
            assert_eq!(taken.chunks, sent.chunks);
        }
    }

    #[test]
    fn batch_ends_at_another_length_another_peer_and_the_most() {
        let to = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let batch = |count: usize, len, last| Batch {
            bytes: vec![0; (count - 1) * len + last],
            to: Some(to(1)),
            len,
            count,
        };
        assert!(batch(2, 100, 100).takes(to(1), 100));
        assert!(batch(2, 100, 100).takes(to(1), 60), "the last one may be shorter");
        assert!(!batch(2, 100, 60).takes(to(1), 60), "nothing follows a shorter one");
        assert!(!batch(2, 100, 100).takes(to(1), 104));
        assert!(!batch(2, 100, 100).takes(to(2), 100));
        assert!(!batch(MOST_SEGMENTS, 100, 100).takes(to(1), 100));
        assert!(!batch(7, 9000, 9000).takes(to(1), 9000));
        assert!(!Batch::default().takes(to(1), 4));
    }

    #[test]
    fn joined_datagrams_are_told_apart() {
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        let ranges = |total, len| {
            let datagrams = Arrival { from, total, len }.datagrams();
            datagrams.map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(ranges(250, 100), [(0, 100), (100, 200), (200, 250)]);
        assert_eq!(ranges(100, 100), [(0, 100)]);
        assert_eq!(ranges(0, 0), [(0, 0)]);
    }

    #[test]
    fn packet_to_a_port_without_socket_comes_back_as_unreachable() {
        let mut here = path();
        let closed = path().local();
        here.send(closed.ip(), &packet(closed.port(), 8), &mut LiveCounters::default());
        here.flush(&mut LiveCounters::default());
        let mut buffer = vec![0; 1 << 16];
        let received = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            here.receive(&mut buffer).expect("a socket")
        });
        let Some(Received::Unreachable(message)) = received else { panic!("{received:?}") };
        assert_eq!((message.src(), message.dst()), (closed.ip(), here.local().ip()));
        let Body::Icmp(Icmp::Unreachable { code: 3, original, .. }) = message.body else {
            panic!("{message:?}")
        };
        let ports = [original[20..22].to_vec(), original[22..24].to_vec()];
        assert_eq!(ports, [[0, 5], [0, 6]], "of SCTP");
    }

    #[test]
    fn failure_names_the_remedy() {
        let refused = |text: &str, device: Option<&str>| {
            let made = UdpPath::open(text.parse().expect("an address"), device);
            made.err().expect("refused").to_string()
        };
        assert!(refused("192.0.2.1:0", None).contains("`ip addr` shows"));
        assert!(refused("127.0.0.1:0", Some("no-such-if")).contains("`ip link` shows"));
        let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let taken = other.local_addr().expect("bound");
        let why = refused(&taken.to_string(), None);
        assert!(why.contains("is in use"), "{why}");
        assert!(why.contains(&format!("udp=127.0.0.1:{}", taken.port() + 1)), "{why}");
    }
}

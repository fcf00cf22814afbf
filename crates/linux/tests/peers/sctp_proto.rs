//! `sctp-proto`, an independent implementation with one address a side, in virtual time.
//!
//! Its tags and initial TSNs are random, so that runs differ in these. Its deviations:
//!
//! - Cumulative TSN Ack of its SHUTDOWN is the TSN up to which its own data are acknowledged, not
//!   the last one that it received (RFC 9260 s3.3.8). The pipe puts the right one in.
//! - It discards a SHUTDOWN COMPLETE with the T bit (RFC 9260 s8.5.1), which answers a repeated
//!   SHUTDOWN ACK after the end, so that it goes on when the first SHUTDOWN COMPLETE was lost.
//! - After SHUTDOWN COMPLETE it stays in SHUTDOWN-SENT in place of CLOSED (RFC 9260 s9.2).

use crate::ours::{Datagram, OUR_SEED, Ours, PEER_SEED};
use crate::pattern::{self, Hash};
use base::{Duration, Instant};
use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event,
    Payload, PayloadProtocolIdentifier, ServerConfig, TransportConfig,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use transport::SocketEventKind;
use transport::sctp::SctpConfig;
use wire::SctpPacket;
use wire::sctp::{Chunk, Tsn};

/// Port of SCTP on both sides: sctp-proto accepts associations on any port.
const PORT: u16 = 5000;
/// User data of each direction, in bytes.
const SIZE: u64 = 10 << 20;
/// The same where only the end is looked at.
const LITTLE: u64 = 1 << 18;
/// Receive window of our side: sctp-proto walks over everything in flight for each packet.
const WINDOW: u32 = 1 << 17;
/// User data that wait in sctp-proto at most, which has no limit of its own.
const BUFFER: usize = 1 << 20;
/// One-way delay.
const DELAY: Duration = Duration::from_millis(10);
/// Longest run in virtual time.
const LIMIT: Duration = Duration::from_secs(600);

/// The side that does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Ours,
    Theirs,
}

/// sctp-proto with its user.
struct Theirs {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    origin: std::time::Instant,
    is_open: bool,
    /// Why the association ended.
    lost: Option<String>,
    to_write: u64,
    written: u64,
    received: u64,
    hash: Hash,
    has_stream: bool,
}

impl Theirs {
    #[allow(clippy::disallowed_methods, reason = "sctp-proto has no other origin of time")]
    fn new() -> Theirs {
        let mut server = ServerConfig::default();
        server.transport = transport();
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), Some(Arc::new(server)));
        Theirs {
            endpoint,
            association: None,
            origin: std::time::Instant::now(),
            is_open: false,
            lost: None,
            to_write: 0,
            written: 0,
            received: 0,
            hash: Hash::EMPTY,
            has_stream: false,
        }
    }

    fn connect(&mut self, remote: SocketAddr) {
        let mut config = ClientConfig::new();
        config.transport = transport();
        self.association = Some(self.endpoint.connect(config, remote).expect("a valid address"));
    }

    fn time(&self, now: Instant) -> std::time::Instant {
        self.origin + std::time::Duration::from_nanos(now.as_nanos())
    }

    fn on_packet(&mut self, now: Instant, src: SocketAddr, bytes: Vec<u8>) {
        let now = self.time(now);
        match self.endpoint.handle(now, src, None, None, bytes.into()) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            None => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let at = self.association.as_ref()?.1.poll_timeout()?;
        let nanos = at.saturating_duration_since(self.origin).as_nanos() as u64;
        Some(Instant::from_nanos(nanos))
    }

    fn on_timeout(&mut self, now: Instant) {
        let now = self.time(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
    }

    /// Packets to send and the work of the user.
    fn drain(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let now = self.time(now);
        let mut packets = Vec::new();
        let mut emit = |payload| {
            if let Payload::RawEncode(contents) = payload {
                packets.extend(contents.iter().map(|packet: &Bytes| packet.to_vec()));
            }
        };
        while let Some(sent) = self.endpoint.poll_transmit() {
            emit(sent.payload);
        }
        loop {
            self.act();
            let Some((_, association)) = &mut self.association else { return packets };
            let Some(sent) = association.poll_transmit(now) else { return packets };
            emit(sent.payload);
        }
    }

    /// The user reads and writes.
    fn act(&mut self) {
        let Some((_, association)) = &mut self.association else { return };
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.is_open = true,
                Event::AssociationLost { reason } => self.lost = Some(reason.to_string()),
                _ => {}
            }
        }
        if !self.is_open || self.lost.is_some() {
            return;
        }
        for id in association.stream_ids() {
            self.has_stream |= id == 0;
            let Ok(mut stream) = association.stream(id) else { continue };
            while let Ok(Some(message)) = stream.read() {
                let mut bytes = vec![0; message.len()];
                message.read(&mut bytes).expect("the length of the message");
                self.received += bytes.len() as u64;
                self.hash.add(&bytes);
            }
        }
        while self.written < self.to_write {
            if !std::mem::replace(&mut self.has_stream, true) {
                let ppid = PayloadProtocolIdentifier::Binary;
                association.open_stream(0, ppid).expect("stream 0 is new");
            }
            let mut stream = association.stream(0).expect("stream 0 is open");
            if stream.buffered_amount().unwrap_or(BUFFER) >= BUFFER {
                break;
            }
            // Several packets long, so that messages are fragmented.
            let len = (self.to_write - self.written).min(5000);
            let bytes = pattern::bytes(PEER_SEED, self.written, len as usize);
            let ppid = PayloadProtocolIdentifier::Binary;
            let taken = stream.write_with_ppi(&bytes, ppid).expect("the stream is open");
            self.written += taken as u64;
        }
    }

    /// Nothing that was written waits for an acknowledgement.
    fn is_idle(&mut self) -> bool {
        let Some((_, association)) = &mut self.association else { return false };
        let buffered = association.stream(0).and_then(|stream| stream.buffered_amount());
        self.written == self.to_write && buffered.unwrap_or(0) == 0
    }

    /// SHUTDOWN. The event that the endpoint may forget the association comes before the handshake
    /// of the end, and is not passed to it.
    fn shutdown(&mut self) {
        let (_, association) = self.association.as_mut().expect("an association");
        association.shutdown().expect("it is established");
    }

    fn is_closed(&self) -> bool {
        self.association.as_ref().is_some_and(|(_, association)| association.is_closed())
    }
}

fn transport() -> Arc<TransportConfig> {
    let config = TransportConfig::default().with_local_port(PORT).with_remote_port(PORT);
    Arc::new(config)
}

/// Both ends and a pipe that loses packets.
struct Pipe {
    ours: Ours,
    theirs: Theirs,
    /// Packets on their way, to the side given.
    flying: BTreeMap<(Instant, u64), (Side, Vec<u8>)>,
    sent: u64,
    /// Lost packets of a thousand.
    loss: u64,
    /// The last TSN of ours.
    last_tsn: Option<Tsn>,
}

const OUR_ADDRESS: [u8; 4] = [10, 0, 0, 1];
const THEIR_ADDRESS: [u8; 4] = [10, 0, 0, 2];

impl Pipe {
    /// `client` opens an association.
    fn open(client: Side, loss: u64) -> Pipe {
        let (local, remote) = (IpAddr::from(OUR_ADDRESS), IpAddr::from(THEIR_ADDRESS));
        let (ours, theirs) = (Ours::new(&[local], 1), Theirs::new());
        let config = SctpConfig { receive_buffer: WINDOW, ..SctpConfig::default() };
        let flying = BTreeMap::new();
        let mut pipe = Pipe { ours, theirs, flying, sent: 0, loss, last_tsn: None };
        match client {
            Side::Ours => {
                let remote = SocketAddr::new(remote, PORT);
                pipe.ours.connect(local, remote, &config);
            }
            Side::Theirs => {
                pipe.ours.listen(PORT, &config);
                pipe.theirs.connect(SocketAddr::new(local, PORT));
            }
        }
        pipe
    }

    /// Steps until `done`.
    fn run(&mut self, what: &str, done: impl Fn(&mut Pipe) -> bool) {
        let end = self.ours.now + LIMIT;
        self.drain();
        while !done(self) {
            assert!(self.step(), "nothing happens any more before {what}: {}", self.describe());
            assert!(self.ours.now < end, "{what} takes too long: {}", self.describe());
        }
    }

    fn step(&mut self) -> bool {
        let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
        let timers = [self.ours.stack.poll_deadline(), self.theirs.deadline()];
        let Some(at) = timers.into_iter().flatten().chain(arrival).min() else { return false };
        self.ours.now = self.ours.now.max(at);
        let now = self.ours.now;
        if arrival.is_some_and(|at| at <= now) {
            let (_, (to, bytes)) = self.flying.pop_first().expect("an arrival");
            let (ours, theirs) = (IpAddr::from(OUR_ADDRESS), IpAddr::from(THEIR_ADDRESS));
            match to {
                Side::Ours => {
                    let datagram = Datagram { src: theirs, dst: ours, udp: None, bytes };
                    assert!(self.ours.on_packet(&datagram), "{:02x?}", datagram.bytes);
                }
                Side::Theirs => {
                    self.theirs.on_packet(now, SocketAddr::new(ours, PORT), bytes);
                }
            }
        } else {
            self.ours.on_timeout();
            self.theirs.on_timeout(now);
        }
        self.drain();
        true
    }

    fn drain(&mut self) {
        self.ours.act();
        let ours = self.ours.drain().into_iter().map(|sent| (Side::Theirs, sent.bytes));
        let theirs = self.theirs.drain(self.ours.now).into_iter().map(|sent| (Side::Ours, sent));
        let packets: Vec<(Side, Vec<u8>)> = ours.chain(theirs).collect();
        for (to, mut bytes) in packets {
            match to {
                Side::Theirs => self.watch(&bytes),
                Side::Ours => self.mend_shutdown(&mut bytes),
            }
            self.sent += 1;
            let random = u64::from(pattern::bytes(3, self.sent * 8, 1)[0]) * 1000 / 256;
            if random >= self.loss {
                self.flying.insert((self.ours.now + DELAY, self.sent), (to, bytes));
            }
        }
    }

    /// Notes the last TSN of a packet of ours.
    fn watch(&mut self, bytes: &[u8]) {
        let packet = SctpPacket::parse(bytes).expect("our packet");
        for chunk in &packet.chunks {
            if let Chunk::Data(data) = chunk
                && self.last_tsn.is_none_or(|last| data.tsn > last)
            {
                self.last_tsn = Some(data.tsn);
            }
        }
    }

    /// A SHUTDOWN of sctp-proto acknowledges what it received, which is everything.
    fn mend_shutdown(&self, bytes: &mut Vec<u8>) {
        let mut packet = SctpPacket::parse(bytes).expect("a packet of sctp-proto");
        if let (Some(tsn), [Chunk::Shutdown { cum_tsn }]) = (self.last_tsn, &mut packet.chunks[..])
        {
            *cum_tsn = tsn;
            bytes.clear();
            packet.emit(bytes);
        }
    }

    fn describe(&self) -> String {
        let (ours, theirs) = (&self.ours, &self.theirs);
        format!(
            "{}: ours wrote {} and read {}, {:?}; theirs wrote {} and read {}, {:?}; {:?}",
            ours.now,
            ours.written,
            ours.received,
            ours.events,
            theirs.written,
            theirs.received,
            theirs.lost,
            ours.socket.and_then(|socket| ours.stack.info(socket)),
        )
    }
}

/// Set-up by `client`, `size` bytes both ways, and the end by `closer`.
fn exchange(client: Side, closer: Side, size: u64, loss: u64) {
    let mut pipe = Pipe::open(client, loss);
    (pipe.ours.to_write, pipe.theirs.to_write) = (size, size);
    pipe.run("set-up", |pipe| pipe.ours.is_open() && pipe.theirs.is_open);
    pipe.run("all data", |pipe| {
        pipe.ours.received >= size && pipe.theirs.received >= size && pipe.theirs.is_idle()
    });
    assert_eq!(pipe.ours.hash, Hash::of_pattern(PEER_SEED, size), "read by us");
    assert_eq!(pipe.theirs.hash, Hash::of_pattern(OUR_SEED, size), "read by sctp-proto");
    match closer {
        Side::Ours => pipe.ours.shuts_down = true,
        Side::Theirs => pipe.theirs.shutdown(),
    }
    pipe.run("the end", |pipe| {
        let stays = closer == Side::Theirs || loss > 0;
        pipe.ours.is_over() && (stays || pipe.theirs.is_closed())
    });
    assert!(pipe.ours.events.contains(&SocketEventKind::Closed), "{:?}", pipe.ours.events);
    assert_eq!((pipe.ours.received, pipe.theirs.received), (size, size));
}

#[test]
fn client_exchanges_10_mib_with_sctp_proto_and_shuts_down() {
    exchange(Side::Ours, Side::Ours, SIZE, 0);
}

#[test]
fn server_exchanges_10_mib_with_sctp_proto_which_shuts_down() {
    exchange(Side::Theirs, Side::Theirs, SIZE, 0);
}

#[test]
fn either_side_shuts_down_whichever_opened_the_association() {
    exchange(Side::Ours, Side::Theirs, LITTLE, 0);
    exchange(Side::Theirs, Side::Ours, LITTLE, 0);
}

#[test]
fn data_pass_between_us_and_sctp_proto_over_a_pipe_that_loses_packets() {
    for (client, loss) in [(Side::Ours, 10), (Side::Theirs, 30), (Side::Ours, 100)] {
        exchange(client, client, 4 * LITTLE, loss);
    }
}

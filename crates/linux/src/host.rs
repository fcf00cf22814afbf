//! The live host: a stack, an application, and the TUN devices or UDP sockets that packets pass.
//!
//! Drives the stack by its contract: one input, then `poll_transmit` and `poll_event` until
//! empty. The same steps as a simulated host's, with a kernel in place of links. Waiting is
//! `driver`'s.

use crate::ack_filter::{is_pure_ack, supersedes};
use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::error::LiveError;
use crate::interface::{Interface, Port};
use crate::ledger::Ledger;
use crate::live::{Endpoint, LiveCounters};
use crate::notices::{DeviceState, Notices};
use crate::offload::{self, LONGEST_READ, Read};
use crate::udp_path::{Arrival, Received};
use base::{Context, Duration, Instant, InterfaceId, Recorder, SocketId};
use harness::{SocketOwner, StackSockets, deliver};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use traffic::{Application, StreamHost};
use transport::{
    Input, InterfaceConfig, InterfaceEvent, SocketEvent, SocketEventKind, Stack, StackConfig,
    Transmit,
};
use wire::sctp::UdpPorts;
use wire::{Body, Packet, PcapngWriter, SctpPacket, UdpDatagram};

/// Packets read from one device before the others get their turn.
const BATCH: usize = 64;
/// Reads of a batch that are acknowledged each: HyStart needs eight acknowledgements a round trip
/// (RFC 9406 s4.2). Those of the rest may be one: on a fast path, where batches are long, each
/// write saved matters (0.93 instead of 1.31 times the CPU time of a kernel).
const ACKNOWLEDGED_READS: usize = 8;
/// Packets and events one input may cause before the engine is held to be in a live-lock.
const DRAIN_LIMIT: u32 = 1_000_000;

/// Where captured packets go.
pub(crate) struct Capture {
    file: PcapngWriter<std::io::BufWriter<std::fs::File>>,
    /// Its name, for messages.
    name: PathBuf,
    /// The time of day at time zero, since 1970.
    origin: Duration,
}

impl Capture {
    /// To a new file, with an interface of each name and the time of day of `clock`.
    pub(crate) fn create(file: &Path, names: &[&str], clock: Clock) -> std::io::Result<Self> {
        let out = std::io::BufWriter::new(std::fs::File::create(file)?);
        let (writer, name) = (PcapngWriter::new(out, names)?, file.to_owned());
        Ok(Capture { file: writer, name, origin: clock.since_1970() })
    }

    /// Passes everything to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), LiveError> {
        let written = self.file.flush();
        written.map_err(|error| self.failed(&error))
    }

    fn write(&mut self, interface: usize, now: Instant, datagram: &[u8]) -> Result<(), LiveError> {
        let written = self.file.write_datagram(interface, now + self.origin, datagram);
        written.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> LiveError {
        LiveError::Failed(format!("writing {}: {error}", self.name.display()))
    }
}

/// A host with one application.
pub(crate) struct LiveHost<A> {
    stack: Stack,
    pub(crate) application: A,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) capture: Option<Capture>,
    endpoint: Endpoint,
    /// Sockets that the application opened and that are not released yet.
    sockets: BTreeSet<SocketId>,
    pub(crate) clock: Clock,
    entropy: Entropy,
    /// Recorder of the stack's events, if requested.
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    /// Counts what connections sent, if requested.
    pub(crate) ledger: Option<Ledger>,
    /// Reports events of paths to the user, if requested.
    pub(crate) notices: Option<Notices>,
    /// What arrives.
    buffer: Vec<u8>,
    /// The last packet of a batch, if it is an acknowledgement, and the number of its device.
    held: Option<(usize, Box<Packet>)>,
    /// The datagram that is captured.
    out: Vec<u8>,
}

impl<A: Application> LiveHost<A> {
    pub(crate) fn new(
        interfaces: Vec<Interface>,
        endpoint: Endpoint,
        application: A,
    ) -> Result<Self, LiveError> {
        let config = |interface: &Interface| InterfaceConfig {
            addresses: interface.addresses.clone(),
            mtu: interface.mtu,
        };
        let interface_configs = interfaces.iter().map(config).collect();
        let mut stack =
            Stack::new(StackConfig { interfaces: interface_configs, ..StackConfig::default() });
        let mut sockets = BTreeSet::new();
        if let Some(port) = endpoint.listen.map(|listen| listen.port()) {
            let listener = stack.listen(port, endpoint.protocol.clone());
            let failed = |error| LiveError::Failed(format!("listening on port {port}: {error}"));
            sockets.insert(listener.map_err(failed)?);
        }
        let entropy = Entropy::new().map_err(|error| no_chance(&error))?;
        Ok(LiveHost {
            stack,
            application,
            interfaces,
            capture: None,
            endpoint,
            sockets,
            clock: Clock::start(),
            entropy,
            recorder: None,
            ledger: None,
            notices: None,
            buffer: vec![0; LONGEST_READ],
            held: None,
            out: Vec::new(),
        })
    }

    /// Let the application begin.
    pub(crate) fn start(&mut self) -> Result<(), LiveError> {
        self.call(|application, host| application.on_start(host))?;
        self.drain()
    }

    /// Take what a device has, at most a batch; whether there may be more.
    pub(crate) fn receive(&mut self, number: usize) -> Result<bool, LiveError> {
        let more = self.receive_batch(number)?;
        self.pass_held()?;
        Ok(more)
    }

    fn receive_batch(&mut self, number: usize) -> Result<bool, LiveError> {
        for read in 0..BATCH {
            let Some(interface) = self.interfaces.get(number) else { return Ok(false) };
            let received = match &interface.port {
                Port::Tun(tun) => {
                    let arrived = match tun.has_offloads() {
                        true => Arrived::Offloaded,
                        false => Arrived::Datagram,
                    };
                    tun.receive(&mut self.buffer).map(|len| len.map(arrived))
                }
                Port::Udp(path) => {
                    let (local, received) = (path.local(), path.receive(&mut self.buffer));
                    received.map(|received| received.map(|received| Arrived::Udp(local, received)))
                }
            };
            match received {
                Ok(Some(Arrived::Datagram(len))) => self.take_in(number, len)?,
                Ok(Some(Arrived::Offloaded(len))) => {
                    self.take_in_offloaded(number, len)?;
                    if read < ACKNOWLEDGED_READS {
                        self.settle(number);
                    }
                }
                Ok(Some(Arrived::Udp(local, Received::Datagrams(arrival)))) => {
                    self.take_in_udp(number, local, arrival)?;
                }
                Ok(Some(Arrived::Udp(_, Received::Unreachable(packet)))) => {
                    let interface = InterfaceId(number as u16);
                    self.input(Input::Packet { interface, packet })?;
                }
                Ok(None) => return Ok(false),
                Err(_) => {
                    // The device was removed while in use; the monitor reports it, too.
                    self.pass_held()?;
                    self.device_changed(number, DeviceState::Down)?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Counts packets from an interface: how many, and how many of them were merged and ignored.
    fn count(&mut self, number: usize, received: u64, (merged, ignored): (u64, u64)) {
        let Some(interface) = self.interfaces.get_mut(number) else { return };
        interface.counters.received += received;
        interface.counters.received_merged += merged;
        interface.counters.ignored += ignored;
    }

    /// A datagram of a device without offloads.
    fn take_in(&mut self, number: usize, len: usize) -> Result<(), LiveError> {
        let now = self.clock.now();
        let datagram = &self.buffer[..len];
        if let Some(capture) = &mut self.capture {
            capture.write(number, now, datagram)?;
        }
        let packet = Packet::parse(datagram);
        // Neighbour discovery and the like, or damage: no business of the engine's.
        self.count(number, 1, (0, u64::from(packet.is_err())));
        packet.map_or(Ok(()), |packet| self.take_in_packet(number, packet))
    }

    /// A header and a datagram of a device with offloads.
    fn take_in_offloaded(&mut self, number: usize, len: usize) -> Result<(), LiveError> {
        let now = self.clock.now();
        let bytes = &self.buffer[..len];
        let read = offload::read(bytes);
        if let (Some(capture), None | Some(Read::Whole(_))) = (&mut self.capture, &read) {
            let datagram = bytes.get(offload::HEADER..).unwrap_or_default();
            capture.write(number, now, datagram)?;
        }
        match read {
            Some(Read::Whole(packet)) => {
                self.count(number, 1, (0, 0));
                self.take_in_packet(number, packet)
            }
            Some(Read::Pieces(packets)) => {
                let merged = u64::from(packets.is_merged());
                for packet in packets {
                    self.count(number, 1, (merged, 0));
                    self.capture_packet(number, &packet)?;
                    self.take_in_packet(number, packet)?;
                }
                Ok(())
            }
            None => {
                self.count(number, 1, (0, 1));
                Ok(())
            }
        }
    }

    /// The acknowledgement of what a TUN device gave is one of its own.
    fn settle(&mut self, number: usize) {
        if let Some(Port::Tun(path)) = self.interfaces.get_mut(number).map(|i| &mut i.port) {
            path.settle();
        }
    }

    /// A packet from a TUN device: an acknowledgement is held until it is known whether the next
    /// one of the batch makes it superfluous.
    fn take_in_packet(&mut self, number: usize, packet: Packet) -> Result<(), LiveError> {
        if let (Some(notices), Some(interface)) = (&mut self.notices, self.interfaces.get(number)) {
            notices.on_packet(number, (interface.mtu, &interface.addresses), &packet);
        }
        match &mut self.held {
            Some((held_at, held)) if *held_at == number && supersedes(&packet, held) => {
                **held = packet;
                Ok(())
            }
            _ => {
                self.pass_held()?;
                // Others pass at once, so that what they cause belongs to their read.
                if is_pure_ack(&packet) {
                    self.held = Some((number, Box::new(packet)));
                    return Ok(());
                }
                self.input(Input::Packet {
                    interface: InterfaceId(number as u16),
                    packet: Box::new(packet),
                })
            }
        }
    }

    /// Passes the held packet to the engine.
    fn pass_held(&mut self) -> Result<(), LiveError> {
        let Some((number, packet)) = self.held.take() else { return Ok(()) };
        self.input(Input::Packet { interface: InterfaceId(number as u16), packet })
    }

    /// Datagrams at `local`: SCTP packets, or what is ignored.
    fn take_in_udp(
        &mut self,
        number: usize,
        local: SocketAddr,
        arrival: Arrival,
    ) -> Result<(), LiveError> {
        let buffer = std::mem::take(&mut self.buffer);
        for range in arrival.datagrams() {
            let datagram = &buffer[range];
            let (from, to) = (arrival.from, local);
            if self.capture.is_some() {
                let (src_port, dst_port) = (from.port(), to.port());
                let payload = datagram.to_vec().into();
                let body = Body::Udp(UdpDatagram { src_port, dst_port, payload });
                self.capture_packet(number, &Packet::new(from.ip(), to.ip(), body))?;
            }
            let packet = SctpPacket::parse(datagram);
            // Damage, or another protocol.
            self.count(number, 1, (0, u64::from(packet.is_err())));
            let Ok(mut packet) = packet else { continue };
            packet.udp = Some(UdpPorts { src: from.port(), dst: to.port() });
            let packet = Packet::new(from.ip(), to.ip(), Body::Sctp(packet));
            let interface = InterfaceId(number as u16);
            self.input(Input::Packet { interface, packet: Box::new(packet) })?;
        }
        self.buffer = buffer;
        Ok(())
    }

    fn capture_packet(&mut self, number: usize, packet: &Packet) -> Result<(), LiveError> {
        let Some(capture) = &mut self.capture else { return Ok(()) };
        self.out.clear();
        packet.emit(&mut self.out);
        let now = self.clock.now();
        capture.write(number, now, &self.out)
    }

    /// Sends what devices and sockets have gathered.
    pub(crate) fn flush(&mut self) {
        for interface in &mut self.interfaces {
            match &mut interface.port {
                Port::Tun(path) => path.flush(&mut interface.counters),
                Port::Udp(path) => path.flush(&mut interface.counters),
            }
        }
    }

    /// What was counted on every interface.
    pub(crate) fn counters(&self) -> LiveCounters {
        self.interfaces.iter().map(|interface| interface.counters).sum()
    }

    /// The device of an interface is in this state now.
    pub(crate) fn device_changed(
        &mut self,
        number: usize,
        state: DeviceState,
    ) -> Result<(), LiveError> {
        if let Some(notices) = &mut self.notices {
            notices.on_state(number, state);
        }
        let is_up = state == DeviceState::Up;
        let event = if is_up { InterfaceEvent::Up } else { InterfaceEvent::Down };
        self.input(Input::Interface { interface: InterfaceId(number as u16), event })
    }

    /// Spare the paths of an address, or use them again.
    pub(crate) fn set_backup(&mut self, address: IpAddr, backup: bool) -> Result<(), LiveError> {
        for socket in &self.sockets {
            // A listener, or a connection over one path.
            let _ = self.stack.set_backup(*socket, address, backup);
        }
        self.drain()
    }

    /// Fire what is due; the time until the next thing is.
    pub(crate) fn fire(&mut self) -> Result<Option<Duration>, LiveError> {
        let now = self.clock.now();
        if self.stack.poll_deadline().is_some_and(|deadline| deadline <= now) {
            self.input(Input::Timeout)?;
        }
        if self.application.poll_deadline().is_some_and(|deadline| deadline <= now) {
            self.call(|application, host| application.on_timeout(host))?;
            self.drain()?;
        }
        let deadlines = [self.stack.poll_deadline(), self.application.poll_deadline()];
        let now = self.clock.now();
        Ok(deadlines.into_iter().flatten().min().map(|deadline| deadline - now))
    }

    /// Whether every connection has ended, or waits for late packets only.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let stack = &self.stack;
        self.sockets.retain(|socket| is_busy(stack, *socket));
        self.sockets.is_empty()
    }

    /// Resets every connection, so that peers notice the end at once.
    pub(crate) fn abort(&mut self) -> Result<(), LiveError> {
        for socket in std::mem::take(&mut self.sockets) {
            let mut cx = context(self.clock.now(), &mut self.entropy, &mut self.recorder)?;
            // A listener, or released already: nothing to reset.
            let _ = self.stack.abort(&mut cx, socket);
        }
        self.drain()
    }

    /// Records what connections sent until now, if that was requested.
    pub(crate) fn note_sent(&mut self) {
        if let Some(ledger) = &mut self.ledger {
            ledger.note_all(&self.stack);
        }
    }

    /// The present.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    fn input(&mut self, input: Input) -> Result<(), LiveError> {
        let mut cx = context(self.clock.now(), &mut self.entropy, &mut self.recorder)?;
        self.stack.handle(&mut cx, input);
        self.drain()
    }

    /// The contract's steps 2 and 3.
    fn drain(&mut self) -> Result<(), LiveError> {
        for _ in 0..DRAIN_LIMIT {
            let mut cx = context(self.clock.now(), &mut self.entropy, &mut self.recorder)?;
            if let Some(transmit) = self.stack.poll_transmit(&mut cx) {
                let now = cx.now;
                self.send(now, transmit)?;
            } else if let Some(event) = self.stack.poll_event() {
                self.notify(event)?;
            } else {
                return Ok(());
            }
        }
        Err(LiveError::Failed("one input leads to an endless series of packets".to_owned()))
    }

    /// Passes a packet to the kernel. It has departed then: the engine has no queue behind it.
    fn send(&mut self, now: Instant, transmit: Transmit) -> Result<(), LiveError> {
        let Transmit { interface, packet, bytes } = transmit;
        let (number, flow) = (interface.index(), packet.flow);
        if self.capture.is_some() {
            match self.interfaces.get(number).map(|interface| &interface.port) {
                Some(Port::Udp(path)) => {
                    let packet = path.as_sent(&packet);
                    self.capture_packet(number, &packet)?;
                }
                _ => self.capture_packet(number, &packet)?,
            }
        }
        if let Some(Interface { port, counters, .. }) = self.interfaces.get_mut(number) {
            match (port, &packet.body) {
                (Port::Tun(path), _) => path.send(packet, counters),
                (Port::Udp(path), Body::Sctp(sctp)) => path.send(packet.dst(), sctp, counters),
                // A host that has SCTP in UDP only.
                (Port::Udp(_), _) => counters.unsent += 1,
            }
        }
        if flow != 0 {
            let mut cx = context(now, &mut self.entropy, &mut self.recorder)?;
            self.stack.handle(&mut cx, Input::Departed { flow, bytes });
        }
        Ok(())
    }

    fn notify(&mut self, event: SocketEvent) -> Result<(), LiveError> {
        if let SocketEventKind::Accepted { .. } = event.kind {
            self.sockets.insert(event.socket);
            if let Some(ledger) = &mut self.ledger {
                ledger.open(event.socket);
            }
        }
        self.call(|application, host| deliver(application, host, event))
    }

    fn call(&mut self, what: impl FnOnce(&mut A, &mut dyn StreamHost)) -> Result<(), LiveError> {
        let cx = &mut context(self.clock.now(), &mut self.entropy, &mut self.recorder)?;
        let Endpoint { local, remote, protocol, .. } = &self.endpoint;
        let (stack, ends) = (&mut self.stack, local.as_ref().zip(remote.as_ref()));
        let owner = Opening { sockets: &mut self.sockets, ledger: self.ledger.as_mut() };
        what(&mut self.application, &mut StackSockets { cx, stack, ends, protocol, owner });
        Ok(())
    }
}

/// What one call of a device or socket gave.
enum Arrived {
    /// An IP datagram of this length.
    Datagram(usize),
    /// A header of `offload` and a datagram of this length.
    Offloaded(usize),
    /// SCTP in UDP to an address of ours.
    Udp(SocketAddr, Received),
}

/// Follows the sockets that the application opens and closes.
struct Opening<'a> {
    sockets: &'a mut BTreeSet<SocketId>,
    ledger: Option<&'a mut Ledger>,
}

impl SocketOwner for Opening<'_> {
    fn on_opened(&mut self, socket: SocketId) {
        self.sockets.insert(socket);
        if let Some(ledger) = self.ledger.as_deref_mut() {
            ledger.open(socket);
        }
    }

    fn on_release(&mut self, stack: &Stack, socket: SocketId) {
        if let Some(ledger) = self.ledger.as_deref_mut() {
            ledger.note(stack, socket);
        }
    }
}

/// Whether packets of a connection still matter.
fn is_busy(stack: &Stack, socket: SocketId) -> bool {
    stack.info(socket).is_some_and(|info| info.paths.iter().any(|path| !path.is_over))
}

/// An address of ours of the family of `remote`.
pub(crate) fn local_for(interfaces: &[Interface], remote: IpAddr) -> Option<IpAddr> {
    let mut addresses = interfaces.iter().flat_map(|interface| &interface.addresses);
    addresses.find(|address| address.is_ipv4() == remote.is_ipv4()).copied()
}

/// What goes down with a call of the stack.
fn context<'a>(
    now: Instant,
    entropy: &mut Entropy,
    recorder: &'a mut Option<Box<dyn Recorder>>,
) -> Result<Context<'a>, LiveError> {
    let chance = chance(entropy)?;
    Ok(match recorder {
        Some(recorder) => Context::recording(now, chance, recorder.as_mut()),
        None => Context::quiet(now, chance),
    })
}

fn chance(entropy: &mut Entropy) -> Result<base::Chance, LiveError> {
    entropy.chance().map_err(|error| no_chance(&error))
}

fn no_chance(error: &std::io::Error) -> LiveError {
    LiveError::Failed(format!("the system gives no random bytes: {error}"))
}

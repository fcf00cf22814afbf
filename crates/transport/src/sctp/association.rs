//! `Association`: an SCTP socket from INIT to its end.
//!
//! The handshake is `Initiator`'s, an established association is a `Transfer` with its `Shutdown`.
//! Here are the states in between, packets that belong to none of them, and the calls of the stack
//! and of users. Answers to INIT and COOKIE ECHO are left to `host`.

mod endpoint;
mod output;

use super::accept::{OwnTags, has_right_tag};
use super::addresses::{AddressChanges, Change, From};
use super::authentication::{Admission, Authentication};
use super::cmt::PathMode;
use super::config::SctpConfig;
use super::describe;
use super::ends::{Ends, LocalAddress};
use super::handshake::{Agreement, Failure, Initiator, Opening, Step, Tags};
use super::host::random_bytes;
use super::input::Verdict;
use super::shutdown::{Shutdown, ShutdownStep, Stage};
use super::stream_changes::{StreamChange, StreamChanges};
use super::streams::{Message, Received};
use super::transfer::Transfer;
use crate::account::Account;
use crate::endpoint::{
    AddressChange, Draws, Endpoint, FLOW_PATH_SHIFT, IpProtocol, NewPath, Rest, Tag, Transmit,
    Tuple,
};
use crate::info::ConnectionInfo;
use crate::routes::Routes;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use base::{Context, Event, EventMask, Instant, InterfaceId, PathId, Purpose, SocketId};
use std::collections::VecDeque;
use std::hint::cold_path;
use std::net::IpAddr;
use wire::sctp::{Cause, Chunk, Chunks, Features, Tsn, UdpPorts, VerificationTag};
use wire::{Body, Packet, Payload, SctpPacket};

/// An SCTP socket.
pub(crate) struct Association {
    marks: SocketMarks,
    socket: SocketId,
    config: Box<SctpConfig>,
    ends: Ends,
    phase: Phase,
    tags: Tags,
    /// Packets of the handshake and of the end, each with the pair of addresses it goes to.
    outbox: VecDeque<(PathId, SctpPacket)>,
    events: Vec<ConnectionEvent>,
    account: Account,
    /// How chunks are authenticated (RFC 4895).
    auth: Option<Box<Authentication>>,
    /// The stack does not know all pairs of addresses yet.
    pairs_changed: bool,
    /// The pairs that the stack knows.
    bound: Vec<(Tuple, InterfaceId)>,
}

/// Where an association is in its life.
enum Phase {
    /// COOKIE-WAIT and COOKIE-ECHOED.
    Opening(Box<Initiator>),
    /// From ESTABLISHED on.
    Open(Box<Open>),
    Closed,
}

/// An established association.
struct Open {
    transfer: Transfer,
    shutdown: Shutdown,
    addresses: AddressChanges,
    streams: StreamChanges,
}

/// What an INIT of the peer finds.
pub(super) enum Present {
    /// COOKIE-WAIT or COOKIE-ECHOED: the own tag, TSN and RANDOM, and the peer's addresses in the
    /// latter.
    Opening {
        tags: Tags,
        initial_tsn: Tsn,
        random: Option<[u8; 32]>,
        known: Option<Vec<IpAddr>>,
    },
    /// ESTABLISHED up to SHUTDOWN-RECEIVED.
    Open {
        tags: Tags,
    },
    /// SHUTDOWN-ACK-SENT: SHUTDOWN ACK is sent again.
    ShuttingDown,
    Closed,
}

impl Association {
    /// Opens an association on its first path. `locals`: addresses of this host that the peer may
    /// use, that of the path first; `routes`: those of the host.
    pub(crate) fn connect(
        cx: &mut Context<'_>,
        draws: &mut Draws,
        (path, routes): (&NewPath, Routes),
        config: &SctpConfig,
        locals: Vec<LocalAddress>,
    ) -> Association {
        let tag = draw_tag(cx, draws);
        let initial_tsn = Tsn(draws.draw(cx, Purpose::InitialSequence) as u32);
        let mut remotes = vec![path.ends.remote.ip()];
        let others = config.peer_addresses.iter().filter(|other| **other != remotes[0]);
        remotes.extend(others.copied().collect::<Vec<_>>());
        let ports = (path.ends.local.port(), path.ends.remote.port());
        let ends = Ends::new(ports, locals, remotes.clone()).with_routes(routes);
        let opening = Opening {
            offer: config.offer(ends.locals(), random_bytes(cx, draws)),
            port: ports.0,
            peer_port: ports.1,
            peer_addresses: remotes,
            tag,
            initial_tsn,
            rto: config.parameters.rto,
            retransmissions: config.parameters.init_retransmits,
        };
        let (initiator, step) = Initiator::open(cx.now, opening);
        let tags = initiator.tags();
        let phase = Phase::Opening(Box::new(initiator));
        let mut association = Association::new(path.socket, config, ends, (phase, tags), None);
        association.record_state(cx, "COOKIE-WAIT");
        association.on_step(cx, step);
        association
    }

    /// The association that a valid cookie agrees on (RFC 9260 s5.1 D). `udp`: ports of the packet
    /// with the cookie.
    pub(crate) fn accept(
        cx: &mut Context<'_>,
        (path, udp): (&NewPath, Option<UdpPorts>),
        (listener, config): (SocketId, &SctpConfig),
        (locals, routes): (Vec<LocalAddress>, Routes),
        (agreed, tags): (&Agreement, Tags),
    ) -> Association {
        let ports = (path.ends.local.port(), path.ends.remote.port());
        // The cookie was sent to where the INIT came from: only that address is verified, wherever
        // the COOKIE ECHO comes from (RFC 9260 s5.4). The pair of that packet is one path.
        let remote = path.ends.remote.ip();
        let verified = agreed.peer_addresses.first().copied().unwrap_or(remote);
        let is_listed = agreed.peer_addresses.contains(&remote);
        let remotes = vec![if is_listed { remote } else { verified }];
        let ends = Ends::new(ports, locals, remotes).with_routes(routes);
        let state = (Phase::Closed, tags);
        let mut association = Association::new(path.socket, config, ends, state, Some(listener));
        if let Some(UdpPorts { src, dst }) = udp {
            association.ends.learn_udp(remote, Some(UdpPorts { src: dst, dst: src }));
        }
        association.establish(cx, agreed, &[verified], ConnectionEvent::Accepted);
        let primary = association.ends.path_with(verified);
        if let (Phase::Open(open), Some(primary)) = (&mut association.phase, primary) {
            open.transfer.states.set_primary(primary);
        }
        association.acknowledge_cookie(&path.ends);
        association
    }

    fn new(
        socket: SocketId,
        config: &SctpConfig,
        mut ends: Ends,
        (phase, tags): (Phase, Tags),
        listener: Option<SocketId>,
    ) -> Association {
        if let Some(ports) = config.udp {
            ends.set_udp(ports);
        }
        if let Some(cmt) = &config.cmt {
            match cmt.path_mode {
                PathMode::Mesh => ends.use_all_pairs(),
                PathMode::Paired => ends.use_rule(cmt.pair_rule),
            }
        }
        let bound = ends.tuples();
        Association {
            marks: SocketMarks::new(listener),
            socket,
            config: Box::new(config.clone()),
            ends,
            phase,
            tags,
            outbox: VecDeque::new(),
            events: Vec::new(),
            account: Account::default(),
            auth: None,
            pairs_changed: false,
            bound,
        }
    }

    /// Its configuration.
    pub(crate) const fn config(&self) -> &SctpConfig {
        &self.config
    }

    /// Entries of its gap structures that were visited since the last call.
    pub(crate) const fn take_visited(&mut self) -> u64 {
        match &mut self.phase {
            Phase::Open(open) => open.transfer.take_visited(),
            Phase::Opening(_) | Phase::Closed => 0,
        }
    }

    pub(super) const fn ends(&self) -> &Ends {
        &self.ends
    }

    pub(crate) const fn tags(&self) -> &Tags {
        &self.tags
    }

    /// What an INIT of the peer finds.
    pub(super) fn present(&self) -> Present {
        match &self.phase {
            Phase::Opening(initiator) => Present::Opening {
                tags: self.tags,
                initial_tsn: initiator.initial_tsn(),
                random: initiator.random(),
                known: initiator.known_addresses(),
            },
            Phase::Open(open) => match open.shutdown.stage() {
                Stage::ShutdownAckSent => Present::ShuttingDown,
                Stage::Closed => Present::Closed,
                _ => Present::Open { tags: self.tags },
            },
            Phase::Closed => Present::Closed,
        }
    }

    /// SHUTDOWN COMPLETE was lost: SHUTDOWN ACK is sent again (RFC 9260 s9.2).
    pub(super) fn repeat_shutdown_ack(&mut self, cx: &Context<'_>) {
        self.on_shutdown_step(cx, ShutdownStep::SendShutdownAck);
    }

    /// The peer's cookie is valid and is that of this association, which is open already or opens
    /// from both sides (RFC 9260 s5.2.4 B and D).
    pub(crate) fn on_cookie(
        &mut self,
        cx: &mut Context<'_>,
        from: &Tuple,
        agreed: Agreement,
        cookie: &Tags,
    ) {
        match &mut self.phase {
            Phase::Opening(initiator) => {
                let step = initiator.handle_cookie(agreed, cookie);
                self.on_step(cx, step);
            }
            Phase::Open(_) | Phase::Closed => {}
        }
        self.acknowledge_cookie(from);
    }

    /// The peer has restarted (RFC 9260 s5.2.4 A): what was sent and received before is lost, which
    /// the user learns as a reset; the association goes on with the new tags. One that only waits
    /// for SHUTDOWN COMPLETE ends first.
    pub(crate) fn restart(
        &mut self,
        cx: &mut Context<'_>,
        from: &Tuple,
        agreed: &Agreement,
        tags: Tags,
    ) {
        let pair = self.ends.number_of(from.local.ip(), from.remote.ip()).unwrap_or(PathId(0));
        if let Phase::Open(open) = &mut self.phase
            && open.shutdown.stage() == Stage::ShutdownAckSent
        {
            let cause = Cause::CookieWhileShuttingDown;
            open.transfer.control.push(pair, Chunk::Error(vec![cause]));
            return self.repeat_shutdown_ack(cx);
        }
        self.tags = tags;
        self.outbox.clear();
        self.report_unsent();
        let confirmed = self.verified_remotes(agreed);
        self.ends.restart(&agreed.peer_addresses);
        self.establish(cx, agreed, &confirmed, ConnectionEvent::Restarted);
        self.acknowledge_cookie(from);
    }

    /// Addresses of a peer that has restarted which need no verification: where the cookie was sent
    /// to, and those that were verified before (RFC 9260 s5.4).
    fn verified_remotes(&self, agreed: &Agreement) -> Vec<IpAddr> {
        let mut verified: Vec<IpAddr> =
            agreed.peer_addresses.first().copied().into_iter().collect();
        let Phase::Open(open) = &self.phase else { return verified };
        let paths = (0..self.ends.paths()).map(|path| PathId(path as u8));
        let known = paths.filter(|path| open.transfer.states.is_confirmed(*path));
        verified.extend(known.filter_map(|path| Some(self.ends.pair_of(path)?.remote)));
        verified
    }

    /// A cookie that is too old came between `from`, with these tags: it set up this association,
    /// and only COOKIE ACK was lost (RFC 9260 s5.2.4 3). Returns whether that is so.
    pub(crate) fn on_stale_cookie(&mut self, from: &Tuple, tags: OwnTags) -> bool {
        let is_ours = self.tags.local == tags.local && self.tags.peer == tags.peer;
        let is_open = matches!(self.phase, Phase::Open(_)) && !self.is_over();
        if is_ours && is_open {
            self.acknowledge_cookie(from);
        }
        is_ours && is_open
    }

    /// SHUTDOWN ACK came before the association is set up: the peer waits for the end of an earlier
    /// one with the same addresses and ports (RFC 9260 s8.5.1 E).
    fn complete_earlier(&mut self, pair: PathId, packet: &SctpPacket) {
        let chunks = Chunks::one(Chunk::ShutdownComplete { reflected: true });
        let (src_port, dst_port) = self.ends.ports();
        let answer = SctpPacket { src_port, dst_port, tag: packet.tag, udp: None, chunks };
        self.outbox.push_back((pair, answer));
    }

    /// COOKIE ACK goes to where COOKIE ECHO came from.
    fn acknowledge_cookie(&mut self, from: &Tuple) {
        let pair = self.ends.number_of(from.local.ip(), from.remote.ip()).unwrap_or(PathId(0));
        if let Phase::Open(open) = &mut self.phase {
            open.transfer.control.push_first(pair, Chunk::CookieAck);
        }
    }

    fn on_step(&mut self, cx: &mut Context<'_>, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Send(address, packet) => {
                if let Phase::Opening(initiator) = &self.phase {
                    // None again when the cookie was stale.
                    self.tags.peer = initiator.tags().peer;
                }
                if matches!(packet.chunks.first(), Some(Chunk::CookieEcho(_))) {
                    self.record_state(cx, "COOKIE-ECHOED");
                    (self.tags.local_tie, self.tags.peer_tie) = tie_tags(cx, self.tags);
                }
                let pair = self.ends.path_with(address).unwrap_or(PathId(0));
                self.outbox.push_back((pair, packet));
            }
            Step::Established { agreed, .. } => {
                let Phase::Opening(initiator) = &self.phase else { return };
                let rtt = initiator.round_trip();
                self.tags = Tags { peer: agreed.peer.tag, ..initiator.tags() };
                let mut confirmed = self.config.peer_addresses.clone();
                confirmed.push(self.ends.remotes()[0]);
                let first = agreed.peer_addresses.first() == self.ends.remotes().first();
                self.establish(cx, &agreed, &confirmed, ConnectionEvent::Connected);
                if !first {
                    self.ask_for_first_path();
                }
                if let (Phase::Open(open), Some(rtt)) = (&mut self.phase, rtt) {
                    open.transfer.on_handshake_rtt(rtt);
                }
            }
            Step::Failed(failure, answer) => {
                if let Some(packet) = answer {
                    self.outbox.push_back((PathId(0), packet));
                }
                let error = match failure {
                    Failure::TimedOut => SocketError::TimedOut,
                    Failure::Unreachable => SocketError::Unreachable,
                    Failure::Aborted
                    | Failure::Refused(_)
                    | Failure::TooManyStreams
                    | Failure::Unauthenticated => SocketError::Refused,
                };
                self.fail(cx, error);
            }
        }
    }

    /// The handshake took another path than the first one, which was silent: the peer, whose
    /// primary that is now, uses the first one when it works (RFC 5061 s5.3).
    fn ask_for_first_path(&mut self) {
        if let (Phase::Open(open), Some(first)) = (&mut self.phase, self.ends.pair_of(PathId(0))) {
            open.addresses.ask(Change::SetPrimary(first.local.address));
        }
    }

    /// The association is set up.
    fn establish(
        &mut self,
        cx: &mut Context<'_>,
        agreed: &Agreement,
        confirmed: &[IpAddr],
        event: ConnectionEvent,
    ) {
        (self.tags.local, self.tags.peer) = (agreed.local.tag, agreed.peer.tag);
        (self.tags.local_tie, self.tags.peer_tie) = tie_tags(cx, self.tags);
        self.ends.set_remotes(&agreed.peer_addresses);
        self.pairs_changed = true;
        self.auth = agreed.auth.clone().map(Box::new);
        let (config, ends) = (&self.config, &self.ends);
        let transfer = Transfer::new(cx, self.socket, config, agreed, ends, confirmed);
        let shutdown = Shutdown::new();
        let supported = agreed.auth.is_some() && agreed.features.contains(Features::ASCONF);
        let serials = (agreed.local.initial_tsn.0, agreed.peer.initial_tsn.0);
        let addresses = AddressChanges::new(supported, serials.0, serials.1);
        let supported = agreed.features.contains(Features::RECONFIG);
        let streams = StreamChanges::new(supported, serials.0, serials.1);
        self.phase = Phase::Open(Box::new(Open { transfer, shutdown, addresses, streams }));
        self.record_state(cx, Stage::Established.name());
        self.events.push(event);
    }

    fn record_state(&self, cx: &mut Context<'_>, state: &'static str) {
        let socket = self.socket;
        cx.record(EventMask::STATE, || Event::Connection { socket, state });
    }

    /// The association is over because of an error.
    fn fail(&mut self, cx: &mut Context<'_>, error: SocketError) {
        if !self.is_over() {
            self.report_unsent();
            self.end(cx);
            self.events.push(ConnectionEvent::Failed(error));
        }
    }

    /// What the peer may not have is lost: the user hears of each message (RFC 9260 s11.2.2).
    fn report_unsent(&mut self) {
        if let Phase::Open(open) = &mut self.phase {
            let failures = open.transfer.sender.fail_all();
            self.events.extend(failures.into_iter().map(ConnectionEvent::SendFailed));
        }
    }

    /// The association is over as both sides wanted.
    fn close(&mut self, cx: &mut Context<'_>) {
        if !self.is_over() {
            self.end(cx);
            self.events.push(ConnectionEvent::Closed);
        }
    }

    /// What was received can still be read.
    fn end(&mut self, cx: &mut Context<'_>) {
        match &mut self.phase {
            Phase::Open(open) => open.shutdown.close(),
            Phase::Opening(_) | Phase::Closed => self.phase = Phase::Closed,
        }
        self.record_state(cx, Stage::Closed.name());
    }

    /// Nothing is sent and received any more but what waits in the outbox.
    fn is_over(&self) -> bool {
        match &self.phase {
            Phase::Opening(_) => false,
            Phase::Open(open) => open.shutdown.stage() == Stage::Closed,
            Phase::Closed => true,
        }
    }

    /// ABORT with a cause, and the end.
    fn abort_with(&mut self, cx: &mut Context<'_>, pair: PathId, cause: Cause, error: SocketError) {
        let chunk = Chunk::Abort { reflected: false, causes: vec![cause] };
        if self.tags.peer != VerificationTag(0) {
            let packet = self.packet(Chunks::one(chunk));
            self.outbox.push_back((pair, packet));
        }
        self.fail(cx, error);
    }

    #[inline]
    fn packet(&self, chunks: Chunks) -> SctpPacket {
        let (src_port, dst_port) = self.ends.ports();
        let mut packet = SctpPacket { src_port, dst_port, tag: self.tags.peer, udp: None, chunks };
        self.protect(&mut packet);
        packet
    }

    /// Whether a packet with any chunks is processed.
    fn takes(&mut self, pair: PathId, packet: &SctpPacket) -> bool {
        if self.is_over() || packet.discard().is_some() {
            return false;
        }
        if matches!(self.phase, Phase::Opening(_))
            && packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::ShutdownAck))
        {
            self.complete_earlier(pair, packet);
            return false;
        }
        has_right_tag(packet, OwnTags { local: self.tags.local, peer: self.tags.peer })
    }

    /// A packet arrives from a pair; an INIT is not passed here, a COOKIE ECHO was processed.
    fn on_packet(&mut self, cx: &mut Context<'_>, pair: PathId, packet: &mut SctpPacket) {
        let admission = self.auth.as_ref().map_or(Admission::none(), |auth| auth.admit(packet));
        let mut chunks = std::mem::take(&mut packet.chunks);
        let all = chunks.len();
        let mut rest = &mut chunks[..];
        if let Phase::Opening(initiator) = &mut self.phase {
            let Some(src) = self.ends.pair_of(pair).map(|pair| pair.remote) else { return };
            packet.chunks = rest.to_vec().into();
            let step = initiator.handle(cx.now, src, packet);
            self.outbox.extend(initiator.heartbeat_ack(packet).map(|answer| (pair, answer)));
            self.on_step(cx, step);
            rest = rest.get_mut(1..).unwrap_or_default();
        }
        let readable = self.readable();
        let Phase::Open(open) = &mut self.phase else { return };
        open.shutdown.on_packet();
        let path = self.ends.path_to(pair);
        if let Some(path) = path.and_then(|path| open.transfer.paths.get_mut(path.index())) {
            path.heard = true;
        }
        open.transfer.receiver.begin_packet();
        if let Some(cause) = &admission.cause {
            open.transfer.control.push(pair, Chunk::Error(vec![cause.clone()]));
        }
        let first = all - rest.len();
        for (at, chunk) in (first..).zip(rest) {
            if !admission.takes(at, chunk) {
                continue;
            }
            match self.on_chunk(cx, pair, chunk) {
                Verdict::Go => {}
                Verdict::Stop => break,
                Verdict::Abort(cause) => {
                    return self.abort_with(cx, pair, cause, SocketError::Reset);
                }
            }
        }
        self.end_packet(cx, pair, readable);
    }

    /// Processes a packet that has nothing but data and SACKs, if the association is open and it is
    /// the association's; returns whether that is so.
    #[inline(always)]
    pub(crate) fn handle_common(
        &mut self,
        cx: &mut Context<'_>,
        pair: PathId,
        packet: &mut SctpPacket,
    ) -> bool {
        let is_mine = packet.tag == self.tags.local && !self.pairs_changed;
        let is_plain = packet.udp.is_none() && !self.ends.knows_udp();
        let is_open =
            matches!(&self.phase, Phase::Open(open) if open.shutdown.stage() != Stage::Closed);
        let has_only_common = match packet.chunks.only() {
            Some(only) => is_common(only),
            None => are_common(&packet.chunks),
        };
        let is_taken = is_mine && is_plain && is_open && has_only_common;
        if is_taken {
            self.process_common(cx, pair, packet);
        }
        is_taken
    }

    /// A packet arrives for an open association that has nothing but data and SACKs.
    #[inline(never)]
    fn on_common_packet(&mut self, cx: &mut Context<'_>, pair: PathId, packet: &mut SctpPacket) {
        self.process_common(cx, pair, packet);
    }

    // Inlined with the only chunk, a packet needs one frame from the stack to its end.
    #[inline(always)]
    fn process_common(&mut self, cx: &mut Context<'_>, pair: PathId, packet: &mut SctpPacket) {
        let path = self.ends.path_to(pair);
        let Phase::Open(open) = &mut self.phase else { return };
        let (readable, stage) =
            (open.transfer.receiver.streams().readable(), open.shutdown.stage());
        open.shutdown.on_packet();
        if let Some(path) = path.and_then(|path| open.transfer.paths.get_mut(path.index())) {
            path.heard = true;
        }
        open.transfer.receiver.begin_packet();
        let from = (pair, path.unwrap_or(PathId(0)));
        let verdict = match packet.chunks.only_mut() {
            Some(chunk) => open.transfer.on_chunk(cx, from, chunk, stage),
            None => open.transfer.on_chunks(cx, from, &mut packet.chunks, stage),
        };
        if let Verdict::Abort(cause) = verdict {
            cold_path();
            return self.abort_with(cx, pair, cause, SocketError::Reset);
        }
        self.end_packet(cx, pair, readable);
    }

    /// The chunks of a packet were processed, before which `readable` bytes could be read.
    #[inline(always)]
    fn end_packet(&mut self, cx: &mut Context<'_>, pair: PathId, readable: u64) {
        let Phase::Open(open) = &mut self.phase else { return };
        open.addresses.adopt_primary(&mut open.transfer, &self.ends);
        let shutting_down = open.shutdown.stage() == Stage::ShutdownSent;
        let receiver = &mut open.transfer.receiver;
        let with_data = receiver.end_packet(cx.now, pair, shutting_down);
        if with_data {
            open.streams.on_data(cx.now, &open.transfer);
        }
        if open.transfer.sender.take_writable() {
            self.events.push(ConnectionEvent::Writable);
        }
        if self.readable() > readable {
            if self.events.capacity() == 0 {
                self.events = Vec::with_capacity(1);
            }
            self.events.push(ConnectionEvent::Readable);
        }
        if with_data && shutting_down {
            cold_path();
            self.on_shutdown_step(cx, ShutdownStep::SendShutdown);
        }
        if cx.wants(EventMask::ACCOUNT) {
            self.report_held(cx);
        }
    }

    /// Reports what waits at the receiver for earlier data.
    #[cold]
    fn report_held(&mut self, cx: &mut Context<'_>) {
        if let Phase::Open(open) = &self.phase {
            // A message whose last fragment is still to come waits for nothing that is missing.
            let receiver = &open.transfer.receiver;
            let waiting = if receiver.has_gap() { receiver.streams().waiting_bytes() } else { 0 };
            self.account.holds(cx, self.socket, waiting, waiting > 0);
        }
    }

    /// A chunk arrives for the association, which may end by it.
    fn on_chunk(&mut self, cx: &mut Context<'_>, pair: PathId, chunk: &mut Chunk) -> Verdict {
        if matches!(chunk, Chunk::Abort { .. } | Chunk::Heartbeat(_)) && self.is_deleted(pair) {
            return Verdict::Stop;
        }
        let path = self.ends.path_to(pair).unwrap_or(PathId(0));
        let Phase::Open(open) = &mut self.phase else { return Verdict::Stop };
        match chunk {
            // Both sides have everything: the peer is gone, and its SHUTDOWN COMPLETE was lost.
            Chunk::Abort { .. } if open.shutdown.ends_with_complete() => {
                self.close(cx);
                Verdict::Stop
            }
            Chunk::Abort { .. } => {
                self.fail(cx, SocketError::Reset);
                Verdict::Stop
            }
            Chunk::Shutdown { cum_tsn } => {
                let verdict = open.transfer.on_shutdown_tsn(cx, *cum_tsn);
                if verdict == Verdict::Go {
                    // The answer goes to where it came from (RFC 9260 s6.4).
                    open.transfer.shutdown_path = Some(path);
                    let (step, closed) = open.shutdown.on_shutdown();
                    let stage = open.shutdown.stage();
                    self.record_state(cx, stage.name());
                    if closed {
                        self.events.push(ConnectionEvent::PeerClosed);
                    }
                    self.on_shutdown_step(cx, step);
                }
                verdict
            }
            Chunk::Reconfig(parameters) => {
                let Open { transfer, streams, .. } = &mut **open;
                streams.on_chunk(cx, transfer, pair, parameters);
                Verdict::Go
            }
            Chunk::Asconf(_) | Chunk::AsconfAck(_) | Chunk::Error(_) => {
                self.on_address_chunk(cx, pair, chunk)
            }
            Chunk::ShutdownAck if open.shutdown.ends_with_ack() => {
                let last = Chunk::ShutdownComplete { reflected: false };
                let packet = self.packet(Chunks::one(last));
                self.outbox.push_back((pair, packet));
                self.close(cx);
                Verdict::Stop
            }
            Chunk::ShutdownComplete { .. } if open.shutdown.ends_with_complete() => {
                self.close(cx);
                Verdict::Stop
            }
            // Answered by the host, or late.
            Chunk::CookieEcho(_)
            | Chunk::CookieAck
            | Chunk::Init(_)
            | Chunk::InitAck(_)
            | Chunk::ShutdownAck
            | Chunk::ShutdownComplete { .. }
            | Chunk::Pad(_) => Verdict::Go,
            _ => {
                let stage = open.shutdown.stage();
                open.transfer.on_chunks(cx, (pair, path), std::slice::from_mut(chunk), stage)
            }
        }
    }

    /// ASCONF, ASCONF ACK, or an ERROR that may concern them.
    fn on_address_chunk(&mut self, cx: &mut Context<'_>, pair: PathId, chunk: &Chunk) -> Verdict {
        let Phase::Open(open) = &mut self.phase else { return Verdict::Stop };
        let Open { transfer, addresses, .. } = &mut **open;
        match (chunk, self.ends.pair_of(pair).map(|pair| pair.remote)) {
            (Chunk::Asconf(asconf), Some(source)) => {
                let from = From { pair, source };
                let changed = addresses.on_asconf(cx, transfer, &mut self.ends, from, asconf);
                self.pairs_changed |= changed;
            }
            (Chunk::AsconfAck(ack), _) => {
                self.pairs_changed = true;
                if let Err(cause) = addresses.on_ack(cx, transfer, &mut self.ends, ack) {
                    return Verdict::Abort(cause);
                }
            }
            (Chunk::Error(causes), _) if causes.iter().any(is_about_asconf) => addresses.refuse(),
            _ => {}
        }
        Verdict::Go
    }

    /// Carries out what the end of the association requires.
    fn on_shutdown_step(&mut self, cx: &Context<'_>, step: ShutdownStep) {
        let Phase::Open(open) = &mut self.phase else { return };
        let chunk = match step {
            ShutdownStep::SendShutdown => {
                Chunk::Shutdown { cum_tsn: open.transfer.receiver.cum_tsn() }
            }
            ShutdownStep::SendShutdownAck => Chunk::ShutdownAck,
            ShutdownStep::Nothing | ShutdownStep::GiveUp | ShutdownStep::Abort => return,
        };
        let another = open.transfer.shutdown_path.take();
        let path = another.or(open.transfer.states.data_path()).unwrap_or(PathId(0));
        open.transfer.stop_heartbeats();
        let is_shutdown =
            |chunk: &Chunk| matches!(chunk, Chunk::Shutdown { .. } | Chunk::ShutdownAck);
        open.transfer.control.drop_where(is_shutdown);
        open.transfer.control.push(path, chunk);
        let rto = open.transfer.rto(path);
        let rto_max = self.config.parameters.rto.max;
        open.shutdown.on_sent(cx.now, path, rto, rto_max);
    }

    /// Data were sent or acknowledged: the end may come nearer.
    fn advance_shutdown(&mut self, cx: &mut Context<'_>) -> bool {
        let Phase::Open(open) = &mut self.phase else { return false };
        let step = open.shutdown.on_progress(open.transfer.sender.is_empty());
        let stage = open.shutdown.stage();
        if step == ShutdownStep::Nothing {
            return false;
        }
        cold_path();
        self.record_state(cx, stage.name());
        self.on_shutdown_step(cx, step);
        true
    }

    /// Nothing is sent: why, for the account.
    #[inline]
    fn report_stop(&mut self, cx: &mut Context<'_>) {
        if cx.wants(EventMask::ACCOUNT) {
            self.account_stop(cx);
        }
    }

    #[cold]
    fn account_stop(&mut self, cx: &mut Context<'_>) {
        if let Phase::Open(open) = &self.phase {
            let sender = &open.transfer.sender;
            let why = open.transfer.why_blocked(open.shutdown.stage());
            let unsent = sender.unsent_bytes();
            self.account.stops(cx, self.socket, why, sender.bound() + unsent, unsent);
        }
    }

    /// A packet between addresses that are no pair of the association comes, whose tag is the
    /// association's; returns the number of the pair for now.
    pub(crate) fn on_stray(&mut self, local: LocalAddress, remote: IpAddr) -> PathId {
        self.ends.set_stray(local, remote)
    }

    /// Whether a packet of the stray pair is processed: the peer may be adding its address, and
    /// may use one that this side is adding (RFC 5061 s4.1.1).
    fn takes_stray(&self, packet: &SctpPacket) -> bool {
        let has_asconf = packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Asconf(_)));
        let source = self.ends.pair_of(Ends::STRAY).map(|pair| pair.remote);
        let is_known = source.is_some_and(|source| self.ends.remotes().contains(&source));
        has_asconf || is_known || matches!(self.phase, Phase::Opening(_))
    }

    /// Whether the peer has deleted its address of a pair. usrsctp goes on to probe with it, and
    /// takes the answers for packets out of the blue, which it answers with ABORT.
    fn is_deleted(&self, pair: PathId) -> bool {
        let source = self.ends.pair_of(pair).map(|pair| pair.remote);
        source.is_some_and(|source| !self.ends.remotes().contains(&source))
    }

    /// Whether the stack does not know all pairs yet.
    pub(crate) const fn has_new_pairs(&self) -> bool {
        self.pairs_changed
    }

    /// The pairs that the stack knew, if they changed since the last call.
    pub(crate) fn take_pairs_changed(&mut self) -> Option<Vec<(Tuple, InterfaceId)>> {
        let changed = std::mem::replace(&mut self.pairs_changed, false);
        changed.then(|| std::mem::replace(&mut self.bound, self.ends.tuples()))
    }

    /// Queues a whole message; returns whether there was room.
    pub(crate) fn send_message(&mut self, message: Message) -> Result<bool, SocketError> {
        match &mut self.phase {
            Phase::Opening(_) => Err(SocketError::NotConnected),
            Phase::Open(open) if open.shutdown.stage() == Stage::Established => {
                if open.streams.is_resetting(message.stream) {
                    open.transfer.sender.refuse();
                    return Ok(false);
                }
                let sent = open.transfer.sender.send(message);
                sent.map_err(|_| SocketError::InvalidStream)
            }
            Phase::Open(_) | Phase::Closed => Err(SocketError::Closed),
        }
    }

    /// An ICMP message quotes a packet of the association with these tags (RFC 9260 s10): without a
    /// right one, or about a port, it is ignored. `mtu`: 0 unless the packet was too large.
    pub(crate) fn on_icmp(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        (code, mtu): (u8, u32),
        (tag, initiate): (VerificationTag, Option<VerificationTag>),
    ) {
        const PROTOCOL_UNREACHABLE: u8 = 2;
        const PORT_UNREACHABLE: u8 = 3;
        const FRAGMENTATION_NEEDED: u8 = 4;
        let is_init = tag == VerificationTag(0) && initiate == Some(self.tags.local);
        let is_ours = tag != VerificationTag(0) && tag == self.tags.peer;
        let Some(remote) = self.ends.pair_of(path).map(|pair| pair.remote) else { return };
        let ipv4 = remote.is_ipv4();
        match code {
            _ if !is_init && !is_ours => {}
            _ if mtu > 0 => {
                if let Phase::Open(open) = &mut self.phase {
                    open.transfer.lower_mtu(path, mtu, remote);
                }
            }
            PROTOCOL_UNREACHABLE if ipv4 => self.fail(cx, SocketError::Reset),
            // In UDP it says that nobody takes SCTP there (RFC 6951 s5.4).
            PORT_UNREACHABLE if ipv4 && !self.ends.uses_udp() => {}
            FRAGMENTATION_NEEDED if ipv4 => {}
            _ => self.on_unreachable(cx, path, None),
        }
    }

    /// Asks the peer for a change of streams; returns whether it can be asked (RFC 6525).
    pub(crate) fn change_streams(&mut self, change: StreamChange) -> bool {
        let Phase::Open(open) = &mut self.phase else { return false };
        open.shutdown.stage() == Stage::Established && open.streams.ask(change)
    }

    /// The next whole message.
    pub(crate) fn receive_message(&mut self, cx: &mut Context<'_>) -> Option<Received> {
        let Phase::Open(open) = &mut self.phase else { return None };
        let received = open.transfer.receiver.receive()?;
        let end = open.transfer.receiver.taken();
        self.record_delivered(cx, end, received.payload.len());
        Some(received)
    }

    fn record_delivered(&self, cx: &mut Context<'_>, end: u64, len: u32) {
        let (socket, offset) = (self.socket, end - u64::from(len));
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
    }
}

/// Data and SACKs, as in nearly all packets: they neither open nor end an association, and need no
/// authentication.
#[inline]
const fn is_common(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Data(_) | Chunk::Sack(_) | Chunk::NrSack(_))
}

#[inline(never)]
fn are_common(chunks: &[Chunk]) -> bool {
    chunks.iter().all(is_common)
}

/// Whether the peer reports that it does not know ASCONF.
fn is_about_asconf(cause: &Cause) -> bool {
    const ASCONF: u8 = 0xC1;
    matches!(cause, Cause::UnrecognizedChunk(chunk) if chunk.first() == Some(&ASCONF))
}

/// A random tag other than 0.
pub(super) fn draw_tag(cx: &Context<'_>, draws: &mut Draws) -> VerificationTag {
    loop {
        let tag = draws.draw(cx, Purpose::Key) as u32;
        if tag != 0 {
            return VerificationTag(tag);
        }
    }
}

/// Tie-tags: random numbers which are a function of the tags, and reveal neither (RFC 5062 s3.3).
fn tie_tags(cx: &Context<'_>, tags: Tags) -> (u32, u32) {
    let owner = u64::from(tags.local.0) << 32 | u64::from(tags.peer.0);
    let bits = cx.chance.bits(owner, Purpose::Association, 0);
    ((bits >> 32) as u32 | 1, bits as u32 | 1)
}

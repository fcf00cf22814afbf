//! `Transfer`: an association that is set up: its paths, what it sends and what it receives.
//!
//! Chunks that arrive are in `input`, packets that leave in `output`, timers in `timers`. The
//! handshake is left to `Initiator` and the host, the end to `Shutdown`.

use super::authentication::Authentication;
use super::cmt::SendRound;
use super::config::SctpConfig;
use super::control::ControlQueue;
use super::eligibility::Eligibility;
use super::ends::Ends;
use super::handshake::Agreement;
use super::path::{Heartbeat, Path};
use super::path_state::PathStates;
use super::received::Keep;
use super::receiver::{Receiver, ReceiverSetup};
use super::sender::{Sender, SenderSetup};
use super::streams::Framing;
use crate::congestion::{CongestionControl, PathStart};
use base::{Chance, Context, Duration, Instant, PathId, Purpose, SocketId};
use std::net::IpAddr;
use wire::SctpPacket;
use wire::sctp::{Data, Features, IData, Tsn};

/// The two sides of an established association and the paths between them.
pub(super) struct Transfer {
    pub(super) socket: SocketId,
    pub(super) paths: Vec<Path>,
    pub(super) states: PathStates,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) control: ControlQueue,
    /// The path of the next SHUTDOWN or SHUTDOWN ACK after one was not answered.
    pub(super) shutdown_path: Option<PathId>,
    pub(super) config: Box<SctpConfig>,
    /// Bytes of every packet that AUTH takes.
    reserve: u32,
    /// CMT: paths that may still send before the next event.
    pub(super) round: SendRound,
    pub(super) probes: Probes,
    /// Data wait, and there is no path for them.
    pub(super) stranded: Option<Stranded>,
    draws: Draws,
}

/// The timer of data for which there is no path, in place of T3-rtx.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stranded {
    pub deadline: Instant,
    /// The time until then.
    pub timeout: Duration,
}

/// Heartbeats to addresses that are not verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probes {
    /// The end of the RTO in which `left` may still be sent.
    pub until: Instant,
    pub left: u32,
}

/// Random numbers of one association: the n-th is a function of its key and n.
#[derive(Clone, Copy, Debug)]
struct Draws {
    key: u64,
    count: u64,
}

impl Transfer {
    /// The association that both sides agreed on. `confirmed`: addresses of the peer that need no
    /// verification.
    pub(super) fn new(
        cx: &mut Context<'_>,
        socket: SocketId,
        config: &SctpConfig,
        agreed: &Agreement,
        ends: &Ends,
        confirmed: &[IpAddr],
    ) -> Transfer {
        let framing = match agreed.features.contains(Features::INTERLEAVING) {
            true => Framing::Interleaved,
            false => Framing::Data,
        };
        let is_confirmed = |remote: &IpAddr| confirmed.contains(remote);
        let pairs = || (0..ends.paths()).filter_map(|path| ends.pair_of(PathId(path as u8)));
        // With data on all paths each is verified from its own local address.
        let all = config.cmt.is_none();
        let known =
            pairs().enumerate().map(|(at, pair)| (all || at == 0) && is_confirmed(&pair.remote));
        let known: Vec<bool> = known.collect();
        let reserve = agreed.auth.as_ref().map_or(0, Authentication::reserve);
        let room = room(ends.mtu(), ends.remotes()[0], ends.uses_udp()).saturating_sub(reserve);
        let fragment = fragment_size(room, framing);
        let message_size = config.message_size.unwrap_or(fragment).max(1);
        let setup = SenderSetup {
            socket,
            initial_tsn: agreed.local.initial_tsn,
            streams: agreed.local.streams,
            framing,
            order: config.stream_order,
            peer_rwnd: agreed.peer.a_rwnd,
            buffer: config.send_buffer,
            fragment,
            message_size,
            nagle: config.nagle,
            gap_structure: config.gap_structure,
            partial: agreed.features.contains(Features::PARTIAL_RELIABILITY),
        };
        let receiving = ReceiverSetup {
            initial_tsn: agreed.peer.initial_tsn,
            streams: agreed.peer.streams,
            framing,
            buffer: config.receive_buffer,
            room,
            nr_sack: agreed.features.contains(Features::NR_SACK),
            sack_delay: config.parameters.sack_delay,
            keep: if config.reneging { Keep::Renegable } else { Keep::Forever },
            dac: config.cmt.is_some_and(|cmt| cmt.algorithms.dac),
            gap_structure: config.gap_structure,
        };
        let trusting = config.cmt.is_some() && config.parameters.sending.sends_unconfirmed;
        let mut transfer = Transfer {
            socket,
            paths: Vec::new(),
            states: PathStates::new(config.parameters.limits, &known).trusting(trusting),
            sender: Sender::new(setup, config.parameters, config.new_controller(), config.cmt),
            receiver: Receiver::new(receiving),
            control: ControlQueue::default(),
            shutdown_path: None,
            config: Box::new(config.clone()),
            reserve,
            round: SendRound::default(),
            probes: Probes { until: cx.now, left: 0 },
            stranded: None,
            draws: Draws { key: u64::from(agreed.local.tag.0), count: 0 },
        };
        transfer.sender.choose_paths_by(config);
        transfer.add_paths(cx, ends);
        transfer
    }

    /// Adds the paths of `ends` that are not there yet.
    pub(super) fn add_paths(&mut self, cx: &mut Context<'_>, ends: &Ends) {
        for number in self.paths.len()..ends.paths() {
            let id = PathId(number as u8);
            let Some(mut path) = self.new_path(cx.now, id, ends) else { return };
            self.start_window(cx.now, id, path.room, ends);
            if self.states.state(id).is_none() {
                self.states.add();
            }
            let first = self.first_heartbeat(cx, id, &path);
            path.heartbeat = Heartbeat::Next(first);
            self.sender.record_window(cx, &path);
            self.paths.push(path);
        }
        self.list_live();
    }

    /// A path between the addresses that `ends` has for its number.
    pub(super) fn new_path(&self, now: Instant, id: PathId, ends: &Ends) -> Option<Path> {
        let pair = ends.pair_of(id)?;
        let in_udp = ends.udp_to(pair.remote).is_some();
        let room = room(pair.local.mtu, pair.remote, in_udp).saturating_sub(self.reserve);
        let mut path = Path::new(id, pair.remote, self.config.parameters.rto, room, now);
        (path.in_udp, path.interface) = (in_udp, pair.local.interface);
        Some(path)
    }

    /// Before an address is added: if paths have all numbers, its path may have that of a deleted
    /// one of which no data are left.
    pub(super) fn offer_numbers(&self, ends: &mut Ends) {
        let outstanding = &self.sender.outstanding;
        let is_vacant = |id: &PathId| {
            let bound = self.sender.binding().map_or(0, |binding| binding.bytes_of(*id));
            let left = outstanding.held_bytes_of(*id) + outstanding.kept_bytes_of(*id) + bound;
            self.states.is_deleted(*id) && left == 0 && !outstanding.has_marked_of(*id)
        };
        ends.set_vacant(self.paths.iter().map(|path| path.id).filter(is_vacant).collect());
    }

    /// CMT: paths that are not deleted share the buffers.
    pub(super) fn list_live(&mut self) {
        if let Some(cmt) = &mut self.sender.cmt {
            let ids = self.paths.iter().map(|path| path.id);
            cmt.live = ids.filter(|id| !self.states.is_deleted(*id)).collect();
        }
    }

    /// The window of a path begins, whose packets have `room` bytes for chunks.
    pub(super) fn start_window(&mut self, now: Instant, id: PathId, room: u32, ends: &Ends) {
        let Some(pair) = ends.pair_of(id) else { return };
        let window = self.config.initial_window(room, pair.local.mtu, pair.remote);
        let start = PathStart {
            now,
            mss: room,
            initial_window_bytes: self.config.shared_window(window, room, ends.live_paths()),
            initial_ssthresh_bytes: Some(self.sender.setup.peer_rwnd.into()),
            srtt: Duration::ZERO,
        };
        self.sender.control.on_path_added(id, &start);
    }

    /// A path that is not confirmed is probed at once, any other one when it was idle, unless its
    /// round trip is needed to predict arrivals.
    fn first_heartbeat(&mut self, cx: &Context<'_>, id: PathId, path: &Path) -> Instant {
        match self.states.is_confirmed(id) && self.sender.binding().is_none() {
            true => cx.now + self.heartbeat_period(cx.chance, path.rto.rto()),
            false => cx.now,
        }
    }

    /// Time between heartbeats of an idle path: HB.interval and an RTO with a random deviation of
    /// half of it (RFC 9260 s8.3).
    pub(super) fn heartbeat_period(&mut self, chance: Chance, rto: Duration) -> Duration {
        let rto = rto.as_nanos();
        let random = self.draw(chance) % rto.max(1);
        self.config.parameters.heartbeat_interval + Duration::from_nanos(rto / 2 + random)
    }

    /// The next random number of the association. Few ask for one: not inlined.
    #[inline(never)]
    pub(super) const fn draw(&mut self, chance: Chance) -> u64 {
        self.draws.count += 1;
        chance.bits(self.draws.key, Purpose::Association, self.draws.count)
    }

    /// A router says that a path takes no packets larger than `mtu`: chunks are cut smaller from
    /// now on. Those that were cut before are left to IP fragmentation (RFC 9260 s7.3).
    pub(super) fn lower_mtu(&mut self, id: PathId, mtu: u32, remote: IpAddr) {
        let least = if remote.is_ipv4() { 576 } else { 1280 };
        let Some(path) = self.paths.get_mut(id.index()) else { return };
        let room = room(mtu.max(least), remote, path.in_udp).saturating_sub(self.reserve);
        if room < path.room {
            path.room = room;
            self.sender.control.set_segment_size(id, room);
            self.cut_to_smallest();
        }
    }

    /// Packets to some addresses are carried in UDP from now on, or no longer: their paths have 8
    /// bytes less, or more (RFC 6951 s5.7).
    pub(super) fn on_encapsulation(&mut self, ends: &Ends) {
        for path in &mut self.paths {
            let Some(pair) = ends.pair_of(path.id) else { continue };
            let in_udp = ends.udp_to(pair.remote).is_some();
            if path.in_udp == in_udp {
                continue;
            }
            path.room = match in_udp {
                true => path.room.saturating_sub(UDP_HEADER),
                false => path.room + UDP_HEADER,
            };
            path.in_udp = in_udp;
            self.sender.control.set_segment_size(path.id, path.room);
        }
        self.cut_to_smallest();
    }

    /// Fragments fit the packets of every path.
    fn cut_to_smallest(&mut self) {
        let setup = &mut self.sender.setup;
        if let Some(room) = self.paths.iter().map(|path| path.room).min() {
            setup.fragment = fragment_size(room, setup.framing);
        }
    }

    /// The next chunk has the TSN `next`: everything is acknowledged (RFC 6525 s5.2.4).
    pub(super) fn renumber(&mut self, now: Instant, next: Tsn) {
        self.sender.renumber(next);
        for index in 0..self.paths.len() {
            self.paths[index].timed = None;
            self.leave_recovery(now, PathId(index as u8));
        }
    }

    /// The round trip of INIT and INIT ACK, on the first path (RFC 9260 s6.3.1).
    pub(super) fn on_handshake_rtt(&mut self, rtt: Duration) {
        if let Some(path) = self.paths.first_mut() {
            path.on_rtt(rtt);
        }
    }

    /// Retransmission time-out of a path.
    pub(super) fn rto(&self, path: PathId) -> Duration {
        let initial = self.config.parameters.rto.initial;
        self.paths.get(path.index()).map_or(initial, |path| path.rto.rto())
    }

    /// Entries of the gap structures of both sides that were visited since the last call.
    pub(super) const fn take_visited(&mut self) -> u64 {
        self.sender.gaps.take_visited() + self.receiver.take_visited()
    }

    /// When a timer expires next.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Instant {
        let mut deadline = self.receiver.deadline();
        for path in &self.paths {
            deadline = deadline.min(path.deadline());
        }
        let is_rare = self.sender.has_rare_timers() || self.stranded.is_some();
        if is_rare { deadline.min(self.rare_deadline()) } else { deadline }
    }

    /// When a timer that few associations have expires next.
    #[inline(never)]
    fn rare_deadline(&self) -> Instant {
        let streams = self.sender.next_expiry(|| self.states.data_path().is_some());
        let policy = self.sender.policy().filter(|_| !self.sender.is_empty());
        let stranded = self.stranded.map_or(Instant::FAR_FUTURE, |stranded| stranded.deadline);
        streams.min(stranded).min(policy.map_or(Instant::FAR_FUTURE, Eligibility::deadline))
    }
}

/// Bytes of a UDP header.
const UDP_HEADER: u32 = 8;

/// Bytes of chunks that fit one packet.
pub(super) const fn room(mtu: u32, remote: IpAddr, udp: bool) -> u32 {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    let udp = if udp { UDP_HEADER } else { 0 };
    mtu.saturating_sub(ip + udp + SctpPacket::HEADER) & !3
}

/// The largest fragment of user data whose chunk fits one packet.
const fn fragment_size(room: u32, framing: Framing) -> u32 {
    let header = match framing {
        Framing::Data => Data::HEADER,
        Framing::Interleaved => IData::HEADER,
    };
    let size = room.saturating_sub(header);
    if size == 0 { 1 } else { size }
}

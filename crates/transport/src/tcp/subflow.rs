//! `Subflow`: one TCP connection, made of parts: handshake, sender, loss recovery, receiver, timers
//! and state machine. A plain TCP socket owns one, a multi-path connection several.
//!
//! This file has the struct, its construction and its end. Arriving segments are handled in
//! `incoming`, segments to send are chosen and written in `transmit`, and the calls of the owner
//! are in `upper_layer`. The congestion controller belongs to the owner and is passed in.

mod incoming;
mod transmit;
mod upper_layer;

use super::config::TcpConfig;
use super::handshake::Handshake;
use super::loss::{LossRecovery, RecoveryContext, TimeoutOutcome};
use super::multipath::Multipath;
use super::profile::Switches;
use super::receiver::Receiver;
use super::round_trip::RoundTrip;
use super::sender::Sender;
use super::state::StateMachine;
use super::timers::{Retransmit, Timers};
use crate::congestion::Controller;
pub(crate) use crate::endpoint::Tuple;
use crate::endpoint::{Draws, NewPath};
use crate::info::TcpInfo;
use crate::socket::{ConnectionEvent, SocketError};
use base::{Context, Duration, Event, EventMask, Instant, PathId, Purpose, SocketId, prefetch};
use wire::{Ends, SeqNumber, TcpSegment};

/// Bytes of the timestamps option, padded.
const TIMESTAMPS: u32 = 12;
/// A SACK option without blocks, aligned, and one block, in bytes (RFC 2018 s3).
const SACK_BASE: u32 = 4;
const SACK_BLOCK: u32 = 8;
/// How long TIME-WAIT and FIN-WAIT-2 without a reader last (Linux TCP_TIMEWAIT_LEN).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// The options of a connection that do not depend on the profile.
#[derive(Clone, Copy, Debug)]
struct Options {
    nagle: bool,
    pacing: bool,
    notsent_lowat: Option<u32>,
}

/// A segment that is due besides data and acknowledgements; each is a bit of `Outbox`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// A reset.
    Reset = 1,
    /// A loss probe: a copy of the highest segment.
    ProbeCopy = 1 << 1,
    /// A loss probe: one new segment beyond the window.
    ProbeNew = 1 << 2,
    /// A probe of a closed window.
    WindowProbe = 1 << 3,
    /// A keep-alive segment, which makes the peer acknowledge (RFC 1122 s4.2.3.6).
    KeepAlive = 1 << 4,
    /// The acknowledgement as it was before the last segment.
    AckBefore = 1 << 5,
}

/// What is due, and whether the link is down. Whether there is anything of this is asked before
/// every segment, with one comparison.
#[derive(Clone, Copy, Debug)]
struct Outbox {
    due: u8,
    /// Where the newest SACK block was in `AckBefore`.
    sack_place: u8,
    /// Sequence number of the reset, if one is due.
    reset_with: SeqNumber,
}

impl Outbox {
    const EMPTY: Outbox = Outbox { due: 0, sack_place: 0, reset_with: SeqNumber(0) };
    /// The bit of `due` for a link that is down.
    const LINK_DOWN: u8 = 1 << 7;

    const fn is_empty(&self) -> bool {
        self.due == 0
    }

    const fn is_link_down(&self) -> bool {
        self.due & Outbox::LINK_DOWN != 0
    }

    const fn set_link_down(&mut self, down: bool) {
        self.due &= !Outbox::LINK_DOWN;
        if down {
            self.due |= Outbox::LINK_DOWN;
        }
    }

    /// Nothing is due any more.
    const fn clear(&mut self) {
        self.due &= Outbox::LINK_DOWN;
    }

    const fn has(&self, segment: Due) -> bool {
        self.due & segment as u8 != 0
    }

    const fn put(&mut self, segment: Due) {
        self.due |= segment as u8;
    }

    const fn put_reset(&mut self, seq: SeqNumber) {
        self.put(Due::Reset);
        self.reset_with = seq;
    }

    const fn put_ack_before(&mut self, sack_place: u8) {
        self.put(Due::AckBefore);
        self.sack_place = sack_place;
    }

    /// Whether the segment was due; it is not any more.
    const fn take(&mut self, segment: Due) -> bool {
        let was_due = self.has(segment);
        self.due &= !(segment as u8);
        was_due
    }
}

/// Totals of one subflow. Those of every packet come first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Counters {
    segs_in: u64,
    /// Of these those that came next and took the short way.
    segs_expected: u64,
    segs_out: u64,
    bytes_sent: u64,
    bytes_retrans: u64,
    segs_retrans: u64,
    spurious_retrans: u32,
    /// Segments that D-SACKs reported, duplicates of the network included.
    segs_duplicated: u32,
}

/// The socket that a subflow belongs to, and its number there: what events name it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlowId {
    pub socket: SocketId,
    pub path: PathId,
}

/// One TCP connection.
///
/// With thousands of connections a packet finds nothing of its own in a cache. Hence the order of
/// the fields here and in the parts: first what every packet needs, then what receiving needs, then
/// what sending needs, and last what few packets need.
#[derive(Debug)]
#[repr(C)]
pub struct Subflow {
    fsm: StateMachine,
    /// Only of a subflow of a multi-path connection.
    mp: Option<Box<Multipath>>,
    outbox: Outbox,
    id: FlowId,
    /// The application released the socket and will not read.
    orphaned: bool,
    timers: Timers,
    events: Vec<ConnectionEvent>,
    handshake: Handshake,
    rx: Receiver,
    /// Largest IP datagram of the interface, in bytes.
    mtu: u32,
    tx: Sender,
    initial_ssthresh_segs: Option<u32>,
    loss: LossRecovery,
    options: Options,
    switches: Switches,
    /// In a cache line with the last switches and the first counters, which every packet needs.
    envelope: Envelope,
    stats: Counters,
    rtt: RoundTrip,
    tuple: Tuple,
    /// Segments that are no progress are not answered until then.
    no_answer_before: Instant,
}

/// What the datagrams of a subflow have in common: both ends in the form of a packet, which takes
/// a quarter of the instructions of a segment to work out.
#[derive(Debug)]
struct Envelope {
    ends: Ends,
    src_port: u16,
    dst_port: u16,
    /// IP header, in bytes.
    ip: u32,
}

impl Envelope {
    fn new(Tuple { local, remote }: &Tuple) -> Self {
        Envelope {
            ends: Ends::new(local.ip(), remote.ip()),
            src_port: local.port(),
            dst_port: remote.port(),
            ip: if local.is_ipv4() { 20 } else { 40 },
        }
    }
}

/// What a new subflow is given: its owner, its ends, and the numbers that it begins with.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub socket: SocketId,
    pub path: PathId,
    pub tuple: Tuple,
    pub mtu: u32,
    pub iss: SeqNumber,
    pub ts_offset: u32,
}

impl Identity {
    /// The identity of the subflow of a new path, with a random initial sequence number and a
    /// random offset of its timestamps.
    pub fn draw(cx: &Context<'_>, draws: &mut Draws, path: &NewPath) -> Self {
        Identity {
            socket: path.socket,
            path: path.path,
            tuple: path.ends,
            mtu: path.mtu,
            iss: SeqNumber(draws.draw(cx, Purpose::InitialSequence) as u32),
            ts_offset: draws.draw(cx, Purpose::TimestampOffset) as u32,
        }
    }
}

impl Subflow {
    /// An active opener: its SYN is due.
    pub fn connect(identity: &Identity, config: &TcpConfig) -> Self {
        Subflow::new(identity, config, StateMachine::syn_sent(identity.socket), 0)
    }

    /// A passive opener that answers `syn`: its SYN/ACK is due.
    pub fn accept(now: Instant, identity: &Identity, config: &TcpConfig, syn: &TcpSegment) -> Self {
        let mut subflow = Subflow::passive(identity, config, syn);
        subflow.on_syn(now, syn);
        subflow
    }

    /// A passive opener of a multi-path connection.
    pub fn accept_multipath(
        now: Instant,
        identity: &Identity,
        config: &TcpConfig,
        syn: &TcpSegment,
        mp: Multipath,
    ) -> Self {
        let mut subflow = Subflow::passive(identity, config, syn);
        subflow.mp = Some(Box::new(mp));
        subflow.on_syn(now, syn);
        subflow
    }

    fn passive(identity: &Identity, config: &TcpConfig, syn: &TcpSegment) -> Self {
        let options = if syn.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let fsm = StateMachine::syn_received(identity.socket);
        Subflow::new(identity, config, fsm, options)
    }

    /// `options`: known number of option bytes in every segment of the peer. The first window is
    /// whole segments of the payload that they leave.
    fn new(identity: &Identity, config: &TcpConfig, fsm: StateMachine, options: u32) -> Self {
        let switches = config.profile.switches();
        let mss = mss_of(identity.mtu, &identity.tuple);
        let rx = Receiver::new(&config.buffers, mss - options, switches.receive_buffer);
        let shift = rx.window_scale();
        Subflow {
            fsm,
            mp: None,
            outbox: Outbox::EMPTY,
            id: FlowId { socket: identity.socket, path: identity.path },
            orphaned: false,
            timers: Timers::new(switches.timer_wheel),
            events: Vec::new(),
            handshake: Handshake::new(identity.iss, identity.ts_offset, shift),
            rx,
            tx: Sender::new(&config.buffers, mss - TIMESTAMPS),
            loss: LossRecovery::default(),
            rtt: RoundTrip::default(),
            stats: Counters::default(),
            mtu: identity.mtu,
            options: Options {
                nagle: config.nagle,
                pacing: config.pacing,
                notsent_lowat: config.notsent_lowat,
            },
            initial_ssthresh_segs: config.initial_ssthresh_segs,
            switches,
            envelope: Envelope::new(&identity.tuple),
            tuple: identity.tuple,
            no_answer_before: Instant::ZERO,
        }
    }

    /// Requests the memory that every packet needs.
    pub fn prefetch(&self) {
        prefetch(&self.timers);
        prefetch(&self.events);
        self.rx.prefetch();
        self.tx.prefetch();
        self.loss.prefetch();
        prefetch(&self.rtt);
        prefetch(&self.envelope);
    }

    /// Requests the memory that receiving needs besides, or sending if anything is outstanding.
    pub fn prefetch_more(&self) {
        if self.is_idle() {
            self.rx.prefetch_more();
            return;
        }
        self.tx.prefetch_more();
        self.loss.prefetch_more();
        prefetch(&self.options);
        self.rtt.prefetch_more();
    }

    /// Requests the memory that the fields refer to which sending needs.
    pub fn prefetch_last(&self) {
        self.tx.prefetch_last();
        self.loss.board().prefetch();
    }

    /// Whether nothing is outstanding: it probably receives.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.loss.is_idle()
    }

    /// Both ends.
    pub const fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    /// Whether nothing more will happen.
    pub fn is_closed(&self) -> bool {
        self.fsm.is_closed() && !self.outbox.has(Due::Reset)
    }

    /// Whether `syn` may begin a new connection in place of this one, which is in TIME-WAIT: its
    /// timestamp or sequence number is beyond those used (RFC 9293 s3.6.1, RFC 6191).
    pub fn may_be_reopened(&self, syn: &TcpSegment) -> bool {
        if !self.fsm.is_time_wait() {
            return false;
        }
        syn.options.timestamps.is_some_and(|stamps| self.rx.is_newer_timestamp(stamps.value))
            || syn.seq > self.handshake.peer_seq_of(self.rx.nxt())
    }

    /// The MSS option of our SYN.
    fn advertised_mss(&self) -> u16 {
        u16::try_from(mss_of(self.mtu, &self.tuple)).unwrap_or(u16::MAX)
    }

    /// Segments in the network.
    fn inflight(&self) -> u32 {
        self.loss.inflight()
    }

    /// Loss recovery, and what it needs of the rest to handle one event.
    #[inline]
    fn recovery<'a, 'b>(
        &'a mut self,
        cx: &'a mut Context<'b>,
        cc: &'a mut Controller,
    ) -> (&'a mut LossRecovery, RecoveryContext<'a, 'b>) {
        let rcx = RecoveryContext {
            cx,
            cc,
            timers: &mut self.timers,
            rtt: &mut self.rtt,
            sender: &self.tx,
            handshake: &self.handshake,
            switches: &self.switches.recovery,
            id: self.id,
        };
        (&mut self.loss, rcx)
    }

    /// The earliest deadline.
    pub fn deadline(&self) -> Instant {
        self.timers.next()
    }

    /// The earliest deadline if it is before `at`, else any time that is not.
    #[inline]
    pub fn deadline_before(&mut self, at: Instant) -> Instant {
        self.timers.next_before(at)
    }

    /// Runs every timer that is due.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if let Some(kind) = self.timers.take_due_retransmit(cx.now) {
            let FlowId { socket, path } = self.id;
            cx.record(EventMask::TIMER, || Event::TimerFired { socket, path, timer: kind.name() });
            match kind {
                Retransmit::Handshake => self.on_handshake_timeout(cx),
                Retransmit::Rto => self.on_rto(cx, cc),
                Retransmit::LossProbe => self.on_probe_timeout(cx, cc),
                Retransmit::Reordering => {
                    let (loss, mut rcx) = self.recovery(cx, cc);
                    loss.on_reordering_timeout(&mut rcx);
                }
                Retransmit::Persist => self.on_persist(cx),
            }
        }
        if self.timers.take_due_delayed_ack(cx.now) {
            self.rx.ack.on_delayed_ack_timeout();
        }
        if self.timers.take_due_compressed_ack(cx.now) {
            self.rx.ack.now();
        }
        // New data need only the attempt to send that follows.
        if self.timers.take_due_pacing(cx.now) {
            self.resume_retransmission();
        }
        if self.timers.take_due_close(cx.now) {
            self.fsm.close(cx);
            self.events.push(ConnectionEvent::Closed);
        }
    }

    fn on_handshake_timeout(&mut self, cx: &mut Context<'_>) {
        let linear = self.switches.linear_syn_retries;
        let linear = (!self.fsm.is_syn_received()).then_some(linear);
        if !self.handshake.on_timeout(linear) {
            self.fail(cx, SocketError::TimedOut);
        }
    }

    fn on_rto(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        let (loss, mut rcx) = self.recovery(cx, cc);
        match loss.on_rto(&mut rcx) {
            TimeoutOutcome::Nothing => {}
            TimeoutOutcome::GiveUp => self.fail(cx, SocketError::TimedOut),
            TimeoutOutcome::Retransmit => {
                self.tx.validation.restart_clock(cx.now);
                if let Some(mp) = self.mp.as_mut() {
                    mp.on_timeout();
                }
            }
        }
    }

    /// One new segment may exceed the congestion window; otherwise the highest one is sent again.
    fn on_probe_timeout(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        let (loss, mut rcx) = self.recovery(cx, cc);
        if !loss.on_probe_timeout(&mut rcx) {
            return;
        }
        if self.tx.unsent() > 0 && self.tx.window_left() >= self.next_len() {
            self.outbox.put(Due::ProbeNew);
        } else {
            self.outbox.put(Due::ProbeCopy);
        }
        if let Some(mp) = self.mp.as_mut() {
            mp.on_loss_probe();
        }
    }

    /// The window of the peer may have opened and the update been lost (RFC 9293 s3.8.6.1).
    fn on_persist(&mut self, cx: &mut Context<'_>) {
        if !self.tx.has_unsent() || !self.loss.is_idle() {
            return;
        }
        if !self.tx.window.may_probe() {
            self.fail(cx, SocketError::TimedOut);
            return;
        }
        self.outbox.put(Due::WindowProbe);
        self.rtt.back_off();
        self.timers.set_retransmit(Retransmit::Persist, cx.now, self.rtt.rto());
    }

    /// Starts probing if data wait, nothing is in flight and the peer's window is closed.
    fn check_persist(&mut self, cx: &Context<'_>) {
        let idle = self.loss.is_idle() && self.timers.retransmit().is_none();
        if idle && self.tx.has_unsent() && self.fsm.is_synchronised() {
            self.timers.set_retransmit(Retransmit::Persist, cx.now, self.rtt.rto());
        }
    }

    /// Stops every timer and everything that is due.
    fn stop(&mut self) {
        self.timers.stop_all();
        self.handshake.stop();
        self.outbox.clear();
    }

    /// The connection failed.
    fn fail(&mut self, cx: &mut Context<'_>, error: SocketError) {
        self.stop();
        self.fsm.close(cx);
        self.events.push(ConnectionEvent::Failed(error));
    }

    /// A valid RST arrived. Where both sides have closed their directions it is no failure, only
    /// the end (RFC 9293 s3.10.7.4): a late segment that reaches a closed peer causes one.
    fn reset_by_peer(&mut self, cx: &mut Context<'_>) {
        if self.fsm.has_both_ends_closing() {
            self.timers.stop_all();
            self.outbox.clear();
            self.fsm.close(cx);
            self.events.push(ConnectionEvent::Closed);
        } else {
            self.fail(cx, SocketError::Reset);
        }
    }

    /// A valid RST came, from the peer or from a middlebox.
    pub fn handle_reset(&mut self, cx: &mut Context<'_>) {
        if !self.fsm.is_closed() && !self.fsm.is_time_wait() {
            self.reset_by_peer(cx);
        }
    }

    /// The application released the socket. Without a reader FIN-WAIT-2 lasts a minute from now;
    /// with one it lasts as long as the peer sends.
    pub fn on_released(&mut self, cx: &Context<'_>) {
        if !std::mem::replace(&mut self.orphaned, true) && self.fsm.is_fin_wait_2() {
            self.limit_fin_wait_2(cx);
        }
    }

    /// A hard ICMP error about this subflow (RFC 9293 s3.9.2.2: fatal only while connecting), which
    /// must quote the SYN or nothing of it (RFC 5927 s4.1; Linux `tcp_v4_err`).
    pub fn on_unreachable(&mut self, cx: &mut Context<'_>, quoted: Option<SeqNumber>) {
        let first = self.handshake.first_seq();
        let is_sent = |seq: SeqNumber| (-1..=0).contains(&seq.to_offset(first, 0));
        if self.fsm.is_syn_sent() && quoted.is_none_or(is_sent) {
            self.fail(cx, SocketError::Unreachable);
        }
    }

    /// Resets the connection.
    pub fn abort(&mut self, cx: &mut Context<'_>) {
        let reset = self.fsm.is_synchronised() || self.fsm.is_syn_received();
        let next = self.handshake.seq_of(self.tx.nxt());
        let was_time_wait = self.fsm.is_time_wait();
        self.stop();
        self.fsm.close(cx);
        if reset && !was_time_wait {
            self.outbox.put_reset(next);
        }
    }

    fn enter_time_wait(&mut self, cx: &Context<'_>) {
        self.timers.stop_retransmit();
        self.timers.set_close(cx.now, TIME_WAIT);
    }

    fn limit_fin_wait_2(&mut self, cx: &Context<'_>) {
        self.timers.set_close(cx.now, TIME_WAIT);
    }

    /// Events for the owner, in order.
    pub fn take_events(&mut self) -> Vec<ConnectionEvent> {
        std::mem::take(&mut self.events)
    }

    /// The same, to the end of `events`.
    pub fn move_events(&mut self, events: &mut Vec<ConnectionEvent>) {
        events.append(&mut self.events);
    }

    /// Takes the event that data can be read, if it is the only one.
    #[inline]
    pub fn take_readable(&mut self) -> bool {
        let only = matches!(self.events[..], [ConnectionEvent::Readable]);
        if only {
            self.events.clear();
        }
        only
    }

    /// Whether there are events for the owner.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The state for measurement.
    pub fn info(&self, cc: &Controller) -> TcpInfo {
        let started = self.fsm.is_synchronised();
        let path = self.id.path;
        TcpInfo {
            state: self.fsm.name(),
            ca_state: self.loss.ca_state(),
            cwnd_segs: if started { cc.cwnd_segs(path) } else { 0 },
            ssthresh_segs: if started { cc.ssthresh_segs(path) } else { None },
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.estimator().rttvar(),
            min_rtt: self.rtt.min(),
            rto: self.rtt.rto(),
            mss: self.tx.mss(),
            bytes_sent: self.stats.bytes_sent,
            bytes_retrans: self.stats.bytes_retrans,
            bytes_acked: self.tx.una(),
            segs_in: self.stats.segs_in,
            segs_expected: self.stats.segs_expected,
            segs_out: self.stats.segs_out,
            segs_retrans: self.stats.segs_retrans,
            spurious_retrans: self.stats.spurious_retrans.into(),
            snd_wnd: self.tx.window.size(),
            rcv_wnd: u64::from(self.rx.announced_window()),
            receive_buffer: self.rx.buffer_size(),
        }
    }
}

/// Header bytes of that many SACK blocks.
#[inline]
const fn sack_bytes(blocks: u32) -> u32 {
    if blocks == 0 { 0 } else { SACK_BASE + SACK_BLOCK * blocks }
}

/// The largest segment of an interface, options included: MTU less IP and TCP headers.
fn mss_of(mtu: u32, tuple: &Tuple) -> u32 {
    let headers = if tuple.local.is_ipv4() { 40 } else { 60 };
    mtu.saturating_sub(headers).clamp(64, 65_495)
}

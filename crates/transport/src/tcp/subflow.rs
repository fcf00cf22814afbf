//! `Subflow`: one TCP connection's machinery, made of parts: handshake, send side, receive side,
//! loss recovery, timers. A plain TCP socket owns one; a multi-path connection will own several.
//!
//! This file has the struct, its face towards `connection`, and what several parts share. The
//! congestion controller belongs to the connection and is passed in (rule 5 of the house).

use super::config::TcpConfig;
use super::handshake::Handshake;
use super::loss::LossState;
use super::multipath::Multipath;
use super::profile::Switches;
use super::receiver::Receiver;
use super::sender::Sender;
use super::state::StateMachine;
use super::timers::{Retransmit, Timers};
use crate::congestion::{CongestionControl, Controller};
pub use crate::endpoint::Tuple;
use crate::endpoint::{Draws, NewPath};
use crate::info::TcpInfo;
use crate::recovery::{MinRttFilter, RttEstimator, RttMode};
use crate::socket::{ConnectionEvent, SocketError};
use base::{Blocked, Context, Duration, Event, EventMask, Instant, PathId, Purpose, SocketId};
use wire::{SeqNumber, TcpSegment};

/// The switches of a connection that are not a profile's.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub nagle: bool,
    pub pacing: bool,
    pub notsent_lowat: Option<u32>,
    pub initial_ssthresh_segs: Option<u32>,
}

/// Segments that are due besides data and its acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outbox {
    /// A reset with this sequence number.
    pub reset_with: Option<SeqNumber>,
    /// A loss probe: a copy of the highest segment.
    pub probe_copy: bool,
    /// A loss probe: one new segment beyond the window.
    pub probe_new: bool,
    /// A probe of a closed window.
    pub window_probe: bool,
    /// Ask the peer for an acknowledgement, whatever waits to be sent.
    pub keep_alive: bool,
}

/// Totals of one subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub segs_out: u64,
    pub segs_retrans: u64,
    pub spurious_retrans: u64,
}

/// One TCP connection.
///
/// Among thousands of connections a packet finds nothing of its own in a cache. Hence the order
/// here and in the parts: what every packet needs, what receiving needs, what sending needs, and
/// last what few need.
#[derive(Debug)]
#[repr(C)]
pub struct Subflow {
    pub(super) fsm: StateMachine,
    /// Only of a subflow of a multi-path connection.
    pub(super) mp: Option<Box<Multipath>>,
    pub(super) outbox: Outbox,
    pub(super) path: PathId,
    /// The application let go of it: nobody will read.
    pub(super) orphaned: bool,
    pub(super) socket: SocketId,
    pub(super) timers: Timers,
    pub(super) news: Vec<ConnectionEvent>,
    pub(super) hs: Handshake,
    pub(super) rx: Receiver,
    pub(super) tx: Sender,
    pub(super) loss: LossState,
    pub(super) rtt: RttEstimator,
    pub(super) min_rtt: MinRttFilter,
    pub(super) stats: Counters,
    /// Largest IP datagram of the interface, in bytes.
    pub(super) mtu: u32,
    pub(super) options: Options,
    pub(super) switches: Switches,
    pub(super) tuple: Tuple,
}

/// Bytes of the timestamps option, padded.
const TIMESTAMPS: u32 = 12;

/// Who and where a subflow is.
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
        subflow.learn_from_syn(now, syn);
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
        subflow.learn_from_syn(now, syn);
        subflow
    }

    fn passive(identity: &Identity, config: &TcpConfig, syn: &TcpSegment) -> Self {
        let options = if syn.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let fsm = StateMachine::syn_received(identity.socket);
        Subflow::new(identity, config, fsm, options)
    }

    /// `options`: bytes of options on every segment of the peer, as far as known by now: the first
    /// window is whole segments of what they leave.
    fn new(identity: &Identity, config: &TcpConfig, fsm: StateMachine, options: u32) -> Self {
        let switches = config.profile.switches();
        let mss = mss_of(identity.mtu, &identity.tuple);
        let rx = Receiver::new(&config.buffers, mss - options);
        let shift = rx.buffer.window_scale();
        Subflow {
            socket: identity.socket,
            path: identity.path,
            tuple: identity.tuple,
            mtu: identity.mtu,
            fsm,
            orphaned: false,
            switches,
            options: Options {
                nagle: config.nagle,
                pacing: config.pacing,
                notsent_lowat: config.notsent_lowat,
                initial_ssthresh_segs: config.initial_ssthresh_segs,
            },
            hs: Handshake::new(identity.iss, identity.ts_offset, shift),
            tx: Sender::new(&config.buffers, mss - TIMESTAMPS),
            rx,
            loss: LossState::default(),
            rtt: RttEstimator::new(RttMode::Linux),
            min_rtt: MinRttFilter::default(),
            timers: Timers::new(switches.tick),
            outbox: Outbox::default(),
            news: Vec::new(),
            mp: None,
            stats: Counters::default(),
        }
    }

    /// Both ends.
    pub const fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    /// Nothing more will happen.
    pub fn is_closed(&self) -> bool {
        self.fsm.is_closed() && self.outbox.reset_with.is_none()
    }

    /// Whether `syn` may begin a new connection in place of this one, which is in TIME-WAIT: its
    /// timestamp or sequence number is beyond what was used (RFC 9293 s3.6.1, RFC 6191).
    pub fn may_be_reopened(&self, syn: &TcpSegment) -> bool {
        if !self.fsm.is_time_wait() {
            return false;
        }
        let newer = |stamp: u32| (stamp.wrapping_sub(self.rx.ts_recent) as i32) > 0;
        syn.options.timestamps.is_some_and(|stamps| newer(stamps.value))
            || syn.seq > SeqNumber::from_offset(self.hs.irs + 1, self.rx.nxt())
    }

    /// The MSS option that we send.
    pub(super) fn advertised_mss(&self) -> u16 {
        u16::try_from(mss_of(self.mtu, &self.tuple)).unwrap_or(u16::MAX)
    }

    /// The earliest deadline.
    pub fn deadline(&self) -> Instant {
        self.timers.next()
    }

    /// Run every timer that is due.
    pub fn on_timeout(&mut self, cx: &mut Context<'_>, cc: &mut Controller) {
        if let Some(kind) = self.timers.take_due_retransmit(cx.now) {
            let (socket, path) = (self.socket, self.path);
            cx.record(EventMask::TIMER, || Event::TimerFired { socket, path, timer: kind.name() });
            match kind {
                Retransmit::Handshake => self.on_handshake_timeout(cx),
                Retransmit::Rto => self.on_rto(cx, cc),
                Retransmit::LossProbe => self.on_loss_probe(cx),
                Retransmit::Reordering => self.on_reordering_timeout(cx, cc),
                Retransmit::Persist => self.on_persist(cx),
            }
        }
        if self.timers.take_due_delayed_ack(cx.now) {
            self.rx.ack.on_delayed_ack_timeout();
        }
        if self.timers.take_due_compressed_ack(cx.now) {
            self.rx.ack.now();
        }
        // Pacing needs no more than the attempt to send that follows.
        self.timers.take_due_pacing(cx.now);
        if self.timers.take_due_close(cx.now) {
            self.fsm.close(cx);
            self.news.push(ConnectionEvent::Closed);
        }
    }

    /// The connection failed: tell, and stop everything.
    pub(super) fn fail(&mut self, cx: &mut Context<'_>, error: SocketError) {
        self.timers.stop_all();
        self.hs.due = false;
        self.outbox = Outbox::default();
        self.fsm.close(cx);
        self.news.push(ConnectionEvent::Failed(error));
    }

    /// A valid RST came. Where both sides have said that they are done it is no failure, only the
    /// end (RFC 9293 s3.10.7.4); a late segment that met a closed peer causes such ones.
    pub(super) fn reset_by_peer(&mut self, cx: &mut Context<'_>) {
        if self.fsm.has_both_ends_closing() {
            self.timers.stop_all();
            self.outbox = Outbox::default();
            self.fsm.close(cx);
            self.news.push(ConnectionEvent::Closed);
        } else {
            self.fail(cx, SocketError::Reset);
        }
    }

    /// A valid RST came, whoever sent it.
    pub fn handle_reset(&mut self, cx: &mut Context<'_>) {
        if !self.fsm.is_closed() && !self.fsm.is_time_wait() {
            self.reset_by_peer(cx);
        }
    }

    /// The application let go of the connection. One in FIN-WAIT-2 lasts no longer than a minute
    /// from now; with a reader it may last as long as the peer sends.
    pub fn on_released(&mut self, cx: &Context<'_>) {
        if !std::mem::replace(&mut self.orphaned, true) && self.fsm.is_fin_wait_2() {
            self.bound_fin_wait_2(cx);
        }
    }

    /// A hard ICMP error about this subflow (RFC 9293 s3.9.2.2: fatal only while connecting).
    pub fn on_unreachable(&mut self, cx: &mut Context<'_>, error: SocketError) {
        if self.fsm.is_syn_sent() {
            self.fail(cx, error);
        }
    }

    /// Reset the connection at once.
    pub fn abort(&mut self, cx: &mut Context<'_>) {
        let reset = self.fsm.is_synchronised() || self.fsm.is_syn_received();
        let next = SeqNumber::from_offset(self.hs.iss + 1, self.tx.nxt);
        self.timers.stop_all();
        self.hs.due = false;
        let was_time_wait = self.fsm.is_time_wait();
        self.fsm.close(cx);
        self.outbox = Outbox::default();
        if reset && !was_time_wait {
            self.outbox.reset_with = Some(next);
        }
    }

    /// News for the owner, in order.
    pub fn take_events(&mut self) -> Vec<ConnectionEvent> {
        std::mem::take(&mut self.news)
    }

    /// Whether there is news.
    pub fn has_events(&self) -> bool {
        !self.news.is_empty()
    }

    pub(super) fn record_rtt(&self, cx: &mut Context<'_>, sample: Duration) {
        cx.record(EventMask::WINDOW, || Event::RttSample {
            socket: self.socket,
            path: self.path,
            sample,
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rtt.rto(),
        });
    }

    pub(super) fn record_window(&self, cx: &mut Context<'_>, cc: &Controller) {
        cx.record(EventMask::WINDOW, || Event::WindowChange {
            socket: self.socket,
            path: self.path,
            cwnd_bytes: cc.cwnd_bytes(self.path),
            ssthresh_bytes: cc.ssthresh_bytes(self.path),
            inflight_segs: self.inflight(),
            state: self.loss.ca_state,
        });
    }

    /// Why it sends nothing more, asked when it does not.
    pub fn blocked_reason(&self) -> Blocked {
        if !self.fsm.is_synchronised() {
            Blocked::Opening
        } else if self.tx.has_unsent() {
            self.tx.stopped
        } else if self.tx.writer_waits {
            Blocked::SendBuffer
        } else {
            Blocked::NothingToSend
        }
    }

    /// The state for measurement.
    pub fn info(&self, cc: &Controller) -> TcpInfo {
        let started = self.fsm.is_synchronised();
        TcpInfo {
            state: self.fsm.name(),
            ca_state: self.loss.ca_state,
            cwnd_segs: if started { cc.cwnd_segs(self.path) } else { 0 },
            ssthresh_segs: if started { cc.ssthresh_segs(self.path) } else { None },
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.min_rtt.get(),
            rto: self.rtt.rto(),
            mss: self.tx.mss,
            bytes_sent: self.stats.bytes_sent,
            bytes_retrans: self.stats.bytes_retrans,
            bytes_acked: self.tx.una,
            segs_out: self.stats.segs_out,
            segs_retrans: self.stats.segs_retrans,
            spurious_retrans: self.stats.spurious_retrans,
            snd_wnd: self.tx.window,
            rcv_wnd: u64::from(self.rx.announced_window),
            send_buffer: self.tx.tuning.size(),
            receive_buffer: self.rx.buffer.size(),
        }
    }
}

/// The largest segment of an interface, options included: MTU less IP and TCP headers.
fn mss_of(mtu: u32, tuple: &Tuple) -> u32 {
    let headers = if tuple.local.is_ipv4() { 40 } else { 60 };
    mtu.saturating_sub(headers).clamp(64, 65_495)
}

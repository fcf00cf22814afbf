//! `Connection`: an MPTCP socket: its subflows, both halves of the data sequence space, its
//! controller, scheduler and path manager, and the application's side.

use super::addresses::Addresses;
use super::config::MptcpConfig;
use super::deadlines::Deadlines;
use super::fallback::Fallback;
use super::keys::Keys;
use super::lifecycle::Lifecycle;
use super::management::PathManagement;
use super::numbers::SendNumbers;
use super::paths::SubflowRules;
use super::receive::DataReceive;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use super::subflows::Subflows;
use crate::account::Account;
use crate::buffer::{FRAGMENT_BYTES, FRAGMENT_OVERHEAD};
use crate::congestion::{CongestionControl, Controller};
use crate::info::{ConnectionInfo, PathInfo, Protocol};
use crate::multipath::{Sender, SenderConfig};
use crate::scheduler;
use crate::socket::{ConnectionEvent, SocketError, SocketMarks};
use crate::tcp::profile::ConnectionBuffer;
use base::{Context, Event, EventMask, Instant, InterfaceId, PathId, SocketId};
use std::net::{IpAddr, SocketAddr};
use wire::Payload;
use wire::mptcp::{Key, Token};

/// What the send buffer of a connection has beside those of its subflows (Linux: the smallest
/// buffer, `tcp_wmem[0]`).
const LEAST_BUFFER: u32 = 4096;

/// An MPTCP socket.
pub struct Connection {
    pub(super) socket: SocketId,
    pub(super) config: MptcpConfig,
    pub(super) keys: Keys,
    pub(super) fallback: Fallback,
    pub(super) lifecycle: Lifecycle,
    pub(super) subflows: Subflows,
    pub(super) sender: Sender,
    pub(super) numbers: SendNumbers,
    pub(super) rules: SubflowRules,
    connection_buffer: ConnectionBuffer,
    /// As the configuration has it.
    pub(super) mainline_limits: bool,
    pub(super) receive: DataReceive,
    pub(super) controller: Controller,
    pub(super) account: Account,
    pub(super) management: PathManagement,
    /// When the peer's connection was last heard from.
    pub(super) peer_heard_at: Instant,
    pub(super) deadlines: Deadlines,
    /// Options, mappings and joins refused.
    pub(super) refused: u64,
    /// The stack's notes.
    pub marks: SocketMarks,
}

/// What a connection begins with.
pub struct Start<'a> {
    pub socket: SocketId,
    pub config: &'a MptcpConfig,
    pub client: bool,
    pub key: Key,
    pub local: IpAddr,
    pub remote: SocketAddr,
    /// All addresses of this host.
    pub host: &'a [(IpAddr, InterfaceId)],
    pub listener: Option<SocketId>,
}

impl Connection {
    /// Without a subflow yet.
    pub(super) fn new(start: &Start<'_>, receive: DataReceive) -> Connection {
        let config = start.config.clone();
        let options = scheduler::Options {
            kernel_compat: config.tcp.profile.is_old(),
            ..scheduler::Options::default()
        };
        let scheduler = match &config.custom_scheduler {
            Some(custom) => custom.make(),
            None => config.scheduler.make(&options),
        };
        let switches = config.tcp.profile.switches();
        let host = start.host;
        let addresses = Addresses::new(start.local, start.remote, host, &config.backup);
        let idsn = match config.test_idsn {
            Some(by_role) => by_role[usize::from(!start.client)],
            None => start.key.idsn(),
        };
        let rules = SubflowRules::new(&switches, config.mainline_limits);
        let sender = Sender::new(SenderConfig {
            socket: start.socket,
            scheduler,
            policy: config.policy.make(),
            failover: config.failover,
            one_at_a_time: rules.one_at_a_time,
        });
        Connection {
            socket: start.socket,
            keys: Keys::new(start.client, start.key, config.checksum),
            fallback: Fallback::default(),
            lifecycle: Lifecycle::default(),
            subflows: Subflows::default(),
            sender,
            numbers: SendNumbers::new(idsn),
            rules,
            connection_buffer: switches.multipath.connection_buffer,
            mainline_limits: config.mainline_limits,
            receive,
            controller: config.tcp.new_controller(),
            account: Account::default(),
            management: PathManagement::new(&config, start.client, addresses),
            peer_heard_at: Instant::ZERO,
            deadlines: Deadlines::default(),
            refused: 0,
            marks: SocketMarks::new(start.listener),
            config,
        }
    }

    /// What joins name this connection by.
    pub fn token(&self) -> Token {
        self.keys.token()
    }

    /// Append to the stream; how many bytes were taken.
    pub fn write(&mut self, _cx: &mut Context<'_>, payload: &Payload) -> Result<u32, SocketError> {
        if self.numbers.is_fin_queued() || self.lifecycle.is_closed() {
            return Err(SocketError::Closed);
        }
        if self.subflows.first().is_none_or(|entry| entry.stage() == Stage::Opening) {
            return Err(SocketError::NotConnected);
        }
        let len = payload.len();
        let limit = self.send_limit();
        let mut taken = 0;
        while taken < len && self.send_memory() < limit {
            let step = (len - taken).min(FRAGMENT_BYTES);
            self.sender.queue.write(payload.slice(taken, step));
            taken += step;
        }
        if taken < len {
            self.set_writer_waits(true);
        }
        self.sender.set_due();
        if self.is_plain() {
            self.push_plain();
        }
        Ok(taken)
    }

    /// Memory of what is buffered for sending, in bytes.
    fn send_memory(&self) -> u32 {
        let bytes = u32::try_from(self.sender.queue.buffered()).unwrap_or(u32::MAX);
        bytes.saturating_add(bytes.div_ceil(FRAGMENT_BYTES) * FRAGMENT_OVERHEAD)
    }

    /// Size of the send buffer: fixed, or the sum of what the subflows' auto-tuning gives
    /// (Linux; specs/linux-kernel-behaviour.md "Buffers").
    fn send_limit(&mut self) -> u32 {
        let buffers = self.config.tcp.buffers;
        if !buffers.auto_tuning {
            return buffers.send_max;
        }
        let sum = |subflows: &Subflows| {
            let open = subflows.iter().filter(|entry| entry.stage() == Stage::Open);
            open.fold(0, |sum: u32, entry| sum.saturating_add(entry.tcp.send_buffer()))
        };
        match self.connection_buffer {
            ConnectionBuffer::Sum => sum(&self.subflows).saturating_add(LEAST_BUFFER),
            ConnectionBuffer::Capped => {
                for entry in self.subflows.iter_mut().filter(|entry| entry.stage() == Stage::Open) {
                    entry.tcp.grow_send_buffer(&self.controller);
                }
                sum(&self.subflows).min(buffers.send_max)
            }
        }
    }

    /// The want of its writer is that of every subflow: their buffers grow by it.
    pub(super) fn set_writer_waits(&mut self, waits: bool) {
        self.sender.queue.set_writer_waits(waits);
        for entry in &mut self.subflows {
            entry.tcp.set_writer_waiting(waits);
        }
    }

    /// Acknowledgements freed space: wake a writer that waits.
    pub(super) fn check_writer(&mut self) {
        if !self.sender.queue.writer_waits() {
            return;
        }
        let limit = self.send_limit();
        let used = self.send_memory();
        if limit.saturating_sub(used) >= used / 2 {
            self.set_writer_waits(false);
            self.lifecycle.push(ConnectionEvent::Writable);
        }
    }

    /// The connection is TCP, over or failed: it opens and schedules nothing.
    pub(super) const fn is_over(&self) -> bool {
        self.fallback.is_plain() || self.lifecycle.is_closed()
    }

    /// Take the next bytes in order.
    pub fn read(&mut self, cx: &mut Context<'_>, max: u32) -> Result<Payload, SocketError> {
        let (offset, payload) = self.receive.read(max);
        let len = payload.len();
        if len == 0 {
            let ended = self.receive.is_fin_received() || self.lifecycle.is_closed();
            return if ended { Err(SocketError::Closed) } else { Ok(payload) };
        }
        let socket = self.socket;
        cx.record(EventMask::DELIVERY, || Event::Delivered { socket, offset, len });
        self.receive.on_read(cx.now, len, &mut self.subflows);
        Ok(payload)
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receive.readable()
    }

    /// News for the application.
    pub fn take_news(&mut self) -> Vec<ConnectionEvent> {
        self.lifecycle.take_events()
    }

    /// Whether there is news.
    pub fn has_news(&self) -> bool {
        self.lifecycle.has_events()
    }

    /// Something waits to be sent.
    pub fn has_to_poll(&self) -> bool {
        !self.subflows.is_queue_empty()
    }

    /// The application let go of the socket.
    pub fn on_released(&mut self, cx: &mut Context<'_>) {
        self.lifecycle.release();
        for entry in &mut self.subflows {
            entry.tcp.on_released(cx);
        }
        self.bound_linger(cx.now);
    }

    /// Whether subflow `index` is over, so that its ends may be used again.
    pub fn is_subflow_closed(&self, index: usize) -> bool {
        self.subflows.get(index).is_none_or(|entry| entry.tcp.is_closed())
    }

    /// Nothing more will happen, resets to be sent included.
    pub fn is_closed(&self) -> bool {
        self.lifecycle.is_closed()
            && self.subflows.iter().all(|entry| entry.tcp.is_closed())
            && self.subflows.is_queue_empty()
    }

    /// Both ends of every subflow with its number.
    pub fn subflows(&self) -> impl Iterator<Item = (u8, &crate::tcp::subflow::Tuple)> {
        self.subflows.iter().map(|entry| (entry.path.0, entry.tcp.tuple()))
    }

    /// The interfaces that the packets of all subflows leave on, in order.
    pub fn interfaces(&self) -> impl Iterator<Item = InterfaceId> {
        self.subflows.iter().map(|entry| entry.interface)
    }

    /// The ends of the subflow whose number `path` is taken by a new one.
    pub fn ends_replaced_by(&self, path: PathId) -> Option<crate::tcp::subflow::Tuple> {
        self.subflows.get(path.index()).map(|entry| *entry.tcp.tuple())
    }

    /// A subflow ended: its data go elsewhere.
    pub(super) fn lose_subflow(&mut self, cx: &mut Context<'_>, index: usize) {
        if !self.subflows.on_gone(index) {
            return;
        }
        let path = self.subflows[index].path;
        self.controller.on_path_removed(path);
        let (sender, paths) = self.parts();
        sender.on_path_removed(cx.now, &paths, path);
        self.resolve_join(cx);
    }

    fn path_infos(&self) -> Vec<PathInfo> {
        let info = |entry: &SubflowEntry| {
            let sent = self.sender.account(entry.path);
            let probing = self.sender.is_probing(entry.path);
            PathInfo { probing, ..entry.info(&self.controller, sent) }
        };
        self.subflows.iter().map(info).collect()
    }

    /// The state, for measurement.
    pub fn info(&self) -> ConnectionInfo {
        let queue = &self.sender.queue;
        ConnectionInfo {
            protocol: Protocol::Mptcp,
            paths: self.path_infos(),
            retired: self.subflows.retired().to_vec(),
            fallback: self.is_plain(),
            snd_una: self.numbers.una(queue.una()),
            snd_nxt: queue.nxt(),
            rcv_nxt: self.receive.nxt(),
            reinjected_bytes: queue.reinjected_bytes(),
            probe_bytes: queue.probe_bytes(),
            duplicate_bytes: self.receive.duplicate_bytes(),
            refused: self.refused,
            held_bytes: self.subflows.held() + self.receive.held(),
            mappings: self.subflows.iter().map(|entry| entry.received.len() as u32).sum(),
        }
    }
}

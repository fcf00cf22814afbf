//! A world in virtual time: hosts, links, and the loop over their events.
//!
//! Events happen in the order of (time, insertion number). Deterministic: nothing here reads a
//! clock, and random draws are keyed hashes. Building the world of a run is left to `simulate`.

use crate::accounts::Accounts;
use crate::ahead::Ahead;
use crate::capture::Capture;
use crate::event_queue::Target;
use crate::fabric::{Fabric, Fault, FirstHop};
use crate::failover::Gaps;
use crate::host::{Endpoint, Host, HostCounters};
use crate::processor::ProcessingCost;
use crate::proxy::Proxy;
use crate::result_hash::ResultHash;
use base::{
    Chance, Context, Event, EventMask, HostId, Instant, InterfaceId, LinkId, Recorder, SocketId,
    Ways,
};
use network::{
    LinkChange, LinkConfig, LinkStats, MiddleBox, Network, NicSetup, Topology, TopologyError,
};
use std::hint::cold_path;
use traffic::Application;
use transport::{ConnectionInfo, Input, InterfaceEvent, SocketError, StackConfig};

/// Hosts with applications of type `A`, and links between them.
pub struct World<A> {
    now: Instant,
    chance: Chance,
    ways: Ways,
    hosts: Vec<Host<A>>,
    fabric: Fabric,
    /// What each target of the event queue is.
    wakes: Vec<Wake>,
    changes: Vec<Change>,
    ahead: Ahead,
    recorders: Recorders,
}

/// The recipient of an event. Small, since one is looked up for every event.
#[derive(Clone, Copy, Debug)]
enum Wake {
    Link(LinkId),
    Nic(u32),
    Host(HostId),
    Application(HostId, u32),
    /// An entry of the list of changes.
    Change(u32),
}

/// A scheduled change.
#[derive(Clone, Debug)]
enum Change {
    /// A link changes; a host may be notified.
    Link(LinkId, LinkChange, Option<Notice>),
    /// A host is notified.
    Notice(Notice),
    /// The connections between two hosts that are on an interface of the first are reset.
    Reset([HostId; 2], InterfaceId),
}

/// Notification of a host about one of its interfaces.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// The host.
    pub host: HostId,
    /// Its interface.
    pub interface: InterfaceId,
    /// The change of the interface.
    pub event: InterfaceEvent,
}

/// Why a world stopped early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorldError {
    /// Events without progress of time.
    #[error("live-lock at {at} of virtual time: {what}")]
    LiveLock {
        /// Virtual time that does not advance.
        at: Instant,
        /// The part of the world that repeats itself.
        what: &'static str,
    },
    /// A packet differs after it was emitted and parsed.
    #[error("codec at {at} of virtual time: {what}")]
    Codec {
        /// Virtual time of the packet.
        at: Instant,
        /// The difference, or why the packet could not be parsed.
        what: String,
    },
}

/// Why `run_until` returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The condition was met.
    Condition,
    /// The time limit was reached; `now` is the limit.
    Limit,
    /// No event is left.
    Idle,
}

impl<A: Application> World<A> {
    /// A world with the random draws of one run and this network. Its links must be added first,
    /// then its hosts, then everything else.
    pub fn new(chance: Chance, network: &Network) -> Result<Self, TopologyError> {
        Ok(World {
            now: Instant::ZERO,
            chance,
            ways: Ways::Short,
            hosts: Vec::new(),
            fabric: Fabric::new(Topology::new(network)?),
            wakes: Vec::new(),
            changes: Vec::new(),
            ahead: Ahead::new(),
            recorders: Recorders::default(),
        })
    }

    /// Add the next link of the network; `owner` keys its random draws.
    ///
    /// # Panics
    ///
    /// If a host was added before, or a change was scheduled: events of links are recognised by
    /// their numbers, which are the first.
    pub fn add_link(&mut self, config: LinkConfig, owner: u64) -> LinkId {
        let (id, target) = self.fabric.add_link(config, owner);
        assert_eq!(target.0, id.0, "links are added before hosts and changes");
        self.wake(target, Wake::Link(id));
        id
    }

    /// Add a host. With `nic`, each of its interfaces has a NIC before the link.
    pub fn add_host(
        &mut self,
        config: StackConfig,
        cost: ProcessingCost,
        nic: Option<NicSetup>,
    ) -> HostId {
        let id = HostId(self.hosts.len() as u16);
        let interfaces = config.interfaces.len();
        let first_hops = (0..interfaces).map(|number| self.first_hop(id, number, nic)).collect();
        let target = self.fabric.queue.add_target();
        self.wake(target, Wake::Host(id));
        self.hosts.push(Host::new(id, target, config, cost, first_hops));
        id
    }

    fn first_hop(&mut self, host: HostId, number: usize, nic: Option<NicSetup>) -> FirstHop {
        match (self.fabric.egress(host, InterfaceId(number as u16)), nic) {
            (None, _) => FirstHop::Nowhere,
            (Some(link), None) => FirstHop::Link(link),
            (Some(link), Some(setup)) => {
                let (nic, target) = self.fabric.add_nic(setup, host, link);
                self.wake(target, Wake::Nic(nic as u32));
                FirstHop::Nic(nic)
            }
        }
    }

    /// Add an application to a host.
    pub fn add_application(
        &mut self,
        host: HostId,
        application: A,
        endpoint: Endpoint,
    ) -> Result<(), SocketError> {
        let number = self.hosts[host.index()].applications().count();
        let target = self.fabric.queue.add_target();
        self.wake(target, Wake::Application(host, number as u32));
        let starts_at = endpoint.starts_at;
        self.hosts[host.index()].add(application, endpoint, target)?;
        self.fabric.queue.set(target, Some(starts_at));
        Ok(())
    }

    /// A link changes at `at`, and a host may be notified.
    pub fn change_at(
        &mut self,
        at: Instant,
        link: LinkId,
        change: LinkChange,
        notice: Option<Notice>,
    ) {
        self.schedule(at, Change::Link(link, change, notice));
    }

    /// A host is notified at `at`.
    pub fn notify_at(&mut self, at: Instant, notice: Notice) {
        self.schedule(at, Change::Notice(notice));
    }

    /// At `at` all connections and subflows of client and server on one path are reset at both
    /// ends. The path is the one that the client sends into by `interface`: the server's interface
    /// does not identify it, since several paths may lead to one of its addresses.
    pub fn reset_at(&mut self, at: Instant, hosts: [HostId; 2], interface: InterfaceId) {
        self.schedule(at, Change::Reset(hosts, interface));
    }

    fn schedule(&mut self, at: Instant, change: Change) {
        let target = self.fabric.queue.add_target();
        self.wake(target, Wake::Change(self.changes.len() as u32));
        self.changes.push(change);
        self.fabric.queue.set(target, Some(at));
    }

    /// Put a middlebox at the far end of a link.
    pub fn set_middlebox(&mut self, link: LinkId, middlebox: Box<dyn MiddleBox>) {
        self.fabric.set_middlebox(link, middlebox);
    }

    /// Put a split-TCP proxy between the links of a path and the server.
    pub(crate) fn set_proxy(&mut self, proxy: Proxy, down: LinkId, up: LinkId) {
        self.fabric.set_proxy(proxy, down, up);
    }

    /// Send events to this recorder as well.
    pub fn set_recorder(&mut self, recorder: Box<dyn Recorder>) {
        self.recorders.other = Some(recorder);
        self.recorders.check_mask();
    }

    /// Compute the result hash.
    pub fn set_hash(&mut self, hash: ResultHash) {
        self.recorders.hash = Some(hash);
        self.recorders.check_mask();
    }

    /// Takes the result hash.
    pub const fn take_hash(&mut self) -> Option<ResultHash> {
        self.recorders.hash.take()
    }

    /// Keep accounts.
    pub fn set_accounts(&mut self, accounts: Accounts) {
        self.recorders.accounts = Some(accounts);
        self.recorders.check_mask();
    }

    /// Takes the accounts.
    pub const fn take_accounts(&mut self) -> Option<Accounts> {
        self.recorders.accounts.take()
    }

    /// Watch for gaps between deliveries.
    pub(crate) fn set_gaps(&mut self, gaps: Gaps) {
        self.recorders.gaps = Some(gaps);
        self.recorders.check_mask();
    }

    /// Takes the gaps.
    pub(crate) const fn take_gaps(&mut self) -> Option<Gaps> {
        self.recorders.gaps.take()
    }

    /// Capture the packets that pass the interfaces of a host.
    pub fn set_capture(&mut self, capture: Capture) {
        self.fabric.set_capture(Some(capture));
    }

    /// Takes the capture.
    pub fn take_capture(&mut self) -> Option<Capture> {
        self.fabric.set_capture(None)
    }

    /// Whether packets take short ways; results are the same.
    pub const fn set_ways(&mut self, ways: Ways) {
        self.ways = ways;
    }

    /// Whether to serialise and parse every packet.
    pub const fn set_pass_through(&mut self, on: bool) {
        self.fabric.set_through_codec(on);
    }

    /// Let time pass until `limit`, or until `condition` holds after an application was called that
    /// is done.
    pub fn run_until(
        &mut self,
        limit: Instant,
        mut condition: impl FnMut(&World<A>) -> bool,
    ) -> Result<Stopped, WorldError> {
        loop {
            let mut cx = Context::quiet(self.now, self.chance);
            let Some((at, target)) = self.fabric.next_event(&mut cx, limit) else { break };
            self.now = at;
            self.count_sent();
            self.handle_from(target, limit, cx.departures_follow);
            self.check()?;
            if std::mem::take(&mut self.fabric.asks) && condition(self) {
                return Ok(Stopped::Condition);
            }
        }
        if self.fabric.queue.is_idle() && !self.fabric.has_departures() {
            return Ok(Stopped::Idle);
        }
        self.now = limit;
        Ok(Stopped::Limit)
    }

    /// Handle the event of `target`, then those that follow by `limit`, as long as nobody asks for
    /// the state of the world: until an application that was called is done.
    // One context for several events: building it was a tenth of the cost of an event.
    #[inline(always)]
    fn handle_from(&mut self, mut target: Target, limit: Instant, departures_follow: bool) {
        // The watch for gaps looks at the world before each event.
        let stops = self.recorders.gaps.is_some();
        let World { hosts, fabric, recorders, now, chance, ways, wakes, changes, ahead } = self;
        let mut cx = context(*now, *chance, recorders).by_ways(*ways);
        cx.departures_follow = departures_follow;
        // Records of links are in the order of time.
        let is_watched = cx.wants(EventMask::QUEUE) || cx.wants(EventMask::DROP);
        let foresees = cx.has_short_ways() && !(stops || is_watched);
        fabric.horizon = if foresees { limit } else { Instant::ZERO };
        loop {
            fabric.count_step(cx.now);
            if fabric.queue.is_crowded() {
                cold_path();
                ahead.look(hosts, fabric);
            }
            cx.host = HostId(0);
            // Links are added first: theirs are not looked up, which was a cache miss a packet.
            let wake = match fabric.link(target.0) {
                Some(_) => Wake::Link(LinkId(target.0)),
                None => wakes[target.0 as usize],
            };
            dispatch(&mut cx, hosts, fabric, changes, wake);
            if fabric.asks || stops {
                break;
            }
            let Some((at, next)) = fabric.next_event(&mut cx, limit) else { break };
            (cx.now, target) = (at, next);
        }
        fabric.horizon = Instant::ZERO;
        *now = cx.now;
    }

    /// The current time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The applications of a host, in the order they were added.
    pub fn applications(&self, host: HostId) -> impl Iterator<Item = &A> {
        self.hosts[host.index()].applications()
    }

    /// The state of a connection.
    pub fn info(&self, host: HostId, socket: SocketId) -> Option<ConnectionInfo> {
        self.hosts[host.index()].stack().info(socket)
    }

    /// The counters of a host.
    pub fn counters(&self, host: HostId) -> HostCounters {
        self.hosts[host.index()].counters()
    }

    /// The counters of a link.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        self.fabric.stats(link).unwrap_or_default()
    }

    /// Passes the bytes sent so far to the watch for gaps, if it needs them.
    #[inline]
    fn count_sent(&mut self) {
        if self.recorders.gaps.is_some() {
            self.count_for_gaps();
        }
    }

    fn count_for_gaps(&mut self) {
        if let Some(gaps) = &mut self.recorders.gaps
            && let Some(host) = gaps.asks(self.now)
        {
            let first_sent = self.hosts[host.index()].first_sent();
            gaps.note(self.now, &first_sent, self.fabric.last_arrival());
        }
    }

    /// Enter what `target`, the newest one, wakes.
    fn wake(&mut self, target: Target, wake: Wake) {
        debug_assert_eq!(target.0 as usize, self.wakes.len());
        self.wakes.push(wake);
    }

    fn check(&mut self) -> Result<(), WorldError> {
        let at = self.now;
        match &mut self.fabric.fault {
            None => Ok(()),
            Some(Fault::LiveLock(what)) => Err(WorldError::LiveLock { at, what }),
            Some(Fault::Codec(what)) => Err(WorldError::Codec { at, what: std::mem::take(what) }),
        }
    }
}

/// Handle one event; of a NIC also its next ones, if nothing comes before them.
#[inline(always)]
fn dispatch<A: Application>(
    cx: &mut Context<'_>,
    hosts: &mut [Host<A>],
    fabric: &mut Fabric,
    changes: &[Change],
    wake: Wake,
) {
    match wake {
        Wake::Link(link) => {
            while let Some((host, interface, packet)) = fabric.poll(cx, link) {
                let host = &mut hosts[host.index()];
                if fabric.queue.is_crowded()
                    && let Some(socket) = fabric.reader(link)
                {
                    cold_path();
                    host.expect(socket);
                }
                host.receive(cx, fabric, interface, packet);
                if fabric.link_rests(cx.now, link, host.reader()) {
                    break;
                }
            }
        }
        Wake::Nic(nic) => {
            cold_path();
            depart(cx, hosts, fabric, nic as usize);
        }
        Wake::Host(host) => {
            cold_path();
            hosts[host.index()].wake(cx, fabric);
        }
        Wake::Application(host, number) => {
            cold_path();
            hosts[host.index()].wake_application(cx, fabric, number as usize);
        }
        Wake::Change(number) => carry_out(cx, hosts, fabric, &changes[number as usize]),
    }
}

/// Packets leave the queue of a NIC.
// Most pass it.
#[inline(never)]
fn depart<A: Application>(
    cx: &mut Context<'_>,
    hosts: &mut [Host<A>],
    fabric: &mut Fabric,
    nic: usize,
) {
    while let Some((host, flow, bytes)) = fabric.poll_nic(cx, nic) {
        hosts[host.index()].departed(cx, fabric, flow, bytes);
        if fabric.nic_rests(cx, nic) {
            break;
        }
    }
}

/// A scheduled change is due.
#[cold]
fn carry_out<A: Application>(
    cx: &mut Context<'_>,
    hosts: &mut [Host<A>],
    fabric: &mut Fabric,
    change: &Change,
) {
    let notice = match change {
        Change::Link(link, change, notice) => {
            fabric.apply(cx, *link, change.clone());
            *notice
        }
        Change::Notice(notice) => Some(*notice),
        Change::Reset(between, interface) => {
            reset(cx, hosts, fabric, *between, *interface);
            None
        }
    };
    if let Some(Notice { host, interface, event }) = notice {
        hosts[host.index()].input(cx, fabric, Input::Interface { interface, event });
    }
}

/// Reset both ends of every connection that a client has on an interface.
fn reset<A: Application>(
    cx: &mut Context<'_>,
    hosts: &mut [Host<A>],
    fabric: &mut Fabric,
    [client, server]: [HostId; 2],
    interface: InterfaceId,
) {
    let ends = hosts[client.index()].stack().ends_on(interface);
    let mirrored = ends.iter().map(|(local, remote)| (*remote, *local)).collect();
    hosts[client.index()].input(cx, fabric, Input::Reset { ends });
    hosts[server.index()].input(cx, fabric, Input::Reset { ends: mirrored });
}

#[inline]
fn context(now: Instant, chance: Chance, recorders: &mut Recorders) -> Context<'_> {
    if recorders.mask == EventMask::NONE {
        return Context::quiet(now, chance);
    }
    Context::recording_kinds(recorders.mask, now, chance, recorders)
}

/// The recorders of a world.
#[derive(Default)]
struct Recorders {
    /// What any of them asks for: a question for every event of the world, so it is kept.
    mask: EventMask,
    /// What only the hash asks for.
    only_hash: EventMask,
    hash: Option<ResultHash>,
    accounts: Option<Accounts>,
    gaps: Option<Gaps>,
    other: Option<Box<dyn Recorder>>,
}

impl Recorders {
    /// After one was added.
    fn check_mask(&mut self) {
        let hash = self.hash.as_ref().map_or(EventMask::NONE, Recorder::mask);
        let accounts = self.accounts.as_ref().map_or(EventMask::NONE, Recorder::mask);
        let gaps = self.gaps.as_ref().map_or(EventMask::NONE, Recorder::mask);
        let other = self.other.as_ref().map_or(EventMask::NONE, |other| other.mask());
        let others = accounts.union(gaps).union(other);
        self.mask = hash.union(others);
        self.only_hash = hash.without(others);
    }
}

impl Recorder for Recorders {
    fn mask(&self) -> EventMask {
        self.mask
    }

    fn record(&mut self, now: Instant, host: HostId, event: &Event) {
        self.pass_on(EventMask::ALL, now, host, event);
    }

    fn record_kind(&mut self, kind: EventMask, now: Instant, host: HostId, event: &Event) {
        // Nearly all events of a study: a third of what recording costs was to ask the others.
        if self.only_hash.intersects(kind)
            && let Some(hash) = &mut self.hash
        {
            return hash.record(now, host, event);
        }
        self.pass_on(kind, now, host, event);
    }
}

impl Recorders {
    /// Passes an event to those that asked for its kind.
    #[inline(never)]
    fn pass_on(&mut self, kind: EventMask, now: Instant, host: HostId, event: &Event) {
        if let Some(hash) = asking(&mut self.hash, kind) {
            hash.record(now, host, event);
        }
        if let Some(accounts) = asking(&mut self.accounts, kind) {
            accounts.record(now, host, event);
        }
        if let Some(gaps) = asking(&mut self.gaps, kind) {
            gaps.record(now, host, event);
        }
        if let Some(other) = self.other.as_mut().filter(|other| other.mask().intersects(kind)) {
            other.record(now, host, event);
        }
    }
}

/// The recorder, if it asked for the kind.
#[inline]
fn asking<R: Recorder>(recorder: &mut Option<R>, kind: EventMask) -> Option<&mut R> {
    recorder.as_mut().filter(|recorder| recorder.mask().intersects(kind))
}

//! The network between hosts: NICs, links, routers, middleboxes, and the capture of packets.
//!
//! Hosts are left to `world`, which receives the packets that arrive. What a link does to a packet
//! and where the packet goes next is left to `network`.

use crate::capture::Capture;
use crate::departures::{Departure, Departures};
use crate::event_queue::{EventQueue, Target};
use crate::guard::Guard;
use crate::nic::{Leaving, Nic};
use crate::proxy::Proxy;
use base::{Context, HostId, Instant, InterfaceId, LinkId, SocketId, prefetch};
use network::{Hop, Link, LinkChange, LinkConfig, LinkStats, MiddleBox, NicSetup, Topology};
use std::collections::VecDeque;
use std::hint::cold_path;
use transport::Sent;
use wire::{Body, Flags, Packet};

/// A defect found on the way of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    LiveLock(&'static str),
    Codec(String),
}

/// The first hop of the packets of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstHop {
    /// The NIC of this number, which reports departures to its host.
    Nic(usize),
    /// A link without a NIC: a packet has departed as soon as it is sent.
    Link(LinkId),
    /// Not connected.
    Nowhere,
}

/// Links, NICs and routers.
pub(crate) struct Fabric {
    pub queue: EventQueue,
    topology: Topology,
    links: Vec<FabricLink>,
    nics: Vec<Nic>,
    /// Serialise and parse every packet.
    through_codec: bool,
    capture: Option<Capture>,
    /// One of both.
    inspects: bool,
    /// The first defect.
    pub fault: Option<Fault>,
    guard: Guard,
    proxies: Vec<ProxyPoint>,
    /// The world is to examine its state: an application that was called is done, or there is a
    /// defect.
    pub asks: bool,
    /// A departure by then needs no event.
    pub horizon: Instant,
    /// Departures without an event.
    departures: Departures,
}

/// A link and its target. Aligned to a cache line and begins with the fields that every packet
/// needs.
#[repr(C, align(64))]
pub(crate) struct FabricLink {
    target: Target,
    /// The host that it leads to, if any; kept here to avoid a look-up.
    host: Option<(HostId, InterfaceId)>,
    /// The socket of that host that received the last packet; a hint for prefetching.
    reader: Option<SocketId>,
    /// Without rate, delay and loss: a packet passes it without an event.
    is_wire: bool,
    /// It has a proxy or a middlebox, or leads to a router without an event: one question for all.
    is_special: bool,
    /// The proxy at its end, of which it leads to.
    proxy: ProxyEnd,
    link: Link,
    /// The middlebox at its far end, if any.
    behind: Option<Box<Behind>>,
}

/// The end of a link at which a proxy stands, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProxyEnd {
    None,
    /// Packets meet it before the link.
    Near(u8),
    /// Packets meet it after the link.
    Far(u8),
}

/// A proxy between a path's own links and the server.
struct ProxyPoint {
    proxy: Proxy,
    /// The link to the client.
    down: LinkId,
    /// The link to the proxy; its events are the proxy's, too.
    up: LinkId,
}

/// A middlebox and the packets that it let through and that were not taken yet.
struct Behind {
    middlebox: Box<dyn MiddleBox>,
    through: VecDeque<Box<Packet>>,
}

impl Fabric {
    pub(crate) fn new(topology: Topology) -> Self {
        Fabric {
            queue: EventQueue::new(),
            topology,
            links: Vec::new(),
            nics: Vec::new(),
            through_codec: false,
            inspects: false,
            capture: None,
            fault: None,
            guard: Guard::default(),
            proxies: Vec::new(),
            asks: false,
            horizon: Instant::ZERO,
            departures: Departures::new(),
        }
    }

    /// Add the next link of the topology; `owner` keys its random draws.
    pub(crate) fn add_link(&mut self, config: LinkConfig, owner: u64) -> (LinkId, Target) {
        let id = LinkId(self.links.len() as u32);
        let target = self.queue.add_target();
        let host = self.topology.host(id);
        let is_wire = config.is_wire();
        let link = Link::new(id, config, owner);
        let (reader, proxy, behind, is_special) = (None, ProxyEnd::None, None, false);
        let mut attached =
            FabricLink { link, target, host, reader, is_wire, is_special, proxy, behind };
        attached.check_special();
        self.links.push(attached);
        (id, target)
    }

    /// Add a NIC of `host` before the link `next`.
    pub(crate) fn add_nic(
        &mut self,
        setup: NicSetup,
        host: HostId,
        next: LinkId,
    ) -> (usize, Target) {
        let id = LinkId((self.links.len() + self.nics.len()) as u32);
        let target = self.queue.add_target();
        self.nics.push(Nic::new(setup, id, (host, target), next));
        self.check_nics();
        (self.nics.len() - 1, target)
    }

    /// What is sent to a proxy or a middlebox needs events, and behind a router it may meet any.
    fn check_nics(&mut self) {
        let links = &self.links;
        if !links.iter().any(FabricLink::has_box) {
            return;
        }
        let needs_events = |nic: &&mut Nic| links[nic.next.index()].is_special;
        self.nics.iter_mut().filter(needs_events).for_each(Nic::queue_all);
    }

    /// Put a middlebox at the far end of a link.
    pub(crate) fn set_middlebox(&mut self, link: LinkId, middlebox: Box<dyn MiddleBox>) {
        let behind = Behind { middlebox, through: VecDeque::new() };
        let attached = &mut self.links[link.index()];
        (attached.behind, attached.is_wire) = (Some(Box::new(behind)), false);
        attached.check_special();
        self.check_nics();
    }

    /// Put a proxy between these links of a path and the server.
    pub(crate) fn set_proxy(&mut self, proxy: Proxy, down: LinkId, up: LinkId) {
        let number = self.proxies.len() as u8;
        for (link, end) in [(down, ProxyEnd::Near(number)), (up, ProxyEnd::Far(number))] {
            let attached = &mut self.links[link.index()];
            (attached.proxy, attached.is_wire) = (end, false);
            attached.check_special();
            self.check_nics();
        }
        self.proxies.push(ProxyPoint { proxy, down, up });
    }

    /// A packet of the server meets a proxy.
    #[cold]
    fn enter_proxy(&mut self, cx: &mut Context<'_>, number: u8, packet: Box<Packet>) {
        self.proxies[number as usize].proxy.inward(cx, packet);
        self.settle_proxy(cx, number);
    }

    /// The next packet for the server of the proxy behind a link.
    #[cold]
    fn poll_proxied(
        &mut self,
        cx: &mut Context<'_>,
        number: u8,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        loop {
            let ProxyPoint { proxy, up, .. } = &mut self.proxies[number as usize];
            let up = *up;
            if let Some(packet) = proxy.to_server.pop_front() {
                let attached = &self.links[up.index()];
                let arrived = match attached.host {
                    Some((host, interface)) => Some((host, interface, packet)),
                    None => self.forward(cx, up, packet),
                };
                if arrived.is_some() {
                    return arrived;
                }
                continue;
            }
            if let Some(packet) = self.links[up.index()].poll(cx, &mut self.queue) {
                proxy.outward(cx, packet);
            } else if proxy.deadline().is_some_and(|at| at <= cx.now) {
                proxy.timeout(cx);
            } else {
                self.settle_proxy(cx, number);
                return None;
            }
            self.settle_proxy(cx, number);
        }
    }

    /// Sends the packets that a proxy made, and schedules its next event.
    fn settle_proxy(&mut self, cx: &mut Context<'_>, number: u8) {
        let ProxyPoint { proxy, down, up } = &mut self.proxies[number as usize];
        proxy.settle(cx);
        let attached = &mut self.links[down.index()];
        while let Some(packet) = proxy.to_client.pop_front() {
            let len = packet.wire_len();
            attached.link.take(cx, packet, len);
        }
        self.queue.set_at(attached.target, attached.next_poll());
        let up = *up;
        self.schedule(cx.now, up);
    }

    /// Schedules the next event of a link. Of the link to a proxy it is also when a timer of the
    /// proxy is due or a packet for the server waits there.
    fn schedule(&mut self, now: Instant, link: LinkId) {
        let attached = &self.links[link.index()];
        let mut next = attached.next_poll();
        if let ProxyEnd::Far(number) = attached.proxy {
            let proxy = &self.proxies[number as usize].proxy;
            let waiting = (!proxy.to_server.is_empty()).then_some(now);
            next = [waiting, proxy.deadline()].into_iter().flatten().fold(next, Instant::min);
        }
        self.queue.set_at(attached.target, next);
    }

    /// The link that an interface leads to.
    pub(crate) fn egress(&self, host: HostId, interface: InterfaceId) -> Option<LinkId> {
        self.topology.egress(host, interface).filter(|link| link.index() < self.links.len())
    }

    pub(crate) fn stats(&self, link: LinkId) -> Option<LinkStats> {
        self.links.get(link.index()).map(|attached| attached.link.stats())
    }

    /// The latest known arrival time over all packets on links.
    pub(crate) fn last_arrival(&self) -> Option<Instant> {
        self.links.iter().filter_map(|attached| attached.link.last_arrival()).max()
    }

    /// Put a packet of `len` bytes on a link.
    #[inline(never)]
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
        packet: Box<Packet>,
        len: u32,
    ) {
        self.enqueue_from_nic(cx, link, packet, len);
    }

    // Saves most packets a call.
    #[inline(always)]
    fn enqueue_from_nic(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
        packet: Box<Packet>,
        len: u32,
    ) {
        let attached = &mut self.links[link.index()];
        if attached.is_special {
            cold_path();
            return self.enqueue_specially(cx, link, packet, len);
        }
        if let Some(next) = attached.link.take(cx, packet, len) {
            self.queue.set_at(attached.target, next);
        }
    }

    #[inline(never)]
    fn enqueue_specially(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
        packet: Box<Packet>,
        len: u32,
    ) {
        // Wires may form a loop without an event.
        if !self.count_step(cx.now) {
            cold_path();
            return;
        }
        let attached = &mut self.links[link.index()];
        if let ProxyEnd::Near(number) = attached.proxy {
            return self.enter_proxy(cx, number, packet);
        }
        if attached.is_wire {
            attached.link.count_passed(len);
            return self.pass_on(cx, link, packet, len);
        }
        attached.link.take(cx, packet, len);
        self.schedule(cx.now, link);
    }

    /// Forward a packet that came out of `link` at the router there.
    fn pass_on(&mut self, cx: &mut Context<'_>, link: LinkId, mut packet: Box<Packet>, len: u32) {
        if let Hop::Link(next) = self.topology.forward(link, &mut packet) {
            self.enqueue(cx, next, packet, len);
        }
    }

    /// Forward a packet that came out of `link` at the router there. Returns it if it reaches a
    /// host over wires only.
    fn forward(
        &mut self,
        cx: &mut Context<'_>,
        mut link: LinkId,
        mut packet: Box<Packet>,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        let len = packet.wire_len();
        // The hop limit ends a loop of wires.
        loop {
            link = match self.topology.forward(link, &mut packet) {
                Hop::Host(host, interface) => return Some((host, interface, packet)),
                Hop::Link(next) => next,
                Hop::Drop => return None,
            };
            let attached = &mut self.links[link.index()];
            if !attached.is_wire {
                self.enqueue(cx, link, packet, len);
                return None;
            }
            attached.link.count_passed(len);
            if let Some((host, interface)) = attached.host {
                return Some((host, interface, packet));
            }
        }
    }

    /// Give a packet of `len` bytes to a NIC. Its departure needs no event in most cases.
    // Where it is called is in line where TCP sends, and a call for others.
    #[inline(always)]
    pub(crate) fn enqueue_nic(
        &mut self,
        cx: &mut Context<'_>,
        nic: usize,
        packet: Box<Packet>,
        len: u32,
    ) -> Sent {
        let card = &mut self.nics[nic];
        let Some(at) = card.admit(cx, len) else { return Sent::Queued };
        let flow = packet.flow;
        let passes = card.may_pass() && at <= self.horizon && !self.departures.is_full();
        // Of two at one time, events between them would be before both or behind both.
        if !passes || self.departures.has(at) || begins_or_resets(&packet) {
            self.wait_in_nic(nic, packet, len);
            return Sent::Queued;
        }
        // Half of the events of a packet were departures.
        card.pass(&mut self.queue);
        self.departures.insert(Departure { at, packet, nic: nic as u32, len });
        Sent::Departs { flow, at }
    }

    /// Queue the packet that a NIC admitted last.
    #[inline(never)]
    fn wait_in_nic(&mut self, nic: usize, packet: Box<Packet>, len: u32) {
        let nic = &mut self.nics[nic];
        if let Some(next) = nic.enqueue(packet, len) {
            self.queue.set_at(nic.target, next);
        }
    }

    /// Departures of these flows of a host that were reported in advance are events after all.
    #[cold]
    pub(crate) fn recall(&mut self, host: HostId, flows: &[u32]) {
        let mut index = 0;
        while let Some((nic, packet)) = self.departures.get(index) {
            let card = &mut self.nics[nic as usize];
            if card.host != host || !flows.contains(&packet.flow) {
                index += 1;
                continue;
            }
            let is_first = !self.departures.any_before(index, nic);
            if let Some(recalled) = self.departures.remove(index) {
                let number = card.recall(recalled, is_first);
                self.queue.set_with(card.target, card.await_departure(), number);
            }
        }
    }

    /// Whether there are departures without an event.
    #[inline]
    pub(crate) const fn has_departures(&self) -> bool {
        !self.departures.is_empty()
    }

    /// Take the next event if it is due by `limit`. Packets that leave a NIC before it are on their
    /// links then.
    #[inline(always)]
    pub(crate) fn next_event(
        &mut self,
        cx: &mut Context<'_>,
        limit: Instant,
    ) -> Option<(Instant, Target)> {
        cx.departures_follow = false;
        if self.departures.is_empty() {
            return self.queue.pop_until(limit);
        }
        self.next_event_among_departures(cx, limit)
    }

    #[inline(never)]
    fn next_event_among_departures(
        &mut self,
        cx: &mut Context<'_>,
        limit: Instant,
    ) -> Option<(Instant, Target)> {
        while let Some((departs_at, nic)) = self.departures.first()
            && departs_at <= limit
        {
            let number = self.nics[nic as usize].number();
            if let Some((at, target)) = self.queue.pop_before(departs_at, number) {
                cx.departures_follow = at == departs_at;
                return Some((at, target));
            }
            self.depart(cx);
        }
        self.queue.pop_until(limit)
    }

    /// Puts the packet that leaves a NIC next on its link, as its event would.
    #[inline(always)]
    fn depart(&mut self, cx: &mut Context<'_>) {
        let Some(departure) = self.departures.pop_first() else { return };
        let Departure { at, nic, len, packet } = departure;
        let now = std::mem::replace(&mut cx.now, at);
        let next = self.nics[nic as usize].next;
        debug_assert!(!self.links[next.index()].has_box());
        self.enqueue_from_nic(cx, next, packet, len);
        cx.now = now;
        let nic = &mut self.nics[nic as usize];
        if let Some(next) = nic.leave(&mut self.queue) {
            self.queue.set_at(nic.target, next);
        }
    }

    /// The next packet that a host receives from `link` now. Packets at routers are forwarded.
    // Each has one caller.
    #[inline(always)]
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        let attached = &mut self.links[link.index()];
        if !attached.is_special
            && let Some((host, interface)) = attached.host
        {
            let packet = attached.link.poll(cx);
            if packet.is_none() {
                cold_path();
                self.queue.set_at(attached.target, attached.link.next_poll());
            }
            return packet.map(|packet| (host, interface, packet));
        }
        cold_path();
        self.poll_specially(cx, link)
    }

    #[inline(never)]
    fn poll_specially(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        let attached = &mut self.links[link.index()];
        if let ProxyEnd::Far(number) = attached.proxy {
            return self.poll_proxied(cx, number);
        }
        if let Some((host, interface)) = attached.host {
            return attached.poll(cx, &mut self.queue).map(|packet| (host, interface, packet));
        }
        while let Some(packet) = self.links[link.index()].poll(cx, &mut self.queue) {
            let arrived = self.forward(cx, link, packet);
            if arrived.is_some() {
                return arrived;
            }
        }
        None
    }

    /// Send the next packet that leaves a NIC now. Returns the host, the flow and the bytes of the
    /// packet, for the notification of the departure.
    #[inline(never)]
    pub(crate) fn poll_nic(
        &mut self,
        cx: &mut Context<'_>,
        nic: usize,
    ) -> Option<(HostId, u32, u32)> {
        let nic = &mut self.nics[nic];
        let Some(Leaving { packet: Some(packet), len, .. }) = nic.poll(cx.now) else {
            self.queue.set_at(nic.target, nic.await_departure());
            return None;
        };
        let (host, next, flow) = (nic.host, nic.next, packet.flow);
        self.enqueue(cx, next, packet, len);
        Some((host, flow, len))
    }

    /// Note the socket that received the packet that `link` returned just now. Returns whether it
    /// has no other one at `now`: it is then scheduled for the next packet, which saves a `poll`.
    #[inline]
    pub(crate) fn link_rests(
        &mut self,
        now: Instant,
        link: LinkId,
        reader: Option<SocketId>,
    ) -> bool {
        let attached = &mut self.links[link.index()];
        attached.reader = reader;
        // Only `poll` has the packets that a middlebox let through.
        if attached.is_special {
            cold_path();
            return false;
        }
        let next = attached.link.next_poll();
        if next <= now {
            return false;
        }
        self.queue.set_at(attached.target, next);
        true
    }

    /// As `link_rests`, for a NIC. If its next departure is the next event, time passes to it at
    /// once: a burst leaves without the event queue.
    #[inline]
    pub(crate) fn nic_rests(&mut self, cx: &mut Context<'_>, nic: usize) -> bool {
        let nic = &mut self.nics[nic];
        let next = nic.await_departure();
        if next <= cx.now {
            return false;
        }
        let is_next = self.queue.is_before_all(next) && self.departures.is_empty();
        if is_next && next <= self.horizon && !self.asks {
            (cx.now, cx.host) = (next, HostId(0));
            self.count_step(next);
            return false;
        }
        self.queue.set_at(nic.target, next);
        true
    }

    /// The link of this number, or target: links are added first, so the first targets are theirs
    /// and nothing needs to be looked up.
    #[inline]
    pub(crate) fn link(&self, number: u32) -> Option<&FabricLink> {
        self.links.get(number as usize)
    }

    /// The socket that received the last packet of a link.
    #[inline]
    pub(crate) fn reader(&self, link: LinkId) -> Option<SocketId> {
        self.links[link.index()].reader
    }

    /// Prefetch the first packet of a link, after `FabricLink::prefetch_first`.
    #[inline]
    pub(crate) fn prefetch_packet(&self, number: u32) {
        if let Some(attached) = self.link(number) {
            attached.link.prefetch_packet();
        }
    }

    /// Prefetch the NIC of a first hop.
    pub(crate) fn prefetch_nic(&self, hop: FirstHop) {
        if let FirstHop::Nic(nic) = hop {
            self.nics[nic].prefetch();
        }
    }

    /// Prefetch the link of a first hop, after `prefetch_nic`.
    pub(crate) fn prefetch_behind_nic(&self, hop: FirstHop) {
        if let FirstHop::Nic(nic) = hop {
            self.queue.prefetch(self.nics[nic].target);
        }
        if let Some(link) = self.first_link(hop) {
            prefetch(&self.links[link.index()]);
            self.links[link.index()].link.prefetch();
        }
    }

    /// Prefetch the queue of the link, after `prefetch_behind_nic`.
    pub(crate) fn prefetch_queue(&self, hop: FirstHop) {
        if let Some(link) = self.first_link(hop) {
            self.links[link.index()].link.prefetch_queue();
        }
    }

    fn first_link(&self, hop: FirstHop) -> Option<LinkId> {
        match hop {
            FirstHop::Nic(nic) => Some(self.nics[nic].next),
            FirstHop::Link(link) => Some(link),
            FirstHop::Nowhere => None,
        }
    }

    /// Change a link.
    pub(crate) fn apply(&mut self, cx: &mut Context<'_>, link: LinkId, change: LinkChange) {
        let attached = &mut self.links[link.index()];
        attached.is_wire = false;
        attached.check_special();
        attached.link.apply(cx, change);
        self.schedule(cx.now, link);
    }

    /// Capture the packets that pass interfaces of a host, or no longer. Returns the last capture.
    pub(crate) fn set_capture(&mut self, capture: Option<Capture>) -> Option<Capture> {
        self.inspects = self.through_codec || capture.is_some();
        std::mem::replace(&mut self.capture, capture)
    }

    /// Whether to serialise and parse every packet.
    pub(crate) const fn set_through_codec(&mut self, on: bool) {
        self.through_codec = on;
        self.inspects = on || self.capture.is_some();
    }

    /// A packet passes an interface of a host: captures it, and serialises and parses it, if that
    /// is requested.
    #[inline]
    pub(crate) fn pass_interface(
        &mut self,
        now: Instant,
        host: HostId,
        interface: InterfaceId,
        packet: Box<Packet>,
    ) -> Option<Box<Packet>> {
        if self.inspects { self.inspect(now, host, interface, packet) } else { Some(packet) }
    }

    #[cold]
    fn inspect(
        &mut self,
        now: Instant,
        host: HostId,
        interface: InterfaceId,
        packet: Box<Packet>,
    ) -> Option<Box<Packet>> {
        if let Some(capture) = &mut self.capture {
            capture.packet(now, host, interface, &packet);
        }
        if self.through_codec { self.push_through(packet) } else { Some(packet) }
    }

    fn push_through(&mut self, packet: Box<Packet>) -> Option<Box<Packet>> {
        match packet.roundtrip() {
            // A damaged packet must not parse; the receiver sees its mark.
            Err(_) if packet.corrupted => Some(packet),
            // A fragment has no checksum of its own: damage shows in the datagram.
            Ok(_) if packet.corrupted && matches!(packet.body, Body::Fragment(_)) => Some(packet),
            Ok(same) if same == *packet => Some(Box::new(same)),
            other => {
                let what = format!("{packet:?} came back as {other:?}");
                self.report(Fault::Codec(what));
                None
            }
        }
    }

    /// Count a step. False if a limit is exceeded; nothing more may be done then.
    #[inline]
    pub(crate) fn count_step(&mut self, now: Instant) -> bool {
        match self.guard.step(now) {
            None => true,
            Some(what) => {
                cold_path();
                self.report_live_lock(what);
                false
            }
        }
    }

    pub(crate) fn report_live_lock(&mut self, what: &'static str) {
        self.report(Fault::LiveLock(what));
    }

    fn report(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
        self.asks = true;
    }
}

impl FabricLink {
    /// The probable receiver of its next packet.
    #[inline]
    pub(crate) fn reader(&self) -> Option<(HostId, InterfaceId, SocketId)> {
        let (host, interface) = self.host?;
        Some((host, interface, self.reader?))
    }

    /// Prefetch what is read when a packet comes out of it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self);
        self.link.prefetch_delivery();
    }

    /// Prefetch the entry of its first packet, after `prefetch`.
    #[inline]
    pub(crate) fn prefetch_first(&self) {
        self.link.prefetch_next();
    }

    /// After a change of what is at its ends.
    fn check_special(&mut self) {
        self.is_special = self.has_box() || self.is_wire && self.host.is_none();
    }

    /// Whether a middlebox or a proxy is at one of its ends.
    fn has_box(&self) -> bool {
        self.behind.is_some() || self.proxy != ProxyEnd::None
    }

    fn poll(&mut self, cx: &mut Context<'_>, queue: &mut EventQueue) -> Option<Box<Packet>> {
        let packet = match &mut self.behind {
            None => self.link.poll(cx),
            Some(behind) => behind.poll(cx, &mut self.link),
        };
        if packet.is_none() {
            queue.set_at(self.target, self.next_poll());
        }
        packet
    }

    /// When to poll next, the end of time if there is nothing.
    #[inline]
    fn next_poll(&self) -> Instant {
        let link = self.link.next_poll();
        match &self.behind {
            None => link,
            Some(behind) => behind.middlebox.next_deadline().map_or(link, |held| held.min(link)),
        }
    }
}

impl Behind {
    fn poll(&mut self, cx: &mut Context<'_>, link: &mut Link) -> Option<Box<Packet>> {
        while self.through.is_empty() {
            let mut out = Vec::new();
            let packet = link.poll(cx);
            let last = packet.is_none();
            match packet {
                Some(packet) => self.middlebox.handle(cx, packet, &mut out),
                None => self.middlebox.release(cx, &mut out),
            }
            self.through.extend(out);
            if last {
                break;
            }
        }
        self.through.pop_front()
    }
}

/// Whether it is a segment that connections do not count among those in the NIC's queue, although
/// they subtract it at its departure.
fn begins_or_resets(packet: &Packet) -> bool {
    matches!(&packet.body, Body::Tcp(segment) if segment.flags.intersects(Flags::SYN | Flags::RST))
}

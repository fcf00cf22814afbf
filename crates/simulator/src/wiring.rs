//! What lies between hosts: NICs, links, the topology, and the taps on the way.
//!
//! Knows no host; what arrives somewhere is handed to `world`. What a link does to a packet and
//! where a packet goes next is `network`'s.

use crate::capture::Capture;
use crate::event_queue::{EventQueue, Target};
use crate::guard::Guard;
use crate::nic::{Leaving, Nic};
use base::{Context, HostId, Instant, InterfaceId, LinkId, SocketId, prefetch};
use network::{Hop, Link, LinkChange, LinkConfig, LinkStats, MiddleBox, NicSetup, Topology};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use wire::Packet;

/// Something that must not happen, found on the way of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    LiveLock(&'static str),
    Codec(String),
}

/// Where an interface's packets go first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstHop {
    /// The NIC of this number; its host learns of departures from it.
    Nic(usize),
    /// Nothing waits below the stack: a packet has departed as soon as it is handed over.
    Link(LinkId),
    /// Not connected.
    Nowhere,
}

/// Links and what is between them.
pub(crate) struct Wiring {
    pub queue: EventQueue,
    topology: Topology,
    links: Vec<Wired>,
    nics: Vec<(Nic, Target)>,
    /// Push every packet through bytes and back.
    pub through_codec: bool,
    pub capture: Option<Capture>,
    /// The first thing that went wrong.
    pub fault: Option<Fault>,
    guard: Guard,
    /// An application was called since this was last taken.
    pub called: bool,
}

/// A link and what wakes it. Begins with a cache line, and with what every packet needs.
#[repr(C, align(64))]
struct Wired {
    /// What stands at its far end, if anything does.
    behind: Option<Box<Behind>>,
    target: Target,
    /// The host it leads to, if it does; kept here so that nothing else has to be looked up.
    host: Option<(HostId, InterfaceId)>,
    /// Of that host, the socket that the last packet went to; a hint.
    reader: Option<SocketId>,
    /// Nothing happens on it, so that a packet need not wait for an event to get through.
    is_wire: bool,
    link: Link,
}

/// A middlebox and the packets it has let through but nobody has taken yet.
struct Behind {
    middlebox: Box<dyn MiddleBox>,
    through: VecDeque<Box<Packet>>,
}

impl Wiring {
    pub(crate) fn new(topology: Topology) -> Self {
        Wiring {
            queue: EventQueue::new(),
            topology,
            links: Vec::new(),
            nics: Vec::new(),
            through_codec: false,
            capture: None,
            fault: None,
            guard: Guard::default(),
            called: false,
        }
    }

    /// The topology's next link, which draws its chance as `owner`.
    pub(crate) fn add_link(&mut self, config: LinkConfig, owner: u64) -> (LinkId, Target) {
        let id = LinkId(self.links.len() as u32);
        let target = self.queue.add_target();
        let anywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let host = match self.topology.next_hop(id, anywhere) {
            Hop::Host(host, interface) => Some((host, interface)),
            Hop::Link(_) | Hop::Drop => None,
        };
        let is_wire = config.is_wire();
        let link = Link::new(id, config, owner);
        self.links.push(Wired { link, target, host, reader: None, is_wire, behind: None });
        (id, target)
    }

    /// A NIC of `host` in front of the link `next`.
    pub(crate) fn add_nic(
        &mut self,
        setup: NicSetup,
        host: HostId,
        next: LinkId,
    ) -> (usize, Target) {
        let id = LinkId((self.links.len() + self.nics.len()) as u32);
        let target = self.queue.add_target();
        self.nics.push((Nic::new(setup, id, host, next), target));
        (self.nics.len() - 1, target)
    }

    /// Put a middlebox at the far end of a link.
    pub(crate) fn set_middlebox(&mut self, link: LinkId, middlebox: Box<dyn MiddleBox>) {
        let behind = Behind { middlebox, through: VecDeque::new() };
        self.links[link.index()].behind = Some(Box::new(behind));
        self.links[link.index()].is_wire = false;
    }

    /// The link that an interface leads to.
    pub(crate) fn egress(&self, host: HostId, interface: InterfaceId) -> Option<LinkId> {
        self.topology.egress(host, interface).filter(|link| link.index() < self.links.len())
    }

    pub(crate) fn stats(&self, link: LinkId) -> Option<&LinkStats> {
        self.links.get(link.index()).map(|wired| wired.link.stats())
    }

    /// When the last of all packets comes out of its link, as far as it is known.
    pub(crate) fn last_arrival(&self) -> Option<Instant> {
        self.links.iter().filter_map(|wired| wired.link.last_arrival()).max()
    }

    /// Put a packet of `len` bytes on a link.
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
        packet: Box<Packet>,
        len: u32,
    ) {
        if self.count_step(cx.now) {
            let wired = &mut self.links[link.index()];
            if wired.is_wire && wired.host.is_none() {
                wired.link.count_passed(len);
                self.pass_on(cx, link, packet, len);
                return;
            }
            wired.link.take(cx, packet, len);
            self.queue.set(wired.target, wired.next_deadline());
        }
    }

    /// What came out of `link` goes on from the router there.
    fn pass_on(&mut self, cx: &mut Context<'_>, link: LinkId, mut packet: Box<Packet>, len: u32) {
        if let Hop::Link(next) = self.topology.forward(link, &mut packet) {
            self.enqueue(cx, next, packet, len);
        }
    }

    /// What came out of `link` goes on from the router there, to a host if only wires are between.
    fn forward(
        &mut self,
        cx: &mut Context<'_>,
        mut link: LinkId,
        mut packet: Box<Packet>,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        let len = packet.wire_len();
        // Wires in a circle end with the hop limit.
        loop {
            link = match self.topology.forward(link, &mut packet) {
                Hop::Host(host, interface) => return Some((host, interface, packet)),
                Hop::Link(next) => next,
                Hop::Drop => return None,
            };
            let wired = &mut self.links[link.index()];
            if !wired.is_wire {
                self.enqueue(cx, link, packet, len);
                return None;
            }
            wired.link.count_passed(len);
            if let Some((host, interface)) = wired.host {
                return Some((host, interface, packet));
            }
        }
    }

    /// Give a packet to a NIC.
    pub(crate) fn enqueue_nic(&mut self, cx: &mut Context<'_>, nic: usize, packet: Box<Packet>) {
        let (nic, target) = &mut self.nics[nic];
        nic.enqueue(cx, packet);
        self.queue.set(*target, nic.next_deadline());
    }

    /// The next packet that a host gets from `link` now; what goes to routers is sent on.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        link: LinkId,
    ) -> Option<(HostId, InterfaceId, Box<Packet>)> {
        let wired = &mut self.links[link.index()];
        if let Some((host, interface)) = wired.host {
            return wired.poll(cx, &mut self.queue).map(|packet| (host, interface, packet));
        }
        while let Some(packet) = self.links[link.index()].poll(cx, &mut self.queue) {
            let arrived = self.forward(cx, link, packet);
            if arrived.is_some() {
                return arrived;
            }
        }
        None
    }

    /// The next packet that leaves a NIC now: it is on its way, what is left is to tell the host
    /// of which flow and how many bytes.
    pub(crate) fn poll_nic(
        &mut self,
        cx: &mut Context<'_>,
        nic: usize,
    ) -> Option<(HostId, u32, u32)> {
        let (nic, target) = &mut self.nics[nic];
        let Some(Leaving { packet, len, .. }) = nic.poll(cx.now) else {
            self.queue.set(*target, nic.next_deadline());
            return None;
        };
        let (host, next, flow) = (nic.host, nic.next, packet.flow);
        self.enqueue(cx, next, packet, len);
        Some((host, flow, len))
    }

    /// Whether `link`, which gave a packet just now, has no other one at `now`. Then it will be
    /// woken for the next, and another `poll` is spared.
    pub(crate) fn link_rests(&mut self, now: Instant, link: LinkId) -> bool {
        let wired = &self.links[link.index()];
        let next = wired.next_deadline();
        // What a middlebox let through is known to `poll` only.
        if wired.behind.is_some() || next.is_some_and(|next| next <= now) {
            return false;
        }
        self.queue.set(wired.target, next);
        true
    }

    /// The same of a NIC.
    pub(crate) fn nic_rests(&mut self, now: Instant, nic: usize) -> bool {
        let (nic, target) = &self.nics[nic];
        let next = nic.next_deadline();
        if next.is_some_and(|next| next <= now) {
            return false;
        }
        self.queue.set(*target, next);
        true
    }

    /// Packets of `link` go to this socket at present.
    pub(crate) fn note_reader(&mut self, link: LinkId, reader: Option<SocketId>) {
        self.links[link.index()].reader = reader;
    }

    /// Who gets the next packet of `link`, by and large.
    pub(crate) fn reader(&self, link: LinkId) -> Option<(HostId, InterfaceId, SocketId)> {
        let wired = &self.links[link.index()];
        let (host, interface) = wired.host?;
        Some((host, interface, wired.reader?))
    }

    /// Ask for what is looked at when a packet comes out of `link`,
    pub(crate) fn prefetch_link(&self, link: LinkId) {
        let wired = &self.links[link.index()];
        prefetch(wired);
        wired.link.prefetch_delivery();
    }

    /// for what it knows of its first packet, once that is there,
    pub(crate) fn prefetch_first(&self, link: LinkId) {
        self.links[link.index()].link.prefetch_next();
    }

    /// and then for the packet itself.
    pub(crate) fn prefetch_packet(&self, link: LinkId) {
        self.links[link.index()].link.prefetch_packet();
    }

    /// Ask for what a packet will pass that is sent by way of `hop`: the NIC,
    pub(crate) fn prefetch_nic(&self, hop: FirstHop) {
        if let FirstHop::Nic(nic) = hop {
            prefetch(&self.nics[nic]);
        }
    }

    /// then the link,
    pub(crate) fn prefetch_behind_nic(&self, hop: FirstHop) {
        if let Some(link) = self.first_link(hop) {
            prefetch(&self.links[link.index()]);
            self.links[link.index()].link.prefetch();
        }
    }

    /// and then its queue.
    pub(crate) fn prefetch_queue(&self, hop: FirstHop) {
        if let Some(link) = self.first_link(hop) {
            self.links[link.index()].link.prefetch_queue();
        }
    }

    fn first_link(&self, hop: FirstHop) -> Option<LinkId> {
        match hop {
            FirstHop::Nic(nic) => Some(self.nics[nic].0.next),
            FirstHop::Link(link) => Some(link),
            FirstHop::Nowhere => None,
        }
    }

    /// Something happens to a link.
    pub(crate) fn apply(&mut self, cx: &mut Context<'_>, link: LinkId, change: LinkChange) {
        let wired = &mut self.links[link.index()];
        wired.is_wire = false;
        wired.link.apply(cx, change);
        self.queue.set(wired.target, wired.next_deadline());
    }

    /// A packet passes an interface of a host, in or out.
    #[inline]
    pub(crate) fn tap(
        &mut self,
        now: Instant,
        host: HostId,
        interface: InterfaceId,
        packet: &Packet,
    ) {
        if let Some(capture) = &mut self.capture {
            capture.packet(now, host, interface, packet);
        }
    }

    /// The packet, pushed through bytes and back if that is asked for.
    #[inline]
    pub(crate) fn pass_through(&mut self, packet: Box<Packet>) -> Option<Box<Packet>> {
        if self.through_codec { self.push_through(packet) } else { Some(packet) }
    }

    fn push_through(&mut self, packet: Box<Packet>) -> Option<Box<Packet>> {
        match packet.roundtrip() {
            // A damaged packet must not come through, and its mark is what a receiver sees.
            Err(_) if packet.corrupted => Some(packet),
            Ok(same) if same == *packet => Some(Box::new(same)),
            other => {
                let what = format!("{packet:?} came back as {other:?}");
                self.fault.get_or_insert(Fault::Codec(what));
                None
            }
        }
    }

    /// Count something that happens; false if it is too much, and then nothing more should.
    #[inline]
    pub(crate) fn count_step(&mut self, now: Instant) -> bool {
        match self.guard.step(now) {
            None => true,
            Some(what) => {
                self.report_live_lock(what);
                false
            }
        }
    }

    pub(crate) fn report_live_lock(&mut self, what: &'static str) {
        self.fault.get_or_insert(Fault::LiveLock(what));
    }
}

impl Wired {
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>, queue: &mut EventQueue) -> Option<Box<Packet>> {
        let packet = match &mut self.behind {
            None => self.link.poll(cx),
            Some(behind) => behind.poll(cx, &mut self.link),
        };
        if packet.is_none() {
            queue.set(self.target, self.next_deadline());
        }
        packet
    }

    #[inline]
    fn next_deadline(&self) -> Option<Instant> {
        let link = self.link.next_deadline();
        match self.behind.as_ref().and_then(|behind| behind.middlebox.next_deadline()) {
            None => link,
            Some(held) => Some(link.map_or(held, |link| link.min(held))),
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

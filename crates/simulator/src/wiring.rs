//! What lies between hosts: links, where they end, routers, and the taps on the way.
//!
//! Knows no host; what comes out of a link is handed to `world`. What a link does to a packet is
//! `network`'s.

use crate::capture::Capture;
use crate::event_queue::{EventQueue, Target};
use base::{Context, HostId, Instant, InterfaceId, LinkId};
use network::{Link, LinkChange, LinkConfig, LinkStats};
use std::collections::BTreeMap;
use std::net::IpAddr;
use wire::Packet;

/// Where a link leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEnd {
    /// An interface of a host.
    Host { host: HostId, interface: InterfaceId },
    /// The rest of the way of a packet that leaves this NIC; its host learns of the departure.
    Nic { host: HostId, next: LinkId },
    /// A router, by number.
    Router(u32),
}

/// Something that must not happen, found on the way of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    LiveLock(&'static str),
    Codec(String),
}

/// Links and what is between them.
pub(crate) struct Wiring {
    pub queue: EventQueue,
    links: Vec<Wired>,
    routers: Vec<BTreeMap<IpAddr, LinkId>>,
    /// Push every packet through bytes and back.
    pub through_codec: bool,
    pub capture: Option<Capture>,
    /// The first thing that went wrong.
    pub fault: Option<Fault>,
}

/// A link in its place.
struct Wired {
    link: Link,
    end: LinkEnd,
    target: Target,
}

impl Wiring {
    pub(crate) const fn new() -> Self {
        Wiring {
            queue: EventQueue::new(),
            links: Vec::new(),
            routers: Vec::new(),
            through_codec: false,
            capture: None,
            fault: None,
        }
    }

    /// A link that draws its chance as `owner`.
    pub(crate) fn add_link(&mut self, config: LinkConfig, owner: u64, end: LinkEnd) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        let target = self.queue.add_target();
        self.links.push(Wired { link: Link::new(id, config, owner), end, target });
        id
    }

    /// A router without routes.
    pub(crate) fn add_router(&mut self) -> u32 {
        self.routers.push(BTreeMap::new());
        self.routers.len() as u32 - 1
    }

    /// Packets to `destination` leave `router` by `link`.
    pub(crate) fn add_route(&mut self, router: u32, destination: IpAddr, link: LinkId) {
        if let Some(routes) = self.routers.get_mut(router as usize) {
            routes.insert(destination, link);
        }
    }

    /// The target that wakes `link`.
    pub(crate) fn target_of(&self, link: LinkId) -> Target {
        self.links[link.index()].target
    }

    pub(crate) fn stats(&self, link: LinkId) -> LinkStats {
        *self.links[link.index()].link.stats()
    }

    /// Put a packet on a link.
    pub(crate) fn enqueue(&mut self, cx: &mut Context<'_>, link: LinkId, packet: Packet) {
        let wired = &mut self.links[link.index()];
        wired.link.enqueue(cx, packet);
        self.queue.set(wired.target, wired.link.next_deadline());
    }

    /// The next packet that comes out of `link` now, and where.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, link: LinkId) -> Option<(LinkEnd, Packet)> {
        let wired = &mut self.links[link.index()];
        let packet = wired.link.poll(cx);
        if packet.is_none() {
            self.queue.set(wired.target, wired.link.next_deadline());
        }
        packet.map(|packet| (wired.end, packet))
    }

    /// Send a packet on from a router; without a route it is lost.
    pub(crate) fn route(&mut self, cx: &mut Context<'_>, router: u32, packet: Packet) {
        let routes = self.routers.get(router as usize);
        if let Some(&link) = routes.and_then(|routes| routes.get(&packet.dst)) {
            self.enqueue(cx, link, packet);
        }
    }

    /// Something happens to a link.
    pub(crate) fn apply(&mut self, cx: &mut Context<'_>, link: LinkId, change: LinkChange) {
        let wired = &mut self.links[link.index()];
        wired.link.apply(cx, change);
        self.queue.set(wired.target, wired.link.next_deadline());
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
    pub(crate) fn pass_through(&mut self, packet: Packet) -> Option<Packet> {
        if self.through_codec { self.push_through(packet) } else { Some(packet) }
    }

    fn push_through(&mut self, packet: Packet) -> Option<Packet> {
        match packet.roundtrip() {
            // A damaged packet must not come through, and its mark is what a receiver sees.
            Err(_) if packet.corrupted => Some(packet),
            Ok(same) if same == packet => Some(same),
            Ok(other) => {
                let what = format!("{packet:?} came back as {other:?}");
                self.fault.get_or_insert(Fault::Codec(what));
                None
            }
            Err(error) => {
                self.fault.get_or_insert(Fault::Codec(format!("{packet:?}: {error}")));
                None
            }
        }
    }

    pub(crate) fn report_live_lock(&mut self, what: &'static str) {
        self.fault.get_or_insert(Fault::LiveLock(what));
    }
}

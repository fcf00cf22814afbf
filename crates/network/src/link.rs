//! `Link`: one direction of a link. Queue, then serialisation, then loss, then propagation.
//!
//! With a tail discipline (drop-tail, RED) everything about a packet is known when it is accepted:
//! when its service begins and ends, whether it is lost, when it arrives. It is therefore stored
//! once, with its arrival, without an event in between; the backlog follows from the departures
//! still ahead. Changes of rate, delay and state recompute the arrivals, at a cost proportional to
//! the backlog. A head discipline (CoDel, FQ-CoDel) decides when the link becomes free, which the
//! link makes up for whenever it is called.
//!
//! Order: queue -> serialisation at IP length -> loss (a lost packet has used capacity) -> delay.
//! Duplicates and damage occur after the queue and use no capacity.

use crate::damage::corrupt;
use crate::flight::{Accepted, Flight, Flights};
use crate::jitter::{Jitter, Variation};
use crate::link_config::{Capacity, Limit, LinkChange, LinkConfig};
use crate::link_stats::{Delivered, LinkStats, Mishaps, Taken};
use crate::loss::{Draw, Loss, LossModel};
use crate::queue::{Arrival, Backlog, HeadDiscipline, Held, Queue, Room, Tail, TailDiscipline};
use crate::server::Server;
use base::{
    ChunkQueue, Context, DropReason, Duration, Event, EventMask, Instant, LinkId, Purpose, chunked,
    prefetch,
};
use std::hint::cold_path;
use wire::{Body, Packet};

/// A one-way link.
///
/// In a world with thousands of links none of this is in a cache when a packet arrives, so the
/// fields that every packet needs come first, in this order, and are small: what `poll` needs, then
/// what only `take` needs.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    flights: Flights,
    queue: Queue,
    /// Number of the packets in service or waiting for it on a plain link, if `service` is empty,
    /// and perhaps of some that were served since. They are the last ones in flight, and leave the
    /// constant delay before they arrive: a queue of their services would have a tenth of the
    /// memory of a connection.
    line: u32,
    /// As many of the last packets of a plain link had the same length.
    alike: u32,
    /// Bytes in `service`, or of the packets in line.
    service_bytes: u64,
    delivered: Delivered,
    /// The limit of the queue, if the link is up and what happens to a packet follows from the
    /// length of the queue alone: drop-tail in packets, no loss, no jitter, no damage.
    plain_limit: Option<u32>,
    taken: Taken,
    /// One-way propagation delay.
    delay: Duration,
    server: Server,
    /// Packets in service or waiting for it, in order; a head discipline keeps the waiting ones
    /// itself. Packets whose departure has passed are removed at the next call.
    service: ChunkQueue<Service>,
    mishaps: Mishaps,
    limit: Limit,
    loss: Loss,
    /// Key of this link's random draws.
    owner: u64,
    id: LinkId,
    down: bool,
    /// Whether packets may be damaged or duplicated.
    has_damage: bool,
    /// Whether delays differ between packets.
    varies: bool,
    /// None while all of it follows from the rest, as for most links of a world with thousands.
    rare: Option<Box<Rare>>,
}

/// Fields that few packets need.
#[derive(Debug)]
struct Rare {
    variation: Variation,
    duplicate: f64,
    corrupt: f64,
    /// Serialisation time of a 1500-byte packet at the configured capacity.
    packet_time: Option<Duration>,
    /// Packets dropped by a head discipline; empty between calls.
    dropped: Vec<Held>,
}

/// The service of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    depart: Instant,
    accepted: Accepted,
}

chunked!(Service);

impl Link {
    /// A link whose random draws are keyed by `owner`, which no other link may use.
    pub fn new(id: LinkId, config: LinkConfig, owner: u64) -> Self {
        let packet_time = config.capacity.typical_packet_time();
        let variation = Variation::new(config.jitter, config.reorder);
        let mut link = Link {
            flights: Flights::new(variation.overtakes()),
            queue: Queue::new(config.queue, packet_time),
            delivered: Delivered::default(),
            taken: Taken::default(),
            mishaps: Mishaps::default(),
            service: ChunkQueue::new(),
            service_bytes: 0,
            line: 0,
            alike: 0,
            server: Server::new(config.capacity),
            delay: config.delay,
            limit: config.limit,
            loss: Loss::new(config.loss, packet_time),
            owner,
            id,
            down: false,
            has_damage: config.corrupt > 0.0 || config.duplicate > 0.0,
            varies: variation.exists(),
            rare: None,
            plain_limit: None,
        };
        let is_rare = link.has_damage || link.varies;
        if is_rare || !matches!(link.queue, Queue::Tail(Tail::DropTail(_))) {
            let (duplicate, corrupt) = (config.duplicate, config.corrupt);
            let rare = Rare { variation, duplicate, corrupt, packet_time, dropped: Vec::new() };
            link.rare = Some(Box::new(rare));
        }
        link.check_plain();
        link
    }

    /// What few packets need, written down if it is not yet.
    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| {
            let packet_time = self.server.typical_packet_time();
            let variation = Variation::new(Jitter::default(), 0.0);
            let (duplicate, corrupt) = (0.0, 0.0);
            Box::new(Rare { variation, duplicate, corrupt, packet_time, dropped: Vec::new() })
        })
    }

    /// After a change of what a packet may meet.
    fn check_plain(&mut self) {
        let is_plain = matches!(self.queue, Queue::Tail(Tail::DropTail(_)))
            && matches!(self.loss, Loss::None)
            && !(self.down || self.has_damage || self.varies);
        self.plain_limit = match self.limit {
            Limit::Packets(most) if is_plain => Some(most),
            _ => None,
        };
    }

    /// Send a packet. Returns whether the link accepted it; otherwise it is dropped.
    pub fn enqueue(&mut self, cx: &mut Context<'_>, packet: impl Into<Box<Packet>>) -> bool {
        let packet = packet.into();
        let (len, before) = (packet.wire_len(), self.taken.packets);
        self.take(cx, packet, len);
        self.taken.packets > before
    }

    /// Count a packet that a wire (`LinkConfig::is_wire`) let through.
    pub const fn count_passed(&mut self, len: u32) {
        self.taken.count(len);
        self.delivered.count(len);
    }

    /// Send a packet whose length on the wire is known to be `len`. Returns when to poll next
    /// unless the packet changed nothing about that.
    // Saves a call a packet.
    #[inline(always)]
    pub fn take(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, len: u32) -> Option<Instant> {
        debug_assert_eq!(len, packet.wire_len());
        // The usual link: one question for all that others ask.
        if let Some(most) = self.plain_limit
            && cx.has_short_ways()
            && self.service.is_empty()
        {
            return self.take_plain(cx, most, packet, len);
        }
        cold_path();
        self.take_any(cx, packet, len);
        Some(self.next_poll())
    }

    /// The same on a plain link.
    #[inline(always)]
    fn take_plain(
        &mut self,
        cx: &mut Context<'_>,
        most: u32,
        packet: Box<Packet>,
        len: u32,
    ) -> Option<Instant> {
        // As long as too many are no more than there were, who was served does not matter.
        let most_before = self.taken.max_backlog;
        let mut first_len = None;
        if self.line > most
            || u64::from(self.line) > most_before.packets
            || self.service_bytes + u64::from(len) > most_before.bytes
            || cx.wants(EventMask::QUEUE)
        {
            first_len = self.leave_line(cx.now);
            // The packet in service does not wait, and the new one would.
            if self.line > most {
                self.refuse(cx, len, DropReason::QueueFull);
                return None;
            }
        }
        let accepted = Accepted::new(self.count_accepted(cx, len), len);
        self.alike = if self.server.last_len() == len { self.alike.saturating_add(1) } else { 1 };
        let depart = self.server.finish(cx.now, len);
        if depart > cx.now {
            self.line += 1;
            self.service_bytes += u64::from(len);
            if let Some(first_len) = first_len {
                let bytes = self.service_bytes - u64::from(first_len);
                self.note(Backlog { packets: u64::from(self.line) - 1, bytes });
            }
        } else {
            // All before it departed, too.
            (self.line, self.service_bytes) = (0, 0);
        }
        let arrival = depart + self.delay;
        let is_first = self.flights.is_empty();
        self.flights.push(Flight { arrival, accepted }, packet);
        is_first.then_some(arrival)
    }

    /// The packets in line that were served leave it. Returns the length of the first of the
    /// others.
    #[inline(always)]
    fn leave_line(&mut self, now: Instant) -> Option<u32> {
        // Half of the links mostly have no queue.
        if self.server.busy_until() <= now {
            (self.line, self.service_bytes) = (0, 0);
            return None;
        }
        self.leave_busy_line(now)
    }

    #[inline(never)]
    fn leave_busy_line(&mut self, now: Instant) -> Option<u32> {
        // To look at the packets was two cache misses each with a thousand connections.
        if self.alike >= self.line
            && let Some(waiting) = self.server.waiting(now)
        {
            let len = self.server.last_len();
            self.line = self.line.min(waiting);
            self.service_bytes = u64::from(self.line) * u64::from(len);
            return (self.line > 0).then_some(len);
        }
        while self.line > 0 {
            // The line ends within the flights, so each run has one at least.
            for flight in self.flights.run_from(self.flights.len() - self.line as usize) {
                let len = flight.accepted.len();
                if departure(&flight, self.delay) > now {
                    return Some(len);
                }
                self.service_bytes -= u64::from(len);
                self.line -= 1;
            }
        }
        None
    }

    /// Write down the services of the packets in line, before something else than a plain packet.
    #[cold]
    fn write_line(&mut self) {
        while self.line > 0 {
            for flight in self.flights.run_from(self.flights.len() - self.line as usize) {
                let depart = departure(&flight, self.delay);
                self.service.push_back(Service { depart, accepted: flight.accepted });
                self.line -= 1;
            }
        }
    }

    #[inline(never)]
    fn take_any(&mut self, cx: &mut Context<'_>, packet: Box<Packet>, len: u32) {
        self.advance(cx);
        if let Err(reason) = self.admit(cx, len) {
            self.refuse(cx, len, reason);
            return;
        }
        let number = self.count_accepted(cx, len);
        if let Queue::Head(head) = &mut self.queue {
            if self.service.is_empty() {
                self.server.idle_until(cx.now);
            }
            head.enqueue(Held { since: cx.now, number, len, packet });
            self.advance_head(cx);
            self.shed(cx);
        } else if let Some(flight) = self.serve(cx, cx.now, number, len) {
            self.launch(cx, flight, packet);
        }
        self.note_backlog();
    }

    #[cold]
    fn refuse(&mut self, cx: &mut Context<'_>, len: u32, reason: DropReason) {
        self.mishaps.count_refused(reason);
        self.record_drop(cx, len, reason);
    }

    /// Count an accepted packet. Returns its place in the order of acceptance.
    #[inline]
    fn count_accepted(&mut self, cx: &mut Context<'_>, len: u32) -> u64 {
        let number = self.taken.count(len);
        cx.record(EventMask::QUEUE, || {
            let link = self.id;
            let waiting = u32::try_from(self.waiting().packets).unwrap_or(u32::MAX);
            Event::PacketAccepted { link, len, waiting }
        });
        number
    }

    #[inline]
    fn note_backlog(&mut self) {
        self.note(self.waiting());
    }

    #[inline]
    fn note(&mut self, backlog: Backlog) {
        let most = &mut self.taken.max_backlog;
        most.packets = most.packets.max(backlog.packets);
        most.bytes = most.bytes.max(backlog.bytes);
    }

    /// Take the next packet that has arrived at the far end by now.
    #[inline(always)]
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Option<Box<Packet>> {
        if matches!(self.queue, Queue::Head(_)) {
            cold_path();
            self.advance(cx);
        }
        let (accepted, packet) = self.flights.pop_due(cx.now)?;
        let (link, len) = (self.id, accepted.len());
        cx.record(EventMask::PACKET, || delivered(link, len, &packet));
        self.delivered.count(len);
        if self.line as usize > self.flights.len() {
            // It arrived before its departure was noted.
            self.line -= 1;
            self.service_bytes -= u64::from(len);
        }
        Some(packet)
    }

    /// When to poll next; `None` if no packet is on the link.
    pub fn next_deadline(&self) -> Option<Instant> {
        let next = self.next_poll();
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// The same; the end of time if no packet is on the link.
    #[inline]
    pub fn next_poll(&self) -> Instant {
        let arrival = self.flights.next_arrival();
        if let Queue::Head(head) = &self.queue
            && head.backlog().packets > 0
            && let Some(service) = self.service.front()
        {
            cold_path();
            return arrival.min(service.depart);
        }
        arrival
    }

    /// Change the link from `cx.now` on.
    pub fn apply(&mut self, cx: &mut Context<'_>, change: LinkChange) {
        self.advance(cx);
        let (link, what) = (self.id, change.name());
        cx.record(EventMask::STATE, || Event::LinkChange { link, what });
        match change {
            LinkChange::Down | LinkChange::Silent => {
                if !std::mem::replace(&mut self.down, true) {
                    self.server.suspend(cx.now);
                    self.suspend();
                }
            }
            LinkChange::Up => {
                if std::mem::replace(&mut self.down, false) {
                    self.reschedule(cx, None);
                    self.advance(cx);
                }
            }
            LinkChange::Rate(rate) => self.set_capacity(cx, Capacity::Rate(rate)),
            LinkChange::Capacity(capacity) => self.set_capacity(cx, capacity),
            LinkChange::Delay(delay) => {
                self.delay = delay;
                self.reroute(cx);
            }
            LinkChange::Loss(loss) => {
                self.loss = Loss::new(loss, self.rare_mut().packet_time);
            }
        }
        self.check_plain();
    }

    /// The backlog at `cx.now`, without the packet in service.
    pub fn backlog(&mut self, cx: &mut Context<'_>) -> Backlog {
        self.advance(cx);
        self.waiting()
    }

    /// Packets on the link: waiting, in service, or in flight, copies included. Packets that are
    /// lost at the end of their service are not counted.
    pub fn in_transit(&self) -> u64 {
        let held = match &self.queue {
            Queue::Head(head) => head.backlog().packets,
            Queue::Tail(_) => 0,
        };
        self.flights.len() as u64 + held
    }

    /// The last known arrival; packets that wait for `Up` are not included.
    pub fn last_arrival(&self) -> Option<Instant> {
        self.flights.last_arrival()
    }

    /// Prefetch what `poll` needs.
    pub fn prefetch_delivery(&self) {
        prefetch(&self.delivered);
    }

    /// Prefetch what every packet needs.
    pub fn prefetch(&self) {
        prefetch(&self.delivered);
        prefetch(&self.taken);
        prefetch(&self.service);
    }

    /// Prefetch what `poll` reads, except the packet.
    pub fn prefetch_next(&self) {
        self.flights.prefetch_first();
    }

    /// Prefetch the packet that `poll` will return.
    pub fn prefetch_packet(&self) {
        self.flights.prefetch_packet();
    }

    /// Prefetch what `enqueue` reads.
    pub fn prefetch_queue(&self) {
        if let (Some(first), Some(last)) = (self.service.front(), self.service.back()) {
            prefetch(first);
            prefetch(last);
        }
        self.flights.prefetch_last();
    }

    /// Counters since the start.
    pub const fn stats(&self) -> LinkStats {
        LinkStats::of(&self.delivered, &self.taken, &self.mishaps)
    }

    /// The link's identifier.
    pub const fn id(&self) -> LinkId {
        self.id
    }

    /// Remove departures that have passed; let a head discipline serve the packets due by now.
    #[inline]
    fn advance(&mut self, cx: &mut Context<'_>) {
        if matches!(self.queue, Queue::Head(_)) {
            return self.advance_head(cx);
        }
        if self.line > 0 {
            self.write_line();
        }
        self.forget_departed(cx.now);
    }

    /// Remove the services that have ended.
    #[inline]
    fn forget_departed(&mut self, now: Instant) {
        while let Some(first) = self.service.front()
            && first.depart <= now
        {
            self.service_bytes -= u64::from(first.accepted.len());
            self.service.pop_front();
        }
    }

    #[inline(never)]
    fn advance_head(&mut self, cx: &mut Context<'_>) {
        while !self.down {
            if let Some(first) = self.service.front() {
                if first.depart > cx.now {
                    return;
                }
                self.service_bytes -= u64::from(first.accepted.len());
                self.service.pop_front();
            }
            let (Queue::Head(head), Some(rare)) = (&mut self.queue, &mut self.rare) else { return };
            if head.backlog().packets == 0 {
                return;
            }
            // The time at which the link became free, which may be past. Later arrivals were not
            // enqueued yet, so the discipline sees the queue as it was at that time.
            let at = self.server.busy_until();
            let held = head.dequeue(at, &mut rare.dropped);
            self.record_dropped(cx, DropReason::Early);
            if let Some(Held { number, len, packet, .. }) = held
                && let Some(flight) = self.serve(cx, at, number, len)
            {
                self.launch(cx, flight, packet);
            }
        }
    }

    /// Put an accepted packet into service. Returns its flight, unless it is lost.
    #[inline(always)]
    fn serve(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        number: u64,
        len: u32,
    ) -> Option<Flight> {
        let depart = self.server.finish(at, len);
        if depart > cx.now {
            let accepted = Accepted::new(number, len);
            self.service.push_back(Service { depart, accepted });
            self.service_bytes += u64::from(len);
        }
        // A packet that never leaves (rate zero) must not advance a model that runs on time to
        // the end of time.
        let time = if depart == Instant::FAR_FUTURE { cx.now } else { depart };
        let draw = Draw { chance: cx.chance, owner: self.owner, number };
        if self.loss.loses(&draw, time) {
            self.mishaps.lost += 1;
            self.record_drop(cx, len, DropReason::Random);
            return None;
        }
        let arrival = self.arrival(depart, &draw);
        Some(Flight { arrival, accepted: Accepted::new(number, len) })
    }

    /// Put a packet in flight, possibly damaged or with a copy.
    #[inline(always)]
    fn launch(&mut self, cx: &Context<'_>, flight: Flight, mut packet: Box<Packet>) {
        if self.has_damage {
            self.damage_or_duplicate(cx, flight, &mut packet);
        }
        self.flights.push(flight, packet);
    }

    fn damage_or_duplicate(&mut self, cx: &Context<'_>, flight: Flight, packet: &mut Packet) {
        let Some(rare) = &self.rare else { return };
        let (chance, owner, number) = (cx.chance, self.owner, flight.accepted.number());
        if chance.happens(rare.corrupt, owner, Purpose::Corrupt, number) {
            self.mishaps.corrupted += 1;
            corrupt(packet, chance.bits(owner, Purpose::CorruptBit, number));
        }
        if chance.happens(rare.duplicate, owner, Purpose::Duplicate, number) {
            self.mishaps.duplicated += 1;
            self.flights.push(flight, Box::new(packet.clone()));
        }
    }

    /// Arrival of a packet whose service ends at `depart`.
    #[inline]
    fn arrival(&mut self, depart: Instant, draw: &Draw) -> Instant {
        if self.varies
            && let Some(rare) = &mut self.rare
        {
            return rare.variation.arrival(depart, self.delay, draw);
        }
        depart + self.delay
    }

    /// Whether a packet of `len` bytes is accepted.
    #[inline]
    fn admit(&mut self, cx: &mut Context<'_>, len: u32) -> Result<(), DropReason> {
        if self.down {
            return Err(DropReason::Down);
        }
        if let (Queue::Tail(Tail::DropTail(_)), Limit::Packets(most)) = (&self.queue, self.limit) {
            // The usual queue: nothing but its length counts.
            let fits = self.service.len() <= most as usize || self.service.is_empty();
            return if fits { Ok(()) } else { Err(DropReason::QueueFull) };
        }
        let room = self.room(cx.now);
        let backlog = self.waiting();
        let idle_since = self.service.is_empty().then(|| self.server.busy_until());
        match &mut self.queue {
            Queue::Tail(tail) => tail.admit(&Arrival {
                now: cx.now,
                chance: cx.chance,
                owner: self.owner,
                len,
                backlog,
                idle_since,
                room,
            }),
            Queue::Head(_) if idle_since.is_some() || room.fits(backlog, len) => Ok(()),
            Queue::Head(head) if head.sheds() && room.fits(Backlog::default(), len) => Ok(()),
            Queue::Head(_) => Err(DropReason::QueueFull),
        }
    }

    /// A head discipline that took a packet beyond the limit drops packets of its choice.
    fn shed(&mut self, cx: &mut Context<'_>) {
        let room = self.room(cx.now);
        let (Queue::Head(head), Some(rare)) = (&mut self.queue, &mut self.rare) else { return };
        while head.sheds() && !room.holds(head.backlog()) {
            head.shed(&mut rare.dropped);
        }
        self.record_dropped(cx, DropReason::QueueFull);
    }

    fn room(&self, now: Instant) -> Room {
        match self.limit {
            Limit::Packets(packets) => Room::Packets(u64::from(packets)),
            limit => Room::Bytes(self.server.byte_limit(limit, now).unwrap_or(u64::MAX)),
        }
    }

    /// The backlog, given that the first packet of `service` is being served.
    #[inline]
    fn waiting(&self) -> Backlog {
        match &self.queue {
            Queue::Head(head) => head.backlog(),
            Queue::Tail(_) if self.line > 0 => {
                let first = self.flights.get(self.flights.len() - self.line as usize);
                let first_len = first.map_or(0, |first| first.accepted.len());
                Backlog {
                    packets: u64::from(self.line) - 1,
                    bytes: self.service_bytes - u64::from(first_len),
                }
            }
            Queue::Tail(_) => self.service.front().map_or(Backlog::default(), |first| Backlog {
                packets: self.service.len() as u64 - 1,
                bytes: self.service_bytes - u64::from(first.accepted.len()),
            }),
        }
    }

    fn set_capacity(&mut self, cx: &mut Context<'_>, capacity: Capacity) {
        let left =
            self.service.front().and_then(|first| self.server.work_left(cx.now, first.depart));
        let remembers = matches!(capacity, Capacity::Rate(_));
        // It has what follows from the configured capacity.
        self.rare_mut();
        self.server.set_capacity(cx.now, capacity);
        if !self.down {
            self.reschedule(cx, left.filter(|_| remembers));
            self.advance(cx);
        }
    }

    /// Suspend service; queued packets stay queued.
    fn suspend(&mut self) {
        for service in self.service.iter_mut() {
            service.depart = Instant::FAR_FUTURE;
        }
        let base = self.service.front().map_or(u64::MAX, |first| first.accepted.number());
        let service = &self.service;
        self.flights
            .reschedule(|number| position(service, base, number).map(|_| Instant::FAR_FUTURE));
    }

    /// Serve the packets that have not left the queue from now on. The first one has only `left`
    /// (in 10^-9 bits) to be served, if that is known; otherwise it is served again.
    fn reschedule(&mut self, cx: &Context<'_>, mut left: Option<u64>) {
        self.server.reset(cx.now);
        for service in self.service.iter_mut() {
            service.depart = match left.take() {
                Some(work) => self.server.finish_work(cx.now, work),
                None => self.server.finish(cx.now, service.accepted.len()),
            };
        }
        self.reroute(cx);
    }

    /// Recompute the arrivals of the packets that have not left the queue.
    fn reroute(&mut self, cx: &Context<'_>) {
        let Some(first) = self.service.front() else { return };
        let base = first.accepted.number();
        let service = std::mem::take(&mut self.service);
        if self.varies {
            let has_left = |number| position(&service, base, number).is_none();
            let latest = self.flights.latest(has_left);
            self.rare_mut().variation.resume(latest);
        }
        let arrivals: Vec<Instant> = service
            .iter()
            .map(|service| {
                let draw = Draw {
                    chance: cx.chance,
                    owner: self.owner,
                    number: service.accepted.number(),
                };
                self.arrival(service.depart, &draw)
            })
            .collect();
        self.flights
            .reschedule(|number| position(&service, base, number).map(|index| arrivals[index]));
        self.service = service;
    }

    fn record_drop(&self, cx: &mut Context<'_>, len: u32, reason: DropReason) {
        let link = self.id;
        cx.record(EventMask::DROP, || Event::PacketDropped { link, len, reason });
    }

    fn record_dropped(&mut self, cx: &mut Context<'_>, reason: DropReason) {
        let link = self.id;
        let dropped = self.rare.iter_mut().flat_map(|rare| rare.dropped.drain(..));
        for Held { len, .. } in dropped {
            self.mishaps.dropped_queued += 1;
            self.mishaps.shed += u64::from(reason == DropReason::QueueFull);
            cx.record(EventMask::DROP, || Event::PacketDropped { link, len, reason });
        }
    }
}

/// When a packet in line departs, on a link with this delay.
#[inline]
fn departure(flight: &Flight, delay: Duration) -> Instant {
    let never = flight.arrival == Instant::FAR_FUTURE;
    if never { flight.arrival } else { flight.arrival - delay }
}

/// The place of packet `number` in `service`, whose first is `base`. A tail discipline accepts and
/// serves in one order, so numbers are consecutive; a head discipline has one packet in service.
fn position(service: &ChunkQueue<Service>, base: u64, number: u64) -> Option<usize> {
    let index = usize::try_from(number.checked_sub(base)?).ok()?;
    (service.get(index)?.accepted.number() == number).then_some(index)
}

/// The event of a delivery; TCP's sequence number, or the place of a fragment in its datagram,
/// distinguishes packets of one flow.
fn delivered(link: LinkId, len: u32, packet: &Packet) -> Event {
    let flow = packet.flow;
    let (seq, payload_len) = match &packet.body {
        Body::Tcp(segment) => (segment.seq.0, segment.payload.len()),
        Body::Fragment(part) => {
            let place = u32::from(part.identification) << 16 | u32::from(part.offset);
            (place, part.payload.len())
        }
        Body::Udp(_) | Body::Sctp(_) | Body::Icmp(_) | Body::Opaque(_) => (0, packet.payload_len()),
    };
    Event::PacketDelivered { link, len, flow, seq, payload_len }
}

#[cfg(test)]
mod tests;

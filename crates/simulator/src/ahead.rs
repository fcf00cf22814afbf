//! Looking ahead: the memory that the next events need is prefetched while others are handled.
//!
//! A packet is followed over several events until it arrives, in steps. Each step follows pointers
//! that an earlier one loaded, and a processor waits if more than a dozen lines are on their way.
//! The steps: the link; its first entry and the NIC of the answer; the connection; the packet, the
//! link of the answer, and the part of the connection that receives or that sends; and last what
//! these refer to.

use crate::event_queue::Upcoming;
use crate::fabric::{Fabric, FirstHop};
use crate::host::Host;
use base::{HostId, SocketId};
use traffic::Application;

/// Number of events before its arrival from which a packet is followed. The queue keeps more in
/// order.
pub(crate) const DISTANCE: usize = 14;
/// Number of events after the first step at which each of the others follows.
const STEPS: [usize; 4] = [3, 6, 9, 12];
/// More than the last of them.
const PLACES: usize = 16;

/// A bit for each step.
const ALL: u32 = 1 << STEPS[0] | 1 << STEPS[1] | 1 << STEPS[2] | 1 << STEPS[3];

/// A packet that is followed, and where its link leads to.
#[derive(Clone, Copy, Debug)]
struct Followed {
    /// Number of the link.
    link: u32,
    host: HostId,
    /// The socket probably reads, and does not send.
    reads: bool,
    socket: SocketId,
    /// The first hop of the answer.
    hop: FirstHop,
}

/// The packets that are followed.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The last event that was examined, by its place in the order.
    place: u128,
    /// By the number of the event that was handled at the first step, modulo `PLACES`.
    followed: [Followed; PLACES],
    /// Of the last events, the last one in the lowest bit: whether a packet is followed since.
    since: u32,
    event: usize,
}

impl Ahead {
    pub(crate) const fn new() -> Ahead {
        let (host, socket, hop) = (HostId(0), SocketId(0), FirstHop::Nowhere);
        let nothing = Followed { link: 0, host, reads: false, socket, hop };
        Ahead { place: 0, followed: [nothing; PLACES], since: 0, event: 0 }
    }

    /// Before an event: follows the packet that arrives some events ahead, if there is one.
    #[inline(never)]
    pub(crate) fn look<A: Application>(&mut self, hosts: &[Host<A>], fabric: &Fabric) {
        self.event = self.event.wrapping_add(1);
        self.since <<= 1;
        // Events that are inserted in between push others back, which were seen before.
        if let Some(Upcoming { target, place }) = fabric.queue.upcoming(DISTANCE)
            && place > self.place
        {
            self.place = place;
            fabric.queue.prefetch(target);
            if let Some(link) = fabric.link(target.0) {
                link.prefetch();
                self.after(0).link = target.0;
                self.since |= 1;
            }
        }
        if self.since & ALL != 0 {
            self.step(hosts, fabric);
        }
    }

    /// The next step of each packet that is due for one.
    fn step<A: Application>(&mut self, hosts: &[Host<A>], fabric: &Fabric) {
        let since = self.since;
        let is_due = |step: usize| since & 1 << STEPS[step] != 0;
        if is_due(0) {
            let first = self.after(STEPS[0]);
            match follow(hosts, fabric, first.link) {
                Some(followed) => *first = followed,
                None => self.since &= !(1 << STEPS[0]),
            }
        }
        if is_due(1) {
            let second = self.after(STEPS[1]);
            hosts[second.host.index()].prefetch(second.socket);
        }
        if is_due(2) {
            let third = self.after(STEPS[2]);
            fabric.prefetch_packet(third.link);
            fabric.prefetch_behind_nic(third.hop);
            third.reads = hosts[third.host.index()].prefetch_more(third.socket);
        }
        if is_due(3) {
            let fourth = self.after(STEPS[3]);
            fabric.prefetch_queue(fourth.hop);
            hosts[fourth.host.index()].prefetch_last(fourth.socket, fourth.reads);
        }
    }

    /// The packet of which the first step was `events` events ago.
    #[inline]
    fn after(&mut self, events: usize) -> &mut Followed {
        &mut self.followed[self.event.wrapping_sub(events) % PLACES]
    }
}

/// Where a link leads to, whose memory is in the cache.
#[inline]
fn follow<A: Application>(hosts: &[Host<A>], fabric: &Fabric, number: u32) -> Option<Followed> {
    let link = fabric.link(number)?;
    let (id, interface, socket) = link.reader()?;
    let host = hosts.get(id.index())?;
    link.prefetch_first();
    let hop = host.first_hop(interface);
    fabric.prefetch_nic(hop);
    host.prefetch_socket(socket);
    Some(Followed { link: number, host: id, reads: false, socket, hop })
}

//! Looking ahead: the memory that the next events need is prefetched while others are handled.
//!
//! A packet is followed from an event that is some events ahead until it arrives. What is
//! prefetched of it takes several steps, since each follows a pointer that the step before loaded:
//! the link, its first packet and the way back, the connection, what that refers to.

use crate::event_queue::Upcoming;
use crate::fabric::{Fabric, FirstHop};
use crate::host::Host;
use base::{HostId, SocketId};
use traffic::Application;

/// How many events after the next one a packet is followed from. The queue keeps more in order.
pub(crate) const DISTANCE: usize = 12;
/// After so many events each of the other steps is taken.
const STEPS: [usize; 3] = [3, 6, 9];
/// More than the last of them.
const PLACES: usize = 16;

/// A packet that is followed, and where its link leads to.
#[derive(Clone, Copy, Debug)]
struct Followed {
    /// Number of the link; of no packet the largest one.
    link: u32,
    host: HostId,
    socket: SocketId,
    /// The first hop of the answer.
    hop: FirstHop,
}

/// No packet.
const NONE: Followed =
    Followed { link: u32::MAX, host: HostId(0), socket: SocketId(0), hop: FirstHop::Nowhere };

/// The packets that are followed.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The last event that was looked at, by its place in the order.
    place: u128,
    /// By the number of the event that was handled when it was looked at.
    followed: [Followed; PLACES],
    event: usize,
}

impl Ahead {
    pub(crate) const fn new() -> Ahead {
        Ahead { place: 0, followed: [NONE; PLACES], event: 0 }
    }

    /// Before an event: follows the packet that arrives some events ahead, if there is one.
    #[inline(never)]
    pub(crate) fn look<A: Application>(&mut self, hosts: &[Host<A>], fabric: &Fabric) {
        self.event += 1;
        let next = self.next(fabric);
        *self.after(0) = next;
        let first = self.after(STEPS[0]);
        if first.link != NONE.link {
            *first = follow(hosts, fabric, first.link).unwrap_or(NONE);
        }
        let second = *self.after(STEPS[1]);
        if let Some(host) = second.host(hosts) {
            fabric.prefetch_packet(second.link);
            fabric.prefetch_behind_nic(second.hop);
            host.prefetch(second.socket);
        }
        let third = *self.after(STEPS[2]);
        if let Some(host) = third.host(hosts) {
            fabric.prefetch_queue(third.hop);
            host.prefetch_more(third.socket);
        }
    }

    /// What was looked at so many events ago.
    #[inline]
    fn after(&mut self, events: usize) -> &mut Followed {
        &mut self.followed[self.event.wrapping_sub(events) % PLACES]
    }

    /// The packet that arrives some events ahead, unless it was looked at.
    #[inline]
    fn next(&mut self, fabric: &Fabric) -> Followed {
        // Events that are inserted in between push others back, which were seen before.
        if let Some(Upcoming { target, place }) = fabric.queue.upcoming(DISTANCE)
            && place > self.place
        {
            self.place = place;
            if let Some(link) = fabric.link(target.0) {
                link.prefetch();
                return Followed { link: target.0, ..NONE };
            }
        }
        NONE
    }
}

impl Followed {
    /// The host that it arrives at.
    #[inline]
    fn host<A>(self, hosts: &[Host<A>]) -> Option<&Host<A>> {
        if self.link == NONE.link { None } else { hosts.get(self.host.index()) }
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
    Some(Followed { link: number, host: id, socket, hop })
}

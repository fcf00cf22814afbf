//! Looking ahead: the memory that the next events need is prefetched while others are handled.
//!
//! A packet is followed from an event that is some events ahead until it arrives, in several steps.
//! Each follows pointers that a step before loaded, and a processor waits if it is asked for more
//! than a dozen cache lines at a time. First the link, then its first entry and the NIC of the
//! answer, the connection, the packet and the way back with the rest of the connection by what it
//! does, and last what all of them refer to.

use crate::event_queue::Upcoming;
use crate::fabric::{Fabric, FirstHop};
use crate::host::Host;
use base::{HostId, SocketId};
use traffic::Application;

/// How many events after the next one a packet is followed from. The queue keeps more in order.
pub(crate) const DISTANCE: usize = 14;
/// After so many events each of the other steps is taken.
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
    /// The last event that was looked at, by its place in the order.
    place: u128,
    /// By the number of the event that was handled when they were first looked at.
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

    /// The next steps of the packets whose turn it is.
    fn step<A: Application>(&mut self, hosts: &[Host<A>], fabric: &Fabric) {
        let since = self.since;
        let has_turn = |step: usize| since & 1 << STEPS[step] != 0;
        if has_turn(0) {
            let first = self.after(STEPS[0]);
            match follow(hosts, fabric, first.link) {
                Some(followed) => *first = followed,
                None => self.since &= !(1 << STEPS[0]),
            }
        }
        if has_turn(1) {
            let second = self.after(STEPS[1]);
            hosts[second.host.index()].prefetch(second.socket);
        }
        if has_turn(2) {
            let third = self.after(STEPS[2]);
            fabric.prefetch_packet(third.link);
            fabric.prefetch_behind_nic(third.hop);
            third.reads = hosts[third.host.index()].prefetch_more(third.socket);
        }
        if has_turn(3) {
            let fourth = self.after(STEPS[3]);
            fabric.prefetch_queue(fourth.hop);
            hosts[fourth.host.index()].prefetch_last(fourth.socket, fourth.reads);
        }
    }

    /// What was first looked at so many events ago.
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

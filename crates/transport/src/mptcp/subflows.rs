//! All subflows of a connection by their path numbers, and which of them may have something to
//! send.

use super::numbers::SendNumbers;
use super::remove_addr::RemovalCheck;
use super::stage::Stage;
use super::subflow::SubflowEntry;
use crate::congestion::Controller;
use crate::info::{PathInfo, RetiredPath};
use crate::multipath::{PathAccount, Sender};
use crate::recovery::Space;
use crate::scheduler::PathSet;
use crate::tcp::subflow::Tuple;
use base::{Context, Instant, InterfaceId, PathId};
use std::net::{IpAddr, SocketAddr};
use std::ops::{Index, IndexMut};
use wire::mptcp::{Mapping, MptcpOption, MptcpOptions};

/// The path of the first subflow.
pub(super) const FIRST: PathId = PathId(0);

/// The subflows of a connection. A path number is the index of its subflow. The number of a closed
/// subflow is given to a new one, except that of the connection's first subflow.
#[derive(Debug, Default)]
pub struct Subflows {
    entries: Vec<SubflowEntry>,
    /// Sums over former subflows whose path numbers were given to new ones.
    retired: Vec<RetiredPath>,
    /// Payload held by all of them, in bytes.
    held: u64,
    /// Those that may have something to send, in order: mostly one, which makes a vector faster
    /// than a ring.
    queue: Vec<usize>,
    /// Each learns what to acknowledge and which window to announce only when it has something to
    /// send: where that only copies values, and all were informed at least once.
    informs_late: bool,
}

impl Index<usize> for Subflows {
    type Output = SubflowEntry;

    #[inline]
    fn index(&self, index: usize) -> &SubflowEntry {
        &self.entries[index]
    }
}

impl IndexMut<usize> for Subflows {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut SubflowEntry {
        &mut self.entries[index]
    }
}

impl Index<PathId> for Subflows {
    type Output = SubflowEntry;

    #[inline]
    fn index(&self, path: PathId) -> &SubflowEntry {
        &self.entries[path.index()]
    }
}

impl IndexMut<PathId> for Subflows {
    #[inline]
    fn index_mut(&mut self, path: PathId) -> &mut SubflowEntry {
        &mut self.entries[path.index()]
    }
}

impl<'a> IntoIterator for &'a mut Subflows {
    type Item = &'a mut SubflowEntry;
    type IntoIter = std::slice::IterMut<'a, SubflowEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter_mut()
    }
}

impl Subflows {
    /// Number of subflows, closed ones included.
    #[inline]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// All of them in the order of their numbers.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, SubflowEntry> {
        self.entries.iter()
    }

    /// The same, to be changed.
    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, SubflowEntry> {
        self.entries.iter_mut()
    }

    /// The first one.
    #[inline]
    pub fn first(&self) -> Option<&SubflowEntry> {
        self.entries.first()
    }

    /// The first one, to be changed.
    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut SubflowEntry> {
        self.entries.first_mut()
    }

    /// The one of that number.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&SubflowEntry> {
        self.entries.get(index)
    }

    /// The one of that number, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut SubflowEntry> {
        self.entries.get_mut(index)
    }

    /// Add a subflow, in the place of one that is over if its number is taken.
    pub fn add(
        &mut self,
        entry: SubflowEntry,
        controller: &Controller,
        sender: &mut Sender,
    ) -> usize {
        let index = entry.path.index();
        debug_assert_eq!(entry.path, entry.tcp.path(), "one subflow for each path number");
        debug_assert!(index <= self.entries.len(), "path numbers have no gaps");
        match self.entries.get_mut(index) {
            Some(place) => {
                debug_assert!(place.is_free() && index > 0, "the number is not in use");
                let over = std::mem::replace(place, entry);
                let sent = sender.take_account(over.path);
                self.retire(&over, controller, sent);
            }
            None => self.entries.push(entry),
        }
        self.informs_late = false;
        self.wake(index);
        index
    }

    /// Adds the counters of a former subflow whose number is given to a new one.
    fn retire(&mut self, entry: &SubflowEntry, controller: &Controller, sent: PathAccount) {
        let tcp = entry.tcp.info(controller);
        let over = RetiredPath {
            interface: entry.interface,
            first_sent_bytes: sent.first_sent_bytes,
            segs_retrans: tcp.segs_retrans,
            spurious_retrans: tcp.spurious_retrans,
            reinjected_bytes: sent.reinjected_bytes,
            reinjected_segs: sent.reinjected_segs,
        };
        match self.retired.iter_mut().find(|retired| retired.interface == over.interface) {
            Some(retired) => retired.add(&over),
            None => self.retired.push(over),
        }
    }

    /// Sums over former subflows whose numbers were given to new ones.
    pub fn retired(&self) -> &[RetiredPath] {
        &self.retired
    }

    /// The number of the next subflow: a new one, then one whose subflow is over; `None` if there
    /// are too many.
    pub fn next_path(&self) -> Option<PathId> {
        let used = u8::try_from(self.entries.len()).unwrap_or(u8::MAX);
        if used < PathSet::CAPACITY {
            return Some(PathId(used));
        }
        self.entries.iter().skip(1).find(|entry| entry.is_free()).map(|entry| entry.path)
    }

    /// The subflow may have something to send.
    #[inline(always)]
    pub fn wake(&mut self, index: usize) {
        if !std::mem::replace(&mut self.entries[index].queued, true) {
            self.queue.push(index);
            debug_assert!(self.queue.len() <= self.entries.len(), "each is queued once");
        }
    }

    /// A segment of the subflow was handled: it may hold more or less, and have something to send.
    #[inline(always)]
    pub fn after_segment(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        self.held -= entry.held;
        self.held += entry.count_held();
        // `wake`, with the subflow at hand.
        if !std::mem::replace(&mut entry.queued, true) {
            self.queue.push(index);
        }
        self.check_held();
    }

    /// The first one that may have something to send.
    #[inline]
    pub fn first_queued(&self) -> Option<usize> {
        self.queue.first().copied()
    }

    /// Whether none has anything to send. At most one is looked at, which is forgotten then.
    #[inline]
    pub fn are_at_rest(&mut self) -> bool {
        match self.queue[..] {
            [] => true,
            [only] if self.entries[only].tcp.is_at_rest() => {
                self.pop_queued();
                true
            }
            _ => false,
        }
    }

    /// The first one has nothing more to send.
    #[inline]
    pub fn pop_queued(&mut self) {
        let index = match self.queue[..] {
            [] => return,
            [only] => {
                self.queue.clear();
                only
            }
            _ => self.queue.remove(0),
        };
        debug_assert!(self.entries[index].queued);
        self.entries[index].queued = false;
    }

    /// Whether each learns what to acknowledge and which window to announce only when it has
    /// something to send.
    #[inline]
    pub const fn informs_late(&self) -> bool {
        self.informs_late
    }

    /// All were told. `late`: from now on only when one has something to send.
    #[inline]
    pub const fn set_informed(&mut self, late: bool) {
        self.informs_late = late;
    }

    /// None may have something to send.
    #[inline]
    pub fn is_queue_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Their state, for measurement. `numbers`: `None` after a fallback.
    pub(super) fn infos(
        &self,
        sender: &Sender,
        numbers: Option<&SendNumbers>,
        controller: &Controller,
    ) -> Vec<PathInfo> {
        let data = (&sender.queue, numbers);
        let info = |entry: &SubflowEntry| {
            let (probing, sent) = (sender.is_probing(entry.path), sender.account(entry.path));
            PathInfo { probing, ..entry.info(controller, sent, data) }
        };
        self.entries.iter().map(info).collect()
    }

    /// Reset one with these options. Whether it had not ended before.
    pub fn reset(&mut self, cx: &mut Context<'_>, index: usize, options: MptcpOptions) -> bool {
        let entry = &mut self.entries[index];
        if entry.stage() == Stage::Gone {
            return false;
        }
        if let Some(mp) = entry.tcp.multipath() {
            mp.set_reset_options(options);
        }
        entry.tcp.abort(cx);
        self.wake(index);
        true
    }

    /// `bytes` of a packet left the network interface. Whether that lets the subflow send.
    #[inline]
    pub fn on_departed(&mut self, path: PathId, bytes: u32) -> bool {
        let entry = self.entries.get_mut(path.index());
        let released = entry.is_some_and(|entry| entry.tcp.on_departed(bytes));
        if released {
            self.wake(path.index());
        }
        released
    }

    /// Payload held by the TCPs of all of them, in bytes.
    #[inline]
    pub const fn held(&self) -> u64 {
        self.held
    }

    fn check_held(&self) {
        let held = || self.entries.iter().map(|entry| entry.held).sum::<u64>();
        debug_assert_eq!(self.held, held(), "the sum has every part");
    }

    /// A subflow ended. Whether it had not before.
    pub fn on_gone(&mut self, index: usize) -> bool {
        let entry = &mut self.entries[index];
        let ends = entry.on_gone();
        if ends {
            self.held -= std::mem::take(&mut entry.held);
            self.check_held();
        }
        ends
    }

    /// The application read, and `emptied` the buffer: subflows on which an acknowledgement of two
    /// segments or of a pushed one is due send it (Linux `mptcp_cleanup_rbuf`).
    pub fn acknowledge_read(&mut self, emptied: bool) {
        for index in 0..self.entries.len() {
            if self.entries[index].tcp.on_connection_cleanup(emptied) {
                self.wake(index);
            }
        }
    }

    /// Subflows whose own window would double by `space` announce it.
    pub fn acknowledge_doubled(&mut self, space: Space) {
        for index in 0..self.entries.len() {
            if self.entries[index].tcp.would_double_window(space) {
                self.entries[index].tcp.acknowledge();
                self.wake(index);
            }
        }
    }

    /// The window scale of this host, the same on all of them.
    #[inline]
    pub fn window_shift(&self) -> u8 {
        self.entries.first().map_or(0, |entry| entry.tcp.window_shift())
    }

    /// The check of the address of `index` begins, or continues after `sent` keep-alive segments.
    pub fn check_removed(&mut self, now: Instant, index: usize, sent: u32) {
        let entry = &mut self.entries[index];
        entry.removal = Some(RemovalCheck::after(now, entry.tcp.rto(), sent));
        entry.tcp.probe_window();
        self.wake(index);
    }

    /// Make each subflow whose own window is closed ask for it: the window update may have been
    /// lost on a subflow that has not been used since.
    pub fn probe_shut(&mut self) {
        for index in 0..self.entries.len() {
            if self.entries[index].is_usable() && self.entries[index].tcp.is_shut() {
                self.entries[index].tcp.probe_window();
                self.wake(index);
            }
        }
    }

    /// Option bytes that are kept free for the DSS, on all of them.
    pub fn set_option_room(&mut self, room: u32) {
        for entry in &mut self.entries {
            entry.tcp.set_option_room(room);
        }
    }

    /// Repeat a DATA_FIN on every open subflow; `None`: on none any more.
    pub fn set_data_fin(&mut self, mapping: Option<Mapping>) {
        let open = |entry: &&mut SubflowEntry| mapping.is_none() || entry.stage() == Stage::Open;
        for entry in self.entries.iter_mut().filter(open) {
            if let Some(mp) = entry.tcp.multipath() {
                mp.set_data_fin(mapping);
            }
        }
    }

    /// Make the peer answer on every subflow between the addresses of `tuple` and the local port.
    /// Whether there are any.
    pub fn prompt_between(&mut self, tuple: &Tuple) -> bool {
        let mut any = false;
        for index in 0..self.entries.len() {
            let ends = self.entries[index].tcp.tuple();
            let between = ends.local == tuple.local && ends.remote.ip() == tuple.remote.ip();
            if between && self.entries[index].prompt() {
                any = true;
                self.wake(index);
            }
        }
        any
    }

    /// The subflow whose acknowledgements carry options that belong to none: an open one that works
    /// if there is one, not of this host's address `without`.
    pub fn option_carrier(&self, sender: &Sender, without: Option<u8>) -> Option<usize> {
        let open =
            |entry: &SubflowEntry| entry.stage() == Stage::Open && Some(entry.ids.local) != without;
        let works = |entry: &SubflowEntry| open(entry) && !sender.is_failed(entry.path);
        let works = self.entries.iter().position(works);
        works.or_else(|| self.entries.iter().position(open))
    }

    /// Send an option on an acknowledgement of the carrier of options.
    pub fn queue_option(&mut self, sender: &Sender, without: Option<u8>, option: MptcpOption) {
        if let Some(index) = self.option_carrier(sender, without) {
            self.queue_option_on(index, option);
        }
    }

    /// The subflow that carries an option sent `before` times without an answer: each of those that
    /// work in turn, because the queue of one of them may drop it every time.
    pub fn next_carrier(&self, sender: &Sender, before: u32) -> Option<usize> {
        let works = |index: &usize| {
            let entry = &self.entries[*index];
            entry.stage() == Stage::Open && !sender.is_failed(entry.path)
        };
        let working = (0..self.entries.len()).filter(works);
        let turn = before as usize % working.clone().count().max(1);
        working.clone().nth(turn).or_else(|| self.option_carrier(sender, None))
    }

    /// Send an option on an acknowledgement of that subflow.
    pub fn queue_option_on(&mut self, index: usize, option: MptcpOption) {
        self.entries[index].tcp.queue_option(option);
        self.wake(index);
    }

    /// SYNs sent while an address was absent are repeated at its return, not when their back-off is
    /// over.
    pub fn retry_openings_from(&mut self, cx: &Context<'_>, ip: IpAddr) {
        let from = |entry: &&mut SubflowEntry| {
            entry.stage() == Stage::Opening && entry.tcp.tuple().local.ip() == ip
        };
        for entry in self.entries.iter_mut().filter(from) {
            entry.tcp.retry_opening(cx);
        }
    }

    /// The link of an interface went down or came up. A subflow may have the address of another
    /// one: a server has the same for all subflows of a client that knows no other.
    pub fn set_link_down(&mut self, interface: InterfaceId, down: bool) {
        for entry in self.entries.iter_mut().filter(|entry| entry.interface == interface) {
            entry.tcp.set_link_down(down);
        }
    }

    /// Whether one that has not ended is between these.
    pub fn has_pair(&self, local: IpAddr, remote: SocketAddr) -> bool {
        let mut alive = self.entries.iter().filter(|entry| entry.stage() != Stage::Gone);
        alive.any(|entry| {
            let ends = entry.tcp.tuple();
            ends.local.ip() == local && ends.remote == remote
        })
    }

    /// No subflow is left.
    pub fn are_all_gone(&self) -> bool {
        self.entries.iter().all(|entry| entry.stage() == Stage::Gone)
    }

    /// The DATA_FIN that is set, on every open subflow, behind the data that it may send now.
    pub fn send_data_fin(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.stage() == Stage::Open) {
            if let Some(mp) = entry.tcp.multipath() {
                mp.owe_data_fin();
            }
        }
        self.acknowledge_all();
    }

    /// An acknowledgement on every open subflow.
    pub fn acknowledge_all(&mut self) {
        for index in 0..self.entries.len() {
            if self.entries[index].stage() == Stage::Open {
                self.entries[index].tcp.acknowledge();
                self.wake(index);
            }
        }
    }
}

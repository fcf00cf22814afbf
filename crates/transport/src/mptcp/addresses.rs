//! The addresses of both hosts by their identifiers, and announcements of them (RFC 8684 s3.4).

use crate::path_manager::Address;
use base::{Duration, Instant, InterfaceId};
use std::net::{IpAddr, SocketAddr};
use wire::mptcp::AddAddr;

/// Addresses of either host that are kept (Linux `MPTCP_PM_ADDR_MAX`).
const MAX_ADDRESSES: usize = 8;
/// An announcement that is not echoed is repeated after this (Linux `add_addr_timeout`: 120 s,
/// shortened by newer kernels to the scale of the RTO).
const REPEAT_ANNOUNCEMENT: Duration = Duration::from_secs(1);
/// Repetitions after which others do not wait for the echo any more, and mainline sends no further
/// one. Those after which nothing arrived are not counted, because then the path failed and not the
/// peer.
const MAX_REPETITIONS: u32 = 3;
/// Largest number of doublings of the interval.
const DOUBLINGS: u32 = 6;

/// An address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalAddress {
    pub id: u8,
    pub ip: IpAddr,
    pub interface: InterfaceId,
    pub backup: bool,
    /// The address exists, and its link is up.
    pub up: bool,
}

/// An address of the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RemoteAddress {
    pub id: u8,
    pub address: SocketAddr,
}

/// An announcement that waits for its echo, or for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announcement {
    pub option: AddAddr,
    pub due: Instant,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Number of transmissions; 0 while another one waits for its echo.
    pub sent: u32,
    /// Number of transmissions after which something was received.
    pub unheeded: u32,
}

/// The address tables of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    local: Vec<LocalAddress>,
    remote: Vec<RemoteAddress>,
    announced: Vec<Announcement>,
}

impl Addresses {
    /// The addresses of the first subflow have identifier 0; the others of this host follow in
    /// order, those of the same family first.
    pub(crate) fn new(
        first: IpAddr,
        peer: SocketAddr,
        host: &[(IpAddr, InterfaceId)],
        backup: &[IpAddr],
    ) -> Self {
        let mut local = Vec::new();
        let mut id = 1;
        let (same, other): (Vec<_>, Vec<_>) =
            host.iter().partition(|(ip, _)| ip.is_ipv4() == first.is_ipv4());
        let mut all: Vec<_> = same.into_iter().chain(other).collect();
        // Of more than fit, that of the first subflow is one.
        let place = all.iter().position(|(ip, _)| *ip == first);
        if let Some(place) = place.filter(|place| *place >= MAX_ADDRESSES) {
            all.swap(MAX_ADDRESSES - 1, place);
        }
        for (ip, interface) in all.into_iter().take(MAX_ADDRESSES) {
            let own = if ip == first { 0 } else { id };
            id += u8::from(ip != first);
            let backup = backup.contains(&ip);
            local.push(LocalAddress { id: own, ip, interface, backup, up: true });
        }
        let remote = vec![RemoteAddress { id: 0, address: peer }];
        Addresses { local, remote, announced: Vec::new() }
    }

    /// The address of this host with that number.
    pub(crate) fn local(&self, id: u8) -> Option<&LocalAddress> {
        self.local.iter().find(|address| address.id == id)
    }

    /// Whether an address of this host is announced. A connection over IPv4 uses IPv4 alone, one
    /// over IPv6 may use both (Linux `mptcp_pm_addr_families_match`); then IPv4 serves interfaces
    /// without an address of IPv6, so that no path counts twice.
    pub(crate) fn is_announced_to_peer(&self, address: &LocalAddress) -> bool {
        let first_is_ipv4 = self.remote(0).is_none_or(|first| first.address.is_ipv4());
        let same = |ip: IpAddr| ip.is_ipv4() == first_is_ipv4;
        let mut beside = self.local.iter().filter(|each| each.interface == address.interface);
        same(address.ip) || (!first_is_ipv4 && !beside.any(|each| same(each.ip)))
    }

    /// The number of an address of this host.
    pub(crate) fn local_id(&self, ip: IpAddr) -> Option<u8> {
        self.local.iter().find(|address| address.ip == ip).map(|address| address.id)
    }

    /// Add an address of this host, or mark it as up. Its identifier; `None` if there are too many.
    pub(crate) fn add_local(
        &mut self,
        ip: IpAddr,
        interface: InterfaceId,
        backup: bool,
    ) -> Option<u8> {
        if let Some(known) = self.local.iter_mut().find(|known| known.ip == ip) {
            known.up = true;
            known.interface = interface;
            return Some(known.id);
        }
        if self.local.len() >= MAX_ADDRESSES {
            // One that was removed makes room.
            let gone = self.local.iter().position(|known| known.id != 0 && !known.up)?;
            self.local.remove(gone);
        }
        let used = self.local.iter().map(|known| known.id).max().unwrap_or(0);
        let unused = |id: &u8| self.local.iter().all(|known| known.id != *id);
        let id = used.checked_add(1).or_else(|| (1..=u8::MAX).find(unused))?;
        debug_assert!(self.local.iter().all(|known| known.id != id && known.ip != ip));
        self.local.push(LocalAddress { id, ip, interface, backup, up: true });
        Some(id)
    }

    /// An address of this host went down. Its identifier, which is kept for its return.
    pub(crate) fn lose_local(&mut self, ip: IpAddr) -> Option<u8> {
        let known = self.local.iter_mut().find(|known| known.ip == ip)?;
        known.up = false;
        Some(known.id)
    }

    /// The peer's address with that number.
    pub(crate) fn remote(&self, id: u8) -> Option<&RemoteAddress> {
        self.remote.iter().find(|address| address.id == id)
    }

    /// Adds an address of the peer. Returns whether it may be used now: it is new, or announced
    /// again. A number keeps its address until it is withdrawn; its port may change, but not that
    /// of number 0, the first subflow's.
    pub(crate) fn learn(&mut self, id: u8, address: SocketAddr) -> bool {
        if let Some(known) = self.remote.iter_mut().find(|known| known.id == id) {
            let same = known.address.ip() == address.ip();
            if same && id != 0 {
                known.address = address;
            }
            return same;
        }
        let room = self.remote.len() < MAX_ADDRESSES;
        let known = self.remote.iter().any(|known| known.address == address);
        if room && !known {
            self.remote.push(RemoteAddress { id, address });
            debug_assert!(self.remote.len() <= MAX_ADDRESSES);
        }
        room && !known
    }

    /// An ADD_ADDR of the peer arrived on a subflow to its `port`. Whether the address may be used
    /// now. Without a port, one announced again keeps its port, maybe on another subflow.
    pub(crate) fn on_add_addr(&mut self, add: &AddAddr, port: u16) -> bool {
        let before = self.remote(add.address_id).map(|known| known.address);
        let before = before.filter(|known| known.ip() == add.address).map(|known| known.port());
        let port = add.port.or(before).unwrap_or(port);
        self.learn(add.address_id, SocketAddr::new(add.address, port))
    }

    /// The peer joined from an address: its number may have another one behind a NAT.
    pub(crate) fn on_joined_from(&mut self, id: u8, ip: IpAddr) {
        if let Some(known) = self.remote.iter_mut().find(|known| known.id == id && id != 0) {
            known.address.set_ip(ip);
        }
    }

    /// Mark the addresses of this host that `which` picks as backup, or not.
    pub(crate) fn set_backup(&mut self, backup: bool, which: impl Fn(&LocalAddress) -> bool) {
        for address in self.local.iter_mut().filter(|address| which(address)) {
            address.backup = backup;
        }
    }

    /// Whether subflows over an interface are for backup.
    pub(crate) fn is_backup_interface(&self, interface: InterfaceId) -> bool {
        let mut here = self.local.iter().filter(|here| here.interface == interface);
        here.any(|here| here.backup)
    }

    /// The peer removed an address (RFC 8684 s3.4.2); that of number 0 is kept.
    pub(crate) fn forget_remote(&mut self, id: u8) {
        self.remote.retain(|known| known.id != id || id == 0);
    }

    /// Nothing is announced any more.
    pub(crate) fn clear_announcements(&mut self) {
        self.announced.clear();
    }

    /// Addresses as path managers see them: those usable now.
    pub(crate) fn tables(&self) -> (Vec<Address>, Vec<Address>) {
        let up = self.local.iter().filter(|at| at.up);
        let local = up.map(|at| Address { id: at.id, ip: at.ip });
        let remote = self.remote.iter().map(|at| Address { id: at.id, ip: at.address.ip() });
        (local.collect(), remote.collect())
    }

    /// Announces an address. Returns the option if it is to be sent now: only one announcement at a
    /// time waits for its echo, because Linux drops those that arrive while it processes another
    /// one.
    pub(crate) fn announce(&mut self, now: Instant, option: AddAddr) -> Option<AddAddr> {
        self.announced.retain(|open| open.option.address_id != option.address_id);
        let due = Instant::FAR_FUTURE;
        self.announced.push(Announcement { option, due, sent_at: now, sent: 0, unheeded: 0 });
        self.next_announcement(now)
    }

    /// The peer echoed an announcement. Returns the next one to send.
    pub(crate) fn echoed(&mut self, now: Instant, echo: &AddAddr) -> Option<AddAddr> {
        self.announced.retain(|open| open.option.echo() != *echo);
        self.next_announcement(now)
    }

    /// Withdraws an announcement. Returns the next one to send.
    pub(crate) fn unannounce(&mut self, now: Instant, id: u8) -> Option<AddAddr> {
        self.announced.retain(|open| open.option.address_id != id);
        self.next_announcement(now)
    }

    fn next_announcement(&mut self, now: Instant) -> Option<AddAddr> {
        let mut open = self.announced.iter_mut().filter(|open| open.unheeded <= MAX_REPETITIONS);
        let next = open.next().filter(|open| open.sent == 0)?;
        next.due = now + REPEAT_ANNOUNCEMENT;
        next.sent_at = now;
        next.sent = 1;
        Some(next.option)
    }

    /// When an announcement is to be repeated.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.announced.iter().map(|open| open.due).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Announcements to send now, each with the number of times that it was sent before, and the
    /// identifiers of those that others do not wait for any more. The last segment of the peer
    /// arrived at `heard_at`. A queue may have dropped every repetition, so there are further ones,
    /// unless `gives_up` as mainline Linux does (`ADD_ADDR_RETRANS_MAX`).
    pub(crate) fn take_due(
        &mut self,
        now: Instant,
        heard_at: Instant,
        gives_up: bool,
    ) -> (Vec<(AddAddr, u32)>, Vec<u8>) {
        let (mut due, mut over) = (Vec::new(), Vec::new());
        for open in self.announced.iter_mut().filter(|open| open.due <= now) {
            let before = open.unheeded;
            open.unheeded += u32::from(heard_at > open.sent_at);
            let ends = open.unheeded > MAX_REPETITIONS;
            if ends && before <= MAX_REPETITIONS {
                over.push(open.option.address_id);
            }
            if !(ends && gives_up) {
                due.push((open.option, open.sent));
            }
            open.due = now + REPEAT_ANNOUNCEMENT * (1 << open.sent.min(DOUBLINGS));
            open.sent_at = now;
            open.sent += 1;
        }
        self.announced.retain(|open| !(gives_up && open.unheeded > MAX_REPETITIONS));
        due.extend(self.next_announcement(now).map(|option| (option, 0)));
        (due, over)
    }
}

/// Whether two addresses share their leading `bits`.
pub(super) fn share_prefix(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    let (one, other, width) = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (u128::from(one.to_bits()), u128::from(other.to_bits()), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let shift = u32::from(width - bits.min(width));
    one.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use wire::mptcp::Key;

    fn option(id: u8) -> AddAddr {
        AddAddr::signed(Key(1), Key(2), id, Ipv4Addr::new(10, 0, 0, id).into(), None)
    }

    /// Numbers of the addresses announced to the peer of a connection from `first`.
    fn told(first: IpAddr, host: &[(IpAddr, InterfaceId)]) -> Vec<u8> {
        let addresses = Addresses::new(first, SocketAddr::new(first, 80), host, &[]);
        let told = addresses.local.iter().filter(|address| addresses.is_announced_to_peer(address));
        told.map(|address| address.id).collect()
    }

    #[test]
    fn peer_is_told_of_the_addresses_that_it_can_use() {
        let v4 = |net| IpAddr::from([10, 0, net, 1]);
        let v6 = |net| IpAddr::from([0xfd00, 0, 0, net, 0, 0, 0, 1]);
        let both = [(0, v4(0)), (0, v6(0)), (1, v4(1)), (1, v6(1)), (2, v4(2))];
        let host = both.map(|(interface, ip)| (ip, InterfaceId(interface)));
        // 10.0.0.1, 10.0.1.1, 10.0.2.1; not those of IPv6, which follow.
        assert_eq!(told(v4(0), &host), [0, 1, 2]);
        // Both of IPv6; of IPv4 the one whose interface has nothing else.
        assert_eq!(told(v6(0), &host), [0, 1, 4]);
    }

    #[test]
    fn second_announcement_waits_for_the_echo_of_the_first() {
        let now = Instant::ZERO;
        let mut addresses = Addresses::default();
        assert_eq!(addresses.announce(now, option(1)), Some(option(1)));
        assert_eq!(addresses.announce(now, option(2)), None);
        assert_eq!(addresses.deadline(), now + REPEAT_ANNOUNCEMENT);
        assert_eq!(addresses.echoed(now, &option(2).echo()), None, "it was never sent");
        assert_eq!(addresses.announce(now, option(3)), None);
        assert_eq!(addresses.echoed(now, &option(1).echo()), Some(option(3)));
        assert_eq!(addresses.echoed(now, &option(3).echo()), None);
        assert_eq!(addresses.deadline(), Instant::FAR_FUTURE);
    }

    #[test]
    fn address_of_the_first_subflow_is_kept_of_more_than_fit() {
        let ip = |last: u8| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
        let host: Vec<_> = (0..12).map(|last| (ip(last), InterfaceId(u16::from(last)))).collect();
        let peer = SocketAddr::new(ip(99), 80);
        for first in 0..12 {
            let addresses = Addresses::new(ip(first), peer, &host, &[]);
            assert_eq!(addresses.local(0).map(|own| own.ip), Some(ip(first)));
            assert_eq!(addresses.local.len(), MAX_ADDRESSES);
            let mut ids: Vec<u8> = addresses.local.iter().map(|own| own.id).collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..8).collect::<Vec<u8>>(), "{first}");
        }
    }

    #[test]
    fn peer_that_announces_without_end_is_remembered_as_far_as_there_is_room() {
        let mut addresses = Addresses::default();
        let at = |id: u8| SocketAddr::new(Ipv4Addr::new(10, 0, 0, id).into(), 80);
        let taken = (1..=255).filter(|id| addresses.learn(*id, at(*id))).count();
        assert_eq!((taken, addresses.remote.len()), (MAX_ADDRESSES, MAX_ADDRESSES));
    }

    #[test]
    fn peer_that_never_echoes_holds_no_announcement_up_for_ever() {
        let mut addresses = Addresses::default();
        addresses.announce(Instant::ZERO, option(1));
        addresses.announce(Instant::ZERO, option(2));
        let mut sent = Vec::new();
        while addresses.deadline() != Instant::FAR_FUTURE {
            let now = addresses.deadline();
            sent.extend(addresses.take_due(now, now, true).0.into_iter().map(|(option, _)| option));
        }
        assert_eq!(sent.iter().filter(|sent| **sent == option(1)).count(), 3, "repetitions");
        assert_eq!(sent.iter().filter(|sent| **sent == option(2)).count(), 4);
    }

    #[test]
    fn announcement_without_an_echo_is_repeated_while_others_go_on() {
        let mut addresses = Addresses::default();
        addresses.announce(Instant::ZERO, option(1));
        addresses.announce(Instant::ZERO, option(2));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        while addresses.deadline() < Instant::from_secs(300) {
            let now = addresses.deadline();
            for (sent, _) in addresses.take_due(now, now, false).0 {
                let times = if sent == option(1) { &mut first } else { &mut second };
                times.push((now - Instant::ZERO).as_millis() / 1000);
            }
        }
        assert_eq!(first, [1, 3, 7, 15, 31, 63, 127, 191, 255]);
        assert_eq!(second[..5], [15, 16, 18, 22, 30], "from the fourth repetition of the first on");
    }

    #[test]
    fn announcement_is_repeated_until_something_is_heard_again() {
        let mut addresses = Addresses::default();
        addresses.announce(Instant::ZERO, option(1));
        let mut waits = Vec::new();
        for before in 1..=10 {
            let now = addresses.deadline();
            let due = addresses.take_due(now, Instant::ZERO, true);
            assert_eq!(due, (vec![(option(1), before)], Vec::new()));
            waits.push((addresses.deadline() - now).as_millis() / 1000);
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 64, 64, 64, 64]);
    }

    #[test]
    fn first_address_announced_again_may_be_used_again() {
        let first = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), 80);
        let mut addresses = Addresses::new(first.ip(), first, &[], &[]);
        assert!(addresses.learn(0, first));
        let other = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 9).into(), 80);
        assert!(!addresses.learn(0, other), "its number has another address");
    }

    #[test]
    fn address_withdrawn_before_its_echo_makes_way_for_the_next() {
        let mut addresses = Addresses::default();
        addresses.announce(Instant::ZERO, option(1));
        addresses.announce(Instant::ZERO, option(2));
        assert_eq!(addresses.unannounce(Instant::ZERO, 1), Some(option(2)));
    }
}

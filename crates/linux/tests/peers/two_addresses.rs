//! usrsctp and we with two addresses each, in two namespaces: verification, fail-over and return,
//! addresses deleted and added (RFC 5061).
//!
//! Needs root and TUN devices, too; without them every test prints `skipped: ...`.

use crate::ours::{OUR_SEED, Ours, PEER_SEED};
use crate::pattern::Hash;
use crate::sockets::Sockets;
use crate::support::forwarder::Conditions;
use crate::support::world::World;
use crate::tshark;
use crate::usrsctp_peer::{self, UsrsctpPeer, count};
use base::InterfaceId;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;
use transport::sctp::{Addresses, SctpConfig};
use transport::{Input, InterfaceEvent, PathInfo};
use wire::sctp::{Parameter, UdpPorts};

/// Port of SCTP on both sides.
const PORT: u16 = 5000;
/// Port of UDP of the peer, which has a namespace of its own.
const PEER_UDP: u16 = 9899;
const PATIENCE: Duration = Duration::from_secs(60);
const WIRE: Conditions = Conditions { delay: Duration::from_millis(5), drop_every: 0 };

/// Address of an end of wire `number`: 1 is ours, 2 the peer's.
fn address(number: u8, end: u8) -> IpAddr {
    Ipv4Addr::new(10, 2, number, end).into()
}

/// Both ends in their namespaces.
pub(crate) struct Ends {
    pub world: World,
    pub ours: Ours,
    sockets: Sockets,
    pub peer: UsrsctpPeer,
}

impl Ends {
    fn open(arguments: &str) -> Option<Ends> {
        Ends::open_over(&[None, None], arguments, SctpConfig::default())
    }

    /// We open an association over wires of these rates, in the words of tbf; `None`, after
    /// printing the reason, where that is not possible. Moves the thread into our namespace.
    pub(crate) fn open_over(
        rates: &[Option<&str>; 2],
        arguments: &str,
        config: SctpConfig,
    ) -> Option<Ends> {
        if !usrsctp_peer::is_there() {
            return None;
        }
        let world = World::with_kernel(&[WIRE, WIRE])?;
        for (number, rate) in rates.iter().enumerate() {
            if rate.is_some_and(|rate| !world.limit_rate(number, rate)) {
                println!("skipped: the kernel has no tbf");
                return None;
            }
        }
        let local = format!("{},{}", address(0, 2), address(1, 2));
        let start = || {
            let role = format!("server local={local} port={PORT} udp={PEER_UDP}");
            let mut peer = UsrsctpPeer::start(&format!("{role} {arguments}"));
            peer.wait_for("listening");
            peer
        };
        let peer = world.peer.run(start).expect("the namespace of the peer");
        world.engine.enter().expect("our namespace");
        let addresses = [address(0, 1), address(1, 1)];
        let mut sockets = Sockets::bind(&addresses);
        sockets.start_capture();
        let mut ours = Ours::new(&addresses, 1);
        let udp = Some(UdpPorts { src: sockets.port(), dst: PEER_UDP });
        let config = SctpConfig { addresses: Addresses::All, udp, ..config };
        ours.connect(address(0, 1), SocketAddr::new(address(0, 2), PORT), &config);
        let mut ends = Ends { world, ours, sockets, peer };
        ends.await_verification();
        Some(ends)
    }

    /// Until the association is open and the peer has verified our second address. The peer is
    /// asked for its state: on a busy machine its notification is lost at times. So is its
    /// heartbeat; the next one would follow after 30 s, and is requested after 3 s.
    fn await_verification(&mut self) {
        let (ours, second) = (address(1, 1), base::Duration::from_secs(1));
        let verified = format!("state {ours} active");
        let mut next = self.sockets.now();
        let mut late = next + second * 3;
        self.run("verification", |end, peer| {
            if end.is_open() && end.now >= next {
                peer.tell("state");
                next = end.now + base::Duration::from_millis(200);
            }
            if end.is_open() && end.now >= late {
                println!("{:?}: a heartbeat is requested", end.now);
                peer.tell(&format!("heartbeat {ours}"));
                late = end.now + second;
            }
            peer.has_said(&verified)
        });
    }

    pub(crate) fn run(
        &mut self,
        what: &str,
        mut done: impl FnMut(&Ours, &mut UsrsctpPeer) -> bool,
    ) {
        let peer = &mut self.peer;
        self.sockets.run(&mut self.ours, what, PATIENCE, |ours| done(ours, peer));
    }

    /// Both write a little more every 50 ms for a time.
    fn trickle(&mut self, time: Duration) {
        let end = self.sockets.now() + base::Duration::from_nanos(time.as_nanos() as u64);
        while self.sockets.now() < end {
            self.ours.to_write += 10_000;
            let next = self.sockets.now() + base::Duration::from_millis(50);
            self.run("time", |ours, _| ours.now >= next);
        }
    }

    /// Bytes that the paths sent first.
    pub(crate) fn sent(&self) -> Vec<u64> {
        let info = self.ours.socket.and_then(|socket| self.ours.stack.info(socket));
        let paths = info.expect("an association").paths;
        paths.iter().map(|path| path.first_sent_bytes).collect()
    }

    /// Both shut down; everything arrived as it was written. The result is the peer's statistics.
    pub(crate) fn end(mut self, theirs: u64) -> String {
        self.ours.shuts_down = true;
        self.run("the end", |ours, peer| ours.is_over() && peer.has_said("over"));
        let written = self.ours.written;
        let hash = Hash::of_pattern(OUR_SEED, written);
        let received = self.peer.line("received").map(str::to_owned);
        assert_eq!(received, Some(format!("received {written} {:016x}", hash.0)));
        assert_eq!(self.ours.received, theirs);
        assert_eq!(self.ours.hash, Hash::of_pattern(PEER_SEED, theirs));
        let statistics = self.peer.quit_without_fault();
        tshark::find_no_fault(&mut self.sockets);
        statistics
    }
}

/// The primary path is cut for 20 s: data go over the other one after T3-rtx, 1 s at least, and
/// return when a heartbeat is answered again (RFC 7829 s5).
#[test]
fn data_go_over_the_other_address_while_the_primary_is_cut_and_return_to_it() {
    let size = 4 << 20;
    let Some(mut ends) = Ends::open(&format!("send={size}")) else { return };
    ends.ours.to_write = size;
    ends.run("data of both", |ours, _| ours.received >= size && ours.written >= size);
    let before = ends.sent();
    ends.world.control(0).cut.store(true, Ordering::Relaxed);
    ends.trickle(Duration::from_secs(20));
    let during = ends.sent();
    // 20 writes a second, 2 s of which are lost to the time-out on a machine that is not too busy.
    assert!(during[1] - before[1] > 1 << 20, "{before:?} {during:?}: the other path carries");
    ends.world.control(0).cut.store(false, Ordering::Relaxed);
    let mut back = Duration::ZERO;
    while ends.sent()[0] <= during[0] + 100_000 {
        ends.trickle(Duration::from_millis(500));
        back += Duration::from_millis(500);
        // Heartbeats are 1, 2, 4, 8 and 16 s apart.
        assert!(back < PATIENCE, "{during:?} {:?}: the primary is not used again", ends.sent());
    }
    println!("{before:?} {during:?} {:?}: returned after {back:?}", ends.sent());
    ends.end(size);
}

#[test]
fn usrsctp_lets_us_delete_an_address_and_add_it_again_while_data_flow() {
    let Some(mut ends) = Ends::open("asconf=1 send=2000000") else { return };
    ends.ours.to_write = 2_000_000;
    let (interface, ours) = (InterfaceId(1), address(1, 1));
    let change = |ends: &mut Ends, event| {
        ends.ours.with(|stack, cx| stack.handle(cx, Input::Interface { interface, event }));
    };
    change(&mut ends, InterfaceEvent::AddressRemoved(ours));
    let removed = format!("address {ours} removed");
    ends.run("our deletion", |_, peer| peer.has_said(&removed));
    change(&mut ends, InterfaceEvent::AddressAdded(ours));
    let added = format!("address {ours} added");
    ends.run("our addition", |_, peer| peer.has_said(&added));
    ends.trickle(Duration::from_secs(1));
    ends.end(2_000_000);
}

/// Whether a path to this address may carry data.
fn is_usable(ours: &Ours, remote: IpAddr) -> bool {
    let info = ours.socket.and_then(|socket| ours.stack.info(socket));
    let is_it = |path: &PathInfo| path.remote.ip() == remote && !path.probing;
    info.is_some_and(|info| info.paths.iter().any(is_it))
}

#[test]
fn usrsctp_deletes_an_address_and_adds_it_again_while_data_flow() {
    let Some(mut ends) = Ends::open("asconf=1 send=2000000") else { return };
    ends.ours.to_write = 2_000_000;
    let theirs = address(1, 2);
    ends.run("verification", |ours, _| is_usable(ours, theirs));
    ends.peer.tell(&format!("remove {theirs}"));
    // A path without its address is not used, but keeps its number.
    ends.run("their deletion", |ours, _| !is_usable(ours, theirs));
    let asked = ends.sockets.asked.pop();
    assert!(
        matches!(&asked, Some(Parameter::DeleteAddress(of)) if of.address == theirs),
        "{asked:?}"
    );
    ends.trickle(Duration::from_secs(1));
    ends.peer.tell(&format!("add {theirs}"));
    // We verify it by heartbeat.
    ends.run("their addition", |ours, _| is_usable(ours, theirs));
    let asked = ends.sockets.asked.pop();
    assert!(matches!(&asked, Some(Parameter::AddAddress(of)) if of.address == theirs), "{asked:?}");
    ends.trickle(Duration::from_secs(1));
    ends.end(2_000_000);
}

/// Every idle path is probed in both directions.
#[test]
fn heartbeats_are_answered_on_both_sides() {
    let Some(mut ends) = Ends::open("heartbeat=500") else { return };
    ends.trickle(Duration::from_secs(3));
    ends.ours.shuts_down = true;
    ends.run("the end", |ours, peer| ours.is_over() && peer.has_said("over"));
    let statistics = ends.peer.quit();
    // Ours verified the second path; theirs probe it every 500 ms and an RTO.
    assert!(count(&statistics, "heartbeats") >= 1, "{statistics}");
    assert!(count(&statistics, "heartbeat-acks") >= 2, "{statistics}");
}

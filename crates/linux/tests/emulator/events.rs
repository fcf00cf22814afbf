//! Changes at a time: outages with and without a link-down notification, delays.

use crate::world::{attempt, emulator, link, path, run_over, turn};
use base::Duration;
use linux::emulator::{EmulatedRun, Emulator, Side, address};
use network::{Direction, LinkChange, PathEvent, PathSetup};
use std::net::UdpSocket;
use std::thread;

fn event(millis: u64, change: LinkChange) -> PathEvent {
    PathEvent { at: Duration::from_millis(millis), direction: Direction::Both, change }
}

/// Whether the device of a path has a carrier, of which the kernel has taken notice.
fn has_carrier(emulator: &Emulator, side: Side, device: &str) -> bool {
    let look = |netlink: &mut linux::Netlink| netlink.link(device);
    let link = emulator.host(side).namespace.configure(look).expect("the devices");
    let link = link.expect("the device");
    assert_eq!(link.is_running, link.has_carrier, "within a second of another change, too");
    link.has_carrier
}

fn sleep(millis: u64) {
    thread::sleep(std::time::Duration::from_millis(millis));
}

#[test]
fn outage_takes_the_carrier_of_both_hosts_and_silence_does_not() {
    let _turn = turn();
    let loud = vec![event(300, LinkChange::Down), event(1300, LinkChange::Up)];
    let silent = vec![event(300, LinkChange::Silent), event(1300, LinkChange::Up)];
    let paths = [
        PathSetup { events: loud, ..path("loud", link(10, 2, 0.0)) },
        PathSetup { events: silent, ..path("silent", link(10, 2, 0.0)) },
    ];
    let Some(_) = emulator(&paths, false) else { return };
    attempt(|| {
        let mut emulator = emulator(&paths, false).expect("a second one");
        emulator.begin_run(&run_over(&paths)).expect("a run");
        let carriers = || {
            [Side::Client, Side::Server]
                .map(|side| ["loud", "silent"].map(|device| has_carrier(&emulator, side, device)))
        };
        let before = carriers();
        sleep(350);
        let during = carriers();
        sleep(350);
        // A datagram into each of them is lost.
        let socket = emulator.client.namespace.run(|| UdpSocket::bind("0.0.0.0:0"));
        let socket = socket.expect("the namespace").expect("a socket");
        for path in 0..2 {
            let _ = socket.send_to(b"lost", (address(Side::Server, path, false), 9));
        }
        sleep(900);
        let after = carriers();
        let record = emulator.end_run().expect("a record");
        let lost = record.links[1].up.dropped_down;
        let delivered = record.links[0].up.delivered + record.links[1].up.delivered;
        let expected = ([[true, true]; 2], [[false, true]; 2], [[true, true]; 2], 1, 0);
        let seen = (before, during, after, lost, delivered);
        // An outage is no fault of the run.
        let right = seen == expected && record.quality.is_valid();
        if right { Ok(()) } else { Err(format!("{seen:?}, not {expected:?}; {}", record.quality)) }
    });
}

/// A program that takes half a second to begin, and an outage after 300 ms of the run.
#[test]
fn time_begins_with_the_first_packet_of_a_run_that_waits() {
    let _turn = turn();
    let outage = vec![event(300, LinkChange::Silent)];
    let paths = [PathSetup { events: outage, ..path("only", link(10, 2, 0.0)) }];
    let Some(mut emulator) = emulator(&paths, false) else { return };
    emulator.begin_run(&EmulatedRun { waits: true, ..run_over(&paths) }).expect("a run");
    sleep(500);
    let socket = emulator.client.namespace.run(|| UdpSocket::bind("0.0.0.0:0"));
    let socket = socket.expect("the namespace").expect("a socket");
    let send = || socket.send_to(b"hello", (address(Side::Server, 0, false), 9)).expect("sent");
    send();
    sleep(500);
    send();
    sleep(100);
    let up = emulator.end_run().expect("a record").links[0].up;
    assert_eq!((up.delivered, up.dropped_down), (1, 1));
}

/// The kernel acts on carriers once a second, and both hosts have the same kernel.
#[test]
fn carriers_are_lost_at_once_on_both_hosts() {
    let _turn = turn();
    let Some(emulator) = emulator(&[path("only", link(10, 2, 0.0))], false) else { return };
    for side in [Side::Client, Side::Server] {
        let set = |netlink: &mut linux::Netlink| {
            let device = netlink.link("only")?.expect("the device");
            netlink.set_carrier(device.index, false)
        };
        emulator.host(side).namespace.configure(set).expect("no carrier");
        assert!(!has_carrier(&emulator, side, "only"), "{side:?}");
    }
}

#[test]
fn run_after_one_that_ended_in_an_outage_begins_with_paths_that_work() {
    let _turn = turn();
    let working = path("only", link(10, 2, 0.0));
    let broken = PathSetup { events: vec![event(0, LinkChange::Down)], ..working.clone() };
    let Some(mut emulator) = emulator(std::slice::from_ref(&working), false) else { return };
    emulator.begin_run(&run_over(&[broken])).expect("a run");
    sleep(200);
    assert!(!has_carrier(&emulator, Side::Client, "only"));
    emulator.end_run().expect("a record");
    emulator.begin_run(&run_over(&[working])).expect("a run");
    assert!(has_carrier(&emulator, Side::Client, "only"));
    let open = |side| {
        let bind = || UdpSocket::bind((address(side, 0, false), 7000));
        emulator.host(side).namespace.run(bind).expect("the namespace").expect("a socket")
    };
    let (client, server) = (open(Side::Client), open(Side::Server));
    server.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a time-out");
    client.send_to(b"hello", (address(Side::Server, 0, false), 7000)).expect("sent");
    assert_eq!(server.recv(&mut [0; 10]).expect("received"), 5);
}

//! What a live host reports of its paths: segments that are too large for the network, devices that
//! go down, return or are removed.

use crate::connection::run_for;
use crate::kernel;
use crate::transfer::Folder;
use crate::world::{Family, PATIENCE, World, wait_until};
use linux::{Endpoint, FileServer, Live, Stopper};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use transport::{Protocol, ProtocolConfig};

/// A server of the folder on all paths, until it is stopped; its notices go to `notices`.
fn serve(world: &World, folder: &Folder, notices: Sender<String>, ready: &Sender<Stopper>) {
    let server = FileServer::new(&folder.0, |_| {}).expect("a server");
    let listen = Some("[::]:8080".parse().expect("an address"));
    let protocol = ProtocolConfig::default();
    let endpoint = Endpoint { listen, protocol, ..Endpoint::default() };
    let mut live: Live<FileServer> = world.open(endpoint, server).expect("an engine");
    live.on_notice(move |notice| notices.send(notice.to_owned()).expect("somebody who waits"));
    ready.send(live.stopper()).expect("somebody who waits");
    run_for(&mut live, PATIENCE).expect("a run");
}

/// Calls `then` while a server runs.
fn with_server(name: &str, paths: usize, then: impl FnOnce(&World, &Receiver<String>)) {
    let conditions = vec![crate::forwarder::Conditions::default(); paths];
    let Some(world) = World::with_kernel(&conditions) else { return };
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("file"), kernel::content(100_000)).expect("a file");
    thread::scope(|scope| {
        let (ready, wait) = channel();
        let (notices, heard) = channel();
        let (world, folder) = (&world, &folder);
        scope.spawn(move || serve(world, folder, notices, &ready));
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        then(world, &heard);
        stopper.stop();
    });
}

fn index(world: &World, name: &str) -> u32 {
    let link = world.engine.configure(|netlink| netlink.link(name));
    link.expect("the namespace").expect("the device").index
}

/// Regression: a server whose segments did not fit the network behind its device sent them again
/// and again, and said nothing.
#[test]
fn segments_that_do_not_fit_the_network_are_reported_with_the_mend() {
    for (family, name) in [(Family::V4, "too-large4"), (Family::V6, "too-large6")] {
        with_server(name, 1, |world, notices| {
            let wire = index(world, "wire0");
            world.engine.configure(|netlink| netlink.set_mtu(wire, 1400)).expect("an MTU");
            thread::scope(|scope| {
                let address = world.engine_server(family, 0);
                // It gets nothing, and ends with the server.
                scope.spawn(move || world.peer.run(|| kernel::get(Protocol::Tcp, address, "file")));
                let notice = notices.recv_timeout(PATIENCE).expect("a notice");
                assert!(notice.starts_with("tun0: segments of 1500 bytes"), "{notice}");
                assert!(notice.contains("(MTU 1400)"), "{notice}");
                assert!(notice.contains("sudo ip link set tun0 mtu 1400"), "{notice}");
            });
        });
    }
}

/// Regression: a device that went down was reported nowhere.
#[test]
fn devices_that_change_are_reported() {
    with_server("devices", 2, |world, notices| {
        let second = index(world, "tun1");
        let set = |up| world.engine.configure(|netlink| netlink.set_up(second, up));
        let next = || notices.recv_timeout(PATIENCE).expect("a notice");
        set(false).expect("a device");
        assert_eq!(next(), "tun1 is down");
        set(true).expect("a device");
        assert_eq!(next(), "tun1 is up again");
        let delete = || std::process::Command::new("ip").args(["link", "del", "tun1"]).status();
        world.engine.run(delete).expect("the namespace").expect("ip(8)");
        wait_until(|| next() == "tun1 was removed and is not used again until the next start");
    });
}

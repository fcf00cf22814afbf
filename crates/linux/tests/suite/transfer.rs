//! Whole files between the engine and kernels, and between two engines, with equal hashes.

use crate::connection::run_for;
use crate::forwarder::Conditions;
use crate::kernel;
use crate::world::{Family, PATIENCE, World};
use linux::{Download, End, Endpoint, FileServer, Live, LiveError, Received, Stopper};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use traffic::Application;
use transport::sctp::SctpConfig;
use transport::{Protocol, ProtocolConfig};

const SIZE: usize = 8 << 20;
/// Every loss takes its time.
const LOSSY_SIZE: usize = 3 << 20;

/// Small delays, so that round trips exist.
const NEAR: Conditions = Conditions { delay: Duration::from_millis(1), drop_every: 0 };
const LOSSY: Conditions = Conditions { delay: Duration::from_millis(1), drop_every: 50 };

/// A folder that goes with the test.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("anabranch-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Run an engine to its end, or to the end of patience.
pub(crate) fn run<A: Application>(live: &mut Live<A>) -> Result<End, LiveError> {
    run_for(live, PATIENCE)
}

/// Download a file with the engine.
fn get(
    world: &World,
    family: Family,
    protocol: ProtocolConfig,
    folder: &Folder,
) -> Result<Received, LiveError> {
    let server = world.peer_server(family, 0);
    let download = Download::new(server, "file", &folder.0.join("got"), true, |_| {})?;
    let endpoint = Endpoint { remote: Some(server), protocol, ..Endpoint::default() };
    let mut live = world.open(endpoint, download)?;
    run(&mut live)?;
    live.application().result()
}

/// Serves a folder's file with the engine until stopped; reports when it listens.
fn serve(live: Result<Live<FileServer>, LiveError>, ready: &Sender<Stopper>) {
    let mut live = live.expect("a server");
    ready.send(live.stopper()).expect("somebody who waits");
    assert_eq!(run(&mut live).expect("a run"), End::Stopped);
}

fn server(folder: &Folder, listen: SocketAddr, protocol: ProtocolConfig) -> (Endpoint, FileServer) {
    let endpoint = Endpoint { listen: Some(listen), protocol, ..Endpoint::default() };
    let server = FileServer::new(&folder.0, |served| assert_eq!(served.failure, None));
    (endpoint, server.expect("a server"))
}

const fn size(conditions: Conditions) -> usize {
    if conditions.drop_every > 0 { LOSSY_SIZE } else { SIZE }
}

fn engine_gets_from_kernel(name: &str, family: Family, conditions: Conditions) {
    let size = size(conditions);
    let Some(world) = World::with_kernel(&[conditions]) else { return };
    let folder = Folder::new(name);
    let content = kernel::content(size);
    thread::scope(|scope| {
        let address = world.peer_server(family, 0);
        let listener = world.peer.run(|| kernel::listen(Protocol::Tcp, address));
        let listener = listener.expect("the namespace").expect("a listener");
        let kernel = scope.spawn({
            let content = &content;
            move || kernel::serve_once(&listener, content)
        });
        let engine = scope.spawn(|| get(&world, family, ProtocolConfig::default(), &folder));
        let received = engine.join().expect("no panic").expect("a download");
        kernel.join().expect("no panic").expect("a transfer");
        assert_eq!(received.bytes, size as u64);
        assert_eq!(received.sha256, Some(kernel::sha256(&content)));
        let kept = std::fs::read(folder.0.join("got")).expect("the file");
        assert!(kept == content, "the file differs");
    });
}

fn kernel_gets_from_engine(name: &str, family: Family, conditions: Conditions) {
    let size = size(conditions);
    let Some(world) = World::with_kernel(&[conditions]) else { return };
    let folder = Folder::new(name);
    let content = kernel::content(size);
    std::fs::write(folder.0.join("file"), &content).expect("a file");
    thread::scope(|scope| {
        let (ready, wait) = channel();
        let (world, folder) = (&world, &folder);
        scope.spawn(move || {
            let listen = world.engine_server(family, 0);
            let (endpoint, application) = server(folder, listen, ProtocolConfig::default());
            serve(world.open(endpoint, application), &ready);
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        let address = world.engine_server(family, 0);
        let got = world.peer.run(|| kernel::get(Protocol::Tcp, address, "file"));
        stopper.stop();
        let got = got.expect("the namespace").expect("a transfer");
        assert_eq!(got.len(), size);
        assert_eq!(kernel::sha256(&got), kernel::sha256(&content));
    });
}

fn engine_gets_from_engine(
    name: &str,
    family: Family,
    config: &ProtocolConfig,
    conditions: &[Conditions],
) {
    let size = size(conditions[0]);
    let Some(world) = World::with_engine(conditions) else { return };
    let folder = Folder::new(name);
    let content = kernel::content(size);
    std::fs::write(folder.0.join("file"), &content).expect("a file");
    thread::scope(|scope| {
        let (ready, wait) = channel();
        let (world, folder) = (&world, &folder);
        scope.spawn(move || {
            let listen = world.peer_server(family, 0);
            let (endpoint, application) = server(folder, listen, config.clone());
            serve(world.open_far(endpoint, application), &ready);
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        let received =
            scope.spawn(|| get(world, family, config.clone(), folder)).join().expect("no panic");
        stopper.stop();
        assert_eq!(received.expect("a download").sha256, Some(kernel::sha256(&content)));
    });
}

#[test]
fn engine_gets_a_file_from_a_kernel_over_ipv4() {
    engine_gets_from_kernel("get4", Family::V4, NEAR);
}

#[test]
fn engine_gets_a_file_from_a_kernel_over_ipv6() {
    engine_gets_from_kernel("get6", Family::V6, NEAR);
}

#[test]
fn kernel_gets_a_file_from_the_engine_over_ipv4() {
    kernel_gets_from_engine("serve4", Family::V4, NEAR);
}

#[test]
fn kernel_gets_a_file_from_the_engine_over_ipv6() {
    kernel_gets_from_engine("serve6", Family::V6, NEAR);
}

#[test]
fn engine_gets_a_file_from_an_engine() {
    let config = ProtocolConfig::default();
    engine_gets_from_engine("both4", Family::V4, &config, &[NEAR]);
    engine_gets_from_engine("both6", Family::V6, &config, &[NEAR]);
}

#[test]
fn engine_gets_a_file_over_sctp_in_ip_from_an_engine() {
    let config = SctpConfig::default().into();
    engine_gets_from_engine("sctp4", Family::V4, &config, &[NEAR]);
    engine_gets_from_engine("sctp6", Family::V6, &config, &[NEAR, NEAR]);
}

#[test]
fn every_50th_packet_from_a_kernel_is_lost_and_the_file_arrives() {
    engine_gets_from_kernel("lossy-get", Family::V4, LOSSY);
}

#[test]
fn every_50th_packet_to_a_kernel_is_lost_and_the_file_arrives() {
    kernel_gets_from_engine("lossy-serve", Family::V4, LOSSY);
}

#[test]
fn every_50th_packet_between_engines_is_lost_and_the_file_arrives() {
    engine_gets_from_engine("lossy-both", Family::V6, &ProtocolConfig::default(), &[LOSSY]);
}

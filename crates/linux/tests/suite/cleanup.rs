//! Nothing is left after a stop or a kill, and a missing feature of the machine is reported.
//! Signals are tested with the command.

use crate::forwarder::Conditions;
use crate::kernel;
use crate::transfer::{Folder, run};
use crate::world::{Family, PATIENCE, PORT, World, namespace_or_skip, wait_until};
use linux::{Download, End, Endpoint, FileServer, Live, LiveError, Namespace, PathDevice};
use socket2::Socket;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use transport::Protocol;

/// Set in the environment of the child process: the folder to work in.
const CHILD: &str = "ANABRANCH_TEST_CHILD";
const DEVICE: &str = "tun9";

/// A download on a device that is made for it, in the namespace of the calling thread.
fn download(folder: &Path) -> Result<Live<Download>, LiveError> {
    let paths = linux::path::parse([format!("dev={DEVICE},addr=10.7.0.2/24").as_str()])?;
    let server: SocketAddr = (Ipv4Addr::new(10, 7, 0, 1), PORT).into();
    let endpoint = Endpoint { remote: Some(server), ..Endpoint::default() };
    let download = Download::new(server, "file", &folder.join("got"), false, |_| {})?;
    Live::open(&paths, endpoint, download)
}

/// The engine as the server of a folder's files.
fn file_server(world: &World, folder: &Folder) -> Live<FileServer> {
    let server = FileServer::new(&folder.0, |_| {}).expect("a server");
    let listen = Some(world.engine_server(Family::V4, 0));
    let endpoint = Endpoint { listen, ..Endpoint::default() };
    world.open(endpoint, server).expect("an engine")
}

/// Not a test of its own: what the tests below start as another process.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let mut live = download(Path::new(&folder)).expect("a download");
    run(&mut live).expect("a run");
}

/// A server whose answer stops in its middle, and a client that waits for the rest.
struct Halfway {
    namespace: Namespace,
    folder: Folder,
    listener: Socket,
    /// Held, so that the answer stays unfinished.
    _stream: TcpStream,
    child: Child,
}

impl Halfway {
    fn new(name: &str) -> Option<Halfway> {
        let namespace = namespace_or_skip()?;
        let folder = Folder::new(name);
        let anywhere: SocketAddr = (Ipv4Addr::UNSPECIFIED, PORT).into();
        let listener = namespace.run(|| kernel::listen(Protocol::Tcp, anywhere));
        let listener = listener.expect("the namespace").expect("a listener");
        let program = std::env::current_exe().expect("this program");
        let child = namespace.run(|| {
            Command::new(program)
                .args(["--exact", "cleanup::child"])
                .env(CHILD, &folder.0)
                .stdout(Stdio::null())
                .spawn()
        });
        let child = child.expect("the namespace").expect("a child");
        let mut stream = TcpStream::from(listener.accept().expect("a connection").0);
        stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nhalf").expect("a write");
        let unfinished = folder.0.join(".got.anabranch");
        wait_until(|| std::fs::metadata(&unfinished).is_ok_and(|file| file.len() == 4));
        Some(Halfway { namespace, folder, listener, _stream: stream, child })
    }

    fn has_device(&self) -> bool {
        let link = self.namespace.configure(|netlink| netlink.link(DEVICE));
        link.expect("the devices").is_some()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder.0).expect("the folder");
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

#[test]
fn kill_leaves_no_device_and_the_next_call_takes_the_rest_over() {
    let Some(mut halfway) = Halfway::new("killed") else { return };
    assert!(halfway.has_device());
    // SIGKILL.
    halfway.child.kill().expect("a signal");
    halfway.child.wait().expect("an end");
    assert!(!halfway.has_device());
    assert_eq!(halfway.files(), [".got.anabranch"]);

    thread::scope(|scope| {
        let listener = &halfway.listener;
        scope.spawn(|| kernel::serve_once(listener, b"all of it").expect("a transfer"));
        let again = halfway.namespace.run(|| {
            let mut live = download(&halfway.folder.0)?;
            run(&mut live)
        });
        assert_eq!(again.expect("the namespace").expect("a download"), End::Done);
    });
    assert!(!halfway.has_device());
    assert_eq!(halfway.files(), ["got"]);
    assert_eq!(std::fs::read(halfway.folder.0.join("got")).expect("the file"), b"all of it");
}

#[test]
fn server_that_stops_resets_its_connections() {
    let slow = Conditions { delay: Duration::from_millis(20), drop_every: 0 };
    let Some(world) = World::with_kernel(&[slow]) else { return };
    let folder = Folder::new("stopped");
    std::fs::write(folder.0.join("file"), kernel::content(64 << 20)).expect("a file");
    thread::scope(|scope| {
        let (ready, wait) = channel();
        let (world, folder) = (&world, &folder);
        scope.spawn(move || {
            let mut live = file_server(world, folder);
            ready.send(live.stopper()).expect("somebody who waits");
            run(&mut live).expect("a run");
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(200));
            stopper.stop();
        });
        let address = world.engine_server(Family::V4, 0);
        let got = world.peer.run(|| kernel::get(Protocol::Tcp, address, "file"));
        let error = got.expect("the namespace").expect_err("a reset");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn device_that_goes_down_and_comes_back_only_delays() {
    let slow = Conditions { delay: Duration::from_millis(5), drop_every: 0 };
    let Some(world) = World::with_kernel(&[slow]) else { return };
    let folder = Folder::new("cut");
    let content = kernel::content(16 << 20);
    std::fs::write(folder.0.join("file"), &content).expect("a file");
    thread::scope(|scope| {
        let (ready, wait) = channel();
        let (world, folder) = (&world, &folder);
        scope.spawn(move || {
            let mut live = file_server(world, folder);
            ready.send(live.stopper()).expect("somebody who waits");
            run(&mut live).expect("a run");
            assert!(live.counters().unsent > 0, "nothing was sent while the device was down");
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        let cut = scope.spawn(|| {
            wait_until(|| world.carried(0) > 1 << 20);
            set_up(&world.engine, "tun0", false);
            thread::sleep(Duration::from_millis(100));
            set_up(&world.engine, "tun0", true);
        });
        let address = world.engine_server(Family::V4, 0);
        let got = world.peer.run(|| kernel::get(Protocol::Tcp, address, "file"));
        cut.join().expect("no panic");
        stopper.stop();
        assert!(got.expect("the namespace").expect("a transfer") == content, "the file differs");
    });
}

pub(crate) fn set_up(namespace: &Namespace, device: &str, up: bool) {
    let done = namespace.configure(|netlink| {
        let link = netlink.link(device)?.expect("the device");
        netlink.set_up(link.index, up)
    });
    done.expect("a device of ours");
}

/// What opening an engine on `path` is refused with.
fn refusal(namespace: &Namespace, path: &str) -> LiveError {
    let opened = namespace.run(|| {
        let paths: Vec<PathDevice> = linux::path::parse([path])?;
        let folder = std::env::temp_dir();
        Live::open(&paths, Endpoint::default(), FileServer::new(&folder, |_| {})?).map(drop)
    });
    opened.expect("the namespace").expect_err(path)
}

#[test]
fn missing_devices_and_addresses_are_named_with_their_remedy() {
    let Some(namespace) = namespace_or_skip() else { return };
    let missing = |path, parts: [&str; 2]| match refusal(&namespace, path) {
        LiveError::Missing { what, remedy } => {
            assert!(what.contains(parts[0]) && remedy.contains(parts[1]), "{what}: {remedy}");
        }
        other => panic!("{path}: {other}"),
    };
    missing("dev=tun5", ["no device tun5", "sudo ip tuntap add dev tun5 mode tun"]);
    let held = namespace.run(|| linux::Tun::open("tun6")).expect("the namespace").expect("a TUN");
    let usage = |path, part: &str| match refusal(&namespace, path) {
        LiveError::Usage(why) | LiveError::Failed(why) => assert!(why.contains(part), "{why}"),
        other => panic!("{path}: {other}"),
    };
    usage("dev=tun6", "another program has it open");
    usage("dev=lo", "not a TUN device");
    usage("dev=tun7,addr=10.7.0.2/32", "no room");
    drop(held);
}

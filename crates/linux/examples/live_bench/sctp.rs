//! `live/sctp-udp`: one association in UDP on loopback, engine to engine, in turn with usrsctp to
//! usrsctp; both with messages of 1400 bytes and buffers of 2 MiB.
//!
//! The peer is compiled from `tests/peers` beside this program, if libusrsctp-dev and a C compiler
//! are there. Printed are medians over the turns: goodput, CPU time of both ends, and the ratio of
//! the engine's to usrsctp's.

use crate::figures::{Figure, median, print_figure};
use crate::support::exchange::cpu_seconds;
use base::SocketId;
use linux::path::{Paths, parse_any};
use linux::{Endpoint, Live, UdpAddress};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use traffic::{Application, StreamFailure, StreamHost};
use transport::sctp::SctpConfig;
use wire::Payload;

/// Bytes of a transfer.
const SIZE: u64 = 128 << 20;
/// Bytes of a message.
const MESSAGE: u32 = 1400;
/// Bytes of the send buffer and of the receiver window.
const BUFFER: u32 = 2 << 20;
/// Turns of each.
const TURNS: usize = 3;
/// Bytes written or read at once.
const CHUNK: u32 = 1 << 18;
/// After this a transfer has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const SERVER: &str = "127.0.0.1";
const CLIENT: &str = "127.0.0.2";

/// Print the figures.
pub(crate) fn print() {
    let peer = compiled_peer();
    let (mut engine, mut usrsctp) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        engine.push(with_engine());
        if let Ok(peer) = &peer {
            usrsctp.push(with_usrsctp(peer));
        }
    }
    print_figure("sctp-udp", &engine);
    if let Err(why) = peer {
        println!("skipped: live/usrsctp-udp: {why}");
        return;
    }
    print_figure("usrsctp-udp", &usrsctp);
    let turns = || engine.iter().zip(&usrsctp);
    let goodput = median(turns().map(|(ours, theirs)| ours.0 / theirs.0));
    let cpu = median(turns().map(|(ours, theirs)| ours.1 / theirs.1));
    println!("live/sctp-udp-to-usrsctp {goodput:.2} ratio");
    println!("live/sctp-udp-to-usrsctp-cpu {cpu:.2} ratio");
}

fn figure(took: f64, cpu: f64) -> Figure {
    let bytes = SIZE as f64;
    (8.0 * bytes / took / 1e6, cpu / (bytes / 1e9))
}

fn config() -> SctpConfig {
    SctpConfig {
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        message_size: Some(MESSAGE),
        ..SctpConfig::default()
    }
}

fn udp(address: &str) -> Vec<UdpAddress> {
    match parse_any([format!("udp={address}").as_str()]) {
        Ok(Paths::Udp(paths)) => paths,
        other => panic!("{other:?}"),
    }
}

fn with_engine() -> Figure {
    let server: SocketAddr = format!("{SERVER}:5001").parse().expect("an address");
    let before = cpu_seconds();
    let (ready, wait) = channel();
    let took = thread::scope(|scope| {
        let sink = scope.spawn(move || {
            let listen = Some(server);
            let endpoint = Endpoint { listen, protocol: config().into(), ..Endpoint::default() };
            let live = Live::open_udp(&udp(SERVER), endpoint, End::default());
            let mut live = live.expect("a server");
            ready.send(live.stopper()).expect("somebody who waits");
            live.run().expect("a run");
            live.application().received
        });
        let stopper = wait.recv_timeout(PATIENCE).expect("a server");
        let remote = Some(server);
        let endpoint = Endpoint { remote, protocol: config().into(), ..Endpoint::default() };
        let source = End { left: SIZE, ..End::default() };
        let live = Live::open_udp(&udp(CLIENT), endpoint, source);
        let mut live = live.expect("a client");
        live.run().expect("a run");
        let source = live.application();
        stopper.stop();
        assert_eq!(sink.join().expect("no panic"), SIZE, "{:?}", source.failure);
        source.took.as_secs_f64()
    });
    figure(took, cpu_seconds() - before)
}

/// One end of a transfer: sends `left` bytes if there are any, and otherwise reads to the end.
#[derive(Default)]
struct End {
    left: u64,
    received: u64,
    chunk: Payload,
    since: Option<Instant>,
    /// From connecting until both ends have closed.
    took: Duration,
    failure: Option<StreamFailure>,
    is_done: bool,
}

impl End {
    fn pump(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        while self.left > 0 {
            let len = self.left.min(CHUNK.into()) as u32;
            let taken = host.write(socket, &self.chunk.slice(0, len));
            self.left -= u64::from(taken);
            if taken < len {
                return;
            }
        }
        host.shutdown(socket);
    }
}

impl Application for End {
    fn on_start(&mut self, host: &mut dyn StreamHost) {
        self.since = Some(now());
        if self.left > 0 {
            self.chunk = vec![7; CHUNK as usize].into();
            host.connect().expect("an address and a port");
        }
    }

    fn on_connected(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.pump(host, socket);
    }

    fn on_accepted(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.on_readable(host, socket);
    }

    fn on_readable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        loop {
            let data = host.read(socket, CHUNK);
            if data.is_empty() {
                return;
            }
            self.received += u64::from(data.len());
        }
    }

    fn on_writable(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.pump(host, socket);
    }

    fn on_peer_closed(&mut self, host: &mut dyn StreamHost, socket: SocketId) {
        self.on_readable(host, socket);
        host.shutdown(socket);
    }

    fn on_closed(&mut self, _: SocketId) {
        self.took = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.is_done = true;
    }

    fn on_failed(&mut self, _: SocketId, failure: StreamFailure) {
        self.failure = Some(failure);
        self.is_done = true;
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

fn with_usrsctp(peer: &Path) -> Figure {
    let port = 20_000 + std::process::id() % 10_000 * 2;
    let (here, there) = (format!("udp={port}"), format!("udp={}", port + 1));
    let (to_here, to_there) = (format!("peer-udp={port}"), format!("peer-udp={}", port + 1));
    let (bytes, message) = (format!("bytes={SIZE}"), format!("message={MESSAGE}"));
    let buffer = format!("buffer={BUFFER}");
    let server = ["serve-discard", &here, &to_there, "port=5001", &buffer];
    let client = ["send", &there, &to_here, "port=5001", &bytes, &message, &buffer];
    let mut server = start(peer, &server);
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("the line `listening`");
    let client = start(peer, &client).wait_with_output().expect("an end");
    let sent = Report::read(&String::from_utf8_lossy(&client.stdout));
    line.clear();
    said.read_line(&mut line).expect("a report");
    server.wait().expect("an end");
    let got = Report::read(&line);
    assert_eq!(got.bytes, SIZE as f64, "usrsctp to usrsctp");
    figure(sent.seconds, sent.cpu + got.cpu)
}

fn start(peer: &Path, arguments: &[&str]) -> Child {
    let seconds = PATIENCE.as_secs().to_string();
    let mut command = Command::new("timeout");
    command.arg(seconds).arg(peer).args(arguments).stdout(Stdio::piped());
    command.spawn().expect("timeout(1)")
}

/// The line `bytes N seconds S cpu S` of the peer.
struct Report {
    bytes: f64,
    seconds: f64,
    cpu: f64,
}

impl Report {
    fn read(line: &str) -> Report {
        let numbers: Vec<f64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [bytes, seconds, cpu] = numbers[..] else { panic!("usrsctp reports `{line}`") };
        Report { bytes, seconds, cpu }
    }
}

#[allow(clippy::disallowed_methods, reason = "goodput in real time")]
fn now() -> Instant {
    Instant::now()
}

/// The peer, compiled beside this program; otherwise why there is none.
fn compiled_peer() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/usrsctp_peer.c");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let peer = program.with_file_name("usrsctp_peer");
    let output = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&peer, &source])
        .args(["-lusrsctp", "-lpthread"])
        .output()
        .map_err(|error| format!("cc: {error}"))?;
    if output.status.success() {
        return Ok(peer);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("error")).unwrap_or("cc failed");
    Err(format!("{first} (apt-get install libusrsctp-dev)"))
}

//! `live` and `doctor` as commands, in separate namespaces.

use crate::{Scratch, anabranch, stderr, stdout};
use linux::{Namespace, Tun};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Time limit of all steps.
const PATIENCE: Duration = Duration::from_secs(20);
/// Addresses of the kernel and of the engine on the device that the program creates.
const KERNEL: &str = "10.8.0.1:8080";
const ENGINE: &str = "10.8.0.2:8080";
const PATH: &str = "dev=tun8,addr=10.8.0.2/24";

/// A namespace for the test; without the privilege, prints a line and returns `None`.
fn namespace() -> Option<Namespace> {
    let made = Namespace::new();
    let probed = made.and_then(|namespace| {
        let tun = namespace.run(|| Tun::open("probe").map(drop));
        tun.expect("a namespace to enter").map(|()| namespace)
    });
    probed
        .map_err(|why| println!("skipped: {}", why.to_string().lines().next().unwrap_or_default()))
        .ok()
}

fn start(namespace: &Namespace, arguments: &[&str]) -> Child {
    let child = namespace.run(|| {
        Command::new(env!("CARGO_BIN_EXE_anabranch"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    });
    child.expect("the namespace").expect("the program starts")
}

fn signal(child: Child, name: &str) -> Output {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status().expect("kill(1)");
    assert!(sent.success());
    child.wait_with_output().expect("an end")
}

/// A connection to the engine's server, once it listens.
fn connect(namespace: &Namespace) -> TcpStream {
    let server: SocketAddr = ENGINE.parse().expect("an address");
    for _ in 0..200 {
        let limit = Duration::from_millis(200);
        let stream = namespace.run(|| TcpStream::connect_timeout(&server, limit));
        if let Ok(stream) = stream.expect("the namespace") {
            stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
            return stream;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no server at {ENGINE}");
}

fn has_device(namespace: &Namespace) -> bool {
    namespace.configure(|netlink| netlink.link("tun8")).expect("the devices").is_some()
}

#[test]
fn bad_arguments_are_refused_with_the_mend() {
    for (arguments, part) in [
        (&["get", "10.8.0.1:80/x", "--path", "tun8"][..], "dev=TUN"),
        (&["get", "10.8.0.1:80/x", "--path", "dev=tun8,addr=1.2.3"], "not an address"),
        (&["get", "10.8.0.1:80/", "--path", "dev=tun8"], "ADDR:PORT/FILE"),
        (&["get", "10.8.0.1/x", "--path", "dev=tun8"], "10.9.0.2:8080"),
        (&["get", "10.8.0.1:80/x", "--path", "dev=tun8", "--cc", "bbr"], "cubic"),
        (&["get", "10.8.0.1:80/x"], "--path"),
        (&["get", "10.8.0.1:80/x", "-o", "/", "--path", "dev=tun8"], "name of a file"),
        (&["serve", "--dir", ".", "--listen", "10.8.0.2", "--path", "dev=tun8"], "--listen"),
        (&["serve", "--dir", "Makefile", "--listen", ENGINE, "--path", PATH], "not a folder"),
    ] {
        let output = anabranch(&[&["live"], arguments].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

/// A server of SCTP in UDP at an address, once it listens.
fn sctp_server(folder: &str, address: &str) -> Child {
    let listen = format!("{address}:8080");
    let path = format!("udp={address}");
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["live", "serve", "--protocol", "sctp", "--path", &path])
        .args(["--listen", &listen, "--dir", folder])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut said = [0; 1];
    child.stderr.as_mut().expect("a pipe").read_exact(&mut said).expect("the line `serving`");
    child
}

#[test]
fn file_is_got_over_sctp_in_udp_and_the_server_ends_at_an_interrupt() {
    let scratch = Scratch::new("live-sctp");
    let content: Vec<u8> = (0..1_000_000u32).map(|number| (number % 251) as u8).collect();
    std::fs::write(scratch.path("file"), &content).expect("a file");
    let (folder, kept) = (scratch.path(""), scratch.path("kept"));
    let host = 1 + std::process::id() % 250;
    let (server, client) = (format!("127.7.{host}.1"), format!("udp=127.7.{host}.2"));
    let child = sctp_server(&folder, &server);
    let source = format!("http://{server}:8080/file");
    let output = anabranch(&[
        "live",
        "get",
        &source,
        "-o",
        &kept,
        "--protocol",
        "sctp",
        "--path",
        &client,
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(document["bytes"], 1_000_000);
    assert!(std::fs::read(scratch.path("kept")).expect("the file") == content);
    let in_use = anabranch(&[
        "live",
        "serve",
        "--protocol",
        "sctp",
        "--path",
        &format!("udp={server}"),
        "--listen",
        &format!("{server}:8080"),
        "--dir",
        &folder,
    ]);
    assert_eq!(in_use.status.code(), Some(1));
    assert!(stderr(&in_use).contains("UDP port 9899 is in use"), "{}", stderr(&in_use));
    let ended = signal(child, "INT");
    assert_eq!(ended.status.code(), Some(130));
    assert!(stderr(&ended).contains("200 /file 1000000 bytes in"), "{}", stderr(&ended));
}

#[test]
fn lack_of_privilege_or_of_a_device_is_code_3_with_a_remedy() {
    let unprivileged = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", env!("CARGO_BIN_EXE_anabranch")])
        .args(["live", "serve", "--dir", "/", "--listen", ENGINE, "--path", PATH])
        .output();
    match unprivileged {
        Ok(output) if output.status.code() == Some(3) => {
            let said = stderr(&output);
            assert!(said.contains("remedy: run the same command with sudo"), "{said}");
        }
        Ok(output) if !stderr(&output).contains("setpriv:") => panic!("{}", stderr(&output)),
        _ => println!("skipped: privileges cannot be dropped here"),
    }
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-without-device");
    let output = scratch.path("x");
    let arguments = ["live", "get", "10.8.0.1:80/x", "-o", &output, "--path", "dev=tun8"];
    let output = start(&namespace, &arguments).wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("ip tuntap add dev tun8"), "{}", stderr(&output));
}

#[test]
fn served_file_reaches_a_kernel_socket() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-serve");
    scratch.file("hello.txt", "hello");
    let folder = scratch.path("");
    let arguments = ["live", "serve", "--dir", &folder, "--listen", ENGINE, "--path", PATH];
    let child = start(&namespace, &arguments);
    let mut stream = connect(&namespace);
    stream.write_all(b"GET /hello.txt HTTP/1.0\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"));
    drop(stream);
    let output = signal(child, "INT");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("tun8 has 10.8.0.2") && said.contains("200 /hello.txt 5 bytes"),
        "{said}"
    );
    assert!(!has_device(&namespace));
}

#[test]
fn file_from_a_kernel_socket_is_kept_and_described() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-get");
    let listener = namespace.run(|| TcpListener::bind("0.0.0.0:8080")).expect("the namespace");
    let listener = listener.expect("a listener");
    let server = thread::spawn(move || {
        let mut stream = listener.accept().expect("a connection").0;
        let _ = stream.read(&mut [0; 1000]).expect("a request");
        stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc").expect("an answer");
    });
    let (source, kept) = (format!("{KERNEL}/a.txt"), scratch.path("kept"));
    let arguments = ["live", "get", &source, "-o", &kept, "--path", PATH, "--json"];
    let output = start(&namespace, &arguments).wait_with_output().expect("an end");
    server.join().expect("no panic");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(document["bytes"], 3);
    // FIPS 180-4's example.
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(document["sha256"], hash);
    assert_eq!(std::fs::read(&kept).expect("the file"), b"abc");
}

#[test]
fn signals_leave_nothing_and_tell_the_peer() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-signals");
    let listener = namespace.run(|| TcpListener::bind("0.0.0.0:8080")).expect("the namespace");
    let listener = listener.expect("a listener");
    let (source, kept) = (format!("{KERNEL}/a.txt"), scratch.path("kept"));
    for name in ["INT", "TERM", "HUP"] {
        if name == "HUP" && ignores_hang_ups() {
            println!("skipped: SIGHUP is ignored here, and by the programs started here");
            continue;
        }
        let child = start(&namespace, &["live", "get", &source, "-o", &kept, "--path", PATH]);
        let mut stream = listener.accept().expect("a connection").0;
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let _ = stream.read(&mut [0; 1000]).expect("a request");
        stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nhalf").expect("a write");
        assert!(has_device(&namespace));
        let output = signal(child, name);
        assert_eq!(output.status.code(), Some(130), "{name}: {}", stderr(&output));
        assert!(!has_device(&namespace), "{name}");
        assert_eq!(std::fs::read_dir(&scratch.0).expect("the folder").count(), 0, "{name}");
        let read = stream.read(&mut [0; 10]).expect_err("a reset");
        assert_eq!(read.kind(), ErrorKind::ConnectionReset, "{name}");
    }
}

/// Regression: a request to terminate that came after the file was begun and before signals were
/// watched left the file behind.
#[test]
fn request_to_terminate_that_comes_early_leaves_no_file() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-early-signal");
    let listener = namespace.run(|| TcpListener::bind("0.0.0.0:8080")).expect("the namespace");
    let _listener = listener.expect("a listener");
    let kept = scratch.path("kept");
    let has_files = || std::fs::read_dir(&scratch.0).expect("the folder").next().is_some();
    for _ in 0..10 {
        let source = format!("{KERNEL}/a.txt");
        let mut child = start(&namespace, &["live", "get", &source, "-o", &kept, "--path", PATH]);
        while !has_files() {
            assert!(child.try_wait().expect("a child").is_none(), "it ended at once");
        }
        let output = signal(child, "TERM");
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(!has_files());
    }
}

#[test]
fn devices_that_change_and_packets_of_each_path_are_printed() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-devices");
    let folder = scratch.path("");
    let paths = format!("{PATH},dev=tun9,addr=10.9.0.2/24");
    let arguments = ["live", "serve", "--dir", &folder, "--listen", ENGINE, "-v", "--path", &paths];
    let child = start(&namespace, &arguments);
    drop(connect(&namespace));
    let down = namespace.configure(|netlink| {
        let index = netlink.link("tun9")?.expect("the device").index;
        netlink.set_up(index, false)
    });
    down.expect("a device");
    // It has seen the change when it answers.
    thread::sleep(Duration::from_millis(50));
    drop(connect(&namespace));
    let said = stderr(&signal(child, "INT"));
    assert!(said.contains("\ntun9 is down\n"), "{said}");
    let counts = said.lines().filter(|line| line.contains("refused by the kernel"));
    let names: Vec<&str> = counts.filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["packets", "  tun8", "  tun9"], "{said}");
}

/// Whether the test was started by nohup(1) or the like.
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc(5)");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("a mask") & 1 != 0
}

#[test]
fn server_that_was_started_by_nohup_survives_a_hang_up() {
    let Some(namespace) = namespace() else { return };
    let scratch = Scratch::new("live-nohup");
    scratch.file("hello.txt", "hello");
    let folder = scratch.path("");
    let arguments = ["live", "serve", "--dir", &folder, "--listen", ENGINE, "--path", PATH];
    let child = namespace.run(|| {
        Command::new("nohup")
            .arg(env!("CARGO_BIN_EXE_anabranch"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    });
    let child = child.expect("the namespace").expect("nohup(1)");
    drop(connect(&namespace));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "HUP", &id]).status().expect("kill(1)").success());
    let mut stream = connect(&namespace);
    stream.write_all(b"GET /hello.txt HTTP/1.0\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("hello"), "{answer}");
    let output = signal(child, "TERM");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
}

#[test]
fn doctor_names_what_is_missing_and_what_adds_it() {
    let output = anabranch(&["doctor", "--json"]);
    let document: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let checks = document["checks"].as_array().expect("checks");
    assert!(checks.len() >= 8, "{document}");
    let missing = checks.iter().filter(|check| check["ok"] == false);
    assert!(missing.clone().all(|check| check["remedy"].is_string()), "{document}");
    let code = if missing.count() == 0 { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(document["ok"], code == 0);
    let table = anabranch(&["doctor"]);
    assert_eq!(table.status.code(), Some(code));
    let text = stdout(&table);
    assert!(text.contains("kernel MPTCP") && text.contains("TUN device"), "{text}");
    assert_eq!(text.contains("remedy: "), code == 3, "{text}");
}

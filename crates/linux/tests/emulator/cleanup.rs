//! A kill in mid-run leaves nothing: no namespace, no device, no process, no setting.

use crate::world::{emulator, link, path, run_over, turn};
use linux::emulator::{Side, address};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Set in the environment of the child process.
const CHILD: &str = "ANABRANCH_TEST_EMULATION";
const PATIENCE: Duration = Duration::from_secs(20);

/// Not a test of its own: an emulation with traffic, until it is killed.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let paths = [path("one", link(10, 5, 0.0)), path("two", link(10, 5, 0.0))];
    let mut emulator = emulator(&paths, false).expect("an emulation");
    emulator.begin_run(&run_over(&paths)).expect("a run");
    let inodes = [Side::Client, Side::Server].map(|side| {
        let number = emulator.host(side).namespace.as_fd().as_raw_fd();
        fs::metadata(format!("/proc/self/fd/{number}")).expect("the namespace").ino()
    });
    let bind = || UdpSocket::bind((address(Side::Client, 0, false), 0));
    let socket = emulator.client.namespace.run(bind).expect("the namespace").expect("a socket");
    let mut out = std::io::stdout();
    writeln!(out, "namespaces {} {}", inodes[0], inodes[1]).expect("somebody who reads");
    out.flush().expect("somebody who reads");
    loop {
        let _ = socket.send_to(&[0; 500], (address(Side::Server, 0, false), 9));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Everything of the machine that an emulation might touch.
fn machine() -> Vec<String> {
    let devices = linux::Netlink::open().and_then(|mut netlink| netlink.links());
    let mut seen: Vec<String> =
        devices.expect("the devices").into_iter().map(|link| link.name).collect();
    for name in [
        "ipv4/tcp_rmem",
        "ipv4/tcp_wmem",
        "ipv4/tcp_no_metrics_save",
        "ipv4/conf/all/rp_filter",
        "ipv4/conf/default/rp_filter",
        "ipv4/ip_forward",
        "ipv6/conf/all/disable_ipv6",
        "ipv6/conf/default/disable_ipv6",
        "mptcp/enabled",
    ] {
        seen.push(fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default());
    }
    seen
}

/// The network namespaces that any process lives in or holds open.
fn namespaces_in_use() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let own = processes.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let mut found = BTreeSet::new();
    for process in own {
        found.extend(fs::metadata(process.path().join("ns/net")).map(|file| file.ino()));
        let files = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        for file in files {
            let is_net = fs::read_link(file.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("net:["));
            if is_net {
                found.extend(fs::metadata(file.path()).map(|file| file.ino()));
            }
        }
    }
    found
}

#[test]
fn kill_in_mid_run_leaves_nothing() {
    let _turn = turn();
    if emulator(&[path("probe", link(10, 5, 0.0))], false).is_none() {
        return;
    }
    let before = machine();
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["cleanup::child", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let line = lines.map_while(Result::ok).find(|line| line.contains("namespaces "));
    let line = line.expect("the child's namespaces");
    let inodes: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(inodes.len(), 2, "{line}");
    let in_use = namespaces_in_use();
    assert!(inodes.iter().all(|inode| in_use.contains(inode)), "not seen while it ran");
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("a kill");
    child.wait().expect("an end");
    for _ in 0..PATIENCE.as_millis() / 10 {
        let in_use = namespaces_in_use();
        if !inodes.iter().any(|inode| in_use.contains(inode)) {
            assert_eq!(machine(), before);
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a namespace of the killed emulation is still in use");
}

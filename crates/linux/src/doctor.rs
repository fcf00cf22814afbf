//! What this machine allows of the live and emulated worlds, and what adds the rest.
//!
//! Every check performs the operation itself, in a namespace that is removed afterwards; the
//! machine is not changed. Printing is left to the command.

use crate::device::Tun;
use crate::namespace::Namespace;
use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::process::{Command, Stdio};

/// Linux IPPROTO_MPTCP.
const MPTCP: i32 = 262;
/// Congestion controls that comparisons with the kernel need.
const CONTROLS: [&str; 2] = ["reno", "cubic"];

/// Checks of what only tests and the recording of `validate` use.
const FOR_TESTS: [&str; 3] = ["ip mptcp", "tbf", "nftables"];

/// What adds namespaces, and all that is tried in one.
const PRIVILEGE: &str = "run the same command with sudo (needs CAP_SYS_ADMIN, CAP_NET_ADMIN)";

/// Opening it makes TUN devices.
const TUN_FILE: &str = "/dev/net/tun";
/// What adds it.
const TUN_MODULE: &str = "sudo modprobe tun (in a container: --device /dev/net/tun)";

/// What adds nftables and its rule that takes TCP options away.
const NF_TABLES: &str = "sudo apt-get install nftables && sudo modprobe nf_tables \
                         (needs CONFIG_NF_TABLES, Linux 5.18 or later)";

/// What a check is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A command needs it.
    Use,
    /// Only tests and comparisons with kernels need it.
    Development,
}

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Name of the check in the table of `anabranch doctor`.
    pub name: &'static str,
    /// What needs it.
    pub needed_for: &'static str,
    /// Whether commands or only tests need it.
    pub purpose: Purpose,
    /// What was seen, or why not.
    pub detail: Result<String, String>,
    /// A command that adds it.
    pub remedy: &'static str,
}

/// All checks, in the order in which they build on each other.
pub fn examine() -> Vec<Check> {
    let namespace = Namespace::new();
    let inside = namespace.as_ref().map_err(|error| first_line(&error.to_string()));
    let tun = tun_file();
    let tun_remedy = tun.as_ref().err().map(tun_remedy);
    // What is tried in a namespace cannot be tried without one: first things first.
    let first = |remedy| if inside.is_ok() { remedy } else { PRIVILEGE };
    vec![
        check(
            "privilege",
            "live, emulate",
            capabilities(),
            "run the same command with sudo; for live only: sudo setcap cap_net_admin+ep anabranch",
        ),
        check(
            "TUN device",
            "live, emulate",
            tun.map_err(|e| format!("{TUN_FILE}: {e}")),
            tun_remedy.unwrap_or(TUN_MODULE),
        ),
        check(
            "network namespaces",
            "emulate",
            inside.clone().map(|_| "can be created".to_owned()),
            PRIVILEGE,
        ),
        check(
            "TUN in a namespace",
            "emulate",
            inside.clone().and_then(tun_inside),
            tun_remedy.map_or(PRIVILEGE, first),
        ),
        check(
            "user namespaces",
            "namespaces without root",
            user_namespaces(),
            "sudo sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1",
        ),
        check(
            "kernel MPTCP",
            "kernel peers over several paths",
            kernel_mptcp(),
            "sudo sysctl -w net.mptcp.enabled=1 (needs CONFIG_MPTCP, Linux 5.6 or later)",
        ),
        check(
            "ip mptcp",
            "tests of path managers with kernel peers",
            runs("ip", &["mptcp", "limits"]),
            "sudo apt-get install iproute2",
        ),
        check(
            "congestion controls",
            "comparisons with the kernel",
            congestion_controls(),
            "sudo modprobe tcp_cubic (needs CONFIG_TCP_CONG_CUBIC)",
        ),
        check(
            "tbf",
            "tests with rate limits between namespaces",
            inside.clone().and_then(tbf),
            first("sudo apt-get install iproute2 && sudo modprobe sch_tbf"),
        ),
        check(
            "nftables",
            "tests with a kernel that removes MPTCP options",
            inside.clone().and_then(nftables),
            first(NF_TABLES),
        ),
    ]
}

fn check(
    name: &'static str,
    needed_for: &'static str,
    detail: Result<String, String>,
    remedy: &'static str,
) -> Check {
    let purpose = match FOR_TESTS.contains(&name) {
        true => Purpose::Development,
        false => Purpose::Use,
    };
    Check { name, needed_for, purpose, detail, remedy }
}

/// Effective capabilities of the calling thread (capabilities(7): 12 and 21).
pub(crate) fn capabilities() -> Result<String, String> {
    let status = std::fs::read_to_string("/proc/thread-self/status").map_err(|e| e.to_string())?;
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0").trim();
    let set = u64::from_str_radix(set, 16).unwrap_or(0);
    let missing: Vec<&str> = [(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN")]
        .into_iter()
        .filter(|(bit, _)| set & (1 << bit) == 0)
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        return Ok("CAP_NET_ADMIN and CAP_SYS_ADMIN".to_owned());
    }
    Err(format!("{} missing", missing.join(" and ")))
}

fn tun_file() -> Result<String, io::Error> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(TUN_FILE);
    opened.map(|_| TUN_FILE.to_owned())
}

/// A container without the device refuses even its owner (EPERM); the mode that udev gives it lets
/// all users in.
fn tun_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM) => "start the container with --device /dev/net/tun",
        Some(Errno::EACCES) => "sudo chmod 666 /dev/net/tun",
        _ => TUN_MODULE,
    }
}

fn tun_inside(namespace: &Namespace) -> Result<String, String> {
    let opened = namespace.run(|| Tun::open("probe").map(drop)).map_err(|e| e.to_string())?;
    opened.map(|()| "can be created".to_owned()).map_err(|error| first_line(&error.to_string()))
}

fn user_namespaces() -> Result<String, String> {
    let limit = std::fs::read_to_string("/proc/sys/user/max_user_namespaces");
    if limit.is_ok_and(|limit| limit.trim() == "0") {
        return Err("user.max_user_namespaces is 0".to_owned());
    }
    // A process with threads cannot make one, so another one tries.
    runs("unshare", &["--user", "--map-root-user", "--net", "true"])
        .map(|_| "can be created".to_owned())
}

fn kernel_mptcp() -> Result<String, String> {
    let enabled = std::fs::read_to_string("/proc/sys/net/mptcp/enabled")
        .map_err(|_| "the kernel was built without it".to_owned())?;
    if enabled.trim() != "1" {
        return Err("net.mptcp.enabled is 0".to_owned());
    }
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(MPTCP)))
        .map_err(|error| format!("making a socket: {error}"))?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(format!("Linux {}", release.trim()))
}

fn congestion_controls() -> Result<String, String> {
    let read = |name: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{name}congestion_control");
        std::fs::read_to_string(file).map(|text| text.trim().to_owned()).map_err(|e| e.to_string())
    };
    let (available, default) = (read("available_")?, read("")?);
    let known: Vec<&str> = available.split_whitespace().collect();
    match CONTROLS.into_iter().find(|control| !known.contains(control)) {
        None => Ok(format!("{available}; default {default}")),
        Some(control) => Err(format!("{control} is not among: {available}")),
    }
}

fn tbf(namespace: &Namespace) -> Result<String, String> {
    let rate = ["rate", "1mbit", "burst", "10kb", "latency", "10ms"];
    let words = ["qdisc", "add", "dev", "lo", "root", "tbf"];
    inside(namespace, "tc", &[&words[..], &rate].concat())
}

/// The very rule that takes option 30 away.
fn nftables(namespace: &Namespace) -> Result<String, String> {
    let rule = "add table inet probe; \
                add chain inet probe way { type filter hook forward priority 0; }; \
                add rule inet probe way reset tcp option mptcp";
    inside(namespace, "nft", &[rule])
}

fn inside(namespace: &Namespace, program: &str, arguments: &[&str]) -> Result<String, String> {
    namespace.run(|| runs(program, arguments)).map_err(|error| error.to_string())?
}

/// Whether a program ends well; else the first thing it complains of.
fn runs(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(format!("{program} works"));
    }
    let complaint = first_line(&String::from_utf8_lossy(&output.stderr));
    Err(format!("{program} {}: {complaint}", arguments.join(" ")))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("no reason given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_a_remedy() {
        let checks = examine();
        let mut names: Vec<&str> = checks.iter().map(|check| check.name).collect();
        names.dedup();
        assert_eq!(names.len(), checks.len());
        assert!(
            checks.iter().all(|check| !check.remedy.is_empty() && !check.needed_for.is_empty())
        );
    }

    #[test]
    fn tun_file_that_is_there_but_closed_is_opened_and_not_loaded() {
        let remedy = |errno: Errno| tun_remedy(&io::Error::from_raw_os_error(errno as i32));
        assert!(remedy(Errno::EACCES).contains("chmod 666 /dev/net/tun"));
        assert!(remedy(Errno::EPERM).contains("container with --device"));
        assert_eq!([Errno::ENOENT, Errno::ENODEV].map(remedy), [TUN_MODULE; 2]);
    }

    #[test]
    fn program_that_does_not_exist_or_fails_says_so() {
        assert!(runs("anabranch-no-such-program", &[]).is_err());
        let failure = runs("ls", &["no such file of ours"]).expect_err("fails");
        assert!(failure.starts_with("ls no such file of ours: "), "{failure}");
        assert_eq!(runs("true", &[]), Ok("true works".to_owned()));
    }
}

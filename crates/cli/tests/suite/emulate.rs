//! `emulate` as a command: programs behind paths, their exit codes, and that no process remains.

use crate::{Scratch, anabranch, stderr, stdout};
use linux::{Namespace, Tun};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PATHS: [&str; 4] = ["--path", "a=rate 50mbit delay 3ms", "--path", "b=rate 20mbit delay 8ms"];
/// User `nobody` of Linux.
const NOBODY: u32 = 65_534;
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether hosts can be created here; prints a line if not.
fn has_hosts() -> bool {
    let made = Namespace::new().and_then(|namespace| {
        namespace.run(|| Tun::open("probe").map(drop)).expect("a namespace to enter")
    });
    if let Err(why) = &made {
        println!("skipped: {}", why.to_string().lines().next().unwrap_or_default());
    }
    made.is_ok()
}

fn emulate(options: &[&str], command: &[&str]) -> Output {
    anabranch(&[&["emulate"], &PATHS[..], options, &["--"], command].concat())
}

#[test]
fn program_runs_behind_the_paths_and_its_exit_code_is_the_answer() {
    if !has_hosts() {
        return;
    }
    let script = "echo $ANABRANCH_CLIENT to $ANABRANCH_SERVER; cat /proc/net/route; exit 7";
    let output = emulate(&["--shell", "client", "--tcp", "--first", "b"], &["sh", "-c", script]);
    let (said, shown) = (stderr(&output), stdout(&output));
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(shown.starts_with("10.0.1.1 to 10.0.1.2\n"), "{shown}");
    let devices: Vec<&str> =
        shown.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(devices, ["a", "b"], "{shown}");
    assert!(said.contains("Programs run over TCP: to 10.0.1.2 over b."), "{said}");
    assert!(said.contains("every loss as drawn"), "{said}");
    assert!(said.contains("\nb: down 0 packets, 0 lost, 0 dropped; up 0 packets"), "{said}");
}

#[test]
fn quiet_emulation_of_the_server_says_nothing_of_its_own() {
    if !has_hosts() {
        return;
    }
    let script = "cat /proc/net/fib_trie";
    let output = emulate(&["--shell", "server", "--tcp", "-q"], &["sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("10.0.1.2"), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.is_empty() || said.starts_with("the emulation was not exact"), "{said}");
}

/// Regression: `--buffers` had no effect on the hosts of programs.
#[test]
fn hosts_of_programs_have_the_buffers_given_and_other_options_are_named() {
    if !has_hosts() {
        return;
    }
    let script = "cat /proc/sys/net/ipv4/tcp_wmem /proc/sys/net/ipv4/tcp_rmem";
    let limits = |options: &[&str]| {
        let shell = ["--shell", "client", "--tcp", "-q"];
        let output = emulate(&[&shell[..], options].concat(), &["sh", "-c", script]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (stdout(&output).replace('\t', " "), stderr(&output))
    };
    let (usual, said) = limits(&["--seed", "3", "--nic", "none"]);
    assert_eq!(usual, "4096 16384 4194304\n4096 131072 6291456\n");
    assert!(!said.contains("no effect"), "{said}");
    let (smaller, said) = limits(&["--buffers", "8KiB/96KiB", "--cc", "reno", "--runs", "3"]);
    assert_eq!(smaller, "4096 8192 8192\n4096 98304 98304\n");
    assert!(said.contains("note: `--cc`, `--runs` have no effect with `--shell`"), "{said}");
    let (fixed, _) = limits(&["--buffers", "fixed:1MiB/2MiB"]);
    assert_eq!(fixed, "4096 1048576 1048576\n4096 2097152 2097152\n");
}

#[test]
fn program_that_does_not_exist_is_named() {
    if !has_hosts() {
        return;
    }
    let output = emulate(&["--shell", "client", "--tcp", "-q"], &["no-such-program"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot start no-such-program: "), "{}", stderr(&output));
}

#[test]
fn kill_takes_the_program_along() {
    if !has_hosts() {
        return;
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["emulate", "--path", "a=rate 5mbit", "--shell", "client", "--tcp", "-q", "--"])
        .args(["sh", "-c", "echo $$; exec sleep 100"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let program = format!("/proc/{}", line.trim().parse::<u32>().expect("a process"));
    let sleeps = || {
        let name = std::fs::read_to_string(format!("{program}/comm"));
        name.is_ok_and(|name| name == "sleep\n" || name == "sh\n")
    };
    assert!(sleeps(), "{program}");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    for _ in 0..PATIENCE.as_millis() / 10 {
        if !sleeps() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{program} is still there");
}

#[test]
fn anybody_may_emulate_where_user_namespaces_are_allowed_and_is_told_where_not() {
    let started = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["emulate", "--path", "a=rate 50mbit delay 3ms", "--shell", "client", "--tcp"])
        .args(["--", "cat", "/proc/net/route"])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir(Path::new("/"))
        .output();
    let output = match started {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            println!("skipped: needs root, and a build folder that anybody may look into");
            return;
        }
        started => started.expect("the program starts"),
    };
    let said = stderr(&output);
    if output.status.code() == Some(3) {
        assert!(said.contains("remedy: run the same command with sudo"), "{said}");
    } else {
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.starts_with("emulating in a user namespace; "), "{said}");
        assert!(stdout(&output).contains("\na\t"), "{}", stdout(&output));
    }
}

#[test]
fn paths_that_make_no_sense_are_wrong_usage() {
    let output = anabranch(&["emulate", "--path", "wlna", "--shell", "client"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("wlan"), "{}", stderr(&output));
    let output = anabranch(&["emulate", "--path", "wlan", "--shell", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn output_of_a_comparison_is_refused_where_a_program_is_started() {
    for option in [&["--pcap", "x"][..], &["--out", "x"], &["--json"], &["--fail-if", "hurts"]] {
        let words = ["emulate", "--path", "wlan", "--shell", "client"];
        let output = anabranch(&[&words, option, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(2), "{option:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
    }
}

#[test]
fn stacks_are_compared_and_stored_and_their_report_is_made_again() {
    if !has_hosts() {
        return;
    }
    let scratch = Scratch::new("emulated-stacks");
    let folder = scratch.path("results");
    let words = [
        &["emulate"],
        &PATHS[..],
        &["--stack", "kernel-tcp,kernel-mptcp,anabranch", "--traffic", "bulk:256KiB"],
        &["--runs", "2", "--cc", "reno", "--schedulers", "linux", "--json", "-q", "--out", &folder],
    ]
    .concat();
    let output = anabranch(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "quiet is quiet");
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("a document");
    let variants = result["variants"].as_array().expect("variants");
    let names: Vec<&str> = variants.iter().filter_map(|v| v["name"].as_str()).collect();
    let kernel = ["kernel-tcp/a/reno", "kernel-tcp/b/reno", "kernel-mptcp/default/reno"];
    assert_eq!(names, [&kernel[..], &["tcp/a/reno", "tcp/b/reno", "mptcp/linux/reno"]].concat());
    let mean = |name: &str| {
        let variant = variants.iter().find(|variant| variant["name"] == name);
        variant.and_then(|variant| variant["mean"].as_f64())
    };
    // A run disturbed by other load has no value; the faster path is clear.
    for stack in ["kernel-tcp", "tcp"] {
        let times = mean(&format!("{stack}/a/reno")).zip(mean(&format!("{stack}/b/reno")));
        assert!(times.is_none_or(|(fast, slow)| 0.03 < fast && fast < slow), "{result:#}");
    }
    let stored = anabranch(&["report", &folder, "--json"]);
    assert_eq!(stored.status.code(), Some(0), "{}", stderr(&stored));
    let stored: serde_json::Value = serde_json::from_str(&stdout(&stored)).expect("a document");
    assert_eq!(stored["variants"], result["variants"]);
    let compare = [&["compare"], &PATHS[..], &["--traffic", "bulk:256KiB", "--out", &folder]];
    let refused = anabranch(&compare.concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("has results of emulated links"), "{}", stderr(&refused));
}

#[test]
fn sctp_of_the_engine_and_of_usrsctp_is_compared_over_three_links() {
    if !has_hosts() {
        return;
    }
    let scratch = Scratch::new("emulated-sctp");
    let folder = scratch.path("results");
    let paths = [
        "--path",
        "a=rate 20mbit delay 5ms loss 1%",
        "--path",
        "b=rate 10mbit delay 10ms",
        "--path",
        "c=rate 5mbit delay 20ms",
    ];
    let words = ["--stack", "anabranch-sctp,usrsctp", "--traffic", "bulk:256KiB", "--runs", "1"];
    let output = ["--json", "-q", "--out", &folder];
    let output = anabranch(&[&["emulate"], &paths[..], &words, &output].concat());
    let said = stderr(&output);
    if output.status.code() == Some(3) {
        println!("skipped: {}", said.lines().next().unwrap_or_default());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("a document");
    let variants = result["variants"].as_array().expect("variants");
    let names: Vec<&str> = variants.iter().filter_map(|v| v["name"].as_str()).collect();
    let of = |prefix: &str| ["a", "b", "c", "multihomed"].map(|on| format!("{prefix}/{on}/reno"));
    assert_eq!(names, [of("sctp"), of("usrsctp")].concat());
    for variant in variants.iter().filter(|variant| variant["discarded"] == 0) {
        assert!(variant["mean"].as_f64().is_some_and(|s| (0.1..60.0).contains(&s)), "{variant:#}");
        assert!(variant["extra"]["t3_timeouts"].is_number(), "{variant:#}");
        assert!(variant["retransmitted_segments"].is_number(), "{variant:#}");
        // usrsctp says nothing of its SACKs.
        let is_ours = variant["name"].as_str().is_some_and(|name| name.starts_with("sctp/"));
        let sacks = variant["sacks_per_data_packet"].as_f64();
        assert_eq!(sacks.is_some_and(|rate| (0.3..1.5).contains(&rate)), is_ours, "{variant:#}");
        // One path at a time: the first one, which loses packets, and others after a time-out.
        let (path, least) = variant["path"].as_str().map_or(("a", 0.3), |path| (path, 0.99));
        assert!(variant["share"][path].as_f64() > Some(least), "{variant:#}");
    }
    let table = anabranch(&["report", &folder, "--no-color"]);
    let shown = stdout(&table);
    let heading = shown.lines().find(|line| line.starts_with("sender, per run"));
    assert!(heading.is_some_and(|line| line.ends_with("retransmitted  T3-rtx")), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("usrsctp/multihomed/reno ")), "{shown}");
}

#[test]
fn usrsctp_without_a_compiler_is_refused_with_what_to_install() {
    if !has_hosts() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(["emulate", "--path", "a=rate 9mbit", "--traffic", "bulk:64KiB"])
        .args(["--stack", "usrsctp"])
        .env("PATH", "/nonexistent")
        .output()
        .expect("the program starts");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("there is no C compiler (cc)"), "{said}");
    assert!(said.contains("remedy: sudo apt-get install libusrsctp-dev gcc"), "{said}");
}

#[test]
fn coupled_control_of_a_kernel_is_refused_with_the_remedy() {
    let words = ["--traffic", "bulk:1MiB", "--stack", "kernel-mptcp", "--cc", "lia"];
    let output =
        anabranch(&[&["emulate"], &PATHS[..], &words[..], &["--protocols", "mptcp"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("kernels have no coupled congestion control"),
        "{}",
        stderr(&output)
    );
}

//! Errors in options, scenario files, result folders and captures.

use super::Session;
use crate::{command, sctp_capture};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

const STUDY: [&str; 5] = ["compare", "--path", "wlan", "--traffic", "video"];
const TWO: [&str; 9] =
    ["compare", "--path", "wlan", "--path", "3g", "--traffic", "video", "--protocols", "mptcp"];
/// A study that takes no time.
const TINY: [&str; 7] =
    ["compare", "--path", "p=rate 5mbit delay 10ms", "--traffic", "bulk:16KiB", "--runs", "1"];

#[test]
fn options_of_compare() {
    let mut session = Session::new("options");
    session.call(&["compare"]);
    session.call(&["compare", "--path", "wlan"]);
    let options: &[&[&str]] = &[
        &["--baseline", "tcp/3g/cubic"],
        &["--first", "3g"],
        &["--protocols", "tpc"],
        &["--protocols", "cmt-sctp"],
        &["--protocols", "tcp,tcp"],
        &["--cc", "reno,cubik"],
        &["--cc", "bbr"],
        &["--cc", "lia"],
        &["--cc", "coupled"],
        &["--cc", "reno:min-ssthresh=1"],
        &["--cc", "olia:min-ssthresh=4"],
        &["--schedulers", "lrf"],
        &["--reinjection", "off"],
        &["--path-managers", "fullmesh"],
        &["--policy", "none,drepas"],
        &["--runs", "0"],
        &["--runs", "many"],
        &["--runs-max", "0"],
        &["--jobs", "0"],
        &["--seed", "-1"],
        &["--profile", "linux-4.2"],
        &["--buffers", "4MiB"],
        &["--buffers", "4M/6MiB"],
        &["--buffers", "1/6MiB"],
        &["--nic", "fast"],
        &["--path-noise", "0.1"],
        &["--path-noise", "2s"],
        &["--http", "2"],
        &["--per-host"],
    ];
    for more in options {
        session.call(&[&STUDY[..], more].concat());
    }
    session.end();
}

#[test]
fn endpoints_and_limits_of_the_kernels_path_manager() {
    let mut session = Session::new("endpoints");
    let paths = "abcdefgh".chars().map(|name| format!("{name}=profile wlan"));
    let paths: Vec<String> = paths.flat_map(|path| ["--path".to_owned(), path]).collect();
    let call = ["compare", "--traffic", "bulk:64KiB", "--path-managers", "kernel"];
    let call: Vec<&str> = call.into_iter().chain(paths.iter().map(String::as_str)).collect();
    let options: &[&[&str]] = &[
        &["--endpoints", "a subflow"],
        &["--endpoints", "client"],
        &["--endpoints", "client lte subflow"],
        &["--endpoints", "client b subflows"],
        &["--endpoints", "client b signal fullmesh"],
        &["--endpoints", "client b backup"],
        &["--endpoints", "client b subflow, client b signal"],
        &["--endpoints", "client b subflow,client c subflow,client d subflow"],
        &["--endpoints", "client b subflow", "--limits", "server subflows 0"],
        &["--endpoints", ""],
        &["--endpoints", "client b subflow subflow"],
        &["--limits", " , "],
        &["--limits", "subflows 2 subflows 3"],
        &["--limits", "subflows 9"],
        &["--limits", "subflows"],
        &["--limits", "client"],
        &["--limits", "subflow 2"],
        &["--simultaneous-syn"],
    ];
    for more in options {
        session.call(&[&call[..], more].concat());
    }
    let announced = "server b signal, client c signal";
    let two = ["compare", "--traffic", "bulk:64KiB", "--path", "a=profile wlan", "--runs", "1"];
    let more =
        ["--path", "b=profile wlan", "--path", "c=profile wlan", "--path-managers", "kernel"];
    let told = ["--endpoints", announced, "--protocols", "mptcp"];
    session.call(&[&two[..], &more, &told].concat());
    session.end();
}

#[test]
fn options_over_several_paths() {
    let mut session = Session::new("options-multipath");
    let options: &[&[&str]] = &[
        &["--schedulers", "lfr"],
        &["--schedulers", "default"],
        &["--schedulers", "roundrobin"],
        &["--schedulers", "blest"],
        &["--schedulers", "wrr:0,1"],
        &["--schedulers", "wrr:1,2,3"],
        &["--schedulers", "ecf:beta=5"],
        &["--schedulers", "blest-kernel:bad=no,good=1"],
        &["--schedulers", "daps:round-delay=0.5"],
        &["--schedulers", "linux:grant=1"],
        &["--schedulers", "rr:beta=1"],
        &["--schedulers", "lrf:reinjection=retrans_only"],
        &["--schedulers", "lrf:reinjection=off,reinjection=off"],
        &["--schedulers", "lrf:reinjection"],
        &["--schedulers", "lrf,lrf:reinjection=off", "--reinjection", "off"],
        &["--reinjection", "kernal"],
        &["--path-managers", "fullmehs"],
        &["--path-managers", "ndiffports:0"],
        &["--path-managers", "ndiffports:10"],
        &["--path-managers", "fullmesh:create_on_err=yes"],
        &["--path-managers", "fullmesh,ndiffports,ndiffports:2"],
        &["--path-managers", "kernel:2"],
        &["--endpoints", "client wlan subflow"],
        &["--limits", "subflows 2"],
        &["--failover", "tpl"],
        &["--failover", "rto,rto"],
        &["--policy", "drepsa"],
        &["--policy", "drepas:mincontribution=2"],
        &["--policy", "drepas:interval=3"],
        &["--policy", "drepas:share=0.2"],
        &["--baseline", "average"],
        &["--baseline", "mptcp/lrf/cubik"],
        &["--ssthresh", "1p"],
        &["--ssthresh", "64"],
        &["--hystart", "maybe"],
    ];
    for more in options {
        session.call(&[&TWO[..], more].concat());
    }
    let alone = ["compare", "--traffic", "video", "--path", "wlan", "--protocols", "sctp"];
    session.call(&[&alone[..], &["--pacing"]].concat());
    let paths: Vec<String> = (0..9).map(|n| format!("p{n}=rate 5mbit")).collect();
    let paths: Vec<&str> = paths.iter().flat_map(|path| ["--path", path]).collect();
    session
        .call(&[&["compare", "--traffic", "video", "--protocols", "mptcp"], &paths[..]].concat());
    let udp = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "udp:1mbit:10s"];
    for (protocols, baseline) in [("tcp,udp", "udp/3g"), ("mptcp,udp", "average")] {
        session.call(&[&udp[..], &["--protocols", protocols, "--baseline", baseline]].concat());
    }
    session.end();
}

#[test]
fn traffic_of_compare() {
    let mut session = Session::new("traffic");
    for traffic in [
        "vidoe",
        "bulk",
        "bulk:",
        "bulk:0",
        "bulk:0s",
        "bulk:4M",
        "bulk:100000s",
        "bulk:4MIB",
        "burst",
        "burst:0",
        "burst:many",
        "video:0s",
        "video:20",
        "video:5s:6s",
        "video:fast",
        "video:adaptive:2mbit",
        "call:20",
        "video:100bit",
        "video:5s:deadline=soon",
        "video:5s:skip=1s:skip=2s",
        "video:5s:skip=5s",
        "video:20ms",
        "udp:1mbit:5s:2s",
        "video:5s:message=0",
        "video:5s:message=9:message=9",
        "video:86400s:message=1",
        "game:aoc-1:message=1kB",
        "web",
        "web:",
        "download",
        "download:30s",
        "onoff:1mbps",
        "onoff:1kbit:1s",
        "onoff:1gbit:3600s",
        "udp",
        "udp:0mbit",
        "udp:5mbps",
        "udp:5mbit:10s:bytes=7",
        "udp:5mbit:10s:bytes=65508",
        "udp:5mbit:bytes=many",
        "udp:5mbit:soon",
        "udp:10gbit:60s",
        "maps:4000s",
        "vod",
        "vod:netflx",
        "vod:dash:20",
        "vod:dash:20000s",
    ] {
        session.call(&["compare", "--path", "wlan", "--traffic", traffic]);
    }
    session.call(&["compare", "--path", "wlan", "--traffic", "vod:dash", "--reverse"]);
    let page = ["compare", "--path", "wlan", "--traffic", "web:google"];
    session.call(&[&page[..], &["--http", "3"]].concat());
    session.call(&[&page[..], &["--reverse"]].concat());
    session.end();
}

#[test]
fn scenario_files() {
    let mut session = Session::new("scenarios");
    for text in [
        "",
        "traffic = \n",
        "traffic = \"video\"\nrusn = 3\n",
        "traffic = true\n",
        "reverse = \"yes\"\n",
        "path = \"wlan\"\n",
        "traffic = \"video\"\n[path]\nwlan = \"rate 25mbps\"\n",
        "traffic = \"video\"\n[path.wlan]\nrat = \"25mbit\"\n",
        "traffic = \"video\"\n[path.wlan]\nuplink = \"25mbit\"\n",
        "traffic = \"video\"\nper-host = true\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nsimultaneous-syn = true\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\ncsv = true\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nquiet = true\nverbose = true\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nmarkdown = true\njson = true\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nfail-if = \"hurts, never\"\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nfail-if = [\"hurts\", \"Hurts\"]\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\nfail-if = \"goal-missed\"\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\njitter = \"5ms\"\n",
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\nunit = \"mbit\"\n",
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\nloss-ge = { q = \"1%\" }\n",
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\nloss-ge = { p = \"1%\" }\n",
        "traffic = \"video\"\n[path.wlan]\nuplink = { downlink = { rate = \"5mbit\" } }\n",
        "traffic = \"video\"\nprotocols = []\n[path]\nwlan = \"profile wlan\"\n",
        "traffic = \"video\"\n[path]\nwlan = {}\n",
        "traffic = \"video\"\n[path.wlan]\nrate = \"5mbit\"\nevents = [\"loss 3%\"]\n",
        "traffic = \"video\"\n[path.wlan.uplink]\nrate = \"5mbit loss 3%\"\n",
        "traffic = \"video\"\n[path.wlan.uplink]\nevents = \"rate 5mbit @1s loss 3% @2s\"\n",
        "traffic = \"bulk:5s\"\n[path]\nwlan = \"profile wlan\"\n[flow.x]\n",
        "traffic = \"bulk:5s\"\n[path]\nwlan = \"profile wlan\"\n[flow.x]\npaths = []\n",
        "traffic = \"bulk:5s\"\n[path]\nw = \"wlan\"\n[flow.x]\npath = \"w\"\npaths = \"w\"\n",
    ] {
        session.file("study.toml", text);
        let shown = text.lines().map(|line| format!("study.toml: {line}\n"));
        session.text.push_str(&shown.collect::<String>());
        session.call(&["compare", "study.toml"]);
    }
    session.file("binary.toml", b"\xff\xfe");
    session.file("large.toml", "#".repeat((1 << 20) + 1));
    for name in ["binary.toml", "large.toml", "no/such.toml", "."] {
        session.call(&["compare", name]);
    }
    session.end();
}

#[test]
fn environment_is_named_in_its_refusals() {
    let output = crate::command(&STUDY).env("ANABRANCH_RUNS", "0").output().expect("it starts");
    let message = crate::stderr(&output);
    assert!(message.starts_with("error: ANABRANCH_RUNS: "), "{message}");
}

#[test]
fn result_folders() {
    let mut session = Session::new("results");
    session.file("file", "in the way");
    for folder in ["file", "", "file/below"] {
        session.call(&[&TINY[..], &["--out", folder]].concat());
    }
    session.call(&[&TINY[..], &["--pcap", "file"]].concat());
    let quiet = |name| [&TINY[..], &["--quiet", "--out", name]].concat();
    session.call(&quiet("results"));
    session.call(&[&TINY[..], &["--out", "results"]].concat());
    session.call(&[&TINY[..], &["--out", "results", "--seed", "2"]].concat());
    let other_path =
        ["compare", "--path", "p=rate 6mbit", "--traffic", "bulk:16KiB", "--out", "results"];
    session.call(&other_path);
    let two = ["--path", "q=rate 5mbit"];
    session.call(&[&TINY[..], &two, &["--out", "results"]].concat());
    session.file("results/runs.parquet", "PAR1 damaged PAR1");
    session.call(&[&TINY[..], &["--out", "results"]].concat());
    std::fs::create_dir(session.scratch.0.join("others")).expect("a folder");
    session.file("others/.runs-0123456789ab.partial.jsonl", "{}\n");
    session.call(&[&TINY[..], &["--out", "others"]].concat());
    session.end();
}

/// Regression: lines of scenario files were compared by their number, so that the message named two
/// different settings, and also settings that no run depends on.
#[test]
fn results_of_other_settings() {
    const BASE: [&str; 9] = [
        "compare",
        "--path",
        "p=rate 5mbit delay 10ms",
        "--path",
        "q=rate 9mbit delay 10ms",
        "--traffic",
        "bulk:16KiB",
        "--runs",
        "1",
    ];
    let mut session = Session::new("results-elsewhere");
    let mut call = |more: &[&str], out: &str| {
        session.call(&[&BASE[..], more, &["--quiet", "--out", out]].concat());
    };
    call(&[], "usual");
    call(&["--deadline", "700s"], "usual");
    call(&["--metric", "goodput", "--matters", "9%", "--path-noise", "0"], "usual");
    call(&["--protocols", "tcp"], "usual");
    call(&["--link", "core=rate 5mbit", "--path", "r=via core"], "usual");
    call(&["--protocols", "tcp", "--reverse", "--nagle"], "alone");
    call(&["--protocols", "tcp", "--reverse"], "alone");
    call(&["--reverse", "--nagle"], "alone");
    session.end();
}

/// A study with long repetitions.
const LONG: [&str; 15] = [
    "compare",
    "--path",
    "a=rate 90mbit delay 9ms",
    "--path",
    "b=rate 90mbit delay 9ms",
    "--path",
    "c=rate 90mbit delay 9ms",
    "--cc",
    "cubic,reno",
    "--traffic",
    "bulk:64MiB",
    "--jobs",
    "1",
    "--runs",
    "9",
];

/// Starts it in the session's folder, and waits for the message on its first run.
fn started(session: &Session, more: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let mut command = command(&[&LONG[..], &["--verbose"], more].concat());
    command.current_dir(&session.scratch.0).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut messages = BufReader::new(child.stderr.take().expect("its messages"));
    messages.read_line(&mut String::new()).expect("a line");
    (child, messages)
}

#[test]
fn result_folders_in_use_or_left_unfinished() {
    let mut session = Session::new("results-unfinished");
    let out = ["--out", "results"];
    let (mut child, _messages) = started(&session, &out);
    session.call(&[&TINY[..], &out].concat());
    child.kill().expect("the program is killed");
    child.wait().expect("it ends");
    session.call(&[&TINY[..], &out].concat());
    session.end();
}

#[cfg(unix)]
#[test]
fn study_that_is_interrupted_says_what_happens() {
    let mut session = Session::new("interrupt");
    let (mut child, mut messages) = started(&session, &[]);
    let pid = child.id().to_string();
    let kill = Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
    assert!(kill.success());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut messages, &mut text).expect("the rest");
    let code = child.wait().expect("it ends").code();
    let said = text.lines().filter(|line| !line.contains(" run 0: "));
    session.text = said.map(|line| format!("2> {line}\n")).collect();
    session.text.push_str(&format!("exit {code:?}\n"));
    session.end();
}

/// A pcap file of IP packets that were cut to 44 bytes: a SYN, which is whole, and data, which have
/// 12 bytes of options.
fn cut_within_options() -> Vec<u8> {
    let mut file = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\x2c\0\0\0\x65\0\0\0".to_vec();
    for (header, flags, seq, len) in [(0x60, 2, 0, 44), (0x80, 16, 1, 152)] {
        file.extend([0, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0, len, 0, 0, 0]);
        file.extend([0x45, 0, 0, len, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        file.extend([0x9c, 0x40, 1, 0xbb, 0, 0, 0, seq, 0, 0, 0, 0, header, flags, 1, 0]);
        file.extend([0, 0, 0, 0, 2, 4, 5, 180]);
    }
    file
}

#[test]
fn captures() {
    let mut session = Session::new("captures");
    session.file("text", "hello");
    session.file("empty.pcap", "");
    for file in ["no-such.pcap", ".", "text", "empty.pcap"] {
        session.call(&["analyze", file]);
    }
    let study = [
        "compare",
        "--path",
        "wlan=rate 25mbit delay 20ms",
        "--path",
        "lte=rate 9mbit delay 40ms",
        "--traffic",
        "bulk:256KiB",
        "--protocols",
        "tcp,mptcp",
        "--quiet",
        "--pcap",
        "packets",
        "--runs",
        "1",
    ];
    session.call(&study);
    for file in ["mptcp-linux-cubic", "mptcp-linux-cubic-receiver", "tcp-wlan-cubic"] {
        session.call(&["analyze", &format!("packets/{file}.pcapng")]);
    }
    let sender = "packets/mptcp-linux-cubic.pcapng";
    for page in [sender, "page.html", "text"] {
        session.call(&["analyze", sender, "--out", page]);
    }
    let whole = std::fs::read(session.scratch.0.join("packets/tcp-wlan-cubic.pcapng"));
    let whole = whole.expect("a capture");
    session.file("cut.pcapng", &whole[..whole.len() / 2 + 5]);
    session.call(&["analyze", "cut.pcapng"]);
    // The header of a pcap file of IP packets, and not one packet.
    session.file(
        "nothing.pcap",
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0",
    );
    session.call(&["analyze", "nothing.pcap"]);
    session.file("options-cut.pcap", cut_within_options());
    session.call(&["analyze", "options-cut.pcap"]);
    let sctp = sctp_capture::capture();
    session.file("sctp.pcapng", &sctp);
    session.call(&["analyze", "sctp.pcapng"]);
    session.file("adler.pcapng", sctp_capture::with_adler_32(&sctp));
    session.call(&["analyze", "adler.pcapng"]);
    session.end();
}

#[cfg(all(feature = "linux", target_os = "linux"))]
fn outputs_of_live(session: &mut Session, get: &[&str], serve: &[&str]) {
    for output in [
        &["-o", "file"][..],
        &["-o", "link"],
        &["-o", "/dev/null"],
        &["-o", "new/"],
        &["-o", "new", "--pcap", "./new"],
        &["--pcap", "file"],
    ] {
        session.call(&[get, output].concat());
    }
    session.call(&[serve, &["--pcap", "file"]].concat());
}

#[cfg(all(feature = "linux", target_os = "linux"))]
#[test]
fn arguments_of_live() {
    let mut session = Session::new("live");
    session.file("file", "content");
    std::os::unix::fs::symlink("nothing", session.scratch.0.join("link")).expect("a link");
    let serve = |path: &'static str, listen: &'static str| {
        ["live", "serve", "--dir", ".", "--path", path, "--listen", listen]
    };
    let get = ["live", "get", "10.9.0.1:8080/a.bin", "--path", "dev=tun0"];
    let cases: &[&[&str]] = &[
        &["live"],
        &["live", "serve"],
        &["live", "get"],
        &serve("dev=tun0", "10.9.0.2"),
        &serve("dev=tun0", "10.9.0.2:0"),
        &serve("tun0", "10.9.0.2:80"),
        &serve("device=tun0", "10.9.0.2:80"),
        &serve("addr=10.9.0.2", "10.9.0.2:80"),
        &serve("backup", "10.9.0.2:80"),
        &serve("dev=tun0,addr=10.9", "10.9.0.2:80"),
        &serve("dev=tun0,addr=10.9.0.0", "10.9.0.2:80"),
        &serve("dev=tun0,dev=tun0", "10.9.0.2:80"),
        &serve("dev=", "10.9.0.2:80"),
        &serve("dev=a-name-that-is-too-long", "10.9.0.2:80"),
        &["live", "serve", "--dir", "file", "--path", "dev=tun0", "--listen", "10.9.0.2:80"],
        &serve("udp=lo", "127.0.0.1:80"),
        &serve("udp=0.0.0.0", "127.0.0.1:80"),
        &serve("udp=fe80::1,dev=lo,udp=fe80::2", "[fe80::1]:80"),
        &serve("udp=127.0.0.1:0", "127.0.0.1:80"),
        &serve("udp=127.0.0.1,udp=127.0.0.1", "127.0.0.1:80"),
        &serve("udp=127.0.0.1,mtu=9", "127.0.0.1:80"),
        &serve("udp=127.0.0.1,backup", "127.0.0.1:80"),
        &serve("udp=127.0.0.1,via=lo", "127.0.0.1:80"),
        &serve("udp=127.0.0.1", "127.0.0.1:80"),
        &[&serve("udp=127.0.0.1", "127.0.0.1:80")[..], &["--path", "dev=tun0"]].concat(),
        &[&serve("udp=127.0.0.1", "127.0.0.1:80")[..], &["--protocol", "tcp"]].concat(),
        &[&serve("udp=127.0.0.1:29899", "127.0.0.2:80")[..], &["--protocol", "sctp"]].concat(),
        &[&serve("udp=[::1]:29897", "0.0.0.0:80")[..], &["--protocol", "sctp"]].concat(),
        &[&serve("udp=192.0.2.1", "192.0.2.1:80")[..], &["--protocol", "sctp"]].concat(),
        &[&serve("udp=127.0.0.1,dev=none", "127.0.0.1:80")[..], &["--protocol", "sctp"]].concat(),
        &[&get[..], &["--protocol", "sctp", "--failover", "stale"]].concat(),
        &[&get[..], &["--protocol", "sctp", "--scheduler", "rr", "--failover", "stale"]].concat(),
        &[&get[..], &["--protocol", "sctp", "--cc", "balia", "-o", "file"]].concat(),
        &[&get[..], &["--udp-port", "0"]].concat(),
        &["live", "get", "10.9.0.1:8080", "--path", "dev=tun0"],
        &["live", "get", "10.9.0.1:8080/", "--path", "dev=tun0"],
        &["live", "get", "https://10.9.0.1:8080/a", "--path", "dev=tun0"],
        &["live", "get", "http://10.9.0.1:8080/a?b", "--path", "dev=tun0"],
        &["live", "get", "http://10.9.0.1:8080/a%2", "--path", "dev=tun0"],
        &["live", "get", "0.0.0.0:8080/a", "--path", "dev=tun0"],
        &["live", "get", "127.0.0.1:8080/a", "--path", "dev=tun0"],
        &[&get[..], &["--protocol", "cmt-sctp"]].concat(),
        &[&get[..], &["--protocol", "tcp", "--cc", "lia"]].concat(),
        &[&get[..], &["--cc", "bbr"]].concat(),
        &[&get[..], &["--cc", "olia:min-ssthresh=x"]].concat(),
        &[&get[..], &["--scheduler", "default"]].concat(),
        &[&get[..], &["--scheduler", "lrf,rr"]].concat(),
        &[&get[..], &["--scheduler", "wrr:3,1"]].concat(),
        &[&get[..], &["--path-manager", "ndiffports:99"]].concat(),
        &[&get[..], &["--path-manager", "none"]].concat(),
        &[&get[..], &["--path-manager", "binder"]].concat(),
        &[&get[..], &["--policy", "drepsa"]].concat(),
    ];
    for arguments in cases {
        session.call(arguments);
    }
    outputs_of_live(&mut session, &get, &serve("dev=tun0", "10.9.0.2:80"));
    let content = std::fs::read(session.scratch.path("file")).expect("the file");
    assert_eq!(content, b"content");
    session.end();
}

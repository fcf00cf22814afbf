//! Notes on recordings, and errors.

use super::Session;

/// Items of paths with recordings that cannot be used there.
const UNUSABLE: [&str; 13] = [
    "trace ages.json",
    "trace no-such-file",
    "trace .",
    "trace columns unit=mbti",
    "trace cut.json unit=mbit",
    "trace mahimahi unit=mbit",
    "trace columns unit=ms",
    "trace fast unit=mbit",
    "trace rtts unit=ms",
    "trace stamp.csv unit=mbit",
    "trace named.csv unit=mbit",
    "trace mahimahi rate 5mbit",
    "trace mahimahi rate 5mbit @20s..30s",
];

#[test]
fn recordings_that_are_none() {
    let mut session = Session::new("traces-refused");
    let files: &[(&str, &[u8])] = &[
        ("empty", b""),
        ("mute", b"[{\"duration_ms\": 1000, \"bandwidth_kbps\": 0}]"),
        ("short", b"[{\"duration_ms\": 0, \"bandwidth_kbps\": 5}]"),
        ("long", b"0.0 1.5\n9000000000.0 2.5\n19000000000.5 2.5\n"),
        ("backwards", b"3.0 1.5\n1.0 2.5\n"),
        ("far", b"0.0 1.5\n99999999999999.0 1.5\n"),
        ("words", b"a b\n1 2\nx y\n"),
        ("columns", b"1 2\n2 3\n"),
        ("decimals", b"0.0 4000000.5\n1.0 2000000.5\n"),
        ("small.csv", b"1,2\n2,3\n"),
        ("decimals.csv", b"1,2.5\n2,3.5\n"),
        ("three", b"1 2 3\n2 3 4\n"),
        ("ping", b"64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=12 ms\n"),
        ("iperf", b"[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec\n"),
        ("packets", b"frame.time,tcp.seq\n1,2\n"),
        ("log", b"# mahimahi mm-link (downlink)\n1 + 1500\n"),
        ("binary", b"PK\x03\x04\0\0"),
        ("bytes", b"\xc3\x28\n"),
        ("cut.json", b"[{\"duration_ms\": 1000, \"bandwidth_kbps\": 5000}"),
        ("other.json", b"[{\"time\": 1000}]"),
        ("no-array.json", b"{\"time\": 1000}"),
        ("down.json", b"[{\"duration_ms\": 1000, \"bandwidth_kbps\": 5000}] and more"),
        ("mahimahi", b"1\n2\n3\n"),
        ("falling", b"3\n2\n1\n"),
        ("half", b"1\n2.5\n"),
        ("utf16", b"\xff\xfe0\0\n\0"),
        ("late", b"5000000000\n"),
        ("comment", b"# nothing\n"),
        ("mute.json", b"[{\"duration_ms\": 1000, \"bandwidth_kbps\": 0}]"),
        ("colon.json", b"[{\"a\" 1}]"),
        ("quotes.json", b"[{a: 1}]"),
        ("value.json", b"[{\"a\": }]"),
        ("untimed.csv", b"DL_bitrate,UL_bitrate\n1,2\n"),
        ("short.csv", b"Timestamp,DL_bitrate\n2020.02.13_13.03.24\n"),
        ("stamp.csv", b"Timestamp,DL_bitrate\nnoon,5\n"),
        ("rtts", b"Run 1\n12.5,13.1,15.2\n"),
        ("fast", b"0.0 10000000.5\n1.0 5.5\n"),
        ("fast-list", b"Run 1\n10000000.55,5.4321\n"),
        ("bps.csv", b"time,bps\n0,5000000\n1,9000000\n"),
        ("minute.csv", b"time,Mbit/min\n0,500\n1,900\n"),
        ("minutes.csv", b"time_min,kbit/s\n0,500\n1,900\n"),
        ("exchanged.csv", b"kbit/s,time_s\n500,0\n900,1\n"),
    ];
    for (name, content) in files {
        session.file(name, content);
        session.path(&format!("trace {name}"));
    }
    let age = "{\"duration_ms\": 1e12, \"bandwidth_kbps\": 1}";
    session.file("ages.json", format!("[{}]", vec![age; 20].join(", ")));
    session.file("named.csv", b"time,kbit/s\n0,500\n1,900\n");
    for spec in UNUSABLE {
        session.path(spec);
    }
    session.end();
}

#[test]
fn recordings_as_they_are_understood() {
    let mut session = Session::new("traces");
    let files: &[(&str, &str)] = &[
        ("mahimahi", "1\n2\n3\n4\n"),
        ("both.down", "1\n2\n3\n4\n"),
        ("both.up", "2\n4\n"),
        ("seconds", "0.0 4.5\n1.0 5.5\n2.0 3.5\n"),
        ("bytes.csv", "1,500000\n2,600000\n9,550000\n"),
        ("gap", "0.0 4.5\n1.0 5.5\n900.0 3.5\n901.0 4.5\n"),
        ("rates", "0 4000000\n1 5000000\n"),
        ("list", "Run 1\n4.00128,5.43216,3.21336\n"),
        (
            "table.csv",
            "Timestamp,DL_bitrate,UL_bitrate\n2020.02.13_13.03.24,5000,900\n\
             2020.02.13_13.03.25,6000,800\n",
        ),
        ("download.csv", "Timestamp,DL_bitrate,UL_bitrate\n2020.02.13_13.03.24,90000,900\n"),
        ("mute.csv", "Timestamp,DL_bitrate,UL_bitrate\n2020.02.13_13.03.24,5000,0\n"),
        ("json", "[{\"duration_ms\": 1000, \"bandwidth_kbps\": 5000}]"),
    ];
    for (name, content) in files {
        session.file(name, content);
    }
    let joined = |times: &mut dyn Iterator<Item = u32>| -> String {
        times.map(|ms| format!("{ms}\n")).collect()
    };
    session.file("micros", joined(&mut (0..50).map(|n| n * 1_000_000)));
    session.file("seconds.down", joined(&mut (0..3000).map(|n| n / 1000)));
    session.file("silence", joined(&mut (0..5000).chain([12_000])));
    for spec in [
        "trace micros delay 10ms",
        "trace seconds.down delay 10ms",
        "trace silence delay 10ms",
        "trace mahimahi delay 10ms",
        "trace both.down delay 10ms",
        "trace seconds delay 10ms",
        "trace seconds unit=kbit delay 10ms",
        "trace bytes.csv delay 10ms",
        "trace gap delay 10ms",
        "trace rates unit=bit delay 10ms",
        "trace list delay 10ms",
        "trace table.csv delay 10ms",
        "trace-up table.csv delay 10ms",
        "trace download.csv delay 10ms",
        "trace mute.csv delay 10ms",
        "trace both.up delay 10ms",
        "trace-up both.up delay 10ms",
        "trace mahimahi trace-up table.csv delay 10ms",
        "trace json trace-up mahimahi delay 10ms",
        "rate 5mbit delay 10ms 2ms 25% distribution normal",
    ] {
        let path = format!("p={spec}");
        session.call(&["compare", "--traffic", "bulk:64KiB", "--runs", "2", "--path", &path]);
    }
    session.end();
}

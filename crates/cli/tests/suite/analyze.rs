//! `analyze` on captures of this program and on other files.

use crate::{Scratch, anabranch, command, sctp_capture, stderr, stdout, succeeds};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::Stdio;

/// A capture of each end of a download over both paths.
fn captured(scratch: &Scratch) -> [String; 2] {
    let folder = scratch.path("packets");
    let paths = ["wlan=rate 20mbit delay 10ms loss 1%", "lte=rate 8mbit delay 30ms"];
    let mut arguments = vec!["compare", "--traffic", "bulk:1MiB", "--protocols", "mptcp"];
    arguments.extend(["--schedulers", "lrf"]);
    arguments.extend(["--runs", "1", "--quiet", "--pcap", &folder]);
    arguments.extend(paths.iter().flat_map(|path| ["--path", *path]));
    succeeds(&arguments);
    ["", "-receiver"].map(|place| format!("{folder}/mptcp-lrf-cubic{place}.pcapng"))
}

#[test]
fn both_ends_of_a_download_are_shown_with_what_each_can_tell() {
    let scratch = Scratch::new("analyze");
    let [sender, receiver] = captured(&scratch);
    let text = succeeds(&["analyze", &sender]);
    assert!(
        text.contains("MPTCP, 2 subflows") && text.contains("captured at the server"),
        "{text}"
    );
    assert!(text.contains("RTT [ms]") && text.contains("\nwlan ") && text.contains("\nlte "));
    let text = succeeds(&["analyze", &receiver]);
    assert!(text.contains("captured at the client") && text.contains("out of order"), "{text}");
    let document: Value =
        serde_json::from_str(&succeeds(&["analyze", &receiver, "--json"])).unwrap();
    let connection = &document["connections"][0];
    assert_eq!(
        (&connection["protocol"], &connection["captured_at"]),
        (&"mptcp".into(), &"client".into())
    );
    let bytes = |n: usize| connection["subflows"][n]["down"]["first_bytes"].as_u64().unwrap();
    assert_eq!(bytes(0) + bytes(1), 1 << 20);
    assert!(connection["subflows"][0]["down"]["rtt"].is_null());
}

#[test]
fn summary_comes_before_the_connections() {
    let scratch = Scratch::new("analyze-summary");
    let [sender, _] = captured(&scratch);
    let text = succeeds(&["analyze", &sender]);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in {text}"));
    // The name of the capture above them may have these words, too.
    let parts =
        ["\n1 connection: 1 MPTCP", "\ntraffic", "\nhosts A and B", "\nconnection 1: MPTCP"];
    assert!(parts.map(place).is_sorted(), "{text}");
    let document: Value = serde_json::from_str(&succeeds(&["analyze", &sender, "--json"])).unwrap();
    assert_eq!(document["protocols"][0]["protocol"], "TCP");
    assert_eq!(document["protocols"][0]["packets"], document["packets"]);
    assert_eq!(document["talkers"].as_array().map(Vec::len), Some(2), "one pair a path");
}

#[test]
fn page_has_the_sequence_of_every_subflow_and_loads_nothing() {
    let scratch = Scratch::new("analyze-page");
    let [sender, _] = captured(&scratch);
    let page = scratch.path("page.html");
    let output = anabranch(&["analyze", &sender, "--out", &page]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), succeeds(&["analyze", &sender]), "the tables stay");
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["Connection 1, server to client", "acknowledged", "wlan: ", "retransmitted"] {
        assert!(html.contains(part), "{part}");
    }
    let scripts = html.matches("<script>figure(").count();
    assert_eq!(scripts, 1, "the request is too small for a figure");
    assert!(!html.contains("<script src") && !html.contains("<link"));
    // Its own page is written again, others only with --force, and the capture never.
    succeeds(&["analyze", &sender, "--out", &page]);
    let other = scratch.file("mine.html", "<p>mine</p>");
    let refused = anabranch(&["analyze", &sender, "--out", &other]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("--force"), "{}", stderr(&refused));
    succeeds(&["analyze", &sender, "--out", &other, "--force"]);
    let itself = anabranch(&["analyze", &sender, "--out", &sender]);
    assert_eq!(itself.status.code(), Some(2), "{}", stderr(&itself));
}

#[test]
fn association_is_shown_as_a_table_a_document_and_a_page() {
    let scratch = Scratch::new("analyze-sctp");
    let file = scratch.path("sctp.pcapng");
    std::fs::write(&file, sctp_capture::capture()).unwrap();
    let page = scratch.path("page.html");
    let text = succeeds(&["analyze", &file, "--out", &page]);
    for part in ["SCTP, 2 paths", "ended by SHUTDOWN of the client", "client adds 10.0.2.1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["position [TSN]", "wlan: 1 retransmitted", "lte: 2 moved here"] {
        assert!(html.contains(part), "{part}");
    }
    let document: Value = serde_json::from_str(&succeeds(&["analyze", &file, "--json"])).unwrap();
    let connection = &document["connections"][0];
    assert_eq!(connection["protocol"], "sctp");
    assert_eq!(connection["sctp"]["end"]["how"], "shutdown");
    assert_eq!(connection["subflows"][1]["up"]["sctp"]["retransmissions"]["moved"], 2);
    // Packets with the checksum of RFC 2960 are not analysed.
    let adler = scratch.path("adler.pcapng");
    std::fs::write(&adler, sctp_capture::with_adler_32(&sctp_capture::capture())).unwrap();
    let refused = anabranch(&["analyze", &adler]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("Adler-32 checksum of RFC 2960"), "{}", stderr(&refused));
}

#[test]
fn what_is_no_capture_is_refused() {
    let scratch = Scratch::new("analyze-refused");
    let text = scratch.file("page.html", "<html>");
    for (file, part) in [
        (text.as_str(), "neither a pcapng nor a pcap"),
        ("missing.pcap", "cannot read"),
        (env!("CARGO_MANIFEST_DIR"), "cannot read"),
    ] {
        let output = anabranch(&["analyze", file]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

/// A pcap file of TCP connections, each with a handshake, data in both directions and an end.
fn many(connections: u16) -> Vec<u8> {
    const SYN: u8 = 2;
    const FIN_ACK: u8 = 17;
    const ACK: u8 = 16;
    // Version 2.4, microseconds, raw IP packets.
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut time = 0_u32;
    for number in 0..connections {
        for (is_up, flags, seq, ack, len) in [
            (true, SYN, 100_u32, 0_u32, 0_u16),
            (false, SYN | ACK, 500, 101, 0),
            (true, ACK, 101, 501, 100),
            (false, ACK, 501, 201, 1000),
            (true, FIN_ACK, 201, 1501, 0),
            (false, FIN_ACK, 1501, 202, 0),
        ] {
            let (mut hosts, mut ports) = ([[10, 0, 0, 1], [10, 0, 0, 2]], [1024 + number, 80]);
            if !is_up {
                hosts.reverse();
                ports.reverse();
            }
            let total = 40 + len;
            time += 10;
            let record = [time / 1_000_000, time % 1_000_000, total.into(), total.into()];
            file.extend(record.iter().flat_map(|word| word.to_le_bytes()));
            let [high, low] = total.to_be_bytes();
            file.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 6, 0, 0]);
            file.extend(hosts.concat());
            file.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
            file.extend([seq, ack].iter().flat_map(|number| number.to_be_bytes()));
            file.extend([0x50, flags, 255, 255, 0, 0, 0, 0]);
            file.resize(file.len() + usize::from(len), 0);
        }
    }
    file
}

/// Regression: the whole document was in memory before its first byte was written, which took
/// twice as much as the analysis.
#[cfg(target_os = "linux")]
#[test]
fn document_of_many_connections_is_written_one_by_one() {
    const CONNECTIONS: u16 = 10_000;
    let scratch = Scratch::new("analyze-many");
    let file = scratch.path("many.pcap");
    fs::write(&file, many(CONNECTIONS)).expect("a capture");
    let mut child = command(&["analyze", &file, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut out = child.stdout.take().expect("a pipe");
    let mut text = vec![0; 1];
    out.read_exact(&mut text).expect("a document");
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("its memory");
    out.read_to_end(&mut text).expect("the rest");
    assert!(child.wait().expect("an end").success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    let peak: u32 = peak.expect("a peak").trim().parse().expect("kibibytes");
    assert!(peak < 15 * u32::from(CONNECTIONS), "{peak} KiB");
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    let all = document["connections"].as_array().expect("connections");
    assert_eq!(all.len(), usize::from(CONNECTIONS));
}

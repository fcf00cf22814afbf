//! A simulated capture is one that Wireshark's own dissectors find no fault with.

use crate::multipath::{multipath, over};
use crate::pair::{link, one_path, record};
use network::{LinkConfig, LossConfig};
use simulator::{RunSetup, Until};
use std::path::{Path, PathBuf};
use std::process::Command;
use traffic::Traffic;

/// Frames of `file` that match a display filter; `None` without tshark.
fn frames(file: &Path, filter: &str) -> Option<usize> {
    fields(file, filter, "frame.number").map(|values| values.len())
}

/// A field of the frames of `file` that match a display filter; `None` without tshark.
fn fields(file: &Path, filter: &str, field: &str) -> Option<Vec<String>> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"])
        .args(["-o", "sctp.checksum:CRC-32c"])
        .args([
            "-o",
            "mptcp.analyze_mappings:TRUE",
            "-o",
            "mptcp.intersubflows_retransmission:TRUE",
        ])
        .args(["-Y", filter, "-T", "fields", "-e", field])
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// A capture in a file of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, setup: &RunSetup) -> Scratch {
        let capture = record(setup).captures.expect("asked for").sender;
        let name = format!("anabranch-capture-{}-{name}.pcapng", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, capture).unwrap();
        Scratch(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn tshark_finds_no_malformed_packet_and_every_checksum_good() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.02 }, ..link(10, 20) };
    for ipv6 in [false, true] {
        let traffic = Traffic::BulkSize(600_000);
        let mut setup = one_path(&lossy, traffic);
        setup.network.ipv6 = ipv6;
        setup.until = Until::Closed;
        setup.recording.capture = true;
        let scratch = Scratch::new(&format!("tcp-{ipv6}"), &setup);
        let file = &scratch.0;
        let all = frames(file, "tcp");
        let bad = frames(file, "_ws.malformed || tcp.checksum.status != 1");
        let syns = frames(file, "tcp.flags.syn == 1");
        let repeated = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission";
        let again = frames(file, repeated);
        let Some(all) = all else {
            eprintln!("skipped: no tshark on this machine");
            return;
        };
        assert!(all > 200, "{all} frames");
        assert_eq!(bad, Some(0));
        assert!(syns.is_some_and(|syns| syns >= 2));
        assert!(again.is_some_and(|again| again > 0), "losses at 2 % show as retransmissions");
    }
}

/// Nothing of this may be in a capture of SCTP.
const FAULTS_OF_SCTP: &str = "_ws.malformed || ip.checksum.status == 0 || \
    sctp.checksum.status == 0 || sctp.chunk_length.bad || sctp.parameter_length.bad || \
    sctp.parameter_padding.expert || sctp.sack_gap_block_malformed || \
    sctp.sack_gap_block_out_of_order";

#[test]
fn tshark_finds_nothing_wrong_in_associations_with_one_address_and_with_two() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.02 }, ..link(10, 20) };
    let links = [lossy, link(10, 30)];
    for (ipv6, paths) in [(false, 1), (true, 1), (false, 2)] {
        let mut setup = crate::sctp::sctp(&links[..paths], Traffic::BulkSize(600_000));
        setup.network.ipv6 = ipv6;
        setup.until = Until::Closed;
        setup.recording.capture = true;
        let scratch = Scratch::new(&format!("sctp-{ipv6}-{paths}"), &setup);
        let file = &scratch.0;
        let Some(all) = frames(file, "sctp.checksum.status == 1") else {
            eprintln!("skipped: no tshark on this machine");
            return;
        };
        assert!(all > 200, "{all} frames");
        let some = |filter: &str| fields(file, filter, "frame.number").unwrap_or_default();
        assert_eq!(some(FAULTS_OF_SCTP), Vec::<String>::new());
        assert!(
            !some(
                "sctp.sack_gap_block_start || sctp.nr_sack_gap_block_start || \
            sctp.nr_sack_nr_gap_block_start"
            )
            .is_empty(),
            "losses at 2 % leave gaps"
        );
        assert!(!some("sctp.chunk_type == 14").is_empty(), "SHUTDOWN COMPLETE");
    }
}

/// Values of a field, each once.
fn distinct(values: &[String]) -> Vec<&str> {
    let mut values: Vec<&str> = values.iter().map(String::as_str).collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn tshark_sees_both_subflows_as_one_mptcp_connection() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.02 }, ..link(10, 20) };
    for (ipv6, checksum) in [(false, true), (true, false)] {
        let traffic = Traffic::BulkSize(400_000);
        let mut setup = over(&[lossy.clone(), link(10, 30)], "lrf", traffic);
        multipath(&mut setup).checksum = checksum;
        setup.network.ipv6 = ipv6;
        setup.until = Until::Closed;
        setup.recording.capture = true;
        let scratch = Scratch::new(&format!("mptcp-{ipv6}-{checksum}"), &setup);
        let file = &scratch.0;
        let Some(all) = frames(file, "tcp") else {
            eprintln!("skipped: no tshark on this machine");
            return;
        };
        let some = |filter: &str, field: &str| fields(file, filter, field).unwrap_or_default();
        assert!(all > 300, "{all} frames");
        let wrong = "_ws.malformed || tcp.checksum.status != 1 || mptcp.dss.infinite_mapping \
                     || (mptcp.dss.missing_mapping && tcp.len > 0) \
                     || mptcp.connection.echoed_key_mismatch";
        assert_eq!(some(wrong, "frame.number"), Vec::<String>::new());
        // Every frame with MPTCP options belongs to one connection of two subflows.
        assert_eq!(
            distinct(&some("tcp.options.mptcp.subtype && tcp.flags.syn == 0", "mptcp.stream")),
            ["0"]
        );
        assert_eq!(distinct(&some("tcp", "tcp.stream")), ["0", "1"]);
        // The token of the join is the one tshark derives from the server's key.
        let joins = some("tcp.options.mptcp.subtype == 1 && tcp.flags.syn == 1", "mptcp.stream");
        assert!(!joins.is_empty() && distinct(&joins) == ["0"], "{joins:?}");
        let sent = some("tcp.options.mptcp.recvtok", "tcp.options.mptcp.recvtok");
        let expected = some("mptcp.expected_token", "mptcp.expected_token");
        let tokens = |values: &[String]| -> Vec<u64> {
            values.iter().flat_map(|text| text.split(',')).filter_map(number).collect()
        };
        let (sent, expected) = (tokens(&sent), tokens(&expected));
        assert!(!sent.is_empty(), "the join names a connection");
        assert!(sent.iter().all(|token| expected.contains(token)), "{sent:?} {expected:?}");
        assert!(frames(file, "tcp.options.mptcp.subtype == 3").is_some_and(|adds| adds >= 2));
        assert!(frames(file, "tcp.options.mptcp.datafin.flag == 1").is_some_and(|fins| fins >= 2));
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

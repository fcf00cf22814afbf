//! A simulated capture is one that Wireshark's own dissectors find no fault with.

use crate::pair::{link, one_path, record};
use network::{LinkConfig, LossConfig};
use simulator::{RunSetup, Until};
use std::process::Command;
use traffic::Traffic;

/// Frames of `file` that match a display filter; `None` without tshark.
fn frames(file: &std::path::Path, filter: &str) -> Option<usize> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y", filter])
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout.iter().filter(|byte| **byte == b'\n').count())
}

#[test]
fn tshark_finds_no_malformed_packet_and_every_checksum_good() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli { p: 0.02 }, ..link(10, 20) };
    for ipv6 in [false, true] {
        let traffic = Traffic::BulkSize(200_000);
        let mut setup = RunSetup { ipv6, until: Until::Closed, ..one_path(&lossy, traffic) };
        setup.capture = true;
        let capture = record(&setup).capture.expect("asked for");
        let name = format!("anabranch-capture-{}-{ipv6}.pcapng", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, capture).unwrap();
        let all = frames(&file, "tcp");
        let bad = frames(&file, "_ws.malformed || tcp.checksum.status != 1");
        let syns = frames(&file, "tcp.flags.syn == 1");
        let again = frames(&file, "tcp.analysis.retransmission");
        std::fs::remove_file(&file).unwrap();
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

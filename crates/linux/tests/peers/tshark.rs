//! What passed over the sockets, in tshark.

use crate::sockets::Sockets;
use std::process::Command;

/// Nothing of this may be in a capture of SCTP.
const FAULTS: &str = "_ws.malformed || ip.checksum.status == 0 || sctp.checksum.status == 0 || \
    sctp.chunk_length.bad || sctp.parameter_length.bad || sctp.parameter_padding.expert || \
    sctp.sack_gap_block_malformed || sctp.sack_gap_block_out_of_order";

/// Asserts that tshark finds no fault in the capture of `sockets`; prints `skipped: ...` without
/// tshark.
pub(crate) fn find_no_fault(sockets: &mut Sockets) {
    let port = sockets.port();
    let name = format!("anabranch-peers-{}-{port}.pcapng", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, sockets.take_capture()).expect("a file");
    let frames = |filter: &str| {
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&file)
            .args(["-o", "ip.check_checksum:TRUE", "-o", "sctp.checksum:CRC-32c"])
            .args(["-d", &format!("udp.port=={port},sctp")])
            .args(["-Y", filter])
            .output()
            .ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        Some(text.lines().map(str::to_owned).collect::<Vec<String>>())
    };
    let (good, faults) = (frames("sctp.checksum.status == 1"), frames(FAULTS));
    let _ = std::fs::remove_file(&file);
    match good.zip(faults) {
        None => println!("skipped: tshark not found"),
        Some((good, faults)) => {
            assert!(good.len() > 100, "{} packets with a good checksum", good.len());
            assert!(faults.is_empty(), "{faults:?}");
        }
    }
}

//! `analyze` on captures of this program and on other files.

use crate::{Scratch, anabranch, stderr, stdout, succeeds};
use serde_json::Value;

/// A capture of each end of a download over both paths.
fn captured(scratch: &Scratch) -> [String; 2] {
    let folder = scratch.path("packets");
    let paths = ["wlan=rate 20mbit delay 10ms loss 1%", "lte=rate 8mbit delay 30ms"];
    let mut arguments = vec!["compare", "--traffic", "bulk:1MiB", "--protocols", "mptcp"];
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
fn what_is_no_capture_is_refused() {
    let scratch = Scratch::new("analyze-refused");
    let text = scratch.file("page.html", "<html>");
    for (file, part) in
        [(text.as_str(), "neither a pcapng nor a pcap"), ("missing.pcap", "cannot read")]
    {
        let output = anabranch(&["analyze", file]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

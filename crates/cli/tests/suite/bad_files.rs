//! Recordings of all kinds: read with a note on their format, or refused with problem and remedy.

use crate::{Scratch, anabranch, stderr, stdout};

/// The note on a recording, or the error.
fn said_of(test: &str, name: &str, content: &[u8]) -> String {
    let scratch = Scratch::new(test);
    let path = scratch.0.join(name);
    std::fs::write(&path, content).expect("a file for the test");
    let spec = format!("p=trace {} delay 10ms limit 100p", path.display());
    let common = ["--traffic", "bulk:20kB", "--runs", "1"];
    let output = anabranch(&[&["compare", "--path", &spec], &common[..]].concat());
    let message = stderr(&output);
    assert!(!message.contains("panicked"), "{message}");
    match output.status.code() {
        Some(0) => {
            let text = stdout(&output);
            text.lines().find(|line| line.contains("the downlink follows")).unwrap_or("").to_owned()
        }
        code => {
            assert_eq!(code, Some(2), "{message}");
            assert!(message.contains("help: "), "{message}");
            message
        }
    }
}

/// Checks that the message on a recording has all these parts.
#[track_caller]
fn says(test: &str, content: impl AsRef<[u8]>, parts: &[&str]) {
    let said = said_of(test, "file", content.as_ref());
    for part in parts {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
}

const MAHIMAHI: &str = "mahimahi milliseconds, 1500 bytes each; 3 ms, mean 16.00 Mbit/s";

#[test]
fn trace_with_foreign_line_ends_is_read() {
    for text in ["0\n1\n2\n3\n", "0\r\n1\r\n2\r\n3\r\n", "0\r1\r2\r3\r", "0\n1\r\n2\n3"] {
        says("line-ends", text, &[MAHIMAHI]);
    }
}

#[test]
fn trace_with_byte_order_mark_is_read() {
    says("bom", "\u{feff}0\n1\n2\n3\n", &[MAHIMAHI]);
}

#[test]
fn trace_in_utf16_is_refused_with_the_conversion() {
    says("utf16", b"\xff\xfe0\0\n\0", &["is in UTF-16", "iconv -f UTF-16"]);
    says("utf16be", b"\xfe\xff\x000\x00\n", &["is in UTF-16"]);
    says("utf16-bare", b"0\x00\n\x001\x00\n\x00", &["line 1: this is a binary file"]);
}

#[test]
fn trace_with_nul_bytes_is_refused_with_the_line() {
    says("nul", "0\n1\n\0\0\n2\n", &["line 3: this is a binary file"]);
    says("nul-late", format!("{}\0\n", "1\n".repeat(50)), &["line 51"]);
}

#[test]
fn trace_with_gaps_says_how_long_they_are() {
    let rates = "0,500000\n1,500000\n900,500000\n901,500000\n";
    says("gap", rates, &["during its longest gap, 899 s, the last rate is kept"]);
    let chances: String = (0..5000).chain([12_000]).map(|ms| format!("{ms}\n")).collect();
    says("silence", chances, &["12 s", "no capacity for up to 7.0 s"]);
}

#[test]
fn trace_in_wrong_unit_says_how_odd_its_rate_is() {
    let micros: String = (0..50).map(|n| format!("{}\n", n * 1_000_000)).collect();
    says("micros", micros, &["mean 0.01 kbit/s", "unusually slow: check the unit"]);
    let seconds: String = (0..3000).map(|n| format!("{}\n", n / 1000)).collect();
    says("seconds", seconds, &["unusually fast: check the unit"]);
    says("unit", "0,4.5\n1,5.5\n", &["their unit is not clear", "unit=mbit"]);
}

#[test]
fn trace_whose_times_go_backwards_is_refused_with_the_line() {
    says("back-chances", "0\n5\n3\n", &["line 3: times decrease"]);
    says("back-rates", "0,500000\n5,500000\n3,200000\n", &["line 3: times decrease"]);
}

#[test]
fn trace_with_repeated_times_takes_the_last_value() {
    says("repeated", "0,500000\n1,500000\n1,700000\n2,100000\n", &["3 s, mean 3.47 Mbit/s"]);
}

#[test]
fn trace_of_zeros_is_refused() {
    says("zero-times", "0\n0\n0\n", &["has a duration of zero"]);
    says("zero-rates", "0.0 0.0\n1.0 0.0\n", &["has no capacity"]);
}

#[test]
fn trace_with_impossible_numbers_is_refused_with_the_line() {
    for number in ["nan", "inf", "-inf", "-2.5", "1e308", "1e999"] {
        let text = format!("0.0 1.5\n1.0 {number}\n2.0 3.5\n");
        says("rates", text, &["line 2", number, "is out of range"]);
        says("times", format!("{number} 1.5\n"), &["line 1", number]);
    }
    says("large", "0\n99999999999999999999\n", &["line 2", "is out of range"]);
    says("negative", "0\n-1\n", &["line 2", "`-1` is not a whole number"]);
    let claims = r#"[{"duration_ms": 1e300, "bandwidth_kbps": 5}]"#;
    says("claims", claims, &["line 1", "is out of range"]);
}

#[test]
fn trace_in_quotation_marks_is_read() {
    says("quoted", "\"0\",\"500000\"\n\"1\",\"600000\"\n", &["2 s, mean 4.40 Mbit/s"]);
}

#[test]
fn pages_that_cannot_be_are_refused_with_the_mend() {
    let scratch = Scratch::new("pages");
    for (content, expected) in [
        ("", "is empty"),
        ("\0\0{}", "is not JSON"),
        ("{\"log\": {\"entries\": []}}", "without entries"),
        ("{\"log\": {\"entries\": [", "ends too early"),
        ("{\"log\": {\"entries\": [1e999]}}", "number out of range"),
        ("{\"log\": {\"entries\": []}}\0", "something follows the end"),
        (&format!("{{\"log\": {}", "[".repeat(100_000)), "recursion limit"),
    ] {
        let traffic = format!("web:{}", scratch.file("page.har", content));
        let output = anabranch(&["compare", "--path", "wlan", "--traffic", &traffic]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected) && message.contains("help: "), "{message}");
    }
    let folder = format!("web:{}", scratch.0.display());
    let output = anabranch(&["compare", "--path", "wlan", "--traffic", &folder]);
    assert!(stderr(&output).contains("is a folder"), "{}", stderr(&output));
}

//! Named paths and the set-ups of the papers: a figure of its source that each reproduces.

use crate::{Scratch, succeeds};
use serde_json::Value;

/// The round trips that a download over one path has, in milliseconds: the mean over all samples of
/// these repetitions, as tcptrace measures them (001 s3.3).
fn mean_round_trip(profile: &str, bytes: &str, options: &[&str], runs: u64) -> f64 {
    let scratch = Scratch::new(&format!("round-trip-{profile}-{bytes}"));
    let folder = scratch.path("captures");
    let traffic = format!("bulk:{bytes}");
    let (mut sum, mut samples) = (0.0, 0.0);
    for number in 0..runs {
        let number = number.to_string();
        let call = ["run", "--path", profile, "--traffic", &traffic, "--protocols", "tcp"];
        let more = ["--cc", "reno", "--pcap", &folder, "--force", "--quiet", "--run", &number];
        succeeds(&[&call[..], &more, options].concat());
        let capture = format!("{folder}/tcp-{profile}-reno.pcapng");
        let document = succeeds(&["analyze", &capture, "--json"]);
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let rtt = &document["connections"][0]["subflows"][0]["down"]["rtt"];
        let n = rtt["n"].as_f64().expect("samples");
        sum += rtt["mean"].as_f64().expect("a mean") * 1e3 * n;
        samples += n;
    }
    sum / samples
}

/// The kernel of 001 (s3.1).
const OF_001: [&str; 6] =
    ["--profile", "linux-3.5", "--ssthresh", "64KiB", "--buffers", "4MiB/8MiB"];

/// 001 Table 2: means and standard deviations, in milliseconds.
#[test]
fn round_trips_of_001_grow_with_the_size_of_the_download() {
    for (profile, bytes, mean, deviation) in [
        ("lte-verizon", "64kB", 92.4, 89.8),
        ("lte-verizon", "512kB", 204.6, 140.2),
        ("lte-verizon", "16MB", 624.7, 261.6),
        ("3g-sprint", "64kB", 381.3, 351.9),
        ("3g-sprint", "512kB", 972.4, 588.5),
        ("3g-sprint", "2MB", 1173.2, 792.9),
    ] {
        let found = mean_round_trip(profile, bytes, &OF_001, 3);
        println!("{profile}, {bytes}: {found:.1} ms ({mean} +- {deviation} ms)");
        assert!((found - mean).abs() < deviation, "{profile}, {bytes}: {found} ms");
    }
}

/// 004 sVI-B. Slow start fills the queue of the hotspot once.
#[test]
fn round_trips_of_004_under_load() {
    for (profile, bytes, expected) in [("2g", "4MiB", 1400.0), ("hotspot", "32MiB", 50.0)] {
        let found = mean_round_trip(profile, bytes, &["--profile", "linux-3.11"], 2);
        println!("{profile}: {found:.1} ms");
        assert!((found / expected - 1.0).abs() < 0.15, "{profile}: {found} ms");
    }
}

/// One cubic connection of 300 s had 177 Mbit/s (CoNEXT 2023). Eight of 120 s have 213 here, with a
/// 95 % interval from 183 to 243.
#[test]
fn one_connection_over_starlink_has_what_was_measured() {
    let call = ["compare", "--path", "starlink", "--traffic", "bulk:120s", "--runs", "8"];
    let document = succeeds(&[&call[..], &["--json", "--quiet"]].concat());
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let interval = &document["variants"][0]["ci95"];
    let mbit = |end: usize| interval[end].as_f64().expect("a goodput") / 1e6;
    let (low, high) = (mbit(0), mbit(1));
    println!("{low:.1} to {high:.1} Mbit/s");
    let within = 177.0 * 0.8..=177.0 * 1.2;
    assert!(low <= *within.end() && high >= *within.start() && high - low < 80.0, "{low} {high}");
}

#[test]
fn set_ups_of_the_papers_run() {
    for file in
        ["001-chen/two-path", "001-chen/four-path", "002-hurtig/monroe", "004-ferlin/nornet"]
    {
        let name = format!("scenarios/{file}.toml");
        let document = succeeds(&["compare", &name, "--runs", "2", "--json", "--quiet"]);
        let document: Value = serde_json::from_str(&document).expect("JSON");
        for variant in document["variants"].as_array().expect("variants") {
            assert_eq!(variant["incomplete"], 0, "{file}: {variant}");
        }
        if file.ends_with("four-path") {
            let shares = document["variants"][0]["share"].as_object().expect("shares");
            assert!(shares.values().all(|share| share.as_f64() > Some(0.03)), "{shares:?}");
        }
    }
}

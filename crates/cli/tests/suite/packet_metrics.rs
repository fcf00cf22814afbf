//! `--packet-metrics`: what it says is what captures of the same run say, and it changes nothing.

use crate::{Scratch, succeeds};
use serde_json::Value;

const PATHS: [&str; 4] = [
    "--path",
    "wlan=rate 20mbit delay 20ms loss 1% limit 100p",
    "--path",
    "3g=rate 4mbit delay 70ms limit 400p",
];
const DOWNLOAD: [&str; 8] = [
    "--protocols",
    "mptcp",
    "--schedulers",
    "lrf",
    "--traffic",
    "bulk:4MiB",
    "--profile",
    "linux-4.1",
];

fn json(call: &[&str]) -> Value {
    serde_json::from_str(&succeeds(call)).expect("JSON")
}

/// The captures of both ends, as `analyze` reads them.
#[test]
fn round_trips_losses_and_order_are_those_of_the_captures() {
    let scratch = Scratch::new("packet-metrics");
    let folder = scratch.path("captures");
    let more = ["--packet-metrics", "--pcap", &folder, "--json", "--quiet"];
    let document = json(&[&["run"], &PATHS[..], &DOWNLOAD, &more].concat());
    let extra = &document["variants"][0]["extra"];
    let number = |name: &str| extra[name].as_f64().unwrap_or_else(|| panic!("{name}: {extra}"));
    let read = |end: &str| {
        let name = format!("{folder}/mptcp-lrf-cubic{end}.pcapng");
        json(&["analyze", &name, "--json"])["connections"][0]["subflows"].clone()
    };
    let (sent, received) = (read(""), read("-receiver"));
    let near = |what: &str, ours: f64, captured: &Value, share: f64| {
        let captured = captured.as_f64().unwrap_or_else(|| panic!("{what}: {captured}"));
        println!("{what}: {ours} and {captured}");
        assert!((ours - captured).abs() <= share * captured.abs().max(1e-3), "{what}");
    };
    let mut late = (0.0, 0.0);
    for (place, path) in ["wlan", "3g"].into_iter().enumerate() {
        let down = &sent[place]["down"];
        near(path, number(&format!("rtt/{path}/mean")), &down["rtt"]["mean"], 0.05);
        near(path, number(&format!("rtt/{path}/p50")), &down["rtt"]["median"], 0.05);
        near(path, number(&format!("rtt/{path}/max")), &down["rtt"]["max"], 0.05);
        near(path, number(&format!("loss/{path}")), &down["loss"], 0.02);
        let order = &received[place]["down"]["out_of_order"];
        let segments = order["segments"].as_f64().expect("segments");
        let delays = &order["delay"];
        let n = delays["n"].as_f64().expect("n");
        late = (late.0 + segments, late.1 + n * delays["mean"].as_f64().expect("a mean"));
        println!("{path}: {segments} late segments, {delays}");
    }
    let n = number("out_of_order/n");
    near("late segments", number("out_of_order/share") * n, &late.0.into(), 0.05);
    near("sum of delays", number("out_of_order/mean") * n, &late.1.into(), 0.05);
    assert!(number("contribution/wlan").max(number("contribution/3g")) > 0.4, "{extra}");
    assert!(number("application_delay/mean") > 0.02, "{extra}");
    assert!(number("application_delay/max") < 8.0 && number("reorder_buffer/max") > 1448.0);
}

/// A path of 50 ms, on which frames of 3958 bytes wait in no queue.
#[test]
fn delay_from_write_to_read_of_a_slow_sender_is_that_of_the_path() {
    let path = ["--path", "a=rate 100mbit delay 50ms", "--traffic", "video:10s"];
    let more = ["--protocols", "tcp", "--runs", "1", "--packet-metrics", "--json", "--nic", "none"];
    let document = json(&[&["compare"], &path[..], &more].concat());
    let extra = &document["variants"][0]["extra"];
    let number = |name: &str| extra[name].as_f64().unwrap_or_else(|| panic!("{name}: {extra}"));
    let delay = number("application_delay/p50");
    assert!((delay - 0.0503).abs() < 0.0008, "{delay} s");
    assert!((number("rtt/a/min") - 0.1).abs() < 0.0005, "{extra}");
    assert_eq!((number("out_of_order/share"), number("loss/a")), (0.0, 0.0));
    assert_eq!(number("reorder_buffer/max"), 0.0);
    assert_eq!(document["variants"][0]["dominant_share"], 1.0);
}

#[test]
fn probes_are_counted_and_results_stay() {
    let paths = ["--path", "a=rate 20mbit delay 10ms", "--path", "b=rate 0.2mbit delay 300ms"];
    let policy = ["--protocols", "tcp,mptcp", "--schedulers", "lrf", "--policy", "none,drepas"];
    let call = ["compare", "--traffic", "bulk:16MiB", "--runs", "1", "--json", "--quiet"];
    let call = [&call[..], &paths, &policy].concat();
    let plain = json(&call);
    let measured = json(&[&call[..], &["--packet-metrics"]].concat());
    assert_eq!(plain["hash"], measured["hash"]);
    let variant = |document: &Value, name: &str| {
        let mut all = document["variants"].as_array().expect("variants").iter();
        all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let [none, drepas] =
        ["mptcp/lrf/cubic", "mptcp/lrf/cubic/drepas"].map(|n| variant(&measured, n));
    assert_eq!(none["extra"]["probes/bytes"], 0.0);
    // 10 KiB every 3 s at most (004 sV), of a path that is suspended after 3 s.
    let probes = drepas["extra"]["probes/bytes"].as_f64().expect("probes");
    let time = drepas["mean"].as_f64().expect("a time");
    assert!(probes > 0.0 && probes <= 10_240.0 * (time / 3.0 + 1.0), "{probes} in {time} s");
    assert!(variant(&plain, "mptcp/lrf/cubic")["aggregation_benefit"].as_f64() < Some(0.1));
    assert!(variant(&plain, "tcp/a/cubic").get("aggregation_benefit").is_none());
}

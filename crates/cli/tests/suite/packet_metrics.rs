//! `--packet-metrics`: what it says is what captures of the same run say, and it changes nothing;
//! tables, curves and metrics have its numbers.

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

/// A window that never fills the path grows in slow start only, and a full path of constant rate is
/// read at that rate: its steps are those of a segment and its acknowledgement.
#[test]
fn slow_start_and_the_jitter_of_the_goodput_are_those_of_simple_paths() {
    let number = |path: &str, traffic: &[&str], name: &str| {
        let call = ["compare", "--path", path, "--protocols", "tcp", "--runs", "1"];
        let more = ["--packet-metrics", "--json", "--quiet"];
        let document = json(&[&call[..], &["--traffic"], traffic, &more].concat());
        let extra = &document["variants"][0]["extra"];
        extra[name].as_f64().unwrap_or_else(|| panic!("{name}: {extra}"))
    };
    let long = "a=rate 1gbit delay 50ms";
    assert_eq!(number(long, &["bulk:256KiB"], "slow_start/a"), 1.0);
    let lossy = "a=rate 1gbit delay 50ms loss 1%";
    let after_losses = number(lossy, &["bulk:20s"], "slow_start/a");
    assert!((0.0..0.9).contains(&after_losses), "{after_losses}");
    let full = ["bulk:30s", "--warm-up", "10s"];
    let steady = number("a=rate 10mbit delay 10ms limit 100000p", &full, "goodput/jitter");
    assert!(steady < 0.02 * 10e6, "{steady} bit/s");
    let blocked =
        number("a=rate 10mbit delay 10ms limit 100000p down @15s..18s", &full, "goodput/jitter");
    assert!(blocked > 10.0 * steady.max(10e3), "{blocked} and {steady} bit/s");
}

#[test]
fn probes_are_counted_and_results_stay() {
    let paths = ["--path", "a=rate 20mbit delay 10ms", "--path", "b=rate 0.2mbit delay 300ms"];
    let policy = ["--protocols", "tcp,mptcp", "--schedulers", "lrf", "--policy", "none,drepas"];
    // The slow path blocks the connection for its first 20 s and is no worse than the other then.
    let call = ["compare", "--traffic", "bulk:64MiB", "--runs", "1", "--json", "--quiet"];
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

/// Every number of the document can be named as a metric, and none has two names.
#[test]
fn every_number_is_a_metric() {
    let small = ["--traffic", "bulk:64KiB", "--runs", "1", "--packet-metrics", "--quiet"];
    let call = [&["compare"], &PATHS[..], &small].concat();
    let document = json(&[&call[..], &["--json"]].concat());
    let variants = document["variants"].as_array().expect("variants");
    let names: std::collections::BTreeSet<&String> = variants
        .iter()
        .flat_map(|of| of["extra"].as_object().expect("numbers").keys())
        .filter(|name| name.contains('/') && !name.ends_with("/n"))
        .collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        let judged = json(&[&call[..], &["--json", "--metric", name]].concat());
        assert_eq!(judged["metric"], name.as_str());
        assert_eq!(judged["hash"], document["hash"], "{name}");
    }
}

/// The fields of a line of CSV, some in quotation marks.
fn fields(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let field = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    line.split(field).collect()
}

/// The value of a column in the rows of a CSV file.
fn column<'t>(csv: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = csv.lines();
    let heading = fields(lines.next().expect("a heading"));
    let place = heading.iter().position(|known| *known == name).expect(name);
    lines.map(|line| fields(line)[place]).collect()
}

#[test]
fn curves_have_the_samples_of_all_runs_and_survive_a_resume_and_a_report() {
    let scratch = Scratch::new("packet-curves");
    let out = scratch.path("results");
    let more = ["--traffic", "bulk:1MiB", "--packet-metrics", "--quiet", "--csv", "--out", &out];
    let call = [&["compare"], &PATHS[..], &more].concat();
    succeeds(&[&call[..], &["--runs", "2"]].concat());
    let text = succeeds(&[&call[..], &["--runs", "5"]].concat());
    assert!(text.contains("RTT mean [ms]") && text.contains("out of order"), "{text}");
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect(name);
    let (runs, curves, page) = (read("runs.csv"), read("ccdf.csv"), read("report.html"));
    let of = |name: &str| column(&curves, name);
    let (variants, kinds, paths) = (of("variant"), of("quantity"), of("path"));
    let (values, shares, samples) = (of("value_s"), of("at_or_above"), of("n"));
    let is = |row: &usize| {
        (variants[*row], kinds[*row], paths[*row]) == ("mptcp/linux/cubic", "rtt", "3g")
    };
    let rows: Vec<usize> = (0..variants.len()).filter(is).collect();
    // Empty where a run did not use the path.
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    // As many samples as the runs have, and as many of them beyond 100 ms (001 s5.1): a bucket ends
    // within 6 % of that.
    let mine = column(&runs, "variant").into_iter().map(|name| name == "mptcp/linux/cubic");
    let mine: Vec<bool> = mine.collect();
    let sum = |name: &str, weight: &dyn Fn(usize) -> f64| -> f64 {
        let all = column(&runs, name);
        (0..all.len()).filter(|row| mine[*row]).map(|row| number(all[row]) * weight(row)).sum()
    };
    let n = sum("rtt/3g/n", &|_| 1.0);
    assert_eq!((number(samples[rows[0]]), number(shares[rows[0]])), (n, 1.0));
    let counts = column(&runs, "rtt/3g/n");
    let above = sum("rtt/3g/above_200ms", &|row| number(counts[row])) / n;
    let share = |bound: f64| {
        let found = rows.iter().find(|row| number(values[**row]) >= bound);
        found.map_or(0.0, |row| number(shares[*row]))
    };
    assert!(share(0.2) <= above && above <= share(0.2 / 1.0667), "{above}");
    assert!(rows.windows(2).all(|two| number(values[two[0]]) < number(values[two[1]])));
    assert!(rows.windows(2).all(|two| number(shares[two[0]]) > number(shares[two[1]])));
    assert!(page.contains("id=\"ccdf\"") && page.contains("<table id=\"packets\">"));
    succeeds(&["report", &out, "--quiet"]);
    assert_eq!(read("report.html"), page, "drawn from the table of runs");
    let figures = scratch.path("figures");
    succeeds(&["report", &out, "--figures", "svg", "--out", &figures, "--quiet"]);
    for name in ["rtt-wlan-ccdf", "rtt-3g-cdf", "out-of-order-ccdf", "application-delay-ccdf"] {
        let figure = std::fs::read_to_string(format!("{figures}/{name}.svg")).expect(name);
        assert!(figure.contains("mptcp/linux/cubic"), "{name}");
    }
}

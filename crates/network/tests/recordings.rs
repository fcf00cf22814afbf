//! The recordings in the folder `ANABRANCH_DATA` and those shipped here parse to the figures that
//! their documents list; what is no recording of capacity is refused.

use base::Rate;
use network::trace::{Direction, Form, Unit, read};
use network::{CapacityTrace, TraceFault};
use std::path::{Path, PathBuf};

/// A folder of the recordings that are not shipped; `None`, with a message, where it is absent.
fn shared(folder: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("ANABRANCH_DATA") else {
        println!("skipped: ANABRANCH_DATA names no folder of recordings");
        return None;
    };
    let path = Path::new(&data).join(folder);
    if !path.is_dir() {
        println!("skipped: ANABRANCH_DATA has no {folder}");
        return None;
    }
    Some(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn trace(path: &Path, form: Form) -> CapacityTrace {
    let direction = match form {
        Form::BitrateTable(direction) => direction,
        _ => Direction::Down,
    };
    let (trace, found) = read(&text(path), direction, None)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, form, "{}", path.display());
    trace
}

fn mbit(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// Whether the mean of a recording is the listed one, up to the rounding of the list.
fn assert_mean(path: &Path, form: Form, seconds: f64, samples: usize, listed_mbit: f64) {
    let trace = trace(path, form);
    let (mean, period) = (mbit(trace.mean_rate()), trace.period().as_secs_f64());
    assert!((mean - listed_mbit).abs() <= 0.0051, "{}: mean {mean}", path.display());
    assert!((period - seconds).abs() <= 1.0, "{}: period {period}", path.display());
    assert_eq!(trace.samples(), samples, "{}", path.display());
}

#[test]
fn shipped_recordings_have_the_listed_means() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/links");
    assert_mean(&data.join("lte-ghent/report_bus_0001.json"), Form::Json, 607.0, 607, 27.60);
    assert_mean(&data.join("lte-ghent/report_train_0001.json"), Form::Json, 506.0, 506, 23.09);
    let norway = data.join("hsdpa-norway");
    assert_mean(&norway.join("report.2010-11-10_1424CET.json"), Form::Json, 587.0, 565, 1.96);
    let bus = trace(&norway.join("norway_bus_1.tsv"), Form::Columns(Unit::Mbit));
    assert_eq!(bus.samples(), 266);
    // Weighted by time; the mean over the samples, 3.34, counts short ones as much as long ones.
    assert!((mbit(bus.mean_rate()) - 2.945).abs() < 0.001, "{}", bus.mean_rate());
}

#[test]
fn mahimahi_recordings_have_the_listed_means() {
    let Some(folder) = shared("links/mahimahi") else { return };
    let list = [
        ("ATT-LTE-driving-2016.down", 120.0, 45604, 4.56),
        ("ATT-LTE-driving-2016.up", 120.0, 19101, 1.91),
        ("Verizon-LTE-short.down", 140.0, 58655, 5.03),
        ("Verizon-LTE-short.up", 140.0, 69367, 5.95),
        ("TMobile-UMTS-driving-first300s.down", 300.0, 34683, 1.39),
        ("TMobile-UMTS-driving-first300s.up", 300.0, 19135, 0.77),
    ];
    for (name, seconds, chances, mean) in list {
        assert_mean(&folder.join(name), Form::Mahimahi, seconds, chances, mean);
    }
}

#[test]
fn json_recordings_have_the_listed_means() {
    let Some(folder) = shared("links") else { return };
    let list = [
        ("hsdpa-norway/report.2010-09-13_1046CEST.json", 816.0, 619, 0.57),
        ("hsdpa-norway/report.2010-11-10_1424CET.json", 587.0, 565, 1.96),
        ("lte-ghent/report_bus_0001.json", 607.0, 607, 27.60),
        ("lte-ghent/report_train_0001.json", 506.0, 506, 23.09),
        ("lte-ghent/report_foot_0001.json", 403.0, 403, 41.59),
    ];
    for (name, seconds, samples, mean) in list {
        assert_mean(&folder.join(name), Form::Json, seconds, samples, mean);
    }
}

#[test]
fn pensieve_columns_have_the_listed_samples_and_duration() {
    let Some(folder) = shared("links/hsdpa-norway") else { return };
    let list = [
        ("norway_bus_1.tsv", 155.0, 266, 3.34),
        ("norway_metro_2.tsv", 316.0, 245, 1.44),
        ("norway_train_1.tsv", 299.0, 233, 1.59),
        ("norway_ferry_3.tsv", 317.0, 255, 1.43),
        ("norway_car_3.tsv", 251.0, 266, 2.03),
        ("norway_tram_10.tsv", 315.0, 194, 1.05),
    ];
    for (name, seconds, samples, per_sample) in list {
        let trace = trace(&folder.join(name), Form::Columns(Unit::Mbit));
        assert_eq!(trace.samples(), samples, "{name}");
        // The last sample lasts as long as the one before it.
        let period = trace.period().as_secs_f64();
        assert!((seconds - 1.0..seconds + 7.0).contains(&period), "{name}: {period}");
        // The list counts every sample once; here long ones weigh more, and they are slower.
        let share = mbit(trace.mean_rate()) / per_sample;
        assert!((0.75..1.0).contains(&share), "{name}: {share}");
    }
}

#[test]
fn second_and_bytes_recordings_have_the_listed_means() {
    let Some(folder) = shared("links/wifi-cellular-pairs") else { return };
    let list = [
        ("7_1_wifi.csv", 100, 30.5),
        ("7_1_cellular.csv", 100, 47.4),
        ("8_4_wifi.csv", 93, 22.2),
        ("13_1_cellular.csv", 100, 9.8),
        ("13_5_wifi.csv", 99, 49.7),
    ];
    for (name, seconds, listed) in list {
        let trace = trace(&folder.join(name), Form::Columns(Unit::Bytes));
        assert_eq!(trace.period().as_millis(), seconds * 1000, "{name}");
        let mean = mbit(trace.mean_rate());
        assert!((mean - listed).abs() <= 0.051, "{name}: {mean}");
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        trace(&entry.unwrap().path(), Form::Columns(Unit::Bytes));
    }
}

#[test]
fn throughput_lists_have_the_listed_means() {
    let Some(folder) = shared("links/5g-lte-walking") else { return };
    let list = [
        ("throughput-walking-5g-toward.list", 3613, 127.4),
        ("throughput-walking-lte-toward.list", 5711, 46.4),
    ];
    for (name, samples, listed) in list {
        let trace = trace(&folder.join(name), Form::RunList);
        assert_eq!(trace.samples(), samples, "{name}");
        assert_eq!(trace.period().as_millis(), samples as u64 * 100);
        let mean = mbit(trace.mean_rate());
        assert!((mean - listed).abs() <= 0.051, "{name}: {mean}");
    }
}

#[test]
fn bitrate_tables_have_the_listed_duration_and_nearly_the_mean() {
    let Some(folder) = shared("links/5g-ireland") else { return };
    let list = [
        ("Download-Driving-B_2020.02.13_13.03.24.csv", 2667, 6.9),
        ("Download-Static-B_2020.02.13_13.57.29.csv", 3497, 43.4),
        ("Download-Driving-B_2020.01.16_07.26.43.csv", 2089, 9.3),
    ];
    for (name, seconds, per_row) in list {
        let trace = trace(&folder.join(name), Form::BitrateTable(Direction::Down));
        assert_eq!(trace.period().as_millis(), (seconds + 1) * 1000, "{name}");
        // The list counts rows; by the time stamps they last unequally.
        let share = mbit(trace.mean_rate()) / per_row;
        assert!((1.0..1.1).contains(&share), "{name}: {share}");
        self::trace(&folder.join(name), Form::BitrateTable(Direction::Up));
    }
}

#[test]
fn what_is_no_recording_of_capacity_is_refused_by_name() {
    let Some(folder) = shared("links") else { return };
    let refused = |name: &str, word: &str| {
        let error = read(&text(&folder.join(name)), Direction::Down, None).unwrap_err();
        match error.fault {
            TraceFault::NotCapacity { what, .. } => assert!(what.contains(word), "{name}: {what}"),
            fault => panic!("{name}: {fault}"),
        }
    };
    for name in ["walking-5g-toward", "walking-lte-toward", "driving-5g-ping", "driving-lte-ping"] {
        refused(&format!("5g-lte-walking/ping-{name}.list"), "round-trip");
    }
    for name in ["mp", "sp_att", "sp_mob"] {
        refused(&format!("starlink-att-mptcp/mob_att_{name}.txt"), "iperf");
    }
    for entry in std::fs::read_dir(folder.join("hsr-mptcp-two-carriers")).unwrap() {
        let name = entry.unwrap().file_name();
        refused(&format!("hsr-mptcp-two-carriers/{}", name.to_string_lossy()), "per-packet");
    }
}

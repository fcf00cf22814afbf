//! The table of runs read by other programs.

use crate::{Scratch, succeeds};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Begins every script: `read` returns columns of the table as tuples, with the first available
/// library, `groups` collects rows by their first cells, and `line` prints cells.
const READ: &str = r#"
import sys
def duck(columns):
    import duckdb
    listed = ", ".join(f'"{column}"' for column in columns)
    return duckdb.sql(f"select {listed} from read_parquet('{sys.argv[1]}')").fetchall()
def polars(columns):
    import polars
    return polars.read_parquet(sys.argv[1]).select(columns).rows()
def pandas(columns):
    import pandas, pyarrow
    frame = pandas.read_parquet(sys.argv[1])[columns]
    return list(frame.itertuples(index=False, name=None))
def read(*columns):
    for library in duck, polars, pandas:
        try:
            return library(list(columns))
        except ImportError:
            pass
    sys.exit(77)
def groups(rows, size):
    found = {}
    for row in rows:
        found.setdefault(row[:size], []).append(row[size:])
    return found.items()
def line(*cells):
    print(*cells, sep="\t")
"#;

/// One line per variant: its name, number of runs, mean, and checks of the other columns.
const RUNS: &str = r#"
for name, rows in groups(read("variant", "value", "seed", "run", "hash", "bytes_read"), 1):
    value, seed, run, digits, read_bytes = zip(*rows)
    line(*name, len(rows), sum(value) / len(rows), min(seed), max(run), min(map(len, digits)),
         sum(read_bytes))
"#;

/// One line per quantity of a path, with the number of values, the largest one, and whether times
/// increase.
const SERIES: &str = r#"
columns = "variant", "path", "quantity", "unit", "t_ns", "value"
for key, points in groups(read(*columns), 4):
    times, values = zip(*points)
    line(*key, len(points), max(values), list(times) == sorted(times))
"#;

/// One line per variant, with the number of rows, the largest index and start, the mean delay, the
/// number of names, the paths of the first and last bytes, and whether rows are sorted.
const DELAYS: &str = r#"
columns = "variant", "run", "index", "name", "start_s", "delay_s", "first_path", "last_path"
for name, rows in groups(read(*columns), 1):
    run, index, names, start, delay, first, last = zip(*rows)
    line(*name, len(rows), max(index), max(start), sum(delay) / len(delay), len(set(names)),
         "+".join(sorted(set(first))), "+".join(sorted(set(last))), rows == sorted(rows))
"#;

/// Output of a script for a table; `None` without a library that reads it.
fn read(script: &str, table: &str) -> Option<String> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", packages).args(["-c", &format!("{READ}{script}"), table]);
    let answer = match python.output() {
        Ok(answer) if answer.status.code() != Some(77) => answer,
        _ => {
            println!("skipped: neither duckdb nor polars nor pandas for python3");
            return None;
        }
    };
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    Some(String::from_utf8_lossy(&answer.stdout).into_owned())
}

#[test]
fn table_of_runs_is_read_by_the_programs_people_use() {
    let scratch = Scratch::new("readers");
    let out = scratch.path("results");
    let study = ["compare", "--path", "wlan", "--path", "3g", "--traffic", "bulk:64KiB"];
    succeeds(
        &[&study[..], &["--runs", "5", "--seed", "18446744073709551615", "--out", &out]].concat(),
    );
    let Some(text) = read(RUNS, &format!("{out}/runs.parquet")) else { return };
    let document = std::fs::read_to_string(format!("{out}/result.json")).expect("result.json");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let variants = document["variants"].as_array().expect("variants");
    assert_eq!(text.lines().count(), variants.len(), "{text}");
    for variant in variants {
        let name = variant["name"].as_str().expect("a name");
        let line = text.lines().find(|line| line.starts_with(name)).expect("a row a variant");
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells[1], "5", "{line}");
        let mean: f64 = cells[2].parse().expect("a mean");
        assert!((mean / variant["mean"].as_f64().expect("a mean") - 1.0).abs() < 1e-12, "{line}");
        assert_eq!(cells[3..], ["18446744073709551615", "4", "64", "327680"], "{line}");
    }
}

#[test]
fn table_of_series_is_read_by_the_programs_people_use() {
    let scratch = Scratch::new("readers-series");
    let out = scratch.path("results");
    let paths = ["--path", "wlan=rate 20mbit delay 10ms loss 1%", "--path", "lte=rate 8mbit"];
    let traffic = ["--traffic", "bulk:512KiB", "--protocols", "tcp,mptcp", "--out", &out];
    succeeds(&[&["run"], &paths[..], &traffic].concat());
    let Some(text) = read(SERIES, &format!("{out}/series.parquet")) else { return };
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    // Six quantities of each path that carries something, two of the connection; of the calls of
    // a scheduler two of each path and the choice.
    assert_eq!(rows.len(), 2 * (6 + 2) + 2 * 6 + 2 + 2 * 2 + 1, "{text}");
    for row in &rows {
        assert!(row[4].parse::<u32>().is_ok_and(|n| n > 0) && row[6] == "True", "{row:?}");
        let most: f64 = row[5].parse().expect("a number");
        let expected = match (row[2], row[3]) {
            ("srtt", "s") => (0.001..5.0).contains(&most),
            ("read", "byte") => most == f64::from(512 << 10) && row[1].is_empty(),
            ("arrived" | "cwnd", "byte") => most > 1e4 && !row[1].is_empty(),
            ("brought", "bit/s") => (1e6..3e7).contains(&most) && !row[1].is_empty(),
            ("inflight", "segments") | ("queue", "packets") => (1.0..2_000.0).contains(&most),
            ("reorder_buffer", "byte") => (0.0..1e6).contains(&most),
            ("call_choice", "path") => most == 1.0 && row[1].is_empty(),
            ("call_compared", "s") => (0.001..5.0).contains(&most),
            ("call_marks", "marks") => most >= 0.0 && !row[1].is_empty(),
            _ => false,
        };
        assert!(expected, "{row:?}");
    }
}

#[test]
fn table_of_delays_is_read_by_the_programs_people_use() {
    let scratch = Scratch::new("readers-delays");
    let rows = |traffic: &str, folder: &str| -> Option<Vec<Vec<String>>> {
        let out = scratch.path(folder);
        let paths = ["--path", "a=rate 2mbit delay 10ms", "--path", "b=rate 2mbit delay 30ms"];
        let more = ["--protocols", "tcp,mptcp", "--schedulers", "rr", "--runs", "3", "--quiet"];
        let more = [&more[..], &["--out", &out]].concat();
        succeeds(&[&["compare", "--traffic", traffic], &paths[..], &more].concat());
        let text = read(DELAYS, &format!("{out}/delays.parquet"))?;
        let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
        let rows: Vec<Vec<String>> = text.lines().map(cells).collect();
        let result = std::fs::read_to_string(format!("{out}/result.json")).expect("result.json");
        let result: Value = serde_json::from_str(&result).expect("JSON");
        for variant in result["variants"].as_array().expect("variants") {
            let row = rows.iter().find(|row| variant["name"] == row[0].as_str());
            let mean: f64 = row.expect("rows of each variant")[4].parse().expect("a mean");
            let of = if traffic == "video:5s" { &variant["mean"] } else { &Value::Null };
            assert!(of.as_f64().is_none_or(|of| (of - mean).abs() < 1e-9), "{row:?}");
        }
        Some(rows)
    };
    let Some(video) = rows("video:5s", "video") else { return };
    for (row, paths) in video.iter().zip(["a+b", "a", "b"]) {
        assert_eq!((row[1].as_str(), row[2].as_str()), ("450", "150"), "messages: {row:?}");
        assert_eq!(row[5], "1", "messages have no name");
        assert_eq!([&row[6], &row[7], &row[8]], [paths, paths, "True"], "{row:?}");
        let last: f64 = row[3].parse().expect("a time");
        assert!((5.4..6.0).contains(&last), "the scheduled time, half a second after the request");
    }
    for row in rows("web:amazon", "web").expect("a reader") {
        assert!(row[5].parse::<u32>().is_ok_and(|names| names > 10), "URLs: {row:?}");
        assert_eq!(row[6].is_empty(), row[0].starts_with("mptcp"), "{row:?}");
    }
}

//! The tables of `--packet-metrics`: what every path did, and in which order data arrived.
//!
//! The lab measures; the documents have every number, these tables the ones to look at first.

use crate::columns::{Column, Table};
use lab::{Report, Scenario, Summary};

/// A column: heading, end of the number's name, format, and rank for removal.
type Number = (&'static str, &'static str, fn(f64) -> String, u8);

/// Heading of what probes cost, which only some variants send.
const PROBES: &str = "probes [kB]";

/// Of each path; `PATH` stands for its name.
const OF_PATHS: [Number; 8] = [
    ("RTT mean [ms]", "rtt/PATH/mean", milliseconds, 0),
    ("median", "rtt/PATH/p50", milliseconds, 2),
    ("p95", "rtt/PATH/p95", milliseconds, 0),
    ("max", "rtt/PATH/max", milliseconds, 1),
    ("over 200 ms", "rtt/PATH/above_200ms", share, 3),
    ("loss", "loss/PATH", share, 0),
    ("contribution", "contribution/PATH", share, 1),
    ("slow start", "slow_start/PATH", share, 4),
];
/// Of the connection.
const OF_CONNECTIONS: [Number; 10] = [
    ("out of order", "out_of_order/share", share, 0),
    ("mean [ms]", "out_of_order/mean", milliseconds, 4),
    ("p95", "out_of_order/p95", milliseconds, 0),
    ("over 150 ms", "out_of_order/above_150ms", share, 3),
    ("write-read [ms]", "application_delay/mean", milliseconds, 0),
    ("p95", "application_delay/p95", milliseconds, 1),
    ("buffer [kB]", "reorder_buffer/mean", kilobytes, 2),
    ("max", "reorder_buffer/max", kilobytes, 1),
    (PROBES, "probes/bytes", kilobytes, 1),
    ("jitter [Mbit/s]", "goodput/jitter", megabits, 4),
];

fn milliseconds(value: f64) -> String {
    format!("{:.1}", value * 1e3)
}

fn share(value: f64) -> String {
    format!("{:.2} %", value * 100.0)
}

fn megabits(value: f64) -> String {
    format!("{:.3}", value / 1e6)
}

fn kilobytes(value: f64) -> String {
    format!("{:.1}", value / 1e3)
}

/// Both tables; none if packets were not measured.
pub(crate) fn tables(scenario: &Scenario, report: &Report) -> Vec<Table> {
    let number = |of: &Summary, name: &str| {
        of.extra.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    };
    let mut rows: Vec<(&Summary, &str)> = Vec::new();
    for of in &report.variants {
        let paths = scenario.paths.iter().map(|path| path.name.as_str());
        let is_used = |path: &&str| number(of, &format!("rtt/{path}/mean")).is_some();
        rows.extend(paths.filter(is_used).map(|path| (of, path)));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let shown = |value: Option<f64>, show: fn(f64) -> String| value.map_or("-".to_owned(), show);
    let mut paths = vec![
        Column::new("packets", false, 0, rows.iter().map(|(of, _)| name(of)).collect()),
        Column::new("path", false, 0, rows.iter().map(|(_, path)| (*path).to_owned()).collect()),
    ];
    for (heading, of, show, rank) in OF_PATHS {
        let value = |(summary, path): &(&Summary, &str)| {
            shown(number(summary, &of.replace("PATH", path)), show)
        };
        paths.push(Column::new(heading, true, rank, rows.iter().map(value).collect()));
    }
    let names = report.variants.iter().map(name).collect();
    let mut connections = vec![Column::new("order", false, 0, names)];
    for (heading, of, show, rank) in OF_CONNECTIONS {
        let value = |summary: &Summary| shown(number(summary, of), show);
        let cells: Vec<String> = report.variants.iter().map(value).collect();
        connections.push(Column::new(heading, true, rank, cells));
    }
    [paths, connections].map(|columns| Table { columns: informative(columns) }).into()
}

fn name(of: &Summary) -> String {
    of.variant.name.clone()
}

/// The columns without those that say nothing of any row, and probes where there are none.
fn informative(columns: Vec<Column>) -> Vec<Column> {
    let tells = |column: &Column| {
        let nothing = if column.heading() == PROBES { "0.0" } else { "-" };
        column.cells().iter().any(|cell| cell != nothing)
    };
    columns.into_iter().filter(tells).collect()
}

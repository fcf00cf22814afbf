//! The page of a capture: the sequence of every connection over time.
//!
//! A point is a segment: its time and the position of its first byte in the connection (of MPTCP
//! the data sequence number less the first, of SCTP the TSN less the first). Colour and symbol are
//! those of its subflow; segments that were sent again and reinjections have symbols of their own
//! in the same colour. The line is what was acknowledged.

use super::charts::{axis, layout};
use super::draw::packed_all;
use super::figure::{Figure, VARIANT, scripts};
use super::page::{escaped, head};
use super::palette;
use lab::analyze::{Analysis, Connection, Sending, SentAt, Spoken, Subflow};
use serde_json::{Value, json};
use transport::Protocol;

/// Largest number of points of a subflow and kind; more are thinned.
const MOST_POINTS: usize = 4_000;
/// Largest number of figures: those of most bytes.
const MOST_FIGURES: usize = 12;
/// Smallest number of bytes of a direction with a figure.
const LEAST_BYTES: u64 = 10_000;

/// Contents of the page of a capture.
#[derive(Clone, Copy)]
pub(crate) struct CapturePage<'a> {
    /// Name of the capture file.
    pub file: &'a str,
    /// Its analysis, with sequences.
    pub analysis: &'a Analysis,
    /// A line on each connection.
    pub headings: &'a [String],
}

/// HTML of the page.
pub(crate) fn capture_page(sheet: &CapturePage<'_>) -> String {
    let title = format!("Sequences in {}", sheet.file);
    let mut page = head(&title);
    let (figures, left_out) = figures(sheet);
    if figures.is_empty() {
        page.push_str("<p>No connection of the capture has enough data to be drawn.</p>\n");
    } else {
        page.push_str(&scripts());
    }
    for figure in figures {
        page.push_str(&figure.html());
    }
    if left_out > 0 {
        page.push_str(&format!(
            "<p>{left_out} directions with fewer bytes are not drawn; \
             <code>anabranch analyze</code> lists their connections.</p>\n"
        ));
    }
    for note in &sheet.analysis.notes {
        page.push_str(&format!("<p class=\"small\">Note: {}.</p>\n", escaped(note)));
    }
    page + "</body></html>\n"
}

/// The figures in the order of connections, and the number of directions without one.
fn figures(sheet: &CapturePage<'_>) -> (Vec<Figure>, usize) {
    let connections = sheet.analysis.connections.iter().zip(sheet.headings).enumerate();
    let both = connections.flat_map(|(number, of)| [true, false].map(|down| (number, of, down)));
    let bytes = |connection: &Connection, down: bool| connection.first_bytes(down);
    let mut drawn: Vec<_> =
        both.filter(|(_, (connection, _), down)| bytes(connection, *down) >= LEAST_BYTES).collect();
    drawn.sort_by_key(|(_, (connection, _), down)| std::cmp::Reverse(bytes(connection, *down)));
    let left_out = drawn.len().saturating_sub(MOST_FIGURES);
    drawn.truncate(MOST_FIGURES);
    drawn.sort_by_key(|(number, ..)| *number);
    let figure = |(number, (connection, heading), down): (usize, (&Connection, &String), bool)| {
        let way = if down { "server to client" } else { "client to server" };
        let (traces, thinned) = traces(connection, down);
        let what = match connection.spoken {
            Spoken::Of(Protocol::Sctp) => {
                "Each point is a chunk of user data at its TSN, counted from the first one, in \
                 the colour of its path, a pair of addresses; the line is the cumulative TSN"
            }
            _ => {
                "Each point is a segment at the position of its first byte in the connection, in \
                 the colour of its subflow; the line is what was acknowledged"
            }
        };
        let mut caption = format!("{heading}. {what}.");
        if thinned {
            caption.push_str(" Points of new data are thinned; what was sent again is complete.");
        }
        let unit = Scale::of(connection, down);
        Figure {
            id: format!("sequence{number}{}", if down { "down" } else { "up" }),
            title: format!("Connection {}, {way}", number + 1),
            caption,
            height: 520,
            choice: VARIANT,
            sets: vec![(String::new(), traces)],
            layout: layout(&axis("time [s]"), &axis(&format!("position [{}]", unit.name))),
        }
    };
    (drawn.into_iter().map(figure).collect(), left_out)
}

/// Unit of positions.
struct Scale {
    name: &'static str,
    /// Bytes, or TSNs, of one unit.
    bytes: f64,
}

impl Scale {
    fn of(connection: &Connection, down: bool) -> Scale {
        match connection.first_bytes(down) {
            _ if connection.spoken == Spoken::Of(Protocol::Sctp) => {
                Scale { name: "TSN", bytes: 1.0 }
            }
            0..1_000_000 => Scale { name: "kB", bytes: 1e3 },
            _ => Scale { name: "MB", bytes: 1e6 },
        }
    }
}

/// Traces of one direction, and whether points were left out.
fn traces(connection: &Connection, down: bool) -> (Vec<Value>, bool) {
    let sequence = connection.sequence(down);
    let scale = Scale::of(connection, down).bytes;
    let step = sequence.acknowledged.len().div_ceil(MOST_POINTS).max(1);
    let line: Vec<(f64, u64)> = sequence.acknowledged.iter().copied().step_by(step).collect();
    let x = packed_all(line.iter().map(|(time, _)| *time));
    let y = packed_all(line.iter().map(|(_, position)| *position as f64 / scale));
    let mut traces = vec![json!({
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": "acknowledged",
        "line": {"shape": "hv", "color": "#777777", "width": 1},
    })];
    let mut thinned = step > 1;
    for (index, subflow) in connection.subflows.iter().enumerate() {
        for kind in [Sending::New, Sending::Retransmission, Sending::Reinjection] {
            let is_drawn = |one: &&SentAt| one.subflow == index && one.kind == kind;
            let all: Vec<&SentAt> = sequence.sent.iter().filter(is_drawn).collect();
            if all.is_empty() {
                continue;
            }
            let step = match kind {
                Sending::New => all.len().div_ceil(MOST_POINTS),
                Sending::Retransmission | Sending::Reinjection => 1,
            };
            thinned |= step > 1;
            let shown: Vec<&SentAt> = all.iter().step_by(step).copied().collect();
            traces.push(points(
                &shown,
                kind,
                index,
                &label(connection, subflow, kind, all.len()),
                scale,
            ));
        }
    }
    (traces, thinned)
}

/// Name of a subflow's segments of one kind in the legend.
fn label(connection: &Connection, subflow: &Subflow, kind: Sending, count: usize) -> String {
    let is_sctp = connection.spoken == Spoken::Of(Protocol::Sctp);
    let name = match connection.own_path(subflow) {
        Some(path) => path.to_owned(),
        // The ports are those of the association.
        None if is_sctp => format!("{} - {}", subflow.client.ip(), subflow.server.ip()),
        None => format!("{} - {}", subflow.client, subflow.server),
    };
    match kind {
        Sending::New => format!("{name}: {count} new"),
        Sending::Retransmission => format!("{name}: {count} retransmitted"),
        Sending::Reinjection if is_sctp => format!("{name}: {count} moved here"),
        Sending::Reinjection => format!("{name}: {count} reinjected"),
    }
}

/// Points of one subflow and kind.
fn points(shown: &[&SentAt], kind: Sending, index: usize, name: &str, scale: f64) -> Value {
    let look = palette::of_path(index);
    let (symbol, size) = match kind {
        Sending::New => (look.symbol(), 4),
        Sending::Retransmission => ("x-thin-open".to_owned(), 9),
        Sending::Reinjection => ("circle-open".to_owned(), 11),
    };
    let x = packed_all(shown.iter().map(|one| one.time));
    let y = packed_all(shown.iter().map(|one| one.position as f64 / scale));
    json!({
        "type": "scatter", "mode": "markers", "x": x, "y": y, "name": name,
        "marker": {
            "color": look.colour, "symbol": symbol, "size": size,
            "line": {"color": look.colour, "width": 2},
        },
    })
}

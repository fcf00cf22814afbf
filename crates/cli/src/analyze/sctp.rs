//! Tables of an SCTP association: paths, acknowledgements, heartbeats and streams.

use super::{millis, percent};
use crate::columns::{Column, Table};
use crate::output::Screen;
use lab::analyze::{
    Address, AddressChange, Association, Change, Connection, Distribution, End, Flowing, Known,
    OutOfOrder, PathUse, Sent, Stream, Subflow, Vantage,
};

/// Most streams of a direction in the table: those of most bytes.
const MOST_STREAMS: usize = 8;
/// Most address changes that are listed.
const MOST_CHANGES: usize = 20;
const SIDES: [&str; 2] = ["client", "server"];

/// The kind of connection in its heading.
pub(super) fn heading(connection: &Connection) -> String {
    let over = connection.sctp.as_ref().and_then(|of| of.udp).map_or("", |_| " over UDP");
    match connection.subflows.len() {
        1 => format!("SCTP{over}, 1 path"),
        many => format!("SCTP{over}, {many} paths"),
    }
}

/// Everything below the heading.
pub(super) fn show(text: &mut String, connection: &Connection, of: &Association, screen: Screen) {
    screen.wrap(text, "", &life(of), "");
    for side in [0, 1] {
        let list: Vec<String> = of.addresses[side].iter().map(address).collect();
        screen.wrap(text, "", &format!("{} addresses: {}", SIDES[side], list.join(", ")), "");
    }
    for one in of.changes.iter().take(MOST_CHANGES) {
        screen.wrap(text, "", &change(one), "");
    }
    if of.changes.len() > MOST_CHANGES {
        let more = of.changes.len() - MOST_CHANGES;
        screen.wrap(text, "", &format!("and {more} more changes"), "");
    }
    let speaks = |down: bool| {
        connection
            .subflows
            .iter()
            .any(|path| path.flowing(down).sctp.as_ref().is_some_and(|path| path.packets > 0))
    };
    for down in [true, false].into_iter().filter(|down| speaks(*down)) {
        text.push_str(&direction(connection, down).render(screen));
    }
    if let Some(table) = acknowledgements(of) {
        text.push_str(&table.render(screen));
    }
    if connection.subflows.iter().any(|path| beats(&path.up) + beats(&path.down) > 0) {
        text.push_str(&heartbeats(connection).render(screen));
    }
    streams(text, of, screen);
    for note in notes(connection, of) {
        screen.wrap(text, "note: ", &note, "");
    }
}

/// Who initiated it, how far it came and how it ended.
fn life(of: &Association) -> String {
    let begin = if of.initiated { "initiated by the client" } else { "begun before the capture" };
    let end = match &of.end {
        End::Running => format!("{} when the capture ends", of.state.name()),
        End::Shutdown(by) => {
            let by = by.map_or(String::new(), |side| format!(" of the {}", SIDES[side]));
            format!("ended by SHUTDOWN{by}, {}", of.state.name())
        }
        End::Abort(by, causes) if causes.is_empty() => {
            format!("ended by ABORT of the {}", SIDES[*by])
        }
        End::Abort(by, causes) => {
            format!("ended by ABORT of the {}: {}", SIDES[*by], causes.join("; "))
        }
        End::Restart => "replaced by a restart".to_owned(),
    };
    let tag =
        |side: usize| of.tags[side].map_or("unknown".to_owned(), |tag| format!("{tag:#010x}"));
    format!("{begin}, {end}; verification tags {} to the client, {} to the server", tag(0), tag(1))
}

fn address(of: &Address) -> String {
    let from = match of.from {
        Known::Init => "",
        Known::Asconf => " (added)",
        Known::Packet => " (seen)",
    };
    let removed = if of.removed { " (removed)" } else { "" };
    format!("{}{from}{removed}", of.address)
}

fn change(of: &AddressChange) -> String {
    let what = match of.what {
        Change::Add => "adds",
        Change::Delete => "removes",
        Change::SetPrimary => "asks to make primary",
    };
    let answer = match &of.answer {
        None => ", not answered".to_owned(),
        Some(causes) if causes.is_empty() => String::new(),
        Some(causes) => format!(", refused: {}", causes.join("; ")),
    };
    format!("at {:.3} s the {} {what} {}{answer}", of.time, SIDES[of.side], of.address)
}

/// Table of one direction with a row for each path.
fn direction(connection: &Connection, down: bool) -> Table {
    let rows: Vec<(&Subflow, &Flowing)> =
        connection.subflows.iter().map(|path| (path, path.flowing(down))).collect();
    let data: u64 = rows.iter().map(|(_, flowing)| flowing.segments).sum();
    let each = |cell: &dyn Fn(&Flowing) -> String| -> Vec<String> {
        rows.iter().map(|(_, flowing)| cell(flowing)).collect()
    };
    let used = |part: fn(&PathUse) -> u64| {
        let values: Vec<u64> =
            rows.iter().map(|(_, flowing)| flowing.sctp.as_ref().map_or(0, part)).collect();
        // A column is left out where there is nothing to count.
        let any = values.iter().any(|value| *value > 0);
        values.into_iter().map(|value| if any { count(value) } else { String::new() }).collect()
    };
    let rtt = |part: fn(&Distribution) -> f64| {
        each(&move |flowing| flowing.rtt.as_ref().map_or(String::new(), |rtt| millis(part(rtt))))
    };
    let waited = |part: fn(&OutOfOrder) -> String| {
        each(&move |flowing| flowing.out_of_order.as_ref().map_or(String::new(), part))
    };
    let way = if down { "server to client" } else { "client to server" };
    let names = rows.iter().map(|(path, _)| path_name(connection, path)).collect();
    let mut columns = vec![
        Column::new(way, false, 0, names),
        Column::new("packets", true, 1, used(|path| path.packets)),
    ];
    if data == 0 {
        return Table { columns };
    }
    columns.extend([
        Column::new("chunks", true, 3, each(&|f| count(f.segments))),
        Column::new("bytes", true, 0, each(&|f| count(f.bytes))),
        Column::new("share", true, 0, each(&|f| f.share.map_or("-".to_owned(), percent))),
        Column::new("resent", true, 0, used(|path| resent(path) - path.retransmissions.moved)),
        Column::new("moved", true, 0, used(|path| path.retransmissions.moved)),
        Column::new("fast", true, 2, used(|path| path.retransmissions.fast)),
        Column::new("time-out", true, 2, used(|path| path.retransmissions.timeout)),
        Column::new("loss", true, 0, each(&|f| f.loss.map_or("-".to_owned(), percent))),
        Column::new("RTT [ms]", true, 0, rtt(|rtt| rtt.mean)),
        Column::new("median", true, 4, rtt(|rtt| rtt.median)),
        Column::new("95 %", true, 3, rtt(|rtt| rtt.p95)),
        Column::new("out of order", true, 3, waited(out_of_order)),
        Column::new("delay [ms]", true, 0, waited(|w| millis(w.delay.mean))),
        Column::new("95 %", true, 3, waited(|w| millis(w.delay.p95))),
    ]);
    Table { columns }
}

/// Interface of a path, or its addresses if others have it, too; its ports are those of the
/// association.
fn path_name(connection: &Connection, path: &Subflow) -> String {
    let unverified = if path.established { "" } else { " (not verified)" };
    match connection.own_path(path) {
        Some(name) => format!("{name}{unverified}"),
        None => format!("{} - {}{unverified}", path.client.ip(), path.server.ip()),
    }
}

/// Retransmissions on a path, moved ones included.
fn resent(path: &PathUse) -> u64 {
    path.retransmissions.fast + path.retransmissions.timeout
}

fn out_of_order(waited: &OutOfOrder) -> String {
    percent(waited.segments as f64 / waited.delay.n.max(1) as f64)
}

/// Table of the data of both sides and their acknowledgement; `None` without any.
fn acknowledgements(of: &Association) -> Option<Table> {
    let mut rows = vec![(&of.sides[1], "of the server"), (&of.sides[0], "of the client")];
    rows.retain(|(sent, _)| sent.chunks + sent.sacks.sacks + sent.sacks.nr_sacks > 0);
    if rows.is_empty() {
        return None;
    }
    let each = |cell: &dyn Fn(&Sent) -> String| -> Vec<String> {
        rows.iter().map(|(sent, _)| cell(sent)).collect()
    };
    let counts = |part: fn(&Sent) -> u64| {
        let any = rows.iter().any(|(sent, _)| part(sent) > 0);
        each(&move |sent| if any { count(part(sent)) } else { String::new() })
    };
    let names = rows.iter().map(|(_, name)| (*name).to_owned()).collect();
    let window = |sent: &Sent| sent.sacks.least_window.map_or("-".to_owned(), |w| w.to_string());
    let goodput =
        |sent: &Sent| sent.goodput.map_or("-".to_owned(), |rate| format!("{:.3}", rate / 1e6));
    Some(Table {
        columns: vec![
            Column::new("data", false, 0, names),
            Column::new("TSNs", true, 0, each(&|sent| count(sent.unique_chunks))),
            Column::new("bytes", true, 2, each(&|sent| count(sent.unique_bytes))),
            Column::new("Mbit/s", true, 0, each(&goodput)),
            Column::new("SACKs", true, 0, each(&|sent| count(sent.sacks.sacks))),
            Column::new("NR-SACKs", true, 0, counts(|sent| sent.sacks.nr_sacks)),
            Column::new("gap blocks", true, 1, counts(|sent| sent.sacks.gap_blocks)),
            Column::new("most", true, 2, counts(|sent| sent.sacks.most_gap_blocks)),
            Column::new("duplicates", true, 0, counts(|sent| sent.sacks.duplicates)),
            Column::new("least a_rwnd", true, 0, each(&window)),
            Column::new("zero windows", true, 1, counts(|sent| sent.sacks.zero_windows)),
        ],
    })
}

fn beats(flowing: &Flowing) -> u64 {
    flowing.sctp.as_ref().map_or(0, |path| path.heartbeats)
}

/// Table of heartbeats with a row for each path that had any.
fn heartbeats(connection: &Connection) -> Table {
    let rows: Vec<&Subflow> =
        connection.subflows.iter().filter(|path| beats(&path.up) + beats(&path.down) > 0).collect();
    let each = |down: bool, cell: fn(&PathUse) -> String| -> Vec<String> {
        let cell = |path: &&Subflow| path.flowing(down).sctp.as_ref().map_or(String::new(), cell);
        rows.iter().map(cell).collect()
    };
    let names = rows.iter().map(|path| path_name(connection, path)).collect();
    let sent = |path: &PathUse| count(path.heartbeats);
    let answered = |path: &PathUse| count(path.answered);
    let rtt = |path: &PathUse| path.heartbeat_rtt.map_or(String::new(), |rtt| millis(rtt.mean));
    Table {
        columns: vec![
            Column::new("heartbeats", false, 0, names),
            Column::new("by client", true, 0, each(false, sent)),
            Column::new("answered", true, 0, each(false, answered)),
            Column::new("RTT [ms]", true, 0, each(false, rtt)),
            Column::new("by server", true, 0, each(true, sent)),
            Column::new("answered", true, 0, each(true, answered)),
            Column::new("RTT [ms]", true, 0, each(true, rtt)),
        ],
    }
}

/// Table of the streams of both directions.
fn streams(text: &mut String, of: &Association, screen: Screen) {
    let (mut rows, mut more): (Vec<(usize, &Stream)>, usize) = (Vec::new(), 0);
    for side in [1, 0] {
        let mut streams: Vec<&Stream> = of.sides[side].streams.iter().collect();
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.bytes));
        more += streams.len().saturating_sub(MOST_STREAMS);
        streams.truncate(MOST_STREAMS);
        streams.sort_by_key(|stream| stream.id);
        rows.extend(streams.into_iter().map(|stream| (side, stream)));
    }
    if rows.is_empty() {
        return;
    }
    let each = |cell: &dyn Fn(&Stream) -> String| -> Vec<String> {
        rows.iter().map(|(_, stream)| cell(stream)).collect()
    };
    let names = rows.iter().map(|(side, stream)| format!("{} of {}", stream.id, SIDES[*side]));
    let blocked = |part: fn(&OutOfOrder) -> String| {
        each(&move |stream| stream.blocked.as_ref().map_or(String::new(), part))
    };
    let table = Table {
        columns: vec![
            Column::new("stream", false, 0, names.collect()),
            Column::new("ordered", true, 0, each(&|stream| count(stream.ordered))),
            Column::new("unordered", true, 0, each(&|stream| count(stream.unordered))),
            Column::new("bytes", true, 0, each(&|stream| count(stream.bytes))),
            Column::new("blocked", true, 1, blocked(out_of_order)),
            Column::new("delay [ms]", true, 0, blocked(|of| millis(of.delay.mean))),
            Column::new("95 %", true, 2, blocked(|of| millis(of.delay.p95))),
            Column::new("longest", true, 2, blocked(|of| millis(of.delay.max))),
        ],
    };
    text.push_str(&table.render(screen));
    if more > 0 {
        screen.wrap(text, "", &format!("and {more} more streams"), "");
    }
}

/// What the capture cannot tell, and what was wrong.
fn notes(connection: &Connection, of: &Association) -> Vec<String> {
    let mut notes = Vec::new();
    if !of.initiated {
        notes.push(
            "the handshake is not in the capture: which side initiated the association, and its \
             addresses without packets, are not known"
                .to_owned(),
        );
    }
    let lost: u64 = of.sides.iter().map(|side| side.retransmissions.lost_before).sum();
    if lost > 0 {
        notes.push(format!(
            "retransmitted chunks whose first copy was lost before the point of capture: {lost}; \
             the path of that copy is not known, so they count on the path where they came"
        ));
    }
    let receives = match connection.vantage {
        Vantage::Client => Some(true),
        Vantage::Server => Some(false),
        Vantage::Between | Vantage::Unknown => None,
    };
    let paths = |down: bool| {
        connection.subflows.iter().filter(|path| path.flowing(down).segments > 0).count()
    };
    if receives.is_some_and(|down| paths(down) > 1) {
        notes.push(
            "a chunk that was lost on one path and sent again on another looks, at the receiver, \
             like one first sent there"
                .to_owned(),
        );
    }
    let abandoned: u64 = of.sides.iter().map(|side| side.abandoned_chunks).sum();
    for (what, number) in [
        ("acknowledged chunks that are not in the capture", of.missed_chunks()),
        ("chunks abandoned by FORWARD TSN", abandoned),
        ("malformed chunks", of.malformed_chunks),
        ("packets left out for their wrong verification tag", of.wrong_tags),
    ] {
        if number > 0 {
            notes.push(format!("{what}: {number}"));
        }
    }
    for (side, errors) in of.errors.iter().enumerate() {
        for (cause, count) in errors {
            notes.push(format!("{count} ERROR of the {}: {cause}", SIDES[side]));
        }
    }
    notes
}

fn count(value: u64) -> String {
    if value == 0 { "-".to_owned() } else { value.to_string() }
}

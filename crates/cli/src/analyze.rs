//! The subcommand `analyze`: prints the analysis of a capture file as tables or as a document.
//!
//! The lab does the analysis; `sctp` has the tables of associations.

mod sctp;

use crate::columns::{Column, Table};
use crate::exit::{FAILED, USAGE};
use crate::output::{Screen, counted, error, message, print, print_with};
use crate::report::{CapturePage, capture_page};
use crate::save::Overwrite;
use clap::Args;
use lab::analyze::{
    Analysis, Connection, Counted, Flowing, OutOfOrder, Spoken, Subflow, Talkers, Vantage,
    analysis_document,
};
use std::io::ErrorKind;
use std::path::Path;
use transport::Protocol;

pub(crate) const EXAMPLES: &str = "\
Examples:
  anabranch compare --path wlan --path 3g --traffic bulk:1MiB --protocols mptcp --pcap packets
  anabranch analyze packets/mptcp-linux-cubic.pcapng
  anabranch analyze packets/mptcp-linux-cubic.pcapng --out page.html
  tcpdump -i any -w mine.pcap tcp port 443 & ...; anabranch analyze mine.pcap --json

A capture at the sender of the data shows RTTs, one at the receiver the delay of data that arrived
out of order; both show shares, retransmission and reinjection. Loss is the number of retransmitted
segments over the number of segments sent. SCTP is shown by association, with the pairs of addresses
as paths, DATA chunks as segments, and chunks sent again on another path as moved.";

/// Help text for files that cannot be analyzed.
const WANTED: &str = "give a capture: a file of `compare --pcap DIR`, or of `tcpdump -w FILE`";

/// Options of `analyze`.
#[derive(Args, Debug)]
pub(crate) struct AnalyzeArgs {
    /// Capture file (pcapng or pcap) of anabranch or of tcpdump
    pub file: String,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    pub json: bool,
    /// Write a page with the sequence of every connection over time: what was sent on which
    /// subflow, sent again, reinjected and acknowledged
    #[arg(long, value_name = "PAGE")]
    pub out: Option<String>,
    /// Overwrite a file that anabranch did not write
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print without colours, as with the environment variable NO_COLOR
    #[arg(long)]
    pub no_color: bool,
}

/// Runs the subcommand and returns the exit code.
pub(crate) fn analyze(args: &AnalyzeArgs) -> u8 {
    let bytes = match std::fs::read(&args.file) {
        Ok(bytes) => bytes,
        Err(e) => {
            error(&format!("cannot read `{}`: {e}\n  help: {WANTED}", args.file));
            let is_wrong = matches!(e.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory);
            return if is_wrong { USAGE } else { FAILED };
        }
    };
    if args.out.as_ref().is_some_and(|out| Path::new(out) == Path::new(&args.file)) {
        error(&"--out: this is the capture itself\n  help: name another file, such as page.html");
        return USAGE;
    }
    let analysis = match args.out {
        Some(_) => lab::analyze::analyze_sequences(&bytes),
        None => lab::analyze::analyze(&bytes),
    };
    match analysis {
        Ok(analysis) => show(args, &analysis),
        Err(damage) => {
            error(&format!("`{}`: {damage}\n  help: {WANTED}", args.file));
            USAGE
        }
    }
}

/// Text output (without `--json`).
fn text(file: &str, analysis: &Analysis, screen: Screen) -> String {
    let mut text = summary(file, analysis, screen);
    for (number, connection) in analysis.connections.iter().enumerate() {
        let heading = heading(number + 1, connection);
        text.push('\n');
        screen.wrap(&mut text, "", &heading, "1");
        if let Some(of) = &connection.sctp {
            sctp::show(&mut text, connection, of, screen);
            continue;
        }
        for down in [true, false] {
            text.push_str(&direction(connection, down).render(screen));
        }
        if connection.missed_bytes > 0 {
            let note =
                format!("{} acknowledged bytes are not in the capture", connection.missed_bytes);
            screen.wrap(&mut text, "note: ", &note, "");
        }
    }
    for note in &analysis.notes {
        screen.wrap(&mut text, "note: ", note, "");
    }
    text
}

/// Prints the analysis, writes the page and returns the exit code.
fn show(args: &AnalyzeArgs, analysis: &Analysis) -> u8 {
    if args.json {
        print_with(|out| {
            serde_json::to_writer_pretty(&mut *out, &analysis_document(&args.file, analysis))?;
            out.write_all(b"\n")
        });
    } else {
        print(&text(&args.file, analysis, Screen::fitted(args.no_color)));
    }
    let refused = analysis.adler32_packets;
    if refused > 0 && analysis.connections.is_empty() {
        error(&format!(
            "`{}`: the {refused} SCTP packets have the Adler-32 checksum of RFC 2960, which RFC \
             3309 replaced by CRC32c: they cannot be told from damaged ones\n  \
             help: {WANTED}",
            args.file
        ));
        return USAGE;
    }
    let Some(out) = &args.out else { return 0 };
    let numbered = analysis.connections.iter().enumerate();
    let headings: Vec<String> = numbered.map(|(index, one)| heading(index + 1, one)).collect();
    let page = capture_page(&CapturePage { file: &args.file, analysis, headings: &headings });
    let place = match (Overwrite { force: args.force }).page(Path::new(out)) {
        Ok(place) => place,
        Err(refusal) => {
            error(&refusal);
            return USAGE;
        }
    };
    if let Err(failure) = place.write(&page) {
        error(&failure);
        return FAILED;
    }
    message(&format!("wrote {out}"));
    0
}

/// Number of pairs of hosts in the summary.
const TALKERS: usize = 5;

/// What the capture has: packets by protocol, connections, and the hosts with most bytes.
fn summary(file: &str, analysis: &Analysis, screen: Screen) -> String {
    let mut text = String::new();
    let bytes = analysis.protocols.iter().map(|one| one.bytes).sum();
    let (tcp, sctp) = (analysis.tcp_segments, analysis.sctp_packets);
    let analysed = match (tcp, sctp) {
        (_, 0) => format!("{tcp} of TCP"),
        (0, _) => format!("{sctp} of SCTP"),
        _ => format!("{tcp} of TCP, {sctp} of SCTP"),
    };
    let line = format!(
        "{file}: {}, {}, {analysed}, in {}",
        counted(analysis.packets, "IP packet"),
        size(bytes),
        seconds(analysis.duration)
    );
    screen.wrap(&mut text, "", &line, "");
    screen.wrap(&mut text, "", &connections(&analysis.connections), "");
    let protocols = &analysis.protocols;
    let each = |cell: &dyn Fn(&Counted) -> String| protocols.iter().map(cell).collect();
    let left_out = |one: &Counted| match one.protocol.as_str() {
        "TCP" => String::new(),
        "SCTP" | "SCTP over UDP" if analysis.sctp_packets > 0 => String::new(),
        _ => "counted only".to_owned(),
    };
    if protocols.is_empty() {
        return text;
    }
    text.push('\n');
    let table = vec![
        Column::new("traffic", false, 0, each(&|one| one.protocol.clone())),
        Column::new("packets", true, 0, each(&|one| one.packets.to_string())),
        Column::new("bytes", true, 0, each(&|one| size(one.bytes))),
        Column::new("conversations", true, 1, each(&|one| one.conversations.to_string())),
        Column::new("", false, 0, each(&left_out)),
    ];
    text.push_str(&Table { columns: table }.render(screen));
    let shown: Vec<&Talkers> = analysis.talkers.iter().take(TALKERS).collect();
    let each = |cell: &dyn Fn(&Talkers) -> String| shown.iter().map(|one| cell(one)).collect();
    let share = |one: &Talkers| (one.bytes[0] + one.bytes[1]) as f64 / (bytes as f64).max(1.0);
    let table = vec![
        Column::new(
            "hosts A and B",
            false,
            0,
            each(&|one| format!("{} and {}", one.hosts[0], one.hosts[1])),
        ),
        Column::new("packets", true, 1, each(&|one| one.packets.to_string())),
        Column::new("A to B", true, 0, each(&|one| size(one.bytes[0]))),
        Column::new("B to A", true, 0, each(&|one| size(one.bytes[1]))),
        Column::new("of all bytes", true, 0, each(&|one| percent(share(one)))),
    ];
    text.push('\n');
    text.push_str(&Table { columns: table }.render(screen));
    if analysis.talkers.len() > TALKERS {
        let more = format!("and {} more pairs of hosts", analysis.talkers.len() - TALKERS);
        screen.wrap(&mut text, "", &more, "");
    }
    text
}

/// Numbers of connections by protocol, such as `3 connections: 1 MPTCP, 2 TCP`.
fn connections(connections: &[Connection]) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for connection in connections {
        let kind = match connection.spoken {
            Spoken::Of(protocol) => protocol.to_string(),
            Spoken::FellBack => "MPTCP that fell back to TCP".to_owned(),
            Spoken::OtherVersion(version) => format!("MPTCP of version {version}"),
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let all = u32::try_from(connections.len()).unwrap_or(u32::MAX);
    if all == 0 {
        return "no TCP connection, no SCTP association".to_owned();
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    format!("{}: {}", counted(all, "connection"), kinds.join(", "))
}

/// Bytes with a unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn heading(number: usize, connection: &Connection) -> String {
    let spoken = match connection.spoken {
        Spoken::Of(Protocol::Sctp) => sctp::heading(connection),
        Spoken::Of(protocol) if protocol.is_multipath() => match connection.subflows.len() {
            1 => format!("{protocol}, 1 subflow"),
            many => format!("{protocol}, {many} subflows"),
        },
        Spoken::Of(protocol) => protocol.to_string(),
        Spoken::FellBack => "MPTCP that fell back to TCP".to_owned(),
        Spoken::OtherVersion(version) => {
            format!("MPTCP of version {version}, which is not supported: shown as TCP")
        }
    };
    let place = match connection.vantage {
        Vantage::Client => ", captured at the client",
        Vantage::Server => ", captured at the server",
        Vantage::Between => ", captured between the ends",
        Vantage::Unknown => "",
    };
    format!(
        "connection {number}: {spoken}, {} to {}, {}{place}",
        connection.client,
        connection.server,
        seconds(connection.duration)
    )
}

/// Table of one direction with a row for each subflow.
fn direction(connection: &Connection, down: bool) -> Table {
    let rows: Vec<(&Subflow, &Flowing)> =
        connection.subflows.iter().map(|subflow| (subflow, subflow.flowing(down))).collect();
    let each = |cell: &dyn Fn(&Subflow, &Flowing) -> String| -> Vec<String> {
        rows.iter().map(|(subflow, flowing)| cell(subflow, flowing)).collect()
    };
    let count = |value: u64| if value == 0 { "-".to_owned() } else { value.to_string() };
    let way = if down { "server to client" } else { "client to server" };
    let rtt = |part: fn(&lab::analyze::Distribution) -> f64| {
        each(&move |_, flowing| flowing.rtt.as_ref().map_or(String::new(), |rtt| millis(part(rtt))))
    };
    let waited = |part: fn(&OutOfOrder) -> String| {
        each(&move |_, flowing| flowing.out_of_order.as_ref().map_or(String::new(), part))
    };
    Table {
        columns: vec![
            Column::new(way, false, 0, each(&|subflow, _| name(connection, subflow))),
            Column::new("segments", true, 3, each(&|_, f| count(f.segments))),
            Column::new("bytes", true, 0, each(&|_, f| count(f.bytes))),
            Column::new("share", true, 0, each(&|_, f| f.share.map_or("-".to_owned(), percent))),
            Column::new("resent", true, 1, each(&|_, f| count(f.resent_segments))),
            Column::new("loss", true, 0, each(&|_, f| f.loss.map_or("-".to_owned(), percent))),
            Column::new("reinjected [B]", true, 1, each(&|_, f| count(f.reinjected_bytes))),
            Column::new("RTT [ms]", true, 0, rtt(|rtt| rtt.mean)),
            Column::new("median", true, 2, rtt(|rtt| rtt.median)),
            Column::new("95 %", true, 2, rtt(|rtt| rtt.p95)),
            Column::new(
                "out of order",
                true,
                1,
                waited(|w| percent(w.segments as f64 / w.delay.n.max(1) as f64)),
            ),
            Column::new("delay [ms]", true, 0, waited(|w| millis(w.delay.mean))),
            Column::new("95 %", true, 2, waited(|w| millis(w.delay.p95))),
        ],
    }
}

/// Path of the subflow, or its addresses if others have it, too; with its special properties.
fn name(connection: &Connection, subflow: &Subflow) -> String {
    let mut name = match connection.own_path(subflow) {
        Some(path) => path.to_owned(),
        None => format!("{} - {}", subflow.client, subflow.server),
    };
    for (is, what) in [
        (subflow.opened_by_server, " (opened by the server)"),
        (subflow.backup, " (backup)"),
        (!subflow.established, " (never established)"),
        (subflow.reset, " (reset)"),
    ] {
        name.push_str(if is { what } else { "" });
    }
    name
}

fn seconds(value: f64) -> String {
    format!("{value:.3} s")
}

fn millis(value: f64) -> String {
    format!("{:.1}", value * 1e3)
}

fn percent(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::analyze::Distribution;

    fn subflow(path: &str, share: f64) -> Subflow {
        let rtt = Distribution { n: 2, min: 0.02, mean: 0.03, median: 0.03, p95: 0.04, max: 0.04 };
        let down = Flowing {
            segments: 10,
            bytes: 14_480,
            first_bytes: 13_032,
            share: Some(share),
            resent_segments: 1,
            resent_bytes: 1_448,
            loss: Some(0.1),
            rtt: Some(rtt),
            ..Flowing::default()
        };
        Subflow {
            path: Some(path.to_owned()),
            client: ([10, 0, 0, 1], 40_000).into(),
            server: ([10, 0, 0, 2], 5_001).into(),
            opened_by_server: false,
            handshake_rtt: None,
            established: true,
            backup: path == "lte",
            reset: false,
            up: Flowing::default(),
            down,
        }
    }

    fn protocols() -> Vec<Counted> {
        let of = |protocol: &str, packets, bytes, conversations| Counted {
            protocol: protocol.to_owned(),
            packets,
            bytes,
            conversations,
        };
        vec![of("TCP", 40, 30_000, 2), of("QUIC", 1, 1_280, 1)]
    }

    fn talkers() -> Vec<Talkers> {
        let hosts = [[10, 0, 0, 2].into(), [10, 0, 0, 1].into()];
        vec![Talkers { hosts, packets: 41, bytes: [29_280, 2_000] }]
    }

    /// A connection of MPTCP as seen at the server.
    fn captured(subflows: Vec<Subflow>) -> Connection {
        Connection {
            spoken: Spoken::Of(Protocol::Mptcp),
            is_matched: true,
            client: ([10, 0, 0, 1], 40_000).into(),
            server: ([10, 0, 0, 2], 5_001).into(),
            vantage: Vantage::Server,
            start: 0.0,
            duration: 1.5,
            subflows,
            missed_bytes: 0,
            sequences: Default::default(),
            sctp: None,
        }
    }

    #[test]
    fn tables_name_paths_and_leave_out_what_could_not_be_measured() {
        let connection = captured(vec![subflow("wlan", 0.75), subflow("lte", 0.25)]);
        let analysis = Analysis {
            packets: 41,
            tcp_segments: 40,
            sctp_packets: 0,
            adler32_packets: 0,
            duration: 1.5,
            protocols: protocols(),
            talkers: talkers(),
            connections: vec![connection],
            notes: vec!["1 left out: a reason".to_owned()],
        };
        let text = text("my.pcapng", &analysis, Screen { width: None, colour: false });
        let expected = "\
my.pcapng: 41 IP packets, 31.3 kB, 40 of TCP, in 1.500 s
1 connection: 1 MPTCP

traffic  packets    bytes  conversations
TCP           40  30.0 kB              2
QUIC           1   1280 B              1  counted only

hosts A and B          packets   A to B  B to A  of all bytes
10.0.0.2 and 10.0.0.1       41  29.3 kB  2000 B       100.0 %

connection 1: MPTCP, 2 subflows, 10.0.0.1:40000 to 10.0.0.2:5001, 1.500 s, captured at the server
server to client  segments  bytes   share  resent    loss  reinjected [B]  RTT [ms]  median  95 %
wlan                    10  14480  75.0 %       1  10.0 %               -      30.0    30.0  40.0
lte (backup)            10  14480  25.0 %       1  10.0 %               -      30.0    30.0  40.0
client to server  segments  bytes  share  resent  loss  reinjected [B]
wlan                     -      -      -       -     -               -
lte (backup)             -      -      -       -     -               -
note: 1 left out: a reason
";
        assert_eq!(text, expected);
    }

    /// Regression: all subflows of a host with one interface had its name.
    #[test]
    fn subflows_of_one_path_are_named_by_their_addresses() {
        let mut connection =
            captured(vec![subflow("eth0", 0.5), subflow("eth0", 0.25), subflow("lte", 0.25)]);
        connection.subflows[1].client = ([10, 0, 1, 1], 40_001).into();
        let names = |connection: &Connection| -> Vec<String> {
            connection.subflows.iter().map(|subflow| name(connection, subflow)).collect()
        };
        let addresses = ["10.0.0.1:40000 - 10.0.0.2:5001", "10.0.1.1:40001 - 10.0.0.2:5001"];
        assert_eq!(names(&connection), [addresses[0], addresses[1], "lte (backup)"]);
        connection.subflows.remove(0);
        assert_eq!(names(&connection), ["eth0", "lte (backup)"]);
    }

    #[test]
    fn what_a_capture_can_be_and_from_where() {
        let mut all = String::new();
        let others = [Spoken::Of(Protocol::Tcp), Spoken::FellBack, Spoken::OtherVersion(0)];
        let places = [Vantage::Client, Vantage::Between, Vantage::Unknown];
        for (spoken, vantage) in others.into_iter().zip(places) {
            let mut odd = subflow("wlan", 1.0);
            (odd.opened_by_server, odd.established, odd.reset) = (true, false, true);
            let connection = Connection {
                is_matched: true,
                spoken,
                client: ([10, 0, 0, 1], 40_000).into(),
                server: ([10, 0, 0, 2], 5_001).into(),
                vantage,
                start: 0.0,
                duration: 1.5,
                subflows: vec![odd],
                missed_bytes: 7,
                sequences: Default::default(),
                sctp: None,
            };
            let alone = Connection { spoken: Spoken::Of(Protocol::Mptcp), ..connection.clone() };
            let connections = vec![connection, alone];
            let analysis = Analysis {
                packets: 41,
                tcp_segments: 40,
                sctp_packets: 0,
                adler32_packets: 0,
                duration: 1.5,
                protocols: protocols(),
                talkers: talkers(),
                connections,
                notes: Vec::new(),
            };
            all.push_str(&text("my.pcap", &analysis, Screen { width: Some(70), colour: false }));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("captures", all));
    }
}

//! The analysis of a capture as a JSON document.
//!
//! Times are in seconds, shares and losses are fractions; unmeasured values are null. Connections
//! become JSON one after the other: a capture may have hundreds of thousands.

use super::{Analysis, Connection, Counted, Distribution, Flowing, OutOfOrder, Spoken, Subflow};
use super::{Talkers, Vantage, sctp};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use transport::Protocol;

/// The document of `analyze --json`; `file` is the name given.
pub fn analysis_document<'a>(file: &'a str, analysis: &'a Analysis) -> impl Serialize + 'a {
    Document {
        schema: 1,
        file,
        packets: analysis.packets,
        tcp_segments: analysis.tcp_segments,
        sctp_packets: analysis.sctp_packets,
        duration: analysis.duration,
        protocols: analysis.protocols.iter().map(counted).collect(),
        talkers: analysis.talkers.iter().take(MOST_TALKERS).map(talkers).collect(),
        connections: Connections(&analysis.connections),
        notes: &analysis.notes,
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    file: &'a str,
    packets: u64,
    tcp_segments: u64,
    sctp_packets: u64,
    duration: f64,
    protocols: Vec<Value>,
    talkers: Vec<Value>,
    connections: Connections<'a>,
    notes: &'a [String],
}

/// Connections, each of which is a value only while it is written.
struct Connections<'a>(&'a [Connection]);

impl Serialize for Connections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(connection))
    }
}

/// Largest number of pairs of hosts in the document.
const MOST_TALKERS: usize = 100;

fn counted(counted: &Counted) -> Value {
    json!({
        "protocol": counted.protocol,
        "packets": counted.packets,
        "bytes": counted.bytes,
        "conversations": counted.conversations,
    })
}

fn talkers(pair: &Talkers) -> Value {
    let hosts = pair.hosts.map(|host| host.to_string());
    json!({ "hosts": hosts, "packets": pair.packets, "bytes": pair.bytes })
}

fn connection(connection: &Connection) -> Value {
    let (protocol, version) = match connection.spoken {
        Spoken::Of(Protocol::Mptcp) => (Protocol::Mptcp, connection.is_matched.then_some(1)),
        Spoken::Of(protocol) => (protocol, None),
        Spoken::FellBack => (Protocol::Tcp, Some(1)),
        Spoken::OtherVersion(version) => (Protocol::Tcp, Some(version)),
    };
    // The sizes of chunks that the capture lacks are not known.
    let unknown = connection.sctp.as_ref().is_some_and(|of| of.missed_chunks() > 0);
    let mut document = json!({
        "protocol": protocol.name(),
        "mptcp_version": version,
        "fell_back": connection.spoken == Spoken::FellBack,
        "client": connection.client.to_string(),
        "server": connection.server.to_string(),
        "captured_at": match connection.vantage {
            Vantage::Client => Some("client"),
            Vantage::Server => Some("server"),
            Vantage::Between => Some("between"),
            Vantage::Unknown => None,
        },
        "start": connection.start,
        "duration": connection.duration,
        "missed_bytes": (!unknown).then_some(connection.missed_bytes),
        "subflows": connection.subflows.iter().map(subflow).collect::<Vec<_>>(),
    });
    if let Some(of) = &connection.sctp {
        document["sctp"] = sctp::association(of);
    }
    document
}

fn subflow(subflow: &Subflow) -> Value {
    json!({
        "path": subflow.path,
        "client": subflow.client.to_string(),
        "server": subflow.server.to_string(),
        "opened_by_server": subflow.opened_by_server,
        "established": subflow.established,
        "backup": subflow.backup,
        "reset": subflow.reset,
        "up": flowing(&subflow.up),
        "down": flowing(&subflow.down),
    })
}

fn flowing(flowing: &Flowing) -> Value {
    let mut document = json!({
        "segments": flowing.segments,
        "bytes": flowing.bytes,
        "first_bytes": flowing.first_bytes,
        "share": flowing.share,
        "resent_segments": flowing.resent_segments,
        "resent_bytes": flowing.resent_bytes,
        "reinjected_bytes": flowing.reinjected_bytes,
        "loss": flowing.loss,
        "rtt": flowing.rtt.as_ref().map(distribution),
        "out_of_order": flowing.out_of_order.as_ref().map(out_of_order),
    });
    if let Some(of) = &flowing.sctp {
        document["sctp"] = sctp::path_use(of);
    }
    document
}

pub(super) fn out_of_order(waited: &OutOfOrder) -> Value {
    json!({ "segments": waited.segments, "delay": distribution(&waited.delay) })
}

pub(super) fn distribution(of: &Distribution) -> Value {
    json!({
        "n": of.n,
        "min": of.min,
        "mean": of.mean,
        "median": of.median,
        "p95": of.p95,
        "max": of.max,
    })
}

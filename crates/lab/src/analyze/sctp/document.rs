//! What the JSON document has of an association.

use super::result::{
    Address, AddressChange, Association, End, Known, PathUse, Retransmissions, Sent, Stream,
};
use crate::analyze::document::{distribution, out_of_order};
use serde_json::{Value, json};

const SIDES: [&str; 2] = ["client", "server"];

/// The key `sctp` of a connection.
pub(in crate::analyze) fn association(of: &Association) -> Value {
    let (how, by, causes) = match &of.end {
        End::Running => ("running", None, &[][..]),
        End::Shutdown(by) => ("shutdown", by.map(|side| SIDES[side]), &[][..]),
        End::Abort(by, causes) => ("abort", Some(SIDES[*by]), &causes[..]),
        End::Restart => ("restart", None, &[][..]),
    };
    let errors = |side: usize| -> Value {
        of.errors[side].iter().map(|(name, n)| json!({ "cause": name, "count": n })).collect()
    };
    json!({
        "initiator": of.initiated.then_some("client"),
        "state": of.state.name(),
        "end": { "how": how, "by": by, "causes": causes },
        "client_tag": of.tags[0],
        "server_tag": of.tags[1],
        "udp_ports": of.udp,
        "client_addresses": of.addresses[0].iter().map(address).collect::<Vec<_>>(),
        "server_addresses": of.addresses[1].iter().map(address).collect::<Vec<_>>(),
        "address_changes": of.changes.iter().map(change).collect::<Vec<_>>(),
        "up": sent(&of.sides[0]),
        "down": sent(&of.sides[1]),
        "client_errors": errors(0),
        "server_errors": errors(1),
        "malformed_chunks": of.malformed_chunks,
        "wrong_tags": of.wrong_tags,
    })
}

fn address(of: &Address) -> Value {
    json!({
        "address": of.address.to_string(),
        "from": match of.from {
            Known::Init => "init",
            Known::Asconf => "asconf",
            Known::Packet => "packet",
        },
        "removed": of.removed,
    })
}

fn change(of: &AddressChange) -> Value {
    json!({
        "time": of.time,
        "side": SIDES[of.side],
        "change": of.what.name(),
        "address": of.address.to_string(),
        "answered": of.answer.is_some(),
        "refused": of.answer.as_ref().filter(|causes| !causes.is_empty()),
    })
}

fn sent(of: &Sent) -> Value {
    let sacks = &of.sacks;
    json!({
        "chunks": of.chunks,
        "bytes": of.bytes,
        "unique_chunks": of.unique_chunks,
        "unique_bytes": of.unique_bytes,
        "missed_chunks": of.missed_chunks,
        "abandoned_chunks": of.abandoned_chunks,
        "goodput": of.goodput,
        "retransmissions": retransmissions(of.retransmissions),
        "acknowledgements": {
            "sacks": sacks.sacks,
            "nr_sacks": sacks.nr_sacks,
            "gap_blocks": sacks.gap_blocks,
            "most_gap_blocks": sacks.most_gap_blocks,
            "duplicates": sacks.duplicates,
            "least_window": sacks.least_window,
            "zero_windows": sacks.zero_windows,
        },
        "streams": of.streams.iter().map(stream).collect::<Vec<_>>(),
    })
}

fn retransmissions(of: Retransmissions) -> Value {
    json!({
        "fast": of.fast,
        "timeout": of.timeout,
        "moved": of.moved,
        "lost_before_capture": of.lost_before,
    })
}

fn stream(of: &Stream) -> Value {
    json!({
        "stream": of.id,
        "messages": of.ordered + of.unordered,
        "ordered": of.ordered,
        "unordered": of.unordered,
        "bytes": of.bytes,
        "blocked": of.blocked.as_ref().map(out_of_order),
    })
}

/// The key `sctp` of one direction of a path.
pub(in crate::analyze) fn path_use(of: &PathUse) -> Value {
    json!({
        "packets": of.packets,
        "retransmissions": retransmissions(of.retransmissions),
        "heartbeats": of.heartbeats,
        "heartbeats_answered": of.answered,
        "heartbeat_rtt": of.heartbeat_rtt.as_ref().map(distribution),
    })
}

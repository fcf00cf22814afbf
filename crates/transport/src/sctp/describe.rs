//! The state of an association for measurement, in the shape that all protocols have.

use super::eligibility::Eligibility;
use super::ends::{Ends, Pair};
use super::path::Path;
use super::path_state::PathState;
use super::shutdown::Stage;
use super::transfer::Transfer;
use crate::info::{ConnectionInfo, PathInfo, Protocol, TcpInfo};
use base::PathId;
use std::net::SocketAddr;

/// An established association.
pub(super) fn open(transfer: &Transfer, ends: &Ends, stage: Stage) -> ConnectionInfo {
    let of = |path: &Path| {
        let pair = ends.pair_of(path.id)?;
        Some(established(transfer, path, ends, pair, stage))
    };
    let moved = transfer.paths.iter().map(|path| path.counters.moved_bytes).sum();
    ConnectionInfo {
        paths: transfer.paths.iter().filter_map(of).collect(),
        snd_una: transfer.sender.acked,
        snd_nxt: transfer.sender.bound(),
        rcv_nxt: transfer.receiver.delivered(),
        reinjected_bytes: moved,
        probe_bytes: transfer.sender.policy().map_or(0, Eligibility::sent_bytes),
        duplicate_bytes: transfer.receiver.duplicate_bytes(),
        sacks: transfer.receiver.sacks(),
        held_bytes: transfer.receiver.streams().held_bytes(),
        ..none()
    }
}

/// An association whose handshake is not over.
pub(super) fn opening(ends: &Ends, echoed: bool) -> ConnectionInfo {
    let state = if echoed { "COOKIE-ECHOED" } else { "COOKIE-WAIT" };
    ConnectionInfo { paths: quiet(ends, state), ..none() }
}

/// An association that never was established.
pub(super) fn closed(ends: &Ends) -> ConnectionInfo {
    ConnectionInfo { paths: quiet(ends, "CLOSED"), ..none() }
}

const fn none() -> ConnectionInfo {
    ConnectionInfo {
        // The caller knows which.
        protocol: Protocol::Sctp,
        paths: Vec::new(),
        retired: Vec::new(),
        fallback: false,
        snd_una: 0,
        snd_nxt: 0,
        rcv_nxt: 0,
        reinjected_bytes: 0,
        probe_bytes: 0,
        duplicate_bytes: 0,
        sacks: 0,
        refused: 0,
        held_bytes: 0,
        mappings: 0,
    }
}

/// The first path, on which nothing was sent but the handshake.
fn quiet(ends: &Ends, state: &'static str) -> Vec<PathInfo> {
    let first = PathId(0);
    ends.pair_of(first)
        .map(|pair| path_info(ends, pair, first, TcpInfo::unused(state)))
        .into_iter()
        .collect()
}

fn path_info(ends: &Ends, pair: &Pair, path: PathId, tcp: TcpInfo) -> PathInfo {
    let (port, peer_port) = ends.ports();
    PathInfo {
        path,
        interface: pair.local.interface,
        local: SocketAddr::new(pair.local.address, port),
        remote: SocketAddr::new(pair.remote, peer_port),
        backup: false,
        probing: false,
        is_over: tcp.is_over(),
        first_sent_bytes: 0,
        queued_bytes: 0,
        segs_retrans: 0,
        spurious_retrans: 0,
        reinjected_bytes: 0,
        reinjected_segs: 0,
        tcp,
    }
}

fn established(
    transfer: &Transfer,
    path: &Path,
    ends: &Ends,
    pair: &Pair,
    stage: Stage,
) -> PathInfo {
    let counters = &path.counters;
    let control = &transfer.sender.control;
    let tcp = TcpInfo {
        ca_state: path.ca_state(),
        cwnd_segs: control.cwnd_segs(path.id),
        ssthresh_segs: control.ssthresh_segs(path.id),
        srtt: path.srtt(),
        rttvar: path.rto.rttvar(),
        min_rtt: path.min_rtt.unwrap_or_default(),
        rto: path.rto.rto(),
        mss: transfer.sender.setup.fragment,
        bytes_sent: counters.bytes,
        bytes_retrans: counters.bytes - counters.first_bytes,
        bytes_acked: counters.acked_bytes,
        segs_out: counters.packets,
        segs_retrans: counters.retransmitted,
        spurious_retrans: counters.spurious,
        snd_wnd: transfer.sender.total_window().into(),
        rcv_wnd: transfer.receiver.advertised().into(),
        receive_buffer: transfer.receiver.buffer(),
        ..TcpInfo::unused(stage.name())
    };
    PathInfo {
        backup: transfer.states.primary() != path.id,
        probing: transfer.states.state(path.id) != Some(PathState::Active)
            || transfer.sender.is_suspended(path.id),
        first_sent_bytes: counters.first_bytes,
        segs_retrans: counters.retransmitted,
        spurious_retrans: counters.spurious,
        reinjected_bytes: counters.moved_bytes,
        reinjected_segs: counters.moved,
        ..path_info(ends, pair, path.id, tcp)
    }
}

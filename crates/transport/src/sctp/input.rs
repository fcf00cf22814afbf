//! Chunks that arrive for an established association (RFC 9260 s6, s8.3, s3.3.10).
//!
//! Those that open or end an association are left to it.

use super::acknowledge::{SackArrival, SackEffects};
use super::cmt::PrimaryFirst;
use super::outstanding::{Report, SackError};
use super::path::Heartbeat;
use super::path_state::PathState;
use super::receiver::{Accepted, Answer};
use super::shutdown::Stage;
use super::streams::Framing;
use super::transfer::Transfer;
use base::{Context, Duration, Event, EventMask, PathId};
use std::hint::cold_path;
use wire::sctp::{Cause, Chunk, GapBlock, HeartbeatInfo, Parameter, Tsn, UnknownRule};

/// Types of chunks that have no effect if they are malformed: HEARTBEAT, HEARTBEAT ACK, ASCONF ACK,
/// ASCONF.
const HARMLESS: [u8; 4] = [0x04, 0x05, 0x80, 0xC1];
const AUTH: u8 = 0x0F;
const RE_CONFIG: u8 = 0x82;
/// Bytes of the headers of an ERROR and of its cause.
const REPORT_HEADERS: u32 = 8;

/// What follows a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The next chunk of the packet is processed.
    Go,
    /// The rest of the packet is not processed.
    Stop,
    /// The association is aborted with this cause.
    Abort(Cause),
}

/// A SACK or NR-SACK, or the cumulative TSN of a SHUTDOWN.
struct Reported<'a> {
    cum_tsn: Tsn,
    gaps: &'a [GapBlock],
    nr_gaps: &'a [GapBlock],
    a_rwnd: Option<u32>,
    /// Packets that it acknowledges, if the peer counts them (DAC).
    dac_packets: u8,
    duplicates: &'a [Tsn],
    /// The path that it came over.
    path: PathId,
}

impl Transfer {
    /// The chunks of a packet arrive, up to one that ends it.
    #[inline(never)]
    pub(super) fn on_chunks(
        &mut self,
        cx: &mut Context<'_>,
        from: (PathId, PathId),
        chunks: &mut [Chunk],
        stage: Stage,
    ) -> Verdict {
        for chunk in chunks {
            let verdict = self.on_chunk(cx, from, chunk, stage);
            if verdict != Verdict::Go {
                return verdict;
            }
        }
        Verdict::Go
    }

    /// A chunk arrives from `pair`, whose path is `path`.
    // Inlined, the only chunk of a packet needs no call of its own.
    #[inline(always)]
    pub(super) fn on_chunk(
        &mut self,
        cx: &mut Context<'_>,
        (pair, path): (PathId, PathId),
        chunk: &mut Chunk,
        stage: Stage,
    ) -> Verdict {
        self.lead_with_primary();
        match chunk {
            Chunk::Data(_) | Chunk::IData(_) if !stage.takes_data() => Verdict::Go,
            Chunk::Data(_) | Chunk::IData(_) => self.on_user_data(cx, (pair, path), chunk),
            Chunk::Sack(sack) => self.on_report(
                cx,
                &Reported {
                    cum_tsn: sack.cum_tsn,
                    gaps: &sack.gaps,
                    nr_gaps: &[],
                    a_rwnd: Some(sack.a_rwnd),
                    dac_packets: sack.dac_packets,
                    duplicates: &sack.duplicates,
                    path,
                },
            ),
            Chunk::NrSack(sack) => self.on_report(
                cx,
                &Reported {
                    cum_tsn: sack.cum_tsn,
                    gaps: sack.gaps(),
                    nr_gaps: &sack.nr_gaps,
                    a_rwnd: Some(sack.a_rwnd),
                    dac_packets: sack.dac_packets,
                    duplicates: sack.duplicates(),
                    path,
                },
            ),
            _ => {
                cold_path();
                self.on_rare_chunk(cx, pair, chunk, stage)
            }
        }
    }

    /// Any chunk but data and SACKs.
    #[inline(never)]
    fn on_rare_chunk(
        &mut self,
        cx: &mut Context<'_>,
        pair: PathId,
        chunk: &mut Chunk,
        stage: Stage,
    ) -> Verdict {
        match chunk {
            Chunk::Heartbeat(parameters) => {
                if !matches!(stage, Stage::ShutdownSent | Stage::ShutdownAckSent) {
                    let parameters = std::mem::take(parameters);
                    self.control.push(pair, Chunk::HeartbeatAck(parameters));
                }
                Verdict::Go
            }
            Chunk::HeartbeatAck(parameters) => {
                self.on_heartbeat_ack(cx, parameters);
                Verdict::Go
            }
            // Without the extension they are chunks like others that are not known (RFC 3758
            // s3.3.1).
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) if !self.sender.setup.partial => {
                self.on_unknown(pair, chunk)
            }
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) if !stage.takes_data() => Verdict::Go,
            Chunk::ForwardTsn(forward) if self.sender.setup.framing == Framing::Data => {
                self.receiver.on_forward_tsn(forward);
                Verdict::Go
            }
            Chunk::IForwardTsn(forward) if self.sender.setup.framing == Framing::Interleaved => {
                self.receiver.on_i_forward_tsn(forward);
                Verdict::Go
            }
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) => {
                Verdict::Abort(Cause::ProtocolViolation(b"the other FORWARD TSN"[..].into()))
            }
            Chunk::Unknown(_) => self.on_unknown(pair, chunk),
            Chunk::Malformed(chunk) => {
                let kind = chunk.kind;
                self.on_malformed(pair, kind)
            }
            _ => Verdict::Go,
        }
    }

    /// A chunk whose content is impossible for its type. One whose parameters alone are has no
    /// effect; RE-CONFIG is answered, too, as its requests may be an unsupported combination (RFC
    /// 6525 s3.1).
    fn on_malformed(&mut self, pair: PathId, kind: u8) -> Verdict {
        let cause = Cause::ProtocolViolation(b"malformed chunk"[..].into());
        match kind {
            _ if HARMLESS.contains(&kind) => Verdict::Go,
            RE_CONFIG => {
                self.control.push(pair, Chunk::Error(vec![cause]));
                Verdict::Go
            }
            // As behind one whose HMAC is wrong (RFC 4895 s6.3).
            AUTH => Verdict::Stop,
            _ => Verdict::Abort(cause),
        }
    }

    /// CMT: after a packet the primary sends first, if the configuration has it so.
    fn lead_with_primary(&mut self) {
        if self.config.cmt.is_some_and(|cmt| cmt.primary_first != PrimaryFirst::Off) {
            self.round.lead(self.states.primary());
        }
    }

    /// A chunk that is not known (RFC 9260 s3.2).
    fn on_unknown(&mut self, pair: PathId, chunk: &Chunk) -> Verdict {
        let rule = UnknownRule::of_chunk(chunk.kind());
        if rule.report {
            // The report must fit a packet, too.
            let room = self.paths.iter().map(|path| path.room).min().unwrap_or(0);
            let mut copy = chunk.to_unpadded_bytes();
            copy.truncate(room.saturating_sub(REPORT_HEADERS) as usize);
            let cause = Cause::UnrecognizedChunk(copy);
            self.control.push(pair, Chunk::Error(vec![cause]));
        }
        if rule.stop { Verdict::Stop } else { Verdict::Go }
    }

    /// DATA or I-DATA.
    #[inline(always)]
    fn on_user_data(
        &mut self,
        cx: &mut Context<'_>,
        (pair, path): (PathId, PathId),
        chunk: &mut Chunk,
    ) -> Verdict {
        let accepted = match chunk {
            Chunk::Data(data) => self.receiver.on_data(data),
            Chunk::IData(data) => self.receiver.on_i_data(data),
            _ => return Verdict::Go,
        };
        match accepted {
            Ok(Accepted::New { offset, len }) => {
                self.record_arrival(cx, path, offset, len);
                Verdict::Go
            }
            Ok(Accepted::Nothing) => Verdict::Go,
            Err(Answer::Error(cause)) => {
                cold_path();
                self.control.push(pair, Chunk::Error(vec![cause]));
                Verdict::Go
            }
            Err(Answer::Abort(cause)) => Verdict::Abort(cause),
        }
    }

    #[inline(always)]
    fn record_arrival(&self, cx: &mut Context<'_>, path: PathId, offset: u64, len: u32) {
        let socket = self.socket;
        cx.record(EventMask::ARRIVAL, || Event::SegmentArrived { socket, path, offset, len });
        if self.paths.len() > 1 && cx.wants(EventMask::ARRIVAL) {
            cold_path();
            let subflow_offset = offset;
            cx.record(EventMask::ARRIVAL, || Event::DataArrived {
                socket,
                path,
                offset,
                subflow_offset,
                len,
            });
        }
    }

    /// A SACK or NR-SACK.
    #[inline(never)]
    fn on_report(&mut self, cx: &mut Context<'_>, reported: &Reported<'_>) -> Verdict {
        let blocks = reported.gaps.len() + reported.nr_gaps.len();
        let room = self.paths.iter().map(|path| path.room).min().unwrap_or(0);
        let highest = self.sender.outstanding.highest_tsn();
        let span = highest.distance_from(reported.cum_tsn);
        // A report without room for a further block, or beyond 16 bits, leaves something out.
        let is_full = 4 * (blocks as u32 + 1) + wire::sctp::NrSack::HEADER > room;
        let report = Report {
            cum_tsn: reported.cum_tsn,
            gaps: reported.gaps,
            nr_gaps: reported.nr_gaps,
            complete: !is_full && span <= i32::from(u16::MAX),
        };
        for tsn in reported.duplicates {
            cold_path();
            let path = self.sender.resent.take(*tsn);
            if let Some(path) = path.and_then(|path| self.paths.get_mut(path.index())) {
                path.counters.spurious += 1;
            }
        }
        let a_rwnd = reported.a_rwnd.unwrap_or_else(|| self.sender.total_window());
        let (dac_packets, path) = (reported.dac_packets, Some(reported.path));
        let arrival = SackArrival { a_rwnd, dac_packets, path };
        match self.sender.on_sack(cx, &mut self.paths, &report, arrival) {
            Ok(effects) => {
                self.on_acknowledged(cx, effects);
                Verdict::Go
            }
            Err(SackError::Old) => Verdict::Go,
            Err(SackError::NeverSent) => {
                Verdict::Abort(Cause::ProtocolViolation(b"TSN never sent"[..].into()))
            }
        }
    }

    /// The cumulative TSN of a SHUTDOWN, which says nothing of gaps (RFC 9260 s3.3.8).
    pub(super) fn on_shutdown_tsn(&mut self, cx: &mut Context<'_>, cum_tsn: Tsn) -> Verdict {
        let report = Report { cum_tsn, gaps: &[], nr_gaps: &[], complete: false };
        let a_rwnd = self.sender.total_window();
        let arrival = SackArrival { a_rwnd, dac_packets: 0, path: None };
        match self.sender.on_sack(cx, &mut self.paths, &report, arrival) {
            Ok(effects) => self.on_acknowledged(cx, effects),
            Err(SackError::Old) => {}
            Err(SackError::NeverSent) => {
                return Verdict::Abort(Cause::ProtocolViolation(b"TSN never sent"[..].into()));
            }
        }
        Verdict::Go
    }

    /// Chunks were acknowledged: counters of errors are cleared (RFC 9260 s8.1, s8.2).
    fn on_acknowledged(&mut self, cx: &mut Context<'_>, effects: SackEffects) {
        for path in effects.alive() {
            if let Some((_, after)) = self.states.on_alive(path) {
                cold_path();
                self.record_state(cx, after);
            }
        }
        if effects.acknowledged {
            self.states.on_acknowledged();
        }
        self.sender.recycle(effects);
    }

    /// HEARTBEAT ACK: it counts if it answers the last heartbeat of its path (RFC 9260 s8.3).
    fn on_heartbeat_ack(&mut self, cx: &mut Context<'_>, parameters: &[Parameter]) {
        let Some(info) = HeartbeatInfo::of(parameters) else { return };
        let index = usize::from(info.path);
        let Some(path) = self.paths.get_mut(index) else { return };
        let Some(rtt) = path.verifier.handle_ack(cx.now, parameters) else {
            let policy = self.sender.cmt.as_mut().and_then(|cmt| cmt.policy.as_mut());
            let answer = policy.and_then(|policy| policy.on_answer(cx.now, path.id, info.nonce));
            if let Some(rtt) = answer {
                path.on_rtt(rtt);
            }
            return;
        };
        path.on_rtt(rtt);
        let (id, rto) = (path.id, path.rto.rto());
        let before = self.states.on_alive(id);
        if let Some((_, after)) = before {
            self.record_state(cx, after);
        }
        if before.is_some_and(|(before, _)| before == PathState::Unconfirmed) {
            self.prefer_fastest(id, rtt);
        }
        // None are sent any more while the association shuts down.
        if self.paths[index].heartbeat != Heartbeat::Off {
            let period = self.heartbeat_period(cx.chance, rto);
            self.paths[index].heartbeat = Heartbeat::Next(cx.now + period);
        }
    }

    /// CMT: a path that is verified becomes the primary if its round trip is the smallest and the
    /// configuration has it so.
    fn prefer_fastest(&mut self, id: PathId, rtt: Duration) {
        let is_asked = self.config.cmt.is_some_and(|cmt| cmt.prefers_fastest);
        let primary = self.paths.get(self.states.primary().index());
        let is_faster =
            primary.and_then(|path| path.rto.srtt()).is_none_or(|primary| rtt < primary);
        if is_asked && is_faster {
            self.states.set_primary(id);
        }
    }
}

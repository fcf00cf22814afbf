//! Packets that an association sends: control chunks, then retransmissions, then new data, with a
//! SACK where there is room for one (RFC 9260 s6.1, s6.10).

use super::outstanding::Marked;
use super::path::Path;
use super::path_state::PathState;
use super::rtx_policy::Candidate;
use super::sender::{Probe, Sent};
use super::shutdown::Stage;
use super::transfer::Transfer;
use crate::congestion::CongestionControl;
use base::{Blocked, Chance, Context, PathId};
use wire::sctp::{Chunk, DataFlags};

/// Chunks of one packet to a pair of addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outgoing {
    pub pair: PathId,
    pub chunks: Vec<Chunk>,
}

impl Transfer {
    /// The next packet to send.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, stage: Stage) -> Option<Outgoing> {
        if let Some(pair) = self.control.next_pair() {
            let room = self.room_to(pair);
            return Some(Outgoing { pair, chunks: self.control.take(pair, room) });
        }
        self.sender.drop_expired(cx.now);
        self.sender.plan_forward(cx.now);
        if stage.sends_data()
            && let Some(outgoing) = self.data_packet(cx, stage)
        {
            return Some(outgoing);
        }
        if let Some(outgoing) = self.forward_packet(cx) {
            return Some(outgoing);
        }
        let pair = self.receiver.sack_due()?;
        let room = self.room_to(pair);
        let mut chunks = std::mem::take(&mut self.spare_chunks);
        chunks.push(self.receiver.sack(room));
        Some(Outgoing { pair, chunks })
    }

    /// FORWARD TSN in a packet of its own, if it does not wait for data.
    fn forward_packet(&mut self, cx: &Context<'_>) -> Option<Outgoing> {
        if !self.sender.is_forward_due(cx.now) {
            return None;
        }
        let pair = self.states.data_path()?;
        let (room, rto) = (self.room_to(pair), self.rto(pair));
        let forward = self.sender.forward(cx.now, room, rto)?;
        Some(Outgoing { pair, chunks: vec![forward] })
    }

    /// Bytes of chunks in a packet to a pair.
    fn room_to(&self, pair: PathId) -> u32 {
        let path = self.paths.get(pair.index()).or(self.paths.first());
        path.map_or(0, |path| path.room)
    }

    /// A packet with data, if one may be sent.
    fn data_packet(&mut self, cx: &mut Context<'_>, stage: Stage) -> Option<Outgoing> {
        let marked = self.next_marked(cx).is_some();
        let (path, mut chunks) = if marked { self.again(cx)? } else { self.anew(cx)? };
        let index = path.index();
        let used: u32 = chunks.iter().map(Chunk::padded_len).sum();
        let left = self.paths[index].room.saturating_sub(used);
        let is_last = stage == Stage::ShutdownPending && self.sender.streams.queued_bytes() == 0;
        // A delayed SACK is for two packets: without another one in the network a closed window
        // would wait for its timer (RFC 7053 s5.1).
        let is_alone = self.sender.outstanding.total_in_flight_chunks() <= chunks.len();
        if is_last || (is_alone && self.is_stopped_by_window(path)) {
            ask_for_sack(&mut chunks);
        }
        let rto = self.rto(path);
        let mut left = left;
        if let Some(forward) = self.sender.forward(cx.now, left, rto) {
            left -= forward.padded_len();
            chunks.insert(0, forward);
        }
        let sack_fits = self.receiver.has_pending_sack() && self.receiver.sack_len() <= left;
        if sack_fits && self.receiver.reply_to() == path {
            chunks.insert(0, self.receiver.sack(left));
        }
        let state = &mut self.paths[index];
        state.counters.packets += 1;
        if state.t3.is_none() {
            state.start_t3(cx.now);
        }
        Some(Outgoing { pair: path, chunks })
    }

    /// More would be sent if a window allowed it.
    fn is_stopped_by_window(&self, path: PathId) -> bool {
        let Some(state) = self.paths.get(path.index()) else { return false };
        if self.sender.outstanding.next_marked().is_some() {
            return !self.sender.has_window(path);
        }
        let why = self.sender.blocked(path, state.room, true);
        matches!(why, Some(Blocked::CongestionWindow | Blocked::ReceiveWindow))
    }

    /// The lowest chunk to be sent again, after those were abandoned whose limit is reached.
    fn next_marked(&mut self, cx: &Context<'_>) -> Option<Marked<'_, Sent>> {
        if self.sender.abandon_marked(cx.now) && self.sender.outstanding.next_marked().is_none() {
            self.paths.iter_mut().for_each(|path| path.owes_packet = false);
        }
        self.sender.outstanding.next_marked()
    }

    /// Retransmissions of one packet, lowest first; `None` if no window allows any.
    fn again(&mut self, cx: &mut Context<'_>) -> Option<(PathId, Vec<Chunk>)> {
        let path = self.next_rtx_path(cx.chance)?;
        let index = path.index();
        let marked = self.sender.outstanding.next_marked()?;
        let idle = self.sender.outstanding.total_in_flight_bytes() == 0;
        let may_send = self.paths.get(index)?.owes_packet || self.sender.has_window(path);
        let is_taken = self.sender.peer_takes(marked.len) || (idle && self.sender.peer_rwnd > 0);
        if !may_send || !is_taken {
            return None;
        }
        let earliest = self.sender.outstanding.earliest(path);
        let (mut chunks, mut left) = (Vec::new(), self.paths[index].room);
        let mut restarts = false;
        while let Some(marked) = self.next_marked(cx) {
            let (tsn, timed_out) = (marked.tsn, marked.timed_out);
            let payload = marked.data.fragment.payload.len();
            let len = (self.sender.header() + payload).next_multiple_of(4);
            let first = chunks.is_empty();
            if (!first && len > left) || self.next_rtx_path(cx.chance) != Some(path) {
                break;
            }
            let state = &mut self.paths[index];
            let Some(chunk) = self.sender.send_again(cx, state, tsn) else { break };
            // Fast retransmission of the earliest chunk restarts T3-rtx (RFC 9260 s7.2.4 4).
            restarts |= !timed_out && earliest.is_none_or(|earliest| tsn <= earliest);
            left = left.saturating_sub(len);
            chunks.push(chunk);
        }
        let state = &mut self.paths[index];
        state.owes_packet = false;
        if restarts {
            state.start_t3(cx.now);
        }
        (!chunks.is_empty()).then_some((path, chunks))
    }

    /// New data of one packet; `None` if nothing may be sent.
    fn anew(&mut self, cx: &mut Context<'_>) -> Option<(PathId, Vec<Chunk>)> {
        if self.sender.streams.queued_bytes() == 0 {
            return None;
        }
        let path = self.states.data_path()?;
        let index = path.index();
        let room = self.paths.get(index)?.room;
        // An idle window, which may still decay, has room.
        if !self.sender.has_window(path) {
            return None;
        }
        self.sender.prepare_burst(cx.now, &self.paths[index]);
        let (mut chunks, mut left) = (std::mem::take(&mut self.spare_chunks), room);
        while left > self.sender.header() {
            self.sender.abandon_begun(cx.now, path);
            if self.sender.blocked(path, left, chunks.is_empty()).is_some() {
                break;
            }
            let Some(chunk) = self.sender.send_new(cx, &mut self.paths[index]) else { break };
            left = left.saturating_sub(chunk.padded_len());
            chunks.push(chunk);
        }
        self.sender.streams.end_packet();
        (!chunks.is_empty()).then_some((path, chunks))
    }

    /// The path that the lowest marked chunk takes: after a fast retransmission the one that lost
    /// it, if that is active, otherwise what the policy chooses once.
    fn next_rtx_path(&mut self, chance: Chance) -> Option<PathId> {
        let marked = self.sender.outstanding.next_marked()?;
        let (lost, timed_out) = (marked.path, marked.timed_out);
        let is_active = |path: PathId| self.states.state(path) == Some(PathState::Active);
        if !timed_out && is_active(lost) {
            return Some(lost);
        }
        let kept = self.paths.get(lost.index()).and_then(|path| path.rtx_to);
        if let Some(kept) = kept.filter(|kept| is_active(*kept)) {
            return Some(kept);
        }
        let chosen = self.choose_rtx_path(chance, lost)?;
        if let Some(path) = self.paths.get_mut(lost.index()) {
            path.rtx_to = Some(chosen);
        }
        Some(chosen)
    }

    /// The path of a retransmission of what was lost on `lost`, by the policy.
    pub(super) fn choose_rtx_path(&mut self, chance: Chance, lost: PathId) -> Option<PathId> {
        let random = self.draw(chance);
        let of = |path: &Path| Candidate {
            path: path.id,
            cwnd: self.sender.control.cwnd_bytes(path.id),
            ssthresh: self.sender.control.ssthresh_bytes(path.id).unwrap_or(u64::MAX),
            in_flight: self.sender.outstanding.in_flight_bytes(path.id),
            srtt: path.rto.srtt(),
            loss: path.loss,
        };
        let is_active = |path: &&Path| self.states.state(path.id) == Some(PathState::Active);
        let candidates: Vec<Candidate> = self.paths.iter().filter(is_active).map(of).collect();
        let chosen = self.config.rtx_policy.choose(lost, &candidates, random);
        chosen.or_else(|| self.states.alternative(lost))
    }

    /// Nothing is sent for now: whether a zero-window probe must wait for its timer.
    pub(super) fn arm_probe(&mut self, cx: &Context<'_>) {
        let is_idle = || self.sender.outstanding.total_in_flight_bytes() == 0;
        if self.sender.probe != Probe::Off || !is_idle() || !self.sender.has_data() {
            return;
        }
        let Some(path) = self.states.data_path() else { return };
        let len = match self.sender.outstanding.next_marked() {
            Some(marked) => marked.len,
            None => self.sender.next_new_len(),
        };
        let is_closed = !self.sender.peer_takes(len);
        if let Some(path) = self.paths.get_mut(path.index())
            && is_closed
        {
            self.sender.probe = Probe::Waiting;
            path.start_t3(cx.now);
        }
    }

    /// Why nothing is sent.
    pub(super) fn why_blocked(&self, stage: Stage) -> Blocked {
        let path = self.states.data_path().and_then(|path| self.paths.get(path.index()));
        match path {
            _ if !self.sender.has_data() || !stage.sends_data() => Blocked::NothingToSend,
            None => Blocked::PathDown,
            Some(path) => {
                let why = self.sender.blocked(path.id, path.room, true);
                why.unwrap_or(Blocked::CongestionWindow)
            }
        }
    }
}

/// Sets the I bit of the last chunk (RFC 9260 s6.1).
fn ask_for_sack(chunks: &mut [Chunk]) {
    match chunks.last_mut() {
        Some(Chunk::Data(data)) => data.flags = data.flags | DataFlags::IMMEDIATE,
        Some(Chunk::IData(data)) => data.flags = data.flags | DataFlags::IMMEDIATE,
        _ => {}
    }
}

//! Packets that an association sends: control chunks, then retransmissions, then new data, with a
//! SACK where there is room for one (RFC 9260 s6.1, s6.10).

use super::binding::Binding;
use super::cmt::{PathKey, PrimaryFirst, SendAllKey};
use super::outgoing::Outgoing;
use super::outstanding::Marked;
use super::path::Path;
use super::path_state::PathState;
use super::rtx_policy::Candidate;
use super::schedule::{self, Chosen};
use super::sender::{Probe, Sent};
use super::shutdown::Stage;
use super::transfer::Transfer;
use crate::congestion::CongestionControl;
use base::{Blocked, Chance, Context, Duration, Event, EventMask, Instant, PathId};
use std::hint::cold_path;
use wire::sctp::{Chunk, DataFlags, Tsn};

impl Transfer {
    /// Puts the chunks of the next packet into `chunks`, which are none so far; returns the pair of
    /// addresses that it goes to. `is_idle`: the sender is.
    // Chunks are written where the packet has them: each return by value moved them twice.
    #[inline(always)]
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        (stage, is_idle): (Stage, bool),
        chunks: &mut Outgoing,
    ) -> Option<PathId> {
        if self.sender.policy().is_some() {
            cold_path();
            self.apply_policy(cx);
        }
        if let Some(pair) = self.control.next_pair() {
            cold_path();
            self.take_control(pair, chunks);
            return Some(pair);
        }
        if !is_idle && let Some(pair) = self.poll_sender(cx, stage, chunks) {
            return Some(pair);
        }
        self.receiver.sack_due()?;
        let pair = self.sack_pair();
        let room = self.room_to(pair);
        chunks.push(self.receiver.sack(pair, room));
        Some(pair)
    }

    /// Whether `poll` would find nothing, and change nothing.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.receiver.sack_due().is_none() && self.is_idle() && self.control.next_pair().is_none()
    }

    /// A packet of control chunks.
    #[inline(never)]
    fn take_control(&mut self, pair: PathId, chunks: &mut Outgoing) {
        let room = self.room_to(pair);
        chunks.set(self.control.take(pair, room).into());
    }

    /// Whether the sender is idle, and a round of CMT would change nothing.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        let is_still = |key: SendAllKey| key != SendAllKey::Random && self.round.is_still();
        self.sender.is_idle()
            && self.sender.cmt.as_ref().is_none_or(|cmt| is_still(cmt.config.send_all))
    }

    /// The next packet with data or FORWARD TSN.
    #[inline(always)]
    fn poll_sender(
        &mut self,
        cx: &mut Context<'_>,
        stage: Stage,
        chunks: &mut Outgoing,
    ) -> Option<PathId> {
        self.sender.drop_expired(cx.now);
        self.sender.plan_forward(cx.now);
        if stage.sends_data()
            && let Some(pair) = self.data_packet(cx, stage, chunks)
        {
            return Some(pair);
        }
        if self.sender.is_forward_due(cx.now) { self.forward_packet(cx, chunks) } else { None }
    }

    /// CMT: the path policy decides which paths get new data, and has the others probed.
    #[inline(never)]
    fn apply_policy(&mut self, cx: &mut Context<'_>) {
        if self.sender.is_empty() {
            return;
        }
        let Some(cmt) = &mut self.sender.cmt else { return };
        let Some(mut policy) = cmt.policy.take() else { return };
        let paths = (0..self.paths.len()).map(|index| PathId(index as u8));
        let mut views: Vec<_> = paths.map(|path| schedule::view(self, cx.now, path)).collect();
        let socket = self.socket;
        for (path, on) in policy.review(cx.now, &mut views) {
            cx.record(EventMask::STATE, || Event::Probing { socket, path, on });
            if on {
                self.sender.unbind(path);
            }
        }
        for view in &mut views {
            while let Some(bytes) = policy.due(cx.now, view) {
                let nonce = self.draw(cx.chance);
                let verifier = &self.paths[view.id.index()].verifier;
                let id = view.id;
                for chunk in policy.probe(cx.now, (verifier, nonce), (view, bytes)) {
                    self.control.push(id, chunk);
                }
            }
        }
        if let Some(cmt) = &mut self.sender.cmt {
            cmt.policy = Some(policy);
        }
    }

    /// Where the next SACK goes: to where the last data came from, unless data use all paths.
    fn sack_pair(&self) -> PathId {
        let standard = self.receiver.reply_to();
        let Some(cmt) = &self.config.cmt else { return standard };
        let srtt = |path: PathId| self.paths.get(path.index()).and_then(|path| path.rto.srtt());
        // Data that come twice show that the SACK before was lost (RFC 9260 s6.4).
        let primary = self.states.primary();
        let is_active = self.states.state(primary) == Some(PathState::Active);
        let primary = if is_active && !self.receiver.has_duplicates() { primary } else { standard };
        self.receiver.route.choose(cmt.sack_path, (standard, primary), srtt)
    }

    /// FORWARD TSN, which does not wait for data, in a packet of its own.
    #[cold]
    fn forward_packet(&mut self, cx: &Context<'_>, chunks: &mut Outgoing) -> Option<PathId> {
        let pair = self.states.data_path()?;
        let (room, rto) = (self.room_to(pair), self.rto(pair));
        chunks.push(self.sender.forward(cx.now, room, rto)?);
        Some(pair)
    }

    /// Bytes of chunks in a packet to a pair.
    fn room_to(&self, pair: PathId) -> u32 {
        let path = self.paths.get(pair.index()).or(self.paths.first());
        path.map_or(0, |path| path.room)
    }

    /// A packet with data, if one may be sent.
    #[inline(always)]
    fn data_packet(
        &mut self,
        cx: &mut Context<'_>,
        stage: Stage,
        chunks: &mut Outgoing,
    ) -> Option<PathId> {
        let is_marked = self.sender.outstanding.has_marked() && self.next_marked(cx).is_some();
        let path = match &self.sender.cmt {
            Some(_) => self.concurrent(cx, chunks)?,
            None if is_marked => {
                cold_path();
                self.again_on_any(cx, chunks)?
            }
            None => {
                let path = self.states.data_path()?;
                self.anew(cx, path, chunks).then_some(path)?
            }
        };
        let index = path.index();
        let room = self.paths[index].room;
        let left = |chunks: &[Chunk]| {
            room.saturating_sub(chunks.iter().map(Chunk::padded_len).sum::<u32>())
        };
        let is_last = stage == Stage::ShutdownPending && self.sender.unsent_bytes() == 0;
        // A delayed SACK is for two packets: without another one in the network a closed window
        // would wait for its timer (RFC 7053 s5.1).
        let is_alone = self.sender.outstanding.total_in_flight_chunks() <= chunks.chunks().len();
        let asks = self.sender.rules.sending.asks_for_sacks && self.sender.sends_no_more_on(path);
        if is_last || asks || (is_alone && self.is_stopped_by_window(path)) {
            cold_path();
            ask_for_sack(chunks);
        }
        if self.sender.abandonment.enabled
            && let rto = self.rto(path)
            && let Some(forward) = self.sender.forward(cx.now, left(chunks.chunks()), rto)
        {
            cold_path();
            chunks.push_first(forward);
        }
        if self.receiver.has_pending_sack() {
            let left = left(chunks.chunks());
            if self.receiver.sack_len() <= left && self.sack_pair() == path {
                chunks.push_first(self.receiver.sack(path, left));
            }
        }
        let state = &mut self.paths[index];
        state.counters.packets += 1;
        if state.t3.is_none() {
            state.start_t3(cx.now);
        }
        Some(path)
    }

    /// More would be sent if a window allowed it.
    #[inline(never)]
    fn is_stopped_by_window(&self, path: PathId) -> bool {
        let Some(state) = self.paths.get(path.index()) else { return false };
        if !state.takes_another(self.sender.outstanding.in_flight_bytes(path)) {
            return self.sender.has_data();
        }
        if self.sender.outstanding.next_marked().is_some() {
            return !self.sender.has_window(path);
        }
        let why = self.sender.blocked(path, state.room, true);
        matches!(why, Some(Blocked::CongestionWindow | Blocked::ReceiveWindow))
    }

    /// The lowest chunk to be sent again, after those were abandoned whose limit is reached.
    fn next_marked(&mut self, cx: &Context<'_>) -> Option<Marked<'_, Sent>> {
        if self.sender.abandon_marked(cx.now) {
            self.after_giving_up();
        }
        self.sender.outstanding.next_marked()
    }

    /// Marked chunks were abandoned: without any no path owes a retransmission.
    #[cold]
    fn after_giving_up(&mut self) {
        if self.sender.outstanding.next_marked().is_none() {
            self.paths.iter_mut().for_each(|path| path.after_loss.owes_packet = false);
        }
    }

    /// CMT: abandons marked chunks whose limit is reached and which one of the paths would send
    /// next (RFC 7496 s3.1): they need not be the lowest of all.
    #[cold]
    fn give_up_on_paths(&mut self, cx: &Context<'_>) {
        let mut any = true;
        // The rest of a message may have been in front of other chunks on other paths.
        while std::mem::take(&mut any) {
            for path in &self.paths {
                for timed_out in [false, true] {
                    any |= self.sender.abandon_marked_of(cx.now, path.id, timed_out);
                }
            }
            if any {
                self.after_giving_up();
            }
        }
    }

    /// CMT: a packet of the path whose turn it is, which sends as much as its window allows before
    /// the next one.
    #[inline(never)]
    fn concurrent(&mut self, cx: &mut Context<'_>, chunks: &mut Outgoing) -> Option<PathId> {
        let has_schedule = self.sender.cmt.as_ref().is_some_and(|cmt| cmt.schedule.is_some());
        let is_bound = self.sender.binding().is_some();
        if is_bound {
            self.unbind_failed();
        }
        if self.round.current().is_none() {
            if !has_schedule && !self.has_room() {
                self.round.skip();
                return None;
            }
            self.begin_round(cx.chance);
        }
        while let Some(path) = self.round.current() {
            // Without room in the window nothing is sent, unless a chunk was lost.
            if !self.sender.outstanding.has_marked() && !self.sender.has_window(path) {
                self.round.advance();
                continue;
            }
            let is_filled = (self.round.take_fresh() && self.moved(cx, path, chunks))
                || (self.sender.outstanding.has_marked() && self.again(cx, path, chunks))
                || ((!has_schedule || is_bound) && self.anew(cx, path, chunks));
            if is_filled {
                return Some(path);
            }
            self.round.advance();
        }
        if has_schedule { self.scheduled(cx, chunks) } else { None }
    }

    /// CMT: a packet with new data on the path that the scheduler chooses.
    #[inline(never)]
    fn scheduled(&mut self, cx: &mut Context<'_>, chunks: &mut Outgoing) -> Option<PathId> {
        let plans_ahead = self.sender.binding().is_some();
        while self.sender.has_unbound() {
            let mut schedule = self.sender.cmt.as_mut()?.schedule.take()?;
            let chosen = schedule.next(cx, self);
            if let Some(cmt) = &mut self.sender.cmt {
                cmt.schedule = Some(schedule);
            }
            let Chosen { path, at, most } = chosen.or_else(|| self.overdue(cx.now))?;
            if plans_ahead && !self.sender.bind(path, at, most) {
                return None;
            }
            let is_filled = self.anew(cx, path, chunks);
            if !plans_ahead || is_filled {
                return is_filled.then_some(path);
            }
        }
        None
    }

    /// CMT: what comes before all else and is bound to no path, as its path has failed, if what is
    /// bound to the fastest path waits for it to be sent. The scheduler would wait in turn until
    /// that path has sent what is bound to it.
    fn overdue(&self, now: Instant) -> Option<Chosen> {
        let path = self.fastest()?;
        let (sender, state) = (&self.sender, self.paths.get(path.index())?);
        let binding = sender.binding().filter(|binding| binding.is_first_open())?;
        let is_open = state.takes_another(sender.outstanding.in_flight_bytes(path));
        let is_open = is_open && sender.has_window(path) && !state.is_blocked(now);
        let may_send = is_open && sender.has_share(path);
        let waits = binding.bytes_of(path) > 0 && !sender.may_overtake(path);
        let chosen = Chosen { path, at: binding.next(), most: state.room };
        (may_send && waits).then_some(chosen)
    }

    /// CMT: what is bound to a path that carries no data any more is bound anew.
    #[inline(never)]
    fn unbind_failed(&mut self) {
        for index in 0..self.paths.len() {
            let path = PathId(index as u8);
            if !self.states.is_usable(path) {
                self.sender.unbind(path);
            }
        }
        self.sender.bind_rest(self.fastest());
    }

    /// CMT: whether a window has room, or a packet may leave without; most rounds find none.
    fn has_room(&self) -> bool {
        let is_random = || {
            let config = self.config.cmt.as_ref();
            config.is_some_and(|config| config.send_all == SendAllKey::Random)
        };
        // A random order draws numbers.
        self.paths.iter().any(|path| path.after_loss.owes_packet || self.sender.has_window(path.id))
            || is_random()
    }

    /// CMT: sorts the paths that data may go to.
    fn begin_round(&mut self, chance: Chance) {
        let Some(config) = self.sender.cmt.as_ref().map(|cmt| cmt.config) else { return };
        let key = config.send_all;
        // A zero-window probe goes to the fastest path.
        let is_probe = self.sender.probe == Probe::Due;
        let only = if is_probe { self.probe_path() } else { None };
        let is_random = key == SendAllKey::Random;
        let by_window = !matches!(key, SendAllKey::Normal | SendAllKey::LastTx);
        for index in 0..self.paths.len() {
            let path = PathId(index as u8);
            if !self.states.is_usable(path) || only.is_some_and(|only| only != path) {
                continue;
            }
            // Only what the paths are sorted by is asked for.
            let (ssthresh, space) = if by_window { self.windows(path) } else { (0, 0) };
            let random = if is_random { self.draw(chance) } else { 0 };
            let last_sent = self.paths[index].last_sent;
            self.round.add(key, &PathKey { path, last_sent, ssthresh, space, random });
        }
        if config.primary_first == PrimaryFirst::Always {
            self.round.lead_else(self.states.primary());
        }
        self.round.begin(config.strict_booking);
    }

    /// The slow-start threshold of a path, and the room in its window, in bytes.
    #[inline(never)]
    fn windows(&self, path: PathId) -> (u64, u64) {
        let control = &self.sender.control;
        let in_flight = self.sender.outstanding.in_flight_bytes(path);
        let ssthresh = control.ssthresh_bytes(path).unwrap_or(u64::MAX);
        (ssthresh, control.cwnd_bytes(path).saturating_sub(in_flight))
    }

    /// CMT: a packet with the lowest chunk, which is moved to `path`.
    #[inline(never)]
    fn moved(&mut self, cx: &mut Context<'_>, path: PathId, chunks: &mut Outgoing) -> bool {
        if self.sender.is_suspended(path) {
            return false;
        }
        let Some(tsn) = self.sender.take_moved(cx, &mut self.paths, path) else { return false };
        let Some((from, _)) = self.sender.outstanding.sent_on(tsn) else { return false };
        let state = &mut self.paths[path.index()];
        let Some(chunk) = self.sender.send_again(cx, state, tsn) else { return false };
        state.on_rescheduled(cx.now, from);
        chunks.push(chunk);
        ask_for_sack(chunks);
        true
    }

    /// Whether the next new chunk may be booked on `path`: it fits the window, unless the round
    /// allows more and the sum of all windows has room.
    fn may_book(&self, path: PathId) -> bool {
        if !self.config.cmt.is_some_and(|cmt| cmt.strict_booking) {
            return true;
        }
        cold_path();
        let (outstanding, control) = (&self.sender.outstanding, &self.sender.control);
        let cwnd = control.cwnd_bytes(path);
        let len = self.sender.next_len(path).map_or(0, |payload| self.sender.window_len(payload));
        let len = u64::from(len);
        let sum: u64 = self.paths.iter().map(|path| control.cwnd_bytes(path.id)).sum();
        outstanding.in_flight_bytes(path) + len <= cwnd
            || (self.round.overshoots() && outstanding.total_in_flight_bytes() + len <= sum)
    }

    /// The path of a zero-window probe: that of new data, with data on all paths the fastest.
    fn probe_path(&self) -> Option<PathId> {
        if self.sender.cmt.is_none() {
            return self.states.data_path();
        }
        // Of what is bound the first fragment: the peer may lack it to deliver any more.
        let binding = self.sender.binding().filter(|binding| !binding.is_first_open());
        if let Some(path) = binding.and_then(Binding::first_path) {
            return Some(path);
        }
        self.fastest()
    }

    /// The path with the lowest smoothed round trip that may send new data.
    fn fastest(&self) -> Option<PathId> {
        let gets_data =
            |path: &&Path| self.states.is_usable(path.id) && !self.sender.is_suspended(path.id);
        let usable = self.paths.iter().filter(gets_data);
        let fastest = usable.min_by_key(|path| path.rto.srtt().unwrap_or(Duration::MAX));
        fastest.map(|path| path.id)
    }

    /// Retransmissions of one packet on the path of the lowest marked chunk, or else on another one
    /// whose window has room: what waits for the window of one path holds up no other path.
    #[inline(never)]
    fn again_on_any(&mut self, cx: &mut Context<'_>, chunks: &mut Outgoing) -> Option<PathId> {
        let first = self.next_rtx_path(cx.chance)?;
        if self.again(cx, first, chunks) {
            return Some(first);
        }
        let others = (0..self.paths.len()).map(|index| PathId(index as u8));
        others.filter(|path| *path != first).find(|path| self.again(cx, *path, chunks))
    }

    /// Retransmissions of one packet on `path`, lowest first; returns whether there are any, and a
    /// window allows them.
    #[inline(never)]
    fn again(&mut self, cx: &mut Context<'_>, path: PathId, chunks: &mut Outgoing) -> bool {
        let index = path.index();
        let Some((first, ..)) = self.next_marked_to(cx, path) else { return false };
        // The peer has had room for them: its window limits new data only (RFC 9260 s6.1 A, C).
        let takes_another =
            self.paths[index].takes_another(self.sender.outstanding.in_flight_bytes(path));
        let is_open = takes_another && self.sender.has_window(path);
        if !self.paths[index].after_loss.owes_packet && !is_open {
            return false;
        }
        let earliest = self.sender.outstanding.earliest(path);
        let mut left = self.paths[index].room;
        let (mut restarts, mut next) = (false, Some(first));
        while let Some(tsn) = next {
            let Some(sent) = self.sender.outstanding.data(tsn) else { break };
            let len = (self.sender.header() + sent.fragment.payload.len()).next_multiple_of(4);
            if !chunks.is_empty() && len > left {
                break;
            }
            let timed_out = self.sender.outstanding.is_timed_out(tsn);
            let lost = self.sender.outstanding.sent_on(tsn).filter(|_| timed_out);
            let state = &mut self.paths[index];
            let Some(chunk) = self.sender.send_again(cx, state, tsn) else { break };
            // The policy chooses anew for the next one: windows differ by then.
            if let Some(lost) = lost.and_then(|(lost, _)| self.paths.get_mut(lost.index())) {
                lost.rtx_to = None;
            }
            // Fast retransmission of the earliest chunk restarts T3-rtx (RFC 9260 s7.2.4 4).
            restarts |= !timed_out && earliest.is_none_or(|earliest| tsn <= earliest);
            left = left.saturating_sub(len);
            chunks.push(chunk);
            next = self.next_marked_to(cx, path).map(|(tsn, ..)| tsn);
        }
        let state = &mut self.paths[index];
        state.after_loss.owes_packet = false;
        if restarts {
            state.start_t3(cx.now);
        }
        !chunks.is_empty()
    }

    /// New data of one packet on `path`, which has no chunks so far; returns whether any may be
    /// sent.
    #[inline(always)]
    fn anew(&mut self, cx: &mut Context<'_>, path: PathId, chunks: &mut Outgoing) -> bool {
        if self.sender.unsent_bytes() == 0 {
            return false;
        }
        let Some(state) = self.paths.get(path.index()) else { return false };
        let window = self.sender.burst_room(state);
        // An idle window, which may still decay, has room.
        let is_open = window.in_flight < window.cwnd && state.takes_another(window.in_flight);
        let may_send = is_open && !state.is_blocked(cx.now);
        if !may_send || self.sender.is_suspended(path) {
            return false;
        }
        if !self.sender.prepare_burst(cx.now, state, window) {
            cold_path();
            return false;
        }
        let mut left = state.room;
        while left > self.sender.header()
            && let Some(len) = self.new_chunk(cx, path, left, chunks)
        {
            left = left.saturating_sub(len);
        }
        self.sender.streams.end_packet();
        let is_filled = !chunks.is_empty();
        if is_filled {
            self.sender.bursts.on_packet(self.sender.rules.burst, cx.now, path);
        }
        is_filled
    }

    /// The next chunk of a packet that has room for `left` bytes; returns the bytes that it takes,
    /// if it may be sent. What ends before saves no registers for it.
    #[inline(never)]
    fn new_chunk(
        &mut self,
        cx: &mut Context<'_>,
        path: PathId,
        left: u32,
        chunks: &mut Outgoing,
    ) -> Option<u32> {
        if self.sender.abandonment.enabled {
            cold_path();
            self.sender.abandon_begun(cx.now, path);
        }
        // A packet is begun where the window has room.
        let is_first = chunks.is_empty();
        let has_window = is_first || self.sender.has_window(path);
        debug_assert_eq!(has_window, self.sender.has_window(path), "it has room");
        let is_blocked =
            !has_window || self.sender.blocked_in_window(path, left, is_first).is_some();
        if is_blocked || !self.may_book(path) {
            return None;
        }
        self.sender.send_new(cx, &mut self.paths[path.index()], chunks)
    }

    /// The path that the lowest marked chunk takes.
    fn next_rtx_path(&mut self, chance: Chance) -> Option<PathId> {
        let marked = self.sender.outstanding.next_marked()?;
        let (lost, timed_out) = (marked.path, marked.timed_out);
        self.rtx_path(chance, lost, timed_out)
    }

    /// The lowest marked chunk that takes `path`: its TSN, the bytes that it takes of windows, and
    /// whether it timed out.
    fn next_marked_to(&mut self, cx: &Context<'_>, path: PathId) -> Option<(Tsn, u32, bool)> {
        let of = |marked: Marked<'_, Sent>| (marked.tsn, marked.len, marked.timed_out);
        if self.sender.cmt.is_none() {
            let lowest = self.next_marked(cx).map(of)?;
            if self.next_rtx_path(cx.chance) == Some(path) {
                return Some(lowest);
            }
        }
        if self.sender.abandonment.enabled {
            self.give_up_on_paths(cx);
        }
        self.next_marked(cx)?;
        let mut lowest: Option<(Tsn, u32, bool)> = None;
        for index in 0..self.paths.len() {
            for timed_out in [false, true] {
                let lost = PathId(index as u8);
                let marked = self.sender.outstanding.next_marked_of(lost, timed_out).map(of);
                let Some(marked) = marked else { continue };
                let is_lower = lowest.is_none_or(|lowest| marked.0 < lowest.0);
                if is_lower && self.rtx_path(cx.chance, lost, timed_out) == Some(path) {
                    lowest = Some(marked);
                }
            }
        }
        lowest
    }

    /// The path of what was lost on `lost`: after a fast retransmission the same one, if that is
    /// active, otherwise what the policy chooses, until one is sent.
    fn rtx_path(&mut self, chance: Chance, lost: PathId, timed_out: bool) -> Option<PathId> {
        if self.sender.cmt.is_some() && self.sender.probe == Probe::Due {
            return self.probe_path();
        }
        let is_active = |path: PathId| self.states.state(path) == Some(PathState::Active);
        if !timed_out && is_active(lost) {
            return Some(lost);
        }
        let kept = self.paths.get(lost.index()).and_then(|path| path.rtx_to);
        if let Some(kept) = kept.filter(|kept| is_active(*kept)) {
            return Some(kept);
        }
        let mut chosen = self.choose_rtx_path(chance, lost)?;
        if self.sender.cmt.is_some() && !self.states.is_usable(chosen) {
            chosen = self.states.data_path()?;
        }
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
        chosen.or_else(|| self.states.fewest_errors(lost))
    }

    /// Nothing is sent for now: whether a zero-window probe must wait for its timer.
    #[inline]
    pub(super) fn arm_probe(&mut self, cx: &Context<'_>) {
        let is_idle = self.sender.outstanding.total_in_flight_bytes() == 0;
        if is_idle && self.sender.probe == Probe::Off && self.sender.has_data() {
            self.begin_probe(cx);
        }
    }

    /// The same where everything is acknowledged, and data wait.
    #[cold]
    fn begin_probe(&mut self, cx: &Context<'_>) {
        let Some(path) = self.probe_path() else { return self.arm_stranded(cx.now) };
        let is_closed = match self.sender.outstanding.next_marked() {
            Some(marked) => u64::from(marked.len) > self.sender.peer_rwnd,
            None => !self.sender.peer_takes(self.sender.next_new_len()),
        };
        if let Some(path) = self.paths.get_mut(path.index())
            && is_closed
        {
            self.sender.probe = Probe::Waiting;
            path.start_t3(cx.now);
        }
    }

    /// Why nothing is sent.
    pub(super) fn why_blocked(&self, stage: Stage) -> Blocked {
        if !self.sender.has_data() || !stage.sends_data() {
            return Blocked::NothingToSend;
        }
        if let Some(why) = self.sender.scheduler_waits() {
            return why;
        }
        let path = self.states.data_path().and_then(|path| self.paths.get(path.index()));
        match path {
            None => Blocked::PathDown,
            Some(path) => {
                let bound = self.sender.binding().and_then(Binding::first_path);
                let path = bound.and_then(|bound| self.paths.get(bound.index())).unwrap_or(path);
                let why = self.sender.blocked(path.id, path.room, true);
                why.filter(|why| *why != Blocked::NothingToSend)
                    .unwrap_or(Blocked::CongestionWindow)
            }
        }
    }
}

/// Sets the I bit of the last chunk (RFC 9260 s6.1).
#[cold]
fn ask_for_sack(chunks: &mut Outgoing) {
    match chunks.last_mut() {
        Some(Chunk::Data(data)) => data.flags = data.flags | DataFlags::IMMEDIATE,
        Some(Chunk::IData(data)) => data.flags = data.flags | DataFlags::IMMEDIATE,
        _ => {}
    }
}

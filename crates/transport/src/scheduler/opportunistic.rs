//! Opportunistic retransmission and penalisation (004 sII-D, multipath-tcp kernel v0.95
//! `mptcp_rcv_buf_optimization`).
//!
//! The connection's window (or the send buffer) is full because its first segment, the head, is on
//! a slow path `S`, and the path `F` that the scheduler chose has room: send the head on `F`, too,
//! and penalise `S`.
//!
//! The kernel penalises at most once per RTT of `F`, and sends the head on `F` only if every `S`
//! is four times as slow or has a window of at most 4. The variants before it penalise each `S` at
//! most once per RTT of that `S`, and send any head that `F` lacks, at most once per RTT of `F`.
//! All penalise only what is slower than `F` and in no loss recovery, and none where the
//! application waits for the send buffer although it has room (`sk_stream_memory_free`). A
//! penalty's arithmetic is the congestion controller's.

use super::Action;
use super::path_view::{LossPhase, PathView};
use super::view::{DataSegment, Offer, View};
use crate::congestion::Penalty;
use crate::reinjection::Opportunistic;
use base::{Blocked, Instant, PathId};
use std::ops::Range;

/// Largest window of a slow path, in segments, with which its head is copied at any RTT (kernel
/// v0.95).
const HELPLESS_CWND: u32 = 4;
/// Least ratio of the round-trip times for a copy (kernel v0.95).
const RTT_FACTOR: u64 = 4;

/// The procedure and its state.
#[derive(Clone, Debug, Default)]
pub(super) struct OpportunisticRetransmission {
    mode: Opportunistic,
    /// By path: when it last had others penalised (kernel) or was (the variants before).
    penalised: Times,
    /// By path: when it last carried a copy.
    copied: Times,
}

impl OpportunisticRetransmission {
    /// No copy and no penalty yet.
    pub(super) const fn new(mode: Opportunistic) -> Self {
        OpportunisticRetransmission { mode, penalised: Times::NONE, copied: Times::NONE }
    }

    /// What `fast` should carry a second time, if that helps; penalties go to `actions`. `why`:
    /// what `fast` waits for.
    pub(super) fn run(
        &mut self,
        view: &View<'_>,
        fast: &PathView,
        why: Blocked,
        actions: &mut Vec<Action>,
    ) -> Option<Range<u64>> {
        if self.mode == Opportunistic::Off || view.paths.len() < 2 {
            return None;
        }
        let head = view.data.segment_at(view.data.snd_una)?;
        let first_penalty = actions.len();
        let is_full = why != Blocked::SendBuffer || view.data.sndbuf_full;
        if let Some(kind) = self.mode.penalty().filter(|_| is_full) {
            self.penalise(view, fast, head, kind, actions);
        }
        let offer = offer_of(view, head);
        let helps = match self.mode.is_early() {
            true => !head.paths.contains(fast.id) && self.copied.rested(fast, view.now),
            false => is_worth_a_copy(view, fast, head, &actions[first_penalty..]),
        };
        if !helps || !fast.is_available(&offer) {
            return None;
        }
        if self.mode.is_early() {
            self.copied.stamp(fast.id, view.now);
        }
        Some(offer.range_on(fast))
    }

    /// Penalise the slower carriers of the head, as often as the variant allows.
    fn penalise(
        &mut self,
        view: &View<'_>,
        fast: &PathView,
        head: &DataSegment,
        kind: Penalty,
        actions: &mut Vec<Action>,
    ) {
        let early = self.mode.is_early();
        if !early && !self.penalised.rested(fast, view.now) {
            return;
        }
        let culprits = carriers(view, fast, head)
            .filter(|slow| fast.rtt.srtt < slow.rtt.srtt && slow.loss == LossPhase::Open);
        for slow in culprits {
            if early && !self.penalised.rested(slow, view.now) {
                continue;
            }
            actions.push(Action::Penalise(slow.id, kind));
            self.penalised.stamp(if early { slow.id } else { fast.id }, view.now);
        }
    }
}

/// When something last happened to each path.
#[derive(Clone, Debug, Default)]
struct Times(Vec<Option<Instant>>);

impl Times {
    const NONE: Times = Times(Vec::new());

    /// Whether an RTT of `path` passed since it last happened to it.
    fn rested(&self, path: &PathView, now: Instant) -> bool {
        let last = self.0.get(path.id.index()).copied().flatten();
        last.is_none_or(|last| now - last >= path.rtt.srtt)
    }

    fn stamp(&mut self, path: PathId, now: Instant) {
        if self.0.len() <= path.index() {
            self.0.resize(path.index() + 1, None);
        }
        self.0[path.index()] = Some(now);
    }
}

/// The paths other than `fast` that carried the head.
fn carriers<'a>(
    view: &View<'a>,
    fast: &PathView,
    head: &DataSegment,
) -> impl Iterator<Item = &'a PathView> {
    let others = head.paths.without(fast.id);
    view.paths.iter().filter(move |path| others.contains(path.id))
}

fn offer_of(view: &View<'_>, head: &DataSegment) -> Offer {
    let offset = head.offset.max(view.data.snd_una);
    Offer { reinject: true, offset, end: head.end(), paths: head.paths }
}

/// Whether `fast` delivers the head much sooner than the paths that have it.
fn is_worth_a_copy(
    view: &View<'_>,
    fast: &PathView,
    head: &DataSegment,
    penalised: &[Action],
) -> bool {
    if head.paths.contains(fast.id) {
        return false;
    }
    let mut worth = false;
    for slow in carriers(view, fast, head) {
        let halved = penalised.contains(&Action::Penalise(slow.id, Penalty::Kernel));
        let cwnd = if halved { (slow.window.cwnd_segs / 2).max(1) } else { slow.window.cwnd_segs };
        if cwnd <= HELPLESS_CWND {
            return true;
        }
        if fast.rtt.srtt * RTT_FACTOR >= slow.rtt.srtt {
            return false;
        }
        worth = true;
    }
    worth
}

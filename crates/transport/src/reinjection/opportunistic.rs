//! Opportunistic retransmission and penalisation (schedulers spec s11, procedure of the
//! multipath-tcp kernel v0.95; 004 sII-D).
//!
//! The connection's window (or the send buffer) is full because its first segment sits on a slow
//! path `S`, and the path `F` that the scheduler chose has room: send that segment on `F` too,
//! and halve the window of `S`. A penalty's arithmetic is the congestion controller's.

use crate::scheduler::{Action, DataSegment, Offer, PathView, View};
use base::{CaState, Instant};
use std::ops::Range;

/// What to do when a slow path holds the connection up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Opportunistic {
    /// Nothing.
    Off,
    /// Send the segment again, punish nobody (the schedulers of 002).
    RetransOnly,
    /// Both.
    #[default]
    Kernel,
}

/// Below that window a slow path needs help whatever its RTT (kernel v0.95).
const HELPLESS_CWND: u32 = 4;
/// So many times slower a path must be for a copy to pay (kernel v0.95).
const RTT_FACTOR: u64 = 4;

/// The procedure and what it remembers.
#[derive(Clone, Debug, Default)]
pub struct OpportunisticRetransmission {
    mode: Opportunistic,
    /// By path: when it last had others penalised.
    penalised_at: Vec<Option<Instant>>,
}

impl OpportunisticRetransmission {
    /// Nothing happened yet.
    pub const fn new(mode: Opportunistic) -> Self {
        OpportunisticRetransmission { mode, penalised_at: Vec::new() }
    }

    /// What `fast` should carry a second time, if that helps; penalties go to `actions`.
    pub fn run(
        &mut self,
        view: &View<'_>,
        fast: &PathView,
        actions: &mut Vec<Action>,
    ) -> Option<Range<u64>> {
        if self.mode == Opportunistic::Off || view.paths.len() < 2 {
            return None;
        }
        let head = view.data.segments.front()?;
        let first_penalty = actions.len();
        if self.mode == Opportunistic::Kernel {
            self.penalise(view, fast, head, actions);
        }
        let penalised = &actions[first_penalty..];
        let offer = offer_of(view, head);
        let helps = is_worth_a_copy(view, fast, head, penalised) && fast.is_available(&offer);
        helps.then(|| offer.range_on(fast))
    }

    /// At most once per RTT of `fast`: halve the windows of slower carriers of the head.
    fn penalise(
        &mut self,
        view: &View<'_>,
        fast: &PathView,
        head: &DataSegment,
        actions: &mut Vec<Action>,
    ) {
        let last = self.penalised_at.get(fast.id.index()).copied().flatten();
        if last.is_some_and(|last| view.now - last < fast.srtt) {
            return;
        }
        let before = actions.len();
        let culprits = carriers(view, fast, head)
            .filter(|slow| fast.srtt < slow.srtt && slow.ca_state == CaState::Open);
        actions.extend(culprits.map(|slow| Action::Penalise(slow.id)));
        if actions.len() > before {
            self.stamp(fast, view.now);
        }
    }

    fn stamp(&mut self, fast: &PathView, now: Instant) {
        let index = fast.id.index();
        if self.penalised_at.len() <= index {
            self.penalised_at.resize(index + 1, None);
        }
        self.penalised_at[index] = Some(now);
    }
}

/// The paths beside `fast` that carried the head.
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

/// Whether `fast` brings the head much sooner than the paths that have it.
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
        let halved = penalised.contains(&Action::Penalise(slow.id));
        let cwnd = if halved { (slow.cwnd_segs / 2).max(1) } else { slow.cwnd_segs };
        if cwnd <= HELPLESS_CWND {
            return true;
        }
        if fast.srtt * RTT_FACTOR >= slow.srtt {
            return false;
        }
        worth = true;
    }
    worth
}

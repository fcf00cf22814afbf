//! The record of every decision of the scheduler.
//!
//! A scheduler explains itself only here; without a recorder of decisions none of this runs.
//! Answers are carried out in `dispatch`.

use crate::scheduler::{
    Action, AnyScheduler, Bind, Decision, LossPhase, Offer, PathState, PathView, Scheduler, Step,
    View, What,
};
use base::decision::{Answer, Candidate, Mark, Marks, Offered, SchedulerCall, Sent};
use base::{Context, Event, EventMask, SocketId};

/// Asks the scheduler for a decision and records it with its inputs.
#[cold]
pub(crate) fn ask(
    cx: &mut Context<'_>,
    socket: SocketId,
    scheduler: &mut AnyScheduler,
    view: &View<'_>,
) -> Decision {
    let why = scheduler.explain(view);
    let offer = view.offered();
    let shown = offer.unwrap_or_else(|| view.unsent_offer());
    let paths = view.paths.iter().map(|path| candidate(path, &shown)).collect();
    let decision = scheduler.next(view);
    let call = SchedulerCall {
        socket,
        offered: offer.map(offered),
        paths,
        why,
        answer: answer(&decision.step, offer),
        penalised: decision.actions.iter().filter_map(penalised).collect(),
    };
    cx.record(EventMask::DECISION, || Event::Decision(Box::new(call)));
    decision
}

fn offered(offer: Offer) -> Offered {
    let len = offer.end.saturating_sub(offer.offset);
    Offered { offset: offer.offset, len, reinject: offer.reinject }
}

fn candidate(path: &PathView, offer: &Offer) -> Candidate {
    let window = path.window.send_window_bytes < u64::from(offer.len_on(path).max(1));
    let marks = Marks::default()
        .with(Mark::Closed, !path.is_established())
        .with(Mark::Failed, path.state == PathState::PotentiallyFailed)
        .with(Mark::Backup, path.backup)
        .with(Mark::Probing, path.probing)
        .with(Mark::WindowFull, path.is_window_full())
        .with(Mark::Loss, path.loss == LossPhase::Timeout)
        .with(Mark::SmallQueue, path.throttled)
        .with(Mark::ReceiveWindow, window)
        .with(Mark::Carried, offer.paths.contains(path.id));
    Candidate {
        path: path.id,
        interface: path.interface,
        srtt: path.rtt.srtt,
        cwnd_segs: path.window.cwnd_segs,
        inflight_segs: path.window.inflight_segs,
        unsent_segs: path.queue.unsent_segs,
        marks,
    }
}

fn answer(step: &Step, offer: Option<Offer>) -> Answer {
    let (path, what, bind, max_bytes) = match step {
        Step::Wait(why) => return Answer::Wait(*why),
        Step::Send { path, what, bind, max_bytes } => (*path, what, *bind, u64::from(*max_bytes)),
    };
    let left = offer.map_or(max_bytes, |offer| offer.end.saturating_sub(offer.offset));
    let of_offer = (offer.map(|offer| offer.offset), max_bytes.min(left));
    let (sent, (offset, len)) = match what {
        What::New => (Sent::New, of_offer),
        What::Reinject => (Sent::Reinjection, of_offer),
        What::Copy(range) => (Sent::Copy, (Some(range.start), range.end - range.start)),
        What::Probe => (Sent::Probe, (None, max_bytes)),
    };
    Answer::Send { path, what: sent, offset, len, queued: bind == Bind::Queue }
}

const fn penalised(action: &Action) -> Option<base::PathId> {
    match action {
        Action::Penalise(path, _) => Some(*path),
        _ => None,
    }
}

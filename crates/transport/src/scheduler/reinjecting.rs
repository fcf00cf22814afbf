//! `Reinjecting`: adds a reinjection to a scheduler that has none of its own.
//!
//! Whenever the scheduler waits because the connection's window is full, or has nothing to send
//! while the send buffer is full, the fastest path with room, the one LRF would choose, sends the
//! first segment again if the reinjection permits. Everything else is left to the scheduler.

use super::lrf::lowest_rtt;
use super::opportunistic::OpportunisticRetransmission;
use super::path_view::PathView;
use super::{AnyScheduler, Decision, PathChange, Scheduler, Step, View};
use crate::reinjection::Opportunistic;
use base::decision::Explanation;
use base::{Blocked, Instant, PathId};

/// A scheduler and the reinjection that it lacks.
pub struct Reinjecting {
    scheduler: AnyScheduler,
    opportunistic: OpportunisticRetransmission,
}

impl Reinjecting {
    /// Around `scheduler`.
    pub fn new(scheduler: AnyScheduler, mode: Opportunistic) -> Self {
        Reinjecting { scheduler, opportunistic: OpportunisticRetransmission::new(mode) }
    }
}

/// The path that could send, had the connection's window or the send buffer room, and which of
/// them has none.
fn held_up<'a>(view: &View<'a>, why: Blocked) -> Option<(&'a PathView, Blocked)> {
    match view.offered() {
        None if view.data.sndbuf_limited => {
            lowest_rtt(view, &view.unsent_offer()).map(|path| (path, Blocked::SendBuffer))
        }
        Some(offer) if why == Blocked::ReceiveWindow && !offer.reinject => {
            let fast = lowest_rtt(view, &offer).filter(|path| !view.fits_window(&offer, path));
            fast.map(|path| (path, Blocked::ReceiveWindow))
        }
        _ => None,
    }
}

impl Scheduler for Reinjecting {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let mut decision = self.scheduler.next(view);
        if let Step::Wait(why) = decision.step
            && let Some((fast, why)) = held_up(view, why)
            && let Some(range) = self.opportunistic.run(view, fast, why, &mut decision.actions)
        {
            decision.step = Decision::copy(fast.id, range).step;
        }
        decision
    }

    /// The rule of the scheduler inside; nothing where its wait may become a copy.
    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let own = self.scheduler.explain(view)?;
        let may_copy = own.best.is_none() && held_up(view, Blocked::ReceiveWindow).is_some();
        (!may_copy).then_some(own)
    }

    fn makes_copies(&self) -> bool {
        self.scheduler.makes_copies()
    }

    fn plans_ahead(&self) -> bool {
        self.scheduler.plans_ahead()
    }

    fn heeds_acks(&self) -> bool {
        self.scheduler.heeds_acks()
    }

    fn on_ack(&mut self, view: &View<'_>, path: PathId) {
        self.scheduler.on_ack(view, path);
    }

    fn on_window_blocked(&mut self, view: &View<'_>) {
        self.scheduler.on_window_blocked(view);
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        self.scheduler.on_path_changed(path, change);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.scheduler.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::support::{Model, path};
    use crate::scheduler::{Options, by_name};

    #[test]
    fn wrapped_scheduler_explains_itself_as_without_the_wrapper() {
        let model = Model::new(vec![path(0, 10, 10, 0), path(1, 50, 10, 0)], 4);
        let explained = |name: &str| by_name(name, &Options::default())?.explain(&model.view());
        for name in ["rr", "daps", "redundant", "linux"] {
            let wrapped = format!("{name}:reinjection=retrans-only");
            let scheduler = by_name(&wrapped, &Options::default());
            assert!(matches!(scheduler, Some(AnyScheduler::Reinjecting(_))), "{wrapped}");
            assert!(explained(name).is_some(), "{name}");
            assert_eq!(explained(&wrapped), explained(name));
        }
    }
}

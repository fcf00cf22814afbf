//! `linux`: today's Linux scheduler, the shortest time to flush what is queued (lingering).
//!
//! Decision rule (mainline Linux 6.18, `mptcp_subflow_get_send`):
//! of the paths that are no backups (backups only without any), the one with the smallest
//! `linger_i = queued_i / avg_i`, where `queued` counts what was sent and not acknowledged, too,
//! and the lowest number wins a tie. If its send buffer is full: wait. Otherwise it is granted up
//! to 65,428 bytes, bounded by the peer's window, which it queues at once regardless of its
//! congestion window, and `avg = (avg * queued + pacing * burst) / (queued + burst)`; `avg` begins
//! as the pacing rate. The kernel looks at what is left of a grant, and at the path's send buffer,
//! only where a fragment of what was written ends (`buffer::Fragments`): grants end there, or at
//! the window.
//! What the window takes goes at once, be it a few bytes (`mptcp_check_allowed_size`).
//!
//! What goes a second time because the connection's timer fired waits for a path with nothing
//! outstanding, and new data go on meanwhile. What only failed paths had is granted like new
//! data. When a path counts as failed is decided in `multipath/failover`.

use super::path_view::PathView;
use super::view::{DataView, Offer, View};
use super::{AnyScheduler, Bind, Decision, PathChange, Scheduler, SchedulerRow, Step, What};
use crate::parameters::{Kind, Parameter, Settings};
use base::decision::{Explanation, Score, Unit};
use base::{Blocked, PathId};
use std::ops::Range;

/// The parameters.
const PARAMETERS: &[Parameter] = &[Parameter {
    key: "burst",
    about: "largest grant, bytes",
    least: 1.0,
    most: 65_535.0,
    default: 65_428.0,
    kind: Kind::Whole,
    source: "Linux",
}];

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "linux",
    about: "Mainline Linux: up to 64 KiB to the path that drains its queue first, or wait for it.",
    source: "mainline Linux `default`",
    parameters: PARAMETERS,
    own_reinjection: None,
    make: |_, asked| AnyScheduler::Linux(Linux::new(&asked.settings)),
};

/// Today's Linux scheduler.
#[derive(Clone, Debug)]
pub struct Linux {
    /// The largest grant in bytes.
    burst: u32,
    /// By path number: averaged pacing rate in bytes a second, once there is one.
    rates: Vec<Option<u64>>,
    /// The path that has a grant, and the range of its data that is left.
    granted: Option<(PathId, Range<u64>)>,
}

impl Linux {
    /// With its parameter, `burst`.
    pub fn new(settings: &Settings) -> Self {
        Linux { burst: settings.whole("burst"), rates: Vec::new(), granted: None }
    }

    fn rate(&mut self, path: PathId) -> &mut Option<u64> {
        if self.rates.len() <= path.index() {
            self.rates.resize(path.index() + 1, None);
        }
        &mut self.rates[path.index()]
    }

    /// The averaged pacing rate, or the one it begins as.
    fn known_rate(&self, path: &PathView) -> Option<u64> {
        self.rates.get(path.id.index()).copied().flatten().or(path.pacing_rate)
    }

    /// The path that flushes first.
    fn pick<'a>(&mut self, view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
        let mut best: Option<((bool, u64), &PathView)> = None;
        for path in view.paths.iter().filter(|path| is_usable(path, offer)) {
            let rate = self.known_rate(path);
            *self.rate(path.id) = rate;
            let rank = (path.backup, linger(path.queue.memory_bytes, rate));
            if best.is_none_or(|(known, _)| rank < known) {
                best = Some((rank, path));
            }
        }
        best.map(|(_, path)| path)
    }

    /// Count a grant of `burst` bytes in the path's average.
    fn average(&mut self, path: &PathView, burst: u64) {
        let rate = self.rate(path.id);
        if let (Some(avg), Some(pacing)) = (*rate, path.pacing_rate) {
            *rate = Some(averaged(avg, path.queue.memory_bytes, pacing, burst));
        }
    }

    fn send_new(&mut self, view: &View<'_>, offer: &Offer) -> Decision {
        if let Some(decision) = self.go_on(view, offer) {
            return decision;
        }
        let Some(path) = self.pick(view, offer) else { return Decision::wait(Blocked::PathDown) };
        if path.queue.room_bytes() == 0 {
            return Decision::wait(full(view, offer));
        }
        let most = view.data.window_end.saturating_sub(offer.offset);
        if most == 0 {
            return Decision::wait(Blocked::ReceiveWindow);
        }
        let burst = most.min(u64::from(self.burst));
        self.average(path, burst);
        let len =
            granted(&view.data, path, offer.offset, burst).min(most).min(offer.end - offer.offset);
        self.granted = Some((path.id, offer.offset..offer.offset + len));
        send(path, What::New, len)
    }

    /// The rest of a grant, which may be dispatched in several parts.
    fn go_on(&mut self, view: &View<'_>, offer: &Offer) -> Option<Decision> {
        let (path, range) = self.granted.take()?;
        if !(range.start < offer.offset && offer.offset < range.end) {
            return None;
        }
        let path = view.paths.iter().find(|other| other.id == path && is_usable(other, offer))?;
        let most = view.data.window_end.saturating_sub(offer.offset);
        if most == 0 {
            return None;
        }
        let left = (range.end - offer.offset).min(most);
        self.granted = Some((path.id, range));
        Some(send(path, What::New, left))
    }

    /// Where data go that another path has or had, if anywhere now.
    fn reinject(&mut self, view: &View<'_>, offer: &Offer) -> Option<Decision> {
        let carried = |path: &PathView| offer.paths.contains(path.id) && is_usable(path, offer);
        if view.paths.iter().any(carried) {
            let has_active = view.has_active(offer);
            let mut idle = view.paths.iter().filter(|path| path.is_active() || !has_active);
            let idle =
                idle.find(|path| is_usable(path, offer) && path.queue.outstanding_bytes == 0)?;
            return Some(self.send_again(idle, offer));
        }
        let path = self.pick(view, offer)?;
        let has_room = path.queue.room_bytes() > 0;
        has_room.then(|| self.send_again(path, offer))
    }

    /// Give the offer to a path that did not have it, in whole segments if it is longer than a
    /// grant.
    fn send_again(&mut self, path: &PathView, offer: &Offer) -> Decision {
        let (burst, mss) = (u64::from(self.burst), u64::from(path.window.mss.max(1)));
        self.average(path, burst);
        let is_longer = offer.end - offer.offset > burst && burst > mss;
        send(path, What::Reinject, if is_longer { burst - burst % mss } else { burst })
    }
}

impl Scheduler for Linux {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let Some(offer) = view.offered() else { return Decision::wait(Blocked::NothingToSend) };
        if !offer.reinject {
            return self.send_new(view, &offer);
        }
        if let Some(decision) = self.reinject(view, &offer) {
            return decision;
        }
        let unsent = view.unsent_offer();
        if unsent.offset < unsent.end {
            self.send_new(view, &unsent)
        } else if self.pick(view, &offer).is_none() {
            Decision::wait(Blocked::PathDown)
        } else {
            Decision::wait(Blocked::SchedulerWaits)
        }
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn plans_ahead(&self) -> bool {
        true
    }

    fn leaves_timeouts(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let best = self.clone().next(view).path();
        let linger = |path: &PathView| Score {
            path: path.id,
            name: "linger",
            // Units of 2^-32 s.
            value: linger(path.queue.memory_bytes, self.known_rate(path)) as f64
                / (1u64 << 32) as f64,
            unit: Unit::Seconds,
        };
        let rule = match best {
            Some(_) => "flushes what it has first",
            None => "the path that flushes first takes no more",
        };
        let scores = view.paths.iter().map(linger).collect();
        Some(Explanation { best, rule, scores, ..Explanation::default() })
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        self.granted = None;
        if change != PathChange::State {
            *self.rate(path) = None;
        }
    }
}

/// Puts `len` bytes into the queue of a path at once.
fn send(path: &PathView, what: What, len: u64) -> Decision {
    let max_bytes = u32::try_from(len.max(1)).unwrap_or(u32::MAX);
    let step = Step::Send { path: path.id, what, bind: Bind::Queue, max_bytes };
    Decision { actions: Vec::new(), step }
}

/// Bytes from `offset` on to the end of the fragment in which a grant of `burst` bytes, or the
/// path's send buffer, is used up.
fn granted(data: &DataView<'_>, path: &PathView, offset: u64, burst: u64) -> u64 {
    let room = u64::from(path.queue.room_bytes());
    data.fragments.end_of(offset + burst.min(room).max(1)) - offset
}

/// It can be given the offer, whether or not it has room.
fn is_usable(path: &PathView, offer: &Offer) -> bool {
    !path.is_definitely_unavailable(offer) && path.may_carry(offer)
}

/// The winner's send buffer is full: whether others would have room.
fn full(view: &View<'_>, offer: &Offer) -> Blocked {
    let has_room = |path: &PathView| path.queue.room_bytes() > 0;
    if view.paths.iter().any(|path| is_usable(path, offer) && has_room(path)) {
        Blocked::SchedulerWaits
    } else {
        Blocked::CongestionWindow
    }
}

/// Time to flush what is queued, in units of 2^-32 s; at once where the rate is not known.
fn linger(queued: u32, rate: Option<u64>) -> u64 {
    rate.map_or(0, |rate| (u64::from(queued) << 32) / rate.max(1))
}

/// The averaged pacing rate after a grant of `burst` bytes.
fn averaged(avg: u64, queued: u32, pacing: u64, burst: u64) -> u64 {
    let (queued, burst) = (u128::from(queued), u128::from(burst));
    let sum = u128::from(avg) * queued + u128::from(pacing) * burst;
    u64::try_from(sum / (queued + burst).max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 bytes at 1 MB/s against 5,000 at 100 kB/s.
    #[test]
    fn shorter_linger_wins_and_the_rate_is_averaged() {
        let ms = |queued, rate| (linger(queued, Some(rate)) * 1000 + (1 << 31)) >> 32;
        assert_eq!((ms(20_000, 1_000_000), ms(5_000, 100_000)), (20, 50));
        assert_eq!(averaged(1_000_000, 20_000, 1_200_000, 60_000), 1_150_000);
        assert_eq!(averaged(1_000_000, 0, 1_200_000, 60_000), 1_200_000);
    }

    #[test]
    fn unknown_rate_flushes_at_once() {
        assert_eq!((linger(u32::MAX, None), linger(0, Some(0))), (0, 0));
        assert_eq!(averaged(u64::MAX, u32::MAX, u64::MAX, 65_428), u64::MAX);
    }
}

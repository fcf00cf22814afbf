//! A scheduler of MPTCP on an association that sends on all paths at once: it chooses the path of
//! each packet with new data (`scheduler` has the rules).
//!
//! A TSN is sent on one path, so that schedulers which copy data are refused. What one that plans
//! ahead means for a path that has no room yet waits in `Binding`. Retransmissions are left to
//! `RtxPolicy` and to rescheduling.

use super::cmt::SchedulerRefusal;
use super::path_state::PathState as Destination;
use super::sender::{Probe, Sender};
use super::transfer::Transfer;
use crate::buffer::Fragments;
use crate::congestion::CongestionControl;
use crate::multipath::ask_and_record;
use crate::reinjection::Opportunistic;
use crate::scheduler::{
    Action, AnyScheduler, DataSegment, DataView, Decision, LossPhase, Options, PathChange,
    PathState, PathView, QueueView, RttView, Scheduler, SchedulerChoice, Step, View, What,
    WindowView,
};
use base::{Blocked, Context, EventMask, Instant, PathId};
use std::collections::VecDeque;

/// A scheduler with what it sees.
pub(super) struct Schedule {
    scheduler: AnyScheduler,
    views: Vec<PathView>,
    /// By path: bytes acknowledged when the scheduler was last asked.
    acked: Vec<u64>,
    /// Why it waits.
    waits: Option<Blocked>,
}

/// What the scheduler passes to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    pub path: PathId,
    /// Position of the first byte.
    pub at: u64,
    /// Bytes.
    pub most: u32,
}

/// No data of other paths are offered.
static NONE: VecDeque<DataSegment> = VecDeque::new();

impl Schedule {
    /// The scheduler chosen; `None` if it is one that is refused.
    pub(super) fn new(choice: &SchedulerChoice) -> Option<Schedule> {
        if SchedulerRefusal::of(choice).is_some() {
            return None;
        }
        let opportunistic = Some(Opportunistic::Off);
        let scheduler = choice.make(&Options { opportunistic, ..Options::default() });
        let (views, acked) = (Vec::new(), Vec::new());
        Some(Schedule { scheduler, views, acked, waits: None })
    }

    /// Whether it binds data to paths ahead of sending.
    pub(super) fn plans_ahead(&self) -> bool {
        self.scheduler.plans_ahead()
    }

    /// Why it waits, since it was last asked.
    pub(super) const fn waits(&self) -> Option<Blocked> {
        self.waits
    }

    /// The path that new data go to next; `None`: nothing is sent now.
    pub(super) fn next(&mut self, cx: &mut Context<'_>, transfer: &Transfer) -> Option<Chosen> {
        self.look(cx.now, transfer);
        let data = data(&transfer.sender);
        if self.scheduler.heeds_acks() {
            self.report_acks(cx.now, transfer, &data);
        }
        let snd_nxt = data.snd_nxt;
        let view = View { now: cx.now, paths: &self.views, data };
        let decision = match cx.wants(EventMask::DECISION) {
            true => ask_and_record(cx, transfer.socket, &mut self.scheduler, &view),
            false => self.scheduler.next(&view),
        };
        let before = self.waits.take();
        match decision.step {
            Step::Send { path, what: What::New, max_bytes, .. } => Some(Chosen {
                path,
                at: range_of(&decision, path).unwrap_or(snd_nxt),
                most: max_bytes,
            }),
            Step::Send { .. } => None,
            Step::Wait(why) => {
                self.waits = Some(why);
                if why == Blocked::ReceiveWindow && before != Some(why) {
                    self.scheduler.on_window_blocked(&view);
                }
                None
            }
        }
    }

    /// Reports the paths on which data were acknowledged since the last call.
    fn report_acks(&mut self, now: Instant, transfer: &Transfer, data: &DataView<'_>) {
        self.acked.resize(transfer.paths.len(), 0);
        for (path, known) in transfer.paths.iter().zip(&mut self.acked) {
            let acked = path.counters.acked_bytes;
            if std::mem::replace(known, acked) < acked {
                let view = View { now, paths: &self.views, data: data.clone() };
                self.scheduler.on_ack(&view, path.id);
            }
        }
    }

    /// Updates the views; a path that works again is announced as a change of its state.
    fn look(&mut self, now: Instant, transfer: &Transfer) {
        let views = (0..transfer.paths.len()).map(|index| view(transfer, now, PathId(index as u8)));
        let before = std::mem::replace(&mut self.views, views.collect());
        for (index, view) in self.views.iter().enumerate() {
            let known = before.get(index).map(|path| (path.state, path.probing));
            let change = match known {
                None => PathChange::Added,
                Some(state) if state != (view.state, view.probing) => PathChange::State,
                Some(_) => continue,
            };
            self.scheduler.on_path_changed(view.id, change);
        }
    }
}

/// Bytes that a path is given ahead of their acknowledgement: two windows, of ten segments at
/// least, as the send buffer of a subflow grows (Linux `tcp_sndbuf_expand`).
fn limit(cwnd: u64, mss: u32) -> u64 {
    2 * cwnd.max(10 * u64::from(mss))
}

/// What a decision passes to a path that does not come next.
fn range_of(decision: &Decision, to: PathId) -> Option<u64> {
    decision.actions.iter().find_map(|action| match action {
        Action::Assign { range, path, .. } if *path == to => Some(range.start),
        _ => None,
    })
}

/// What there is to send, as a scheduler sees it.
fn data(sender: &Sender) -> DataView<'_> {
    let queued = sender.streams.queued_bytes();
    let is_probe = sender.probe == Probe::Due;
    let (segments, snd_nxt, write_end, room) = match sender.binding() {
        None => {
            let room = if is_probe { queued } else { sender.room_for_new() };
            (&NONE, sender.bound(), sender.bound() + queued, room)
        }
        Some(binding) => {
            let (next, end) = (binding.next(), binding.end() + queued);
            // Behind what is passed to paths, of which a part is sent.
            let left = sender.room_for_new().saturating_sub(binding.bound_bytes());
            // What the peer needs first may be small, and smaller than a segment.
            let fits = binding.is_first_open() && sender.peer_takes(sender.next_new_len());
            let first = if fits { u64::from(sender.setup.fragment) } else { 0 };
            let room = left.max(first) + binding.ahead_bytes();
            (binding.ahead(), next, end, if is_probe { end - next } else { room })
        }
    };
    DataView {
        segments,
        fragments: Fragments::none(),
        snd_una: sender.acked.min(snd_nxt),
        snd_nxt,
        write_end,
        window_end: snd_nxt + room,
        reinject: None,
        sndbuf_limited: sender.room() == 0,
        sndbuf_full: sender.room() == 0,
        peer_closed: false,
    }
}

/// A path as a scheduler sees it.
pub(super) fn view(transfer: &Transfer, now: Instant, id: PathId) -> PathView {
    let (path, sender) = (&transfer.paths[id.index()], &transfer.sender);
    let (control, outstanding) = (&sender.control, &sender.outstanding);
    let state = match transfer.states.state(id) {
        _ if transfer.states.is_usable(id) => PathState::Open,
        Some(Destination::Unconfirmed) | None => PathState::Opening,
        Some(_) => PathState::PotentiallyFailed,
    };
    let mss = sender.setup.fragment.max(1);
    let chunk = u64::from(sender.window_len(mss).max(1));
    // Windows count headers, schedulers do not.
    let payload = |bytes: u64| bytes * u64::from(mss) / chunk;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let inflight = outstanding.in_flight_bytes(id);
    let unsent = sender.binding().map_or(0, |binding| binding.bytes_of(id));
    let (cwnd, ssthresh) = (control.cwnd_bytes(id), control.ssthresh_bytes(id));
    let srtt = path.srtt();
    let rate = || control.cwnd_bytes(id) as f64 / srtt.as_secs_f64();
    PathView {
        id,
        interface: path.interface,
        state,
        backup: false,
        probing: sender.is_suspended(id),
        throttled: path.is_blocked(now)
            || !path.takes_another(inflight)
            || !sender.has_share(id)
            || sender.is_burst_over(now, id),
        loss: if path.recovery_exit.is_some() { LossPhase::Recovery } else { LossPhase::Open },
        continues_at: None,
        last_send: (path.counters.bytes > 0).then_some(path.last_sent),
        pacing_rate: (!srtt.is_zero()).then(|| rate() as u64),
        rtt: RttView {
            srtt,
            rttvar: path.rto.rttvar(),
            last: path.samples.last,
            first: path.samples.first,
            samples: path.samples.count,
            rto: path.rto.rto(),
        },
        window: WindowView::from_bytes(
            mss,
            payload(cwnd),
            ssthresh.map(payload),
            payload(inflight),
        ),
        queue: QueueView {
            unsent_bytes: unsent,
            unsent_segs: narrow(unsent.div_ceil(u64::from(mss))),
            outstanding_bytes: inflight + unsent,
            memory_bytes: narrow(payload(inflight) + unsent),
            limit_bytes: narrow(limit(payload(cwnd), mss)),
        },
    }
}

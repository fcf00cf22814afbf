//! A scheduler of MPTCP on an association that sends on all paths at once: it chooses the path of
//! each packet with new data (`scheduler` has the rules).
//!
//! A TSN is sent on one path, so that schedulers which copy data are refused, and those that bind
//! data to a path before it has room: chunks get their TSNs in the order of the messages, when
//! they are sent. Retransmissions are left to `RtxPolicy` and to rescheduling.

use super::cmt::SchedulerRefusal;
use super::path_state::PathState as Destination;
use super::sender::Probe;
use super::transfer::Transfer;
use crate::congestion::CongestionControl;
use crate::multipath::ask_and_record;
use crate::reinjection::Opportunistic;
use crate::scheduler::{
    AnyScheduler, DataSegment, DataView, LossPhase, Options, PathChange, PathState, PathView,
    QueueView, RttView, Scheduler, SchedulerChoice, Step, View, What, WindowView,
};
use base::{Blocked, Context, Duration, EventMask, Instant, InterfaceId, PathId};
use std::collections::VecDeque;

/// A scheduler with what it sees.
pub(super) struct Schedule {
    scheduler: AnyScheduler,
    views: Vec<PathView>,
    /// No data of other paths are offered.
    segments: VecDeque<DataSegment>,
    /// It waits for the peer's window.
    waits_for_window: bool,
}

impl Schedule {
    /// The scheduler chosen; `None` if it is one that is refused.
    pub(super) fn new(choice: &SchedulerChoice) -> Option<Schedule> {
        if SchedulerRefusal::of(choice).is_some() {
            return None;
        }
        let opportunistic = Some(Opportunistic::Off);
        let scheduler = choice.make(&Options { opportunistic, ..Options::default() });
        let (views, segments) = (Vec::new(), VecDeque::new());
        Some(Schedule { scheduler, views, segments, waits_for_window: false })
    }

    /// The path of the next packet with new data; `None`: nothing is sent now.
    pub(super) fn next(&mut self, cx: &mut Context<'_>, transfer: &Transfer) -> Option<PathId> {
        self.look(cx.now, transfer);
        let sender = &transfer.sender;
        let (begin, queued) = (sender.bound(), sender.streams.queued_bytes());
        let is_probe = sender.probe == Probe::Due;
        let room = if is_probe { queued } else { sender.peer_rwnd };
        let data = DataView {
            segments: &self.segments,
            snd_una: sender.acked.min(begin),
            snd_nxt: begin,
            write_end: begin + queued,
            window_end: begin + room,
            reinject: None,
            sndbuf_limited: sender.room() == 0,
            peer_closed: false,
        };
        let view = View { now: cx.now, paths: &self.views, data };
        let decision = match cx.wants(EventMask::DECISION) {
            true => ask_and_record(cx, transfer.socket, &mut self.scheduler, &view),
            false => self.scheduler.next(&view),
        };
        let waits = std::mem::replace(&mut self.waits_for_window, false);
        match decision.step {
            Step::Send { path, what: What::New, .. } => Some(path),
            Step::Send { .. } => None,
            Step::Wait(Blocked::ReceiveWindow) => {
                self.waits_for_window = true;
                if !waits {
                    self.scheduler.on_window_blocked(&view);
                }
                None
            }
            Step::Wait(_) => None,
        }
    }

    /// Updates the views; a path that works again is announced as a change of its state.
    fn look(&mut self, now: Instant, transfer: &Transfer) {
        let views = (0..transfer.paths.len()).map(|index| view(transfer, now, PathId(index as u8)));
        let before = std::mem::replace(&mut self.views, views.collect());
        for (index, view) in self.views.iter().enumerate() {
            let known = before.get(index).map(|path| path.state);
            let change = match known {
                None => PathChange::Added,
                Some(state) if state != view.state => PathChange::State,
                Some(_) => continue,
            };
            self.scheduler.on_path_changed(view.id, change);
        }
    }
}

/// A path as a scheduler sees it.
fn view(transfer: &Transfer, now: Instant, id: PathId) -> PathView {
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
    let inflight = outstanding.in_flight_bytes(id);
    let (cwnd, ssthresh) = (control.cwnd_bytes(id), control.ssthresh_bytes(id));
    let srtt = path.srtt();
    let rate = || control.cwnd_bytes(id) as f64 / srtt.as_secs_f64();
    PathView {
        id,
        interface: InterfaceId(id.0.into()),
        state,
        backup: false,
        probing: false,
        throttled: path.is_blocked(now) || !sender.has_share(id) || sender.is_burst_over(now, id),
        loss: if path.recovery_exit.is_some() { LossPhase::Recovery } else { LossPhase::Open },
        continues_at: None,
        last_send: (path.counters.bytes > 0).then_some(path.last_sent),
        pacing_rate: (!srtt.is_zero()).then(|| rate() as u64),
        rtt: RttView {
            srtt,
            rttvar: path.rto.rttvar(),
            last: srtt,
            first: path.min_rtt.unwrap_or(Duration::ZERO),
            samples: u32::from(!srtt.is_zero()),
            rto: path.rto.rto(),
        },
        window: WindowView::from_bytes(
            mss,
            payload(cwnd),
            ssthresh.map(payload),
            payload(inflight),
        ),
        queue: QueueView {
            unsent_bytes: 0,
            unsent_segs: 0,
            outstanding_bytes: inflight,
            memory_bytes: 0,
            limit_bytes: u32::MAX,
        },
    }
}

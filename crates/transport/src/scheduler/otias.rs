//! OTIAS: out-of-order transmission for in-order arrival.
//!
//! Decision rule (002 sIII-B, kernel `mptcp_otias.c` of 002's authors): a segment goes where it is
//! predicted to arrive first, into the queue if the window is full, and stays there.
//! `T_i = wait_i + SRTT_i / 2`; with `q` segments queued and room for `r`, `wait_i = 0` if `q < r`,
//! otherwise `ceil((q - r + 1) / CWND_i) SRTT_i`. The original leaves the rounding open; `floor=1`
//! rounds down. Added here: a path without RTT sample rests while another one has one, and backups
//! rest while others can send. Reinjections are not queued.

use super::opportunistic::OpportunisticRetransmission;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, Scheduler, SchedulerRow, lrf};
use crate::parameters::{Kind, Parameter, Settings};
use crate::reinjection::Opportunistic;
use base::decision::{Explanation, Score, Unit};
use base::{Blocked, Duration};

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "floor",
        about: "1: round the number of RTTs to wait down, 0: up",
        least: 0.0,
        most: 1.0,
        default: 0.0,
        kind: Kind::Whole,
        source: "002's kernel",
    },
    Parameter {
        key: "optim",
        about: "opportunistic retransmission, 0: off, 1: on, 2: on, with penalties (superseded by \
                `reinjection`)",
        least: 0.0,
        most: 2.0,
        default: 0.0,
        kind: Kind::Whole,
        source: "002's kernel",
    },
];

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "otias",
    about: "Queues each segment where it is predicted to arrive first.",
    source: "002 sIII-B",
    parameters: PARAMETERS,
    own_reinjection: None,
    make: |options, asked| AnyScheduler::Otias(Otias::new(options, &asked.settings)),
};

/// Earliest predicted arrival, queues included.
#[derive(Clone, Debug)]
pub struct Otias {
    floor: bool,
    opportunistic: OpportunisticRetransmission,
}

impl Otias {
    /// With the switch that concerns it, `opportunistic`, and its parameters.
    pub fn new(options: &Options, settings: &Settings) -> Self {
        let own = match settings.whole("optim") {
            0 => Opportunistic::Off,
            1 => Opportunistic::RetransOnly,
            _ => Opportunistic::Kernel,
        };
        Otias {
            floor: settings.is_on("floor"),
            opportunistic: OpportunisticRetransmission::new(options.opportunistic.unwrap_or(own)),
        }
    }

    fn arrival(&self, path: &PathView) -> Duration {
        let queued = path.queue.unsent_bytes.div_ceil(u64::from(path.window.mss.max(1)));
        let room = u64::from(path.free_segs());
        path.rtt.srtt * rounds(queued, room, u64::from(path.window.cwnd_segs), self.floor)
            + path.rtt.srtt / 2
    }

    /// The path where one segment more arrives first.
    fn earliest<'a>(
        &self,
        paths: impl Iterator<Item = &'a PathView>,
        offer: &Offer,
    ) -> Option<&'a PathView> {
        // A path that carried it is the last resort.
        paths.min_by_key(|path| {
            (offer.paths.contains(path.id), path.rtt.srtt.is_zero(), self.arrival(path))
        })
    }

    /// The path for the offer: new data may be queued there, others need room.
    fn choose<'a>(&self, view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
        let has_active = view.has_active(offer);
        let takes = |path: &PathView| {
            let open = !path.is_definitely_unavailable(offer) && path.held_by(offer).is_none();
            open && (!offer.reinject || !path.is_window_full())
        };
        let open = view.paths.iter().filter(|path| path.is_active() || !has_active);
        self.earliest(open.filter(|path| takes(path)), offer)
    }

    fn send_new(&mut self, view: &View<'_>, offer: &Offer) -> Decision {
        match self.choose(view, offer) {
            None => Decision::wait(view.why_blocked(offer)),
            Some(path) if !view.fits_window(offer, path) => {
                lrf::help(view, path, &mut self.opportunistic, Blocked::ReceiveWindow)
            }
            Some(path) => Decision::queue(path, offer),
        }
    }

    /// The application waits for the send buffer, all of it is bound to a path or sent.
    fn wait_for_buffer(&mut self, view: &View<'_>) -> Decision {
        match self.choose(view, &view.unsent_offer()) {
            Some(path) => lrf::help(view, path, &mut self.opportunistic, Blocked::SendBuffer),
            None => Decision::wait(Blocked::SendBuffer),
        }
    }

    fn reinject(&self, view: &View<'_>, offer: &Offer) -> Decision {
        match self.choose(view, offer) {
            Some(path) => Decision::offer(path, offer),
            None => Decision::wait(view.why_blocked(offer)),
        }
    }
}

impl Scheduler for Otias {
    fn next(&mut self, view: &View<'_>) -> Decision {
        match view.offered() {
            None if view.data.sndbuf_limited => self.wait_for_buffer(view),
            None => Decision::wait(Blocked::NothingToSend),
            Some(offer) if offer.reinject => self.reinject(view, &offer),
            Some(offer) => self.send_new(view, &offer),
        }
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn plans_ahead(&self) -> bool {
        true
    }

    fn reinjects(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let best = self.choose(view, &view.offered_or_empty()).map(|path| path.id);
        let arrival = |path: &PathView| Score {
            path: path.id,
            name: "arrival in",
            value: self.arrival(path).as_secs_f64(),
            unit: Unit::Seconds,
        };
        let scores = view.paths.iter().map(arrival).collect();
        Some(Explanation { best, rule: "earliest arrival", scores, ..Explanation::default() })
    }
}

/// Round trips before one segment more can be sent: `queued` wait already, `room` fit at once.
fn rounds(queued: u64, room: u64, cwnd: u64, floor: bool) -> u64 {
    if queued < room {
        return 0;
    }
    let ahead = queued - room + 1;
    if floor { ahead / cwnd.max(1) } else { ahead.div_ceil(cwnd.max(1)) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{MSS, Model, path};
    use super::*;

    /// Arrival in ms at F: RTT 10 ms, a full window of 10.
    fn at_f(queued: u64) -> u64 {
        10 * rounds(queued, 0, 10, false) + 5
    }

    /// S has an RTT of 100 ms and room: a segment arrives there after 50 ms.
    #[test]
    fn otias_1_forty_segments_wait_at_f_before_one_goes_to_s() {
        for (queued, chosen) in [(0, 0), (39, 0), (40, 1)] {
            let mut model = Model::new(vec![path(0, 10, 10, 10), path(1, 100, 10, 0)], 5);
            model.paths[0].queue.unsent_bytes = queued * u64::from(MSS);
            let otias = Otias::new(&Options::default(), &Settings::defaults(PARAMETERS));
            let view = model.view();
            let path = otias.choose(&view, &view.unsent_offer()).map(|path| path.id.0);
            assert_eq!(path, Some(chosen), "{queued} queued");
        }
    }

    #[test]
    fn otias_1_arrival_with_so_many_queued() {
        assert_eq!([0, 9, 10, 39, 40].map(at_f), [15, 15, 25, 45, 55]);
        assert_eq!(rounds(3, 4, 10, false), 0, "room at once");
        assert_eq!(rounds(0, 0, 0, false), 1, "no window");
        assert_eq!([0, 9, 19].map(|queued| rounds(queued, 0, 10, true)), [0, 1, 2]);
    }
}

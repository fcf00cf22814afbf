//! DAPS: delay-aware packet scheduling.
//!
//! Decision rule (002 sIII-A, 000 s2.3.2, kernel `mptcp_daps.c` of 002's authors): with delays
//! `d_i = RTT_i / 2` in rounded milliseconds, at every `t` from 1 to `E = lcm(d_1 ... d_n)` each
//! path whose delay divides `t` takes the next run of `c_i` segments (its smoothed window), fast
//! paths first; the runs are queued regardless of the window, and a new schedule is drawn up when
//! one has ended or a path came or went. Times without an event are skipped: the time of the next
//! run
//! is kept for every path. A schedule longer than 2^31 ms is drawn up with coarser delays. A path
//! that cannot send skips its runs; without any that can, LRF decides, as it does on reinjections.
//! When the connection's window is full, the fastest path with room repeats the first segment that
//! it did not carry. Added here: backups rest while others can send. The kernel's
//! `use_planned_cwnd` is left out: what it plans is not published.

use super::lrf::choose;
use super::path_view::PathView;
use super::view::{Offer, View};
use super::{AnyScheduler, Decision, Options, PathChange, Scheduler, SchedulerRow, Step, What};
use crate::parameters::{Kind, Parameter, Settings};
use base::decision::{Explanation, Score, Unit};
use base::{Blocked, Duration, Instant, PathId};

/// The parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "round-delay",
        about: "granularity of delays, ms",
        least: 1.0,
        most: 1000.0,
        default: 4.0,
        kind: Kind::Whole,
        source: KERNEL,
    },
    switch("smooth-cwnd", "1: runs from smoothed windows, 0: from current windows"),
    switch("in-ss", "0: exclude paths in slow start after a loss"),
    switch(
        "optim",
        "1: retransmit a segment when the window is full (superseded by `reinjection`)",
    ),
];

const KERNEL: &str = "002's kernel";

const fn switch(key: &'static str, about: &'static str) -> Parameter {
    Parameter { key, about, least: 0.0, most: 1.0, default: 1.0, kind: Kind::Whole, source: KERNEL }
}

/// The longest schedule, in milliseconds.
const LONGEST: u64 = 1 << 31;

/// Its line in the table.
pub(super) const ROW: SchedulerRow = SchedulerRow {
    name: "daps",
    about: "Runs of segments queued so that slow paths' arrive in order.",
    source: "002 sIII-A, 000 s2.3.2",
    parameters: PARAMETERS,
    own_reinjection: None,
    make: |options, asked| AnyScheduler::Daps(Daps::new(options, &asked.settings)),
};

/// Delay-aware packet scheduling.
#[derive(Clone, Debug)]
pub struct Daps {
    round_delay: u64,
    smooth: bool,
    in_slow_start: bool,
    optim: bool,
    kernel_compat: bool,
    /// By path number.
    windows: Vec<Window>,
    schedule: Schedule,
    /// The run being sent, and segments left of it.
    run: Option<(PathId, u32)>,
}

/// The state of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// The smoothed window in eighths of a segment, and the time of its last update.
    smoothed: Option<(u32, Instant)>,
    /// Everything below was on the path.
    cursor: u64,
}

impl Daps {
    /// With the switches that concern its reinjections, `kernel_compat` and `opportunistic` (in
    /// whose place it repeats segments), and its parameters.
    pub fn new(options: &Options, settings: &Settings) -> Self {
        Daps {
            round_delay: u64::from(settings.whole("round-delay")),
            smooth: settings.is_on("smooth-cwnd"),
            in_slow_start: settings.is_on("in-ss"),
            optim: options.opportunistic.is_none() && settings.is_on("optim"),
            kernel_compat: options.kernel_compat,
            windows: Vec::new(),
            schedule: Schedule::default(),
            run: None,
        }
    }

    fn window(&mut self, path: PathId) -> &mut Window {
        if self.windows.len() <= path.index() {
            self.windows.resize(path.index() + 1, Window::default());
        }
        &mut self.windows[path.index()]
    }

    fn run_length(&mut self, path: &PathView) -> u32 {
        let smoothed = self.window(path.id).smoothed.map(|(eighths, _)| (eighths + 4) / 8);
        let cwnd = if self.smooth { smoothed } else { None };
        cwnd.unwrap_or(path.window.cwnd_segs).max(1)
    }

    /// A schedule over the present paths.
    fn draw_up(&mut self, view: &View<'_>, offer: &Offer) {
        let mut lanes = Vec::new();
        for path in view.paths.iter().filter(|path| !path.is_definitely_unavailable(offer)) {
            let restarts =
                path.window.ssthresh_segs.is_some_and(|ssthresh| path.window.cwnd_segs < ssthresh);
            if path.rtt.srtt.is_zero() || (restarts && !self.in_slow_start) {
                continue;
            }
            let run = self.run_length(path);
            lanes.push(Lane { path: path.id, srtt: path.rtt.srtt, run, delay: 1, next: 1 });
        }
        self.schedule = Schedule::new(lanes, self.round_delay);
    }

    /// The path of the present run or of the next one.
    fn turn<'a>(&mut self, view: &View<'a>, offer: &Offer) -> Option<&'a PathView> {
        let has_active = view.has_active(offer);
        let can = |path: &PathView| {
            let takes_part = path.is_active() || !has_active;
            takes_part && !path.is_definitely_unavailable(offer) && path.held_by(offer).is_none()
        };
        let open = |id: PathId| view.path(id).filter(|path| can(path));
        if let Some(path) = self.run.and_then(|(id, left)| open(id).filter(|_| left > 0)) {
            return Some(path);
        }
        let next = self.schedule.next(|id| open(id).is_some()).or_else(|| {
            self.draw_up(view, offer);
            self.schedule.next(|id| open(id).is_some())
        });
        self.run = next;
        next.and_then(|(id, _)| open(id))
    }

    fn send_new(&mut self, view: &View<'_>, offer: &Offer) -> Decision {
        let Some(path) = self.turn(view, offer) else {
            let choice = choose(view, offer, self.kernel_compat);
            return match choice.path {
                Some(path) if !view.fits_window(offer, path) => {
                    Decision::wait(Blocked::ReceiveWindow)
                }
                _ => choice.decide(view, offer),
            };
        };
        if !view.fits_window(offer, path) {
            return self.repeat(view).unwrap_or(Decision::wait(Blocked::ReceiveWindow));
        }
        if let Some((_, left)) = &mut self.run {
            *left -= 1;
        }
        Decision::queue(path, offer)
    }

    /// The first segment that the fastest path with room did not carry.
    fn repeat(&mut self, view: &View<'_>) -> Option<Decision> {
        if !self.optim || view.paths.len() < 2 {
            return None;
        }
        let open = view.paths.iter().filter(|path| path.is_active() && !path.is_window_full());
        let path = open.filter(|path| path.is_open() && !path.probing);
        let path = path.min_by_key(|path| (path.rtt.srtt.is_zero(), path.rtt.srtt))?;
        let window = self.window(path.id);
        window.cursor = window.cursor.max(view.data.snd_una);
        while let Some(segment) = view.data.segment_at(window.cursor) {
            let (offset, end, paths) = (window.cursor, segment.end(), segment.paths);
            let offer = Offer { reinject: true, offset, end, paths };
            if !paths.contains(path.id) {
                let free = path.is_available(&offer);
                return free.then(|| Decision::copy(path.id, offer.range_on(path)));
            }
            window.cursor = end;
        }
        None
    }
}

impl Scheduler for Daps {
    fn next(&mut self, view: &View<'_>) -> Decision {
        match view.offered() {
            None => Decision::wait(Blocked::NothingToSend),
            Some(offer) if offer.reinject => {
                choose(view, &offer, self.kernel_compat).decide(view, &offer)
            }
            Some(offer) => self.send_new(view, &offer),
        }
    }

    fn makes_copies(&self) -> bool {
        false
    }

    fn plans_ahead(&self) -> bool {
        true
    }

    fn explain(&self, view: &View<'_>) -> Option<Explanation> {
        let mut trial = self.clone();
        let decision = trial.next(view);
        let is_new = matches!(decision.step, Step::Send { what: What::New, .. });
        let rule = match trial.run {
            Some(_) if is_new => "its run is on",
            _ => "lowest srtt with room",
        };
        let left = |path: &PathView| {
            let left = trial.run.filter(|(on, _)| *on == path.id).map_or(0, |(_, left)| left);
            let value = f64::from(left);
            Score { path: path.id, name: "left of its run", value, unit: Unit::Segments }
        };
        let scores = view.paths.iter().map(left).collect();
        Some(Explanation { best: decision.path(), rule, scores, ..Explanation::default() })
    }

    fn heeds_acks(&self) -> bool {
        self.smooth
    }

    fn on_ack(&mut self, view: &View<'_>, path: PathId) {
        let Some(path) = view.path(path) else { return };
        let smoothed = &mut self.window(path.id).smoothed;
        *smoothed = Some(match *smoothed {
            None => (path.window.cwnd_segs.saturating_mul(8), view.now),
            Some((eighths, at)) if view.now - at >= path.rtt.srtt => {
                let rest = eighths - eighths / 8;
                (rest.saturating_add(path.window.cwnd_segs), view.now)
            }
            Some(known) => known,
        });
    }

    fn on_path_changed(&mut self, path: PathId, change: PathChange) {
        if change != PathChange::State {
            *self.window(path) = Window::default();
            self.schedule = Schedule::default();
            self.run = None;
        }
    }
}

/// Runs in the order of their times.
#[derive(Clone, Debug, Default)]
struct Schedule {
    /// By ascending RTT.
    lanes: Vec<Lane>,
    /// When it ends, in milliseconds.
    end: u64,
}

/// One path's runs.
#[derive(Clone, Copy, Debug)]
struct Lane {
    path: PathId,
    srtt: Duration,
    /// Segments.
    run: u32,
    /// Between runs, in milliseconds.
    delay: u64,
    /// When its next one is due.
    next: u64,
}

impl Schedule {
    fn new(mut lanes: Vec<Lane>, round_delay: u64) -> Self {
        lanes.sort_by_key(|lane| (lane.srtt, lane.path));
        let mut base = round_delay;
        let end = loop {
            for lane in &mut lanes {
                lane.delay = rounded(lane.srtt.as_micros() / 2000, base);
                lane.next = lane.delay;
            }
            let mut delays = lanes.iter().map(|lane| lane.delay);
            match delays.try_fold(1, lcm) {
                Some(end) => break end,
                None => base = base.max(1) * 2,
            }
        };
        Schedule { lanes, end }
    }

    /// The next run on a path that `can` send; those of others meanwhile are skipped.
    fn next(&mut self, can: impl Fn(PathId) -> bool) -> Option<(PathId, u32)> {
        let due = |(index, lane): (usize, &Lane)| (lane.next, index);
        let open = self.lanes.iter().enumerate().filter(|(_, lane)| can(lane.path));
        let (at, index) = open.map(due).min().filter(|(at, _)| *at <= self.end)?;
        for (other, lane) in self.lanes.iter_mut().enumerate() {
            let first = if other <= index { at + 1 } else { at };
            if lane.next < first {
                lane.next = first.div_ceil(lane.delay) * lane.delay;
            }
        }
        let lane = self.lanes[index];
        Some((lane.path, lane.run))
    }
}

/// To a multiple of `base`, at least 1.
const fn rounded(delay: u64, base: u64) -> u64 {
    if base <= 1 {
        return if delay == 0 { 1 } else { delay };
    }
    let rest = delay % base;
    let rounded = if 2 * rest < base { delay - rest } else { delay - rest + base };
    if rounded == 0 { 1 } else { rounded }
}

/// The least common multiple unless a schedule of that length is too long.
fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut gcd, mut rest) = (a, b);
    while rest != 0 {
        (gcd, rest) = (rest, gcd % rest);
    }
    Some(a / gcd * b).filter(|lcm| *lcm <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::super::tests::support::{Model, path};
    use super::*;
    use crate::scheduler::by_name;

    fn schedule(rtts_ms: &[u64], round_delay: u64) -> Schedule {
        let lane = |(id, rtt): (u8, &u64)| {
            let srtt = Duration::from_millis(*rtt);
            Lane { path: PathId(id), srtt, run: 10, delay: 1, next: 1 }
        };
        Schedule::new((0..).zip(rtts_ms).map(lane).collect(), round_delay)
    }

    /// The paths of all runs, F for the first.
    fn order(schedule: &mut Schedule) -> String {
        let mut order = String::new();
        while let Some((path, _)) = schedule.next(|_| true) {
            order.push(if path.0 == 0 { 'F' } else { 'S' });
        }
        order
    }

    #[test]
    fn daps_1_to_3_orders_of_runs() {
        let mut daps_1 = schedule(&[20, 80], 1);
        assert_eq!((daps_1.end, order(&mut daps_1).as_str()), (40, "FFFFS"));
        let mut daps_2 = schedule(&[20, 80], 4);
        assert_eq!((daps_2.end, order(&mut daps_2).as_str()), (120, "FFFSFFFSFFFFS"));
        let mut daps_3 = schedule(&[30, 100], 1);
        assert_eq!((daps_3.end, order(&mut daps_3).as_str()), (150, "FFFSFFFSFFFFS"));
    }

    #[test]
    fn daps_1_segments_of_the_runs() {
        let mut model = Model::new(vec![path(0, 20, 10, 0), path(1, 80, 10, 0)], 60);
        model.push(&mut by_name("daps:round-delay=1", &Options::default()).unwrap());
        assert_eq!(model.queued[..40], [0; 40]);
        assert_eq!(model.queued[40..50], [1; 10]);
        assert_eq!(model.queued[50..60], [0; 10], "the next schedule");
    }

    #[test]
    fn schedule_too_long_is_drawn_up_coarser() {
        let primes = [2 * 10_007, 2 * 10_009, 2 * 10_037, 2 * 10_039];
        let mut schedule = schedule(&primes, 1);
        assert!(schedule.end <= LONGEST && schedule.end > 10_000);
        assert!(schedule.next(|_| true).is_some());
    }

    #[test]
    fn runs_of_a_path_that_cannot_send_are_skipped_without_looking_at_each() {
        // 2^31 times of F, none of them looked at.
        let mut schedule = schedule(&[2, 2 << 31], 1);
        assert_eq!(schedule.end, 1 << 31);
        assert_eq!(schedule.next(|path| path.0 == 1), Some((PathId(1), 10)));
        assert_eq!(schedule.next(|_| true), None, "through");
        let mut back = super::tests::schedule(&[20, 80], 1);
        assert_eq!(back.next(|path| path.0 == 1), Some((PathId(1), 10)));
        assert_eq!(back.next(|_| true), None, "F at 40 came before S");
    }

    #[test]
    fn rounding_goes_up_from_the_half() {
        assert_eq!([9, 10, 12, 37, 40].map(|d| rounded(d, 4)), [8, 12, 12, 36, 40]);
        assert_eq!([0, 1, 3].map(|d| rounded(d, 4)), [1, 1, 4]);
        assert_eq!([0, 7].map(|d| rounded(d, 1)), [1, 7]);
    }

    #[test]
    fn window_is_smoothed_once_a_round_trip() {
        let mut daps = Daps::new(&Options::default(), &Settings::defaults(PARAMETERS));
        let mut model = Model::new(vec![path(0, 20, 10, 0)], 1);
        daps.on_ack(&model.view(), PathId(0));
        model.paths[0].window.cwnd_segs = 18;
        daps.on_ack(&model.view(), PathId(0));
        assert_eq!(daps.run_length(&model.paths[0]), 10);
        model.now = Instant::ZERO + Duration::from_millis(20);
        daps.on_ack(&model.view(), PathId(0));
        assert_eq!(daps.run_length(&model.paths[0]), 11);
        daps.smooth = false;
        assert_eq!(daps.run_length(&model.paths[0]), 18);
    }
}
